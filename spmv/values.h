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

/* ---- different values ------------------------------------------------------------------------------------------------
 * Values are compared as words, so that zeros of both signs and NaNs count apart. */
enum { SPMV__DISTINCT_MOST = 256, SPMV__DISTINCT_TABLE = 1024 /* places, 2^10 */ };

typedef struct spmv__distinct {
    uint64_t word[SPMV__DISTINCT_MOST];
    uint32_t count;                     /* of word; SPMV__DISTINCT_MOST + 1: there are more values */
    uint16_t at[SPMV__DISTINCT_TABLE];  /* a hash table: 1 more than the number of a word; 0: none */
} spmv__distinct;

static uint64_t spmv__value_word(const void *val, uint32_t width, uint64_t k)
{
    return width == 8 ? ((const uint64_t *)val)[k] : ((const uint32_t *)val)[k];
}

/* Adds a word unless it is there. */
static void spmv__distinct_add(spmv__distinct *set, uint64_t word)
{
    uint64_t place = word * UINT64_C(0x9e3779b97f4a7c15) >> 54;
    while (set->at[place] && set->word[set->at[place] - 1] != word) place = (place + 1) % SPMV__DISTINCT_TABLE;
    if (set->at[place] || set->count > SPMV__DISTINCT_MOST) return;
    if (set->count < SPMV__DISTINCT_MOST) {
        set->word[set->count] = word;
        set->at[place] = (uint16_t)(set->count + 1);
    }
    set->count++;
}

/* Values in shares, with a set of each. */
typedef struct spmv__distinct_job {
    const void       *val;   /* by nonzero */
    const spmv_array *map;   /* of a part, or NULL: there is a slot for each nonzero */
    uint32_t          width;
    int               fill;  /* 1: slots without a nonzero hold zero; 0: they do not count */
    uint64_t          count, shares;
    spmv__distinct   *of;
} spmv__distinct_job;

/* Adds the value in slot i to a set. */
static void spmv__distinct_slot(const spmv__distinct_job *job, spmv__distinct *set, uint64_t i, uint64_t *last)
{
    const uint64_t nonzero = job->map ? spmv__at(job->map, i) : i + 1;
    const uint64_t word = nonzero ? spmv__value_word(job->val, job->width, nonzero - 1) : 0;
    if ((!nonzero && !job->fill) || (word == *last && set->count)) return;
    spmv__distinct_add(set, word);
    *last = word;
}

static void spmv__distinct_share(void *job, uint64_t share)
{
    const spmv__distinct_job *distinct = (const spmv__distinct_job *)job;
    const uint64_t each = spmv__ceil_div(distinct->count, distinct->shares);
    const uint64_t end = spmv__smaller(distinct->count, (share + 1) * each);
    spmv__distinct *set = &distinct->of[share];
    uint64_t k, last = 0;
    for (k = share * each; k < end && set->count <= SPMV__DISTINCT_MOST; k++) spmv__distinct_slot(distinct, set, k, &last);
}

/* Finds the different values in count slots, of so many bytes each; a sample tells most matrices that have too many.
 *   map, fill  as in spmv__distinct_job */
SPMV__SHARED spmv_status spmv__distinct_find(spmv__distinct *out, const void *val, uint32_t width, const spmv_array *map, int fill,
                                             uint64_t count, const spmv_hooks *hooks)
{
    enum { SAMPLE = 1000 };
    spmv__distinct_job job;
    void *sets;
    uint64_t share, k, last = 0;
    spmv_status s;
    memset(out, 0, sizeof *out);
    job.val = val;
    job.map = map;
    job.width = width;
    job.fill = fill;
    job.count = count;
    for (k = 0; k < count; k += count / SAMPLE + 1) spmv__distinct_slot(&job, out, k, &last);
    if (out->count > SPMV__DISTINCT_MOST) return SPMV_OK;
    job.shares = spmv__share_count(count);
    s = spmv__new(hooks, &sets, job.shares, sizeof *job.of, 0);
    if (s) return s;
    job.of = (spmv__distinct *)sets;
    spmv__share_out(spmv__distinct_share, &job, job.shares);
    for (share = 0; share < job.shares; share++) {
        for (k = 0; k < spmv__smaller(job.of[share].count, SPMV__DISTINCT_MOST); k++) spmv__distinct_add(out, job.of[share].word[k]);
        if (job.of[share].count > SPMV__DISTINCT_MOST) out->count = SPMV__DISTINCT_MOST + 1;
    }
    spmv_free(hooks, sets);
    return s;
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
