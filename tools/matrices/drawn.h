/* SPDX-License-Identifier: MIT
 *
 * tools/matrices/drawn.h - the families of matrices that are drawn row by row.
 */
#ifndef SPMV_TOOLS_MATRICES_DRAWN_H
#define SPMV_TOOLS_MATRICES_DRAWN_H

#include "draw.h"
#include <stdint.h>

/* A family of matrices. */
typedef struct drawn {
    const char *form;    /* the name; # stands for a number */
    const char *(*draw)(sketch *p, const uint64_t *n); /* draws p from the numbers; returns NULL, or why it cannot */
    const char *text;
} drawn;

/* All such families, drawn_count of them. */
extern const drawn drawn_families[];

extern const int drawn_count;

#endif
