/* SPDX-License-Identifier: MIT */
#include "fit.h"

#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/memory.h"
#include "../library.h"
#include "../matrices/generate.h"
#include "table.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fits are linear least squares in logarithms to base 2: the sum of factors times terms shall be log2 of the measured time over that by
 * the rates. A format has factors of its own, of all its samples; each candidate (a layout with knobs, in a type) has factors that differ
 * from these as far as its samples show. */

/* How many samples a factor of 0 (a format) or that of the format (a candidate) counts for: few samples change little. */
#define FORMAT_PRIOR 2.0
#define CANDIDATE_PRIOR 4.0

/* A sample whose time is mostly that of a floor says nothing about the rates, if that floor is so large a part of it. */
#define FLOOR_SHARE 0.75

/* A sample beside its estimate. */
typedef struct point {
    const sample *of;
    spmv_estimate by;
    int           candidate, structure; /* numbers from 0 */
    double        weight;               /* the time of the fastest sample on that structure and type over its own */
    int           usable;               /* 1: it shows how good the rates are */
} point;

typedef struct factors {
    double at[SPMV_TERM_COUNT];
} factors;

typedef struct fitting {
    tool         *t;
    spmv_tuning  *table;
    point        *p;
    size_t        count;
    const char  **structure;
    int           structures, candidates;
    const sample **candidate; /* the first sample of each */
    factors       format[SPMV_FORMAT_COUNT];
    factors      *own;        /* of each candidate */
} fitting;

/* ---- least squares --------------------------------------------------------------------------------------------------- */

/* The normal equations of a weighted fit. */
typedef struct normal {
    double a[SPMV_TERM_COUNT][SPMV_TERM_COUNT], b[SPMV_TERM_COUNT];
} normal;

/* Begins with a prior that counts as so many samples. */
static void normal_begin(normal *n, const factors *prior, double counts)
{
    int i;
    memset(n, 0, sizeof *n);
    for (i = 0; i < SPMV_TERM_COUNT; i++) {
        n->a[i][i] = counts;
        n->b[i] = counts * prior->at[i];
    }
}

static void normal_add(normal *n, const point *p)
{
    double y = library_log2(p->of->seconds / p->by.rates);
    int i, j;
    for (i = 0; i < SPMV_TERM_COUNT; i++) {
        for (j = 0; j < SPMV_TERM_COUNT; j++) n->a[i][j] += p->weight * p->by.term[i] * p->by.term[j];
        n->b[i] += p->weight * p->by.term[i] * y;
    }
}

/* Solves the equations, whose matrix is positive definite because of the prior, by Gauss's elimination. */
static factors normal_solve(normal *n)
{
    factors x;
    int i, j, k;
    for (k = 0; k < SPMV_TERM_COUNT; k++)
        for (i = k + 1; i < SPMV_TERM_COUNT; i++) {
            double times = n->a[i][k] / n->a[k][k];
            for (j = k; j < SPMV_TERM_COUNT; j++) n->a[i][j] -= times * n->a[k][j];
            n->b[i] -= times * n->b[k];
        }
    for (i = SPMV_TERM_COUNT; i-- > 0;) {
        double sum = n->b[i];
        for (j = i + 1; j < SPMV_TERM_COUNT; j++) sum -= n->a[i][j] * x.at[j];
        x.at[i] = sum / n->a[i][i];
    }
    return x;
}

/* Fits all formats and candidates without the samples of one structure (-1: with all). */
static void fit_all(fitting *f, int left_out)
{
    static const factors none;
    normal *n = (normal *)calloc((size_t)f->candidates + 1, sizeof *n), of;
    int i, k;
    size_t s;
    if (!n) return;
    for (i = 0; i < SPMV_FORMAT_COUNT; i++) {
        normal_begin(&of, &none, FORMAT_PRIOR);
        for (s = 0; s < f->count; s++)
            if (f->p[s].usable && f->p[s].structure != left_out && (int)f->p[s].of->layout.format == i) normal_add(&of, &f->p[s]);
        f->format[i] = normal_solve(&of);
    }
    for (k = 0; k < f->candidates; k++) normal_begin(&n[k], &f->format[f->candidate[k]->layout.format], CANDIDATE_PRIOR);
    for (s = 0; s < f->count; s++)
        if (f->p[s].usable && f->p[s].structure != left_out) normal_add(&n[f->p[s].candidate], &f->p[s]);
    for (k = 0; k < f->candidates; k++) f->own[k] = normal_solve(&n[k]);
    free(n);
}

