/* SPDX-License-Identifier: MIT
 *
 * A matrix on an OpenCL device: lists the devices, stores a matrix in two parts on one of them, and multiplies. The argument selects
 * the device by its number, by "gpu" or "cpu", or by part of its name. Without it, the first GPU is taken, else the first device.
 *
 *     cc -std=c99 -O2 -I. examples/opencl.c -o opencl
 *
 * Prints: plan ell:w=3+coo
 * Prints: every row is right
 */
#define SPMV_IMPLEMENTATION
#include "spmv.h"

#include <stdio.h>
#include <stdlib.h>

enum { N = 100000 };

int main(int argc, char **argv)
{
    static int32_t ptr[N + 1], col[4 * N];
    static float val[4 * N], x[N], y[N];
    static char text[SPMV_PLAN_TEXT], shares[256];
    static spmv_device_info list[32];
    spmv_device_desc open = {0};
    spmv_device device;
    spmv_desc desc = {0};
    spmv_matrix a;
    size_t count, d;
    int i, k, n = 0, wrong = 0;

    if (spmv_device_list(list, 32, &count, NULL) != SPMV_OK) return 1;
    for (d = 0; d < count && d < 32; d++)
        printf("%d: %s (%s, %s)\n", (int)d, list[d].name, spmv_device_type_name(list[d].type), list[d].platform);

    open.which = argc > 1 ? argv[1] : NULL;
    if (spmv_device_create(&device, &open) != SPMV_OK) return 1; /* the reason is on stderr */
    printf("on %s\n", device.info.name);

    /* three diagonals and a few entries elsewhere; the values are small integers, so that the result must be exact */
    for (i = 0; i < N; i++) {
        ptr[i] = n;
        if (i > 0) { col[n] = i - 1; val[n++] = -1; }
        col[n] = i; val[n++] = 2;
        if (i < N - 1) { col[n] = i + 1; val[n++] = -1; }
        if (i % 100 == 7) { col[n] = (int)(i * 7919LL % N); val[n++] = 3; }
        x[i] = (float)(i % 16);
    }
    ptr[N] = n;

    /* Every device multiplies floats, not every one doubles. The entries of a row need not be sorted, and duplicates are summed. */
    desc.matrix = spmv_csr_f32(N, N, ptr, col, val);
    desc.plan = "ell:w=3+coo"; /* three entries of each row as ELLPACK, the rest as coordinates */
    desc.device = &device;
    if (spmv_create(&a, &desc) != SPMV_OK) return 1;
    spmv_plan_of(&a, text, sizeof text);
    spmv_shares(&a, shares, sizeof shares);
    printf("plan %s: %s, %.0f bytes a product\n", text, shares, (double)spmv_bytes(&a));

    if (spmv_mul_f32(&a, 1.0, x, 0.0, y) != SPMV_OK) return 1; /* the simple call: it copies x to the device and y back */

    for (i = 0; i < N; i++) {
        float want = 0;
        for (k = ptr[i]; k < ptr[i + 1]; k++) want += val[k] * x[col[k]];
        wrong += y[i] != want;
    }
    if (wrong) printf("%d rows are wrong\n", wrong);
    else printf("every row is right\n");

    spmv_destroy(&a);
    spmv_device_destroy(&device); /* after everything that was made on it */
    return wrong != 0;
}
