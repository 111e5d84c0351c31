/* SPDX-License-Identifier: MIT
 *
 * tools/gen/measure/within.h - stored parts in the layout that spmvgen's option within=N changes: N entries of a row lie together. For
 * programs that contain the library's implementation.
 */
#ifndef SPMV_TOOLS_GEN_MEASURE_WITHIN_H
#define SPMV_TOOLS_GEN_MEASURE_WITHIN_H

#include "spmv_formats.h"
#include <stdlib.h>
#include <string.h>

/* A part whose arrays were replaced, with those that it had before. */
typedef struct within {
    spmv_part *part;
    int        index[3], count;
    spmv_array before[3];
} within;

/* Height, number and widths of the slices of a part; ell and dia are one slice. */
static uint64_t within_height(const spmv_part *p)
{
    return p->n[p->spec.format == SPMV_SELL ? SPMV_SELL_H : p->spec.format == SPMV_ELL ? SPMV_ELL_LD : SPMV_DIA_LD];
}

static uint64_t within_slices(const spmv_part *p) { return p->spec.format == SPMV_SELL ? p->n[SPMV_SELL_SLICES] : 1; }

/* The first slot of slice s in the library's layout. first is what the library made: the array ptr of sell, else that of the values. */
static uint64_t within_first(const spmv_part *p, const spmv_array *first, uint64_t s)
{
    if (p->spec.format != SPMV_SELL) return s ? first->count : 0;
    return first->width == 4 ? ((const uint32_t *)first->data)[s] : ((const uint64_t *)first->data)[s];
}

/* Copies a slice of height rows and width entries, which begins at slot from of a, to slot to of b, n entries of a row together. */
static void within_slice(const spmv_array *a, unsigned char *b, uint64_t from, uint64_t to, uint64_t height, uint64_t width, uint64_t n)
{
    uint64_t r, k;
    const unsigned char *data = (const unsigned char *)a->data;
    for (r = 0; r < height; r++)
        for (k = 0; k < width; k++)
            memcpy(b + (to + (k / n * height + r) * n + k % n) * a->width, data + (from + k * height + r) * a->width, a->width);
}

/* Replaces array i of the part by a copy of count elements, all bytes fill, and remembers the former one. Returns the copy; NULL if memory
 * is short. */
static unsigned char *within_replace(within *w, int i, uint64_t count, int fill)
{
    spmv_array *a = &w->part->a[i];
    unsigned char *copy = (unsigned char *)malloc((size_t)(count * a->width) + 1);
    if (!copy) return NULL;
    memset(copy, fill, (size_t)(count * a->width));
    w->index[w->count] = i;
    w->before[w->count++] = *a;
    a->data = copy;
    a->count = count;
    return copy;
}

/* Gives the part its former arrays back. */
static void within_end(within *w)
{
    while (w->count) {
        spmv_array *a = &w->part->a[w->index[--w->count]];
        free(a->data);
        *a = w->before[w->count];
    }
}

/* Rearranges a part of ell, sell or dia, so that n entries of a row are together; what is not set is padding. The part may be used on
 * devices, but not multiplied by the host, until within_end. Returns 0 if memory is short or the part has another format. */
static int within_begin(within *w, spmv_part *p, uint64_t n)
{
    const int col = p->spec.format == SPMV_ELL ? SPMV_ELL_COL : p->spec.format == SPMV_SELL ? SPMV_SELL_COL : 0;
    const int sliced = p->spec.format == SPMV_SELL;
    const spmv_array ptr = p->a[sliced ? SPMV_SELL_PTR : 0]; /* as the library made it */
    const uint64_t slices = within_slices(p), height = within_height(p);
    unsigned char *val, *columns = NULL, *ends = NULL;
    uint64_t s, count = 0;
    w->part = p;
    w->count = 0;
    if (!sliced && !col && p->spec.format != SPMV_DIA) return 0;
    for (s = 0; s < slices && height; s++)
        count += ((within_first(p, &ptr, s + 1) - within_first(p, &ptr, s)) / height + n - 1) / n * n * height;
    val = within_replace(w, SPMV_VAL, count, 0);
    if (col) columns = within_replace(w, col, count, 0xff);
    if (sliced) ends = within_replace(w, SPMV_SELL_PTR, slices + 1, 0);
    if (!val || (col && !columns) || (sliced && !ends)) {
        within_end(w);
        return 0;
    }
    for (count = s = 0; s < slices && height; s++) {
        const uint64_t from = within_first(p, &ptr, s), width = (within_first(p, &ptr, s + 1) - from) / height;
        within_slice(&w->before[0], val, from, count, height, width, n);
        if (columns) within_slice(&w->before[1], columns, from, count, height, width, n);
        count += (width + n - 1) / n * n * height;
        if (ends && ptr.width == 4) ((uint32_t *)(void *)ends)[s + 1] = (uint32_t)count;
        else if (ends) ((uint64_t *)(void *)ends)[s + 1] = count;
    }
    return 1;
}

#endif
