/* SPDX-License-Identifier: MIT
 *
 * spmv_features.h - the features of a matrix that the choice looks at (spmv_features of spmv_formats.h).
 *
 * If you only want the interface, stop at "END OF THE INTERFACE".
 */
/* Above the guard: the bodies may be wanted although the interface was seen. What is complete is not read again. */
#if !defined(SPMV_PLAN_H) || (defined(SPMV_IMPLEMENTATION) && !defined(SPMV_PLAN_IMPLEMENTED))
#include "spmv_plan.h"
#endif
#ifndef SPMV_FEATURES_H
#define SPMV_FEATURES_H

#ifdef __cplusplus
extern "C" {
#endif

/* Finds the features of a matrix, or of those of its nonzeros that a view shows. Rows and diagonals are read once; blocks, and how x is
 * read, are estimated from samples.
 *   out      the features; on failure zeroed
 *   v        the view; its row list is ignored
 *   sample   nonzeros in the sample for each block size; 0: a 64th of them and 8192 more, at most 2^16. Shares found in blocks err by
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
    spmv_free(l->h, l->known);
}

/* What the shares of spmv__look_make find: the nonzeros and the rows that are not empty of each, and its longest row. */
typedef struct spmv__look_totals {
    spmv__look *l;
    uint64_t    shares, nnz[SPMV__MOST_SHARES], rows[SPMV__MOST_SHARES], longest[SPMV__MOST_SHARES];
} spmv__look_totals;

/* Fills in the length of row r and its first and last column; returns the length. */
static uint64_t spmv__look_at_row(const spmv__look *l, uint64_t r)
{
    const spmv_csr *a = l->v->a;
    uint64_t k, n = 0, end = a->ptr[r + 1];
    l->low[r] = 1;
    l->high[r] = 0;
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
    return n;
}

/* Reads the rows of a share. */
static void spmv__look_share(void *job, uint64_t share)
{
    spmv__look_totals *t = (spmv__look_totals *)job;
    const spmv_csr *a = t->l->v->a;
    uint64_t r = spmv__share_row(a->ptr, a->rows, share, t->shares), end = spmv__share_row(a->ptr, a->rows, share + 1, t->shares);
    uint64_t nnz = 0, rows = 0, longest = 0;
    for (; r < end; r++) {
        uint64_t n = spmv__look_at_row(t->l, r);
        nnz += n;
        rows += n != 0;
        if (n > longest) longest = n;
    }
    t->nnz[share] = nnz;
    t->rows[share] = rows;
    t->longest[share] = longest;
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

/* Reads all rows, in shares, and adds up what they find. */
static void spmv__look_read(spmv__look *l)
{
    spmv__look_totals t;
    const spmv_csr *a = l->v->a;
    uint64_t i;
    t.l = l;
    t.shares = spmv__share_count(a->rows + (l->v->owner ? a->nnz : 0));
    spmv__share_out(spmv__look_share, &t, t.shares);
    for (i = 0; i < t.shares; i++) {
        l->nnz += t.nnz[i];
        l->rows += t.rows[i];
        if (t.longest[i] > l->longest) l->longest = t.longest[i];
    }
}

/* Reads the lengths of all rows and counts how many rows reach each length. Free l with spmv__look_free. */
static spmv_status spmv__look_make(spmv__look *l, const spmv_view *v, const spmv_hooks *h)
{
    void *len = NULL, *low = NULL, *high = NULL, *longer = NULL, *known = NULL;
    uint64_t r, rows = v->a->rows;
    spmv_status s;
    memset(l, 0, sizeof *l);
    l->v = v;
    l->h = h;
    s = spmv__room(h, &len, rows + 1, 4);
    if (!s) s = spmv__room(h, &low, rows + 1, 4);
    if (!s) s = spmv__room(h, &high, rows + 1, 4);
    if (!s) s = spmv__new(h, &known, 1, sizeof *l->known, 0);
    l->len = (uint32_t *)len;
    l->low = (uint32_t *)low;
    l->high = (uint32_t *)high;
    l->known = (spmv__look_known *)known;
    if (!s) spmv__look_read(l);
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
 * each, which is simulated for windows of rows. Lines are spread over the cache by a hash, so that columns that are powers of two apart do
 * not displace each other, as they do not in caches with several ways. */
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
                uint32_t line = a->col[k] / 8 + 1, at = (uint32_t)(line * 2654435769u) >> 21; /* the golden section; 11 bits */
                if (!spmv__mine(l->v, k)) continue;
                seen++;
                if (tag[at % LINES] == line) continue;
                tag[at % LINES] = line;
                missed++;
            }
    }
    *gather = seen ? (double)missed / (double)seen : 0;
    spmv_free(l->h, block);
    return SPMV_OK;
}

