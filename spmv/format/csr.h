/* SPDX-License-Identifier: MIT
 *
 * spmv/format/csr.h - csr: nonzeros row by row.
 */
#ifndef SPMV__FORMAT_CSR_H
#define SPMV__FORMAT_CSR_H

#include "rows.h"

/* ---- csr --------------------------------------------------------------------------------------------------------- */
#if !(SPMV__ONLY & SPMV_BIT_CSR)
#define SPMV__NO_CSR
#define SPMV__BUILT_CSR 0
#else
#define SPMV__BUILT_CSR 1
#endif

static const spmv__traits spmv__csr_traits = {
    SPMV__LISTS | SPMV__KEY(RUN) | SPMV__KEY(IDX), /* keys */
    SPMV_CAN_LIST | SPMV_REPEATS | SPMV_LONG_ROWS, /* flags */
    SPMV_CLASS_FLAT,                               /* class */
    1,                                             /* indices */
    SPMV__KEY(RUN),                                /* even */
    SPMV__PADS_NONE, SPMV__LANES_BY_BATCH,         /* pads, lanes */
    NULL                                           /* suits */
};

static const char *const spmv__csr_layouts[] = {
    "csr",
    "csr:run=1024",
    "csr:run=256",
    "csr:run=4096",
    "csr:run=2048",
    "csr:run=1024,idx=16",
    "csr:run=256,idx=16",
    "csr:run=2048,idx=16",
    "csr:rows=sorted,sigma=256"
};

/* A row with up to this many times the nonzeros of a run is one run: one work-group sums it without a carry. Longer rows are cut into
 * pieces of a run's size, so that no work-group has much more to do than the others. */
#define SPMV__WHOLE 4
#define SPMV__RUN_GROUP 256 /* work-items on a GPU that take a run, by default */

/* The most nonzeros of a run of csr; 0 if the layout has no runs. */
SPMV__SHARED double spmv__longest_run(const spmv_spec *spec)
{
    return spec->format == SPMV_CSR ? (double)(SPMV__WHOLE * spec->key[SPMV_KEY_RUN]) : 0;
}

#ifndef SPMV__NO_CSR
/* Moves *row and *at, the row and the slot where a run begins, to where the next run begins; most is the size of a run. */
static void spmv__run_step(const spmv__source *s, uint64_t rows, uint64_t most, uint64_t *row, uint64_t *at)
{
    uint64_t first = *at, r = *row;
    if (s->ptr[r + 1] - first > (first == s->ptr[r] ? SPMV__WHOLE * most : most)) {
        *at += most;
        return;
    }
    if (first != s->ptr[r]) r++; /* the rest of a row; or a whole row, and more rows as long as they fit */
    else r = spmv__tile_row(s->ptr, r + 1, spmv__smaller(rows, r + most), first + most);
    *row = r;
    *at = s->ptr[r];
}

/* 1 if row r is cut into pieces. */
static int spmv__in_pieces(const spmv__source *s, uint64_t most, uint64_t r)
{
    return s->ptr[r + 1] - s->ptr[r] > SPMV__WHOLE * most;
}

/* Finds the lowest and the highest column of the run that goes from row and slot at to next_row and next_at. *k is the entry at which the
 * first piece of a row leaves off, for the next one. */
static void spmv__run_span(const spmv__source *s, uint64_t row, uint64_t at, uint64_t next_row, uint64_t next_at, uint64_t *k,
                           uint64_t *low, uint64_t *high)
{
    uint64_t count = next_at - at, first;
    if (at == s->ptr[row] && row < next_row) {
        spmv__span(s, row, next_row, low, high);
        return;
    }
    if (at == s->ptr[row]) *k = s->v->a->ptr[spmv__source_row(s, row)];
    *low = UINT64_MAX;
    *high = 0;
    for (first = *k; count; ++*k) count -= (uint64_t)spmv__mine(s->v, *k);
    spmv__span_entries(s->v, first, *k, low, high);
}

/* Walks the part's rows run by run. 1 if the columns of each run fit 16 bits. Writes the bases if their array is allocated. */
static int spmv__run_bases(const spmv_part *p, const spmv__source *s)
{
    uint32_t *base = (uint32_t *)p->a[SPMV_CSR_BASE].data;
    uint64_t row = 0, at = 0, run = 0, k = 0, low, high;
    for (; row < p->rows; run++) {
        uint64_t next_row = row, next_at = at;
        spmv__run_step(s, p->rows, (uint64_t)p->spec.key[SPMV_KEY_RUN], &next_row, &next_at);
        spmv__run_span(s, row, at, next_row, next_at, &k, &low, &high);
        if (!spmv__span_fits(low, high)) return 0;
        if (base) base[run] = low > high ? 0 : (uint32_t)low;
        row = next_row;
        at = next_at;
    }
    return 1;
}

