/* SPDX-License-Identifier: MIT */
#include "reference.h"

#include "../cli/cli.h"
#include "values.h"
#include "spmv.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void trial_free(trial *c)
{
    free(c->x);
    free(c->start);
    free(c->y);
    free(c->exact);
    free(c->size);
    memset(c, 0, sizeof *c);
}

int trial_make(trial *c, tool *t, const spmv_csr *a, spmv_type type)
{
    size_t width = spmv_vector_size(type), rows = (size_t)a->rows + 1, cols = (size_t)a->cols + 1;
    memset(c, 0, sizeof *c);
    c->t = t;
    c->a = a;
    c->type = type;
    c->x = calloc(cols, width);
    c->start = calloc(rows, width);
    c->y = calloc(rows, width);
    c->exact = (long double *)calloc(rows, sizeof *c->exact);
    c->size = (long double *)calloc(rows, sizeof *c->size);
    if (c->x && c->start && c->y && c->exact && c->size) return DONE;
    trial_free(c);
    return cli_no_memory(t);
}

static long double magnitude(long double v)
{
    return v < 0 ? -v : v;
}

void trial_reference(trial *c)
{
    const spmv_csr *a = c->a;
    uint64_t r, k;
    for (r = 0; r < a->rows; r++) {
        long double sum = 0, sizes = 0;
        for (k = a->ptr[r]; k < a->ptr[r + 1]; k++) {
            long double term = (long double)value_at(a, k) * (long double)value_get(c->type, c->x, a->col[k]);
            sum += term;
            sizes += magnitude(term);
        }
        c->exact[r] = sum;
        c->size[r] = sizes;
    }
}

int trial_stays_whole(const spmv_csr *a, spmv_type type)
{
    long double most = type == SPMV_F32 ? 16777216.0L : 9007199254740992.0L, sum;
    uint64_t r, k;
    for (r = 0; r < a->rows; r++) {
        for (sum = 4, k = a->ptr[r]; k < a->ptr[r + 1]; k++) {
            double v = value_at(a, k);
            if (!(v >= -1e6 && v <= 1e6) || v != (double)(int64_t)v) return 0;
            sum += 8 * magnitude((long double)v);
        }
        if (sum > most) return 0;
    }
    return 1;
}

/* The largest error of a row divided by its bound (n + 4) u (|alpha| |A| |x| + |beta| |y|), which allows results below the normal range
 * to be flushed to zero; infinite if an element is NaN or infinite though the reference is not. */
static double worst_error(const trial *c, double alpha, double beta)
{
    int single = c->type == SPMV_F32;
    long double u = single ? (long double)FLT_EPSILON / 2 : (long double)DBL_EPSILON / 2;
    long double tiny = single ? (long double)FLT_MIN : (long double)DBL_MIN, top = single ? FLT_MAX : DBL_MAX;
    long double worst = 0;
    uint64_t r;
    for (r = 0; r < c->a->rows; r++) {
        long double before = beta != 0 ? (long double)value_get(c->type, c->start, r) : 0, after = value_get(c->type, c->y, r);
        long double want = alpha * c->exact[r] + beta * before, n = (long double)(c->a->ptr[r + 1] - c->a->ptr[r]);
        long double size = magnitude((long double)alpha) * c->size[r] + magnitude((long double)beta * before), ratio;
        if (!(size < top / 4)) continue; /* Inf, NaN or overflow of the reference itself: nothing to compare with */
        ratio = magnitude(after - want) / ((n + 4) * (u * size + tiny));
        if (!(ratio <= LDBL_MAX)) return INFINITY;
        if (ratio > worst) worst = ratio;
    }
    return (double)worst;
}

static int all_equal(const trial *c, double alpha, double beta)
{
    uint64_t r;
    for (r = 0; r < c->a->rows; r++) {
        long double want = (long double)alpha * c->exact[r];
        if (beta != 0) want += (long double)beta * (long double)value_get(c->type, c->start, r);
        if (!((long double)value_get(c->type, c->y, r) == want)) return 0;
    }
    return 1;
}

/* Computes one product into c->y. With beta 0, y holds NaN before, which must not survive. */
static spmv_status trial_multiply(trial *c, runner *of, double alpha, double beta)
{
    uint64_t r;
    if (beta == 0) for (r = 0; r < c->a->rows; r++) value_put(c->type, c->y, r, NAN);
    else memcpy(c->y, c->start, (size_t)c->a->rows * spmv_vector_size(c->type));
    return runner_multiply(of, alpha, c->x, beta, c->y);
}

spmv_status trial_check(trial *c, runner *r, int whole, double *err)
{
    static const double alpha[2] = {1, -2.5}, beta[2] = {0, 1.5}, whole_alpha[2] = {1, 2}, whole_beta[2] = {0, -1};
    int i;
    for (i = 0; i < 2; i++) {
        double al = whole ? whole_alpha[i] : alpha[i], be = whole ? whole_beta[i] : beta[i], e;
        spmv_status s = trial_multiply(c, r, al, be);
        if (s != SPMV_OK) return s;
        e = worst_error(c, al, be);
        if (whole && !all_equal(c, al, be)) e = INFINITY;
        if (e > *err) *err = e;
    }
    return SPMV_OK;
}
