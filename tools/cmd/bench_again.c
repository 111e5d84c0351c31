/* SPDX-License-Identifier: MIT */
#include "bench_again.h"

#include "../cli/cli.h"
#include "../cli/options.h"
#include "bench.h"
#include "bench_lines.h"
#include "commands.h"
#include "../measure/plans.h"
#include "../measure/runner.h"
#include "spmv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A product that takes part, and its time in each round. */
typedef struct contestant {
    const line *first;  /* the fastest line with this plan and variant */
    runner      r;
    double      took[AGAIN_ROUNDS];
} contestant;

static int same_product(const line *a, const line *b)
{
    return !strcmp(a->plan, b->plan) && !strcmp(a->variant, b->variant);
}

/* The contestant that multiplies as the line did, or NULL. */
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
    return timing_compare(&(*x)->took.median, &(*y)->took.median);
}

/* Lists the lines whose products are right, the fastest first. DONE or FAILED. */
static int lines_ranked(bench *b, lines *out)
{
    size_t i;
    memset(out, 0, sizeof *out);
    for (i = 0; i < b->done.count; i++)
        if (b->done.at[i]->ok && bench_lines_add(b->t, out, b->done.at[i]) != DONE) return FAILED;
    if (out->count) qsort(out->at, out->count, sizeof *out->at, by_time);
    return DONE;
}

/* Prepares the products of the b->again fastest lines and of the plans that the library chose, each product once. */
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

/* Every product is timed in every round, so that whatever slows the machine for a while slows all of them. */
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

/* Prints the lines of the products that took part, in their order, with the new times. */
static void again_print(bench *b, lines *ranked, contestant *c, int count)
{
    size_t i, n = 0;
    for (i = 0; i < ranked->count; i++) {
        line *l = ranked->at[i];
        contestant *of = contestant_of(c, count, l);
        if (!of) continue;
        l->again = 1;
        bench_line_rates(l, b->a->nnz, timing_of(of->took, AGAIN_ROUNDS));
        if (b->args->value[OPT_JSON]) bench_line_json(b, l);
        ranked->at[n++] = l;
    }
    ranked->count = n;
    if (b->args->value[OPT_JSON]) return;
    puts("side by side:");
    bench_lines_print(b, ranked);
}

void bench_again(bench *b)
{
    contestant *c = (contestant *)calloc(AGAIN_MOST, sizeof *c);
    lines ranked;
    int count = 0, i;
    spmv_status s = SPMV_OK;
    if (!c) { b->worst = cli_no_memory(b->t); return; }
    b->t->text[0] = 0;
    b->t->keep = 1;
    if (lines_ranked(b, &ranked) != DONE) s = SPMV_ERR_MEMORY;
    if (s == SPMV_OK) s = contestants_open(b, &ranked, c, &count);
    if (s == SPMV_OK) s = contestants_time(c, count);
    b->t->keep = 0;
    cli_progress_clear(b->t);
    if (s == SPMV_OK) {
        again_print(b, &ranked, c, count);
    } else {
        cli_complain(b->t, "%s: side by side: %s", b->matrix, *b->t->text ? b->t->text : spmv_status_text(s));
        b->worst = FAILED;
    }
    for (i = 0; i < count; i++) runner_close(&c[i].r);
    free(ranked.at);
    free(c);
}
