/* SPDX-License-Identifier: MIT
 *
 * Shared by the tests on the host: seeded random numbers, hooks that count blocks, messages and bytes, awkward matrices, a reference
 * product. Include it after <criterion/criterion.h>, in the one unit that also has the implementation. */
#ifndef SPMV_TESTS_COMMON_H
#define SPMV_TESTS_COMMON_H

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spmv.h"

/* Criterion reports every passing assertion to its runner, which is slow in loops. CHECK reports only failures. */
#define CHECK(condition, ...)                                     \
    do {                                                          \
        checks_done++;                                            \
        if (!(condition)) {                                       \
            check_say(__VA_ARGS__);                               \
            cr_assert_fail("%s: %s", #condition, check_text);     \
        }                                                         \
    } while (0)
static uint64_t checks_done;
static char     check_text[8192];

#ifdef __GNUC__
__attribute__((format(printf, 1, 2)))
#endif
static inline void check_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(check_text, sizeof check_text, format, args);
    va_end(args);
}

/* ---- random numbers: splitmix64 -------------------------------------------------------------------------------- */
static uint64_t rng_state = 1;

static inline uint64_t rng(void)
{
    uint64_t z = rng_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static inline uint64_t rng_below(uint64_t n) { return n ? rng() % n : 0; }
static inline double rng_unit(void) { return (double)(rng() >> 11) / 9007199254740992.0; }
static inline double rng_int(void) { return (double)rng_below(17) - 8; }
/* Signed, over 12 binary orders of magnitude. */
static inline double rng_real(void) { return ldexp(rng_unit() + 0.5, (int)rng_below(13) - 6) * (rng() & 1 ? 1 : -1); }

/* ---- hooks ------------------------------------------------------------------------------------------------------ */
typedef struct ledger {
    long   live, calls;    /* blocks not yet freed; requests so far */
    long   fail_at;        /* the number of the request that fails, from 1; 0: none fails */
    int    fail_for_ever;  /* 1: all requests after it fail as well */
    size_t largest, cap;   /* the largest request, in bytes; requests larger than cap fail (0: no cap) */
    int    messages;
    spmv_status last;
    char   text[4200];
} ledger;

static inline void *ledger_resize(void *user, void *block, size_t bytes)
{
    ledger *l = (ledger *)user;
    void *out;
    if (!bytes) {
        l->live -= block != NULL;
        free(block);
        return NULL;
    }
    l->calls++;
    if (bytes > l->largest) l->largest = bytes;
    if (l->fail_at && (l->calls == l->fail_at || (l->fail_for_ever && l->calls > l->fail_at))) return NULL;
    if (l->cap && bytes > l->cap) return NULL;
    out = realloc(block, bytes);
    if (out && !block) {
        l->live++;
        memset(out, 0xa5, bytes); /* nothing may rely on fresh memory being zero */
    }
    return out;
}

static inline void ledger_log(void *user, spmv_status s, const char *message)
{
    ledger *l = (ledger *)user;
    size_t n = strlen(message);
    if (n >= sizeof l->text) n = sizeof l->text - 1;
    if (!l->messages) { /* the first message is the cause */
        l->last = s;
        memcpy(l->text, message, n);
        l->text[n] = 0;
    }
    l->messages++;
}

static inline spmv_hooks ledger_hooks(ledger *l)
{
    spmv_hooks h;
    memset(l, 0, sizeof *l);
    memset(&h, 0, sizeof h);
    h.user = l;
    h.resize = ledger_resize;
    h.log = ledger_log;
    return h;
}

/* Hooks that count the bytes in use, and the most that ever were. Messages are not printed. */
typedef struct meter {
    size_t now, most;
} meter;

enum { METER_HEAD = 16 /* bytes before each block, which hold its size */ };

static inline void *meter_resize(void *user, void *block, size_t bytes)
{
    meter *m = (meter *)user;
    unsigned char *head = block ? (unsigned char *)block - METER_HEAD : NULL;
    size_t before = 0;
    if (head) memcpy(&before, head, sizeof before);
    if (!bytes) {
        m->now -= before;
        free(head);
        return NULL;
    }
    head = (unsigned char *)realloc(head, bytes + METER_HEAD);
    if (!head) return NULL;
    m->now += bytes - before;
    if (m->now > m->most) m->most = m->now;
    memcpy(head, &bytes, sizeof bytes);
    return head + METER_HEAD;
}

static inline void meter_log(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    (void)message;
}

static inline spmv_hooks meter_hooks(meter *m)
{
    spmv_hooks h;
    memset(m, 0, sizeof *m);
    memset(&h, 0, sizeof h);
    h.user = m;
    h.resize = meter_resize;
    h.log = meter_log;
    return h;
}

static inline void *need(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);
    if (!p) cr_assert_fail("the test itself has no memory");
    return p;
}
/* Exactly this many bytes, so that a sanitizer detects an access to the first one after the end. */
static inline void *need_exact(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    if (!p) cr_assert_fail("the test itself has no memory");
    return p;
}

