/* SPDX-License-Identifier: MIT
 *
 * spmv/format/ell.h - ell and sell: rows padded to the same length, or to that of their slice.
 */
#ifndef SPMV__FORMAT_ELL_H
#define SPMV__FORMAT_ELL_H

#include "../products.h"

/* ---- ell and sell ------------------------------------------------------------------------------------------------ */
#if !(SPMV__ONLY & SPMV_BIT_ELL)
#define SPMV__NO_ELL
#define SPMV__BUILT_ELL 0
#else
#define SPMV__BUILT_ELL 1
#endif

#if !(SPMV__ONLY & SPMV_BIT_SELL)
#define SPMV__NO_SELL
#define SPMV__BUILT_SELL 0
#else
#define SPMV__BUILT_SELL 1
#endif

#if SPMV__BUILT_ELL || SPMV__BUILT_SELL
#define SPMV__ANY_ELL
#endif

#ifdef SPMV__ANY_ELL
/* The nonzeros of the longest of rows first .. end - 1 of the part. Of rows on a device, first must be a multiple of source->longest_of,
 * and end as well or the number of rows. */
static uint64_t spmv__longest(const spmv__source *source, uint64_t first, uint64_t end)
{
    const uint64_t found = source->longest ? spmv__ceil_div(end, source->longest_of) : 0;
    uint64_t i, w = 0;
    for (i = found ? first / source->longest_of : 0; i < found; i++)
        if (source->longest[i] > w) w = source->longest[i];
    for (i = first; !source->longest && i < end; i++)
        if (source->ptr[i + 1] - source->ptr[i] > w) w = source->ptr[i + 1] - source->ptr[i];
    return w;
}

/* Where the rows of a column-major slab go. */
typedef struct spmv__slab {
    spmv_array       *col;
    const spmv_array *base;
    uint64_t          group; /* the base of the rows */
    uint64_t          ld;    /* slots from an entry of a row to its next */
    uint64_t          width; /* entries of a row with padding */
} spmv__slab;

/* Rows that are filled together, so that whole cache lines of the slab are written at once. Of doubles, these are all rows of a slice of
 * the usual height, whose padding is then adjacent. More rows of floats, or of higher slabs, were no faster to fill. */
enum { SPMV__SLAB_ROWS = 16, SPMV__SLAB_SLICE = 32 };
enum { SPMV__SLAB_STRETCH = 64 /* entries of rows of different lengths that are filled together: 24 KiB, less than a near cache */ };
enum { SPMV__PAD_BYTE = 0xff /* of SPMV_PAD and SPMV_PAD16 */ };

/* Makes entries first .. end - 1 of some rows padding, at most SPMV__SLAB_SLICE; slot is that of entry 0 of the first of them. */
static void spmv__slab_pad(const spmv__slab *slab, const spmv__sink *to, uint64_t rows, uint64_t first, uint64_t end, uint64_t slot)
{
    const uint64_t width = slab->col->width, bytes = to->dst->width;
    const int usual = rows == SPMV__SLAB_ROWS && width == 4; /* then memset knows how much it sets */
    unsigned char *col = (unsigned char *)slab->col->data + (slot + first * slab->ld) * width;
    unsigned char *val = (unsigned char *)to->dst->data + (slot + first * slab->ld) * bytes;
    uint64_t j;
    if (first == end) return; /* the slab may have no slots at all */
    if (rows == slab->ld) { /* all of the slab's */
        memset(col, SPMV__PAD_BYTE, (size_t)((end - first) * rows * width));
        memset(val, 0, (size_t)((end - first) * rows * bytes));
        return;
    }
    for (j = first; j < end; j++, col += slab->ld * width) {
        if (usual) memset(col, SPMV__PAD_BYTE, (size_t)SPMV__SLAB_ROWS * 4);
        else memset(col, SPMV__PAD_BYTE, (size_t)(rows * width));
    }
    for (j = first; j < end; j++, val += slab->ld * bytes) {
        if (usual && bytes == 8) memset(val, 0, (size_t)SPMV__SLAB_ROWS * 8);
        else if (usual) memset(val, 0, (size_t)SPMV__SLAB_ROWS * 4);
        else memset(val, 0, (size_t)(rows * bytes));
    }
}

/* Puts n entries of each of some rows into the slab, the first into slot, slot + 1 and so on; k: where their entries begin. Values have so
 * many bytes. Nearly all of the time of a conversion is spent here, so the loops are compiled for each width. What several rows will read
 * next, if they are adjacent, is prefetched: processors do not foresee so many short streams. */
SPMV__INLINE void spmv__slab_entries(const spmv__slab *slab, const spmv__sink *to, const uint32_t *from, const uint64_t *k, uint64_t rows,
                                     uint64_t n, uint64_t slot, size_t bytes)
{
    uint32_t *col = (uint32_t *)slab->col->data;
    uint16_t *narrow = (uint16_t *)slab->col->data;
    unsigned char *val = (unsigned char *)to->dst->data + slot * bytes;
    const unsigned char *src = to->src;
    uint64_t i, j, at;
    if (slab->base->count) {
        const uint32_t base = ((const uint32_t *)slab->base->data)[slab->group];
        for (j = 0, at = slot; j < n; j++, at += slab->ld) {
            if (rows > 1) spmv__prefetch(from, (k[0] + (n + j) * rows) * sizeof *from);
            for (i = 0; i < rows; i++) narrow[at + i] = (uint16_t)(from[k[i] + j] - base);
        }
    } else {
        for (j = 0, at = slot; j < n; j++, at += slab->ld) {
            if (rows > 1) spmv__prefetch(from, (k[0] + (n + j) * rows) * sizeof *from);
            for (i = 0; i < rows; i++) col[at + i] = from[k[i] + j];
        }
    }
    for (j = 0; j < n; j++, val += slab->ld * bytes) {
        if (rows > 1) spmv__prefetch(src, (k[0] + (n + j) * rows) * bytes);
        for (i = 64; i < rows * bytes; i += 64) spmv__prefetch(src, (k[0] + (n + j) * rows) * bytes + i);
        for (i = 0; i < rows; i++) memcpy(val + i * bytes, src + (k[i] + j) * bytes, bytes);
    }
}

/* Puts entries k .. k + n - 1 into a row, the first into slot. */
static void spmv__slab_copy(const spmv__slab *slab, const spmv__sink *to, const uint32_t *from, uint64_t k, uint64_t n, uint64_t slot)
{
    if (to->dst->width == 8) spmv__slab_entries(slab, to, from, &k, 1, n, slot, 8);
    else spmv__slab_entries(slab, to, from, &k, 1, n, slot, 4);
}

