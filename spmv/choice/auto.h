/* SPDX-License-Identifier: MIT
 *
 * spmv/choice/auto.h - "auto": the options, their estimates, the cheapest of them, and why.
 */
#ifndef SPMV__CHOICE_AUTO_H
#define SPMV__CHOICE_AUTO_H

#include "../choice.h"
#include "cost.h"
#include "cocktail.h"

typedef struct spmv__chooser {
    spmv__estimator         e;
    const spmv_build_hints *hints;
    spmv_choice            *out;
    spmv_option             csr; /* csr without keys, also where it must not be used; count 0: the table does not know it */
} spmv__chooser;

/* ---- options -------------------------------------------------------------------------------------------------------- */

/* How many times as long a later part takes on a host for reading its row list, which no line of a table has. */
#define SPMV__ROW_LIST_TIMES 1.4

/* Appends a part with so many slots and rows, whose product was estimated. */
static void spmv__option_add(const spmv__chooser *c, spmv_option *o, const spmv_spec *spec, const spmv_candidate *k,
                             const spmv_estimate *by, double slots, double rows)
{
    const spmv_tuning *t = c->e.t;
    const int host = t->device_class == SPMV_DEVICE_CLASS_HOST;
    const double times = o->count && spec->key[SPMV_KEY_ROWS] && host ? SPMV__ROW_LIST_TIMES : 1;
    int i;
    o->part[o->count] = *spec;
    if (spmv__builder_from(spmv_format_name(spec->format)) != SPMV_BUILDER_COUNT) /* "cmrs" alone would name the builder */
        o->part[o->count].key[SPMV_KEY_H] = (int64_t)spmv__height(spec);
    spmv__add_variant(o->variant, sizeof o->variant, o->count++, k->variant);
    o->predicted += by->seconds * times;
    for (i = 0; i < SPMV_COST_COUNT; i++) o->share[i] += by->share[i] * times;
    o->convert += k->begin + k->slot * slots;
    if (o->count < 2) return;
    o->convert += t->part * (double)c->e.a->nnz;
    o->predicted += spmv__read_seconds(&c->e, (double)spmv__csr_bytes(c->e.a), rows * (double)spmv_vector_size(c->e.how->type)); /* y */
}

/* Has a part any keys? */
static int spmv__has_keys(const spmv_spec *s)
{
    int k;
    for (k = 0; k < SPMV_KEY_COUNT; k++)
        if (s->key[k]) return 1;
    return 0;
}

/* Products that are expected. */
static double spmv__calls(const spmv_build_hints *hints)
{
    return hints && hints->expected_calls ? (double)hints->expected_calls : (double)SPMV_EXPECTED_CALLS;
}

/* By how much more than its predicted time a plan costs, because an estimate may be too low: what it must seem faster by to be preferred to
 * one without that risk. A table of another device, as that of every host but one is, errs more in what it says of formats than of csr. */
static double spmv__risk(const spmv__chooser *c, int parts, int csr)
{
    const double error = c->e.t->error > 0 ? c->e.t->error : SPMV__ERROR_UNKNOWN;
    const int other = !c->e.exact || c->e.t->device_class == SPMV_DEVICE_CLASS_HOST;
    return (1 + (spmv__exp2(error) - 1) * (parts - 1)) * (other && !csr ? 1 + SPMV_RISK_DEVICE : 1);
}

/* Is an option csr without keys? */
static int spmv__is_csr(const spmv_choice *c, const spmv_option *o)
{
    const spmv_spec *part = o->count ? o->part : c->plan.part;
    return (o->count ? o->count : c->plan.count) == 1 && part->format == SPMV_CSR && !spmv__has_keys(part);
}

static double spmv__option_cost(const spmv__chooser *c, const spmv_option *o)
{
    return o->predicted * spmv__risk(c, o->count, spmv__is_csr(c->out, o)) + o->convert / spmv__calls(c->hints);
}

/* Adds a plan to the options, which stay sorted by cost. */
static void spmv__offer(spmv__chooser *c, spmv_option *o)
{
    spmv_choice *out = c->out;
    int at;
    if (!(o->predicted > 0)) return;
    o->cost = spmv__option_cost(c, o);
    if (out->count == SPMV_CHOICE_MAX && out->option[out->count - 1].cost <= o->cost) return;
    at = out->count < SPMV_CHOICE_MAX ? out->count++ : SPMV_CHOICE_MAX - 1;
    for (; at > 0 && out->option[at - 1].cost > o->cost; at--) out->option[at] = out->option[at - 1];
    out->option[at] = *o;
}

/* Makes csr the last option if it may be used and is none of them: it takes the least memory, so that it may fit where no other does. */
static void spmv__offer_csr(spmv__chooser *c)
{
    spmv_choice *out = c->out;
    spmv_option *o = &out->option[out->count < SPMV_CHOICE_MAX ? out->count : SPMV_CHOICE_MAX - 1];
    int i, there = !out->count || !spmv__usable(&c->e, SPMV_CSR);
    for (i = 0; i < out->count; i++) there |= spmv__is_csr(out, &out->option[i]);
    if (there) return;
    *o = c->csr;
    o->count = 1;
    o->part[0].format = SPMV_CSR;
    o->cost = spmv__option_cost(c, o);
    out->count = (int)(o - out->option) + 1;
}

/* ---- one part (clSpMV 3.3: every format competes for the whole matrix) ------------------------------------------------- */

/* Estimates a part for the whole matrix by a line of the table, as an option. Its predicted time stays 0 if it makes no sense there, or is
 * too large. */
static spmv_status spmv__option_of(const spmv__chooser *c, const spmv_candidate *k, const spmv_spec *spec, const spmv__look *l,
                                   const spmv_features *f, spmv_option *o)
{
    spmv__load load;
    spmv_estimate by;
    spmv_status s;
    memset(o, 0, sizeof *o);
    if (!spmv__load_of(&c->e, spec, l, f, &load, &s)) return s;
    spmv__cost_parts(&c->e, k, spec, &load, &by);
    spmv__option_add(c, o, spec, k, &by, load.slots, load.rows);
    return SPMV_OK;
}

