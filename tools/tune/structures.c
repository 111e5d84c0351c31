/* SPDX-License-Identifier: MIT */
#include "structures.h"

#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/memory.h"
#include "../cli/output.h"
#include "../library.h"
#include "../matrices/generate.h"
#include "sample.h"
#include "table.h"
#include "spmv_io.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
};

/* Small ones of each sort, with which the latency of memory decides. They take a GPU less than the host takes to launch a kernel. */
static const char *const small_structures[] = {
    "near_3000_3_12_15", "blocks_1000_3_12_80", "lengths_10000_4_3_3", "mesh3d_10_3", "arrow_1500", "band_5000_8_60", "bibd_13_6",
    "mycielskian9", "near_12000_8_16_10", "lengths_600_20_15_3", "permutation_10000", "poisson3d_16", "lengths_25000_5_4_20",
    "tridiag_3000", "blocks_4000_2_8_60", "lengths_300_4_4_6",
};

enum {
    STRUCTURES = sizeof structures / sizeof *structures,
    SMALL      = sizeof small_structures / sizeof *small_structures
};

/* How many structures are measured: the small ones, which come last, show nothing where the host launches each product. */
static int structures_shown(const tuner *u) { return (int)STRUCTURES + (u->device && !u->t->graph ? 0 : (int)SMALL); }

static const char *structure_at(int i) { return i < (int)STRUCTURES ? structures[i] : small_structures[i - (int)STRUCTURES]; }

/* ---- files of samples ----------------------------------------------------------------------------------------------- */

enum { SAMPLES_BYTES = 1 << 24 }; /* the most bytes of a file of samples */

/* The first line of a file of samples, of those that were timed by calls and of those in CUDA graphs. */
static const char *const samples_head[] = {"spmv tuning samples 1", "spmv tuning samples 1 graph"};

void samples_free(sample_list *l)
{
    free(l->at);
    memset(l, 0, sizeof *l);
}

static int samples_add(sample_list *l, const sample *s)
{
    if (l->count == l->room) {
        void *at = l->at;
        size_t room = l->room ? 2 * l->room : 1024;
        if (!memory_resize(&at, room, sizeof *s)) return 0;
        l->at = (sample *)at;
        l->room = room;
    }
    l->at[l->count++] = *s;
    return 1;
}

/* Copies the text up to the next blank or the end of the line into out and goes past it. 1, or 0 if there is none or it is too long. */
static int next_word(char **p, char *out, size_t size)
{
    size_t n = strcspn(*p, " \n");
    if (!n || n >= size) return 0;
    memcpy(out, *p, n);
    out[n] = 0;
    *p += n + (p[0][n] == ' ');
    return 1;
}

/* Reads a line of a file of samples. 1, or 0 if it is none. */
static int sample_parse(tool *t, char *line, sample *s)
{
    char word[300], *slash;
    spmv_plan *one = (spmv_plan *)malloc(sizeof *one);
    double v;
    int fine;
    memset(s, 0, sizeof *s);
    fine = one && next_word(&line, word, sizeof word);
    if (fine) s->type = spmv_type_from(word);
    fine = fine && s->type < SPMV_TYPE_COUNT && next_word(&line, s->structure, sizeof s->structure) && next_word(&line, word, sizeof word);
    slash = fine ? strchr(word, '/') : NULL;
    if (slash) *slash = 0;
    fine = slash && strlen(slash + 1) < sizeof s->variant && spmv_plan_parse(one, word, NULL, &t->hooks) == SPMV_OK && one->count == 1;
    if (fine) {
        memcpy(s->variant, slash + 1, strlen(slash + 1) + 1);
        s->layout = one->part[0];
    }
    fine = fine && next_word(&line, word, sizeof word) && *line == '\n' && spmv_number_from(word, &v) && v > 0 && v < 1e12;
    s->seconds = fine ? v * 1e-6 : 0;
    free(one);
    return fine;
}

