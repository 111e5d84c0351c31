/* SPDX-License-Identifier: MIT
 *
 * tools/cmd/convert.c - spmv convert: converts between Matrix Market, the binary form and prepared matrices.
 */
#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/options.h"
#include "../measure/plans.h"
#include "commands.h"
#include "spmv.h"
#include <string.h>

/* Prepares a matrix by the plan and writes it. DONE or FAILED. */
static int convert_prepared(tool *t, const arguments *args, spmv_desc *desc)
{
    spmv_matrix m;
    spmv_status s = SPMV_ERR_MEMORY;
    measurer me;
    size_t bytes = 0;
    void *data = NULL;
    int result = FAILED;
    t->about = desc->plan;
    if (measurer_make(&me, t, desc, NULL) == DONE) {
        desc->hints = &me.hints;
        s = spmv_create(&m, desc);
    }
    measurer_free(&me);
    if (s != SPMV_OK) return FAILED;
    if (spmv_save(&m, NULL, 0, &bytes) == SPMV_OK) {
        data = spmv_alloc(&t->hooks, bytes, 1);
        if (!data) result = cli_no_memory(t);
        else if (spmv_save(&m, data, bytes, &bytes) == SPMV_OK)
            result = file_save_prepared(t, args->file[1], data, bytes, args->value[OPT_C_ARRAY] != NULL);
    }
    spmv_free(&t->hooks, data);
    spmv_destroy(&m);
    return result;
}

int convert_command(tool *t, const arguments *args)
{
    const int prepared = args->value[OPT_PREPARED] || args->value[OPT_C_ARRAY];
    int result = DONE;
    spmv_type type = args->value[OPT_TYPE] ? option_type(t, args, &result) : SPMV_TYPE_COUNT;
    spmv_desc desc;
    spmv_csr a;
    if (result != DONE) return result;
    if (args->plans && !prepared) return cli_misuse(t, "--plan requires --prepared or --c-array");
    if (args->plans > 1) return cli_misuse(t, "only one --plan can be given");
    memset(&desc, 0, sizeof desc);
    desc.plan = args->plans ? args->plan[0] : "auto";
    desc.type = args->value[OPT_TYPE] ? type : (spmv_type)0;
    desc.csr = &a;
    desc.hooks = t->hooks;
    result = prepared ? plan_is_text(t, "plan", desc.plan) : DONE;
    if (result != DONE) return result;
    if (file_load_matrix(t, args->file[0], type, &a) != DONE) return FAILED;
    result = prepared ? convert_prepared(t, args, &desc) : file_save_matrix(t, args->file[1], &a);
    spmv_csr_destroy(&a);
    return result;
}
