/* SPDX-License-Identifier: MIT */
#include "knobs.h"

#include "candidates.h"
#include "phases.h"
#include "sample.h"
#include "table.h"
#include "workload.h"
#include "../library.h"
#include "spmv.h"
#include <string.h>

#ifndef SPMV_NO_DEVICES
/* The knobs in the order in which they tend to matter; those of the first round are tuned for all leaders before the others. */
static const spmv_knob tune_knobs[] = {SPMV_KNOB_WG, SPMV_KNOB_L, SPMV_KNOB_V, SPMV_KNOB_STREAM, SPMV_KNOB_PER, SPMV_KNOB_UNROLL,
                                       SPMV_KNOB_STAGE, SPMV_KNOB_SLICE, SPMV_KNOB_NT, SPMV_KNOB_SHUF, SPMV_KNOB_SEQ,
                                       SPMV_KNOB_IMG, SPMV_KNOB_ALIGN, SPMV_KNOB_FINISH};

enum { TUNE_KNOBS = sizeof tune_knobs / sizeof *tune_knobs, TUNE_ROUND = 5 /* knobs of the first round */ };

/* Knobs that are not tuned: I64 is for huge matrices, ATOMIC changes the last bits from product to product, and ZERO pays off only if
 * there is fill. */
static const spmv_knob untuned_knobs[] = {SPMV_KNOB_I64, SPMV_KNOB_ATOMIC, SPMV_KNOB_ZERO};

/* The knob to tune after so many others: those of tune_knobs, then all that neither list names. SPMV_KNOB_COUNT: there are no more. */
static spmv_knob knob_after(int turned)
{
    uint64_t named = 0;
    size_t i;
    int k;
    if (turned < TUNE_KNOBS) return tune_knobs[turned];
    for (i = 0; i < TUNE_KNOBS; i++) named |= (uint64_t)1 << tune_knobs[i];
    for (i = 0; i < sizeof untuned_knobs / sizeof *untuned_knobs; i++) named |= (uint64_t)1 << untuned_knobs[i];
    for (k = 0, turned -= TUNE_KNOBS; k < SPMV_KNOB_COUNT; k++)
        if (!(named >> k & 1) && turned-- == 0) break;
    return (spmv_knob)k;
}

/* Marks the leaders: layouts within 15% of the best at some size, and the best of each format. Of layouts with blocks only those that are
 * the best of their block size (within 2%) on banded matrices. */
static void choose_leaders(tuner *u)
{
    size_t i;
    int p, points = u->head.rows * u->head.per_row;
    for (i = 0; i < u->count; i++) {
        candidate *c = &u->c[i];
        float factor = table_row_has_blocks(&c->row) ? 1.02f : 1.15f;
        c->leads = 0;
        c->base = i;
        if (c->row.type != u->type || c->state != LIVE || *c->row.variant) continue;
        if (table_row_has_blocks(&c->row) && c->row.kind != SPMV_TUNE_BANDED) continue;
        for (p = 0; p < points && !c->leads; p++)
            c->leads = c->row.rate[p] > 0 && (c->row.rate[p] * factor >= phase_best_rate(u, c, p, 0) ||
                                              (!table_row_has_blocks(&c->row) && c->row.rate[p] * 1.01f >= phase_best_rate(u, c, p, 1)));
    }
}

/* Adds a candidate for each value of knob k, whose other knobs are those of the leader's base. */
static void add_values(tuner *u, size_t leader, spmv_knob k)
{
    spmv_variant base, v;
    int value[32];
    size_t i, at, n = spmv_knob_values(u->c[leader].row.layout.format, k, value, 32);
    char name[SPMV_VARIANT_TEXT];
    spmv_spec layout = u->c[leader].row.layout;
    spmv_tune_kind kind = u->c[leader].row.kind;
    if (spmv_variant_parse(&base, layout.format, u->c[u->c[leader].base].row.variant, &u->t->hooks) != SPMV_OK) return;
    for (i = 0; i < n && i < 32; i++) {
        v = base;
        v.set |= (uint64_t)1 << k;
        v.value[k] = value[i];
        spmv_variant_print(&v, name, sizeof name);
        if (strlen(name) >= SPMV_TUNE_VARIANT) continue;
        at = candidate_add(u, u->type, kind, &layout, name);
        if (at < u->count) u->c[at].wanted = 1;
    }
}

/* The mean logarithm to base 2 of b's rate over a's, where both were measured; -1 if there is no such size. */
static double gain(const tuner *u, const candidate *a, const candidate *b)
{
    double sum = 0;
    int p, n = 0;
    for (p = 0; p < u->head.rows * u->head.per_row; p++)
        if (a->row.rate[p] > 0 && b->row.rate[p] > 0) {
            sum += library_log2((double)b->row.rate[p] / (double)a->row.rate[p]);
            n++;
        }
    return n ? sum / n : -1;
}

/* Makes the leader's best variant its base, if it is at least 1% faster than the one before. */
static void move_base(tuner *u, size_t leader)
{
    size_t k;
    for (k = 0; k < u->count; k++) {
        const candidate *c = &u->c[k];
        if (c->state != LIVE || !c->own || !candidate_same_layout(c, &u->c[leader])) continue;
        if (gain(u, &u->c[u->c[leader].base], c) > 0.0144) u->c[leader].base = k;
    }
}

