/* SPDX-License-Identifier: MIT
 *
 * spmv/input.h - the forms in which a caller may give a matrix, made CSR, with every index checked.
 */
#ifndef SPMV__INPUT_H
#define SPMV__INPUT_H

#include "threads.h"

/* ---- input to CSR ------------------------------------------------------------------------------------------------ */

/* Has the cache line loaded that lies so many bytes behind an address, which may be outside of any array. */
SPMV__INLINE void spmv__prefetch(const void *at, uint64_t bytes)
{
#ifdef __GNUC__
    __builtin_prefetch((const void *)((uintptr_t)at + (uintptr_t)bytes));
#else
    (void)at;
    (void)bytes;
#endif
}

/* Entry i of an index array as a zero-based number. A negative one becomes larger than any matrix. */
static uint64_t spmv__index(const void *array, int bits, int base, uint64_t i)
{
    int64_t v = bits == 64 ? ((const int64_t *)array)[i] : (int64_t)((const uint32_t *)array)[i];
    return v < base ? UINT64_MAX : (uint64_t)(v - base);
}

/* Entry i as the caller wrote it, for messages. */
static int64_t spmv__raw_index(const void *array, int bits, uint64_t i)
{
    return bits == 64 ? ((const int64_t *)array)[i] : (int64_t)((const int32_t *)array)[i];
}

static double spmv__value(const void *val, spmv_type type, uint64_t i)
{
    if (!val) return 1.0;
    return spmv_value_size(type) == sizeof(double) ? ((const double *)val)[i] : (double)((const float *)val)[i];
}

static void spmv__store_value(void *val, spmv_type type, uint64_t i, double v)
{
    if (spmv_value_size(type) == sizeof v) ((double *)val)[i] = v;
    else ((float *)val)[i] = (float)v;
}

/* The caller's value with number source, negated where SPMV_NEGATED is set. */
static double spmv__signed_value(const void *val, spmv_type type, uint64_t source)
{
    double v = spmv__value(val, type, source & ~SPMV_NEGATED);
    return source & SPMV_NEGATED ? -v : v;
}

enum {
    SPMV__IMPORT_BATCH = 64,    /* entries: enough to load the memory of all of them at once */
    SPMV__IMPORT_BANDS = 256,   /* the most bands that entries are dealt to, so few that the caches hold a line of each */
    SPMV__IMPORT_NEAR = 8 << 20 /* bytes of entries up to which caches hold them all */
};

/* Entries that are read, counted or placed together: where they are in the CSR matrix, and the numbers of the caller's values. */
typedef struct spmv__import_batch {
    uint64_t n, source[SPMV__IMPORT_BATCH], slot[SPMV__IMPORT_BATCH];
    uint32_t row[SPMV__IMPORT_BATCH], col[SPMV__IMPORT_BATCH];
} spmv__import_batch;

/* The work of spmv_csr_create. A line is a row, column or block row of the input, whichever its pointers count. */
typedef struct spmv__import {
    const spmv_input *in;
    const spmv_hooks *hooks;
    int       ptr_bits, index_bits;
    const void *index;             /* CSR, CSC, BSR: the indices within a line; COO: NULL */
    uint64_t  lines, inner;        /* CSR, CSC, BSR: number of lines, and the bound that indices must stay below */
    int       by_columns;          /* 1: lines are columns of the CSR matrix */
    uint64_t  rows, cols, entries; /* shape of the CSR matrix; number of values of in, with blocks expanded */
    uint64_t  first, end;          /* the entries (BSR: blocks) that a pass takes */
    spmv__import_batch *batch;     /* two: entries (BSR: blocks) as they were read, and what they were expanded to */
    uint64_t  line;                /* CSR, CSC, BSR: the line that holds the entry read last */
    int       band;                /* entries are dealt to bands of 2^band rows first; 0: they go to their rows at once */
    uint64_t  bands;
    uint64_t *count;               /* bands: in the counting pass entries of each band, then where the next entry of a band goes */
    uint32_t *row;                 /* with bands of several rows, the row of each entry placed */
    uint32_t *col;                 /* NULL in the counting pass */
    void     *val;                 /* the value of each entry placed */
    spmv_type type;                /* of val */
    uint64_t *order;               /* if updatable, the number of the caller's value for each entry placed; else NULL */
    int       half;                /* with symmetry, the half that was given: -1 below the diagonal, 1 above it, 0 not known yet */
    uint64_t  half_entry;          /* the first entry (BSR: block) in that half */
    const uint64_t *ptr;           /* the row pointers, once all entries are placed */
    uint64_t  tasks;               /* that share the work, each with a copy of this */
    uint64_t  longest;             /* entries of the longest row that is not in order */
    spmv_status status;
} spmv__import;

/* Reports entry i of an index array, which is to be below limit. line: what its pointers count, "row", and which of them it is in; NULL for
 * COO, which has none. */
static spmv_status spmv__bad_index(const spmv__import *work, const char *what, const void *array, uint64_t i, uint64_t limit,
                                   const char *line, uint64_t o)
{
    long long v = spmv__raw_index(array, work->index_bits, i);
    uint64_t low = (uint64_t)work->in->base;
    char where[40] = "";
    if (line) spmv_print(where, sizeof where, " in %s %llu", line, (spmv__ull)(o + low));
    if (!limit)
        return spmv_log(work->hooks, SPMV_ERR_INDEX, "entry %llu%s: %s index %lld, but the matrix has no %ss", (spmv__ull)i, where, what, v,
                        what);
    return spmv_log(work->hooks, SPMV_ERR_INDEX, "entry %llu%s: %s index %lld is outside %llu .. %llu", (spmv__ull)i, where, what, v,
                    (spmv__ull)low, (spmv__ull)(limit - 1 + low));
}

/* Refuses entry (BSR: block) i at row r and column c if it lies in the other half than the entries before it. */
static spmv_status spmv__import_half(spmv__import *work, uint64_t r, uint64_t c, uint64_t i)
{
    const char *what = work->in->form == SPMV_IN_BSR ? "block" : "entry";
    const spmv__ull base = (spmv__ull)work->in->base, row = work->in->transpose ? c : r, col = work->in->transpose ? r : c;
    int half = r > c ? -1 : r < c;
    if (!half || half == work->half) return SPMV_OK;
    if (work->half)
        return spmv_log(work->hooks, SPMV_ERR_INDEX,
                        "%s %llu at row %llu, column %llu lies %s the diagonal, but %s %llu lies %s it: give only "
                        "one half of a symmetric or skew-symmetric matrix", what, (spmv__ull)i, row + base, col + base,
                        row > col ? "below" : "above", what, (spmv__ull)work->half_entry, row > col ? "above" : "below");
    work->half = half;
    work->half_entry = i;
    return SPMV_OK;
}

