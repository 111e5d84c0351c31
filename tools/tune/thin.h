/* SPDX-License-Identifier: MIT
 *
 * tools/tune/thin.h - a tuning table made small enough to be bundled.
 */
#ifndef SPMV_TOOLS_TUNE_THIN_H
#define SPMV_TOOLS_TUNE_THIN_H

#include "../cli/cli.h"
#include "spmv.h"

/* keep[] such that the text has at most limit bytes: fewer sizes, then fewer rows, then sizes again. */
int thin_table(tool *tool_, spmv_tuning *t, unsigned char *keep, size_t limit);

#endif
