/* SPDX-License-Identifier: MIT
 *
 * spmv/format/coo.h - coo: each nonzero with its row and column.
 */
#ifndef SPMV__FORMAT_COO_H
#define SPMV__FORMAT_COO_H

#include "rows.h"

/* ---- coo --------------------------------------------------------------------------------------------------------- */
#if !(SPMV__ONLY & SPMV_BIT_COO)
#define SPMV__NO_COO
#define SPMV__BUILT_COO 0
#else
#define SPMV__BUILT_COO 1
#endif

static const spmv__traits spmv__coo_traits = {
    0,                                    /* keys */
    SPMV_ADDS_ONLY | SPMV_LONG_ROWS,      /* flags */
    SPMV_CLASS_FLAT,                      /* class */
    2,                                    /* indices */
    SPMV__EVEN,                           /* even */
    SPMV__PADS_NONE, SPMV__LANES_ONE      /* pads, lanes */
};

static const char *const spmv__coo_layouts[] = {
    "coo"
};

#ifndef SPMV__NO_COO
static spmv_status spmv__coo_size(spmv_part *p, spmv__source *source)
{
    spmv__want(&p->a[SPMV_VAL], p->nnz, p->a[SPMV_VAL].width);
    spmv__want(&p->a[SPMV_COO_ROW], p->nnz, 4);
    spmv__want(&p->a[SPMV_COO_COL], p->nnz, 4);
    spmv__csr_lengths(p, source);
    return SPMV_OK;
}

static spmv_status spmv__coo_estimate(const spmv_spec *spec, const spmv__analysis *analysis, const spmv_features *features, spmv__load *out)
{
    (void)spec;
    (void)analysis;
    return spmv__estimate_entries(features, out);
}

#define spmv__coo_lay NULL

/* coo has no row list: the rows of the part are those of the matrix. */
static void spmv__coo_fill(spmv_part *p, const spmv__source *source, spmv__sink *to, uint64_t first, uint64_t end)
{
    uint64_t r, k, slot = source->ptr[first];
    for (r = first; r < end; r++)
        for (k = source->view->a->ptr[r]; k < source->view->a->ptr[r + 1]; k++)
            if (spmv__mine(source->view, k)) {
                ((uint32_t *)p->a[SPMV_COO_ROW].data)[slot] = (uint32_t)r;
                ((uint32_t *)p->a[SPMV_COO_COL].data)[slot] = source->view->a->col[k];
                spmv__put(to, slot++, k);
            }
}

static void spmv__coo_each(const spmv_part *p, spmv__visit visit, void *user)
{
    uint64_t k;
    for (k = 0; k < p->nnz; k++)
        visit(user, ((const uint32_t *)p->a[SPMV_COO_ROW].data)[k], ((const uint32_t *)p->a[SPMV_COO_COL].data)[k], k);
}

SPMV__SHARED int spmv__coo_sound(const spmv_part *p)
{
    const uint32_t *row = (const uint32_t *)p->a[SPMV_COO_ROW].data;
    uint64_t k, begin = 0, longest = 1;
    if (p->a[SPMV_VAL].count != p->nnz || !spmv__numbers_sound(&p->a[SPMV_COO_ROW], p->nnz, p->rows)) return 0;
    for (k = 1; k < p->nnz; k++) {
        if (row[k] < row[k - 1]) return 0;
        if (row[k] != row[k - 1]) begin = k;
        if (k + 1 - begin > longest) longest = k + 1 - begin;
    }
    return longest == p->longest && spmv__numbers_sound(&p->a[SPMV_COO_COL], p->nnz, p->cols);
}
#endif

#endif

/* ---- products on the host, for each level and type (products.h) -------------------------------------------------- */
#define SPMV__HOST_COO { SPMV__PRODUCTS(coo), SPMV__NONE }
#if defined(SPMV__TYPE) && !defined(SPMV__COLUMN_BITS) && !defined(SPMV__REPEATED) && !defined(SPMV__NO_COO) /* again */
#ifdef SPMV__SIMPLE
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
#else /* in vectors */
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
#endif /* again */
