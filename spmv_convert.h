/* SPDX-License-Identifier: MIT
 *
 * spmv_convert.h - conversion on a device: fills the arrays of parts there, from CSR.
 *
 * The host converts with a few threads and then copies every array to the device. This is slower than copying the CSR matrix once and
 * letting the device fill the arrays. The host still computes what takes time in proportion to rows, slices or tiles: row pointers, slice
 * widths, runs, bases, tiles, row lists. Kernels (kernels/convert.cl) put the nonzeros into their slots. All arrays have the same bytes as
 * those that the host fills.
 *
 * spmv_create does this by itself where it pays (spmv_convert_here); spmv_desc.convert says otherwise. What the device does not fill is
 * filled by the host: parts of bell, sbell and bcsr, parts of cmrs with the key sort, arrays larger than a buffer of the device, and
 * matrices that can be updated. csr that is stored as it came needs no conversion.
 *
 * If you only want the interface, stop at "END OF THE INTERFACE".
 */
#include "spmv_device.h" /* above the guard: its implementation may be wanted although this interface was seen */
#ifndef SPMV_CONVERT_H
#define SPMV_CONVERT_H

#ifdef __cplusplus
extern "C" {
#endif

/* A converter for one CSR matrix and one device. All members are private. */
typedef struct spmv_device_converter {
    struct spmv_converter *converter; /* what spmv_build.converter is to be */
    void *state_;
} spmv_device_converter;

/* 1 if converting on the device is expected to be faster than on the host: it is neither a CPU nor a device that shares the memory of the
 * host. 0 for NULL. */
SPMV_API int spmv_convert_here(const spmv_device *d);

/* Makes a converter; nothing is copied to the device before the first part needs it. Give out->converter to spmv_part_build or
 * spmv_store_make as spmv_build.converter, and the parts to spmv_device_matrix_create with the same device, which takes over what was
 * filled. Such parts have no data in their arrays of values and columns, so they cannot be multiplied on the host.
 *   out  need not be initialised; zeroed on failure. Close it with spmv_device_converter_close
 *   d    must outlive out and all parts that were made with it, and must not move. One thread at a time
 *   a    the matrix whose parts are to be made, and no other; it must outlive out
 * If the device runs out of memory, a message says so, and this and all later parts are filled on the host. */
SPMV_API spmv_status spmv_device_converter_open(spmv_device_converter *out, spmv_device *d, const spmv_csr *a);
/* Waits for the kernels, frees the CSR matrix on the device, and zeroes *c. Returns the status of the kernels. No product may be started
 * before. NULL and a zeroed converter are ignored. */
SPMV_API spmv_status spmv_device_converter_close(spmv_device_converter *c);
/* How many parts it has filled. 0 for NULL and for a zeroed converter. */
SPMV_API uint64_t spmv_device_converter_count(const spmv_device_converter *c);

#ifdef __cplusplus
}
#endif
#endif /* SPMV_CONVERT_H */
/* ============================================ END OF THE INTERFACE ============================================== */

#if defined(SPMV_IMPLEMENTATION) && !defined(SPMV_CONVERT_IMPLEMENTED)
#define SPMV_CONVERT_IMPLEMENTED

/* ---- what is known of each format --------------------------------------------------------------------------------- */

enum { SPMV__CONVERT_PER = 8 /* nonzeros for each work-item of kernels/convert.cl */ };

/* How a format's slots are found. Numbers of arrays may be SPMV__NO_ARRAY. */
typedef struct spmv__convert_format {
    const char *place;    /* PLACE of kernels/convert.cl; NULL: the host fills the format */
    int columns, numbers; /* the arrays of columns and of rows that the kernel fills */
    int start;            /* the array where rows, slices or bands start; SPMV__NO_ARRAY: rows start where starts says, if anywhere */
    /* Fills the arrays that the host fills; NULL: lay has filled them. starts: where each row of the part begins, 64 bits each, and pads:
     * the slots of each tile before its padding; both are NULL unless the format has tiles. */
    void (*outline)(spmv_part *p, spmv__source *s, uint64_t *starts, uint32_t *pads);
} spmv__convert_format;

