/* SPDX-License-Identifier: MIT
 *
 * spmv/format/cmrs.h - cmrs: strips of rows (Koza et al. 2013, 3 and 4).
 */
#ifndef SPMV__FORMAT_CMRS_H
#define SPMV__FORMAT_CMRS_H

#include "rows.h"

/* ---- cmrs (Koza et al. 2013, 3 and 4) ---------------------------------------------------------------------------- */
#if !(SPMV__ONLY & SPMV_BIT_CMRS)
#define SPMV__NO_CMRS
#define SPMV__BUILT_CMRS 0
#else
#define SPMV__BUILT_CMRS 1
#endif

static const spmv__traits spmv__cmrs_traits = {
    SPMV__LISTS | SPMV__KEY(H) | SPMV__KEY(SORT) | SPMV__KEY(WIDE), /* keys */
    SPMV_CAN_LIST | SPMV_LONG_ROWS,                                 /* flags */
    SPMV_CLASS_FLAT,                                                /* class */
    1,                                                              /* indices */
    0,                                                              /* even */
    SPMV__PADS_NONE, SPMV__LANES_BY_LENGTH                          /* pads, lanes */
};

static const char *const spmv__cmrs_layouts[] = {
    "cmrs",
    "cmrs:h=2",
    "cmrs:h=8",
    "cmrs:h=16"
};

#ifndef SPMV__NO_CMRS
/* Column and row are packed into 32 bits if 28 of them hold any column, unless the key wide forbids it. */
static spmv_status spmv__cmrs_size(spmv_part *p, spmv__source *source)
{
    uint64_t strips, i, most = 0;
    void *block;
    spmv_status status;
    p->n[SPMV_CMRS_HEIGHT] = spmv__height(&p->spec);
    p->n[SPMV_CMRS_PACKED] = p->cols <= (1u << 28) && !p->spec.key[SPMV_KEY_WIDE];
    strips = spmv__ceil_div(p->rows, p->n[SPMV_CMRS_HEIGHT]);
    for (i = 0; i < strips; i++) {
        uint64_t end = (i + 1) * p->n[SPMV_CMRS_HEIGHT] < p->rows ? (i + 1) * p->n[SPMV_CMRS_HEIGHT] : p->rows;
        if (source->ptr[end] - source->ptr[i * p->n[SPMV_CMRS_HEIGHT]] > most)
            most = source->ptr[end] - source->ptr[i * p->n[SPMV_CMRS_HEIGHT]];
    }
    spmv__want(&p->a[SPMV_VAL], p->nnz, p->a[SPMV_VAL].width);
    spmv__want_offsets(&p->a[SPMV_CMRS_PTR], strips + 1, p->nnz);
    spmv__want(&p->a[SPMV_CMRS_INDEX], p->nnz, 4);
    spmv__want(&p->a[SPMV_CMRS_ROW], p->n[SPMV_CMRS_PACKED] ? 0 : p->nnz, 1);
    source->grain = p->n[SPMV_CMRS_HEIGHT];
    if (!p->spec.key[SPMV_KEY_SORT]) return SPMV_OK;
    source->strip = most;
    source->threads = (uint8_t)spmv__share_threads(spmv__source_shares(source), SPMV__MOST_SHARES);
    while (source->threads > 1 && source->threads * most * sizeof *source->seen > p->nnz)
        source->threads--; /* a twelfth of the CSR form, or one */
    status = spmv__room(source->hooks, &block, source->threads, most * sizeof *source->seen);
    source->seen = (spmv__pair *)block;
    return status;
}

static spmv_status spmv__cmrs_estimate(const spmv_spec *spec, const spmv__analysis *analysis, const spmv_features *features,
                                       spmv__load *out)
{
    (void)spec;
    (void)analysis;
    return spmv__estimate_entries(features, out);
}

