/* SPDX-License-Identifier: MIT */
#include "structures.h"

#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/memory.h"
#include "../cli/output.h"
#include "../matrices/generate.h"
#include "sample.h"
#include "table.h"
#include "spmv_io.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The matrices, as "spmv gen" names them. A budget that ends early still sees something of everything: the list goes through all sorts of
 * structure several times. None of them is among the matrices of clSpMV, which the choice is judged by (bench/regret.sh). */
static const char *const structures[] = {
    /* a grid, web-like rows, blocks with fill, wide, dense */
    "poisson2d_700", "near_300000_20_60_10", "blocks_60000_4_8_50", "bibd_18_9", "dense_300_300", "lengths_200000_8_12_6",
    "mesh3d_22_3", "arrow_46500", "band_100000_20_50", "kuresson_psmigr_1",
    /* small ones, a few huge rows, power laws, diagonals with gaps */
    "poisson2d_100", "koza_lp1", "near_1000000_3_8_20", "Trefethen_20000", "kuresson_tsopf_rs_b162_c3", "blocks_60000_3_10_100",
    "koza_chebyshev4", "mycielskian12", "poisson3d_80", "lengths_1000000_3_2_1",
    /* others of each sort, smaller or larger */
    "kuresson_heart1", "koza_raefsky3", "near_60000_60_150_20", "lengths_50000_40_80_8", "band_200000_4_60", "blocks_100000_2_6_80",
    "dense_64_50000", "permutation_500000", "kuresson_fp", "kuresson_deter4",
    "mesh3d_60_1", "blocks_48000_6_5_70", "arrow_400000", "bibd_22_8", "lengths_30000_100_40_2", "kuresson_viscoplastic1",
    "tridiag_1000000", "near_20000_10_30_12", "blocks_30000_8_4_40", "dense_50000_30", "kuresson_maragal_2", "gr_60_60",
    "lengths_4000_20_6_2", "band_30000_40_100", "mk11-b3", "poisson2d_1300",
};

enum { STRUCTURES = sizeof structures / sizeof *structures };

/* ---- files of samples ----------------------------------------------------------------------------------------------- */

enum { SAMPLES_BYTES = 1 << 24 }; /* the most bytes of a file of samples */

static const char samples_head[] = "spmv tuning samples 1";

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
    int type, fine;
    memset(s, 0, sizeof *s);
    fine = one && next_word(&line, word, sizeof word);
    for (type = 0; fine && type < SPMV_TYPE_COUNT && strcmp(word, spmv_type_name((spmv_type)type)) != 0;) type++;
    s->type = (spmv_type)type;
    fine = fine && type < SPMV_TYPE_COUNT && next_word(&line, s->structure, sizeof s->structure) && next_word(&line, word, sizeof word);
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

/* Copies a line without its end. Returns the next line, or NULL if there is none. */
static char *head_line(char *p, char *out, size_t size)
{
    size_t n = p ? strcspn(p, "\n") : 0;
    if (!p || !p[n] || n >= size) return NULL;
    memcpy(out, p, n);
    out[n] = 0;
    return p + n + 1;
}

int samples_read(tool *t, const char *path, sample_list *out)
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
    if (p && strcmp(first, samples_head) != 0) p = NULL;
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

/* 1: the list has such a sample. */
static int samples_have(const sample_list *l, const char *structure, const candidate *c)
{
    size_t i;
    for (i = 0; i < l->count; i++) {
        const sample *s = &l->at[i];
        if (s->type == c->row.type && !strcmp(s->structure, structure) && !strcmp(s->variant, c->row.variant) &&
            table_same_layout(&s->layout, &c->row.layout)) return 1;
    }
    return 0;
}

/* ---- measuring ------------------------------------------------------------------------------------------------------- */

/* A layout whose knobs were left alone takes so many times as long as the best: then its other knobs are not tried. */
#define HOPELESS 3.0

typedef struct measuring {
    tuner             *u;
    const spmv_tuning *table;
    FILE              *file;
    sample_list        past;
    const char        *structure;
    double             best; /* GFLOP/s of the best candidate on the structure */
} measuring;

