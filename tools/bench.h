/* SPDX-License-Identifier: MIT
 *
 * tools/bench.h - every plan timed and its product checked. Part of tools/spmv.c.
 */
#ifndef SPMV_TOOLS_BENCH_H
#define SPMV_TOOLS_BENCH_H

#include "run.h"
#include <float.h>
#include <math.h>
#include <signal.h>

/* ---- vectors --------------------------------------------------------------------------------------------------- */

static void put(spmv_type type, void *x, uint64_t i, double v)
{
    if (type == SPMV_F32) ((float *)x)[i] = (float)v;
    else ((double *)x)[i] = v;
}

static double get(spmv_type type, const void *x, uint64_t i)
{
    return type == SPMV_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

/* Uniform in [-1, 1), with as many bits as the type holds; the same on every machine. */
static double random_real(spmv_type type, uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    if (type == SPMV_F32) return (double)(*state >> 40) / 8388608.0 - 1.0;
    return (double)(*state >> 11) / 4503599627370496.0 - 1.0;
}

static void fill_random(spmv_type type, void *x, uint64_t n, uint64_t seed)
{
    uint64_t i;
    for (i = 0; i < n; i++) put(type, x, i, random_real(type, &seed));
}

/* Whole numbers from -4 to 4. */
static void fill_whole(spmv_type type, void *x, uint64_t n, uint64_t seed)
{
    uint64_t i;
    for (i = 0; i < n; i++) put(type, x, i, (double)(int)(random_real(type, &seed) * 4.5));
}

/* ---- the reference --------------------------------------------------------------------------------------------- */

typedef struct trial {
    tool           *t;
    const spmv_csr *a;
    spmv_type       type;
    void           *x, *start, *y;  /* start is y before the product */
    long double    *exact, *size;   /* A x and |A| |x|, row by row */
    int             whole;          /* 1: small integers throughout, so that every product must be exact */
} trial;

static void trial_free(trial *c)
{
    free(c->x);
    free(c->start);
    free(c->y);
    free(c->exact);
    free(c->size);
    memset(c, 0, sizeof *c);
}

static int trial_make(trial *c, tool *t, const spmv_csr *a, spmv_type type)
{
    size_t width = spmv_vector_size(type), rows = (size_t)a->rows + 1, cols = (size_t)a->cols + 1;
    memset(c, 0, sizeof *c);
    c->t = t;
    c->a = a;
    c->type = type;
    c->x = calloc(cols, width);
    c->start = calloc(rows, width);
    c->y = calloc(rows, width);
    c->exact = (long double *)calloc(rows, sizeof *c->exact);
    c->size = (long double *)calloc(rows, sizeof *c->size);
    if (c->x && c->start && c->y && c->exact && c->size) return DONE;
    trial_free(c);
    return no_memory(t);
}

static long double magnitude(long double v)
{
    return v < 0 ? -v : v;
}

/* exact and size for the present x. */
static void trial_reference(trial *c)
{
    const spmv_csr *a = c->a;
    uint64_t r, k;
    for (r = 0; r < a->rows; r++) {
        long double sum = 0, sizes = 0;
        for (k = a->ptr[r]; k < a->ptr[r + 1]; k++) {
            long double term = (long double)value_at(a, k) * (long double)get(c->type, c->x, a->col[k]);
            sum += term;
            sizes += magnitude(term);
        }
        c->exact[r] = sum;
        c->size[r] = sizes;
    }
}

/* Whether every partial sum of 2 A x - y is an integer that the vectors hold exactly: x and y up to 4 in size. */
static int sums_stay_whole(const spmv_csr *a, spmv_type type)
{
    long double most = type == SPMV_F32 ? 16777216.0L : 9007199254740992.0L, sum;
    uint64_t r, k;
    for (r = 0; r < a->rows; r++) {
        for (sum = 4, k = a->ptr[r]; k < a->ptr[r + 1]; k++) {
            double v = value_at(a, k);
            if (!(v >= -1e6 && v <= 1e6) || v != (double)(int64_t)v) return 0;
            sum += 8 * magnitude((long double)v);
        }
        if (sum > most) return 0;
    }
    return 1;
}

/* The largest error over its bound (n + 4) u (|alpha| |A| |x| + |beta| |y|), where products and sums below the normal
 * range may be flushed to zero; infinite if an element is no number though it should be. */
static double worst_error(const trial *c, double alpha, double beta)
{
    int single = c->type == SPMV_F32;
    long double u = single ? (long double)FLT_EPSILON / 2 : (long double)DBL_EPSILON / 2;
    long double tiny = single ? (long double)FLT_MIN : (long double)DBL_MIN, top = single ? FLT_MAX : DBL_MAX;
    long double worst = 0;
    uint64_t r;
    for (r = 0; r < c->a->rows; r++) {
        long double before = beta != 0 ? (long double)get(c->type, c->start, r) : 0, after = get(c->type, c->y, r);
        long double want = alpha * c->exact[r] + beta * before, n = (long double)(c->a->ptr[r + 1] - c->a->ptr[r]);
        long double size = magnitude((long double)alpha) * c->size[r] + magnitude((long double)beta * before), ratio;
        if (!(size < top / 4)) continue; /* the matrix's own Inf, NaN or overflow: nothing to hold it against */
        ratio = magnitude(after - want) / ((n + 4) * (u * size + tiny));
        if (!(ratio <= LDBL_MAX)) return INFINITY;
        if (ratio > worst) worst = ratio;
    }
    return (double)worst;
}

static int all_equal(const trial *c, double alpha, double beta)
{
    uint64_t r;
    for (r = 0; r < c->a->rows; r++) {
        long double want = (long double)alpha * c->exact[r];
        if (beta != 0) want += (long double)beta * (long double)get(c->type, c->start, r);
        if (!((long double)get(c->type, c->y, r) == want)) return 0;
    }
    return 1;
}

/* One product into c->y; beta 0 begins from NaN, which must not survive. */
static spmv_status trial_multiply(trial *c, spmv_matrix *m, double alpha, double beta)
{
    uint64_t r;
    if (beta == 0) for (r = 0; r < c->a->rows; r++) put(c->type, c->y, r, NAN);
    else memcpy(c->y, c->start, (size_t)c->a->rows * spmv_vector_size(c->type));
    return spmv_mul(m, alpha, c->x, beta, c->y);
}

/* Random reals against the bound and, where the matrix allows, small integers that must come out exact (*err becomes
 * infinite if not). The references are those of the present x, so each x serves all plans: whole says which. */
static spmv_status trial_check(trial *c, spmv_matrix *m, int whole, double *err)
{
    static const double alpha[2] = {1, -2.5}, beta[2] = {0, 1.5}, whole_alpha[2] = {1, 2}, whole_beta[2] = {0, -1};
    int i;
    for (i = 0; i < 2; i++) {
        double al = whole ? whole_alpha[i] : alpha[i], be = whole ? whole_beta[i] : beta[i], e;
        spmv_status s = trial_multiply(c, m, al, be);
        if (s != SPMV_OK) return s;
        e = worst_error(c, al, be);
        if (whole && !all_equal(c, al, be)) e = INFINITY;
        if (e > *err) *err = e;
    }
    return SPMV_OK;
}

/* ---- results --------------------------------------------------------------------------------------------------- */

/* One line: what came of one plan. */
typedef struct line {
    const char *asked;            /* what --plan said */
    char       *plan, *variant;   /* in use, on the heap; NULL: it was not made */
    spmv_status status;           /* of making and multiplying it */
    char       *why;              /* what failed, on the heap; NULL: the status tells */
    timing      took;             /* of a product; NAN: not known, as in the figures that follow */
    double      gflops, gbs, bytes, padding, err;
    double      prepare;          /* seconds from CSR to the first product: choice, conversion, on a device upload and building */
    int         refused;          /* 1: the plan cannot work here */
    int         ok;               /* 1: multiplied, and right */
    int         again;            /* 1: timed beside others */
} line;

static const char *line_why(const line *r)
{
    return r->why ? r->why : spmv_status_text(r->status);
}

static void line_free(line *r)
{
    free(r->plan);
    free(r->variant);
    free(r->why);
    free(r);
}

/* Lines in some order. */
typedef struct lines {
    line **at;
    size_t count;
} lines;

static int lines_add(tool *t, lines *all, line *r)
{
    line **more = (line **)realloc(all->at, (all->count + 1) * sizeof *more);
    if (!more) return no_memory(t);
    all->at = more;
    all->at[all->count++] = r;
    return DONE;
}

/* What all plans of one file share. */
typedef struct bench {
    tool            *t;
    const arguments *args;
    spmv_type        type;
    spmv_device     *device;
    uint64_t         max_bytes;
    const char      *matrix;   /* its name */
    const spmv_csr  *a;
    trial            real, whole;
    int              worst;    /* exit status so far */
    spmv_build_hints hints;    /* how to choose */
    int              again;    /* how many plans are timed once more */
    lines            done;     /* of this file, in the order of the plans; it owns them */
} bench;

static void bench_forget(bench *b)
{
    size_t i;
    for (i = 0; i < b->done.count; i++) line_free(b->done.at[i]);
    free(b->done.at);
    memset(&b->done, 0, sizeof b->done);
}

static void print_json(const bench *b, const line *r)
{
    putchar('{');
    json_text("matrix", b->matrix); json_next();
    json_text("device", device_label(b->device)); json_next();
    json_text("builder", plan_is_named(r->asked) ? r->asked : NULL); json_next();
    json_text("plan", r->plan ? r->plan : r->asked); json_next();
    json_text("variant", r->variant); json_next();
    json_text("type", spmv_type_name(b->type)); json_next();
    json_count("rows", b->a->rows); json_next();
    json_count("cols", b->a->cols); json_next();
    json_count("nnz", b->a->nnz); json_next();
    if (b->device) fputs("\"threads\": null, ", stdout);
    else printf("\"threads\": %d, ", host_threads());
    json_real("us", r->took.median * 1e6); json_next();
    json_real("us_min", r->took.least * 1e6); json_next();
    json_real("us_max", r->took.most * 1e6); json_next();
    printf("\"samples\": %d, ", r->took.samples);
    json_real("gflops", r->gflops); json_next();
    json_real("gbs", r->gbs); json_next();
    json_real("bytes", r->bytes); json_next();
    json_real("padding", r->padding); json_next();
    json_real("err", r->err); json_next();
    json_real("prepare_us", r->prepare * 1e6); json_next();
    json_text("version", SPMV_VERSION);
    printf(", \"again\": %s, \"ok\": %s}\n", r->again ? "true" : "false", r->refused ? "null" : r->ok ? "true" : "false");
    fflush(stdout);
}

/* The fastest line that is right, or NULL; asked: of those that --plan named so, or NULL for all. */
static const line *lines_fastest(const lines *all, const char *asked)
{
    const line *best = NULL;
    size_t i;
    for (i = 0; i < all->count; i++) {
        const line *r = all->at[i];
        if (!r->ok || (asked && strcmp(r->asked, asked))) continue;
        if (!best || r->took.median < best->took.median) best = r;
    }
    return best;
}

/* "hyb = ell:w=5+coo": what was asked for and what came of it. Like snprintf. */
static int line_plan(const line *r, char *out, size_t size)
{
    if (!strcmp(r->asked, r->plan)) return snprintf(out, size, "%s", r->plan);
    return snprintf(out, size, "%s = %s", r->asked, r->plan);
}

/* Places for the longest plan; one that is longer still moves its variant to the right. */
static int plan_column(const lines *all)
{
    enum { WIDEST = 48 }; /* as almost all plans are; wider, one long plan would move every variant out of sight */
    int widest = (int)strlen("plan"), n;
    size_t i;
    for (i = 0; i < all->count; i++) {
        n = all->at[i]->status != SPMV_OK ? 0 : line_plan(all->at[i], NULL, 0);
        if (n > widest) widest = n < WIDEST ? n : WIDEST;
    }
    return widest;
}

static void print_line(const bench *b, const line *r, int fastest, const line *csr, int column)
{
    char plan[2 * SPMV_PLAN_TEXT], ratio[32];
    if (r->status != SPMV_OK) {
        printf("  %10s %10s %10s %7s %8s %8s %10s %8s %7s  %s: %s: %s\n", "-", "-", "-", "-", "-", "-", "-", "-", "-", r->asked,
               r->refused ? "refused" : "FAILED", line_why(r));
        return;
    }
    line_plan(r, plan, sizeof plan);
    snprintf(ratio, sizeof ratio, "-");
    if (csr && r->took.median > 0) snprintf(ratio, sizeof ratio, "%.3f", csr->took.median / r->took.median);
    printf("%c %10.2f %10.2f %10.2f %7s %8.3f %8.3f %10.3f %8.4f %7.4f  %-*s%s%s%s\n", fastest ? '*' : ' ', r->took.median * 1e6,
           r->took.least * 1e6, r->took.most * 1e6, ratio, r->gflops, r->gbs, r->bytes / 1e6, r->padding, r->err,
           b->device ? column : 0, plan, b->device ? "  " : "", b->device ? r->variant : "", r->ok ? "" : "  WRONG");
}

static void print_heading(const bench *b)
{
    printf("%s: %llu x %llu, %llu nonzeros; %s on %s", b->matrix, (unsigned long long)b->a->rows, (unsigned long long)b->a->cols,
           (unsigned long long)b->a->nnz, spmv_type_name(b->type), device_label(b->device));
    if (!b->device) printf(", %d thread%s", host_threads(), host_threads() == 1 ? "" : "s");
    puts("; * is the fastest");
}

static void print_table(const bench *b, const lines *all)
{
    const line *fastest = lines_fastest(all, NULL), *csr = lines_fastest(all, "csr");
    int column = plan_column(all);
    size_t i;
    printf("  %10s %10s %10s %7s %8s %8s %10s %8s %7s  %-*s%s\n", "us", "min us", "max us", "vs csr", "GFLOP/s", "GB/s", "MB", "padding",
           "err", b->device ? column : 0, "plan", b->device ? "  variant" : "");
    for (i = 0; i < all->count; i++) print_line(b, all->at[i], all->at[i] == fastest, csr, column);
    fflush(stdout);
}

/* ---- interruptions --------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t bench_stopped; /* 1: no further plan is begun */

static void bench_signal(int number)
{
    (void)number;
    bench_stopped = 1;
}

/* The first interruption ends the work after the plan at hand, so that the table of what was timed is printed; the second ends the
 * program. A signal that is ignored (nohup) stays so. */
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

/* What a plan's failure means: the matrix or the device does not allow it, or something broke. */
static int is_refusal(spmv_status s)
{
    return s == SPMV_ERR_TOO_LARGE || s == SPMV_ERR_LIMIT || s == SPMV_ERR_STRICT || s == SPMV_ERR_UNSUPPORTED ||
           s == SPMV_ERR_OVERFLOW || s == SPMV_ERR_INCOMPLETE || s == SPMV_ERR_MEMORY;
}

static void result_rates(line *out, uint64_t nnz, timing took)
{
    out->took = took;
    out->gflops = took.median > 0 ? 2e-9 * (double)nnz / took.median : NAN;
    out->gbs = took.median > 0 ? 1e-9 * out->bytes / took.median : NAN;
}

static void result_figures(line *out, const runner *r, uint64_t nnz, spmv_type type, timing took)
{
    const spmv_store *s = &r->m.store;
    double slots = (double)spmv_store_slots(s);
    out->bytes = (double)spmv_bytes(&r->m) + (double)(r->rows + r->cols) * (double)spmv_vector_size(type);
    out->padding = nnz ? slots / (double)nnz - 1 : slots > 0 ? NAN : 0;
    result_rates(out, nnz, took);
}

/* The texts of what is prepared. */
static spmv_status result_names(line *out, const runner *r)
{
    char text[SPMV_PLAN_TEXT];
    spmv_plan_print(spmv_plan_of(&r->m), text, sizeof text);
    out->plan = strdup(text);
    runner_variant(r, text, sizeof text);
    out->variant = strdup(text);
    return out->plan && out->variant ? SPMV_OK : SPMV_ERR_MEMORY;
}

/* Checks and times what is prepared. */
static spmv_status bench_measure(bench *b, runner *r, line *out)
{
    char what[160];
    double err = 0;
    timing took;
    spmv_status s = result_names(out, r);
    if (s == SPMV_OK) s = trial_check(&b->real, &r->m, 0, &err);
    if (s == SPMV_OK && b->whole.a) s = trial_check(&b->whole, &r->m, 1, &err);
    snprintf(what, sizeof what, "%.60s: %.60s", b->matrix, out->asked);
    if (s == SPMV_OK) s = runner_time(r, LEAST_RUNS, 0.1, what, &took);
    if (s == SPMV_OK) {
        result_figures(out, r, b->a->nnz, b->type, took);
        out->err = err;
        out->ok = err < 1;
    }
    return s;
}

static spmv_desc bench_desc(const bench *b, const char *plan, const char *variant)
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
    desc.max_bytes = b->max_bytes;
    desc.hooks = b->t->hooks;
    return desc;
}

