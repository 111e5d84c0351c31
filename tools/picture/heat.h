/* SPDX-License-Identifier: MIT
 *
 * tools/picture/heat.h - heat maps of a tuning table, like clSpMV's figures 10 and 11. For each type and kind of matrix there is a large
 * map with the name and rate of the fastest layout at each size, and a small map for each format, whose colours show how close it comes
 * to the fastest.
 */
#ifndef SPMV_TOOLS_PICTURE_HEAT_H
#define SPMV_TOOLS_PICTURE_HEAT_H

#include "../cli/cli.h"
#include "../cli/options.h"

/* spmv plot tune. DONE, or FAILED or USAGE after a message. */
int plot_tune(tool *t, const arguments *args);

#endif
