/* SPDX-License-Identifier: MIT
 *
 * spmv/plan/split.h - which part owns which nonzero: what each takes, row lists, and the split of a matrix.
 */
#ifndef SPMV__PLAN_SPLIT_H
#define SPMV__PLAN_SPLIT_H

#include "grammar.h"

/* ---- what a part takes ------------------------------------------------------------------------------------------- */

/* Owners of nonzeros that no part has taken yet, above any part's number. Those beyond the columns that a part may take are hidden from
 * it, so that it finds the others as if there were no more. */
enum { SPMV__LEFT = 255, SPMV__HIDDEN = 254 };

typedef struct spmv__splitter {
    const spmv_csr   *a;
    const spmv_spec  *spec;
    const spmv_hooks *h;
    spmv_split       *out;
    spmv_converter   *converter; /* that may look at columns which are on a device only, or NULL */
    int               part;
    uint64_t         *left;      /* nonzeros left in each row, without hidden ones; NULL: all, which one part takes */
    uint64_t          left_all;  /* in all rows, with hidden ones */
    uint64_t          shown;     /* the columns before this one are not hidden */
} spmv__splitter;

/* Gives the part nonzero k. Several threads may do so for different rows. */
static void spmv__take(const spmv__splitter *s, uint64_t row, uint64_t k, uint64_t *taken)
{
    s->out->owner[k] = (uint8_t)s->part;
    s->left[row]--;
    ++*taken;
}

static int spmv__is_left(const spmv__splitter *s, uint64_t k) { return s->out->owner[k] == SPMV__LEFT; }

/* What the shares of a part's taking have in common, and how many nonzeros each took. */
typedef struct spmv__taking {
    spmv__splitter        *s;
    const spmv__diagonals *d;           /* of diagonals: those that the part takes */
    uint64_t               bh, bw;      /* of blocks: their size; shares begin at multiples of bh rows */
    uint64_t               first, end;  /* of ell: the rows of the part, and the most entries of each to be taken */
    uint64_t               limit;
    uint64_t               shares, taken[SPMV__MOST_SHARES];
} spmv__taking;

/* The row of the matrix at which a share begins. */
static uint64_t spmv__taking_first(const spmv__taking *t, uint64_t share)
{
    const spmv_csr *a = t->s->a;
    uint64_t row = spmv__share_row(a->ptr, a->rows, share, t->shares);
    return t->bh ? spmv__smaller(spmv__round_up(row, t->bh), a->rows) : row;
}

/* Calls work for each share and adds up what they took. */
static void spmv__take_shared(spmv__taking *t, spmv__work work)
{
    spmv__splitter *s = t->s;
    uint64_t i;
    t->shares = spmv__share_count(s->a->nnz + s->a->rows);
    memset(t->taken, 0, sizeof t->taken);
    spmv__share_out(work, t, t->shares);
    for (i = 0; i < t->shares; i++) {
        s->left_all -= t->taken[i];
        s->out->nnz[s->part] += t->taken[i];
    }
}

static void spmv__take_all_share(void *job, uint64_t share)
{
    spmv__taking *t = (spmv__taking *)job;
    const spmv__splitter *s = t->s;
    uint64_t r, k, end = spmv__taking_first(t, share + 1), taken = 0;
    for (r = spmv__taking_first(t, share); r < end; r++)
        for (k = s->a->ptr[r]; s->left[r] && k < s->a->ptr[r + 1]; k++)
            if (spmv__is_left(s, k)) spmv__take(s, r, k, &taken);
    t->taken[share] = taken;
}

static void spmv__take_all(spmv__splitter *s)
{
    spmv__taking t;
    memset(&t, 0, sizeof t);
    t.s = s;
    spmv__take_shared(&t, spmv__take_all_share);
}

static uint64_t spmv__list_row(const spmv__splitter *s, uint64_t i)
{
    const uint32_t *list = s->out->list[s->part];
    return list ? list[i] : i;
}