const char *samples_timed(int by_graph) { return by_graph ? "in CUDA graphs" : "by calls"; }

/* Copies a line without its end. Returns the next line, or NULL if there is none. */
static char *head_line(char *p, char *out, size_t size)
{
    size_t n = p ? strcspn(p, "\n") : 0;
    if (!p || !p[n] || n >= size) return NULL;
    memcpy(out, p, n);
    out[n] = 0;
    return p + n + 1;
}

/* Reads a file of samples, each of its lines as one. DONE, or FAILED after a message; free *out in either case. */
static int samples_load(tool *t, const char *path, sample_list *out)
{
    char *text, *p, first[64], *end;
    size_t used;
    unsigned line = 4;
    int result = DONE;
    void *at;
    memset(out, 0, sizeof *out);
    if (file_load_text(t, path, SAMPLES_BYTES, &text, &used) != DONE) return FAILED;
    at = text;
    if (!memory_resize(&at, used + 1, 1)) result = cli_no_memory(t);
    text = (char *)at;
    if (result == DONE) text[used] = 0;
    p = result == DONE ? head_line(text, first, sizeof first) : NULL;
    out->graph = p && !strcmp(first, samples_head[1]);
    if (p && !out->graph && strcmp(first, samples_head[0]) != 0) p = NULL;
    p = head_line(head_line(p, out->device, sizeof out->device), out->driver, sizeof out->driver);
    if (result == DONE && !p) result = cli_complain(t, "%s: not a file of samples", path);
    for (; result == DONE && (end = strchr(p, '\n')) != NULL; p = end + 1, line++) {
        sample s;
        if (!sample_parse(t, p, &s)) result = cli_complain(t, "%s, line %u: not a sample", path, line);
        else if (!samples_add(out, &s)) result = cli_no_memory(t);
    }
    free(text);
    return result;
}

/* ---- repeated samples ------------------------------------------------------------------------------------------------ */

/* 1: both are of one candidate on one structure. */
static int is_repeated(const sample *a, const sample *b)
{
    return a->type == b->type && !strcmp(a->structure, b->structure) && !strcmp(a->variant, b->variant) &&
           table_same_layout(&a->layout, &b->layout);
}

/* Orders samples by the first that they repeat, and then by their times. */
static int compare_repeated(const void *a, const void *b)
{
    const sample *x = (const sample *)a, *y = (const sample *)b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return timing_compare(&x->seconds, &y->seconds);
}

/* Finds for each sample the first that it repeats. Returns how many repeat none. */
static size_t samples_number(sample_list *l)
{
    size_t i, k, products = 0;
    for (i = 0; i < l->count; i++) {
        for (k = 0; k < i && !(l->at[k].first == k && is_repeated(&l->at[k], &l->at[i]));) k++;
        l->at[i].first = k;
        products += k == i;
    }
    return products;
}

/* Replaces the samples of the same product by their median, of an even number the faster one of the two in the middle, and finds the
 * noise. */
static void samples_join(sample_list *l)
{
    double squares = 0, others = 0;
    size_t i, k, n, kept = 0;
    samples_number(l);
    if (l->count) qsort(l->at, l->count, sizeof *l->at, compare_repeated);
    for (i = 0; i < l->count; i += n) {
        const sample *s = &l->at[i], *median;
        for (n = 1; i + n < l->count && s[n].first == s->first;) n++;
        median = &s[(n - 1) / 2];
        for (k = 0; k < n; k++) {
            const double d = library_log2(s[k].seconds / median->seconds);
            squares += d * d;
        }
        others += (double)(n - 1);
        l->at[kept++] = *median;
    }
    l->count = kept;
    l->noise = others > 0 ? sqrt(squares / others) : 0;
}

int samples_read(tool *t, const char *path, sample_list *out)
{
    int result = samples_load(t, path, out);
    if (result == DONE) samples_join(out);
    return result;
}

/* ---- measuring ------------------------------------------------------------------------------------------------------- */