/* A line without figures, for line_end; NULL if there is none to be: after an interruption, or without memory. */
static line *line_begin(bench *b, const char *plan)
{
    line *out;
    if (bench_stopped) return NULL;
    out = (line *)calloc(1, sizeof *out);
    if (!out) {
        b->worst = no_memory(b->t);
        return NULL;
    }
    out->asked = plan;
    out->took.least = out->took.median = out->took.most = NAN;
    out->gflops = out->gbs = out->bytes = out->padding = out->err = out->prepare = NAN;
    progress_name(b->t, b->matrix, plan);
    b->t->text[0] = 0;
    b->t->keep = 1;
    return out;
}

/* Takes over the line, prints it in JSON, and takes its failure into the exit status. tolerant: a refusal is no failure. */
static void line_end(bench *b, line *out, spmv_status s, int tolerant)
{
    b->t->keep = 0;
    progress_clear(b->t);
    out->status = s;
    if (s != SPMV_OK && *b->t->text) out->why = strdup(b->t->text);
    out->refused = is_refusal(s);
    if ((s != SPMV_OK && !(tolerant && out->refused)) || (s == SPMV_OK && !out->ok)) b->worst = FAILED;
    if (b->args->value[OPT_JSON]) print_json(b, out);
    if (s != SPMV_OK && b->args->value[OPT_JSON]) {
        b->t->about = out->asked;
        complain(b->t, "%s: %s: %s", b->matrix, out->refused ? "refused" : "failed", line_why(out));
    }
    if (lines_add(b->t, &b->done, out) == DONE) return;
    b->worst = FAILED;
    line_free(out);
}

