/* SPDX-License-Identifier: MIT
 *
 * spmv/group/blocks.h - the rows of each device, its halo, and how its block is stored.
 */
#ifndef SPMV__GROUP_BLOCKS_H
#define SPMV__GROUP_BLOCKS_H

#include "devices.h"

/* ---- dividing the rows ----------------------------------------------------------------------------------------------- */

/* The columns of a block's halo, rising, and how many nonzeros lie in them before each share of the block's rows. */
typedef struct spmv__group_halo {
    uint32_t *col;
    uint64_t  shares, before[SPMV__MOST_SHARES];
} spmv__group_halo;

/* A group that is being made. */
typedef struct spmv__group_maker {
    spmv_group            *group;
    const spmv_group_desc *desc;
    const spmv_csr        *a;
    spmv_build_hints       hints;  /* the caller's, without what knows the whole matrix */
    uint32_t              *map;    /* while a halo is looked for: a bit for each column of the matrix, of each thread; then for every 32
                                      columns such bits of one halo, and how many of its columns are before them. The halo's numbers for
                                      all columns would be 16 times as large, too large for a cache */
    spmv__group_halo      *halo;   /* for each block */
    uint64_t              *ptr;    /* room for the nonzeros that are picked from any block, one after another, so that the system has to */
    uint32_t              *col;    /* clear its pages once */
    unsigned char         *val;
    double                *weight; /* for each block */
    double                *whole;  /* for each device, the estimated seconds of a product with the whole matrix */
    size_t                 best;   /* BY_RATE: the device that is fastest alone, */
    double                 alone;  /* ... and its seconds; 0: no others are to be compared with it */
} spmv__group_maker;

