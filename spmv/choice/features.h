/* SPDX-License-Identifier: MIT
 *
 * spmv/choice/features.h - the features of a matrix that the choice looks at (spmv_features of spmv_formats.h).
 */
#ifndef SPMV__CHOICE_FEATURES_H
#define SPMV__CHOICE_FEATURES_H

#include "../choice.h"
#include "../plan/builders.h"

/* ---- features ------------------------------------------------------------------------------------------------------ */

static void spmv__look_free(spmv__look *l)
{
    spmv_free(l->h, l->len);
    spmv_free(l->h, l->longer);
    spmv_free(l->h, l->known);
    memset(l, 0, sizeof *l);
}

/* What the shares of spmv__look_make find: the nonzeros of each, the length of its longest row, and the first row of the group of
 * SPMV__LOOK_FEW that has it. */
typedef struct spmv__look_totals {
    spmv__look *l;
    uint64_t    shares, nnz[SPMV__MOST_SHARES], longest[SPMV__MOST_SHARES], at[SPMV__MOST_SHARES];
    uint32_t   *brief; /* for each share: how many of its rows have each length, twice [SPMV__BRIEF]: of rows with even and with odd
                          numbers, as two counters that take turns need not wait for each other. The last place is of that length and
                          all longer ones */
} spmv__look_totals;

enum { SPMV__BRIEF = 256 /* lengths: those of most rows are shorter, and need one pass */ };

/* The first row of a share, where a group of SPMV__LOOK_FEW rows begins. */
static uint64_t spmv__look_begin(const spmv__look_totals *t, uint64_t share)
{
    const spmv_csr *a = t->l->v->a;
    uint64_t first = a->rows / t->shares * share + a->rows % t->shares * share / t->shares;
    if (t->l->v->owner) first = spmv__share_row(a->ptr, a->rows, share, t->shares);
    return share == t->shares ? a->rows : first / SPMV__LOOK_FEW * SPMV__LOOK_FEW;
}

/* Counts a whole group of rows of a view of the whole matrix in the counters of a share, at once if all are of equal length, as in most
 * matrices of meshes. Returns the length of the longest. */
SPMV__INLINE uint64_t spmv__look_group(const uint64_t *ptr, uint32_t *brief)
{
    uint64_t n[SPMV__LOOK_FEW], i, most = 0, differ = 0;
    for (i = 0; i < SPMV__LOOK_FEW; i++) {
        n[i] = ptr[i + 1] - ptr[i];
        most = n[i] > most ? n[i] : most;
        differ |= n[i] ^ n[0];
    }
    if (!differ) brief[most < SPMV__BRIEF ? most : SPMV__BRIEF - 1] += SPMV__LOOK_FEW;
    for (i = 0; differ && i < SPMV__LOOK_FEW; i++) brief[(i & 1) * SPMV__BRIEF + (n[i] < SPMV__BRIEF ? n[i] : SPMV__BRIEF - 1)]++;
    return most;
}

/* Fills in the lengths of the rows of a share. */
static void spmv__look_share(void *job, uint64_t share)
{
    spmv__look_totals *t = (spmv__look_totals *)job;
    const spmv_view *v = t->l->v;
    const uint64_t *ptr = v->a->ptr;
    uint32_t *len = t->l->len, *brief = t->brief + share * 2 * SPMV__BRIEF; /* len: NULL if the view shows all */
    uint64_t r = spmv__look_begin(t, share), end = spmv__look_begin(t, share + 1), k, nnz = 0, longest = 0, at = r;
    while (r < end) {
        const uint64_t first = r, stop = spmv__smaller(r + SPMV__LOOK_FEW, end);
        uint64_t most = 0;
        if (!v->owner && stop - first == SPMV__LOOK_FEW) {
            most = spmv__look_group(ptr + first, brief);
            nnz += ptr[stop] - ptr[first];
            r = stop;
        }
        for (; r < stop; r++) {
            uint64_t n = ptr[r + 1] - ptr[r];
            if (v->owner)
                for (n = 0, k = ptr[r]; k < ptr[r + 1]; k++) n += (uint64_t)(v->owner[k] == v->part);
            if (len) len[r] = (uint32_t)n;
            nnz += n;
            most = n > most ? n : most;
            brief[(r & 1) * SPMV__BRIEF + (n < SPMV__BRIEF ? n : SPMV__BRIEF - 1)]++;
        }
        t->l->tallest[first / SPMV__LOOK_FEW] = (uint32_t)most;
        if (most > longest) {
            longest = most;
            at = first;
        }
    }
    t->nnz[share] = nnz;
    t->longest[share] = longest;
    t->at[share] = at;
}

/* The standard deviation of the lengths of so many rows, where empty ones count as far as they are among them, and rows longer than most
 * as that long. *mean: of these lengths. */
