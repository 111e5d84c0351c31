/* SPDX-License-Identifier: MIT
 * One of two units that are linked together: its functions are static, and ell and bdia are left out. */
#define SPMV_STATIC
#define SPMV_ONLY ~(SPMV_BIT_ELL | SPMV_BIT_BDIA)
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#include "two.h"

TWO(two_a)

int main(void) {
    int i;
    for (i = 0; two_a(i) != (size_t)-1; i++)
        if (two_a(i) != two_b(i)) return 1;
    if (two_b(i) != (size_t)-1 || spmv_format_built(SPMV_ELL) || spmv_format_built(SPMV_BDIA)) return 2;
    if (!spmv_format_built(SPMV_CSR) || !spmv_format_built(SPMV_CMRS)) return 3;
    return 0;
}
