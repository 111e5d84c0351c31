/* SPDX-License-Identifier: MIT
 *
 * spmv/choice/features.h - the features of a matrix that the choice looks at (spmv_features of spmv_formats.h).
 */
#ifndef SPMV__CHOICE_FEATURES_H
#define SPMV__CHOICE_FEATURES_H

#include "../choice.h"
#include "../plan/builders.h"

/* ---- features ------------------------------------------------------------------------------------------------------ */

static void spmv__analysis_free(spmv__analysis *analysis)
{
    spmv_free(analysis->hooks, analysis->len);
    spmv_free(analysis->hooks, analysis->longer);
    spmv_free(analysis->hooks, analysis->known);
    memset(analysis, 0, sizeof *analysis);
}

/* What the shares of spmv__analysis_make find: the nonzeros of each, the length of its longest row, and the first row of the group of
 * SPMV__ANALYSIS_FEW that has it. */
typedef struct spmv__analysis_totals {
    spmv__analysis *analysis;
    uint64_t    shares, nnz[SPMV__MOST_SHARES], longest[SPMV__MOST_SHARES], at[SPMV__MOST_SHARES];
    uint32_t   *brief; /* for each share: how many of its rows have each length, twice [SPMV__BRIEF]: of rows with even and with odd
                          numbers, as two counters that take turns need not wait for each other. The last place is of that length and
                          all longer ones */
} spmv__analysis_totals;

enum { SPMV__BRIEF = 256 /* lengths: those of most rows are shorter, and need one pass */ };

/* The first row of a share, where a group of SPMV__ANALYSIS_FEW rows begins. */
static uint64_t spmv__analysis_begin(const spmv__analysis_totals *totals, uint64_t share)
{
    const spmv_csr *a = totals->analysis->view->a;
    uint64_t first = a->rows / totals->shares * share + a->rows % totals->shares * share / totals->shares;
    if (totals->analysis->view->owner) first = spmv__share_row(a->ptr, a->rows, share, totals->shares);
    return share == totals->shares ? a->rows : first / SPMV__ANALYSIS_FEW * SPMV__ANALYSIS_FEW;
}

/* Counts a whole group of rows of a view of the whole matrix in the counters of a share, at once if all are of equal length, as in most
 * matrices of meshes. Returns the length of the longest. */
SPMV__INLINE uint64_t spmv__analysis_group(const uint64_t *ptr, uint32_t *brief)
{
    uint64_t n[SPMV__ANALYSIS_FEW], i, most = 0, differ = 0;
    for (i = 0; i < SPMV__ANALYSIS_FEW; i++) {
        n[i] = ptr[i + 1] - ptr[i];
        most = n[i] > most ? n[i] : most;
        differ |= n[i] ^ n[0];
    }
    if (!differ) brief[most < SPMV__BRIEF ? most : SPMV__BRIEF - 1] += SPMV__ANALYSIS_FEW;
    for (i = 0; differ && i < SPMV__ANALYSIS_FEW; i++) brief[(i & 1) * SPMV__BRIEF + (n[i] < SPMV__BRIEF ? n[i] : SPMV__BRIEF - 1)]++;
    return most;
}

/* Fills in the lengths of the rows of a share. */
static void spmv__analysis_share(void *job, uint64_t share)
{
    spmv__analysis_totals *totals = (spmv__analysis_totals *)job;
    const spmv_view *view = totals->analysis->view;
    const uint64_t *ptr = view->a->ptr;
    uint32_t *len = totals->analysis->len, *brief = totals->brief + share * 2 * SPMV__BRIEF; /* len: NULL if the view shows all */
    uint64_t r = spmv__analysis_begin(totals, share), end = spmv__analysis_begin(totals, share + 1), k, nnz = 0, longest = 0, at = r;
    while (r < end) {
        const uint64_t first = r, stop = spmv__smaller(r + SPMV__ANALYSIS_FEW, end);
        uint64_t most = 0;
        if (!view->owner && stop - first == SPMV__ANALYSIS_FEW) {
            most = spmv__analysis_group(ptr + first, brief);
            nnz += ptr[stop] - ptr[first];
            r = stop;
        }
        for (; r < stop; r++) {
            uint64_t n = ptr[r + 1] - ptr[r];
            if (view->owner)
                for (n = 0, k = ptr[r]; k < ptr[r + 1]; k++) n += (uint64_t)(view->owner[k] == view->part);
            if (len) len[r] = (uint32_t)n;
            nnz += n;
            most = n > most ? n : most;
            brief[(r & 1) * SPMV__BRIEF + (n < SPMV__BRIEF ? n : SPMV__BRIEF - 1)]++;
        }
        totals->analysis->tallest[first / SPMV__ANALYSIS_FEW] = (uint32_t)most;
        if (most > longest) {
            longest = most;
            at = first;
        }
    }
    totals->nnz[share] = nnz;
    totals->longest[share] = longest;
    totals->at[share] = at;
}

/* The standard deviation of the lengths of so many rows, where empty ones count as far as they are among them, and rows longer than most
 * as that long. *mean: of these lengths. */
