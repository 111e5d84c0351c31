/* SPDX-License-Identifier: MIT
 *
 * spmv/many.h - products with several vectors: how these lie in memory, what is refused, and their copies in the other order.
 */
#ifndef SPMV__MANY_H
#define SPMV__MANY_H

#include "threads.h"

/* The vectors of a product, and the matrix's size. */
typedef struct spmv__many {
    uint64_t         count;
    spmv_arrangement order;
    uint64_t         ldx, ldy;
    uint64_t         rows, cols;
} spmv__many;

SPMV__SHARED spmv__many spmv__many_of(uint64_t count, spmv_arrangement order, uint64_t ldx, uint64_t ldy, uint64_t rows, uint64_t cols)
{
    spmv__many many;
    many.count = count;
    many.order = order;
    many.ldx = ldx ? ldx : order == SPMV_SIDE_BY_SIDE ? count : cols;
    many.ldy = ldy ? ldy : order == SPMV_SIDE_BY_SIDE ? count : rows;
    many.rows = rows;
    many.cols = cols;
    return many;
}

/* Elements from the first to the last of vectors of n elements; UINT64_MAX: too many to count. */
static uint64_t spmv__many_extent(const spmv__many *many, uint64_t ld, uint64_t n)
{
    const uint64_t steps = many->order == SPMV_SIDE_BY_SIDE ? n : many->count, last = many->order == SPMV_SIDE_BY_SIDE ? many->count : n;
    return steps && last ? spmv__sat_add(spmv__sat_mul(steps - 1, ld), last) : 0;
}

/* 1 if vectors that begin at these addresses have bytes in common, each of size bytes an element. With one ld, X and Y may lie in the gaps
 * of one another, as columns of one array do. */
static int spmv__many_overlap(const spmv__many *many, uint64_t size, uint64_t x, uint64_t y)
{
    const uint64_t ld = many->ldx * size, sides = many->order == SPMV_SIDE_BY_SIDE;
    const uint64_t x_run = (sides ? many->count : many->cols) * size, y_run = (sides ? many->count : many->rows) * size;
    uint64_t behind;
    if (!spmv__overlap(x, spmv__many_extent(many, many->ldx, many->cols) * size, y, spmv__many_extent(many, many->ldy, many->rows) * size))
        return 0;
    if (many->ldx != many->ldy) return 1;
    behind = x <= y ? (y - x) % ld : ld - 1 - (x - y - 1) % ld;
    return behind < x_run || behind + y_run > ld;
}

/* Refuses an ld that is too small, or so large that the vectors would not fit in memory. */
static spmv_status spmv__check_ld(const spmv_hooks *hooks, const char *function, const char *name, const spmv__many *many, uint64_t ld,
                                  uint64_t n, uint64_t size)
{
    const uint64_t least = many->order == SPMV_SIDE_BY_SIDE ? many->count : n;
    if (ld < least)
        return spmv_log(hooks, SPMV_ERR_ARGUMENT, "%s: %s is %llu, less than the %llu %s", function, name, (spmv__ull)ld, (spmv__ull)least,
                        many->order == SPMV_SIDE_BY_SIDE ? "vectors side by side" : "elements of a vector");
    if (spmv__many_extent(many, ld, n) <= (uint64_t)(SIZE_MAX / 2) / size) return SPMV_OK;
    return spmv_log(hooks, SPMV_ERR_ARGUMENT, "%s: %llu vectors with %s %llu do not fit in memory", function, (spmv__ull)many->count, name,
                    (spmv__ull)ld);
}

/* Checks how the vectors lie. */
static spmv_status spmv__check_lie(const spmv_hooks *hooks, const char *function, spmv_type type, const spmv__many *many)
{
    const uint64_t size = spmv_vector_size(type);
    spmv_status s;
    if ((unsigned)many->order > SPMV_SIDE_BY_SIDE)
        return spmv_log(hooks, SPMV_ERR_ARGUMENT, "%s: order %d is unknown", function, (int)many->order);
    s = spmv__check_ld(hooks, function, "ldx", many, many->ldx, many->cols, size);
    return s ? s : spmv__check_ld(hooks, function, "ldy", many, many->ldy, many->rows, size);
}

/* As spmv__check_vectors. */
SPMV__SHARED spmv_status spmv__check_many(const spmv_hooks *hooks, const char *function, spmv_type type, const spmv__many *many,
                                          double alpha, const void *x, const void *y)
{
    spmv_status s = spmv__check_lie(hooks, function, type, many);
    if (s || !many->count || !many->rows) return s;
    if (!y) return spmv__null(hooks, function, "y", NULL, 0);
    if (!many->cols || alpha == 0.0) return SPMV_OK;
    if (!x) return spmv__null(hooks, function, "x", NULL, 0);
    if (!spmv__many_overlap(many, spmv_vector_size(type), (uintptr_t)x, (uintptr_t)y)) return SPMV_OK;
    return spmv_log(hooks, SPMV_ERR_ARGUMENT, "%s: x and y overlap", function);
}

