/* SPDX-License-Identifier: MIT */
#include "candidates.h"

#include "../cli/memory.h"
#include "journal.h"
#include "table.h"
#include "workload.h"
#include "../library.h"
#include "spmv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const uint64_t tune_rows[TUNE_ROWS] = {1u << 10, 1u << 13, 1u << 15, 1u << 17, 1u << 19, 1u << 21};

const uint64_t tune_per[TUNE_PER] = {1, 4, 16, 64, 256, 1024};

const int tune_probes[TUNE_PROBES][2] = {{3, 2}, {1, 1}, {4, 1}, {2, 3}};

/* X(layout, kinds): B banded, S scattered, U uneven. Columns of 16 bits cannot hold those of large scattered matrices; where they
 * do they are measured. Block formats are added for every size. */
#define TUNE_LAYOUTS(X)                                                                                              \
    X("csr", "BSU") X("csr:run=1024", "BSU") X("ell", "BSU") X("sell", "BSU") X("coo", "BSU") X("cmrs", "BSU")       \
    X("dia", "B") X("bdia", "B") X("dense", "B") X("sell:h=8", "BSU") X("sell:h=64", "BSU") X("sell:h=256", "BSU")   \
    X("sell:h=32,rows=sorted,sigma=1024", "U") X("csr:run=256", "BSU") X("csr:run=4096", "BSU")                      \
    X("cmrs:h=2", "BSU") X("cmrs:h=8", "BSU") X("cmrs:h=16", "BSU")                                                  \
    X("csr:run=2048", "BSU") X("csr:run=1024,idx=16", "BSU") X("csr:run=256,idx=16", "BSU")                           \
    X("csr:run=2048,idx=16", "BSU") X("ell:idx=16", "BSU") X("sell:idx=16", "BSU") X("sell:h=64,idx=16", "BSU")      \
    X("sell:h=256,idx=16", "BSU") X("sell:h=32,rows=sorted,sigma=1024,idx=16", "U")

tune_shape candidate_shape(const tuner *u, const candidate *c, int row, int per)
{
    int64_t b = c->row.layout.key[SPMV_KEY_B] ? c->row.layout.key[SPMV_KEY_B] : (4 << 8 | 4);
    tune_shape s;
    memset(&s, 0, sizeof s);
    s.kind = c->row.kind;
    s.full = c->row.layout.format == SPMV_DENSE;
    s.rows = u->head.rows_at[row];
    s.per_row = u->head.per_row_at[per];
    if (table_row_class(&c->row) < 2) return s;
    s.bh = (unsigned)(b >> 8);
    s.bw = (unsigned)(b & 255);
    return s;
}

/* Formats where many work-items can take a row gain up to thousands of nonzeros (clSpMV 3.2); 64 are enough for the others. */
static int takes_long_rows(spmv_format f)
{
    return f == SPMV_CSR || f == SPMV_COO || f == SPMV_CMRS || f == SPMV_BCSR || f == SPMV_DENSE || f == SPMV_BDIA;
}

int candidate_fits(const tuner *u, const candidate *c, int row, int per)
{
    tune_shape s = candidate_shape(u, c, row, per);
    if (s.per_row > 64 && !takes_long_rows(c->row.layout.format)) return 0;
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
    c->row.rate = (float *)calloc(TUNE_POINTS, sizeof *c->row.rate);
    if (!c->row.rate) return u->count;
    c->base = u->count;
    journal_recall_candidate(u, c);
    return u->count++;
}

/* The host multiplies csr in runs with wide columns as it does csr: only noise would tell them apart. */
static int is_csr_again(const tuner *u, const spmv_spec *s)
{
    return !u->device && s->format == SPMV_CSR && s->key[SPMV_KEY_RUN] && !s->key[SPMV_KEY_IDX];
}

static void layout_add(tuner *u, const char *plan, const char *kinds)
{
    spmv_plan *one = (spmv_plan *)malloc(sizeof *one);
    if (one && spmv_plan_parse(one, plan, NULL, &u->t->hooks) == SPMV_OK && !is_csr_again(u, &one->part[0]))
        for (; *kinds; kinds++)
            candidate_add(u, u->type, *kinds == 'B' ? SPMV_TUNE_BANDED : *kinds == 'S' ? SPMV_TUNE_SCATTERED : SPMV_TUNE_UNEVEN,
                          &one->part[0], "");
    free(one);
}

void candidate_add_layouts(tuner *u)
{
    static const char *const names[] = {"sbell", "bcsr", "bell"}, *const ends[] = {"", ",idx=16"};
    char plan[64];
    size_t e, i, f, sizes;
    const library_block *size = library_blocks(&sizes);
    u->t->keep = 1;
#define X(plan, kinds) layout_add(u, plan, kinds);
    TUNE_LAYOUTS(X)
#undef X
    for (e = 0; e < 2; e++)
        for (i = 0; i < sizes; i++)
            for (f = 0; f < 3; f++) {
                snprintf(plan, sizeof plan, "%s:b=%dx%d%s", names[f], size[i].height, size[i].width, ends[e]);
                layout_add(u, plan, "BS");
            }
    u->t->keep = 0;
    u->t->text[0] = 0;
}
