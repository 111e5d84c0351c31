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

/* The time of a sample is that of all its slots, which the table's rates estimate, or that of its longest row, whichever is more. The fits
 * are linear in logarithms to base 2: the sum of factors times terms shall be log2 of the measured time over the one of these two that it
 * is taken for. Layouts that run alike (a group) share factors; each candidate (a layout with knobs, in a type) has an offset of its own to
 * either time. Everything shrinks towards the rates: a structure counts once in a group, however many samples it has, and shrinking counts
 * as some structures more.
 *
 * What the work of a format costs is fitted before that, to all samples of the format, because it is a term of the rest.
 *
 * Where a table of another device, or of this one at another time, is corrected, its fits are where everything starts from: then the
 * factors below are what is added to its factors. First all candidates of a type get a common factor, which says how fast the device is;
 * then each format gets one, which holds for candidates that were not measured, too; then groups and candidates as above. What all samples
 * on a structure have in common is taken out of them, because it has no influence on the choice. Structures that are left out decide
 * whether anything but the common factor is corrected, and how much what was known counts (fit_holds). */
#define SHRINK_ALL       0.5 /* structures by which the offset of a group shrinks */
#define SHRINK_CHAIN     1.0 /* by which that to the time of the longest row does */
#define SHRINK_TERM      2.0 /* by which the factors of the other terms do */
#define SHRINK_WORK      0.3 /* structures by which the cost of each kind of work shrinks */
#define SHRINK_CANDIDATE 4.0 /* samples by which the offset of a candidate shrinks towards that of its group */
#define SHRINK_COMMON    0.5 /* structures by which the common factor of a type shrinks where a table is corrected */
#define SHRINK_FORMAT    1.0 /* structures by which the factor of a format does */
#define SHRINK_SHIFT     1.0 /* samples by which what the samples of a structure have in common does */

/* An error beyond this, as log2, counts in proportion to its size instead of its square (Huber), so that no sample outweighs the rest. */
#define ROBUST 0.5

/* What was known counts so many times as much: then nothing but the common factors changes. */
#define HOLD_ALL 1e9

/* Rounds of reweighting for that, and of deciding which time a sample is taken for; neither changes later. */
enum { ROBUST_ROUNDS = 5, DIVIDE_ROUNDS = 6 };

/* At first, a sample that took so many times as long as the rates say, as log2, is taken for that of its longest row. */
#define CHAIN_AT_FIRST 1.5

/* Rounds in which the costs of all kinds of work are improved in turn: more do not change choices. */
enum { WORK_ROUNDS = 300 };

/* A sample whose time is mostly that of reading its bytes says nothing about the rates, if that is so large a part of it. */
#define FLOOR_SHARE 0.75

/* The most that an error, as log2, counts where fits are compared: what is off by a factor of four is as good as unknown. */
#define ERROR_MOST 2.0

/* A further term must lower the error for structures that are left out by this share. */
#define TERM_GAIN 0.005

/* A sample beside its estimate. */
typedef struct point {
    const sample *of;
    spmv_estimate by;
    int           candidate, structure, group; /* numbers from 0 */
    double        took[2];              /* log2 of the measured time over that by the rates (0) and over that of the longest row (1) */
    double        known[2];             /* what the fits that are corrected say of each */
    double        weight;               /* the time of the fastest sample on that structure and type over its own */
    double        share;                /* its weight over that of all in its group, structure and time */
    int           usable;               /* 1: it shows how good the rates are */
    int           chain;                /* 1: its time is taken for that of the longest row */
} point;

typedef struct factors {
    double at[SPMV_TERM_COUNT];
} factors;

/* What candidates have in common where a table is corrected: their type, their format. */
enum { LEVEL_TYPE, LEVEL_FORMAT, LEVELS, LEVEL_MOST = (int)SPMV_FORMAT_COUNT + (int)SPMV_TYPE_COUNT /* enough for either */ };

typedef struct fitting {
    tool         *t;
    spmv_tuning  *table;
    point        *p;
    size_t        count;
    const sample_list *samples;
    const char  **structure;
    int           structures, candidates, groups;
    const sample **candidate; /* the first sample of each */
    int          *group_of;   /* of each candidate */
    factors      *group, *own; /* of each group; of each candidate, with those of its group */
    int           corrects;   /* 1: the table's own fits are corrected; 0: there are none, and all of prior and level are 0 */
    factors      *prior;      /* of each candidate: the fits that are corrected */
    double       *prior_error; /* their errors */
    double       *order;      /* [structures][SPMV_TYPE_COUNT]: mean square of the errors, without what the samples there have in common, by
                                 the fits that were judged last; -1: no samples. Behind it room for as many */
    factors       level[LEVELS][LEVEL_MOST]; /* of each type; of each format */
    double       *shift;      /* [structures][SPMV_TYPE_COUNT]: what all samples on a structure have in common beyond all else;
                                 behind them room for two sums of each */
    double        hold;       /* by which all SHRINK_ constants but SHRINK_COMMON are multiplied: so much more does what was known count */
    double       *sum;        /* room for sums of weights: [groups][structures][2] */
    double       *share;      /* room for sums of weights: [LEVEL_MOST][structures][2] */
    int           terms;      /* that are used, besides that of the longest row */
} fitting;

/* ---- least squares --------------------------------------------------------------------------------------------------- */

/* The normal equations of a weighted fit. */
typedef struct normal {
    double a[SPMV_TERM_COUNT][SPMV_TERM_COUNT], b[SPMV_TERM_COUNT];
} normal;

