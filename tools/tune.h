/* SPDX-License-Identifier: MIT
 *
 * tools/tune.h - every way to store and multiply, measured on matrices made here: a tuning table (spmv_auto.h). Part of
 * tools/spmv.c. This is the offline benchmarking stage of clSpMV 3.2, which took half a day; here candidates that cannot
 * win are dropped after a few probes, and what matters most is measured first, so that any budget gives a table.
 *
 *   probes   every layout with default knobs on a few sizes; hopeless ones are dropped
 *   knobs    one knob after another around the layouts that lead
 *   grid     what is left over all sizes, every other one first
 *   again    samples that are far from their neighbours
 */
#ifndef SPMV_TOOLS_TUNE_H
#define SPMV_TOOLS_TUNE_H

#include "bench.h"
#include "table.h"
#ifdef _OPENMP
#  include <omp.h>
#endif

enum { TUNE_ROWS = 6, TUNE_PER = 6, TUNE_POINTS = TUNE_ROWS * TUNE_PER, TUNE_PROBES = 4, TUNE_SLOTS = 3, TUNE_SEEN = 64,
    TUNE_FAILURES = 10, TUNE_LEAST = 8 };

static const uint64_t tune_rows[TUNE_ROWS] = {1u << 10, 1u << 13, 1u << 15, 1u << 17, 1u << 19, 1u << 21};
static const uint64_t tune_per[TUNE_PER] = {1, 4, 16, 64, 256, 1024};
/* Middling, small, beyond the caches, long rows: indices into the two above. */
static const int tune_probes[TUNE_PROBES][2] = {{3, 2}, {1, 1}, {4, 1}, {2, 3}};

/* ---- matrices --------------------------------------------------------------------------------------------------- */

/* Which matrix: of a kind (spmv_auto.h), with blocks of bh x bw (0: single elements), or full, of per_row columns. */
typedef struct tune_shape {
    spmv_tune_kind kind;
    int            full;
    unsigned       bh, bw;
    uint64_t       rows, per_row;
} tune_shape;

typedef struct buffer {
    void  *at;
    size_t room;
} buffer;

/* One matrix at a time with its vectors; memory is kept from matrix to matrix, since fresh pages cost more than filling them. */
typedef struct workload {
    tune_shape       of;
    spmv_type   type;
    spmv_csr    a;
    uint64_t    cols, values, inputs; /* values and inputs: how many of val and x are filled in */
    buffer      ptr, col, val, x, y, want, length;
} workload;

static int buffer_need(buffer *b, uint64_t count, size_t size)
{
    uint64_t bytes = (count + 1) * size;
    if (bytes <= b->room) return 1;
    if (bytes > SIZE_MAX / 2) return 0;
    free(b->at);
    b->room = (size_t)bytes;
    b->at = malloc(b->room);
    if (!b->at) b->room = 0;
    return b->at != NULL;
}

static void workload_free(workload *w)
{
    buffer *b[] = {&w->ptr, &w->col, &w->val, &w->x, &w->y, &w->want, &w->length};
    size_t i;
    spmv_csr_free(&w->a);
    for (i = 0; i < sizeof b / sizeof *b; i++) free(b[i]->at);
    memset(w, 0, sizeof *w);
}

/* Noise that depends on two numbers alone, so that rows can be made in any order and by any thread. */
static uint32_t noise(uint64_t a, uint64_t b)
{
    uint64_t z = a * 0x9e3779b97f4a7c15u + b * 0xd1b54a32d192ed03u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)((z ^ z >> 27) >> 16);
}

/* Small whole numbers but 0, so that every product is exact and every element counts. */
static double whole_value(uint64_t k, int most)
{
    uint32_t h = noise(k, 77);
    double v = 1 + (double)((h >> 1) % (uint32_t)most);
    return h & 1u ? v : -v;
}

/* The c-th of n columns (or blocks) of a row that are spread over all: one at random out of each n-th of them. */
static uint64_t spread(uint64_t row, uint64_t c, uint64_t n, uint64_t all)
{
    uint64_t from = c * all / n, to = (c + 1) * all / n;
    return from + noise(row, c + 1) % (to - from);
}

/* Where a window of n begins that is centred at c / all, as far as the edges let it. */
static uint64_t window(uint64_t centre, uint64_t n, uint64_t all)
{
    uint64_t from = centre > n / 2 ? centre - n / 2 : 0;
    return from + n > all ? all - n : from;
}

/* Which of the rows by falling length row r of 2^bits is: a permutation, "any order". */
static uint64_t rank_of(uint64_t r, uint64_t rows)
{
    uint64_t mask = rows - 1;
    int half = 1;
    while (rows >> (2 * half) > 1) half++;
    r = (r * 0x9e3779b1u + 12345) & mask;
    r ^= r >> half;
    r = r * 0x85ebca6bu & mask;
    r ^= r >> half;
    return r * 0xc2b2ae35u & mask;
}

static uint64_t row_of_blocks(const tune_shape *s, uint64_t r, uint32_t *out)
{
    uint64_t all = (s->rows + s->bw - 1) / s->bw, n = (s->per_row + s->bw / 2) / s->bw, super = r / s->bh, i, count = 0;
    uint64_t first = window(super * s->bh / s->bw, n, all);
    if (!out && s->rows % s->bw == 0) return n * s->bw;
    for (i = 0; i < n; i++) {
        uint64_t block = s->kind == SPMV_TUNE_SCATTERED ? spread(super, i, n, all) : first + i, c = block * s->bw, end = c + s->bw;
        for (; c < end && c < s->rows; c++, count++)
            if (out) out[count] = (uint32_t)c;
    }
    return count;
}

/* The columns of row r to out (NULL: none); how many there are. */
static uint64_t row_columns(const workload *w, uint64_t r, uint32_t *out)
{
    const tune_shape *s = &w->of;
    uint64_t n = s->per_row, from = 0, i;
    if (s->bw) return row_of_blocks(s, r, out);
    if (s->kind == SPMV_TUNE_SCATTERED) {
        for (i = 0; out && i < n; i++) out[i] = (uint32_t)spread(r, i, n, s->rows);
        return n;
    }
    if (s->kind == SPMV_TUNE_UNEVEN) {
        n = ((const uint32_t *)w->length.at)[rank_of(r, s->rows)];
        from = window(r, n, s->rows);
    } else if (!s->full) { /* full diagonals, cut at the edges */
        uint64_t end = r + n - n / 2;
        from = r > n / 2 ? r - n / 2 : 0;
        n = (end < s->rows ? end : s->rows) - from;
    }
    for (i = 0; out && i < n; i++) out[i] = (uint32_t)(from + i);
    return n;
}

/* Lengths by rank t: c M / t, at most 64 k and M. Their mean is c (1 + ln(most / c)), which gives c; fractions are carried over. */
static int make_lengths(workload *w)
{
    double m = (double)w->of.rows, k = (double)w->of.per_row, most = 64 * k < m ? 64 * k : m, low = 0, high = most, sum = 0;
    uint64_t t, before = 0;
    uint32_t *length;
    int i;
    if (!buffer_need(&w->length, w->of.rows, sizeof *length)) return 0;
    for (i = 0; i < 60; i++) {
        double c = 0.5 * (low + high);
        if (c * (1 + 0.6931471805599453 * spmv__log2(most / c)) < k) low = c;
        else high = c;
    }
    length = (uint32_t *)w->length.at;
    for (t = 0; t < w->of.rows; t++) {
        double v = low * m / (double)(t + 1);
        sum += v < most ? v : most;
        length[t] = (uint32_t)((uint64_t)sum - before);
        if (length[t] > w->of.rows) length[t] = (uint32_t)w->of.rows;
        before = (uint64_t)sum;
    }
    return 1;
}

/* ptr and col. */
static int make_pattern(workload *w)
{
    uint64_t r, n = 0, *ptr;
    uint32_t *col;
    int64_t i, rows = (int64_t)w->of.rows;
    if (w->of.kind == SPMV_TUNE_UNEVEN && !make_lengths(w)) return 0;
    if (!buffer_need(&w->ptr, w->of.rows + 1, sizeof *ptr)) return 0;
    ptr = (uint64_t *)w->ptr.at;
    for (ptr[0] = 0, r = 0; r < w->of.rows; r++) ptr[r + 1] = n += row_columns(w, r, NULL);
    if (!buffer_need(&w->col, n, sizeof *col)) return 0;
    col = (uint32_t *)w->col.at;
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
    for (i = 0; i < rows; i++) row_columns(w, (uint64_t)i, col + ptr[i]);
    return 1;
}

/* Element k of val and of x depends on k alone: what was filled in for another matrix stays. */
static int make_numbers(workload *w, uint64_t nnz)
{
    uint64_t k;
    spmv_type store = w->type == SPMV_F64 ? SPMV_F64 : SPMV_F32;
    if (w->val.room < (nnz + 1) * spmv_value_size(store)) w->values = 0;
    if (w->x.room < (w->cols + 1) * spmv_vector_size(w->type)) w->inputs = 0;
    if (!buffer_need(&w->val, nnz, spmv_value_size(store)) || !buffer_need(&w->x, w->cols, spmv_vector_size(w->type))) return 0;
    for (k = w->values; k < nnz; k++) put(store, w->val.at, k, whole_value(k, 3));
    for (k = w->inputs; k < w->cols; k++) put(w->type, w->x.at, k, whole_value(k, 4));
    if (nnz > w->values) w->values = nnz;
    if (w->cols > w->inputs) w->inputs = w->cols;
    return 1;
}

