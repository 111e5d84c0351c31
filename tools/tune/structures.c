/* SPDX-License-Identifier: MIT */
#include "tune.h"

#include "../matrices/generate.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__GLIBC__)
#  include <malloc.h>
#endif

/* The matrices, as "spmv gen" names them. A budget that ends early still sees something of everything: the list goes through all sorts of
 * structure several times, and begins with those on which choices differ most and which take little time. None of them is among the
 * matrices of clSpMV, which the choice is judged by (bench/regret.sh). */
static const char *const structures[] = {
    /* a small grid, a few huge rows, a power law, blocks with fill, web-like rows, a mesh of three unknowns, uneven, diagonals with gaps */
    "poisson2d_100", "arrow_46500", "lengths_50000_40_80_8", "blocks_60000_4_8_50", "near_20000_10_30_12", "mesh3d_22_3",
    "kuresson_maragal_2", "Trefethen_20000",
    /* a grid, wide, dense, small and uneven, a band with gaps, large blocks, web-like rows beyond a cache */
    "poisson2d_700", "bibd_18_9", "dense_300_300", "lengths_4000_20_6_2", "band_100000_20_50", "kuresson_psmigr_1", "blocks_60000_3_10_100",
    "near_300000_20_60_10", "lengths_200000_8_12_6", "koza_lp1", "kuresson_tsopf_rs_b162_c3", "mycielskian12", "poisson3d_80",
    /* others of each sort, smaller or larger */
    "near_1000000_3_8_20", "koza_chebyshev4", "lengths_1000000_3_2_1", "kuresson_heart1", "koza_raefsky3", "near_60000_60_150_20",
    "band_200000_4_60", "blocks_100000_2_6_80", "dense_64_50000", "permutation_500000", "kuresson_fp", "kuresson_deter4",
    "mesh3d_60_1", "blocks_48000_6_5_70", "arrow_400000", "bibd_22_8", "lengths_30000_100_40_2", "kuresson_viscoplastic1",
    "tridiag_1000000", "blocks_30000_8_4_40", "dense_50000_30", "gr_60_60", "band_30000_40_100", "mk11-b3", "poisson2d_1300",
    "dense_1500_1500",
    /* beyond a GPU's cache, with columns that are scattered near the diagonal or everywhere */
    "near_800000_15_3_0", "near_3000000_3_1_0", "lengths_1000000_12_4_1", "near_2000000_4_9_15", "permutation_5000000",
    /* small ones of each sort, with which the latency of memory decides: they take a GPU less than the host takes to launch a kernel */
    "near_3000_3_12_15", "blocks_1000_3_12_80", "lengths_10000_4_3_3", "mesh3d_10_3", "arrow_1500", "band_5000_8_60", "bibd_13_6",
    "mycielskian9", "near_12000_8_16_10", "lengths_600_20_15_3", "permutation_10000", "poisson3d_16", "lengths_25000_5_4_20",
    "tridiag_3000", "blocks_4000_2_8_60", "lengths_300_4_4_6",
};

enum { LARGE = 52 /* those before the small ones */ };

/* How many structures are measured: the small ones show nothing where the host launches each product. */
static size_t structures_shown(const spmv_device *device, int graphs)
{
    return device && !graphs ? (size_t)LARGE : sizeof structures / sizeof *structures;
}

int structures_add(sample_list *l, const spmv_device *device, int graphs)
{
    size_t i;
    for (i = 0; i < structures_shown(device, graphs); i++)
        if (samples_name(l, structures[i]) == SAMPLES_NONE) return 0;
    return 1;
}

/* ---- measuring ------------------------------------------------------------------------------------------------------ */

/* Passes over all structures, as many as time allows; so many failures in a row end the run; so many samples are taken whatever the budget;
 * so many times of building are remembered. */
enum { PASSES = 5, FAILURES = 10, LEAST = 8, BUILDS = 256 };

