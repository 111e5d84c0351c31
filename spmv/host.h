/* SPDX-License-Identifier: MIT
 *
 * spmv/host.h - products of stored parts with vectors on the host CPU.
 *
 * The product of each format is written once, as a template that is expanded for each type of values and vectors and
 * for each level of vector instructions, whose operations are in simd.h. It runs in the threads of OpenMP if the compiler was told to
 * use it, or in the caller's own. */
#ifndef SPMV__HOST_H
#define SPMV__HOST_H

#include "build.h"
#include "simd.h"

#include <string.h>
#ifdef SPMV_REPRODUCIBLE
#include <math.h>
#ifdef __FAST_MATH__
#error "SPMV_REPRODUCIBLE needs IEEE arithmetic: compile without -ffast-math"
#endif
#endif

#ifdef __cplusplus
#define SPMV__RESTRICT
#else
#define SPMV__RESTRICT restrict
#endif

/* ---- how a product is shared among threads ------------------------------------------------------------------------- */

/* One product: what its threads have in common. */
typedef struct spmv__job {
    const spmv_part *p;
    const void      *x;
    void            *y;
    double           alpha, beta;
    uint64_t         most;    /* csr: rows with more nonzeros are skipped; see spmv__run_long */
    uint64_t         row;     /* csr: if partial is not NULL, the only row to multiply */
    double          *partial; /* csr: the sums of that row's pieces */
} spmv__job;

/* Computes share number share of shares. The bits of y do not depend on the number of shares, because a row is always summed in the
 * same order. */
typedef void (*spmv__product)(const spmv__job *job, uint64_t share, uint64_t shares);

/* Products of fewer slots than this stay on one thread, because starting threads takes microseconds. */
#define SPMV__ALONE 20000
/* Up to so many slots a thread, it gets the same share in every product, because the share may still be in its L2 cache (of 1 MB or more).
 * In larger products, threads take smaller shares one after another, so that a thread that is held up does not delay the others
 * (spmv__run_shares). */
#define SPMV__CACHED 100000
#define SPMV__TCSR_AT_ONCE 64 /* columns of tcsr that are widened together: a stack frame must stay small */
#define SPMV__TILE 512 /* rows summed together in formats that store entries by columns: their partial sums stay in the L1 cache */
enum { SPMV__STREAMS = 8 }; /* diagonals that are read side by side: the processor follows more of them badly */
/* With so many units in a block of bcsr, each a stream of its own, the processor does not follow all of them: prefetching each so many
 * cache lines in advance left 0.80 to 1.03 of the time (6x6 and 8x8, four matrices). */
enum { SPMV__MANY_UNITS = 16, SPMV__LINES_AHEAD = 16 };
#define SPMV__DENSE_NEAR 8192 /* bytes of x that stay in the L1 cache while a row of dense, as long, passes through it */
#define SPMV__LONG 16 /* nonzeros: shorter rows of cmrs are summed one by one */
/* Lanes of the reproducible products, here and in the kernels: 16 and 8 keep a work-group of a GPU busy on rows of tens of entries. */
#define SPMV__CSR_LANES 16
#define SPMV__BCSR_LANES 8

/* Threads that a product of so many slots uses. */
static size_t spmv__threads(uint64_t slots) { return slots < SPMV__ALONE ? 1 : spmv__thread_count(); }

/* A product in shares. */
typedef struct spmv__shared_product {
    const spmv__job *job;
    spmv__product    product;
    uint64_t         shares;
} spmv__shared_product;

static void spmv__run_share(void *shared, size_t share)
{
    const spmv__shared_product *c = (const spmv__shared_product *)shared;
    c->product(c->job, share, c->shares);
}

enum { SPMV__OWNERS = 32 }; /* threads with shares of their own, at most */

/* The same, with the next share of each owner. */
typedef struct spmv__owned_product {
    struct { size_t next; char apart[SPMV__CACHE_LINE - sizeof(size_t)]; } of[SPMV__OWNERS];
    spmv__shared_product all;
    size_t               owners;
} spmv__owned_product;

/* Calls the product for the shares of owner number me, and then for what the others have left. Where shares are dealt, me is less than the
 * number of owners, and each does its own shares. */
static void spmv__run_owned(void *owned, size_t me)
{
    spmv__owned_product *c = (spmv__owned_product *)owned;
    const spmv__shared_product all = c->all;
    const size_t owners = c->owners;
    size_t i, share, dealt;
    for (i = 0; i < (SPMV__DEALS ? 1 : owners); i++) {
        const size_t owner = (me + i) % owners, end = (size_t)(all.shares * (owner + 1) / owners);
        for (dealt = (size_t)(all.shares * owner / owners); (share = spmv__take_number(&c->of[owner].next, dealt)) < end; dealt++) {
            all.product(all.job, share, all.shares);
            if (SPMV__LEAVES) return;
        }
    }
}

/* Calls the product for each share. Threads have neighbouring shares of their own, which are the same in every product, so that their
 * elements of y and x may still be in a thread's cache; one that is through with them takes what the others have left. */
SPMV__APART void spmv__run_shares(const spmv__job *job, spmv__product product, uint64_t shares, size_t threads)
{
    const size_t count = (size_t)spmv__smaller(threads, shares);
    spmv__owned_product c;
    size_t t;
    c.all.job = job;
    c.all.product = product;
    c.all.shares = shares;
    c.owners = (size_t)spmv__smaller(count, SPMV__OWNERS);
    for (t = 0; t < c.owners; t++) c.of[t].next = (size_t)(shares * t / c.owners);
    spmv__parallel(spmv__run_owned, &c, SPMV__DEALS ? c.owners : count, threads);
}

/* Divides a product of so many slots into shares and calls the product for each. */
static void spmv__run(const spmv__job *job, spmv__product product, uint64_t slots)
{
    const size_t threads = spmv__threads(slots);
    spmv__shared_product c;
    c.job = job;
    c.product = product;
    c.shares = threads;
    if (threads < 2) product(job, 0, 1);
    else if (slots <= (uint64_t)SPMV__CACHED * threads && job->most == UINT64_MAX) spmv__parallel(spmv__run_share, &c, threads, threads);
    else spmv__run_shares(job, product, (uint64_t)threads * 8, threads);
}

/* The first of n items that belongs to the share or to a later one. Shares begin at multiples of grain. */
SPMV__SHARED uint64_t spmv__even(uint64_t n, uint64_t grain, uint64_t share, uint64_t shares)
{
    uint64_t grains = spmv__ceil_div(n, grain);
    return spmv__smaller(n, (grains / shares * share + grains % shares * share / shares) * grain);
}

