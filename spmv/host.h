/* SPDX-License-Identifier: MIT
 *
 * spmv/host.h - products of stored parts with vectors on the host CPU: the templates of the formats for each level and type, and which of
 * them a product takes.
 */
#ifndef SPMV__HOST_H
#define SPMV__HOST_H

#include "build.h"
#include "many.h"
#include "products.h"

/* A format's products by type, the first for one that was left out: in any order of additions, and the reproducible ones. */
typedef struct spmv__products {
    spmv__product mul[SPMV_TYPE_COUNT], repeat[SPMV_TYPE_COUNT];
} spmv__products;

#ifdef SPMV_NO_F64
#define SPMV__PRODUCTS(name) { NULL, NULL, SPMV__CAT3(name, f32, SPMV__LEVEL), NULL }
#elif defined(SPMV_NO_MIXED)
#define SPMV__PRODUCTS(name) \
    { SPMV__CAT3(name, f64, SPMV__LEVEL), SPMV__CAT3(name, f64, SPMV__LEVEL), SPMV__CAT3(name, f32, SPMV__LEVEL), NULL }
#else
#define SPMV__PRODUCTS(name) \
    { SPMV__CAT3(name, f64, SPMV__LEVEL), SPMV__CAT3(name, f64, SPMV__LEVEL), SPMV__CAT3(name, f32, SPMV__LEVEL), \
      SPMV__CAT3(name, mixed, SPMV__LEVEL) }
#endif
#define SPMV__NONE { NULL, NULL, NULL, NULL }
#ifdef SPMV_REPRODUCIBLE
#define SPMV__REPEAT(name) SPMV__PRODUCTS(repeat_##name)
#else
#define SPMV__REPEAT(name) SPMV__NONE
#endif

/* The table of a level, in which SPMV__BUILT_<NAME> says whether there is a row; SPMV__HOST_<NAME> stands with the format. */
#define SPMV__HOST_ROW_1(NAME) SPMV__HOST_##NAME
#define SPMV__HOST_ROW_0(NAME) { SPMV__NONE, SPMV__NONE }
#define SPMV__HOST_ROW(NAME, name, text) SPMV__CAT(SPMV__HOST_ROW_, SPMV__BUILT_##NAME)(NAME),
#define SPMV__HOST_TABLE { SPMV_FORMAT_LIST(SPMV__HOST_ROW) }

/* This file includes itself for each level, type and width of columns, for the templates at its end. In plain C, products are the simple
 * ones. */
#define SPMV__LEVEL plain
#define SPMV__SIMPLE
#include "host.h" /* again */
#undef SPMV__SIMPLE
#undef SPMV__LEVEL

#ifdef SPMV__SIMD_X86
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define SPMV__LEVEL avx2
#include "host.h" /* again */
#undef SPMV__LEVEL
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#ifdef SPMV__SIMD_NEON
#define SPMV__LEVEL neon
#include "host.h" /* again */
#undef SPMV__LEVEL
#endif

/* ---- products of a part ------------------------------------------------------------------------------------------- */

/* y = beta y for rows first .. n - 1 of a part, or for these elements if there is none. */
#define SPMV__SCALE(name, T)                                                                            \
    static void spmv__scale_##name(const spmv_part *p, uint64_t first, uint64_t n, T beta, T *y)        \
    {                                                                                                   \
        uint64_t i;                                                                                     \
        if (!p && beta == 0 && first < n) memset(y + first, 0, (size_t)(n - first) * sizeof *y);        \
        else for (i = first; i < n; i++) {                                                              \
            uint64_t r = p ? spmv__part_row(p, i) : i;                                                  \
            y[r] = beta == 0 ? 0 : beta * y[r];                                                         \
        }                                                                                               \
    }
SPMV__SCALE(f32, float)
SPMV__SCALE(f64, double)