/* The first row before which at least want nonzeros lie. */
static uint64_t spmv__group_row_at(const spmv_csr *a, double want)
{
    uint64_t low = 0, high = a->rows;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if ((double)a->ptr[middle] < want) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Where the share of the devices up to one ends, part of all of whose weights is before it. */
static uint64_t spmv__group_bound(const spmv_csr *a, int by_rows, size_t count, double part)
{
    uint64_t r = by_rows || !a->nnz ? (uint64_t)(part * (double)a->rows + 0.5) : spmv__group_row_at(a, part * (double)a->nnz);
    if (a->rows / count >= SPMV__GROUP_GRAIN * SPMV__GROUP_MANY)
        r = (r + SPMV__GROUP_GRAIN / 2) / SPMV__GROUP_GRAIN * SPMV__GROUP_GRAIN;
    return spmv__smaller(r, a->rows);
}

/* Sets the rows and columns of all blocks by the weights. A square matrix is divided alike in both directions; otherwise each device
 * gets the same share of the columns as of the rows. */
static void spmv__group_divide(const spmv__group_maker *maker)
{
    spmv_group *group = maker->group;
    const spmv_csr *a = maker->a;
    int by_rows = maker->desc->divide == SPMV_GROUP_BY_ROWS;
    double all = 0, sum = 0, left;
    uint64_t row = 0, col = 0, end;
    size_t i, last = 0;
    for (i = 0; i < group->count; i++) {
        all += maker->weight[i];
        if (maker->weight[i] > 0) last = i;
    }
    for (i = 0; i < group->count; i++) {
        spmv_group_block *block = &group->block[i];
        sum += maker->weight[i];
        left = all > 0 ? sum / all : 1;
        end = i >= last ? a->rows : spmv__group_bound(a, by_rows, group->count, left);
        if (end < row) end = row;
        block->row = row;
        block->rows = end - row;
        block->nnz = a->nnz ? a->ptr[end] - a->ptr[row] : 0;
        row = end;
        block->col = col;
        end = a->rows == a->cols ? row : i >= last ? a->cols : (uint64_t)((double)row / (double)(a->rows ? a->rows : 1) * (double)a->cols);
        block->cols = end - col;
        col = end;
    }
}

/* The rows of a block as a matrix with all columns; only the row pointers are new, if they do not begin with 0. */
static spmv_status spmv__group_range(const spmv__group_maker *maker, const spmv_group_block *range, spmv_csr *out)
{
    const spmv_csr *a = maker->a;
    uint64_t r, *ptr;
    void *block;
    spmv_status s;
    memset(out, 0, sizeof *out);
    out->rows = range->rows;
    out->cols = a->cols;
    out->nnz = range->nnz;
    out->ptr = a->ptr;
    out->type = a->type;
    out->hooks = maker->group->hooks;
    if (range->row || !a->nnz) {
        s = spmv__room(&maker->group->hooks, &block, range->rows + 1, sizeof *ptr);
        if (s) return s;
        out->ptr = ptr = (uint64_t *)block;
        out->owned = 1;
        for (r = 0; r <= range->rows; r++) ptr[r] = a->nnz ? a->ptr[range->row + r] - a->ptr[range->row] : 0;
    }
    if (!range->nnz) return SPMV_OK;
    out->col = a->col + a->ptr[range->row];
    out->val = (const unsigned char *)a->val + a->ptr[range->row] * spmv_value_size(a->type);
    return SPMV_OK;
}

/* The description by which a block is stored. */
static spmv_desc spmv__group_desc_of(const spmv__group_maker *maker, const spmv_group_block *block)
{
    spmv_desc desc = maker->desc->desc;
    desc.device = block->device;
    desc.csr = NULL;
    memset(&desc.matrix, 0, sizeof desc.matrix);
    if (desc.hints) desc.hints = &maker->hints;
    return desc;
}

/* Measures a product with a block by the caller's function. */
static spmv_status spmv__group_measure(const spmv__group_maker *maker, const spmv_group_block *block, const spmv_csr *a, double *seconds)
{
    spmv_desc desc = spmv__group_desc_of(maker, block);
    spmv_matrix matrix;
    spmv_status s;
    desc.csr = a;
    desc.updatable = 0;
    s = spmv_create(&matrix, &desc);
    if (s) return s;
    *seconds = maker->desc->measure(maker->desc->measure_user, (size_t)(block - maker->group->block), &matrix);
    spmv_destroy(&matrix);
    if (*seconds > 0) return SPMV_OK;
    return spmv_log(&maker->group->hooks, SPMV_ERR_ARGUMENT, "spmv_group_create: measure must return seconds above 0");
}

#ifndef SPMV_NO_AUTO
/* Estimates it by the tuning table of the device; 0 if the matrix is tiny there. */
static spmv_status spmv__group_estimate(const spmv__group_maker *maker, const spmv_group_block *range, const spmv_csr *a, double *seconds)
{
    spmv_target target;
    spmv_build how;
    spmv_build_hints hints = maker->hints;
    void *block;
    spmv_choice *choice;
    spmv_status s = spmv__new(&maker->group->hooks, &block, 1, sizeof *choice, 0);
    if (s) return s;
    if (hints.expected_calls < SPMV_EXPECTED_CALLS) hints.expected_calls = 0; /* there is an estimate for few products as well */
    choice = (spmv_choice *)block;
    memset(&how, 0, sizeof how);
    how.type = maker->group->type;
    how.strict = maker->desc->desc.strict;
    how.reproducible = maker->desc->desc.reproducible;
    how.max_bytes = maker->desc->desc.max_bytes;
#ifdef SPMV_DEVICE_H
    target = spmv_target_of(range->device);
#else
    (void)range;
    memset(&target, 0, sizeof target); /* the host */
#endif
    s = spmv_choose(choice, "auto", a, &how, &target, maker->desc->desc.hints ? &hints : NULL, NULL, &maker->group->hooks);
    *seconds = !s && choice->count ? choice->option[0].predicted : 0;
    spmv_free(&maker->group->hooks, choice);
    return s;
}
#endif

/* How many blocks with rows share the processor of block i, itself included. */
static size_t spmv__group_sharing(const spmv_group *group, size_t i)
{
    size_t j, same = 0;
    for (j = 0; j < group->count; j++) same += group->block[j].rows && spmv__group_is_same(group->block[j].device, group->block[i].device);
    return same;
}

/* Sets block->predicted to the seconds of its product, times the blocks that share its processor. */
static spmv_status spmv__group_predict(const spmv__group_maker *maker, spmv_group_block *block)
{
    spmv_csr a;
    spmv_status s;
    block->predicted = 0;
    if (!block->nnz) return SPMV_OK;
    s = spmv__group_range(maker, block, &a);
    if (!s && maker->desc->measure && maker->desc->divide == SPMV_GROUP_BY_RATE)
        s = spmv__group_measure(maker, block, &a, &block->predicted);
#ifndef SPMV_NO_AUTO
    else if (!s) s = spmv__group_estimate(maker, block, &a, &block->predicted);
#endif
    spmv_csr_destroy(&a);
    block->predicted *= (double)spmv__group_sharing(maker->group, (size_t)(block - maker->group->block));
    return spmv__group_blame(maker->group, block, s);
}

/* Gives all rows to device i. */
static void spmv__group_only(const spmv__group_maker *maker, size_t i)
{
    size_t j;
    for (j = 0; j < maker->group->count; j++) maker->weight[j] = j == i;
    spmv__group_divide(maker);
}

/* Makes each weight the rate of the device on its block. A block has no prediction if it has no nonzeros or is tiny; then its device keeps
 * its weight. */
static void spmv__group_weigh(const spmv__group_maker *maker)
{
    size_t i;
    for (i = 0; i < maker->group->count; i++) {
        const spmv_group_block *block = &maker->group->block[i];
        if (block->predicted > 0) maker->weight[i] = (double)block->nnz / block->predicted;
    }
}

/* Seconds before the first byte of a halo is there. */
static double spmv__group_latency(const spmv_device *from, const spmv_device *to)
{
    if (!from && !to) return 0;
    if (spmv__group_is_peer(from, to)) return SPMV__GROUP_PEER_LATENCY;
    return spmv__group_is_cpu(from) || spmv__group_is_cpu(to) ? SPMV__GROUP_CPU_LATENCY : SPMV__GROUP_HOST_LATENCY;
}

/* Sets the predictions for new blocks by the rates that are the weights. */
static void spmv__group_rescale(const spmv__group_maker *maker)
{
    size_t i;
    for (i = 0; i < maker->group->count; i++)
        maker->group->block[i].predicted = maker->weight[i] > 0 ? (double)maker->group->block[i].nnz / maker->weight[i] : 0;
}

/* Estimates the seconds of the whole matrix on each device. */
static spmv_status spmv__group_estimate_whole(const spmv__group_maker *maker)
{
    spmv_group *group = maker->group;
    size_t i, j;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < group->count; i++) {
        for (j = 0; !spmv__group_is_alike(group->block[i].device, group->block[j].device); j++) {}
        spmv__group_only(maker, i);
        if (j == i) s = spmv__group_predict(maker, &group->block[i]);
        maker->whole[i] = j == i ? group->block[i].predicted : maker->whole[j];
    }
    return s;
}

/* Finds the device that is fastest alone, and its seconds: by the estimates, or by the rates that were measured, which are weights. */
static void spmv__group_find_best(spmv__group_maker *maker)
{
    const spmv_group *group = maker->group;
    size_t i;
    double one;
    for (i = 0; i < group->count; i++) {
        one = maker->desc->measure ? (double)maker->a->nnz / (maker->weight[i] * (double)spmv__group_sharing(group, i)) : maker->whole[i];
        if (maker->desc->measure && !(group->block[i].predicted > 0)) continue; /* it was not measured */
        if (i && maker->alone > 0 && one >= maker->alone) continue;
        maker->best = i;
        maker->alone = one;
    }
}

/* Divides a matrix that lacks estimates: one that is tiny goes to the first device; without auto, each gets as many nonzeros. Predictions
 * that there are for some of the devices do not count. */
