/* SPDX-License-Identifier: MIT
 *
 * spmv/plan/split.h - which part owns which nonzero: what each takes, row lists, and the split of a matrix.
 */
#ifndef SPMV__PLAN_SPLIT_H
#define SPMV__PLAN_SPLIT_H

#include "grammar.h"

/* ---- what a part takes ------------------------------------------------------------------------------------------- */

enum { SPMV__LEFT = 255 }; /* the owner of nonzeros that no part has taken yet, above any part's number */

typedef struct spmv__splitter {
    const spmv_csr   *a;
    const spmv_spec  *spec;
    const spmv_hooks *hooks;
    spmv_split       *out;
    spmv_converter   *converter; /* that may look at columns which are on a device only, or NULL */
    int               part;
    uint64_t         *left;      /* nonzeros left in each row; NULL: all, which one part takes */
    uint64_t          left_all;  /* in all rows */
} spmv__splitter;

/* Gives the part nonzero k. Several threads may do so for different rows. */
static void spmv__take(const spmv__splitter *splitter, uint64_t row, uint64_t k, uint64_t *count)
{
    splitter->out->owner[k] = (uint8_t)splitter->part;
    splitter->left[row]--;
    ++*count;
}

static int spmv__is_left(const spmv__splitter *splitter, uint64_t k) { return splitter->out->owner[k] == SPMV__LEFT; }

/* What the shares of a part's taking have in common, and how many nonzeros each took. */
typedef struct spmv__taking {
    spmv__splitter        *splitter;
    const spmv__diagonals *diagonals;   /* of diagonals: those that the part takes */
    uint64_t               bh, bw;      /* of blocks: their size; shares begin at multiples of bh rows */
    uint64_t               first, end;  /* of ell: the rows of the part, and the most entries of each to be taken */
    uint64_t               limit;
    uint64_t               shares, counts[SPMV__MOST_SHARES];
} spmv__taking;

/* The row of the matrix at which a share begins. */
static uint64_t spmv__taking_first(const spmv__taking *taking, uint64_t share)
{
    const spmv_csr *a = taking->splitter->a;
    uint64_t row = spmv__share_row(a->ptr, a->rows, share, taking->shares);
    return taking->bh ? spmv__smaller(spmv__round_up(row, taking->bh), a->rows) : row;
}

/* Calls work for each share, as many as are worth it unless that is set, and adds up what they took. */
static void spmv__take_shared(spmv__taking *taking, spmv__work work)
{
    spmv__splitter *splitter = taking->splitter;
    uint64_t i;
    if (!taking->shares) taking->shares = spmv__share_count(splitter->a->nnz + splitter->a->rows);
    memset(taking->counts, 0, sizeof taking->counts);
    spmv__share_out(work, taking, taking->shares);
    for (i = 0; i < taking->shares; i++) {
        splitter->left_all -= taking->counts[i];
        splitter->out->nnz[splitter->part] += taking->counts[i];
    }
}

/* Takes all that is left, or of that what lies on diagonals that stay. */
static void spmv__take_all_share(void *job, uint64_t share)
{
    spmv__taking *taking = (spmv__taking *)job;
    const spmv__splitter *splitter = taking->splitter;
    uint64_t r, k, end = spmv__taking_first(taking, share + 1), count = 0;
    for (r = spmv__taking_first(taking, share); r < end; r++)
        for (k = splitter->a->ptr[r]; splitter->left[r] && k < splitter->a->ptr[r + 1]; k++)
            if (spmv__is_left(splitter, k) && (!taking->diagonals || spmv__diagonal_stays(taking->diagonals, splitter->a, r, k)))
                spmv__take(splitter, r, k, &count);
    taking->counts[share] = count;
}

static void spmv__take_all(spmv__splitter *splitter)
{
    spmv__taking taking;
    memset(&taking, 0, sizeof taking);
    taking.splitter = splitter;
    spmv__take_shared(&taking, spmv__take_all_share);
}

static uint64_t spmv__list_row(const spmv__splitter *splitter, uint64_t i)
{
    const uint32_t *list = splitter->out->list[splitter->part];
    return list ? list[i] : i;
}

