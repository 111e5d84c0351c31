/* SPDX-License-Identifier: MIT
 * With SPMV_MALLOC, SPMV_REALLOC and SPMV_FREE, all memory is freed again, and the object does not call the C library's allocator
 * (list.sh checks its symbols). */
#include <stddef.h>

void *my_malloc(size_t n);
void *my_realloc(void *p, size_t n);
void my_free(void *p);

#ifndef MY_BODY
#define SPMV_MALLOC my_malloc
#define SPMV_REALLOC my_realloc
#define SPMV_FREE my_free
#define SPMV_IMPLEMENTATION
#include "spmv.h"

extern long my_blocks, my_calls;

int main(void) {
    static const int32_t ptr[] = {0, 2, 2, 4}, col[] = {0, 2, 1, 2};
    static const double val[] = {1, 2, 3, 4}, x[] = {1, 10, 100};
    double y[3];
    spmv_desc d = {0};
    spmv_matrix a;
    d.matrix.rows = d.matrix.cols = 3;
    d.matrix.ptr = ptr;
    d.matrix.col = col;
    d.matrix.val = val;
    if (spmv_create(&a, &d) != SPMV_OK) return 1;
    if (spmv_mul(&a, 1, x, 0, y) != SPMV_OK) return 2;
    spmv_destroy(&a);
    return my_blocks == 0 && my_calls > 0 && y[2] > 429 && y[2] < 431 ? 0 : 3;
}
#else
#include <stdlib.h>

extern long my_blocks, my_calls;
long my_blocks, my_calls;

void *my_malloc(size_t n) {
    my_calls++;
    my_blocks++;
    return malloc(n ? n : 1);
}
void *my_realloc(void *p, size_t n) {
    my_calls++;
    if (!p) my_blocks++;
    return realloc(p, n ? n : 1);
}
void my_free(void *p) {
    if (p) my_blocks--;
    free(p);
}
#endif