/* Begins with what shrinks the factors of a group, times hold. */
static void normal_begin(normal *n, double hold)
{
    int i;
    memset(n, 0, sizeof *n);
    for (i = 0; i < SPMV_TERM_COUNT; i++)
        n->a[i][i] = hold * (i == SPMV_TERM_ALL ? SHRINK_ALL : i == SPMV_TERM_CHAIN ? SHRINK_CHAIN : SHRINK_TERM);
}

/* Solves the equations, whose matrix is positive definite because of what shrinks them, by Gauss's elimination. */
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

/* How much a residual counts of what its square would. */
static double robust(double residual)
{
    double size = residual < 0 ? -residual : residual;
    return size > ROBUST ? ROBUST / size : 1;
}

/* ---- fits -------------------------------------------------------------------------------------------------------------- */

/* A term of a sample as it counts in the time that the sample is taken for. */
static double term_any(const fitting *f, const point *p, int i)
{
    double v = p->by.term[i];
    if (i == SPMV_TERM_CHAIN) return p->chain;
    if (p->chain) return 0;
    return v < f->table->low[i] ? f->table->low[i] : v > f->table->high[i] ? f->table->high[i] : v;
}

/* The same, but 0 if the term is not used. */
static double term_of(const fitting *f, const point *p, int i)
{
    return i < f->terms || i == SPMV_TERM_CHAIN ? term_any(f, p, i) : 0;
}

/* The type or the format of a candidate, as a number. */
static int level_of(const sample *of, int level) { return level == LEVEL_TYPE ? (int)of->type : (int)of->layout.format; }

/* What is known before the groups and candidates are fitted: the fits that are corrected, with the factors of the first levels. */
static double known_of(const fitting *f, const point *p, int levels)
{
    const int offset = p->chain ? SPMV_TERM_CHAIN : SPMV_TERM_ALL;
    double sum = p->known[p->chain];
    int i;
    if (!f->corrects) return 0;
    for (i = 0; i < levels; i++) sum += f->level[i][level_of(p->of, i)].at[offset];
    return sum;
}

static double sum_of(const fitting *f, const point *p, const factors *x)
{
    double sum = 0;
    int i;
    for (i = 0; i < SPMV_TERM_COUNT; i++) sum += x->at[i] * term_of(f, p, i);
    return sum;
}

/* Where the shift of a sample's structure and type is kept. */
static double *shift_at(const fitting *f, const point *p) { return &f->shift[p->structure * SPMV_TYPE_COUNT + (int)p->of->type]; }

/* What the factors shall add up to, beyond what is known before them, the first levels and the structure's shift. */
static double target_of(const fitting *f, const point *p, int levels)
{
    return p->took[p->chain] - known_of(f, p, levels) - *shift_at(f, p);
}

/* Predicted seconds by the rates (chain 0) or of the longest row (1) with the current factors. */
static double predicted_as(const fitting *f, const point *p, int chain)
{
    point as = *p;
    as.chain = chain;
    return (chain ? p->by.chain : p->by.rates) * library_exp2(known_of(f, &as, LEVELS) + sum_of(f, &as, &f->own[p->candidate]));
}

/* 1: the table has a time of the longest row that is fitted. Elsewhere that row is a share of the whole estimate. */
static int has_chain(const fitting *f, const point *p) { return f->table->device_class == SPMV_DEVICE_CLASS_GPU && p->by.chain > 0; }

/* Predicted seconds by the current factors, as spmv_cost.h computes them. */
static double predicted(const fitting *f, const point *p)
{
    double seconds = predicted_as(f, p, 0), chain = has_chain(f, p) ? predicted_as(f, p, 1) : p->by.chain;
    if (p->by.memory - p->by.beyond > seconds) seconds = p->by.memory - p->by.beyond;
    return (chain > seconds ? chain : seconds) + p->by.beyond;
}

/* Is the sample one of those that are fitted? */
static int counts(const point *p, int left_out) { return p->usable && p->structure != left_out; }

/* The sum of weights of the group, structure and time that a sample belongs to. */
static double *sum_at(const fitting *f, const point *p)
{
    return &f->sum[(p->group * f->structures + p->structure) * 2 + p->chain];
}

/* The same of a level. */
static double *share_at(const fitting *f, const point *p, int level)
{
    return &f->share[(level_of(p->of, level) * f->structures + p->structure) * 2 + p->chain];
}

/* Decides for all samples which time each is taken for, by the current factors, and how much each counts in its group: together those of
 * a structure as one, or as much as twice their weights if these are less. */
static void divide(fitting *f, int first)
{
    size_t s;
    memset(f->sum, 0, (size_t)f->groups * (size_t)f->structures * 2 * sizeof *f->sum);
    for (s = 0; s < f->count; s++) {
        point *p = &f->p[s];
        if (!p->usable) continue;
        if (!has_chain(f, p)) p->chain = 0;
        else if (first) p->chain = p->took[0] > CHAIN_AT_FIRST;
        else p->chain = predicted_as(f, p, 1) > predicted_as(f, p, 0);
        *sum_at(f, p) += p->weight;
    }
    for (s = 0; s < f->count; s++) {
        point *p = &f->p[s];
        double all = p->usable ? *sum_at(f, p) : 0;
        p->share = all > 0 ? p->weight / all * (all < 0.5 ? 2 * all : 1) : 0;
    }
}

