/* SPDX-License-Identifier: MIT
 *
 * tools/picture/labels.h - the text of numbers, names and axes in pictures.
 */
#ifndef SPMV_TOOLS_PICTURE_LABELS_H
#define SPMV_TOOLS_PICTURE_LABELS_H

#include "spmv.h"

/* 1234567 as "1,234,567". */
const char *label_grouped(uint64_t v, char out[32]);

/* A round number in short form: 500, 20k, 1.5M. */
const char *label_shortened(uint64_t v, char out[32]);

/* The smallest of 1, 2, 5, 10, 20, 50, ... with which at most most steps fit into length. */
uint64_t label_step(uint64_t length, uint64_t most);

/* "1 nonzero", "3,000 nonzeros" */
const char *label_nonzeros(uint64_t nnz, char *out, size_t size);

/* "1,000 x 2,000, 3,000 nonzeros" */
const char *label_shape(const spmv_csr *a, char *out, size_t size);

#endif
