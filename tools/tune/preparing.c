/* SPDX-License-Identifier: MIT */
#include "preparing.h"

#include "../cli/cli.h"
#include "../library.h"
#include "../measure/device.h"
#include "candidates.h"
#include "workload.h"
#include "spmv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__GLIBC__)
#  include <malloc.h>
#endif

/* The matrices of one shape have two sizes, so that what a part takes to begin can be told from what its slots take. */
enum { SMALL, LARGE, SIZES };

enum {
    PER_ROW = 16,     /* nonzeros in a row */
    SMALL_PART = 16,  /* the small matrix has such a share of the rows of the large one */
    REPEATS = 3,      /* how often a matrix is prepared again; the fastest counts, as other work only adds time */
    RUN = 2048        /* of csr:run */
};

/* The shapes that the ways to store a matrix are measured on, in this order: if time is short, what comes first matters most. */
enum { FLAT, UNEVEN, BLOCKS, FULL, SHAPES };

typedef struct preparing {
    tuner      *u;
    spmv_type   type;
    double      until;
    uint64_t    most;                     /* nonzeros of the large matrix */
    workload    w[SIZES];
    double      build[SPMV_FORMAT_COUNT]; /* seconds of building kernels for the first matrix of a format */
    int         builds;
} preparing;

/* What one plan took. */
typedef struct cost {
    double seconds, slots; /* without building kernels */
    double build;          /* of the first matrix */
} cost;

/* The shape on which a format is measured in a way. */
static int shape_of(spmv_format f, spmv_way way)
{
    if (spmv_format_class_of(f) == SPMV_CLASS_DENSE) return FULL;
    if (spmv_format_class_of(f) == SPMV_CLASS_BLOCK) return BLOCKS;
    return way == SPMV_WAY_SORTED ? UNEVEN : FLAT;
}

/* Makes the matrices of a shape. Blocks are those of a layout. 1, or 0 if memory ran out. */
static int make_matrices(preparing *p, int shape, uint64_t block)
{
    tune_shape s;
    int size;
    if (cli_seconds() > p->until) return 1; /* they will not be used */
    memset(&s, 0, sizeof s);
    s.kind = shape == UNEVEN ? SPMV_TUNE_UNEVEN : SPMV_TUNE_BANDED;
    s.full = shape == FULL;
    if (shape == BLOCKS) {
        s.bh = (unsigned)(block >> 8);
        s.bw = (unsigned)(block & 255);
    }
    s.per_row = PER_ROW;
    for (size = 0; size < SIZES; size++) {
        s.rows = p->most / PER_ROW / (size == SMALL ? SMALL_PART : 1);
        if (workload_make(&p->w[size], &s, p->type, &p->u->t->hooks) != SPMV_OK) return 0;
    }
    return 1;
}

/* Prepares the matrix of a workload by a plan once. */
static spmv_status prepare_once(preparing *p, const workload *w, const char *plan, cost *out)
{
    spmv_matrix m;
    spmv_desc d;
    double from = cli_seconds();
    spmv_status s;
    memset(&d, 0, sizeof d);
    d.csr = &w->a;
    d.type = p->type;
    d.plan = plan;
    d.device = p->u->device;
    d.hooks = p->u->t->hooks;
#ifndef SPMV_NO_DEVICES
    if (d.device && spmv_convert_here(d.device)) d.convert = SPMV_CONVERT_ON_DEVICE; /* as for all matrices of a program but the first */
#endif
    cli_phases_begin(p->u->t);
    s = spmv_create(&m, &d);
    if (s != SPMV_OK) return s;
    out->build = p->u->t->spent[SPMV_PHASE_BUILD];
    out->seconds = cli_seconds() - from - out->build;
    out->slots = (double)spmv_store_slots(&m.store);
    spmv_destroy(&m);
    return SPMV_OK;
}

