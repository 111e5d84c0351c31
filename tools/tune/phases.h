/* SPDX-License-Identifier: MIT
 *
 * tools/tune/phases.h - the order of the measurements (probes, the grid, outliers) and which candidates are dropped.
 */
#ifndef SPMV_TOOLS_TUNE_PHASES_H
#define SPMV_TOOLS_TUNE_PHASES_H

#include "candidates.h"

/* The best rate at a size (an index into rates) of the candidates that compete with c. alike: only of those with the same width of
 * column indices, because narrow ones do not suit every matrix, and of the same format (with blocks: any format). */
float phase_best_rate(const tuner *u, const candidate *c, int point, int alike);

/* 1: at some size c is within the factor of the best, or within 1% of the best that are alike; or c was never measured. */
int phase_has_hope(const tuner *u, const candidate *c, float factor);

/* Sets wanted of all candidates of the current type, and clears it of all others. */
void phase_want_all(tuner *u, int wanted);

/* Phase 1: measures every layout at the probes and drops those without hope. */
void phase_layouts(tuner *u);

/* Phase 3: measures all sizes, every other one first, and of those the small ones first. front: 1: only candidates that are in front at
 * some size. from and share: which part of the phase's progress this pass is. */
void phase_grid(tuner *u, int front, double from, double share);

/* Phase 4: measures outliers, rates far below their neighbours, again and keeps the better rate. */
void phase_again(tuner *u);

#endif
