/* SPDX-License-Identifier: MIT
 *
 * tools/tune/sample.h - one candidate measured, and all that are wanted at one size.
 */
#ifndef SPMV_TOOLS_TUNE_SAMPLE_H
#define SPMV_TOOLS_TUNE_SAMPLE_H

#include "../measure/runner.h"
#include "candidates.h"
#include "spmv.h"

/* The median of five or so; of more, while they are spread as on a machine that does something else as well, the lower quartile. It
 * ends after patience seconds. */
spmv_status sample_many(runner *r, double patience, double *out);

/* The candidate at hand with the matrix and the store at hand. */
void sample_candidate(tuner *u, candidate *c, int row, int per);

/* Some samples are taken whatever the budget. */
int sample_out_of_time(tuner *u);

/* 1: the candidate is to be measured at that size and has not been. */
int sample_is_wanted(const tuner *u, const candidate *c, int row, int per);

/* Tells what is measured, and how much time is left; part: of the present phase. */
void sample_progress(tuner *u, const candidate *c, int row, int per, double part);

/* Stores the present matrix in the layout; 0 if it does not take it. */
int slot_store(tuner *u, const spmv_spec *layout);

/* The slot at hand is what run multiplies. */
void slot_begin(tuner *u);

/* Nothing is multiplied any more; the slot keeps its store. */
void slot_end(tuner *u);

/* Frees the stored layout of a slot. */
void slot_empty(slot *s);

/* 1: both differ in their knobs alone. */
int candidate_same_layout(const candidate *a, const candidate *b);

/* What was measured of the layout at this size before, by the knobs' whole names. */
void slot_recall(tuner *u, const candidate *like, int row, int per);

/* part, span: how much of the phase came before, and is this. */
void sample_point(tuner *u, int row, int per, double part, double span);

/* sample_point at a probe. */
void sample_probe(tuner *u, int probe, double part, double span);

#endif