/* Takes the first entries, up to the limit, of each row of a share of the part's rows. */
static void spmv__take_width_share(void *job, uint64_t share)
{
    spmv__taking *t = (spmv__taking *)job;
    const spmv__splitter *s = t->s;
    uint64_t n = t->end - t->first, i, k, taken = 0;
    uint64_t end = t->first + n / t->shares * (share + 1) + n % t->shares * (share + 1) / t->shares;
    for (i = t->first + n / t->shares * share + n % t->shares * share / t->shares; i < end; i++) {
        uint64_t r = spmv__list_row(s, i), most = taken + t->limit;
        for (k = s->a->ptr[r]; taken < most && s->left[r] && k < s->a->ptr[r + 1]; k++)
            if (spmv__is_left(s, k)) spmv__take(s, r, k, &taken);
    }
    t->taken[share] = taken;
}

/* Takes the first entries of each of the part's rows first .. end - 1, up to the width that keys w and fill allow. height: the rows over
 * which the part is to be filled to that fraction. */
static spmv_status spmv__take_width(spmv__splitter *s, uint64_t first, uint64_t end, uint64_t height)
{
    uint64_t limit = s->spec->key[SPMV_KEY_W] ? (uint64_t)s->spec->key[SPMV_KEY_W] : UINT64_MAX, i, longest = 0, w, reach, held = 0;
    spmv__taking t;
    int64_t fill = s->spec->key[SPMV_KEY_FILL];
    void *block;
    uint64_t *of_length;
    spmv_status status;
    for (i = first; i < end; i++)
        if (s->left[spmv__list_row(s, i)] > longest) longest = s->left[spmv__list_row(s, i)];
    if (longest < limit) limit = longest;
    if (fill) {
        status = spmv__new(s->h, &block, longest + 2, 8, 0);
        if (status) return status;
        of_length = (uint64_t *)block; /* how many rows have each length */
        for (i = first; i < end; i++) of_length[s->left[spmv__list_row(s, i)]]++;
        reach = end - first - of_length[0];
        for (w = 0; w < limit; w++) {
            held += reach;
            if ((double)held * (double)SPMV__ONE < (double)fill * (double)height * (double)(w + 1)) break;
            reach -= of_length[w + 1];
        }
        limit = w;
        spmv_free(s->h, block);
    }
    memset(&t, 0, sizeof t);
    t.s = s;
    t.first = first;
    t.end = end;
    t.limit = limit;
    if (end - first == s->out->rows[s->part]) {
        spmv__take_shared(&t, spmv__take_width_share);
    } else { /* a slice is not worth threads */
        t.shares = 1;
        spmv__take_width_share(&t, 0);
        s->left_all -= t.taken[0];
        s->out->nnz[s->part] += t.taken[0];
    }
    return SPMV_OK;
}

/* Takes what ell or sell stores: the first entries of each row, up to the width that w and fill allow all rows or each slice. */
static spmv_status spmv__take_ell(spmv__splitter *s)
{
    uint64_t rows = s->out->rows[s->part], first, h = spmv__padded_rows(s->spec, rows), end;
    spmv_status status = SPMV_OK;
    if (!s->spec->key[SPMV_KEY_W] && !s->spec->key[SPMV_KEY_FILL]) {
        spmv__take_all(s);
        return SPMV_OK;
    }
    for (first = 0; first < rows && !status; first = end) {
        end = rows - first < h ? rows : first + h;
        status = spmv__take_width(s, first, end, end - first);
    }
    return status;
}

/* The nonzeros that no part has taken yet. */
static spmv_view spmv__left_view(const spmv__splitter *s)
{
    spmv_view v;
    v.a = s->a;
    v.owner = s->out->owner;
    v.part = SPMV__LEFT;
    v.list = NULL;
    v.rows = s->a->rows;
    return v;
}

/* Of the diagonals that are left, drops those that lie in bands of fewer than w. */
static void spmv__drop_thin_bands(spmv__diagonals *d, uint64_t w)
{
    uint64_t i, begin = 0;
    for (i = 0; i <= d->count; i++) {
        if (i < d->count && d->list[i].load && (begin == i || !spmv__band_begins(d, i))) continue;
        if (i - begin < w)
            while (begin < i) spmv__diagonal_drop(d, begin++);
        begin = i < d->count && d->list[i].load ? i : i + 1;
    }
}

