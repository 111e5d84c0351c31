/* SPDX-License-Identifier: MIT
 *
 * spmv_host.h - products of stored parts with vectors on the host CPU.
 *
 * The product of each format is written once, as a template that is expanded for each type of values and vectors. It uses OpenMP if the
 * compiler was told to. spmv_formats.h describes the configuration macros.
 *
 * If you only want the interface, stop at "END OF THE INTERFACE".
 */
#include "spmv_formats.h" /* above the guard: its implementation may be needed although this interface was included before */
#ifndef SPMV_HOST_H
#define SPMV_HOST_H

#ifdef __cplusplus
extern "C" {
#endif

/* Computes y = alpha A x + beta y on the host, for the rows of the part. The bits of y do not depend on the number of OpenMP threads.
 *   p       the part A
 *   alpha   0: neither A nor x is read
 *   x       as many elements of the vector type as the matrix has columns
 *   beta    0: y is not read. Must be 1 for coo (SPMV_ADDS_ONLY)
 *   y       as many elements of the vector type as the matrix has rows, or the part has without a row list
 * Threads: any number may multiply by the same part at a time, each with a y of its own. */
SPMV_API spmv_status spmv_part_mul(const spmv_part *p, double alpha, const void *x, double beta, void *y);
/* 1 if spmv_part_mul is reproducible: the part was built to be, and the library was compiled with SPMV_REPRODUCIBLE. */
SPMV_API int spmv_part_repeats(const spmv_part *p);
/* Computes y = beta y.
 *   t      the type, whose vector type y has
 *   n      elements of y
 *   beta   0: y becomes zero without being read
 *   y      may be NULL if n is 0 */
SPMV_API spmv_status spmv_scale(spmv_type t, uint64_t n, double beta, void *y);

#ifdef __cplusplus
}
#endif
#endif /* SPMV_HOST_H */
/* ============================================ END OF THE INTERFACE ============================================== */

#if defined(SPMV_IMPLEMENTATION) && !defined(SPMV_HOST_IMPLEMENTED)
#define SPMV_HOST_IMPLEMENTED

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
#ifdef __GNUC__
#define SPMV__FORCE_INLINE inline __attribute__((always_inline))
#else
#define SPMV__FORCE_INLINE inline
#endif
/* Loops over a block are unrolled even at -O2. */
#if defined(__clang__)
#define SPMV__UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__) && __GNUC__ >= 8
#define SPMV__UNROLL _Pragma("GCC unroll 8")
#else
#define SPMV__UNROLL
#endif

/* ---- products on the host ---------------------------------------------------------------------------------------- */

#ifdef _OPENMP
#define SPMV__PRAGMA(text) _Pragma(#text)
/* Products of at most 50000 slots stay on one thread, because starting threads takes microseconds. The result of each iteration does
 * not depend on the thread that runs it, so dynamic scheduling does not change a bit of y. Iterations of SPMV__PARALLEL are shares of
 * work, those of SPMV__PARALLEL_ROWS single rows, of which a thread takes 256 at a time. */
#define SPMV__PARALLEL(work) SPMV__PRAGMA(omp parallel for schedule(dynamic, 1) if ((work) > 50000))
#define SPMV__PARALLEL_ROWS(work) SPMV__PRAGMA(omp parallel for schedule(dynamic, 256) if ((work) > 50000))
#else
#define SPMV__PARALLEL(work)
#define SPMV__PARALLEL_ROWS(work)
#endif
/* Lanes of the reproducible products, here and in the kernels: 16 and 8 keep a work-group of a GPU busy on rows of tens of entries. */
#define SPMV__CSR_LANES 16
#define SPMV__BCSR_LANES 8
#define SPMV__SHORT 8 /* entries: shorter rows are summed entry after entry, as four partial sums cost more in branches than they save */
#define SPMV__TILE 256 /* rows summed together in formats that store entries by columns: their partial sums stay in the L1 cache */

/* Rows of csr that one thread takes at a time. There are at least 64 shares, so that slower threads and longer rows even out, unless a
 * share would then have fewer than 2048 entries. At most 2048 rows, the share of large matrices; a fixed share of that size would give
 * all 73 rows of lp_nw14 to one thread. */
SPMV__SHARED uint64_t spmv__csr_share(const spmv_part *p)
{
    uint64_t run = p->rows / 64, least = p->nnz ? spmv__sat_mul(p->rows, 2048) / p->nnz : 2048;
    if (run < least) run = least;
    return run > 2048 ? 2048 : run ? run : 1;
}

/* This file includes itself once for each type, for the template at its end: V is the type of values, T of vectors, TEMPLATE the suffix of
 * function names. */
#define SPMV__F(name) SPMV__CAT(spmv__##name##_, SPMV__TEMPLATE)

#define SPMV__TEMPLATE f32
#define SPMV__V float
#define SPMV__T float
#define SPMV__FMA fmaf
#include "spmv_host.h"
#undef SPMV__TEMPLATE
#undef SPMV__V
#undef SPMV__T
#undef SPMV__FMA

#ifndef SPMV_NO_F64
#define SPMV__TEMPLATE f64
#define SPMV__V double
#define SPMV__T double
#define SPMV__FMA fma
#include "spmv_host.h"
#undef SPMV__TEMPLATE
#undef SPMV__V
#undef SPMV__T
#undef SPMV__FMA

#define SPMV__TEMPLATE mixed
#define SPMV__V float
#define SPMV__T double
#define SPMV__FMA fma
#include "spmv_host.h"
#undef SPMV__TEMPLATE
#undef SPMV__V
#undef SPMV__T
#undef SPMV__FMA
#define SPMV__PRODUCTS(name) { spmv__##name##_f64, spmv__##name##_f32, spmv__##name##_mixed }
#else
#define SPMV__PRODUCTS(name) { NULL, spmv__##name##_f32, NULL }
#endif
#define SPMV__NONE { NULL, NULL, NULL }
#ifdef SPMV_REPRODUCIBLE
#define SPMV__REPEAT(name) SPMV__PRODUCTS(repeat_##name)
#else
#define SPMV__REPEAT(name) SPMV__NONE
#endif

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* The products of a format by type: the usual ones, and the reproducible ones. NULL if there is none. */
typedef void (*spmv__product)(const spmv_part *p, double alpha, const void *x, double beta, void *y);
typedef struct spmv__products {
    spmv__product mul[SPMV_TYPE_COUNT], repeat[SPMV_TYPE_COUNT];
} spmv__products;