/* The same for items of different weights: ptr[i] is the weight of the items before item i, and each item counts one more. */
SPMV__SHARED uint64_t spmv__weighted(const spmv_array *ptr, uint64_t n, uint64_t share, uint64_t shares)
{
    uint64_t all = n ? spmv__at(ptr, n) + n : 0, want = all / shares * share + all % shares * share / shares, low = 0, high = n;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (spmv__at(ptr, middle) + middle < want) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* ---- the products, once for each level and type -------------------------------------------------------------------- */

#define SPMV__CAT3_(a, b, c) spmv__##a##_##b##_##c
#define SPMV__CAT3(a, b, c) SPMV__CAT3_(a, b, c)
#define SPMV__F(name) SPMV__CAT3(name, SPMV__TYPE, SPMV__LEVEL)     /* functions of a type */
#define SPMV__O(name) SPMV__CAT3(name, SPMV__SUM_TYPE, SPMV__LEVEL) /* operations of spmv/simd.h on vectors of its sums */
#define SPMV__L(name) SPMV__CAT(SPMV__CAT(spmv__, name##_), SPMV__LEVEL) /* operations of a level */

/* A row of csr with more nonzeros than this is summed in at most SPMV__PIECES pieces, which threads can share. */
#define SPMV__PIECE 16384
enum { SPMV__PIECES = 64 };
SPMV__SHARED uint64_t spmv__piece(uint64_t n)
{
    return spmv__ceil_div(n, SPMV__PIECES) > SPMV__PIECE ? spmv__ceil_div(n, SPMV__PIECES) : SPMV__PIECE;
}

/* The row at which a share of csr begins instead of row i: the first of a block, if that may be summed as a block, so that all shares see
 * the same blocks. */
SPMV__SHARED uint64_t spmv__csr_share_row(const spmv_part *p, uint64_t i)
{
    const uint64_t first = i - i % SPMV__BLOCK_ROWS;
    if (i == first || p->lengths != SPMV__LENGTHS_BLOCKS || first + SPMV__BLOCK_ROWS > p->rows) return i;
    return spmv__at(&p->a[SPMV_CSR_PTR], first + SPMV__BLOCK_ROWS) - spmv__at(&p->a[SPMV_CSR_PTR], first) <= SPMV__BLOCK_ROWS * SPMV__SHORT
               ? first : i;
}

/* The end of the rows from row i on that are summed together: at most SPMV__TILE rows, which end with a block or before row end, and none
 * with more than SPMV__PIECE nonzeros. i if that row has more. */
SPMV__SHARED uint64_t spmv__csr_stretch(const spmv_part *p, uint64_t i, uint64_t end)
{
    const spmv_array *ptr = &p->a[SPMV_CSR_PTR];
    const uint64_t last = spmv__smaller(end, i - i % SPMV__BLOCK_ROWS + SPMV__TILE);
    if (p->longest <= SPMV__PIECE || spmv__at(ptr, last) - spmv__at(ptr, i) <= SPMV__PIECE) return last;
    while (i < last && spmv__at(ptr, i + 1) - spmv__at(ptr, i) <= SPMV__PIECE) i++;
    return i;
}

/* Of each type: its values, its vectors, and the type whose sums it forms. */
#define SPMV__VALUE_f32 float
#define SPMV__VALUE_f64 double
#define SPMV__VALUE_mixed float
#define SPMV__VECTOR_f32 float
#define SPMV__VECTOR_f64 double
#define SPMV__VECTOR_mixed double
#define SPMV__SUM_f32 f32
#define SPMV__SUM_f64 f64
#define SPMV__SUM_mixed f64
#define SPMV__FMA_f32 fmaf
#define SPMV__FMA_f64 fma
#define SPMV__SUM_TYPE SPMV__CAT(SPMV__SUM_, SPMV__TYPE)
#define SPMV__V SPMV__CAT(SPMV__VALUE_, SPMV__TYPE)
#define SPMV__T SPMV__CAT(SPMV__VECTOR_, SPMV__TYPE)
#define SPMV__FMA SPMV__CAT(SPMV__FMA_, SPMV__SUM_TYPE)
#define SPMV__LANES_MOST 16 /* lanes of the widest vectors */
#define SPMV__LANES ((uint64_t)(sizeof(SPMV__O(vec)) / sizeof(SPMV__T)))

#define SPMV__EDGE 8 /* columns of the widest block, and its rows */
#define SPMV__SLAB 32 /* block rows that are summed together, at most; they have the same base */
#ifdef SPMV__ANY_BLOCK
/* Neighbouring block rows of bell, sbell or bcsr. */
typedef struct spmv__block_slab {
    uint64_t        count, cols;           /* block rows; columns of the matrix */
    const uint32_t *col;                   /* of the first block; NULL: narrow has its column, from base on */
    const uint16_t *narrow;
    uint64_t        base, step;            /* step: slots from one unit of a block to the next */
    int             is_bcsr, is_last;      /* is_last: the last blocks may be in this slab */
    uint64_t        blocks;                /* bell, sbell: blocks of a block row */
    uint64_t        next_col, next_val;    /* and columns and slots from one to the next */
    uint64_t        ahead;                 /* and slots in advance of which memory is prefetched */
    uint64_t        ptr[SPMV__SLAB + 1];   /* bcsr: where the blocks of each block row begin, counted from the first */
} spmv__block_slab;

/* Finds the slab that begins with block row s and goes on to block row end at most. Returns the slot of its first block. */
SPMV__SHARED uint64_t spmv__block_slab_make(spmv__block_slab *b, const spmv_part *p, uint64_t s, uint64_t end)
{
    const uint64_t height = spmv__block_group_height(p);
    const spmv__block first = spmv__block_at(p, s, 0), second = spmv__block_at(p, s, 1);
    const spmv_array *col = &p->a[spmv__block_col(p)], *base = &p->a[spmv__block_base(p)], *ptr = &p->a[SPMV_BCSR_PTR];
    uint64_t i;
    b->count = spmv__smaller(spmv__smaller(height - s % height, SPMV__SLAB), end - s);
    b->cols = p->cols;
    b->col = base->count ? NULL : (const uint32_t *)col->data + first.col;
    b->narrow = base->count ? (const uint16_t *)col->data + first.col : NULL;
    b->base = base->count ? spmv__at(base, s / height) : 0;
    b->step = first.step;
    b->is_bcsr = p->spec.format == SPMV_BCSR;
    b->blocks = spmv__block_count(p, s);
    b->next_col = second.col - first.col;
    b->next_val = second.val - first.val;
    /* where the same unit of the next slab begins: the processor does not follow so many units by itself */
    b->ahead = p->spec.format == SPMV_BELL || b->count < height ? SPMV__SLAB * p->n[SPMV_BLOCK_UW] : b->blocks * b->next_val;
    b->is_last = s + b->count == spmv__block_rows(p);
    if (p->spec.format == SPMV_SBELL) { /* behind its slice, all may be empty */
        const spmv_array *slice = &p->a[SPMV_SBELL_PTR];
        b->is_last = spmv__at(slice, s / height + 1) == spmv__at(slice, p->n[SPMV_SBELL_SLICES]);
    }
    if (!b->is_bcsr) return first.val;
    if (ptr->width == 4)
        for (i = 0; i <= b->count; i++) b->ptr[i] = ((const uint32_t *)ptr->data)[s + i] - first.col;
    else
        for (i = 0; i <= b->count; i++) b->ptr[i] = spmv__at(ptr, s + i) - first.col;
    b->is_last = first.col + b->ptr[b->count] == p->n[SPMV_BCSR_BLOCKS];
    return first.val;
}
#endif

#define SPMV__BLOCK_NAME(bh, bw) block_##bh##x##bw
#ifndef SPMV__NO_BCSR
#define SPMV__IF_BCSR(text) text
#else
#define SPMV__IF_BCSR(text)
#endif
#if !defined(SPMV__NO_BELL) || !defined(SPMV__NO_SBELL)
#define SPMV__IF_BELL(text) text
#else
#define SPMV__IF_BELL(text)
#endif

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
#define SPMV__HOST_DENSE { SPMV__PRODUCTS(dense), SPMV__NONE }
#define SPMV__HOST_COO { SPMV__PRODUCTS(coo), SPMV__NONE }
#define SPMV__HOST_CSR { SPMV__PRODUCTS(csr), SPMV__REPEAT(csr) }
#define SPMV__HOST_DIA { SPMV__PRODUCTS(dia), SPMV__REPEAT(dia) }
#define SPMV__HOST_BDIA { SPMV__PRODUCTS(bdia), SPMV__REPEAT(bdia) }
#define SPMV__HOST_ELL { SPMV__PRODUCTS(ell), SPMV__REPEAT(ell) }
#define SPMV__HOST_SELL { SPMV__PRODUCTS(sell), SPMV__REPEAT(sell) }
#define SPMV__HOST_BELL { SPMV__PRODUCTS(block), SPMV__REPEAT(block) }
#define SPMV__HOST_SBELL { SPMV__PRODUCTS(block), SPMV__REPEAT(block) }
#define SPMV__HOST_BCSR { SPMV__PRODUCTS(block), SPMV__REPEAT(block) }
#define SPMV__HOST_CMRS { SPMV__PRODUCTS(cmrs), SPMV__NONE }
#define SPMV__HOST_TCSR { SPMV__PRODUCTS(tcsr), SPMV__NONE }

/* The table of a level, in which SPMV__BUILT_<NAME> says whether there is a row. */
#define SPMV__HOST_ROW_1(NAME) SPMV__HOST_##NAME
#define SPMV__HOST_ROW_0(NAME) { SPMV__NONE, SPMV__NONE }
#define SPMV__HOST_ROW(NAME, name, text) SPMV__CAT(SPMV__HOST_ROW_, SPMV__BUILT_##NAME)(NAME),
#define SPMV__HOST_TABLE { SPMV_FORMAT_LIST(SPMV__HOST_ROW) }

#ifdef SPMV_FORMATS_EXTRA
/* The product of a format of the user's own, by its generated function for the type, which adds to y. */
#define SPMV__EXTRA_PRODUCT(NAME, name, text)                                                                               \
    static void SPMV__F(extra_##name)(const spmv__job *job, uint64_t share, uint64_t shares)                                \
    {                                                                                                                       \
        name##_matrix bound;                                                                                                \
        spmv__extra_matrix m;                                                                                               \
        spmv__extra_of(&spmv__##name##_extra, job->p, &m);                                                                  \
        name##_bind(&bound, m.parameter, (const void *const *)m.data, m.count);                                             \
        SPMV__CAT(name##_add_, SPMV__TYPE)(&bound, (SPMV__T)job->alpha, (const SPMV__T *)job->x, (SPMV__T *)job->y,         \
                                           (int64_t)share, (int64_t)shares);                                                \
    }
#endif

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

#ifdef SPMV_AVX512
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma")
#endif
#define SPMV__LEVEL avx512
#include "host.h" /* again */
#undef SPMV__LEVEL
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif /* SPMV_AVX512 */
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
    const spmv__scaling *c = (const spmv__scaling *)scaling;
    const uint64_t first = spmv__even(c->n, SPMV__TILE, share, c->shares), end = spmv__even(c->n, SPMV__TILE, share + 1, c->shares);
    if (c->type == SPMV_F32) spmv__scale_f32(c->list_of, first, end, (float)c->beta, (float *)c->y);
    else spmv__scale_f64(c->list_of, first, end, c->beta, (double *)c->y);
}

/* y = beta y for the n rows of a part, or for the first n elements; in threads, if there are and that pays. */
static void spmv__scale_rows(spmv_type t, const spmv_part *list_of, uint64_t n, double beta, void *y)
{
    const size_t threads = spmv__threads(n);
    spmv__scaling c;
    if (beta == 1.0) return;
    c.type = t;
    c.list_of = list_of;
    c.n = n;
    c.shares = threads;
    c.beta = beta;
    c.y = y;
    spmv__parallel(spmv__scale_share, &c, threads, threads);
}

SPMV_API spmv_status spmv_scale(spmv_type t, uint64_t n, double beta, void *y)
{
    if (n && !y) return spmv__null(NULL, "spmv_scale", "y", NULL, 0);
    spmv__scale_rows(t, NULL, n, beta, y);
    return SPMV_OK;
}

/* The products of a part's format at its level; those in plain C where this build lacks the level. */
static const spmv__products *spmv__host_of(const spmv_part *p)
{
#ifdef SPMV__SIMD_X86
    if (p->simd == SPMV_SIMD_AVX2) return &spmv__host_avx2[p->spec.format];
#ifdef SPMV_AVX512
    if (p->simd == SPMV_SIMD_AVX512) return &spmv__host_avx512[p->spec.format];
#endif
#endif
#ifdef SPMV__SIMD_NEON
    if (p->simd == SPMV_SIMD_NEON) return &spmv__host_neon[p->spec.format];
#endif
    return &spmv__host_plain[p->spec.format];
}

#ifndef SPMV__NO_CSR
/* Multiplies those rows of csr that are too long for one thread, each in pieces on all threads, and makes the job skip them. */
static void spmv__run_long(spmv__job *job, spmv__product product)
{
    const spmv_array *ptr = &job->p->a[SPMV_CSR_PTR];
    const size_t threads = spmv__threads(job->p->nnz);
    const uint64_t fair = job->p->nnz / (4 * (uint64_t)threads), most = fair > SPMV__PIECE ? fair : SPMV__PIECE;
    double partial[SPMV__PIECES];
    uint64_t at, low = 0;
    if (job->p->longest <= most || threads < 2) return;
    job->partial = partial;
    for (at = most; at < job->p->nnz; at += most) { /* a row that is longer holds one of these nonzeros */
        uint64_t high = job->p->rows, n;
        while (high - low > 1) { /* the row that holds nonzero number at */
            uint64_t middle = low + (high - low) / 2;
            if (spmv__at(ptr, middle) <= at) low = middle;
            else high = middle;
        }
        n = spmv__at(ptr, low + 1) - spmv__at(ptr, low);
        if (n <= most || (job->most != UINT64_MAX && job->row == low)) continue;
        job->row = low;
        job->most = most;
        spmv__run_shares(job, product, spmv__ceil_div(n, spmv__piece(n)), threads);
        product(job, spmv__ceil_div(n, spmv__piece(n)), spmv__ceil_div(n, spmv__piece(n)));
    }
    job->partial = NULL;
}
#endif

/* spmv_part_mul with vectors that are checked. */
static void spmv__part_mul(const spmv_part *p, double alpha, const void *x, double beta, void *y)
{
    const spmv__products *host = spmv__host_of(p);
    unsigned flags = spmv_format_flags(p->spec.format);
    SPMV_ASSERT(!(flags & SPMV_ADDS_ONLY) || beta == 1.0);
    if (!p->rows) return;
    if (alpha != 0.0 && p->nnz) {
        spmv__product product;
        spmv__job job;
        job.p = p;
        job.x = x;
        job.y = y;
        job.alpha = alpha;
        job.beta = beta;
        job.most = UINT64_MAX;
        job.row = 0;
        job.partial = NULL;
#ifdef SPMV_FORMATS_EXTRA
        if (p->spec.format > SPMV_TCSR) { /* generated products only add */
            spmv__scale_rows(p->type, p, p->rows, beta, y);
            job.beta = 1;
        }
#endif
        product = (p->reproducible && host->repeat[p->type] ? host->repeat : host->mul)[p->type];
#ifndef SPMV__NO_CSR
        if (p->spec.format == SPMV_CSR && product == host->mul[p->type] && !p->a[SPMV_CSR_BASE].count &&
            host != &spmv__host_plain[SPMV_CSR])
            spmv__run_long(&job, product);
#endif
        spmv__run(&job, product, p->a[SPMV_VAL].count);
    } else if (!(flags & SPMV_ADDS_ONLY)) spmv__scale_rows(p->type, p, p->rows, beta, y);
}

SPMV_API spmv_status spmv_part_mul(const spmv_part *p, double alpha, const void *x, double beta, void *y)
{
    spmv_status s;
    if (!p) return spmv__null(NULL, "spmv_part_mul", "p", NULL, 0);
    s = spmv__check_vectors(&p->hooks, "spmv_part_mul", p->type, p->rows, p->cols, alpha, x, y);
    if (!s) spmv__part_mul(p, alpha, x, beta, y);
    return s;
}

SPMV_API int spmv_part_repeats(const spmv_part *p)
{
    return p && p->reproducible && spmv__host_of(p)->repeat[p->type] != NULL;
}
#endif /* SPMV__HOST_H */

/* From here on are the templates. The first is expanded for each level: its products of each type, and its table. */
#if defined(SPMV__LEVEL) && !defined(SPMV__TYPE) /* again */
#define SPMV__TYPE f32
#include "host.h" /* again */
#ifndef SPMV_NO_F64
#define SPMV__TYPE f64
#include "host.h" /* again */
#endif
#ifndef SPMV_NO_MIXED
#define SPMV__TYPE mixed
#include "host.h" /* again */
#endif
#ifdef SPMV_REPRODUCIBLE
#define SPMV__REPEATED
#define SPMV__TYPE f32
#include "host.h" /* again */
#ifndef SPMV_NO_F64
#define SPMV__TYPE f64
#include "host.h" /* again */
#endif
#ifndef SPMV_NO_MIXED
#define SPMV__TYPE mixed
#include "host.h" /* again */
#endif
#undef SPMV__REPEATED
#endif
static const spmv__products SPMV__CAT(spmv__host_, SPMV__LEVEL)[SPMV_FORMAT_COUNT] = SPMV__HOST_TABLE;
#endif /* again */

/* What the other templates begin with. The sum of a row is formed in one fixed order, however the product is divided into shares. */
#if defined(SPMV__TYPE) && !defined(SPMV__COLUMN_BITS) /* again */
#define SPMV__ENTER                                                                                \
    const spmv_part *p = job->p;                                                                   \
    const SPMV__T alpha = (SPMV__T)job->alpha, beta = (SPMV__T)job->beta;                          \
    const SPMV__T *SPMV__RESTRICT x = (const SPMV__T *)job->x;                                     \
    SPMV__T *SPMV__RESTRICT y = (SPMV__T *)job->y;                                                 \
    const SPMV__V *SPMV__RESTRICT val = (const SPMV__V *)p->a[SPMV_VAL].data

/* The name of a product. */
#ifdef SPMV__REPEATED
#define SPMV__N(name) SPMV__F(repeat_##name)
#else
#define SPMV__N(name) SPMV__F(name)

/* Writes the element of y for row i of the part; with beta 0, the old value is not read. */
SPMV__SHARED void SPMV__F(set)(const spmv_part *p, uint64_t i, SPMV__T alpha, SPMV__T sum, SPMV__T beta, SPMV__T *y)
{
    uint64_t r = spmv__part_row(p, i);
    y[r] = beta == 0 ? alpha * sum : alpha * sum + beta * y[r];
}
#endif

#if defined(SPMV__SIMPLE) || defined(SPMV__REPEATED)
/* The simple products: entry by entry, under SPMV_REPEATS in the order and with the roundings that the kernels have under REPEAT (what
 * becomes of beta y and a sum: see plus in kernels/common.cl). The others do without fma, which not every processor has. */
/* Lanes 0 .. n-1, n a power of two: the upper half is added to the lower until one is left. */
SPMV__SHARED SPMV__T SPMV__N(tree)(SPMV__T *lane, int n)
{
    int d, i;
    for (d = n / 2; d > 0; d /= 2)
        for (i = 0; i < d; i++) lane[i] += lane[i + d];
    return lane[0];
}

#ifdef SPMV__REPEATED
#define SPMV__PLUS(a, b, c) SPMV__FMA((SPMV__T)(a), b, c)
#define SPMV__BLOCK_LANES SPMV__BCSR_LANES
static void SPMV__N(set)(const spmv_part *p, uint64_t i, SPMV__T alpha, SPMV__T sum, SPMV__T beta, SPMV__T *y)
{
    const uint64_t r = spmv__part_row(p, i);
    const SPMV__T before = beta == 0 ? 0 : beta * y[r];
    y[r] = sum == 0 ? before : SPMV__FMA(alpha, sum, before);
}

/* The sum of a row of n nonzeros. */
SPMV__SHARED SPMV__T SPMV__N(row)(const SPMV__V *val, const uint32_t *col, uint64_t n, const SPMV__T *x)
{
    SPMV__T lane[SPMV__CSR_LANES] = { 0 };
    uint64_t k;
    for (k = 0; k < n; k++) lane[k % SPMV__CSR_LANES] = SPMV__PLUS(val[k], x[col[k]], lane[k % SPMV__CSR_LANES]);
    return SPMV__N(tree)(lane, SPMV__CSR_LANES);
}
#else
#define SPMV__PLUS(a, b, c) ((a) * (b) + (c))
#define SPMV__BLOCK_LANES 1
SPMV__FORCE_INLINE SPMV__T SPMV__N(row)(const SPMV__V *val, const uint32_t *col, uint64_t n, const SPMV__T *x)
{
    SPMV__T s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    uint64_t k = 0;
    for (; k + 4 <= n; k += 4) {
        s0 += val[k] * x[col[k]];
        s1 += val[k + 1] * x[col[k + 1]];
        s2 += val[k + 2] * x[col[k + 2]];
        s3 += val[k + 3] * x[col[k + 3]];
    }
    for (; k < n; k++) s0 += val[k] * x[col[k]];
    return (s0 + s1) + (s2 + s3);
}

#ifndef SPMV__NO_DENSE
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
#endif

#ifndef SPMV__NO_COO
/* A share has the rows that begin among its nonzeros. */
static void SPMV__F(coo)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    const uint32_t *row = (const uint32_t *)p->a[SPMV_COO_ROW].data, *col = (const uint32_t *)p->a[SPMV_COO_COL].data;
    const uint64_t end = spmv__even(p->nnz, 1, share + 1, shares);
    uint64_t k = spmv__even(p->nnz, 1, share, shares), next;
    (void)beta;
    while (k && k < end && row[k] == row[k - 1]) k++;
    for (; k < end; k = next) {
        for (next = k + 1; next < p->nnz && row[next] == row[k];) next++;
        y[row[k]] += alpha * SPMV__F(row)(val + k, col + k, next - k, x);
    }
}
#endif

#ifndef SPMV__NO_CMRS
SPMV__FORCE_INLINE uint64_t SPMV__F(cmrs_row)(const SPMV__V *val, const uint32_t *index, const uint8_t *row, int packed, int together,
                                              uint64_t k, uint64_t last, const SPMV__T *x, SPMV__T *sum)
{
    (void)together;
    for (; k < last; k++) sum[packed ? index[k] & 15 : row[k]] += val[k] * x[packed ? index[k] >> 4 : index[k]];
    return k;
}
#endif

#ifndef SPMV__NO_TCSR
static SPMV__T SPMV__F(tcsr_sum)(const spmv_part *p, uint64_t at, uint64_t end, const SPMV__T *x)
{
    const SPMV__V *val = (const SPMV__V *)p->a[SPMV_TCSR_VAL].data;
    SPMV__T sum = 0;
    if (!p->a[SPMV_TCSR_BASE].count) return SPMV__F(row)(val + at, (const uint32_t *)p->a[SPMV_TCSR_COL].data + at, end - at, x);
    for (; at < end; at++) sum += val[at] * x[spmv__tcsr_column(p, at)];
    return sum;
}
#endif
#endif

#ifndef SPMV__NO_CSR
/* The sum of nonzeros k .. end - 1 in runs with columns of 16 bits; run: of the first, or one before. */
static SPMV__T SPMV__N(narrow_row)(const spmv_part *p, uint64_t k, uint64_t end, const SPMV__T *x, uint64_t *run)
{
    const SPMV__V *val = (const SPMV__V *)p->a[SPMV_VAL].data;
    SPMV__T sum = 0;
    for (; k < end; k++) {
        while (k >= spmv__at(&p->a[SPMV_CSR_RUN_AT], *run + 1)) ++*run;
        sum = SPMV__PLUS(val[k], x[spmv__column_at(&p->a[SPMV_CSR_COL], &p->a[SPMV_CSR_BASE], k, *run, 1)], sum);
    }
    return sum;
}

static void SPMV__N(csr)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    const spmv_array *ptr = &p->a[SPMV_CSR_PTR];
    const uint32_t *col = (const uint32_t *)p->a[SPMV_CSR_COL].data;
    const int narrow = p->a[SPMV_CSR_BASE].count != 0;
    uint64_t i = spmv__weighted(ptr, p->rows, share, shares), k = spmv__at(ptr, i), end, run = 0;
    const uint64_t stop = spmv__weighted(ptr, p->rows, share + 1, shares);
    for (; i < stop; i++, k = end) {
        end = spmv__at(ptr, i + 1);
        SPMV__N(set)(p, i, alpha, narrow ? SPMV__N(narrow_row)(p, k, end, x, &run) : SPMV__N(row)(val + k, col + k, end - k, x), beta, y);
    }
}
#endif

