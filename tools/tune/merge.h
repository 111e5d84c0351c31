/* SPDX-License-Identifier: MIT
 *
 * tools/tune/merge.h - spmv tune --merge and --compare: several tables of a device.
 */
#ifndef SPMV_TOOLS_TUNE_MERGE_H
#define SPMV_TOOLS_TUNE_MERGE_H

#include "../cli/cli.h"
#include "../cli/options.h"

/* The tables args->file merged into --out. DONE, FAILED or USAGE. */
int merge_tables(tool *t, const arguments *args);

/* Prints how two tables differ. DONE, FAILED or USAGE. */
int merge_compare(tool *t, const arguments *args);

#endif