/* A row of the table, by SPMV__BUILT_<NAME>. SPMV__HOST_<NAME> stands in the template, beside the format's products. */
#define SPMV__HOST_ROW_1(NAME) SPMV__HOST_##NAME
#define SPMV__HOST_ROW_0(NAME) { SPMV__NONE, SPMV__NONE }

static const spmv__products spmv__host[SPMV_FORMAT_COUNT] = {
#define X(NAME, name, text) SPMV__CAT(SPMV__HOST_ROW_, SPMV__BUILT_##NAME)(NAME),
    SPMV_FORMAT_LIST(X)
#undef X
};

/* ---- products of a part ------------------------------------------------------------------------------------------- */

/* Multiplies n elements of y by beta: the rows of a part, or the first n if list_of is NULL. */
static void spmv__scale_rows(spmv_type t, const spmv_part *list_of, uint64_t n, double beta, void *y)
{
    static void (*const scale[])(const spmv_part *, uint64_t, double, void *) = SPMV__PRODUCTS(scale);
    SPMV_ASSERT((unsigned)t < SPMV_TYPE_COUNT && scale[t]);
    scale[t](list_of, n, beta, y);
}

SPMV_API spmv_status spmv_scale(spmv_type t, uint64_t n, double beta, void *y)
{
    if (n && !y) return spmv__null(NULL, "spmv_scale", "y", NULL, 0);
    spmv__scale_rows(t, NULL, n, beta, y);
    return SPMV_OK;
}

/* Without anything to add, y is only scaled. */
SPMV_API spmv_status spmv_part_mul(const spmv_part *p, double alpha, const void *x, double beta, void *y)
{
    const spmv__products *host;
    unsigned flags;
    const char *missing = p ? spmv__vector_missing(p->rows, p->cols, alpha, x, y) : "p";
    if (missing) return spmv__null(p ? &p->hooks : NULL, "spmv_part_mul", missing, NULL, 0);
    host = &spmv__host[p->spec.format];
    flags = spmv_format_flags(p->spec.format);
    SPMV_ASSERT(!(flags & SPMV_ADDS_ONLY) || beta == 1.0);
    if (!p->rows) return SPMV_OK;
    if (alpha != 0.0 && p->nnz) (p->reproducible && host->repeat[p->type] ? host->repeat : host->mul)[p->type](p, alpha, x, beta, y);
    else if (!(flags & SPMV_ADDS_ONLY)) spmv__scale_rows(p->type, p, p->rows, beta, y);
    return SPMV_OK;
}

SPMV_API int spmv_part_repeats(const spmv_part *p)
{
    return p && p->reproducible && spmv__host[p->spec.format].repeat[p->type] != NULL;
}
#endif /* SPMV_IMPLEMENTATION */

/* From here to the end of the file is the template, expanded once for each type (see "products on the host"). The sum of a row is
 * formed in one fixed order: that of its entries, or, where many of them are adjacent, in four interleaved partial sums, which hides
 * the latency of addition. */
#ifdef SPMV__TEMPLATE
/* TEMPLATE BEGIN */

/* The arguments of a product in the types of this expansion. */
#define SPMV__ENTER                                                                          \
    const SPMV__T alpha = (SPMV__T)alpha_in, beta = (SPMV__T)beta_in;                        \
    const SPMV__T *SPMV__RESTRICT x = (const SPMV__T *)x_in;                                 \
    SPMV__T *SPMV__RESTRICT y = (SPMV__T *)y_in;                                             \
    const SPMV__V *SPMV__RESTRICT val = (const SPMV__V *)p->a[SPMV_VAL].data

/* y = beta y for n rows of part p, or for the first n elements if p is NULL. */
static void SPMV__F(scale)(const spmv_part *p, uint64_t n, double beta_in, void *y_in)
{
    SPMV__T *y = (SPMV__T *)y_in;
    const SPMV__T beta = (SPMV__T)beta_in;
    uint64_t i;
    if (beta_in == 1.0) return;
    for (i = 0; i < n; i++) {
        uint64_t r = p ? spmv__part_row(p, i) : i;
        y[r] = beta == 0 ? 0 : beta * y[r];
    }
}

/* Writes the element of y for row i of the part; with beta 0, the old value is not read. */
SPMV__SHARED void SPMV__F(set)(const spmv_part *p, uint64_t i, SPMV__T alpha, SPMV__T sum, SPMV__T beta, SPMV__T *y)
{
    uint64_t r = spmv__part_row(p, i);
    y[r] = beta == 0 ? alpha * sum : alpha * sum + beta * y[r];
}

/* Two functions for columns of a type C, which are relative to x:
 *   dot    the sum of n values, each times the element of x at its column
 *   slab   adds up to SPMV__TILE rows of a column-major slab of width columns to their sums; stride is the distance between columns */
