/* SPDX-License-Identifier: MIT
 *
 * spmv/choice/cost.h - the estimate: how long a product with a part takes, by the costs of a tuning table.
 */
#ifndef SPMV__CHOICE_COST_H
#define SPMV__CHOICE_COST_H

#include "../choice.h"
#include "features.h"
#include "table.h"

/* What estimates need: the device's table, and how the matrix will be stored. */
typedef struct spmv__estimator {
    const spmv_csr    *a;
    const spmv_build  *how;
    const spmv_hooks  *hooks;
    const spmv_tuning *tuning;
    spmv_tuning        own;         /* the table if the caller gave none */
    int                exact;       /* 1: the table is the device's own or the caller's */
    spmv_type          type;        /* of the lines that are used */
    unsigned           without;     /* bits of formats that must not be used */
    double             limit;       /* the most bytes that a part may take */
    int                val;         /* the key val of parts that have none; 0: none, 1: one value, but 8 in formats with fill */
    unsigned           vectors;     /* of a product, as hints say */
    double             cache, read; /* MiB of the device's cache and GB/s of its memory if it has less than the table, else those of it */
} spmv__estimator;

/* May the format be used: by the build, the hints, strict mode and reproducibility? */
SPMV__SHARED int spmv__usable(const spmv__estimator *estimator, spmv_format format)
{
    unsigned flags = spmv_format_flags(format);
    if (estimator->without >> format & 1u || !spmv_format_built(format)) return 0;
    if (estimator->how->strict && flags & SPMV_HAS_FILL) return 0;
    return !estimator->how->reproducible || (flags & SPMV_REPEATS);
}

/* The bits of the formats that may not be used. */
static unsigned spmv__unusable(const spmv__estimator *estimator)
{
    unsigned bits = 0;
    int f;
    for (f = 0; f < SPMV_FORMAT_COUNT; f++)
        if (!spmv__usable(estimator, (spmv_format)f)) bits |= 1u << f;
    return bits;
}

/* 1: estimates go by the table of a GPU. */
static int spmv__for_gpu(const spmv__estimator *estimator) { return estimator->tuning->device_class == SPMV_DEVICE_CLASS_GPU; }

static int spmv__is_block(spmv_format format) { return spmv__format_class_of(format) == SPMV_CLASS_BLOCK; }

static double spmv__greater(double a, double b) { return a > b ? a : b; }

/* A part without keys. */
static spmv_spec spmv__plain(spmv_format format)
{
    spmv_spec spec;
    memset(&spec, 0, sizeof spec);
    spec.format = format;
    return spec;
}

/* ---- the table ------------------------------------------------------------------------------------------------------- */

/* For devices without any table of their class: a product takes the time of its bytes, with memory of 30 GB/s. */
static const char *const spmv__general_table =
    "spmv tuning table 2\ndevice any\nclass host\nmemory 30\nprepare 5000 0 0 0\n"
    "f64 csr - 0 1 0 0 0 0 1 0 150\nf64 sell - 0 0.97 0 0 0 0 1 0 2000\nf64 ell - 0 0.97 0 0 0 0 1 0 2000\n"
    "f64 dia - 0 1.1 0 0 0 0 1 0 3000\n"
    "f64 bcsr - 0 1.1 0 0 0 0 1 0 4000\nf64 bcsr:b=3x3 - 0 1.1 0 0 0 0 1 0 4000\nf64 dense - 0 1 0 0 0 0 1 0 2000\n"
    "f32 csr - 0 1 0 0 0 0 1 0 150\nf32 sell - 0 0.97 0 0 0 0 1 0 2000\nf32 ell - 0 0.97 0 0 0 0 1 0 2000\n"
    "f32 dia - 0 1.1 0 0 0 0 1 0 3000\n"
    "f32 bcsr - 0 1.1 0 0 0 0 1 0 4000\nf32 bcsr:b=3x3 - 0 1.1 0 0 0 0 1 0 4000\nf32 dense - 0 1 0 0 0 0 1 0 2000\n";

/* Reads the bundled table to go by: the device's own, one of its class, or the general one. */
static spmv_status spmv__bundled_table(spmv_tuning *out, int *exact, const spmv_target *target, const spmv_hooks *hooks)
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
    return spmv_tuning_create(out, text, length, "the bundled tuning table", hooks);
}

