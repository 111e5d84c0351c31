/* SPDX-License-Identifier: MIT
 * All headers in one unit, and a product if csr is compiled in. list.sh compiles it in many ways; with SPMV_IO, the file readers come
 * from the single header. */
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#ifndef SPMV_IO
#include "spmv_io.h"
#endif

int main(void) {
    static const int32_t ptr[] = {0, 2, 2, 4}, col[] = {0, 2, 1, 2};
    static const float val[] = {1, 2, 3, 4}, x[] = {1, 10, 100};
    float y[3];
    spmv_desc d = {0};
    spmv_matrix a;
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
    return y[0] == 201 && y[1] == 0 && y[2] == 430 ? 0 : 3; /* small integers are exact */
}