static double spmv__look_deviation(const spmv__look *l, uint64_t rows, uint64_t most, double *mean)
{
    double sum = 0, squares = 0;
    uint64_t k;
    for (k = 1; k <= spmv__smaller(l->longest, most); k++) {
        sum += (double)l->longer[k];
        squares += (2 * (double)k - 1) * (double)l->longer[k];
    }
    *mean = rows ? sum / (double)rows : 0;
    return rows ? spmv__square_root(squares / (double)rows - *mean * *mean) : 0;
}

enum { SPMV__UNEVEN_MOST = 64 /* times the mean: longer rows count as that long, as what they cost beyond is that of the longest row */ };

/* Fills in the features of row lengths. sigma is that of Koza et al.: their equation 3 is the deviation of all row lengths, but their
 * tables print that over the square root of the mean (mc2depi: 0.076 and 4.0 give 0.04; Chebyshev4: 1061 and 78.9 give 119.46). */
static void spmv__look_rows(const spmv__look *l, spmv_features *f)
{
    const double nonempty = l->rows ? (double)l->nnz / (double)l->rows : 0;
    double mean;
    f->longest = l->longest;
    f->empty = f->rows - l->rows;
    f->sigma = spmv__look_deviation(l, f->rows, l->longest, &f->mean);
    if (f->mean > 0) f->sigma /= spmv__square_root(f->mean);
    f->deviation = spmv__look_deviation(l, l->rows, l->longest, &mean);
    f->uneven = spmv__look_deviation(l, l->rows, (uint64_t)((double)SPMV__UNEVEN_MOST * nonempty) + SPMV__UNEVEN_MOST, &mean);
    if (mean > 0) f->uneven /= mean;
}

/* Reads all rows, in shares, and adds up what they find. t->brief must be freed. */
static spmv_status spmv__look_read(spmv__look_totals *t)
{
    spmv__look *l = t->l;
    uint64_t i;
    void *brief;
    spmv_status s;
    t->shares = spmv__share_count(l->v->a->rows + (l->v->owner ? l->v->a->nnz : 0));
    s = spmv__new(l->h, &brief, t->shares * 2 * SPMV__BRIEF, sizeof *t->brief, 0);
    t->brief = (uint32_t *)brief;
    if (s) return s;
    spmv__share_out(spmv__look_share, t, t->shares);
    l->rows = l->v->a->rows;
    for (i = 0; i < t->shares; i++) {
        l->nnz += t->nnz[i];
        if (t->longest[i] > l->longest) {
            l->longest = t->longest[i];
            l->longest_row = t->at[i];
        }
        l->rows -= t->brief[2 * i * SPMV__BRIEF] + t->brief[(2 * i + 1) * SPMV__BRIEF];
    }
    while (l->longest && spmv__look_len(l, l->longest_row) < l->longest) l->longest_row++;
    return SPMV_OK;
}

/* Counts the rows that the first pass did not count one by one, those of SPMV__BRIEF - 1 nonzeros and more. Only groups of rows are looked
 * at that have such a row. */
static void spmv__look_count_long(const spmv__look *l)
{
    const uint64_t rows = l->v->a->rows, few = spmv__ceil_div(rows, SPMV__LOOK_FEW);
    uint64_t i, r, n;
    for (i = 0; i < few; i++) {
        if (l->tallest[i] < SPMV__BRIEF - 1) continue;
        for (r = i * SPMV__LOOK_FEW; r < spmv__smaller((i + 1) * SPMV__LOOK_FEW, rows); r++) {
            n = spmv__look_len(l, r);
            l->longer[n] += (uint64_t)(n >= SPMV__BRIEF - 1);
        }
    }
}

/* Makes l->longer by the counts of the first pass, and those of longer rows. */
static spmv_status spmv__look_count(const spmv__look_totals *t)
{
    spmv__look *l = t->l;
    const uint64_t lengths = l->longest + 1, brief = spmv__smaller(lengths, SPMV__BRIEF - 1);
    uint64_t i, r;
    void *longer;
    spmv_status s = spmv__new(l->h, &longer, lengths + 1, 8, 0);
    l->longer = (uint64_t *)longer;
    if (s) return s;
    for (i = 0; i < 2 * t->shares; i++)
        for (r = 0; r < brief; r++) l->longer[r] += t->brief[i * SPMV__BRIEF + r];
    if (lengths > brief) spmv__look_count_long(l);
    for (i = lengths; i-- > 1;) {
        l->weighted += (double)i * (double)l->longer[i];
        l->longer[i - 1] += l->longer[i];
    }
    return SPMV_OK;
}