/* With the key run, the runs are counted here and written by spmv__csr_lay. */
static spmv_status spmv__csr_size(spmv_part *p, spmv__source *s)
{
    uint64_t most = (uint64_t)p->spec.key[SPMV_KEY_RUN], row = 0, at = 0, i;
    spmv__want(&p->a[SPMV_VAL], p->nnz, p->a[SPMV_VAL].width);
    spmv__want_offsets(&p->a[SPMV_CSR_PTR], p->rows + 1, p->nnz);
    spmv__want(&p->a[SPMV_CSR_COL], p->nnz, 4);
    spmv__csr_lengths(p, s);
    if (!most) return SPMV_OK;
    for (; row < p->rows; p->n[SPMV_CSR_RUNS]++) spmv__run_step(s, p->rows, most, &row, &at);
    for (i = 0; p->longest > SPMV__WHOLE * most && i < p->rows; i++) p->n[SPMV_CSR_LONGS] += (uint64_t)spmv__in_pieces(s, most, i);
    spmv__want(&p->a[SPMV_CSR_RUN_ROW], p->n[SPMV_CSR_RUNS] + 1, 4);
    spmv__want_offsets(&p->a[SPMV_CSR_RUN_AT], p->n[SPMV_CSR_RUNS] + 1, p->nnz);
    spmv__want(&p->a[SPMV_CSR_LONG_RUN], p->n[SPMV_CSR_LONGS], 4);
    spmv__want_columns(p, &p->a[SPMV_CSR_COL], &p->a[SPMV_CSR_BASE], p->nnz, p->n[SPMV_CSR_RUNS],
                       p->spec.key[SPMV_KEY_IDX] == 16 && spmv__run_bases(p, s));
    if (p->a[SPMV_CSR_BASE].count) s->cuts = &p->a[SPMV_CSR_RUN_ROW]; /* of a run that is cut, the pieces have bases of their own */
    return SPMV_OK;
}

/* Fills the arrays that the key run adds. */
static void spmv__csr_lay(spmv_part *p, spmv__source *s)
{
    uint64_t most = (uint64_t)p->spec.key[SPMV_KEY_RUN], row = 0, at = 0, run, longs = 0;
    spmv__set(&p->a[SPMV_CSR_PTR], 0, 0);
    for (run = 0; run < p->a[SPMV_CSR_RUN_ROW].count; run++) {
        ((uint32_t *)p->a[SPMV_CSR_RUN_ROW].data)[run] = (uint32_t)row;
        spmv__set(&p->a[SPMV_CSR_RUN_AT], run, at);
        if (run == p->n[SPMV_CSR_RUNS]) break;
        if (spmv__in_pieces(s, most, row) && at == s->ptr[row]) ((uint32_t *)p->a[SPMV_CSR_LONG_RUN].data)[longs++] = (uint32_t)run;
        spmv__run_step(s, p->rows, most, &row, &at);
    }
    if (p->a[SPMV_CSR_BASE].count) spmv__run_bases(p, s);
}

/* So many nonzeros has the longest run at least, however short rows share runs: those of the longest row that is not cut, or of a piece. */
static double spmv__csr_least_run(const spmv_spec *spec, const spmv__look *l)
{
    const uint64_t most = (uint64_t)spmv__longest_run(spec), piece = (uint64_t)spec->key[SPMV_KEY_RUN];
    uint64_t k = spmv__smaller(l->longest, most);
    if (l->longest <= most) return (double)k;
    while (k > piece && l->longer[k] == l->longer[k + 1]) k--;
    return (double)k;
}

static spmv_status spmv__csr_estimate(const spmv_spec *spec, const spmv__look *l, const spmv_features *f, spmv__load *out)
{
    double mean = f->mean > 1 ? f->mean : 1, rows = (double)spec->key[SPMV_KEY_RUN] / mean + 1; /* of a run */
    spmv__estimate_entries(f, out);
    if (spec->key[SPMV_KEY_RUN]) out->longest = spmv__csr_least_run(spec, l);
    return spmv__estimate_columns(spec, l, (uint64_t)rows);
}

