/* SPDX-License-Identifier: MIT
 *
 * tools/run.h - devices, prepared matrices, and how long a product takes. Part of tools/spmv.c.
 */
#ifndef SPMV_TOOLS_RUN_H
#define SPMV_TOOLS_RUN_H

#include "cli.h"

#ifdef _OPENMP
#  include <omp.h>
#endif

enum { LEAST_RUNS = 20, MOST_RUNS = 200 };

/* Threads that products on the host may use. */
static int host_threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/* ---- plans ----------------------------------------------------------------------------------------------------- */

/* Plans that the library finds for a device. */
static int plan_is_chosen(const char *text)
{
    return !strcmp(text, "auto") || !strcmp(text, "cocktail");
}

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
    s = plan_is_chosen(text) ? SPMV_OK : spmv_plan_make(plan, text, &none, NULL, &column, &t->hooks);
    t->keep = 0;
    free(plan);
    if (s != SPMV_ERR_PLAN && !(s != SPMV_OK && column > 0)) return DONE; /* the real matrix will tell */
    return misuse(t, "--%s: %s", from, *t->text ? t->text : spmv_status_text(s));
}

/* 1 if text is a format's or a builder's name, with keys or without; 0 if it is a plan of several parts. */
static int plan_is_named(const char *text)
{
    int i;
    if (plan_is_chosen(text)) return 1;
    for (i = 0; i < SPMV_BUILDER_COUNT; i++) {
        const char *name = spmv_builder_name((spmv_builder)i);
        size_t n = strlen(name);
        if (!strncmp(text, name, n) && (!text[n] || text[n] == ':') && !strchr(text, '+')) return 1;
    }
    return spmv_format_from(text) != SPMV_FORMAT_COUNT;
}

/* ---- time ------------------------------------------------------------------------------------------------------ */

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

/* What the samples of one thing say, in seconds. */
typedef struct timing {
    double least, median, most;
    int    samples;
} timing;

/* Sorts v. */
static timing timing_of(double *v, int n)
{
    timing t;
    t.median = median(v, n);
    t.least = v[0];
    t.most = v[n - 1];
    t.samples = n;
    return t;
}

/* One matrix, one plan, one device, ready to be multiplied and timed. */
typedef struct runner {
    tool        *t;
    spmv_matrix  m;
    uint64_t     rows, cols;
    const void  *x;         /* host vectors, and images of them on an OpenCL device */
    void        *y;
#ifndef SPMV_NO_OPENCL
    spmv_exec    exec;
    cl_mem       cl_x, cl_y, cl_junk; /* junk: what --cold fills the caches with */
#endif
} runner;

#ifndef SPMV_NO_OPENCL
static void runner_close_cl(runner *r)
{
    spmv_exec_free(&r->exec);
    if (r->cl_x) clReleaseMemObject(r->cl_x);
    if (r->cl_y) clReleaseMemObject(r->cl_y);
    if (r->cl_junk) clReleaseMemObject(r->cl_junk);
    r->cl_x = r->cl_y = r->cl_junk = NULL;
}

static spmv_status runner_failed(runner *r, const char *what, cl_int code)
{
    return spmv_log(&r->t->hooks, SPMV_ERR_OPENCL, "%s: OpenCL error %d", what, (int)code);
}

/* More than any cache holds. */
static size_t junk_bytes(const spmv_device *d)
{
    return d->info.alloc_bytes < 512u << 20 ? (size_t)d->info.alloc_bytes / 4 * 4 : 512u << 20;
}

/* Vectors on the device, where they stay. */
static spmv_status runner_open_cl(runner *r, const spmv_desc *desc)
{
    size_t width = spmv_vector_size(desc->type), in = (size_t)r->cols * width, out = (size_t)r->rows * width;
    spmv_status s = spmv_exec_create(&r->exec, r->m.on_device, NULL);
    cl_int code;
    if (s != SPMV_OK) return s;
    r->cl_x = clCreateBuffer(desc->device->context, CL_MEM_READ_ONLY, in ? in : width, NULL, &code);
    if (code != CL_SUCCESS) return runner_failed(r, "a buffer for x", code);
    r->cl_y = clCreateBuffer(desc->device->context, CL_MEM_READ_WRITE, out ? out : width, NULL, &code);
    if (code != CL_SUCCESS) return runner_failed(r, "a buffer for y", code);
    if (in) code = clEnqueueWriteBuffer(desc->device->queue, r->cl_x, CL_TRUE, 0, in, r->x, 0, NULL, NULL);
    if (code != CL_SUCCESS) return runner_failed(r, "copying x", code);
    if (r->t->events) s = spmv_exec_timing(&r->exec, 1);
    if (s != SPMV_OK) return s;
    if (r->t->cold) {
        r->cl_junk = clCreateBuffer(desc->device->context, CL_MEM_READ_WRITE, junk_bytes(desc->device), NULL, &code);
        if (code != CL_SUCCESS) return runner_failed(r, "a buffer for --cold", code);
    }
    return SPMV_OK;
}
#endif