/* Fits the factors of all groups, in rounds that reweight the samples. n: room for the equations of each. */
static void fit_groups(fitting *f, int left_out, normal *n)
{
    int round, i, j, g;
    size_t s;
    for (round = 0; round < ROBUST_ROUNDS; round++) {
        for (g = 0; g < f->groups; g++) normal_begin(&n[g], f->hold);
        for (s = 0; s < f->count; s++) {
            const point *p = &f->p[s];
            normal *of = &n[p->group];
            double y, w;
            if (!counts(p, left_out)) continue;
            y = target_of(f, p, LEVELS);
            w = p->share * (round ? robust(y - sum_of(f, p, &f->group[p->group])) : 1);
            for (i = 0; i < SPMV_TERM_COUNT; i++) {
                double v = term_of(f, p, i);
                if (!(v < 0) && !(v > 0)) continue;
                for (j = 0; j < SPMV_TERM_COUNT; j++) of->a[i][j] += w * v * term_of(f, p, j);
                of->b[i] += w * v * y;
            }
        }
        for (g = 0; g < f->groups; g++) f->group[g] = normal_solve(&n[g]);
    }
}

/* Fits the offsets of all candidates to their groups. n: room for the equations of each, of which only those of the two offsets are
 * used. */
static void fit_own(fitting *f, int left_out, normal *n)
{
    static const int offset[2] = {SPMV_TERM_ALL, SPMV_TERM_CHAIN};
    int round, k, i;
    size_t s;
    for (k = 0; k < f->candidates; k++) f->own[k] = f->group[f->group_of[k]];
    for (round = 0; round < ROBUST_ROUNDS; round++) {
        memset(n, 0, (size_t)f->candidates * sizeof *n);
        for (s = 0; s < f->count; s++) {
            const point *p = &f->p[s];
            int at = offset[p->chain];
            double y, w;
            if (!counts(p, left_out)) continue;
            y = target_of(f, p, LEVELS);
            w = p->weight * robust(y - sum_of(f, p, &f->own[p->candidate]));
            n[p->candidate].a[at][at] += w;
            n[p->candidate].b[at] += w * (y - sum_of(f, p, &f->group[p->group]));
        }
        for (k = 0; k < f->candidates; k++)
            for (i = 0; i < 2; i++)
                f->own[k].at[offset[i]] = f->group[f->group_of[k]].at[offset[i]] +
                                          n[k].b[offset[i]] / (n[k].a[offset[i]][offset[i]] + f->hold * SHRINK_CANDIDATE);
    }
}

/* ---- work ------------------------------------------------------------------------------------------------------------- */

/* The normal equations of the costs of the work of a format, and the weights of its samples. */
typedef struct work_normal {
    double a[SPMV_WORK_COUNT][SPMV_WORK_COUNT], b[SPMV_WORK_COUNT], weights;
} work_normal;

/* Solves the equations for the costs that fit best of those that are not negative, by improving one after another. */
static void work_solve(const work_normal *n, double cost[SPMV_WORK_COUNT])
{
    int round, i, j;
    for (i = 0; i < SPMV_WORK_COUNT; i++) cost[i] = 0;
    for (round = 0; round < WORK_ROUNDS; round++)
        for (i = 0; i < SPMV_WORK_COUNT; i++) {
            double rest = n->b[i];
            for (j = 0; j < SPMV_WORK_COUNT; j++)
                if (j != i) rest -= n->a[i][j] * cost[j];
            if (n->a[i][i] > 0) cost[i] = rest > 0 ? rest / (n->a[i][i] * (1 + SHRINK_WORK / n->weights)) : 0;
        }
}

/* The weights of all samples of a format and structure. */
static double *work_share_at(const fitting *f, const point *p)
{
    return &f->share[(int)p->of->layout.format * f->structures + p->structure];
}

/* Fits what the work of each format costs, by least squares of the relative errors of the sums of costs. A structure counts once, or as
 * much as twice its weights if these are less. Then computes that term for all samples. */
static void fit_work(fitting *f, int left_out)
{
    work_normal n[SPMV_FORMAT_COUNT];
    size_t s;
    int i, j;
    memset(n, 0, sizeof n);
    memset(f->share, 0, (size_t)SPMV_FORMAT_COUNT * (size_t)f->structures * sizeof *f->share);
    for (s = 0; s < f->count; s++)
        if (counts(&f->p[s], left_out)) *work_share_at(f, &f->p[s]) += f->p[s].weight;
    for (s = 0; s < f->count; s++) {
        const point *p = &f->p[s];
        work_normal *of = &n[p->of->layout.format];
        double all, w;
        if (!counts(p, left_out)) continue;
        all = *work_share_at(f, p);
        w = p->weight / all * (all < 0.5 ? 2 * all : 1);
        of->weights += w;
        for (i = 0; i < SPMV_WORK_COUNT; i++) {
            const double v = p->by.work[i] / p->of->seconds;
            for (j = 0; j < SPMV_WORK_COUNT; j++) of->a[i][j] += w * v * p->by.work[j] / p->of->seconds;
            of->b[i] += w * v;
        }
    }
    for (i = 0; i < SPMV_FORMAT_COUNT; i++) work_solve(&n[i], f->table->work[i]);
    for (s = 0; s < f->count; s++) {
        point *p = &f->p[s];
        if (p->by.rates > 0)
            p->by.term[SPMV_TERM_WORK] = library_work_term(f->table, p->of->layout.format, p->by.work, p->by.rates);
    }
}

/* ---- levels ----------------------------------------------------------------------------------------------------------- */