/* want = A x; in double, where sums of small whole numbers are exact. */
static int make_want(workload *w)
{
    const spmv_csr *a = &w->a;
    int64_t r, rows = (int64_t)a->rows;
    size_t width = spmv_vector_size(w->type);
    if (!buffer_need(&w->want, a->rows, width) || !buffer_need(&w->y, a->rows, width)) return 0;
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
    for (r = 0; r < rows; r++) {
        double sum = 0;
        uint64_t k;
        for (k = a->ptr[r]; k < a->ptr[r + 1]; k++) sum += value_at(a, k) * get(w->type, w->x.at, a->col[k]);
        put(w->type, w->want.at, (uint64_t)r, sum);
    }
    return 1;
}

static int same_shape(const tune_shape *a, const tune_shape *b)
{
    return a->kind == b->kind && a->full == b->full && a->bh == b->bh && a->bw == b->bw && a->rows == b->rows &&
           a->per_row == b->per_row;
}

/* Makes that matrix the present one. */
static spmv_status workload_make(workload *w, const tune_shape *of, spmv_type type, const spmv_hooks *hooks)
{
    spmv_input in;
    spmv_status s;
    if (w->a.rows && w->type == type && same_shape(&w->of, of)) return SPMV_OK;
    spmv_csr_free(&w->a);
    if (w->type != type) w->values = w->inputs = 0;
    w->of = *of;
    w->type = type;
    w->cols = of->full ? of->per_row : of->rows;
    if (!make_pattern(w) || !make_numbers(w, ((uint64_t *)w->ptr.at)[of->rows])) return SPMV_ERR_MEMORY;
    memset(&in, 0, sizeof in);
    in.rows = (int64_t)of->rows;
    in.cols = (int64_t)w->cols;
    in.ptr = w->ptr.at;
    in.ptr_bits = 64;
    in.col = w->col.at;
    in.val = w->val.at;
    in.val_type = type == SPMV_F64 ? SPMV_F64 : SPMV_F32;
    in.borrow = 1;
    s = spmv_csr_from(&w->a, &in, type, hooks);
    if (s == SPMV_OK && !make_want(w)) s = SPMV_ERR_MEMORY;
    if (s != SPMV_OK) spmv_csr_free(&w->a);
    return s;
}

/* ---- candidates ------------------------------------------------------------------------------------------------- */

typedef enum candidate_state { LIVE, DROPPED, STRUCK } candidate_state;

/* A layout with knobs on one kind of matrix. */
typedef struct candidate {
    spmv_tune_row   row;     /* type, kind, layout, variant, rate: GFLOP/s by point, 0 not measured, below: cannot be */
    candidate_state state;
    int             wanted;  /* 1: to be measured in the present wave */
    int             own, twin; /* samples of its own; those that other knobs already gave, meaning the same */
    float          *before;  /* while samples are taken again: what they were; else NULL */
    size_t          base;    /* while it leads: the best variant so far */
    int             leads;
} candidate;

typedef struct seen {
    char  variant[160];
    float rate;
} seen;

/* A matrix, the layout it is stored in, and what variants were measured on it. */
typedef struct slot {
    workload   w;
    spmv_store store;
    int        stored;
    int        row, per; /* the matrix's size */
    seen       seen[TUNE_SEEN];
    int        seens;
} slot;

typedef struct tuner {
    tool        *t;
    spmv_device *device;     /* NULL: host */
    spmv_tuning  head;       /* what the table's head says, and its sizes */
    uint64_t     most;       /* nonzeros at most */
    candidate   *c;
    size_t       count, room;
    slot         slots[TUNE_SLOTS], *at; /* at: the one at hand; the others serve to keep several while knobs turn */
    runner       run;        /* its vectors on the device */
    double       begun, end, until; /* seconds: when it began, when all must end, and the present phase */
    double       patience;   /* seconds that a sample may take: less where the budget is short */
    double       share, done;       /* of all work: what the present phase is, and what came before it */
    const char  *phase;
    spmv_type    type;
    FILE        *journal;
    char         journal_path[1024];
    growing      past;       /* the journal of an interrupted run */
    size_t       samples, struck, recalled;
    int          failures;   /* in a row: the device may be lost */
    int          complete;   /* 1: nothing was left out for want of time */
} tuner;

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

static tune_shape candidate_shape(const tuner *u, const candidate *c, int row, int per)
{
    int64_t b = c->row.layout.key[SPMV_KEY_B] ? c->row.layout.key[SPMV_KEY_B] : (4 << 8 | 4);
    tune_shape s;
    memset(&s, 0, sizeof s);
    s.kind = c->row.kind;
    s.full = c->row.layout.format == SPMV_DENSE;
    s.rows = u->head.rows_at[row];
    s.per_row = u->head.per_row_at[per];
    if (row_class(&c->row) < 2) return s;
    s.bh = (unsigned)(b >> 8);
    s.bw = (unsigned)(b & 255);
    return s;
}

/* Formats where many work-items can take a row gain up to thousands of nonzeros (clSpMV 3.2); 64 are enough for the others. */
static int takes_long_rows(spmv_format f)
{
    return f == SPMV_CSR || f == SPMV_COO || f == SPMV_CMRS || f == SPMV_BCSR || f == SPMV_DENSE || f == SPMV_BDIA;
}

static int point_fits(const tuner *u, const candidate *c, int row, int per)
{
    tune_shape s = candidate_shape(u, c, row, per);
    if (s.per_row > 64 && !takes_long_rows(c->row.layout.format)) return 0;
    if (s.rows * s.per_row > u->most || s.per_row < s.bw) return 0;
    return s.full || 4 * s.per_row <= s.rows;
}

static float *rate_at(const tuner *u, const candidate *c, int row, int per)
{
    return &c->row.rate[row * u->head.per_row + per];
}

static void candidate_name(const candidate *c, char *out, size_t size)
{
    char name[300];
    row_name(&c->row, name, sizeof name);
    snprintf(out, size, "%s %s %s", spmv_type_name(c->row.type), spmv_tune_kind_name(c->row.kind), name);
}

/* What follows the name in a journal's line of a sample: rows, nonzeros a row and rate, each behind a blank, to the end of the line. */
static int sample_numbers(const char *p, double v[3])
{
    int i;
    for (i = 0; i < 3; i++) {
        char word[SPMV_NUMBER_TEXT];
        size_t n = *p == ' ' ? strcspn(p + 1, " \n") : 0;
        if (n == 0 || n >= sizeof word) return 0;
        memcpy(word, p + 1, n);
        word[n] = 0;
        if (!spmv_number_from(word, &v[i]) || !(v[i] >= 0 && v[i] <= 1e15)) return 0;
        p += 1 + n;
    }
    return *p == '\n';
}

/* What the journal of an interrupted run says of a new candidate. */
static void candidate_recall(tuner *u, candidate *c)
{
    char name[400];
    const char *p = u->past.at, *end;
    size_t n;
    candidate_name(c, name, sizeof name);
    n = strlen(name);
    for (; p && *p; p = end + 1) {
        double v[3];
        int r, k;
        end = strchr(p, '\n');
        if (!end) return; /* cut short */
        if ((*p != 's' && *p != 'x') || strncmp(p + 2, name, n) != 0 || p[2 + n] != ' ') continue;
        if (*p == 'x') c->state = STRUCK;
        if (*p == 'x' || !sample_numbers(p + 2 + n, v)) continue;
        r = axis_index(u->head.rows_at, u->head.rows, (uint64_t)v[0]);
        k = axis_index(u->head.per_row_at, u->head.per_row, (uint64_t)v[1]);
        if (r < 0 || k < 0) continue;
        if ((float)v[2] > *rate_at(u, c, r, k)) *rate_at(u, c, r, k) = (float)v[2];
        c->own++;
        u->recalled++;
    }
}

/* Adds a candidate unless it is there; its number, or u->count without memory. */
static size_t candidate_add(tuner *u, spmv_type type, spmv_tune_kind kind, const spmv_spec *layout, const char *variant)
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
        if (row_is(&u->c[i].row, &like)) return i;
    if (u->count == u->room) {
        void *at = u->c;
        if (!resize_array(&at, u->room ? 2 * u->room : 256, sizeof *u->c)) return u->count;
        u->c = (candidate *)at;
        u->room = u->room ? 2 * u->room : 256;
    }
    c = &u->c[u->count];
    memset(c, 0, sizeof *c);
    c->row = like;
    c->row.rate = (float *)calloc(TUNE_POINTS, sizeof *c->row.rate);
    if (!c->row.rate) return u->count;
    c->base = u->count;
    candidate_recall(u, c);
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

/* Every layout of the type at hand with default knobs. What a build leaves out is left out. */
static void layouts_add(tuner *u)
{
    static const char *const names[] = {"sbell", "bcsr", "bell"}, *const ends[] = {"", ",idx=16"};
    static const int sizes[][2] = {
#define X(bh, bw, unit) {bh, bw},
        SPMV__BLOCK_SIZES(X)
#undef X
    };
    char plan[64];
    size_t e, i, f;
    u->t->keep = 1;
#define X(plan, kinds) layout_add(u, plan, kinds);
    TUNE_LAYOUTS(X)
#undef X
    for (e = 0; e < 2; e++)
        for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (f = 0; f < 3; f++) {
                snprintf(plan, sizeof plan, "%s:b=%dx%d%s", names[f], sizes[i][0], sizes[i][1], ends[e]);
                layout_add(u, plan, "BS");
            }
    u->t->keep = 0;
    u->t->text[0] = 0;
}

/* ---- the journal ------------------------------------------------------------------------------------------------ */

static void journal_head(const tuner *u, char *out, size_t size)
{
    snprintf(out, size, "spmv tuning journal 1\n%s\n%s\n", u->head.device, u->head.driver);
}