/* Offers a candidate for the whole matrix. */
static spmv_status spmv__offer_whole(spmv__chooser *c, const spmv_candidate *k, const spmv__look *l, const spmv_features *f)
{
    const spmv_format_class category = spmv__format_class_of(k->layout.format);
    spmv_option o;
    spmv_status s = spmv__option_of(c, k, &k->layout, l, f, &o);
    if (s) return s;
    if (category == SPMV_CLASS_BLOCK) o.sampled = spmv__features_of_block(f, &k->layout)->sampled < 1;
    if (category == SPMV_CLASS_DIAGONAL) o.sampled = f->diagonals_sampled;
    spmv__offer(c, &o);
    return SPMV_OK;
}

/* May a line of the table be used, and is it worth an estimate on this matrix? */
static int spmv__is_candidate(const spmv__chooser *c, const spmv_candidate *k, const spmv_features *f)
{
    const spmv__traits *trait = spmv__trait[k->layout.format];
    return k->type == c->e.type && spmv__usable(&c->e, k->layout.format) && (!trait->suits || trait->suits(f));
}

/* Offers every candidate for the whole matrix. */
static spmv_status spmv__offer_all(spmv__chooser *c, const spmv__look *l, const spmv_features *f)
{
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; i < c->e.t->count && !s; i++)
        if (spmv__is_candidate(c, &c->e.t->line[i], f)) s = spmv__offer_whole(c, &c->e.t->line[i], l, f);
    return s;
}

/* Estimates csr, if it is part of the build. */
static void spmv__find_csr(spmv__chooser *c, const spmv__look *l, const spmv_features *f)
{
    const spmv_spec csr = spmv__plain(SPMV_CSR);
    const spmv_candidate *k = spmv__line_for(&c->e, &csr, NULL);
    spmv__load load;
    spmv_estimate by;
    if (!k || !spmv_format_built(SPMV_CSR) || spmv__spec_estimate(&csr, l, f, &load)) return;
    spmv__cost_parts(&c->e, k, &csr, &load, &by);
    spmv__option_add(c, &c->csr, &csr, k, &by, load.slots, load.rows);
    c->out->csr = c->csr.predicted;
    c->out->convert_csr = c->csr.convert;
}

/* ---- two parts ------------------------------------------------------------------------------------------------------- */

/* A plan of two parts must be predicted to save such a share of the time of the best option before it is looked at closely: less is far
 * within the error of estimates. */
#define SPMV__PARTS_GAIN 0.02

/* May a plan of two parts that is predicted to take so many seconds become the best option? */
static int spmv__parts_pay(const spmv__chooser *c, double seconds)
{
    const spmv_option *best = &c->out->option[0];
    return seconds > 0 && c->out->count && seconds * spmv__risk(c, 2, 0) < best->cost * (1 - SPMV__PARTS_GAIN);
}

/* Is it a flat format without fill, which can take whatever another part leaves? */
static int spmv__takes_rest(const spmv__chooser *c, const spmv_candidate *k)
{
    const spmv_format f = k->layout.format;
    return k->type == c->e.type && spmv__usable(&c->e, f) && spmv__format_class_of(f) == SPMV_CLASS_FLAT &&
           !(spmv_format_flags(f) & SPMV_HAS_FILL) && !spmv__is_padded(f) && !spmv__has_keys(&k->layout);
}

/* The candidate that is fastest for what another part leaves, and its estimate. NULL: there is none. */
static const spmv_candidate *spmv__best_rest(const spmv__chooser *c, const spmv__load *l, spmv_estimate *by)
{
    const spmv_candidate *best = NULL;
    spmv_estimate now;
    size_t i;
    by->seconds = 0;
    for (i = 0; i < c->e.t->count; i++) {
        const spmv_candidate *k = &c->e.t->line[i];
        if (!spmv__takes_rest(c, k)) continue;
        spmv__cost_parts(&c->e, k, &k->layout, l, &now);
        if (best && now.seconds >= by->seconds) continue;
        best = k;
        *by = now;
    }
    return best;
}

/* The layout of a last part: with a list of its rows, if it can have one. */
static spmv_spec spmv__rest_layout(const spmv_candidate *k)
{
    spmv_spec spec = k->layout;
    if (spmv__format_takes_key(spec.format, SPMV_KEY_ROWS)) spec.key[SPMV_KEY_ROWS] = SPMV_ROWS_NONEMPTY;
    return spec;
}

enum { SPMV__REACH_SAMPLE = 1 << 13 /* slices */ };

/* Counts, for every w, the slices (ell: one of all rows) whose longest row has w entries or more. Free *reach. Of many slices only some are
 * read, of which one stands for several: if a slice is w wide at most, as where these counts are used, their slots err by less than
 * w / (2 sqrt(SPMV__REACH_SAMPLE)) a slice, half a percent of w. */
static spmv_status spmv__slices_reaching(const spmv__look *l, uint64_t h, double **reach)
{
    const uint64_t rows = l->v->a->rows, slices = spmv__ceil_div(rows, h), step = slices / SPMV__REACH_SAMPLE + 1;
    const double times = (double)slices / (double)spmv__ceil_div(slices, step);
    uint64_t i, t, k;
    void *block;
    spmv_status s = spmv__new(l->h, &block, l->longest + 2, sizeof **reach, 0);
    if (s) return s;
    *reach = (double *)block;
    for (i = 0; i < slices; i += step) {
        t = i + (uint64_t)(spmv__spread(i / step) * (double)spmv__smaller(step, slices - i));
        (*reach)[slices > 1 ? spmv__look_tallest(l, t * h, spmv__smaller((t + 1) * h, rows)) : l->longest] += times;
    }
    for (k = l->longest; k-- > 0;) (*reach)[k] += (*reach)[k + 1];
    return SPMV_OK;
}

