/* SPDX-License-Identifier: MIT
 *
 * The smallest program: a 4 x 4 matrix times a vector, on the host. It needs neither OpenCL's headers nor a library.
 *
 *     cc -std=c99 -O2 -I. examples/hello.c -o hello
 *
 * Prints: y = 10 0 240 1003
 */
#define SPMV_NO_DEVICES
#define SPMV_IMPLEMENTATION
#include "spmv.h"

#include <stdio.h>

int main(void)
{
    /*     | 0 1 0 0 |
     * A = | 0 0 0 0 |   row by row: where each row begins, then columns and values
     *     | 4 2 2 0 |
     *     | 3 0 0 1 | */
    static const int32_t ptr[] = {0, 1, 1, 4, 6};
    static const int32_t col[] = {1, 0, 1, 2, 0, 3};
    static const double  val[] = {1, 4, 2, 2, 3, 1};
    static const double  x[] = {1, 10, 108, 1000};
    static const double  expected[] = {10, 0, 240, 1003};
    double y[4];
    int i, wrong = 0;

    spmv_desc desc = {0}; /* zero means the default: CSR with 32-bit indices from 0, doubles, on the host */
    desc.matrix.rows = desc.matrix.cols = 4;
    desc.matrix.ptr = ptr;
    desc.matrix.col = col;
    desc.matrix.val = val;

    spmv_matrix a;
    if (spmv_create(&a, &desc) != SPMV_OK) return 1; /* the reason is on stderr */
    if (spmv_mul(&a, 1.0, x, 0.0, y) != SPMV_OK) return 1;
    spmv_destroy(&a);

    printf("y =");
    for (i = 0; i < 4; i++) {
        printf(" %g", y[i]);
        wrong |= y[i] != expected[i];
    }
    printf("\n");
    return wrong;
}
