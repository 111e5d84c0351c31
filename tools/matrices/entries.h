/* SPDX-License-Identifier: MIT
 *
 * tools/matrices/entries.h - a matrix as a list of entries that grows.
 */
#ifndef SPMV_TOOLS_MATRICES_ENTRIES_H
#define SPMV_TOOLS_MATRICES_ENTRIES_H

#include <stdint.h>

typedef struct entries {
    uint64_t  rows, cols, count, room;
    uint32_t *row, *col;
    double   *val;      /* NULL as long as every value is 1 and ones is set */
    int       ones;     /* 1: every value is 1 and none is stored */
    int       failed;   /* 1: memory ran out */
} entries;

/* Zeroed entries are fine as well. */
void entries_free(entries *e);

/* Adds an entry; where memory runs out e->failed is set. */
void entries_add(entries *e, uint64_t row, uint64_t col, double value);

/* Adds an entry and the one across the diagonal. */
void entries_add_both(entries *e, uint64_t row, uint64_t col, double value);

#endif
