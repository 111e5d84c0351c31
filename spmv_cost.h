/* SPDX-License-Identifier: MIT
 *
 * spmv_cost.h - the estimate: how long a product with a part takes, by a tuning table and the features of the matrix.
 *
 * If you only want the interface, stop at "END OF THE INTERFACE".
 */
/* Above the guard: the bodies may be wanted although the interface was seen. What is complete is not read again. */
#if !defined(SPMV_FEATURES_H) || (defined(SPMV_IMPLEMENTATION) && !defined(SPMV_FEATURES_IMPLEMENTED))
#include "spmv_features.h"
#endif
#if !defined(SPMV_TABLE_H) || (defined(SPMV_IMPLEMENTATION) && !defined(SPMV_TABLE_IMPLEMENTED))
#include "spmv_table.h"
#endif
#ifndef SPMV_COST_H
#define SPMV_COST_H

#ifdef __cplusplus
extern "C" {
#endif

/* What the choice needs to know of the device where products will run: its name and its class, as a tuning table has them. spmv_target_of
 * of spmv.h makes it from an open device. All zero: the host. */
typedef struct spmv_target {
    const char       *device;       /* NULL: unknown, so that no table counts as the device's own; on the host: "host" */
    spmv_device_class device_class; /* without a table of the device itself, one of its class is used */
    const spmv_tuning *table;       /* the bundled table for this device if it was read before, so that it need not be read again; NULL:
                                       it is read. spmv_create reads it once for each open device */
    int               exact;        /* 1: that table is the device's own */
    uint64_t          cache;        /* bytes of the cache that all compute units share, as the device says; 0: it has what the table has.
                                       Counts only beside a table of another device, as the next one does */
    double            read;         /* GB/s that its memory can deliver at most; 0: it is as fast as the table says */
} spmv_target;

/* What a product with a part is predicted to take, and the times that it cannot be faster than. */
typedef struct spmv_estimate {
    double   seconds;      /* predicted; 0: the part would be refused or the table knows nothing of it, and all else may be 0 */
    double   memory;       /* seconds that its bytes take at the highest speed that the table shows */
    double   beyond;       /* of both: seconds that the table's rates do not contain (more of the cache is needed than the bytes that
                              are read, or the device has less of it, or slower memory, than the table says) */
    double   chain;        /* seconds of its longest row, if that is not divided, or on a GPU of the longest run of csr; 0: the row is
                              divided otherwise, or the table does not say */
    double   rates;        /* seconds by the table's rates alone, without its fits */
    double   error;        /* of the prediction, by the table's fits: the standard deviation of log2 of predicted over measured times */
    double   term[SPMV_TERM_COUNT]; /* of the fits */
    double   work[SPMV_WORK_COUNT]; /* of each kind, as the table counts it */
    uint64_t slots, bytes; /* of its arrays, counted, with rows that only fill them up */
    double   skipped;      /* of the slots: padding of which a product reads only the column; estimated if blocks were sampled */
} spmv_estimate;

/* Predicts the time of a product by a plan, part by part. The matrix is split, and the arrays of each part are counted, not built.
 *   out      an estimate for each part of the plan; zeroed on failure, unless the plan itself is invalid
 *   plan     the plan; builders' names are for spmv_plan_make
 *   variant  knobs, part by part as in the plan; NULL or parts that are empty: those of the table that are fastest there. Knobs that the
 *            table lacks count as these, too
 *   a, how   the matrix and how it would be stored
 *   target   where products would run; NULL: on the host
 *   tuning   the table to go by; NULL: the bundled one
 *   hooks    may be NULL
 * The statuses of spmv_split_make. */
SPMV_API spmv_status spmv_predict(spmv_estimate *out, const spmv_plan *plan, const char *variant, const spmv_csr *a, const spmv_build *how,
                                  const spmv_target *target, const spmv_tuning *tuning, const spmv_hooks *hooks);

#ifdef __cplusplus
}
#endif
#endif /* SPMV_COST_H */
/* ============================================ END OF THE INTERFACE ============================================== */

#if defined(SPMV_IMPLEMENTATION) && !defined(SPMV_COST_IMPLEMENTED)
#define SPMV_COST_IMPLEMENTED

/* ---- candidates ---------------------------------------------------------------------------------------------------- */

enum { SPMV__GROUPS = (int)SPMV_FORMAT_COUNT + (int)SPMV_CLASS_COUNT }; /* a group: a format, or SPMV_FORMAT_COUNT + a class */

/* A layout with one choice of knobs, and its rates for each kind of matrix (NULL: not measured). */
typedef struct spmv__candidate {
    const spmv_spec     *layout;
    const char          *variant;
    const spmv_tune_row *kind[SPMV_TUNE_KIND_COUNT];
    const spmv_tune_fit *fit; /* NULL: nothing was fitted */
    double times[SPMV_TUNE_KIND_COUNT]; /* how many times as long as by the row: 1, or more if it is lent by another candidate */
    double mean[SPMV_TUNE_KIND_COUNT];  /* of the row's curve, to compare rows by */
} spmv__candidate;

/* What estimates need: the device's table, the candidates of a type, and how the matrix will be stored. */
typedef struct spmv__estimator {
    const spmv_csr    *a;
    const spmv_build  *how;
    const spmv_hooks  *h;
    const spmv_tuning *t;
    spmv_tuning        own;     /* the table if the caller gave none */
    int                exact;   /* 1: the table is the device's own or the caller's */
    spmv__candidate   *cand;
    size_t             cands, measured; /* how many there are, and of how many of them, the first, the table has rows */
    spmv_spec         *unmeasured; /* the layouts of the others */
    spmv_type          rates;   /* the type that all rows of the candidates were measured with */
    float             *best;    /* the highest curve of all candidates of a group for a kind: [group][kind][rows][per_row] */
    unsigned char      any[SPMV__GROUPS][SPMV_TUNE_KIND_COUNT]; /* 1: there is such a curve */
    unsigned           without; /* bits of formats that must not be used */
    double             limit;   /* the most bytes that a part may take */
    spmv__reuse        reuse;   /* of x in the whole matrix; lines are 0 if x fits the cache, or the table does not say what misses cost */
    double             cols;    /* of the whole matrix */
    double             strays;  /* the share of the nonzeros that read a line of x that is not among the last SPMV__GATHER_LINES ones */
    double             misses;  /* the share of those whose line the cache does not hold, with a->cols columns at once */
    double             cache, read; /* MiB of the device's cache and GB/s of its memory if it has less than the table, else those of it */
    double             scale;   /* by which every prediction is multiplied */
} spmv__estimator;

/* May the format be used: by the build, the hints, strict mode and reproducibility? */
static int spmv__usable(const spmv__estimator *e, spmv_format f)
{
    unsigned flags = spmv_format_flags(f);
    if (e->without >> f & 1u || !spmv_format_built(f)) return 0;
    if (e->how->strict && flags & SPMV_HAS_FILL) return 0;
    return !e->how->reproducible || (flags & SPMV_REPEATS);
}

static int spmv__same_spec(const spmv_spec *a, const spmv_spec *b)
{
    return a->format == b->format && !memcmp(a->key, b->key, sizeof a->key);
}

static int spmv__is_block(spmv_format f) { return spmv_format_class_of(f) == SPMV_CLASS_BLOCK; }