#ifndef SPMV_NO_CSR
/* Row pointers; the runs were laid. */
static void spmv__csr_outline(spmv_part *p, spmv__source *s, uint64_t *starts, uint32_t *pads)
{
    uint64_t i;
    (void)starts;
    (void)pads;
    for (i = 0; i < p->rows; i++) spmv__set(&p->a[SPMV_CSR_PTR], i + 1, s->ptr[i + 1]);
}
#else
#define spmv__csr_outline NULL
#endif

#ifdef SPMV__ANY_ELL
/* The base of rows first .. end - 1: their lowest column, 0 if they are empty. */
static uint32_t spmv__convert_base(const spmv__source *s, uint64_t first, uint64_t end)
{
    uint64_t low, high;
    spmv__span(s, first, end, &low, &high);
    return low > high ? 0 : (uint32_t)low;
}
#endif

#ifndef SPMV_NO_ELL
static void spmv__ell_outline(spmv_part *p, spmv__source *s, uint64_t *starts, uint32_t *pads)
{
    uint64_t t;
    (void)starts;
    (void)pads;
    for (t = 0; t < p->a[SPMV_ELL_BASE].count; t++)
        ((uint32_t *)p->a[SPMV_ELL_BASE].data)[t] = spmv__convert_base(s, t * 32, spmv__smaller((t + 1) * 32, p->rows));
}
#else
#define spmv__ell_outline NULL
#endif

#ifndef SPMV_NO_SELL
static void spmv__sell_outline(spmv_part *p, spmv__source *s, uint64_t *starts, uint32_t *pads)
{
    uint64_t t;
    (void)starts;
    (void)pads;
    for (t = 0; t < p->a[SPMV_SELL_BASE].count; t++)
        ((uint32_t *)p->a[SPMV_SELL_BASE].data)[t] = spmv__convert_base(s, spmv__slice_first(p, t), spmv__slice_end(p, t));
}
#else
#define spmv__sell_outline NULL
#endif

#ifndef SPMV_NO_TCSR
/* All arrays but values and columns, row by row as spmv__tcsr_fill goes. */
static void spmv__tcsr_outline(spmv_part *p, spmv__source *s, uint64_t *starts, uint32_t *pads)
{
    uint32_t *flag = (uint32_t *)p->a[SPMV_TCSR_FLAG].data, *piece = (uint32_t *)p->a[SPMV_TCSR_PIECE].data;
    uint32_t *row = (uint32_t *)p->a[SPMV_TCSR_ROW].data, *empty = (uint32_t *)p->a[SPMV_TCSR_EMPTY].data;
    const uint64_t tile = p->n[SPMV_TCSR_TILE];
    uint64_t at = 0, cuts = 0, empties = 0, i;
    memset(flag, 0, (size_t)(p->a[SPMV_TCSR_FLAG].count * 4));
    for (i = 0; i < p->a[SPMV_TCSR_PIECE].count; i++) piece[i] = (uint32_t)(i / 2);
    for (i = 0; i < p->n[SPMV_TCSR_TILES]; i++) pads[i] = (uint32_t)tile;
    for (i = 0; i < p->rows; i++) {
        uint64_t length = s->ptr[i + 1] - s->ptr[i], begin = spmv__tile_slot(tile, at, length);
        starts[i] = begin;
        if (!length) {
            empty[empties++] = (uint32_t)i;
            continue;
        }
        if (at < begin) pads[at / tile] = (uint32_t)(at % tile);
        at = begin + length;
        flag[(at - 1) / SPMV_TCSR_SLOTS] |= 1u << (at - 1) % SPMV_TCSR_SLOTS;
        if (row) row[i - empties] = (uint32_t)i;
        if (spmv__tile_cuts(tile, begin, at)) spmv__tcsr_cut_row(p, begin, at, &cuts);
    }
    if (at < tile * p->n[SPMV_TCSR_TILES]) pads[at / tile] = (uint32_t)(at % tile);
    spmv__tcsr_count_ends(p);
}
#else
#define spmv__tcsr_outline NULL
#endif