/* Predicted seconds by the current factors, as spmv_cost.h computes them. */
static double predicted(const fitting *f, const point *p)
{
    double sum = 0, times, seconds;
    int i;
    for (i = 0; i < SPMV_TERM_COUNT; i++) sum += f->own[p->candidate].at[i] * p->by.term[i];
    times = library_exp2(sum);
    seconds = p->by.rates * times;
    if (p->by.memory > seconds) seconds = p->by.memory;
    if (f->table->device_class == SPMV_DEVICE_CLASS_GPU) times = 1; /* elsewhere the longest row is a share of the whole estimate */
    return p->by.chain * times > seconds ? p->by.chain * times : seconds;
}

/* ---- structures left out ----------------------------------------------------------------------------------------------- */

/* Squares of errors of each candidate, as they are summed up. */
typedef struct error_sum {
    double squares, weights;
} error_sum;

/* Adds the errors of one structure to the sums, and the regret of its types. */
static void judge(const fitting *f, int structure, error_sum *own, error_sum *all, double *regret, unsigned *choices, fit_quality *q)
{
    int type;
    size_t s;
    for (type = 0; type < SPMV_TYPE_COUNT; type++) {
        double least = 0, chosen = 0, best = 0;
        for (s = 0; s < f->count; s++) {
            const point *p = &f->p[s];
            double seconds, error;
            if (p->structure != structure || (int)p->of->type != type || !(p->by.rates > 0)) continue;
            seconds = predicted(f, p);
            error = library_log2(seconds / p->of->seconds);
            own[p->candidate].squares += p->weight * error * error;
            own[p->candidate].weights += p->weight;
            all->squares += p->weight * error * error;
            all->weights += p->weight;
            q->good += seconds >= 0.8 * p->of->seconds && seconds <= 1.25 * p->of->seconds;
            q->samples++;
            if (!(best > 0) || p->of->seconds < best) best = p->of->seconds;
            if (least > 0 && seconds >= least) continue;
            least = seconds;
            chosen = p->of->seconds;
        }
        if (!(best > 0)) continue;
        *regret += library_log2(chosen / best);
        ++*choices;
        if (chosen / best > q->worst) q->worst = chosen / best;
    }
}

/* Leaves out one structure after another and judges the fits by it. own: the errors of each candidate. */
static void fit_judge(fitting *f, error_sum *own, fit_quality *q)
{
    error_sum all = {0, 0};
    double regret = 0;
    unsigned choices = 0;
    int i;
    memset(q, 0, sizeof *q);
    for (i = 0; i < f->structures; i++) {
        fit_all(f, i);
        judge(f, i, own, &all, &regret, &choices, q);
    }
    q->structures = (unsigned)f->structures;
    q->error = all.weights > 0 ? sqrt(all.squares / all.weights) : 0;
    q->regret = choices ? library_exp2(regret / choices) : 1;
    q->good = q->samples ? q->good / q->samples : 0;
}

/* ---- estimates of the samples ------------------------------------------------------------------------------------------ */

/* Estimates all samples of a structure in one type. */
static int estimate_type(fitting *f, const spmv_csr *a, int structure, spmv_type type)
{
    spmv_spec *layout = (spmv_spec *)calloc(f->count + 1, sizeof *layout);
    const char **variant = (const char **)calloc(f->count + 1, sizeof *variant);
    spmv_estimate *by = (spmv_estimate *)calloc(f->count + 1, sizeof *by);
    size_t s, n = 0;
    int result = layout && variant && by ? DONE : cli_no_memory(f->t);
    for (s = 0; result == DONE && s < f->count; s++) {
        if (f->p[s].structure != structure || f->p[s].of->type != type) continue;
        layout[n] = f->p[s].of->layout;
        variant[n++] = f->p[s].of->variant;
    }
    if (n && library_estimates(a, type, f->table, n, layout, variant, by, &f->t->hooks) != SPMV_OK) result = FAILED;
    for (s = n = 0; result == DONE && s < f->count; s++)
        if (f->p[s].structure == structure && f->p[s].of->type == type) f->p[s].by = by[n++];
    free(layout);
    free(variant);
    free(by);
    return result;
}

