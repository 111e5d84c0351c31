/* SPDX-License-Identifier: MIT
 *
 * spmv_features.h - the features of a matrix that the choice looks at (spmv_features of spmv_formats.h).
 *
 * If you only want the interface, stop at "END OF THE INTERFACE".
 */
#include "spmv_plan.h" /* above the guard, as in the other headers */
#ifndef SPMV_FEATURES_H
#define SPMV_FEATURES_H

#ifdef __cplusplus
extern "C" {
#endif

/* Finds the features of a matrix, or of those of its nonzeros that a view shows. Rows and diagonals are read once; blocks, and how x is
 * read, are estimated from samples.
 *   out      the features; on failure zeroed
 *   v        the view; its row list is ignored
 *   sample   nonzeros in the sample for each block size; 0: a 32nd of them and 8192 more, at most 2^17. Shares found in blocks err by
 *            about 1 / sqrt(slices in the sample)
 *   without  bits 1u << SPMV_DIA of formats that will not be used; features that only they need are left zero
 *   hooks    may be NULL
 * SPMV_ERR_MEMORY. */
SPMV_API spmv_status spmv_features_make(spmv_features *out, const spmv_view *v, uint64_t sample, unsigned without, const spmv_hooks *hooks);

#ifdef __cplusplus
}
#endif
#endif /* SPMV_FEATURES_H */
/* ============================================ END OF THE INTERFACE ============================================== */

#if defined(SPMV_IMPLEMENTATION) && !defined(SPMV_FEATURES_IMPLEMENTED)
#define SPMV_FEATURES_IMPLEMENTED

/* ---- features ------------------------------------------------------------------------------------------------------ */

static void spmv__look_free(spmv__look *l)
{
    spmv_free(l->h, l->len);
    spmv_free(l->h, l->low);
    spmv_free(l->h, l->high);
    spmv_free(l->h, l->longer);
}

/* Fills in the length of row r and its first and last column, and adds it to the totals. */
static void spmv__look_at_row(spmv__look *l, uint64_t r)
{
    const spmv_csr *a = l->v->a;
    uint64_t k, n = 0, end = a->ptr[r + 1];
    l->low[r] = 1;
    if (!l->v->owner) {
        n = end - a->ptr[r];
        if (n) l->low[r] = a->col[a->ptr[r]], l->high[r] = a->col[end - 1];
    } else {
        for (k = a->ptr[r]; k < end; k++) {
            if (!spmv__mine(l->v, k)) continue;
            if (!n++) l->low[r] = a->col[k];
            l->high[r] = a->col[k];
        }
    }
    l->len[r] = (uint32_t)n;
    l->nnz += n;
    l->rows += n != 0;
    if (n > l->longest) l->longest = n;
}

/* The square root by Newton's method; 0 for what is not positive. */
static double spmv__square_root(double v)
{
    double r = v > 1 ? v : 1;
    int i;
    for (i = 0; i < 60; i++) r = (r + v / r) / 2;
    return v > 0 ? r : 0;
}

/* sigma of Koza et al. Their equation 3 is the deviation of all row lengths, but their tables print that over the square root of the mean
 * (mc2depi: 0.076 and 4.0 give 0.04; Chebyshev4: 1061 and 78.9 give 119.46), and so does this. */
static double spmv__look_sigma(const spmv__look *l)
{
    double rows = (double)l->v->a->rows, mean = rows > 0 ? (double)l->nnz / rows : 0, squares = 0;
    uint64_t k;
    for (k = 1; k <= l->longest; k++) squares += (2 * (double)k - 1) * (double)l->longer[k];
    return mean > 0 ? spmv__square_root((squares / rows - mean * mean) / mean) : 0;
}

/* The deviation of the lengths of rows that are not empty over their mean, where longer rows than 64 means count as 64 means: those are the
 * longest of the uneven matrices that tables are measured on. */
