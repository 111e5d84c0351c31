/* SPDX-License-Identifier: MIT */
#include "bench.h"

#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/options.h"
#include "bench_again.h"
#include "bench_lines.h"
#include "commands.h"
#include "../measure/device.h"
#include "../measure/graph.h"
#include "../measure/plans.h"
#include "../measure/reference.h"
#include "../measure/runner.h"
#include "../measure/team.h"
#include "../measure/values.h"
#include "spmv.h"
#include "spmv_group.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- interruptions --------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t bench_stopped; /* 1: no further plan may begin */

static void bench_signal(int number)
{
    (void)number;
    bench_stopped = 1;
}

/* From now on the first signal ends the work after the current plan, so that the table of what was timed is printed; the second ends
 * the program. A signal that is ignored (nohup) stays ignored. */
static void bench_catch(int number)
{
    struct sigaction now;
    if (sigaction(number, NULL, &now) != 0 || now.sa_handler == SIG_IGN) return;
    memset(&now, 0, sizeof now);
    now.sa_handler = bench_signal;
    now.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&now.sa_mask);
    sigaction(number, &now, NULL);
}

/* ---- one plan -------------------------------------------------------------------------------------------------- */

void bench_line_rates(line *out, uint64_t nnz, timing took)
{
    out->took = took;
    out->gflops = took.median > 0 ? 2e-9 * (double)nnz / took.median : NAN;
    out->gbs = took.median > 0 ? 1e-9 * out->bytes / took.median : NAN;
}

static void result_figures(line *out, const runner *r, uint64_t nnz, spmv_type type, timing took)
{
    double slots = runner_slots(r);
    out->bytes = runner_bytes(r) + (double)(r->rows + r->cols) * (double)spmv_vector_size(type);
    out->padding = nnz ? slots / (double)nnz - 1 : slots > 0 ? NAN : 0;
    bench_line_rates(out, nnz, took);
}

/* Copies the plan and variant in use to the line. */
static spmv_status result_names(line *out, const runner *r)
{
    char text[SPMV_PLAN_TEXT];
    runner_plan(r, text, sizeof text);
    out->plan = strdup(text);
    runner_variant(r, text, sizeof text);
    out->variant = strdup(text);
    return out->plan && out->variant ? SPMV_OK : SPMV_ERR_MEMORY;
}

/* Checks and times the product that r holds, and fills in the line; real and whole are its trials. */
static spmv_status bench_trial(bench *b, runner *r, line *out, trial *real, trial *whole)
{
    char what[160];
    double err = 0;
    timing took;
    spmv_status s = result_names(out, r);
    if (s == SPMV_OK) s = trial_check(real, r, 0, &err);
    if (s == SPMV_OK && whole->a) s = trial_check(whole, r, 1, &err);
    snprintf(what, sizeof what, "%.60s: %.60s", b->matrix, out->asked);
    if (s == SPMV_OK) s = runner_time(r, LEAST_RUNS, 0.1, what, &took);
    if (s == SPMV_OK) {
        result_figures(out, r, b->a->nnz, b->type, took);
        out->err = err;
        out->ok = err < 1;
    }
    return s;
}

static spmv_status bench_measure(bench *b, runner *r, line *out) { return bench_trial(b, r, out, &b->real, &b->whole); }

spmv_desc bench_desc(const bench *b, const char *plan, const char *variant)
{
    spmv_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.csr = b->a;
    desc.type = b->type;
    desc.plan = plan;
    desc.variant = variant;
    desc.device = b->device;
    desc.strict = b->args->value[OPT_STRICT] != NULL;
    desc.reproducible = b->args->value[OPT_REPRODUCIBLE] != NULL;
    desc.simd = b->simd;
    desc.convert = b->convert;
    desc.max_bytes = b->max_bytes;
    desc.both = b->args->value[OPT_BOTH] != NULL;
    desc.hooks = b->t->hooks;
    return desc;
}

/* A new line without figures, to be passed to line_end; NULL after an interruption or if memory ran out. Collects the messages of the
 * library from here on. */