/* In the first pass, a candidate is left out that is expected to take more than LIKELY times as long as the best of all, unless it is the
 * first of its format: that may be HOPELESS times as slow, because a device may suit a format more than is known. What took more than
 * HOPELESS times as long as the best until then is not measured again. */
#define LIKELY   2.0
#define HOPELESS 3.0

enum { HOPELESSLY = 255 /* many samples: there will be no more */ };

typedef struct measuring {
    product         *p;
    structures_wish *w;
    size_t           name, lines;
    unsigned char   *times; /* of each line on each structure: how many samples there are, or HOPELESSLY many */
    double          *best;  /* by structure and type */
    int              pass, failures, builds;
    double           build[BUILDS];
} measuring;

/* What a line's product is expected to take; timing_compare orders them. */
typedef struct expected {
    double seconds; /* the first member */
    size_t line;
} expected;

static int over(const measuring *m)
{
    return (cli_seconds() > m->w->until && m->w->samples->count >= LEAST) || m->failures >= FAILURES;
}

static size_t at_line(const measuring *m, size_t line) { return m->name * m->lines + line; }

static double *best_now(const measuring *m, spmv_type type) { return &m->best[m->name * SPMV_TYPE_COUNT + (size_t)type]; }

/* Counts a sample of the current structure. */
static void count(measuring *m, size_t line, double seconds)
{
    double *best = best_now(m, m->w->samples->line[line].type);
    unsigned char *times = &m->times[at_line(m, line)];
    if (!(*best > 0) || seconds < *best) *best = seconds;
    if (seconds > HOPELESS * *best) *times = HOPELESSLY;
    else if (*times < HOPELESSLY - 1) ++*times;
}

/* Strikes a candidate out, with a message. */
static void strike(measuring *m, size_t line, const char *plan, const char *why)
{
    const spmv_candidate *k = &m->w->samples->line[line];
    m->w->wanted[line] = 0;
    cli_complain(m->p->t, "struck out: %s %s/%s on %s: %s", spmv_type_name(k->type), plan, k->variant, m->w->samples->name[m->name], why);
}

/* Measures a line on the current structure and keeps the sample. DONE, or FAILED after a message. */
static int measure_line(measuring *m, size_t line)
{
    const spmv_candidate *k = &m->w->samples->line[line];
    product_times took;
    char plan[160];
    spmv_status status;
    samples_plan(k, plan, sizeof plan);
    status = product_measure(m->p, plan, k->variant, &took);
    if (status != SPMV_OK) {
        if (spmv_status_is_refusal(status) || status == SPMV_ERR_ARGUMENT) return DONE;
        strike(m, line, plan, *m->p->t->text ? m->p->t->text : spmv_status_text(status));
        if (status == SPMV_ERR_BACKEND && ++m->failures == FAILURES)
            cli_complain(m->p->t, "%d failures in a row: the device may be lost, and nothing more is measured", FAILURES);
        return DONE;
    }
    if (!(took.seconds > 0)) {
        strike(m, line, plan, "its product is wrong");
        return DONE;
    }
    m->failures = 0;
    if (took.build > 0 && m->builds < BUILDS) m->build[m->builds++] = took.build;
    count(m, line, took.seconds);
    if (!samples_add(m->w->samples, (sample){line, m->name, took.seconds, took.preparing})) return cli_no_memory(m->p->t);
    if (m->w->file) samples_write_last(m->w->file, m->w->samples);
    return DONE;
}

/* 1: line i of those expected, which are in order, is to be measured in this pass. */
static int is_due(const measuring *m, const expected *e, size_t i)
{
    const spmv_candidate *line = m->w->samples->line;
    size_t k;
    if (!m->w->wanted[e[i].line] || m->times[at_line(m, e[i].line)] > m->pass) return 0;
    if (m->pass || e[i].seconds <= LIKELY * e[0].seconds) return 1;
    for (k = 0; k < i && line[e[k].line].layout.format != line[e[i].line].layout.format;) k++;
    return k == i && e[i].seconds <= HOPELESS * e[0].seconds;
}