/* One plan, one line. */
static void bench_plan(bench *b, const char *plan, const char *variant, int tolerant)
{
    line *out = line_begin(b, plan);
    spmv_status s = SPMV_ERR_MEMORY;
    spmv_desc desc = bench_desc(b, plan, variant);
    measurer me;
    runner r;
    if (!out) return;
    if (measurer_make(&me, b->t, &desc, &b->hints) == DONE) {
        desc.hints = &me.hints;
        out->prepare = -seconds();
        s = runner_open(&r, b->t, &desc, b->real.x, b->real.y);
        out->prepare += seconds();
        if (s == SPMV_OK) {
            s = bench_measure(b, &r, out);
            runner_close(&r);
        }
    }
    measurer_free(&me);
    line_end(b, out, s, tolerant);
}

#ifndef SPMV_NO_OPENCL
/* A line that does not count. */
static void line_drop(bench *b, line *out)
{
    b->t->keep = 0;
    line_free(out);
}

/* One line for a variant of the plan that r holds on the host. One that cannot be is passed over, as is one whose meaning was
 * seen before: seen is a text of all of them. */
static void bench_variant(bench *b, runner *r, const char *plan, spmv_variant v, char **seen)
{
    spmv_desc desc = bench_desc(b, plan, NULL);
    spmv_store *st = &r->m.store;
    size_t used = *seen ? strlen(*seen) : 0;
    char text[SPMV_VARIANT_TEXT + 2] = " ", *more;
    line *out = line_begin(b, plan);
    spmv_device_matrix cl = { 0 };
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
        r->m.on_device = &cl;
        r->m.exec = &exec;
        s = spmv_device_matrix_create(&cl, b->device, st->rows, st->cols, b->type, st->part, 1, &v);
        if (s == SPMV_OK) s = spmv_exec_create(&exec, &cl, NULL);
        if (s == SPMV_OK) s = runner_open_cl(r, &desc);
        if (s == SPMV_OK) s = bench_measure(b, r, out);
        runner_close_cl(r);
        spmv_exec_free(&exec);
        spmv_device_matrix_free(&cl);
        r->m.device = NULL;
        r->m.on_device = NULL;
        r->m.exec = NULL;
        if (s != SPMV_ERR_LIMIT) line_end(b, out, s, 0);
        else line_drop(b, out);
    } else {
        line_drop(b, out);
    }
}

