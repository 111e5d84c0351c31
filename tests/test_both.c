/* SPDX-License-Identifier: MIT
 *
 * Products with a matrix and with its transpose from one object (spmv_desc.both), on the host and on an OpenCL device. */
#include <criterion/criterion.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "spmv.h"
#include "common.h"

static const spmv_type types[] = { SPMV_F64, SPMV_F32, SPMV_MIXED };
static const char *const plans[] = { "csr", "coo", "ell", "sell:h=8", "sell:h=32,idx=16", "dia", "bdia", "bcsr:b=3x3", "sbell:b=2x2",
                                     "cmrs", "tcsr", "dense", "ell:w=2+coo", "hyb:rows=4", "hybr", "cocktail", "auto" };

enum { PLANS = sizeof plans / sizeof *plans };

static ledger heard;

static spmv_desc both_of(const matrix *m, spmv_type t, const char *plan)
{
    spmv_desc d;
    memset(&d, 0, sizeof d);
    d.matrix = matrix_input(m, t);
    d.type = t;
    d.plan = plan;
    d.both = 1;
    d.hooks = ledger_hooks(&heard);
    return d;
}

/* A^T x = sum of the rows of A times x, entry by entry: exact for small integers. */
static double *turned(const matrix *m, const double *val, double alpha, const double *x, double beta, const double *y)
{
    double *out = (double *)need(m->cols, sizeof *out);
    uint64_t r, k;
    for (r = 0; r < m->rows; r++)
        for (k = m->ptr[r]; k < m->ptr[r + 1]; k++) out[m->col[k]] += val[k] * x[r];
    for (r = 0; r < m->cols; r++) out[r] = alpha * out[r] + (beta == 0 ? 0 : beta * y[r]);
    return out;
}

/* Multiplies small integers by the transpose with different alpha and beta. val: the values that it is to have. */
static void check_turned(const spmv_matrix *a, const matrix *m, const double *val, spmv_type t, const char *what)
{
    static const double alpha[] = { 1, -2, 3, 0 }, beta[] = { 0, 1, -2, 2 };
    double *x = (double *)need(m->rows, sizeof *x), *y = (double *)need(m->cols, sizeof *y), *want;
    void *vx = vector_new(t, m->rows);
    uint64_t i;
    size_t k;
    for (i = 0; i < m->rows; i++) vector_set(t, vx, i, x[i] = rng_int());
    for (i = 0; i < m->cols; i++) y[i] = rng_int();
    for (k = 0; k < sizeof alpha / sizeof *alpha; k++) {
        unsigned char *guarded = guarded_new(t, m->cols);
        void *vy = guarded + CANARY;
        for (i = 0; i < m->cols; i++) vector_set(t, vy, i, beta[k] == 0 ? NAN : y[i]);
        want = turned(m, val, alpha[k], x, beta[k], y);
        CHECK(!spmv_mul_transposed(a, alpha[k], alpha[k] == 0 ? NULL : vx, beta[k], vy), "%s: %s: %s", m->name, what, heard.text);
        for (i = 0; i < m->cols; i++)
            CHECK(vector_get(t, vy, i) == want[i], "%s: %s: alpha %g, beta %g: y[%d] is %g, not %g", m->name, what, alpha[k], beta[k],
                  (int)i, vector_get(t, vy, i), want[i]);
        CHECK(guarded_intact(guarded, t, m->cols), "%s: %s: wrote outside y", m->name, what);
        free(want);
        free(guarded);
    }
    free(vx);
    free(y);
    free(x);
}

/* The matrix itself, so that one direction is not the other's. */
static void check_straight(const spmv_matrix *a, const matrix *m, spmv_type t, const char *what)
{
    void *x = vector_new(t, m->cols), *y = vector_new(t, m->rows);
    spmv_csr csr = matrix_csr(m, t);
    uint64_t r;
    for (r = 0; r < m->cols; r++) vector_set(t, x, r, rng_int());
    CHECK(!spmv_mul(a, 1, x, 0, y), "%s: %s: %s", m->name, what, heard.text);
    for (r = 0; r < m->rows; r++) CHECK(vector_get(t, y, r) == row_product(&csr, r, t, x), "%s: %s: row %d", m->name, what, (int)r);
    spmv_csr_destroy(&csr);
    free(y);
    free(x);
}

