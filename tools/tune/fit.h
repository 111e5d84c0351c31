/* SPDX-License-Identifier: MIT
 *
 * tools/tune/fit.h - fits a table's efficiencies: how much longer products take than its rates say, by the terms of SPMV_TERM_LIST.
 */
#ifndef SPMV_TOOLS_TUNE_FIT_H
#define SPMV_TOOLS_TUNE_FIT_H

#include "structures.h"

/* How good the fits are for structures that are left out of them, one after another. */
typedef struct fit_quality {
    double   error; /* root mean square of log2 of predicted over measured, of each sample as much as it counts */
    double   order; /* the same without what all samples of a structure and type have in common, which does not matter to the choice */
    double   alike[SPMV_ALIKE_COUNT]; /* the correlations of these errors, by how alike candidates are */
    double   good;  /* share of the samples that are predicted within 0.8 to 1.25 of what was measured */
    double   regret[SPMV_TYPE_COUNT]; /* measured time of the candidate that is predicted to be the best over that of the fastest of all
                                         samples: geometric mean; 0: no samples */
    double   worst[SPMV_TYPE_COUNT];  /* the most */
    unsigned structures, samples, terms; /* terms: that the fits use, from the begin of SPMV_TERM_LIST, besides that of the longest row */
} fit_quality;

/* Replaces the fits of the table by ones to the samples. The structures are generated again for this. DONE, or FAILED after a message. */
int fit_table(tool *t, spmv_tuning *table, const sample_list *samples, fit_quality *quality);

/* The same, but the table's own fits are where the new ones start from. The samples correct a common factor and, if estimates then compare
 * candidates clearly better on structures that are left out, one of each format and those of layouts that run alike and of each candidate,
 * the more the more structures show it. Rows without samples get the factors of their format. A table without fits gets those
 * of fit_table. Where the table was timed in CUDA graphs and the samples by calls, only those count whose product takes so much longer than
 * table->call that launches do not show; it is an error if there are none. */
int fit_correct(tool *t, spmv_tuning *table, const sample_list *samples, fit_quality *quality);

#endif
