/* SPDX-License-Identifier: MIT
 *
 * Conjugate gradients for A x = b on the host and every OpenCL device together, where A is the five-point Laplacian of a 256 x 256 grid.
 * Each device keeps its piece of every vector; they exchange the elements of p at their boundaries and the sums of dot products, and no
 * vector is collected on the host until the end, when the host computes the residual again.
 *
 *     cc -std=c99 -O2 -I. examples/two_devices.c -o two_devices -lclblast -lOpenCL
 *
 * Prints: converged
 */
#define SPMV_NO_CUDA
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#include "spmv_group.h"

#include <clblast_c.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 256, N = SIDE * SIDE, MOST = 2000, DEVICES = 4 };

static spmv_device device[DEVICES];
static spmv_device *on[1 + DEVICES]; /* the host, then the devices */
static cl_mem scalar[1 + DEVICES];
static spmv_group group;

static void must(int good, const char *what)
{
    if (good) return;
    printf("%s failed\n", what);
    exit(1);
}

static spmv_group_vector vector(const double *from)
{
    spmv_group_vector v;
    must(spmv_group_vector_create(&v, &group, SPMV_GROUP_X) == SPMV_OK, "making a vector");
    must(spmv_group_vector_write(&v, from) == SPMV_OK, "writing a vector");
    return v;
}

/* The first element of a piece on the host. */
static double *here(const spmv_group_part *p) { return (double *)p->at + p->offset; }

/* The dot product: every device sums its piece, and the host adds the sums. */
static double dot(const spmv_group_vector *u, const spmv_group_vector *v)
{
    double sum = 0, part[1 + DEVICES] = {0};
    uint64_t k;
    size_t i;
    for (i = 0; i < group.count; i++) { /* the devices begin */
        const spmv_group_part *a = &u->part[i], *b = &v->part[i];
        cl_command_queue queue = on[i] ? on[i]->queue : NULL;
        if (!queue || !a->count) continue;
        must(CLBlastDdot(a->count, scalar[i], 0, a->at, a->offset, 1, b->at, b->offset, 1, &queue, NULL) == CLBlastSuccess, "dot");
        must(clEnqueueReadBuffer(queue, scalar[i], CL_FALSE, 0, sizeof part[i], &part[i], 0, NULL, NULL) == CL_SUCCESS, "reading");
        must(clFlush(queue) == CL_SUCCESS, "starting");
    }
    for (i = 0; i < group.count; i++)
        for (k = 0; !on[i] && k < u->part[i].count; k++) part[i] += here(&u->part[i])[k] * here(&v->part[i])[k];
    must(spmv_group_wait(&group) == SPMV_OK, "waiting");
    for (i = 0; i < group.count; i++) sum += part[i];
    return sum;
}

/* v = alpha u + beta v */
static void combine(double alpha, const spmv_group_vector *u, double beta, spmv_group_vector *v)
{
    uint64_t k;
    size_t i;
    for (i = 0; i < group.count; i++) {
        const spmv_group_part *a = &u->part[i], *b = &v->part[i];
        cl_command_queue queue = on[i] ? on[i]->queue : NULL;
        if (!queue || !a->count) continue;
        if (beta != 1) must(CLBlastDscal(b->count, beta, b->at, b->offset, 1, &queue, NULL) == CLBlastSuccess, "scal");
        must(CLBlastDaxpy(b->count, alpha, a->at, a->offset, 1, b->at, b->offset, 1, &queue, NULL) == CLBlastSuccess, "axpy");
    }
    for (i = 0; i < group.count; i++)
        for (k = 0; !on[i] && k < u->part[i].count; k++)
            here(&v->part[i])[k] = alpha * here(&u->part[i])[k] + beta * here(&v->part[i])[k];
}