static double spmv__analysis_deviation(const spmv__analysis *analysis, uint64_t rows, uint64_t most, double *mean)
{
    double sum = 0, squares = 0;
    uint64_t k;
    for (k = 1; k <= spmv__smaller(analysis->longest, most); k++) {
        sum += (double)analysis->longer[k];
        squares += (2 * (double)k - 1) * (double)analysis->longer[k];
    }
    *mean = rows ? sum / (double)rows : 0;
    return rows ? spmv__square_root(squares / (double)rows - *mean * *mean) : 0;
}


/* How uneven rows are for products on the host, where a processor mispredicts how long they are: the share whose length is not that of the
 * row before, in rows from several places; rows that are not short are alike ([M31] of docs/measurements.md). */
static double spmv__analysis_changes(const spmv__analysis *analysis)
{
    enum { PLACES = 8, ROWS = 8192, SHORT = 8 };
    const uint64_t rows = analysis->view->a->rows, step = spmv__ceil_div(rows, PLACES);
    uint64_t first, r, n, before, seen = 0, changes = 0;
    for (first = 0; first < rows; first += step) {
        before = spmv__smaller(spmv__analysis_len(analysis, first), SHORT);
        for (r = first + 1; r < spmv__smaller(first + spmv__smaller(step, ROWS), rows); r++, seen++) {
            n = spmv__smaller(spmv__analysis_len(analysis, r), SHORT);
            changes += n != before;
            before = n;
        }
    }
    return seen ? (double)changes / (double)seen : 0;
}

/* Fills in the features of row lengths. */
static void spmv__analysis_rows(const spmv__analysis *analysis, spmv_features *features)
{
    const double nonempty = analysis->rows ? (double)analysis->nnz / (double)analysis->rows : 0;
    const uint64_t most = 64; /* times the mean: longer rows count as that long, as what they cost beyond is that of the longest row */
    double mean;
    features->longest = analysis->longest;
    features->empty = features->rows - analysis->rows;
    features->mean = features->rows ? (double)analysis->nnz / (double)features->rows : 0;
    features->deviation = spmv__analysis_deviation(analysis, analysis->rows, analysis->longest, &mean);
    if (analysis->device_class == SPMV_DEVICE_CLASS_HOST) features->uneven = spmv__analysis_changes(analysis);
    else if (analysis->nnz)
        features->uneven = spmv__analysis_deviation(analysis, analysis->rows, (uint64_t)((double)most * nonempty) + most, &mean) / mean;
}

/* Reads all rows, in shares, and adds up what they find. totals->brief must be freed. */
static spmv_status spmv__analysis_read(spmv__analysis_totals *totals)
{
    spmv__analysis *analysis = totals->analysis;
    uint64_t i;
    void *brief;
    spmv_status s;
    totals->shares = spmv__share_count(analysis->view->a->rows + (analysis->view->owner ? analysis->view->a->nnz : 0));
    s = spmv__new(analysis->hooks, &brief, totals->shares * 2 * SPMV__BRIEF, sizeof *totals->brief, 0);
    totals->brief = (uint32_t *)brief;
    if (s) return s;
    spmv__share_out(spmv__analysis_share, totals, totals->shares);
    analysis->rows = analysis->view->a->rows;
    for (i = 0; i < totals->shares; i++) {
        analysis->nnz += totals->nnz[i];
        if (totals->longest[i] > analysis->longest) {
            analysis->longest = totals->longest[i];
            analysis->longest_row = totals->at[i];
        }
        analysis->rows -= totals->brief[2 * i * SPMV__BRIEF] + totals->brief[(2 * i + 1) * SPMV__BRIEF];
    }
    while (analysis->longest && spmv__analysis_len(analysis, analysis->longest_row) < analysis->longest) analysis->longest_row++;
    return SPMV_OK;
}

/* Counts the rows that the first pass did not count one by one, those of SPMV__BRIEF - 1 nonzeros and more. Only groups of rows are looked
 * at that have such a row. */
static void spmv__analysis_count_long(const spmv__analysis *analysis)
{
    const uint64_t rows = analysis->view->a->rows, few = spmv__ceil_div(rows, SPMV__ANALYSIS_FEW);
    uint64_t i, r, n;
    for (i = 0; i < few; i++) {
        if (analysis->tallest[i] < SPMV__BRIEF - 1) continue;
        for (r = i * SPMV__ANALYSIS_FEW; r < spmv__smaller((i + 1) * SPMV__ANALYSIS_FEW, rows); r++) {
            n = spmv__analysis_len(analysis, r);
            analysis->longer[n] += (uint64_t)(n >= SPMV__BRIEF - 1);
        }
    }
}