/* Takes the first entries, up to the limit, of each row of a share of the part's rows. */
static void spmv__take_width_share(void *job, uint64_t share)
{
    spmv__taking *taking = (spmv__taking *)job;
    const spmv__splitter *splitter = taking->splitter;
    uint64_t n = taking->end - taking->first, end = taking->first + spmv__even(n, 1, share + 1, taking->shares), i, k, count = 0;
    for (i = taking->first + spmv__even(n, 1, share, taking->shares); i < end; i++) {
        uint64_t r = spmv__list_row(splitter, i), most = count + taking->limit;
        for (k = splitter->a->ptr[r]; count < most && splitter->left[r] && k < splitter->a->ptr[r + 1]; k++)
            if (spmv__is_left(splitter, k)) spmv__take(splitter, r, k, &count);
    }
    taking->counts[share] = count;
}

/* Takes the first entries of each of the part's rows first .. end - 1, up to the width that keys w and fill allow. height: the rows over
 * which the part is to be filled to that fraction. */
static spmv_status spmv__take_width(spmv__splitter *splitter, uint64_t first, uint64_t end, uint64_t height)
{
    uint64_t limit = splitter->spec->key[SPMV_KEY_W] ? (uint64_t)splitter->spec->key[SPMV_KEY_W] : UINT64_MAX, i, longest = 0, w, reach;
    uint64_t held = 0;
    spmv__taking taking;
    int64_t fill = splitter->spec->key[SPMV_KEY_FILL];
    void *block;
    uint64_t *of_length;
    spmv_status status;
    for (i = first; i < end; i++)
        if (splitter->left[spmv__list_row(splitter, i)] > longest) longest = splitter->left[spmv__list_row(splitter, i)];
    if (longest < limit) limit = longest;
    if (fill) {
        status = spmv__new(splitter->hooks, &block, longest + 2, 8, 0);
        if (status) return status;
        of_length = (uint64_t *)block; /* how many rows have each length */
        for (i = first; i < end; i++) of_length[splitter->left[spmv__list_row(splitter, i)]]++;
        reach = end - first - of_length[0];
        for (w = 0; w < limit; w++) {
            held += reach;
            if ((double)held * (double)SPMV__ONE < (double)fill * (double)height * (double)(w + 1)) break;
            reach -= of_length[w + 1];
        }
        limit = w;
        spmv_free(splitter->hooks, block);
    }
    memset(&taking, 0, sizeof taking);
    taking.splitter = splitter;
    taking.first = first;
    taking.end = end;
    taking.limit = limit;
    taking.shares = end - first < splitter->out->rows[splitter->part]; /* a slice is not worth threads */
    spmv__take_shared(&taking, spmv__take_width_share);
    return SPMV_OK;
}

/* Takes what ell or sell stores: the first entries of each row, up to the width that w and fill allow all rows or each slice. */
static spmv_status spmv__take_ell(spmv__splitter *splitter)
{
    uint64_t rows = splitter->out->rows[splitter->part], first, h = spmv__padded_rows(splitter->spec, rows), end;
    spmv_status status = SPMV_OK;
    if (!splitter->spec->key[SPMV_KEY_W] && !splitter->spec->key[SPMV_KEY_FILL]) {
        spmv__take_all(splitter);
        return SPMV_OK;
    }
    for (first = 0; first < rows && !status; first = end) {
        end = rows - first < h ? rows : first + h;
        status = spmv__take_width(splitter, first, end, end - first);
    }
    return status;
}

/* The nonzeros that no part has taken yet. */
static spmv_view spmv__left_view(const spmv__splitter *splitter)
{
    spmv_view view;
    view.a = splitter->a;
    view.owner = splitter->out->owner;
    view.part = SPMV__LEFT;
    view.list = NULL;
    view.rows = splitter->a->rows;
    return view;
}

/* Of the diagonals that are left, drops those that lie in bands of fewer than w. */
static void spmv__drop_thin_bands(spmv__diagonals *diagonals, uint64_t w)
{
    uint64_t i, begin = 0;
    for (i = 0; i <= diagonals->count; i++) {
        if (i < diagonals->count && diagonals->list[i].load && (begin == i || !spmv__band_begins(diagonals, i))) continue;
        if (i - begin < w)
            while (begin < i) spmv__diagonal_drop(diagonals, begin++);
        begin = i < diagonals->count && diagonals->list[i].load ? i : i + 1;
    }
}

