/* SPDX-License-Identifier: MIT
 *
 * tools/tune/tune.c - spmv tune: measures layouts and variants on generated matrices and writes a tuning table (spmv_table.h).
 * This is the offline benchmarking stage of clSpMV 3.2, which took half a day. Here candidates that cannot win are dropped after a few
 * probes, and what matters most is measured first. The phases:
 *
 *   layouts  every layout with default knobs at the probes, which are a few sizes, one of each format after another; those without hope
 *            are dropped
 *   knobs    one knob after another of the leading layouts
 *   grid     the remaining candidates at all sizes, every other one first; those that led at some size before the others
 *   again    outliers once more
 *
 * With less time than a table needs, a table that exists is corrected instead, by default the one that "auto" uses on the device anyway
 * (prior.h, fit.h): all its speeds change in proportion to those of memory or caches, and its fits follow samples of structures
 * (structures.h). By a table made from nothing in a minute, choices were worse than by that one, because only the few candidates that had
 * been measured could be chosen.
 */
#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/memory.h"
#include "../cli/options.h"
#include "../cli/output.h"
#include "../cmd/commands.h"
#include "../measure/device.h"
#include "../measure/graph.h"
#include "../measure/runner.h"
#include "../measure/values.h"
#include "candidates.h"
#include "fit.h"
#include "journal.h"
#include "knobs.h"
#include "merge.h"
#include "phases.h"
#include "preparing.h"
#include "prior.h"
#include "probe.h"
#include "sample.h"
#include "structures.h"
#include "table.h"
#include "workload.h"
#include "spmv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Times a product of csr with these knobs and one row of n nonzeros side by side. DONE or FAILED. */
static int time_one_row(tuner *u, uint64_t n, const char *variant, double *took)
{
    uint64_t ptr[2] = {0, n}, k;
    uint32_t *col = (uint32_t *)malloc((size_t)n * sizeof *col);
    double *numbers = (double *)malloc((size_t)n * sizeof *numbers), y = 0; /* as many zeros in every type */
    spmv_csr a;
    spmv_desc desc;
    runner r;
    spmv_status s = col && numbers ? SPMV_OK : SPMV_ERR_MEMORY;
    memset(&a, 0, sizeof a);
    memset(&desc, 0, sizeof desc);
    for (k = 0; k < n && s == SPMV_OK; k++) {
        col[k] = (uint32_t)k;
        numbers[k] = 0;
    }
    a.rows = 1;
    a.cols = a.nnz = n;
    a.ptr = ptr;
    a.col = col;
    a.type = desc.type = SPMV_F64;
#ifndef SPMV_NO_DEVICES
    if (u->device && !u->device->info.f64) a.type = desc.type = SPMV_F32;
#endif
    a.val = numbers;
    desc.csr = &a;
    desc.plan = "csr";
    desc.variant = variant;
    desc.device = u->device;
    desc.hooks = u->t->hooks;
    if (s == SPMV_OK) {
        s = runner_open(&r, u->t, &desc, numbers, &y);
        if (s == SPMV_OK) s = sample_many(&r, 0.25, took);
        runner_close(&r);
    }
    free(col);
    free(numbers);
    return s == SPMV_OK ? DONE : FAILED;
}

/* Lowers *least to the time of a product with a single nonzero. DONE or FAILED. */
static int time_smallest(tuner *u, double *least)
{
    double took = 0;
    int result = time_one_row(u, 1, NULL, &took);
    if (took > 0 && (!(*least > 0) || took < *least)) *least = took;
    return result;
}

/* Measures the head's launch and, where products are timed in graphs, what a call takes. DONE or FAILED. */
static int tune_launch(tuner *u)
{
    int result = time_smallest(u, &u->head.launch);
    if (result != DONE || !u->t->graph) return result;
    u->t->graph = 0;
    result = time_smallest(u, &u->head.call);
    u->t->graph = 1;
    return result;
}

/* Measures the head's step on a GPU: what a work-item that goes through a row alone takes for each of its nonzeros, in a short row and
 * beyond. DONE or FAILED. */