/* Makes analysis->longer by the counts of the first pass, and those of longer rows. */
static spmv_status spmv__analysis_count(const spmv__analysis_totals *totals)
{
    spmv__analysis *analysis = totals->analysis;
    const uint64_t lengths = analysis->longest + 1, brief = spmv__smaller(lengths, SPMV__BRIEF - 1);
    uint64_t i, r;
    void *longer;
    spmv_status s = spmv__new(analysis->hooks, &longer, lengths + 1, 8, 0);
    analysis->longer = (uint64_t *)longer;
    if (s) return s;
    for (i = 0; i < 2 * totals->shares; i++)
        for (r = 0; r < brief; r++) analysis->longer[r] += totals->brief[i * SPMV__BRIEF + r];
    if (lengths > brief) spmv__analysis_count_long(analysis);
    for (i = lengths; i-- > 1;) analysis->longer[i - 1] += analysis->longer[i];
    return SPMV_OK;
}

/* Reads the lengths of all rows and counts how many rows reach each length. device_class: where products will run. Free analysis with
 * spmv__analysis_free. */
static spmv_status spmv__analysis_make(spmv__analysis *analysis, const spmv_view *view, spmv_device_class device_class,
                                       const spmv_hooks *hooks)
{
    const uint64_t rows = view->a->rows, groups = spmv__ceil_div(rows, SPMV__ANALYSIS_GROUP);
    const uint64_t few = spmv__ceil_div(rows, SPMV__ANALYSIS_FEW);
    spmv__analysis_totals totals;
    void *len = NULL, *known;
    spmv_status s = SPMV_OK;
    memset(analysis, 0, sizeof *analysis);
    analysis->view = view;
    analysis->device_class = device_class;
    analysis->hooks = hooks;
    if (view->owner) s = spmv__room(hooks, &len, rows + 1, 4);
    analysis->len = (uint32_t *)len;
    if (!s) {
        s = spmv__room(hooks, &known, 1, sizeof *analysis->known + groups * 8 + few * 4);
        analysis->known = (spmv__analysis_known *)known;
    }
    if (!s) {
        memset(analysis->known, 0, sizeof *analysis->known);
        analysis->known->low = (uint32_t *)(void *)(analysis->known + 1);
        analysis->known->high = analysis->known->low + groups;
        analysis->tallest = analysis->known->high + groups;
        totals.analysis = analysis;
        s = spmv__analysis_read(&totals);
        if (!s) s = spmv__analysis_count(&totals);
        spmv_free(hooks, totals.brief);
    }
    if (s) spmv__analysis_free(analysis);
    return s;
}

enum { SPMV__GATHER_LINES = 4096 /* the most of the caches that spmv__analysis_gather simulates */ };

/* Counts the nonzeros first .. end - 1 of a view in *seen, and in *missed those that miss a direct-mapped cache of so many bits' lines, of
 * eight elements each. Lines are spread over the cache by a hash, so that columns that are powers of two apart do not displace each other,
 * as they do not in caches with several ways. */
static void spmv__gather_window(const spmv_view *view, uint64_t first, uint64_t end, unsigned bits, uint32_t *tag, uint64_t *seen,
                                uint64_t *missed)
{
    uint64_t k;
    for (k = first; k < end; k++) {
        const uint32_t line = view->a->col[k] / 8 + 1, at = (uint32_t)(line * 2654435769u) >> (32 - bits); /* the golden section */
        if (!spmv__mine(view, k)) continue;
        ++*seen;
        *missed += tag[at] != line;
        tag[at] = line;
    }
}

/* Estimates how scattered the reads of x are, by a sample of about so many nonzeros. On a processor: the share that misses a cache, in
 * windows of rows. On a GPU, where adjacent rows are multiplied at the same time far from each other: the share that needs another line
 * than those before in the same window, which has as many nonzeros as a group's tile of tcsr ([M32] of docs/measurements.md). tag: a zero
 * for each line. */
static double spmv__analysis_gather(const spmv__analysis *analysis, uint64_t sample, uint32_t *tag)
{
    enum { BITS = 11, GPU_BITS = 12, TILE = 4096 /* nonzeros */, WINDOW = 512 /* rows */ };
    const spmv_csr *a = analysis->view->a;
    const int gpu = analysis->device_class == SPMV_DEVICE_CLASS_GPU;
    const uint64_t windows = gpu ? spmv__ceil_div(a->nnz, TILE) : spmv__ceil_div(a->rows, WINDOW);
    const uint64_t step = analysis->nnz > sample ? analysis->nnz / sample : 1;
    uint64_t w, first, end, seen = 0, missed = 0;
    for (w = step / 2 < windows ? step / 2 : 0; w < windows && seen < 2 * sample; w += step) {
        if (gpu) {
            memset(tag, 0, SPMV__GATHER_LINES * sizeof *tag);
            first = w * TILE;
            end = spmv__smaller(first + TILE, a->nnz);
        } else {
            first = a->ptr[w * WINDOW];
            end = spmv__smaller(a->ptr[spmv__smaller((w + 1) * WINDOW, a->rows)], first + sample / 4 + 1);
        }
        spmv__gather_window(analysis->view, first, end, gpu ? GPU_BITS : BITS, tag, &seen, &missed);
    }
    return seen ? (double)missed / (double)seen : 0;
}

/* A number of 0 <= v < 1 for each i. Any run of successive i spreads evenly, by the golden section in units of 2^-32. */
static double spmv__spread(uint64_t i) { return (double)((uint32_t)(i + 1) * 2654435769u) / 4294967296.0; }