static double spmv__look_uneven(const spmv__look *l)
{
    double rows = (double)l->rows, mean = rows > 0 ? (double)l->nnz / rows : 0, sum = 0, squares = 0;
    uint64_t k, most = spmv__smaller(l->longest, (uint64_t)(64 * mean) + 64);
    for (k = 1; k <= most; k++) {
        sum += (double)l->longer[k];
        squares += (2 * (double)k - 1) * (double)l->longer[k];
    }
    return sum > 0 ? spmv__square_root(squares / rows - sum / rows * (sum / rows)) * rows / sum : 0;
}

/* Reads the lengths of all rows and counts how many rows reach each length. Free l with spmv__look_free. */
static spmv_status spmv__look_make(spmv__look *l, const spmv_view *v, const spmv_hooks *h)
{
    void *len = NULL, *low = NULL, *high = NULL, *longer = NULL;
    uint64_t r, rows = v->a->rows;
    spmv_status s;
    memset(l, 0, sizeof *l);
    l->v = v;
    l->h = h;
    s = spmv__new(h, &len, rows + 1, 4, 0);
    if (!s) s = spmv__new(h, &low, rows + 1, 4, 0);
    if (!s) s = spmv__new(h, &high, rows + 1, 4, 0);
    l->len = (uint32_t *)len;
    l->low = (uint32_t *)low;
    l->high = (uint32_t *)high;
    for (r = 0; r < rows && !s; r++) spmv__look_at_row(l, r);
    if (!s) s = spmv__new(h, &longer, l->longest + 2, 8, 0);
    l->longer = (uint64_t *)longer;
    for (r = 0; r < rows && !s; r++) l->longer[l->len[r]]++;
    for (r = l->longest; r-- > 0 && !s;) l->longer[r] += l->longer[r + 1];
    if (s) spmv__look_free(l);
    return s;
}

/* What is left of the rows after their first w entries. w only grows, so that trying every width costs one pass over the lengths. */
typedef struct spmv__beyond_w {
    uint64_t w;
    double   rows, nnz;    /* rows that have entries left, and those entries */
    double   weighted;     /* sum over k > w of k longer[k], for the deviation */
} spmv__beyond_w;

static void spmv__beyond_begin(const spmv__look *l, spmv__beyond_w *b)
{
    uint64_t k;
    memset(b, 0, sizeof *b);
    b->rows = (double)l->rows;
    for (k = 1; k <= l->longest; k++) {
        b->nnz += (double)l->longer[k];
        b->weighted += (double)k * (double)l->longer[k];
    }
}

SPMV__SHARED void spmv__beyond_go(const spmv__look *l, spmv__beyond_w *b, uint64_t w)
{
    for (; b->w < w && b->w < l->longest; b->w++) {
        double reach = (double)l->longer[b->w + 1];
        b->nnz -= reach;
        b->weighted -= (double)(b->w + 1) * reach;
    }
    b->rows = b->w < l->longest ? (double)l->longer[b->w + 1] : 0;
}

/* The standard deviation of the entries left in those rows: the sum of the squares of k - w is that of (2 (k - w) - 1) longer[k]. */
static double spmv__beyond_deviation(const spmv__beyond_w *b)
{
    double mean, squares;
    if (b->rows <= 0) return 0;
    mean = b->nnz / b->rows;
    squares = 2 * b->weighted - (2 * (double)b->w + 1) * b->nnz;
    return spmv__square_root(squares / b->rows - mean * mean);
}

/* Estimates how scattered the reads of x are: the share of the nonzeros that miss a direct-mapped cache of 2048 lines with eight elements
 * each, which is simulated for windows of rows. */