/* Rows of a part from first on, and their sums. */
SPMV__SHARED void SPMV__N(set_all)(const spmv_part *p, uint64_t first, uint64_t n, SPMV__T alpha, const SPMV__T *sum, SPMV__T beta,
                                   SPMV__T *y)
{
    uint64_t i;
    for (i = 0; i < n; i++) SPMV__N(set)(p, first + i, alpha, sum[i], beta, y);
}

#ifdef SPMV__ANY_DIA
static void SPMV__N(diagonals)(const spmv__job *job, uint64_t share, uint64_t shares, int banded)
{
    SPMV__ENTER;
    const int32_t *offset = spmv__dia_offsets(p);
    const uint32_t *band = (const uint32_t *)p->a[SPMV_BDIA_BAND_PTR].data;
    int64_t first = (int64_t)spmv__even(p->rows, SPMV__TILE, share, shares), end, i, d, last;
    const int64_t stop = (int64_t)spmv__even(p->rows, SPMV__TILE, share + 1, shares), cols = (int64_t)p->cols;
    for (; first < stop; first = end) {
        SPMV__T sum[SPMV__TILE] = { 0 };
        uint64_t b;
        end = first + SPMV__TILE < stop ? first + SPMV__TILE : stop;
        for (b = 0; b < spmv__dia_offset_count(p); b++) {
            int64_t o = offset[b];
            d = banded ? (int64_t)band[b] : (int64_t)b;
            for (last = banded ? (int64_t)band[b + 1] : d + 1; d < last; d++, o++) {
                const SPMV__V *v = val + (uint64_t)d * spmv__dia_ld(p);
                const int64_t inside = cols - o < end ? cols - o : end;
                for (i = o < -first ? -o : first; i < inside; i++) sum[i - first] = SPMV__PLUS(v[i], x[i + o], sum[i - first]);
            }
        }
        SPMV__N(set_all)(p, (uint64_t)first, (uint64_t)(end - first), alpha, sum, beta, y);
    }
}
#endif

#ifdef SPMV__ANY_ELL
/* n rows from first on, whose first entries are in slots from slot on, the next ld behind them. Each 1 << log of them have a base. */
static void SPMV__N(columns_of)(const spmv__job *job, const spmv_array *col, const spmv_array *base, uint64_t group, int log,
                                uint64_t first, uint64_t n, uint64_t slot, uint64_t ld, uint64_t width)
{
    SPMV__ENTER;
    SPMV__T sum[SPMV__TILE];
    uint64_t i;
    memset(sum, 0, (size_t)n * sizeof *sum);
    for (; width; width--, slot += ld)
        for (i = 0; i < n; i++) {
            const uint32_t c = spmv__column_at(col, base, slot + i, group + (i >> log), 1);
            if (c != SPMV_PAD) sum[i] = SPMV__PLUS(val[slot + i], x[c], sum[i]);
        }
    SPMV__N(set_all)(p, first, n, alpha, sum, beta, y);
}
#endif

#ifndef SPMV__NO_ELL
static void SPMV__N(ell)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    const spmv_part *p = job->p;
    uint64_t r = spmv__even(p->rows, SPMV__TILE, share, shares);
    const uint64_t end = spmv__even(p->rows, SPMV__TILE, share + 1, shares);
    for (; r < end; r += SPMV__TILE)
        SPMV__N(columns_of)(job, &p->a[SPMV_ELL_COL], &p->a[SPMV_ELL_BASE], r / 32, 5, r, spmv__smaller(end - r, SPMV__TILE), r,
                            p->n[SPMV_ELL_LD], p->n[SPMV_ELL_WIDTH]);
}
#endif

#ifndef SPMV__NO_SELL
static void SPMV__N(sell)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    const spmv_part *p = job->p;
    const spmv_array *ptr = &p->a[SPMV_SELL_PTR];
    uint64_t s = spmv__weighted(ptr, p->n[SPMV_SELL_SLICES], share, shares);
    const uint64_t stop = spmv__weighted(ptr, p->n[SPMV_SELL_SLICES], share + 1, shares);
    for (; s < stop; s++) {
        const uint64_t height = spmv__slice_height(p, s), first = spmv__slice_first(p, s), rows = spmv__slice_end(p, s) - first;
        const uint64_t slot = spmv__at(ptr, s), width = (spmv__at(ptr, s + 1) - slot) / height;
        uint64_t i;
        for (i = 0; i < rows; i += SPMV__TILE)
            SPMV__N(columns_of)(job, &p->a[SPMV_SELL_COL], &p->a[SPMV_SELL_BASE], s, 63, first + i,
                                spmv__smaller(rows - i, SPMV__TILE), slot + i, height, width);
    }
}
#endif

#ifdef SPMV__ANY_BLOCK
/* Block by block; the next unit of a block is step behind the one before. Columns beyond the matrix count as 0, as in the kernels. */
static void SPMV__N(block)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    const uint64_t bh = p->n[SPMV_BLOCK_BH], bw = p->n[SPMV_BLOCK_BW], uw = p->n[SPMV_BLOCK_UW], rows = spmv__block_rows(p);
    const int lanes = p->spec.format == SPMV_BCSR ? SPMV__BLOCK_LANES : 1;
    uint64_t s = spmv__even(rows, 1, share, shares), i, j, k, u;
    const uint64_t end = spmv__even(rows, 1, share + 1, shares);
    for (; s < end; s++) {
        SPMV__T sum[SPMV__EDGE * SPMV__BLOCK_LANES] = { 0 };
        const uint64_t count = spmv__block_count(p, s);
        for (k = 0; k < count; k++) {
            const spmv__block b = spmv__block_at(p, s, k);
            const uint64_t c = spmv__block_column(p, s, b.col);
            SPMV__T last[SPMV__EDGE] = { 0 };
            const SPMV__T *from = last;
            uint64_t at = b.val;
            if (c == SPMV_PAD) continue;
            if (c + bw <= p->cols) from = x + c;
            else for (j = 0; c + j < p->cols; j++) last[j] = x[c + j];
            for (i = 0; i < bh; i++) {
                SPMV__T *to = sum + i * SPMV__BLOCK_LANES + k % (uint64_t)lanes, one = *to;
                for (j = 0; j < bw; j += uw, at += b.step)
                    for (u = 0; u < uw; u++) one = SPMV__PLUS(val[at + u], from[j + u], one);
                *to = one;
            }
        }
        for (i = 0; i < bh && s * bh + i < p->rows; i++)
            SPMV__N(set)(p, s * bh + i, alpha, SPMV__N(tree)(sum + i * SPMV__BLOCK_LANES, lanes), beta, y);
    }
}
#endif
#undef SPMV__BLOCK_LANES
#undef SPMV__PLUS

#else /* in vectors */

/* The same for n rows of the part from first on, whose sums lie one after another. A row's bits do not depend on its place among them:
 * the last rows go through vectors as the others do. */
SPMV__SHARED void SPMV__F(set_rows)(const spmv_part *p, uint64_t first, uint64_t n, SPMV__T alpha, const SPMV__T *sum, SPMV__T beta,
                                    SPMV__T *y)
{
    const SPMV__O(vec) all_alpha = SPMV__O(vall)(alpha), all_beta = SPMV__O(vall)(beta);
    uint64_t i = 0;
    if (!p->list.count && beta == 0)
        for (; i + SPMV__LANES <= n; i += SPMV__LANES) SPMV__O(vput)(y + first + i, SPMV__O(vmul)(all_alpha, SPMV__O(vfrom)(sum + i)));
    else if (!p->list.count && n) {
        SPMV__T last_sum[SPMV__LANES_MOST] = { 0 }, last_y[SPMV__LANES_MOST] = { 0 };
        for (; i + SPMV__LANES <= n; i += SPMV__LANES)
            SPMV__O(vput)(y + first + i, SPMV__O(vfma)(all_beta, SPMV__O(vfrom)(y + first + i),
                                                       SPMV__O(vmul)(all_alpha, SPMV__O(vfrom)(sum + i))));
        memcpy(last_sum, sum + i, (size_t)(n - i) * sizeof *sum);
        memcpy(last_y, y + first + i, (size_t)(n - i) * sizeof *y);
        SPMV__O(vput)(last_y, SPMV__O(vfma)(all_beta, SPMV__O(vfrom)(last_y), SPMV__O(vmul)(all_alpha, SPMV__O(vfrom)(last_sum))));
        memcpy(y + first + i, last_y, (size_t)(n - i) * sizeof *y);
        return;
    }
    if (p->list.count && beta == 0) {
        const uint32_t *row = (const uint32_t *)p->list.data + first;
        if (alpha == 1)
            for (; i < n; i++) y[row[i]] = sum[i];
        else
            for (; i < n; i++) y[row[i]] = alpha * sum[i];
    }
    for (; i < n; i++) SPMV__F(set)(p, first + i, alpha, sum[i], beta, y);
}

/* 1 if the SPMV__BLOCK_ROWS rows of csr whose nonzeros begin where ptr says have at most four nonzeros each, and four may be read of each
 * before stop. */
