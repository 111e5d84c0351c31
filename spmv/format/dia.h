/* SPDX-License-Identifier: MIT
 *
 * spmv/format/dia.h - dia and bdia: diagonals, and bands of adjacent ones.
 */
#ifndef SPMV__FORMAT_DIA_H
#define SPMV__FORMAT_DIA_H

#include "../products.h"

/* ---- dia and bdia ------------------------------------------------------------------------------------------------ */
#if !(SPMV__ONLY & SPMV_BIT_DIA)
#define SPMV__NO_DIA
#define SPMV__BUILT_DIA 0
#else
#define SPMV__BUILT_DIA 1
#endif

#if !(SPMV__ONLY & SPMV_BIT_BDIA)
#define SPMV__NO_BDIA
#define SPMV__BUILT_BDIA 0
#else
#define SPMV__BUILT_BDIA 1
#endif

#if SPMV__BUILT_DIA || SPMV__BUILT_BDIA
#define SPMV__ANY_DIA
#endif

SPMV__SHARED void spmv__diagonals_free(spmv__diagonals *diagonals, const spmv_hooks *hooks)
{
    spmv_free(hooks, diagonals->list);
    spmv_free(hooks, diagonals->place);
    memset(diagonals, 0, sizeof *diagonals);
}

/* 1 if row r of the matrix has the columns of the row before it, each moved on by one: then it has the same diagonals. Where rows
 * differ, it is mostly in their length or at an end; the columns between are compared in pairs. */
SPMV__SHARED int spmv__row_moved(const spmv_csr *a, uint64_t r)
{
    const uint32_t *col = a->col + a->ptr[r], *before = a->col + a->ptr[r - 1];
    const uint64_t n = a->ptr[r + 1] - a->ptr[r], by = ((uint64_t)1 << 32) + 1;
    uint64_t i, differ = n ^ (a->ptr[r] - a->ptr[r - 1]), now, then;
    if (!n || col == before) return !differ;
    differ |= (uint64_t)(col[0] - before[0] - 1) | (col[n - 1] - col[-1] - 1);
    for (i = 1; !differ && i + 1 < n; i += 2) {
        memcpy(&now, col + i, sizeof now);
        memcpy(&then, before + i, sizeof then);
        differ = now - then - by;
    }
    return !differ;
}

/* How many rows from row r on, up to row end, have its diagonals. Of a view of some nonzeros, it is taken alone. */
SPMV__SHARED uint64_t spmv__moved_rows(const spmv_view *view, uint64_t r, uint64_t end)
{
    uint64_t rows = 1;
    while (!view->owner && r + rows < end && spmv__row_moved(view->a, r + rows)) rows++;
    return rows;
}

/* What the shares that look for diagonals have in common. */
typedef struct spmv__diagonals_job {
    const spmv_view *view;
    uint32_t        *table;           /* for each thread, the nonzeros of each diagonal, by number - first */
    uint64_t         first, numbers;
    uint64_t         shares, low[SPMV__MOST_SHARES], end[SPMV__MOST_SHARES]; /* numbers of each share */
} spmv__diagonals_job;

/* Finds the lowest number and the end of those of a share. Columns rise in a row. */
static void spmv__diagonals_range_share(void *job, uint64_t share)
{
    spmv__diagonals_job *work = (spmv__diagonals_job *)job;
    const spmv_csr *a = work->view->a;
    const uint64_t stop = spmv__share_row(a->ptr, a->rows, share + 1, work->shares);
    uint64_t r, low = UINT64_MAX, end = 0, last;
    for (r = spmv__share_row(a->ptr, a->rows, share, work->shares); r < stop; r++) {
        if (a->ptr[r] == a->ptr[r + 1]) continue;
        low = spmv__smaller(low, a->col[a->ptr[r]] + a->rows - 1 - r);
        last = a->col[a->ptr[r + 1] - 1] + a->rows - 1 - r;
        end = last < end ? end : last + 1;
    }
    work->low[share] = low;
    work->end[share] = end;
}

/* Finds the range of the numbers of diagonals. */
static void spmv__diagonals_range(spmv__diagonals *diagonals, spmv__diagonals_job *job)
{
    uint64_t i;
    spmv__share_out(spmv__diagonals_range_share, job, job->shares);
    for (i = 0, diagonals->first = UINT64_MAX; i < job->shares; i++) {
        diagonals->first = spmv__smaller(diagonals->first, job->low[i]);
        diagonals->end = diagonals->end < job->end[i] ? job->end[i] : diagonals->end;
    }
    diagonals->first = spmv__smaller(diagonals->first, diagonals->end);
}

