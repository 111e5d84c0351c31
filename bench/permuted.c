/* SPDX-License-Identifier: MIT
 * bench/permuted.c - HYB-R as its paper has it, with y permuted once, beside row lists, for bench/papers.sh. Xu et al. 2012, IV B, sort
 * the rows of the matrix by falling length, so that the rows of each later ELL part are the first ones, and bring y back into order after
 * the product. A plan has row lists instead, by which every part adds to y where it belongs. For each matrix that hybr divides at least
 * twice this prints a line of JSON with the microseconds, of products in a row with vectors that stay on the device, of
 *   sorted     the plan of hybr: every ELL part has a list of its rows by falling length
 *   later      the same, but the first part has all rows in order and needs no list
 *   in order   the same, and the lists of the later parts are in order
 *   permuted   the same widths for the matrix whose rows are sorted: the paper's product before y is brought back
 *   and back   this with y brought back, which is a product with a permutation matrix stored as ell
 *   back       that product alone. A kernel for permutations would move two thirds (f32) or three quarters (f64) of its bytes
 * The results are compared. FILES are binary (spmv gen NAME -o FILE.bin); DEVICE is a name as in spmv_device_desc.which, or "host".
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -O2 -fopenmp -I. bench/permuted.c -o build/permuted -ldl
 *   build/permuted DEVICE f32|f64 FILE...
 */
#define SPMV_IMPLEMENTATION
#include "../spmv.h"
#include "../spmv_io.h"
#include "common.h"
#include "matrix.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 7, LISTS = 3 };
static const double LEAST_SECONDS = 0.02; /* of a round */

/* ---- matrices -------------------------------------------------------------------------------------------------------- */

static spmv_device device, *on; /* on: NULL is the host */

/* Stores at order[i] the row that is number i by falling length; rows of the same length keep their order. */
static void sort_rows(const spmv_csr *a, uint32_t *order)
{
    uint64_t r, k, longest = 0, *first;
    for (r = 0; r < a->rows; r++)
        if (a->ptr[r + 1] - a->ptr[r] > longest) longest = a->ptr[r + 1] - a->ptr[r];
    first = (uint64_t *)room(longest + 1, sizeof *first);
    for (r = 0; r < a->rows; r++) { /* counts the rows that are longer */
        k = a->ptr[r + 1] - a->ptr[r];
        if (k) first[k - 1]++;
    }
    for (k = longest; k-- > 0;) first[k] += first[k + 1];
    for (r = 0; r < a->rows; r++) order[first[a->ptr[r + 1] - a->ptr[r]]++] = (uint32_t)r;
    free(first);
}

/* The rows of a in this order. */
static void permute(spmv_csr *out, const spmv_csr *a, const uint32_t *order)
{
    uint64_t *ptr = (uint64_t *)room(a->rows + 1, sizeof *ptr), r, n;
    uint32_t *col = (uint32_t *)room(a->nnz, sizeof *col);
    size_t size = spmv_value_size(a->type);
    char *val = (char *)room(a->nnz, size);
    spmv_csr sorted = *a;
    for (r = 0; r < a->rows; r++) {
        n = a->ptr[order[r] + 1] - a->ptr[order[r]];
        memcpy(col + ptr[r], a->col + a->ptr[order[r]], (size_t)n * sizeof *col);
        memcpy(val + ptr[r] * size, (const char *)a->val + a->ptr[order[r]] * size, (size_t)n * size);
        ptr[r + 1] = ptr[r] + n;
    }
    sorted.ptr = ptr;
    sorted.col = col;
    sorted.val = val;
    make(out, a->type, &sorted);
    free(ptr);
    free(col);
    free(val);
}

/* The matrix that brings y back into order: row order[i] has a one in column i. */
static void reorder(spmv_csr *out, const spmv_csr *a, const uint32_t *order)
{
    uint64_t *ptr = (uint64_t *)room(a->rows + 1, sizeof *ptr), r;
    uint32_t *col = (uint32_t *)room(a->rows, sizeof *col);
    void *val = room(a->rows, spmv_value_size(a->type));
    spmv_csr back = *a;
    for (r = 0; r < a->rows; r++) {
        ptr[r + 1] = r + 1;
        col[order[r]] = (uint32_t)r;
        if (a->type == SPMV_F32) ((float *)val)[r] = 1;
        else ((double *)val)[r] = 1;
    }
    back.cols = back.nnz = a->rows;
    back.ptr = ptr;
    back.col = col;
    back.val = val;
    make(out, a->type, &back);
    free(ptr);
    free(col);
    free(val);
}