/* The highest curve of a group for a kind. */
static float *spmv__group_best(const spmv__estimator *e, int group, int kind)
{
    return e->best + (size_t)(group * SPMV_TUNE_KIND_COUNT + kind) * (size_t)(e->t->rows * e->t->per_row);
}

static void spmv__raise_best(spmv__estimator *e, const spmv_tune_row *r, int group)
{
    int i, n = e->t->rows * e->t->per_row;
    float *best = spmv__group_best(e, group, (int)r->kind);
    for (i = 0; i < n; i++)
        if (!e->any[group][r->kind] || r->curve[i] > best[i]) best[i] = r->curve[i];
    e->any[group][r->kind] = 1;
}

/* The block formats, in the order in which they are looked at. */
static const spmv_format spmv__block_formats[] = { SPMV_BELL, SPMV_SBELL, SPMV_BCSR };
enum { SPMV__BLOCK_FORMATS = sizeof spmv__block_formats / sizeof *spmv__block_formats };

/* The mean of a row's curve. */
static double spmv__curve_mean(const spmv__estimator *e, const spmv_tune_row *r)
{
    double sum = 0;
    int i, n = e->t->rows * e->t->per_row;
    for (i = 0; i < n; i++) sum += (double)r->curve[i];
    return sum / n;
}

/* Collects the layouts and knobs of a type that may be used, each with its rows of the table, and the highest curves of all groups. There
 * is room for the block formats that the table lacks. */
static spmv_status spmv__gather_candidates(spmv__estimator *e, spmv_type type)
{
    void *block;
    uint64_t room = 1;
    size_t i, j;
    spmv_status s;
    for (i = 0; i < e->t->count; i++)
        if (e->t->row[i].type == type) room += spmv__is_block(e->t->row[i].layout.format) ? SPMV__BLOCK_FORMATS : 1;
    s = spmv__new(e->h, &block, room, sizeof *e->cand, 0);
    if (s) return s;
    spmv_free(e->h, e->cand);
    e->cand = (spmv__candidate *)block;
    for (i = 0; i < e->t->count; i++) {
        const spmv_tune_row *r = &e->t->row[i];
        if (r->type != type || !r->curve) continue;
        spmv__raise_best(e, r, (int)r->layout.format);
        spmv__raise_best(e, r, SPMV_FORMAT_COUNT + (int)spmv_format_class_of(r->layout.format));
        if (!spmv__usable(e, r->layout.format)) continue;
        for (j = 0; j < e->cands; j++)
            if (spmv__same_spec(e->cand[j].layout, &r->layout) && !strcmp(e->cand[j].variant, r->variant)) break;
        if (j == e->cands) {
            e->cand[j].layout = &r->layout;
            e->cand[j].variant = r->variant;
            e->cands++;
        }
        e->cand[j].kind[r->kind] = r;
        e->cand[j].times[r->kind] = 1;
        e->cand[j].mean[r->kind] = spmv__curve_mean(e, r);
    }
    return SPMV_OK;
}

/* How many times as long as with the rates that stand in for them: what the tuner dropped was at least so far behind the best of its
 * format, and of its class. */
#define SPMV__LENT          1.05
#define SPMV__LENT_BY_CLASS 1.3

/* For each kind that a candidate was not measured on, lends it the best row of the same layout with other knobs. */
static void spmv__lend_rows(spmv__estimator *e)
{
    size_t i, j;
    int kind;
    for (i = 0; i < e->cands; i++)
        for (kind = 0; kind < SPMV_TUNE_KIND_COUNT; kind++) {
            spmv__candidate *k = &e->cand[i];
            if (k->kind[kind]) continue;
            for (j = 0; j < e->cands; j++) {
                const spmv__candidate *o = &e->cand[j];
                if (j == i || !o->kind[kind] || o->times[kind] > 1 || !spmv__same_spec(o->layout, k->layout)) continue;
                if (k->kind[kind] && o->mean[kind] <= k->mean[kind]) continue;
                k->kind[kind] = o->kind[kind];
                k->mean[kind] = o->mean[kind];
                k->times[kind] = SPMV__LENT;
            }
        }
}

/* ---- block formats that the table lacks ------------------------------------------------------------------------------- */

/* Has a layout blocks of the same size as another one with blocks, and columns as narrow? */
static int spmv__same_blocks(const spmv_spec *a, const spmv_spec *like)
{
    return a->key[SPMV_KEY_B] == like->key[SPMV_KEY_B] && a->key[SPMV_KEY_IDX] == like->key[SPMV_KEY_IDX] && spmv__is_block(a->format);
}

/* Of the candidates in other block formats than a layout, but with the same blocks, the best that was measured on a kind of matrix. NULL:
 * there is none. */
static const spmv__candidate *spmv__best_blocks(const spmv__estimator *e, const spmv_spec *like, int kind)
{
    const spmv__candidate *best = NULL, *o;
    for (o = e->cand; o < e->cand + e->measured; o++) {
        if (!spmv__same_blocks(o->layout, like) || o->layout->format == like->format) continue;
        if (o->kind[kind] && !(o->times[kind] > 1) && (!best || o->mean[kind] > best->mean[kind])) best = o;
    }
    return best;
}

/* How many times as long as in the best of the others products in a block format take on a kind of matrix: the geometric mean over the
 * blocks of which the table has both, but at least 1, as what it lacks was behind. */
static double spmv__blocks_behind(const spmv__estimator *e, spmv_format format, int kind)
{
    double sum = 0;
    size_t i, both = 0;
    for (i = 0; i < e->measured; i++) {
        const spmv__candidate *k = &e->cand[i];
        const spmv__candidate *other;
        if (k->layout->format != format || *k->variant || !k->kind[kind] || k->times[kind] > 1) continue;
        other = spmv__best_blocks(e, k->layout, kind);
        if (!other) continue;
        sum += spmv__log2(other->mean[kind] / k->mean[kind]);
        both++;
    }
    return sum > 0 ? spmv__exp2(sum / (double)both) : 1;
}

/* Adds the candidate of a block format with the blocks of a layout, unless there is one. */
static void spmv__lend_block(spmv__estimator *e, spmv_format format, const spmv_spec *like, const double behind[])
{
    spmv__candidate *added = &e->cand[e->cands];
    spmv_spec *layout = &e->unmeasured[e->cands - e->measured];
    size_t i;
    int kind;
    for (i = 0; i < e->cands; i++)
        if (e->cand[i].layout->format == format && spmv__same_blocks(e->cand[i].layout, like)) return;
    *layout = *like;
    layout->format = format;
    if (spmv_spec_check(layout, NULL)) return;
    added->layout = layout;
    added->variant = "";
    for (kind = 0; kind < SPMV_TUNE_KIND_COUNT; kind++) {
        const spmv__candidate *best = spmv__best_blocks(e, layout, kind);
        if (!best) continue;
        added->kind[kind] = best->kind[kind];
        added->mean[kind] = best->mean[kind];
        added->times[kind] = SPMV__LENT * behind[kind];
    }
    e->cands++;
}

/* Adds the block formats that the table lacks for blocks that it has in another format. The tuner compares them on banded matrices, where
 * block rows are equally long and no format fills them up, and leaves out those that are behind there; elsewhere they may be ahead. They
 * take so many times as long as the best of the others as the format does with the blocks that were measured in both. */
