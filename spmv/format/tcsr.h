/* SPDX-License-Identifier: MIT
 *
 * spmv/format/tcsr.h - tcsr: csr in tiles of as many slots each.
 */
#ifndef SPMV__FORMAT_TCSR_H
#define SPMV__FORMAT_TCSR_H

#include "rows.h"

/* ---- tcsr -------------------------------------------------------------------------------------------------------- */
#if !(SPMV__ONLY & SPMV_BIT_TCSR)
#define SPMV__NO_TCSR
#define SPMV__BUILT_TCSR 0
#else
#define SPMV__BUILT_TCSR 1
#endif

static const spmv__traits spmv__tcsr_traits = {
    SPMV__LISTS | SPMV__KEY(TILE) | SPMV__KEY(IDX), /* keys */
    SPMV_CAN_LIST | SPMV_LONG_ROWS,                 /* flags */
    SPMV_CLASS_FLAT,                                /* class */
    1,                                              /* indices */
    SPMV__EVEN,                                     /* even */
    SPMV__PADS_NONE, SPMV__LANES_ONE                /* pads, lanes */
};

static const char *const spmv__tcsr_layouts[] = {
    "tcsr",
    "tcsr:tile=2048",
    "tcsr:idx=16",
    "tcsr:tile=2048,idx=16"
};

enum { SPMV__TCSR_WARP = SPMV_TCSR_LANES * SPMV_TCSR_SLOTS /* slots of a warp */ };

/* The row of the part that is the n-th to end. */
SPMV__SHARED uint64_t spmv__tcsr_row(const spmv_part *p, uint64_t n)
{
    return p->a[SPMV_TCSR_ROW].count ? ((const uint32_t *)p->a[SPMV_TCSR_ROW].data)[n] : n;
}

/* Rows that end before tile t. */
SPMV__SHARED uint64_t spmv__tcsr_ends(const spmv_part *p, uint64_t t)
{
    return ((const uint32_t *)p->a[SPMV_TCSR_END].data)[t * (p->n[SPMV_TCSR_TILE] / SPMV__TCSR_WARP)];
}

/* Where the 16-bit column of a slot is stored: those of eight slots of a lane are adjacent, so that it loads them together. */
SPMV__SHARED uint64_t spmv__tcsr_place(uint64_t slot)
{
    const uint64_t together = 8, in = slot % SPMV__TCSR_WARP, nth = in / SPMV_TCSR_LANES;
    return slot - in + nth / together * (together * SPMV_TCSR_LANES) + in % SPMV_TCSR_LANES * together + nth % together;
}

/* The high byte of a slot's column; NULL: its warp has none. */
SPMV__SHARED uint8_t *spmv__tcsr_high(const spmv_part *p, uint64_t slot)
{
    const uint32_t *at = (const uint32_t *)p->a[SPMV_TCSR_HIGH_AT].data;
    if (!at) return NULL;
    at += slot / SPMV__TCSR_WARP;
    if (at[0] == at[1]) return NULL;
    return (uint8_t *)p->a[SPMV_TCSR_HIGH].data + (uint64_t)at[0] * SPMV__TCSR_WARP + slot % SPMV_TCSR_LANES * SPMV_TCSR_SLOTS +
           slot % SPMV__TCSR_WARP / SPMV_TCSR_LANES;
}

/* The column in a slot. */
SPMV__SHARED uint32_t spmv__tcsr_column(const spmv_part *p, uint64_t slot)
{
    const uint8_t *high;
    uint32_t c;
    if (!p->a[SPMV_TCSR_BASE].count) return ((const uint32_t *)p->a[SPMV_TCSR_COL].data)[slot];
    c = ((const uint32_t *)p->a[SPMV_TCSR_BASE].data)[slot / SPMV__TCSR_WARP];
    c += ((const uint16_t *)p->a[SPMV_TCSR_COL].data)[spmv__tcsr_place(slot)];
    high = spmv__tcsr_high(p, slot);
    return high ? c + ((uint32_t)*high << 16) : c;
}

#ifndef SPMV__NO_TCSR
enum {
    SPMV__TILE_SLOTS = 4096, /* by default; half as many are as fast ([M7] of docs/measurements.md) */
    SPMV__TCSR_BITS = 23,    /* of columns of 16 bits and a high byte, whose sign bit is 0: the kernel fills up columns with it */
    SPMV__TILE_REST = 16     /* a row is not cut if at most this share of a tile, a 16th, is left; an 8th gains nothing [M7] */
};

SPMV__SHARED uint64_t spmv__tile_slots(const spmv_spec *spec)
{
    return spec->key[SPMV_KEY_TILE] ? (uint64_t)spec->key[SPMV_KEY_TILE] : (uint64_t)SPMV__TILE_SLOTS;
}

/* 1 if all warps shall have high bytes, as nearly all need them: a warp then knows where its own are without reading it first. */
SPMV__SHARED int spmv__tcsr_all_wide(uint64_t wide, uint64_t warps) { return wide && wide * 4 >= warps * 3; }

/* Where a row of length nonzeros begins if the rows before it end at slot at. tile, the slots of a tile, is a power of two. */
SPMV__SHARED uint64_t spmv__tile_slot(uint64_t tile, uint64_t at, uint64_t length)
{
    uint64_t rest = tile - (at & (tile - 1));
    return length > rest && rest * SPMV__TILE_REST <= tile ? at + rest : at;
}

/* 1 if the slots at up to end lie in several tiles. */
SPMV__SHARED int spmv__tile_cuts(uint64_t tile, uint64_t at, uint64_t end) { return (at ^ (end - 1)) >= tile; }

/* The first row from row i on, which begins at slot *at, that does not fit into the rest of its tile; rows if all fit. *at becomes the slot
 * where the rows before it end. Within a tile nothing has to be looked at row by row. */
