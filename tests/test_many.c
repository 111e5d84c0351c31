/* SPDX-License-Identifier: MIT
 *
 * Products with several vectors (spmv_mul_many), on the host and on an OpenCL device: bit for bit those of spmv_mul. */
#include <criterion/criterion.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "spmv.h"
#include "common.h"

static const spmv_type types[] = { SPMV_F64, SPMV_F32, SPMV_MIXED };
static const char *const plans[] = { "csr", "csr:run=256,idx=16", "csr:rows=sorted,sigma=256", "coo", "ell", "ell:idx=16", "sell:h=8",
                                     "sell:h=32,idx=16", "dia", "bdia", "bcsr:b=3x3", "bell:b=2x2", "sbell:b=2x2", "cmrs", "tcsr", "dense",
                                     "ell:w=2+coo", "hyb:rows=4", "hybr", "auto" };
static const uint64_t counts[] = { 1, 5, 17, 0 };

enum { PLANS = sizeof plans / sizeof *plans };

static ledger heard;

/* Several vectors in one block, with gaps. */
typedef struct block {
    spmv_type        type;
    spmv_arrangement order;
    uint64_t         count, ld, n, room;
    unsigned char   *guarded;
    void            *at;
} block;

static uint64_t place(const block *b, uint64_t i, uint64_t j) { return b->order == SPMV_SIDE_BY_SIDE ? i * b->ld + j : j * b->ld + i; }

/* gap: elements that lie between two vectors, or two elements. */
static block block_new(spmv_type type, spmv_arrangement order, uint64_t count, uint64_t n, uint64_t gap)
{
    block b;
    uint64_t i;
    b.type = type;
    b.order = order;
    b.count = count;
    b.n = n;
    b.ld = (order == SPMV_SIDE_BY_SIDE ? count : n) + gap;
    b.room = (order == SPMV_SIDE_BY_SIDE ? n : count) * b.ld;
    if (b.room) b.room -= gap; /* nothing lies behind the last one */
    b.guarded = guarded_new(type, b.room);
    b.at = b.guarded + CANARY;
    for (i = 0; i < b.room; i++) vector_set(type, b.at, i, i % 7 ? rng_real() : i % 3 ? 0 : -0.0);
    return b;
}

static void *column_of(const block *b, uint64_t j)
{
    void *v = vector_new(b->type, b->n);
    const size_t size = spmv_vector_size(b->type);
    uint64_t i;
    for (i = 0; i < b->n; i++) memcpy((char *)v + i * size, (const char *)b->at + place(b, i, j) * size, size);
    return v;
}

/* Multiplies by all vectors at once, and then by one after another, which must give the same bytes of the whole block. */
static void same_bits(const spmv_matrix *a, spmv_type t, spmv_arrangement order, uint64_t count, double alpha, double beta, uint64_t gap,
                      const char *what)
{
    block x = block_new(t, order, count, spmv_cols(a), gap), y = block_new(t, order, count, spmv_rows(a), 2 * gap);
    const size_t size = spmv_vector_size(t), bytes = (size_t)y.room * size;
    char *want = (char *)need_exact(bytes);
    uint64_t i, j;
    if (count && x.n) vector_set(t, x.at, place(&x, x.n / 2, count / 2), NAN);
    memcpy(want, y.at, bytes);
    for (j = 0; j < count; j++) {
        void *one = column_of(&x, j), *to = column_of(&y, j);
        CHECK(!spmv_mul(a, alpha, one, beta, to), "%s: %s", what, heard.text);
        for (i = 0; i < y.n; i++) memcpy(want + place(&y, i, j) * size, (char *)to + i * size, size);
        free(to);
        free(one);
    }
    if (beta == 0)
        for (j = 0; j < count; j++)
            for (i = 0; i < y.n; i++) vector_set(t, y.at, place(&y, i, j), NAN); /* is not read */
    CHECK(!spmv_mul_many(a, count, order, alpha, x.at, gap ? x.ld : 0, beta, y.at, gap ? y.ld : 0), "%s: %s", what, heard.text);
    CHECK(!memcmp(y.at, want, bytes), "%s: %s, order %d, %d vectors, alpha %g, beta %g, gap %d", what, spmv_type_name(t), (int)order,
          (int)count, alpha, beta, (int)gap);
    CHECK(guarded_intact(y.guarded, t, y.room) && guarded_intact(x.guarded, t, x.room), "%s: wrote outside", what);
    free(want);
    free(x.guarded);
    free(y.guarded);
}

