/* SPDX-License-Identifier: MIT
 *
 * tools/cmd/mul.c - spmv mul: computes y = alpha A x + beta y.
 */
#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/options.h"
#include "commands.h"
#include "../measure/device.h"
#include "../measure/plans.h"
#include "../measure/team.h"
#include "../measure/values.h"
#include "spmv.h"
#include "spmv_group.h"
#include <float.h>
#include <stdlib.h>
#include <string.h>

typedef struct product {
    spmv_desc    desc;
    spmv_csr     a;
    char        *saved;  /* in place of a, if the file holds a prepared matrix and no plan is given: its bytes */
    size_t       bytes;
    spmv_device *device;
    team         team;   /* with several devices, in place of device */
    void        *x, *y;
    uint64_t     in, out; /* elements of x and of y */
    uint64_t     count;   /* how many of each */
    double       alpha, beta;
} product;

static void product_free(tool *t, product *p)
{
    spmv_free(&t->hooks, p->x);
    spmv_free(&t->hooks, p->y);
    spmv_csr_destroy(&p->a);
    free(p->saved);
    device_close(t, p->device);
    team_close(t, &p->team);
}

/* Fills in *p from the options and reports every mistake that shows before a file is read. DONE, or USAGE after a message. */
static int product_options(tool *t, const arguments *args, product *p)
{
    int result = DONE;
    double most;
    memset(p, 0, sizeof *p);
    p->desc.type = option_type(t, args, &result);
    most = p->desc.type == SPMV_F32 ? FLT_MAX : DBL_MAX;
    p->alpha = option_real(t, args, OPT_ALPHA, 1, -most, most, &result);
    p->beta = option_real(t, args, OPT_BETA, 0, -most, most, &result);
    p->desc.plan = args->plans ? args->plan[0] : "csr";
    p->desc.variant = args->plans ? args->variant[0] : NULL;
    p->desc.strict = args->value[OPT_STRICT] != NULL;
    p->desc.reproducible = args->value[OPT_REPRODUCIBLE] != NULL;
    p->desc.simd = option_simd(t, args, &result);
    p->desc.convert = option_convert(t, args, &result);
    p->desc.max_bytes = option_bytes(t, args, OPT_MAX_BYTES, &result);
    p->desc.both = args->value[OPT_TRANSPOSED] != NULL;
    p->desc.hooks = t->hooks;
    if (result != DONE) return result;
    if (args->plans > 1) return cli_misuse(t, "only one --plan can be given");
    if (p->beta != 0 && !args->value[OPT_Y]) return cli_misuse(t, "--beta requires the vector that it multiplies, --y FILE");
    if (args->value[OPT_Y] && !args->value[OPT_BETA]) return cli_misuse(t, "--y requires --beta");
    return plan_is_text(t, "plan", p->desc.plan);
}

/* Reads or makes x and y. DONE or FAILED. */
static int product_vectors(tool *t, const arguments *args, product *p)
{
    spmv_type type = p->desc.type;
    uint64_t i;
    p->count = args->value[OPT_X] ? 0 : 1;
    if (args->value[OPT_X]) {
        if (file_load_vectors(t, args->value[OPT_X], type, p->in, &p->count, "x", &p->x) != DONE) return FAILED;
    } else {
        p->x = spmv_alloc(&t->hooks, p->in + 1, spmv_vector_size(type));
        if (!p->x) return cli_no_memory(t);
        for (i = 0; i < p->in; i++) value_put(type, p->x, i, 1);
    }
    if (args->value[OPT_Y]) return file_load_vectors(t, args->value[OPT_Y], type, p->out, &p->count, "y", &p->y);
    p->y = spmv_alloc(&t->hooks, p->out * p->count + 1, spmv_vector_size(type));
    return p->y ? DONE : cli_no_memory(t);
}

