/* SPDX-License-Identifier: MIT
 *
 * Conjugate gradients for A x = b, where A is the five-point Laplacian of a 128 x 128 grid. All vectors stay on the device; dot, axpy
 * and scal come from CLBlast (Debian: libclblast-dev). At the end, the host computes the residual again.
 *
 *     cc -std=c99 -O2 -I. examples/cg.c -o cg -lclblast -lOpenCL
 *
 * Prints: converged
 */
#define SPMV_IMPLEMENTATION
#include "spmv.h"

#include <clblast_c.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 128, N = SIDE * SIDE, MOST = 1000 };

static spmv_device device;
static cl_command_queue queue; /* the device's */
static cl_mem scalar;

static void must(int good, const char *what)
{
    if (good) return;
    printf("%s failed\n", what);
    exit(1);
}

static cl_mem vector(double *from)
{
    cl_int e;
    cl_mem m = clCreateBuffer(device.context, CL_MEM_READ_WRITE | (from ? CL_MEM_COPY_HOST_PTR : 0), N * sizeof *from, from, &e);
    must(e == CL_SUCCESS, "clCreateBuffer");
    return m;
}

static double dot(cl_mem u, cl_mem v)
{
    double sum;
    must(CLBlastDdot(N, scalar, 0, u, 0, 1, v, 0, 1, &queue, NULL) == CLBlastSuccess, "dot");
    must(clEnqueueReadBuffer(queue, scalar, CL_TRUE, 0, sizeof sum, &sum, 0, NULL, NULL) == CL_SUCCESS, "reading");
    return sum;
}

static void axpy(double alpha, cl_mem u, cl_mem v) /* v += alpha u */
{
    must(CLBlastDaxpy(N, alpha, u, 0, 1, v, 0, 1, &queue, NULL) == CLBlastSuccess, "axpy");
}

int main(void)
{
    static int32_t ptr[N + 1], col[5 * N];
    static double val[5 * N], b[N], x[N], zero[N];
    spmv_device_desc open = {0};
    spmv_desc desc = {0};
    spmv_matrix a;
    spmv_exec exec;
    cl_mem dx, dr, dp, dq;
    double rr, bb, left = 0;
    int i, k, n = 0, steps;
    char shares[256];

    for (i = 0; i < N; i++) {
        int row = i / SIDE, at = i % SIDE;
        ptr[i] = n;
        if (row > 0) { col[n] = i - SIDE; val[n++] = -1; }
        if (at > 0) { col[n] = i - 1; val[n++] = -1; }
        col[n] = i; val[n++] = 4;
        if (at < SIDE - 1) { col[n] = i + 1; val[n++] = -1; }
        if (row < SIDE - 1) { col[n] = i + SIDE; val[n++] = -1; }
        b[i] = 1 + (i * 37 % 11) / 11.0;
    }
    ptr[N] = n;

    must(spmv_device_create(&device, &open) == SPMV_OK, "opening a device");
    queue = device.queue;
    desc.matrix = spmv_csr_f64(N, N, ptr, col, val);
    desc.plan = "dia"; /* five diagonals, which need no column indices */
    desc.device = &device;
    must(spmv_create(&a, &desc) == SPMV_OK, "storing the matrix");
    must(spmv_exec_create(&exec, a.on_device, NULL) == SPMV_OK, "preparing products"); /* NULL: the device's queue, which is in order */
    spmv_shares(&a, shares, sizeof shares);
    printf("%d unknowns as %s on %s\n", N, shares, device.info.name);

    scalar = vector(zero);
    dx = vector(zero); /* x = 0, so r = p = b */
    dr = vector(b);
    dp = vector(b);
    dq = vector(NULL);
    rr = bb = dot(dr, dr);
    for (steps = 0; steps < MOST && rr > 1e-20 * bb; steps++) {
        double alpha, before = rr;
        must(spmv_cl_mul(&exec, 1, dp, 0, 0, dq, 0, 0, NULL, NULL) == SPMV_OK, "the product"); /* q = A p */
        alpha = rr / dot(dp, dq);
        axpy(alpha, dp, dx);
        axpy(-alpha, dq, dr);
        rr = dot(dr, dr);
        must(CLBlastDscal(N, rr / before, dp, 0, 1, &queue, NULL) == CLBlastSuccess, "scal"); /* p = r + beta p */
        axpy(1, dr, dp);
    }

    /* the residual b - A x, on the host */
    must(clEnqueueReadBuffer(queue, dx, CL_TRUE, 0, sizeof x, x, 0, NULL, NULL) == CL_SUCCESS, "reading x");
    for (i = 0; i < N; i++) {
        double r = b[i];
        for (k = ptr[i]; k < ptr[i + 1]; k++) r -= val[k] * x[col[k]];
        left += r * r;
    }
    printf("%d steps, |b - A x|^2 / |b|^2 is %.1e by the recurrence, %.1e on the host\n", steps, rr / bb, left / bb);

    clReleaseMemObject(scalar);
    clReleaseMemObject(dx);
    clReleaseMemObject(dr);
    clReleaseMemObject(dp);
    clReleaseMemObject(dq);
    spmv_exec_destroy(&exec);
    spmv_destroy(&a);
    spmv_device_destroy(&device);
    if (!(left <= 1e-18 * bb)) {
        printf("the residual is too large\n");
        return 1;
    }
    printf("converged\n");
    return 0;
}
