/* SPDX-License-Identifier: MIT
 *
 * tools/measure/values.h - access to single values of matrices and vectors of any type.
 */
#ifndef SPMV_TOOLS_MEASURE_VALUES_H
#define SPMV_TOOLS_MEASURE_VALUES_H

#include "spmv.h"

/* Value k of the matrix. */
double value_at(const spmv_csr *a, uint64_t k);

/* Sets x[i] = v in a vector for products of this type. */
void value_put(spmv_type type, void *x, uint64_t i, double v);

/* x[i] of a vector for products of this type. */
double value_get(spmv_type type, const void *x, uint64_t i);

/* Fills x with n pseudorandom real numbers in [-1, 1), which depend on seed alone. */
void value_fill_random(spmv_type type, void *x, uint64_t n, uint64_t seed);

/* Fills x with n pseudorandom integers from -4 to 4. */
void value_fill_whole(spmv_type type, void *x, uint64_t n, uint64_t seed);

#endif