static void spmv__group_without_estimates(const spmv__group_maker *maker)
{
    size_t i;
    for (i = 0; i < maker->group->count; i++) maker->group->block[i].predicted = 0;
#ifndef SPMV_NO_AUTO
    spmv__group_only(maker, 0);
#else
    for (i = 0; i < maker->group->count; i++) maker->weight[i] = 1;
    spmv__group_divide(maker);
#endif
}

/* Divides by rates: a first division by the rates of each device on the whole matrix (measured ones: on equal blocks), a second by those
 * on their own blocks. */
static spmv_status spmv__group_by_rate(spmv__group_maker *maker)
{
    spmv_group *group = maker->group;
    int estimates = !maker->desc->measure;
    size_t i;
    spmv_status s = estimates ? spmv__group_estimate_whole(maker) : SPMV_OK;
    if (s) return s;
    for (i = 0; estimates && i < group->count; i++)
        if (!(maker->whole[i] > 0)) {
            spmv__group_without_estimates(maker);
            return SPMV_OK;
        }
    if (estimates) spmv__group_find_best(maker);
    for (i = 0; i < group->count; i++) maker->weight[i] = maker->whole[i] > 0 ? (double)maker->a->nnz / maker->whole[i] : 1;
    spmv__group_divide(maker);
    for (i = 0; !s && i < group->count; i++) s = spmv__group_predict(maker, &group->block[i]);
    if (s) return s;
    spmv__group_weigh(maker);
    if (!estimates) spmv__group_find_best(maker);
    spmv__group_divide(maker);
    spmv__group_rescale(maker);
    return SPMV_OK;
}

/* Checks the shares that were given and takes them as weights. */
static spmv_status spmv__group_take_shares(const spmv__group_maker *maker)
{
    double sum = 0, v;
    size_t i;
    for (i = 0; i < maker->group->count; i++) {
        v = maker->desc->shares ? maker->desc->shares[i] : 1;
        if (!(v >= 0 && v <= 1e300))
            return spmv_log(&maker->group->hooks, SPMV_ERR_ARGUMENT, "spmv_group_create: shares[%llu] must lie in 0 .. 1e300",
                            (spmv__ull)i);
        maker->weight[i] = v;
        sum += v;
    }
    if (sum > 0) return SPMV_OK;
    return spmv_log(&maker->group->hooks, SPMV_ERR_ARGUMENT, "spmv_group_create: all shares are 0");
}

/* Decides which rows each device gets. */
static spmv_status spmv__group_decide(spmv__group_maker *maker)
{
    spmv_group *group = maker->group;
    size_t i;
    spmv_status s;
    group->divided = maker->desc->divide;
    group->shares = maker->desc->shares != NULL;
    if (!group->shares && group->divided == SPMV_GROUP_BY_RATE) return spmv__group_by_rate(maker);
    s = spmv__group_take_shares(maker);
    if (s) return s;
    spmv__group_divide(maker);
    for (i = 0; !s && maker->desc->estimate && i < group->count; i++) s = spmv__group_predict(maker, &group->block[i]);
    return s;
}

/* ---- halos ----------------------------------------------------------------------------------------------------------- */

/* Where the nonzeros of row r in columns of the block's own piece begin and end. */
static uint64_t spmv__group_own_begin(const spmv_csr *a, const spmv_group_block *block, uint64_t r)
{
    uint64_t n = a->ptr[r];
    while (n < a->ptr[r + 1] && a->col[n] < block->col) n++;
    return n;
}
static uint64_t spmv__group_own_end(const spmv_csr *a, const spmv_group_block *block, uint64_t r)
{
    uint64_t n = a->ptr[r + 1];
    while (n > a->ptr[r] && a->col[n - 1] >= block->col + block->cols) n--;
    return n;
}

/* The row of the matrix with which a share of a block begins. */
static uint64_t spmv__group_share_row(const spmv_csr *a, const spmv_group_block *block, uint64_t share, uint64_t shares)
{
    return block->row + spmv__share_row(a->ptr + block->row, block->rows, share, shares);
}

/* A search for the halo of a block: what each share of its rows finds. */
typedef struct spmv__group_search {
    const spmv__group_maker *maker;
    const spmv_group_block  *block;
    uint64_t shares, words; /* words: of the bits of a thread */
    uint64_t foreign[SPMV__MOST_SHARES], readers[SPMV__MOST_SHARES]; /* nonzeros in the halo, and rows that have some */
    uint64_t first[SPMV__MOST_SHARES], end[SPMV__MOST_SHARES];       /* from the first to behind the last of these */
} spmv__group_search;

static void spmv__group_mark(uint32_t *bits, const uint32_t *col, uint64_t n)
{
    uint64_t i;
    for (i = 0; i < n; i++) bits[col[i] / 32] |= (uint32_t)1 << col[i] % 32;
}

/* Marks the halo columns that a share of the rows reads. */
static void spmv__group_search_share(void *job, uint64_t share, size_t thread)
{
    spmv__group_search *search = (spmv__group_search *)job;
    const spmv_csr *a = search->maker->a;
    uint32_t *bits = search->maker->map + thread * search->words;
    uint64_t r = spmv__group_share_row(a, search->block, share, search->shares);
    uint64_t end = spmv__group_share_row(a, search->block, share + 1, search->shares);
    uint64_t foreign = 0, readers = 0, first = 0, last = 0;
    for (; r < end; r++) {
        const uint64_t own = spmv__group_own_begin(a, search->block, r), after = spmv__group_own_end(a, search->block, r);
        const uint64_t low = own - a->ptr[r], high = a->ptr[r + 1] - after;
        if (!(low + high)) continue;
        spmv__group_mark(bits, a->col + a->ptr[r], low);
        spmv__group_mark(bits, a->col + after, high);
        foreign += low + high;
        if (!readers++) first = r;
        last = r + 1;
    }
    search->foreign[share] = foreign;
    search->readers[share] = readers;
    search->first[share] = first;
    search->end[share] = last;
}

