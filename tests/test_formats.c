/* SPDX-License-Identifier: MIT
 *
 * Formats on the host: the examples of the papers, array by array; round trips, products, input, updates, limits and failing
 * allocations. Criterion starts a process for each test, so loops are inside the tests. */
#include <criterion/criterion.h>

#include "spmv.h"
#include "common.h"
#include "library.h"

#ifdef _OPENMP
#include <omp.h>
#endif

/* Element i of an array of offsets, which have 32 or 64 bits. */
static uint64_t offset_at(const spmv_array *a, uint64_t i)
{
    return a->width == 4 ? ((const uint32_t *)a->data)[i] : ((const uint64_t *)a->data)[i];
}

/* Every format with the keys that change its arrays. */
static const char *const specs[] = {
    "dense", "dense:rows=nonempty", "dense:rows=sorted", "coo",
    "csr", "csr:run=32", "csr:run=32,idx=16", "ell:idx=16", "ell:rowmajor=1", "sell:idx=16", "sell:h=9,idx=16",
    "bell:b=2x2,idx=16", "sbell:h=5,idx=16", "bcsr:b=3x3,idx=16", "csr:rows=nonempty", "csr:rows=sorted", "csr:rows=sorted,sigma=16",
    "dia", "bdia",
    "ell", "ell:rows=nonempty", "ell:rows=sorted", "ell:rows=sorted,sigma=7",
    "sell", "sell:h=1", "sell:h=2", "sell:h=7", "sell:h=33", "sell:h=300", "sell:h=1024", "sell:rows=nonempty", "sell:h=4,rows=sorted",
    "sell:h=8,rows=sorted,sigma=32", "sell:grow=0.2", "sell:h=5,grow=0.000001", "sell:h=300,grow=0.9,rows=sorted",
    "sell:h=16,grow=0.05,rows=nonempty",
    "bell", "bell:b=1x4", "bell:b=2x4", "bell:b=8x4", "bell:b=1x8", "bell:b=2x8", "bell:b=4x8", "bell:b=8x8", "bell:b=2x2",
    "bell:b=3x3", "bell:b=6x6",
    "sbell", "sbell:b=1x4,h=1", "sbell:b=2x4,h=2", "sbell:b=8x4,h=3", "sbell:b=1x8", "sbell:b=2x8,h=4", "sbell:b=4x8,h=50",
    "sbell:b=8x8,h=5", "sbell:b=2x2,h=2", "sbell:b=3x3,h=7", "sbell:b=6x6,h=64",
    "bcsr", "bcsr:b=1x4", "bcsr:b=2x4", "bcsr:b=8x4", "bcsr:b=1x8", "bcsr:b=2x8", "bcsr:b=4x8", "bcsr:b=8x8", "bcsr:b=2x2",
    "bcsr:b=3x3", "bcsr:b=6x6",
    "cmrs", "cmrs:h=1", "cmrs:h=2", "cmrs:h=8", "cmrs:h=16", "cmrs:wide=1", "cmrs:h=16,sort=1", "cmrs:h=2,sort=1,wide=1",
    "cmrs:h=8,rows=nonempty", "cmrs:h=16,rows=sorted,sort=1", "cmrs:rows=sorted,sigma=8,wide=1",
    "tcsr", "tcsr:tile=512", "tcsr:tile=1024,rows=nonempty", "tcsr:tile=2048,rows=sorted", "tcsr:tile=512,rows=sorted,sigma=8",
    "tcsr:tile=512,idx=16", "tcsr:rows=nonempty,idx=16",
};
enum { SPECS = sizeof specs / sizeof *specs };

static const spmv_type types[] = { SPMV_F64, SPMV_F32, SPMV_MIXED };

static spmv_plan plan_of(const char *text)
{
    spmv_plan p;
    spmv_status s = spmv_plan_parse(&p, text, NULL, NULL);
    if (s) cr_assert_fail("%s: %s", text, spmv_status_name(s));
    return p;
}

/* Builds the single part that text describes, in the type of how. */
static spmv_status build(spmv_part *part, const char *text, const spmv_csr *a, const spmv_build *how, const spmv_hooks *h)
{
    spmv_plan plan = plan_of(text);
    spmv_split split;
    spmv_view view;
    spmv_status s = spmv_split_create(&split, &plan, a, h);
    memset(part, 0, sizeof *part);
    if (s) return s;
    view = spmv_split_view(&split, a, 0);
    s = spmv_part_create(part, &plan.part[0], &view, how, h);
    spmv_split_destroy(&split);
    return s;
}

static void say_nothing(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    (void)message;
}
static const spmv_hooks quiet = { NULL, NULL, say_nothing, NULL, 0, 0 };

/* The same with defaults. Returns 0 if the format is too large for this matrix, which is allowed for the large matrices only. */
static int built(spmv_part *part, const char *text, const matrix *m, const spmv_csr *a, spmv_type t, int updatable)
{
    spmv_build how;
    spmv_status s;
    memset(&how, 0, sizeof how);
    how.type = t;
    how.updatable = updatable;
    s = build(part, text, a, &how, &quiet);
    if (s == SPMV_ERR_TOO_LARGE && (m->rows >= 1000 || m->cols >= 20000)) return 0;
    if (s) cr_assert_fail("%s, %s, %s: %s", m->name, text, spmv_type_name(t), spmv_status_name(s));
    return 1;
}

/* Large matrices are tried in only one of the three types for each format. */
static int too_long(const matrix *m, int spec, int type) { return m->nnz >= 300 && (spec + type) % 3 != 0; }

/* ---- the examples of the papers ----------------------------------------------------------------------------------- */

static void same_index(const char *what, const spmv_array *a, const int64_t *want, uint64_t n)
{
    uint64_t i;
    CHECK(a->count == n, "%s: %d elements, not %d", what, (int)a->count, (int)n);
    for (i = 0; i < n; i++) {
        int64_t v = a->width == 8 ? (int64_t)((const uint64_t *)a->data)[i]
                  : a->width == 2 ? (int64_t)((const uint16_t *)a->data)[i]
                  : a->width == 1 ? (int64_t)((const uint8_t *)a->data)[i] : (int64_t)((const uint32_t *)a->data)[i];
        if (want[i] < 0) v = (int64_t)(int32_t)v; /* offsets of diagonals are signed; -1 also stands for padding */
        CHECK(v == want[i], "%s[%d] is %d, not %d", what, (int)i, (int)v, (int)want[i]);
    }
}

static void same_values(const spmv_part *p, const double *want, uint64_t n)
{
    uint64_t i;
    CHECK(p->a[SPMV_VAL].count == n, "%d values, not %d", (int)p->a[SPMV_VAL].count, (int)n);
    for (i = 0; i < n; i++)
        CHECK(((const double *)p->a[SPMV_VAL].data)[i] == want[i], "val[%d] is %g, not %g", (int)i,
              ((const double *)p->a[SPMV_VAL].data)[i], want[i]);
}

static void from_dense(matrix *m, const char *name, uint64_t rows, uint64_t cols, const double *d, int keep_zeros)
{
    uint64_t r, c, k = 0;
    matrix_open(m, name, rows, cols);
    for (r = 0; r < rows; r++) {
        for (c = 0; c < cols; c++)
            if (keep_zeros || d[r * cols + c] != 0) matrix_add(m, c);
        m->ptr[r + 1] = m->nnz;
    }
    matrix_close(m, INTEGERS);
    for (r = 0; r < rows * cols; r++)
        if (keep_zeros || d[r] != 0) {
            m->val[k] = d[r];
            m->valf[k++] = (float)d[r];
        }
}

/* Copies columns of height h to columns of height ld, with padding between them. */
static void spread(const double *src, double *dst, uint64_t n, uint64_t h, uint64_t ld)
{
    uint64_t i;
    memset(dst, 0, n / h * ld * sizeof *dst);
    for (i = 0; i < n; i++) dst[i / h * ld + i % h] = src[i];
}
static void spread_columns(const int64_t *src, int64_t *dst, uint64_t n, uint64_t h, uint64_t ld)
{
    uint64_t i;
    for (i = 0; i < n / h * ld; i++) dst[i] = -1;
    for (i = 0; i < n; i++) dst[i / h * ld + i % h] = src[i];
}

static const double b_dense[] = { 3, 7, 0, 0, 0, 4, 8, 0, 1, 0, 5, 9, 0, 2, 0, 6 };
static const double b_csr[] = { 3, 7, 4, 8, 1, 5, 9, 2, 6 };
static const int64_t b_col[] = { 0, 1, 1, 2, 0, 2, 3, 1, 3 };

#define GOLDEN(text) CHECK(built(&p, text, &m, &a, SPMV_F64, 0), text)

/* Rows of these lengths in tiles of 512: one that leaves padding behind it, one that is cut once, one that goes through a whole tile,
 * one that begins and ends in a lane, empty ones. */
Test(golden, tiles)
{
    static const uint64_t length[] = { 500, 0, 20, 600, 3, 0, 1000 }, place[] = { 0, 500, 512, 532, 1132, 1135, 1135 };
    static const uint64_t n[] = { 512, 5, 2, 2 };
    static const int64_t row[] = { 0, 2, 3, 4, 6 }, end[] = { 0, 1, 2, 4, 4, 5 }, cut[] = { 1, 2 }, empty[] = { 1, 5 };
    static const int64_t piece[] = { 0, 0, 1, 2, 1, 4, 2, 4, 2, 4 };
    double *val = (double *)calloc(2560, sizeof *val);
    int64_t *col = (int64_t *)calloc(2560, sizeof *col), flag[160] = { 0 };
    uint64_t r, c, k = 0, i;
    matrix m;
    spmv_csr a;
    spmv_part p;
    matrix_open(&m, "tiles", 7, 1000);
    for (r = 0; r < 7; r++) {
        for (c = 0; c < length[r]; c++) matrix_add(&m, c);
        m.ptr[r + 1] = m.nnz;
    }
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    for (r = 0; r < 7; r++)
        for (c = 0; c < length[r]; c++) {
            val[place[r] + c] = m.val[k++];
            col[place[r] + c] = (int64_t)c;
        }
    for (i = 500; i < 512; i++) col[i] = 499;
    for (i = 2135; i < 2560; i++) col[i] = 999;
    flag[31] = 1 << 3;               /* place 499 */
    flag[33] = 1 << 3;               /* 531 */
    flag[70] = 1 << 11 | 1 << 14;    /* 1131, 1134 */
    flag[133] = 1 << 6;              /* 2134 */
    for (i = 34; i < 64; i++) flag[i] = 1 << 16;
    for (i = 71; i < 96; i++) flag[i] = 2 << 16;
    for (i = 134; i < 160; i++) flag[i] = 1 << 16;
    GOLDEN("tcsr:tile=512");
    same_values(&p, val, 2560);
    same_index("col", &p.a[SPMV_TCSR_COL], col, 2560);
    same_index("flag", &p.a[SPMV_TCSR_FLAG], flag, 160);
    same_index("end", &p.a[SPMV_TCSR_END], end, 6);
    same_index("row", &p.a[SPMV_TCSR_ROW], row, 5);
    same_index("piece", &p.a[SPMV_TCSR_PIECE], piece, 10);
    same_index("cut", &p.a[SPMV_TCSR_CUT], cut, 2);
    same_index("empty", &p.a[SPMV_TCSR_EMPTY], empty, 2);
    CHECK(!memcmp(p.n, n, sizeof n), "ints of tcsr");
    spmv_part_destroy(&p);
    free(val);
    free(col);
    spmv_csr_destroy(&a);
    matrix_free(&m);
    cr_assert(checks_done > 5000);
}