static void spmv__take_diagonals_share(void *job, uint64_t share)
{
    spmv__taking *t = (spmv__taking *)job;
    const spmv__splitter *s = t->s;
    uint64_t r, k, end = spmv__taking_first(t, share + 1), taken = 0;
    for (r = spmv__taking_first(t, share); r < end; r++)
        for (k = s->a->ptr[r]; s->left[r] && k < s->a->ptr[r + 1]; k++)
            if (spmv__is_left(s, k) && spmv__diagonal_stays(t->d, s->a, r, k)) spmv__take(s, r, k, &taken);
    t->taken[share] = taken;
}

/* Counts what a device has taken for the part. */
static void spmv__take_marked_share(void *job, uint64_t share)
{
    spmv__taking *t = (spmv__taking *)job;
    const spmv__splitter *s = t->s;
    uint64_t r, k, end = spmv__taking_first(t, share + 1), taken = 0;
    for (r = spmv__taking_first(t, share); r < end; r++) {
        const uint64_t before = taken;
        for (k = s->a->ptr[r]; k < s->a->ptr[r + 1]; k++) taken += (uint64_t)(s->out->owner[k] == s->part);
        s->left[r] -= taken - before;
    }
    t->taken[share] = taken;
}

/* Lists the diagonals of what is left. */
static spmv_status spmv__left_diagonals(const spmv__splitter *s, const spmv_view *left, spmv__diagonals *d)
{
    spmv_status status = SPMV_OK;
    memset(d, 0, sizeof *d);
    if (!s->left_all) return SPMV_OK;
    if (s->converter && !s->a->col) status = s->converter->diagonals(s->converter, left, s->left_all, s->spec->format, s->h, d);
    if (status) return status;
    return d->place ? spmv__diagonals_list(d, s->h) : spmv__diagonals_make(d, left, s->h);
}

/* Takes what lies on diagonals that stay. */
static spmv_status spmv__take_staying(spmv__splitter *s, const spmv_view *left, const spmv__diagonals *d)
{
    int there = 0;
    uint64_t i, stay = 0;
    spmv__taking t;
    spmv_status status = SPMV_OK;
    for (i = 0; i < d->count; i++) stay += d->list[i].load;
    if (!stay) return SPMV_OK;
    if (s->converter && !s->a->col)
        status = s->converter->take(s->converter, left, d, (unsigned)s->part, s->out->owner, s->spec->format, s->h, &there);
    if (status) return status;
    memset(&t, 0, sizeof t);
    t.s = s;
    t.d = d;
    spmv__take_shared(&t, there ? spmv__take_marked_share : spmv__take_diagonals_share);
    return SPMV_OK;
}

/* Takes the diagonals that are filled at least to d: nonzeros over the places that the diagonal has in the matrix. With w, takes of those
 * only bands of w or more side by side ("BDIA to represent thick bands and DIA to represent disjoint diagonals or thin bands", clSpMV
 * 3.3). */
static spmv_status spmv__take_diagonals(spmv__splitter *s)
{
    spmv_view v = spmv__left_view(s);
    uint64_t i;
    double share = (double)s->spec->key[SPMV_KEY_D]; /* in millionths, as 0.07 * 100 rounds to more than 7 */
    spmv__diagonals d;
    spmv_status status = spmv__left_diagonals(s, &v, &d);
    if (status) return status;
    for (i = 0; i < d.count; i++)
        if ((double)d.list[i].load * (double)SPMV__ONE < share * (double)spmv__diagonal_length(s->a, d.list[i].key))
            spmv__diagonal_drop(&d, i);
    if (s->spec->key[SPMV_KEY_W]) spmv__drop_thin_bands(&d, (uint64_t)s->spec->key[SPMV_KEY_W]);
    status = spmv__take_staying(s, &v, &d);
    spmv__diagonals_free(&d, s->h);
    return status;
}

