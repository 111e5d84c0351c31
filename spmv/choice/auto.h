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
    spmv__estimator         estimator;
    const spmv_build_hints *hints;
    spmv_choice            *out;
    spmv_option             csr; /* csr without keys, also where it must not be used; count 0: the table does not know it */
} spmv__chooser;

/* ---- options -------------------------------------------------------------------------------------------------------- */

/* How many times as long a later part takes on a host for reading its row list, which no line of a table has. */
#define SPMV__ROW_LIST_TIMES 1.4

/* Appends a part with so many slots and rows, whose product was estimated. */
static void spmv__option_add(const spmv__chooser *chooser, spmv_option *option, const spmv_spec *spec, const spmv_candidate *candidate,
                             const spmv_estimate *by, double slots, double rows)
{
    const spmv_tuning *tuning = chooser->estimator.tuning;
    const int host = tuning->device_class == SPMV_DEVICE_CLASS_HOST;
    const double times = option->count && spec->key[SPMV_KEY_ROWS] && host ? SPMV__ROW_LIST_TIMES : 1;
    int i;
    option->part[option->count] = *spec;
    if (spmv__builder_from(spmv_format_name(spec->format)) != SPMV_BUILDER_COUNT) /* "cmrs" alone would name the builder */
        option->part[option->count].key[SPMV_KEY_H] = (int64_t)spmv__height(spec);
    spmv__add_variant(option->variant, sizeof option->variant, option->count++, candidate->variant);
    option->predicted += by->seconds * times;
    for (i = 0; i < SPMV_COST_COUNT; i++) option->share[i] += by->share[i] * times;
    option->convert += candidate->begin + candidate->slot * slots;
    if (option->count < 2) return;
    option->convert += tuning->part * (double)chooser->estimator.a->nnz;
    /* y */
    option->predicted += spmv__read_seconds(&chooser->estimator, (double)spmv__csr_bytes(chooser->estimator.a),
                                            rows * (double)spmv_vector_size(chooser->estimator.how->type));
}

/* Has a part any keys? */
static int spmv__has_keys(const spmv_spec *spec)
{
    int k;
    for (k = 0; k < SPMV_KEY_COUNT; k++)
        if (spec->key[k]) return 1;
    return 0;
}

/* Products that are expected. */
static double spmv__calls(const spmv_build_hints *hints)
{
    return hints && hints->expected_calls ? (double)hints->expected_calls : (double)SPMV_EXPECTED_CALLS;
}

/* By how much more than its predicted time a plan costs, because an estimate may be too low: what it must seem faster by to be preferred to
 * one without that risk. A table of another device, as that of every host but one is, errs more in what it says of formats than of csr. */
static double spmv__risk(const spmv__chooser *chooser, int parts, int csr)
{
    const double error = chooser->estimator.tuning->error > 0 ? chooser->estimator.tuning->error : SPMV__ERROR_UNKNOWN;
    const int other = !chooser->estimator.exact || chooser->estimator.tuning->device_class == SPMV_DEVICE_CLASS_HOST;
    return (1 + (spmv__exp2(error) - 1) * (parts - 1)) * (other && !csr ? 1 + SPMV_RISK_DEVICE : 1);
}

/* Is an option csr without keys? */
static int spmv__is_csr(const spmv_choice *choice, const spmv_option *option)
{
    const spmv_spec *part = option->count ? option->part : choice->plan.part;
    return (option->count ? option->count : choice->plan.count) == 1 && part->format == SPMV_CSR && !spmv__has_keys(part);
}

static double spmv__option_cost(const spmv__chooser *chooser, const spmv_option *option)
{
    return option->predicted * spmv__risk(chooser, option->count,
                                          spmv__is_csr(chooser->out, option)) + option->convert / spmv__calls(chooser->hints);
}

/* Adds a plan to the options, which stay sorted by cost. */
static void spmv__offer(spmv__chooser *chooser, spmv_option *option)
{
    spmv_choice *out = chooser->out;
    int at;
    if (!(option->predicted > 0)) return;
    option->cost = spmv__option_cost(chooser, option);
    if (out->count == SPMV_CHOICE_MAX && out->option[out->count - 1].cost <= option->cost) return;
    at = out->count < SPMV_CHOICE_MAX ? out->count++ : SPMV_CHOICE_MAX - 1;
    for (; at > 0 && out->option[at - 1].cost > option->cost; at--) out->option[at] = out->option[at - 1];
    out->option[at] = *option;
}

