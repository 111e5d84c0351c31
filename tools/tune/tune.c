/* SPDX-License-Identifier: MIT
 *
 * tools/tune/tune.c - spmv tune: measures layouts and variants on generated matrices and writes a tuning table (spmv_table.h).
 * This is the offline benchmarking stage of clSpMV 3.2, which took half a day. Here candidates that cannot win are dropped after a few
 * probes, and what matters most is measured first, so that any budget gives a table. The phases:
 *
 *   layouts  every layout with default knobs at the probes, which are a few sizes; those without hope are dropped
 *   knobs    one knob after another of the leading layouts
 *   grid     the remaining candidates at all sizes, every other one first
 *   again    outliers once more
 */
#include "../cli/cli.h"
#include "../cli/memory.h"
#include "../cli/options.h"
#include "../cmd/commands.h"
#include "../measure/device.h"
#include "../measure/runner.h"
#include "../measure/values.h"
#include "candidates.h"
#include "journal.h"
#include "knobs.h"
#include "merge.h"
#include "phases.h"
#include "probe.h"
#include "sample.h"
#include "table.h"
#include "workload.h"
#include "spmv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Writes x of the current type to the device. It is as long as the longest; every matrix uses a beginning of it. DONE or FAILED. */
static int tune_inputs(tuner *u)
{
#ifndef SPMV_NO_DEVICES
    uint64_t n = u->head.rows_at[u->head.rows - 1], k;
    size_t width = spmv_vector_size(u->type);
    void *x;
    spmv_status s;
    if (n < tune_per[TUNE_PER - 1]) n = tune_per[TUNE_PER - 1];
    if (!u->device) return DONE;
    x = malloc((size_t)n * width);
    if (!x) return cli_no_memory(u->t);
    for (k = 0; k < n; k++) value_put(u->type, x, k, workload_value(k, 4));
    s = spmv_buffer_write(u->device, u->run.device_x, n * width, x);
    free(x);
    if (s != SPMV_OK) return cli_complain(u->t, "cannot copy x: %s", spmv_status_text(s));
#else
    (void)u;
#endif
    return DONE;
}