/* Fits the factors of a level, of which a structure counts once in each. */
static void fit_level(fitting *f, int left_out, int level)
{
    static const int offset[2] = {SPMV_TERM_ALL, SPMV_TERM_CHAIN};
    const double prior = level == LEVEL_TYPE ? SHRINK_COMMON : f->hold * SHRINK_FORMAT;
    double above[LEVEL_MOST][2], below[LEVEL_MOST][2], *all;
    int round, i, k;
    size_t s;
    memset(f->level[level], 0, sizeof f->level[level]);
    memset(f->share, 0, (size_t)LEVEL_MOST * (size_t)f->structures * 2 * sizeof *f->share);
    for (s = 0; s < f->count; s++)
        if (counts(&f->p[s], left_out)) *share_at(f, &f->p[s], level) += f->p[s].weight;
    for (round = 0; round < ROBUST_ROUNDS; round++) {
        memset(above, 0, sizeof above);
        memset(below, 0, sizeof below);
        for (s = 0; s < f->count; s++) {
            const point *p = &f->p[s];
            double y, w;
            if (!counts(p, left_out)) continue;
            all = share_at(f, p, level);
            y = target_of(f, p, level);
            k = level_of(p->of, level);
            w = p->weight / *all * robust(y - f->level[level][k].at[offset[p->chain]]);
            above[k][p->chain] += w * y;
            below[k][p->chain] += w;
        }
        for (k = 0; k < LEVEL_MOST; k++)
            for (i = 0; i < 2; i++) f->level[level][k].at[offset[i]] = above[k][i] / (below[k][i] + prior);
    }
}

/* Subtracts from the shifts of each type their mean, but for that of a structure that is left out: what all structures have in common is
 * how fast the device is, which the factor of the type shall say. */
static void shifts_centre(fitting *f, const double *weights, int left_out)
{
    int i, type;
    for (type = SPMV_F64; type < SPMV_TYPE_COUNT; type++) {
        double sum = 0, count = 0;
        for (i = 0; i < f->structures; i++) {
            const int at = i * SPMV_TYPE_COUNT + type;
            if (i == left_out || !(weights[at] > 0)) continue;
            sum += f->shift[at];
            count++;
        }
        for (i = 0; i < f->structures && count > 0; i++) f->shift[i * SPMV_TYPE_COUNT + type] -= sum / count;
    }
}

/* Finds what the samples of each structure and type have in common. A structure on which everything is slower than expected, of which only
 * some candidates have samples, would otherwise make these look worse than the others; and it is no reason to choose in another way. */
static void fit_shifts(fitting *f, int left_out)
{
    const size_t n = (size_t)f->structures * SPMV_TYPE_COUNT;
    double *sum = f->shift + n, *weights = sum + n;
    size_t s, i;
    memset(sum, 0, 2 * n * sizeof *sum);
    for (s = 0; s < f->count; s++) {
        const point *p = &f->p[s];
        double y;
        if (!p->usable) continue;
        i = (size_t)(shift_at(f, p) - f->shift);
        y = target_of(f, p, LEVELS) + f->shift[i] - sum_of(f, p, &f->own[p->candidate]);
        sum[i] += p->weight * y;
        weights[i] += p->weight;
    }
    for (i = 0; i < n; i++) f->shift[i] = sum[i] / (weights[i] + SHRINK_SHIFT);
    shifts_centre(f, weights, left_out);
}

/* Finds the range of each term among the samples that are fitted. The matrices of the rates, whose terms are 0, belong to it. */
static void find_ranges(fitting *f, int left_out)
{
    double *low = f->table->low, *high = f->table->high;
    size_t s;
    int i;
    if (f->corrects) return; /* the table's own samples have seen more than these */
    for (i = 0; i < SPMV_TERM_COUNT; i++) low[i] = high[i] = i == SPMV_TERM_ALL || i == SPMV_TERM_CHAIN;
    for (s = 0; s < f->count; s++)
        for (i = 0; i < SPMV_TERM_COUNT && counts(&f->p[s], left_out); i++) {
            if (f->p[s].by.term[i] < low[i]) low[i] = f->p[s].by.term[i];
            if (f->p[s].by.term[i] > high[i]) high[i] = f->p[s].by.term[i];
        }
}

/* Fits all groups and candidates without the samples of one structure (-1: with all). n: room for the equations of each candidate. */
static void fit_all(fitting *f, int left_out, normal *n)
{
    int round, level;
    memset(f->own, 0, (size_t)f->candidates * sizeof *f->own);
    memset(f->group, 0, (size_t)f->groups * sizeof *f->group);
    memset(f->level, 0, sizeof f->level);
    memset(f->shift, 0, (size_t)f->structures * SPMV_TYPE_COUNT * sizeof *f->shift);
    if (!f->corrects) fit_work(f, left_out);
    find_ranges(f, left_out);
    for (round = 0; round < DIVIDE_ROUNDS; round++) {
        divide(f, !round && !f->corrects);
        if (f->corrects) fit_shifts(f, left_out);
        for (level = 0; level < LEVELS && f->corrects; level++) fit_level(f, left_out, level);
        fit_groups(f, left_out, n);
        fit_own(f, left_out, n);
    }
}

/* ---- structures left out ----------------------------------------------------------------------------------------------- */

/* Squares of errors of each candidate, as they are summed up. */
typedef struct error_sum {
    double squares, weights;
} error_sum;

/* Limits an error, as one sample that is far off would decide all sums. */
static double error_limited(double error)
{
    return error > ERROR_MOST ? ERROR_MOST : error < -ERROR_MOST ? -ERROR_MOST : error;
}

