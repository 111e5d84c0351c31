/* SPDX-License-Identifier: MIT
 * On a GPU: a capture in the global mode survives all that is done meanwhile, in its stream and in another thread, and its graph multiplies
 * by the values that the matrix has when it is launched. With the fake driver, which computes nothing, y is wrong. */
#define SPMV_NO_OPENCL
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#include "tools/measure/graph.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 10000 };

static int32_t ptr[N + 1], col[N];
static double val[N], x[N], y[N];
static spmv_device device;
static spmv_matrix matrix, gone;
static spmv_exec exec;
static void *on_x, *on_y;

static void must(int good, const char *what)
{
    if (good) return;
    printf("%s failed\n", what);
    exit(1);
}

static spmv_status create(spmv_matrix *out, spmv_device *on)
{
    spmv_desc desc = { 0 };
    desc.matrix = spmv_csr_f64(N, N, ptr, col, val);
    desc.device = on;
    desc.updatable = 1;
    return spmv_create(out, &desc);
}

static spmv_status open_device(spmv_device *out)
{
    spmv_device_desc desc = { 0 };
    desc.which = "cuda:0";
    return spmv_device_create(out, &desc);
}

static void *elsewhere(void *unused)
{
    static double z[N];
    spmv_device own;
    spmv_matrix another;
    must(open_device(&own) == SPMV_OK && create(&another, &own) == SPMV_OK, "another thread's matrix");
    must(spmv_mul(&another, 1, x, 0, z) == SPMV_OK && spmv_update(&another, val) == SPMV_OK, "another thread's product");
    spmv_destroy(&another);
    spmv_device_destroy(&own);
    return unused;
}

static spmv_status product(void *unused)
{
    static int done;
    spmv_matrix late;
    pthread_t thread;
    (void)unused;
    if (!done++) {
        must(create(&late, &device) == SPMV_ERR_BUSY, "refusing a matrix");
        must(spmv_update(&matrix, val) == SPMV_ERR_BUSY, "refusing new values");
        spmv_destroy(&gone);
        must(!pthread_create(&thread, NULL, elsewhere, NULL) && !pthread_join(thread, NULL), "a thread");
    }
    return spmv_exec_mul(&exec, 1, on_x, 0, 0, on_y, 0);
}

/* How many elements of y are not factor x after a launch. */
static int launch(graph *g, double factor)
{
    int i, wrong = 0;
    must(graph_launch(g) == SPMV_OK && spmv_device_finish(&device) == SPMV_OK, "a launch");
    must(spmv_buffer_read(&device, on_y, sizeof y, y) == SPMV_OK, "reading y");
    for (i = 0; i < N; i++) wrong += y[i] != factor * x[i];
    return wrong;
}

int main(void)
{
    graph *g;
    int i, wrong;
    for (i = 0; i < N; i++) {
        ptr[i + 1] = i + 1;
        col[i] = i;
        val[i] = 2;
        x[i] = i + 1;
    }
    must(open_device(&device) == SPMV_OK && graph_possible(&device), "opening cuda:0");
    must(create(&matrix, &device) == SPMV_OK && create(&gone, &device) == SPMV_OK, "matrices");
    must(spmv_exec_create(&exec, matrix.on_device, NULL) == SPMV_OK, "spmv_exec_create");
    must(spmv_buffer_create(&device, sizeof x, &on_x) == SPMV_OK && spmv_buffer_create(&device, sizeof y, &on_y) == SPMV_OK, "buffers");
    must(spmv_buffer_write(&device, on_x, sizeof x, x) == SPMV_OK, "writing x");
    must(graph_record(&g, &device, product, NULL) == SPMV_OK, "the capture");
    wrong = launch(g, 2);
    for (i = 0; i < N; i++) val[i] = 3;
    must(spmv_update(&matrix, val) == SPMV_OK, "new values");
    wrong += launch(g, 3);
    graph_free(g);
    spmv_exec_destroy(&exec);
    spmv_buffer_destroy(&device, on_x);
    spmv_buffer_destroy(&device, on_y);
    spmv_destroy(&matrix);
    spmv_device_destroy(&device);
    printf("%d elements are wrong\n", wrong);
    return wrong != 0;
}
