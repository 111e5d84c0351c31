/* SPDX-License-Identifier: MIT
 *
 * tools/run.h - devices, prepared matrices, and how long a product takes. Part of tools/spmv.c.
 */
#ifndef SPMV_TOOLS_RUN_H
#define SPMV_TOOLS_RUN_H

#include "cli.h"

enum { LEAST_RUNS = 20, MOST_RUNS = 200 };

/* ---- plans --------------------------------------------------------------------------------------------------------- */

/* Whether text is a plan or a builder at all, found out on the empty matrix, before any file is read. */
static int plan_is_text(tool *t, const char *from, const char *text)
{
    static const uint64_t ptr[1] = {0};
    spmv_plan *plan = (spmv_plan *)malloc(sizeof *plan);
    spmv_csr none;
    spmv_status s;
    int column = 0;
    if (!plan) return no_memory(t);
    memset(&none, 0, sizeof none);
    none.ptr = ptr;
    t->text[0] = 0;
    t->keep = 1;
    s = spmv_plan_make(plan, text, &none, NULL, &column, &t->hooks);
    t->keep = 0;
    free(plan);
    if (s != SPMV_ERR_PLAN && !(s != SPMV_OK && column > 0)) return DONE; /* the real matrix will tell */
    return misuse(t, "--%s '%s': %s", from, text, *t->text ? t->text : spmv_status_text(s));
}

/* 1 if text is a format's or a builder's name, with keys or without; 0 if it is a plan of several parts. */
static int plan_is_named(const char *text)
{
    int i;
    for (i = 0; i < SPMV_BUILDER_COUNT; i++) {
        const char *name = spmv_builder_name((spmv_builder)i);
        size_t n = strlen(name);
        if (!strncmp(text, name, n) && (!text[n] || text[n] == ':') && !strchr(text, '+')) return 1;
    }
    return spmv_format_from(text) != SPMV_FORMAT_COUNT;
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, compare_reals);
    return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

/* One matrix, one plan, one device, ready to be multiplied and timed. */
typedef struct runner {
    tool        *t;
    spmv_matrix  m;
    uint64_t     rows, cols;
    const void  *x;         /* host vectors, and images of them on an OpenCL device */
    void        *y;
    double       spent;     /* seconds the last timing took altogether */
} runner;

static void runner_close(runner *r)
{
    spmv_destroy(&r->m);
    memset(r, 0, sizeof *r);
}

/* Prepares desc->csr by desc->plan; x and y are host vectors of its columns and rows. On failure *r is zeroed. */
static spmv_status runner_open(runner *r, tool *t, const spmv_desc *desc, const void *x, void *y)
{
    spmv_status s;
    memset(r, 0, sizeof *r);
    r->t = t;
    r->rows = desc->csr->rows;
    r->cols = desc->csr->cols;
    r->x = x;
    r->y = y;
    s = spmv_create(&r->m, desc);
    if (s != SPMV_OK) runner_close(r);
    return s;
}

/* Seconds that one of times products on the host takes. */
static spmv_status sample_host(runner *r, int times, double *out)
{
    double from = seconds();
    spmv_status s = SPMV_OK;
    int i;
    for (i = 0; i < times && s == SPMV_OK; i++) s = spmv_mul(&r->m, 1, r->x, 0, r->y);
    *out = (seconds() - from) / times;
    return s;
}

static spmv_status sample(runner *r, int times, double *out)
{
    return sample_host(r, times, out);
}

/* The median of least warm samples or more, of 100 us at least each; more samples while they take under 0.1 s together. */
static spmv_status runner_time(runner *r, int least, const char *what, double *out)
{
    double v[MOST_RUNS], from, one;
    spmv_status s = sample(r, 1, &one);
    int n = 0, times = 1;
    if (s == SPMV_OK) s = sample(r, 2, &one);
    if (one < 100e-6) times = one > 1e-8 ? (int)(100e-6 / one) + 1 : 10000;
    for (from = seconds(); s == SPMV_OK && n < MOST_RUNS && (n < least || seconds() - from < 0.1); n++) {
        s = sample(r, times, &v[n]);
        progress(r->t, what, (double)n / least);
    }
    if (s == SPMV_OK) *out = median(v, n);
    return s;
}

/* ---- builders that measure ------------------------------------------------------------------------------------------- */

typedef struct measurer {
    tool     *t;
    spmv_desc desc;
    void     *x, *y; /* made for measuring only */
    spmv_build_hints hints;
} measurer;

/* spmv_measure: seconds of a product by plan on the device at hand. What it cannot do is not worth a message. */
static double measure_plan(void *user, const spmv_plan *plan)
{
    measurer *me = (measurer *)user;
    char *text = (char *)malloc(SPMV_PLAN_TEXT);
    size_t said = strlen(me->t->text);
    int kept = me->t->keep;
    double took = -1;
    spmv_desc desc = me->desc;
    runner r;
    if (!text) return -1;
    me->t->keep = 1;
    spmv_plan_print(plan, text, SPMV_PLAN_TEXT);
    desc.plan = text;
    desc.hints = NULL;
    if (runner_open(&r, me->t, &desc, me->x, me->y) == SPMV_OK) {
        if (runner_time(&r, 5, "measuring plans", &took) != SPMV_OK) took = -1;
        runner_close(&r);
    }
    me->t->keep = kept;
    me->t->text[said] = 0;
    free(text);
    return took;
}

static int measurer_make(measurer *me, tool *t, const spmv_desc *desc)
{
    size_t width = spmv_vector_size(desc->type);
    memset(me, 0, sizeof *me);
    me->t = t;
    me->desc = *desc;
    me->x = calloc((size_t)desc->csr->cols + 1, width);
    me->y = calloc((size_t)desc->csr->rows + 1, width);
    me->hints.measure = measure_plan;
    me->hints.measure_user = me;
    return me->x && me->y ? DONE : no_memory(t);
}

static void measurer_free(measurer *me)
{
    free(me->x);
    free(me->y);
    memset(me, 0, sizeof *me);
}

/* ---- devices --------------------------------------------------------------------------------------------------------- */

#ifdef SPMV_NO_OPENCL
static int device_open(tool *t, const char *text, spmv_device **out)
{
    *out = NULL;
    if (!text || !strcmp(text, "host")) return DONE;
    return complain(t, "--device %s: this program was built without OpenCL", text);
}
static void device_close(spmv_device *d) { (void)d; }
static const char *device_label(spmv_device *d) { (void)d; return "host"; }
static int devices_print(tool *t) { (void)t; puts("host"); return DONE; }
static void runner_variant(const runner *r, char *out, size_t size) { (void)r; snprintf(out, size, "host"); }
#endif

#endif
