/* SPDX-License-Identifier: MIT
 *
 * tools/picture/bars.h - bar charts of measured times: the speed of each plan for a matrix, or a peer's time divided by ours for many
 * matrices.
 */
#ifndef SPMV_TOOLS_PICTURE_BARS_H
#define SPMV_TOOLS_PICTURE_BARS_H

#include "../cli/cli.h"
#include "../cli/options.h"

/* spmv plot bench. DONE, or FAILED or USAGE after a message. */
int plot_bench(tool *t, const arguments *args);

/* spmv plot ratio. DONE, or FAILED or USAGE after a message. */
int plot_ratio(tool *t, const arguments *args);

#endif