/* ---- products ---------------------------------------------------------------------------------------------------------- */

/* A prepared matrix, and the vectors of its product: in memory on the host, else buffers. */
typedef struct product {
    spmv_matrix m;
    void       *x, *y;
} product;

static void prepare(product *p, const spmv_csr *a, const char *plan, void *x, void *y)
{
    spmv_desc d;
    memset(&d, 0, sizeof d);
    d.csr = a;
    d.type = a->type;
    d.plan = plan;
    d.device = on;
    d.max_bytes = UINT64_MAX;
    need(spmv_create(&p->m, &d) == SPMV_OK, plan);
    p->x = x;
    p->y = y;
}

static void multiply(product *p, int count)
{
    for (; count; p++, count--)
        need((on ? spmv_exec_mul(p->m.exec, 1, p->x, 0, 0, p->y, 0) : spmv_mul(&p->m, 1, p->x, 0, p->y)) == SPMV_OK, "a product");
}

/* Microseconds of one or two products, one after the other: the median of some rounds. */
static double measure(product *p, int count)
{
    double round[ROUNDS], begun;
    int i, k, n = 5;
    for (i = -1; i < ROUNDS; i++) { /* the first warms up and says how many products a round has */
        begun = now();
        for (k = 0; k < n; k++) multiply(p, count);
        need(!on || spmv_device_finish(on) == SPMV_OK, "waiting");
        if (i >= 0) round[i] = (now() - begun) / n * 1e6;
        else n = (int)(1 + LEAST_SECONDS * n / (now() - begun));
    }
    return median(round, ROUNDS);
}

static void *vector(const spmv_csr *a, uint64_t count, const void *from)
{
    void *v = NULL;
    if (!on) {
        v = room(count, spmv_value_size(a->type));
        if (from) memcpy(v, from, (size_t)count * spmv_value_size(a->type));
        return v;
    }
    need(spmv_buffer_create(on, count * spmv_value_size(a->type), &v) == SPMV_OK, "making a buffer");
    if (from) need(spmv_buffer_write(on, v, count * spmv_value_size(a->type), from) == SPMV_OK, "writing a buffer");
    return v;
}

static void drop(void *v)
{
    if (on) spmv_buffer_destroy(on, v);
    else free(v);
}

/* Element i of a vector in memory. */
static double element(const void *v, spmv_type type, uint64_t i)
{
    return type == SPMV_F32 ? (double)((const float *)v)[i] : ((const double *)v)[i];
}

/* Fails unless two results are the same, up to the order of additions. */
static void compare(const spmv_csr *a, void *y, void *z)
{
    uint64_t bytes = a->rows * spmv_value_size(a->type), i;
    void *u = room(a->rows, spmv_value_size(a->type)), *v = room(a->rows, spmv_value_size(a->type));
    double eps = a->type == SPMV_F32 ? 1e-4 : 1e-12, d, s;
    if (on) need(!spmv_buffer_read(on, y, bytes, u) && !spmv_buffer_read(on, z, bytes, v), "reading a buffer");
    else memcpy(u, y, (size_t)bytes), memcpy(v, z, (size_t)bytes);
    for (i = 0; i < a->rows; i++) {
        d = element(u, a->type, i) - element(v, a->type, i);
        s = (double)(a->ptr[i + 1] - a->ptr[i]);
        need(d <= eps * (1 + s) && -d <= eps * (1 + s), "comparing results");
    }
    free(u);
    free(v);
}

/* ---- the comparison ------------------------------------------------------------------------------------------------------ */