/* A layout whose knobs were left alone takes so many times as long as the best: then its other knobs are not tried. */
#define HOPELESS 3.0

/* Where only what is likely is measured: a candidate that is expected to take more than so many times as long as the best of all is
 * left out, and variants of a layout that are expected to take so many times as long as the best of them. The first of a format may be
 * HOPELESS times as slow as the best, because a device may suit a format more than the table knows. */
#define LIKELY         2.0
#define LIKELY_VARIANT 1.15

/* A row of the table, and what it is expected to take on the structure. */
typedef struct expected {
    size_t row;
    double seconds, layout; /* its own; the least of its layout */
} expected;

/* Passes over all structures. With less time than they need, as many as it allows. */
enum { PASSES = 5 };

typedef struct measuring {
    tuner             *u;
    const structures_wish *wish;
    spmv_tuning        table;       /* the wish's, whose rates it borrows; its further rows have layouts that are estimated without rows */
    FILE              *file;        /* NULL: none */
    sample_list        past;
    const char        *structure;
    int                pass; /* samples that the file has more often than this are not taken again */
    int                full; /* 1: memory for samples ran out */
    double             best; /* GFLOP/s of the best candidate on the structure */
    size_t             products; /* samples that repeat no other */
    int                structures, made; /* of which there are samples; that were generated in the first pass, and how long that took */
    double             making;
} measuring;

/* Fits to samples of 22 and of 47 structures took so many seconds for each sample and structure: each structure is left out in turn. */
#define FIT_SECONDS 1.3e-4

/* Has the samples end early enough for the fit to them. It also generates each structure again, and estimating its samples takes about as
 * long as that. */
static void leave_time(measuring *m)
{
    const double structure = m->made ? 2 * m->making / m->made : 0;
    m->u->until = m->u->end - m->structures * (structure + FIT_SECONDS * (double)m->products);
}

/* Marks the table's rows of a candidate whose product failed or is wrong. */
static void strike(const measuring *m, const candidate *c)
{
    size_t i;
    for (i = 0; m->wish->struck && i < m->wish->table->count; i++) {
        const spmv_tune_row *r = &m->table.row[i];
        if (r->type == c->row.type && table_same_layout(&r->layout, &c->row.layout) && !strcmp(r->variant, c->row.variant))
            m->wish->struck[i] = 1;
    }
}

/* Seconds of the last sample of the candidate on the current structure; 0: none. *times becomes how many there are. */
static double past_seconds(const measuring *m, const candidate *c, int *times)
{
    sample like;
    double seconds = 0;
    size_t i;
    memset(&like, 0, sizeof like);
    like.type = c->row.type;
    like.layout = c->row.layout;
    snprintf(like.structure, sizeof like.structure, "%s", m->structure);
    memcpy(like.variant, c->row.variant, sizeof like.variant);
    *times = 0;
    for (i = 0; i < m->past.count; i++) {
        if (!is_repeated(&m->past.at[i], &like)) continue;
        seconds = m->past.at[i].seconds;
        ++*times;
    }
    return seconds;
}

/* Keeps a sample, in memory and in the file. */
static void keep(measuring *m, const candidate *c, const char *name, double seconds)
{
    sample s;
    int times;
    past_seconds(m, c, &times);
    m->products += !times;
    leave_time(m);
    memset(&s, 0, sizeof s);
    s.type = c->row.type;
    snprintf(s.structure, sizeof s.structure, "%s", m->structure);
    s.layout = c->row.layout;
    memcpy(s.variant, c->row.variant, sizeof s.variant);
    s.seconds = seconds;
    if (!samples_add(&m->past, &s)) m->full = 1;
    if (!m->file) return;
    fprintf(m->file, "%s %s %s %.6g\n", spmv_type_name(s.type), m->structure, name, 1e6 * seconds);
    fflush(m->file);
}

