/* SPDX-License-Identifier: MIT
 *
 * tests/gen/run.c - the C code that spmvgen writes, on matrices that the library stored. tests/gen.sh generates cases.h, which includes the
 * code and calls CASE(prefix, plan, type) or CASE_PACK for each description, layout and type. Ends with "N passed, N failed".
 */
#include "spmv/plan.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 }; /* parameters, arrays or constants of a description */

/* The generated code of one case, behind pointers that do not depend on its types. */
typedef struct code {
    const char *name, *plan;
    spmv_type type;
    int parameters, arrays;
    const char *const *parameter, *const *array, *const *constant;
    const size_t *width;
    const int64_t *value;
    int (*check)(const int64_t *parameter, const void *const *data, const int64_t *count, char *message, size_t size);
    void (*multiply)(const int64_t *parameter, const void *const *data, const int64_t *count, double alpha, const void *x, double beta,
                     void *y);
    int64_t (*entries)(const int64_t *parameter, const void *const *data, const int64_t *count, int64_t most, int64_t *row, int64_t *col,
                       void *val);
    /* Packs, checks, multiplies and unpacks in one; NULL if there is no packer. */
    int (*pack)(int64_t rows, int64_t cols, const int64_t *ptr, const int64_t *col, const void *val, double alpha, const void *x,
                double beta, void *y, int64_t most, int64_t *out_row, int64_t *out_col, void *out_val);
} code;

/* Defines the functions of struct code for one generated prefix. */
#define WRAP(prefix, real)                                                                                                            \
    static int prefix##_c(const int64_t *p, const void *const *d, const int64_t *n, char *message, size_t size)                       \
    {                                                                                                                                 \
        prefix##_matrix m;                                                                                                            \
        prefix##_bind(&m, p, d, n);                                                                                                   \
        return prefix##_check(&m, message, size);                                                                                     \
    }                                                                                                                                 \
    static void prefix##_m(const int64_t *p, const void *const *d, const int64_t *n, double a, const void *x, double b, void *y)      \
    {                                                                                                                                 \
        prefix##_matrix m;                                                                                                            \
        prefix##_bind(&m, p, d, n);                                                                                                   \
        prefix##_multiply(&m, (real)a, (const real *)x, (real)b, (real *)y);                                                          \
    }                                                                                                                                 \
    static int64_t prefix##_e(const int64_t *p, const void *const *d, const int64_t *n, int64_t most, int64_t *r, int64_t *c, void *v) \
    {                                                                                                                                 \
        prefix##_matrix m;                                                                                                            \
        prefix##_bind(&m, p, d, n);                                                                                                   \
        return prefix##_entries(&m, most, r, c, (real *)v);                                                                           \
    }