#define SPMV__COLUMNS(C, PAD, dot, slab)                                                                                     \
    static inline SPMV__T SPMV__F(dot)(const SPMV__V *SPMV__RESTRICT val, const C *SPMV__RESTRICT col, uint64_t n,           \
                                       const SPMV__T *SPMV__RESTRICT x)                                                      \
    {                                                                                                                        \
        SPMV__T s0 = 0, s1 = 0, s2 = 0, s3 = 0;                                                                              \
        if (n < SPMV__SHORT) {                                                                                               \
            for (; n > 0; n--, val++, col++) s0 += *val * x[*col];                                                           \
            return s0;                                                                                                       \
        }                                                                                                                    \
        for (; n >= 4; n -= 4, val += 4, col += 4) {                                                                         \
            s0 += val[0] * x[col[0]];                                                                                        \
            s1 += val[1] * x[col[1]];                                                                                        \
            s2 += val[2] * x[col[2]];                                                                                        \
            s3 += val[3] * x[col[3]];                                                                                        \
        }                                                                                                                    \
        if (n > 0) s0 += val[0] * x[col[0]];                                                                                 \
        if (n > 1) s1 += val[1] * x[col[1]];                                                                                 \
        if (n > 2) s2 += val[2] * x[col[2]];                                                                                 \
        return (s0 + s1) + (s2 + s3);                                                                                        \
    }                                                                                                                        \
    static inline void SPMV__F(slab)(const SPMV__V *SPMV__RESTRICT val, const C *SPMV__RESTRICT col, uint64_t stride,        \
                                     uint64_t width, uint64_t rows, const SPMV__T *SPMV__RESTRICT x,                         \
                                     SPMV__T *SPMV__RESTRICT sum)                                                            \
    {                                                                                                                        \
        uint64_t k, i, at = 0;                                                                                               \
        for (k = 0; k < width; k++, at += stride)                                                                            \
            for (i = 0; i < rows; i++)                                                                                       \
                if (col[at + i] != PAD) sum[i] += val[at + i] * x[col[at + i]];                                              \
    }
SPMV__COLUMNS(uint32_t, SPMV_PAD, dot, slab)
SPMV__COLUMNS(uint16_t, SPMV_PAD16, dot16, slab16)
#undef SPMV__COLUMNS

#ifndef SPMV_NO_DENSE
#define SPMV__HOST_DENSE { SPMV__PRODUCTS(dense), SPMV__NONE }
/* The dot product of a dense row with x. */
static SPMV__T SPMV__F(dense_dot)(const SPMV__V *SPMV__RESTRICT val, uint64_t n, const SPMV__T *SPMV__RESTRICT x)
{
    SPMV__T s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    uint64_t k = 0;
    for (; k + 4 <= n; k += 4) {
        s0 += val[k] * x[k];
        s1 += val[k + 1] * x[k + 1];
        s2 += val[k + 2] * x[k + 2];
        s3 += val[k + 3] * x[k + 3];
    }
    for (; k < n; k++) s0 += val[k] * x[k];
    return (s0 + s1) + (s2 + s3);
}

static void SPMV__F(dense)(const spmv_part *p, double alpha_in, const void *x_in, double beta_in, void *y_in)
{
    SPMV__ENTER;
    int64_t i, rows = (int64_t)p->rows;
    SPMV__PARALLEL(p->a[SPMV_VAL].count)
    for (i = 0; i < rows; i++)
        SPMV__F(set)(p, (uint64_t)i, alpha, SPMV__F(dense_dot)(val + (uint64_t)i * p->cols, p->cols, x), beta, y);
}
#endif

#ifndef SPMV_NO_COO
#define SPMV__HOST_COO { SPMV__PRODUCTS(coo), SPMV__NONE }
/* The entries are shared out in stretches of 16384; the stretch in which a row begins sums the whole row. */
static void SPMV__F(coo)(const spmv_part *p, double alpha_in, const void *x_in, double beta_in, void *y_in)
{
    SPMV__ENTER;
    const uint32_t *row = (const uint32_t *)p->a[SPMV_COO_ROW].data, *col = (const uint32_t *)p->a[SPMV_COO_COL].data;
    const uint64_t stretch = 16384, n = p->nnz;
    int64_t t, stretches = (int64_t)spmv__ceil_div(n, stretch);
    (void)beta;
    SPMV__PARALLEL(n)
    for (t = 0; t < stretches; t++) {
        uint64_t k = (uint64_t)t * stretch, end = n - k < stretch ? n : k + stretch;
        while (k && k < end && row[k] == row[k - 1]) k++;
        while (k < end) {
            uint64_t first = k;
            while (k < n && row[k] == row[first]) k++;
            y[row[first]] += alpha * SPMV__F(dot)(val + first, col + first, k - first, x);
        }
    }
}
#endif

#ifndef SPMV_NO_CSR
#define SPMV__HOST_CSR { SPMV__PRODUCTS(csr), SPMV__REPEAT(csr) }
/* Rows i .. end - 1. The most common case, with 32-bit pointers, all rows and beta 0, has a loop of its own, which takes half the time
 * for short rows. */
static void SPMV__F(csr_rows)(const spmv_part *p, uint64_t i, uint64_t end, SPMV__T alpha, const SPMV__T *SPMV__RESTRICT x,
                              SPMV__T beta, SPMV__T *SPMV__RESTRICT y)
{
    const SPMV__V *SPMV__RESTRICT val = (const SPMV__V *)p->a[SPMV_VAL].data;
    const uint32_t *SPMV__RESTRICT col = (const uint32_t *)p->a[SPMV_CSR_COL].data;
    const uint32_t *SPMV__RESTRICT ptr = (const uint32_t *)p->a[SPMV_CSR_PTR].data;
    uint64_t first, next;
    if (p->a[SPMV_CSR_PTR].width == 4 && !p->list.count && beta == 0) {
        uint32_t at = ptr[i], stop;
        for (; i < end; i++, at = stop) {
            stop = ptr[i + 1];
            y[i] = alpha * SPMV__F(dot)(val + at, col + at, stop - at, x);
        }
        return;
    }
    first = spmv__at(&p->a[SPMV_CSR_PTR], i);
    for (; i < end; i++, first = next) {
        next = spmv__at(&p->a[SPMV_CSR_PTR], i + 1);
        SPMV__F(set)(p, i, alpha, SPMV__F(dot)(val + first, col + first, next - first, x), beta, y);
    }
}

