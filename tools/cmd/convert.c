/* SPDX-License-Identifier: MIT
 *
 * tools/cmd/convert.c - spmv convert: converts between Matrix Market and the binary form.
 */
#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/options.h"
#include "commands.h"
#include "spmv.h"

int convert_command(tool *t, const arguments *args)
{
    int result = DONE;
    spmv_type type = args->value[OPT_TYPE] ? option_type(t, args, &result) : SPMV_TYPE_COUNT;
    spmv_csr a;
    if (result != DONE) return result;
    if (file_load_matrix(t, args->file[0], type, &a) != DONE) return FAILED;
    result = file_save_matrix(t, args->file[1], &a);
    spmv_csr_destroy(&a);
    return result;
}