static spmv_status spmv__look_gather(const spmv__look *l, uint64_t sample, double *gather)
{
    enum { LINES = 2048, WINDOW = 512 /* rows */ };
    const spmv_csr *a = l->v->a;
    void *block;
    uint32_t *tag;
    uint64_t windows = spmv__ceil_div(a->rows, WINDOW), step, w, r, k, seen = 0, missed = 0;
    spmv_status s = spmv__new(l->h, &block, LINES, 4, 0);
    if (s) return s;
    tag = (uint32_t *)block;
    step = l->nnz > sample ? l->nnz / sample : 1;
    for (w = step / 2 < windows ? step / 2 : 0; w < windows && seen < 2 * sample; w += step) {
        uint64_t end = (w + 1) * WINDOW < a->rows ? (w + 1) * WINDOW : a->rows, budget = seen + sample / 4 + 1;
        for (r = w * WINDOW; r < end && seen < budget; r++)
            for (k = a->ptr[r]; k < a->ptr[r + 1] && seen < budget; k++) {
                uint32_t line = a->col[k] / 8 + 1;
                if (!spmv__mine(l->v, k)) continue;
                seen++;
                if (tag[line % LINES] == line) continue;
                tag[line % LINES] = line;
                missed++;
            }
    }
    *gather = seen ? (double)missed / (double)seen : 0;
    spmv_free(l->h, block);
    return SPMV_OK;
}

/* Fills in the histograms of diagonals by how full they are, and counts diagonals and bands. */
static spmv_status spmv__look_diagonals(const spmv__look *l, spmv_features *f)
{
    spmv__diagonals d;
    uint64_t at = 0, number, held, before = 0;
    spmv_status s = spmv__diagonals_count(&d, l->v, l->h);
    if (s) return s;
    for (; spmv__diagonals_next(&d, &at, &number, &held); before = number) {
        int bin = (int)((double)held * (double)SPMV_FILL_BINS / (double)spmv__diagonal_length(l->v->a, number));
        f->bands += !f->diagonals || number != before + 1;
        f->diagonals++;
        f->diagonal_nnz[bin] += (double)held;
        f->diagonal_count[bin]++;
    }
    spmv__diagonals_free(&d, l->h);
    return SPMV_OK;
}

/* Where the blocks of one block row are collected. */
typedef struct spmv__block_scratch {
    uint32_t   *stamp, *slot;  /* for each block column: the block row that used it last, its place in load; NULL: too many of them */
    spmv__pair *seen;          /* used instead of stamp and slot: the block column of each nonzero, which are then sorted */
    uint32_t   *load;          /* nonzeros of each block */
    uint64_t    columns, count; /* block columns that there is room for; blocks found */
    uint32_t    now;            /* number of the block row, counted in the order in which they are read */
} spmv__block_scratch;

/* Adds the nonzeros among entries k .. end - 1, which lie in the current block row, to the blocks found. */
static void spmv__look_entries(const spmv__look *l, spmv__block_scratch *t, uint64_t k, uint64_t end, uint64_t bw)
{
    const spmv_csr *a = l->v->a;
    for (; k < end; k++) {
        uint32_t bc = spmv__block_of(a->col[k], bw);
        if (!spmv__mine(l->v, k)) continue;
        if (!t->stamp) {
            t->seen[t->count].key = bc;
            t->seen[t->count++].load = 1;
        } else if (t->stamp[bc] != t->now) {
            t->stamp[bc] = t->now;
            t->slot[bc] = (uint32_t)t->count;
            t->load[t->count++] = 1;
        } else
            t->load[t->slot[bc]]++;
    }
}

/* The first entry of a row in column c or a later one; the end of the row if there is none. */
static uint64_t spmv__entry_from(const spmv_csr *a, uint64_t row, uint64_t c)
{
    uint64_t low = a->ptr[row], n = a->ptr[row + 1] - low;
    while (n) {
        uint64_t half = n / 2;
        if (a->col[low + half] < c) {
            low += half + 1;
            n -= half + 1;
        } else
            n = half;
    }
    return low;
}

/* A number of 0 <= v < 1 for each i. Any run of successive i spreads evenly, by the golden section in units of 2^-32. */
static double spmv__spread(uint64_t i) { return (double)((uint32_t)(i + 1) * 2654435769u) / 4294967296.0; }