/* One run with 16-bit columns. A piece of a long row, unless it is the first, adds to y what the pieces before it have left there. */
static void SPMV__F(csr_run)(const spmv_part *p, uint64_t run, SPMV__T alpha, const SPMV__T *x, SPMV__T beta, SPMV__T *y)
{
    const SPMV__V *val = (const SPMV__V *)p->a[SPMV_VAL].data;
    const uint16_t *col = (const uint16_t *)p->a[SPMV_CSR_COL].data;
    const uint32_t *row = (const uint32_t *)p->a[SPMV_CSR_RUN_ROW].data;
    uint64_t i = row[run], at = spmv__at(&p->a[SPMV_CSR_RUN_AT], run), stop = spmv__at(&p->a[SPMV_CSR_RUN_AT], run + 1), next;
    x += ((const uint32_t *)p->a[SPMV_CSR_BASE].data)[run];
    if (row[run + 1] == i || at > spmv__at(&p->a[SPMV_CSR_PTR], i)) {
        SPMV__T sum = SPMV__F(dot16)(val + at, col + at, stop - at, x);
        SPMV__F(set)(p, i, alpha, sum, at > spmv__at(&p->a[SPMV_CSR_PTR], i) ? 1 : beta, y);
        return;
    }
    for (; i < row[run + 1]; i++, at = next) {
        next = spmv__at(&p->a[SPMV_CSR_PTR], i + 1);
        SPMV__F(set)(p, i, alpha, SPMV__F(dot16)(val + at, col + at, next - at, x), beta, y);
    }
}

/* A thread takes a stretch of runs at a time. All pieces of a long row belong to the stretch of its first piece. */
static void SPMV__F(csr_narrow)(const spmv_part *p, SPMV__T alpha, const SPMV__T *x, SPMV__T beta, SPMV__T *y)
{
    const uint64_t stretch = 16;
    const uint32_t *row = (const uint32_t *)p->a[SPMV_CSR_RUN_ROW].data;
    const spmv_array *ptr = &p->a[SPMV_CSR_PTR], *run_at = &p->a[SPMV_CSR_RUN_AT];
    const uint64_t runs = p->n[SPMV_CSR_RUNS];
    int64_t t, stretches = (int64_t)spmv__ceil_div(runs, stretch);
    SPMV__PARALLEL(p->nnz)
    for (t = 0; t < stretches; t++) {
        uint64_t run = (uint64_t)t * stretch, end = runs - run < stretch ? runs : run + stretch;
        while (run && run < end && spmv__at(run_at, run) > spmv__at(ptr, row[run])) run++;
        if (run == end) continue;
        for (; run < end || (run < runs && spmv__at(run_at, run) > spmv__at(ptr, row[run])); run++)
            SPMV__F(csr_run)(p, run, alpha, x, beta, y);
    }
}

/* The runs of a part are used only if its columns have 16 bits; their bases are by run. */
static void SPMV__F(csr)(const spmv_part *p, double alpha_in, const void *x_in, double beta_in, void *y_in)
{
    SPMV__ENTER;
    const uint64_t run = spmv__csr_share(p);
    int64_t t, runs = (int64_t)spmv__ceil_div(p->rows, run);
    (void)val;
    if (p->a[SPMV_CSR_BASE].count) {
        SPMV__F(csr_narrow)(p, alpha, x, beta, y);
        return;
    }
    SPMV__PARALLEL(p->nnz)
    for (t = 0; t < runs; t++) {
        uint64_t i = (uint64_t)t * run;
        SPMV__F(csr_rows)(p, i, p->rows - i < run ? p->rows : i + run, alpha, x, beta, y);
    }
}
#endif

#ifdef SPMV__ANY_DIA
/* Adds rows first .. end - 1 of stored diagonal d to their sums. */
static void SPMV__F(diagonal)(const spmv_part *p, uint64_t d, int64_t offset, int64_t first, int64_t end,
                              const SPMV__T *SPMV__RESTRICT x, SPMV__T *SPMV__RESTRICT sum)
{
    const SPMV__V *val = (const SPMV__V *)p->a[SPMV_VAL].data + d * spmv__dia_ld(p);
    int64_t r = offset < -first ? -offset : first, stop = (int64_t)p->cols - offset < end ? (int64_t)p->cols - offset : end;
    for (; r < stop; r++) sum[r - first] += val[r] * x[r + offset];
}

/* The product of dia and bdia (banded). The flag is a constant, and band_ptr is loaded where it is used: in an argument it made bdia a
 * quarter slower (gcc -O2). */
static void SPMV__F(diagonals)(const spmv_part *p, double alpha_in, const void *x_in, double beta_in, void *y_in, int banded)
{
    SPMV__ENTER;
    const int32_t *offset = spmv__dia_offsets(p);
    int64_t t, tiles = (int64_t)spmv__ceil_div(p->rows, SPMV__TILE);
    (void)val;
    SPMV__PARALLEL(p->a[SPMV_VAL].count)
    for (t = 0; t < tiles; t++) {
        SPMV__T sum[SPMV__TILE] = { 0 };
        int64_t first = t * SPMV__TILE, end = (int64_t)p->rows - first < SPMV__TILE ? (int64_t)p->rows : first + SPMV__TILE, i;
        uint64_t b;
        for (b = 0; b < spmv__dia_offset_count(p); b++) {
            uint64_t d = banded ? ((const uint32_t *)p->a[SPMV_BDIA_BAND_PTR].data)[b] : b;
            uint64_t last = banded ? ((const uint32_t *)p->a[SPMV_BDIA_BAND_PTR].data)[b + 1] : b + 1;
            int64_t o = offset[b];
            for (; d < last; d++, o++) SPMV__F(diagonal)(p, d, o, first, end, x, sum);
        }
        for (i = first; i < end; i++) SPMV__F(set)(p, (uint64_t)i, alpha, sum[i - first], beta, y);
    }
}
#endif