static int tune_step(tuner *u)
{
    static const uint64_t near = 512, far = 16384;
    double short_row = 0, long_row = 0;
    if (u->head.device_class != SPMV_DEVICE_CLASS_GPU) return DONE;
    if (time_one_row(u, near, "L=1", &short_row) != DONE || time_one_row(u, far, "L=1", &long_row) != DONE) return FAILED;
    if (short_row <= u->head.launch || long_row <= short_row) return DONE; /* lost in noise: nothing is known of steps */
    u->head.short_steps = near;
    u->head.step = (short_row - u->head.launch) / (double)near;
    u->head.long_step = (long_row - u->head.launch) / (double)far;
    return DONE;
}

#define GRID_SHARE 0.5       /* of the budget, where samples are taken as well */
#define SAMPLE_PATIENCE 0.25 /* of that for a rate of the grid: many samples that err a little fit better than a few exact ones */

/* Begins a phase that is such a share of the whole work and must end at the time until. */
static void tune_phase(tuner *u, const char *name, double share, double until)
{
    u->done += u->share;
    u->share = share;
    u->phase = name;
    u->until = until < u->end ? until : u->end;
}

/* Runs the phases of the current type, which are such a share of the whole work, until end at the latest. DONE or FAILED. */
static int tune_type(tuner *u, double share, double end)
{
    double now = cli_seconds(), time = end - now;
    int knobs = u->device != NULL;
    if (sample_inputs(u) != DONE) return FAILED;
    candidate_add_layouts(u);
    tune_phase(u, "layouts", share * 0.2, now + time * 0.4);
    phase_layouts(u);
    if (knobs) {
        tune_phase(u, "knobs", share * 0.35, now + time * 0.55);
        knob_variants(u);
    }
    tune_phase(u, "grid", share * (knobs ? 0.4 : 0.75), now + time * 0.92);
    phase_grid(u, 1, 0, 0.6);
    phase_grid(u, 0, 0.6, 0.4);
    tune_phase(u, "again", share * 0.05, end);
    phase_again(u);
    return DONE;
}

/* Runs the phases of all types. The first gets more time than each of the others, which begin with the knobs that it found. */
static int tune_types(tuner *u, unsigned types)
{
    int type, left = 0, result = DONE;
    double whole = 1;
    for (type = SPMV_F64; type < SPMV_TYPE_COUNT; type++) left += (int)(types >> type & 1u);
    for (type = SPMV_F64; type < SPMV_TYPE_COUNT && result == DONE; type++) {
        double share = left > 1 ? whole * 1.2 / (left + 0.2) : whole, now = cli_seconds();
        if (!(types >> type & 1u)) continue;
        u->type = (spmv_type)type;
        result = tune_type(u, share, u->end < 1e299 ? now + (u->end - now) * share / whole : u->end);
        whole -= share;
        left--;
    }
    return result;
}

/* Makes a table of all candidates that have a rate and were not struck out. DONE or FAILED. */
static int tune_table(tuner *u, spmv_tuning *out)
{
    size_t i, room = 0;
    int p, points = u->head.rows * u->head.per_row;
    *out = u->head;
    for (i = 0; i < u->count; i++) {
        const candidate *c = &u->c[i];
        spmv_tune_row *r;
        for (p = 0; p < points && !(c->row.rate[p] > 0); p++) continue;
        if (p == points || c->state == STRUCK) continue;
        r = table_add(out, &room);
        if (!r) return cli_no_memory(u->t);
        r->type = c->row.type;
        r->kind = c->row.kind;
        r->layout = c->row.layout;
        memcpy(r->variant, c->row.variant, sizeof r->variant);
        for (p = 0; p < points; p++) r->rate[p] = c->row.rate[p] > 0 ? c->row.rate[p] : 0;
    }
    return DONE;
}

/* Lowers the head's launch to the time of the fastest product of the grid: none takes less, and products in a row may overlap more than
 * those of a single nonzero. */
static void tune_lower_launch(tuner *u)
{
    size_t k;
    int i;
    for (k = 0; k < u->count; k++)
        for (i = 0; i < u->head.rows * u->head.per_row && u->c[k].row.rate; i++) {
            double nnz = (double)u->head.rows_at[i / u->head.per_row] * (double)u->head.per_row_at[i % u->head.per_row];
            double rate = (double)u->c[k].row.rate[i];
            if (rate > 0 && 2e-9 * nnz / rate < u->head.launch) u->head.launch = 2e-9 * nnz / rate;
        }
}

