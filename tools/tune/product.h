/* SPDX-License-Identifier: MIT
 *
 * tools/tune/product.h - checks and times the product of one matrix with one candidate after another.
 */
#ifndef SPMV_TOOLS_TUNE_PRODUCT_H
#define SPMV_TOOLS_TUNE_PRODUCT_H

#include "../cli/cli.h"
#include "../measure/runner.h"
#include "spmv.h"

/* The current matrix, of integers so small that every product is exact, and its vectors. */
typedef struct product {
    tool        *t;
    spmv_device *device;   /* NULL: the host */
    double       patience; /* seconds after which a time is accepted as it is */
    spmv_csr     a;        /* borrows the pattern */
    spmv_type    type;
    void        *val, *x, *y, *want;
} product;

/* What a product took. */
typedef struct product_times {
    double seconds;   /* 0: it was not timed, as it is wrong */
    double preparing; /* without building kernels */
    double build;     /* seconds of that; 0: there was nothing to build */
    int    right;     /* 1: every element of y is exact */
} product_times;

/* Makes a matrix with that pattern, which must stay, the current one, with values of a type. On failure there is none. */
spmv_status product_take(product *p, const spmv_csr *pattern, spmv_type type);

/* Frees the current matrix. A zeroed product is allowed. */
void product_free(product *p);

/* Prepares the current matrix by a plan of one part, checks its product and times it. Messages of the library are kept in p->t->text. */
spmv_status product_measure(product *p, const char *plan, const char *variant, product_times *out);

/* Prepares it by any plan and does nothing else. */
spmv_status product_prepare(product *p, const char *plan, product_times *out);

/* Times a product, in seconds: the median of about five series of products. While these differ much, as on a machine with other work, more
 * are taken, and the lower quartile of at least eight counts. Ends after patience seconds. */
spmv_status product_time(runner *r, double patience, double *out);

#endif