/* Multiplies on several devices. DONE or FAILED. */
static int product_shared(tool *t, product *p)
{
    spmv_group_desc d = team_desc(&p->team, &p->desc);
    const size_t size = spmv_vector_size(p->desc.type);
    spmv_group g;
    spmv_status s;
    uint64_t j;
    cli_progress_name(t, "preparing", p->desc.plan);
    s = spmv_group_create(&g, &d);
    cli_progress_clear(t);
    if (s != SPMV_OK) return FAILED;
    for (j = 0; j < p->count && s == SPMV_OK; j++)
        s = (p->desc.both ? spmv_group_mul_transposed : spmv_group_mul)(&g, p->alpha, (const char *)p->x + j * p->in * size, p->beta,
                                                                        (char *)p->y + j * p->out * size);
    spmv_group_destroy(&g);
    return s == SPMV_OK ? DONE : FAILED;
}

/* Multiplies on one device or the host. DONE or FAILED. */
static int product_alone(tool *t, product *p)
{
    spmv_matrix m;
    spmv_status s;
    measurer me;
    int result = FAILED;
    if (measurer_make(&me, t, &p->desc, NULL) == DONE) {
        me.hints.vectors = (unsigned)p->count;
        p->desc.hints = &me.hints;
        cli_progress_name(t, "preparing", p->saved ? "the saved matrix" : p->desc.plan);
        s = p->saved ? spmv_load(&m, p->saved, p->bytes, &p->desc) : spmv_create(&m, &p->desc);
        cli_progress_clear(t);
        if (s == SPMV_OK) {
            s = spmv_mul_many(p->desc.both ? spmv_transposed(&m) : &m, p->count, SPMV_ONE_AFTER_ANOTHER, p->alpha, p->x, 0, p->beta,
                              p->y, 0);
            spmv_destroy(&m);
        }
        if (s == SPMV_OK) result = DONE;
    }
    measurer_free(&me);
    return result;
}

/* Reads the matrix. One that is prepared is used as it is unless something else is asked for. DONE or FAILED. */
static int product_matrix(tool *t, const arguments *args, product *p)
{
    const int other = args->plans || p->desc.both || p->desc.strict || p->desc.reproducible || t->transpose || p->team.count;
    const spmv_type type = p->desc.type;
    spmv_matrix m;
    int result = other ? file_load_matrix(t, args->file[0], type, &p->a)
                       : file_load_saved(t, args->file[0], type, &p->a, &p->saved, &p->bytes);
    p->out = p->desc.both ? p->a.cols : p->a.rows;
    p->in = p->desc.both ? p->a.rows : p->a.cols;
    if (result != DONE || !p->saved) return result;
    p->desc.matrix.borrow = 1;
    if (!args->value[OPT_TYPE]) p->desc.type = (spmv_type)0;
    t->about = args->file[0];
    if (spmv_load(&m, p->saved, p->bytes, &p->desc) != SPMV_OK) return FAILED;
    p->desc.type = m.store.type;
    p->out = spmv_rows(&m);
    p->in = spmv_cols(&m);
    spmv_destroy(&m);
    return DONE;
}

/* Reads the matrix, multiplies and writes y. DONE or FAILED. */
static int product_run(tool *t, const arguments *args, product *p)
{
    int result;
    if (product_matrix(t, args, p) != DONE) return FAILED;
    if (product_vectors(t, args, p) != DONE) return FAILED;
    p->desc.csr = &p->a;
    p->desc.device = p->device;
    t->about = p->saved ? args->file[0] : p->desc.plan;
    result = p->team.count ? product_shared(t, p) : product_alone(t, p);
    return result == DONE ? file_save_vectors(t, args->value[OPT_OUT], p->desc.type, p->out, p->count, p->y) : result;
}

int mul_command(tool *t, const arguments *args)
{
    product p;
    int result = product_options(t, args, &p);
    t->cache = args->value[OPT_CACHE];
    if (result == DONE) result = team_open(t, args, &p.team);
    if (result == DONE && !p.team.count) result = device_open(t, args->value[OPT_DEVICE], &p.device);
    if (result == DONE) result = product_run(t, args, &p);
    product_free(t, &p);
    return result;
}
