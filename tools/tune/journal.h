/* SPDX-License-Identifier: MIT
 *
 * tools/tune/journal.h - a file beside the table that holds every rate as soon as it is measured, so that an interrupted run can
 * continue.
 */
#ifndef SPMV_TOOLS_TUNE_JOURNAL_H
#define SPMV_TOOLS_TUNE_JOURNAL_H

#include "candidates.h"

/* Gives a new candidate the rates that the journal of an interrupted run holds for it, or strikes it out as that run did. */
void journal_recall_candidate(tuner *u, candidate *c);

/* Chooses the journal's name, PATH.journal; a table on standard output, a pipe or a device has no journal. Without resume it fails if
 * the journal holds rates: they may have taken hours to measure. DONE, or FAILED or USAGE after a message. */
int journal_begin(tuner *u, const char *path, int resume);

/* Reads the journal if resume, writes it anew, and opens it for appending, so that it is valid at whatever moment the run is killed.
 * DONE, or FAILED after a message. */
int journal_open(tuner *u, int resume);

/* Closes the journal; removes it if the run was complete. */
void journal_close(tuner *u, int result);

/* Appends the candidate's rate at a size. */
void journal_sample(tuner *u, const candidate *c, int row, int per);

/* Strikes out a candidate, with a message and a line in the journal. */
void journal_strike(tuner *u, candidate *c, const char *why);

#endif
