/* SPDX-License-Identifier: MIT
 *
 * tools/library.h - internal functions of the library that the command line needs beyond the public interface. library.c compiles the
 * library for all modules.
 */
#ifndef SPMV_TOOLS_LIBRARY_H
#define SPMV_TOOLS_LIBRARY_H

#include "spmv.h"

/* The library's own logarithm to base 2 (-1000 for v up to 1e-300) and its inverse. They give the same bits on every machine, which
 * libm does not guarantee: the matrices that spmv gen makes depend on them. */
double library_log2(double v);
double library_exp2(double v);

/* The logarithm to base 2 of the rate that the library's model predicts for a layout at a size. The library interpolates a table's rates
 * relative to it. */
double library_model_rate(const spmv_tuning *t, spmv_type type, const spmv_spec *layout, double rows, double per_row);

/* The estimates that "auto" makes of products with the whole matrix in n layouts with their knobs, by the rates of table t with the fits
 * that it has; seconds are 0 where there is none. */
spmv_status library_estimates(const spmv_csr *a, spmv_type type, const spmv_tuning *t, size_t n, const spmv_spec *layout,
                              const char *const *variant, spmv_estimate *out, const spmv_hooks *hooks);

/* The layouts that estimates by table t have candidates for although no row of the table is of them: block formats that it lacks, with
 * default knobs. Writes at most room of them to out, and their number to *n. */
spmv_status library_unmeasured(const spmv_tuning *t, spmv_type type, spmv_spec *out, size_t room, size_t *n, const spmv_hooks *hooks);

/* The fit that estimates by table t use for a layout with these knobs; NULL: there is none. */
const spmv_tune_fit *library_fit_of(const spmv_tuning *t, spmv_type type, const spmv_spec *layout, const char *variant);

/* What a cost of 1 in a line "work" of a table stands for: 1, a factor of what takes seconds; or 1e-12, picoseconds. */
double library_work_unit(spmv_work w);

/* The term of the work of a product in a format by what table t says that it costs; rates: its seconds by the rates. */
double library_work_term(const spmv_tuning *t, spmv_format f, const double work[SPMV_WORK_COUNT], double rates);

/* 1: what was learned of the products of one layout holds for the other. */
int library_runs_alike(const spmv_spec *a, const spmv_spec *b);

/* How alike two layouts are. */
spmv_alike library_how_alike(const spmv_spec *a, const spmv_spec *b);

/* The key of a format that changes the most what preparing it costs (SPMV_WAY_OWN). */
spmv_key library_slower_key(spmv_format f);

/* Allocates as the library does without hooks: from the C library, in large pages where there are any. NULL: there is no memory. */
void *library_large_block(size_t bytes);

#endif