/* Opens every OpenCL device that has double precision, up to DEVICES. Returns how many. */
static size_t open_all(void)
{
    spmv_device_info info[DEVICES];
    size_t found = 0, i, n = 0;
    must(spmv_device_list(info, DEVICES, &found, NULL) == SPMV_OK, "listing devices");
    for (i = 0; i < found && i < DEVICES; i++) {
        spmv_device_desc desc = {0};
        char which[8];
        cl_int e;
        if (!info[i].f64) continue;
        snprintf(which, sizeof which, "%d", (int)i);
        desc.which = which;
        must(spmv_device_create(&device[n], &desc) == SPMV_OK, "opening a device");
        on[1 + n] = &device[n];
        scalar[1 + n] = clCreateBuffer(device[n].context, CL_MEM_READ_WRITE, sizeof(double), NULL, &e);
        must(e == CL_SUCCESS, "clCreateBuffer");
        n++;
    }
    return n;
}

int main(void)
{
    static int32_t ptr[N + 1], col[5 * N];
    static double val[5 * N], b[N], x[N], zero[N], share[1 + DEVICES];
    static char text[8000];
    spmv_group_desc desc = {0};
    spmv_group_vector dx, dr, dp, dq;
    double rr, bb, left = 0;
    size_t devices, i;
    int r, k, n = 0, steps;

    for (r = 0; r < N; r++) {
        int row = r / SIDE, at = r % SIDE;
        ptr[r] = n;
        if (row > 0) { col[n] = r - SIDE; val[n++] = -1; }
        if (at > 0) { col[n] = r - 1; val[n++] = -1; }
        col[n] = r; val[n++] = 4;
        if (at < SIDE - 1) { col[n] = r + 1; val[n++] = -1; }
        if (row < SIDE - 1) { col[n] = r + SIDE; val[n++] = -1; }
        b[r] = 1 + (r * 37 % 11) / 11.0;
    }
    ptr[N] = n;

    devices = open_all();
    must(devices > 0, "finding an OpenCL device with double precision");
    for (i = 0; i <= devices; i++) share[i] = 1; /* so that every device takes part; without shares the library weighs them */
    desc.desc.matrix = spmv_csr_f64(N, N, ptr, col, val);
    desc.desc.plan = "dia"; /* five diagonals, in each block as well */
    desc.device = on;
    desc.count = 1 + devices;
    desc.shares = share;
    must(spmv_group_create(&group, &desc) == SPMV_OK, "dividing the matrix");
    spmv_group_explain(&group, text, sizeof text);
    printf("%s", text);

    dx = vector(zero); /* x = 0, so r = p = b */
    dr = vector(b);
    dp = vector(b);
    dq = vector(zero);
    rr = bb = dot(&dr, &dr);
    for (steps = 0; steps < MOST && rr > 1e-20 * bb; steps++) {
        double alpha, before = rr;
        must(spmv_group_mul_vectors(&group, 1, &dp, 0, &dq) == SPMV_OK, "the product"); /* q = A p */
        alpha = rr / dot(&dp, &dq);
        combine(alpha, &dp, 1, &dx);
        combine(-alpha, &dq, 1, &dr);
        rr = dot(&dr, &dr);
        combine(1, &dr, rr / before, &dp); /* p = r + beta p */
    }

    /* the residual b - A x, on the host */
    must(spmv_group_vector_read(&dx, x) == SPMV_OK, "reading x");
    for (r = 0; r < N; r++) {
        double d = b[r];
        for (k = ptr[r]; k < ptr[r + 1]; k++) d -= val[k] * x[col[k]];
        left += d * d;
    }
    printf("%d steps on %d devices, |b - A x|^2 / |b|^2 is %.1e by the recurrence, %.1e on the host\n", steps, (int)group.count, rr / bb,
           left / bb);

    spmv_group_vector_destroy(&dx);
    spmv_group_vector_destroy(&dr);
    spmv_group_vector_destroy(&dp);
    spmv_group_vector_destroy(&dq);
    spmv_group_destroy(&group);
    for (i = 0; i < devices; i++) {
        clReleaseMemObject(scalar[1 + i]);
        spmv_device_destroy(&device[i]);
    }
    if (!(left <= 1e-18 * bb)) {
        printf("the residual is too large\n");
        return 1;
    }
    printf("converged\n");
    return 0;
}
