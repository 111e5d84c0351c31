/* SPDX-License-Identifier: MIT
 *
 * A linear program, min c.x with A x = b and x >= 0, by primal-dual hybrid gradients (PDHG) as PDLP's first version has them (Applegate et
 * al., arXiv:2106.04756): A is scaled, averages are restarted from, and each restart sets anew how far x moves beside y. The length of a
 * step is fixed, 0.9 / |A|. One matrix made with both multiplies in both directions. Vectors never leave the place where it is, the host or
 * a device; a look at the residuals, every 64 steps, takes 40 numbers from there. A step of PDHG is two products, the tail of one, which
 * ends the step of y (spmv_tail), and one loop. Tails form the sums, too: with alpha = 0 and beta = 1 the product itself takes no time.
 *
 *     ./pdhg WHERE FILE.mtx
 *
 * WHERE is "host", "cuda:", "opencl:" or another name of a device. The file has A only: b and c are made so that the optimum is known. Some
 * x* >= 0, of which about half are 0, and y* are drawn; then b = A x*, and c = A^T y* + s, where s > 0 only where x* is 0. Without a
 * file, A is that of a transport from 12 to 20 places.
 *
 *     cc -std=c99 -O2 -I. examples/pdhg.c -o pdhg -ldl -lm
 *
 * Also run: host
 * Prints: solved
 */
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#include "spmv_io.h"
#include "examples/place.h"

#include <math.h>

enum { LOOK = 64, MOST = 200000, FROM = 12, TO = 20, SUMS = 4 };
static const double ENOUGH = 1e-7; /* relative residuals */

/* x+ = max(0, x - tau (c - A^T y)), 2 x+ - x where A^T y was, and sums of all x and y. Vectors are as long as the longer of x and y. */
STEP(primal,
     VECTOR x = a; VECTOR g = b; VECTOR cost = c; VECTOR xs = d; VECTOR y = e; VECTOR ys = f;
     double old = x[i];
     double to = old - s * (cost[i] - g[i]);
     x[i] = to > 0 ? to : 0;
     g[i] = 2 * x[i] - old;
     xs[i] += x[i];
     ys[i] += y[i];)
/* c = s a + t b, f = s d + t e */
STEP(combine, c[i] = s * a[i] + (t == 0 ? 0 : t * b[i]); f[i] = s * d[i] + (t == 0 ? 0 : t * e[i]);)
/* How far A^T y in a exceeds c in b. */
STEP(exceed, a[i] = a[i] > b[i] ? a[i] - b[i] : 0;)

static spmv_matrix m;
static spmv_exec straight, turned;
static size_t longest;     /* of rows and columns */
static void *b, *c, *sums; /* of the program; of tails, one behind another */

static double drawn(void) /* 0 to 1 */
{
    static uint32_t r = 1;
    r = r * 1664525u + 1013904223u;
    return r / 4294967296.0;
}

static double *numbers(size_t n)
{
    double *v = (double *)calloc(n + 1, sizeof *v);
    must(v != NULL, "calloc");
    return v;
}

/* y = alpha A x + beta y, or by A^T, and what follows; the sums of that are put at place number to. */
static void times(int transposed, double alpha, void *x, double beta, void *y, void *w, double gamma, void *z, unsigned dots, int to)
{
    const spmv_tail tail = { w, z, 0, 0, gamma, dots, sums, (uint64_t)(to * SPMV_DOT_COUNT) };
    multiply(transposed ? spmv_transposed(&m) : &m, transposed ? &turned : &straight, alpha, x, beta, y, &tail);
}

/* Square roots of y.y of places 0 and 1, of which y is a vector of columns and one of rows. */
static void lengths(void *columns, void *rows, double *of_columns, double *of_rows)
{
    double sum[2 * SPMV_DOT_COUNT];
    times(1, 0, NULL, 1, columns, NULL, 0, NULL, SPMV_DOT_YY, 0);
    times(0, 0, NULL, 1, rows, NULL, 0, NULL, SPMV_DOT_YY, 1);
    vector_read(sums, 2 * SPMV_DOT_COUNT, sum);
    *of_columns = sqrt(sum[1]);
    *of_rows = sqrt(sum[SPMV_DOT_COUNT + 1]);
}