/* ---- features: diagonals -------------------------------------------------------------------------------------------- */

/* How many nonzeros each diagonal of a sample holds: a table with a place for every diagonal if it is large enough, else a hash table.
 * Numbers are those of spmv__diagonals. */
typedef struct spmv__counters {
    uint64_t *place;  /* 0: free; direct: place[number] is the nonzeros; else (number + 1) << SPMV__COUNTERS_BITS | nonzeros */
    uint64_t  places; /* if hashed, a power of two, and at least twice the diagonals */
    int       direct;
} spmv__counters;

enum { SPMV__COUNTERS_BITS = 31 /* sizes are below 2^32 each, a number + 1 has 33 bits; no sample has 2^31 nonzeros on a diagonal */ };

/* Sets the size of a table for so many diagonals at most, of a matrix with so many rows and columns. */
static void spmv__counters_size(spmv__counters *counters, const spmv_csr *a, uint64_t most)
{
    const uint64_t numbers = a->rows + a->cols, cache = 1u << 14; /* places that stay in the second-level cache */
    most = spmv__smaller(most, numbers);
    for (counters->places = 64; counters->places < 2 * most || (counters->places < 4 * most && counters->places < cache);)
        counters->places *= 2;
    /* clearing and reading the places costs little beside the nonzeros */
    counters->direct = numbers <= counters->places || numbers <= a->nnz / 8;
    if (counters->direct) counters->places = numbers;
}

/* The place of a diagonal: where it is, else where it can be added. */
static uint64_t spmv__counters_at(const spmv__counters *counters, uint64_t number)
{
    uint64_t at = number;
    if (counters->direct) return at;
    at = number * 0x9e3779b97f4a7c15u >> 32 & (counters->places - 1); /* Knuth 6.4 */
    while (counters->place[at] && counters->place[at] >> SPMV__COUNTERS_BITS != number + 1) at = (at + 1) & (counters->places - 1);
    return at;
}

/* The number of the diagonal in a place that is not free. */
static uint64_t spmv__counters_number(const spmv__counters *counters, uint64_t at)
{
    return counters->direct ? at : (counters->place[at] >> SPMV__COUNTERS_BITS) - 1;
}

/* The nonzeros in a place. */
static uint64_t spmv__counters_held(const spmv__counters *counters, uint64_t at)
{
    return counters->direct ? counters->place[at] : counters->place[at] & (((uint64_t)1 << SPMV__COUNTERS_BITS) - 1);
}

/* Adds nonzeros to a diagonal. */
static void spmv__counters_add(spmv__counters *counters, uint64_t number, uint64_t nonzeros)
{
    uint64_t *place = counters->place + spmv__counters_at(counters, number);
    if (!*place && !counters->direct) *place = (number + 1) << SPMV__COUNTERS_BITS;
    *place += nonzeros;
}

/* Counts the nonzeros of rows first .. end - 1 of a view; those of rows with the same diagonals together. */
static void spmv__counters_rows(spmv__counters *counters, const spmv_view *view, uint64_t first, uint64_t end)
{
    const spmv_csr *a = view->a;
    uint64_t r, k, rows, *place;
    for (r = first; r < end; r += rows) {
        rows = spmv__moved_rows(view, r, end);
        if (counters->direct && !view->owner) {
            place = counters->place + (a->rows - 1 - r);
            for (k = a->ptr[r]; k < a->ptr[r + 1]; k++) place[a->col[k]] += rows;
        } else
            for (k = a->ptr[r]; k < a->ptr[r + 1]; k++)
                if (spmv__mine(view, k)) spmv__counters_add(counters, a->col[k] + a->rows - 1 - r, rows);
    }
}

enum { SPMV__DIAGONAL_WINDOW = 8 /* rows of a window that is read or left out: few, so that windows are many */ };

/* The first row of the w-th window of the sample. Within each group of step windows another one is taken, so that no pattern of the matrix
 * hides from the sample. */
static uint64_t spmv__diagonal_window(uint64_t w, uint64_t step)
{
    return (w * step + (uint64_t)(spmv__spread(w) * (double)step)) * SPMV__DIAGONAL_WINDOW;
}

/* The nonzeros of the matrix in the sample of every step-th window. */
static uint64_t spmv__diagonals_sampled(const spmv_csr *a, uint64_t step)
{
    uint64_t w, n = 0;
    for (w = 0; w * step * SPMV__DIAGONAL_WINDOW < a->rows; w++) {
        uint64_t first = spmv__smaller(spmv__diagonal_window(w, step), a->rows);
        n += a->ptr[spmv__smaller(first + SPMV__DIAGONAL_WINDOW, a->rows)] - a->ptr[first];
    }
    return n;
}

/* Counts the nonzeros of each diagonal in the sample. */
static void spmv__diagonals_sample(spmv__counters *counters, const spmv_view *view, uint64_t step)
{
    uint64_t w;
    for (w = 0; w * step * SPMV__DIAGONAL_WINDOW < view->a->rows; w++) {
        uint64_t first = spmv__smaller(spmv__diagonal_window(w, step), view->a->rows);
        spmv__counters_rows(counters, view, first, spmv__smaller(first + SPMV__DIAGONAL_WINDOW, view->a->rows));
    }
}