/* Counts what a device has taken for the part. */
static void spmv__take_marked_share(void *job, uint64_t share)
{
    spmv__taking *taking = (spmv__taking *)job;
    const spmv__splitter *splitter = taking->splitter;
    uint64_t r, k, end = spmv__taking_first(taking, share + 1), count = 0;
    for (r = spmv__taking_first(taking, share); r < end; r++) {
        const uint64_t before = count;
        for (k = splitter->a->ptr[r]; k < splitter->a->ptr[r + 1]; k++) count += (uint64_t)(splitter->out->owner[k] == splitter->part);
        splitter->left[r] -= count - before;
    }
    taking->counts[share] = count;
}

/* Lists the diagonals of what is left. */
static spmv_status spmv__left_diagonals(const spmv__splitter *splitter, const spmv_view *left, spmv__diagonals *diagonals)
{
    spmv_status status = SPMV_OK;
    memset(diagonals, 0, sizeof *diagonals);
    if (!splitter->left_all) return SPMV_OK;
    if (splitter->converter && !splitter->a->col)
        status = splitter->converter->diagonals(splitter->converter, left, splitter->left_all, splitter->spec->format, splitter->hooks,
                                                diagonals);
    if (status) return status;
    return diagonals->place ? spmv__diagonals_list(diagonals, splitter->hooks) : spmv__diagonals_make(diagonals, left, splitter->hooks);
}

/* Takes what lies on diagonals that stay. */
static spmv_status spmv__take_staying(spmv__splitter *splitter, const spmv_view *left, const spmv__diagonals *diagonals)
{
    int there = 0;
    uint64_t i, stay = 0;
    spmv__taking taking;
    spmv_status status = SPMV_OK;
    for (i = 0; i < diagonals->count; i++) stay += diagonals->list[i].load;
    if (!stay) return SPMV_OK;
    if (splitter->converter && !splitter->a->col)
        status = splitter->converter->take(splitter->converter, left, diagonals, (unsigned)splitter->part, splitter->out->owner,
                                           splitter->spec->format, splitter->hooks, &there);
    if (status) return status;
    memset(&taking, 0, sizeof taking);
    taking.splitter = splitter;
    taking.diagonals = diagonals;
    spmv__take_shared(&taking, there ? spmv__take_marked_share : spmv__take_all_share);
    return SPMV_OK;
}

/* Takes the diagonals that are filled at least to d: nonzeros over the places that the diagonal has in the matrix. With w, takes of those
 * only bands of w or more side by side ("BDIA to represent thick bands and DIA to represent disjoint diagonals or thin bands", clSpMV
 * 3.3). */
static spmv_status spmv__take_diagonals(spmv__splitter *splitter)
{
    spmv_view view = spmv__left_view(splitter);
    uint64_t i;
    double share = (double)splitter->spec->key[SPMV_KEY_D]; /* in millionths, as 0.07 * 100 rounds to more than 7 */
    spmv__diagonals diagonals;
    spmv_status status = spmv__left_diagonals(splitter, &view, &diagonals);
    if (status) return status;
    for (i = 0; i < diagonals.count; i++)
        if ((double)diagonals.list[i].load * (double)SPMV__ONE < share * (double)spmv__diagonal_length(splitter->a, diagonals.list[i].key))
            spmv__diagonal_drop(&diagonals, i);
    if (splitter->spec->key[SPMV_KEY_W]) spmv__drop_thin_bands(&diagonals, (uint64_t)splitter->spec->key[SPMV_KEY_W]);
    status = spmv__take_staying(splitter, &view, &diagonals);
    spmv__diagonals_free(&diagonals, splitter->hooks);
    return status;
}

/* Takes the blocks of a share that are filled at least to d. */
static void spmv__take_blocks_share(void *job, uint64_t share)
{
    spmv__taking *taking = (spmv__taking *)job;
    const spmv__splitter *splitter = taking->splitter;
    spmv_view view = spmv__left_view(splitter);
    uint64_t least = (uint64_t)splitter->spec->key[SPMV_KEY_D] * (taking->bh * taking->bw); /* in millionths */
    uint64_t row, i, k, end = spmv__taking_first(taking, share + 1), count = 0;
    spmv__blocks blocks;
    for (row = spmv__taking_first(taking, share); row < end; row += taking->bh) {
        spmv__blocks_begin(&blocks, &view, row, taking->bh, taking->bw);
        while (spmv__blocks_next(&blocks) != SPMV__NO_BLOCK) {
            if (spmv__blocks_load(&blocks) * SPMV__ONE < least) continue;
            for (i = 0; i < blocks.rows; i++)
                for (k = blocks.from[i]; k < blocks.at[i]; k++)
                    if (spmv__is_left(splitter, k)) spmv__take(splitter, row + i, k, &count);
        }
    }
    taking->counts[share] = count;
}