/* y = beta y in shares. */
typedef struct spmv__scaling {
    spmv_type        type;
    const spmv_part *list_of;
    uint64_t         n, shares;
    double           beta;
    void            *y;
} spmv__scaling;

static void spmv__scale_share(void *scaling, size_t share)
{
    const spmv__scaling *job = (const spmv__scaling *)scaling;
    const uint64_t first = spmv__even(job->n, SPMV__TILE, share, job->shares), end = spmv__even(job->n, SPMV__TILE, share + 1, job->shares);
    if (job->type == SPMV_F32) spmv__scale_f32(job->list_of, first, end, (float)job->beta, (float *)job->y);
    else spmv__scale_f64(job->list_of, first, end, job->beta, (double *)job->y);
}

/* y = beta y for the n rows of a part, or for the first n elements, of each vector (many NULL: one); in threads, if there are and that
 * pays. */
static void spmv__scale_rows(spmv_type type, const spmv_part *list_of, uint64_t n, const spmv__many *many, double beta, void *y)
{
    const size_t threads = spmv__threads(n);
    spmv__scaling scaling;
    uint64_t j;
    if (beta == 1.0) return;
    scaling.type = type;
    scaling.list_of = list_of;
    scaling.n = n;
    scaling.shares = threads;
    scaling.beta = beta;
    for (j = 0; j < (many ? many->count : 1); j++) {
        scaling.y = many ? spmv__many_y(many, type, y, j) : y;
        spmv__parallel(spmv__scale_share, &scaling, threads, threads);
    }
}

/* The products of a part's format at its level; those in plain C where this build lacks the level. */
static const spmv__products *spmv__host_of(const spmv_part *p)
{
#ifdef SPMV__SIMD_X86
    if (p->simd == SPMV_SIMD_AVX2) return &spmv__host_avx2[p->spec.format];
#endif
#ifdef SPMV__SIMD_NEON
    if (p->simd == SPMV_SIMD_NEON) return &spmv__host_neon[p->spec.format];
#endif
    return &spmv__host_plain[p->spec.format];
}

/* The product of a part with vectors side by side, and how many lanes it has; NULL: there is none. */
SPMV__SHARED spmv__product spmv__wide_of(const spmv_part *p, uint64_t *lanes)
{
#ifndef SPMV__NO_CSR
    if (p->spec.format != SPMV_CSR || p->reproducible || p->a[SPMV_CSR_BASE].count) return NULL;
    *lanes = 8;
#ifdef SPMV__SIMD_X86
    if (p->simd == SPMV_SIMD_AVX2) return spmv__wide_avx2[p->product];
#endif
#ifdef SPMV__SIMD_NEON
    *lanes = p->type == SPMV_F32 ? 4 : 2;
    if (p->simd == SPMV_SIMD_NEON) return spmv__wide_neon[p->product];
#endif
#endif
    (void)p;
    (void)lanes;
    return NULL;
}

#ifndef SPMV__NO_CSR
/* Multiplies the rows that are cut, and forgets them. */
static void spmv__run_cut(const spmv__job *job, spmv__product product, size_t threads)
{
    const uint64_t pieces = job->cut->first[job->cut->count];
    if (!pieces) return;
    spmv__run_shares(job, product, pieces, threads);
    product(job, pieces, pieces);
    job->cut->count = 0;
}

