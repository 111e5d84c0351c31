/* SPDX-License-Identifier: MIT
 *
 * tools/tune/workload.h - the matrices that tuning measures on, made one at a time.
 */
#ifndef SPMV_TOOLS_TUNE_WORKLOAD_H
#define SPMV_TOOLS_TUNE_WORKLOAD_H

#include "spmv.h"

/* Which matrix: of a kind (spmv_auto.h), with blocks of bh x bw (0: single elements), or full, of per_row columns. */
typedef struct tune_shape {
    spmv_tune_kind kind;
    int            full;
    unsigned       bh, bw;
    uint64_t       rows, per_row;
} tune_shape;

typedef struct buffer {
    void  *at;
    size_t room;
} buffer;

/* One matrix at a time with its vectors; memory is kept from matrix to matrix, since fresh pages cost more than filling them. */
typedef struct workload {
    tune_shape       of;
    spmv_type   type;
    spmv_csr    a;
    uint64_t    cols, values, inputs; /* values and inputs: how many of val and x are filled in */
    buffer      ptr, col, val, x, y, want, length;
} workload;

/* A zeroed workload is fine as well. */
void workload_free(workload *w);

/* Small whole numbers but 0, so that every product is exact and every element counts. */
double workload_value(uint64_t k, int most);

/* 1: both are the same matrix. */
int workload_same_shape(const tune_shape *a, const tune_shape *b);

/* Makes that matrix the present one. */
spmv_status workload_make(workload *w, const tune_shape *of, spmv_type type, const spmv_hooks *hooks);

#endif
