/* SPDX-License-Identifier: MIT
 *
 * New values on an unchanged pattern: a diffusion matrix, given as unsorted coordinates with duplicates, is stored once as sliced
 * ELLPACK; then its coefficients change in every step. Host only.
 *
 *     cc -std=c99 -O2 -I. examples/update.c -o update
 *
 * Prints: stored as sell
 * Prints: 5 updates, all right
 */
#define SPMV_NO_DEVICES
#define SPMV_IMPLEMENTATION
#include "spmv.h"

#include <stdio.h>

enum { N = 1000, ENTRIES = 4 * (N - 1) };

static int32_t row[ENTRIES], col[ENTRIES];
static double  val[ENTRIES], x[N], y[N];

/* Each edge between i and i + 1, with conductance c, adds four entries. Two edges meet at a diagonal entry, where they are summed. */
static void coefficients(int step)
{
    int i;
    for (i = 0; i < N - 1; i++) {
        double c = 1 + (i + step) % 7;
        val[4 * i] = val[4 * i + 1] = c;
        val[4 * i + 2] = val[4 * i + 3] = -c;
    }
}

int main(void)
{
    int i, step;
    char plan[SPMV_PLAN_TEXT];
    spmv_desc desc = {0};
    spmv_matrix a;

    for (i = 0; i < N - 1; i++) {
        row[4 * i] = i;         col[4 * i] = i;
        row[4 * i + 1] = i + 1; col[4 * i + 1] = i + 1;
        row[4 * i + 2] = i;     col[4 * i + 2] = i + 1;
        row[4 * i + 3] = i + 1; col[4 * i + 3] = i;
    }
    for (i = 0; i < N; i++) x[i] = i % 10;

    desc.matrix.form = SPMV_IN_COO;
    desc.matrix.rows = desc.matrix.cols = N;
    desc.matrix.nnz = ENTRIES;
    desc.matrix.row = row;
    desc.matrix.col = col;
    desc.matrix.val = val;
    desc.plan = "sell:h=32";
    desc.updatable = 1; /* the library remembers which of the caller's values each stored slot holds */
    coefficients(0);
    if (spmv_create(&a, &desc) != SPMV_OK) return 1;
    spmv_plan_of(&a, plan, sizeof plan);
    printf("stored as %s, %.0f bytes a product\n", plan, (double)spmv_bytes(&a));

    for (step = 1; step <= 5; step++) {
        coefficients(step);
        if (spmv_update(&a, val) != SPMV_OK) return 1; /* the caller's values, in the caller's order */
        if (spmv_mul_f64(&a, 1.0, x, 0.0, y) != SPMV_OK) return 1;
        for (i = 0; i < N; i++) { /* all values are integers, so the result must be exact */
            double left = i > 0 ? 1 + (i - 1 + step) % 7 : 0, right = i < N - 1 ? 1 + (i + step) % 7 : 0;
            double want = (left + right) * x[i];
            if (i > 0) want -= left * x[i - 1];
            if (i < N - 1) want -= right * x[i + 1];
            if (y[i] != want) {
                printf("step %d, row %d: %g instead of %g\n", step, i, y[i], want);
                return 1;
            }
        }
    }
    spmv_destroy(&a);
    printf("5 updates, all right\n");
    return 0;
}