/* Collects the blocks of rows first .. end - 1 in a range of columns that holds about that share of the longest row. Returns the number of
 * entries in the range. */
static uint64_t spmv__look_columns(const spmv__look *l, spmv__block_scratch *t, uint64_t first, uint64_t end, uint64_t bw, double share)
{
    const uint64_t least = 32; /* entries; the blocks at both ends are read in full and would count for too much among fewer */
    const spmv_csr *a = l->v->a;
    uint64_t r, longest = first, n, taken, begin, low, high, entries = 0;
    for (r = first; r < end; r++)
        if (a->ptr[r + 1] - a->ptr[r] > a->ptr[longest + 1] - a->ptr[longest]) longest = r;
    n = a->ptr[longest + 1] - a->ptr[longest];
    if (!n) return 0;
    taken = (uint64_t)(share * (double)n) + 1;
    taken = spmv__smaller(taken < least ? least : taken, n);
    begin = a->ptr[longest] + (uint64_t)(spmv__spread(first) * (double)(n - taken + 1));
    low = spmv__block_of(a->col[begin], bw) * bw;
    high = (spmv__block_of(a->col[begin + taken - 1], bw) + (uint64_t)1) * bw;
    for (r = first; r < end; r++) {
        uint64_t from = spmv__entry_from(a, r, low), to = spmv__entry_from(a, r, high);
        spmv__look_entries(l, t, from, to, bw);
        entries += to - from;
    }
    return entries;
}

enum { SPMV__LOOK_SLICE = 32 /* block rows that are read together: the default height of slices of sbell, so that their padding shows */ };

/* Adds the blocks of one slice to b, each as weight blocks. share: the share of the columns that is read; what is found there is scaled to
 * the block row. Returns the number of entries that were read. */
static uint64_t spmv__look_slice(const spmv__look *l, spmv__block_scratch *t, uint64_t slice, double weight, double share,
                                 spmv_block_features *b)
{
    const spmv_csr *a = l->v->a;
    uint64_t bh = (uint64_t)b->bh, bw = (uint64_t)b->bw, row = slice * SPMV__LOOK_SLICE * bh, i, looked = 0;
    uint64_t stop = spmv__smaller(row + SPMV__LOOK_SLICE * bh, a->rows);
    double most = 0;
    for (; row < stop; row += bh) {
        uint64_t end = spmv__smaller(row + bh, a->rows), all = a->ptr[end] - a->ptr[row], entries = all;
        double times; /* entries of the block row for each that was read */
        if (!all) continue;
        t->count = 0;
        t->now++;
        if (share < 1) entries = spmv__look_columns(l, t, row, end, bw, share);
        else spmv__look_entries(l, t, a->ptr[row], a->ptr[end], bw);
        if (!t->stamp) {
            t->count = spmv__sort_and_merge(t->seen, t->count);
            for (i = 0; i < t->count; i++) t->load[i] = (uint32_t)t->seen[i].load;
        }
        looked += entries;
        times = entries ? (double)all / (double)entries : 0;
        for (i = 0; i < t->count; i++) b->at[t->load[i]] += weight * times;
        b->blocks += weight * times * (double)t->count;
        if (times * (double)t->count > most) most = times * (double)t->count;
    }
    b->slots += weight * most * (double)SPMV__LOOK_SLICE;
    if (most > b->widest) b->widest = most;
    return looked;
}

static uint64_t spmv__slice_entries(const spmv__look *l, uint64_t slice, uint64_t rows)
{
    const spmv_csr *a = l->v->a;
    return a->ptr[spmv__smaller((slice + 1) * rows, a->rows)] - a->ptr[slice * rows];
}

/* The row in which entry k lies; first is a row that begins at k or before. */
static uint64_t spmv__row_of(const spmv_csr *a, uint64_t first, uint64_t k)
{
    uint64_t end = a->rows;
    while (end - first > 1) {
        uint64_t middle = first + (end - first) / 2;
        if (a->ptr[middle] <= k) first = middle;
        else end = middle;
    }
    return first;
}

