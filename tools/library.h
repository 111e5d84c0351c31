/* SPDX-License-Identifier: MIT
 *
 * tools/library.h - what the command line needs of the library beyond its interface: parts of the implementation under other names.
 * library.c compiles the library for all of it.
 */
#ifndef SPMV_TOOLS_LIBRARY_H
#define SPMV_TOOLS_LIBRARY_H

#include "spmv.h"

/* The library's own logarithm to base 2 (v up to 1e-300: -1000) and its inverse. They give the same bits on every machine, which
 * libm's do not promise: the matrices that spmv gen makes depend on them. */
double library_log2(double v);
double library_exp2(double v);

/* The logarithm to base 2 of the rate that the library's model foresees for a layout at a size: what curves between the samples of a
 * table are measured against. */
double library_model_rate(const spmv_tuning *t, spmv_type type, const spmv_spec *layout, double rows, double per_row);

/* Height and width of a block, in elements. */
typedef struct library_block {
    int height, width;
} library_block;

/* The sizes of blocks that block formats have; *count of them. */
const library_block *library_blocks(size_t *count);

#endif