static void error_add(error_sum *e, double weight, double error)
{
    error = error_limited(error);
    e->squares += weight * error * error;
    e->weights += weight;
}

/* Seconds of the fastest of all samples of a structure and type, those of candidates that the table lacks included; 0: there are none. */
static double fastest(const fitting *f, const char *structure, spmv_type type)
{
    double best = 0;
    size_t s;
    for (s = 0; s < f->samples->count; s++) {
        const sample *of = &f->samples->at[s];
        if (of->type == type && !strcmp(of->structure, structure) && (!(best > 0) || of->seconds < best)) best = of->seconds;
    }
    return best;
}

/* Is it a sample of that structure and type that is predicted? */
static int judges(const point *p, int structure, spmv_type type)
{
    return p->structure == structure && p->of->type == type && p->by.rates > 0;
}

/* Sums over pairs of samples of a structure and type: the products of their errors, and the means of the squares of both. */
typedef struct error_pairs {
    double products, squares;
} error_pairs;

/* The sums of errors: of each candidate; of all; of all without what the samples of a structure and type have in common. Where a table is
 * corrected, the errors of candidates are without it, too. */
typedef struct errors {
    error_sum  *own, all, order;
    error_pairs pairs[SPMV_ALIKE_COUNT]; /* by how alike the candidates of a pair are */
} errors;

/* The mean error of a structure in one type, as log2; 0 if nothing is predicted there. */
static double error_mean(const fitting *f, int structure, spmv_type type)
{
    double sum = 0, weights = 0;
    size_t s;
    for (s = 0; s < f->count; s++) {
        const point *p = &f->p[s];
        if (!judges(p, structure, type)) continue;
        sum += p->weight * library_log2(predicted(f, p) / p->of->seconds);
        weights += p->weight;
    }
    return weights > 0 ? sum / weights : 0;
}

/* Adds the pairs of all samples of a structure in one type with a sample that was predicted. */
static void pairs_add(const fitting *f, const point *p, error_pairs *pairs)
{
    const double error = error_limited(library_log2(predicted(f, p) / p->of->seconds));
    const point *o;
    for (o = f->p; o < p; o++) {
        double other;
        error_pairs *sum;
        if (!judges(o, p->structure, p->of->type)) continue;
        other = error_limited(library_log2(predicted(f, o) / o->of->seconds));
        sum = &pairs[library_how_alike(&f->candidate[o->candidate]->layout, &f->candidate[p->candidate]->layout)];
        sum->products += o->weight * p->weight * error * other;
        sum->squares += o->weight * p->weight * (error * error + other * other) / 2;
    }
}

/* The correlations of errors that pairs show. Candidates that are more alike err no less alike; where the pairs show otherwise, or there
 * are none, that is by chance. */
static void correlations(const error_pairs *pairs, double out[SPMV_ALIKE_COUNT])
{
    const double most = 0.99; /* different candidates are never the same */
    double least = 0;
    int i;
    for (i = 0; i < SPMV_ALIKE_COUNT; i++) {
        double v = pairs[i].squares > 0 ? pairs[i].products / pairs[i].squares : 0;
        if (v < least) v = least;
        if (v > most) v = most;
        out[i] = least = v;
    }
}

/* Adds the errors of one structure in one type to the sums, and the regret of the choice among its samples. choices: of that type. */
static void judge(const fitting *f, int structure, spmv_type type, errors *e, unsigned *choices, fit_quality *q)
{
    double least = 0, chosen = 0, best = fastest(f, f->structure[structure], type), mean = error_mean(f, structure, type);
    error_sum here = {0, 0};
    size_t s;
    for (s = 0; s < f->count; s++) {
        const point *p = &f->p[s];
        double seconds, error;
        if (!judges(p, structure, type)) continue;
        seconds = predicted(f, p);
        error = library_log2(seconds / p->of->seconds);
        error_add(&e->own[p->candidate], p->weight, f->corrects ? error - mean : error);
        error_add(&e->all, p->weight, error);
        error_add(&e->order, p->weight, error - mean);
        error_add(&here, p->weight, error - mean);
        pairs_add(f, p, e->pairs);
        q->good += seconds >= 0.8 * p->of->seconds && seconds <= 1.25 * p->of->seconds;
        q->samples++;
        if (least > 0 && seconds >= least) continue;
        least = seconds;
        chosen = p->of->seconds;
    }
    f->order[structure * SPMV_TYPE_COUNT + (int)type] = here.weights > 0 ? here.squares / here.weights : -1;
    if (!(least > 0)) return;
    q->regret[type] += library_log2(chosen / best);
    if (chosen / best > q->worst[type]) q->worst[type] = chosen / best;
    ++*choices;
}

/* Leaves out one structure after another and judges the fits by it. own: becomes the errors of each candidate. */
static void fit_judge(fitting *f, error_sum *own, fit_quality *q, normal *n)
{
    errors e;
    unsigned choices[SPMV_TYPE_COUNT] = {0};
    int i, type;
    memset(q, 0, sizeof *q);
    memset(&e, 0, sizeof e);
    memset(own, 0, (size_t)f->candidates * sizeof *own);
    e.own = own;
    for (i = 0; i < f->structures; i++) {
        fit_all(f, i, n);
        for (type = SPMV_F64; type < SPMV_TYPE_COUNT; type++) judge(f, i, (spmv_type)type, &e, &choices[type], q);
    }
    correlations(e.pairs, q->alike);
    q->structures = (unsigned)f->structures;
    q->terms = (unsigned)f->terms;
    q->error = e.all.weights > 0 ? sqrt(e.all.squares / e.all.weights) : 0;
    q->order = e.order.weights > 0 ? sqrt(e.order.squares / e.order.weights) : 0;
    for (type = SPMV_F64; type < SPMV_TYPE_COUNT; type++)
        if (choices[type]) q->regret[type] = library_exp2(q->regret[type] / choices[type]);
    q->good = q->samples ? q->good / q->samples : 0;
}