static line *line_begin(bench *b, const char *plan)
{
    line *out;
    int i;
    if (bench_stopped) return NULL;
    out = (line *)calloc(1, sizeof *out);
    if (!out) {
        b->worst = cli_no_memory(b->t);
        return NULL;
    }
    out->asked = plan;
    out->took.least = out->took.median = out->took.most = NAN;
    out->gflops = out->gbs = out->bytes = out->padding = out->err = out->both = out->prepare = out->memory = out->device_memory = NAN;
    for (i = 0; i < SPMV_PHASE_COUNT; i++) out->spent[i] = NAN;
    out->many[0] = out->many[1] = NAN;
    cli_progress_name(b->t, b->matrix, plan);
    b->t->text[0] = 0;
    b->t->keep = 1;
    return out;
}

/* Adds the line to b->done, with JSON prints it, and adjusts the exit status. tolerant: a refusal is not a failure. */
static void line_end(bench *b, line *out, spmv_status s, int tolerant)
{
    b->t->keep = 0;
    cli_progress_clear(b->t);
    out->status = s;
    if (s != SPMV_OK && *b->t->text) out->why = strdup(b->t->text);
    out->refused = spmv_status_is_refusal(s);
    if ((s != SPMV_OK && !(tolerant && out->refused)) || (s == SPMV_OK && !out->ok)) b->worst = FAILED;
    if (b->args->value[OPT_JSON]) bench_line_json(b, out);
    if (s != SPMV_OK && b->args->value[OPT_JSON]) {
        b->t->about = out->asked;
        cli_complain(b->t, "%s: %s: %s", b->matrix, out->refused ? "refused" : "failed", bench_line_why(out));
    }
    if (bench_lines_add(b->t, &b->done, out) == DONE) return;
    b->worst = FAILED;
    bench_line_free(out);
}

/* Fills in what preparing took, by phases and in memory; r is NULL if it failed. */
static void result_memory(line *out, const bench *b, const runner *r)
{
    double csr = (double)b->a->nnz * (double)(4 + spmv_value_size(b->type)) + (double)(b->a->rows + 1) * 8;
    int i;
    memcpy(out->spent, b->t->spent, sizeof out->spent);
    out->memory = (double)b->t->peak / csr;
    if (!r || (!b->device && !b->team.count)) return;
    out->device_memory = (b->team.count ? runner_bytes(r) : (double)b->t->device_peak) / csr;
    if (b->team.count) return;
    for (i = 0; i < r->m.store.count; i++) out->filled += r->m.store.part[i].elsewhere != NULL;
    out->parts = r->m.store.count;
}

/* Prepares a matrix on the device, or on several. */
static spmv_status bench_open(bench *b, runner *r, spmv_desc *desc)
{
    spmv_group_desc shared;
    if (!b->team.count) return runner_open(r, b->t, desc, b->real.x, b->real.y);
    shared = team_desc(&b->team, desc);
    return runner_open_group(r, b->t, &shared, b->real.x, b->real.y);
}

/* Times the products with the transpose: turned, and both in turn. */
static spmv_status bench_transposed(bench *b, runner *r, const spmv_desc *desc, line *out, line *turned)
{
    runner other;
    timing took;
    spmv_status s = runner_open_transposed(&other, r, desc, b->turned.real.x, b->turned.real.y);
    if (s != SPMV_OK) return s;
    turned->transposed = 1;
    s = bench_trial(b, &other, turned, &b->turned.real, &b->turned.whole);
    runner_follow(r, &other);
    if (s == SPMV_OK) s = runner_time(r, LEAST_RUNS, 0.1, "both in turn", &took);
    if (s == SPMV_OK) out->both = turned->both = took.median;
    runner_follow(r, NULL);
    runner_close_shared(&other);
    return s;
}

/* Copies the first elements n of a vector to each of several, or compares them; 1: they are the same. */
static int vectors_are(char *all, const char *one, uint64_t n, const bench *b, spmv_arrangement order, int copy)
{
    const size_t size = spmv_vector_size(b->type);
    uint64_t i, j;
    int same = 1;
    for (j = 0; j < b->vectors; j++)
        for (i = 0; i < n; i++) {
            char *at = all + (order == SPMV_SIDE_BY_SIDE ? i * b->vectors + j : j * n + i) * size;
            if (copy) memcpy(at, one + i * size, size);
            else same = same && !memcmp(at, one + i * size, size);
        }
    return same;
}

