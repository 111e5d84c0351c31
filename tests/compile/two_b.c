/* SPDX-License-Identifier: MIT
 * The other unit: its functions are public, and it has csr and sell only. */
#define SPMV_ONLY SPMV_BIT_CSR + SPMV_BIT_SELL
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#include "two.h"

TWO(two_b)