static spmv_status spmv__lend_blocks(spmv__estimator *e)
{
    void *block;
    uint64_t room = 1;
    size_t i;
    int f, kind;
    spmv_status s;
    e->measured = e->cands;
    for (i = 0; i < e->measured; i++) room += spmv__is_block(e->cand[i].layout->format) ? SPMV__BLOCK_FORMATS - 1 : 0;
    s = spmv__new(e->h, &block, room, sizeof *e->unmeasured, 0);
    if (s) return s;
    e->unmeasured = (spmv_spec *)block;
    for (f = 0; f < SPMV__BLOCK_FORMATS; f++) {
        double behind[SPMV_TUNE_KIND_COUNT];
        if (!spmv__usable(e, spmv__block_formats[f])) continue;
        for (kind = 0; kind < SPMV_TUNE_KIND_COUNT; kind++) behind[kind] = spmv__blocks_behind(e, spmv__block_formats[f], kind);
        for (i = 0; i < e->measured; i++)
            if (spmv__is_block(e->cand[i].layout->format)) spmv__lend_block(e, spmv__block_formats[f], e->cand[i].layout, behind);
    }
    return SPMV_OK;
}

/* Layouts whose products run alike, so that what was learned of one holds for the other: of the same format, both in runs or not, and both
 * with their rows in order or not. */
SPMV__SHARED int spmv__runs_alike(const spmv_spec *a, const spmv_spec *b)
{
    return a->format == b->format && !a->key[SPMV_KEY_RUN] == !b->key[SPMV_KEY_RUN] && a->key[SPMV_KEY_ROWS] == b->key[SPMV_KEY_ROWS];
}

/* What layouts or plans have in common: two of them are alike to a degree if the numbers there are the same. */
typedef struct spmv__likeness {
    uint64_t at[SPMV_ALIKE_COUNT];
} spmv__likeness;

static void spmv__likeness_key(uint64_t *at, int64_t key)
{
    *at = (*at ^ (uint64_t)key) * 0x9e3779b97f4a7c15u; /* Knuth 6.4; different layouts have the same number hardly ever */
    *at ^= *at >> 32;
}

/* Adds a part of a plan, of which those before it were added. At first, all numbers are 0. Whether empty rows are left out changes
 * little, so that it does not count. */
SPMV__SHARED void spmv__likeness_add(spmv__likeness *k, const spmv_spec *part)
{
    const int64_t rows = part->key[SPMV_KEY_ROWS] == SPMV_ROWS_NONEMPTY ? 0 : part->key[SPMV_KEY_ROWS];
    int i;
    for (i = SPMV_ALIKE_FORMAT; i < SPMV_ALIKE_COUNT; i++) spmv__likeness_key(&k->at[i], (int64_t)part->format + 1);
    for (i = SPMV_ALIKE_RUNS; i < SPMV_ALIKE_COUNT; i++) {
        spmv__likeness_key(&k->at[i], part->key[SPMV_KEY_RUN] ? 1 : 0);
        spmv__likeness_key(&k->at[i], rows);
        spmv__likeness_key(&k->at[i], part->key[SPMV_KEY_B]);
    }
    spmv__likeness_key(&k->at[SPMV_ALIKE_LAYOUT], (int64_t)spmv__height(part));
    for (i = 0; i < SPMV_KEY_COUNT; i++)
        if (i != SPMV_KEY_ROWS && i != SPMV_KEY_H) spmv__likeness_key(&k->at[SPMV_ALIKE_LAYOUT], part->key[i]);
}

/* The degree to which two are alike. */
SPMV__SHARED spmv_alike spmv__how_alike(const spmv__likeness *a, const spmv__likeness *b)
{
    int i = SPMV_ALIKE_COUNT - 1;
    while (i > 0 && a->at[i] != b->at[i]) i--;
    return (spmv_alike)i;
}

/* How well a fit suits a candidate: 5 of these knobs, 4 of the layout without knobs, 3 of the layout, 2 of a layout that runs alike, 1 of
 * the format; 0: not at all. */
static int spmv__fit_suits(const spmv_tune_fit *fit, const spmv__candidate *k)
{
    if (spmv__same_spec(&fit->layout, k->layout)) return !strcmp(fit->variant, k->variant) ? 5 : !*fit->variant ? 4 : 3;
    return spmv__runs_alike(&fit->layout, k->layout) ? 2 : fit->layout.format == k->layout->format;
}

/* The fit of a table that suits a candidate best, in a type; NULL: none does. */
static const spmv_tune_fit *spmv__fit_of(const spmv_tuning *t, spmv_type type, const spmv__candidate *k)
{
    const spmv_tune_fit *found = NULL;
    int best = 0, now;
    size_t i;
    for (i = 0; i < t->fits; i++) {
        now = t->fit[i].type == type ? spmv__fit_suits(&t->fit[i], k) : 0;
        if (now <= best) continue;
        best = now;
        found = &t->fit[i];
    }
    return found;
}

/* Finds the fit of each candidate. */
static void spmv__find_fits(spmv__estimator *e)
{
    size_t i;
    for (i = 0; i < e->cands; i++) e->cand[i].fit = spmv__fit_of(e->t, e->rates, &e->cand[i]);
}

/* For devices without any table of their class: rates in proportion to the bytes that a nonzero takes, with memory of 30 GB/s. */
static const char *const spmv__general_table =
    "spmv tuning table 1\ndevice any\nclass host\nread 30\nrows 1\nper_row 1\n"
    "f64 banded csr/ 4.6\nf64 banded csr:run=1024/ 4.7\nf64 banded sell/ 4.9\nf64 banded ell/ 4.8\nf64 banded dia/ 7\n"
    "f64 banded sbell/ 6.6\nf64 banded bcsr/ 6.5\nf64 banded sbell:b=3x3/ 6.4\nf64 banded coo/ 3.4\nf64 banded dense/ 7.4\n"
    "f32 banded csr/ 6.9\nf32 banded csr:run=1024/ 7\nf32 banded sell/ 7.3\nf32 banded ell/ 7.2\nf32 banded dia/ 14\n"
    "f32 banded sbell/ 13\nf32 banded bcsr/ 12.5\nf32 banded sbell:b=3x3/ 12\nf32 banded coo/ 4.6\nf32 banded dense/ 14.8\n";

/* Reads the bundled table to go by: the device's own, one of its class, or the general one. */
static spmv_status spmv__bundled_table(spmv_tuning *out, int *exact, const spmv_target *target, const spmv_hooks *h)
{
    const char *device = target && target->device ? target->device : "host";
    spmv_device_class device_class = target ? target->device_class : SPMV_DEVICE_CLASS_HOST;
    size_t length;
    const char *text = spmv_tuning_bundled(device, device_class, &length, exact);
    if (!text) {
        text = spmv__general_table;
        length = strlen(text);
        *exact = 0;
    }
    return spmv_tuning_read(out, text, length, "the bundled tuning table", h);
}

