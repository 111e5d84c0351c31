/* SPDX-License-Identifier: MIT
 * bench/threads.c - products in many threads, and what it costs to enqueue one. On the device that DEVICE names, as for
 * spmv_device_create:
 *   1. THREADS threads compute PRODUCTS products each with one matrix over QUEUES queues, each thread with its own exec: all y must be
 *      equal;
 *   2. the time that the host spends in spmv_cl_mul, without waiting, for plans of one part and of four.
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -O2 -I. bench/threads.c -o build/threads -lOpenCL -pthread
 *   build/threads [DEVICE]
 */
#define SPMV_IMPLEMENTATION
#include "../spmv.h"
#include "common.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 20000, COLS = 20000, THREADS = 16, PRODUCTS = 1000, QUEUES = 4, ENQUEUED = 200, ROUNDS = 21 };

/* Makes a matrix with nonzeros for every part: three on diagonals in each row, rows of 3 to 40 nonzeros, and one of 2000. */
static void fill(int32_t *ptr, int32_t *col, double *val)
{
    int32_t r, k, n = 0;
    for (r = 0; r < ROWS; r++) {
        int32_t length = r == 777 ? 2000 : r % 50 == 0 ? 40 : 3 + r % 6, first = r < COLS - 2000 ? r : COLS - 2000;
        ptr[r] = n;
        for (k = 0; k < length; k++) {
            col[n] = first + (k < 3 ? k : 3 * k);
            val[n] = 1.0 / (1 + (n * 7 + k) % 1009) - 0.25;
            if (col[n] < COLS) n++;
        }
    }
    ptr[ROWS] = n;
}

/* The matrix under a plan on the device; ends the program if that fails. */
static spmv_matrix prepare(spmv_device *d, const char *plan, const int32_t *ptr, const int32_t *col, const double *val)
{
    spmv_desc desc;
    spmv_matrix m;
    memset(&desc, 0, sizeof desc);
    desc.matrix.rows = ROWS;
    desc.matrix.cols = COLS;
    desc.matrix.ptr = ptr;
    desc.matrix.col = col;
    desc.matrix.val = val;
    desc.matrix.val_type = SPMV_F64;
    desc.type = d->info.f64 ? SPMV_F64 : SPMV_F32;
    desc.plan = plan;
    desc.device = d;
    need(spmv_create(&m, &desc) == SPMV_OK, plan);
    return m;
}

typedef struct worker {
    pthread_t             thread;
    const spmv_device_matrix *m;
    cl_command_queue      queue;
    cl_mem                x, y;
    size_t                bytes;
    const void           *want;
    int                   differ;
} worker;

/* A thread: computes products with its own exec and counts those that differ. */
static void *work(void *arg)
{
    worker *w = (worker *)arg;
    void *y = malloc(w->bytes);
    spmv_exec e;
    int i;
    need(y && spmv_exec_create(&e, w->m, w->queue) == SPMV_OK, "spmv_exec_create");
    for (i = 0; i < PRODUCTS; i++) {
        cl_event done;
        need(spmv_cl_mul(&e, 1, w->x, 0, 0, w->y, 0, 0, NULL, &done) == SPMV_OK, "spmv_cl_mul");
        need(clEnqueueReadBuffer(w->queue, w->y, CL_TRUE, 0, w->bytes, y, 1, &done, NULL) == CL_SUCCESS, "reading y");
        clReleaseEvent(done);
        w->differ += memcmp(y, w->want, w->bytes) != 0;
    }
    spmv_exec_destroy(&e);
    free(y);
    return NULL;
}

static cl_mem buffer(spmv_device *d, size_t bytes)
{
    cl_int e;
    cl_mem m = clCreateBuffer(d->context, CL_MEM_READ_WRITE, bytes, NULL, &e);
    need(e == CL_SUCCESS, "clCreateBuffer");
    return m;
}

