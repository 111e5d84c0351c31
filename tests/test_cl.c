/* SPDX-License-Identifier: MIT
 * Products on a device: an OpenCL device, or a GPU by CUDA, where tests of OpenCL's own calls are skipped. SPMV_TEST_DEVICE chooses it as
 * spmv_device_create does (unset: its default; "cuda:" is the first by CUDA); SPMV_TEST_SMALL, set to anything, leaves out the larger
 * matrices (for simulators). */
#include "self/defect.h"
#define SPMV_IMPLEMENTATION
#include "../spmv.h"
#include "../tools/measure/selfcheck.h"
#include <criterion/criterion.h>
#include "final.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define LENGTH(a) (sizeof(a) / sizeof *(a))

/* ---- the awkward matrices ----------------------------------------------------------------------------------------- */
enum { NOTHING, FULL, RANDOM, BAND, TRIDIAGONAL, FIRST_EMPTY, LAST_EMPTY, ONE_BUT, ONE_ROW, ONE_COLUMN, LENGTHS, BLOCKS, SKEW, FAR,
       FAR_ALL };

static const struct shape {
    unsigned rows, cols;
    int kind;
} shapes[] = {
    { 0, 0, NOTHING }, { 0, 5, NOTHING }, { 5, 0, NOTHING }, { 1, 1, NOTHING }, { 1, 1, FULL }, { 1, 300, FULL },
    { 300, 1, FULL }, { 31, 31, RANDOM }, { 32, 32, RANDOM }, { 33, 33, RANDOM }, { 65, 65, BAND }, { 65, 40, BAND },
    { 40, 65, BAND }, { 200, 500, BAND }, { 33, 7, FULL }, { 7, 33, FULL }, { 100, 100, NOTHING }, { 100, 100, FIRST_EMPTY },
    { 100, 100, LAST_EMPTY }, { 100, 90, ONE_BUT }, { 200, 150, ONE_ROW }, { 150, 200, ONE_COLUMN }, { 142, 90, LENGTHS },
    { 1000, 1000, TRIDIAGONAL }, { 1000, 1000, RANDOM }, { 1000, 997, BLOCKS }, { 5000, 5000, SKEW }, { 5000, 300, RANDOM },
    { 300, 5000, RANDOM }, { 1, 70000, FULL }, { 4, 9001, FULL }, { 3000, 3000, ONE_ROW },
    { 40, 140000, FAR }, { 6, 140000, FAR_ALL }
};