static spmv_desc desc_of(const matrix *m, spmv_type t, const char *plan)
{
    spmv_desc d;
    memset(&d, 0, sizeof d);
    d.matrix = matrix_input(m, t);
    d.type = t;
    d.plan = plan;
    d.hooks = ledger_hooks(&heard);
    return d;
}

/* 0: the plan is refused for this matrix. */
static int made(spmv_matrix *a, const spmv_desc *d, const char *name)
{
    const spmv_status s = spmv_create(a, d);
    CHECK(!s || spmv_status_is_refusal(s) || s == SPMV_ERR_TOO_LARGE, "%s: %s: %s", name, d->plan, heard.text);
    return !s;
}

static void check_orders(const spmv_matrix *a, spmv_type t, int turn, const char *what)
{
    static const double alpha[] = { 1, -2.5, 0.3, 1, 0 }, beta[] = { 0, 1, -0.7, 2, 3 };
    const uint64_t count = counts[turn % 4];
    const int k = turn % 5;
    same_bits(a, t, SPMV_ONE_AFTER_ANOTHER, count, alpha[k], beta[k], (uint64_t)turn % 3, what);
    same_bits(a, t, SPMV_SIDE_BY_SIDE, count, alpha[k], beta[k], (uint64_t)turn % 3, what);
    same_bits(a, t, SPMV_SIDE_BY_SIDE, 8, 1, 0, 0, what);
    CHECK(heard.messages == 0, "%s", heard.text);
}

/* step: 1: all awkward matrices. */
static void check_all(spmv_device *device, const char *const *plan, size_t count, int step)
{
    matrix m;
    int i;
    size_t p;
    for (i = 0; matrix_awkward(&m, i, REALS); matrix_free(&m), i += step)
        for (p = 0; p < count; p++) {
            const spmv_type t = types[(p + (size_t)i) % 3];
            spmv_desc d = desc_of(&m, t, plan[p]);
            spmv_matrix a;
            d.device = device;
            if (!made(&a, &d, m.name)) continue;
            check_orders(&a, t, i + (int)p, plan[p]);
            spmv_destroy(&a);
            CHECK(heard.live == 0, "%s: %s: %d blocks left", m.name, plan[p], (int)heard.live);
        }
}

Test(many, awkward_matrices_in_all_plans)
{
    check_all(NULL, plans, PLANS, 1);
    cr_assert_gt(checks_done, 10000);
}

/* Reproducible products, plain C and the other levels. */
Test(many, at_all_levels_and_reproducible)
{
    static const int which[] = { 11, 17, 19, 29, 32 };
    size_t i, p;
    matrix m;
    int level;
    for (i = 0; i < sizeof which / sizeof *which; i++) {
        cr_assert(matrix_awkward(&m, which[i], REALS));
        for (p = 0; p < PLANS; p++)
            for (level = 0; level < (int)SPMV_SIMD_COUNT + 1; level++) {
                const spmv_type t = types[(i + p + (size_t)level) % 3];
                spmv_desc d = desc_of(&m, t, plans[p]);
                spmv_matrix a;
                if (level < (int)SPMV_SIMD_COUNT) d.simd = (spmv_simd)level;
                else d.reproducible = 1;
                if (!spmv_simd_usable(d.simd) || !made(&a, &d, m.name)) continue;
                heard.messages = 0;
                check_orders(&a, t, (int)(i + p) + level, plans[p]);
                spmv_destroy(&a);
            }
        matrix_free(&m);
    }
    cr_assert_gt(checks_done, 1000);
}

