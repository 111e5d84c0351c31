/* SPDX-License-Identifier: MIT
 *
 * Products of every format and type at every usable level of instructions, with integers, so that they must be exact: for processors
 * that the unit tests do not run on, and emulators. Prints the levels. */
#define SPMV_IMPLEMENTATION
#define SPMV_NO_DEVICES
#define SPMV_NO_AUTO
#include "spmv.h"
#include <stdio.h>

enum { SIDE = 77 };
static const char *const plans[] = {
    "dense", "csr", "csr:run=32,idx=16", "csr:rows=sorted", "dia", "bdia", "ell", "ell:idx=16", "ell:rows=sorted", "sell",
    "sell:h=8,idx=16", "sell:h=5", "sell:h=64,grow=0.3", "bell:b=2x2", "bell:b=3x3", "bell:b=4x8", "sbell:b=6x6", "sbell:b=3x3,h=5",
    "sbell:b=4x4,idx=16", "bcsr:b=1x8", "bcsr:b=3x3", "bcsr:b=2x2,idx=16", "bcsr:b=8x8", "bcsr:b=6x6", "cmrs",
    "cmrs:h=16,sort=1", "tcsr", "tcsr:idx=16", "ell:w=3+coo"
};

static void put(spmv_type t, void *v, int i, int value)
{
    if (t == SPMV_F32) ((float *)v)[i] = (float)value;
    else ((double *)v)[i] = value;
}

static double get(spmv_type t, const void *v, int i) { return t == SPMV_F32 ? (double)((const float *)v)[i] : ((const double *)v)[i]; }

/* A matrix with rows of 0 to 40 entries, some diagonals and a full row. */
static void make(spmv_csr *a, spmv_type t, int *dense)
{
    static int32_t row[SIDE * SIDE], col[SIDE * SIDE];
    static double val[SIDE * SIDE];
    unsigned seed = 1;
    spmv_input in;
    int r, c;
    memset(&in, 0, sizeof in);
    for (r = 0; r < SIDE; r++)
        for (c = 0; c < SIDE; c++) {
            seed = seed * 1664525u + 1013904223u;
            dense[r * SIDE + c] = r == 50 || c - r == 3 || (r % 7 != 3 && seed >> 24 < (unsigned)(r * 2)) ? (int)(seed >> 20 & 7) - 3 : 0;
            if (!dense[r * SIDE + c]) continue;
            row[in.nnz] = r;
            col[in.nnz] = c;
            val[in.nnz++] = dense[r * SIDE + c];
        }
    in.form = SPMV_IN_COO;
    in.rows = in.cols = SIDE;
    in.row = row;
    in.col = col;
    in.val = val;
    in.val_type = SPMV_F64;
    if (spmv_csr_create(a, &in, t, NULL)) exit(1);
}

/* One product; the number of rows that are wrong. */
static int multiply(const char *text, const spmv_csr *a, const int *dense, spmv_type t, spmv_simd level)
{
    double x[SIDE], y[SIDE];
    spmv_plan plan;
    spmv_store store;
    spmv_build how;
    int r, c, wrong = 0;
    memset(&how, 0, sizeof how);
    how.type = t;
    how.simd = level;
    if (spmv_plan_parse(&plan, text, NULL, NULL) || spmv_store_create(&store, &plan, a, &how, NULL)) return 1;
    for (c = 0; c < SIDE; c++) put(t, x, c, c % 13 - 6);
    for (r = 0; r < SIDE; r++) put(t, y, r, r);
    if (spmv_store_mul(&store, 2, x, -1, y)) return 1;
    for (r = 0; r < SIDE; r++) {
        double want = -r;
        for (c = 0; c < SIDE; c++) want += 2.0 * dense[r * SIDE + c] * (c % 13 - 6);
        wrong += get(t, y, r) != want;
    }
    if (wrong) printf("%s, %s, %s: %d rows are wrong\n", spmv_simd_name(level), text, spmv_type_name(t), wrong);
    spmv_store_destroy(&store);
    return wrong;
}

int main(void)
{
    static int dense[SIDE * SIDE];
    int t, level, wrong = 0;
    size_t i;
    for (t = SPMV_F64; t < SPMV_TYPE_COUNT; t++) {
        spmv_csr a;
        make(&a, (spmv_type)t, dense);
        for (level = SPMV_SIMD_PLAIN; level < SPMV_SIMD_COUNT; level++) {
            const int usable = spmv_simd_usable((spmv_simd)level);
            if (t == SPMV_F64) printf("%s: %s\n", spmv_simd_name((spmv_simd)level), usable ? "tested" : "not usable here");
            if (!usable) continue;
            for (i = 0; i < sizeof plans / sizeof *plans; i++) wrong += multiply(plans[i], &a, dense, (spmv_type)t, (spmv_simd)level);
        }
        spmv_csr_destroy(&a);
    }
    return wrong != 0;
}
