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
    spmv_group            *g;
    const spmv_group_desc *d;
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
static void spmv__group_divide(const spmv__group_maker *k)
{
    spmv_group *g = k->g;
    const spmv_csr *a = k->a;
    int by_rows = k->d->divide == SPMV_GROUP_BY_ROWS;
    double all = 0, sum = 0, left;
    uint64_t row = 0, col = 0, end;
    size_t i, last = 0;
    for (i = 0; i < g->count; i++) {
        all += k->weight[i];
        if (k->weight[i] > 0) last = i;
    }
    for (i = 0; i < g->count; i++) {
        spmv_group_block *b = &g->block[i];
        sum += k->weight[i];
        left = all > 0 ? sum / all : 1;
        end = i >= last ? a->rows : spmv__group_bound(a, by_rows, g->count, left);
        if (end < row) end = row;
        b->row = row;
        b->rows = end - row;
        b->nnz = a->nnz ? a->ptr[end] - a->ptr[row] : 0;
        row = end;
        b->col = col;
        end = a->rows == a->cols ? row : i >= last ? a->cols : (uint64_t)((double)row / (double)(a->rows ? a->rows : 1) * (double)a->cols);
        b->cols = end - col;
        col = end;
    }
}

/* The rows of a block as a matrix with all columns; only the row pointers are new, if they do not begin with 0. */
static spmv_status spmv__group_range(const spmv__group_maker *k, const spmv_group_block *b, spmv_csr *out)
{
    const spmv_csr *a = k->a;
    uint64_t r, *ptr;
    void *block;
    spmv_status s;
    memset(out, 0, sizeof *out);
    out->rows = b->rows;
    out->cols = a->cols;
    out->nnz = b->nnz;
    out->ptr = a->ptr;
    out->type = a->type;
    out->hooks = k->g->hooks;
    if (b->row || !a->nnz) {
        s = spmv__room(&k->g->hooks, &block, b->rows + 1, sizeof *ptr);
        if (s) return s;
        out->ptr = ptr = (uint64_t *)block;
        out->owned = 1;
        for (r = 0; r <= b->rows; r++) ptr[r] = a->nnz ? a->ptr[b->row + r] - a->ptr[b->row] : 0;
    }
    if (!b->nnz) return SPMV_OK;
    out->col = a->col + a->ptr[b->row];
    out->val = (const unsigned char *)a->val + a->ptr[b->row] * spmv_value_size(a->type);
    return SPMV_OK;
}

/* The description by which a block is stored. */
static spmv_desc spmv__group_desc_of(const spmv__group_maker *k, const spmv_group_block *b)
{
    spmv_desc d = k->d->desc;
    size_t i = (size_t)(b - k->g->block);
    if (k->d->plan && k->d->plan[i]) d.plan = k->d->plan[i];
    d.device = b->device;
    d.csr = NULL;
    memset(&d.matrix, 0, sizeof d.matrix);
    if (d.hints) d.hints = &k->hints;
    return d;
}

/* Measures a product with a block by the caller's function. */
static spmv_status spmv__group_measure(const spmv__group_maker *k, const spmv_group_block *b, const spmv_csr *a, double *seconds)
{
    spmv_desc d = spmv__group_desc_of(k, b);
    spmv_matrix m;
    spmv_status s;
    d.csr = a;
    d.updatable = 0;
    s = spmv_create(&m, &d);
    if (s) return s;
    *seconds = k->d->measure(k->d->measure_user, (size_t)(b - k->g->block), &m);
    spmv_destroy(&m);
    if (*seconds > 0) return SPMV_OK;
    return spmv_log(&k->g->hooks, SPMV_ERR_ARGUMENT, "spmv_group_create: measure must return seconds above 0");
}

#ifndef SPMV_NO_AUTO
/* Estimates it by the tuning table of the device; 0 if the matrix is tiny there. */
static spmv_status spmv__group_estimate(const spmv__group_maker *k, const spmv_group_block *b, const spmv_csr *a, double *seconds)
{
    spmv_target target;
    spmv_build how;
    spmv_build_hints hints = k->hints;
    void *block;
    spmv_choice *c;
    spmv_status s = spmv__new(&k->g->hooks, &block, 1, sizeof *c, 0);
    if (s) return s;
    if (hints.expected_calls < SPMV_EXPECTED_CALLS) hints.expected_calls = 0; /* there is an estimate for few products as well */
    c = (spmv_choice *)block;
    memset(&how, 0, sizeof how);
    how.type = k->g->type;
    how.strict = k->d->desc.strict;
    how.reproducible = k->d->desc.reproducible;
    how.max_bytes = k->d->desc.max_bytes;
#ifdef SPMV_DEVICE_H
    target = spmv_target_of(b->device);
#else
    (void)b;
    memset(&target, 0, sizeof target); /* the host */
#endif
    s = spmv_choose(c, "auto", a, &how, &target, k->d->desc.hints ? &hints : NULL, NULL, &k->g->hooks);
    *seconds = !s && c->count ? c->option[0].predicted : 0;
    spmv_free(&k->g->hooks, c);
    return s;
}
#else
static spmv_status spmv__group_estimate(const spmv__group_maker *k, const spmv_group_block *b, const spmv_csr *a, double *seconds)
{
    (void)k;
    (void)b;
    (void)a;
    *seconds = 0;
    return SPMV_OK;
}
#endif