/* Refuses a value on the diagonal, at row r, that is not zero if the matrix is skew-symmetric. */
static spmv_status spmv__import_diagonal(const spmv__import *work, uint64_t r, uint64_t source)
{
    const spmv_input *in = work->in;
    if (in->symmetry != SPMV_SKEW || spmv__value(in->val, in->val_type, source) == 0) return SPMV_OK;
    return spmv_log(work->hooks, SPMV_ERR_ARGUMENT, "value %llu, at row and column %llu, is not zero, but lies on the diagonal of a "
                    "skew-symmetric matrix", (spmv__ull)source, (spmv__ull)(r + (uint64_t)in->base));
}

/* Puts the values of a batch into their slots; inlined, so that the types are known where they are constants. */
SPMV__INLINE void spmv__import_values(const spmv__import *work, const spmv__import_batch *batch, spmv_type from, spmv_type to)
{
    uint64_t i;
    for (i = 0; i < batch->n; i++)
        spmv__store_value(work->val, to, batch->slot[i], spmv__signed_value(work->in->val, from, batch->source[i]));
}

/* Places the entries of a batch. The memory for all of them is loaded first: rows that are filled in turn lie far apart. */
static void spmv__import_store(const spmv__import *work, spmv__import_batch *batch)
{
    const spmv_input *in = work->in;
    const uint64_t size = spmv_value_size(work->type);
    uint64_t i;
    for (i = 0; i < batch->n; i++) {
        batch->slot[i] = work->count[batch->row[i] >> work->band]++;
        spmv__prefetch(work->col, batch->slot[i] * sizeof *work->col);
        spmv__prefetch(work->val, batch->slot[i] * size);
    }
    for (i = 0; i < batch->n; i++) work->col[batch->slot[i]] = batch->col[i];
    for (i = 0; work->row && i < batch->n; i++) work->row[batch->slot[i]] = batch->row[i];
    if (work->type == SPMV_F64 && in->val_type == SPMV_F64) spmv__import_values(work, batch, SPMV_F64, SPMV_F64);
    else if (work->type == SPMV_F32 && in->val_type == SPMV_F32) spmv__import_values(work, batch, SPMV_F32, SPMV_F32);
    else spmv__import_values(work, batch, in->val_type, work->type);
    for (i = 0; work->order && i < batch->n; i++) work->order[batch->slot[i]] = batch->source[i];
}

/* Counts the entries of the batch in the first pass, places them in their bands in the second. */
static void spmv__import_flush(const spmv__import *work, spmv__import_batch *batch)
{
    uint64_t i;
    if (work->col) spmv__import_store(work, batch);
    else for (i = 0; i < batch->n; i++) work->count[batch->row[i] >> work->band]++;
    batch->n = 0;
}

/* Takes one entry of the CSR matrix. */
static void spmv__import_place(spmv__import *work, uint64_t r, uint64_t c, uint64_t source)
{
    spmv__import_batch *batch = work->batch + 1;
    batch->row[batch->n] = (uint32_t)r;
    batch->col[batch->n] = (uint32_t)c;
    batch->source[batch->n] = source;
    if (++batch->n == SPMV__IMPORT_BATCH) spmv__import_flush(work, batch);
}

/* Takes an entry and its mirror image. */
static void spmv__import_both(spmv__import *work, uint64_t r, uint64_t c, uint64_t source)
{
    spmv__import_place(work, r, c, source);
    spmv__import_place(work, c, r, work->in->symmetry == SPMV_SKEW ? source | SPMV_NEGATED : source);
}

/* Takes one entry of COO, CSR or CSC of a matrix with symmetry, and its mirror image if it has one. */
static spmv_status spmv__import_mirrored(spmv__import *work, uint64_t r, uint64_t c, uint64_t source)
{
    spmv_status s = SPMV_OK;
    if (!work->col) s = r == c ? spmv__import_diagonal(work, r, source) : spmv__import_half(work, r, c, source);
    if (s) return s;
    if (r == c) spmv__import_place(work, r, c, source);
    else spmv__import_both(work, r, c, source);
    return SPMV_OK;
}

/* The number of the caller's value at row i and column j of a block. */
static uint64_t spmv__block_value(const spmv_input *in, uint64_t block, uint64_t i, uint64_t j)
{
    uint64_t bh = (uint64_t)in->block_rows, bw = (uint64_t)in->block_cols;
    return block * bh * bw + (in->block_by_columns ? j * bh + i : i * bw + j);
}

/* Refuses a block on the diagonal of a symmetric (skew-symmetric) matrix that is not symmetric (skew-symmetric) itself. */
static spmv_status spmv__import_diagonal_block(const spmv__import *work, uint64_t block_row, uint64_t block)
{
    const spmv_input *in = work->in;
    uint64_t n = (uint64_t)in->block_rows, first = block_row * n, i, j;
    for (i = 0; i < n; i++) {
        spmv_status s = spmv__import_diagonal(work, first + i, spmv__block_value(in, block, i, i));
        if (s) return s;
        for (j = 0; j < i; j++) {
            double below = spmv__value(in->val, in->val_type, spmv__block_value(in, block, i, j));
            double above = spmv__value(in->val, in->val_type, spmv__block_value(in, block, j, i));
            if (below == (in->symmetry == SPMV_SKEW ? -above : above) || (below != below && above != above)) continue;
            return spmv_log(work->hooks, SPMV_ERR_ARGUMENT,
                            "block %llu lies on the diagonal but is not %s in itself: row %llu, column %llu "
                            "has no counterpart in it", (spmv__ull)block, in->symmetry == SPMV_SKEW ? "skew-symmetric" : "symmetric",
                            (spmv__ull)(first + i + (uint64_t)in->base), (spmv__ull)(first + j + (uint64_t)in->base));
        }
    }
    return SPMV_OK;
}

/* Takes the entries of one block of BSR, and their mirror images where in->symmetry is set. */
static spmv_status spmv__import_block(spmv__import *work, uint64_t block_row, uint64_t block_col, uint64_t block)
{
    const spmv_input *in = work->in;
    const int turn = in->transpose != 0, mirror = in->symmetry && block_row != block_col;
    uint64_t bh = (uint64_t)in->block_rows, bw = (uint64_t)in->block_cols, i, j;
    spmv_status s = SPMV_OK;
    if (in->symmetry && !work->col)
        s = mirror ? spmv__import_half(work, turn ? block_col : block_row, turn ? block_row : block_col, block)
                   : spmv__import_diagonal_block(work, block_row, block);
    for (i = 0; i < bh && !s; i++)
        for (j = 0; j < bw; j++) {
            uint64_t r = block_row * bh + i, c = block_col * bw + j, source = spmv__block_value(in, block, i, j);
            if (mirror) spmv__import_both(work, turn ? c : r, turn ? r : c, source);
            else spmv__import_place(work, turn ? c : r, turn ? r : c, source);
        }
    return s;
}

