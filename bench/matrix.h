/* SPDX-License-Identifier: MIT
 * Matrices of a type for the programs of this folder; include spmv_io.h and common.h first. */
#ifndef SPMV_BENCH_MATRIX_H
#define SPMV_BENCH_MATRIX_H

#include <string.h>

/* Makes a CSR matrix of copies of these arrays, with values of type. */
static inline void make(spmv_csr *out, spmv_type type, const spmv_csr *from)
{
    spmv_input in;
    memset(&in, 0, sizeof in);
    in.rows = (int64_t)from->rows;
    in.cols = (int64_t)from->cols;
    in.ptr = from->ptr;
    in.ptr_bits = 64;
    in.col = from->col;
    in.val = from->val;
    in.val_type = from->type;
    need(spmv_csr_create(out, &in, type, NULL) == SPMV_OK, "making a matrix");
}

/* Reads a file, with values of type. */
static inline void read_matrix(spmv_csr *out, const char *file, spmv_type type)
{
    spmv_csr a;
    need(spmv_bin_read_file(&a, file, 0, NULL) == SPMV_OK, file);
    make(out, type, &a);
    spmv_csr_destroy(&a);
}

#endif
