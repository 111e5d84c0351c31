/* SPDX-License-Identifier: MIT - the smallest program: a 3 x 3 matrix times a vector, on the host
 *     cc -std=c99 -O2 -I. -DSPMV_NO_DEVICES examples/hello.c -o hello
 * Prints: 7 6 7 */
#define SPMV_IMPLEMENTATION /* in exactly one C file */
#include "spmv.h"
#include <stdio.h>
int main(void)
{
    int ptr[] = {0, 2, 3, 5}, col[] = {0, 2, 1, 0, 2};     /* CSR: where each row begins, and the columns */
    double val[] = {4, 1, 3, 1, 2}, x[] = {1, 2, 3}, y[3]; /* of these nonzeros */
    spmv_desc desc = {.matrix = spmv_csr_f64(3, 3, ptr, col, val)};
    spmv_matrix a;
    if (spmv_create(&a, &desc) || spmv_mul_f64(&a, 1, x, 0, y)) return 1; /* the reason is on stderr */
    printf("%g %g %g\n", y[0], y[1], y[2]);
    spmv_destroy(&a);
}