/* 1 if the entries of rows can be copied: the part takes all of the matrix, and they are values. */
static int spmv__slab_copies(const spmv__source *source, const spmv__sink *to) { return !source->view->owner && to->src; }

/* Puts row i of the part into a slab, its first entry into slot: for what spmv__slab_some_rows cannot do, views of some nonzeros, and
 * maps. */
static void spmv__ell_row(const spmv__slab *slab, const spmv__source *source, spmv__sink *to, uint64_t i, uint64_t slot)
{
    const spmv_csr *a = source->view->a;
    uint64_t r = spmv__source_row(source, i), k = a->ptr[r], end = a->ptr[r + 1], n = 0;
    for (; k < end; k++)
        if (spmv__mine(source->view, k)) {
            spmv__set_column(slab->col, slab->base, slot + n * slab->ld, slab->group, a->col[k], 1);
            spmv__put(to, slot + n++ * slab->ld, k);
        }
    spmv__slab_pad(slab, to, 1, n, slab->width, slot);
}

/* Puts so many rows from row i on, SPMV__SLAB_SLICE at most, into a slab; those from row end on are padding. What all rows have is copied
 * line by line. The rest, up to the end of the longest row, is copied in short stretches, so that cache lines stay in the cache until all
 * rows have been there. What lies behind is padding. */
static void spmv__slab_some_rows(const spmv__slab *slab, const spmv__source *source, const spmv__sink *to, uint64_t i, uint64_t end,
                                 uint64_t rows, uint64_t slot)
{
    const spmv_csr *a = source->view->a;
    uint64_t k[SPMV__SLAB_SLICE], n[SPMV__SLAB_SLICE], u, j, stop, least = UINT64_MAX, most = 0;
    for (u = 0; u < rows; u++) {
        uint64_t r = i + u < end ? spmv__source_row(source, i + u) : 0;
        n[u] = i + u < end ? a->ptr[r + 1] - a->ptr[r] : 0;
        k[u] = a->ptr[r];
        least = n[u] < least ? n[u] : least;
        most = n[u] > most ? n[u] : most;
    }
    if (rows == SPMV__SLAB_SLICE) spmv__slab_entries(slab, to, a->col, k, SPMV__SLAB_SLICE, least, slot, 8);
    else if (rows != SPMV__SLAB_ROWS) least = 0;
    else if (to->dst->width == 8) spmv__slab_entries(slab, to, a->col, k, SPMV__SLAB_ROWS, least, slot, 8);
    else spmv__slab_entries(slab, to, a->col, k, SPMV__SLAB_ROWS, least, slot, 4);
    for (j = least; j < most; j = stop) {
        stop = spmv__smaller(j + SPMV__SLAB_STRETCH, most);
        spmv__slab_pad(slab, to, rows, j, stop, slot);
        for (u = 0; u < rows; u++)
            if (n[u] > j) spmv__slab_copy(slab, to, a->col, k[u] + j, spmv__smaller(n[u], stop) - j, slot + u + j * slab->ld);
    }
    spmv__slab_pad(slab, to, rows, most, slab->width, slot);
}

/* Sets the base of rows first .. end - 1, if the slab has bases: their lowest column; empty rows have 0. */
static void spmv__slab_base(const spmv__slab *slab, const spmv__source *source, uint64_t first, uint64_t end)
{
    uint64_t low, high;
    if (!slab->base->count) return;
    spmv__span(source, first, end, &low, &high);
    ((uint32_t *)slab->base->data)[slab->group] = low > high ? 0 : (uint32_t)low;
}

/* Puts rows first .. end - 1 of the part, which share a base, and rows of padding, into a slab, the first entry of the first one into
 * slot; stop: the row behind all of these. */
static void spmv__slab_rows(const spmv__slab *slab, const spmv__source *source, spmv__sink *to, uint64_t first, uint64_t end, uint64_t stop,
                            uint64_t slot)
{
    const uint64_t together = slab->ld == SPMV__SLAB_SLICE && to->dst->width == 8 ? SPMV__SLAB_SLICE : SPMV__SLAB_ROWS;
    for (; !spmv__slab_copies(source, to) && first < end; first++, slot++) spmv__ell_row(slab, source, to, first, slot);
    for (; first < stop; first += together, slot += together)
        spmv__slab_some_rows(slab, source, to, first, end, spmv__smaller(stop - first, together), slot);
}

/* Visits the entries of a row that spmv__ell_row stored; width is the number of slots that the row has. */
static void spmv__ell_visit(const spmv_array *col, const spmv_array *base, uint64_t group, uint64_t row, uint64_t slot, uint64_t ld,
                            uint64_t width, spmv__visit visit, void *user)
{
    uint64_t k;
    for (k = 0; k < width; k++, slot += ld) {
        uint32_t c = spmv__column_at(col, base, slot, group, 1);
        if (c != SPMV_PAD) visit(user, row, c, slot);
    }
}
#endif

static const spmv__traits spmv__ell_traits = {
    SPMV__LISTS | SPMV__KEY(W) | SPMV__KEY(FILL) | SPMV__KEY(IDX) | SPMV__KEY(ROWMAJOR), /* keys */
    SPMV_CAN_LIST | SPMV_REPEATS,                                                        /* flags */
    SPMV_CLASS_FLAT,                                                                     /* class */
    1,                                                                                   /* indices */
    0,                                                                                   /* even */
    SPMV__PADS_ALL, SPMV__LANES_BY_ROWS                                                  /* pads, lanes */
};

static const char *const spmv__ell_layouts[] = {
    "ell",
    "ell:idx=16"
};

#ifndef SPMV__NO_ELL
/* The slots from a row to the next: its width with the key rowmajor, else 1. */
static uint64_t spmv__ell_row_step(const spmv_part *p) { return p->n[SPMV_ELL_LD] == 1 ? p->n[SPMV_ELL_WIDTH] : 1; }

/* 16-bit columns need the rows of each base to span few enough columns. */
static spmv_status spmv__ell_size(spmv_part *p, spmv__source *source)
{
    int fits = 1;
    const uint64_t padded = spmv__leading(p->rows);
    uint64_t i, low, high;
    p->n[SPMV_ELL_WIDTH] = spmv__longest(source, 0, p->rows);
    p->n[SPMV_ELL_LD] = p->spec.key[SPMV_KEY_ROWMAJOR] ? 1 : padded;
    for (i = 0; i < p->rows && fits && p->spec.key[SPMV_KEY_IDX] == 16; i += 32) {
        spmv__span(source, i, p->rows - i < 32 ? p->rows : i + 32, &low, &high);
        fits = spmv__span_fits(low, high);
    }
    spmv__want(&p->a[SPMV_VAL], spmv__sat_mul(p->n[SPMV_ELL_WIDTH], p->n[SPMV_ELL_LD] == 1 ? p->rows : padded), p->a[SPMV_VAL].width);
    spmv__want_columns(p, &p->a[SPMV_ELL_COL], &p->a[SPMV_ELL_BASE], p->a[SPMV_VAL].count, padded / 32, fits);
    source->grain = 32; /* rows of a base */
    return SPMV_OK;
}