static void spmv__diagonals_histogram_share(void *job, uint64_t share, size_t thread)
{
    const spmv__diagonals_job *work = (const spmv__diagonals_job *)job;
    const spmv_csr *a = work->view->a;
    const uint64_t end = spmv__share_row(a->ptr, a->rows, share + 1, work->shares);
    uint32_t *table = work->table + thread * work->numbers;
    uint64_t r, k, rows;
    for (r = spmv__share_row(a->ptr, a->rows, share, work->shares); r < end; r += rows) {
        rows = spmv__moved_rows(work->view, r, end);
        for (k = a->ptr[r]; k < a->ptr[r + 1]; k++)
            if (spmv__mine(work->view, k)) table[a->col[k] + a->rows - 1 - r - work->first] += (uint32_t)rows;
    }
}

/* Counts the nonzeros of each diagonal in place. The tables of all threads take no more than a quarter of the CSR form. */
static spmv_status spmv__diagonals_histogram(spmv__diagonals *diagonals, spmv__diagonals_job *job, const spmv_hooks *hooks)
{
    const uint64_t numbers = diagonals->end - diagonals->first, fit = numbers ? spmv__csr_bytes(job->view->a) / 16 / numbers : 1;
    const uint64_t threads = spmv__share_threads(job->shares, fit ? fit : 1);
    uint64_t i, n;
    void *block;
    spmv_status s = spmv__new(hooks, &block, numbers, 4 * threads, 0);
    diagonals->place = job->table = (uint32_t *)block;
    job->first = diagonals->first;
    job->numbers = numbers;
    if (!s) spmv__share_among(spmv__diagonals_histogram_share, job, job->shares, threads);
    for (i = 1; !s && i < threads; i++)
        for (n = 0; n < numbers; n++) diagonals->place[n] += job->table[i * numbers + n];
    return s;
}

/* Lists the number of each nonzero's diagonal, sorts the list, and merges equal numbers. */
SPMV__SHARED spmv_status spmv__diagonals_sort(spmv__diagonals *diagonals, const spmv_view *view, const spmv_hooks *hooks)
{
    const spmv_csr *a = view->a;
    void *block;
    uint64_t r, k, n = 0;
    spmv_status s = spmv__new(hooks, &block, a->nnz, sizeof *diagonals->list, 0);
    if (s) return s;
    diagonals->list = (spmv__pair *)block;
    for (r = 0; r < a->rows; r++)
        for (k = a->ptr[r]; k < a->ptr[r + 1]; k++)
            if (spmv__mine(view, k)) {
                diagonals->list[n].key = a->col[k] + a->rows - 1 - r;
                diagonals->list[n++].load = 1;
            }
    diagonals->count = spmv__sort_and_merge(diagonals->list, n);
    return SPMV_OK;
}

/* Counts the nonzeros of each diagonal; spmv__diagonals_next then returns them. Takes memory and time in proportion to the nonzeros and
 * rows, however many columns there are. Free with spmv__diagonals_free. */
SPMV__SHARED spmv_status spmv__diagonals_count(spmv__diagonals *diagonals, const spmv_view *view, const spmv_hooks *hooks)
{
    spmv__diagonals_job job;
    memset(diagonals, 0, sizeof *diagonals);
    job.view = view;
    job.shares = spmv__share_count(view->a->nnz + view->a->rows);
    spmv__diagonals_range(diagonals, &job);
    return spmv__keys_fit(view->a, diagonals->end - diagonals->first) ? spmv__diagonals_histogram(diagonals, &job, hooks)
                                                                      : spmv__diagonals_sort(diagonals, view, hooks);
}

/* Finds the next diagonal that holds nonzeros, after spmv__diagonals_count: its number, and how many it holds. *at is 0 for the first
 * call and then left alone. Returns 0 if there are no more. */
SPMV__SHARED int spmv__diagonals_next(const spmv__diagonals *diagonals, uint64_t *at, uint64_t *number, uint64_t *held)
{
    uint64_t i = *at, end = diagonals->place ? diagonals->end - diagonals->first : diagonals->count;
    while (diagonals->place && i < end && !diagonals->place[i]) i++;
    if (i >= end) return 0;
    *number = diagonals->place ? diagonals->first + i : diagonals->list[i].key;
    *held = diagonals->place ? diagonals->place[i] : diagonals->list[i].load;
    *at = i + 1;
    return 1;
}

