/* SPDX-License-Identifier: MIT
 *
 * tools/matrices/formula.h - matrices that a formula defines exactly, entry by entry.
 */
#ifndef SPMV_TOOLS_MATRICES_FORMULA_H
#define SPMV_TOOLS_MATRICES_FORMULA_H

#include "entries.h"
#include <stdint.h>

/* A family of matrices. */
typedef struct family {
    const char *form;    /* the name; # stands for a number */
    const char *(*make)(entries *e, const uint64_t *n); /* makes e from the numbers; returns NULL, or why it cannot */
    const char *text;
} family;

/* All such families, formula_count of them. */
extern const family formula_families[];

extern const int formula_count;

/* 1 if name has the form; its numbers, at most 4, are written to n. */
int formula_matches(const char *form, const char *name, uint64_t *n);

#endif