/* A number of 0 <= v < 1 for each i. Any run of successive i spreads evenly, by the golden section in units of 2^-32. */
static double spmv__spread(uint64_t i) { return (double)((uint32_t)(i + 1) * 2654435769u) / 4294967296.0; }

enum { SPMV__DIAGONAL_WINDOW = 8 /* rows of a window that is read or left out: few, so that windows are many */ };

/* Counts the nonzeros of each diagonal in every step-th window of rows. */
static spmv_status spmv__diagonals_sample(spmv__diagonals *d, const spmv_view *v, uint64_t step, const spmv_hooks *h)
{
    const spmv_csr *a = v->a;
    void *block;
    uint64_t w, r, k;
    spmv_status s;
    memset(d, 0, sizeof *d);
    d->numbers = a->rows + a->cols;
    s = spmv__new(h, &block, d->numbers, 4, 0);
    if (s) return s;
    d->place = (uint32_t *)block;
    for (w = 0; w * SPMV__DIAGONAL_WINDOW < a->rows; w += step) {
        /* within each group of step windows another one is taken, so that no pattern of the matrix hides from the sample */
        uint64_t first = (w + (uint64_t)(spmv__spread(w / step) * (double)step)) * SPMV__DIAGONAL_WINDOW;
        for (r = first; r < first + SPMV__DIAGONAL_WINDOW && r < a->rows; r++)
            for (k = a->ptr[r]; k < a->ptr[r + 1]; k++)
                if (spmv__mine(v, k)) d->place[a->col[k] + a->rows - 1 - r]++;
    }
    return SPMV_OK;
}

/* Fills in the histograms of diagonals by how full they are, and counts diagonals and bands. Each nonzero counted in d stands for times of
 * them. */
static void spmv__look_histogram(const spmv__look *l, const spmv__diagonals *d, uint64_t times, spmv_features *f)
{
    uint64_t at = 0, number, held, before = 0;
    f->diagonals = f->bands = 0;
    memset(f->diagonal_nnz, 0, sizeof f->diagonal_nnz);
    memset(f->diagonal_count, 0, sizeof f->diagonal_count);
    for (; spmv__diagonals_next(d, &at, &number, &held); before = number) {
        uint64_t length = spmv__diagonal_length(l->v->a, number), full = spmv__smaller(held * times, length);
        int bin = (int)((double)full * (double)SPMV_FILL_BINS / (double)length);
        f->bands += !f->diagonals || number != before + 1;
        f->diagonals++;
        f->diagonal_nnz[bin] += (double)full;
        f->diagonal_count[bin]++;
    }
}

/* Fills in the features of diagonals. Of a large matrix, every row is read only if a sample shows so few diagonals that the whole matrix
 * could be stored by diagonals. Otherwise the features are those of the sample: a diagonal that is filled to p is estimated with a standard
 * error of sqrt(p (1 - p) / n), where n, the number of rows in the sample, is about a thousand unless rows are very long. Diagonals with
 * few nonzeros may then be missing. */
static spmv_status spmv__look_diagonals(const spmv__look *l, spmv_features *f)
{
    const uint64_t sample = 1u << 16; /* nonzeros */
    const double   dense = 8;         /* slots for each nonzero: more are never worth it */
    const uint64_t rows = l->v->a->rows;
    spmv__diagonals d;
    spmv_status s;
    if (l->nnz >= 2 * sample && spmv__keys_fit(l->v->a, rows + l->v->a->cols)) {
        s = spmv__diagonals_sample(&d, l->v, l->nnz / sample, l->h);
        if (s) return s;
        spmv__look_histogram(l, &d, l->nnz / sample, f);
        spmv__diagonals_free(&d, l->h);
        if ((double)f->diagonals * (double)rows > dense * (double)l->nnz) return SPMV_OK;
    }
    s = spmv__diagonals_count(&d, l->v, l->h);
    if (s) return s;
    spmv__look_histogram(l, &d, 1, f);
    spmv__diagonals_free(&d, l->h);
    return SPMV_OK;
}