/* The types by whose lines a product of a type is estimated, the first of which the table has any: the type itself, then the one that moves
 * nearly as many bytes. */
static spmv_type spmv__type_of_lines(const spmv_tuning *tuning, spmv_type type)
{
    static const spmv_type order[SPMV_TYPE_COUNT][3] = {
        { SPMV_F64, SPMV_F32, SPMV_MIXED }, /* where the type was left out */
        { SPMV_F64, SPMV_F32, SPMV_MIXED }, { SPMV_F32, SPMV_F64, SPMV_MIXED }, { SPMV_MIXED, SPMV_F32, SPMV_F64 }
    };
    size_t i, k;
    for (i = 0; i < 3; i++)
        for (k = 0; k < tuning->count; k++)
            if (tuning->line[k].type == order[type][i]) return order[type][i];
    return type;
}

/* A table's size of the cache is that of the largest array which was read clearly faster than memory, of sizes of which each is so many
 * times as large as the one before (tools/tune/probe.c), so that it may be above what a device says of itself. */
#define SPMV__CACHE_STEP 1.25

/* What a table says of a device, but no more than what the device says of itself (0: nothing), unless the table is its own. */
static double spmv__at_most(const spmv__estimator *estimator, double table, double device)
{
    return device > 0 && device < table && !estimator->exact ? device : table;
}

static void spmv__estimator_free(spmv__estimator *estimator) { spmv_tuning_destroy(&estimator->own); }

/* Finds the table to go by: the caller's, one that was read before, or the bundled one.
 *   without  bits of formats that must not be used
 *   given    the caller's table; NULL: the bundled one for the device
 * Free estimator with spmv__estimator_free, also after a failure. */
static spmv_status spmv__estimator_make(spmv__estimator *estimator, const spmv_csr *a, const spmv_build *how, const spmv_target *target,
                                        const spmv_tuning *given, unsigned without, const spmv_hooks *hooks)
{
    spmv_status s = SPMV_OK;
    memset(estimator, 0, sizeof *estimator);
    estimator->a = a;
    estimator->how = how;
    estimator->hooks = hooks;
    estimator->without = without;
    estimator->limit = (double)spmv__most_bytes(a, how->max_bytes);
    estimator->exact = given ? 1 : target && target->table ? target->exact : 0;
    estimator->tuning = given ? given : target && target->table ? target->table : &estimator->own;
    if (estimator->tuning == &estimator->own) s = spmv__bundled_table(&estimator->own, &estimator->exact, target, hooks);
    if (s) return s;
    estimator->type = spmv__type_of_lines(estimator->tuning, how->type);
    estimator->cache = spmv__at_most(estimator, estimator->tuning->cache, target ? SPMV__CACHE_STEP * (double)target->cache / 1048576 : 0);
    estimator->read = spmv__at_most(estimator, estimator->tuning->read, target ? target->read : 0);
    return SPMV_OK;
}

/* The value of a key by which parts are alike: a list of rows changes little, and blocks have a size without a key as well. */
static int64_t spmv__key_alike(const spmv_spec *spec, spmv_key key)
{
    if (key == SPMV_KEY_ROWS && spec->key[key] == SPMV_ROWS_NONEMPTY) return 0;
    if (key == SPMV_KEY_B && spmv__is_block(spec->format)) return spmv__block_height(spec) << 8 | spmv__block_width(spec);
    return spec->key[key];
}

/* How much a line of the table tells of a part: more, the more they have in common. */
static int spmv__likeness(const spmv_candidate *candidate, const spmv_spec *spec, const char *variant)
{
    static const spmv_key keys[] = { SPMV_KEY_B, SPMV_KEY_ROWS, SPMV_KEY_RUN, SPMV_KEY_TILE, SPMV_KEY_IDX };
    int like = candidate->layout.format == spec->format ? 64 : 0;
    size_t i;
    if (spmv__is_block(candidate->layout.format) && spmv__is_block(spec->format)) like += 32;
    for (i = 0; i < sizeof keys / sizeof *keys; i++) {
        const int64_t own = spmv__key_alike(&candidate->layout, keys[i]), other = spmv__key_alike(spec, keys[i]);
        like += (own == other) + 2 * (!own == !other);
    }
    like += spmv__height(&candidate->layout) == spmv__height(spec);
    return 2 * like + !strcmp(candidate->variant, variant ? variant : "");
}

