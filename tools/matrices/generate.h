/* SPDX-License-Identifier: MIT
 *
 * tools/matrices/generate.h - makes a matrix of any family or paper by its name.
 */
#ifndef SPMV_TOOLS_MATRICES_GENERATE_H
#define SPMV_TOOLS_MATRICES_GENERATE_H

#include "../cli/cli.h"
#include "spmv.h"

/* Prints what spmv gen can make. */
void generate_list(void);

/* The matrix called name as CSR. */
int generate_matrix(tool *t, const char *name, spmv_csr *out);

#endif