/* 1: the file had the sample that this pass would take, which then shows how fast the candidate is. */
static int is_known(measuring *m, const candidate *c)
{
    int times;
    const double seconds = past_seconds(m, c, &times), rate = seconds > 0 ? 2e-9 * (double)m->u->at->w.a.nnz / seconds : 0;
    if (times <= m->pass) return 0;
    if (rate > m->best) m->best = rate;
    return 1;
}

/* Measures a candidate with the current store and keeps the sample. Returns its rate, 0 if there is none. */
static double measure_one(measuring *m, candidate *c)
{
    tuner *u = m->u;
    char name[300];
    float rate;
    int right;
    spmv_status s;
    if (is_known(m, c)) return 0;
    table_row_name(&c->row, name, sizeof name);
    s = sample_rate(u, c, &rate, &right);
    if (s == SPMV_OK && !right) cli_complain(u->t, "%s on %s: its product is wrong", name, m->structure);
    if (s == SPMV_ERR_BACKEND) u->failures++;
    if ((s == SPMV_OK && !right) || s == SPMV_ERR_BACKEND) strike(m, c);
    if (s != SPMV_OK || !right || !(rate > 0)) return 0;
    u->failures = 0;
    u->samples++;
    keep(m, c, name, 2e-9 * (double)u->at->w.a.nnz / (double)rate);
    if ((double)rate > m->best) m->best = (double)rate;
    return (double)rate;
}

/* 1: some row before row i has the same type, layout and variant, for another kind of matrix. */
static int row_is_repeated(const spmv_tuning *t, size_t i)
{
    size_t k;
    for (k = 0; k < i; k++)
        if (t->row[k].type == t->row[i].type && table_same_layout(&t->row[k].layout, &t->row[i].layout) &&
            !strcmp(t->row[k].variant, t->row[i].variant)) return 1;
    return 0;
}

/* Measures the layout of row i, first with default knobs and then with those of the table's rows. */
static void measure_rows(measuring *m, size_t i)
{
    tuner *u = m->u;
    const spmv_tuning *t = &m->table;
    candidate c;
    double plain;
    size_t k;
    memset(&c, 0, sizeof c);
    c.row = t->row[i];
    c.row.variant[0] = 0;
    if (is_known(m, &c)) return;
    u->at->stored = slot_store(u, &t->row[i].layout);
    if (!u->at->stored) return;
    slot_begin(u);
    plain = measure_one(m, &c);
    for (k = i; k < t->count && plain * HOPELESS >= m->best; k++) {
        if (t->row[k].type != u->type || !*t->row[k].variant || !table_same_layout(&t->row[k].layout, &t->row[i].layout)) continue;
        if (row_is_repeated(t, k)) continue;
        c.row = t->row[k];
        measure_one(m, &c);
    }
    slot_end(u);
    slot_empty(u->at);
}

/* Orders what is expected by the best of each layout, with the variants of a layout side by side, the fastest first. */
static int compare_expected(const void *a, const void *b)
{
    const expected *x = (const expected *)a, *y = (const expected *)b;
    if (x->layout < y->layout || x->layout > y->layout) return x->layout < y->layout ? -1 : 1;
    return x->seconds < y->seconds ? -1 : x->seconds > y->seconds;
}

/* Finds what each candidate of the current type is expected to take, in the order in which they should be measured. Returns how many there
 * are; *out: the caller frees it. */