/* By format; those that are not named here are filled by the host. */
static const spmv__convert_format *spmv__convert_format_of(spmv_format f)
{
    static const spmv__convert_format
        dense = { "BY_MATRIX", SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV__NO_ARRAY, NULL },
        coo = { "BY_ROW", SPMV_COO_COL, SPMV_COO_ROW, SPMV__NO_ARRAY, NULL },
        csr = { "BY_ROW", SPMV_CSR_COL, SPMV__NO_ARRAY, SPMV_CSR_PTR, spmv__csr_outline },
        dia = { "BY_DIAGONAL", SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV__NO_ARRAY, NULL },
        bdia = { "BY_BAND", SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV_BDIA_BAND_PTR, NULL },
        ell = { "BY_COLUMN", SPMV_ELL_COL, SPMV__NO_ARRAY, SPMV__NO_ARRAY, spmv__ell_outline },
        sell = { "BY_SLICE", SPMV_SELL_COL, SPMV__NO_ARRAY, SPMV_SELL_PTR, spmv__sell_outline },
        cmrs = { "BY_ROW", SPMV_CMRS_INDEX, SPMV_CMRS_ROW, SPMV__NO_ARRAY, NULL },
        tcsr = { "BY_ROW", SPMV_TCSR_COL, SPMV__NO_ARRAY, SPMV__NO_ARRAY, spmv__tcsr_outline };
    switch (f) {
    case SPMV_DENSE: return &dense;
    case SPMV_COO: return &coo;
    case SPMV_CSR: return &csr;
    case SPMV_DIA: return &dia;
    case SPMV_BDIA: return &bdia;
    case SPMV_ELL: return &ell;
    case SPMV_SELL: return &sell;
    case SPMV_CMRS: return &cmrs;
    case SPMV_TCSR: return &tcsr;
    default: return NULL;
    }
}

/* ---- the CSR matrix on the device --------------------------------------------------------------------------------- */

/* The converter's state, whose first member is what spmv_build.converter points to. */
typedef struct spmv__convert {
    spmv_converter     base;
    spmv_device       *device;
    const spmv_csr    *a;
    spmv_device_matrix args;         /* stands in for a matrix where arguments are set */
    void              *ptr, *col, *val, *owner; /* buffers, or NULL */
    const uint8_t     *shown;        /* the owners that are in the buffer */
    uint64_t           count;        /* parts that were filled */
    int                chain, off;   /* chain: the queue is out of order; off: the device has failed, the host fills the rest */
} spmv__convert;

/* What one part needs on the device while it is filled: buffers, or NULL. */
typedef struct spmv__convert_job {
    spmv__convert *c;
    spmv_part     *p;
    spmv__source  *s;
    const spmv__convert_format *t;
    spmv_elsewhere *e;
    uint64_t      *starts;                       /* on the host; NULL: rows start where s->ptr says */
    uint32_t      *pads, *inverse;
    void          *place, *before, *first, *start, *pad;
    uint64_t       groups, wg;
} spmv__convert_job;

/* 1: row pointers of the CSR matrix have 64 bits on the device. */
static int spmv__convert_wide(const spmv_csr *a) { return a->nnz > 0xffffffffu; }

/* Uploads count offsets, as 64 bits each if wide is 1, else as 32. */
static spmv_status spmv__convert_offsets(const spmv_device *d, const uint64_t *from, uint64_t count, int wide, void **out)
{
    spmv_array a;
    uint64_t i;
    uint32_t *narrow;
    spmv_status s;
    memset(&a, 0, sizeof a);
    spmv__want(&a, count, wide ? 8 : 4);
    if (wide) {
        a.data = (void *)(uintptr_t)(const void *)from;
        return spmv__dev_upload(d, &a, out);
    }
    s = spmv__room(&d->hooks, &a.data, count, 4);
    narrow = (uint32_t *)a.data;
    for (i = 0; !s && i < count; i++) narrow[i] = (uint32_t)from[i];
    if (!s) s = spmv__dev_upload(d, &a, out);
    spmv_free(&d->hooks, a.data);
    return s;
}