/* |A| by the power method on A^T A, from u. */
static double norm(void *u, void *v)
{
    double size, unused;
    int i;
    lengths(u, v, &size, &unused);
    for (i = 0; i < 60; i++) {
        times(0, 1 / size, u, 0, v, NULL, 0, NULL, 0, 0);
        times(1, 1, v, 0, u, NULL, 0, NULL, 0, 0);
        lengths(u, v, &size, &unused);
    }
    return sqrt(size);
}

/* What is left at x and y: |A x - b|, |(A^T y - c)+|, c.x and b.y. */
typedef struct left { double primal, dual, cx, by; } left;

static left look(void *x, void *y, void *u) /* u: room */
{
    void *at[VECTORS] = { u, c, u, u, u, u };
    double sum[SUMS * SPMV_DOT_COUNT];
    left l;
    times(0, 1, x, 0, u, b, -1, NULL, SPMV_DOT_ZZ, 0);
    times(0, 0, NULL, 1, y, b, 0, NULL, SPMV_DOT_WY, 1);
    times(1, 1, y, 0, u, NULL, 0, NULL, 0, 0);
    run(&exceed, (size_t)spmv_cols(&m), at, 0, 0);
    times(1, 0, NULL, 1, u, NULL, 0, NULL, SPMV_DOT_YY, 2);
    times(1, 0, NULL, 1, x, c, 0, NULL, SPMV_DOT_WY, 3);
    vector_read(sums, SUMS * SPMV_DOT_COUNT, sum);
    l.primal = sqrt(sum[4]);
    l.by = sum[SPMV_DOT_COUNT + 2];
    l.dual = sqrt(sum[2 * SPMV_DOT_COUNT + 1]);
    l.cx = sum[3 * SPMV_DOT_COUNT + 2];
    return l;
}

static double error_of(const left *l, double weight)
{
    const double p = weight * l->primal, d = l->dual / weight, gap = l->cx - l->by;
    return sqrt(p * p + d * d + gap * gap);
}

/* Factors for rows and columns (10 steps of Ruiz, then one of Pock and Chambolle); val becomes what they make of it. */
static void scale(const spmv_csr *a, double *val, double *rows, double *cols)
{
    double *r = numbers(a->rows), *q = numbers(a->cols);
    uint64_t i, k;
    int step;
    for (i = 0; i < a->rows; i++) rows[i] = 1;
    for (i = 0; i < a->cols; i++) cols[i] = 1;
    for (step = 0; step <= 10; step++) {
        memset(r, 0, a->rows * sizeof *r);
        memset(q, 0, a->cols * sizeof *q);
        for (i = 0; i < a->rows; i++)
            for (k = a->ptr[i]; k < a->ptr[i + 1]; k++) {
                const double v = fabs(val[k]);
                r[i] = step == 10 ? r[i] + v : v > r[i] ? v : r[i];
                q[a->col[k]] = step == 10 ? q[a->col[k]] + v : v > q[a->col[k]] ? v : q[a->col[k]];
            }
        for (i = 0; i < a->rows; i++) rows[i] *= r[i] = r[i] > 0 ? 1 / sqrt(r[i]) : 1;
        for (i = 0; i < a->cols; i++) cols[i] *= q[i] = q[i] > 0 ? 1 / sqrt(q[i]) : 1;
        for (i = 0; i < a->rows; i++)
            for (k = a->ptr[i]; k < a->ptr[i + 1]; k++) val[k] *= r[i] * q[a->col[k]];
    }
    free(q);
    free(r);
}

/* A transport: a row for what leaves each place, and one for what reaches each. */
static void transport(spmv_csr *out)
{
    static int32_t row[2 * FROM * TO], col[2 * FROM * TO];
    static double one[2 * FROM * TO];
    spmv_input in;
    int i;
    for (i = 0; i < 2 * FROM * TO; i++) {
        col[i] = i / 2;
        row[i] = i % 2 ? FROM + i / 2 % TO : i / 2 / TO;
        one[i] = 1;
    }
    memset(&in, 0, sizeof in);
    in.form = SPMV_IN_COO;
    in.rows = FROM + TO;
    in.cols = FROM * TO;
    in.nnz = 2 * FROM * TO;
    in.row = row;
    in.col = col;
    in.val = one;
    must(spmv_csr_create(out, &in, SPMV_F64, NULL) == SPMV_OK, "making a transport");
}

