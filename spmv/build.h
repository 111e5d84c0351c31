/* SPDX-License-Identifier: MIT
 *
 * spmv/build.h - the table of formats; parts are built, updated, freed and read back as CSR.
 */
#ifndef SPMV__BUILD_H
#define SPMV__BUILD_H

#include "format/dense.h"
#include "format/coo.h"
#include "format/csr.h"
#include "format/dia.h"
#include "format/ell.h"
#include "format/block.h"
#include "format/cmrs.h"
#include "format/tcsr.h"
#include "format/own.h"
#include "values.h"

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* A row of the table, by SPMV__BUILT_<NAME>: 1 or 0. */
#define SPMV__ROW_1(name) { spmv__##name##_size, spmv__##name##_lay, spmv__##name##_fill, spmv__##name##_each, spmv__##name##_estimate }
#define SPMV__ROW_0(name) { NULL, NULL, NULL, NULL, NULL }

static const spmv__ops spmv__table[SPMV_FORMAT_COUNT] = {
#define X(NAME, name, text) SPMV__CAT(SPMV__ROW_, SPMV__BUILT_##NAME)(name),
    SPMV_FORMAT_LIST(X)
#undef X
};

/* The number of the first format of the user's own. */
#define X(NAME, name, text) - 1
enum { SPMV__OWN_FIRST = SPMV_FORMAT_COUNT SPMV_EXTRA_LIST(X) };
#undef X

/* Checked when compiling: the bit of each format is 1 << its number, SPMV_ONLY without that bit leaves it out, array 0 holds the values,
 * and a part has room for all integers and arrays. */
enum {
#define X(NAME, name, text)                                                                                    \
    SPMV__BIT_AGREES_##NAME = 1 / ((SPMV_BIT_##NAME) == 1 << SPMV_##NAME),                                     \
    SPMV__VALUES_FIRST_##NAME = 1 / ((int)SPMV_##NAME##_VAL == (int)SPMV_VAL),                                 \
    SPMV__INTS_FIT_##NAME = 1 / ((int)SPMV_##NAME##_INT_COUNT <= (int)SPMV_MAX_INTS),                          \
    SPMV__ARRAYS_FIT_##NAME = 1 / ((int)SPMV_##NAME##_ARRAY_COUNT <= (int)SPMV_MAX_ARRAYS),                    \
    SPMV__CUT_AGREES_##NAME = 1 / (!SPMV__BUILT_##NAME || (int)SPMV_##NAME >= (int)SPMV__OWN_FIRST || (SPMV__ONLY & 1 << SPMV_##NAME)),
    SPMV_FORMAT_LIST(X)
#undef X
};

/* Formats that are left out have traits as well. */
static const spmv__traits *const spmv__trait[SPMV_FORMAT_COUNT] = {
#define X(NAME, name, text) &spmv__##name##_traits,
    SPMV_FORMAT_LIST(X)
#undef X
};

static const struct {
    const char *const *list;
    size_t                    count;
} spmv__layouts[SPMV_FORMAT_COUNT] = {
#define X(NAME, name, text) { spmv__##name##_layouts, sizeof spmv__##name##_layouts / sizeof *spmv__##name##_layouts },
    SPMV_FORMAT_LIST(X)
#undef X
};

/* Apart from the table, so that a program that builds no part need not have what builds them. */
static const uint8_t spmv__built[SPMV_FORMAT_COUNT] = {
#define X(NAME, name, text) SPMV__BUILT_##NAME,
    SPMV_FORMAT_LIST(X)
#undef X
};

SPMV_API int spmv_format_built(spmv_format format) { return (unsigned)format < SPMV_FORMAT_COUNT && spmv__built[format]; }

SPMV_API unsigned spmv_format_flags(spmv_format format) { return (unsigned)format < SPMV_FORMAT_COUNT ? spmv__trait[format]->flags : 0; }

/* The class of a format, whether or not it is compiled in; SPMV_CLASS_COUNT if there is no such format. */
SPMV__SHARED spmv_format_class spmv__format_class_of(spmv_format format)
{
    return (unsigned)format < SPMV_FORMAT_COUNT ? spmv__trait[format]->category : SPMV_CLASS_COUNT;
}

SPMV_API size_t spmv_format_layouts(spmv_format format, const char *const **out)
{
    int built = spmv_format_built(format);
    if (out) *out = built ? spmv__layouts[format].list : NULL;
    return built ? spmv__layouts[format].count : 0;
}

/* 1 if the format understands the key. */
SPMV__SHARED int spmv__format_takes_key(spmv_format format, spmv_key key)
{
    return (unsigned)format < SPMV_FORMAT_COUNT && (unsigned)key < SPMV_KEY_COUNT &&
           ((spmv__trait[format]->keys | ((int)format < (int)SPMV__OWN_FIRST ? SPMV__KEY(VAL) : 0)) >> key & 1u);
}

/* 1 if the format pads rows to the length of the longest in their group. */
SPMV__SHARED int spmv__is_padded(spmv_format format) { return spmv__format_takes_key(format, SPMV_KEY_FILL); }