/* Adds a diagonal with so many nonzeros to the features. */
static void spmv__analysis_diagonal(const spmv__analysis *analysis, uint64_t number, uint64_t held, spmv_features *features)
{
    const uint64_t length = spmv__diagonal_length(analysis->view->a, number);
    held = spmv__smaller(held, length);
    features->diagonals++;
    if ((double)held < SPMV_FILL_DENSE * (double)length) return;
    features->dense_diagonals++;
    features->dense_diagonals_nnz += held;
}

/* Counts the diagonals of a sample of every step-th window. */
static void spmv__analysis_some_diagonals(const spmv__analysis *analysis, spmv__counters *counters, uint64_t step, spmv_features *features)
{
    uint64_t at;
    spmv__diagonals_sample(counters, analysis->view, step);
    for (at = 0; at < counters->places; at++) {
        if (!counters->place[at]) continue;
        spmv__analysis_diagonal(analysis, spmv__counters_number(counters, at), spmv__counters_held(counters, at) * step, features);
    }
}

/* Counts all diagonals instead of those of a sample, if that shows so few that the whole matrix could be stored by diagonals. */
static spmv_status spmv__analysis_more_diagonals(const spmv__analysis *analysis, spmv_features *features)
{
    const double dense = 3; /* slots for each nonzero: more are never worth it */
    spmv__diagonals diagonals;
    uint64_t at = 0, number, held;
    spmv_status s;
    if (!features->diagonals_sampled || (double)features->diagonals * (double)features->rows > dense * (double)analysis->nnz)
        return SPMV_OK;
    s = spmv__diagonals_count(&diagonals, analysis->view, analysis->hooks);
    if (s) return s;
    features->diagonals = features->dense_diagonals = features->dense_diagonals_nnz = 0;
    features->diagonals_sampled = 0;
    while (spmv__diagonals_next(&diagonals, &at, &number, &held)) spmv__analysis_diagonal(analysis, number, held, features);
    spmv__diagonals_free(&diagonals, analysis->hooks);
    return SPMV_OK;
}

/* ---- features: blocks ------------------------------------------------------------------------------------------------ */

/* Rows and columns of the blocks of each size. */
static const int spmv__block_sizes[][2] = {
#define X(h, w, u) { h, w },
    SPMV_BLOCK_LIST(X)
#undef X
};

enum { SPMV__ANALYSIS_FULL = 64 /* places of the largest block */ };

/* Adds the blocks of a block row to at, by how many nonzeros they hold, as long as the walk goes; returns their number. Each counts for
 * weight blocks. *dense: becomes the number of those with least nonzeros or more. */
static uint64_t spmv__analysis_walk(spmv__blocks *blocks, double at[SPMV__ANALYSIS_FULL + 1], double weight, int least, uint64_t *dense)
{
    uint64_t n, held;
    for (*dense = n = 0; spmv__blocks_next(blocks) != SPMV__NO_BLOCK; n++) {
        held = spmv__blocks_load(blocks);
        at[held] += weight;
        *dense += (uint64_t)(held >= (uint64_t)least);
    }
    return n;
}

/* The first entry of a row in column c or a later one; the end of the row if there is none. */
static uint64_t spmv__entry_from(const spmv_csr *a, uint64_t row, uint64_t c)
{
    const spmv_array col = { (void *)(a->col + a->ptr[row]), a->ptr[row + 1] - a->ptr[row], sizeof *a->col, 0 };
    return a->ptr[row] + spmv__below(&col, c);
}

/* Limits a walk over rows first .. end - 1 to a range of columns that holds about that share of the longest row. Returns the number of
 * entries in the range. */
static uint64_t spmv__analysis_columns(spmv__blocks *blocks, uint64_t first, uint64_t end, double share)
{
    const uint64_t least = 32; /* entries; the blocks at both ends are read in full and would count for too much among fewer */
    const spmv_csr *a = blocks->view->a;
    uint64_t i, r, longest = first, n, taken, begin, low, high, entries = 0;
    for (r = first; r < end; r++)
        if (a->ptr[r + 1] - a->ptr[r] > a->ptr[longest + 1] - a->ptr[longest]) longest = r;
    n = a->ptr[longest + 1] - a->ptr[longest];
    if (!n) return 0;
    taken = (uint64_t)(share * (double)n) + 1;
    taken = spmv__smaller(taken < least ? least : taken, n);
    begin = a->ptr[longest] + (uint64_t)(spmv__spread(first) * (double)(n - taken + 1));
    low = spmv__divide_by(blocks->by, a->col[begin]) * blocks->bw;
    high = (spmv__divide_by(blocks->by, a->col[begin + taken - 1]) + (uint64_t)1) * blocks->bw;
    for (i = 0, r = first; r < end; i++, r++) {
        uint64_t from = spmv__entry_from(a, r, low);
        blocks->end[i] = spmv__entry_from(a, r, high);
        entries += blocks->end[i] - from;
        spmv__blocks_move(blocks, i, from);
    }
    return entries;
}

