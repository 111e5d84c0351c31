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
    SPMV__PADS_NONE, SPMV__LANES_BY_BATCH          /* pads, lanes */
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
static void spmv__run_step(const spmv__source *source, uint64_t rows, uint64_t most, uint64_t *row, uint64_t *at)
{
    uint64_t first = *at, r = *row;
    if (source->ptr[r + 1] - first > (first == source->ptr[r] ? SPMV__WHOLE * most : most)) {
        *at += most;
        return;
    }
    if (first != source->ptr[r]) r++; /* the rest of a row; or a whole row, and more rows as long as they fit */
    else r = spmv__tile_row(source->ptr, r + 1, spmv__smaller(rows, r + most), first + most);
    *row = r;
    *at = source->ptr[r];
}

/* 1 if row r is cut into pieces. */
static int spmv__in_pieces(const spmv__source *source, uint64_t most, uint64_t r)
{
    return source->ptr[r + 1] - source->ptr[r] > SPMV__WHOLE * most;
}

/* Finds the lowest and the highest column of the run that goes from row and slot at to next_row and next_at. *k is the entry at which the
 * first piece of a row leaves off, for the next one. */
static void spmv__run_span(const spmv__source *source, uint64_t row, uint64_t at, uint64_t next_row, uint64_t next_at, uint64_t *k,
                           uint64_t *low, uint64_t *high)
{
    uint64_t count = next_at - at, first;
    if (at == source->ptr[row] && row < next_row) {
        spmv__span(source, row, next_row, low, high);
        return;
    }
    if (at == source->ptr[row]) *k = source->view->a->ptr[spmv__source_row(source, row)];
    *low = UINT64_MAX;
    *high = 0;
    for (first = *k; count; ++*k) count -= (uint64_t)spmv__mine(source->view, *k);
    spmv__span_entries(source->view, first, *k, low, high);
}

/* Walks the part's rows run by run. 1 if the columns of each run fit 16 bits. Writes the bases if their array is allocated. */
static int spmv__run_bases(const spmv_part *p, const spmv__source *source)
{
    uint32_t *base = (uint32_t *)p->a[SPMV_CSR_BASE].data;
    uint64_t row = 0, at = 0, run = 0, k = 0, low, high;
    for (; row < p->rows; run++) {
        uint64_t next_row = row, next_at = at;
        spmv__run_step(source, p->rows, (uint64_t)p->spec.key[SPMV_KEY_RUN], &next_row, &next_at);
        spmv__run_span(source, row, at, next_row, next_at, &k, &low, &high);
        if (!spmv__span_fits(low, high)) return 0;
        if (base) base[run] = low > high ? 0 : (uint32_t)low;
        row = next_row;
        at = next_at;
    }
    return 1;
}

/* With the key run, the runs are counted here and written by spmv__csr_lay. */
static spmv_status spmv__csr_size(spmv_part *p, spmv__source *source)
{
    uint64_t most = (uint64_t)p->spec.key[SPMV_KEY_RUN], row = 0, at = 0, i;
    spmv__want(&p->a[SPMV_VAL], p->nnz, p->a[SPMV_VAL].width);
    spmv__want_offsets(&p->a[SPMV_CSR_PTR], p->rows + 1, p->nnz);
    spmv__want(&p->a[SPMV_CSR_COL], p->nnz, 4);
    spmv__csr_lengths(p, source);
    if (!most) return SPMV_OK;
    for (; row < p->rows; p->n[SPMV_CSR_RUNS]++) spmv__run_step(source, p->rows, most, &row, &at);
    for (i = 0; p->longest > SPMV__WHOLE * most && i < p->rows; i++) p->n[SPMV_CSR_LONGS] += (uint64_t)spmv__in_pieces(source, most, i);
    spmv__want(&p->a[SPMV_CSR_RUN_ROW], p->n[SPMV_CSR_RUNS] + 1, 4);
    spmv__want_offsets(&p->a[SPMV_CSR_RUN_AT], p->n[SPMV_CSR_RUNS] + 1, p->nnz);
    spmv__want(&p->a[SPMV_CSR_LONG_RUN], p->n[SPMV_CSR_LONGS], 4);
    spmv__want_columns(p, &p->a[SPMV_CSR_COL], &p->a[SPMV_CSR_BASE], p->nnz, p->n[SPMV_CSR_RUNS],
                       p->spec.key[SPMV_KEY_IDX] == 16 && spmv__run_bases(p, source));
    if (p->a[SPMV_CSR_BASE].count) source->cuts = &p->a[SPMV_CSR_RUN_ROW]; /* of a run that is cut, the pieces have bases of their own */
    return SPMV_OK;
}