/* Prepares it once and then a few times again, of which the fastest counts. 0: the plan does not suit the matrix, or time is over. */
static int prepare(preparing *p, const workload *w, const char *plan, cost *out)
{
    cost again;
    spmv_status s;
    int i;
    memset(out, 0, sizeof *out);
    if (cli_seconds() > p->until) return 0;
    p->u->t->keep = 1;
    s = prepare_once(p, w, plan, out);
    for (i = 0; i < REPEATS && s == SPMV_OK; i++) {
        s = prepare_once(p, w, plan, &again);
        if (s == SPMV_OK && (!i || again.seconds < out->seconds)) out->seconds = again.seconds;
    }
    p->u->t->keep = 0;
    p->u->t->text[0] = 0;
    return s == SPMV_OK && out->seconds > 0 && out->slots > 0;
}

/* ---- formats ---------------------------------------------------------------------------------------------------------- */

/* The text of the plan that stores a format in a way; the layout is the first one that is tuned. *block: the size of its blocks. 0: the
 * format has no such way. */
static int plan_of(const preparing *p, spmv_format f, spmv_way way, char *out, size_t size, uint64_t *block)
{
    const spmv_format_layout *all;
    spmv_plan *plan = (spmv_plan *)malloc(sizeof *plan);
    const spmv_key own = library_slower_key(f);
    int fine = plan && spmv_format_layouts(f, &all) && spmv_plan_parse(plan, all[0].plan, NULL, &p->u->t->hooks) == SPMV_OK;
    if (fine) {
        spmv_spec *spec = plan->part;
        *block = (uint64_t)spec->key[SPMV_KEY_B];
        if (way == SPMV_WAY_SORTED) spec->key[SPMV_KEY_ROWS] = SPMV_ROWS_SORTED;
        if (way == SPMV_WAY_OWN)
            spec->key[own] = own == SPMV_KEY_RUN ? RUN : own == SPMV_KEY_D ? 500000 : own == SPMV_KEY_IDX ? 16 : PER_ROW;
        fine = spmv_plan_check(plan, 0, &p->u->t->hooks) == SPMV_OK && spmv_plan_print(plan, out, size) < size;
    }
    free(plan);
    return fine;
}

/* Measures a format in a way, with the matrices of its shape. */
static void measure_way(preparing *p, spmv_format f, spmv_way way, const char *plan)
{
    spmv_tune_prepare *to = &p->u->head.prepare;
    cost small, large;
    if (way != SPMV_WAY_PLAIN) {
        if (to->slot[f][SPMV_WAY_PLAIN] > 0 && prepare(p, &p->w[LARGE], plan, &large) && large.seconds > to->begin[f])
            to->slot[f][way] = (large.seconds - to->begin[f]) / large.slots;
        return;
    }
    if (!prepare(p, &p->w[SMALL], plan, &small) || !prepare(p, &p->w[LARGE], plan, &large)) return;
    to->slot[f][way] = (large.seconds - small.seconds) / (large.slots - small.slots);
    if (!(to->slot[f][way] > 0)) to->slot[f][way] = large.seconds / large.slots;
    to->begin[f] = small.seconds - to->slot[f][way] * small.slots;
    if (!(to->begin[f] > 0)) to->begin[f] = 0;
    if (small.build > 0) p->build[p->builds++] = small.build;
}

/* Measures all formats and ways that belong to a shape. 1, or 0 if memory ran out. */
static int measure_shape(preparing *p, int shape)
{
    char plan[SPMV_PLAN_TEXT];
    uint64_t block = 0, made = 0;
    int f, way, any = 0;
    for (f = 0; f < SPMV_FORMAT_COUNT; f++)
        for (way = SPMV_WAY_PLAIN; way < SPMV_WAY_COUNT; way++) {
            int known;
            if (!spmv_format_built((spmv_format)f) || shape_of((spmv_format)f, (spmv_way)way) != shape) continue;
            p->u->t->keep = 1;
            known = plan_of(p, (spmv_format)f, (spmv_way)way, plan, sizeof plan, &block);
            p->u->t->keep = 0;
            p->u->t->text[0] = 0;
            if (!known) continue;
            if ((!any || block != made) && !make_matrices(p, shape, block)) return 0;
            any = 1;
            made = block;
            measure_way(p, (spmv_format)f, (spmv_way)way, plan);
        }
    return 1;
}

