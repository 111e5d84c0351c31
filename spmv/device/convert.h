/* SPDX-License-Identifier: MIT
 *
 * spmv/device/convert.h - conversion on a device: fills the arrays of parts there, from CSR.
 */
#ifndef SPMV__DEVICE_CONVERT_H
#define SPMV__DEVICE_CONVERT_H

#include "exec.h"

/* ---- what is known of each format --------------------------------------------------------------------------------- */

enum { SPMV__CONVERT_PER = 8 /* nonzeros for each work-item of kernels/convert.cl */ };
enum { SPMV__CONVERT_WORD = 32 /* nonzeros of a word of bits that say which of them are the first of their blocks */ };
enum { SPMV__TILE_PROGRAMS = 2 /* that find tiles, beside the one that fills them: FIND of kernels/convert.cl */ };

/* The arrays of the CSR matrix, in the order in which they are uploaded: csr needs no row pointers. */
enum { SPMV__CONVERT_VAL, SPMV__CONVERT_COL, SPMV__CONVERT_PTR, SPMV__CONVERT_SENT /* how many they are */ };

/* Where the compiler has OpenMP and the system POSIX threads, a thread of its own uploads the matrix while the others analyse it. Nested
 * regions of OpenMP would not do: they start all their threads anew each time. With SPMV_PARALLEL, all threads are the caller's. */
#if defined(_OPENMP) && !defined(SPMV_PARALLEL) && defined(SPMV__POSIX)
#define SPMV__CONVERT_AHEAD
#endif

struct spmv__convert_job;

/* How a format's slots are found. Numbers of arrays may be SPMV__NO_ARRAY. */
typedef struct spmv__convert_format {
    const char *place;    /* PLACE of kernels/convert.cl; NULL: the host fills the format */
    int columns, numbers, flags; /* the arrays of columns, rows and flags that the kernel fills */
    int start;            /* the array where rows, slices or bands start; SPMV__NO_ARRAY: rows start where starts says, if anywhere */
    /* Fills the arrays that the host fills, behind the format's lay; NULL: lay has filled them. A format whose flags the device fills does
     * without lay. */
    void (*outline)(struct spmv__convert_job *j);
} spmv__convert_format;

/* The converter's state, whose first member is what spmv_build.converter points to. */
typedef struct spmv__convert {
    spmv_converter     base;
    spmv_device       *device;
    const spmv_csr    *a;
    uint64_t           nnz;          /* of a */
    size_t             width;        /* of its values */
    spmv_device_matrix args;         /* stands in for a matrix where arguments are set */
    void              *ptr, *col, *val; /* buffers, or NULL */
    uint64_t           count;        /* parts that were filled */
    spmv_csr          *given;        /* a, if columns and values are the caller's buffers; else NULL */
    int                given_ptr;    /* 1: the row pointers are, too */
    void              *narrow;       /* the caller's buffer of row pointers if they have 32 bits and a has none, else NULL */
    struct spmv__convert_job *kept;  /* those that can be updated */
    struct spmv__convert_job *counted; /* of the part whose blocks, tiles or columns were looked at last, while it is not filled; or NULL */
    int                chain, off;   /* chain: the queue is out of order; off: the device has failed, the host fills the rest */
    int                thrifty;      /* 1: kernels are compiled only if that pays */
    uint64_t           sent[SPMV__CONVERT_SENT]; /* bytes of val, col and ptr that are in their buffers or on their way */
#ifdef SPMV__CONVERT_AHEAD
    pthread_t          thread;       /* uploads the matrix while the host finds the plan */
    spmv_device        quiet;        /* the device, without messages, for that thread */
    long               stop;         /* 1: that thread is to end */
    int                running;      /* 1: that thread was started, and nobody has waited for it */
#endif
} spmv__convert;

/* What one part needs on the device while it is filled: buffers, or NULL. Of a job that is kept for updates, only what the kernel needs
 * stays. */
typedef struct spmv__convert_job {
    struct spmv__convert_job *next;
    spmv__convert *c;
    spmv_part     *p;
    spmv__source  *s;
    const spmv__convert_format *t;
    spmv_elsewhere *e;
    uint64_t      *tile_at;                      /* on the host: the nonzero with which each tile begins, and the number of all */
    uint32_t      *inverse;                      /* the row of the part for each row of the matrix, if the part has a row list */
    void          *place, *owner, *before, *first, *start, *kernel;
    void          *run_at;                       /* tile_at */
    void          *tiler[SPMV__TILE_PROGRAMS];   /* the kernels that find tiles and fill what follows; NULL: the host does. Then: */
    void          *found, *passed, *segment, *spans;
    uint64_t       stride, segments, most;       /* nonzeros of a segment, how many there are, the most tiles that there can be */
    spmv__tile_counts counts;
    void          *begun, *blocks, *low, *high; /* of blocks; first and before have other contents for them: see kernels/convert.cl */
    uint64_t       groups, wg, words;           /* words: of first, for blocks; 0: the part has none */
    int            no_high;                     /* 1: before tiles are counted, no warp of tcsr is taken to need high bytes */
    uint64_t       across;                      /* groups that have the same rows, if the kernel goes through the slots; else 0 */
} spmv__convert_job;

#ifndef SPMV__NO_CSR
/* Offsets that become elements of an array, in shares. */
typedef struct spmv__convert_copy {
    spmv_array     *to;
    const uint64_t *from;
    uint64_t        shares;
} spmv__convert_copy;

static void spmv__convert_copy_share(void *job, uint64_t share)
{
    const spmv__convert_copy *c = (const spmv__convert_copy *)job;
    const uint64_t n = c->to->count, begin = n / c->shares * share, end = share + 1 < c->shares ? n / c->shares * (share + 1) : n;
    uint32_t *narrow = (uint32_t *)c->to->data;
    uint64_t i;
    if (c->to->width == 8) memcpy((uint64_t *)c->to->data + begin, c->from + begin, (size_t)(end - begin) * 8);
    else
        for (i = begin; i < end; i++) narrow[i] = (uint32_t)c->from[i];
}

/* Fills an array with offsets, of 32 or 64 bits as it has them. */
static void spmv__convert_copy_offsets(spmv_array *to, const uint64_t *from)
{
    spmv__convert_copy c;
    c.to = to;
    c.from = from;
    c.shares = spmv__share_count(to->count);
    spmv__share_out(spmv__convert_copy_share, &c, c.shares);
}

/* Row pointers; the runs were laid. */
static void spmv__csr_outline(spmv__convert_job *j) { spmv__convert_copy_offsets(&j->p->a[SPMV_CSR_PTR], j->s->ptr); }
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

#ifndef SPMV__NO_ELL
static void spmv__ell_outline(spmv__convert_job *j)
{
    spmv_part *p = j->p;
    uint64_t t;
    for (t = 0; t < p->a[SPMV_ELL_BASE].count; t++)
        ((uint32_t *)p->a[SPMV_ELL_BASE].data)[t] = spmv__convert_base(j->s, t * 32, spmv__smaller((t + 1) * 32, p->rows));
}
#else
#define spmv__ell_outline NULL
#endif

#ifndef SPMV__NO_SELL
static void spmv__sell_outline(spmv__convert_job *j)
{
    spmv_part *p = j->p;
    uint64_t t;
    for (t = 0; t < p->a[SPMV_SELL_BASE].count; t++)
        ((uint32_t *)p->a[SPMV_SELL_BASE].data)[t] = spmv__convert_base(j->s, spmv__slice_first(p, t), spmv__slice_end(p, t));
}
#else
#define spmv__sell_outline NULL
#endif

#ifndef SPMV__NO_TCSR
/* The first nonzeros of tiles, and the rows that are cut, tile by tile. */
static void spmv__tcsr_begins(spmv__convert_job *j)
{
    const uint64_t *ptr = j->s->ptr, rows = j->p->rows, tile = j->p->n[SPMV_TCSR_TILE];
    uint32_t *piece = (uint32_t *)j->p->a[SPMV_TCSR_PIECE].data;
    uint64_t at = 0, t = 0, cuts = 0, i;
    for (i = 0; i < j->p->a[SPMV_TCSR_PIECE].count; i++) piece[i] = (uint32_t)(i / 2);
    j->tile_at[t] = 0;
    for (i = 0; rows && (i = spmv__tile_full(ptr, rows, tile, i, &at)) < rows; i++) {
        const uint64_t begin = spmv__tile_slot(tile, at, ptr[i + 1] - ptr[i]), end = begin + ptr[i + 1] - ptr[i];
        while ((t + 1) * tile <= end) {
            t++;
            j->tile_at[t] = ptr[i] + (t * tile > begin ? t * tile - begin : 0);
        }
        at = end;
        if (spmv__tile_cuts(tile, begin, at)) spmv__tcsr_cut_row(j->p, begin, at, &cuts);
    }
    j->tile_at[j->p->n[SPMV_TCSR_TILES]] = j->p->nnz;
}

/* Rows in shares, with the number of those before each share that are not empty. */
typedef struct spmv__tcsr_rows {
    const spmv__convert_job *j;
    uint64_t                 shares, before[SPMV__MOST_SHARES + 1];
} spmv__tcsr_rows;

static uint64_t spmv__tcsr_rows_first(const spmv__tcsr_rows *c, uint64_t share) { return c->j->p->rows * share / c->shares; }

static void spmv__tcsr_rows_count(void *job, uint64_t share)
{
    spmv__tcsr_rows *c = (spmv__tcsr_rows *)job;
    const uint64_t *ptr = c->j->s->ptr, end = spmv__tcsr_rows_first(c, share + 1);
    uint64_t i, n = 0;
    for (i = spmv__tcsr_rows_first(c, share); i < end; i++) n += (uint64_t)(ptr[i] < ptr[i + 1]);
    c->before[share + 1] = n;
}

static void spmv__tcsr_rows_fill(void *job, uint64_t share)
{
    const spmv__tcsr_rows *c = (const spmv__tcsr_rows *)job;
    uint32_t *row = (uint32_t *)c->j->p->a[SPMV_TCSR_ROW].data, *empty = (uint32_t *)c->j->p->a[SPMV_TCSR_EMPTY].data;
    const uint64_t *ptr = c->j->s->ptr, end = spmv__tcsr_rows_first(c, share + 1);
    uint64_t i, n = c->before[share];
    for (i = spmv__tcsr_rows_first(c, share); i < end; i++) {
        if (ptr[i] < ptr[i + 1]) row[n++] = (uint32_t)i;
        else empty[i - n] = (uint32_t)i;
    }
}

/* Lists the rows that are empty and those that are not. */
static void spmv__tcsr_list(const spmv__convert_job *j)
{
    spmv__tcsr_rows c;
    uint64_t share;
    c.j = j;
    c.before[0] = 0;
    c.shares = spmv__share_count(j->p->rows);
    spmv__share_out(spmv__tcsr_rows_count, &c, c.shares);
    for (share = 0; share < c.shares; share++) c.before[share + 1] += c.before[share];
    spmv__share_out(spmv__tcsr_rows_fill, &c, c.shares);
}