/* Every line of what was written before is whole; only the last may have been cut short. */
static int journal_check(tuner *u, size_t head)
{
    const char *p = u->past.at + head, *end;
    unsigned number = 4;
    for (; (end = strchr(p, '\n')) != NULL; p = end + 1, number++) {
        const char *word = p;
        double v[3];
        int i;
        if (*p == 'x' && p[1] == ' ') continue;
        for (i = 0; i < 4; i++) { /* behind s, the type, the kind and the name */
            word += strcspn(word, " \n");
            if (i < 3 && *word++ != ' ') break;
        }
        if (*p != 's' || i < 4 || !sample_numbers(word, v))
            return complain(u->t, "%s, line %u: neither a sample nor struck out", u->journal_path, number);
    }
    u->past.used = (size_t)(p - u->past.at);
    u->past.at[u->past.used] = 0;
    return DONE;
}

static int journal_recall(tuner *u)
{
    char head[600];
    void *at;
    journal_head(u, head, sizeof head);
    if (access(u->journal_path, F_OK) != 0) return DONE; /* nothing was begun, or all was done */
    if (load_text(u->t, u->journal_path, JOURNAL_BYTES, &u->past.at, &u->past.used) != DONE) return FAILED;
    at = u->past.at;
    if (!resize_array(&at, u->past.used + 1, 1)) return no_memory(u->t);
    u->past.at = (char *)at;
    u->past.at[u->past.used] = 0;
    if (strlen(u->past.at) < strlen(head) || strncmp(u->past.at, head, strlen(head)) != 0)
        return complain(u->t, "%s: not a journal of %s, %s; remove it to begin anew", u->journal_path, u->head.device, u->head.driver);
    return journal_check(u, strlen(head));
}

/* 1: the journal at hand holds more than its head, or cannot be read. */
static int journal_holds_samples(const tuner *u)
{
    FILE *f = fopen(u->journal_path, "rb");
    int lines = 0, c;
    if (!f) return errno != ENOENT;
    while (lines < 3 && (c = getc(f)) != EOF) lines += c == '\n';
    c = getc(f);
    fclose(f);
    return c != EOF;
}

/* Beside the table, PATH.journal: an interrupted run goes on from it with --resume. Without that, what it holds may have taken hours
 * and is not thrown away unasked. Standard output, pipes and devices have none. */
static int journal_begin(tuner *u, const char *path, int resume)
{
    if (!output_is_file(path)) return resume ? misuse(u->t, "--resume needs the table's name (--out)") : DONE;
    if (snprintf(u->journal_path, sizeof u->journal_path, "%s.journal", path) >= (int)sizeof u->journal_path)
        return complain(u->t, "%s: the name is too long", path);
    if (resume || !journal_holds_samples(u)) return DONE;
    return complain(u->t, "%s: holds the samples of an interrupted run; --resume goes on from them, remove it to begin anew",
                    u->journal_path);
}

/* What was there before, or a head, is written as a whole; samples are then appended, so that the journal is of use whenever the run
 * is killed. */
static int journal_open(tuner *u, int resume)
{
    char head[600];
    int result = DONE;
    if (!*u->journal_path) return DONE;
    if (resume && journal_recall(u) != DONE) return FAILED;
    journal_head(u, head, sizeof head);
    if (u->past.used) result = save_bytes(u->t, u->journal_path, u->past.at, u->past.used);
    else result = save_bytes(u->t, u->journal_path, head, strlen(head));
    if (result != DONE) return result;
    u->journal = fopen(u->journal_path, "ab");
    return u->journal ? DONE : complain(u->t, "%s: %s", u->journal_path, strerror(errno));
}

/* Appends a line. Where that fails the journal ends with what it has, of which the last line may be cut short. */
LIKE_PRINTF(2, 3) static void journal_print(tuner *u, const char *format, ...)
{
    va_list list;
    int fine;
    if (!u->journal) return;
    va_start(list, format);
    fine = vfprintf(u->journal, format, list) >= 0;
    va_end(list);
    if (fine && fflush(u->journal) == 0) return;
    complain(u->t, "%s: %s; no further samples go there", u->journal_path, strerror(errno));
    fclose(u->journal);
    u->journal = NULL;
}

/* A journal of a run that was not cut short is of no use any more. */
static void journal_close(tuner *u, int result)
{
    if (u->journal) fclose(u->journal);
    u->journal = NULL;
    if (result == DONE && u->complete && *u->journal_path) remove(u->journal_path);
}

static void journal_sample(tuner *u, const candidate *c, int row, int per)
{
    char name[400];
    candidate_name(c, name, sizeof name);
    journal_print(u, "s %s %llu %llu %.6g\n", name, (unsigned long long)u->head.rows_at[row],
                  (unsigned long long)u->head.per_row_at[per], (double)*rate_at(u, c, row, per));
}

static void strike(tuner *u, candidate *c, const char *why)
{
    char name[400], words[300], *p;
    candidate_name(c, name, sizeof name);
    snprintf(words, sizeof words, "%s", why);
    for (p = words; *p; p++) if (*p == '\n' || *p == '\r') *p = ' ';
    c->state = STRUCK;
    u->struck++;
    complain(u->t, "struck out: %s: %s", name, words);
    journal_print(u, "x %s %s\n", name, words);
}

/* ---- one sample -------------------------------------------------------------------------------------------------- */

/* The median of five or so; of more, while they are spread as on a machine that does something else as well, the lower quartile. It
 * ends after patience seconds. */
static spmv_status sample_many(runner *r, double patience, double *out)
{
    double v[25], one = 0, from = seconds(), spent, span = sample_span(r);
    spmv_status s = SPMV_OK;
    int n = 0, times = 1;
    do s = sample(r, 1, &one); /* warm: caches, and clocks that rise with work */
    while (s == SPMV_OK && ++n < 20 && seconds() - from < 500e-6);
    if (one < span) times = one > 1e-8 ? (int)(span / one) + 1 : 10000;
    from = seconds();
    for (n = 0; s == SPMV_OK && n < 25;) {
        s = sample(r, times, &v[n++]);
        spent = seconds() - from;
        if (n < 5 && (n < 3 || spent < 0.6 * patience)) continue;
        *out = median(v, n);
        if (v[3 * n / 4] - v[n / 4] < 0.04 * *out || spent > patience) break;
    }
    /* a quarter is fast enough often enough that it is no accident; what else the machine does only adds time */
    if (s == SPMV_OK && n >= 8) *out = v[n / 4];
    else if (s == SPMV_OK) *out = median(v, n);
    return s;
}

/* y from not a number to A x, which must come out exact. *right: whether it did. */
static spmv_status check_host(tuner *u, int *right)
{
    workload *w = &u->at->w;
    double took;
    uint64_t r;
    spmv_status s;
    for (r = 0; r < w->a.rows; r++) put(w->type, w->y.at, r, NAN);
    s = sample_host(&u->run, 1, &took);
    *right = 1;
    for (r = 0; s == SPMV_OK && r < w->a.rows && *right; r++)
        *right = get(w->type, w->y.at, r) - get(w->type, w->want.at, r) == 0;
    return s;
}

#ifndef SPMV_NO_OPENCL
static spmv_status check_cl(tuner *u, int *right)
{
    workload *w = &u->at->w;
    cl_command_queue q = u->device->queue;
    size_t bytes = (size_t)w->a.rows * spmv_vector_size(w->type);
    uint64_t r;
    double took;
    cl_int code;
    spmv_status s;
    for (r = 0; r < w->a.rows; r++) put(w->type, w->y.at, r, NAN);
    code = clEnqueueWriteBuffer(q, u->run.cl_y, CL_TRUE, 0, bytes, w->y.at, 0, NULL, NULL);
    if (code != CL_SUCCESS) return runner_failed(&u->run, "clEnqueueWriteBuffer", code);
    s = sample_cl(&u->run, 1, &took);
    if (s != SPMV_OK) return s;
    code = clEnqueueReadBuffer(q, u->run.cl_y, CL_TRUE, 0, bytes, w->y.at, 0, NULL, NULL);
    if (code != CL_SUCCESS) return runner_failed(&u->run, "clEnqueueReadBuffer", code);
    *right = 1;
    for (r = 0; r < w->a.rows && *right; r++) *right = get(w->type, w->y.at, r) - get(w->type, w->want.at, r) == 0;
    return SPMV_OK;
}

/* The rate that another variant got if it comes to the same here; else 0, and text is the variant's whole name. */
static float rate_seen(const tuner *u, const spmv_variant *v, char *name, size_t size)
{
    int i;
    spmv_variant_print(v, name, size);
    for (i = 0; i < u->at->seens; i++)
        if (!strcmp(u->at->seen[i].variant, name)) return u->at->seen[i].rate;
    return 0;
}

/* One variant on the device; *rate stays 0 if it is wrong. */
static spmv_status measure_cl(tuner *u, candidate *c, float *rate, int *right)
{
    spmv_variant v;
    spmv_device_matrix cl;
    char name[160];
    double took = 0;
    runner *r = &u->run;
    spmv_status s = spmv_variant_parse(&v, c->row.layout.format, c->row.variant, &u->t->hooks);
    if (s == SPMV_OK) s = spmv_variant_resolve(&v, u->device, &u->at->store.part[0]);
    if (s != SPMV_OK) return s;
    *rate = rate_seen(u, &v, name, sizeof name);
    if (*rate > 0) {
        c->twin++;
        return SPMV_OK;
    }
    s = spmv_device_matrix_create(&cl, u->device, u->at->w.a.rows, u->at->w.cols, u->type, u->at->store.part, 1, &v);
    if (s == SPMV_OK) s = spmv_exec_create(&r->exec, &cl, NULL);
    if (s == SPMV_OK) s = check_cl(u, right);
    if (s == SPMV_OK && *right) s = sample_many(r, u->patience, &took);
    spmv_exec_free(&r->exec);
    spmv_device_matrix_free(&cl);
    if (s == SPMV_OK && took > 0) *rate = (float)(2e-9 * (double)u->at->w.a.nnz / took);
    if (s == SPMV_OK) c->own++;
    if (*rate > 0 && u->at->seens < TUNE_SEEN) {
        snprintf(u->at->seen[u->at->seens].variant, sizeof u->at->seen[0].variant, "%s", name);
        u->at->seen[u->at->seens++].rate = *rate;
    }
    return s;
}
#endif

