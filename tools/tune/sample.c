/* SPDX-License-Identifier: MIT */
#include "sample.h"

#include "../cli/cli.h"
#include "../measure/runner.h"
#include "../measure/values.h"
#include "candidates.h"
#include "journal.h"
#include "table.h"
#include "workload.h"
#include "spmv.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- x ---- */

int sample_inputs(tuner *u)
{
#ifndef SPMV_NO_DEVICES
    uint64_t n = u->head.rows_at[u->head.rows - 1], k;
    size_t width = spmv_vector_size(u->type);
    void *x;
    spmv_status s;
    if (n < TUNE_PER_MOST) n = TUNE_PER_MOST;
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

/* ---- one candidate -------------------------------------------------------------------------------------------------- */

/* Its times are not put in relation to those of a reference product beside it: on a shared machine with two hardware threads (PoCL), whose
 * samples differ by 15 to 25% from one run to another, dividing by how slow csr of a fixed matrix was made them differ by 50%. Repeating
 * those beside which it was slow took a fifth of the samples' time and made them no more alike. */
spmv_status sample_many(runner *r, double patience, double *out)
{
    double v[25], one = 0, from = cli_seconds(), spent, span = runner_sample_span(r);
    spmv_status s = SPMV_OK;
    const int enough = r->t->graph ? 3 : 5; /* the host disturbs a graph little */
    int n = 0, times = 1;
    do s = runner_sample(r, 1, &one); /* warms the caches up, and clocks that rise with the load */
    while (s == SPMV_OK && ++n < 20 && cli_seconds() - from < 500e-6);
    if (s == SPMV_OK && r->t->graph && one < span) s = runner_sample(r, GRAPH_PRODUCTS, &one); /* without the wait for each */
    if (one < span) times = one > 1e-8 ? (int)(span / one) + 1 : 10000;
    from = cli_seconds();
    for (n = 0; s == SPMV_OK && n < 25;) {
        s = runner_sample(r, times, &v[n++]);
        spent = cli_seconds() - from;
        if (n < enough && (n < 3 || spent < 0.6 * patience)) continue;
        *out = timing_median(v, n);
        if (v[3 * n / 4] - v[n / 4] < 0.04 * *out || spent > patience) break;
    }
    /* other work on the machine only adds time, and a quarter of the samples cannot all be fast by accident */
    if (s == SPMV_OK && n >= 8) *out = v[n / 4];
    else if (s == SPMV_OK) *out = timing_median(v, n);
    return s;
}

/* Computes y = A x over a y of NaN; *right: whether y is exact. */
static spmv_status check_host(tuner *u, int *right)
{
    workload *w = &u->at->w;
    double took;
    uint64_t r;
    spmv_status s;
    for (r = 0; r < w->a.rows; r++) value_put(w->type, w->y.at, r, NAN);
    s = runner_sample_host(&u->run, 1, &took);
    *right = 1;
    for (r = 0; s == SPMV_OK && r < w->a.rows && *right; r++)
        *right = value_get(w->type, w->y.at, r) - value_get(w->type, w->want.at, r) == 0;
    return s;
}

#ifndef SPMV_NO_DEVICES
/* The same on the device. */
static spmv_status check_cl(tuner *u, int *right)
{
    workload *w = &u->at->w;
    size_t bytes = (size_t)w->a.rows * spmv_vector_size(w->type);
    uint64_t r;
    double took;
    spmv_status s;
    for (r = 0; r < w->a.rows; r++) value_put(w->type, w->y.at, r, NAN);
    s = spmv_buffer_write(u->device, u->run.device_y, bytes, w->y.at);
    if (s == SPMV_OK) s = runner_sample_cl(&u->run, 1, &took);
    if (s == SPMV_OK) s = spmv_buffer_read(u->device, u->run.device_y, bytes, w->y.at);
    if (s != SPMV_OK) return s;
    *right = 1;
    for (r = 0; r < w->a.rows && *right; r++) *right = value_get(w->type, w->y.at, r) - value_get(w->type, w->want.at, r) == 0;
    return SPMV_OK;
}

/* The rate of a variant that was measured on this slot and resolved to the same one, or 0. name receives the resolved variant. */
static float rate_seen(const tuner *u, const spmv_variant *v, char *name, size_t size)
{
    int i;
    spmv_variant_print(v, name, size);
    for (i = 0; i < u->at->seens; i++)
        if (!strcmp(u->at->seen[i].variant, name)) return u->at->seen[i].rate;
    return 0;
}

/* Checks and times one variant on the device; *rate stays 0 if it is wrong. */
static spmv_status measure_cl(tuner *u, candidate *c, float *rate, int *right)
{
    spmv_variant v;
    spmv_device_matrix matrix;
    char name[160];
    double took = 0;
    runner *r = &u->run;
    spmv_status s = spmv_variant_parse(&v, c->row.layout.format, c->row.variant, &u->t->hooks);
    if (s == SPMV_OK) s = spmv_variant_resolve(&v, u->device, &u->at->store.part[0]);
    if (s != SPMV_OK) return s;
    *rate = rate_seen(u, &v, name, sizeof name);
    if (*rate > 0) {
        c->twin++;
        return SPMV_OK;
    }
    s = spmv_device_matrix_create(&matrix, u->device, u->at->w.a.rows, u->at->w.cols, u->type, u->at->store.part, 1, &v);
    if (s == SPMV_OK) s = spmv_exec_create(&r->exec, &matrix, NULL);
    if (s == SPMV_OK) s = check_cl(u, right);
    if (s == SPMV_OK && *right) s = sample_many(r, u->patience, &took);
    runner_free_exec(r);
    spmv_device_matrix_free(&matrix);
    if (s == SPMV_OK && took > 0) *rate = (float)(2e-9 * (double)u->at->w.a.nnz / took);
    if (s == SPMV_OK) c->own++;
    if (*rate > 0 && u->at->seens < TUNE_SEEN) {
        snprintf(u->at->seen[u->at->seens].variant, sizeof u->at->seen[0].variant, "%s", name);
        u->at->seen[u->at->seens++].rate = *rate;
    }
    return s;
}
#endif

static spmv_status measure_host(tuner *u, candidate *c, float *rate, int *right)
{
    double took = 0;
    spmv_status s = check_host(u, right);
    if (s == SPMV_OK && *right) s = sample_many(&u->run, u->patience, &took);
    if (s == SPMV_OK && took > 0) *rate = (float)(2e-9 * (double)u->at->w.a.nnz / took);
    c->own++;
    return s;
}

spmv_status sample_rate(tuner *u, candidate *c, float *rate, int *right)
{
    spmv_status s;
    *rate = 0;
    *right = 1;
    u->t->text[0] = 0;
    u->t->keep = 1;
#ifndef SPMV_NO_DEVICES
    if (u->device) s = measure_cl(u, c, rate, right);
    else
#endif
        s = measure_host(u, c, rate, right);
    u->t->keep = 0;
    return s;
}

void sample_candidate(tuner *u, candidate *c, int row, int per)
{
    float rate;
    int right;
    spmv_status s = sample_rate(u, c, &rate, &right);
    if (c->before && c->before[row * u->head.per_row + per] > rate && right) rate = c->before[row * u->head.per_row + per];
    *candidate_rate(u, c, row, per) = rate > 0 ? rate : -1;
    if (s == SPMV_OK && !right) journal_strike(u, c, "its product is wrong");
    else if (s == SPMV_OK && rate > 0) {
        u->samples++;
        u->failures = 0;
        journal_sample(u, c, row, per);
    } else if (s != SPMV_OK && !spmv_status_is_refusal(s) && s != SPMV_ERR_ARGUMENT) {
        journal_strike(u, c, *u->t->text ? u->t->text : spmv_status_text(s));
        if (s == SPMV_ERR_BACKEND && ++u->failures == TUNE_FAILURES)
            cli_complain(u->t, "%d failures in a row: the device may be lost, and nothing more is measured", TUNE_FAILURES);
    }
    u->t->text[0] = 0;
}

/* ---- all that is wanted at one size ------------------------------------------------------------------------------ */

int sample_out_of_time(tuner *u)
{
    return (cli_seconds() > u->until && u->samples + u->recalled + u->struck >= TUNE_LEAST) || u->failures >= TUNE_FAILURES;
}

int sample_is_wanted(const tuner *u, const candidate *c, int row, int per)
{
    float rate = *candidate_rate(u, c, row, per);
    return c->wanted && c->state == LIVE && c->row.type == u->type && !(rate > 0) && !(rate < 0) && candidate_fits(u, c, row, per);
}

void sample_progress(tuner *u, const candidate *c, int row, int per, double part)
{
    char what[200], name[300], left[40];
    double now = cli_seconds(), whole = u->done + u->share * part, rest = whole > 0.02 ? (now - u->begun) * (1 - whole) / whole : -1;
    if (!cli_progress_due(u->t)) return;
    if (u->end < 1e299 && (rest < 0 || rest > u->end - now)) rest = u->end - now;
    if (u->end < 1e299 && (now - u->begun) / (u->end - u->begun) > whole) whole = (now - u->begun) / (u->end - u->begun);
    left[0] = 0;
    if (rest >= 0) snprintf(left, sizeof left, "%.0f s left, ", rest);
    table_row_name(&c->row, name, sizeof name);
    snprintf(what, sizeof what, "%s%s %s %llux%llu %.24s", left, spmv_type_name(u->type), u->phase,
             (unsigned long long)u->head.rows_at[row], (unsigned long long)u->head.per_row_at[per], name);
    cli_progress(u->t, what, whole);
}

/* 1: some array of the part has 16-bit columns. */
static int is_narrow(const spmv_part *p)
{
    int i;
    for (i = 1; i < SPMV_MAX_ARRAYS; i++)
        if (p->a[i].width == 2 && p->a[i].count) return 1;
    return 0;
}

int slot_store(tuner *u, const spmv_spec *layout)
{
    spmv_plan *one = (spmv_plan *)calloc(1, sizeof *one);
    spmv_build how;
    spmv_status s = SPMV_ERR_MEMORY;
    memset(&how, 0, sizeof how);
    how.type = u->type;
    how.borrow = 1;
    how.max_bytes = 96 * u->at->w.a.nnz + ((uint64_t)16 << 20); /* eight times the CSR form: a layout with more padding cannot win */
    u->at->seens = 0;
    u->t->keep = 1;
    if (one) {
        one->count = 1;
        one->part[0] = *layout;
        s = spmv_store_make(&u->at->store, one, &u->at->w.a, &how, &u->t->hooks);
    }
    u->t->keep = 0;
    u->t->text[0] = 0;
    free(one);
    if (s == SPMV_OK && (u->at->store.count != 1 || (layout->key[SPMV_KEY_IDX] && !is_narrow(&u->at->store.part[0])))) {
        spmv_store_free(&u->at->store);
        s = SPMV_ERR_UNSUPPORTED;
    }
    return s == SPMV_OK;
}

void slot_begin(tuner *u)
{
    u->run.t = u->t;
    u->run.rows = u->at->w.a.rows;
    u->run.cols = u->at->w.cols;
    u->run.x = u->at->w.x.at;
    u->run.y = u->at->w.y.at;
    u->run.m.store = u->at->store;
#ifndef SPMV_NO_DEVICES
    u->run.m.device = u->device;
#endif
}

void slot_end(tuner *u)
{
    memset(&u->run.m.store, 0, sizeof u->run.m.store);
}

void slot_empty(slot *s)
{
    if (s->stored) spmv_store_free(&s->store);
    s->stored = s->seens = 0;
}

int candidate_same_layout(const candidate *a, const candidate *b)
{
    return a->row.type == b->row.type && a->row.kind == b->row.kind && table_same_layout(&a->row.layout, &b->row.layout);
}

void slot_recall(tuner *u, const candidate *like, int row, int per)
{
#ifndef SPMV_NO_DEVICES
    size_t i;
    u->t->keep = 1;
    for (i = 0; u->device && i < u->count && u->at->seens < TUNE_SEEN; i++) {
        const candidate *c = &u->c[i];
        spmv_variant v;
        if (!candidate_same_layout(c, like) || !(*candidate_rate(u, c, row, per) > 0)) continue;
        if (spmv_variant_parse(&v, c->row.layout.format, c->row.variant, &u->t->hooks) != SPMV_OK ||
            spmv_variant_resolve(&v, u->device, &u->at->store.part[0]) != SPMV_OK) continue;
        spmv_variant_print(&v, u->at->seen[u->at->seens].variant, sizeof u->at->seen[0].variant);
        u->at->seen[u->at->seens++].rate = *candidate_rate(u, c, row, per);
    }
    u->t->keep = 0;
    u->t->text[0] = 0;
#else
    (void)u;
    (void)like;
    (void)row;
    (void)per;
#endif
}

/* Measures all wanted variants of the layout of candidate first, whose matrix is in the current slot. */
static void measure_layout(tuner *u, size_t first, int row, int per)
{
    size_t i;
    u->at->stored = slot_store(u, &u->c[first].row.layout);
    if (u->at->stored) {
        slot_recall(u, &u->c[first], row, per);
        slot_begin(u);
    }
    for (i = first; i < u->count && !(u->at->stored && sample_out_of_time(u)); i++) {
        candidate *c = &u->c[i];
        if (!candidate_same_layout(c, &u->c[first]) || !sample_is_wanted(u, c, row, per)) continue;
        if (u->at->stored) sample_candidate(u, c, row, per);
        else *candidate_rate(u, c, row, per) = -1;
    }
    slot_end(u);
    slot_empty(u->at);
}

/* Measures all wanted candidates that share the matrix of candidate first. The matrix is made once, and each layout is stored once. */
static void measure_matrix(tuner *u, size_t first, int row, int per, double part)
{
    tune_shape of = candidate_shape(u, &u->c[first], row, per), other;
    size_t i;
    if (workload_make(&u->at->w, &of, u->type, &u->t->hooks) != SPMV_OK) {
        *candidate_rate(u, &u->c[first], row, per) = -1;
        return;
    }
    for (i = first; i < u->count && !sample_out_of_time(u); i++) {
        if (!sample_is_wanted(u, &u->c[i], row, per)) continue;
        other = candidate_shape(u, &u->c[i], row, per);
        if (!workload_same_shape(&of, &other)) continue;
        sample_progress(u, &u->c[i], row, per, part);
        measure_layout(u, i, row, per);
    }
    if (sample_out_of_time(u)) u->complete = 0;
}

void sample_point(tuner *u, int row, int per, double part, double span)
{
    size_t i;
    for (i = 0; i < u->count; i++) {
        if (!sample_is_wanted(u, &u->c[i], row, per)) continue;
        if (sample_out_of_time(u)) {
            u->complete = 0;
            return;
        }
        measure_matrix(u, i, row, per, part + span * (double)i / (double)u->count);
    }
}

void sample_probe(tuner *u, int probe, double part, double span)
{
    int row, per;
    tune_probe(u, probe, &row, &per);
    sample_point(u, row, per, part, span);
}
