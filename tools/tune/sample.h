/* SPDX-License-Identifier: MIT
 *
 * tools/tune/sample.h - measures one candidate, and all that are wanted at one size.
 */
#ifndef SPMV_TOOLS_TUNE_SAMPLE_H
#define SPMV_TOOLS_TUNE_SAMPLE_H

#include "../measure/runner.h"
#include "candidates.h"
#include "spmv.h"

/* Writes x of the current type to the device. It is as long as the longest; every matrix uses a beginning of it. DONE, or FAILED after a
 * message. */
int sample_inputs(tuner *u);

/* Times a product, in seconds: the median of about five samples. While these differ much, as on a machine with other work, more are
 * taken, and the lower quartile of at least eight counts. Ends after patience seconds. */
spmv_status sample_many(runner *r, double patience, double *out);

/* Checks and times the candidate with the matrix and the store of the current slot, and records its rate. A candidate that fails or is
 * wrong is struck out. */
void sample_candidate(tuner *u, candidate *c, int row, int per);

/* Checks and times the layout and knobs of c with the matrix and the store of the current slot. *rate: GFLOP/s, 0 if the product is wrong
 * or was not measured; *right: 0 if it is wrong. */
spmv_status sample_rate(tuner *u, candidate *c, float *rate, int *right);

/* 1: the time of the phase is over, or the device seems to be lost. The first TUNE_LEAST rates are measured in any case. */
int sample_out_of_time(tuner *u);

/* 1: the candidate is wanted at that size and was not measured there yet. */
int sample_is_wanted(const tuner *u, const candidate *c, int row, int per);

/* Reports what is being measured and how much time is left; part: how much of the current phase is done, from 0 to 1. */
void sample_progress(tuner *u, const candidate *c, int row, int per, double part);

/* Stores the matrix of the current slot in the layout. 1, or 0 if the layout cannot hold it. */
int slot_store(tuner *u, const spmv_spec *layout);

/* Makes u->run multiply what the current slot holds. */
void slot_begin(tuner *u);

/* Ends this; the slot keeps its store. */
void slot_end(tuner *u);

/* Frees the store of a slot. */
void slot_empty(slot *s);

/* 1: the candidates differ at most in their knobs. */
int candidate_same_layout(const candidate *a, const candidate *b);

/* Fills in the current slot's list of variants with those of like's layout that were measured at this size before. */
void slot_recall(tuner *u, const candidate *like, int row, int per);

/* Measures all wanted candidates at a size. part: how much of the phase is done, span: how much this size adds to it. */
void sample_point(tuner *u, int row, int per, double part, double span);

/* The same at a probe. */
void sample_probe(tuner *u, int probe, double part, double span);

#endif
