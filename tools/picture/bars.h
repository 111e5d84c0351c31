/* SPDX-License-Identifier: MIT
 *
 * tools/picture/bars.h - horizontal bars of what was measured: each plan's speed for a matrix, or the time of a peer over ours for many.
 */
#ifndef SPMV_TOOLS_PICTURE_BARS_H
#define SPMV_TOOLS_PICTURE_BARS_H

#include "../cli/cli.h"
#include "../cli/options.h"

/* spmv plot bench. DONE, FAILED or USAGE. */
int plot_bench(tool *t, const arguments *args);

/* spmv plot ratio. DONE, FAILED or USAGE. */
int plot_ratio(tool *t, const arguments *args);

#endif