static unsigned noise(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static int filled(const struct shape *s, unsigned r, unsigned c, unsigned *state)
{
    switch (s->kind) {
    case NOTHING: return 0;
    case FULL: return 1;
    case BAND: return c + 6 >= r && c <= r + 9 && (r + c) % 5 != 3 && (c + 3 - r) % 11 != 0;
    case TRIDIAGONAL: return c + 1 >= r && c <= r + 1;
    case FIRST_EMPTY: return r >= 40 && (r * 7 + c) % 13 == 0;
    case LAST_EMPTY: return r < 60 && (r * 7 + c) % 13 == 0;
    case ONE_BUT: return r == 77 && c % 30 == 1;
    case ONE_ROW: return r == s->rows / 2;
    case ONE_COLUMN: return c == s->cols / 2;
    case LENGTHS: return c < r % 71;
    case BLOCKS: return (r / 3 * 5 + c / 3 * 3) % 97 == 0;
    case FAR: return c / 100 == r || (r / 10 % 2 && c % 7000 == r);
    case FAR_ALL: return c / 100 == r || c % 7000 == r;
    case SKEW: return r == 17 || (c * 31 + r) % 2500 == 0 || (r % 640 == 5 && c % 3 == 0);
    default: return noise(state) % (s->cols < 40 ? 4 : s->cols / 7) == 0;
    }
}

/* A matrix with two sets of values: small integers, whose sums are exact, and reals. */
typedef struct matrix {
    unsigned rows, cols;
    uint64_t nnz, *ptr;
    uint32_t *col;
    double *val;
} matrix;

static double number(unsigned *state, int real)
{
    double v;
    if (!real) return (double)(noise(state) % 7) - 3.5 < 0 ? -1.0 - noise(state) % 3 : 1.0 + noise(state) % 3;
    v = ((double)noise(state) + 1) / 16777216.0 - 0.5;
    switch (noise(state) % 3) {
    case 0: v *= 1000; break;
    case 1: v /= 512; break;
    default: break;
    }
    return (float)v;
}

/* Made once in a process for each shape and kind of values, and never freed. */
static matrix matrix_make(const struct shape *s, int real)
{
    static matrix made[LENGTH(shapes)][2];
    matrix *m = &made[s - shapes][real];
    unsigned r, c, state = 7, values = 99;
    uint64_t room = 16;
    if (m->ptr) return *m;
    m->rows = s->rows;
    m->cols = s->cols;
    m->ptr = calloc(s->rows + 1, sizeof *m->ptr);
    m->col = malloc(room * sizeof *m->col);
    for (r = 0; r < s->rows; r++) {
        for (c = 0; c < s->cols; c++) {
            if (!filled(s, r, c, &state)) continue;
            if (m->nnz == room) m->col = realloc(m->col, (room *= 2) * sizeof *m->col);
            m->col[m->nnz++] = c;
        }
        m->ptr[r + 1] = m->nnz;
    }
    m->val = malloc((m->nnz + 1) * sizeof *m->val);
    for (room = 0; room < m->nnz; room++) m->val[room] = number(&values, real);
    return *m;
}

/* ---- small helpers ------------------------------------------------------------------------------------------------ */
static char said[8192]; /* the latest messages */

static void listen(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    snprintf(said, sizeof said, "%s", message);
}

static const char *which(void)
{
    const char *device = getenv("SPMV_TEST_DEVICE");
    return device ? device : "";
}

static int wanted(const struct shape *s) { return !getenv("SPMV_TEST_SMALL") || s->rows * s->cols < 20000; }

static spmv_device open_device(void)
{
    spmv_device_desc desc = { 0 };
    spmv_device d;
    desc.which = which();
    desc.hooks.log = listen;
    cr_assert_eq(spmv_device_create(&d, &desc), SPMV_OK, "%s", said);
    return d;
}

/* Makes a store from a plan's text. Returns 0 if the plan is refused for this matrix, for example because it would be too large. */
static int store_make(spmv_store *out, const matrix *m, const char *text, spmv_type type, int updatable)
{
    spmv_input in = { 0 };
    spmv_build how = { 0 };
    spmv_hooks hooks = { 0 };
    spmv_plan plan;
    spmv_csr csr;
    spmv_status s;
    hooks.log = listen;
    in.rows = m->rows;
    in.cols = m->cols;
    in.ptr = m->ptr;
    in.ptr_bits = 64;
    in.col = m->col;
    in.val = m->val;
    in.val_type = SPMV_F64;
    in.updatable = updatable;
    how.type = type;
    how.updatable = updatable;
    how.max_bytes = 8000000;
    cr_assert_eq(spmv_plan_parse(&plan, text, NULL, &hooks), SPMV_OK, "%s: %s", text, said);
    cr_assert_eq(spmv_csr_create(&csr, &in, type, &hooks), SPMV_OK, "%s", said);
    s = spmv_store_create(out, &plan, &csr, &how, &hooks);
    spmv_csr_destroy(&csr);
    cr_assert(s == SPMV_OK || s == SPMV_ERR_TOO_LARGE || s == SPMV_ERR_INCOMPLETE, "%s: %s", text, said);
    return s == SPMV_OK;
}

/* Makes a store and variants from "PLAN/KNOBS"; without knobs, all have their defaults. */
static int variants_make(spmv_store *out, spmv_variant *v, const matrix *m, const char *text, spmv_type type, int updatable)
{
    char plan[128];
    const char *slash = strchr(text, '/');
    size_t n = slash ? (size_t)(slash - text) : strlen(text);
    memcpy(plan, text, n);
    plan[n] = 0;
    if (!store_make(out, m, plan, type, updatable)) return 0;
    cr_assert_eq(spmv_variants_parse(v, out, slash ? slash + 1 : "", NULL), SPMV_OK);
    return 1;
}

static int by_opencl(const spmv_device *d) { return d->info.backend == spmv_opencl(); }

/* In tests of what OpenCL alone has. */
#define OPENCL_ONLY(d)                                                    \
    do {                                                                  \
        if (!by_opencl(&(d))) {                                           \
            spmv_device_destroy(&(d));                                      \
            cr_skip("the device is not driven by OpenCL");                \
        }                                                                 \
    } while (0)

static void *buffer(const spmv_device *d, size_t bytes)
{
    void *mem = NULL;
    cr_assert_eq(spmv_buffer_create(d, bytes, &mem), SPMV_OK, "%s", said);
    return mem;
}

static void write_mem(const spmv_device *d, void *queue, void *mem, size_t bytes, const void *data)
{
    cr_assert_eq(d->info.backend->write(d, queue, mem, bytes, data), SPMV_OK, "%s", said);
}

static void read_mem(const spmv_device *d, void *queue, void *mem, size_t bytes, void *data)
{
    cr_assert_eq(d->info.backend->read(d, queue, mem, bytes, data, NULL), SPMV_OK, "%s", said);
}

/* Vectors of either type, accessed as doubles. */
static void set(void *v, spmv_type t, size_t i, double x)
{
    if (t == SPMV_F32) ((float *)v)[i] = (float)x;
    else ((double *)v)[i] = x;
}

static double get(const void *v, spmv_type t, size_t i) { return t == SPMV_F32 ? ((const float *)v)[i] : ((const double *)v)[i]; }

/* ---- one product, compared with a plain loop ----------------------------------------------------------------------- */
enum { X_FRONT = 5, Y_FRONT = 7, BEHIND = 9 };
static const double canary = 1234.0;

typedef struct bench {
    const spmv_device *d; /* must stay where it is */
    const matrix *m;
    spmv_type type;
    int real;
    double *x, *y; /* what the product starts from */
    void *xs, *ys; /* as the device gets them: in the type of the product, with guard elements around */
    void *xd, *yd;
} bench;

static size_t x_bytes(const bench *b) { return (b->m->cols + X_FRONT + BEHIND) * spmv_vector_size(b->type); }
static size_t y_bytes(const bench *b) { return (b->m->rows + Y_FRONT + BEHIND) * spmv_vector_size(b->type); }

static bench bench_make(const spmv_device *d, const matrix *m, spmv_type type, int real)
{
    bench b = { 0 };
    unsigned i, state = 5;
    b.d = d;
    b.m = m;
    b.type = type;
    b.real = real;
    b.x = malloc((m->cols + 1) * sizeof *b.x);
    b.y = malloc((m->rows + 1) * sizeof *b.y);
    b.xs = malloc(x_bytes(&b));
    b.ys = malloc(y_bytes(&b));
    for (i = 0; i < m->cols; i++) b.x[i] = number(&state, real);
    for (i = 0; i < m->rows; i++) b.y[i] = number(&state, real);
    for (i = 0; i < m->cols + X_FRONT + BEHIND; i++) set(b.xs, type, i, NAN);
    for (i = 0; i < m->cols; i++) set(b.xs, type, i + X_FRONT, b.x[i]);
    b.xd = buffer(d, x_bytes(&b));
    b.yd = buffer(d, y_bytes(&b));
    write_mem(d, d->queue, b.xd, x_bytes(&b), b.xs);
    return b;
}

static void bench_free(bench *b)
{
    spmv_buffer_destroy(b->d, b->xd);
    spmv_buffer_destroy(b->d, b->yd);
    free(b->x);
    free(b->y);
    free(b->xs);
    free(b->ys);
}

static void bench_start(bench *b, void *q, double beta)
{
    size_t i;
    for (i = 0; i < b->m->rows + Y_FRONT + BEHIND; i++) set(b->ys, b->type, i, canary);
    for (i = 0; i < b->m->rows; i++) set(b->ys, b->type, i + Y_FRONT, beta == 0 ? NAN : b->y[i]);
    write_mem(b->d, q, b->yd, y_bytes(b), b->ys);
}

/* Compares y with the plain loop: integers must be equal, reals within the error bound of their row. */
static void bench_check(bench *b, void *q, double alpha, double beta, const char *what)
{
    const matrix *m = b->m;
    double u = b->type == SPMV_F32 ? 5.9604644775390625e-8 : 1.1102230246251565e-16;
    size_t i;
    uint64_t k;
    read_mem(b->d, q, b->yd, y_bytes(b), b->ys);
    for (i = 0; i < Y_FRONT; i++) cr_assert_eq(get(b->ys, b->type, i), canary, "%s: written before y", what);
    for (i = 0; i < BEHIND; i++) cr_assert_eq(get(b->ys, b->type, i + Y_FRONT + m->rows), canary, "%s: written behind y", what);
    for (i = 0; i < m->rows; i++) {
        double got = get(b->ys, b->type, i + Y_FRONT);
        long double sum = 0, size = 0, want, bound;
        for (k = m->ptr[i]; k < m->ptr[i + 1]; k++) {
            sum += (long double)m->val[k] * b->x[m->col[k]];
            size += fabsl((long double)m->val[k] * b->x[m->col[k]]);
        }
        want = alpha * sum + (beta == 0 ? 0 : (long double)beta * b->y[i]);
        bound = b->real ? (m->ptr[i + 1] - m->ptr[i] + 4) * u * (fabsl(alpha) * size + fabsl((long double)beta * b->y[i])) : 0;
        if (!(fabsl(got - want) <= bound))
            cr_assert(0, "%s, %s, %ux%u, alpha %g, beta %g: y[%zu] is %.17g, not %.17Lg (bound %Lg)", what,
                      spmv_type_name(b->type), m->rows, m->cols, alpha, beta, i, got, want, bound);
    }
}

/* Returns 1 if the product was made, 0 if the device or the part does not allow this variant. */
static int try_store(spmv_device *d, bench *b, const spmv_store *store, const spmv_variant *v, const char *what, int few)
{
    static const double factors[] = { 1, 0, -2.5 };
    spmv_device_matrix a;
    spmv_exec e;
    size_t i, j;
    spmv_status s = spmv_device_matrix_create(&a, d, store->rows, store->cols, b->type, store->part, (size_t)store->count, v);
    if (v && (s == SPMV_ERR_LIMIT || s == SPMV_ERR_UNSUPPORTED)) return 0;
    cr_assert_eq(s, SPMV_OK, "%s: %s", what, said);
    cr_assert_eq(spmv_exec_create(&e, &a, NULL), SPMV_OK, "%s: %s", what, said);
    for (i = 0; i < LENGTH(factors); i++)
        for (j = 0; j < LENGTH(factors); j++) {
            if (few && i != j && i * j == 0) continue;
            bench_start(b, d->queue, factors[j]);
            cr_assert_eq(spmv_exec_mul(&e, factors[i], b->xd, X_FRONT, factors[j], b->yd, Y_FRONT), SPMV_OK,
                         "%s: %s", what, said);
            bench_check(b, d->queue, factors[i], factors[j], what);
        }
    spmv_exec_destroy(&e);
    spmv_device_matrix_destroy(&a);
    return 1;
}

/* On devices where compiling is slow only the first plan of each format is tried with all types: the mixed type has no code of its own, and
 * f64 and f32 take turns with the others. */
static int takes_type(const spmv_device *d, int type, size_t plan)
{
    if (type != SPMV_F32 && !d->info.f64) return 0;
    if (!plan || d->info.type != SPMV_DEVICE_CPU || !d->info.f64 || getenv("SPMV_TEST_PAIRS")) return 1;
    return type == (plan % 2 ? SPMV_F64 : SPMV_F32);
}

/* Tries every plan with every matrix and type. Returns the number of stores that were multiplied. */
static int walk(const char *const *plans, int real)
{
    spmv_device d = open_device();
    int tried = 0, t;
    size_t i, j;
    for (i = 0; i < LENGTH(shapes); i++) {
        matrix m;
        if (!wanted(&shapes[i])) continue;
        m = matrix_make(&shapes[i], real);
        for (t = SPMV_F64; t < SPMV_TYPE_COUNT; t++) {
            bench b;
            if (!takes_type(&d, t, 0)) continue;
            b = bench_make(&d, &m, (spmv_type)t, real);
            for (j = 0; plans[j]; j++) {
                spmv_store store;
                spmv_variant v[SPMV_MAX_PARTS];
                if (!takes_type(&d, t, j)) continue;
                if (!variants_make(&store, v, &m, plans[j], (spmv_type)t, 0)) continue;
                try_store(&d, &b, &store, strchr(plans[j], '/') ? v : NULL, plans[j], real);
                spmv_store_destroy(&store);
                tried++;
            }
            bench_free(&b);
        }
    }
    spmv_device_destroy(&d);
    return tried;
}

static const char *const dense_plans[] = { "dense", "dense:rows=nonempty", NULL };
static const char *const coo_plans[] = { "coo", "coo/STAGE=1,WG=64,PER=7", "coo/STAGE=0,WG=32,PER=3", NULL };
static const char *const csr_plans[] = { "csr", "csr:rows=nonempty", "csr:rows=sorted,sigma=50", "csr:run=32", "csr:run=256",
                                         "csr:run=1024", "csr:run=32,rows=nonempty", "csr:run=100,rows=sorted,sigma=50",
                                         "csr:run=64,idx=16", "csr:run=1024,idx=16,rows=nonempty",
                                         "csr:run=100/STREAM=1,WG=64", "csr:run=64,rows=nonempty,idx=16/STREAM=1,WG=32",
                                         "csr:run=64/STREAM=0,FINISH=1", "csr:run=35,rows=sorted,sigma=9/STREAM=1,FINISH=1",
                                         "csr:run=512,idx=16/STREAM=1,FINISH=1,WG=128", NULL };
static const char *const dia_plans[] = { "dia", NULL };
static const char *const bdia_plans[] = { "bdia", NULL };
static const char *const ell_plans[] = { "ell", "ell:rows=sorted", "ell:w=3+coo",
                                         "ell:idx=16", "ell:idx=16,rows=sorted", "ell:rowmajor=1", "ell:w=3,rowmajor=1+coo",
                                         "ell:rowmajor=1,idx=16,rows=sorted/L=4,UNROLL=4", NULL };
static const char *const sell_plans[] = { "sell", "sell:h=1", "sell:h=7", "sell:h=64,rows=sorted", "sell:grow=0.2",
                                          "sell:h=256,grow=0.5,rows=nonempty", "sell:idx=16", "sell:h=7,idx=16",
                                          "sell:grow=0.2,idx=16,rows=sorted", NULL };
static const char *const bell_plans[] = { "bell", "bell:b=3x3", "bell:b=6x6", "bell:b=1x4", "bell:b=8x8", "bell:idx=16",
                                          "bell:b=3x3,idx=16", NULL };
static const char *const sbell_plans[] = { "sbell", "sbell:b=3x3", "sbell:b=6x6,h=5", "sbell:b=2x2,h=64", "sbell:b=4x8",
                                           "sbell:idx=16", "sbell:b=6x6,h=5,idx=16", NULL };
static const char *const bcsr_plans[] = { "bcsr", "bcsr:b=3x3", "bcsr:b=6x6", "bcsr:b=2x8", "bcsr:b=8x4", "bcsr:idx=16",
                                          "bcsr:b=3x3,idx=16", NULL };
static const char *const cmrs_plans[] = { "cmrs", "cmrs:h=1", "cmrs:h=8,sort=1", "cmrs:h=16", "cmrs:h=2,wide=1",
                                          "cmrs:h=16,wide=1,sort=1,rows=nonempty", "cmrs:h=2/WG=192,L=64", "cmrs:h=16/WG=320,L=32",
                                          "cmrs:h=4/WG=384,L=8", "cmrs:h=8,sort=1/WG=448,L=64,ALIGN=1", NULL };
static const char *const tcsr_plans[] = { "tcsr", "tcsr:tile=512", "tcsr:tile=1024,rows=nonempty", "tcsr:tile=2048/STREAM=1",
                                          "tcsr:tile=512/STREAM=1,FINISH=0", "tcsr:tile=512/STREAM=1,FINISH=1,UNROLL=16",
                                          "tcsr:tile=512,rows=sorted,sigma=50/STREAM=1,FINISH=1", "tcsr:tile=512/STREAM=0,FINISH=1",
                                          "tcsr:tile=1024,rows=nonempty/STREAM=0,FINISH=0,WG=16", "tcsr:tile=512,idx=16/STREAM=1",
                                          "tcsr:idx=16,rows=nonempty/STREAM=0", NULL };
static const char *const mixed_plans[] = { "ell:w=1,rows=nonempty+csr", "coo+csr", "bdia:d=0.6+sbell:b=4x4,d=0.5+sell:w=4+coo",
                                           "ell:w=2+csr:rows=nonempty", "ell:w=2+csr:run=32",
                                           "csr:run=40,rows=nonempty",
                                           "dia:d=0.5+ell:w=1+bcsr:b=2x2,d=0.4+sell:h=8,idx=16",
                                           "ell:w=1+tcsr:tile=512,rows=nonempty", NULL };

#define WALK(name)                                                                           \
    Test(exact, name, .timeout = 300) { cr_assert_gt(walk(name##_plans, 0), 0); }            \
    Test(bound, name, .timeout = 300) { cr_assert_gt(walk(name##_plans, 1), 0); }
#define X(NAME, name, text) WALK(name)
SPMV_FORMAT_LIST(X)
#undef X
WALK(mixed)

/* ---- every legal value of every knob, and every pair of two knobs' values ------------------------------------------ */
enum { MAX_VALUES = 16, MAX_VARIANTS = 1000 };

typedef struct choices {
    int knobs, knob[SPMV_KNOB_COUNT], values[SPMV_KNOB_COUNT], value[SPMV_KNOB_COUNT][MAX_VALUES];
    unsigned char met[SPMV_KNOB_COUNT][MAX_VALUES][SPMV_KNOB_COUNT][MAX_VALUES]; /* pairs, the lower knob first */
} choices;

static choices *choices_make(const spmv_device *d, spmv_format f)
{
    choices *c = calloc(1, sizeof *c);
    int k, i;
    for (k = 0; k < SPMV_KNOB_COUNT; k++) {
        int *values = c->value[c->knobs], n = (int)spmv_knob_values(f, (spmv_knob)k, values, MAX_VALUES);
        cr_assert_leq(n, MAX_VALUES);
        for (i = n; k == SPMV_KNOB_WG && i > 0 && (uint64_t)values[i - 1] > d->info.group_size; i--) n--;
        if (!n) continue;
        c->knob[c->knobs] = k;
        c->values[c->knobs++] = n;
    }
    return c;
}

/* 0 if there are more lanes than a group has items. */
static int fits(const choices *c, const int *at)
{
    int k, lanes = 1, group = 1 << 20;
    for (k = 0; k < c->knobs; k++) {
        if (c->knob[k] == SPMV_KNOB_L) lanes = c->value[k][at[k]];
        if (c->knob[k] == SPMV_KNOB_WG) group = c->value[k][at[k]];
    }
    return lanes <= group;
}

/* The number of pairs in a variant that were not tried before. With mark, they count as tried from now on. */
static int news(choices *c, const int *at, int mark)
{
    int k, q, n = 0;
    for (k = 0; k < c->knobs; k++)
        for (q = k + 1; q < c->knobs; q++) {
            unsigned char *met = &c->met[k][at[k]][q][at[q]];
            n += !*met;
            if (mark) *met = 1;
        }
    return n;
}

/* Makes the next variant from a pair that was not tried and the best of some random values for the rest. 0: all pairs were tried. */
static int next_variant(choices *c, unsigned *state, int *best)
{
    int k, q, i, j, r, try, most = -1;
    for (k = 0; k < c->knobs; k++)
        for (q = k + 1; q < c->knobs; q++)
            for (i = 0; i < c->values[k]; i++)
                for (j = 0; j < c->values[q]; j++) {
                    if (c->met[k][i][q][j]) continue;
                    for (try = 0; try < 60; try++) {
                        int at[SPMV_KNOB_COUNT], n;
                        for (r = 0; r < c->knobs; r++) at[r] = (int)(noise(state) % (unsigned)c->values[r]);
                        at[k] = i;
                        at[q] = j;
                        n = fits(c, at) ? news(c, at, 0) : -1;
                        if (n <= most) continue;
                        most = n;
                        memcpy(best, at, sizeof at);
                    }
                    c->met[k][i][q][j] = 1;
                    if (most < 0) continue;
                    news(c, best, 1);
                    return 1;
                }
    return 0;
}

static void try_variant(spmv_device *d, const char *plan, const spmv_variant *v, spmv_type type, int *tried, int *refused)
{
    static const size_t some[] = { 10, 12, 13, 20, 22, 26, 30, 32 };
    char what[SPMV_VARIANT_TEXT + 64];
    size_t i, used = (size_t)snprintf(what, sizeof what, "%s/", plan);
    spmv_variant_print(v, what + used, sizeof what - used);
    for (i = 0; i < LENGTH(some); i++) {
        matrix m;
        bench b;
        spmv_store store;
        if (!wanted(&shapes[some[i]])) continue;
        m = matrix_make(&shapes[some[i]], 0);
        if (store_make(&store, &m, plan, type, 0)) {
            b = bench_make(d, &m, type, 0);
            said[0] = 0;
            if (try_store(d, &b, &store, v, what, 1)) ++*tried;
            else if (!(*refused)++ || i == 0) printf("refused: %s: %s\n", what, said);
            bench_free(&b);
            spmv_store_destroy(&store);
        }
    }
}

static spmv_variant variant_of(const choices *c, const int *at)
{
    spmv_variant v;
    int k;
    memset(&v, 0, sizeof v);
    for (k = 0; k < c->knobs; k++) {
        v.set |= (uint64_t)1 << c->knob[k];
        v.value[c->knob[k]] = c->value[k][at[k]];
    }
    return v;
}

/* Knobs whose code does not depend on the keys of a format: tried with one plan for each format. */
static const unsigned plain_knobs = 1u << SPMV_KNOB_I64 | 1u << SPMV_KNOB_NT | 1u << SPMV_KNOB_ZERO | 1u << SPMV_KNOB_IMG |
                                    1u << SPMV_KNOB_WG;

static const unsigned sizes = 1u << SPMV_KNOB_I64 | 1u << SPMV_KNOB_NT | 1u << SPMV_KNOB_WG;

/* Tries every value of each knob, with the others at their defaults; the knobs of a mask are left out. */
static void check_singles(spmv_format f, const char *plan, unsigned without)
{
    spmv_device d = open_device();
    choices *c = choices_make(&d, f);
    int k, i, tried = 0, refused = 0;
    for (k = 0; k < c->knobs; k++)
        for (i = 0; i < c->values[k] && !(without >> c->knob[k] & 1u); i++) {
            spmv_variant v;
            memset(&v, 0, sizeof v);
            v.set = (uint64_t)1 << c->knob[k];
            v.value[c->knob[k]] = c->value[k][i];
            try_variant(&d, plan, &v, d.info.f64 && i % 2 && c->knob[k] != SPMV_KNOB_IMG ? SPMV_F64 : SPMV_F32, &tried, &refused);
        }
    cr_assert_gt(tried, refused, "%s: %d products, %d refused: %s", plan, tried, refused, said);
    free(c);
    spmv_device_destroy(&d);
}

/* The types take turns, but images are tried in f32, which every device with images supports. without: as for check_singles. */
static void check_pairs(spmv_format f, const char *plan, unsigned without)
{
    spmv_device d;
    choices *c;
    int at[SPMV_KNOB_COUNT], n, tried = 0, refused = 0;
    unsigned state = 3;
    if (!getenv("SPMV_TEST_PAIRS")) { /* compiling all pairs takes minutes: see make pairs */
        check_singles(f, plan, without);
        return;
    }
    d = open_device();
    c = choices_make(&d, f);
    for (n = 0; next_variant(c, &state, at); n++) {
        spmv_variant v = variant_of(c, at);
        spmv_type type = v.value[SPMV_KNOB_IMG] || !d.info.f64 ? SPMV_F32 : (spmv_type)(SPMV_F64 + n % 3);
        cr_assert_lt(n, MAX_VARIANTS);
        try_variant(&d, plan, &v, type, &tried, &refused);
    }
    cr_assert_gt(tried, refused, "%s: %d products, %d refused: %s", plan, tried, refused, said);
    free(c);
    spmv_device_destroy(&d);
}

#define X(NAME, name, text) \
    Test(pairs, name, .timeout = 600) { check_pairs(SPMV_##NAME, name##_plans[0], 0); }
SPMV_FORMAT_LIST(X)
#undef X
Test(pairs, csr_in_runs, .timeout = 600) { check_pairs(SPMV_CSR, "csr:run=64,idx=16", sizes); }
Test(pairs, small_tiles, .timeout = 600) { check_pairs(SPMV_TCSR, "tcsr:tile=512,idx=16", sizes); }
/* The same with other layouts. */
Test(knobs, csr_in_runs, .timeout = 300) { check_singles(SPMV_CSR, "csr:run=1024,rows=sorted,sigma=50", plain_knobs); }
Test(knobs, ell_narrow, .timeout = 300) { check_singles(SPMV_ELL, "ell:idx=16,rows=sorted", plain_knobs); }
Test(knobs, sell_growing, .timeout = 300) { check_singles(SPMV_SELL, "sell:grow=0.2", plain_knobs); }
Test(knobs, sell_high, .timeout = 300) { check_singles(SPMV_SELL, "sell:h=256,idx=16,rows=nonempty", plain_knobs); }
Test(knobs, sell_odd, .timeout = 300) { check_singles(SPMV_SELL, "sell:h=7", plain_knobs); }
Test(knobs, bell_odd, .timeout = 300) { check_singles(SPMV_BELL, "bell:b=3x3,idx=16", plain_knobs); }
Test(knobs, sbell_odd, .timeout = 300) { check_singles(SPMV_SBELL, "sbell:b=6x6,h=5", plain_knobs); }
Test(knobs, bcsr_wide, .timeout = 300) { check_singles(SPMV_BCSR, "bcsr:b=2x8", plain_knobs); }
Test(knobs, cmrs_high, .timeout = 300) { check_singles(SPMV_CMRS, "cmrs:h=16,wide=1,sort=1", plain_knobs); }

/* ---- the slots that the items of cmrs load together ---------------------------------------------------------------- */
enum { WALK_LANES = 8, WALK_STRIPS = 7, WALK_SLOTS = 90 };

/* Used instead of common.cl: a load of slot k records the trip through the loop in which it is made. */
static const char walk_head[] =
    "#define INLINE static inline\n#define UNUSED __attribute__((unused))\n#define IDX uint\n#define VEC float\n#define VAL float\n"
    "#define OFF uint\n#define BODY walk_strip\n#define WG 8\n#define L 8\n#define STAGE 0\n#define X(i) x[i]\n"
    "#define ROW_PARAMS uint r, uint lane, __global const float *x, __global uint *note, uint trip\n"
    "#define LOAD_UINT(a, k) (a)[k]\n#define LOAD_VAL(a, k) (note[k] = trip, (a)[k])\n#define MULADD(sum, a, b) (sum) += (a) * (b)\n"
    "#define VALUE(v) (v)\n#define SUM VEC\n";
static const char walk_kernel[] =
    "__kernel void walk(__global uint *note, __global const uint *ptr, __global const float *val, __global const float *x,\n"
    "                   __global const uint *index, __global const uchar *row)\n"
    "{\n    float acc[HEIGHT] = { 0 };\n    const uint i = (uint)get_global_id(0);\n"
    "    walk_strip(acc, i / L, i % L, x, note, 0, val, ptr, index, row);\n}\n";

/* The text of cmrs.cl with a counter of trips added at the top of its loop. */
static char *walk_text(void)
{
    static const char loop[] = "for (; k < end; k += L) {\n", count[] = "trip++;\n";
    size_t i, at;
    char *text = calloc(sizeof spmv__src_cmrs + 100, 1), *found;
    for (i = 0; i < sizeof spmv__src_cmrs / sizeof *spmv__src_cmrs; i++) strcat(text, spmv__src_cmrs[i]);
    found = strstr(text, loop);
    cr_assert(found && !strstr(found + 1, loop), "cmrs.cl has not one loop over slots");
    at = (size_t)(found - text) + strlen(loop);
    memmove(text + at + strlen(count), text + at, strlen(text + at) + 1);
    memcpy(text + at, count, strlen(count));
    return text;
}

/* The trip in which each slot is loaded. */
static void walk_notes(const char *options, uint32_t *ptr, uint32_t *note)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_int e[12] = { 0 };
    size_t i, items = WALK_STRIPS * WALK_LANES;
    float zero[WALK_SLOTS] = { 0 };
    uint32_t index[WALK_SLOTS] = { 0 };
    char *body = walk_text();
    const char *text[3] = { walk_head, body, walk_kernel };
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_kernel kernel;
    cl_mem buffer[4];
    cr_assert_eq(clGetPlatformIDs(1, &platform, NULL), CL_SUCCESS);
    cr_assert_eq(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), CL_SUCCESS);
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &e[0]);
    queue = clCreateCommandQueue(context, device, 0, &e[1]);
    program = clCreateProgramWithSource(context, 3, text, NULL, &e[2]);
    e[3] = clBuildProgram(program, 1, &device, options, NULL, NULL);
    kernel = clCreateKernel(program, "walk", &e[4]);
    buffer[0] = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, WALK_SLOTS * 4, index, &e[5]);
    buffer[1] = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, (WALK_STRIPS + 1) * 4, ptr, &e[6]);
    buffer[2] = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof zero, zero, &e[7]);
    buffer[3] = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof index, index, &e[8]);
    for (i = 0; i < 6; i++) e[9] |= clSetKernelArg(kernel, (cl_uint)i, sizeof *buffer, &buffer[i < 3 ? i : i == 3 ? 2 : 3]);
    e[10] = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
    e[11] = clEnqueueReadBuffer(queue, buffer[0], CL_TRUE, 0, WALK_SLOTS * 4, note, 0, NULL, NULL);
    for (i = 0; i < LENGTH(e); i++) cr_assert_eq(e[i], CL_SUCCESS, "call %d: %d", (int)i, e[i]);
    for (i = 0; i < LENGTH(buffer); i++) clReleaseMemObject(buffer[i]);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(body);
}

/* With ALIGN, the lanes load in each trip the slots between two multiples of L; without it, L slots counted from the strip's first. */
Test(knobs, cmrs_aligned_loads)
{
    uint32_t ptr[WALK_STRIPS + 1] = { 3, 4, 21, 21, 32, 61, 64, 88 }, note[WALK_SLOTS], r, k;
    int align;
    for (align = 0; align < 2; align++) {
        walk_notes(align ? "-cl-std=CL1.2 -DALIGN=1" : "-cl-std=CL1.2 -DALIGN=0", ptr, note);
        for (r = 0; r < WALK_STRIPS; r++)
            for (k = ptr[r]; k < ptr[r + 1]; k++) {
                uint32_t trip = align ? k / WALK_LANES - ptr[r] / WALK_LANES : (k - ptr[r]) / WALK_LANES;
                cr_assert_eq(note[k], trip + 1, "ALIGN=%d, strip %u from slot %u: slot %u in trip %u, not %u", align, r, ptr[r], k, note[k],
                             trip + 1);
            }
        for (k = 0; k < WALK_SLOTS; k++)
            if (k < ptr[0] || k >= ptr[WALK_STRIPS]) cr_assert_eq(note[k], 0, "ALIGN=%d: slot %u is no strip's", align, k);
    }
}

/* PoCL 3.1 leaks a block in every clCreateImage, and with it the context, so tests with images cannot check for leaks. */
#ifdef __SANITIZE_ADDRESS__
void __lsan_disable(void);
#else
static void __lsan_disable(void) {}
#endif

/* x through an image: from some offsets, with another x each time, and one x kept. */
Test(images, offsets_and_types, .timeout = 300)
{
    static const char *const plans[] = { "ell", "csr", "coo", "bdia", "bell", "sbell:b=8x8", "bcsr:b=2x8", "bcsr:b=3x3", "dense", NULL };
    spmv_device d;
    matrix m = matrix_make(&shapes[25], 0); /* 997 columns: the last block is incomplete */
    size_t i, at;
    int t;
    __lsan_disable();
    d = open_device();
    for (i = 0; plans[i]; i++)
        for (t = SPMV_F64; t < SPMV_TYPE_COUNT; t++) {
            size_t size = spmv_vector_size((spmv_type)t), n = m.cols + 3;
            spmv_store store;
            spmv_variant v;
            spmv_device_matrix a;
            spmv_exec e;
            spmv_status s;
            bench b;
            void *x;
            if ((t != SPMV_F32 && !d.info.f64) || !store_make(&store, &m, plans[i], (spmv_type)t, 0)) continue;
            cr_assert_eq(spmv__variant_parse(&v, store.part[0].spec.format, "IMG=1", NULL), SPMV_OK);
            s = spmv_device_matrix_create(&a, &d, m.rows, m.cols, (spmv_type)t, store.part, 1, &v);
            if (s == SPMV_ERR_UNSUPPORTED) {
                cr_assert(strstr(said, "images"), "%s", said);
                spmv_store_destroy(&store);
                continue;
            }
            cr_assert_eq(s, SPMV_OK, "%s: %s", plans[i], said);
            cr_assert_eq(spmv_exec_create(&e, &a, NULL), SPMV_OK, "%s", said);
            b = bench_make(&d, &m, (spmv_type)t, 0);
            x = malloc(n * size);
            for (at = 0; at <= 3; at++) {
                void *mem = buffer(&d, (m.cols + at) * size); /* no larger than needed for x at this offset */
                size_t k;
                for (k = 0; k < n; k++) set(x, (spmv_type)t, k, k >= at && k - at < m.cols ? b.x[k - at] : (double)NAN);
                write_mem(&d, d.queue, mem, (m.cols + at) * size, x);
                bench_start(&b, d.queue, 0);
                cr_assert_eq(spmv_exec_mul(&e, 1, mem, at, 0, b.yd, Y_FRONT), SPMV_OK, "%s: %s", plans[i], said);
                bench_check(&b, d.queue, 1, 0, plans[i]);
                bench_start(&b, d.queue, 1);
                cr_assert_eq(spmv_exec_mul(&e, -2.5, mem, at, 1, b.yd, Y_FRONT), SPMV_OK, "%s: %s", plans[i], said);
                bench_check(&b, d.queue, -2.5, 1, plans[i]);
                cr_assert_eq(spmv_exec_mul(&e, 1, mem, at, 0, mem, at), SPMV_ERR_ARGUMENT);
                spmv_buffer_destroy(&d, mem); /* e holdse holds it for as long as it needs it */
            }
            free(x);
            bench_free(&b);
            spmv_exec_destroy(&e);
            spmv_device_matrix_destroy(&a);
            spmv_store_destroy(&store);
        }
    spmv_device_destroy(&d);
}

/* What a device or a part does not support is refused before anything is made. */
Test(images, limits)
{
    spmv_device d = open_device();
    const spmv_device_info real = d.info;
    matrix m = matrix_make(&shapes[22], 0);
    spmv_store store, grown, by_rows;
    spmv_variant v;
    spmv_device_matrix a;
    cr_assert(store_make(&store, &m, "sell:h=7", SPMV_F32, 0));
    cr_assert(store_make(&grown, &m, "sell:grow=0.2", SPMV_F32, 0));
    cr_assert(store_make(&by_rows, &m, "ell:rowmajor=1", SPMV_F32, 0));
#define REFUSED(s, text, status, word)                                                                                   \
    cr_assert_eq(spmv__variant_parse(&v, (s).part[0].spec.format, text, NULL), SPMV_OK);                                  \
    cr_assert_eq(spmv_device_matrix_create(&a, &d, m.rows, m.cols, SPMV_F32, (s).part, 1, &v), status, "%s: %s", text, said);       \
    cr_assert(strstr(said, word), "%s: %s", text, said)
    d.info.image_texels = 0;
    REFUSED(store, "IMG=1", SPMV_ERR_UNSUPPORTED, "no images");
    d.info.image_texels = 80;
    REFUSED(store, "IMG=1", SPMV_ERR_LIMIT, "90 columns exceed the device's limit of 80 texels in an image");
    d.info = real;
    REFUSED(store, "V=4", SPMV_ERR_UNSUPPORTED, "V=4 does not divide the slice height 7");
    REFUSED(grown, "V=4", SPMV_ERR_UNSUPPORTED, "vary");
    REFUSED(by_rows, "V=4", SPMV_ERR_UNSUPPORTED, "V=4 is not possible with rowmajor=1");
    spmv_store_destroy(&store);
    spmv_store_destroy(&grown);
    spmv_store_destroy(&by_rows);
    spmv_device_destroy(&d);
}

/* Arrays of 8-byte pointers, which otherwise only huge matrices have. */
Test(offsets, of_64_bits, .timeout = 120)
{
    static const char *const plans[] = { "csr", "csr:run=32", "sell", "sell:grow=0.2", "sbell", "bcsr:b=3x3", "cmrs", NULL };
    spmv_device d = open_device();
    matrix m = matrix_make(&shapes[22], 0);
    bench b = bench_make(&d, &m, SPMV_F32, 0);
    size_t i;
    uint64_t k;
    for (i = 0; plans[i]; i++) {
        spmv_store store;
        spmv_array *a;
        uint64_t *wide;
        spmv_variant v;
        cr_assert(store_make(&store, &m, plans[i], SPMV_F32, 0));
        a = &store.part[0].a[1];
        cr_assert_eq(a->width, 4);
        wide = spmv_alloc(&store.part[0].hooks, a->count, 8);
        for (k = 0; k < a->count; k++) wide[k] = ((uint32_t *)a->data)[k];
        if (!a->borrowed) spmv_free(&store.part[0].hooks, a->data);
        a->data = wide;
        a->width = 8;
        a->borrowed = 0;
        a = &store.part[0].a[4];
        if (plans[i][3] == ':') { /* csr in runs: run_at has the same width */
            wide = spmv_alloc(&store.part[0].hooks, a->count, 8);
            for (k = 0; k < a->count; k++) wide[k] = ((uint32_t *)a->data)[k];
            spmv_free(&store.part[0].hooks, a->data);
            a->data = wide;
            a->width = 8;
        }
        cr_assert_eq(spmv__variant_parse(&v, store.part[0].spec.format, "I64=1", NULL), SPMV_OK);
        try_store(&d, &b, &store, NULL, plans[i], 1);
        try_store(&d, &b, &store, &v, plans[i], 1);
        spmv_store_destroy(&store);
    }
    bench_free(&b);
    spmv_device_destroy(&d);
}

/* Makes a store of csr+coo, without arrays. */
static void two_parts(spmv_store *st, spmv_part *part, spmv_spec *plan)
{
    memset(st, 0, sizeof *st);
    memset(part, 0, 2 * sizeof *part);
    memset(plan, 0, 2 * sizeof *plan);
    st->plan_count = st->count = 2;
    st->plan = plan;
    st->part = part;
    plan[0].format = part[0].spec.format = SPMV_CSR;
    plan[1].format = part[1].spec.format = SPMV_COO;
    part[1].index = 1;
}

/* "*:" sets knobs in every part whose kernel has them, even if the part is empty; the texts after it set them part by part. */
Test(variant, every_part)
{
    spmv_variant two[2];
    spmv_part part[2];
    spmv_spec plan[2];
    spmv_store store;
    spmv_hooks hooks = { 0 };
    hooks.log = listen;
    two_parts(&store, part, plan);
    cr_assert_eq(spmv_variants_parse(two, &store, "*:IMG=1,L=8", &hooks), SPMV_OK, "%s", said);
    cr_assert_eq(two[0].set, (uint64_t)1 << SPMV_KNOB_IMG | (uint64_t)1 << SPMV_KNOB_L); /* coo has no L */
    cr_assert_eq(two[1].set, (uint64_t)1 << SPMV_KNOB_IMG);
    cr_assert(two[0].value[SPMV_KNOB_L] == 8 && two[0].value[SPMV_KNOB_IMG] == 1 && two[1].value[SPMV_KNOB_IMG] == 1);
    cr_assert_eq(spmv_variants_parse(two, &store, "*:IMG=1,WG=64+IMG=0,L=2", &hooks), SPMV_OK, "%s", said);
    cr_assert(two[0].value[SPMV_KNOB_IMG] == 0 && two[0].value[SPMV_KNOB_L] == 2 && two[0].value[SPMV_KNOB_WG] == 64);
    cr_assert(two[1].value[SPMV_KNOB_IMG] == 1 && two[1].value[SPMV_KNOB_WG] == 64);
    cr_assert_eq(spmv_variants_parse(two, &store, "*:WG=64++PER=3", &hooks), SPMV_OK, "%s", said);
    cr_assert(two[0].set == (uint64_t)1 << SPMV_KNOB_WG && two[1].value[SPMV_KNOB_PER] == 3 && two[1].value[SPMV_KNOB_WG] == 64);
    cr_assert_eq(spmv_variants_parse(two, &store, "*:", &hooks), SPMV_OK, "%s", said);
    cr_assert(!two[0].set && !two[1].set);
    cr_assert_eq(spmv_variants_parse(two, &store, "*:ALIGN=1", &hooks), SPMV_ERR_PLAN);
    cr_assert(strstr(said, "ALIGN") && strstr(said, "no part's kernel has this knob; they have L, WG, PER, "), "%s", said);
    cr_assert_eq(spmv_variants_parse(two, &store, "*:Q=1", &hooks), SPMV_ERR_PLAN);
    cr_assert(strstr(said, "column 1: expected the name of a knob: L, WG, PER, ") && !strstr(said, "ALIGN"), "%s", said);
    cr_assert_eq(spmv_variants_parse(two, &store, "*:IMG=7", &hooks), SPMV_ERR_PLAN);
    cr_assert(strstr(said, "IMG=7"), "%s", said);
    cr_assert_eq(spmv_variants_parse(two, &store, "*:IMG", &hooks), SPMV_ERR_PLAN);
    cr_assert_eq(spmv_variants_parse(two, &store, "IMG=1+*:IMG=1", &hooks), SPMV_ERR_PLAN); /* allowed only in front */
    cr_assert_eq(spmv_variants_parse(two, &store, "*:IMG=1+L=8+PER=3+L=8", &hooks), SPMV_ERR_PLAN);
    cr_assert(strstr(said, "no more parts"), "%s", said);
    store.count = 1; /* the first part is empty, but the knobs of its kernel are known all the same */
    part[0] = part[1];
    cr_assert_eq(spmv_variants_parse(two, &store, "*:IMG=1,L=8", &hooks), SPMV_OK, "%s", said);
    cr_assert_eq(two[0].set, (uint64_t)1 << SPMV_KNOB_IMG);
    store.plan_count = 1; /* as hyb makes it for a matrix with even rows */
    plan[0].format = part[0].spec.format = SPMV_ELL;
    part[0].index = 0;
    cr_assert_eq(spmv_variants_parse(two, &store, "*:IMG=1", &hooks), SPMV_OK, "%s", said);
    cr_assert_eq(two[0].value[SPMV_KNOB_IMG], 1);
}

Test(variant, text)
{
    spmv_variant v, two[2];
    spmv_part part[2];
    spmv_spec plan[2];
    spmv_store store;
    spmv_hooks hooks = { 0 };
    char text[SPMV_VARIANT_TEXT];
    int values[8];
    hooks.log = listen;
    cr_assert_eq(spmv__variant_parse(&v, SPMV_CSR, "WG=128,L=8", &hooks), SPMV_OK);
    cr_assert_eq(spmv_variant_print(&v, text, sizeof text), 10);
    cr_assert_str_eq(text, "L=8,WG=128");
    cr_assert_eq(spmv_variant_print(&v, text, 4), 10);
    cr_assert_str_eq(text, "L=8");
    cr_assert_eq(spmv__variant_parse(&v, SPMV_CSR, "", &hooks), SPMV_OK);
    cr_assert_eq(v.set, 0);
    cr_assert_eq(spmv_variant_print(&v, text, sizeof text), 0);
    cr_assert_str_eq(text, "");
    cr_assert_eq(spmv__variant_parse(&v, SPMV_CSR, "L=3", &hooks), SPMV_ERR_PLAN);
    cr_assert(strstr(said, "1 2 4 8 16 32 64"), "%s", said);
    cr_assert_eq(spmv__variant_parse(&v, SPMV_COO, "L=2", &hooks), SPMV_ERR_PLAN);
    cr_assert(strstr(said, "coo has no knob L; it has WG, PER, "), "%s", said);
    cr_assert_eq(spmv__variant_parse(&v, SPMV_CSR, "WG=64,Q=2", &hooks), SPMV_ERR_PLAN);
    cr_assert(strstr(said, "column 7: expected the name of a knob: L, WG, STREAM, "), "%s", said);
    cr_assert_eq(spmv__variant_parse(&v, SPMV_CSR, "L=2,", &hooks), SPMV_ERR_PLAN);
    cr_assert(strstr(said, "column 1: expected a knob, '=' and a number"), "%s", said);
    cr_assert_eq(spmv__variant_parse(&v, SPMV_CSR, "L=", &hooks), SPMV_ERR_PLAN);
    cr_assert_eq(spmv__variant_parse(&v, SPMV_CSR, "L=99999999999999", &hooks), SPMV_ERR_PLAN);
    cr_assert_eq(v.set, 0);
    two_parts(&store, part, plan);
    cr_assert_eq(spmv_variants_parse(two, &store, "L=8,WG=64+PER=3", &hooks), SPMV_OK, "%s", said);
    cr_assert(two[0].value[SPMV_KNOB_L] == 8 && two[0].value[SPMV_KNOB_WG] == 64 && two[1].value[SPMV_KNOB_PER] == 3);
    cr_assert_eq(spmv_variants_parse(two, &store, "+PER=3", &hooks), SPMV_OK, "%s", said);
    cr_assert(!two[0].set && two[1].set);
    cr_assert_eq(spmv_variants_parse(two, &store, "L=8", &hooks), SPMV_OK, "%s", said);
    cr_assert(two[0].set && !two[1].set);
    cr_assert_eq(spmv_variants_parse(two, &store, NULL, &hooks), SPMV_OK);
    cr_assert(!two[0].set && !two[1].set);
    cr_assert_eq(spmv_variants_parse(two, &store, "L=8+PER=3+PER=3", &hooks), SPMV_ERR_PLAN);
    cr_assert(strstr(said, "no more parts"), "%s", said);
    cr_assert_eq(spmv_variants_parse(two, &store, "PER=3+L=8", &hooks), SPMV_ERR_PLAN);
    store.count = 1; /* the first part is empty */
    part[0] = part[1];
    cr_assert_eq(spmv_variants_parse(two, &store, "L=8+PER=3", &hooks), SPMV_OK, "%s", said);
    cr_assert_eq(two[0].set, (uint64_t)1 << SPMV_KNOB_PER);
    cr_assert_eq(spmv_variants_parse(two, &store, "L=3+PER=3", &hooks), SPMV_ERR_PLAN);
    cr_assert_eq(spmv_knob_values(SPMV_BDIA, SPMV_KNOB_STAGE, values, 8), 2);
    cr_assert(values[0] == 0 && values[1] == 1);
    cr_assert_eq(spmv_knob_values(SPMV_ELL, SPMV_KNOB_STAGE, values, 8), 0);
}

/* ---- devices ------------------------------------------------------------------------------------------------------ */
/* The default of a knob on a GPU with 132 compute units, without such a GPU. */
static int gpu_knob_of(const spmv_backend *backend, const char *wish, spmv_knob knob, spmv_part *p)
{
    spmv_device d;
    spmv_variant v;
    memset(&d, 0, sizeof d);
    cr_assert_eq(spmv__variant_parse(&v, p->spec.format, wish, NULL), SPMV_OK);
    d.info.backend = backend;
    d.info.type = SPMV_DEVICE_GPU;
    d.info.compute_units = 132;
    d.info.group_size = 1024;
    d.info.local_bytes = 48 << 10;
    return spmv_variant_resolve(&v, &d, p) == SPMV_OK ? v.value[knob] : -1;
}

static int gpu_knob_by(const spmv_backend *backend, const char *wish, spmv_knob knob, spmv_format f, spmv_type type, uint64_t rows,
                       uint64_t slots, unsigned block)
{
    spmv_part p;
    memset(&p, 0, sizeof p);
    p.spec.format = f;
    p.spec.key[SPMV_KEY_B] = block << 8 | block;
    p.type = type;
    p.rows = p.cols = rows;
    p.nnz = p.a[0].count = slots;
    p.n[0] = p.n[1] = p.n[2] = block;
    return gpu_knob_of(backend, wish, knob, &p);
}

/* The same for csr in runs, with a wish. */
static int gpu_run_knob(const char *wish, spmv_knob knob, int64_t run)
{
    spmv_part p;
    memset(&p, 0, sizeof p);
    p.spec.format = SPMV_CSR;
    p.spec.key[SPMV_KEY_RUN] = run;
    p.type = SPMV_F64;
    p.rows = p.cols = 1000;
    p.nnz = p.a[0].count = 100000;
    p.n[SPMV_CSR_RUNS] = 100000 / (uint64_t)run + 1;
    return gpu_knob_of(spmv_opencl(), wish, knob, &p);
}

static int gpu_knob(spmv_knob knob, spmv_format f, spmv_type type, uint64_t rows, uint64_t slots, unsigned block)
{
    return gpu_knob_by(spmv_opencl(), "", knob, f, type, rows, slots, block);
}

static int gpu_lanes(spmv_format f, spmv_type type, uint64_t rows, uint64_t slots, unsigned block)
{
    return gpu_knob(SPMV_KNOB_L, f, type, rows, slots, block);
}

/* Several entries are loaded at once where rows alone fill at most half of the device, 135,168 work-items; by csr always. */
Test(variant, few_rows_load_in_batches)
{
    cr_assert(gpu_knob(SPMV_KNOB_UNROLL, SPMV_ELL, SPMV_F64, 135168, 135168 * 5, 1) == 4, "ell, few rows");
    cr_assert(gpu_knob(SPMV_KNOB_UNROLL, SPMV_ELL, SPMV_F64, 135169, 135169 * 5, 1) == 1, "ell, many rows");
    cr_assert(gpu_knob(SPMV_KNOB_UNROLL, SPMV_SELL, SPMV_F32, 1000, 3000, 1) == 8, "sell, few rows");
    cr_assert(gpu_knob(SPMV_KNOB_UNROLL, SPMV_SELL, SPMV_F32, 1000000, 3000000, 1) == 1, "sell, many rows");
    cr_assert(gpu_knob(SPMV_KNOB_UNROLL, SPMV_CSR, SPMV_F64, 1000000, 5000000, 1) == 4, "csr");
}

/* Where all lanes run at once, here 132 units of 2048 items, lanes of csr and sell load more entries. */
Test(variant, lanes_that_all_run_load_more)
{
    cr_assert(gpu_knob(SPMV_KNOB_UNROLL, SPMV_CSR, SPMV_F64, 270336, 270336 * 4, 1) == 8, "csr, one lane");
    cr_assert(gpu_knob(SPMV_KNOB_UNROLL, SPMV_CSR, SPMV_F64, 270337, 270337 * 4, 1) == 4, "csr, one lane too many");
    cr_assert(gpu_knob(SPMV_KNOB_UNROLL, SPMV_CSR, SPMV_F64, 135169, 135169 * 8, 1) == 4, "csr, two lanes");
    cr_assert(gpu_knob(SPMV_KNOB_UNROLL, SPMV_SELL, SPMV_F64, 135168, 135168 * 4, 1) == 8, "sell");
    cr_assert(gpu_knob(SPMV_KNOB_UNROLL, SPMV_SELL, SPMV_F64, 135169, 135169 * 4, 1) == 1, "sell, one row too many");
}

/* An item of a group that takes a run loads its share of the run at once, 2 to 8 entries. */
Test(variant, groups_load_a_run_at_once)
{
    cr_assert(gpu_run_knob("", SPMV_KNOB_UNROLL, 256) == 2, "the fewest");
    cr_assert(gpu_run_knob("", SPMV_KNOB_UNROLL, 512) == 2, "two");
    cr_assert(gpu_run_knob("", SPMV_KNOB_UNROLL, 1024) == 4, "four");
    cr_assert(gpu_run_knob("", SPMV_KNOB_UNROLL, 2047) == 4, "a round more for the rest");
    cr_assert(gpu_run_knob("", SPMV_KNOB_UNROLL, 2048) == 8, "eight");
    cr_assert(gpu_run_knob("", SPMV_KNOB_UNROLL, 4096) == 8, "the most");
    cr_assert(gpu_run_knob("WG=512", SPMV_KNOB_UNROLL, 2048) == 4, "larger groups");
    cr_assert(gpu_run_knob("UNROLL=1", SPMV_KNOB_UNROLL, 2048) == 1, "the caller's choice");
    cr_assert(gpu_run_knob("STREAM=0", SPMV_KNOB_UNROLL, 2048) == 4, "an item for each run");
}

/* By CUDA, lanes that load more have registers for it. */
Test(variant, lanes_that_load_more_have_registers)
{
    spmv_backend cuda = *spmv_opencl();
    cuda.name = "CUDA";
    cr_assert(gpu_knob_by(&cuda, "", SPMV_KNOB_REGS, SPMV_CSR, SPMV_F64, 1000, 4000, 1) == 64, "csr");
    cr_assert(gpu_knob_by(&cuda, "", SPMV_KNOB_REGS, SPMV_SELL, SPMV_F32, 1000, 4000, 1) == 40, "sell, f32");
    cr_assert(gpu_knob_by(&cuda, "", SPMV_KNOB_REGS, SPMV_CSR, SPMV_F64, 1000000, 4000000, 1) == 0, "csr, many rows");
    cr_assert(gpu_knob_by(&cuda, "UNROLL=4", SPMV_KNOB_REGS, SPMV_CSR, SPMV_F64, 1000, 4000, 1) == 0, "csr, fewer entries wanted");
    cr_assert(gpu_knob_by(spmv_opencl(), "", SPMV_KNOB_REGS, SPMV_CSR, SPMV_F64, 1000, 4000, 1) == 0, "OpenCL");
}

/* The fastest or second fastest on an H200 for shapes of matrices of the clSpMV paper; csr: as many as load the mean row at once. */
Test(variant, lanes_fill_a_gpu)
{
    cr_assert(gpu_lanes(SPMV_ELL, SPMV_F64, 46835, 46835 * 60, 1) == 4, "ell, harbor");
    cr_assert(gpu_lanes(SPMV_ELL, SPMV_F64, 83334, 83334 * 81, 1) == 2, "ell, spheres");
    cr_assert(gpu_lanes(SPMV_ELL, SPMV_F64, 217918, 217918 * 58, 1) == 1, "ell, wind_tunnel");
    cr_assert(gpu_lanes(SPMV_SELL, SPMV_F32, 1000, 3000, 1) == 1, "sell, short rows");
    cr_assert(gpu_lanes(SPMV_SBELL, SPMV_F64, 62451, 62451 * 66, 3) == 8, "sbell 3x3, cantilever");
    cr_assert(gpu_lanes(SPMV_BELL, SPMV_F64, 217918, 217918 * 54, 3) == 2, "bell 3x3, wind_tunnel");
    cr_assert(gpu_lanes(SPMV_BCSR, SPMV_F64, 83334, 83334 * 72, 3) == 4, "bcsr 3x3 f64, spheres");
    cr_assert(gpu_lanes(SPMV_BCSR, SPMV_F32, 62451, 62451 * 66, 3) == 8, "bcsr 3x3 f32, cantilever");
    cr_assert(gpu_lanes(SPMV_BCSR, SPMV_F64, 217918, 217918 * 54, 6) == 8, "bcsr 6x6 f64, wind_tunnel");
    cr_assert(gpu_lanes(SPMV_CSR, SPMV_F64, 1000000, 5000000, 1) == 2, "csr, 5 a row");
    cr_assert(gpu_lanes(SPMV_CSR, SPMV_F64, 1000000, 78000000, 1) == 32, "csr, 78 a row");
    cr_assert(gpu_lanes(SPMV_DIA, SPMV_F64, 2000, 2000 * 101, 1) == 8, "dia, band");
    cr_assert(gpu_lanes(SPMV_DIA, SPMV_F64, 1048576, 1048576 * 5, 1) == 1, "dia, stencil");
}

Test(device, open_by_all_names)
{
    spmv_device_info info[16];
    spmv_device_desc desc = { 0 };
    spmv_device d;
    size_t count = 0, i;
    char index[16], name[256];
    desc.hooks.log = listen;
    cr_assert_eq(spmv_device_list(info, LENGTH(info), &count, NULL), SPMV_OK);
    cr_assert_gt(count, 0);
    for (i = 0; i < count && i < LENGTH(info); i++) {
        spmv_print(index, sizeof index, "%d", (int)i);
        desc.which = index;
        cr_assert_eq(spmv_device_create(&d, &desc), SPMV_OK);
        cr_assert_eq(d.info.id, info[i].id);
        cr_assert(d.info.group_size && d.info.global_bytes && d.info.alloc_bytes && d.info.compute_units && d.info.name[0]);
        spmv_device_destroy(&d);
        desc.which = spmv_device_type_name(info[i].type);
        cr_assert_eq(spmv_device_create(&d, &desc), SPMV_OK);
        cr_assert_eq(d.info.type, info[i].type);
        spmv_device_destroy(&d);
    }
    /* part of the name, with upper and lower case exchanged */
    for (i = 0; info[0].name[i + 1]; i++) {
        char c = info[0].name[i + 1];
        name[i] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    name[i] = 0;
    desc.which = name;
    cr_assert_eq(spmv_device_create(&d, &desc), SPMV_OK, "%s", name);
    spmv_device_destroy(&d);
    spmv_device_destroy(&d);
    desc.which = "no such device";
    cr_assert_eq(spmv_device_create(&d, &desc), SPMV_ERR_NO_DEVICE);
    cr_assert(strstr(said, "no such device"));
    spmv_device_destroy(&d);
    desc.which = "99999999999999999999";
    cr_assert_eq(spmv_device_create(&d, &desc), SPMV_ERR_NO_DEVICE);
    desc.which = "accelerator";
    cr_assert_eq(spmv_device_create(&d, &desc), SPMV_ERR_NO_DEVICE);
    desc.which = NULL;
    cr_assert_eq(spmv_device_create(&d, &desc), SPMV_OK);
    spmv_device_destroy(&d);
}

Test(device, callers_own)
{
    spmv_device first = open_device(), d;
    spmv_device_desc desc = { 0 };
    cl_int e;
    cl_uint references = 0;
    cl_device_id id = first.info.id;
    cl_context context;
    cl_command_queue queue;
    matrix m = matrix_make(&shapes[22], 0);
    spmv_store store;
    bench b;
    int i;
    OPENCL_ONLY(first);
    context = clCreateContext(NULL, 1, &id, NULL, NULL, &e);
    queue = clCreateCommandQueue(context, first.info.id, 0, &e);
    cr_assert(store_make(&store, &m, "ell:w=2+coo", SPMV_F32, 0));
    desc.hooks.log = listen;
    for (i = 0; i < 3; i++) { /* context, device and queue; only the queue; no queue */
        desc.context = i == 1 ? NULL : context;
        desc.id = i == 1 ? NULL : first.info.id;
        desc.queue = i == 2 ? NULL : queue;
        cr_assert_eq(spmv_device_create(&d, &desc), SPMV_OK);
        cr_assert_eq(d.context, context);
        cr_assert(i == 2 || d.queue == queue);
        b = bench_make(&d, &m, SPMV_F32, 0);
        try_store(&d, &b, &store, NULL, "own context", 0);
        bench_free(&b);
        spmv_device_destroy(&d);
    }
    /* the device released what it had retained; finished events may hold the queue for a moment longer */
    for (i = 0; i < 1000000 && references != 1; i++)
        cr_assert_eq(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, NULL), CL_SUCCESS);
    cr_assert_eq(references, 1);
    cr_assert_eq(clFinish(queue), CL_SUCCESS);
    desc.context = context;
    desc.id = NULL;
    desc.queue = NULL;
    cr_assert_eq(spmv_device_create(&d, &desc), SPMV_ERR_ARGUMENT);
    desc.context = first.context;
    desc.queue = queue;
    cr_assert_eq(spmv_device_create(&d, &desc), SPMV_ERR_ARGUMENT);
    spmv_store_destroy(&store);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    spmv_device_destroy(&first);
}

Test(device, build_log_names_file_and_line)
{
    spmv_device d = open_device();
    void *program = NULL;
    cr_assert_eq(spmv__device_program(&d, SPMV_CSR, "-DOFF=nonsense", &program), SPMV_ERR_BUILD);
    cr_assert_null(program);
    /* NVIDIA's compiler calls every file <kernel>, whatever #line says, so our message names the file */
    if (strstr(said, "<kernel>:")) cr_assert_not_null(strstr(said, "kernels/csr.cl did not build"), "%s", said);
    else cr_assert(strstr(said, "kernels/csr.cl:") || strstr(said, "kernels/csr.cl\"") || strstr(said, "kernels/csr.cl("), "%s", said);
    cr_assert_null(d.common->programs);
    cr_assert_eq(spmv__device_program(&d, SPMV_CSR, "", &program), SPMV_OK, "%s", said);
    spmv_device_destroy(&d);
}

/* Compilers are told not to warn: with a vector of 16 doubles, PoCL writes to stderr how many warnings there were. */
Test(device, compilers_do_not_warn)
{
    spmv_device d = open_device();
    matrix m = matrix_make(&shapes[22], 0);
    spmv_store store;
    spmv_variant v;
    spmv_device_matrix a;
    cl_program program;
    char options[2048], log[4096] = "";
    cl_device_id id = (cl_device_id)d.info.id;
    if (!by_opencl(&d)) cr_skip("the device is not driven by OpenCL");
    cr_assert(store_make(&store, &m, "dia", d.info.f64 ? SPMV_F64 : SPMV_F32, 0));
    cr_assert_eq(spmv__variant_parse(&v, SPMV_DIA, "V=16", NULL), SPMV_OK);
    cr_assert_eq(spmv_device_matrix_create(&a, &d, m.rows, m.cols, store.type, store.part, 1, &v), SPMV_OK, "%s", said);
    cr_assert_not_null(d.common->programs);
    program = (cl_program)d.common->programs->program;
    cr_assert_eq(clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_OPTIONS, sizeof options, options, NULL), 0);
    cr_assert(strstr(options, "-w "), "%s", options);
    clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
    cr_assert(!strstr(log, "warning"), "%s", log);
    spmv_device_matrix_destroy(&a);
    spmv_store_destroy(&store);
    spmv_device_destroy(&d);
}

/* The kernel that adds the pieces of rows is part of a program only where it is launched: it would take compilers time in vain. */
Test(device, programs_have_the_kernels_that_are_launched)
{
    static const struct { spmv_format format; const char *options; int finish; } ways[] = {
        { SPMV_CSR, "-DRUN=96 -DFINISH=0", 1 }, { SPMV_CSR, "-DRUN=96 -DFINISH=1", 0 }, { SPMV_CSR, "-DRUN=96 -DCUTS=0", 0 },
        { SPMV_TCSR, "-DFINISH=0", 1 }, { SPMV_TCSR, "-DFINISH=1", 0 }, { SPMV_TCSR, "-DCUTS=0", 0 }
    };
    spmv_device d = open_device();
    size_t i;
    for (i = 0; i < LENGTH(ways); i++) {
        void *program = NULL, *kernel = NULL;
        cr_assert_eq(spmv__device_program(&d, ways[i].format, ways[i].options, &program), SPMV_OK, "%s", said);
        cr_assert_eq(d.info.backend->kernel(&d, program, "finish", &kernel) == SPMV_OK, ways[i].finish, "%s", ways[i].options);
        if (ways[i].finish) d.info.backend->kernel_free(&d, kernel);
    }
    spmv_device_destroy(&d);
}

/* ---- limits that give a status ------------------------------------------------------------------------------------- */
Test(limits, are_statuses)
{
    spmv_device d = open_device();
    const spmv_device_info real = d.info;
    matrix m = matrix_make(&shapes[22], 0);
    spmv_store store, wide, runs, atoms;
    spmv_variant v, w;
    spmv_device_matrix a;
    spmv_exec e;
    void *y = buffer(&d, 4 * m.rows), *x = buffer(&d, 4 * m.cols);
    cr_assert(store_make(&store, &m, "cmrs:h=16", SPMV_F32, 0));
    cr_assert(store_make(&wide, &m, "csr", SPMV_F64, 0));
    cr_assert(store_make(&runs, &m, "csr:run=1024", SPMV_F32, 0));
    cr_assert(store_make(&atoms, &m, "coo", SPMV_F64, 0));
#define CREATE(s, variant) spmv_device_matrix_create(&a, &d, m.rows, m.cols, (s).type, (s).part, 1, variant)
    d.info.f64 = 0;
    cr_assert_eq(CREATE(wide, NULL), SPMV_ERR_NO_F64);
    spmv_device_matrix_destroy(&a);
    d.info = real;
    d.info.alloc_bytes = 100;
    cr_assert_eq(CREATE(store, NULL), SPMV_ERR_LIMIT);
    cr_assert(strstr(said, "the device's limit of 100"), "%s", said);
    d.info = real;
    d.info.global_bytes = 1000;
    cr_assert_eq(CREATE(store, NULL), SPMV_ERR_LIMIT);
    d.info = real;
    d.info.local_bytes = 100; /* a height of 16 takes 64 bytes for each item */
    cr_assert_eq(spmv__variant_parse(&v, SPMV_CMRS, "STAGE=1", NULL), SPMV_OK);
    cr_assert_eq(CREATE(store, &v), SPMV_OK, "%s", said);
    cr_assert_eq(spmv_device_matrix_variant(&a, 0)->value[SPMV_KNOB_WG], 1);
    spmv_device_matrix_destroy(&a);
    cr_assert_eq(spmv__variant_parse(&v, SPMV_CMRS, "WG=64,STAGE=1", NULL), SPMV_OK);
    cr_assert_eq(CREATE(store, &v), SPMV_ERR_LIMIT);
    cr_assert(strstr(said, "local memory"), "%s", said);
    d.info.local_bytes = 4096; /* a streamed run of 1024 takes more than 4096 bytes */
    cr_assert_eq(spmv_device_matrix_create(&a, &d, m.rows, m.cols, SPMV_F32, runs.part, 1, NULL), SPMV_OK, "%s", said);
    cr_assert_eq(spmv_device_matrix_variant(&a, 0)->value[SPMV_KNOB_STREAM], 0);
    spmv_device_matrix_destroy(&a);
    cr_assert_eq(spmv_variants_parse(&w, &runs, "STREAM=1", NULL), SPMV_OK);
    cr_assert_eq(spmv_device_matrix_create(&a, &d, m.rows, m.cols, SPMV_F32, runs.part, 1, &w), SPMV_ERR_LIMIT);
    d.info = real;
    d.info.atomics64 = 0;
    cr_assert_eq(spmv_variants_parse(&w, &atoms, "ATOMIC=1", NULL), SPMV_OK);
    if (real.f64) cr_assert_eq(spmv_device_matrix_create(&a, &d, m.rows, m.cols, SPMV_F64, atoms.part, 1, &w), SPMV_ERR_LIMIT);
    spmv_store_destroy(&runs);
    spmv_store_destroy(&atoms);
    d.info = real;
    d.info.group_size = 32;
    cr_assert_eq(CREATE(store, &v), SPMV_ERR_LIMIT);
    cr_assert_eq(CREATE(store, NULL), SPMV_OK);
    cr_assert_leq(spmv_device_matrix_variant(&a, 0)->value[SPMV_KNOB_WG], 32);
    spmv_device_matrix_destroy(&a);
    d.info = real;
    v.value[SPMV_KNOB_WG] = 48;
    cr_assert_eq(CREATE(store, &v), SPMV_ERR_PLAN);
    cr_assert_eq(spmv__variant_parse(&v, SPMV_CMRS, "WG=32,L=64", NULL), SPMV_OK);
    cr_assert_eq(CREATE(store, &v), SPMV_ERR_ARGUMENT);
    cr_assert_eq(spmv_device_matrix_create(&a, &d, m.rows + 1, m.cols, SPMV_F32, store.part, 1, NULL), SPMV_ERR_ARGUMENT);
    cr_assert_eq(spmv_device_matrix_create(&a, &d, m.rows, m.cols, SPMV_F32, wide.part, 1, NULL), SPMV_ERR_ARGUMENT);
    /* vectors that are larger than their buffers */
    cr_assert_eq(CREATE(store, NULL), SPMV_OK);
    cr_assert_eq(spmv_exec_create(&e, &a, NULL), SPMV_OK);
    cr_assert_eq(spmv_exec_mul(&e, 1, x, 1, 0, y, 0), SPMV_ERR_ARGUMENT);
    cr_assert_eq(spmv_exec_mul(&e, 1, x, 0, 0, y, 1), SPMV_ERR_ARGUMENT);
    cr_assert_eq(spmv_exec_mul(&e, 1, x, 0, 0, y, UINT64_MAX), SPMV_ERR_ARGUMENT);
    cr_assert_eq(spmv_exec_mul(&e, 1, NULL, 0, 0, y, 0), SPMV_ERR_ARGUMENT);
    cr_assert_eq(spmv_exec_mul(&e, 0, NULL, 0, 0, y, 0), SPMV_OK);
    cr_assert_eq(spmv_exec_timing(&e, 1), by_opencl(&d) ? SPMV_ERR_UNSUPPORTED : SPMV_OK); /* CUDA's streams can always be timed */
    cr_assert_eq(spmv_device_finish(&d), SPMV_OK);
    spmv_exec_destroy(&e);
    spmv_device_matrix_destroy(&a);
    spmv_device_matrix_destroy(&a);
    spmv_exec_destroy(&e);
    spmv_buffer_destroy(&d, x);
    spmv_buffer_destroy(&d, y);
    spmv_store_destroy(&store);
    spmv_store_destroy(&wide);
    spmv_device_destroy(&d);
}

/* Parts with an array larger than a buffer are cut into stretches: the limit is lowered until this happens to every format. */
static void check_cut(spmv_device *d, bench *b, spmv_store *store, const spmv_variant *v, const char *what, int *cut, int *refused)
{
    const uint64_t real = d->info.alloc_bytes;
    uint64_t largest = 0, i;
    size_t k, bytes = y_bytes(b);
    void *whole = malloc(bytes);
    spmv_device_matrix a;
    spmv_exec e;
    int n, share, sign = 1; /* of the values */
    for (n = 0; n < store->count; n++) {
        for (k = 0; k < SPMV_MAX_ARRAYS; k++)
            if (store->part[n].a[k].count * store->part[n].a[k].width > largest)
                largest = store->part[n].a[k].count * store->part[n].a[k].width;
        store->part[n].reproducible = v->set == 0 && spmv__host_of(&store->part[n])->repeat[store->part[n].type] != NULL;
    }
    for (share = 1; share < 6; share += 2) { /* in one stretch, in three or more, in five or more */
        d->info.alloc_bytes = largest / (uint64_t)share;
        said[0] = 0;
        if (spmv_device_matrix_create(&a, d, store->rows, store->cols, b->type, store->part, (size_t)store->count, v) == SPMV_ERR_LIMIT) {
            cr_assert(strstr(said, "cannot be cut"), "%s: %s", what, said);
            ++*refused;
            continue;
        }
        cr_assert(a.part, "%s: %s", what, said);
        cr_assert_eq(a.sources, (size_t)store->count);
        if (share == 1) cr_assert_eq(a.count, a.sources, "%s", what);
        else cr_assert_gt(a.count, a.sources, "%s", what);
        for (k = 0; k < a.count; k++) cr_assert(a.part[k].end > a.part[k].begin, "%s", what);
        d->info.alloc_bytes = real; /* carries are small compared with real matrices, but not with these */
        cr_assert_eq(spmv_exec_create(&e, &a, NULL), SPMV_OK, "%s: %s", what, said);
        for (n = 0; n < 3; n++) {
            double beta = n ? 3 : 0;
            if (n == 2) { /* other values */
                sign = -sign;
                for (k = 0; k < (size_t)store->count; k++)
                    for (i = 0; i < store->part[k].a[0].count; i++)
                        if (b->type == SPMV_F64) ((double *)store->part[k].a[0].data)[i] *= -1;
                        else ((float *)store->part[k].a[0].data)[i] *= -1;
                cr_assert_eq(spmv_device_matrix_update(&a, store->part, (size_t)store->count), SPMV_OK, "%s: %s", what, said);
            }
            bench_start(b, d->queue, beta);
            cr_assert_eq(spmv_exec_mul(&e, sign * -2.5, b->xd, X_FRONT, beta, b->yd, Y_FRONT), SPMV_OK, "%s: %s",
                         what, said);
            bench_check(b, d->queue, -2.5, beta, what);
        }
        if (share == 1) memcpy(whole, b->ys, bytes);
        else if (store->count == 1 && store->part[0].reproducible) cr_assert_eq(memcmp(whole, b->ys, bytes), 0, "%s", what);
        *cut += share > 1;
        cr_assert_eq(spmv_device_matrix_update(&a, store->part, 0), SPMV_ERR_ARGUMENT);
        spmv_exec_destroy(&e);
        spmv_device_matrix_destroy(&a);
    }
    d->info.alloc_bytes = real;
    free(whole);
}

Test(limits, large_arrays_are_cut, .timeout = 300)
{
    static const char *const plans[] = {
        "dense", "coo", "csr", "csr:rows=sorted,sigma=50", "csr:run=32", "csr:run=64,idx=16,rows=nonempty",
        "csr:run=32/STREAM=1,FINISH=1", "dia", "bdia", "ell", "ell:idx=16,rows=sorted", "sell:h=7", "sell:grow=0.2,idx=16,rows=sorted",
        "ell:rowmajor=1,idx=16", "bell:b=3x3,idx=16", "sbell:b=6x6,h=5,idx=16", "bcsr", "bcsr:b=3x3,idx=16", "cmrs:h=16", "cmrs:h=2,wide=1",
        "ell:w=2+csr:run=32", "tcsr:tile=512", "tcsr:tile=512,rows=nonempty/STREAM=1", "tcsr:tile=512,idx=16/STREAM=1,FINISH=1"
    };
    static const size_t some[] = { 22, 25 };
    spmv_device d = open_device();
    int cut = 0, refused = 0;
    size_t i, j;
    for (i = 0; i < LENGTH(some); i++) {
        matrix m = matrix_make(&shapes[some[i]], i % 2 == 1);
        spmv_type type = i % 2 && d.info.f64 ? SPMV_F64 : SPMV_F32;
        bench b;
        if (!wanted(&shapes[some[i]])) continue;
        b = bench_make(&d, &m, type, i % 2 == 1);
        for (j = 0; j < LENGTH(plans); j++) {
            spmv_store store;
            spmv_variant v[SPMV_MAX_PARTS];
            if (!variants_make(&store, v, &m, plans[j], type, 0)) continue;
            check_cut(&d, &b, &store, v, plans[j], &cut, &refused);
            spmv_store_destroy(&store);
        }
        bench_free(&b);
    }
    printf("%d matrices cut, %d that cannot be\n", cut, refused);
    cr_assert_gt(cut, 2 * refused);
    spmv_device_destroy(&d);
}

/* For every n, the n-th allocation fails: there is a status, nothing is leaked, and objects can be destroyed. */
static long budget, blocks;

static void *meager(void *user, void *block, size_t bytes)
{
    (void)user;
    if (!bytes) {
        blocks -= block != NULL;
        free(block);
        return NULL;
    }
    if (budget-- <= 0) return NULL;
    blocks += block == NULL;
    return realloc(block, bytes);
}

Test(limits, every_allocation_fails, .timeout = 120)
{
    spmv_device_desc desc = { 0 };
    matrix m = matrix_make(&shapes[22], 0);
    spmv_store store;
    spmv_status s = SPMV_ERR_MEMORY;
    long n;
    cr_assert(store_make(&store, &m, "ell:w=2+coo", SPMV_F32, 0));
    desc.which = which();
    desc.hooks.log = listen;
    desc.hooks.resize = meager;
    for (n = 0; s != SPMV_OK; n++) {
        spmv_device d;
        spmv_device_matrix a;
        spmv_exec e;
        cr_assert_lt(n, 1000);
        memset(&a, 0, sizeof a);
        memset(&e, 0, sizeof e);
        budget = n;
        s = spmv_device_create(&d, &desc);
        if (!s) s = spmv_device_matrix_create(&a, &d, m.rows, m.cols, SPMV_F32, store.part, (size_t)store.count, NULL);
        if (!s) s = spmv_exec_create(&e, &a, NULL);
        cr_assert(s == SPMV_OK || s == SPMV_ERR_MEMORY, "allocation %ld: %s: %s", n, spmv_status_name(s), said);
        spmv_exec_destroy(&e);
        spmv_device_matrix_destroy(&a);
        spmv_device_destroy(&d);
        cr_assert_eq(blocks, 0, "allocation %ld", n);
    }
    spmv_store_destroy(&store);
}

/* ---- queues, events, threads --------------------------------------------------------------------------------------- */
typedef struct rig {
    spmv_device d;
    matrix m;
    spmv_store store;
    spmv_device_matrix a;
    bench b;
} rig;

static void rig_make_on(rig *r, spmv_device d, const char *plan, size_t shape, int real)
{
    spmv_variant v[SPMV_MAX_PARTS];
    r->d = d;
    r->m = matrix_make(&shapes[shape], real);
    cr_assert(variants_make(&r->store, v, &r->m, plan, SPMV_F32, 1));
    cr_assert_eq(spmv_device_matrix_create(&r->a, &r->d, r->m.rows, r->m.cols, SPMV_F32, r->store.part, (size_t)r->store.count, v), SPMV_OK,
                 "%s", said);
    r->b = bench_make(&r->d, &r->m, SPMV_F32, real);
}

static void rig_make(rig *r, const char *plan, size_t shape, int real) { rig_make_on(r, open_device(), plan, shape, real); }

static void rig_free(rig *r)
{
    bench_free(&r->b);
    spmv_device_matrix_destroy(&r->a);
    spmv_store_destroy(&r->store);
    spmv_device_destroy(&r->d);
}

static void *new_queue(const rig *r, cl_command_queue_properties p)
{
    spmv_status s = SPMV_OK;
    void *q = NULL;
    cl_int e = CL_SUCCESS;
    if (by_opencl(&r->d)) q = clCreateCommandQueue(r->d.context, r->d.info.id, p, &e);
    else SPMV__CUDA_IN(s, &r->d, cuStreamCreate, (&q, 0));
    cr_assert(!s && e == CL_SUCCESS);
    return q;
}

static void free_queue(const rig *r, void *q)
{
    spmv_status s = SPMV_OK;
    if (by_opencl(&r->d)) clReleaseCommandQueue(q);
    else SPMV__CUDA_IN(s, &r->d, cuStreamDestroy_v2, (q));
    cr_assert_eq(s, SPMV_OK);
}

Test(queues, wait_list_and_event)
{
    rig r;
    spmv_exec e;
    cl_int err, state = 0;
    cl_event gate, done = NULL;
    rig_make(&r, "ell:w=2+coo", 24, 0);
    if (!by_opencl(&r.d)) cr_skip("the device is not driven by OpenCL");
    cr_assert_eq(spmv_exec_create(&e, &r.a, NULL), SPMV_OK);
    bench_start(&r.b, r.d.queue, -2.5);
    gate = clCreateUserEvent(r.d.context, &err);
    cr_assert_eq(err, CL_SUCCESS);
    cr_assert_eq(spmv_cl_mul(&e, 1, r.b.xd, X_FRONT, -2.5, r.b.yd, Y_FRONT, 1, &gate, &done), SPMV_OK, "%s", said);
    cr_assert_eq(clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL), CL_SUCCESS);
    cr_assert_gt(state, CL_COMPLETE);
    cr_assert_eq(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    cr_assert_eq(clWaitForEvents(1, &done), CL_SUCCESS);
    bench_check(&r.b, r.d.queue, 1, -2.5, "wait list");
    clReleaseEvent(done);
    /* nothing to do: there still is an event, which completes after those that it waits for */
    cr_assert_eq(spmv_cl_mul(&e, 0, NULL, 0, 1, r.b.yd, Y_FRONT, 1, &gate, &done), SPMV_OK);
    cr_assert_not_null(done);
    cr_assert_eq(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(done);
    clReleaseEvent(gate);
    bench_check(&r.b, r.d.queue, 1, -2.5, "alpha 0, beta 1");
    spmv_exec_destroy(&e);
    rig_free(&r);
}

Test(queues, no_rows_still_an_event)
{
    spmv_device d = open_device();
    spmv_device_matrix a;
    spmv_exec e;
    cl_event done = NULL;
    OPENCL_ONLY(d);
    cr_assert_eq(spmv_device_matrix_create(&a, &d, 0, 7, SPMV_F32, NULL, 0, NULL), SPMV_OK, "%s", said);
    cr_assert_eq(spmv_exec_create(&e, &a, NULL), SPMV_OK, "%s", said);
    cr_assert_eq(spmv_cl_mul(&e, 1, NULL, 0, 0, NULL, 0, 0, NULL, &done), SPMV_OK, "%s", said);
    cr_assert_eq(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(done);
    cr_assert_eq(spmv_exec_mul_host(&e, 1, NULL, 0, NULL), SPMV_OK);
    spmv_exec_destroy(&e);
    spmv_device_matrix_destroy(&a);
    spmv_device_destroy(&d);
}

Test(queues, out_of_order)
{
    rig r;
    spmv_exec e;
    cl_command_queue q;
    int i;
    rig_make(&r, "ell:w=1,rows=nonempty+ell:w=2+coo", 24, 0);
    if (!r.d.info.out_of_order) cr_skip("the device has no such queues");
    q = new_queue(&r, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cr_assert_eq(spmv_exec_create(&e, &r.a, q), SPMV_OK, "%s", said);
    cr_assert(e.chain);
    for (i = 0; i < 50; i++) {
        cl_event done = NULL;
        double beta = i % 3 ? -2.5 : 0;
        bench_start(&r.b, q, beta);
        cr_assert_eq(spmv_cl_mul(&e, 1, r.b.xd, X_FRONT, beta, r.b.yd, Y_FRONT, 0, NULL, &done), SPMV_OK, "%s", said);
        cr_assert_eq(clWaitForEvents(1, &done), CL_SUCCESS);
        clReleaseEvent(done);
        bench_check(&r.b, q, 1, beta, "out of order");
    }
    spmv_exec_destroy(&e);
    free_queue(&r, q);
    rig_free(&r);
}

static void CL_CALLBACK gone(cl_mem m, void *flag)
{
    (void)m;
    *(int *)flag = 1;
}

/* A driver may give a new buffer the handle of one that was released. So an exec retains the vectors that it does not ask about again, and
 * sets their arguments anew for all its launches, also those that did not run in between: with coo, y is scaled only if beta is not 1. */
Test(queues, vectors_are_retained_until_the_next)
{
    rig r;
    spmv_exec e;
    void *x[4];
    int i, is_gone[4] = { 0 };
    rig_make(&r, "coo", 22, 0);
    if (!by_opencl(&r.d)) cr_skip("the device is not driven by OpenCL");
    cr_assert_eq(spmv_exec_create(&e, &r.a, NULL), SPMV_OK);
    for (i = 0; i < 4; i++) {
        const double beta = i % 2 ? 1 : -2.5;
        x[i] = buffer(&r.d, x_bytes(&r.b));
        cr_assert_eq(clSetMemObjectDestructorCallback(x[i], gone, &is_gone[i]), CL_SUCCESS);
        write_mem(&r.d, r.d.queue, x[i], x_bytes(&r.b), r.b.xs);
        bench_start(&r.b, r.d.queue, beta);
        cr_assert_eq(spmv_cl_mul(&e, 1, x[i], X_FRONT, beta, r.b.yd, Y_FRONT, 0, NULL, NULL), SPMV_OK, "%s", said);
        bench_check(&r.b, r.d.queue, 1, beta, "a new x");
        clReleaseMemObject(x[i]);
        cr_assert(!is_gone[i], "x %d is not retained", i);
        cr_assert(!i || is_gone[i - 1], "x %d is still retained", i - 1);
    }
    x[0] = buffer(&r.d, 4); /* the driver could have taken the memory of the last x */
    cr_assert_eq(spmv_cl_mul(&e, 1, x[0], 0, 0, r.b.yd, Y_FRONT, 0, NULL, NULL), SPMV_ERR_ARGUMENT);
    cr_assert(strstr(said, "exceed the buffer's 1"), "%s", said);
    cr_assert_eq(spmv_cl_mul(&e, 0, NULL, 0, 0, r.b.yd, Y_FRONT, 0, NULL, NULL), SPMV_OK, "%s", said); /* x is not read */
    bench_start(&r.b, r.d.queue, -2.5);
    cr_assert_eq(spmv_cl_mul(&e, 1, r.b.xd, X_FRONT, -2.5, r.b.yd, Y_FRONT, 0, NULL, NULL), SPMV_OK, "%s", said);
    bench_check(&r.b, r.d.queue, 1, -2.5, "after one that is too small");
    spmv_buffer_destroy(&r.d, x[0]);
    spmv_exec_destroy(&e);
    for (i = 0; i < 4; i++) cr_assert(is_gone[i], "x %d", i);
    rig_free(&r);
}

Test(queues, x_and_y_in_one_buffer)
{
    rig r;
    spmv_exec e;
    size_t n, x = 3, i;
    float *all, *y;
    void *mem;
    rig_make(&r, "csr", 22, 0);
    n = x + r.m.cols + 1 + r.m.rows;
    all = calloc(n, sizeof *all);
    y = calloc(r.m.rows, sizeof *y);
    for (i = 0; i < r.m.cols; i++) all[x + i] = (float)r.b.x[i];
    mem = buffer(&r.d, n * 4);
    write_mem(&r.d, r.d.queue, mem, n * 4, all);
    cr_assert_eq(spmv_exec_create(&e, &r.a, NULL), SPMV_OK);
    cr_assert_eq(spmv_exec_mul(&e, 1, mem, x, 0, mem, x + r.m.cols + 1), SPMV_OK, "%s", said);
    read_mem(&r.d, r.d.queue, mem, n * 4, all);
    cr_assert_eq(spmv_exec_mul_host(&e, 1, all + x, 0, y), SPMV_OK, "%s", said);
    for (i = 0; i < r.m.rows; i++) cr_assert_eq(y[i], all[x + r.m.cols + 1 + i]);
    spmv_buffer_destroy(&r.d, mem);
    free(all);
    free(y);
    spmv_exec_destroy(&e);
    rig_free(&r);
}

typedef struct worker {
    pthread_t thread;
    const rig *r;
    void *q;
    float *x, *y;
    spmv_status s;
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    spmv_exec e;
    int i;
    w->s = spmv_exec_create(&e, &w->r->a, w->q);
    for (i = 0; !w->s && i < 20; i++) w->s = spmv_exec_mul_host(&e, -2.5, w->x, 0, w->y);
    spmv_exec_destroy(&e);
    return NULL;
}

Test(queues, threads_get_equal_bits, .timeout = 120)
{
    static const char *const plans[] = { "csr", "csr:run=32", "csr:run=32/STREAM=0,FINISH=1",
                                          "csr:run=33/STREAM=1,FINISH=1", "coo", "ell:w=3+coo", "cmrs", "sell:rows=sorted" };
    size_t p, i;
    for (p = 0; p < LENGTH(plans); p++) {
        rig r;
        worker w[4];
        float *x, *first = NULL;
        rig_make(&r, plans[p], 24, 1);
        x = malloc(r.m.cols * sizeof *x);
        for (i = 0; i < r.m.cols; i++) x[i] = (float)r.b.x[i];
        for (i = 0; i < LENGTH(w); i++) {
            w[i].r = &r;
            w[i].q = i < 2 ? NULL : new_queue(&r, 0); /* two threads share the device's queue */
            w[i].x = x;
            w[i].y = calloc(r.m.rows, sizeof *w[i].y);
            cr_assert_eq(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
        }
        for (i = 0; i < LENGTH(w); i++) {
            pthread_join(w[i].thread, NULL);
            cr_assert_eq(w[i].s, SPMV_OK, "%s: %s", plans[p], said);
            if (!first) first = w[i].y;
            cr_assert_eq(memcmp(first, w[i].y, r.m.rows * sizeof *first), 0, "%s", plans[p]);
        }
        for (i = 0; i < LENGTH(w); i++) {
            free(w[i].y);
            if (w[i].q) free_queue(&r, w[i].q);
        }
        free(x);
        rig_free(&r);
    }
}

Test(queues, timing)
{
    spmv_device_desc desc = { 0 };
    spmv_device d;
    matrix m = matrix_make(&shapes[24], 0);
    spmv_store store;
    spmv_device_matrix a;
    spmv_exec e;
    float *x = calloc(m.cols, 4), *y = calloc(m.rows, 4);
    double seconds = -1;
    desc.which = which();
    desc.profile = 1;
    desc.hooks.log = listen;
    cr_assert_eq(spmv_device_create(&d, &desc), SPMV_OK);
    cr_assert(store_make(&store, &m, "ell:w=2+coo", SPMV_F32, 0));
    cr_assert_eq(spmv_device_matrix_create(&a, &d, m.rows, m.cols, SPMV_F32, store.part, (size_t)store.count, NULL), SPMV_OK);
    cr_assert_eq(spmv_exec_create(&e, &a, NULL), SPMV_OK);
    cr_assert_eq(spmv_exec_seconds(&e, &seconds), SPMV_ERR_ARGUMENT);
    cr_assert_eq(spmv_exec_timing(&e, 1), SPMV_OK);
    cr_assert_eq(spmv_exec_mul_host(&e, 1, x, 0, y), SPMV_OK);
    cr_assert_eq(spmv_exec_seconds(&e, &seconds), SPMV_OK);
    cr_assert(seconds > 0 && seconds < 60);
    cr_assert_eq(spmv_exec_mul_host(&e, 0, x, 1, y), SPMV_OK); /* enqueues only a marker */
    cr_assert_eq(spmv_exec_seconds(&e, &seconds), SPMV_OK, "%s", said);
    cr_assert_eq(spmv_exec_timing(&e, 0), SPMV_OK);
    spmv_exec_destroy(&e);
    spmv_device_matrix_destroy(&a);
    spmv_store_destroy(&store);
    spmv_device_destroy(&d);
    free(x);
    free(y);
}

Test(update, values_follow, .timeout = 120)
{
    static const char *const plans[] = { "csr", "csr:run=32,idx=16", "coo", "dense", "dia", "sell:rows=sorted", "bcsr:b=3x3",
                                          "ell:w=3+cmrs:h=8,sort=1" };
    size_t p;
    uint64_t k;
    for (p = 0; p < LENGTH(plans); p++) {
        rig r;
        spmv_exec e;
        spmv_csr csr;
        spmv_input in = { 0 };
        double *val;
        rig_make(&r, plans[p], 22, 0);
        cr_assert_eq(spmv_exec_create(&e, &r.a, NULL), SPMV_OK);
        val = malloc(r.m.nnz * sizeof *val);
        for (k = 0; k < r.m.nnz; k++) val[k] = -2 * r.m.val[k] + 1;
        r.m.val = val;
        in.rows = r.m.rows;
        in.cols = r.m.cols;
        in.ptr = r.m.ptr;
        in.ptr_bits = 64;
        in.col = r.m.col;
        in.val = r.m.val;
        in.val_type = SPMV_F64;
        cr_assert_eq(spmv_csr_create(&csr, &in, SPMV_F32, NULL), SPMV_OK);
        cr_assert_eq(spmv_store_update(&r.store, &csr), SPMV_OK);
        cr_assert_eq(spmv_device_matrix_update(&r.a, r.store.part, (size_t)r.store.count), SPMV_OK);
        bench_start(&r.b, r.d.queue, 1);
        cr_assert_eq(spmv_exec_mul(&e, -2.5, r.b.xd, X_FRONT, 1, r.b.yd, Y_FRONT), SPMV_OK);
        bench_check(&r.b, r.d.queue, -2.5, 1, plans[p]);
        cr_assert_eq(spmv_device_matrix_update(&r.a, r.store.part, 0), SPMV_ERR_ARGUMENT);
        free(val);
        spmv_csr_destroy(&csr);
        spmv_exec_destroy(&e);
        rig_free(&r);
    }
}

/* An infinity in an unused column, and before and after x, does not reach y in formats without fill. */
Test(update, infinity_stays_in_its_column)
{
    static const char *const plans[] = { "csr", "csr:run=32", "coo", "ell", "sell:h=7", "sell:grow=0.2", "cmrs:h=16",
                                          "cmrs:wide=1" };
    size_t p, i;
    for (p = 0; p < LENGTH(plans); p++) {
        rig r;
        spmv_exec e;
        float *x, *y;
        rig_make(&r, plans[p], 19, 0); /* only row 77 has entries, in columns 1, 31 and 61 */
        x = malloc(r.m.cols * sizeof *x);
        y = malloc(r.m.rows * sizeof *y);
        for (i = 0; i < r.m.cols; i++) x[i] = i % 30 == 1 ? 1 : INFINITY;
        cr_assert_eq(spmv_exec_create(&e, &r.a, NULL), SPMV_OK);
        cr_assert_eq(spmv_exec_mul_host(&e, 1, x, 0, y), SPMV_OK);
        for (i = 0; i < r.m.rows; i++) cr_assert(i == 77 ? isfinite(y[i]) : y[i] == 0, "%s: y[%zu] = %g", plans[p], i, y[i]);
        free(x);
        free(y);
        spmv_exec_destroy(&e);
        rig_free(&r);
    }
}

/* ---- many at once -------------------------------------------------------------------------------------------------- */
typedef struct crowd {
    pthread_t thread;
    const rig *r;
    void *q, *y;
    const float *want;
    int products, bad;
    spmv_status s;
} crowd;

static void *crowd_work(void *arg)
{
    crowd *w = arg;
    const spmv_device *d = &w->r->d;
    size_t bytes = w->r->m.rows * sizeof(float);
    float *y = malloc(bytes);
    spmv_exec e;
    int i;
    w->s = spmv_exec_create(&e, &w->r->a, w->q);
    for (i = 0; !w->s && i < w->products; i++) {
        void *done = NULL;
        w->s = spmv__exec_mul(&e, "crowd_work", 1, w->r->b.xd, X_FRONT, 0, w->y, 0, 0, NULL, &done);
        if (w->s) break;
        w->s = d->info.backend->read(d, w->q, w->y, bytes, y, done);
        d->info.backend->event_free(d, done);
        w->bad += memcmp(y, w->want, bytes) != 0;
    }
    spmv_exec_destroy(&e);
    free(y);
    return NULL;
}

Test(queues, sixteen_threads_over_four_queues, .timeout = 120)
{
    static const char *const plans[] = { "csr", "ell:w=2+csr:rows=nonempty,run=64", "coo", "csr:run=32/STREAM=0,FINISH=1",
                                          "ell:w=2+csr:rows=nonempty,run=33/+STREAM=1,FINISH=1" };
    size_t p, i;
    for (p = 0; p < LENGTH(plans); p++) {
        rig r;
        crowd w[16];
        void *q[4];
        float *x, *want;
        spmv_exec e;
        rig_make(&r, plans[p], 24, 1);
        x = malloc(r.m.cols * sizeof *x);
        want = malloc(r.m.rows * sizeof *want);
        for (i = 0; i < r.m.cols; i++) x[i] = (float)r.b.x[i];
        cr_assert_eq(spmv_exec_create(&e, &r.a, NULL), SPMV_OK);
        cr_assert_eq(spmv_exec_mul_host(&e, 1, x, 0, want), SPMV_OK, "%s", said);
        for (i = 0; i < LENGTH(q); i++) q[i] = new_queue(&r, 0);
        for (i = 0; i < LENGTH(w); i++) {
            w[i] = (crowd){ .r = &r, .q = q[i % LENGTH(q)], .want = want, .products = 40 };
            w[i].y = buffer(&r.d, r.m.rows * sizeof(float));
            cr_assert_eq(pthread_create(&w[i].thread, NULL, crowd_work, &w[i]), 0);
        }
        for (i = 0; i < LENGTH(w); i++) {
            pthread_join(w[i].thread, NULL);
            cr_assert_eq(w[i].s, SPMV_OK, "%s: %s", plans[p], said);
            cr_assert_eq(w[i].bad, 0, "%s: %d products differ", plans[p], w[i].bad);
            spmv_buffer_destroy(&r.d, w[i].y);
        }
        for (i = 0; i < LENGTH(q); i++) free_queue(&r, q[i]);
        spmv_exec_destroy(&e);
        free(x);
        free(want);
        rig_free(&r);
    }
}

/* Contexts that each have a matrix, in turn on two devices if there are two (PoCL can make two of one processor). */
Test(device, several_at_once, .timeout = 120)
{
    static const char *const plans[] = { "csr", "sell:h=7", "ell:w=2+coo" };
    static const size_t some[] = { 22, 24, 12 };
    rig r[LENGTH(plans)];
    spmv_exec e[LENGTH(plans)];
    spmv_device_info info[8];
    size_t count = 0, i, n;
    setenv("POCL_DEVICES", "pthread pthread", 1);
    cr_assert_eq(spmv_device_list(info, LENGTH(info), &count, NULL), SPMV_OK);
    cr_assert_gt(count, 0);
    if (!strcmp(info[0].platform, "Portable Computing Language")) cr_assert_geq(count, 2);
    if (count > LENGTH(info)) count = LENGTH(info);
    for (i = 0; i < LENGTH(r); i++) {
        spmv_device_desc desc = { 0 };
        spmv_device d;
        char index[8];
        spmv_print(index, sizeof index, "%d", (int)(i % count));
        desc.which = index;
        desc.hooks.log = listen;
        cr_assert_eq(spmv_device_create(&d, &desc), SPMV_OK, "%s", said);
        rig_make_on(&r[i], d, plans[i], some[i], 0);
        cr_assert_eq(spmv_exec_create(&e[i], &r[i].a, NULL), SPMV_OK, "%s", said);
    }
    cr_assert_neq(r[0].d.context, r[1].d.context);
    for (n = 0; n < 20; n++) {
        for (i = 0; i < LENGTH(r); i++) {
            bench_start(&r[i].b, r[i].d.queue, -2.5);
            cr_assert_eq(spmv_exec_mul(&e[i], 1, r[i].b.xd, X_FRONT, -2.5, r[i].b.yd, Y_FRONT), SPMV_OK,
                         "%s", said);
        }
        for (i = 0; i < LENGTH(r); i++) bench_check(&r[i].b, r[i].d.queue, 1, -2.5, plans[i]);
    }
    for (i = 0; i < LENGTH(r); i++) {
        spmv_exec_destroy(&e[i]);
        rig_free(&r[i]);
    }
}

/* ---- self-check ---------------------------------------------------------------------------------------------------- */
static unsigned begun, ended, last_result;
static char reason[1024];

static void note(void *user, const selfcheck_variant *c)
{
    (void)user;
    if (c->result == SELFCHECK_BEGINS) {
        begun++;
        return;
    }
    ended++;
    last_result = c->result;
    cr_assert_eq(c->result == SELFCHECK_USABLE, c->built && c->exact && c->bound);
    cr_assert_eq(c->result == SELFCHECK_USABLE, c->message[0] == 0, "%s/%s: %s", c->plan, c->variant, c->message);
    if (c->result != SELFCHECK_USABLE) snprintf(reason, sizeof reason, "%s/%s: %s", c->plan, c->variant, c->message);
}

static selfcheck_counts check(spmv_device *d, spmv_format f, const char *defect)
{
    selfcheck_desc desc = { 0 };
    selfcheck_counts n;
    desc.formats = 1u << f;
    desc.types = 1u << SPMV_F32;
    desc.report = note;
    begun = ended = 0;
    reason[0] = 0;
    if (defect) setenv("SPMV_DEFECT", defect, 1);
    else unsetenv("SPMV_DEFECT");
    cr_assert_eq(selfcheck_run(d, &desc, &n), SPMV_OK, "%s", said);
    unsetenv("SPMV_DEFECT");
    cr_assert_eq(n.variants, n.usable + n.refused + n.failed + n.wrong);
    cr_assert_eq(n.variants, ended);
    cr_assert_geq(begun, ended);
    return n;
}

Test(self_check, finds_planted_defects, .timeout = 300)
{
    spmv_device d = open_device();
    selfcheck_counts sound, n;
    OPENCL_ONLY(d); /* into whose calls the defects are planted */
    sound = check(&d, SPMV_DIA, NULL);
    cr_assert_gt(sound.usable, 4);
    cr_assert_eq(sound.wrong + sound.failed, 0, "%s", reason);
    cr_assert_null(d.common->programs); /* the programs that it built were freed */
    n = check(&d, SPMV_DIA, "d = L / 2; d > 0=>d = L / 2; d > 1"); /* only variants with several lanes */
    cr_assert(n.wrong > 0 && n.usable > 0, "%s", reason);
    n = check(&d, SPMV_DIA, "if (beta != (VEC)0)=>"); /* y is read although beta is 0 */
    cr_assert_eq(n.wrong, n.variants);
    cr_assert(strstr(reason, "nan"), "%s", reason);
    n = check(&d, SPMV_DIA, "(y) += y0 + =>(y) += y0 - 1 + ");
    cr_assert_eq(n.wrong, n.variants);
    cr_assert(strstr(reason, "before y"), "%s", reason);
    n = check(&d, SPMV_DIA, "reqd_work_group_size=>no_such_word(");
    cr_assert_eq(n.failed, n.variants);
    cr_assert(strstr(reason, "did not build"), "%s", reason);
    spmv_device_destroy(&d);
}

Test(self_check, limits_are_refusals, .timeout = 120)
{
    spmv_device d = open_device();
    const spmv_device_info real = d.info;
    selfcheck_desc desc = { 0 };
    selfcheck_counts n;
    d.info.group_size = 32;
    n = check(&d, SPMV_DIA, NULL);
    cr_assert(n.refused > 0 && n.usable > 0 && n.wrong + n.failed == 0, "%s", reason);
    cr_assert_eq(last_result, SELFCHECK_USABLE);
    d.info = real;
    d.info.f64 = 0;
    desc.formats = 1u << SPMV_ELL | 1u << SPMV_DIA;
    desc.types = 1u << SPMV_F64;
    cr_assert_eq(selfcheck_run(&d, &desc, &n), SPMV_OK);
    cr_assert_eq(n.refused, n.variants);
    cr_assert_gt(n.refused, 0);
    cr_assert_eq(n.products, 0);
    spmv_device_destroy(&d);
}

Test(self_check, allocations_fail, .timeout = 300)
{
    spmv_device_desc desc = { 0 };
    selfcheck_desc some = { 0 };
    selfcheck_counts n;
    spmv_status s = SPMV_ERR_MEMORY;
    spmv_device d;
    long most;
    desc.which = which();
    desc.hooks.log = listen;
    desc.hooks.resize = meager;
    some.formats = 1u << SPMV_DIA;
    some.types = 1u << SPMV_F32;
    budget = 1000000;
    cr_assert_eq(spmv_device_create(&d, &desc), SPMV_OK, "%s", said);
    for (most = 0; s != SPMV_OK; most += most < 90 ? 1 : most / 4) {
        long held = blocks;
        cr_assert_lt(most, 1000000);
        budget = most;
        s = selfcheck_run(&d, &some, &n);
        cr_assert(s == SPMV_OK || s == SPMV_ERR_MEMORY, "allocation %ld: %s: %s", most, spmv_status_name(s), said);
        cr_assert_eq(blocks, held, "allocation %ld", most);
    }
    cr_assert_eq(n.usable + (d.info.image_texels ? 0 : n.refused), n.variants);
    spmv_device_destroy(&d);
    cr_assert_eq(blocks, 0);
}
