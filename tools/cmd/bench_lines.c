/* SPDX-License-Identifier: MIT */
#include "bench_lines.h"

#include "../cli/cli.h"
#include "../cli/json.h"
#include "commands.h"
#include "../measure/device.h"
#include "../measure/plans.h"
#include "spmv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *bench_line_why(const line *r)
{
    return r->why ? r->why : spmv_status_text(r->status);
}

void bench_line_free(line *r)
{
    free(r->plan);
    free(r->variant);
    free(r->why);
    free(r);
}

int bench_lines_add(tool *t, lines *all, line *r)
{
    line **more = (line **)realloc(all->at, (all->count + 1) * sizeof *more);
    if (!more) return cli_no_memory(t);
    all->at = more;
    all->at[all->count++] = r;
    return DONE;
}

void bench_lines_forget(bench *b)
{
    size_t i;
    for (i = 0; i < b->done.count; i++) bench_line_free(b->done.at[i]);
    free(b->done.at);
    memset(&b->done, 0, sizeof b->done);
}

/* 1: products run on a device other than the host alone. */
static int bench_on_device(const bench *b) { return b->device || b->team.count; }

/* 1: the host takes part in products. */
static int bench_on_host(const bench *b)
{
    size_t i;
    int any = !bench_on_device(b);
    for (i = 0; i < b->team.count; i++) any |= !b->team.device[i];
    return any;
}

/* Microseconds until the n-th product. */
static double line_total(const line *r, uint64_t n) { return (r->prepare + (double)n * r->took.median) * 1e6; }

/* "total_us": {"100": 1234.5}, with --total. */
static void json_totals(const bench *b, const line *r)
{
    int i;
    char name[24];
    if (!b->totals) return;
    fputs("\"total_us\": {", stdout);
    for (i = 0; i < b->totals; i++) {
        if (i) json_next();
        snprintf(name, sizeof name, "%llu", (unsigned long long)b->total[i]);
        json_real(name, line_total(r, b->total[i]));
    }
    fputs("}, ", stdout);
}

void bench_line_json(const bench *b, const line *r)
{
    putchar('{');
    json_text("matrix", b->matrix); json_next();
    json_text("device", b->label); json_next();
    json_text("builder", plan_is_named(r->asked) ? r->asked : NULL); json_next();
    json_text("plan", r->plan ? r->plan : r->asked); json_next();
    json_text("variant", r->variant); json_next();
    json_text("type", spmv_type_name(b->type)); json_next();
    json_count("rows", b->a->rows); json_next();
    json_count("cols", b->a->cols); json_next();
    json_count("nnz", b->a->nnz); json_next();
    if (!bench_on_host(b)) fputs("\"threads\": null, ", stdout);
    else printf("\"threads\": %d, ", device_host_threads());
    if (b->args->value[OPT_BOTH]) {
        printf("\"transposed\": %s, ", r->transposed ? "true" : "false");
        json_real("both_us", r->both * 1e6);
        json_next();
    }
    if (b->vectors) {
        json_count("vectors", b->vectors); json_next();
        json_real("columns_us", r->many[SPMV_ONE_AFTER_ANOTHER] * 1e6); json_next();
        json_real("sides_us", r->many[SPMV_SIDE_BY_SIDE] * 1e6); json_next();
    }
    json_real("us", r->took.median * 1e6); json_next();
    json_real("us_min", r->took.least * 1e6); json_next();
    json_real("us_max", r->took.most * 1e6); json_next();
    printf("\"samples\": %d, ", r->took.samples);
    json_text("timed", b->t->cold ? "cold" : b->t->events ? "events" : b->t->graph ? "graph" : "calls"); json_next();
    json_real("gflops", r->gflops); json_next();
    json_real("gbs", r->gbs); json_next();
    json_real("bytes", r->bytes); json_next();
    json_real("padding", r->padding); json_next();
    json_real("err", r->err); json_next();
    json_real("prepare_us", r->prepare * 1e6); json_next();
    json_real("read_us", b->read * 1e6); json_next();
    json_real("input_us", r->spent[SPMV_PHASE_INPUT] * 1e6); json_next();
    json_real("analysis_us", r->spent[SPMV_PHASE_CHOICE] * 1e6); json_next();
    json_real("conversion_us", r->spent[SPMV_PHASE_CONVERT] * 1e6); json_next();
    json_real("upload_us", r->spent[SPMV_PHASE_UPLOAD] * 1e6); json_next();
    json_real("building_us", r->spent[SPMV_PHASE_BUILD] * 1e6); json_next();
    json_text("filled", !b->device ? NULL : !r->filled ? "host" : r->filled == r->parts ? "device" : "both"); json_next();
    json_real("memory", r->memory); json_next();
    json_real("device_memory", r->device_memory); json_next();
    json_totals(b, r);
    json_text("version", SPMV_VERSION);
    printf(", \"again\": %s, \"ok\": %s}\n", r->again ? "true" : "false", r->refused ? "null" : r->ok ? "true" : "false");
    fflush(stdout);
}

