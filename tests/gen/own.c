/* SPDX-License-Identifier: MIT
 *
 * tests/gen/own.c - formats of the user's own in plans of the library (SPMV_FORMATS_EXTRA): products on the host and on the first OpenCL
 * device, updates, the way back to CSR, failing allocations and refusals. tests/gen.sh own generates the formats: ellr (ELLPACK with row
 * lengths), csrx (formats/csr.fmt with columns of 16 bits), diax and bdiax (formats/dia.fmt, bdia.fmt), and three whose packers are
 * written by hand: jad, and fixed and holed, rows of a fixed width, of which the first says that it has fill. The argument names another
 * device. Ends with "N passed, N failed".
 */
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#include "count.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- packers written by hand ---- */

#define jad_pack jad_pack_right
#include "examples/own_format/jad_pack.h"
#undef jad_pack

/* Mistakes of a packer, each of which the library must find. */
typedef enum mistake {
    NO_MISTAKE, LOSES, EXCHANGES, SCALES, NOT_A_NUMBER, MOVES, READS_MORE, REPEATS_ROW, DOES_NOT_FIT, NO_MEMORY
} mistake;
static mistake mistaken;

int jad_pack(jad_matrix *m, int64_t rows, int64_t cols, const int64_t *ptr, const int64_t *col, const double *val, int64_t most)
{
    double *v, first;
    if (mistaken == DOES_NOT_FIT) return -2;
    if (mistaken == NO_MEMORY || jad_pack_right(m, rows, cols, ptr, col, val, most)) return -1;
    v = (double *)(uintptr_t)m->val.data;
    first = m->val.count ? v[0] : 0;
    switch (mistaken) {
    case LOSES: v[0] = 0; break;
    case EXCHANGES: v[0] = v[1]; v[1] = first; break;
    case SCALES: v[0] = 1e300; break;
    case NOT_A_NUMBER: v[0] = first / 0.0 - first / 0.0; break;
    case MOVES: *(uint32_t *)(uintptr_t)m->col.data += 1; break;
    case READS_MORE: ((uint32_t *)(uintptr_t)m->length.data)[rows - 1]++; break; /* of an empty row: reads an entry of another */
    case REPEATS_ROW: *(uint32_t *)(uintptr_t)m->perm.data = m->perm.data[1]; break;
    default: break;
    }
    return 0;
}

/* The packer of a format whose rows have a fixed width, filled with zeros in column 0. */
#define FIXED(name)                                                                                                                 \
    int name##_pack(name##_matrix *m, int64_t rows, int64_t cols, const int64_t *ptr, const int64_t *col, const double *val,        \
                    int64_t most)                                                                                                   \
    {                                                                                                                               \
        int64_t r, i, width = 0;                                                                                                    \
        int failed = 0;                                                                                                             \
        for (r = 0; r < rows; r++) width = ptr[r + 1] - ptr[r] > width ? ptr[r + 1] - ptr[r] : width;                               \
        double *const v = (double *)name##_new(&failed, rows * width > most ? -1 : rows * width, sizeof *v);                        \
        uint32_t *const c = (uint32_t *)name##_new(&failed, rows * width > most ? -1 : rows * width, sizeof *c);                    \
        m->num_cols = cols;                                                                                                         \
        m->width = width;                                                                                                           \
        m->val.data = v;                                                                                                            \
        m->col.data = c;                                                                                                            \
        m->val.count = m->col.count = rows * width;                                                                                 \
        if (failed) {                                                                                                               \
            name##_free(m);                                                                                                         \
            return -1;                                                                                                              \
        }                                                                                                                           \
        for (r = 0; r < rows; r++)                                                                                                  \
            for (i = ptr[r]; i < ptr[r + 1]; i++) {                                                                                 \
                v[r * width + i - ptr[r]] = val[i];                                                                                 \
                c[r * width + i - ptr[r]] = (uint32_t)col[i];                                                                       \
            }                                                                                                                       \
        return 0;                                                                                                                   \
    }
FIXED(fixed)
FIXED(holed)

/* ---- memory that counts and can fail ---- */

static long live, requests, fail_at;
static char said[400];

static void *resize(void *user, void *block, size_t bytes)
{
    void *out;
    (void)user;
    if (!bytes) {
        live -= block != NULL;
        free(block);
        return NULL;
    }
    if (++requests == fail_at) return NULL;
    out = realloc(block, bytes);
    live += out && !block;
    return out;
}

static void listen(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    snprintf(said, sizeof said, "%s", message);
}

static const spmv_hooks hooks = { NULL, resize, listen, NULL, 0, 0 };

/* ---- a matrix of small integers, with an explicit zero, empty rows and a long one ---- */