/* How many of the rising numbers at of are below v. */
static uint64_t spmv__tcsr_below(const uint32_t *of, uint64_t count, uint64_t v)
{
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (of[middle] < v) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* How many rows end before each warp. */
static void spmv__tcsr_warps(const spmv__convert_job *j)
{
    const spmv_part *p = j->p;
    const uint32_t *empty = (const uint32_t *)p->a[SPMV_TCSR_EMPTY].data;
    uint32_t *end = (uint32_t *)p->a[SPMV_TCSR_END].data;
    const uint64_t *ptr = j->s->ptr, tile = p->n[SPMV_TCSR_TILE], empties = p->n[SPMV_TCSR_EMPTIES];
    uint64_t warp, low = 0;
    for (warp = 0; warp < p->a[SPMV_TCSR_END].count; warp++) {
        const uint64_t t = warp * SPMV__TCSR_WARP / tile, last = p->n[SPMV_TCSR_TILES];
        const uint64_t k = t < last ? spmv__smaller(j->tile_at[t] + warp * SPMV__TCSR_WARP % tile, j->tile_at[t + 1]) : p->nnz;
        low = spmv__tile_row(ptr, low, p->rows, k); /* rows before it end with nonzero k - 1 at the latest */
        end[warp] = (uint32_t)(low - spmv__tcsr_below(empty, empties, low));
    }
}

/* All arrays but values, columns and their high bytes, and flags. */
static void spmv__tcsr_outline(spmv__convert_job *j)
{
    uint64_t wide;
    spmv__tcsr_begins(j);
    if (j->p->n[SPMV_TCSR_EMPTIES]) spmv__tcsr_list(j);
    spmv__tcsr_warps(j);
    if (j->p->a[SPMV_TCSR_BASE].count) spmv__tcsr_bases(j->p, j->s, &wide);
}
#else
#define spmv__tcsr_outline NULL
#endif

#ifdef SPMV__ANY_BLOCK
/* The bases, from the lowest block columns. */
static void spmv__block_outline(spmv__convert_job *j)
{
    const spmv_part *p = j->p;
    const uint32_t *lowest = j->s->spans;
    const spmv_array *base = &p->a[spmv__block_base(p)];
    const uint64_t height = spmv__block_group_height(p), block_rows = spmv__block_rows(p);
    uint64_t t, i;
    for (t = 0; t < base->count; t++) {
        uint32_t low = SPMV__NO_BLOCK;
        for (i = t * height; i < (t + 1) * height && i < block_rows; i++)
            if (lowest[i] < low) low = lowest[i];
        ((uint32_t *)base->data)[t] = low == SPMV__NO_BLOCK ? 0 : low * (uint32_t)p->n[SPMV_BLOCK_BW];
    }
}
#else
#define spmv__block_outline NULL
#endif

/* By format; those that are not named here are filled by the host. */
static const spmv__convert_format *spmv__convert_format_of(spmv_format f)
{
    static const spmv__convert_format
        dense = { "BY_MATRIX", SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV__NO_ARRAY, NULL },
        coo = { "BY_ROW", SPMV_COO_COL, SPMV_COO_ROW, SPMV__NO_ARRAY, SPMV__NO_ARRAY, NULL },
        csr = { "BY_ROW", SPMV_CSR_COL, SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV_CSR_PTR, spmv__csr_outline },
        dia = { "BY_DIAGONAL", SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV__NO_ARRAY, NULL },
        bdia = { "BY_BAND", SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV_BDIA_BAND_PTR, NULL },
        ell = { "BY_COLUMN", SPMV_ELL_COL, SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV__NO_ARRAY, spmv__ell_outline },
        sell = { "BY_SLICE", SPMV_SELL_COL, SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV_SELL_PTR, spmv__sell_outline },
        bell = { "BY_BLOCK", SPMV_BELL_COL, SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV__NO_ARRAY, spmv__block_outline },
        sbell = { "BY_BLOCK", SPMV_SBELL_COL, SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV_SBELL_PTR, spmv__block_outline },
        bcsr = { "BY_BLOCK", SPMV_BCSR_COL, SPMV__NO_ARRAY, SPMV__NO_ARRAY, SPMV_BCSR_PTR, spmv__block_outline },
        cmrs = { "BY_ROW", SPMV_CMRS_INDEX, SPMV_CMRS_ROW, SPMV__NO_ARRAY, SPMV__NO_ARRAY, NULL },
        tcsr = { "BY_ROW", SPMV_TCSR_COL, SPMV_TCSR_HIGH, SPMV_TCSR_FLAG, SPMV__NO_ARRAY, spmv__tcsr_outline };
    switch (f) {
    case SPMV_DENSE: return &dense;
    case SPMV_COO: return &coo;
    case SPMV_CSR: return &csr;
    case SPMV_DIA: return &dia;
    case SPMV_BDIA: return &bdia;
    case SPMV_ELL: return &ell;
    case SPMV_SELL: return &sell;
    case SPMV_BELL: return &bell;
    case SPMV_SBELL: return &sbell;
    case SPMV_BCSR: return &bcsr;
    case SPMV_CMRS: return &cmrs;
    case SPMV_TCSR: return &tcsr;
    default: return NULL;
    }
}

/* ---- the CSR matrix on the device --------------------------------------------------------------------------------- */

/* Uploads an array, unless its buffer is there. Give that back by spmv__scratch_give. */
static spmv_status spmv__convert_upload(spmv_device *d, const void *from, uint64_t count, size_t width, void **out)
{
    spmv_status s;
    if (*out || !count) return SPMV_OK;
    s = spmv__scratch_take(d, count * width, out);
    return s ? s : spmv__dev_copy(d, *out, count * width, from);
}

/* Launches a kernel, whose arguments are set. chain: 1: the queue is out of order, and the kernel's buffers were filled in it. */
static spmv_status spmv__convert_start(const spmv_device *d, void *kernel, uint64_t groups, uint64_t wg, int chain)
{
    const spmv_backend *b = d->info.backend;
    spmv_order order;
    spmv_status s = SPMV_OK;
    memset(&order, 0, sizeof order);
    if (chain) s = b->finish(d, d->queue);
    if (!s) s = b->launch(d, d->queue, kernel, groups, wg, &order, NULL);
    if (!s && chain) s = b->finish(d, d->queue);
    return s;
}

/* ---- kernels that look at row pointers and columns ---------------------------------------------------------------- */

/* Programs of such kernels: CHECK of kernels/convert.cl. */
enum { SPMV__CHECK_MATRIX = 1, SPMV__CHECK_PART };

/* A kernel of one of these programs, and its arguments, which the caller sets. */
typedef struct spmv__convert_look {
    spmv_device_matrix on; /* stands in for a matrix */
    spmv__dev_args     g;
    void              *kernel;
} spmv__convert_look;

/* Opens a kernel. One that looks at the matrix reads row pointers of ptr_bits bits, one that looks at a part those of 64. Close it also
 * after a failure. */
static spmv_status spmv__convert_look_open(spmv__convert_look *l, spmv_device *d, int check, const char *name, int ptr_bits)
{
    void *program = NULL;
    spmv__dev_options o;
    spmv_status s;
    memset(l, 0, sizeof *l);
    l->on.device = d;
    o.used = 0;
    spmv__dev_option_number(&o, "CHECK", (uint64_t)check);
    spmv__dev_option(&o, "OFF", ptr_bits == 64 ? "ulong" : "uint");
    spmv__dev_option_number(&o, "PER", SPMV__CONVERT_PER);
    spmv__dev_option_number(&o, "WG", (uint64_t)spmv__dev_vector_group(d));
    s = spmv__dev_program_of(d, (int)SPMV__KERNEL_CONVERT, o.text, &program);
    if (!s) s = d->info.backend->kernel(d, program, name, &l->kernel);
    l->g = spmv__dev_args_of(&l->on, l->kernel);
    return s;
}

/* Launches it for so many elements, of which each work-item does some. */
static spmv_status spmv__convert_look_run(const spmv__convert_look *l, uint64_t elements, uint64_t each)
{
    const spmv_device *d = l->on.device;
    const spmv_backend *b = d->info.backend;
    const uint64_t wg = (uint64_t)spmv__dev_vector_group(d);
    uint64_t groups = 0;
    int chain = 0, profiles;
    spmv_status s = l->g.s;
    if (!s) s = spmv__dev_groups(d, elements, wg * each, wg, &groups);
    if (!s) s = b->queue_keep(d, d->queue, &chain, &profiles);
    if (s) return s;
    b->queue_free(d, d->queue);
    return spmv__convert_start(d, l->kernel, groups, wg, chain);
}

static void spmv__convert_look_close(const spmv__convert_look *l)
{
    spmv__dev_kernel_free(l->on.device, l->kernel);
}

/* What spmv__convert_check finds. */
typedef struct spmv__convert_found {
    int pointers, columns; /* 1: the row pointers rise from 0 to nnz; the columns of each row rise and lie in the matrix */
} spmv__convert_found;

/* Has the device check row pointers and columns.
 *   a         its rows, cols and nnz, none of which is 0
 *   ptr, col  buffers of the device with rows + 1 row pointers of ptr_bits bits, and nnz columns */
SPMV__SHARED spmv_status spmv__convert_check(spmv_device *d, const spmv_csr *a, void *ptr, int ptr_bits, void *col,
                                             spmv__convert_found *found)
{
    const spmv_backend *b = d->info.backend;
    uint32_t sum[4] = { 1, 1, 1, 0 };
    void *buffer = NULL;
    spmv__convert_look l;
    spmv_status s = spmv__convert_look_open(&l, d, SPMV__CHECK_MATRIX, "check", ptr_bits);
    if (!s) s = spmv__scratch_take(d, sizeof sum, &buffer);
    if (!s) s = b->fill(d, d->queue, buffer, sizeof sum, 0);
    if (!s) {
        spmv__dev_arg_count(&l.g, a->rows);
        spmv__dev_arg_count(&l.g, a->cols);
        spmv__dev_arg_count(&l.g, a->nnz);
        spmv__dev_arg_mem(&l.g, ptr);
        spmv__dev_arg_mem(&l.g, col);
        spmv__dev_arg_mem(&l.g, buffer);
        s = spmv__convert_look_run(&l, a->nnz > a->rows ? a->nnz : a->rows, SPMV__CONVERT_PER);
    }
    if (!s) s = b->read(d, d->queue, buffer, sizeof sum, sum, NULL);
    found->pointers = !s && !sum[2];
    found->columns = found->pointers && !sum[0] && !sum[1];
    if (s) b->finish(d, d->queue); /* before the next matrix gets the buffer */
    spmv__scratch_give(d, buffer);
    spmv__convert_look_close(&l);
    return s;
}

/* Makes a buffer with the caller's row pointers in 64 bits. */
static spmv_status spmv__convert_widen(spmv__convert *c)
{
    spmv__convert_look l;
    spmv_status s = spmv__convert_look_open(&l, c->device, SPMV__CHECK_MATRIX, "widen", 32);
    if (!s) s = spmv__scratch_take(c->device, (c->a->rows + 1) * 8, &c->ptr);
    if (!s) {
        spmv__dev_arg_count(&l.g, c->a->rows);
        spmv__dev_arg_mem(&l.g, c->narrow);
        spmv__dev_arg_mem(&l.g, c->ptr);
        s = spmv__convert_look_run(&l, c->a->rows + 1, 1);
    }
    spmv__convert_look_close(&l);
    return s;
}

/* Checks the longest rows, from which the sizes of arrays follow: a device may compute wrongly. */
static spmv_status spmv__convert_check_longest(const spmv__convert *c, const spmv__source *s, uint64_t slices)
{
    uint64_t t, all = 0;
    for (t = 0; t < slices; t++) all += s->longest[t];
    if (all <= c->nnz && spmv__sat_mul(all, s->longest_of) >= c->nnz) return SPMV_OK;
    return spmv_log(s->h, SPMV_ERR_BACKEND, "the device found longest rows of %llu nonzeros in all, of %llu", (spmv__ull)all,
                    (spmv__ull)c->nnz);
}

/* Finds the nonzeros of the longest row of each slice of so many rows, of a matrix whose row pointers are on the device. */
static spmv_status spmv__convert_longest(const spmv__convert *c, uint64_t height, spmv__source *s)
{
    spmv_device *d = c->device;
    const uint64_t slices = spmv__ceil_div(c->a->rows, height);
    void *block, *buffer = NULL;
    spmv__convert_look l;
    spmv_status status = spmv__room(s->h, &block, slices, sizeof *s->longest);
    s->longest = (uint32_t *)block;
    s->longest_of = (uint32_t)height;
    if (status) return status;
    status = spmv__convert_look_open(&l, d, SPMV__CHECK_MATRIX, "longest", c->narrow ? 32 : 64);
    if (!status) status = spmv__scratch_take(d, slices * sizeof *s->longest, &buffer);
    if (!status) {
        spmv__dev_arg_count(&l.g, c->a->rows);
        spmv__dev_arg_count(&l.g, height);
        spmv__dev_arg_count(&l.g, slices);
        spmv__dev_arg_mem(&l.g, c->narrow ? c->narrow : c->ptr);
        spmv__dev_arg_mem(&l.g, buffer);
        status = spmv__convert_look_run(&l, slices, 1);
    }
    if (!status) status = spmv__dev_download(d, buffer, slices * sizeof *s->longest, s->longest);
    spmv__scratch_give(d, buffer);
    spmv__convert_look_close(&l);
    return status ? status : spmv__convert_check_longest(c, s, slices);
}

/* The slots of sell for each nonzero, of a matrix whose row pointers of ptr_bits bits are in a buffer; 0: they could not be counted. */
#ifndef SPMV__NO_SELL
SPMV__SHARED double spmv__convert_padding(spmv_device *d, const spmv_csr *a, void *ptr, int ptr_bits, const spmv_hooks *h)
{
    spmv__convert c;
    spmv__source from;
    spmv_spec sell;
    uint64_t height, t, slots = 0;
    spmv_status s;
    memset(&c, 0, sizeof c);
    memset(&from, 0, sizeof from);
    memset(&sell, 0, sizeof sell);
    sell.format = SPMV_SELL;
    height = spmv__sell_height(&sell, a->rows);
    c.device = d;
    c.a = a;
    c.nnz = a->nnz;
    if (ptr_bits == 64) c.ptr = ptr;
    else c.narrow = ptr;
    from.h = h;
    s = spmv__convert_longest(&c, height, &from);
    for (t = 0; !s && t < spmv__ceil_div(a->rows, height); t++) slots += from.longest[t];
    spmv_free(h, from.longest);
    return s ? 0 : (double)slots * (double)height / (double)a->nnz;
}
#endif

/* 1: kernels that pay only in later processes are compiled as well. */
static int spmv__convert_for_others(const spmv_device *d)
{
    int keeps;
    spmv__lock(&d->common->lock);
    keeps = d->common->keeps;
    spmv__unlock(&d->common->lock);
    return keeps;
}

/* ---- the CSR matrix there and here -------------------------------------------------------------------------------- */

/* Uploads what is not there yet of an array of the CSR matrix; with stop, as spmv__dev_copy_rest does. */
static spmv_status spmv__convert_array(spmv__convert *c, spmv_device *d, int array, const long *stop)
{
    const spmv_csr *a = c->a;
    void **buffer = array == SPMV__CONVERT_PTR ? &c->ptr : array == SPMV__CONVERT_COL ? &c->col : &c->val;
    const void *from = array == SPMV__CONVERT_PTR ? (const void *)a->ptr : array == SPMV__CONVERT_COL ? (const void *)a->col : a->val;
    const uint64_t bytes = array == SPMV__CONVERT_PTR ? (a->rows + 1) * 8 : a->nnz * (array == SPMV__CONVERT_COL ? 4 : c->width);
    spmv_status s = SPMV_OK;
    if (!bytes || (c->given && (array != SPMV__CONVERT_PTR || c->given_ptr))) return SPMV_OK;
    if (array == SPMV__CONVERT_PTR && c->narrow) return c->ptr ? SPMV_OK : spmv__convert_widen(c);
    if (!*buffer) s = spmv__scratch_take_close(d, bytes, buffer);
    return s ? s : spmv__dev_copy_rest(d, *buffer, &c->sent[array], bytes, from, stop);
}

#ifdef SPMV__CONVERT_AHEAD
/* The thread that uploads the matrix. It neither allocates by hooks nor logs. What fails is tried again by the one that waits for it, which
 * reports the failure. */
static void *spmv__convert_upload_ahead(void *job)
{
    spmv__convert *c = (spmv__convert *)job;
    int k;
    for (k = 0; k < SPMV__CONVERT_SENT && !spmv__is_set(&c->stop); k++)
        if (spmv__convert_array(c, &c->quiet, k, &c->stop)) break;
    c->quiet.info.backend->finish(&c->quiet, c->quiet.queue); /* CU_STREAM_PER_THREAD is another stream in the next thread */
    return NULL;
}

/* Ends that thread. Everything that uses the device comes behind this. */
static void spmv__convert_wait(spmv__convert *c)
{
    if (!c->running) return;
    __atomic_store_n(&c->stop, 1L, __ATOMIC_RELEASE);
    pthread_join(c->thread, NULL);
    c->running = 0;
}

/* 1 if the device is likely to fill the first part: kernels for it are there, or they need not pay by themselves. */
static int spmv__convert_is_likely(const spmv__convert *c)
{
    const spmv_device *d = c->device;
    const spmv__program *p = spmv__dev_programs(d);
    const spmv__image *i = spmv__dev_images(d);
    const uint64_t hash = i ? spmv__dev_source_hash((int)SPMV__KERNEL_CONVERT) : 0;
    while (p && (int)p->format != (int)SPMV__KERNEL_CONVERT) p = p->next;
    while (i && i->source != hash) i = i->next;
    return !c->thrifty || p || i || spmv__convert_for_others(d);
}

/* Begins to upload the matrix in a thread of its own, if it is so large that this pays, and is likely to be needed. Until the first part
 * needs it or the converter is closed, the thread that called does not use the device. Without threads nothing happens. */
SPMV__SHARED void spmv__converter_begin(spmv_converter *base)
{
    spmv__convert *c = (spmv__convert *)base;
    spmv_device *d = c->device;
    const uint64_t most = d->info.alloc_bytes;
    if (c->given || !c->nnz || spmv__csr_bytes(c->a) < SPMV__STAGE_CHUNK) return;
    if (spmv__sat_mul(c->nnz, 8) > most || (c->a->rows + 1) * 8 > most) return;
    if (spmv__share_threads(2, 2) < 2 || !spmv__convert_is_likely(c)) return;
    spmv__lock(&d->common->copying);
    spmv__stage_ready(d, spmv__csr_bytes(c->a));
    spmv__unlock(&d->common->copying);
    c->quiet = spmv__dev_quiet(d);
    c->running = !pthread_create(&c->thread, NULL, spmv__convert_upload_ahead, c);
}
#else
static void spmv__convert_wait(spmv__convert *c) { (void)c; }
SPMV__SHARED void spmv__converter_begin(spmv_converter *c) { (void)c; }
#endif

/* Uploads what is not there yet of the CSR matrix. */
static spmv_status spmv__convert_matrix(spmv__convert *c)
{
    int k;
    spmv_status s;
    spmv__convert_wait(c);
    s = spmv__dev_none(c->device, &c->args.none);
    for (k = 0; k < SPMV__CONVERT_SENT && !s; k++) s = spmv__convert_array(c, c->device, k, NULL);
    return s;
}

static void spmv__convert_drop(spmv__convert *c)
{
    spmv__convert_wait(c);
    if (!c->given_ptr) spmv__scratch_give(c->device, c->ptr);
    if (!c->given) spmv__scratch_give(c->device, c->col);
    if (!c->given) spmv__scratch_give(c->device, c->val);
    c->ptr = c->col = c->val = NULL;
    memset(c->sent, 0, sizeof c->sent);
}

/* ---- one part ----------------------------------------------------------------------------------------------------- */

/* 1: the device fills array k. */
static int spmv__convert_fills(const spmv__convert_job *j, int k)
{
    return j->tiler[0] || k == SPMV_VAL || k == j->t->columns || k == j->t->numbers || k == j->t->flags;
}

/* 1 if the part has the columns and values of the whole CSR matrix as they are, so that it can have their buffers. */
static int spmv__convert_is_csr(const spmv__convert *c, const spmv_part *p, const spmv__source *s, const spmv_build *how)
{
    return p->spec.format == SPMV_CSR && !c->given && !how->updatable && !s->v->owner && !s->v->list && !p->a[SPMV_CSR_BASE].count;
}

/* 1 if the device can fill the part. */
static int spmv__convert_takes(const spmv__convert *c, const spmv_part *p, const spmv__source *s)
{
    const spmv_csr *a = c->a;
    const uint64_t most = c->device->info.alloc_bytes;
    int k, fits = spmv__sat_mul(a->nnz, 8) <= most && (a->rows + 1) * 8 <= most;
    if (c->off || s->v->a != a || !p->nnz || !spmv__convert_format_of(p->spec.format)) return 0;
    if (spmv__dev_has_blocks(p->spec.format) && !c->counted) return 0;
    if (p->spec.format == SPMV_CMRS && p->spec.key[SPMV_KEY_SORT]) return 0;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) fits &= spmv__sat_mul(p->a[k].count, p->a[k].width) <= most;
    return fits;
}

