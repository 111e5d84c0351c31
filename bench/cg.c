/* SPDX-License-Identifier: MIT
 * bench/cg.c - the time of a step of conjugate gradients in f64 by CUDA: with what follows the product as the library does it (the steps of
 * examples/cg.c), beside the textbook's steps with the same product and cuBLAS: dot, axpy and scal on vectors, and kernels of one item
 * for the quotients, so that no number goes through the host. Each once by calls and once as a graph of two steps that is launched again
 * and again. "host" is cuBLAS by calls with sums on the host, as many programs have it.
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -O2 -DSPMV_NO_OPENCL -I. bench/cg.c -o build/cg -ldl
 *   build/cg [PLAN]
 *
 * Prints, for the 7-point Laplacian of 128 x 128 x 128 and the 5-point one of 400 x 250: microseconds a step, and |r|^2 / |b|^2 after
 * STEPS steps.
 */
#define SPMV_IMPLEMENTATION
#include "../spmv.h"
#include "../examples/place.h"
#include "common.h"

#include <dlfcn.h>

enum { STEPS = 100, ROUNDS = 9 };

/* ---- CUDA and cuBLAS ------------------------------------------------------------------------------------------------ */
static int (*push)(void *context);
static int (*begin_capture)(void *stream, int mode);
static int (*end_capture)(void *stream, void **graph);
static int (*instantiate)(void **executable, void *graph, unsigned long long flags);
static int (*launch)(void *executable, void *stream);
static int (*destroy_executable)(void *executable);
static int (*destroy_graph)(void *graph);
static int (*blas_create)(void **blas);
static int (*blas_stream)(void *blas, void *stream);
static int (*blas_mode)(void *blas, int device);
static int (*blas_dot)(void *blas, int n, const void *x, int incx, const void *y, int incy, void *result);
static int (*blas_axpy)(void *blas, int n, const void *alpha, const void *x, int incx, void *y, int incy);
static int (*blas_scal)(void *blas, int n, const void *alpha, void *x, int incx);
static void *blas;

static void *open_any(const char *const *names)
{
    void *library = NULL;
    while (!library && *names) library = dlopen(*names++, RTLD_NOW | RTLD_GLOBAL);
    return library;
}

static void find(void *library, const char *name, void *pointer)
{
    void *f = library ? dlsym(library, name) : NULL;
    must(f != NULL, name);
    memcpy(pointer, &f, sizeof f);
}

static void find_all(void)
{
    static const char *const drivers[] = { "libcuda.so.1", NULL };
    static const char *const libraries[] = { "libcublas.so.13", "libcublas.so.12", "libcublas.so", "/usr/local/cuda/lib64/libcublas.so",
                                             NULL };
    void *driver = open_any(drivers), *library = open_any(libraries);
    find(driver, "cuCtxPushCurrent_v2", &push);
    find(driver, "cuStreamBeginCapture_v2", &begin_capture);
    find(driver, "cuStreamEndCapture", &end_capture);
    find(driver, "cuGraphInstantiateWithFlags", &instantiate);
    find(driver, "cuGraphLaunch", &launch);
    find(driver, "cuGraphExecDestroy", &destroy_executable);
    find(driver, "cuGraphDestroy", &destroy_graph);
    find(library, "cublasCreate_v2", &blas_create);
    find(library, "cublasSetStream_v2", &blas_stream);
    find(library, "cublasSetPointerMode_v2", &blas_mode);
    find(library, "cublasDdot_v2", &blas_dot);
    find(library, "cublasDaxpy_v2", &blas_axpy);
    find(library, "cublasDscal_v2", &blas_scal);
}

/* ---- the problem ---------------------------------------------------------------------------------------------------- */
static int n;
static double *b, bb;
static spmv_matrix a;
static spmv_exec e;

