// SPDX-License-Identifier: MIT
// The same as C++11: the implementation compiles, and the interface can be used.
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#ifndef SPMV_IO
#include "spmv_io.h"
#endif

#include <vector>

int main() {
    const std::vector<int> ptr = {0, 2, 2, 4}, col = {0, 2, 1, 2};
    const std::vector<double> val = {1, 2, 3, 4}, x = {1, 10, 100};
    std::vector<double> y(3);
    spmv_desc d = spmv_desc();
    d.matrix.rows = d.matrix.cols = 3;
    d.matrix.ptr = ptr.data();
    d.matrix.col = col.data();
    d.matrix.val = val.data();
    spmv_matrix a;
    if (spmv_create(&a, &d) != SPMV_OK) return 1;
    if (spmv_mul(&a, 1, x.data(), 0, y.data()) != SPMV_OK) return 2;
    spmv_destroy(&a);
    return y[0] == 201 && y[1] == 0 && y[2] == 430 ? 0 : 3;
}