/* The fastest line whose product is right, or NULL if there is none; asked: only lines with this argument of --plan, NULL: all.
 * transposed: of products with the transpose. */
static const line *lines_fastest(const lines *all, const char *asked, int transposed)
{
    const line *best = NULL;
    size_t i;
    for (i = 0; i < all->count; i++) {
        const line *r = all->at[i];
        if (!r->ok || r->transposed != transposed || (asked && strcmp(r->asked, asked))) continue;
        if (!best || r->took.median < best->took.median) best = r;
    }
    return best;
}

/* "hyb = ell:w=5+coo": the argument of --plan and the plan in use. Returns the length as snprintf does. */
static int line_plan(const line *r, char *out, size_t size)
{
    const char *turned = r->transposed ? "A^T: " : "";
    if (!strcmp(r->asked, r->plan)) return snprintf(out, size, "%s%s", turned, r->plan);
    return snprintf(out, size, "%s%s = %s", turned, r->asked, r->plan);
}

/* Longer plans have their figures in a line of their own, so that the others fit into a terminal of 100 columns. */
enum { PLAN_WIDEST = 18 };

/* The width of the column of plans. */
static int plan_column(const lines *all)
{
    int widest = (int)strlen("plan"), n;
    size_t i;
    for (i = 0; i < all->count; i++) {
        n = all->at[i]->status != SPMV_OK ? 0 : line_plan(all->at[i], NULL, 0);
        if (n > widest) widest = n < PLAN_WIDEST ? n : PLAN_WIDEST;
    }
    return widest;
}

/* With --vectors: microseconds of all vectors, their rates, and in times of a single product. */
static void print_many(const bench *b, const line *r, int column)
{
    static const char *const order[2] = { "one after another", "side by side" };
    const double vectors = (double)b->vectors;
    const double bytes = r->bytes + (vectors - 1) * (double)((b->a->rows + b->a->cols) * spmv_vector_size(b->type));
    int i;
    for (i = 0; i < 2 && b->vectors; i++) {
        if (!(r->many[i] > 0)) {
            printf("  %-*s         -  %s: this product has only single vectors\n", column, "", order[i]);
            continue;
        }
        printf("  %-*s %9.2f %27s %7.2f %7.2f %9.3f  %llu %s: %.2f products\n", column, "", r->many[i] * 1e6, "",
               2e-9 * vectors * (double)b->a->nnz / r->many[i], 1e-9 * bytes / r->many[i], bytes / 1e6, (unsigned long long)b->vectors,
               order[i], r->many[i] / r->took.median);
    }
}

/* A line of the table; csr is the line to compare with or NULL, column the width of the column of plans. */
static void print_line(const bench *b, const line *r, int fastest, const line *csr, int column)
{
    char plan[2 * SPMV_PLAN_TEXT], ratio[32];
    if (r->status != SPMV_OK) return;
    if (line_plan(r, plan, sizeof plan) > column) {
        printf("  %s\n", plan);
        *plan = 0;
    }
    snprintf(ratio, sizeof ratio, "-");
    if (csr && r->took.median > 0) snprintf(ratio, sizeof ratio, "%.3f", csr->took.median / r->took.median);
    printf("%c %-*s %9.2f %9.2f %9.2f %7s %7.2f %7.2f %9.3f %8.4f %6.4f%s%s%s\n", fastest ? '*' : ' ', column, plan,
           r->took.median * 1e6, r->took.least * 1e6, r->took.most * 1e6, ratio, r->gflops, r->gbs, r->bytes / 1e6, r->padding, r->err,
           bench_on_device(b) ? "  " : "", bench_on_device(b) ? r->variant : "", r->ok ? "" : "  WRONG");
    if (r->transposed) printf("  %-*s %9.2f\n", column, "both in turn", r->both * 1e6);
    print_many(b, r, column);
}