/* Makes csr the last option if it may be used and is none of them: it takes the least memory, so that it may fit where no other does. */
static void spmv__offer_csr(spmv__chooser *chooser)
{
    spmv_choice *out = chooser->out;
    spmv_option *option = &out->option[out->count < SPMV_CHOICE_MAX ? out->count : SPMV_CHOICE_MAX - 1];
    int i, there = !out->count || !spmv__usable(&chooser->estimator, SPMV_CSR);
    for (i = 0; i < out->count; i++) there |= spmv__is_csr(out, &out->option[i]);
    if (there) return;
    *option = chooser->csr;
    option->count = 1;
    option->part[0].format = SPMV_CSR;
    option->cost = spmv__option_cost(chooser, option);
    out->count = (int)(option - out->option) + 1;
}

/* ---- one part (clSpMV 3.3: every format competes for the whole matrix) ------------------------------------------------- */

/* Offers a candidate for the whole matrix. */
static spmv_status spmv__offer_whole(spmv__chooser *chooser, const spmv_candidate *candidate, const spmv__analysis *analysis,
                                     const spmv_features *features)
{
    spmv_option option;
    spmv__load load;
    spmv_estimate by;
    spmv_status s;
    memset(&option, 0, sizeof option);
    if (!spmv__load_of(&chooser->estimator, &candidate->layout, analysis, features, &load, &s)) return s;
    spmv__cost_parts(&chooser->estimator, candidate, &candidate->layout, &load, &by);
    spmv__option_add(chooser, &option, &candidate->layout, candidate, &by, load.slots, load.rows);
    spmv__offer(chooser, &option);
    return SPMV_OK;
}

/* May a line of the table be used? */
static int spmv__is_candidate(const spmv__chooser *chooser, const spmv_candidate *candidate)
{
    return candidate->type == chooser->estimator.type && spmv__usable(&chooser->estimator, candidate->layout.format);
}

/* Offers every candidate for the whole matrix. */
static spmv_status spmv__offer_all(spmv__chooser *chooser, const spmv__analysis *analysis, const spmv_features *features)
{
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; i < chooser->estimator.tuning->count && !s; i++)
        if (spmv__is_candidate(chooser, &chooser->estimator.tuning->line[i]))
            s = spmv__offer_whole(chooser, &chooser->estimator.tuning->line[i], analysis, features);
    return s;
}

/* Estimates csr, if it is part of the build. */
static void spmv__find_csr(spmv__chooser *chooser, const spmv__analysis *analysis, const spmv_features *features)
{
    const spmv_spec csr = spmv__plain(SPMV_CSR);
    const spmv_candidate *candidate = spmv__line_for(&chooser->estimator, &csr, NULL);
    spmv__load load;
    spmv_estimate by;
    if (!candidate || !spmv_format_built(SPMV_CSR) || spmv__spec_estimate(&csr, analysis, features, &load)) return;
    spmv__cost_parts(&chooser->estimator, candidate, &csr, &load, &by);
    spmv__option_add(chooser, &chooser->csr, &csr, candidate, &by, load.slots, load.rows);
    chooser->out->csr = chooser->csr.predicted;
    chooser->out->convert_csr = chooser->csr.convert;
}

/* ---- two parts ------------------------------------------------------------------------------------------------------- */

/* Counts, for every w, the slices (ell: one of all rows) whose longest row has w entries or more. Free *reach. */
static spmv_status spmv__slices_reaching(const spmv__analysis *analysis, uint64_t h, uint64_t **reach)
{
    const uint64_t rows = analysis->view->a->rows;
    uint64_t r, k;
    void *block;
    spmv_status s = spmv__new(analysis->hooks, &block, analysis->longest + 2, sizeof **reach, 0);
    if (s) return s;
    *reach = (uint64_t *)block;
    for (r = 0; r < rows; r += h) (*reach)[spmv__analysis_tallest(analysis, r, spmv__smaller(r + h, rows))]++;
    for (k = analysis->longest; k-- > 0;) (*reach)[k] += (*reach)[k + 1];
    return SPMV_OK;
}

/* The next width to be tried. The paper tries every one ("brute force"); here steps grow with the width. */
static uint64_t spmv__next_width(uint64_t w) { return w < 16 ? w + 1 : w + w / 8; }