/* Knobs of which every combination is tried; the others, which each work by themselves, turn one at a time. */
static int bench_crosses(spmv_format f, int k)
{
    if (k == SPMV_KNOB_L || k == SPMV_KNOB_WG || k == SPMV_KNOB_PER || k == SPMV_KNOB_V || k == SPMV_KNOB_STREAM) return 1;
    return f == SPMV_CSR && k != SPMV_KNOB_IMG;
}

/* The variants of a plan, over the knobs that fixed does not set. Slots of 64 bits are for huge matrices only. */
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
        for (at[k] = 0; at[k] < count[k] && !bench_crosses(f, k); at[k]++) {
            spmv_variant v = *fixed;
            v.set |= (uint64_t)1 << k;
            v.value[k] = values[k][at[k]];
            bench_variant(b, r, plan, v, &seen);
        }
        if (!bench_crosses(f, k)) count[k] = 0;
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

static void bench_variants(bench *b, const char *plan, const char *variant)
{
#ifndef SPMV_NO_OPENCL
    spmv_desc desc = bench_desc(b, plan, NULL);
    spmv_variant fixed;
    runner r;
    spmv_status s;
    if (b->device) {
        desc.device = NULL;
        b->t->about = plan;
        s = runner_open(&r, b->t, &desc, b->real.x, b->real.y);
        if (s == SPMV_OK && r.m.store.count != 1)
            s = spmv_log(&b->t->hooks, SPMV_ERR_PLAN, "--variants wants a plan of one part");
        if (s == SPMV_OK) s = spmv_variants_parse(&fixed, &r.m.store, variant, &b->t->hooks);
        if (s == SPMV_OK) bench_combinations(b, &r, plan, &fixed);
        else b->worst = FAILED;
        runner_close(&r);
        return;
    }
#endif
    bench_plan(b, plan, variant, 0);
}

