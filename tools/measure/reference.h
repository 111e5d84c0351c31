/* SPDX-License-Identifier: MIT
 *
 * tools/measure/reference.h - products checked against a reference in long double.
 */
#ifndef SPMV_TOOLS_MEASURE_REFERENCE_H
#define SPMV_TOOLS_MEASURE_REFERENCE_H

#include "../cli/cli.h"
#include "spmv.h"

typedef struct trial {
    tool           *t;
    const spmv_csr *a;
    spmv_type       type;
    void           *x, *start, *y;  /* start is y before the product */
    long double    *exact, *size;   /* A x and |A| |x|, row by row */
    int             whole;          /* 1: small integers throughout, so that every product must be exact */
} trial;

/* A zeroed trial is fine as well. */
void trial_free(trial *c);

/* Room for a matrix's vectors and references, filled in by the caller and trial_reference. DONE or FAILED. */
int trial_make(trial *c, tool *t, const spmv_csr *a, spmv_type type);

/* exact and size for the present x. */
void trial_reference(trial *c);

/* Whether every partial sum of 2 A x - y is an integer that the vectors hold exactly: x and y up to 4 in size. */
int trial_stays_whole(const spmv_csr *a, spmv_type type);

/* Random reals against the bound and, where the matrix allows, small integers that must come out exact (*err becomes
 * infinite if not). The references are those of the present x, so each x serves all plans: whole says which. */
spmv_status trial_check(trial *c, spmv_matrix *m, int whole, double *err);

#endif
