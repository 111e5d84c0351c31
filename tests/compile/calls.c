/* SPDX-License-Identifier: MIT
 * How many functions of the library a matrix goes through. Compiled by list.sh with -finstrument-functions and without optimisation, it
 * counts the calls of create and mul, and the distinct functions among them, for a tiny matrix on the host by the default plan and, with
 * OpenCL, for a larger one as csr on a device. Fails if there are more than the limits below. With any argument it prints the address and
 * the number of calls of each function as well, for "nm". */
#define SPMV_IMPLEMENTATION
#include "spmv.h"

#include <stdio.h>

enum { /* limits: distinct functions, or calls */
    TINY_CREATE = 45, TINY_CALLS = 60, TINY_MUL = 35, /* */
    DEVICE_MUL = 20
};
enum { MOST = 4096, TINY = 3, ROWS = 20000, EACH = 3 };

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
    printf("%-32s %4u calls, %3u functions (limits: %u, %u)\n", what, calls, distinct, most_calls, most_distinct);
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
    bad = end("create, 3 x 3, host", TINY_CREATE, TINY_CALLS);
    begin();
    if (spmv_mul(&m, 1, x, 0, y)) return 1;
    bad |= end("mul, 3 x 3, host", TINY_MUL, TINY_MUL);
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
    int i, bad = 0;
    for (i = 0; i < ROWS * EACH; i++) col[i] = (i / EACH < ROWS - EACH ? i / EACH : ROWS - EACH) + i % EACH;
    for (i = 0; i < ROWS * EACH; i++) val[i] = 1;
    for (i = 0; i <= ROWS; i++) ptr[i] = EACH * i;
    which.which = "opencl:";
    if (spmv_device_open(&device, &which)) return 0;
    d.matrix.rows = d.matrix.cols = ROWS;
    d.matrix.ptr = ptr;
    d.matrix.col = col;
    d.matrix.val = val;
    d.plan = "csr";
    d.device = &device;
    begin();
    if (spmv_create(&m, &d)) return 1;
    end("create, csr, OpenCL", 0, 0);
    if (spmv_buffer_create(&device, ROWS * sizeof(double), &x) || spmv_buffer_create(&device, ROWS * sizeof(double), &y)) return 1;
    for (i = 0; i < 2; i++) {
        begin();
        if (spmv_exec_mul_buffers(m.exec, 1, x, 0, 0, y, 0)) return 1;
        if (end(i ? "mul of the same vectors, OpenCL" : "the first mul, OpenCL", DEVICE_MUL, DEVICE_MUL) && i) bad = 1;
    }
    spmv_buffer_free(&device, x);
    spmv_buffer_free(&device, y);
    spmv_destroy(&m);
    spmv_device_close(&device);
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
