/* SPDX-License-Identifier: MIT
 *
 * Internal functions of the library that tests need beyond the public interface. Tests that need others define SPMV_IMPLEMENTATION and so
 * have a library of their own, which library.c is not linked with. */
#ifndef SPMV_TESTS_LIBRARY_H
#define SPMV_TESTS_LIBRARY_H

#include "spmv.h"

/* The slots of a part of a matrix as the choice estimates them, from exact features, without building the part, and the bytes that it has
 * besides values and columns. */
spmv_status library_estimate(const spmv_view *v, const spmv_spec *spec, double *slots, double *extra);

#ifdef _OPENMP
/* Tasks in a team of count threads, and shares of work in as many tasks as threads (spmv__parallel, spmv__share_among). */
void library_parallel(void (*task)(void *job, size_t i), void *job, size_t count);
void library_share(void (*work)(void *job, uint64_t share, size_t thread), void *job, uint64_t shares, size_t threads);

/* Sets for how many seconds the calling thread does tasks alone. Returns for how many it would have done so. */
double library_alone(double seconds);
#endif

#endif