/* The line that holds entry i: the first that ends behind it. */
static uint64_t spmv__import_line(const spmv__import *work, uint64_t i)
{
    uint64_t low = 0, high = work->lines;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (spmv__index(work->in->ptr, work->ptr_bits, work->in->base, middle + 1) > i) high = middle;
        else low = middle + 1;
    }
    return low;
}

/* Reads n indices of so many bits from number first on, until one is not below limit; returns how many are. */
SPMV__INLINE uint64_t spmv__import_indices_of(const void *array, int bits, int base, uint64_t first, uint64_t n, uint64_t limit,
                                              uint32_t *out)
{
    uint64_t i;
    for (i = 0; i < n; i++) {
        const uint64_t v = spmv__index(array, bits, base, first + i);
        if (v >= limit) return i;
        out[i] = (uint32_t)v;
    }
    return n;
}

static uint64_t spmv__import_indices(const spmv__import *work, const void *array, uint64_t first, uint64_t n, uint64_t limit, uint32_t *out)
{
    if (work->index_bits == 64) return spmv__import_indices_of(array, 64, work->in->base, first, n, limit, out);
    return spmv__import_indices_of(array, 32, work->in->base, first, n, limit, out);
}

/* Sets the line of each of n entries from number first on. */
static void spmv__import_line_numbers(spmv__import *work, uint64_t first, uint64_t n, uint32_t *out)
{
    uint64_t i, k, end;
    for (i = 0; i < n; i = k) {
        end = spmv__index(work->in->ptr, work->ptr_bits, work->in->base, work->line + 1) - first;
        for (k = i; k < n && k < end; k++) out[k] = (uint32_t)work->line;
        if (k < n) work->line++;
    }
}

/* Reads n entries from number first on as a batch, until an index is outside the matrix. counts: only their rows are needed. */
static void spmv__import_read(spmv__import *work, uint64_t first, uint64_t n, int counts)
{
    const spmv_input *in = work->in;
    spmv__import_batch *batch = work->batch;
    uint64_t i;
    if (in->form == SPMV_IN_COO) {
        batch->n = spmv__import_indices(work, in->transpose ? in->col : in->row, first, n, work->rows, batch->row);
        batch->n = spmv__import_indices(work, in->transpose ? in->row : in->col, first, batch->n, work->cols, batch->col);
    } else {
        batch->n = spmv__import_indices(work, work->index, first, n, work->inner, work->by_columns ? batch->row : batch->col);
        if (!counts || !work->by_columns)
            spmv__import_line_numbers(work, first, batch->n, work->by_columns ? batch->col : batch->row);
    }
    for (i = 0; i < batch->n && !counts; i++) batch->source[i] = first + i;
}

/* Reports entry i, one index of which is outside the matrix. */
static spmv_status spmv__import_outside(const spmv__import *work, uint64_t i)
{
    const spmv_input *in = work->in;
    const int csc = in->form == SPMV_IN_CSC, bsr = in->form == SPMV_IN_BSR;
    if (in->form != SPMV_IN_COO)
        return spmv__bad_index(work, csc ? "row" : bsr ? "block column" : "column", work->index, i, work->inner,
                               csc ? "column" : bsr ? "block row" : "row", spmv__import_line(work, i));
    if (spmv__index(in->row, work->index_bits, in->base, i) >= (uint64_t)in->rows)
        return spmv__bad_index(work, "row", in->row, i, (uint64_t)in->rows, NULL, 0);
    return spmv__bad_index(work, "column", in->col, i, (uint64_t)in->cols, NULL, 0);
}

/* Takes entry (block) i of those read. */
static spmv_status spmv__import_take(spmv__import *work, uint64_t i)
{
    const spmv__import_batch *batch = work->batch;
    if (work->in->form != SPMV_IN_BSR) return spmv__import_mirrored(work, batch->row[i], batch->col[i], batch->source[i]);
    return spmv__import_block(work, work->by_columns ? batch->col[i] : batch->row[i], work->by_columns ? batch->row[i] : batch->col[i],
                              batch->source[i]);
}

/* One pass over the entries, whose indices are checked; the pointers have been checked before. */
static spmv_status spmv__import_pass(spmv__import *work)
{
    const int plain = !work->in->symmetry && work->in->form != SPMV_IN_BSR;
    uint64_t i, k, n, read;
    spmv_status s = SPMV_OK;
    work->line = spmv__import_line(work, work->first);
    for (i = work->first; i < work->end && !s; i += n) {
        n = spmv__smaller(work->end - i, SPMV__IMPORT_BATCH);
        spmv__import_read(work, i, n, plain && !work->col);
        read = work->batch->n;
        for (k = 0; k < read && !plain && !s; k++) s = spmv__import_take(work, k);
        if (plain) spmv__import_flush(work, work->batch);
        if (!s && read < n) s = spmv__import_outside(work, i + read);
    }
    spmv__import_flush(work, work->batch + 1);
    return s;
}

/* Checks the members of the input that are not arrays. */
static spmv_status spmv__import_settings(const spmv__import *work)
{
    const spmv_input *in = work->in;
    const spmv_hooks *hooks = work->hooks;
    if (in->rows < 0 || in->cols < 0 || in->rows > 0xfffffffe || in->cols > 0xfffffffe)
        return spmv_log(hooks, SPMV_ERR_ARGUMENT, "rows and cols must lie in 0 .. 4294967294, not %lld and %lld", (long long)in->rows,
                        (long long)in->cols);
    if ((unsigned)in->form > SPMV_IN_BSR) return spmv_log(hooks, SPMV_ERR_ARGUMENT, "form %d is unknown", (int)in->form);
    if ((work->ptr_bits != 32 && work->ptr_bits != 64) || (work->index_bits != 32 && work->index_bits != 64))
        return spmv_log(hooks, SPMV_ERR_ARGUMENT, "ptr_bits and index_bits must be 32 or 64 (or 0 for 32)");
    if (in->base != 0 && in->base != 1) return spmv_log(hooks, SPMV_ERR_ARGUMENT, "base must be 0 or 1, not %d", in->base);
    if (in->val_type != SPMV_F64 && in->val_type != SPMV_F32)
        return spmv_log(hooks, SPMV_ERR_ARGUMENT, "val_type must be SPMV_F64, SPMV_F32 or 0");
    if (in->nnz < 0) return spmv_log(hooks, SPMV_ERR_ARGUMENT, "nnz is negative");
    if (in->drop_zeros && in->updatable)
        return spmv_log(hooks, SPMV_ERR_ARGUMENT,
                        "drop_zeros and updatable exclude each other: dropped entries have no place for new values");
    if (in->form == SPMV_IN_BSR &&
        (in->block_rows < 1 || in->block_cols < 1 || in->rows % in->block_rows || in->cols % in->block_cols))
        return spmv_log(hooks, SPMV_ERR_ARGUMENT,
                        "rows and cols must be multiples of block_rows and block_cols, which are %d x %d and must be "
                        "positive", in->block_rows, in->block_cols);
    if ((unsigned)in->symmetry > SPMV_SKEW) return spmv_log(hooks, SPMV_ERR_ARGUMENT, "symmetry %d is unknown", (int)in->symmetry);
    if (in->symmetry && in->rows != in->cols)
        return spmv_log(hooks, SPMV_ERR_ARGUMENT, "a symmetric or skew-symmetric matrix is square, not %llu x %llu", (spmv__ull)in->rows,
                        (spmv__ull)in->cols);
    if (in->symmetry && in->form == SPMV_IN_BSR && in->block_rows != in->block_cols)
        return spmv_log(hooks, SPMV_ERR_ARGUMENT, "blocks of a symmetric or skew-symmetric matrix are square, not %d x %d", in->block_rows,
                        in->block_cols);
    return SPMV_OK;
}

