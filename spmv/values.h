/* SPDX-License-Identifier: MIT
 *
 * spmv/values.h - values in fewer bytes than those of the matrix (key val), without loss: products keep every bit.
 */
#ifndef SPMV__VALUES_H
#define SPMV__VALUES_H

#include "shape.h"

#include <float.h>

/* Bytes of a value as the CSR matrix has it. */
static uint32_t spmv__value_bytes(const spmv_part *p) { return (uint32_t)spmv_value_size(p->type); }

/* 1 if the part stores, or is to store, doubles as floats. */
static int spmv__stores_floats(const spmv_part *p) { return p->product != p->type; }

/* The value in a slot as the CSR matrix has it, in out[0 .. spmv__value_bytes - 1]. */
SPMV__SHARED void spmv__part_value(const spmv_part *p, uint64_t slot, unsigned char *out)
{
    const spmv_array *val = &p->a[SPMV_VAL];
    double wide;
    if (val->width == spmv__value_bytes(p)) memcpy(out, (const unsigned char *)val->data + slot * val->width, val->width);
    else {
        wide = ((const float *)val->data)[slot];
        memcpy(out, &wide, sizeof wide);
    }
}

/* Doubles on their way to floats, in shares of slots. */
typedef struct spmv__floats {
    const double     *from; /* by slot, or with a map by nonzero */
    const spmv_array *map;  /* of the part, or NULL */
    float            *to;   /* NULL: they are only looked at */
    uint64_t          count, shares, misfit[SPMV__MOST_SHARES]; /* the first slot of each share whose value is no float; count: none */
} spmv__floats;

/* 1 if a float is the same finite number, with the same sign if that is zero. Floats below the normal range are left out, since a device
 * may take them for zero. */
static int spmv__is_float(double v)
{
    if (!(v >= -(double)FLT_MAX && v <= (double)FLT_MAX) || (v != 0 && v < (double)FLT_MIN && v > -(double)FLT_MIN)) return 0;
    return (double)(float)v == v;
}

/* The value in slot i, 0 if it holds no nonzero. */
static double spmv__floats_from(const spmv__floats *floats, uint64_t i)
{
    const uint64_t nonzero = floats->map ? spmv__at(floats->map, i) : i + 1;
    return nonzero ? floats->from[nonzero - 1] : 0;
}

static void spmv__floats_share(void *job, uint64_t share)
{
    spmv__floats *floats = (spmv__floats *)job;
    const uint64_t each = spmv__ceil_div(floats->count, floats->shares), end = spmv__smaller(floats->count, (share + 1) * each);
    uint64_t i;
    for (i = share * each; i < end && spmv__is_float(spmv__floats_from(floats, i)); i++)
        if (floats->to) floats->to[i] = (float)spmv__floats_from(floats, i);
    floats->misfit[share] = i < end ? i : floats->count;
}

/* The first slot whose value is no float; count: all are, and are converted unless to is NULL. */
static uint64_t spmv__floats_make(spmv__floats *floats)
{
    uint64_t share;
    floats->shares = spmv__share_count(floats->count);
    spmv__share_out(spmv__floats_share, floats, floats->shares);
    for (share = 0; share < floats->shares; share++)
        if (floats->misfit[share] < floats->count) return floats->misfit[share];
    return floats->count;
}

/* Where a slot is in the matrix. */
typedef struct spmv__slot_place {
    const spmv_part *p;
    uint64_t         slot, row, col;
} spmv__slot_place;

static void spmv__slot_visit(void *user, uint64_t row, uint64_t col, uint64_t slot)
{
    spmv__slot_place *place = (spmv__slot_place *)user;
    if (slot != place->slot) return;
    place->row = spmv__part_row(place->p, row);
    place->col = col;
}

#endif