static spmv_status measure_host(tuner *u, candidate *c, float *rate, int *right)
{
    double took = 0;
    spmv_status s = check_host(u, right);
    if (s == SPMV_OK && *right) s = sample_many(&u->run, u->patience, &took);
    if (s == SPMV_OK && took > 0) *rate = (float)(2e-9 * (double)u->at->w.a.nnz / took);
    c->own++;
    return s;
}

/* The candidate at hand with the matrix and the store at hand. */
static void measure(tuner *u, candidate *c, int row, int per)
{
    float rate = 0;
    int right = 1;
    spmv_status s;
    u->t->text[0] = 0;
    u->t->keep = 1;
#ifndef SPMV_NO_OPENCL
    if (u->device) s = measure_cl(u, c, &rate, &right);
    else
#endif
        s = measure_host(u, c, &rate, &right);
    u->t->keep = 0;
    if (c->before && c->before[row * u->head.per_row + per] > rate && right) rate = c->before[row * u->head.per_row + per];
    *rate_at(u, c, row, per) = rate > 0 ? rate : -1;
    if (s == SPMV_OK && !right) strike(u, c, "the product is wrong");
    else if (s == SPMV_OK && rate > 0) {
        u->samples++;
        u->failures = 0;
        journal_sample(u, c, row, per);
    } else if (s != SPMV_OK && !is_refusal(s) && s != SPMV_ERR_ARGUMENT) {
        strike(u, c, *u->t->text ? u->t->text : spmv_status_text(s));
        if (s == SPMV_ERR_OPENCL && ++u->failures == TUNE_FAILURES)
            complain(u->t, "%d failures in a row, the device may be lost: measuring ends here", TUNE_FAILURES);
    }
    u->t->text[0] = 0;
}

/* ---- all that is wanted at one size ------------------------------------------------------------------------------ */

/* Some samples are taken whatever the budget. */
static int out_of_time(tuner *u)
{
    return (seconds() > u->until && u->samples + u->recalled + u->struck >= TUNE_LEAST) || u->failures >= TUNE_FAILURES;
}

static int is_wanted(const tuner *u, const candidate *c, int row, int per)
{
    float rate = *rate_at(u, c, row, per);
    return c->wanted && c->state == LIVE && c->row.type == u->type && !(rate > 0) && !(rate < 0) && point_fits(u, c, row, per);
}

static void tune_progress(tuner *u, const candidate *c, int row, int per, double part)
{
    char what[200], name[300], left[40];
    double now = seconds(), whole = u->done + u->share * part, rest = whole > 0.02 ? (now - u->begun) * (1 - whole) / whole : -1;
    if (!progress_due(u->t)) return;
    if (u->end < 1e299 && (rest < 0 || rest > u->end - now)) rest = u->end - now;
    if (u->end < 1e299 && (now - u->begun) / (u->end - u->begun) > whole) whole = (now - u->begun) / (u->end - u->begun);
    left[0] = 0;
    if (rest >= 0) snprintf(left, sizeof left, "%.0f s left, ", rest);
    row_name(&c->row, name, sizeof name);
    snprintf(what, sizeof what, "%s%s %s %llux%llu %.24s", left, spmv_type_name(u->type), u->phase,
             (unsigned long long)u->head.rows_at[row], (unsigned long long)u->head.per_row_at[per], name);
    progress(u->t, what, whole);
}

/* 1: some array of the part has columns of 16 bits. */
static int is_narrow(const spmv_part *p)
{
    int i;
    for (i = 1; i < SPMV_MAX_ARRAYS; i++)
        if (p->a[i].width == 2 && p->a[i].count) return 1;
    return 0;
}

/* Stores the present matrix in the layout; 0 if it does not take it. */
static int store_layout(tuner *u, const spmv_spec *layout)
{
    spmv_plan *one = (spmv_plan *)calloc(1, sizeof *one);
    spmv_build how;
    spmv_status s = SPMV_ERR_MEMORY;
    memset(&how, 0, sizeof how);
    how.type = u->type;
    how.borrow = 1;
    how.max_bytes = 96 * u->at->w.a.nnz + ((uint64_t)16 << 20); /* eight times CSR: padding that cannot win only costs time */
    u->at->seens = 0;
    u->t->keep = 1;
    if (one) {
        one->count = 1;
        one->part[0] = *layout;
        s = spmv_store_make(&u->at->store, one, &u->at->w.a, &how, &u->t->hooks);
    }
    u->t->keep = 0;
    u->t->text[0] = 0;
    free(one);
    if (s == SPMV_OK && (u->at->store.count != 1 || (layout->key[SPMV_KEY_IDX] && !is_narrow(&u->at->store.part[0])))) {
        spmv_store_free(&u->at->store);
        s = SPMV_ERR_UNSUPPORTED;
    }
    return s == SPMV_OK;
}

/* The slot at hand is what run multiplies. */
static void slot_begin(tuner *u)
{
    u->run.t = u->t;
    u->run.rows = u->at->w.a.rows;
    u->run.cols = u->at->w.cols;
    u->run.x = u->at->w.x.at;
    u->run.y = u->at->w.y.at;
    u->run.m.store = u->at->store;
#ifndef SPMV_NO_OPENCL
    u->run.m.device = u->device;
#endif
}

static void slot_end(tuner *u)
{
    memset(&u->run.m.store, 0, sizeof u->run.m.store);
}

static void slot_empty(slot *s)
{
    if (s->stored) spmv_store_free(&s->store);
    s->stored = s->seens = 0;
}

static int same_kind_and_layout(const candidate *a, const candidate *b)
{
    return a->row.type == b->row.type && a->row.kind == b->row.kind && same_layout(&a->row.layout, &b->row.layout);
}

/* What was measured of the layout at this size before, by the knobs' whole names. */
static void slot_recall(tuner *u, const candidate *like, int row, int per)
{
#ifndef SPMV_NO_OPENCL
    size_t i;
    u->t->keep = 1;
    for (i = 0; u->device && i < u->count && u->at->seens < TUNE_SEEN; i++) {
        const candidate *c = &u->c[i];
        spmv_variant v;
        if (!same_kind_and_layout(c, like) || !(*rate_at(u, c, row, per) > 0)) continue;
        if (spmv_variant_parse(&v, c->row.layout.format, c->row.variant, &u->t->hooks) != SPMV_OK ||
            spmv_variant_resolve(&v, u->device, &u->at->store.part[0]) != SPMV_OK) continue;
        spmv_variant_print(&v, u->at->seen[u->at->seens].variant, sizeof u->at->seen[0].variant);
        u->at->seen[u->at->seens++].rate = *rate_at(u, c, row, per);
    }
    u->t->keep = 0;
    u->t->text[0] = 0;
#else
    (void)u;
    (void)like;
    (void)row;
    (void)per;
#endif
}

/* All variants that are wanted of the layout of candidate first, whose matrix is the present one. */
static void measure_layout(tuner *u, size_t first, int row, int per)
{
    size_t i;
    u->at->stored = store_layout(u, &u->c[first].row.layout);
    if (u->at->stored) {
        slot_recall(u, &u->c[first], row, per);
        slot_begin(u);
    }
    for (i = first; i < u->count && !(u->at->stored && out_of_time(u)); i++) {
        candidate *c = &u->c[i];
        if (!same_kind_and_layout(c, &u->c[first]) || !is_wanted(u, c, row, per)) continue;
        if (u->at->stored) measure(u, c, row, per);
        else *rate_at(u, c, row, per) = -1;
    }
    slot_end(u);
    slot_empty(u->at);
}

/* Everything that is wanted and has the matrix of candidate first; each matrix is made once and each layout stored once. */
static void measure_matrix(tuner *u, size_t first, int row, int per, double part)
{
    tune_shape of = candidate_shape(u, &u->c[first], row, per), other;
    size_t i;
    if (workload_make(&u->at->w, &of, u->type, &u->t->hooks) != SPMV_OK) {
        *rate_at(u, &u->c[first], row, per) = -1;
        return;
    }
    for (i = first; i < u->count && !out_of_time(u); i++) {
        if (!is_wanted(u, &u->c[i], row, per)) continue;
        other = candidate_shape(u, &u->c[i], row, per);
        if (!same_shape(&of, &other)) continue;
        tune_progress(u, &u->c[i], row, per, part);
        measure_layout(u, i, row, per);
    }
    if (out_of_time(u)) u->complete = 0;
}

/* part, span: how much of the phase came before, and is this. */
static void measure_point(tuner *u, int row, int per, double part, double span)
{
    size_t i;
    for (i = 0; i < u->count; i++) {
        if (!is_wanted(u, &u->c[i], row, per)) continue;
        if (out_of_time(u)) {
            u->complete = 0;
            return;
        }
        measure_matrix(u, i, row, per, part + span * (double)i / (double)u->count);
    }
}

static void measure_probe(tuner *u, int probe, double part, double span)
{
    int row = tune_probes[probe][0], per = tune_probes[probe][1];
    measure_point(u, row < u->head.rows ? row : u->head.rows - 1, per, part, span);
}

/* ---- dropping ---------------------------------------------------------------------------------------------------- */

/* The best rate at a point of those that compete with c; alike: of those only that are of its format (or, of blocks, of any) and have
 * columns of the same width, since short ones do not fit every matrix. */