static unsigned lengths_seen; /* bits of SPMV__LENGTHS_... of products with csr */

/* A matrix that is cut into many pieces, with any number of threads. */
static void large(const char *name, uint64_t rows, uint64_t cols, void (*row)(matrix *m, uint64_t r), const char *const *plan, size_t count)
{
    matrix m;
    uint64_t r;
    size_t p;
    int n;
    matrix_open(&m, name, rows, cols);
    for (r = 0; r < m.rows; r++) {
        row(&m, r);
        m.ptr[r + 1] = m.nnz;
    }
    matrix_close(&m, REALS);
    for (p = 0; p < count; p++)
        for (n = 1; n <= 3; n++) {
            const spmv_type t = types[(p + (size_t)n) % 3];
            spmv_desc d = desc_of(&m, t, plan[p]);
            spmv_matrix a;
#ifdef _OPENMP
            omp_set_num_threads(n);
#endif
            if (!made(&a, &d, m.name)) continue;
            if (a.store.part->spec.format == SPMV_CSR) lengths_seen |= 1u << a.store.part->lengths;
            same_bits(&a, t, SPMV_ONE_AFTER_ANOTHER, 5, 1, 0, 1, plan[p]);
            same_bits(&a, t, SPMV_SIDE_BY_SIDE, 9, 1.1, 0.3, 0, plan[p]);
            same_bits(&a, t, SPMV_SIDE_BY_SIDE, 4, 1, 0, 1, plan[p]);
            spmv_destroy(&a);
        }
    matrix_free(&m);
}

static void scattered(matrix *m, uint64_t r) { matrix_random_row(m, r % 1000 == 999 ? 3000 : rng_below(24)); }
static void short_rows(matrix *m, uint64_t r) { matrix_random_row(m, r % 256 < 200 ? rng_below(5) : 7 + r % 13); }
static void alike(matrix *m, uint64_t r) { matrix_random_row(m, r / 4000); }
static void near_to(matrix *m, uint64_t at, uint64_t count)
{
    uint64_t k, c = at;
    for (k = 0; k < count && c < m->cols; k++, c += 1 + rng_below(9)) matrix_add(m, c);
}
static void banded(matrix *m, uint64_t r) { near_to(m, r, r % 12); }
static void to_and_fro(matrix *m, uint64_t r) { near_to(m, r / 64 * 7919 % m->cols, 3 + r % 3); }
static void far_apart(matrix *m, uint64_t r) { matrix_random_row(m, 9 + r % 5); }

Test(many, in_many_pieces)
{
    static const char *const some[] = { "csr", "csr:run=1024,idx=16", "csr:rows=sorted,sigma=256", "coo", "sell:h=32", "cmrs", "tcsr",
                                        "bcsr:b=2x2", "ell:w=3+csr" };
    large("scattered", 30000, 30000, scattered, some, sizeof some / sizeof *some);
    large("short", 30000, 20000, short_rows, some, 5);
    large("alike", 34000, 30000, alike, some, 5);
    large("banded", 30000, 30000, banded, some, 3);
    large("to and fro", 30000, 30000, to_and_fro, some, 3);
    large("far", 3000, 150000, far_apart, some, 3);
    cr_assert_eq(lengths_seen, 15u, "%x", lengths_seen);
    cr_assert_gt(checks_done, 300);
}

/* One row with most nonzeros, which all threads share. */
static void one_long(matrix *m, uint64_t r) { matrix_random_row(m, r == 77 ? 29000 : 2); }
static void two_long(matrix *m, uint64_t r) { matrix_random_row(m, r % 20000 == 77 ? 29990 : r % 2); }

Test(many, long_rows)
{
    static const char *const some[] = { "csr", "csr:run=256,idx=16", "coo" };
    large("one long", 30000, 30000, one_long, some, 3);
    large("two long", 30000, 30000, two_long, some, 3);
}