/* Makes the list of diagonals that are counted in place. Frees all if there is no memory. */
SPMV__SHARED spmv_status spmv__diagonals_list(spmv__diagonals *diagonals, const spmv_hooks *hooks)
{
    void *block = NULL;
    uint64_t at, number, held, n = 0;
    spmv_status s;
    for (at = 0; spmv__diagonals_next(diagonals, &at, &number, &held);) diagonals->count++;
    s = spmv__new(hooks, &block, diagonals->count, sizeof *diagonals->list, 0);
    diagonals->list = (spmv__pair *)block;
    for (at = 0; !s && spmv__diagonals_next(diagonals, &at, &number, &held);) {
        diagonals->list[n].key = number;
        diagonals->list[n].load = held;
        diagonals->place[number - diagonals->first] = (uint32_t)++n;
    }
    if (s) spmv__diagonals_free(diagonals, hooks);
    return s;
}

/* As spmv__diagonals_count, and always makes the list. */
SPMV__SHARED spmv_status spmv__diagonals_make(spmv__diagonals *diagonals, const spmv_view *view, const spmv_hooks *hooks)
{
    spmv_status s = spmv__diagonals_count(diagonals, view, hooks);
    return s || !diagonals->place ? s : spmv__diagonals_list(diagonals, hooks);
}

/* The place in the list of the diagonal on which nonzero k of a row lies. */
SPMV__INLINE uint64_t spmv__diagonal_place(const spmv__diagonals *diagonals, const spmv_csr *a, uint64_t row, uint64_t k)
{
    uint64_t number = a->col[k] + a->rows - 1 - row;
    return diagonals->place ? diagonals->place[number - diagonals->first] - 1 : spmv__find(diagonals->list, diagonals->count, number);
}

/* Drops diagonal i of the list: spmv__diagonal_stays then returns 0 for its nonzeros. */
SPMV__SHARED void spmv__diagonal_drop(spmv__diagonals *diagonals, uint64_t i)
{
    diagonals->list[i].load = 0;
    if (diagonals->place) diagonals->place[diagonals->list[i].key - diagonals->first] = 0;
}

/* 1 if the diagonal on which nonzero k of a row lies was not dropped. */
SPMV__SHARED int spmv__diagonal_stays(const spmv__diagonals *diagonals, const spmv_csr *a, uint64_t row, uint64_t k)
{
    uint64_t number = a->col[k] + a->rows - 1 - row;
    return diagonals->place ? diagonals->place[number - diagonals->first] != 0
                            : diagonals->list[spmv__find(diagonals->list, diagonals->count, number)].load != 0;
}

/* The length of a diagonal within the matrix. */
SPMV__SHARED uint64_t spmv__diagonal_length(const spmv_csr *a, uint64_t number)
{
    uint64_t below = number + 1 < a->rows ? a->rows - 1 - number : 0, right = number + 1 > a->rows ? number + 1 - a->rows : 0;
    return a->rows - below < a->cols - right ? a->rows - below : a->cols - right;
}

/* 1 if diagonal i of the list begins a band, because the diagonal before it holds no nonzeros. */
SPMV__SHARED int spmv__band_begins(const spmv__diagonals *diagonals, uint64_t i)
{
    return !i || diagonals->list[i - 1].key + 1 != diagonals->list[i].key;
}

#ifdef SPMV__ANY_DIA
/* Lists the part's diagonals, in the order in which its arrays hold them, and counts their bands. */
static spmv_status spmv__dia_count(spmv_part *p, spmv__source *source, uint64_t *bands)
{
    spmv__diagonals *diagonals = &source->diagonals;
    uint64_t i;
    spmv_status status;
    *bands = 0;
    if (p->rows > 0x7fffffff || p->cols > 0x7fffffff)
        return spmv_log(source->hooks, SPMV_ERR_UNSUPPORTED, "%s stores offsets in 32 bits: rows and cols must be below 2^31",
                        spmv_format_name(p->spec.format));
    /* a device may have counted them */
    status = diagonals->place ? spmv__diagonals_list(diagonals, source->hooks)
                              : spmv__diagonals_make(diagonals, source->view, source->hooks);
    for (i = 0; i < diagonals->count; i++) *bands += (uint64_t)spmv__band_begins(diagonals, i);
    return status;
}

