/* SPDX-License-Identifier: MIT
 *
 * Products captured into a CUDA graph: a matrix that moves every element of x one place on is multiplied by twice in a graph, the graph
 * is launched again and again, and the time of that stands beside the time of single calls. Neither nvcc nor a toolkit is needed to
 * build it; to run, it needs NVIDIA's driver and NVRTC. Without a GPU it says so.
 *
 *     cc -std=c99 -O2 -DSPMV_NO_OPENCL -I. examples/cuda.c -o cuda -ldl
 *
 * Prints: GPUs by CUDA:
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#define SPMV_IMPLEMENTATION
#include "spmv.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N = 10000, LAUNCHES = 1000 };

/* What the program calls itself; with the toolkit's <cuda.h> these are declared, and -lcuda links them. */
static int (*push)(void *context);
static int (*pop)(void **context);
static int (*begin_capture)(void *stream, int mode);
static int (*end_capture)(void *stream, void **graph);
static int (*instantiate)(void **executable, void *graph, unsigned long long flags);
static int (*launch)(void *executable, void *stream);
static int (*destroy_executable)(void *executable);
static int (*destroy_graph)(void *graph);

static void must(int good, const char *what)
{
    if (good) return;
    printf("%s failed\n", what);
    exit(1);
}

static void find(void *driver, const char *name, void *pointer)
{
    void *f = dlsym(driver, name);
    must(f != NULL, name);
    memcpy(pointer, &f, sizeof f);
}

static void find_all(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    must(driver != NULL, "libcuda.so.1");
    find(driver, "cuCtxPushCurrent_v2", &push);
    find(driver, "cuCtxPopCurrent_v2", &pop);
    find(driver, "cuStreamBeginCapture_v2", &begin_capture);
    find(driver, "cuStreamEndCapture", &end_capture);
    find(driver, "cuGraphInstantiateWithFlags", &instantiate);
    find(driver, "cuGraphLaunch", &launch);
    find(driver, "cuGraphExecDestroy", &destroy_executable);
    find(driver, "cuGraphDestroy", &destroy_graph);
}

static unsigned long long address(void *buffer) { return (unsigned long long)(size_t)buffer; } /* a CUdeviceptr */

/* y = A x, x = A y: x moves two places on. */
static void two_products(spmv_exec *e, void *x, void *y)
{
    must(spmv_cuda_mul(e, 1, address(x), 0, 0, address(y), 0) == SPMV_OK, "y = A x");
    must(spmv_cuda_mul(e, 1, address(y), 0, 0, address(x), 0) == SPMV_OK, "x = A y");
}

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

int main(void)
{
    static int32_t ptr[N + 1], col[N];
    static double val[N], x[N], moved[N];
    spmv_device_desc open = {0};
    spmv_device device;
    spmv_desc desc = {0};
    spmv_matrix a;
    spmv_exec exec;
    void *dx, *dy, *graph, *executable, *context;
    size_t count;
    double from;
    int i, wrong = 0;

    must(spmv_device_list(NULL, 0, &count, NULL) == SPMV_OK, "listing devices");
    printf("GPUs by CUDA: %d\n", (int)count);
    if (!count) return 0;
    open.which = "cuda:0"; /* with OpenCL compiled in, a number alone could be one of its devices */
    must(spmv_device_create(&device, &open) == SPMV_OK, "opening the device");
    find_all();

    for (i = 0; i < N; i++) {
        ptr[i] = i;
        col[i] = (i + N - 1) % N;
        val[i] = 1;
        x[i] = i;
    }
    ptr[N] = N;
    desc.matrix = spmv_csr_f64(N, N, ptr, col, val);
    desc.device = &device;
    must(spmv_create(&a, &desc) == SPMV_OK, "storing the matrix");
    must(spmv_exec_create(&exec, a.on_device, NULL) == SPMV_OK, "spmv_exec_create"); /* NULL: in the device's own stream */
    must(spmv_buffer_create(&device, sizeof x, &dx) == SPMV_OK, "a buffer for x");
    must(spmv_buffer_create(&device, sizeof x, &dy) == SPMV_OK, "a buffer for y");
    must(spmv_buffer_write(&device, dx, sizeof x, x) == SPMV_OK, "copying x");

    must(push(device.context) == 0, "cuCtxPushCurrent");
    must(begin_capture(device.queue, 2) == 0, "cuStreamBeginCapture"); /* CU_STREAM_CAPTURE_MODE_RELAXED: others may allocate meanwhile */
    two_products(&exec, dx, dy); /* enqueued nowhere, only noted */
    must(end_capture(device.queue, &graph) == 0, "cuStreamEndCapture");
    must(instantiate(&executable, graph, 0) == 0, "cuGraphInstantiate");

    from = microseconds();
    for (i = 0; i < LAUNCHES; i++) must(launch(executable, device.queue) == 0, "cuGraphLaunch");
    must(spmv_device_finish(&device) == SPMV_OK, "waiting");
    printf("%.2f us a product by graph\n", (microseconds() - from) / (2 * LAUNCHES));
    from = microseconds();
    for (i = 0; i < LAUNCHES; i++) two_products(&exec, dx, dy);
    must(spmv_device_finish(&device) == SPMV_OK, "waiting");
    printf("%.2f us a product by call\n", (microseconds() - from) / (2 * LAUNCHES));

    must(spmv_buffer_read(&device, dx, sizeof moved, moved) == SPMV_OK, "copying x back");
    for (i = 0; i < N; i++) wrong += moved[(i + 4 * LAUNCHES) % N] != x[i];
    printf(wrong ? "%d elements are wrong\n" : "every element is where it should be\n", wrong);

    destroy_executable(executable);
    destroy_graph(graph);
    pop(&context);
    spmv_exec_destroy(&exec);
    spmv_buffer_destroy(&device, dx);
    spmv_buffer_destroy(&device, dy);
    spmv_destroy(&a);
    spmv_device_destroy(&device);
    return wrong != 0;
}