/* Adds the blocks of a block row to b, as long as the walk w goes; returns their number. Each counts for weight blocks. */
static uint64_t spmv__look_walk(spmv__blocks *w, double weight, spmv_block_features *b)
{
    uint64_t n = 0;
    for (; spmv__blocks_next(w) != SPMV__NO_BLOCK; n++) b->at[spmv__blocks_load(w)] += weight;
    return n;
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

/* Limits a walk over rows first .. end - 1 to a range of columns that holds about that share of the longest row. Returns the number of
 * entries in the range. */
static uint64_t spmv__look_columns(spmv__blocks *w, uint64_t first, uint64_t end, double share)
{
    const uint64_t least = 32; /* entries; the blocks at both ends are read in full and would count for too much among fewer */
    const spmv_csr *a = w->v->a;
    uint64_t i, r, longest = first, n, taken, begin, low, high, entries = 0;
    for (r = first; r < end; r++)
        if (a->ptr[r + 1] - a->ptr[r] > a->ptr[longest + 1] - a->ptr[longest]) longest = r;
    n = a->ptr[longest + 1] - a->ptr[longest];
    if (!n) return 0;
    taken = (uint64_t)(share * (double)n) + 1;
    taken = spmv__smaller(taken < least ? least : taken, n);
    begin = a->ptr[longest] + (uint64_t)(spmv__spread(first) * (double)(n - taken + 1));
    low = spmv__block_of(a->col[begin], w->bw) * w->bw;
    high = (spmv__block_of(a->col[begin + taken - 1], w->bw) + (uint64_t)1) * w->bw;
    for (i = 0, r = first; r < end; i++, r++) {
        uint64_t from = spmv__entry_from(a, r, low);
        w->end[i] = spmv__entry_from(a, r, high);
        entries += w->end[i] - from;
        spmv__blocks_move(w, i, from);
    }
    return entries;
}

enum { SPMV__LOOK_SLICE = 32 /* block rows that are read together: the default height of slices of sbell, so that their padding shows */ };

/* Adds the blocks of one slice to b, each as weight blocks. share: the share of the columns that is read; what is found there is scaled to
 * the block row. Returns the number of entries that were read. */
static uint64_t spmv__look_slice(const spmv__look *l, uint64_t slice, double weight, double share, spmv_block_features *b)
{
    const spmv_csr *a = l->v->a;
    uint64_t bh = (uint64_t)b->bh, row = slice * SPMV__LOOK_SLICE * bh, looked = 0;
    uint64_t stop = spmv__smaller(row + SPMV__LOOK_SLICE * bh, a->rows);
    double most = 0;
    for (; row < stop; row += bh) {
        uint64_t end = spmv__smaller(row + bh, a->rows), all = a->ptr[end] - a->ptr[row], entries = all;
        double times, found; /* entries of the block row for each that was read; its blocks */
        spmv__blocks w;
        if (!all) continue;
        spmv__blocks_begin(&w, l->v, row, bh, (uint64_t)b->bw);
        if (share < 1) entries = spmv__look_columns(&w, row, end, share);
        looked += entries;
        times = entries ? (double)all / (double)entries : 0;
        found = times * (double)spmv__look_walk(&w, weight * times, b);
        b->blocks += weight * found;
        if (found > most) most = found;
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
static void spmv__look_picked(const spmv__look *l, uint64_t stretches, uint64_t step, uint64_t most, spmv_block_features *b)
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
            b->sampled += (double)spmv__look_slice(l, slice, (double)times * stretch / entries, (double)most / entries, b);
            times = 0;
        }
        slice = next;
        times++;
    }
}

/* The row of the view that has the most nonzeros; the first of several. */
static uint64_t spmv__look_longest(const spmv__look *l)
{
    uint64_t r = 0;
    while (r + 1 < l->v->a->rows && l->len[r] < l->longest) r++;
    return r;
}