/* The next width to be tried. The paper tries every one ("brute force"); here steps grow with the width. */
static uint64_t spmv__next_width(uint64_t w) { return w < 16 ? w + 1 : w + w / 8; }

/* Both parts of a plan: the loads, and the candidates with their estimates. */
typedef struct spmv__two {
    spmv_spec             spec; /* of the first */
    const spmv_candidate *first, *rest;
    spmv__load            first_load, rest_load;
    spmv_estimate         first_by, rest_by;
} spmv__two;

/* Estimates both parts, and keeps them in best if that takes less time. */
static void spmv__try_two(const spmv__chooser *c, spmv__two *now, spmv__two *best)
{
    const double before = best->first ? best->first_by.seconds + best->rest_by.seconds : 0;
    now->rest = spmv__best_rest(c, &now->rest_load, &now->rest_by);
    if (!now->rest || !spmv__fits(&c->e, now->first_load.slots)) return;
    spmv__cost_parts(&c->e, now->first, &now->spec, &now->first_load, &now->first_by);
    if (!best->first || now->first_by.seconds + now->rest_by.seconds < before) *best = *now;
}

static void spmv__offer_two(spmv__chooser *c, const spmv__two *two)
{
    spmv_option o;
    spmv_spec last;
    if (!two->first || !spmv__parts_pay(c, two->first_by.seconds + two->rest_by.seconds)) return;
    last = spmv__rest_layout(two->rest);
    memset(&o, 0, sizeof o);
    spmv__option_add(c, &o, &two->spec, two->first, &two->first_by, two->first_load.slots, two->first_load.rows);
    spmv__option_add(c, &o, &last, two->rest, &two->rest_by, two->rest_load.slots, two->rest_load.rows);
    spmv__offer(c, &o);
}

/* The paper's policies "extract ELL" and "extract SELL": offers a padded candidate with the width with which both parts take the least
 * time, and CSR or another flat format for the rest. */
static spmv_status spmv__offer_width(spmv__chooser *c, const spmv_candidate *k, const spmv__look *l, const spmv_features *f)
{
    const uint64_t rows = l->v->a->rows, h = spmv__padded_rows(&k->layout, rows);
    const double few = 0.02; /* of the rows: a column that no more of them reach is padding for all others, so it never pays */
    double *reach = NULL;
    uint64_t w, at = 0;
    double weighted = l->weighted, mean; /* of what is left of the rows: the sum over k > w of k longer[k] */
    spmv__two now, best;
    spmv_status s;
    if (spmv__has_keys(&k->layout) && !(k->layout.format == SPMV_SELL && !k->layout.key[SPMV_KEY_ROWS] && !k->layout.key[SPMV_KEY_IDX]))
        return SPMV_OK;
    s = spmv__slices_reaching(l, h, &reach);
    if (s) return s;
    memset(&now, 0, sizeof now);
    memset(&best, 0, sizeof best);
    now.first = k;
    now.spec = k->layout;
    now.first_load.rows = (double)rows;
    now.first_load.gather = now.rest_load.gather = f->gather;
    for (w = 1; w < l->longest && (double)l->longer[w] >= few * (double)l->rows; w = spmv__next_width(w)) {
        for (; at < w; at++) {
            now.first_load.slots += reach[at + 1] * (double)h;
            now.first_load.nnz += (double)l->longer[at + 1];
            weighted -= (double)(at + 1) * (double)l->longer[at + 1];
        }
        now.spec.key[SPMV_KEY_W] = (int64_t)w;
        now.first_load.longest = (double)w;
        now.rest_load.rows = (double)l->longer[w + 1];
        now.rest_load.nnz = now.rest_load.slots = (double)l->nnz - now.first_load.nnz;
        now.rest_load.longest = (double)(l->longest - w);
        mean = now.rest_load.nnz / now.rest_load.rows;
        now.rest_load.uneven = /* the sum of the squares of k - w is that of (2 (k - w) - 1) longer[k] */
            spmv__square_root((2 * weighted - (2 * (double)w + 1) * now.rest_load.nnz) / now.rest_load.rows - mean * mean) / mean;
        spmv__try_two(c, &now, &best);
    }
    spmv_free(l->h, reach);
    spmv__offer_two(c, &best);
    return SPMV_OK;
}

/* Shares of the nonzeros between which a first part makes sense: fewer save less than a part more costs, and with more nothing is left for
 * a second part. */
#define SPMV__PREFIX_LEAST 0.02
#define SPMV__PREFIX_MOST  0.999

/* The load of a first part of the dense blocks of a layout. */
static void spmv__prefix_blocks(const spmv_features *f, const spmv_spec *spec, spmv__load *l)
{
    const spmv_block_features *b = spmv__features_of_block(f, spec);
    double slots;
    if (!b || !(b->blocks > 0) || spmv__trait[spec->format]->pads == SPMV__PADS_ALL) return; /* how wide the widest would be is not known */
    slots = b->dense * (double)(b->bh * b->bw);
    l->nnz = b->dense_nnz;
    l->slots = spmv__trait[spec->format]->pads == SPMV__PADS_SLICES ? b->dense_slots : slots;
    l->skipped = l->slots - slots;
    l->gather = f->gather / (double)b->bw;
    l->longest = b->dense_widest * (double)b->bw;
    l->uneven = f->uneven;
}

/* Finds the fastest plan of a first part of dense diagonals or blocks and a flat part for the rest, whose nonzeros are taken to lie
 * anywhere in the rows. */