/* Reports pointer i: the first is not the base, or it is negative, too large, or below the one before. */
static spmv_status spmv__bad_pointer(const spmv__import *work, uint64_t i, int below)
{
    const long long v = spmv__raw_index(work->in->ptr, work->ptr_bits, i);
    if (below)
        return spmv_log(work->hooks, SPMV_ERR_INDEX, "pointer %llu is %llu, but pointer %llu is %llu", (spmv__ull)i,
                        (spmv__ull)(spmv__index(work->in->ptr, work->ptr_bits, 0, i)), (spmv__ull)(i - 1),
                        (spmv__ull)(spmv__index(work->in->ptr, work->ptr_bits, 0, i - 1)));
    if (!i) return spmv_log(work->hooks, SPMV_ERR_INDEX, "pointer 0 is %lld, but matrix.base is %d", v, work->in->base);
    return spmv_log(work->hooks, SPMV_ERR_INDEX, "pointer %llu is %lld, which is negative or above nnz%s", (spmv__ull)i, v,
                    work->ptr_bits == 32 && !work->in->nnz ? " (a pointer above 2^31 - 1 needs matrix.nnz)" : "");
}

/* Checks the pointers of CSR, CSC or BSR and sets the number of entries. */
static spmv_status spmv__import_pointers(spmv__import *work)
{
    const spmv_input *in = work->in;
    const spmv_hooks *hooks = work->hooks;
    const uint64_t signed_most = work->ptr_bits == 32 ? 0x7fffffff : INT64_MAX; /* above it is a negative one, unless nnz is as large */
    const uint64_t most = (uint64_t)in->nnz > signed_most ? (uint64_t)in->nnz : signed_most;
    uint64_t i, last = 0, per = 1;
    if (in->form == SPMV_IN_BSR) per = (uint64_t)in->block_rows * (uint64_t)in->block_cols;
    if (!in->ptr) {
        if (work->lines || in->nnz) return spmv_log(hooks, SPMV_ERR_ARGUMENT, "matrix.ptr is NULL");
        return SPMV_OK;
    }
    for (i = 0; i <= work->lines; i++) {
        uint64_t p = spmv__index(in->ptr, work->ptr_bits, in->base, i);
        if (p < last || p > most || (!i && p)) return spmv__bad_pointer(work, i, p < last);
        last = p;
    }
    if (in->nnz && last != (uint64_t)in->nnz)
        return spmv_log(hooks, SPMV_ERR_INDEX, "the last pointer counts %llu entries, but nnz is %llu", (spmv__ull)last,
                        (spmv__ull)in->nnz);
    if (last && !work->index) return spmv_log(hooks, SPMV_ERR_ARGUMENT, "matrix.%s is NULL", in->form == SPMV_IN_CSC ? "row" : "col");
    work->end = last;
    work->entries = spmv__sat_mul(last, per);
    if (work->entries == UINT64_MAX) return spmv_log(hooks, SPMV_ERR_OVERFLOW, "the blocks hold more than 2^64 values");
    return SPMV_OK;
}

/* Checks everything but pointers and indices, and sets the members of work that describe the input and the CSR matrix. */
static spmv_status spmv__import_shape(spmv__import *work)
{
    const spmv_input *in = work->in;
    int bsr = in->form == SPMV_IN_BSR;
    uint64_t rows = (uint64_t)in->rows, cols = (uint64_t)in->cols;
    spmv_status s = spmv__import_settings(work);
    if (s) return s;
    work->rows = in->transpose ? cols : rows;
    work->cols = in->transpose ? rows : cols;
    if (in->form == SPMV_IN_COO) {
        work->entries = work->end = (uint64_t)in->nnz;
        if (work->entries && (!in->row || !in->col))
            return spmv_log(work->hooks, SPMV_ERR_ARGUMENT, "matrix.%s is NULL", in->row ? "col" : "row");
        if (in->ptr) return spmv_log(work->hooks, SPMV_ERR_ARGUMENT, "matrix.ptr must be NULL with SPMV_IN_COO");
        return SPMV_OK;
    }
    work->index = in->form == SPMV_IN_CSC ? in->row : in->col;
    work->lines = in->form == SPMV_IN_CSC ? cols : bsr ? rows / (uint64_t)in->block_rows : rows;
    work->inner = in->form == SPMV_IN_CSC ? rows : bsr ? cols / (uint64_t)in->block_cols : cols;
    work->by_columns = (in->form == SPMV_IN_CSC) != (in->transpose != 0);
    return SPMV_OK;
}

/* Checks everything but the indices themselves. */
static spmv_status spmv__import_check(spmv__import *work)
{
    spmv_status s = spmv__import_shape(work);
    return s || work->in->form == SPMV_IN_COO ? s : spmv__import_pointers(work);
}

/* What the shares that check the columns of all rows have in common: which of them has a row whose columns do not rise or lie outside. */
typedef struct spmv__import_order {
    const spmv__import *work;
    uint64_t            shares;
    uint8_t             broken[SPMV__MOST_SHARES];
} spmv__import_order;

static void spmv__import_order_share(void *job, uint64_t share)
{
    spmv__import_order *order = (spmv__import_order *)job;
    const spmv__import *work = order->work;
    const spmv_input *in = work->in;
    uint64_t r = work->rows / order->shares * share + work->rows % order->shares * share / order->shares, i, end;
    const uint64_t stop = work->rows / order->shares * (share + 1) + work->rows % order->shares * (share + 1) / order->shares;
    for (; r < stop; r++) {
        uint64_t next = 0;
        end = spmv__index(in->ptr, work->ptr_bits, in->base, r + 1);
        for (i = spmv__index(in->ptr, work->ptr_bits, in->base, r); i < end; i++) {
            uint64_t c = spmv__index(work->index, work->index_bits, in->base, i);
            if (c < next || c >= work->cols) {
                order->broken[share] = 1;
                return;
            }
            next = c + 1;
        }
    }
}

