/* SPDX-License-Identifier: MIT
 * Calls the functions of spmv_c.h, from C and from C++, in the shared library that tests/lib.sh links it with. Ends with "N passed,
 * N failed". */
#include "spmv_c.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int passed, failed;

#define EXPECT(x) expect(!!(x), #x, __LINE__)
static void expect(int holds, const char *what, int line)
{
    if (holds) passed++;
    else failed++;
    if (!holds) printf("line %d: %s; the last error is %d: %s\n", line, what, spmv_last_status(), spmv_last_error());
}

/* 4 . 1
 * . 3 .
 * 1 . 2
 * 5 . .  */
enum { ROWS = 4, COLS = 3, NNZ = 6 };
static const int32_t ptr32[ROWS + 1] = { 0, 2, 3, 5, 6 }, col32[NNZ] = { 0, 2, 1, 0, 2, 0 }, row32[NNZ] = { 0, 0, 1, 2, 2, 3 };
static const int64_t ptr64[ROWS + 1] = { 1, 3, 4, 6, 7 }, col64[NNZ] = { 1, 3, 2, 1, 3, 1 };
static const double val[NNZ] = { 4, 1, 3, 1, 2, 5 }, twice[NNZ] = { 8, 2, 6, 2, 4, 10 };
static const float val32[NNZ] = { 4, 1, 3, 1, 2, 5 };

/* 1 if the n elements of y are those given. */
static int is(const double *y, int n, const double *wanted) { return !memcmp(y, wanted, (size_t)n * sizeof *y); }

static spmv_handle *csr(const char *plan, int threads, unsigned flags)
{
    return spmv_new_csr(ROWS, COLS, ptr32, 32, col32, 32, val, "f64", plan, threads, "host", flags);
}

static void products(void)
{
    const double x[] = { 1, 2, 3 }, z[] = { 1, 2, 3, 4 }, ax[] = { 7, 6, 7, 5 }, atz[] = { 27, 6, 7 }, half[] = { 1, 2, 1, 3 };
    const double pair[] = { 1, 1, 2, 2, 3, 3 }, pair_ax[] = { 7, 7, 6, 6, 7, 7, 5, 5 };
    double y[2 * ROWS] = { 0 };
    spmv_handle *a = csr(NULL, 0, SPMV_WITH_BOTH);
    EXPECT(a && spmv_handle_rows(a) == ROWS && spmv_handle_cols(a) == COLS && spmv_handle_nnz(a) == NNZ && spmv_handle_bytes(a));
    EXPECT(!spmv_handle_mul(a, 0, 1, x, 0, y) && is(y, ROWS, ax));
    EXPECT(!spmv_handle_mul(a, 1, 1, z, 0, y) && is(y, COLS, atz));
    memcpy(y, half, sizeof half);
    EXPECT(!spmv_handle_mul(a, 0, 0.5, x, -0.5, y) && y[0] == 3 && y[3] == 1);
    EXPECT(!spmv_handle_mul_many(a, 0, 2, 1, 1, pair, 0, 0, y, 0) && is(y, 2 * ROWS, pair_ax));
    EXPECT(!spmv_handle_mul_many(a, 0, 1, 0, 1, x, 0, 0, y, 0) && is(y, ROWS, ax));
    EXPECT(!spmv_handle_set_threads(a, 2) && !spmv_handle_mul(a, 0, 1, x, 0, y) && is(y, ROWS, ax));
    spmv_delete(a);
    spmv_delete(NULL);
}