/* Gives the ELL parts of a plan of hybr these row lists: the first, and the later ones. */
static void set_lists(spmv_plan *plan, int64_t first, int64_t later, char text[SPMV_PLAN_TEXT])
{
    int i;
    for (i = 0; i < plan->count; i++)
        if (plan->part[i].format == SPMV_ELL) plan->part[i].key[SPMV_KEY_ROWS] = i ? later : first;
    spmv_plan_print(plan, text, SPMV_PLAN_TEXT);
}

static void report(const spmv_csr *a, const char *name)
{
    static spmv_plan plan;
    static char text[4][SPMV_PLAN_TEXT];
    uint32_t *order = (uint32_t *)room(a->rows, sizeof *order);
    void *values = room(a->cols, spmv_value_size(a->type)), *x, *y, *z, *w;
    double us[LISTS], sorted, back, alone;
    spmv_csr rows, reordered;
    product lists[LISTS], paper[2];
    int p;
    uint64_t i;
    need(spmv_plan_make(&plan, "hybr", a, NULL, NULL, NULL) == SPMV_OK, "hybr");
    if (plan.count < 2 || plan.part[1].format != SPMV_ELL) {
        free(order);
        free(values);
        return;
    }
    set_lists(&plan, SPMV_ROWS_SORTED, SPMV_ROWS_SORTED, text[0]);
    set_lists(&plan, SPMV_ROWS_ALL, SPMV_ROWS_SORTED, text[1]);
    set_lists(&plan, SPMV_ROWS_ALL, SPMV_ROWS_NONEMPTY, text[2]);
    for (i = 0; i < a->cols; i++) {
        if (a->type == SPMV_F32) ((float *)values)[i] = (float)(i % 7) - 3;
        else ((double *)values)[i] = (double)(i % 7) - 3;
    }
    sort_rows(a, order);
    permute(&rows, a, order);
    reorder(&reordered, a, order);
    x = vector(a, a->cols, values);
    y = vector(a, a->rows, NULL);
    z = vector(a, a->rows, NULL);
    w = vector(a, a->rows, NULL);
    for (p = 0; p < LISTS; p++) {
        prepare(&lists[p], a, text[p], x, y);
        us[p] = measure(&lists[p], 1);
        spmv_destroy(&lists[p].m);
    }
    prepare(&paper[0], &rows, text[2], x, z);
    prepare(&paper[1], &reordered, "ell", z, w);
    sorted = measure(paper, 1);
    back = measure(paper, 2);
    alone = measure(paper + 1, 1);
    compare(a, y, w);
    printf("{\"matrix\": \"%.*s\", \"device\": \"%s\", \"type\": \"%s\", \"plan\": \"%s\", \"sorted\": %.9g, \"later\": %.9g, "
           "\"in order\": %.9g, \"permuted\": %.9g, \"and back\": %.9g, \"back\": %.9g}\n", (int)strcspn(name, "."), name,
           on ? on->info.name : "host", spmv_type_name(a->type), text[2], us[0], us[1], us[2], sorted, back, alone);
    spmv_destroy(&paper[0].m);
    spmv_destroy(&paper[1].m);
    drop(x);
    drop(y);
    drop(z);
    drop(w);
    spmv_csr_destroy(&rows);
    spmv_csr_destroy(&reordered);
    free(values);
    free(order);
}

int main(int argc, char **argv)
{
    spmv_device_desc desc;
    spmv_type type;
    spmv_csr a;
    const char *slash;
    int i;
    need(argc > 3 && (!strcmp(argv[2], "f32") || !strcmp(argv[2], "f64")), "reading the arguments (permuted DEVICE f32|f64 FILE...)");
    type = strcmp(argv[2], "f32") ? SPMV_F64 : SPMV_F32;
    memset(&desc, 0, sizeof desc);
    desc.which = argv[1];
    if (strcmp(argv[1], "host") != 0) {
        need(spmv_device_create(&device, &desc) == SPMV_OK, argv[1]);
        on = &device;
    }
    for (i = 3; i < argc; i++) {
        read_matrix(&a, argv[i], type);
        slash = strrchr(argv[i], '/');
        report(&a, slash ? slash + 1 : argv[i]);
        fflush(stdout);
        spmv_csr_destroy(&a);
    }
    if (on) spmv_device_destroy(on);
    return 0;
}