static void spmv__cmrs_lay(spmv_part *p, spmv__source *source)
{
    uint64_t height = p->n[SPMV_CMRS_HEIGHT], t;
    for (t = 0; t < p->a[SPMV_CMRS_PTR].count; t++) spmv__set(&p->a[SPMV_CMRS_PTR], t, source->ptr[spmv__smaller(t * height, p->rows)]);
}

/* Writes the entry in a slot: a nonzero's column and its row within the strip. */
SPMV__SHARED void spmv__cmrs_entry(spmv_part *p, uint64_t slot, uint64_t column, uint64_t row)
{
    ((uint32_t *)p->a[SPMV_CMRS_INDEX].data)[slot] = (uint32_t)(p->n[SPMV_CMRS_PACKED] ? column << 4 | row : column);
    if (!p->n[SPMV_CMRS_PACKED]) ((uint8_t *)p->a[SPMV_CMRS_ROW].data)[slot] = (uint8_t)row;
}

/* Fills rows first .. stop - 1 of one strip by rising column: the entries are collected as column * 16 + row, the key to sort them by. */
static void spmv__cmrs_fill_sorted(spmv_part *p, const spmv__source *source, spmv__sink *to, uint64_t first, uint64_t stop)
{
    spmv__pair *seen = source->seen + (uint64_t)to->thread * source->strip;
    uint64_t i, k, n = 0, slot = source->ptr[first];
    for (i = first; i < stop; i++) {
        uint64_t r = spmv__source_row(source, i);
        for (k = source->view->a->ptr[r]; k < source->view->a->ptr[r + 1]; k++)
            if (spmv__mine(source->view, k)) {
                seen[n].key = (uint64_t)source->view->a->col[k] << 4 | (i - first);
                seen[n++].load = k;
            }
    }
    spmv__sort(seen, n);
    for (i = 0; i < n; i++, slot++) {
        spmv__cmrs_entry(p, slot, seen[i].key >> 4, seen[i].key & 15);
        spmv__put(to, slot, seen[i].load);
    }
}

/* Fills the strips of rows first .. stop - 1. */
static void spmv__cmrs_fill(spmv_part *p, const spmv__source *source, spmv__sink *to, uint64_t first, uint64_t stop)
{
    const uint64_t height = p->n[SPMV_CMRS_HEIGHT];
    uint64_t i, k, slot = source->ptr[first];
    if (p->spec.key[SPMV_KEY_SORT]) {
        for (i = first; i < stop; i += height) spmv__cmrs_fill_sorted(p, source, to, i, spmv__smaller(i + height, stop));
        return;
    }
    for (i = first; i < stop; i++) {
        const uint64_t r = spmv__source_row(source, i), row = i % height, begin = source->view->a->ptr[r];
        const uint64_t end = source->view->a->ptr[r + 1];
        if (!source->view->owner) {
            for (k = begin; k < end; k++) spmv__cmrs_entry(p, slot + k - begin, source->view->a->col[k], row);
            spmv__put_all(to, slot, begin, end - begin);
            slot += end - begin;
            continue;
        }
        for (k = begin; k < end; k++)
            if (spmv__mine(source->view, k)) {
                spmv__cmrs_entry(p, slot, source->view->a->col[k], row);
                spmv__put(to, slot++, k);
            }
    }
}

static void spmv__cmrs_each(const spmv_part *p, spmv__visit visit, void *user)
{
    const uint32_t *index = (const uint32_t *)p->a[SPMV_CMRS_INDEX].data;
    const uint8_t *row = (const uint8_t *)p->a[SPMV_CMRS_ROW].data;
    const uint64_t height = p->n[SPMV_CMRS_HEIGHT], packed = p->n[SPMV_CMRS_PACKED];
    uint64_t t, k;
    for (t = 0; t < spmv__ceil_div(p->rows, height); t++)
        for (k = spmv__at(&p->a[SPMV_CMRS_PTR], t); k < spmv__at(&p->a[SPMV_CMRS_PTR], t + 1); k++)
            visit(user, t * height + (packed ? index[k] & 15 : row[k]), packed ? index[k] >> 4 : index[k], k);
}

