/* SPDX-License-Identifier: MIT */
#include "workload.h"

#include "../measure/values.h"
#include "../library.h"
#include "spmv.h"
#include <stdlib.h>
#include <string.h>

/* Makes room for count + 1 elements; old contents may be lost. 1, or 0 if memory ran out. */
static int buffer_need(buffer *b, uint64_t count, size_t size)
{
    uint64_t bytes = (count + 1) * size;
    if (bytes <= b->room) return 1;
    if (bytes > SIZE_MAX / 2) return 0;
    free(b->at);
    b->room = (size_t)bytes;
    b->at = malloc(b->room);
    if (!b->at) b->room = 0;
    return b->at != NULL;
}

void workload_free(workload *w)
{
    buffer *b[] = {&w->ptr, &w->col, &w->val, &w->x, &w->y, &w->want, &w->length};
    size_t i;
    spmv_csr_free(&w->a);
    for (i = 0; i < sizeof b / sizeof *b; i++) free(b[i]->at);
    memset(w, 0, sizeof *w);
}

/* A pseudorandom number that depends only on two others, so that rows can be made in any order and by any thread. */
static uint32_t noise(uint64_t a, uint64_t b)
{
    uint64_t z = a * 0x9e3779b97f4a7c15u + b * 0xd1b54a32d192ed03u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)((z ^ z >> 27) >> 16);
}

double workload_value(uint64_t k, int most)
{
    uint32_t h = noise(k, 77);
    double v = 1 + (double)((h >> 1) % (uint32_t)most);
    return h & 1u ? v : -v;
}

/* The c-th of n columns (or blocks) of a row that are spread over all of them: a random one out of each n-th. */
static uint64_t spread(uint64_t row, uint64_t c, uint64_t n, uint64_t all)
{
    uint64_t from = c * all / n, to = (c + 1) * all / n;
    return from + noise(row, c + 1) % (to - from);
}

/* The first column of a window of n columns around centre, moved inwards at the edges. */
static uint64_t window(uint64_t centre, uint64_t n, uint64_t all)
{
    uint64_t from = centre > n / 2 ? centre - n / 2 : 0;
    return from + n > all ? all - n : from;
}

/* The rank of row r among rows (a power of two) by falling length: a pseudorandom permutation. */
static uint64_t rank_of(uint64_t r, uint64_t rows)
{
    uint64_t mask = rows - 1;
    int half = 1;
    while (rows >> (2 * half) > 1) half++;
    r = (r * 0x9e3779b1u + 12345) & mask;
    r ^= r >> half;
    r = r * 0x85ebca6bu & mask;
    r ^= r >> half;
    return r * 0xc2b2ae35u & mask;
}

/* row_columns for a matrix of blocks. */
static uint64_t row_of_blocks(const tune_shape *s, uint64_t r, uint32_t *out)
{
    uint64_t all = (s->rows + s->bw - 1) / s->bw, n = (s->per_row + s->bw / 2) / s->bw, super = r / s->bh, i, count = 0;
    uint64_t first = window(super * s->bh / s->bw, n, all);
    if (!out && s->rows % s->bw == 0) return n * s->bw;
    for (i = 0; i < n; i++) {
        uint64_t block = s->kind == SPMV_TUNE_SCATTERED ? spread(super, i, n, all) : first + i, c = block * s->bw, end = c + s->bw;
        for (; c < end && c < s->rows; c++, count++)
            if (out) out[count] = (uint32_t)c;
    }
    return count;
}

/* Writes the columns of row r to out, unless that is NULL. Returns how many there are. */
static uint64_t row_columns(const workload *w, uint64_t r, uint32_t *out)
{
    const tune_shape *s = &w->of;
    uint64_t n = s->per_row, from = 0, i;
    if (s->bw) return row_of_blocks(s, r, out);
    if (s->kind == SPMV_TUNE_SCATTERED) {
        for (i = 0; out && i < n; i++) out[i] = (uint32_t)spread(r, i, n, s->rows);
        return n;
    }
    if (s->kind == SPMV_TUNE_UNEVEN) {
        n = ((const uint32_t *)w->length.at)[rank_of(r, s->rows)];
        from = window(r, n, s->rows);
    } else if (!s->full) { /* full diagonals, cut off at the edges */
        uint64_t end = r + n - n / 2;
        from = r > n / 2 ? r - n / 2 : 0;
        n = (end < s->rows ? end : s->rows) - from;
    }
    for (i = 0; out && i < n; i++) out[i] = (uint32_t)(from + i);
    return n;
}

/* Makes the lengths by rank t: c M / t, at most 64 k and M. Their mean is c (1 + ln(most / c)), from which c follows. Fractions are
 * carried over to the next row. 0 if memory ran out. */
static int make_lengths(workload *w)
{
    double m = (double)w->of.rows, k = (double)w->of.per_row, most = 64 * k < m ? 64 * k : m, low = 0, high = most, sum = 0;
    uint64_t t, before = 0;
    uint32_t *length;
    int i;
    if (!buffer_need(&w->length, w->of.rows, sizeof *length)) return 0;
    for (i = 0; i < 60; i++) {
        double c = 0.5 * (low + high);
        if (c * (1 + 0.6931471805599453 * library_log2(most / c)) < k) low = c;
        else high = c;
    }
    length = (uint32_t *)w->length.at;
    for (t = 0; t < w->of.rows; t++) {
        double v = low * m / (double)(t + 1);
        sum += v < most ? v : most;
        length[t] = (uint32_t)((uint64_t)sum - before);
        if (length[t] > w->of.rows) length[t] = (uint32_t)w->of.rows;
        before = (uint64_t)sum;
    }
    return 1;
}

