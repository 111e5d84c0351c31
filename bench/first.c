/* SPDX-License-Identifier: MIT
 * bench/first.c - how long a process waits for its first product on a device: one line of JSON for the matrix FILE (spmv gen NAME -o
 * FILE.bin), by auto. All times are in ms: open is spmv_device_create, create is spmv_create, first the exec and a product with it until
 * it has ended, second another such product; compiled: programs that were compiled from source. bench/first.sh calls it.
 *
 *   first FILE f64|f32 DEVICE [CACHE]      CACHE: spmv_device_desc.cache
 */
#define SPMV_IMPLEMENTATION
#include "../spmv.h"
#include "../spmv_io.h"
#include "common.h"
#include <string.h>

static void multiply(spmv_exec *e, void *x, void *y)
{
    need(spmv_exec_mul(e, 1, x, 0, 0, y, 0) == SPMV_OK, "a product");
    need(spmv_device_finish(e->matrix->device) == SPMV_OK, "a product");
}

int main(int argc, char **argv)
{
    spmv_device_desc on = { 0 };
    spmv_desc desc = { 0 };
    spmv_device device;
    spmv_csr a;
    spmv_matrix m;
    spmv_exec e;
    char plan[SPMV_PLAN_TEXT];
    void *x, *y, *zeros;
    double at[5];
    need(argc == 4 || argc == 5, "first FILE f64|f32 DEVICE [CACHE]: reading that");
    need(spmv_bin_read_file(&a, argv[1], 0, NULL) == SPMV_OK, argv[1]);
    zeros = room(a.rows + a.cols, sizeof(double));
    on.which = argv[3];
    on.cache = argc == 5 ? argv[4] : NULL;
    desc.matrix.rows = (int64_t)a.rows;
    desc.matrix.cols = (int64_t)a.cols;
    desc.matrix.ptr = a.ptr;
    desc.matrix.ptr_bits = 64;
    desc.matrix.col = a.col;
    desc.matrix.val = a.val;
    desc.matrix.val_type = a.type;
    desc.type = strcmp(argv[2], "f32") ? SPMV_F64 : SPMV_F32;
    desc.device = &device;
    at[0] = now();
    need(spmv_device_create(&device, &on) == SPMV_OK, "opening the device");
    at[1] = now();
    need(spmv_create(&m, &desc) == SPMV_OK, "preparing the matrix");
    at[2] = now();
    need(spmv_buffer_create(&device, a.cols * sizeof(double), &x) == SPMV_OK, "x");
    need(spmv_buffer_create(&device, a.rows * sizeof(double), &y) == SPMV_OK, "y");
    need(spmv_buffer_write(&device, x, a.cols * sizeof(double), zeros) == SPMV_OK, "x");
    at[3] = now();
    need(spmv_exec_create(&e, m.on_device, NULL) == SPMV_OK, "an exec");
    multiply(&e, x, y);
    at[4] = now();
    multiply(&e, x, y);
    spmv_plan_of(&m, plan, sizeof plan);
    printf("{\"matrix\": \"%s\", \"type\": \"%s\", \"plan\": \"%s\", \"open\": %.3f, \"create\": %.3f, \"first\": %.3f, \"second\": %.3f, "
           "\"compiled\": %d}\n", argv[1], argv[2], plan, 1e3 * (at[1] - at[0]), 1e3 * (at[2] - at[1]), 1e3 * (at[4] - at[3]),
           1e3 * (now() - at[4]), (int)device.compiled);
    spmv_exec_destroy(&e);
    spmv_buffer_destroy(&device, x);
    spmv_buffer_destroy(&device, y);
    spmv_destroy(&m);
    spmv_device_destroy(&device);
    spmv_csr_destroy(&a);
    free(zeros);
    return 0;
}