/* Finds how many terms are best for structures that are left out, and judges the fits with these. */
static void fit_terms(fitting *f, error_sum *own, fit_quality *q, normal *n)
{
    int best = 1;
    fit_quality now;
    f->terms = 1;
    fit_judge(f, own, q, n);
    for (f->terms = 2; f->terms < SPMV_TERM_CHAIN + 1; f->terms++) {
        fit_judge(f, own, &now, n);
        if (now.error > q->error * (1 - TERM_GAIN)) continue;
        best = f->terms;
        *q = now;
    }
    f->terms = best;
    fit_judge(f, own, q, n);
}

/* 1: by the fits that were judged last, the errors are lower than those in before, in the mean of all structures, by more than the standard
 * error of the difference. */
static int is_clearly_better(const fitting *f, const double *before)
{
    double sum = 0, squares = 0, mean, count = 0;
    int i;
    for (i = 0; i < f->structures * SPMV_TYPE_COUNT; i++) {
        const double d = before[i] - f->order[i];
        if (before[i] < 0 || f->order[i] < 0) continue;
        sum += d;
        squares += d * d;
        count++;
    }
    if (count < 2) return 0;
    mean = sum / count;
    return mean > 0 && mean * mean > (squares / count - mean * mean) / (count - 1);
}

/* Finds how much the fits that are corrected should count beside the samples, and how many terms are corrected, and judges the fits with
 * these: those with the least error for structures that are left out, if they are clearly better than no correction at all, but for the
 * common factor. What counts is how candidates compare on a structure, which decides the choice, and not the regret: that depends on two
 * samples of a structure, and where samples err by some 15%, so that the fastest of them is fast by luck, it hardly tells good fits from
 * bad ones. */
static void fit_holds(fitting *f, error_sum *own, fit_quality *q, normal *n)
{
    static const double holds[] = {16, 4, 1};
    const size_t orders = (size_t)f->structures * SPMV_TYPE_COUNT;
    double hold = HOLD_ALL, least, *before = f->order + orders;
    int best = 1, h;
    f->hold = HOLD_ALL;
    f->terms = 1;
    fit_judge(f, own, q, n);
    least = q->order;
    memcpy(before, f->order, orders * sizeof *before);
    for (h = 0; h < (int)(sizeof holds / sizeof *holds); h++)
        for (f->terms = 1; f->terms < SPMV_TERM_CHAIN + 1; f->terms++) {
            f->hold = holds[h];
            fit_judge(f, own, q, n);
            if (q->order >= least || !is_clearly_better(f, before)) continue;
            least = q->order;
            best = f->terms;
            hold = f->hold;
        }
    f->terms = best;
    f->hold = hold;
    fit_judge(f, own, q, n);
}

static void fit_best(fitting *f, error_sum *own, fit_quality *q, normal *n)
{
    if (f->corrects) fit_holds(f, own, q, n);
    else fit_terms(f, own, q, n);
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
        for (type = SPMV_F64; type < SPMV_TYPE_COUNT && result == DONE; type++) result = estimate_type(f, &a, i, (spmv_type)type);
        spmv_csr_free(&a);
    }
    return result;
}

/* Sets the weights of all samples, and which are usable. A choice is among the fastest, so a sample that takes twice as long as the fastest
 * counts half: with equal weights, what is never chosen decides the fits. */
static void weigh(fitting *f)
{
    size_t s;
    for (s = 0; s < f->count; s++) {
        point *p = &f->p[s];
        p->weight = fastest(f, p->of->structure, p->of->type) / p->of->seconds;
        p->usable = p->by.rates > 0 && (p->by.memory < FLOOR_SHARE * p->of->seconds || p->by.memory - p->by.beyond < p->by.rates);
    }
}

/* The seconds of a sample without those that no rate contains, but at least half of all, as the estimate of those may be too high. */
static double rest_of(const point *p)
{
    const double rest = p->of->seconds - p->by.beyond, least = 0.5 * p->of->seconds;
    return rest > least ? rest : least;
}

/* Computes what does not change while fits are judged, which takes a fitting half of its time otherwise. */
static void remember(fitting *f)
{
    size_t s;
    int i, chain;
    for (s = 0; s < f->count; s++) {
        point *p = &f->p[s];
        for (chain = 0; chain < 2; chain++) {
            const double by = chain ? p->by.chain : p->by.rates;
            p->chain = chain;
            if (by > 0) p->took[chain] = library_log2(rest_of(p) / by);
            for (i = 0; i < SPMV_TERM_COUNT; i++) p->known[chain] += f->prior[p->candidate].at[i] * term_any(f, p, i);
        }
        p->chain = 0;
    }
}

/* 1: both are of one candidate. */
static int is_alike(const sample *a, const sample *b)
{
    return a->type == b->type && !strcmp(a->variant, b->variant) && table_same_layout(&a->layout, &b->layout);
}