enum {
    SPMV__ANALYSIS_SLICE = 32, /* block rows that are read together: the default height of slices of sbell, so that their padding shows */
    SPMV__ANALYSIS_PICKS = 8   /* the least slices of this height that are read */
};

/* Adds the blocks of one slice of height block rows to block, each as weight blocks. share: the share of the columns that is read; what is
 * found there is scaled to the block row. Returns the number of entries that were read. */
static uint64_t spmv__analysis_slice(const spmv__analysis *analysis, double at[SPMV__ANALYSIS_FULL + 1], uint64_t slice, uint64_t height,
                                     double weight, double share, spmv_block_features *block)
{
    const spmv_csr *a = analysis->view->a;
    uint64_t bh = (uint64_t)block->bh, row = slice * height * bh, looked = 0, dense;
    uint64_t stop = spmv__smaller(row + height * bh, a->rows);
    double most = 0, most_dense = 0;
    for (; row < stop; row += bh) {
        uint64_t end = spmv__smaller(row + bh, a->rows), all = a->ptr[end] - a->ptr[row], entries = all;
        double times, found; /* entries of the block row for each that was read; its blocks */
        spmv__blocks blocks;
        if (!all) continue;
        spmv__blocks_begin(&blocks, analysis->view, row, bh, (uint64_t)block->bw);
        if (share < 1) entries = spmv__analysis_columns(&blocks, row, end, share);
        looked += entries;
        times = entries ? (double)all / (double)entries : 0;
        found = times * (double)spmv__analysis_walk(&blocks, at, weight * times, block->least, &dense);
        block->blocks += weight * found;
        if (found > most) most = found;
        if (times * (double)dense > most_dense) most_dense = times * (double)dense;
    }
    block->slots += weight * most * (double)height;
    block->dense_slots += weight * most_dense * (double)height;
    if (most > block->widest) block->widest = most;
    if (most_dense > block->dense_widest) block->dense_widest = most_dense;
    return looked;
}

static uint64_t spmv__slice_entries(const spmv__analysis *analysis, uint64_t slice, uint64_t rows)
{
    const spmv_csr *a = analysis->view->a;
    return a->ptr[spmv__smaller((slice + 1) * rows, a->rows)] - a->ptr[slice * rows];
}

/* Reads a sample of the slices. All entries are divided into equal stretches, and in every step-th stretch one entry is picked, at a place
 * that differs from stretch to stretch; the slice around it is read. So no slice is in every sample, no pattern of the matrix hides from
 * it, and other block heights read the same rows, which are then in the cache. A slice is picked in proportion to its entries, and its
 * weight makes up for that: its blocks count for the entries that it stands for. most: the most entries that are read of one slice. */
static void spmv__analysis_picked(const spmv__analysis *analysis, double at[SPMV__ANALYSIS_FULL + 1], uint64_t height,
                                  uint64_t stretches, uint64_t step, uint64_t most, spmv_block_features *block)
{
    const spmv_csr *a = analysis->view->a;
    const double stretch = (double)a->nnz / (double)stretches;
    uint64_t rows = height * (uint64_t)block->bh, i, row = 0, slice = UINT64_MAX, times = 0, group;
    for (group = 0; group < stretches + step; group += step) { /* the last one is past the end and only completes a slice */
        uint64_t next = UINT64_MAX;
        i = group + group / step % step;
        if (i < stretches) {
            row = spmv__row_of(a, row, (uint64_t)(((double)i + spmv__spread(i)) * stretch));
            next = row / rows;
        }
        if (next != slice && times) {
            double entries = (double)spmv__slice_entries(analysis, slice, rows);
            block->sampled += (double)spmv__analysis_slice(analysis, at, slice, height, (double)times * stretch / entries,
                                                           (double)most / entries, block);
            times = 0;
        }
        slice = next;
        times++;
    }
}

/* Widens the widest block row that was seen. */
static void spmv__analysis_widen(double blocks, double *widest, double *slots)
{
    if (blocks <= *widest) return;
    *slots += (blocks - *widest) * (double)SPMV__ANALYSIS_SLICE;
    *widest = blocks;
}

/* Reads the block row of the longest row, which hardly any sample has, so that block->widest and the padding of its slice are right.
 * most: as in spmv__analysis_picked. */
static void spmv__analysis_widest(const spmv__analysis *analysis, double at[SPMV__ANALYSIS_FULL + 1], uint64_t most,
                                  spmv_block_features *block)
{
    const spmv_csr *a = analysis->view->a;
    uint64_t bh = (uint64_t)block->bh, row = analysis->longest_row / bh * bh, end = spmv__smaller(row + bh, a->rows);
    uint64_t all = a->ptr[end] - a->ptr[row], entries = all, dense;
    spmv__blocks sizes;
    double times, blocks;
    spmv__blocks_begin(&sizes, analysis->view, row, bh, (uint64_t)block->bw);
    if (all > most) entries = spmv__analysis_columns(&sizes, row, end, (double)most / (double)all);
    times = entries ? (double)all / (double)entries : 0;
    blocks = times * (double)spmv__analysis_walk(&sizes, at, 0, block->least, &dense);
    spmv__analysis_widen(blocks, &block->widest, &block->slots);
    spmv__analysis_widen(times * (double)dense, &block->dense_widest, &block->dense_slots);
}