/* The line of the table that is most like a part; NULL: the table has none but of formats that it is unlike. Where no line is of its
 * format, nor of blocks as it is, csr stands in, as what a format costs beside its bytes is in the first place what x does. */
static const spmv_candidate *spmv__line_for(const spmv__estimator *estimator, const spmv_spec *spec, const char *variant)
{
    const spmv_candidate *best = NULL;
    const spmv_spec csr = spmv__plain(SPMV_CSR);
    size_t i;
    int like = 63, now; /* less: neither of the same format nor both of blocks */
    for (i = 0; i < estimator->tuning->count; i++) {
        const spmv_candidate *candidate = &estimator->tuning->line[i];
        if (candidate->type != estimator->type || (now = spmv__likeness(candidate, spec, variant)) <= like) continue;
        like = now;
        best = candidate;
    }
    return best || spec->format == SPMV_CSR ? best : spmv__line_for(estimator, &csr, NULL);
}

/* The error of tables that do not say it, as log2. */
#define SPMV__ERROR_UNKNOWN 0.5

/* ---- the cost of a part --------------------------------------------------------------------------------------------- */

/* Seconds to read bytes: from the cache, as long as all of them fit there beside x, y and the rest, else from memory. Padding that is
 * skipped lies between the bytes that are read, so that all may be more than bytes. */
static double spmv__read_seconds(const spmv__estimator *estimator, double all, double bytes)
{
    const double served = 0.7, gone = 0.9; /* of the cache's size: up to the first all bytes are read from it, from the second on none */
    const double slow = bytes / (estimator->read * 1e9);
    double fast, out;
    if (!(estimator->cache > 0) || !(estimator->tuning->cache_read > estimator->read)) return slow;
    fast = bytes / (estimator->tuning->cache_read * 1e9);
    out = (all / (estimator->cache * 1048576) - served) / (gone - served);
    return out <= 0 ? fast : out >= 1 ? slow : fast + out * (slow - fast);
}

/* The number of a knob such as "L=" in the text of a variant; 0 if it is not there. */
static double spmv__knob_in(const char *variant, const char *name)
{
    const char *at = strstr(variant, name);
    int64_t v;
    while (at && at > variant && at[-1] != ',') at = strstr(at + 1, name);
    return at && spmv__whole(at + strlen(name), &v) ? (double)v : 0;
}

/* The lanes that share a row, block row, strip or run on a GPU: as its knobs say, else by default. */
static double spmv__lanes(const spmv__estimator *estimator, const spmv_spec *spec, const char *variant, const spmv__load *load)
{
    double lanes = spmv__knob_in(variant, "L="), group = spmv__knob_in(variant, "WG="), rows = load->rows > 1 ? load->rows : 1, mean;
    uint64_t block = spmv__is_block(spec->format) ? (uint64_t)(spmv__block_height(spec) * spmv__block_width(spec)) : 1;
    if (lanes >= 1) return lanes;
    if (spmv__longest_run(spec) > 0) return group >= 1 ? group : SPMV__RUN_GROUP;
    if (spmv__is_block(spec->format)) rows /= (double)spmv__block_height(spec);
    else if (spec->format == SPMV_CMRS) rows /= (double)spmv__height(spec);
    if (rows < 1) rows = 1;
    mean = load->slots / rows;
    return (double)spmv__lanes_by_default(spmv__trait[spec->format]->lanes, (uint64_t)rows, (uint64_t)mean, block, estimator->tuning->units,
                                          group >= 1 ? (uint64_t)group : (uint64_t)SPMV__UNIT_GROUP);
}

/* Seconds that the longest row alone takes, or on a GPU the longest run of csr; 0 if the row is divided among groups in another way. On a
 * GPU its lanes go through it step by step, each waiting for memory, and nothing is known unless the table has the time of a step. On a CPU
 * one core does all of it, at its share of the speed of all, at which the part takes so many seconds. */