/* Every format, then every builder; a name that is both is a builder's. */
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

/* ---- side by side ------------------------------------------------------------------------------------------------- */

enum { AGAIN_MOST = 64, AGAIN_ROUNDS = 5 };

/* One product that takes part, and the times of its rounds. */
typedef struct contestant {
    const line *first;  /* the fastest line of this plan and variant */
    runner      r;
    double      took[AGAIN_ROUNDS];
} contestant;

static int same_product(const line *a, const line *b)
{
    return !strcmp(a->plan, b->plan) && !strcmp(a->variant, b->variant);
}

static contestant *contestant_of(contestant *c, int count, const line *l)
{
    int i;
    for (i = 0; i < count; i++)
        if (same_product(c[i].first, l)) return &c[i];
    return NULL;
}

static spmv_status contestant_open(bench *b, contestant *c, const line *l)
{
    spmv_desc desc = bench_desc(b, l->plan, b->device ? l->variant : NULL);
    c->first = l;
    return runner_open(&c->r, b->t, &desc, b->real.x, b->real.y);
}

static int by_time(const void *a, const void *b)
{
    const line *const *x = (const line *const *)a, *const *y = (const line *const *)b;
    return compare_reals(&(*x)->took.median, &(*y)->took.median);
}

/* The lines that are right, the fastest first. */
static int lines_ranked(bench *b, lines *out)
{
    size_t i;
    memset(out, 0, sizeof *out);
    for (i = 0; i < b->done.count; i++)
        if (b->done.at[i]->ok && lines_add(b->t, out, b->done.at[i]) != DONE) return FAILED;
    if (out->count) qsort(out->at, out->count, sizeof *out->at, by_time);
    return DONE;
}