/* Multiplies those rows of csr that are too long for one thread, in pieces on all threads, and makes the job skip them. */
static void spmv__run_long_of(spmv__job *job, spmv__product product)
{
    const spmv_array *ptr = &job->p->a[SPMV_CSR_PTR];
    const size_t threads = spmv__threads(job->p->nnz);
    const uint64_t fair = job->p->nnz / (4 * (uint64_t)threads), most = fair > SPMV__PIECE ? fair : SPMV__PIECE;
    spmv__cut_rows cut;
    uint64_t at, low = 0, done = 0; /* done: rows before it have been cut or are not to be */
    if (job->p->longest <= most || threads < 2) return;
    job->cut = &cut;
    job->most = most;
    cut.count = cut.first[0] = 0;
    for (at = most; at < job->p->nnz; at += most) { /* a row that is longer holds one of these nonzeros */
        uint64_t high = job->p->rows, n, pieces;
        while (high - low > 1) { /* the row that holds nonzero number at */
            uint64_t middle = low + (high - low) / 2;
            if (spmv__at(ptr, middle) <= at) low = middle;
            else high = middle;
        }
        n = spmv__at(ptr, low + 1) - spmv__at(ptr, low);
        if (n <= most || low < done) continue;
        done = low + 1;
        pieces = spmv__ceil_div(n, spmv__piece(n));
        if (cut.count == SPMV__CUT_ROWS || cut.first[cut.count] + pieces > SPMV__CUT_PIECES) spmv__run_cut(job, product, threads);
        cut.row[cut.count++] = low;
        cut.first[cut.count] = cut.first[cut.count - 1] + pieces;
    }
    spmv__run_cut(job, product, threads);
    job->cut = NULL;
}

/* The same for each vector. */
static void spmv__run_long(spmv__job *job, spmv__product product)
{
    spmv__job one;
    uint64_t j;
    if (job->p->longest <= SPMV__PIECE) return;
    one = *job;
    one.vectors = 1;
    for (j = 0; j < job->vectors; j++) {
        one.most = UINT64_MAX;
        spmv__run_long_of(&one, product);
        one.x = (const char *)one.x + one.x_step;
        one.y = (char *)one.y + one.y_step;
    }
    job->most = one.most;
}
#endif

/* spmv_part_mul for one vector (many NULL) or several one after another, which are checked. */
static void spmv__part_mul(const spmv_part *p, const spmv__many *many, double alpha, const void *x, double beta, void *y)
{
    const spmv__products *host = spmv__host_of(p);
    unsigned flags = spmv_format_flags(p->spec.format);
    SPMV_ASSERT(!(flags & SPMV_ADDS_ONLY) || beta == 1.0);
    if (!p->rows) return;
    if (alpha != 0.0 && p->nnz) {
        spmv__product product;
        spmv__job job;
        memset(&job, 0, sizeof job);
        job.p = p;
        job.x = x;
        job.y = y;
        job.alpha = alpha;
        job.beta = beta;
        job.most = UINT64_MAX;
        job.vectors = many ? many->count : 1;
        job.x_step = many ? many->ldx * spmv_vector_size(p->type) : 0;
        job.y_step = many ? many->ldy * spmv_vector_size(p->type) : 0;
        job.pieces = job.vectors > 1 ? spmv__ceil_div(spmv_part_bytes(p), SPMV__VECTORS_BYTES) : 1;
#ifdef SPMV_FORMATS_EXTRA
        if ((int)p->spec.format >= (int)SPMV__OWN_FIRST) { /* generated products only add */
            spmv__scale_rows(p->type, p, p->rows, many, beta, y);
            job.beta = 1;
        }
#endif
        product = (p->reproducible && host->repeat[p->product] ? host->repeat : host->mul)[p->product];
#ifndef SPMV__NO_CSR
        if (p->spec.format == SPMV_CSR && product == host->mul[p->product] && !p->a[SPMV_CSR_BASE].count &&
            host != &spmv__host_plain[SPMV_CSR])
            spmv__run_long(&job, product);
#endif
        spmv__run(&job, product, p->a[SPMV_VAL].count);
    } else if (!(flags & SPMV_ADDS_ONLY)) spmv__scale_rows(p->type, p, p->rows, many, beta, y);
}

/* Multiplies a part that sets all rows by several vectors at once, in copies side by side unless they lie so and are as many as there are
 * lanes. */