/* Fills in block for one block size from slices of height block rows with about sample entries, or from all, scaled to the nonzeros of the
 * view. */
static void spmv__analysis_blocks(const spmv__analysis *analysis, uint64_t height, uint64_t sample, spmv_block_features *block)
{
    const uint64_t least_picks = height < SPMV__ANALYSIS_SLICE ? 24 : SPMV__ANALYSIS_PICKS;
    const uint64_t least_stretches = 72; /* well above the picks, so that heights with few picks have them in different stretches */
    const uint64_t uneven = 2; /* times the mean: no more entries than that are read of one slice */
    const spmv_csr *a = analysis->view->a;
    uint64_t bh = (uint64_t)block->bh, slices = spmv__ceil_div(a->rows, height * bh), slice, stretches, picks;
    double at[SPMV__ANALYSIS_FULL + 1], held = 0, scale;
    int n;
    memset(at, 0, sizeof at);
    if (a->nnz > sample) {
        /* slices picked by their entries hold more of them than the mean, on graphs up to twice as many, so half the picks suffice */
        stretches = spmv__sat_mul(spmv__ceil_div(a->rows, height), sample / 2) / a->nnz + 1;
        picks = stretches / bh < least_picks ? least_picks : stretches / bh;
        if (stretches < least_stretches) stretches = least_stretches;
        spmv__analysis_picked(analysis, at, height, stretches, stretches / picks, uneven * sample / picks + 1, block);
    } else
        for (slice = 0; slice < slices; slice++)
            block->sampled += (double)spmv__analysis_slice(analysis, at, slice, height, 1, 1, block);
    for (n = 0; n <= SPMV__ANALYSIS_FULL; n++) held += n * at[n];
    scale = held > 0 ? (double)analysis->nnz / held : 0;
    block->sampled /= (double)a->nnz;
    block->blocks *= scale;
    block->slots *= scale;
    block->dense_slots *= scale;
    if (block->sampled < 1) spmv__analysis_widest(analysis, at, sample, block);
    block->slots *= (double)(block->bh * block->bw);
    block->dense_slots *= (double)(block->bh * block->bw);
    for (n = block->least; n <= block->bh * block->bw; n++) {
        block->dense += at[n] * scale;
        block->dense_nnz += at[n] * scale * n;
    }
}

/* Are the blocks so empty that they are not worth a closer look? A product reads all slots of a block: with two of them for each nonzero
 * these are at least as many bytes as csr has. If such blocks are preferred nonetheless, they are counted. */
static int spmv__blocks_are_sparse(const spmv__analysis *analysis, const spmv_block_features *block)
{
    const double sparse = 2; /* slots for each nonzero */
    return block->blocks * (double)(block->bh * block->bw) > sparse * (double)analysis->nnz;
}

/* Fills in block for one block size. A small sample, with an error of about a seventh, comes first; where it shows that the blocks are
 * nearly empty, as in most matrices, it is enough. */
static void spmv__analysis_block_size(const spmv__analysis *analysis, uint64_t sample, spmv_block_features *block)
{
    const uint64_t few = 1024, low = 4; /* entries and block rows of the small sample */
    const spmv_block_features fresh = *block;
    if (analysis->view->a->nnz > sample) { /* however small the sample: slices of high blocks hold many times as many */
        spmv__analysis_blocks(analysis, low, few, block);
        if (spmv__blocks_are_sparse(analysis, block)) return;
        *block = fresh;
    }
    spmv__analysis_blocks(analysis, SPMV__ANALYSIS_SLICE, sample, block);
}

/* The bits of all formats of a class. */
static unsigned spmv__class_bits(spmv_format_class category)
{
    unsigned bits = 0;
    int f;
    for (f = 0; f < SPMV_FORMAT_COUNT; f++)
        if (spmv__format_class_of((spmv_format)f) == category) bits |= 1u << f;
    return bits;
}

/* ---- features: all --------------------------------------------------------------------------------------------------- */

/* The features that are found by samples, side by side: each is a share. */
enum { SPMV__SAMPLE_DIAGONALS, SPMV__SAMPLE_GATHER, SPMV__SAMPLE_BLOCKS, SPMV__SAMPLES = SPMV__SAMPLE_BLOCKS + SPMV_BLOCK_SIZES };

typedef struct spmv__analysis_samples {
    const spmv__analysis *analysis;
    spmv_features    *features;
    uint64_t          sample, every; /* nonzeros; every so many windows of rows are read for diagonals, 0: they are not wanted */
    int               blocks;        /* 1: blocks are wanted */
    spmv__counters    counters;
    uint32_t         *tag;           /* for spmv__analysis_gather */
} spmv__analysis_samples;