/* Finds the table to go by: the caller's, one that was read before, or the bundled one, which for the host is there without being read. */
static spmv_status spmv__find_table(spmv__estimator *e, const spmv_target *target, const spmv_tuning *given)
{
    const int host = !target || (target->device_class == SPMV_DEVICE_CLASS_HOST && (!target->device || !strcmp(target->device, "host")));
    e->exact = 1;
    e->t = given || !host ? given : spmv_tuning_host();
    if (e->t) return SPMV_OK;
    if (target && target->table) {
        e->t = target->table;
        e->exact = target->exact;
        return SPMV_OK;
    }
    e->t = &e->own;
    return spmv__bundled_table(&e->own, &e->exact, target, e->h);
}

/* Sets e->misses for a part that may read only a->cols columns: it finds as much of x in the cache as if that were larger by as much as
 * x has become smaller. */
static void spmv__set_far(spmv__estimator *e)
{
    const double line = (double)spmv_vector_size(e->how->type) * (double)SPMV__REUSE_LINE;
    e->misses = e->a->cols ? spmv__reuse_missed(&e->reuse, e->t->held * 1048576 / line * e->cols / (double)e->a->cols) : 0;
}

/* Looks at how x is read if it is larger than what the cache of a GPU holds of it. */
static spmv_status spmv__look_far(spmv__estimator *e)
{
    const double x = (double)e->a->cols * (double)spmv_vector_size(e->how->type);
    spmv_status s = SPMV_OK;
    e->cols = (double)e->a->cols;
    if (e->t->miss > 0 && x > e->t->held * 1048576) s = spmv__reuse_make(&e->reuse, e->a, e->h);
    e->strays = spmv__reuse_missed(&e->reuse, (double)SPMV__GATHER_LINES);
    if (!s) spmv__set_far(e);
    return s;
}

/* The types by whose rates a product of a type is estimated, the first of which the table has any: the type itself, then the one that moves
 * nearly as many bytes. */
enum { SPMV__RATES = 3 };
static const spmv_type spmv__rates_order[SPMV_TYPE_COUNT][SPMV__RATES] = {
    { SPMV_F64, SPMV_F32, SPMV_MIXED }, /* where the type was left out */
    { SPMV_F64, SPMV_F32, SPMV_MIXED }, { SPMV_F32, SPMV_F64, SPMV_MIXED }, { SPMV_MIXED, SPMV_F32, SPMV_F64 }
};

/* Collects the candidates from rows of the type itself, else of the type that moves nearly as many bytes: mixed reads floats as f32 does,
 * and its vectors are those of f64. */
static spmv_status spmv__find_candidates(spmv__estimator *e)
{
    void *block;
    int i;
    uint64_t points = (uint64_t)(e->t->rows * e->t->per_row);
    spmv_status s = spmv__new(e->h, &block, (uint64_t)SPMV__GROUPS * (uint64_t)SPMV_TUNE_KIND_COUNT * points, sizeof *e->best, 0);
    e->best = (float *)block;
    for (i = 0; i < SPMV__RATES && !s && !e->cands; i++) {
        memset(e->any, 0, sizeof e->any);
        e->rates = spmv__rates_order[e->how->type][i];
        s = spmv__gather_candidates(e, e->rates);
    }
    if (!s) spmv__lend_rows(e);
    if (!s) s = spmv__lend_blocks(e);
    if (!s) spmv__find_fits(e);
    return s ? s : spmv__look_far(e);
}

static void spmv__estimator_free(spmv__estimator *e)
{
    spmv_free(e->h, e->cand);
    spmv_free(e->h, e->unmeasured);
    spmv_free(e->h, e->best);
    spmv_tuning_free(&e->own);
}

/* A table's size of the cache is that of the largest array which was read clearly faster than memory, of sizes of which each is so many
 * times as large as the one before (tools/tune/probe.c): on an H100, of whose cache the driver says 50 MiB, it is 56 MiB. */
#define SPMV__CACHE_STEP 1.25

/* What a table says of a device, but no more than what the device says of itself (0: nothing), unless the table is its own. */
static double spmv__at_most(const spmv__estimator *e, double table, double device)
{
    return device > 0 && device < table && !e->exact ? device : table;
}

/* Finds the table; there are no estimates before spmv__find_candidates.
 *   without  bits of formats that must not be used
 *   given    the caller's table; NULL: the bundled one for the device
 * Free e with spmv__estimator_free, also after a failure. */
static spmv_status spmv__estimator_make(spmv__estimator *e, const spmv_csr *a, const spmv_build *how, const spmv_target *target,
                                        const spmv_tuning *given, unsigned without, const spmv_hooks *h)
{
    spmv_status s;
    memset(e, 0, sizeof *e);
    e->a = a;
    e->how = how;
    e->h = h;
    e->without = without;
    e->scale = 1;
    e->limit = (double)spmv__most_bytes(a, how->max_bytes);
    s = spmv__find_table(e, target, given);
    if (s) return s;
    e->cache = spmv__at_most(e, e->t->cache, target ? SPMV__CACHE_STEP * (double)target->cache / 1048576 : 0);
    e->read = spmv__at_most(e, e->t->read, target ? target->read : 0);
    return SPMV_OK;
}

/* ---- what preparing costs -------------------------------------------------------------------------------------------- */

static double spmv__longer(double a, double b) { return a > b ? a : b; }

/* Of tables that do not say it: as on an NVIDIA H100 with 16 host cores, 2026-11-26, by "spmv tune --preparing". fill: for each slot, what
 * a part takes longer than csr, by "build/prepare -d cuda:0 f64" with 5 matrices. */
static const struct {
    double begin, nonzero, fill[SPMV_CLASS_COUNT], part, divide, look, look_byte, build;
} spmv__prepare_unknown = { 3e-4, 0.58e-9, { 0 /* flat */, 1.2e-9 /* diagonal */, 0.15e-9 /* block */, 0 /* dense */ },
                            1.9e-9, 3.3e-9, 0.8e-3, 0.26e-9, 0.22 };

static double spmv__known(double seconds, double otherwise) { return seconds > 0 ? seconds : otherwise; }

/* The way in which a layout is stored. */
static spmv_way spmv__way_of(const spmv_spec *spec)
{
    if (spec->key[SPMV_KEY_ROWS] == SPMV_ROWS_SORTED) return SPMV_WAY_SORTED;
    return spec->key[spmv__trait[spec->format]->slower] ? SPMV_WAY_OWN : SPMV_WAY_PLAIN;
}

/* The bytes of a value with its column over those in f64, in which preparing is measured. */
static double spmv__share_of_f64(spmv_type type)
{
    return ((double)spmv_value_size(type) + sizeof(uint32_t)) / (double)(sizeof(double) + sizeof(uint32_t));
}

/* Seconds that preparing takes in any format: those of csr, which copies the matrix to a device, or only borrows it. */
SPMV__SHARED double spmv__pass_seconds(const spmv_tuning *t, spmv_type type, double nnz)
{
    return nnz * spmv__share_of_f64(type) * spmv__known(t->prepare.slot[SPMV_CSR][SPMV_WAY_PLAIN], spmv__prepare_unknown.nonzero);
}

/* Seconds that making a part with so many slots takes besides. A way that was not measured counts as the plain one, and a format as the
 * mean of those that were. */