static void spmv__find_prefix(const spmv__chooser *c, const spmv_features *f, spmv_format_class category, spmv__two *best)
{
    const double nats = 1.4426950408889634; /* log2 of e */
    size_t i;
    memset(best, 0, sizeof *best);
    for (i = 0; i < c->e.t->count; i++) {
        const spmv_candidate *k = &c->e.t->line[i];
        spmv__two now;
        if (!spmv__is_candidate(c, k, f) || spmv__format_class_of(k->layout.format) != category) continue;
        memset(&now, 0, sizeof now);
        now.first = k;
        now.spec = k->layout;
        now.spec.key[SPMV_KEY_D] = (int64_t)(SPMV_FILL_DENSE * 1e6 + 0.5);
        now.first_load.rows = (double)f->rows;
        if (category == SPMV_CLASS_BLOCK) spmv__prefix_blocks(f, &k->layout, &now.first_load);
        else {
            now.first_load.nnz = (double)f->dense_diagonals_nnz;
            now.first_load.slots = now.first_load.rows * (double)f->dense_diagonals;
        }
        if (now.first_load.nnz < SPMV__PREFIX_LEAST * (double)f->nnz || now.first_load.nnz > SPMV__PREFIX_MOST * (double)f->nnz) continue;
        now.rest_load.nnz = now.rest_load.slots = (double)f->nnz - now.first_load.nnz;
        now.rest_load.rows = (double)f->rows * (1 - spmv__exp2(-now.rest_load.nnz / (double)f->rows * nats)); /* Poisson's distribution */
        now.rest_load.gather = f->gather;
        now.rest_load.uneven = f->uneven;
        now.rest_load.longest = (double)f->longest;
        spmv__try_two(c, &now, best);
    }
}

/* Divides the matrix as such a plan does, so that both parts are counted. *there: 0 if one of them has no nonzeros or would be refused. */
static spmv_status spmv__count_two(spmv__chooser *c, spmv__two *two, int *there)
{
    spmv_spec part[2];
    spmv_split split;
    spmv_features f;
    int i;
    spmv_status s;
    part[0] = two->spec;
    part[1] = spmv__rest_layout(two->rest);
    s = spmv__split_there(&split, part, 2, c->e.a, NULL, c->e.h); /* on failure zeroed */
    *there = !s;
    for (i = 0; i < 2 && !s && *there; i++) {
        spmv_view own = spmv_split_view(&split, c->e.a, i);
        spmv_estimate *by = i ? &two->rest_by : &two->first_by;
        spmv__load *l = i ? &two->rest_load : &two->first_load;
        s = spmv__part_estimate(&c->e, &part[i], i ? two->rest->variant : two->first->variant, &own, &f, by);
        *there = split.nnz[i] && by->seconds > 0;
        l->slots = (double)by->slots;
        l->rows = (double)split.rows[i];
    }
    spmv_split_destroy(&split);
    return s;
}

/* Offers dense diagonals, or dense blocks, with a flat part for the rest (clSpMV 3.3), if that is predicted to pay. */
static spmv_status spmv__offer_prefix(spmv__chooser *c, const spmv__look *l, spmv_features *f, spmv_format_class category)
{
    spmv__two two;
    int there = 0;
    spmv_status s = SPMV_OK;
    spmv__find_prefix(c, f, category, &two);
    if (!two.first || !spmv__parts_pay(c, two.first_by.seconds + two.rest_by.seconds)) return s;
    if (category == SPMV_CLASS_DIAGONAL && f->diagonals_sampled) {
        s = spmv__look_more_diagonals(l, f);
        spmv__find_prefix(c, f, category, &two);
        if (s || !two.first) return s;
    }
    s = spmv__count_two(c, &two, &there);
    if (!s && there) spmv__offer_two(c, &two);
    return s;
}

/* ---- counted instead of sampled --------------------------------------------------------------------------------------- */

/* Estimates an option of one part anew, whose blocks or diagonals are counted. Its predicted time is 0 if it would be refused. */
static spmv_status spmv__count_option(spmv__chooser *c, const spmv__look *l, const spmv_option *o, spmv_option *counted)
{
    spmv_features *f = &c->out->features;
    const spmv_spec *spec = &o->part[0];
    const spmv_candidate *k = spmv__line_for(&c->e, spec, o->variant);
    spmv_estimate by;
    spmv_status s;
    memset(counted, 0, sizeof *counted);
    if (spmv__is_block(spec->format)) {
        s = spmv__part_counted(&c->e, spec, o->variant, l, f, &by);
        if (!s) spmv__option_add(c, counted, spec, k, &by, (double)by.slots, 0);
        return s;
    }
    s = spmv__look_more_diagonals(l, f);
    return s || f->diagonals_sampled ? s : spmv__option_of(c, k, spec, l, f, counted);
}

/* Rows so many times as long as the mean are too long for a sample of blocks to be trusted, as slices with one of them are rare and wide:
 * an assumption. */
#define SPMV__SAMPLE_LONGEST 8

/* How many standard errors a sample of blocks is taken to be wrong by at most: 95 of 100 normally distributed ones are not. */
#define SPMV__SAMPLE_ERRORS 2

/* Does the best option, a part of blocks, stay the best even if the sample that it was estimated from errs by as much as is likely? The
 * same format with blocks of the same size errs alike, so that it needs no margin. Where the widest block row pads all others, a sample,
 * which may lack it, says nothing. */
static int spmv__sample_decides(const spmv_choice *out, const spmv_spec *best)
{
    const spmv_features *f = &out->features;
    const spmv_block_features *b = spmv__features_of_block(f, best);
    double most;
    int i;
    if (!b || b->slots <= 0 || (double)f->longest > SPMV__SAMPLE_LONGEST * f->mean) return 0;
    if (spmv__trait[best->format]->pads == SPMV__PADS_ALL) return 0;
    most = out->option[0].cost * (1 + SPMV__SAMPLE_ERRORS * b->error);
    for (i = 1; i < out->count; i++) {
        const spmv_option *o = &out->option[i];
        if (o->cost >= most) return 1;
        if (o->count > 1 || o->part[0].format != best->format || spmv__features_of_block(f, &o->part[0]) != b) return 0;
    }
    return 1;
}

/* Counts the blocks or diagonals of the best option if they were estimated from a sample, and puts it in its place by the new estimate,
 * until the best is one whose size is certain, or as certain as the choice needs. An option that cannot be used after all is dropped. */
