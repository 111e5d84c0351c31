/* SPDX-License-Identifier: MIT
 * All headers in one unit, and two products if csr is compiled in. list.sh compiles it in many ways; with SPMV_IO and SPMV_GROUP, what
 * they stand for comes from the single header. */
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#ifndef SPMV_IO
#include "spmv_io.h"
#endif
#ifndef SPMV_GROUP
#include "spmv_group.h"
#endif

int main(void) {
    static const int32_t ptr[] = {0, 2, 2, 4}, col[] = {0, 2, 1, 2};
    static const float val[] = {1, 2, 3, 4}, x[] = {1, 10, 100};
    float y[3];
    static spmv_device *const on[] = {NULL, NULL};
    spmv_desc d = {0};
    spmv_matrix a;
    spmv_group_desc gd = {0};
    spmv_group g;
#ifndef SPMV_NO_AUTO
    if (sizeof(long) == 8 && spmv__seconds() < 0) return 7; /* the clock that strict C99 hides */
#endif
    if (!spmv_format_built(SPMV_CSR)) return spmv_format_built(SPMV_FORMAT_COUNT);
    d.matrix.rows = d.matrix.cols = 3;
    d.matrix.ptr = ptr;
    d.matrix.col = col;
    d.matrix.val = val;
    d.matrix.val_type = SPMV_F32;
    d.type = SPMV_F32;
    if (spmv_create(&a, &d) != SPMV_OK) return 1;
    if (spmv_mul(&a, 1, x, 0, y) != SPMV_OK) return 2;
    spmv_destroy(&a);
    if (y[0] != 201 || y[1] != 0 || y[2] != 430) return 4;
    gd.desc = d;
    gd.device = on;
    gd.count = 2;
    if (spmv_group_create(&g, &gd) != SPMV_OK) return 5;
    if (spmv_group_mul(&g, 1, x, 0, y) != SPMV_OK) return 6;
    spmv_group_destroy(&g);
    return y[0] == 201 && y[1] == 0 && y[2] == 430 ? 0 : 3; /* small integers are exact */
}