/* Uploads an array of the CSR matrix. */
static spmv_status spmv__convert_upload(const spmv_device *d, const void *from, uint64_t count, size_t width, void **out)
{
    spmv_array a;
    memset(&a, 0, sizeof a);
    spmv__want(&a, count, (uint32_t)width);
    a.data = (void *)(uintptr_t)from;
    return *out ? SPMV_OK : spmv__dev_upload(d, &a, out);
}

/* Uploads what is not there yet of the CSR matrix, and the owners of the view. */
static spmv_status spmv__convert_matrix(spmv__convert *c, const spmv_view *v)
{
    const spmv_csr *a = c->a;
    spmv_status s = SPMV_OK;
    if (!c->args.none) s = spmv__dev_new_buffer(c->device, 0, 0, &c->args.none);
    if (!s && !c->ptr) s = spmv__convert_offsets(c->device, a->ptr, a->rows + 1, spmv__convert_wide(a), &c->ptr);
    if (!s) s = spmv__convert_upload(c->device, a->col, a->nnz, 4, &c->col);
    if (!s) s = spmv__convert_upload(c->device, a->val, a->nnz, spmv_value_size(a->type), &c->val);
    if (c->owner && v->owner && v->owner != c->shown) {
        spmv__dev_buffer_free(c->device, c->owner);
        c->owner = NULL;
    }
    if (!s && v->owner) s = spmv__convert_upload(c->device, v->owner, a->nnz, 1, &c->owner);
    c->shown = v->owner;
    return s;
}

static void spmv__convert_drop(spmv__convert *c)
{
    spmv__dev_buffer_free(c->device, c->ptr);
    spmv__dev_buffer_free(c->device, c->col);
    spmv__dev_buffer_free(c->device, c->val);
    spmv__dev_buffer_free(c->device, c->owner);
    spmv__dev_buffer_free(c->device, c->args.none);
    c->ptr = c->col = c->val = c->owner = c->args.none = NULL;
}

/* ---- one part ----------------------------------------------------------------------------------------------------- */

static void spmv__convert_arrays_drop(spmv_elsewhere *e)
{
    const spmv_device *d = (const spmv_device *)e->device;
    int k;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) spmv__dev_buffer_free(d, e->a[k]);
    spmv_free(&d->hooks, e);
}

/* 1: the device fills array k. */
static int spmv__convert_fills(const spmv__convert_format *t, int k) { return k == SPMV_VAL || k == t->columns || k == t->numbers; }

/* 1 if the device can fill the part, and there is something to fill: csr with the arrays of the CSR matrix is uploaded as it is. */
static int spmv__convert_takes(const spmv__convert *c, const spmv_part *p, const spmv__source *s, const spmv_build *how)
{
    const spmv_csr *a = c->a;
    const uint64_t most = c->device->info.alloc_bytes;
    int k, fits = spmv__sat_mul(a->nnz, 8) <= most && (a->rows + 1) * 8 <= most;
    if (c->off || s->v->a != a || !p->nnz || how->updatable || !spmv__convert_format_of(p->spec.format)) return 0;
    if (p->spec.format == SPMV_CMRS && p->spec.key[SPMV_KEY_SORT]) return 0;
    if (p->spec.format == SPMV_CSR && how->borrow && !s->v->owner && !s->v->list && !p->a[SPMV_CSR_BASE].count) return 0;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) fits &= spmv__sat_mul(p->a[k].count, p->a[k].width) <= most;
    return fits;
}

