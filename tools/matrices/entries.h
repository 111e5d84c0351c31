/* SPDX-License-Identifier: MIT
 *
 * tools/matrices/entries.h - a matrix as a list of entries that grows.
 */
#ifndef SPMV_TOOLS_MATRICES_ENTRIES_H
#define SPMV_TOOLS_MATRICES_ENTRIES_H

#include <stdint.h>

/* Entries in any order, each place at most once. */
typedef struct entries {
    uint64_t  rows, cols, count, room;
    uint32_t *row, *col;
    double   *val;      /* NULL if ones is set */
    int       ones;     /* 1: all values are 1 and are not stored */
    int       failed;   /* 1: memory ran out */
} entries;

/* Frees the arrays and zeroes *e. Zeroed entries are allowed. */
void entries_free(entries *e);

/* Adds an entry; sets e->failed if memory runs out. */
void entries_add(entries *e, uint64_t row, uint64_t col, double value);

/* Adds an entry and its mirror image across the diagonal. */
void entries_add_both(entries *e, uint64_t row, uint64_t col, double value);

#endif