/* Measures the head's launch: the time of a product with a single nonzero. DONE or FAILED. */
static int tune_launch(tuner *u)
{
    static const uint64_t ptr[2] = {0, 1};
    static const uint32_t col[1] = {0};
    static const double one[1] = {1};
    static const float short_one[1] = {1};
    double x = 1, y = 0, took = 0;
    spmv_csr a;
    spmv_desc desc;
    runner r;
    spmv_status s;
    memset(&a, 0, sizeof a);
    memset(&desc, 0, sizeof desc);
    a.rows = a.cols = a.nnz = 1;
    a.ptr = ptr;
    a.col = col;
    a.type = desc.type = SPMV_F64;
    a.val = one;
#ifndef SPMV_NO_DEVICES
    if (u->device && !u->device->info.f64) {
        a.type = desc.type = SPMV_F32;
        a.val = short_one;
    }
#endif
    (void)short_one;
    desc.csr = &a;
    desc.device = u->device;
    desc.hooks = u->t->hooks;
    s = runner_open(&r, u->t, &desc, &x, &y);
    if (s == SPMV_OK) s = sample_many(&r, 0.25, &took);
    runner_close(&r);
    if (took > 0 && (!(u->head.launch > 0) || took < u->head.launch)) u->head.launch = took;
    return s == SPMV_OK ? DONE : FAILED;
}

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
    if (tune_inputs(u) != DONE) return FAILED;
    candidate_add_layouts(u);
    tune_phase(u, "layouts", share * 0.2, now + time * 0.4);
    phase_layouts(u);
    if (knobs) {
        tune_phase(u, "knobs", share * 0.35, now + time * 0.55);
        knob_variants(u);
    }
    tune_phase(u, "grid", share * (knobs ? 0.4 : 0.75), now + time * 0.92);
    phase_grid(u, GRID_FRONT | GRID_FLAT, 0, 0.3);
    phase_grid(u, GRID_FRONT, 0.3, 0.3);
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
    for (type = 0; type < SPMV_TYPE_COUNT; type++) left += (int)(types >> type & 1u);
    for (type = 0; type < SPMV_TYPE_COUNT && result == DONE; type++) {
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

/* Measures the head's figures again, some time after the first time; the best ones count. */
static int tune_speed(tuner *u)
{
#ifndef SPMV_NO_DEVICES
    if (u->device) probe_device_bandwidth(u, u->device->info.type != SPMV_DEVICE_CPU);
#endif
    if (!u->device) probe_host_bandwidth(u);
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
                (unsigned)rows, (unsigned)bytes, cli_seconds() - u->begun, u->complete ? "" : "; --resume continues");
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

/* Sets the sizes that are measured, with at most rows_max rows except for the smallest. */
static void tuner_sizes(tuner *u, uint64_t rows_max)
{
    int i;
    for (i = 0; i < TUNE_ROWS; i++)
        if (!i || tune_rows[i] <= rows_max) u->head.rows_at[u->head.rows++] = tune_rows[i];
    for (i = 0; i < TUNE_PER; i++) u->head.per_row_at[u->head.per_row++] = tune_per[i];
}

/* Opens the device and measures the head of the table. The host's memory is slower and its caches are smaller than a GPU's, so that
 * smaller matrices are enough there. DONE, or FAILED after a message. */
static int tuner_open(tuner *u, const arguments *args)
{
    time_t now = time(NULL);
    struct tm utc;
    if (device_open(u->t, args->value[OPT_DEVICE], &u->device) != DONE) return FAILED;
    if (gmtime_r(&now, &utc)) strftime(u->head.date, sizeof u->head.date, "%Y-%m-%d", &utc);
    u->most = (uint64_t)1 << 22;
#ifndef SPMV_NO_DEVICES
    if (u->device && u->device->info.type != SPMV_DEVICE_CPU) u->most = (uint64_t)1 << 24;
    if (u->device && probe_device(u) != DONE) return FAILED;
#endif
    if (!u->device) probe_host(u);
    if (tune_launch(u) != DONE) return FAILED;
    probe_print(u);
    return DONE;
}

/* Bits 1u << type of the types that --type names. */
static unsigned tune_what(tool *t, const arguments *args, int *result)
{
    if (!args->value[OPT_TYPE] || !strcmp(args->value[OPT_TYPE], "all")) return 1u << SPMV_F64 | 1u << SPMV_F32;
    return 1u << option_type(t, args, result);
}

/* Measures a device and writes its table. types: bits of the types; budget: seconds, 0: no limit. */
static int tune_run(tool *t, const arguments *args, unsigned types, double budget, uint64_t rows_max)
{
    tuner *u = (tuner *)calloc(1, sizeof *u);
    int result;
    if (!u) return cli_no_memory(t);
    u->t = t;
    u->patience = budget > 0 && budget < 500 ? budget / 2000 : 0.25;
    u->complete = 1;
    u->at = u->slots;
    u->head.hooks = t->hooks;
    cli_progress_begin(t);
    tuner_sizes(u, rows_max);
    result = journal_begin(u, args->value[OPT_OUT], args->value[OPT_RESUME] != NULL);
    if (result == DONE) result = tuner_open(u, args);
#ifndef SPMV_NO_DEVICES
    if (u->device && !u->device->info.f64) types &= 1u << SPMV_F32;
#endif
    if (result == DONE) result = journal_open(u, args->value[OPT_RESUME] != NULL);
    u->begun = cli_seconds();
    u->end = u->until = budget > 0 ? u->begun + budget : 1e300;
    if (result == DONE) result = tune_types(u, types);
    if (result == DONE && u->failures < TUNE_FAILURES) result = tune_speed(u);
    if (result == DONE) result = tune_finish(u, args->value[OPT_OUT]);
    journal_close(u, result);
    tuner_free(u);
    free(u);
    return result;
}

int tune_command(tool *t, const arguments *args)
{
    int result = DONE;
    unsigned types = tune_what(t, args, &result);
    double budget = option_real(t, args, OPT_BUDGET, 0, 0.001, 1e9, &result); /* seconds */
    uint64_t rows = option_count(t, args, OPT_ROWS_MAX, UINT64_C(1) << 53, 1024, UINT64_C(1) << 53, &result);
    if (result != DONE) return result;
    if (args->value[OPT_MERGE] && args->value[OPT_COMPARE]) return cli_misuse(t, "--merge and --compare cannot be combined");
    if (!args->value[OPT_MERGE] && !args->value[OPT_COMPARE] && args->files)
        return cli_misuse(t, "unexpected argument '%s'", args->file[0]);
    if (args->value[OPT_MERGE] && args->files < 1) return cli_misuse(t, "--merge requires tables");
    if (args->value[OPT_MERGE]) return merge_tables(t, args);
    if (args->value[OPT_COMPARE]) return merge_compare(t, args);
    return tune_run(t, args, types, budget, rows);
}
