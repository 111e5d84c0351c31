/* SPDX-License-Identifier: MIT */
#include "rows.h"

#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/options.h"
#include "picture.h"
#include "spmv.h"
#include <stdio.h>
#include <stdlib.h>

static int compare_lengths(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Writes the pairs of a row length and the number of such rows, by rising length. DONE or FAILED. */
static int lengths_write(const picture *p, const spmv_csr *a)
{
    uint32_t *sorted = (uint32_t *)malloc((size_t)a->rows * sizeof *sorted);
    uint64_t r, first;
    if (!sorted) return cli_no_memory(p->t);
    for (r = 0; r < a->rows; r++) sorted[r] = (uint32_t)(a->ptr[r + 1] - a->ptr[r]);
    qsort(sorted, (size_t)a->rows, sizeof *sorted, compare_lengths);
    fprintf(p->data, "{\"rows\": %llu, \"cols\": %llu, \"nnz\": %llu, \"lengths\": [", (unsigned long long)a->rows,
            (unsigned long long)a->cols, (unsigned long long)a->nnz);
    for (first = 0; first < a->rows; first = r) {
        for (r = first; r < a->rows && sorted[r] == sorted[first];) r++;
        fprintf(p->data, "%s[%lu, %llu]", first ? "," : "", (unsigned long)sorted[first], (unsigned long long)(r - first));
    }
    fputs("]}\n", p->data);
    free(sorted);
    return DONE;
}

int plot_rows(picture *p, const arguments *args)
{
    const char *words[] = {"rows", NULL, NULL};
    char name[256];
    spmv_csr a;
    int result;
    if (args->plans) return cli_misuse(p->t, "plot rows takes no --plan");
    if (file_load_matrix(p->t, args->file[1], SPMV_F64, &a) != DONE) return FAILED;
    file_bare_name(args->file[1], name, sizeof name);
    words[1] = name;
    if (!a.rows || !a.cols) result = cli_complain(p->t, "%s: a matrix without rows or columns cannot be drawn", args->file[1]);
    else result = picture_open(p);
    if (result == DONE) result = lengths_write(p, &a);
    if (result == DONE) result = picture_draw(p, words);
    spmv_csr_destroy(&a);
    return result;
}
