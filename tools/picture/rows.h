/* SPDX-License-Identifier: MIT
 *
 * tools/picture/rows.h - draws a histogram of a matrix's row lengths with logarithmic axes.
 */
#ifndef SPMV_TOOLS_PICTURE_ROWS_H
#define SPMV_TOOLS_PICTURE_ROWS_H

#include "picture.h"
#include "../cli/options.h"

/* spmv plot rows. DONE, or FAILED or USAGE after a message. */
int plot_rows(picture *p, const arguments *args);

#endif