/* Allocates and fills the arrays that the host fills, and what else follows from the rows alone. */
static spmv_status spmv__convert_host(spmv__convert_job *j)
{
    const spmv_hooks *h = j->s->h;
    const spmv_view *v = j->s->v;
    spmv_part *p = j->p;
    void *starts = NULL, *pads = NULL, *inverse = NULL;
    uint64_t i;
    int k;
    spmv_status s = SPMV_OK;
    for (k = 0; k < SPMV_MAX_ARRAYS && !s; k++)
        if (!spmv__convert_fills(j->t, k)) s = spmv__room(h, &p->a[k].data, p->a[k].count, p->a[k].width);
    if (!s && p->spec.format == SPMV_TCSR) s = spmv__room(h, &starts, p->rows, 8);
    if (!s && p->spec.format == SPMV_TCSR) s = spmv__room(h, &pads, p->n[SPMV_TCSR_TILES], 4);
    if (!s && v->list) s = spmv__new(h, &inverse, v->a->rows, 4, 0xff);
    j->starts = (uint64_t *)starts;
    j->pads = (uint32_t *)pads;
    j->inverse = (uint32_t *)inverse;
    if (s) return s;
    for (i = 0; v->list && i < v->rows; i++) j->inverse[v->list[i]] = (uint32_t)i;
    if (spmv__table[p->spec.format].lay) spmv__table[p->spec.format].lay(p, j->s);
    if (j->t->outline) j->t->outline(p, j->s, j->starts, j->pads);
    return s;
}

/* Counts the view's nonzeros before each group of the launch and before each row of the matrix, and uploads both. */
static spmv_status spmv__convert_count(spmv__convert_job *j)
{
    const spmv_view *v = j->s->v;
    const spmv_csr *a = v->a;
    const uint64_t per = j->wg * SPMV__CONVERT_PER;
    const int wide = spmv__convert_wide(a);
    const spmv_device *d = j->c->device;
    void *before = NULL, *first = NULL;
    uint64_t k, r, n = 0;
    spmv_status s = spmv__room(&d->hooks, &before, j->groups, 8);
    if (!s) s = spmv__room(&d->hooks, &first, a->rows, 8);
    for (r = 0, k = 0; !s && r < a->rows; r++) {
        ((uint64_t *)first)[r] = n;
        for (; k < a->ptr[r + 1]; k++) {
            if (k % per == 0) ((uint64_t *)before)[k / per] = n;
            n += v->owner[k] == v->part;
        }
    }
    if (!s) s = spmv__convert_offsets(d, (const uint64_t *)before, j->groups, wide, &j->before);
    if (!s) s = spmv__convert_offsets(d, (const uint64_t *)first, a->rows, wide, &j->first);
    spmv_free(&d->hooks, before);
    spmv_free(&d->hooks, first);
    return s;
}

/* A buffer for an array that the kernel fills, with padding and fill in it: PAD in columns, zeros elsewhere. Fills are of 4 bytes. */
static spmv_status spmv__convert_buffer(spmv__convert_job *j, int k)
{
    const spmv_device *d = j->c->device;
    const spmv_array *a = &j->p->a[k];
    const uint64_t bytes = spmv__round_up(a->count * a->width, 4);
    const int full = j->p->nnz == j->p->a[SPMV_VAL].count || j->p->spec.format == SPMV_TCSR; /* the kernel writes every slot */
    spmv_status s;
    if (!a->count) return SPMV_OK;
    s = spmv__dev_new_buffer(d, bytes, 0, &j->e->a[k]);
    if (!s && !full) s = d->info.backend->fill(d, d->queue, j->e->a[k], bytes, k == j->t->columns ? SPMV_PAD : 0);
    return s;
}

/* Uploads what the host has computed, and makes the buffers that the kernel fills. */
static spmv_status spmv__convert_send(spmv__convert_job *j)
{
    const spmv_device *d = j->c->device;
    const spmv_part *p = j->p;
    const spmv_view *v = j->s->v;
    const int wide = spmv__dev_wide_offsets(p);
    int k;
    spmv_status s = spmv__convert_matrix(j->c, v);
    for (k = 0; k < SPMV_MAX_ARRAYS && !s; k++)
        s = spmv__convert_fills(j->t, k) ? spmv__convert_buffer(j, k) : spmv__dev_upload(d, &p->a[k], &j->e->a[k]);
    if (!s && v->owner) s = spmv__convert_count(j);
    if (!s && v->list) s = spmv__convert_upload(d, j->inverse, v->a->rows, 4, &j->place);
    if (!s && j->pads) s = spmv__convert_upload(d, j->pads, p->n[SPMV_TCSR_TILES], 4, &j->pad);
    if (!s && (j->starts || (j->t->start == SPMV__NO_ARRAY && !strcmp(j->t->place, "BY_ROW"))))
        s = spmv__convert_offsets(d, j->starts ? j->starts : j->s->ptr, p->rows, wide, &j->start);
    return s;
}

