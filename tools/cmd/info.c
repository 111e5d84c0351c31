/* SPDX-License-Identifier: MIT
 *
 * tools/cmd/info.c - spmv info: describes a matrix.
 */
#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/json.h"
#include "../cli/numbers.h"
#include "../cli/options.h"
#include "commands.h"
#include "../library.h"
#include "../measure/values.h"
#include "spmv.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values and rows ------------------------------------------------------------------------------------------- */

enum { DICTIONARY = 256 }; /* the most values with val=8 */
enum { LENGTH_BINS = 66 }; /* lengths 0 and 1, and 64 powers of two */

/* Blocks of one size on the grid of that size. */
typedef struct block_info {
    unsigned height, width;
    double   blocks;           /* number of blocks that hold a nonzero */
    double   fill;             /* nonzeros over elements of these blocks */
    double   bytes_f64, bytes_f32; /* bytes per nonzero when stored as bcsr; NAN: there are no nonzeros */
} block_info;

static const unsigned block_sizes[][2] = {
#define X(rows, cols, unit) {rows, cols},
    SPMV_BLOCK_LIST(X)
#undef X
};

enum { BLOCK_SIZES = sizeof block_sizes / sizeof *block_sizes };

/* Diagonals that are at least so full, and the nonzeros on them. */
typedef struct diagonal_info {
    uint64_t count, nnz;
} diagonal_info;

/* All that is printed about a matrix. */
typedef struct matrix_info {
    uint64_t rows, cols, nnz;
    uint64_t zeros, ones, whole, floats;      /* values that are 0, 1, integers up to a million in magnitude, and floats (val=32) */
    uint64_t distinct, commonest;             /* values that differ in their bits, and the nonzeros of the 256 commonest of them */
    double   mean, deviation;                 /* of the row lengths */
    double   sigma;                           /* the deviation over the square root of the mean: sigma of Koza et al. 2013 (CMRS) */
    uint64_t shortest, longest, empty;        /* rows */
    uint64_t below, above;                    /* bandwidth */
    uint64_t longest_col, empty_cols;
    diagonal_info used, half, full;           /* with any nonzero, at least 50% full, at least 90% full */
    uint64_t bin_rows[LENGTH_BINS], bin_nnz[LENGTH_BINS]; /* rows of 0, 1, 2, 3-4, 5-8, ... nonzeros: bin b > 0 ends at 2^(b-1) */
    int      bins;                            /* number of bins up to that of the longest row */
    block_info block[BLOCK_SIZES];
} matrix_info;

/* Sorts n words by one byte after another; bytes that are the same in all of them, as in most small integers, cost one look. other: room
 * for n words. */
static void sort_words(uint64_t *word, uint64_t *other, uint64_t n)
{
    unsigned shift;
    uint64_t k;
    for (shift = 0; n && shift < 64; shift += 8) {
        uint64_t count[256] = {0}, at = 0, next;
        for (k = 0; k < n; k++) count[word[k] >> shift & 255]++;
        if (count[word[0] >> shift & 255] == n) continue;
        for (k = 0; k < 256; k++, at = next) {
            next = at + count[k];
            count[k] = at;
        }
        for (k = 0; k < n; k++) other[count[word[k] >> shift & 255]++] = word[k];
        memcpy(word, other, (size_t)n * sizeof *word);
    }
}

/* Counts the distinct values, given as words. These are sorted, and then hold how often each value occurs. other: room for as many. */
static void info_distinct(matrix_info *f, uint64_t *word, uint64_t *other)
{
    uint64_t k, first = 0;
    sort_words(word, other, f->nnz);
    for (k = 1; k <= f->nnz; k++) {
        if (k < f->nnz && word[k] == word[first]) continue;
        word[f->distinct++] = k - first;
        first = k;
    }
    sort_words(word, other, f->distinct);
    for (k = 0; k < f->distinct && k < DICTIONARY; k++) f->commonest += word[f->distinct - 1 - k];
}

static int info_values(matrix_info *f, tool *t, const spmv_csr *a)
{
    uint64_t k, *word = (uint64_t *)malloc((2 * (size_t)a->nnz + 1) * sizeof *word);
    if (!word) return cli_no_memory(t);
    for (k = 0; k < a->nnz; k++) {
        double v = value_at(a, k);
        memcpy(&word[k], &v, sizeof v);
        if (v == 0) f->zeros++;
        if (v == 1) f->ones++;
        if (library_is_float(v)) f->floats++;
        if (v >= -1e6 && v <= 1e6 && v == (double)(int64_t)v) f->whole++;
    }
    info_distinct(f, word, word + f->nnz);
    free(word);
    return DONE;
}