/* Adds up what the shares have found. Returns how many rows read the halo. */
static uint64_t spmv__group_sum_up(const spmv__group_search *search, spmv_group_block *block, spmv__group_halo *halo)
{
    uint64_t i, readers = 0;
    halo->shares = search->shares;
    for (i = 0; i < search->shares; i++) {
        halo->before[i] = block->nnz - block->own_nnz;
        block->own_nnz -= search->foreign[i];
        if (!search->readers[i]) continue;
        if (!readers) block->reads_first = search->first[i];
        block->reads_end = search->end[i];
        readers += search->readers[i];
    }
    return readers;
}

/* Lists the columns that any of the threads has marked. */
static spmv_status spmv__group_list_halo(const spmv__group_search *search, uint64_t threads, spmv_group_block *block,
                                         spmv__group_halo *halo)
{
    uint32_t *bits = search->maker->map, v;
    uint64_t w, t, col, n = 0;
    void *list;
    spmv_status s;
    for (w = 0; w < search->words; w++) {
        for (t = 1; t < threads; t++) bits[w] |= bits[t * search->words + w];
        n += spmv__bit_count(bits[w]);
    }
    s = spmv__room(&search->maker->group->hooks, &list, n, sizeof *halo->col);
    halo->col = (uint32_t *)list;
    for (n = w = 0; !s && w < search->words; w++)
        for (v = bits[w], col = 32 * w; v; v >>= 1, col++)
            if (v & 1) {
                block->before += col < block->col;
                halo->col[n++] = (uint32_t)col;
            }
    block->after = n - block->before;
    return s;
}

/* Finds the halo of a block and the rows that read it, and decides whether the block is split. */
static spmv_status spmv__group_find_halo(const spmv__group_maker *maker, spmv_group_block *block)
{
    spmv__group_halo *halo = &maker->halo[block - maker->group->block];
    spmv__group_search search;
    uint64_t threads, readers;
    spmv_status s;
    block->before = block->after = block->reads_first = block->reads_end = 0;
    block->own_nnz = block->nnz;
    block->split = 0;
    if (!block->nnz) return SPMV_OK;
    search.maker = maker;
    search.block = block;
    search.shares = spmv__share_count(block->rows + block->nnz);
    search.words = spmv__ceil_div(maker->a->cols, 32);
    threads = spmv__share_threads(search.shares, SPMV__MOST_SHARES);
    memset(maker->map, 0, (size_t)(threads * search.words * sizeof *maker->map));
    spmv__share_among(spmv__group_search_share, &search, search.shares, threads);
    readers = spmv__group_sum_up(&search, block, halo);
    s = readers ? spmv__group_list_halo(&search, threads, block, halo) : SPMV_OK;
    block->split = block->device && !maker->desc->desc.reproducible && readers &&
                   (double)block->own_nnz >= SPMV__GROUP_OWN * (double)block->nnz &&
               (block->before + block->after) * SPMV__GROUP_ROWS_PER_HALO >= readers;
    return s;
}

/* Makes maker->map that of a block's halo. */
static void spmv__group_map(const spmv__group_maker *maker, const spmv_group_block *block)
{
    const uint32_t *halo = maker->halo[block - maker->group->block].col;
    const uint64_t words = spmv__ceil_div(maker->a->cols, 32);
    uint64_t i;
    uint32_t before = 0;
    memset(maker->map, 0, (size_t)(2 * words * sizeof *maker->map));
    for (i = 0; i < block->before + block->after; i++) maker->map[halo[i] / 32 * 2] |= (uint32_t)1 << halo[i] % 32;
    for (i = 0; i < words; i++) {
        maker->map[2 * i + 1] = before;
        before += (uint32_t)spmv__bit_count(maker->map[2 * i]);
    }
}

/* Which of the halo's columns column c is. */
SPMV__INLINE uint32_t spmv__group_place(const uint32_t *map, uint32_t c)
{
    const uint32_t *at = map + c / 32 * 2, below = ((uint32_t)1 << c % 32) - 1;
    return at[1] + (uint32_t)spmv__bit_count(at[0] & below);
}

/* Adds a message for each device that has some of the halo of block number to. The columns of one owner are adjacent in it. */
static void spmv__group_add_messages(const spmv__group_maker *maker, size_t to)
{
    spmv_group *group = maker->group;
    const spmv_group_block *block = &group->block[to];
    const uint32_t *halo = maker->halo[to].col;
    uint64_t i = 0, all = block->before + block->after;
    size_t from = 0;
    while (i < all) {
        spmv_group_message *message = &group->message[group->messages];
        uint64_t first = i, owned;
        while (halo[i] >= group->block[from].col + group->block[from].cols) from++;
        owned = group->block[from].col + group->block[from].cols;
        while (i < all && halo[i] < owned) i++;
        message->from = from;
        message->to = to;
        message->count = i - first;
        message->at = group->block[from].sends;
        message->into = first < block->before ? first : first + block->cols;
        message->peer = spmv__group_is_peer(group->block[from].device, block->device);
        group->block[from].sends += message->count;
        group->messages++;
    }
}

/* Lists the elements of its piece that each block sends. */
static spmv_status spmv__group_list_sends(const spmv__group_maker *maker)
{
    spmv_group *group = maker->group;
    void *list;
    uint64_t e;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < group->count; i++) {
        s = spmv__room(&group->hooks, &list, group->block[i].sends, sizeof(uint32_t));
        group->block[i].index_ = (uint32_t *)list;
        group->block[i].direct_ = 1;
    }
    for (i = 0; !s && i < group->messages; i++) {
        const spmv_group_message *message = &group->message[i];
        spmv_group_block *from = &group->block[message->from], *to = &group->block[message->to];
        const uint32_t *halo = maker->halo[message->to].col + (message->into < to->before ? message->into : message->into - to->cols);
        for (e = 0; e < message->count; e++) from->index_[message->at + e] = halo[e] - (uint32_t)from->col;
        group->message[i].first = halo[0] - from->col;
        if (!from->device || halo[message->count - 1] - halo[0] != message->count - 1) from->direct_ = 0;
        from->staged_ |= !message->peer;
        to->receives_ |= !message->peer;
        if (message->peer) s = SPMV__ON_DEVICE(spmv__group_transfer(to->device)->peer_open(to->device, from->device));
        else if (!from->stage_of_) from->stage_of_ = from->device ? from->device : to->device;
    }
    return s;
}