/* 1: kernels with these options are there, or need not pay. */
static int spmv__convert_is_free(const spmv__convert *c, const char *options)
{
    spmv_device *d = c->device;
    return !c->thrifty || spmv__convert_for_others(d) || spmv__dev_built(d, (int)SPMV__KERNEL_CONVERT, options) ||
           spmv__dev_image_of(d, (int)SPMV__KERNEL_CONVERT, options);
}

/* Is it worth compiling kernels with these options, if they are not there, to have the device fill a part? The host takes so many seconds
 * instead. It is when the host has taken as long as compiling for this part and those before it. In this way all takes at most about twice
 * as long as if it were known how many more parts there will be. */
static int spmv__convert_pays(const spmv__convert *c, const char *options, double host, double compile)
{
    spmv__common *all = c->device->common;
    int pays;
    if (spmv__convert_is_free(c, options)) return 1;
    spmv__lock(&all->lock);
    all->rented += host;
    pays = all->rented >= compile;
    if (pays) all->rented = 0;
    spmv__unlock(&all->lock);
    return pays;
}

/* 1: rows start where s->ptr says, and no array of the part has that. */
static int spmv__convert_starts_by_row(const spmv__convert_job *j)
{
    return j->t->start == SPMV__NO_ARRAY && !strcmp(j->t->place, "BY_ROW");
}

/* 1: the array of starts has 64 bits an element. */
static int spmv__convert_wide_starts(const spmv__convert_job *j)
{
    if (spmv__convert_starts_by_row(j)) return 1;
    return j->t->start != SPMV__NO_ARRAY ? j->p->a[j->t->start].width == 8 : j->p->a[SPMV_VAL].count > 0xffffffffu;
}

/* 1: the kernel goes through the slots: slices or columns that have the whole matrix, in the order of its rows. */
static int spmv__convert_slotwise(const spmv__convert_job *j)
{
    if (j->s->v->owner || j->s->v->list) return 0;
    return j->p->spec.format == SPMV_ELL || (j->p->spec.format == SPMV_SELL && !j->p->a[SPMV_SELL_SLICE_ROW].count);
}

/* Allocates and fills the arrays that the host fills, and what else follows from the rows alone. */
static spmv_status spmv__convert_host(spmv__convert_job *j)
{
    const spmv_hooks *h = j->s->h, *own = &j->c->device->hooks;
    const spmv_view *v = j->s->v;
    spmv_part *p = j->p;
    void *at = NULL, *inverse = NULL;
    uint64_t i;
    int k;
    spmv_status s = SPMV_OK;
    if (j->tiler[0]) return s;
    for (k = 0; k < SPMV_MAX_ARRAYS && !s; k++)
        if (!spmv__convert_fills(j, k)) s = spmv__room(h, &p->a[k].data, p->a[k].count, p->a[k].width);
    if (!s && p->spec.format == SPMV_TCSR) s = spmv__room(own, &at, p->n[SPMV_TCSR_TILES] + 1, 8);
    if (!s && v->list) s = spmv__new(own, &inverse, v->a->rows, 4, 0xff);
    j->tile_at = (uint64_t *)at;
    j->inverse = (uint32_t *)inverse;
    if (s) return s;
    for (i = 0; v->list && i < v->rows; i++) j->inverse[v->list[i]] = (uint32_t)i;
    if (spmv__table[p->spec.format].lay && j->t->flags == SPMV__NO_ARRAY) spmv__table[p->spec.format].lay(p, j->s);
    if (j->t->outline) j->t->outline(j);
    return s;
}

/* How many of nonzeros k .. end - 1 belong to the view. */
static uint64_t spmv__convert_owned(const spmv_view *v, uint64_t k, uint64_t end)
{
    uint64_t n = 0;
    for (; k < end; k++) n += v->owner[k] == v->part;
    return n;
}

/* Sets first, rows + 1 elements, to the view's nonzeros before each row of the matrix. They were counted by row of the part; only rows that
 * are not in the row list are looked at. */
static void spmv__convert_first(const spmv__convert_job *j, uint64_t *first)
{
    const spmv_view *v = j->s->v;
    const spmv_csr *a = v->a;
    uint64_t r, n = 0;
    for (r = 0; r < a->rows; r++) {
        const uint64_t i = j->inverse[r];
        first[r] = n;
        n += i != SPMV_PAD ? j->s->ptr[i + 1] - j->s->ptr[i] : spmv__convert_owned(v, a->ptr[r], a->ptr[r + 1]);
    }
    first[a->rows] = n;
}

/* What the shares of spmv__convert_before have in common. */
typedef struct spmv__convert_ahead {
    const spmv__convert_job *j;
    const uint64_t          *first;
    uint64_t                *before, shares;
} spmv__convert_ahead;

/* Fills in the groups of a share: the view's nonzeros before the row in which the group begins, and those in front of it in this row. */
static void spmv__convert_before_share(void *job, uint64_t share)
{
    const spmv__convert_ahead *t = (const spmv__convert_ahead *)job;
    const spmv__convert_job *j = t->j;
    const spmv_view *v = j->s->v;
    const spmv_csr *a = v->a;
    const uint64_t step = j->wg * SPMV__CONVERT_PER, end = j->groups * (share + 1) / t->shares;
    uint64_t g = j->groups * share / t->shares, r = g < end ? spmv__row_of(a, 0, g * step) : 0, k = a->ptr[r], n = t->first[r];
    for (; g < end; g++) {
        const uint64_t begin = g * step;
        while (a->ptr[r + 1] <= begin) r++;
        if (a->ptr[r] > k) {
            k = a->ptr[r];
            n = t->first[r];
        }
        n += spmv__convert_owned(v, k, begin);
        k = begin;
        t->before[g] = n;
    }
}

/* Sets before to the view's nonzeros before each group of the launch. */
static void spmv__convert_before(const spmv__convert_job *j, const uint64_t *first, uint64_t *before)
{
    spmv__convert_ahead t;
    t.j = j;
    t.first = first;
    t.before = before;
    t.shares = spmv__smaller(spmv__share_count(j->s->v->a->nnz), j->groups);
    spmv__share_out(spmv__convert_before_share, &t, t.shares);
}

/* Counts the view's nonzeros before each row of the matrix and before each group of the launch, and uploads both. */
static spmv_status spmv__convert_count(spmv__convert_job *j)
{
    const spmv_view *v = j->s->v;
    spmv_device *d = j->c->device;
    const uint64_t rows = v->a->rows, *first = j->s->ptr; /* without a row list, rows of the part are those of the matrix */
    void *before = NULL, *block = NULL;
    spmv_status s = spmv__room(&d->hooks, &before, j->groups, 8);
    if (!s && v->list) s = spmv__room(&d->hooks, &block, rows + 1, 8);
    if (!s && v->list) {
        spmv__convert_first(j, (uint64_t *)block);
        first = (const uint64_t *)block;
    }
    if (!s) spmv__convert_before(j, first, (uint64_t *)before);
    if (!s) s = spmv__convert_upload(d, before, j->groups, 8, &j->before);
    if (!s) s = spmv__convert_upload(d, first, rows + 1, 8, &j->first);
    spmv_free(&d->hooks, before);
    spmv_free(&d->hooks, block);
    return s;
}

/* Where the back end can, one buffer for all arrays of a part: a driver takes as long for each as for all of them together. */
static spmv_status spmv__convert_make_all(spmv__convert_job *j)
{
    const uint64_t aligned = 256; /* bytes, as allocations are */
    spmv_device *d = j->c->device;
    const spmv_part *p = j->p;
    uint64_t bytes = 0;
    int k;
    spmv_status s;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) bytes += spmv__round_up(p->a[k].count * p->a[k].width, aligned);
    if (!d->info.backend->within || bytes > d->info.alloc_bytes) return SPMV_OK;
    s = spmv__dev_own(d, bytes, 0, &j->e->all);
    for (bytes = 0, k = 0; k < SPMV_MAX_ARRAYS && !s; k++) {
        if (p->a[k].count) j->e->a[k] = d->info.backend->within(j->e->all, bytes);
        bytes += spmv__round_up(p->a[k].count * p->a[k].width, aligned);
    }
    return s;
}

/* Copies an array that the host has filled. */
static spmv_status spmv__convert_send_array(spmv__convert_job *j, int k)
{
    const spmv_array *a = &j->p->a[k];
    if (!j->e->a[k]) return spmv__dev_upload(j->c->device, a, &j->e->a[k]);
    return spmv__dev_copy(j->c->device, j->e->a[k], a->count * a->width, a->data);
}

/* A buffer for an array that the kernel fills. Unless the kernel fills all of it, with padding and fill in it: PAD in columns, zeros
 * elsewhere. Fills are of 4 bytes. */
static spmv_status spmv__convert_buffer(spmv__convert_job *j, int k)
{
    spmv_device *d = j->c->device;
    const spmv_array *a = &j->p->a[k];
    const uint64_t bytes = spmv__round_up(a->count * a->width, 4);
    const int dense = j->p->nnz == j->p->a[SPMV_VAL].count || j->t->flags != SPMV__NO_ARRAY || spmv__convert_slotwise(j);
    const int filled = k == j->t->flags ? j->tiler[0] != NULL : dense;
    spmv_status s = SPMV_OK;
    if (!a->count) return s;
    if (!j->e->a[k]) s = spmv__dev_own(d, bytes, 0, &j->e->a[k]);
    if (!s && !filled) s = d->info.backend->fill(d, d->queue, j->e->a[k], bytes, k == j->t->columns ? SPMV_PAD : 0);
    return s;
}

/* Uploads what the host has computed, and makes the buffers that the kernel fills. */
static spmv_status spmv__convert_send(spmv__convert_job *j)
{
    spmv_device *d = j->c->device;
    const spmv_part *p = j->p;
    const spmv_view *v = j->s->v;
    int k;
    spmv_status s = spmv__convert_matrix(j->c);
    if (!s) s = spmv__convert_make_all(j);
    for (k = 0; k < SPMV_MAX_ARRAYS && !s; k++)
        s = spmv__convert_fills(j, k) ? spmv__convert_buffer(j, k) : spmv__convert_send_array(j, k);
    if (!s && v->owner) s = spmv__convert_upload(d, v->owner, v->a->nnz, 1, &j->owner);
    if (!s && v->owner && !j->words) s = spmv__convert_count(j);
    if (!s && v->list) s = spmv__convert_upload(d, j->inverse, v->a->rows, 4, &j->place);
    if (!s && j->tile_at) s = spmv__convert_upload(d, j->tile_at, p->n[SPMV_TCSR_TILES] + 1, 8, &j->run_at);
    if (!s && spmv__convert_starts_by_row(j) && j->s->ptr != v->a->ptr)
        s = spmv__convert_upload(d, j->s->ptr, p->rows, 8, &j->start);
    return s;
}