static spmv_status spmv__ell_estimate(const spmv_spec *spec, const spmv__analysis *analysis, const spmv_features *features, spmv__load *out)
{
    (void)features;
    out->slots = out->rows * (double)analysis->longest;
    return spmv__estimate_columns(spec, analysis, 32);
}

#define spmv__ell_lay NULL

static void spmv__ell_fill(spmv_part *p, const spmv__source *source, spmv__sink *to, uint64_t first, uint64_t end)
{
    spmv__slab slab;
    uint64_t i, next, pads = end < p->rows ? end : p->n[SPMV_ELL_LD];
    slab.col = &p->a[SPMV_ELL_COL];
    slab.base = &p->a[SPMV_ELL_BASE];
    slab.ld = p->n[SPMV_ELL_LD];
    slab.width = p->n[SPMV_ELL_WIDTH];
    for (i = first; i < end; i = next) {
        slab.group = i / 32;
        next = spmv__smaller(spmv__round_up(i + 1, 32), end);
        spmv__slab_base(&slab, source, i, next);
        if (to->bare) continue;
        if (slab.ld != 1) spmv__slab_rows(&slab, source, to, i, next, next < end ? next : pads, i);
        else for (; i < next; i++) spmv__ell_row(&slab, source, to, i, i * slab.width);
    }
    if (first == end && slab.ld != 1 && !to->bare) spmv__slab_rows(&slab, source, to, end, end, pads, end);
}

static void spmv__ell_each(const spmv_part *p, spmv__visit visit, void *user)
{
    const spmv_array *col = &p->a[SPMV_ELL_COL], *base = &p->a[SPMV_ELL_BASE];
    uint64_t i;
    for (i = 0; i < p->rows; i++)
        spmv__ell_visit(col, base, i / 32, i, i * spmv__ell_row_step(p), p->n[SPMV_ELL_LD], p->n[SPMV_ELL_WIDTH], visit, user);
}

SPMV__SHARED int spmv__ell_sound(const spmv_part *p)
{
    const spmv_array *col = &p->a[SPMV_ELL_COL], *base = &p->a[SPMV_ELL_BASE];
    const uint64_t width = p->n[SPMV_ELL_WIDTH], ld = spmv__leading(p->rows), rows = p->spec.key[SPMV_KEY_ROWMAJOR] ? p->rows : ld;
    if (p->n[SPMV_ELL_LD] != (p->spec.key[SPMV_KEY_ROWMAJOR] ? 1 : ld) || p->a[SPMV_VAL].count != spmv__sat_mul(width, rows)) return 0;
    return spmv__columns_across(p, col, base, p->spec.key[SPMV_KEY_ROWMAJOR] ? 32 * width : 32, p->a[SPMV_VAL].count, ld / 32, 1);
}
#endif

static const spmv__traits spmv__sell_traits = {
    SPMV__LISTS | SPMV__KEY(W) | SPMV__KEY(FILL) | SPMV__KEY(IDX) | SPMV__KEY(H) | SPMV__KEY(GROW), /* keys */
    SPMV_CAN_LIST | SPMV_REPEATS,                                                                   /* flags */
    SPMV_CLASS_FLAT,                                                                                /* class */
    1,                                                                                              /* indices */
    0,                                                                                              /* even */
    SPMV__PADS_SLICES, SPMV__LANES_BY_ROWS                                                          /* pads, lanes */
};

static const char *const spmv__sell_layouts[] = {
    "sell",
    "sell:h=8",
    "sell:h=64",
    "sell:h=256",
    "sell:h=32,rows=sorted,sigma=1024",
    "sell:idx=16",
    "sell:h=64,idx=16",
    "sell:h=256,idx=16",
    "sell:h=32,rows=sorted,sigma=1024,idx=16"
};

#ifndef SPMV__NO_SELL
/* The first row of slice t. */
static uint64_t spmv__slice_first(const spmv_part *p, uint64_t t)
{
    const spmv_array *slice_row = &p->a[SPMV_SELL_SLICE_ROW];
    return slice_row->count ? ((const uint32_t *)slice_row->data)[t] : t * p->n[SPMV_SELL_H];
}

/* The row after the last of slice t. */
static uint64_t spmv__slice_end(const spmv_part *p, uint64_t t)
{
    const spmv_array *slice_row = &p->a[SPMV_SELL_SLICE_ROW];
    uint64_t end = slice_row->count ? ((const uint32_t *)slice_row->data)[t + 1] : (t + 1) * p->n[SPMV_SELL_H];
    return end < p->rows ? end : p->rows;
}

/* The distance of a row's entries in slice t; the last slice can have fewer rows than that. */
static uint64_t spmv__slice_height(const spmv_part *p, uint64_t t)
{
    return p->a[SPMV_SELL_SLICE_ROW].count ? spmv__slice_end(p, t) - spmv__slice_first(p, t) : p->n[SPMV_SELL_H];
}

/* The end of the slice that begins at row first: h rows, or with the key grow as many up to h as keep padding under that share of the
 * slice. (Monakov et al. have slices of varying height; this rule is our own.) */
static uint64_t spmv__slice_grow(const spmv_part *p, const spmv__source *source, uint64_t first)
{
    uint64_t h = p->n[SPMV_SELL_H], end, width = 0;
    int64_t grow = p->spec.key[SPMV_KEY_GROW];
    if (h > p->rows - first) h = p->rows - first;
    if (!grow) return first + h;
    for (end = first; end < first + h; end++) {
        uint64_t length = source->ptr[end + 1] - source->ptr[end], slots, held = source->ptr[end + 1] - source->ptr[first];
        if (length > width) width = length;
        slots = width * (end + 1 - first);
        if ((double)(slots - held) * 1e6 > (double)grow * (double)slots) break;
    }
    return end > first ? end : first + 1;
}

/* The height of the slices of a part. It is at most the number of rows, rounded up to 32: everything above would be padding. */
static uint64_t spmv__sell_height(const spmv_spec *spec, uint64_t rows)
{
    return rows ? spmv__smaller(spmv__height(spec), spmv__round_up(rows, 32)) : spmv__height(spec);
}