/* Times products of --vectors, all of which are those of b->real, and compares them with the single product. */
static spmv_status bench_many_in(bench *b, runner *r, const spmv_desc *desc, line *out, spmv_arrangement order, char *x, char *y)
{
    runner many;
    timing took;
    spmv_status s;
    vectors_are(x, (const char *)b->real.x, b->a->cols, b, order, 1);
    s = spmv_mul_many(&r->m, b->vectors, order, 1, x, 0, 0, y, 0);
    if (s == SPMV_OK) s = runner_multiply(r, 1, b->real.x, 0, b->real.y);
    if (s != SPMV_OK) return s;
    if (!vectors_are(y, (const char *)b->real.y, b->a->rows, b, order, 0)) out->ok = 0;
    s = runner_open_many(&many, r, desc, b->vectors, order, x, y);
    if (s != SPMV_OK) return s;
    s = runner_time(&many, LEAST_RUNS, 0.1, "several vectors", &took);
    if (s == SPMV_OK) out->many[order] = took.median;
    runner_close_shared(&many);
    return s == SPMV_ERR_UNSUPPORTED ? SPMV_OK : s;
}

static spmv_status bench_many(bench *b, runner *r, const spmv_desc *desc, line *out)
{
    const size_t size = spmv_vector_size(b->type) * b->vectors;
    char *x = (char *)malloc(b->a->cols * size + 1), *y = (char *)malloc(b->a->rows * size + 1);
    spmv_status s = x && y ? SPMV_OK : SPMV_ERR_MEMORY;
    if (s == SPMV_OK) s = bench_many_in(b, r, desc, out, SPMV_ONE_AFTER_ANOTHER, x, y);
    if (s == SPMV_OK) s = bench_many_in(b, r, desc, out, SPMV_SIDE_BY_SIDE, x, y);
    free(x);
    free(y);
    return s;
}

/* Prepares, checks and times one plan: one line, or with --both two. */
static void bench_plan(bench *b, const char *plan, const char *variant, int tolerant)
{
    line *out = line_begin(b, plan), *turned = out && b->args->value[OPT_BOTH] ? line_begin(b, plan) : NULL;
    spmv_status s = SPMV_ERR_MEMORY;
    spmv_desc desc = bench_desc(b, plan, variant);
    measurer me;
    runner r;
    if (!out) return;
    if (measurer_make(&me, b->t, &desc, &b->hints) == DONE) {
        desc.hints = &me.hints;
        cli_phases_begin(b->t);
        out->prepare = -cli_seconds();
        s = bench_open(b, &r, &desc);
        out->prepare += cli_seconds();
        result_memory(out, b, s == SPMV_OK ? &r : NULL);
        if (s == SPMV_OK) {
            s = bench_measure(b, &r, out);
            if (s == SPMV_OK && b->vectors) s = bench_many(b, &r, &desc, out);
            if (s == SPMV_OK && turned) s = bench_transposed(b, &r, &desc, out, turned);
            runner_close(&r);
        }
    }
    measurer_free(&me);
    line_end(b, out, s, tolerant);
    if (turned && s == SPMV_OK) line_end(b, turned, s, tolerant);
    else if (turned) bench_line_free(turned);
}

#ifndef SPMV_NO_DEVICES
/* Discards a line. */
static void line_drop(bench *b, line *out)
{
    b->t->keep = 0;
    bench_line_free(out);
}

/* Times one variant of the plan that r holds on the host: one line, unless the device's limits refuse the variant, or it resolves to
 * one that was timed before. seen holds the resolved variants, each between blanks. */
static void bench_variant(bench *b, runner *r, const char *plan, spmv_variant v, char **seen)
{
    spmv_desc desc = bench_desc(b, plan, NULL);
    spmv_store *st = &r->m.store;
    size_t used = *seen ? strlen(*seen) : 0;
    char text[SPMV_VARIANT_TEXT + 2] = " ", *more;
    line *out = line_begin(b, plan);
    spmv_device_matrix matrix = { 0 };
    spmv_exec exec = { 0 };
    spmv_status s;
    if (!out) return;
    s = spmv_variant_resolve(&v, b->device, &st->part[0]);
    spmv_variant_print(&v, text + 1, sizeof text - 2);
    strcat(text, " ");
    if (s == SPMV_OK && !(*seen && strstr(*seen, text))) {
        more = (char *)realloc(*seen, used + sizeof text);
        if (more) strcpy((*seen = more) + used, text);
        r->m.device = b->device;
        r->m.on_device = &matrix;
        r->m.exec = &exec;
        s = spmv_device_matrix_create(&matrix, b->device, st->rows, st->cols, b->type, st->part, 1, &v);
        if (s == SPMV_OK) s = spmv_exec_create(&exec, &matrix, NULL);
        if (s == SPMV_OK) s = runner_open_device(r, &desc);
        if (s == SPMV_OK) s = bench_measure(b, r, out);
        runner_close_cl(r);
        spmv_exec_destroy(&exec);
        spmv_device_matrix_destroy(&matrix);
        r->m.device = NULL;
        r->m.on_device = NULL;
        r->m.exec = NULL;
        if (s != SPMV_ERR_LIMIT) line_end(b, out, s, 0);
        else line_drop(b, out);
    } else {
        line_drop(b, out);
    }
}