SPMV__SHARED int spmv__cmrs_sound(const spmv_part *p)
{
    const spmv_array *ptr = &p->a[SPMV_CMRS_PTR];
    const uint32_t *index = (const uint32_t *)p->a[SPMV_CMRS_INDEX].data;
    const uint8_t *row = (const uint8_t *)p->a[SPMV_CMRS_ROW].data;
    const uint64_t height = spmv__height(&p->spec), packed = p->cols <= (1u << 28) && !p->spec.key[SPMV_KEY_WIDE];
    const uint64_t strips = spmv__ceil_div(p->rows, height);
    uint64_t t, k;
    if (p->n[SPMV_CMRS_HEIGHT] != height || p->n[SPMV_CMRS_PACKED] != packed || p->a[SPMV_VAL].count != p->nnz ||
        !spmv__offsets_sound(ptr, strips + 1, p->nnz) || !spmv__sized(&p->a[SPMV_CMRS_INDEX], p->nnz, 4) ||
        !spmv__sized(&p->a[SPMV_CMRS_ROW], packed ? 0 : p->nnz, 1))
        return 0;
    for (t = 0; t < strips; t++) {
        const uint64_t rows = spmv__smaller(height, p->rows - t * height);
        for (k = spmv__at(ptr, t); k < spmv__at(ptr, t + 1); k++)
            if ((packed ? index[k] & 15 : row[k]) >= rows || (packed ? index[k] >> 4 : index[k]) >= p->cols) return 0;
    }
    return 1;
}
#endif

/* Entry r of an array of 32-bit or 64-bit pointers. */
static uint64_t spmv__ptr_get(const void *ptr, int bits, uint64_t r)
{
    return bits == 64 ? ((const uint64_t *)ptr)[r] : ((const uint32_t *)ptr)[r];
}

static void spmv__ptr_set(void *ptr, int bits, uint64_t r, uint64_t v)
{
    if (bits == 64) ((uint64_t *)ptr)[r] = v;
    else ((uint32_t *)ptr)[r] = (uint32_t)v;
}

/* 1 if the height of a strip and the size of a pointer are possible. */
static int spmv__cmrs_height_ok(int h, int bits)
{
    return (h == 1 || h == 2 || h == 4 || h == 8 || h == 16) && (bits == 32 || bits == 64);
}

/* 1 if pointers 0 to n begin with 0 and never fall. */
static int spmv__ptr_rises(const void *ptr, int bits, uint64_t n)
{
    uint64_t r;
    if (spmv__ptr_get(ptr, bits, 0)) return 0;
    for (r = 0; r < n; r++)
        if (spmv__ptr_get(ptr, bits, r) > spmv__ptr_get(ptr, bits, r + 1)) return 0;
    return 1;
}

/* Packs the columns first, while the row pointers are still there, then overwrites these with strip pointers. */
SPMV_API spmv_status spmv_csr_to_cmrs(uint64_t rows, int height, void *ptr, int ptr_bits, uint32_t *col)
{
    uint64_t h = (uint64_t)height, r, k, strips;
    if (!spmv__cmrs_height_ok(height, ptr_bits)) return SPMV_ERR_ARGUMENT;
    if (rows && (!ptr || (!col && spmv__ptr_get(ptr, ptr_bits, rows))))
        return spmv__null(NULL, "spmv_csr_to_cmrs", ptr ? "col" : "ptr", NULL, 0);
    if (rows && !spmv__ptr_rises(ptr, ptr_bits, rows)) return SPMV_ERR_INDEX;
    for (k = 0; rows && k < spmv__ptr_get(ptr, ptr_bits, rows); k++)
        if (col[k] >> 28) return SPMV_ERR_OVERFLOW;
    strips = spmv__ceil_div(rows, h);
    for (r = 0; r < rows; r++)
        for (k = spmv__ptr_get(ptr, ptr_bits, r); k < spmv__ptr_get(ptr, ptr_bits, r + 1); k++)
            col[k] = col[k] << 4 | (uint32_t)(r % h);
    for (r = 1; r <= strips; r++)
        spmv__ptr_set(ptr, ptr_bits, r, spmv__ptr_get(ptr, ptr_bits, r * h < rows ? r * h : rows));
    return SPMV_OK;
}

