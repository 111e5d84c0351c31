/* SPDX-License-Identifier: MIT
 *
 * tools/cli/memory.h - arrays and text that grow.
 */
#ifndef SPMV_TOOLS_CLI_MEMORY_H
#define SPMV_TOOLS_CLI_MEMORY_H

#include "cli.h"
#include <stddef.h>
#include <stdint.h>

/* array points to a pointer: what it points to becomes count elements of size bytes, what is there kept. 0 without memory, and
 * nothing has changed. */
int memory_resize(void *array, uint64_t count, size_t size);

typedef struct growing {
    char  *at;
    size_t used, room;
    int    failed; /* 1: memory ran out */
} growing;

/* A zeroed text is fine as well. */
void growing_free(growing *t);

/* Adds what printf would print, at most 511 bytes of it; t->failed is set where memory runs out. */
LIKE_PRINTF(2, 3) void growing_add(growing *t, const char *format, ...);

#endif