/* Takes the blocks that are filled at least to d: nonzeros over the places of the block, also those beyond the edge of the matrix. */
static spmv_status spmv__take_blocks(spmv__splitter *splitter)
{
    spmv__taking taking;
    memset(&taking, 0, sizeof taking);
    taking.splitter = splitter;
    taking.bh = (uint64_t)spmv__block_height(splitter->spec);
    taking.bw = (uint64_t)spmv__block_width(splitter->spec);
    spmv__take_shared(&taking, spmv__take_blocks_share);
    return SPMV_OK;
}

/* Does the part take everything that is left of any matrix? */
static int spmv__takes_all(const spmv_spec *spec)
{
    return !spec->key[SPMV_KEY_W] && !spec->key[SPMV_KEY_FILL] && !spec->key[SPMV_KEY_D];
}

/* 1 if a split by the plan has the host look at columns. Else row lengths, or diagonals that a device finds, say what each part takes. */
SPMV__SHARED int spmv__split_reads_columns(const spmv_plan *plan)
{
    int i, reads = 0;
    for (i = 0; i < plan->count; i++)
        reads |= spmv__format_class_of(plan->part[i].format) == SPMV_CLASS_BLOCK && !spmv__takes_all(&plan->part[i]);
    return reads;
}

static spmv_status spmv__take_part(spmv__splitter *splitter)
{
    if (spmv__is_padded(splitter->spec->format)) return spmv__take_ell(splitter);
    if (!spmv__takes_all(splitter->spec)) {
        if (spmv__format_class_of(splitter->spec->format) == SPMV_CLASS_BLOCK) return spmv__take_blocks(splitter);
        if (spmv__format_class_of(splitter->spec->format) == SPMV_CLASS_DIAGONAL) return spmv__take_diagonals(splitter);
    }
    spmv__take_all(splitter);
    return SPMV_OK;
}

/* ---- row lists --------------------------------------------------------------------------------------------------- */

enum { SPMV__SORT_LENGTHS = 256 /* rows with fewer nonzeros are sorted by counting, the others, which are few, by comparing */ };

/* What the shares of a row list have in common. A share has whole windows. */
typedef struct spmv__listing {
    const spmv__splitter *splitter;
    uint32_t             *list;
    spmv__pair           *longer; /* room for the rows that are not sorted by counting */
    uint32_t             *place;  /* [shares][SPMV__SORT_LENGTHS]: by length, the place of the next row; NULL: rows keep their order */
    uint64_t              window, shares;                                      /* rows */
    uint64_t              rows[SPMV__MOST_SHARES], longs[SPMV__MOST_SHARES];   /* listed before each share; those of them in longer */
} spmv__listing;

/* Nonzeros that are left in a row. */
static uint64_t spmv__left_in(const spmv__splitter *splitter, uint64_t r)
{
    return splitter->left ? splitter->left[r] : splitter->a->ptr[r + 1] - splitter->a->ptr[r];
}

/* The first row of a share. */
static uint64_t spmv__list_begin(const spmv__listing *listing, uint64_t share)
{
    return spmv__even(listing->splitter->a->rows, listing->window, share, listing->shares);
}

/* Counts the rows that a share lists. */
static void spmv__list_count_share(void *job, uint64_t share)
{
    spmv__listing *listing = (spmv__listing *)job;
    const uint64_t end = spmv__list_begin(listing, share + 1);
    uint64_t r, rows = 0, longs = 0;
    for (r = spmv__list_begin(listing, share); r < end; r++) {
        uint64_t n = spmv__left_in(listing->splitter, r);
        rows += n != 0;
        longs += n >= SPMV__SORT_LENGTHS;
    }
    listing->rows[share] = rows;
    listing->longs[share] = longs;
}

/* Lists the rows first .. end - 1 by falling number of nonzeros; rows of equal length keep their order. Returns how many they are. longer:
 * room for the rows that are not sorted by counting. */