/* Finds x and y. size_b, size_c: |b| and |c| */
static void solve(double size_b, double size_c, double *x, double *y)
{
    enum { X, G, XS, Y, YS, XM, YM, X0, Y0, U, COUNT };
    void *v[COUNT];
    double *start = numbers(longest), eta, at_restart = INFINITY, before = INFINITY;
    double weight = size_b > 0 && size_c > 0 ? size_c / size_b : 1; /* y moves so much more than x */
    size_t i, n = longest;
    int k, since = 0, restarts = 0;
    for (i = 0; i < n; i++) start[i] = i < spmv_cols(&m) ? drawn() : 0;
    for (k = 0; k < COUNT; k++) v[k] = vector(n, k == U ? start : NULL);
    eta = 0.9 / norm(v[U], v[G]);
    for (k = 1; k <= MOST; k++) {
        void *step[VECTORS] = { v[X], v[G], c, v[XS], v[Y], v[YS] }, *mean[VECTORS] = { v[XS], v[XS], v[XM], v[YS], v[YS], v[YM] };
        void *back[VECTORS] = { v[XM], v[XM], v[X], v[YM], v[YM], v[Y] }, *moved[VECTORS] = { v[X], v[X0], v[G], v[Y], v[Y0], v[U] };
        void *keep[VECTORS] = { v[X], v[X], v[X0], v[Y], v[Y], v[Y0] }, *none[VECTORS] = { v[X], v[X], v[XS], v[Y], v[Y], v[YS] };
        left now, average;
        double here, there, dx, dy;
        times(1, 1, v[Y], 0, v[G], NULL, 0, NULL, 0, 0);
        run(&primal, n, step, eta / weight, 0);
        times(0, -eta * weight, v[G], 1, v[Y], b, eta * weight, v[Y], 0, 0); /* y += sigma (b - A (2 x+ - x)) */
        since++;
        if (k % LOOK) continue;
        run(&combine, n, mean, 1.0 / since, 0);
        now = look(v[X], v[Y], v[U]);
        average = look(v[XM], v[YM], v[U]);
        here = error_of(&now, weight);
        there = error_of(&average, weight);
        if (there < here) now = average;
        if (there < here) here = there;
        else there = INFINITY;
        if ((now.primal <= ENOUGH * (1 + size_b) && now.dual <= ENOUGH * (1 + size_c) &&
             fabs(now.cx - now.by) <= ENOUGH * (1 + fabs(now.cx) + fabs(now.by))) || k + LOOK > MOST) {
            if (there < INFINITY) run(&combine, n, back, 1, 0);
            break;
        }
        if (here <= 0.2 * at_restart || (here <= 0.8 * at_restart && here > before) || since >= 0.36 * k) {
            if (there < INFINITY) run(&combine, n, back, 1, 0);
            run(&combine, n, moved, 1, -1);
            lengths(v[G], v[U], &dx, &dy);
            if (dx > 0 && dy > 0) weight = sqrt(weight * dy / dx);
            run(&combine, n, keep, 1, 0);
            run(&combine, n, none, 0, 0);
            at_restart = error_of(&now, weight);
            here = INFINITY;
            since = 0;
            restarts++;
        }
        before = here;
    }
    printf("%d steps, %d restarts\n", k, restarts);
    vector_read(v[X], (size_t)spmv_cols(&m), x);
    vector_read(v[Y], (size_t)spmv_rows(&m), y);
    for (k = 0; k < COUNT; k++) vector_free(v[k]);
    free(start);
}

/* Vectors of the program, as long as longest; factors: of the elements. Returns the vector's length. */
static double put(void **out, const double *v, const double *factors, size_t n)
{
    double *scaled = numbers(longest), square = 0;
    size_t i;
    for (i = 0; i < n; i++) {
        scaled[i] = v[i] * factors[i];
        square += scaled[i] * scaled[i];
    }
    *out = vector(longest, scaled);
    free(scaled);
    return sqrt(square);
}