static uint64_t spmv__tile_full(const uint64_t *ptr, uint64_t rows, uint64_t tile, uint64_t i, uint64_t *at)
{
    const uint64_t full = spmv__tile_row(ptr, i, rows, ptr[i] + tile - (*at & (tile - 1)));
    *at += ptr[full] - ptr[i];
    return full;
}

/* The walk of spmv__tcsr_bases over the slots of a part. */
typedef struct spmv__tcsr_walk {
    uint32_t *base, *high_at; /* where these arrays are written; NULL: nowhere */
    uint64_t  at, wide;       /* slots; warps that have high bytes */
    uint64_t  low, high;      /* of the columns in the warp so far; low > high: there are none */
    int       all;            /* 1: every warp has high bytes, 0: those that need them */
    int       fits;           /* 1: the columns of each warp so far span less than 2^23 */
} spmv__tcsr_walk;

/* Passes count slots of one warp, whose columns lie in low .. high. After the warp's last slot, writes its base. */
static void spmv__tcsr_pass(spmv__tcsr_walk *walk, uint64_t count, uint64_t low, uint64_t high)
{
    uint64_t span;
    if (low < walk->low) walk->low = low;
    if (high > walk->high) walk->high = high;
    walk->at += count;
    if (walk->at % SPMV__TCSR_WARP) return;
    span = walk->high - walk->low;
    walk->fits &= span < 1u << SPMV__TCSR_BITS;
    walk->wide += (uint64_t)(walk->all || span >= 1u << 16);
    if (walk->base) *walk->base++ = (uint32_t)walk->low;
    if (walk->high_at) *++walk->high_at = (uint32_t)walk->wide;
    walk->low = UINT64_MAX;
    walk->high = 0;
}

/* Passes padding up to slot end, which repeats a column. */
static void spmv__tcsr_pass_padding(spmv__tcsr_walk *walk, uint64_t end, uint32_t column)
{
    while (walk->at < end)
        spmv__tcsr_pass(walk, spmv__smaller(end - walk->at, SPMV__TCSR_WARP - walk->at % SPMV__TCSR_WARP), column, column);
}

/* Passes a row, whose nonzeros are among entries k .. end - 1, and returns its last column. In a warp, its first and last nonzero tell the
 * span, as columns rise. */
static uint32_t spmv__tcsr_pass_row(spmv__tcsr_walk *walk, const spmv_view *view, uint64_t k, uint64_t length)
{
    uint64_t high = 0;
    while (length) {
        uint64_t low = UINT64_MAX, count = spmv__smaller(length, SPMV__TCSR_WARP - walk->at % SPMV__TCSR_WARP), first = k, left;
        if (!view->owner) k += count;
        else
            for (left = count; left; k++) left -= (uint64_t)spmv__mine(view, k);
        high = 0;
        spmv__span_entries(view, first, k, &low, &high);
        spmv__tcsr_pass(walk, count, low, high);
        length -= count;
    }
    return (uint32_t)high;
}

/* The walk in shares of whole tiles. */
typedef struct spmv__tcsr_shares {
    const spmv_part    *p;
    const spmv__source *source;
    uint64_t            shares, row[SPMV__MOST_SHARES + 1]; /* row: in which a share begins; behind the last one, all rows */
    uint64_t            done[SPMV__MOST_SHARES];        /* its nonzeros before the share */
    uint64_t            empties[SPMV__MOST_SHARES];     /* empty rows from there on, or before it */
    uint64_t            wide[SPMV__MOST_SHARES];        /* warps of the share that have high bytes */
    int                 fits[SPMV__MOST_SHARES];        /* 1: the columns of each of its warps span less than 2^23 */
} spmv__tcsr_shares;

/* The first tile of a share. */
static uint64_t spmv__tcsr_tile(const spmv__tcsr_shares *sharing, uint64_t share)
{
    return sharing->p->n[SPMV_TCSR_TILES] * share / sharing->shares;
}

/* Finds where the shares begin. A row that does not fit into the rest of a tile begins at the next one or is cut there. */
static void spmv__tcsr_starts(spmv__tcsr_shares *sharing)
{
    const uint64_t tile = sharing->p->n[SPMV_TCSR_TILE], rows = sharing->p->rows, *ptr = sharing->source->ptr;
    uint64_t at = 0, i, share;
    sharing->row[0] = sharing->done[0] = 0;
    for (i = 0, share = 1; share < sharing->shares && i < rows; i++) {
        uint64_t begin, to;
        i = spmv__tile_full(ptr, rows, tile, i, &at);
        if (i == rows) break;
        begin = spmv__tile_slot(tile, at, ptr[i + 1] - ptr[i]);
        at = begin + ptr[i + 1] - ptr[i];
        for (; share < sharing->shares && (to = spmv__tcsr_tile(sharing, share) * tile) <= at; share++) {
            sharing->row[share] = to == at && to > begin ? i + 1 : i;
            sharing->done[share] = to > begin && to < at ? to - begin : 0;
        }
    }
    for (; share < sharing->shares; share++) {
        sharing->row[share] = rows;
        sharing->done[share] = 0;
    }
    sharing->row[share] = rows;
}

/* Counts the empty rows of a share. */
static void spmv__tcsr_empties_share(void *job, uint64_t share)
{
    spmv__tcsr_shares *sharing = (spmv__tcsr_shares *)job;
    const uint64_t *ptr = sharing->source->ptr;
    uint64_t i, empties = 0;
    for (i = sharing->row[share]; i < sharing->row[share + 1]; i++) empties += (uint64_t)(ptr[i] == ptr[i + 1]);
    sharing->empties[share] = empties;
}

/* The empty rows of the part. */
static uint64_t spmv__tcsr_empties(const spmv_part *p, const spmv__source *source)
{
    spmv__tcsr_shares sharing;
    uint64_t share, empties = 0;
    sharing.source = source;
    sharing.shares = spmv__share_count(p->rows);
    for (share = 0; share <= sharing.shares; share++)
        sharing.row[share] = spmv__even(p->rows, 1, share, sharing.shares);
    spmv__share_out(spmv__tcsr_empties_share, &sharing, sharing.shares);
    for (share = 0; share < sharing.shares; share++) empties += sharing.empties[share];
    return empties;
}

