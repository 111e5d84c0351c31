/* SPDX-License-Identifier: MIT
 *
 * Conjugate gradients for A x = b, where A is the five-point Laplacian of a 128 x 128 grid, on the host or on a device: "./cg host",
 * "./cg cuda:", "./cg opencl:"; without an argument on the default device. Neither vectors nor numbers leave it: what follows the product
 * (spmv_tail) forms both sums that a step needs, and one loop does the rest with alpha and beta from them, so that a step is three
 * launches. It is the method of Chronopoulos and Gear (1989), which has A p by recurrence. At the end, the host computes the
 * residual again.
 *
 *     cc -std=c99 -O2 -I. examples/cg.c -o cg -ldl
 *
 * Also run: host
 * Prints: converged
 */
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#include "examples/place.h"

enum { SIDE = 128, N = SIDE * SIDE, MOST = 1000, LOOK = 10 /* steps between two looks at |r|^2 */ };

/* x += alpha p, r -= alpha A p. p: p and A p, side by side; q: A r; sums: r.q and, at 3, r.r; state: r.r and alpha of the step before. s:
 * where state is read, 0 or 2; it is written at the other place. */
STEP(advance,
     VECTOR x = a; VECTOR r = b; VECTOR p = c; VECTOR q = d; VECTOR sums = e; VECTOR state = f;
     int old = (int)s;
     int first = state[old] == 0;
     double rr = sums[3];
     double beta = first ? 0 : rr / state[old];
     double slope = sums[0] - (first ? 0 : beta * rr / state[old + 1]);
     double alpha = rr > 0 ? rr / slope : 0;
     p[2 * i] = r[i] + beta * p[2 * i];
     p[2 * i + 1] = q[i] + beta * p[2 * i + 1];
     x[i] += alpha * p[2 * i];
     r[i] -= alpha * p[2 * i + 1];
     if (i == 0) { state[2 - old] = rr; state[3 - old] = alpha; })

int main(int argc, char **argv)
{
    static int32_t ptr[N + 1], col[5 * N];
    static double val[5 * N], b[N], x[N];
    double sums[SPMV_DOT_COUNT], bb = 0, left = 0;
    void *at[VECTORS];
    spmv_desc desc = {0};
    spmv_tail tail = {0};
    spmv_matrix a;
    spmv_exec exec;
    int i, k, n = 0, steps;
    char shares[256];

    for (i = 0; i < N; i++) {
        int row = i / SIDE, column = i % SIDE;
        ptr[i] = n;
        if (row > 0) { col[n] = i - SIDE; val[n++] = -1; }
        if (column > 0) { col[n] = i - 1; val[n++] = -1; }
        col[n] = i; val[n++] = 4;
        if (column < SIDE - 1) { col[n] = i + 1; val[n++] = -1; }
        if (row < SIDE - 1) { col[n] = i + SIDE; val[n++] = -1; }
        b[i] = 1 + (i * 37 % 11) / 11.0;
        bb += b[i] * b[i];
    }
    ptr[N] = n;

    place_open(argc > 1 ? argv[1] : NULL);
    desc.matrix = spmv_csr_f64(N, N, ptr, col, val);
    desc.plan = "dia"; /* five diagonals, which need no column indices */
    desc.device = on_device ? &place : NULL;
    must(spmv_create(&a, &desc) == SPMV_OK, "storing the matrix");
    if (on_device) must(spmv_exec_create(&exec, a.on_device, NULL) == SPMV_OK, "preparing products"); /* NULL: the device's queue */
    spmv_shares(&a, shares, sizeof shares);
    printf("%d unknowns as %s\n", N, shares);

    at[0] = vector(N, NULL); /* x = 0, so r = b */
    at[1] = vector(N, b);
    at[2] = vector(2 * N, NULL); /* p and A p, side by side */
    at[3] = vector(N, NULL);     /* q = A r */
    at[4] = vector(SPMV_DOT_COUNT, NULL);
    at[5] = vector(4, NULL);
    tail.dots = SPMV_DOT_XY | SPMV_DOT_XX;
    tail.sums = at[4];
    for (steps = 0; steps < MOST; steps++) {
        multiply(&a, &exec, 1, at[1], 0, at[3], &tail);
        if (steps % LOOK == 0) vector_read(at[4], SPMV_DOT_COUNT, sums);
        if (sums[3] <= 1e-20 * bb) break;
        run(&advance, N, at, steps & 1 ? 2 : 0, 0);
    }

    /* the residual b - A x, on the host */
    vector_read(at[0], N, x);
    for (i = 0; i < N; i++) {
        double r = b[i];
        for (k = ptr[i]; k < ptr[i + 1]; k++) r -= val[k] * x[col[k]];
        left += r * r;
    }
    printf("%d steps, |b - A x|^2 / |b|^2 is %.1e by the recurrence, %.1e on the host\n", steps, sums[3] / bb, left / bb);

    step_free(&advance);
    for (i = 0; i < VECTORS; i++) vector_free(at[i]);
    if (on_device) spmv_exec_destroy(&exec);
    spmv_destroy(&a);
    spmv_device_destroy(&place);
    if (!(left <= 1e-18 * bb)) {
        printf("the residual is too large\n");
        return 1;
    }
    printf("converged\n");
    return 0;
}