/* How many rows such a format pads to one length: those of a slice, or all rows if it has no slices. */
SPMV__SHARED uint64_t spmv__padded_rows(const spmv_spec *spec, uint64_t rows)
{
    return spmv__format_takes_key(spec->format, SPMV_KEY_H) ? spmv__height(spec) : rows;
}

/* 1 if a long row does not slow down a product with such a part; see spmv__traits. */
SPMV__SHARED int spmv__spec_even(const spmv_spec *spec)
{
    unsigned even = spmv__trait[spec->format]->even;
    int k;
    for (k = 0; k < SPMV_KEY_COUNT; k++)
        if (even >> k & 1u && spec->key[k]) return 1;
    return even == SPMV__EVEN;
}

/* The steps in which one lane goes through a row of so many slots; a step is the time of an entry whose column is read before its element
 * of x. The loops over entries are unrolled, so that a lane waits once for several of them; the loops over blocks are not, and the values
 * of a block are read one after another. Without columns an entry takes as long: by tuning/nvidia-h200.samples.gz, one of dense takes 0.6
 * to 1.4 steps (dense_1500_1500, dense_64_50000; 32 lanes), one of dia and bdia 0.8 to 1.7 (dense_1500_1500; 8 lanes).
 *   bytes  of a value */
SPMV__SHARED double spmv__spec_steps(const spmv_spec *spec, double longest, int bytes)
{
    const double unrolled = 4; /* entries in flight at once */
    const double load = 16;    /* bytes that a lane reads at once */
    const spmv__traits *traits = spmv__trait[spec->format];
    double width, values;
    if (traits->category != SPMV_CLASS_BLOCK) return longest;
    width = (double)spmv__block_width(spec);
    values = width * (double)spmv__block_height(spec);
    return (unrolled + values * (double)bytes / load) * longest / width;
}

/* Bytes of column and row indices for each slot. */
SPMV__SHARED double spmv__spec_index_bytes(const spmv_spec *spec)
{
    const spmv__traits *traits = spmv__trait[spec->format];
    double bytes = traits->indices * (spec->key[SPMV_KEY_IDX] == 16 ? 2 : 4);
    return traits->category == SPMV_CLASS_BLOCK ? bytes / (double)(spmv__block_height(spec) * spmv__block_width(spec)) : bytes;
}

/* Estimates the work of a product with a part that takes all of a view; see spmv__estimate. */
SPMV__SHARED spmv_status spmv__spec_estimate(const spmv_spec *spec, const spmv__analysis *analysis, const spmv_features *features,
                                             spmv__load *out)
{
    spmv_status s;
    memset(out, 0, sizeof *out);
    out->rows = spec->key[SPMV_KEY_ROWS] ? (double)analysis->rows : (double)features->rows;
    out->nnz = out->slots = (double)features->nnz;
    out->gather = features->gather;
    out->longest = (double)analysis->longest;
    s = spmv__table[spec->format].estimate(spec, analysis, features, out);
    if (analysis->device_class == SPMV_DEVICE_CLASS_HOST)
        out->uneven = spec->key[SPMV_KEY_ROWS] == SPMV_ROWS_SORTED ? 0 : features->uneven;
    return s;
}

/* ---- build, update, free ----------------------------------------------------------------------------------------- */

SPMV_API uint64_t spmv_part_bytes(const spmv_part *p)
{
    if (!p) return 0;
    uint64_t bytes = spmv__sat_mul(p->list.count, p->list.width);
    int i;
    for (i = 0; i < SPMV_MAX_ARRAYS; i++) bytes = spmv__sat_add(bytes, spmv__sat_mul(p->a[i].count, p->a[i].width));
    return bytes;
}

/* The same of a product on a device, where codes may take the place of the values. */
SPMV__SHARED uint64_t spmv__part_device_bytes(const spmv_part *p)
{
    const uint32_t saved = p->codes ? p->a[SPMV_VAL].width - 2 + (uint32_t)p->codes : 0;
    return spmv_part_bytes(p) - spmv__sat_mul(p->a[SPMV_VAL].count, saved);
}

SPMV_API uint64_t spmv_part_slots(const spmv_part *p) { return p ? p->a[SPMV_VAL].count : 0; }

/* The most bytes that a part may take: max_bytes of spmv_build, or its default. */
SPMV__SHARED uint64_t spmv__most_bytes(const spmv_csr *a, uint64_t max_bytes)
{
    const uint64_t times = 16, more = 1u << 24; /* bytes: small matrices may take any format */
    return max_bytes ? max_bytes : spmv__sat_add(spmv__sat_mul(spmv__csr_bytes(a), times), more);
}

