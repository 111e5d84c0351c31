/* SPDX-License-Identifier: MIT */
#include "runner.h"

#include "../cli/cli.h"
#include "spmv.h"
#include "spmv_group.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- time ------------------------------------------------------------------------------------------------------ */

int timing_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double timing_median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, timing_compare);
    return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

timing timing_of(double *v, int n)
{
    timing t;
    t.median = timing_median(v, n);
    t.least = v[0];
    t.most = v[n - 1];
    t.samples = n;
    return t;
}

#ifndef SPMV_NO_DEVICES
void runner_close_cl(runner *r)
{
    graph_free(r->recorded);
    r->recorded = NULL;
    spmv_exec_destroy(&r->exec);
    spmv_buffer_destroy(r->device, r->device_x);
    spmv_buffer_destroy(r->device, r->device_y);
    spmv_buffer_destroy(r->device, r->junk);
    r->device_x = r->device_y = r->junk = NULL;
}

/* Bytes that no cache holds, as far as one buffer can be so large. */
static size_t junk_bytes(const spmv_device *d)
{
    return d->info.alloc_bytes < 512u << 20 ? (size_t)d->info.alloc_bytes / 4 * 4 : 512u << 20;
}

spmv_status runner_open_device(runner *r, const spmv_desc *desc)
{
    uint64_t width = spmv_vector_size(desc->type) * (r->vectors ? r->vectors : 1), in = r->cols * width, out = r->rows * width;
    const spmv_device *d = r->device = desc->device;
    spmv_status s = spmv_exec_create(&r->exec, r->m.on_device, NULL);
    if (s == SPMV_OK) s = spmv_buffer_create(d, in, &r->device_x);
    if (s == SPMV_OK) s = spmv_buffer_create(d, out, &r->device_y);
    if (s == SPMV_OK) s = spmv_buffer_write(d, r->device_x, in, r->x);
    if (s == SPMV_OK && r->t->events) s = spmv_exec_timing(&r->exec, 1);
    if (s == SPMV_OK && r->t->cold) s = spmv_buffer_create(d, junk_bytes(d), &r->junk);
    return s;
}
#endif

void runner_close(runner *r)
{
#ifndef SPMV_NO_DEVICES
    runner_close_cl(r);
#endif
    spmv_group_vector_destroy(&r->group_x);
    spmv_group_vector_destroy(&r->group_y);
    spmv_group_destroy(&r->g);
    spmv_destroy(&r->m);
    memset(r, 0, sizeof *r);
}

/* Begins a runner whose matrix is not there yet. */
static void runner_begin(runner *r, tool *t, const spmv_csr *a, const void *x, void *y)
{
    memset(r, 0, sizeof *r);
    r->t = t;
    r->rows = a->rows;
    r->cols = a->cols;
    r->x = x;
    r->y = y;
}

spmv_status runner_open(runner *r, tool *t, const spmv_desc *desc, const void *x, void *y)
{
    spmv_status s;
    runner_begin(r, t, desc->csr, x, y);
    s = spmv_create(&r->m, desc);
#ifndef SPMV_NO_DEVICES
    if (s == SPMV_OK && desc->device) s = runner_open_device(r, desc);
#endif
    if (s != SPMV_OK) runner_close(r);
    return s;
}

spmv_status runner_open_group(runner *r, tool *t, const spmv_group_desc *desc, const void *x, void *y)
{
    spmv_status s;
    runner_begin(r, t, desc->desc.csr, x, y);
    s = spmv_group_create(&r->g, desc);
    if (s == SPMV_OK) s = spmv_group_vector_create(&r->group_x, &r->g, SPMV_GROUP_X);
    if (s == SPMV_OK) s = spmv_group_vector_create(&r->group_y, &r->g, SPMV_GROUP_Y);
    if (s == SPMV_OK && r->cols) s = spmv_group_vector_write(&r->group_x, x);
    if (s != SPMV_OK) runner_close(r);
    return s;
}

/* Opens r for vectors of its matrix, which is another's. */
static spmv_status runner_share(runner *r, const spmv_desc *desc)
{
    spmv_status s = SPMV_OK;
    r->rows = spmv_rows(&r->m);
    r->cols = spmv_cols(&r->m);
#ifndef SPMV_NO_DEVICES
    if (desc->device) s = runner_open_device(r, desc);
#endif
    (void)desc;
    if (s != SPMV_OK) runner_close_shared(r);
    return s;
}