/* ---- matrices: plain CSR, made without the library ---------------------------------------------------------------- */
typedef struct matrix {
    char      name[40];
    uint64_t  rows, cols, nnz, room;
    uint64_t *ptr;
    uint32_t *col;
    double   *val;
    float    *valf; /* the same values, rounded to float */
} matrix;

typedef enum values { INTEGERS, WITH_ZEROS, REALS } values;

static inline void matrix_free(matrix *m)
{
    free(m->ptr);
    free(m->col);
    free(m->val);
    free(m->valf);
    memset(m, 0, sizeof *m);
}

static inline void matrix_open(matrix *m, const char *name, uint64_t rows, uint64_t cols)
{
    memset(m, 0, sizeof *m);
    snprintf(m->name, sizeof m->name, "%s", name);
    m->rows = rows;
    m->cols = cols;
    m->ptr = (uint64_t *)need(rows + 1, 8);
}

static inline void matrix_add(matrix *m, uint64_t c)
{
    if (m->nnz == m->room) {
        m->room = m->room ? 2 * m->room : 64;
        m->col = (uint32_t *)realloc(m->col, m->room * 4);
        if (!m->col) cr_assert_fail("the test itself has no memory");
    }
    m->col[m->nnz++] = (uint32_t)c;
}

static inline double matrix_value(values kind)
{
    double v;
    if (kind == REALS) return rng_real();
    if (kind == WITH_ZEROS && rng_below(4) == 0) return rng() & 1 ? 0.0 : -0.0;
    do v = rng_int();
    while (v == 0);
    return v;
}

/* Makes the values. Arrays get their exact size, so that sanitizers guard their ends. */
static inline void matrix_close(matrix *m, values kind)
{
    uint64_t k;
    uint32_t *col = (uint32_t *)need_exact(m->nnz * 4);
    if (m->nnz) memcpy(col, m->col, m->nnz * 4);
    free(m->col);
    m->col = col;
    m->val = (double *)need_exact(m->nnz * 8);
    m->valf = (float *)need_exact(m->nnz * 4);
    for (k = 0; k < m->nnz; k++) {
        m->val[k] = matrix_value(kind);
        m->valf[k] = (float)m->val[k];
    }
}

/* Adds want random entries to a row, or all of it if it is shorter, in rising columns. */
static inline void matrix_random_row(matrix *m, uint64_t want)
{
    uint64_t c, left = want < m->cols ? want : m->cols;
    for (c = 0; c < m->cols && left; c++)
        if (rng_below(m->cols - c) < left) {
            matrix_add(m, c);
            left--;
        }
}

static inline void matrix_random(matrix *m, const char *name, uint64_t rows, uint64_t cols, double density)
{
    uint64_t r, c;
    matrix_open(m, name, rows, cols);
    for (r = 0; r < rows; r++) {
        for (c = 0; c < cols; c++)
            if (rng_unit() < density) matrix_add(m, c);
        m->ptr[r + 1] = m->nnz;
    }
}

/* Only the rows first .. end - 1 have entries. */
static inline void matrix_some_rows(matrix *m, const char *name, uint64_t n, uint64_t first, uint64_t end)
{
    uint64_t r;
    matrix_open(m, name, n, n);
    for (r = 0; r < n; r++) {
        if (r >= first && r < end) matrix_random_row(m, 1 + rng_below(5));
        m->ptr[r + 1] = m->nnz;
    }
}