/* 1 if the lines are the rows of the CSR matrix and are sorted already, so that they can be copied: CSR, or CSC to be transposed. */
SPMV__APART int spmv__import_in_order(const spmv__import *work)
{
    const spmv_input *in = work->in;
    spmv__import_order order;
    uint64_t i, broken = 0;
    if ((in->form != SPMV_IN_CSR && in->form != SPMV_IN_CSC) || work->by_columns || in->drop_zeros || in->symmetry || !in->ptr) return 0;
    memset(&order, 0, sizeof order);
    order.work = work;
    order.shares = spmv__share_count(work->rows + work->entries);
    spmv__share_out(spmv__import_order_share, &order, order.shares);
    for (i = 0; i < order.shares; i++) broken += order.broken[i];
    return !broken;
}

/* Borrows, copies or converts the values of an input that is in order. */
static spmv_status spmv__import_copy_values(spmv_csr *out, const spmv_input *in)
{
    void *val;
    uint64_t i;
    size_t size = spmv_value_size(out->type);
    spmv_status s;
    if (in->borrow && in->val && in->val_type == out->type) {
        out->val = in->val;
        return SPMV_OK;
    }
    s = spmv__new(&out->hooks, &val, out->nnz, size, 0);
    if (s) return s;
    out->val = val;
    out->owned |= 4u;
    if (in->val && in->val_type == out->type && out->nnz) memcpy(val, in->val, (size_t)out->nnz * size);
    else for (i = 0; i < out->nnz; i++) spmv__store_value(val, out->type, i, spmv__value(in->val, in->val_type, i));
    return SPMV_OK;
}

/* Borrows, copies or converts the arrays of an input that is in order. */
static spmv_status spmv__import_copy(spmv_csr *out, const spmv__import *work)
{
    const spmv_input *in = work->in;
    void *block;
    uint64_t i;
    spmv_status s = SPMV_OK;
    out->nnz = work->entries;
    if (in->borrow && work->ptr_bits == 64 && in->base == 0) {
        out->ptr = (const uint64_t *)in->ptr;
    } else {
        s = spmv__new(work->hooks, &block, work->rows + 1, 8, 0);
        if (s) return s;
        for (i = 0; i <= work->rows; i++) ((uint64_t *)block)[i] = spmv__index(in->ptr, work->ptr_bits, in->base, i);
        out->ptr = (const uint64_t *)block;
        out->owned |= 1u;
    }
    if (in->borrow && work->index_bits == 32 && in->base == 0) {
        out->col = (const uint32_t *)work->index;
    } else {
        s = spmv__new(work->hooks, &block, work->entries, 4, 0);
        if (s) return s;
        out->col = (const uint32_t *)block;
        out->owned |= 2u;
        for (i = 0; i < work->entries; i++) ((uint32_t *)block)[i] = (uint32_t)spmv__index(work->index, work->index_bits, in->base, i);
    }
    return spmv__import_copy_values(out, in);
}

/* 1 if the columns of a row rise, so that it has no duplicates. */
static int spmv__import_rises(const spmv__import *work, uint64_t r)
{
    uint64_t i;
    for (i = work->ptr[r] + 1; i < work->ptr[r + 1] && work->col[i - 1] < work->col[i]; i++) {}
    return i >= work->ptr[r + 1];
}

/* Finds the longest row that is not in order among a task's. */
static void spmv__import_unsorted(void *tasks, uint64_t t)
{
    spmv__import *work = (spmv__import *)tasks + t;
    uint64_t r = spmv__share_row(work->ptr, work->rows, t, work->tasks), end = spmv__share_row(work->ptr, work->rows, t + 1, work->tasks);
    for (; r < end; r++)
        if (work->ptr[r + 1] - work->ptr[r] > work->longest && !spmv__import_rises(work, r))
            work->longest = work->ptr[r + 1] - work->ptr[r];
}

/* Moves n elements of some bytes to where the sorted pairs say they belong; room holds them meanwhile. */
static void spmv__import_move(void *elements, size_t bytes, const spmv__pair *pair, uint64_t n, void *room)
{
    uint64_t i;
    for (i = 0; i < n; i++) memcpy((char *)room + i * bytes, (char *)elements + pair[i].load * bytes, bytes);
    memcpy(elements, room, (size_t)(n * bytes));
}

/* Sorts each row by column, and entries of one column in the order given. */
static spmv_status spmv__import_sort(spmv__import *work)
{
    const size_t bytes = spmv_value_size(work->type);
    void *block;
    spmv__pair *pair;
    uint64_t r, i;
    spmv_status s = spmv__room(work->hooks, &block, work->longest, sizeof *pair + 8);
    if (s || !block) return s;
    pair = (spmv__pair *)block;
    for (r = 0; r < work->rows; r++) {
        const uint64_t first = work->ptr[r], n = work->ptr[r + 1] - first;
        if (spmv__import_rises(work, r)) continue;
        for (i = 0; i < n; i++) {
            pair[i].key = work->col[first + i];
            pair[i].load = i;
        }
        spmv__sort(pair, n);
        for (i = 0; i < n; i++) work->col[first + i] = (uint32_t)pair[i].key;
        spmv__import_move((char *)work->val + first * bytes, bytes, pair, n, pair + n);
        if (work->order) spmv__import_move(work->order + first, 8, pair, n, pair + n);
    }
    spmv_free(work->hooks, block);
    return SPMV_OK;
}

/* Refuses a second entry at row r and column c of the CSR matrix; the message says where it is in the caller's matrix. */
static spmv_status spmv__import_twice(const spmv__import *work, uint64_t r, uint64_t c)
{
    const spmv__ull base = (spmv__ull)work->in->base;
    int mirrored = work->half < 0 ? r < c : work->half > 0 && r > c, turn = (work->in->transpose != 0) != mirrored;
    return spmv_log(work->hooks, SPMV_ERR_DUPLICATE, "row %llu, column %llu occurs twice", (turn ? c : r) + base, (turn ? r : c) + base);
}

/* Sums duplicates and drops zeros as the input says, in place. Rewrites ptr; from (or NULL) becomes the values of each nonzero, as in
 * spmv_csr. */
