// SPDX-License-Identifier: MIT
// The same as c99.c in C++11 and later: the implementation compiles, and the interface can be used.
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#ifndef SPMV_IO
#include "spmv_io.h"
#endif
#ifndef SPMV_GROUP
#include "spmv_group.h"
#endif

#include <vector>

// Zero means default in every public struct; {} and {0} both compile. For {0}, compilers warn about the members that are not named.
#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#endif
#ifdef __clang__
#pragma clang diagnostic ignored "-Wmissing-braces"
#endif
template <class T> int zeroes(const T &a, const T &b) { return &a != &b; }
#define ZERO(type) { type a = {0}, b = {}; zeroed += zeroes(a, b); wanted++; }

static int all_zeroes() {
    int zeroed = 0, wanted = 0;
    ZERO(spmv_hooks) ZERO(spmv_spec) ZERO(spmv_input) ZERO(spmv_csr) ZERO(spmv_array) ZERO(spmv_part) ZERO(spmv_view) ZERO(spmv_build)
    ZERO(spmv_block_features) ZERO(spmv_features)
    ZERO(spmv_plan) ZERO(spmv_build_hints) ZERO(spmv_split) ZERO(spmv_store) ZERO(spmv_desc) ZERO(spmv_matrix)
#ifndef SPMV_NO_AUTO
    ZERO(spmv_estimate) ZERO(spmv_tuning) ZERO(spmv_option) ZERO(spmv_choice) ZERO(spmv_target)
#endif
#ifndef SPMV_NO_DEVICES
    ZERO(spmv_device_info) ZERO(spmv_device_desc) ZERO(spmv_device) ZERO(spmv_variant) ZERO(spmv_device_part) ZERO(spmv_device_matrix)
    ZERO(spmv_exec)
#endif
    ZERO(spmv_group) ZERO(spmv_group_desc) ZERO(spmv_group_vector) ZERO(spmv_group_part) ZERO(spmv_group_block) ZERO(spmv_group_message)
    ZERO(spmv_source) ZERO(spmv_sink) ZERO(spmv_memory) ZERO(spmv_mm_options) ZERO(spmv_mm_info)
    return zeroed == wanted;
}

int main() {
    if (!all_zeroes()) return 4;
    const std::vector<int> ptr = {0, 2, 2, 4}, col = {0, 2, 1, 2};
    const std::vector<double> val = {1, 2, 3, 4}, x = {1, 10, 100};
    std::vector<double> y(3);
    spmv_desc d = {};
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