/* The width of each slice, if a device has found them; else NULL. Columns of 16 bits need more. */
static const uint32_t *spmv__sell_widths(const spmv_part *p, const spmv__source *source)
{
    const int64_t *key = p->spec.key;
    return !key[SPMV_KEY_GROW] && key[SPMV_KEY_IDX] != 16 && source->longest_of == p->n[SPMV_SELL_H] ? source->longest : NULL;
}

/* What the shares of spmv__sell_size find. */
typedef struct spmv__sell_count {
    const spmv_part    *p;
    const spmv__source *source;
    uint64_t            total[SPMV__MOST_SHARES], slices[SPMV__MOST_SHARES], shares;
    int                 fits[SPMV__MOST_SHARES];
} spmv__sell_count;

/* Goes through the slices of a share once, for their number, slots, and whether the columns of each fit 16 bits. */
static void spmv__sell_count_share(void *job, uint64_t share)
{
    spmv__sell_count *count = (spmv__sell_count *)job;
    const spmv_part *p = count->p;
    const uint64_t stop = spmv__share_first(count->source, share + 1, count->shares);
    uint64_t first, end, low, high, total = 0, slices = 0;
    int grow = p->spec.key[SPMV_KEY_GROW] != 0, fits = p->spec.key[SPMV_KEY_IDX] == 16;
    for (first = spmv__share_first(count->source, share, count->shares); first < stop; first = end) {
        end = spmv__slice_grow(p, count->source, first);
        total = spmv__sat_add(total, spmv__sat_mul(spmv__longest(count->source, first, end), grow ? end - first : p->n[SPMV_SELL_H]));
        slices++;
        if (!fits) continue;
        spmv__span(count->source, first, end, &low, &high);
        fits = spmv__span_fits(low, high);
    }
    count->total[share] = total;
    count->slices[share] = slices;
    count->fits[share] = fits;
}

/* Goes through all slices. *fits: 1 if columns of 16 bits are asked for and fit. Returns the slots. With the key grow, where a slice begins
 * depends on those before it, so one share counts them all. */
static uint64_t spmv__sell_count_all(spmv_part *p, const spmv__source *source, int *fits)
{
    spmv__sell_count count;
    uint64_t i, total = 0;
    count.p = p;
    count.source = source;
    count.shares = p->spec.key[SPMV_KEY_GROW] ? 1 : spmv__source_shares(source);
    spmv__share_out(spmv__sell_count_share, &count, count.shares);
    p->n[SPMV_SELL_SLICES] = 0;
    for (i = 0, *fits = 1; i < count.shares; i++) {
        total = spmv__sat_add(total, count.total[i]);
        p->n[SPMV_SELL_SLICES] += count.slices[i];
        *fits = *fits && count.fits[i];
    }
    return total;
}

/* The same for slices whose widths a device has found. */
static uint64_t spmv__sell_count_widths(spmv_part *p, const uint32_t *widths)
{
    uint64_t t, total = 0;
    p->n[SPMV_SELL_SLICES] = spmv__ceil_div(p->rows, p->n[SPMV_SELL_H]);
    for (t = 0; t < p->n[SPMV_SELL_SLICES]; t++) total += widths[t];
    return spmv__sat_mul(total, p->n[SPMV_SELL_H]);
}

static spmv_status spmv__sell_size(spmv_part *p, spmv__source *source)
{
    const int grow = p->spec.key[SPMV_KEY_GROW] != 0;
    const uint32_t *widths;
    uint64_t total;
    int fits = 0;
    p->n[SPMV_SELL_H] = spmv__sell_height(&p->spec, p->rows);
    source->grain = grow ? 0 : p->n[SPMV_SELL_H];
    widths = spmv__sell_widths(p, source);
    total = widths ? spmv__sell_count_widths(p, widths) : spmv__sell_count_all(p, source, &fits);
    spmv__want(&p->a[SPMV_VAL], total, p->a[SPMV_VAL].width);
    spmv__want_offsets(&p->a[SPMV_SELL_PTR], p->n[SPMV_SELL_SLICES] + 1, total);
    spmv__want_columns(p, &p->a[SPMV_SELL_COL], &p->a[SPMV_SELL_BASE], total, p->n[SPMV_SELL_SLICES], fits);
    spmv__want(&p->a[SPMV_SELL_SLICE_ROW], grow ? p->n[SPMV_SELL_SLICES] + 1 : 0, 4);
    if (grow) source->cuts = &p->a[SPMV_SELL_SLICE_ROW];
    return SPMV_OK;
}

/* Sets the share's result to the sum of the widths of its slices. */
static void spmv__slots_share(void *job, uint64_t share)
{
    spmv__analysis_pass *pass = (spmv__analysis_pass *)job;
    uint64_t r = spmv__analysis_first(pass, share), end = spmv__analysis_first(pass, share + 1), widths = 0;
    while (r < end) {
        const uint64_t stop = end - r < pass->height ? end : r + pass->height;
        widths += spmv__analysis_tallest(pass->analysis, r, stop);
        r = stop;
    }
    pass->result[share] = widths;
}

/* The slots of sell if its slices are h rows of the matrix each, in order. */
static double spmv__slots_in_order(const spmv__analysis *analysis, uint64_t h)
{
    spmv__analysis_pass pass;
    double slots = 0;
    uint64_t i;
    if (spmv__analysis_has(&analysis->known->in_order, h, &slots)) return slots;
    spmv__analysis_run(&pass, analysis, h, 1, spmv__slots_share);
    for (i = 0; i < pass.shares; i++) slots += (double)pass.result[i] * (double)h;
    spmv__analysis_keep(&analysis->known->in_order, h, slots);
    return slots;
}

/* How many rows of a window have each length, and which lengths there are. */
typedef struct spmv__length_counts {
    uint32_t *with;  /* by length */
    uint64_t *there; /* a bit for each length above 0 that a row of the window has */
} spmv__length_counts;

/* Goes from length k to the next one below it that is there, and takes its bit away; 0: there is none. */
static uint64_t spmv__length_below(spmv__length_counts *counts, uint64_t k)
{
    uint64_t word = k / 64, bits = counts->there[word], n;
    while (!bits && word) bits = counts->there[--word];
    if (!bits) return 0;
    n = 63 - (uint64_t)spmv__leading_zeros(bits);
    counts->there[word] = bits ^ (uint64_t)1 << n;
    return word * 64 + n;
}

enum { SPMV__SORTED_SAMPLE = 1 << 15 /* rows: as few show how well the rows of a window fit together */ };

/* Adds up the slots of windows of sigma rows; counts has room for the longest row and is zero. A slice that begins among the rows of length
 * k is k wide. One that was begun before becomes wider if it is narrower, as it can be at the beginning of a window. Of many windows only a
 * sample is read, whose slots are scaled by its share of the nonzeros; each row that is longer than all in the sample counts as a slice of
 * its own. all: 1: reads every window, as is done in the end if the nonzeros lie so unevenly that the sample says little. */