/* Prints why plans are not in the table. */
static void print_refused(const lines *all)
{
    size_t i;
    for (i = 0; i < all->count; i++) {
        const line *r = all->at[i];
        if (r->status != SPMV_OK) printf("  %s: %s: %s\n", r->asked, r->refused ? "refused" : "FAILED", bench_line_why(r));
    }
}

/* By how many times the slowest sample of a line exceeds its fastest at most; 0: by fewer than DISTURBED. A thread of the host then waited
 * for a processor, for many times as long as the products of a sample take. */
static double lines_disturbed(const bench *b, const lines *all)
{
    enum { DISTURBED = 100 };
    double most = DISTURBED;
    size_t i;
    for (i = 0; i < all->count && bench_on_host(b); i++)
        if (all->at[i]->took.most > most * all->at[i]->took.least) most = all->at[i]->took.most / all->at[i]->took.least;
    return most > DISTURBED ? most : 0;
}

void bench_lines_heading(const bench *b)
{
    printf("%s: %llu x %llu, %llu nonzeros; %s on %s", b->matrix, (unsigned long long)b->a->rows, (unsigned long long)b->a->cols,
           (unsigned long long)b->a->nnz, spmv_type_name(b->type), b->label);
    if (bench_on_host(b)) printf(", %d thread%s", device_host_threads(), device_host_threads() == 1 ? "" : "s");
    puts("; * is the fastest");
}

void bench_lines_print(const bench *b, const lines *all)
{
    const double disturbed = lines_disturbed(b, all);
    const line *fastest[2], *csr[2];
    int column = plan_column(all);
    size_t i;
    for (i = 0; i < 2; i++) {
        fastest[i] = disturbed > 0 ? NULL : lines_fastest(all, NULL, (int)i);
        csr[i] = lines_fastest(all, "csr", (int)i);
    }
    printf("  %-*s %9s %9s %9s %7s %7s %7s %9s %8s %6s%s\n", column, "plan", "us", "min us", "max us", "vs csr", "GFLOP/s", "GB/s", "MB",
           "padding", "err", bench_on_device(b) ? "  variant" : "");
    for (i = 0; i < all->count; i++) {
        const int turned = all->at[i]->transposed;
        print_line(b, all->at[i], all->at[i] == fastest[turned], csr[turned], column);
    }
    print_refused(all);
    if (disturbed > 0)
        printf("other programs use the processors (max is up to %.0f times min): no plan is marked as the fastest\n", disturbed);
    fflush(stdout);
}

void bench_lines_print_totals(const bench *b, const lines *all)
{
    static const spmv_phase phases[] = { SPMV_PHASE_INPUT, SPMV_PHASE_CHOICE, SPMV_PHASE_CONVERT, SPMV_PHASE_UPLOAD, SPMV_PHASE_BUILD };
    enum { PHASES = sizeof phases / sizeof *phases };
    char plan[2 * SPMV_PLAN_TEXT];
    size_t i;
    int k;
    printf("\nmilliseconds; reading the file took %.3f\n  %10s", b->read * 1e3, "prepare");
    for (k = 0; k < PHASES; k++) printf(" %10s", spmv_phase_name(phases[k]));
    for (k = 0; k < b->totals; k++) printf(" %9llu x", (unsigned long long)b->total[k]);
    printf(" %7s %7s  plan\n", "memory", "device");
    for (i = 0; i < all->count; i++) {
        const line *r = all->at[i];
        if (r->status != SPMV_OK) continue;
        line_plan(r, plan, sizeof plan);
        printf("  %10.3f", r->prepare * 1e3);
        for (k = 0; k < PHASES; k++) printf(" %10.3f", r->spent[phases[k]] * 1e3);
        for (k = 0; k < b->totals; k++) printf(" %11.3f", line_total(r, b->total[k]) * 1e-3);
        printf(" %7.2f", r->memory);
        if (bench_on_device(b)) printf(" %7.2f", r->device_memory);
        else printf(" %7s", "-");
        printf("  %s\n", plan);
    }
}