/* Writes the options of the kernel for a part. */
static void spmv__convert_options(const spmv__convert_job *j, spmv__dev_options *o)
{
    const spmv_part *p = j->p;
    const spmv_format f = p->spec.format;
    const int numbers = j->t->numbers != SPMV__NO_ARRAY && p->a[j->t->numbers].count;
    const int grown = f == SPMV_SELL && p->a[SPMV_SELL_SLICE_ROW].count;
    o->used = 0;
    spmv__dev_option(o, "PLACE", grown ? "BY_GROWN" : j->t->place);
    spmv__dev_option(o, "WORD", p->a[SPMV_VAL].width == 8 ? "ulong" : "uint");
    spmv__dev_option(o, "FROM", spmv__convert_wide(j->c->a) ? "ulong" : "uint");
    spmv__dev_option(o, "OFF", spmv__dev_wide_offsets(p) ? "ulong" : "uint");
    if (spmv__dev_wide(p)) spmv__dev_option(o, "I64", "1");
    if (j->t->columns == SPMV__NO_ARRAY) spmv__dev_option(o, "COLUMNS", "0");
    else if (p->a[j->t->columns].width == 2) spmv__dev_option(o, "IDX16", "1");
    if (j->s->v->owner) spmv__dev_option(o, "OWNED", "1");
    if (j->s->v->list) spmv__dev_option(o, "LIST", "1");
    if (f == SPMV_CMRS) spmv__dev_option(o, "NUMBER", numbers ? "3" : "2");
    else if (numbers) spmv__dev_option(o, "NUMBER", "1");
    if (f == SPMV_TCSR) spmv__dev_option(o, "TILES", "1");
    spmv__dev_option_number(o, "PER", SPMV__CONVERT_PER);
    spmv__dev_option_number(o, "WG", j->wg);
}

/* The kernel's integers that depend on the format. */
static void spmv__convert_sizes(const spmv_part *p, uint64_t *ld, uint64_t *count)
{
    switch (p->spec.format) {
    case SPMV_DENSE: *ld = p->cols; break;
    case SPMV_CSR: *count = p->n[SPMV_CSR_RUNS]; break;
    case SPMV_DIA: *ld = p->n[SPMV_DIA_LD]; *count = p->n[SPMV_DIA_DIAGONALS]; break;
    case SPMV_BDIA: *ld = p->n[SPMV_BDIA_LD]; *count = p->n[SPMV_BDIA_BANDS]; break;
    case SPMV_ELL: *ld = p->n[SPMV_ELL_LD]; break;
    case SPMV_SELL: *ld = p->n[SPMV_SELL_H]; *count = p->n[SPMV_SELL_SLICES]; break;
    case SPMV_CMRS: *ld = p->n[SPMV_CMRS_HEIGHT]; break;
    case SPMV_TCSR: *ld = p->n[SPMV_TCSR_TILE]; break;
    default: break; /* coo has none; the rest is not filled on a device */
    }
}