/* Walks the rows of a share. */
static void spmv__tcsr_walk_share(void *job, uint64_t share)
{
    spmv__tcsr_shares *sharing = (spmv__tcsr_shares *)job;
    const spmv_part *p = sharing->p;
    const spmv__source *source = sharing->source;
    const uint64_t tile = p->n[SPMV_TCSR_TILE], first = spmv__tcsr_tile(sharing, share), end = spmv__tcsr_tile(sharing, share + 1) * tile;
    const uint64_t warp = first * tile / SPMV__TCSR_WARP;
    uint64_t i, done = sharing->done[share];
    uint32_t column = 0;
    spmv__tcsr_walk walk;
    walk.base = p->a[SPMV_TCSR_BASE].data ? (uint32_t *)p->a[SPMV_TCSR_BASE].data + warp : NULL;
    walk.high_at = p->a[SPMV_TCSR_HIGH_AT].data ? (uint32_t *)p->a[SPMV_TCSR_HIGH_AT].data + warp : NULL;
    walk.at = first * tile;
    walk.wide = walk.high = 0;
    walk.low = UINT64_MAX;
    walk.all = p->a[SPMV_TCSR_HIGH].count && p->a[SPMV_TCSR_HIGH].count == p->a[SPMV_TCSR_COL].count;
    walk.fits = 1;
    for (i = sharing->row[share]; i < p->rows && walk.at < end && walk.fits; i++, done = 0) {
        const uint64_t length = source->ptr[i + 1] - source->ptr[i] - done, begin = done ? walk.at : spmv__tile_slot(tile, walk.at, length);
        if (!length) continue;
        spmv__tcsr_pass_padding(&walk, begin, column);
        if (begin < end)
            column = spmv__tcsr_pass_row(&walk, source->view, source->view->a->ptr[spmv__source_row(source, i)] + done,
                                         spmv__smaller(length, end - begin));
    }
    if (walk.fits) spmv__tcsr_pass_padding(&walk, end, column);
    sharing->wide[share] = walk.wide;
    sharing->fits[share] = walk.fits;
}

/* Walks the part's rows. 1 if the columns of each warp span less than 2^23; *wide becomes the number of warps whose columns need a high
 * byte. Writes the bases, and high_at, if their arrays are allocated. If the view does not show all nonzeros, there is only one share: a
 * share that begins within a row could not find its first nonzero. */
static int spmv__tcsr_bases(const spmv_part *p, const spmv__source *source, uint64_t *wide)
{
    uint32_t *high_at = (uint32_t *)p->a[SPMV_TCSR_HIGH_AT].data;
    uint64_t share, i;
    int fits = 1;
    spmv__tcsr_shares sharing;
    sharing.p = p;
    sharing.source = source;
    sharing.shares = source->view->owner || !p->n[SPMV_TCSR_TILES] ? 1 : spmv__smaller(spmv__source_shares(source), p->n[SPMV_TCSR_TILES]);
    spmv__tcsr_starts(&sharing);
    spmv__share_out(spmv__tcsr_walk_share, &sharing, sharing.shares);
    if (high_at) *high_at = 0;
    for (*wide = share = 0; share < sharing.shares; share++) {
        const uint64_t warps = p->n[SPMV_TCSR_TILE] / SPMV__TCSR_WARP, end = spmv__tcsr_tile(&sharing, share + 1) * warps;
        for (i = spmv__tcsr_tile(&sharing, share) * warps; high_at && *wide && i < end; i++) high_at[i + 1] += (uint32_t)*wide;
        *wide += sharing.wide[share];
        fits &= sharing.fits[share];
    }
    return fits;
}

/* Counts tiles, rows that are cut, and empty rows. */
static void spmv__tile_count(const spmv_part *p, const spmv__source *source, uint64_t tile, spmv__tile_counts *counts)
{
    uint64_t at = 0, i;
    counts->cuts = 0;
    counts->empties = spmv__tcsr_empties(p, source);
    for (i = 0; p->rows && (i = spmv__tile_full(source->ptr, p->rows, tile, i, &at)) < p->rows; i++) {
        const uint64_t length = source->ptr[i + 1] - source->ptr[i];
        at = spmv__tile_slot(tile, at, length);
        counts->cuts += (uint64_t)spmv__tile_cuts(tile, at, at + length);
        at += length;
    }
    counts->tiles = spmv__ceil_div(at, tile);
}

