/* SPDX-License-Identifier: MIT
 * The library as bench/host_csr.cpp measures it: compiled as C, as users do. */
#define SPMV_NO_OPENCL
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#include "spmv_io.h"
