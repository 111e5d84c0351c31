/* SPDX-License-Identifier: MIT
 *
 * tools/picture/heat.h - heat maps of a tuning table, as clSpMV's figures 10 and 11 have them. For each type and kind of matrix: a large
 * map of what is fastest at each size, by name and rate, and a small map for each format, whose colours tell how near to the
 * fastest it comes.
 */
#ifndef SPMV_TOOLS_PICTURE_HEAT_H
#define SPMV_TOOLS_PICTURE_HEAT_H

#include "../cli/cli.h"
#include "../cli/options.h"

/* spmv plot tune. DONE, FAILED or USAGE. */
int plot_tune(tool *t, const arguments *args);

#endif