/* Neighbouring rows read neighbouring elements of x, so gather is 0. Diagonals that were not counted are too many. */
static spmv_status spmv__estimate_diagonals(const spmv_features *features, spmv__load *out)
{
    if (features->diagonals_sampled) return SPMV_ERR_UNSUPPORTED;
    out->slots = (double)features->rows * (double)features->diagonals;
    out->longest = (double)features->diagonals;
    out->gather = 0;
    return SPMV_OK;
}

/* The column - row of a diagonal. */
static int32_t spmv__dia_offset(const spmv_part *p, const spmv__pair *diagonal)
{
    return (int32_t)((int64_t)diagonal->key - (int64_t)p->rows + 1);
}

/* What dia and bdia both have: the length of a stored diagonal, and the column - row of each diagonal or of each band's first. */
static uint64_t spmv__dia_ld(const spmv_part *p) { return p->spec.format == SPMV_BDIA ? p->n[SPMV_BDIA_LD] : p->n[SPMV_DIA_LD]; }
SPMV__SHARED const int32_t *spmv__dia_offsets(const spmv_part *p)
{
    return (const int32_t *)(p->spec.format == SPMV_BDIA ? p->a[SPMV_BDIA_OFFSET].data : p->a[SPMV_DIA_OFFSET].data);
}

/* How many offsets there are: one for each diagonal of dia, one for each band of bdia. */
SPMV__SHARED uint64_t spmv__dia_offset_count(const spmv_part *p)
{
    return p->spec.format == SPMV_BDIA ? p->n[SPMV_BDIA_BANDS] : p->n[SPMV_DIA_DIAGONALS];
}

enum { SPMV__DIA_ROWS = 64 /* that are filled together: of a few dozen diagonals, what they have stays in a near cache */ };

/* Puts nonzeros k, k + step, ... of so many rows into as many slots of val from slot on. Values have so many bytes. */
SPMV__INLINE void spmv__dia_copy(spmv__sink *to, unsigned char *val, const unsigned char *src, uint64_t slot, uint64_t k, uint64_t step,
                                 uint64_t rows, uint32_t bytes)
{
    uint64_t i;
    for (i = 0; i < rows; i++, k += step) {
        const int zero = spmv__is_zero(src + k * bytes, bytes);
        memcpy(val + (slot + i) * bytes, src + k * bytes, bytes);
        if (!zero) continue;
        if (to->zeros) to->zeros[to->zero_count] = slot + i;
        to->zero_count++;
    }
}

/* Puts rows first .. end - 1 into the stored diagonals, whose slots were cleared. Rows with the same diagonals are put together. */
SPMV__INLINE void spmv__dia_rows(const spmv__source *source, spmv__sink *to, uint64_t ld, uint64_t first, uint64_t end, uint32_t bytes)
{
    const spmv_view view = *source->view;
    const spmv_csr a = *view.a;
    const spmv__diagonals diagonals = source->diagonals;
    unsigned char *val = (unsigned char *)to->dst->data;
    const unsigned char *src = to->src;
    uint64_t r, k, i, rows, slot;
    for (r = first; r < end; r += rows) {
        const uint64_t begin = a.ptr[r], stop = a.ptr[r + 1];
        rows = spmv__moved_rows(&view, r, end);
        for (k = begin; k < stop; k++) {
            if (!spmv__mine(&view, k)) continue;
            slot = spmv__diagonal_place(&diagonals, &a, r, k) * ld + r;
            if (bytes) spmv__dia_copy(to, val, src, slot, k, stop - begin, rows, bytes);
            for (i = 0; !bytes && i < rows; i++) spmv__put(to, slot + i, k + i * (stop - begin));
        }
    }
}

/* Puts the values of rows first .. end - 1 into the stored diagonals. */
static void spmv__dia_values(spmv_part *p, const spmv__source *source, spmv__sink *to, uint64_t first, uint64_t end)
{
    uint64_t r, next, ld = spmv__dia_ld(p), d;
    for (r = first; r < end; r = next) {
        next = spmv__smaller(r + SPMV__DIA_ROWS, end);
        for (d = 0; d < source->diagonals.count; d++) spmv__clear(to, d * ld + r, (next < p->rows ? next : ld) - r);
        if (!to->src) spmv__dia_rows(source, to, ld, r, next, 0);
        else if (to->dst->width == 8) spmv__dia_rows(source, to, ld, r, next, 8);
        else spmv__dia_rows(source, to, ld, r, next, 4);
    }
}