static void forms(void)
{
    const double x[] = { 1, 2, 3 }, ax[] = { 7, 6, 7, 5 }, z[] = { 1, 2, 3, 4 }, atz[] = { 27, 6, 7 };
    const int32_t one[] = { 0, 1 }, zero[] = { 0 };
    const float x32[] = { 1, 2, 3 };
    double y[ROWS];
    float y32[ROWS];
    spmv_handle *a = spmv_new_csr(ROWS, COLS, ptr64, 64, col64, 64, val, NULL, "ell", 1, NULL, SPMV_FROM_ONE);
    EXPECT(a && !spmv_handle_mul(a, 0, 1, x, 0, y) && is(y, ROWS, ax));
    spmv_delete(a);
    a = spmv_new_csr(ROWS, COLS, ptr32, 32, col32, 32, val32, "f32", NULL, 0, NULL, 0);
    EXPECT(a && !spmv_handle_mul(a, 0, 1, x32, 0, y32) && y32[0] == 7 && y32[3] == 5);
    spmv_delete(a);
    a = spmv_new("coo", ROWS, COLS, NNZ, NULL, 0, row32, col32, 32, val32, 32, 0, 0, "mixed", NULL, NULL, 1, 1, 0, NULL, 0);
    EXPECT(a && !spmv_handle_mul(a, 0, 1, x, 0, y) && is(y, ROWS, ax));
    spmv_delete(a);
    a = spmv_new("csc", COLS, ROWS, 0, ptr32, 32, col32, NULL, 32, val, 64, 0, 0, NULL, NULL, NULL, 0, 0, 0, NULL, 0);
    EXPECT(a && !spmv_handle_mul(a, 0, 1, z, 0, y) && is(y, COLS, atz));
    spmv_delete(a);
    a = spmv_new("csr", ROWS, COLS, 0, ptr32, 32, NULL, col32, 32, val, 0, 0, 0, NULL, NULL, NULL, 0, 0, 0, NULL, SPMV_TRANSPOSE);
    EXPECT(a && spmv_handle_rows(a) == COLS && !spmv_handle_mul(a, 0, 1, z, 0, y) && is(y, COLS, atz));
    spmv_delete(a);
    a = spmv_new("bsr", 2, 3, 0, one, 32, NULL, zero, 32, val, 0, 2, 3, NULL, NULL, NULL, 0, 0, 0, NULL, 0);
    EXPECT(a && !spmv_handle_mul(a, 0, 1, x, 0, y) && y[0] == 15 && y[1] == 20);
    spmv_delete(a);
    a = spmv_new("bsr", 2, 3, 0, one, 32, NULL, zero, 32, val, 0, 2, 3, NULL, NULL, NULL, 0, 0, 0, NULL, SPMV_BY_COLUMNS);
    EXPECT(a && !spmv_handle_mul(a, 0, 1, x, 0, y) && y[0] == 16 && y[1] == 18);
    spmv_delete(a);
}

static void texts(void)
{
    const double x[] = { 1, 2, 3 }, more[] = { 14, 12, 14, 10 };
    double y[ROWS];
    char text[200];
    spmv_handle *a = csr("sell:h=2", 0, SPMV_WITH_BOTH + SPMV_WITH_UPDATE);
    EXPECT(spmv_handle_plan(a, 0, text, sizeof text) == 8 && !strcmp(text, "sell:h=2"));
    EXPECT(spmv_handle_plan(a, 1, text, 3) == 8 && !strcmp(text, "se"));
    EXPECT(spmv_handle_explain(a, text, sizeof text) == 0 && !text[0]);
    EXPECT(!spmv_handle_update(a, twice) && !spmv_handle_mul(a, 0, 1, x, 0, y) && is(y, ROWS, more));
    spmv_delete(a);
    a = spmv_new("csr", ROWS, COLS, 0, ptr32, 32, NULL, col32, 32, val, 0, 0, 0, "f64", "csr", "ell", 0, 0, 0, NULL, SPMV_WITH_BOTH);
    EXPECT(spmv_handle_plan(a, 0, text, sizeof text) && !strcmp(text, "csr"));
    EXPECT(spmv_handle_plan(a, 1, text, sizeof text) && !strcmp(text, "ell"));
    spmv_delete(a);
    a = csr(NULL, 0, SPMV_WITH_EXPLAIN);
    EXPECT(spmv_handle_explain(a, text, sizeof text) > 0 && strstr(text, "csr"));
    spmv_delete(a);
    EXPECT(strchr(spmv_library_version(), '.') && !strcmp(spmv_error_name(0), "SPMV_OK"));
}

/* 1 if the latest error has this number and its text the words. */
static int says(const char *name, const char *words)
{
    return !strcmp(spmv_error_name(spmv_last_status()), name) && strstr(spmv_last_error(), words) != NULL;
}