/* Measures the head's figures again, some time after the first time; the best ones count. */
static int tune_speed(tuner *u)
{
#ifndef SPMV_NO_DEVICES
    if (u->device) probe_device_bandwidth(u, u->device->info.type != SPMV_DEVICE_CPU);
#endif
    if (!u->device) probe_host_bandwidth(u);
    tune_lower_launch(u);
    return tune_launch(u);
}

/* Saves the table and prints a summary. */
static int tune_finish(tuner *u, const char *path)
{
    spmv_tuning table;
    size_t rows = 0, bytes = 0;
    int result = tune_table(u, &table);
    cli_progress_clear(u->t);
    if (result == DONE && !table.count) result = cli_complain(u->t, "nothing could be measured");
    if (result == DONE) result = table_save(u->t, &table, path, TABLE_BYTES, &rows, &bytes);
    if (result == DONE)
        fprintf(stderr, "%s: %u candidates, %u rates measured (and %u from the journal), %u struck out; %u rows in %u bytes; %.0f s%s\n",
                u->head.device, (unsigned)u->count, (unsigned)u->samples, (unsigned)u->recalled, (unsigned)u->struck,
                (unsigned)rows, (unsigned)bytes, cli_seconds() - u->begun, u->complete || !*u->journal_path ? "" : "; --resume continues");
    spmv_tuning_free(&table);
    return result;
}

/* Frees everything that the run holds and closes the device. */
static void tuner_free(tuner *u)
{
    size_t i;
    for (i = 0; i < u->count; i++) free(u->c[i].row.rate);
    free(u->c);
    for (i = 0; i < TUNE_SLOTS; i++) {
        slot_empty(&u->slots[i]);
        workload_free(&u->slots[i].w);
    }
    growing_free(&u->past);
#ifndef SPMV_NO_DEVICES
    runner_close_cl(&u->run);
#endif
    device_close(u->t, u->device);
}

/* Opens the device and measures the head of the table. The host's memory is slower and its caches are smaller than a GPU's, so that
 * smaller matrices are enough there. DONE, or FAILED after a message. */
static int tuner_open(tuner *u, const arguments *args)
{
    time_t now = time(NULL);
    struct tm utc;
    if (device_open(u->t, args->value[OPT_DEVICE], &u->device) != DONE) return FAILED;
    u->t->graph = u->head.graph = graph_possible(u->device); /* the host takes longer to launch a kernel at one moment than at the next */
    if (gmtime_r(&now, &utc)) strftime(u->head.date, sizeof u->head.date, "%Y-%m-%d", &utc);
    u->most = (uint64_t)1 << 22;
#ifndef SPMV_NO_DEVICES
    if (u->device && u->device->info.type != SPMV_DEVICE_CPU) u->most = (uint64_t)1 << 24;
    if (u->device && probe_device(u) != DONE) return FAILED;
#endif
    if (!u->device) probe_host(u);
    if (tune_launch(u) != DONE || tune_step(u) != DONE) return FAILED;
    probe_print(u);
    return DONE;
}

/* Bits 1u << type of the types that --type names. */
static unsigned tune_what(tool *t, const arguments *args, int *result)
{
    if (!args->value[OPT_TYPE] || !strcmp(args->value[OPT_TYPE], "all")) return 1u << SPMV_F64 | 1u << SPMV_F32;
    return 1u << option_type(t, args, result);
}

/* Measures the structures with the rows of a table, and fits the table to all samples of the file. DONE, or FAILED after a message. */
static int tune_samples(tuner *u, const char *table, unsigned types, const char *samples)
{
    spmv_tuning t;
    structures_wish wish;
    int result = file_load_table(u->t, table, &t);
    memset(&wish, 0, sizeof wish);
    wish.table = &t;
    wish.types = types;
    wish.path = samples;
    if (result == DONE && strcmp(t.device, u->head.device) != 0)
        result = cli_complain(u->t, "%s is a table of another device: %s", table, t.device);
    if (result == DONE && t.graph && !(t.call > 0)) t.call = u->head.call;
    if (result == DONE && t.graph && !u->t->graph) /* no factor makes times by calls of those in graphs */
        result = cli_complain(u->t, "the table of %s was timed in CUDA graphs, which this device does not have", t.device);
    u->t->graph = u->t->graph && t.graph;
    tune_phase(u, "samples", 1, u->end);
    u->patience *= SAMPLE_PATIENCE;
    if (result == DONE) result = structures_measure(u, &wish);
    spmv_tuning_free(&t);
    return result;
}

