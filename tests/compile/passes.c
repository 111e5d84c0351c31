/* SPDX-License-Identifier: MIT
 * Interface, then implementation, then both once more: one definition of each function. */
#include "spmv.h"
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#include "spmv.h"
#undef SPMV_IMPLEMENTATION
#include "spmv.h"

int main(void) { return spmv_format_name(SPMV_CSR)[0] == 'c' ? 0 : 1; }
