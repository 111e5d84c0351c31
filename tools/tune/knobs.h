/* SPDX-License-Identifier: MIT
 *
 * tools/tune/knobs.h - tunes the knobs of the best layouts, one knob after another.
 */
#ifndef SPMV_TOOLS_TUNE_KNOBS_H
#define SPMV_TOOLS_TUNE_KNOBS_H

#include "candidates.h"

/* Tunes the knobs of the leading layouts. It goes kind by kind, because leaders of one kind share matrices, and takes layouts with blocks
 * last, because few matrices suit them. */
void knob_variants(tuner *u);

#endif