static float best_rate(const tuner *u, const candidate *c, int point, int alike)
{
    float best = 0;
    size_t i;
    for (i = 0; i < u->count; i++) {
        const candidate *o = &u->c[i];
        if (o->state == STRUCK || !(o->row.rate[point] > best) || !rows_compete(&o->row, &c->row)) continue;
        if (alike && o->row.layout.key[SPMV_KEY_IDX] != c->row.layout.key[SPMV_KEY_IDX]) continue;
        if (alike && row_class(&c->row) < 2 && o->row.layout.format != c->row.layout.format) continue;
        best = o->row.rate[point];
    }
    return best;
}

/* 1: at some size within the factor of the best, or the best of its like (within a percent). Unmeasured: 1 as well. */
static int has_hope(const tuner *u, const candidate *c, float factor)
{
    int p, measured = 0;
    for (p = 0; p < u->head.rows * u->head.per_row; p++) {
        if (!(c->row.rate[p] > 0)) continue;
        measured = 1;
        if (c->row.rate[p] * factor >= best_rate(u, c, p, 0) || c->row.rate[p] * 1.01f >= best_rate(u, c, p, 1)) return 1;
    }
    return !measured;
}

static void drop_hopeless(tuner *u, float factor)
{
    size_t i;
    for (i = 0; i < u->count; i++)
        if (u->c[i].row.type == u->type && u->c[i].state == LIVE && !has_hope(u, &u->c[i], factor)) u->c[i].state = DROPPED;
}

static candidate *candidate_find(tuner *u, const candidate *like, int idx, const char *variant)
{
    size_t i;
    spmv_tune_row r = like->row;
    r.layout.key[SPMV_KEY_IDX] = idx;
    snprintf(r.variant, sizeof r.variant, "%s", variant);
    for (i = 0; i < u->count; i++)
        if (row_is(&u->c[i].row, &r)) return &u->c[i];
    return NULL;
}

/* ---- phase 1: probes --------------------------------------------------------------------------------------------- */

static void want_all(tuner *u, int wanted)
{
    size_t i;
    for (i = 0; i < u->count; i++) u->c[i].wanted = wanted && u->c[i].row.type == u->type;
}

/* Layouts with short columns only where the same with long ones is still in the race. */
static void want_probes(tuner *u, int narrow)
{
    size_t i;
    for (i = 0; i < u->count; i++) {
        candidate *c = &u->c[i], *wide = c->row.layout.key[SPMV_KEY_IDX] ? candidate_find(u, c, 0, "") : NULL;
        c->wanted = c->row.type == u->type && !*c->row.variant && (wide != NULL) == narrow;
        if (wide && wide->state == DROPPED) c->state = DROPPED;
    }
}

/* The kinds in turn: banded alone tells which blocks are worth another look. */
static void want_kind(tuner *u, spmv_tune_kind kind, int blocks)
{
    size_t i;
    for (i = 0; i < u->count; i++) {
        candidate *c = &u->c[i];
        if (c->row.kind != kind || (row_class(&c->row) > 1) != blocks) c->wanted = 0;
    }
}

static void tune_layouts(tuner *u)
{
    int narrow, kind, blocks, probe, n = 0;
    for (blocks = 0; blocks < 2; blocks++)
        for (narrow = 0; narrow < 2; narrow++) {
            for (kind = 0; kind < SPMV_TUNE_KIND_COUNT; kind++, n++) {
                want_probes(u, narrow);
                want_kind(u, (spmv_tune_kind)kind, blocks);
                measure_probe(u, 0, 0.04 * n, 0.04);
            }
            drop_hopeless(u, 2);
        }
    want_all(u, 1);
    for (probe = 1; probe < TUNE_PROBES; probe++) measure_probe(u, probe, 0.48 + 0.17 * (probe - 1), 0.17);
    drop_hopeless(u, 1.5f);
}

/* ---- phase 2: knobs ---------------------------------------------------------------------------------------------- */

#ifndef SPMV_NO_OPENCL
/* In the order in which they tend to matter, the first ones for all leaders before the others. Not tried: I64 is for huge matrices;
 * ATOMIC changes last bits from product to product; ZERO pays only where there is fill. */
static const spmv_knob tune_knobs[] = {SPMV_KNOB_WG, SPMV_KNOB_L, SPMV_KNOB_V, SPMV_KNOB_STREAM, SPMV_KNOB_PER, SPMV_KNOB_UNROLL,
                                       SPMV_KNOB_STAGE, SPMV_KNOB_SLICE, SPMV_KNOB_NT, SPMV_KNOB_SHUF, SPMV_KNOB_SEQ,
                                       SPMV_KNOB_IMG, SPMV_KNOB_ALIGN, SPMV_KNOB_FINISH};
enum { TUNE_KNOBS = sizeof tune_knobs / sizeof *tune_knobs, TUNE_ROUND = 5 /* knobs of the first round */ };

/* Who gets knobs: layouts within 15% of the best at some probe and the best of each format; of blocks, on banded matrices only,
 * the best of each size. */
static void choose_leaders(tuner *u)
{
    size_t i;
    int p, points = u->head.rows * u->head.per_row;
    for (i = 0; i < u->count; i++) {
        candidate *c = &u->c[i];
        float factor = row_class(&c->row) > 1 ? 1.02f : 1.15f;
        c->leads = 0;
        c->base = i;
        if (c->row.type != u->type || c->state != LIVE || *c->row.variant) continue;
        if (row_class(&c->row) > 1 && c->row.kind != SPMV_TUNE_BANDED) continue;
        for (p = 0; p < points && !c->leads; p++)
            c->leads = c->row.rate[p] > 0 && (c->row.rate[p] * factor >= best_rate(u, c, p, 0) ||
                                              (row_class(&c->row) < 2 && c->row.rate[p] * 1.01f >= best_rate(u, c, p, 1)));
    }
}

/* The base's knobs with one more value of knob k each. */
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

/* Mean logarithm of b's rate over a's where both were measured. */
static double gain(const tuner *u, const candidate *a, const candidate *b)
{
    double sum = 0;
    int p, n = 0;
    for (p = 0; p < u->head.rows * u->head.per_row; p++)
        if (a->row.rate[p] > 0 && b->row.rate[p] > 0) {
            sum += spmv__log2((double)b->row.rate[p] / (double)a->row.rate[p]);
            n++;
        }
    return n ? sum / n : -1;
}

/* A leader goes on from its best variant, if that is 1% better than the one before. */
static void move_base(tuner *u, size_t leader)
{
    size_t k;
    for (k = 0; k < u->count; k++) {
        const candidate *c = &u->c[k];
        if (c->state != LIVE || !c->own || !same_kind_and_layout(c, &u->c[leader])) continue;
        if (gain(u, &u->c[u->c[leader].base], c) > 0.0144) u->c[leader].base = k;
    }
}

/* Variants stay that are the best of their format or within 3% of all at some size, and that are not another by other words. */
static void drop_variants(tuner *u, size_t leader)
{
    size_t i;
    for (i = 0; i < u->count; i++) {
        candidate *c = &u->c[i];
        if (c->state != LIVE || !*c->row.variant || i == u->c[leader].base || !same_kind_and_layout(c, &u->c[leader])) continue;
        if (!c->own || !has_hope(u, c, 1.03f)) c->state = DROPPED;
    }
}

/* The leader's matrix in its layout at three of the probes, a slot each. */
static void leader_open(tuner *u, size_t leader)
{
    static const int probes[TUNE_SLOTS] = {0, 1, 3};
    int i;
    for (i = 0; i < TUNE_SLOTS; i++) {
        slot *s = u->at = &u->slots[i];
        tune_shape of;
        s->per = tune_probes[probes[i]][1];
        s->row = tune_probes[probes[i]][0] < u->head.rows ? tune_probes[probes[i]][0] : u->head.rows - 1;
        if (!point_fits(u, &u->c[leader], s->row, s->per)) continue;
        of = candidate_shape(u, &u->c[leader], s->row, s->per);
        if (workload_make(&s->w, &of, u->type, &u->t->hooks) != SPMV_OK) continue;
        s->stored = store_layout(u, &u->c[leader].row.layout);
        if (s->stored) slot_recall(u, &u->c[leader], s->row, s->per);
    }
}

static void leader_close(tuner *u)
{
    int i;
    for (i = 0; i < TUNE_SLOTS; i++) slot_empty(&u->slots[i]);
    u->at = u->slots;
}

/* All that is wanted of the leader's layout; what is far behind in one slot is not tried in the next. */
static void leader_measure(tuner *u, size_t leader, double part)
{
    int i;
    size_t k;
    for (i = 0; i < TUNE_SLOTS; i++) {
        slot *s = u->at = &u->slots[i];
        if (!s->stored) continue;
        slot_begin(u);
        for (k = 0; k < u->count && !out_of_time(u); k++) {
            candidate *c = &u->c[k];
            if (!same_kind_and_layout(c, &u->c[leader]) || !is_wanted(u, c, s->row, s->per)) continue;
            tune_progress(u, c, s->row, s->per, part);
            measure(u, c, s->row, s->per);
            if (*rate_at(u, c, s->row, s->per) < 0.75f * *rate_at(u, &u->c[u->c[leader].base], s->row, s->per)) c->wanted = 0;
        }
        slot_end(u);
    }
    move_base(u, leader);
    drop_variants(u, leader);
}

/* What did well for another type is tried first. */
static void add_seeds(tuner *u, size_t leader)
{
    size_t i, n = u->count, at;
    for (i = 0; i < n; i++) {
        candidate c = u->c[i];
        c.row.type = u->type;
        if (u->c[i].row.type == u->type || c.state != LIVE || !*c.row.variant || !same_kind_and_layout(&c, &u->c[leader])) continue;
        at = candidate_add(u, u->type, c.row.kind, &c.row.layout, c.row.variant);
        if (at < u->count) u->c[at].wanted = 1;
    }
}