enum { ROWS = 90, COLS = 70 };
static double dense[ROWS][COLS];
static char stored[ROWS][COLS];

static double value(int r, int c, int version) { return (double)((r * 7 + c * 3 + version) % 9 - 4); }

/* Makes the matrix; an update has the same pattern and other values. */
static spmv_csr make(int version)
{
    static uint32_t row[ROWS * COLS], col[ROWS * COLS];
    static double val[ROWS * COLS];
    spmv_input in;
    spmv_csr a;
    int r, c;
    memset(&in, 0, sizeof in);
    for (r = 0; r < ROWS; r++)
        for (c = 0; c < COLS; c++) {
            stored[r][c] = r % 11 != 4 && (r == 40 || c == r || c == r + 3 || (r % 3 == 0 && (r + 5 * c) % 13 == 0));
            dense[r][c] = 0;
            if (!stored[r][c]) continue;
            row[in.nnz] = (uint32_t)r;
            col[in.nnz] = (uint32_t)c;
            dense[r][c] = val[in.nnz++] = value(r, c, version);
        }
    in.form = SPMV_IN_COO;
    in.rows = ROWS;
    in.cols = COLS;
    in.row = row;
    in.col = col;
    in.val = val;
    TEST(spmv_csr_create(&a, &in, SPMV_F64, NULL) == SPMV_OK, "%s", said);
    return a;
}

static void set(void *v, spmv_type t, int i, double to)
{
    if (t == SPMV_F32) ((float *)v)[i] = (float)to;
    else ((double *)v)[i] = to;
}

static double get(const void *v, spmv_type t, int i) { return t == SPMV_F32 ? ((const float *)v)[i] : ((const double *)v)[i]; }

/* The number of elements of y = 2 A x + beta y0 that are wrong; x[c] = c % 5 - 2, y0[r] = r. */
static int wrong(const void *y, spmv_type t, double beta)
{
    int r, c, n = 0;
    for (r = 0; r < ROWS; r++) {
        double sum = 0;
        for (c = 0; c < COLS; c++) sum += dense[r][c] * (c % 5 - 2);
        n += get(y, t, r) != 2 * sum + beta * r;
    }
    return n;
}

static void vectors(void *x, void *y, spmv_type t)
{
    int i;
    for (i = 0; i < COLS; i++) set(x, t, i, i % 5 - 2);
    for (i = 0; i < ROWS; i++) set(y, t, i, i);
}

/* ---- the tests ---- */

/* The store's nonzeros as CSR again: those of the matrix, with its explicit zeros. */
static void back(const spmv_store *s, const spmv_csr *a, const char *plan)
{
    spmv_csr b;
    TEST(spmv_parts_to_csr(&b, ROWS, s->part, (size_t)s->count, &hooks) == SPMV_OK, "%s: %s", plan, said);
    TEST(b.nnz == a->nnz && !memcmp(b.ptr, a->ptr, (ROWS + 1) * 8) && !memcmp(b.col, a->col, (size_t)a->nnz * 4), "%s", plan);
    if (a->type == SPMV_F64) TEST(b.nnz == a->nnz && !memcmp(b.val, a->val, (size_t)a->nnz * 8), "%s", plan);
    spmv_csr_destroy(&b);
}

static void multiply(const spmv_store *s, spmv_type t, const char *plan)
{
    double x[COLS], y[ROWS];
    int beta;
    for (beta = 0; beta < 3; beta++) {
        vectors(x, y, t);
        TEST(spmv_store_mul(s, 2, x, beta, y) == SPMV_OK, "%s", said);
        TEST(wrong(y, t, beta) == 0, "%s, %s, beta %d: %d wrong", plan, spmv_type_name(t), beta, wrong(y, t, beta));
    }
}

/* The same on a device, before and after the update that the caller makes. */
static void multiply_there(spmv_exec *e, spmv_type t, const char *plan)
{
    double x[COLS], y[ROWS];
    int beta;
    for (beta = 0; beta < 3; beta++) {
        vectors(x, y, t);
        TEST(spmv_exec_mul_host(e, 2, x, beta, y) == SPMV_OK, "%s", said);
        TEST(wrong(y, t, beta) == 0, "%s on the device, %s, beta %d: %d wrong", plan, spmv_type_name(t), beta, wrong(y, t, beta));
    }
}

