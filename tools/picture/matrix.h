/* SPDX-License-Identifier: MIT
 *
 * tools/picture/matrix.h - draws a matrix and the parts of its plan.
 */
#ifndef SPMV_TOOLS_PICTURE_MATRIX_H
#define SPMV_TOOLS_PICTURE_MATRIX_H

#include "picture.h"
#include "../cli/options.h"

/* spmv plot FILE. DONE, or FAILED or USAGE after a message. */
int plot_matrix(picture *p, const arguments *args);

#endif