static double spmv__chain_seconds(const spmv__estimator *estimator, const spmv_spec *spec, const char *variant, const spmv__load *load,
                                  double seconds)
{
    const spmv_tuning *tuning = estimator->tuning;
    const double most = spmv__longest_run(spec), piece = (double)spec->key[SPMV_KEY_RUN];
    const double longest = most > 0 && load->longest > most ? piece : load->longest; /* longer rows are cut into pieces */
    const int even = spmv__spec_even(spec);
    double steps;
    if (tuning->device_class != SPMV_DEVICE_CLASS_GPU)
        return !even && tuning->units > 0 && load->slots > 0 ? load->longest * seconds / load->slots * (double)tuning->units : 0;
    if (even && !(most > 0)) return 0;
    steps = spmv__spec_steps(spec, longest, (int)spmv_value_size(estimator->how->type)) / spmv__lanes(estimator, spec, variant, load);
    return steps * (steps < (double)tuning->short_steps ? tuning->step : tuning->long_step);
}

/* The key val that a part gets where a matrix gets key: one value for all has none for fill, and csr in runs, whose products pass through
 * local memory, gains nothing by codes ([M23] of docs/measurements.md). */
static int spmv__val_of(int key, const spmv_spec *spec)
{
    if (key < 32 && spec->format == SPMV_CSR && spec->key[SPMV_KEY_RUN]) return 0;
    return key == 1 && spmv_format_flags(spec->format) & SPMV_HAS_FILL ? 8 : key;
}

/* Bytes of a value as a part stores it; the host stores codes as the values that they stand for. */
static double spmv__stored_bytes(const spmv__estimator *estimator, const spmv_spec *spec)
{
    const int own = (int)spec->key[SPMV_KEY_VAL], key = own ? own : spmv__val_of(estimator->val, spec);
    const int codes = (key == 1 || key == 8) && estimator->tuning->device_class != SPMV_DEVICE_CLASS_HOST;
    return codes ? (double)(key / 8) : key == 32 ? sizeof(float) : (double)spmv_value_size(estimator->how->type);
}

/* The scattered reads of x: one for each nonzero that is not near the one before, or for each block. */
static double spmv__scattered_reads(const spmv_spec *spec, const spmv__load *load)
{
    return load->gather * (spmv__is_block(spec->format) ? (load->slots - load->skipped) / (double)spmv__block_height(spec) : load->nnz);
}

/* The bytes of a part, of which so many slots count, of its elements of y and of those of x that it reads. */
static double spmv__slots_bytes(const spmv__estimator *estimator, const spmv_spec *spec, const spmv__load *load, double slots)
{
    const double vector = (double)spmv_vector_size(estimator->how->type), cols = (double)estimator->a->cols;
    return slots * (spmv__stored_bytes(estimator, spec) + spmv__spec_index_bytes(spec)) + load->rows * vector + load->extra +
           (cols < load->nnz ? cols : load->nnz) * vector;
}

/* Fills in of what the costs are multiplied by. On a GPU, what passes through the cache besides counts as well: padding that is skipped and
 * the nonzeros of other parts; processors have several levels of caches, so that it is less clear there. */
static void spmv__cost_of(const spmv__estimator *estimator, const spmv_spec *spec, const char *variant, const spmv__load *load,
                          double of[SPMV_COST_COUNT])
{
    const double others = spmv__greater((double)estimator->a->nnz - load->nnz,
                                        0) * (spmv__stored_bytes(estimator, spec) + sizeof(uint32_t));
    const double bytes = spmv__slots_bytes(estimator, spec, load, load->slots - load->skipped);
    const int gpu = spmv__for_gpu(estimator);
    of[SPMV_COST_LAUNCH] = estimator->tuning->launch;
    of[SPMV_COST_BYTES] = spmv__read_seconds(estimator, gpu ? spmv__slots_bytes(estimator, spec, load, load->slots) + others : bytes,
                                             bytes);
    of[SPMV_COST_READS] = spmv__scattered_reads(spec, load);
    of[SPMV_COST_SLOTS] = load->slots - load->skipped;
    of[SPMV_COST_ROWS] = load->rows;
    of[SPMV_COST_UNEVEN] = load->uneven * (estimator->tuning->device_class == SPMV_DEVICE_CLASS_HOST ? load->rows : load->nnz);
    of[SPMV_COST_CHAIN] = spmv__chain_seconds(estimator, spec, variant, load, of[SPMV_COST_BYTES]);
}

/* Looking up a value in a dictionary takes as long as reading so many bytes from the cache; fitted to five matrices ([M23] of
 * docs/measurements.md). */
#define SPMV__LOOK_UP_BYTES 4

