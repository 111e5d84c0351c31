/* SPDX-License-Identifier: MIT
 *
 * tools/picture/matrix.h - the picture of a matrix under a plan.
 */
#ifndef SPMV_TOOLS_PICTURE_MATRIX_H
#define SPMV_TOOLS_PICTURE_MATRIX_H

#include "../cli/cli.h"
#include "../cli/options.h"

/* spmv plot FILE. DONE, FAILED or USAGE. */
int plot_matrix(tool *t, const arguments *args);

#endif