/* 0: the plan is refused for this matrix or its transpose. */
static int made(spmv_matrix *a, const spmv_desc *d, const char *name)
{
    const spmv_status s = spmv_create(a, d);
    CHECK(!s || spmv_status_is_refusal(s) || s == SPMV_ERR_TOO_LARGE, "%s: %s: %s", name, d->plan, heard.text);
    if (s) CHECK(heard.live == 0, "%s: %s: %d blocks left", name, d->plan, (int)heard.live);
    return !s;
}

static void check_all(spmv_device *device, const char *const *plan, size_t count, int step)
{
    matrix m;
    int i;
    size_t p;
    for (i = 0; matrix_awkward(&m, i, INTEGERS); matrix_free(&m), i += step)
        for (p = 0; p < count; p++) {
            const spmv_type t = types[(p + (size_t)i) % 3];
            spmv_desc d = both_of(&m, t, plan[p]);
            spmv_matrix a;
            d.device = device;
            d.updatable = i & 1;
            if (!made(&a, &d, m.name)) continue;
            CHECK(spmv_rows(spmv_transposed(&a)) == m.cols && spmv_cols(spmv_transposed(&a)) == m.rows, "%s", m.name);
            check_turned(&a, &m, m.val, t, plan[p]);
            check_straight(&a, &m, t, plan[p]);
            spmv_destroy(&a);
            CHECK(heard.live == 0, "%s: %s: %d blocks left", m.name, plan[p], (int)heard.live);
        }
}

Test(both, awkward_matrices_in_all_plans)
{
    check_all(NULL, plans, PLANS, 1);
    cr_assert_gt(checks_done, 10000);
}

/* The transpose has the bits of one that is made as a matrix by itself, with any number of threads. */
static void same_as_itself(const matrix *m, const char *plan, int reproducible)
{
    spmv_desc d = both_of(m, SPMV_F64, plan);
    spmv_matrix a, b;
    double *x = (double *)need(m->rows, 8), *y = (double *)need(m->cols, 8), *z = (double *)need(m->cols, 8);
    uint64_t i;
    int n;
    for (i = 0; i < m->rows; i++) x[i] = rng_real();
    d.reproducible = reproducible;
    for (n = 1; n <= 4; n++) {
        d.both = 1;
        d.matrix.transpose = 0;
#ifdef _OPENMP
        omp_set_num_threads(n);
#endif
        if (!made(&a, &d, m->name)) break;
        d.both = 0;
        d.matrix.transpose = 1;
#ifdef _OPENMP
        omp_set_num_threads(1);
#endif
        CHECK(!spmv_create(&b, &d), "%s: %s", plan, heard.text);
        CHECK(!spmv_mul_transposed(&a, 0.7, x, 0, y) && !spmv_mul(&b, 0.7, x, 0, z), "%s", heard.text);
        CHECK(!memcmp(y, z, m->cols * 8), "%s: %s: %d threads", m->name, plan, n);
        spmv_destroy(&b);
        spmv_destroy(&a);
    }
    free(z);
    free(y);
    free(x);
}

Test(both, has_the_bits_of_the_transpose_alone)
{
    static const int which[] = { 11, 17, 19, 29, 32 };
    matrix m;
    size_t i, p;
    for (i = 0; i < sizeof which / sizeof *which; i++) {
        cr_assert(matrix_awkward(&m, which[i], REALS));
        for (p = 0; p < PLANS; p++) same_as_itself(&m, plans[p], 0);
        same_as_itself(&m, "csr", 1);
        same_as_itself(&m, NULL, 1);
        same_as_itself(&m, "sell:h=32", 1);
        matrix_free(&m);
    }
    cr_assert_gt(checks_done, 500);
}

