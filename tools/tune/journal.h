/* SPDX-License-Identifier: MIT
 *
 * tools/tune/journal.h - samples beside the table, so that an interrupted run can go on.
 */
#ifndef SPMV_TOOLS_TUNE_JOURNAL_H
#define SPMV_TOOLS_TUNE_JOURNAL_H

#include "candidates.h"

/* What the journal of an interrupted run says of a new candidate. */
void journal_recall_candidate(tuner *u, candidate *c);

/* Beside the table, PATH.journal: an interrupted run goes on from it with --resume. Without that, what it holds may have taken hours
 * and is not thrown away unasked. Standard output, pipes and devices have none. */
int journal_begin(tuner *u, const char *path, int resume);

/* What was there before, or a head, is written as a whole; samples are then appended, so that the journal is of use whenever the run
 * is killed. */
int journal_open(tuner *u, int resume);

/* A journal of a run that was not cut short is of no use any more. */
void journal_close(tuner *u, int result);

/* Appends the candidate's rate at a size. */
void journal_sample(tuner *u, const candidate *c, int row, int per);

/* Takes a candidate out of the race, with a message and a line in the journal. */
void journal_strike(tuner *u, candidate *c, const char *why);

#endif