/* Entries where offset = column - row lies in one of two bands. */
static inline void matrix_bands(matrix *m, const char *name, uint64_t rows, uint64_t cols, int64_t a0, int64_t a1, int64_t b0, int64_t b1)
{
    uint64_t r, c;
    matrix_open(m, name, rows, cols);
    for (r = 0; r < rows; r++) {
        for (c = 0; c < cols; c++) {
            int64_t o = (int64_t)c - (int64_t)r;
            if ((o >= a0 && o <= a1) || (o >= b0 && o <= b1)) matrix_add(m, c);
        }
        m->ptr[r + 1] = m->nnz;
    }
}

/* Blocks on a grid, some of them not full. */
static inline void matrix_blocks(matrix *m, const char *name, uint64_t rows, uint64_t cols, uint64_t bh, uint64_t bw)
{
    uint64_t r, c, seed = rng();
    matrix_open(m, name, rows, cols);
    for (r = 0; r < rows; r++) {
        for (c = 0; c < cols; c++) {
            uint64_t h = (r / bh * 7919 + c / bw * 104729 + seed) * 0x9e3779b97f4a7c15u >> 40;
            if (h % 5 == 0 && (h % 3 || rng() & 1)) matrix_add(m, c);
        }
        m->ptr[r + 1] = m->nnz;
    }
}

/* A few long rows and many short ones. */
static inline void matrix_skewed(matrix *m, const char *name, uint64_t rows, uint64_t cols, uint64_t longest)
{
    uint64_t r;
    matrix_open(m, name, rows, cols);
    for (r = 0; r < rows; r++) {
        uint64_t n = (uint64_t)((double)longest / (1 + 40 * rng_unit() * rng_unit() * (double)(1 + r % 7)));
        if (rng_below(8) == 0) n = 0;
        matrix_random_row(m, n);
        m->ptr[r + 1] = m->nnz;
    }
}

static inline void matrix_few(matrix *m, const char *name, uint64_t rows, uint64_t cols, uint64_t most)
{
    uint64_t r, i;
    matrix_open(m, name, rows, cols);
    for (r = 0; r < rows; r++) { /* rising columns by steps: cheap for many columns */
        uint64_t c = rng_below(cols / (most + 1) + 1);
        for (i = rng_below(most + 1); i && c < cols; i--, c += 1 + rng_below(cols / most)) matrix_add(m, c);
        m->ptr[r + 1] = m->nnz;
    }
}

static inline void matrix_one_line(matrix *m, const char *name, uint64_t rows, uint64_t cols, uint64_t full_row, uint64_t full_col)
{
    uint64_t r;
    matrix_open(m, name, rows, cols);
    for (r = 0; r < rows; r++) {
        if (r == full_row) matrix_random_row(m, cols);
        else if (full_col < cols) matrix_add(m, full_col);
        m->ptr[r + 1] = m->nnz;
    }
}

/* The host product of coo cuts its entries at multiples of 16384: rows that begin at a cut, end at one and lie across several. */
static inline void matrix_long_rows(matrix *m, const char *name)
{
    static const uint64_t lengths[] = { 16384, 20011, 0, 12757, 3, 16383, 1, 20011, 0 };
    uint64_t r;
    matrix_open(m, name, 9, 20011);
    for (r = 0; r < 9; r++) {
        matrix_random_row(m, lengths[r]);
        m->ptr[r + 1] = m->nnz;
    }
}

/* Rows of 100 adjacent columns; ten from row from on, 0 or 10, and every second ten after them also have 20 columns far from each other. */
static inline void matrix_far(matrix *m, const char *name, uint64_t rows, uint64_t from)
{
    const uint64_t far = 140000;
    uint64_t r, c, k;
    matrix_open(m, name, rows, far);
    for (r = 0; r < rows; r++) {
        for (c = 0; c < 100; c++) matrix_add(m, 50 * r + c);
        for (k = 1; k <= 20 && (r + 10 - from) / 10 % 2; k++) matrix_add(m, 5000 + k * (far - 5001 - r) / 20);
        m->ptr[r + 1] = m->nnz;
    }
}

/* Adds so many entries to a row, at most one in each of as many equal pieces of it. */
static inline void matrix_spread_row(matrix *m, uint64_t want)
{
    const uint64_t piece = m->cols / want;
    uint64_t i;
    for (i = 0; i < want; i++) matrix_add(m, i * piece + rng_below(piece));
}

