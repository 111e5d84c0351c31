/* SPDX-License-Identifier: MIT
 *
 * tools/measure/reference.h - checks products against a reference in long double.
 */
#ifndef SPMV_TOOLS_MEASURE_REFERENCE_H
#define SPMV_TOOLS_MEASURE_REFERENCE_H

#include "../cli/cli.h"
#include "runner.h"
#include "spmv.h"

/* A matrix with vectors and the reference of their product. */
typedef struct trial {
    tool           *t;
    const spmv_csr *a;
    spmv_type       type;
    void           *x, *start, *y;  /* start is y before the product */
    long double    *exact, *size;   /* A x and |A| |x|, row by row */
} trial;

/* Frees what it holds and zeroes it. A zeroed trial is allowed. */
void trial_free(trial *c);

/* Allocates the vectors and references, which the caller and trial_reference fill in. DONE, or FAILED after a message. */
int trial_make(trial *c, tool *t, const spmv_csr *a, spmv_type type);

/* Computes exact and size for c->x. */
void trial_reference(trial *c);

/* 1: every partial sum of 2 A x - y is an integer that the vectors hold exactly if x and y are integers from -4 to 4. */
int trial_stays_whole(const spmv_csr *a, spmv_type type);

/* Multiplies with c->x twice, with different alpha and beta, and raises *err to the largest error over its bound. whole: x and start
 * hold small integers, so that the products must be exact; *err becomes infinite if they are not. */
spmv_status trial_check(trial *c, runner *r, int whole, double *err);

#endif
