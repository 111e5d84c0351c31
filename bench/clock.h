/* SPDX-License-Identifier: MIT
 * What the programs of this folder that time products have in common. */
#ifndef SPMV_BENCH_CLOCK_H
#define SPMV_BENCH_CLOCK_H

#include <time.h>

/* Seconds from some fixed point on. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* For qsort of doubles. */
static int by_size(const void *a, const void *b)
{
    double u = *(const double *)a, v = *(const double *)b;
    return (u > v) - (u < v);
}

#endif