/* Fills the arrays that the key run adds. */
static void spmv__csr_lay(spmv_part *p, spmv__source *source)
{
    uint64_t most = (uint64_t)p->spec.key[SPMV_KEY_RUN], row = 0, at = 0, run, longs = 0;
    spmv__set(&p->a[SPMV_CSR_PTR], 0, 0);
    for (run = 0; run < p->a[SPMV_CSR_RUN_ROW].count; run++) {
        ((uint32_t *)p->a[SPMV_CSR_RUN_ROW].data)[run] = (uint32_t)row;
        spmv__set(&p->a[SPMV_CSR_RUN_AT], run, at);
        if (run == p->n[SPMV_CSR_RUNS]) break;
        if (spmv__in_pieces(source, most, row) && at == source->ptr[row])
            ((uint32_t *)p->a[SPMV_CSR_LONG_RUN].data)[longs++] = (uint32_t)run;
        spmv__run_step(source, p->rows, most, &row, &at);
    }
    if (p->a[SPMV_CSR_BASE].count) spmv__run_bases(p, source);
}

/* So many nonzeros has the longest run at least, however short rows share runs: those of the longest row that is not cut, or of a piece. */
static double spmv__csr_least_run(const spmv_spec *spec, const spmv__analysis *analysis)
{
    const uint64_t most = (uint64_t)spmv__longest_run(spec), piece = (uint64_t)spec->key[SPMV_KEY_RUN];
    uint64_t k = spmv__smaller(analysis->longest, most);
    if (analysis->longest <= most) return (double)k;
    while (k > piece && analysis->longer[k] == analysis->longer[k + 1]) k--;
    return (double)k;
}

static spmv_status spmv__csr_estimate(const spmv_spec *spec, const spmv__analysis *analysis, const spmv_features *features, spmv__load *out)
{
    double mean = features->mean > 1 ? features->mean : 1, rows = (double)spec->key[SPMV_KEY_RUN] / mean + 1; /* of a run */
    spmv__estimate_entries(features, out);
    if (spec->key[SPMV_KEY_RUN]) out->longest = spmv__csr_least_run(spec, analysis);
    return spmv__estimate_columns(spec, analysis, (uint64_t)rows);
}