/* How many blocks with rows share the processor of block i, itself included. */
static size_t spmv__group_sharing(const spmv_group *g, size_t i)
{
    size_t j, same = 0;
    for (j = 0; j < g->count; j++) same += g->block[j].rows && spmv__group_is_same(g->block[j].device, g->block[i].device);
    return same;
}

/* Sets b->predicted to the seconds of its product, times the blocks that share its processor. */
static spmv_status spmv__group_predict(const spmv__group_maker *k, spmv_group_block *b)
{
    spmv_csr a;
    spmv_status s;
    b->predicted = 0;
    if (!b->nnz) return SPMV_OK;
    s = spmv__group_range(k, b, &a);
    if (!s && k->d->measure && k->d->divide == SPMV_GROUP_BY_RATE) s = spmv__group_measure(k, b, &a, &b->predicted);
    else if (!s) s = spmv__group_estimate(k, b, &a, &b->predicted);
    spmv_csr_destroy(&a);
    b->predicted *= (double)spmv__group_sharing(k->g, (size_t)(b - k->g->block));
    return spmv__group_blame(k->g, b, s);
}

/* Gives all rows to device i. */
static void spmv__group_only(const spmv__group_maker *k, size_t i)
{
    size_t j;
    for (j = 0; j < k->g->count; j++) k->weight[j] = j == i;
    spmv__group_divide(k);
}

/* Makes each weight the rate of the device on its block. A block has no prediction if it has no nonzeros or is tiny; then its device keeps
 * its weight. */