/* Takes the blocks of a share that are filled at least to d. */
static void spmv__take_blocks_share(void *job, uint64_t share)
{
    spmv__taking *t = (spmv__taking *)job;
    const spmv__splitter *s = t->s;
    spmv_view v = spmv__left_view(s);
    uint64_t least = (uint64_t)s->spec->key[SPMV_KEY_D] * (t->bh * t->bw); /* in millionths */
    uint64_t row, i, k, end = spmv__taking_first(t, share + 1), taken = 0;
    spmv__blocks b;
    for (row = spmv__taking_first(t, share); row < end; row += t->bh) {
        spmv__blocks_begin(&b, &v, row, t->bh, t->bw);
        while (spmv__blocks_next(&b) != SPMV__NO_BLOCK) {
            if (spmv__blocks_load(&b) * SPMV__ONE < least) continue;
            for (i = 0; i < b.rows; i++)
                for (k = b.from[i]; k < b.at[i]; k++)
                    if (spmv__is_left(s, k)) spmv__take(s, row + i, k, &taken);
        }
    }
    t->taken[share] = taken;
}

/* Takes the blocks that are filled at least to d: nonzeros over the places of the block, also those beyond the edge of the matrix. */
static spmv_status spmv__take_blocks(spmv__splitter *s)
{
    spmv__taking t;
    memset(&t, 0, sizeof t);
    t.s = s;
    t.bh = (uint64_t)spmv__block_height(s->spec);
    t.bw = (uint64_t)spmv__block_width(s->spec);
    spmv__take_shared(&t, spmv__take_blocks_share);
    return SPMV_OK;
}

/* Does the part take everything that is left in its columns? */
static int spmv__takes_shown(const spmv_spec *spec)
{
    return !spec->key[SPMV_KEY_W] && !spec->key[SPMV_KEY_FILL] && !spec->key[SPMV_KEY_D];
}

/* Does the part take everything that is left of any matrix? */
static int spmv__takes_all(const spmv_spec *spec) { return spmv__takes_shown(spec) && !spec->key[SPMV_KEY_COLS]; }

/* 1 if a split by the plan has the host look at columns. Else row lengths, or diagonals that a device finds, say what each part takes. */
SPMV__SHARED int spmv__split_reads_columns(const spmv_plan *plan)
{
    int i, reads = 0;
    for (i = 0; i < plan->count; i++) {
        const spmv_spec *spec = &plan->part[i];
        reads |= spec->key[SPMV_KEY_COLS] || (spmv__format_class_of(spec->format) == SPMV_CLASS_BLOCK && !spmv__takes_shown(spec));
    }
    return reads;
}

/* Columns from .. end - 1 are to be hidden, or shown. */
typedef struct spmv__showing {
    spmv__splitter *s;
    uint64_t        from, end, shares;
    unsigned char   now, then; /* their owner before and after */
} spmv__showing;

/* Hides or shows nonzeros in the rows of a share. */
static void spmv__show_share(void *job, uint64_t share)
{
    const spmv__showing *g = (const spmv__showing *)job;
    const spmv_csr *a = g->s->a;
    uint64_t r, k, n, end = spmv__share_row(a->ptr, a->rows, share + 1, g->shares);
    for (r = spmv__share_row(a->ptr, a->rows, share, g->shares); r < end; r++) {
        for (k = a->ptr[r + 1]; k > a->ptr[r] && a->col[k - 1] >= g->end;) k--;
        for (n = 0; k > a->ptr[r] && a->col[k - 1] >= g->from; k--) {
            if (g->s->out->owner[k - 1] != g->now) continue;
            g->s->out->owner[k - 1] = g->then;
            n++;
        }
        if (g->then == SPMV__LEFT) g->s->left[r] += n;
        else g->s->left[r] -= n;
    }
}

/* Hides and shows nonzeros so that exactly those in the first columns, end of them, are shown. */
static void spmv__show_columns(spmv__splitter *s, uint64_t end)
{
    spmv__showing g;
    g.s = s;
    if (end == s->shown) return;
    if (end < s->shown) {
        g.from = end;
        g.end = s->shown;
        g.now = SPMV__LEFT;
        g.then = SPMV__HIDDEN;
    } else {
        g.from = s->shown;
        g.end = end;
        g.now = SPMV__HIDDEN;
        g.then = SPMV__LEFT;
    }
    g.shares = spmv__share_count(s->a->nnz + s->a->rows);
    spmv__share_out(spmv__show_share, &g, g.shares);
    s->shown = end;
}