/* ---- what is refused ------------------------------------------------------------------------------------------------------ */

static spmv_matrix tiny(ledger *l, spmv_device *device)
{
    static const int32_t ptr[] = { 0, 1, 2, 3 }, col[] = { 0, 1, 2 };
    static const double val[] = { 1, 2, 3 };
    spmv_matrix a;
    spmv_desc d;
    memset(&d, 0, sizeof d);
    d.matrix = spmv_csr_f64(3, 3, ptr, col, val);
    d.plan = "csr";
    d.device = device;
    d.hooks = ledger_hooks(l);
    cr_assert_eq(spmv_create(&a, &d), SPMV_OK, "%s", l->text);
    return a;
}

#define REFUSED(part, call)                                                   \
    do {                                                                      \
        heard.messages = 0;                                                   \
        cr_assert_eq(call, SPMV_ERR_ARGUMENT);                                \
        cr_assert_eq(heard.messages, 1);                                      \
        cr_assert(strstr(heard.text, part), "%s", heard.text);                \
    } while (0)

static void refusals(spmv_device *device)
{
    const spmv_arrangement by_columns = SPMV_ONE_AFTER_ANOTHER, by_rows = SPMV_SIDE_BY_SIDE;
    double x[24] = { 1, 2, 3, 4, 5, 6 }, y[24];
    spmv_matrix a = tiny(&heard, device);
    REFUSED("spmv_mul_many: y is NULL", spmv_mul_many(&a, 2, by_columns, 1, x, 0, 0, NULL, 0));
    REFUSED("spmv_mul_many: x is NULL", spmv_mul_many(&a, 2, by_columns, 1, NULL, 0, 0, y, 0));
    REFUSED("order 2 is unknown", spmv_mul_many(&a, 2, (spmv_arrangement)2, 1, x, 0, 0, y, 0));
    REFUSED("ldx is 2, less than the 3 elements", spmv_mul_many(&a, 2, by_columns, 1, x, 2, 0, y, 0));
    REFUSED("ldy is 2, less than the 3 elements", spmv_mul_many(&a, 2, by_columns, 1, x, 0, 0, y, 2));
    REFUSED("ldx is 3, less than the 4 vectors", spmv_mul_many(&a, 4, by_rows, 1, x, 3, 0, y, 0));
    REFUSED("ldy is 1, less than the 2 vectors", spmv_mul_many(&a, 2, by_rows, 1, x, 0, 0, y, 1));
    REFUSED("do not fit", spmv_mul_many(&a, UINT64_MAX / 4, by_columns, 1, x, 0, 0, y, 0));
    REFUSED("do not fit", spmv_mul_many(&a, 3, by_columns, 1, x, UINT64_MAX / 2, 0, y, 0));
    REFUSED("do not fit", spmv_mul_many(&a, 2, by_rows, 1, x, 0, 0, y, UINT64_MAX / 8));
    REFUSED("overlap", spmv_mul_many(&a, 2, by_columns, 1, x, 0, 0, x, 0));
    REFUSED("overlap", spmv_mul_many(&a, 2, by_columns, 1, x, 0, 0, x + 5, 0));
    REFUSED("overlap", spmv_mul_many(&a, 2, by_columns, 1, x + 5, 0, 0, x, 0));
    REFUSED("overlap", spmv_mul_many(&a, 2, by_rows, 1, x, 0, 0, x + 2, 0));
    REFUSED("overlap", spmv_mul_many(&a, 2, by_rows, 1, x, 4, 0, x + 3, 4));
    REFUSED("overlap", spmv_mul_many(&a, 2, by_rows, 1, x + 1, 4, 0, x, 4));
    REFUSED("overlap", spmv_mul_many(&a, 2, by_rows, 1, x, 4, 0, x + 2, 5));
    cr_assert_eq(spmv_mul_many(&a, 2, by_columns, 0, NULL, 0, 0, y, 0), SPMV_OK, "x is not read");
    cr_assert(y[0] == 0 && y[5] == 0);
    cr_assert_eq(spmv_mul_many(&a, 0, by_columns, 1, NULL, 0, 0, NULL, 0), SPMV_OK, "nothing to do");
    cr_assert_eq(spmv_mul_many(&a, 0, by_rows, 1, NULL, 0, 0, NULL, 0), SPMV_OK);
    heard.messages = 0;
    spmv_destroy(&a);
    cr_assert_eq(heard.live, 0);
}