/* Visits the slots of stored diagonal d that lie within the matrix. */
static void spmv__dia_each_one(const spmv_part *p, uint64_t d, int64_t offset, spmv__visit visit, void *user)
{
    uint64_t begin = d * spmv__dia_ld(p);
    int64_t r, first = offset < 0 ? -offset : 0, end = (int64_t)p->cols - offset;
    if (end > (int64_t)p->rows) end = (int64_t)p->rows;
    for (r = first; r < end; r++) visit(user, (uint64_t)r, (uint64_t)(r + offset), begin + (uint64_t)r);
}

/* Are there so many offsets, and values of so many diagonals? */
static int spmv__diagonals_sized(const spmv_part *p, const spmv_array *offset, uint64_t offsets, uint64_t diagonals)
{
    const uint64_t ld = spmv__dia_ld(p);
    return spmv__sized(offset, offsets, 4) && ld == spmv__leading(p->rows) && p->a[SPMV_VAL].count == spmv__sat_mul(diagonals, ld);
}

/* Do the count diagonals of offset number i lie in the matrix, above the before diagonals of the offset in front of it? */
static int spmv__diagonal_sound(const spmv_part *p, const int32_t *offset, uint64_t i, uint64_t before, uint64_t count)
{
    if (i && (int64_t)offset[i] < offset[i - 1] + (int64_t)before) return 0;
    return (int64_t)offset[i] > -(int64_t)p->rows && offset[i] + (int64_t)count <= (int64_t)p->cols;
}
#endif

static const spmv__traits spmv__dia_traits = {
    SPMV__KEY(D),                         /* keys */
    SPMV_HAS_FILL | SPMV_REPEATS,         /* flags */
    SPMV_CLASS_DIAGONAL,                  /* class */
    0,                                    /* indices */
    0,                                    /* even */
    SPMV__PADS_NONE, SPMV__LANES_BY_ROWS  /* pads, lanes */
};

static const char *const spmv__dia_layouts[] = {
    "dia"
};

#ifndef SPMV__NO_DIA
static spmv_status spmv__dia_size(spmv_part *p, spmv__source *source)
{
    uint64_t bands;
    spmv_status status = spmv__dia_count(p, source, &bands);
    p->n[SPMV_DIA_DIAGONALS] = source->diagonals.count;
    p->n[SPMV_DIA_LD] = spmv__leading(p->rows);
    spmv__want(&p->a[SPMV_VAL], spmv__sat_mul(p->n[SPMV_DIA_DIAGONALS], p->n[SPMV_DIA_LD]), p->a[SPMV_VAL].width);
    spmv__want(&p->a[SPMV_DIA_OFFSET], p->n[SPMV_DIA_DIAGONALS], 4);
    return status;
}

static spmv_status spmv__dia_estimate(const spmv_spec *spec, const spmv__analysis *analysis, const spmv_features *features, spmv__load *out)
{
    (void)spec;
    (void)analysis;
    return spmv__estimate_diagonals(features, out);
}

static void spmv__dia_lay(spmv_part *p, spmv__source *source)
{
    uint64_t i;
    for (i = 0; i < source->diagonals.count; i++)
        ((int32_t *)p->a[SPMV_DIA_OFFSET].data)[i] = spmv__dia_offset(p, &source->diagonals.list[i]);
}

#define spmv__dia_fill spmv__dia_values

static void spmv__dia_each(const spmv_part *p, spmv__visit visit, void *user)
{
    uint64_t d;
    for (d = 0; d < p->n[SPMV_DIA_DIAGONALS]; d++) spmv__dia_each_one(p, d, ((const int32_t *)p->a[SPMV_DIA_OFFSET].data)[d], visit, user);
}

SPMV__SHARED int spmv__dia_sound(const spmv_part *p)
{
    const uint64_t diagonals = p->n[SPMV_DIA_DIAGONALS];
    uint64_t d;
    if (!spmv__diagonals_sized(p, &p->a[SPMV_DIA_OFFSET], diagonals, diagonals)) return 0;
    for (d = 0; d < diagonals; d++)
        if (!spmv__diagonal_sound(p, (const int32_t *)p->a[SPMV_DIA_OFFSET].data, d, 1, 1)) return 0;
    return 1;
}
#endif

