/* SPDX-License-Identifier: MIT
 *
 * Products in a program that already uses OpenCL, with its context, queue and buffers. Both vectors lie in one buffer, and products
 * wait for events and return one. The host waits only once: when it reads y.
 *
 *     cc -std=c99 -O2 -I. examples/interop.c -o interop -lOpenCL
 *
 * Prints: both products are right, and nothing around y was touched
 */
#define SPMV_IMPLEMENTATION
#include "spmv.h"

#include <stdio.h>
#include <stdlib.h>

enum { N = 4000, GAP = 13, X = 5, Y = X + N + GAP, TOTAL = Y + N + GAP }; /* where x and y begin in the buffer */

static void must(cl_int e, const char *what)
{
    if (e == CL_SUCCESS) return;
    printf("%s failed: %d\n", what, (int)e);
    exit(1);
}

int main(void)
{
    static int32_t ptr[N + 1], col[3 * N];
    static float val[3 * N], vectors[TOTAL], result[TOTAL];
    cl_platform_id platform;
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    cl_mem buffer;
    cl_event written, first, second;
    cl_int e;
    spmv_device_desc adopt = {0};
    spmv_device device;
    spmv_desc desc = {0};
    spmv_matrix a;
    spmv_exec exec;
    int i, n = 0, wrong = 0;

    /* the program's own context, queue and buffer */
    must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &id, NULL, NULL, &e);
    must(e, "clCreateContext");
    queue = clCreateCommandQueue(context, id, 0, &e);
    must(e, "clCreateCommandQueue");
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof vectors, NULL, &e);
    must(e, "clCreateBuffer");

    for (i = 0; i < N; i++) {
        ptr[i] = n;
        if (i > 0) { col[n] = i - 1; val[n++] = 1; }
        col[n] = i; val[n++] = (float)(i % 5);
        if (i < N - 1) { col[n] = i + 1; val[n++] = 1; }
    }
    ptr[N] = n;
    for (i = 0; i < TOTAL; i++) vectors[i] = 1e30f; /* must be unchanged around x and y at the end */
    for (i = 0; i < N; i++) vectors[X + i] = (float)(i % 7);

    /* the library uses this queue, and its context and device */
    adopt.queue = queue;
    if (spmv_device_create(&device, &adopt) != SPMV_OK) return 1;
    desc.matrix = spmv_csr_f32(N, N, ptr, col, val);
    desc.plan = "sell:h=32";
    desc.device = &device;
    if (spmv_create(&a, &desc) != SPMV_OK) return 1;
    if (spmv_exec_create(&exec, a.on_device, queue) != SPMV_OK) return 1; /* one for each thread or queue */

    /* y = A x as soon as x is written, then y = 2 A x - y */
    must(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof vectors, vectors, 0, NULL, &written), "writing");
    if (spmv_cl_mul(&exec, 1, buffer, X, 0, buffer, Y, 1, &written, &first) != SPMV_OK) return 1;
    if (spmv_cl_mul(&exec, 2, buffer, X, -1, buffer, Y, 1, &first, &second) != SPMV_OK) return 1;
    must(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof result, result, 1, &second, NULL), "reading");

    for (i = 0; i < TOTAL; i++) {
        float want = vectors[i];
        if (i >= Y && i < Y + N) {
            int r = i - Y;
            want = (float)(r % 5) * (float)(r % 7); /* 2 A x - A x; small integers are exact */
            if (r > 0) want += (float)((r - 1) % 7);
            if (r < N - 1) want += (float)((r + 1) % 7);
        }
        wrong += result[i] != want;
    }
    if (wrong) printf("%d elements are wrong\n", wrong);
    else printf("both products are right, and nothing around y was touched\n");

    must(clReleaseEvent(written), "releasing an event");
    must(clReleaseEvent(first), "releasing an event");
    must(clReleaseEvent(second), "releasing an event");
    spmv_exec_destroy(&exec);
    spmv_destroy(&a);
    spmv_device_destroy(&device);
    must(clReleaseMemObject(buffer), "releasing the buffer");
    must(clReleaseCommandQueue(queue), "releasing the queue");
    must(clReleaseContext(context), "releasing the context");
    return wrong != 0;
}