/* The paper's policies "extract ELL" and "extract SELL": offers a padded candidate with the width with which both parts take the least
 * time, and csr for the rest. */
static spmv_status spmv__offer_width(spmv__chooser *chooser, const spmv_candidate *candidate, const spmv__analysis *analysis,
                                     const spmv_features *features)
{
    const spmv__estimator *estimator = &chooser->estimator;
    const uint64_t rows = analysis->view->a->rows, h = spmv__padded_rows(&candidate->layout, rows);
    const double few = 0.02; /* of the rows: a column that no more of them reach is padding for all others, so it never pays */
    const spmv_spec csr = spmv__plain(SPMV_CSR);
    const spmv_candidate *rest = spmv__line_for(estimator, &csr, NULL);
    spmv_spec part[2];
    spmv__load load[2];
    spmv_estimate by[2];
    spmv_option now, best;
    uint64_t w, at = 0, *reach;
    spmv_status s;
    if (!spmv__is_candidate(chooser, candidate) || !spmv__is_padded(candidate->layout.format) || candidate->layout.key[SPMV_KEY_ROWS] ||
        candidate->layout.key[SPMV_KEY_IDX] || !rest || !spmv__usable(estimator, SPMV_CSR))
        return SPMV_OK;
    s = spmv__slices_reaching(analysis, h, &reach);
    if (s) return s;
    memset(&best, 0, sizeof best);
    memset(load, 0, sizeof load);
    part[0] = candidate->layout;
    part[1] = csr;
    part[1].key[SPMV_KEY_ROWS] = SPMV_ROWS_NONEMPTY;
    load[0].rows = (double)rows;
    load[0].gather = load[1].gather = features->gather;
    load[0].uneven = estimator->tuning->device_class == SPMV_DEVICE_CLASS_HOST ? features->uneven : 0;
    load[1].uneven = features->uneven;
    for (w = 1; w < analysis->longest && (double)analysis->longer[w] >= few * (double)analysis->rows; w = spmv__next_width(w)) {
        for (; at < w; at++) {
            load[0].slots += (double)(reach[at + 1] * h);
            load[0].nnz += (double)analysis->longer[at + 1];
        }
        if (!spmv__fits(estimator, load[0].slots)) break;
        part[0].key[SPMV_KEY_W] = (int64_t)w;
        load[0].longest = (double)w;
        load[1].rows = (double)analysis->longer[w + 1];
        load[1].nnz = load[1].slots = (double)analysis->nnz - load[0].nnz;
        load[1].longest = (double)(analysis->longest - w);
        spmv__cost_parts(estimator, candidate, &part[0], &load[0], &by[0]);
        spmv__cost_parts(estimator, rest, &csr, &load[1], &by[1]);
        memset(&now, 0, sizeof now);
        spmv__option_add(chooser, &now, &part[0], candidate, &by[0], load[0].slots, load[0].rows);
        spmv__option_add(chooser, &now, &part[1], rest, &by[1], load[1].slots, load[1].rows);
        if (!best.count || now.predicted < best.predicted) best = now;
    }
    spmv_free(analysis->hooks, reach);
    spmv__offer(chooser, &best);
    return SPMV_OK;
}

/* ---- the whole choice ------------------------------------------------------------------------------------------------ */

/* Reads the matrix once and offers every kind of plan. */
static spmv_status spmv__choose_all(spmv__chooser *chooser)
{
    spmv_features *features = &chooser->out->features;
    const int gpu = spmv__for_gpu(&chooser->estimator);
    spmv_view view;
    spmv__analysis analysis;
    size_t i;
    spmv_status s;
    memset(&view, 0, sizeof view);
    view.a = chooser->estimator.a;
    view.rows = chooser->estimator.a->rows;
    s = spmv__analysis_make(&analysis, &view, chooser->estimator.tuning->device_class, chooser->estimator.hooks);
    if (s) return s;
    s = spmv__analysis_features(&analysis, features, 0, chooser->estimator.without, NULL);
    if (!s) spmv__find_csr(chooser, &analysis, features);
    if (!s) s = spmv__offer_all(chooser, &analysis, features);
    for (i = 0; i < chooser->estimator.tuning->count && !s && !gpu; i++) /* on a GPU a further launch takes longer than it can save */
        s = spmv__offer_width(chooser, &chooser->estimator.tuning->line[i], &analysis, features);
    spmv__analysis_free(&analysis);
    return s;
}