Test(many, refusals) { refusals(NULL); }

Test(many, of_no_matrix)
{
    static double x[4], y[4];
    spmv_matrix none;
    memset(&none, 0, sizeof none);
    cr_assert_eq(spmv_mul_many(NULL, 1, SPMV_SIDE_BY_SIDE, 1, x, 0, 0, y, 0), SPMV_ERR_ARGUMENT);
    cr_assert_eq(spmv_mul_many(&none, 1, SPMV_SIDE_BY_SIDE, 1, x, 0, 0, y, 0), SPMV_ERR_ARGUMENT);
}

/* X and Y may be columns of one array. */
static void interleaved(spmv_device *device)
{
    spmv_matrix a = tiny(&heard, device);
    double v[12] = { 1, 2, -1, -1, 3, 4, -1, -1, 5, 6, -1, -1 }, w[12] = { 1, 2, 3, -1, -1, -1, 4, 5, 6, -1, -1, -1 };
    cr_assert_eq(spmv_mul_many(&a, 2, SPMV_SIDE_BY_SIDE, 1, v, 4, 0, v + 2, 4), SPMV_OK, "%s", heard.text);
    cr_assert(v[2] == 1 && v[3] == 2 && v[6] == 6 && v[7] == 8 && v[10] == 15 && v[11] == 18);
    cr_assert_eq(spmv_mul_many(&a, 2, SPMV_SIDE_BY_SIDE, 1, v + 2, 4, 0, v, 4), SPMV_OK, "%s", heard.text);
    cr_assert(v[0] == 1 && v[1] == 2 && v[4] == 12 && v[5] == 16 && v[8] == 45 && v[9] == 54);
    cr_assert_eq(spmv_mul_many(&a, 2, SPMV_ONE_AFTER_ANOTHER, 1, w, 6, 0, w + 3, 6), SPMV_OK, "%s", heard.text);
    cr_assert(w[3] == 1 && w[4] == 4 && w[5] == 9 && w[9] == 4 && w[10] == 10 && w[11] == 18);
    spmv_destroy(&a);
}

Test(many, columns_of_one_array) { interleaved(NULL); }

/* Matrices without rows, columns or nonzeros. */
Test(many, empty)
{
    static const uint64_t size[][2] = { { 0, 0 }, { 0, 3 }, { 3, 0 }, { 3, 4 } };
    int i, k;
    for (i = 0; i < 8; i++) {
        double x[8] = { 0 }, y[6] = { 1, 2, 3, 4, 5, 6 };
        const uint64_t rows = size[i / 2][0];
        spmv_matrix a;
        spmv_desc d;
        memset(&d, 0, sizeof d);
        d.matrix.rows = (int64_t)rows;
        d.matrix.cols = (int64_t)size[i / 2][1];
        d.matrix.form = SPMV_IN_COO;
        d.hooks = ledger_hooks(&heard);
        cr_assert_eq(spmv_create(&a, &d), SPMV_OK, "%s", heard.text);
        cr_assert_eq(spmv_mul_many(&a, 2, (spmv_arrangement)(i % 2), 1, x, 0, 2, y, 0), SPMV_OK, "%s", heard.text);
        for (k = 0; k < 6; k++) cr_assert_eq(y[k], rows ? 2 * (k + 1) : k + 1);
        spmv_destroy(&a);
    }
}