SPMV__SHARED double spmv__fill_seconds(const spmv_tuning *t, spmv_type type, const spmv_spec *spec, double slots)
{
    const spmv_tune_prepare *p = &t->prepare;
    const double *own = p->slot[spec->format], pass = p->slot[SPMV_CSR][SPMV_WAY_PLAIN];
    double begin = 0, slot = 0;
    int f, n = 0;
    slots *= spmv__share_of_f64(type);
    if (own[SPMV_WAY_PLAIN] > 0) {
        begin = p->begin[spec->format];
        slot = spmv__known(own[spmv__way_of(spec)], own[SPMV_WAY_PLAIN]);
        n = 1;
    }
    for (f = 0; f < SPMV_FORMAT_COUNT && !(own[SPMV_WAY_PLAIN] > 0); f++) {
        if (!(p->slot[f][SPMV_WAY_PLAIN] > 0)) continue;
        begin += p->begin[f];
        slot += p->slot[f][SPMV_WAY_PLAIN];
        n++;
    }
    if (!n) return spmv__prepare_unknown.begin + slots * spmv__prepare_unknown.fill[spmv_format_class_of(spec->format)];
    return begin / n + slots * spmv__longer(slot / n - pass, 0);
}

/* Seconds that each further part adds to preparing a matrix, and those of dividing it for an estimate. */
SPMV__SHARED double spmv__part_seconds(const spmv_tuning *t, double nnz)
{
    return nnz * spmv__known(t->prepare.part, spmv__prepare_unknown.part);
}

SPMV__SHARED double spmv__divide_seconds(const spmv_tuning *t, double nnz)
{
    return nnz * spmv__known(t->prepare.divide, spmv__prepare_unknown.divide);
}

/* Seconds of analysing a matrix in buffers of the device, whose pointers and columns take so many bytes. */
SPMV__SHARED double spmv__look_seconds(const spmv_tuning *t, double bytes)
{
    if (!(t->prepare.look_byte > 0)) return spmv__prepare_unknown.look + bytes * spmv__prepare_unknown.look_byte;
    return t->prepare.look + bytes * t->prepare.look_byte;
}

/* Seconds of building the kernels of a plan; on the host there are none. */
SPMV__SHARED double spmv__build_seconds(const spmv_tuning *t)
{
    return t->device_class == SPMV_DEVICE_CLASS_HOST ? 0 : spmv__known(t->prepare.build, spmv__prepare_unknown.build);
}

/* ---- the cost of a part --------------------------------------------------------------------------------------------- */

/* Seconds of a product if the matrix were of that kind; 0: nothing is known. What the table lacks was never near the best while tuning, so
 * a candidate without a row counts as a little worse than its layout with other knobs, else than the best of its format, else as clearly
 * worse than the best of its class. One block size says nothing about another, so that block formats have no substitute but those of
 * spmv__lend_blocks. */
static double spmv__kind_seconds(const spmv__estimator *e, const spmv__candidate *k, int kind, double rows, double per_row, double slots)
{
    spmv_format_class category = spmv_format_class_of(k->layout->format);
    /* dense is measured on full matrices only; for what x costs elsewhere, the flat formats stand in */
    int format = (int)k->layout->format, group = SPMV_FORMAT_COUNT + (int)(category == SPMV_CLASS_DENSE ? SPMV_CLASS_FLAT : category);
    spmv__tune_place p;
    spmv_spec plain;
    if (k->kind[kind]) {
        p = spmv__tune_at(e->t, e->rates, k->layout, rows, per_row);
        return k->times[kind] * 2e-9 * slots / spmv__tune_read(&p, k->kind[kind]->curve);
    }
    if (category == SPMV_CLASS_BLOCK) return 0;
    plain = *k->layout; /* rows of other layouts do not show what narrow columns gain */
    plain.key[SPMV_KEY_IDX] = 0;
    p = spmv__tune_at(e->t, e->rates, &plain, rows, per_row);
    if (e->any[format][kind]) return SPMV__LENT * 2e-9 * slots / spmv__tune_read(&p, spmv__group_best(e, format, kind));
    if (e->any[group][kind]) return SPMV__LENT_BY_CLASS * 2e-9 * slots / spmv__tune_read(&p, spmv__group_best(e, group, kind));
    return 0;
}

/* The number of a knob such as "L=" in the text of a variant; 0 if it is not there. */
static double spmv__knob_in(const char *variant, const char *name)
{
    const char *at = strstr(variant, name);
    int64_t v;
    if (!at || (at > variant && at[-1] != ',')) return 0;
    return spmv__whole(at + strlen(name), &v) ? (double)v : 0;
}

/* The lanes that share a row, block row, strip or run on a GPU: as its knobs say, else by default. */
static double spmv__lanes(const spmv__estimator *e, const spmv__candidate *k, const spmv__load *l)
{
    const spmv_spec *spec = k->layout;
    double lanes = spmv__knob_in(k->variant, "L="), group = spmv__knob_in(k->variant, "WG="), rows = l->rows > 1 ? l->rows : 1, mean;
    uint64_t block = spmv__is_block(spec->format) ? (uint64_t)(spmv__block_height(spec) * spmv__block_width(spec)) : 1;
    if (lanes >= 1) return lanes;
    if (spmv__longest_run(spec) > 0) return group >= 1 ? group : SPMV__RUN_GROUP;
    if (spmv__is_block(spec->format)) rows /= (double)spmv__block_height(spec);
    else if (spec->format == SPMV_CMRS) rows /= (double)spmv__height(spec);
    if (rows < 1) rows = 1;
    mean = l->slots / rows;
    if (spec->format == SPMV_BDIA && l->bands > 1) mean /= l->bands; /* lanes share each band of a row */
    return (double)spmv__lanes_by_default(spmv__trait[spec->format]->lanes, (uint64_t)rows, (uint64_t)mean, block, e->t->units,
                                          group >= 1 ? (uint64_t)group : (uint64_t)SPMV__UNIT_GROUP);
}

/* Seconds that the longest row alone takes, or on a GPU the longest run of csr, without what was fitted; 0 if the row is divided among
 * groups in another way. On a GPU its lanes go through it step by step, each waiting for memory, and nothing is known unless the table has
 * the time of a step. On a CPU one core does all of it, at its share of the speed of all; seconds is the estimate for all rows. */
static double spmv__chain_seconds(const spmv__estimator *e, const spmv__candidate *k, const spmv__load *l, double seconds)
{
    const spmv_tuning *t = e->t;
    const double most = spmv__longest_run(k->layout), piece = (double)k->layout->key[SPMV_KEY_RUN];
    const double longest = most > 0 && l->longest > most ? piece : l->longest; /* longer rows are cut into pieces */
    const int even = spmv__spec_even(k->layout);
    double steps;
    if (t->device_class != SPMV_DEVICE_CLASS_GPU)
        return !even && t->units > 0 && l->slots > 0 ? l->longest * seconds / l->slots * (double)t->units : 0;
    if (!(t->step > 0) || (even && !(most > 0))) return 0;
    steps = spmv__spec_steps(k->layout, longest, (int)spmv_value_size(e->how->type)) / spmv__lanes(e, k, l);
    return t->launch + steps * (steps < (double)t->short_steps ? t->step : t->long_step);
}

/* Bytes that one scattered read of x moves: a sector of a GPU's cache, a line of a processor's. */
enum { SPMV__SECTOR = 32, SPMV__LINE = 64 };

/* The slots that a product reads, where one of whose column alone is read counts as the share of its bytes that the column takes. */
static double spmv__busy_slots(const spmv__estimator *e, const spmv_spec *layout, const spmv__load *l)
{
    double index = spmv__spec_index_bytes(layout);
    return l->slots - l->skipped * (1 - index / (index + (double)spmv_value_size(e->how->type)));
}