/* The fastest so many lines and those of plans that the library chose, each product once. */
static spmv_status contestants_open(bench *b, const lines *ranked, contestant *c, int *count)
{
    size_t i;
    int fastest = 0;
    spmv_status s = SPMV_OK;
    for (i = 0; i < ranked->count && s == SPMV_OK; i++) {
        const line *l = ranked->at[i];
        if (*count == AGAIN_MOST || contestant_of(c, *count, l)) continue;
        if (fastest++ >= b->again && !plan_is_chosen(l->asked)) continue;
        s = contestant_open(b, &c[*count], l);
        *count += s == SPMV_OK;
    }
    return s;
}

/* A round has a turn of everyone: what slows the machine for a while slows all of them. */
static spmv_status contestants_time(contestant *c, int count)
{
    spmv_status s = SPMV_OK;
    timing turn;
    int i, round;
    for (round = 0; round < AGAIN_ROUNDS; round++)
        for (i = 0; i < count && s == SPMV_OK; i++) {
            s = runner_time(&c[i].r, 3, 0.02, "side by side", &turn);
            c[i].took[round] = turn.median;
        }
    return s;
}

/* The lines of products that took part, in their order, with the new times. */
static void again_print(bench *b, lines *ranked, contestant *c, int count)
{
    size_t i, n = 0;
    for (i = 0; i < ranked->count; i++) {
        line *l = ranked->at[i];
        contestant *of = contestant_of(c, count, l);
        if (!of) continue;
        l->again = 1;
        result_rates(l, b->a->nnz, timing_of(of->took, AGAIN_ROUNDS));
        if (b->args->value[OPT_JSON]) print_json(b, l);
        ranked->at[n++] = l;
    }
    ranked->count = n;
    if (b->args->value[OPT_JSON]) return;
    puts("side by side:");
    print_table(b, ranked);
}