/* Reads the lengths of all rows and counts how many rows reach each length. Free l with spmv__look_free. */
static spmv_status spmv__look_make(spmv__look *l, const spmv_view *v, const spmv_hooks *h)
{
    const uint64_t rows = v->a->rows, groups = spmv__ceil_div(rows, SPMV__LOOK_GROUP), few = spmv__ceil_div(rows, SPMV__LOOK_FEW);
    spmv__look_totals t;
    void *len = NULL, *known;
    spmv_status s = SPMV_OK;
    memset(l, 0, sizeof *l);
    l->v = v;
    l->h = h;
    if (v->owner) s = spmv__room(h, &len, rows + 1, 4);
    l->len = (uint32_t *)len;
    if (!s) {
        s = spmv__room(h, &known, 1, sizeof *l->known + groups * 8 + few * 4);
        l->known = (spmv__look_known *)known;
    }
    if (!s) {
        memset(l->known, 0, sizeof *l->known);
        l->known->low = (uint32_t *)(void *)(l->known + 1);
        l->known->high = l->known->low + groups;
        l->tallest = l->known->high + groups;
        t.l = l;
        s = spmv__look_read(&t);
        if (!s) s = spmv__look_count(&t);
        spmv_free(h, t.brief);
    }
    if (s) spmv__look_free(l);
    return s;
}

enum { SPMV__GATHER_LINES = 2048 /* of the cache that spmv__look_gather simulates */ };

/* Estimates how scattered the reads of x are: the share of the nonzeros that miss a direct-mapped cache with eight elements in a line,
 * which is simulated for windows of rows. Lines are spread over the cache by a hash, so that columns that are powers of two apart do not
 * displace each other, as they do not in caches with several ways. tag: a zero for each line. */
static double spmv__look_gather(const spmv__look *l, uint64_t sample, uint32_t *tag)
{
    enum { LINES = SPMV__GATHER_LINES, WINDOW = 512 /* rows */ };
    const spmv_csr *a = l->v->a;
    uint64_t windows = spmv__ceil_div(a->rows, WINDOW), step, w, r, k, seen = 0, missed = 0;
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
    return seen ? (double)missed / (double)seen : 0;
}

/* A number of 0 <= v < 1 for each i. Any run of successive i spreads evenly, by the golden section in units of 2^-32. */
static double spmv__spread(uint64_t i) { return (double)((uint32_t)(i + 1) * 2654435769u) / 4294967296.0; }

/* ---- features: diagonals -------------------------------------------------------------------------------------------- */

/* How many nonzeros each diagonal of a sample holds: a table with a place for every diagonal if it is large enough, else a hash table.
 * Numbers are those of spmv__diagonals. */
typedef struct spmv__tally {
    uint64_t *place;  /* 0: free; direct: place[number] is the nonzeros; else (number + 1) << SPMV__TALLY_BITS | nonzeros */
    uint64_t  places; /* if hashed, a power of two, and at least twice the diagonals */
    int       direct;
} spmv__tally;

enum { SPMV__TALLY_BITS = 31 /* sizes are below 2^32 each, so a number + 1 has 33 bits; no sample has 2^31 nonzeros on a diagonal */ };

/* Sets the size of a table for so many diagonals at most, of a matrix with so many rows and columns. */
static void spmv__tally_size(spmv__tally *t, const spmv_csr *a, uint64_t most)
{
    const uint64_t numbers = a->rows + a->cols, cache = 1u << 14; /* places that stay in the second-level cache */
    most = spmv__smaller(most, numbers);
    for (t->places = 64; t->places < 2 * most || (t->places < 4 * most && t->places < cache);) t->places *= 2;
    t->direct = numbers <= t->places || numbers <= a->nnz / 8; /* clearing and reading the places costs little beside the nonzeros */
    if (t->direct) t->places = numbers;
}

/* The place of a diagonal: where it is, else where it can be added. */
static uint64_t spmv__tally_at(const spmv__tally *t, uint64_t number)
{
    uint64_t at = number;
    if (t->direct) return at;
    at = number * 0x9e3779b97f4a7c15u >> 32 & (t->places - 1); /* Knuth 6.4 */
    while (t->place[at] && t->place[at] >> SPMV__TALLY_BITS != number + 1) at = (at + 1) & (t->places - 1);
    return at;
}

/* The number of the diagonal in a place that is not free. */
static uint64_t spmv__tally_number(const spmv__tally *t, uint64_t at)
{
    return t->direct ? at : (t->place[at] >> SPMV__TALLY_BITS) - 1;
}

/* The nonzeros in a place. */
static uint64_t spmv__tally_held(const spmv__tally *t, uint64_t at)
{
    return t->direct ? t->place[at] : t->place[at] & (((uint64_t)1 << SPMV__TALLY_BITS) - 1);
}

/* Adds nonzeros to a diagonal. */
static void spmv__tally_add(spmv__tally *t, uint64_t number, uint64_t nonzeros)
{
    uint64_t *place = t->place + spmv__tally_at(t, number);
    if (!*place && !t->direct) *place = (number + 1) << SPMV__TALLY_BITS;
    *place += nonzeros;
}