/* Takes the plan and the knobs of an option. */
static void spmv__take_option(spmv_choice *choice, int i)
{
    const spmv_option *option = &choice->option[i];
    int k;
    if (!option->count) return; /* it is by cocktail, and taken */
    choice->plan.count = option->count;
    memcpy(choice->plan.part, option->part, sizeof option->part);
    for (k = 0; k < option->count; k++)
        choice->plan.part[k].key[SPMV_KEY_VAL] = (int64_t)spmv__val_of(choice->val, &option->part[k]);
    memcpy(choice->variant, option->variant, sizeof option->variant);
}

/* Are all values floats? A sample is looked at before all of them. */
static int spmv__all_floats(const double *val, uint64_t count)
{
    enum { SAMPLE = 1000 };
    spmv__floats floats;
    uint64_t k;
    for (k = 0; k < count; k += count / SAMPLE + 1)
        if (!spmv__is_float(val[k])) return 0;
    floats.from = val;
    floats.map = NULL;
    floats.to = NULL;
    floats.count = count;
    return spmv__floats_make(&floats) == count;
}

/* Sets the key val that the values allow if it pays: in the cache it seldom does ([M22] of docs/measurements.md), and new values may not
 * allow it. Fill needs a code for zero. distinct: of spmv_target. */
static spmv_status spmv__choose_val(spmv__estimator *estimator, uint64_t distinct)
{
    const spmv_csr *a = estimator->a;
    const int gpu = spmv__for_gpu(estimator) && a->nnz < UINT32_MAX / 2; /* it numbers slots */
    spmv__distinct set;
    spmv_status s = SPMV_OK;
    if (estimator->how->updatable || (!a->val && !distinct) || !a->nnz) return s;
    if (!(estimator->cache > 0) || (double)spmv__csr_bytes(a) < estimator->cache * 1048576) return s;
    if (gpu && a->val) s = spmv__distinct_find(&set, a->val, (uint32_t)spmv_value_size(a->type), NULL, 0, a->nnz, estimator->hooks);
    if (gpu && a->val) distinct = set.count;
    if (s) return s;
    if (gpu && distinct < SPMV__DISTINCT_MOST) estimator->val = distinct == 1 ? 1 : 8;
    else if (a->val && estimator->how->type == SPMV_F64 && spmv__type_built(SPMV_MIXED) && spmv__all_floats((const double *)a->val, a->nnz))
        estimator->val = 32;
    return s;
}

