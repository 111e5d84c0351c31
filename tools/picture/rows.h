/* SPDX-License-Identifier: MIT
 *
 * tools/picture/rows.h - the picture of a matrix's row lengths: a histogram, both axes logarithmic.
 */
#ifndef SPMV_TOOLS_PICTURE_ROWS_H
#define SPMV_TOOLS_PICTURE_ROWS_H

#include "../cli/cli.h"
#include "../cli/options.h"

/* spmv plot rows. DONE, FAILED or USAGE. */
int plot_rows(tool *t, const arguments *args);

#endif
