/* SPDX-License-Identifier: MIT
 *
 * For cg.c and pdhg.c: vectors of doubles, and loops over their elements, where a matrix is: on the host, or on a device by OpenCL or CUDA.
 *
 * STEP(name, code) makes a loop out of the code for element i: it is C and OpenCL C at once. It may use the numbers s and t, and, by
 * what it calls them, six vectors: "VECTOR x = a; x[i] += s;". run() calls it for i = 0 .. n - 1. */
#ifndef PLACE_H
#define PLACE_H

#include "spmv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 128, VECTORS = 6 };

typedef double *VECTOR;

typedef struct element_loop {
    void (*loop)(size_t n, VECTOR a, VECTOR b, VECTOR c, VECTOR d, VECTOR e, VECTOR f, double s, double t);
    const char *text;
    void *program, *kernel;
} element_loop;

#define STEP(name, ...)                                                                                                          \
    static void name##_loop(size_t n, VECTOR a, VECTOR b, VECTOR c, VECTOR d, VECTOR e, VECTOR f, double s, double t)             \
    {                                                                                                                            \
        size_t i;                                                                                                                \
        (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)s, (void)t;                                                  \
        for (i = 0; i < n; i++) { __VA_ARGS__ }                                                                                  \
    }                                                                                                                            \
    static element_loop name = { name##_loop,                                                                                            \
                         "typedef __global double *VECTOR;\n"                                                                    \
                         "__kernel void each(ulong n, VECTOR a, VECTOR b, VECTOR c, VECTOR d, VECTOR e, VECTOR f, double s, double t)\n" \
                         "{ ulong i = get_global_id(0); if (i < n) { " #__VA_ARGS__ " } }\n", NULL, NULL };

static spmv_device place; /* where all is */
static int on_device;     /* 0: on the host */

static void must(int good, const char *what)
{
    if (good) return;
    printf("%s failed\n", what);
    exit(1);
}

/* which: "host", or as in spmv_device_desc: "cuda:", "opencl:gpu"; NULL: the default device. */
static void place_open(const char *which)
{
    spmv_device_desc open;
    memset(&open, 0, sizeof open);
    on_device = !which || strcmp(which, "host") != 0;
    open.which = which;
    if (on_device) must(spmv_device_create(&place, &open) == SPMV_OK, "opening a device");
    printf("on %s\n", on_device ? place.info.name : "the host");
}

static void *vector(size_t n, const double *from) /* NULL: zeros */
{
    double *zeros = (double *)calloc(n, sizeof *zeros);
    void *v = zeros;
    must(zeros != NULL, "calloc");
    if (from) memcpy(zeros, from, n * sizeof *from);
    if (!on_device) return v;
    must(spmv_buffer_create(&place, n * sizeof *from, &v) == SPMV_OK, "a buffer");
    must(spmv_buffer_write(&place, v, n * sizeof *from, zeros) == SPMV_OK, "copying a vector");
    free(zeros);
    return v;
}

static void vector_read(void *v, size_t n, double *to)
{
    if (on_device) must(spmv_buffer_read(&place, v, n * sizeof *to, to) == SPMV_OK, "reading a vector");
    else memcpy(to, v, n * sizeof *to);
}

static void vector_free(void *v)
{
    if (on_device) spmv_buffer_destroy(&place, v);
    else free(v);
}

/* Compiles the step for the device. */
static void step_build(element_loop *step)
{
    spmv_kernel_source source;
    memset(&source, 0, sizeof source);
    source.file = "step.cl";
    source.options = "";
    source.count = 1;
    source.text[0] = step->text;
    source.size[0] = strlen(step->text);
    must(place.info.backend->build(&place, &source, &step->program) == SPMV_OK, "compiling a step");
    must(place.info.backend->kernel(&place, step->program, "each", &step->kernel) == SPMV_OK, "making a kernel");
}

/* v: six vectors, the last of which may be NULL. */
static void run(element_loop *step, size_t n, void *const *v, double s, double t)
{
    const spmv_backend *back = place.info.backend;
    const uint64_t elements = n;
    spmv_order order;
    int i, bad;
    if (!on_device) {
        step->loop(n, (VECTOR)v[0], (VECTOR)v[1], (VECTOR)v[2], (VECTOR)v[3], (VECTOR)v[4], (VECTOR)v[5], s, t);
        return;
    }
    if (!step->kernel) step_build(step);
    memset(&order, 0, sizeof order);
    bad = back->argument(&place, step->kernel, 0, &elements, sizeof elements) != SPMV_OK;
    for (i = 0; i < VECTORS; i++) bad |= back->argument(&place, step->kernel, 1 + (unsigned)i, v[i] ? &v[i] : &v[0], sizeof *v) != SPMV_OK;
    bad |= back->argument(&place, step->kernel, 1 + VECTORS, &s, sizeof s) != SPMV_OK;
    bad |= back->argument(&place, step->kernel, 2 + VECTORS, &t, sizeof t) != SPMV_OK;
    bad |= back->launch(&place, place.queue, step->kernel, (n + GROUP - 1) / GROUP, GROUP, &order, NULL) != SPMV_OK;
    must(!bad, "a step");
}

static void step_free(element_loop *step)
{
    if (step->kernel) place.info.backend->kernel_free(&place, step->kernel);
    if (step->program) place.info.backend->program_free(&place, step->program);
    step->kernel = step->program = NULL;
}

/* y = alpha A x + beta y and the tail. exec: of a, NULL on the host */
static void multiply(const spmv_matrix *a, spmv_exec *exec, double alpha, void *x, double beta, void *y, const spmv_tail *tail)
{
    if (!on_device) must(spmv_mul_tail(a, alpha, x, beta, y, tail) == SPMV_OK, "a product");
    else must(spmv_exec_mul_tail(exec, alpha, x, 0, beta, y, 0, tail) == SPMV_OK, "a product");
}
#endif