/* Each direction may have a plan of its own, and hints of its own tell how the transpose was chosen. */
Test(both, plans_of_their_own)
{
    static spmv_choice straight, transposed;
    spmv_build_hints hints, other;
    char text[SPMV_PLAN_TEXT];
    spmv_matrix a;
    spmv_desc d;
    matrix m;
    cr_assert(matrix_awkward(&m, 29, INTEGERS));
    d = both_of(&m, SPMV_F64, "sell:h=8");
    d.plan_transposed = "ell:w=3+coo";
    cr_assert_eq(spmv_create(&a, &d), SPMV_OK, "%s", heard.text);
    spmv_plan_of(&a, text, sizeof text);
    cr_assert_str_eq(text, "sell:h=8");
    spmv_plan_of(spmv_transposed(&a), text, sizeof text);
    cr_assert_str_eq(text, "ell:w=3+coo");
    cr_assert_null(spmv_transposed(spmv_transposed(&a)));
    check_turned(&a, &m, m.val, SPMV_F64, "own plan");
    spmv_destroy(&a);
    cr_assert_null(spmv_transposed(&a));
    memset(&hints, 0, sizeof hints);
    hints.choice = &straight;
    other = hints;
    other.choice = &transposed;
    d.plan = "auto";
    d.plan_transposed = NULL;
    d.hints = &hints;
    cr_assert_eq(spmv_create(&a, &d), SPMV_OK, "%s", heard.text);
    cr_assert(straight.count > 0 && straight.features.rows == m.rows && !transposed.count, "only the matrix itself is explained");
    spmv_destroy(&a);
    d.hints_transposed = &other;
    cr_assert_eq(spmv_create(&a, &d), SPMV_OK, "%s", heard.text);
    cr_assert(straight.features.rows == m.rows && transposed.count > 0 && transposed.features.rows == m.cols);
    spmv_destroy(&a);
    matrix_free(&m);
}

/* The values at the mirror images of a symmetric matrix's entries; differs: but for one. */
static void mirror(matrix *m, int differs)
{
    uint64_t r, k;
    for (r = 0; r < m->rows; r++)
        for (k = m->ptr[r]; k < m->ptr[r + 1]; k++) m->val[k] = 1 + (double)((r + 1) * (m->col[k] + 1) % 7);
    if (differs) m->val[m->nnz / 2] += 1;
}

/* A matrix that is its own transpose is stored once, but for one whose values could become others. */
Test(both, symmetric_matrices_are_stored_once)
{
    static const int32_t ptr[] = { 0, 1, 3, 5 }, col[] = { 0, 0, 1, 1, 2 };
    static const double half[] = { 1, 2, 3, 4, 5 }, later[] = { 5, 4, 3, 2, 1 }, x[] = { 1, 10, 100 };
    double y[3];
    spmv_matrix a;
    spmv_desc d;
    matrix m;
    int i;
    for (i = 0; i < 3; i++) {
        cr_assert(matrix_awkward(&m, 24, INTEGERS)); /* tridiagonal */
        mirror(&m, i == 1);
        d = both_of(&m, SPMV_F64, "csr");
        d.updatable = i == 2;
        cr_assert_eq(spmv_create(&a, &d), SPMV_OK, "%s", heard.text);
        cr_assert_eq(spmv_transposed(&a) == &a, i == 0, "case %d", i);
        check_turned(&a, &m, m.val, SPMV_F64, "symmetric");
        spmv_destroy(&a);
        matrix_free(&m);
    }
    cr_assert(matrix_awkward(&m, 7, INTEGERS)); /* no pattern that is symmetric */
    d = both_of(&m, SPMV_F64, "csr");
    cr_assert_eq(spmv_create(&a, &d), SPMV_OK);
    cr_assert_neq(spmv_transposed(&a), &a);
    spmv_destroy(&a);
    memset(&d.matrix, 0, sizeof d.matrix);
    d.matrix = spmv_csr_f64(3, 3, ptr, col, half);
    d.matrix.symmetry = SPMV_SYMMETRIC;
    d.updatable = 1;
    cr_assert_eq(spmv_create(&a, &d), SPMV_OK, "%s", heard.text);
    cr_assert_eq(spmv_transposed(&a), &a, "it is said to be");
    cr_assert_eq(spmv_update(&a, later), SPMV_OK);
    cr_assert_eq(spmv_mul_transposed(&a, 1, x, 0, y), SPMV_OK);
    cr_assert(y[0] == 45 && y[1] == 234 && y[2] == 120);
    spmv_destroy(&a);
    d.matrix.symmetry = SPMV_SKEW;
    d.updatable = 0;
    cr_assert_eq(spmv_create(&a, &d), SPMV_ERR_ARGUMENT, "a diagonal");
    matrix_free(&m);
}

