/* SPDX-License-Identifier: MIT */
#include "values.h"

#include "spmv.h"

double value_at(const spmv_csr *a, uint64_t k)
{
    return a->type == SPMV_F32 ? (double)((const float *)a->val)[k] : ((const double *)a->val)[k];
}

void value_put(spmv_type type, void *x, uint64_t i, double v)
{
    if (type == SPMV_F32) ((float *)x)[i] = (float)v;
    else ((double *)x)[i] = v;
}

double value_get(spmv_type type, const void *x, uint64_t i)
{
    return type == SPMV_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

/* The next pseudorandom number, uniform in [-1, 1) with as many bits as the type holds; the same on every machine. */
static double random_real(spmv_type type, uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    if (type == SPMV_F32) return (double)(*state >> 40) / 8388608.0 - 1.0;
    return (double)(*state >> 11) / 4503599627370496.0 - 1.0;
}

void value_fill_random(spmv_type type, void *x, uint64_t n, uint64_t seed)
{
    uint64_t i;
    for (i = 0; i < n; i++) value_put(type, x, i, random_real(type, &seed));
}

void value_fill_whole(spmv_type type, void *x, uint64_t n, uint64_t seed)
{
    uint64_t i;
    for (i = 0; i < n; i++) value_put(type, x, i, (double)(int)(random_real(type, &seed) * 4.5));
}