/* Writes the options of the kernels for a part with blocks. Before the blocks are counted, narrow and wide are guesses, which are most
 * often right, so that there is only one program. */
static void spmv__convert_block_options(const spmv__convert_job *j, int narrow, int wide, spmv__dev_options *o)
{
    const spmv_part *p = j->p;
    o->used = 0;
    spmv__dev_option(o, "PLACE", j->t->place);
    spmv__dev_option(o, "WORD", p->a[SPMV_VAL].width == 8 ? "ulong" : "uint");
    spmv__dev_option(o, "OFF", wide ? "ulong" : "uint");
    if (spmv__dev_wide(p)) spmv__dev_option(o, "I64", "1");
    if (narrow) spmv__dev_option(o, "IDX16", "1");
    if (j->s->v->owner) spmv__dev_option(o, "OWNED", "1");
    spmv__dev_option_number(o, "PER", SPMV__CONVERT_PER);
    spmv__dev_option_number(o, "WG", j->wg);
}

/* Writes the options of the kernels for a part. Before tiles are counted, some are guesses, which are most often right. */
static void spmv__convert_options(const spmv__convert_job *j, spmv__dev_options *o)
{
    const spmv_part *p = j->p;
    const spmv_format f = p->spec.format;
    const int guess = f == SPMV_TCSR && !p->a[SPMV_VAL].count; /* the tiles are not counted yet */
    const int narrow = guess ? p->spec.key[SPMV_KEY_IDX] == 16 : j->t->columns != SPMV__NO_ARRAY && p->a[j->t->columns].width == 2;
    const int numbers = guess ? narrow && p->cols > 1u << 16 && !j->no_high : j->t->numbers != SPMV__NO_ARRAY && p->a[j->t->numbers].count;
    const int grown = f == SPMV_SELL && p->a[SPMV_SELL_SLICE_ROW].count;
    if (j->words) {
        spmv__convert_block_options(j, p->a[j->t->columns].width == 2, spmv__convert_wide_starts(j), o);
        return;
    }
    o->used = 0;
    spmv__dev_option(o, "PLACE", grown ? "BY_GROWN" : j->t->place);
    if (spmv__convert_slotwise(j)) spmv__dev_option(o, "SLOTWISE", "1");
    spmv__dev_option(o, "WORD", p->a[SPMV_VAL].width == 8 ? "ulong" : "uint");
    spmv__dev_option(o, "OFF", spmv__convert_wide_starts(j) ? "ulong" : "uint");
    if (spmv__dev_wide(p)) spmv__dev_option(o, "I64", "1");
    if (j->t->columns == SPMV__NO_ARRAY) spmv__dev_option(o, "COLUMNS", "0");
    else if (narrow) spmv__dev_option(o, "IDX16", "1");
    if (j->s->v->owner) spmv__dev_option(o, "OWNED", "1");
    if (j->s->v->list) spmv__dev_option(o, "LIST", "1");
    if (f == SPMV_CMRS) spmv__dev_option(o, "NUMBER", numbers ? "3" : "2");
    else if (numbers) spmv__dev_option(o, "NUMBER", f == SPMV_TCSR ? "4" : "1");
    if (f == SPMV_TCSR) spmv__dev_option(o, "TILES", guess || j->tiler[0] ? "2" : "1");
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
    case SPMV_ELL: *ld = p->n[SPMV_ELL_LD]; *count = p->n[SPMV_ELL_WIDTH]; break;
    case SPMV_SELL: *ld = p->n[SPMV_SELL_H]; *count = p->n[SPMV_SELL_SLICES]; break;
    case SPMV_BELL: *ld = p->n[SPMV_BELL_LD]; break;
    case SPMV_SBELL: *ld = p->n[SPMV_SBELL_H]; break; /* blocks: also the height of slices, which bcsr has not */
    case SPMV_BCSR: *ld = p->n[SPMV_BCSR_BLOCKS]; break;
    case SPMV_CMRS: *ld = p->n[SPMV_CMRS_HEIGHT]; break;
    case SPMV_TCSR: *ld = p->n[SPMV_TCSR_TILE]; *count = p->a[SPMV_TCSR_FLAG].count; break;
    default: break; /* coo has none; the rest is not filled on a device */
    }
}

/* Sets the arguments that every kernel begins with: the CSR matrix. */
static void spmv__convert_matrix_arguments(spmv__dev_args *g, const spmv__convert_job *j)
{
    spmv__dev_arg_count(g, j->c->a->rows);
    spmv__dev_arg_count(g, j->c->a->nnz);
    spmv__dev_arg_mem(g, j->c->ptr);
    spmv__dev_arg_mem(g, j->c->col);
    spmv__dev_arg_mem(g, j->c->val);
}

#ifdef SPMV__ANY_BLOCK
/* How many groups find the blocks. */
static uint64_t spmv__convert_find_groups(const spmv__convert_job *j)
{
    return spmv__ceil_div(j->words * SPMV__CONVERT_WORD, j->wg * SPMV__CONVERT_PER);
}

/* Sets all arguments of a kernel for blocks, in the order of its parameters. */
static spmv_status spmv__convert_block_arguments(const spmv__convert_job *j, void *kernel)
{
    spmv__dev_args g = spmv__dev_args_of(&j->c->args, kernel);
    const spmv_part *p = j->p;
    const int bases = spmv__dev_format_of(p->spec.format)->bases;
    uint64_t ld = 0, count = 0;
    spmv__convert_sizes(p, &ld, &count);
    spmv__convert_matrix_arguments(&g, j);
    spmv__dev_arg_mem(&g, j->owner);
    spmv__dev_arg_count(&g, j->s->v->part);
    spmv__dev_arg_mem(&g, j->first);
    spmv__dev_arg_mem(&g, j->before);
    spmv__dev_arg_mem(&g, j->begun);
    spmv__dev_arg_count(&g, j->words);
    spmv__dev_arg_count(&g, spmv__convert_find_groups(j));
    spmv__dev_arg_mem(&g, j->blocks);
    spmv__dev_arg_mem(&g, j->low);
    spmv__dev_arg_mem(&g, j->high);
    spmv__dev_arg_count(&g, p->n[SPMV_BLOCK_BH]);
    spmv__dev_arg_count(&g, p->n[SPMV_BLOCK_BW]);
    spmv__dev_arg_count(&g, p->n[SPMV_BLOCK_UW]);
    spmv__dev_arg_mem(&g, j->e && j->t->start != SPMV__NO_ARRAY ? j->e->a[j->t->start] : NULL);
    spmv__dev_arg_count(&g, p->spec.format == SPMV_BCSR ? 0 : ld);
    spmv__dev_arg_count(&g, ld);
    spmv__dev_arg_count(&g, spmv__block_group_height(p));
    spmv__dev_arg_mem(&g, j->e ? j->e->a[bases] : NULL);
    spmv__dev_arg_mem(&g, j->e ? j->e->a[SPMV_VAL] : NULL);
    spmv__dev_arg_mem(&g, j->e ? j->e->a[j->t->columns] : NULL);
    return g.s;
}

#else
#define spmv__convert_block_arguments(j, kernel) SPMV_OK /* without blocks, words is always 0 */
#endif

/* Sets all arguments of the kernel, in the order of its parameters. */
static spmv_status spmv__convert_arguments(const spmv__convert_job *j, void *kernel)
{
    if (j->words) return spmv__convert_block_arguments(j, kernel);
    spmv__dev_args g = spmv__dev_args_of(&j->c->args, kernel);
    const spmv_part *p = j->p;
    const spmv_format f = p->spec.format;
    void *const *a = j->e->a;
    const int bases = spmv__dev_format_of(f)->bases;
    uint64_t ld = 0, count = 0;
    spmv__convert_sizes(p, &ld, &count);
    spmv__convert_matrix_arguments(&g, j);
    spmv__dev_arg_mem(&g, j->tiler[0] ? j->found : j->place);
    spmv__dev_arg_mem(&g, j->owner);
    spmv__dev_arg_count(&g, j->across ? j->across : j->s->v->part);
    spmv__dev_arg_mem(&g, j->before);
    spmv__dev_arg_mem(&g, j->first);
    spmv__dev_arg_mem(&g, j->t->start != SPMV__NO_ARRAY ? a[j->t->start] : j->start ? j->start : j->c->ptr);
    spmv__dev_arg_count(&g, ld);
    spmv__dev_arg_mem(&g, f == SPMV_CSR ? a[SPMV_CSR_RUN_AT] : j->run_at);
    spmv__dev_arg_mem(&g, f == SPMV_SELL ? a[SPMV_SELL_SLICE_ROW] : NULL);
    spmv__dev_arg_mem(&g, f == SPMV_DIA    ? a[SPMV_DIA_OFFSET]
                          : f == SPMV_BDIA ? a[SPMV_BDIA_OFFSET]
                          : f == SPMV_TCSR ? a[SPMV_TCSR_HIGH_AT]
                                           : NULL);
    spmv__dev_arg_count(&g, count);
    spmv__dev_arg_mem(&g, bases != SPMV__NO_ARRAY ? a[bases] : NULL);
    spmv__dev_arg_count(&g, f == SPMV_TCSR ? p->n[SPMV_TCSR_TILES] : 0);
    spmv__dev_arg_mem(&g, a[SPMV_VAL]);
    spmv__dev_arg_mem(&g, j->t->columns != SPMV__NO_ARRAY ? a[j->t->columns] : NULL);
    spmv__dev_arg_mem(&g, j->t->numbers != SPMV__NO_ARRAY ? a[j->t->numbers] : NULL);
    spmv__dev_arg_mem(&g, j->t->flags != SPMV__NO_ARRAY ? a[j->t->flags] : NULL);
    return g.s;
}

/* Launches a kernel, whose arguments are set. Products wait for it: spmv__converter_finish finishes the queue. */
static spmv_status spmv__convert_launch(const spmv__convert_job *j, void *kernel, uint64_t groups)
{
    return spmv__convert_start(j->c->device, kernel, groups, j->wg, j->c->chain);
}

/* Launches a kernel of the program, once. */
static spmv_status spmv__convert_once(const spmv__convert_job *j, void *program, const char *name, uint64_t groups)
{
    const spmv_device *d = j->c->device;
    const spmv_backend *b = d->info.backend;
    void *kernel = NULL;
    spmv_status s = b->kernel(d, program, name, &kernel);
    if (s) return s;
    s = spmv__convert_arguments(j, kernel);
    if (!s) s = spmv__convert_launch(j, kernel, groups);
    spmv__dev_kernel_free(d, kernel);
    return s;
}

/* Launches the second kernel of tcsr, which completes the flags, unless the first has done that. */
static spmv_status spmv__convert_flags(const spmv__convert_job *j, void *program)
{
    const uint64_t warps = j->p->a[j->t->flags].count / SPMV_TCSR_LANES;
    return j->tiler[0] ? SPMV_OK : spmv__convert_once(j, program, "count_ends", spmv__ceil_div(warps, j->wg));
}

/* ---- tiles of a matrix in buffers ----------------------------------------------------------------------------------- */

#ifndef SPMV__NO_TCSR
/* Steps of the kernel tiles, groups of numbers that it finds, and the lanes by which it reads the columns of a warp. */
enum {
    SPMV__TILE_MARK, SPMV__TILE_PASS_SEGMENTS, SPMV__TILE_PASS_ALL, SPMV__TILE_PASS_TILES, SPMV__TILE_SPANS, SPMV__TILE_LISTS,
    SPMV__TILE_PIECES, SPMV__TILE_BASES
};
enum {
    SPMV__FOUND_TILES, SPMV__FOUND_ROWS, SPMV__FOUND_CUTS, SPMV__FOUND_WIDE, SPMV__FOUND_BEYOND,
    SPMV__FOUND = 8 /* words in front of the bits */
};
enum { SPMV__TILE_SUMS = 3 /* numbers of each segment */ };

/* An array of the part, once it has arrays. */
static void *spmv__convert_tile_array(const spmv__convert_job *j, int k) { return j->e ? j->e->a[k] : NULL; }

/* Sets the arguments of the kernel, in the order of its parameters, and launches it in so many groups. */
static spmv_status spmv__convert_tile_step(const spmv__convert_job *j, uint64_t step, uint64_t groups)
{
    static const int arrays[] = {
        SPMV_TCSR_ROW, SPMV_TCSR_EMPTY, SPMV_TCSR_PIECE, SPMV_TCSR_CUT, SPMV_TCSR_END, SPMV_TCSR_BASE, SPMV_TCSR_HIGH_AT
    };
    const spmv_part *p = j->p;
    const uint64_t tile = spmv__tile_slots(&p->spec), high = p->a[SPMV_TCSR_HIGH].count;
    void *const kernel = j->tiler[step >= SPMV__TILE_LISTS];
    spmv__dev_args g = spmv__dev_args_of(&j->c->args, kernel);
    size_t k;
    spmv__dev_arg_count(&g, step);
    spmv__dev_arg_count(&g, j->c->a->rows);
    spmv__dev_arg_count(&g, j->c->nnz);
    spmv__dev_arg_mem(&g, j->c->ptr);
    spmv__dev_arg_mem(&g, j->c->col);
    spmv__dev_arg_count(&g, tile);
    spmv__dev_arg_count(&g, j->stride);
    spmv__dev_arg_count(&g, j->segments);
    spmv__dev_arg_count(&g, j->most * (tile / SPMV__TCSR_WARP));
    spmv__dev_arg_mem(&g, j->found);
    spmv__dev_arg_mem(&g, j->passed);
    spmv__dev_arg_mem(&g, j->segment);
    spmv__dev_arg_mem(&g, j->begun);
    spmv__dev_arg_mem(&g, j->run_at);
    spmv__dev_arg_mem(&g, j->spans);
    spmv__dev_arg_count(&g, !high ? 0 : high < p->a[SPMV_TCSR_COL].count ? 1 : 2);
    for (k = 0; k < sizeof arrays / sizeof *arrays; k++) spmv__dev_arg_mem(&g, spmv__convert_tile_array(j, arrays[k]));
    return g.s ? g.s : spmv__convert_start(j->c->device, kernel, groups, j->wg, j->c->chain);
}