static void errors(void)
{
    const int32_t beyond[NNZ] = { 0, 2, 1, 0, 9, 0 };
    double y[ROWS];
    spmv_handle *a;
    EXPECT(!spmv_last_status() && !spmv_last_error()[0]);
    EXPECT(!spmv_new_csr(ROWS, COLS, ptr32, 32, beyond, 32, val, "f64", NULL, 0, NULL, 0) && says("SPMV_ERR_INDEX", "row 2"));
    EXPECT(!spmv_new_csr(ROWS, COLS, ptr32, 31, col32, 32, val, "f64", NULL, 0, NULL, 0) && says("SPMV_ERR_ARGUMENT", "ptr_bits"));
    EXPECT(!spmv_new_csr(ROWS, COLS, ptr32, 32, col32, 32, val, "f16", NULL, 0, NULL, 0) && says("SPMV_ERR_ARGUMENT", "f16"));
    EXPECT(!spmv_new_csr(ROWS, COLS, ptr32, 32, col32, 32, val, "f64", NULL, 0, "no such", 0) && spmv_last_status());
    EXPECT(!csr("sel", 0, 0) && says("SPMV_ERR_PLAN", "sel"));
    EXPECT(!csr(NULL, -1, 0) && says("SPMV_ERR_ARGUMENT", "-1 threads"));
    EXPECT(!csr(NULL, 0, 2048) && says("SPMV_ERR_ARGUMENT", "2048"));
    EXPECT(!csr(NULL, 0, SPMV_ON_DEVICE) && says("SPMV_ERR_ARGUMENT", "spmv_new: the matrix is not on a CUDA device"));
    EXPECT(!spmv_new("dense", 1, 1, 0, NULL, 0, NULL, NULL, 0, NULL, 0, 0, 0, NULL, NULL, NULL, 0, 0, 0, NULL, 0) &&
           says("SPMV_ERR_ARGUMENT", "\"dense\""));
    EXPECT(!spmv_new("coo", 1, 1, 0, NULL, 0, NULL, NULL, 32, NULL, 16, 0, 0, NULL, NULL, NULL, 0, 0, 0, NULL, 0) &&
           says("SPMV_ERR_ARGUMENT", "16 bits"));
    EXPECT(spmv_handle_mul(NULL, 0, 1, y, 0, y) == spmv_last_status() && says("SPMV_ERR_ARGUMENT", "handle is NULL"));
    EXPECT(spmv_handle_mul_many(NULL, 0, 1, 0, 1, y, 0, 0, y, 0) && spmv_handle_update(NULL, val) && spmv_handle_set_threads(NULL, 1));
    EXPECT(spmv_handle_mul_buffers(NULL, 0, 1, 0, 1, y, 0, 0, y, 0, NULL) && spmv_handle_update_buffer(NULL, y));
    EXPECT(!spmv_handle_rows(NULL) && !spmv_handle_cols(NULL) && !spmv_handle_nnz(NULL) && !spmv_handle_bytes(NULL));
    EXPECT(!spmv_handle_plan(NULL, 1, NULL, 0) && !spmv_handle_explain(NULL, NULL, 0));
    a = csr(NULL, 0, 0);
    EXPECT(spmv_handle_mul(a, 1, 1, y, 0, y) && says("SPMV_ERR_ARGUMENT", "both directions"));
    EXPECT(spmv_handle_mul(a, 0, 1, y, 0, y) && says("SPMV_ERR_ARGUMENT", "overlap"));
    EXPECT(spmv_handle_update(a, val) && says("SPMV_ERR_FIXED", "updatable"));
    EXPECT(spmv_handle_mul_buffers(a, 0, 1, 0, 1, y, 0, 0, y, 0, NULL) && says("SPMV_ERR_ARGUMENT", "not on a CUDA device"));
    EXPECT(spmv_handle_update_buffer(a, y) && says("SPMV_ERR_ARGUMENT", "update_buffer: the matrix is not on a CUDA device"));
    EXPECT(spmv_handle_set_threads(a, -2) && says("SPMV_ERR_ARGUMENT", "-2 threads"));
    spmv_delete(a);
}

/* Another thread has errors of its own. */
static void *in_thread(void *unused)
{
    EXPECT(!spmv_last_status() && !spmv_last_error()[0]);
    EXPECT(!csr("ellx", 0, 0) && says("SPMV_ERR_PLAN", "ellx"));
    return unused;
}

static void each_thread(void)
{
    pthread_t thread;
    char before[1024];
    snprintf(before, sizeof before, "%s", spmv_last_error());
    EXPECT(!pthread_create(&thread, NULL, in_thread, NULL) && !pthread_join(thread, NULL));
    EXPECT(!strcmp(before, spmv_last_error()));
}

int main(void)
{
    products();
    forms();
    texts();
    errors();
    each_thread();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
