/* SPDX-License-Identifier: MIT
 *
 * tools/tune/lend.h - completes the table of a short run by what is known of other devices of its class.
 */
#ifndef SPMV_TOOLS_TUNE_LEND_H
#define SPMV_TOOLS_TUNE_LEND_H

#include "../cli/cli.h"

/* Adds to the table in a file the rows of layouts that it has no rates of for a kind of matrix, but the bundled table of the device or its
 * class has. Rates follow the speeds in the heads of both tables, and how the layouts compare that both have. Without this, a short run
 * would make a choice that knows less than the bundled table does. DONE, or FAILED after a message. */
int table_lend(tool *t, const char *path);

#endif