/* Adds a row's part of full blocks of 3 x 3, so many of them. */
static inline void matrix_block_row(matrix *m, uint64_t r, uint64_t blocks)
{
    const uint64_t apart = m->cols / 3 / blocks;
    uint64_t i, c;
    for (i = 0; i < blocks; i++)
        for (c = 0; c < 3; c++) matrix_add(m, 3 * (i * apart + r / 3 * 37 % apart) + c);
}

/* Makes number i of the matrices by which the peak of memory is judged, and returns 1; returns 0 if there is none. */
static inline int matrix_plain(matrix *m, int i)
{
    enum { BAND, SCATTERED, UNEVEN, BLOCKS, DIAGONALS, PLAIN };
    static const char *const names[] = { "band", "scattered", "uneven", "blocks", "diagonals" };
    static const int64_t diagonals[] = { -300, -1, 0, 1, 300 };
    const int64_t n = 4200;
    int64_t r, k;
    if (i >= PLAIN) return 0;
    rng_state = (uint64_t)i + 1;
    matrix_open(m, names[i], (uint64_t)n, (uint64_t)n);
    for (r = 0; r < n; r++) {
        if (i == BAND) {
            for (k = -10; k <= 10; k++)
                if (r + k >= 0 && r + k < n) matrix_add(m, (uint64_t)(r + k));
        } else if (i == DIAGONALS) {
            for (k = 0; k < 5; k++)
                if (r + diagonals[k] >= 0 && r + diagonals[k] < n) matrix_add(m, (uint64_t)(r + diagonals[k]));
        } else if (i == BLOCKS) matrix_block_row(m, (uint64_t)r, 6);
        else matrix_spread_row(m, i == SCATTERED ? 12 : r % 200 == 7 ? 1000 : 1 + rng_below(8));
        m->ptr[r + 1] = m->nnz;
    }
    matrix_close(m, INTEGERS);
    return 1;
}

/* Makes awkward matrix number i and returns 1; returns 0 if there is none. */
static inline int matrix_awkward(matrix *m, int i, values kind)
{
    const uint64_t none = UINT64_MAX;
    rng_state = (uint64_t)i * 977 + (uint64_t)kind + 5;
    switch (i) {
    case 0:  matrix_open(m, "0x0", 0, 0); break;
    case 1:  matrix_open(m, "0x7", 0, 7); break;
    case 2:  matrix_open(m, "7x0", 7, 0); break;
    case 3:  matrix_open(m, "5x6 nothing", 5, 6); break;
    case 4:  matrix_random(m, "1x1", 1, 1, 1.1); break;
    case 5:  matrix_open(m, "1x1 nothing", 1, 1); break;
    case 6:  matrix_random(m, "31", 31, 31, 0.15); break;
    case 7:  matrix_random(m, "32", 32, 32, 0.15); break;
    case 8:  matrix_random(m, "33", 33, 33, 0.15); break;
    case 9:  matrix_random(m, "65", 65, 65, 0.1); break;
    case 10: matrix_few(m, "1000", 1000, 1000, 9); break;
    case 11: matrix_few(m, "5000", 5000, 5000, 5); break;
    case 12: matrix_some_rows(m, "first row empty", 40, 1, 40); break;
    case 13: matrix_some_rows(m, "last row empty", 40, 0, 39); break;
    case 14: matrix_some_rows(m, "all but one empty", 70, 37, 38); break;
    case 15: matrix_one_line(m, "one full row", 67, 67, 41, none); break;
    case 16: matrix_one_line(m, "one full column", 67, 67, none, 13); break;
    case 17: matrix_one_line(m, "full row and column", 130, 90, 129, 0); break;
    case 18: matrix_random(m, "wide", 21, 301, 0.06); break;
    case 19: matrix_random(m, "tall", 301, 21, 0.06); break;
    case 20: matrix_random(m, "sparse", 50, 61, 0.02); break;
    case 21: matrix_random(m, "fifth", 50, 61, 0.2); break;
    case 22: matrix_random(m, "nearly full", 50, 61, 0.9); break;
    case 23: matrix_random(m, "full", 23, 17, 1.1); break;
    case 24: matrix_bands(m, "tridiagonal", 100, 100, -1, 1, -1, 1); break;
    case 25: matrix_bands(m, "two bands", 300, 257, -40, -38, 10, 12); break;
    case 26: matrix_bands(m, "corners", 33, 70, -32, -32, 69, 69); break;
    case 27: matrix_blocks(m, "blocks 4x4", 66, 70, 4, 4); break;
    case 28: matrix_blocks(m, "blocks 3x3", 61, 59, 3, 3); break;
    case 29: matrix_skewed(m, "skewed", 600, 200, 150); break;
    case 30: matrix_random(m, "one row", 1, 500, 1.1); break;
    case 31: matrix_random(m, "one column", 500, 1, 0.7); break;
    case 32: matrix_long_rows(m, "long rows"); break;
    case 33: matrix_far(m, "far columns", 40, 10); break;
    case 34: matrix_far(m, "far columns in all rows", 6, 0); break;
    default: return 0;
    }
    matrix_close(m, kind);
    return 1;
}