static spmv_status spmv__tcsr_size(spmv_part *p, spmv__source *source)
{
    const int there = source->tiled != NULL, narrow = p->spec.key[SPMV_KEY_IDX] == 16;
    const uint64_t tile = spmv__tile_slots(&p->spec);
    spmv__tile_counts counts = { 0, 0, 0, 0, 0 };
    uint64_t slots, warps;
    void *block;
    spmv_status status;
    if (there) counts = *source->tiled;
    else spmv__tile_count(p, source, tile, &counts);
    if (counts.tiles > 0x7fffffffu)
        return spmv_log(source->hooks, SPMV_ERR_OVERFLOW, "tcsr: %llu tiles, 2^31 - 1 can be numbered", (spmv__ull)counts.tiles);
    slots = counts.tiles * tile;
    warps = slots / SPMV__TCSR_WARP;
    p->n[SPMV_TCSR_TILE] = tile;
    p->n[SPMV_TCSR_TILES] = counts.tiles;
    p->n[SPMV_TCSR_CUTS] = counts.cuts;
    p->n[SPMV_TCSR_EMPTIES] = counts.empties;
    spmv__want(&p->a[SPMV_TCSR_VAL], slots, p->a[SPMV_TCSR_VAL].width);
    spmv__want(&p->a[SPMV_TCSR_FLAG], slots / SPMV_TCSR_SLOTS, 4);
    spmv__want(&p->a[SPMV_TCSR_END], warps + 1, 4);
    spmv__want(&p->a[SPMV_TCSR_ROW], counts.empties ? p->rows - counts.empties : 0, 4);
    spmv__want(&p->a[SPMV_TCSR_PIECE], 2 * counts.tiles, 4);
    spmv__want(&p->a[SPMV_TCSR_CUT], counts.cuts, 4);
    spmv__want(&p->a[SPMV_TCSR_EMPTY], counts.empties, 4);
    if (narrow && !there) counts.fits = spmv__tcsr_bases(p, source, &counts.wide);
    spmv__want_columns(p, &p->a[SPMV_TCSR_COL], &p->a[SPMV_TCSR_BASE], slots, warps, narrow && counts.fits);
    if (!p->a[SPMV_TCSR_BASE].count) counts.wide = 0;
    if (spmv__tcsr_all_wide(counts.wide, p->a[SPMV_TCSR_BASE].count)) counts.wide = warps;
    spmv__want(&p->a[SPMV_TCSR_HIGH_AT], counts.wide ? warps + 1 : 0, 4);
    spmv__want(&p->a[SPMV_TCSR_HIGH], counts.wide * SPMV__TCSR_WARP, 1);
    status = spmv__room(source->hooks, &block, spmv__source_shares(source), sizeof *source->seen);
    source->seen = (spmv__pair *)block;
    return status;
}

/* The lowest and the highest column of nonzeros k .. end - 1; low > high if the view shows none of them. */
static void spmv__nonzero_span(const spmv_view *view, uint64_t k, uint64_t end, uint32_t *low, uint32_t *high)
{
    const uint32_t *col = view->a->col;
    *low = UINT32_MAX;
    *high = 0;
    for (; view->owner && k < end; k++)
        if (spmv__mine(view, k)) {
            if (col[k] < *low) *low = col[k];
            if (col[k] > *high) *high = col[k];
        }
    for (; k < end; k++) {
        *low = col[k] < *low ? col[k] : *low;
        *high = col[k] > *high ? col[k] : *high;
    }
}

/* Samples warps at equal distances: 512 nonzeros each, as padding is rare. Shares found in them have a standard error of at most
 * 1 / (2 sqrt(128)), 0.044. */
static void spmv__tcsr_sample(const spmv__analysis *analysis)
{
    const uint64_t samples = 128, warps = spmv__ceil_div(analysis->view->a->nnz, SPMV__TCSR_WARP), step = spmv__ceil_div(warps, samples);
    uint64_t t;
    if (analysis->view->a->cols <= 1u << 16) analysis->known->warps = 1; /* no columns span more */
    for (t = 0; t < warps && analysis->view->a->cols > 1u << 16; t += step) {
        uint32_t low, high;
        spmv__nonzero_span(analysis->view, t * SPMV__TCSR_WARP, spmv__smaller((t + 1) * SPMV__TCSR_WARP, analysis->view->a->nnz), &low,
                           &high);
        analysis->known->warps++;
        analysis->known->wide += low < high && high - low >= 1u << 16;
        analysis->known->wider += low < high && high - low >= 1u << SPMV__TCSR_BITS;
    }
}

/* With 16-bit columns, the bytes of the bases and those of the high bytes; SPMV_ERR_UNSUPPORTED if columns do not fit. */
static spmv_status spmv__tcsr_estimate_columns(const spmv__analysis *analysis, spmv__load *out)
{
    const double base = 8; /* bytes a warp, that of high_at included */
    double wide = 0;
    if (!analysis->known->warps) spmv__tcsr_sample(analysis);
    if (analysis->known->wider) return SPMV_ERR_UNSUPPORTED;
    if (analysis->known->warps) wide = (double)analysis->known->wide / analysis->known->warps;
    if (spmv__tcsr_all_wide((uint64_t)analysis->known->wide, (uint64_t)analysis->known->warps)) wide = 1;
    out->extra = out->slots * (base / (double)SPMV__TCSR_WARP + wide);
    return SPMV_OK;
}

/* Walks the rows from *r on, the first of which begins a tile, to the last one or until there are at least most slots. Returns the slots,
 * padding included, as in a build; *r becomes the row behind them. If the view shows all nonzeros, only rows that do not fit into the rest
 * of a tile are looked at. */
static uint64_t spmv__tcsr_end(const spmv__analysis *analysis, uint64_t tile, uint64_t most, uint64_t *r)
{
    const uint64_t *ptr = analysis->view->a->ptr, rows = analysis->view->a->rows;
    uint64_t at = 0;
    for (; *r < rows && at < most; ++*r) {
        uint64_t n;
        if (!analysis->len && (*r = spmv__tile_full(ptr, rows, tile, *r, &at)) == rows) break;
        n = spmv__analysis_len(analysis, *r);
        if (n) at = spmv__tile_slot(tile, at, n) + n;
    }
    return at;
}

/* The slots of tcsr. Of many tiles only a sample is looked at, as each takes some misses of the cache: stretches that begin at equal
 * distances of nonzeros. As less than a 16th of a tile is padding, the slots then err by less than a 32nd over the root of the number of
 * stretches, 0.6%, if what these hold is independent. */
static double spmv__tcsr_slots(const spmv__analysis *analysis, uint64_t tile)
{
    const uint64_t stretches = 32, length = 8 * tile; /* slots of each */
    const uint64_t *ptr = analysis->view->a->ptr, rows = analysis->view->a->rows;
    uint64_t i, first = 0, r = 0;
    double times = 0; /* slots for each nonzero, summed over the stretches */
    if (analysis->len || analysis->nnz < 2 * stretches * length)
        return (double)(spmv__ceil_div(spmv__tcsr_end(analysis, tile, UINT64_MAX, &r), tile) * tile);
    for (i = 0; i < stretches; i++) {
        uint64_t slots;
        first = r = spmv__tile_row(ptr, first, rows - 1, analysis->nnz / stretches * i);
        slots = spmv__tcsr_end(analysis, tile, length, &r);
        times += slots ? (double)slots / (double)(ptr[r] - ptr[first]) : 1;
    }
    return times / (double)stretches * (double)analysis->nnz;
}