/* Measures what is due on the pattern of the current structure in a type. DONE, or FAILED after a message. */
static int measure_type(measuring *m, const spmv_csr *pattern, spmv_type type)
{
    structures_wish *w = m->w;
    const spmv_estimate *by = looks_at(m->p->t, w->seen, w->head, w->samples, m->name, type, pattern);
    expected *e = (expected *)calloc(m->lines + 1, sizeof *e);
    size_t n = 0, i;
    int taken = 0, result = e ? DONE : cli_no_memory(m->p->t);
    if (!by) result = FAILED;
    for (i = 0; i < m->lines && result == DONE; i++) {
        if (w->samples->line[i].type != type || !(by[i].seconds > 0)) continue;
        e[n].line = i;
        e[n++].seconds = by[i].seconds;
    }
    if (n) qsort(e, n, sizeof *e, timing_compare);
    for (i = 0; i < n && result == DONE && !over(m); i++) {
        if (!is_due(m, e, i)) continue;
        if (!taken) result = product_take(m->p, pattern, type);
        taken = 1;
        if (result == DONE) result = measure_line(m, e[i].line);
    }
    product_free(m->p);
    free(e);
    return result;
}

/* 1: every line that is wanted has a sample of this pass on the current structure, so that it need not be generated. */
static int is_known(const measuring *m)
{
    size_t i;
    for (i = 0; i < m->lines; i++)
        if (m->w->wanted[i] && m->times[at_line(m, i)] <= m->pass) return 0;
    return 1;
}

/* Measures the current structure in all types that are wanted. DONE, or FAILED after a message. */
static int measure_structure(measuring *m)
{
    spmv_csr pattern;
    int type, result;
    if (is_known(m)) return DONE;
    memset(&pattern, 0, sizeof pattern);
    result = generate_matrix(m->p->t, m->w->samples->name[m->name], &pattern);
    for (type = SPMV_F64; type < SPMV_TYPE_COUNT && result == DONE; type++)
        if (m->w->types >> type & 1u && !over(m)) result = measure_type(m, &pattern, (spmv_type)type);
    spmv_csr_destroy(&pattern);
    return result;
}

/* Makes what is known of the samples that the list has. 1, or 0 if memory ran out. */
static int measuring_make(measuring *m)
{
    const sample_list *l = m->w->samples;
    size_t i;
    m->lines = l->lines;
    m->times = (unsigned char *)calloc(l->names * l->lines + 1, 1);
    m->best = (double *)calloc(l->names * SPMV_TYPE_COUNT + 1, sizeof *m->best);
    if (!m->times || !m->best) return 0;
    for (i = 0; i < l->count; i++) {
        m->name = l->at[i].name;
        count(m, l->at[i].line, l->at[i].seconds);
    }
    return 1;
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

int structures_measure(product *p, structures_wish *w)
{
    const size_t shown = structures_shown(p->device, p->t->graph);
    measuring *m = (measuring *)calloc(1, sizeof *m);
    size_t i;
    int result = DONE;
    if (!m) return cli_no_memory(p->t);
    m->p = p;
    m->w = w;
    if (!measuring_make(m)) result = cli_no_memory(p->t);
    set_fresh_pages(1);
    for (i = 0; i < PASSES * shown && result == DONE && !over(m); i++) {
        m->pass = (int)(i / shown);
        m->name = samples_name(w->samples, structures[i % shown]); /* it is there */
        result = measure_structure(m);
        cli_progress(p->t, w->samples->name[m->name], (double)(i + 1) / (double)(PASSES * shown));
    }
    set_fresh_pages(0);
    if (m->builds) w->head->build = timing_median(m->build, m->builds);
    free(m->times);
    free(m->best);
    free(m);
    return result;
}