/* One knob after another, each around the best that came of those before. */
static void turn_knobs(tuner *u, size_t leader, int round, double part)
{
    int k = round ? TUNE_ROUND : 0, end = round ? TUNE_KNOBS : TUNE_ROUND;
    want_all(u, 0);
    leader_open(u, leader);
    if (!round) {
        add_seeds(u, leader);
        leader_measure(u, leader, part);
    }
    for (; k < end && !out_of_time(u); k++) {
        want_all(u, 0);
        add_values(u, leader, tune_knobs[k]);
        leader_measure(u, leader, part);
    }
    leader_close(u);
}

/* What knobs blocks got on banded matrices they get on scattered ones. */
static void copy_block_knobs(tuner *u)
{
    size_t i, n = u->count;
    for (i = 0; i < n; i++) {
        candidate c = u->c[i];
        if (c.row.type != u->type || row_class(&c.row) < 2 || c.state != LIVE || !*c.row.variant) continue;
        candidate_add(u, u->type, SPMV_TUNE_SCATTERED, &c.row.layout, c.row.variant);
    }
}

/* Kind after kind, as leaders of a kind share matrices; blocks last, as few matrices have them. */
static void tune_variants(tuner *u)
{
    size_t i, leaders = 0, done = 0, n = u->count;
    int round, turn, kind;
    choose_leaders(u);
    for (i = 0; i < n; i++) leaders += u->c[i].leads != 0;
    for (round = 0; round < 2; round++)
        for (turn = 0; turn < 2 * SPMV_TUNE_KIND_COUNT; turn++)
            for (kind = turn % SPMV_TUNE_KIND_COUNT, i = 0; i < n; i++) {
                if (!u->c[i].leads || u->c[i].row.kind != (spmv_tune_kind)kind) continue;
                if ((row_class(&u->c[i].row) > 1) != (turn >= SPMV_TUNE_KIND_COUNT)) continue;
                if (out_of_time(u)) u->complete = 0;
                else turn_knobs(u, i, round, (double)done++ / (double)(2 * leaders));
            }
    copy_block_knobs(u);
}
#else
static void tune_variants(tuner *u)
{
    (void)u;
}
#endif

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

/* 1: what the table will hold: measured, and in front of all or of its like at some size. */
static int is_front(const tuner *u, const candidate *c)
{
    int p, measured = 0;
    for (p = 0; p < u->head.rows * u->head.per_row && !measured; p++) measured = c->row.rate[p] > 0;
    return measured && has_hope(u, c, 1.03f);
}

/* 1: its layout with default knobs, where the layout is in front for another kind of matrix: what shows how much slower it is here. */
static int backs_front(const tuner *u, const candidate *c)
{
    size_t i;
    for (i = 0; i < u->count && !*c->row.variant; i++) {
        const candidate *o = &u->c[i];
        if (o->row.type == c->row.type && o->row.kind != c->row.kind && o->state == LIVE && same_layout(&o->row.layout, &c->row.layout) &&
            is_front(u, o)) return 1;
    }
    return 0;
}

enum { GRID_FRONT = 1, GRID_FLAT = 2 };

/* Which candidates a pass measures: all that are left, or those that matter most. What backs is taken back into the race. */
static void want_pass(tuner *u, int which)
{
    size_t i;
    want_all(u, 1);
    for (i = 0; i < u->count; i++) {
        candidate *c = &u->c[i];
        if (which & GRID_FLAT && row_class(&c->row) > 1) c->wanted = 0;
        if (!c->wanted || !(which & GRID_FRONT)) continue;
        if (c->state == DROPPED && backs_front(u, c)) c->state = LIVE;
        else c->wanted = is_front(u, c);
    }
}

/* Every other size first, of those the cheap ones first. */
static void tune_grid(tuner *u, int which, double from, double share)
{
    grid_point all[TUNE_POINTS];
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
    want_pass(u, which);
    for (i = 0; i < n; i++) {
        double span = all[i].nonzeros <= (double)u->most ? share * (2e5 + all[i].nonzeros) / sum : 0;
        measure_point(u, all[i].row, all[i].per, part, span);
        part += span;
    }
}

/* ---- phase 4: what looks wrong -------------------------------------------------------------------------------------
 * Whatever else the machine does can only make a product slower, and not at all sizes alike. */

/* The nearest sample along a row or a column of the table; 0 if there is none. */
static double nearest(const tuner *u, const candidate *c, int row, int per, int down, int right)
{
    for (row += down, per += right; row >= 0 && row < u->head.rows && per >= 0 && per < u->head.per_row; row += down, per += right)
        if (*rate_at(u, c, row, per) > 0) return (double)*rate_at(u, c, row, per);
    return 0;
}

/* 1: far below the geometric mean of its neighbours. */
static int is_odd(const tuner *u, const candidate *c, int row, int per)
{
    static const int way[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
    double sum = 0, v;
    int i, n = 0;
    for (i = 0; i < 4; i++) {
        v = nearest(u, c, row, per, way[i][0], way[i][1]);
        if (v > 0) sum += spmv__log2(v);
        n += v > 0;
    }
    return n && *rate_at(u, c, row, per) > 0 && spmv__log2((double)*rate_at(u, c, row, per)) < sum / n - 0.75;
}

/* Forgets such samples of candidates in front; how many. */
static int forget_odd(tuner *u)
{
    size_t i;
    int row, per, n = 0;
    for (i = 0; i < u->count; i++) {
        candidate *c = &u->c[i];
        c->wanted = 0;
        if (c->row.type != u->type || c->state != LIVE || !is_front(u, c)) continue;
        c->before = (float *)malloc(TUNE_POINTS * sizeof *c->before);
        if (!c->before) continue;
        memcpy(c->before, c->row.rate, TUNE_POINTS * sizeof *c->before);
        for (row = 0; row < u->head.rows; row++)
            for (per = 0; per < u->head.per_row; per++)
                if (is_odd(u, c, row, per)) c->wanted = ++n;
    }
    for (i = 0; i < u->count; i++)
        for (row = 0; u->c[i].wanted && row < u->head.rows; row++)
            for (per = 0; per < u->head.per_row; per++)
                if (u->c[i].before[row * u->head.per_row + per] > 0 && is_odd(u, &u->c[i], row, per)) *rate_at(u, &u->c[i], row, per) = 0;
    return n;
}

static void tune_again(tuner *u)
{
    size_t i;
    int row, per, p, n = forget_odd(u);
    for (row = 0; n && row < u->head.rows; row++)
        for (per = 0; per < u->head.per_row; per++)
            measure_point(u, row, per, (double)row / u->head.rows, 1.0 / (double)(u->head.rows * u->head.per_row));
    for (i = 0; i < u->count; i++) {
        candidate *c = &u->c[i];
        for (p = 0; c->before && p < u->head.rows * u->head.per_row; p++)
            if (c->before[p] > 0 && !(c->row.rate[p] > 0)) c->row.rate[p] = c->before[p]; /* time ran out first */
        free(c->before);
        c->before = NULL;
    }
}

/* ---- the head ---------------------------------------------------------------------------------------------------- */

static void raise_to(double *v, double to)
{
    if (to > *v) *v = to;
}

/* The cache, as products in a row have it: what is read again and again, of rising size. From the size that is read fastest it reaches to
 * the last that is read clearly faster than memory; half of that tells the rate. read: GB/s of so many bytes, or 0. */
static void probe_cache(tuner *u, size_t most, double (*read)(void *, size_t), void *me)
{
    double bytes, rates[64], sizes[64];
    int n = 0, top = 0, last, i;
    for (bytes = 1 << 20; bytes <= (double)most && n < 64; bytes *= 1.25, n++) {
        sizes[n] = (double)((size_t)bytes >> 18 << 18);
        rates[n] = read(me, (size_t)sizes[n]);
        if (rates[n] > rates[top]) top = n;
    }
    for (last = top; last + 1 < n && rates[last + 1] > 1.3 * u->head.read;) last++;
    if (!n || rates[top] <= 1.3 * u->head.read) return;
    for (i = top; sizes[i] < sizes[last] / 2;) i++;
    u->head.cache = sizes[last] / 1048576;
    u->head.cache_read = rates[i];
}

/* Eight sums: an addition waits for the one before it. */
static double host_sum(const double *a, int64_t n)
{
    double sum = 0;
    int64_t i;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) reduction(+ : sum)
#endif
    for (i = 0; i < n / 8; i++) {
        const double *p = a + 8 * i;
        sum += ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]));
    }
    return sum;
}

static double host_again(void *me, size_t bytes)
{
    const double *a = (const double *)me;
    double best = 0, from, took, sum = 0;
    int run, i;
    for (run = 0; run < 5; run++) {
        from = seconds();
        for (i = 0; i < 8; i++) sum += host_sum(a, (int64_t)(bytes / sizeof *a));
        took = seconds() - from;
        if (sum > 0 && took > 0) raise_to(&best, 8e-9 * (double)bytes / took);
    }
    return best;
}

/* GB/s of the best of some runs: what the memory can do, not what the machine did meanwhile. */
static void host_bandwidth(tuner *u)
{
    int64_t n = 1 << 23, i;
    int run;
    double *a = (double *)malloc((size_t)n * sizeof *a), *b = (double *)malloc((size_t)n * sizeof *b);
    double from, copy = 1e9, read = 1e9, sum = 0, took;
    for (i = 0; a && b && i < n; i++) a[i] = b[i] = 1;
    for (run = 0; a && b && run < 5; run++) {
        from = seconds();
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
        for (i = 0; i < n; i++) b[i] = a[i];
        took = seconds() - from;
        if (took < copy) copy = took;
        from = seconds();
        sum += host_sum(b, n);
        took = seconds() - from;
        if (took < read) read = took;
    }
    if (a && b && sum > 0) {
        raise_to(&u->head.copy, 16e-9 * (double)n / copy);
        raise_to(&u->head.read, 8e-9 * (double)n / read);
        probe_cache(u, (size_t)n * sizeof *b, host_again, b);
    }
    free(a);
    free(b);
}