/* New values reach both, in the caller's order; those that one of the two cannot hold reach neither. */
Test(both, new_values)
{
    static const int which[] = { 11, 19, 29 };
    matrix m;
    size_t i, p;
    uint64_t k;
    for (i = 0; i < sizeof which / sizeof *which; i++) {
        cr_assert(matrix_awkward(&m, which[i], WITH_ZEROS));
        for (p = 0; p < 2 * PLANS; p++) {
            spmv_desc d = both_of(&m, SPMV_F64, plans[p % PLANS]);
            spmv_csr csr = matrix_csr(&m, SPMV_F64);
            double *later = (double *)need(m.nnz, 8), *was = m.val;
            spmv_matrix a;
            for (k = 0; k < m.nnz; k++) later[k] = rng_int();
            d.updatable = 1;
            if (p >= PLANS) {
                memset(&d.matrix, 0, sizeof d.matrix);
                d.csr = &csr;
            }
            if (made(&a, &d, m.name)) {
                check_turned(&a, &m, m.val, SPMV_F64, "before");
                CHECK(!spmv_update(&a, later), "%s", heard.text);
                check_turned(&a, &m, later, SPMV_F64, plans[p % PLANS]);
                m.val = later;
                check_straight(&a, &m, SPMV_F64, plans[p % PLANS]);
                m.val = was;
                spmv_destroy(&a);
            }
            spmv_csr_destroy(&csr);
            free(later);
        }
        matrix_free(&m);
    }
}

/* device: NULL: the host. only: a plan that cannot hold every value; transposed: it is the transpose's. */
static void refuse_values(spmv_device *device, const char *plan, const char *only, int transposed)
{
    spmv_matrix a;
    spmv_desc d;
    matrix m;
    double *later;
    uint64_t k;
    cr_assert(matrix_awkward(&m, 19, INTEGERS));
    d = both_of(&m, SPMV_F64, transposed ? plan : only);
    d.plan_transposed = transposed ? only : plan;
    d.updatable = 1;
    d.device = device;
    d.convert = SPMV_CONVERT_ON_DEVICE;
    cr_assert_eq(spmv_create(&a, &d), SPMV_OK, "%s", heard.text);
    later = (double *)need(m.nnz, 8);
    for (k = 0; k < m.nnz; k++) later[k] = (double)k + 0.1; /* no floats, and more than 256 */
    cr_assert_eq(spmv_update(&a, later), SPMV_ERR_FIXED, "%s", only);
    cr_assert_eq(!strncmp(heard.text, "transpose: ", 11), transposed, "%s", heard.text);
    check_turned(&a, &m, m.val, SPMV_F64, "refused");
    check_straight(&a, &m, SPMV_F64, "refused");
    spmv_destroy(&a);
    free(later);
    matrix_free(&m);
}

Test(both, refused_values_reach_neither)
{
    refuse_values(NULL, "csr", "csr:val=32", 0);
    refuse_values(NULL, "csr", "csr:val=32", 1);
}

/* Sums of entries that were given several times, blocks, and halves with opposite signs go the other way as well. */
Test(both, of_any_input)
{
    static const int32_t row[] = { 0, 2, 0, 1, 0 }, col[] = { 3, 1, 3, 0, 3 }, ptr[] = { 0, 1, 2 }, block[] = { 1, 0 };
    static const double val[] = { 1, 2, 4, 8, 16, 32, 64, 128 }, x[] = { 1, 10, 100, 1000 };
    static const double sums[] = { 80, 200, 0, 21 }, blocks[] = { 65600, 131200, 41, 82 };
    const double *want;
    double y[4];
    spmv_matrix a;
    spmv_desc d;
    int i, k;
    for (i = 0; i < 3; i++) {
        memset(&d, 0, sizeof d);
        d.both = 1;
        d.matrix.rows = i ? 4 : 3;
        d.matrix.cols = 4;
        d.matrix.val = val;
        d.matrix.form = i < 2 ? SPMV_IN_COO : SPMV_IN_BSR;
        d.matrix.nnz = i < 2 ? 5 : 0;
        d.matrix.row = i < 2 ? row : NULL;
        d.matrix.ptr = i < 2 ? NULL : ptr;
        d.matrix.col = i < 2 ? col : block;
        d.matrix.block_rows = d.matrix.block_cols = i < 2 ? 0 : 2;
        d.updatable = 1;
        want = i ? blocks : sums;
        if (i == 1) { /* one half: nothing above the diagonal */
            static const int32_t below_row[] = { 3, 1, 3 }, below_col[] = { 0, 0, 2 };
            static const double below[] = { 21, 8, 2 };
            d.matrix.row = below_row;
            d.matrix.col = below_col;
            d.matrix.val = below;
            d.matrix.nnz = 3;
            d.matrix.symmetry = SPMV_SKEW;
        }
        cr_assert_eq(spmv_create(&a, &d), SPMV_OK, "case %d", i);
        cr_assert_eq(spmv_mul_transposed(&a, 1, x, 0, y), SPMV_OK);
        if (i == 1) cr_assert(y[0] == 21080 && y[1] == -8 && y[2] == 2000 && y[3] == -221, "%g %g %g %g", y[0], y[1], y[2], y[3]);
        for (k = 0; k < 4 && i != 1; k++) cr_assert_eq(y[k], want[k], "case %d: y[%d] is %g", i, k, y[k]);
        spmv_destroy(&a);
    }
}

