/* SPDX-License-Identifier: MIT
 *
 * tools/matrices/generate.h - generates a matrix of any family or paper by its name.
 */
#ifndef SPMV_TOOLS_MATRICES_GENERATE_H
#define SPMV_TOOLS_MATRICES_GENERATE_H

#include "../cli/cli.h"
#include "spmv.h"

/* Prints the names of all families and matrices. */
void generate_list(void);

/* Generates the matrix called name. DONE, or FAILED or USAGE after a message. */
int generate_matrix(tool *t, const char *name, spmv_csr *out);

#endif