SPMV__FORCE_INLINE int SPMV__F(block_short)(const uint32_t *ptr, uint64_t stop)
{
    int r, low = 0;
    if (ptr[SPMV__BLOCK_ROWS] - ptr[0] > SPMV__BLOCK_ROWS * 4) return 0;
    if ((uint64_t)ptr[SPMV__BLOCK_ROWS - 1] + 4 > stop) return 0;
    for (r = 0; r < SPMV__BLOCK_ROWS; r += 8) low += SPMV__L(short)(ptr + r);
    return low == SPMV__BLOCK_ROWS / 8;
}

/* The sums of the first eight products of row r, in a quad. */
SPMV__FORCE_INLINE SPMV__O(quad) SPMV__F(first_eight)(const SPMV__T *product, const uint32_t *ptr, uint64_t r)
{
    return SPMV__O(qeight)(product + (ptr[r] - ptr[0]), spmv__smaller(ptr[r + 1] - ptr[r], 8));
}

/* For columns of 32 and of 16 bits. */
#define SPMV__COLUMN_BITS 32
#include "host.h" /* again */
#define SPMV__COLUMN_BITS 16
#include "host.h" /* again */

#ifndef SPMV__NO_DENSE
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

#ifndef SPMV__NO_COO
/* Adds the rows of coo that begin among nonzeros k .. stop - 1 one by one. Their ends are looked for among 32 nonzeros at once: a loop over
 * the nonzeros of each row would often be mispredicted. */
static void SPMV__F(coo_rows)(const spmv_part *p, uint64_t k, uint64_t stop, SPMV__T alpha, const SPMV__T *SPMV__RESTRICT x,
                              SPMV__T *SPMV__RESTRICT y)
{
    const SPMV__V *val = (const SPMV__V *)p->a[SPMV_VAL].data;
    const uint32_t *row = (const uint32_t *)p->a[SPMV_COO_ROW].data, *col = (const uint32_t *)p->a[SPMV_COO_COL].data;
    uint64_t first, next;
    while (k && k < stop && row[k] == row[k - 1]) k++;
    for (first = k; first < stop && k + 32 < p->nnz; k += 32) {
        uint32_t bits = SPMV__L(ends)(row + k, UINT32_MAX);
        for (; bits && first < stop; bits &= bits - 1, first = next) {
            next = k + spmv__low_bit(bits) + 1;
            y[row[first]] += alpha * SPMV__F(row)(val, col, first, next, x);
        }
    }
    for (; first < stop; first = next) {
        for (next = first + 1; next < p->nnz && row[next] == row[first];) next++;
        y[row[first]] += alpha * SPMV__F(row)(val, col, first, next, x);
    }
}

/* The same for at most SPMV__TILE nonzeros; the rows are summed SPMV__BLOCK_ROWS at a time, as those of csr are. */
SPMV__APART void SPMV__F(coo_blocks)(const spmv_part *p, uint64_t k, uint64_t stop, SPMV__T alpha, const SPMV__T *x, SPMV__T *y)
{
    const uint32_t *row = (const uint32_t *)p->a[SPMV_COO_ROW].data, *col = (const uint32_t *)p->a[SPMV_COO_COL].data;
    uint32_t ptr[SPMV__TILE + 1]; /* where the rows begin and where the last ends, counted from the first */
    SPMV__T sum[SPMV__TILE];
    uint64_t count = 0, i, first;
    while (k && k < stop && row[k] == row[k - 1]) k++;
    if (k == stop) return;
    first = k;
    ptr[count++] = 0;
    for (; k + 32 < stop; k += 32) {
        uint32_t bits = SPMV__L(ends)(row + k, UINT32_MAX);
        for (; bits; bits &= bits - 1) ptr[count++] = (uint32_t)(k - first + spmv__low_bit(bits) + 1);
    }
    while (++k < stop)
        if (row[k] != row[k - 1]) ptr[count++] = (uint32_t)(k - first);
    while (k < p->nnz && row[k] == row[k - 1]) k++;
    ptr[count] = (uint32_t)(k - first);
    SPMV__F(rows)((const SPMV__V *)p->a[SPMV_VAL].data + first, col + first, ptr, 0, count, p->nnz - first, x, sum);
    for (i = 0; i < count; i++) y[row[first + ptr[i]]] += alpha * sum[i];
}

/* A share is made of the rows that begin in some windows of SPMV__TILE nonzeros, so that the same rows are summed together whatever the
 * number of shares. */
static void SPMV__F(coo)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    const uint64_t end = spmv__even(p->nnz, SPMV__TILE, share + 1, shares);
    uint64_t k = spmv__even(p->nnz, SPMV__TILE, share, shares);
    (void)beta;
    (void)val;
    if (p->lengths != SPMV__LENGTHS_BLOCKS) SPMV__F(coo_rows)(p, k, end, alpha, x, y);
    else for (; k < end; k += SPMV__TILE) SPMV__F(coo_blocks)(p, k, spmv__smaller(k + SPMV__TILE, end), alpha, x, y);
}
#endif

#ifndef SPMV__NO_CSR
/* The sum of a row of n nonzeros, more than SPMV__PIECE, piece by piece. */
SPMV__APART SPMV__T SPMV__F(csr_pieces)(const SPMV__V *SPMV__RESTRICT val, const uint32_t *SPMV__RESTRICT col, uint64_t n,
                                        const SPMV__T *SPMV__RESTRICT x)
{
    const uint64_t piece = spmv__piece(n);
    SPMV__T sum = 0;
    for (; n > piece; n -= piece, val += piece, col += piece) sum += SPMV__F(far_dot)(val, col, piece, x);
    return sum + SPMV__F(far_dot)(val, col, n, x);
}

/* Sums piece number share of the job's row. If share is the number of shares, all pieces are summed, and y is set. */
static void SPMV__F(csr_piece)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    const uint32_t *col = (const uint32_t *)p->a[SPMV_CSR_COL].data;
    const uint64_t first = spmv__at(&p->a[SPMV_CSR_PTR], job->row), end = spmv__at(&p->a[SPMV_CSR_PTR], job->row + 1);
    const uint64_t piece = spmv__piece(end - first), at = first + share * piece;
    SPMV__T sum = 0;
    uint64_t i;
    if (share < shares) {
        job->partial[share] = (double)SPMV__F(far_dot)(val + at, col + at, spmv__smaller(end - at, piece), x);
        return;
    }
    for (i = 0; i < shares; i++) sum += (SPMV__T)job->partial[i];
    SPMV__F(set)(p, job->row, alpha, sum, beta, y);
}

/* The same as rows where x is large and the columns are scattered: elements of x are fetched SPMV__FAR nonzeros in advance, for
 * the processor looks ahead less far. Four sums by single elements leave it more of its queues than quads do. */
SPMV__APART void SPMV__F(rows_far)(const SPMV__V *SPMV__RESTRICT val, const uint32_t *SPMV__RESTRICT col,
                                   const uint32_t *SPMV__RESTRICT ptr, uint64_t count, uint64_t stop, const SPMV__T *SPMV__RESTRICT x,
                                   SPMV__T *SPMV__RESTRICT sum)
{
    uint64_t i, k = ptr[0];
    for (i = 0; i < count; i++) {
        const uint64_t end = ptr[i + 1];
        const uint32_t *ahead = col + k + (end + SPMV__FAR <= stop ? SPMV__FAR : 0);
        SPMV__T s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        for (; k + 4 <= end; k += 4, ahead += 4) {
            SPMV__NEAR(x + ahead[0]);
            SPMV__NEAR(x + ahead[1]);
            SPMV__NEAR(x + ahead[2]);
            SPMV__NEAR(x + ahead[3]);
            s0 = SPMV__O(efma)((SPMV__T)val[k], x[col[k]], s0);
            s1 = SPMV__O(efma)((SPMV__T)val[k + 1], x[col[k + 1]], s1);
            s2 = SPMV__O(efma)((SPMV__T)val[k + 2], x[col[k + 2]], s2);
            s3 = SPMV__O(efma)((SPMV__T)val[k + 3], x[col[k + 3]], s3);
        }
        for (s0 = (s0 + s1) + (s2 + s3); k < end; k++, ahead++) {
            SPMV__NEAR(x + *ahead);
            s0 = SPMV__O(efma)((SPMV__T)val[k], x[col[k]], s0);
        }
        sum[i] = s0;
    }
}

/* The same as rows_alike; the sum of row i goes to place to[i]. */
SPMV__APART void SPMV__F(rows_alike_to)(const SPMV__V *SPMV__RESTRICT val, const uint32_t *SPMV__RESTRICT col,
                                        const uint32_t *SPMV__RESTRICT ptr, const uint32_t *SPMV__RESTRICT to, uint64_t count,
                                        const SPMV__T *SPMV__RESTRICT x, SPMV__T *SPMV__RESTRICT sum)
{
    SPMV__F(alike)(val, col, ptr, to, count, x, sum);
}

/* The sums of count rows from row i on, at most SPMV__TILE; head as in rows. ptr: where their nonzeros begin, counted from number at. to:
 * the places of the sums, or NULL; only if most rows are as long as the row before, and columns have 32 bits. */
static void SPMV__F(csr_sums_at)(const spmv_part *p, const uint32_t *ptr, uint64_t at, uint64_t head, const uint32_t *to, uint64_t count,
                                 const SPMV__T *x, SPMV__T *sum)
{
    const SPMV__V *val = (const SPMV__V *)p->a[SPMV_VAL].data + at;
    const uint32_t *col = (const uint32_t *)p->a[SPMV_CSR_COL].data + at;
    const uint16_t *narrow = (const uint16_t *)p->a[SPMV_CSR_COL].data + at;
    const int is_narrow = p->a[SPMV_CSR_BASE].count != 0;
    if (to) SPMV__F(rows_alike_to)(val, col, ptr, to, count, x, sum);
    else if (p->lengths == SPMV__LENGTHS_ALIKE && is_narrow) SPMV__F(rows_alike16)(val, narrow, ptr, count, x, sum);
    else if (p->lengths == SPMV__LENGTHS_ALIKE) SPMV__F(rows_alike)(val, col, ptr, count, x, sum);
    else if (is_narrow) SPMV__F(rows16)(val, narrow, ptr, head, count, p->nnz - at, x, sum);
    else if (p->lengths == SPMV__LENGTHS_FAR) SPMV__F(rows_far)(val, col, ptr, count, p->nnz - at, x, sum);
    else SPMV__F(rows)(val, col, ptr, head, count, p->nnz - at, x, sum);
}

/* The same where the pointers have 64 bits: they are counted from the first. */
SPMV__APART void SPMV__F(csr_sums_wide)(const spmv_part *p, uint64_t i, uint64_t head, const uint32_t *to, uint64_t count,
                                        const SPMV__T *x, SPMV__T *sum)
{
    const uint64_t *wide = (const uint64_t *)p->a[SPMV_CSR_PTR].data + i;
    uint32_t ptr[SPMV__TILE + 1];
    uint64_t k;
    for (k = 0; k <= count; k++) ptr[k] = (uint32_t)(wide[k] - wide[0]);
    SPMV__F(csr_sums_at)(p, ptr, wide[0], head, to, count, x, sum);
}

static void SPMV__F(csr_sums)(const spmv_part *p, uint64_t i, uint64_t head, const uint32_t *to, uint64_t count, const SPMV__T *x,
                              SPMV__T *sum)
{
    if (p->a[SPMV_CSR_PTR].width == 8) SPMV__F(csr_sums_wide)(p, i, head, to, count, x, sum);
    else SPMV__F(csr_sums_at)(p, (const uint32_t *)p->a[SPMV_CSR_PTR].data + i, 0, head, to, count, x, sum);
}

/* Rows i .. end - 1 without those that have more than most nonzeros. Sums are formed in y, or if buffer is not NULL, there, SPMV__TILE
 * rows at a time; always there for a part with a row list unless most rows are as long as the row before. Inlined, so that callers
 * without a buffer do not need the stack of those that have one. */
SPMV__FORCE_INLINE void SPMV__F(csr_rows)(const spmv_part *p, uint64_t i, uint64_t end, uint64_t most, SPMV__T alpha, const SPMV__T *x,
                                          SPMV__T beta, SPMV__T *y, SPMV__T *buffer)
{
    const SPMV__V *val = (const SPMV__V *)p->a[SPMV_VAL].data;
    const uint32_t *col = (const uint32_t *)p->a[SPMV_CSR_COL].data;
    while (i < end) {
        const uint64_t next = spmv__csr_stretch(p, i, end), in_block = i % SPMV__BLOCK_ROWS;
        const uint32_t *to;
        if (next == i) {
            const uint64_t at = spmv__at(&p->a[SPMV_CSR_PTR], i), n = spmv__at(&p->a[SPMV_CSR_PTR], i + 1) - at;
            if (n <= most) SPMV__F(set)(p, i, alpha, SPMV__F(csr_pieces)(val + at, col + at, n, x), beta, y);
            i++;
            continue;
        }
        to = buffer || !p->list.count ? NULL : (const uint32_t *)p->list.data + i;
        SPMV__F(csr_sums)(p, i, p->lengths != SPMV__LENGTHS_BLOCKS ? next - i : in_block ? SPMV__BLOCK_ROWS - in_block : 0, to, next - i,
                          x, buffer ? buffer : to ? y : y + i);
        if (buffer) SPMV__F(set_rows)(p, i, next - i, alpha, buffer, beta, y);
        i = next;
    }
}

/* The same with a buffer, which is too large for the stack of callers that need none. */
SPMV__APART void SPMV__F(csr_rows_apart)(const spmv_part *p, uint64_t i, uint64_t end, uint64_t most, SPMV__T alpha, const SPMV__T *x,
                                         SPMV__T beta, SPMV__T *y)
{
    SPMV__T sum[SPMV__TILE];
    SPMV__F(csr_rows)(p, i, end, most, alpha, x, beta, y, sum);
}