/* Says how good the fits of a table are. */
static void fit_print(const spmv_tuning *t, const fit_quality *q, unsigned bytes)
{
    int type;
    fprintf(stderr, "%s: fits of %u candidates to %u samples of %u structures by %u terms. For a structure left out: error %.3f (log2), "
            "%.0f%% of the samples within 0.8 to 1.25", t->device, (unsigned)t->fits, q->samples, q->structures, q->terms, q->error,
            100 * q->good);
    if (t->noise > 0) fprintf(stderr, "; of a measurement around the median of several: %.3f", t->noise);
    for (type = SPMV_F64; type < SPMV_TYPE_COUNT; type++)
        if (q->regret[type] > 0)
            fprintf(stderr, "; the choice over the fastest, %s: geometric mean %.3f, worst %.3f", spmv_type_name((spmv_type)type),
                    q->regret[type], q->worst[type]);
    fprintf(stderr, "; %u bytes\n", bytes);
}

/* Replaces table, of which only the head is read, by the prior moved to the device of that head. from: as for prior_read. DONE, or FAILED
 * after a message. */
static int tune_begin_with(tool *t, spmv_tuning *table, const char *from)
{
    spmv_tuning prior;
    int found, result = prior_read(t, table, from, &prior, &found);
    if (result == DONE && !found)
        result = cli_complain(t, "there is no bundled table of the class %s", spmv_device_class_name(table->device_class));
    if (result != DONE) return result;
    result = prior_move(t, &prior, table);
    if (result != DONE) {
        spmv_tuning_free(&prior);
        return result;
    }
    spmv_tuning_free(table);
    *table = prior;
    return DONE;
}

/* Fits a table to a file of samples and writes it; with from, fits another table with its head. DONE, or FAILED after a message. */
static int tune_fit(tool *t, const char *table, const char *from, const char *samples, const char *out)
{
    spmv_tuning all;
    sample_list list;
    fit_quality q;
    size_t rows, bytes;
    int result = file_load_table(t, table, &all);
    memset(&list, 0, sizeof list);
    if (result == DONE) result = samples_read(t, samples, &list);
    if (result == DONE && strcmp(all.device, list.device) != 0)
        result = cli_complain(t, "%s has samples of another device: %s", samples, list.device);
    if (result == DONE && !list.count) result = cli_complain(t, "%s has no samples", samples);
    if (result == DONE && from) result = tune_begin_with(t, &all, from);
    if (result == DONE && list.graph != all.graph && (list.graph || !from))
        result = cli_complain(t, "%s has samples that were timed %s, but those of the table were timed %s", samples,
                              samples_timed(list.graph), samples_timed(all.graph));
    if (result == DONE) result = (from ? fit_correct : fit_table)(t, &all, &list, &q);
    if (result == DONE) result = table_save(t, &all, out, 0, &rows, &bytes);
    if (result == DONE) fit_print(&all, &q, (unsigned)bytes);
    samples_free(&list);
    spmv_tuning_free(&all);
    return result;
}

/* Measures what preparing costs on the device of a table, and writes the table with that. DONE, or FAILED after a message. */
static int tune_preparing(tuner *u, const char *path, const char *out)
{
    spmv_tuning table;
    size_t rows, bytes;
    int result = file_load_table(u->t, path, &table);
    if (result == DONE && strcmp(table.device, u->head.device) != 0)
        result = cli_complain(u->t, "%s is a table of another device: %s", path, table.device);
    if (result == DONE) result = preparing_measure(u, 1e300);
    table.prepare = u->head.prepare;
    if (result == DONE) result = table_save(u->t, &table, out, 0, &rows, &bytes);
    spmv_tuning_free(&table);
    return result;
}

#define PREPARING_SHARE 0.1 /* of the budget */