/* The microseconds that the host spends on enqueueing a product: the median of ROUNDS batches. */
static double enqueue_cost(spmv_device *d, const spmv_matrix *m, cl_mem x, cl_mem y)
{
    double us[ROUNDS];
    spmv_exec e;
    int i, j;
    need(spmv_exec_create(&e, m->on_device, NULL) == SPMV_OK, "spmv_exec_create");
    for (i = -1; i < ROUNDS; i++) { /* the first warms up */
        double from = now();
        for (j = 0; j < ENQUEUED; j++)
            need(spmv_cl_mul(&e, 1, x, 0, 0, y, 0, 0, NULL, NULL) == SPMV_OK, "spmv_cl_mul");
        if (i >= 0) us[i] = (now() - from) / ENQUEUED * 1e6;
        clFinish(d->queue);
    }
    spmv_exec_destroy(&e);
    return median(us, ROUNDS);
}

int main(int argc, char **argv)
{
    static const char *const plans[] = { "csr", "dia:d=0.9+ell:w=2+csr:rows=nonempty,run=256+coo",
                                         "ell:w=1+ell:w=1+sell:h=32,w=4+csr:rows=nonempty" };
    int32_t *ptr = (int32_t *)malloc((ROWS + 1) * sizeof *ptr), *col = (int32_t *)malloc(ROWS * 16 * sizeof *col);
    double *val = (double *)malloc(ROWS * 16 * sizeof *val), from, took;
    spmv_device_desc desc;
    spmv_device d;
    spmv_matrix m;
    worker w[THREADS];
    cl_command_queue queue[QUEUES];
    cl_mem x, y;
    size_t size, i, p;
    void *host_x, *want;
    int bad = 0;
    memset(&desc, 0, sizeof desc);
    desc.which = argc > 1 ? argv[1] : NULL;
    need(ptr && col && val && spmv_device_create(&d, &desc) == SPMV_OK, "opening the device");
    fill(ptr, col, val);
    size = d.info.f64 ? 8 : 4;
    host_x = malloc(COLS * size);
    want = malloc(ROWS * size);
    need(host_x && want, "malloc");
    for (i = 0; i < COLS; i++) {
        double v = 1.0 / (double)(i % 911 + 3);
        if (size == 8) ((double *)host_x)[i] = v;
        else ((float *)host_x)[i] = (float)v;
    }
    x = buffer(&d, COLS * size);
    y = buffer(&d, ROWS * size);
    need(clEnqueueWriteBuffer(d.queue, x, CL_TRUE, 0, COLS * size, host_x, 0, NULL, NULL) == CL_SUCCESS, "writing x");

    m = prepare(&d, plans[0], ptr, col, val);
    need(spmv_mul(&m, 1, host_x, 0, want) == SPMV_OK, "spmv_mul");
    for (i = 0; i < QUEUES; i++) {
        cl_int e;
        queue[i] = clCreateCommandQueue(d.context, d.info.id, 0, &e);
        need(e == CL_SUCCESS, "clCreateCommandQueue");
    }
    from = now();
    for (i = 0; i < THREADS; i++) {
        memset(&w[i], 0, sizeof w[i]);
        w[i].m = m.on_device;
        w[i].queue = queue[i % QUEUES];
        w[i].x = x;
        w[i].y = buffer(&d, ROWS * size);
        w[i].bytes = ROWS * size;
        w[i].want = want;
        need(!pthread_create(&w[i].thread, NULL, work, &w[i]), "pthread_create");
    }
    for (i = 0; i < THREADS; i++) {
        pthread_join(w[i].thread, NULL);
        clReleaseMemObject(w[i].y);
        bad += w[i].differ;
    }
    took = now() - from;
    printf("%s: %d threads x %d products over %d queues: %d of %d differ; %.1f us per product, y read each time\n",
           d.info.name, THREADS, PRODUCTS, QUEUES, bad, THREADS * PRODUCTS, took / (THREADS * PRODUCTS) * 1e6);
    for (i = 0; i < QUEUES; i++) clReleaseCommandQueue(queue[i]);
    spmv_destroy(&m);
    for (p = 0; p < sizeof plans / sizeof *plans; p++) {
        char shares[256];
        m = prepare(&d, plans[p], ptr, col, val);
        spmv_shares(&m, shares, sizeof shares);
        printf("%s: enqueueing takes %.2f us per product: %s (%s)\n", d.info.name, enqueue_cost(&d, &m, x, y), plans[p],
               shares);
        spmv_destroy(&m);
    }
    clReleaseMemObject(x);
    clReleaseMemObject(y);
    spmv_device_destroy(&d);
    free(host_x);
    free(want);
    free(ptr);
    free(col);
    free(val);
    return bad != 0;
}