/* Refuses a part whose arrays, which are not allocated yet, would take more than that. */
static spmv_status spmv__part_limit(const spmv_part *p, const spmv_csr *a, uint64_t max_bytes, const spmv_hooks *hooks)
{
    uint64_t bytes = spmv_part_bytes(p), csr = spmv__csr_bytes(a), limit = spmv__most_bytes(a, max_bytes);
    const char *name;
    if (bytes <= limit) return SPMV_OK;
    name = spmv_format_name(p->spec.format);
    if (bytes == UINT64_MAX)
        return spmv_log(hooks, SPMV_ERR_TOO_LARGE, "%s would take more than 2^64 bytes for %llu nonzeros", name, (spmv__ull)p->nnz);
    return spmv_log(hooks, SPMV_ERR_TOO_LARGE,
                    "%s would take %llu bytes for %llu nonzeros, %.1f times the CSR form; the limit is %llu bytes",
                    name, (spmv__ull)bytes, (spmv__ull)p->nnz, (double)bytes / (double)csr, (spmv__ull)limit);
}

/* Counts the view's nonzeros in each row of a share into ptr. */
typedef struct spmv__row_counts {
    const spmv__source *source;
    uint64_t           *ptr, shares;
} spmv__row_counts;

static void spmv__count_rows_share(void *job, uint64_t share)
{
    const spmv__row_counts *counts = (const spmv__row_counts *)job;
    const spmv_view *view = counts->source->view;
    uint64_t i, k, end = view->rows / counts->shares * (share + 1) + (share + 1 == counts->shares ? view->rows % counts->shares : 0);
    for (i = view->rows / counts->shares * share; i < end; i++) {
        uint64_t r = spmv__source_row(counts->source, i), n = view->a->ptr[r + 1] - view->a->ptr[r];
        if (view->owner)
            for (n = 0, k = view->a->ptr[r]; k < view->a->ptr[r + 1]; k++) n += (uint64_t)(view->owner[k] == view->part);
        counts->ptr[i + 1] = n;
    }
}

/* Sets source->ptr to running counts of the view's nonzeros by row of the part: the matrix's own row pointers if the view holds everything,
 * else an array that the caller frees, *owned. */
SPMV__APART spmv_status spmv__source_count(spmv__source *source, void **owned)
{
    const spmv_view *view = source->view;
    spmv__row_counts counts;
    uint64_t i;
    spmv_status status;
    *owned = NULL;
    source->ptr = view->a->ptr;
    if (!view->owner && !view->list) return SPMV_OK;
    status = spmv__room(source->hooks, owned, view->rows + 1, 8);
    if (status) return status;
    counts.source = source;
    counts.ptr = (uint64_t *)*owned;
    counts.shares = spmv__share_count(view->a->nnz + view->rows);
    spmv__share_out(spmv__count_rows_share, &counts, counts.shares);
    for (counts.ptr[0] = 0, i = 0; i < view->rows; i++) counts.ptr[i + 1] += counts.ptr[i];
    source->ptr = counts.ptr;
    return SPMV_OK;
}

/* Allocates the arrays, or borrows them from the CSR matrix. They are not initialised: lay and fill write every element, once. */
static spmv_status spmv__part_arrays(spmv_part *p, const spmv__source *source, const spmv_build *how)
{
    spmv_status status = SPMV_OK;
    int i, own = !(p->spec.format == SPMV_CSR && how->borrow && !how->updatable && !source->view->owner && !source->view->list);
    for (i = 0; i < SPMV_MAX_ARRAYS && !status; i++) {
        int col = i == SPMV_CSR_COL && p->a[i].width == 4;
        if (!own && (i == SPMV_VAL || col) && p->a[i].count) {
            p->a[i].data = (void *)(uintptr_t)(col ? (const void *)source->view->a->col : source->view->a->val);
            p->a[i].borrowed = 1;
        } else {
            status = spmv__room(source->hooks, &p->a[i].data, p->a[i].count, p->a[i].width);
        }
    }
    return status;
}

/* What the shares of a fill have in common. */
typedef struct spmv__fill_job {
    spmv_part          *p;
    const spmv__source *source;
    spmv__sink          to;
    uint64_t            shares, *zeros; /* formats with fill: explicit zeros in each share, then in all shares before it */
} spmv__fill_job;

/* Fills a share of the rows. In a format with fill, the first pass counts the explicit zeros of each share. A second one, where only the
 * shares that have some are filled again, lists them. */
static void spmv__fill_share(void *job, uint64_t share, size_t thread)
{
    const spmv__fill_job *fill = (const spmv__fill_job *)job;
    spmv__sink to = fill->to;
    uint64_t first, end;
    to.thread = (unsigned)thread;
    first = spmv__share_first(fill->source, share, fill->shares);
    end = spmv__share_first(fill->source, share + 1, fill->shares);
    if (to.zeros && fill->zeros[share] == (share + 1 < fill->shares ? fill->zeros[share + 1] : fill->p->zeros.count)) return;
    if (to.zeros) to.zeros += fill->zeros[share];
    if (first < end || (!fill->source->rows && !share)) spmv__table[fill->p->spec.format].fill(fill->p, fill->source, &to, first, end);
    if (to.fill && !to.zeros) fill->zeros[share] = to.zero_count;
}

static void spmv__fill_shares(spmv__fill_job *job)
{
    if (job->shares == 1 && !job->to.fill)
        spmv__table[job->p->spec.format].fill(job->p, job->source, &job->to, 0, job->source->rows); /* little stack, if tiny */
    else if (job->shares == 1) spmv__fill_share(job, 0, 0);
    else spmv__share_among(spmv__fill_share, job, job->shares, job->source->threads ? job->source->threads : job->shares);
}