static spmv_status spmv__take_part(spmv__splitter *s)
{
    if (spmv__is_padded(s->spec->format)) return spmv__take_ell(s);
    if (!spmv__takes_shown(s->spec)) {
        if (spmv__format_class_of(s->spec->format) == SPMV_CLASS_BLOCK) return spmv__take_blocks(s);
        if (spmv__format_class_of(s->spec->format) == SPMV_CLASS_DIAGONAL) return spmv__take_diagonals(s);
    }
    spmv__take_all(s);
    return SPMV_OK;
}

/* ---- row lists --------------------------------------------------------------------------------------------------- */

enum { SPMV__SORT_LENGTHS = 256 /* rows with fewer nonzeros are sorted by counting, the others, which are few, by comparing */ };

/* What the shares of a row list have in common. A share has whole windows. */
typedef struct spmv__listing {
    const spmv__splitter *s;
    uint32_t             *list;
    spmv__pair           *longer; /* room for the rows that are not sorted by counting */
    uint32_t             *place;  /* [shares][SPMV__SORT_LENGTHS]: by length, the place of the next row; NULL: rows keep their order */
    uint64_t              window, shares;                                      /* rows */
    uint64_t              rows[SPMV__MOST_SHARES], longs[SPMV__MOST_SHARES];   /* listed before each share; those of them in longer */
} spmv__listing;

/* Nonzeros that are left in a row. */
static uint64_t spmv__left_in(const spmv__splitter *s, uint64_t r) { return s->left ? s->left[r] : s->a->ptr[r + 1] - s->a->ptr[r]; }

/* The first row of a share. */
static uint64_t spmv__list_begin(const spmv__listing *g, uint64_t share)
{
    const uint64_t rows = g->s->a->rows, windows = spmv__ceil_div(rows, g->window);
    return spmv__smaller(rows, (windows / g->shares * share + windows % g->shares * share / g->shares) * g->window);
}

/* Counts the rows that a share lists. */
static void spmv__list_count_share(void *job, uint64_t share)
{
    spmv__listing *g = (spmv__listing *)job;
    const uint64_t end = spmv__list_begin(g, share + 1);
    uint64_t r, rows = 0, longs = 0;
    for (r = spmv__list_begin(g, share); r < end; r++) {
        uint64_t n = spmv__left_in(g->s, r);
        rows += n != 0;
        longs += n >= SPMV__SORT_LENGTHS;
    }
    g->rows[share] = rows;
    g->longs[share] = longs;
}

/* Lists the rows first .. end - 1 by falling number of nonzeros; rows of equal length keep their order. Returns how many they are. longer:
 * room for the rows that are not sorted by counting. */
static uint64_t spmv__list_window(const spmv__splitter *s, uint64_t first, uint64_t end, uint32_t *list, uint32_t *place,
                                  spmv__pair *longer)
{
    uint64_t r, i, longs = 0;
    uint32_t sum = 0;
    memset(place, 0, SPMV__SORT_LENGTHS * sizeof *place);
    for (r = first; r < end; r++) {
        uint64_t n = spmv__left_in(s, r);
        if (n < SPMV__SORT_LENGTHS) place[n]++;
        else {
            longer[longs].key = UINT64_MAX - n;
            longer[longs++].load = r;
        }
    }
    spmv__sort(longer, longs);
    for (i = 0; i < longs; i++) list[i] = (uint32_t)longer[i].load;
    sum = (uint32_t)longs;
    for (i = SPMV__SORT_LENGTHS; --i > 0;) {
        uint32_t n = place[i];
        place[i] = sum;
        sum += n;
    }
    for (r = first; r < end; r++) {
        uint64_t n = spmv__left_in(s, r);
        if (n && n < SPMV__SORT_LENGTHS) list[place[n]++] = (uint32_t)r;
    }
    return sum;
}

