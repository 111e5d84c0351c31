/* SPDX-License-Identifier: MIT
 *
 * A format that the library does not have, from its description to a timed product: ELLPACK-R, described in ellr.fmt, from which spmvgen
 * wrote ellr.h. README.md tells the steps. The argument selects a device as in examples/opencl.c; with "host", or if there is no device, it
 * runs on the host and does not time products.
 *
 *     cc -std=c99 -O2 -DSPMV_NO_SIMD -I. examples/own_format/own_format.c -o own_format
 *
 * Prints: plan ellr: every row is right
 * Prints: plan ellr:w=4+csr: every row is right
 */
#define SPMV_FORMATS_EXTRA "examples/own_format/ellr.h"
#define SPMV_IMPLEMENTATION
#include "spmv.h"

#include <stdio.h>
#include <string.h>

enum { N = 20000, MOST = 8, PRODUCTS = 11 };

static int32_t ptr[N + 1], col[N * MOST];
static float val[N * MOST], x[N], y[N];

/* Rows of 1 to 8 entries; small integers, so that results must be exact. */
static void make_matrix(void)
{
    int i, k;
    for (i = 0; i < N; i++) {
        ptr[i + 1] = ptr[i];
        for (k = 0; k <= i * 7 % MOST; k++) {
            col[ptr[i + 1]] = (int32_t)((i + k * 37) % N);
            val[ptr[i + 1]++] = (float)(k - 2);
        }
        x[i] = (float)(i % 16);
    }
}

static int wrong_rows(void)
{
    int i, k, wrong = 0;
    for (i = 0; i < N; i++) {
        float want = 0;
        for (k = ptr[i]; k < ptr[i + 1]; k++) want += val[k] * x[col[k]];
        wrong += y[i] != want;
    }
    return wrong;
}

/* The median time of products on the device, by its own clock; 0 if they failed. */
static double microseconds(const spmv_matrix *a)
{
    double seconds[PRODUCTS], t;
    spmv_exec e;
    int i, k;
    if (spmv_exec_create(&e, a->on_device, NULL)) return 0;
    for (i = 0; i < PRODUCTS; i++) {
        t = 0;
        if (spmv_exec_timing(&e, 1) || spmv_exec_mul_host(&e, 1, x, 0, y) || spmv_exec_seconds(&e, &t)) break;
        for (k = i; k > 0 && seconds[k - 1] > t; k--) seconds[k] = seconds[k - 1]; /* keeps them sorted */
        seconds[k] = t;
    }
    spmv_exec_destroy(&e);
    return i == PRODUCTS ? 1e6 * seconds[PRODUCTS / 2] : 0;
}

/* Stores the matrix as the plan says, multiplies, checks and times. Returns the number of wrong rows, or -1 after an error. */
static int try_plan(const char *plan, spmv_device *d)
{
    spmv_desc desc = {0};
    spmv_matrix a;
    int wrong;
    desc.matrix = spmv_csr_f32(N, N, ptr, col, val);
    desc.plan = plan;
    desc.device = d;
    if (spmv_create(&a, &desc) != SPMV_OK || spmv_mul_f32(&a, 1, x, 0, y) != SPMV_OK) return -1;
    wrong = wrong_rows();
    if (wrong) printf("plan %s: %d rows are wrong\n", plan, wrong);
    else printf("plan %s: every row is right\n", plan);
    if (d) printf("    %.1f us a product\n", microseconds(&a));
    spmv_destroy(&a);
    return wrong;
}

int main(int argc, char **argv)
{
    static const char *const plans[] = { "ellr", "ellr:w=4+csr", "ell", "csr" };
    spmv_device_desc open = {0};
    spmv_device device;
    size_t i;
    int found, bad = 0;
    make_matrix();
    open.which = argc > 1 ? argv[1] : NULL;
    open.profile = 1;
    found = !(open.which && !strcmp(open.which, "host")) && spmv_device_create(&device, &open) == SPMV_OK;
    printf("on %s\n", found ? device.info.name : "the host");
    for (i = 0; i < sizeof plans / sizeof *plans; i++) bad |= try_plan(plans[i], found ? &device : NULL);
    if (found) spmv_device_destroy(&device);
    return bad != 0;
}