spmv_status runner_open_transposed(runner *r, const runner *of, const spmv_desc *desc, const void *x, void *y)
{
    memset(r, 0, sizeof *r);
    r->t = of->t;
    r->m = *spmv_transposed(&of->m);
    r->x = x;
    r->y = y;
    return runner_share(r, desc);
}

spmv_status runner_open_many(runner *r, const runner *of, const spmv_desc *desc, uint64_t vectors, spmv_arrangement order, const void *x,
                             void *y)
{
    memset(r, 0, sizeof *r);
    r->t = of->t;
    r->m = of->m;
    r->vectors = vectors;
    r->order = order;
    r->x = x;
    r->y = y;
    return runner_share(r, desc);
}

void runner_close_shared(runner *r)
{
#ifndef SPMV_NO_DEVICES
    runner_close_cl(r);
#endif
    memset(r, 0, sizeof *r); /* the matrix is another's */
}

void runner_follow(runner *r, runner *then)
{
    r->then = then;
#ifndef SPMV_NO_DEVICES
    graph_free(r->recorded);
    r->recorded = NULL;
#endif
}

spmv_status runner_multiply(runner *r, double alpha, const void *x, double beta, void *y)
{
    return r->g.count ? spmv_group_mul(&r->g, alpha, x, beta, y) : spmv_mul(&r->m, alpha, x, beta, y);
}

/* Takes a sample on several devices: times products in a row of vectors that stay there, and then a wait. */
static spmv_status runner_sample_group(runner *r, int times, double *out)
{
    double from = cli_seconds();
    spmv_status s = SPMV_OK;
    int i;
    for (i = 0; i < times && s == SPMV_OK; i++) s = spmv_group_mul_vectors(&r->g, 1, &r->group_x, 0, &r->group_y);
    if (s == SPMV_OK) s = spmv_group_wait(&r->g);
    *out = (cli_seconds() - from) / times;
    return s;
}

/* On the host. */
static spmv_status runner_sample_host(runner *r, int times, double *out)
{
    double from = cli_seconds();
    spmv_status s = SPMV_OK;
    int i;
    for (i = 0; i < times && s == SPMV_OK; i++) {
        s = r->vectors ? spmv_mul_many(&r->m, r->vectors, r->order, 1, r->x, 0, 0, r->y, 0) : spmv_mul(&r->m, 1, r->x, 0, r->y);
        if (s == SPMV_OK && r->then) s = spmv_mul(&r->then->m, 1, r->y, 0, r->then->y);
    }
    *out = (cli_seconds() - from) / times;
    return s;
}

#ifndef SPMV_NO_DEVICES
/* Enqueues what is timed: a product, and that of the transpose with its result if that is to follow. */
static spmv_status runner_enqueue(void *of)
{
    runner *r = (runner *)of;
    spmv_status s = r->vectors ? spmv_exec_mul_many(&r->exec, r->vectors, r->order, 1, r->device_x, 0, 0, 0, r->device_y, 0, 0)
                               : spmv_exec_mul(&r->exec, 1, r->device_x, 0, 0, r->device_y, 0);
    if (s == SPMV_OK && r->then) s = spmv_exec_mul(&r->then->exec, 1, r->device_y, 0, 0, r->then->device_y, 0);
    return s;
}

/* The time by events of what was enqueued last. */
static spmv_status runner_events(runner *r, double *out)
{
    double after = 0;
    spmv_status s = spmv_exec_seconds(&r->exec, out);
    if (s == SPMV_OK && r->then) s = spmv_exec_seconds(&r->then->exec, &after);
    *out += after;
    return s;
}

/* Takes a sample by launches of a graph, which is recorded first if there is none. */
static spmv_status runner_sample_graph(runner *r, int times, double *out)
{
    const int launches = (times + GRAPH_PRODUCTS - 1) / GRAPH_PRODUCTS;
    spmv_status s = r->recorded ? SPMV_OK : graph_record(&r->recorded, r->device, runner_enqueue, r);
    double from = cli_seconds();
    int i;
    for (i = 0; i < launches && s == SPMV_OK; i++) s = graph_launch(r->recorded);
    if (s == SPMV_OK) s = spmv_device_finish(r->device);
    *out = (cli_seconds() - from) / launches / GRAPH_PRODUCTS;
    return s;
}