/* Reads a sample of the slices. All entries are divided into equal stretches, and in every step-th stretch one entry is picked, at a place
 * that differs from stretch to stretch; the slice around it is read. So no slice is in every sample, no pattern of the matrix hides from
 * it, and other block heights read the same rows, which are then in the cache. A slice is picked in proportion to its entries, and its
 * weight makes up for that: its blocks count for the entries that it stands for. most: the most entries that are read of one slice. */
static void spmv__look_picked(const spmv__look *l, spmv__block_scratch *t, uint64_t stretches, uint64_t step, uint64_t most,
                              spmv_block_features *b)
{
    const spmv_csr *a = l->v->a;
    const double stretch = (double)a->nnz / (double)stretches;
    uint64_t rows = SPMV__LOOK_SLICE * (uint64_t)b->bh, i, row = 0, slice = UINT64_MAX, times = 0, group;
    for (group = 0; group < stretches + step; group += step) { /* the last one is past the end and only completes a slice */
        uint64_t next = UINT64_MAX;
        i = group + group / step % step;
        if (i < stretches) {
            row = spmv__row_of(a, row, (uint64_t)(((double)i + spmv__spread(i)) * stretch));
            next = row / rows;
        }
        if (next != slice && times) {
            double entries = (double)spmv__slice_entries(l, slice, rows);
            b->sampled += (double)spmv__look_slice(l, t, slice, (double)times * stretch / entries, (double)most / entries, b);
            times = 0;
        }
        slice = next;
        times++;
    }
}

/* Fills in b for one block size from slices with about sample entries, or from all, scaled to the nonzeros of the view. */
static void spmv__look_block_size(const spmv__look *l, spmv__block_scratch *t, uint64_t sample, spmv_block_features *b)
{
    const uint64_t least_picks = 8;
    const uint64_t least_stretches = 72; /* well above the picks, so that heights with few picks have them in different stretches */
    const uint64_t uneven = 4; /* times the mean: no more entries than that are read of one slice */
    const spmv_csr *a = l->v->a;
    uint64_t bh = (uint64_t)b->bh, slices = spmv__ceil_div(a->rows, SPMV__LOOK_SLICE * bh), slice, stretches, picks;
    double held = 0, scale;
    int n;
    if (t->stamp && slices * SPMV__LOOK_SLICE > UINT32_MAX - t->now) {
        memset(t->stamp, 0, (size_t)t->columns * 4);
        t->now = 0;
    }
    if (a->nnz > sample) {
        /* slices picked by their entries hold more of them than the mean, on graphs up to twice as many, so half the picks suffice */
        stretches = spmv__sat_mul(spmv__ceil_div(a->rows, SPMV__LOOK_SLICE), sample / 2) / a->nnz + 1;
        picks = stretches / bh < least_picks ? least_picks : stretches / bh;
        if (stretches < least_stretches) stretches = least_stretches;
        spmv__look_picked(l, t, stretches, stretches / picks, uneven * sample / picks + 1, b);
    } else
        for (slice = 0; slice < slices; slice++) b->sampled += (double)spmv__look_slice(l, t, slice, 1, 1, b);
    for (n = 0; n <= SPMV_FILL_BINS; n++) held += n * b->at[n];
    scale = held > 0 ? (double)l->nnz / held : 0;
    b->sampled /= (double)a->nnz;
    b->blocks *= scale;
    b->slots *= scale * (double)(b->bh * b->bw);
    for (n = 0; n <= SPMV_FILL_BINS; n++) b->at[n] *= scale;
}