/* A plan in one type: product, way back and update, on the host and, unless d is NULL, on a device. */
static void run(const char *text, spmv_type t, spmv_device *d)
{
    spmv_csr a = make(0), typed;
    spmv_input in;
    spmv_plan plan;
    spmv_store s;
    spmv_build how;
    spmv_device_matrix m;
    spmv_exec e;
    memset(&in, 0, sizeof in);
    memset(&how, 0, sizeof how);
    in.rows = ROWS;
    in.cols = COLS;
    in.ptr = a.ptr;
    in.ptr_bits = 64;
    in.col = a.col;
    in.val = a.val;
    in.val_type = SPMV_F64;
    how.type = t;
    how.updatable = 1;
    in.updatable = 1;
    TEST(spmv_csr_create(&typed, &in, t, &hooks) == SPMV_OK, "%s", said);
    TEST(spmv_plan_parse(&plan, text, NULL, &hooks) == SPMV_OK, "%s", said);
    TEST(spmv_store_create(&s, &plan, &typed, &how, &hooks) == SPMV_OK, "%s: %s", text, said);
    multiply(&s, t, text);
    back(&s, &typed, text);
    if (d) {
        TEST(spmv_device_matrix_create(&m, d, ROWS, COLS, t, s.part, (size_t)s.count, NULL) == SPMV_OK, "%s: %s", text, said);
        TEST(spmv_exec_create(&e, &m, NULL) == SPMV_OK, "%s: %s", text, said);
        multiply_there(&e, t, text);
    }
    spmv_csr_destroy(&a);
    a = make(5);
    TEST(spmv_csr_update(&typed, a.val) == SPMV_OK && spmv_store_update(&s, &typed) == SPMV_OK, "%s: %s", text, said);
    multiply(&s, t, text);
    back(&s, &typed, text);
    if (d) {
        TEST(spmv_device_matrix_update(&m, s.part, (size_t)s.count) == SPMV_OK, "%s: %s", text, said);
        multiply_there(&e, t, text);
        spmv_exec_destroy(&e);
        spmv_device_matrix_destroy(&m);
    }
    spmv_store_destroy(&s);
    spmv_csr_destroy(&typed);
    spmv_csr_destroy(&a);
}

/* Every request for memory fails once; nothing is lost, and the status says so. */
static void failures(const char *text)
{
    spmv_csr a = make(0);
    spmv_plan plan;
    spmv_store s;
    spmv_build how;
    const long before = live;
    long n, all;
    memset(&how, 0, sizeof how);
    how.updatable = 1;
    spmv_plan_parse(&plan, text, NULL, &hooks);
    requests = fail_at = 0;
    TEST(spmv_store_create(&s, &plan, &a, &how, &hooks) == SPMV_OK, "%s", said);
    all = requests;
    spmv_store_destroy(&s);
    TEST(all > 5 && live == before, "%s: %ld requests, %ld blocks lost", text, all, live - before);
    for (n = 1; n <= all; n++) {
        requests = 0;
        fail_at = n;
        TEST(spmv_store_create(&s, &plan, &a, &how, &hooks) == SPMV_ERR_MEMORY, "%s: request %ld", text, n);
        TEST(live == before, "%s: request %ld: %ld blocks lost", text, n, live - before);
        spmv_store_destroy(&s);
    }
    fail_at = 0;
    spmv_csr_destroy(&a);
}

/* Plans that cannot be. */
static void refusals(void)
{
    enum { MANY = 100000 };
    static uint32_t row[MANY], col[MANY];
    spmv_plan plan;
    spmv_input in;
    spmv_csr a;
    spmv_store s;
    spmv_build how;
    int i;
    memset(&in, 0, sizeof in);
    memset(&how, 0, sizeof how);
    TEST(spmv_plan_parse(&plan, "ellr:b=2x2", NULL, &hooks) == SPMV_ERR_PLAN, "%s", said);
    for (i = 0; i < MANY; i++) row[i] = i < MANY / 2 ? (uint32_t)i : MANY - 1, col[i] = (uint32_t)(i % (MANY / 2));
    in.form = SPMV_IN_COO; /* one row is half full */
    in.rows = in.cols = in.nnz = MANY;
    in.row = row;
    in.col = col;
    TEST(spmv_csr_create(&a, &in, SPMV_F64, &hooks) == SPMV_OK, "%s", said);
    TEST(spmv_plan_parse(&plan, "ellr", NULL, &hooks) == SPMV_OK, "%s", said);
    TEST(spmv_store_create(&s, &plan, &a, &how, &hooks) == SPMV_ERR_TOO_LARGE && strstr(said, "ellr"), "%s", said);
    TEST(spmv_plan_parse(&plan, "ellr:fill=0.5+csr", NULL, &hooks) == SPMV_OK, "%s", said);
    TEST(spmv_store_create(&s, &plan, &a, &how, &hooks) == SPMV_OK && s.count == 2, "%s", said);
    TEST(s.count == 2 && s.part[0].n[SPMV_ELLR_WIDTH] == 1, "the width is that of most rows");
    spmv_store_destroy(&s);
    how.strict = 1;
    TEST(spmv_plan_parse(&plan, "diax", NULL, &hooks) == SPMV_OK, "%s", said);
    TEST(spmv_store_create(&s, &plan, &a, &how, &hooks) == SPMV_ERR_STRICT, "%s", said);
    TEST(spmv_plan_parse(&plan, "csrx", NULL, &hooks) == SPMV_OK, "%s", said);
    TEST(spmv_store_create(&s, &plan, &a, &how, &hooks) == SPMV_ERR_TOO_LARGE && strstr(said, "does not fit"), "%s", said);
    spmv_csr_destroy(&a);
}