/* Makes the host memory through which a block sends. */
static spmv_status spmv__group_stage(const spmv_group *group, spmv_group_block *block)
{
    uint64_t bytes = block->sends * spmv_vector_size(group->type);
    if (!block->staged_) return SPMV_OK;
    if (block->stage_of_)
        return SPMV__ON_DEVICE(spmv__group_transfer(block->stage_of_)->pin(block->stage_of_, bytes, &block->stage_, &block->stage_handle_));
    return spmv__room(&group->hooks, &block->stage_, bytes, 1);
}

/* The rule of thumb for the time of its exchange. */
static void spmv__group_predict_exchange(spmv_group *group)
{
    size_t i;
    for (i = 0; i < group->messages; i++) {
        const spmv_group_message *message = &group->message[i];
        spmv_group_block *to = &group->block[message->to];
        int host = !to->device && !group->block[message->from].device;
        double bytes = (double)(message->count * spmv_vector_size(group->type));
        double latency = spmv__group_latency(group->block[message->from].device, to->device);
        if (to->exchange < latency) to->exchange = latency;
        to->exchange += bytes / (host ? SPMV__GROUP_MEMORY_BYTES : message->peer ? SPMV__GROUP_PEER_BYTES : SPMV__GROUP_HOST_BYTES);
    }
}

/* Of the exchange, the time that the product with its own piece of x hides. */
static double spmv__group_hidden(const spmv_group_block *block)
{
    double could = block->split ? block->predicted * (double)block->own_nnz / (double)block->nnz : 0;
    return could < block->exchange ? could : block->exchange;
}

/* 1: a product uses the block's own queue. */
static int spmv__group_is_aside(const spmv_group_block *block) { return block->device && (block->sends || block->before + block->after); }

/* Seconds of enqueueing a product of the group. */
static double spmv__group_calls(const spmv_group *group)
{
    uint64_t n = 0;
    size_t i;
    for (i = 0; i < group->count; i++)
        if (spmv__group_is_aside(&group->block[i])) n += SPMV__GROUP_DEVICE_OPERATIONS;
    for (i = 0; i < group->messages; i++)
        if (group->block[group->message[i].from].device || group->block[group->message[i].to].device) n += SPMV__GROUP_MESSAGE_OPERATIONS;
    return (double)n * SPMV__GROUP_OPERATION;
}

/* Seconds until a block is done, by the predictions. The host's comes after all is enqueued. */
static double spmv__group_seconds(const spmv_group *group, const spmv_group_block *block)
{
    double steps = block->device ? (block->before + block->after > 0) + block->split : 0;
    double before = block->device || !block->rows ? 0 : spmv__group_calls(group);
    return before + block->predicted + block->exchange - spmv__group_hidden(block) + steps * SPMV__GROUP_STEP;
}

/* Seconds of a product of the group. */
static double spmv__group_predicted(const spmv_group *group)
{
    double most = spmv__group_calls(group), one;
    size_t i;
    for (i = 0; i < group->count; i++) {
        one = spmv__group_seconds(group, &group->block[i]);
        if (one > most) most = one;
    }
    return most;
}

/* 1: by the predictions, dividing the rows clearly pays. */
static int spmv__group_pays(const spmv_group *group) { return group->together < SPMV__GROUP_CLEARLY * group->alone; }

/* ---- blocks ---------------------------------------------------------------------------------------------------------- */

/* Stores one matrix of a block; row is where it begins in the matrix of the group. */
static spmv_status spmv__group_store_csr(const spmv__group_maker *maker, spmv_group_block *block, const spmv_csr *a, uint64_t row)
{
    spmv_group_piece *piece = &block->piece[block->pieces];
    spmv_desc desc = spmv__group_desc_of(maker, block);
    spmv_status s;
    desc.matrix.rows = (int64_t)a->rows;
    desc.matrix.cols = (int64_t)a->cols;
    desc.matrix.nnz = (int64_t)a->nnz;
    desc.matrix.ptr = a->ptr;
    desc.matrix.ptr_bits = 64;
    desc.matrix.col = a->col;
    desc.matrix.val = a->val;
    desc.matrix.val_type = a->type;
    s = spmv_create(&piece->m, &desc);
    if (s) return s;
    block->pieces++;
    piece->row = row;
    piece->nonzero = maker->a->nnz ? maker->a->ptr[row] : 0;
    piece->image = SPMV__ON_DEVICE(spmv__group_has_image(&piece->m));
    return SPMV_OK;
}

/* Some of the nonzeros of a block as CSR: those in columns of its own piece, those of its halo, or both. */
typedef struct spmv__group_pick {
    const spmv__group_maker *maker;
    const spmv_group_block  *block;
    int       own, halo, values; /* values: 0: all are picked, which need no copy */
    uint64_t  first, end;        /* rows of the matrix */
    uint64_t *from;              /* their numbers in the matrix; NULL: not wanted */
} spmv__group_pick;

/* Picks nonzeros n .. end - 1 of a row as number at and so on, with the numbers of their columns, or of their places in the halo (map),
 * plus shift. Returns which comes next. */
static uint64_t spmv__group_pick_run(const spmv__group_pick *pick, uint64_t n, uint64_t end, const uint32_t *map, uint64_t shift,
                                     uint64_t at)
{
    const spmv_csr *a = pick->maker->a;
    uint32_t *col = pick->maker->col + at;
    const size_t size = (size_t)spmv_value_size(a->type);
    const uint64_t count = end - n;
    uint64_t i;
    if (!count) return at;
    if (map) for (i = 0; i < count; i++) col[i] = spmv__group_place(map, a->col[n + i]) + (uint32_t)shift;
    else for (i = 0; i < count; i++) col[i] = a->col[n + i] + (uint32_t)shift;
    if (pick->values) memcpy(pick->maker->val + at * size, (const unsigned char *)a->val + n * size, (size_t)count * size);
    for (i = 0; pick->from && i < count; i++) pick->from[at + i] = n + i;
    return at + count;
}