#ifndef SPMV_NO_DIA
#define SPMV__HOST_DIA { SPMV__PRODUCTS(dia), SPMV__REPEAT(dia) }
static void SPMV__F(dia)(const spmv_part *p, double alpha_in, const void *x_in, double beta_in, void *y_in)
{
    SPMV__F(diagonals)(p, alpha_in, x_in, beta_in, y_in, 0);
}
#endif

#ifndef SPMV_NO_BDIA
#define SPMV__HOST_BDIA { SPMV__PRODUCTS(bdia), SPMV__REPEAT(bdia) }
static void SPMV__F(bdia)(const spmv_part *p, double alpha_in, const void *x_in, double beta_in, void *y_in)
{
    SPMV__F(diagonals)(p, alpha_in, x_in, beta_in, y_in, 1);
}
#endif

#ifndef SPMV_NO_ELL
#define SPMV__HOST_ELL { SPMV__PRODUCTS(ell), SPMV__REPEAT(ell) }
/* Rows are summed tile by tile; with 16-bit columns, in groups of 32 rows, each with its base. */
static void SPMV__F(ell)(const spmv_part *p, double alpha_in, const void *x_in, double beta_in, void *y_in)
{
    SPMV__ENTER;
    const uint32_t *col = (const uint32_t *)p->a[SPMV_ELL_COL].data, *base = (const uint32_t *)p->a[SPMV_ELL_BASE].data;
    const uint16_t *col16 = (const uint16_t *)p->a[SPMV_ELL_COL].data;
    const uint64_t ld = p->n[SPMV_ELL_LD], width = p->n[SPMV_ELL_WIDTH];
    int64_t t, tiles = (int64_t)spmv__ceil_div(p->rows, SPMV__TILE);
    SPMV__PARALLEL(p->a[SPMV_VAL].count)
    for (t = 0; t < tiles; t++) {
        SPMV__T sum[SPMV__TILE] = { 0 };
        uint64_t first = (uint64_t)t * SPMV__TILE, rows = p->rows - first < SPMV__TILE ? p->rows - first : SPMV__TILE, i;
        if (!base) SPMV__F(slab)(val + first, col + first, ld, width, rows, x, sum);
        for (i = 0; base && i < rows; i += 32)
            SPMV__F(slab16)(val + first + i, col16 + first + i, ld, width, rows - i < 32 ? rows - i : 32, x + base[(first + i) / 32],
                            sum + i);
        for (i = 0; i < rows; i++) SPMV__F(set)(p, first + i, alpha, sum[i], beta, y);
    }
}
#endif

#ifndef SPMV_NO_SELL
#define SPMV__HOST_SELL { SPMV__PRODUCTS(sell), SPMV__REPEAT(sell) }
/* The rows of one slice, tile by tile. */
static void SPMV__F(slice)(const spmv_part *p, uint64_t t, SPMV__T alpha, const SPMV__T *x, SPMV__T beta, SPMV__T *y)
{
    uint64_t slot = spmv__at(&p->a[SPMV_SELL_PTR], t), height = spmv__slice_height(p, t), i, j, end = spmv__slice_end(p, t);
    uint64_t width = (spmv__at(&p->a[SPMV_SELL_PTR], t + 1) - slot) / height;
    const SPMV__V *val = (const SPMV__V *)p->a[SPMV_VAL].data + slot;
    const uint32_t *col = (const uint32_t *)p->a[SPMV_SELL_COL].data, *base = (const uint32_t *)p->a[SPMV_SELL_BASE].data;
    const uint16_t *col16 = (const uint16_t *)p->a[SPMV_SELL_COL].data;
    for (i = spmv__slice_first(p, t); i < end; i += SPMV__TILE, slot += SPMV__TILE, val += SPMV__TILE) {
        SPMV__T sum[SPMV__TILE] = { 0 };
        uint64_t rows = end - i < SPMV__TILE ? end - i : SPMV__TILE;
        if (!base) SPMV__F(slab)(val, col + slot, height, width, rows, x, sum);
        else SPMV__F(slab16)(val, col16 + slot, height, width, rows, x + base[t], sum);
        for (j = 0; j < rows; j++) SPMV__F(set)(p, i + j, alpha, sum[j], beta, y);
    }
}

/* A thread takes several slices at a time. */
static void SPMV__F(sell)(const spmv_part *p, double alpha_in, const void *x_in, double beta_in, void *y_in)
{
    SPMV__ENTER;
    const uint64_t run = 8; /* slices that one thread takes at a time */
    int64_t t, runs = (int64_t)spmv__ceil_div(p->n[SPMV_SELL_SLICES], run);
    (void)val;
    SPMV__PARALLEL(p->a[SPMV_VAL].count)
    for (t = 0; t < runs; t++) {
        uint64_t i = (uint64_t)t * run, end = p->n[SPMV_SELL_SLICES] - i < run ? p->n[SPMV_SELL_SLICES] : i + run;
        for (; i < end; i++) SPMV__F(slice)(p, i, alpha, x, beta, y);
    }
}
#endif

#ifdef SPMV__ANY_BLOCK
#define SPMV__HOST_BELL { SPMV__PRODUCTS(block), SPMV__REPEAT(block) }
#define SPMV__HOST_SBELL { SPMV__PRODUCTS(block), SPMV__REPEAT(block) }
#define SPMV__HOST_BCSR { SPMV__PRODUCTS(block), SPMV__REPEAT(block) }
/* Adds one block to the sums of its rows. Each row has uw partial sums, one for each element of a unit, which vectorises and hides
 * latency.
 *   val, step    the first unit of the block, and the distance to the next
 *   x, left      x at the first column of the block, and the elements of x from there on, which can be fewer than bw
 *   sum          partial sums of each row
 *   bh, bw, uw   size of a block and of a unit; constants, so that the loops unroll */