/* What a packer written by hand does wrong is found, and what it refuses is refused. */
static void mistakes(void)
{
    static const struct {
        mistake of;
        spmv_status status;
        const char *says;
    } each[] = {
        { NO_MISTAKE, SPMV_OK, "" },
        { LOSES, SPMV_ERR_ARGUMENT, "jad: its packer put " }, { EXCHANGES, SPMV_ERR_ARGUMENT, "jad: its packer put " },
        { SCALES, SPMV_ERR_ARGUMENT, "jad: its packer put " }, { NOT_A_NUMBER, SPMV_ERR_ARGUMENT, "jad: its packer put " },
        { MOVES, SPMV_ERR_ARGUMENT, "jad: its packer put " }, { READS_MORE, SPMV_ERR_ARGUMENT, "jad: its packer put " },
        { REPEATS_ROW, SPMV_ERR_ARGUMENT, "jad: its packer made a faulty part: " },
        { DOES_NOT_FIT, SPMV_ERR_TOO_LARGE, "jad: a number of this matrix does not fit" },
        { NO_MEMORY, SPMV_ERR_TOO_LARGE, "jad: its packer ran out of memory" }
    };
    spmv_csr a = make(0);
    spmv_plan plan;
    spmv_store s;
    spmv_build how;
    spmv_status got;
    size_t i;
    memset(&how, 0, sizeof how);
    spmv_plan_parse(&plan, "jad", NULL, &hooks);
    for (i = 0; i < sizeof each / sizeof *each; i++) {
        const long before = live;
        mistaken = each[i].of;
        said[0] = 0;
        got = spmv_store_create(&s, &plan, &a, &how, &hooks);
        TEST(got == each[i].status && strstr(said, each[i].says) == said, "mistake %d: %s, %s", (int)i, spmv_status_name(got), said);
        spmv_store_destroy(&s);
        TEST(live == before, "mistake %d: %ld blocks lost", (int)i, live - before);
    }
    mistaken = NO_MISTAKE;
    spmv_plan_parse(&plan, "holed", NULL, &hooks);
    got = spmv_store_create(&s, &plan, &a, &how, &hooks);
    TEST(got == SPMV_ERR_ARGUMENT && strstr(said, "--set fill=1"), "%s, %s", spmv_status_name(got), said);
    spmv_csr_destroy(&a);
}

int main(int argc, char **argv)
{
    static const char *const plans[] = { "ellr", "ellr:w=2+csr", "csrx", "diax", "bdiax", "ellr:fill=0.6+csrx", "dia:d=0.5+ellr:w=3+csr",
                                         "jad", "jad:w=3+csr", "fixed:w=4+jad" };
    const size_t count = sizeof plans / sizeof *plans;
    spmv_device_desc desc;
    spmv_device d;
    spmv_plan plan;
    char text[SPMV_PLAN_TEXT];
    size_t i;
    int t, device;
    memset(&desc, 0, sizeof desc);
    desc.hooks = hooks;
    desc.which = argc > 1 ? argv[1] : NULL;
    device = spmv_device_create(&d, &desc) == SPMV_OK;
    if (!device) printf("no device: %s\n", said);
    for (i = 0; i < count; i++) {
        TEST(spmv_plan_parse(&plan, plans[i], NULL, &hooks) == SPMV_OK, "%s", said);
        spmv_plan_print(&plan, text, sizeof text);
        TEST(!strcmp(text, plans[i]), "%s is printed as %s", plans[i], text);
        for (t = SPMV_F64; t < SPMV_TYPE_COUNT; t++)
            run(plans[i], (spmv_type)t, device && (i < 2 || i == 6 || t == SPMV_F64) && (t == SPMV_F32 || d.info.f64) ? &d : NULL);
    }
    failures("ellr:w=2+csr");
    failures("diax");
    failures("jad:w=2+csr");
    refusals();
    mistakes();
    if (device) spmv_device_destroy(&d);
    TEST(live == 0, "%ld blocks are lost", live);
    printf("%d passed, %d failed\n", tests_passed, tests_failed);
    return tests_failed != 0;
}