static const spmv__traits spmv__bdia_traits = {
    SPMV__KEY(D) | SPMV__KEY(W),                   /* keys */
    SPMV_HAS_FILL | SPMV_REPEATS | SPMV_LONG_ROWS, /* flags */
    SPMV_CLASS_DIAGONAL,                           /* class */
    0,                                             /* indices */
    0,                                             /* even */
    SPMV__PADS_NONE, SPMV__LANES_BY_ROWS           /* pads, lanes */
};

static const char *const spmv__bdia_layouts[] = {
    "bdia"
};

#ifndef SPMV__NO_BDIA
static spmv_status spmv__bdia_size(spmv_part *p, spmv__source *source)
{
    spmv_status status = spmv__dia_count(p, source, &p->n[SPMV_BDIA_BANDS]);
    p->n[SPMV_BDIA_LD] = spmv__leading(p->rows);
    spmv__want(&p->a[SPMV_VAL], spmv__sat_mul(source->diagonals.count, p->n[SPMV_BDIA_LD]), p->a[SPMV_VAL].width);
    spmv__want(&p->a[SPMV_BDIA_OFFSET], p->n[SPMV_BDIA_BANDS], 4);
    spmv__want(&p->a[SPMV_BDIA_BAND_PTR], p->n[SPMV_BDIA_BANDS] + 1, 4);
    return status;
}

static spmv_status spmv__bdia_estimate(const spmv_spec *spec, const spmv__analysis *analysis, const spmv_features *features,
                                       spmv__load *out)
{
    (void)spec;
    (void)analysis;
    return spmv__estimate_diagonals(features, out);
}

/* A band is a run of diagonals whose numbers follow each other. */
static void spmv__bdia_lay(spmv_part *p, spmv__source *source)
{
    const spmv__diagonals *diagonals = &source->diagonals;
    uint64_t i, band = 0;
    uint32_t *band_ptr = (uint32_t *)p->a[SPMV_BDIA_BAND_PTR].data;
    band_ptr[0] = 0;
    for (i = 0; i < diagonals->count; i++) {
        if (spmv__band_begins(diagonals, i)) ((int32_t *)p->a[SPMV_BDIA_OFFSET].data)[band++] = spmv__dia_offset(p, &diagonals->list[i]);
        band_ptr[band] = (uint32_t)(i + 1);
    }
}

#define spmv__bdia_fill spmv__dia_values

static void spmv__bdia_each(const spmv_part *p, spmv__visit visit, void *user)
{
    const uint32_t *band_ptr = (const uint32_t *)p->a[SPMV_BDIA_BAND_PTR].data;
    uint64_t b;
    uint32_t d;
    for (b = 0; b < p->n[SPMV_BDIA_BANDS]; b++)
        for (d = band_ptr[b]; d < band_ptr[b + 1]; d++)
            spmv__dia_each_one(p, d, (int64_t)((const int32_t *)p->a[SPMV_BDIA_OFFSET].data)[b] + (int64_t)(d - band_ptr[b]), visit, user);
}

SPMV__SHARED int spmv__bdia_sound(const spmv_part *p)
{
    const spmv_array *ptr = &p->a[SPMV_BDIA_BAND_PTR];
    const uint64_t bands = p->n[SPMV_BDIA_BANDS], diagonals = p->n[SPMV_BDIA_LD] ? p->a[SPMV_VAL].count / p->n[SPMV_BDIA_LD] : 0;
    uint64_t b, before = 0, count;
    if (!spmv__diagonals_sized(p, &p->a[SPMV_BDIA_OFFSET], bands, diagonals) || !spmv__offsets_sound(ptr, bands + 1, diagonals)) return 0;
    for (b = 0; b < bands; b++, before = count) {
        count = spmv__at(ptr, b + 1) - spmv__at(ptr, b);
        if (!spmv__diagonal_sound(p, (const int32_t *)p->a[SPMV_BDIA_OFFSET].data, b, before, count)) return 0;
    }
    return 1;
}
#endif

#endif