/* Runs of whole rows with narrow columns; a piece of a long row adds to what the pieces before it have set. */
SPMV__APART void SPMV__F(csr_run)(const spmv_part *p, uint64_t run, SPMV__T alpha, const SPMV__T *x, SPMV__T beta, SPMV__T *y)
{
    const SPMV__V *val = (const SPMV__V *)p->a[SPMV_VAL].data;
    const uint16_t *col = (const uint16_t *)p->a[SPMV_CSR_COL].data;
    const uint32_t *row = (const uint32_t *)p->a[SPMV_CSR_RUN_ROW].data;
    SPMV__T sum[SPMV__TILE];
    uint64_t i = row[run], at = spmv__at(&p->a[SPMV_CSR_RUN_AT], run), stop = spmv__at(&p->a[SPMV_CSR_RUN_AT], run + 1), next;
    const int begun = at > spmv__at(&p->a[SPMV_CSR_PTR], i);
    x += ((const uint32_t *)p->a[SPMV_CSR_BASE].data)[run];
    if (row[run + 1] == i || begun) {
        SPMV__F(set)(p, i, alpha, SPMV__F(far_dot16)(val + at, col + at, stop - at, x), begun ? 1 : beta, y);
        return;
    }
    for (; i < row[run + 1]; i = next) {
        next = spmv__smaller(i + SPMV__TILE, row[run + 1]);
        SPMV__F(csr_sums)(p, i, p->lengths == SPMV__LENGTHS_BLOCKS ? 0 : next - i, NULL, next - i, x, sum);
        SPMV__F(set_rows)(p, i, next - i, alpha, sum, beta, y);
    }
}

/* Pieces of one long row stay in one share, that of its first piece. */
static void SPMV__F(csr_narrow)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    const uint32_t *row = (const uint32_t *)p->a[SPMV_CSR_RUN_ROW].data;
    const uint64_t runs = p->n[SPMV_CSR_RUNS];
    uint64_t run = spmv__weighted(&p->a[SPMV_CSR_RUN_AT], runs, share, shares);
    uint64_t end = spmv__weighted(&p->a[SPMV_CSR_RUN_AT], runs, share + 1, shares);
    (void)val;
    while (run && run < end && spmv__at(&p->a[SPMV_CSR_RUN_AT], run) > spmv__at(&p->a[SPMV_CSR_PTR], row[run])) run++;
    if (run == end) return;
    for (; run < end || (run < runs && spmv__at(&p->a[SPMV_CSR_RUN_AT], run) > spmv__at(&p->a[SPMV_CSR_PTR], row[run])); run++)
        SPMV__F(csr_run)(p, run, alpha, x, beta, y);
}

/* The product of csr: of runs if they have columns of 16 bits, of one row's piece if the job says so, or of rows. */
static void SPMV__F(csr)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    (void)val;
    if (p->a[SPMV_CSR_BASE].count) SPMV__F(csr_narrow)(job, share, shares);
    else if (job->partial) SPMV__F(csr_piece)(job, share, shares);
    else {
        const uint64_t i = spmv__csr_share_row(p, spmv__weighted(&p->a[SPMV_CSR_PTR], p->rows, share, shares));
        const uint64_t end = spmv__csr_share_row(p, spmv__weighted(&p->a[SPMV_CSR_PTR], p->rows, share + 1, shares));
        const int straight = alpha == 1 && beta == 0 && (!p->list.count || p->lengths == SPMV__LENGTHS_ALIKE);
        if (straight) SPMV__F(csr_rows)(p, i, end, job->most, alpha, x, beta, y, NULL);
        else SPMV__F(csr_rows_apart)(p, i, end, job->most, alpha, x, beta, y);
    }
}
#endif

#ifdef SPMV__ANY_DIA
/* Vectors of the rows of one diagonal that are added before the next diagonal's: a cache line of them, but at most four. */
#define SPMV__LINE_VECTORS (4 * sizeof(SPMV__O(vec)) <= 64 ? 4 : 2 * sizeof(SPMV__O(vec)) <= 64 ? 2 : 1)

/* Adds count diagonals over the same rows to sums: out[i] = alpha * (from[i] + val[0][i] * x[0][i] + ...), in this order; from NULL: zeros.
 * Memory is prefetched for the next tile, as the processor follows so many streams badly. */
SPMV__APART void SPMV__F(diagonal_rows)(const SPMV__V *const *val, const SPMV__T *const *x, int count, uint64_t rows, const SPMV__T *from,
                                        SPMV__T alpha, SPMV__T *out)
{
    const uint64_t L = SPMV__LANES, step = SPMV__LINE_VECTORS * SPMV__LANES;
    const SPMV__O(vec) zero = SPMV__O(vzero)(), all_alpha = SPMV__O(vall)(alpha);
    uint64_t i = 0;
    int d;
    for (; i + step <= rows; i += step) {
        SPMV__O(vec) s0 = zero, s1 = zero, s2 = zero, s3 = zero;
        if (from) {
            s0 = SPMV__O(vfrom)(from + i);
            if (SPMV__LINE_VECTORS > 1) s1 = SPMV__O(vfrom)(from + i + L);
            if (SPMV__LINE_VECTORS > 2) s2 = SPMV__O(vfrom)(from + i + 2 * L);
            if (SPMV__LINE_VECTORS > 2) s3 = SPMV__O(vfrom)(from + i + 3 * L);
        }
        for (d = 0; d < count; d++) {
            const SPMV__V *v = val[d] + i;
            const SPMV__T *w = x[d] + i;
            SPMV__AHEAD(v + SPMV__TILE);
            s0 = SPMV__O(vfma)(SPMV__F(vload)(v), SPMV__O(vfrom)(w), s0);
            if (SPMV__LINE_VECTORS > 1) s1 = SPMV__O(vfma)(SPMV__F(vload)(v + L), SPMV__O(vfrom)(w + L), s1);
            if (SPMV__LINE_VECTORS > 2) s2 = SPMV__O(vfma)(SPMV__F(vload)(v + 2 * L), SPMV__O(vfrom)(w + 2 * L), s2);
            if (SPMV__LINE_VECTORS > 2) s3 = SPMV__O(vfma)(SPMV__F(vload)(v + 3 * L), SPMV__O(vfrom)(w + 3 * L), s3);
        }
        SPMV__O(vput)(out + i, SPMV__O(vmul)(all_alpha, s0));
        if (SPMV__LINE_VECTORS > 1) SPMV__O(vput)(out + i + L, SPMV__O(vmul)(all_alpha, s1));
        if (SPMV__LINE_VECTORS > 2) SPMV__O(vput)(out + i + 2 * L, SPMV__O(vmul)(all_alpha, s2));
        if (SPMV__LINE_VECTORS > 2) SPMV__O(vput)(out + i + 3 * L, SPMV__O(vmul)(all_alpha, s3));
    }
    for (; i < rows; i++) {
        SPMV__T s = from ? from[i] : 0;
        for (d = 0; d < count; d++) s = SPMV__O(efma)((SPMV__T)val[d][i], x[d][i], s);
        out[i] = alpha * s;
    }
}

/* Multiplies rows first .. end - 1 of all diagonals. Those that leave the matrix in these rows are added one by one to sums in a buffer;
 * then the others SPMV__STREAMS at a time, the last of them straight into y where it is not read: writing y a tile at a time would stop the
 * stream of the matrix. */
static void SPMV__F(diagonal_tile)(const spmv_part *p, int64_t first, int64_t end, SPMV__T alpha, const SPMV__T *x, SPMV__T beta,
                                   SPMV__T *y, int banded)
{
    const SPMV__V *val = (const SPMV__V *)p->a[SPMV_VAL].data, *v[SPMV__STREAMS] = { NULL };
    const int32_t *offset = spmv__dia_offsets(p);
    const uint32_t *band = (const uint32_t *)p->a[SPMV_BDIA_BAND_PTR].data;
    const SPMV__T *at[SPMV__STREAMS] = { NULL };
    const int64_t cols = (int64_t)p->cols;
    const uint64_t rows = (uint64_t)(end - first);
    const int straight = !p->list.count && beta == 0;
    SPMV__T sum[SPMV__TILE], *from = NULL; /* from: the sums, once there are any */
    int held = 0;
    uint64_t b;
    for (b = 0; b < spmv__dia_offset_count(p); b++) {
        uint64_t d = banded ? band[b] : b, last = banded ? band[b + 1] : b + 1;
        int64_t o = offset[b];
        for (; d < last; d++, o++) {
            const int64_t r = o < -first ? -o : first, stop = cols - o < end ? cols - o : end;
            const int part = r > first || stop < end;
            if (r >= stop) continue;
            if (part && !from) memset(from = sum, 0, (size_t)rows * sizeof *sum);
            if (!part && held == SPMV__STREAMS) {
                SPMV__F(diagonal_rows)(v, at, held, rows, from, 1, sum);
                from = sum;
                held = 0;
            }
            if (part) {
                const SPMV__V *one = val + d * spmv__dia_ld(p) + (uint64_t)r;
                const SPMV__T *of = x + (r + o);
                SPMV__F(diagonal_rows)(&one, &of, 1, (uint64_t)(stop - r), sum + (r - first), 1, sum + (r - first));
            } else {
                v[held] = val + d * spmv__dia_ld(p) + (uint64_t)first;
                at[held++] = x + (first + o);
            }
        }
    }
    SPMV__F(diagonal_rows)(v, at, held, rows, from, straight ? alpha : 1, straight ? y + first : sum);
    if (!straight) SPMV__F(set_rows)(p, (uint64_t)first, rows, alpha, sum, beta, y);
}

/* The product of dia and bdia (banded), by tiles of rows. */
static void SPMV__F(diagonals)(const spmv__job *job, uint64_t share, uint64_t shares, int banded)
{
    SPMV__ENTER;
    uint64_t first = spmv__even(p->rows, SPMV__TILE, share, shares), end = spmv__even(p->rows, SPMV__TILE, share + 1, shares);
    (void)val;
    for (; first < end; first += SPMV__TILE)
        SPMV__F(diagonal_tile)(p, (int64_t)first, (int64_t)spmv__smaller(end, first + SPMV__TILE), alpha, x, beta, y, banded);
}
#endif

#ifndef SPMV__NO_ELL
/* Rows are padded to a multiple of 32, so that whole vectors of them can be read; padding is in the columns too. The last sums of whole
 * tiles go straight into y, if that is not read: writing y a tile at a time would stop the stream of the matrix. */
static void SPMV__F(ell)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    const uint32_t *col = (const uint32_t *)p->a[SPMV_ELL_COL].data, *base = (const uint32_t *)p->a[SPMV_ELL_BASE].data;
    const uint16_t *narrow = (const uint16_t *)p->a[SPMV_ELL_COL].data;
    const uint64_t width = p->n[SPMV_ELL_WIDTH], ld = p->n[SPMV_ELL_LD];
    uint64_t first = spmv__even(p->rows, SPMV__TILE, share, shares), end = spmv__even(p->rows, SPMV__TILE, share + 1, shares);
    for (; first < end; first += SPMV__TILE) {
        SPMV__T buffer[SPMV__TILE], *sum = buffer, *from = NULL;
        uint64_t rows = spmv__smaller(end - first, SPMV__TILE), padded = spmv__round_up(rows, 32), k, at = first;
        int found = 1;
        if (alpha == 1 && beta == 0 && !p->list.count && rows == padded) sum = y + first;
        for (k = 0; k < width && found; k += 4, at += 4 * ld, from = sum) {
            const uint64_t count = spmv__smaller(width - k, 4);
            found = base ? SPMV__F(columns16)(val + at, narrow + at, ld, count, base + first / 32, padded, x, from, sum)
                         : SPMV__F(columns)(val + at, col + at, ld, count, NULL, padded, x, from, sum);
        }
        if (sum == buffer) SPMV__F(set_rows)(p, first, rows, alpha, sum, beta, y);
    }
}
#endif

#ifndef SPMV__NO_SELL
/* The sums of a slice that is higher than SPMV__TILE, so many rows at a time. */
static void SPMV__F(tall_slice)(const spmv_part *p, uint64_t t, SPMV__T alpha, const SPMV__T *x, SPMV__T beta, SPMV__T *y)
{
    const uint32_t *col = (const uint32_t *)p->a[SPMV_SELL_COL].data, *base = (const uint32_t *)p->a[SPMV_SELL_BASE].data;
    const uint16_t *narrow = (const uint16_t *)p->a[SPMV_SELL_COL].data;
    const SPMV__V *val = (const SPMV__V *)p->a[SPMV_VAL].data;
    uint64_t slot = spmv__at(&p->a[SPMV_SELL_PTR], t), last = spmv__at(&p->a[SPMV_SELL_PTR], t + 1), height = spmv__slice_height(p, t);
    uint64_t first = spmv__slice_first(p, t), end = spmv__slice_end(p, t), done;
    if (base) x += base[t];
    for (done = 0; first < end; done += SPMV__TILE, first += SPMV__TILE) {
        SPMV__T sum[SPMV__TILE] = { 0 };
        uint64_t rows = spmv__smaller(height - done, SPMV__TILE), at = slot + done;
        int found = 1;
        for (; at < last && found; at += height)
            found = base ? SPMV__F(column16)(val + at, narrow + at, rows, 0, x, sum) : SPMV__F(column)(val + at, col + at, rows, 0, x, sum);
        SPMV__F(set_rows)(p, first, spmv__smaller(end - first, rows), alpha, sum, beta, y);
    }
}