/* Generates every structure and estimates its samples. */
static int estimate_all(fitting *f)
{
    int i, type, result = DONE;
    for (i = 0; i < f->structures && result == DONE; i++) {
        spmv_csr a;
        memset(&a, 0, sizeof a);
        if (strchr(f->structure[i], '/')) result = file_load_matrix(f->t, f->structure[i], SPMV_F64, &a);
        else result = generate_matrix(f->t, f->structure[i], &a);
        for (type = 0; type < SPMV_TYPE_COUNT && result == DONE; type++) result = estimate_type(f, &a, i, (spmv_type)type);
        spmv_csr_free(&a);
    }
    return result;
}

/* Sets the weights of all samples, and which are usable. */
static void weigh(fitting *f)
{
    size_t s, k;
    for (s = 0; s < f->count; s++) {
        point *p = &f->p[s];
        double best = p->of->seconds, floor = p->by.memory > p->by.chain ? p->by.memory : p->by.chain;
        for (k = 0; k < f->count; k++)
            if (f->p[k].structure == p->structure && f->p[k].of->type == p->of->type && f->p[k].of->seconds < best)
                best = f->p[k].of->seconds;
        p->weight = best / p->of->seconds;
        p->usable = p->by.rates > 0 && (floor < FLOOR_SHARE * p->of->seconds || floor < p->by.rates);
    }
}

/* 1: both are of one candidate. */
static int is_alike(const sample *a, const sample *b)
{
    return a->type == b->type && !strcmp(a->variant, b->variant) && table_same_layout(&a->layout, &b->layout);
}

/* Numbers the structures and candidates of all samples. DONE or FAILED. */
static int number_all(fitting *f, const sample_list *l)
{
    size_t s;
    f->p = (point *)calloc(l->count + 1, sizeof *f->p);
    f->structure = (const char **)calloc(l->count + 1, sizeof *f->structure);
    f->candidate = (const sample **)calloc(l->count + 1, sizeof *f->candidate);
    f->own = (factors *)calloc(l->count + 1, sizeof *f->own);
    if (!f->p || !f->structure || !f->candidate || !f->own) return cli_no_memory(f->t);
    for (s = 0; s < l->count; s++) {
        point *p = &f->p[f->count++];
        p->of = &l->at[s];
        while (p->structure < f->structures && strcmp(f->structure[p->structure], p->of->structure) != 0) p->structure++;
        if (p->structure == f->structures) f->structure[f->structures++] = p->of->structure;
        while (p->candidate < f->candidates && !is_alike(f->candidate[p->candidate], p->of)) p->candidate++;
        if (p->candidate == f->candidates) f->candidate[f->candidates++] = p->of;
    }
    return DONE;
}

/* Writes the factors and errors of all candidates into the table. DONE or FAILED. */
static int fits_store(fitting *f, const error_sum *own, const fit_quality *q)
{
    spmv_tuning *t = f->table;
    spmv_tune_fit *fit = (spmv_tune_fit *)spmv_alloc(&t->hooks, (uint64_t)f->candidates + 1, sizeof *fit);
    int k;
    if (!fit) return cli_no_memory(f->t);
    spmv_free(&t->hooks, t->fit);
    t->fit = fit;
    t->fits = (size_t)f->candidates;
    for (k = 0; k < f->candidates; k++) {
        memset(&fit[k], 0, sizeof fit[k]);
        fit[k].layout = f->candidate[k]->layout;
        fit[k].type = f->candidate[k]->type;
        memcpy(fit[k].variant, f->candidate[k]->variant, sizeof fit[k].variant);
        memcpy(fit[k].factor, f->own[k].at, sizeof fit[k].factor);
        fit[k].error = own[k].weights > 0 ? sqrt(own[k].squares / own[k].weights) : q->error;
    }
    t->left_out = q->error;
    t->structures = q->structures;
    t->samples = q->samples;
    return DONE;
}

int fit_table(tool *t, spmv_tuning *table, const sample_list *samples, fit_quality *quality)
{
    fitting f;
    error_sum *own = NULL;
    int result;
    memset(&f, 0, sizeof f);
    f.t = t;
    f.table = table;
    table->fits = 0;
    result = number_all(&f, samples);
    if (result == DONE) result = estimate_all(&f);
    if (result == DONE) {
        weigh(&f);
        own = (error_sum *)calloc((size_t)f.candidates + 1, sizeof *own);
        if (!own) result = cli_no_memory(t);
    }
    if (result == DONE) {
        fit_judge(&f, own, quality);
        fit_all(&f, -1);
        result = fits_store(&f, own, quality);
    }
    free(own);
    free(f.p);
    free(f.structure);
    free(f.candidate);
    free(f.own);
    return result;
}