static void make(int nx, int ny, int nz, const char *plan)
{
    const int step[3] = { 1, nx, nx * ny }, side[3] = { nx, ny, nz };
    int32_t *ptr, *col;
    double *val;
    spmv_desc d;
    char text[SPMV_PLAN_TEXT];
    int i, k, at = 0;
    n = nx * ny * nz;
    ptr = (int32_t *)room((uint64_t)n + 1, sizeof *ptr);
    col = (int32_t *)room(7 * (uint64_t)n, sizeof *col);
    val = (double *)room(7 * (uint64_t)n, sizeof *val);
    b = (double *)room((uint64_t)n, sizeof *b);
    for (bb = 0, i = 0; i < n; i++) {
        for (k = 2; k >= 0; k--)
            if (i / step[k] % side[k] > 0) { col[at] = i - step[k]; val[at++] = -1; }
        col[at] = i;
        val[at++] = nz > 1 ? 6 : 4;
        for (k = 0; k < 3; k++)
            if (i / step[k] % side[k] < side[k] - 1) { col[at] = i + step[k]; val[at++] = -1; }
        ptr[i + 1] = at;
        b[i] = 1 + (i * 37 % 11) / 11.0;
        bb += b[i] * b[i];
    }
    memset(&d, 0, sizeof d);
    d.matrix = spmv_csr_f64(n, n, ptr, col, val);
    d.plan = plan;
    d.device = &place;
    must(spmv_create(&a, &d) == SPMV_OK && spmv_exec_create(&e, a.on_device, NULL) == SPMV_OK, "storing the matrix");
    spmv_plan_of(&a, text, sizeof text);
    printf("%d x %d x %d: %s\n", nx, ny, nz, text);
    free(val);
    free(col);
    free(ptr);
}

/* ---- steps ---------------------------------------------------------------------------------------------------------- */
static void *v[VECTORS], *number; /* x, r, p (and A p), q, sums, state; number: of cuBLAS */

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

static void product_only(int k)
{
    (void)k;
    must(spmv_exec_mul(&e, 1, v[1], 0, 0, v[3], 0) == SPMV_OK, "a product");
}

static void ours(int k)
{
    spmv_tail tail;
    memset(&tail, 0, sizeof tail);
    tail.dots = SPMV_DOT_XY | SPMV_DOT_XX;
    tail.sums = v[4];
    multiply(&a, &e, 1, v[1], 0, v[3], &tail);
    run(&advance, (size_t)n, v, k & 1 ? 2 : 0, 0);
}

/* number: 0 rr, 1 pq, 2 alpha, 3 -alpha, 4 beta, 5 the next rr, 6 one */
enum { RR, PQ, ALPHA, MINUS, BETA, NEXT, ONE, NUMBERS };
STEP(slope, a[2] = a[0] / a[1]; a[3] = -a[2];)
STEP(turn, a[4] = a[5] / a[0]; a[0] = a[5];)

static double *at(int i) { return (double *)number + i; } /* an address of the device */

static void cublas(int k)
{
    void *numbers[VECTORS] = { number, number, number, number, number, number };
    int bad = 0;
    (void)k;
    must(spmv_exec_mul(&e, 1, v[2], 0, 0, v[3], 0) == SPMV_OK, "a product");
    bad |= blas_dot(blas, n, v[2], 1, v[3], 1, at(PQ));
    run(&slope, 1, numbers, 0, 0);
    bad |= blas_axpy(blas, n, at(ALPHA), v[2], 1, v[0], 1);
    bad |= blas_axpy(blas, n, at(MINUS), v[3], 1, v[1], 1);
    bad |= blas_dot(blas, n, v[1], 1, v[1], 1, at(NEXT));
    run(&turn, 1, numbers, 0, 0);
    bad |= blas_scal(blas, n, at(BETA), v[2], 1);
    bad |= blas_axpy(blas, n, at(ONE), v[1], 1, v[2], 1);
    must(!bad, "cuBLAS");
}

static double host_rr;
static void cublas_host(int k)
{
    double pq, alpha, minus, next, beta, one = 1;
    int bad = 0;
    (void)k;
    must(spmv_exec_mul(&e, 1, v[2], 0, 0, v[3], 0) == SPMV_OK, "a product");
    bad |= blas_dot(blas, n, v[2], 1, v[3], 1, &pq);
    alpha = host_rr / pq;
    minus = -alpha;
    bad |= blas_axpy(blas, n, &alpha, v[2], 1, v[0], 1);
    bad |= blas_axpy(blas, n, &minus, v[3], 1, v[1], 1);
    bad |= blas_dot(blas, n, v[1], 1, v[1], 1, &next);
    beta = next / host_rr;
    host_rr = next;
    bad |= blas_scal(blas, n, &beta, v[2], 1);
    bad |= blas_axpy(blas, n, &one, v[1], 1, v[2], 1);
    must(!bad, "cuBLAS");
}

/* ---- times ---------------------------------------------------------------------------------------------------------- */