/* Picks the nonzeros of a share of the block's rows. */
static void spmv__group_pick_share(void *job, uint64_t share)
{
    const spmv__group_pick *pick = (const spmv__group_pick *)job;
    const spmv_csr *a = pick->maker->a;
    const spmv__group_halo *halo = &pick->maker->halo[pick->block - pick->maker->group->block];
    uint64_t r = spmv__group_share_row(a, pick->block, share, halo->shares);
    uint64_t end = spmv__group_share_row(a, pick->block, share + 1, halo->shares);
    uint64_t foreign = halo->before[share];
    uint64_t at = (pick->own ? a->ptr[r] - a->ptr[pick->block->row] - foreign : 0) + (pick->halo ? foreign : 0);
    const uint64_t before = pick->halo ? pick->block->before : 0;
    if (r < pick->first) r = pick->first;
    for (end = spmv__smaller(end, pick->end); r < end; r++) {
        const uint64_t own = spmv__group_own_begin(a, pick->block, r), after = spmv__group_own_end(a, pick->block, r);
        pick->maker->ptr[r - pick->first] = at;
        if (pick->halo) at = spmv__group_pick_run(pick, a->ptr[r], own, pick->maker->map, 0, at);
        if (pick->own) at = spmv__group_pick_run(pick, own, after, NULL, before - pick->block->col, at);
        if (pick->halo) at = spmv__group_pick_run(pick, after, a->ptr[r + 1], pick->maker->map, pick->block->cols, at);
    }
}

/* Stores nonzeros of a block as one matrix: those of its own piece (own), those of its halo, in the rows from the first to the last that
 * read it, or all, whose values need no copy. */
static spmv_status spmv__group_store_picked(const spmv__group_maker *maker, spmv_group_block *block, int own, int halo)
{
    spmv_group_piece *piece = &block->piece[block->pieces];
    const uint64_t base = maker->a->ptr[block->row] * spmv_value_size(maker->a->type);
    void *from = NULL;
    spmv__group_pick pick;
    spmv_csr a;
    spmv_status s = SPMV_OK;
    memset(&a, 0, sizeof a);
    pick.maker = maker;
    pick.block = block;
    pick.own = own;
    pick.halo = halo;
    pick.first = own ? block->row : block->reads_first;
    pick.end = own ? block->row + block->rows : block->reads_end;
    pick.values = !(own && halo);
    a.rows = pick.end - pick.first;
    a.cols = block->cols + (halo ? block->before + block->after : 0);
    a.nnz = (own ? block->own_nnz : 0) + (halo ? block->nnz - block->own_nnz : 0);
    a.type = maker->a->type;
    a.ptr = maker->ptr;
    a.col = maker->col;
    a.val = pick.values ? maker->val : (const unsigned char *)maker->a->val + base;
    if (pick.values && maker->group->updatable) s = spmv__room(&maker->group->hooks, &from, a.nnz, sizeof *pick.from);
    pick.from = (uint64_t *)from;
    if (s) return s;
    spmv__share_out(spmv__group_pick_share, &pick, maker->halo[block - maker->group->block].shares);
    maker->ptr[a.rows] = a.nnz;
    s = spmv__group_store_csr(maker, block, &a, pick.first);
    if (s) {
        spmv_free(&maker->group->hooks, from);
        return s;
    }
    piece->own = !halo || block->own_nnz == block->nnz;
    piece->adds = !own;
    piece->from_ = pick.from;
    return SPMV_OK;
}

/* Stores a block that has all columns it reads, in their places: as it is. */
static spmv_status spmv__group_store_as_is(const spmv__group_maker *maker, spmv_group_block *block)
{
    spmv_csr a;
    spmv_status s = spmv__group_range(maker, block, &a);
    a.cols = block->cols;
    if (!s) s = spmv__group_store_csr(maker, block, &a, block->row);
    if (!s) block->piece[0].own = 1;
    spmv_csr_destroy(&a);
    return s;
}

/* 1: the columns of a block, if it has nonzeros, are all its own and the first of the matrix. */
static int spmv__group_is_as_is(const spmv_group_block *block) { return !block->nnz || (!block->col && block->own_nnz == block->nnz); }

/* Makes the room for what is picked. */
static spmv_status spmv__group_room_to_pick(spmv__group_maker *maker)
{
    const spmv_hooks *hooks = &maker->group->hooks;
    uint64_t rows = 0, nnz = 0, values = 0;
    void *ptr = NULL, *col = NULL, *val = NULL;
    size_t i;
    spmv_status s;
    for (i = 0; i < maker->group->count; i++) {
        const spmv_group_block *block = &maker->group->block[i];
        if (spmv__group_is_as_is(block)) continue;
        rows = block->rows > rows ? block->rows : rows;
        nnz = block->nnz > nnz ? block->nnz : nnz;
        values = block->split && block->nnz > values ? block->nnz : values;
    }
    s = spmv__room(hooks, &ptr, rows + 1, sizeof *maker->ptr);
    if (!s) s = spmv__room(hooks, &col, nnz, sizeof *maker->col);
    if (!s) s = spmv__room(hooks, &val, values, spmv_value_size(maker->a->type));
    maker->ptr = (uint64_t *)ptr;
    maker->col = (uint32_t *)col;
    maker->val = (unsigned char *)val;
    return s;
}

/* Stores a block as one or two matrices. */
static spmv_status spmv__group_store_block(const spmv__group_maker *maker, spmv_group_block *block)
{
    spmv_status s;
    if (!block->rows) return SPMV_OK;
    if (spmv__group_is_as_is(block)) return spmv__group_store_as_is(maker, block);
    spmv__group_map(maker, block);
    if (!block->split) return spmv__group_store_picked(maker, block, 1, 1);
    s = spmv__group_store_picked(maker, block, 1, 0);
    return s ? s : spmv__group_store_picked(maker, block, 0, 1);
}

