/* SPDX-License-Identifier: MIT
 *
 * tools/tune/phases.h - what is measured when: probes, the grid, samples that look wrong; and who is dropped.
 */
#ifndef SPMV_TOOLS_TUNE_PHASES_H
#define SPMV_TOOLS_TUNE_PHASES_H

#include "candidates.h"

/* The best rate at a point of those that compete with c; alike: of those only that are of its format (or, of blocks, of any) and have
 * columns of the same width, since short ones do not fit every matrix. */
float phase_best_rate(const tuner *u, const candidate *c, int point, int alike);

/* 1: at some size within the factor of the best, or the best of its like (within a percent). Unmeasured: 1 as well. */
int phase_has_hope(const tuner *u, const candidate *c, float factor);

/* Every candidate of the type at hand is wanted, or none. */
void phase_want_all(tuner *u, int wanted);

/* Phase 1: every layout on a few sizes; hopeless ones are dropped. */
void phase_layouts(tuner *u);

enum { GRID_FRONT = 1, GRID_FLAT = 2 };

/* Every other size first, of those the cheap ones first. */
void phase_grid(tuner *u, int which, double from, double share);

/* Phase 4: samples far below their neighbours once more; the better one counts. */
void phase_again(tuner *u);

#endif