static spmv_status spmv__tcsr_estimate(const spmv_spec *spec, const spmv__analysis *analysis, const spmv_features *features,
                                       spmv__load *out)
{
    const uint64_t tile = spmv__tile_slots(spec);
    spmv__estimate_entries(features, out);
    if (!spmv__analysis_has(&analysis->known->tiles, tile, &out->slots)) {
        out->slots = spmv__tcsr_slots(analysis, tile);
        spmv__analysis_keep(&analysis->known->tiles, tile, out->slots);
    }
    return spec->key[SPMV_KEY_IDX] == 16 ? spmv__tcsr_estimate_columns(analysis, out) : SPMV_OK;
}

/* Stores a column in a slot. */
static void spmv__tcsr_set_column(spmv_part *p, uint64_t slot, uint32_t c)
{
    uint8_t *high;
    if (!p->a[SPMV_TCSR_BASE].count) {
        ((uint32_t *)p->a[SPMV_TCSR_COL].data)[slot] = c;
        return;
    }
    c -= ((const uint32_t *)p->a[SPMV_TCSR_BASE].data)[slot / SPMV__TCSR_WARP];
    ((uint16_t *)p->a[SPMV_TCSR_COL].data)[spmv__tcsr_place(slot)] = (uint16_t)c;
    high = spmv__tcsr_high(p, slot);
    if (high) *high = (uint8_t)(c >> 16);
}

/* Stores count columns from slot at on. */
static void spmv__tcsr_set_columns(spmv_part *p, uint64_t at, const uint32_t *from, uint64_t count)
{
    uint64_t i;
    if (!p->a[SPMV_TCSR_BASE].count) memcpy((uint32_t *)p->a[SPMV_TCSR_COL].data + at, from, (size_t)count * sizeof *from);
    else
        for (i = 0; i < count; i++) spmv__tcsr_set_column(p, at + i, from[i]);
}

/* Padding of slots at up to end: it reads the same column as the slot before it, which is in the cache, and no sum takes it in. */
static void spmv__tcsr_pad(spmv_part *p, const spmv__sink *to, uint64_t at, uint64_t end, uint32_t column)
{
    spmv__clear(to, at, end - at);
    for (; at < end; at++) spmv__tcsr_set_column(p, at, column);
}

/* The column of the last nonzero before row i of the part; 0 if there is none. */
static uint32_t spmv__tcsr_column_before(const spmv__source *source, uint64_t i)
{
    const spmv_csr *a = source->view->a;
    uint64_t r, k;
    while (i && source->ptr[i] == source->ptr[i - 1]) i--;
    if (!i) return 0;
    r = spmv__source_row(source, i - 1);
    for (k = a->ptr[r + 1] - 1; !spmv__mine(source->view, k);) k--;
    return a->col[k];
}

/* The row in slots at up to end, which lie in several tiles, is cut. */
static void spmv__tcsr_cut_row(spmv_part *p, uint64_t at, uint64_t end, uint64_t *cuts)
{
    uint32_t *piece = (uint32_t *)p->a[SPMV_TCSR_PIECE].data;
    uint64_t first = at / p->n[SPMV_TCSR_TILE], last = (end - 1) / p->n[SPMV_TCSR_TILE], t;
    ((uint32_t *)p->a[SPMV_TCSR_CUT].data)[(*cuts)++] = (uint32_t)first;
    for (t = first; t < last; t++) {
        piece[2 * t + 1] = (uint32_t)last;
        piece[2 * t + 2] = (uint32_t)first;
    }
}

/* From row ends alone, in lanes first .. end - 1, whole warps: the counts above bit 16 of the flags, and how many rows end before the warp
 * behind each of them; so many rows end before the first one. */
static void spmv__tcsr_count_ends(const spmv_part *p, uint64_t first, uint64_t end, uint32_t rows)
{
    uint32_t *flag = (uint32_t *)p->a[SPMV_TCSR_FLAG].data, *ends = (uint32_t *)p->a[SPMV_TCSR_END].data, in_warp = 0;
    uint64_t i;
    for (i = first; i < end; i++) {
        const uint32_t bits = flag[i];
        flag[i] |= in_warp << SPMV_TCSR_SLOTS;
        in_warp += (uint32_t)spmv__bit_count(bits);
        if ((i + 1) % SPMV_TCSR_LANES) continue;
        ends[(i + 1) / SPMV_TCSR_LANES] = rows += in_warp;
        in_warp = 0;
    }
}

/* Fills the flags of a share of tiles, the ends of its warps, and where there are empty rows, the lists of these and of the others. */
static void spmv__tcsr_lay_share(void *job, uint64_t share)
{
    const spmv__tcsr_shares *sharing = (const spmv__tcsr_shares *)job;
    const spmv_part *p = sharing->p;
    const uint64_t tile = p->n[SPMV_TCSR_TILE], *ptr = sharing->source->ptr, begin = sharing->row[share];
    const uint64_t first = spmv__tcsr_tile(sharing, share) * tile, end = spmv__tcsr_tile(sharing, share + 1) * tile; /* slots */
    uint32_t *flag = (uint32_t *)p->a[SPMV_TCSR_FLAG].data;
    uint32_t *row = (uint32_t *)p->a[SPMV_TCSR_ROW].data, *empty = (uint32_t *)p->a[SPMV_TCSR_EMPTY].data;
    uint64_t at = first, done = sharing->done[share], empties = sharing->empties[share], i;
    for (i = first / SPMV_TCSR_SLOTS; i < end / SPMV_TCSR_SLOTS; i++) flag[i] = 0;
    for (i = begin; i < sharing->row[share + 1]; i++, done = 0) {
        const uint64_t length = ptr[i + 1] - ptr[i] - done;
        if (ptr[i + 1] == ptr[i]) {
            empty[empties++] = (uint32_t)i;
            continue;
        }
        at = (done ? at : spmv__tile_slot(tile, at, length)) + length;
        flag[(at - 1) / SPMV_TCSR_SLOTS] |= 1u << (at - 1) % SPMV_TCSR_SLOTS;
        if (row) row[i - empties] = (uint32_t)i;
    }
    spmv__tcsr_count_ends(sharing->p, first / SPMV_TCSR_SLOTS, end / SPMV_TCSR_SLOTS, (uint32_t)(begin - sharing->empties[share]));
}