/* Nonzeros or rows of a group. */
static uint64_t spmv__convert_tile_each(const spmv__convert_job *j) { return j->wg * SPMV__CONVERT_PER; }

/* Groups that look at the columns of all warps, a warp in 32 lanes. */
static uint64_t spmv__convert_tile_spans(const spmv__convert_job *j, uint64_t warps)
{
    return spmv__ceil_div(warps * SPMV_TCSR_LANES, j->wg);
}

/* Cuts the matrix into segments. An item passes the tiles of a segment, twice, and one passes all segments, so that there are to be about
 * twice as many segments as tiles in each. */
static void spmv__convert_tile_segments(spmv__convert_job *j)
{
    const uint64_t tile = spmv__tile_slots(&j->p->spec);
    uint64_t each = 1;
    j->most = spmv__ceil_div(j->c->nnz, tile - tile / SPMV__TILE_REST);
    while (2 * each * each < j->most) each *= 2;
    j->stride = each * tile;
    j->segments = spmv__ceil_div(j->c->nnz, j->stride);
}

/* Uploads what is not in buffers, and makes the buffers in which tiles are found. */
static spmv_status spmv__convert_tile_send(spmv__convert_job *j)
{
    spmv_device *d = j->c->device;
    const uint64_t tile = spmv__tile_slots(&j->p->spec), warps = j->most * (tile / SPMV__TCSR_WARP);
    const uint64_t bits = (SPMV__FOUND + j->c->nnz / 32 + 1) * 4, rows = spmv__ceil_div(j->c->a->rows, spmv__convert_tile_each(j));
    spmv_status s = spmv__convert_matrix(j->c);
    if (!s) s = spmv__scratch_take(d, bits, &j->found);
    if (!s) s = spmv__scratch_take(d, j->segments * tile * 4, &j->passed);
    if (!s) s = spmv__scratch_take(d, j->segments * SPMV__TILE_SUMS * 8, &j->segment);
    if (!s) s = spmv__scratch_take(d, rows * 4, &j->begun);
    if (!s) s = spmv__scratch_take(d, (j->most + 1) * 8, &j->run_at);
    if (!s && j->p->spec.key[SPMV_KEY_IDX]) s = spmv__scratch_take(d, (2 * warps + spmv__convert_tile_spans(j, warps)) * 4, &j->spans);
    return s ? s : d->info.backend->fill(d, d->queue, j->found, bits, 0);
}

/* Writes the options of one of the programs that find tiles, which are the same for every part. */
static void spmv__convert_tile_options(const spmv__convert_job *j, int which, spmv__dev_options *o)
{
    o->used = 0;
    spmv__dev_option_number(o, "FIND", (uint64_t)which + 1);
    spmv__dev_option_number(o, "PER", SPMV__CONVERT_PER);
    spmv__dev_option_number(o, "WG", j->wg);
}

/* Builds the programs, where possible at once with that which fills the tiles, and makes the kernels. */
static spmv_status spmv__convert_tile_kernels(spmv__convert_job *j)
{
    spmv_device *d = j->c->device;
    spmv__batch *b = spmv__batch_new(d);
    spmv__dev_options o;
    spmv_status s = SPMV_OK;
    int which;
    spmv__convert_options(j, &o);
    spmv__batch_add(d, b, (int)SPMV__KERNEL_CONVERT, o.text);
    for (which = 0; which < SPMV__TILE_PROGRAMS; which++) {
        spmv__convert_tile_options(j, which, &o);
        spmv__batch_add(d, b, (int)SPMV__KERNEL_CONVERT, o.text);
    }
    spmv__batch_build(d, b);
    for (which = 0; which < SPMV__TILE_PROGRAMS && !s; which++) {
        void *program = NULL;
        spmv__convert_tile_options(j, which, &o);
        s = spmv__dev_program_of(d, (int)SPMV__KERNEL_CONVERT, o.text, &program);
        if (!s) s = d->info.backend->kernel(d, program, "tiles", &j->tiler[which]);
    }
    return s;
}

/* Has the kernel of the first program find the tiles, and reads what was found. */
static spmv_status spmv__convert_tile_find(spmv__convert_job *j, uint32_t *found)
{
    spmv_device *d = j->c->device;
    const uint64_t tile = spmv__tile_slots(&j->p->spec), rows = spmv__ceil_div(j->c->a->rows, spmv__convert_tile_each(j));
    spmv_status s = spmv__convert_tile_kernels(j);
    spmv__phase(j->s->h, SPMV_PHASE_CONVERT);
    if (!s) s = spmv__convert_tile_step(j, SPMV__TILE_MARK, rows);
    if (!s) s = spmv__convert_tile_step(j, SPMV__TILE_PASS_SEGMENTS, spmv__ceil_div(j->segments * tile, j->wg));
    if (!s) s = spmv__convert_tile_step(j, SPMV__TILE_PASS_ALL, 1);
    if (!s) s = spmv__convert_tile_step(j, SPMV__TILE_PASS_TILES, j->segments);
    if (!s && j->spans)
        s = spmv__convert_tile_step(j, SPMV__TILE_SPANS, spmv__convert_tile_spans(j, j->most * (tile / SPMV__TCSR_WARP)));
    return s ? s : d->info.backend->read(d, d->queue, j->found, SPMV__FOUND * sizeof *found, found, NULL);
}

/* Checks what was found, from which the sizes of arrays follow: a device may compute wrongly. */
static spmv_status spmv__convert_tile_check(const spmv__convert_job *j, const uint32_t *found, spmv__tile_counts *out)
{
    const uint64_t tile = spmv__tile_slots(&j->p->spec), tiles = found[SPMV__FOUND_TILES], warps = tiles * (tile / SPMV__TCSR_WARP);
    const uint64_t rows = found[SPMV__FOUND_ROWS], nnz = j->c->nnz, all = j->c->a->rows;
    out->tiles = tiles;
    out->cuts = found[SPMV__FOUND_CUTS];
    out->empties = all - rows;
    out->wide = found[SPMV__FOUND_WIDE];
    out->fits = !found[SPMV__FOUND_BEYOND];
    if (tiles <= j->most && tiles * tile >= nnz && rows && rows <= spmv__smaller(all, nnz) && out->cuts < tiles && out->wide <= warps)
        return SPMV_OK;
    return spmv_log(j->s->h, SPMV_ERR_BACKEND, "tcsr: the device found %llu tiles, %llu cut rows and %llu rows for %llu nonzeros",
                    (spmv__ull)tiles, (spmv__ull)found[SPMV__FOUND_CUTS], (spmv__ull)rows, (spmv__ull)nnz);
}

/* Fills the arrays that follow from the tiles. */
static spmv_status spmv__convert_tile_arrays(const spmv__convert_job *j)
{
    const spmv_part *p = j->p;
    const uint64_t ends = spmv__ceil_div(p->a[SPMV_TCSR_END].count, j->wg);
    spmv_status s = SPMV_OK;
    if (p->n[SPMV_TCSR_EMPTIES])
        s = spmv__convert_tile_step(j, SPMV__TILE_LISTS, spmv__ceil_div(j->c->a->rows, spmv__convert_tile_each(j)));
    if (!s) s = spmv__convert_tile_step(j, SPMV__TILE_PIECES, j->segments + ends);
    return s || !p->a[SPMV_TCSR_BASE].count ? s : spmv__convert_tile_step(j, SPMV__TILE_BASES, ends);
}
#else
#define spmv__convert_tile_arrays(j) SPMV_OK /* without tcsr, no tiles are found */
#endif

/* ---- the kernels of a part ------------------------------------------------------------------------------------------ */

/* Builds the program and launches its kernels. */
static spmv_status spmv__convert_run(spmv__convert_job *j)
{
    spmv_device *d = j->c->device;
    spmv__dev_options o;
    void *program = NULL;
    spmv_status s;
    spmv__convert_options(j, &o);
    s = spmv__dev_program_of(d, (int)SPMV__KERNEL_CONVERT, o.text, &program);
    spmv__phase(j->s->h, SPMV_PHASE_CONVERT);
    if (!s && j->tiler[0]) s = spmv__convert_tile_arrays(j);
    if (!s) s = d->info.backend->kernel(d, program, "fill", &j->kernel);
    if (!s) s = spmv__convert_arguments(j, j->kernel);
    if (!s) s = spmv__convert_launch(j, j->kernel, j->groups);
    return s || j->t->flags == SPMV__NO_ARRAY ? s : spmv__convert_flags(j, program);
}

/* Frees what is on the host, and what only finding tiles needs. */
static void spmv__convert_job_trim(spmv__convert_job *j)
{
    const spmv_device *d = j->c->device;
    void **const of_tiles[] = { &j->passed, &j->segment, &j->spans, &j->begun };
    size_t k;
    for (k = 0; j->tiler[0] && k < sizeof of_tiles / sizeof *of_tiles; k++) {
        spmv__scratch_give(d, *of_tiles[k]);
        *of_tiles[k] = NULL;
    }
    spmv_free(&d->hooks, j->tile_at);
    spmv_free(&d->hooks, j->inverse);
    for (k = 0; k < SPMV__TILE_PROGRAMS; k++) {
        spmv__dev_kernel_free(d, j->tiler[k]);
        j->tiler[k] = NULL;
    }
    j->tile_at = NULL;
    j->inverse = NULL;
    j->p = NULL;
    j->s = NULL;
}

/* Gives back or leaves all buffers of a job. */
static void spmv__convert_job_buffers(const spmv__convert_job *j, void (*give_or_leave)(const spmv_device *d, void *buffer))
{
    void *const all[] = { j->place, j->owner, j->before, j->first, j->start, j->run_at, j->found, j->passed, j->segment, j->spans,
                          j->begun, j->blocks, j->low, j->high };
    size_t k;
    for (k = 0; k < sizeof all / sizeof *all; k++) give_or_leave(j->c->device, all[k]);
}

static void spmv__convert_job_free(spmv__convert_job *j)
{
    const spmv_device *d = j->c->device;
    spmv__convert_job_trim(j);
    spmv__dev_kernel_free(d, j->kernel);
    spmv__convert_job_buffers(j, spmv__scratch_give);
    spmv_free(&d->hooks, j);
}

/* The arrays of a part that the device filled. */
typedef struct spmv__convert_arrays {
    spmv_elsewhere     base;
    spmv__convert_job *job; /* that is kept for updates, or NULL */
} spmv__convert_arrays;

/* Frees what was not taken over. The part is not updated any more. */
static void spmv__convert_arrays_drop(spmv_elsewhere *e)
{
    const spmv_device *d = (const spmv_device *)e->device;
    spmv__convert_job *j = ((spmv__convert_arrays *)e)->job, **at;
    int k;
    if (j) {
        for (at = &j->c->kept; *at != j; at = &(*at)->next) {}
        *at = j->next;
        spmv__convert_job_free(j);
    }
    for (k = 0; k < SPMV_MAX_ARRAYS && !e->all; k++) spmv__dev_buffer_free(d, e->a[k]);
    spmv__dev_buffer_free(d, e->all);
    spmv_free(&d->hooks, e);
}

/* Gives the part of a job room for its arrays on the device. */
static spmv_status spmv__convert_elsewhere(spmv__convert_job *j)
{
    void *block;
    spmv_status s = spmv__new(&j->c->device->hooks, &block, 1, sizeof(spmv__convert_arrays), 0);
    if (s) return s;
    j->e = j->p->elsewhere = (spmv_elsewhere *)block;
    j->e->device = j->c->device;
    j->e->drop = spmv__convert_arrays_drop;
    return SPMV_OK;
}

/* The slots of the longest row of slices or columns. */
#ifdef SPMV__ANY_ELL
static uint64_t spmv__convert_widest(const spmv__convert_job *j)
{
    const spmv_part *p = j->p;
    const spmv_array *ptr = &p->a[SPMV_SELL_PTR];
    uint64_t most = 0, t;
    if (p->spec.format == SPMV_ELL) return p->n[SPMV_ELL_WIDTH];
    if (j->s->longest) return spmv__longest(j->s, 0, p->rows);
    for (t = 0; t < p->n[SPMV_SELL_SLICES]; t++)
        if (spmv__at(ptr, t + 1) - spmv__at(ptr, t) > most) most = spmv__at(ptr, t + 1) - spmv__at(ptr, t);
    return most / p->n[SPMV_SELL_H];
}
#else
#define spmv__convert_widest(j) 1 /* without ell and sell, no kernel goes through the slots */
#endif

/* The work-groups of the kernel that fills a part, which take nonzeros, slots of tiles, or as many slots as they have items of each of 32
 * rows of slices or columns. */
static spmv_status spmv__convert_groups(spmv__convert_job *j)
{
    const spmv_device *d = j->c->device;
    const spmv_part *p = j->p;
    const uint64_t rows = p->spec.format == SPMV_ELL ? p->n[SPMV_ELL_LD] : p->n[SPMV_SELL_SLICES] * p->n[SPMV_SELL_H];
    if (j->tiler[0]) return spmv__dev_groups(d, p->a[SPMV_VAL].count, j->wg * SPMV_TCSR_SLOTS, j->wg, &j->groups);
    if (!spmv__convert_slotwise(j)) return spmv__dev_groups(d, j->c->a->nnz, j->wg * SPMV__CONVERT_PER, j->wg, &j->groups);
    j->across = spmv__ceil_div(spmv__convert_widest(j), j->wg);
    return spmv__dev_groups(d, spmv__sat_mul(spmv__ceil_div(rows, 32), j->across), 1, j->wg, &j->groups);
}

/* Makes the arrays of a part, all of whose sizes are set, and launches the kernel that fills them. */
static spmv_status spmv__convert_do(spmv__convert_job *j)
{
    const spmv_hooks *h = j->s->h;
    spmv_status s = spmv__convert_elsewhere(j);
    if (!s) s = spmv__convert_host(j);
    if (!s) s = spmv__convert_groups(j);
    if (!s) spmv__phase(h, SPMV_PHASE_UPLOAD);
    if (!s) s = spmv__convert_send(j);
    return s ? s : spmv__convert_run(j);
}