/* Finds the halos and the messages of all blocks, in place of those of an earlier division. */
static spmv_status spmv__group_lay_out(const spmv__group_maker *maker)
{
    spmv_group *group = maker->group;
    size_t i;
    spmv_status s = SPMV_OK;
    group->messages = 0;
    for (i = 0; i < group->count; i++) {
        spmv_free(&group->hooks, maker->halo[i].col);
        maker->halo[i].col = NULL;
        group->block[i].sends = 0;
        group->block[i].exchange = 0;
    }
    for (i = 0; !s && i < group->count; i++) {
        s = spmv__group_blame(group, &group->block[i], spmv__group_find_halo(maker, &group->block[i]));
        if (!s) spmv__group_add_messages(maker, i);
    }
    if (!s) spmv__group_predict_exchange(group);
    return s;
}

/* Gives all rows to the fastest device unless, by the predictions, dividing them clearly pays. */
static spmv_status spmv__group_reconsider(const spmv__group_maker *maker)
{
    spmv_group *group = maker->group;
    size_t i;
    if (!(maker->alone > 0) || group->count < 2) return SPMV_OK;
    group->alone = maker->alone;
    group->together = spmv__group_predicted(group);
    if (spmv__group_pays(group)) return SPMV_OK;
    spmv__group_only(maker, maker->best);
    for (i = 0; i < group->count; i++) group->block[i].predicted = i == maker->best ? maker->alone : 0;
    return spmv__group_lay_out(maker);
}

/* Stores all blocks and makes what their exchange needs. */
static spmv_status spmv__group_store(const spmv__group_maker *maker)
{
    spmv_group *group = maker->group;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < group->count; i++) {
        s = SPMV__ON_DEVICE(spmv__group_queue_create(&group->block[i]));
        if (!s) s = spmv__group_store_block(maker, &group->block[i]);
        s = spmv__group_blame(group, &group->block[i], s);
    }
    if (!s) s = spmv__group_list_sends(maker);
    for (i = 0; !s && i < group->count; i++) {
        s = spmv__group_stage(group, &group->block[i]);
        if (!s) s = SPMV__ON_DEVICE(spmv__group_sender(group, &group->block[i]));
        s = spmv__group_blame(group, &group->block[i], s);
    }
    return s;
}

/* Allocates what is needed while a group is made, and the lists of the group. */
static spmv_status spmv__group_rooms(spmv__group_maker *maker)
{
    spmv_group *group = maker->group;
    const spmv_hooks *hooks = &group->hooks;
    uint64_t n = maker->desc->count;
    void *block = NULL, *message = NULL, *map = NULL, *halo = NULL, *weight = NULL;
    spmv_status s = spmv__new(hooks, &block, n, sizeof *group->block, 0);
    group->block = (spmv_group_block *)block;
    if (!s) s = spmv__new(hooks, &message, spmv__sat_mul(n, n), sizeof *group->message, 0);
    group->message = (spmv_group_message *)message;
    if (!s) s = spmv__room(hooks, &map, spmv__ceil_div(maker->a->cols, 32) * SPMV__MOST_THREADS, sizeof *maker->map);
    maker->map = (uint32_t *)map;
    if (!s) s = spmv__new(hooks, &halo, n, sizeof *maker->halo, 0);
    maker->halo = (spmv__group_halo *)halo;
    if (!s) s = spmv__new(hooks, &weight, spmv__sat_mul(n, 2), sizeof *maker->weight, 0);
    maker->weight = (double *)weight;
    if (!s) maker->whole = maker->weight + n;
    return s;
}

/* Makes the group from its matrix as CSR. */
static spmv_status spmv__group_create(spmv_group *group, const spmv_group_desc *desc, const spmv_csr *a)
{
    spmv__group_maker maker;
    size_t i;
    spmv_status s;
    memset(&maker, 0, sizeof maker);
    maker.group = group;
    maker.desc = desc;
    maker.a = a;
    if (desc->desc.hints) maker.hints = *desc->desc.hints;
    maker.hints.measure = NULL;
    maker.hints.choice = NULL;
    group->rows = a->rows;
    group->cols = a->cols;
    group->nnz = a->nnz;
    s = spmv__group_rooms(&maker);
    if (!s) group->count = desc->count;
    for (i = 0; i < group->count; i++) group->block[i].device = desc->device[i];
    if (!s) s = spmv__group_decide(&maker);
    if (!s) s = spmv__group_lay_out(&maker);
    if (!s) s = spmv__group_reconsider(&maker);
    if (!s) s = spmv__group_room_to_pick(&maker);
    if (!s) s = spmv__group_store(&maker);
    for (i = 0; maker.halo && i < desc->count; i++) spmv_free(&group->hooks, maker.halo[i].col);
    spmv_free(&group->hooks, maker.halo);
    spmv_free(&group->hooks, maker.map);
    spmv_free(&group->hooks, maker.ptr);
    spmv_free(&group->hooks, maker.col);
    spmv_free(&group->hooks, maker.val);
    spmv_free(&group->hooks, maker.weight);
    return s;
}

/* Makes the transpose a group of its own, unless the matrix, which is csr, is its own transpose. */
static spmv_status spmv__group_make_transposed(spmv_group *group, const spmv_group_desc *desc, const spmv_csr *csr)
{
    spmv_group_desc of = *desc;
    void *block;
    spmv_status s;
    if (spmv__stays_symmetric(&desc->desc, csr)) return SPMV_OK;
    of.desc.both = 0;
    of.desc.matrix.transpose = !desc->desc.matrix.transpose;
    spmv__describe_transposed(&of.desc, &desc->desc);
    s = spmv__new(&group->hooks, &block, 1, sizeof *group, 0);
    if (s) return s;
    s = spmv_group_create((spmv_group *)block, &of);
    if (s) spmv_free(&group->hooks, block);
    else group->transposed_ = (spmv_group *)block;
    return s;
}