int main(int argc, char **argv)
{
    spmv_csr a, scaled;
    spmv_desc desc;
    double *val, *rows, *cols, *x, *y, *cost, *rhs, *residual, best = 0, found = 0, square = 0, all = 0, size_b, size_c;
    uint64_t i, k;
    char plan[2][SPMV_PLAN_TEXT];

    place_open(argc > 1 ? argv[1] : NULL);
    if (argc > 2) must(spmv_mm_read_file(&a, argv[2], NULL, NULL, NULL) == SPMV_OK && a.type == SPMV_F64, argv[2]);
    else transport(&a);
    longest = (size_t)(a.rows > a.cols ? a.rows : a.cols);
    scaled = a;
    scaled.val = val = numbers(a.nnz);
    memcpy(val, a.val, a.nnz * sizeof *val);
    rows = numbers(a.rows);
    cols = numbers(a.cols);
    x = numbers(a.cols);
    y = numbers(a.rows);
    cost = numbers(a.cols);
    rhs = numbers(a.rows);
    residual = numbers(a.rows);

    for (i = 0; i < a.rows; i++) y[i] = 2 * drawn() - 1;
    for (i = 0; i < a.cols; i++) {
        const int zero = drawn() < 0.5;
        x[i] = zero ? 0 : drawn();
        cost[i] = zero ? drawn() : 0; /* s; A^T y* is added below */
    }
    for (i = 0; i < a.rows; i++)
        for (k = a.ptr[i]; k < a.ptr[i + 1]; k++) {
            rhs[i] += val[k] * x[a.col[k]];
            cost[a.col[k]] += val[k] * y[i];
        }
    for (i = 0; i < a.cols; i++) best += cost[i] * x[i];

    scale(&a, val, rows, cols);
    memset(&desc, 0, sizeof desc);
    desc.csr = &scaled;
    desc.both = 1;
    desc.device = on_device ? &place : NULL;
    must(spmv_create(&m, &desc) == SPMV_OK, "storing the matrix");
    spmv_plan_of(&m, plan[0], sizeof plan[0]);
    spmv_plan_of(spmv_transposed(&m), plan[1], sizeof plan[1]);
    printf("%d rows, %d columns: %s, transposed %s\n", (int)a.rows, (int)a.cols, plan[0], plan[1]);
    if (on_device)
        must(spmv_exec_create(&straight, m.on_device, NULL) == SPMV_OK &&
             spmv_exec_create(&turned, spmv_transposed(&m)->on_device, NULL) == SPMV_OK, "preparing products");
    sums = vector(SUMS * SPMV_DOT_COUNT, NULL);
    size_b = put(&b, rhs, rows, a.rows);
    size_c = put(&c, cost, cols, a.cols);
    solve(size_b, size_c, x, y);

    for (i = 0; i < a.cols; i++) found += cost[i] * (x[i] *= cols[i]); /* in the units of A itself */
    for (i = 0; i < a.rows; i++) {
        residual[i] = -rhs[i];
        for (k = a.ptr[i]; k < a.ptr[i + 1]; k++) residual[i] += ((const double *)a.val)[k] * x[a.col[k]];
        square += residual[i] * residual[i];
        all += rhs[i] * rhs[i];
    }
    printf("c.x is %.9g, at the optimum %.9g; |A x - b| / |b| is %.1e\n", found, best, sqrt(square / all));
    step_free(&primal);
    step_free(&combine);
    step_free(&exceed);
    vector_free(b);
    vector_free(c);
    vector_free(sums);
    if (on_device) {
        spmv_exec_destroy(&turned);
        spmv_exec_destroy(&straight);
    }
    spmv_destroy(&m);
    spmv_device_destroy(&place);
    spmv_csr_destroy(&a);
    free(val);
    free(rows);
    free(cols);
    free(x);
    free(y);
    free(cost);
    free(rhs);
    free(residual);
    if (!(fabs(found - best) <= 1e-5 * (1 + fabs(best)) && square <= 1e-10 * all)) {
        printf("not solved\n");
        return 1;
    }
    printf("solved\n");
    return 0;
}
