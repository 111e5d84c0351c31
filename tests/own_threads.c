/* SPDX-License-Identifier: MIT
 * Products and preparations in threads of the caller's own (SPMV_THREADS, SPMV_PARALLEL): bitwise the same arrays and y as in one thread,
 * from tasks that run at once or one after another, and that neither allocate nor log. It is a program and not a Criterion test, so that
 * ThreadSanitizer can run it:
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -g -O0 -fsanitize=thread -DPOOL_STACK=1048576 -I. tests/own_threads.c -o build/own -pthread
 *
 * Ends with "N passed, N failed". */
#define SPMV_NO_DEVICES
#ifndef SPMV__SHARE
#define SPMV__SHARE 64 /* so that the work on small matrices is shared among threads as well */
#endif
#define SPMV_IMPLEMENTATION
#include "pool.h"
#include "spmv.h"
#include "spmv_group.h"

static unsigned passed, failed;

static void check(int fine, const char *what, const char *plan, int threads)
{
    if (fine) passed++;
    else failed++;
    if (!fine) printf("%s, %s, %d threads%s: not as it must be\n", what, plan, threads, pool_backward ? ", one after another" : "");
}

/* ---- hooks, which only the calling thread may use ---- */

static void *resize(void *user, void *block, size_t bytes)
{
    (void)user;
    if (pool_within) __atomic_fetch_add(&pool_faults, 1, __ATOMIC_RELAXED);
    if (bytes) return realloc(block, bytes);
    free(block);
    return NULL;
}

static void hear(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    (void)message;
    if (pool_within) __atomic_fetch_add(&pool_faults, 1, __ATOMIC_RELAXED);
}

static void begin_phase(void *user, spmv_phase p)
{
    (void)user;
    (void)p;
    if (pool_within) __atomic_fetch_add(&pool_faults, 1, __ATOMIC_RELAXED);
}

/* ---- shares ---- */

enum { MOST_SHARES = 200 };

static unsigned done[MOST_SHARES], astray;

static void count_share(void *job, uint64_t share, size_t thread)
{
    if (thread >= *(size_t *)job) __atomic_fetch_add(&astray, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&done[share], 1, __ATOMIC_RELAXED);
}

static void count_product(const spmv__job *job, uint64_t share, uint64_t shares)
{
    (void)job;
    (void)shares;
    __atomic_fetch_add(&done[share], 1, __ATOMIC_RELAXED);
}

/* 1 if so many shares were done once, and nothing else was. */
static int each_once(uint64_t shares)
{
    uint64_t i;
    int once = !astray;
    for (i = 0; i < MOST_SHARES; i++) once = once && done[i] == (i < shares);
    memset(done, 0, sizeof done);
    astray = 0;
    return once;
}

/* Each share of a work and of a product is done once, by a thread with a number below that of threads. */
static void test_shares(int threads)
{
    size_t some = (size_t)threads;
    spmv__job one;
    uint64_t shares;
    int fine = 1;
    memset(&one, 0, sizeof one);
    one.vectors = 1;
    for (shares = 0; shares < MOST_SHARES && shares < (uint64_t)threads * 9; shares++) {
        spmv__share_among(count_share, &some, shares, some);
        fine = fine && each_once(shares);
        if (shares) spmv__run_shares(&one, count_product, shares, some);
        fine = fine && each_once(shares);
    }
    check(fine, "shares", "each once", threads);
}

/* ---- matrices ---- */

typedef struct sample {
    const char *name;
    uint64_t rows, cols, *ptr;
    uint32_t *col;
    double *val, *x;
} sample;

static uint64_t rng_state = 1;