/* Where memory fails, the message says so, nothing is lost, and y is as it was. */
Test(many, without_memory)
{
    spmv_matrix a;
    spmv_desc d;
    matrix m;
    int fails = 0;
    cr_assert(matrix_awkward(&m, 29, REALS));
    d = desc_of(&m, SPMV_F64, "coo");
    cr_assert_eq(spmv_create(&a, &d), SPMV_OK);
    for (;;) {
        block x = block_new(SPMV_F64, SPMV_SIDE_BY_SIDE, 3, m.cols, 0), y = block_new(SPMV_F64, SPMV_SIDE_BY_SIDE, 3, m.rows, 0);
        const long live = heard.live;
        spmv_status s;
        heard.fail_at = heard.calls + 1 + fails;
        heard.messages = 0;
        s = spmv_mul_many(&a, 3, SPMV_SIDE_BY_SIDE, 1, x.at, 0, 1, y.at, 0);
        CHECK(heard.live == live, "%d blocks left", (int)(heard.live - live));
        free(x.guarded);
        free(y.guarded);
        if (!s) break;
        CHECK(s == SPMV_ERR_MEMORY && heard.messages == 1, "%d messages", heard.messages);
        fails++;
    }
    cr_assert_eq(fails, 1);
    spmv_destroy(&a);
    matrix_free(&m);
}

/* The transpose, too. */
Test(many, transposed)
{
    spmv_matrix a;
    spmv_desc d;
    matrix m;
    cr_assert(matrix_awkward(&m, 29, REALS));
    d = desc_of(&m, SPMV_F64, "csr");
    d.both = 1;
    cr_assert_eq(spmv_create(&a, &d), SPMV_OK);
    same_bits(spmv_transposed(&a), SPMV_F64, SPMV_ONE_AFTER_ANOTHER, 3, 2, 1, 0, "transposed");
    same_bits(spmv_transposed(&a), SPMV_F64, SPMV_SIDE_BY_SIDE, 3, 2, 1, 1, "transposed");
    spmv_destroy(&a);
    matrix_free(&m);
}

/* ---- on an OpenCL device -------------------------------------------------------------------------------------------------- */

Test(many, on_a_device)
{
    static const char *const some[] = { "csr", "sell:h=8", "ell:w=2+coo" };
    spmv_device device;
    cr_assert_eq(spmv_device_create(&device, NULL), SPMV_OK);
    check_all(&device, some, sizeof some / sizeof *some, 5);
    refusals(&device);
    interleaved(&device);
    spmv_device_destroy(&device);
}

static void exec_many(spmv_exec *exec, void *const *at)
{
    static const double x[] = { 0, 1, 2, 3, 9, 4, 5, 6 }, y0[] = { 7, 7, 7, 7, 7, 7, 7, 7, 7 };
    double y[9];
    const spmv_device *device = exec->matrix->device;
    int i;
    cr_assert_eq(spmv_buffer_write(device, at[0], sizeof x, x), SPMV_OK);
    cr_assert_eq(spmv_buffer_write(device, at[1], sizeof y0, y0), SPMV_OK);
    cr_assert_eq(spmv_exec_mul_many(exec, 2, SPMV_ONE_AFTER_ANOTHER, 2, at[0], 1, 4, 1, at[1], 1, 5), SPMV_OK, "%s", heard.text);
    cr_assert_eq(spmv_buffer_read(device, at[1], sizeof y, y), SPMV_OK);
    for (i = 0; i < 9; i++) {
        static const double want[] = { 7, 9, 15, 25, 7, 7, 15, 27, 43 };
        cr_assert_eq(y[i], want[i], "y[%d] is %g", i, y[i]);
    }
}

