/* SPDX-License-Identifier: MIT
 *
 * tools/tune/thin.h - makes a tuning table small enough to be bundled.
 */
#ifndef SPMV_TOOLS_TUNE_THIN_H
#define SPMV_TOOLS_TUNE_THIN_H

#include "../cli/cli.h"
#include "spmv.h"

/* Removes sizes from the table, and clears keep[] of rows, until its text has at most limit bytes: first sizes, then rows, then sizes
 * again. keep[] has a byte per row. limit 0: removes only rows without rates. DONE, or FAILED after a message. */
int thin_table(tool *tool_, spmv_tuning *t, unsigned char *keep, size_t limit);

#endif
