/* SPDX-License-Identifier: MIT
 * One matrix on several devices (spmv_group.h): two halves of the first OpenCL device where it can be divided, a second context of it, the
 * host, in several combinations; results, bits, halos, updates, refusals, lack of memory. What a back end is asked for, call by call, is
 * in tests/test_device.c, failing calls of OpenCL are in tests/test_faults.c, CUDA in tests/test_cuda.c. SPMV_TEST_DEVICE names another
 * device (spmv_device_desc.which); two names with a plus sign between them, such as cuda:0+cuda:1, are used in place of the halves. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "../spmv.h"
#include "../spmv_group.h"

#include <criterion/criterion.h>
#include "final.h"
#include "common.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

/* ---- devices -------------------------------------------------------------------------------------------------------- */

enum { HALF_A, HALF_B, OTHER, DEVICES };
static spmv_device device[DEVICES];
static cl_context  shared;           /* of the two halves */
static cl_device_id half[2];
static cl_uint     halves;           /* 0: the device cannot be divided */

static void open_device(spmv_device *d, const char *which, cl_context context, cl_device_id id)
{
    spmv_device_desc desc = { 0 };
    desc.which = which;
    desc.context = context;
    desc.id = id;
    cr_assert_eq(spmv_device_create(d, &desc), SPMV_OK);
}

/* Divides the device, if that is possible. */
static void make_halves(void)
{
    static const cl_device_partition_property by_counts[] = { CL_DEVICE_PARTITION_BY_COUNTS, 1, 1,
                                                              CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0 };
    cl_int e;
    if (clCreateSubDevices((cl_device_id)device[OTHER].info.id, by_counts, 2, half, &halves) != CL_SUCCESS || halves != 2) {
        halves = 0;
        return;
    }
    shared = clCreateContext(NULL, 2, half, NULL, NULL, &e);
    cr_assert_eq(e, CL_SUCCESS);
}

/* Opens two devices that are named, two sub-devices in one context, or the device twice; and the first device in a context of its own. */
static void set_up(void)
{
    char name[2][40] = { "", "" };
    const char *which = getenv("SPMV_TEST_DEVICE");
    int names = which ? sscanf(which, "%39[^+]+%39s", name[0], name[1]) : 0;
    open_device(&device[OTHER], names > 0 ? name[0] : NULL, NULL, NULL);
    if (names < 2 && device[OTHER].info.backend == spmv_opencl()) make_halves();
    open_device(&device[HALF_A], names > 0 ? name[0] : NULL, shared, shared ? half[0] : NULL);
    open_device(&device[HALF_B], names > 0 ? name[names - 1] : NULL, shared, shared ? half[1] : NULL);
}

static void tear_down(void)
{
    int i;
    for (i = 0; i < DEVICES; i++) spmv_device_destroy(&device[i]);
    if (shared) clReleaseContext(shared);
    for (i = 0; i < (int)halves; i++) clReleaseDevice(half[i]);
    shared = NULL;
}

TestSuite(group, .init = set_up, .fini = tear_down, .timeout = 500);

/* The devices that share a matrix: none more than four. */
typedef struct team {
    const char  *name;
    size_t       count;
    spmv_device *on[4];
} team;
static const team teams[] = {
    { "one", 1, { &device[HALF_A] } },
    { "halves", 2, { &device[HALF_A], &device[HALF_B] } },
    { "host and device", 2, { NULL, &device[OTHER] } },
    { "two contexts and the host", 4, { &device[HALF_B], NULL, &device[OTHER], &device[HALF_B] } },
    { "host twice", 2, { NULL, NULL } },
};

static spmv_group_desc desc_of(const team *t, const matrix *m, spmv_type type, const char *plan, const spmv_hooks *h)
{
    spmv_group_desc d;
    memset(&d, 0, sizeof d);
    d.desc.matrix = matrix_input(m, type);
    d.desc.type = type;
    d.desc.plan = plan;
    d.desc.hooks = *h;
    d.device = t->on;
    d.count = t->count;
    d.divide = SPMV_GROUP_BY_NNZ;
    return d;
}

/* The blocks lie one after another, every nonzero is in one, and what is sent is what is received. */
static void check_blocks(const spmv_group *g, const char *what)
{
    uint64_t row = 0, col = 0, nnz = 0, stored = 0, sent = 0, halo = 0;
    size_t i;
    int k;
    for (i = 0; i < g->count; i++) {
        const spmv_group_block *b = &g->block[i];
        CHECK(b->row == row && b->col == col, "%s: block %d", what, (int)i);
        row += b->rows;
        col += b->cols;
        nnz += b->nnz;
        sent += b->sends;
        halo += b->before + b->after;
        for (k = 0; k < b->pieces; k++) stored += spmv_nnz(&b->piece[k].m);
    }
    CHECK(row == g->rows && col == g->cols && nnz == g->nnz && stored == g->nnz && sent == halo, "%s", what);
    for (i = 0; i < g->messages; i++) halo -= g->message[i].count;
    CHECK(halo == 0, "%s: messages", what);
}