/* How scattered the reads of x are, as the feature gather: it is found in short windows, where lines that are new to the window count as
 * missed, so that e->strays says better what is read again where it is known. Blocks read x less often. */
static double spmv__gather_of(const spmv__estimator *e, const spmv_spec *layout, const spmv__load *l)
{
    return e->reuse.lines > 0 && !spmv__is_block(layout->format) && e->strays < l->gather ? e->strays : l->gather;
}

/* The scattered reads of x: one for each nonzero that is not near the one before, or for each block. */
static double spmv__scattered_reads(const spmv__estimator *e, const spmv_spec *layout, const spmv__load *l)
{
    double reads = spmv__is_block(layout->format) ? (l->slots - l->skipped) / (double)spmv__block_height(layout) : l->nnz;
    return spmv__gather_of(e, layout, l) * reads;
}

/* The reads of x that the cache does not serve. */
static double spmv__far_reads(const spmv__estimator *e, const spmv__load *l) { return l->gather > 0 ? e->misses * l->nnz : 0; }

/* How many times as long products take that are bound by scattered reads of x if their lanes go through rows: fewer reads are under way at
 * once than where nonzeros are shared out. On an H200, csr:run took 1.05 to 1.08 times as long as tcsr and sell up to 1.09, on seven random
 * matrices. */
#define SPMV__BY_ROWS 1.05

/* The bytes of a part, of which so many slots count, of its elements of y and of those of x that it reads. */
static double spmv__slots_bytes(const spmv__estimator *e, const spmv__candidate *k, const spmv__load *l, double slots)
{
    double cols = (double)e->a->cols, x = (cols < l->nnz ? cols : l->nnz) * (double)spmv_vector_size(e->how->type);
    return spmv__layout_bytes(e->how->type, k->layout, slots, l->rows) + l->extra + x;
}

/* Those that a product reads. */
static double spmv__part_bytes(const spmv__estimator *e, const spmv__candidate *k, const spmv__load *l)
{
    return spmv__slots_bytes(e, k, l, spmv__busy_slots(e, k->layout, l));
}

/* Seconds that the bytes of a part, of its elements of y and of those of x take at the highest speed that the table shows. Where they do
 * not fit into the cache, the matrix streams through it and leaves half of it to x; what of x is not there is read again for each scattered
 * access. Where the table says what such a read costs, and x is as long as in the largest matrices of its rates or longer, the reads that
 * the cache serves add to the time of all other bytes: on an H200, random matrices with an x of 8 to 134 MB took as long as a sector for
 * each read from the cache and all other bytes from memory together, within a tenth. */
static double spmv__memory_seconds(const spmv__estimator *e, const spmv__candidate *k, const spmv__load *l)
{
    const spmv_tuning *t = e->t;
    double width = (double)spmv_vector_size(e->how->type), cols = (double)e->a->cols, bytes = spmv__part_bytes(e, k, l);
    double beyond = 0;
    double line = t->device_class == SPMV_DEVICE_CLASS_GPU ? SPMV__SECTOR : SPMV__LINE, scattered = spmv__scattered_reads(e, k->layout, l);
    if (t->miss > 0 && cols >= (double)t->rows_at[t->rows - 1]) {
        double times = spmv__trait[k->layout->format]->even == SPMV__EVEN ? 1 : SPMV__BY_ROWS;
        return times * (spmv__peak_seconds(t, bytes) + scattered * line / (t->peak[0] * 1e9) + spmv__far_reads(e, l) * t->miss);
    }
    if (!spmv__is_near(t, bytes) && cols * width > 0) beyond = 1 - e->cache * 1048576 / (2 * cols * width);
    if (beyond > 0) bytes += beyond * scattered * line;
    return spmv__peak_seconds(t, bytes);
}

/* Seconds that the rates do not contain, because a part needs more of the cache than the bytes that are read, or because the device has a
 * smaller cache or slower memory than that of the table: padding that is skipped lies between what is read, and the nonzeros of other parts
 * pass through the cache as well. On an H100, whose cache has 50 MiB, sbell of protein_1IGT_anm in f64, which takes 54.8 MB with its
 * padding, took 18.3 us, as if all were read from memory, and bcsr, without padding, 9.4 (bench/results/nvidia-h100-plans.txt). On CPUs,
 * whose caches are of several levels, only a lesser device counts. */
static double spmv__beyond_seconds(const spmv__estimator *e, const spmv__candidate *k, const spmv__load *l)
{
    const double others = spmv__longer((double)e->a->nnz - l->nnz, 0) * ((double)spmv_value_size(e->how->type) + sizeof(uint32_t));
    const double bytes = spmv__part_bytes(e, k, l), all = spmv__slots_bytes(e, k, l, l->slots) + others;
    const int lesser = e->cache < e->t->cache || e->read < e->t->read;
    if ((e->t->device_class != SPMV_DEVICE_CLASS_GPU && !lesser) || !(e->read > 0)) return 0;
    return spmv__longer(spmv__read_seconds(e->t, e->cache, e->read, all, bytes) -
                        spmv__read_seconds(e->t, e->t->cache, e->t->read, bytes, bytes), 0);
}

/* How much there is of each kind of work; chain: the seconds of the longest row by the rates. */
static void spmv__works(const spmv__estimator *e, const spmv__candidate *k, const spmv__load *l, double chain, double work[SPMV_WORK_COUNT])
{
    work[SPMV_WORK_LAUNCH] = e->t->launch;
    work[SPMV_WORK_BYTES] = spmv__peak_seconds(e->t, spmv__part_bytes(e, k, l));
    work[SPMV_WORK_READS] = spmv__scattered_reads(e, k->layout, l);
    work[SPMV_WORK_SLOTS] = l->slots;
    work[SPMV_WORK_ROWS] = l->rows;
    work[SPMV_WORK_UNEVEN] = l->uneven * l->nnz;
    work[SPMV_WORK_CHAIN] = chain;
}

/* The term of the work of a product in a format; rates: its seconds by the rates. */
SPMV__SHARED double spmv__work_term(const spmv_tuning *t, spmv_format f, const double work[SPMV_WORK_COUNT], double rates)
{
    double sum = 0;
    int i;
    for (i = 0; i < SPMV_WORK_COUNT; i++) sum += t->work[f][i] * work[i];
    return sum > 0 ? spmv__log2(sum / rates) : 0;
}

/* By what the product differs from those that the rates were measured with; out has its seconds by them and its work. Where a term is
 * beyond those of all samples that were fitted, it counts as the last of them: what happens further on is not known. */
