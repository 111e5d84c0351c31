/* SPDX-License-Identifier: MIT */
#include "draw.h"

#include "../cli/memory.h"
#include <stdlib.h>
#include <string.h>

/* ---- random numbers ---------------------------------------------------------------------------------------------------- */

uint64_t draw_mix(uint64_t v) /* Steele, Lea, Flood 2014: SplitMix64 */
{
    v += 0x9e3779b97f4a7c15u;
    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
    v = (v ^ v >> 27) * 0x94d049bb133111ebu;
    return v ^ v >> 31;
}

uint64_t draw_hash(uint64_t a, uint64_t b, uint64_t n)
{
    return (draw_mix(draw_mix(a) ^ b) >> 32) * n >> 32;
}

uint64_t draw_roll(uint64_t *dice, uint64_t n)
{
    return (draw_mix((*dice)++) >> 32) * n >> 32;
}

uint64_t draw_permute(uint64_t i, uint64_t n, uint64_t seed)
{
    int half = 1, round;
    while (half < 31 && 1ull << 2 * half < n) half++;
    do
        for (round = 0; round < 4; round++) {
            uint64_t low = i & ((1ull << half) - 1), high = i >> half;
            i = low << half | (high ^ (draw_mix(seed + 4 * low + (uint64_t)round) >> (64 - half)));
        }
    while (i >= n);
    return i;
}

/* ---- drawing rows ---------------------------------------------------------------------------------------- */

void sketch_free(sketch *p)
{
    free(p->ptr);
    free(p->col);
    free(p->seen);
    memset(p, 0, sizeof *p);
}

int sketch_make(sketch *p, uint64_t rows, uint64_t cols, uint64_t nnz)
{
    memset(p, 0, sizeof *p);
    p->rows = rows;
    p->cols = cols;
    p->room = nnz + nnz / 32 + 1024;
    p->ptr = (uint64_t *)calloc((size_t)rows + 1, sizeof *p->ptr);
    p->seen = (uint32_t *)calloc((size_t)cols + 1, sizeof *p->seen);
    p->col = (uint32_t *)malloc((size_t)p->room * sizeof *p->col);
    p->failed = !p->ptr || !p->seen || !p->col;
    return !p->failed;
}

void sketch_append(sketch *p, uint64_t col)
{
    if (p->nnz == p->room && !p->failed) {
        void *more = p->col;
        if (memory_resize(&more, p->room + p->room / 2, sizeof *p->col)) p->room += p->room / 2;
        else p->failed = 1;
        p->col = (uint32_t *)more;
    }
    if (!p->failed) p->col[p->nnz++] = (uint32_t)col;
}

int sketch_append_new(sketch *p, uint64_t col)
{
    if (p->seen[col] == p->row + 1) return 0;
    p->seen[col] = (uint32_t)p->row + 1;
    sketch_append(p, col);
    return 1;
}

void sketch_sort(uint32_t *col, uint64_t n)
{
    static const uint64_t gaps[] = {1391376, 463792, 198768, 86961, 33936, 13776, 4592, 1968, 861, 336, 112, 48, 21, 7, 3, 1};
    size_t g;
    uint64_t i, k, gap;
    for (i = 1; i < n && col[i] > col[i - 1]; i++) continue;
    for (g = 0; i < n && g < sizeof gaps / sizeof *gaps; g++)
        for (gap = gaps[g], i = gap; i < n; i++) {
            uint32_t c = col[i];
            for (k = i; k >= gap && col[k - gap] > c; k -= gap) col[k] = col[k - gap];
            col[k] = c;
        }
}

void sketch_row_end(sketch *p)
{
    if (p->failed) return;
    sketch_sort(p->col + p->ptr[p->row], p->nnz - p->ptr[p->row]);
    p->ptr[++p->row] = p->nnz;
}

/* ---- rows of given lengths ----------------------------------------------------------------------------------------- */

/* The length, in sixteenths, that this share (of 2^32) of the rows does not exceed. */
static uint64_t knot_length(const knot *k, uint64_t share)
{
    uint64_t at = share * 1000000 >> 32, wide;
    while (k[1].share < 1000000 && at >= k[1].share) k++;
    wide = k[1].share - k->share;
    return 16 * (uint64_t)k->length + 16 * (at - k->share) * (k[1].length - k->length) / wide;
}

/* A number that a row shares with the rows that are like it. */
static uint64_t kind_of(const recipe *r, uint64_t row)
{
    return (r->period ? row % r->period : row) / (uint64_t)r->same;
}