Test(many, in_buffers)
{
    const spmv_arrangement by_columns = SPMV_ONE_AFTER_ANOTHER;
    spmv_device_desc on;
    spmv_device device;
    spmv_matrix a;
    spmv_exec *e;
    void *at[2];
    memset(&on, 0, sizeof on);
    on.hooks = ledger_hooks(&heard);
    cr_assert_eq(spmv_device_create(&device, &on), SPMV_OK);
    a = tiny(&heard, &device);
    e = a.exec;
    cr_assert_eq(spmv_buffer_create(&device, 8 * 8, &at[0]), SPMV_OK);
    cr_assert_eq(spmv_buffer_create(&device, 9 * 8, &at[1]), SPMV_OK);
    exec_many(e, at);
    REFUSED("x: 7 elements from offset 2 exceed the buffer's 8", spmv_exec_mul_many(e, 2, by_columns, 1, at[0], 2, 4, 0, at[1], 0, 0));
    REFUSED("y: 6 elements from offset 4 exceed the buffer's 9", spmv_exec_mul_many(e, 2, by_columns, 1, at[0], 0, 0, 0, at[1], 4, 0));
    REFUSED("ldx is 2", spmv_exec_mul_many(e, 2, by_columns, 1, at[0], 0, 2, 0, at[1], 0, 0));
    REFUSED("overlap", spmv_exec_mul_many(e, 1, by_columns, 1, at[1], 0, 0, 0, at[1], 2, 0));
    cr_assert_eq(spmv_exec_mul_many(e, 0, by_columns, 1, NULL, 0, 0, 0, NULL, 0, 0), SPMV_OK);
    cr_assert_eq(spmv_exec_mul_many(NULL, 1, by_columns, 1, at[0], 0, 0, 0, at[1], 0, 0), SPMV_ERR_ARGUMENT);
    spmv_buffer_destroy(&device, at[0]);
    spmv_buffer_destroy(&device, at[1]);
    spmv_destroy(&a);
    spmv_device_destroy(&device);
}

/* Multiplies by vectors in buffers at once, and by one after another, which must give the same bytes of the whole buffer. */
static void same_in_buffers(spmv_exec *exec, spmv_type t, spmv_arrangement order, uint64_t count, uint64_t offset, double beta,
                            const char *what)
{
    const uint64_t size = spmv_vector_size(t), gap = 8 * (offset % 2);
    const spmv_device *device = exec->matrix->device;
    block x = block_new(t, order, count, exec->matrix->cols, gap), y = block_new(t, order, count, exec->matrix->rows, 2 * gap);
    const size_t x_bytes = (size_t)(x.room * size), y_bytes = (size_t)(y.room * size);
    char *want = (char *)need_exact(y_bytes), *got = (char *)need_exact(y_bytes);
    void *at[2];
    uint64_t i, j;
    if (x.n) vector_set(t, x.at, place(&x, x.n / 2, count / 2), NAN);
    memcpy(want, y.at, y_bytes);
    for (j = 0; j < count; j++) {
        void *one = column_of(&x, j), *to = column_of(&y, j);
        CHECK(!spmv_exec_mul_host(exec, 1.5, one, beta, to), "%s: %s", what, heard.text);
        for (i = 0; i < y.n; i++) memcpy(want + place(&y, i, j) * size, (char *)to + i * size, (size_t)size);
        free(to);
        free(one);
    }
    cr_assert_eq(spmv_buffer_create(device, x_bytes + offset * size, &at[0]), SPMV_OK);
    cr_assert_eq(spmv_buffer_create(device, y_bytes, &at[1]), SPMV_OK);
    if (!offset) cr_assert_eq(spmv_buffer_write(device, at[0], x_bytes, x.at), SPMV_OK);
    else {
        char *moved = (char *)need(x_bytes + (size_t)(offset * size), 1);
        memcpy(moved + offset * size, x.at, x_bytes);
        cr_assert_eq(spmv_buffer_write(device, at[0], x_bytes + offset * size, moved), SPMV_OK);
        free(moved);
    }
    cr_assert_eq(spmv_buffer_write(device, at[1], y_bytes, y.at), SPMV_OK);
    CHECK(!spmv_exec_mul_many(exec, count, order, 1.5, at[0], offset, x.ld, beta, at[1], 0, y.ld), "%s: %s", what, heard.text);
    cr_assert_eq(spmv_buffer_read(device, at[1], y_bytes, got), SPMV_OK);
    CHECK(!memcmp(got, want, y_bytes), "%s: %d vectors, order %d, offset %d, beta %g", what, (int)count, (int)order, (int)offset, beta);
    spmv_buffer_destroy(device, at[0]);
    spmv_buffer_destroy(device, at[1]);
    free(got);
    free(want);
    free(x.guarded);
    free(y.guarded);
}

