/* SPDX-License-Identifier: MIT
 *
 * tools/tune/fit.h - the costs of a tuning table from samples: for each candidate a non-negative least squares of its seven costs.
 *
 * Of a sample, the difference of estimate and time over the time counts, so that short products weigh as much as long ones, times the
 * share that the best candidate's time on that structure is of its own: how slow a slow candidate is matters little to a choice. As a few
 * samples do not determine seven costs, each fit is drawn to the costs known before, times one factor for all lines of a type, as if so many
 * further structures agreed with them. How many, or whether that factor alone is better, is found by leaving out one family of structures
 * after another; a few structures cannot show it, and then the factor is all that changes.
 */
#ifndef SPMV_TOOLS_TUNE_FIT_H
#define SPMV_TOOLS_TUNE_FIT_H

#include "../cli/cli.h"
#include "samples.h"
#include "spmv.h"

enum { FIT_LEAST = 10 /* structures: with fewer, fits to a table of another device chose worse than that table with a factor */ };

/* Estimates of all lines of a list for its structures. */
typedef struct looks {
    spmv_estimate **at; /* by structure and type; NULL: not made yet */
    size_t          count;
} looks;

/* Makes room for those of a list, which must get no further lines or structures. 1, or 0 if memory ran out. */
int looks_make(looks *k, const sample_list *l);
void looks_free(looks *k);

/* The estimates of the lines for structure number name, whose pattern is a, by the costs that the lines have when it is asked for the first
 * time. NULL after a message. */
const spmv_estimate *look_at(tool *t, looks *k, const spmv_tuning *head, const sample_list *l, size_t name, spmv_type type,
                             const spmv_csr *a);

/* Leaves of the lines whose byte in kept is not 0 those of the candidates with which the best one on each structure is missed least, found one
 * after another: csr, and at most so many in all. DONE, or FAILED after a message. */
int fit_cover(tool *t, const sample_list *l, size_t most, unsigned char *kept);

/* How many structures have samples. */
uint64_t fit_structures(const sample_list *l);

/* Fits the costs of the lines that are kept, which are those known before, to the samples, which samples_join has joined, and sets the error
 * and the regrets of the head. Structures that were not looked at are generated. What preparing takes is fitted likewise, where samples say
 * it.
 *   fresh     1: the costs known before are of no table, so that no factor makes them better
 *   strength  becomes the number of structures that agree with what was known; 0: only a factor was fitted
 * DONE, or FAILED after a message. */
int fit_lines(tool *t, spmv_tuning *head, sample_list *l, looks *k, const unsigned char *kept, int fresh, int *strength);

#endif
