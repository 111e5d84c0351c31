/* SPDX-License-Identifier: MIT
 * The packer of jad.fmt, written by hand: to be included behind spmv.h where SPMV_IMPLEMENTATION is defined. The header that spmvgen
 * writes, with --target library --set pack=extern, declares jad_pack and says what it must do. */

/* Counts the rows of each length and sets first[n] to the number of rows that are longer than n, for n = 0 .. longest. */
static void jad_count(const int64_t *ptr, int64_t rows, int64_t longest, int64_t *first)
{
    int64_t r, n;
    for (r = 0; r < rows; r++)
        if (ptr[r + 1] > ptr[r]) first[ptr[r + 1] - ptr[r] - 1]++;
    for (n = longest - 1; n > 0; n--) first[n - 1] += first[n];
}

/* Stores the CSR matrix. Rows of one length stay in their order, so that neighbours in the matrix stay neighbours. */
int jad_pack(jad_matrix *m, int64_t rows, int64_t cols, const int64_t *ptr, const int64_t *col, const double *val, int64_t most)
{
    const int64_t nnz = ptr[rows] - ptr[0];
    int64_t r, n, longest = 0, *first;
    double *vals;
    uint32_t *columns, *start, *length, *perm;
    int failed = 0;
    if (nnz > UINT32_MAX || rows > UINT32_MAX || cols > UINT32_MAX) return -2;
    if (nnz > most || rows > most) return -1;
    for (r = 0; r < rows; r++)
        if (ptr[r + 1] - ptr[r] > longest) longest = ptr[r + 1] - ptr[r];
    first = (int64_t *)jad_new(&failed, longest + 1, sizeof *first);
    m->num_rows = rows;
    m->num_cols = cols;
    m->diagonals = longest;
    m->val.data = vals = (double *)jad_new(&failed, m->val.count = nnz, sizeof *vals);
    m->col.data = columns = (uint32_t *)jad_new(&failed, m->col.count = nnz, sizeof *columns);
    m->start.data = start = (uint32_t *)jad_new(&failed, m->start.count = longest + 1, sizeof *start);
    m->length.data = length = (uint32_t *)jad_new(&failed, m->length.count = rows, sizeof *length);
    m->perm.data = perm = (uint32_t *)jad_new(&failed, m->perm.count = rows, sizeof *perm);
    if (failed) {
        free(first);
        jad_free(m);
        return -1;
    }
    jad_count(ptr, rows, longest, first);
    for (n = 0; n < longest; n++) start[n + 1] = start[n] + (uint32_t)first[n]; /* a diagonal has an entry of each longer row */
    for (r = 0; r < rows; r++) { /* the place of row r: behind all longer rows, and those of its length before it */
        const int64_t place = first[ptr[r + 1] - ptr[r]]++;
        perm[place] = (uint32_t)r;
        length[place] = (uint32_t)(ptr[r + 1] - ptr[r]);
        for (n = 0; n < ptr[r + 1] - ptr[r]; n++) {
            columns[start[n] + place] = (uint32_t)col[ptr[r] + n];
            vals[start[n] + place] = val[ptr[r] + n];
        }
    }
    free(first);
    return 0;
}