/* ---- products on the host, for each level and type (products.h) -------------------------------------------------- */
#define SPMV__HOST_DIA { SPMV__PRODUCTS(dia), SPMV__REPEAT(dia) }
#define SPMV__HOST_BDIA { SPMV__PRODUCTS(bdia), SPMV__REPEAT(bdia) }
#if defined(SPMV__TYPE) && !defined(SPMV__COLUMN_BITS) /* again */
#if defined(SPMV__SIMPLE) || defined(SPMV__REPEATED)
#ifdef SPMV__ANY_DIA
static void SPMV__N(diagonals)(const spmv__job *job, uint64_t share, uint64_t shares, int banded)
{
    SPMV__ENTER;
    const int32_t *offset = spmv__dia_offsets(p);
    const uint32_t *band = (const uint32_t *)p->a[SPMV_BDIA_BAND_PTR].data;
    int64_t first = (int64_t)spmv__even(p->rows, SPMV__TILE, share, shares), end, i, d, last;
    const int64_t stop = (int64_t)spmv__even(p->rows, SPMV__TILE, share + 1, shares), cols = (int64_t)p->cols;
    for (; first < stop; first = end) {
        SPMV__T sum[SPMV__TILE] = { 0 };
        uint64_t b;
        end = first + SPMV__TILE < stop ? first + SPMV__TILE : stop;
        for (b = 0; b < spmv__dia_offset_count(p); b++) {
            int64_t o = offset[b];
            d = banded ? (int64_t)band[b] : (int64_t)b;
            for (last = banded ? (int64_t)band[b + 1] : d + 1; d < last; d++, o++) {
                const SPMV__V *v = val + (uint64_t)d * spmv__dia_ld(p);
                const int64_t inside = cols - o < end ? cols - o : end;
                for (i = o < -first ? -o : first; i < inside; i++) sum[i - first] = SPMV__PLUS(v[i], x[i + o], sum[i - first]);
            }
        }
        SPMV__N(set_all)(p, (uint64_t)first, (uint64_t)(end - first), alpha, sum, beta, y);
    }
}
#endif
#else /* in vectors */
#ifdef SPMV__ANY_DIA
/* Vectors of the rows of one diagonal that are added before the next diagonal's: a cache line of them, but at most four. */
#define SPMV__LINE_VECTORS (4 * sizeof(SPMV__O(vec)) <= 64 ? 4 : 2 * sizeof(SPMV__O(vec)) <= 64 ? 2 : 1)

/* Adds count diagonals over the same rows to sums: out[i] = alpha * (from[i] + val[0][i] * x[0][i] + ...), in this order; from NULL: zeros.
 * Memory is prefetched for the next tile, as the processor follows so many streams badly. */
SPMV__APART void SPMV__F(diagonal_rows)(const SPMV__V *const *val, const SPMV__T *const *x, int count, uint64_t rows, const SPMV__T *from,
                                        SPMV__T alpha, SPMV__T *out)
{
    const uint64_t L = SPMV__LANES, step = SPMV__LINE_VECTORS * SPMV__LANES;
    const SPMV__O(vec) zero = SPMV__O(vzero)(), all_alpha = SPMV__O(vall)(alpha);
    uint64_t i = 0;
    int d;
    for (; i + step <= rows; i += step) {
        SPMV__O(vec) s0 = zero, s1 = zero, s2 = zero, s3 = zero;
        if (from) {
            s0 = SPMV__O(vfrom)(from + i);
            if (SPMV__LINE_VECTORS > 1) s1 = SPMV__O(vfrom)(from + i + L);
            if (SPMV__LINE_VECTORS > 2) s2 = SPMV__O(vfrom)(from + i + 2 * L);
            if (SPMV__LINE_VECTORS > 2) s3 = SPMV__O(vfrom)(from + i + 3 * L);
        }
        for (d = 0; d < count; d++) {
            const SPMV__V *v = val[d] + i;
            const SPMV__T *w = x[d] + i;
            SPMV__AHEAD(v + SPMV__TILE);
            s0 = SPMV__O(vfma)(SPMV__F(vload)(v), SPMV__O(vfrom)(w), s0);
            if (SPMV__LINE_VECTORS > 1) s1 = SPMV__O(vfma)(SPMV__F(vload)(v + L), SPMV__O(vfrom)(w + L), s1);
            if (SPMV__LINE_VECTORS > 2) s2 = SPMV__O(vfma)(SPMV__F(vload)(v + 2 * L), SPMV__O(vfrom)(w + 2 * L), s2);
            if (SPMV__LINE_VECTORS > 2) s3 = SPMV__O(vfma)(SPMV__F(vload)(v + 3 * L), SPMV__O(vfrom)(w + 3 * L), s3);
        }
        SPMV__O(vput)(out + i, SPMV__O(vmul)(all_alpha, s0));
        if (SPMV__LINE_VECTORS > 1) SPMV__O(vput)(out + i + L, SPMV__O(vmul)(all_alpha, s1));
        if (SPMV__LINE_VECTORS > 2) SPMV__O(vput)(out + i + 2 * L, SPMV__O(vmul)(all_alpha, s2));
        if (SPMV__LINE_VECTORS > 2) SPMV__O(vput)(out + i + 3 * L, SPMV__O(vmul)(all_alpha, s3));
    }
    for (; i < rows; i++) {
        SPMV__T s = from ? from[i] : 0;
        for (d = 0; d < count; d++) s = SPMV__O(efma)((SPMV__T)val[d][i], x[d][i], s);
        out[i] = alpha * s;
    }
}

