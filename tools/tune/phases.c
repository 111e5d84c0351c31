/* SPDX-License-Identifier: MIT */
#include "phases.h"

#include "candidates.h"
#include "sample.h"
#include "table.h"
#include "../library.h"
#include "spmv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- dropping ---------------------------------------------------------------------------------------------------- */

float phase_best_rate(const tuner *u, const candidate *c, int point, int alike)
{
    float best = 0;
    size_t i;
    for (i = 0; i < u->count; i++) {
        const candidate *o = &u->c[i];
        if (o->state == STRUCK || !(o->row.rate[point] > best) || !table_rows_compete(&o->row, &c->row)) continue;
        if (alike && o->row.layout.key[SPMV_KEY_IDX] != c->row.layout.key[SPMV_KEY_IDX]) continue;
        if (alike && !table_row_has_blocks(&c->row) && o->row.layout.format != c->row.layout.format) continue;
        best = o->row.rate[point];
    }
    return best;
}

int phase_has_hope(const tuner *u, const candidate *c, float factor)
{
    int p, measured = 0;
    for (p = 0; p < u->head.rows * u->head.per_row; p++) {
        if (!(c->row.rate[p] > 0)) continue;
        measured = 1;
        if (c->row.rate[p] * factor >= phase_best_rate(u, c, p, 0) || c->row.rate[p] * 1.01f >= phase_best_rate(u, c, p, 1)) return 1;
    }
    return !measured;
}

static void drop_hopeless(tuner *u, float factor)
{
    size_t i;
    for (i = 0; i < u->count; i++)
        if (u->c[i].row.type == u->type && u->c[i].state == LIVE && !phase_has_hope(u, &u->c[i], factor)) u->c[i].state = DROPPED;
}

/* The candidate like this one with another key idx and another variant, or NULL. */
static candidate *candidate_find(tuner *u, const candidate *like, int idx, const char *variant)
{
    size_t i;
    spmv_tune_row r = like->row;
    r.layout.key[SPMV_KEY_IDX] = idx;
    snprintf(r.variant, sizeof r.variant, "%s", variant);
    for (i = 0; i < u->count; i++)
        if (table_row_is(&u->c[i].row, &r)) return &u->c[i];
    return NULL;
}

/* ---- phase 1: probes --------------------------------------------------------------------------------------------- */

void phase_want_all(tuner *u, int wanted)
{
    size_t i;
    for (i = 0; i < u->count; i++) u->c[i].wanted = wanted && u->c[i].row.type == u->type;
}

/* Marks the layouts without knobs: those with narrow columns if narrow, else those with wide ones. A layout with narrow columns is dropped
 * if the same layout with wide ones was. */
static void want_probes(tuner *u, int narrow)
{
    size_t i;
    for (i = 0; i < u->count; i++) {
        candidate *c = &u->c[i], *wide = c->row.layout.key[SPMV_KEY_IDX] ? candidate_find(u, c, 0, "") : NULL;
        c->wanted = c->row.type == u->type && !*c->row.variant && (wide != NULL) == narrow;
        if (wide && wide->state == DROPPED) c->state = DROPPED;
    }
}

/* Leaves only candidates of one kind and round wanted. */
static void want_round(tuner *u, spmv_tune_kind kind, int round)
{
    size_t i;
    for (i = 0; i < u->count; i++)
        if (u->c[i].row.kind != kind || u->c[i].round != round) u->c[i].wanted = 0;
}

/* The formats take turns, layout by layout: if time runs out, something is known of each of them, with blocks or without. */
void phase_layouts(tuner *u)
{
    int narrow, kind, round, probe;
    for (narrow = 0; narrow < 2; narrow++) {
        for (round = 0; round < u->rounds; round++)
            for (kind = 0; kind < SPMV_TUNE_KIND_COUNT; kind++) {
                want_probes(u, narrow);
                want_round(u, (spmv_tune_kind)kind, round);
                sample_probe(u, 0, 0.24 * (narrow + (double)round / u->rounds), 0);
            }
        drop_hopeless(u, 2);
    }
    phase_want_all(u, 1);
    for (probe = 1; probe < TUNE_PROBES; probe++) sample_probe(u, probe, 0.48 + 0.17 * (probe - 1), 0.17);
    drop_hopeless(u, 1.5f);
}

/* ---- phase 3: the grid ------------------------------------------------------------------------------------------- */

typedef struct grid_point {
    int    row, per, level;
    double nonzeros;
} grid_point;

static int compare_points(const void *a, const void *b)
{
    const grid_point *x = (const grid_point *)a, *y = (const grid_point *)b;
    if (x->level != y->level) return x->level - y->level;
    return (x->nonzeros > y->nonzeros) - (x->nonzeros < y->nonzeros);
}

/* 1: in front: measured, and within 3% of the best or the best of those alike at some size. The table will hold it. */
static int is_front(const tuner *u, const candidate *c)
{
    int p, measured = 0;
    for (p = 0; p < u->head.rows * u->head.per_row && !measured; p++) measured = c->row.rate[p] > 0;
    return measured && phase_has_hope(u, c, 1.03f);
}