/* Knobs whose values are tried in every combination. The others hardly depend on each other and are turned one at a time. */
static int bench_crosses(int k)
{
    return k == SPMV_KNOB_L || k == SPMV_KNOB_WG || k == SPMV_KNOB_PER || k == SPMV_KNOB_V || k == SPMV_KNOB_STREAM;
}

/* Times the variants of a plan over all knobs but those that fixed sets and I64, which only huge matrices need. */
static void bench_combinations(bench *b, runner *r, const char *plan, const spmv_variant *fixed)
{
    spmv_format f = r->m.store.part[0].spec.format;
    int values[SPMV_KNOB_COUNT][32], k;
    size_t count[SPMV_KNOB_COUNT], at[SPMV_KNOB_COUNT];
    char *seen = NULL;
    memset(at, 0, sizeof at);
    for (k = 0; k < SPMV_KNOB_COUNT; k++) {
        count[k] = spmv_knob_values(f, (spmv_knob)k, values[k], 32);
        if (count[k] > 32) count[k] = 32;
        if (k == SPMV_KNOB_I64 || fixed->set >> k & 1u) count[k] = 0;
        for (at[k] = 0; at[k] < count[k] && !bench_crosses(k); at[k]++) {
            spmv_variant v = *fixed;
            v.set |= (uint64_t)1 << k;
            v.value[k] = values[k][at[k]];
            bench_variant(b, r, plan, v, &seen);
        }
        if (!bench_crosses(k)) count[k] = 0;
        at[k] = 0;
    }
    do {
        spmv_variant v = *fixed;
        for (k = 0; k < SPMV_KNOB_COUNT; k++)
            if (count[k]) {
                v.set |= (uint64_t)1 << k;
                v.value[k] = values[k][at[k]];
            }
        bench_variant(b, r, plan, v, &seen);
        for (k = SPMV_KNOB_COUNT - 1; k >= 0 && (!count[k] || ++at[k] == count[k]); k--) at[k] = 0;
    } while (k >= 0);
    free(seen);
}
#endif

/* --variants all: times the variants of a plan of one part; on the host, which has no variants, the plan itself. */
static void bench_variants(bench *b, const char *plan, const char *variant)
{
#ifndef SPMV_NO_DEVICES
    spmv_desc desc = bench_desc(b, plan, NULL);
    spmv_variant fixed;
    runner r;
    spmv_status s;
    if (b->device) {
        desc.device = NULL;
        b->t->about = plan;
        s = runner_open(&r, b->t, &desc, b->real.x, b->real.y);
        if (s == SPMV_OK && r.m.store.count != 1)
            s = spmv_log(&b->t->hooks, SPMV_ERR_PLAN, "--variants requires a plan of one part");
        if (s == SPMV_OK) s = spmv_variants_parse(&fixed, &r.m.store, variant, &b->t->hooks);
        if (s == SPMV_OK) bench_combinations(b, &r, plan, &fixed);
        else b->worst = FAILED;
        runner_close(&r);
        return;
    }
#endif
    bench_plan(b, plan, variant, 0);
}