/* Reads the block row of the longest row, which hardly any sample has, so that b->widest and the padding of its slice are right.
 * most: as in spmv__look_picked. */
static void spmv__look_widest(const spmv__look *l, uint64_t most, spmv_block_features *b)
{
    const spmv_csr *a = l->v->a;
    uint64_t bh = (uint64_t)b->bh, row = spmv__look_longest(l) / bh * bh, end = spmv__smaller(row + bh, a->rows);
    uint64_t all = a->ptr[end] - a->ptr[row], entries = all;
    spmv_block_features found;
    spmv__blocks w;
    double blocks;
    memset(&found, 0, sizeof found);
    spmv__blocks_begin(&w, l->v, row, bh, (uint64_t)b->bw);
    if (all > most) entries = spmv__look_columns(&w, row, end, (double)most / (double)all);
    blocks = entries ? (double)all / (double)entries * (double)spmv__look_walk(&w, 0, &found) : 0;
    if (blocks <= b->widest) return;
    b->slots += (blocks - b->widest) * (double)SPMV__LOOK_SLICE;
    b->widest = blocks;
}

/* Fills in b for one block size from slices with about sample entries, or from all, scaled to the nonzeros of the view. */
static void spmv__look_block_size(const spmv__look *l, uint64_t sample, spmv_block_features *b)
{
    const uint64_t least_picks = 8;
    const uint64_t least_stretches = 72; /* well above the picks, so that heights with few picks have them in different stretches */
    const uint64_t uneven = 4; /* times the mean: no more entries than that are read of one slice */
    const spmv_csr *a = l->v->a;
    uint64_t bh = (uint64_t)b->bh, slices = spmv__ceil_div(a->rows, SPMV__LOOK_SLICE * bh), slice, stretches, picks;
    double held = 0, scale;
    int n;
    if (a->nnz > sample) {
        /* slices picked by their entries hold more of them than the mean, on graphs up to twice as many, so half the picks suffice */
        stretches = spmv__sat_mul(spmv__ceil_div(a->rows, SPMV__LOOK_SLICE), sample / 2) / a->nnz + 1;
        picks = stretches / bh < least_picks ? least_picks : stretches / bh;
        if (stretches < least_stretches) stretches = least_stretches;
        spmv__look_picked(l, stretches, stretches / picks, uneven * sample / picks + 1, b);
    } else
        for (slice = 0; slice < slices; slice++) b->sampled += (double)spmv__look_slice(l, slice, 1, 1, b);
    for (n = 0; n <= SPMV_FILL_BINS; n++) held += n * b->at[n];
    scale = held > 0 ? (double)l->nnz / held : 0;
    b->sampled /= (double)a->nnz;
    b->blocks *= scale;
    b->slots *= scale;
    if (b->sampled < 1) spmv__look_widest(l, sample, b);
    b->slots *= (double)(b->bh * b->bw);
    for (n = 0; n <= SPMV_FILL_BINS; n++) b->at[n] *= scale;
}

/* What is known when the features of blocks are found: each block size is a share. */
typedef struct spmv__look_sizes {
    const spmv__look *l;
    uint64_t          sample;
    spmv_features    *f;
} spmv__look_sizes;

static void spmv__look_size_share(void *job, uint64_t share)
{
    const spmv__look_sizes *c = (const spmv__look_sizes *)job;
    spmv__look_block_size(c->l, c->sample, &c->f->block[share]);
}

/* Fills in f->block for every block size. */
static void spmv__look_blocks(const spmv__look *l, uint64_t sample, spmv_features *f)
{
    spmv__look_sizes c;
    uint64_t i;
    c.l = l;
    c.sample = sample;
    c.f = f;
    if (spmv__smaller(sample, l->nnz) * SPMV_BLOCK_SIZES >= SPMV__SHARE) spmv__share_out(spmv__look_size_share, &c, SPMV_BLOCK_SIZES);
    else
        for (i = 0; i < SPMV_BLOCK_SIZES; i++) spmv__look_size_share(&c, i); /* not worth threads */
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
    if (!sample) sample = spmv__smaller(1u << 16, 8192 + l->nnz / 64);
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
    if (!s && ~without & spmv__class_bits(SPMV_CLASS_BLOCK) && f->nnz) spmv__look_blocks(l, sample, f);
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