/* y = alpha A x + beta y of a group against the plain loop: exact, as all are small integers. */
static void check_product(spmv_group *g, const spmv_csr *a, spmv_type t, const char *what)
{
    static const double factor[][2] = { { 1, 0 }, { -2, 1 }, { 1, 0.5 }, { 0, 2 }, { 0, 0 } };
    uint64_t i;
    size_t f;
    void *x = vector_new(t, a->cols);
    for (f = 0; f < LENGTH(factor); f++) {
        double alpha = factor[f][0], beta = factor[f][1], want;
        unsigned char *y = guarded_new(t, a->rows);
        void *before = vector_new(t, a->rows);
        for (i = 0; i < a->cols; i++) vector_set(t, x, i, rng_int());
        for (i = 0; i < a->rows; i++) {
            double v = beta != 0 ? 2 * rng_int() : (double)NAN; /* with beta 0, y is not read */
            vector_set(t, before, i, v);
            vector_set(t, y + CANARY, i, v);
        }
        CHECK(spmv_group_mul(g, alpha, alpha != 0 ? x : NULL, beta, y + CANARY) == SPMV_OK, "%s", what);
        CHECK(guarded_intact(y, t, a->rows), "%s: around y", what);
        for (i = 0; i < a->rows; i++) {
            want = (alpha != 0 ? alpha * row_product(a, i, t, x) : 0) + (beta != 0 ? beta * vector_get(t, before, i) : 0);
            CHECK(vector_get(t, y + CANARY, i) == want, "%s: y[%d] is %g, not %g", what, (int)i, vector_get(t, y + CANARY, i), want);
        }
        free(before);
        free(y);
    }
    free(x);
}

Test(group, multiplies_every_awkward_matrix)
{
    static const char *const plans[] = { "csr", "ell:w=2+coo", NULL };
    matrix m;
    size_t t;
    int i;
    for (i = 0; matrix_awkward(&m, i, INTEGERS); i++) {
        for (t = 0; t < LENGTH(teams); t++) {
            spmv_type type = (spmv_type)(SPMV_F64 + (unsigned)(i + (int)t) % 3);
            char what[200];
            ledger l;
            spmv_hooks h = ledger_hooks(&l);
            spmv_group_desc d = desc_of(&teams[t], &m, type, plans[(size_t)i % LENGTH(plans)], &h);
            spmv_csr a = matrix_csr(&m, type);
            spmv_group g;
            d.divide = (spmv_group_division)((unsigned)(i + (int)t) % 3);
            snprintf(what, sizeof what, "%s on %s, divide %d", m.name, teams[t].name, (int)d.divide);
            CHECK(spmv_group_create(&g, &d) == SPMV_OK, "%s: %s", what, l.text);
            check_blocks(&g, what);
            check_product(&g, &a, type, what);
            spmv_group_destroy(&g);
            CHECK(l.live == 0, "%s: %ld blocks are left", what, l.live);
            spmv_csr_destroy(&a);
        }
        matrix_free(&m);
    }
    cr_assert_gt(checks_done, 10000);
}

/* Rows, halos and the columns of the own piece, worked by hand. */
Test(group, divides_a_tridiagonal_matrix)
{
    static const double thirds[] = { 1, 2, 0, 1 };
    const team *t = &teams[3];
    matrix m;
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    spmv_group_desc d;
    spmv_group g;
    char text[4000];
    matrix_bands(&m, "tridiagonal", 100, 100, -1, 1, -1, 1);
    matrix_close(&m, INTEGERS);
    d = desc_of(t, &m, SPMV_F64, "dia", &h);
    d.divide = SPMV_GROUP_BY_ROWS;
    d.shares = thirds;
    cr_assert_eq(spmv_group_create(&g, &d), SPMV_OK, "%s", l.text);
    cr_assert(g.block[0].row == 0 && g.block[0].rows == 25 && g.block[0].before == 0 && g.block[0].after == 1);
    cr_assert(g.block[1].row == 25 && g.block[1].rows == 50 && g.block[1].before == 1 && g.block[1].after == 1);
    cr_assert(g.block[2].row == 75 && g.block[2].rows == 0 && g.block[2].pieces == 0 && g.block[2].sends == 0);
    cr_assert(g.block[3].row == 75 && g.block[3].rows == 25 && g.block[3].before == 1 && g.block[3].after == 0);
    cr_assert(g.messages == 4 && g.block[1].sends == 2 && g.block[0].sends == 1 && g.block[3].sends == 1);
    cr_assert(g.block[0].pieces == 2 && g.block[0].split && g.block[0].reads_first == 24 && g.block[0].reads_end == 25);
    cr_assert(g.block[1].pieces == 1 && !g.block[1].split); /* the host has nothing to wait for */
    cr_assert(g.block[3].pieces == 2 && g.block[3].split && g.block[3].reads_first == 75 && g.block[3].reads_end == 76);
    cr_assert(g.block[0].own_nnz == 73 && g.block[1].own_nnz == 148 && g.block[3].own_nnz == 73);
    cr_assert(g.block[3].piece[0].own && !g.block[3].piece[0].adds && g.block[3].piece[0].row == 75);
    cr_assert(!g.block[3].piece[1].own && g.block[3].piece[1].adds && spmv_nnz(&g.block[3].piece[1].m) == 1);
    cr_assert(!g.block[3].packed_ && g.block[3].direct_); /* one element is sent from x itself */
    cr_assert_lt(spmv_group_explain(&g, text, sizeof text), sizeof text);
    cr_assert(strstr(text, "matrix        100 x 100, 298 nonzeros, divided by given shares\n"), "%s", text);
    cr_assert(strstr(text, "    halo      receives 2 elements (16 bytes), sends 2 (16 bytes)\n"), "%s", text);
    cr_assert(strstr(text, "rows 0 to 25, own columns, while halos are sent\n"), "%s", text);
    cr_assert_eq(spmv_group_explain(&g, NULL, 0), strlen(text));
    spmv_group_destroy(&g);
    matrix_free(&m);
    cr_assert_eq(l.live, 0);
}