/* 16-bit columns in tiles of 512: a warp that ends with padding, one whose columns span more than 2^16, the rest of a row. */
Test(golden, tiles_narrow)
{
    static const uint64_t first[] = { 100, 70000, 3 }, length[] = { 500, 20, 600 }, place[] = { 0, 512, 532 };
    static const int64_t base[] = { 100, 3, 100000 + 492 }, high_at[] = { 0, 0, 1, 1 };
    uint64_t r, k;
    int64_t column[1536], col[1536], high[512];
    matrix m;
    spmv_csr a;
    spmv_part p;
    matrix_open(&m, "narrow tiles", 3, 200000);
    for (r = 0; r < 3; r++) {
        for (k = 0; k < length[r]; k++) matrix_add(&m, first[r] + k + (r == 2 && k >= 400 ? 100000 - 3 : 0));
        m.ptr[r + 1] = m.nnz;
    }
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    for (r = 0; r < 3; r++)
        for (k = 0; k < length[r]; k++) column[place[r] + k] = (int64_t)a.col[a.ptr[r] + k];
    for (k = 500; k < 512; k++) column[k] = 599;
    for (k = 1132; k < 1536; k++) column[k] = 100599;
    for (k = 0; k < 1536; k++) column[k] -= base[k / 512];
    for (k = 0; k < 512; k++) high[k % 32 * 16 + k / 32] = column[512 + k] >> 16;
    for (k = 0; k < 1536; k++) col[k / 256 * 256 + k % 32 * 8 + k / 32 % 8] = column[k] & 0xffff;
    GOLDEN("tcsr:tile=512,idx=16");
    same_index("col", &p.a[SPMV_TCSR_COL], col, 1536);
    same_index("base", &p.a[SPMV_TCSR_BASE], base, 3);
    same_index("high_at", &p.a[SPMV_TCSR_HIGH_AT], high_at, 4);
    same_index("high", &p.a[SPMV_TCSR_HIGH], high, 512);
    CHECK(p.a[SPMV_TCSR_COL].width == 2 && p.a[SPMV_TCSR_HIGH].width == 1, "widths");
    spmv_part_destroy(&p);
    spmv_csr_destroy(&a);
    m.cols = (uint64_t)1 << 25;
    m.col[519] = (uint32_t)first[1] + 20 + (1u << 23); /* the last of row 1, in the warp where row 2 begins with column 3 */
    a = matrix_csr(&m, SPMV_F64);
    GOLDEN("tcsr:tile=512,idx=16");
    CHECK(p.a[SPMV_TCSR_COL].width == 4 && !p.a[SPMV_TCSR_BASE].count && !p.a[SPMV_TCSR_HIGH].count, "columns that span 2^23");
    spmv_part_destroy(&p);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* ---- status -------------------------------------------------------------------------------------------------------- */

/* Refusals are the statuses after which another plan may work; faulty input and failures are not. */
Test(status, refusals)
{
    static const spmv_status refused[] = { SPMV_ERR_INCOMPLETE, SPMV_ERR_MEMORY, SPMV_ERR_OVERFLOW, SPMV_ERR_TOO_LARGE,
                                           SPMV_ERR_STRICT, SPMV_ERR_UNSUPPORTED, SPMV_ERR_LIMIT };
    int s;
    size_t i;
    for (s = -1; s <= SPMV_STATUS_COUNT; s++) {
        int want = 0;
        for (i = 0; i < sizeof refused / sizeof *refused; i++) want |= refused[i] == (spmv_status)s;
        CHECK(spmv_status_is_refusal((spmv_status)s) == want, "%s", spmv_status_name((spmv_status)s));
    }
}

/* The class of each format, which the choice and the tuner use. */
Test(format, classes)
{
    static const spmv_format_class want[SPMV_FORMAT_COUNT] = {
        SPMV_CLASS_DENSE, SPMV_CLASS_FLAT, SPMV_CLASS_FLAT, SPMV_CLASS_DIAGONAL, SPMV_CLASS_DIAGONAL, SPMV_CLASS_FLAT, SPMV_CLASS_FLAT,
        SPMV_CLASS_BLOCK, SPMV_CLASS_BLOCK, SPMV_CLASS_BLOCK, SPMV_CLASS_FLAT, SPMV_CLASS_FLAT };
    int f;
    for (f = 0; f < SPMV_FORMAT_COUNT; f++) {
        int blocks = (spmv_format_flags((spmv_format)f) & SPMV_ROW_BLOCK) != 0;
        CHECK(library_format_class_of((spmv_format)f) == want[f], "%s", spmv_format_name((spmv_format)f));
        CHECK((want[f] == SPMV_CLASS_BLOCK) == blocks, "%s", spmv_format_name((spmv_format)f));
    }
    cr_assert_eq(library_format_class_of(SPMV_FORMAT_COUNT), SPMV_CLASS_COUNT);
}

/* Every format has layouts worth measuring: each is one part in this format and occurs once. */
Test(format, layouts)
{
    int f;
    for (f = 0; f < SPMV_FORMAT_COUNT; f++) {
        const char *const *layout;
        size_t i, j, n = spmv_format_layouts((spmv_format)f, &layout);
        CHECK(n > 0, "%s", spmv_format_name((spmv_format)f));
        for (i = 0; i < n; i++) {
            spmv_plan plan;
            CHECK(spmv_plan_parse(&plan, layout[i], NULL, NULL) == SPMV_OK, "%s", layout[i]);
            CHECK(plan.count == 1 && (int)plan.part[0].format == f, "%s is not of the format", layout[i]);
            for (j = 0; j < i; j++) CHECK(strcmp(layout[i], layout[j]) != 0, "%s occurs twice", layout[i]);
        }
    }
    cr_assert(spmv_format_layouts(SPMV_FORMAT_COUNT, NULL) == 0);
}

Test(golden, clspmv_figures_1_to_6)
{
    static const double data[] = { 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0 }, ell[] = { 3, 4, 1, 2, 7, 8, 5, 6, 0, 0, 9, 0 };
    static const double sell[] = { 3, 4, 7, 8, 1, 2, 5, 6, 9, 0 };
    static const int64_t offset[] = { -2, 0, 1 }, band[] = { -2, 0 }, band_ptr[] = { 0, 1, 3 };
    static const double by_rows[] = { 3, 7, 0, 4, 8, 0, 1, 5, 9, 2, 6, 0 };
    static const int64_t ell_col[] = { 0, 1, 0, 1, 1, 2, 2, 3, -1, -1, 3, -1 };
    static const int64_t by_rows_col[] = { 0, 1, -1, 1, 2, -1, 0, 2, 3, 1, 3, -1 };
    static const int64_t sell_col[] = { 0, 1, 1, 2, 0, 1, 2, 3, 3, -1 }, sell_ptr[] = { 0, 4, 10 };
    static const int64_t row_ptr[] = { 0, 2, 4, 7, 9 }, row[] = { 0, 0, 1, 1, 2, 2, 2, 3, 3 };
    double wide[96];
    int64_t wide_col[96];
    matrix m;
    spmv_csr a;
    spmv_part p;
    from_dense(&m, "B", 4, 4, b_dense, 0);
    a = matrix_csr(&m, SPMV_F64);
    GOLDEN("dense");
    same_values(&p, b_dense, 16);
    spmv_part_destroy(&p);
    GOLDEN("dia");
    spread(data, wide, 12, 4, 32);
    same_values(&p, wide, 96);
    same_index("offset", &p.a[SPMV_DIA_OFFSET], offset, 3);
    CHECK(p.n[SPMV_DIA_DIAGONALS] == 3 && p.n[SPMV_DIA_LD] == 32, "ints of dia");
    spmv_part_destroy(&p);
    GOLDEN("bdia");
    same_values(&p, wide, 96);
    same_index("offset", &p.a[SPMV_BDIA_OFFSET], band, 2);
    same_index("band_ptr", &p.a[SPMV_BDIA_BAND_PTR], band_ptr, 3);
    CHECK(p.n[SPMV_BDIA_BANDS] == 2 && p.n[SPMV_BDIA_LD] == 32, "ints of bdia");
    spmv_part_destroy(&p);
    GOLDEN("ell");
    spread(ell, wide, 12, 4, 32);
    spread_columns(ell_col, wide_col, 12, 4, 32);
    same_values(&p, wide, 96);
    same_index("col", &p.a[SPMV_ELL_COL], wide_col, 96);
    CHECK(p.n[SPMV_ELL_WIDTH] == 3 && p.n[SPMV_ELL_LD] == 32, "ints of ell");
    spmv_part_destroy(&p);
    GOLDEN("ell:rowmajor=1");
    same_values(&p, by_rows, 12);
    same_index("col", &p.a[SPMV_ELL_COL], by_rows_col, 12);
    CHECK(p.n[SPMV_ELL_WIDTH] == 3 && p.n[SPMV_ELL_LD] == 1, "ints of ell by rows");
    spmv_part_destroy(&p);
    GOLDEN("sell:h=2");
    same_values(&p, sell, 10);
    same_index("ptr", &p.a[SPMV_SELL_PTR], sell_ptr, 3);
    same_index("col", &p.a[SPMV_SELL_COL], sell_col, 10);
    CHECK(p.n[SPMV_SELL_H] == 2 && p.n[SPMV_SELL_SLICES] == 2 && !p.a[SPMV_SELL_SLICE_ROW].count, "ints of sell");
    spmv_part_destroy(&p);
    GOLDEN("csr");
    same_values(&p, b_csr, 9);
    same_index("ptr", &p.a[SPMV_CSR_PTR], row_ptr, 5);
    same_index("col", &p.a[SPMV_CSR_COL], b_col, 9);
    spmv_part_destroy(&p);
    GOLDEN("coo");
    same_values(&p, b_csr, 9);
    same_index("row", &p.a[SPMV_COO_ROW], row, 9);
    same_index("col", &p.a[SPMV_COO_COL], b_col, 9);
    spmv_part_destroy(&p);
    spmv_csr_destroy(&a);
    matrix_free(&m);
    cr_assert(checks_done > 100);
}

/* The digits of C are those of base 32; its 0 is stored like any other element of a block. */
static void block_data(const char *digits, double *out)
{
    for (; *digits; digits++)
        if (*digits != ' ') *out++ = *digits <= '9' ? *digits - '0' : *digits - 'a' + 10;
}

Test(golden, clspmv_figures_7_to_9)
{
    static const int64_t bell_col[] = { 0, 0, 4, 4 }, sbell_ptr[] = { 0, 4, 8 }, sbell_col[] = { 0, 0, 4, 4, 0, 0, 4, 4 };
    static const int64_t bcsr_ptr[] = { 0, 2, 4 }, bcsr_col[] = { 0, 4, 0, 4 };
    static const uint64_t sbell_n[] = { 1, 4, 4, 2, 2 }, bcsr_n[] = { 2, 4, 4, 4 }, bell_n[] = { 2, 4, 4, 2, 32 };
    double c[32], want[32], wide[512];
    int64_t wide_col[64];
    matrix m;
    spmv_csr a;
    spmv_part p;
    uint64_t i;
    int keep;
    for (keep = 0; keep < 2; keep++) { /* the first element as an explicit zero, and as fill */
        block_data("0123 ghij 4567 klmn 89ab opqr cdef stuv", c);
        from_dense(&m, "C", 4, 8, c, keep);
        a = matrix_csr(&m, SPMV_F64);
        GOLDEN("bell:b=2x4");
        block_data("0123 89ab 4567 cdef ghij opqr klmn stuv", want);
        memset(wide, 0, sizeof wide);
        for (i = 0; i < 32; i++) wide[i / 8 * 128 + i % 8] = want[i];
        spread_columns(bell_col, wide_col, 4, 2, 32);
        same_values(&p, wide, 512);
        same_index("col", &p.a[SPMV_BELL_COL], wide_col, 64);
        CHECK(!memcmp(p.n, bell_n, sizeof bell_n), "ints of bell");
        CHECK(p.zeros.count == (uint64_t)keep, "explicit zeros");
        spmv_part_destroy(&p);
        GOLDEN("sbell:b=1x4,h=2");
        block_data("0123 4567 ghij klmn 89ab cdef opqr stuv", want);
        same_values(&p, want, 32);
        same_index("ptr", &p.a[SPMV_SBELL_PTR], sbell_ptr, 3);
        same_index("col", &p.a[SPMV_SBELL_COL], sbell_col, 8);
        CHECK(!memcmp(p.n, sbell_n, sizeof sbell_n), "ints of sbell");
        spmv_part_destroy(&p);
        GOLDEN("bcsr:b=2x4");
        block_data("0123 ghij 89ab opqr 4567 klmn cdef stuv", want);
        same_values(&p, want, 32);
        same_index("ptr", &p.a[SPMV_BCSR_PTR], bcsr_ptr, 3);
        same_index("col", &p.a[SPMV_BCSR_COL], bcsr_col, 4);
        CHECK(!memcmp(p.n, bcsr_n, sizeof bcsr_n), "ints of bcsr");
        spmv_part_destroy(&p);
        spmv_csr_destroy(&a);
        matrix_free(&m);
    }
    cr_assert(checks_done > 100);
}

static void cmrs_golden(const spmv_csr *a, const matrix *m, const char *text, const double *val, const int64_t *col, const int64_t *row,
                        int packed)
{
    static const int64_t strip_ptr[] = { 0, 4, 9, 10 };
    int64_t index[10];
    spmv_part p;
    int i;
    CHECK(built(&p, text, m, a, SPMV_F64, 0), "%s", text);
    for (i = 0; i < 10; i++) index[i] = packed ? col[i] * 16 + row[i] : col[i];
    same_values(&p, val, 10);
    same_index("strip_ptr", &p.a[SPMV_CMRS_PTR], strip_ptr, 4);
    same_index("index", &p.a[SPMV_CMRS_INDEX], index, 10);
    same_index("row", &p.a[SPMV_CMRS_ROW], row, packed ? 0 : 10);
    CHECK(p.n[SPMV_CMRS_HEIGHT] == 2 && p.n[SPMV_CMRS_PACKED] == (uint64_t)packed, "ints of cmrs");
    spmv_part_destroy(&p);
}

Test(golden, koza_section_3)
{
    static const double dense[] = { 1, 0, 0, 2, 0, 0, 3, 0, 0, 4, 0, 0, 5, 0, 6, 0, 0, 7, 8, 9, 0, 0, 0, 0, 10 };
    static const double val[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, by_column[] = { 1, 3, 2, 4, 5, 7, 8, 6, 9, 10 };
    static const int64_t col[] = { 0, 3, 1, 4, 2, 4, 2, 3, 4, 4 }, row[] = { 0, 0, 1, 1, 0, 0, 1, 1, 1, 0 };
    static const int64_t col_sorted[] = { 0, 1, 3, 4, 2, 2, 3, 4, 4, 4 }, row_sorted[] = { 0, 1, 0, 1, 0, 1, 1, 0, 1, 0 };
    matrix m;
    spmv_csr a;
    from_dense(&m, "M", 5, 5, dense, 0);
    a = matrix_csr(&m, SPMV_F64);
    cmrs_golden(&a, &m, "cmrs:h=2", val, col, row, 1);
    cmrs_golden(&a, &m, "cmrs:h=2,wide=1", val, col, row, 0);
    cmrs_golden(&a, &m, "cmrs:h=2,sort=1", by_column, col_sorted, row_sorted, 1);
    cmrs_golden(&a, &m, "cmrs:h=2,sort=1,wide=1", by_column, col_sorted, row_sorted, 0);
    spmv_csr_destroy(&a);
    matrix_free(&m);
    cr_assert(checks_done > 100);
}

Test(golden, grewe_figure_1)
{
    static const double dense[] = { 0, 5, 1, 0, 2, 0, 8, 3, 0, 0, 5, 0, 0, 9, 4, 0 }, val[] = { 5, 1, 2, 8, 3, 5, 9, 4 };
    static const int64_t col[] = { 1, 2, 0, 2, 3, 2, 1, 2 }, row[] = { 0, 0, 1, 1, 1, 2, 3, 3 }, ptr[] = { 0, 2, 5, 6, 8 };
    static const double ell[] = { 5, 2, 5, 9, 1, 8, 0, 4, 0, 3, 0, 0 };
    static const int64_t ell_col[] = { 1, 0, 2, 1, 2, 2, -1, 2, -1, 3, -1, -1 };
    double wide[96];
    int64_t wide_col[96];
    matrix m;
    spmv_csr a;
    spmv_part p;
    from_dense(&m, "Grewe", 4, 4, dense, 0);
    a = matrix_csr(&m, SPMV_F64);
    GOLDEN("coo");
    same_values(&p, val, 8);
    same_index("row", &p.a[SPMV_COO_ROW], row, 8);
    same_index("col", &p.a[SPMV_COO_COL], col, 8);
    spmv_part_destroy(&p);
    GOLDEN("csr");
    same_values(&p, val, 8);
    same_index("ptr", &p.a[SPMV_CSR_PTR], ptr, 5);
    same_index("col", &p.a[SPMV_CSR_COL], col, 8);
    spmv_part_destroy(&p);
    GOLDEN("ell");
    spread(ell, wide, 12, 4, 32);
    spread_columns(ell_col, wide_col, 12, 4, 32);
    same_values(&p, wide, 96);
    same_index("col", &p.a[SPMV_ELL_COL], wide_col, 96);
    spmv_part_destroy(&p);
    spmv_csr_destroy(&a);
    matrix_free(&m);
    cr_assert(checks_done > 100);
}

/* Its figures 5, 6, 10, 11 and 12. The matrix of figure 14 is illegible in the text, so dia is the same 5x5 matrix by hand. */
Test(golden, kuresson_5x5)
{
    static const double dense[] = { 0, 0, 3, 1, 0, 2, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 3, 0, 1, 0, 4, 0, 2, 0, 3 };
    static const double val[] = { 3, 1, 2, 4, 2, 3, 1, 4, 2, 3 }, ell[] = { 3, 2, 2, 3, 4, 1, 4, 0, 1, 2, 0, 0, 0, 0, 3 };
    static const int64_t row[] = { 0, 0, 1, 1, 2, 3, 3, 4, 4, 4 }, col[] = { 2, 3, 0, 3, 2, 1, 3, 0, 2, 4 }, ptr[] = { 0, 2, 4, 5, 7, 10 };
    static const int64_t ell_col[] = { 2, 0, 2, 1, 0, 3, 3, -1, 3, 2, -1, -1, -1, -1, 4 };
    static const int64_t offset[] = { -4, -2, -1, 0, 2, 3 };
    static const double diagonals[] = { 0, 0, 0, 0, 4,  0, 0, 0, 3, 2,  0, 2, 0, 0, 0,  0, 0, 2, 1, 3,  3, 4, 0, 0, 0,  1, 0, 0, 0, 0 };
    double wide[192];
    int64_t wide_col[96];
    matrix m;
    spmv_csr a;
    spmv_part p;
    from_dense(&m, "5x5", 5, 5, dense, 0);
    a = matrix_csr(&m, SPMV_F64);
    GOLDEN("dense");
    same_values(&p, dense, 25);
    spmv_part_destroy(&p);
    GOLDEN("coo");
    same_values(&p, val, 10);
    same_index("row", &p.a[SPMV_COO_ROW], row, 10);
    same_index("col", &p.a[SPMV_COO_COL], col, 10);
    spmv_part_destroy(&p);
    GOLDEN("csr");
    same_index("ptr", &p.a[SPMV_CSR_PTR], ptr, 6);
    same_index("col", &p.a[SPMV_CSR_COL], col, 10);
    spmv_part_destroy(&p);
    GOLDEN("ell");
    spread(ell, wide, 15, 5, 32);
    spread_columns(ell_col, wide_col, 15, 5, 32);
    same_values(&p, wide, 96);
    same_index("col", &p.a[SPMV_ELL_COL], wide_col, 96);
    spmv_part_destroy(&p);
    GOLDEN("dia");
    spread(diagonals, wide, 30, 5, 32);
    same_values(&p, wide, 192);
    same_index("offset", &p.a[SPMV_DIA_OFFSET], offset, 6);
    spmv_part_destroy(&p);
    spmv_csr_destroy(&a);
    matrix_free(&m);
    cr_assert(checks_done > 100);
}

/* ---- round trips -------------------------------------------------------------------------------------------------- */

static void round_trip(const matrix *m, const char *text, spmv_type t)
{
    spmv_csr a = matrix_csr(m, t), back;
    spmv_part p;
    const char *diff;
    spmv_status s;
    int updatable;
    for (updatable = 0; updatable < (t == SPMV_F64 ? 2 : 1); updatable++) {
        if (!built(&p, text, m, &a, t, updatable)) continue;
        CHECK(p.nnz == m->nnz && p.cols == m->cols, "%s: header", text);
        s = spmv_parts_to_csr(&back, m->rows, &p, 1, NULL);
        CHECK(s == SPMV_OK, "%s, %s: %s", m->name, text, spmv_status_name(s));
        diff = csr_difference(&a, &back);
        CHECK(!diff, "%s, %s, %s: %s", m->name, text, spmv_type_name(t), diff);
        CHECK(spmv_part_slots(&p) >= m->nnz, "%s: slots", text);
        spmv_csr_destroy(&back);
        spmv_part_destroy(&p);
    }
    spmv_csr_destroy(&a);
}

Test(round_trip, with_explicit_zeros)
{
    matrix m;
    int i, j, k;
    for (i = 0; matrix_awkward(&m, i, WITH_ZEROS); i++, matrix_free(&m))
        for (j = 0; j < SPECS; j++)
            for (k = 0; k < 3; k++)
                if (!too_long(&m, j, k)) round_trip(&m, specs[j], types[k]);
    cr_assert(checks_done > 10000);
}

Test(round_trip, without_zeros)
{
    matrix m;
    int i, j;
    for (i = 0; matrix_awkward(&m, i, REALS); i++, matrix_free(&m))
        for (j = 0; j < SPECS; j++)
            if (!too_long(&m, j, 1)) round_trip(&m, specs[j], SPMV_MIXED);
    cr_assert(checks_done > 5000);
}

/* ---- products ----------------------------------------------------------------------------------------------------- */

static const double factors[] = { 0, 1, -2.5 };

/* y0 between guard bytes, x with its exact size. */
typedef struct vectors {
    void *x, *y0;
    unsigned char *block;
    void *y;
    uint64_t rows, cols;
    spmv_type t;
} vectors;

static vectors vectors_new(const matrix *m, spmv_type t, int reals)
{
    vectors v;
    uint64_t i;
    v.rows = m->rows;
    v.cols = m->cols;
    v.t = t;
    v.x = vector_new(t, m->cols);
    v.y0 = vector_new(t, m->rows);
    v.block = guarded_new(t, m->rows);
    v.y = v.block + CANARY;
    for (i = 0; i < m->cols; i++) vector_set(t, v.x, i, reals ? rng_real() : rng_int());
    for (i = 0; i < m->rows; i++) vector_set(t, v.y0, i, reals ? rng_real() : rng_int());
    return v;
}

static void vectors_free(vectors *v)
{
    free(v->x);
    free(v->y0);
    free(v->block);
}

static void vectors_reset(vectors *v, double beta)
{
    uint64_t i;
    for (i = 0; i < v->rows; i++) vector_set(v->t, v->y, i, beta == 0 ? NAN : vector_get(v->t, v->y0, i));
}

/* The product of one part. coo can only add to y, so beta is applied before. */
static void multiply(const spmv_part *p, double alpha, const vectors *v, double beta)
{
    int whole = library_part_covers(p, v->rows);
    if (!whole) library_scale(v->t, v->rows, beta, v->y);
    spmv_part_mul(p, alpha, v->x, whole ? beta : 1.0, v->y);
}

/* Steps *level to the next level of instructions that is usable here, beginning behind SPMV_SIMD_BEST; returns 0 if there is none.
 * The log names those that are not usable. */
static int next_level(int *level)
{
    static int named;
    while (++*level < SPMV_SIMD_COUNT) {
        if (spmv_simd_usable((spmv_simd)*level)) return 1;
        if (!(named >> *level & 1)) fprintf(stderr, "not usable here, so not tested: level %s\n", spmv_simd_name((spmv_simd)*level));
        named |= 1 << *level;
    }
    return 0;
}

static void exact_products(const matrix *m, const spmv_csr *a, const char *text, spmv_type t, vectors *v)
{
    spmv_part p;
    uint64_t r;
    int i, level = SPMV_SIMD_BEST;
    if (!built(&p, text, m, a, t, 0)) return;
    while (next_level(&level))
        for (i = 0; i < 9; i++) {
            double alpha = factors[i / 3], beta = factors[i % 3];
            p.simd = (spmv_simd)level;
            vectors_reset(v, beta);
            multiply(&p, alpha, v, beta);
            CHECK(guarded_intact(v->block, t, m->rows), "%s, %s: canary", m->name, text);
            for (r = 0; r < m->rows; r++) {
                double want = alpha * row_product(a, r, t, v->x) + (beta == 0 ? 0 : beta * vector_get(t, v->y0, r));
                CHECK(vector_get(t, v->y, r) == want, "%s, %s, %s, %s, alpha %g, beta %g: y[%d] is %g, not %g", m->name, text,
                      spmv_type_name(t), spmv_simd_name(p.simd), alpha, beta, (int)r, vector_get(t, v->y, r), want);
            }
        }
    spmv_part_destroy(&p);
}

Test(product, exact_on_integers)
{
    matrix m;
    int i, j, k;
    for (i = 0; matrix_awkward(&m, i, i % 2 ? WITH_ZEROS : INTEGERS); i++, matrix_free(&m))
        for (k = 0; k < 3; k++) {
            spmv_csr a = matrix_csr(&m, types[k]);
            vectors v = vectors_new(&m, types[k], 0);
            for (j = 0; j < SPECS; j++)
                if (!too_long(&m, j, k)) exact_products(&m, &a, specs[j], types[k], &v);
            vectors_free(&v);
            spmv_csr_destroy(&a);
        }
    cr_assert(checks_done > 100000);
}

/* A part with a row list multiplies and scales only its own rows. */
Test(product, row_lists_leave_other_rows_alone)
{
    matrix m;
    int i, j;
    for (i = 0; matrix_awkward(&m, i, INTEGERS); i++, matrix_free(&m)) {
        spmv_csr a = matrix_csr(&m, SPMV_F64);
        vectors v = vectors_new(&m, SPMV_F64, 0);
        for (j = 0; j < SPECS; j++) {
            spmv_part p;
            uint64_t r;
            if (!strstr(specs[j], "rows=") || !built(&p, specs[j], &m, &a, SPMV_F64, 0)) continue;
            vectors_reset(&v, 1);
            spmv_part_mul(&p, 1, v.x, -2.5, v.y);
            for (r = 0; r < m.rows; r++) {
                double y0 = vector_get(SPMV_F64, v.y0, r), want = row_product(&a, r, SPMV_F64, v.x) - 2.5 * y0;
                if (m.ptr[r] == m.ptr[r + 1]) want = y0;
                CHECK(vector_get(SPMV_F64, v.y, r) == want, "%s, %s: row %d", m.name, specs[j], (int)r);
            }
            spmv_part_destroy(&p);
        }
        vectors_free(&v);
        spmv_csr_destroy(&a);
    }
    cr_assert(checks_done > 1000);
}

static long double magnitude(long double v) { return v < 0 ? -v : v; }

static void bounded_product(const matrix *m, const spmv_csr *a, const char *text, spmv_type t, vectors *v, double alpha, double beta,
                            double *worst)
{
    long double u = t == SPMV_F32 ? 0x1p-24L : 0x1p-53L;
    spmv_part p;
    uint64_t r, k;
    int level = SPMV_SIMD_BEST;
    if (!built(&p, text, m, a, t, 0)) return;
    while (next_level(&level)) {
        p.simd = (spmv_simd)level;
        vectors_reset(v, beta);
        multiply(&p, alpha, v, beta);
        for (r = 0; r < m->rows; r++) {
            long double sum = 0, size = 0, old = beta == 0 ? 0 : (long double)beta * (long double)vector_get(t, v->y0, r), bound, error;
            for (k = a->ptr[r]; k < a->ptr[r + 1]; k++) {
                long double term = (long double)csr_value(a, k) * (long double)vector_get(t, v->x, a->col[k]);
                sum += term;
                size += magnitude(term);
            }
            bound = (long double)(a->ptr[r + 1] - a->ptr[r] + 4) * u * (magnitude(alpha) * size + magnitude(old));
            error = magnitude((long double)vector_get(t, v->y, r) - ((long double)alpha * sum + old));
            CHECK(error <= bound, "%s, %s, %s, %s: row %d, error %Lg, bound %Lg", m->name, text, spmv_type_name(t),
                  spmv_simd_name(p.simd), (int)r, error, bound);
            if (bound > 0 && (double)(error / bound) > *worst) *worst = (double)(error / bound);
        }
    }
    spmv_part_destroy(&p);
}

Test(product, within_the_bound_on_reals)
{
    static const double pairs[][2] = { { 1, 0 }, { -2.5, 1 }, { 0.3, -0.7 } };
    double worst = 0;
    matrix m;
    int i, j, k, n;
    for (i = 0; matrix_awkward(&m, i, REALS); i++, matrix_free(&m))
        for (k = 0; k < 3; k++) {
            spmv_csr a = matrix_csr(&m, types[k]);
            vectors v = vectors_new(&m, types[k], 1);
            for (j = 0; j < SPECS; j++)
                if (!too_long(&m, j, k)) {
                    n = (i + j + k) % 3;
                    bounded_product(&m, &a, specs[j], types[k], &v, pairs[n][0], pairs[n][1], &worst);
                }
            vectors_free(&v);
            spmv_csr_destroy(&a);
        }
    cr_assert(checks_done > 100000);
    cr_assert(worst > 0 && worst < 1, "worst error over bound: %g", worst);
}

/* A NaN or an infinity in x reaches the rows that use it and, in formats without fill, no others. */
Test(product, not_a_number_stays_in_its_rows)
{
    matrix m;
    int i, j;
    for (i = 0; matrix_awkward(&m, i, INTEGERS); i++, matrix_free(&m)) {
        spmv_csr a = matrix_csr(&m, SPMV_F64);
        vectors v = vectors_new(&m, SPMV_F64, 0);
        uint64_t c, r, k;
        for (c = 0; c < m.cols; c++)
            if (c == 0 || c + 1 == m.cols || rng_below(10) == 0) vector_set(SPMV_F64, v.x, c, rng() & 1 ? NAN : INFINITY);
        for (j = 0; j < SPECS; j++) {
            spmv_part p;
            spmv_plan plan = plan_of(specs[j]);
            int level = SPMV_SIMD_BEST;
            if (spmv_format_flags(plan.part[0].format) & SPMV_HAS_FILL) continue;
            if (!built(&p, specs[j], &m, &a, SPMV_F64, 0)) continue;
            while (next_level(&level)) {
                p.simd = (spmv_simd)level;
                vectors_reset(&v, 0);
                multiply(&p, 1, &v, 0);
                for (r = 0; r < m.rows; r++) {
                    int used = 0;
                    double y = vector_get(SPMV_F64, v.y, r);
                    for (k = m.ptr[r]; k < m.ptr[r + 1]; k++) used |= !isfinite(vector_get(SPMV_F64, v.x, m.col[k]));
                    CHECK(used == !isfinite(y), "%s, %s, %s: row %d is %g", m.name, specs[j], spmv_simd_name(p.simd), (int)r, y);
                    if (!used) CHECK(y == row_product(&a, r, SPMV_F64, v.x), "%s, %s: row %d", m.name, specs[j], (int)r);
                }
            }
            spmv_part_destroy(&p);
        }
        vectors_free(&v);
        spmv_csr_destroy(&a);
    }
    cr_assert(checks_done > 10000);
}

/* With alpha 0, neither the matrix nor x is read: a NaN in either does not reach y. */
Test(product, alpha_zero_reads_nothing)
{
    matrix m;
    int j;
    uint64_t i;
    CHECK(matrix_awkward(&m, 21, INTEGERS), "matrix");
    for (i = 0; i < m.nnz; i++) m.val[i] = NAN;
    for (j = 0; j < SPECS; j++) {
        spmv_csr a = matrix_csr(&m, SPMV_F64);
        vectors v = vectors_new(&m, SPMV_F64, 0);
        spmv_part p;
        CHECK(built(&p, specs[j], &m, &a, SPMV_F64, 0), "%s", specs[j]);
        for (i = 0; i < m.cols; i++) vector_set(SPMV_F64, v.x, i, NAN);
        vectors_reset(&v, 1);
        multiply(&p, 0, &v, -2.5);
        for (i = 0; i < m.rows; i++)
            CHECK(vector_get(SPMV_F64, v.y, i) == -2.5 * vector_get(SPMV_F64, v.y0, i), "%s: row %d", specs[j], (int)i);
        vectors_reset(&v, 0);
        multiply(&p, 0, &v, 0);
        for (i = 0; i < m.rows; i++) CHECK(vector_get(SPMV_F64, v.y, i) == 0, "%s: row %d", specs[j], (int)i);
        vectors_free(&v);
        spmv_part_destroy(&p);
        spmv_csr_destroy(&a);
    }
    matrix_free(&m);
    cr_assert(checks_done > 1000);
}

/* Each level can be asked for by its name; one that is not usable is refused with a message. */
Test(product, level_of_instructions)
{
    matrix m;
    spmv_csr a;
    spmv_build how;
    int level;
    cr_assert(matrix_awkward(&m, 1, INTEGERS));
    a = matrix_csr(&m, SPMV_F64);
    memset(&how, 0, sizeof how);
    for (level = SPMV_SIMD_BEST; level < SPMV_SIMD_COUNT; level++) {
        spmv_part p;
        spmv_status s;
        how.simd = (spmv_simd)level;
        cr_assert(spmv_simd_from(spmv_simd_name(how.simd)) == how.simd);
        s = build(&p, "csr", &a, &how, &quiet);
        cr_assert(s == (spmv_simd_usable(how.simd) ? SPMV_OK : SPMV_ERR_UNSUPPORTED), "%s", spmv_simd_name(how.simd));
        if (s == SPMV_OK) cr_assert(level == SPMV_SIMD_BEST ? p.simd != SPMV_SIMD_BEST : p.simd == how.simd);
        spmv_part_destroy(&p);
    }
    how.simd = (spmv_simd)77;
    cr_assert(build(&(spmv_part){ 0 }, "csr", &a, &how, &quiet) == SPMV_ERR_ARGUMENT);
    cr_assert(spmv_simd_usable(SPMV_SIMD_BEST) && spmv_simd_usable(SPMV_SIMD_PLAIN));
    cr_assert(!spmv_simd_usable(SPMV_SIMD_COUNT) && spmv_simd_from("mmx") == SPMV_SIMD_COUNT && spmv_simd_from(NULL) == SPMV_SIMD_COUNT);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

Test(product, strict_mode_refuses_fill)
{
    matrix m;
    int j, refused = 0;
    spmv_csr a;
    CHECK(matrix_awkward(&m, 21, INTEGERS), "matrix");
    a = matrix_csr(&m, SPMV_F64);
    for (j = 0; j < SPECS; j++) {
        spmv_part p;
        spmv_build how;
        ledger l;
        spmv_hooks h = ledger_hooks(&l);
        spmv_plan plan = plan_of(specs[j]);
        int fill = (spmv_format_flags(plan.part[0].format) & SPMV_HAS_FILL) != 0;
        spmv_status s;
        memset(&how, 0, sizeof how);
        how.strict = 1;
        s = build(&p, specs[j], &a, &how, &h);
        CHECK(s == (fill ? SPMV_ERR_STRICT : SPMV_OK), "%s: %s", specs[j], spmv_status_name(s));
        CHECK(!fill || (l.messages == 1 && strstr(l.text, spmv_format_name(plan.part[0].format))), "%s: %s", specs[j], l.text);
        refused += fill;
        spmv_part_destroy(&p);
        CHECK(l.live == 0, "%s: %d blocks left", specs[j], (int)l.live);
    }
    spmv_csr_destroy(&a);
    matrix_free(&m);
    cr_assert(refused > 20);
}

/* Rows of lengths that csr sums in different ways; the last rows end where the arrays do. Mixed: many nonzeros on average. Alike: lengths
 * from 0 to 9 that change every 16 rows. Blocks: blocks of 64 rows that are short, uneven, or too long to be summed at once. Far: scattered
 * over so many columns that x does not fit the caches. */
static void matrix_lengths(matrix *m, int lengths, uint64_t rows, values kind)
{
    static const char *const names[] = { "mixed lengths", "lengths alike", "blocks of rows", "far columns" };
    uint64_t r, j;
    matrix_open(m, names[lengths], rows, lengths == SPMV__LENGTHS_FAR ? 1300003 : 300);
    for (r = 0; r < rows; r++) {
        const uint64_t block = r / 64;
        uint64_t n = rng_below(5);
        if (lengths == SPMV__LENGTHS_ALIKE) n = r / 16 % 10;
        if (lengths == SPMV__LENGTHS_MIXED) n = block % 4 ? rng_below(30) : r / 8 % 10;
        if (lengths == SPMV__LENGTHS_BLOCKS && block % 4 == 2) n = rng_below(9);
        if (lengths == SPMV__LENGTHS_FAR) n = rng_below(23);
        if (block % 4 == 3 && r % 64 / 16 == 1) n = rng_below(40);
        if (block % 8 == 7 && r % 64 == 33) n = 300;
        if (lengths != SPMV__LENGTHS_FAR) matrix_random_row(m, n);
        else
            for (j = 0; j < n; j++) matrix_add(m, j * (m->cols / n) + rng_below(m->cols / n));
        m->ptr[r + 1] = m->nnz;
    }
    matrix_close(m, kind);
}

Test(product, rows_of_all_lengths)
{
    static const char *const texts[] = { "csr", "csr:run=1024", "csr:run=256,idx=16", "csr:rows=nonempty", "csr:rows=sorted,sigma=256",
                                         "coo", "tcsr" };
    static const uint64_t rows[] = { 63, 64, 65, 71, 72, 512, 700, 2000, 2048 };
    double worst = 0;
    size_t i, j, k;
    int lengths;
    for (lengths = SPMV__LENGTHS_MIXED; lengths <= SPMV__LENGTHS_FAR; lengths++)
        for (i = lengths == SPMV__LENGTHS_FAR ? 7 : 0; i < sizeof rows / sizeof *rows; i++)
            for (k = 0; k < 3; k++) {
                matrix m;
                spmv_csr a;
                spmv_part p;
                vectors v;
                matrix_lengths(&m, lengths, rows[i], INTEGERS);
                a = matrix_csr(&m, types[k]);
                if (built(&p, "csr", &m, &a, types[k], 0)) {
                    CHECK(rows[i] < 2000 || p.lengths == lengths, "%s: taken for %d", m.name, p.lengths);
                    spmv_part_destroy(&p);
                }
                v = vectors_new(&m, types[k], 0);
                for (j = 0; j < sizeof texts / sizeof *texts; j++) exact_products(&m, &a, texts[j], types[k], &v);
                vectors_free(&v);
                spmv_csr_destroy(&a);
                matrix_free(&m);
                matrix_lengths(&m, lengths, rows[i], REALS);
                a = matrix_csr(&m, types[k]);
                v = vectors_new(&m, types[k], 1);
                for (j = 0; j < sizeof texts / sizeof *texts; j++) bounded_product(&m, &a, texts[j], types[k], &v, -2.5, 0.3, &worst);
                vectors_free(&v);
                spmv_csr_destroy(&a);
                matrix_free(&m);
            }
    cr_assert(checks_done > 100000 && worst > 0 && worst < 1, "worst error over bound: %g", worst);
}

#ifdef _OPENMP
Test(product, same_bits_for_any_number_of_threads)
{
    static const double densities[] = { 0.15, 0.9 };
    matrix m;
    int i, j, k, n;
    for (i = 0; i < 7; i++) { /* the fourth has rows that threads share */
        if (i < 2) matrix_random(&m, "large", i ? 260 : 700, i ? 300 : 640, densities[i]);
        else if (i == 2) matrix_skewed(&m, "skewed", 3000, 900, 800);
        else if (i == 3) matrix_random(&m, "long rows", 5, 40000, 0.8);
        else matrix_lengths(&m, i - 3, i < 6 ? 20000 : 6000, REALS);
        if (i < 4) matrix_close(&m, REALS);
        CHECK(m.nnz > 60000, "too small to start threads");
        for (k = 0; k < 3; k++) {
            spmv_csr a = matrix_csr(&m, types[k]);
            vectors v = vectors_new(&m, types[k], 1);
            size_t bytes = m.rows * spmv_vector_size(types[k]);
            void *one = need_exact(bytes);
            for (j = 0; j < SPECS; j++) {
                spmv_part p;
                if (!built(&p, specs[j], &m, &a, types[k], 0)) continue;
                for (n = 1; n <= 3; n++) {
                    omp_set_num_threads(n);
                    vectors_reset(&v, 1);
                    library_alone(0);
                    multiply(&p, 0.3, &v, -0.7);
                    if (n == 1) memcpy(one, v.y, bytes);
                    CHECK(!memcmp(one, v.y, bytes), "%s, %s: %d threads", m.name, specs[j], n);
                }
                spmv_part_destroy(&p);
            }
            free(one);
            vectors_free(&v);
            spmv_csr_destroy(&a);
        }
        matrix_free(&m);
    }
    cr_assert(checks_done > 500);
}

/* More long rows than threads cut at once. */
Test(product, same_bits_where_many_rows_are_cut)
{
    enum { ROWS = 40, THREADS = 16 };
    matrix m;
    double one[ROWS];
    int k;
    matrix_random(&m, "many long rows", ROWS, 20000, 0.9);
    matrix_close(&m, REALS);
    for (k = 0; k < 3; k++) {
        const size_t bytes = ROWS * spmv_vector_size(types[k]);
        spmv_csr a = matrix_csr(&m, types[k]);
        vectors v = vectors_new(&m, types[k], 1);
        spmv_part p;
        cr_assert(built(&p, "csr", &m, &a, types[k], 0));
        omp_set_num_threads(1);
        vectors_reset(&v, 1);
        multiply(&p, 0.3, &v, -0.7);
        memcpy(one, v.y, bytes);
        omp_set_num_threads(THREADS);
        library_alone(0);
        vectors_reset(&v, 1);
        multiply(&p, 0.3, &v, -0.7);
        CHECK(!memcmp(one, v.y, bytes), "type %d", (int)types[k]);
        spmv_part_destroy(&p);
        vectors_free(&v);
        spmv_csr_destroy(&a);
    }
    matrix_free(&m);
    cr_assert(checks_done == 3);
}

/* 1 if two arrays have the same elements. */
static int same_array(const spmv_array *a, const spmv_array *b)
{
    return a->count == b->count && a->width == b->width && (!a->count || !memcmp(a->data, b->data, (size_t)(a->count * a->width)));
}

/* 1 if two parts have the same arrays. */
static int same_part(const spmv_part *a, const spmv_part *b)
{
    int k, same = same_array(&a->zeros, &b->zeros) && same_array(&a->map, &b->map) && !memcmp(a->n, b->n, sizeof a->n);
    same = same && a->index == b->index && a->nnz == b->nnz;
    for (k = 0; k < SPMV_MAX_ARRAYS; k++) same = same && same_array(&a->a[k], &b->a[k]);
    return same;
}

/* Arrays, splits and features of a matrix have the same bits with one thread as with several. */
static void prepare_alike(const matrix *m)
{
    static const char *const plans[] = {
        "ell:w=3+coo", "sell:h=16,fill=0.7+csr:rows=nonempty", "bcsr:b=3x3,d=0.3+csr:run=64", "dia:d=0.5+sell:h=8,rows=sorted,sigma=64"
    };
    spmv_store one, more;
    spmv_features f, g;
    spmv_plan plan;
    spmv_build how;
    spmv_view v;
    size_t j;
    int n, i;
    spmv_csr a = matrix_csr(m, SPMV_F64);
    memset(&how, 0, sizeof how);
    how.updatable = 1;
    memset(&v, 0, sizeof v);
    v.a = &a;
    v.rows = a.rows;
    for (j = 0; j < SPECS + sizeof plans / sizeof *plans; j++) {
        const char *text = j < SPECS ? specs[j] : plans[j - SPECS];
        cr_assert_eq(spmv_plan_parse(&plan, text, NULL, &quiet), SPMV_OK);
        omp_set_num_threads(1);
        if (spmv_store_create(&one, &plan, &a, &how, &quiet) != SPMV_OK) continue;
        for (n = 2; n <= 3; n++) {
            omp_set_num_threads(n);
            library_alone(0);
            cr_assert_eq(spmv_store_create(&more, &plan, &a, &how, &quiet), SPMV_OK);
            CHECK(one.count == more.count, "%s, %s: %d parts with %d threads", m->name, text, more.count, n);
            for (i = 0; i < one.count; i++)
                CHECK(same_part(&one.part[i], &more.part[i]), "%s, %s, part %d: %d threads", m->name, text, i, n);
            spmv_store_destroy(&more);
        }
        spmv_store_destroy(&one);
    }
    omp_set_num_threads(1);
    cr_assert_eq(library_features_make(&f, &v, 0, 0, NULL), SPMV_OK);
    omp_set_num_threads(3);
    cr_assert_eq(library_features_make(&g, &v, 0, 0, NULL), SPMV_OK);
    CHECK(!memcmp(&f, &g, sizeof f), "%s: features", m->name);
    spmv_csr_destroy(&a);
}

enum { TEAM = 2, TEAM_SHARES = 40 };

/* What tasks were done, and by which threads. */
typedef struct team_log {
    double seconds;       /* that each task of number late, or each share, takes at least */
    size_t late;          /* TEAM: no task does */
    int done[TEAM_SHARES], together[TEAM_SHARES]; /* how often; 1: in a team */
} team_log;

static void team_note(team_log *l, size_t i, double seconds)
{
    const double begin = omp_get_wtime();
    while (omp_get_wtime() - begin < seconds) {}
    l->done[i]++;
    l->together[i] = omp_in_parallel();
}

static void team_task(void *log, size_t i)
{
    team_log *l = (team_log *)log;
    team_note(l, i, i == l->late ? l->seconds : 0);
}

static void team_share(void *log, uint64_t share, size_t thread)
{
    team_log *l = (team_log *)log;
    cr_assert(thread < TEAM);
    team_note(l, (size_t)share, l->seconds);
}

/* How many of the first n tasks or shares were done in a team; each must have been done once. Clears the log. */
static int team_count(team_log *l, size_t n)
{
    size_t i;
    int together = 0;
    for (i = 0; i < n; i++) {
        CHECK(l->done[i] == 1, "task %d: %d times", (int)i, l->done[i]);
        together += l->together[i];
        l->done[i] = l->together[i] = 0;
    }
    return together;
}

/* The thread that calls does tasks alone once another of its team has been late twice in a row, and in a team again when it has done so for
 * four times as long; in work that is shared, from the next share on. */
Test(threads, alone_after_two_late_ones)
{
    team_log l = { 0.05, 1, { 0 }, { 0 } };
    double alone[3] = { 1, 1, 0 }; /* after a job in time, and two of which the second task is late */
    int i, j;
    omp_set_num_threads(TEAM);
    for (i = 0; i < 20 && (alone[1] > 0 || alone[2] < 4 * 0.02); i++) { /* where other programs run, any thread may be late */
        library_alone(0);
        for (j = 0; j < 3; j++) {
            l.late = j ? 1 : TEAM;
            library_parallel(team_task, &l, TEAM);
            cr_assert_eq(team_count(&l, TEAM), TEAM);
            alone[j] = library_alone(j < 2 ? 0 : 100);
        }
    }
    cr_assert(!(alone[1] > 0), "alone for %g s after one delay", alone[1]);
    cr_assert(alone[2] >= 4 * 0.02 && alone[2] < 100, "alone for %g s", alone[2]);
    l.seconds = 0.002;
    library_parallel(team_task, &l, TEAM);
    cr_assert_eq(team_count(&l, TEAM), 0);
    library_share(team_share, &l, TEAM_SHARES, TEAM);
    cr_assert_eq(team_count(&l, TEAM_SHARES), 0);
    alone[0] = library_alone(0.003);
    cr_assert(alone[0] < 100 - 0.002 * (TEAM_SHARES + 1) && alone[0] > 0, "%g s are left", alone[0]);
    library_share(team_share, &l, TEAM_SHARES, TEAM);
    i = team_count(&l, TEAM_SHARES);
    cr_assert(i >= TEAM_SHARES - 2 && i < TEAM_SHARES, "%d shares in the team", i);
}

Test(threads, prepare_the_same_bits)
{
    matrix m;
    matrix_random(&m, "uneven", 1500, 400, 0.03);
    matrix_close(&m, WITH_ZEROS);
    prepare_alike(&m);
    matrix_free(&m);
    matrix_bands(&m, "bands", 1500, 1500, -2, 2, 30, 33);
    matrix_close(&m, WITH_ZEROS);
    prepare_alike(&m);
    matrix_free(&m);
    cr_assert(checks_done > 100);
}
#endif

/* ---- input -------------------------------------------------------------------------------------------------------- */

/* Indices of a given width and base. */
static void *indices(const uint64_t *src, uint64_t n, int bits, int base)
{
    void *out = need_exact(n * (uint64_t)bits / 8);
    uint64_t i;
    for (i = 0; i < n; i++) {
        if (bits == 64) ((int64_t *)out)[i] = (int64_t)src[i] + base;
        else ((int32_t *)out)[i] = (int32_t)src[i] + base;
    }
    return out;
}

typedef struct triplets {
    uint64_t  n;
    uint64_t *row, *col;
    double   *val;
} triplets;

static void triplets_swap(triplets *t, uint64_t i, uint64_t j)
{
    uint64_t r = t->row[i], c = t->col[i];
    double v = t->val[i];
    t->row[i] = t->row[j];
    t->col[i] = t->col[j];
    t->val[i] = t->val[j];
    t->row[j] = r;
    t->col[j] = c;
    t->val[j] = v;
}

/* The matrix's entries in random order; each place up to copies times. Values of duplicates are of very different size, so
 * that the order of summation shows. */
static triplets triplets_of(const matrix *m, uint64_t copies)
{
    triplets t;
    uint64_t r, k, i;
    t.n = 0;
    t.row = (uint64_t *)need(m->nnz * copies, 8);
    t.col = (uint64_t *)need(m->nnz * copies, 8);
    t.val = (double *)need(m->nnz * copies, 8);
    for (r = 0; r < m->rows; r++)
        for (k = m->ptr[r]; k < m->ptr[r + 1]; k++)
            for (i = 1 + rng_below(copies); i; i--, t.n++) {
                t.row[t.n] = r;
                t.col[t.n] = m->col[k];
                t.val[t.n] = copies == 1 ? m->val[k] : ldexp(rng_int(), (int)rng_below(3) * 40);
            }
    for (i = t.n; i > 1; i--) triplets_swap(&t, i - 1, rng_below(i));
    return t;
}

static void triplets_free(triplets *t)
{
    free(t->row);
    free(t->col);
    free(t->val);
}

/* The expected sum of the duplicates at a place, in the order given, found by search. */
static void triplets_sum(const triplets *t, matrix *m)
{
    uint64_t r, k, i;
    for (r = 0; r < m->rows; r++)
        for (k = m->ptr[r]; k < m->ptr[r + 1]; k++) {
            int first = 1;
            for (i = 0; i < t->n; i++)
                if (t->row[i] == r && t->col[i] == m->col[k]) {
                    m->val[k] = first ? t->val[i] : m->val[k] + t->val[i];
                    first = 0;
                }
            m->valf[k] = (float)m->val[k];
        }
}

/* Groups triplets by row (or column) without changing the order within one: CSR or CSC with unsorted rows or columns. */
static uint64_t *triplets_group(triplets *t, uint64_t lines, int by_column)
{
    uint64_t *ptr = (uint64_t *)need(lines + 2, 8), i, o, used = 0;
    triplets g;
    g.n = t->n;
    g.row = (uint64_t *)need(t->n, 8);
    g.col = (uint64_t *)need(t->n, 8);
    g.val = (double *)need(t->n, 8);
    for (o = 0; o < lines; o++) {
        for (i = 0; i < t->n; i++)
            if ((by_column ? t->col[i] : t->row[i]) == o) {
                g.row[used] = t->row[i];
                g.col[used] = t->col[i];
                g.val[used++] = t->val[i];
            }
        ptr[o + 1] = used;
    }
    triplets_free(t);
    *t = g;
    return ptr;
}

static void convert(const matrix *m, const triplets *t, const uint64_t *ptr, uint64_t lines, spmv_input_form form, int bits, int base,
                    int ptr_bits)
{
    spmv_input in;
    spmv_csr out, want = matrix_csr(m, SPMV_F64);
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    void *row = indices(t->row, t->n, bits, base), *col = indices(t->col, t->n, bits, base);
    void *lines_ptr = ptr ? indices(ptr, lines + 1, ptr_bits, base) : NULL;
    const char *diff;
    spmv_status s;
    memset(&in, 0, sizeof in);
    in.form = form;
    in.rows = (int64_t)m->rows;
    in.cols = (int64_t)m->cols;
    in.nnz = form == SPMV_IN_COO || rng() & 1 ? (int64_t)t->n : 0;
    in.ptr = lines_ptr;
    in.row = form == SPMV_IN_CSR ? NULL : row;
    in.col = form == SPMV_IN_CSC ? NULL : col;
    in.val = t->val;
    in.ptr_bits = ptr_bits;
    in.index_bits = bits == 32 ? 0 : bits;
    in.base = base;
    in.updatable = (int)(rng() & 1);
    in.borrow = (int)(rng() & 1);
    s = spmv_csr_create(&out, &in, SPMV_F64, &h);
    CHECK(s == SPMV_OK, "%s, form %d: %s, %s", m->name, (int)form, spmv_status_name(s), l.text);
    diff = csr_difference(&want, &out);
    CHECK(!diff, "%s, form %d, %d bits, base %d: %s", m->name, (int)form, bits, base, diff);
    spmv_csr_destroy(&out);
    CHECK(l.live == 0 && l.messages == 0, "%s: %d blocks left", m->name, (int)l.live);
    spmv_csr_destroy(&want);
    free(row);
    free(col);
    free(lines_ptr);
}

Test(input, every_form_width_and_base)
{
    matrix m;
    int i, n;
    for (i = 0; matrix_awkward(&m, i, WITH_ZEROS); i++, matrix_free(&m)) {
        if (m.nnz > 3000) continue; /* grouping here is quadratic */
        for (n = 0; n < 16; n++) {
            int bits = n & 1 ? 64 : 32, base = n >> 1 & 1, ptr_bits = n & 4 ? 64 : 32;
            triplets t = triplets_of(&m, n & 8 ? 4 : 1);
            uint64_t *ptr;
            triplets_sum(&t, &m);
            convert(&m, &t, NULL, 0, SPMV_IN_COO, bits, base, ptr_bits);
            ptr = triplets_group(&t, m.rows, 0); /* the expected sums stay the same: grouping keeps the order of duplicates */
            convert(&m, &t, ptr, m.rows, SPMV_IN_CSR, bits, base, ptr_bits);
            free(ptr);
            ptr = triplets_group(&t, m.cols, 1);
            convert(&m, &t, ptr, m.cols, SPMV_IN_CSC, bits, base, ptr_bits);
            free(ptr);
            triplets_free(&t);
        }
    }
    cr_assert(checks_done > 2000);
}

/* Blocks in random places and a random order. Every element of a block becomes an entry, even a zero. */
static void convert_blocks(uint64_t block_rows, uint64_t block_cols, int bh, int bw, int by_columns, int bits, int base, int drop)
{
    uint64_t rows = block_rows * (uint64_t)bh, cols = block_cols * (uint64_t)bw, size = (uint64_t)(bh * bw), o, b, r, c, n = 0, nnz = 0;
    uint64_t *ptr = (uint64_t *)need(block_rows + 1, 8), *col = (uint64_t *)need(block_rows * block_cols, 8);
    double *val = (double *)need(block_rows * block_cols * size, 8), *dense = (double *)need(rows * cols, 8);
    char *there = (char *)need(rows * cols, 1);
    spmv_input in;
    spmv_csr out;
    void *p, *q;
    spmv_status s;
    for (o = 0; o < block_rows; o++) {
        for (b = block_cols; b--;) /* falling: unsorted */
            if (rng() & 1) {
                for (r = 0; r < size; r++) {
                    uint64_t i = by_columns ? r % (uint64_t)bh : r / (uint64_t)bw, j = by_columns ? r / (uint64_t)bh : r % (uint64_t)bw;
                    uint64_t at = (o * (uint64_t)bh + i) * cols + b * (uint64_t)bw + j;
                    val[n * size + r] = dense[at] = rng_below(3) ? rng_int() : 0;
                    there[at] = !drop || dense[at] != 0;
                    nnz += (uint64_t)there[at];
                }
                col[n++] = b;
            }
        ptr[o + 1] = n;
    }
    p = indices(ptr, block_rows + 1, bits, base);
    q = indices(col, n, bits, base);
    memset(&in, 0, sizeof in);
    in.form = SPMV_IN_BSR;
    in.rows = (int64_t)rows;
    in.cols = (int64_t)cols;
    in.nnz = (int64_t)n;
    in.ptr = p;
    in.col = q;
    in.val = val;
    in.ptr_bits = in.index_bits = bits;
    in.base = base;
    in.block_rows = bh;
    in.block_cols = bw;
    in.block_by_columns = by_columns;
    in.drop_zeros = drop;
    s = spmv_csr_create(&out, &in, SPMV_F64, &quiet);
    CHECK(s == SPMV_OK, "%dx%d: %s", bh, bw, spmv_status_name(s));
    CHECK(out.rows == rows && out.cols == cols && out.nnz == nnz, "%dx%d: shape", bh, bw);
    for (r = n = 0; r < rows; r++) {
        CHECK(out.ptr[r] == n, "ptr");
        for (c = 0; c < cols; c++)
            if (there[r * cols + c]) {
                CHECK(out.col[n] == c && csr_value(&out, n) == dense[r * cols + c], "%dx%d: row %d, column %d", bh, bw, (int)r, (int)c);
                n++;
            }
    }
    spmv_csr_destroy(&out);
    free(p);
    free(q);
    free(ptr);
    free(col);
    free(val);
    free(dense);
    free(there);
}

Test(input, blocks)
{
    static const int sizes[][2] = { { 1, 1 }, { 1, 3 }, { 2, 1 }, { 2, 2 }, { 3, 5 }, { 4, 4 }, { 7, 2 } };
    int i, n;
    for (i = 0; i < 7; i++)
        for (n = 0; n < 16; n++) {
            convert_blocks(5, 7, sizes[i][0], sizes[i][1], n & 1, n & 2 ? 64 : 32, n >> 2 & 1, n >> 3);
            convert_blocks(0, 7, sizes[i][0], sizes[i][1], n & 1, n & 2 ? 64 : 32, n >> 2 & 1, n >> 3);
            convert_blocks(4, 0, sizes[i][0], sizes[i][1], n & 1, n & 2 ? 64 : 32, n >> 2 & 1, n >> 3);
        }
    cr_assert(checks_done > 1000);
}

Test(input, values_absent_narrowed_and_widened)
{
    static const uint64_t ptr[] = { 0, 1, 3 };
    static const uint32_t col[] = { 1, 0, 1 };
    static const float narrow[] = { 0.1f, -0.0f, 3 };
    static const double wide[] = { 0.1, 1e300, -0.0 };
    spmv_input in;
    spmv_csr a;
    memset(&in, 0, sizeof in);
    in.rows = in.cols = 2;
    in.ptr = ptr;
    in.ptr_bits = 64;
    in.col = col;
    in.borrow = 1;
    cr_assert(spmv_csr_create(&a, &in, SPMV_F64, NULL) == SPMV_OK);
    cr_assert(csr_value(&a, 0) == 1 && csr_value(&a, 1) == 1 && csr_value(&a, 2) == 1);
    cr_assert(a.ptr == ptr && a.col == col, "borrowed beside made values");
    spmv_csr_destroy(&a);
    in.val = narrow;
    in.val_type = SPMV_F32;
    cr_assert(spmv_csr_create(&a, &in, SPMV_F64, NULL) == SPMV_OK);
    cr_assert(a.type == SPMV_F64 && csr_value(&a, 0) == (double)0.1f && signbit(csr_value(&a, 1)));
    spmv_csr_destroy(&a);
    cr_assert(spmv_csr_create(&a, &in, SPMV_MIXED, NULL) == SPMV_OK);
    cr_assert(a.type == SPMV_F32 && a.val == narrow && a.owned == 0);
    spmv_csr_destroy(&a);
    in.val = wide;
    in.val_type = SPMV_F64;
    cr_assert(spmv_csr_create(&a, &in, SPMV_F32, NULL) == SPMV_OK);
    cr_assert(a.type == SPMV_F32 && ((const float *)a.val)[0] == 0.1f && isinf(((const float *)a.val)[1]));
    cr_assert(signbit(((const float *)a.val)[2]));
    spmv_csr_destroy(&a);
}

Test(input, borrowed_arrays_are_the_callers)
{
    matrix m;
    int i;
    for (i = 0; matrix_awkward(&m, i, INTEGERS); i++, matrix_free(&m)) {
        spmv_input in = matrix_input(&m, SPMV_F64);
        spmv_csr a;
        spmv_part p;
        spmv_build how;
        ledger l;
        spmv_hooks h = ledger_hooks(&l);
        in.borrow = 1;
        CHECK(spmv_csr_create(&a, &in, SPMV_F64, &h) == SPMV_OK, "%s", m.name);
        CHECK(a.ptr == m.ptr && a.col == m.col && a.val == m.val && a.owned == 0 && l.calls == 0, "%s: copied", m.name);
        memset(&how, 0, sizeof how);
        how.borrow = 1;
        CHECK(build(&p, "csr", &a, &how, &h) == SPMV_OK, "%s", m.name);
        CHECK(!m.nnz || (p.a[SPMV_VAL].data == m.val && p.a[SPMV_CSR_COL].data == m.col), "%s: the part copied", m.name);
        spmv_part_destroy(&p);
        how.updatable = 1; /* then the library must have values of its own */
        CHECK(build(&p, "csr", &a, &how, &h) == SPMV_OK, "%s", m.name);
        CHECK(!m.nnz || p.a[SPMV_VAL].data != m.val, "%s: the part borrowed", m.name);
        spmv_part_destroy(&p);
        spmv_csr_destroy(&a);
        CHECK(l.live == 0, "%s: %d left", m.name, (int)l.live);
        in.borrow = 0;
        CHECK(spmv_csr_create(&a, &in, SPMV_F64, &h) == SPMV_OK, "%s", m.name);
        CHECK(a.ptr != m.ptr && (!m.nnz || (a.col != m.col && a.val != m.val)) && l.live == (m.nnz ? 3 : 1), "%s: borrowed", m.name);
        spmv_csr_destroy(&a);
    }
    cr_assert(checks_done > 100);
}

Test(input, dropped_zeros)
{
    static const int32_t row[] = { 2, 0, 2, 1, 2, 0, 1 }, col[] = { 1, 0, 1, 1, 0, 2, 2 };
    static const double val[] = { 4, 0, -4, -0.0, 5, 7, 0 };
    spmv_input in;
    spmv_csr a;
    memset(&in, 0, sizeof in);
    in.form = SPMV_IN_COO;
    in.rows = in.cols = 3;
    in.nnz = 7;
    in.row = row;
    in.col = col;
    in.val = val;
    cr_assert(spmv_csr_create(&a, &in, SPMV_F64, NULL) == SPMV_OK);
    cr_assert(a.nnz == 6, "kept: %d", (int)a.nnz);
    spmv_csr_destroy(&a);
    in.drop_zeros = 1;
    cr_assert(spmv_csr_create(&a, &in, SPMV_F64, NULL) == SPMV_OK);
    cr_assert(a.nnz == 2 && a.ptr[0] == 0 && a.ptr[1] == 1 && a.ptr[2] == 1 && a.ptr[3] == 2);
    cr_assert(a.col[0] == 2 && a.col[1] == 0 && csr_value(&a, 0) == 7 && csr_value(&a, 1) == 5);
    spmv_csr_destroy(&a);
}

/* A valid 3 x 4 matrix in each form, in which tests then plant faults. */
typedef struct sample {
    int32_t ptr[5], row[6], col[6];
    int64_t ptr64[5], col64[6];
    double  val[24];
    spmv_input in;
} sample;

static sample good(spmv_input_form form)
{
    static const int32_t csr_ptr[] = { 0, 2, 3, 5 }, csr_col[] = { 0, 3, 1, 0, 2 }, coo_row[] = { 0, 0, 1, 2, 2 };
    static const int32_t csc_ptr[] = { 0, 2, 3, 4, 5 }, csc_row[] = { 0, 2, 1, 2, 0 };
    sample s;
    int i;
    memset(&s, 0, sizeof s);
    memcpy(s.ptr, form == SPMV_IN_CSC ? csc_ptr : csr_ptr, form == SPMV_IN_CSC ? sizeof csc_ptr : sizeof csr_ptr);
    memcpy(s.col, csr_col, sizeof csr_col);
    memcpy(s.row, form == SPMV_IN_CSC ? csc_row : coo_row, sizeof coo_row);
    for (i = 0; i < 5; i++) s.ptr64[i] = s.ptr[i];
    for (i = 0; i < 5; i++) s.col64[i] = s.col[i];
    s.in.form = form;
    s.in.rows = 3;
    s.in.cols = 4;
    s.in.nnz = 5;
    return s;
}

static void point(sample *s)
{
    int coo = s->in.form == SPMV_IN_COO, csc = s->in.form == SPMV_IN_CSC;
    s->in.ptr = coo ? NULL : s->in.ptr_bits == 64 ? (const void *)s->ptr64 : (const void *)s->ptr;
    s->in.row = coo || csc ? s->row : NULL;
    s->in.col = csc ? NULL : s->in.index_bits == 64 ? (const void *)s->col64 : (const void *)s->col;
    s->in.val = s->val;
}

static int refusals;
static void refused(const sample *s, spmv_status want, const char *words, int line)
{
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    spmv_csr a;
    spmv_status got;
    memset(&a, 0x77, sizeof a);
    got = spmv_csr_create(&a, &s->in, SPMV_F64, &h);
    CHECK(got == want, "line %d: %s (%s)", line, spmv_status_name(got), l.text);
    if (want != SPMV_OK) {
        CHECK(l.messages == 1 && l.last == want, "line %d: %d messages", line, l.messages);
        CHECK(strstr(l.text, words), "line %d: \"%s\" lacks \"%s\"", line, l.text, words);
        CHECK(!a.ptr && !a.col && !a.val && !a.rows, "line %d: not zeroed", line);
    }
    spmv_csr_destroy(&a);
    CHECK(l.live == 0, "line %d: %d blocks left", line, (int)l.live);
    refusals += want != SPMV_OK;
}

#define BAD(layout, want, words, ...)        \
    do {                                     \
        sample s = good(layout);             \
        point(&s);                           \
        do { __VA_ARGS__; } while (0);       \
        refused(&s, want, words, __LINE__);  \
    } while (0)
#define CSR SPMV_IN_CSR
#define CSC SPMV_IN_CSC
#define COO SPMV_IN_COO
#define BSR SPMV_IN_BSR

Test(input, bad_shapes_and_settings)
{
    BAD(CSR, SPMV_OK, "", (void)0);
    BAD(CSC, SPMV_OK, "", (void)0);
    BAD(COO, SPMV_OK, "", (void)0);
    BAD(CSR, SPMV_ERR_ARGUMENT, "rows and cols", s.in.rows = -1);
    BAD(CSR, SPMV_ERR_ARGUMENT, "rows and cols", s.in.cols = -1);
    BAD(COO, SPMV_ERR_ARGUMENT, "4294967294", s.in.rows = 0xffffffff);
    BAD(COO, SPMV_ERR_ARGUMENT, "4294967294", s.in.cols = 0xffffffff);
    BAD(CSC, SPMV_ERR_ARGUMENT, "rows and cols", s.in.rows = INT64_MIN);
    BAD(CSC, SPMV_ERR_ARGUMENT, "rows and cols", s.in.cols = INT64_MAX);
    BAD(CSR, SPMV_ERR_ARGUMENT, "nnz", s.in.nnz = -1);
    BAD(COO, SPMV_ERR_ARGUMENT, "nnz", s.in.nnz = INT64_MIN);
    BAD(CSR, SPMV_ERR_ARGUMENT, "form", s.in.form = (spmv_input_form)4);
    BAD(CSR, SPMV_ERR_ARGUMENT, "form", s.in.form = (spmv_input_form)77);
    BAD(CSR, SPMV_ERR_ARGUMENT, "bits", s.in.ptr_bits = 16);
    BAD(CSR, SPMV_ERR_ARGUMENT, "bits", s.in.index_bits = 8);
    BAD(COO, SPMV_ERR_ARGUMENT, "bits", s.in.index_bits = -32);
    BAD(CSR, SPMV_ERR_ARGUMENT, "base", s.in.base = 2);
    BAD(CSR, SPMV_ERR_ARGUMENT, "-1", s.in.base = -1);
    BAD(COO, SPMV_ERR_ARGUMENT, "drop_zeros and updatable", s.in.drop_zeros = s.in.updatable = 1);
    BAD(CSR, SPMV_ERR_ARGUMENT, "val_type", s.in.val_type = SPMV_MIXED);
    BAD(CSR, SPMV_ERR_ARGUMENT, "val_type", s.in.val_type = SPMV_TYPE_COUNT);
    BAD(CSR, SPMV_ERR_ARGUMENT, "ptr is NULL", s.in.ptr = NULL);
    BAD(CSC, SPMV_ERR_ARGUMENT, "ptr is NULL", s.in.ptr = NULL);
    BAD(BSR, SPMV_ERR_ARGUMENT, "ptr is NULL", s.in.ptr = NULL; s.in.block_rows = s.in.block_cols = 1);
    BAD(COO, SPMV_ERR_ARGUMENT, "matrix.ptr must be NULL", s.in.ptr = &s);
    BAD(CSR, SPMV_ERR_ARGUMENT, "matrix.col is NULL", s.in.col = NULL);
    BAD(CSC, SPMV_ERR_ARGUMENT, "NULL", s.in.row = NULL);
    BAD(COO, SPMV_ERR_ARGUMENT, "NULL", s.in.row = NULL);
    BAD(COO, SPMV_ERR_ARGUMENT, "NULL", s.in.col = NULL);
    BAD(BSR, SPMV_ERR_ARGUMENT, "block_rows", (void)0);
    BAD(BSR, SPMV_ERR_ARGUMENT, "multiples", s.in.block_rows = 2; s.in.block_cols = 2);
    BAD(BSR, SPMV_ERR_ARGUMENT, "3 x 3", s.in.block_rows = 3; s.in.block_cols = 3);
    BAD(BSR, SPMV_ERR_ARGUMENT, "-3 x 4", s.in.block_rows = -3; s.in.block_cols = 4);
    BAD(BSR, SPMV_ERR_ARGUMENT, "block_cols", s.in.block_rows = 3);
    cr_assert(refusals == 31, "%d refusals", refusals);
}

Test(input, bad_pointers)
{
    BAD(CSR, SPMV_ERR_INDEX, "pointer 0 is 1, but matrix.base is 0", s.ptr[0] = 1);
    BAD(CSR, SPMV_ERR_INDEX, "pointer 0 is -1, but matrix.base is 0", s.ptr[0] = -1);
    BAD(CSR, SPMV_ERR_INDEX, "pointer 0 is 0, but matrix.base is 1", s.in.base = 1);
    BAD(CSR, SPMV_ERR_INDEX, "pointer 2 is 1, but pointer 1 is 2", s.ptr[2] = 1);
    BAD(CSR, SPMV_ERR_INDEX, "pointer 3 is 5, but pointer 2 is 6", s.ptr[2] = 6);
    BAD(CSR, SPMV_ERR_INDEX, "pointer 1 is -5, which is negative or above nnz", s.ptr[1] = -5);
    BAD(CSR, SPMV_ERR_INDEX, "pointer 1 is -5, which is negative or above nnz (a pointer above 2^31 - 1 needs matrix.nnz)",
        s.in.nnz = 0; s.ptr[1] = -5);
    BAD(CSR, SPMV_ERR_INDEX, "pointer 3 is 5, but pointer 2 is 4294967290", s.in.nnz = 0xffffffff; s.ptr[2] = -6);
    BAD(CSC, SPMV_ERR_INDEX, "pointer 4", s.ptr[3] = 100);
    BAD(CSR, SPMV_ERR_INDEX, "5 entries", s.in.nnz = 6);
    BAD(CSR, SPMV_ERR_INDEX, "nnz is 4", s.in.nnz = 4);
    BAD(CSC, SPMV_ERR_INDEX, "7 entries", s.ptr[4] = 7);
    BAD(CSR, SPMV_ERR_INDEX, "pointer 3 is -1", s.ptr[3] = -1);
    BAD(CSR, SPMV_ERR_INDEX, "4294967294 entries, but nnz is 4294967295", s.in.nnz = 0xffffffff; s.ptr[3] = -2);
    BAD(CSR, SPMV_ERR_INDEX, "pointer 1", s.in.ptr_bits = 64; point(&s); s.ptr64[1] = -1);
    BAD(CSR, SPMV_ERR_INDEX, "pointer 3", s.in.ptr_bits = 64; point(&s); s.in.nnz = 0; s.ptr64[3] = -1);
    BAD(CSR, SPMV_ERR_INDEX, "pointer 3", s.in.ptr_bits = 64; point(&s); s.ptr64[3] = INT64_MIN);
    BAD(CSR, SPMV_ERR_INDEX, "entries", s.in.ptr_bits = 64; point(&s); s.ptr64[3] = INT64_MAX);
    BAD(BSR, SPMV_ERR_INDEX, "pointer 1", s.in.block_rows = 3; s.in.block_cols = 4; s.in.nnz = 0; s.ptr[1] = -2; s.ptr[0] = 0;
        s.in.ptr_bits = 64; point(&s); s.ptr64[1] = -2);
    cr_assert(refusals == 19, "%d refusals", refusals);
}

Test(input, bad_indices)
{
    BAD(CSR, SPMV_ERR_INDEX, "entry 1 in row 0: column index 4 is outside 0 .. 3", s.col[1] = 4);
    BAD(CSR, SPMV_ERR_INDEX, "entry 0 in row 0: column index -1", s.col[0] = -1);
    BAD(CSR, SPMV_ERR_INDEX, "entry 4 in row 2: column index 2147483647", s.col[4] = INT32_MAX);
    BAD(CSR, SPMV_ERR_INDEX, "entry 2 in row 1: column index -2147483648", s.col[2] = INT32_MIN);
    BAD(CSC, SPMV_ERR_INDEX, "entry 3 in column 2: row index 3 is outside 0 .. 2", s.row[3] = 3);
    BAD(COO, SPMV_ERR_INDEX, "entry 4: row index 3", s.row[4] = 3);
    BAD(COO, SPMV_ERR_INDEX, "entry 0: column index 9", s.col[0] = 9);
    BAD(COO, SPMV_ERR_INDEX, "entry 2: row index 0 is outside 1 .. 3", s.in.base = 1; s.row[0] = s.row[1] = 1; s.col[0] = s.col[1] = 1;
        s.row[2] = 0);
    BAD(COO, SPMV_ERR_INDEX, "entry 0: row index 0 is outside 1 .. 3", s.in.base = 1);
    BAD(COO, SPMV_ERR_INDEX, "row index 1", s.in.rows = 1);
    BAD(COO, SPMV_ERR_INDEX, "entry 0: row index 0, but the matrix has no rows", s.in.rows = 0);
    BAD(COO, SPMV_ERR_INDEX, "entry 0: column index 0, but the matrix has no columns", s.in.cols = 0);
    BAD(CSR, SPMV_ERR_INDEX, "entry 0 in row 0: column index 0, but the matrix has no columns", s.in.cols = 0);
    BAD(CSR, SPMV_ERR_INDEX, "in row 2: column index -9223372036854775808", s.in.index_bits = 64; point(&s); s.col64[3] = INT64_MIN);
    BAD(CSR, SPMV_ERR_INDEX, "entry 3 in row 2: column index 9223372036854775807", s.in.index_bits = 64; point(&s); s.col64[3] = INT64_MAX);
    BAD(CSR, SPMV_ERR_INDEX, "entry 3 in row 2: column index 4294967296", s.in.index_bits = 64; point(&s); s.col64[3] = (int64_t)1 << 32);
    BAD(CSR, SPMV_ERR_INDEX, "entry 1 in row 1: column", s.in.base = 1; s.ptr[0] = 1; s.ptr[1] = 3; s.ptr[2] = 4; s.ptr[3] = 6;
        s.col[0] = 4; s.col[1] = 5);
    BAD(BSR, SPMV_ERR_INDEX, "entry 1 in block row 0: block column index 3 is outside 0 .. 1",
        s.in.block_rows = 1; s.in.block_cols = 2; s.ptr[1] = 2);
    BAD(CSR, SPMV_ERR_INDEX, "entry 1 in row 0: column index 4", s.in.borrow = 1; s.in.ptr_bits = 64; point(&s); s.col[1] = 4);
    cr_assert(refusals == 19, "%d refusals", refusals);
}

/* Messages about a matrix to be transposed name its places as they are stored, before transposing. */
Test(input, bad_places_of_transposes)
{
    BAD(CSR, SPMV_ERR_INDEX, "entry 1 in row 0: column index 4 is outside 0 .. 3", s.in.transpose = 1; s.col[1] = 4);
    BAD(CSC, SPMV_ERR_INDEX, "entry 3 in column 2: row index 3 is outside 0 .. 2", s.in.transpose = 1; s.row[3] = 3);
    BAD(COO, SPMV_ERR_INDEX, "entry 4: row index 3 is outside 0 .. 2", s.in.transpose = 1; s.row[4] = 3);
    BAD(COO, SPMV_ERR_INDEX, "entry 0: column index 9 is outside 0 .. 3", s.in.transpose = 1; s.col[0] = 9);
    BAD(BSR, SPMV_ERR_INDEX, "entry 1 in block row 0: block column index 3 is outside 0 .. 1", s.in.transpose = 1; s.in.block_rows = 1;
        s.in.block_cols = 2; s.ptr[1] = 2);
    BAD(CSR, SPMV_ERR_DUPLICATE, "row 0, column 3", s.in.transpose = 1; s.in.duplicates = SPMV_DUP_REFUSE; s.col[0] = 3);
    BAD(CSC, SPMV_ERR_DUPLICATE, "row 2, column 0", s.in.transpose = 1; s.in.duplicates = SPMV_DUP_REFUSE; s.row[0] = 2);
    cr_assert(refusals == 7, "%d refusals", refusals);
}

Test(input, duplicates_refused_by_place)
{
    BAD(CSR, SPMV_OK, "", s.in.duplicates = SPMV_DUP_REFUSE);
    BAD(CSR, SPMV_ERR_DUPLICATE, "row 0, column 3", s.in.duplicates = SPMV_DUP_REFUSE; s.col[0] = 3);
    BAD(CSR, SPMV_ERR_DUPLICATE, "row 2, column 2", s.in.duplicates = SPMV_DUP_REFUSE; s.col[3] = 2; s.in.updatable = 1);
    BAD(COO, SPMV_ERR_DUPLICATE, "row 0, column 0", s.in.duplicates = SPMV_DUP_REFUSE; s.row[4] = 0; s.col[4] = 0);
    BAD(CSC, SPMV_ERR_DUPLICATE, "row 2, column 0", s.in.duplicates = SPMV_DUP_REFUSE; s.row[0] = 2);
    BAD(COO, SPMV_ERR_DUPLICATE, "row 1, column 2", s.in.duplicates = SPMV_DUP_REFUSE; s.in.base = 1;
        for (int i = 0; i < 5; i++) { s.row[i]++; s.col[i]++; } s.row[4] = 1; s.col[4] = 2; s.col[0] = 2);
    cr_assert(refusals == 5, "%d refusals", refusals);
}

/* Sizes that exceed any memory are refused with a status; they do not overflow. */
Test(input, sizes_beyond_memory)
{
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    spmv_csr a;
    sample s = good(COO);
    point(&s);
    l.cap = 1u << 20;
    s.in.rows = 0xfffffffe;
    s.in.cols = 0xfffffffe;
    cr_assert(spmv_csr_create(&a, &s.in, SPMV_F64, &h) == SPMV_ERR_MEMORY);
    cr_assert(l.largest == (size_t)0xffffffff * 8, "rows + 1 pointers: %zu bytes", l.largest);
    cr_assert(strstr(l.text, "4294967295"), "%s", l.text);
    s = good(COO);
    point(&s);
    s.in.rows = 3;
    s.in.cols = 0xfffffffe;
    s.col[4] = -3; /* read as unsigned, this would be the last column, 2^32 - 3 */
    cr_assert(spmv_csr_create(&a, &s.in, SPMV_F64, &h) == SPMV_OK);
    cr_assert(a.col[4] == 0xfffffffd);
    spmv_csr_destroy(&a);
    s.col[4] = -2;
    cr_assert(spmv_csr_create(&a, &s.in, SPMV_F64, &h) == SPMV_ERR_INDEX);
    s = good(BSR);
    point(&s);
    s.in.block_rows = 0x7fffffff;
    s.in.block_cols = 0x7fffffff;
    s.in.rows = s.in.cols = 0x7fffffff;
    s.in.nnz = 1;
    s.ptr[1] = 1;
    cr_assert(spmv_csr_create(&a, &s.in, SPMV_F64, &h) == SPMV_ERR_MEMORY);
    s.in.ptr_bits = 64;
    point(&s);
    s.in.nnz = s.ptr64[1] = (int64_t)1 << 62;
    cr_assert(spmv_csr_create(&a, &s.in, SPMV_F64, &h) == SPMV_ERR_OVERFLOW);
    cr_assert(l.live == 0);
}

/* ---- input: transposes and halves ------------------------------------------------------------------------------------ */

/* The entries of the expected matrix, from the stored entries, without the library. */
static triplets triplets_whole(const triplets *t, int transpose, spmv_symmetry symmetry, uint64_t block)
{
    triplets w;
    uint64_t i;
    w.n = 0;
    w.row = (uint64_t *)need(2 * t->n, 8);
    w.col = (uint64_t *)need(2 * t->n, 8);
    w.val = (double *)need(2 * t->n, 8);
    for (i = 0; i < t->n; i++) {
        int mirrored = symmetry && t->row[i] / block != t->col[i] / block, j;
        for (j = 0; j <= mirrored; j++, w.n++) {
            w.row[w.n] = transpose ^ j ? t->col[i] : t->row[i];
            w.col[w.n] = transpose ^ j ? t->row[i] : t->col[i];
            w.val[w.n] = j && symmetry == SPMV_SKEW ? -t->val[i] : t->val[i];
        }
    }
    return w;
}

/* Compares the CSR with a search among the entries: sums in the order given, a place for each entry, and no others. */
static const char *whole_difference(const spmv_csr *a, const triplets *w, uint64_t rows, uint64_t cols)
{
    uint64_t r, c, i, k = 0;
    if (a->rows != rows || a->cols != cols) return "shape";
    for (r = 0; r < rows; r++) {
        if (a->ptr[r] != k) return "ptr";
        for (c = 0; c < cols; c++) {
            double sum = 0;
            int found = 0;
            for (i = 0; i < w->n; i++)
                if (w->row[i] == r && w->col[i] == c) sum = found++ ? sum + w->val[i] : w->val[i];
            if (!found) continue;
            if (k == a->nnz || a->col[k] != c) return "col";
            if (csr_value(a, k) != sum) return "val";
            k++;
        }
    }
    return k == a->nnz ? NULL : "nnz";
}

/* The stored entries of a small matrix in random order, some places several times; with symmetry, only those of one half. */
static triplets triplets_stored(uint64_t rows, uint64_t cols, spmv_symmetry symmetry, int upper, uint64_t copies)
{
    triplets t;
    uint64_t r, c, i;
    t.n = 0;
    t.row = (uint64_t *)need(rows * cols * copies, 8);
    t.col = (uint64_t *)need(rows * cols * copies, 8);
    t.val = (double *)need(rows * cols * copies, 8);
    for (r = 0; r < rows; r++)
        for (c = 0; c < cols; c++) {
            if ((symmetry && (upper ? c < r : c > r)) || rng_below(3) == 0) continue;
            for (i = 1 + rng_below(copies); i; i--, t.n++) {
                t.row[t.n] = r;
                t.col[t.n] = c;
                t.val[t.n] = symmetry == SPMV_SKEW && r == c ? 0 : ldexp(rng_int(), (int)rng_below(3) * 40);
            }
        }
    for (i = t.n; i > 1; i--) triplets_swap(&t, i - 1, rng_below(i));
    return t;
}

/* The results of spmv_csr_create and spmv_csr_update must be the matrix that the stored entries describe. */
static void whole(spmv_input *in, triplets *t, uint64_t block, const char *what)
{
    spmv_csr a;
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    uint64_t rows = (uint64_t)(in->transpose ? in->cols : in->rows), cols = (uint64_t)(in->transpose ? in->rows : in->cols), i, j;
    double *old = t->val;
    int n;
    spmv_status s;
    in->val = t->val;
    in->updatable = 1;
    s = spmv_csr_create(&a, in, SPMV_F64, &h);
    CHECK(s == SPMV_OK, "%s: %s, %s", what, spmv_status_name(s), l.text);
    for (n = 0; n < 2; n++) {
        triplets w = triplets_whole(t, in->transpose, in->symmetry, block);
        const char *diff = whole_difference(&a, &w, rows, cols);
        CHECK(!diff, "%s, form %d, symmetry %d, transpose %d: %s of %s", what, (int)in->form, (int)in->symmetry, in->transpose, diff,
              n ? "an update" : "a new matrix");
        triplets_free(&w);
        if (n) break;
        t->val = (double *)need_exact(t->n * 8);
        for (i = 0; i < t->n; i++) t->val[i] = in->symmetry == SPMV_SKEW && t->row[i] == t->col[i] ? 0 : rng_int();
        for (i = 0; i < t->n && block > 1; i++) /* both halves of a block on the diagonal */
            for (j = 0; j < i; j++)
                if (in->symmetry && t->row[i] / block == t->col[i] / block && t->row[j] == t->col[i] && t->col[j] == t->row[i])
                    t->val[j] = in->symmetry == SPMV_SKEW ? -t->val[i] : t->val[i];
        CHECK(spmv_csr_update(&a, t->val) == SPMV_OK, "%s: %s", what, l.text);
    }
    spmv_csr_destroy(&a);
    CHECK(l.live == 0 && l.messages == 0, "%s: %d blocks left", what, (int)l.live);
    free(t->val);
    t->val = old;
}

/* The stored entries as COO, CSR and CSC of every width and base. */
static void whole_in_forms(uint64_t rows, uint64_t cols, spmv_symmetry symmetry, int upper, int n)
{
    int bits = n & 1 ? 64 : 32, base = n >> 1 & 1, ptr_bits = n & 4 ? 64 : 32, form;
    triplets t = triplets_stored(rows, cols, symmetry, upper, n & 8 ? 3 : 1);
    for (form = SPMV_IN_CSR; form <= SPMV_IN_COO; form++) {
        int csc = form == SPMV_IN_CSC;
        uint64_t lines = csc ? cols : rows, *ptr = form == SPMV_IN_COO ? NULL : triplets_group(&t, lines, csc);
        void *lines_ptr = ptr ? indices(ptr, lines + 1, ptr_bits, base) : NULL;
        void *row = indices(t.row, t.n, bits, base), *col = indices(t.col, t.n, bits, base);
        spmv_input in;
        memset(&in, 0, sizeof in);
        in.form = (spmv_input_form)form;
        in.rows = (int64_t)rows;
        in.cols = (int64_t)cols;
        in.nnz = (int64_t)t.n;
        in.ptr = lines_ptr;
        in.row = form == SPMV_IN_CSR ? NULL : row;
        in.col = csc ? NULL : col;
        in.ptr_bits = ptr_bits;
        in.index_bits = bits;
        in.base = base;
        in.symmetry = symmetry;
        in.transpose = n >> 4 & 1;
        in.borrow = (int)(rng() & 1);
        whole(&in, &t, 1, "entries");
        free(ptr);
        free(lines_ptr);
        free(row);
        free(col);
    }
    triplets_free(&t);
}

Test(input, transposes_and_halves)
{
    static const uint64_t sizes[][2] = { { 0, 0 }, { 1, 1 }, { 1, 5 }, { 5, 1 }, { 6, 9 }, { 9, 6 }, { 2, 2 }, { 9, 9 }, { 0, 4 },
                                        { 4, 0 } };
    int i, n;
    for (i = 0; i < 10; i++)
        for (n = 0; n < 32; n++) {
            whole_in_forms(sizes[i][0], sizes[i][1], SPMV_GENERAL, 0, n);
            if (sizes[i][0] != sizes[i][1]) continue;
            whole_in_forms(sizes[i][0], sizes[i][1], SPMV_SYMMETRIC, 0, n);
            whole_in_forms(sizes[i][0], sizes[i][1], SPMV_SYMMETRIC, 1, n);
            whole_in_forms(sizes[i][0], sizes[i][1], SPMV_SKEW, 0, n);
            whole_in_forms(sizes[i][0], sizes[i][1], SPMV_SKEW, 1, n);
        }
    cr_assert(checks_done > 4000);
}

/* Blocks in random order, some of them twice. Blocks on the diagonal are full and, with symmetry, symmetric or skew-symmetric. */
static void whole_in_blocks(uint64_t rows, uint64_t cols, uint64_t bh, uint64_t bw, spmv_symmetry symmetry, int upper, int n)
{
    int bits = n & 1 ? 64 : 32, base = n >> 1 & 1, by_columns = n >> 2 & 1;
    uint64_t *ptr = (uint64_t *)need(rows + 1, 8), *col = (uint64_t *)need(2 * rows * cols, 8), o, b, i, j, blocks = 0, size = bh * bw;
    triplets t;
    spmv_input in;
    void *p, *q;
    t.n = 0;
    t.row = (uint64_t *)need(2 * rows * cols * size, 8);
    t.col = (uint64_t *)need(2 * rows * cols * size, 8);
    t.val = (double *)need(2 * rows * cols * size, 8);
    for (o = 0; o < rows; o++) {
        for (b = 2 * cols; b--;) {
            uint64_t at = b % cols;
            if ((symmetry && (upper ? at < o : at > o)) || rng_below(3) == 0) continue;
            for (i = 0; i < size; i++, t.n++) {
                t.row[t.n] = o * bh + (by_columns ? i % bh : i / bw);
                t.col[t.n] = at * bw + (by_columns ? i / bh : i % bw);
                t.val[t.n] = symmetry == SPMV_SKEW && t.row[t.n] == t.col[t.n] ? 0 : rng_int();
            }
            for (i = 0; symmetry && at == o && i < bh; i++)
                for (j = 0; j < i; j++)
                    t.val[blocks * size + i * bw + j] = symmetry == SPMV_SKEW ? -t.val[blocks * size + j * bw + i]
                                                                              : t.val[blocks * size + j * bw + i];
            col[blocks++] = at;
        }
        ptr[o + 1] = blocks;
    }
    p = indices(ptr, rows + 1, bits, base);
    q = indices(col, blocks, bits, base);
    memset(&in, 0, sizeof in);
    in.form = SPMV_IN_BSR;
    in.rows = (int64_t)(rows * bh);
    in.cols = (int64_t)(cols * bw);
    in.nnz = (int64_t)blocks;
    in.ptr = p;
    in.col = q;
    in.ptr_bits = in.index_bits = bits;
    in.base = base;
    in.block_rows = (int)bh;
    in.block_cols = (int)bw;
    in.block_by_columns = by_columns;
    in.symmetry = symmetry;
    in.transpose = n >> 3 & 1;
    whole(&in, &t, symmetry ? bh : 1, "blocks");
    triplets_free(&t);
    free(p);
    free(q);
    free(ptr);
    free(col);
}

Test(input, transposes_and_halves_of_blocks)
{
    static const uint64_t sizes[][2] = { { 1, 1 }, { 1, 3 }, { 2, 1 }, { 2, 2 }, { 3, 4 }, { 3, 3 } };
    int i, n;
    for (i = 0; i < 6; i++)
        for (n = 0; n < 16; n++) {
            whole_in_blocks(3, 4, sizes[i][0], sizes[i][1], SPMV_GENERAL, 0, n);
            if (sizes[i][0] != sizes[i][1]) continue;
            whole_in_blocks(4, 4, sizes[i][0], sizes[i][1], SPMV_SYMMETRIC, 0, n);
            whole_in_blocks(4, 4, sizes[i][0], sizes[i][1], SPMV_SYMMETRIC, 1, n);
            whole_in_blocks(4, 4, sizes[i][0], sizes[i][1], SPMV_SKEW, 0, n);
            whole_in_blocks(4, 4, sizes[i][0], sizes[i][1], SPMV_SKEW, 1, n);
        }
    cr_assert(checks_done > 800);
}

/* The rows of the transpose are the columns of CSC, so nothing need be copied. In no other case can arrays be borrowed. */
Test(input, borrowed_columns_are_rows_of_the_transpose)
{
    matrix m;
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    spmv_input in;
    spmv_csr a;
    CHECK(matrix_awkward(&m, 18, INTEGERS), "matrix");
    in = matrix_input(&m, SPMV_F64); /* read as CSC, these arrays are a matrix of cols rows and rows columns */
    in.form = SPMV_IN_CSC;
    in.row = in.col;
    in.col = NULL;
    in.rows = (int64_t)m.cols;
    in.cols = (int64_t)m.rows;
    in.borrow = 1;
    in.transpose = 1;
    cr_assert(spmv_csr_create(&a, &in, SPMV_F64, &h) == SPMV_OK && l.calls == 0, "%s", l.text);
    cr_assert(a.ptr == m.ptr && a.col == m.col && a.val == m.val && a.rows == m.rows && a.cols == m.cols && a.owned == 0);
    spmv_csr_destroy(&a);
    in.transpose = 0;
    cr_assert(spmv_csr_create(&a, &in, SPMV_F64, &h) == SPMV_OK && a.owned == 7 && a.rows == m.cols);
    spmv_csr_destroy(&a);
    in = matrix_input(&m, SPMV_F64);
    in.borrow = 1;
    in.transpose = 1;
    cr_assert(spmv_csr_create(&a, &in, SPMV_F64, &h) == SPMV_OK && a.owned == 7 && a.rows == m.cols);
    spmv_csr_destroy(&a);
    matrix_free(&m);
    CHECK(matrix_awkward(&m, 24, INTEGERS), "matrix"); /* tridiagonal; as a lower half it must not have the entries above the diagonal */
    in = matrix_input(&m, SPMV_F64);
    in.borrow = 1;
    in.symmetry = SPMV_SYMMETRIC;
    cr_assert(spmv_csr_create(&a, &in, SPMV_F64, &h) == SPMV_ERR_INDEX, "both halves");
    matrix_free(&m);
    cr_assert(l.live == 0);
}

/* The 3 x 4 matrix made square: its last column has only the entries that a test puts there. */
#define HALF(like, want, words, kind, ...) \
    BAD(like, want, words, s.in.rows = s.in.cols = s.in.form == SPMV_IN_CSC ? 4 : 3; s.in.symmetry = kind; __VA_ARGS__)

Test(input, halves_that_contradict)
{
    /* (0,0) (0,1) (1,1) (2,0) (2,2) and its like */
    HALF(CSR, SPMV_ERR_INDEX, "entry 3 at row 2, column 0 lies below the diagonal, but entry 1 lies above it",
         SPMV_SYMMETRIC, s.col[1] = 1);
    HALF(COO, SPMV_ERR_INDEX, "entry 3 at row 2, column 0 lies below the diagonal, but entry 1 lies above it", SPMV_SKEW, s.col[1] = 1);
    HALF(CSC, SPMV_ERR_INDEX, "entry 4 at row 0, column 3 lies above the diagonal, but entry 1 lies below it", SPMV_SYMMETRIC, (void)0);
    HALF(COO, SPMV_ERR_INDEX, "entry 3 at row 3, column 1 lies below the diagonal, but entry 1 lies above it",
         SPMV_SYMMETRIC, s.in.base = 1;
         for (int i = 0; i < 5; i++) { s.row[i]++; s.col[i]++; } s.col[1] = 2);
    HALF(CSR, SPMV_ERR_INDEX, "entry 3", SPMV_SYMMETRIC, s.col[1] = 1; s.in.transpose = 1);
    HALF(CSR, SPMV_OK, "", SPMV_SYMMETRIC, s.col[1] = 0);
    HALF(CSR, SPMV_OK, "", SPMV_SKEW, s.col[1] = 0);
    HALF(CSR, SPMV_ERR_ARGUMENT, "value 2, at row and column 1, is not zero", SPMV_SKEW, s.col[1] = 0; s.val[2] = -4);
    HALF(COO, SPMV_ERR_ARGUMENT, "value 4, at row and column 2, is not zero", SPMV_SKEW, s.col[1] = 0; s.val[4] = NAN);
    HALF(COO, SPMV_ERR_ARGUMENT, "value 0, at row and column 0, is not zero", SPMV_SKEW, s.col[1] = 0; s.in.val = NULL);
    HALF(CSR, SPMV_ERR_DUPLICATE, "row 2, column 0 occurs twice", SPMV_SYMMETRIC, s.col[1] = 0; s.col[0] = 0; s.ptr[1] = 1; s.col[1] = 1;
         s.ptr[2] = 2; s.col[2] = 0; s.in.duplicates = SPMV_DUP_REFUSE);
    HALF(CSR, SPMV_ERR_ARGUMENT, "square, not 3 x 4", SPMV_SYMMETRIC, s.in.cols = 4);
    HALF(COO, SPMV_ERR_ARGUMENT, "symmetry 3 is unknown", (spmv_symmetry)3, (void)0);
    HALF(BSR, SPMV_ERR_ARGUMENT, "square, not 3 x 1", SPMV_SYMMETRIC, s.in.block_rows = 3; s.in.block_cols = 1);
    HALF(BSR, SPMV_ERR_INDEX, "block 3 at row 2, column 0 lies below the diagonal, but block 1 lies above it", SPMV_SYMMETRIC,
         s.in.block_rows = s.in.block_cols = 1; s.col[1] = 1);
    HALF(BSR, SPMV_ERR_ARGUMENT, "block 0 lies on the diagonal but is not symmetric in itself: row 1, column 0", SPMV_SYMMETRIC,
         s.in.block_rows = s.in.block_cols = 3; s.in.nnz = 1; s.ptr[1] = 1; s.col[0] = 0; s.val[1] = 5);
    HALF(BSR, SPMV_ERR_ARGUMENT, "not skew-symmetric in itself: row 2, column 1", SPMV_SKEW,
         s.in.block_rows = s.in.block_cols = 3; s.in.nnz = 1; s.ptr[1] = 1; s.col[0] = 0; s.val[5] = s.val[7] = 5);
    HALF(BSR, SPMV_ERR_ARGUMENT, "value 4, at row and column 1, is not zero", SPMV_SKEW,
         s.in.block_rows = s.in.block_cols = 3; s.in.nnz = 1; s.ptr[1] = 1; s.col[0] = 0; s.val[4] = 1);
    cr_assert(refusals == 16, "%d refusals", refusals);
}

/* New values may not break the symmetry of the matrix; if they do, nothing changes. */
Test(input, updates_keep_the_diagonal_zero)
{
    static const int32_t row[] = { 1, 1, 2 }, col[] = { 0, 1, 1 };
    static const double val[] = { 3, 0, 4 }, good_ones[] = { 5, -0.0, 6 }, bad_ones[] = { 7, 1, 8 };
    spmv_input in;
    spmv_csr a;
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    memset(&in, 0, sizeof in);
    in.form = SPMV_IN_COO;
    in.rows = in.cols = in.nnz = 3;
    in.row = row;
    in.col = col;
    in.val = val;
    in.symmetry = SPMV_SKEW;
    in.updatable = 1;
    cr_assert(spmv_csr_create(&a, &in, SPMV_F64, &h) == SPMV_OK, "%s", l.text);
    cr_assert(spmv_csr_update(&a, good_ones) == SPMV_OK);
    cr_assert(a.nnz == 5 && csr_value(&a, 0) == -5 && csr_value(&a, 1) == 5 && csr_value(&a, 3) == -6 && csr_value(&a, 4) == 6);
    cr_assert(spmv_csr_update(&a, bad_ones) == SPMV_ERR_ARGUMENT && strstr(l.text, "value 1 is not zero"), "%s", l.text);
    cr_assert(csr_value(&a, 0) == -5 && csr_value(&a, 2) == 0 && csr_value(&a, 4) == 6, "changed by a refused update");
    spmv_csr_destroy(&a);
    cr_assert(l.live == 0);
}

/* Products of a prepared matrix with a transpose, with a half, and with new values. */
Test(input, products_of_transposes_and_halves)
{
    static const int32_t ptr[] = { 0, 1, 3, 5 }, col[] = { 0, 0, 1, 1, 2 };
    static const double val[] = { 1, 2, 3, 4, 5 }, fresh[] = { 10, 20, 30, 40, 50 }, x[] = { 1, 100, 10000 };
    static const struct {
        spmv_symmetry symmetry;
        int transpose;
        double y[3];
    } cases[] = { { SPMV_GENERAL, 0, { 1, 302, 50400 } }, { SPMV_GENERAL, 1, { 201, 40300, 50000 } },
                  { SPMV_SYMMETRIC, 0, { 201, 40302, 50400 } }, { SPMV_SYMMETRIC, 1, { 201, 40302, 50400 } } };
    static const char *const some[] = { "csr", "coo", "sell", "dia", "bcsr:b=2x2", "cmrs" };
    size_t i, j;
    int k, n;
    for (i = 0; i < sizeof cases / sizeof *cases; i++)
        for (j = 0; j < sizeof some / sizeof *some; j++) {
            spmv_desc d;
            spmv_matrix a;
            double y[3];
            memset(&d, 0, sizeof d);
            d.matrix.rows = d.matrix.cols = 3;
            d.matrix.ptr = ptr;
            d.matrix.col = col;
            d.matrix.val = val;
            d.matrix.symmetry = cases[i].symmetry;
            d.matrix.transpose = cases[i].transpose;
            d.plan = some[j];
            d.updatable = 1;
            CHECK(spmv_create(&a, &d) == SPMV_OK, "%s", some[j]);
            for (n = 0; n < 2; n++) {
                CHECK(spmv_mul(&a, 1, x, 0, y) == SPMV_OK, "%s", some[j]);
                for (k = 0; k < 3; k++) CHECK(y[k] == (n ? 10 : 1) * cases[i].y[k], "%s, case %d: y[%d] is %g", some[j], (int)i, k, y[k]);
                CHECK(spmv_update(&a, fresh) == SPMV_OK, "%s", some[j]);
            }
            spmv_destroy(&a);
        }
    cr_assert(checks_done > 200);
}

/* ---- input: threads and memory ---------------------------------------------------------------------------------------- */

#ifdef _OPENMP
static int same_bits(const void *a, const void *b, uint64_t bytes) { return !a == !b && (!a || !memcmp(a, b, (size_t)bytes)); }

/* The same CSR, or the same one message, with several threads as with one. */
static void import_alike(const spmv_input *in, spmv_type type, const char *what)
{
    spmv_status s = SPMV_OK, t;
    ledger one, more;
    spmv_csr a, b;
    int n;
    for (n = 1; n <= 4; n++) {
        spmv_hooks h = ledger_hooks(n == 1 ? &one : &more);
        omp_set_num_threads(n);
        t = spmv_csr_create(n == 1 ? &a : &b, in, type, &h);
        if (n == 1) s = t;
        if (n == 1) continue;
        CHECK(s == t && one.messages == more.messages && one.messages == (s != SPMV_OK), "%s: %d threads: %s", what, n, more.text);
        CHECK(!s || !strcmp(one.text, more.text), "%s: \"%s\" with %d threads, \"%s\" with one", what, more.text, n, one.text);
        CHECK(a.nnz == b.nnz && same_bits(a.ptr, b.ptr, (a.rows + 1) * 8) && same_bits(a.col, b.col, a.nnz * 4), "%s: %d threads", what, n);
        CHECK(same_bits(a.val, b.val, a.nnz * spmv_value_size(type)), "%s: values, %d threads", what, n);
        CHECK(same_bits(a.from, b.from, (a.nnz + 1) * 8) && (!a.from || same_bits(a.order, b.order, a.from[a.nnz] * 8)), "%s: map", what);
        spmv_csr_destroy(&b);
        CHECK(more.live == 0, "%s: %d blocks left", what, (int)more.live);
    }
    spmv_csr_destroy(&a);
}

/* Entries of a matrix of n rows and columns in random order or sorted, with and without symmetry, duplicates and faults. */
static void import_entries_alike(spmv_symmetry symmetry, uint64_t copies, int kind)
{
    const uint64_t n = 60;
    triplets t = triplets_stored(n, n, symmetry, kind & 1, copies);
    uint64_t *ptr = triplets_group(&t, n, 0);
    int32_t *row, *col, *lines = (int32_t *)indices(ptr, n + 1, 32, 0);
    spmv_input in;
    int form;
    row = (int32_t *)indices(t.row, t.n, 32, 0);
    col = (int32_t *)indices(t.col, t.n, 32, 0);
    for (form = SPMV_IN_CSR; form <= SPMV_IN_COO; form++) {
        memset(&in, 0, sizeof in);
        in.form = (spmv_input_form)form;
        in.rows = in.cols = (int64_t)n;
        in.nnz = (int64_t)t.n;
        in.ptr = form == SPMV_IN_COO ? NULL : lines;
        in.row = form == SPMV_IN_CSC ? col : form == SPMV_IN_COO ? row : NULL;
        in.col = form == SPMV_IN_CSC ? NULL : col;
        in.val = t.val;
        in.val_type = SPMV_F64;
        in.symmetry = symmetry;
        in.transpose = kind >> 1 & 1;
        in.updatable = kind >> 2 & 1;
        in.drop_zeros = !in.updatable && kind & 1;
        import_alike(&in, kind & 2 ? SPMV_F32 : SPMV_F64, "entries");
        in.duplicates = SPMV_DUP_REFUSE;
        import_alike(&in, SPMV_F64, "duplicates refused");
        col[t.n - 1] = col[t.n - 9] = (int32_t)n; /* two faults, which two tasks may find, before and after another kind */
        import_alike(&in, SPMV_F64, "a bad index");
        col[t.n - 1] = col[t.n - 9] = kind & 1 ? 0 : (int32_t)n - 1;
        col[7] = (int32_t)n;
        import_alike(&in, SPMV_F64, "two faults");
        col[7] = (int32_t)t.col[7];
        import_alike(&in, SPMV_F64, "the other half");
        col[t.n - 1] = (int32_t)t.col[t.n - 1];
        col[t.n - 9] = (int32_t)t.col[t.n - 9];
    }
    triplets_free(&t);
    free(ptr);
    free(lines);
    free(row);
    free(col);
}

Test(input, any_number_of_threads_makes_the_same)
{
    int kind;
    for (kind = 0; kind < 8; kind++) {
        import_entries_alike(SPMV_GENERAL, 1, kind);
        import_entries_alike(SPMV_GENERAL, 3, kind);
        import_entries_alike(SPMV_SYMMETRIC, 1, kind);
        import_entries_alike(SPMV_SKEW, 2, kind);
    }
    cr_assert(checks_done > 1000);
}
#endif

/* Entries that go to rows all over a large matrix are dealt to bands of rows first, which is not done on the way back to 200 rows. */
static void strewn_and_back(const matrix *m, spmv_type type, int updatable)
{
    spmv_input in = matrix_input(m, type), back;
    spmv_csr a, b;
    in.transpose = 1;
    in.updatable = updatable;
#ifdef _OPENMP
    import_alike(&in, type, "strewn");
    omp_set_num_threads(3);
#endif
    cr_assert_eq(spmv_csr_create(&a, &in, type, NULL), SPMV_OK);
    memset(&back, 0, sizeof back);
    back.rows = (int64_t)a.rows;
    back.cols = (int64_t)a.cols;
    back.ptr = a.ptr;
    back.col = a.col;
    back.val = a.val;
    back.val_type = type;
    back.ptr_bits = 64;
    back.transpose = 1;
    cr_assert_eq(spmv_csr_create(&b, &back, type, NULL), SPMV_OK);
    CHECK(b.nnz == m->nnz && !memcmp(b.ptr, m->ptr, (size_t)(m->rows + 1) * 8) && !memcmp(b.col, m->col, (size_t)m->nnz * 4), "pattern");
    CHECK(!memcmp(b.val, in.val, (size_t)m->nnz * spmv_value_size(type)), "values");
    spmv_csr_destroy(&b);
    spmv_csr_destroy(&a);
}

/* COO of the transpose with each entry twice, the second time behind all others. */
static void strewn_twice(const matrix *m)
{
    uint32_t *row = (uint32_t *)need(2 * m->nnz, sizeof *row), *col = (uint32_t *)need(2 * m->nnz, sizeof *col);
    double *val = (double *)need(2 * m->nnz, sizeof *val);
    spmv_input in = matrix_input(m, SPMV_F64);
    spmv_csr a, b;
    uint64_t r, k;
    in.transpose = 1;
    cr_assert_eq(spmv_csr_create(&a, &in, SPMV_F64, NULL), SPMV_OK);
    for (r = 0; r < m->rows; r++)
        for (k = m->ptr[r]; k < m->ptr[r + 1]; k++) {
            col[k] = col[m->nnz + k] = (uint32_t)r;
            row[k] = row[m->nnz + k] = m->col[k];
            val[k] = val[m->nnz + k] = m->val[k];
        }
    memset(&in, 0, sizeof in);
    in.form = SPMV_IN_COO;
    in.rows = (int64_t)m->cols;
    in.cols = (int64_t)m->rows;
    in.nnz = (int64_t)(2 * m->nnz);
    in.row = row;
    in.col = col;
    in.val = val;
    in.val_type = SPMV_F64;
    in.updatable = 1;
    cr_assert_eq(spmv_csr_create(&b, &in, SPMV_F64, NULL), SPMV_OK);
    CHECK(b.nnz == a.nnz && !memcmp(a.ptr, b.ptr, (size_t)(a.rows + 1) * 8) && !memcmp(a.col, b.col, (size_t)a.nnz * 4), "pattern");
    for (k = 0; k < a.nnz; k++) {
        const double want = 2 * ((const double *)a.val)[k], is = ((const double *)b.val)[k];
        const uint64_t one = b.order[2 * k];
        CHECK(is == want && val[one] * 2 == want && b.order[2 * k + 1] == one + m->nnz, "value %d: %g, not %g", (int)k, is, want);
    }
    spmv_csr_destroy(&a);
    spmv_csr_destroy(&b);
    free(row);
    free(col);
    free(val);
}

Test(input, strewn_entries_come_to_their_rows)
{
    matrix m;
    int kind;
    matrix_random(&m, "strewn", 200, 50000, 0.075);
    matrix_close(&m, REALS);
    for (kind = 0; kind < 4; kind++) strewn_and_back(&m, kind & 1 ? SPMV_F32 : SPMV_F64, kind >> 1);
    strewn_twice(&m);
    matrix_free(&m);
    cr_assert(checks_done > 10);
}

/* Columns are placed in rows without a second copy of anything, and counts for more threads take at most 4 bytes for each entry. */
Test(input, columns_take_little_memory)
{
    matrix m;
    meter bytes;
    spmv_hooks h = meter_hooks(&bytes);
    spmv_input in;
    spmv_csr a;
    matrix_random(&m, "random", 4000, 3000, 0.01);
    matrix_close(&m, REALS);
    in = matrix_input(&m, SPMV_F64);
    in.transpose = 1;
    cr_assert_eq(spmv_csr_create(&a, &in, SPMV_F64, &h), SPMV_OK);
    cr_assert_eq(bytes.now, a.nnz * 12 + (a.rows + 1) * 8);
    cr_assert(bytes.most < a.nnz * 16 + (a.rows + 1) * 8 + 40000, "%zu bytes for %d entries", bytes.most, (int)a.nnz);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* ---- input: small arrays that describe a huge matrix ------------------------------------------------------------------ */

/* A few bytes of input, but one block with as many columns as there can be: 2^41 entries. */
Test(input, one_block_wider_than_memory, .timeout = 10)
{
    static const int32_t ptr[] = { 0, 1 }, col[] = { 0 };
    int i;
    for (i = 0; i < 4; i++) {
        ledger l;
        spmv_hooks h = ledger_hooks(&l);
        spmv_input in;
        spmv_csr a;
        memset(&in, 0, sizeof in);
        in.form = SPMV_IN_BSR;
        in.rows = in.block_rows = i & 1 ? 0x7fffffff : 1000;
        in.cols = in.block_cols = i & 1 ? 1000 : 0x7fffffff;
        in.transpose = i & 1; /* so that the row pointers of the result stay small */
        in.nnz = 1;
        in.ptr = ptr;
        in.col = col;
        in.updatable = i >> 1;
        l.cap = (size_t)1 << 33;
        cr_assert(spmv_csr_create(&a, &in, SPMV_F64, &h) == SPMV_ERR_MEMORY, "%s", l.text);
        cr_assert(strstr(l.text, "2147483647000 elements"), "%s", l.text);
        cr_assert(l.live == 0 && !a.rows && l.calls == 1, "the first request is the one that fails");
    }
}

/* ---- updates ------------------------------------------------------------------------------------------------------ */

/* New values for every triplet: some places become zero, others become nonzero. */
static void new_values(triplets *t, const matrix *m)
{
    uint64_t i;
    (void)m;
    for (i = 0; i < t->n; i++) t->val[i] = rng_below(3) ? rng_int() : rng() & 1 ? 0.0 : -0.0;
}

static spmv_input triplets_input(const triplets *t, const matrix *m, void **row, void **col)
{
    spmv_input in;
    memset(&in, 0, sizeof in);
    *row = indices(t->row, t->n, 32, 1);
    *col = indices(t->col, t->n, 32, 1);
    in.form = SPMV_IN_COO;
    in.rows = (int64_t)m->rows;
    in.cols = (int64_t)m->cols;
    in.nnz = (int64_t)t->n;
    in.row = *row;
    in.col = *col;
    in.val = t->val;
    in.val_type = SPMV_F64;
    in.base = 1;
    in.updatable = 1;
    return in;
}

static void update_part(const char *text, const matrix *m, const spmv_csr *a, const spmv_csr *fresh, spmv_type t)
{
    spmv_part p, q;
    spmv_csr back;
    const char *diff;
    if (!built(&p, text, m, a, t, 1)) return;
    CHECK(spmv_part_update(&p, fresh->val) == SPMV_OK, "%s, %s", m->name, text);
    CHECK(spmv_parts_to_csr(&back, m->rows, &p, 1, NULL) == SPMV_OK, "%s, %s", m->name, text);
    diff = csr_difference(fresh, &back);
    CHECK(!diff, "%s, %s, %s: %s after the update", m->name, text, spmv_type_name(t), diff);
    CHECK(built(&q, text, m, fresh, t, 1), "%s", text);
    CHECK(!q.a[SPMV_VAL].count || !memcmp(p.a[SPMV_VAL].data, q.a[SPMV_VAL].data, q.a[SPMV_VAL].count * q.a[SPMV_VAL].width),
          "%s, %s: slots", m->name, text);
    CHECK(p.zeros.count == q.zeros.count && (!q.zeros.count || !memcmp(p.zeros.data, q.zeros.data, q.zeros.count * 8)), "%s: zeros", text);
    spmv_part_destroy(&q);
    spmv_csr_destroy(&back);
    spmv_part_destroy(&p);
}

Test(update, parts_and_csr)
{
    matrix m;
    int i, j, k;
    for (i = 0; matrix_awkward(&m, i, WITH_ZEROS); i++, matrix_free(&m)) {
        triplets t = triplets_of(&m, 3);
        void *row, *col;
        spmv_input in = triplets_input(&t, &m, &row, &col);
        if (m.nnz <= 3000)
            for (k = 0; k < 2; k++) {
                spmv_csr a, fresh;
                spmv_type store = k ? SPMV_F32 : SPMV_F64;
                const char *diff;
                CHECK(spmv_csr_create(&a, &in, store, NULL) == SPMV_OK, "%s", m.name);
                new_values(&t, &m);
                triplets_sum(&t, &m);
                fresh = matrix_csr(&m, store);
                for (j = 0; j < SPECS; j++)
                    if ((i + j) % 2 == 0 || m.nnz < 300) update_part(specs[j], &m, &a, &fresh, k && j % 2 ? SPMV_MIXED : store);
                CHECK(spmv_csr_update(&a, t.val) == SPMV_OK, "%s", m.name);
                diff = csr_difference(&fresh, &a);
                CHECK(!diff, "%s: csr's %s after the update", m.name, diff);
                spmv_csr_destroy(&fresh);
                spmv_csr_destroy(&a);
            }
        free(row);
        free(col);
        triplets_free(&t);
    }
    cr_assert(checks_done > 5000);
}

static const char *const plans[] = {
    "csr", "coo", "ell:w=2+coo", "ell:w=1,rows=sorted+ell:w=2,rows=sorted+coo", "bdia:d=0.6+sbell:b=2x2,d=0.5,h=4+sell:h=8,fill=0.8+csr",
    "dia:d=0.3+csr:rows=nonempty", "hyb:rows=1", "hyb-csr:rows=1", "hybr:rows=1", "hybr:rows=1,k=3,x=0", "cmrs", "dense", "bell+csr",
    "bcsr:b=3x3,d=0.4+cmrs:h=8,rows=nonempty", "sell:h=4,w=3,rows=sorted,sigma=16+sell:grow=0.1", "csr:rows=nonempty",
    "ell:w=1+csr:run=64", "ell:w=2+bcsr:d=0.4+sell:rows=nonempty",
};
enum { PLANS = sizeof plans / sizeof *plans };

static spmv_status create(spmv_matrix *a, const spmv_input *in, const spmv_csr *csr, const char *plan, spmv_type t, int updatable,
                          const spmv_hooks *h)
{
    spmv_desc d;
    memset(&d, 0, sizeof d);
    if (in) d.matrix = *in;
    d.csr = csr;
    d.type = t;
    d.plan = plan;
    d.updatable = updatable;
    d.hooks = h ? *h : quiet;
    d.max_bytes = 1u << 30;
    return spmv_create(a, &d);
}

/* An updated matrix gives the same bits as one that is made anew. */
static void update_whole(const char *plan, const matrix *m, triplets *t, const spmv_input *in, spmv_type type)
{
    spmv_matrix a, fresh;
    vectors v = vectors_new(m, type, 0);
    size_t bytes = m->rows * spmv_vector_size(type);
    void *y = need_exact(bytes);
    spmv_status s = create(&a, in, NULL, plan, type, 1, NULL);
    CHECK(s == SPMV_OK, "%s, %s: %s", m->name, plan, spmv_status_name(s));
    new_values(t, m);
    CHECK(spmv_update(&a, t->val) == SPMV_OK, "%s, %s", m->name, plan);
    CHECK(create(&fresh, in, NULL, plan, type, 0, NULL) == SPMV_OK, "%s, %s", m->name, plan);
    vectors_reset(&v, 0);
    CHECK(spmv_mul(&a, -2.5, v.x, 0, v.y) == SPMV_OK && guarded_intact(v.block, type, m->rows), "%s, %s", m->name, plan);
    memcpy(y, v.y, bytes);
    vectors_reset(&v, 0);
    CHECK(spmv_mul(&fresh, -2.5, v.x, 0, v.y) == SPMV_OK, "%s, %s", m->name, plan);
    CHECK(!memcmp(y, v.y, bytes), "%s, %s: bits of y", m->name, plan);
    CHECK(spmv_update(&fresh, t->val) == SPMV_ERR_FIXED, "%s, %s", m->name, plan);
    spmv_destroy(&fresh);
    spmv_destroy(&a);
    vectors_free(&v);
    free(y);
}

Test(update, whole_matrices)
{
    matrix m;
    int i, j, k;
    for (i = 0; matrix_awkward(&m, i, WITH_ZEROS); i++, matrix_free(&m)) {
        triplets t = triplets_of(&m, 3);
        void *row, *col;
        spmv_input in = triplets_input(&t, &m, &row, &col);
        if (m.nnz < 9000)
            for (j = 0; j < PLANS; j++)
                for (k = 0; k < 3; k++) update_whole(plans[j], &m, &t, &in, types[k]);
        free(row);
        free(col);
        triplets_free(&t);
    }
    cr_assert(checks_done > 1000);
}

/* For sorted input without duplicates, borrowed arrays and a given CSR, there is no map of duplicates: values are taken by position. */
Test(update, without_sorting)
{
    matrix m;
    int i, j, how;
    for (i = 6; i < 20 && matrix_awkward(&m, i, WITH_ZEROS); i++, matrix_free(&m))
        for (j = 0; j < PLANS && m.rows < 1000; j++)
            for (how = 0; how < 3; how++) {
                spmv_input in = matrix_input(&m, SPMV_F64);
                spmv_csr a = matrix_csr(&m, SPMV_F64);
                spmv_matrix p;
                vectors v = vectors_new(&m, SPMV_F64, 0);
                double *val = (double *)need_exact(m.nnz * 8), *old = m.val;
                uint64_t k;
                in.borrow = how == 1;
                CHECK(create(&p, how == 2 ? NULL : &in, how == 2 ? &a : NULL, plans[j], SPMV_F64, 1, NULL) == SPMV_OK, "%s", plans[j]);
                for (k = 0; k < m.nnz; k++) val[k] = rng_int();
                CHECK(spmv_update(&p, val) == SPMV_OK, "%s", plans[j]);
                vectors_reset(&v, 1);
                CHECK(spmv_mul(&p, 1, v.x, -2.5, v.y) == SPMV_OK, "%s", plans[j]);
                spmv_csr_destroy(&a);
                m.val = val;
                a = matrix_csr(&m, SPMV_F64);
                for (k = 0; k < m.rows; k++)
                    CHECK(vector_get(SPMV_F64, v.y, k) == row_product(&a, k, SPMV_F64, v.x) - 2.5 * vector_get(SPMV_F64, v.y0, k),
                          "%s, %s: row %d", m.name, plans[j], (int)k);
                m.val = old;
                spmv_csr_destroy(&a);
                spmv_destroy(&p);
                vectors_free(&v);
                free(val);
            }
    cr_assert(checks_done > 1000);
}

Test(update, fixed_matrices_say_so)
{
    matrix m;
    int j;
    spmv_csr a;
    CHECK(matrix_awkward(&m, 21, INTEGERS), "matrix");
    a = matrix_csr(&m, SPMV_F64);
    cr_assert(spmv_csr_update(&a, m.val) == SPMV_ERR_FIXED);
    a.updatable = 1;
    a.hooks = quiet;
    cr_assert(spmv_csr_update(&a, NULL) == SPMV_ERR_ARGUMENT && a.val == m.val, "borrowed values must be replaced by some");
    for (j = 0; j < SPECS; j++) {
        spmv_part p;
        CHECK(built(&p, specs[j], &m, &a, SPMV_F64, 0), "%s", specs[j]);
        CHECK(spmv_part_update(&p, m.val) == SPMV_ERR_FIXED, "%s", specs[j]);
        spmv_part_destroy(&p);
    }
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* ---- values in fewer bytes (key val) -------------------------------------------------------------------------------- */

/* A plan's text with the key, in out. */
static const char *with_val(char out[64], const char *text, int bits)
{
    sprintf(out, "%s%cval=%d", text, strchr(text, ':') ? ',' : ':', bits);
    return out;
}

/* The part with the key has the same y to the last bit, the same matrix, and fewer bytes; so has it after an update. */
static void narrow_part(const char *text, const matrix *m, const spmv_csr *a, const spmv_csr *fresh, spmv_simd simd, int repeat)
{
    char narrow[64];
    spmv_part p, q;
    spmv_build how;
    spmv_csr back;
    double *x = vector_new(SPMV_F64, m->cols), *y = vector_new(SPMV_F64, m->rows), *z = vector_new(SPMV_F64, m->rows);
    const char *diff;
    uint64_t i;
    int turn;
    memset(&how, 0, sizeof how);
    how.type = SPMV_F64;
    how.updatable = 1;
    how.simd = simd;
    how.reproducible = repeat;
    if (build(&p, text, a, &how, &quiet)) goto done; /* no reproducible product, or too large */
    CHECK(build(&q, with_val(narrow, text, 32), a, &how, &quiet) == SPMV_OK, "%s, %s", m->name, narrow);
    CHECK(q.a[SPMV_VAL].width == 4 && q.type == SPMV_F64, "%s", narrow);
    CHECK(spmv_part_bytes(&p) - spmv_part_bytes(&q) == 4 * spmv_part_slots(&p), "%s, %s: bytes", m->name, narrow);
    for (turn = 0; turn < 2; turn++) {
        for (i = 0; i < m->cols; i++) x[i] = rng_real();
        for (i = 0; i < m->rows; i++) y[i] = z[i] = rng_real();
        CHECK(spmv_part_mul(&p, 1.25, x, 1, y) == SPMV_OK && spmv_part_mul(&q, 1.25, x, 1, z) == SPMV_OK, "%s", narrow);
        CHECK(!m->rows || !memcmp(y, z, m->rows * sizeof *y), "%s, %s, %s: bits of y", m->name, narrow, spmv_simd_name(simd));
        CHECK(spmv_parts_to_csr(&back, m->rows, &q, 1, NULL) == SPMV_OK, "%s, %s", m->name, narrow);
        diff = csr_difference(turn ? fresh : a, &back);
        CHECK(!diff, "%s, %s: %s", m->name, narrow, diff);
        spmv_csr_destroy(&back);
        CHECK(spmv_part_update(&p, fresh->val) == SPMV_OK && spmv_part_update(&q, fresh->val) == SPMV_OK, "%s", narrow);
    }
    spmv_part_destroy(&q);
    spmv_part_destroy(&p);
done:
    free(x);
    free(y);
    free(z);
}

Test(narrow, products_keep_every_bit)
{
    matrix m;
    int i, j, level;
    for (i = 0; matrix_awkward(&m, i, WITH_ZEROS); i++, matrix_free(&m)) {
        spmv_csr a = matrix_csr(&m, SPMV_F64), fresh = matrix_csr(&m, SPMV_F64);
        double *val = need(m.nnz, sizeof *val);
        uint64_t k;
        for (k = 0; k < m.nnz; k++) val[k] = rng_below(5) ? rng_int() / 4 : -0.0;
        fresh.val = val;
        for (j = 0; j < SPECS; j++) {
            if (m.nnz >= 300 && (i + j) % 3) continue;
            for (level = 0; level < SPMV_SIMD_COUNT; level++)
                if (spmv_simd_usable((spmv_simd)level)) narrow_part(specs[j], &m, &a, &fresh, (spmv_simd)level, 0);
            narrow_part(specs[j], &m, &a, &fresh, SPMV_SIMD_BEST, 1);
        }
        free(val);
        spmv_csr_destroy(&fresh);
        spmv_csr_destroy(&a);
    }
}

/* The value that is no float is named with its place, and after an update that is refused all is as before. */
Test(narrow, a_value_that_does_not_fit)
{
    static const double unfit[] = { 0.1, 1e300, 1e-40, 16777217.0 };
    matrix m;
    size_t i;
    int j;
    CHECK(matrix_awkward(&m, 21, INTEGERS) && m.nnz > 20, "matrix");
    for (i = 0; i < sizeof unfit / sizeof *unfit; i++)
        for (j = 0; j < SPECS; j++) {
            char text[64], place[64];
            ledger l;
            spmv_hooks h = ledger_hooks(&l);
            spmv_csr a = matrix_csr(&m, SPMV_F64);
            double *val = need(m.nnz, sizeof *val);
            uint64_t r = 0, k = m.nnz / 2;
            spmv_build how;
            spmv_part p;
            void *before;
            memset(&how, 0, sizeof how);
            how.type = SPMV_F64;
            how.updatable = 1;
            memcpy(val, a.val, m.nnz * sizeof *val);
            CHECK(build(&p, with_val(text, specs[j], 32), &a, &how, &h) == SPMV_OK, "%s", text);
            before = need(p.a[SPMV_VAL].count, 4);
            memcpy(before, p.a[SPMV_VAL].data, p.a[SPMV_VAL].count * 4);
            val[k] = unfit[i];
            while (a.ptr[r + 1] <= k) r++;
            sprintf(place, "in row %d, column %d is not", (int)r, (int)a.col[k]);
            CHECK(spmv_part_update(&p, val) == SPMV_ERR_FIXED && strstr(l.text, place), "%s: %s", text, l.text);
            CHECK(!memcmp(before, p.a[SPMV_VAL].data, p.a[SPMV_VAL].count * 4), "%s changed", text);
            spmv_part_destroy(&p);
            l.messages = 0; /* the next message is a cause again */
            a.val = val;
            CHECK(build(&p, text, &a, &how, &h) == SPMV_ERR_UNSUPPORTED && strstr(l.text, place), "%s: %s", text, l.text);
            CHECK(!p.rows && !p.a[SPMV_VAL].data, "%s: not zeroed", text);
            a.val = NULL;
            spmv_csr_destroy(&a);
            CHECK(!l.live, "%s leaks", text);
            free(val);
            free(before);
        }
    matrix_free(&m);
}

/* Floats have nothing to save: the key changes nothing. */
Test(narrow, floats_stay)
{
    matrix m;
    spmv_csr a;
    spmv_part p;
    CHECK(matrix_awkward(&m, 21, INTEGERS), "matrix");
    a = matrix_csr(&m, SPMV_F32);
    CHECK(built(&p, "csr:val=32", &m, &a, SPMV_F32, 0) && p.a[SPMV_VAL].width == 4, "f32");
    spmv_part_destroy(&p);
    CHECK(built(&p, "csr:val=32", &m, &a, SPMV_MIXED, 0) && p.a[SPMV_VAL].width == 4, "mixed");
    spmv_part_destroy(&p);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* ---- limits ------------------------------------------------------------------------------------------------------- */

/* A matrix in which each row has one entry on a diagonal of its own, and one row is long. */
static void matrix_scattered(matrix *m, uint64_t n, uint64_t longest)
{
    uint64_t r;
    matrix_open(m, "scattered", n, n);
    for (r = 0; r < n; r++) {
        if (r == n / 2) matrix_random_row(m, longest);
        else matrix_add(m, (r * 2654435761u) % n);
        m->ptr[r + 1] = m->nnz;
    }
    matrix_close(m, INTEGERS);
}

Test(limit, wasteful_formats_name_their_figures)
{
    static const char *const wasteful[] = { "dense", "dia", "bdia", "ell", "bell", "bell:b=8x8", "sell:h=65536", "sbell:h=65536",
                                            "dense:rows=nonempty", "ell:rows=sorted,sigma=16" };
    matrix m;
    spmv_csr a;
    size_t i;
    matrix_scattered(&m, 100000, 5000);
    a = matrix_csr(&m, SPMV_F64);
    for (i = 0; i < sizeof wasteful / sizeof *wasteful; i++) {
        spmv_part p;
        spmv_build how;
        ledger l;
        spmv_hooks h = ledger_hooks(&l);
        memset(&how, 0, sizeof how);
        CHECK(build(&p, wasteful[i], &a, &how, &h) == SPMV_ERR_TOO_LARGE, "%s", wasteful[i]);
        CHECK(strstr(l.text, " bytes for ") && strstr(l.text, "times the CSR form"), "%s: %s", wasteful[i], l.text);
        CHECK(l.live == 0 && l.largest <= 4u << 20, "%s: asked for %zu bytes", wasteful[i], l.largest);
        CHECK(!p.a[SPMV_VAL].data && !p.rows, "%s: not zeroed", wasteful[i]);
    }
    spmv_csr_destroy(&a);
    matrix_free(&m);
    cr_assert(checks_done > 30);
}

Test(limit, max_bytes_is_exact)
{
    matrix m;
    spmv_csr a;
    int j;
    CHECK(matrix_awkward(&m, 29, INTEGERS), "matrix");
    a = matrix_csr(&m, SPMV_F64);
    for (j = 0; j < SPECS; j++) {
        spmv_part p;
        spmv_build how;
        uint64_t bytes;
        memset(&how, 0, sizeof how);
        CHECK(build(&p, specs[j], &a, &how, &quiet) == SPMV_OK, "%s", specs[j]);
        bytes = spmv_part_bytes(&p);
        CHECK(bytes >= m.nnz * 8, "%s", specs[j]);
        spmv_part_destroy(&p);
        how.max_bytes = bytes;
        CHECK(build(&p, specs[j], &a, &how, &quiet) == SPMV_OK, "%s", specs[j]);
        spmv_part_destroy(&p);
        how.max_bytes = bytes - 1;
        CHECK(build(&p, specs[j], &a, &how, &quiet) == SPMV_ERR_TOO_LARGE, "%s", specs[j]);
    }
    spmv_csr_destroy(&a);
    matrix_free(&m);
    cr_assert(checks_done > 200);
}

/* Very wide matrices: sizes saturate, offsets of diagonals do not fit, and temporary memory depends on rows and nonzeros only. */
Test(limit, widest_matrices)
{
    static const uint32_t col[] = { 0, 0xfffffffd };
    static const double val[] = { 2, 3 };
    uint64_t *ptr = (uint64_t *)need(70001, 8), i;
    spmv_csr a;
    int j;
    for (i = 1; i <= 70000; i++) ptr[i] = i < 60000 ? 1 : 2;
    memset(&a, 0, sizeof a);
    a.rows = 70000;
    a.cols = 0xfffffffe;
    a.nnz = 2;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    a.type = SPMV_F64;
    for (j = 0; j < SPECS; j++) {
        spmv_plan plan = plan_of(specs[j]);
        spmv_format f = plan.part[0].format;
        spmv_part p;
        spmv_build how;
        spmv_csr back;
        ledger l;
        spmv_hooks h = ledger_hooks(&l);
        spmv_status s, want = f == SPMV_DENSE ? SPMV_ERR_TOO_LARGE : f == SPMV_DIA || f == SPMV_BDIA ? SPMV_ERR_UNSUPPORTED
                            : SPMV_OK;
        memset(&how, 0, sizeof how);
        l.cap = 1u << 24;
        s = build(&p, specs[j], &a, &how, &h);
        CHECK(s == want, "%s: %s, %s", specs[j], spmv_status_name(s), l.text);
        if (!s) {
            CHECK(f != SPMV_CMRS || p.n[SPMV_CMRS_PACKED] == 0, "%s is packed", specs[j]);
            CHECK(spmv_parts_to_csr(&back, a.rows, &p, 1, &h) == SPMV_OK && !csr_difference(&a, &back), "%s: back", specs[j]);
            spmv_csr_destroy(&back);
        }
        spmv_part_destroy(&p);
        CHECK(l.live == 0, "%s: %d left", specs[j], (int)l.live);
    }
    free(ptr);
    cr_assert(checks_done > 100);
}

/* cmrs packs only columns below 2^28. */
Test(limit, cmrs_packs_28_bits)
{
    static const uint64_t ptr[] = { 0, 1, 3 };
    static const uint32_t col[] = { (1u << 28) - 1, 5, (1u << 28) - 1 };
    static const double val[] = { 2, 3, 4 };
    uint64_t cols;
    for (cols = 1u << 28; cols <= (1u << 28) + 1; cols++) {
        spmv_csr a, back;
        spmv_part p;
        spmv_build how;
        memset(&a, 0, sizeof a);
        memset(&how, 0, sizeof how);
        a.rows = 2;
        a.cols = cols;
        a.nnz = 3;
        a.ptr = ptr;
        a.col = col;
        a.val = val;
        a.type = SPMV_F64;
        CHECK(build(&p, "cmrs:h=16", &a, &how, &quiet) == SPMV_OK, "build");
        CHECK(p.n[SPMV_CMRS_PACKED] == (cols == 1u << 28), "packed %d", (int)p.n[SPMV_CMRS_PACKED]);
        CHECK(spmv_parts_to_csr(&back, 2, &p, 1, NULL) == SPMV_OK && !csr_difference(&a, &back), "back");
        spmv_csr_destroy(&back);
        spmv_part_destroy(&p);
    }
    cr_assert(checks_done >= 6);
}

Test(limit, build_refusals)
{
    matrix m;
    spmv_csr a, f;
    spmv_part p;
    spmv_spec spec;
    spmv_view v;
    spmv_build how;
    const char *why;
    int refused_keys = 0, i, j;
    CHECK(matrix_awkward(&m, 21, INTEGERS), "matrix");
    a = matrix_csr(&m, SPMV_F64);
    f = matrix_csr(&m, SPMV_F32);
    memset(&spec, 0, sizeof spec);
    memset(&v, 0, sizeof v);
    memset(&how, 0, sizeof how);
    v.a = &a;
    v.rows = a.rows;
    spec.format = SPMV_FORMAT_COUNT;
    cr_assert(spmv_part_create(&p, &spec, &v, &how, &quiet) == SPMV_ERR_ARGUMENT);
    spec.format = SPMV_CSR;
    how.type = SPMV_F32;
    cr_assert(spmv_part_create(&p, &spec, &v, &how, &quiet) == SPMV_ERR_ARGUMENT, "floats from doubles");
    how.type = SPMV_TYPE_COUNT;
    cr_assert(spmv_part_create(&p, &spec, &v, &how, &quiet) == SPMV_ERR_ARGUMENT);
    v.a = &f;
    how.type = SPMV_F64;
    cr_assert(spmv_part_create(&p, &spec, &v, &how, &quiet) == SPMV_ERR_ARGUMENT, "doubles from floats");
    how.type = SPMV_MIXED;
    cr_assert(spmv_part_create(&p, &spec, &v, &how, &quiet) == SPMV_OK);
    spmv_part_destroy(&p);
    for (i = 0; i < SPMV_FORMAT_COUNT; i++)
        for (j = 0; j < SPMV_KEY_COUNT; j++) {
            spmv_status s;
            memset(&spec, 0, sizeof spec);
            spec.format = (spmv_format)i;
            spec.key[j] = -1;
            s = library_spec_check(&spec, &why);
            CHECK(s == SPMV_ERR_ARGUMENT && why && *why, "%s, key %d: -1", spmv_format_name(spec.format), j);
            spec.key[j] = 1;
            s = library_spec_check(&spec, &why);
            if (!library_format_takes_key(spec.format, (spmv_key)j))
                CHECK(s == SPMV_ERR_ARGUMENT && strstr(why, "no such key"), "%s, key %d", spmv_format_name(spec.format), j);
            refused_keys += s != SPMV_OK;
        }
    spec.format = SPMV_COO;
    memset(spec.key, 0, sizeof spec.key);
    v.list = m.col;
    v.rows = 3;
    cr_assert(spmv_part_create(&p, &spec, &v, &how, &quiet) == SPMV_ERR_UNSUPPORTED, "coo with a list");
    spmv_csr_destroy(&a);
    spmv_csr_destroy(&f);
    matrix_free(&m);
    cr_assert(refused_keys > 60);
}

/* ---- slices that grow --------------------------------------------------------------------------------------------- */

static void grown(const matrix *m, const spmv_csr *a, uint64_t h, int percent)
{
    char text[64];
    spmv_part p;
    uint64_t t, r, k, lowest = UINT64_MAX, highest = 0;
    const uint32_t *start;
    spmv_build how;
    memset(&how, 0, sizeof how);
    snprintf(text, sizeof text, "sell:h=%d,grow=0.%02d", (int)h, percent);
    CHECK(build(&p, text, a, &how, &quiet) == SPMV_OK, "%s", text);
    start = (const uint32_t *)p.a[SPMV_SELL_SLICE_ROW].data;
    CHECK(p.a[SPMV_SELL_SLICE_ROW].count == p.n[SPMV_SELL_SLICES] + 1 && start[0] == 0 && start[p.n[SPMV_SELL_SLICES]] == m->rows,
          "%s: slices", text);
    for (t = 0; t < p.n[SPMV_SELL_SLICES]; t++) {
        uint64_t first = start[t], end = start[t + 1], width = 0, held = 0, height = end - first, slots, longer;
        CHECK(end > first && height <= h, "%s: height %d", text, (int)height);
        for (r = first; r < end; r++) {
            uint64_t n = m->ptr[r + 1] - m->ptr[r];
            held += n;
            if (n > width) width = n;
        }
        slots = width * height;
        CHECK(offset_at(&p.a[SPMV_SELL_PTR], t + 1) - offset_at(&p.a[SPMV_SELL_PTR], t) == slots, "%s: slots of slice %d", text, (int)t);
        CHECK(height == 1 || (slots - held) * 100 <= slots * (uint64_t)percent, "%s: padding of slice %d", text, (int)t);
        if (height < h && end < m->rows) { /* one row more would have been too many */
            longer = m->ptr[end + 1] - m->ptr[end];
            if (longer > width) width = longer;
            slots = width * (height + 1);
            CHECK((slots - held - longer) * 100 > slots * (uint64_t)percent, "%s: slice %d stopped early", text, (int)t);
        }
        if (height < lowest) lowest = height;
        if (height > highest) highest = height;
        for (r = first; r < end; r++)
            for (k = m->ptr[r]; k < m->ptr[r + 1]; k++) {
                uint64_t slot = offset_at(&p.a[SPMV_SELL_PTR], t) + (k - m->ptr[r]) * height + r - first;
                CHECK(((const uint32_t *)p.a[SPMV_SELL_COL].data)[slot] == m->col[k], "%s: slot", text);
            }
    }
    CHECK(m->rows < 500 || h == 1 || (lowest < h && highest > 1 && lowest < highest), "%s: heights do not vary", text);
    spmv_part_destroy(&p);
}

Test(sell, slices_grow_to_the_limit)
{
    static const int percents[] = { 1, 10, 25, 60 };
    static const uint64_t heights[] = { 1, 4, 32, 500 };
    static const int which[] = { 9, 14, 15, 29 };
    int i, j, k;
    for (i = 0; i < 4; i++) {
        matrix m;
        spmv_csr a;
        CHECK(matrix_awkward(&m, which[i], INTEGERS), "matrix");
        a = matrix_csr(&m, SPMV_F64);
        for (j = 0; j < 4; j++)
            for (k = 0; k < 4; k++) grown(&m, &a, heights[j], percents[k]);
        spmv_csr_destroy(&a);
        matrix_free(&m);
    }
    cr_assert(checks_done > 1000);
}

/* With default keys, columns of the arrays begin at multiples of 128 bytes. */
Test(sell, defaults_align_to_128_bytes)
{
    matrix m;
    spmv_csr a;
    spmv_part p;
    uint64_t t;
    CHECK(matrix_awkward(&m, 29, INTEGERS), "matrix");
    a = matrix_csr(&m, SPMV_F32);
    CHECK(built(&p, "sell", &m, &a, SPMV_F32, 0), "sell");
    for (t = 0; t <= p.n[SPMV_SELL_SLICES]; t++) CHECK(offset_at(&p.a[SPMV_SELL_PTR], t) * 4 % 128 == 0, "slice %d", (int)t);
    spmv_part_destroy(&p);
    CHECK(built(&p, "sbell", &m, &a, SPMV_F32, 0), "sbell");
    for (t = 0; t <= p.n[SPMV_SBELL_SLICES]; t++)
        CHECK(offset_at(&p.a[SPMV_SBELL_PTR], t) * p.n[SPMV_SBELL_UW] * 4 % 128 == 0, "slice %d of blocks", (int)t);
    spmv_part_destroy(&p);
    CHECK(built(&p, "ell", &m, &a, SPMV_F32, 0) && p.n[SPMV_ELL_LD] * 4 % 128 == 0, "ell");
    spmv_part_destroy(&p);
    CHECK(built(&p, "dia", &m, &a, SPMV_F32, 0) && p.n[SPMV_DIA_LD] * 4 % 128 == 0, "dia");
    spmv_part_destroy(&p);
    spmv_csr_destroy(&a);
    matrix_free(&m);
    cr_assert(checks_done > 20);
}

/* ---- cmrs in place ------------------------------------------------------------------------------------------------ */

static void in_place(const matrix *m, int height, int bits)
{
    uint64_t rows = m->rows, strips = (rows + (uint64_t)height - 1) / (uint64_t)height, r, k, h = (uint64_t)height;
    size_t bytes = (rows + 1) * (size_t)bits / 8;
    void *ptr = indices(m->ptr, rows + 1, bits, 0), *old = indices(m->ptr, rows + 1, bits, 0);
    uint32_t *col = (uint32_t *)need_exact(m->nnz * 4);
    if (m->nnz) memcpy(col, m->col, m->nnz * 4);
    CHECK(spmv_csr_to_cmrs(rows, height, ptr, bits, col) == SPMV_OK, "%s", m->name);
    for (r = 0; r <= strips; r++)
        CHECK((bits == 64 ? ((const uint64_t *)ptr)[r] : ((const uint32_t *)ptr)[r]) == m->ptr[r * h < rows ? r * h : rows],
              "%s, height %d: strip %d", m->name, height, (int)r);
    for (r = 0; r < rows; r++)
        for (k = m->ptr[r]; k < m->ptr[r + 1]; k++) CHECK(col[k] == m->col[k] * 16 + r % h, "%s: entry %d", m->name, (int)k);
    CHECK(spmv_cmrs_to_csr(rows, height, ptr, bits, col) == SPMV_OK, "%s", m->name);
    CHECK(!memcmp(ptr, old, bytes) && (!m->nnz || !memcmp(col, m->col, m->nnz * 4)), "%s, height %d, %d bits", m->name, height, bits);
    free(ptr);
    free(old);
    free(col);
}

Test(cmrs, in_place_both_ways)
{
    matrix m;
    int i, height;
    for (i = 0; matrix_awkward(&m, i, INTEGERS); i++, matrix_free(&m))
        for (height = 1; height <= 16; height *= 2) {
            in_place(&m, height, 32);
            in_place(&m, height, 64);
        }
    cr_assert(checks_done > 1000);
}

static void unchanged(int to_csr, int height, int bits, const uint32_t *ptr, const uint32_t *col, uint64_t rows, uint64_t nnz,
                      spmv_status want)
{
    uint32_t p[16], c[16];
    spmv_status s;
    memcpy(p, ptr, (rows + 1) * 4);
    memcpy(c, col, nnz * 4);
    s = to_csr ? spmv_cmrs_to_csr(rows, height, p, bits, c) : spmv_csr_to_cmrs(rows, height, p, bits, c);
    CHECK(s == want, "height %d: %s", height, spmv_status_name(s));
    CHECK(!memcmp(p, ptr, (rows + 1) * 4) && !memcmp(c, col, nnz * 4), "height %d: changed", height);
}

Test(cmrs, refusals_change_nothing)
{
    static const uint32_t ptr[] = { 0, 2, 3, 5 }, col[] = { 0, 3, 1, 0, 1u << 28 }, fine[] = { 0, 3, 1, 0, 2 };
    static const uint32_t strip[] = { 0, 3, 5, 5 }, by_column[] = { 0, 17, 48, 0, 32 }, outside[] = { 0, 48, 17, 0, 33 };
    static const int heights[] = { 0, 3, 5, 6, 7, 9, 17, 32, -1, -4 };
    size_t i;
    unchanged(0, 2, 32, ptr, col, 3, 5, SPMV_ERR_OVERFLOW);
    for (i = 0; i < sizeof heights / sizeof *heights; i++) {
        unchanged(0, heights[i], 32, ptr, fine, 3, 5, SPMV_ERR_ARGUMENT);
        unchanged(1, heights[i], 32, ptr, fine, 3, 5, SPMV_ERR_ARGUMENT);
    }
    unchanged(0, 2, 16, ptr, fine, 3, 5, SPMV_ERR_ARGUMENT);
    unchanged(1, 2, 0, ptr, fine, 3, 5, SPMV_ERR_ARGUMENT);
    unchanged(1, 2, 32, strip, by_column, 3, 5, SPMV_ERR_ARGUMENT);
    unchanged(1, 2, 32, strip, outside, 3, 5, SPMV_ERR_ARGUMENT);
    cr_assert(spmv_csr_to_cmrs(1, 2, NULL, 32, NULL) == SPMV_ERR_ARGUMENT);
    cr_assert(spmv_cmrs_to_csr(1, 2, NULL, 32, NULL) == SPMV_ERR_ARGUMENT);
    cr_assert(spmv_csr_to_cmrs(0, 2, NULL, 32, NULL) == SPMV_OK);
    cr_assert(spmv_cmrs_to_csr(0, 2, NULL, 32, NULL) == SPMV_OK);
}

/* ---- every allocation fails once ----------------------------------------------------------------------------------- */

typedef struct operation {
    const spmv_csr   *a;
    const spmv_input *in;
    const char       *text;
    spmv_type         type;
    int               updatable;
} operation;

typedef spmv_status (*attempt)(const operation *op, const spmv_hooks *h, ledger *l, long n);

/* Makes request n fail, counted from now. */
static void arm(ledger *l, long n) { l->fail_at = n ? l->calls + n : 0; }

static spmv_status try_csr(const operation *op, const spmv_hooks *h, ledger *l, long n)
{
    spmv_csr a;
    spmv_status s;
    arm(l, n);
    s = spmv_csr_create(&a, op->in, op->type, h);
    if (s) CHECK(!a.rows && !a.ptr && !a.owned, "not zeroed");
    spmv_csr_destroy(&a);
    return s;
}

static spmv_status try_build(const operation *op, const spmv_hooks *h, ledger *l, long n)
{
    spmv_part p;
    spmv_build how;
    spmv_status s;
    memset(&how, 0, sizeof how);
    how.type = op->type;
    how.updatable = op->updatable;
    arm(l, n);
    s = build(&p, op->text, op->a, &how, h);
    if (s) CHECK(!p.rows && !p.a[SPMV_VAL].data, "%s: not zeroed", op->text);
    spmv_part_destroy(&p);
    return s;
}

static spmv_status try_update(const operation *op, const spmv_hooks *h, ledger *l, long n)
{
    spmv_part p;
    spmv_build how;
    spmv_status s;
    spmv_csr back;
    const char *diff;
    memset(&how, 0, sizeof how);
    how.type = op->type;
    how.updatable = 1;
    arm(l, 0);
    CHECK(build(&p, op->text, op->a, &how, h) == SPMV_OK, "%s", op->text);
    arm(l, n);
    s = spmv_part_update(&p, op->a->val);
    arm(l, 0);
    CHECK(spmv_parts_to_csr(&back, op->a->rows, &p, 1, h) == SPMV_OK, "%s", op->text);
    diff = csr_difference(op->a, &back);
    CHECK(!diff, "%s: %s after a failed update", op->text, diff);
    spmv_csr_destroy(&back);
    spmv_part_destroy(&p);
    return s;
}

static spmv_status try_back(const operation *op, const spmv_hooks *h, ledger *l, long n)
{
    spmv_part p;
    spmv_build how;
    spmv_status s;
    spmv_csr back;
    memset(&how, 0, sizeof how);
    how.type = op->type;
    arm(l, 0);
    CHECK(build(&p, op->text, op->a, &how, h) == SPMV_OK, "%s", op->text);
    arm(l, n);
    s = spmv_parts_to_csr(&back, op->a->rows, &p, 1, h);
    spmv_csr_destroy(&back);
    spmv_part_destroy(&p);
    return s;
}

static spmv_status try_create(const operation *op, const spmv_hooks *h, ledger *l, long n)
{
    spmv_matrix m;
    spmv_status s;
    arm(l, n);
    s = create(&m, op->in, NULL, op->text, op->type, op->updatable, h);
    if (s) CHECK(!m.store.count && !m.own.ptr, "%s: not zeroed", op->text);
    spmv_destroy(&m);
    return s;
}

static spmv_status try_whole_update(const operation *op, const spmv_hooks *h, ledger *l, long n)
{
    spmv_matrix m;
    spmv_status s;
    arm(l, 0);
    CHECK(create(&m, op->in, NULL, op->text, op->type, 1, h) == SPMV_OK, "%s", op->text);
    arm(l, n);
    s = spmv_update(&m, op->in->val);
    spmv_destroy(&m);
    return s;
}

static long faults;
/* Lets request 1, 2, 3, ... fail until the attempt succeeds: first only this request, then also all after it. */
static void every_request_fails(attempt f, const operation *op)
{
    int ever;
    for (ever = 0; ever < 2; ever++) {
        long n;
        for (n = 1;; n++) {
            ledger l;
            spmv_hooks h = ledger_hooks(&l);
            spmv_status s;
            l.fail_for_ever = ever;
            s = f(op, &h, &l, n);
            CHECK(l.live == 0, "%s, request %d: %d blocks left", op->text, (int)n, (int)l.live);
            if (s == SPMV_OK) {
                CHECK(!l.fail_at || l.calls < l.fail_at, "%s: request %d failed unnoticed", op->text, (int)n);
                break;
            }
            CHECK(s == SPMV_ERR_MEMORY && l.last == SPMV_ERR_MEMORY, "%s, request %d: %s", op->text, (int)n, spmv_status_name(s));
            CHECK(n < 400, "%s never succeeds", op->text);
            faults++;
        }
    }
}

Test(memory, csr_from)
{
    matrix m;
    int i, n;
    for (i = 9; i < 30; i += 5) {
        CHECK(matrix_awkward(&m, i, WITH_ZEROS), "matrix");
        for (n = 0; n < 8; n++) {
            triplets t = triplets_of(&m, n & 1 ? 3 : 1);
            void *row, *col;
            spmv_input in = triplets_input(&t, &m, &row, &col), direct = matrix_input(&m, SPMV_F64);
            operation op = { NULL, &in, "coo", n & 2 ? SPMV_F32 : SPMV_F64, 0 };
            in.updatable = n >> 2;
            every_request_fails(try_csr, &op);
            op.in = &direct;
            op.text = "csr";
            every_request_fails(try_csr, &op);
            free(row);
            free(col);
            triplets_free(&t);
        }
        matrix_free(&m);
    }
    cr_assert(faults > 200, "%ld faults", faults);
}

Test(memory, parts)
{
    matrix m;
    int i, j;
    for (i = 20; i < 30; i += 7) {
        spmv_csr a;
        CHECK(matrix_awkward(&m, i, WITH_ZEROS), "matrix");
        a = matrix_csr(&m, SPMV_F64);
        for (j = 0; j < SPECS; j++) {
            operation op = { &a, NULL, specs[j], SPMV_F64, 0 };
            every_request_fails(try_build, &op);
            op.updatable = 1;
            every_request_fails(try_build, &op);
            every_request_fails(try_update, &op);
            every_request_fails(try_back, &op);
        }
        spmv_csr_destroy(&a);
        matrix_free(&m);
    }
    cr_assert(faults > 1000, "%ld faults", faults);
}

Test(memory, whole_matrices)
{
    static const char *const more[] = { "sell:fill=0.5,h=40+sell:h=9,fill=0.3,rows=sorted+coo",
                                        "sbell:d=0.9+bell:d=0.3,b=2x2+dia:d=0.4+csr" };
    matrix m;
    int j, k;
    CHECK(matrix_awkward(&m, 21, WITH_ZEROS), "matrix");
    for (j = 0; j < PLANS + 2; j++)
        for (k = 0; k < 2; k++) {
            triplets t = triplets_of(&m, 2);
            void *row, *col;
            spmv_input in = triplets_input(&t, &m, &row, &col);
            operation op = { NULL, &in, j < PLANS ? plans[j] : more[j - PLANS], SPMV_F64, k };
            every_request_fails(try_create, &op);
            every_request_fails(try_whole_update, &op);
            free(row);
            free(col);
            triplets_free(&t);
        }
    matrix_free(&m);
    cr_assert(faults > 500, "%ld faults", faults);
}

/* ---- the cost of small matrices, and questions about a matrix ---------------------------------------------------------- */

/* Makes a matrix and counts memory: the requests while it is made, the largest of them in bytes, and the blocks that it keeps. */
static void costs(const spmv_desc *d, long *calls, size_t *most, long *live)
{
    ledger l;
    spmv_desc with = *d;
    spmv_matrix a;
    with.hooks = ledger_hooks(&l);
    CHECK(spmv_create(&a, &with) == SPMV_OK, "%s", l.text);
    *calls = l.calls;
    *most = l.largest;
    *live = l.live;
    spmv_destroy(&a);
    CHECK(l.live == 0, "%d blocks left", (int)l.live);
}

/* No choice is allocated and no table is read; only the row pointers of the caller's CSR are copied, in the width that products use. */
Test(small, a_given_plan_costs_its_parts)
{
    static const char *const given[] = { "csr", " csr ", NULL, "auto" };
    matrix m;
    size_t i, most;
    long calls, live;
    CHECK(matrix_awkward(&m, 20, INTEGERS), "matrix");
    CHECK(sizeof(spmv_matrix) <= 1024, "%d bytes", (int)sizeof(spmv_matrix));
    for (i = 0; i < 4; i++) {
        spmv_desc d;
        memset(&d, 0, sizeof d);
        d.matrix = matrix_input(&m, SPMV_F64);
        d.plan = given[i];
        d.matrix.borrow = 1;
        costs(&d, &calls, &most, &live);
        CHECK(calls == 2 && live == 2 && most == sizeof(spmv_part) + sizeof(spmv_spec), "%s: %d requests, the largest %d",
              given[i] ? given[i] : "NULL", (int)calls, (int)most);
        d.matrix.borrow = 0; /* then columns and values are copied as well */
        costs(&d, &calls, &most, &live);
        CHECK(calls == 4 && live == 4, "%s: %d requests, %d left", given[i] ? given[i] : "NULL", (int)calls, (int)live);
    }
    matrix_free(&m);
}

/* What a matrix needs of the caller's arrays is copied before spmv_create returns, unless they are borrowed. */
Test(matrix, arrays_are_lent_for_one_call)
{
    static const char *const some[] = { "csr", "csr:val=32", "csr:run=32", "csr:run=32,idx=16", "csr:rows=sorted", "sell", "dia:d=0.5+csr",
                                        NULL };
    matrix m;
    size_t i;
    int type, wide;
    CHECK(matrix_awkward(&m, 24, INTEGERS), "matrix");
    for (i = 0; i < sizeof some / sizeof *some; i++)
        for (type = SPMV_F64; type < SPMV_TYPE_COUNT; type++)
            for (wide = 0; wide < 2; wide++) { /* 64-bit columns are copied at once */
                const size_t size = wide ? 8 : 4;
                unsigned char *col = (unsigned char *)need_exact(m.nnz * size);
                uint64_t *ptr = (uint64_t *)need_exact((m.rows + 1) * 8), k, r;
                double *val = (double *)need_exact(m.nnz * 8);
                void *x = vector_new((spmv_type)type, m.cols), *y = vector_new((spmv_type)type, m.rows);
                spmv_desc d;
                spmv_matrix a;
                memcpy(ptr, m.ptr, (m.rows + 1) * 8);
                memcpy(val, m.val, m.nnz * 8);
                for (k = 0; k < m.nnz; k++) {
                    const uint64_t c = m.col[k];
                    memcpy(col + k * size, wide ? (const void *)&c : (const void *)&m.col[k], size);
                }
                for (k = 0; k < m.cols; k++) vector_set((spmv_type)type, x, k, (double)(k % 5));
                memset(&d, 0, sizeof d);
                d.matrix = matrix_input(&m, SPMV_F64);
                d.matrix.ptr = ptr;
                d.matrix.col = col;
                d.matrix.val = val;
                d.matrix.index_bits = 8 * (int)size;
                d.type = (spmv_type)type;
                d.plan = some[i];
                CHECK(spmv_create(&a, &d) == SPMV_OK, "%s", some[i] ? some[i] : "NULL");
                free(ptr);
                free(col);
                free(val);
                CHECK(spmv_mul(&a, 1, x, 0, y) == SPMV_OK, "%s", some[i] ? some[i] : "NULL");
                for (r = 0; r < m.rows; r++) {
                    double want = 0;
                    for (k = m.ptr[r]; k < m.ptr[r + 1]; k++) want += m.val[k] * (double)(m.col[k] % 5);
                    CHECK(vector_get((spmv_type)type, y, r) == want, "%s: row %d", some[i] ? some[i] : "NULL", (int)r);
                }
                spmv_destroy(&a);
                free(x);
                free(y);
            }
    matrix_free(&m);
}

/* 1000 x 10^9 with three entries: plans that need no memory for each column request none. */
Test(small, columns_cost_nothing)
{
    static const char *const narrow[] = { "csr", "csr:rows=nonempty", "csr:run=64", "coo", "ell", "sell", "sell:h=8,rows=sorted", "cmrs",
                                          "cmrs:h=8,rows=nonempty", "ell:w=1+coo", "sell:fill=0.5+csr", "hyb:rows=1", "hybr:rows=1" };
    static const int64_t row[] = { 0, 500, 500 }, col[] = { 999999999, 0, 500000000 };
    static const double val[] = { 1, 2, 3 };
    size_t i, most;
    long calls, live;
    for (i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        spmv_desc d;
        memset(&d, 0, sizeof d);
        d.matrix.form = SPMV_IN_COO;
        d.matrix.rows = 1000;
        d.matrix.cols = 1000000000;
        d.matrix.nnz = 3;
        d.matrix.row = row;
        d.matrix.col = col;
        d.matrix.index_bits = 64;
        d.matrix.val = val;
        d.plan = narrow[i];
        costs(&d, &calls, &most, &live);
        CHECK(most <= 20000, "%s: a block of %d bytes", narrow[i], (int)most); /* per row 8 bytes, and as much padding of ell */
    }
}

Test(matrix, says_its_shape)
{
    static const int32_t row[] = { 0, 2, 2, 2 }, col[] = { 1, 0, 3, 3 };
    static const double val[] = { 1, 0, 3, 4 };
    spmv_matrix a;
    spmv_desc d;
    int i;
    memset(&a, 0, sizeof a);
    cr_assert(!spmv_rows(NULL) && !spmv_cols(NULL) && !spmv_nnz(NULL) && !spmv_rows(&a) && !spmv_cols(&a) && !spmv_nnz(&a));
    for (i = 0; i < 4; i++) {
        memset(&d, 0, sizeof d);
        d.matrix.form = SPMV_IN_COO;
        d.matrix.rows = 3;
        d.matrix.cols = 4;
        d.matrix.nnz = 4;
        d.matrix.row = row;
        d.matrix.col = col;
        d.matrix.val = val;
        d.matrix.transpose = i & 1;
        d.plan = i & 2 ? "dense" : "csr";
        cr_assert(spmv_create(&a, &d) == SPMV_OK);
        cr_assert(spmv_rows(&a) == (i & 1 ? 4 : 3) && spmv_cols(&a) == (i & 1 ? 3 : 4) && spmv_nnz(&a) == 3, "case %d", i);
        spmv_destroy(&a);
        cr_assert(!spmv_rows(&a) && !spmv_cols(&a) && !spmv_nnz(&a));
    }
}

/* Values are of the type stored unless val_type says another; a type that is left out is that of the values, or f64. */
Test(matrix, values_have_the_type_of_products)
{
    static const int32_t ptr[] = { 0, 2, 3 }, col[] = { 0, 2, 1 };
    int type, given, order;
    for (type = 0; type < SPMV_TYPE_COUNT; type++)
        for (given = 0; given <= SPMV_F32; given++)
            for (order = 0; order < 2; order++) { /* columns in order, and not */
                const int doubles = given ? given == SPMV_F64 : spmv_value_size((spmv_type)type) == 8;
                const spmv_type in = type ? (spmv_type)type : doubles ? SPMV_F64 : SPMV_F32; /* what products are in */
                const int32_t turned[] = { 2, 0, 1 };
                const size_t width = doubles ? sizeof(double) : sizeof(float);
                void *val = need_exact(3 * width), *x = vector_new(in, 3), *y = vector_new(in, 2);
                spmv_csr csr;
                spmv_matrix a;
                spmv_desc d;
                int i;
                memset(&d, 0, sizeof d);
                for (i = 0; i < 3; i++) {
                    if (doubles) ((double *)val)[i] = i + 2;
                    else ((float *)val)[i] = (float)(i + 2);
                    vector_set(in, x, (uint64_t)i, i == 0 ? 1 : i == 1 ? 10 : 100);
                }
                d.matrix.rows = 2;
                d.matrix.cols = 3;
                d.matrix.ptr = ptr;
                d.matrix.col = order ? turned : col;
                d.matrix.val = val;
                d.matrix.val_type = (spmv_type)given;
                d.type = (spmv_type)type;
                d.updatable = 1;
                cr_assert_eq(spmv_csr_create(&csr, &d.matrix, d.type, NULL), SPMV_OK);
                cr_assert_eq(csr.type, spmv_value_size(d.type) == 8 ? SPMV_F64 : SPMV_F32);
                spmv_csr_destroy(&csr);
                cr_assert_eq(spmv_create(&a, &d), SPMV_OK);
                for (i = 0; i < 2; i++) {
                    cr_assert_eq(spmv_mul(&a, 1, x, 0, y), SPMV_OK);
                    cr_assert_eq(vector_get(in, y, 0), order ? 203 : 302, "type %d, values %d", type, given);
                    cr_assert_eq(vector_get(in, y, 1), 40);
                    cr_assert_eq(spmv_update(&a, val), SPMV_OK);
                }
                spmv_destroy(&a);
                free(val);
                free(x);
                free(y);
            }
}

/* spmv_csr_f64 and its like say what their arrays are, products follow without a type, and vectors of the other type are refused. */
Test(matrix, typed_arrays)
{
    static const int32_t ptr[] = { 0, 2, 3 }, col[] = { 0, 2, 1 };
    static const int64_t ptr64[] = { 0, 2, 3 }, col64[] = { 0, 2, 1 };
    static const double val[] = { 2, 3, 4 }, x[] = { 1, 10, 100 };
    static const float val32[] = { 2, 3, 4 }, x32[] = { 1, 10, 100 };
    const spmv_input in[] = { spmv_csr_f64(2, 3, ptr, col, val), spmv_csr64_f64(2, 3, ptr64, col64, val),
                              spmv_csr_f32(2, 3, ptr, col, val32), spmv_csr64_f32(2, 3, ptr64, col64, val32) };
    int i, way; /* in the type of the values, mixed, from an spmv_csr */
    for (i = 0; i < 4; i++)
        for (way = 0; way < 3; way++) {
            const int floats = i > 1 && way != 1;
            double y[2] = { -1, -1 };
            float y32[2] = { -1, -1 };
            spmv_csr csr;
            spmv_matrix a;
            spmv_desc d;
            ledger l;
            memset(&d, 0, sizeof d);
            d.hooks = ledger_hooks(&l);
            d.type = way == 1 ? SPMV_MIXED : (spmv_type)0;
            cr_assert_eq(spmv_csr_create(&csr, &in[i], in[i].val_type, NULL), SPMV_OK);
            if (way == 2) d.csr = &csr;
            else d.matrix = in[i];
            cr_assert_eq(spmv_create(&a, &d), SPMV_OK, "case %d, way %d: %s", i, way, l.text);
            cr_assert_eq(spmv_mul_f64(&a, 1, x, 0, y), floats ? SPMV_ERR_ARGUMENT : SPMV_OK, "case %d, way %d", i, way);
            if (floats) cr_assert(strstr(l.text, "spmv_mul_f64: the matrix is of type f32 and takes vectors of floats"), "%s", l.text);
            cr_assert_eq(spmv_mul_f32(&a, 1, x32, 0, y32), floats ? SPMV_OK : SPMV_ERR_ARGUMENT, "case %d, way %d", i, way);
            if (!floats) cr_assert(strstr(l.text, "spmv_mul_f32: the matrix is of type "), "%s", l.text);
            cr_assert(y[0] == (floats ? -1 : 302) && y[1] == (floats ? -1 : 40));
            cr_assert((double)y32[0] == (floats ? 302 : -1) && (double)y32[1] == (floats ? 40 : -1));
            spmv_destroy(&a);
            spmv_csr_destroy(&csr);
        }
}

/* Beside a CSR matrix, transpose is obeyed, also by new values; any other member of matrix is refused by its name. */
Test(matrix, a_csr_may_be_transposed)
{
    static const int32_t row[] = { 0, 0, 2, 2 }, col[] = { 1, 3, 0, 3 };
    static const double val[] = { 1, 2, 3, 4 }, later[] = { 5, 6, 7, 8 }, x[] = { 1, 10, 100 };
    static const char *const names[] = { "rows", "cols", "nnz", "ptr", "row", "col", "val", "form", "ptr_bits", "index_bits", "base",
                                         "val_type", "block_rows", "block_cols", "block_by_columns", "symmetry", "duplicates", "drop_zeros",
                                         "borrow", "updatable" };
    double y[4];
    spmv_input in;
    spmv_csr csr;
    spmv_matrix a;
    spmv_desc d;
    ledger l;
    size_t i;
    memset(&in, 0, sizeof in);
    in.form = SPMV_IN_COO;
    in.rows = 3;
    in.cols = in.nnz = 4;
    in.row = row;
    in.col = col;
    in.val = val;
    cr_assert_eq(spmv_csr_create(&csr, &in, SPMV_F64, NULL), SPMV_OK);
    memset(&d, 0, sizeof d);
    d.csr = &csr;
    d.matrix.transpose = 1;
    d.updatable = 1;
    cr_assert_eq(spmv_create(&a, &d), SPMV_OK);
    cr_assert(spmv_rows(&a) == 4 && spmv_cols(&a) == 3);
    cr_assert_eq(spmv_mul(&a, 1, x, 0, y), SPMV_OK);
    cr_assert(y[0] == 300 && y[1] == 1 && y[2] == 0 && y[3] == 402);
    cr_assert_eq(spmv_update(&a, later), SPMV_OK);
    cr_assert_eq(spmv_mul(&a, 1, x, 0, y), SPMV_OK);
    cr_assert(y[0] == 700 && y[1] == 5 && y[2] == 0 && y[3] == 806);
    spmv_destroy(&a);
    for (i = 0; i < sizeof names / sizeof *names; i++) {
        int *const number[] = { &d.matrix.ptr_bits, &d.matrix.index_bits, &d.matrix.base, NULL, &d.matrix.block_rows, &d.matrix.block_cols,
                                &d.matrix.block_by_columns, NULL, NULL, &d.matrix.drop_zeros, &d.matrix.borrow, &d.matrix.updatable };
        memset(&d, 0, sizeof d);
        d.csr = &csr;
        d.hooks = ledger_hooks(&l);
        if (i < 3) *(i == 0 ? &d.matrix.rows : i == 1 ? &d.matrix.cols : &d.matrix.nnz) = 4;
        else if (i < 7) *(i == 3 ? &d.matrix.ptr : i == 4 ? &d.matrix.row : i == 5 ? &d.matrix.col : &d.matrix.val) = col;
        else if (i == 7) d.matrix.form = SPMV_IN_CSC;
        else if (number[i - 8]) *number[i - 8] = 1;
        else if (i == 11) d.matrix.val_type = SPMV_F32;
        else if (i == 15) d.matrix.symmetry = SPMV_SKEW;
        else d.matrix.duplicates = SPMV_DUP_REFUSE;
        cr_assert_eq(spmv_create(&a, &d), SPMV_ERR_ARGUMENT, "%s", names[i]);
        cr_assert(strstr(l.text, "not ") && !strcmp(strstr(l.text, "not ") + 4, names[i]), "%s: %s", names[i], l.text);
    }
    memset(&d.matrix, 0, sizeof d.matrix);
    d.hooks = ledger_hooks(&l);
    d.type = SPMV_MIXED;
    cr_assert_eq(spmv_create(&a, &d), SPMV_ERR_ARGUMENT);
    cr_assert(strstr(l.text, "desc.csr holds f64 values"), "%s", l.text);
    d.type = SPMV_F64;
    for (i = 0; i < 2; i++) { /* without its values, as it is and transposed */
        spmv_csr part = csr;
        part.val = NULL;
        d.csr = &part;
        d.matrix.transpose = (int)i;
        cr_assert_eq(spmv_create(&a, &d), SPMV_ERR_ARGUMENT);
    }
    spmv_csr_destroy(&csr);
}

/* ---- what a conversion costs ----------------------------------------------------------------------------------------- */

/* Rows of nonzeros in clusters and strides over so many columns that block formats merge rows to find blocks. */
static void matrix_wide(matrix *m)
{
    const uint64_t stride = 4096;
    uint64_t r, j, c;
    matrix_open(m, "wide", 601, 3000000);
    for (r = 0; r < m->rows; r++) {
        for (j = 0, c = r / 3 * 7; j < 24; j++) {
            matrix_add(m, c);
            c += r % 5 == 4 ? stride : j % 4 < 2 ? 1 : 97 * (1 + (r * 31 + j * 17) % 900);
        }
        m->ptr[r + 1] = m->nnz;
    }
    matrix_close(m, WITH_ZEROS);
}

Test(conversion, blocks_among_millions_of_columns)
{
    static const char *const wide[] = { "bcsr:b=3x3", "bcsr:b=2x2,idx=16", "sbell:b=3x3", "sbell:b=6x6,h=8", "bcsr:b=8x8", "bell:b=1x4" };
    size_t j;
    matrix m;
    spmv_csr a;
    matrix_wide(&m);
    a = matrix_csr(&m, SPMV_F64);
    for (j = 0; j < sizeof wide / sizeof *wide; j++) {
        ledger l;
        spmv_hooks h = ledger_hooks(&l);
        spmv_build how;
        spmv_csr back;
        spmv_part p;
        memset(&how, 0, sizeof how);
        how.updatable = 1;
        CHECK(build(&p, wide[j], &a, &how, &h) == SPMV_OK, "%s: %s", wide[j], l.text);
        CHECK(l.largest <= spmv_part_bytes(&p), "%s: a table with %lu bytes", wide[j], (unsigned long)l.largest);
        CHECK(spmv_part_update(&p, a.val) == SPMV_OK, "%s: update", wide[j]);
        CHECK(spmv_parts_to_csr(&back, a.rows, &p, 1, &h) == SPMV_OK && !csr_difference(&a, &back), "%s: back", wide[j]);
        spmv_csr_destroy(&back);
        spmv_part_destroy(&p);
        CHECK(l.live == 0, "%s: %d left", wide[j], (int)l.live);
    }
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* A conversion requests each array once, and at most four blocks besides: counts of rows or blocks, what threads need, and two for sorting
 * explicit zeros. */
Test(conversion, requests_little_memory)
{
    size_t j;
    int k;
    matrix m;
    spmv_csr a;
    matrix_blocks(&m, "blocks", 600, 600, 3, 3);
    matrix_close(&m, WITH_ZEROS);
    a = matrix_csr(&m, SPMV_F64);
    for (j = 0; j < SPECS; j++) {
        ledger l;
        spmv_hooks h = ledger_hooks(&l);
        spmv_build how;
        spmv_plan plan = plan_of(specs[j]);
        spmv_view v;
        spmv_part p;
        long arrays = 0;
        memset(&how, 0, sizeof how);
        memset(&v, 0, sizeof v);
        v.a = &a;
        v.rows = a.rows;
        if (spmv_part_create(&p, &plan.part[0], &v, &how, &h) != SPMV_OK) continue;
        for (k = 0; k < SPMV_MAX_ARRAYS; k++) arrays += p.a[k].count != 0;
        arrays += (p.list.count != 0) + (p.zeros.count != 0);
        CHECK(l.calls <= arrays + 4, "%s: %ld requests for %ld arrays", specs[j], l.calls, arrays);
        spmv_part_destroy(&p);
    }
    spmv_csr_destroy(&a);
    matrix_free(&m);
    cr_assert(checks_done > 20);
}

/* Diagonals are counted by their numbers between the first and the last, in a table for each of at most 8 threads. */
Test(conversion, diagonals_are_counted_in_little_memory)
{
    static const char *const formats[] = { "dia", "bdia" };
    const uint64_t range = 601, list = 5 * 16;
    matrix m;
    spmv_csr a;
    size_t j;
    cr_assert(matrix_plain(&m, 4), "diagonals from -300 to 300");
    a = matrix_csr(&m, SPMV_F64);
    for (j = 0; j < 2; j++) {
        meter bytes;
        spmv_hooks h = meter_hooks(&bytes);
        spmv_build how;
        spmv_part p;
        memset(&how, 0, sizeof how);
        if (build(&p, formats[j], &a, &how, &h) != SPMV_OK) continue;
        CHECK(bytes.most <= spmv_part_bytes(&p) + 16 * p.zeros.count + 8 * 4 * range + list, "%s: %lu bytes at once, the part has %lu",
              formats[j], (unsigned long)bytes.most, (unsigned long)spmv_part_bytes(&p));
        spmv_part_destroy(&p);
    }
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* ---- parts together, names, messages -------------------------------------------------------------------------------- */

Test(parts, one_place_in_two_parts_is_refused)
{
    matrix m;
    spmv_csr a, back;
    spmv_part p[2];
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    CHECK(matrix_awkward(&m, 20, INTEGERS), "matrix");
    a = matrix_csr(&m, SPMV_F64);
    CHECK(built(&p[0], "ell", &m, &a, SPMV_F64, 0) && built(&p[1], "coo", &m, &a, SPMV_F64, 0), "parts");
    cr_assert(spmv_parts_to_csr(&back, m.rows, p, 2, &h) == SPMV_ERR_DUPLICATE);
    cr_assert(!back.ptr && l.live == 0);
    p[1].cols++;
    cr_assert(spmv_parts_to_csr(&back, m.rows, p, 2, &h) == SPMV_ERR_ARGUMENT);
    cr_assert(spmv_parts_to_csr(&back, m.rows - 1, p, 1, &h) == SPMV_ERR_INDEX, "a row outside");
    cr_assert(spmv_parts_to_csr(&back, 4, NULL, 0, &h) == SPMV_OK && back.rows == 4 && back.nnz == 0, "no parts");
    spmv_csr_destroy(&back);
    cr_assert(l.live == 0);
    spmv_part_destroy(&p[0]);
    spmv_part_destroy(&p[1]);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* An allocator whose new blocks are not zero, as those of a heap that is in use. */
static void *dirty_resize(void *user, void *block, size_t bytes)
{
    void *made;
    (void)user;
    if (!bytes) {
        free(block);
        return NULL;
    }
    made = realloc(block, bytes);
    if (made && !block) memset(made, 0xa5, bytes);
    return made;
}

/* From 4096 rows or block rows on, leading dimensions are larger than these need: what is behind them is written, too, and updates find it
 * to be padding. */
Test(update, of_large_leading_dimensions)
{
    enum { ROWS = 8192 }; /* 4096 block rows */
    static const char *const plans[] = { "bell:b=2x2", "bell:b=2x2,idx=16", "ell", "ell:idx=16", "dia", "bdia", NULL };
    int *ptr = (int *)need(ROWS + 1, sizeof *ptr), *col = (int *)need(ROWS, sizeof *col);
    double *val = (double *)need(ROWS, sizeof *val), *x = (double *)need(ROWS, sizeof *x), *y = (double *)need(ROWS, sizeof *y);
    int i, k;
    for (k = 0; k < ROWS; k++) {
        ptr[k + 1] = k + 1;
        col[k] = k;
        val[k] = 1;
        x[k] = k;
    }
    for (i = 0; plans[i]; i++) {
        spmv_desc d = { 0 };
        spmv_matrix m;
        d.matrix.rows = d.matrix.cols = ROWS;
        d.matrix.ptr = ptr;
        d.matrix.col = col;
        d.matrix.val = val;
        d.plan = plans[i];
        d.updatable = 1;
        d.hooks.resize = dirty_resize;
        for (k = 0; k < ROWS; k++) val[k] = 1;
        cr_assert_eq(spmv_create(&m, &d), SPMV_OK, "%s", plans[i]);
        for (k = 0; k < ROWS; k++) val[k] = k % 5 + 2;
        cr_assert_eq(spmv_update(&m, val), SPMV_OK, "%s", plans[i]);
        cr_assert_eq(spmv_mul(&m, 1, x, 0, y), SPMV_OK, "%s", plans[i]);
        for (k = 0; k < ROWS; k++) cr_assert(y[k] == (double)k * (k % 5 + 2), "%s: row %d", plans[i], k);
        spmv_destroy(&m);
    }
    free(ptr);
    free(col);
    free(val);
    free(x);
    free(y);
}

Test(names, there_and_back)
{
    int i;
    for (i = 0; i < SPMV_FORMAT_COUNT; i++) {
        cr_assert(spmv_format_from(spmv_format_name((spmv_format)i)) == (spmv_format)i);
        cr_assert(spmv_format_built((spmv_format)i));
    }
    for (i = SPMV_F64; i < SPMV_TYPE_COUNT; i++) cr_assert(spmv_type_from(spmv_type_name((spmv_type)i)) == (spmv_type)i);
    for (i = 0; i < SPMV_STATUS_COUNT; i++)
        cr_assert(*spmv_status_text((spmv_status)i) && !strncmp(spmv_status_name((spmv_status)i), "SPMV_", 5));
    cr_assert(spmv_format_from("ELL") == SPMV_FORMAT_COUNT && spmv_format_from("") == SPMV_FORMAT_COUNT);
    cr_assert(spmv_format_from(NULL) == SPMV_FORMAT_COUNT);
    cr_assert(spmv_type_from(NULL) == SPMV_TYPE_COUNT && spmv_type_from("f16") == SPMV_TYPE_COUNT);
    cr_assert(spmv_status_text((spmv_status)99) && spmv_status_name((spmv_status)-1) && spmv_format_name((spmv_format)50));
    cr_assert(!spmv_format_built((spmv_format)50) && !spmv_format_flags((spmv_format)-1));
    cr_assert(!library_format_takes_key(SPMV_ELL, (spmv_key)99));
}

Test(names, messages)
{
    char out[32], small[4] = { 'z', 'z', 'z', 'z' };
    ledger l;
    spmv_hooks h = ledger_hooks(&l);
    char *longer = (char *)need(6000, 1);
    cr_assert(spmv_print(out, sizeof out, "%s %d %llu %c%%", "ab", -12, (unsigned long long)UINT64_MAX, 'x') == 30);
    cr_assert(!strcmp(out, "ab -12 18446744073709551615 x%"), "%s", out);
    cr_assert(spmv_print(small, 3, "abcdef") == 6 && !strcmp(small, "ab") && small[3] == 'z');
    cr_assert(spmv_print(NULL, 0, "%d", -2147483647 - 1) == 11);
    cr_assert(spmv_print(out, sizeof out, "%lld %ld %lu %u", (long long)INT64_MIN, -3L, 4ul, 4294967295u) == 36);
    cr_assert(!strcmp(out, "-9223372036854775808 -3 4 42949"), "%s", out);
    spmv_print(out, sizeof out, "%f %.2f %.1f %.0f %.*f", 1.234, 12.345, -0.96, 1234.5, 3, 0.0625);
    cr_assert(!strcmp(out, "1.234000 12.35 -1.0 1235 0.063"), "%s", out);
    spmv_print(out, sizeof out, "%.2f %.12f", 0.999, 2.0);
    cr_assert(!strcmp(out, "1.00 2.000000000"), "%s", out);
    memset(longer, 'q', 5999);
    cr_assert(spmv_log(&h, SPMV_ERR_PLAN, "%s", longer) == SPMV_ERR_PLAN && strlen(l.text) == 4095);
    longer[511] = 0;
    l.messages = 0;
    l.cap = 511; /* bytes: no memory for a longer message */
    cr_assert(spmv_log(&h, SPMV_ERR_PLAN, "%s", longer) == SPMV_ERR_PLAN && !strcmp(l.text, longer));
    longer[511] = 'q';
    l.messages = 0;
    cr_assert(spmv_log(&h, SPMV_ERR_PLAN, "%s", longer) == SPMV_ERR_PLAN && strlen(l.text) == 511);
    cr_assert(l.live == 0);
    free(longer);
}