/* Drops the leader's variants, except its base, that are nowhere the best of their format or within 3% of the best of all, and those that
 * resolve to other variants everywhere. */
static void drop_variants(tuner *u, size_t leader)
{
    size_t i;
    for (i = 0; i < u->count; i++) {
        candidate *c = &u->c[i];
        if (c->state != LIVE || !*c->row.variant || i == u->c[leader].base || !candidate_same_layout(c, &u->c[leader])) continue;
        if (!c->own || !phase_has_hope(u, c, 1.03f)) c->state = DROPPED;
    }
}

/* Stores the leader's matrix in its layout at three of the probes, one in each slot. */
static void leader_open(tuner *u, size_t leader)
{
    static const int probes[TUNE_SLOTS] = {0, 1, 3};
    int i;
    for (i = 0; i < TUNE_SLOTS; i++) {
        slot *s = u->at = &u->slots[i];
        tune_shape of;
        tune_probe(u, probes[i], &s->row, &s->per);
        if (!candidate_fits(u, &u->c[leader], s->row, s->per)) continue;
        of = candidate_shape(u, &u->c[leader], s->row, s->per);
        if (workload_make(&s->w, &of, u->type, &u->t->hooks) != SPMV_OK) continue;
        s->stored = slot_store(u, &u->c[leader].row.layout);
        if (s->stored) slot_recall(u, &u->c[leader], s->row, s->per);
    }
}

static void leader_close(tuner *u)
{
    int i;
    for (i = 0; i < TUNE_SLOTS; i++) slot_empty(&u->slots[i]);
    u->at = u->slots;
}

/* Measures all wanted candidates of the leader's layout. One that is far behind in one slot is not tried in the next. */
static void leader_measure(tuner *u, size_t leader, double part)
{
    int i;
    size_t k;
    for (i = 0; i < TUNE_SLOTS; i++) {
        slot *s = u->at = &u->slots[i];
        if (!s->stored) continue;
        slot_begin(u);
        for (k = 0; k < u->count && !sample_out_of_time(u); k++) {
            candidate *c = &u->c[k];
            if (!candidate_same_layout(c, &u->c[leader]) || !sample_is_wanted(u, c, s->row, s->per)) continue;
            sample_progress(u, c, s->row, s->per, part);
            sample_candidate(u, c, s->row, s->per);
            if (*candidate_rate(u, c, s->row, s->per) < 0.75f * *candidate_rate(u, &u->c[u->c[leader].base], s->row, s->per)) c->wanted = 0;
        }
        slot_end(u);
    }
    move_base(u, leader);
    drop_variants(u, leader);
}

/* Adds the leader's variants that did well for another type, which are tried first. */
static void add_seeds(tuner *u, size_t leader)
{
    size_t i, n = u->count, at;
    for (i = 0; i < n; i++) {
        candidate c = u->c[i];
        c.row.type = u->type;
        if (u->c[i].row.type == u->type || c.state != LIVE || !*c.row.variant || !candidate_same_layout(&c, &u->c[leader])) continue;
        at = candidate_add(u, u->type, c.row.kind, &c.row.layout, c.row.variant);
        if (at < u->count) u->c[at].wanted = 1;
    }
}

/* Tunes the leader's knobs of a round, one after another, each from the best variant so far. */
static void turn_knobs(tuner *u, size_t leader, int round, double part)
{
    int k = round ? TUNE_ROUND : 0, end = round ? SPMV_KNOB_COUNT : TUNE_ROUND;
    phase_want_all(u, 0);
    leader_open(u, leader);
    if (!round) {
        add_seeds(u, leader);
        leader_measure(u, leader, part);
    }
    for (; k < end && knob_after(k) != SPMV_KNOB_COUNT && !sample_out_of_time(u); k++) {
        phase_want_all(u, 0);
        add_values(u, leader, knob_after(k));
        leader_measure(u, leader, part);
    }
    leader_close(u);
}

/* Adds the variants of layouts with blocks, which were tuned on banded matrices, for scattered ones. */
static void copy_block_knobs(tuner *u)
{
    size_t i, n = u->count;
    for (i = 0; i < n; i++) {
        candidate c = u->c[i];
        if (c.row.type != u->type || !table_row_has_blocks(&c.row) || c.state != LIVE || !*c.row.variant) continue;
        candidate_add(u, u->type, SPMV_TUNE_SCATTERED, &c.row.layout, c.row.variant);
    }
}

void knob_variants(tuner *u)
{
    size_t i, leaders = 0, done = 0, n = u->count;
    int round, turn, kind;
    choose_leaders(u);
    for (i = 0; i < n; i++) leaders += u->c[i].leads != 0;
    for (round = 0; round < 2; round++)
        for (turn = 0; turn < 2 * SPMV_TUNE_KIND_COUNT; turn++)
            for (kind = turn % SPMV_TUNE_KIND_COUNT, i = 0; i < n; i++) {
                if (!u->c[i].leads || u->c[i].row.kind != (spmv_tune_kind)kind) continue;
                if (table_row_has_blocks(&u->c[i].row) != (turn >= SPMV_TUNE_KIND_COUNT)) continue;
                if (sample_out_of_time(u)) u->complete = 0;
                else turn_knobs(u, i, round, (double)done++ / (double)(2 * leaders));
            }
    copy_block_knobs(u);
}
#else
void knob_variants(tuner *u)
{
    (void)u;
}
#endif
