/* SPDX-License-Identifier: MIT */
#include "entries.h"

#include "../cli/memory.h"
#include <stdlib.h>
#include <string.h>

void entries_free(entries *e)
{
    free(e->row);
    free(e->col);
    free(e->val);
    memset(e, 0, sizeof *e);
}

/* Makes room for more entries. 1, or 0 if memory ran out. */
static int entries_grow(entries *e)
{
    uint64_t room = e->room ? e->room + e->room / 2 : 1024;
    void *row = e->row, *col = e->col, *val = e->val;
    int fine = memory_resize(&row, room, sizeof *e->row);
    e->row = (uint32_t *)row;
    fine = fine && memory_resize(&col, room, sizeof *e->col);
    e->col = (uint32_t *)col;
    fine = fine && (e->ones || memory_resize(&val, room, sizeof *e->val));
    e->val = (double *)val;
    if (fine) e->room = room;
    else e->failed = 1;
    return fine;
}

void entries_add(entries *e, uint64_t row, uint64_t col, double value)
{
    if (e->failed || (e->count == e->room && !entries_grow(e))) return;
    e->row[e->count] = (uint32_t)row;
    e->col[e->count] = (uint32_t)col;
    if (!e->ones) e->val[e->count] = value;
    e->count++;
}

void entries_add_both(entries *e, uint64_t row, uint64_t col, double value)
{
    entries_add(e, row, col, value);
    entries_add(e, col, row, value);
}
