/* SPDX-License-Identifier: MIT
 *
 * tools/library.h - internal functions of the library that the command line needs beyond the public interface. library.c compiles the
 * library for all modules.
 */
#ifndef SPMV_TOOLS_LIBRARY_H
#define SPMV_TOOLS_LIBRARY_H

#include "spmv.h"

/* The logarithm to base 2 of a positive, normal number, to about 1e-5 (-1000 for others), and the library's own inverse. They give the same
 * bits on every machine, which libm does not guarantee: the matrices that spmv gen makes depend on them. */
double library_log2(double v);
double library_exp2(double v);

/* The estimates that "auto" makes of products with the whole matrix by each line of table t in a type; seconds are 0 for lines of other
 * types and where a line does not suit the matrix. out: t->count. Slots are estimated. */
spmv_status library_estimates(const spmv_csr *a, const spmv_tuning *t, spmv_type type, spmv_estimate *out, const spmv_hooks *hooks);

/* 1 if products by doubles and by this one's float are the same (val=32). */
int library_is_float(double v);

/* Bytes of a part that a product on a device reads. */
uint64_t library_device_bytes(const spmv_part *p);

/* Allocates as the library does without hooks: from the C library, in large pages where there are any. NULL: there is no memory. */
void *library_large_block(size_t bytes);

#endif
