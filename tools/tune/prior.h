/* SPDX-License-Identifier: MIT
 *
 * tools/tune/prior.h - what is known before anything is measured: the table of a similar device.
 */
#ifndef SPMV_TOOLS_TUNE_PRIOR_H
#define SPMV_TOOLS_TUNE_PRIOR_H

#include "../cli/cli.h"
#include "spmv.h"

/* Reads the table that "auto" uses on the device of head unless it is given another: the bundled one for the device or for its class.
 * from: the file of a table to read instead; NULL or "bundled": the bundled one. *found becomes 0 if there is none, otherwise 1, and then
 * spmv_tuning_free ends *out. DONE, or FAILED after a message. */
int prior_read(tool *t, const spmv_tuning *head, const char *from, spmv_tuning *out, int *found);

/* Makes of a table one of the device of head: it gets that device's name, driver, date, units, memory and time of a call, and all other
 * speeds and times change by one factor, so that the choice stays as it was. The factor is the ratio of the speeds at which the two devices
 * read memory or, if that is higher, their caches: no estimate is below the time that the highest speeds of the table allow, and a limit
 * that is too low for what fits in the cache would make the formats there look alike. That most products are slower than that is for the
 * fits. Moving launches, caches and memory each by its own ratio was tried on four pairs of devices: it hardly changed the choice on three
 * of them and made it worse on the fourth. DONE, or FAILED after a message. */
int prior_move(tool *t, spmv_tuning *table, const spmv_tuning *head);

#endif