/* Where vector j of X and of Y begins. */
SPMV__SHARED const void *spmv__many_x(const spmv__many *many, spmv_type type, const void *x, uint64_t j)
{
    return x ? (const char *)x + j * (many->order == SPMV_SIDE_BY_SIDE ? 1 : many->ldx) * spmv_vector_size(type) : NULL;
}
SPMV__SHARED void *spmv__many_y(const spmv__many *many, spmv_type type, void *y, uint64_t j)
{
    return (char *)y + j * (many->order == SPMV_SIDE_BY_SIDE ? 1 : many->ldy) * spmv_vector_size(type);
}

/* ---- copies in the other order --------------------------------------------------------------------------------------- */

/* A product of vectors one after another. */
typedef spmv_status (*spmv__mul_columns)(const void *of, const spmv__many *many, double alpha, const void *x, double beta, void *y);

enum { SPMV__PACKED = 8 }; /* vectors that are copied at once: a cache line of doubles */

/* Copies vectors of n elements; row and column: from an element to the next, and from a vector to the next. Where there are fewer than
 * count, copies of the last one follow. */
typedef struct spmv__turning {
    spmv_type   type;
    uint64_t    n, there, count, from_row, from_column, to_row, to_column, shares;
    const void *from;
    void       *to;
} spmv__turning;

#define SPMV__TURN(name, T)                                                                                             \
    static void spmv__turn_##name(const spmv__turning *job, uint64_t i, uint64_t end)                                   \
    {                                                                                                                   \
        uint64_t j, r, stop;                                                                                            \
        for (; i < end; i = stop)                                                                                       \
            for (stop = spmv__smaller(end, i + SPMV__PACKED), j = 0; j < job->count; j++) {                             \
                const T *from = (const T *)job->from + spmv__smaller(j, job->there - 1) * job->from_column;             \
                T *to = (T *)job->to + j * job->to_column;                                                              \
                for (r = i; r < stop; r++) to[r * job->to_row] = from[r * job->from_row];                               \
            }                                                                                                           \
    }
SPMV__TURN(f32, float)
SPMV__TURN(f64, double)

static void spmv__turn_share(void *turning, uint64_t share)
{
    const spmv__turning *job = (const spmv__turning *)turning;
    const uint64_t each = spmv__ceil_div(job->n, job->shares * SPMV__PACKED) * SPMV__PACKED;
    const uint64_t first = spmv__smaller(share * each, job->n), end = spmv__smaller(first + each, job->n);
    if (job->type == SPMV_F32) spmv__turn_f32(job, first, end);
    else spmv__turn_f64(job, first, end);
}

SPMV__SHARED void spmv__turn(spmv_type type, uint64_t n, const void *from, uint64_t from_row, uint64_t from_column, uint64_t there,
                             void *to, uint64_t to_row, uint64_t to_column, uint64_t count)
{
    spmv__turning job;
    job.type = type;
    job.n = n;
    job.from = from;
    job.from_row = from_row;
    job.from_column = from_column;
    job.there = there;
    job.to = to;
    job.to_row = to_row;
    job.to_column = to_column;
    job.count = count;
    job.shares = spmv__share_count(n * count);
    spmv__share_out(spmv__turn_share, &job, job.shares);
}

/* Multiplies vectors that lie side by side, in copies that have room in block. */
static spmv_status spmv__many_turned(spmv_type type, const spmv__many *many, double alpha, const void *x, double beta, void *y,
                                     spmv__mul_columns mul, const void *of, void *block)
{
    void *to = (char *)block + many->cols * SPMV__PACKED * spmv_vector_size(type);
    spmv__many part = *many;
    spmv_status s = SPMV_OK;
    uint64_t j;
    part.order = SPMV_ONE_AFTER_ANOTHER;
    part.ldx = many->cols;
    part.ldy = many->rows;
    for (j = 0; j < many->count && !s; j += part.count) {
        void *at = spmv__many_y(many, type, y, j);
        const uint64_t n = part.count = spmv__smaller(many->count - j, SPMV__PACKED);
        if (alpha != 0) spmv__turn(type, many->cols, spmv__many_x(many, type, x, j), many->ldx, 1, n, block, 1, part.ldx, n);
        if (beta != 0) spmv__turn(type, many->rows, at, many->ldy, 1, n, to, 1, part.ldy, n);
        s = mul(of, &part, alpha, block, beta, to);
        if (!s) spmv__turn(type, many->rows, to, 1, part.ldy, n, at, many->ldy, 1, n);
    }
    return s;
}

/* Multiplies by mul, which takes vectors one after another. */
SPMV__SHARED spmv_status spmv__many_packed(const spmv_hooks *hooks, spmv_type type, const spmv__many *many, double alpha, const void *x,
                                     double beta, void *y, spmv__mul_columns mul, const void *of)
{
    void *block;
    spmv_status s;
    if (many->order == SPMV_ONE_AFTER_ANOTHER) return mul(of, many, alpha, x, beta, y);
    s = spmv__room(hooks, &block, spmv__sat_mul(spmv__sat_add(many->rows, many->cols), SPMV__PACKED), spmv_vector_size(type));
    if (!s) s = spmv__many_turned(type, many, alpha, x, beta, y, mul, of, block);
    spmv_free(hooks, block);
    return s;
}

#endif