static double spmv__slots_of_windows(const spmv__analysis *analysis, uint64_t h, uint64_t sigma, spmv__length_counts *counts, int all)
{
    const uint64_t rows = analysis->view->a->rows, windows = spmv__ceil_div(rows, sigma);
    const uint64_t sampled = spmv__ceil_div(SPMV__SORTED_SAMPLE, sigma);
    const uint64_t step = !all && windows > 2 * sampled && sampled > 1 ? windows / sampled : 1;
    uint64_t i, begin, end, r, k, nnz = 0, longest = 0; /* of the sample: nonzeros, the longest row */
    uint64_t place = 0, open = 0;                       /* rows so far; width of the last slice */
    double slots = 0;
    for (i = 0; i * step < windows; i++) {
        uint64_t most = 0;
        begin = (i * step + (i * 2654435769u >> 16) % step) * sigma; /* by the golden section, so that no pattern of the rows hides */
        if (begin >= rows) break;
        end = rows - begin < sigma ? rows : begin + sigma;
        for (r = begin; r < end; r++) {
            uint64_t n = spmv__analysis_len(analysis, r);
            counts->with[n]++;
            counts->there[n / 64] |= (uint64_t)(n != 0) << n % 64;
            if (n > most) most = n;
            nnz += n;
        }
        if (most > longest) longest = most;
        for (k = most; (k = spmv__length_below(counts, k)) != 0;) {
            uint64_t next = place + counts->with[k], opened = spmv__ceil_div(next, h) - spmv__ceil_div(place, h);
            if (place % h && k > open) slots += (double)(h * (k - open));
            if (opened || k > open) open = k;
            slots += (double)(opened * h * k);
            place = next;
            counts->with[k] = 0;
        }
    }
    if (step == 1) return slots;
    if (nnz * step < analysis->nnz / 2 || nnz * step / 2 > analysis->nnz) return spmv__slots_of_windows(analysis, h, sigma, counts, 1);
    slots *= (double)analysis->nnz / (double)nnz;
    for (k = longest + 1; k <= analysis->longest; k++) slots += (double)(h - 1) * (double)analysis->longer[k];
    return slots;
}

/* The slots of sell if empty rows are left out and rows are sorted by length within windows of sigma rows (0: all rows). Counts the rows
 * of each length instead of sorting them. */
static spmv_status spmv__slots_sorted(const spmv__analysis *analysis, uint64_t h, uint64_t sigma, double *slots)
{
    const uint64_t words = analysis->longest / 64 + 1, key = sigma << 32 | h; /* h is 65536 at most */
    spmv__length_counts counts;
    void *block;
    spmv_status s;
    if (spmv__analysis_has(&analysis->known->sorted, key, slots)) return SPMV_OK;
    s = spmv__new(analysis->hooks, &block, words * 8 + (analysis->longest + 1) * 4, 1, 0);
    if (s) return s;
    counts.there = (uint64_t *)block;
    counts.with = (uint32_t *)(void *)(counts.there + words);
    *slots = spmv__slots_of_windows(analysis, h, sigma ? sigma : analysis->view->a->rows, &counts, 0);
    spmv__analysis_keep(&analysis->known->sorted, key, *slots);
    spmv_free(analysis->hooks, block);
    return SPMV_OK;
}

/* Sorting leaves little padding; its cost is narrow slices and writing y in any order, which uneven stands for. */
static spmv_status spmv__sell_estimate(const spmv_spec *spec, const spmv__analysis *analysis, const spmv_features *features,
                                       spmv__load *out)
{
    uint64_t sigma = (uint64_t)spec->key[SPMV_KEY_SIGMA];
    uint64_t h = spmv__sell_height(spec, spec->key[SPMV_KEY_ROWS] ? analysis->rows : features->rows);
    spmv_status s = SPMV_OK;
    if (spec->key[SPMV_KEY_ROWS] == SPMV_ROWS_SORTED) {
        s = spmv__slots_sorted(analysis, h, sigma, &out->slots);
        out->uneven = features->uneven;
    } else {
        out->slots = spmv__slots_in_order(analysis, h);
    }
    return s ? s : spmv__estimate_columns(spec, analysis, sigma ? sigma : h);
}

/* What the shares of spmv__sell_lay have in common. */
typedef struct spmv__sell_slices {
    spmv_part          *p;
    const spmv__source *source;
    uint64_t            shares;
} spmv__sell_slices;

/* Cuts the slices of a share as spmv__sell_size does, and fills the rows where they begin, and as pointers their slots. */
static void spmv__sell_lay_share(void *job, uint64_t share)
{
    const spmv__sell_slices *slices = (const spmv__sell_slices *)job;
    spmv_part *p = slices->p;
    const int grow = p->a[SPMV_SELL_SLICE_ROW].count != 0;
    const uint64_t stop = slices->shares == 1 ? p->rows : spmv__share_first(slices->source, share + 1, slices->shares);
    uint64_t first = slices->shares == 1 ? 0 : spmv__share_first(slices->source, share, slices->shares), end, t = first / p->n[SPMV_SELL_H];
    for (; first < stop; t++, first = end) {
        end = spmv__slice_grow(p, slices->source, first);
        if (grow) spmv__set(&p->a[SPMV_SELL_SLICE_ROW], t + 1, end);
        spmv__set(&p->a[SPMV_SELL_PTR], t + 1, spmv__longest(slices->source, first, end) * (grow ? end - first : p->n[SPMV_SELL_H]));
    }
}

/* With the key grow, where a slice begins depends on those before it, so one share cuts them all. */
static void spmv__sell_lay(spmv_part *p, spmv__source *source)
{
    const int grow = p->a[SPMV_SELL_SLICE_ROW].count != 0;
    spmv_array *ptr = &p->a[SPMV_SELL_PTR];
    spmv__sell_slices slices;
    uint64_t t, sum = 0;
    if (spmv__sell_widths(p, source)) {
        spmv__offsets_from(ptr, spmv__sell_widths(p, source), p->n[SPMV_SELL_H]);
        return;
    }
    slices.p = p;
    slices.source = source;
    slices.shares = grow ? 1 : spmv__source_shares(source);
    spmv__set(ptr, 0, 0);
    if (grow) spmv__set(&p->a[SPMV_SELL_SLICE_ROW], 0, 0);
    spmv__share_out(spmv__sell_lay_share, &slices, slices.shares);
    for (t = 0; t < p->n[SPMV_SELL_SLICES]; t++) {
        sum += spmv__at(ptr, t + 1);
        spmv__set(ptr, t + 1, sum);
    }
}

