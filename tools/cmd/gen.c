/* SPDX-License-Identifier: MIT
 *
 * tools/cmd/gen.c - spmv gen: generates a matrix and writes it.
 */
#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/options.h"
#include "commands.h"
#include "../matrices/generate.h"
#include "spmv.h"

int gen_command(tool *t, const arguments *args)
{
    spmv_csr a;
    int result;
    if (args->value[OPT_LIST]) {
        generate_list();
        return DONE;
    }
    result = generate_matrix(t, args->file[0], &a);
    if (result != DONE) return result;
    result = file_save_matrix(t, args->value[OPT_OUT], &a);
    spmv_csr_destroy(&a);
    return result;
}
