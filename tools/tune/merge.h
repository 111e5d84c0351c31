/* SPDX-License-Identifier: MIT
 *
 * tools/tune/merge.h - spmv tune --merge and --compare: tables of one device.
 */
#ifndef SPMV_TOOLS_TUNE_MERGE_H
#define SPMV_TOOLS_TUNE_MERGE_H

#include "../cli/cli.h"
#include "../cli/options.h"

/* Merges the tables args->file into --out. DONE, or FAILED or USAGE after a message. */
int merge_tables(tool *t, const arguments *args);

/* Prints how two tables differ. DONE, or FAILED or USAGE after a message. */
int merge_compare(tool *t, const arguments *args);

#endif