SPMV__SHARED spmv_status spmv__part_mul_wide(const spmv_part *p, spmv__product product, uint64_t lanes, const spmv__many *many,
                                             double alpha, const void *x, double beta, void *y)
{
    const int sides = many->order == SPMV_SIDE_BY_SIDE, in_place = sides && many->count >= lanes;
    const uint64_t row = sides ? many->ldx : 1, column = sides ? 1 : many->ldx;
    void *block = NULL;
    uint64_t v;
    spmv_status s = in_place ? SPMV_OK : spmv__room(&p->hooks, &block, many->cols, lanes * spmv_vector_size(p->type));
    spmv__job job;
    memset(&job, 0, sizeof job);
    job.p = p;
    job.alpha = alpha;
    job.beta = beta;
    job.most = UINT64_MAX;
    job.vectors = job.pieces = 1;
    job.x_row = in_place ? many->ldx : lanes;
    job.y_row = sides ? many->ldy : 1;
    job.y_column = sides ? 1 : many->ldy;
    for (v = 0; v < many->count && !s; v += job.wide) {
        job.wide = in_place ? many->count : spmv__smaller(many->count - v, lanes);
        job.x = spmv__many_x(many, p->type, x, v);
        job.y = spmv__many_y(many, p->type, y, v);
        if (!in_place) spmv__turn(p->type, many->cols, job.x, row, column, job.wide, block, lanes, 1, lanes);
        if (!in_place) job.x = block;
        spmv__run(&job, product, spmv__sat_mul(p->nnz, job.wide));
    }
    spmv_free(&p->hooks, block);
    return s;
}

SPMV_API spmv_status spmv_part_mul(const spmv_part *p, double alpha, const void *x, double beta, void *y)
{
    spmv_status s;
    if (!p) return spmv__null(NULL, "spmv_part_mul", "p", NULL, 0);
    s = spmv__check_vectors(&p->hooks, "spmv_part_mul", p->type, p->rows, p->cols, alpha, x, y);
    if (!s) spmv__part_mul(p, NULL, alpha, x, beta, y);
    return s;
}

#endif

/* For each level: the products of each type, and their table. */
#if defined(SPMV__LEVEL) && !defined(SPMV__TYPE) /* again */
#define SPMV__TYPE f32
#include "template.h" /* again */
#ifndef SPMV_NO_F64
#define SPMV__TYPE f64
#include "template.h" /* again */
#endif
#ifndef SPMV_NO_MIXED
#define SPMV__TYPE mixed
#include "template.h" /* again */
#endif
#ifdef SPMV_REPRODUCIBLE
#define SPMV__REPEATED
#define SPMV__TYPE f32
#include "template.h" /* again */
#ifndef SPMV_NO_F64
#define SPMV__TYPE f64
#include "template.h" /* again */
#endif
#ifndef SPMV_NO_MIXED
#define SPMV__TYPE mixed
#include "template.h" /* again */
#endif
#undef SPMV__REPEATED
#endif
static const spmv__products SPMV__CAT(spmv__host_, SPMV__LEVEL)[SPMV_FORMAT_COUNT] = SPMV__HOST_TABLE;
#if !defined(SPMV__SIMPLE) && !defined(SPMV__NO_CSR)
static const spmv__product SPMV__CAT(spmv__wide_, SPMV__LEVEL)[SPMV_TYPE_COUNT] = SPMV__PRODUCTS(wide_csr);
#endif
#endif /* again */

/* The end of a template. */
#if defined(SPMV__TYPE) && !defined(SPMV__COLUMN_BITS) /* again */
#undef SPMV__ENTER
#undef SPMV__N
#undef SPMV__PLUS
#undef SPMV__BLOCK_LANES
#undef SPMV__TYPE
#endif /* again */
#if defined(SPMV__COLUMN_BITS) /* again */
#undef SPMV__OC
#undef SPMV__FC
#undef SPMV__NEXT_TWO
#undef SPMV__C_PAD
#undef SPMV__C
#undef SPMV__COLUMN_BITS
#endif /* again */