static spmv_status spmv__count_best(spmv__chooser *c, const spmv__look *l)
{
    spmv_choice *out = c->out;
    spmv_status s = SPMV_OK;
    while (!s && out->count && out->option[0].sampled) {
        const spmv_spec *spec = &out->option[0].part[0];
        spmv_option counted;
        if (spmv__is_block(spec->format) && spmv__sample_decides(out, spec)) return SPMV_OK;
        s = spmv__count_option(c, l, out->option, &counted);
        if (s) return s;
        memmove(out->option, out->option + 1, (size_t)--out->count * sizeof *out->option);
        spmv__offer(c, &counted);
    }
    return s;
}

/* ---- the whole choice ------------------------------------------------------------------------------------------------ */

/* Reads the matrix once and offers every kind of plan. */
static spmv_status spmv__choose_all(spmv__chooser *c)
{
    spmv_features *f = &c->out->features;
    spmv_view v;
    spmv__look l;
    size_t i;
    spmv_status s;
    memset(&v, 0, sizeof v);
    v.a = c->e.a;
    v.rows = c->e.a->rows;
    s = spmv__look_make(&l, &v, c->e.h);
    if (s) return s;
    s = spmv__look_sampled(&l, f, 0, c->e.without, NULL);
    if (!s) spmv__find_csr(c, &l, f);
    if (!s) s = spmv__offer_all(c, &l, f);
    for (i = 0; i < c->e.t->count && !s; i++) {
        const spmv_candidate *k = &c->e.t->line[i];
        if (spmv__is_candidate(c, k, f) && spmv__is_padded(k->layout.format) && spmv__format_class_of(k->layout.format) == SPMV_CLASS_FLAT)
            s = spmv__offer_width(c, k, &l, f);
    }
    if (!s) s = spmv__offer_prefix(c, &l, f, SPMV_CLASS_DIAGONAL);
    if (!s) s = spmv__offer_prefix(c, &l, f, SPMV_CLASS_BLOCK);
    if (!s) s = spmv__count_best(c, &l);
    spmv__look_free(&l);
    return s;
}

/* Takes the plan and the knobs of an option. */
static void spmv__take_option(spmv_choice *c, int i)
{
    const spmv_option *o = &c->option[i];
    int k;
    if (!o->count) return; /* it is by cocktail, and taken */
    c->plan.count = o->count;
    memcpy(c->plan.part, o->part, sizeof o->part);
    for (k = 0; k < o->count && c->floats; k++) c->plan.part[k].key[SPMV_KEY_VAL] = 32;
    memcpy(c->variant, o->variant, sizeof o->variant);
}

/* Can the values be stored as floats, and does that pay? In the cache it seldom does on processors, and new values may be no floats. A
 * sample is looked at before all of them. */
static int spmv__floats_pay(const spmv__estimator *e)
{
    enum { SAMPLE = 1000 };
    const double *val = (const double *)e->a->val;
    const uint64_t step = e->a->nnz / SAMPLE + 1;
    spmv__floats floats;
    uint64_t k;
    if (e->how->type != SPMV_F64 || e->how->updatable || !val || !spmv__type_built(SPMV_MIXED)) return 0;
    if (!(e->cache > 0) || (double)spmv__csr_bytes(e->a) < e->cache * 1048576) return 0;
    for (k = 0; k < e->a->nnz; k += step)
        if (!spmv__is_float(val[k])) return 0;
    floats.from = val;
    floats.map = NULL;
    floats.to = NULL;
    floats.count = e->a->nnz;
    return spmv__floats_make(&floats) == floats.count;
}

/* Takes the best option, or, if the table has nothing for any, one part in a format that may be used. */
static spmv_status spmv__take_best(spmv__chooser *c)
{
    spmv_choice *out = c->out;
    out->plan.count = 1;
    if (!out->count) return spmv__last_format(&out->plan.part[0].format, spmv__unusable(&c->e), c->e.h);
    out->floats = spmv__floats_pay(&c->e);
    spmv__take_option(out, 0);
    return SPMV_OK;
}

/* Is the matrix too small for "auto" to look at it (1), or too small for as few products as are expected (2)? Not on a GPU unless it is
 * empty, and not if the hints have a table to use, or exclude csr. */
static int spmv__is_tiny(const spmv_csr *a, spmv_device_class device_class, const spmv_build_hints *hints)
{
    const double bytes = (double)spmv__csr_bytes(a), most = (double)SPMV_TINY_BYTES, usual = (double)SPMV_EXPECTED_CALLS;
    double calls;
    if (a->nnz && device_class == SPMV_DEVICE_CLASS_GPU) return 0;
    if (!SPMV__BUILT_CSR) return 0;
    if (hints && (hints->tuning || (hints->without >> SPMV_CSR & 1u))) return 0;
    if (bytes <= most) return 1;
    calls = spmv__calls(hints);
    return calls < (double)SPMV_FEW_CALLS || bytes * calls <= most * usual ? 2 : 0;
}

/* ---- a matrix on a device that is not worth a look ------------------------------------------------------------------- */

/* The shares that a look is expected to save: of the time beyond what the slots of padded rows take to be read, or at least of the time
 * itself. */
#define SPMV__LOOK_SAVES       0.8
#define SPMV__LOOK_SAVES_LEAST 0.1

/* Predicted seconds of a product in a format without keys, with a matrix of which nothing is known but its size and the slots. */
static double spmv__seconds_by_size(const spmv__estimator *e, spmv_format format, double slots)
{
    const spmv_spec spec = spmv__plain(format);
    const spmv_candidate *k = spmv__line_for(e, &spec, NULL);
    spmv__load l;
    spmv_estimate by;
    memset(&l, 0, sizeof l);
    l.rows = (double)e->a->rows;
    l.nnz = (double)e->a->nnz;
    l.slots = slots;
    l.longest = slots / l.rows;
    l.gather = 0.5; /* between banded and scattered */
    return k ? spmv__cost_parts(e, k, &spec, &l, &by) : 0;
}

