/* SPDX-License-Identifier: MIT
 * Prints the plans that "auto" chooses for matrices of five sorts. list.sh compares what builds with OpenMP and without it print: the
 * choice must depend on neither threads nor a clock. Fails if the plans are nearly all the same. */
#define SPMV_IMPLEMENTATION
#include "spmv.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 30000, LONG = 400, SORTS = 5 };
static int32_t row[ROWS * 40], col[ROWS * 40];

/* How many entries row r has, and the column of its entry k. */
static int32_t length(int sort, int32_t r) {
    static const int32_t most[SORTS] = {3, 8, 2, 12, 1};
    if (sort == 2 && r == 5) return ROWS;
    return most[sort] + (sort == 4 ? (r % 64 ? r % 7 : LONG) : 0);
}

static int32_t column(int sort, int32_t r, int32_t k) {
    switch (sort) {
    case 0: return (r + k) % ROWS;                                                 /* three diagonals */
    case 3: return (r / 3 * 51 + k / 3 * 2100 + k % 3) / 3 * 3 % ROWS + k % 3;     /* blocks */
    default: return (int32_t)(((int64_t)r * 7919 + (int64_t)k * 104729) % ROWS); /* scattered: even, with a huge row, uneven */
    }
}

static void choose(int sort, uint64_t expected, char *text, size_t size) {
    spmv_build_hints hints;
    spmv_desc d;
    spmv_matrix m;
    int32_t r, k;
    int64_t n = 0;
    for (r = 0; r < ROWS; r++)
        for (k = 0; k < length(sort, r); k++, n++) {
            row[n] = r;
            col[n] = column(sort, r, k);
        }
    memset(&hints, 0, sizeof hints);
    memset(&d, 0, sizeof d);
    hints.expected_calls = expected;
    d.hints = &hints;
    d.matrix.form = SPMV_IN_COO;
    d.matrix.rows = d.matrix.cols = ROWS;
    d.matrix.nnz = n;
    d.matrix.row = row;
    d.matrix.col = col;
    d.plan = "auto";
    snprintf(text, size, "refused");
    if (spmv_create(&m, &d) != SPMV_OK) return;
    spmv_plan_of(&m, text, size);
    spmv_destroy(&m);
}

int main(void) {
    char first[SPMV_PLAN_TEXT], text[SPMV_PLAN_TEXT];
    int sort, others = 0;
    for (sort = 0; sort < 2 * SORTS; sort++) {
        choose(sort / 2, sort % 2 ? 100 : 0, text, sizeof text);
        printf("%s\n", text);
        if (!sort) memcpy(first, text, sizeof first);
        others += strcmp(first, text) != 0;
    }
    return others < 5;
}