/* Lists the rows that are cut, and notes for each share of the rows the slot after the rows before it. */
static void spmv__tcsr_pieces(spmv_part *p, spmv__source *source)
{
    const uint64_t tile = p->n[SPMV_TCSR_TILE], shares = spmv__source_shares(source), *ptr = source->ptr;
    uint64_t at = 0, cuts = 0, share = 0, next = 0, i;
    for (i = 0; i < p->rows; i++) {
        uint64_t before = at, begin;
        const uint64_t full = spmv__tile_full(ptr, p->rows, tile, i, &at);
        for (; share < shares && next <= full; next = spmv__share_first(source, ++share, shares)) {
            source->seen[share].key = next;
            source->seen[share].load = before + ptr[next] - ptr[i];
        }
        if (full == p->rows) return;
        i = full;
        begin = spmv__tile_slot(tile, at, ptr[i + 1] - ptr[i]);
        at = begin + ptr[i + 1] - ptr[i];
        if (spmv__tile_cuts(tile, begin, at)) spmv__tcsr_cut_row(p, begin, at, &cuts);
    }
}

/* Fills all arrays but columns and values: where a row begins depends on all rows before it. */
static void spmv__tcsr_lay(spmv_part *p, spmv__source *source)
{
    uint32_t *piece = (uint32_t *)p->a[SPMV_TCSR_PIECE].data;
    uint64_t i, n, empties = 0, share;
    spmv__tcsr_shares sharing;
    if (p->a[SPMV_TCSR_BASE].count) spmv__tcsr_bases(p, source, &i);
    for (i = 0; i < p->a[SPMV_TCSR_PIECE].count; i++) piece[i] = (uint32_t)(i / 2);
    spmv__tcsr_pieces(p, source);
    sharing.p = p;
    sharing.source = source;
    sharing.shares = p->n[SPMV_TCSR_TILES] ? spmv__smaller(spmv__source_shares(source), p->n[SPMV_TCSR_TILES]) : 1;
    spmv__tcsr_starts(&sharing);
    memset(sharing.empties, 0, sizeof sharing.empties);
    if (p->n[SPMV_TCSR_EMPTIES]) spmv__share_out(spmv__tcsr_empties_share, &sharing, sharing.shares);
    for (share = 0; share < sharing.shares; share++, empties += n) {
        n = sharing.empties[share];
        sharing.empties[share] = empties;
    }
    ((uint32_t *)p->a[SPMV_TCSR_END].data)[0] = 0;
    spmv__share_out(spmv__tcsr_lay_share, &sharing, sharing.shares);
}

/* Fills columns and values of nonzeros k .. end - 1 of the matrix from slot at on. */
static void spmv__tcsr_fill_slots(spmv_part *p, const spmv__source *source, spmv__sink *to, uint64_t at, uint64_t k, uint64_t end)
{
    if (k == end) return;
    spmv__tcsr_set_columns(p, at, source->view->a->col + k, end - k);
    spmv__put_all(to, at, k, end - k);
}

/* Fills row i of the part from slot at on, if the view does not show all nonzeros. */
static void spmv__tcsr_fill_row(spmv_part *p, const spmv__source *source, spmv__sink *to, uint64_t i, uint64_t at)
{
    const spmv_csr *a = source->view->a;
    uint64_t r = spmv__source_row(source, i), k;
    for (k = a->ptr[r]; k < a->ptr[r + 1]; k++)
        if (spmv__mine(source->view, k)) {
            spmv__tcsr_set_column(p, at, a->col[k]);
            spmv__put(to, at++, k);
        }
}

/* Fills the columns and values of rows first .. end - 1, with the padding before each row, and behind the last row of the part. Rows that
 * lie one behind the other in the matrix and in a tile are filled together. */
static void spmv__tcsr_fill(spmv_part *p, const spmv__source *source, spmv__sink *to, uint64_t first, uint64_t end)
{
    const uint64_t *ptr = source->ptr, tile = p->n[SPMV_TCSR_TILE];
    const int all = !source->view->owner && !source->view->list;
    uint64_t share = 0, at, begin, i, r;
    if (first == end) return;
    while (source->seen[share].key != first) share++;
    at = source->seen[share].load;
    for (i = first; i < end; i++) {
        if (all) {
            begin = at;
            r = i;
            i = spmv__tile_full(ptr, end, tile, r, &at);
            spmv__tcsr_fill_slots(p, source, to, begin, ptr[r], ptr[i]);
            if (i == end) break;
        }
        if (ptr[i] == ptr[i + 1]) continue;
        begin = spmv__tile_slot(tile, at, ptr[i + 1] - ptr[i]);
        if (at < begin) spmv__tcsr_pad(p, to, at, begin, spmv__tcsr_column_before(source, i));
        at = begin + ptr[i + 1] - ptr[i];
        r = spmv__source_row(source, i);
        if (source->view->owner) spmv__tcsr_fill_row(p, source, to, i, begin);
        else spmv__tcsr_fill_slots(p, source, to, begin, source->view->a->ptr[r], source->view->a->ptr[r + 1]);
    }
    if (end == p->rows) spmv__tcsr_pad(p, to, at, tile * p->n[SPMV_TCSR_TILES], spmv__tcsr_column_before(source, end));
}

