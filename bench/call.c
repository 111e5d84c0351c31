/* SPDX-License-Identifier: MIT
 * Times spmv_handle_mul of build/libspmv.so with the matrix by which bench/python.py times calls, -1 2.5 -1 in 1,000 rows, in one thread,
 * and prints the microseconds of a product: of 7 times 100,000 products the fastest. */
#include "spmv_c.h"

#include <stdio.h>
#include <time.h>

enum { N = 1000, PRODUCTS = 100000, TIMES = 7 };
static int32_t ptr[N + 1], col[3 * N];
static double val[3 * N], x[N], y[N];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(void)
{
    double best = 1e9;
    int i, j;
    spmv_handle *a;
    for (i = 0; i < N; i++) {
        ptr[i + 1] = ptr[i];
        for (j = i - 1; j <= i + 1; j++) {
            if (j < 0 || j >= N) continue;
            col[ptr[i + 1]] = j;
            val[ptr[i + 1]++] = i == j ? 2.5 : -1;
        }
        x[i] = 1;
    }
    a = spmv_new_csr(N, N, ptr, 32, col, 32, val, "f64", NULL, 1, NULL, 0);
    if (!a) return puts(spmv_last_error()) || 1;
    for (j = 0; j < TIMES; j++) {
        const double begin = now();
        double took;
        for (i = 0; i < PRODUCTS; i++) spmv_handle_mul(a, 0, 1, x, 0, y);
        took = (now() - begin) / PRODUCTS;
        if (took < best) best = took;
    }
    printf("%.2f\n", best * 1e6);
    spmv_delete(a);
    return 0;
}