/* Row lengths and bandwidth. */
static void info_rows(matrix_info *f, const spmv_csr *a)
{
    uint64_t r;
    double squares = 0;
    f->mean = a->rows ? (double)a->nnz / (double)a->rows : 0;
    f->shortest = a->rows ? UINT64_MAX : 0;
    for (r = 0; r < a->rows; r++) {
        uint64_t from = a->ptr[r], to = a->ptr[r + 1], n = to - from;
        squares += ((double)n - f->mean) * ((double)n - f->mean);
        if (n > f->longest) f->longest = n;
        if (n < f->shortest) f->shortest = n;
        if (!n) { f->empty++; continue; }
        if (r > a->col[from] && r - a->col[from] > f->below) f->below = r - a->col[from];
        if (a->col[to - 1] > r && a->col[to - 1] - r > f->above) f->above = a->col[to - 1] - r;
    }
    f->deviation = a->rows ? number_root(squares / (double)a->rows) : 0;
    f->sigma = a->nnz ? f->deviation / number_root(f->mean) : 0;
}

static int info_columns(matrix_info *f, tool *t, const spmv_csr *a)
{
    uint64_t k, c;
    uint64_t *count = (uint64_t *)calloc((size_t)a->cols + 1, sizeof *count);
    if (!count) return cli_no_memory(t);
    for (k = 0; k < a->nnz; k++) count[a->col[k]]++;
    for (c = 0; c < a->cols; c++) {
        if (count[c] > f->longest_col) f->longest_col = count[c];
        if (!count[c]) f->empty_cols++;
    }
    free(count);
    return DONE;
}

/* The bins of row lengths. */
static void info_histogram(matrix_info *f, const spmv_csr *a)
{
    uint64_t r, n;
    int b;
    for (r = 0; r < a->rows; r++) {
        n = a->ptr[r + 1] - a->ptr[r];
        for (b = 0; b < LENGTH_BINS - 1 && n > (b ? 1ull << (b - 1) : 0); b++) continue;
        f->bin_rows[b]++;
        f->bin_nnz[b] += n;
        if (b >= f->bins) f->bins = b + 1;
    }
}

/* The first row length of a bin; bin_to: the last. */
static uint64_t bin_from(int b)
{
    return b < 3 ? (uint64_t)b : ((uint64_t)1 << (b - 2)) + 1;
}

static uint64_t bin_to(int b)
{
    return b < 3 ? (uint64_t)b : (uint64_t)1 << (b - 1);
}

/* ---- diagonals and blocks -------------------------------------------------------------------------------------- */

/* The number of elements of the diagonal col - row = d - (rows - 1). */
static uint64_t diagonal_length(const spmv_csr *a, uint64_t d)
{
    uint64_t first_row = d < a->rows - 1 ? a->rows - 1 - d : 0, first_col = d < a->rows - 1 ? 0 : d - (a->rows - 1);
    uint64_t down = a->rows - first_row, right = a->cols - first_col;
    return down < right ? down : right;
}

static void diagonal_count(diagonal_info *d, uint64_t nnz)
{
    d->count++;
    d->nnz += nnz;
}

/* Counts how full the diagonals are. DONE or FAILED, as info_columns and info_blocks. */
static int info_diagonals(matrix_info *f, tool *t, const spmv_csr *a)
{
    uint64_t all, r, k, d;
    uint32_t *count;
    if (!a->rows || !a->cols) return DONE;
    all = a->rows + a->cols - 1;
    count = (uint32_t *)calloc((size_t)all, sizeof *count);
    if (!count) return cli_no_memory(t);
    for (r = 0; r < a->rows; r++)
        for (k = a->ptr[r]; k < a->ptr[r + 1]; k++) count[a->rows - 1 - r + a->col[k]]++;
    for (d = 0; d < all; d++) {
        double fill = (double)count[d] / (double)diagonal_length(a, d);
        if (count[d]) diagonal_count(&f->used, count[d]);
        if (fill >= 0.5) diagonal_count(&f->half, count[d]);
        if (fill >= 0.9) diagonal_count(&f->full, count[d]);
    }
    free(count);
    return DONE;
}

/* The number of blocks of height x width on the grid of their size that hold a nonzero. seen has an element for each block column. */
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