/* x = 0, r = p = b and the numbers of before the first step. own: p is 0 for our steps, and lies beside A p */
static void restart(int own)
{
    double *p = (double *)room(2 * (uint64_t)n, sizeof *p), numbers[NUMBERS] = { 0 }, state[4] = { 0 };
    const uint64_t bytes = (uint64_t)n * sizeof *p;
    int bad = spmv_buffer_write(&place, v[0], bytes, p) != SPMV_OK;
    bad |= spmv_buffer_write(&place, v[1], bytes, b) != SPMV_OK;
    if (!own) memcpy(p, b, (size_t)bytes);
    bad |= spmv_buffer_write(&place, v[2], 2 * bytes, p) != SPMV_OK;
    numbers[RR] = host_rr = bb;
    numbers[ONE] = 1;
    bad |= spmv_buffer_write(&place, number, sizeof numbers, numbers) != SPMV_OK;
    bad |= spmv_buffer_write(&place, v[5], sizeof state, state) != SPMV_OK;
    must(!bad, "restarting");
    free(p);
}

static void two_steps(void (*step)(int), void *executable)
{
    if (executable) must(launch(executable, place.queue) == 0, "cuGraphLaunch");
    else {
        step(0);
        step(1);
    }
}

/* Microseconds of a step, the median of some rounds. */
static double time_of(const char *what, void (*step)(int), int own, int graph)
{
    double us[ROUNDS], begin, left = 0, *r = (double *)room((uint64_t)n, sizeof *r);
    void *recorded = NULL, *executable = NULL;
    int i, k;
    restart(own);
    two_steps(step, NULL); /* builds what is not built */
    if (graph) {
        must(begin_capture(place.queue, 2) == 0, "cuStreamBeginCapture");
        two_steps(step, NULL);
        must(end_capture(place.queue, &recorded) == 0, "cuStreamEndCapture");
        must(instantiate(&executable, recorded, 0) == 0, "cuGraphInstantiate");
    }
    for (i = 0; i < ROUNDS; i++) {
        restart(own);
        must(spmv_device_finish(&place) == SPMV_OK, "waiting");
        begin = now();
        for (k = 0; k < STEPS; k += 2) two_steps(step, executable);
        must(spmv_device_finish(&place) == SPMV_OK, "waiting");
        us[i] = 1e6 * (now() - begin) / STEPS;
    }
    vector_read(v[1], (size_t)n, r);
    for (i = 0; i < n; i++) left += r[i] * r[i];
    printf("  %-8s %-6s %8.2f us   %.6e\n", what, graph ? "graph" : "calls", median(us, ROUNDS), left / bb);
    if (executable) destroy_executable(executable);
    if (recorded) destroy_graph(recorded);
    free(r);
    return us[ROUNDS / 2];
}

static void measure(int nx, int ny, int nz, const char *plan)
{
    const size_t size[VECTORS] = { 1, 1, 2, 1, 0, 0 };
    double own, other;
    int i, graph;
    make(nx, ny, nz, plan);
    for (i = 0; i < VECTORS; i++) v[i] = vector(size[i] * (size_t)n + (i > 3 ? 8 : 0), NULL);
    number = vector(NUMBERS, NULL);
    for (graph = 0; graph < 2; graph++) {
        time_of("product", product_only, 1, graph);
        must(blas_mode(blas, 1) == 0, "cublasSetPointerMode");
        other = time_of("cublas", cublas, 0, graph);
        own = time_of("tail", ours, 1, graph);
        printf("  cublas / tail, %s: %.2f\n", graph ? "graph" : "calls", other / own);
    }
    must(blas_mode(blas, 0) == 0, "cublasSetPointerMode");
    time_of("host", cublas_host, 0, 0);
    for (i = 0; i < VECTORS; i++) vector_free(v[i]);
    vector_free(number);
    step_free(&advance);
    step_free(&slope);
    step_free(&turn);
    spmv_exec_destroy(&e);
    spmv_destroy(&a);
    free(b);
}

int main(int argc, char **argv)
{
    const char *plan = argc > 1 ? argv[1] : NULL;
    place_open("cuda:0");
    find_all();
    must(push(place.context) == 0, "cuCtxPushCurrent");
    must(blas_create(&blas) == 0 && blas_stream(blas, place.queue) == 0, "cuBLAS");
    measure(128, 128, 128, plan);
    measure(400, 250, 1, plan);
    return 0;
}