/* Allocates p->zeros, in which each share lists its zeros behind those of the shares before it. */
static spmv_status spmv__part_zeros(spmv__fill_job *job)
{
    spmv_part *p = job->p;
    uint64_t i, all = 0;
    spmv_status status;
    for (i = 0; i < job->shares; i++) {
        uint64_t n = job->zeros[i];
        job->zeros[i] = all;
        all += n;
    }
    spmv__want(&p->zeros, all, 8);
    status = spmv__room(job->source->hooks, &p->zeros.data, p->zeros.count, 8);
    job->to.zeros = (uint64_t *)p->zeros.data;
    return status;
}

/* Sorts the slots of explicit zeros, which are many where a program stores all of its pattern: digit by digit from the lowest, into a
 * second array and back. */
static spmv_status spmv__part_sort_zeros(spmv_part *p, const spmv_hooks *hooks)
{
    enum { BITS = 11, DIGITS = 1 << BITS };
    uint64_t *from = (uint64_t *)p->zeros.data, *to, *place, n = p->zeros.count, i, digit, sum;
    unsigned shift;
    void *block, *places;
    spmv_status status = spmv__room(hooks, &block, n, 8);
    if (!status) {
        status = spmv__room(hooks, &places, DIGITS, sizeof *place);
        if (status) spmv_free(hooks, block);
    }
    if (status) return status;
    to = (uint64_t *)block;
    place = (uint64_t *)places;
    for (shift = 0; shift < 64 && (p->a[SPMV_VAL].count >> shift); shift += BITS) {
        uint64_t *swap = from;
        memset(place, 0, DIGITS * sizeof *place);
        for (i = 0; i < n; i++) place[from[i] >> shift & (DIGITS - 1)]++;
        for (sum = 0, digit = 0; digit < DIGITS; digit++) {
            uint64_t here = place[digit];
            place[digit] = sum;
            sum += here;
        }
        for (i = 0; i < n; i++) to[place[from[i] >> shift & (DIGITS - 1)]++] = from[i];
        from = to;
        to = swap;
    }
    p->zeros.data = from;
    spmv_free(hooks, to);
    spmv_free(hooks, places);
    return SPMV_OK;
}

/* Fills the arrays of a part in a format with fill, and lists the slots of explicit zeros in rising order. */
SPMV__APART spmv_status spmv__fill_and_list_zeros(spmv__fill_job *job)
{
    uint64_t zeros[SPMV__MOST_SHARES];
    spmv_status status;
    job->zeros = zeros;
    job->to.fill = 1;
    spmv__fill_shares(job);
    status = spmv__part_zeros(job);
    if (status) return status;
    if (job->p->zeros.count) spmv__fill_shares(job);
    return job->p->zeros.count > 1 ? spmv__part_sort_zeros(job->p, job->source->hooks) : SPMV_OK;
}

/* Fills the part's arrays. */
SPMV__APART spmv_status spmv__part_values(spmv_part *p, spmv__source *source)
{
    const spmv__ops *ops = &spmv__table[p->spec.format];
    spmv__fill_job job;
    memset(&job, 0, sizeof job);
    job.p = p;
    job.source = source;
    job.to.src = (const unsigned char *)source->view->a->val;
    job.to.dst = &p->a[SPMV_VAL];
    if (ops->lay) ops->lay(p, source);
    job.shares = spmv__source_shares(source);
    if (spmv_format_flags(p->spec.format) & SPMV_HAS_FILL) return spmv__fill_and_list_zeros(&job);
    spmv__fill_shares(&job);
    return SPMV_OK;
}

/* Of a part in csr, ell or sell, fills what fill does but columns and values, which a device fills. */
SPMV__SHARED void spmv__part_outline(spmv_part *p, const spmv__source *source)
{
    spmv__fill_job job;
    memset(&job, 0, sizeof job);
    job.p = p;
    job.source = source;
    job.to.bare = 1;
    job.shares = spmv__source_shares(source);
    spmv__fill_shares(&job);
}

/* Refuses the value in a slot, which is no float. */
static spmv_status spmv__not_float(const spmv__floats *floats, const spmv_part *p, uint64_t slot, spmv_status s, const spmv_hooks *hooks)
{
    spmv__slot_place place;
    place.p = p;
    place.slot = slot;
    place.row = place.col = 0;
    spmv__table[p->spec.format].each(p, spmv__slot_visit, &place);
    return spmv_log(hooks, s, "%s: val=32: the value %.9f in row %llu, column %llu is not exactly a float",
                    spmv_format_name(p->spec.format), spmv__floats_from(floats, slot), (spmv__ull)place.row, (spmv__ull)place.col);
}