/* Counts the blocks of every size. */
static int info_blocks(matrix_info *f, tool *t, const spmv_csr *a)
{
    uint32_t *seen = (uint32_t *)malloc(((size_t)a->cols / 2 + 1) * sizeof *seen);
    size_t i;
    if (!seen) return cli_no_memory(t);
    for (i = 0; i < BLOCK_SIZES; i++) {
        block_info *b = &f->block[i];
        double slots, nnz = (double)a->nnz;
        b->height = block_sizes[i][0];
        b->width = block_sizes[i][1];
        b->blocks = (double)count_blocks(a, b->height, b->width, seen);
        slots = b->blocks * b->height * b->width;
        b->fill = slots > 0 ? nnz / slots : 0;
        b->bytes_f64 = nnz > 0 ? (8 * slots + 4 * b->blocks) / nnz : NAN;
        b->bytes_f32 = nnz > 0 ? (4 * slots + 4 * b->blocks) / nnz : NAN;
    }
    free(seen);
    return DONE;
}

static int info_make(matrix_info *f, tool *t, const spmv_csr *a)
{
    memset(f, 0, sizeof *f);
    f->rows = a->rows;
    f->cols = a->cols;
    f->nnz = a->nnz;
    if (info_values(f, t, a) != DONE) return FAILED;
    info_rows(f, a);
    info_histogram(f, a);
    if (info_columns(f, t, a) != DONE || info_diagonals(f, t, a) != DONE) return FAILED;
    return info_blocks(f, t, a);
}

/* ---- text output --------------------------------------------------------------------------------------------------- */

static const char *info_kind(const matrix_info *f)
{
    return f->ones == f->nnz ? "all 1" : f->whole == f->nnz ? "small integers" : "real";
}

/* What the key val saves, where the values allow it. */
static void print_savings(const matrix_info *f)
{
    printf("            %llu distinct as bits; the %d commonest are %.2f%% of the nonzeros\n", (unsigned long long)f->distinct, DICTIONARY,
           number_percent(f->commonest, f->nnz));
    if (f->distinct == 1) puts("            val=1 saves 8 bytes a nonzero in f64, 4 in f32");
    if (f->distinct && f->distinct <= DICTIONARY) puts("            val=8 saves 7 bytes a nonzero in f64, 3 in f32");
    if (f->nnz && f->floats == f->nnz) puts("            val=32 saves 4 bytes a nonzero in f64");
}

static void print_diagonals(const char *which, diagonal_info d, uint64_t nnz)
{
    printf("            %-17s %11llu, with %6.2f%% of the nonzeros\n", which, (unsigned long long)d.count, number_percent(d.nnz, nnz));
}

/* The table of row lengths, with a bar for each bin. */
static void print_histogram(const matrix_info *f)
{
    uint64_t most = 0;
    int b;
    for (b = 0; b < f->bins; b++)
        if (f->bin_rows[b] > most) most = f->bin_rows[b];
    printf("\n%-17s %12s %9s %15s %9s\n", "row length", "rows", "share", "nonzeros", "share");
    for (b = 0; b < f->bins; b++) {
        char range[48];
        int bar = most ? (int)(40.0 * (double)f->bin_rows[b] / (double)most) : 0;
        if (b < 3) snprintf(range, sizeof range, "%d", b);
        else snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)bin_from(b), (unsigned long long)bin_to(b));
        printf("%-17s %12llu %8.2f%% %15llu %8.2f%%%s%.*s\n", range, (unsigned long long)f->bin_rows[b],
               number_percent(f->bin_rows[b], f->rows), (unsigned long long)f->bin_nnz[b], number_percent(f->bin_nnz[b], f->nnz),
               bar ? "  " : "", bar, "########################################");
    }
}

/* The table of block sizes. */
static void print_blocks(const matrix_info *f)
{
    int i;
    printf("\n%-17s %12s %9s   bytes per nonzero as bcsr: f64, f32 (csr: 12.00, 8.00)\n", "block", "blocks", "fill");
    for (i = 0; i < BLOCK_SIZES; i++) {
        const block_info *b = &f->block[i];
        char size[32];
        snprintf(size, sizeof size, "%ux%u", b->height, b->width);
        printf("%-17s %12.0f %8.2f%%", size, b->blocks, 100 * b->fill);
        if (f->nnz) printf(" %25.2f %7.2f\n", b->bytes_f64, b->bytes_f32);
        else printf(" %25s %7s\n", "-", "-");
    }
}