static void host_head(tuner *u)
{
    int threads = 1;
#ifdef _OPENMP
    threads = omp_get_max_threads();
#endif
    snprintf(u->head.device, sizeof u->head.device, "host");
    snprintf(u->head.device_class, sizeof u->head.device_class, "host");
#if defined(__clang__)
    snprintf(u->head.driver, sizeof u->head.driver, "%s, %d threads", __VERSION__, threads);
#elif defined(__GNUC__)
    snprintf(u->head.driver, sizeof u->head.driver, "gcc %s, %d threads", __VERSION__, threads);
#endif
    u->head.units = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
#ifdef _SC_PHYS_PAGES
    u->head.memory = (uint64_t)sysconf(_SC_PHYS_PAGES) / 1024 * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
#endif
    host_bandwidth(u);
}

#ifndef SPMV_NO_OPENCL
/* Which order of reading a device likes is not known beforehand: load takes both. */
static const char bandwidth_source[] =
    "__kernel void move(__global const float4 *a, __global float4 *b) { size_t i = get_global_id(0); b[i] = a[i]; }\n"
    "__kernel void load(__global const float4 *a, __global float4 *b, uint first, uint step) {\n"
    "    size_t i = get_global_id(0) * (size_t)first; float4 s = (float4)(0);\n"
    "    for (uint j = 0; j < 64; j++, i += step) s += a[i];\n"
    "    if (s.x + s.y + s.z + s.w > 1e30f) b[get_global_id(0)] = s; }\n"
    "__kernel void again(__global const float4 *a, __global float4 *b, uint times) {\n"
    "    uint n = get_global_size(0), at = get_global_id(0); float4 s = (float4)(0);\n"
    "    for (uint k = 0; k < times; k++, at = (at + n / 3 + 1) % n)\n" /* what another group has read */
    "        for (uint j = 0; j < 64; j++) s += a[at + (size_t)j * n];\n"
    "    if (s.x + s.y + s.z + s.w > 1e30f) b[get_global_id(0)] = s; }\n";

/* Seconds of a run in the fastest of some; 0 if it does not run. */
static double kernel_seconds(cl_command_queue q, cl_kernel k, size_t global, int launches)
{
    size_t local = 256;
    double best = 0, from, took;
    int i, j;
    for (i = 0; i < 5; i++) {
        cl_int code = CL_SUCCESS;
        from = seconds();
        for (j = 0; j < launches && code == CL_SUCCESS; j++) code = clEnqueueNDRangeKernel(q, k, 1, NULL, &global, &local, 0, NULL, NULL);
        if (code == CL_SUCCESS) code = clFinish(q);
        if (code != CL_SUCCESS) return 0;
        took = (seconds() - from) / launches;
        if (!i || took < best) best = took;
    }
    return best;
}

typedef struct cache_reader {
    cl_command_queue q;
    cl_kernel        k;
    double           enough; /* bytes that take about half a millisecond */
} cache_reader;

static double device_again(void *me, size_t bytes)
{
    const cache_reader *r = (const cache_reader *)me;
    cl_uint times = r->enough > 4 * (double)bytes ? (cl_uint)(r->enough / (double)bytes) : 4;
    double took;
    clSetKernelArg(r->k, 2, sizeof times, &times);
    took = kernel_seconds(r->q, r->k, bytes / 16 / 64, 1);
    return took > 0 ? 1e-9 * times * (double)bytes / took : 0;
}

static void device_cache(tuner *u, cl_program p, cl_mem *m, size_t bytes)
{
    cache_reader r;
    int i;
    r.q = u->device->queue;
    r.enough = 0.5e-3 * 1e9 * u->head.read;
    r.k = clCreateKernel(p, "again", NULL);
    if (!r.k) return;
    for (i = 0; i < 2; i++) clSetKernelArg(r.k, (cl_uint)i, sizeof m[i], &m[i]);
    probe_cache(u, bytes, device_again, &r);
    clReleaseKernel(r.k);
}

static void bandwidth_run(tuner *u, cl_program p, cl_mem *m, size_t bytes)
{
    size_t items = bytes / 16;
    cl_uint first[2] = {1, 64}, step[2] = {(cl_uint)(items / 64), 1}; /* neighbours read neighbours, or each its own stretch */
    cl_kernel move = clCreateKernel(p, "move", NULL), load = clCreateKernel(p, "load", NULL);
    double took;
    int i;
    for (i = 0; move && load && i < 2; i++) {
        clSetKernelArg(move, (cl_uint)i, sizeof m[i], &m[i]);
        clSetKernelArg(load, (cl_uint)i, sizeof m[i], &m[i]);
    }
    if (move && load) {
        took = kernel_seconds(u->device->queue, move, items, 4);
        if (took > 0) raise_to(&u->head.copy, 2e-9 * (double)bytes / took);
        for (i = 0; i < 2; i++) {
            clSetKernelArg(load, 2, sizeof first[i], &first[i]);
            clSetKernelArg(load, 3, sizeof step[i], &step[i]);
            took = kernel_seconds(u->device->queue, load, items / 64, 4);
            if (took > 0) raise_to(&u->head.read, 1e-9 * (double)bytes / took);
        }
    }
    if (move) clReleaseKernel(move);
    if (load) clReleaseKernel(load);
}

static void device_bandwidth(tuner *u, int gpu)
{
    const char *source = bandwidth_source;
    size_t bytes = gpu ? 512u << 20 : 128u << 20, length = sizeof bandwidth_source - 1;
    cl_mem m[2];
    cl_float zero = 0;
    cl_device_id id = u->device->info.id;
    cl_program p = clCreateProgramWithSource(u->device->context, 1, &source, &length, NULL);
    int i, fine;
    while (bytes > 1u << 20 && (bytes > u->device->info.alloc_bytes || bytes > u->device->info.global_bytes / 4)) bytes /= 2;
    for (i = 0; i < 2; i++) m[i] = clCreateBuffer(u->device->context, CL_MEM_READ_WRITE, bytes, NULL, NULL);
    fine = p && m[0] && m[1] && clBuildProgram(p, 1, &id, "", NULL, NULL) == CL_SUCCESS;
    for (i = 0; fine && i < 2; i++)
        fine = clEnqueueFillBuffer(u->device->queue, m[i], &zero, sizeof zero, 0, bytes, 0, NULL, NULL) == CL_SUCCESS;
    fine = fine && u->device->info.group_size >= 256;
    if (fine) bandwidth_run(u, p, m, bytes);
    raise_to(&u->head.read, u->head.copy); /* a compiler may have made load slower than memory is: Intel's for CPUs does */
    if (fine) device_cache(u, p, m, bytes / 2);
    for (i = 0; i < 2; i++)
        if (m[i]) clReleaseMemObject(m[i]);
    if (p) clReleaseProgram(p);
}

static int device_head(tuner *u)
{
    const spmv_device_info *d = &u->device->info;
    int gpu = d->type != SPMV_DEVICE_CPU;
    cl_int code[2];
    size_t bytes = (size_t)u->head.rows_at[u->head.rows - 1] * sizeof(double);
    if (bytes < tune_per[TUNE_PER - 1] * sizeof(double)) bytes = (size_t)tune_per[TUNE_PER - 1] * sizeof(double);
    spmv_print(u->head.device, sizeof u->head.device, "%s", d->name);
    snprintf(u->head.device_class, sizeof u->head.device_class, gpu ? "gpu" : "cpu");
    spmv_print(u->head.driver, sizeof u->head.driver, "%s", d->driver);
    u->head.units = d->compute_units;
    u->head.memory = d->global_bytes >> 20;
    device_bandwidth(u, gpu);
    u->run.t = u->t;
    u->run.cl_x = clCreateBuffer(u->device->context, CL_MEM_READ_ONLY, bytes, NULL, &code[0]);
    u->run.cl_y = clCreateBuffer(u->device->context, CL_MEM_READ_WRITE, bytes, NULL, &code[1]);
    if (code[0] != CL_SUCCESS || code[1] != CL_SUCCESS) return complain(u->t, "buffers for the vectors: OpenCL error %d", (int)code[0]);
    return DONE;
}
#endif