/* Lists the rows of a share. */
static void spmv__list_share(void *job, uint64_t share)
{
    const spmv__listing *g = (const spmv__listing *)job;
    const uint64_t end = spmv__list_begin(g, share + 1);
    uint32_t *list = g->list + g->rows[share];
    uint64_t r = spmv__list_begin(g, share);
    for (; g->place && r < end; r += g->window)
        list += spmv__list_window(g->s, r, spmv__smaller(r + g->window, end), list, g->place + share * SPMV__SORT_LENGTHS,
                                  g->longer + g->longs[share]);
    for (; r < end; r++)
        if (spmv__left_in(g->s, r)) *list++ = (uint32_t)r;
}

/* Allocates the list and what sorting needs, once the rows of each share are counted, and sums them up. */
static spmv_status spmv__list_rooms(spmv__listing *g, int sorted, uint64_t *rows)
{
    const spmv_hooks *h = g->s->h;
    void *list, *place = NULL, *longer = NULL;
    uint64_t i, longs = 0;
    spmv_status status;
    for (*rows = i = 0; i < g->shares; i++) {
        uint64_t n = g->rows[i], m = g->longs[i];
        g->rows[i] = *rows;
        g->longs[i] = longs;
        *rows += n;
        longs += m;
    }
    status = spmv__room(h, &list, *rows ? *rows : 1, sizeof *g->list); /* never NULL, which would mean all rows */
    g->list = (uint32_t *)list;
    if (!status && sorted) status = spmv__room(h, &place, g->shares * SPMV__SORT_LENGTHS, sizeof *g->place);
    if (!status && sorted) status = spmv__room(h, &longer, longs ? longs : 1, sizeof *g->longer);
    g->place = (uint32_t *)place;
    g->longer = (spmv__pair *)longer;
    return status;
}

/* Makes the row list that key rows specifies: the rows with nonzeros left, in order or sorted within windows of sigma rows of the matrix;
 * none with rows=all. */
static spmv_status spmv__make_list(spmv__splitter *s)
{
    const int sorted = s->spec->key[SPMV_KEY_ROWS] == SPMV_ROWS_SORTED;
    const uint64_t sigma = (uint64_t)s->spec->key[SPMV_KEY_SIGMA];
    void *block;
    spmv__listing *g;
    spmv_status status;
    s->out->rows[s->part] = s->a->rows;
    if (s->spec->key[SPMV_KEY_ROWS] == SPMV_ROWS_ALL) return SPMV_OK;
    status = spmv__new(s->h, &block, 1, sizeof *g, 0);
    if (status) return status;
    g = (spmv__listing *)block;
    g->s = s;
    g->window = !sorted ? 1 : sigma && sigma < s->a->rows ? sigma : s->a->rows ? s->a->rows : 1;
    g->shares = spmv__smaller(spmv__share_count(s->a->rows), spmv__ceil_div(s->a->rows, g->window));
    spmv__share_out(spmv__list_count_share, g, g->shares);
    status = spmv__list_rooms(g, sorted, &s->out->rows[s->part]);
    s->out->list[s->part] = g->list;
    if (!status) spmv__share_out(spmv__list_share, g, g->shares);
    spmv_free(s->h, g->place);
    spmv_free(s->h, g->longer);
    spmv_free(s->h, g);
    return status;
}

/* ---- split ------------------------------------------------------------------------------------------------------- */

/* Lets each part of a plan take its nonzeros, in order. A plan of one part that takes everything needs no owners. */
static spmv_status spmv__split_parts(spmv__splitter *s, const spmv_spec *plan)
{
    spmv_status status = SPMV_OK;
    int whole = s->out->count == 1 && spmv__takes_all(plan);
    void *block;
    uint64_t r, cols;
    s->left_all = s->a->nnz;
    s->shown = s->a->cols;
    if (!whole) {
        status = spmv__room(s->h, &block, s->a->rows, 8);
        if (status) return status;
        s->left = (uint64_t *)block;
        for (r = 0; r < s->a->rows; r++) s->left[r] = s->a->ptr[r + 1] - s->a->ptr[r];
        status = spmv__new(s->h, &block, s->a->nnz, 1, SPMV__LEFT);
        s->out->owner = (uint8_t *)block;
    }
    for (s->part = 0; s->part < s->out->count && !status; s->part++) {
        s->spec = &plan[s->part];
        cols = (uint64_t)s->spec->key[SPMV_KEY_COLS];
        if (!whole) spmv__show_columns(s, cols && cols < s->a->cols ? cols : s->a->cols);
        status = spmv__make_list(s);
        if (!status && whole) {
            s->out->nnz[0] = s->a->nnz;
            s->left_all = 0;
        } else if (!status) {
            status = spmv__take_part(s);
        }
    }
    return status;
}