/* Sets the row lengths by the recipe's knots, scaled so that they add up to about nnz. */
static void knot_lengths(const recipe *r, uint32_t *length)
{
    uint64_t i, sum = 0, wanted = (r->nnz - r->longs * r->length) * 16, stretch;
    for (i = 0; i < r->rows; i++) sum += knot_length(r->knots, draw_hash(1, kind_of(r, i), 1ull << 32));
    stretch = wanted * 65536 / (sum ? sum : 1);
    for (i = 0; i < r->rows; i++) {
        uint64_t kind = kind_of(r, i), n = knot_length(r->knots, draw_hash(1, kind, 1ull << 32)) * stretch;
        n = (n + draw_hash(2, kind, 1 << 20)) >> 20;
        if (n < r->knots[0].length) n = r->knots[0].length;
        length[i] = (uint32_t)(n < r->cols ? n : r->cols);
    }
    for (i = 0; i < r->longs; i++) length[(2 * i + 1) * r->rows / (2 * r->longs)] = (uint32_t)r->length;
}

/* A random column for a row whose diagonal entry is in column middle. */
static uint64_t draw_column(const recipe *r, uint64_t *dice, uint64_t middle)
{
    int which = (int)draw_roll(dice, 100), octaves = 0;
    uint64_t c;
    if (which < r->near) { /* within reach, half of it, a quarter and so on with equal probability; mirrored at the edges */
        int64_t far = (int64_t)((uint64_t)r->reach >> draw_roll(dice, 8)) + 1, cols = (int64_t)r->cols;
        int64_t at = (int64_t)middle - far + (int64_t)draw_roll(dice, (uint64_t)(2 * far + 1));
        if (at < 0) at = -1 - at;
        if (at >= cols) at = 2 * cols - 1 - at;
        return at >= 0 && at < cols ? (uint64_t)at : middle;
    }
    if (which >= r->near + r->popular) return draw_roll(dice, r->cols);
    while (2ull << octaves <= r->cols) octaves++;
    c = 1ull << draw_roll(dice, (uint64_t)octaves + 1);
    c += draw_roll(dice, c) - 1; /* the c-th most popular column, which may be anywhere */
    return draw_permute(c < r->cols ? c : r->cols - 1, r->cols, 3);
}

/* Draws columns until the row has so many, or too many draws have hit columns that it has. */
static void draw_columns(sketch *p, const recipe *r, uint64_t *dice, uint64_t middle, uint64_t until)
{
    uint64_t tries, limit = 8 * until + 64, begin = p->ptr[p->row];
    for (tries = 0; tries < limit && p->nnz - begin < until && !p->failed; tries++) {
        uint64_t c = draw_column(r, dice, middle), k;
        for (k = 0; k < (uint64_t)r->run && c + k < p->cols && p->nnz - begin < until; k++) sketch_append_new(p, c + k);
    }
}

/* Draws a row so long that single draws would mostly hit columns that it has: decides column by column. */
static void draw_dense_row(sketch *p, uint64_t dice, uint64_t length)
{
    uint64_t c, left = length;
    for (c = 0; c < p->cols; c++)
        if (draw_roll(&dice, p->cols - c) < left) {
            sketch_append(p, c);
            left--;
        }
}

void draw_rows(sketch *p, const recipe *r, const uint32_t *length)
{
    for (; p->row < p->rows && !p->failed; sketch_row_end(p)) {
        uint64_t kind = kind_of(r, p->row), n = length[p->row], dice = draw_mix(kind), same = (uint64_t)r->same;
        uint64_t first = p->row / same * same, shared = n * (uint64_t)r->copy / 100;
        if (4 * n > p->cols || n > 100000) {
            draw_dense_row(p, draw_mix(p->row), n);
            continue;
        }
        if (r->diagonal && n && p->row < p->cols) sketch_append_new(p, p->row);
        draw_columns(p, r, &dice, first * p->cols / p->rows, shared);
        dice = r->period ? draw_mix(kind) + 1000000 : draw_mix(p->row + p->rows);
        draw_columns(p, r, &dice, p->row * p->cols / p->rows, n);
    }
}

void draw_lengths(sketch *p, const recipe *r)
{
    uint32_t *length = (uint32_t *)malloc(((size_t)r->rows + 1) * sizeof *length);
    if (length) {
        knot_lengths(r, length);
        draw_rows(p, r, length);
    } else {
        p->failed = 1;
    }
    free(length);
}
