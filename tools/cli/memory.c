/* SPDX-License-Identifier: MIT */
#include "memory.h"

#include "cli.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int memory_resize(void *array, uint64_t count, size_t size)
{
    void **slot = (void **)array, *block;
    if (count > SIZE_MAX / size) return 0;
    block = realloc(*slot, (size_t)count * size);
    if (!block) return 0;
    *slot = block;
    return 1;
}

/* ---- text that grows ------------------------------------------------------------------------------------------- */

void growing_free(growing *t)
{
    free(t->at);
    memset(t, 0, sizeof *t);
}

void growing_add(growing *t, const char *format, ...)
{
    char piece[512], *more;
    size_t n, room;
    va_list list;
    va_start(list, format);
    vsnprintf(piece, sizeof piece, format, list);
    va_end(list);
    n = strlen(piece);
    if (t->used + n + 1 > t->room) {
        room = 2 * (t->room + n + 512);
        more = (char *)realloc(t->at, room);
        if (!more) t->failed = 1;
        if (!more) return;
        t->at = more;
        t->room = room;
    }
    memcpy(t->at + t->used, piece, n + 1);
    t->used += n;
}