/* Shares of sell are slices. Where y has to be read or scaled, the sums of several low slices are formed before they are written. */
static void SPMV__F(sell)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    const uint32_t *col = (const uint32_t *)p->a[SPMV_SELL_COL].data, *base = (const uint32_t *)p->a[SPMV_SELL_BASE].data;
    const uint16_t *narrow = (const uint16_t *)p->a[SPMV_SELL_COL].data;
    uint64_t t = spmv__weighted(&p->a[SPMV_SELL_PTR], p->n[SPMV_SELL_SLICES], share, shares);
    uint64_t end = spmv__weighted(&p->a[SPMV_SELL_PTR], p->n[SPMV_SELL_SLICES], share + 1, shares);
    const int straight = alpha == 1 && beta == 0 && !p->list.count;
    uint64_t first = spmv__slice_first(p, t), at = spmv__at(&p->a[SPMV_SELL_PTR], t), held = 0;
    SPMV__T sum[SPMV__TILE];
    for (; t < end; t++) {
        const uint64_t height = spmv__slice_height(p, t), next = spmv__at(&p->a[SPMV_SELL_PTR], t + 1);
        if (held + height > SPMV__TILE) {
            SPMV__F(set_rows)(p, first, held, alpha, sum, beta, y);
            first += held;
            held = 0;
        }
        if (height > SPMV__TILE) {
            SPMV__F(tall_slice)(p, t, alpha, x, beta, y);
            first = spmv__slice_end(p, t);
        } else {
            const uint64_t rows = spmv__slice_end(p, t) - spmv__slice_first(p, t);
            SPMV__T *to = straight && rows == height ? y + first : sum + held;
            if (base) SPMV__F(slice16)(val + at, narrow + at, height, next - at, x + base[t], to);
            else SPMV__F(slice)(val + at, col + at, height, next - at, x, to);
            if (to == y + first) first += rows;
            else held += rows;
        }
        at = next;
    }
    SPMV__F(set_rows)(p, first, held, alpha, sum, beta, y);
}
#endif

#ifdef SPMV__ANY_BLOCK

/* Fills edge with what the last block of a row of blocks reads instead of x, if x ends within or right behind it: the rest of x, and
 * zeros. */
static void SPMV__F(block_edge)(const spmv_part *p, const SPMV__T *x, SPMV__T *edge)
{
    uint64_t bw = p->n[SPMV_BLOCK_BW], first = (p->cols - 1) / bw * bw, j;
    for (j = 0; j < SPMV__EDGE; j++) edge[j] = first + j < p->cols ? x[first + j] : 0;
}

/* What is done with the sum of each row of a block, one by one: a loop would leave the sums in memory. */
#define SPMV__EACH_SUM(what) what(0) what(1) what(2) what(3) what(4) what(5) what(6) what(7)
#define SPMV__PUT(i) if (bh > i) sum[i] = load > uw ? SPMV__O(qfirst)(part[i], (uint64_t)uw) : part[i];

/* Adds the units of row i of a block, each as SPMV__UNIT says. */
#define SPMV__ADD(i)                                                                                                               \
    if (bh > i) {                                                                                                                  \
        SPMV__UNIT(i, 0, x0)                                                                                                       \
        if (units > 1) { SPMV__UNIT(i, 1, x1) }                                                                                    \
        if (units > 2) { SPMV__UNIT(i, 2, x2) }                                                                                    \
    }

/* Adds a block to the sums of its rows. Its units lie step slots apart, and memory is prefetched ahead slots in advance, unless that is 0.
 * Each load is of so many elements of a unit and of x: of units of three, that is one more, whose product is in the lane that qfirst
 * drops. All sizes are constants, so that sums stay in registers. */
SPMV__FORCE_INLINE void SPMV__F(block_add)(const SPMV__V *val, uint64_t step, uint64_t ahead, const SPMV__T *x, SPMV__O(quad) *sum, int bh,
                                           int bw, int uw, int load)
{
    const int units = bw / uw; /* of a row */
    const SPMV__O(quad) x0 = SPMV__O(qfrom)(x, load), x1 = units > 1 ? SPMV__O(qfrom)(x + uw, load) : x0;
    const SPMV__O(quad) x2 = units > 2 ? SPMV__O(qfrom)(x + 2 * uw, load) : x0;
#define SPMV__UNIT(i, u, x)                                                                                                        \
    if (ahead) SPMV__AHEAD(val + (uint64_t)(i * units + u) * step + ahead);                                                        \
    sum[i] = SPMV__O(qfma)(SPMV__F(qload)(val + (uint64_t)(i * units + u) * step, load), x, sum[i]);
    SPMV__EACH_SUM(SPMV__ADD)
#undef SPMV__UNIT
}

/* Adds two blocks of bcsr with units of two to the sums of their rows: a quad holds the same unit of both, one behind the other, as they
 * are stored. x and next: the elements of x for each block. */
SPMV__FORCE_INLINE void SPMV__F(block_add_two)(const SPMV__V *val, uint64_t step, const SPMV__T *x, const SPMV__T *next,
                                               SPMV__O(quad) *sum, int bh, int bw)
{
    const int units = bw / 2; /* of a row */
    const SPMV__O(quad) x0 = SPMV__O(qtwo)(x, next), x1 = units > 1 ? SPMV__O(qtwo)(x + 2, next + 2) : x0;
    const SPMV__O(quad) x2 = units > 2 ? SPMV__O(qtwo)(x + 4, next + 4) : x0;
#define SPMV__UNIT(i, u, x) sum[i] = SPMV__O(qfma)(SPMV__F(qload)(val + (uint64_t)(i * units + u) * step, 4), x, sum[i]);
    SPMV__EACH_SUM(SPMV__ADD)
#undef SPMV__UNIT
#undef SPMV__ADD
}

/* Prefetches a cache line of each of so many units, which lie step slots apart, SPMV__LINES_AHEAD lines in advance. */
SPMV__FORCE_INLINE void SPMV__F(block_ahead)(const SPMV__V *val, uint64_t step, int units)
{
    int i;
    for (i = 0; i < units; i++) SPMV__AHEAD(val + (uint64_t)i * step + SPMV__LINES_AHEAD * SPMV__CACHE_LINE / sizeof *val);
}

/* Sums the block rows of a slab one after another, in registers. Those of bell and sbell read the same cache lines, because the same unit
 * of all lies side by side. Padding comes last in a block row. */
SPMV__FORCE_INLINE void SPMV__F(slab_rows)(const spmv__block_slab *b, const SPMV__V *val, const SPMV__T *x, const SPMV__T *edge,
                                           SPMV__O(quad) *sum, int bh, int bw, int uw, int load, int is_bcsr)
{
    const SPMV__O(quad) zero = SPMV__O(qzero)();
    const uint32_t *col = b->col;
    const uint16_t *narrow = b->narrow;
    const uint64_t step = b->step, base = b->base, cols = b->cols, count = b->count, reads = (uint64_t)(bw + load - uw);
    const uint64_t next_col = is_bcsr ? 1 : b->next_col, next_val = is_bcsr ? (uint64_t)uw : b->next_val, ahead = is_bcsr ? 0 : b->ahead;
    const uint64_t per_line = SPMV__CACHE_LINE / (sizeof *val * (uint64_t)uw); /* units */
    const int many = is_bcsr && bh * bw / uw >= SPMV__MANY_UNITS;
    uint64_t i;
    for (i = 0; i < count; i++, sum += bh) {
        SPMV__O(quad) part[8] = { zero, zero, zero, zero, zero, zero, zero, zero };
        uint64_t k = is_bcsr ? b->ptr[i] : i;
        const uint64_t end = is_bcsr ? b->ptr[i + 1] : i + b->blocks * next_col;
        const SPMV__V *at = val + k * (uint64_t)uw;
        for (; is_bcsr && uw == 2 && k + 2 <= end; k += 2, at += 4) {
            if (many && k % per_line < 2) SPMV__F(block_ahead)(at, step, bh * bw / uw);
            const uint64_t c = col ? col[k] : base + narrow[k] * (uint64_t)bw;
            const uint64_t next = col ? col[k + 1] : base + narrow[k + 1] * (uint64_t)bw;
            SPMV__F(block_add_two)(at, step, c + reads > cols ? edge : x + c, next + reads > cols ? edge : x + next, part, bh, bw);
        }
        for (; k < end; k += next_col, at += next_val) {
            if (many && k % per_line == 0) SPMV__F(block_ahead)(at, step, bh * bw / uw);
            const uint64_t c = col ? col[k] : !is_bcsr && narrow[k] == SPMV_PAD16 ? SPMV_PAD : base + narrow[k] * (uint64_t)bw;
            const SPMV__T *from = x + c;
            if (c + reads > cols) {
                if (!is_bcsr && c == SPMV_PAD) break;
                from = edge;
            }
            SPMV__F(block_add)(at, step, ahead, from, part, bh, bw, uw, load);
        }
        SPMV__EACH_SUM(SPMV__PUT)
    }
}

/* With the block size a constant, a function of its own for each. */
#define X(bh, bw, uw)                                                                                                              \
    SPMV__APART void SPMV__F(SPMV__BLOCK_NAME(bh, bw))(const spmv__block_slab *b, const SPMV__V *val, const SPMV__T *x,            \
                                                       const SPMV__T *edge, SPMV__O(quad) *sum)                                    \
    {                                                                                                                              \
        const int more = uw == 3 && !b->is_last; /* the element behind the last unit is outside of the matrix */                   \
        SPMV__IF_BCSR(if (b->is_bcsr && more) SPMV__F(slab_rows)(b, val, x, edge, sum, bh, bw, uw, 4, 1);)                         \
        SPMV__IF_BCSR(if (b->is_bcsr && !more) SPMV__F(slab_rows)(b, val, x, edge, sum, bh, bw, uw, uw, 1);)                       \
        SPMV__IF_BELL(if (!b->is_bcsr && more) SPMV__F(slab_rows)(b, val, x, edge, sum, bh, bw, uw, 4, 0);)                        \
        SPMV__IF_BELL(if (!b->is_bcsr && !more) SPMV__F(slab_rows)(b, val, x, edge, sum, bh, bw, uw, uw, 0);)                      \
    }
SPMV_BLOCK_LIST(X)
#undef X
#undef SPMV__PUT
#undef SPMV__EACH_SUM

/* Block rows s .. end - 1, slab by slab. */
static void SPMV__F(block_rows)(const spmv_part *p, uint64_t s, uint64_t end, SPMV__T alpha, const SPMV__T *x, SPMV__T beta, SPMV__T *y)
{
    const uint64_t bh = p->n[SPMV_BLOCK_BH];
    SPMV__T edge[SPMV__EDGE], sum[SPMV__SLAB * SPMV__EDGE];
    SPMV__O(quad) lanes[SPMV__SLAB * SPMV__EDGE];
    spmv__block_slab b;
    uint64_t i, n;
    SPMV__F(block_edge)(p, x, edge);
    for (; s < end; s += b.count) {
        const SPMV__V *val = (const SPMV__V *)p->a[SPMV_VAL].data + spmv__block_slab_make(&b, p, s, end);
        for (i = b.count * bh; i % 4; i++) lanes[i] = SPMV__O(qzero)();
        switch (bh << 8 | p->n[SPMV_BLOCK_BW]) {
#define X(bh, bw, uw) case bh << 8 | bw: SPMV__F(SPMV__BLOCK_NAME(bh, bw))(&b, val, x, edge, lanes); break;
            SPMV_BLOCK_LIST(X)
#undef X
        }
        n = spmv__smaller(b.count * bh, p->rows - s * bh);
        for (i = 0; i < n; i += 4) SPMV__O(qsums)(sum + i, lanes[i], lanes[i + 1], lanes[i + 2], lanes[i + 3]);
        SPMV__F(set_rows)(p, s * bh, n, alpha, sum, beta, y);
    }
}

/* The product of bell, sbell and bcsr. Shares begin where a group of block rows does that has a base or a slice of its own. */
static void SPMV__F(block)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    const uint64_t block_rows = spmv__block_rows(p), height = spmv__block_group_height(p);
    uint64_t s, end;
    (void)val;
    if (p->spec.format == SPMV_BELL) {
        s = spmv__even(block_rows, height, share, shares);
        end = spmv__even(block_rows, height, share + 1, shares);
    } else if (p->spec.format == SPMV_BCSR) {
        s = spmv__weighted(&p->a[SPMV_BCSR_PTR], block_rows, share, shares);
        end = spmv__weighted(&p->a[SPMV_BCSR_PTR], block_rows, share + 1, shares);
    } else {
        const uint64_t slices = p->n[SPMV_SBELL_SLICES];
        s = spmv__smaller(block_rows, spmv__weighted(&p->a[SPMV_SBELL_PTR], slices, share, shares) * height);
        end = spmv__smaller(block_rows, spmv__weighted(&p->a[SPMV_SBELL_PTR], slices, share + 1, shares) * height);
    }
    if (s < end) SPMV__F(block_rows)(p, s, end, alpha, x, beta, y);
}
#endif

#ifndef SPMV__NO_CMRS
/* Adds the nonzeros from k on that are of one row to its sum and returns the nonzero behind them. If the nonzeros of each row are together,
 * long rows are added by quads; for short ones, more branches cost more than that saves. Looking for the ends of rows as coo does took 0.87
 * to 1.3 times as long, because strips are short. */