/* Replaces the part's doubles by floats. */
SPMV__APART spmv_status spmv__part_floats(spmv_part *p, const spmv_hooks *hooks)
{
    spmv_array *val = &p->a[SPMV_VAL];
    spmv__floats floats;
    uint64_t misfit;
    void *to;
    spmv_status s;
    if (!spmv__type_built(SPMV_MIXED))
        return spmv_log(hooks, SPMV_ERR_UNSUPPORTED, "val=32 needs the products of mixed, which were left out of this build");
    s = spmv__room(hooks, &to, val->count, sizeof *floats.to);
    if (s) return s;
    floats.from = (const double *)val->data;
    floats.map = NULL;
    floats.to = (float *)to;
    floats.count = val->count;
    misfit = spmv__floats_make(&floats);
    if (misfit < val->count) {
        s = spmv__not_float(&floats, p, misfit, SPMV_ERR_UNSUPPORTED, hooks);
        spmv_free(hooks, to);
        return s;
    }
    if (!val->borrowed) spmv_free(hooks, val->data);
    val->data = to;
    val->width = sizeof *floats.to;
    val->borrowed = 0;
    return SPMV_OK;
}

/* Converts these values of the CSR matrix to the floats of a part, or only looks at them; SPMV_ERR_FIXED if one is none. */
static spmv_status spmv__part_new_floats(spmv_part *p, const void *val, int convert)
{
    spmv__floats floats;
    uint64_t misfit;
    floats.from = (const double *)val;
    floats.map = &p->map;
    floats.to = convert ? (float *)p->a[SPMV_VAL].data : NULL;
    floats.count = p->map.count;
    misfit = spmv__floats_make(&floats);
    return misfit < floats.count ? spmv__not_float(&floats, p, misfit, SPMV_ERR_FIXED, &p->hooks) : SPMV_OK;
}

/* SPMV_ERR_FIXED unless a part whose values a device stores as codes can hold these values of the CSR matrix. */
static spmv_status spmv__part_new_codes(const spmv_part *p, const void *val)
{
    const uint32_t most = p->codes == 2 ? 1 : SPMV__DISTINCT_MOST;
    const int fill = (spmv_format_flags(p->spec.format) & SPMV_HAS_FILL) != 0;
    spmv__distinct set;
    spmv_status s = spmv__distinct_find(&set, val, spmv__value_bytes(p), &p->map, fill, p->map.count, &p->hooks);
    if (s || set.count <= most) return s;
    return spmv_log(&p->hooks, SPMV_ERR_FIXED, "%s: val=%d: there are %s%u values", spmv_format_name(p->spec.format), most == 1 ? 1 : 8,
                    set.count > SPMV__DISTINCT_MOST ? "more than " : "", (unsigned)spmv__smaller(set.count, SPMV__DISTINCT_MOST));
}

/* SPMV_ERR_FIXED unless the part can hold these values of the CSR matrix. */
SPMV__SHARED spmv_status spmv__part_new_values(spmv_part *p, const void *val)
{
    if (p->elsewhere || !p->map.count) return SPMV_OK;
    return spmv__stores_floats(p) ? spmv__part_new_floats(p, val, 0) : p->codes ? spmv__part_new_codes(p, val) : SPMV_OK;
}

/* Makes the map for updates: the array of values, filled with the numbers of the nonzeros instead. */
SPMV__APART spmv_status spmv__part_map(spmv_part *p, spmv__source *source)
{
    spmv__fill_job job;
    spmv_status status;
    spmv__want(&p->map, p->a[SPMV_VAL].count, source->view->a->nnz < 0xffffffffu ? 4 : 8);
    status = spmv__room(source->hooks, &p->map.data, p->map.count, p->map.width);
    if (status) return status;
    memset(&job, 0, sizeof job);
    job.p = p;
    job.source = source;
    job.to.dst = &p->map;
    job.shares = spmv__source_shares(source);
    spmv__fill_shares(&job);
    return SPMV_OK;
}

/* Refuses a view whose rows are not those of its matrix. */
SPMV__SHARED spmv_status spmv__check_view(const spmv_view *view, const spmv_hooks *hooks)
{
    const uint64_t rows = view->a->rows;
    uint64_t i;
    if (!view->list && view->rows != rows)
        return spmv_log(hooks, SPMV_ERR_ARGUMENT, "%llu rows without a row list, but the matrix has %llu", (spmv__ull)view->rows,
                        (spmv__ull)rows);
    for (i = 0; view->list && i < view->rows; i++)
        if (view->list[i] >= rows)
            return spmv_log(hooks, SPMV_ERR_INDEX, "row list: entry %llu is row %u, but the matrix has %llu rows", (spmv__ull)i,
                            (unsigned)view->list[i], (spmv__ull)rows);
    return SPMV_OK;
}

/* Refuses a level of instructions that does not exist, or not here. */
SPMV__SHARED spmv_status spmv__simd_check(spmv_simd level, const spmv_hooks *hooks)
{
    if (spmv_simd_usable(level)) return SPMV_OK;
    if ((unsigned)level >= SPMV_SIMD_COUNT) return spmv_log(hooks, SPMV_ERR_ARGUMENT, "simd %d is unknown", (int)level);
    return spmv_log(hooks, SPMV_ERR_UNSUPPORTED, "the level of instructions \"%s\" is missing in this build or on this machine",
                    spmv_simd_name(level));
}

