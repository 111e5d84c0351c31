/* SPDX-License-Identifier: MIT
 *
 * tools/matrices/drawn.h - families of matrices that are drawn row by row.
 */
#ifndef SPMV_TOOLS_MATRICES_DRAWN_H
#define SPMV_TOOLS_MATRICES_DRAWN_H

#include "draw.h"
#include <stdint.h>

typedef struct drawn {
    const char *form;
    const char *(*draw)(sketch *p, const uint64_t *n); /* makes p; NULL, or why not */
    const char *text;
} drawn;

/* Every such family, drawn_count of them. */
extern const drawn drawn_families[];

extern const int drawn_count;

#endif