static uint64_t spmv__list_window(const spmv__splitter *splitter, uint64_t first, uint64_t end, uint32_t *list, uint32_t *place,
                                  spmv__pair *longer)
{
    uint64_t r, i, longs = 0;
    uint32_t sum = 0;
    memset(place, 0, SPMV__SORT_LENGTHS * sizeof *place);
    for (r = first; r < end; r++) {
        uint64_t n = spmv__left_in(splitter, r);
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
        uint64_t n = spmv__left_in(splitter, r);
        if (n && n < SPMV__SORT_LENGTHS) list[place[n]++] = (uint32_t)r;
    }
    return sum;
}

/* Lists the rows of a share. */
static void spmv__list_share(void *job, uint64_t share)
{
    const spmv__listing *listing = (const spmv__listing *)job;
    const uint64_t end = spmv__list_begin(listing, share + 1);
    uint32_t *list = listing->list + listing->rows[share];
    uint64_t r = spmv__list_begin(listing, share);
    for (; listing->place && r < end; r += listing->window)
        list += spmv__list_window(listing->splitter, r, spmv__smaller(r + listing->window, end), list,
                                  listing->place + share * SPMV__SORT_LENGTHS, listing->longer + listing->longs[share]);
    for (; r < end; r++)
        if (spmv__left_in(listing->splitter, r)) *list++ = (uint32_t)r;
}

/* Allocates the list and what sorting needs, once the rows of each share are counted, and sums them up. */
static spmv_status spmv__list_rooms(spmv__listing *listing, int sorted, uint64_t *rows)
{
    const spmv_hooks *hooks = listing->splitter->hooks;
    void *list, *place = NULL, *longer = NULL;
    uint64_t i, longs = 0;
    spmv_status status;
    for (*rows = i = 0; i < listing->shares; i++) {
        uint64_t n = listing->rows[i], m = listing->longs[i];
        listing->rows[i] = *rows;
        listing->longs[i] = longs;
        *rows += n;
        longs += m;
    }
    status = spmv__room(hooks, &list, *rows ? *rows : 1, sizeof *listing->list); /* never NULL, which would mean all rows */
    listing->list = (uint32_t *)list;
    if (!status && sorted) status = spmv__room(hooks, &place, listing->shares * SPMV__SORT_LENGTHS, sizeof *listing->place);
    if (!status && sorted) status = spmv__room(hooks, &longer, longs ? longs : 1, sizeof *listing->longer);
    listing->place = (uint32_t *)place;
    listing->longer = (spmv__pair *)longer;
    return status;
}

/* Makes the row list that key rows specifies: the rows with nonzeros left, in order or sorted within windows of sigma rows of the matrix;
 * none with rows=all. */
static spmv_status spmv__make_list(spmv__splitter *splitter)
{
    const int sorted = splitter->spec->key[SPMV_KEY_ROWS] == SPMV_ROWS_SORTED;
    const uint64_t sigma = (uint64_t)splitter->spec->key[SPMV_KEY_SIGMA];
    void *block;
    spmv__listing *listing;
    spmv_status status;
    splitter->out->rows[splitter->part] = splitter->a->rows;
    if (splitter->spec->key[SPMV_KEY_ROWS] == SPMV_ROWS_ALL) return SPMV_OK;
    status = spmv__new(splitter->hooks, &block, 1, sizeof *listing, 0);
    if (status) return status;
    listing = (spmv__listing *)block;
    listing->splitter = splitter;
    listing->window = !sorted ? 1 : sigma && sigma < splitter->a->rows ? sigma : splitter->a->rows ? splitter->a->rows : 1;
    listing->shares = spmv__smaller(spmv__share_count(splitter->a->rows), spmv__ceil_div(splitter->a->rows, listing->window));
    spmv__share_out(spmv__list_count_share, listing, listing->shares);
    status = spmv__list_rooms(listing, sorted, &splitter->out->rows[splitter->part]);
    splitter->out->list[splitter->part] = listing->list;
    if (!status) spmv__share_out(spmv__list_share, listing, listing->shares);
    spmv_free(splitter->hooks, listing->place);
    spmv_free(splitter->hooks, listing->longer);
    spmv_free(splitter->hooks, listing);
    return status;
}

/* ---- split ------------------------------------------------------------------------------------------------------- */