/* Fills the columns of rows first .. end - 1 as 16 bits from the bases of their runs. A share begins with a run. */
SPMV__APART void spmv__csr_narrow(spmv_part *p, const spmv__source *source, uint64_t first, uint64_t end)
{
    const spmv_array *at = &p->a[SPMV_CSR_RUN_AT], *row = &p->a[SPMV_CSR_RUN_ROW];
    const uint32_t *base = (const uint32_t *)p->a[SPMV_CSR_BASE].data;
    uint16_t *narrow = (uint16_t *)p->a[SPMV_CSR_COL].data;
    uint64_t i, k, slot = source->ptr[first], run = spmv__below(row, first), next;
    next = spmv__at(at, run + 1);
    if (!source->view->owner && !source->view->list) { /* the slots are the matrix's nonzeros */
        const uint64_t stop = source->ptr[end];
        while (slot < stop) {
            uint64_t to;
            while (slot >= next) next = spmv__at(at, ++run + 1);
            for (to = spmv__smaller(next, stop); slot < to; slot++) narrow[slot] = (uint16_t)(source->view->a->col[slot] - base[run]);
        }
        return;
    }
    for (i = first; i < end; i++) {
        uint64_t r = spmv__source_row(source, i);
        for (k = source->view->a->ptr[r]; k < source->view->a->ptr[r + 1]; k++) {
            if (!spmv__mine(source->view, k)) continue;
            while (slot >= next) next = spmv__at(at, ++run + 1);
            spmv__set_column(&p->a[SPMV_CSR_COL], &p->a[SPMV_CSR_BASE], slot++, run, source->view->a->col[k], 1);
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
static void spmv__csr_row(spmv_part *p, const spmv__source *source, spmv__sink *to, uint64_t i)
{
    const spmv_csr *a = source->view->a;
    const int wide = !p->a[SPMV_CSR_BASE].count;
    uint32_t *col = (uint32_t *)p->a[SPMV_CSR_COL].data;
    uint64_t r = spmv__source_row(source, i), k = a->ptr[r], end = a->ptr[r + 1], slot = source->ptr[i];
    if (!source->view->owner && wide && to->src && end - k <= SPMV__FEW_ENTRIES) {
        if (to->dst->width == 8) spmv__csr_copy(col, to, a->col, slot, k, end - k, 8);
        else spmv__csr_copy(col, to, a->col, slot, k, end - k, 4);
        return;
    }
    if (!source->view->owner) {
        if (wide && end > k) memcpy(col + slot, a->col + k, (size_t)(end - k) * sizeof *col);
        spmv__put_all(to, slot, k, end - k);
        return;
    }
    for (; k < end; k++)
        if (spmv__mine(source->view, k)) {
            if (wide) col[slot] = a->col[k];
            spmv__put(to, slot++, k);
        }
}

/* Columns and values that are borrowed from the CSR matrix are not written. */
static void spmv__csr_fill(spmv_part *p, const spmv__source *source, spmv__sink *to, uint64_t first, uint64_t end)
{
    uint64_t i;
    if (p->a[SPMV_CSR_PTR].width == 8)
        for (i = first; i < end; i++) ((uint64_t *)p->a[SPMV_CSR_PTR].data)[i + 1] = source->ptr[i + 1];
    else
        for (i = first; i < end; i++) ((uint32_t *)p->a[SPMV_CSR_PTR].data)[i + 1] = (uint32_t)source->ptr[i + 1];
    if (to->bare) return;
    if (p->a[SPMV_CSR_BASE].count && first < end) spmv__csr_narrow(p, source, first, end);
    for (i = first; i < end && !to->dst->borrowed; i++) spmv__csr_row(p, source, to, i);
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

/* Is a run from row and slot at to next and stop one that spmv__run_step makes? */
static int spmv__run_sound(const spmv_part *p, uint64_t row, uint64_t at, uint64_t next, uint64_t stop)
{
    const spmv_array *ptr = &p->a[SPMV_CSR_PTR];
    const uint64_t most = (uint64_t)p->spec.key[SPMV_KEY_RUN], n = stop - at;
    uint64_t first, end;
    if (row >= p->rows || next < row || next > p->rows) return 0;
    first = spmv__at(ptr, row);
    end = spmv__at(ptr, row + 1);
    if (at < first || at > end) return 0;
    if (next == row) return n == most && end - at > (at == first ? SPMV__WHOLE * most : most);
    if (stop != spmv__at(ptr, next)) return 0;
    if (at > first) return next == row + 1 && n <= most;
    return next - row <= most && n <= (next == row + 1 ? SPMV__WHOLE * most : most);
}

static int spmv__runs_sound(const spmv_part *p)
{
    const spmv_array *at = &p->a[SPMV_CSR_RUN_AT], *ptr = &p->a[SPMV_CSR_PTR];
    const uint32_t *row = (const uint32_t *)p->a[SPMV_CSR_RUN_ROW].data, *lengthy = (const uint32_t *)p->a[SPMV_CSR_LONG_RUN].data;
    const uint64_t runs = p->n[SPMV_CSR_RUNS];
    uint64_t run, longs = 0;
    if (!spmv__sized(&p->a[SPMV_CSR_RUN_ROW], runs + 1, 4) || !spmv__offsets_sound(at, runs + 1, p->nnz) ||
        !spmv__sized(&p->a[SPMV_CSR_LONG_RUN], p->n[SPMV_CSR_LONGS], 4) || row[0] || row[runs] != p->rows)
        return 0;
    for (run = 0; run < runs; run++) {
        if (!spmv__run_sound(p, row[run], spmv__at(at, run), row[run + 1], spmv__at(at, run + 1))) return 0;
        if (row[run + 1] != row[run] || spmv__at(at, run) != spmv__at(ptr, row[run])) continue;
        if (longs == p->n[SPMV_CSR_LONGS] || lengthy[longs++] != run) return 0;
    }
    return longs == p->n[SPMV_CSR_LONGS] &&
           spmv__columns_by(p, &p->a[SPMV_CSR_COL], &p->a[SPMV_CSR_BASE], at, 1, 1, 0);
}

SPMV__SHARED int spmv__csr_sound(const spmv_part *p)
{
    const spmv_array *ptr = &p->a[SPMV_CSR_PTR];
    uint64_t i, longest = 0;
    if (p->a[SPMV_VAL].count != p->nnz || !spmv__offsets_sound(ptr, p->rows + 1, p->nnz)) return 0;
    for (i = 0; i < p->rows; i++)
        if (spmv__at(ptr, i + 1) - spmv__at(ptr, i) > longest) longest = spmv__at(ptr, i + 1) - spmv__at(ptr, i);
    if (longest != p->longest) return 0;
    if (p->spec.key[SPMV_KEY_RUN]) return spmv__runs_sound(p);
    return !p->a[SPMV_CSR_BASE].count && spmv__numbers_sound(&p->a[SPMV_CSR_COL], p->nnz, p->cols);
}
#endif

/* -- products on the host -- */

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

/* Products with vectors side by side: rows of x are fetched so many nonzeros in advance where one nonzero in so many is far from others
 * (elsewhere it left up to 2 times the time); and the orders in which a row is summed. */
enum { SPMV__WIDE_AHEAD = 48, SPMV__WIDE_ONE = 32 };
enum { SPMV__WIDE_ROW, SPMV__WIDE_ALIKE, SPMV__WIDE_FAR, SPMV__WIDE_SHORT, SPMV__WIDE_UNEVEN };

/* The order in which the product with one vector sums the rows of the block in which row i is. */
SPMV__SHARED int spmv__wide_order(const spmv_part *p, uint64_t i)
{
    const spmv_array *ptr = &p->a[SPMV_CSR_PTR];
    const uint64_t first = i - i % SPMV__BLOCK_ROWS, end = first + SPMV__BLOCK_ROWS;
    if (p->lengths != SPMV__LENGTHS_BLOCKS)
        return p->lengths == SPMV__LENGTHS_ALIKE ? SPMV__WIDE_ALIKE : p->lengths == SPMV__LENGTHS_FAR ? SPMV__WIDE_FAR : SPMV__WIDE_ROW;
    if (end > p->rows || spmv__at(ptr, end) - spmv__at(ptr, first) > SPMV__BLOCK_ROWS * SPMV__SHORT) return SPMV__WIDE_ROW;
    if (spmv__at(ptr, end - 1) + SPMV__FOUR > p->nnz) return SPMV__WIDE_UNEVEN;
    for (i = first; i < end; i++)
        if (spmv__at(ptr, i + 1) - spmv__at(ptr, i) > SPMV__FOUR) return SPMV__WIDE_UNEVEN;
    return SPMV__WIDE_SHORT;
}

/* 1 if rows of x are worth fetching in advance near row i: not few of the next row's nonzeros are neither beside one of row i nor beside
 * the one before. */
SPMV__SHARED int spmv__wide_is_far(const spmv_part *p, uint64_t i)
{
    const uint32_t *col = (const uint32_t *)p->a[SPMV_CSR_COL].data;
    uint64_t j = spmv__at(&p->a[SPMV_CSR_PTR], i), k, apart = 0;
    const uint64_t first = spmv__at(&p->a[SPMV_CSR_PTR], i + 1), end = i + 1 < p->rows ? spmv__at(&p->a[SPMV_CSR_PTR], i + 2) : first;
    for (k = first; k < end; k++) {
        while (j < first && (uint64_t)col[j] + 1 < col[k]) j++;
        apart += (j == first || col[j] > (uint64_t)col[k] + 1) && (k == first || col[k] > (uint64_t)col[k - 1] + 1);
    }
    return apart * SPMV__WIDE_ONE > end - first;
}

#endif

/* ---- products on the host, for each level and type (products.h) -------------------------------------------------- */
#define SPMV__HOST_CSR { SPMV__PRODUCTS(csr), SPMV__REPEAT(csr) }
#if defined(SPMV__TYPE) && !defined(SPMV__COLUMN_BITS) && !defined(SPMV__NO_CSR) /* again */
#if defined(SPMV__SIMPLE) || defined(SPMV__REPEATED)
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
    const uint32_t *col = (const uint32_t *)p->a[SPMV_CSR_COL].data, *ptr32 = ptr->width == 4 ? (const uint32_t *)ptr->data : NULL;
    const int narrow = p->a[SPMV_CSR_BASE].count != 0;
    uint64_t i = spmv__weighted(ptr, p->rows, share, shares), k = spmv__at(ptr, i), end, run = 0;
    const uint64_t stop = spmv__weighted(ptr, p->rows, share + 1, shares);
    for (; i < stop; i++, k = end) {
        end = ptr32 ? ptr32[i + 1] : spmv__at(ptr, i + 1);
        SPMV__N(set)(p, i, alpha, narrow ? SPMV__N(narrow_row)(p, k, end, x, &run) : SPMV__N(row)(val + k, col + k, end - k, x), beta, y);
    }
}
#else /* in vectors */
/* The sum of a row of n nonzeros, more than SPMV__PIECE, piece by piece. */
SPMV__APART SPMV__T SPMV__F(csr_pieces)(const SPMV__V *SPMV__RESTRICT val, const uint32_t *SPMV__RESTRICT col, uint64_t n,
                                        const SPMV__T *SPMV__RESTRICT x)
{
    const uint64_t piece = spmv__piece(n);
    SPMV__T sum = 0;
    for (; n > piece; n -= piece, val += piece, col += piece) sum += SPMV__F(far_dot)(val, col, piece, x);
    return sum + SPMV__F(far_dot)(val, col, n, x);
}

/* Sums piece number share of the rows that are cut. If share is the number of shares, adds the pieces of each row, and sets y. */
static void SPMV__F(csr_piece)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    const uint32_t *col = (const uint32_t *)p->a[SPMV_CSR_COL].data;
    const spmv_array *ptr = &p->a[SPMV_CSR_PTR];
    spmv__cut_rows *cut = job->cut;
    uint64_t i, k = 0;
    if (share < shares) {
        while (cut->first[k + 1] <= share) k++;
        i = cut->row[k];
        const uint64_t end = spmv__at(ptr, i + 1), piece = spmv__piece(end - spmv__at(ptr, i));
        const uint64_t at = spmv__at(ptr, i) + (share - cut->first[k]) * piece;
        cut->sum[share] = (double)SPMV__F(far_dot)(val + at, col + at, spmv__smaller(end - at, piece), x);
        return;
    }
    for (; k < cut->count; k++) {
        SPMV__T sum = 0;
        for (i = cut->first[k]; i < cut->first[k + 1]; i++) sum += (SPMV__T)cut->sum[i];
        SPMV__F(set)(p, cut->row[k], alpha, sum, beta, y);
    }
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

/* The sums of count rows from row i on, at most SPMV__TILE; head as in rows. ptr: where their nonzeros begin, counted from number at. to:
 * the places of the sums, or NULL; only if most rows are as long as the row before, and columns have 32 bits. stop: where the nonzeros end
 * whose columns x has. */
static void SPMV__F(csr_sums_at)(const spmv_part *p, const uint32_t *ptr, uint64_t at, uint64_t head, const uint32_t *to, uint64_t count,
                                 uint64_t stop, const SPMV__T *x, SPMV__T *sum)
{
    const SPMV__V *val = (const SPMV__V *)p->a[SPMV_VAL].data + at;
    const uint32_t *col = (const uint32_t *)p->a[SPMV_CSR_COL].data + at;
    const uint16_t *narrow = (const uint16_t *)p->a[SPMV_CSR_COL].data + at;
    const int is_narrow = p->a[SPMV_CSR_BASE].count != 0;
    if (p->lengths == SPMV__LENGTHS_ALIKE && is_narrow) SPMV__F(rows_alike16)(val, narrow, ptr, to, count, x, sum);
    else if (p->lengths == SPMV__LENGTHS_ALIKE) SPMV__F(rows_alike)(val, col, ptr, to, count, x, sum);
    else if (is_narrow) SPMV__F(rows16)(val, narrow, ptr, head, count, stop - at, x, sum);
    else if (p->lengths == SPMV__LENGTHS_FAR) SPMV__F(rows_far)(val, col, ptr, count, stop - at, x, sum);
    else SPMV__F(rows)(val, col, ptr, head, count, stop - at, x, sum);
}

/* The same where the pointers have 64 bits: they are counted from the first. */
SPMV__APART void SPMV__F(csr_sums_wide)(const spmv_part *p, uint64_t i, uint64_t head, const uint32_t *to, uint64_t count,
                                        uint64_t stop, const SPMV__T *x, SPMV__T *sum)
{
    const uint64_t *wide = (const uint64_t *)p->a[SPMV_CSR_PTR].data + i;
    uint32_t ptr[SPMV__TILE + 1];
    uint64_t k;
    for (k = 0; k <= count; k++) ptr[k] = (uint32_t)(wide[k] - wide[0]);
    SPMV__F(csr_sums_at)(p, ptr, wide[0], head, to, count, stop, x, sum);
}

static void SPMV__F(csr_sums)(const spmv_part *p, uint64_t i, uint64_t head, const uint32_t *to, uint64_t count, uint64_t stop,
                              const SPMV__T *x, SPMV__T *sum)
{
    if (p->a[SPMV_CSR_PTR].width == 8) SPMV__F(csr_sums_wide)(p, i, head, to, count, stop, x, sum);
    else SPMV__F(csr_sums_at)(p, (const uint32_t *)p->a[SPMV_CSR_PTR].data + i, 0, head, to, count, stop, x, sum);
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
                          p->nnz, x, buffer ? buffer : to ? y : y + i);
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
        SPMV__F(csr_sums)(p, i, p->lengths == SPMV__LENGTHS_BLOCKS ? 0 : next - i, NULL, next - i, stop, x, sum);
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

/* The product of csr: of runs if they have columns of 16 bits, of a piece if rows are cut, or of rows. */
static void SPMV__F(csr)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    (void)val;
    if (p->a[SPMV_CSR_BASE].count) SPMV__F(csr_narrow)(job, share, shares);
    else if (job->cut) SPMV__F(csr_piece)(job, share, shares);
    else {
        const uint64_t i = spmv__csr_share_row(p, spmv__weighted(&p->a[SPMV_CSR_PTR], p->rows, share, shares));
        const uint64_t end = spmv__csr_share_row(p, spmv__weighted(&p->a[SPMV_CSR_PTR], p->rows, share + 1, shares));
        const int straight = alpha == 1 && beta == 0 && (!p->list.count || p->lengths == SPMV__LENGTHS_ALIKE);
        if (straight) SPMV__F(csr_rows)(p, i, end, job->most, alpha, x, beta, y, NULL);
        else SPMV__F(csr_rows_apart)(p, i, end, job->most, alpha, x, beta, y);
    }
}

/* -- several vectors side by side: a sum is a vector with one lane for each, formed as the product with one forms it -- */

/* The n nonzeros of a row, and x, whose rows are ld apart. */
typedef struct SPMV__F(wide) {
    const SPMV__V  *val;
    const uint32_t *col;
    uint64_t        n;
    const SPMV__T  *x;
    uint64_t        ld;
} SPMV__F(wide);

/* sum plus the product of nonzero k. */
SPMV__FORCE_INLINE SPMV__O(vec) SPMV__F(wide_plus)(const SPMV__F(wide) row, uint64_t k, SPMV__O(vec) sum)
{
    return SPMV__O(vfma)(SPMV__O(vall)((SPMV__T)row.val[k]), SPMV__O(vfrom)(row.x + row.col[k] * row.ld), sum);
}

/* sum plus nonzeros k, k + step .. below end. */
SPMV__FORCE_INLINE SPMV__O(vec) SPMV__F(wide_chain)(const SPMV__F(wide) row, uint64_t k, uint64_t end, uint64_t step, SPMV__O(vec) sum)
{
    for (; k < end; k += step) sum = SPMV__F(wide_plus)(row, k, sum);
    return sum;
}

/* The product of nonzero k added to start, which is 0, or to nothing, -0; zeros behind the row. */
SPMV__FORCE_INLINE SPMV__O(vec) SPMV__F(wide_term)(const SPMV__F(wide) row, uint64_t k, SPMV__T start)
{
    return k < row.n ? SPMV__F(wide_plus)(row, k, SPMV__O(vall)(start)) : SPMV__O(vzero)();
}

/* The sum of four lanes of a quad; halves: 1: those of its halves are added first. */
SPMV__FORCE_INLINE SPMV__O(vec) SPMV__F(wide_four)(SPMV__O(vec) a, SPMV__O(vec) b, SPMV__O(vec) c, SPMV__O(vec) d, int halves)
{
    if (halves) return SPMV__O(vadd)(SPMV__O(vadd)(a, c), SPMV__O(vadd)(b, d));
    return SPMV__O(vadd)(SPMV__O(vadd)(a, b), SPMV__O(vadd)(c, d));
}
#define SPMV__WIDE_FOUR(lane, halves) SPMV__F(wide_four)(lane(0), lane(1), lane(2), lane(3), halves)

/* Lane l of the quads of row. */
SPMV__FORCE_INLINE SPMV__O(vec) SPMV__F(wide_lane)(const SPMV__F(wide) row, uint64_t l)
{
    SPMV__O(vec) s0 = SPMV__O(vzero)(), s1 = s0, next;
    uint64_t k = 0;
    for (; k + 4 < row.n; k += 4) {
        next = SPMV__F(wide_plus)(row, k + l, s0);
        s0 = s1;
        s1 = next;
    }
    return SPMV__O(vadd)(SPMV__O(vadd)(s0, row.n - 4 + l < k ? SPMV__O(vzero)() : SPMV__F(wide_term)(row, row.n - 4 + l, 0)), s1);
}

/* As row. */
SPMV__FORCE_INLINE SPMV__O(vec) SPMV__F(wide_row)(const SPMV__F(wide) row)
{
#define SPMV__LANE(l) SPMV__F(wide_lane)(row, l)
    if (row.n < 4) return SPMV__F(wide_chain)(row, 0, row.n, 1, SPMV__O(vzero)());
    return SPMV__WIDE_FOUR(SPMV__LANE, SPMV__O(halves_qsum));
#undef SPMV__LANE
}

/* As rows_far. */
SPMV__FORCE_INLINE SPMV__O(vec) SPMV__F(wide_far)(const SPMV__F(wide) row)
{
    const uint64_t whole = row.n - row.n % 4;
#define SPMV__LANE(l) SPMV__F(wide_chain)(row, l, whole, 4, SPMV__O(vzero)())
    return SPMV__F(wide_chain)(row, whole, row.n, 1, SPMV__WIDE_FOUR(SPMV__LANE, 0));
#undef SPMV__LANE
}

/* As four_short. */
SPMV__FORCE_INLINE SPMV__O(vec) SPMV__F(wide_short)(const SPMV__F(wide) row)
{
#define SPMV__LANE(l) SPMV__F(wide_term)(row, l, 0)
    return SPMV__WIDE_FOUR(SPMV__LANE, SPMV__O(halves_qsums));
#undef SPMV__LANE
}

/* As alike. */
SPMV__FORCE_INLINE SPMV__O(vec) SPMV__F(wide_alike)(const SPMV__F(wide) row)
{
    if (row.n >= 8) return SPMV__F(wide_row)(row);
    if (row.n == 4) return SPMV__F(wide_short)(row);
    return SPMV__F(wide_chain)(row, 1, row.n, 1, SPMV__F(wide_term)(row, 0, (SPMV__T)-0.0));
}

/* Nonzeros k and k + 4 in lane k of the quads of uneven_block. */
SPMV__FORCE_INLINE SPMV__O(vec) SPMV__F(wide_pair)(const SPMV__F(wide) row, uint64_t k)
{
    return SPMV__O(vadd)(SPMV__F(wide_term)(row, k, (SPMV__T)-0.0), SPMV__F(wide_term)(row, k + 4, (SPMV__T)-0.0));
}

/* Lane l of what that adds to the first eight. */
SPMV__FORCE_INLINE SPMV__O(vec) SPMV__F(wide_eights)(const SPMV__F(wide) row, uint64_t l)
{
    SPMV__O(vec) s = SPMV__O(vzero)();
    uint64_t k = 8;
    for (; k < row.n; k += 8) s = SPMV__O(vadd)(s, SPMV__F(wide_pair)(row, k + l));
    return s;
}

/* As uneven_block. */
SPMV__FORCE_INLINE SPMV__O(vec) SPMV__F(wide_uneven)(const SPMV__F(wide) row)
{
#define SPMV__LANE(l) SPMV__F(wide_pair)(row, l)
    const SPMV__O(vec) sum = SPMV__WIDE_FOUR(SPMV__LANE, SPMV__O(halves_qsums));
#undef SPMV__LANE
#define SPMV__LANE(l) SPMV__F(wide_eights)(row, l)
    return row.n <= 8 ? sum : SPMV__O(vadd)(sum, SPMV__WIDE_FOUR(SPMV__LANE, SPMV__O(halves_qsum)));
#undef SPMV__LANE
}
#undef SPMV__WIDE_FOUR

/* The sums of a row. */
SPMV__FORCE_INLINE SPMV__O(vec) SPMV__F(wide_sum)(int order, const SPMV__F(wide) row)
{
    switch (order) {
    case SPMV__WIDE_ALIKE: return SPMV__F(wide_alike)(row);
    case SPMV__WIDE_FAR: return SPMV__F(wide_far)(row);
    case SPMV__WIDE_SHORT: return SPMV__F(wide_short)(row);
    case SPMV__WIDE_UNEVEN: return SPMV__F(wide_uneven)(row);
    default: return SPMV__F(wide_row)(row);
    }
}

/* As csr_pieces. */
SPMV__APART void SPMV__F(wide_pieces)(const SPMV__F(wide) *all, SPMV__T *sum)
{
    SPMV__F(wide) row = *all;
    const uint64_t piece = spmv__piece(row.n);
    uint64_t left = row.n;
    SPMV__O(vput)(sum, SPMV__O(vzero)());
    for (; left; left -= row.n, row.val += row.n, row.col += row.n) {
        row.n = spmv__smaller(left, piece);
        SPMV__O(vput)(sum, SPMV__O(vadd)(SPMV__O(vfrom)(sum), SPMV__F(wide_row)(row)));
    }
}

/* Writes the sums of lanes first .. end - 1 to elements of y that are step apart. */
SPMV__APART void SPMV__F(wide_set)(SPMV__T alpha, const SPMV__T *sum, SPMV__T beta, uint64_t first, uint64_t end, uint64_t step,
                                   SPMV__T *to)
{
    SPMV__O(vec) s = SPMV__O(vmul)(SPMV__O(vall)(alpha), SPMV__O(vfrom)(sum));
    SPMV__T one[SPMV__LANES_MOST];
    uint64_t j;
    if (beta != 0) {
        for (j = 0; j < SPMV__LANES; j++) one[j] = j >= first && j < end ? to[j * step] : 0;
        s = SPMV__O(vfma)(SPMV__O(vall)(beta), SPMV__O(vfrom)(one), s);
    }
    SPMV__O(vput)(one, s);
    for (j = first; j < end; j++) to[j * step] = one[j];
}

/* Rows i .. end - 1, which are summed in one order, for as many vectors as there are lanes from vector v on, or from as many before
 * the last one on: those before v are not written. fetch: rows of x are fetched in advance. */
SPMV__APART void SPMV__F(wide_rows)(const spmv__job *job, int order, int fetch, uint64_t i, uint64_t end, uint64_t v)
{
    SPMV__ENTER;
    const spmv_array *ptr = &p->a[SPMV_CSR_PTR];
    const uint32_t *col = (const uint32_t *)p->a[SPMV_CSR_COL].data;
    const uint64_t at = v + SPMV__LANES <= job->wide || v < SPMV__LANES ? v : job->wide - SPMV__LANES;
    const uint64_t last = spmv__smaller(job->wide - at, SPMV__LANES), step = job->y_column;
    const int straight = beta == 0 && step == 1 && v == at && last == SPMV__LANES;
    uint64_t k = spmv__at(ptr, i), next, ahead = fetch ? k + SPMV__WIDE_AHEAD : UINT64_MAX;
    SPMV__T sum[SPMV__LANES_MOST];
    SPMV__F(wide) row;
    row.x = x + at;
    row.ld = job->x_row;
    for (y += at * step; i < end; i++, k = next) {
        SPMV__T *to = y + spmv__part_row(p, i) * job->y_row;
        next = spmv__at(ptr, i + 1);
        row.val = val + k;
        row.col = col + k;
        row.n = next - k;
        for (; ahead < next + SPMV__WIDE_AHEAD && ahead + 4 <= p->nnz; ahead += 4) {
            SPMV__NEAR(row.x + col[ahead] * row.ld);
            SPMV__NEAR(row.x + col[ahead + 1] * row.ld);
            SPMV__NEAR(row.x + col[ahead + 2] * row.ld);
            SPMV__NEAR(row.x + col[ahead + 3] * row.ld);
        }
        if (row.n > SPMV__PIECE) SPMV__F(wide_pieces)(&row, sum);
        else SPMV__O(vput)(sum, SPMV__F(wide_sum)(order, row));
        if (straight) SPMV__O(vput)(to, SPMV__O(vmul)(SPMV__O(vall)(alpha), SPMV__O(vfrom)(sum)));
        else SPMV__F(wide_set)(alpha, sum, beta, v - at, last, step, to);
    }
}

static void SPMV__F(wide_csr)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    const spmv_part *p = job->p;
    uint64_t i = spmv__csr_share_row(p, spmv__weighted(&p->a[SPMV_CSR_PTR], p->rows, share, shares)), end, v;
    const uint64_t stop = spmv__csr_share_row(p, spmv__weighted(&p->a[SPMV_CSR_PTR], p->rows, share + 1, shares));
    const int large = p->cols >= SPMV__FAR_LESS / (SPMV__LANES * sizeof(SPMV__T));
    for (; i < stop; i = end) {
        const int order = spmv__wide_order(p, i), fetch = large && spmv__wide_is_far(p, i);
        end = spmv__smaller(stop, i - i % SPMV__BLOCK_ROWS + SPMV__BLOCK_ROWS);
        for (v = 0; v < job->wide; v += SPMV__LANES) SPMV__F(wide_rows)(job, order, fetch, i, end, v);
    }
}
#endif
#endif /* again */