static SPMV__FORCE_INLINE void SPMV__F(block_add)(const SPMV__V *SPMV__RESTRICT val, uint64_t step, const SPMV__T *SPMV__RESTRICT x,
                                                  uint64_t left, SPMV__T sum[8][4], int bh, int bw, int uw)
{
    int i, u, j;
    if (left >= (uint64_t)bw) {
        SPMV__UNROLL for (i = 0; i < bh; i++) {
            SPMV__UNROLL for (u = 0; u < bw; u += uw, val += step) {
                SPMV__UNROLL for (j = 0; j < uw; j++) sum[i][j] += val[j] * x[u + j];
            }
        }
    } else {
        for (i = 0; i < bh; i++)
            for (u = 0; u < bw; u += uw, val += step)
                for (j = 0; j < uw && (uint64_t)(u + j) < left; j++) sum[i][j] += val[j] * x[u + j];
    }
}

/* Block rows s .. end - 1, for a block size that is known when compiling. */
static SPMV__FORCE_INLINE void SPMV__F(block_rows)(const spmv_part *p, uint64_t s, uint64_t end, SPMV__T alpha, const SPMV__T *x,
                                               SPMV__T beta, SPMV__T *y, int bh, int bw, int uw)
{
    const spmv_array *col = &p->a[spmv__block_col(p)], *base = col + 1; /* as in spmv__block_base; a register less */
    const uint64_t apart = spmv__block_distance(p); /* in slots of col, and of val */
    const uint64_t val_apart = apart * (uint64_t)uw * (p->spec.format == SPMV_BCSR ? 1 : (uint64_t)(bh * bw / uw));
    for (; s < end; s++) {
        spmv__block b = spmv__block_at(p, s, 0);
        const SPMV__V *val = (const SPMV__V *)p->a[SPMV_VAL].data + b.val;
        SPMV__T sum[8][4] = { { 0 } };
        uint64_t n = spmv__block_count(p, s), slot = b.col, group = spmv__block_group(p, s), k;
        int i;
        for (k = 0; k < n; k++, slot += apart, val += val_apart) {
            uint32_t c = spmv__column_at(col, base, slot, group, (uint64_t)bw);
            if (c == SPMV_PAD) break; /* the rest of the block row is padding */
            SPMV__F(block_add)(val, b.step, x + c, p->cols - c, sum, bh, bw, uw);
        }
        for (i = 0; i < bh && s * (uint64_t)bh + (uint64_t)i < p->rows; i++)
            SPMV__F(set)(p, s * (uint64_t)bh + (uint64_t)i, alpha, (sum[i][0] + sum[i][1]) + (sum[i][2] + sum[i][3]), beta, y);
    }
}

/* Block rows s .. end - 1, for any block size in SPMV_BLOCK_LIST. */
static void SPMV__F(block_row_run)(const spmv_part *p, uint64_t s, uint64_t end, SPMV__T alpha, const SPMV__T *x, SPMV__T beta, SPMV__T *y)
{
    switch (p->n[SPMV_BLOCK_BH] << 8 | p->n[SPMV_BLOCK_BW]) {
#define X(bh, bw, uw) case bh << 8 | bw: SPMV__F(block_rows)(p, s, end, alpha, x, beta, y, bh, bw, uw); break;
        SPMV_BLOCK_LIST(X)
#undef X
    }
}

/* The product of bell, sbell and bcsr; a thread takes several block rows at a time. */
static void SPMV__F(block)(const spmv_part *p, double alpha_in, const void *x_in, double beta_in, void *y_in)
{
    SPMV__ENTER;
    const uint64_t run = 64, block_rows = spmv__block_rows(p);
    int64_t t, runs = (int64_t)spmv__ceil_div(block_rows, run);
    (void)val;
    SPMV__PARALLEL(p->a[SPMV_VAL].count)
    for (t = 0; t < runs; t++) {
        uint64_t s = (uint64_t)t * run;
        SPMV__F(block_row_run)(p, s, block_rows - s < run ? block_rows : s + run, alpha, x, beta, y);
    }
}
#endif

#ifndef SPMV_NO_CMRS
#define SPMV__HOST_CMRS { SPMV__PRODUCTS(cmrs), SPMV__NONE }
/* A thread takes several strips at a time and sums the rows of each together. */
static void SPMV__F(cmrs)(const spmv_part *p, double alpha_in, const void *x_in, double beta_in, void *y_in)
{
    SPMV__ENTER;
    const uint32_t *index = (const uint32_t *)p->a[SPMV_CMRS_INDEX].data;
    const uint8_t *row = (const uint8_t *)p->a[SPMV_CMRS_ROW].data;
    const uint64_t height = p->n[SPMV_CMRS_HEIGHT], strips = spmv__ceil_div(p->rows, height), run = 64;
    int64_t t, runs = (int64_t)spmv__ceil_div(strips, run);
    SPMV__PARALLEL(p->nnz)
    for (t = 0; t < runs; t++) {
        uint64_t s = (uint64_t)t * run, end = strips - s < run ? strips : s + run, k, i;
        for (; s < end; s++) {
            SPMV__T sum[16] = { 0 };
            uint64_t last = spmv__at(&p->a[SPMV_CMRS_PTR], s + 1);
            for (k = spmv__at(&p->a[SPMV_CMRS_PTR], s); k < last;) { /* adjacent entries mostly belong to one row: sum them in a register */
                uint32_t r = p->n[SPMV_CMRS_PACKED] ? index[k] & 15 : row[k];
                SPMV__T part = 0;
                if (p->n[SPMV_CMRS_PACKED]) do part += val[k] * x[index[k] >> 4]; while (++k < last && (index[k] & 15) == r);
                else do part += val[k] * x[index[k]]; while (++k < last && row[k] == r);
                sum[r] += part;
            }
            for (i = 0; i < height && s * height + i < p->rows; i++) SPMV__F(set)(p, s * height + i, alpha, sum[i], beta, y);
        }
    }
}
#endif

