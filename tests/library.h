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

/* The features of a matrix as the choice finds them; sample and without are those of spmv__analysis_features. */
spmv_status library_features_make(spmv_features *out, const spmv_view *v, uint64_t sample, unsigned without, const spmv_hooks *hooks);
/* All features of a matrix, counted, for devices of a class; all 0: memory ran out. */
spmv_features library_features(const spmv_view *v, spmv_device_class device_class);

/* The text of bundled table i; NULL if there are no more. */
const char *library_tuning_text(size_t i, size_t *length);

/* y = beta y. */
void library_scale(spmv_type t, uint64_t n, double beta, void *y);

/* X(RESULT, NAME, (parameters)): library_NAME is the function spmv__NAME. */
#define LIBRARY_LIST(X)                                                                                     \
    X(spmv_device_class, device_class_from, (const char *name))                                             \
    X(spmv_format_class, format_class_of, (spmv_format f))                                                  \
    X(int, format_takes_key, (spmv_format f, spmv_key k))                                                   \
    X(spmv_status, spec_check, (const spmv_spec *spec, const char **why))                                   \
    X(spmv_status, plan_check, (const spmv_plan *plan, int strict, const spmv_hooks *hooks))                \
    X(int, part_covers, (const spmv_part *p, uint64_t matrix_rows))                                         \
    X(const char *, cost_name, (spmv_cost c))                                                               \
    X(uint64_t, sum, (uint64_t seed, const void *data, uint64_t bytes))
#define X(result, name, parameters) extern result (*const library_##name) parameters;
LIBRARY_LIST(X)
#undef X

#ifdef _OPENMP
/* Tasks in a team of count threads, and shares of work in as many tasks as threads (spmv__parallel, spmv__share_among). */
void library_parallel(void (*task)(void *job, size_t i), void *job, size_t count);
void library_share(void (*work)(void *job, uint64_t share, size_t thread), void *job, uint64_t shares, size_t threads);

/* Sets for how many seconds the calling thread does tasks alone. Returns for how many it would have done so. */
double library_alone(double seconds);
#endif

#endif