/* The slice that begins at row first, which is the beginning of one, or the number of slices. */
static uint64_t spmv__slice_at(const spmv_part *p, uint64_t first)
{
    uint64_t low = 0, high = p->n[SPMV_SELL_SLICES];
    if (!p->a[SPMV_SELL_SLICE_ROW].count) return spmv__ceil_div(first, p->n[SPMV_SELL_H]);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (spmv__slice_first(p, middle) < first) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Fills the slices of rows first .. stop - 1. */
static void spmv__sell_fill(spmv_part *p, const spmv__source *source, spmv__sink *to, uint64_t first, uint64_t stop)
{
    spmv__slab slab;
    uint64_t t, end, slot;
    slab.col = &p->a[SPMV_SELL_COL];
    slab.base = &p->a[SPMV_SELL_BASE];
    for (t = spmv__slice_at(p, first); first < stop; t++, first = end) {
        end = spmv__slice_end(p, t);
        slot = spmv__at(&p->a[SPMV_SELL_PTR], t);
        slab.group = t;
        slab.ld = spmv__slice_height(p, t);
        slab.width = (spmv__at(&p->a[SPMV_SELL_PTR], t + 1) - slot) / slab.ld;
        spmv__slab_base(&slab, source, first, end);
        if (!to->bare) spmv__slab_rows(&slab, source, to, first, end, first + slab.ld, slot);
    }
}

static void spmv__sell_each(const spmv_part *p, spmv__visit visit, void *user)
{
    uint64_t t, i;
    for (t = 0; t < p->n[SPMV_SELL_SLICES]; t++) {
        uint64_t slot = spmv__at(&p->a[SPMV_SELL_PTR], t), height = spmv__slice_height(p, t), first = spmv__slice_first(p, t);
        uint64_t width = height ? (spmv__at(&p->a[SPMV_SELL_PTR], t + 1) - slot) / height : 0;
        for (i = first; i < spmv__slice_end(p, t); i++)
            spmv__ell_visit(&p->a[SPMV_SELL_COL], &p->a[SPMV_SELL_BASE], t, i, slot + i - first, height, width, visit, user);
    }
}

/* Do slices go from the first row to the last, each of at most H rows? */
static int spmv__slices_sound(const spmv_part *p)
{
    const spmv_array *row = &p->a[SPMV_SELL_SLICE_ROW];
    const uint64_t slices = p->n[SPMV_SELL_SLICES], h = p->n[SPMV_SELL_H];
    uint64_t t;
    if (h != spmv__sell_height(&p->spec, p->rows)) return 0;
    if (!p->spec.key[SPMV_KEY_GROW]) return !row->count && slices == spmv__ceil_div(p->rows, h);
    if (!spmv__sized(row, slices + 1, 4) || !spmv__offsets_sound(row, slices + 1, p->rows)) return 0;
    for (t = 0; t < slices; t++)
        if (!spmv__slice_height(p, t) || spmv__slice_height(p, t) > h) return 0;
    return 1;
}

SPMV__SHARED int spmv__sell_sound(const spmv_part *p)
{
    const spmv_array *ptr = &p->a[SPMV_SELL_PTR];
    uint64_t t;
    if (!spmv__slices_sound(p) || !spmv__offsets_sound(ptr, p->n[SPMV_SELL_SLICES] + 1, p->a[SPMV_VAL].count)) return 0;
    for (t = 0; t < p->n[SPMV_SELL_SLICES]; t++)
        if ((spmv__at(ptr, t + 1) - spmv__at(ptr, t)) % spmv__slice_height(p, t)) return 0;
    return spmv__columns_by(p, &p->a[SPMV_SELL_COL], &p->a[SPMV_SELL_BASE], ptr, 1, 1, 1);
}
#endif

#endif

/* ---- products on the host, for each level and type (products.h) -------------------------------------------------- */
#define SPMV__HOST_ELL { SPMV__PRODUCTS(ell), SPMV__REPEAT(ell) }
#define SPMV__HOST_SELL { SPMV__PRODUCTS(sell), SPMV__REPEAT(sell) }
#if defined(SPMV__COLUMN_BITS) /* again */
/* One entry of each row of a vector of them, added to their sums. */
SPMV__FORCE_INLINE SPMV__O(vec) SPMV__FC(entry)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col,
                                                const SPMV__T *SPMV__RESTRICT x, SPMV__O(vec) sum)
{
    int pads;
    if (SPMV__OC(vrun)(col)) return SPMV__O(vfma)(SPMV__F(vload)(val), SPMV__O(vfrom)(x + *col), sum);
    pads = SPMV__OC(vpads)(col);
    if (pads == 2) return sum;
    return SPMV__O(vfma)(SPMV__F(vload)(val), SPMV__OC(vpick)(x, col, pads), sum);
}

SPMV__FORCE_INLINE void SPMV__FC(columns_ahead)(const SPMV__V *val, const SPMV__C *col)
{
    SPMV__AHEAD(val + SPMV__TILE);
    SPMV__AHEAD(col + SPMV__TILE);
}

/* The sums of so many rows, a multiple of 32, with their next count entries, at most four, which lie ld slots apart; from NULL: there are
 * no sums yet. base: of each 32 rows, or NULL. 0 if the first entries are all padding. */
SPMV__APART int SPMV__FC(columns)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, uint64_t ld, uint64_t count,
                                  const uint32_t *SPMV__RESTRICT base, uint64_t rows, const SPMV__T *SPMV__RESTRICT x, const SPMV__T *from,
                                  SPMV__T *out)
{
    const SPMV__O(vec) zero = SPMV__O(vzero)();
    uint64_t i;
    int found = 0;
    for (i = 0; i < rows; i += SPMV__LANES) {
        const SPMV__T *in = base ? x + base[i / 32] : x;
        SPMV__O(vec) s = from ? SPMV__O(vfrom)(from + i) : zero;
        SPMV__FC(columns_ahead)(val + i, col + i);
        if (SPMV__OC(vpads)(col + i) != 2) {
            found = 1;
            s = SPMV__FC(entry)(val + i, col + i, in, s);
        }
        if (count > 1) {
            SPMV__FC(columns_ahead)(val + ld + i, col + ld + i);
            s = SPMV__FC(entry)(val + ld + i, col + ld + i, in, s);
        }
        if (count > 2) {
            SPMV__FC(columns_ahead)(val + 2 * ld + i, col + 2 * ld + i);
            s = SPMV__FC(entry)(val + 2 * ld + i, col + 2 * ld + i, in, s);
        }
        if (count > 3) {
            SPMV__FC(columns_ahead)(val + 3 * ld + i, col + 3 * ld + i);
            s = SPMV__FC(entry)(val + 3 * ld + i, col + 3 * ld + i, in, s);
        }
        SPMV__O(vput)(out + i, s);
    }
    return found;
}