/* Takes the best option, or, if the table has nothing for any, one part in a format that may be used. */
static spmv_status spmv__take_best(spmv__chooser *chooser)
{
    spmv_choice *out = chooser->out;
    out->plan.count = 1;
    if (!out->count) return spmv__last_format(&out->plan.part[0].format, spmv__unusable(&chooser->estimator), chooser->estimator.hooks);
    out->val = chooser->estimator.val;
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

/* ---- a matrix on a device that is not worth an analysis ------------------------------------------------------------------- */

/* The shares that an analysis is expected to save: of the time beyond what the slots of padded rows take to be read, or at least of the
 * time itself. */
#define SPMV__ANALYSIS_SAVES       0.8
#define SPMV__ANALYSIS_SAVES_LEAST 0.1

/* Predicted seconds of a product in a format without keys, with a matrix of which nothing is known but its size and the slots. */
static double spmv__seconds_by_size(const spmv__estimator *estimator, spmv_format format, double slots)
{
    const spmv_spec spec = spmv__plain(format);
    const spmv_candidate *candidate = spmv__line_for(estimator, &spec, NULL);
    spmv__load load;
    spmv_estimate by;
    memset(&load, 0, sizeof load);
    load.rows = (double)estimator->a->rows;
    load.nnz = (double)estimator->a->nnz;
    load.slots = slots;
    load.longest = slots / load.rows;
    load.gather = 0.5; /* between banded and scattered */
    return candidate ? spmv__cost_parts(estimator, candidate, &spec, &load, &by) : 0;
}

/* Finds out whether a matrix on a GPU is not worth an analysis by the host, as the products that are expected cannot save what it takes.
 * Returns the format to store it in, without keys, for which the host needs neither columns nor row pointers, or SPMV_FORMAT_COUNT: it is
 * worth a look.
 *   a       rows, columns and nonzeros of the matrix, none of them 0
 *   padded  the slots of sell for each nonzero */
SPMV__SHARED spmv_format spmv__plan_unseen(const spmv_tuning *tuning, const spmv_csr *a, const spmv_build *how,
                                           const spmv_build_hints *hints, double padded)
{
    const double nnz = (double)a->nnz, rows = (double)a->rows, value = (double)spmv_value_size(how->type);
    const double vectors = (rows + (double)a->cols) * (double)spmv_vector_size(how->type);
    spmv__estimator estimator;
    double tcsr, sell, least, own, saves;
    if (tuning->device_class != SPMV_DEVICE_CLASS_GPU || spmv__estimator_make(&estimator, a, how, NULL, tuning, 0, NULL))
        return SPMV_FORMAT_COUNT;
    tcsr = spmv__seconds_by_size(&estimator, SPMV_TCSR, nnz);
    sell = spmv__seconds_by_size(&estimator, SPMV_SELL, padded * nnz);
    own = sell < tcsr ? sell : tcsr;
    least = tuning->launch + spmv__read_seconds(&estimator, padded * nnz * value, padded * nnz * value + vectors);
    saves = spmv__greater(SPMV__ANALYSIS_SAVES * (own - least), SPMV__ANALYSIS_SAVES_LEAST * own);
    if (!(tcsr > 0) || !(sell > 0) || spmv__calls(hints) * saves > tuning->look + tuning->look_byte * (4 * nnz + 8 * rows))
        return SPMV_FORMAT_COUNT;
    return sell < tcsr ? SPMV_SELL : SPMV_TCSR;
}

/* The choice where neither a plan was given nor the matrix is tiny. distinct: of spmv_target. */
static spmv_status spmv__choose_by_table(spmv__chooser *chooser, int cocktail, uint64_t distinct)
{
    spmv_choice *out = chooser->out;
    spmv_status s = SPMV_OK;
    memcpy(out->table, chooser->estimator.tuning->device, sizeof out->table);
    out->build = chooser->estimator.tuning->build;
    out->call = chooser->estimator.tuning->call;
    out->exact = chooser->estimator.exact;
    out->error = chooser->estimator.tuning->error;
    if (cocktail) {
        s = spmv__cocktail_make(out, &chooser->estimator, chooser->hints);
        chooser->csr.predicted = out->csr;
    } else if (chooser->estimator.a->nnz) {
        s = spmv__choose_val(&chooser->estimator, distinct);
        if (!s) s = spmv__choose_all(chooser);
    }
    if (!s && !cocktail) s = spmv__take_best(chooser);
    spmv__offer_csr(chooser);
    return s;
}

SPMV_API spmv_status spmv_choose(spmv_choice *out, const char *text, const spmv_csr *a, const spmv_build *how, const spmv_target *target,
                                 const spmv_build_hints *hints, int *column, const spmv_hooks *hooks)
{
    if (column) *column = 0;
    if (!out || !a || !how) return spmv__null(hooks, "spmv_choose", !out ? "out" : !a ? "a" : "how", out, sizeof *out);
    memset(out, 0, sizeof *out);
    if ((unsigned)how->type >= SPMV_TYPE_COUNT) return spmv_log(hooks, SPMV_ERR_ARGUMENT, "type %d is unknown", (int)how->type);
    spmv__chooser chooser;
    const int cocktail = text && spmv__is_name(text, "cocktail");
    spmv_status s;
    if (text && !cocktail && !spmv__is_name(text, "auto") && !spmv__is_name(text, "measure"))
        return spmv_plan_make(&out->plan, text, a, hints, column, hooks);
    out->tiny = cocktail ? 0 : spmv__is_tiny(a, target ? target->device_class : SPMV_DEVICE_CLASS_HOST, hints);
    if (out->tiny) {
        out->plan.count = 1;
        out->plan.part[0].format = SPMV_CSR;
        return SPMV_OK;
    }
    memset(&chooser, 0, sizeof chooser);
    chooser.hints = hints;
    chooser.out = out;
    s = spmv__estimator_make(&chooser.estimator, a, how, target, hints ? hints->tuning : NULL, hints ? hints->without : 0, hooks);
    if (!s && hints) chooser.estimator.vectors = out->vectors = hints->vectors;
    if (!s) s = spmv__choose_by_table(&chooser, cocktail, target ? target->distinct : 0);
    if (!s) out->at_once = spmv__at_once(&chooser.estimator, &out->option[0].part[0]);
    spmv__estimator_free(&chooser.estimator);
    if (s) memset(out, 0, sizeof *out);
    return s;
}

/* ---- why ------------------------------------------------------------------------------------------------------------ */

/* Writes the lines about the matrix. */
static void spmv__explain_features(spmv__text *text, const spmv_features *features)
{
    const double filled = (double)(features->rows - features->empty); /* rows, of which the deviation is */
    int i, any = 0;
    spmv__say(text, "matrix    %llu x %llu, %llu nonzeros\n", (spmv__ull)features->rows, (spmv__ull)features->cols,
              (spmv__ull)features->nnz);
    spmv__say(text, "rows      %.*f nonzeros in each that is not empty, deviation %.*f, longest %llu, %llu empty; uneven %.2f\n",
              SPMV__FIGURE(filled > 0 ? (double)features->nnz / filled : 0), SPMV__FIGURE(features->deviation),
              (spmv__ull)features->longest, (spmv__ull)features->empty, features->uneven);
    spmv__say(text, "x         %.3f of the reads miss a cache\n", features->gather);
    if (features->diagonals)
        spmv__say(text, "diagonals %llu%s; those filled to %.1f or more hold %.2f of the nonzeros\n", (spmv__ull)features->diagonals,
            features->diagonals_sampled ? " in a sample" : "", SPMV_FILL_DENSE,
                  features->nnz ? (double)features->dense_diagonals_nnz / (double)features->nnz : 0.0);
    for (i = 0; i < SPMV_BLOCK_SIZES; i++) {
        const spmv_block_features *block = &features->block[i];
        if (block->sampled <= 0 || block->blocks <= 0) continue;
        spmv__say(text, "%s%dx%d %.2f", any++ ? ", " : "blocks    filled to: ", block->bh, block->bw,
                  (double)features->nnz / (block->blocks * (double)(block->bh * block->bw)));
    }
    if (any) spmv__put_text(text, "\n");
}

/* The columns of numbers in the table of options; PLAN/VARIANT follows them. */
static const struct {
    const char *head, *unit;
    size_t width;
} spmv__explain_column[] = { { "cost", "us", 10 }, { "predicted", "us", 11 }, { "measured", "us", 11 }, { "vs csr", "times", 8 },
                             { "convert", "csr products", 14 }, { "pays after", "products", 12 } };

enum { SPMV__EXPLAIN_COLUMNS = sizeof spmv__explain_column / sizeof *spmv__explain_column };

/* Writes text at the right of its column. */
static void spmv__put_cell(spmv__text *out, int column, const char *text)
{
    size_t n = strlen(text);
    do spmv__put_char(out, ' ');
    while (n++ < spmv__explain_column[column].width - 1);
    spmv__put_text(out, text);
}

/* Writes a figure, or - if it is not known. */
static void spmv__put_figure_cell(spmv__text *text, int column, double v, int known)
{
    char s[32] = "-";
    if (known) spmv_print(s, sizeof s, "%.*f", SPMV__FIGURE(v));
    spmv__put_cell(text, column, s);
}

/* Writes an option as PLAN/VARIANT. */
static void spmv__put_option(spmv__text *text, const spmv_choice *choice, const spmv_option *option)
{
    const char *variant = option->count ? option->variant : choice->variant;
    spmv__put_parts(text, option->count ? option->part : choice->plan.part, option->count ? option->count : choice->plan.count);
    if (!variant[strspn(variant, "+")]) return;
    spmv__put_char(text, '/');
    spmv__put_text(text, variant);
}

/* The least gain that counts, as a share of csr's time: below it the three printed digits do not differ. */
#define SPMV__GAIN_SHOWS 0.001

/* The number of products after which the gain over csr has paid for the longer conversion; own and csr in seconds. 0: it never does. */
static uint64_t spmv__pays_after(const spmv_choice *choice, double convert, double own, double csr)
{
    double gain = csr - own, more = convert - choice->convert_csr;
    if (gain <= csr * SPMV__GAIN_SHOWS) return 0;
    return more > 0 ? (uint64_t)(more / gain) + 1 : 1;
}

/* Writes the two lines above the table: heads and units. */
static void spmv__explain_heading(spmv__text *text)
{
    int i;
    spmv__put_char(text, ' ');
    for (i = 0; i < SPMV__EXPLAIN_COLUMNS; i++) spmv__put_cell(text, i, spmv__explain_column[i].head);
    spmv__put_text(text, "  plan/variant\n ");
    for (i = 0; i < SPMV__EXPLAIN_COLUMNS; i++) spmv__put_cell(text, i, spmv__explain_column[i].unit);
    spmv__put_char(text, '\n');
}

/* Writes the line of one option; * marks the chosen one. */
static void spmv__explain_option(spmv__text *text, const spmv_choice *choice, const spmv_option *option)
{
    const uint64_t pays = spmv__pays_after(choice, option->convert, option->predicted, choice->csr);
    char s[32] = "-";
    int column = 0;
    spmv__put_char(text, option == choice->option ? '*' : ' ');
    spmv__put_figure_cell(text, column++, option->cost * 1e6, 1);
    spmv__put_figure_cell(text, column++, option->predicted * 1e6, 1);
    if (option->measured < 0) spmv__put_cell(text, column++, "cannot run");
    else spmv__put_figure_cell(text, column++, option->measured * 1e6, option->measured > 0);
    spmv__put_figure_cell(text, column++, choice->csr / option->predicted, choice->csr > 0);
    spmv__put_figure_cell(text, column++, choice->csr > 0 ? option->convert / choice->csr : 0, choice->csr > 0);
    if (pays) spmv_print(s, sizeof s, "%llu", (spmv__ull)pays);
    spmv__put_cell(text, column, s);
    spmv__put_text(text, "  ");
    spmv__put_option(text, choice, option);
    spmv__put_char(text, '\n');
}

/* Writes the table: the chosen option first, then the others by what they cost. */
static void spmv__explain_table(spmv__text *text, const spmv_choice *choice)
{
    int i;
    spmv__explain_heading(text);
    for (i = 0; i < choice->count; i++) spmv__explain_option(text, choice, &choice->option[i]);
}

/* The seconds that the sentence uses: measured if the first option was, else predicted. */
static double spmv__option_seconds(const spmv_option *option, int measured) { return measured ? option->measured : option->predicted; }

/* The same of csr; *measured becomes 0 if it was not. */
static double spmv__csr_seconds(const spmv_choice *choice, int *measured)
{
    int i;
    for (i = 0; i < choice->count && *measured; i++)
        if (spmv__is_csr(choice, &choice->option[i]) && choice->option[i].measured > 0) return choice->option[i].measured;
    *measured = 0;
    return choice->csr;
}

/* Writes of what the predicted time of the first option consists. */
static void spmv__explain_costs(spmv__text *text, const spmv_option *option)
{
    double sum = 0;
    int i, any = 0;
    spmv__put_text(text, "\ncosts     ");
    for (i = 0; i < SPMV_COST_COUNT; i++) {
        sum += option->share[i];
        if (option->share[i] > 0)
            spmv__say(text, "%s%s %.*f", any++ ? " + " : "", spmv__cost_name((spmv_cost)i), SPMV__FIGURE(option->share[i] * 1e6));
    }
    spmv__say(text, " = %.*f us", SPMV__FIGURE(sum * 1e6));
    if (option->predicted > sum * 1.001)
        spmv__say(text, ", and %.*f with what no cost contains (look-ups, floors of a GPU, y once more)",
                  SPMV__FIGURE(option->predicted * 1e6));
    spmv__put_char(text, '\n');
}

/* Writes one sentence: what the choice gains over csr and over the second option, what preparing costs and when that pays. */
static void spmv__explain_reason(spmv__text *text, const spmv_choice *choice)
{
    const spmv_option *option = &choice->option[0], *second = choice->count > 1 ? &choice->option[1] : NULL;
    const int measured = option->measured > 0, csr = spmv__is_csr(choice, option);
    int csr_measured = measured;
    const double own = spmv__option_seconds(option, measured), other = spmv__csr_seconds(choice, &csr_measured);
    const double alike = spmv__option_seconds(option, csr_measured); /* found in the same way as the time of csr */
    uint64_t pays = spmv__pays_after(choice, option->convert, alike, other);
    spmv__put_option(text, choice, option);
    spmv__say(text, " was chosen because a product is %s to take %.*f us", measured ? "measured" : "predicted", SPMV__FIGURE(own * 1e6));
    if (choice->csr > 0 && !csr)
        spmv__say(text, ", %s%.*f times the speed of csr (%.*f us %s)", measured && !csr_measured ? "by estimates " : "",
                  SPMV__FIGURE(other / alike), SPMV__FIGURE(other * 1e6), csr_measured ? "measured" : "predicted");
    if (second) {
        spmv__say(text, ", and it ranks at %.*f us, before ", SPMV__FIGURE(option->cost * 1e6));
        spmv__put_option(text, choice, second);
        spmv__say(text, " at %.*f us", SPMV__FIGURE(second->cost * 1e6));
    }
    if (choice->csr > 0) spmv__say(text, "; preparing takes about %.*f products of csr", SPMV__FIGURE(option->convert / choice->csr));
    if (pays && !csr) spmv__say(text, ", which pays after %llu products", (spmv__ull)pays);
    else if (choice->csr > 0 && !csr) spmv__put_text(text, ", which does not pay, as csr is no slower");
    spmv__put_text(text, ".\n");
}

/* Writes every inequality of the cocktail, and the plan. */
static void spmv__explain_cocktail(spmv__text *text, const spmv_choice *choice)
{
    const spmv_option *option = choice->option;
    spmv__say(text, "matrix    %llu x %llu, %llu nonzeros\n", (spmv__ull)choice->features.rows, (spmv__ull)choice->features.cols,
              (spmv__ull)choice->features.nnz);
    spmv__say(text, "table     %s%s\n", choice->table, choice->exact ? "" : ", not the device's own");
    if (choice->steps) spmv__put_text(text, choice->steps);
    spmv__put_char(text, '\n');
    spmv__put_option(text, choice, option);
    spmv__put_text(text, " is the plan by the policies of clSpMV");
    if (option->predicted > 0) spmv__say(text, "; by the table a product takes %.*f us", SPMV__FIGURE(option->predicted * 1e6));
    if (option->predicted > 0 && choice->csr > 0) spmv__say(text, ", and with csr %.*f us", SPMV__FIGURE(choice->csr * 1e6));
    spmv__put_text(text, ".\n");
}

SPMV_API size_t spmv_explain(const spmv_choice *choice, char *out, size_t size)
{
    if (!choice) return spmv_print(out, size, "%s", "");
    spmv__text text;
    spmv__text_open(&text, out, size);
    if (choice->tiny > 1) return spmv_print(out, size, "plan      csr: the products that are expected cost less than a choice would\n");
    if (choice->tiny)
        return spmv_print(out, size, "plan      csr: a matrix of up to %d bytes costs less than a choice would\n", (int)SPMV_TINY_BYTES);
    if (!choice->count && !choice->table[0]) return spmv_print(out, size, "plan      as it was given\n");
    if (!choice->count) return spmv_print(out, size, "plan      nothing is known of any format for this matrix\n");
    if (!choice->option[0].count) {
        spmv__explain_cocktail(&text, choice);
        return spmv__text_close(&text);
    }
    spmv__explain_features(&text, &choice->features);
    spmv__say(&text, "table     %s%s\n", choice->table, choice->exact ? "" : ", not the device's own");
    if (choice->error > 0) spmv__say(&text, "error     estimates err by a factor of %.2f\n", spmv__exp2(choice->error));
    if (choice->call > choice->option[0].predicted)
        spmv__say(&text, "launch    at least %.*f us a product, unless products are recorded in a graph\n",
                  SPMV__FIGURE(choice->call * 1e6));
    spmv__put_char(&text, '\n');
    spmv__explain_table(&text, choice);
    spmv__explain_costs(&text, &choice->option[0]);
    if (choice->val == 32) spmv__put_text(&text, "values    all are floats: with val=32 each takes 4 bytes\n");
    if (choice->val == 8) spmv__put_text(&text, "values    at most 255: with val=8 each takes a byte and a look-up in a dictionary\n");
    if (choice->val == 1) spmv__put_text(&text, "values    all are equal: with val=1 they take no bytes, in formats with fill one\n");
    if (choice->vectors > 1)
        spmv__say(&text, "vectors   %u, %s\n", choice->vectors, choice->at_once ? "up to 8 at once" : "one by one");
    spmv__explain_reason(&text, choice);
    return spmv__text_close(&text);
}

SPMV_API size_t spmv_option_print(const spmv_choice *choice, int i, char *out, size_t size)
{
    if (!choice || i < 0 || i >= choice->count) return spmv_print(out, size, "%s", "");
    if (!choice->option[i].count) return spmv_plan_print(&choice->plan, out, size);
    return spmv__print_parts(choice->option[i].part, choice->option[i].count, out, size);
}

#endif