/* Which of the slots of lane i, counted from the first tile on, are the last of a row. */
SPMV__SHARED uint32_t spmv__tcsr_bits(const spmv_part *p, uint64_t i)
{
    return ((const uint32_t *)p->a[SPMV_TCSR_FLAG].data)[i] & ((1u << SPMV_TCSR_SLOTS) - 1);
}

static void spmv__tcsr_each(const spmv_part *p, spmv__visit visit, void *user)
{
    const uint32_t *flag = (const uint32_t *)p->a[SPMV_TCSR_FLAG].data;
    const uint32_t *piece = (const uint32_t *)p->a[SPMV_TCSR_PIECE].data;
    uint64_t t, k, n = 0;
    for (t = 0; t < p->n[SPMV_TCSR_TILES]; t++) {
        uint64_t last = spmv__tcsr_ends(p, t + 1), at = t * p->n[SPMV_TCSR_TILE];
        for (k = at; k < at + p->n[SPMV_TCSR_TILE] && (n < last || piece[2 * t + 1] != t); k++) {
            visit(user, spmv__tcsr_row(p, n), spmv__tcsr_column(p, k), k);
            n += flag[k / SPMV_TCSR_SLOTS] >> k % SPMV_TCSR_SLOTS & 1u;
        }
    }
}

/* Do the flags and what is counted before warps and lanes belong together? */
static int spmv__tcsr_ends_sound(const spmv_part *p, uint64_t lanes, uint64_t all)
{
    const uint32_t *flag = (const uint32_t *)p->a[SPMV_TCSR_FLAG].data, *ends = (const uint32_t *)p->a[SPMV_TCSR_END].data;
    uint32_t ended = 0, in_warp = 0;
    uint64_t i;
    if (!spmv__sized(&p->a[SPMV_TCSR_FLAG], lanes, 4) || !spmv__sized(&p->a[SPMV_TCSR_END], lanes / SPMV_TCSR_LANES + 1, 4)) return 0;
    for (i = 0; i < lanes; i++) {
        if (i % SPMV_TCSR_LANES == 0) in_warp = 0;
        if (flag[i] >> SPMV_TCSR_SLOTS != in_warp || ends[i / SPMV_TCSR_LANES] != ended - in_warp) return 0;
        in_warp += (uint32_t)spmv__bit_count(spmv__tcsr_bits(p, i));
        ended += (uint32_t)spmv__bit_count(spmv__tcsr_bits(p, i));
    }
    return ends[lanes / SPMV_TCSR_LANES] == ended && ended == all;
}

/* Does each row that goes on in the next tile end where its pieces say? */
static int spmv__tcsr_pieces_sound(const spmv_part *p)
{
    const uint32_t *piece = (const uint32_t *)p->a[SPMV_TCSR_PIECE].data, *cut = (const uint32_t *)p->a[SPMV_TCSR_CUT].data;
    const uint64_t tiles = p->n[SPMV_TCSR_TILES];
    uint64_t t, first = 0, last = 0, cuts = 0; /* of the row that goes on, unless last is this tile or before it */
    if (!spmv__sized(&p->a[SPMV_TCSR_PIECE], 2 * tiles, 4) || !spmv__sized(&p->a[SPMV_TCSR_CUT], p->n[SPMV_TCSR_CUTS], 4)) return 0;
    for (t = 0; t < tiles; t++) {
        const int on = t && last >= t, ends = spmv__tcsr_ends(p, t + 1) != spmv__tcsr_ends(p, t);
        if (piece[2 * t] != (on ? first : t) || (on && ends != (last == t))) return 0;
        if (last > t && piece[2 * t + 1] != last) return 0;
        if (last > t || piece[2 * t + 1] == t) continue;
        first = t;
        last = piece[2 * t + 1];
        if (last <= t || last >= tiles || cuts == p->n[SPMV_TCSR_CUTS] || cut[cuts++] != t) return 0;
    }
    return cuts == p->n[SPMV_TCSR_CUTS];
}

/* Columns of 16 bits. */
static int spmv__tcsr_narrow_sound(const spmv_part *p, uint64_t slots)
{
    const spmv_array *at = &p->a[SPMV_TCSR_HIGH_AT], *base = &p->a[SPMV_TCSR_BASE];
    const uint64_t warps = slots / SPMV__TCSR_WARP;
    uint64_t k;
    if (!spmv__columns_sized(&p->a[SPMV_TCSR_COL], base, slots, warps)) return 0;
    if (at->count && !spmv__offsets_sound(at, warps + 1, p->a[SPMV_TCSR_HIGH].count / SPMV__TCSR_WARP)) return 0;
    if (!spmv__sized(&p->a[SPMV_TCSR_HIGH], at->count ? spmv__at(at, warps) * SPMV__TCSR_WARP : 0, 1)) return 0;
    for (k = 0; k < warps && at->count; k++)
        if (spmv__at(at, k + 1) - spmv__at(at, k) > 1) return 0;
    for (k = 0; k < slots; k++) {
        const uint32_t c = spmv__tcsr_column(p, k);
        if (c >= p->cols || c < ((const uint32_t *)base->data)[k / SPMV__TCSR_WARP]) return 0;
    }
    return 1;
}