/* On one device. */
static spmv_status runner_sample_cl(runner *r, int times, double *out)
{
    double from = cli_seconds();
    spmv_status s = SPMV_OK;
    int i;
    if (r->t->graph && times >= GRAPH_PRODUCTS) return runner_sample_graph(r, times, out);
    if (r->t->events) times = 1;
    if (r->junk) s = spmv_buffer_fill(r->device, r->junk, junk_bytes(r->device), 0x55555555);
    for (i = 0; i < times && s == SPMV_OK; i++) s = runner_enqueue(r);
    if (s != SPMV_OK) return s;
    if (r->t->events) return runner_events(r, out);
    s = spmv_device_finish(r->device);
    *out = (cli_seconds() - from) / times;
    return s;
}
#endif

spmv_status runner_sample(runner *r, int times, double *out)
{
    if (r->g.count) return runner_sample_group(r, times, out);
#ifndef SPMV_NO_DEVICES
    if (r->m.device) return runner_sample_cl(r, times, out);
#endif
    return runner_sample_host(r, times, out);
}

double runner_sample_span(const runner *r)
{
    if (r->g.count) return 2e-3;
#ifndef SPMV_NO_DEVICES
    if (r->m.device && !r->t->events) return 2e-3;
#endif
    (void)r;
    return 100e-6;
}

spmv_status runner_time(runner *r, int least, double together, const char *what, timing *out)
{
    double v[MOST_RUNS], from, one = 0, span = runner_sample_span(r);
    spmv_status s;
    int n = 0, times = 1;
    while ((s = runner_sample(r, times, &one)) == SPMV_OK && one * times < span && times < 100000)
        times = one * times * 10 < span ? times * 10 : (int)(span / one) + 1;
    for (from = cli_seconds(); s == SPMV_OK && n < MOST_RUNS && (n < least || cli_seconds() - from < together); n++) {
        s = runner_sample(r, times, &v[n]);
        cli_progress(r->t, what, (double)n / least);
    }
    if (s == SPMV_OK) *out = timing_of(v, n);
    return s;
}

/* ---- plans and variants ------------------------------------------------------------------------------------------ */

/* Sums up a figure of the matrix, or of all that a group's devices have. */
static double runner_sum(const runner *r, double (*of)(const spmv_matrix *m))
{
    double sum = 0;
    size_t i;
    int k;
    if (!r->g.count) return of(&r->m);
    for (i = 0; i < r->g.count; i++)
        for (k = 0; k < r->g.block[i].pieces; k++) sum += of(&r->g.block[i].piece[k].m);
    return sum;
}

static double bytes_of(const spmv_matrix *m) { return (double)spmv_bytes(m); }
static double slots_of(const spmv_matrix *m) { return (double)spmv_store_slots(&m->store); }

double runner_bytes(const runner *r) { return runner_sum(r, bytes_of); }
double runner_slots(const runner *r) { return runner_sum(r, slots_of); }

/* Writes a text about the matrix, or about the largest of each device. */
static void runner_text(const runner *r, void (*of)(const spmv_matrix *m, char *out, size_t size), char *out, size_t size)
{
    size_t i, used = 0;
    int k;
    if (!r->g.count) of(&r->m, out, size);
    for (i = 0; i < r->g.count && used < size; i++) {
        const spmv_group_block *b = &r->g.block[i];
        const spmv_matrix *most = NULL;
        for (k = 0; k < b->pieces; k++)
            if (!most || spmv_rows(&b->piece[k].m) > spmv_rows(most)) most = &b->piece[k].m;
        if (i) used += (size_t)snprintf(out + used, size - used, " | ");
        if (used >= size) break;
        if (most) of(most, out + used, size - used);
        else snprintf(out + used, size - used, "-");
        used += strlen(out + used);
    }
}

static void plan_text(const spmv_matrix *m, char *out, size_t size) { spmv_plan_of(m, out, size); }

void runner_plan(const runner *r, char *out, size_t size) { runner_text(r, plan_text, out, size); }

/* Writes the variants of a matrix. */
static void variant_text(const spmv_matrix *m, char *out, size_t size)
{
#ifndef SPMV_NO_DEVICES
    const spmv_store *st = &m->store;
    size_t k = 0, used = 0;
    int i;
    snprintf(out, size, "%s", m->device ? "" : "host");
    if (!m->device) return;
    for (i = 0; i < st->plan_count && used < size; i++) {
        if (i) used += (size_t)snprintf(out + used, size - used, "+");
        if (used < size && k < m->on_device->count && st->part[k].index == i)
            used += spmv_variant_print(spmv_device_matrix_variant(m->on_device, k++), out + used, size - used);
    }
#else
    (void)m;
    snprintf(out, size, "host");
#endif
}

void runner_variant(const runner *r, char *out, size_t size) { runner_text(r, variant_text, out, size); }