/* 1 if the format has a reproducible product with these keys. */
SPMV__SHARED int spmv__part_repeats(const spmv_spec *spec)
{
    return (spmv_format_flags(spec->format) & SPMV_REPEATS) && !(spec->format == SPMV_CSR && spec->key[SPMV_KEY_RUN]);
}

/* Sets what follows from the keys, the type that is multiplied in, and the level of instructions: the best is the last that is usable. */
static void spmv__part_kind(spmv_part *out, const spmv_spec *spec, spmv_type type, spmv_simd simd)
{
    int level = (int)simd;
    if (simd == SPMV_SIMD_BEST)
        for (level = (int)SPMV_SIMD_COUNT - 1; !spmv_simd_usable((spmv_simd)level);) level--;
    out->spec = *spec;
    out->type = spmv__type(type);
    out->product = spec->key[SPMV_KEY_VAL] == 32 && out->type == SPMV_F64 ? SPMV_MIXED : out->type;
    out->codes = spec->key[SPMV_KEY_VAL] == 8 ? 1 : spec->key[SPMV_KEY_VAL] == 1 ? 2 : 0;
    out->simd = (spmv_simd)level;
}

/* Refuses settings that do not fit the format, the view or this build. */
static spmv_status spmv__part_check(const spmv_spec *spec, const spmv_view *view, const spmv_build *how, const spmv_hooks *hooks)
{
    spmv_status s;
    if ((unsigned)how->type >= SPMV_TYPE_COUNT) return spmv_log(hooks, SPMV_ERR_ARGUMENT, "type %d is unknown", (int)how->type);
    if (spmv_value_size(how->type) != spmv_value_size(view->a->type))
        return spmv_log(hooks, SPMV_ERR_ARGUMENT, "a product in %s needs a CSR matrix of %s", spmv_type_name(how->type),
                        spmv_value_size(how->type) == sizeof(double) ? "doubles" : "floats");
    if (!spmv__type_built(how->type))
        return spmv_log(hooks, SPMV_ERR_UNSUPPORTED, "%s was left out of this build", spmv_type_name(how->type));
    s = spmv__simd_check(how->simd, hooks);
    if (s) return s;
    if (how->strict && (spmv_format_flags(spec->format) & SPMV_HAS_FILL))
        return spmv_log(hooks, SPMV_ERR_STRICT, "%s multiplies its fill by x, which strict mode excludes", spmv_format_name(spec->format));
    if (how->reproducible && !spmv__part_repeats(spec))
        return spmv_log(hooks, SPMV_ERR_UNSUPPORTED, "%s has no reproducible product%s", spmv_format_name(spec->format),
                        spec->format == SPMV_CSR ? " with the key run; leave out run" : "");
    if (view->list && !(spmv_format_flags(spec->format) & SPMV_CAN_LIST))
        return spmv_log(hooks, SPMV_ERR_UNSUPPORTED, "%s cannot follow a row list", spmv_format_name(spec->format));
    return SPMV_OK;
}

/* Sets all of a part but the arrays' contents: checks the settings, counts the view's nonzeros, lets the format set the sizes of the
 * arrays, and checks them against the limit. converter: may be NULL. The caller sets src->weighed, and frees src with
 * spmv__source_free, also after a failure, and *counts. */
SPMV__APART spmv_status spmv__part_sizes(spmv_part *out, const spmv_spec *spec, const spmv_view *view, const spmv_build *how,
                                    spmv_converter *converter, const spmv_hooks *hooks, spmv__source *src, void **counts)
{
    spmv_status s;
    const uint8_t weighed = src->weighed;
    memset(out, 0, sizeof *out);
    memset(src, 0, sizeof *src);
    *counts = NULL;
    src->weighed = weighed;
    src->view = view;
    src->hooks = hooks;
    src->rows = view->rows;
    src->converter = converter;
    s = spmv__part_check(spec, view, how, hooks);
    if (s) return s;
    if (hooks) out->hooks = *hooks;
    spmv__part_kind(out, spec, how->type, how->simd);
    out->reproducible = how->reproducible;
    out->rows = view->rows;
    out->cols = view->a->cols;
    spmv__want(&out->a[SPMV_VAL], 0, (uint32_t)spmv_value_size(how->type));
    s = spmv__source_count(src, counts);
    if (!s && converter) s = converter->rows(converter, out, src); /* has what the device knows of the matrix, for the sizes */
    if (s) return s;
    out->nnz = spmv__source_nnz(src);
    s = spmv__table[spec->format].size(out, src);
    if (s) return s;
    spmv__want(&out->list, view->list ? view->rows : 0, 4);
    return spmv__part_limit(out, view->a, how->max_bytes, hooks);
}

static void spmv__source_free(spmv__source *src)
{
    spmv__diagonals_free(&src->diagonals, src->hooks);
    spmv_free(src->hooks, src->seen);
    spmv_free(src->hooks, src->blocks);
    spmv_free(src->hooks, src->spans);
    spmv_free(src->hooks, src->row_spans);
    spmv_free(src->hooks, src->longest);
    spmv_free(src->hooks, src->sets);
#ifdef SPMV_FORMATS_EXTRA
    spmv__extra_free(src);
#endif
}

