/* SPDX-License-Identifier: MIT
 *
 * tools/info.h - what a matrix looks like. Part of tools/spmv.c.
 */
#ifndef SPMV_TOOLS_INFO_H
#define SPMV_TOOLS_INFO_H

#include "cli.h"

static double value_at(const spmv_csr *a, uint64_t k)
{
    return a->type == SPMV_F32 ? (double)((const float *)a->val)[k] : ((const double *)a->val)[k];
}

/* Without libm, which nothing else here needs. */
static double square_root(double v)
{
    double root = v > 1 ? v : 1, next;
    int i;
    if (!(v > 0)) return 0;
    for (i = 0; i < 2000; i++) {
        next = 0.5 * (root + v / root);
        if (!(next < root)) break;
        root = next;
    }
    return root;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- values and rows ------------------------------------------------------------------------------------------- */

static void info_values(const spmv_csr *a)
{
    uint64_t k, zeros = 0, ones = 0, whole = 0;
    for (k = 0; k < a->nnz; k++) {
        double v = value_at(a, k);
        if (v == 0) zeros++;
        if (v == 1) ones++;
        if (v >= -1e6 && v <= 1e6 && v == (double)(int64_t)v) whole++;
    }
    printf("values      %s; %llu explicit zeros\n",
           ones == a->nnz ? "all 1" : whole == a->nnz ? "small integers" : "real", (unsigned long long)zeros);
}

static void info_rows(const spmv_csr *a)
{
    uint64_t r, longest = 0, shortest = UINT64_MAX, empty = 0, below = 0, above = 0;
    double mean = a->rows ? (double)a->nnz / (double)a->rows : 0, squares = 0;
    for (r = 0; r < a->rows; r++) {
        uint64_t from = a->ptr[r], to = a->ptr[r + 1], n = to - from;
        squares += ((double)n - mean) * ((double)n - mean);
        if (n > longest) longest = n;
        if (n < shortest) shortest = n;
        if (!n) { empty++; continue; }
        if (r > a->col[from] && r - a->col[from] > below) below = r - a->col[from];
        if (a->col[to - 1] > r && a->col[to - 1] - r > above) above = a->col[to - 1] - r;
    }
    squares = a->rows ? squares / (double)a->rows : 0;
    printf("row length  mean %.2f, standard deviation %.2f, shortest %llu, longest %llu, empty rows %llu\n", mean,
           square_root(squares), (unsigned long long)(a->rows ? shortest : 0), (unsigned long long)longest, (unsigned long long)empty);
    printf("sigma       %.2f: standard deviation over the square root of the mean (Koza and others 2013, CMRS)\n",
           mean > 0 ? square_root(squares / mean) : 0);
    printf("bandwidth   %llu below the diagonal, %llu above\n", (unsigned long long)below, (unsigned long long)above);
}

static int info_columns(tool *t, const spmv_csr *a)
{
    uint64_t k, c, longest = 0, empty = 0;
    uint64_t *count = (uint64_t *)calloc((size_t)a->cols + 1, sizeof *count);
    if (!count) return no_memory(t);
    for (k = 0; k < a->nnz; k++) count[a->col[k]]++;
    for (c = 0; c < a->cols; c++) {
        if (count[c] > longest) longest = count[c];
        if (!count[c]) empty++;
    }
    printf("columns     longest %llu, empty columns %llu\n", (unsigned long long)longest, (unsigned long long)empty);
    free(count);
    return DONE;
}

/* Bins 0, 1, 2, 3-4, 5-8, ...: bin b > 0 ends at 2^(b-1). */
static void info_histogram(const spmv_csr *a)
{
    uint64_t rows[66], entries_in[66], r, n, most = 0;
    int b, last = 0;
    memset(rows, 0, sizeof rows);
    memset(entries_in, 0, sizeof entries_in);
    for (r = 0; r < a->rows; r++) {
        n = a->ptr[r + 1] - a->ptr[r];
        for (b = 0; b < 65 && n > (b ? 1ull << (b - 1) : 0); b++) continue;
        rows[b]++;
        entries_in[b] += n;
        if (b > last) last = b;
        if (rows[b] > most) most = rows[b];
    }
    puts("\nrow length              rows            nonzeros");
    for (b = 0; b <= last; b++) {
        char range[48];
        if (b < 3) snprintf(range, sizeof range, "%d", b);
        else snprintf(range, sizeof range, "%llu-%llu", (1ull << (b - 2)) + 1, 1ull << (b - 1));
        printf("%-13s %12llu %6.2f%%    %6.2f%%  %.*s\n", range, (unsigned long long)rows[b], share(rows[b], a->rows),
               share(entries_in[b], a->nnz), most ? (int)(40.0 * (double)rows[b] / (double)most) : 0,
               "########################################");
    }
}

/* ---- diagonals and blocks -------------------------------------------------------------------------------------- */

/* Elements of the diagonal col - row = d - (rows - 1). */
static uint64_t diagonal_length(const spmv_csr *a, uint64_t d)
{
    uint64_t first_row = d < a->rows - 1 ? a->rows - 1 - d : 0, first_col = d < a->rows - 1 ? 0 : d - (a->rows - 1);
    uint64_t down = a->rows - first_row, right = a->cols - first_col;
    return down < right ? down : right;
}

static void info_diagonal_line(const char *which, uint64_t diagonals, uint64_t held, uint64_t nnz)
{
    printf("            %-16s %10llu, holding %6.2f%% of the nonzeros\n", which, (unsigned long long)diagonals,
           share(held, nnz));
}

static int info_diagonals(tool *t, const spmv_csr *a)
{
    uint64_t all, r, k, d, used = 0, half = 0, full = 0, in_half = 0, in_full = 0;
    uint32_t *count;
    if (!a->rows || !a->cols) return DONE;
    all = a->rows + a->cols - 1;
    count = (uint32_t *)calloc((size_t)all, sizeof *count);
    if (!count) return no_memory(t);
    for (r = 0; r < a->rows; r++)
        for (k = a->ptr[r]; k < a->ptr[r + 1]; k++) count[a->rows - 1 - r + a->col[k]]++;
    for (d = 0; d < all; d++) {
        double fill = (double)count[d] / (double)diagonal_length(a, d);
        if (count[d]) used++;
        if (fill >= 0.5) { half++; in_half += count[d]; }
        if (fill >= 0.9) { full++; in_full += count[d]; }
    }
    printf("diagonals   %llu hold nonzeros\n", (unsigned long long)used);
    info_diagonal_line("50% full or more", half, in_half, a->nnz);
    info_diagonal_line("90% full or more", full, in_full, a->nnz);
    free(count);
    return DONE;
}

/* Blocks of height x width on the grid of their size that hold a nonzero. seen has a place for each block column. */
static uint64_t count_blocks(const spmv_csr *a, unsigned height, unsigned width, uint32_t *seen)
{
    uint64_t r, k, blocks = 0;
    memset(seen, 0, (size_t)(a->cols / width + 1) * sizeof *seen);
    for (r = 0; r < a->rows; r++) {
        uint32_t mark = (uint32_t)(r / height) + 1;
        for (k = a->ptr[r]; k < a->ptr[r + 1]; k++) {
            uint32_t block = a->col[k] / width;
            if (seen[block] != mark) blocks++;
            seen[block] = mark;
        }
    }
    return blocks;
}

static int info_blocks(tool *t, const spmv_csr *a)
{
    static const unsigned size[][2] = {{1, 4}, {2, 4}, {4, 4}, {8, 4}, {1, 8}, {2, 8}, {4, 8}, {8, 8},
                                       {2, 2}, {3, 3}, {6, 6}};
    uint32_t *seen = (uint32_t *)malloc(((size_t)a->cols / 2 + 1) * sizeof *seen);
    size_t i;
    if (!seen) return no_memory(t);
    puts("\nblock       blocks        fill   bytes a nonzero (f64, f32) as bcsr; csr: 12.00, 8.00");
    for (i = 0; i < sizeof size / sizeof *size; i++) {
        double slots, blocks = (double)count_blocks(a, size[i][0], size[i][1], seen), nnz = (double)a->nnz;
        slots = blocks * size[i][0] * size[i][1];
        printf("%ux%u  %14.0f     %6.2f%%   %6.2f %6.2f\n", size[i][0], size[i][1], blocks,
               slots > 0 ? 100 * nnz / slots : 0, nnz > 0 ? (8 * slots + 4 * blocks) / nnz : 0,
               nnz > 0 ? (4 * slots + 4 * blocks) / nnz : 0);
    }
    free(seen);
    return DONE;
}

static int info_print(tool *t, const spmv_csr *a, const char *file)
{
    double places = (double)a->rows * (double)a->cols;
    printf("matrix      %s\nshape       %llu x %llu, %llu nonzeros (%.4g%% of the places)\n", file,
           (unsigned long long)a->rows, (unsigned long long)a->cols, (unsigned long long)a->nnz,
           places > 0 ? 100 * (double)a->nnz / places : 0);
    info_values(a);
    info_rows(a);
    if (info_columns(t, a) != DONE || info_diagonals(t, a) != DONE) return FAILED;
    info_histogram(a);
    return info_blocks(t, a);
}

#endif