SPMV__FORCE_INLINE uint64_t SPMV__F(cmrs_row)(const SPMV__V *SPMV__RESTRICT val, const uint32_t *SPMV__RESTRICT index,
                                              const uint8_t *SPMV__RESTRICT row, int packed, int together, uint64_t k, uint64_t last,
                                              const SPMV__T *SPMV__RESTRICT x, SPMV__T *SPMV__RESTRICT sum)
{
#define SPMV__ROW(k) (packed ? index[k] & 15 : row[k])
#define SPMV__COL(k) (packed ? index[k] >> 4 : index[k])
    const uint32_t r = SPMV__ROW(k);
    SPMV__T rest = 0;
    if (!together || k + SPMV__LONG > last || SPMV__ROW(k + SPMV__LONG - 1) != r) {
        do rest += val[k] * x[SPMV__COL(k)]; while (++k < last && SPMV__ROW(k) == r);
    } else {
        SPMV__O(quad) part = SPMV__O(qzero)();
        do {
            const uint32_t col[4] = { SPMV__COL(k), SPMV__COL(k + 1), SPMV__COL(k + 2), SPMV__COL(k + 3) };
            part = SPMV__O(qfma)(SPMV__F(qload)(val + k, 4), SPMV__O(qgather)(x, col), part);
            k += 4;
        } while (k + 4 <= last && SPMV__ROW(k + 3) == r);
        for (rest = SPMV__O(qsum)(part); k < last && SPMV__ROW(k) == r; k++) rest += val[k] * x[SPMV__COL(k)];
    }
    sum[r] += rest;
    return k;
#undef SPMV__COL
#undef SPMV__ROW
}
#endif

#ifndef SPMV__NO_TCSR
/* The sum of slots at .. end - 1, whose columns have 16 bits. */
SPMV__APART SPMV__T SPMV__F(tcsr_narrow)(const spmv_part *p, uint64_t at, uint64_t end, const SPMV__T *x)
{
    const SPMV__V *val = (const SPMV__V *)p->a[SPMV_TCSR_VAL].data;
    uint32_t col[SPMV__TCSR_AT_ONCE];
    SPMV__T sum = 0;
    uint64_t n, i;
    for (; at < end; at += n) {
        n = spmv__smaller(end - at, SPMV__TCSR_AT_ONCE);
        for (i = 0; i < n; i++) col[i] = spmv__tcsr_column(p, at + i);
        sum += SPMV__F(far_dot)(val + at, col, n, x);
    }
    return sum;
}

/* The sum of a row in slots at .. end - 1. */
SPMV__FORCE_INLINE SPMV__T SPMV__F(tcsr_sum)(const spmv_part *p, uint64_t at, uint64_t end, const SPMV__T *x)
{
    if (p->a[SPMV_TCSR_BASE].count) return SPMV__F(tcsr_narrow)(p, at, end, x);
    return SPMV__F(row)((const SPMV__V *)p->a[SPMV_TCSR_VAL].data, (const uint32_t *)p->a[SPMV_TCSR_COL].data, at, end, x);
}
#endif
#endif

/* What the products in vectors and the simple ones have in common. */
#ifndef SPMV__NO_DIA
static void SPMV__N(dia)(const spmv__job *job, uint64_t share, uint64_t shares) { SPMV__N(diagonals)(job, share, shares, 0); }
#endif
#ifndef SPMV__NO_BDIA
static void SPMV__N(bdia)(const spmv__job *job, uint64_t share, uint64_t shares) { SPMV__N(diagonals)(job, share, shares, 1); }
#endif

#ifndef SPMV__REPEATED
#ifndef SPMV__NO_CMRS
/* Shares of cmrs are strips. */
static void SPMV__F(cmrs)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    const uint32_t *index = (const uint32_t *)p->a[SPMV_CMRS_INDEX].data;
    const uint8_t *row = (const uint8_t *)p->a[SPMV_CMRS_ROW].data;
    const uint64_t height = p->n[SPMV_CMRS_HEIGHT], strips = spmv__ceil_div(p->rows, height), packed = p->n[SPMV_CMRS_PACKED];
    const int together = !p->spec.key[SPMV_KEY_SORT];
    uint64_t s = spmv__weighted(&p->a[SPMV_CMRS_PTR], strips, share, shares), k, i;
    uint64_t end = spmv__weighted(&p->a[SPMV_CMRS_PTR], strips, share + 1, shares);
    for (; s < end; s++) {
        SPMV__T sum[16] = { 0 };
        const uint64_t last = spmv__at(&p->a[SPMV_CMRS_PTR], s + 1);
        for (k = spmv__at(&p->a[SPMV_CMRS_PTR], s); k < last;)
            if (packed) k = SPMV__F(cmrs_row)(val, index, row, 1, together, k, last, x, sum); /* constants, for the compiler */
            else k = SPMV__F(cmrs_row)(val, index, row, 0, together, k, last, x, sum);
        for (i = 0; i < height && s * height + i < p->rows; i++) SPMV__F(set)(p, s * height + i, alpha, sum[i], beta, y);
    }
}
#endif

#ifndef SPMV__NO_TCSR
/* The same as a call, for the few rows that are cut. */
SPMV__APART SPMV__T SPMV__F(tcsr_cut)(const spmv_part *p, uint64_t at, uint64_t end, const SPMV__T *x)
{
    return SPMV__F(tcsr_sum)(p, at, end, x);
}

/* The rows that begin in tile t. A row that is cut goes on in the slots that follow. */
static void SPMV__F(tcsr_tile)(const spmv_part *p, uint64_t t, SPMV__T alpha, const SPMV__T *x, SPMV__T beta, SPMV__T *y)
{
    const uint32_t *piece = (const uint32_t *)p->a[SPMV_TCSR_PIECE].data;
    uint64_t n = spmv__tcsr_ends(p, t), at = t * p->n[SPMV_TCSR_TILE], last = at + p->n[SPMV_TCSR_TILE], i, end;
    int other = piece[2 * t] != t; /* the row began in another tile */
    uint32_t bits;
    for (i = at / SPMV_TCSR_SLOTS; i < last / SPMV_TCSR_SLOTS; i++)
        for (bits = spmv__tcsr_bits(p, i); bits; bits &= bits - 1, at = end, other = 0, n++) {
            end = i * SPMV_TCSR_SLOTS + spmv__low_bit(bits) + 1;
            if (other) continue;
            SPMV__F(set)(p, spmv__tcsr_row(p, n), alpha, SPMV__F(tcsr_sum)(p, at, end, x), beta, y);
        }
    if (piece[2 * t + 1] == t || other) return;
    for (i = last / SPMV_TCSR_SLOTS; !spmv__tcsr_bits(p, i);) i++;
    end = i * SPMV_TCSR_SLOTS + spmv__low_bit(spmv__tcsr_bits(p, i)) + 1;
    SPMV__F(set)(p, spmv__tcsr_row(p, n), alpha, SPMV__F(tcsr_cut)(p, at, end, x), beta, y);
}

/* Shares of tcsr are tiles, and empty rows. */
static void SPMV__F(tcsr)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    const uint32_t *empty = (const uint32_t *)p->a[SPMV_TCSR_EMPTY].data;
    const uint64_t tiles = p->n[SPMV_TCSR_TILES], empties = p->n[SPMV_TCSR_EMPTIES];
    uint64_t t = spmv__even(tiles, 1, share, shares), end = spmv__even(tiles, 1, share + 1, shares);
    (void)val;
    for (; t < end; t++) SPMV__F(tcsr_tile)(p, t, alpha, x, beta, y);
    end = spmv__even(empties, 1, share + 1, shares);
    for (t = spmv__even(empties, 1, share, shares); t < end; t++) SPMV__F(set)(p, empty[t], alpha, 0, beta, y);
}
#endif

#ifdef SPMV_FORMATS_EXTRA
SPMV_EXTRA_LIST(SPMV__EXTRA_PRODUCT)
#endif

#endif /* not SPMV__REPEATED */

#undef SPMV__ENTER
#undef SPMV__N
#undef SPMV__TYPE
#endif /* again */

/* What the template above expands once for each width of columns; x is moved to their base. */
#ifdef SPMV__COLUMN_BITS /* again */
#if SPMV__COLUMN_BITS == 16
#define SPMV__C uint16_t
#define SPMV__C_PAD SPMV_PAD16
#define SPMV__FC(name) SPMV__F(name##16)
#define SPMV__OC(name) SPMV__O(name##16)
#else
#define SPMV__C uint32_t
#define SPMV__C_PAD SPMV_PAD
#define SPMV__FC(name) SPMV__F(name)
#define SPMV__OC(name) SPMV__O(name)
#endif

/* Of the products of the four values before val, the last n, the others being 0. */
SPMV__FORCE_INLINE SPMV__O(quad) SPMV__FC(last_four)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, uint64_t n,
                                                     const SPMV__T *SPMV__RESTRICT x)
{
    return SPMV__O(qlast)(SPMV__O(qfma)(SPMV__F(qload)(val - 4, 4), SPMV__OC(qgather)(x, col - 4), SPMV__O(qzero)()), n);
}

/* The sum of values k to end - 1 times the elements of x that their columns name. The last four products of a row are formed together,
 * whether or not some of them are already added: a loop over what is left would often be mispredicted. That left 0.6 to 1.05 of the time.
 * Prefetching values and columns changed nothing, prefetching x made products with 1 to 4 MB of x 1.05 to 1.7 times slower, and so did a
 * jump by the length of a row (Zen 4, two threads of a core). */
SPMV__FORCE_INLINE SPMV__T SPMV__FC(row)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, uint64_t k, uint64_t end,
                                         const SPMV__T *SPMV__RESTRICT x)
{
    SPMV__T sum = 0;
    if (k + 4 <= end) {
        SPMV__O(quad) s0 = SPMV__O(qzero)(), s1 = s0;
        for (; k + 4 < end; k += 4) {
            const SPMV__O(quad) next = SPMV__O(qfma)(SPMV__F(qload)(val + k, 4), SPMV__OC(qgather)(x, col + k), s0);
            s0 = s1;
            s1 = next;
        }
        return SPMV__O(qsum)(SPMV__O(qadd)(SPMV__O(qadd)(s0, SPMV__FC(last_four)(val + end, col + end, end - k, x)), s1));
    }
    if (k < end) {
        SPMV__ALIGN_LOOP;
        do sum = SPMV__O(efma)((SPMV__T)val[k], x[col[k]], sum); while (++k < end);
    }
    return sum;
}

/* The sum of a row of n values, as a call. */
SPMV__APART SPMV__T SPMV__FC(far_dot)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, uint64_t n,
                                      const SPMV__T *SPMV__RESTRICT x)
{
    return SPMV__FC(row)(val, col, 0, n, x);
}

/* The products of the first n of four values, the others being 0. */
SPMV__FORCE_INLINE SPMV__O(quad) SPMV__FC(row_end)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, uint64_t n,
                                                   const SPMV__T *SPMV__RESTRICT x)
{
    return SPMV__O(qfirst)(SPMV__O(qfma)(SPMV__F(qload)(val, 4), SPMV__OC(qgather)(x, col), SPMV__O(qzero)()), n);
}

/* The sum of a row of n nonzeros, 1 to 7, n being a constant. */
SPMV__FORCE_INLINE SPMV__T SPMV__FC(fixed)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, int n,
                                           const SPMV__T *SPMV__RESTRICT x)
{
    SPMV__T s;
    SPMV__NO_VECTORS(val);
    s = val[0] * x[col[0]];
    if (n > 1) s = SPMV__O(efma)((SPMV__T)val[1], x[col[1]], s);
    if (n > 2) s = SPMV__O(efma)((SPMV__T)val[2], x[col[2]], s);
    if (n > 3) s = SPMV__O(efma)((SPMV__T)val[3], x[col[3]], s);
    if (n > 4) s = SPMV__O(efma)((SPMV__T)val[4], x[col[4]], s);
    if (n > 5) s = SPMV__O(efma)((SPMV__T)val[5], x[col[5]], s);
    if (n > 6) s = SPMV__O(efma)((SPMV__T)val[6], x[col[6]], s);
    return s;
}

/* The sums of four rows with at most four nonzeros each. Short rows of changing length that are summed one after another cost more in
 * mispredicted branches than in arithmetic. Four nonzeros are multiplied for each, those behind it are not added. */
SPMV__FORCE_INLINE void SPMV__FC(four_short)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col,
                                             const uint32_t *SPMV__RESTRICT ptr, const SPMV__T *SPMV__RESTRICT x,
                                             SPMV__T *SPMV__RESTRICT sum)
{
    SPMV__O(qsums)(sum, SPMV__FC(row_end)(val + ptr[0], col + ptr[0], ptr[1] - ptr[0], x),
                   SPMV__FC(row_end)(val + ptr[1], col + ptr[1], ptr[2] - ptr[1], x),
                   SPMV__FC(row_end)(val + ptr[2], col + ptr[2], ptr[3] - ptr[2], x),
                   SPMV__FC(row_end)(val + ptr[3], col + ptr[3], ptr[4] - ptr[3], x));
}

/* The products of four values. */
SPMV__FORCE_INLINE SPMV__O(quad) SPMV__FC(products)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col,
                                                    const SPMV__T *SPMV__RESTRICT x)
{
    return SPMV__O(qfma)(SPMV__F(qload)(val, 4), SPMV__OC(qgather)(x, col), SPMV__O(qzero)());
}

/* The sums of rows from i on that have four nonzeros each, as far as they follow one another; returns the row behind them. Four rows are
 * summed at once; the sum of a row that is left is formed in the same order. */