/* NaN reaches the rows of the transpose that read it, and with strict no others. */
Test(both, nan_stays_where_it_is_read)
{
    spmv_matrix a;
    spmv_desc d;
    matrix m;
    double *x, *y;
    uint64_t i, k;
    size_t p;
    cr_assert(matrix_awkward(&m, 19, INTEGERS));
    x = (double *)need(m.rows, 8);
    y = (double *)need(m.cols, 8);
    for (i = 0; i < m.rows; i++) x[i] = i == 7 ? NAN : 1;
    for (p = 0; p < PLANS; p++) {
        d = both_of(&m, SPMV_F64, plans[p]);
        d.strict = 1;
        if (!made(&a, &d, m.name)) continue;
        cr_assert_eq(spmv_mul_transposed(&a, 1, x, 0, y), SPMV_OK);
        for (i = 0; i < m.cols; i++) {
            int reads = 0;
            for (k = m.ptr[7]; k < m.ptr[8]; k++) reads |= m.col[k] == i;
            CHECK(isnan(y[i]) == (reads != 0), "%s: y[%d] is %g", plans[p], (int)i, y[i]);
        }
        spmv_destroy(&a);
    }
    free(y);
    free(x);
    matrix_free(&m);
}

/* Every request for memory fails once: nothing is left, and the message says what it was about. */
Test(both, without_memory)
{
    spmv_status s = SPMV_ERR_MEMORY;
    spmv_matrix a;
    matrix m;
    long n;
    int about = 0;
    cr_assert(matrix_awkward(&m, 17, INTEGERS));
    for (n = 1; s; n++) {
        spmv_desc d = both_of(&m, SPMV_F64, "ell:w=3+coo");
        d.updatable = 1;
        heard.fail_at = n;
        s = spmv_create(&a, &d);
        if (!s) spmv_destroy(&a);
        else CHECK(s == SPMV_ERR_MEMORY && !a.transposed && !a.both, "request %d: %s", (int)n, heard.text);
        about += !strncmp(heard.text, "transpose: ", 11);
        CHECK(heard.live == 0, "request %d: %d blocks left", (int)n, (int)heard.live);
    }
    cr_assert(n > 15 && about > 5);
    matrix_free(&m);
}

Test(both, misuse)
{
    static const double x[21] = { 0 };
    double y[301];
    spmv_matrix a;
    spmv_desc d;
    matrix m;
    cr_assert(matrix_awkward(&m, 18, INTEGERS)); /* 21 x 301 */
    d = both_of(&m, SPMV_F64, "csr");
    d.both = 0;
    cr_assert_eq(spmv_create(&a, &d), SPMV_OK);
    cr_assert_null(spmv_transposed(&a));
    cr_assert_eq(spmv_mul_transposed(&a, 1, x, 0, y), SPMV_ERR_ARGUMENT);
    cr_assert_str_eq(heard.text, "spmv_mul_transposed: the matrix was not made with both = 1");
    spmv_destroy(&a);
    d = both_of(&m, SPMV_F64, "csr");
    d.plan_transposed = "no such";
    cr_assert_eq(spmv_create(&a, &d), SPMV_ERR_PLAN);
    cr_assert(!strncmp(heard.text, "transpose: plan \"no such\"", 25), "%s", heard.text);
    d = both_of(&m, SPMV_F64, "csr");
    cr_assert_eq(spmv_create(&a, &d), SPMV_OK);
    cr_assert_eq(spmv_mul_transposed(&a, 1, y, 0, y + 20), SPMV_ERR_ARGUMENT, "x overlaps y");
    cr_assert_eq(spmv_mul_transposed(&a, 1, x, 0, y), SPMV_OK);
    spmv_destroy(&a);
    matrix_free(&m);
}

