/* SPDX-License-Identifier: MIT
 *
 * tools/gen/cl_source.c - the text of kernels/cuda.cuh, common.cl and shell.cl, from the generated header of the library.
 */
#include "tools/gen/emit_cl.h"

/* only what all formats share */
#undef SPMV_ONLY
#define SPMV_ONLY 0
#include "spmv_formats.h"
#include "spmv/generated/kernels.h"

static void print(const char (*piece)[SPMV__PIECE_BYTES], size_t size, FILE *out)
{
    size_t i;
    for (i = 0; i < size / sizeof *piece; i++) fputs(piece[i], out);
}

void cl_source_print(cl_source s, FILE *out)
{
    if (s == CL_SOURCE_CUDA) print(spmv__src_cuda, sizeof spmv__src_cuda, out);
    if (s == CL_SOURCE_COMMON) print(spmv__src_common, sizeof spmv__src_common, out);
    if (s == CL_SOURCE_SHELL) print(spmv__src_shell, sizeof spmv__src_shell, out);
    fputs("\n", out);
}