/* On devices several vectors are multiplied at once, by programs of their own, in the formats that walk rows; in the others one by one. */
Test(many, at_once_on_a_device, .timeout = 300)
{
    static const struct { const char *plan; int wide; } t[] = {
        { "csr", 1 }, { "csr:idx=16,run=64", 1 }, { "csr:run=256/STREAM=1,SHUF=1", 1 },
        { "csr:run=32/STREAM=1,WG=64", 1 }, { "csr:run=32/STREAM=1,FINISH=1", 1 }, { "csr:run=32,val=8/STREAM=0,FINISH=0", 1 },
        { "csr:run=32/STREAM=0,FINISH=1", 0 }, { "ell:idx=16", 1 }, { "ell/V=4", 1 }, { "sell:h=8,rows=sorted", 1 },
        { "sell/STAGE=1", 1 }, { "dia", 1 }, { "bdia", 1 }, { "dense/L=4", 1 }, { "bcsr:b=2x2", 1 }, { "bell:b=2x4", 1 },
        { "sbell:b=3x3/L=2", 1 }, { "cmrs", 1 },
        { "coo", 0 }, { "tcsr:tile=512", 0 }, { "ell:w=2+csr:rows=nonempty", 1 }, { "ell:w=2+coo", 0 }, { "csr:val=8/L=4", 1 }
    };
    static const spmv_type types[] = { SPMV_F64, SPMV_F32, SPMV_MIXED };
    spmv_device_desc on;
    spmv_device device;
    matrix m;
    size_t i;
    memset(&on, 0, sizeof on);
    on.which = getenv("SPMV_TEST_DEVICE");
    cr_assert_eq(spmv_device_create(&device, &on), SPMV_OK);
    for (i = 0; i < sizeof t / sizeof *t; i++, matrix_free(&m)) {
        const spmv_type type = types[device.info.f64 ? i % 3 : 1];
        const char *knobs = strchr(t[i].plan, '/');
        char plan[64];
        spmv_desc d = { 0 };
        spmv_matrix a;
        sprintf(plan, "%.*s", knobs ? (int)(knobs - t[i].plan) : (int)strlen(t[i].plan), t[i].plan);
        cr_assert(matrix_awkward(&m, strstr(plan, "run=32") ? 29 : 21, INTEGERS)); /* 29: rows are cut */
        d.matrix = matrix_input(&m, type);
        d.type = type;
        d.plan = plan;
        d.variant = knobs ? knobs + 1 : NULL;
        d.device = &device;
        d.reproducible = t[i].wide && i % 4 == 1;
        if (spmv_create(&a, &d) != SPMV_OK) {
            d.reproducible = 0;
            cr_assert_eq(spmv_create(&a, &d), SPMV_OK, "%s", t[i].plan);
        }
        same_in_buffers(a.exec, type, SPMV_SIDE_BY_SIDE, 8, 0, 0, t[i].plan);
        same_in_buffers(a.exec, type, SPMV_SIDE_BY_SIDE, i % 8 ? 9 : 15, 3, 0.5, t[i].plan);
        same_in_buffers(a.exec, type, SPMV_ONE_AFTER_ANOTHER, 9, 1, 0.5, t[i].plan);
        /* 8 at once; 4 where the sums of 8 do not fit in a GPU's local memory */
        CHECK((a.exec->wide[2] || a.exec->wide[1]) == t[i].wide, "%s: %s", t[i].plan, t[i].wide ? "one by one" : "at once");
        spmv_destroy(&a);
    }
    spmv_device_destroy(&device);
}
