/* SPDX-License-Identifier: MIT
 *
 * tools/matrices/formula.h - matrices that a formula defines exactly, entry by entry.
 */
#ifndef SPMV_TOOLS_MATRICES_FORMULA_H
#define SPMV_TOOLS_MATRICES_FORMULA_H

#include "entries.h"
#include <stdint.h>

typedef struct family {
    const char *form;    /* # stands for a number */
    const char *(*make)(entries *e, const uint64_t *n); /* NULL, or why not */
    const char *text;
} family;

/* Every family, formula_count of them. */
extern const family formula_families[];

extern const int formula_count;

/* 1 if name has the form; its numbers go to n (at most 4). */
int formula_matches(const char *form, const char *name, uint64_t *n);

#endif