#ifndef SPMV_NO_TCSR
#define SPMV__HOST_TCSR { SPMV__PRODUCTS(tcsr), SPMV__NONE }
/* The rows that begin in tile t. A row that is cut goes on in the slots that follow. */
static void SPMV__F(tcsr_tile)(const spmv_part *p, uint64_t t, SPMV__T alpha, const SPMV__T *x, SPMV__T beta, SPMV__T *y)
{
    const SPMV__V *val = (const SPMV__V *)p->a[SPMV_TCSR_VAL].data;
    const uint32_t *col = (const uint32_t *)p->a[SPMV_TCSR_COL].data, *piece = (const uint32_t *)p->a[SPMV_TCSR_PIECE].data;
    uint64_t n = spmv__tcsr_ends(p, t), at = t * p->n[SPMV_TCSR_TILE], last = at + p->n[SPMV_TCSR_TILE], i, end;
    int other = piece[2 * t] != t; /* the row began in another tile */
    uint32_t bits;
    for (i = at / SPMV_TCSR_SLOTS; i < last / SPMV_TCSR_SLOTS; i++)
        for (bits = spmv__tcsr_bits(p, i); bits; bits &= bits - 1, at = end, other = 0, n++) {
            end = i * SPMV_TCSR_SLOTS + spmv__low_bit(bits) + 1;
            if (!other) SPMV__F(set)(p, spmv__tcsr_row(p, n), alpha, SPMV__F(dot)(val + at, col + at, end - at, x), beta, y);
        }
    if (piece[2 * t + 1] == t || other) return;
    for (i = last / SPMV_TCSR_SLOTS; !spmv__tcsr_bits(p, i);) i++;
    end = i * SPMV_TCSR_SLOTS + spmv__low_bit(spmv__tcsr_bits(p, i)) + 1;
    SPMV__F(set)(p, spmv__tcsr_row(p, n), alpha, SPMV__F(dot)(val + at, col + at, end - at, x), beta, y);
}

static void SPMV__F(tcsr)(const spmv_part *p, double alpha_in, const void *x_in, double beta_in, void *y_in)
{
    SPMV__ENTER;
    const uint32_t *empty = (const uint32_t *)p->a[SPMV_TCSR_EMPTY].data;
    int64_t t, tiles = (int64_t)p->n[SPMV_TCSR_TILES], empties = (int64_t)p->n[SPMV_TCSR_EMPTIES];
    (void)val;
    SPMV__PARALLEL(p->a[SPMV_TCSR_VAL].count)
    for (t = 0; t < tiles; t++) SPMV__F(tcsr_tile)(p, (uint64_t)t, alpha, x, beta, y);
    SPMV__PARALLEL_ROWS(empties)
    for (t = 0; t < empties; t++) SPMV__F(set)(p, empty[t], alpha, 0, beta, y);
}
#endif

#ifdef SPMV_REPRODUCIBLE
/* The reproducible products. Each operation is in the order that SPMV_REPEATS describes, as in the kernels under REPEAT. */
static void SPMV__F(repeat_set)(const spmv_part *p, uint64_t i, SPMV__T alpha, SPMV__T sum, SPMV__T beta, SPMV__T *y)
{
    uint64_t r = spmv__part_row(p, i);
    SPMV__T v = alpha * sum;
    y[r] = beta == 0 ? v : SPMV__FMA(beta, y[r], v);
}

/* The sum of n lanes, n being a power of two: the upper half is added to the lower half until one lane is left. */
static SPMV__T SPMV__F(repeat_tree)(SPMV__T *lane, int n)
{
    int d, i;
    for (d = n / 2; d > 0; d /= 2)
        for (i = 0; i < d; i++) lane[i] += lane[i + d];
    return lane[0];
}

#ifndef SPMV_NO_CSR
/* Entry k of a row is added in lane k % SPMV__CSR_LANES. */
static void SPMV__F(repeat_csr)(const spmv_part *p, double alpha_in, const void *x_in, double beta_in, void *y_in)
{
    SPMV__ENTER;
    const uint32_t *col = (const uint32_t *)p->a[SPMV_CSR_COL].data;
    int64_t i, rows = (int64_t)p->rows;
    SPMV__PARALLEL_ROWS(p->nnz)
    for (i = 0; i < rows; i++) {
        SPMV__T lane[SPMV__CSR_LANES] = { 0 };
        uint64_t first = spmv__at(&p->a[SPMV_CSR_PTR], (uint64_t)i), end = spmv__at(&p->a[SPMV_CSR_PTR], (uint64_t)i + 1), k;
        for (k = first; k < end; k++) {
            SPMV__T *sum = &lane[(k - first) % SPMV__CSR_LANES];
            *sum = SPMV__FMA((SPMV__T)val[k], x[col[k]], *sum);
        }
        SPMV__F(repeat_set)(p, (uint64_t)i, alpha, SPMV__F(repeat_tree)(lane, SPMV__CSR_LANES), beta, y);
    }
}
#endif

#ifdef SPMV__ANY_DIA
/* As diagonals above, row by row; band_ptr is NULL for dia. */
static void SPMV__F(repeat_diagonals)(const spmv_part *p, double alpha_in, const void *x_in, double beta_in, void *y_in,
                                      const uint32_t *band_ptr)
{
    SPMV__ENTER;
    const int32_t *offset = spmv__dia_offsets(p);
    int64_t i, rows = (int64_t)p->rows, cols = (int64_t)p->cols;
    SPMV__PARALLEL_ROWS(p->a[SPMV_VAL].count)
    for (i = 0; i < rows; i++) {
        SPMV__T sum = 0;
        uint64_t b;
        for (b = 0; b < spmv__dia_offset_count(p); b++) {
            uint64_t d = band_ptr ? band_ptr[b] : b, last = band_ptr ? band_ptr[b + 1] : b + 1;
            int64_t c = i + offset[b];
            for (; d < last; d++, c++)
                if (c >= 0 && c < cols) sum = SPMV__FMA((SPMV__T)val[d * spmv__dia_ld(p) + (uint64_t)i], x[c], sum);
        }
        SPMV__F(repeat_set)(p, (uint64_t)i, alpha, sum, beta, y);
    }
}
#endif