/* Fills in f->block for every block size. */
static spmv_status spmv__look_blocks(const spmv__look *l, uint64_t sample, spmv_features *f)
{
    const spmv_csr *a = l->v->a;
    uint64_t columns = spmv__ceil_div(a->cols, 2) + 1, most = spmv__smaller(spmv__sat_mul(8, l->longest), l->nnz);
    void *stamp = NULL, *slot = NULL, *seen = NULL, *load = NULL;
    spmv__block_scratch t;
    int i, dense = spmv__keys_fit(a, columns);
    spmv_status s = spmv__new(l->h, &load, spmv__smaller(most, columns), 4, 0);
    if (!s && dense) s = spmv__new(l->h, &stamp, columns, 4, 0);
    if (!s && dense) s = spmv__new(l->h, &slot, columns, 4, 0);
    if (!s && !dense) s = spmv__new(l->h, &seen, most, sizeof *t.seen, 0);
    memset(&t, 0, sizeof t);
    t.columns = columns;
    t.stamp = (uint32_t *)stamp;
    t.slot = (uint32_t *)slot;
    t.seen = (spmv__pair *)seen;
    t.load = (uint32_t *)load;
    for (i = 0; i < SPMV_BLOCK_SIZES && !s; i++) spmv__look_block_size(l, &t, sample, &f->block[i]);
    spmv_free(l->h, stamp);
    spmv_free(l->h, slot);
    spmv_free(l->h, seen);
    spmv_free(l->h, load);
    return s;
}

/* The bits of all formats of a class. */
static unsigned spmv__class_bits(spmv_format_class category)
{
    unsigned bits = 0;
    int f;
    for (f = 0; f < SPMV_FORMAT_COUNT; f++)
        if (spmv_format_class_of((spmv_format)f) == category) bits |= 1u << f;
    return bits;
}

/* Fills in the features of what l has read; sample and without are those of spmv_features_make. */
static spmv_status spmv__look_features(const spmv__look *l, spmv_features *f, uint64_t sample, unsigned without)
{
    static const int sizes[][2] = {
#define X(h, w, u) { h, w },
        SPMV_BLOCK_LIST(X)
#undef X
    };
    spmv__beyond_w all;
    int i;
    spmv_status s;
    memset(f, 0, sizeof *f);
    if (!sample) sample = spmv__smaller(1u << 17, 8192 + l->nnz / 32);
    f->rows = l->v->a->rows;
    f->cols = l->v->a->cols;
    f->nnz = l->nnz;
    f->longest = l->longest;
    f->empty = f->rows - l->rows;
    f->mean = f->rows ? (double)f->nnz / (double)f->rows : 0;
    spmv__beyond_begin(l, &all);
    f->deviation = spmv__beyond_deviation(&all);
    f->sigma = spmv__look_sigma(l);
    f->uneven = spmv__look_uneven(l);
    for (i = 0; i < SPMV_BLOCK_SIZES; i++) {
        f->block[i].bh = sizes[i][0];
        f->block[i].bw = sizes[i][1];
    }
    s = spmv__look_gather(l, sample, &f->gather);
    if (!s && ~without & spmv__class_bits(SPMV_CLASS_DIAGONAL) && f->nnz) s = spmv__look_diagonals(l, f);
    if (!s && ~without & spmv__class_bits(SPMV_CLASS_BLOCK) && f->nnz) s = spmv__look_blocks(l, sample, f);
    return s;
}

SPMV_API spmv_status spmv_features_make(spmv_features *out, const spmv_view *v, uint64_t sample, unsigned without, const spmv_hooks *hooks)
{
    if (!out || !v || !v->a) return spmv__null(hooks, "spmv_features_make", !out ? "out" : !v ? "v" : "v->a", out, sizeof *out);
    spmv__look l;
    spmv_status s = spmv__look_make(&l, v, hooks);
    if (s) {
        memset(out, 0, sizeof *out);
        return s;
    }
    s = spmv__look_features(&l, out, sample, without);
    spmv__look_free(&l);
    if (s) memset(out, 0, sizeof *out);
    return s;
}
#endif /* SPMV_IMPLEMENTATION */
