/* SPDX-License-Identifier: MIT
 *
 * tools/measure/values.h - single values of matrices and vectors, whatever their type.
 */
#ifndef SPMV_TOOLS_MEASURE_VALUES_H
#define SPMV_TOOLS_MEASURE_VALUES_H

#include "spmv.h"

/* Value k of the matrix, of either stored type. */
double value_at(const spmv_csr *a, uint64_t k);

/* x[i] = v, x being a vector for products of this type. */
void value_put(spmv_type type, void *x, uint64_t i, double v);

/* x[i] of a vector for products of this type. */
double value_get(spmv_type type, const void *x, uint64_t i);

/* Real numbers of [-1, 1) that seed decides. */
void value_fill_random(spmv_type type, void *x, uint64_t n, uint64_t seed);

/* Whole numbers from -4 to 4. */
void value_fill_whole(spmv_type type, void *x, uint64_t n, uint64_t seed);

#endif