static void bench_again(bench *b)
{
    contestant *c = (contestant *)calloc(AGAIN_MOST, sizeof *c);
    lines ranked;
    int count = 0, i;
    spmv_status s = SPMV_OK;
    if (!c) { b->worst = no_memory(b->t); return; }
    b->t->text[0] = 0;
    b->t->keep = 1;
    if (lines_ranked(b, &ranked) != DONE) s = SPMV_ERR_MEMORY;
    if (s == SPMV_OK) s = contestants_open(b, &ranked, c, &count);
    if (s == SPMV_OK) s = contestants_time(c, count);
    b->t->keep = 0;
    progress_clear(b->t);
    if (s == SPMV_OK) {
        again_print(b, &ranked, c, count);
    } else {
        complain(b->t, "%s: side by side: %s", b->matrix, *b->t->text ? b->t->text : spmv_status_text(s));
        b->worst = FAILED;
    }
    for (i = 0; i < count; i++) runner_close(&c[i].r);
    free(ranked.at);
    free(c);
}

/* The trials' x and references, made once for all plans of a matrix. */
static int bench_trials(bench *b)
{
    if (trial_make(&b->real, b->t, b->a, b->type) != DONE) return FAILED;
    fill_random(b->type, b->real.x, b->a->cols, 1);
    fill_random(b->type, b->real.start, b->a->rows, 2);
    trial_reference(&b->real);
    if (!sums_stay_whole(b->a, b->type)) return DONE;
    if (trial_make(&b->whole, b->t, b->a, b->type) != DONE) return FAILED;
    fill_whole(b->type, b->whole.x, b->a->cols, 3);
    fill_whole(b->type, b->whole.start, b->a->rows, 4);
    trial_reference(&b->whole);
    return DONE;
}