static void head_print(const tuner *u)
{
    fprintf(stderr, "%s (%s), %llu units: copies %.4g GB/s, reads %.4g GB/s", u->head.device, u->head.driver,
            (unsigned long long)u->head.units, u->head.copy, u->head.read);
    if (u->head.cache > 0) fprintf(stderr, ", %.0f MiB of cache %.4g GB/s", u->head.cache, u->head.cache_read);
    fputc('\n', stderr);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* x of the present type on the device: whole, as every matrix's x is its beginning. */
static int tune_inputs(tuner *u)
{
#ifndef SPMV_NO_OPENCL
    uint64_t n = u->head.rows_at[u->head.rows - 1], k;
    size_t width = spmv_vector_size(u->type);
    void *x;
    cl_int code;
    if (n < tune_per[TUNE_PER - 1]) n = tune_per[TUNE_PER - 1];
    if (!u->device) return DONE;
    x = malloc((size_t)n * width);
    if (!x) return no_memory(u->t);
    for (k = 0; k < n; k++) put(u->type, x, k, whole_value(k, 4));
    code = clEnqueueWriteBuffer(u->device->queue, u->run.cl_x, CL_TRUE, 0, (size_t)n * width, x, 0, NULL, NULL);
    free(x);
    if (code != CL_SUCCESS) return complain(u->t, "copying x: OpenCL error %d", (int)code);
#else
    (void)u;
#endif
    return DONE;
}

/* The head's launch: a product of a matrix of one nonzero, timed as all others are. */
static int tune_launch(tuner *u)
{
    static const uint64_t ptr[2] = {0, 1};
    static const uint32_t col[1] = {0};
    static const double one[1] = {1};
    static const float short_one[1] = {1};
    double x = 1, y = 0, took = 0;
    spmv_csr a;
    spmv_desc desc;
    runner r;
    spmv_status s;
    memset(&a, 0, sizeof a);
    memset(&desc, 0, sizeof desc);
    a.rows = a.cols = a.nnz = 1;
    a.ptr = ptr;
    a.col = col;
    a.type = desc.type = SPMV_F64;
    a.val = one;
#ifndef SPMV_NO_OPENCL
    if (u->device && !u->device->info.f64) {
        a.type = desc.type = SPMV_F32;
        a.val = short_one;
    }
#endif
    (void)short_one;
    desc.csr = &a;
    desc.device = u->device;
    desc.hooks = u->t->hooks;
    s = runner_open(&r, u->t, &desc, &x, &y);
    if (s == SPMV_OK) s = sample_many(&r, 0.25, &took);
    runner_close(&r);
    if (took > 0 && (!(u->head.launch > 0) || took < u->head.launch)) u->head.launch = took;
    return s == SPMV_OK ? DONE : FAILED;
}

static void tune_phase(tuner *u, const char *name, double share, double until)
{
    u->done += u->share;
    u->share = share;
    u->phase = name;
    u->until = until < u->end ? until : u->end;
}

/* One type's three phases within a share of the whole work, by end at the latest. */
static int tune_type(tuner *u, double share, double end)
{
    double now = seconds(), time = end - now;
    int knobs = u->device != NULL;
    if (tune_inputs(u) != DONE) return FAILED;
    layouts_add(u);
    tune_phase(u, "layouts", share * 0.2, now + time * 0.4);
    tune_layouts(u);
    if (knobs) {
        tune_phase(u, "knobs", share * 0.35, now + time * 0.55);
        tune_variants(u);
    }
    tune_phase(u, "grid", share * (knobs ? 0.4 : 0.75), now + time * 0.92);
    tune_grid(u, GRID_FRONT | GRID_FLAT, 0, 0.3);
    tune_grid(u, GRID_FRONT, 0.3, 0.3);
    tune_grid(u, 0, 0.6, 0.4);
    tune_phase(u, "again", share * 0.05, end);
    tune_again(u);
    return DONE;
}

/* The first type gets more of the time than each of the others, which begin with what it found. */
static int tune_types(tuner *u, unsigned types)
{
    int type, left = 0, result = DONE;
    double whole = 1;
    for (type = 0; type < SPMV_TYPE_COUNT; type++) left += (int)(types >> type & 1u);
    for (type = 0; type < SPMV_TYPE_COUNT && result == DONE; type++) {
        double share = left > 1 ? whole * 1.2 / (left + 0.2) : whole, now = seconds();
        if (!(types >> type & 1u)) continue;
        u->type = (spmv_type)type;
        result = tune_type(u, share, u->end < 1e299 ? now + (u->end - now) * share / whole : u->end);
        whole -= share;
        left--;
    }
    return result;
}

/* The candidates that gave anything, as a table. */
static int tune_table(tuner *u, spmv_tuning *out)
{
    size_t i, room = 0;
    int p, points = u->head.rows * u->head.per_row;
    *out = u->head;
    for (i = 0; i < u->count; i++) {
        const candidate *c = &u->c[i];
        spmv_tune_row *r;
        for (p = 0; p < points && !(c->row.rate[p] > 0); p++) continue;
        if (p == points || c->state == STRUCK) continue;
        r = table_add(out, &room);
        if (!r) return no_memory(u->t);
        r->type = c->row.type;
        r->kind = c->row.kind;
        r->layout = c->row.layout;
        memcpy(r->variant, c->row.variant, sizeof r->variant);
        for (p = 0; p < points; p++) r->rate[p] = c->row.rate[p] > 0 ? c->row.rate[p] : 0;
    }
    return DONE;
}

/* The head's figures once more, at another time: the best counts. */
static int tune_speed(tuner *u)
{
#ifndef SPMV_NO_OPENCL
    if (u->device) device_bandwidth(u, u->device->info.type != SPMV_DEVICE_CPU);
#endif
    if (!u->device) host_bandwidth(u);
    return tune_launch(u);
}

static int tune_finish(tuner *u, const char *path)
{
    spmv_tuning table;
    size_t rows = 0, bytes = 0;
    int result = tune_table(u, &table);
    progress_clear(u->t);
    if (result == DONE && !table.count) result = complain(u->t, "nothing could be measured");
    if (result == DONE) result = table_save(u->t, &table, path, &rows, &bytes);
    if (result == DONE)
        fprintf(stderr, "%s: %u candidates, %u samples (and %u from before), %u struck out; %u rows in %u bytes; %.0f s%s\n",
                u->head.device, (unsigned)u->count, (unsigned)u->samples, (unsigned)u->recalled, (unsigned)u->struck,
                (unsigned)rows, (unsigned)bytes, seconds() - u->begun, u->complete ? "" : "; --resume would go on");
    spmv_tuning_free(&table);
    return result;
}

static void tuner_free(tuner *u)
{
    size_t i;
    for (i = 0; i < u->count; i++) free(u->c[i].row.rate);
    free(u->c);
    for (i = 0; i < TUNE_SLOTS; i++) {
        slot_empty(&u->slots[i]);
        workload_free(&u->slots[i].w);
    }
    text_free(&u->past);
#ifndef SPMV_NO_OPENCL
    runner_close_cl(&u->run);
#endif
    device_close(u->device);
}

static void tuner_sizes(tuner *u, uint64_t rows_max)
{
    int i;
    for (i = 0; i < TUNE_ROWS; i++)
        if (!i || tune_rows[i] <= rows_max) u->head.rows_at[u->head.rows++] = tune_rows[i];
    for (i = 0; i < TUNE_PER; i++) u->head.per_row_at[u->head.per_row++] = tune_per[i];
}

/* What the device is and can do. The host's memory is slower and its caches smaller: fewer nonzeros show as much there. */
static int tuner_open(tuner *u, const arguments *args)
{
    time_t now = time(NULL);
    struct tm utc;
    if (device_open(u->t, args->value[OPT_DEVICE], &u->device) != DONE) return FAILED;
    if (gmtime_r(&now, &utc)) strftime(u->head.date, sizeof u->head.date, "%Y-%m-%d", &utc);
    u->most = (uint64_t)1 << 22;
#ifndef SPMV_NO_OPENCL
    if (u->device && u->device->info.type != SPMV_DEVICE_CPU) u->most = (uint64_t)1 << 24;
    if (u->device && device_head(u) != DONE) return FAILED;
#endif
    if (!u->device) host_head(u);
    if (tune_launch(u) != DONE) return FAILED;
    head_print(u);
    return DONE;
}

/* 1u << type for each that was asked for and that the device has. */
static unsigned tune_what(tool *t, const arguments *args, int *result)
{
    if (!args->value[OPT_TYPE] || !strcmp(args->value[OPT_TYPE], "all")) return 1u << SPMV_F64 | 1u << SPMV_F32;
    return 1u << option_type(t, args, result);
}

static int tune_run(tool *t, const arguments *args, unsigned types, double budget, uint64_t rows_max)
{
    tuner *u = (tuner *)calloc(1, sizeof *u);
    int result;
    if (!u) return no_memory(t);
    u->t = t;
    u->patience = budget > 0 && budget < 500 ? budget / 2000 : 0.25;
    u->complete = 1;
    u->at = u->slots;
    u->head.hooks = t->hooks;
    progress_begin(t);
    tuner_sizes(u, rows_max);
    result = journal_begin(u, args->value[OPT_OUT], args->value[OPT_RESUME] != NULL);
    if (result == DONE) result = tuner_open(u, args);
#ifndef SPMV_NO_OPENCL
    if (u->device && !u->device->info.f64) types &= 1u << SPMV_F32;
#endif
    if (result == DONE) result = journal_open(u, args->value[OPT_RESUME] != NULL);
    u->begun = seconds();
    u->end = u->until = budget > 0 ? u->begun + budget : 1e300;
    if (result == DONE) result = tune_types(u, types);
    if (result == DONE && u->failures < TUNE_FAILURES) result = tune_speed(u);
    if (result == DONE) result = tune_finish(u, args->value[OPT_OUT]);
    journal_close(u, result);
    tuner_free(u);
    free(u);
    return result;
}

static int tune_command(tool *t, const arguments *args)
{
    int result = DONE;
    unsigned types = tune_what(t, args, &result);
    double budget = option_real(t, args, OPT_BUDGET, 0, 0.001, 1e9, &result); /* seconds */
    uint64_t rows = option_count(t, args, OPT_ROWS_MAX, UINT64_C(1) << 53, 1024, UINT64_C(1) << 53, &result);
    if (result != DONE) return result;
    if (args->value[OPT_MERGE] && args->value[OPT_COMPARE]) return misuse(t, "--merge or --compare, not both");
    if (!args->value[OPT_MERGE] && !args->value[OPT_COMPARE] && args->files)
        return misuse(t, "one argument too many: '%s'", args->file[0]);
    if (args->value[OPT_MERGE] && args->files < 1) return misuse(t, "--merge wants tables");
    if (args->value[OPT_MERGE]) return merge_tables(t, args);
    if (args->value[OPT_COMPARE]) return compare_tables(t, args);
    return tune_run(t, args, types, budget, rows);
}

#endif