SPMV_API spmv_status spmv_group_create(spmv_group *group, const spmv_group_desc *desc)
{
    const spmv_desc *each = desc ? &desc->desc : NULL;
    if (!group || !desc || !desc->device)
        return spmv__null(each ? &each->hooks : NULL, "spmv_group_create", !group ? "group" : !desc ? "desc" : "desc->device", group,
                          sizeof *group);
    const spmv_csr *csr = NULL;
    spmv_status s = SPMV_OK;
    size_t i;
    memset(group, 0, sizeof *group);
    group->hooks = each->hooks;
    group->type = spmv__desc_type(each);
    group->updatable = each->updatable;
    group->both = each->both;
    if (!desc->count) return spmv_log(&group->hooks, SPMV_ERR_ARGUMENT, "spmv_group_create: count is 0");
    if (each->buffers)
        return spmv_log(&group->hooks, SPMV_ERR_UNSUPPORTED, "spmv_group_create: desc.buffers is set, but groups take arrays of the host");
    if ((unsigned)each->type >= SPMV_TYPE_COUNT) return spmv_log(&group->hooks, SPMV_ERR_ARGUMENT, "type %d is unknown", (int)each->type);
    if ((unsigned)desc->divide > SPMV_GROUP_BY_ROWS)
        return spmv_log(&group->hooks, SPMV_ERR_ARGUMENT, "spmv_group_create: divide %d is unknown", (int)desc->divide);
    for (i = 0; !s && i < desc->count; i++) s = spmv__group_check_device(desc->device[i], i, &group->hooks);
    if (!s) s = spmv__take_input(&csr, &group->own_, each);
    group->borrowed_csr = csr != &group->own_;
    if (!s) s = spmv__group_create(group, desc, csr);
    if (!s && each->both) s = spmv__group_make_transposed(group, desc, csr);
    if (s) spmv_group_destroy(group);
    else if (!group->updatable) spmv_csr_destroy(&group->own_);
    return s;
}

static void spmv__group_block_destroy(const spmv_group *group, spmv_group_block *block)
{
    for (; block->pieces; block->pieces--) {
        spmv_destroy(&block->piece[block->pieces - 1].m);
        spmv_free(&group->hooks, block->piece[block->pieces - 1].from_);
    }
#ifdef SPMV_DEVICE_H
    spmv__group_queue_destroy(block);
    if (block->stage_ && block->stage_of_) spmv__group_unpin(block);
#endif
    spmv_free(&group->hooks, block->index_);
    spmv_free(&group->hooks, block->stage_);
}

/* Waits, but not in a process that was forked off. */
static spmv_status spmv__group_finish(spmv_group *group)
{
    spmv_status s = SPMV_OK, one;
    size_t i;
    for (i = 0; i < group->count; i++) {
        if (!group->block[i].device) continue;
        one = spmv__group_blame(group, &group->block[i], SPMV__ON_DEVICE(spmv__group_finish_device(&group->block[i])));
        if (!s) s = one;
    }
    return s;
}

SPMV_API void spmv_group_destroy(spmv_group *group)
{
    spmv_hooks hooks;
    size_t i;
    if (!group) return;
    hooks = group->hooks;
    spmv_group_destroy(group->transposed_);
    spmv_free(&hooks, group->transposed_);
    spmv_group_vector_destroy(&group->x_);
    spmv_group_vector_destroy(&group->y_);
    if (group->count) spmv__group_finish(group);
    for (i = 0; i < group->count; i++) spmv__group_block_destroy(group, &group->block[i]);
    spmv_csr_destroy(&group->own_);
    spmv_free(&hooks, group->block);
    spmv_free(&hooks, group->message);
    memset(group, 0, sizeof *group);
}

/* Refuses a group that has no devices, or one whose devices were opened in another process. */
static spmv_status spmv__group_is_made(const spmv_group *group, const char *function)
{
#ifdef SPMV_DEVICE_H
    size_t i;
    for (i = 0; i < group->count; i++)
        if (group->block[i].device && !spmv__dev_is_here(group->block[i].device))
            return spmv__dev_not_here(group->block[i].device, function, NULL, 0);
#endif
    return group->count ? SPMV_OK : spmv_log(&group->hooks, SPMV_ERR_ARGUMENT, "%s: the group was not created, or it was destroyed",
                                             function);
}

/* Gives a matrix of a block its values among those of the group. */
static spmv_status spmv__group_update_piece(const spmv_group *group, spmv_group_piece *piece, const unsigned char *from)
{
    size_t size = (size_t)spmv_value_size(group->type);
    uint64_t n, count = spmv_nnz(&piece->m);
    void *values;
    spmv_status s;
    if (!piece->from_) return spmv_update(&piece->m, from ? from + piece->nonzero * size : NULL);
    s = spmv__room(&group->hooks, &values, count, size);
    if (s) return s;
    for (n = 0; n < count; n++) memcpy((unsigned char *)values + n * size, from + piece->from_[n] * size, size);
    s = spmv_update(&piece->m, values);
    spmv_free(&group->hooks, values);
    return s;
}

SPMV_API spmv_status spmv_group_update(spmv_group *group, const void *val)
{
    if (!group) return spmv__null(NULL, "spmv_group_update", "group", NULL, 0);
    const unsigned char *from = (const unsigned char *)val;
    size_t i;
    int k;
    spmv_status s = spmv__group_is_made(group, "spmv_group_update");
    if (s) return s;
    if (!group->updatable) return spmv_log(&group->hooks, SPMV_ERR_FIXED, "spmv_group_update: the group was not made with updatable = 1");
    if (!val && group->nnz) return spmv__null(&group->hooks, "spmv_group_update", "val", NULL, 0);
    s = spmv_group_wait(group);
    if (!s && !group->borrowed_csr) {
        s = spmv_csr_update(&group->own_, val);
        from = (const unsigned char *)group->own_.val;
    }
    for (i = 0; i < group->count; i++)
        for (k = 0; !s && k < group->block[i].pieces; k++) s = spmv__group_update_piece(group, &group->block[i].piece[k], from);
    return s || !group->transposed_ ? s : spmv_group_update(group->transposed_, val);
}

#endif