/* On a device a block is split, but not on the host, not if it is to be reproducible, and not if nearly all rows read the same column. */
Test(group, splits_blocks_of_devices)
{
    enum { N = 60 };
    const team *t = &teams[2];
    matrix m;
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    spmv_group_desc d;
    spmv_group g;
    spmv_csr a;
    char text[4000];
    uint64_t i, c;
    matrix_open(&m, "scattered", N, N);
    for (i = 0; i < N; i++) {
        for (c = 0; c < N; c++)
            if ((7 * i + c * c) % 9 < 2 || c % 30 == i % 30) matrix_add(&m, c);
        m.ptr[i + 1] = m.nnz;
    }
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    d = desc_of(t, &m, SPMV_F64, "csr", &h);
    d.divide = SPMV_GROUP_BY_ROWS;
    d.desc.updatable = 1;
    cr_assert_eq(spmv_group_create(&g, &d), SPMV_OK, "%s", l.text);
    check_blocks(&g, "scattered");
    cr_assert(g.block[0].pieces == 1 && !g.block[0].split);
    cr_assert(g.block[1].pieces == 2 && g.block[1].split);
    for (c = 0, i = a.ptr[N / 2]; i < m.nnz; i++) c += a.col[i] >= N / 2;
    cr_assert_eq(g.block[1].own_nnz, c);
    cr_assert_eq(spmv_nnz(&g.block[1].piece[0].m), c);
    cr_assert_lt(spmv_group_explain(&g, text, sizeof text), sizeof text);
    cr_assert(strstr(text, "rows 30 to 60, own columns, while halos are sent\n"), "%s", text);
    cr_assert(strstr(text, "rows 30 to 60, halo columns\n"), "%s", text);
    check_product(&g, &a, SPMV_F64, "scattered");
    for (i = 0; i < m.nnz; i++) m.val[i] = (double)(i % 7) - 3;
    cr_assert_eq(spmv_group_update(&g, m.val), SPMV_OK, "%s", l.text);
    check_product(&g, &a, SPMV_F64, "scattered, with new values"); /* a borrows m.val */
    spmv_group_destroy(&g);
    d.desc.reproducible = 1;
    cr_assert_eq(spmv_group_create(&g, &d), SPMV_OK, "%s", l.text);
    cr_assert(g.block[1].pieces == 1 && !g.block[1].split);
    spmv_group_destroy(&g);
    spmv_csr_destroy(&a);
    matrix_free(&m);
    matrix_open(&m, "arrow", N, N);
    for (i = 0; i < N; i++) {
        matrix_add(&m, 0);
        if (i) matrix_add(&m, i);
        m.ptr[i + 1] = m.nnz;
    }
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    d = desc_of(t, &m, SPMV_F64, "csr", &h);
    d.divide = SPMV_GROUP_BY_ROWS;
    cr_assert_eq(spmv_group_create(&g, &d), SPMV_OK, "%s", l.text);
    cr_assert(g.block[1].pieces == 1 && !g.block[1].split && g.block[1].before == 1 && g.block[1].own_nnz == N / 2);
    check_product(&g, &a, SPMV_F64, "arrow");
    spmv_group_destroy(&g);
    cr_assert_eq(l.live, 0);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* A grid whose blocks are long enough to begin at multiples of rows, with vectors that stay on the devices: y becomes x. */
Test(group, products_follow_each_other_on_the_devices)
{
    enum { N = 40000, STEPS = 4 };
    double *x = (double *)need(N, sizeof *x), *want = (double *)need(N, sizeof *want), *next = (double *)need(N, sizeof *next);
    const char *plans[] = { "csr", "dia", NULL };
    matrix m;
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    size_t t, p;
    uint64_t i, k;
    long calls;
    int step;
    matrix_bands(&m, "grid", 300, 300, -20, -20, 20, 20);
    matrix_free(&m);
    matrix_open(&m, "grid", N, N);
    for (i = 0; i < N; i++) {
        if (i >= 200) matrix_add(&m, i - 200);
        if (i % 200) matrix_add(&m, i - 1);
        if (i + 200 < N) matrix_add(&m, i + 200);
        m.ptr[i + 1] = m.nnz;
    }
    matrix_close(&m, INTEGERS);
    for (t = 0; t < LENGTH(teams); t++)
        for (p = 0; p < LENGTH(plans); p++) {
            spmv_group_desc d = desc_of(&teams[t], &m, SPMV_F64, plans[p], &h);
            spmv_group g;
            spmv_group_vector u, v, swap;
            cr_assert_eq(spmv_group_create(&g, &d), SPMV_OK, "%s", l.text);
            check_blocks(&g, teams[t].name);
            if (g.count == 2) cr_assert_eq(g.block[1].row % 96, 0); /* SPMV__GROUP_GRAIN */
            cr_assert_eq(spmv_group_vector_create(&u, &g, SPMV_GROUP_X), SPMV_OK);
            cr_assert_eq(spmv_group_vector_create(&v, &g, SPMV_GROUP_Y), SPMV_OK);
            for (i = 0; i < N; i++) want[i] = x[i] = (double)(i % 5) - 2;
            cr_assert_eq(spmv_group_vector_write(&u, x), SPMV_OK);
            calls = l.calls;
            for (step = 0; step < STEPS; step++) {
                cr_assert_eq(spmv_group_mul_vectors(&g, 1, &u, 0, &v), SPMV_OK, "%s", l.text);
                for (i = 0; i < N; i++)
                    for (next[i] = 0, k = m.ptr[i]; k < m.ptr[i + 1]; k++) next[i] += m.val[k] * want[m.col[k]];
                memcpy(want, next, N * sizeof *want);
                swap = u;
                u = v;
                v = swap;
            }
            cr_assert_eq(l.calls, calls, "products allocated memory");
            cr_assert_eq(spmv_group_vector_read(&u, x), SPMV_OK);
            cr_assert_eq(memcmp(x, want, N * sizeof *x), 0, "%s, %s", teams[t].name, plans[p] ? plans[p] : "auto");
            cr_assert_eq(spmv_group_mul_vectors(&g, 1, &u, 0, &u), SPMV_ERR_ARGUMENT);
            spmv_group_vector_destroy(&u);
            spmv_group_vector_destroy(&v);
            spmv_group_destroy(&g);
            cr_assert_eq(l.live, 0);
        }
    matrix_free(&m);
    free(x);
    free(want);
    free(next);
}

/* The vectors' own members suffice for work of the caller: here y = A x + x with x changed on the devices. */
Test(group, pieces_of_vectors_are_the_callers)
{
    const team *t = &teams[2];
    matrix m;
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    spmv_group_desc d;
    spmv_group g;
    spmv_group_vector x, y;
    const spmv_device *other = &device[OTHER];
    double got[100], fives[100], five = 5, want;
    uint64_t i, k;
    matrix_bands(&m, "tridiagonal", 100, 100, -1, 1, -1, 1);
    matrix_close(&m, INTEGERS);
    d = desc_of(t, &m, SPMV_F64, "csr", &h);
    cr_assert_eq(spmv_group_create(&g, &d), SPMV_OK);
    cr_assert_eq(spmv_group_vector_create(&x, &g, SPMV_GROUP_X), SPMV_OK);
    cr_assert_eq(spmv_group_vector_create(&y, &g, SPMV_GROUP_Y), SPMV_OK);
    for (i = 0; i < x.part[0].count; i++) ((double *)x.part[0].at)[x.part[0].offset + i] = five;
    for (i = 0; i < x.part[1].count; i++) fives[i] = five;
    cr_assert_eq(other->info.backend->transfer->put(other, other->queue, x.part[1].at, x.part[1].offset * sizeof five,
                                                    x.part[1].count * sizeof five, fives), SPMV_OK);
    cr_assert_eq(spmv_group_mul_vectors(&g, 2, &x, 0, &y), SPMV_OK);
    cr_assert_eq(spmv_group_vector_read(&y, got), SPMV_OK);
    for (i = 0; i < 100; i++) {
        for (want = 0, k = m.ptr[i]; k < m.ptr[i + 1]; k++) want += 10 * m.val[k];
        cr_assert_float_eq(got[i], want, 0);
    }
    spmv_group_vector_destroy(&x);
    spmv_group_vector_destroy(&y);
    spmv_group_destroy(&g);
    matrix_free(&m);
    cr_assert_eq(l.live, 0);
}

/* Elements of y that show every rounding and every sign of a zero. */
static double bit_value(void) { return rng_below(4) ? rng_real() : rng() & 1 ? 0.0 : -0.0; }

/* Multiplies by a group twice, which must give the bits in want. */
static void check_bits(spmv_group *g, spmv_type t, double alpha, const void *x, double beta, const void *before, const void *want,
                       const char *what)
{
    const size_t bytes = (size_t)g->rows * (t == SPMV_F32 ? 4 : 8);
    void *y = malloc(bytes + 1);
    int again;
    for (again = 0; again < 2; again++) {
        memcpy(y, before, bytes);
        CHECK(spmv_group_mul(g, alpha, x, beta, y) == SPMV_OK, "%s", what);
        CHECK(memcmp(y, want, bytes) == 0, "%s: alpha %g, beta %g", what, alpha, beta);
    }
    free(y);
}

/* Reproducible products of a plan by each of the first so many teams: the bits of the host. */
static void check_reproducible(const matrix *m, spmv_type t, const char *plan, size_t some)
{
    static const double factor[][2] = { { 1.5, 0 }, { -1.3, 0 }, { 0.7, 1 }, { -1, -1.7 }, { 1.3, 0.3 }, { 0, -0.3 }, { -1e-30, -1e-30 } };
    void *x = vector_new(t, m->cols), *before = vector_new(t, m->rows), *want[LENGTH(factor)];
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    spmv_desc single = desc_of(&teams[0], m, t, plan, &h).desc;
    spmv_matrix host;
    size_t i, f;
    for (i = 0; i < m->cols; i++) vector_set(t, x, i, bit_value());
    for (i = 0; i < m->rows; i++) vector_set(t, before, i, bit_value());
    single.reproducible = 1;
    cr_assert_eq(spmv_create(&host, &single), SPMV_OK, "%s", l.text);
    for (f = 0; f < LENGTH(factor); f++) {
        want[f] = vector_new(t, m->rows);
        memcpy(want[f], before, (size_t)m->rows * (t == SPMV_F32 ? 4 : 8));
        cr_assert_eq(spmv_mul(&host, factor[f][0], x, factor[f][1], want[f]), SPMV_OK);
    }
    spmv_destroy(&host);
    for (i = 0; i < some; i++) {
        spmv_group_desc d = desc_of(&teams[i], m, t, plan, &h);
        spmv_group g;
        char what[200];
        snprintf(what, sizeof what, "%s, %s of type %d on %s", m->name, plan, (int)t, teams[i].name);
        d.desc.reproducible = 1;
        cr_assert_eq(spmv_group_create(&g, &d), SPMV_OK, "%s: %s", what, l.text);
        for (f = 0; f < LENGTH(factor); f++) check_bits(&g, t, factor[f][0], x, factor[f][1], before, want[f], what);
        spmv_group_destroy(&g);
    }
    for (f = 0; f < LENGTH(factor); f++) free(want[f]);
    free(before);
    free(x);
    cr_assert_eq(l.live, 0);
}

/* With reproducible, the bits are those of the host, whatever part writes a row first, and however the rows are divided where their order
 * is left alone by the format. */
Test(group, bits_are_the_same)
{
    static const struct { const char *plan; int divides; } plans[] = {
        { "csr", 1 }, { "csr:rows=nonempty", 1 }, { "csr:rows=sorted", 1 }, { "sell:h=8", 1 }, { "sell:rows=sorted", 1 }, { "ell", 1 },
        { "ell:rows=nonempty", 1 }, { "ell:w=1,rows=sorted+csr", 1 }, { "ell:w=2,rows=nonempty+csr:rows=nonempty", 1 },
        { "bdia:w=2,d=0.6+csr:rows=nonempty", 0 }, { "bcsr:b=2x2", 0 }, { "bell:b=2x2", 0 }
    };
    static const int numbers[] = { 21, 24, 29 };
    matrix m;
    size_t n, p;
    for (n = 0; n < LENGTH(numbers); n++) {
        cr_assert(matrix_awkward(&m, numbers[n], REALS));
        for (p = 0; p < LENGTH(plans); p++)
            check_reproducible(&m, p % 2 ? SPMV_F32 : SPMV_F64, plans[p].plan, plans[p].divides ? LENGTH(teams) : 1);
        matrix_free(&m);
    }
}

static double must_not_be_called(void *user, const spmv_plan *plan, const char *variant)
{
    (void)plan;
    (void)variant;
    ++*(int *)user;
    return 1;
}

/* The text of all plans of a group. */
static void plans_of(const spmv_group *g, char *out, size_t size)
{
    char plan[SPMV_PLAN_TEXT];
    size_t i;
    int k;
    *out = 0;
    for (i = 0; i < g->count; i++)
        for (k = 0; k < g->block[i].pieces; k++) {
            spmv_plan_of(&g->block[i].piece[k].m, plan, sizeof plan);
            snprintf(out + strlen(out), size - strlen(out), "%s of %d;", plan, (int)i);
        }
}

/* The caller's function for timing knows another matrix, so that it is left alone. Two groups have the same plans and the same bits; with
 * "measure" each block is timed by its device. */
Test(group, hints_hold_for_each_block)
{
    const team *t = &teams[1];
    enum { N = 30000 };
    spmv_build_hints hints;
    spmv_group_desc d;
    spmv_group g;
    matrix m;
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    spmv_csr a;
    char plans[2][4 * SPMV_PLAN_TEXT];
    double *x, *y[2];
    int calls = 0, again;
    uint64_t i;
    matrix_bands(&m, "bands", N, N, -3, 1, -1, 3);
    matrix_close(&m, REALS);
    a = matrix_csr(&m, SPMV_F64);
    x = (double *)vector_new(SPMV_F64, N);
    for (i = 0; i < N; i++) x[i] = rng_real();
    memset(&hints, 0, sizeof hints);
    hints.measure = must_not_be_called;
    hints.measure_user = &calls;
    hints.expected_calls = 1000000000;
    d = desc_of(t, &m, SPMV_F64, "auto", &h);
    d.desc.hints = &hints;
    for (again = 0; again < 3; again++) {
        d.desc.plan = again < 2 ? "auto" : "measure";
        y[again % 2] = again < 2 ? (double *)vector_new(SPMV_F64, N) : y[0];
        cr_assert_eq(spmv_group_create(&g, &d), SPMV_OK, "%s", l.text);
        if (again < 2) plans_of(&g, plans[again], sizeof plans[again]);
        cr_assert_eq(spmv_group_mul(&g, 1, x, 0, y[again % 2]), SPMV_OK);
        spmv_group_destroy(&g);
        cr_assert_eq(calls, 0);
        if (again == 1) cr_assert_eq(memcmp(y[0], y[1], N * sizeof *x), 0, "other bits");
        if (again == 1) cr_assert_str_eq(plans[0], plans[1]);
        for (i = 0; i < N; i++) {
            double want = row_product(&a, i, SPMV_F64, x);
            CHECK(fabs(y[again % 2][i] - want) < 1e-11 * (1 + fabs(want)), "y[%d] is %g, not %g", (int)i, y[again % 2][i], want);
        }
    }
    free(x);
    free(y[0]);
    free(y[1]);
    spmv_csr_destroy(&a);
    matrix_free(&m);
    cr_assert_eq(l.live, 0);
}

Test(group, takes_new_values)
{
    const team *t = &teams[3];
    matrix m;
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    spmv_csr a;
    uint64_t k;
    int from_csr;
    cr_assert(matrix_awkward(&m, 29, INTEGERS));
    a = matrix_csr(&m, SPMV_F64);
    for (from_csr = 0; from_csr < 2; from_csr++) {
        spmv_group_desc d = desc_of(t, &m, SPMV_F64, "csr:run=64", &h);
        spmv_group g;
        if (from_csr) {
            d.desc.csr = &a;
            cr_assert_eq(spmv_group_create(&g, &d), SPMV_ERR_ARGUMENT, "matrix is set as well");
            memset(&d.desc.matrix, 0, sizeof d.desc.matrix);
        }
        cr_assert_eq(spmv_group_create(&g, &d), SPMV_OK, "%s", l.text);
        cr_assert_eq(spmv_group_update(&g, m.val), SPMV_ERR_FIXED);
        spmv_group_destroy(&g);
        d.desc.updatable = 1;
        cr_assert_eq(spmv_group_create(&g, &d), SPMV_OK, "%s", l.text);
        check_product(&g, &a, SPMV_F64, "before the update");
        for (k = 0; k < m.nnz; k++) m.val[k] += 3;
        cr_assert_eq(spmv_group_update(&g, m.val), SPMV_OK, "%s", l.text);
        check_product(&g, &a, SPMV_F64, "after the update"); /* a borrows m.val */
        cr_assert_eq(spmv_group_update(&g, NULL), SPMV_ERR_ARGUMENT);
        spmv_group_destroy(&g);
        cr_assert_eq(l.live, 0);
    }
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

Test(group, takes_a_csr_transposed)
{
    matrix m;
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    spmv_input in;
    spmv_csr a, turned;
    spmv_group_desc d;
    spmv_group g;
    cr_assert(matrix_awkward(&m, 29, INTEGERS));
    a = matrix_csr(&m, SPMV_F64);
    in = matrix_input(&m, SPMV_F64);
    in.transpose = 1;
    cr_assert_eq(spmv_csr_create(&turned, &in, SPMV_F64, &h), SPMV_OK);
    d = desc_of(&teams[3], &m, SPMV_F64, "csr", &h);
    memset(&d.desc.matrix, 0, sizeof d.desc.matrix);
    d.desc.csr = &turned;
    d.desc.matrix.transpose = d.desc.updatable = 1;
    cr_assert_eq(spmv_group_create(&g, &d), SPMV_OK, "%s", l.text);
    check_product(&g, &a, SPMV_F64, "of a transposed CSR");
    cr_assert_eq(spmv_group_update(&g, turned.val), SPMV_OK, "%s", l.text);
    check_product(&g, &a, SPMV_F64, "after an update in the order of that CSR");
    spmv_group_destroy(&g);
    spmv_csr_destroy(&turned);
    spmv_csr_destroy(&a);
    matrix_free(&m);
    cr_assert_eq(l.live, 0);
}

/* Both directions of a matrix: wide, tall, and one that is its own transpose, also with new values, which are in the caller's order. */
Test(group, multiplies_in_both_directions)
{
    static const int kinds[] = { 18, 19, 29 };
    matrix m;
    size_t t, k;
    uint64_t i;
    for (t = 0; t < LENGTH(teams); t++)
        for (k = 0; k < LENGTH(kinds); k++) {
            ledger l;
            spmv_hooks h = ledger_hooks(&l);
            spmv_group_desc d;
            spmv_input in;
            spmv_csr a, turned;
            spmv_group g;
            double none = 0;
            cr_assert(matrix_awkward(&m, kinds[k], INTEGERS));
            in = matrix_input(&m, SPMV_F64);
            a = matrix_csr(&m, SPMV_F64);
            in.transpose = in.updatable = 1;
            cr_assert_eq(spmv_csr_create(&turned, &in, SPMV_F64, &h), SPMV_OK);
            d = desc_of(&teams[t], &m, SPMV_F64, "csr", &h);
            cr_assert_eq(spmv_group_create(&g, &d), SPMV_OK, "%s", l.text);
            cr_assert(!spmv_group_transposed(&g) && spmv_group_mul_transposed(&g, 1, &none, 0, &none) == SPMV_ERR_ARGUMENT);
            spmv_group_destroy(&g);
            d.desc.both = d.desc.updatable = 1;
            d.desc.plan_transposed = "ell:w=2+coo";
            cr_assert_eq(spmv_group_create(&g, &d), SPMV_OK, "%s", l.text);
            check_product(&g, &a, SPMV_F64, m.name);
            check_product(spmv_group_transposed(&g), &turned, SPMV_F64, m.name);
            for (i = 0; i < m.nnz; i++) m.val[i] += (double)(i % 5); /* a borrows m.val */
            cr_assert_eq(spmv_csr_update(&turned, m.val), SPMV_OK);
            cr_assert_eq(spmv_group_update(&g, m.val), SPMV_OK, "%s", l.text);
            check_product(&g, &a, SPMV_F64, "new values");
            check_product(spmv_group_transposed(&g), &turned, SPMV_F64, "new values of the transpose");
            spmv_group_destroy(&g);
            spmv_csr_destroy(&turned);
            spmv_csr_destroy(&a);
            cr_assert_eq(l.live, 0);
            matrix_free(&m);
        }
    cr_assert(checks_done > 100);
}

/* y = A^T x with vectors on the host; a symmetric matrix is its own transpose. */
Test(group, multiplies_by_the_transpose)
{
    static const int32_t ptr[] = { 0, 2, 3 }, col[] = { 0, 2, 1 }, sym_col[] = { 0, 1, 0 };
    static const double val[] = { 1, 2, 3 }, sym_val[] = { 1, 2, 2 }, x[] = { 10, 100 };
    double y[3] = { 0, 0, 0 };
    spmv_group_desc d;
    spmv_group g;
    memset(&d, 0, sizeof d);
    d.device = teams[2].on;
    d.count = teams[2].count;
    d.desc.matrix = spmv_csr_f64(2, 3, ptr, col, val);
    d.desc.both = 1;
    cr_assert_eq(spmv_group_create(&g, &d), SPMV_OK);
    cr_assert_eq(spmv_group_mul_transposed(&g, 2, x, 0, y), SPMV_OK);
    cr_assert(y[0] == 20 && y[1] == 600 && y[2] == 40);
    spmv_group_destroy(&g);
    d.desc.matrix = spmv_csr_f64(2, 2, ptr, sym_col, sym_val);
    cr_assert_eq(spmv_group_create(&g, &d), SPMV_OK);
    cr_assert_eq(spmv_group_transposed(&g), &g);
    cr_assert_eq(spmv_group_mul_transposed(&g, 1, x, 0, y), SPMV_OK);
    cr_assert(y[0] == 210 && y[1] == 20);
    spmv_group_destroy(&g);
}

/* The time of a block as a caller might measure it: device 1 is three times as fast, both are a thousand times as fast if the number of
 * calls was negative. */
static double as_if(void *user, size_t i, spmv_matrix *block)
{
    double unit = (*(int *)user)++ < 0 ? 1e-9 : 1e-6;
    return (double)(spmv_nnz(block) + 1) * (i ? unit : 3 * unit);
}

Test(group, divides_by_measured_rates)
{
    matrix m;
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    spmv_group_desc d;
    spmv_group g;
    spmv_device_type type;
    char text[4000];
    int calls = 0;
    cr_assert(matrix_awkward(&m, 11, INTEGERS));
    d = desc_of(&teams[2], &m, SPMV_F64, "csr", &h);
    d.divide = SPMV_GROUP_BY_RATE;
    type = device[OTHER].info.type;
    device[OTHER].info.type = SPMV_DEVICE_GPU; /* a CPU would be the host's */
    d.measure = as_if;
    d.measure_user = &calls;
    cr_assert_eq(spmv_group_create(&g, &d), SPMV_OK, "%s", l.text);
    cr_assert_eq(calls, 2);
    cr_assert(g.block[0].nnz > m.nnz / 5 && g.block[0].nnz < m.nnz * 3 / 10, "%d of %d", (int)g.block[0].nnz, (int)m.nnz);
    spmv_group_destroy(&g);
    calls = -2; /* now the products are so short that halos do not pay */
    cr_assert_eq(spmv_group_create(&g, &d), SPMV_OK, "%s", l.text);
    cr_assert_eq(calls, 0);
    cr_assert(g.block[0].nnz == 0 && g.block[1].nnz == m.nnz && g.messages == 0);
    cr_assert(g.alone > 0 && g.together >= g.alone);
    spmv_group_explain(&g, text, sizeof text);
    cr_assert(strstr(text, " us divided, so it gets all rows\n"), "%s", text);
    spmv_group_destroy(&g);
    matrix_free(&m);
    device[OTHER].info.type = type;
    cr_assert(matrix_awkward(&m, 8, INTEGERS));
    d = desc_of(&teams[2], &m, SPMV_F64, "csr", &h); /* by estimates, a tiny matrix is not worth dividing */
    d.divide = SPMV_GROUP_BY_RATE;
    cr_assert_eq(spmv_group_create(&g, &d), SPMV_OK, "%s", l.text);
    cr_assert(g.block[0].nnz == m.nnz || g.block[1].nnz == m.nnz);
    cr_assert_eq(g.messages, 0);
    spmv_group_destroy(&g);
    device[OTHER].info.type = SPMV_DEVICE_GPU; /* which compares plans for it: its estimate counts no more than that of the host */
    cr_assert_eq(spmv_group_create(&g, &d), SPMV_OK, "%s", l.text);
    device[OTHER].info.type = type;
    cr_assert_eq(g.block[0].nnz, m.nnz);
    cr_assert(!(g.block[0].predicted > 0) && !(g.block[1].predicted > 0));
    spmv_group_destroy(&g);
    matrix_free(&m);
    cr_assert_eq(l.live, 0);
}

/* Seconds of nonzeros on either device. */
typedef struct rates { double each[2]; } rates;

static double at_rates(void *user, size_t i, spmv_matrix *block) { return (double)spmv_nnz(block) * ((const rates *)user)->each[i]; }

/* A matrix is divided only if that is clearly predicted to pay: what each device adds to the other's product must be worth the host's time
 * for the operations of an exchange, a second matrix, and what predictions are off by. */
Test(group, divides_only_where_it_clearly_pays)
{
    static const struct { const char *what; size_t team; spmv_device_type type; double whole[2]; int divided; } cases[] = {
        { "equal GPUs, long", 1, SPMV_DEVICE_GPU, { 300e-6, 300e-6 }, 1 },
        { "equal GPUs, no longer than enqueueing", 1, SPMV_DEVICE_GPU, { 48.6e-6, 48.6e-6 }, 0 },
        { "equal GPUs, no longer than enqueueing for one", 1, SPMV_DEVICE_GPU, { 20e-6, 20e-6 }, 0 },
        { "a slow one that takes a ninth", 1, SPMV_DEVICE_GPU, { 10e-3, 80e-3 }, 0 },
        { "a slow one that takes a third", 1, SPMV_DEVICE_GPU, { 10e-3, 20e-3 }, 1 },
        { "the host and a GPU, long", 2, SPMV_DEVICE_GPU, { 10e-3, 10e-3 }, 1 },
        { "the host, which enqueues first, and a GPU", 2, SPMV_DEVICE_GPU, { 90e-6, 90e-6 }, 0 },
        { "the host and a CPU, which it is itself", 2, SPMV_DEVICE_CPU, { 10e-3, 10e-3 }, 0 },
        { "the host twice", 4, SPMV_DEVICE_CPU, { 10e-3, 10e-3 }, 0 },
    };
    const spmv_device_type type = device[OTHER].info.type;
    matrix m;
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    size_t c, i;
    matrix_bands(&m, "tridiagonal", 3000, 3000, -1, 1, -1, 1);
    matrix_close(&m, INTEGERS);
    for (c = 0; c < LENGTH(cases); c++) {
        spmv_group_desc d = desc_of(&teams[cases[c].team], &m, SPMV_F64, "csr", &h);
        rates r;
        spmv_group g;
        if (cases[c].team == 1 && device[HALF_A].info.id == device[HALF_B].info.id) continue; /* it cannot be halved */
        for (i = 0; i < 2; i++) r.each[i] = cases[c].whole[i] / (double)m.nnz;
        for (i = 0; i < DEVICES; i++) device[i].info.type = cases[c].type;
        d.divide = SPMV_GROUP_BY_RATE;
        d.measure = at_rates;
        d.measure_user = &r;
        cr_assert_eq(spmv_group_create(&g, &d), SPMV_OK, "%s", l.text);
        for (i = 0; i < DEVICES; i++) device[i].info.type = type;
        cr_assert_eq(g.block[0].nnz && g.block[1].nnz, cases[c].divided, "%s: %g us alone, %g us divided", cases[c].what, g.alone * 1e6,
                     g.together * 1e6);
        if (cases[c].team == 1) cr_assert_geq(g.together, 2 * (8 + 3) * 2e-6); /* devices, operations of each and of its message */
        spmv_group_destroy(&g);
    }
    matrix_free(&m);
    cr_assert_eq(l.live, 0);
}

Test(group, refuses_what_makes_no_sense)
{
    static const double none[] = { 0, 0 }, negative[] = { 1, -1 };
    const double infinite[] = { 1, HUGE_VAL };
    matrix m;
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    spmv_group_desc good, d;
    spmv_group g;
    spmv_group_vector x, y;
    matrix_random(&m, "wide", 21, 301, 0.06);
    matrix_close(&m, INTEGERS);
    d = good = desc_of(&teams[1], &m, SPMV_F64, "csr", &h);
    d.count = 0;
    cr_assert_eq(spmv_group_create(&g, &d), SPMV_ERR_ARGUMENT);
    d = good;
    d.shares = none;
    cr_assert_eq(spmv_group_create(&g, &d), SPMV_ERR_ARGUMENT);
    d.shares = negative;
    cr_assert_eq(spmv_group_create(&g, &d), SPMV_ERR_ARGUMENT);
    d.shares = infinite;
    l.messages = 0;
    cr_assert_eq(spmv_group_create(&g, &d), SPMV_ERR_ARGUMENT);
    cr_assert_str_eq(l.text, "spmv_group_create: shares[1] must lie in 0 .. 1e300");
    d = good;
    d.divide = (spmv_group_division)7;
    cr_assert_eq(spmv_group_create(&g, &d), SPMV_ERR_ARGUMENT);
    d = good;
    d.desc.plan = "no such plan";
    l.messages = 0;
    cr_assert_eq(spmv_group_create(&g, &d), SPMV_ERR_PLAN);
    cr_assert_eq(l.messages, 2); /* the second names the device */
    cr_assert_eq(spmv_group_create(&g, &good), SPMV_OK);
    cr_assert_eq(spmv_group_vector_create(&x, &g, SPMV_GROUP_X), SPMV_OK);
    cr_assert_eq(spmv_group_vector_create(&y, &g, SPMV_GROUP_Y), SPMV_OK);
    cr_assert(x.length == 301 && y.length == 21);
    cr_assert_eq(spmv_group_mul_vectors(&g, 1, &y, 0, &x), SPMV_ERR_ARGUMENT);
    cr_assert_eq(spmv_group_mul_vectors(&g, 1, &x, 0, &x), SPMV_ERR_ARGUMENT);
    spmv_group_vector_destroy(&x);
    spmv_group_vector_destroy(&y);
    spmv_group_destroy(&g);
    matrix_free(&m);
    cr_assert_eq(l.live, 0);
}

/* Request number n for memory fails, for every n: nothing is left, and the status says so. */
Test(group, survives_a_lack_of_memory)
{
    matrix m;
    double x[130], y[130];
    long n;
    size_t t;
    cr_assert(matrix_awkward(&m, 17, INTEGERS));
    memset(x, 0, sizeof x);
    for (t = 3; t < LENGTH(teams); t++)
        for (n = 1; ; n++) {
            ledger l;
            spmv_hooks h = ledger_hooks(&l);
            spmv_group_desc d = desc_of(&teams[t], &m, SPMV_F64, "csr", &h);
            spmv_group g;
            spmv_status s;
            l.fail_at = n;
            s = spmv_group_create(&g, &d);
            if (!s) s = spmv_group_mul(&g, 1, x, 0, y);
            if (s) cr_assert(s == SPMV_ERR_MEMORY && l.last == SPMV_ERR_MEMORY, "request %ld: %s", n, l.text);
            spmv_group_destroy(&g);
            cr_assert_eq(l.live, 0, "request %ld: %ld blocks are left", n, l.live);
            if (l.calls < n) {
                cr_assert_eq(s, SPMV_OK, "%s", l.text);
                break;
            }
        }
    cr_assert_gt(n, 10);
    matrix_free(&m);
}

/* A group that could not be made, and one that was destroyed, refuse products and vectors. */
Test(group, refuses_what_was_not_made)
{
    matrix m;
    double x[130], y[130];
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    spmv_group_desc d;
    spmv_group g;
    spmv_group_vector v, kept;
    int made;
    cr_assert(matrix_awkward(&m, 17, INTEGERS));
    memset(x, 0, sizeof x);
    for (made = 0; made < 2; made++) {
        d = desc_of(&teams[2], &m, SPMV_F64, made ? "csr" : "no plan", &h);
        cr_assert_eq(spmv_group_create(&g, &d), made ? SPMV_OK : SPMV_ERR_PLAN);
        spmv_group_destroy(&g);
        memset(&kept, 0, sizeof kept);
        kept.group = &g;
        cr_assert_eq(spmv_group_mul(&g, 1, x, 0, y), SPMV_ERR_ARGUMENT);
        cr_assert_eq(spmv_group_update(&g, x), SPMV_ERR_ARGUMENT);
        cr_assert_eq(spmv_group_vector_create(&v, &g, SPMV_GROUP_X), SPMV_ERR_ARGUMENT);
        cr_assert_eq(spmv_group_vector_write(&kept, x), SPMV_ERR_ARGUMENT);
        cr_assert_eq(spmv_group_vector_read(&kept, y), SPMV_ERR_ARGUMENT);
        cr_assert_eq(spmv_group_mul_vectors(&g, 1, &kept, 0, &kept), SPMV_ERR_ARGUMENT);
    }
    matrix_free(&m);
    cr_assert_eq(l.live, 0);
}
