/* SPDX-License-Identifier: MIT
 *
 * spmv/format/dense.h - dense: every element of a rectangle.
 */
#ifndef SPMV__FORMAT_DENSE_H
#define SPMV__FORMAT_DENSE_H

#include "../products.h"

/* ---- dense ------------------------------------------------------------------------------------------------------- */
#if !(SPMV__ONLY & SPMV_BIT_DENSE)
#define SPMV__NO_DENSE
#define SPMV__BUILT_DENSE 0
#else
#define SPMV__BUILT_DENSE 1
#endif

static const spmv__traits spmv__dense_traits = {
    SPMV__LISTS,                                    /* keys */
    SPMV_CAN_LIST | SPMV_HAS_FILL | SPMV_LONG_ROWS, /* flags */
    SPMV_CLASS_DENSE,                               /* class */
    0,                                              /* indices */
    0,                                              /* even */
    SPMV__PADS_NONE, SPMV__LANES_BY_LENGTH          /* pads, lanes */
};

static const char *const spmv__dense_layouts[] = {
    "dense"
};

#ifndef SPMV__NO_DENSE
static spmv_status spmv__dense_size(spmv_part *p, spmv__source *source)
{
    (void)source;
    spmv__want(&p->a[SPMV_VAL], spmv__sat_mul(p->rows, p->cols), p->a[SPMV_VAL].width);
    return SPMV_OK;
}

static spmv_status spmv__dense_estimate(const spmv_spec *spec, const spmv__analysis *analysis, const spmv_features *features,
                                        spmv__load *out)
{
    (void)spec;
    (void)analysis;
    out->slots = (double)features->rows * (double)features->cols;
    out->longest = (double)features->cols;
    return SPMV_OK;
}

#define spmv__dense_lay NULL

SPMV__SHARED int spmv__dense_sound(const spmv_part *p) { return p->a[SPMV_VAL].count == spmv__sat_mul(p->rows, p->cols); }

static void spmv__dense_fill(spmv_part *p, const spmv__source *source, spmv__sink *to, uint64_t first, uint64_t end)
{
    uint64_t i, k;
    spmv__clear(to, first * p->cols, (end - first) * p->cols);
    for (i = first; i < end; i++) {
        uint64_t r = spmv__source_row(source, i);
        for (k = source->view->a->ptr[r]; k < source->view->a->ptr[r + 1]; k++)
            if (spmv__mine(source->view, k)) spmv__put(to, i * p->cols + source->view->a->col[k], k);
    }
}

static void spmv__dense_each(const spmv_part *p, spmv__visit visit, void *user)
{
    uint64_t i, c;
    for (i = 0; i < p->rows; i++)
        for (c = 0; c < p->cols; c++) visit(user, i, c, i * p->cols + c);
}
#endif

#endif