/* The slots and bytes that a part would have by a valid specification, counted without building it. The statuses of spmv_part_create. */
SPMV__SHARED spmv_status spmv__part_weigh(const spmv_spec *spec, const spmv_view *view, const spmv_build *how, const spmv_hooks *hooks,
                                          uint64_t *slots, uint64_t *bytes)
{
    spmv__source src;
    spmv_part p;
    void *counts;
    spmv_status s;
    src.weighed = 1;
    s = spmv__part_sizes(&p, spec, view, how, NULL, hooks, &src, &counts);
    if (spmv__stores_floats(&p)) p.a[SPMV_VAL].width = (uint32_t)sizeof(float);
    *slots = s ? 0 : spmv_part_slots(&p);
    *bytes = s ? 0 : spmv__part_device_bytes(&p);
    spmv__source_free(&src);
    spmv_free(hooks, counts);
    return s;
}

/* Makes a part by a valid specification: the format sets the sizes of the arrays; they are checked against the limit, allocated, and
 * filled. */
SPMV__SHARED spmv_status spmv__part_create(spmv_part *out, const spmv_spec *spec, const spmv_view *view, const spmv_build *how,
                                           const spmv_hooks *hooks)
{
    spmv__source src;
    void *counts;
    spmv_status s;
    src.weighed = 0;
    s = spmv__part_sizes(out, spec, view, how, how->converter, hooks, &src, &counts);
    if (!s) s = spmv__room(hooks, &out->list.data, out->list.count, 4);
    if (!s && out->list.count) memcpy(out->list.data, view->list, (size_t)out->list.count * 4);
    if (!s && how->converter) s = how->converter->part(how->converter, out, &src, how);
#ifdef SPMV__ANY_BLOCK
    if (!s && src.counted && !out->elsewhere) s = spmv__block_sets(out, &src); /* the host fills what the device has counted */
#endif
    if (!s && !out->elsewhere) s = spmv__part_arrays(out, &src, how);
    if (!s && !out->elsewhere) s = spmv__part_values(out, &src);
    if (!s && !out->elsewhere && out->product != out->type) s = spmv__part_floats(out, hooks);
    if (!s && how->updatable && !out->elsewhere) s = spmv__part_map(out, &src);
    spmv__source_free(&src);
    spmv_free(hooks, counts);
    if (s) spmv_part_destroy(out);
    return s;
}

SPMV_API spmv_status spmv_part_create(spmv_part *out, const spmv_spec *spec, const spmv_view *view, const spmv_build *how,
                                     const spmv_hooks *hooks)
{
    const char *why;
    spmv_status s;
    if (!out || !spec || !view || !view->a || !how)
        return spmv__null(hooks, "spmv_part_create", !out ? "out" : !spec ? "spec" : !view ? "view" : !view->a ? "view->a" : "how", out,
                          sizeof *out);
    s = spmv__spec_check(spec, &why);
    if (s) spmv_log(hooks, s, "%s: %s", spmv_format_name(spec->format), why);
    else s = spmv__check_view(view, hooks);
    if (!s) return spmv__part_create(out, spec, view, how, hooks);
    memset(out, 0, sizeof *out);
    return s;
}

/* Counts the slots of nonzeros whose new value is zero, and lists them in out unless that is NULL. */
static uint64_t spmv__map_zeros(const spmv_part *p, const unsigned char *val, uint64_t *out)
{
    const uint32_t width = spmv__value_bytes(p);
    uint64_t i, n = 0;
    for (i = 0; i < p->map.count; i++) {
        uint64_t m = spmv__at(&p->map, i);
        if (m && spmv__is_zero(val + (m - 1) * width, width)) {
            if (out) out[n] = i;
            n++;
        }
    }
    return n;
}

/* The list of explicit zeros is made anew before the values change, so that nothing changes if there is no memory. */
SPMV_API spmv_status spmv_part_update(spmv_part *p, const void *val)
{
    if (!p || (!val && p->a[SPMV_VAL].count)) return spmv__null(p ? &p->hooks : NULL, "spmv_part_update", p ? "val" : "p", NULL, 0);
    const unsigned char *src = (const unsigned char *)val;
    spmv__sink to;
    uint64_t i, n;
    void *zeros;
    spmv_status s;
    if (p->elsewhere) return SPMV_OK;
    if (p->a[SPMV_VAL].count && !p->map.count) return spmv_log(&p->hooks, SPMV_ERR_FIXED, "the part was not made updatable");
    s = spmv__part_new_values(p, val);
    if (s) return s;
    if (spmv_format_flags(p->spec.format) & SPMV_HAS_FILL) {
        n = spmv__map_zeros(p, src, NULL);
        s = spmv__new(&p->hooks, &zeros, n, 8, 0);
        if (s) return s;
        spmv__map_zeros(p, src, (uint64_t *)zeros);
        spmv_free(&p->hooks, p->zeros.data);
        p->zeros.data = zeros;
        p->zeros.count = n;
    }
    if (spmv__stores_floats(p)) return spmv__part_new_floats(p, val, 1);
    memset(&to, 0, sizeof to);
    to.src = src;
    to.dst = &p->a[SPMV_VAL];
    for (i = 0; i < p->map.count; i++) {
        uint64_t m = spmv__at(&p->map, i);
        if (m) spmv__put(&to, i, m - 1);
    }
    return SPMV_OK;
}