/* The sums of so many vectors of rows of a slice, in registers. */
SPMV__FORCE_INLINE void SPMV__FC(slice_rows)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, uint64_t height,
                                             uint64_t slots, const SPMV__T *SPMV__RESTRICT x, SPMV__T *sum, int vectors)
{
    const uint64_t L = SPMV__LANES;
    SPMV__O(vec) s0 = SPMV__O(vzero)(), s1 = s0, s2 = s0, s3 = s0;
    uint64_t at;
    for (at = 0; at < slots; at += height) {
        s0 = SPMV__FC(entry)(val + at, col + at, x, s0);
        if (vectors > 1) s1 = SPMV__FC(entry)(val + at + L, col + at + L, x, s1);
        if (vectors > 2) s2 = SPMV__FC(entry)(val + at + 2 * L, col + at + 2 * L, x, s2);
        if (vectors > 2) s3 = SPMV__FC(entry)(val + at + 3 * L, col + at + 3 * L, x, s3);
    }
    SPMV__O(vput)(sum, s0);
    if (vectors > 1) SPMV__O(vput)(sum + L, s1);
    if (vectors > 2) SPMV__O(vput)(sum + 2 * L, s2);
    if (vectors > 2) SPMV__O(vput)(sum + 3 * L, s3);
}

/* The sums of so many of the height rows of a slice, which has so many slots. */
SPMV__APART void SPMV__FC(high_slice)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, uint64_t height,
                                      uint64_t rows, uint64_t slots, const SPMV__T *SPMV__RESTRICT x, SPMV__T *SPMV__RESTRICT sum)
{
    const uint64_t L = SPMV__LANES;
    uint64_t i = 0, at;
    for (; i + 4 * L <= rows; i += 4 * L) SPMV__FC(slice_rows)(val + i, col + i, height, slots, x, sum + i, 4);
    for (; i + 2 * L <= rows; i += 2 * L) SPMV__FC(slice_rows)(val + i, col + i, height, slots, x, sum + i, 2);
    for (; i + L <= rows; i += L) SPMV__FC(slice_rows)(val + i, col + i, height, slots, x, sum + i, 1);
    for (; i < rows; i++)
        for (sum[i] = 0, at = i; at < slots; at += height)
            if (col[at] != SPMV__C_PAD) sum[i] = SPMV__O(efma)((SPMV__T)val[at], x[col[at]], sum[i]);
}

SPMV__FORCE_INLINE void SPMV__FC(slice)(const SPMV__V *SPMV__RESTRICT val, const SPMV__C *SPMV__RESTRICT col, uint64_t height,
                                        uint64_t slots, const SPMV__T *SPMV__RESTRICT x, SPMV__T *SPMV__RESTRICT sum)
{
    if (height == SPMV__LANES) SPMV__FC(slice_rows)(val, col, SPMV__LANES, slots, x, sum, 1); /* constants, for the compiler */
    else SPMV__FC(high_slice)(val, col, height, height, slots, x, sum);
}
#endif /* again */

#if defined(SPMV__TYPE) && !defined(SPMV__COLUMN_BITS) /* again */
#if defined(SPMV__SIMPLE) || defined(SPMV__REPEATED)
#ifdef SPMV__ANY_ELL
/* n rows from first on, whose first entries are in every step-th slot from slot on, the next ld behind them. Each 1 << log of them have a
 * base. */
static void SPMV__N(columns_of)(const spmv__job *job, const spmv_array *col, const spmv_array *base, uint64_t group, int log,
                                uint64_t first, uint64_t n, uint64_t slot, uint64_t step, uint64_t ld, uint64_t width)
{
    SPMV__ENTER;
    const uint32_t *wide = base->count ? NULL : (const uint32_t *)col->data;
    SPMV__T sum[SPMV__TILE];
    uint64_t i;
    memset(sum, 0, (size_t)n * sizeof *sum);
    for (; width; width--, slot += ld)
        for (i = 0; i < n; i++) {
            const uint64_t at = slot + i * step;
            const uint32_t c = wide ? wide[at] : spmv__column_at(col, base, at, group + (i >> log), 1);
            if (c != SPMV_PAD) sum[i] = SPMV__PLUS(val[at], x[c], sum[i]);
        }
    SPMV__N(set_all)(p, first, n, alpha, sum, beta, y);
}
#endif

#ifndef SPMV__NO_ELL
static void SPMV__N(ell)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    const spmv_part *p = job->p;
    uint64_t r = spmv__even(p->rows, SPMV__TILE, share, shares);
    const uint64_t end = spmv__even(p->rows, SPMV__TILE, share + 1, shares);
    for (; r < end; r += SPMV__TILE)
        SPMV__N(columns_of)(job, &p->a[SPMV_ELL_COL], &p->a[SPMV_ELL_BASE], r / 32, 5, r, spmv__smaller(end - r, SPMV__TILE),
                            r * spmv__ell_row_step(p), spmv__ell_row_step(p), p->n[SPMV_ELL_LD], p->n[SPMV_ELL_WIDTH]);
}
#endif

#ifndef SPMV__NO_SELL
static void SPMV__N(sell)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    const spmv_part *p = job->p;
    const spmv_array *ptr = &p->a[SPMV_SELL_PTR];
    uint64_t s = spmv__weighted(ptr, p->n[SPMV_SELL_SLICES], share, shares);
    const uint64_t stop = spmv__weighted(ptr, p->n[SPMV_SELL_SLICES], share + 1, shares);
    for (; s < stop; s++) {
        const uint64_t height = spmv__slice_height(p, s), first = spmv__slice_first(p, s), rows = spmv__slice_end(p, s) - first;
        const uint64_t slot = spmv__at(ptr, s), width = (spmv__at(ptr, s + 1) - slot) / height;
        uint64_t i;
        for (i = 0; i < rows; i += SPMV__TILE)
            SPMV__N(columns_of)(job, &p->a[SPMV_SELL_COL], &p->a[SPMV_SELL_BASE], s, 63, first + i,
                                spmv__smaller(rows - i, SPMV__TILE), slot + i, 1, height, width);
    }
}
#endif
#else /* in vectors */
#ifndef SPMV__NO_ELL
/* Rows first .. end - 1, one after another, as they are stored. */
static void SPMV__F(ell_by_rows)(const spmv__job *job, uint64_t first, uint64_t end)
{
    SPMV__ENTER;
    const uint64_t width = p->n[SPMV_ELL_WIDTH];
    for (; first < end; first++) {
        SPMV__T sum = 0;
        uint64_t at = first * width, k;
        for (k = 0; k < width; k++, at++) {
            const uint32_t c = spmv__column_at(&p->a[SPMV_ELL_COL], &p->a[SPMV_ELL_BASE], at, first / 32, 1);
            if (c != SPMV_PAD) sum += (SPMV__T)val[at] * x[c];
        }
        SPMV__F(set_rows)(p, first, 1, alpha, &sum, beta, y);
    }
}