/* ---- on an OpenCL device ------------------------------------------------------------------------------------------------ */

#ifdef SPMV_DEVICE_H
Test(both, on_a_device)
{
    static const char *const some[] = { "csr", "ell:w=2+coo", "sell:h=32", "auto" };
    spmv_device device;
    cr_assert_eq(spmv_device_create(&device, NULL), SPMV_OK);
    check_all(&device, some, sizeof some / sizeof *some, 3);
    spmv_device_destroy(&device);
}

/* A saved matrix that is loaded on a device gives the bits of the one that was made there from arrays that the host filled. What is on a
 * device cannot be saved. */
Test(both, saved_and_loaded_on_a_device)
{
    static const char *const some[] = { "csr", "csr:val=8", "sell:h=8,rows=sorted", "tcsr", "ell:w=2+coo" };
    spmv_device device;
    matrix m;
    size_t i, n, none;
    CHECK(matrix_awkward(&m, 8, INTEGERS), "matrix");
    cr_assert_eq(spmv_device_create(&device, NULL), SPMV_OK);
    for (i = 0; i < sizeof some / sizeof *some; i++) {
        spmv_desc d = both_of(&m, SPMV_F64, some[i]);
        double *x = (double *)need(m.cols, sizeof *x), *y = (double *)need(m.rows, sizeof *y), *z = (double *)need(m.rows, sizeof *z);
        spmv_matrix a;
        void *bytes;
        uint64_t k;
        d.both = 0;
        d.convert = SPMV_CONVERT_ON_HOST;
        for (k = 0; k < m.cols; k++) x[k] = rng_real();
        CHECK(!spmv_create(&a, &d) && !spmv_save(&a, NULL, 0, &n), "%s: %s", some[i], heard.text);
        bytes = need(n, 1);
        CHECK(!spmv_save(&a, bytes, n, &n), "%s", some[i]);
        spmv_destroy(&a);
        d.device = &device;
        CHECK(!spmv_create(&a, &d) && !spmv_mul(&a, 1, x, 0, y), "%s: %s", some[i], heard.text);
        CHECK(spmv_save(&a, bytes, n, &none) == SPMV_ERR_UNSUPPORTED && strstr(heard.text, "on a device"), "%s: %s", some[i], heard.text);
        spmv_destroy(&a);
        d.hooks = ledger_hooks(&heard);
        CHECK(!spmv_load(&a, bytes, n, &d), "%s: %s", some[i], heard.text);
        memset(bytes, 0, n);
        free(bytes);
        CHECK(!spmv_mul(&a, 1, x, 0, z) && !memcmp(y, z, m.rows * sizeof *y), "%s: %s", some[i], heard.text);
        spmv_destroy(&a);
        CHECK(!heard.live, "%s: memory is left", some[i]);
        free(x);
        free(y);
        free(z);
    }
    matrix_free(&m);
    spmv_device_destroy(&device);
}

/* Reproducible products with the transpose have the same bits on the host and on the device. */
Test(both, reproducible)
{
    static const char *const some[] = { NULL, "csr", "sell:h=32", "bcsr:b=2x2" };
    spmv_device device;
    matrix m;
    double x[600], y[2][200];
    size_t p;
    int i;
    cr_assert_eq(spmv_device_create(&device, NULL), SPMV_OK);
    cr_assert(matrix_awkward(&m, 29, REALS)); /* 600 x 200 */
    for (i = 0; i < 600; i++) x[i] = rng_real();
    for (p = 0; p < sizeof some / sizeof *some; p++) {
        for (i = 0; i < 2; i++) {
            spmv_desc d = both_of(&m, SPMV_F64, some[p]);
            spmv_matrix a;
            d.reproducible = 1;
            d.device = i ? &device : NULL;
            cr_assert_eq(spmv_create(&a, &d), SPMV_OK, "%s", heard.text);
            cr_assert_eq(spmv_mul_transposed(&a, 0.7, x, 0, y[i]), SPMV_OK, "%s", heard.text);
            spmv_destroy(&a);
        }
        cr_assert(!memcmp(y[0], y[1], sizeof y[0]), "%s", some[p] ? some[p] : "no plan");
    }
    spmv_device_destroy(&device);
    matrix_free(&m);
}