/* Seconds that the look-ups of a part with codes take, which no line of a table has. */
static double spmv__look_ups(const spmv__estimator *estimator, const spmv_spec *spec, const spmv__load *load)
{
    const double rate = spmv__greater(estimator->tuning->cache_read, estimator->read) * 1e9;
    return spmv__stored_bytes(estimator, spec) == 1 ? (load->slots - load->skipped) * SPMV__LOOK_UP_BYTES / rate : 0;
}

/* The vectors that are multiplied at once. */
#define SPMV__TOGETHER 8

/* An element of a further vector comes out of a cache that is so many times as fast as the one that all units share ([M24]). */
#define SPMV__NEAR_CACHE 2

/* Several vectors side by side take csr on the host so many times less than one by one ([M27]). */
#define SPMV__HOST_TOGETHER 3.3

/* Are several vectors multiplied at once in that layout? On the host only in csr, as far as it has all rows in their order. */
static int spmv__at_once(const spmv__estimator *estimator, const spmv_spec *spec)
{
    if (estimator->tuning->device_class != SPMV_DEVICE_CLASS_HOST) return spec->format != SPMV_COO && spec->format != SPMV_TCSR;
    return spec->format == SPMV_CSR && !spec->key[SPMV_KEY_RUN] && !spec->key[SPMV_KEY_ROWS] && !estimator->how->reproducible;
}

/* Seconds of a product with several vectors, where one with one vector takes so many. On devices csr without runs counts as one by one,
 * since its lanes wait for the longest row so many times as long, which no cost of a table knows ([M24]). */
static double spmv__many_seconds(const spmv__estimator *estimator, const spmv_spec *spec, const spmv__load *load, double one)
{
    const double vectors = estimator->vectors, passes = (double)spmv__ceil_div(estimator->vectors, SPMV__TOGETHER);
    const double size = (double)spmv_vector_size(estimator->how->type), cols = (double)estimator->a->cols;
    const double near_cache = SPMV__NEAR_CACHE * spmv__greater(estimator->tuning->cache_read, estimator->read);
    double further;
    if (vectors < 2) return one;
    if (!spmv__at_once(estimator, spec)) return vectors * one;
    if (estimator->tuning->device_class == SPMV_DEVICE_CLASS_HOST) return vectors * one / SPMV__HOST_TOGETHER;
    if (spec->format == SPMV_CSR && !spec->key[SPMV_KEY_RUN]) return vectors * one;
    further = (load->rows + (cols < load->nnz ? cols : load->nnz)) / estimator->read + (load->slots - load->skipped) / near_cache;
    return passes * one + (vectors - passes) * size * further * 1e-9;
}

/* Estimates a product with a part that costs what a line of the table says. On a GPU it takes no less than its bytes or its longest row do;
 * processors have faster caches than the one of the table. */
static double spmv__cost_parts(const spmv__estimator *estimator, const spmv_candidate *candidate, const spmv_spec *spec,
                               const spmv__load *load, spmv_estimate *out)
{
    double sum = 0;
    int i;
    memset(out, 0, sizeof *out);
    spmv__cost_of(estimator, spec, candidate->variant, load, out->of);
    for (i = 0; i < SPMV_COST_COUNT; i++) sum += out->share[i] = candidate->cost[i] * out->of[i];
    sum += spmv__look_ups(estimator, spec, load);
    if (spmv__for_gpu(estimator))
        sum = spmv__greater(sum, spmv__greater(out->of[SPMV_COST_BYTES], out->of[SPMV_COST_CHAIN]));
    return out->seconds = spmv__many_seconds(estimator, spec, load, sum);
}

/* May a part with so many slots be stored, as far as the size of its values shows? */
static int spmv__fits(const spmv__estimator *estimator, double slots)
{
    return slots * (double)spmv_value_size(estimator->how->type) <= estimator->limit;
}

/* Estimates a part of that layout for all of the view. 0: it makes no sense there, is too large, or *s is a failure. */
SPMV__SHARED int spmv__load_of(const spmv__estimator *estimator, const spmv_spec *spec, const spmv__analysis *analysis,
                               const spmv_features *features, spmv__load *out, spmv_status *s)
{
    *s = spmv__spec_estimate(spec, analysis, features, out);
    if (*s == SPMV_ERR_UNSUPPORTED) {
        *s = SPMV_OK;
        return 0;
    }
    return !*s && spmv__fits(estimator, out->slots);
}

/* ---- the estimate of any plan --------------------------------------------------------------------------------------- */