static uint64_t rng(void)
{
    uint64_t z = rng_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double rng_real(void) { return (double)(rng() >> 11) / 9007199254740992.0 - 0.4; }

static void *need(uint64_t count, size_t size)
{
    void *block = calloc((size_t)count + 1, size);
    if (!block) abort();
    return block;
}

/* Rows of most nonzeros or fewer: on a band of that width about the diagonal, or scattered. A few values are zero. */
static sample make(const char *name, uint64_t rows, uint64_t cols, uint64_t most, int band)
{
    sample m;
    uint64_t r, c, n = 0;
    m.name = name;
    m.rows = rows;
    m.cols = cols;
    m.ptr = (uint64_t *)need(rows + 1, sizeof *m.ptr);
    m.col = (uint32_t *)need(rows * most, sizeof *m.col);
    m.val = (double *)need(rows * most, sizeof *m.val);
    m.x = (double *)need(cols, sizeof *m.x);
    for (r = 0; r < rows; r++) {
        const uint64_t length = band ? most : rng() % (most + 1), step = band ? 1 : length ? cols / length : 1;
        for (c = band ? r * cols / rows : step ? rng() % step : 0; c < cols && n - m.ptr[r] < length; c += band ? 1 : 1 + rng() % step) {
            m.col[n] = (uint32_t)c;
            m.val[n++] = rng() % 50 ? rng_real() : 0;
        }
        m.ptr[r + 1] = n;
    }
    for (c = 0; c < cols; c++) m.x[c] = rng_real();
    return m;
}

static void drop(sample *m)
{
    free(m->ptr);
    free(m->col);
    free(m->val);
    free(m->x);
}

/* ---- preparing and multiplying ---- */

static int same_array(const spmv_array *a, const spmv_array *b)
{
    return a->count == b->count && a->width == b->width && (!a->count || !memcmp(a->data, b->data, (size_t)(a->count * a->width)));
}

static int same_store(const spmv_store *a, const spmv_store *b)
{
    int i, k, same = a->count == b->count;
    for (i = 0; same && i < a->count; i++) {
        const spmv_part *p = &a->part[i], *q = &b->part[i];
        same = same_array(&p->zeros, &q->zeros) && same_array(&p->map, &q->map) && same_array(&p->list, &q->list) &&
               !memcmp(p->n, q->n, sizeof p->n) && p->index == q->index && p->nnz == q->nnz;
        for (k = 0; k < SPMV_MAX_ARRAYS; k++) same = same && same_array(&p->a[k], &q->a[k]);
    }
    return same;
}

static spmv_desc desc_of(const sample *m, const char *plan)
{
    spmv_desc d;
    memset(&d, 0, sizeof d);
    d.matrix.rows = (int64_t)m->rows;
    d.matrix.cols = (int64_t)m->cols;
    d.matrix.ptr = m->ptr;
    d.matrix.ptr_bits = 64;
    d.matrix.col = m->col;
    d.matrix.val = m->val;
    d.plan = plan;
    d.updatable = 1;
    d.hooks.resize = resize;
    d.hooks.log = hear;
    d.hooks.phase = begin_phase;
    return d;
}

static int prepare(spmv_matrix *out, const sample *m, const char *plan)
{
    spmv_build_hints hints;
    spmv_desc d = desc_of(m, plan);
    memset(&hints, 0, sizeof hints);
    hints.expected_calls = 1000000;
    d.hints = &hints;
    return spmv_create(out, &d) == SPMV_OK;
}

/* ---- input ---- */

/* The matrix as CSC, as a transpose, and as the upper half of a symmetric matrix, if the columns of its rows begin on the diagonal. */
static spmv_input input(const sample *m, int kind)
{
    spmv_input in;
    memset(&in, 0, sizeof in);
    in.form = kind == 0 ? SPMV_IN_CSC : SPMV_IN_CSR;
    in.rows = (int64_t)(kind == 0 ? m->cols : m->rows);
    in.cols = (int64_t)(kind == 0 ? m->rows : m->cols);
    in.ptr = m->ptr;
    in.ptr_bits = 64;
    in.row = kind == 0 ? m->col : NULL;
    in.col = kind == 0 ? NULL : m->col;
    in.val = m->val;
    in.transpose = kind == 1;
    in.symmetry = kind == 2 ? SPMV_SYMMETRIC : SPMV_GENERAL;
    return in;
}

static int same_csr(const spmv_csr *a, const spmv_csr *b)
{
    return a->rows == b->rows && a->nnz == b->nnz && !memcmp(a->ptr, b->ptr, (size_t)(a->rows + 1) * 8) &&
           !memcmp(a->col, b->col, (size_t)a->nnz * 4) && !memcmp(a->val, b->val, (size_t)a->nnz * 8);
}

/* Each of so many kinds of input in one thread and in several: counting, placing and looking are shared. */
static void test_input(const sample *m, int kinds)
{
    spmv_hooks h;
    spmv_csr a, b;
    unsigned long tasks;
    int kind;
    memset(&h, 0, sizeof h);
    h.resize = resize;
    h.log = hear;
    for (kind = 0; kind < kinds; kind++) {
        const spmv_input in = input(m, kind);
        pool_threads = 1;
        check(!spmv_csr_create(&a, &in, SPMV_F64, &h), "input", m->name, 1);
        for (pool_threads = 2; pool_threads <= 4; pool_threads++) {
            pool_backward = pool_threads == 3;
            tasks = pool_tasks;
            check(!spmv_csr_create(&b, &in, SPMV_F64, &h) && same_csr(&a, &b), "input", m->name, pool_threads);
            check(pool_tasks - tasks >= 6, "input's tasks", m->name, pool_threads);
            spmv_csr_destroy(&b);
        }
        spmv_csr_destroy(&a);
    }
    pool_backward = 0;
}

/* y from several products, so that beta counts, and scaling. */
static int multiply(const spmv_matrix *a, const sample *m, double *y)
{
    const spmv__many one = spmv__many_of(1, SPMV_ONE_AFTER_ANOTHER, 0, 0, m->rows, 0);
    uint64_t i;
    for (i = 0; i < m->rows; i++) y[i] = (double)i;
    return !spmv_mul(a, 0.3, m->x, -0.7, y) && !spmv_mul(a, 1, m->x, 0.5, y) &&
           (spmv__scale_rows(SPMV_F64, NULL, one.rows, &one, 1.1, y), 1);
}

/* Prepares and multiplies with one thread and with several. wanted: the tasks that must at least have run. */
static void test_plan(const sample *m, const char *plan, unsigned long wanted)
{
    double *one = (double *)need(m->rows, sizeof *one), *more = (double *)need(m->rows, sizeof *more);
    spmv_matrix a, b;
    unsigned long tasks;
    int threads;
    pool_threads = 1;
    if (!prepare(&a, m, plan) || !multiply(&a, m, one)) {
        check(0, m->name, plan, 1);
        return;
    }
    for (threads = 2; threads <= 4; threads++) {
        pool_backward = threads == 3;
        pool_threads = threads;
        tasks = pool_tasks;
        check(prepare(&b, m, plan) && same_store(&a.store, &b.store), m->name, plan, threads);
        check(multiply(&b, m, more) && !memcmp(one, more, (size_t)m->rows * sizeof *one), m->name, plan, threads);
        check(pool_tasks - tasks >= wanted, "tasks", plan, threads);
        spmv_destroy(&b);
    }
    spmv_destroy(&a);
    free(one);
    free(more);
    pool_backward = 0;
}

/* ---- groups: halos are found, and nonzeros renumbered, in threads ---- */

enum { BLOCKS = 3 };

static int divide(spmv_group *g, const sample *m)
{
    static spmv_device *const hosts[BLOCKS] = { NULL, NULL, NULL };
    spmv_group_desc d;
    memset(&d, 0, sizeof d);
    d.desc = desc_of(m, "csr");
    d.device = hosts;
    d.count = BLOCKS;
    d.divide = SPMV_GROUP_BY_NNZ;
    return spmv_group_create(g, &d) == SPMV_OK;
}

/* 1 if a block's halo is as large as its columns say. */
static int halo_is_right(const spmv_group_block *b, const sample *m)
{
    unsigned char *read = (unsigned char *)need(m->cols, 1);
    uint64_t i, before = 0, after = 0, own = 0;
    for (i = m->ptr[b->row]; i < m->ptr[b->row + b->rows]; i++) read[m->col[i]] = 1;
    for (i = m->ptr[b->row]; i < m->ptr[b->row + b->rows]; i++) own += m->col[i] >= b->col && m->col[i] < b->col + b->cols;
    for (i = 0; i < b->col; i++) before += read[i];
    for (i = b->col + b->cols; i < m->cols; i++) after += read[i];
    free(read);
    return before == b->before && after == b->after && own == b->own_nnz;
}

static void test_group(const sample *m)
{
    double *one = (double *)need(m->rows, sizeof *one), *more = (double *)need(m->rows, sizeof *more);
    spmv_matrix whole;
    spmv_group a, b;
    unsigned long alone, runs;
    int i;
    pool_threads = 1;
    check(divide(&a, m) && !spmv_group_mul(&a, 0.3, m->x, 0, one), "group", m->name, 1);
    for (i = 0; i < BLOCKS; i++) check(halo_is_right(&a.block[i], m), "halo", m->name, 1);
    for (pool_threads = 2; pool_threads <= 4; pool_threads++) {
        pool_backward = pool_threads == 3;
        runs = pool_runs;
        check(prepare(&whole, m, "csr"), "whole", m->name, pool_threads);
        alone = pool_runs - runs;
        runs = pool_runs;
        check(divide(&b, m), "group", m->name, pool_threads);
        check(pool_runs - runs >= BLOCKS * (alone + 2), "group's runs", m->name, pool_threads); /* its halo and its nonzeros */
        for (i = 0; i < BLOCKS; i++)
            check(halo_is_right(&b.block[i], m) && same_store(&a.block[i].piece[0].m.store, &b.block[i].piece[0].m.store), "block",
                  m->name, pool_threads);
        check(!spmv_group_mul(&b, 0.3, m->x, 0, more) && !memcmp(one, more, (size_t)m->rows * sizeof *one), "group", m->name, pool_threads);
        spmv_destroy(&whole);
        spmv_group_destroy(&b);
    }
    spmv_group_destroy(&a);
    free(one);
    free(more);
    pool_backward = 0;
}

/* ---- several threads that multiply at once, each in threads ---- */

typedef struct caller {
    const spmv_matrix *a;
    const sample *m;
    double *y;
    int fine;
    pthread_t thread;
} caller;

static void *call(void *arg)
{
    caller *c = (caller *)arg;
    c->fine = multiply(c->a, c->m, c->y);
    return NULL;
}

static void test_crowd(const sample *m, const char *plan)
{
    enum { CALLERS = 3 };
    caller c[CALLERS];
    spmv_matrix a;
    int i;
    pool_threads = 3;
    check(prepare(&a, m, plan), "crowd", plan, pool_threads);
    for (i = 0; i < CALLERS; i++) {
        c[i].a = &a;
        c[i].m = m;
        c[i].y = (double *)need(m->rows, sizeof *c[i].y);
        if (pthread_create(&c[i].thread, NULL, call, &c[i])) abort();
    }
    for (i = 0; i < CALLERS; i++) {
        pthread_join(c[i].thread, NULL);
        check(c[i].fine && !memcmp(c[0].y, c[i].y, (size_t)m->rows * sizeof *c[i].y), "crowd", plan, pool_threads);
    }
    for (i = 0; i < CALLERS; i++) free(c[i].y);
    spmv_destroy(&a);
}

/* Without OpenMP "measure" goes by the time that passes, not by what the processors spend: while this sleeps, they spend nothing. */
static void test_clock(const sample *m)
{
    const struct timespec pause = { 0, 20000000 };
    const double before = spmv__seconds();
    spmv_choice choice;
    spmv_build_hints hints;
    spmv_desc d = desc_of(m, "measure");
    spmv_matrix a;
    pool_threads = 2;
    nanosleep(&pause, NULL);
    check(before >= 0 && spmv__seconds() - before > 0.0199, "clock", "sleep", 1);
    memset(&hints, 0, sizeof hints);
    hints.expected_calls = 1000000;
    hints.choice = &choice;
    d.hints = &hints;
    check(!spmv_create(&a, &d) && choice.count > 1 && choice.option[0].measured > 0, "clock", "measure", pool_threads);
    spmv_destroy(&a);
}

int main(void)
{
    static const char *const plans[] = {
        "dia", "bdia", /* not for scattered nonzeros */
        "dense", "coo", "csr", "csr:run=256,idx=16", "csr:rows=sorted", "csr:rows=nonempty", "ell", "ell:idx=16", "sell",
        "sell:h=8,rows=sorted,sigma=64", "sell:grow=0.2,idx=16", "bell:b=2x2", "sbell:b=3x3,h=5,idx=16", "bcsr:b=2x4",
        "cmrs", "cmrs:h=16,sort=1", "tcsr", "tcsr:tile=512,rows=sorted,idx=16", "ell:w=3+coo", "bcsr:b=3x3,d=0.3+csr:run=64",
        "dia:d=0.5+sell:h=8,rows=sorted,sigma=64", "hyb", "cmrs", "auto", "cocktail"
    };
    static const char *const large_plans[] = { "csr", "coo", "sell", "tcsr", "bcsr:b=2x2", "auto" };
    sample m;
    size_t i;
    for (pool_threads = 1; pool_threads <= POOL_MOST; pool_threads++) test_shares(pool_threads);
    m = make("scattered", 1500, 800, 40, 0);
    for (i = 2; i < sizeof plans / sizeof *plans; i++) test_plan(&m, plans[i], 4);
    test_input(&m, 2);
    test_group(&m);
    drop(&m);
    m = make("band", 1500, 1500, 20, 1);
    for (i = 0; i < sizeof plans / sizeof *plans; i++) test_plan(&m, plans[i], 4);
    test_crowd(&m, "sell");
    test_input(&m, 3);
    test_group(&m);
    drop(&m);
    m = make("large", 60000, 60000, 8, 1); /* too large for shares that stay in caches */
    for (i = 0; i < sizeof large_plans / sizeof *large_plans; i++) test_plan(&m, large_plans[i], 10);
    test_crowd(&m, "csr");
    test_clock(&m);
    drop(&m);
    m = make("long rows", 4, 50000, 40000, 1); /* which threads share */
    test_plan(&m, "csr", 6);
    drop(&m);
    check(!pool_faults, "hooks", "called by tasks", (int)pool_faults);
    printf("%lu runs of %lu tasks\n%u passed, %u failed\n", pool_runs, pool_tasks, passed, failed);
    return failed != 0;
}
