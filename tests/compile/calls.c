/* SPDX-License-Identifier: MIT
 * How many functions of the library a matrix goes through. list.sh compiles it with -finstrument-functions and without optimisation: it
 * counts the calls of create and mul, and the distinct functions among them, for a tiny matrix on the host with the default plan and, if
 * there is an OpenCL device, for a larger one as csr there. Fails if there are more than the limits. With an argument it also prints the
 * address of each function and how often it was called; nm has the names if it is linked with -no-pie. */
#define SPMV_IMPLEMENTATION
#include "spmv.h"

#include <stdio.h>

enum { TINY_CREATE = 71, TINY_MUL = 19, DEVICE_CREATE = 242 }; /* limits: distinct functions, */
enum { TINY_CREATE_CALLS = 181, TINY_MUL_CALLS = 37, DEVICE_MUL_CALLS = 20 }; /* and calls */
enum { ANY = 1 << 30, MOST = 4096, TINY = 3, ROWS = 20000, EACH = 3 };

static struct {
    void    *function;
    unsigned calls;
} seen[MOST];
static unsigned distinct, calls, counting, names;

#define APART __attribute__((no_instrument_function))

void __cyg_profile_func_enter(void *function, void *from) APART;
void __cyg_profile_func_exit(void *function, void *from) APART;
static void begin(void) APART;
static int end(const char *what, unsigned most_distinct, unsigned most_calls) APART;
static int tiny(void) APART;
static int on_device(void) APART;
int main(int argc, char **argv) APART;

void __cyg_profile_func_enter(void *function, void *from)
{
    unsigned i = 0;
    (void)from;
    if (!counting) return;
    calls++;
    while (i < distinct && seen[i].function != function) i++;
    if (i == MOST) return;
    if (i == distinct) seen[distinct++].function = function, seen[i].calls = 0;
    seen[i].calls++;
}

void __cyg_profile_func_exit(void *function, void *from)
{
    (void)function;
    (void)from;
}

static void begin(void)
{
    distinct = calls = 0;
    counting = 1;
}

/* 1: there were more. */
static int end(const char *what, unsigned most_distinct, unsigned most_calls)
{
    unsigned i;
    counting = 0;
    printf("%-26s %6u calls, %3u functions", what, calls, distinct);
    if (most_calls < ANY) printf("; at most %u calls", most_calls);
    if (most_distinct < ANY) printf("; at most %u functions", most_distinct);
    printf("\n");
    for (i = 0; i < distinct && names; i++) printf("  %p %u\n", seen[i].function, seen[i].calls);
    return calls > most_calls || distinct > most_distinct;
}

static int tiny(void)
{
    static const int32_t ptr[] = {0, 2, 3, 5}, col[] = {0, 1, 1, 0, 2};
    static const double val[] = {1, 2, 3, 4, 5}, x[] = {1, 10, 100};
    double y[TINY];
    spmv_desc d = {0};
    spmv_matrix m;
    int bad;
    d.matrix.rows = d.matrix.cols = TINY;
    d.matrix.ptr = ptr;
    d.matrix.col = col;
    d.matrix.val = val;
    begin();
    if (spmv_create(&m, &d)) return 1;
    bad = end("create, 3 x 3, host", TINY_CREATE, TINY_CREATE_CALLS);
    begin();
    if (spmv_mul(&m, 1, x, 0, y)) return 1;
    bad |= end("mul, 3 x 3, host", TINY_MUL, TINY_MUL_CALLS);
    spmv_destroy(&m);
    return bad || y[0] != 21 || y[1] != 30 || y[2] != 504;
}

#ifndef SPMV_NO_OPENCL
/* Products with a banded matrix on the first device of OpenCL, if there is any. */
static int on_device(void)
{
    static int32_t ptr[ROWS + 1], col[ROWS * EACH];
    static double val[ROWS * EACH];
    spmv_device device;
    spmv_device_desc which = {0};
    spmv_desc d = {0};
    spmv_matrix m;
    void *x, *y;
    int i, bad;
    for (i = 0; i < ROWS * EACH; i++) col[i] = (i / EACH < ROWS - EACH ? i / EACH : ROWS - EACH) + i % EACH;
    for (i = 0; i < ROWS * EACH; i++) val[i] = 1;
    for (i = 0; i <= ROWS; i++) ptr[i] = EACH * i;
    which.which = "opencl:";
    if (spmv_device_create(&device, &which)) return 0;
    d.matrix.rows = d.matrix.cols = ROWS;
    d.matrix.ptr = ptr;
    d.matrix.col = col;
    d.matrix.val = val;
    d.plan = "csr";
    d.device = &device;
    begin();
    if (spmv_create(&m, &d)) return 1;
    bad = end("create, csr, OpenCL", DEVICE_CREATE, ANY);
    if (spmv_buffer_create(&device, ROWS * sizeof(double), &x) || spmv_buffer_create(&device, ROWS * sizeof(double), &y)) return 1;
    for (i = 0; i < 2; i++) {
        begin();
        if (spmv_exec_mul(m.exec, 1, x, 0, 0, y, 0)) return 1;
        bad |= i ? end("mul by the same x, OpenCL", ANY, DEVICE_MUL_CALLS) : end("the first mul, OpenCL", ANY, ANY);
    }
    spmv_buffer_destroy(&device, x);
    spmv_buffer_destroy(&device, y);
    spmv_destroy(&m);
    spmv_device_destroy(&device);
    return bad;
}
#else
static int on_device(void) { return 0; }
#endif

int main(int argc, char **argv)
{
    int bad;
    (void)argv;
    names = argc > 1;
    bad = tiny();
    return on_device() | bad;
}
