/* SPDX-License-Identifier: MIT
 * What the programs of this folder that time products have in common. */
#ifndef SPMV_BENCH_COMMON_H
#define SPMV_BENCH_COMMON_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Seconds from some fixed point on. */
static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* For qsort of doubles. */
static inline int by_size(const void *a, const void *b)
{
    double u = *(const double *)a, v = *(const double *)b;
    return (u > v) - (u < v);
}

/* The median of n values, which are sorted. */
static inline double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_size);
    return v[n / 2];
}

/* Ends the program with a message unless all is well. */
static inline void need(int good, const char *what)
{
    if (good) return;
    fflush(stdout);
    fprintf(stderr, "%s failed\n", what);
    exit(1);
}

/* Zeroed memory for count elements, and one more. */
static inline void *room(uint64_t count, size_t size)
{
    void *block = calloc((size_t)count + 1, size);
    need(block != NULL, "allocating memory");
    return block;
}

#endif
