/* SPDX-License-Identifier: MIT
 * bench/csrb.c - converts Matrix Market, or this project's binary form (.bin), to the plain binary CSR that the peers' benchmark
 * programs read: "CSRB", int64 rows, columns, nonzeros, int64 pointers[rows + 1], int32 columns[nonzeros], double values[nonzeros].
 * cc -std=c99 -O2 -I. bench/csrb.c -o build/csrb && build/csrb in.mtx out.csrb */
#define SPMV_IMPLEMENTATION
#include "spmv_io.h"
#include <stdio.h>
#include <string.h>

/* Writes the matrix; 0 and a message if that fails. */
static int write_csrb(const spmv_csr *a, const char *path)
{
    int64_t shape[3];
    FILE *f = fopen(path, "wb");
    int ok = f != NULL;
    shape[0] = (int64_t)a->rows;
    shape[1] = (int64_t)a->cols;
    shape[2] = (int64_t)a->nnz;
    ok = ok && fwrite("CSRB", 1, 4, f) == 4 && fwrite(shape, 8, 3, f) == 3;
    ok = ok && fwrite(a->ptr, 8, (size_t)a->rows + 1, f) == a->rows + 1;
    ok = ok && fwrite(a->col, 4, (size_t)a->nnz, f) == a->nnz && fwrite(a->val, 8, (size_t)a->nnz, f) == a->nnz;
    if (f && fclose(f)) ok = 0;
    if (!ok) fprintf(stderr, "csrb: %s could not be written\n", path);
    return ok;
}

int main(int argc, char **argv)
{
    spmv_csr a;
    int ok = 0;
    if (argc != 3) {
        fprintf(stderr, "usage: csrb IN.mtx OUT.csrb\n");
        return 2;
    }
    if (strstr(argv[1], ".bin") ? spmv_bin_read_file(&a, argv[1], 0, NULL) : spmv_mm_read_file(&a, argv[1], NULL, NULL, NULL)) return 1;
    if (a.rows > 0x7fffffff || a.cols > 0x7fffffff || a.nnz > 0x7fffffff)
        fprintf(stderr, "csrb: the matrix is too large for the 32-bit indices of the peers\n");
    else ok = write_csrb(&a, argv[2]);
    spmv_csr_destroy(&a);
    return ok ? 0 : 1;
}