static void spmv__terms(const spmv__estimator *e, const spmv__candidate *k, const spmv__load *l, spmv_estimate *out)
{
    double read = l->slots - l->skipped, *term = out->term;
    int i;
    term[SPMV_TERM_ALL] = term[SPMV_TERM_CHAIN] = 1;
    term[SPMV_TERM_SPREAD] = spmv__log2(1 + l->spread);
    term[SPMV_TERM_FILL] = l->nnz > 0 && read > l->nnz ? spmv__log2(read / l->nnz) : 0;
    term[SPMV_TERM_PADS] = read > 0 && l->skipped > 0 ? spmv__log2(l->slots / read) : 0;
    term[SPMV_TERM_MODEL] = spmv__log2((e->t->launch + out->memory) / out->rates);
    term[SPMV_TERM_WORK] = spmv__work_term(e->t, k->layout->format, out->work, out->rates);
    term[SPMV_TERM_GATHER] = l->gather;
    term[SPMV_TERM_BANDS] = l->bands > 1 ? spmv__log2(l->bands) : 0;
    for (i = 0; i < SPMV_TERM_COUNT && e->t->high[SPMV_TERM_ALL] > 0; i++) {
        if (term[i] > e->t->high[i]) term[i] = e->t->high[i];
        if (term[i] < e->t->low[i]) term[i] = e->t->low[i];
    }
}

/* The factor by which a product takes longer than the rates say; 1 if nothing was fitted. */
static double spmv__fitted(const spmv__candidate *k, const double term[SPMV_TERM_COUNT])
{
    double sum = 0;
    int i;
    for (i = 0; i < SPMV_TERM_COUNT && k->fit; i++)
        if (i != SPMV_TERM_CHAIN) sum += k->fit->factor[i] * term[i];
    return spmv__exp2(sum);
}

/* The same for the time of the longest row. */
static double spmv__fitted_chain(const spmv__candidate *k) { return k->fit ? spmv__exp2(k->fit->factor[SPMV_TERM_CHAIN]) : 1; }

/* Seconds that reads of x take longer because the cache does not hold them, beyond what the rates of scattered matrices contain, whose x is
 * no longer than the most rows of the table. */
static double spmv__far_seconds(const spmv__estimator *e, const spmv__load *l)
{
    const spmv_tuning *t = e->t;
    double most = (double)t->rows_at[t->rows - 1], cols = (double)e->a->cols, x = cols < most ? cols : most, known;
    if (!(e->misses > 0)) return 0;
    known = l->gather * (1 - t->held * 1048576 / (x * (double)spmv_vector_size(e->how->type)));
    return spmv__longer(spmv__far_reads(e, l) - spmv__longer(known, 0) * l->nnz, 0) * t->miss;
}

/* How many seconds longer than evenly an uneven matrix of the rates takes because of its longest row alone: plain and uneven are the times
 * of the two. It is all of them if that row is estimated to take longer than the even matrix: what the others cost does not show then. To
 * count only what the row is estimated to take, which is often too little, is worse: on an H100, products of csr that take up to 3 us
 * (bench/results/nvidia-h100-plans.txt of 2026-11-27, 02:51) are then predicted to take 1.2 times as long as they do, and else 1.1 times.
 * The longest row of another matrix is estimated for itself, so that these seconds do not count there. 0: nothing is known of the row, or
 * it takes less than the even matrix. */
static double spmv__uneven_chain(const spmv__estimator *e, const spmv__candidate *k, const spmv__load *l, double plain, double uneven)
{
    const double rows = l->rows > 0 ? l->rows : 1, longest = (double)SPMV__UNEVEN_MOST * l->slots / rows;
    spmv__load measured = *l;
    double chain;
    if (e->t->device_class != SPMV_DEVICE_CLASS_GPU) return 0;
    measured.longest = longest < rows ? longest : rows;
    chain = spmv__chain_seconds(e, k, &measured, uneven);
    return chain > plain ? uneven - plain : 0;
}

/* Predicted seconds of a product: those for a banded matrix of this size, and more as far as x is scattered and rows are uneven, both by
 * what the table has for such matrices. What x costs depends on its length, so the number of columns takes the place of the rows there.
 * Negative: nothing is known. */
static double spmv__table_seconds(const spmv__estimator *e, const spmv__candidate *k, const spmv__load *l)
{
    const double deviation = 4; /* of row lengths over their mean, in the uneven matrices that are measured (tools/tune/workload.c) */
    double rows = l->rows > 0 ? l->rows : 1, slots = spmv__busy_slots(e, k->layout, l), per_row = slots / rows, cols = (double)e->a->cols;
    double plain = spmv__kind_seconds(e, k, SPMV_TUNE_BANDED, rows, per_row, slots), base = plain, other;
    double gather = spmv__gather_of(e, k->layout, l);
    other = gather > 0 ? spmv__kind_seconds(e, k, SPMV_TUNE_SCATTERED, cols, per_row, l->nnz) : 0;
    if (plain <= 0) base = spmv__kind_seconds(e, k, SPMV_TUNE_SCATTERED, rows, per_row, slots);
    else if (other > 0) {
        double more = other - spmv__kind_seconds(e, k, SPMV_TUNE_BANDED, cols, per_row, l->nnz);
        if (more > 0) base += more * gather;
    }
    if (base > 0) base += spmv__far_seconds(e, l);
    other = l->uneven > 0 ? spmv__kind_seconds(e, k, SPMV_TUNE_UNEVEN, rows, per_row, slots) : 0;
    if (plain > 0 && other > plain) other -= spmv__uneven_chain(e, k, l, plain, other);
    if (base <= 0) base = other;
    else if (plain > 0 && other > plain) base *= 1 + (other / plain - 1) * (l->uneven < deviation ? l->uneven / deviation : 1);
    return base > 0 ? base : -1;
}

/* The estimate of a product: what the rates say, times what was fitted to other matrices, but never less than the bytes or the longest row
 * alone take. Fills in the times of out. 0: nothing is known. */
static double spmv__cost_terms(const spmv__estimator *e, const spmv__candidate *k, const spmv__load *l, spmv_estimate *out)
{
    double table = spmv__table_seconds(e, k, l), chain;
    memset(out, 0, sizeof *out);
    if (table <= 0) return 0;
    out->rates = table;
    out->error = k->fit ? k->fit->error : 0;
    out->memory = spmv__memory_seconds(e, k, l);
    chain = spmv__chain_seconds(e, k, l, table);
    spmv__works(e, k, l, chain, out->work);
    spmv__terms(e, k, l, out);
    table *= spmv__fitted(k, out->term);
    out->chain = chain * (e->t->device_class == SPMV_DEVICE_CLASS_GPU ? spmv__fitted_chain(k) : table / out->rates);
    out->beyond = spmv__beyond_seconds(e, k, l);
    out->seconds = e->scale * (spmv__longer(table, spmv__longer(out->memory, out->chain)) + out->beyond);
    out->memory += out->beyond;
    return out->seconds;
}

/* The same without the terms. */
static double spmv__cost(const spmv__estimator *e, const spmv__candidate *k, const spmv__load *l)
{
    spmv_estimate terms;
    return spmv__cost_terms(e, k, l, &terms);
}

/* May a part with so many slots be stored, as far as the size of its values shows? */
static int spmv__fits(const spmv__estimator *e, double slots) { return slots * (double)spmv_value_size(e->how->type) <= e->limit; }

/* Estimates a part of that layout for all of the view. 0: it makes no sense there, is too large, or *s is a failure. */
SPMV__SHARED int spmv__load_of(const spmv__estimator *e, const spmv_spec *spec, const spmv__look *l, const spmv_features *f,
                               spmv__load *out, spmv_status *s)
{
    *s = spmv__spec_estimate(spec, l, f, out);
    if (*s == SPMV_ERR_UNSUPPORTED) {
        *s = SPMV_OK;
        return 0;
    }
    return !*s && spmv__fits(e, out->slots);
}