#ifndef SPMV_NO_DIA
static void SPMV__F(repeat_dia)(const spmv_part *p, double alpha_in, const void *x_in, double beta_in, void *y_in)
{
    SPMV__F(repeat_diagonals)(p, alpha_in, x_in, beta_in, y_in, NULL);
}
#endif

#ifndef SPMV_NO_BDIA
static void SPMV__F(repeat_bdia)(const spmv_part *p, double alpha_in, const void *x_in, double beta_in, void *y_in)
{
    SPMV__F(repeat_diagonals)(p, alpha_in, x_in, beta_in, y_in, (const uint32_t *)p->a[SPMV_BDIA_BAND_PTR].data);
}
#endif

#ifdef SPMV__ANY_ELL
/* The sum of a row of ell or sell with width slots, from slot on, each ld after the one before it; group says which base. */
static SPMV__T SPMV__F(repeat_slots)(const spmv_part *p, const spmv_array *col, const spmv_array *base, uint64_t group, uint64_t slot,
                                     uint64_t ld, uint64_t width, const SPMV__T *x)
{
    const SPMV__V *val = (const SPMV__V *)p->a[SPMV_VAL].data;
    SPMV__T sum = 0;
    for (; width; width--, slot += ld) {
        uint32_t c = spmv__column_at(col, base, slot, group, 1);
        if (c != SPMV_PAD) sum = SPMV__FMA((SPMV__T)val[slot], x[c], sum);
    }
    return sum;
}
#endif

#ifndef SPMV_NO_ELL
/* Entry after entry, row by row. */
static void SPMV__F(repeat_ell)(const spmv_part *p, double alpha_in, const void *x_in, double beta_in, void *y_in)
{
    SPMV__ENTER;
    const spmv_array *col = &p->a[SPMV_ELL_COL], *base = &p->a[SPMV_ELL_BASE];
    int64_t i, rows = (int64_t)p->rows;
    (void)val;
    SPMV__PARALLEL_ROWS(p->a[SPMV_VAL].count)
    for (i = 0; i < rows; i++) {
        uint64_t r = (uint64_t)i;
        SPMV__T sum = SPMV__F(repeat_slots)(p, col, base, r / 32, r, p->n[SPMV_ELL_LD], p->n[SPMV_ELL_WIDTH], x);
        SPMV__F(repeat_set)(p, r, alpha, sum, beta, y);
    }
}
#endif

#ifndef SPMV_NO_SELL
/* Entry after entry, slice by slice. */
static void SPMV__F(repeat_sell)(const spmv_part *p, double alpha_in, const void *x_in, double beta_in, void *y_in)
{
    SPMV__ENTER;
    int64_t t, slices = (int64_t)p->n[SPMV_SELL_SLICES];
    (void)val;
    SPMV__PARALLEL_ROWS(p->a[SPMV_VAL].count)
    for (t = 0; t < slices; t++) {
        uint64_t s = (uint64_t)t, slot = spmv__at(&p->a[SPMV_SELL_PTR], s), height = spmv__slice_height(p, s), i;
        uint64_t first = spmv__slice_first(p, s), width = (spmv__at(&p->a[SPMV_SELL_PTR], s + 1) - slot) / height;
        for (i = first; i < spmv__slice_end(p, s); i++) {
            SPMV__T sum = SPMV__F(repeat_slots)(p, &p->a[SPMV_SELL_COL], &p->a[SPMV_SELL_BASE], s, slot + i - first, height, width, x);
            SPMV__F(repeat_set)(p, i, alpha, sum, beta, y);
        }
    }
}
#endif

#ifdef SPMV__ANY_BLOCK
/* The sum of row i of a block row. Where a block reaches beyond the matrix, x counts as 0, as in the kernels. */
static SPMV__T SPMV__F(repeat_block_row)(const spmv_part *p, uint64_t block_row, uint64_t i, const SPMV__T *x)
{
    const SPMV__V *val = (const SPMV__V *)p->a[SPMV_VAL].data;
    uint64_t bw = p->n[SPMV_BLOCK_BW], uw = p->n[SPMV_BLOCK_UW], k, j;
    int lanes = p->spec.format == SPMV_BCSR ? SPMV__BCSR_LANES : 1;
    SPMV__T lane[SPMV__BCSR_LANES] = { 0 };
    for (k = 0; k < spmv__block_count(p, block_row); k++) {
        spmv__block b = spmv__block_at(p, block_row, k);
        SPMV__T *sum = &lane[k % (uint64_t)lanes];
        uint64_t c = spmv__block_column(p, block_row, b.col);
        if (c == SPMV_PAD) continue;
        for (j = 0; j < bw; j++)
            *sum = SPMV__FMA((SPMV__T)val[b.val + (i * bw + j) / uw * b.step + j % uw], c + j < p->cols ? x[c + j] : 0, *sum);
    }
    return SPMV__F(repeat_tree)(lane, lanes);
}

/* Row by row, whichever block row it belongs to. */
static void SPMV__F(repeat_block)(const spmv_part *p, double alpha_in, const void *x_in, double beta_in, void *y_in)
{
    SPMV__ENTER;
    const uint64_t bh = p->n[SPMV_BLOCK_BH];
    int64_t i, rows = (int64_t)p->rows;
    (void)val;
    SPMV__PARALLEL_ROWS(p->a[SPMV_VAL].count)
    for (i = 0; i < rows; i++) {
        uint64_t r = (uint64_t)i;
        SPMV__F(repeat_set)(p, r, alpha, SPMV__F(repeat_block_row)(p, r / bh, r % bh, x), beta, y);
    }
}
#endif
#endif /* SPMV_REPRODUCIBLE */

#undef SPMV__ENTER
/* TEMPLATE END */
#endif
