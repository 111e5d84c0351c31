/* SPDX-License-Identifier: MIT
 *
 * tools/cli/memory.h - arrays and text that grow.
 */
#ifndef SPMV_TOOLS_CLI_MEMORY_H
#define SPMV_TOOLS_CLI_MEMORY_H

#include "cli.h"
#include <stddef.h>
#include <stdint.h>

/* Resizes the array at *(void **)array to count elements of size bytes and keeps its contents. 1, or 0 if memory ran out, and then
 * nothing has changed. */
int memory_resize(void *array, uint64_t count, size_t size);

/* Text that grows; zeroed it is empty. at ends in a zero byte once anything was added. */
typedef struct growing {
    char  *at;
    size_t used, room;
    int    failed; /* 1: memory ran out */
} growing;

/* Frees the text and zeroes it. A zeroed text is allowed. */
void growing_free(growing *t);

/* Appends what printf would print, at most 511 bytes of it; sets t->failed if memory runs out. */
LIKE_PRINTF(2, 3) void growing_add(growing *t, const char *format, ...);

#endif