static void spmv__array_free(const spmv_hooks *hooks, const spmv_array *array)
{
    if (!array->borrowed) spmv_free(hooks, array->data);
}

/* Borrowed arrays belong to the CSR matrix, or to the bytes of a saved one. */
SPMV_API void spmv_part_destroy(spmv_part *p)
{
    if (!p) return;
    spmv_hooks hooks = p->hooks;
    int i;
    for (i = 0; i < SPMV_MAX_ARRAYS; i++) spmv__array_free(&hooks, &p->a[i]);
    spmv__array_free(&hooks, &p->list);
    spmv__array_free(&hooks, &p->zeros);
    spmv_free(&hooks, p->map.data);
    if (p->elsewhere) p->elsewhere->drop(p->elsewhere);
    memset(p, 0, sizeof *p);
}

/* ---- back to CSR ------------------------------------------------------------------------------------------------- */

/* The entries that spmv_parts_to_csr has found so far. */
typedef struct spmv__collect {
    const spmv_part *p;
    uint64_t  count, room;
    uint32_t *row, *col;
    unsigned char *val;
} spmv__collect;

/* 1 if a slot holds an explicit zero. */
static int spmv__listed_zero(const spmv_part *p, uint64_t slot)
{
    const uint64_t at = spmv__below(&p->zeros, slot);
    return at < p->zeros.count && spmv__at(&p->zeros, at) == slot;
}

/* Adds the entry in a slot, unless that holds fill. */
static void spmv__collect_slot(void *user, uint64_t row, uint64_t col, uint64_t slot)
{
    spmv__collect *collect = (spmv__collect *)user;
    const uint32_t width = spmv__value_bytes(collect->p);
    unsigned char value[sizeof(double)];
    spmv__part_value(collect->p, slot, value);
    if ((spmv_format_flags(collect->p->spec.format) & SPMV_HAS_FILL) && spmv__is_zero(value, width) && !spmv__listed_zero(collect->p, slot))
        return;
    if (collect->count++ >= collect->room) return;
    collect->row[collect->count - 1] = spmv__part_row(collect->p, row);
    collect->col[collect->count - 1] = (uint32_t)col;
    memcpy(collect->val + (collect->count - 1) * width, value, width);
}

/* Collects the entries of all parts as COO and lets spmv_csr_create sort and check them. */
SPMV_API spmv_status spmv_parts_to_csr(spmv_csr *out, uint64_t rows, const spmv_part *parts, size_t count, const spmv_hooks *hooks)
{
    if (!out || (count && !parts)) return spmv__null(hooks, "spmv_parts_to_csr", !out ? "out" : "parts", out, sizeof *out);
    spmv__collect collect;
    spmv_input in;
    void *row = NULL, *col = NULL, *val = NULL;
    size_t i;
    spmv_status s;
    memset(out, 0, sizeof *out);
    memset(&collect, 0, sizeof collect);
    memset(&in, 0, sizeof in);
    in.form = SPMV_IN_COO;
    in.rows = (int64_t)rows;
    in.cols = count ? (int64_t)parts[0].cols : 0;
    in.val_type = spmv__stored_type(count ? parts[0].type : SPMV_F32);
    in.duplicates = SPMV_DUP_REFUSE;
    for (i = 0; i < count; i++)
        if (parts[i].cols != parts[0].cols || parts[i].type != parts[0].type)
            return spmv_log(hooks, SPMV_ERR_ARGUMENT, "part %llu differs from part 0 in its columns or type", (spmv__ull)i);
    for (i = 0; i < count; i++) in.nnz += (int64_t)parts[i].nnz;
    s = spmv__new(hooks, &row, (uint64_t)in.nnz, 4, 0);
    if (!s) s = spmv__new(hooks, &col, (uint64_t)in.nnz, 4, 0);
    if (!s) s = spmv__new(hooks, &val, (uint64_t)in.nnz, spmv_value_size(in.val_type), 0);
    if (s) goto done;
    collect.room = (uint64_t)in.nnz;
    collect.row = (uint32_t *)row;
    collect.col = (uint32_t *)col;
    collect.val = (unsigned char *)val;
    for (i = 0; i < count && in.nnz; i++) {
        collect.p = &parts[i];
        spmv__table[parts[i].spec.format].each(&parts[i], spmv__collect_slot, &collect);
    }
    if (collect.count != collect.room) { /* parts of a saved matrix */
        s = spmv_log(hooks, SPMV_ERR_INDEX, "the parts hold %llu nonzeros and say that they hold %llu", (spmv__ull)collect.count,
                     (spmv__ull)collect.room);
        goto done;
    }
    in.row = row;
    in.col = col;
    in.val = val;
    s = spmv_csr_create(out, &in, in.val_type, hooks);
done:
    spmv_free(hooks, val);
    spmv_free(hooks, col);
    spmv_free(hooks, row);
    return s;
}

#endif