/* Lets each part of a plan take its nonzeros, in order. A plan of one part that takes everything needs no owners. */
static spmv_status spmv__split_parts(spmv__splitter *splitter, const spmv_spec *plan)
{
    spmv_status status = SPMV_OK;
    int whole = splitter->out->count == 1 && spmv__takes_all(plan);
    void *block;
    uint64_t r;
    splitter->left_all = splitter->a->nnz;
    if (!whole) {
        status = spmv__room(splitter->hooks, &block, splitter->a->rows, 8);
        if (status) return status;
        splitter->left = (uint64_t *)block;
        for (r = 0; r < splitter->a->rows; r++) splitter->left[r] = splitter->a->ptr[r + 1] - splitter->a->ptr[r];
        status = spmv__new(splitter->hooks, &block, splitter->a->nnz, 1, SPMV__LEFT);
        splitter->out->owner = (uint8_t *)block;
    }
    for (splitter->part = 0; splitter->part < splitter->out->count && !status; splitter->part++) {
        splitter->spec = &plan[splitter->part];
        status = spmv__make_list(splitter);
        if (!status && whole) {
            splitter->out->nnz[0] = splitter->a->nnz;
            splitter->left_all = 0;
        } else if (!status) {
            status = spmv__take_part(splitter);
        }
    }
    return status;
}

/* spmv_split_create of a valid plan of count parts, with a converter that may look at columns which are on a device only, or NULL. */
static spmv_status spmv__split_there(spmv_split *out, const spmv_spec *plan, int count, const spmv_csr *a, spmv_converter *converter,
                                     const spmv_hooks *hooks)
{
    spmv__splitter splitter;
    spmv_status status;
    memset(out, 0, sizeof *out);
    memset(&splitter, 0, sizeof splitter);
    if (hooks) out->hooks = *hooks;
    out->count = count;
    splitter.a = a;
    splitter.hooks = hooks;
    splitter.out = out;
    splitter.converter = converter;
    status = spmv__split_parts(&splitter, plan);
    if (!status && splitter.left_all) {
        char text[512]; /* of most plans all; larger ones would only make the stack deeper */
        spmv__print_parts(plan, count, text, sizeof text);
        status = spmv_log(hooks, SPMV_ERR_INCOMPLETE, "plan \"%s\" leaves %llu of %llu nonzeros: end it with a part that takes all, "
                          "such as csr or coo", text, (spmv__ull)splitter.left_all, (spmv__ull)a->nnz);
    }
    spmv_free(hooks, splitter.left);
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

SPMV_API void spmv_split_destroy(spmv_split *split)
{
    spmv_hooks hooks;
    int i;
    if (!split) return;
    hooks = split->hooks;
    for (i = 0; i < SPMV_MAX_PARTS; i++) spmv_free(&hooks, split->list[i]);
    spmv_free(&hooks, split->owner);
    memset(split, 0, sizeof *split);
}

SPMV_API spmv_view spmv_split_view(const spmv_split *split, const spmv_csr *a, int i)
{
    spmv_view view;
    memset(&view, 0, sizeof view);
    if (!split || !a || i < 0 || i >= split->count) return view;
    view.a = a;
    view.owner = split->owner;
    view.part = (unsigned)i;
    view.list = split->list[i];
    view.rows = split->rows[i];
    return view;
}

/* Writes "ELL(81%)", or "ELL" if the part holds all nonzeros, or nothing if it holds none. */
static void spmv__put_share(spmv__text *text, spmv_format format, uint64_t nnz, uint64_t all)
{
    const char *p;
    if (!nnz) return;
    for (p = spmv_format_name(format); *p; p++) spmv__put_char(text, *p - 'a' + 'A');
    if (nnz == all) return;
    spmv__put_char(text, '(');
    spmv__put_count(text, (uint64_t)((double)nnz * 100 / (double)all + 0.5));
    spmv__put_text(text, "%)");
}

SPMV_API size_t spmv_split_print(const spmv_split *split, const spmv_plan *plan, char *out, size_t size)
{
    if (!split || !plan) return spmv_print(out, size, "%s", "");
    spmv__text text;
    uint64_t all = 0;
    int i;
    spmv__text_open(&text, out, size);
    for (i = 0; i < split->count; i++) all += split->nnz[i];
    for (i = 0; i < split->count; i++) spmv__put_share(&text, plan->part[i].format, split->nnz[i], all);
    return spmv__text_close(&text);
}

#endif