static void spmv__analysis_sample_share(void *job, uint64_t share, size_t thread)
{
    spmv__analysis_samples *samples = (spmv__analysis_samples *)job;
    const uint64_t gather_most = 1u << 14; /* nonzeros: the share that misses is then known to less than a hundredth */
    (void)thread;
    if (share >= SPMV__SAMPLE_BLOCKS) {
        if (!samples->blocks) return;
        spmv__analysis_block_size(samples->analysis, samples->sample, &samples->features->block[share - SPMV__SAMPLE_BLOCKS]);
    } else if (share == SPMV__SAMPLE_GATHER)
        samples->features->gather = spmv__analysis_gather(samples->analysis, spmv__smaller(samples->sample, gather_most), samples->tag);
    else if (share == SPMV__SAMPLE_DIAGONALS && samples->every)
        spmv__analysis_some_diagonals(samples->analysis, &samples->counters, samples->every, samples->features);
}

/* Finds the features that samples show: x locality, blocks if samples->blocks, and diagonals if samples->every. */
static spmv_status spmv__analysis_sample(spmv__analysis_samples *samples)
{
    const uint64_t tag_bytes = SPMV__GATHER_LINES * sizeof *samples->tag;
    void *block;
    spmv_status s;
    memset(&samples->counters, 0, sizeof samples->counters);
    if (samples->every)
        spmv__counters_size(&samples->counters, samples->analysis->view->a,
                            spmv__diagonals_sampled(samples->analysis->view->a, samples->every));
    s = spmv__new(samples->analysis->hooks, &block, samples->counters.places * 8 + tag_bytes, 1, 0);
    if (s) return s;
    samples->counters.place = (uint64_t *)block;
    samples->tag = (uint32_t *)(void *)(samples->counters.place + samples->counters.places);
    spmv__share_among(spmv__analysis_sample_share, samples, SPMV__SAMPLES,
                      spmv__share_threads(spmv__share_count(samples->analysis->nnz), SPMV__SAMPLES));
    spmv_free(samples->analysis->hooks, block);
    return SPMV_OK;
}

/* Fills in the features that are not about rows. Those of diagonals are of a sample if the matrix is large: a diagonal that is filled to p
 * is estimated with a standard error of sqrt(p (1 - p) / n), where n, the number of rows in the sample, is some hundreds unless rows are
 * very long. Diagonals with few nonzeros may be missing, so that the matrix never has fewer than the sample. */
static spmv_status spmv__analysis_samples_make(const spmv__analysis *analysis, spmv_features *features, uint64_t sample, unsigned without)
{
    const uint64_t diagonal_sample = 1u << 13; /* nonzeros */
    const int      diagonals = features->nnz && (~without & spmv__class_bits(SPMV_CLASS_DIAGONAL));
    spmv__analysis_samples samples;
    samples.analysis = analysis;
    samples.features = features;
    samples.sample = sample;
    samples.every = !diagonals ? 0 : analysis->nnz < 2 * diagonal_sample ? 1 : analysis->nnz / diagonal_sample;
    samples.blocks = features->nnz && (~without & spmv__class_bits(SPMV_CLASS_BLOCK)) != 0;
    features->diagonals_sampled = samples.every > 1;
    return spmv__analysis_sample(&samples);
}

/* Fills in the features of what analysis has read. How x is read and blocks are those of samples, and so are diagonals unless the matrix is
 * small, or has at most three times as many, in a sample and then in all, as the mean row length. A sample of n rows shows that a diagonal
 * is filled to p with a standard error of sqrt(p (1 - p) / n), where n is about 2^13 over the mean row length, and it may lack diagonals.
 *   sample   nonzeros in the sample for each block size; 0: a 128th of them and 4096 more, at most 2^15. Shares found in blocks err by
 *            about 1 / sqrt(slices in the sample)
 *   without  bits 1u << SPMV_DIA of formats that will not be used; features that only they need are left zero
 *   least    for each block size, the nonzeros of a dense block; NULL: by SPMV_FILL_DENSE */
static spmv_status spmv__analysis_features(const spmv__analysis *analysis, spmv_features *features, uint64_t sample, unsigned without,
                                           const int *least)
{
    int i;
    spmv_status s;
    memset(features, 0, sizeof *features);
    if (!sample) sample = spmv__smaller(1u << 15, 4096 + analysis->nnz / 128);
    features->rows = analysis->view->a->rows;
    features->cols = analysis->view->a->cols;
    features->nnz = analysis->nnz;
    spmv__analysis_rows(analysis, features);
    for (i = 0; i < SPMV_BLOCK_SIZES; i++) {
        spmv_block_features *block = &features->block[i];
        block->bh = spmv__block_sizes[i][0];
        block->bw = spmv__block_sizes[i][1];
        block->least = least ? least[i] : (int)(SPMV_FILL_DENSE * (block->bh * block->bw) + 0.999);
    }
    s = spmv__analysis_samples_make(analysis, features, sample, without);
    return s ? s : spmv__analysis_more_diagonals(analysis, features);
}

#endif