/* Fills the columns of rows first .. end - 1 as 16 bits from the bases of their runs. A share begins with a run. */
SPMV__APART void spmv__csr_narrow(spmv_part *p, const spmv__source *s, uint64_t first, uint64_t end)
{
    const spmv_array *at = &p->a[SPMV_CSR_RUN_AT], *row = &p->a[SPMV_CSR_RUN_ROW];
    const uint32_t *base = (const uint32_t *)p->a[SPMV_CSR_BASE].data;
    uint16_t *narrow = (uint16_t *)p->a[SPMV_CSR_COL].data;
    uint64_t i, k, slot = s->ptr[first], run = spmv__below(row, first), next;
    next = spmv__at(at, run + 1);
    if (!s->v->owner && !s->v->list) { /* the slots are the matrix's nonzeros */
        const uint64_t stop = s->ptr[end];
        while (slot < stop) {
            uint64_t to;
            while (slot >= next) next = spmv__at(at, ++run + 1);
            for (to = spmv__smaller(next, stop); slot < to; slot++) narrow[slot] = (uint16_t)(s->v->a->col[slot] - base[run]);
        }
        return;
    }
    for (i = first; i < end; i++) {
        uint64_t r = spmv__source_row(s, i);
        for (k = s->v->a->ptr[r]; k < s->v->a->ptr[r + 1]; k++) {
            if (!spmv__mine(s->v, k)) continue;
            while (slot >= next) next = spmv__at(at, ++run + 1);
            spmv__set_column(&p->a[SPMV_CSR_COL], &p->a[SPMV_CSR_BASE], slot++, run, s->v->a->col[k], 1);
        }
    }
}

enum { SPMV__FEW_ENTRIES = 24 /* of a row: as many are copied in less time one by one than by two calls of memcpy */ };

/* Copies n nonzeros from k on, columns and values of so many bytes, into slots. */
SPMV__INLINE void spmv__csr_copy(uint32_t *col, const spmv__sink *to, const uint32_t *from, uint64_t slot, uint64_t k, uint64_t n,
                                 size_t bytes)
{
    unsigned char *val = (unsigned char *)to->dst->data + slot * bytes;
    const unsigned char *src = to->src + k * bytes;
    uint64_t i;
    for (i = 0; i < n; i++) {
        col[slot + i] = from[k + i];
        memcpy(val + i * bytes, src + i * bytes, bytes);
    }
}

/* Fills row i: columns, unless they are of 16 bits, and values. */
static void spmv__csr_row(spmv_part *p, const spmv__source *s, spmv__sink *to, uint64_t i)
{
    const spmv_csr *a = s->v->a;
    const int wide = !p->a[SPMV_CSR_BASE].count;
    uint32_t *col = (uint32_t *)p->a[SPMV_CSR_COL].data;
    uint64_t r = spmv__source_row(s, i), k = a->ptr[r], end = a->ptr[r + 1], slot = s->ptr[i];
    if (!s->v->owner && wide && to->src && end - k <= SPMV__FEW_ENTRIES) {
        if (to->dst->width == 8) spmv__csr_copy(col, to, a->col, slot, k, end - k, 8);
        else spmv__csr_copy(col, to, a->col, slot, k, end - k, 4);
        return;
    }
    if (!s->v->owner) {
        if (wide && end > k) memcpy(col + slot, a->col + k, (size_t)(end - k) * sizeof *col);
        spmv__put_all(to, slot, k, end - k);
        return;
    }
    for (; k < end; k++)
        if (spmv__mine(s->v, k)) {
            if (wide) col[slot] = a->col[k];
            spmv__put(to, slot++, k);
        }
}

/* Columns and values that are borrowed from the CSR matrix are not written. */
static void spmv__csr_fill(spmv_part *p, const spmv__source *s, spmv__sink *to, uint64_t first, uint64_t end)
{
    uint64_t i;
    if (p->a[SPMV_CSR_PTR].width == 8)
        for (i = first; i < end; i++) ((uint64_t *)p->a[SPMV_CSR_PTR].data)[i + 1] = s->ptr[i + 1];
    else
        for (i = first; i < end; i++) ((uint32_t *)p->a[SPMV_CSR_PTR].data)[i + 1] = (uint32_t)s->ptr[i + 1];
    if (p->a[SPMV_CSR_BASE].count && first < end) spmv__csr_narrow(p, s, first, end);
    for (i = first; i < end && !to->dst->borrowed; i++) spmv__csr_row(p, s, to, i);
}

static void spmv__csr_each(const spmv_part *p, spmv__visit visit, void *user)
{
    uint64_t i, k, run = 0;
    for (i = 0; i < p->rows; i++)
        for (k = spmv__at(&p->a[SPMV_CSR_PTR], i); k < spmv__at(&p->a[SPMV_CSR_PTR], i + 1); k++) {
            while (p->a[SPMV_CSR_BASE].count && k >= spmv__at(&p->a[SPMV_CSR_RUN_AT], run + 1)) run++;
            visit(user, i, spmv__column_at(&p->a[SPMV_CSR_COL], &p->a[SPMV_CSR_BASE], k, run, 1), k);
        }
}
#endif

#endif