/* ---- products on the host, for each level and type (products.h) -------------------------------------------------- */
#define SPMV__HOST_DENSE { SPMV__PRODUCTS(dense), SPMV__NONE }
#if defined(SPMV__TYPE) && !defined(SPMV__COLUMN_BITS) && !defined(SPMV__REPEATED) && !defined(SPMV__NO_DENSE) /* again */
#ifdef SPMV__SIMPLE
static void SPMV__F(dense)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    uint64_t i = spmv__even(p->rows, 1, share, shares), k;
    const uint64_t end = spmv__even(p->rows, 1, share + 1, shares), n = p->cols;
    for (val += i * n; i < end; i++, val += n) {
        SPMV__T s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        for (k = 0; k + 4 <= n; k += 4) {
            s0 += val[k] * x[k];
            s1 += val[k + 1] * x[k + 1];
            s2 += val[k + 2] * x[k + 2];
            s3 += val[k + 3] * x[k + 3];
        }
        for (; k < n; k++) s0 += val[k] * x[k];
        SPMV__F(set)(p, i, alpha, (s0 + s1) + (s2 + s3), beta, y);
    }
}
#else /* in vectors */
static SPMV__T SPMV__F(dense_dot)(const SPMV__V *SPMV__RESTRICT val, uint64_t n, const SPMV__T *SPMV__RESTRICT x)
{
    const uint64_t L = SPMV__LANES;
    SPMV__O(vec) s0 = SPMV__O(vzero)(), s1 = s0, s2 = s0, s3 = s0;
    SPMV__T rest = 0;
    uint64_t k = 0;
    for (; k + 4 * L <= n; k += 4 * L) {
        s0 = SPMV__O(vfma)(SPMV__F(vload)(val + k), SPMV__O(vfrom)(x + k), s0);
        s1 = SPMV__O(vfma)(SPMV__F(vload)(val + k + L), SPMV__O(vfrom)(x + k + L), s1);
        s2 = SPMV__O(vfma)(SPMV__F(vload)(val + k + 2 * L), SPMV__O(vfrom)(x + k + 2 * L), s2);
        s3 = SPMV__O(vfma)(SPMV__F(vload)(val + k + 3 * L), SPMV__O(vfrom)(x + k + 3 * L), s3);
    }
    for (; k + L <= n; k += L) s0 = SPMV__O(vfma)(SPMV__F(vload)(val + k), SPMV__O(vfrom)(x + k), s0);
    for (; k < n; k++) rest += val[k] * x[k];
    return SPMV__O(vsum)(SPMV__O(vadd)(SPMV__O(vadd)(s0, s1), SPMV__O(vadd)(s2, s3))) + rest;
}

/* The sums of four rows of n values. x is read once for four: from the L2 cache, it would slow the stream of the matrix down. */
static void SPMV__F(dense_four)(const SPMV__V *SPMV__RESTRICT val, uint64_t n, const SPMV__T *SPMV__RESTRICT x, SPMV__T *sum)
{
    const SPMV__V *v1 = val + n, *v2 = v1 + n, *v3 = v2 + n;
    SPMV__O(vec) s0 = SPMV__O(vzero)(), s1 = s0, s2 = s0, s3 = s0;
    SPMV__T rest[4] = { 0 };
    uint64_t k = 0;
    for (; k + SPMV__LANES <= n; k += SPMV__LANES) {
        const SPMV__O(vec) in = SPMV__O(vfrom)(x + k);
        s0 = SPMV__O(vfma)(SPMV__F(vload)(val + k), in, s0);
        s1 = SPMV__O(vfma)(SPMV__F(vload)(v1 + k), in, s1);
        s2 = SPMV__O(vfma)(SPMV__F(vload)(v2 + k), in, s2);
        s3 = SPMV__O(vfma)(SPMV__F(vload)(v3 + k), in, s3);
    }
    for (; k < n; k++) {
        rest[0] += val[k] * x[k];
        rest[1] += v1[k] * x[k];
        rest[2] += v2[k] * x[k];
        rest[3] += v3[k] * x[k];
    }
    sum[0] = SPMV__O(vsum)(s0) + rest[0];
    sum[1] = SPMV__O(vsum)(s1) + rest[1];
    sum[2] = SPMV__O(vsum)(s2) + rest[2];
    sum[3] = SPMV__O(vsum)(s3) + rest[3];
}

/* Shares of dense begin at multiples of four rows, so that the same rows are summed together in all. */
static void SPMV__F(dense)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    const int together = p->cols * sizeof *x > SPMV__DENSE_NEAR;
    uint64_t i = spmv__even(p->rows, 4, share, shares), end = spmv__even(p->rows, 4, share + 1, shares);
    for (; together && i + 4 <= end; i += 4) {
        SPMV__T sum[4];
        SPMV__F(dense_four)(val + i * p->cols, p->cols, x, sum);
        SPMV__F(set_rows)(p, i, 4, alpha, sum, beta, y);
    }
    for (; i < end; i++) SPMV__F(set)(p, i, alpha, SPMV__F(dense_dot)(val + i * p->cols, p->cols, x), beta, y);
}
#endif
#endif /* again */