/* Sets all arguments of the kernel, in the order of its parameters. */
static spmv_status spmv__convert_arguments(const spmv__convert_job *j, void *kernel)
{
    spmv__dev_args g = spmv__dev_args_of(&j->c->args, kernel);
    const spmv_part *p = j->p;
    const spmv_format f = p->spec.format;
    void *const *a = j->e->a;
    const int bases = spmv__dev_format_of(f)->bases;
    uint64_t ld = 0, count = 0;
    spmv__convert_sizes(p, &ld, &count);
    spmv__dev_arg_count(&g, j->c->a->rows);
    spmv__dev_arg_count(&g, j->c->a->nnz);
    spmv__dev_arg_mem(&g, j->c->ptr);
    spmv__dev_arg_mem(&g, j->c->col);
    spmv__dev_arg_mem(&g, j->c->val);
    spmv__dev_arg_mem(&g, j->place);
    spmv__dev_arg_mem(&g, j->c->owner);
    spmv__dev_arg_count(&g, j->s->v->part);
    spmv__dev_arg_mem(&g, j->before);
    spmv__dev_arg_mem(&g, j->first);
    spmv__dev_arg_mem(&g, j->t->start != SPMV__NO_ARRAY ? a[j->t->start] : j->start);
    spmv__dev_arg_count(&g, ld);
    spmv__dev_arg_mem(&g, f == SPMV_CSR ? a[SPMV_CSR_RUN_AT] : NULL);
    spmv__dev_arg_mem(&g, f == SPMV_SELL ? a[SPMV_SELL_SLICE_ROW] : NULL);
    spmv__dev_arg_mem(&g, f == SPMV_DIA ? a[SPMV_DIA_OFFSET] : f == SPMV_BDIA ? a[SPMV_BDIA_OFFSET] : NULL);
    spmv__dev_arg_count(&g, count);
    spmv__dev_arg_mem(&g, bases != SPMV__NO_ARRAY ? a[bases] : NULL);
    spmv__dev_arg_mem(&g, j->pad);
    spmv__dev_arg_mem(&g, a[SPMV_VAL]);
    spmv__dev_arg_mem(&g, j->t->columns != SPMV__NO_ARRAY ? a[j->t->columns] : NULL);
    spmv__dev_arg_mem(&g, j->t->numbers != SPMV__NO_ARRAY ? a[j->t->numbers] : NULL);
    return g.s;
}

/* Builds the kernel and launches it. Products wait for it: spmv_device_converter_close finishes the queue. */
static spmv_status spmv__convert_launch(const spmv__convert_job *j)
{
    spmv_device *d = j->c->device;
    const spmv_backend *b = d->info.backend;
    spmv__dev_options o;
    spmv_order order;
    void *program = NULL, *kernel = NULL;
    spmv_status s;
    memset(&order, 0, sizeof order);
    spmv__convert_options(j, &o);
    s = spmv__dev_program_of(d, (int)SPMV__KERNEL_CONVERT, o.text, &program);
    spmv__phase(j->s->h, SPMV_PHASE_CONVERT);
    if (!s) s = b->kernel(d, program, "spmv", &kernel);
    if (!s) s = spmv__convert_arguments(j, kernel);
    if (!s && j->c->chain) s = b->finish(d, d->queue); /* the buffers were filled in the same queue */
    if (!s) s = b->launch(d, d->queue, kernel, j->groups, j->wg, &order, NULL);
    if (!s && j->c->chain) s = b->finish(d, d->queue);
    if (kernel) b->kernel_free(d, kernel);
    return s;
}

static void spmv__convert_job_free(spmv__convert_job *j)
{
    const spmv_device *d = j->c->device;
    spmv_free(j->s->h, j->starts);
    spmv_free(j->s->h, j->pads);
    spmv_free(j->s->h, j->inverse);
    spmv__dev_buffer_free(d, j->place);
    spmv__dev_buffer_free(d, j->before);
    spmv__dev_buffer_free(d, j->first);
    spmv__dev_buffer_free(d, j->start);
    spmv__dev_buffer_free(d, j->pad);
}