/* Finds out whether a matrix on a GPU is not worth a look by the host, as the products that are expected cannot save what it takes. Returns
 * the format to store it in, without keys, for which the host needs neither columns nor row pointers, or SPMV_FORMAT_COUNT: it is worth a
 * look.
 *   a       rows, columns and nonzeros of the matrix, none of them 0
 *   padded  the slots of sell for each nonzero */
SPMV__SHARED spmv_format spmv__plan_unseen(const spmv_tuning *t, const spmv_csr *a, const spmv_build *how, const spmv_build_hints *hints,
                                           double padded)
{
    const double nnz = (double)a->nnz, rows = (double)a->rows, value = (double)spmv_value_size(how->type);
    const double vectors = (rows + (double)a->cols) * (double)spmv_vector_size(how->type);
    spmv__estimator e;
    double tcsr, sell, least, own, saves;
    if (t->device_class != SPMV_DEVICE_CLASS_GPU || spmv__estimator_make(&e, a, how, NULL, t, 0, NULL)) return SPMV_FORMAT_COUNT;
    tcsr = spmv__seconds_by_size(&e, SPMV_TCSR, nnz);
    sell = spmv__seconds_by_size(&e, SPMV_SELL, padded * nnz);
    own = sell < tcsr ? sell : tcsr;
    least = t->launch + spmv__read_seconds(&e, padded * nnz * value, padded * nnz * value + vectors);
    saves = spmv__greater(SPMV__LOOK_SAVES * (own - least), SPMV__LOOK_SAVES_LEAST * own);
    if (!(tcsr > 0) || !(sell > 0) || spmv__calls(hints) * saves > t->look + t->look_byte * (4 * nnz + 8 * rows)) return SPMV_FORMAT_COUNT;
    return sell < tcsr ? SPMV_SELL : SPMV_TCSR;
}

/* The choice where neither a plan was given nor the matrix is tiny. keys: NULL: not by cocktail. */
static spmv_status spmv__choose_by_table(spmv__chooser *c, const spmv_cocktail_desc *keys)
{
    spmv_choice *out = c->out;
    spmv_status s = SPMV_OK;
    memcpy(out->table, c->e.t->device, sizeof out->table);
    out->build = c->e.t->build;
    out->call = c->e.t->call;
    out->exact = c->e.exact;
    out->error = c->e.t->error;
    if (keys) {
        s = spmv__cocktail_make(out, &c->e, keys, c->hints);
        c->csr.predicted = out->csr;
    } else if (c->e.a->nnz) s = spmv__choose_all(c);
    if (!s && !keys) s = spmv__take_best(c);
    spmv__offer_csr(c);
    return s;
}

SPMV_API spmv_status spmv_choose(spmv_choice *out, const char *text, const spmv_csr *a, const spmv_build *how, const spmv_target *target,
                                 const spmv_build_hints *hints, int *column, const spmv_hooks *hooks)
{
    if (column) *column = 0;
    if (!out || !a || !how) return spmv__null(hooks, "spmv_choose", !out ? "out" : !a ? "a" : "how", out, sizeof *out);
    memset(out, 0, sizeof *out);
    if ((unsigned)how->type >= SPMV_TYPE_COUNT) return spmv_log(hooks, SPMV_ERR_ARGUMENT, "type %d is unknown", (int)how->type);
    spmv__chooser c;
    spmv_cocktail_desc keys;
    const int cocktail = text && spmv__is_cocktail(text);
    spmv_status s = SPMV_OK;
    if (text && !cocktail && !spmv__is_auto(text) && !spmv__is_measure(text))
        return spmv_plan_make(&out->plan, text, a, hints, column, hooks);
    memset(&keys, 0, sizeof keys);
    if (cocktail) s = spmv_cocktail_keys(&keys, text, column, hooks);
    if (s) return s;
    out->tiny = cocktail ? 0 : spmv__is_tiny(a, target ? target->device_class : SPMV_DEVICE_CLASS_HOST, hints);
    if (out->tiny) {
        out->plan.count = 1;
        out->plan.part[0].format = SPMV_CSR;
        return SPMV_OK;
    }
    memset(&c, 0, sizeof c);
    c.hints = hints;
    c.out = out;
    s = spmv__estimator_make(&c.e, a, how, target, hints ? hints->tuning : NULL, hints ? hints->without : 0, hooks);
    if (!s) s = spmv__choose_by_table(&c, cocktail ? &keys : NULL);
    spmv__estimator_free(&c.e);
    if (s) memset(out, 0, sizeof *out);
    return s;
}

/* ---- why ------------------------------------------------------------------------------------------------------------ */

#define SPMV__SAY(t, ...)                                   \
    do {                                                    \
        char said_[256];                   \
        spmv_print(said_, sizeof said_, __VA_ARGS__);       \
        spmv__put_text(t, said_);                           \
    } while (0)