#define WRAP_PACK(prefix, real)                                                                                                       \
    WRAP(prefix, real)                                                                                                                \
    static int prefix##_p(int64_t rows, int64_t cols, const int64_t *ptr, const int64_t *col, const void *val, double a, const void *x, \
                          double b, void *y, int64_t most, int64_t *r, int64_t *c, void *v)                                           \
    {                                                                                                                                 \
        prefix##_matrix m;                                                                                                            \
        char message[200];                                                                                                            \
        int64_t n = -1;                                                                                                               \
        if (prefix##_pack(&m, rows, cols, ptr, col, (const real *)val)) return -1;                                                    \
        if (prefix##_check(&m, message, sizeof message)) puts(message);                                                               \
        else {                                                                                                                        \
            prefix##_multiply(&m, (real)a, (const real *)x, (real)b, (real *)y);                                                      \
            n = prefix##_entries(&m, most, r, c, (real *)v);                                                                          \
        }                                                                                                                             \
        prefix##_free(&m);                                                                                                            \
        return (int)n;                                                                                                                \
    }
#define CODE(prefix, plan, type, pack)                                                                                                \
    { #prefix, plan, type, prefix##_parameters, prefix##_arrays, prefix##_parameter_name, prefix##_array_name, prefix##_constant_name, \
      prefix##_array_width, prefix##_constant_value, prefix##_c, prefix##_m, prefix##_e, pack },

#include "cases.h"
#include "count.h"

/* ---- matrices ---- */

static uint64_t state = 1;
static uint64_t random_below(uint64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
}

enum { MOST_SIDE = 100 };

/* A matrix of small integers, none of them 0, as CSR: chance is per mille that an entry is there; rows divisible by 7 are empty, and full
 * is a row that is full, or -1. */
typedef struct sample {
    int rows, cols, chance, band, full;
} sample;

/* Makes the matrix of a sample, in values of the type. */
static void make(spmv_csr *out, const sample *s, spmv_type type)
{
    static double val[MOST_SIDE * MOST_SIDE];
    static uint32_t row[MOST_SIDE * MOST_SIDE], col[MOST_SIDE * MOST_SIDE];
    spmv_input in;
    int r, c;
    memset(&in, 0, sizeof in);
    for (r = 0; r < s->rows; r++)
        for (c = 0; c < s->cols; c++) {
            const int inside = !s->band || (c - r <= s->band && r - c <= s->band);
            if (r != s->full && (r % 7 == 6 || !inside || random_below(1000) >= (uint64_t)s->chance)) continue;
            row[in.nnz] = (uint32_t)r;
            col[in.nnz] = (uint32_t)c;
            val[in.nnz++] = (double)random_below(9) + 1;
        }
    in.rows = s->rows;
    in.cols = s->cols;
    in.form = SPMV_IN_COO;
    in.row = row;
    in.col = col;
    in.val = val;
    in.val_type = SPMV_F64;
    TEST(spmv_csr_create(out, &in, type == SPMV_F64 ? SPMV_F64 : SPMV_F32, NULL) == SPMV_OK, "%d x %d", s->rows, s->cols);
}

/* ---- the library's arrays by name ---- */

typedef struct names {
    const char *integer[SPMV_MAX_INTS + 1], *array[SPMV_MAX_ARRAYS + 1];
} names;

static const names name_of[] = {
#define INT_NAME(FORMAT, NAME, name) #NAME,
#define ARRAY_NAME(FORMAT, NAME) #NAME,
#define X(NAME, name, text) { { SPMV_##NAME##_INTS(INT_NAME) NULL }, { SPMV_##NAME##_ARRAYS(ARRAY_NAME) NULL } },
    SPMV_FORMAT_LIST(X)
#undef X
};

static int same_word(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) a++, b++;
    return !*a && !*b;
}

static int find(const char *const *list, const char *word)
{
    int i;
    for (i = 0; list[i] && !same_word(list[i], word); i++) {}
    return list[i] ? i : -1;
}

/* The stored part that a name belongs to: "csr.ptr" to the part of format csr. *name becomes the rest. */
static const spmv_part *part_of(const spmv_store *s, const char **name)
{
    const char *dot = strchr(*name, '.');
    int i;
    if (!dot) return &s->part[0];
    for (i = 0; i < s->count; i++) {
        const char *format = spmv_format_name(s->part[i].spec.format);
        if (strlen(format) == (size_t)(dot - *name) && !strncmp(format, *name, strlen(format))) {
            *name = dot + 1;
            return &s->part[i];
        }
    }
    return NULL;
}

typedef struct bound {
    int64_t parameter[MOST], count[MOST];
    const void *data[MOST];
} bound;

/* Sets the parameters and arrays of a description to those of the store. Everything that the library stores must have a name in the
 * description, apart from h of slices with varying heights. Returns 0 after a failure. */
static int bind_store(bound *b, const code *c, const spmv_store *s)
{
    int i, k, p, before = tests_failed;
    for (i = 0; i < c->parameters; i++) {
        const char *name = c->parameter[i];
        const int shared = !strchr(name, '.');
        const spmv_part *part = part_of(s, &name);
        k = part ? find(name_of[part->spec.format].integer, name) : -1;
        if (same_word(name, "num_rows") || (same_word(name, "rows") && !shared)) b->parameter[i] = (int64_t)(shared ? s->rows : part->rows);
        else if (same_word(name, "num_cols")) b->parameter[i] = (int64_t)s->cols;
        else if (same_word(name, "num_nonzeros")) b->parameter[i] = (int64_t)part->nnz;
        else {
            TEST(k >= 0, "%s: the library has no integer '%s'", c->name, c->parameter[i]);
            b->parameter[i] = k >= 0 ? (int64_t)part->n[k] : 0;
        }
    }
    for (i = 0; i < c->arrays; i++) {
        const char *name = c->array[i];
        const spmv_part *part = part_of(s, &name);
        const spmv_array *a;
        k = part ? find(name_of[part->spec.format].array, name) : -1;
        TEST(k >= 0 || same_word(name, "list"), "%s: the library has no array '%s'", c->name, c->array[i]);
        a = k >= 0 ? &part->a[k] : &part->list;
        b->data[i] = a->data;
        b->count[i] = (int64_t)a->count;
        TEST(!a->count || a->width == c->width[i], "%s: '%s' has %u bytes an element", c->name, c->array[i], a->width);
    }
    for (p = 0; p < s->count; p++) {
        const names *n = &name_of[s->part[p].spec.format];
        const char *format = s->count > 1 ? spmv_format_name(s->part[p].spec.format) : "", *dot = s->count > 1 ? "." : "";
        char name[64];
        for (i = 0; n->array[i]; i++) {
            snprintf(name, sizeof name, "%s%s%s", format, dot, n->array[i]);
            TEST(!s->part[p].a[i].count || find(c->array, name) >= 0, "%s: the description lacks array '%s'", c->name, name);
        }
        for (i = 0; n->integer[i]; i++) {
            snprintf(name, sizeof name, "%s%s%s", format, dot, n->integer[i]);
            k = find(c->constant, name);
            if (k >= 0) TEST(c->value[k] == (int64_t)s->part[p].n[i], "%s: %s is %d", c->name, name, (int)s->part[p].n[i]);
            else
                TEST(!s->part[p].n[i] || find(c->parameter, name) >= 0 || s->part[p].spec.key[SPMV_KEY_GROW],
                     "%s: the description lacks '%s'", c->name, name);
        }
    }
    return tests_failed == before;
}

/* ---- the tests ---- */

static double get(const void *v, int64_t i, spmv_type vector)
{
    return vector == SPMV_F32 ? ((const float *)v)[i] : ((const double *)v)[i];
}

static void set(void *v, int64_t i, double to, spmv_type vector)
{
    if (vector == SPMV_F32) ((float *)v)[i] = (float)to;
    else ((double *)v)[i] = to;
}

static double dense[MOST_SIDE * MOST_SIDE]; /* the matrix at hand, by rows */

/* Tests that coordinates are the entries of dense, each at most once; zeros may be among them. */
static void same_entries(const code *c, const spmv_csr *a, int64_t n, const int64_t *row, const int64_t *col, const void *val)
{
    static char seen[MOST_SIDE * MOST_SIDE];
    uint64_t found = 0;
    int64_t i, wrong = 0;
    memset(seen, 0, sizeof seen);
    for (i = 0; i < n; i++) {
        const size_t at = (size_t)(row[i] * (int64_t)a->cols + col[i]);
        const double v = get(val, i, c->type);
        wrong += row[i] < 0 || row[i] >= (int64_t)a->rows || col[i] < 0 || col[i] >= (int64_t)a->cols;
        if (wrong) break;
        wrong += seen[at] || v != dense[at];
        seen[at] = 1;
        found += v != 0;
    }
    TEST(!wrong && found == a->nnz, "%s: %d of %d entries, %d wrong", c->name, (int)found, (int)a->nnz, (int)wrong);
}

static void same_vector(const code *c, const void *y, const void *expected, uint64_t n, const char *what)
{
    uint64_t i, wrong = 0;
    for (i = 0; i < n; i++) wrong += get(y, (int64_t)i, c->type) != get(expected, (int64_t)i, c->type);
    TEST(!wrong, "%s: %d of %d rows differ, %s", c->name, (int)wrong, (int)n, what);
}

/* Copies every array to a block of its exact size, so that the address sanitizer sees any access beside it, changes one number in the
 * arrays, their sizes or the parameters, and runs the validator; and the product and the unpacker if it accepts the matrix. Returns 1 if
 * it does not. */
static int change_and_check(const code *c, const bound *b, const void *x, void *y)
{
    static int64_t row[4], col[4];
    double val[4];
    bound t = *b;
    char message[200] = "";
    int i, refused;
    const uint64_t what = random_below(10);
    for (i = 0; i < c->arrays; i++) {
        const size_t bytes = (size_t)b->count[i] * c->width[i];
        void *copy = malloc(bytes ? bytes : 1);
        if (bytes) memcpy(copy, b->data[i], bytes);
        t.data[i] = copy;
    }
    i = (int)random_below((uint64_t)c->arrays);
    if (what == 0) t.count[i] += (int64_t)random_below(5) - 3;
    else if (what == 1) t.parameter[random_below((uint64_t)c->parameters)] += (int64_t)random_below(9) - 4;
    else if (t.count[i]) {
        unsigned char *byte = (unsigned char *)(uintptr_t)t.data[i];
        const size_t width = c->width[i], at = (size_t)random_below((uint64_t)t.count[i]) * width;
        byte[at + (size_t)random_below(random_below(2) ? width : 1)] = (unsigned char)random_below(256);
    }
    if (t.count[i] > b->count[i]) t.count[i] = b->count[i]; /* more than there is would be a lie that nobody can notice */
    refused = c->check(t.parameter, t.data, t.count, message, sizeof message) != 0;
    if (refused) TEST(strstr(message, "line ") == message, "%s: '%s'", c->name, message);
    else if (t.parameter[0] == b->parameter[0] && t.parameter[1] == b->parameter[1]) {
        c->multiply(t.parameter, t.data, t.count, 1, x, 0, y);
        c->entries(t.parameter, t.data, t.count, 4, row, col, val);
    }
    for (i = 0; i < c->arrays; i++) free((void *)(uintptr_t)t.data[i]);
    return refused;
}

/* Tests the product, the validator and the unpacker on arrays of the library, and the packer. */
static void run_sample(const code *c, const sample *sample_)
{
    static int64_t row[4 * MOST_SIDE * MOST_SIDE], col[4 * MOST_SIDE * MOST_SIDE], ptr[MOST_SIDE + 1], cols[MOST_SIDE * MOST_SIDE];
    static double x[MOST_SIDE], z[MOST_SIDE], val[4 * MOST_SIDE * MOST_SIDE];
    const int64_t most = (int64_t)(sizeof row / sizeof *row);
    char message[200] = "";
    spmv_plan plan;
    spmv_store s;
    spmv_build how;
    spmv_csr a;
    bound b;
    uint64_t i, k;
    int64_t n;
    int refused = 0;
    double *const y = (double *)malloc((size_t)sample_->rows * spmv_vector_size(c->type)); /* so that faults beside it are noticed */
    memset(&how, 0, sizeof how);
    how.type = c->type;
    make(&a, sample_, c->type);
    memset(dense, 0, sizeof dense);
    for (i = 0; i < a.rows; i++)
        for (k = a.ptr[i]; k < a.ptr[i + 1]; k++) dense[i * a.cols + a.col[k]] = get(a.val, (int64_t)k, a.type);
    for (i = 0; i < MOST_SIDE; i++) {
        set(x, (int64_t)i, (double)random_below(9) - 4, c->type);
        set(z, (int64_t)i, (double)i, c->type);
    }
    for (i = 0; i < a.rows; i++) set(y, (int64_t)i, (double)i, c->type);
    TEST(spmv_plan_parse(&plan, c->plan, NULL, NULL) == SPMV_OK, "%s", c->plan);
    TEST(spmv_store_create(&s, &plan, &a, &how, NULL) == SPMV_OK, "%s", c->plan);
    if (s.count && bind_store(&b, c, &s)) {
        TEST(c->check(b.parameter, b.data, b.count, message, sizeof message) == 0, "%s: %s", c->name, message);
        if (!*message) {
            spmv_store_mul(&s, 2, x, 3, z);
            c->multiply(b.parameter, b.data, b.count, 2, x, 3, y);
            same_vector(c, y, z, a.rows, "product");
            n = c->entries(b.parameter, b.data, b.count, most, row, col, val);
            TEST(n <= most && n == c->entries(b.parameter, b.data, b.count, 0, NULL, NULL, NULL), "%s", c->name);
            same_entries(c, &a, n, row, col, val);
            for (i = 0; i < 60; i++) refused += change_and_check(c, &b, x, y);
            TEST(refused > 0 || a.nnz < 5, "%s: no fault was found", c->name);
        }
    }
    if (c->pack) {
        for (i = 0; i <= a.rows; i++) ptr[i] = (int64_t)a.ptr[i];
        for (i = 0; i < a.nnz; i++) cols[i] = a.col[i];
        for (i = 0; i < a.rows; i++) set(y, (int64_t)i, (double)i, c->type);
        n = c->pack((int64_t)a.rows, (int64_t)a.cols, ptr, cols, a.val, 2, x, 3, y, most, row, col, val);
        TEST(n >= 0, "%s: the packed matrix is not sound", c->name);
        same_vector(c, y, z, a.rows, "packed");
        same_entries(c, &a, n, row, col, val);
    }
    free(y);
    spmv_store_destroy(&s);
    spmv_csr_destroy(&a);
}

int main(void)
{
    static const sample samples[] = {
        { 5, 7, 500, 0, -1 },
        { 40, 40, 900, 2, -1 },
        { 70, 50, 120, 0, 9 },
        { 33, 90, 80, 0, -1 },
        { 96, 33, 200, 9, 3 }
    };
    size_t i, k;
    for (i = 0; i < sizeof codes / sizeof codes[0]; i++)
        for (k = 0; k < sizeof samples / sizeof samples[0]; k++) run_sample(&codes[i], &samples[k]);
    printf("%d cases\n%d passed, %d failed\n", (int)(sizeof codes / sizeof codes[0]), tests_passed, tests_failed);
    return tests_failed != 0;
}