/* Sets all that a job has in the beginning. */
static void spmv__convert_job_set(spmv__convert_job *j, spmv__convert *c, spmv_part *p, spmv__source *s)
{
    memset(j, 0, sizeof *j);
    j->c = c;
    j->p = p;
    j->s = s;
    j->t = spmv__convert_format_of(p->spec.format);
    j->wg = (uint64_t)spmv__dev_vector_group(c->device);
}

/* Makes the job of a part. */
static spmv_status spmv__convert_job_make(spmv__convert *c, spmv_part *p, spmv__source *s, spmv__convert_job **out)
{
    void *block;
    spmv_status status = spmv__room(&c->device->hooks, &block, 1, sizeof **out);
    if (status) return status;
    *out = (spmv__convert_job *)block;
    spmv__convert_job_set(*out, c, p, s);
    return SPMV_OK;
}

/* Should the device fill a part that it can fill? To compile the kernels beside that of the product would cost nothing where NVRTC really
 * compiles; but most often it finds them in its cache on the disk, one after another ([M10] of docs/measurements.md). */
static int spmv__convert_wants(spmv__convert *c, spmv_part *p, spmv__source *s, const spmv_build *how)
{
    const double slot = 2e-9;    /* seconds for the host to fill and upload one [M10] */
    const double compile = 0.06; /* seconds for NVRTC [M10] */
    spmv__convert_job j;
    spmv__dev_options o;
    if (!c->thrifty || c->counted || spmv__convert_is_csr(c, p, s, how)) return 1;
    spmv__convert_job_set(&j, c, p, s);
    spmv__convert_options(&j, &o);
    return spmv__convert_pays(c, o.text, slot * (double)p->a[SPMV_VAL].count, compile);
}

/* Gives a part in csr the buffers of the CSR matrix. The host computes the rest. */
static spmv_status spmv__convert_hand_over(spmv__convert_job *j)
{
    spmv__convert *c = j->c;
    spmv_part *p = j->p;
    int k;
    spmv_status s = spmv__convert_elsewhere(j);
    if (!s) s = spmv__convert_host(j);
    if (s) return s;
    spmv__phase(j->s->h, SPMV_PHASE_UPLOAD);
    spmv__convert_wait(c);
    s = spmv__convert_array(c, c->device, SPMV__CONVERT_COL, NULL);
    if (!s) s = spmv__convert_array(c, c->device, SPMV__CONVERT_VAL, NULL);
    for (k = 0; k < SPMV_MAX_ARRAYS && !s; k++)
        if (!spmv__convert_fills(j, k)) s = spmv__dev_upload(c->device, &p->a[k], &j->e->a[k]);
    if (s) return s;
    spmv__scratch_leave(c->device, c->col);
    spmv__scratch_leave(c->device, c->val);
    j->e->a[SPMV_CSR_COL] = c->col;
    j->e->a[SPMV_CSR_VAL] = c->val;
    c->col = c->val = NULL;
    c->sent[SPMV__CONVERT_COL] = c->sent[SPMV__CONVERT_VAL] = 0;
    return SPMV_OK;
}

/* Fills a part, and keeps what updates need. */
static spmv_status spmv__convert_fill(spmv__convert *c, spmv_part *p, spmv__source *s, const spmv_build *how)
{
    spmv__convert_job *j = c->counted;
    const int updatable = how->updatable;
    spmv_status status = SPMV_OK;
    c->counted = NULL;
    if (!j) status = spmv__convert_job_make(c, p, s, &j);
    if (status) return status;
    status = spmv__convert_is_csr(c, p, s, how) ? spmv__convert_hand_over(j) : spmv__convert_do(j);
    c->count += status == SPMV_OK;
    if (status || !updatable) {
        spmv__convert_job_free(j);
        return status;
    }
    spmv__convert_job_trim(j);
    spmv__convert_job_buffers(j, spmv__scratch_leave);
    if (!c->given_ptr) spmv__scratch_leave(c->device, c->ptr);
    if (!c->given) spmv__scratch_leave(c->device, c->col);
    ((spmv__convert_arrays *)j->e)->job = j;
    j->next = c->kept;
    c->kept = j;
    return SPMV_OK;
}

/* Forgets the blocks or tiles that were counted for a part that was not filled. */
static void spmv__convert_forget(spmv__convert *c)
{
    if (c->counted) spmv__convert_job_free(c->counted);
    c->counted = NULL;
}

/* Leaves the rest to the host, and says so. */
static void spmv__convert_turn_off(spmv__convert *c, spmv_format f, const spmv_hooks *h, spmv_status why)
{
    c->off = 1;
    spmv__convert_wait(c);
    c->device->info.backend->finish(c->device, c->device->queue); /* what was given to the queue may write to buffers that are kept */
    spmv__convert_forget(c);
    spmv_log(h, SPMV_OK, "%s could not be filled on the device (%s); the host converts instead", spmv_format_name(f),
             spmv_status_text(why));
}

/* Undoes what was done for a part, for the host to fill it, and gives back the device's memory. */
static void spmv__convert_give_up(spmv__convert *c, spmv_part *p, const spmv_hooks *h, spmv_status why)
{
    int k;
    spmv__convert_turn_off(c, p->spec.format, h, why);
    if (p->elsewhere) p->elsewhere->drop(p->elsewhere);
    p->elsewhere = NULL;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) {
        spmv_free(h, p->a[k].data);
        p->a[k].data = NULL;
    }
}

/* Reads the row pointers to the host if they are on the device only. */
static spmv_status spmv__convert_fetch_pointers(const spmv__convert *c)
{
    spmv_csr *a = c->given;
    void *raw, *wide;
    uint64_t i;
    spmv_status s;
    if (!a || a->ptr) return SPMV_OK;
    s = spmv__dev_fetch(c->device, &a->hooks, c->narrow ? c->narrow : c->ptr, a->rows + 1, c->narrow ? 4 : 8, &raw);
    if (s) return s;
    wide = raw;
    if (c->narrow) s = spmv__room(&a->hooks, &wide, a->rows + 1, 8);
    for (i = 0; c->narrow && !s && i <= a->rows; i++) ((uint64_t *)wide)[i] = ((const uint32_t *)raw)[i];
    if (c->narrow) spmv_free(&a->hooks, raw);
    if (s) return s;
    a->ptr = (const uint64_t *)wide;
    a->owned |= 1u;
    return SPMV_OK;
}

/* Reads the columns to the host if they are on the device only. */
static spmv_status spmv__convert_fetch_columns(const spmv__convert *c)
{
    void *col;
    spmv_status s;
    if (!c->given || c->given->col || !c->nnz) return SPMV_OK;
    s = spmv__dev_fetch(c->device, &c->given->hooks, c->col, c->nnz, 4, &col);
    if (s) return s;
    c->given->col = (const uint32_t *)col;
    c->given->owned |= 2u;
    return SPMV_OK;
}

/* Reads all of the matrix that is on the device only to the host, which is to fill a part. */
static spmv_status spmv__convert_fetch(const spmv__convert *c, spmv__source *from)
{
    void *val;
    spmv_status s = spmv__convert_fetch_pointers(c);
    if (!from->ptr) from->ptr = c->a->ptr;
    if (!s) s = spmv__convert_fetch_columns(c);
    if (s || !c->given || c->given->val || !c->nnz) return s;
    s = spmv__dev_fetch(c->device, &c->given->hooks, c->val, c->nnz, c->width, &val);
    if (s) return s;
    c->given->val = val;
    c->given->owned |= 4u;
    return SPMV_OK;
}

/* ---- counting blocks ---------------------------------------------------------------------------------------------- */

#ifdef SPMV__ANY_BLOCK
/* Makes the buffers of a count of blocks and uploads the matrix. With the key idx, the lowest and highest block columns are wanted. */
static spmv_status spmv__convert_block_send(spmv__convert_job *j)
{
    spmv_device *d = j->c->device;
    const spmv_view *v = j->s->v;
    const uint64_t block_rows = spmv__block_rows(j->p) * 4;
    spmv_status s = spmv__convert_matrix(j->c);
    if (!s && v->owner) s = spmv__convert_upload(d, v->owner, v->a->nnz, 1, &j->owner);
    if (!s) s = spmv__scratch_take(d, j->words * 4, &j->first);
    if (!s) s = spmv__scratch_take(d, j->words * 4, &j->before);
    if (!s) s = spmv__scratch_take(d, spmv__convert_find_groups(j) * 4, &j->begun);
    if (!s) s = spmv__scratch_take(d, block_rows, &j->blocks);
    if (!s) s = spmv__scratch_take(d, block_rows, &j->low);
    if (!s) s = spmv__scratch_take(d, block_rows, &j->high);
    return s;
}

/* Should the device count and fill the blocks of a part? */
static int spmv__convert_wants_blocks(spmv__convert *c, spmv_part *p, spmv__source *s)
{
    const double nonzero = 4e-9; /* seconds for the host to count and fill it; measured there: 1.3 to 3.3 ns, in low blocks 20 */
    const double compile = 0.2;  /* seconds for NVRTC there: these are four kernels */
    spmv__convert_job j;
    spmv__dev_options o;
    spmv__convert_job_set(&j, c, p, s);
    if (j.wg * SPMV__CONVERT_PER % SPMV__CONVERT_WORD) return 0; /* a device with very small groups */
    if (!c->thrifty) return 1;
    spmv__convert_block_options(&j, p->spec.key[SPMV_KEY_IDX] == 16, 0, &o);
    return spmv__convert_pays(c, o.text, nonzero * (double)p->nnz, compile);
}

/* Builds the program and counts the blocks. */
static spmv_status spmv__convert_block_run(spmv__convert_job *j)
{
    const uint64_t block_rows = spmv__block_rows(j->p);
    spmv__dev_options o;
    void *program = NULL;
    spmv_status s;
    spmv__convert_block_options(j, j->p->spec.key[SPMV_KEY_IDX] == 16, 0, &o);
    s = spmv__dev_program_of(j->c->device, (int)SPMV__KERNEL_CONVERT, o.text, &program);
    spmv__phase(j->s->h, SPMV_PHASE_CONVERT);
    if (!s) s = spmv__convert_once(j, program, "find", spmv__convert_find_groups(j));
    if (!s) s = spmv__convert_once(j, program, "sum_up", 1);
    if (!s) s = spmv__convert_once(j, program, "count", spmv__ceil_div(block_rows, j->wg));
    return s;
}

/* Reads a number for each block row. */
static spmv_status spmv__convert_block_read(const spmv__convert_job *j, void *buffer, uint32_t *out)
{
    const spmv_device *d = j->c->device;
    return d->info.backend->read(d, d->queue, buffer, spmv__block_rows(j->p) * sizeof *out, out, NULL);
}

/* Reads the lowest and the highest block column of each block row. */
static spmv_status spmv__convert_spans_read(const spmv__convert_job *j)
{
    const uint64_t block_rows = spmv__block_rows(j->p);
    void *spans;
    spmv_status s = spmv__room(j->s->h, &spans, 2 * block_rows, sizeof *j->s->spans);
    if (s) return s;
    j->s->spans = (uint32_t *)spans;
    s = spmv__convert_block_read(j, j->low, j->s->spans);
    return s ? s : spmv__convert_block_read(j, j->high, j->s->spans + block_rows);
}

/* Checks the numbers of blocks, from which the sizes of arrays follow: a device may compute wrongly. */
static spmv_status spmv__convert_block_check(const spmv__convert_job *j)
{
    const spmv_part *p = j->p;
    const uint64_t block_rows = spmv__block_rows(p), size = p->n[SPMV_BLOCK_BH] * p->n[SPMV_BLOCK_BW];
    uint64_t row, all = 0;
    for (row = 0; row < block_rows; row++) all += j->s->blocks[row];
    if (all <= p->nnz && spmv__sat_mul(all, size) >= p->nnz) return SPMV_OK;
    return spmv_log(j->s->h, SPMV_ERR_BACKEND, "%s: the device found %llu blocks for %llu nonzeros", spmv_format_name(p->spec.format),
                    (spmv__ull)all, (spmv__ull)p->nnz);
}

/* Frees the buffers that only the count needed. */
static void spmv__convert_block_trim(spmv__convert_job *j)
{
    spmv__scratch_give(j->c->device, j->blocks);
    spmv__scratch_give(j->c->device, j->low);
    spmv__scratch_give(j->c->device, j->high);
    j->blocks = j->low = j->high = NULL;
}

/* Counts the blocks of a part on the device, if it can and should. A failure is no failure: then the host counts and fills this and all
 * later parts. */
static void spmv__convert_count_blocks(spmv__convert *c, spmv_part *p, spmv__source *s)
{
    const int spans = p->spec.key[SPMV_KEY_IDX] == 16;
    spmv__convert_job *j = NULL;
    spmv_status status;
    spmv__convert_forget(c);
    if (c->off || s->v->a != c->a || !p->nnz || spmv__sat_mul(c->a->nnz, 8) > c->device->info.alloc_bytes) return;
    if (!spmv__convert_wants_blocks(c, p, s)) return;
    status = spmv__convert_job_make(c, p, s, &j);
    if (!status) {
        c->counted = j;
        j->words = c->a->nnz / SPMV__CONVERT_WORD + 1;
        spmv__phase(s->h, SPMV_PHASE_UPLOAD);
        status = spmv__convert_block_send(j);
    }
    if (!status) status = spmv__convert_block_run(j);
    if (!status) status = spmv__convert_block_read(j, j->blocks, s->blocks);
    if (!status) status = spmv__convert_block_check(j);
    if (!status && spans) status = spmv__convert_spans_read(j);
    s->counted = !status;
    if (!status) spmv__convert_block_trim(j);
    else spmv__convert_give_up(c, p, s->h, status);
    spmv__phase(s->h, SPMV_PHASE_CONVERT);
}

/* spmv_converter.blocks */
static spmv_status spmv__convert_blocks(spmv_converter *base, spmv_part *p, spmv__source *s)
{
    spmv__convert *c = (spmv__convert *)base;
    spmv_status status;
    spmv__convert_count_blocks(c, p, s);
    if (s->counted) return SPMV_OK;
    status = spmv__convert_fetch_pointers(c);
    if (!s->ptr) s->ptr = c->a->ptr;
    return status ? status : spmv__convert_fetch_columns(c);
}
#else
#define spmv__convert_blocks NULL
#endif

