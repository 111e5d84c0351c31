/* SPDX-License-Identifier: MIT */
#include "labels.h"

#include "spmv.h"
#include <stdio.h>
#include <string.h>

const char *label_grouped(uint64_t v, char out[32])
{
    char plain[32];
    int n = snprintf(plain, sizeof plain, "%llu", (unsigned long long)v), i, k = 0;
    for (i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0) out[k++] = ',';
        out[k++] = plain[i];
    }
    out[k] = 0;
    return out;
}

const char *label_shortened(uint64_t v, char out[32])
{
    if (v >= 1000000 && v % 1000000 == 0) snprintf(out, 32, "%lluM", (unsigned long long)(v / 1000000));
    else if (v >= 1000000 && v % 100000 == 0)
        snprintf(out, 32, "%llu.%lluM", (unsigned long long)(v / 1000000), (unsigned long long)(v / 100000 % 10));
    else if (v >= 1000 && v % 1000 == 0) snprintf(out, 32, "%lluk", (unsigned long long)(v / 1000));
    else if (v >= 1000 && v % 100 == 0) snprintf(out, 32, "%llu.%lluk", (unsigned long long)(v / 1000), (unsigned long long)(v / 100 % 10));
    else snprintf(out, 32, "%llu", (unsigned long long)v);
    return out;
}

uint64_t label_step(uint64_t length, uint64_t most)
{
    uint64_t step = 1;
    int i;
    for (i = 0; length / step > most; i++) step = i % 3 == 1 ? step / 2 * 5 : step * 2;
    return step;
}

const char *label_nonzeros(uint64_t nnz, char *out, size_t size)
{
    char number[32];
    snprintf(out, size, "%s nonzero%s", label_grouped(nnz, number), nnz == 1 ? "" : "s");
    return out;
}

const char *label_shape(const spmv_csr *a, char *out, size_t size)
{
    char rows[32], cols[32], nnz[64];
    snprintf(out, size, "%s \xc3\x97 %s, %s", label_grouped(a->rows, rows), label_grouped(a->cols, cols),
             label_nonzeros(a->nnz, nnz, sizeof nnz));
    return out;
}