/* Measures a candidate with the current store and appends the sample. Returns its rate, 0 if there is none. */
static double measure_one(measuring *m, candidate *c)
{
    tuner *u = m->u;
    char name[300];
    float rate;
    int right;
    spmv_status s;
    if (samples_have(&m->past, m->structure, c)) return 0;
    table_row_name(&c->row, name, sizeof name);
    s = sample_rate(u, c, &rate, &right);
    if (s == SPMV_OK && !right) cli_complain(u->t, "%s on %s: its product is wrong", name, m->structure);
    if (s == SPMV_ERR_BACKEND) u->failures++;
    if (s != SPMV_OK || !right || !(rate > 0)) return 0;
    u->failures = 0;
    u->samples++;
    fprintf(m->file, "%s %s %s %.6g\n", spmv_type_name(u->type), m->structure, name,
            2e-3 * (double)u->at->w.a.nnz / (double)rate);
    fflush(m->file);
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
    const spmv_tuning *t = m->table;
    candidate c;
    double plain;
    size_t k;
    u->at->stored = slot_store(u, &t->row[i].layout);
    if (!u->at->stored) return;
    slot_begin(u);
    memset(&c, 0, sizeof c);
    c.row = t->row[i];
    c.row.variant[0] = 0;
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

/* Measures all layouts of the current type on the pattern. */
static void measure_structure(measuring *m, const spmv_csr *pattern)
{
    tuner *u = m->u;
    size_t i, k;
    m->best = 0;
    if (workload_take(&u->at->w, pattern, u->type, &u->t->hooks) != SPMV_OK) return;
    for (i = 0; i < m->table->count && !sample_out_of_time(u); i++) {
        if (m->table->row[i].type != u->type) continue;
        for (k = 0; k < i; k++)
            if (m->table->row[k].type == u->type && table_same_layout(&m->table->row[k].layout, &m->table->row[i].layout)) break;
        if (k == i) measure_rows(m, i);
    }
}

/* Opens the file for appending, and writes its head if it is new. */
static int structures_open(measuring *m, const char *path)
{
    tuner *u = m->u;
    int fresh = access(path, F_OK) != 0;
    if (!fresh && samples_read(u->t, path, &m->past) != DONE) return FAILED;
    if (!fresh && strcmp(m->past.device, u->head.device) != 0)
        return cli_complain(u->t, "%s has samples of another device: %s", path, m->past.device);
    m->file = fopen(path, "ab");
    if (!m->file) return cli_complain(u->t, "%s: %s", path, strerror(errno));
    if (fresh) fprintf(m->file, "%s\n%s\n%s\n", samples_head, u->head.device, u->head.driver);
    return DONE;
}

int structures_measure(tuner *u, const spmv_tuning *table, unsigned types, const char *path)
{
    measuring m;
    uint64_t longest = u->head.rows_at[u->head.rows - 1]; /* elements of the vectors on the device */
    int i, type, result;
    memset(&m, 0, sizeof m);
    m.u = u;
    m.table = table;
    result = structures_open(&m, path);
    for (i = 0; i < STRUCTURES && result == DONE && !sample_out_of_time(u); i++) {
        spmv_csr pattern;
        memset(&pattern, 0, sizeof pattern);
        result = generate_matrix(u->t, m.structure = structures[i], &pattern);
        for (type = 0; type < SPMV_TYPE_COUNT && result == DONE && pattern.rows <= longest && pattern.cols <= longest; type++) {
            if (!(types >> type & 1u) || sample_out_of_time(u)) continue;
            u->type = (spmv_type)type;
            result = sample_inputs(u);
            if (result == DONE) measure_structure(&m, &pattern);
        }
        spmv_csr_free(&u->at->w.a);
        spmv_csr_free(&pattern);
        cli_progress_name(u->t, "samples", structures[i]);
        cli_progress(u->t, "samples", (double)(i + 1) / STRUCTURES);
    }
    if (i < STRUCTURES) u->complete = 0;
    if (m.file && (ferror(m.file) | fclose(m.file))) result = cli_complain(u->t, "%s: cannot be written", path);
    samples_free(&m.past);
    return result;
}