/* What a run of tune is to do. */
typedef struct tune_wish {
    unsigned    types;    /* bits 1u << type */
    double      budget;   /* seconds, 0: no limit */
    uint64_t    rows_max;
    int         density;  /* how many numbers of rows, and of nonzeros in a row */
    const char *table;    /* the table whose rows are measured on structures, instead of a new one; NULL: none */
    const char *samples;  /* the file of samples; NULL: none are taken */
    const char *from;     /* the table that is corrected; NULL: the bundled one */
    int         preparing; /* 1: only what preparing costs is measured */
} tune_wish;

/* Below so many seconds a table is corrected, not made. Tables that were made from nothing in 60 and in 195 seconds chose worse on GPUs
 * than the bundled table of an H200 did, for that device itself and for an H100. */
#define WHOLE_TABLE_SECONDS 600

/* 1: the run corrects a table. */
static int tune_corrects(const arguments *args, const tune_wish *w)
{
    if (w->table || args->value[OPT_RESUME] || !(w->budget > 0)) return 0;
    return w->from ? strcmp(w->from, "none") != 0 : w->budget < WHOLE_TABLE_SECONDS;
}

/* Corrects a table by samples of the device whose head is known, and writes it. *found: 0: there is no table, and nothing was done. DONE,
 * or FAILED after a message. */
static int tune_correct(tuner *u, const tune_wish *w, const char *out, int *found)
{
    spmv_tuning table;
    sample_list list;
    fit_quality q;
    structures_wish wish;
    size_t rows, bytes;
    int result = prior_read(u->t, &u->head, w->from, &table, found);
    if (result != DONE || !*found) return result;
    memset(&list, 0, sizeof list);
    memset(&wish, 0, sizeof wish);
    wish.table = &table;
    wish.types = w->types;
    wish.path = w->samples;
    wish.likely = 1;
    wish.taken = &list;
    u->t->graph = u->t->graph && table.graph;
    result = prior_move(u->t, &table, &u->head);
    wish.struck = (unsigned char *)calloc(table.count + 1, 1);
    if (!wish.struck) result = cli_no_memory(u->t);
    tune_phase(u, "samples", 1, u->end);
    u->patience *= SAMPLE_PATIENCE;
    if (result == DONE) result = structures_measure(u, &wish);
    cli_progress_clear(u->t);
    if (result == DONE && !list.count) result = cli_complain(u->t, "nothing could be measured");
    if (result == DONE) table_drop(&table, wish.struck);
    if (result == DONE) result = fit_correct(u->t, &table, &list, &q);
    if (result == DONE) result = table_save(u->t, &table, out, 0, &rows, &bytes);
    if (result == DONE) fit_print(&table, &q, (unsigned)bytes);
    free(wish.struck);
    samples_free(&list);
    spmv_tuning_free(&table);
    return result;
}

/* Measures a device and writes its table. DONE, or FAILED or USAGE after a message. */
static int tune_run(tool *t, const arguments *args, tune_wish w)
{
    const char *out = args->value[OPT_OUT];
    tuner *u = (tuner *)calloc(1, sizeof *u);
    int result, grid = !w.table && !w.preparing, corrects = tune_corrects(args, &w);
    double now;
    if (!u) return cli_no_memory(t);
    u->t = t;
    u->patience = w.budget > 0 && w.budget < 500 ? w.budget / 2000 : 0.25;
    u->complete = 1;
    u->at = u->slots;
    u->head.hooks = t->hooks;
    cli_progress_begin(t);
    tune_sizes(&u->head, w.density, w.rows_max);
    result = grid && !corrects ? journal_begin(u, out, args->value[OPT_RESUME] != NULL) : DONE;
    if (result == DONE) result = tuner_open(u, args);
#ifndef SPMV_NO_DEVICES
    if (u->device && !u->device->info.f64) w.types &= 1u << SPMV_F32;
#endif
    u->begun = now = cli_seconds();
    u->end = u->until = now + w.budget;
    if (result == DONE && w.preparing) result = tune_preparing(u, w.table, out);
    if (result == DONE && (grid || corrects)) result = preparing_measure(u, w.budget > 0 ? now + PREPARING_SHARE * w.budget : 1e300);
    if (result == DONE && corrects) {
        result = tune_correct(u, &w, out, &corrects);
        if (result != DONE || corrects) grid = 0;
        if (corrects) w.samples = NULL;
    }
    if (result == DONE && grid && tune_corrects(args, &w)) result = journal_begin(u, out, 0); /* there was no table to correct */
    if (result == DONE && grid) result = journal_open(u, args->value[OPT_RESUME] != NULL);
    u->end = u->until = w.budget > 0 ? now + w.budget * (w.samples && grid ? GRID_SHARE : 1) : 1e300;
    if (result == DONE && grid) result = tune_types(u, w.types);
    if (result == DONE && u->failures < TUNE_FAILURES && grid) result = tune_speed(u);
    if (result == DONE && grid) result = tune_finish(u, out);
    if (w.budget > 0) u->end = now + w.budget;
    if (result == DONE && w.samples) result = tune_samples(u, grid ? out : w.table, w.types, w.samples);
    if (result == DONE && w.samples) result = tune_fit(t, grid ? out : w.table, NULL, w.samples, out);
    journal_close(u, result);
    tuner_free(u);
    free(u);
    return result;
}