/* Fills a part, all of whose sizes are set. */
static spmv_status spmv__convert_fill(spmv__convert *c, spmv_part *p, spmv__source *s)
{
    spmv__convert_job j;
    void *block;
    spmv_status status;
    memset(&j, 0, sizeof j);
    j.c = c;
    j.p = p;
    j.s = s;
    j.t = spmv__convert_format_of(p->spec.format);
    j.wg = (uint64_t)spmv__dev_vector_group(c->device);
    status = spmv__dev_groups(c->device, c->a->nnz, j.wg * SPMV__CONVERT_PER, j.wg, &j.groups);
    if (!status) status = spmv__new(&c->device->hooks, &block, 1, sizeof *j.e, 0);
    if (status) return status;
    j.e = p->elsewhere = (spmv_elsewhere *)block;
    j.e->device = c->device;
    j.e->drop = spmv__convert_arrays_drop;
    status = spmv__convert_host(&j);
    if (!status) spmv__phase(s->h, SPMV_PHASE_UPLOAD);
    if (!status) status = spmv__convert_send(&j);
    if (!status) spmv__phase(s->h, SPMV_PHASE_CONVERT);
    if (!status) status = spmv__convert_launch(&j);
    spmv__convert_job_free(&j);
    c->count += status == SPMV_OK;
    return status;
}

/* Fills a part on the device. After a failure, the part is as before, for the host to fill, and the device gets back all memory. */
static spmv_status spmv__convert_part(spmv_converter *base, spmv_part *p, spmv__source *s, const spmv_build *how)
{
    spmv__convert *c = (spmv__convert *)base;
    int k;
    spmv_status status;
    if (!spmv__convert_takes(c, p, s, how)) return SPMV_OK;
    status = spmv__convert_fill(c, p, s);
    if (!status) return SPMV_OK;
    c->off = 1;
    spmv__convert_drop(c);
    if (p->elsewhere) p->elsewhere->drop(p->elsewhere);
    p->elsewhere = NULL;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) {
        spmv_free(s->h, p->a[k].data);
        p->a[k].data = NULL;
    }
    spmv__phase(s->h, SPMV_PHASE_CONVERT);
    spmv_log(s->h, SPMV_OK, "%s could not be filled on the device (%s); the host converts instead", spmv_format_name(p->spec.format),
             spmv_status_text(status));
    return SPMV_OK;
}

/* ---- converters --------------------------------------------------------------------------------------------------- */

SPMV_API int spmv_convert_here(const spmv_device *d)
{
    return d && d->info.backend && d->info.type != SPMV_DEVICE_CPU && !d->info.unified;
}

SPMV_API spmv_status spmv_device_converter_open(spmv_device_converter *out, spmv_device *d, const spmv_csr *a)
{
    if (!out || !d || !a)
        return spmv__null(d ? &d->hooks : NULL, "spmv_device_converter_open", !out ? "out" : !d ? "d" : "a", out, sizeof *out);
    if (!d->info.backend) return spmv__dev_not_open(d, "spmv_device_converter_open", out, sizeof *out);
    void *block, *queue = d->queue;
    spmv__convert *c;
    int profiles;
    spmv_status s = spmv__new(&d->hooks, &block, 1, sizeof *c, 0);
    memset(out, 0, sizeof *out);
    if (s) return s;
    c = (spmv__convert *)block;
    c->base.part = spmv__convert_part;
    c->device = c->args.device = d;
    c->a = a;
    s = d->info.backend->queue_keep(d, queue, &c->chain, &profiles);
    if (s) spmv_free(&d->hooks, c);
    if (s) return s;
    d->info.backend->queue_free(d, queue);
    out->converter = &c->base;
    out->state_ = c;
    return SPMV_OK;
}

SPMV_API spmv_status spmv_device_converter_close(spmv_device_converter *out)
{
    spmv__convert *c = out ? (spmv__convert *)out->state_ : NULL;
    spmv_status s = SPMV_OK;
    if (!c) return s;
    if (c->count) s = c->device->info.backend->finish(c->device, c->device->queue);
    spmv__convert_drop(c);
    spmv_free(&c->device->hooks, c);
    memset(out, 0, sizeof *out);
    return s;
}

SPMV_API uint64_t spmv_device_converter_count(const spmv_device_converter *c)
{
    return c && c->state_ ? ((const spmv__convert *)c->state_)->count : 0;
}
#endif /* SPMV_IMPLEMENTATION */