static size_t expect(const measuring *m, const spmv_csr *pattern, expected **out)
{
    const spmv_tuning *t = &m->table;
    spmv_spec *layout = (spmv_spec *)calloc(t->count + 1, sizeof *layout);
    const char **variant = (const char **)calloc(t->count + 1, sizeof *variant);
    spmv_estimate *by = (spmv_estimate *)calloc(t->count + 1, sizeof *by);
    expected *e = *out = (expected *)calloc(t->count + 1, sizeof *e);
    size_t n = 0, used = 0, i, k;
    for (i = 0; layout && variant && by && e && i < t->count; i++) {
        if (t->row[i].type != m->u->type || row_is_repeated(t, i)) continue;
        layout[n] = t->row[i].layout;
        variant[n] = t->row[i].variant;
        e[n++].row = i;
    }
    if (n && library_estimates(pattern, m->u->type, t, n, layout, variant, by, &m->u->t->hooks) != SPMV_OK) n = 0;
    for (i = 0; i < n; i++) {
        if (!(by[i].seconds > 0)) continue;
        e[used].row = e[i].row;
        e[used++].seconds = by[i].seconds;
    }
    for (i = 0; i < used; i++)
        for (k = 0, e[i].layout = e[i].seconds; k < used; k++)
            if (table_same_layout(&t->row[e[k].row].layout, &t->row[e[i].row].layout) && e[k].seconds < e[i].layout)
                e[i].layout = e[k].seconds;
    qsort(e, used, sizeof *e, compare_expected);
    free(layout);
    free(variant);
    free(by);
    return used;
}

/* 1: candidate i of those expected is worth a sample. */
static int is_likely(const spmv_tuning *t, const expected *e, size_t i)
{
    size_t k;
    if (e[i].seconds > LIKELY_VARIANT * e[i].layout) return 0;
    if (e[i].layout <= LIKELY * e[0].layout) return 1;
    for (k = 0; k < i && t->row[e[k].row].layout.format != t->row[e[i].row].layout.format;) k++;
    return k == i && e[i].seconds <= HOPELESS * e[0].layout;
}

/* Measures the likely candidates of the current type on the pattern, the fastest layouts first. */
static void measure_likely(measuring *m, const spmv_csr *pattern)
{
    tuner *u = m->u;
    const spmv_tuning *t = &m->table;
    expected *e;
    size_t n = expect(m, pattern, &e), i, k;
    candidate c;
    if (n && workload_take(&u->at->w, pattern, u->type, &u->t->hooks) != SPMV_OK) n = 0;
    for (i = 0; i < n && !sample_out_of_time(u); i = k) {
        int stored = 0;
        for (k = i; k < n && table_same_layout(&t->row[e[k].row].layout, &t->row[e[i].row].layout); k++) {
            if (!is_likely(t, e, k) || (!stored && !slot_store(u, &t->row[e[i].row].layout))) continue;
            if (!stored) {
                u->at->stored = stored = 1;
                slot_begin(u);
            }
            memset(&c, 0, sizeof c);
            c.row = t->row[e[k].row];
            measure_one(m, &c);
        }
        if (!stored) continue;
        slot_end(u);
        slot_empty(u->at);
    }
    free(e);
}

/* Measures all layouts of the current type on the pattern. */
static void measure_structure(measuring *m, const spmv_csr *pattern)
{
    tuner *u = m->u;
    size_t i, k;
    m->best = 0;
    if (m->wish->likely) {
        measure_likely(m, pattern);
        return;
    }
    if (workload_take(&u->at->w, pattern, u->type, &u->t->hooks) != SPMV_OK) return;
    for (i = 0; i < m->table.count && !sample_out_of_time(u); i++) {
        if (m->table.row[i].type != u->type) continue;
        for (k = 0; k < i; k++)
            if (m->table.row[k].type == u->type && table_same_layout(&m->table.row[k].layout, &m->table.row[i].layout)) break;
        if (k == i) measure_rows(m, i);
    }
}

/* Opens the file for appending, if there is to be one, and writes its head if it is new. */
static int structures_open(measuring *m, const char *path)
{
    tuner *u = m->u;
    int fresh = path && access(path, F_OK) != 0;
    m->past.graph = u->t->graph;
    if (!path) return DONE;
    if (!fresh && samples_load(u->t, path, &m->past) != DONE) return FAILED;
    m->products = samples_number(&m->past);
    m->structures = m->past.count ? structures_shown(u) : 0; /* or less, which matters little */
    if (!fresh && strcmp(m->past.device, u->head.device) != 0)
        return cli_complain(u->t, "%s has samples of another device: %s", path, m->past.device);
    if (!fresh && m->past.graph != u->t->graph)
        return cli_complain(u->t, "%s has samples that were timed %s, and now they are timed %s", path, samples_timed(m->past.graph),
                            samples_timed(u->t->graph));
    m->file = fopen(path, "ab");
    if (!m->file) return cli_complain(u->t, "%s: %s", path, strerror(errno));
    if (fresh) fprintf(m->file, "%s\n%s\n%s\n", samples_head[u->t->graph], u->head.device, u->head.driver);
    return DONE;
}