#ifndef SPMV__NO_TCSR
/* Should the device find the tiles of a part, and fill them? */
static int spmv__convert_wants_tiles(spmv__convert *c, spmv_part *p, spmv__source *s)
{
    const uint64_t most = c->device->info.alloc_bytes;
    const double nonzero = 7e-10; /* seconds for the host to find its tile: clspmv_in-2004, "again" in nvidia-h200-prepare.txt */
    const double compile = 0.3;   /* seconds for NVRTC to compile these programs at once, an estimate: a product of tcsr takes it 0.14 to
                                     0.25 there, and the longest of these 1.2 times as long on another machine */
    spmv__convert_job j;
    spmv__dev_options o;
    int which;
    if (p->spec.format != SPMV_TCSR || c->off || !c->nnz || s->v->owner || s->v->list) return 0;
    if (spmv__sat_mul(c->nnz, 8) > most || (c->a->rows + 1) * 8 > most) return 0;
    spmv__convert_job_set(&j, c, p, s);
    spmv__convert_tile_segments(&j);
    if (j.wg % SPMV_TCSR_LANES || j.most > 0x7fffffffu) return 0;
    for (which = 0; which < SPMV__TILE_PROGRAMS; which++) {
        spmv__convert_tile_options(&j, which, &o);
        if (!spmv__convert_is_free(c, o.text)) return spmv__convert_pays(c, o.text, nonzero * (double)c->nnz, compile);
    }
    spmv__convert_options(&j, &o);
    if (spmv__convert_is_free(c, o.text)) return 1;
    j.no_high = 1; /* the program that fills may also be there without high bytes */
    spmv__convert_options(&j, &o);
    return spmv__convert_pays(c, o.text, nonzero * (double)c->nnz, compile);
}

/* Finds the tiles of a part that takes the whole matrix, if the device should. A failure is no failure: then the host finds the tiles and
 * fills this and all later parts. */
static void spmv__convert_count_tiles(spmv__convert *c, spmv_part *p, spmv__source *s)
{
    uint32_t found[SPMV__FOUND] = { 0 };
    spmv__convert_job *j = NULL;
    spmv_status status;
    if (!spmv__convert_wants_tiles(c, p, s)) return;
    status = spmv__convert_job_make(c, p, s, &j);
    if (!status) {
        c->counted = j;
        spmv__phase(s->h, SPMV_PHASE_UPLOAD);
        spmv__convert_tile_segments(j);
        status = spmv__convert_tile_send(j);
    }
    if (!status) status = spmv__convert_tile_find(j, found);
    if (!status) status = spmv__convert_tile_check(j, found, &j->counts);
    if (!status) s->tiled = &j->counts;
    else spmv__convert_give_up(c, p, s->h, status);
    spmv__phase(s->h, SPMV_PHASE_CONVERT);
}
#else
#define spmv__convert_count_tiles(c, p, s) ((void)0)
#endif

/* Finds the longest rows of a part in slices, all of whose row pointers are on the device. 0: the format needs more, or that failed. */
static int spmv__convert_finds_longest(const spmv__convert *c, const spmv_part *p, spmv__source *s)
{
    uint64_t height = 0;
    if (p->spec.key[SPMV_KEY_IDX] == 16) return 0;
#ifndef SPMV__NO_ELL
    if (p->spec.format == SPMV_ELL) height = 32; /* rows for each work-item */
#endif
#ifndef SPMV__NO_SELL
    if (p->spec.format == SPMV_SELL && !p->spec.key[SPMV_KEY_GROW]) height = spmv__sell_height(&p->spec, p->rows);
#endif
    if (height && c->nnz && !c->off && !spmv__convert_longest(c, height, s)) return 1;
    spmv_free(s->h, s->longest);
    s->longest = NULL;
    return 0;
}

/* 1 if the sizes of the part follow from columns: 16-bit columns are to fit, diagonals are to be found, or a format of the user's own is to
 * be packed. */
static int spmv__convert_reads_columns(const spmv_part *p)
{
    if (p->spec.key[SPMV_KEY_IDX] == 16 || !spmv__convert_format_of(p->spec.format)) return 1;
    return spmv__format_class_of(p->spec.format) == SPMV_CLASS_DIAGONAL;
}

/* Uploads what says which nonzeros the view has: the owners for the job, and the row list to *list, which the caller gives back. */
static spmv_status spmv__convert_look_send(spmv__convert_job *j, void **list)
{
    const spmv_view *v = j->s->v;
    spmv_status s = spmv__convert_matrix(j->c);
    if (!s && v->owner) s = spmv__convert_upload(j->c->device, v->owner, v->a->nnz, 1, &j->owner);
    return s || !v->list ? s : spmv__convert_upload(j->c->device, v->list, v->rows, 4, list);
}

/* Checks the spans of rows: a device may compute wrongly. */
static spmv_status spmv__convert_check_spans(const spmv__source *s)
{
    const uint32_t *low = s->row_spans, *high = low + s->rows;
    uint64_t i, bad = 0;
    for (i = 0; i < s->rows; i++) bad += (uint64_t)(s->ptr[i] < s->ptr[i + 1] && (low[i] > high[i] || high[i] >= s->v->a->cols));
    if (!bad) return SPMV_OK;
    return spmv_log(s->h, SPMV_ERR_BACKEND, "the device found wrong columns in %llu rows", (spmv__ull)bad);
}

/* Has the device find the lowest and the highest column of each row of the part. list: the buffer of its row list, or NULL. */
static spmv_status spmv__convert_find_spans(const spmv__convert_job *j, void *list)
{
    spmv_device *d = j->c->device;
    spmv__source *s = j->s;
    const spmv_view *v = s->v;
    const uint64_t bytes = 2 * s->rows * sizeof *s->row_spans;
    void *buffer = NULL, *block;
    spmv__convert_look l;
    spmv_status status = spmv__room(s->h, &block, 2 * s->rows, sizeof *s->row_spans);
    s->row_spans = (uint32_t *)block;
    if (status) return status;
    status = spmv__convert_look_open(&l, d, SPMV__CHECK_PART, "spans", 64);
    if (!status) status = spmv__scratch_take(d, bytes, &buffer);
    if (!status) {
        l.on.none = j->c->args.none;
        spmv__dev_arg_count(&l.g, s->rows);
        spmv__dev_arg_mem(&l.g, j->c->ptr);
        spmv__dev_arg_mem(&l.g, j->c->col);
        spmv__dev_arg_mem(&l.g, list);
        spmv__dev_arg_count(&l.g, v->list != NULL);
        spmv__dev_arg_mem(&l.g, j->owner);
        spmv__dev_arg_count(&l.g, v->owner != NULL);
        spmv__dev_arg_count(&l.g, v->part);
        spmv__dev_arg_mem(&l.g, buffer);
        status = spmv__convert_look_run(&l, s->rows, 1);
    }
    if (!status) status = spmv__dev_download(d, buffer, bytes, s->row_spans);
    if (status) d->info.backend->finish(d, d->queue); /* before the next matrix gets the buffer */
    spmv__scratch_give(d, buffer);
    spmv__convert_look_close(&l);
    return status ? status : spmv__convert_check_spans(s);
}

/* Checks the numbers of nonzeros of all diagonals: a device may compute wrongly. */
static spmv_status spmv__convert_check_diagonals(const spmv__diagonals *d, uint64_t nnz, const spmv_hooks *h)
{
    uint64_t i, all = 0;
    for (i = 0; i < d->end - d->first; i++) all += d->place[i];
    if (all == nnz) return SPMV_OK;
    return spmv_log(h, SPMV_ERR_BACKEND, "the device found %llu nonzeros on diagonals, of %llu", (spmv__ull)all, (spmv__ull)nnz);
}

/* Before the counts of all diagonals there is the number of those that hold nonzeros, and room for a list of so many of them, which is all
 * that the host reads of most matrices that have diagonals. */
enum { SPMV__DIAGONALS_LISTED = 255, SPMV__DIAGONALS_HEAD = 1 + 2 * SPMV__DIAGONALS_LISTED };

/* Makes d of the list, in pairs of a number and the nonzeros; numbers is above each. */
static spmv_status spmv__convert_listed(const uint32_t *list, uint64_t count, uint64_t numbers, const spmv_hooks *h, spmv__diagonals *d)
{
    uint64_t i;
    void *block;
    spmv_status s;
    for (i = 0, d->first = numbers, d->end = 0; i < count; i++) {
        d->first = spmv__smaller(d->first, list[2 * i]);
        d->end = list[2 * i] < d->end ? d->end : (uint64_t)list[2 * i] + 1;
    }
    if (!count || d->end > numbers) return spmv_log(h, SPMV_ERR_BACKEND, "the device found wrong diagonals");
    s = spmv__new(h, &block, d->end - d->first, sizeof *d->place, 0);
    d->place = (uint32_t *)block;
    for (i = 0; !s && i < count; i++) d->place[list[2 * i] - d->first] = list[2 * i + 1];
    return s;
}

/* Reads what the device has counted. */
SPMV__APART spmv_status spmv__convert_read_diagonals(spmv_device *d, void *buffer, uint64_t numbers, const spmv_hooks *h,
                                                     spmv__diagonals *out)
{
    uint32_t head[SPMV__DIAGONALS_HEAD];
    void *block;
    spmv_status s = spmv__dev_download(d, buffer, sizeof head, head);
    if (s) return s;
    if (head[0] <= SPMV__DIAGONALS_LISTED) return spmv__convert_listed(head + 1, head[0], numbers, h, out);
    s = spmv__dev_fetch(d, h, buffer, SPMV__DIAGONALS_HEAD + numbers, sizeof *out->place, &block);
    out->place = (uint32_t *)block;
    out->end = numbers;
    if (!s) memmove(out->place, out->place + SPMV__DIAGONALS_HEAD, (size_t)numbers * sizeof *out->place);
    return s;
}

/* Has the device list the diagonals that it has counted in a buffer. */
static spmv_status spmv__convert_list_diagonals(spmv__convert *c, void *buffer, uint64_t numbers)
{
    spmv__convert_look l;
    spmv_status s = spmv__convert_look_open(&l, c->device, SPMV__CHECK_PART, "listed", 64);
    if (!s) {
        spmv__dev_arg_count(&l.g, numbers);
        spmv__dev_arg_count(&l.g, SPMV__DIAGONALS_HEAD);
        spmv__dev_arg_mem(&l.g, buffer);
        s = spmv__convert_look_run(&l, numbers, 1);
    }
    spmv__convert_look_close(&l);
    return s;
}

/* Has the device count the nonzeros of each diagonal in out->place, as spmv__diagonals_count does with so few diagonals. The caller frees
 * out, also after a failure. v: nnz nonzeros; owner: the buffer of its owners, or NULL. */
static spmv_status spmv__convert_count_diagonals(spmv__convert *c, const spmv_view *v, void *owner, uint64_t nnz, const spmv_hooks *h,
                                                 spmv__diagonals *out)
{
    spmv_device *d = c->device;
    const uint64_t numbers = c->a->rows + c->a->cols, bytes = (SPMV__DIAGONALS_HEAD + numbers) * sizeof *out->place;
    void *buffer = NULL;
    spmv__convert_look l;
    spmv_status s = spmv__convert_look_open(&l, d, SPMV__CHECK_PART, "diagonals", 64);
    if (!s) s = spmv__scratch_take(d, bytes, &buffer);
    if (!s) s = d->info.backend->fill(d, d->queue, buffer, bytes, 0);
    if (!s) {
        l.on.none = c->args.none;
        spmv__dev_arg_count(&l.g, c->a->rows);
        spmv__dev_arg_count(&l.g, c->nnz);
        spmv__dev_arg_mem(&l.g, c->ptr);
        spmv__dev_arg_mem(&l.g, c->col);
        spmv__dev_arg_mem(&l.g, owner);
        spmv__dev_arg_count(&l.g, owner != NULL);
        spmv__dev_arg_count(&l.g, v->part);
        spmv__dev_arg_count(&l.g, SPMV__DIAGONALS_HEAD);
        spmv__dev_arg_mem(&l.g, buffer);
        s = spmv__convert_look_run(&l, c->nnz, SPMV__CONVERT_PER);
    }
    if (!s) s = spmv__convert_list_diagonals(c, buffer, numbers);
    if (!s) s = spmv__convert_read_diagonals(d, buffer, numbers, h, out);
    if (s) d->info.backend->finish(d, d->queue); /* before the next matrix gets the buffer */
    spmv__scratch_give(d, buffer);
    spmv__convert_look_close(&l);
    return s ? s : spmv__convert_check_diagonals(out, nnz, h);
}

/* 1 if the device can look at columns that the host does not have. */
static int spmv__convert_can_look(const spmv__convert *c)
{
    const uint64_t most = c->device->info.alloc_bytes;
    return !c->a->col && !c->off && c->nnz && spmv__sat_mul(c->nnz, 8) <= most && (c->a->rows + 1) * 8 <= most;
}

/* 1 if the device can count the nonzeros of all diagonals of the matrix, which are so few that there is a place for each. */
static int spmv__convert_few_diagonals(const spmv__convert *c)
{
    const uint64_t numbers = c->a->rows + c->a->cols;
    return numbers <= UINT32_MAX && (SPMV__DIAGONALS_HEAD + numbers) * 4 <= c->device->info.alloc_bytes && spmv__keys_fit(c->a, numbers);
}

/* 1 if the part's bases are those of whole rows: of 32, of slices, or of runs that cut no row. */
static int spmv__convert_bases_by_row(const spmv_part *p, const spmv__source *s)
{
    int by_row = p->spec.format == SPMV_ELL || p->spec.format == SPMV_SELL;
#ifndef SPMV__NO_CSR
    uint64_t i;
    if (p->spec.format == SPMV_CSR)
        for (by_row = 1, i = 0; i < s->rows && by_row; i++) by_row = !spmv__in_pieces(s, (uint64_t)p->spec.key[SPMV_KEY_RUN], i);
#endif
    (void)s;
    return by_row;
}

/* Has the device find what the sizes of a part follow from. */
static spmv_status spmv__convert_look_part(spmv__convert_job *j)
{
    spmv__source *s = j->s;
    void *list = NULL;
    spmv_status status;
    spmv__phase(s->h, SPMV_PHASE_UPLOAD);
    status = spmv__convert_look_send(j, &list);
    spmv__phase(s->h, SPMV_PHASE_CONVERT);
    if (!status && spmv__format_class_of(j->p->spec.format) == SPMV_CLASS_DIAGONAL)
        status = spmv__convert_count_diagonals(j->c, s->v, j->owner, spmv__source_nnz(s), s->h, &s->diagonals);
    else if (!status) status = spmv__convert_find_spans(j, list);
    spmv__scratch_give(j->c->device, list);
    return status;
}