SPMV__FORCE_INLINE uint64_t SPMV__FC(fours)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col,
                                            const uint32_t *SPMV__RESTRICT ptr, const uint32_t *SPMV__RESTRICT to, uint64_t i,
                                            uint64_t count, const SPMV__T *SPMV__RESTRICT x, SPMV__T *SPMV__RESTRICT sum)
{
    uint64_t k = ptr[i];
    SPMV__T all[4];
    for (; i + 4 <= count && ptr[i + 4] - k == 16 && ptr[i + 1] - k == 4 && ptr[i + 2] - k == 8 && ptr[i + 3] - k == 12;
         i += 4, k += 16) {
        SPMV__O(qsums)(to ? all : sum + i, SPMV__FC(products)(val + k, col + k, x),
                       SPMV__FC(products)(val + k + 4, col + k + 4, x), SPMV__FC(products)(val + k + 8, col + k + 8, x),
                       SPMV__FC(products)(val + k + 12, col + k + 12, x));
        if (to) {
            sum[to[i]] = all[0];
            sum[to[i + 1]] = all[1];
            sum[to[i + 2]] = all[2];
            sum[to[i + 3]] = all[3];
        }
    }
    for (; i < count && ptr[i + 1] - k == 4; i++, k += 4) {
        const SPMV__O(quad) one = SPMV__FC(products)(val + k, col + k, x);
        SPMV__O(qsums)(all, one, one, one, one);
        sum[to ? to[i] : i] = all[0];
    }
    return i;
}

/* Rows of n nonzeros, as far as they follow one another. */
#define SPMV__LENGTH(n) \
    case n: \
        do { \
            sum[to ? to[i] : i] = SPMV__FC(fixed)(val + k, col + k, n, x); \
            k += n; \
        } while (++i < count && ptr[i + 1] - k == n); \
        break;
/* The sums of count rows, whose nonzeros begin where ptr says, where most rows are as long as the row before: one loop for each length.
 * to: the places of the sums, or NULL. */
SPMV__FORCE_INLINE void SPMV__FC(alike)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col,
                                        const uint32_t *SPMV__RESTRICT ptr, const uint32_t *SPMV__RESTRICT to, uint64_t count,
                                        const SPMV__T *SPMV__RESTRICT x, SPMV__T *SPMV__RESTRICT sum)
{
    uint64_t i = 0, k = ptr[0];
    while (i < count) {
        switch (ptr[i + 1] - k) {
        case 0: do sum[to ? to[i] : i] = 0; while (++i < count && ptr[i + 1] == k); break;
        SPMV__LENGTH(1)
        SPMV__LENGTH(2)
        SPMV__LENGTH(3)
        case 4: i = SPMV__FC(fours)(val, col, ptr, to, i, count, x, sum); k = ptr[i]; break;
        SPMV__LENGTH(5)
        SPMV__LENGTH(6)
        SPMV__LENGTH(7)
        default: sum[to ? to[i] : i] = SPMV__FC(row)(val, col, k, ptr[i + 1], x); k = ptr[i + 1]; i++;
        }
    }
}
#undef SPMV__LENGTH

/* The same as a call, without places. */
SPMV__APART void SPMV__FC(rows_alike)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col,
                                      const uint32_t *SPMV__RESTRICT ptr, uint64_t count, const SPMV__T *SPMV__RESTRICT x,
                                      SPMV__T *SPMV__RESTRICT sum)
{
    SPMV__FC(alike)(val, col, ptr, NULL, count, x, sum);
}

/* The sums of SPMV__BLOCK_ROWS rows with at most SPMV__SHORT nonzeros each on average: first all products, then for each row, without
 * branches, the sum of the first eight, and at last the others of the rows that have more. */
SPMV__APART void SPMV__FC(uneven_block)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col,
                                        const uint32_t *SPMV__RESTRICT ptr, uint64_t stop, const SPMV__T *SPMV__RESTRICT x,
                                        SPMV__T *SPMV__RESTRICT sum)
{
    const uint64_t first = ptr[0], n = ptr[SPMV__BLOCK_ROWS] - first, L = SPMV__LANES;
    const uint64_t end = first + n + L - 1 <= stop ? n + L - 1 : n;
    SPMV__T product[SPMV__BLOCK_ROWS * SPMV__SHORT + SPMV__LANES_MOST];
    uint8_t longer[SPMV__BLOCK_ROWS];
    uint64_t r, k = 0, longs = 0;
    val += first;
    col += first;
    for (; k + L <= end; k += L) SPMV__O(vput)(product + k, SPMV__O(vmul)(SPMV__F(vload)(val + k), SPMV__OC(vgather)(x, col + k)));
    for (; k < n; k++) product[k] = val[k] * x[col[k]];
    for (r = 0; r < SPMV__BLOCK_ROWS; r += 4)
        SPMV__O(qsums)(sum + r, SPMV__F(first_eight)(product, ptr, r), SPMV__F(first_eight)(product, ptr, r + 1),
                       SPMV__F(first_eight)(product, ptr, r + 2), SPMV__F(first_eight)(product, ptr, r + 3));
    for (r = 0; r < SPMV__BLOCK_ROWS; r++) {
        longer[longs] = (uint8_t)r;
        longs += ptr[r + 1] - ptr[r] > 8;
    }
    while (longs--) {
        SPMV__O(quad) part = SPMV__O(qzero)();
        r = longer[longs];
        for (k = ptr[r] - first + 8; k < ptr[r + 1] - first; k += 8)
            part = SPMV__O(qadd)(part, SPMV__O(qeight)(product + k, spmv__smaller(ptr[r + 1] - first - k, 8)));
        sum[r] += SPMV__O(qsum)(part);
    }
}

/* The sums of count rows, whose nonzeros begin where ptr says; stop: where all nonzeros end that may be read. Rows from head on are taken
 * SPMV__BLOCK_ROWS at a time: by fours if all are short, else as an uneven block unless they have too many. */
SPMV__APART void SPMV__FC(rows)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, const uint32_t *SPMV__RESTRICT ptr,
                                uint64_t head, uint64_t count, uint64_t stop, const SPMV__T *SPMV__RESTRICT x, SPMV__T *SPMV__RESTRICT sum)
{
    uint64_t i = 0, k;
    while (i < count) {
        const uint64_t end = i < head ? spmv__smaller(head, count) : spmv__smaller(i + SPMV__BLOCK_ROWS, count);
        const int whole = i >= head && end - i == SPMV__BLOCK_ROWS;
        if (whole && SPMV__F(block_short)(ptr + i, stop))
            for (; i < end; i += 4) SPMV__FC(four_short)(val, col, ptr + i, x, sum + i);
        else if (whole && ptr[end] - ptr[i] <= SPMV__BLOCK_ROWS * SPMV__SHORT) {
            SPMV__FC(uneven_block)(val, col, ptr + i, stop, x, sum + i);
            i = end;
        } else for (k = ptr[i]; i < end; i++) {
            const uint64_t next = ptr[i + 1];
            sum[i] = SPMV__FC(row)(val, col, k, next, x);
            k = next;
        }
    }
}

/* One entry of each of so many rows that lie next to each other, added to their sums; 0 if there is only padding. Memory is prefetched
 * ahead slots in advance where ahead is not 0: of many columns at once, the processor does not do so by itself. */
static inline int SPMV__FC(column)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, uint64_t rows, uint64_t ahead,
                                   const SPMV__T *SPMV__RESTRICT x, SPMV__T *SPMV__RESTRICT sum)
{
    const uint64_t whole = rows - rows % SPMV__LANES;
    uint64_t i;
    int found = 0;
    for (i = 0; i < whole; i += SPMV__LANES) {
        SPMV__O(vec) in;
        if (ahead) {
            SPMV__AHEAD(val + i + ahead);
            SPMV__AHEAD(col + i + ahead);
        }
        if (SPMV__OC(vrun)(col + i)) in = SPMV__O(vfrom)(x + col[i]);
        else {
            int pads = SPMV__OC(vpads)(col + i);
            if (pads == 2) continue;
            in = SPMV__OC(vpick)(x, col + i, pads);
        }
        found = 1;
        SPMV__O(vput)(sum + i, SPMV__O(vfma)(SPMV__F(vload)(val + i), in, SPMV__O(vfrom)(sum + i)));
    }
    for (; i < rows; i++) {
        if (col[i] == SPMV__C_PAD) continue;
        found = 1;
        sum[i] += val[i] * x[col[i]];
    }
    return found;
}

/* The same for a vector of rows. */
SPMV__FORCE_INLINE SPMV__O(vec) SPMV__FC(entry)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col,
                                                const SPMV__T *SPMV__RESTRICT x, SPMV__O(vec) sum)
{
    int pads;
    if (SPMV__OC(vrun)(col)) return SPMV__O(vfma)(SPMV__F(vload)(val), SPMV__O(vfrom)(x + *col), sum);
    pads = SPMV__OC(vpads)(col);
    if (pads == 2) return sum;
    return SPMV__O(vfma)(SPMV__F(vload)(val), SPMV__OC(vpick)(x, col, pads), sum);
}

SPMV__FORCE_INLINE void SPMV__FC(columns_ahead)(const SPMV__V *val, const SPMV__C *col)
{
    SPMV__AHEAD(val + SPMV__TILE);
    SPMV__AHEAD(col + SPMV__TILE);
}

/* The sums of so many rows, a multiple of 32, with their next count entries, at most four, which lie ld slots apart; from NULL: there are
 * no sums yet. base: of each 32 rows, or NULL. 0 if the first entries are all padding. */
SPMV__APART int SPMV__FC(columns)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, uint64_t ld, uint64_t count,
                                  const uint32_t *SPMV__RESTRICT base, uint64_t rows, const SPMV__T *SPMV__RESTRICT x, const SPMV__T *from,
                                  SPMV__T *out)
{
    const SPMV__O(vec) zero = SPMV__O(vzero)();
    uint64_t i;
    int found = 0;
    for (i = 0; i < rows; i += SPMV__LANES) {
        const SPMV__T *in = base ? x + base[i / 32] : x;
        SPMV__O(vec) s = from ? SPMV__O(vfrom)(from + i) : zero;
        SPMV__FC(columns_ahead)(val + i, col + i);
        if (SPMV__OC(vpads)(col + i) != 2) {
            found = 1;
            s = SPMV__FC(entry)(val + i, col + i, in, s);
        }
        if (count > 1) {
            SPMV__FC(columns_ahead)(val + ld + i, col + ld + i);
            s = SPMV__FC(entry)(val + ld + i, col + ld + i, in, s);
        }
        if (count > 2) {
            SPMV__FC(columns_ahead)(val + 2 * ld + i, col + 2 * ld + i);
            s = SPMV__FC(entry)(val + 2 * ld + i, col + 2 * ld + i, in, s);
        }
        if (count > 3) {
            SPMV__FC(columns_ahead)(val + 3 * ld + i, col + 3 * ld + i);
            s = SPMV__FC(entry)(val + 3 * ld + i, col + 3 * ld + i, in, s);
        }
        SPMV__O(vput)(out + i, s);
    }
    return found;
}

/* The sums of so many vectors of rows of a slice, in registers. */
SPMV__FORCE_INLINE void SPMV__FC(slice_rows)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, uint64_t height,
                                             uint64_t slots, const SPMV__T *SPMV__RESTRICT x, SPMV__T *sum, int vectors)
{
    const uint64_t L = SPMV__LANES;
    SPMV__O(vec) s0 = SPMV__O(vzero)(), s1 = s0, s2 = s0, s3 = s0;
    uint64_t at;
    for (at = 0; at < slots; at += height) {
        s0 = SPMV__FC(entry)(val + at, col + at, x, s0);
        if (vectors > 1) s1 = SPMV__FC(entry)(val + at + L, col + at + L, x, s1);
        if (vectors > 2) s2 = SPMV__FC(entry)(val + at + 2 * L, col + at + 2 * L, x, s2);
        if (vectors > 2) s3 = SPMV__FC(entry)(val + at + 3 * L, col + at + 3 * L, x, s3);
    }
    SPMV__O(vput)(sum, s0);
    if (vectors > 1) SPMV__O(vput)(sum + L, s1);
    if (vectors > 2) SPMV__O(vput)(sum + 2 * L, s2);
    if (vectors > 2) SPMV__O(vput)(sum + 3 * L, s3);
}

/* The sums of height rows of a slice with so many slots. */
SPMV__APART void SPMV__FC(high_slice)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, uint64_t height,
                                      uint64_t slots, const SPMV__T *SPMV__RESTRICT x, SPMV__T *SPMV__RESTRICT sum)
{
    const uint64_t L = SPMV__LANES;
    uint64_t i = 0, at;
    for (; i + 4 * L <= height; i += 4 * L) SPMV__FC(slice_rows)(val + i, col + i, height, slots, x, sum + i, 4);
    if (i + 2 * L <= height) {
        SPMV__FC(slice_rows)(val + i, col + i, height, slots, x, sum + i, 2);
        i += 2 * L;
    }
    if (i + L <= height) {
        SPMV__FC(slice_rows)(val + i, col + i, height, slots, x, sum + i, 1);
        i += L;
    }
    for (; i < height; i++)
        for (sum[i] = 0, at = i; at < slots; at += height)
            if (col[at] != SPMV__C_PAD) sum[i] += val[at] * x[col[at]];
}

SPMV__FORCE_INLINE void SPMV__FC(slice)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, uint64_t height,
                                        uint64_t slots, const SPMV__T *SPMV__RESTRICT x, SPMV__T *SPMV__RESTRICT sum)
{
    if (height == SPMV__LANES) SPMV__FC(slice_rows)(val, col, SPMV__LANES, slots, x, sum, 1); /* constants, for the compiler */
    else SPMV__FC(high_slice)(val, col, height, slots, x, sum);
}

#undef SPMV__OC
#undef SPMV__FC
#undef SPMV__C_PAD
#undef SPMV__C
#undef SPMV__COLUMN_BITS
#endif /* again */