/* Multiplies rows first .. end - 1 of all diagonals. Those that leave the matrix in these rows are added one by one to sums in a buffer;
 * then the others SPMV__STREAMS at a time, the last of them straight into y where it is not read: writing y a tile at a time would stop the
 * stream of the matrix. */
static void SPMV__F(diagonal_tile)(const spmv_part *p, int64_t first, int64_t end, SPMV__T alpha, const SPMV__T *x, SPMV__T beta,
                                   SPMV__T *y, int banded)
{
    const SPMV__V *val = (const SPMV__V *)p->a[SPMV_VAL].data, *v[SPMV__STREAMS] = { NULL };
    const int32_t *offset = spmv__dia_offsets(p);
    const uint32_t *band = (const uint32_t *)p->a[SPMV_BDIA_BAND_PTR].data;
    const SPMV__T *at[SPMV__STREAMS] = { NULL };
    const int64_t cols = (int64_t)p->cols;
    const uint64_t rows = (uint64_t)(end - first);
    const int straight = !p->list.count && beta == 0;
    SPMV__T sum[SPMV__TILE], *from = NULL; /* from: the sums, once there are any */
    int held = 0;
    uint64_t b;
    for (b = 0; b < spmv__dia_offset_count(p); b++) {
        uint64_t d = banded ? band[b] : b, last = banded ? band[b + 1] : b + 1;
        int64_t o = offset[b];
        for (; d < last; d++, o++) {
            const int64_t r = o < -first ? -o : first, stop = cols - o < end ? cols - o : end;
            const int part = r > first || stop < end;
            if (r >= stop) continue;
            if (part && !from) memset(from = sum, 0, (size_t)rows * sizeof *sum);
            if (!part && held == SPMV__STREAMS) {
                SPMV__F(diagonal_rows)(v, at, held, rows, from, 1, sum);
                from = sum;
                held = 0;
            }
            if (part) {
                const SPMV__V *one = val + d * spmv__dia_ld(p) + (uint64_t)r;
                const SPMV__T *of = x + (r + o);
                SPMV__F(diagonal_rows)(&one, &of, 1, (uint64_t)(stop - r), sum + (r - first), 1, sum + (r - first));
            } else {
                v[held] = val + d * spmv__dia_ld(p) + (uint64_t)first;
                at[held++] = x + (first + o);
            }
        }
    }
    SPMV__F(diagonal_rows)(v, at, held, rows, from, straight ? alpha : 1, straight ? y + first : sum);
    if (!straight) SPMV__F(set_rows)(p, (uint64_t)first, rows, alpha, sum, beta, y);
}

/* The product of dia and bdia (banded), by tiles of rows. */
static void SPMV__F(diagonals)(const spmv__job *job, uint64_t share, uint64_t shares, int banded)
{
    SPMV__ENTER;
    uint64_t first = spmv__even(p->rows, SPMV__TILE, share, shares), end = spmv__even(p->rows, SPMV__TILE, share + 1, shares);
    (void)val;
    for (; first < end; first += SPMV__TILE)
        SPMV__F(diagonal_tile)(p, (int64_t)first, (int64_t)spmv__smaller(end, first + SPMV__TILE), alpha, x, beta, y, banded);
}
#endif
#endif

#ifndef SPMV__NO_DIA
static void SPMV__N(dia)(const spmv__job *job, uint64_t share, uint64_t shares) { SPMV__N(diagonals)(job, share, shares, 0); }
#endif

#ifndef SPMV__NO_BDIA
static void SPMV__N(bdia)(const spmv__job *job, uint64_t share, uint64_t shares) { SPMV__N(diagonals)(job, share, shares, 1); }
#endif
#endif /* again */