static spmv_status spmv__import_merge(spmv_csr *out, spmv__import *work, uint64_t *ptr, uint64_t *from, void *val)
{
    const spmv_input *in = work->in;
    uint64_t r, i = 0, k = 0, used = 0;
    for (r = 0; r < work->rows; r++) {
        uint64_t end = ptr[r + 1];
        ptr[r] = k;
        while (i < end) {
            uint64_t first = i, kept = used;
            double sum = 0;
            if (in->duplicates == SPMV_DUP_REFUSE && i + 1 < end && work->col[i + 1] == work->col[i])
                return spmv__import_twice(work, r, work->col[i]);
            for (; i < end && work->col[i] == work->col[first]; i++) {
                double v = spmv__value(work->val, work->type, i);
                sum = i == first ? v : sum + v;
                if (from) work->order[used] = work->order[i];
                used++;
            }
            if (in->drop_zeros && sum == 0) {
                used = kept;
                continue;
            }
            work->col[k] = work->col[first];
            spmv__store_value(val, out->type, k, sum);
            if (from) from[k] = kept;
            k++;
        }
    }
    ptr[work->rows] = k;
    if (from) from[k] = used;
    out->nnz = k;
    return SPMV_OK;
}

/* Makes the tasks of an import, each with a stretch of the entries and a count for each band. The last one's counts are ptr, which is 0, if
 * bands are rows; those of the others take at most half as much memory as columns and values in f32. */
static spmv_status spmv__import_deal(spmv__import *work, uint64_t *ptr, const spmv_hooks *quiet, spmv__import **task)
{
    const uint64_t n = spmv__share_threads(spmv__share_count(work->entries), 1 + work->entries / (2 * work->bands + 1));
    void *block;
    uint64_t t;
    const uint64_t counts = (n - !work->band) * work->bands * 8;
    spmv_status s = spmv__new(work->hooks, &block, 1, n * (sizeof *work + 2 * sizeof *work->batch) + counts, 0);
    if (s) return s;
    *task = (spmv__import *)block;
    work->tasks = n;
    work->count = ptr;
    work->batch = (spmv__import_batch *)(*task + n);
    for (t = 0; t < n; t++) {
        (*task)[t] = *work;
        (*task)[t].hooks = quiet;
        (*task)[t].first = work->end / n * t + work->end % n * t / n;
        (*task)[t].end = work->end / n * (t + 1) + work->end % n * (t + 1) / n;
        (*task)[t].batch = work->batch + 2 * t;
        if (t + 1 < n || work->band) (*task)[t].count = (uint64_t *)(work->batch + 2 * n) + t * work->bands;
    }
    return SPMV_OK;
}

/* Counts or places a task's entries. */
static void spmv__import_work(void *tasks, uint64_t t)
{
    spmv__import *task = (spmv__import *)tasks + t;
    task->status = spmv__import_pass(task);
}

/* 1 if no task has found fault, and those that have met entries off the diagonal of a half agree on which half it is. */
static int spmv__import_agree(spmv__import *work, const spmv__import *task)
{
    int half = 0;
    uint64_t t;
    for (t = 0; t < work->tasks; t++) {
        if (task[t].status || half * task[t].half < 0) return 0;
        if (task[t].half) half = task[t].half;
    }
    work->half = half; /* for what is said about an entry that is there twice */
    return 1;
}

/* Makes the numbers of entries that the tasks have counted the places of the first that each puts in each band. */
static void spmv__import_places(const spmv__import *work, spmv__import *task)
{
    uint64_t b, t, sum = 0;
    for (b = 0; b < work->bands; b++)
        for (t = 0; t < work->tasks; t++) {
            uint64_t n = task[t].count[b];
            task[t].count[b] = sum;
            sum += n;
        }
}

/* 1 if entries that follow one another go to rows all over the matrix: of 16 stretches of 1024 a quarter or more to rows that are not near
 * those of others. */
static int spmv__import_scatters(const spmv__import *work)
{
    const spmv_input *in = work->in;
    const void *row = in->form != SPMV_IN_COO ? work->by_columns ? work->index : NULL : in->transpose ? in->col : in->row;
    uint8_t seen[4096];
    uint64_t stretch, i, apart = 0;
    if (!row || in->form == SPMV_IN_BSR || work->entries < 16 * 1024) return 0;
    for (stretch = 0; stretch < 16; stretch++) {
        memset(seen, 0, sizeof seen);
        for (i = 0; i < 1024; i++) {
            const uint64_t r = spmv__index(row, work->index_bits, in->base, work->entries / 16 * stretch + i) / 16 % sizeof seen;
            apart += !seen[r];
            seen[r] = 1;
        }
    }
    return apart > 16 * 1024 / 4;
}

/* Decides whether entries go to bands of several rows first: where they would be strewn over more memory than caches hold. Then *room is
 * taken for them, if there is as much. */
static void spmv__import_choose_bands(spmv__import *work, uint64_t most, const spmv_hooks *quiet, void **room)
{
    const uint64_t bytes = 8 + spmv_value_size(work->type) + (work->order ? 8u : 0);
    work->bands = work->rows;
    *room = NULL;
    if (work->rows <= SPMV__IMPORT_BANDS || spmv__sat_mul(work->entries, bytes) < SPMV__IMPORT_NEAR || !spmv__import_scatters(work)) return;
    if (spmv__room(quiet, room, most, bytes)) return;
    while (work->rows > (uint64_t)SPMV__IMPORT_BANDS << work->band) work->band++;
    work->bands = spmv__ceil_div(work->rows, (uint64_t)1 << work->band);
}

/* Has a task place its entries there. */
static void spmv__import_lay_bands(spmv__import *task, void *room, uint64_t most)
{
    char *at = (char *)room;
    if (task->order) {
        task->order = (uint64_t *)room;
        at += most * 8;
    }
    task->val = at;
    task->row = (uint32_t *)(void *)(at + most * spmv_value_size(task->type));
    task->col = task->row + most;
}

/* What the shares have in common that place the entries of a band in their rows. */
typedef struct spmv__import_bands {
    const spmv__import *from, *to; /* from: by bands, to: by rows */
    const uint64_t     *end;       /* of each band */
    uint64_t           *ptr;       /* 0; then the end of each row */
} spmv__import_bands;

SPMV__INLINE void spmv__import_band_values(const spmv__import_bands *bands, uint64_t i, uint64_t end, spmv_type type)
{
    for (; i < end; i++) {
        const uint64_t slot = bands->ptr[bands->from->row[i]]++;
        bands->to->col[slot] = bands->from->col[i];
        spmv__store_value(bands->to->val, type, slot, spmv__value(bands->from->val, type, i));
        if (bands->to->order) bands->to->order[slot] = bands->from->order[i];
    }
}