/* The number of the group that a new candidate belongs to. */
static int group_find(fitting *f, const sample *of)
{
    int k;
    for (k = 0; k < f->candidates; k++)
        if (library_runs_alike(&f->candidate[k]->layout, &of->layout)) return f->group_of[k];
    return f->groups++;
}

/* Numbers the structures, candidates and groups of all samples. DONE or FAILED. */
static int number_all(fitting *f, const sample_list *l)
{
    size_t s;
    f->p = (point *)calloc(l->count + 1, sizeof *f->p);
    f->structure = (const char **)calloc(l->count + 1, sizeof *f->structure);
    f->candidate = (const sample **)calloc(l->count + 1, sizeof *f->candidate);
    f->own = (factors *)calloc(l->count + 1, sizeof *f->own);
    f->group = (factors *)calloc(l->count + 1, sizeof *f->group);
    f->group_of = (int *)calloc(l->count + 1, sizeof *f->group_of);
    f->prior = (factors *)calloc(l->count + 1, sizeof *f->prior);
    f->prior_error = (double *)calloc(l->count + 1, sizeof *f->prior_error);
    if (!f->p || !f->structure || !f->candidate || !f->own || !f->group || !f->group_of || !f->prior || !f->prior_error)
        return cli_no_memory(f->t);
    f->samples = l;
    for (s = 0; s < l->count; s++) {
        point *p = &f->p[f->count++];
        p->of = &l->at[s];
        while (p->structure < f->structures && strcmp(f->structure[p->structure], p->of->structure) != 0) p->structure++;
        if (p->structure == f->structures) f->structure[f->structures++] = p->of->structure;
        while (p->candidate < f->candidates && !is_alike(f->candidate[p->candidate], p->of)) p->candidate++;
        if (p->candidate == f->candidates) {
            f->group_of[f->candidates] = group_find(f, p->of);
            f->candidate[f->candidates++] = p->of;
        }
        p->group = f->group_of[p->candidate];
    }
    f->sum = (double *)calloc((size_t)f->groups * (size_t)f->structures * 2 + 1, sizeof *f->sum);
    f->share = (double *)calloc((size_t)LEVEL_MOST * (size_t)f->structures * 2 + 1, sizeof *f->share);
    f->shift = (double *)calloc(3 * (size_t)f->structures * SPMV_TYPE_COUNT + 1, sizeof *f->shift);
    f->order = (double *)calloc(2 * (size_t)f->structures * SPMV_TYPE_COUNT + 1, sizeof *f->order);
    return f->sum && f->share && f->shift && f->order ? DONE : cli_no_memory(f->t);
}

/* The error of candidate k: that of its samples, beside which the one that was known counts as some samples; or that alone if nothing is
 * corrected. */
static double error_of(const fitting *f, int k, const error_sum *own, const fit_quality *q)
{
    const double known = f->prior_error[k], priors = known > 0 ? SHRINK_CANDIDATE : 0;
    if (f->hold >= HOLD_ALL && known > 0) return known;
    if (!(own[k].weights > 0)) return f->corrects && known > 0 ? known : q->error;
    return sqrt((own[k].squares + priors * known * known) / (own[k].weights + priors));
}

/* The fit of candidate k: what was known of it, and what was fitted. */
static spmv_tune_fit fit_of(const fitting *f, int k, const error_sum *own, const fit_quality *q)
{
    const sample *of = f->candidate[k];
    spmv_tune_fit out;
    int i, level;
    memset(&out, 0, sizeof out);
    out.layout = of->layout;
    out.type = of->type;
    memcpy(out.variant, of->variant, sizeof out.variant);
    for (i = 0; i < SPMV_TERM_COUNT; i++) {
        out.factor[i] = f->prior[k].at[i] + (i < f->terms || i == SPMV_TERM_CHAIN ? f->own[k].at[i] : 0);
        for (level = 0; level < LEVELS; level++) out.factor[i] += f->level[level][level_of(of, level)].at[i];
    }
    out.error = error_of(f, k, own, q);
    return out;
}

/* The fit of a row of which there are no samples: what was known, and what was learned of its type, its format and layouts that run
 * alike. Its error is the one that was known or that of all, whichever is more. */
static spmv_tune_fit fit_unseen(const fitting *f, const spmv_tune_row *r, const spmv_tune_fit *known, const fit_quality *q)
{
    spmv_tune_fit out;
    int i, k;
    memset(&out, 0, sizeof out);
    if (known) out = *known;
    out.layout = r->layout;
    out.type = r->type;
    memcpy(out.variant, r->variant, sizeof out.variant);
    for (k = 0; k < f->candidates && !library_runs_alike(&f->candidate[k]->layout, &r->layout);) k++;
    for (i = 0; i < SPMV_TERM_COUNT; i++) {
        out.factor[i] += f->level[LEVEL_TYPE][r->type].at[i] + f->level[LEVEL_FORMAT][r->layout.format].at[i];
        if (k < f->candidates && (i < f->terms || i == SPMV_TERM_CHAIN)) out.factor[i] += f->group[f->group_of[k]].at[i];
    }
    if (q->order > out.error && (f->hold < HOLD_ALL || !known)) out.error = q->order;
    return out;
}

/* 1: one of the fits is of this type, layout and variant. */
static int fit_is_there(const spmv_tune_fit *fit, size_t fits, const spmv_tune_row *r)
{
    size_t i;
    for (i = 0; i < fits; i++)
        if (fit[i].type == r->type && !strcmp(fit[i].variant, r->variant) && table_same_layout(&fit[i].layout, &r->layout)) return 1;
    return 0;
}