/* 1: c has default knobs, and its layout is in front on another kind of matrix. Then the table needs c's rates too, which show how much
 * slower the layout is on c's kind. */
static int backs_front(const tuner *u, const candidate *c)
{
    size_t i;
    for (i = 0; i < u->count && !*c->row.variant; i++) {
        const candidate *o = &u->c[i];
        if (o->row.type == c->row.type && o->row.kind != c->row.kind && o->state == LIVE &&
            table_same_layout(&o->row.layout, &c->row.layout) && is_front(u, o)) return 1;
    }
    return 0;
}

/* Marks the candidates that a pass measures, as phase_grid says. Those that back one in front are no longer dropped. */
static void want_pass(tuner *u, int front)
{
    size_t i;
    phase_want_all(u, 1);
    for (i = 0; i < u->count && front; i++) {
        candidate *c = &u->c[i];
        if (!c->wanted) continue;
        if (c->state == DROPPED && backs_front(u, c)) c->state = LIVE;
        else c->wanted = is_front(u, c);
    }
}

void phase_grid(tuner *u, int front, double from, double share)
{
    grid_point all[TUNE_DENSITY_MOST * TUNE_DENSITY_MOST];
    int row, per, n = 0, i;
    double sum = 0, part = from;
    for (row = 0; row < u->head.rows; row++)
        for (per = 0; per < u->head.per_row; per++) {
            all[n].row = row;
            all[n].per = per;
            all[n].level = (row % 2 == 0) + per % 2;
            all[n].nonzeros = (double)u->head.rows_at[row] * (double)u->head.per_row_at[per];
            if (all[n].nonzeros <= (double)u->most) sum += 2e5 + all[n].nonzeros;
            n++;
        }
    qsort(all, (size_t)n, sizeof *all, compare_points);
    want_pass(u, front);
    for (i = 0; i < n; i++) {
        double span = all[i].nonzeros <= (double)u->most ? share * (2e5 + all[i].nonzeros) / sum : 0;
        sample_point(u, all[i].row, all[i].per, part, span);
        part += span;
    }
}

/* ---- phase 4: outliers ---------------------------------------------------------------------------------------------
 * Other work on the machine can only make a product slower, and does so only at some sizes. */

/* The nearest rate along a row or a column of the table; 0 if there is none. */
static double nearest(const tuner *u, const candidate *c, int row, int per, int down, int right)
{
    for (row += down, per += right; row >= 0 && row < u->head.rows && per >= 0 && per < u->head.per_row; row += down, per += right)
        if (*candidate_rate(u, c, row, per) > 0) return (double)*candidate_rate(u, c, row, per);
    return 0;
}

/* 1: the rate is far below the geometric mean of its neighbours. */
static int is_odd(const tuner *u, const candidate *c, int row, int per)
{
    static const int way[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
    double sum = 0, v;
    int i, n = 0;
    for (i = 0; i < 4; i++) {
        v = nearest(u, c, row, per, way[i][0], way[i][1]);
        if (v > 0) sum += library_log2(v);
        n += v > 0;
    }
    return n && *candidate_rate(u, c, row, per) > 0 && library_log2((double)*candidate_rate(u, c, row, per)) < sum / n - 0.75;
}

/* Clears the outliers of candidates in front, which are then wanted, and keeps the old rates in before. Returns how many there are. */
static int forget_odd(tuner *u)
{
    size_t i;
    const size_t bytes = (size_t)(u->head.rows * u->head.per_row) * sizeof(float);
    int row, per, n = 0;
    for (i = 0; i < u->count; i++) {
        candidate *c = &u->c[i];
        c->wanted = 0;
        if (c->row.type != u->type || c->state != LIVE || !is_front(u, c)) continue;
        c->before = (float *)malloc(bytes);
        if (!c->before) continue;
        memcpy(c->before, c->row.rate, bytes);
        for (row = 0; row < u->head.rows; row++)
            for (per = 0; per < u->head.per_row; per++)
                if (is_odd(u, c, row, per)) c->wanted = ++n;
    }
    for (i = 0; i < u->count; i++)
        for (row = 0; u->c[i].wanted && row < u->head.rows; row++)
            for (per = 0; per < u->head.per_row; per++)
                if (u->c[i].before[row * u->head.per_row + per] > 0 && is_odd(u, &u->c[i], row, per))
                    *candidate_rate(u, &u->c[i], row, per) = 0;
    return n;
}

void phase_again(tuner *u)
{
    size_t i;
    int row, per, p, n = forget_odd(u);
    for (row = 0; n && row < u->head.rows; row++)
        for (per = 0; per < u->head.per_row; per++)
            sample_point(u, row, per, (double)row / u->head.rows, 1.0 / (double)(u->head.rows * u->head.per_row));
    for (i = 0; i < u->count; i++) {
        candidate *c = &u->c[i];
        for (p = 0; c->before && p < u->head.rows * u->head.per_row; p++)
            if (c->before[p] > 0 && !(c->row.rate[p] > 0)) c->row.rate[p] = c->before[p]; /* time ran out before it was measured again */
        free(c->before);
        c->before = NULL;
    }
}