static void spmv__import_band(void *job, uint64_t band)
{
    const spmv__import_bands *bands = (const spmv__import_bands *)job;
    const uint64_t begin = band ? bands->end[band - 1] : 0, end = bands->end[band];
    const uint64_t stop = spmv__smaller((band + 1) << bands->from->band, bands->from->rows);
    uint64_t i, r, sum = begin;
    for (i = begin; i < end; i++) bands->ptr[bands->from->row[i]]++;
    for (r = band << bands->from->band; r < stop; r++) {
        const uint64_t n = bands->ptr[r];
        bands->ptr[r] = sum;
        sum += n;
    }
    if (bands->from->type == SPMV_F64) spmv__import_band_values(bands, begin, end, SPMV_F64);
    else spmv__import_band_values(bands, begin, end, SPMV_F32);
}

/* Places what the tasks have dealt to bands in the rows. */
static void spmv__import_rows(const spmv__import *work, spmv__import *task, uint64_t *ptr)
{
    spmv__import_bands bands;
    uint64_t t;
    memset(&bands, 0, sizeof bands);
    bands.from = task;
    bands.to = work;
    bands.end = task[work->tasks - 1].count;
    bands.ptr = ptr;
    spmv__share_out(spmv__import_band, &bands, work->bands);
    for (t = 0; t < work->tasks; t++) task[t].col = work->col;
}

/* Counts the entries of each row, then places them in the order given, in threads; ptr becomes the row pointers. The tasks log nothing: of
 * faults that several may find, the first is reported by a pass over all entries. */
static spmv_status spmv__import_bucket(spmv__import *work, uint64_t most, uint64_t *ptr, uint32_t *col)
{
    spmv_hooks quiet;
    spmv__import *task = NULL;
    void *room;
    uint64_t t, r;
    spmv_status s;
    memset(&quiet, 0, sizeof quiet);
    if (work->hooks) quiet = *work->hooks;
    quiet.log = spmv__hush;
    spmv__import_choose_bands(work, most, &quiet, &room);
    s = spmv__import_deal(work, ptr, &quiet, &task);
    if (s) goto done;
    spmv__share_out(spmv__import_work, task, work->tasks);
    if (!spmv__import_agree(work, task)) {
        s = spmv__import_pass(work);
        goto done;
    }
    spmv__import_places(work, task);
    work->col = col;
    work->ptr = ptr;
    for (t = 0; t < work->tasks; t++) {
        task[t].col = col;
        task[t].ptr = ptr;
        if (room) spmv__import_lay_bands(task + t, room, most);
    }
    spmv__share_out(spmv__import_work, task, work->tasks);
    if (room) spmv__import_rows(work, task, ptr);
    for (r = work->rows; r; r--) ptr[r] = ptr[r - 1]; /* placing moved every pointer to the end of its row */
    ptr[0] = 0;
    spmv__share_out(spmv__import_unsorted, task, work->tasks);
    for (t = 0; t < work->tasks; t++) work->longest = task[t].longest > work->longest ? task[t].longest : work->longest;
done:
    spmv_free(work->hooks, task);
    spmv_free(work->hooks, room);
    return s;
}

/* Converts any input: places the entries in their rows, and sorts rows and merges duplicates if there is need. All memory for entries is
 * allocated before the first is read, because an input can claim sizes that no machine could hold or walk through. With symmetry, one
 * entry can become two, so up to half of the arrays may stay unused. Values to be narrowed are narrowed after duplicates are summed. */
SPMV__APART spmv_status spmv__import_general(spmv_csr *out, spmv__import *work)
{
    const spmv_input *in = work->in;
    const int narrow = out->type == SPMV_F32 && in->val && in->val_type == SPMV_F64;
    void *ptr = NULL, *col = NULL, *order = NULL, *val = NULL, *wide = NULL, *from = NULL;
    uint64_t most = spmv__sat_mul(work->entries, in->symmetry ? 2 : 1), i;
    spmv_status s = spmv__room(work->hooks, &val, most, spmv_value_size(out->type));
    if (!s && narrow) s = spmv__room(work->hooks, &wide, most, 8);
    if (!s) s = spmv__room(work->hooks, &col, most, 4);
    if (!s && in->updatable) s = spmv__room(work->hooks, &order, most, 8);
    if (!s && in->updatable) s = spmv__room(work->hooks, &from, spmv__sat_add(most, 1), 8);
    if (!s) s = spmv__new(work->hooks, &ptr, work->rows + 1, 8, 0);
    if (s) goto done;
    work->type = narrow ? SPMV_F64 : out->type;
    work->val = narrow ? wide : val;
    work->order = (uint64_t *)order;
    s = spmv__import_bucket(work, most, (uint64_t *)ptr, (uint32_t *)col);
    if (!s && work->longest) s = spmv__import_sort(work);
    if (s) goto done;
    out->nnz = ((uint64_t *)ptr)[work->rows];
    for (i = 0; in->updatable && i <= out->nnz; i++) ((uint64_t *)from)[i] = i;
    if (work->longest || narrow || in->drop_zeros)
        s = spmv__import_merge(out, work, (uint64_t *)ptr, (uint64_t *)from, val);
    if (s) goto done;
    out->ptr = (const uint64_t *)ptr;
    out->col = (const uint32_t *)col;
    out->val = val;
    out->owned = 7u;
    out->from = (uint64_t *)from;
    out->order = (uint64_t *)order;
    ptr = col = val = from = order = NULL;
done:
    spmv_free(work->hooks, from);
    spmv_free(work->hooks, order);
    spmv_free(work->hooks, wide);
    spmv_free(work->hooks, val);
    spmv_free(work->hooks, col);
    spmv_free(work->hooks, ptr);
    return s;
}

/* The description of CSR arrays whose pointers and indices have as many bits. */
static spmv_input spmv__csr_input(int64_t rows, int64_t cols, const void *ptr, const void *col, int bits, const void *val, spmv_type type)
{
    spmv_input in;
    memset(&in, 0, sizeof in);
    in.rows = rows;
    in.cols = cols;
    in.ptr = ptr;
    in.col = col;
    in.val = val;
    in.ptr_bits = in.index_bits = bits;
    in.val_type = type;
    return in;
}

SPMV_API spmv_input spmv_csr_f64(int64_t rows, int64_t cols, const int32_t *ptr, const int32_t *col, const double *val)
{
    return spmv__csr_input(rows, cols, ptr, col, 32, val, SPMV_F64);
}

SPMV_API spmv_input spmv_csr_f32(int64_t rows, int64_t cols, const int32_t *ptr, const int32_t *col, const float *val)
{
    return spmv__csr_input(rows, cols, ptr, col, 32, val, SPMV_F32);
}

SPMV_API spmv_input spmv_csr64_f64(int64_t rows, int64_t cols, const int64_t *ptr, const int64_t *col, const double *val)
{
    return spmv__csr_input(rows, cols, ptr, col, 64, val, SPMV_F64);
}