/* 1 if the rows of each strip follow one another, as spmv_csr_to_cmrs leaves them. */
static int spmv__cmrs_grouped(uint64_t rows, uint64_t h, const void *ptr, int bits, const uint32_t *col)
{
    uint64_t t, k;
    for (t = 0; t < spmv__ceil_div(rows, h); t++) {
        uint64_t n = rows - t * h < h ? rows - t * h : h, last = 0;
        for (k = spmv__ptr_get(ptr, bits, t); k < spmv__ptr_get(ptr, bits, t + 1); k++) {
            if ((col[k] & 15) >= n || (col[k] & 15) < last) return 0;
            last = col[k] & 15;
        }
    }
    return 1;
}

/* Works backwards from the last strip, so that row pointers overwrite only strip pointers that are no longer needed. */
SPMV_API spmv_status spmv_cmrs_to_csr(uint64_t rows, int height, void *ptr, int ptr_bits, uint32_t *col)
{
    uint64_t h = (uint64_t)height, t, i, k, strips;
    if (!spmv__cmrs_height_ok(height, ptr_bits)) return SPMV_ERR_ARGUMENT;
    strips = spmv__ceil_div(rows, h);
    if (rows && (!ptr || (!col && spmv__ptr_get(ptr, ptr_bits, strips))))
        return spmv__null(NULL, "spmv_cmrs_to_csr", ptr ? "col" : "ptr", NULL, 0);
    if (rows && !spmv__ptr_rises(ptr, ptr_bits, strips)) return SPMV_ERR_INDEX;
    if (!spmv__cmrs_grouped(rows, h, ptr, ptr_bits, col)) return SPMV_ERR_ARGUMENT;
    for (t = strips; t--;) {
        uint64_t first = spmv__ptr_get(ptr, ptr_bits, t), end = spmv__ptr_get(ptr, ptr_bits, t + 1), count[17];
        memset(count, 0, sizeof count);
        for (k = first; k < end; k++) {
            count[(col[k] & 15) + 1]++;
            col[k] >>= 4;
        }
        for (i = 0; i < 16; i++) count[i + 1] += count[i];
        for (i = rows - t * h < h ? rows - t * h : h; i; i--) spmv__ptr_set(ptr, ptr_bits, t * h + i, first + count[i]);
    }
    return SPMV_OK;
}

#endif

/* ---- products on the host, for each level and type (products.h) -------------------------------------------------- */
#define SPMV__HOST_CMRS { SPMV__PRODUCTS(cmrs), SPMV__NONE }
#if defined(SPMV__TYPE) && !defined(SPMV__COLUMN_BITS) && !defined(SPMV__REPEATED) && !defined(SPMV__NO_CMRS) /* again */
#ifdef SPMV__SIMPLE
SPMV__FORCE_INLINE uint64_t SPMV__F(cmrs_row)(const SPMV__V *val, const uint32_t *index, const uint8_t *row, int packed, int together,
                                              uint64_t k, uint64_t last, const SPMV__T *x, SPMV__T *sum)
{
    (void)together;
    for (; k < last; k++) sum[packed ? index[k] & 15 : row[k]] += val[k] * x[packed ? index[k] >> 4 : index[k]];
    return k;
}
#else /* in vectors */
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
            const SPMV__O(quad) in = SPMV__O(qset)(x[SPMV__COL(k)], x[SPMV__COL(k + 1)], x[SPMV__COL(k + 2)], x[SPMV__COL(k + 3)]);
            part = SPMV__O(qfma)(SPMV__F(qload)(val + k, 4), in, part);
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
#endif /* again */
