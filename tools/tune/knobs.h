/* SPDX-License-Identifier: MIT
 *
 * tools/tune/knobs.h - one knob after another around the layouts that lead.
 */
#ifndef SPMV_TOOLS_TUNE_KNOBS_H
#define SPMV_TOOLS_TUNE_KNOBS_H

#include "candidates.h"

/* Kind after kind, as leaders of a kind share matrices; blocks last, as few matrices have them. */
void knob_variants(tuner *u);

#endif