/* Makes ptr and col. 0 if memory ran out. */
static int make_pattern(workload *w)
{
    uint64_t r, n = 0, *ptr;
    uint32_t *col;
    int64_t i, rows = (int64_t)w->of.rows;
    if (w->of.kind == SPMV_TUNE_UNEVEN && !make_lengths(w)) return 0;
    if (!buffer_need(&w->ptr, w->of.rows + 1, sizeof *ptr)) return 0;
    ptr = (uint64_t *)w->ptr.at;
    for (ptr[0] = 0, r = 0; r < w->of.rows; r++) ptr[r + 1] = n += row_columns(w, r, NULL);
    if (!buffer_need(&w->col, n, sizeof *col)) return 0;
    col = (uint32_t *)w->col.at;
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
    for (i = 0; i < rows; i++) row_columns(w, (uint64_t)i, col + ptr[i]);
    return 1;
}

/* Makes val and x. Element k of each depends only on k, so what was filled in for another matrix stays. 0 if memory ran out. */
static int make_numbers(workload *w, uint64_t nnz)
{
    uint64_t k;
    spmv_type store = w->type == SPMV_F64 ? SPMV_F64 : SPMV_F32;
    if (w->val.room < (nnz + 1) * spmv_value_size(store)) w->values = 0;
    if (w->x.room < (w->cols + 1) * spmv_vector_size(w->type)) w->inputs = 0;
    if (!buffer_need(&w->val, nnz, spmv_value_size(store)) || !buffer_need(&w->x, w->cols, spmv_vector_size(w->type))) return 0;
    for (k = w->values; k < nnz; k++) value_put(store, w->val.at, k, workload_value(k, 3));
    for (k = w->inputs; k < w->cols; k++) value_put(w->type, w->x.at, k, workload_value(k, 4));
    if (nnz > w->values) w->values = nnz;
    if (w->cols > w->inputs) w->inputs = w->cols;
    return 1;
}

/* Computes want = A x in double, in which sums of small integers are exact. 0 if memory ran out. */
static int make_want(workload *w)
{
    const spmv_csr *a = &w->a;
    int64_t r, rows = (int64_t)a->rows;
    size_t width = spmv_vector_size(w->type);
    if (!buffer_need(&w->want, a->rows, width) || !buffer_need(&w->y, a->rows, width)) return 0;
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
    for (r = 0; r < rows; r++) {
        double sum = 0;
        uint64_t k;
        for (k = a->ptr[r]; k < a->ptr[r + 1]; k++) sum += value_at(a, k) * value_get(w->type, w->x.at, a->col[k]);
        value_put(w->type, w->want.at, (uint64_t)r, sum);
    }
    return 1;
}

int workload_same_shape(const tune_shape *a, const tune_shape *b)
{
    return a->kind == b->kind && a->full == b->full && a->bh == b->bh && a->bw == b->bw && a->rows == b->rows &&
           a->per_row == b->per_row;
}

/* Makes the current matrix of that pattern, and x and want. On failure there is no current matrix. */
static spmv_status workload_finish(workload *w, uint64_t rows, const void *ptr, const void *col, const spmv_hooks *hooks)
{
    spmv_input in;
    spmv_status s;
    if (!make_numbers(w, ((const uint64_t *)ptr)[rows])) return SPMV_ERR_MEMORY;
    memset(&in, 0, sizeof in);
    in.rows = (int64_t)rows;
    in.cols = (int64_t)w->cols;
    in.ptr = ptr;
    in.ptr_bits = 64;
    in.col = col;
    in.val = w->val.at;
    in.val_type = w->type == SPMV_F64 ? SPMV_F64 : SPMV_F32;
    in.borrow = 1;
    s = spmv_csr_from(&w->a, &in, w->type, hooks);
    if (s == SPMV_OK && !make_want(w)) s = SPMV_ERR_MEMORY;
    if (s != SPMV_OK) spmv_csr_free(&w->a);
    return s;
}

/* Drops the current matrix before one of that type is made. */
static void workload_clear(workload *w, spmv_type type)
{
    spmv_csr_free(&w->a);
    memset(&w->of, 0, sizeof w->of);
    if (w->type != type) w->values = w->inputs = 0;
    w->type = type;
}

spmv_status workload_make(workload *w, const tune_shape *of, spmv_type type, const spmv_hooks *hooks)
{
    if (w->a.rows && w->type == type && workload_same_shape(&w->of, of)) return SPMV_OK;
    workload_clear(w, type);
    w->of = *of;
    w->cols = of->full ? of->per_row : of->rows;
    if (!make_pattern(w)) return SPMV_ERR_MEMORY;
    return workload_finish(w, of->rows, w->ptr.at, w->col.at, hooks);
}

spmv_status workload_take(workload *w, const spmv_csr *pattern, spmv_type type, const spmv_hooks *hooks)
{
    workload_clear(w, type);
    w->cols = pattern->cols;
    return workload_finish(w, pattern->rows, pattern->ptr, pattern->col, hooks);
}