SPMV__SHARED int spmv__tcsr_sound(const spmv_part *p)
{
    const uint64_t tile = spmv__tile_slots(&p->spec), tiles = p->n[SPMV_TCSR_TILES], slots = tile * tiles;
    const uint64_t empties = p->n[SPMV_TCSR_EMPTIES];
    if (p->n[SPMV_TCSR_TILE] != tile || tiles > 0x7fffffffu || p->a[SPMV_VAL].count != slots || empties > p->rows) return 0;
    if (!spmv__numbers_sound(&p->a[SPMV_TCSR_ROW], empties ? p->rows - empties : 0, p->rows) ||
        !spmv__numbers_sound(&p->a[SPMV_TCSR_EMPTY], empties, p->rows) ||
        !spmv__tcsr_ends_sound(p, slots / SPMV_TCSR_SLOTS, p->rows - empties) || !spmv__tcsr_pieces_sound(p))
        return 0;
    if (p->a[SPMV_TCSR_BASE].count) return spmv__tcsr_narrow_sound(p, slots);
    return !p->a[SPMV_TCSR_HIGH_AT].count && spmv__numbers_sound(&p->a[SPMV_TCSR_COL], slots, p->cols);
}
#endif

#endif

/* ---- products on the host, for each level and type (products.h) -------------------------------------------------- */
#define SPMV__HOST_TCSR { SPMV__PRODUCTS(tcsr), SPMV__NONE }
#if defined(SPMV__TYPE) && !defined(SPMV__COLUMN_BITS) && !defined(SPMV__REPEATED) && !defined(SPMV__NO_TCSR) /* again */
#ifdef SPMV__SIMPLE
static SPMV__T SPMV__F(tcsr_sum)(const spmv_part *p, uint64_t at, uint64_t end, const SPMV__T *x)
{
    const SPMV__V *val = (const SPMV__V *)p->a[SPMV_TCSR_VAL].data;
    SPMV__T sum = 0;
    if (!p->a[SPMV_TCSR_BASE].count) return SPMV__F(row)(val + at, (const uint32_t *)p->a[SPMV_TCSR_COL].data + at, end - at, x);
    for (; at < end; at++) sum += val[at] * x[spmv__tcsr_column(p, at)];
    return sum;
}
#else /* in vectors */
/* The sum of slots at .. end - 1, whose columns have 16 bits. */
SPMV__APART SPMV__T SPMV__F(tcsr_narrow)(const spmv_part *p, uint64_t at, uint64_t end, const SPMV__T *x)
{
    const SPMV__V *val = (const SPMV__V *)p->a[SPMV_TCSR_VAL].data;
    uint32_t col[SPMV__TCSR_AT_ONCE];
    SPMV__T sum = 0;
    uint64_t n, i;
    for (; at < end; at += n) {
        n = spmv__smaller(end - at, SPMV__TCSR_AT_ONCE);
        for (i = 0; i < n; i++) col[i] = spmv__tcsr_column(p, at + i);
        sum += SPMV__F(far_dot)(val + at, col, n, x);
    }
    return sum;
}

/* The sum of a row in slots at .. end - 1. */
SPMV__FORCE_INLINE SPMV__T SPMV__F(tcsr_sum)(const spmv_part *p, uint64_t at, uint64_t end, const SPMV__T *x)
{
    if (p->a[SPMV_TCSR_BASE].count) return SPMV__F(tcsr_narrow)(p, at, end, x);
    return SPMV__F(row)((const SPMV__V *)p->a[SPMV_TCSR_VAL].data, (const uint32_t *)p->a[SPMV_TCSR_COL].data, at, end, x);
}
#endif

/* The same as a call, for the few rows that are cut. */
SPMV__APART SPMV__T SPMV__F(tcsr_cut)(const spmv_part *p, uint64_t at, uint64_t end, const SPMV__T *x)
{
    return SPMV__F(tcsr_sum)(p, at, end, x);
}

/* The rows that begin in tile t. A row that is cut goes on in the slots that follow. */
static void SPMV__F(tcsr_tile)(const spmv_part *p, uint64_t t, SPMV__T alpha, const SPMV__T *x, SPMV__T beta, SPMV__T *y)
{
    const uint32_t *piece = (const uint32_t *)p->a[SPMV_TCSR_PIECE].data;
    uint64_t n = spmv__tcsr_ends(p, t), at = t * p->n[SPMV_TCSR_TILE], last = at + p->n[SPMV_TCSR_TILE], i, end;
    int other = piece[2 * t] != t; /* the row began in another tile */
    uint32_t bits;
    for (i = at / SPMV_TCSR_SLOTS; i < last / SPMV_TCSR_SLOTS; i++)
        for (bits = spmv__tcsr_bits(p, i); bits; bits &= bits - 1, at = end, other = 0, n++) {
            end = i * SPMV_TCSR_SLOTS + spmv__low_bit(bits) + 1;
            if (other) continue;
            SPMV__F(set)(p, spmv__tcsr_row(p, n), alpha, SPMV__F(tcsr_sum)(p, at, end, x), beta, y);
        }
    if (piece[2 * t + 1] == t || other) return;
    for (i = last / SPMV_TCSR_SLOTS; !spmv__tcsr_bits(p, i);) i++;
    end = i * SPMV_TCSR_SLOTS + spmv__low_bit(spmv__tcsr_bits(p, i)) + 1;
    SPMV__F(set)(p, spmv__tcsr_row(p, n), alpha, SPMV__F(tcsr_cut)(p, at, end, x), beta, y);
}

/* Shares of tcsr are tiles, and empty rows. */
static void SPMV__F(tcsr)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    const uint32_t *empty = (const uint32_t *)p->a[SPMV_TCSR_EMPTY].data;
    const uint64_t tiles = p->n[SPMV_TCSR_TILES], empties = p->n[SPMV_TCSR_EMPTIES];
    uint64_t t = spmv__even(tiles, 1, share, shares), end = spmv__even(tiles, 1, share + 1, shares);
    (void)val;
    for (; t < end; t++) SPMV__F(tcsr_tile)(p, t, alpha, x, beta, y);
    end = spmv__even(empties, 1, share + 1, shares);
    for (t = spmv__even(empties, 1, share, shares); t < end; t++) SPMV__F(set)(p, empty[t], alpha, 0, beta, y);
}
#endif /* again */