/* Has the device look at the columns of a part from which its sizes follow, if the host has none. 0: the host is to look. After a failure,
 * it also fills this and all later parts. */
static int spmv__convert_looks(spmv__convert *c, spmv_part *p, spmv__source *s)
{
    const int diagonals = spmv__format_class_of(p->spec.format) == SPMV_CLASS_DIAGONAL;
    spmv__convert_job *j = NULL;
    spmv_status status;
    if (!spmv__convert_can_look(c) || !spmv__source_nnz(s)) return 0;
    if (diagonals ? !spmv__convert_few_diagonals(c) : p->spec.key[SPMV_KEY_IDX] != 16 || !spmv__convert_bases_by_row(p, s)) return 0;
    status = spmv__convert_job_make(c, p, s, &j);
    c->counted = j;
    if (!status) status = spmv__convert_look_part(j);
    if (!status) return 1;
    spmv_free(s->h, s->row_spans);
    s->row_spans = NULL;
    spmv__diagonals_free(&s->diagonals, s->h);
    spmv__convert_give_up(c, p, s->h, status);
    return 0;
}

/* Counts the diagonals of what is left of a matrix, all of which is if it has nnz nonzeros. */
static spmv_status spmv__convert_left(spmv__convert *c, const spmv_view *v, uint64_t nnz, const spmv_hooks *h, spmv__diagonals *d)
{
    void *owner = NULL;
    spmv_status s = spmv__convert_matrix(c);
    if (!s && nnz < c->nnz) s = spmv__convert_upload(c->device, v->owner, c->nnz, 1, &owner);
    if (!s) s = spmv__convert_count_diagonals(c, v, owner, nnz, h, d);
    spmv__scratch_give(c->device, owner);
    return s;
}

/* spmv_converter.diagonals */
static spmv_status spmv__convert_diagonals(spmv_converter *base, const spmv_view *v, uint64_t nnz, spmv_format f, const spmv_hooks *h,
                                           spmv__diagonals *d)
{
    spmv__convert *c = (spmv__convert *)base;
    spmv_status s;
    if (v->a != c->a) return SPMV_OK;
    if (!spmv__convert_can_look(c) || !spmv__convert_few_diagonals(c)) return spmv__convert_fetch_columns(c);
    s = spmv__convert_left(c, v, nnz, h, d);
    if (!s) return s;
    spmv__diagonals_free(d, h);
    spmv__convert_turn_off(c, f, h, s);
    return spmv__convert_fetch_columns(c);
}

/* Has the device take the nonzeros on diagonals that stay for a part. */
static spmv_status spmv__convert_take_there(spmv__convert *c, const spmv_view *v, const spmv__diagonals *d, unsigned part, uint8_t *owner)
{
    spmv_device *device = c->device;
    void *owners = NULL, *place = NULL;
    spmv__convert_look l;
    spmv_status s = spmv__convert_look_open(&l, device, SPMV__CHECK_PART, "take", 64);
    if (!s) s = spmv__convert_upload(device, owner, c->nnz, 1, &owners);
    if (!s) s = spmv__convert_upload(device, d->place, d->end - d->first, sizeof *d->place, &place);
    if (!s) {
        spmv__dev_arg_count(&l.g, c->a->rows);
        spmv__dev_arg_count(&l.g, c->nnz);
        spmv__dev_arg_mem(&l.g, c->ptr);
        spmv__dev_arg_mem(&l.g, c->col);
        spmv__dev_arg_mem(&l.g, owners);
        spmv__dev_arg_count(&l.g, v->part);
        spmv__dev_arg_count(&l.g, part);
        spmv__dev_arg_count(&l.g, d->first);
        spmv__dev_arg_mem(&l.g, place);
        s = spmv__convert_look_run(&l, c->nnz, SPMV__CONVERT_PER);
    }
    if (!s) s = spmv__dev_download(device, owners, c->nnz, owner);
    if (s) device->info.backend->finish(device, device->queue); /* before the next matrix gets the buffers */
    spmv__scratch_give(device, owners);
    spmv__scratch_give(device, place);
    spmv__convert_look_close(&l);
    return s;
}

/* spmv_converter.take. Owners that were read before a failure are undone, for the host to take these nonzeros. */
static spmv_status spmv__convert_take(spmv_converter *base, const spmv_view *v, const spmv__diagonals *d, unsigned part, uint8_t *owner,
                                      spmv_format f, const spmv_hooks *h, int *taken)
{
    spmv__convert *c = (spmv__convert *)base;
    uint64_t k;
    spmv_status s;
    if (!spmv__convert_can_look(c)) return spmv__convert_fetch_columns(c);
    s = spmv__convert_take_there(c, v, d, part, owner);
    *taken = !s;
    if (!s) return s;
    for (k = 0; k < c->nnz; k++)
        if (owner[k] == part) owner[k] = (uint8_t)v->part;
    spmv__convert_turn_off(c, f, h, s);
    return spmv__convert_fetch_columns(c);
}

/* spmv_converter.rows. What the device fails to look at is looked at by the host. */
static spmv_status spmv__convert_rows(spmv_converter *base, spmv_part *p, spmv__source *s)
{
    spmv__convert *c = (spmv__convert *)base;
    spmv_status status;
    spmv__convert_forget(c);
    if (spmv__dev_has_blocks(p->spec.format) || s->v->a != c->a) return SPMV_OK;
    if (!s->ptr && spmv__convert_finds_longest(c, p, s)) return SPMV_OK;
    spmv__convert_count_tiles(c, p, s);
    if (s->tiled) return SPMV_OK;
    status = spmv__convert_fetch_pointers(c);
    if (!s->ptr) s->ptr = c->a->ptr;
    if (status || !spmv__convert_reads_columns(p) || spmv__convert_looks(c, p, s)) return status;
    return spmv__convert_fetch_columns(c);
}

/* Fills a part on the device. If it does not take the part or fails, the part is left as it was, for the host to fill. */
static spmv_status spmv__convert_part(spmv_converter *base, spmv_part *p, spmv__source *s, const spmv_build *how)
{
    spmv__convert *c = (spmv__convert *)base;
    spmv_status status;
    if (spmv__convert_takes(c, p, s) && spmv__convert_wants(c, p, s, how)) {
        status = spmv__convert_fill(c, p, s, how);
        if (!status) return SPMV_OK;
        spmv__convert_give_up(c, p, s->h, status);
    }
    spmv__convert_wait(c);
    spmv__convert_forget(c); /* the part may have arrays that are too large for the device */
    status = spmv__convert_fetch(c, s);
    if ((c->off || !c->count) && !c->kept && !c->given) spmv__convert_drop(c);
    spmv__phase(s->h, SPMV_PHASE_CONVERT);
    return status;
}

/* ---- converters --------------------------------------------------------------------------------------------------- */

SPMV_API int spmv_convert_here(const spmv_device *d)
{
    return d && d->info.backend && spmv__dev_has_memory(d);
}

/* Makes a converter for one CSR matrix and one device; nothing is copied to the device before the first part needs it. Give it to
 * spmv_part_create or spmv_store_create in spmv_build.converter, and the parts to spmv_device_matrix_create with the same device, which
 * takes over what was filled. Such parts have no data in their arrays of values and columns, so they cannot be multiplied on the host.
 *   out  NULL on failure. Destroy it with spmv__converter_destroy
 *   d    must outlive the converter and all parts that were made with it, and must not move. A converter is for one thread at a time
 *   a    the matrix whose parts are to be made, and no other; it must outlive the last part's making
 * If the device runs out of memory, a message says so, and this and all later parts are filled on the host. */
SPMV__SHARED spmv_status spmv__converter_create(spmv_converter **out, spmv_device *d, const spmv_csr *a)
{
    void *block, *queue = d->queue;
    spmv__convert *c;
    int profiles;
    spmv_status s = spmv__new(&d->hooks, &block, 1, sizeof *c, 0);
    *out = NULL;
    if (s) return s;
    c = (spmv__convert *)block;
    c->base.rows = spmv__convert_rows;
    c->base.part = spmv__convert_part;
    c->base.blocks = spmv__convert_blocks;
    c->base.diagonals = spmv__convert_diagonals;
    c->base.take = spmv__convert_take;
    c->device = c->args.device = d;
    c->a = a;
    c->nnz = a->nnz;
    c->width = spmv_value_size(a->type);
    s = d->info.backend->queue_keep(d, queue, &c->chain, &profiles);
    if (s) spmv_free(&d->hooks, c);
    if (s) return s;
    d->info.backend->queue_free(d, queue);
    spmv__scratch_settle(d); /* if that fails, buffers that an earlier matrix has left are not used */
    *out = &c->base;
    return SPMV_OK;
}

/* Tells a converter whether it may leave parts to the host because compiling kernels would take longer. */
static void spmv__converter_set_thrifty(spmv_converter *base, int thrifty) { ((spmv__convert *)base)->thrifty = thrifty; }

/* Tells the converter that the columns and values of its matrix, and perhaps the row pointers, are in buffers of the device already. They
 * are neither copied nor freed. Comes before the first part.
 *   a         the matrix of spmv__converter_create. Its ptr (if ptr is given), col and val may be NULL: where a part or spmv_store_create
 *             needs them on the host, they are read from the device and then belong to a. With ptr NULL, there may only be one part, with
 *             all nonzeros and rows. With col NULL, no part of the plan may have the key cols, and none in blocks the key d
 *   ptr       rows + 1 row pointers of 64 bits; NULL: those of a are copied to the device
 *   col, val  nnz 32-bit columns and nnz values of the type of a; NULL only if nnz is 0. They must stay until spmv__converter_finish, and
 *             ptr and col until spmv__converter_destroy if parts are updatable
 * SPMV_ERR_ARGUMENT if a is another matrix, a buffer is missing or too small or a part was made before. */
SPMV__SHARED spmv_status spmv__converter_give(spmv_converter *base, spmv_csr *a, void *ptr, void *col, void *val)
{
    spmv__convert *c = (spmv__convert *)base;
    static const char where[] = "spmv_create";
    const spmv_hooks *h = &c->device->hooks;
    spmv_status s;
    if (a != c->a || c->count) return spmv_log(h, SPMV_ERR_ARGUMENT, "%s: another matrix, or too late", where);
    s = spmv__dev_holds(c->device, h, where, "ptr", ptr, ptr ? a->rows + 1 : 0, 8);
    if (!s) s = spmv__dev_holds(c->device, h, where, "col", col, c->nnz, 4);
    if (!s) s = spmv__dev_holds(c->device, h, where, "val", val, c->nnz, c->width);
    if (s) return s;
    c->given = a;
    c->given_ptr = ptr != NULL;
    c->ptr = ptr;
    c->col = col;
    c->val = val;
    return SPMV_OK;
}

/* Tells a converter, behind spmv__converter_give, that the row pointers of its matrix are in a buffer, with 32 bits. */
static void spmv__converter_give_narrow(spmv_converter *base, void *ptr) { ((spmv__convert *)base)->narrow = ptr; }

/* Waits for the kernels and frees the CSR matrix on the device; if parts were made with spmv_build.updatable, only its values. Returns the
 * status of the kernels. No product may be started before, and no part be made after it. */
SPMV__SHARED spmv_status spmv__converter_finish(spmv_converter *base)
{
    spmv__convert *c = (spmv__convert *)base;
    spmv_status s = SPMV_OK;
    spmv__convert_wait(c);
    if (!spmv__dev_is_here(c->device)) s = spmv__dev_not_here(c->device, "spmv_create", NULL, 0);
    else if (c->count) s = c->device->info.backend->finish(c->device, c->device->queue);
    if (!c->kept) spmv__convert_drop(c);
    if (!c->given) spmv__scratch_give(c->device, c->val);
    c->val = NULL;
    c->sent[SPMV__CONVERT_VAL] = 0;
    c->off = 1;
    return s;
}

/* Replaces the values of all parts that the device filled and that were made updatable, after spmv__converter_finish, and waits until that
 * is done. No product may be running.
 *   val     all values of the CSR matrix, in its order and type, on the host; or NULL
 *   buffer  the same in a buffer of the device, which is used if val is NULL */
SPMV__SHARED spmv_status spmv__converter_update(spmv_converter *base, const void *val, void *buffer)
{
    spmv__convert *c = (spmv__convert *)base;
    enum { FROM_VAL = 4 }; /* the parameter of kernels/convert.cl */
    spmv_device *d = c->device;
    const spmv_backend *b = d->info.backend;
    const spmv__convert_job *j;
    void *own = NULL;
    spmv_status s = SPMV_OK;
    if (!c->kept) return s;
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_update", NULL, 0);
    if (val) s = spmv__convert_upload(d, val, c->nnz, c->width, &own);
    else s = spmv__dev_holds(d, &d->hooks, "spmv_update_buffer", "val", buffer, c->nnz, c->width);
    if (val) buffer = own;
    for (j = c->kept; j && !s; j = j->next) {
        s = b->argument(d, j->kernel, FROM_VAL, &buffer, sizeof buffer);
        if (!s) s = spmv__convert_launch(j, j->kernel, j->groups);
    }
    if (!s) s = b->finish(d, d->queue);
    spmv__scratch_give(d, own);
    return s;
}

/* Frees it; a matrix made of the parts stays. NULL is ignored. */
SPMV__SHARED void spmv__converter_destroy(spmv_converter *base)
{
    spmv__convert *c = (spmv__convert *)base;
    if (!c) return;
    spmv__convert_wait(c);
    spmv__convert_forget(c);
    while (c->kept) {
        spmv__convert_job *j = c->kept;
        c->kept = j->next;
        ((spmv__convert_arrays *)j->e)->job = NULL;
        spmv__convert_job_free(j);
    }
    spmv__convert_drop(c);
    spmv_free(&c->device->hooks, c);
}

/* How many parts it has filled. */
SPMV__SHARED uint64_t spmv__converter_count(const spmv_converter *c) { return ((const spmv__convert *)c)->count; }

#endif