/* Times every format, then every builder, and the library's choices. A name that is both is taken as the builder's. */
static void bench_all(bench *b)
{
    int f, i;
    for (f = 0; f < SPMV_FORMAT_COUNT; f++) {
        const char *name = spmv_format_name((spmv_format)f);
        for (i = 0; i < SPMV_BUILDER_COUNT && strcmp(name, spmv_builder_name((spmv_builder)i)); i++) continue;
        if (i == SPMV_BUILDER_COUNT && spmv_format_built((spmv_format)f)) bench_plan(b, name, NULL, 1);
    }
    for (i = 0; i < SPMV_BUILDER_COUNT; i++) bench_plan(b, spmv_builder_name((spmv_builder)i), NULL, 1);
    bench_plan(b, "cocktail", NULL, 1);
    bench_plan(b, "auto", NULL, 1);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* Makes the trials of a matrix, whose x and references all plans share. */
static int bench_trials(bench *b, const spmv_csr *a, trial *real, trial *whole)
{
    if (trial_make(real, b->t, a, b->type) != DONE) return FAILED;
    value_fill_random(b->type, real->x, a->cols, 1);
    value_fill_random(b->type, real->start, a->rows, 2);
    trial_reference(real);
    if (!trial_stays_whole(a, b->type)) return DONE;
    if (trial_make(whole, b->t, a, b->type) != DONE) return FAILED;
    value_fill_whole(b->type, whole->x, a->cols, 3);
    value_fill_whole(b->type, whole->start, a->rows, 4);
    trial_reference(whole);
    return DONE;
}

/* Makes the transpose of the current file for --both, and its trials. */
static int bench_turn(bench *b)
{
    spmv_input in;
    memset(&in, 0, sizeof in);
    in.rows = (int64_t)b->a->rows;
    in.cols = (int64_t)b->a->cols;
    in.nnz = (int64_t)b->a->nnz;
    in.ptr = b->a->ptr;
    in.ptr_bits = 64;
    in.col = b->a->col;
    in.val = b->a->val;
    in.val_type = b->a->type;
    in.transpose = 1;
    if (spmv_csr_create(&b->turned.a, &in, b->type, &b->t->hooks) != SPMV_OK) return FAILED;
    return bench_trials(b, &b->turned.a, &b->turned.real, &b->turned.whole);
}

/* Times all plans for one file and prints their table. */
static void bench_file(bench *b, const char *path)
{
    char name[256];
    spmv_csr a;
    int i;
    file_bare_name(path, name, sizeof name);
    b->matrix = name;
    b->a = &a;
    b->read = -cli_seconds();
    if (file_load_matrix(b->t, path, b->type, &a) != DONE) { b->worst = FAILED; return; }
    b->read += cli_seconds();
    if (bench_trials(b, &a, &b->real, &b->whole) == DONE && (!b->args->value[OPT_BOTH] || bench_turn(b) == DONE)) {
        if (!b->args->value[OPT_JSON]) bench_lines_heading(b);
        fflush(stdout);
        if (!b->args->plans) bench_all(b);
        for (i = 0; i < b->args->plans; i++)
            if (!strcmp(b->args->plan[i], "all")) bench_all(b);
            else if (b->args->value[OPT_VARIANTS]) bench_variants(b, b->args->plan[i], b->args->variant[i]);
            else bench_plan(b, b->args->plan[i], b->args->variant[i], 0);
        if (!b->args->value[OPT_JSON]) bench_lines_print(b, &b->done);
        if (!b->args->value[OPT_JSON] && b->totals) bench_lines_print_totals(b, &b->done);
        if (b->again && !bench_stopped) bench_again(b);
        bench_lines_forget(b);
        if (!b->args->value[OPT_JSON]) putchar('\n');
    } else {
        b->worst = FAILED;
    }
    trial_free(&b->real);
    trial_free(&b->whole);
    trial_free(&b->turned.real);
    trial_free(&b->turned.whole);
    spmv_csr_destroy(&b->turned.a);
    spmv_csr_destroy(&a);
}

/* Reads the numbers of --total, which rise from 1 to 2^53; *result becomes USAGE after a message if they are anything else. */
static void bench_totals(bench *b, int *result)
{
    const char *at = b->args->value[OPT_TOTAL];
    while (at && *result == DONE) {
        char *end = NULL;
        unsigned long long n = *at >= '0' && *at <= '9' ? strtoull(at, &end, 10) : 0;
        if (!n || n > 1ull << 53 || b->totals == TOTALS || (*end && *end != ',')) {
            *result = cli_misuse(b->t, "--total must be up to %d numbers of products such as 100,1000, not '%s'", (int)TOTALS,
                                 b->args->value[OPT_TOTAL]);
            return;
        }
        b->total[b->totals++] = n;
        at = *end ? end + 1 : NULL;
    }
}

/* Refuses options that are of one device. DONE, or USAGE after a message. */
static int bench_team_options(const bench *b)
{
    static const struct { int option; const char *name; } single[] = {
        {OPT_VARIANTS, "--variants"}, {OPT_AGAIN, "--again"}, {OPT_EVENTS, "--events"}, {OPT_COLD, "--cold"},
        {OPT_GRAPH, "--graph"}, {OPT_BOTH, "--both"}, {OPT_VECTORS, "--vectors"}
    };
    size_t i;
    for (i = 0; b->team.count && i < sizeof single / sizeof *single; i++)
        if (b->args->value[single[i].option]) return cli_misuse(b->t, "%s measures on one device", single[i].name);
    return DONE;
}

/* Opens what --device names. DONE, or USAGE or FAILED after a message. */
static int bench_devices(bench *b)
{
    int result = team_open(b->t, b->args, &b->team);
    if (result == DONE) result = bench_team_options(b);
    if (result == DONE && !b->team.count) result = device_open(b->t, b->args->value[OPT_DEVICE], &b->device);
    if (result == DONE && b->team.count) plan_check_table(b->t, b->args, &b->hints, b->team.device, b->team.count);
    else if (result == DONE) plan_check_table(b->t, b->args, &b->hints, &b->device, 1);
    if (result == DONE && b->t->graph && !graph_possible(b->device))
        result = cli_complain(b->t, "--graph requires a CUDA device (--device cuda:0), and a driver that has graphs");
    device_count_memory(b->device);
    if (b->team.count) team_label(&b->team, b->label, sizeof b->label);
    else snprintf(b->label, sizeof b->label, "%s", device_label(b->device));
    return result;
}

int bench_command(tool *t, const arguments *args)
{
    int i, result = DONE;
    spmv_tuning table;
    bench b;
    memset(&b, 0, sizeof b);
    memset(&table, 0, sizeof table);
    b.t = t;
    b.args = args;
    b.type = option_type(t, args, &result);
    b.simd = option_simd(t, args, &result);
    b.convert = option_convert(t, args, &result);
    b.max_bytes = option_bytes(t, args, OPT_MAX_BYTES, &result);
    b.again = (int)option_count(t, args, OPT_AGAIN, 0, 0, AGAIN_MOST - 2, &result);
    b.vectors = option_count(t, args, OPT_VECTORS, 0, 1, 65536, &result);
    bench_totals(&b, &result);
    t->cache = args->value[OPT_CACHE];
    if (result != DONE) return result;
    if (args->value[OPT_VARIANTS] && strcmp(args->value[OPT_VARIANTS], "all"))
        return cli_misuse(t, "--variants must be all, not '%s'", args->value[OPT_VARIANTS]);
    if (args->value[OPT_BOTH] && (args->value[OPT_VARIANTS] || args->value[OPT_AGAIN] || args->value[OPT_TOTAL]))
        return cli_misuse(t, "--both cannot be combined with --variants, --again or --total");
    if (b.vectors && (args->value[OPT_VARIANTS] || args->value[OPT_AGAIN] || args->value[OPT_TOTAL] || args->value[OPT_BOTH]))
        return cli_misuse(t, "--vectors cannot be combined with --both, --variants, --again or --total");
    t->cold = args->value[OPT_COLD] != NULL;
    t->events = t->cold || args->value[OPT_EVENTS];
    t->graph = args->value[OPT_GRAPH] != NULL;
    if (t->graph && t->events) return cli_misuse(t, "--graph cannot be combined with --events or --cold");
    if (t->cold && (!args->value[OPT_DEVICE] || !strcmp(args->value[OPT_DEVICE], "host")))
        return cli_misuse(t, "--cold requires an OpenCL device (--device)");
    for (i = 0; i < args->plans && result == DONE; i++)
        if (strcmp(args->plan[i], "all")) result = plan_is_text(t, "plan", args->plan[i]);
    if (result == DONE) result = plan_options(t, args, &b.hints, &table);
    b.hints.vectors = (unsigned)b.vectors;
    if (result == DONE) result = bench_devices(&b);
    bench_catch(SIGINT);
    bench_catch(SIGTERM);
    for (i = 0; i < args->files && result == DONE && !bench_stopped; i++) bench_file(&b, args->file[i]);
    device_close(t, b.device);
    team_close(t, &b.team);
    spmv_tuning_destroy(&table);
    t->about = NULL;
    if (bench_stopped) result = cli_complain(t, "interrupted: further plans were not timed");
    return result == DONE ? b.worst : result;
}