static inline spmv_input matrix_input(const matrix *m, spmv_type t)
{
    spmv_input in;
    memset(&in, 0, sizeof in);
    in.rows = (int64_t)m->rows;
    in.cols = (int64_t)m->cols;
    in.nnz = (int64_t)m->nnz;
    in.ptr = m->ptr;
    in.col = m->col;
    in.val = spmv_value_size(t) == 8 ? (const void *)m->val : (const void *)m->valf;
    in.ptr_bits = 64;
    in.index_bits = 32;
    in.val_type = spmv_value_size(t) == 8 ? SPMV_F64 : SPMV_F32;
    return in;
}

/* The library's CSR over the matrix's own arrays. */
static inline spmv_csr matrix_csr(const matrix *m, spmv_type t)
{
    spmv_csr a;
    spmv_input in = matrix_input(m, t);
    spmv_status s;
    in.borrow = 1;
    s = spmv_csr_create(&a, &in, t, NULL);
    if (s) cr_assert_fail("%s: %s", m->name, spmv_status_name(s));
    return a;
}

/* Bytes of the CSR form. */
static inline size_t csr_bytes(const spmv_csr *a) { return (size_t)((4 + spmv_value_size(a->type)) * a->nnz + 8 * (a->rows + 1)); }

static inline const char *csr_difference(const spmv_csr *a, const spmv_csr *b)
{
    if (a->rows != b->rows || a->cols != b->cols) return "shape";
    if (a->nnz != b->nnz) return "nnz";
    if (a->type != b->type) return "type";
    if (a->rows && memcmp(a->ptr, b->ptr, (a->rows + 1) * 8) != 0) return "ptr";
    if (a->nnz && memcmp(a->col, b->col, a->nnz * 4) != 0) return "col";
    if (a->nnz && memcmp(a->val, b->val, a->nnz * spmv_value_size(a->type)) != 0) return "val";
    return NULL;
}

/* ---- vectors ------------------------------------------------------------------------------------------------------ */
static inline double vector_get(spmv_type t, const void *v, uint64_t i)
{
    return t == SPMV_F32 ? (double)((const float *)v)[i] : ((const double *)v)[i];
}
static inline void vector_set(spmv_type t, void *v, uint64_t i, double x)
{
    if (t == SPMV_F32) ((float *)v)[i] = (float)x;
    else ((double *)v)[i] = x;
}
static inline void *vector_new(spmv_type t, uint64_t n) { return need_exact(n * spmv_vector_size(t)); }

enum { CANARY = 64 };
/* A block for n elements of y with CANARY guard bytes before and after them. */
static inline unsigned char *guarded_new(spmv_type t, uint64_t n)
{
    size_t bytes = n * spmv_vector_size(t) + 2 * CANARY;
    unsigned char *block = (unsigned char *)need_exact(bytes);
    memset(block, 0x5c, bytes);
    return block;
}
static inline int guarded_intact(const unsigned char *block, spmv_type t, uint64_t n)
{
    size_t bytes = n * spmv_vector_size(t), i;
    for (i = 0; i < CANARY; i++)
        if (block[i] != 0x5c || block[CANARY + bytes + i] != 0x5c) return 0;
    return 1;
}

static inline double csr_value(const spmv_csr *a, uint64_t k) { return vector_get(a->type, a->val, k); }

/* Row r of A x, summed in double by a plain loop: exact for small integers. */
static inline double row_product(const spmv_csr *a, uint64_t r, spmv_type t, const void *x)
{
    double sum = 0;
    uint64_t k;
    for (k = a->ptr[r]; k < a->ptr[r + 1]; k++) sum += csr_value(a, k) * vector_get(t, x, a->col[k]);
    return sum;
}
#endif