/* spmv_split_create of a valid plan of count parts, with a converter that may look at columns which are on a device only, or NULL. */
static spmv_status spmv__split_there(spmv_split *out, const spmv_spec *plan, int count, const spmv_csr *a, spmv_converter *converter,
                                     const spmv_hooks *hooks)
{
    spmv__splitter s;
    spmv_status status;
    memset(out, 0, sizeof *out);
    memset(&s, 0, sizeof s);
    if (hooks) out->hooks = *hooks;
    out->count = count;
    s.a = a;
    s.h = hooks;
    s.out = out;
    s.converter = converter;
    status = spmv__split_parts(&s, plan);
    if (!status && s.left_all) {
        char text[512]; /* of most plans all; larger ones would only make the stack deeper */
        spmv__print_parts(plan, count, text, sizeof text);
        status = spmv_log(hooks, SPMV_ERR_INCOMPLETE, "plan \"%s\" leaves %llu of %llu nonzeros: end it with a part that takes all, "
                          "such as csr or coo", text, (spmv__ull)s.left_all, (spmv__ull)a->nnz);
    }
    spmv_free(hooks, s.left);
    if (status) spmv_split_destroy(out);
    return status;
}

SPMV_API spmv_status spmv_split_create(spmv_split *out, const spmv_plan *plan, const spmv_csr *a, const spmv_hooks *hooks)
{
    spmv_status s;
    if (!out || !plan || !a) return spmv__null(hooks, "spmv_split_create", !out ? "out" : !plan ? "plan" : "a", out, sizeof *out);
    s = spmv__plan_check(plan, 0, hooks);
    if (!s) return spmv__split_there(out, plan->part, plan->count, a, NULL, hooks);
    memset(out, 0, sizeof *out);
    return s;
}

SPMV_API void spmv_split_destroy(spmv_split *s)
{
    spmv_hooks h;
    int i;
    if (!s) return;
    h = s->hooks;
    for (i = 0; i < SPMV_MAX_PARTS; i++) spmv_free(&h, s->list[i]);
    spmv_free(&h, s->owner);
    memset(s, 0, sizeof *s);
}

SPMV_API spmv_view spmv_split_view(const spmv_split *s, const spmv_csr *a, int i)
{
    spmv_view v;
    memset(&v, 0, sizeof v);
    if (!s || !a || i < 0 || i >= s->count) return v;
    v.a = a;
    v.owner = s->owner;
    v.part = (unsigned)i;
    v.list = s->list[i];
    v.rows = s->rows[i];
    return v;
}

/* Writes "ELL(81%)", or "ELL" if the part holds all nonzeros, or nothing if it holds none. */
static void spmv__put_share(spmv__text *t, spmv_format f, uint64_t nnz, uint64_t all)
{
    const char *c;
    if (!nnz) return;
    for (c = spmv_format_name(f); *c; c++) spmv__put_char(t, *c - 'a' + 'A');
    if (nnz == all) return;
    spmv__put_char(t, '(');
    spmv__put_count(t, (uint64_t)((double)nnz * 100 / (double)all + 0.5));
    spmv__put_text(t, "%)");
}

SPMV_API size_t spmv_split_print(const spmv_split *s, const spmv_plan *plan, char *out, size_t size)
{
    if (!s || !plan) return spmv_print(out, size, "%s", "");
    spmv__text t;
    uint64_t all = 0;
    int i;
    spmv__text_open(&t, out, size);
    for (i = 0; i < s->count; i++) all += s->nnz[i];
    for (i = 0; i < s->count; i++) spmv__put_share(&t, plan->part[i].format, s->nnz[i], all);
    return spmv__text_close(&t);
}

#endif