/* Rows are padded to a multiple of 32, so that whole vectors of them can be read; padding is in the columns too. The last sums of whole
 * tiles go straight into y, if that is not read: writing y a tile at a time would stop the stream of the matrix. */
static void SPMV__F(ell)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    const uint32_t *col = (const uint32_t *)p->a[SPMV_ELL_COL].data, *base = (const uint32_t *)p->a[SPMV_ELL_BASE].data;
    const uint16_t *narrow = (const uint16_t *)p->a[SPMV_ELL_COL].data;
    const uint64_t width = p->n[SPMV_ELL_WIDTH], ld = p->n[SPMV_ELL_LD];
    uint64_t first = spmv__even(p->rows, SPMV__TILE, share, shares), end = spmv__even(p->rows, SPMV__TILE, share + 1, shares);
    if (ld == 1) SPMV__F(ell_by_rows)(job, first, end);
    for (; ld != 1 && first < end; first += SPMV__TILE) {
        SPMV__T buffer[SPMV__TILE], *sum = buffer, *from = NULL;
        uint64_t rows = spmv__smaller(end - first, SPMV__TILE), padded = spmv__round_up(rows, 32), k, at = first;
        int found = 1;
        if (alpha == 1 && beta == 0 && !p->list.count && rows == padded) sum = y + first;
        for (k = 0; k < width && found; k += 4, at += 4 * ld, from = sum) {
            const uint64_t count = spmv__smaller(width - k, 4);
            found = base ? SPMV__F(columns16)(val + at, narrow + at, ld, count, base + first / 32, padded, x, from, sum)
                         : SPMV__F(columns)(val + at, col + at, ld, count, NULL, padded, x, from, sum);
        }
        if (sum == buffer) SPMV__F(set_rows)(p, first, rows, alpha, sum, beta, y);
    }
}
#endif

#ifndef SPMV__NO_SELL
/* The sums of a slice that is higher than SPMV__TILE, so many rows at a time. */
static void SPMV__F(tall_slice)(const spmv_part *p, uint64_t t, SPMV__T alpha, const SPMV__T *x, SPMV__T beta, SPMV__T *y)
{
    const uint32_t *col = (const uint32_t *)p->a[SPMV_SELL_COL].data, *base = (const uint32_t *)p->a[SPMV_SELL_BASE].data;
    const uint16_t *narrow = (const uint16_t *)p->a[SPMV_SELL_COL].data;
    const SPMV__V *val = (const SPMV__V *)p->a[SPMV_VAL].data;
    uint64_t slot = spmv__at(&p->a[SPMV_SELL_PTR], t), last = spmv__at(&p->a[SPMV_SELL_PTR], t + 1), height = spmv__slice_height(p, t);
    uint64_t first = spmv__slice_first(p, t), end = spmv__slice_end(p, t), done;
    if (base) x += base[t];
    for (done = 0; first < end; done += SPMV__TILE, first += SPMV__TILE) {
        const uint64_t rows = spmv__smaller(height - done, SPMV__TILE), whole = rows - rows % 32;
        uint64_t at = slot + done, left = (last - slot) / height;
        SPMV__T sum[SPMV__TILE] = { 0 }, *from = NULL;
        if (base) SPMV__F(high_slice16)(val + at + whole, narrow + at + whole, height, rows - whole, last - slot, x, sum + whole);
        else SPMV__F(high_slice)(val + at + whole, col + at + whole, height, rows - whole, last - slot, x, sum + whole);
        for (; left; left -= spmv__smaller(left, 4), at += 4 * height, from = sum)
            if (!(base ? SPMV__F(columns16)(val + at, narrow + at, height, spmv__smaller(left, 4), NULL, whole, x, from, sum)
                       : SPMV__F(columns)(val + at, col + at, height, spmv__smaller(left, 4), NULL, whole, x, from, sum)))
                break;
        SPMV__F(set_rows)(p, first, spmv__smaller(end - first, rows), alpha, sum, beta, y);
    }
}

/* Shares of sell are slices. Where y has to be read or scaled, the sums of several low slices are formed before they are written. */
static void SPMV__F(sell)(const spmv__job *job, uint64_t share, uint64_t shares)
{
    SPMV__ENTER;
    const uint32_t *col = (const uint32_t *)p->a[SPMV_SELL_COL].data, *base = (const uint32_t *)p->a[SPMV_SELL_BASE].data;
    const uint16_t *narrow = (const uint16_t *)p->a[SPMV_SELL_COL].data;
    uint64_t t = spmv__weighted(&p->a[SPMV_SELL_PTR], p->n[SPMV_SELL_SLICES], share, shares);
    uint64_t end = spmv__weighted(&p->a[SPMV_SELL_PTR], p->n[SPMV_SELL_SLICES], share + 1, shares);
    const int straight = alpha == 1 && beta == 0 && !p->list.count;
    uint64_t first = spmv__slice_first(p, t), at = spmv__at(&p->a[SPMV_SELL_PTR], t), held = 0;
    SPMV__T sum[SPMV__TILE];
    for (; t < end; t++) {
        const uint64_t height = spmv__slice_height(p, t), next = spmv__at(&p->a[SPMV_SELL_PTR], t + 1);
        if (held + height > SPMV__TILE) {
            SPMV__F(set_rows)(p, first, held, alpha, sum, beta, y);
            first += held;
            held = 0;
        }
        if (height > SPMV__TILE) {
            SPMV__F(tall_slice)(p, t, alpha, x, beta, y);
            first = spmv__slice_end(p, t);
        } else {
            const uint64_t rows = spmv__slice_end(p, t) - spmv__slice_first(p, t);
            SPMV__T *to = straight && rows == height ? y + first : sum + held;
            if (base) SPMV__F(slice16)(val + at, narrow + at, height, next - at, x + base[t], to);
            else SPMV__F(slice)(val + at, col + at, height, next - at, x, to);
            if (to == y + first) first += rows;
            else held += rows;
        }
        at = next;
    }
    SPMV__F(set_rows)(p, first, held, alpha, sum, beta, y);
}
#endif
#endif
#endif /* again */