/* Finds out before anything is measured whether the table can be written. DONE, or FAILED after a message. */
static int tune_out(tool *t, const char *path)
{
    output o;
    if (!output_is_file(path)) return DONE;
    if (output_open(&o, t, path) != DONE) return FAILED;
    output_close(&o, FAILED); /* removes the temporary file */
    return DONE;
}

int tune_command(tool *t, const arguments *args)
{
    int result = DONE;
    tune_wish w;
    w.types = tune_what(t, args, &result);
    w.budget = option_real(t, args, OPT_BUDGET, 0, 0.001, 1e9, &result);
    w.rows_max = option_count(t, args, OPT_ROWS_MAX, UINT64_C(1) << 53, 1024, UINT64_C(1) << 53, &result);
    w.density = (int)option_count(t, args, OPT_DENSITY, TUNE_DENSITY, TUNE_DENSITY_LEAST, TUNE_DENSITY_MOST, &result);
    w.table = args->value[OPT_TABLE];
    w.samples = args->value[OPT_SAMPLES];
    w.from = args->value[OPT_FROM];
    w.preparing = args->value[OPT_PREPARING] != NULL;
    t->cache = args->value[OPT_CACHE];
    if (result != DONE) return result;
    if (args->value[OPT_MERGE] && args->value[OPT_COMPARE]) return cli_misuse(t, "--merge and --compare cannot be combined");
    if (!args->value[OPT_MERGE] && !args->value[OPT_COMPARE] && args->files)
        return cli_misuse(t, "unexpected argument '%s'", args->file[0]);
    if (args->value[OPT_MERGE] && args->files < 1) return cli_misuse(t, "--merge requires tables");
    if (args->value[OPT_MERGE]) return merge_tables(t, args);
    if (args->value[OPT_COMPARE]) return merge_compare(t, args);
    if (w.preparing && (!w.table || w.samples || w.from || args->value[OPT_FIT] || args->value[OPT_RESUME] || args->value[OPT_BUDGET]))
        return cli_misuse(t, "--preparing requires --table, and is combined only with --device, --cache and --out");
    if (w.from && (args->value[OPT_RESUME] || (!(w.budget > 0) && !args->value[OPT_FIT])))
        return cli_misuse(t, "--from requires --fit, or --budget without --resume");
    if (w.from && args->value[OPT_FIT] && !strcmp(w.from, "none")) return cli_misuse(t, "--from none cannot be combined with --fit");
    if (w.from && w.table && !args->value[OPT_FIT]) return cli_misuse(t, "--from and --table are combined only with --fit");
    if (w.samples && !w.table && !tune_corrects(args, &w) && !output_is_file(args->value[OPT_OUT]))
        return cli_misuse(t, "--samples requires the table's name (--out)");
    if (args->value[OPT_FIT]) {
        if (!w.table) return cli_misuse(t, "--fit requires --table");
        return tune_fit(t, w.table, w.from, args->value[OPT_FIT], args->value[OPT_OUT]);
    }
    return tune_out(t, args->value[OPT_OUT]) == DONE ? tune_run(t, args, w) : FAILED;
}
