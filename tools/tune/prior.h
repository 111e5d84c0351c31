/* SPDX-License-Identifier: MIT
 *
 * tools/tune/prior.h - what is known before anything is measured: the table of a similar device.
 */
#ifndef SPMV_TOOLS_TUNE_PRIOR_H
#define SPMV_TOOLS_TUNE_PRIOR_H

#include "../cli/cli.h"
#include "spmv.h"

/* Reads the table that "auto" would use on the device of head without a table of its own: the bundled one for its class. from: the file of
 * another table to read instead; NULL: the bundled one. *found becomes 0 if there is none, otherwise 1, and then spmv_tuning_free ends
 * *out. DONE, or FAILED after a message. */
int prior_read(tool *t, const spmv_tuning *head, const char *from, spmv_tuning *out, int *found);

/* Makes of a table one of the device of head: its head becomes that one, and every rate becomes higher or lower as far as the launch and
 * the memory of the two devices explain it. The axes and the fits stay. DONE, or FAILED after a message. */
int prior_move(tool *t, spmv_tuning *table, const spmv_tuning *head);

#endif
