/* SPDX-License-Identifier: MIT
 *
 * spmv/products.h - what products on the host share: how they are divided among threads, and what their templates begin with.
 *
 * The product of a format is a template in its file, which is read again ("again") for each level of vector instructions and each type
 * (host.h). Each is written twice: simply, entry by entry, for plain C and for reproducible products, and in vectors (simd.h). What goes
 * through columns of 32 or of 16 bits is read once for each width as well (SPMV__COLUMN_BITS).
 */
#ifndef SPMV__PRODUCTS_H
#define SPMV__PRODUCTS_H

#include "shape.h"
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

/* Rows of csr that are cut into pieces, which all threads share. */
enum { SPMV__CUT_ROWS = 32, SPMV__CUT_PIECES = 1024 }; /* cut at once, at most: their sums lie on the stack */
typedef struct spmv__cut_rows {
    uint64_t count, row[SPMV__CUT_ROWS], first[SPMV__CUT_ROWS + 1]; /* first: how many pieces the rows before it have */
    double   sum[SPMV__CUT_PIECES];                                 /* of each piece */
} spmv__cut_rows;

/* One product, or one for each of several vectors: what its threads have in common. */
typedef struct spmv__job {
    const spmv_part *p;
    const void      *x;
    void            *y;
    double           alpha, beta;
    uint64_t         most;    /* csr: rows with more nonzeros are skipped; see spmv__run_long */
    spmv__cut_rows  *cut;     /* csr: if not NULL, the only rows to multiply */
    uint64_t         vectors, x_step, y_step; /* how many, and bytes from one to the next */
    uint64_t         pieces;  /* of the part, each of which stays in a cache until it is multiplied by all vectors */
    uint64_t         wide;    /* of a product with vectors side by side, which count as one: how many they are. x has room for as many
                                 as there are lanes at least */
    uint64_t         x_row, y_row, y_column; /* elements from one row to the next, and from one vector to the next */
} spmv__job;

/* Computes share number share of shares. The bits of y do not depend on the number of shares, because a row is always summed in the
 * same order. */
typedef void (*spmv__product)(const spmv__job *job, uint64_t share, uint64_t shares);

/* Products of fewer slots than this stay on one thread, because starting threads takes microseconds. */
#define SPMV__ALONE 20000
/* Up to so many slots a thread, it gets one share. In larger products, threads take smaller shares one after another, so that a thread
 * whose rows take longer, or that is held up, does not delay the others (spmv__run_shares, [M39] of docs/measurements.md). */
#define SPMV__CACHED 25000
/* Bytes of a matrix that are multiplied by several vectors in turn: a fourth of a small L2 cache, through which x and y pass as well. */
#define SPMV__VECTORS_BYTES (UINT64_C(1) << 17)
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

/* Calls the product for a share and each vector. */
static void spmv__run_vectors(const spmv__shared_product *work, uint64_t share)
{
    spmv__job job = *work->job;
    for (; job.vectors; job.vectors--) {
        work->product(&job, share, work->shares);
        if (job.x) job.x = (const char *)job.x + job.x_step;
        job.y = (char *)job.y + job.y_step;
    }
}

static void spmv__run_share(void *shared, size_t share)
{
    const spmv__shared_product *work = (const spmv__shared_product *)shared;
    if (work->job->vectors > 1) spmv__run_vectors(work, share);
    else work->product(work->job, share, work->shares);
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
    spmv__owned_product *work = (spmv__owned_product *)owned;
    spmv__shared_product all = work->all;
    const size_t owners = work->owners;
    size_t i, share, dealt;
    for (i = 0; i < (SPMV__DEALS ? 1 : owners); i++) {
        const size_t owner = (me + i) % owners, end = (size_t)(all.shares * (owner + 1) / owners);
        for (dealt = (size_t)(all.shares * owner / owners); (share = spmv__take_number(&work->of[owner].next, dealt)) < end; dealt++) {
            spmv__run_share(&all, share);
            if (SPMV__LEAVES) return;
        }
    }
}

