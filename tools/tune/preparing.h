/* SPDX-License-Identifier: MIT
 *
 * tools/tune/preparing.h - measures what preparing a matrix costs (spmv_tune_prepare).
 */
#ifndef SPMV_TOOLS_TUNE_PREPARING_H
#define SPMV_TOOLS_TUNE_PREPARING_H

#include "candidates.h"

/* Measures what each format takes to be made from CSR, what further parts, dividing and a look at the matrix add, and what building kernels
 * takes, and puts it into u->head. Begins no measurement after the time until; what is missing then stays unknown. Programs that the device
 * has built before count as built, so that this comes before all other measurements. DONE, or FAILED after a message. */
int preparing_measure(tuner *u, double until);

#endif