/* Writes the factors and errors of all candidates into the table, and, where a table is corrected, those of all its rows. DONE or
 * FAILED. */
static int fits_store(fitting *f, const error_sum *own, const fit_quality *q)
{
    spmv_tuning *t = f->table;
    spmv_tune_fit *fit = (spmv_tune_fit *)spmv_alloc(&t->hooks, (uint64_t)f->candidates + t->count + 1, sizeof *fit);
    size_t n = 0, i;
    int k;
    if (!fit) return cli_no_memory(f->t);
    for (k = 0; k < f->candidates; k++) fit[n++] = fit_of(f, k, own, q);
    for (i = 0; i < t->count && f->corrects; i++) {
        const spmv_tune_row *r = &t->row[i];
        if (!fit_is_there(fit, n, r)) fit[n++] = fit_unseen(f, r, library_fit_of(t, r->type, &r->layout, r->variant), q);
    }
    spmv_free(&t->hooks, t->fit);
    t->fit = fit;
    t->fits = n;
    t->left_out = q->error;
    memcpy(t->alike, q->alike, sizeof t->alike);
    t->noise = f->samples->noise;
    t->structures = q->structures;
    t->samples = q->samples;
    memcpy(t->regret, q->regret, sizeof t->regret);
    memcpy(t->worst, q->worst, sizeof t->worst);
    return DONE;
}

/* Finds the fits that are corrected. */
static void find_prior(fitting *f)
{
    int k;
    for (k = 0; k < f->candidates && f->corrects; k++) {
        const sample *of = f->candidate[k];
        const spmv_tune_fit *fit = library_fit_of(f->table, of->type, &of->layout, of->variant);
        if (!fit) continue;
        memcpy(f->prior[k].at, fit->factor, sizeof fit->factor);
        f->prior_error[k] = fit->error;
    }
}

/* Frees what belongs to the fitting. */
static void fitting_free(fitting *f)
{
    free(f->p);
    free(f->structure);
    free(f->candidate);
    free(f->own);
    free(f->group);
    free(f->group_of);
    free(f->prior);
    free(f->prior_error);
    free(f->sum);
    free(f->share);
    free(f->shift);
    free(f->order);
}

/* Estimates all samples by the rates of the table, without its fits. DONE, or FAILED after a message. */
static int fitting_begin(fitting *f, tool *t, spmv_tuning *table, const sample_list *samples, int corrects)
{
    const size_t fits = table->fits;
    int result;
    memset(f, 0, sizeof *f);
    f->t = t;
    f->table = table;
    f->hold = 1;
    f->corrects = corrects && fits;
    if (!f->corrects) {
        memset(table->high, 0, sizeof table->high);
        memset(table->work, 0, sizeof table->work);
    }
    result = number_all(f, samples);
    if (result == DONE) find_prior(f);
    table->fits = 0;
    if (result == DONE) result = estimate_all(f);
    table->fits = fits;
    if (result == DONE) weigh(f);
    if (result == DONE) remember(f);
    return result;
}

/* Fits the table to the samples. corrects: 1: starting from its fits. */
static int fit_samples(tool *t, spmv_tuning *table, const sample_list *samples, int corrects, fit_quality *quality)
{
    fitting f;
    error_sum *own = NULL;
    normal *n = NULL;
    int result = fitting_begin(&f, t, table, samples, corrects);
    if (result == DONE) {
        own = (error_sum *)calloc((size_t)f.candidates + 1, sizeof *own);
        n = (normal *)calloc((size_t)f.candidates + 1, sizeof *n);
        if (!own || !n) result = cli_no_memory(t);
    }
    if (result == DONE) {
        fit_best(&f, own, quality, n);
        fit_all(&f, -1, n);
        result = fits_store(&f, own, quality);
    }
    free(own);
    free(n);
    fitting_free(&f);
    return result;
}

int fit_table(tool *t, spmv_tuning *table, const sample_list *samples, fit_quality *quality)
{
    return fit_samples(t, table, samples, 0, quality);
}

/* By calls, a product that takes so many times as long as the smallest of all keeps the device busy while the host launches the next one.
 * Of the products that two versions of tuning/nvidia-h200.samples.gz share, by calls (2026-11-23) and in graphs (2026-11-27), those of 3
 * to 3.5 times that long took 1.02 times as long by calls (median), but coo, which launches two kernels, 1.35 times; those of 4 to 6 times
 * 1.015 and 1.04. */
#define LAUNCHES_HIDDEN 5.0

int fit_correct(tool *t, spmv_tuning *table, const sample_list *samples, fit_quality *quality)
{
    sample_list busy = *samples;
    const double least = LAUNCHES_HIDDEN * table->call;
    size_t i;
    int result;
    if (samples->graph || !table->graph) return fit_samples(t, table, samples, 1, quality);
    if (!(least > 0)) return cli_complain(t, "the table was timed in CUDA graphs, and it is not known what a call takes on this device");
    busy.at = (sample *)calloc(samples->count + 1, sizeof *busy.at);
    if (!busy.at) return cli_no_memory(t);
    for (i = busy.count = 0; i < samples->count; i++)
        if (samples->at[i].seconds >= least) busy.at[busy.count++] = samples->at[i];
    if (busy.count) result = fit_samples(t, table, &busy, 1, quality);
    else
        result = cli_complain(t, "the table was timed in CUDA graphs, and no product by calls took the %.3g us that it takes to correct it",
                              least * 1e6);
    free(busy.at);
    return result;
}