static void runner_close(runner *r)
{
#ifndef SPMV_NO_OPENCL
    runner_close_cl(r);
#endif
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
#ifndef SPMV_NO_OPENCL
    if (s == SPMV_OK && desc->device) s = runner_open_cl(r, desc);
#endif
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

#ifndef SPMV_NO_OPENCL
/* By the clock: times products that follow each other and a wait, as an iterative solver has them. By events: one product, the first
 * kernel's start to the last kernel's end, which has what events themselves cost in it (H200: 3 us, 10 more for each kernel after it). */
static spmv_status sample_cl(runner *r, int times, double *out)
{
    double from = seconds();
    spmv_status s = SPMV_OK;
    cl_int code;
    int i;
    cl_uint pattern = 0x55555555;
    if (r->t->events) times = 1;
    if (r->cl_junk) {
        code = clEnqueueFillBuffer(r->m.device->queue, r->cl_junk, &pattern, sizeof pattern, 0, junk_bytes(r->m.device), 0,
                                   NULL, NULL);
        if (code != CL_SUCCESS) return runner_failed(r, "clEnqueueFillBuffer", code);
    }
    for (i = 0; i < times && s == SPMV_OK; i++)
        s = spmv_exec_mul(&r->exec, 1, r->cl_x, 0, 0, r->cl_y, 0, 0, NULL, NULL);
    if (s != SPMV_OK) return s;
    if (r->t->events) return spmv_exec_seconds(&r->exec, out);
    code = clFinish(r->m.device->queue);
    *out = (seconds() - from) / times;
    return code == CL_SUCCESS ? SPMV_OK : runner_failed(r, "clFinish", code);
}
#endif

static spmv_status sample(runner *r, int times, double *out)
{
#ifndef SPMV_NO_OPENCL
    if (r->m.device) return sample_cl(r, times, out);
#endif
    return sample_host(r, times, out);
}

/* How long a sample should take: waiting for a device takes time as well, which must not show. */
static double sample_span(const runner *r)
{
#ifndef SPMV_NO_OPENCL
    if (r->m.device && !r->t->events) return 2e-3;
#endif
    (void)r;
    return 100e-6;
}

/* Times least warm samples or more, of a span each; more while they take under so many seconds together. How many products fill
 * a span is found by trying: the first of a process take many times as long as those that follow. */
static spmv_status runner_time(runner *r, int least, double together, const char *what, timing *out)
{
    double v[MOST_RUNS], from, one = 0, span = sample_span(r);
    spmv_status s;
    int n = 0, times = 1;
    while ((s = sample(r, times, &one)) == SPMV_OK && one * times < span && times < 100000)
        times = one * times * 10 < span ? times * 10 : (int)(span / one) + 1;
    for (from = seconds(); s == SPMV_OK && n < MOST_RUNS && (n < least || seconds() - from < together); n++) {
        s = sample(r, times, &v[n]);
        progress(r->t, what, (double)n / least);
    }
    if (s == SPMV_OK) *out = timing_of(v, n);
    return s;
}

/* ---- builders that measure ------------------------------------------------------------------------------------- */

typedef struct measurer {
    tool     *t;
    spmv_desc desc;
    void     *x, *y; /* made for measuring only */
    spmv_build_hints hints;
} measurer;

/* spmv_measure: seconds of a product by plan on the device at hand. What it cannot do is not worth a message. */
static double measure_plan(void *user, const spmv_plan *plan, const char *variant)
{
    measurer *me = (measurer *)user;
    char *text = (char *)malloc(SPMV_PLAN_TEXT);
    size_t said = strlen(me->t->text);
    int kept = me->t->keep;
    double took = -1;
    timing samples;
    spmv_desc desc = me->desc;
    runner r;
    if (!text) return -1;
    me->t->keep = 1;
    spmv_plan_print(plan, text, SPMV_PLAN_TEXT);
    desc.plan = text;
    desc.variant = variant;
    desc.hints = NULL;
    if (runner_open(&r, me->t, &desc, me->x, me->y) == SPMV_OK) {
        if (runner_time(&r, 5, 0.1, "measuring plans", &samples) == SPMV_OK) took = samples.median;
        runner_close(&r);
    }
    me->t->keep = kept;
    me->t->text[said] = 0;
    free(text);
    return took;
}

/* chosen: how to choose, or NULL. */
static int measurer_make(measurer *me, tool *t, const spmv_desc *desc, const spmv_build_hints *chosen)
{
    size_t width = spmv_vector_size(desc->type);
    memset(me, 0, sizeof *me);
    me->t = t;
    me->desc = *desc;
    me->x = calloc((size_t)desc->csr->cols + 1, width);
    me->y = calloc((size_t)desc->csr->rows + 1, width);
    if (chosen) me->hints = *chosen;
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

/* ---- how to choose --------------------------------------------------------------------------------------------- */

/* --refine, --calls, --table; table is freed by the caller. */
static int choice_options(tool *t, const arguments *a, spmv_build_hints *hints, spmv_tuning *table)
{
    int result = DONE;
    uint64_t refine = option_count(t, a, OPT_REFINE, 0, 0, SPMV_CHOICE_MAX, &result);
    uint64_t calls = option_count(t, a, OPT_CALLS, 0, 0, 1000000000000000, &result);
    memset(table, 0, sizeof *table);
    memset(hints, 0, sizeof *hints);
    if (result != DONE) return result;
    hints->refine = (int)refine;
    hints->expected_calls = calls;
    if (!a->value[OPT_TABLE]) return DONE;
    if (load_table(t, a->value[OPT_TABLE], table) != DONE) return FAILED;
    hints->tuning = table;
    return DONE;
}

/* ---- devices --------------------------------------------------------------------------------------------------- */

#ifdef SPMV_NO_OPENCL
static int device_open(tool *t, const char *text, spmv_device **out)
{
    *out = NULL;
    if (!text || !strcmp(text, "host")) return DONE;
    return complain(t, "--device %s: this program was built without OpenCL", text);
}

static void device_close(spmv_device *d)
{
    (void)d;
}

static const char *device_label(const spmv_device *d)
{
    (void)d;
    return "host";
}

static spmv_place device_place(const spmv_device *d)
{
    spmv_place p = {NULL, NULL};
    (void)d;
    return p;
}

static int devices_print(tool *t)
{
    (void)t;
    puts("host");
    return DONE;
}

static void runner_variant(const runner *r, char *out, size_t size)
{
    (void)r;
    snprintf(out, size, "host");
}
#else

/* *out becomes NULL for the host; device_close frees it. */
static int device_open(tool *t, const char *text, spmv_device **out)
{
    spmv_device_desc desc;
    *out = NULL;
    if (!text || !strcmp(text, "host")) return DONE;
    memset(&desc, 0, sizeof desc);
    desc.which = text;
    desc.profile = t->events;
    desc.hooks = t->hooks;
    *out = (spmv_device *)malloc(sizeof **out);
    if (!*out) return no_memory(t);
    if (spmv_device_open(*out, &desc) == SPMV_OK) return DONE;
    free(*out);
    *out = NULL;
    return FAILED;
}

static void device_close(spmv_device *d)
{
    if (!d) return;
    spmv_device_close(d);
    free(d);
}

static const char *device_label(const spmv_device *d)
{
    return d ? d->info.name : "host";
}

static spmv_place device_place(const spmv_device *d)
{
    return spmv_place_of(d);
}

static int devices_print(tool *t)
{
    size_t count = 0, i, got;
    spmv_device_info *info;
    puts("host  this program's own products");
    if (spmv_device_list(NULL, 0, &count, &t->hooks) != SPMV_OK) return FAILED;
    info = (spmv_device_info *)calloc(count + 1, sizeof *info);
    if (!info) return no_memory(t);
    got = count;
    if (spmv_device_list(info, count, &got, &t->hooks) != SPMV_OK) got = 0;
    for (i = 0; i < got && i < count; i++) {
        const spmv_device_info *d = &info[i];
        printf("%-4u  %s\n      %s; platform %s; driver %s\n", (unsigned)i, d->name, d->version, d->platform,
               d->driver);
        printf("      %s, %u compute units, %.1f GiB, buffers up to %.1f GiB, local %.0f KiB, groups up to %llu, "
               "f64 %s\n", spmv_device_type_name(d->type), d->compute_units, (double)d->global_bytes / 1073741824.0,
               (double)d->alloc_bytes / 1073741824.0, (double)d->local_bytes / 1024.0,
               (unsigned long long)d->group_size, d->f64 ? "yes" : "no");
    }
    free(info);
    return DONE;
}

/* The variants of all parts, joined as the plan's parts are; empty for a part that took nothing. */
static void runner_variant(const runner *r, char *out, size_t size)
{
    const spmv_store *st = &r->m.store;
    size_t k = 0, used = 0;
    int i;
    snprintf(out, size, "%s", r->m.device ? "" : "host");
    if (!r->m.device) return;
    for (i = 0; i < st->plan.count && used < size; i++) {
        if (i) used += (size_t)snprintf(out + used, size - used, "+");
        if (used < size && k < r->m.on_device->count && st->index[k] == i)
            used += spmv_variant_print(spmv_device_matrix_variant(r->m.on_device, k++), out + used, size - used);
    }
}
#endif

#endif