/* Of the counted slots of a block format those that a product reads: bell stores a multiple of 32 block rows. */
static double spmv__read_slots(const spmv_spec *spec, double slots, double rows)
{
    double block_rows = (double)spmv__ceil_div((uint64_t)rows, (uint64_t)spmv__block_height(spec));
    if (spmv__trait[spec->format]->pads != SPMV__PADS_ALL || rows <= 0) return slots;
    return slots * block_rows / (double)spmv__round_up((uint64_t)block_rows, 32);
}

/* Estimates one part that takes all of the view that analysis looks at. Its slots and bytes are counted. A part that would be refused gets
 * no seconds. features: the features that its format needs. */
static spmv_status spmv__part_counted(const spmv__estimator *estimator, const spmv_spec *spec, const char *variant,
                                      const spmv__analysis *analysis, const spmv_features *features, spmv_estimate *out)
{
    const spmv_candidate *candidate = spmv__line_for(estimator, spec, variant);
    spmv__load load;
    spmv_hooks quiet = { NULL, NULL, NULL, NULL, 0, 0 };
    uint64_t slots = 0, bytes = 0;
    double held;
    spmv_status s = spmv__spec_estimate(spec, analysis, features, &load);
    memset(out, 0, sizeof *out);
    if (!s) {
        if (estimator->hooks) quiet = *estimator->hooks;
        quiet.log = spmv__hush;
        s = spmv__part_weigh(spec, analysis->view, estimator->how, &quiet, &slots, &bytes);
    }
    if (s == SPMV_ERR_UNSUPPORTED || s == SPMV_ERR_TOO_LARGE || s == SPMV_ERR_OVERFLOW || s == SPMV_ERR_STRICT) return SPMV_OK;
    if (s) return s;
    if (spmv__is_block(spec->format)) {
        held = load.slots - load.skipped;
        load.slots = spmv__read_slots(spec, (double)slots, (double)analysis->view->a->rows);
        load.skipped = load.skipped > 0 && load.slots > held ? load.slots - held : 0;
    }
    if (candidate) spmv__cost_parts(estimator, candidate, spec, &load, out);
    out->slots = slots;
    out->bytes = bytes;
    out->skipped = load.skipped;
    return SPMV_OK;
}

/* Looks at a view and estimates one part that takes all of it. features: becomes what was seen. */
static spmv_status spmv__part_estimate(const spmv__estimator *estimator, const spmv_spec *spec, const char *variant, const spmv_view *view,
                                       spmv_features *features, spmv_estimate *out)
{
    spmv__analysis analysis;
    spmv_status s = spmv__analysis_make(&analysis, view, estimator->tuning->device_class, estimator->hooks);
    memset(out, 0, sizeof *out);
    if (s) return s;
    s = spmv__analysis_features(&analysis, features, 0, ~(1u << spec->format), NULL);
    if (!s) s = spmv__part_counted(estimator, spec, variant, &analysis, features, out);
    spmv__analysis_free(&analysis);
    return s;
}

/* Appends the knobs of part i to the text of a variant. */
static void spmv__add_variant(char *text, size_t size, int i, const char *variant)
{
    const size_t n = strlen(text);
    spmv_print(text + n, size - n, "%s%s", i ? "+" : "", variant);
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
    spmv__estimator estimator;
    spmv_split split;
    spmv_features features;
    int i;
    spmv_status s = spmv__plan_check(plan, how->strict, hooks);
    if (!s && (unsigned)how->type >= SPMV_TYPE_COUNT) s = spmv_log(hooks, SPMV_ERR_ARGUMENT, "type %d is unknown", (int)how->type);
    if (s) return s;
    memset(out, 0, (size_t)plan->count * sizeof *out);
    s = spmv__estimator_make(&estimator, a, how, target, tuning, 0, hooks);
    if (!s) s = spmv_split_create(&split, plan, a, hooks);
    if (!s) {
        for (i = 0; i < split.count && !s; i++) {
            spmv_view view = spmv_split_view(&split, a, i);
            variant = spmv__part_variant(variant, knobs);
            s = spmv__part_estimate(&estimator, &plan->part[i], knobs, &view, &features, &out[i]);
        }
        spmv_split_destroy(&split);
    }
    spmv__estimator_free(&estimator);
    if (s) memset(out, 0, (size_t)plan->count * sizeof *out);
    return s;
}

#endif