/* The file's name without folders and endings. */
static void matrix_name(const char *path, char *out, size_t size)
{
    static const char *const endings[] = {".gz", ".mtx", ".bin"};
    const char *slash = strrchr(path, '/');
    size_t i;
    snprintf(out, size, "%s", slash ? slash + 1 : path);
    for (i = 0; i < 3; i++)
        if (ends_in(out, endings[i]) && strlen(out) > strlen(endings[i])) out[strlen(out) - strlen(endings[i])] = 0;
}

static void bench_file(bench *b, const char *path)
{
    char name[256];
    spmv_csr a;
    int i;
    matrix_name(path, name, sizeof name);
    b->matrix = name;
    b->a = &a;
    if (load_matrix(b->t, path, b->type, &a) != DONE) { b->worst = FAILED; return; }
    if (bench_trials(b) == DONE) {
        if (!b->args->value[OPT_JSON]) print_heading(b);
        fflush(stdout);
        if (!b->args->plans) bench_all(b);
        for (i = 0; i < b->args->plans; i++)
            if (!strcmp(b->args->plan[i], "all")) bench_all(b);
            else if (b->args->value[OPT_VARIANTS]) bench_variants(b, b->args->plan[i], b->args->variant[i]);
            else bench_plan(b, b->args->plan[i], b->args->variant[i], 0);
        if (!b->args->value[OPT_JSON]) print_table(b, &b->done);
        if (b->again && !bench_stopped) bench_again(b);
        bench_forget(b);
        if (!b->args->value[OPT_JSON]) putchar('\n');
    } else {
        b->worst = FAILED;
    }
    trial_free(&b->real);
    trial_free(&b->whole);
    spmv_csr_free(&a);
}

static int bench_command(tool *t, const arguments *args)
{
    int i, result = DONE;
    spmv_tuning table;
    bench b;
    memset(&b, 0, sizeof b);
    memset(&table, 0, sizeof table);
    b.t = t;
    b.args = args;
    b.type = option_type(t, args, &result);
    b.max_bytes = option_bytes(t, args, OPT_MAX_BYTES, &result);
    b.again = (int)option_count(t, args, OPT_AGAIN, 0, 0, AGAIN_MOST - 2, &result);
    if (result != DONE) return result;
    if (args->value[OPT_VARIANTS] && strcmp(args->value[OPT_VARIANTS], "all"))
        return misuse(t, "--variants is all, not '%s'", args->value[OPT_VARIANTS]);
    t->cold = args->value[OPT_COLD] != NULL;
    t->events = t->cold || args->value[OPT_EVENTS];
    if (t->cold && (!args->value[OPT_DEVICE] || !strcmp(args->value[OPT_DEVICE], "host")))
        return misuse(t, "--cold needs an OpenCL device (--device)");
    for (i = 0; i < args->plans && result == DONE; i++)
        if (strcmp(args->plan[i], "all")) result = plan_is_text(t, "plan", args->plan[i]);
    if (result == DONE) result = choice_options(t, args, &b.hints, &table);
    if (result == DONE) result = device_open(t, args->value[OPT_DEVICE], &b.device);
    bench_catch(SIGINT);
    bench_catch(SIGTERM);
    for (i = 0; i < args->files && result == DONE && !bench_stopped; i++) bench_file(&b, args->file[i]);
    device_close(b.device);
    spmv_tuning_free(&table);
    t->about = NULL;
    if (bench_stopped) result = complain(t, "interrupted: further plans were not timed");
    return result == DONE ? b.worst : result;
}

#endif