SPMV_API spmv_input spmv_csr64_f32(int64_t rows, int64_t cols, const int64_t *ptr, const int64_t *col, const float *val)
{
    return spmv__csr_input(rows, cols, ptr, col, 64, val, SPMV_F32);
}

/* spmv_csr_create of values that have the type stored. Apart, as a second input would take much of the stack that tiny matrices may use. */
SPMV__APART spmv_status spmv__csr_from_stored(spmv_csr *out, const spmv_input *in, spmv_type store, const spmv_hooks *hooks)
{
    spmv_input given = *in;
    given.val_type = spmv__stored_type(store);
    return spmv_csr_create(out, &given, store, hooks);
}

/* Checks the input, then copies or borrows it if it is in order, else sorts it. */
SPMV_API spmv_status spmv_csr_create(spmv_csr *out, const spmv_input *in, spmv_type store, const spmv_hooks *hooks)
{
    if (!out || !in) return spmv__null(hooks, "spmv_csr_create", !out ? "out" : "in", out, sizeof *out);
    spmv__import work;
    spmv_status s;
    memset(out, 0, sizeof *out);
    if (!in->val_type) return spmv__csr_from_stored(out, in, store, hooks);
    memset(&work, 0, sizeof work);
    work.in = in;
    work.hooks = hooks;
    work.ptr_bits = in->ptr_bits ? in->ptr_bits : 32;
    work.index_bits = in->index_bits ? in->index_bits : 32;
    s = spmv__import_check(&work);
    if (s) return s;
    if (hooks) out->hooks = *hooks;
    out->rows = work.rows;
    out->cols = work.cols;
    out->type = spmv__stored_type(store);
    out->updatable = in->updatable;
    out->source = work.entries;
    out->source_type = in->val_type;
    out->symmetry = in->symmetry;
    s = spmv__import_in_order(&work) ? spmv__import_copy(out, &work) : spmv__import_general(out, &work);
    if (s) spmv_csr_destroy(out);
    return s;
}

/* Refuses new values of a skew-symmetric matrix that are not zero on its diagonal. */
static spmv_status spmv__update_skew(const spmv_csr *a, const void *val)
{
    uint64_t r, k, i;
    for (r = 0; r < a->rows; r++)
        for (k = a->ptr[r]; k < a->ptr[r + 1]; k++)
            for (i = a->col[k] == r ? a->from[k] : a->from[k + 1]; i < a->from[k + 1]; i++)
                if (spmv__value(val, a->source_type, a->order[i]) != 0)
                    return spmv_log(&a->hooks, SPMV_ERR_ARGUMENT, "value %llu is not zero, but lies on the diagonal of a "
                                    "skew-symmetric matrix", (spmv__ull)a->order[i]);
    return SPMV_OK;
}

/* Sums the new values of each nonzero in the order in which spmv_csr_create summed the old ones. */
SPMV_API spmv_status spmv_csr_update(spmv_csr *a, const void *val)
{
    if (!a) return spmv__null(NULL, "spmv_csr_update", "a", NULL, 0);
    uint64_t k, i;
    spmv_status s;
    if (!a->updatable) return spmv_log(&a->hooks, SPMV_ERR_FIXED, "the CSR matrix was not made updatable");
    if (!(a->owned & 4u)) {
        if (!val && a->nnz) return spmv_log(&a->hooks, SPMV_ERR_ARGUMENT, "val is NULL, but the values were borrowed");
        a->val = val;
        return SPMV_OK;
    }
    s = a->symmetry == SPMV_SKEW ? spmv__update_skew(a, val) : SPMV_OK;
    for (k = 0; k < a->nnz && !s; k++) {
        double sum = a->from ? 0 : spmv__value(val, a->source_type, k);
        for (i = a->from ? a->from[k] : 0; a->from && i < a->from[k + 1]; i++) {
            double v = spmv__signed_value(val, a->source_type, a->order[i]);
            sum = i == a->from[k] ? v : sum + v;
        }
        spmv__store_value((void *)(uintptr_t)a->val, a->type, k, sum);
    }
    return s;
}

/* The hooks are copied, because the matrix that holds them is zeroed. */
SPMV_API void spmv_csr_destroy(spmv_csr *a)
{
    spmv_hooks hooks;
    if (!a) return;
    hooks = a->hooks;
    if (a->owned & 1u) spmv_free(&hooks, (void *)(uintptr_t)a->ptr);
    if (a->owned & 2u) spmv_free(&hooks, (void *)(uintptr_t)a->col);
    if (a->owned & 4u) spmv_free(&hooks, (void *)(uintptr_t)a->val);
    spmv_free(&hooks, a->from);
    spmv_free(&hooks, a->order);
    memset(a, 0, sizeof *a);
}

/* ---- is it its own transpose? ------------------------------------------------------------------------------------- */

/* Entries and their mirror images are compared in shares of the rows. */
typedef struct spmv__mirror {
    const spmv_csr *a;
    uint64_t        shares;
    unsigned char   differs[SPMV__MOST_SHARES];
} spmv__mirror;

/* 1 if entry k, which is in row r, has a mirror image with the same bits. */
static int spmv__has_mirror(const spmv_csr *a, uint64_t r, uint64_t k)
{
    const uint64_t size = spmv_value_size(a->type), c = a->col[k];
    const unsigned char *val = (const unsigned char *)a->val;
    uint64_t low = a->ptr[c], high = a->ptr[c + 1];
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (a->col[middle] < r) low = middle + 1;
        else high = middle;
    }
    return low < a->ptr[c + 1] && a->col[low] == r && !memcmp(val + low * size, val + k * size, (size_t)size);
}

static void spmv__mirror_share(void *job, uint64_t share)
{
    spmv__mirror *mirror = (spmv__mirror *)job;
    const spmv_csr *a = mirror->a;
    const uint64_t end = spmv__share_row(a->ptr, a->rows, share + 1, mirror->shares);
    uint64_t r, k;
    for (r = spmv__share_row(a->ptr, a->rows, share, mirror->shares); r < end; r++)
        for (k = a->ptr[r]; k < a->ptr[r + 1]; k++)
            if (!spmv__has_mirror(a, r, k)) {
                mirror->differs[share] = 1;
                return;
            }
}

/* 1 if every entry has its mirror image, with the same bits. Nothing is allocated, and of most other matrices little is read. */
SPMV__SHARED int spmv__is_symmetric(const spmv_csr *a)
{
    spmv__mirror mirror;
    if (a->rows != a->cols) return 0;
    memset(&mirror, 0, sizeof mirror);
    mirror.a = a;
    mirror.shares = spmv__share_count(a->nnz + a->rows);
    spmv__share_out(spmv__mirror_share, &mirror, mirror.shares);
    return !memchr(mirror.differs, 1, sizeof mirror.differs);
}

#endif