/* ---- parts, dividing, a look -------------------------------------------------------------------------------------------- */

/* Measures what a second part adds, with the large matrix. */
static void measure_parts(preparing *p)
{
    const workload *w = &p->w[LARGE];
    char text[64];
    cost one, two;
    snprintf(text, sizeof text, "csr:cols=%llu+csr", (unsigned long long)w->a.cols / 2);
    if (prepare(p, w, "csr", &one) && prepare(p, w, text, &two) && two.seconds > one.seconds)
        p->u->head.prepare.part = (two.seconds - one.seconds) / (double)w->a.nnz;
}

/* Divides a matrix and looks at its parts as if one of them were to be stored in a flat format, which is what the choice does to estimate
 * a plan of several parts. */
static spmv_status divide_once(const preparing *p, const workload *w, const spmv_plan *plan, spmv_estimate *part, spmv_choice *c)
{
    const spmv_target target = device_target(p->u->device);
    const spmv_hooks *hooks = &p->u->t->hooks;
    spmv_build how;
    spmv_build_hints hints;
    spmv_status s;
    int f;
    memset(&how, 0, sizeof how);
    memset(&hints, 0, sizeof hints);
    how.type = p->type;
    hints.verify = SPMV_VERIFY_OFF;
    for (f = 0; f < SPMV_FORMAT_COUNT; f++)
        if (spmv_format_class_of((spmv_format)f) != SPMV_CLASS_FLAT) hints.without |= 1u << f;
    s = spmv_predict(part, plan, NULL, &w->a, &how, &target, NULL, hooks);
    return s == SPMV_OK ? spmv_choose(c, "auto", &w->a, &how, &target, &hints, NULL, hooks) : s;
}

/* Measures what dividing a matrix takes, with the large one of uneven rows, as matrices that are divided have them. 1, or 0 if memory ran
 * out. */
static int measure_divide(preparing *p)
{
    const workload *w = &p->w[LARGE];
    spmv_plan *plan = (spmv_plan *)malloc(sizeof *plan);
    spmv_estimate *part = (spmv_estimate *)malloc(SPMV_MAX_PARTS * sizeof *part);
    spmv_choice *c = (spmv_choice *)malloc(sizeof *c);
    double from, took;
    int i, fine = plan && part && c;
    p->u->t->keep = 1;
    for (i = 0; fine && i < REPEATS && cli_seconds() < p->until; i++) {
        if (spmv_plan_parse(plan, "ell:w=8+csr", NULL, &p->u->t->hooks) != SPMV_OK) break;
        from = cli_seconds();
        if (divide_once(p, w, plan, part, c) != SPMV_OK) break;
        took = (cli_seconds() - from) / (double)w->a.nnz;
        if (!i || took < p->u->head.prepare.divide) p->u->head.prepare.divide = took;
    }
    p->u->t->keep = 0;
    p->u->t->text[0] = 0;
    free(c);
    free(part);
    free(plan);
    return fine;
}

#ifndef SPMV_NO_DEVICES
/* Seconds of fetching a matrix from buffers of the device and analysing it; 0 if that fails. */
static double look_once(preparing *p, const workload *w, void *const array[3])
{
    spmv_build_hints hints;
    spmv_matrix m;
    spmv_desc d;
    memset(&d, 0, sizeof d);
    memset(&hints, 0, sizeof hints);
    hints.verify = SPMV_VERIFY_OFF;
    hints.expected_calls = UINT64_C(1) << 40; /* so many that a look pays */
    d.type = p->type;
    d.hints = &hints;
    d.device = p->u->device;
    d.hooks = p->u->t->hooks;
    d.buffers = 1;
    d.matrix.rows = (int64_t)w->a.rows;
    d.matrix.cols = (int64_t)w->a.cols;
    d.matrix.nnz = (int64_t)w->a.nnz;
    d.matrix.ptr_bits = 64;
    d.matrix.val_type = p->type;
    d.matrix.ptr = array[0];
    d.matrix.col = array[1];
    d.matrix.val = array[2];
    cli_phases_begin(p->u->t);
    if (spmv_create(&m, &d) != SPMV_OK) return 0;
    spmv_destroy(&m);
    return p->u->t->spent[SPMV_PHASE_INPUT] + p->u->t->spent[SPMV_PHASE_CHOICE];
}