/* Prints everything as text. */
static void print_info(const matrix_info *f, const char *file)
{
    double places = (double)f->rows * (double)f->cols;
    printf("matrix      %s\nshape       %llu x %llu, %llu nonzeros (%.4g%% of the elements)\n", file, (unsigned long long)f->rows,
           (unsigned long long)f->cols, (unsigned long long)f->nnz, places > 0 ? 100 * (double)f->nnz / places : 0);
    printf("values      %s; %llu explicit zeros\n", info_kind(f), (unsigned long long)f->zeros);
    print_savings(f);
    printf("row length  mean %.2f, standard deviation %.2f, shortest %llu, longest %llu, empty rows %llu\n", f->mean, f->deviation,
           (unsigned long long)f->shortest, (unsigned long long)f->longest, (unsigned long long)f->empty);
    printf("sigma       %.2f: standard deviation divided by the square root of the mean (Koza and others 2013, CMRS)\n", f->sigma);
    printf("bandwidth   %llu below the diagonal, %llu above\n", (unsigned long long)f->below, (unsigned long long)f->above);
    printf("columns     longest %llu, empty columns %llu\n", (unsigned long long)f->longest_col, (unsigned long long)f->empty_cols);
    if (f->rows && f->cols) {
        printf("diagonals   %llu hold nonzeros\n", (unsigned long long)f->used.count);
        print_diagonals("at least 50% full", f->half, f->nnz);
        print_diagonals("at least 90% full", f->full, f->nnz);
    }
    print_histogram(f);
    print_blocks(f);
}

/* ---- JSON output --------------------------------------------------------------------------------------------------- */

static void json_diagonals(const char *key, diagonal_info d)
{
    printf("\"%s\": {", key);
    json_count("count", d.count); json_next();
    json_count("nnz", d.nnz);
    putchar('}');
}

/* Prints the bins of row lengths as a list. */
static void json_histogram(const matrix_info *f)
{
    int b;
    fputs("\"histogram\": [", stdout);
    for (b = 0; b < f->bins; b++) {
        fputs(b ? ", {" : "{", stdout);
        json_count("from", bin_from(b)); json_next();
        json_count("to", bin_to(b)); json_next();
        json_count("rows", f->bin_rows[b]); json_next();
        json_count("nnz", f->bin_nnz[b]);
        putchar('}');
    }
    putchar(']');
}

/* Prints the block sizes as a list. */
static void json_blocks(const matrix_info *f)
{
    int i;
    fputs("\"blocks\": [", stdout);
    for (i = 0; i < BLOCK_SIZES; i++) {
        const block_info *b = &f->block[i];
        printf("%s{\"size\": \"%ux%u\", ", i ? ", " : "", b->height, b->width);
        json_count("count", (uint64_t)b->blocks); json_next();
        json_real("fill", b->fill); json_next();
        json_real("bytes_f64", b->bytes_f64); json_next();
        json_real("bytes_f32", b->bytes_f32);
        putchar('}');
    }
    putchar(']');
}

/* Prints the JSON object that --help describes. */
static void json_info(const matrix_info *f, const char *file)
{
    putchar('{');
    json_text("matrix", file); json_next();
    json_count("rows", f->rows); json_next();
    json_count("cols", f->cols); json_next();
    json_count("nnz", f->nnz); json_next();
    json_text("values", info_kind(f)); json_next();
    json_count("explicit_zeros", f->zeros); json_next();
    json_count("distinct", f->distinct); json_next();
    json_count("commonest", f->commonest); json_next();
    json_count("floats", f->floats); json_next();
    fputs("\"row_length\": {", stdout);
    json_real("mean", f->mean); json_next();
    json_real("deviation", f->deviation); json_next();
    json_real("sigma", f->sigma); json_next();
    json_count("shortest", f->shortest); json_next();
    json_count("longest", f->longest);
    fputs("}, ", stdout);
    json_count("empty_rows", f->empty); json_next();
    json_count("empty_cols", f->empty_cols); json_next();
    json_count("longest_col", f->longest_col); json_next();
    printf("\"bandwidth\": {");
    json_count("below", f->below); json_next();
    json_count("above", f->above);
    fputs("}, \"diagonals\": {", stdout);
    json_diagonals("used", f->used); json_next();
    json_diagonals("half_full", f->half); json_next();
    json_diagonals("nine_tenths_full", f->full);
    fputs("}, ", stdout);
    json_histogram(f); json_next();
    json_blocks(f); json_next();
    json_text("version", SPMV_VERSION);
    puts("}");
}

/* Examines the matrix and prints the result. DONE or FAILED. */
static int info_print(tool *t, const spmv_csr *a, const char *file, int json)
{
    matrix_info *f = (matrix_info *)malloc(sizeof *f);
    int result;
    if (!f) return cli_no_memory(t);
    result = info_make(f, t, a);
    if (result == DONE && json) json_info(f, file);
    else if (result == DONE) print_info(f, file);
    free(f);
    return result;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

int info_command(tool *t, const arguments *args)
{
    spmv_csr a;
    int result;
    if (file_load_matrix(t, args->file[0], SPMV_TYPE_COUNT, &a) != DONE) return FAILED;
    t->about = args->file[0];
    result = info_print(t, &a, args->file[0], args->value[OPT_JSON] != NULL);
    spmv_csr_destroy(&a);
    return result;
}
