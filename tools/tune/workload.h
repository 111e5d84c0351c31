/* SPDX-License-Identifier: MIT
 *
 * tools/tune/workload.h - makes the matrices that spmv tune measures on, one at a time.
 */
#ifndef SPMV_TOOLS_TUNE_WORKLOAD_H
#define SPMV_TOOLS_TUNE_WORKLOAD_H

#include "spmv.h"

/* A matrix of a kind (spmv_formats.h), with blocks of bh x bw (0: single elements); or, if full, a full one with per_row columns. */
typedef struct tune_shape {
    spmv_tune_kind kind;
    int            full;
    unsigned       bh, bw;
    uint64_t       rows, per_row;
} tune_shape;

/* Memory that is reused; at may be NULL. */
typedef struct buffer {
    void  *at;
    size_t room;
} buffer;

/* The current matrix with its vectors. Memory is reused from matrix to matrix, because fresh pages cost more than filling them. */
typedef struct workload {
    tune_shape       of;
    spmv_type   type;
    spmv_csr    a;
    uint64_t    cols, values, inputs; /* values and inputs: how many of val and x are filled in */
    buffer      ptr, col, val, x, y, want, length;
} workload;

/* Frees what it holds and zeroes it. A zeroed workload is allowed. */
void workload_free(workload *w);

/* Value number k: an integer from -most to most but not 0, so that every product is exact and every element counts. */
double workload_value(uint64_t k, int most);

/* 1: both describe the same matrix. */
int workload_same_shape(const tune_shape *a, const tune_shape *b);

/* Makes that matrix the current one, with x and the product A x (want). On failure there is no current matrix. */
spmv_status workload_make(workload *w, const tune_shape *of, spmv_type type, const spmv_hooks *hooks);

/* Makes a matrix with that pattern the current one, with values of its own, x and want; the pattern must stay. On failure there is no
 * current matrix. */
spmv_status workload_take(workload *w, const spmv_csr *pattern, spmv_type type, const spmv_hooks *hooks);

#endif