static void spmv__group_weigh(const spmv__group_maker *k)
{
    size_t i;
    for (i = 0; i < k->g->count; i++) {
        const spmv_group_block *b = &k->g->block[i];
        if (b->predicted > 0) k->weight[i] = (double)b->nnz / b->predicted;
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
static void spmv__group_rescale(const spmv__group_maker *k)
{
    size_t i;
    for (i = 0; i < k->g->count; i++)
        k->g->block[i].predicted = k->weight[i] > 0 ? (double)k->g->block[i].nnz / k->weight[i] : 0;
}

/* Estimates the seconds of the whole matrix on each device. */
static spmv_status spmv__group_estimate_whole(const spmv__group_maker *k)
{
    spmv_group *g = k->g;
    size_t i, j;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < g->count; i++) {
        for (j = 0; !spmv__group_is_alike(g->block[i].device, g->block[j].device); j++) {}
        spmv__group_only(k, i);
        if (j == i) s = spmv__group_predict(k, &g->block[i]);
        k->whole[i] = j == i ? g->block[i].predicted : k->whole[j];
    }
    return s;
}

/* Finds the device that is fastest alone, and its seconds: by the estimates, or by the rates that were measured, which are weights. */
static void spmv__group_find_best(spmv__group_maker *k)
{
    const spmv_group *g = k->g;
    size_t i;
    double one;
    for (i = 0; i < g->count; i++) {
        one = k->d->measure ? (double)k->a->nnz / (k->weight[i] * (double)spmv__group_sharing(g, i)) : k->whole[i];
        if (k->d->measure && !(g->block[i].predicted > 0)) continue; /* it was not measured */
        if (i && k->alone > 0 && one >= k->alone) continue;
        k->best = i;
        k->alone = one;
    }
}

/* Divides a matrix that lacks estimates: one that is tiny goes to the first device; without auto, each gets as many nonzeros. Predictions
 * that there are for some of the devices do not count. */
static void spmv__group_without_estimates(const spmv__group_maker *k)
{
    size_t i;
    for (i = 0; i < k->g->count; i++) k->g->block[i].predicted = 0;
#ifndef SPMV_NO_AUTO
    spmv__group_only(k, 0);
#else
    for (i = 0; i < k->g->count; i++) k->weight[i] = 1;
    spmv__group_divide(k);
#endif
}

/* Divides by rates: a first division by the rates of each device on the whole matrix (measured ones: on equal blocks), a second by those
 * on their own blocks. */
static spmv_status spmv__group_by_rate(spmv__group_maker *k)
{
    spmv_group *g = k->g;
    int estimates = !k->d->measure;
    size_t i;
    spmv_status s = estimates ? spmv__group_estimate_whole(k) : SPMV_OK;
    if (s) return s;
    for (i = 0; estimates && i < g->count; i++)
        if (!(k->whole[i] > 0)) {
            spmv__group_without_estimates(k);
            return SPMV_OK;
        }
    if (estimates) spmv__group_find_best(k);
    for (i = 0; i < g->count; i++) k->weight[i] = k->whole[i] > 0 ? (double)k->a->nnz / k->whole[i] : 1;
    spmv__group_divide(k);
    for (i = 0; !s && i < g->count; i++) s = spmv__group_predict(k, &g->block[i]);
    if (s) return s;
    spmv__group_weigh(k);
    if (!estimates) spmv__group_find_best(k);
    spmv__group_divide(k);
    spmv__group_rescale(k);
    return SPMV_OK;
}

/* Checks the shares that were given and takes them as weights. */
static spmv_status spmv__group_take_shares(const spmv__group_maker *k)
{
    double sum = 0, v;
    size_t i;
    for (i = 0; i < k->g->count; i++) {
        v = k->d->shares ? k->d->shares[i] : 1;
        if (!(v >= 0 && v <= 1e300))
            return spmv_log(&k->g->hooks, SPMV_ERR_ARGUMENT, "spmv_group_create: shares[%llu] must lie in 0 .. 1e300", (spmv__ull)i);
        k->weight[i] = v;
        sum += v;
    }
    if (sum > 0) return SPMV_OK;
    return spmv_log(&k->g->hooks, SPMV_ERR_ARGUMENT, "spmv_group_create: all shares are 0");
}

/* Decides which rows each device gets. */
static spmv_status spmv__group_decide(spmv__group_maker *k)
{
    spmv_group *g = k->g;
    size_t i;
    spmv_status s;
    g->divided = k->d->divide;
    g->shares = k->d->shares != NULL;
    if (!g->shares && g->divided == SPMV_GROUP_BY_RATE) return spmv__group_by_rate(k);
    s = spmv__group_take_shares(k);
    if (s) return s;
    spmv__group_divide(k);
    for (i = 0; !s && k->d->estimate && i < g->count; i++) s = spmv__group_predict(k, &g->block[i]);
    return s;
}

/* ---- halos ----------------------------------------------------------------------------------------------------------- */

/* Where the nonzeros of row r in columns of the block's own piece begin and end. */
static uint64_t spmv__group_own_begin(const spmv_csr *a, const spmv_group_block *b, uint64_t r)
{
    uint64_t n = a->ptr[r];
    while (n < a->ptr[r + 1] && a->col[n] < b->col) n++;
    return n;
}
static uint64_t spmv__group_own_end(const spmv_csr *a, const spmv_group_block *b, uint64_t r)
{
    uint64_t n = a->ptr[r + 1];
    while (n > a->ptr[r] && a->col[n - 1] >= b->col + b->cols) n--;
    return n;
}

/* The row of the matrix with which a share of a block begins. */
static uint64_t spmv__group_share_row(const spmv_csr *a, const spmv_group_block *b, uint64_t share, uint64_t shares)
{
    return b->row + spmv__share_row(a->ptr + b->row, b->rows, share, shares);
}

/* A search for the halo of a block: what each share of its rows finds. */
typedef struct spmv__group_search {
    const spmv__group_maker *k;
    const spmv_group_block  *b;
    uint64_t shares, words; /* words: of the bits of a thread */
    uint64_t foreign[SPMV__MOST_SHARES], readers[SPMV__MOST_SHARES]; /* nonzeros in the halo, and rows that have some */
    uint64_t first[SPMV__MOST_SHARES], end[SPMV__MOST_SHARES];       /* from the first to behind the last of these */
} spmv__group_search;

/* How many bits are 1. */
static uint32_t spmv__group_ones(uint32_t v)
{
    v -= v >> 1 & 0x55555555u;
    v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
    return ((v + (v >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}

static void spmv__group_mark(uint32_t *bits, const uint32_t *col, uint64_t n)
{
    uint64_t i;
    for (i = 0; i < n; i++) bits[col[i] / 32] |= (uint32_t)1 << col[i] % 32;
}

/* Marks the halo columns that a share of the rows reads. */
static void spmv__group_search_share(void *job, uint64_t share, size_t thread)
{
    spmv__group_search *c = (spmv__group_search *)job;
    const spmv_csr *a = c->k->a;
    uint32_t *bits = c->k->map + thread * c->words;
    uint64_t r = spmv__group_share_row(a, c->b, share, c->shares), end = spmv__group_share_row(a, c->b, share + 1, c->shares);
    uint64_t foreign = 0, readers = 0, first = 0, last = 0;
    for (; r < end; r++) {
        const uint64_t own = spmv__group_own_begin(a, c->b, r), after = spmv__group_own_end(a, c->b, r);
        const uint64_t low = own - a->ptr[r], high = a->ptr[r + 1] - after;
        if (!(low + high)) continue;
        spmv__group_mark(bits, a->col + a->ptr[r], low);
        spmv__group_mark(bits, a->col + after, high);
        foreign += low + high;
        if (!readers++) first = r;
        last = r + 1;
    }
    c->foreign[share] = foreign;
    c->readers[share] = readers;
    c->first[share] = first;
    c->end[share] = last;
}

/* Adds up what the shares have found. Returns how many rows read the halo. */
static uint64_t spmv__group_sum_up(const spmv__group_search *c, spmv_group_block *b, spmv__group_halo *halo)
{
    uint64_t i, readers = 0;
    halo->shares = c->shares;
    for (i = 0; i < c->shares; i++) {
        halo->before[i] = b->nnz - b->own_nnz;
        b->own_nnz -= c->foreign[i];
        if (!c->readers[i]) continue;
        if (!readers) b->reads_first = c->first[i];
        b->reads_end = c->end[i];
        readers += c->readers[i];
    }
    return readers;
}

/* Lists the columns that any of the threads has marked. */
static spmv_status spmv__group_list_halo(const spmv__group_search *c, uint64_t threads, spmv_group_block *b, spmv__group_halo *halo)
{
    uint32_t *bits = c->k->map, v;
    uint64_t w, t, col, n = 0;
    void *list;
    spmv_status s;
    for (w = 0; w < c->words; w++) {
        for (t = 1; t < threads; t++) bits[w] |= bits[t * c->words + w];
        n += spmv__group_ones(bits[w]);
    }
    s = spmv__room(&c->k->g->hooks, &list, n, sizeof *halo->col);
    halo->col = (uint32_t *)list;
    for (n = w = 0; !s && w < c->words; w++)
        for (v = bits[w], col = 32 * w; v; v >>= 1, col++)
            if (v & 1) {
                b->before += col < b->col;
                halo->col[n++] = (uint32_t)col;
            }
    b->after = n - b->before;
    return s;
}

/* Finds the halo of a block and the rows that read it, and decides whether the block is split. */
static spmv_status spmv__group_find_halo(const spmv__group_maker *k, spmv_group_block *b)
{
    spmv__group_halo *halo = &k->halo[b - k->g->block];
    spmv__group_search c;
    uint64_t threads, readers;
    spmv_status s;
    b->before = b->after = b->reads_first = b->reads_end = 0;
    b->own_nnz = b->nnz;
    b->split = 0;
    if (!b->nnz) return SPMV_OK;
    c.k = k;
    c.b = b;
    c.shares = spmv__share_count(b->rows + b->nnz);
    c.words = spmv__ceil_div(k->a->cols, 32);
    threads = spmv__share_threads(c.shares, SPMV__MOST_SHARES);
    memset(k->map, 0, (size_t)(threads * c.words * sizeof *k->map));
    spmv__share_among(spmv__group_search_share, &c, c.shares, threads);
    readers = spmv__group_sum_up(&c, b, halo);
    s = readers ? spmv__group_list_halo(&c, threads, b, halo) : SPMV_OK;
    b->split = b->device && !k->d->desc.reproducible && readers && (double)b->own_nnz >= SPMV__GROUP_OWN * (double)b->nnz &&
               (b->before + b->after) * SPMV__GROUP_ROWS_PER_HALO >= readers;
    return s;
}

/* Makes k->map that of a block's halo. */
static void spmv__group_map(const spmv__group_maker *k, const spmv_group_block *b)
{
    const uint32_t *halo = k->halo[b - k->g->block].col;
    const uint64_t words = spmv__ceil_div(k->a->cols, 32);
    uint64_t i;
    uint32_t before = 0;
    memset(k->map, 0, (size_t)(2 * words * sizeof *k->map));
    for (i = 0; i < b->before + b->after; i++) k->map[halo[i] / 32 * 2] |= (uint32_t)1 << halo[i] % 32;
    for (i = 0; i < words; i++) {
        k->map[2 * i + 1] = before;
        before += spmv__group_ones(k->map[2 * i]);
    }
}

/* Which of the halo's columns column c is. */
SPMV__INLINE uint32_t spmv__group_place(const uint32_t *map, uint32_t c)
{
    const uint32_t *at = map + c / 32 * 2, below = ((uint32_t)1 << c % 32) - 1;
    return at[1] + spmv__group_ones(at[0] & below);
}

/* Adds a message for each device that has some of the halo of block number to. The columns of one owner are adjacent in it. */
static void spmv__group_add_messages(const spmv__group_maker *k, size_t to)
{
    spmv_group *g = k->g;
    const spmv_group_block *b = &g->block[to];
    const uint32_t *halo = k->halo[to].col;
    uint64_t i = 0, all = b->before + b->after;
    size_t from = 0;
    while (i < all) {
        spmv_group_message *m = &g->message[g->messages];
        uint64_t first = i, owned;
        while (halo[i] >= g->block[from].col + g->block[from].cols) from++;
        owned = g->block[from].col + g->block[from].cols;
        while (i < all && halo[i] < owned) i++;
        m->from = from;
        m->to = to;
        m->count = i - first;
        m->at = g->block[from].sends;
        m->into = first < b->before ? first : first + b->cols;
        m->peer = spmv__group_is_peer(g->block[from].device, b->device);
        g->block[from].sends += m->count;
        g->messages++;
    }
}

/* Lists the elements of its piece that each block sends. */
static spmv_status spmv__group_list_sends(const spmv__group_maker *k)
{
    spmv_group *g = k->g;
    void *list;
    uint64_t e;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < g->count; i++) {
        s = spmv__room(&g->hooks, &list, g->block[i].sends, sizeof(uint32_t));
        g->block[i].index_ = (uint32_t *)list;
        g->block[i].direct_ = 1;
    }
    for (i = 0; !s && i < g->messages; i++) {
        const spmv_group_message *m = &g->message[i];
        spmv_group_block *from = &g->block[m->from], *to = &g->block[m->to];
        const uint32_t *halo = k->halo[m->to].col + (m->into < to->before ? m->into : m->into - to->cols);
        for (e = 0; e < m->count; e++) from->index_[m->at + e] = halo[e] - (uint32_t)from->col;
        g->message[i].first = halo[0] - from->col;
        if (!from->device || halo[m->count - 1] - halo[0] != m->count - 1) from->direct_ = 0;
        from->staged_ |= !m->peer;
        to->receives_ |= !m->peer;
        if (m->peer) s = spmv__group_peer_open(to->device, from->device);
        else if (!from->stage_of_) from->stage_of_ = from->device ? from->device : to->device;
    }
    return s;
}

/* Makes the host memory through which a block sends. */
static spmv_status spmv__group_stage(const spmv_group *g, spmv_group_block *b)
{
    uint64_t bytes = b->sends * spmv_vector_size(g->type);
    if (!b->staged_) return SPMV_OK;
    if (b->stage_of_) return spmv__group_pin(b, bytes);
    return spmv__room(&g->hooks, &b->stage_, bytes, 1);
}

/* The rule of thumb for the time of its exchange. */
static void spmv__group_predict_exchange(spmv_group *g)
{
    size_t i;
    for (i = 0; i < g->messages; i++) {
        const spmv_group_message *m = &g->message[i];
        spmv_group_block *to = &g->block[m->to];
        int host = !to->device && !g->block[m->from].device;
        double bytes = (double)(m->count * spmv_vector_size(g->type));
        double latency = spmv__group_latency(g->block[m->from].device, to->device);
        if (to->exchange < latency) to->exchange = latency;
        to->exchange += bytes / (host ? SPMV__GROUP_MEMORY_BYTES : m->peer ? SPMV__GROUP_PEER_BYTES : SPMV__GROUP_HOST_BYTES);
    }
}

/* Of the exchange, the time that the product with its own piece of x hides. */
static double spmv__group_hidden(const spmv_group_block *b)
{
    double could = b->split ? b->predicted * (double)b->own_nnz / (double)b->nnz : 0;
    return could < b->exchange ? could : b->exchange;
}

/* 1: a product uses the block's own queue. */
static int spmv__group_is_aside(const spmv_group_block *b) { return b->device && (b->sends || b->before + b->after); }

/* Seconds of enqueueing a product of the group. */
static double spmv__group_calls(const spmv_group *g)
{
    uint64_t n = 0;
    size_t i;
    for (i = 0; i < g->count; i++)
        if (spmv__group_is_aside(&g->block[i])) n += SPMV__GROUP_DEVICE_OPERATIONS;
    for (i = 0; i < g->messages; i++)
        if (g->block[g->message[i].from].device || g->block[g->message[i].to].device) n += SPMV__GROUP_MESSAGE_OPERATIONS;
    return (double)n * SPMV__GROUP_OPERATION;
}

/* Seconds until a block is done, by the predictions. The host's comes after all is enqueued. */
static double spmv__group_seconds(const spmv_group *g, const spmv_group_block *b)
{
    double steps = b->device ? (b->before + b->after > 0) + b->split : 0;
    double before = b->device || !b->rows ? 0 : spmv__group_calls(g);
    return before + b->predicted + b->exchange - spmv__group_hidden(b) + steps * SPMV__GROUP_STEP;
}

/* Seconds of a product of the group. */
static double spmv__group_predicted(const spmv_group *g)
{
    double most = spmv__group_calls(g), one;
    size_t i;
    for (i = 0; i < g->count; i++) {
        one = spmv__group_seconds(g, &g->block[i]);
        if (one > most) most = one;
    }
    return most;
}

/* 1: by the predictions, dividing the rows clearly pays. */
static int spmv__group_pays(const spmv_group *g) { return g->together < SPMV__GROUP_CLEARLY * g->alone; }

/* ---- blocks ---------------------------------------------------------------------------------------------------------- */

/* Stores one matrix of a block; row is where it begins in the matrix of the group. */
static spmv_status spmv__group_store_csr(const spmv__group_maker *k, spmv_group_block *b, const spmv_csr *a, uint64_t row)
{
    spmv_group_piece *p = &b->piece[b->pieces];
    spmv_desc d = spmv__group_desc_of(k, b);
    spmv_status s;
    d.matrix.rows = (int64_t)a->rows;
    d.matrix.cols = (int64_t)a->cols;
    d.matrix.nnz = (int64_t)a->nnz;
    d.matrix.ptr = a->ptr;
    d.matrix.ptr_bits = 64;
    d.matrix.col = a->col;
    d.matrix.val = a->val;
    d.matrix.val_type = a->type;
    s = spmv_create(&p->m, &d);
    if (s) return s;
    b->pieces++;
    p->row = row;
    p->nonzero = k->a->nnz ? k->a->ptr[row] : 0;
    p->image = spmv__group_has_image(&p->m);
    return SPMV_OK;
}

/* Some of the nonzeros of a block as CSR: those in columns of its own piece, those of its halo, or both. */
typedef struct spmv__group_pick {
    const spmv__group_maker *k;
    const spmv_group_block  *b;
    int       own, halo, values; /* values: 0: all are picked, which need no copy */
    uint64_t  first, end;        /* rows of the matrix */
    uint64_t *from;              /* their numbers in the matrix; NULL: not wanted */
} spmv__group_pick;

/* Picks nonzeros n .. end - 1 of a row as number at and so on, with the numbers of their columns, or of their places in the halo (map),
 * plus shift. Returns which comes next. */
static uint64_t spmv__group_pick_run(const spmv__group_pick *p, uint64_t n, uint64_t end, const uint32_t *map, uint64_t shift, uint64_t at)
{
    const spmv_csr *a = p->k->a;
    uint32_t *col = p->k->col + at;
    const size_t size = (size_t)spmv_value_size(a->type);
    const uint64_t count = end - n;
    uint64_t i;
    if (!count) return at;
    if (map) for (i = 0; i < count; i++) col[i] = spmv__group_place(map, a->col[n + i]) + (uint32_t)shift;
    else for (i = 0; i < count; i++) col[i] = a->col[n + i] + (uint32_t)shift;
    if (p->values) memcpy(p->k->val + at * size, (const unsigned char *)a->val + n * size, (size_t)count * size);
    for (i = 0; p->from && i < count; i++) p->from[at + i] = n + i;
    return at + count;
}

/* Picks the nonzeros of a share of the block's rows. */
static void spmv__group_pick_share(void *job, uint64_t share)
{
    const spmv__group_pick *p = (const spmv__group_pick *)job;
    const spmv_csr *a = p->k->a;
    const spmv__group_halo *halo = &p->k->halo[p->b - p->k->g->block];
    uint64_t r = spmv__group_share_row(a, p->b, share, halo->shares), end = spmv__group_share_row(a, p->b, share + 1, halo->shares);
    uint64_t foreign = halo->before[share], at = (p->own ? a->ptr[r] - a->ptr[p->b->row] - foreign : 0) + (p->halo ? foreign : 0);
    const uint64_t before = p->halo ? p->b->before : 0;
    if (r < p->first) r = p->first;
    for (end = spmv__smaller(end, p->end); r < end; r++) {
        const uint64_t own = spmv__group_own_begin(a, p->b, r), after = spmv__group_own_end(a, p->b, r);
        p->k->ptr[r - p->first] = at;
        if (p->halo) at = spmv__group_pick_run(p, a->ptr[r], own, p->k->map, 0, at);
        if (p->own) at = spmv__group_pick_run(p, own, after, NULL, before - p->b->col, at);
        if (p->halo) at = spmv__group_pick_run(p, after, a->ptr[r + 1], p->k->map, p->b->cols, at);
    }
}

/* Stores nonzeros of a block as one matrix: those of its own piece (own), those of its halo, in the rows from the first to the last that
 * read it, or all, whose values need no copy. */
static spmv_status spmv__group_store_picked(const spmv__group_maker *k, spmv_group_block *b, int own, int halo)
{
    spmv_group_piece *p = &b->piece[b->pieces];
    const uint64_t base = k->a->ptr[b->row] * spmv_value_size(k->a->type);
    void *from = NULL;
    spmv__group_pick c;
    spmv_csr a;
    spmv_status s = SPMV_OK;
    memset(&a, 0, sizeof a);
    c.k = k;
    c.b = b;
    c.own = own;
    c.halo = halo;
    c.first = own ? b->row : b->reads_first;
    c.end = own ? b->row + b->rows : b->reads_end;
    c.values = !(own && halo);
    a.rows = c.end - c.first;
    a.cols = b->cols + (halo ? b->before + b->after : 0);
    a.nnz = (own ? b->own_nnz : 0) + (halo ? b->nnz - b->own_nnz : 0);
    a.type = k->a->type;
    a.ptr = k->ptr;
    a.col = k->col;
    a.val = c.values ? k->val : (const unsigned char *)k->a->val + base;
    if (c.values && k->g->updatable) s = spmv__room(&k->g->hooks, &from, a.nnz, sizeof *c.from);
    c.from = (uint64_t *)from;
    if (s) return s;
    spmv__share_out(spmv__group_pick_share, &c, k->halo[b - k->g->block].shares);
    k->ptr[a.rows] = a.nnz;
    s = spmv__group_store_csr(k, b, &a, c.first);
    if (s) {
        spmv_free(&k->g->hooks, from);
        return s;
    }
    p->own = !halo || b->own_nnz == b->nnz;
    p->adds = !own;
    p->from_ = c.from;
    return SPMV_OK;
}

/* Stores a block that has all columns it reads, in their places: as it is. */
static spmv_status spmv__group_store_as_is(const spmv__group_maker *k, spmv_group_block *b)
{
    spmv_csr a;
    spmv_status s = spmv__group_range(k, b, &a);
    a.cols = b->cols;
    if (!s) s = spmv__group_store_csr(k, b, &a, b->row);
    if (!s) b->piece[0].own = 1;
    spmv_csr_destroy(&a);
    return s;
}

/* 1: the columns of a block, if it has nonzeros, are all its own and the first of the matrix. */
static int spmv__group_is_as_is(const spmv_group_block *b) { return !b->nnz || (!b->col && b->own_nnz == b->nnz); }

/* Makes the room for what is picked. */
static spmv_status spmv__group_room_to_pick(spmv__group_maker *k)
{
    const spmv_hooks *h = &k->g->hooks;
    uint64_t rows = 0, nnz = 0, values = 0;
    void *ptr = NULL, *col = NULL, *val = NULL;
    size_t i;
    spmv_status s;
    for (i = 0; i < k->g->count; i++) {
        const spmv_group_block *b = &k->g->block[i];
        if (spmv__group_is_as_is(b)) continue;
        rows = b->rows > rows ? b->rows : rows;
        nnz = b->nnz > nnz ? b->nnz : nnz;
        values = b->split && b->nnz > values ? b->nnz : values;
    }
    s = spmv__room(h, &ptr, rows + 1, sizeof *k->ptr);
    if (!s) s = spmv__room(h, &col, nnz, sizeof *k->col);
    if (!s) s = spmv__room(h, &val, values, spmv_value_size(k->a->type));
    k->ptr = (uint64_t *)ptr;
    k->col = (uint32_t *)col;
    k->val = (unsigned char *)val;
    return s;
}

/* Stores a block as one or two matrices. */
static spmv_status spmv__group_store_block(const spmv__group_maker *k, spmv_group_block *b)
{
    spmv_status s;
    if (!b->rows) return SPMV_OK;
    if (spmv__group_is_as_is(b)) return spmv__group_store_as_is(k, b);
    spmv__group_map(k, b);
    if (!b->split) return spmv__group_store_picked(k, b, 1, 1);
    s = spmv__group_store_picked(k, b, 1, 0);
    return s ? s : spmv__group_store_picked(k, b, 0, 1);
}

/* Finds the halos and the messages of all blocks, in place of those of an earlier division. */
static spmv_status spmv__group_lay_out(const spmv__group_maker *k)
{
    spmv_group *g = k->g;
    size_t i;
    spmv_status s = SPMV_OK;
    g->messages = 0;
    for (i = 0; i < g->count; i++) {
        spmv_free(&g->hooks, k->halo[i].col);
        k->halo[i].col = NULL;
        g->block[i].sends = 0;
        g->block[i].exchange = 0;
    }
    for (i = 0; !s && i < g->count; i++) {
        s = spmv__group_blame(g, &g->block[i], spmv__group_find_halo(k, &g->block[i]));
        if (!s) spmv__group_add_messages(k, i);
    }
    if (!s) spmv__group_predict_exchange(g);
    return s;
}

/* Gives all rows to the fastest device unless, by the predictions, dividing them clearly pays. */
static spmv_status spmv__group_reconsider(const spmv__group_maker *k)
{
    spmv_group *g = k->g;
    size_t i;
    if (!(k->alone > 0) || g->count < 2) return SPMV_OK;
    g->alone = k->alone;
    g->together = spmv__group_predicted(g);
    if (spmv__group_pays(g)) return SPMV_OK;
    spmv__group_only(k, k->best);
    for (i = 0; i < g->count; i++) g->block[i].predicted = i == k->best ? k->alone : 0;
    return spmv__group_lay_out(k);
}

/* Stores all blocks and makes what their exchange needs. */
static spmv_status spmv__group_store(const spmv__group_maker *k)
{
    spmv_group *g = k->g;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < g->count; i++) {
        s = spmv__group_open_device(&g->block[i]);
        if (!s) s = spmv__group_store_block(k, &g->block[i]);
        s = spmv__group_blame(g, &g->block[i], s);
    }
    if (!s) s = spmv__group_list_sends(k);
    for (i = 0; !s && i < g->count; i++) {
        s = spmv__group_stage(g, &g->block[i]);
        if (!s) s = spmv__group_sender(g, &g->block[i]);
        s = spmv__group_blame(g, &g->block[i], s);
    }
    return s;
}

/* Allocates what is needed while a group is made, and the lists of the group. */
static spmv_status spmv__group_rooms(spmv__group_maker *k)
{
    spmv_group *g = k->g;
    const spmv_hooks *h = &g->hooks;
    uint64_t n = k->d->count;
    void *block = NULL, *message = NULL, *map = NULL, *halo = NULL, *weight = NULL;
    spmv_status s = spmv__new(h, &block, n, sizeof *g->block, 0);
    g->block = (spmv_group_block *)block;
    if (!s) s = spmv__new(h, &message, spmv__sat_mul(n, n), sizeof *g->message, 0);
    g->message = (spmv_group_message *)message;
    if (!s) s = spmv__room(h, &map, spmv__ceil_div(k->a->cols, 32) * SPMV__MOST_THREADS, sizeof *k->map);
    k->map = (uint32_t *)map;
    if (!s) s = spmv__new(h, &halo, n, sizeof *k->halo, 0);
    k->halo = (spmv__group_halo *)halo;
    if (!s) s = spmv__new(h, &weight, spmv__sat_mul(n, 2), sizeof *k->weight, 0);
    k->weight = (double *)weight;
    if (!s) k->whole = k->weight + n;
    return s;
}

/* Makes the group from its matrix as CSR. */
static spmv_status spmv__group_make(spmv_group *g, const spmv_group_desc *desc, const spmv_csr *a)
{
    spmv__group_maker k;
    size_t i;
    spmv_status s;
    memset(&k, 0, sizeof k);
    k.g = g;
    k.d = desc;
    k.a = a;
    if (desc->desc.hints) k.hints = *desc->desc.hints;
    k.hints.measure = NULL;
    k.hints.choice = NULL;
    g->rows = a->rows;
    g->cols = a->cols;
    g->nnz = a->nnz;
    s = spmv__group_rooms(&k);
    if (!s) g->count = desc->count;
    for (i = 0; i < g->count; i++) g->block[i].device = desc->device[i];
    if (!s) s = spmv__group_decide(&k);
    if (!s) s = spmv__group_lay_out(&k);
    if (!s) s = spmv__group_reconsider(&k);
    if (!s) s = spmv__group_room_to_pick(&k);
    if (!s) s = spmv__group_store(&k);
    for (i = 0; k.halo && i < desc->count; i++) spmv_free(&g->hooks, k.halo[i].col);
    spmv_free(&g->hooks, k.halo);
    spmv_free(&g->hooks, k.map);
    spmv_free(&g->hooks, k.ptr);
    spmv_free(&g->hooks, k.col);
    spmv_free(&g->hooks, k.val);
    spmv_free(&g->hooks, k.weight);
    return s;
}

SPMV_API spmv_status spmv_group_create(spmv_group *g, const spmv_group_desc *desc)
{
    const spmv_desc *d = desc ? &desc->desc : NULL;
    if (!g || !desc || !desc->device)
        return spmv__null(d ? &d->hooks : NULL, "spmv_group_create", !g ? "g" : !desc ? "desc" : "desc->device", g, sizeof *g);
    const spmv_csr *csr = NULL;
    spmv_status s = SPMV_OK;
    size_t i;
    memset(g, 0, sizeof *g);
    g->hooks = d->hooks;
    g->type = spmv__desc_type(d);
    g->updatable = d->updatable;
    if (!desc->count) return spmv_log(&g->hooks, SPMV_ERR_ARGUMENT, "spmv_group_create: count is 0");
    if (d->buffers)
        return spmv_log(&g->hooks, SPMV_ERR_UNSUPPORTED, "spmv_group_create: desc.buffers is set, but groups take arrays of the host");
    if ((unsigned)d->type >= SPMV_TYPE_COUNT) return spmv_log(&g->hooks, SPMV_ERR_ARGUMENT, "type %d is unknown", (int)d->type);
    if ((unsigned)desc->divide > SPMV_GROUP_BY_ROWS)
        return spmv_log(&g->hooks, SPMV_ERR_ARGUMENT, "spmv_group_create: divide %d is unknown", (int)desc->divide);
    for (i = 0; !s && i < desc->count; i++) s = spmv__group_check_device(desc->device[i], i, &g->hooks);
    if (!s) s = spmv__take_input(&csr, &g->own_, d);
    g->borrowed_csr = csr != &g->own_;
    if (!s) s = spmv__group_make(g, desc, csr);
    if (s) spmv_group_destroy(g);
    else if (!g->updatable) spmv_csr_destroy(&g->own_);
    return s;
}

static void spmv__group_block_free(const spmv_group *g, spmv_group_block *b)
{
    for (; b->pieces; b->pieces--) {
        spmv_destroy(&b->piece[b->pieces - 1].m);
        spmv_free(&g->hooks, b->piece[b->pieces - 1].from_);
    }
    spmv__group_close_device(b);
    spmv_free(&g->hooks, b->index_);
    if (b->stage_ && b->stage_of_) spmv__group_unpin(b);
    else spmv_free(&g->hooks, b->stage_);
}

/* Waits, but not in a process that was forked off. */
static spmv_status spmv__group_finish(spmv_group *g)
{
    spmv_status s = SPMV_OK, one;
    size_t i;
    for (i = 0; i < g->count; i++) {
        one = g->block[i].device ? spmv__group_blame(g, &g->block[i], spmv__group_finish_device(&g->block[i])) : SPMV_OK;
        if (!s) s = one;
    }
    return s;
}

SPMV_API void spmv_group_destroy(spmv_group *g)
{
    spmv_hooks h;
    size_t i;
    if (!g) return;
    h = g->hooks;
    spmv_group_vector_destroy(&g->x_);
    spmv_group_vector_destroy(&g->y_);
    if (g->count) spmv__group_finish(g);
    for (i = 0; i < g->count; i++) spmv__group_block_free(g, &g->block[i]);
    spmv_csr_destroy(&g->own_);
    spmv_free(&h, g->block);
    spmv_free(&h, g->message);
    memset(g, 0, sizeof *g);
}

/* Refuses a group that has no devices, or one whose devices were opened in another process. */
static spmv_status spmv__group_is_made(const spmv_group *g, const char *function)
{
#ifdef SPMV_DEVICE_H
    size_t i;
    for (i = 0; i < g->count; i++)
        if (g->block[i].device && !spmv__dev_is_here(g->block[i].device)) return spmv__dev_not_here(g->block[i].device, function, NULL, 0);
#endif
    return g->count ? SPMV_OK : spmv_log(&g->hooks, SPMV_ERR_ARGUMENT, "%s: the group was not created, or it was destroyed", function);
}

/* Gives a matrix of a block its values among those of the group. */
static spmv_status spmv__group_update_piece(const spmv_group *g, spmv_group_piece *p, const unsigned char *from)
{
    size_t size = (size_t)spmv_value_size(g->type);
    uint64_t n, count = spmv_nnz(&p->m);
    void *values;
    spmv_status s;
    if (!p->from_) return spmv_update(&p->m, from ? from + p->nonzero * size : NULL);
    s = spmv__room(&g->hooks, &values, count, size);
    if (s) return s;
    for (n = 0; n < count; n++) memcpy((unsigned char *)values + n * size, from + p->from_[n] * size, size);
    s = spmv_update(&p->m, values);
    spmv_free(&g->hooks, values);
    return s;
}

SPMV_API spmv_status spmv_group_update(spmv_group *g, const void *val)
{
    if (!g) return spmv__null(NULL, "spmv_group_update", "g", NULL, 0);
    const unsigned char *from = (const unsigned char *)val;
    size_t i;
    int k;
    spmv_status s = spmv__group_is_made(g, "spmv_group_update");
    if (s) return s;
    if (!g->updatable) return spmv_log(&g->hooks, SPMV_ERR_FIXED, "spmv_group_update: the group was not made with updatable = 1");
    if (!val && g->nnz) return spmv__null(&g->hooks, "spmv_group_update", "val", NULL, 0);
    s = spmv_group_wait(g);
    if (!s && !g->borrowed_csr) {
        s = spmv_csr_update(&g->own_, val);
        from = (const unsigned char *)g->own_.val;
    }
    for (i = 0; i < g->count; i++)
        for (k = 0; !s && k < g->block[i].pieces; k++) s = spmv__group_update_piece(g, &g->block[i].piece[k], from);
    return s;
}

#endif