/* Calls the product for each share. Threads have neighbouring shares of their own, which are the same in every product, so that their
 * elements of y and x may still be in a thread's cache; one that is through with them takes what the others have left. */
SPMV__APART void spmv__run_shares(const spmv__job *job, spmv__product product, uint64_t shares, size_t threads)
{
    const size_t count = (size_t)spmv__smaller(threads, shares);
    spmv__owned_product owned;
    size_t t;
    owned.all.job = job;
    owned.all.product = product;
    owned.all.shares = shares;
    owned.owners = (size_t)spmv__smaller(count, SPMV__OWNERS);
    for (t = 0; t < owned.owners; t++) owned.of[t].next = (size_t)(shares * t / owned.owners);
    spmv__parallel(spmv__run_owned, &owned, SPMV__DEALS ? owned.owners : count, threads);
}

/* Divides a product of so many slots into shares and calls the product for each. */
static void spmv__run(const spmv__job *job, spmv__product product, uint64_t slots)
{
    const size_t threads = spmv__threads(job->vectors > 1 ? spmv__sat_mul(slots, job->vectors) : slots);
    spmv__shared_product shared;
    uint64_t i;
    shared.job = job;
    shared.product = product;
    shared.shares = threads < 2 ? job->pieces : threads;
    if (threads < 2 && job->vectors == 1) product(job, 0, 1);
    else if (threads < 2)
        for (i = 0; i < shared.shares; i++) spmv__run_share(&shared, (size_t)i);
    else if (slots <= (uint64_t)SPMV__CACHED * threads && job->most == UINT64_MAX)
        spmv__parallel(spmv__run_share, &shared, threads, threads);
    else spmv__run_shares(job, product, (uint64_t)threads * 8 < job->pieces ? job->pieces : (uint64_t)threads * 8, threads);
}

/* As spmv__even for items of different weights: ptr[i] is the weight of the items before item i, and each item counts one more. */
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

#endif

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

/* Writes y of row i of the part; with beta 0, the old value is not read. */
SPMV__FORCE_INLINE void SPMV__F(set)(const spmv_part *p, uint64_t i, SPMV__T alpha, SPMV__T sum, SPMV__T beta, SPMV__T *y)
{
    y += spmv__part_row(p, i);
#ifdef SPMV__SIMPLE
    *y = beta == 0 ? alpha * sum : alpha * sum + beta * *y;
#else
    *y = beta == 0 ? alpha * sum : SPMV__O(efma)(beta, *y, alpha * sum); /* as in vectors */
#endif
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

#endif

/* Rows of a part from first on, and their sums. */
SPMV__SHARED void SPMV__N(set_all)(const spmv_part *p, uint64_t first, uint64_t n, SPMV__T alpha, const SPMV__T *sum, SPMV__T beta,
                                   SPMV__T *y)
{
    uint64_t i;
    for (i = 0; i < n; i++) SPMV__N(set)(p, first + i, alpha, sum[i], beta, y);
}

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
#include "template.h" /* again */
#define SPMV__COLUMN_BITS 16
#include "template.h" /* again */

#endif

/* What the products in vectors and the simple ones have in common. */
#endif /* again */

#if defined(SPMV__COLUMN_BITS) /* again */
#if SPMV__COLUMN_BITS == 16
#define SPMV__C uint16_t
#define SPMV__C_PAD SPMV_PAD16
#define SPMV__NEXT_TWO spmv__next_two16
#define SPMV__FC(name) SPMV__F(name##16)
#define SPMV__OC(name) SPMV__O(name##16)
#else
#define SPMV__C uint32_t
#define SPMV__C_PAD SPMV_PAD
#define SPMV__NEXT_TWO spmv__next_two
#define SPMV__FC(name) SPMV__F(name)
#define SPMV__OC(name) SPMV__O(name)
#endif
#endif /* again */