/* Counts the nonzeros of rows first .. end - 1 of a view; those of rows with the same diagonals together. */
static void spmv__tally_rows(spmv__tally *t, const spmv_view *v, uint64_t first, uint64_t end)
{
    const spmv_csr *a = v->a;
    uint64_t r, k, rows, *place;
    for (r = first; r < end; r += rows) {
        rows = spmv__moved_rows(v, r, end);
        if (t->direct && !v->owner) {
            place = t->place + (a->rows - 1 - r);
            for (k = a->ptr[r]; k < a->ptr[r + 1]; k++) place[a->col[k]] += rows;
        } else
            for (k = a->ptr[r]; k < a->ptr[r + 1]; k++)
                if (spmv__mine(v, k)) spmv__tally_add(t, a->col[k] + a->rows - 1 - r, rows);
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
static void spmv__diagonals_sample(spmv__tally *t, const spmv_view *v, uint64_t step)
{
    uint64_t w;
    for (w = 0; w * step * SPMV__DIAGONAL_WINDOW < v->a->rows; w++) {
        uint64_t first = spmv__smaller(spmv__diagonal_window(w, step), v->a->rows);
        spmv__tally_rows(t, v, first, spmv__smaller(first + SPMV__DIAGONAL_WINDOW, v->a->rows));
    }
}

/* Adds a diagonal with so many nonzeros to the features. */
static void spmv__look_diagonal(const spmv__look *l, uint64_t number, uint64_t held, spmv_features *f)
{
    const uint64_t length = spmv__diagonal_length(l->v->a, number);
    held = spmv__smaller(held, length);
    f->diagonals++;
    if ((double)held < SPMV_FILL_DENSE * (double)length) return;
    f->dense_diagonals++;
    f->dense_diagonals_nnz += held;
}

/* Counts the diagonals of a sample of every step-th window. */
static void spmv__look_some_diagonals(const spmv__look *l, spmv__tally *t, uint64_t step, spmv_features *f)
{
    uint64_t at;
    spmv__diagonals_sample(t, l->v, step);
    for (at = 0; at < t->places; at++) {
        const uint64_t number = t->place[at] ? spmv__tally_number(t, at) : 0;
        if (!t->place[at]) continue;
        f->bands += !number || !t->place[spmv__tally_at(t, number - 1)];
        spmv__look_diagonal(l, number, spmv__tally_held(t, at) * step, f);
    }
}

/* Counts all diagonals instead of those of a sample, if that shows so few that the whole matrix could be stored by diagonals. */
static spmv_status spmv__look_more_diagonals(const spmv__look *l, spmv_features *f)
{
    const double dense = 3; /* slots for each nonzero: more are never worth it */
    spmv__diagonals d;
    uint64_t at = 0, number, held, before = 0;
    spmv_status s;
    if (!f->diagonals_sampled || (double)f->diagonals * (double)f->rows > dense * (double)l->nnz) return SPMV_OK;
    s = spmv__diagonals_count(&d, l->v, l->h);
    if (s) return s;
    f->diagonals = f->bands = f->dense_diagonals = f->dense_diagonals_nnz = 0;
    f->diagonals_sampled = 0;
    f->diagonals_error = 0;
    while (spmv__diagonals_next(&d, &at, &number, &held)) {
        f->bands += !f->diagonals || number != before + 1;
        spmv__look_diagonal(l, number, held, f);
        before = number;
    }
    spmv__diagonals_free(&d, l->h);
    return SPMV_OK;
}

/* ---- features: blocks ------------------------------------------------------------------------------------------------ */

/* Rows and columns of the blocks of each size. */
static const int spmv__block_sizes[][2] = {
#define X(h, w, u) { h, w },
    SPMV_BLOCK_LIST(X)
#undef X
};

enum {
    SPMV__LOOK_ENTRIES = 4096, /* the most of a block row whose blocks are counted in a table, which is then small enough for the caches */
    SPMV__LOOK_ROUND   = 8,    /* the bit of a place at which the round begins: a block has less than 2^8 places */
    SPMV__LOOK_FULL    = 64    /* places of the largest block */
};

/* Counts the nonzeros of the blocks of one block row after another. */
typedef struct spmv__look_table {
    uint64_t *place;        /* block << 32 | round << SPMV__LOOK_ROUND | nonzeros; free unless the round is that of the table */
    uint64_t  places, most; /* a power of two; half of it, the most entries of a block row */
    uint16_t *used;         /* the places of this round */
    uint32_t  round;
    double    at[SPMV__LOOK_FULL + 1]; /* at[n]: blocks with n nonzeros, of all block rows so far */
} spmv__look_table;

/* The places of a table for a matrix with so many nonzeros. */
static uint64_t spmv__look_places(uint64_t nnz)
{
    uint64_t places = 16;
    while (places < 2 * spmv__smaller(nnz, SPMV__LOOK_ENTRIES)) places *= 2;
    return places;
}

/* The bytes of a table, with what it points to. The list of places has one more than the most that are used. */
static uint64_t spmv__look_bytes(uint64_t places)
{
    return sizeof(spmv__look_table) + places * 8 + spmv__round_up((places / 2 + 1) * 2, 8);
}

/* Lays count tables into a block of memory, which is zero. */
static spmv__look_table *spmv__look_lay(void *block, uint64_t count, uint64_t places)
{
    spmv__look_table *t = (spmv__look_table *)block;
    unsigned char *at = (unsigned char *)(t + count);
    uint64_t i;
    for (i = 0; i < count; i++, at += spmv__look_bytes(places) - sizeof *t) {
        t[i].places = places;
        t[i].most = places / 2;
        t[i].place = (uint64_t *)(void *)at;
        t[i].used = (uint16_t *)(void *)(t[i].place + places);
    }
    return t;
}

/* The first and the last block column that the rest of the walk can meet. */
static void spmv__look_range(const spmv__blocks *w, uint64_t *low, uint64_t *high)
{
    uint64_t i;
    *low = UINT64_MAX;
    *high = 0;
    for (i = 0; i < w->rows; i++) {
        uint64_t last;
        if (w->at[i] >= w->end[i]) continue;
        last = spmv__block_of(w->v->a->col[w->end[i] - 1], w->bw);
        *low = spmv__smaller(*low, spmv__block_of(w->next[i], w->bw));
        *high = last > *high ? last : *high;
    }
}

/* Counts the nonzeros of every block that the rest of the walk can meet, in places of the table, which t->used then lists; returns the
 * number of blocks. wide: their columns have more numbers than the table has places, so they are hashed. */
SPMV__INLINE uint64_t spmv__look_tabulate(spmv__look_table *t, const spmv__blocks *w, uint64_t low, int wide)
{
    const spmv__block_division by = spmv__block_divisor(w->bw);
    const uint32_t *col = w->v->a->col;
    const uint64_t count = ((uint64_t)1 << SPMV__LOOK_ROUND) - 1, mask = t->places - 1, round = t->round;
    uint64_t *place = t->place, n = 0, i, k;
    uint16_t *used = t->used;
    for (i = 0; i < w->rows; i++)
        for (k = w->at[i]; k < w->end[i]; k++) {
            const uint64_t block = spmv__divide_by(by, col[k]), fresh = block << 32 | round << SPMV__LOOK_ROUND;
            uint64_t at = block - low, was;
            if (!spmv__mine(w->v, k)) continue;
            if (wide) at = block * 0x9e3779b97f4a7c15u >> 32 & mask; /* Knuth 6.4 */
            for (was = place[at]; wide && ((was ^ fresh) & ~count) && (uint32_t)was >> SPMV__LOOK_ROUND == round; was = place[at])
                at = (at + 1) & mask;
            used[n] = (uint16_t)at; /* for good if the block is new; no branch depends on that, as it is as good as random */
            n += (uint64_t)(((was ^ fresh) & ~count) != 0);
            place[at] = (((was ^ fresh) & ~count) ? fresh : was) + 1;
        }
    return n;
}

/* Adds the blocks of a block row to t->at, as long as the walk w goes; returns their number. Each counts for weight blocks. entries: those
 * that are read. *dense: becomes the number of those with least nonzeros or more. Only block rows with very many are merged, which takes a
 * mispredicted branch for most blocks. */
static uint64_t spmv__look_walk(spmv__blocks *w, spmv__look_table *t, uint64_t entries, double weight, int least, uint64_t *dense)
{
    uint64_t n = 0, i, low, high, held;
    *dense = 0;
    if (entries > t->most) {
        for (; spmv__blocks_next(w) != SPMV__NO_BLOCK; n++) {
            held = spmv__blocks_load(w);
            t->at[held] += weight;
            *dense += (uint64_t)(held >= (uint64_t)least);
        }
        return n;
    }
    if (++t->round >> (32 - SPMV__LOOK_ROUND)) {
        memset(t->place, 0, (size_t)t->places * sizeof *t->place);
        t->round = 1;
    }
    spmv__look_range(w, &low, &high);
    if (low > high) return 0;
    n = high - low < t->places ? spmv__look_tabulate(t, w, low, 0) : spmv__look_tabulate(t, w, low, 1);
    for (i = 0; i < n; i++) {
        held = t->place[t->used[i]] & (((uint64_t)1 << SPMV__LOOK_ROUND) - 1);
        t->at[held] += weight;
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

enum {
    SPMV__LOOK_SLICE = 32, /* block rows that are read together: the default height of slices of sbell, so that their padding shows */
    SPMV__LOOK_PICKS = 8   /* the least slices of this height that are read */
};

/* Adds the blocks of one slice of height block rows to b, each as weight blocks. share: the share of the columns that is read; what is
 * found there is scaled to the block row. Returns the number of entries that were read. */
static uint64_t spmv__look_slice(const spmv__look *l, spmv__look_table *t, uint64_t slice, uint64_t height, double weight, double share,
                                 spmv_block_features *b)
{
    const spmv_csr *a = l->v->a;
    uint64_t bh = (uint64_t)b->bh, row = slice * height * bh, looked = 0, dense;
    uint64_t stop = spmv__smaller(row + height * bh, a->rows);
    double most = 0, most_dense = 0;
    for (; row < stop; row += bh) {
        uint64_t end = spmv__smaller(row + bh, a->rows), all = a->ptr[end] - a->ptr[row], entries = all;
        double times, found; /* entries of the block row for each that was read; its blocks */
        spmv__blocks w;
        if (!all) continue;
        spmv__blocks_begin(&w, l->v, row, bh, (uint64_t)b->bw);
        if (share < 1) entries = spmv__look_columns(&w, row, end, share);
        looked += entries;
        times = entries ? (double)all / (double)entries : 0;
        found = times * (double)spmv__look_walk(&w, t, entries, weight * times, b->least, &dense);
        b->blocks += weight * found;
        if (found > most) most = found;
        if (times * (double)dense > most_dense) most_dense = times * (double)dense;
    }
    b->slots += weight * most * (double)height;
    b->dense_slots += weight * most_dense * (double)height;
    if (most > b->widest) b->widest = most;
    if (most_dense > b->dense_widest) b->dense_widest = most_dense;
    return looked;
}

static uint64_t spmv__slice_entries(const spmv__look *l, uint64_t slice, uint64_t rows)
{
    const spmv_csr *a = l->v->a;
    return a->ptr[spmv__smaller((slice + 1) * rows, a->rows)] - a->ptr[slice * rows];
}

/* Reads a sample of the slices. All entries are divided into equal stretches, and in every step-th stretch one entry is picked, at a place
 * that differs from stretch to stretch; the slice around it is read. So no slice is in every sample, no pattern of the matrix hides from
 * it, and other block heights read the same rows, which are then in the cache. A slice is picked in proportion to its entries, and its
 * weight makes up for that: its blocks count for the entries that it stands for. most: the most entries that are read of one slice. */
static void spmv__look_picked(const spmv__look *l, spmv__look_table *t, uint64_t height, uint64_t stretches, uint64_t step, uint64_t most,
                              spmv_block_features *b)
{
    const spmv_csr *a = l->v->a;
    const double stretch = (double)a->nnz / (double)stretches;
    uint64_t rows = height * (uint64_t)b->bh, i, row = 0, slice = UINT64_MAX, times = 0, group;
    for (group = 0; group < stretches + step; group += step) { /* the last one is past the end and only completes a slice */
        uint64_t next = UINT64_MAX;
        i = group + group / step % step;
        if (i < stretches) {
            row = spmv__row_of(a, row, (uint64_t)(((double)i + spmv__spread(i)) * stretch));
            next = row / rows;
        }
        if (next != slice && times) {
            double entries = (double)spmv__slice_entries(l, slice, rows);
            b->sampled += (double)spmv__look_slice(l, t, slice, height, (double)times * stretch / entries, (double)most / entries, b);
            times = 0;
        }
        slice = next;
        times++;
    }
}

/* Widens the widest block row that was seen. */
static void spmv__look_widen(double blocks, double *widest, double *slots)
{
    if (blocks <= *widest) return;
    *slots += (blocks - *widest) * (double)SPMV__LOOK_SLICE;
    *widest = blocks;
}

/* Reads the block row of the longest row, which hardly any sample has, so that b->widest and the padding of its slice are right.
 * most: as in spmv__look_picked. */
static void spmv__look_widest(const spmv__look *l, spmv__look_table *t, uint64_t most, spmv_block_features *b)
{
    const spmv_csr *a = l->v->a;
    uint64_t bh = (uint64_t)b->bh, row = l->longest_row / bh * bh, end = spmv__smaller(row + bh, a->rows);
    uint64_t all = a->ptr[end] - a->ptr[row], entries = all, dense;
    spmv__blocks w;
    double times, blocks;
    spmv__blocks_begin(&w, l->v, row, bh, (uint64_t)b->bw);
    if (all > most) entries = spmv__look_columns(&w, row, end, (double)most / (double)all);
    times = entries ? (double)all / (double)entries : 0;
    blocks = times * (double)spmv__look_walk(&w, t, entries, 0, b->least, &dense);
    spmv__look_widen(blocks, &b->widest, &b->slots);
    spmv__look_widen(times * (double)dense, &b->dense_widest, &b->dense_slots);
}

/* The most that is the standard error of the slots that a sample shows, as a share of them. The fill of a slice is 1 at most, so where the
 * mean is p, it deviates by sqrt(p (1 - p)) at most, and the mean of n slices errs by that over the root of n. How far the slices of a
 * sample differ promises less than it should: of 131 estimates, of blocks that are filled by half or more in 60 matrices, all were within
 * twice this error, and 0.74 within twice that one. */
static double spmv__blocks_error(const spmv__look *l, const spmv_block_features *b)
{
    const double slices = b->sampled * (double)l->v->a->rows / (double)(b->bh * SPMV__LOOK_SLICE), fill = (double)l->nnz / b->slots;
    return b->sampled < 1 && fill < 1 ? spmv__square_root((1 / fill - 1) / (slices > 1 ? slices : 1)) : 0;
}

/* Fills in b for one block size from slices of height block rows with about sample entries, or from all, scaled to the nonzeros of the
 * view. */
static void spmv__look_blocks(const spmv__look *l, spmv__look_table *t, uint64_t height, uint64_t sample, spmv_block_features *b)
{
    const uint64_t least_picks = height < SPMV__LOOK_SLICE ? 24 : SPMV__LOOK_PICKS;
    const uint64_t least_stretches = 72; /* well above the picks, so that heights with few picks have them in different stretches */
    const uint64_t uneven = 2; /* times the mean: no more entries than that are read of one slice */
    const spmv_csr *a = l->v->a;
    uint64_t bh = (uint64_t)b->bh, slices = spmv__ceil_div(a->rows, height * bh), slice, stretches, picks;
    double held = 0, scale;
    int n;
    memset(t->at, 0, sizeof t->at);
    if (a->nnz > sample) {
        /* slices picked by their entries hold more of them than the mean, on graphs up to twice as many, so half the picks suffice */
        stretches = spmv__sat_mul(spmv__ceil_div(a->rows, height), sample / 2) / a->nnz + 1;
        picks = stretches / bh < least_picks ? least_picks : stretches / bh;
        if (stretches < least_stretches) stretches = least_stretches;
        spmv__look_picked(l, t, height, stretches, stretches / picks, uneven * sample / picks + 1, b);
    } else
        for (slice = 0; slice < slices; slice++) b->sampled += (double)spmv__look_slice(l, t, slice, height, 1, 1, b);
    for (n = 0; n <= SPMV__LOOK_FULL; n++) held += n * t->at[n];
    scale = held > 0 ? (double)l->nnz / held : 0;
    b->sampled /= (double)a->nnz;
    b->blocks *= scale;
    b->slots *= scale;
    b->dense_slots *= scale;
    if (b->sampled < 1) spmv__look_widest(l, t, sample, b);
    b->slots *= (double)(b->bh * b->bw);
    b->dense_slots *= (double)(b->bh * b->bw);
    for (n = b->least; n <= b->bh * b->bw; n++) {
        b->dense += t->at[n] * scale;
        b->dense_nnz += t->at[n] * scale * n;
    }
    b->error = spmv__blocks_error(l, b);
}

/* Are the blocks so empty that they are not worth a closer look? A product reads all slots of a block: with two of them for each nonzero
 * these are at least as many bytes as csr has. If such blocks are preferred nonetheless, they are counted. */
static int spmv__blocks_are_sparse(const spmv__look *l, const spmv_block_features *b)
{
    const double sparse = 2; /* slots for each nonzero */
    return b->blocks * (double)(b->bh * b->bw) > sparse * (double)l->nnz;
}

/* Fills in b for one block size. A small sample, with an error of about a seventh, comes first; where it shows that the blocks are nearly
 * empty, as in most matrices, it is enough. */
static void spmv__look_block_size(const spmv__look *l, spmv__look_table *t, uint64_t sample, spmv_block_features *b)
{
    const uint64_t few = 1024, low = 4; /* entries and block rows of the small sample */
    const spmv_block_features fresh = *b;
    if (l->v->a->nnz > sample) { /* however small the sample: slices of high blocks hold many times as many */
        spmv__look_blocks(l, t, low, few, b);
        if (spmv__blocks_are_sparse(l, b)) return;
        *b = fresh;
    }
    spmv__look_blocks(l, t, SPMV__LOOK_SLICE, sample, b);
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

typedef struct spmv__look_samples {
    const spmv__look *l;
    spmv_features    *f;
    uint64_t          sample, every; /* nonzeros; every so many windows of rows are read for diagonals, 0: they are not wanted */
    int               blocks;        /* 1: blocks are wanted */
    spmv__tally       tally;
    uint32_t         *tag;           /* for spmv__look_gather */
    spmv__look_table *table;         /* for each thread, if blocks are wanted */
} spmv__look_samples;

static void spmv__look_sample_share(void *job, uint64_t share, size_t thread)
{
    spmv__look_samples *c = (spmv__look_samples *)job;
    const uint64_t gather_most = 1u << 14; /* nonzeros: the share that misses is then known to less than a hundredth */
    if (share >= SPMV__SAMPLE_BLOCKS) {
        if (!c->blocks) return;
        spmv__look_block_size(c->l, &c->table[thread], c->sample, &c->f->block[share - SPMV__SAMPLE_BLOCKS]);
    } else if (share == SPMV__SAMPLE_GATHER) c->f->gather = spmv__look_gather(c->l, spmv__smaller(c->sample, gather_most), c->tag);
    else if (share == SPMV__SAMPLE_DIAGONALS && c->every) spmv__look_some_diagonals(c->l, &c->tally, c->every, c->f);
}

/* The most nonzeros that samples of all block sizes read: those of the sample, or of the slices of the highest blocks. */
static uint64_t spmv__look_work(const spmv__look_samples *c)
{
    uint64_t rows = 0, sample = c->sample;
    int i;
    for (i = 0; i < SPMV_BLOCK_SIZES; i++)
        if ((uint64_t)c->f->block[i].bh > rows) rows = (uint64_t)c->f->block[i].bh;
    rows *= SPMV__LOOK_SLICE * SPMV__LOOK_PICKS;
    if ((double)rows * c->f->mean > (double)sample) sample = (uint64_t)((double)rows * c->f->mean);
    return spmv__smaller(sample, c->l->nnz) * SPMV_BLOCK_SIZES;
}

/* Finds the features that samples show: x locality, blocks if c->blocks, and diagonals if c->every. */
static spmv_status spmv__look_sample(spmv__look_samples *c)
{
    const uint64_t work = spmv__look_work(c), tag_bytes = SPMV__GATHER_LINES * sizeof *c->tag;
    const uint64_t places = spmv__look_places(c->l->nnz), bytes = c->blocks ? spmv__look_bytes(places) : 0;
    const uint64_t fit = spmv__csr_bytes(c->l->v->a) / 4 / (bytes + 1); /* tables in a quarter of the CSR form */
    const uint64_t threads = work < SPMV__SHARE ? 1 : spmv__share_threads(SPMV__SAMPLES, fit ? fit : 1);
    void *block;
    spmv_status s;
    memset(&c->tally, 0, sizeof c->tally);
    if (c->every) spmv__tally_size(&c->tally, c->l->v->a, spmv__diagonals_sampled(c->l->v->a, c->every));
    s = spmv__new(c->l->h, &block, c->tally.places * 8 + tag_bytes + threads * bytes, 1, 0);
    if (s) return s;
    c->tally.place = (uint64_t *)block;
    c->tag = (uint32_t *)(void *)(c->tally.place + c->tally.places);
    c->table = c->blocks ? spmv__look_lay(c->tag + SPMV__GATHER_LINES, threads, places) : NULL;
    spmv__share_among(spmv__look_sample_share, c, SPMV__SAMPLES, threads);
    spmv_free(c->l->h, block);
    return SPMV_OK;
}

/* Fills in the features that are not about rows. Those of diagonals are of a sample if the matrix is large: a diagonal that is filled to p
 * is estimated with a standard error of sqrt(p (1 - p) / n), where n, the number of rows in the sample, is some hundreds unless rows are
 * very long. Diagonals with few nonzeros may be missing, so that the matrix never has fewer than the sample. */
static spmv_status spmv__look_samples_make(const spmv__look *l, spmv_features *f, uint64_t sample, unsigned without)
{
    const uint64_t diagonal_sample = 1u << 13; /* nonzeros */
    const int      diagonals = f->nnz && (~without & spmv__class_bits(SPMV_CLASS_DIAGONAL));
    spmv__look_samples c;
    c.l = l;
    c.f = f;
    c.sample = sample;
    c.every = !diagonals ? 0 : l->nnz < 2 * diagonal_sample ? 1 : l->nnz / diagonal_sample;
    c.blocks = f->nnz && (~without & spmv__class_bits(SPMV_CLASS_BLOCK)) != 0;
    f->diagonals_sampled = c.every > 1;
    if (c.every > 1) f->diagonals_error = spmv__square_root(0.25 * (double)c.every / (double)f->rows); /* of one that is filled to a half */
    return spmv__look_sample(&c);
}

/* Fills in the features of what l has read, where diagonals, blocks and how x is read are those of samples. A sample of n rows shows that a
 * diagonal is filled to p with a standard error of sqrt(p (1 - p) / n), where n is about 2^13 over the mean row length, and it may lack
 * diagonals.
 *   sample   nonzeros in the sample for each block size; 0: a 128th of them and 4096 more, at most 2^15. Shares found in blocks err by
 *            about 1 / sqrt(slices in the sample)
 *   without  bits 1u << SPMV_DIA of formats that will not be used; features that only they need are left zero
 *   least    for each block size, the nonzeros of a dense block; NULL: by SPMV_FILL_DENSE */
static spmv_status spmv__look_sampled(const spmv__look *l, spmv_features *f, uint64_t sample, unsigned without, const int *least)
{
    int i;
    memset(f, 0, sizeof *f);
    if (!sample) sample = spmv__smaller(1u << 15, 4096 + l->nnz / 128);
    f->rows = l->v->a->rows;
    f->cols = l->v->a->cols;
    f->nnz = l->nnz;
    spmv__look_rows(l, f);
    for (i = 0; i < SPMV_BLOCK_SIZES; i++) {
        spmv_block_features *b = &f->block[i];
        b->bh = spmv__block_sizes[i][0];
        b->bw = spmv__block_sizes[i][1];
        b->least = least ? least[i] : (int)(SPMV_FILL_DENSE * (b->bh * b->bw) + 0.999);
    }
    return spmv__look_samples_make(l, f, sample, without);
}

/* The same, where diagonals are counted if the matrix is small, or if there are at most three times as many as the mean row length, in a
 * sample and in the matrix. */
static spmv_status spmv__look_features(const spmv__look *l, spmv_features *f, uint64_t sample, unsigned without)
{
    spmv_status s = spmv__look_sampled(l, f, sample, without, NULL);
    return s ? s : spmv__look_more_diagonals(l, f);
}

#endif
