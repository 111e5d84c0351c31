/* SPDX-License-Identifier: MIT
 * The interface, then the implementation, then both again: every function is defined only once. */
#include "spmv.h"
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#include "spmv.h"
#undef SPMV_IMPLEMENTATION
#include "spmv.h"

int main(void) { return spmv_format_name(SPMV_CSR)[0] == 'c' ? 0 : 1; }