/* Seconds of a look at the matrix of a workload, the fewest of several. *bytes: those of its pointers and columns. */
static double look(preparing *p, const workload *w, double *bytes)
{
    const uint64_t sizes[3] = {8 * (w->a.rows + 1), 4 * w->a.nnz, w->a.nnz * spmv_value_size(p->type)};
    const void *from[3];
    void *array[3] = {NULL, NULL, NULL};
    double best = 0, took;
    int i, fine = 1;
    from[0] = w->a.ptr;
    from[1] = w->a.col;
    from[2] = w->a.val;
    *bytes = (double)sizes[0] + (double)sizes[1];
    for (i = 0; i < 3 && fine; i++)
        fine = spmv_buffer_create(p->u->device, sizes[i], &array[i]) == SPMV_OK &&
               spmv_buffer_write(p->u->device, array[i], sizes[i], from[i]) == SPMV_OK;
    for (i = 0; i <= REPEATS && fine && cli_seconds() < p->until; i++) {
        took = look_once(p, w, array);
        if (took > 0 && (!(best > 0) || took < best)) best = took;
    }
    for (i = 0; i < 3; i++) spmv_buffer_free(p->u->device, array[i]);
    return best;
}

/* Measures a look at matrices of both sizes. */
static void measure_look(preparing *p)
{
    spmv_tune_prepare *to = &p->u->head.prepare;
    double small_bytes, large_bytes, small, large;
    if (p->u->head.device_class != SPMV_DEVICE_CLASS_GPU) return;
    small = look(p, &p->w[SMALL], &small_bytes);
    large = look(p, &p->w[LARGE], &large_bytes);
    if (!(small > 0) || !(large > small)) return;
    to->look_byte = (large - small) / (large_bytes - small_bytes);
    to->look = small - to->look_byte * small_bytes;
    if (!(to->look > 0)) to->look = 0;
}
#endif

static int compare_reals(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Large blocks are new pages each time, as they are in a program that prepares one matrix; or as the C library likes it. */
static void set_fresh_pages(int fresh)
{
#if defined(__GLIBC__)
    mallopt(M_MMAP_THRESHOLD, fresh ? 1 << 17 : 32 << 20); /* the least and the most that the library itself takes */
#else
    (void)fresh;
#endif
}

/* Measures everything that belongs to a shape. 1, or 0 if memory ran out. */
static int measure_all_of(preparing *p, int shape)
{
    if (!measure_shape(p, shape)) return 0;
    if (!p->w[LARGE].a.nnz || cli_seconds() > p->until) return 1;
    if (shape == UNEVEN) return measure_divide(p);
    if (shape == FLAT) measure_parts(p);
#ifndef SPMV_NO_DEVICES
    if (shape == FLAT && p->u->device) measure_look(p);
#endif
    return 1;
}

int preparing_measure(tuner *u, double until)
{
    const uint64_t quick = UINT64_C(1) << 20; /* nonzeros, where time is short */
    preparing *p = (preparing *)calloc(1, sizeof *p);
    int shape, fine = p != NULL;
    if (!p) return cli_no_memory(u->t);
    p->u = u;
    p->until = until;
    p->most = until < 1e299 ? quick : u->most / 2;
#ifndef SPMV_NO_DEVICES
    if (u->device && !u->device->info.f64) p->type = SPMV_F32;
#endif
    memset(&u->head.prepare, 0, sizeof u->head.prepare);
    set_fresh_pages(1);
    for (shape = 0; shape < SHAPES && fine; shape++) fine = measure_all_of(p, shape);
    set_fresh_pages(0);
    qsort(p->build, (size_t)p->builds, sizeof *p->build, compare_reals);
    if (p->builds) u->head.prepare.build = p->build[p->builds / 2];
    workload_free(&p->w[SMALL]);
    workload_free(&p->w[LARGE]);
    free(p);
    return fine ? DONE : cli_no_memory(u->t);
}