/* Writes the lines about the matrix. */
static void spmv__explain_features(spmv__text *t, const spmv_features *f)
{
    const double filled = (double)(f->rows - f->empty); /* rows, of which the deviation is */
    double fill;
    int i, any = 0, sampled = 0;
    SPMV__SAY(t, "matrix    %llu x %llu, %llu nonzeros\n", (spmv__ull)f->rows, (spmv__ull)f->cols, (spmv__ull)f->nnz);
    SPMV__SAY(t, "rows      %.*f nonzeros in each that is not empty, deviation %.*f, longest %llu, %llu empty\n",
              SPMV__FIGURE(filled > 0 ? (double)f->nnz / filled : 0), SPMV__FIGURE(f->deviation), (spmv__ull)f->longest,
              (spmv__ull)f->empty);
    SPMV__SAY(t, "x         %.3f of the reads miss a cache of 16384 elements\n", f->gather);
    if (f->diagonals)
        SPMV__SAY(t, "diagonals %llu%s; those filled to %.1f or more hold %.2f of the nonzeros", (spmv__ull)f->diagonals,
            f->diagonals_sampled ? " in a sample" : "", SPMV_FILL_DENSE, f->nnz ? (double)f->dense_diagonals_nnz / (double)f->nnz : 0.0);
    if (f->diagonals && f->diagonals_sampled) SPMV__SAY(t, " (standard error of a diagonal's fill: up to %.2f)", f->diagonals_error);
    if (f->diagonals) spmv__put_char(t, '\n');
    for (i = 0; i < SPMV_BLOCK_SIZES; i++) {
        const spmv_block_features *b = &f->block[i];
        if (b->sampled <= 0 || b->blocks <= 0) continue;
        fill = (double)f->nnz / (b->blocks * (double)(b->bh * b->bw));
        SPMV__SAY(t, "%s%dx%d %.2f", any++ ? ", " : "blocks    filled to: ", b->bh, b->bw, fill);
        if (b->error > 0) SPMV__SAY(t, " +-%.2f", fill * b->error);
        sampled = sampled || b->error > 0;
    }
    if (sampled) spmv__put_text(t, " (the most that the standard errors are)");
    if (any) spmv__put_text(t, "\n");
}

/* The columns of numbers in the table of options; PLAN/VARIANT follows them. */
static const struct {
    const char *head, *unit;
    size_t width;
} spmv__explain_column[] = { { "cost", "us", 10 }, { "predicted", "us", 11 }, { "measured", "us", 11 }, { "vs csr", "times", 8 },
                             { "convert", "csr products", 14 }, { "pays after", "products", 12 } };

enum { SPMV__EXPLAIN_COLUMNS = sizeof spmv__explain_column / sizeof *spmv__explain_column };

/* Writes text at the right of its column. */
static void spmv__put_cell(spmv__text *t, int column, const char *text)
{
    size_t n = strlen(text);
    do spmv__put_char(t, ' ');
    while (n++ < spmv__explain_column[column].width - 1);
    spmv__put_text(t, text);
}

/* Writes a figure, or - if it is not known. */
static void spmv__put_figure_cell(spmv__text *t, int column, double v, int known)
{
    char s[32] = "-";
    if (known) spmv_print(s, sizeof s, "%.*f", SPMV__FIGURE(v));
    spmv__put_cell(t, column, s);
}

/* Writes an option as PLAN/VARIANT. */
static void spmv__put_option(spmv__text *t, const spmv_choice *c, const spmv_option *o)
{
    const char *variant = o->count ? o->variant : c->variant;
    spmv__put_parts(t, o->count ? o->part : c->plan.part, o->count ? o->count : c->plan.count);
    if (!variant[strspn(variant, "+")]) return;
    spmv__put_char(t, '/');
    spmv__put_text(t, variant);
}

/* The least gain that counts, as a share of csr's time: below it the three printed digits do not differ. */
#define SPMV__GAIN_SHOWS 0.001

/* The number of products after which the gain over csr has paid for the longer conversion; own and csr in seconds. 0: it never does. */
static uint64_t spmv__pays_after(const spmv_choice *c, double convert, double own, double csr)
{
    double gain = csr - own, more = convert - c->convert_csr;
    if (gain <= csr * SPMV__GAIN_SHOWS) return 0;
    return more > 0 ? (uint64_t)(more / gain) + 1 : 1;
}

/* Writes the two lines above the table: heads and units. */
static void spmv__explain_heading(spmv__text *t)
{
    int i;
    spmv__put_char(t, ' ');
    for (i = 0; i < SPMV__EXPLAIN_COLUMNS; i++) spmv__put_cell(t, i, spmv__explain_column[i].head);
    spmv__put_text(t, "  plan/variant\n ");
    for (i = 0; i < SPMV__EXPLAIN_COLUMNS; i++) spmv__put_cell(t, i, spmv__explain_column[i].unit);
    spmv__put_char(t, '\n');
}

/* Writes the line of one option; * marks the chosen one. */
static void spmv__explain_option(spmv__text *t, const spmv_choice *c, const spmv_option *o)
{
    const uint64_t pays = spmv__pays_after(c, o->convert, o->predicted, c->csr);
    char s[32] = "-";
    int column = 0;
    spmv__put_char(t, o == c->option ? '*' : ' ');
    spmv__put_figure_cell(t, column++, o->cost * 1e6, 1);
    spmv__put_figure_cell(t, column++, o->predicted * 1e6, 1);
    if (o->measured < 0) spmv__put_cell(t, column++, "cannot run");
    else spmv__put_figure_cell(t, column++, o->measured * 1e6, o->measured > 0);
    spmv__put_figure_cell(t, column++, c->csr / o->predicted, c->csr > 0);
    spmv__put_figure_cell(t, column++, c->csr > 0 ? o->convert / c->csr : 0, c->csr > 0);
    if (pays) spmv_print(s, sizeof s, "%llu", (spmv__ull)pays);
    spmv__put_cell(t, column, s);
    spmv__put_text(t, "  ");
    spmv__put_option(t, c, o);
    spmv__put_char(t, '\n');
}

/* Writes the table: the chosen option first, then the others by what they cost. */
static void spmv__explain_table(spmv__text *t, const spmv_choice *c)
{
    int i;
    spmv__explain_heading(t);
    for (i = 0; i < c->count; i++) spmv__explain_option(t, c, &c->option[i]);
}

/* The seconds that the sentence uses: measured if the first option was, else predicted. */
static double spmv__option_seconds(const spmv_option *o, int measured) { return measured ? o->measured : o->predicted; }

/* The same of csr; *measured becomes 0 if it was not. */
static double spmv__csr_seconds(const spmv_choice *c, int *measured)
{
    int i;
    for (i = 0; i < c->count && *measured; i++)
        if (spmv__is_csr(c, &c->option[i]) && c->option[i].measured > 0) return c->option[i].measured;
    *measured = 0;
    return c->csr;
}

