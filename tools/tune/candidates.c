/* SPDX-License-Identifier: MIT */
#include "candidates.h"

#include "../cli/memory.h"
#include "journal.h"
#include "table.h"
#include "workload.h"
#include "spmv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Powers of two. */
enum { ROWS_FIRST = 10, ROWS_LAST = 21, PER_LAST = 10 };

void tune_sizes(spmv_tuning *head, int density, uint64_t rows_max)
{
    static const int usual[TUNE_DENSITY] = {10, 13, 15, 17, 19, 21}; /* closer where matrices begin to be larger than caches */
    const int steps = density - 1;
    int i;
    head->rows = head->per_row = 0;
    for (i = 0; i <= steps; i++) {
        int power = density == TUNE_DENSITY ? usual[i] : ROWS_FIRST + ((ROWS_LAST - ROWS_FIRST) * i + steps / 2) / steps;
        if (!i || UINT64_C(1) << power <= rows_max) head->rows_at[head->rows++] = UINT64_C(1) << power;
    }
    for (i = 0; i <= steps; i++) head->per_row_at[head->per_row++] = UINT64_C(1) << (PER_LAST * i + steps / 2) / steps;
}

/* The place on an axis that is nearest to a size by ratio; of two equally near ones the first. */
static int nearest_size(const uint64_t *at, int count, uint64_t size)
{
    int i, best = 0;
    for (i = 1; i < count; i++) {
        double now = (double)at[i] / (double)size, before = (double)at[best] / (double)size;
        if ((now > 1 ? now : 1 / now) < (before > 1 ? before : 1 / before)) best = i;
    }
    return best;
}

void tune_probe(const tuner *u, int probe, int *row, int *per)
{
    static const uint64_t probes[TUNE_PROBES][2] = {{1u << 17, 16}, {1u << 13, 4}, {1u << 19, 4}, {1u << 15, 64}};
    *row = nearest_size(u->head.rows_at, u->head.rows, probes[probe][0]);
    *per = nearest_size(u->head.per_row_at, u->head.per_row, probes[probe][1]);
}

tune_shape candidate_shape(const tuner *u, const candidate *c, int row, int per)
{
    int64_t size = table_row_class(&c->row); /* of the blocks */
    tune_shape s;
    memset(&s, 0, sizeof s);
    s.kind = c->row.kind;
    s.full = spmv_format_class_of(c->row.layout.format) == SPMV_CLASS_DENSE;
    s.rows = u->head.rows_at[row];
    s.per_row = u->head.per_row_at[per];
    if (!table_row_has_blocks(&c->row)) return s;
    s.bh = (unsigned)(size >> 8);
    s.bw = (unsigned)(size & 255);
    return s;
}

enum { TUNE_SHORT_ROWS = 64 /* the most nonzeros in a row for formats that give a row to one or a few work-items (clSpMV 3.2) */ };

int candidate_fits(const tuner *u, const candidate *c, int row, int per)
{
    tune_shape s = candidate_shape(u, c, row, per);
    if (s.per_row > TUNE_SHORT_ROWS && !(spmv_format_flags(c->row.layout.format) & SPMV_LONG_ROWS)) return 0;
    if (s.rows * s.per_row > u->most || s.per_row < s.bw) return 0;
    return s.full || 4 * s.per_row <= s.rows;
}

float *candidate_rate(const tuner *u, const candidate *c, int row, int per)
{
    return &c->row.rate[row * u->head.per_row + per];
}

void candidate_name(const candidate *c, char *out, size_t size)
{
    char name[300];
    table_row_name(&c->row, name, sizeof name);
    snprintf(out, size, "%s %s %s", spmv_type_name(c->row.type), spmv_tune_kind_name(c->row.kind), name);
}