/* ---- the estimate of any plan --------------------------------------------------------------------------------------- */

/* The layouts are the same as far as rates go: what a part takes does not matter. */
static int spmv__same_layout(const spmv_spec *a, const spmv_spec *b)
{
    return a->format == b->format && spmv__height(a) == spmv__height(b) && a->key[SPMV_KEY_B] == b->key[SPMV_KEY_B] &&
           a->key[SPMV_KEY_RUN] == b->key[SPMV_KEY_RUN] && a->key[SPMV_KEY_IDX] == b->key[SPMV_KEY_IDX] &&
           a->key[SPMV_KEY_TILE] == b->key[SPMV_KEY_TILE];
}

/* The fastest candidate with the same layout as a part of a plan, and its seconds; NULL: there is none. With a variant, candidates with
 * these knobs come before all others. */
static const spmv__candidate *spmv__candidate_for(const spmv__estimator *e, const spmv_spec *spec, const char *variant,
                                                  const spmv__load *load, double *seconds)
{
    const spmv__candidate *best = NULL;
    size_t i;
    int named = 0;
    *seconds = 0;
    for (i = 0; i < e->cands; i++) {
        const spmv__candidate *k = &e->cand[i];
        int same = variant && *variant && !strcmp(k->variant, variant);
        double t;
        if (!spmv__same_layout(k->layout, spec) || same < named) continue;
        t = spmv__cost(e, k, load);
        if (t <= 0 || (best && same == named && t >= *seconds)) continue;
        best = k;
        named = same;
        *seconds = t;
    }
    return best;
}

/* Of the counted slots of a block format those that a product reads: bell stores a multiple of 32 block rows. */
static double spmv__read_slots(const spmv_spec *spec, double slots, double rows)
{
    double block_rows = (double)spmv__ceil_div((uint64_t)rows, (uint64_t)spmv__block_height(spec));
    if (spmv__trait[spec->format]->pads != SPMV__PADS_ALL || rows <= 0) return slots;
    return slots * block_rows / (double)spmv__round_up((uint64_t)block_rows, 32);
}

/* Estimates one part that takes all of the view that l looks at. Its slots and bytes are counted. A part that would be refused gets no
 * seconds. f: the features that its format needs. */
static spmv_status spmv__part_counted(const spmv__estimator *e, const spmv_spec *spec, const char *variant, const spmv__look *l,
                                      const spmv_features *f, spmv_estimate *out)
{
    const spmv__candidate *k;
    spmv__load load;
    spmv_hooks quiet = { NULL, NULL, NULL, NULL, 0 };
    spmv_estimate counted;
    double seconds, held;
    spmv_status s = spmv__spec_estimate(spec, l, f, &load);
    memset(out, 0, sizeof *out);
    if (!s) {
        if (e->h) quiet = *e->h;
        quiet.log = spmv__hush;
        s = spmv__part_weigh(spec, l->v, e->how, &quiet, &out->slots, &out->bytes);
    }
    if (s == SPMV_ERR_UNSUPPORTED || s == SPMV_ERR_TOO_LARGE || s == SPMV_ERR_OVERFLOW || s == SPMV_ERR_STRICT) return SPMV_OK;
    if (s) return s;
    counted = *out;
    if (spmv__is_block(spec->format)) {
        held = load.slots - load.skipped;
        load.slots = spmv__read_slots(spec, (double)out->slots, (double)l->v->a->rows);
        load.skipped = load.skipped > 0 && load.slots > held ? load.slots - held : 0;
    }
    k = spmv__candidate_for(e, spec, variant, &load, &seconds);
    if (!k) return SPMV_OK;
    spmv__cost_terms(e, k, &load, out);
    out->slots = counted.slots;
    out->bytes = counted.bytes;
    out->skipped = load.skipped;
    return SPMV_OK;
}

/* Looks at a view and estimates one part that takes all of it. f: becomes what was seen. */
static spmv_status spmv__part_estimate(const spmv__estimator *e, const spmv_spec *spec, const char *variant, const spmv_view *v,
                                       spmv_features *f, spmv_estimate *out)
{
    spmv__look l;
    spmv_status s = spmv__look_make(&l, v, e->h);
    memset(out, 0, sizeof *out);
    if (s) return s;
    s = spmv__look_features(&l, f, 0, ~(1u << spec->format));
    if (!s) s = spmv__part_counted(e, spec, variant, &l, f, out);
    spmv__look_free(&l);
    return s;
}

/* The number of columns in which part i of a plan may take nonzeros: those that its key cols allows, without those in which parts before
 * it took everything. */
static uint64_t spmv__columns_left(const spmv_plan *plan, int i, uint64_t cols)
{
    uint64_t end = (uint64_t)plan->part[i].key[SPMV_KEY_COLS], begin = 0, taken;
    if (!end || end > cols) end = cols;
    while (i--) {
        taken = (uint64_t)plan->part[i].key[SPMV_KEY_COLS];
        if (spmv__takes_shown(&plan->part[i]) && taken > begin && taken < end) begin = taken;
    }
    return end - begin;
}

/* Copies the knobs of one part out of a variant, which are its text up to the next "+", and returns where those of the next part begin;
 * NULL at the end. Knobs that are too long for a table become "". */
static const char *spmv__part_variant(const char *variant, char out[SPMV_TUNE_VARIANT])
{
    size_t n = variant ? strcspn(variant, "+") : 0;
    const char *next = variant && variant[n] ? variant + n + 1 : NULL;
    if (n >= SPMV_TUNE_VARIANT) n = 0;
    if (n) memcpy(out, variant, n);
    out[n] = 0;
    return next;
}

SPMV_API spmv_status spmv_predict(spmv_estimate *out, const spmv_plan *plan, const char *variant, const spmv_csr *a, const spmv_build *how,
                                  const spmv_target *target, const spmv_tuning *tuning, const spmv_hooks *hooks)
{
    if (!out || !plan || !a || !how)
        return spmv__null(hooks, "spmv_predict", !out ? "out" : !plan ? "plan" : !a ? "a" : "how", NULL, 0);
    char knobs[SPMV_TUNE_VARIANT];
    spmv__estimator e;
    spmv_split split;
    spmv_features f;
    spmv_csr seen = *a; /* with only the columns of x that a part may read */
    int i;
    spmv_status s = spmv_plan_check(plan, how->strict, hooks);
    if (s) return s;
    memset(out, 0, (size_t)plan->count * sizeof *out);
    s = spmv__estimator_make(&e, a, how, target, tuning, 0, hooks);
    e.a = &seen;
    if (!s) s = spmv__find_candidates(&e);
    if (!s) s = spmv_split_make(&split, plan, a, hooks);
    if (!s) {
        for (i = 0; i < split.count && !s; i++) {
            spmv_view v = spmv_split_view(&split, a, i);
            variant = spmv__part_variant(variant, knobs);
            seen.cols = spmv__columns_left(plan, i, a->cols);
            spmv__set_far(&e);
            s = spmv__part_estimate(&e, &plan->part[i], knobs, &v, &f, &out[i]);
        }
        spmv_split_free(&split);
    }
    spmv__estimator_free(&e);
    if (s) memset(out, 0, (size_t)plan->count * sizeof *out);
    return s;
}
#endif /* SPMV_IMPLEMENTATION */