/* Sets the rows that are measured: those of the table and, without rates, one for each layout that estimates know besides. */
static int rows_set(measuring *m)
{
    const spmv_tuning *t = m->wish->table;
    const size_t most = 3 * t->count + 1; /* at most two further block formats for each row */
    spmv_spec *extra = (spmv_spec *)calloc(most, sizeof *extra);
    spmv_tune_row *row = (spmv_tune_row *)calloc(most, sizeof *row);
    size_t i, n;
    int type, result = extra && row ? DONE : cli_no_memory(m->u->t);
    m->table = *t;
    m->table.row = row;
    if (result == DONE && t->count) memcpy(row, t->row, t->count * sizeof *row);
    for (type = SPMV_F64; type < SPMV_TYPE_COUNT && result == DONE; type++) {
        if (library_unmeasured(t, (spmv_type)type, extra, most - m->table.count, &n, &m->u->t->hooks) != SPMV_OK) result = FAILED;
        for (i = 0; i < n && result == DONE; i++) {
            row[m->table.count].type = (spmv_type)type;
            row[m->table.count++].layout = extra[i];
        }
    }
    free(extra);
    return result;
}

/* Measures all layouts on a structure, in all types that are wanted. */
static int measure_types(measuring *m)
{
    tuner *u = m->u;
    const uint64_t longest = u->head.rows_at[u->head.rows - 1]; /* elements of the vectors on the device */
    const double from = cli_seconds();
    spmv_csr pattern;
    int type, result;
    memset(&pattern, 0, sizeof pattern);
    result = generate_matrix(u->t, m->structure, &pattern);
    if (!m->pass) {
        m->making += cli_seconds() - from;
        if (++m->made > m->structures) m->structures = m->made;
    }
    leave_time(m);
    for (type = SPMV_F64; type < SPMV_TYPE_COUNT && result == DONE && pattern.rows <= longest && pattern.cols <= longest; type++) {
        if (!(m->wish->types >> type & 1u) || sample_out_of_time(u)) continue;
        u->type = (spmv_type)type;
        result = sample_inputs(u);
        if (result == DONE) measure_structure(m, &pattern);
    }
    spmv_csr_free(&u->at->w.a);
    spmv_csr_free(&pattern);
    return result;
}

int structures_measure(tuner *u, const structures_wish *wish)
{
    const char *path = wish->path;
    measuring m;
    const int shown = structures_shown(u);
    int i, result;
    memset(&m, 0, sizeof m);
    m.u = u;
    m.wish = wish;
    u->patience /= PASSES;
    result = rows_set(&m);
    if (result == DONE) result = structures_open(&m, path);
    for (i = 0; i < PASSES * shown && result == DONE && !sample_out_of_time(u); i++) {
        m.pass = i / shown;
        m.structure = structure_at(i % shown);
        result = measure_types(&m);
        cli_progress_name(u->t, "samples", m.structure);
        cli_progress(u->t, "samples", (double)(i + 1) / (PASSES * shown));
    }
    if (i < PASSES * shown) u->complete = 0;
    if (m.file && (ferror(m.file) | fclose(m.file))) result = cli_complain(u->t, "%s: cannot be written", path);
    if (m.full) result = cli_no_memory(u->t);
    free(m.table.row);
    samples_join(&m.past);
    if (wish->taken) *wish->taken = m.past;
    else samples_free(&m.past);
    return result;
}