/* Writes of what the predicted time of the first option consists. */
static void spmv__explain_costs(spmv__text *t, const spmv_option *o)
{
    double sum = 0;
    int i, any = 0;
    spmv__put_text(t, "\ncosts     ");
    for (i = 0; i < SPMV_COST_COUNT; i++) {
        sum += o->share[i];
        if (o->share[i] > 0)
            SPMV__SAY(t, "%s%s %.*f", any++ ? " + " : "", spmv__cost_name((spmv_cost)i), SPMV__FIGURE(o->share[i] * 1e6));
    }
    SPMV__SAY(t, " = %.*f us", SPMV__FIGURE(sum * 1e6));
    if (o->predicted > sum * 1.001)
        SPMV__SAY(t, ", and %.*f with what no cost contains (floors of a GPU, y once more)", SPMV__FIGURE(o->predicted * 1e6));
    spmv__put_char(t, '\n');
}

/* Writes one sentence: what the choice gains over csr and over the second option, what preparing costs and when that pays. */
static void spmv__explain_reason(spmv__text *t, const spmv_choice *c)
{
    const spmv_option *o = &c->option[0], *second = c->count > 1 ? &c->option[1] : NULL;
    const int measured = o->measured > 0, csr = spmv__is_csr(c, o);
    int csr_measured = measured;
    const double own = spmv__option_seconds(o, measured), other = spmv__csr_seconds(c, &csr_measured);
    const double alike = spmv__option_seconds(o, csr_measured); /* found in the same way as the time of csr */
    uint64_t pays = spmv__pays_after(c, o->convert, alike, other);
    spmv__put_option(t, c, o);
    SPMV__SAY(t, " was chosen because a product is %s to take %.*f us", measured ? "measured" : "predicted", SPMV__FIGURE(own * 1e6));
    if (c->csr > 0 && !csr)
        SPMV__SAY(t, ", %s%.*f times the speed of csr (%.*f us %s)", measured && !csr_measured ? "by estimates " : "",
                  SPMV__FIGURE(other / alike), SPMV__FIGURE(other * 1e6), csr_measured ? "measured" : "predicted");
    if (second) {
        SPMV__SAY(t, ", and it ranks at %.*f us, before ", SPMV__FIGURE(o->cost * 1e6));
        spmv__put_option(t, c, second);
        SPMV__SAY(t, " at %.*f us", SPMV__FIGURE(second->cost * 1e6));
    }
    if (c->csr > 0) SPMV__SAY(t, "; preparing takes about %.*f products of csr", SPMV__FIGURE(o->convert / c->csr));
    if (pays && !csr) SPMV__SAY(t, ", which pays after %llu products", (spmv__ull)pays);
    else if (c->csr > 0 && !csr) spmv__put_text(t, ", which does not pay, as csr is no slower");
    spmv__put_text(t, ".\n");
}

/* Writes every inequality of the cocktail, and the plan. */
static void spmv__explain_cocktail(spmv__text *t, const spmv_choice *c)
{
    const spmv_option *o = c->option;
    SPMV__SAY(t, "matrix    %llu x %llu, %llu nonzeros\n", (spmv__ull)c->features.rows, (spmv__ull)c->features.cols,
              (spmv__ull)c->features.nnz);
    SPMV__SAY(t, "table     %s%s\n", c->table, c->exact ? "" : ", not the device's own");
    if (c->steps) spmv__put_text(t, c->steps);
    spmv__put_char(t, '\n');
    spmv__put_option(t, c, o);
    spmv__put_text(t, " is the plan by the policies of clSpMV");
    if (o->predicted > 0) SPMV__SAY(t, "; by the table a product takes %.*f us", SPMV__FIGURE(o->predicted * 1e6));
    if (o->predicted > 0 && c->csr > 0) SPMV__SAY(t, ", and with csr %.*f us", SPMV__FIGURE(c->csr * 1e6));
    spmv__put_text(t, ".\n");
}

SPMV_API size_t spmv_explain(const spmv_choice *c, char *out, size_t size)
{
    if (!c) return spmv_print(out, size, "%s", "");
    spmv__text t;
    spmv__text_open(&t, out, size);
    if (c->tiny > 1) return spmv_print(out, size, "plan      csr: the products that are expected cost less than a choice would\n");
    if (c->tiny)
        return spmv_print(out, size, "plan      csr: a matrix of up to %d bytes costs less than a choice would\n", (int)SPMV_TINY_BYTES);
    if (!c->count && !c->table[0]) return spmv_print(out, size, "plan      as it was given\n");
    if (!c->count) return spmv_print(out, size, "plan      nothing is known of any format for this matrix\n");
    if (!c->option[0].count) {
        spmv__explain_cocktail(&t, c);
        return spmv__text_close(&t);
    }
    spmv__explain_features(&t, &c->features);
    SPMV__SAY(&t, "table     %s%s\n", c->table, c->exact ? "" : ", not the device's own");
    if (c->error > 0) SPMV__SAY(&t, "error     estimates err by a factor of %.2f\n", spmv__exp2(c->error));
    if (c->call > c->option[0].predicted)
        SPMV__SAY(&t, "launch    at least %.*f us a product, unless products are recorded in a graph\n", SPMV__FIGURE(c->call * 1e6));
    spmv__put_char(&t, '\n');
    spmv__explain_table(&t, c);
    spmv__explain_costs(&t, &c->option[0]);
    if (c->floats) spmv__put_text(&t, "values    all are floats: val=32 saves four bytes a slot of those that the costs count\n");
    spmv__explain_reason(&t, c);
    return spmv__text_close(&t);
}

SPMV_API size_t spmv_option_print(const spmv_choice *c, int i, char *out, size_t size)
{
    if (!c || i < 0 || i >= c->count) return spmv_print(out, size, "%s", "");
    if (!c->option[i].count) return spmv_plan_print(&c->plan, out, size);
    return spmv__print_parts(c->option[i].part, c->option[i].count, out, size);
}

#endif