Test(both, refused_values_reach_neither_on_a_device)
{
    static const char *const only[] = { "csr:val=32", "sell:h=8,val=32", "csr:val=8", "sell:h=8,val=8" };
    spmv_device device;
    int i;
    cr_assert_eq(spmv_device_create(&device, NULL), SPMV_OK);
    for (i = 0; i < 8; i++) refuse_values(&device, i & 2 ? "sell:h=8" : "csr", only[i / 2], i & 1);
    spmv_device_destroy(&device);
}

/* Execs of both directions multiply vectors that stay on the device; new values come from a buffer. */
Test(both, execs_and_buffers)
{
    spmv_device device;
    matrix m;
    uint32_t ptr[302];
    void *buffer[3] = { NULL, NULL, NULL }, *at[2] = { NULL, NULL };
    double x[301], y[21];
    int i, update;
    uint64_t r;
    cr_assert_eq(spmv_device_create(&device, NULL), SPMV_OK);
    cr_assert(matrix_awkward(&m, 19, INTEGERS)); /* 301 x 21 */
    for (r = 0; r <= m.rows; r++) ptr[r] = (uint32_t)m.ptr[r];
    for (r = 0; r < m.rows; r++) x[r] = rng_int();
    for (i = 0; i < 3; i++) {
        const size_t bytes = i == 0 ? sizeof ptr : m.nnz * (i == 1 ? 4 : 8);
        const void *array = i == 0 ? (const void *)ptr : i == 1 ? (const void *)m.col : (const void *)m.val;
        cr_assert_eq(spmv_buffer_create(&device, bytes, &buffer[i]), SPMV_OK);
        cr_assert_eq(spmv_buffer_write(&device, buffer[i], bytes, array), SPMV_OK);
    }
    cr_assert_eq(spmv_buffer_create(&device, sizeof x, &at[0]), SPMV_OK);
    cr_assert_eq(spmv_buffer_create(&device, sizeof y, &at[1]), SPMV_OK);
    cr_assert_eq(spmv_buffer_write(&device, at[0], sizeof x, x), SPMV_OK);
    for (update = 0; update < 2; update++) {
        spmv_desc d = both_of(&m, SPMV_F64, "sell:h=8");
        double *want, *later = (double *)need(m.nnz, 8);
        spmv_matrix a;
        spmv_exec e;
        memset(&d.matrix, 0, sizeof d.matrix);
        d.matrix.rows = 301;
        d.matrix.cols = 21;
        d.matrix.ptr = buffer[0];
        d.matrix.col = buffer[1];
        d.matrix.val = buffer[2];
        d.buffers = 1;
        d.updatable = update;
        d.device = &device;
        cr_assert_eq(spmv_create(&a, &d), SPMV_OK, "%s", heard.text);
        check_turned(&a, &m, m.val, SPMV_F64, "buffers");
        check_straight(&a, &m, SPMV_F64, "buffers");
        for (r = 0; r < m.nnz; r++) later[r] = update ? rng_int() : m.val[r];
        if (update) {
            cr_assert_eq(spmv_buffer_write(&device, buffer[2], m.nnz * 8, later), SPMV_OK);
            cr_assert_eq(spmv_update_buffer(&a, buffer[2]), SPMV_OK, "%s", heard.text);
        }
        cr_assert_eq(spmv_exec_create(&e, spmv_transposed(&a)->on_device, NULL), SPMV_OK);
        cr_assert_eq(spmv_exec_mul(&e, 2, at[0], 0, 0, at[1], 0), SPMV_OK);
        cr_assert_eq(spmv_buffer_read(&device, at[1], sizeof y, y), SPMV_OK);
        want = turned(&m, later, 2, x, 0, NULL);
        for (r = 0; r < 21; r++) cr_assert_eq(y[r], want[r]);
        check_turned(&a, &m, later, SPMV_F64, "after");
        spmv_exec_destroy(&e);
        spmv_destroy(&a);
        cr_assert_eq(heard.live, 0);
        free(want);
        free(later);
    }
    for (i = 0; i < 5; i++) spmv_buffer_destroy(&device, i < 3 ? buffer[i] : at[i - 3]);
    spmv_device_destroy(&device);
    matrix_free(&m);
}
#endif