size_t candidate_add(tuner *u, spmv_type type, spmv_tune_kind kind, const spmv_spec *layout, const char *variant)
{
    candidate *c;
    size_t i;
    spmv_tune_row like;
    memset(&like, 0, sizeof like);
    like.type = type;
    like.kind = kind;
    like.layout = *layout;
    snprintf(like.variant, sizeof like.variant, "%s", variant);
    for (i = 0; i < u->count; i++)
        if (table_row_is(&u->c[i].row, &like)) return i;
    if (u->count == u->room) {
        void *at = u->c;
        if (!memory_resize(&at, u->room ? 2 * u->room : 256, sizeof *u->c)) return u->count;
        u->c = (candidate *)at;
        u->room = u->room ? 2 * u->room : 256;
    }
    c = &u->c[u->count];
    memset(c, 0, sizeof *c);
    c->row = like;
    c->row.rate = (float *)calloc((size_t)(u->head.rows * u->head.per_row), sizeof *c->row.rate);
    if (!c->row.rate) return u->count;
    c->base = u->count;
    journal_recall_candidate(u, c);
    return u->count++;
}

/* 1: only noise would tell the layout from the same one without the key run: the host's products ignore runs, unless the runs make
 * narrow columns possible. */
static int is_run_ignored(const tuner *u, const spmv_spec *s)
{
    return !u->device && s->key[SPMV_KEY_RUN] && !s->key[SPMV_KEY_IDX];
}

/* Reads the plan of a layout. 1, or 0 if memory ran out. */
static int layout_spec(tuner *u, const spmv_format_layout *layout, spmv_spec *out)
{
    spmv_plan *one = (spmv_plan *)malloc(sizeof *one);
    int fine = one && spmv_plan_parse(one, layout->plan, NULL, &u->t->hooks) == SPMV_OK;
    if (fine) *out = one->part[0];
    free(one);
    return fine;
}

/* Adds a layout for every kind of matrix that it suits. */
static void layout_add(tuner *u, const spmv_format_layout *layout, int round)
{
    spmv_spec spec;
    size_t i;
    int kind;
    if (!layout_spec(u, layout, &spec) || is_run_ignored(u, &spec)) return;
    for (kind = 0; kind < SPMV_TUNE_KIND_COUNT; kind++) {
        if (!(layout->kinds >> kind & 1u)) continue;
        i = candidate_add(u, u->type, (spmv_tune_kind)kind, &spec, "");
        if (i < u->count) u->c[i].round = round;
    }
}

/* When the layout's turn is among those of its format: square blocks come before others, the small ones first. The unknowns of a node are
 * both rows and columns of the blocks of most matrices that have any: two in a plane, three in space, more where there are also pressures
 * or rotations. If time is short, the other sizes are not reached. */
static int64_t layout_turn(tuner *u, const spmv_format_layout *layout)
{
    spmv_spec spec;
    int64_t size = layout_spec(u, layout, &spec) ? spec.key[SPMV_KEY_B] : 0;
    return size >> 8 == (size & 255) ? size & 255 : 256;
}

/* Orders the layouts of a format by their turns; those with the same turn stay in order. Returns how many there are; *out: the caller frees
 * it. */
static size_t layouts_in_turn(tuner *u, spmv_format format, const spmv_format_layout ***out)
{
    const spmv_format_layout *all;
    size_t n = spmv_format_layouts(format, &all), i, k;
    const spmv_format_layout **at = *out = (const spmv_format_layout **)calloc(n + 1, sizeof *at);
    for (i = 0; at && i < n; i++) {
        for (k = i; k && layout_turn(u, at[k - 1]) > layout_turn(u, &all[i]); k--) at[k] = at[k - 1];
        at[k] = &all[i];
    }
    return at ? n : 0;
}

/* Adds the first layout of each format, then the second, and so on, so that layouts with blocks of one size, which share a matrix, follow
 * one another. */
void candidate_add_layouts(tuner *u)
{
    const spmv_format_layout **layout[SPMV_FORMAT_COUNT];
    size_t count[SPMV_FORMAT_COUNT];
    int f, round;
    u->t->keep = 1;
    u->rounds = 0;
    for (f = 0; f < SPMV_FORMAT_COUNT; f++) {
        count[f] = layouts_in_turn(u, (spmv_format)f, &layout[f]);
        if ((int)count[f] > u->rounds) u->rounds = (int)count[f];
    }
    for (round = 0; round < u->rounds; round++)
        for (f = 0; f < SPMV_FORMAT_COUNT; f++)
            if ((size_t)round < count[f]) layout_add(u, layout[f][round], round);
    for (f = 0; f < SPMV_FORMAT_COUNT; f++) free(layout[f]);
    u->t->keep = 0;
    u->t->text[0] = 0;
}
