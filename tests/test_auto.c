/* SPDX-License-Identifier: MIT
 *
 * The choice: features compared with plain counting, estimated slots with stored ones, and the results of auto and cocktail. */
#include <criterion/criterion.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "spmv.h"
#include "common.h"
#include "library.h"

static spmv_view whole(const spmv_csr *a)
{
    spmv_view v;
    memset(&v, 0, sizeof v);
    v.a = a;
    v.rows = a->rows;
    return v;
}

/* The text of the plan of an option, until the next one is asked for. */
static const char *plan_of(const spmv_choice *c, int option)
{
    static char text[SPMV_PLAN_TEXT];
    spmv_option_print(c, option, text, sizeof text);
    return text;
}

/* ---- features ------------------------------------------------------------------------------------------------------ */

/* Counts the blocks of one size, by marking every block of the grid; dense: those that are dense, and their nonzeros. */
static double count_blocks(const spmv_csr *a, uint64_t bh, uint64_t bw, double *dense)
{
    double blocks = 0;
    uint64_t across = a->cols / bw + 1, r, k, b, super;
    unsigned *load = (unsigned *)need(across, sizeof *load);
    dense[0] = dense[1] = 0;
    for (super = 0; super * bh < a->rows; super++) {
        memset(load, 0, across * sizeof *load);
        for (r = super * bh; r < (super + 1) * bh && r < a->rows; r++)
            for (k = a->ptr[r]; k < a->ptr[r + 1]; k++) load[a->col[k] / bw]++;
        for (b = 0; b < across; b++) {
            const int is_dense = 10 * load[b] >= 6 * bh * bw;
            blocks += load[b] > 0;
            dense[0] += is_dense;
            dense[1] += is_dense ? load[b] : 0;
        }
    }
    free(load);
    return blocks;
}

/* The same of diagonals. */
static uint64_t count_diagonals(const spmv_csr *a, uint64_t *dense)
{
    unsigned *load = (unsigned *)need(a->rows + a->cols + 1, sizeof *load);
    uint64_t r, k, n = 0;
    dense[0] = dense[1] = 0;
    for (r = 0; r < a->rows; r++)
        for (k = a->ptr[r]; k < a->ptr[r + 1]; k++) load[a->col[k] + a->rows - r]++;
    for (k = 1; k < a->rows + a->cols; k++) { /* rows - k is the row in which it begins, if that is not above the first */
        const uint64_t above = k < a->rows ? 0 : k - a->rows, left = k < a->rows ? a->rows - k : 0;
        const uint64_t length = a->rows - left < a->cols - above ? a->rows - left : a->cols - above;
        const int is_dense = load[k] && 10 * load[k] >= 6 * length;
        n += load[k] > 0;
        dense[0] += (uint64_t)is_dense;
        dense[1] += (uint64_t)is_dense * load[k];
    }
    free(load);
    return n;
}

/* Diagonals and blocks. */
static void check_places(const matrix *m, const spmv_csr *a, const spmv_features *f)
{
    uint64_t diagonals[2];
    int i;
    CHECK(f->diagonals == count_diagonals(a, diagonals), "%s: %llu diagonals", m->name, (unsigned long long)f->diagonals);
    CHECK(f->dense_diagonals == diagonals[0] && f->dense_diagonals_nnz == diagonals[1], "%s: %llu dense diagonals, not %llu", m->name,
          (unsigned long long)f->dense_diagonals, (unsigned long long)diagonals[0]);
    for (i = 0; i < SPMV_BLOCK_SIZES; i++) {
        const spmv_block_features *b = &f->block[i];
        double dense[2], blocks = count_blocks(a, (uint64_t)b->bh, (uint64_t)b->bw, dense);
        CHECK(b->blocks == blocks && b->dense == dense[0] && b->dense_nnz == dense[1], "%s: %dx%d: %g blocks, %g dense, not %g, %g",
              m->name, b->bh, b->bw, b->blocks, b->dense, blocks, dense[0]);
    }
}

Test(features, match_counting)
{
    matrix m;
    int i;
    for (i = 0; matrix_awkward(&m, i, INTEGERS); i++) {
        spmv_csr a = matrix_csr(&m, SPMV_F64);
        spmv_view v = whole(&a);
        spmv_features f;
        double sum = 0, squares = 0;
        uint64_t r, longest = 0, empty = 0;
        CHECK(library_features_make(&f, &v, UINT64_MAX / 4, 0, NULL) == SPMV_OK, "%s", m.name);
        for (r = 0; r < a.rows; r++) {
            uint64_t len = a.ptr[r + 1] - a.ptr[r];
            if (len > longest) longest = len;
            empty += !len;
            if (!len) continue;
            sum += (double)len;
            squares += (double)len * (double)len;
        }
        CHECK(f.rows == a.rows && f.cols == a.cols && f.nnz == a.nnz && f.longest == longest && f.empty == empty, "%s", m.name);
        if (a.rows > empty) {
            double rows = (double)(a.rows - empty), mean = sum / rows;
            CHECK(fabs(f.deviation - sqrt(squares / rows - mean * mean)) < 1e-6 * (1 + mean), "%s: deviation %g", m.name, f.deviation);
            if ((double)f.longest <= 64 * mean)
                CHECK(fabs(library_features(&v, SPMV_DEVICE_CLASS_GPU).uneven * mean - f.deviation) < 1e-6 * (1 + mean),
                      "%s: uneven on a GPU", m.name);
        }
        CHECK(f.gather >= 0 && f.gather <= 1, "%s: gather %g", m.name, f.gather);
        CHECK(f.uneven >= 0 && f.uneven <= 1 && (sum > 0 || f.uneven == 0), "%s: uneven %g", m.name, f.uneven);
        if (a.nnz) check_places(&m, &a, &f);
        spmv_csr_destroy(&a);
        matrix_free(&m);
    }
    cr_assert_gt(checks_done, 400);
}

/* A matrix of which only the row lengths matter: row r has n(r) entries from column 0 on. */
static spmv_csr of_lengths(matrix *m, uint64_t rows, uint64_t cols, uint64_t (*n)(uint64_t r))
{
    uint64_t r, c;
    matrix_open(m, "lengths", rows, cols);
    for (r = 0; r < rows; r++) {
        for (c = n(r); c > 0; c--) matrix_add(m, n(r) - c);
        m->ptr[r + 1] = m->nnz;
    }
    matrix_close(m, INTEGERS);
    return matrix_csr(m, SPMV_F64);
}

/* A sample must be nearly right: a banded matrix of 2x2 blocks, half of them full and the others half full. */
Test(features, samples_come_near)
{
    matrix m;
    uint64_t r, b;
    spmv_csr a;
    spmv_view v;
    spmv_features all, some;
    int i;
    matrix_open(&m, "banded", 60000, 60000);
    for (r = 0; r < m.rows; r++) {
        for (b = r / 2; b < r / 2 + 6 && 2 * b + 1 < m.cols; b++) {
            matrix_add(&m, 2 * b + (b % 2 ? r % 2 : 0));
            if (!(b % 2)) matrix_add(&m, 2 * b + 1);
        }
        m.ptr[r + 1] = m.nnz;
    }
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    v = whole(&a);
    cr_assert_eq(library_features_make(&all, &v, UINT64_MAX / 4, 0, NULL), SPMV_OK);
    cr_assert_eq(library_features_make(&some, &v, 20000, 0, NULL), SPMV_OK);
    for (i = 0; i < SPMV_BLOCK_SIZES; i++) {
        CHECK(some.block[i].sampled < 0.2, "%g of the nonzeros", some.block[i].sampled);
        CHECK(fabs(some.block[i].blocks / all.block[i].blocks - 1) < 0.05, "%dx%d: %g blocks, really %g", all.block[i].bh,
              all.block[i].bw, some.block[i].blocks, all.block[i].blocks);
        CHECK(fabs(some.block[i].slots / all.block[i].slots - 1) < 0.05, "%dx%d: %g slots, really %g", all.block[i].bh, all.block[i].bw,
              some.block[i].slots, all.block[i].slots);
    }
    CHECK(fabs(some.gather - all.gather) < 0.1, "gather %g, %g", some.gather, all.gather);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* Rows that change from the top of the matrix to its bottom, so that no few of them are typical of all. */
enum { FULL_BLOCKS_FIRST, FULL_BLOCKS_LAST, FIRST_ROWS_LONG, LONG_ROWS_AMONG_SHORT, EVER_LONGER, UNLIKE_KINDS };
static const char *const unlike_names[UNLIKE_KINDS] = { "full blocks first", "full blocks last", "first rows long", "long rows among short",
                                                        "ever longer" };

static void unlike_row(matrix *m, int kind, uint64_t r)
{
    uint64_t full = kind == FULL_BLOCKS_FIRST ? r < m->rows / 32 : kind == FULL_BLOCKS_LAST ? r > m->rows - m->rows / 8 : 0, k, n;
    if (full) {
        for (k = 0; k < 48; k++) matrix_add(m, r / 24 % 100 * 24 + k);
        return;
    }
    n = kind == FIRST_ROWS_LONG && r < 40 ? 20000 : kind == LONG_ROWS_AMONG_SHORT && r % 9973 == 5000 ? 30000
      : kind == EVER_LONGER ? 1 + r * 40 / m->rows : 4;
    for (k = 0; k < n; k++) matrix_add(m, n > 1000 ? k : k * (m->cols / n) + rng_below(m->cols / n));
}

/* For every block size, the estimate from a sample is within a factor of 1.4 of that from all rows. */
Test(features, samples_of_rows_that_differ)
{
    int kind, i;
    for (kind = 0; kind < UNLIKE_KINDS; kind++) {
        matrix m;
        uint64_t r;
        spmv_csr a;
        spmv_view v;
        spmv_features all, some;
        rng_state = 11;
        matrix_open(&m, unlike_names[kind], 60000, 60000);
        for (r = 0; r < m.rows; r++) {
            unlike_row(&m, kind, r);
            m.ptr[r + 1] = m.nnz;
        }
        matrix_close(&m, INTEGERS);
        a = matrix_csr(&m, SPMV_F64);
        v = whole(&a);
        cr_assert_eq(library_features_make(&all, &v, UINT64_MAX / 4, 0, NULL), SPMV_OK);
        cr_assert_eq(library_features_make(&some, &v, 0, 0, NULL), SPMV_OK);
        for (i = 0; i < SPMV_BLOCK_SIZES; i++) {
            const spmv_block_features *b = &all.block[i], *s = &some.block[i];
            CHECK(s->sampled < 0.5 && b->sampled == 1, "%s: %g of the nonzeros, %g", m.name, s->sampled, b->sampled);
            CHECK(s->blocks / b->blocks < 1.4 && b->blocks / s->blocks < 1.4, "%s, %dx%d: %g blocks, really %g", m.name, b->bh, b->bw,
                  s->blocks, b->blocks);
            CHECK(fabs(s->dense_nnz - b->dense_nnz) < 0.1 * (double)a.nnz, "%s, %dx%d: dense blocks hold %g, not %g of %g", m.name, b->bh,
                  b->bw, s->dense_nnz, b->dense_nnz, (double)a.nnz);
        }
        spmv_csr_destroy(&a);
        matrix_free(&m);
    }
    cr_assert_gt(checks_done, 100);
}

/* ---- as many columns as there can be ------------------------------------------------------------------------------- */

/* The same matrix with as many empty columns as there can be: nothing that depends only on the nonzeros may change. */
static spmv_csr widened(const spmv_csr *a)
{
    spmv_csr wide = *a;
    wide.cols = 1000000000 + a->cols;
    return wide;
}

Test(wide, features_of_the_nonzeros_alone)
{
    matrix m;
    int i, j;
    for (i = 0; matrix_awkward(&m, i, INTEGERS); i++) {
        spmv_csr a = matrix_csr(&m, SPMV_F64), b = widened(&a);
        spmv_view v = whole(&a), w = whole(&b);
        spmv_features f, g;
        CHECK(library_features_make(&f, &v, UINT64_MAX / 4, 0, NULL) == SPMV_OK, "%s", m.name);
        CHECK(library_features_make(&g, &w, UINT64_MAX / 4, 0, NULL) == SPMV_OK, "%s", m.name);
        CHECK(f.diagonals == g.diagonals && f.gather == g.gather, "%s: %llu diagonals, %llu", m.name,
              (unsigned long long)f.diagonals, (unsigned long long)g.diagonals);
        for (j = 0; j < SPMV_BLOCK_SIZES; j++)
            CHECK(!memcmp(&f.block[j], &g.block[j], sizeof f.block[j]), "%s: %dx%d", m.name, f.block[j].bh, f.block[j].bw);
        spmv_csr_destroy(&a);
        matrix_free(&m);
    }
    cr_assert_gt(checks_done, 300);
}

/* The stored parts are equal, array by array. */
Test(wide, arrays_of_the_nonzeros_alone)
{
    static const char *const plans[] = { "dia", "bdia", "bell", "sbell:b=3x3", "bcsr", "bcsr:b=8x8,idx=16", "sbell:b=1x8,h=7",
                                         "sbell:b=2x2,d=0.6+csr", "bdia:w=2+csr" };
    matrix m;
    size_t p;
    int i, j, k;
    for (i = 0; matrix_awkward(&m, i, INTEGERS); i++) {
        spmv_csr a = matrix_csr(&m, SPMV_F64), b = widened(&a);
        for (p = 0; p < sizeof plans / sizeof *plans; p++) {
            spmv_plan plan;
            spmv_store s, t;
            spmv_build how;
            memset(&how, 0, sizeof how);
            how.max_bytes = (uint64_t)1 << 28;
            CHECK(spmv_plan_parse(&plan, plans[p], NULL, NULL) == SPMV_OK, "%s", plans[p]);
            CHECK(spmv_store_create(&s, &plan, &a, &how, NULL) == SPMV_OK && spmv_store_create(&t, &plan, &b, &how, NULL) == SPMV_OK,
                  "%s: %s", m.name, plans[p]);
            CHECK(s.count == t.count, "%s: %s", m.name, plans[p]);
            for (j = 0; j < s.count; j++)
                for (k = 0; k < SPMV_MAX_ARRAYS; k++) {
                    const spmv_array *x = &s.part[j].a[k], *y = &t.part[j].a[k];
                    CHECK(x->count == y->count && x->width == y->width, "%s: %s, array %d", m.name, plans[p], k);
                    CHECK(!x->count || !memcmp(x->data, y->data, (size_t)(x->count * x->width)), "%s: %s, array %d", m.name, plans[p], k);
                }
            spmv_store_destroy(&s);
            spmv_store_destroy(&t);
        }
        spmv_csr_destroy(&a);
        matrix_free(&m);
    }
    cr_assert_gt(checks_done, 1000);
}

/* A processor finds 64 lines in its cache again and again; each work-group of a GPU reads them anew. */
Test(features, gather_of_a_gpu_counts_what_each_tile_reads)
{
    enum { LINES = 64, TILE = 4096 };
    matrix m;
    spmv_csr a;
    spmv_view v;
    uint64_t r;
    matrix_open(&m, "few lines", 40000, 8 * LINES);
    for (r = 0; r < m.rows; r++) {
        matrix_add(&m, r * 8 % (8 * LINES));
        m.ptr[r + 1] = m.nnz;
    }
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    v = whole(&a);
    cr_assert_float_eq(library_features(&v, SPMV_DEVICE_CLASS_GPU).gather, (double)LINES / TILE, 1e-3);
    cr_assert_lt(library_features(&v, SPMV_DEVICE_CLASS_HOST).gather, (double)LINES / TILE / 2);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* Adjacent columns share cache lines of x; scattered columns do not. */
Test(features, gather_tells_scattered_from_banded)
{
    matrix m;
    spmv_csr a;
    spmv_view v;
    spmv_features f;
    uint64_t r, k;
    matrix_open(&m, "scattered", 20000, 2000000);
    for (r = 0; r < m.rows; r++) {
        for (k = 0; k < 16; k++) matrix_add(&m, k * 125000 + rng_below(125000));
        m.ptr[r + 1] = m.nnz;
    }
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    v = whole(&a);
    cr_assert_eq(library_features_make(&f, &v, 0, 0, NULL), SPMV_OK);
    cr_assert_gt(f.gather, 0.9);
    spmv_csr_destroy(&a);
    matrix_free(&m);
    matrix_bands(&m, "banded", 2000, 2000, -8, 8, -8, 8);
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    v = whole(&a);
    cr_assert_eq(library_features_make(&f, &v, 0, 0, NULL), SPMV_OK);
    cr_assert_lt(f.gather, 0.1);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* ---- estimated slots ----------------------------------------------------------------------------------------------- */

/* The slots that the choice estimates for a layout; *stored: those that a build has. */
static double estimated_slots(const spmv_csr *a, const char *layout, double *stored)
{
    spmv_view v = whole(a);
    spmv_build how;
    spmv_plan plan;
    spmv_store store;
    double slots = 0, extra = 0;
    memset(&how, 0, sizeof how);
    how.max_bytes = (uint64_t)1 << 30;
    CHECK(spmv_plan_parse(&plan, layout, NULL, NULL) == SPMV_OK, "%s", layout);
    CHECK(spmv_store_create(&store, &plan, a, &how, NULL) == SPMV_OK, "%s", layout);
    CHECK(library_estimate(&v, &plan.part[0], &slots, &extra) == SPMV_OK, "%s", layout);
    *stored = (double)spmv_store_slots(&store);
    spmv_store_destroy(&store);
    return slots;
}

/* The choice estimates as many slots as are stored. */
Test(slots, estimated_are_stored)
{
    static const char *const layouts[] = { "csr", "csr:run=1024", "coo", "cmrs", "ell", "sell", "sell:h=1", "sell:h=7", "sell:h=64",
                                           "sell:rows=sorted", "sell:h=8,rows=sorted,sigma=50", "dia", "bdia", "dense", "bcsr",
                                           "bcsr:b=3x3", "bcsr:b=8x8", "bell", "sbell", "sbell:b=6x6", "sbell:b=1x8",
                                           "tcsr", "tcsr:tile=512,idx=16" };
    matrix m;
    size_t j;
    int i, compared = 0;
    for (i = 0; matrix_awkward(&m, i, INTEGERS); i++) {
        spmv_csr a = matrix_csr(&m, SPMV_F64);
        for (j = 0; a.nnz && j < sizeof layouts / sizeof *layouts; j++) {
            double real, more = 0, slots = estimated_slots(&a, layouts[j], &real);
            /* not estimated: columns are as long as the number of rows (bell: of block rows, of 4 rows) rounded up to 32 */
            if (strncmp(layouts[j], "ell", 3) == 0 || strncmp(layouts[j], "dia", 3) == 0 || strncmp(layouts[j], "bdia", 4) == 0)
                more = 32 * slots / (double)a.rows;
            if (strncmp(layouts[j], "bell", 4) == 0) more = 128 * slots / (double)a.rows;
            CHECK(fabs(real - slots) <= more, "%s: %s has %g slots, %g were estimated", m.name, layouts[j], real, slots);
            compared++;
        }
        spmv_csr_destroy(&a);
        matrix_free(&m);
    }
    cr_assert_gt(compared, 300);
}

/* The bases and the high bytes of tcsr with 16-bit columns: eight warps, each with a row of 512 nonzeros, every second of which is 2^16
 * columns wide or wider; then one where three of four are. With columns beyond 2^23 the layout is refused. */
Test(slots, extra_bytes_of_narrow_tiles)
{
    spmv_plan plan;
    spmv_store store;
    spmv_build how;
    spmv_csr a;
    spmv_view v;
    matrix m;
    uint64_t r, c, bytes;
    double slots = 0, extra = 0;
    memset(&how, 0, sizeof how);
    matrix_open(&m, "narrow tiles", 8, 100000);
    for (r = 0; r < 8; r++) {
        for (c = 0; c < 512; c++) matrix_add(&m, r % 2 ? 128 * c : c);
        if (r == 3) m.col[m.nnz - 1] = 99999;
        m.ptr[r + 1] = m.nnz;
    }
    m.col[2 * 512 - 1] = 65536;
    m.col[6 * 512 - 1] = 65536;
    m.col[8 * 512 - 1] = 65535; /* one less fits 16 bits */
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    v = whole(&a);
    cr_assert_eq(spmv_plan_parse(&plan, "tcsr:idx=16", NULL, NULL), SPMV_OK);
    cr_assert_eq(spmv_store_create(&store, &plan, &a, &how, NULL), SPMV_OK);
    bytes = store.part[0].a[SPMV_TCSR_BASE].count * 4 + store.part[0].a[SPMV_TCSR_HIGH_AT].count * 4;
    bytes += store.part[0].a[SPMV_TCSR_HIGH].count;
    cr_assert_eq(bytes, 8 * 4 + 9 * 4 + 3 * 512);
    cr_assert_eq(library_estimate(&v, &plan.part[0], &slots, &extra), SPMV_OK);
    cr_assert(slots == 4096 && extra == 8 * 8 + 3 * 512, "%g slots, %g bytes", slots, extra);
    spmv_store_destroy(&store);
    spmv_csr_destroy(&a);
    for (r = 0; r < 6; r++) m.col[(r + 1) * 512 - 1] = 99999; /* 6 of 8 are wide, so all have high bytes */
    a = matrix_csr(&m, SPMV_F64);
    v = whole(&a);
    cr_assert_eq(spmv_store_create(&store, &plan, &a, &how, NULL), SPMV_OK);
    cr_assert_eq(store.part[0].a[SPMV_TCSR_HIGH].count, 8 * 512);
    cr_assert_eq(library_estimate(&v, &plan.part[0], &slots, &extra), SPMV_OK);
    cr_assert(slots == 4096 && extra == 8 * 8 + 8 * 512, "%g slots, %g bytes", slots, extra);
    spmv_store_destroy(&store);
    spmv_csr_destroy(&a);
    m.cols = (uint64_t)1 << 25;
    m.col[512 - 1] = 1u << 23;
    a = matrix_csr(&m, SPMV_F64);
    v = whole(&a);
    cr_assert_eq(library_estimate(&v, &plan.part[0], &slots, &extra), SPMV_ERR_UNSUPPORTED);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* Of many windows of sorted rows only some are counted. Where the nonzeros lie together, those say too little: here the 1,024 rows of a
 * cluster, wherever it is, have most of them, or all. */
Test(slots, sorted_rows_of_a_cluster)
{
    enum { ROWS = 150000, CLUSTER = 1024 };
    spmv_csr a;
    matrix m;
    uint64_t at, r, c, every;
    double slots, stored;
    for (at = 0; at < 6; at++) {
        every = at % 2 ? 50 : ROWS + 1;
        matrix_open(&m, "cluster", ROWS, 100);
        for (r = 0; r < ROWS; r++) {
            const int inside = r / CLUSTER == 3 + at * 20;
            for (c = 0; c < (inside ? 1 + r % 97 : (r + 1) % every == 0); c++) matrix_add(&m, c);
            m.ptr[r + 1] = m.nnz;
        }
        matrix_close(&m, INTEGERS);
        a = matrix_csr(&m, SPMV_F64);
        slots = estimated_slots(&a, "sell:h=32,rows=sorted,sigma=1024", &stored);
        cr_assert_float_eq(slots / stored, 1, 0.1, "cluster %d: %g slots, %g are stored", (int)at, slots, stored);
        spmv_csr_destroy(&a);
        matrix_free(&m);
    }
}

/* Of many tiles only a sample is walked; padding is up to a 16th of a tile. */
Test(slots, of_many_tiles)
{
    enum { ROWS = 24000 };
    spmv_csr a;
    matrix m;
    uint64_t r, c, n;
    double slots, stored;
    matrix_open(&m, "many tiles", ROWS, 3000);
    for (r = 0; r < ROWS; r++) {
        n = r == ROWS / 2 ? 3000 : r % 50 == 0 ? 200 + rng_below(400) : 5 + rng_below(r < ROWS / 3 ? 100 : 30);
        for (c = 0; c < n; c++) matrix_add(&m, c);
        m.ptr[r + 1] = m.nnz;
    }
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    slots = estimated_slots(&a, "tcsr:tile=512", &stored);
    cr_assert_gt(stored, 1.01 * (double)a.nnz);
    cr_assert_float_eq(slots / stored, 1, 0.006, "%g slots, %g are stored", slots, stored);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* Do the columns of every h adjacent rows fit 16 bits? */
static int narrow(const spmv_csr *a, uint64_t h)
{
    uint64_t first, k;
    for (first = 0; first < a->rows; first += h) {
        uint64_t low = UINT64_MAX, high = 0, end = first + h < a->rows ? first + h : a->rows;
        for (k = a->ptr[first]; k < a->ptr[end]; k++) {
            if (a->col[k] < low) low = a->col[k];
            if (a->col[k] > high) high = a->col[k];
        }
        if (low < high && high - low >= 65535) return 0; /* one number marks padding */
    }
    return 1;
}

/* Whether 16-bit columns fit is found by groups of rows, and by the rows of those groups that slices cut. Row `odd` lies further right. */
Test(slots, narrow_columns_at_any_height)
{
    static const uint64_t heights[] = { 1, 8, 31, 32, 33, 48, 64, 100, 171, 256 };
    uint64_t odd, step, i, r, fitting = 0, others = 0;
    for (odd = 0; odd < 600; odd += 59)
        for (step = 200; step < 2000; step += 230) {
            spmv_csr a;
            matrix m;
            matrix_open(&m, "stairs", 600, 1300000);
            for (r = 0; r < 600; r++) {
                matrix_add(&m, r * step);
                if (r % 3 == 0) matrix_add(&m, r * step + 900);
                if (r == odd) matrix_add(&m, r * step + 50000);
                m.ptr[r + 1] = m.nnz;
            }
            matrix_close(&m, INTEGERS);
            a = matrix_csr(&m, SPMV_F64);
            for (i = 0; i < sizeof heights / sizeof *heights; i++) {
                spmv_view v = whole(&a);
                spmv_plan plan;
                double slots, extra;
                char text[40];
                int fits = narrow(&a, heights[i]);
                snprintf(text, sizeof text, "sell:h=%d,idx=16", (int)heights[i]);
                cr_assert_eq(spmv_plan_parse(&plan, text, NULL, NULL), SPMV_OK);
                CHECK(library_estimate(&v, &plan.part[0], &slots, &extra) == (fits ? SPMV_OK : SPMV_ERR_UNSUPPORTED),
                      "%s, step %d, row %d", text, (int)step, (int)odd);
                if (fits) fitting++;
                else others++;
            }
            spmv_csr_destroy(&a);
            matrix_free(&m);
        }
    cr_assert(fitting > 100 && others > 100);
}

/* ---- the choice ---------------------------------------------------------------------------------------------------- */

/* The head of a table of one device, and lines by which a product takes so many picoseconds for each slot and nothing else counts, and
 * preparing as many as the last number says. */
#define HEAD "spmv tuning table 2\ndevice d\nclass gpu\nmemory 1000\n"
#define LINE(type, plan, knobs, slot, prepare) type " " plan " " knobs " 0 0 0 " slot " 0 0 0 0 " prepare "\n"
#define F64(plan, slot) LINE("f64", plan, "-", slot, "0")

/* The chosen plan fits the default limit of memory, no matter how fast larger formats are according to the table. */
Test(choice, fits_the_memory_limit)
{
    static const struct {
        const char *larger;
        uint64_t    cols, longest; /* longest: the entries of the first row; all others have 100 */
    } cases[] = { { "dense", 6000, 100 }, { "ell", 9000, 6000 } };
    size_t i;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        matrix m;
        uint64_t r, k;
        char table[200];
        size_t length = spmv_print(table, sizeof table, HEAD LINE("f32", "csr", "-", "2000", "0") "f32 %s - 0 0 0 0.02 0 0 0 0 0\n",
                                   cases[i].larger);
        spmv_csr a;
        spmv_tuning t;
        spmv_build how;
        spmv_build_hints hints;
        spmv_choice c;
        spmv_store store;
        memset(&how, 0, sizeof how);
        memset(&hints, 0, sizeof hints);
        matrix_open(&m, cases[i].larger, 2000, cases[i].cols);
        for (r = 0; r < m.rows; r++) {
            uint64_t n = r ? 100 : cases[i].longest;
            for (k = 0; k < n; k++) matrix_add(&m, k * (m.cols / n));
            m.ptr[r + 1] = m.nnz;
        }
        matrix_close(&m, INTEGERS);
        a = matrix_csr(&m, SPMV_F32);
        how.type = SPMV_F32;
        hints.tuning = &t;
        cr_assert_eq(spmv_tuning_create(&t, table, length, NULL, NULL), SPMV_OK);
        cr_assert_eq(spmv_choose(&c, "auto", &a, &how, NULL, &hints, NULL, NULL), SPMV_OK);
        CHECK(spmv_store_create(&store, &c.plan, &a, &how, NULL) == SPMV_OK, "%s is chosen but cannot be stored", plan_of(&c, 0));
        spmv_store_destroy(&store);
        spmv_tuning_destroy(&t);
        spmv_csr_destroy(&a);
        matrix_free(&m);
    }
}

static void check_product(const spmv_csr *a, const spmv_desc *d, const char *what)
{
    spmv_matrix mat;
    double *x = (double *)need(a->cols, 8), *y = (double *)need(a->rows, 8);
    uint64_t r, k;
    for (k = 0; k < a->cols; k++) x[k] = rng_int();
    CHECK(spmv_create(&mat, d) == SPMV_OK, "%s", what);
    CHECK(spmv_mul(&mat, 1, x, 0, y) == SPMV_OK, "%s", what);
    for (r = 0; r < a->rows; r++) {
        double sum = 0;
        for (k = a->ptr[r]; k < a->ptr[r + 1]; k++) sum += csr_value(a, k) * x[a->col[k]];
        CHECK(y[r] == sum, "%s: y[%llu] is %g, not %g", what, (unsigned long long)r, y[r], sum);
    }
    spmv_destroy(&mat);
    free(x);
    free(y);
}

/* The bundled table of the host, passed as the caller's own: then plans are chosen for tiny matrices as well. */
static spmv_tuning host_table(void)
{
    spmv_tuning t;
    size_t length;
    const char *text = spmv_tuning_bundled("host", SPMV_DEVICE_CLASS_HOST, &length, NULL);
    if (!text || spmv_tuning_create(&t, text, length, "host", NULL) != SPMV_OK) cr_assert_fail("the host's table");
    return t;
}

Test(choice, multiplies_right, .timeout = 120)
{
    static const char *const plans[] = { NULL, " auto ", " cocktail ", "measure" };
    spmv_tuning t = host_table();
    spmv_build_hints hints;
    matrix m;
    size_t p;
    int i;
    memset(&hints, 0, sizeof hints);
    hints.tuning = &t;
    for (i = 0; matrix_awkward(&m, i, INTEGERS); i++) {
        spmv_csr a = matrix_csr(&m, SPMV_F64);
        for (p = 0; p < sizeof plans / sizeof *plans; p++) {
            spmv_desc d;
            memset(&d, 0, sizeof d);
            d.csr = &a;
            d.plan = plans[p];
            check_product(&a, &d, m.name);
            d.hints = &hints;
            check_product(&a, &d, m.name);
            d.strict = 1;
            check_product(&a, &d, m.name);
        }
        spmv_csr_destroy(&a);
        matrix_free(&m);
    }
    spmv_tuning_destroy(&t);
}

/* Formats that hints.without excludes are in no plan that the library finds, whatever is left; nothing left is refused. */
Test(choice, excluded_formats_stay_out)
{
    static const char *const plans[] = { NULL, "auto", "cocktail", "measure" };
    const unsigned all = (1u << SPMV_FORMAT_COUNT) - 1, large = 1u << SPMV_DENSE | 1u << SPMV_DIA | 1u << SPMV_BDIA;
    spmv_build_hints hints;
    int format, n, i;
    size_t p;
    memset(&hints, 0, sizeof hints);
    for (n = 40; n <= 20000; n *= 500) { /* one matrix is tiny, the other too large for formats with much fill */
        const uint64_t rows = (uint64_t)n;
        uint64_t r;
        matrix m;
        spmv_csr a;
        matrix_open(&m, "scattered", rows, rows);
        for (r = 0; r < rows; r++) {
            matrix_add(&m, r * 7919 % rows);
            m.ptr[r + 1] = m.nnz;
        }
        matrix_close(&m, INTEGERS);
        a = matrix_csr(&m, SPMV_F64);
        for (format = -1; format < SPMV_FORMAT_COUNT; format++) /* the only one that may be used; -1: none */
            for (p = 0; p < 8; p++) {
                const unsigned keep = format < 0 ? 0 : 1u << format;
                spmv_desc d;
                spmv_matrix x;
                spmv_status s;
                ledger l;
                memset(&d, 0, sizeof d);
                d.csr = &a;
                d.plan = plans[p % 4];
                d.reproducible = p >= 4;
                d.hints = &hints;
                d.hooks = ledger_hooks(&l);
                hints.without = all & ~keep;
                s = spmv_create(&x, &d);
                for (i = 0; !s && i < x.store.plan_count; i++)
                    CHECK(keep >> x.store.plan[i].format & 1u, "plan %d: %s without it", (int)p, spmv_format_name(x.store.plan[i].format));
                if (!keep) CHECK(s == SPMV_ERR_UNSUPPORTED && strstr(l.text, "hints.without"), "plan %d, nothing left: %s", (int)p, l.text);
                else if (p < 4) CHECK(!s || (n > 40 && s == SPMV_ERR_TOO_LARGE && keep & large), "plan %d, %s alone: %s", (int)p,
                                      spmv_format_name((spmv_format)format), l.text);
                spmv_destroy(&x);
                CHECK(l.live == 0, "blocks left");
            }
        spmv_csr_destroy(&a);
        matrix_free(&m);
    }
}

/* Up to a size, no table is read and no feature is found. With one entry more, on a GPU, or with a table of the caller's, a plan is
 * chosen. */
Test(choice, tiny_matrices_are_csr)
{
    spmv_choice *c = (spmv_choice *)need(1, sizeof *c);
    spmv_build_hints hints;
    spmv_build how;
    spmv_tuning t = host_table();
    spmv_target gpu = { "NVIDIA H100 80GB HBM3", SPMV_DEVICE_CLASS_GPU, NULL, 0, 0, 0, 0 };
    char text[200];
    uint64_t more;
    memset(&how, 0, sizeof how);
    for (more = 0; more < 2; more++) {
        const uint64_t rows = 127, nnz = (SPMV_TINY_BYTES - (rows + 1) * 8) / 12; /* 12 bytes for each entry, 8 for each row pointer */
        matrix m;
        spmv_csr a;
        ledger l;
        spmv_hooks h = ledger_hooks(&l);
        uint64_t r, k;
        matrix_open(&m, "tiny", rows, 1000);
        for (r = 0; r < rows; r++) {
            for (k = 0; k < nnz / rows + (r < nnz % rows) + (r == 126 ? more : 0); k++) matrix_add(&m, r + k);
            m.ptr[r + 1] = m.nnz;
        }
        matrix_close(&m, INTEGERS);
        a = matrix_csr(&m, SPMV_F64);
        CHECK(a.nnz == nnz + more, "%d entries", (int)a.nnz);
        memset(&hints, 0, sizeof hints);
        CHECK(spmv_choose(c, NULL, &a, &how, NULL, &hints, NULL, &h) == SPMV_OK, "%s", l.text);
        CHECK(c->tiny == !more && (l.calls == 0) == !more && (c->count == 0) == !more, "%d requests, %d options", (int)l.calls, c->count);
        spmv_explain(c, text, sizeof text);
        CHECK(!strcmp(text, "plan      csr: a matrix of up to 16384 bytes costs less than a choice would\n") == !more, "%s", text);
        if (!more) CHECK(c->plan.count == 1 && c->plan.part[0].format == SPMV_CSR && !*c->variant, "not csr");
        CHECK(spmv_choose(c, NULL, &a, &how, &gpu, NULL, NULL, &h) == SPMV_OK && !c->tiny && c->count, "GPU: %s", l.text);
        hints.tuning = &t;
        CHECK(spmv_choose(c, "auto", &a, &how, NULL, &hints, NULL, &h) == SPMV_OK && !c->tiny && c->count, "%s", l.text);
        memset(&hints, 0, sizeof hints);
        hints.without = 1u << SPMV_CSR;
        CHECK(spmv_choose(c, "auto", &a, &how, NULL, &hints, NULL, &h) == SPMV_OK && !c->tiny, "%s", l.text);
        CHECK(c->plan.part[c->plan.count - 1].format != SPMV_CSR, "csr was to be left out");
        CHECK(spmv_choose(c, "cocktail", &a, &how, NULL, NULL, NULL, &h) == SPMV_OK && !c->tiny, "%s", l.text);
        CHECK(l.live == 0, "%d blocks left", (int)l.live);
        spmv_csr_destroy(&a);
        matrix_free(&m);
    }
    spmv_tuning_destroy(&t);
    free(c);
}

/* With few products expected, no table is read for larger matrices either, as spmv_create and spmv_choose agree. */
Test(choice, few_products_are_of_csr)
{
    static const struct { uint64_t calls; int tiny; } t[] = {
        { 1, 2 }, { 10, 2 }, { 19, 2 }, { 25, 2 }, { 200, 0 }, { 1000, 0 }, { 0, 0 }
    };
    spmv_choice *c = (spmv_choice *)need(1, sizeof *c);
    spmv_target gpu = { "NVIDIA H100 80GB HBM3", SPMV_DEVICE_CLASS_GPU, NULL, 0, 0, 0, 0 };
    spmv_build_hints hints;
    spmv_build how;
    char text[200];
    matrix m;
    spmv_csr a;
    size_t i;
    memset(&how, 0, sizeof how);
    matrix_random(&m, "some", 800, 800, 0.03);
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    cr_assert(a.nnz * 12 + (a.rows + 1) * 8 > 1000 * SPMV_TINY_BYTES / 200 && a.nnz * 12 + (a.rows + 1) * 8 < 1000 * SPMV_TINY_BYTES / 25);
    memset(&hints, 0, sizeof hints);
    for (i = 0; i < sizeof t / sizeof *t; i++) {
        hints.expected_calls = t[i].calls;
        cr_assert_eq(spmv_choose(c, NULL, &a, &how, NULL, &hints, NULL, NULL), SPMV_OK);
        CHECK(c->tiny == t[i].tiny && !c->count == !!t[i].tiny, "%d calls: %d", (int)t[i].calls, c->tiny);
        spmv_explain(c, text, sizeof text);
        CHECK(!strcmp(text, "plan      csr: the products that are expected cost less than a choice would\n") == !!t[i].tiny, "%s", text);
        CHECK(spmv_choose(c, "auto", &a, &how, &gpu, &hints, NULL, NULL) == SPMV_OK && !c->tiny && c->count, "GPU");
        CHECK(spmv_choose(c, "cocktail", &a, &how, NULL, &hints, NULL, NULL) == SPMV_OK && !c->tiny, "cocktail");
    }
    hints.expected_calls = 1;
    hints.without = 1u << SPMV_CSR;
    cr_assert(spmv_choose(c, NULL, &a, &how, NULL, &hints, NULL, NULL) == SPMV_OK && !c->tiny && c->count);
    spmv_csr_destroy(&a);
    matrix_free(&m);
    free(c);
}

/* Chooses for a matrix whose entries were added, and frees it, by the bundled table of an H100; free() what is returned. */
static spmv_choice *choice_on_gpu(matrix *m)
{
    spmv_choice *c = (spmv_choice *)need(1, sizeof *c);
    spmv_target gpu = { "NVIDIA H100 80GB HBM3", SPMV_DEVICE_CLASS_GPU, NULL, 0, 0, 0, 0 };
    spmv_build how;
    spmv_csr a;
    memset(&how, 0, sizeof how);
    matrix_close(m, INTEGERS);
    a = matrix_csr(m, SPMV_F64);
    CHECK(spmv_choose(c, NULL, &a, &how, &gpu, NULL, NULL, NULL) == SPMV_OK && c->count, "no choice");
    spmv_csr_destroy(&a);
    matrix_free(m);
    return c;
}

/* One lane after another, or a few, take many steps through a full row, however small the matrix is: csr without runs is not chosen. */
Test(choice, tiny_arrows_on_gpus_are_not_plain_csr)
{
    spmv_choice *c;
    matrix m;
    uint64_t r, k;
    const uint64_t n = 300;
    matrix_open(&m, "arrow", n, n);
    for (r = 0; r < n; r++) {
        for (k = 0; k < n; k++)
            if (!r || !k || k == r) matrix_add(&m, k);
        m.ptr[r + 1] = m.nnz;
    }
    cr_assert(m.nnz * 12 + (n + 1) * 8 <= SPMV_TINY_BYTES, "%d entries", (int)m.nnz);
    c = choice_on_gpu(&m);
    cr_assert(c->plan.part[0].format != SPMV_CSR || c->plan.part[0].key[SPMV_KEY_RUN], "csr without runs");
    free(c);
}

static spmv_csr grid(matrix *m)
{
    matrix_bands(m, "bands", 900, 900, -1, 1, 30, 30);
    matrix_close(m, INTEGERS);
    return matrix_csr(m, SPMV_F64);
}

static spmv_status choose(spmv_choice *c, const char *text, const spmv_csr *a, const char *table, spmv_build_hints *hints, spmv_build *how,
                          const spmv_hooks *hooks)
{
    spmv_tuning t;
    spmv_status s = spmv_tuning_create(&t, table, strlen(table), "table", NULL);
    cr_assert_eq(s, SPMV_OK);
    hints->tuning = &t;
    s = spmv_choose(c, text, a, how, NULL, hints, NULL, hooks);
    hints->tuning = NULL;
    spmv_tuning_destroy(&t);
    return s;
}

/* A choice, to be freed by the caller; hints are all zero. */
static spmv_choice *fresh(spmv_build_hints *hints, spmv_build *how)
{
    memset(hints, 0, sizeof *hints);
    memset(how, 0, sizeof *how);
    return (spmv_choice *)need(1, sizeof(spmv_choice));
}

static void option(spmv_choice *c, const char *plan, const char *variant, double predicted, double measured, double convert, double cost)
{
    spmv_option *o = &c->option[c->count++];
    spmv_plan parts;
    memset(o, 0, sizeof *o);
    cr_assert_eq(spmv_plan_parse(&parts, plan, NULL, NULL), SPMV_OK);
    o->count = parts.count;
    memcpy(o->part, parts.part, sizeof o->part);
    strcpy(o->variant, variant);
    o->predicted = predicted * 1e-6;
    o->measured = measured * 1e-6;
    o->convert = convert * 50e-6; /* products of csr */
    o->cost = cost * 1e-6;
}

/* Compares the text after the features with the expected one. */
static void explained(const spmv_choice *c, const char *want)
{
    static char text[4096];
    const char *got;
    cr_assert_lt(spmv_explain(c, text, sizeof text), sizeof text);
    got = strstr(text, "table");
    cr_assert(got && !strcmp(got, want), "%s", text);
}

/* The table of options: sorted by cost, columns aligned to the right under heads with units, the chosen one marked; of what the time of the
 * first consists; then the reason. */
Test(choice, explains_by_a_table)
{
    spmv_build_hints hints;
    spmv_build how;
    spmv_choice *c = fresh(&hints, &how);
    strcpy(c->table, "d");
    c->exact = 1;
    c->csr = 50e-6;
    c->convert_csr = 4 * 50e-6;
    option(c, "dia", "WG=32", 40, 0, 45.5, 44);
    c->option[0].share[SPMV_COST_BYTES] = 30.5e-6;
    c->option[0].share[SPMV_COST_ROWS] = 9.5e-6;
    option(c, "csr", "", 50, 0, 4, 50);
    option(c, "ell:w=1+csr:rows=nonempty", "+L=2", 12000, 0, 28, 12500.5);
    explained(c,
        "table     d\n"
        "\n"
        "       cost  predicted   measured  vs csr       convert  pays after  plan/variant\n"
        "         us         us         us   times  csr products    products\n"
        "*      44.0       40.0          -    1.25          45.5         208  dia/WG=32\n"
        "       50.0       50.0          -    1.00          4.00           -  csr\n"
        "      12501      12000          -    0.00          28.0           -  ell:w=1+csr:rows=nonempty/+L=2\n"
        "\n"
        "costs     bytes 30.5 + rows 9.50 = 40.0 us\n"
        "dia/WG=32 was chosen because a product is predicted to take 40.0 us, 1.25 times the speed of csr (50.0 us predicted), and it "
        "ranks at 44.0 us, before csr at 50.0 us; preparing takes about 45.5 products of csr, which pays after 208 products.\n");
    c->count = 0;
    c->exact = 0;
    c->error = 1;
    option(c, "sell", "++", 60, 30, 20.26, 66); /* a variant without knobs */
    c->option[0].share[SPMV_COST_BYTES] = 60e-6;
    option(c, "csr", "", 50, 31, 4, 67);
    option(c, "coo", "", 55, -1, 8, 60);
    explained(c,
        "table     d, not the device's own\n"
        "error     estimates err by a factor of 2.00\n"
        "\n"
        "       cost  predicted   measured  vs csr       convert  pays after  plan/variant\n"
        "         us         us         us   times  csr products    products\n"
        "*      66.0       60.0       30.0    0.83          20.3           -  sell\n"
        "       67.0       50.0       31.0    1.00          4.00           -  csr\n"
        "       60.0       55.0 cannot run    0.91          8.00           -  coo\n"
        "\n"
        "costs     bytes 60.0 = 60.0 us\n"
        "sell was chosen because a product is measured to take 30.0 us, 1.03 times the speed of csr (31.0 us measured), and it ranks at "
        "66.0 us, before csr at 67.0 us; preparing takes about 20.3 products of csr, which pays after 813 products.\n");
    c->count = 0;
    c->error = 0;
    c->call = 60e-6;
    option(c, "csr", "", 50, 0, 4, 50);
    c->option[0].share[SPMV_COST_CHAIN] = 45e-6;
    option(c, "bell", "", 45, 0, 40.26, 90);
    explained(c,
        "table     d, not the device's own\n"
        "launch    at least 60.0 us a product, unless products are recorded in a graph\n"
        "\n"
        "       cost  predicted   measured  vs csr       convert  pays after  plan/variant\n"
        "         us         us         us   times  csr products    products\n"
        "*      50.0       50.0          -    1.00          4.00           -  csr\n"
        "       90.0       45.0          -    1.11          40.3         363  bell\n"
        "\n"
        "costs     chain 45.0 = 45.0 us, and 50.0 with what no cost contains (look-ups, floors of a GPU, y once more)\n"
        "csr was chosen because a product is predicted to take 50.0 us, and it ranks at 50.0 us, before bell at 90.0 us; preparing takes "
        "about 4.00 products of csr.\n");
    c->count = 0;
    c->call = 0;
    option(c, "ell", "", 45, 60, 20.26, 45); /* csr was not measured, so that the estimates of both are compared */
    c->option[0].share[SPMV_COST_SLOTS] = 45e-6;
    explained(c,
        "table     d, not the device's own\n"
        "\n"
        "       cost  predicted   measured  vs csr       convert  pays after  plan/variant\n"
        "         us         us         us   times  csr products    products\n"
        "*      45.0       45.0       60.0    1.11          20.3         163  ell\n"
        "\n"
        "costs     slots 45.0 = 45.0 us\n"
        "ell was chosen because a product is measured to take 60.0 us, by estimates 1.11 times the speed of csr (50.0 us predicted); "
        "preparing takes about 20.3 products of csr, which pays after 163 products.\n");
    c->count = 0;
    c->csr = 0;
    option(c, "ell", "", 45, 0, 20, 45);
    c->option[0].share[SPMV_COST_SLOTS] = 45e-6;
    explained(c,
        "table     d, not the device's own\n"
        "\n"
        "       cost  predicted   measured  vs csr       convert  pays after  plan/variant\n"
        "         us         us         us   times  csr products    products\n"
        "*      45.0       45.0          -       -             -           -  ell\n"
        "\n"
        "costs     slots 45.0 = 45.0 us\n"
        "ell was chosen because a product is predicted to take 45.0 us.\n");
    free(c);
}

Test(choice, follows_table_and_wishes)
{
    static const char table[] = HEAD LINE("f64", "dia", "-", "220", "2700") LINE("f64", "csr", "-", "500", "1300")
                                LINE("f64", "coo", "L=2", "400", "2000") LINE("f64", "sell", "-", "2000", "2700");
    matrix m;
    spmv_csr a = grid(&m);
    spmv_build_hints hints;
    spmv_build how;
    spmv_choice *c = fresh(&hints, &how);
    char text[9000];
    cr_assert_eq(choose(c, "auto", &a, table, &hints, &how, NULL), SPMV_OK);
    cr_assert_eq(c->plan.part[0].format, SPMV_DIA);
    cr_assert_str_eq(c->table, "d");
    cr_assert_gt(spmv_explain(c, text, sizeof text), 200);
    cr_assert(strstr(text, "dia"), "%s", text);
    hints.without = 1u << SPMV_DIA;
    cr_assert_eq(choose(c, "auto", &a, table, &hints, &how, NULL), SPMV_OK);
    cr_assert_eq(c->plan.part[0].format, SPMV_COO);
    cr_assert_str_eq(c->variant, "L=2");
    hints.without = 0;
    how.strict = 1;
    cr_assert_eq(choose(c, NULL, &a, table, &hints, &how, NULL), SPMV_OK);
    cr_assert_eq(c->plan.part[0].format, SPMV_COO);
    how.strict = 0;
    how.reproducible = 1; /* coo has no such product */
    hints.without = 1u << SPMV_DIA;
    cr_assert_eq(choose(c, "auto", &a, table, &hints, &how, NULL), SPMV_OK);
    cr_assert_eq(c->plan.part[0].format, SPMV_CSR);
    how.reproducible = 0;
    hints.without = 0;
    hints.expected_calls = 1;
    cr_assert_eq(choose(c, "auto", &a, table, &hints, &how, NULL), SPMV_OK);
    cr_assert_eq(c->plan.part[0].format, SPMV_CSR);
    hints.expected_calls = 1000000;
    cr_assert_eq(choose(c, "auto", &a, table, &hints, &how, NULL), SPMV_OK);
    cr_assert_eq(c->plan.part[0].format, SPMV_DIA);
    cr_assert_eq(choose(c, "sell:h=7", &a, table, &hints, &how, NULL), SPMV_OK);
    cr_assert_eq(c->count, 0);
    cr_assert_eq(c->plan.part[0].key[SPMV_KEY_H], 7);
    cr_assert_eq(choose(c, "automatic", &a, table, &hints, &how, &(spmv_hooks){ 0 }), SPMV_ERR_PLAN);
    free(c);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* However many formats are cheaper, csr is among the options that are kept, as the last one, for want of memory. */
Test(choice, keeps_csr)
{
    static const char table[] = HEAD F64("dia", "100") F64("bdia", "100") F64("ell", "100") F64("sell", "100") F64("sell:h=8", "100")
        F64("sell:h=16", "100") F64("coo", "100") F64("sell:h=64", "100") F64("sell:h=128", "100") F64("csr", "2000");
    matrix m;
    spmv_csr a = grid(&m);
    spmv_build_hints hints;
    spmv_build how;
    spmv_choice *c = fresh(&hints, &how);
    cr_assert_leq(sizeof *c, 13 << 10);
    cr_assert_eq(choose(c, "auto", &a, table, &hints, &how, NULL), SPMV_OK);
    cr_assert(c->count == SPMV_CHOICE_MAX && !strcmp(plan_of(c, c->count - 1), "csr"), "%d options", c->count);
    cr_assert(c->csr > 0 && c->option[c->count - 1].predicted == c->csr && c->option[c->count - 1].convert == c->convert_csr);
    hints.without = 1u << SPMV_CSR;
    cr_assert_eq(choose(c, "auto", &a, table, &hints, &how, NULL), SPMV_OK);
    cr_assert(c->count == SPMV_CHOICE_MAX && strcmp(plan_of(c, c->count - 1), "csr") != 0);
    free(c);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* Preparing is counted as the table says: what a line takes to begin and for each slot. */
Test(choice, counts_what_preparing_costs)
{
    static const char table[] = HEAD "prepare 0 3000 0 0\nf64 csr - 0 0 0 300 0 0 0 10 100\nf64 sell - 0 0 0 200 0 0 0 50 500\n"
                                "f64 csr:run=1024 - 0 0 0 250 0 0 0 10 300\nf64 coo - 0 0 0 220 0 0 0 30 300\n";
    static const struct { const char *plan; double begin, slot; } want[] = {
        { "csr", 10e-6, 100e-12 }, { "csr:run=1024", 10e-6, 300e-12 }, { "coo", 30e-6, 300e-12 }, { "sell", 50e-6, 500e-12 } };
    matrix m;
    spmv_csr a = grid(&m);
    spmv_build_hints hints;
    spmv_build how;
    spmv_choice *c = fresh(&hints, &how);
    size_t w;
    int i, seen = 0;
    hints.expected_calls = 500;
    cr_assert_eq(choose(c, "auto", &a, table, &hints, &how, NULL), SPMV_OK);
    cr_assert_float_eq(c->convert_csr, 10e-6 + 100e-12 * (double)a.nnz, 1e-15);
    cr_assert_float_eq(c->build, 3e-3, 1e-12);
    for (i = 0; i < c->count; i++)
        for (w = 0; w < sizeof want / sizeof *want; w++) {
            const spmv_option *o = &c->option[i];
            const double slots = o->share[SPMV_COST_SLOTS] / (w == 0 ? 300e-12 : w == 1 ? 250e-12 : w == 2 ? 220e-12 : 200e-12);
            if (strcmp(plan_of(c, i), want[w].plan) != 0) continue;
            seen++;
            CHECK(slots >= (double)a.nnz - 0.5 && (w == 3 || slots < (double)a.nnz + 0.5), "%s: %g slots", want[w].plan, slots);
            CHECK(fabs(o->convert - want[w].begin - want[w].slot * slots) < 1e-12, "%s: %g s", want[w].plan, o->convert);
            CHECK(fabs(o->cost - o->predicted - o->convert / 500) < 1e-12, "%s: %g s", want[w].plan, o->cost);
        }
    cr_assert_eq(seen, 4);
    free(c);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* With one long row the others are still even: what csr costs on uneven ones counts little. */
Test(choice, one_long_row_is_no_unevenness)
{
    static const char table[] = HEAD "f64 csr - 0 0 0 1000 0 1000 0 0 0\n" F64("coo", "2000");
    matrix m;
    spmv_csr a;
    spmv_build_hints hints;
    spmv_build how;
    spmv_choice *c = fresh(&hints, &how);
    matrix_one_line(&m, "one long row", 200000, 200000, 7, 3);
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    cr_assert_eq(choose(c, "auto", &a, table, &hints, &how, NULL), SPMV_OK);
    cr_assert_eq(c->plan.part[0].format, SPMV_CSR);
    cr_assert_gt(c->features.deviation, 50 * c->features.mean);
    cr_assert_lt(c->features.uneven, 1);
    free(c);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* Three entries in very many columns or rows: the peak memory of the choice and of every conversion depends on the size of the CSR form. */
Test(choice, memory_goes_by_nonzeros, .timeout = 120)
{
    static const char table[] = HEAD F64("dia", "220") F64("bdia", "220") F64("sbell", "250") F64("bcsr:b=2x2", "280") F64("ell", "330")
                                F64("sell", "400") F64("csr", "2000") F64("coo", "2000");
    static const char *const plans[] = { "auto", "cocktail", "csr", "csr:run=1024", "coo", "cmrs", "sell:rows=sorted", "dia", "bdia",
                                         "sbell", "bell", "bcsr:b=2x2", "dia:d=0.6+bcsr:b=8x8,d=0.5+csr", "hyb", "hyb-csr", "hybr" };
    static const uint64_t shape[][2] = { { 1000, 1000000000 }, { 1000000, 1000 }, { 100, 100 } };
    size_t i, p;
    for (i = 0; i < sizeof shape / sizeof *shape; i++) {
        matrix m;
        uint64_t r;
        spmv_csr a;
        matrix_open(&m, "three entries", shape[i][0], shape[i][1]);
        for (r = 0; r < m.rows; r++) {
            if (r == 0 || r == m.rows / 2) matrix_add(&m, r % m.cols + 1);
            if (r == m.rows - 1) matrix_add(&m, m.cols - 1);
            m.ptr[r + 1] = m.nnz;
        }
        matrix_close(&m, INTEGERS);
        a = matrix_csr(&m, SPMV_F64);
        for (p = 0; p < sizeof plans / sizeof *plans; p++) {
            meter bytes;
            spmv_hooks hooks = meter_hooks(&bytes);
            spmv_build_hints hints;
            spmv_build how;
            spmv_choice *c = fresh(&hints, &how);
            spmv_store store;
            size_t result;
            CHECK(choose(c, plans[p], &a, table, &hints, &how, &hooks) == SPMV_OK, "%s", plans[p]);
            CHECK(spmv_store_create(&store, &c->plan, &a, &how, &hooks) == SPMV_OK, "%s", plans[p]);
            result = (size_t)spmv_store_bytes(&store);
            spmv_store_destroy(&store);
            CHECK(bytes.now == 0, "%s: %lu bytes were not freed", plans[p], (unsigned long)bytes.now);
            /* 64 KiB for a model of a cache, candidates, and tables of constant size */
            CHECK(bytes.most <= result + 4 * csr_bytes(&a) + 65536, "%s, %llu x %llu: %lu bytes at once, the CSR form has %lu", plans[p],
                  (unsigned long long)a.rows, (unsigned long long)a.cols, (unsigned long)bytes.most, (unsigned long)csr_bytes(&a));
            free(c);
        }
        spmv_csr_destroy(&a);
        matrix_free(&m);
    }
}

/* ---- the peak of memory ----------------------------------------------------------------------------------------------- */

/* Prepares the matrix, in spmv_csr or in arrays of one's own, by a plan. Returns 1, with the most bytes in use, those arrays included, and
 * the bytes that the stored matrix holds; 0 if the plan was refused. */
static int prepare_counted(const matrix *from, const spmv_csr *a, const char *plan, const spmv_build_hints *hints, size_t *most,
                           size_t *stored)
{
    meter bytes;
    spmv_desc d;
    spmv_matrix m;
    spmv_status s;
    memset(&d, 0, sizeof d);
    if (from) d.matrix = matrix_input(from, a->type);
    else d.csr = a;
    d.type = a->type;
    d.plan = plan;
    d.hints = hints;
    d.hooks = meter_hooks(&bytes);
    s = spmv_create(&m, &d);
    CHECK(!s || spmv_status_is_refusal(s), "%s: %s", plan, spmv_status_name(s));
    *most = csr_bytes(a) + bytes.most;
    *stored = bytes.now;
    if (!s) spmv_destroy(&m);
    CHECK(bytes.now == 0, "%s: %lu bytes were not freed", plan, (unsigned long)bytes.now);
    return !s;
}

/* What preparing may need for as long as it lasts: the order of the rows, the rows of a later part, how many nonzeros each diagonal has,
 * and tables of constant size. */
static size_t while_preparing(const spmv_csr *a) { return (size_t)(10 * (a->rows + a->cols) + 4096); }

/* 1 if the plan stores more than the CSR form: zeros in blocks where there are none, slices as wide as one long row, and in f32, hyb, whose
 * coo has the row of each nonzero. */
static int is_filled(const char *matrix, const char *plan)
{
    static const char *const filled[][2] = {
        { "scattered", "bcsr:b=3x3" }, { "scattered", "sbell:b=3x3" }, { "diagonals", "bcsr:b=3x3" }, { "diagonals", "sbell:b=3x3" },
        { "uneven", "bcsr:b=3x3" }, { "uneven", "sell" }, { "uneven", "hyb" },
    };
    size_t i;
    for (i = 0; i < sizeof filled / sizeof *filled; i++)
        if (!strcmp(matrix, filled[i][0]) && !strcmp(plan, filled[i][1])) return 1;
    return 0;
}

/* While a matrix is prepared, nothing is in use but the CSR form, the stored matrix and some numbers for each row and column. That is at
 * most 2.5 times the CSR form unless the plan stores much more than it. "auto" looks at the matrix before anything
 * is stored, and that needs less than the CSR form and as many numbers. */
Test(choice, peak_of_memory, .timeout = 120)
{
    static const char *const plans[] = { "csr", "csr:run=1024", "csr:run=1024,idx=16", "csr:rows=sorted", "sell", "sell:rows=sorted", "ell",
                                         "tcsr", "tcsr:idx=16", "bcsr:b=3x3", "sbell:b=3x3", "dia", "cmrs", "coo", "hyb", "auto" };
    enum { PLANS = sizeof plans / sizeof *plans };
    spmv_build_hints hints;
    size_t most, stored, p;
    matrix m;
    int i, way, prepared = 0; /* way: in f64 or f32, in spmv_csr or in arrays of the caller */
    memset(&hints, 0, sizeof hints);
    for (i = 0; matrix_plain(&m, i); i++, matrix_free(&m))
        for (way = 0; way < 4; way++) {
            spmv_csr a = matrix_csr(&m, way & 1 ? SPMV_F32 : SPMV_F64);
            const size_t csr = csr_bytes(&a);
            for (p = 0; p < PLANS; p++) {
                if (!prepare_counted(way & 2 ? &m : NULL, &a, plans[p], &hints, &most, &stored)) continue;
                prepared++;
                if (!strcmp(plans[p], "auto") && stored < csr) stored = csr;
                CHECK(most <= csr + stored + while_preparing(&a), "%s, %s: %lu bytes; CSR form %lu, stored matrix %lu", m.name, plans[p],
                      (unsigned long)most, (unsigned long)csr, (unsigned long)stored);
                CHECK(2 * most <= 5 * csr || is_filled(m.name, plans[p]), "%s, %s: %.2f times the CSR form", m.name, plans[p],
                      (double)most / (double)csr);
            }
            spmv_csr_destroy(&a);
        }
    cr_assert_geq(prepared, 280); /* ell, dia and sbell are refused where they would be very large */
}

/* Seconds, of which fewer pass between two calls each time, so that each plan seems faster than those before it. */
static double hurried_clock(void *user)
{
    double *at = (double *)user;
    at[1] *= 0.99;
    return at[0] += at[1];
}

/* With "measure" the fastest plan so far stays stored while another is stored and timed beside it, and products have vectors. */
Test(choice, peak_of_memory_with_a_clock, .timeout = 120)
{
    spmv_build_hints hints;
    size_t most, stored, largest;
    spmv_choice *c = (spmv_choice *)need(1, sizeof *c);
    double at[2];
    matrix m;
    int i, k, type;
    memset(&hints, 0, sizeof hints);
    hints.clock = hurried_clock;
    hints.clock_user = at;
    for (i = 0; matrix_plain(&m, i); i++, matrix_free(&m))
        for (type = SPMV_F64; type <= SPMV_F32; type++) {
            spmv_csr a = matrix_csr(&m, (spmv_type)type);
            const size_t csr = csr_bytes(&a), vectors = (size_t)((a.rows + a.cols) * spmv_vector_size(a.type));
            at[0] = 0;
            at[1] = 1e-3;
            hints.choice = c;
            cr_assert(prepare_counted(NULL, &a, "measure", &hints, &most, &stored));
            hints.choice = NULL;
            for (k = 0, largest = stored; k < 3 && k < c->count; k++) {
                size_t alone, holds;
                cr_assert(prepare_counted(NULL, &a, plan_of(c, k), NULL, &alone, &holds));
                if (holds > largest) largest = holds;
            }
            CHECK(most <= csr + 2 * largest + vectors + while_preparing(&a) + sizeof(spmv_matrix), "%s: %.2f times the CSR form", m.name,
                  (double)most / (double)csr);
            spmv_csr_destroy(&a);
        }
    free(c);
}

/* A clock that must not be read. */
static double forbidden_clock(void *user)
{
    ++*(int *)user;
    return 0;
}

/* The choice needs no more memory where there are many columns. */
Test(choice, memory_without_regard_to_columns)
{
    enum { ROWS = 2000, PER_ROW = 10 };
    spmv_matrix a;
    spmv_desc d;
    matrix m;
    ledger l;
    uint64_t r, k;
    matrix_open(&m, "wide", ROWS, 10 * ROWS * PER_ROW);
    for (r = 0; r < ROWS; r++) {
        for (k = 0; k < PER_ROW; k++) matrix_add(&m, k * (m.cols / PER_ROW) + r);
        m.ptr[r + 1] = m.nnz;
    }
    matrix_close(&m, INTEGERS);
    memset(&d, 0, sizeof d);
    d.matrix = matrix_input(&m, SPMV_F64);
    d.hooks = ledger_hooks(&l);
    cr_assert(spmv_create(&a, &d) == SPMV_OK, "%s", l.text);
    spmv_destroy(&a);
    cr_assert(l.live == 0 && l.largest < m.cols * sizeof(double), "%d bytes at once", (int)l.largest);
    matrix_free(&m);
}

/* Dense diagonals are split off if that pays, with the rest in a suitable format. */
Test(choice, splits_off_diagonals)
{
    static const char table[] = HEAD F64("dia", "200") F64("bdia", "3000") F64("csr", "600") F64("coo", "900") F64("ell", "3000")
                                F64("sell", "3000") F64("bcsr", "3000");
    matrix m;
    spmv_csr a;
    uint64_t r;
    spmv_build_hints hints;
    spmv_build how;
    spmv_choice *c = fresh(&hints, &how);
    matrix_open(&m, "diagonals and dust", 3000, 3000);
    for (r = 0; r < 3000; r++) {
        matrix_add(&m, r);
        if (r + 10 < 3000) matrix_add(&m, r + 10);
        if (r % 3 == 0 && r + 600 < 3000) matrix_add(&m, r + 20 + rng_below(580));
        m.ptr[r + 1] = m.nnz;
    }
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    hints.without = 1u << SPMV_COO;
    cr_assert_eq(choose(c, "cocktail", &a, table, &hints, &how, NULL), SPMV_OK);
    cr_assert_eq(c->plan.count, 2);
    cr_assert_eq(c->plan.part[0].format, SPMV_DIA);
    cr_assert_gt(c->plan.part[0].key[SPMV_KEY_D], 300000);
    cr_assert_eq(c->plan.part[1].format, SPMV_CSR);
    free(c);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* Three diagonals, and in every dust-th row a nonzero on a diagonal of its own. */
static spmv_csr dusty_diagonals(matrix *m, uint64_t dust)
{
    uint64_t r;
    matrix_open(m, "dusty diagonals", 20000, 20000);
    for (r = 0; r < 20000; r++) {
        matrix_add(m, r);
        if (r + 1 < 20000) matrix_add(m, r + 1);
        if (r + 2 < 20000) matrix_add(m, r + 2);
        if (r % dust == dust - 1 && r < 10000) matrix_add(m, r + 100 + r / dust * 7);
        m->ptr[r + 1] = m->nnz;
    }
    matrix_close(m, INTEGERS);
    return matrix_csr(m, SPMV_F64);
}

/* Of a large matrix, diagonals are counted only where a sample shows that they are few; what the sample lacked then counts. */
Test(choice, counts_diagonals_that_seem_to_pay)
{
    static const char fast[] = HEAD F64("dia", "200") F64("csr", "600"), faster[] = HEAD F64("dia", "10") F64("csr", "600");
    matrix m;
    uint64_t r;
    spmv_csr a = dusty_diagonals(&m, 20000);
    spmv_view v = whole(&a);
    spmv_features f;
    spmv_build_hints hints;
    spmv_build how;
    spmv_choice *c = fresh(&hints, &how);
    cr_assert_eq(library_features_make(&f, &v, 0, 0, NULL), SPMV_OK);
    cr_assert(f.diagonals == 3 && !f.diagonals_sampled);
    cr_assert_eq(choose(c, "auto", &a, fast, &hints, &how, NULL), SPMV_OK);
    cr_assert(c->plan.count == 1 && c->plan.part[0].format == SPMV_DIA);
    cr_assert(c->features.diagonals == 3 && !c->features.diagonals_sampled);
    spmv_csr_destroy(&a);
    matrix_free(&m);
    matrix_open(&m, "a nonzero in a row, on seven diagonals", 40000, 40000); /* too many to be counted, however fast dia is */
    for (r = 0; r < m.rows; r++) {
        matrix_add(&m, r < 39000 ? r + r % 7 : r);
        m.ptr[r + 1] = m.nnz;
    }
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    cr_assert_eq(choose(c, "auto", &a, faster, &hints, &how, NULL), SPMV_OK);
    cr_assert(c->plan.part[0].format == SPMV_CSR && c->features.diagonals_sampled, "%s", plan_of(c, 0));
    spmv_csr_destroy(&a);
    matrix_free(&m);
    a = dusty_diagonals(&m, 1000); /* 13 diagonals, more than three for each nonzero of a row */
    hints.without = 0;
    cr_assert_eq(choose(c, "auto", &a, fast, &hints, &how, NULL), SPMV_OK);
    cr_assert(c->plan.count > 1 || c->plan.part[0].format == SPMV_CSR, "%s", plan_of(c, 0));
    free(c);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

static uint64_t odd_length(uint64_t r) { return r % 400 ? 3 : 400; }

/* The plan of cmrs names its height, as "cmrs" alone would be the builder. */
Test(choice, cmrs_with_its_height)
{
    static const char table[] = HEAD F64("cmrs", "200") F64("csr", "600");
    spmv_build_hints hints;
    spmv_build how;
    spmv_choice *c = fresh(&hints, &how);
    matrix m;
    spmv_csr a = of_lengths(&m, 1600, 400, odd_length);
    cr_assert_eq(choose(c, "auto", &a, table, &hints, &how, NULL), SPMV_OK);
    cr_assert_str_eq(plan_of(c, 0), "cmrs:h=4");
    spmv_csr_destroy(&a);
    matrix_free(&m);
    free(c);
}

/* ---- the same choice every time ------------------------------------------------------------------------------------- */

/* Matrix i of a few that are not tiny, of which each suits other formats. 0: there is none. */
static int matrix_varied(matrix *m, int i)
{
    rng_state = (uint64_t)i + 3;
    switch (i) {
    case 0: matrix_bands(m, "bands", 900, 900, -2, 2, 30, 31); break;
    case 1: matrix_random(m, "scattered", 700, 700, 0.01); break;
    case 2: matrix_blocks(m, "blocks", 600, 600, 3, 3); break;
    case 3: matrix_skewed(m, "skewed", 1000, 1000, 900); break;
    case 4: matrix_one_line(m, "one long row", 2000, 2000, 7, 3); break;
    case 5: matrix_random(m, "few long full rows", 7, 901, 1); break;
    case 6: matrix_few(m, "short rows", 1500, 1500, 5); break;
    case 7: matrix_random(m, "wide", 60, 9000, 0.01); break;
    default: return 0;
    }
    matrix_close(m, INTEGERS);
    return 1;
}

static void set_threads(int n)
{
#ifdef _OPENMP
    omp_set_num_threads(n);
#else
    (void)n;
#endif
}

/* With "auto" no clock is read, and a matrix is stored by one plan, however often it is prepared and by however many threads. */
Test(choice, is_the_same_every_time, .timeout = 120)
{
    enum { TIMES = 100 };
    spmv_choice *c[2];
    spmv_build_hints hints;
    spmv_build how;
    matrix m;
    int i, n, different = 0, reads = 0;
    char first[SPMV_PLAN_TEXT], before[SPMV_PLAN_TEXT] = "", now[SPMV_PLAN_TEXT];
    c[0] = fresh(&hints, &how);
    c[1] = fresh(&hints, &how);
    hints.clock = forbidden_clock;
    hints.clock_user = &reads;
    for (i = 0; matrix_varied(&m, i); i++, matrix_free(&m)) {
        spmv_csr a = matrix_csr(&m, SPMV_F64);
        spmv_desc d;
        memset(&d, 0, sizeof d);
        d.csr = &a;
        d.hints = &hints;
        cr_assert_gt(csr_bytes(&a), SPMV_TINY_BYTES, "%s", m.name);
        for (n = 0; n < TIMES; n++) {
            spmv_matrix made;
            set_threads(1 + n % 4);
            d.plan = n % 2 ? "auto" : NULL;
            cr_assert_eq(spmv_create(&made, &d), SPMV_OK, "%s", m.name);
            spmv_plan_of(&made, n ? now : first, sizeof now);
            CHECK(!n || !strcmp(first, now), "%s: %s, then %s", m.name, first, now);
            spmv_destroy(&made);
        }
        for (n = 0; n < 2; n++) {
            set_threads(1 + 3 * n);
            cr_assert_eq(spmv_choose(c[n], n ? "auto" : "measure", &a, &how, NULL, &hints, NULL, NULL), SPMV_OK);
        }
        CHECK(c[0]->count && !memcmp(c[0], c[1], sizeof *c[0]), "%s: another choice", m.name);
        CHECK(!strcmp(plan_of(c[0], 0), first), "%s: %s, but %s is stored", m.name, plan_of(c[0], 0), first);
        different += strcmp(before, first) != 0;
        strcpy(before, first);
        spmv_csr_destroy(&a);
    }
    cr_assert(different > 2 && !reads, "%d plans, %d readings of the clock", different, reads);
    free(c[0]);
    free(c[1]);
}

/* ---- "measure" on the host ------------------------------------------------------------------------------------------- */

/* A clock by which a product of the first of two matrices that are timed by turns takes first / 3 seconds, one of the second second / 3.
 * Each is timed alone twice, then both five times; a row of products, of which there are three, takes two readings. */
enum { ALONE = 2, TURNS = 5, READS = 2 * 2 * (ALONE + TURNS) };
typedef struct steered {
    double now, first, second;
    int    reads;
} steered;

static double steered_clock(void *user)
{
    steered *c = (steered *)user;
    const int row = c->reads % READS / 2, other = row < 2 * ALONE ? row / ALONE : row % 2;
    if (c->reads++ % 2) c->now += other ? c->second : c->first;
    return c->now;
}

/* csr is predicted to be the fastest but one, and takes nothing to prepare. */
#define MEASURED HEAD F64("sell", "240") LINE("f64", "dia", "-", "245", "0") F64("csr", "250") F64("coo", "300") F64("cmrs", "900")

/* The three best options are prepared and timed, and the fastest is kept; all that is in the choice, and is explained. */
Test(measure, keeps_the_fastest_of_three)
{
    static const struct {
        const char *plan;
        double      second;
        int         kept, reads; /* the option of "auto" that is kept */
    } t[] = { { "measure", 0.5, 2, 2 * READS }, { " measure ", 2, 0, 2 * READS }, { "auto", 0.5, 0, 0 } };
    matrix m;
    spmv_csr a = grid(&m);
    spmv_build_hints hints;
    spmv_build how;
    spmv_choice *c = fresh(&hints, &how), *by_table = fresh(&hints, &how);
    spmv_tuning table;
    char text[4096], want[200], kept[SPMV_PLAN_TEXT];
    size_t i;
    int k, n;
    cr_assert_eq(choose(by_table, "auto", &a, MEASURED, &hints, &how, NULL), SPMV_OK);
    cr_assert_gt(by_table->count, 3);
    cr_assert_eq(spmv_tuning_create(&table, MEASURED, sizeof MEASURED - 1, "table", NULL), SPMV_OK);
    for (i = 0; i < sizeof t / sizeof *t; i++) {
        steered clock = { 0, 1, 0, 0 };
        spmv_matrix made;
        spmv_desc d;
        memset(&d, 0, sizeof d);
        memset(c, 0, sizeof *c);
        clock.second = t[i].second;
        hints.tuning = &table;
        hints.clock = steered_clock;
        hints.clock_user = &clock;
        hints.choice = c;
        d.csr = &a;
        d.plan = t[i].plan;
        d.hints = &hints;
        cr_assert_eq(spmv_create(&made, &d), SPMV_OK);
        CHECK(clock.reads == t[i].reads, "%d: %d readings", (int)i, clock.reads);
        spmv_plan_of(&made, kept, sizeof kept);
        CHECK(!strcmp(kept, plan_of(by_table, t[i].kept)) && !strcmp(kept, plan_of(c, 0)), "%d: %s", (int)i, kept);
        spmv_plan_print(&c->plan, text, sizeof text);
        CHECK(!strcmp(text, kept), "%d: another plan in the choice: %s", (int)i, text);
        for (k = n = 0; k < c->count; k++) n += c->option[k].measured > 0;
        CHECK(n == (t[i].reads ? 3 : 0) && c->count == by_table->count, "%d: %d options were timed", (int)i, n);
        CHECK(!n || fabs(c->option[0].measured - (t[i].kept ? t[i].second : 1) / 3) < 1e-9, "%d: %g s", (int)i, c->option[0].measured);
        spmv_explain(c, text, sizeof text);
        spmv_print(want, sizeof want, "\n%s was chosen because a product is %s to take ", kept, n ? "measured" : "predicted");
        CHECK(strstr(text, want), "no \"%s\" in\n%s", want, text);
        spmv_destroy(&made);
        d.hints = NULL;
        d.plan = kept;
        check_product(&a, &d, kept);
        hints.choice = NULL;
    }
    spmv_tuning_destroy(&table);
    free(c);
    free(by_table);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* dia, which takes 1,000 s to prepare, is kept only where the products save that. */
Test(measure, a_conversion_must_pay)
{
    static const char text[] = HEAD F64("csr", "250") "f64 dia - 0 0 0 200 0 0 0 1000000000 0\n";
    static const struct { uint64_t calls; spmv_format kept; } t[] = {
        { 0, SPMV_CSR }, { 5000, SPMV_CSR }, { 7000, SPMV_DIA }, { 1000000000000000, SPMV_DIA } };
    matrix m;
    spmv_csr a = grid(&m);
    spmv_build_hints hints;
    spmv_build how;
    spmv_tuning table;
    size_t i;
    free(fresh(&hints, &how));
    cr_assert_eq(spmv_tuning_create(&table, text, sizeof text - 1, "table", NULL), SPMV_OK);
    for (i = 0; i < sizeof t / sizeof *t; i++) {
        steered clock = { 0, 1, 0.5, 0 }; /* a product takes 167 ms less, 1,000 s in 6,000 */
        spmv_matrix made;
        spmv_desc d;
        memset(&d, 0, sizeof d);
        if (i == 3) clock.first = 0.5; /* there dia is the first option */
        if (i == 3) clock.second = 1;
        hints.tuning = &table;
        hints.clock = steered_clock;
        hints.clock_user = &clock;
        hints.expected_calls = t[i].calls;
        d.csr = &a;
        d.plan = "measure";
        d.hints = &hints;
        cr_assert_eq(spmv_create(&made, &d), SPMV_OK);
        CHECK(clock.reads == READS, "%d: %d readings", (int)i, clock.reads);
        CHECK(made.store.plan[0].format == t[i].kept, "%g products: %s", (double)t[i].calls, spmv_format_name(made.store.plan[0].format));
        spmv_destroy(&made);
    }
    spmv_tuning_destroy(&table);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* Memory without blocks of so many bytes. */
static void *refusing_resize(void *user, void *block, size_t bytes)
{
    if (bytes && bytes == *(const size_t *)user) return NULL;
    if (!bytes) free(block);
    return bytes ? realloc(block, bytes) : NULL;
}

/* An option that cannot be prepared, the first or a later one, is none of the three. */
Test(measure, skips_what_cannot_be_prepared)
{
    static const char first[] = HEAD F64("dia", "100") F64("csr", "250") F64("coo", "300") F64("sell", "400");
    static const char second[] = HEAD F64("csr", "100") F64("dia", "250") F64("coo", "300") F64("sell", "400");
    matrix m;
    spmv_csr a = grid(&m);
    spmv_build_hints hints;
    spmv_build how;
    spmv_choice *c = fresh(&hints, &how);
    spmv_matrix made;
    spmv_tuning table;
    spmv_desc d;
    char text[4096];
    size_t bytes;
    int i, k, n;
    memset(&d, 0, sizeof d);
    d.csr = &a;
    d.plan = "dia";
    cr_assert_eq(spmv_create(&made, &d), SPMV_OK);
    bytes = (size_t)(made.store.part[0].a[SPMV_VAL].count * made.store.part[0].a[SPMV_VAL].width);
    spmv_destroy(&made);
    hints.without = ~(1u << SPMV_DIA | 1u << SPMV_CSR | 1u << SPMV_COO | 1u << SPMV_SELL);
    hints.choice = c;
    hints.clock = steered_clock;
    d.hints = &hints;
    d.hooks.resize = refusing_resize;
    d.hooks.user = &bytes;
    for (i = 0; i < 2; i++) {
        steered clock = { 0, 1, 2, 0 };
        const char *lines = i ? second : first;
        cr_assert_eq(spmv_tuning_create(&table, lines, strlen(lines), "table", NULL), SPMV_OK);
        hints.tuning = &table;
        hints.clock_user = &clock;
        d.plan = "measure";
        cr_assert_eq(spmv_create(&made, &d), SPMV_OK);
        CHECK(made.store.plan[0].format == SPMV_CSR, "%s", spmv_format_name(made.store.plan[0].format));
        for (k = n = 0; k < c->count; k++) {
            n += c->option[k].measured > 0;
            CHECK((c->option[k].measured < 0) == !strncmp(plan_of(c, k), "dia", 3), "%s: %g s", plan_of(c, k),
                  c->option[k].measured);
        }
        CHECK(n == 3 && clock.reads == 2 * READS, "%d options were timed by %d readings", n, clock.reads);
        spmv_explain(c, text, sizeof text);
        CHECK(strstr(text, " cannot run "), "%s", text);
        spmv_destroy(&made);
        spmv_tuning_destroy(&table);
    }
    free(c);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* Nothing is timed where products take as long as their launch by the host, as the table says. */
Test(measure, not_where_the_launch_decides)
{
    static const struct { const char *table; int reads; } t[] = {
        { MEASURED "call 0.01\n", 2 * READS }, { MEASURED "call 100\n", 0 } };
    matrix m;
    spmv_csr a = grid(&m);
    spmv_build_hints hints;
    spmv_build how;
    size_t i;
    free(fresh(&hints, &how));
    for (i = 0; i < sizeof t / sizeof *t; i++) {
        steered clock = { 0, 1, 0.5, 0 };
        spmv_tuning table;
        spmv_matrix made;
        spmv_desc d;
        memset(&d, 0, sizeof d);
        cr_assert_eq(spmv_tuning_create(&table, t[i].table, strlen(t[i].table), "table", NULL), SPMV_OK);
        hints.tuning = &table;
        hints.clock = steered_clock;
        hints.clock_user = &clock;
        d.csr = &a;
        d.plan = "measure";
        d.hints = &hints;
        cr_assert_eq(spmv_create(&made, &d), SPMV_OK);
        CHECK(clock.reads == t[i].reads, "%d: %d readings", (int)i, clock.reads);
        spmv_destroy(&made);
        spmv_tuning_destroy(&table);
    }
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* Without memory for another option, or for the vectors, what is stored stays; nothing is left behind. */
Test(measure, every_allocation_fails)
{
    matrix m;
    spmv_csr a = grid(&m);
    spmv_build_hints hints;
    spmv_build how;
    spmv_tuning table;
    spmv_status s = SPMV_OK;
    long n = 0, calls = 0, refused = 0;
    free(fresh(&hints, &how));
    cr_assert_eq(spmv_tuning_create(&table, MEASURED, sizeof MEASURED - 1, "table", NULL), SPMV_OK);
    hints.tuning = &table;
    hints.clock = steered_clock;
    do {
        steered clock = { 0, 1, n % 2 ? 0.5 : 2, 0 };
        spmv_matrix made;
        spmv_desc d;
        ledger l;
        memset(&d, 0, sizeof d);
        hints.clock_user = &clock;
        d.csr = &a;
        d.plan = "measure";
        d.hints = &hints;
        d.hooks = ledger_hooks(&l);
        l.fail_at = ++n;
        s = spmv_create(&made, &d);
        CHECK(s == SPMV_OK || s == SPMV_ERR_MEMORY, "allocation %ld: %s", n, l.text);
        refused += s != SPMV_OK;
        calls = l.calls;
        if (s == SPMV_OK) {
            double *x = (double *)need(a.cols, 8), *y = (double *)need(a.rows, 8);
            x[30] = 1;
            CHECK(spmv_mul(&made, 1, x, 0, y) == SPMV_OK && y[30] == csr_value(&a, a.ptr[30] + 1), "allocation %ld: y is %g", n, y[30]);
            free(x);
            free(y);
        }
        spmv_destroy(&made);
        CHECK(l.live == 0, "allocation %ld: %ld blocks left", n, l.live);
    } while (n <= calls);
    cr_assert(n > refused + 10 && refused > 3, "%ld of %ld", refused, n);
    spmv_tuning_destroy(&table);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* ---- two parts --------------------------------------------------------------------------------------------------------- */

/* Chooses by a table and expects a plan of two parts that begins so, or, if it is NULL, of one; what is stored multiplies right. */
static void expect_parts(const spmv_csr *a, const char *text, const char *begin)
{
    spmv_build_hints hints;
    spmv_build how;
    spmv_choice *c = fresh(&hints, &how);
    spmv_tuning t;
    spmv_desc d;
    memset(&d, 0, sizeof d);
    cr_assert_eq(spmv_tuning_create(&t, text, strlen(text), "table", NULL), SPMV_OK);
    hints.tuning = &t;
    cr_assert_eq(spmv_choose(c, "auto", a, &how, NULL, &hints, NULL, NULL), SPMV_OK);
    CHECK(c->plan.count == (begin ? 2 : 1), "%s by\n%s", plan_of(c, 0), text);
    if (begin) CHECK(!strncmp(plan_of(c, 0), begin, strlen(begin)), "%s", plan_of(c, 0));
    if (begin) CHECK(strstr(plan_of(c, 0), "+csr:rows=nonempty"), "%s", plan_of(c, 0));
    if (begin) CHECK(c->option[0].convert >= t.part * (double)a->nnz && t.part > 0, "%g s", c->option[0].convert);
    d.csr = a;
    d.hints = &hints;
    check_product(a, &d, plan_of(c, 0));
    spmv_tuning_destroy(&t);
    free(c);
}

#define PARTS HEAD "prepare 20 0 0 0\nerror 0.2 9 99\n"

/* A few long rows among short ones: ell as wide as the short ones, where unevenness is dear on a host. */
Test(parts, of_short_rows_and_long_ones)
{
#define HOST_PARTS "spmv tuning table 2\ndevice host\nclass host\nmemory 1000\nprepare 20 0 0 0\nerror 0.2 9 99\n"
    matrix m;
    spmv_csr a = of_lengths(&m, 6000, 3000, odd_length);
    expect_parts(&a, HOST_PARTS F64("ell", "100") "f64 csr - 0 0 0 300 0 900 0 0 0\n", "ell:w=3+");
    expect_parts(&a, HOST_PARTS F64("ell", "100") F64("csr", "100"), NULL);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* Lines that claim that formats take no time which cannot hold the matrix, or that no program has, do no harm. */
Test(choice, lines_that_no_matrix_fits_do_no_harm)
{
    static const char table[] = HEAD F64("dense", "0.001") F64("ell", "0.001") F64("ell:idx=16", "0.001") F64("sell:h=256", "0.001")
        F64("sell:idx=16", "0.001") F64("dia", "0.001") F64("bdia", "0.001") F64("bell:b=8x8", "0.001") F64("sbell:b=8x8,idx=16", "0.001")
        F64("csr:run=256,idx=16", "0.001") F64("tcsr:tile=512,idx=16", "0.001") F64("cmrs", "0")
        LINE("f64", "coo", "L=77,NOSUCH=1", "0.002", "0") F64("csr", "1000");
    matrix m;
    spmv_csr a;
    spmv_tuning t;
    spmv_build_hints hints;
    spmv_desc d;
    uint64_t r, k;
    matrix_open(&m, "one full row among scattered entries", 9000, 20000000);
    for (r = 0; r < 9000; r++) {
        for (k = 0; k < (r == 4000 ? 90000u : 3u); k++) matrix_add(&m, r == 4000 ? k * 222 : k * 6000000 + r * 601);
        m.ptr[r + 1] = m.nnz;
    }
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    memset(&hints, 0, sizeof hints);
    memset(&d, 0, sizeof d);
    cr_assert_eq(spmv_tuning_create(&t, table, sizeof table - 1, "table", NULL), SPMV_OK);
    hints.tuning = &t;
    d.csr = &a;
    d.hints = &hints;
    check_product(&a, &d, "auto");
    d.plan = "measure";
    check_product(&a, &d, d.plan);
    d.plan = "cocktail";
    check_product(&a, &d, d.plan);
    spmv_tuning_destroy(&t);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* ---- estimates ------------------------------------------------------------------------------------------------------ */

/* A matrix in 4x4 blocks, of which a few rows have every second column as well: blocks that are half full, and slices that are mostly
 * padding. */
static void matrix_huge_rows(matrix *m, const char *name, uint64_t n)
{
    uint64_t r, c, b;
    matrix_open(m, name, n, n);
    for (r = 0; r < n; r++) {
        int huge = r / 4 % (n / 32) == 5;
        for (b = 0; b < n / 4; b++) {
            int full = b == r / 4 || b == (r / 4 * 7 + 3) % (n / 4);
            for (c = 4 * b; c < 4 * b + 4; c++)
                if (full || (huge && c % 2 == 0)) matrix_add(m, c);
        }
        m->ptr[r + 1] = m->nnz;
    }
}

/* Matrices of which estimates were once wrong by much, or that are like them. 0: there is no matrix number i. */
static int matrix_adverse(matrix *m, int i)
{
    switch (i) {
    case 0: matrix_huge_rows(m, "a few huge rows between blocks", 4096); break;
    case 1: matrix_random(m, "few long full rows", 7, 9001, 1); break;
    case 2: matrix_one_line(m, "one long row", 30000, 30000, 7, 3); break;
    case 3: matrix_bands(m, "bands with gaps", 3000, 3000, -3, -1, 40, 42); break;
    case 4: matrix_skewed(m, "skewed", 1000, 1000, 900); break;
    case 5: matrix_blocks(m, "blocks", 600, 600, 3, 3); break;
    case 6: matrix_random(m, "few entries", 2000, 2000, 0.001); break;
    default: return 0;
    }
    matrix_close(m, INTEGERS);
    return 1;
}

/* On a GPU no part of an option is estimated below the time of its bytes, which is at least that of its values, nor below that of its
 * longest row; elsewhere the estimate is the sum of the costs. */
static void check_floors(const char *name, const spmv_csr *a, const spmv_build *how, const spmv_tuning *t, const spmv_choice *c, int at)
{
    const spmv_option *o = &c->option[at];
    const char *const text = plan_of(c, at);
    const int gpu = t->device_class == SPMV_DEVICE_CLASS_GPU;
    spmv_estimate part[SPMV_MAX_PARTS];
    spmv_plan plan;
    double least = 0;
    int i, k;
    cr_assert_eq(spmv_plan_parse(&plan, text, NULL, NULL), SPMV_OK);
    cr_assert_eq(spmv_predict(part, &plan, o->variant, a, how, NULL, t, NULL), SPMV_OK, "%s: %s", name, text);
    for (i = 0; i < plan.count; i++) {
        const double rows = (double)a->rows; /* arrays have up to 32 block rows of 8 more, which no product reads */
        const double bytes = ((double)part[i].slots * rows / (rows + 32 * 8) - part[i].skipped) * (double)spmv_value_size(how->type);
        const double fastest = t->cache_read > t->read ? t->cache_read : t->read;
        double sum = 0;
        for (k = 0; k < SPMV_COST_COUNT; k++) sum += part[i].share[k];
        CHECK(part[i].of[SPMV_COST_BYTES] * fastest * 1e9 >= bytes, "%s, %s: %s: %g bytes in %g s", t->device, name, text, bytes,
              part[i].of[SPMV_COST_BYTES]);
        CHECK(part[i].seconds >= sum * (1 - 1e-12) && (gpu || part[i].seconds <= sum * (1 + 1e-12)), "%s, %s: %s: %g s, not %g", t->device,
              name, text, part[i].seconds, sum);
        CHECK(!gpu || (part[i].seconds >= part[i].of[SPMV_COST_BYTES] && part[i].seconds >= part[i].of[SPMV_COST_CHAIN]),
              "%s, %s: %s: %g s, bytes %g s, chain %g s", t->device, name, text, part[i].seconds, part[i].of[SPMV_COST_BYTES],
              part[i].of[SPMV_COST_CHAIN]);
        least += bytes / (fastest * 1e9);
    }
    CHECK(!gpu || o->predicted >= least, "%s, %s: %s: %g s, at least %g s", t->device, name, text, o->predicted, least);
}

/* Adverse matrices, then the awkward ones, by every bundled table. */
Test(estimate, not_below_the_floors, .timeout = 120)
{
    spmv_build_hints hints;
    spmv_build how;
    spmv_choice *c = fresh(&hints, &how);
    size_t k;
    int i, j, type, adverse;
    const char *text;
    size_t length;
    for (k = 0; (text = library_tuning_text(k, &length)) != NULL; k++) {
        spmv_tuning t;
        cr_assert_eq(spmv_tuning_create(&t, text, length, NULL, NULL), SPMV_OK);
        hints.tuning = &t;
        for (i = 0; i < 100; i++) {
            matrix m;
            adverse = matrix_adverse(&m, i);
            if (!adverse && !matrix_awkward(&m, i - 7, INTEGERS)) break;
            for (type = SPMV_F64; type <= (adverse ? SPMV_F32 : SPMV_F64); type++) {
                spmv_csr a = matrix_csr(&m, (spmv_type)type);
                how.type = (spmv_type)type;
                cr_assert_eq(spmv_choose(c, "auto", &a, &how, NULL, &hints, NULL, NULL), SPMV_OK, "%s", m.name);
                for (j = 0; j < c->count; j++) check_floors(m.name, &a, &how, &t, c, j);
                spmv_csr_destroy(&a);
            }
            matrix_free(&m);
        }
        cr_assert_gt(i, 20);
        spmv_tuning_destroy(&t);
    }
    free(c);
}

/* 1024 x 1032 with rows of 1 and 3 nonzeros by turns, from the main diagonal on: 2048 nonzeros, whose columns take 129 lines of x. */
static spmv_csr one_and_three(matrix *m)
{
    uint64_t r, k;
    matrix_open(m, "rows of 1 and 3", 1024, 1032);
    for (r = 0; r < 1024; r++) {
        for (k = 0; k < (r % 2 ? 3u : 1u); k++) matrix_add(m, r + k);
        m->ptr[r + 1] = m->nnz;
    }
    matrix_close(m, INTEGERS);
    return matrix_csr(m, SPMV_F64);
}

/* Predicts a product by one part. table: NULL: the bundled one, or that of the target. */
static spmv_estimate predicted(const char *plan_text, const char *variant, const spmv_csr *a, const char *table, const spmv_target *target)
{
    spmv_estimate part[SPMV_MAX_PARTS];
    spmv_build how;
    spmv_plan plan;
    spmv_tuning t;
    memset(&how, 0, sizeof how);
    how.type = a->type;
    if (table) cr_assert_eq(spmv_tuning_create(&t, table, strlen(table), "a table", NULL), SPMV_OK);
    cr_assert_eq(spmv_plan_parse(&plan, plan_text, NULL, NULL), SPMV_OK);
    cr_assert_eq(spmv_predict(part, &plan, variant, a, &how, target, table ? &t : NULL, NULL), SPMV_OK);
    if (table) spmv_tuning_destroy(&t);
    return part[0];
}

#define COSTS_HEAD "spmv tuning table 2\ndevice d\nclass cpu\nunits 4\nlaunch 3\nmemory 1\ncache %s 2\n"

/* A table with one cost of 1, or 1000 if it is counted in picoseconds, at a time: the estimate is what that cost is of. Speeds are 1 GB/s
 * from memory and 2 from the cache, 8 bytes are read of each element of x and written of each of y, and a core is a fourth. */
Test(estimate, is_the_sum_of_the_costs)
{
    enum { ROWS = 1024, NNZ = 2048, LINES = 129, VECTORS = 8 * ROWS + 8 * 8 * LINES };
    static const struct {
        const char *plan;
        double      slots, index, reads, uneven, longest; /* slots; bytes of indices each; the longest row's slots, 0: it does not count */
    } t[] = { { "csr", NNZ, 4, LINES, NNZ / 2, 3 }, { "sell", 3 * ROWS, 4, LINES, 0, 3 }, { "coo", NNZ, 8, LINES, NNZ / 2, 0 },
              { "dia", 3 * ROWS, 0, 0, 0, 3 } };
    matrix m;
    spmv_csr a = one_and_three(&m);
    char table[300];
    size_t i;
    int k, cached;
    for (i = 0; i < sizeof t / sizeof *t; i++)
        for (cached = 0; cached < 2; cached++) {
            const double bytes = (t[i].slots * (8 + t[i].index) + VECTORS) / (cached ? 2e9 : 1e9);
            double want[SPMV_COST_COUNT], sum = 0;
            spmv_estimate e;
            want[SPMV_COST_LAUNCH] = 3e-6;
            want[SPMV_COST_BYTES] = bytes;
            want[SPMV_COST_READS] = t[i].reads * 1e-9;
            want[SPMV_COST_SLOTS] = t[i].slots * 1e-9;
            want[SPMV_COST_ROWS] = ROWS * 1e-9;
            want[SPMV_COST_UNEVEN] = t[i].uneven * 1e-9;
            want[SPMV_COST_CHAIN] = t[i].longest / t[i].slots * bytes * 4;
            for (k = 0; k <= SPMV_COST_COUNT; k++) {
                spmv_print(table, sizeof table, COSTS_HEAD "f64 %s - %d %d %d000 %d000 %d000 %d000 %d 0 0\n", cached ? "1" : "0.01",
                           t[i].plan, k == 0, k == 1, k == 2, k == 3, k == 4, k == 5, k == 6);
                e = predicted(t[i].plan, NULL, &a, table, NULL);
                CHECK(fabs(e.seconds - (k < SPMV_COST_COUNT ? want[k] : 0)) < 1e-12, "%s, %s: %g s, not %g", t[i].plan,
                      library_cost_name((spmv_cost)k), e.seconds, want[k % SPMV_COST_COUNT]);
                if (k < SPMV_COST_COUNT) sum += want[k];
            }
            spmv_print(table, sizeof table, COSTS_HEAD "f64 %s - 1 1 1000 1000 1000 1000 1 0 0\n", cached ? "1" : "0.01", t[i].plan);
            e = predicted(t[i].plan, NULL, &a, table, NULL);
            CHECK(fabs(e.seconds - sum) < 1e-12, "%s: %g s, not %g", t[i].plan, e.seconds, sum);
        }
    cr_assert_gt(checks_done, 60);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* On the host it is rows that are not as long as the row before that cost more, unless they are sorted; 8 and more are one length. */
Test(estimate, knows_rows_of_changing_lengths_on_the_host)
{
    static const struct { const char *plan; double rows; } t[] = {
        { "csr", 1024 }, { "sell", 1024 }, { "csr:rows=nonempty", 1024 }, { "csr:rows=sorted,sigma=256", 0 }, { "sell:rows=sorted", 0 }
    };
    enum { LONG = 9 };
    matrix m;
    spmv_csr a = one_and_three(&m);
    char table[300];
    size_t i;
    uint64_t r, k;
    for (i = 0; i < sizeof t / sizeof *t; i++) {
        spmv_print(table, sizeof table, "spmv tuning table 2\ndevice d\nclass host\nmemory 1\nf64 %s - 0 0 0 0 0 1000 0 0 0\n", t[i].plan);
        cr_assert_float_eq(predicted(t[i].plan, NULL, &a, table, NULL).seconds, t[i].rows * 1e-9, 1e-15, "%s", t[i].plan);
    }
    spmv_csr_destroy(&a);
    matrix_free(&m);
    matrix_open(&m, "rows of 9 to 11", 300, 311);
    for (r = 0; r < 300; r++) {
        for (k = 0; k < LONG + r % 3; k++) matrix_add(&m, r + k);
        m.ptr[r + 1] = m.nnz;
    }
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    spmv_print(table, sizeof table, "spmv tuning table 2\ndevice d\nclass host\nmemory 1\nf64 csr - 0 0 0 0 0 1000 0 0 0\n");
    cr_assert_eq(predicted("csr", NULL, &a, table, NULL).seconds, 0);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* Doubles that are floats are stored as floats where the matrix is larger than the cache, unless they may become others. */
Test(auto, floats_beyond_the_cache)
{
    static const struct { const char *cache; spmv_type type; double value; int updatable; const char *plan; } t[] = {
        { "0.01", SPMV_F64, 3, 0, "csr:val=32" }, { "0.01", SPMV_F64, 0.1, 0, "csr" },  { "0.01", SPMV_F64, 3, 1, "csr" },
        { "1", SPMV_F64, 3, 0, "csr" },           { "0.01", SPMV_F32, 3, 0, "csr" },    { "0.01", SPMV_F64, 1e300, 0, "csr" },
        { "0.01", SPMV_F64, -0.0, 0, "csr:val=32" }
    };
    static const char *const by[] = { "auto", "measure", "csr" };
    matrix m;
    size_t i, k;
    matrix_random(&m, "random", 900, 900, 0.01);
    matrix_close(&m, INTEGERS);
    for (i = 0; i < sizeof t / sizeof *t * 3; i++) {
        const size_t j = i / 3;
        double *val = need(m.nnz, sizeof *val);
        char table[200], plan[64], why[8000];
        spmv_tuning tuning;
        spmv_build_hints hints;
        spmv_choice choice;
        spmv_desc d;
        spmv_matrix a;
        spmv_print(table, sizeof table, COSTS_HEAD "f64 csr - 1 1 0 0 0 0 0 0 0\nf32 csr - 1 1 0 0 0 0 0 0 0\n", t[j].cache);
        cr_assert_eq(spmv_tuning_create(&tuning, table, strlen(table), "table", NULL), SPMV_OK);
        for (k = 0; k < m.nnz; k++) val[k] = m.val[k];
        val[m.nnz / 2] = t[j].value;
        memset(&d, 0, sizeof d);
        memset(&hints, 0, sizeof hints);
        hints.tuning = &tuning;
        hints.choice = &choice;
        d.matrix = matrix_input(&m, SPMV_F64);
        d.matrix.val = val;
        d.type = t[j].type;
        d.updatable = t[j].updatable;
        d.plan = by[i % 3];
        d.hints = &hints;
        cr_assert_eq(spmv_create(&a, &d), SPMV_OK);
        spmv_plan_of(&a, plan, sizeof plan);
        CHECK(!strcmp(plan, i % 3 == 2 ? "csr" : t[j].plan), "%s, %d: %s", by[i % 3], (int)j, plan);
        spmv_explain(&choice, why, sizeof why);
        CHECK(!strstr(why, "val=32") == !strstr(plan, "val=32"), "%s", why);
        spmv_destroy(&a);
        spmv_tuning_destroy(&tuning);
        free(val);
    }
    matrix_free(&m);
}

/* On a GPU few values are numbers in a dictionary, and one is not stored, where the matrix is larger than the cache, unless they change.
 * Fill needs a code for zero, and look-ups are paid for. */
Test(auto, codes_beyond_the_cache)
{
    static const struct { const char *cache; int values, updatable; const char *line, *plan; } t[] = {
        { "0.01", 1, 0, "csr", "csr:val=1" },  { "0.01", 2, 0, "csr", "csr:val=8" },   { "0.01", 255, 0, "csr", "csr:val=8" },
        { "0.01", 256, 0, "csr", "csr:val=32" }, { "0.01", 300, 0, "csr", "csr:val=32" }, { "0.01", 2, 1, "csr", "csr" },
        { "1", 2, 0, "csr", "csr" }, { "0.01", 1, 0, "bcsr:b=1x4", "bcsr:b=1x4,val=8" },
        { "0.01", 2, 0, "tcsr", "tcsr:val=8" }
    };
    matrix m;
    size_t i, k;
    matrix_random(&m, "random", 900, 900, 0.01);
    matrix_close(&m, INTEGERS);
    for (i = 0; i < sizeof t / sizeof *t; i++) {
        char table[300], plan[64];
        const spmv_csr a = matrix_csr(&m, SPMV_F64);
        const spmv_target target = { "gpu", SPMV_DEVICE_CLASS_GPU, NULL, 0, 0, 0, 0 };
        spmv_build how = { 0 };
        spmv_build_hints hints = { 0 };
        spmv_tuning tuning;
        spmv_choice choice;
        spmv_csr b = a;
        double *val = need(m.nnz, sizeof *val);
        for (k = 0; k < m.nnz; k++) val[k] = (double)(k % (unsigned)t[i].values) + 1;
        b.val = val;
        spmv_print(table, sizeof table, "spmv tuning table 2\ndevice gpu\nclass gpu\nunits 10\nlaunch 1\nmemory 100\ncache %s 200\n"
                   "f64 %s - 1 1 0 0 0 0 0 0 0\n", t[i].cache, t[i].line);
        cr_assert_eq(spmv_tuning_create(&tuning, table, strlen(table), "table", NULL), SPMV_OK);
        hints.tuning = &tuning;
        how.type = SPMV_F64;
        how.updatable = t[i].updatable;
        cr_assert_eq(spmv_choose(&choice, "auto", &b, &how, &target, &hints, NULL, NULL), SPMV_OK);
        spmv_plan_print(&choice.plan, plan, sizeof plan);
        CHECK(!strcmp(plan, t[i].plan), "%d: %s", (int)i, plan);
        spmv_tuning_destroy(&tuning);
        free(val);
    }
    matrix_free(&m);
}

/* On a GPU a product takes no less than its bytes or its longest row, whichever takes longer, whatever its line says. Not on the host. */
Test(estimate, on_a_gpu_has_floors)
{
    static const char costs[] = "f64 csr L=1 0.001 0.001 0 0 0 0 0.001 0 0\nf64 csr - 0 3 0 0 0 0 0 0 0\n";
    char table[300];
    matrix m;
    spmv_csr a = one_and_three(&m);
    spmv_estimate e;
    spmv_print(table, sizeof table, "spmv tuning table 2\ndevice d\nclass gpu\nmemory 1\nstep 0.1 9 7\n%s", costs);
    e = predicted("csr", "L=1", &a, table, NULL); /* 3 steps of 0.1 us, and 41,024 bytes */
    cr_assert_float_eq(e.of[SPMV_COST_CHAIN], 0.3e-6, 1e-12);
    cr_assert_float_eq(e.seconds, 41024e-9, 1e-12);
    e = predicted("csr", NULL, &a, table, NULL); /* its line says more */
    cr_assert_float_eq(e.seconds, 3 * 41024e-9, 1e-12);
    spmv_print(table, sizeof table, "spmv tuning table 2\ndevice d\nclass gpu\nmemory 1\nstep 0.1 3 20\n%s", costs);
    e = predicted("csr", "L=1", &a, table, NULL); /* a row of 3 steps is no short one */
    cr_assert_float_eq(e.seconds, 60e-6, 1e-12);
    e = predicted("csr", NULL, &a, "spmv tuning table 2\ndevice d\nclass host\nmemory 1\nf64 csr - 0 0.1 0 0 0 0 0 0 0\n", NULL);
    cr_assert_float_eq(e.seconds, 0.1 * 41024e-9, 1e-12);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* A part costs what the line says that is most like it: of its format if there is one, else of other blocks, else of csr; with keys of the
 * same kind, then the same keys, then the same knobs. Types that the table lacks go by the one that moves nearly as many bytes. */
Test(estimate, goes_by_the_line_that_is_most_like_a_part)
{
    static const char all[] = HEAD F64("csr:run=1024", "200") F64("csr", "100") LINE("f64", "csr", "L=2", "150", "0") F64("sell:h=8", "300")
                              F64("sell", "400") F64("bcsr:b=2x2", "500") F64("bcsr", "510") F64("sbell:b=3x3", "600")
                              F64("tcsr:idx=16", "700") LINE("f32", "csr", "-", "900", "0");
    static const char no_csr[] = HEAD F64("sell", "400"), only_f32[] = HEAD LINE("f32", "csr", "-", "900", "0");
    static const struct {
        const char *table, *plan, *variant;
        double      ps;
    } t[] = {
        { all, "csr", NULL, 100 },            { all, "csr", "L=2", 150 },           { all, "csr", "L=16", 100 },
        { all, "csr:run=1024", "", 200 },     { all, "csr:run=256", "", 200 },      { all, "csr:rows=sorted", "", 100 },
        { all, "csr:rows=nonempty", "", 100 }, { all, "sell", "", 400 },            { all, "sell:h=8", "", 300 },
        { all, "sell:h=32", "WG=64", 400 },   { all, "coo", "", 100 },              { all, "ell", "", 100 },
        { all, "dia", "", 100 },              { all, "bcsr:b=2x2", "", 500 },       { all, "bcsr:b=3x3", "", 500 },
        { all, "bcsr:b=4x4", "", 510 },       { all, "bcsr", "", 510 },
        { all, "sbell:b=2x2", "", 600 },      { all, "bell:b=3x3", "", 600 },       { all, "bell:b=2x2", "", 500 },
        { all, "tcsr", "", 700 },             { no_csr, "sell:h=64", "", 400 },     { no_csr, "csr", "", 0 },
        { no_csr, "ell", "", 0 },             { only_f32, "csr", "", 900 },         { only_f32, "ell", "", 900 }
    };
    matrix m;
    spmv_csr a = one_and_three(&m), narrow_values;
    size_t i;
    for (i = 0; i < sizeof t / sizeof *t; i++) {
        const spmv_estimate e = predicted(t[i].plan, t[i].variant, &a, t[i].table, NULL);
        const double busy = e.of[SPMV_COST_SLOTS];
        CHECK(busy > 0 || !(t[i].ps > 0), "%s", t[i].plan);
        CHECK(fabs(e.share[SPMV_COST_SLOTS] - t[i].ps * 1e-12 * busy) < 1e-15, "%s / %s: %g ps a slot, not %g", t[i].plan,
              t[i].variant ? t[i].variant : "", 1e12 * e.share[SPMV_COST_SLOTS] / busy, t[i].ps);
    }
    spmv_csr_destroy(&a);
    narrow_values = matrix_csr(&m, SPMV_F32);
    cr_assert_float_eq(predicted("csr", NULL, &narrow_values, all, NULL).share[SPMV_COST_SLOTS], 900e-12 * 2048, 1e-15);
    cr_assert_float_eq(predicted("csr", NULL, &narrow_values, no_csr, NULL).seconds, 0, 1e-15);
    cr_assert_float_eq(predicted("sell", NULL, &narrow_values, no_csr, NULL).share[SPMV_COST_SLOTS], 400e-12 * 3072, 1e-15);
    spmv_csr_destroy(&narrow_values);
    matrix_free(&m);
}

/* The plan that was predicted to take 26 us and took 3,416: blocks of a matrix whose few huge rows lie half in the part. And dense with few
 * rows, each of which is longer than any that a table has. */
Test(estimate, huge_rows_are_slow)
{
    spmv_build_hints hints;
    spmv_build how;
    spmv_choice *c = fresh(&hints, &how);
    spmv_target gpu = { "NVIDIA H200", SPMV_DEVICE_CLASS_GPU, NULL, 0, 0, 0, 0 };
    spmv_estimate part[SPMV_MAX_PARTS];
    spmv_plan plan;
    matrix m;
    spmv_csr a;
    matrix_huge_rows(&m, "a few huge rows between blocks", 16384);
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F32);
    how.type = SPMV_F32;
    how.max_bytes = 1u << 30; /* by default a part with so much padding is refused */
    cr_assert_eq(spmv_plan_parse(&plan, "sbell:b=4x4,d=0.5+csr:run=2048", NULL, NULL), SPMV_OK);
    cr_assert_eq(spmv_predict(part, &plan, NULL, &a, &how, &gpu, NULL, NULL), SPMV_OK);
    cr_assert(part[0].seconds > 50e-6 && part[0].seconds < 5e-3 && part[0].of[SPMV_COST_CHAIN] > 50e-6, "%g s", part[0].seconds);
    cr_assert_eq(spmv_choose(c, "auto", &a, &how, &gpu, &hints, NULL, NULL), SPMV_OK);
    cr_assert_lt(c->option[0].predicted, 50e-6);
    spmv_csr_destroy(&a);
    matrix_free(&m);
    matrix_random(&m, "few long full rows", 73, 12341, 1);
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F32);
    cr_assert_eq(spmv_plan_parse(&plan, "dense", NULL, NULL), SPMV_OK);
    cr_assert_eq(spmv_predict(part, &plan, NULL, &a, &how, &gpu, NULL, NULL), SPMV_OK);
    cr_assert(part[0].seconds > 15e-6 && part[0].slots == 73 * 12341, "%g s", part[0].seconds);
    spmv_csr_destroy(&a);
    matrix_free(&m);
    free(c);
}

/* A device with a smaller cache or slower memory than the one whose table it goes by takes as long as reading the bytes takes there; with
 * the table's own device nothing changes, and neither does what a larger cache and faster memory say. So it is by the bundled table of GPUs
 * and by one of any class. */
Test(estimate, a_lesser_memory_is_slower)
{
    static const struct {
        const char *head;   /* of the table; NULL: the bundled one */
        const char *device;
        uint64_t    cache;  /* bytes */
        double      read;   /* GB/s */
        double      slower; /* the time of its bytes is more than so many times as long; 0: as long */
    } c[] = {
        { NULL, "another GPU", 0, 0, 0 },            { NULL, "another GPU", 1u << 20, 0, 1.2 }, { NULL, "another GPU", 1u << 30, 9000, 0 },
        { NULL, "another GPU", 1u << 30, 100, 0 },   { NULL, "another GPU", 1u << 20, 100, 5 },
        { NULL, "NVIDIA H100 80GB HBM3", 1u << 20, 100, 0 },
        { "class gpu\nmemory 100\ncache 36 1000\n", "x", 0, 0, 0 },  { "class gpu\nmemory 100\ncache 36 1000\n", "x", 1u << 20, 0, 1.2 },
        { "class cpu\nmemory 100\ncache 36 1000\n", "x", 0, 0, 0 },  { "class cpu\nmemory 100\ncache 36 1000\n", "x", 1u << 20, 0, 1.2 },
        { "class host\nmemory 100\ncache 36 1000\n", "x", 0, 0, 0 }, { "class host\nmemory 100\ncache 36 1000\n", "x", 1u << 20, 0, 1.2 },
        { "class host\nmemory 100\n", "x", 0, 0, 0 },                 { "class host\nmemory 100\n", "x", 1u << 20, 0, 0 }
    };
    spmv_csr a;
    matrix m;
    size_t i;
    double least = 0;
    matrix_random(&m, "2 MB of random values", 4000, 4000, 0.01);
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    for (i = 0; i < sizeof c / sizeof *c; i++) {
        char text[400];
        spmv_tuning t;
        spmv_target target = { c[i].device, SPMV_DEVICE_CLASS_GPU, NULL, 0, c[i].cache, c[i].read, 0 };
        spmv_estimate e;
        double bytes;
        memset(&t, 0, sizeof t);
        spmv_print(text, sizeof text, "spmv tuning table 2\ndevice a device\n%slaunch 1\nf64 sell - 1 1 0 0 0 0 0 0 0\n",
                   c[i].head ? c[i].head : "");
        if (c[i].head) {
            cr_assert_eq(spmv_tuning_create(&t, text, strlen(text), "a table", NULL), SPMV_OK);
            target.device_class = t.device_class;
            target.table = &t;
        }
        e = predicted("sell", NULL, &a, NULL, &target);
        bytes = e.of[SPMV_COST_BYTES];
        if (!c[i].cache) least = bytes; /* each table's first case is of a device that says nothing */
        cr_assert(e.seconds >= bytes && e.seconds < 1, "case %d: %g s", (int)i, e.seconds);
        if (c[i].slower > 0) cr_assert_gt(bytes, c[i].slower * least, "case %d", (int)i);
        else cr_assert(bytes <= least && bytes >= least, "case %d: %g s, not %g", (int)i, bytes, least);
        spmv_tuning_destroy(&t);
    }
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* The head of a table of a GPU whose steps take 1 us each; lines follow. */
#define STEPS "spmv tuning table 2\ndevice d\nclass gpu\nunits 132\nmemory 100\nstep 1 500 1\n"

/* Predicts a product of the matrix, which is closed and freed here, and expects the longest row or run to take so many microseconds. */
static void expect_chain(const char *table, const char *plan, matrix *m, double us)
{
    spmv_estimate e;
    spmv_csr a;
    double chain;
    matrix_close(m, INTEGERS);
    a = matrix_csr(m, SPMV_F64);
    e = predicted(plan, NULL, &a, table, NULL);
    chain = e.of[SPMV_COST_CHAIN];
    cr_assert(chain >= 0.99e-6 * us && chain <= 1.01e-6 * us, "%s: %g s, not %g us", plan, chain, us);
    cr_assert(e.seconds >= chain);
    spmv_csr_destroy(&a);
    matrix_free(m);
}

/* The longest row of diagonals takes as many steps as it has entries for each lane, of which the device gives it as many as test_cl says
 * (lanes_fill_a_gpu): 8. */
Test(estimate, lanes_share_the_rows_of_diagonals)
{
    static const struct {
        const char *plan;
        int64_t     bands[4];
        double      us;
    } c[] = { { "dia", { -50, -1, 0, 50 }, 101 / 8.0 }, { "bdia", { -50, -1, 0, 50 }, 101 / 8.0 } };
    matrix m;
    size_t i;
    for (i = 0; i < sizeof c / sizeof *c; i++) {
        matrix_bands(&m, "bands", 2000, 2000, c[i].bands[0], c[i].bands[1], c[i].bands[2], c[i].bands[3]);
        expect_chain(STEPS F64("dia", "100") F64("bdia", "100"), c[i].plan, &m, c[i].us);
    }
}

/* A group takes a row of up to four runs by itself, so that a product takes at least its steps; longer rows are cut into pieces. */
Test(estimate, a_row_in_one_run_has_steps)
{
    static const struct {
        const char *plan;
        uint64_t    cols, first; /* nonzeros of the first row; 0: as of the others, cols */
        double      us;
    } c[] = { { "csr:run=1024", 512, 0, 512 / 256.0 },   { "csr:run=1024", 3072, 0, 3072 / 256.0 },
              { "csr:run=1024", 4096, 0, 4096 / 256.0 }, { "csr:run=1024", 4097, 0, 1024 / 256.0 },
              { "csr:run=1024", 9000, 0, 1024 / 256.0 }, { "csr:run=1024", 9000, 3072, 3072 / 256.0 },
              { "tcsr", 3072, 0, 0 } };
    uint64_t r, k;
    matrix m;
    size_t i;
    for (i = 0; i < sizeof c / sizeof *c; i++) {
        matrix_open(&m, "full rows", 4, c[i].cols);
        for (r = 0; r < 4; r++) {
            const uint64_t end = r == 0 && c[i].first ? c[i].first : c[i].cols;
            for (k = 0; k < end; k++) matrix_add(&m, k);
            m.ptr[r + 1] = m.nnz;
        }
        expect_chain(STEPS F64("csr:run=1024", "100") F64("tcsr", "100"), c[i].plan, &m, c[i].us);
    }
}

/* Lets one allocation after another fail, until a choice succeeds; nothing may be left behind. */
static void allocations_fail(const char *plan, const spmv_csr *a, const spmv_build_hints *hints)
{
    spmv_choice *c = (spmv_choice *)need(1, sizeof *c);
    spmv_build how;
    spmv_status s = SPMV_ERR_MEMORY;
    long n;
    memset(&how, 0, sizeof how);
    for (n = 1; s != SPMV_OK; n++) {
        ledger l;
        spmv_hooks h = ledger_hooks(&l);
        l.fail_at = n;
        s = spmv_choose(c, plan, a, &how, NULL, hints, NULL, &h);
        CHECK(s == SPMV_OK || s == SPMV_ERR_MEMORY, "%s, allocation %ld: %s", plan, n, spmv_status_name(s));
        CHECK(l.live == 0, "%s, allocation %ld: %ld blocks left", plan, n, l.live);
        CHECK(n < 100000, "%ld", n);
    }
    cr_assert_gt(n, 5);
    free(c);
}

Test(choice, every_allocation_fails, .timeout = 120)
{
    static const char table[] = HEAD F64("dia", "220") F64("bcsr", "250") F64("sell", "280") F64("ell", "330") F64("csr", "500")
                                F64("coo", "500");
    matrix m;
    spmv_csr a;
    spmv_tuning t;
    spmv_build_hints hints;
    matrix_blocks(&m, "blocks", 120, 120, 3, 3);
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    allocations_fail("auto", &a, NULL);
    memset(&hints, 0, sizeof hints);
    cr_assert_eq(spmv_tuning_create(&t, table, sizeof table - 1, "table", NULL), SPMV_OK);
    hints.tuning = &t;
    allocations_fail("cocktail", &a, &hints); /* by which every policy is tried */
    spmv_tuning_destroy(&t);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* ---- cocktail: each rule of clSpMV 3.3 by hand ------------------------------------------------------------------------ */

/* Rates of formats, from which a table is made; formats without one are excluded. */
typedef struct hand_rates {
    double      rate[SPMV_FORMAT_COUNT]; /* GFLOP/s at every size */
    double      launch[SPMV_FORMAT_COUNT]; /* microseconds of every product besides */
    int         lanes[SPMV_FORMAT_COUNT]; /* that share the longest row; 0: so many that it does not count */
    const char *steps;                    /* of the table: steps of the longest row; NULL: they take no time */
    int         bh, bw;                   /* the only block size whose rate is not low */
    uint64_t    max_bytes;                /* of a part */
} hand_rates;

/* Writes the line of a layout. */
static size_t hand_line(char *at, size_t size, const hand_rates *h, spmv_format f, const char *keys, double rate)
{
    return spmv_print(at, size, "f64 %s%s L=%d %.6f 0 0 %.6f 0 0 1 0 0\n", spmv_format_name(f), keys, h->lanes[f] ? h->lanes[f] : 1000000,
                      h->launch[f], 2000 / rate);
}

static void hand_table(const hand_rates *h, char *table, size_t size)
{
    static const int sizes[][2] = { { 1, 4 }, { 2, 4 }, { 4, 4 }, { 8, 4 }, { 1, 8 }, { 2, 8 }, { 4, 8 }, { 8, 8 } };
    size_t n = spmv_print(table, size, HEAD "memory 1000000\nlaunch 1\n%s", h->steps ? h->steps : ""), i;
    int f;
    for (f = 0; f < SPMV_FORMAT_COUNT; f++) {
        char keys[20];
        if (!(h->rate[f] > 0)) continue;
        for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            const int block = library_format_class_of((spmv_format)f) == SPMV_CLASS_BLOCK;
            const int good = sizes[i][0] == h->bh && sizes[i][1] == h->bw;
            if (!block && i) continue;
            keys[0] = 0;
            if (block) spmv_print(keys, sizeof keys, ":b=%dx%d", sizes[i][0], sizes[i][1]);
            n += hand_line(table + n, size - n, h, (spmv_format)f, keys, block && !good ? 0.01 : h->rate[f]);
        }
    }
    cr_assert_lt(n, size);
}

/* Makes the cocktail of a matrix and compares its plan; each of lines, up to a NULL, must be among the steps. The matrix is freed. */
static void mixed(matrix *m, const hand_rates *h, const char *text, const char *plan, const char *const *lines)
{
    static char table[8192], steps[SPMV_COCKTAIL_TEXT], found[SPMV_PLAN_TEXT];
    spmv_build_hints hints;
    spmv_build how;
    spmv_choice *c = fresh(&hints, &how);
    spmv_csr a;
    int f;
    matrix_close(m, INTEGERS);
    a = matrix_csr(m, SPMV_F64);
    hand_table(h, table, sizeof table);
    for (f = 0; f < SPMV_FORMAT_COUNT; f++)
        if (!(h->rate[f] > 0)) hints.without |= 1u << f;
    how.max_bytes = h->max_bytes;
    hints.steps = steps;
    cr_assert_eq(choose(c, text, &a, table, &hints, &how, NULL), SPMV_OK);
    spmv_plan_print(&c->plan, found, sizeof found);
    CHECK(!strcmp(found, plan), "%s: %s, not %s\n%s", m->name, found, plan, c->steps);
    for (; *lines; lines++) CHECK(strstr(c->steps, *lines), "%s: no \"%s\" in\n%s", m->name, *lines, c->steps);
    free(c);
    spmv_csr_destroy(&a);
    matrix_free(m);
}
#define LINES(...) ((const char *const[]){ __VA_ARGS__, NULL })

static hand_rates flat_rates(double ell, double sell, double csr, double coo)
{
    hand_rates h;
    memset(&h, 0, sizeof h);
    h.rate[SPMV_ELL] = ell;
    h.rate[SPMV_SELL] = sell;
    h.rate[SPMV_CSR] = csr;
    h.rate[SPMV_COO] = coo;
    return h;
}

/* 8 x 8: the main diagonal has 8 of 8 entries, the one above it 4 of 7, the one below it 3 of 7, and one further above 2 of 4. */
static void some_diagonals(matrix *m)
{
    uint64_t r;
    matrix_open(m, "diagonals", 8, 8);
    for (r = 0; r < 8; r++) {
        if (r >= 1 && r <= 3) matrix_add(m, r - 1);
        matrix_add(m, r);
        if (r < 4) matrix_add(m, r + 1);
        if (r < 2) matrix_add(m, r + 4);
        m->ptr[r + 1] = m->nnz;
    }
}

/* e_d > n_d x 5 / 10: 8 > 4 and 4 > 3.5, but not 3 > 3.5 nor 2 > 2, although 10 / 5 is computed with an error. */
Test(cocktail, dense_diagonals)
{
    hand_rates h = flat_rates(0, 0, 5, 0);
    matrix m;
    h.rate[SPMV_DIA] = 10;
    some_diagonals(&m);
    mixed(&m, &h, "cocktail", "dia:d=0.500001+csr",
          LINES("settings  8 rows, 2.125 nonzeros in a row", "priority  diagonals: 10.000, dia\npriority  blocks: 0.000, no rate\n",
                "priority  flat: 5.000, csr\n", "e_d > n_d x g_f / g_d = n_d x 5.000 / 10.000 = n_d x 0.500000\n",
                "holds for 2 of 4 diagonals, with 12 nonzeros\n", "only dia: 12 / (16 / 10.000) = 7.500\n",
                /* 16 / 10 + 5 / 5 against 17 / 5 and 32 / 10, at 2 flops a slot; 12 nonzeros do not go into 5 */
                "merge     dia: 0.006 < 0.005 us, dia:d=0.500001+csr: no\ndefence ",
                "read: dia:d=0.500001+csr: 0.005 us, dia:d=0.500001+csr: 0.005 us"));
    h.rate[SPMV_DIA] = 5; /* no diagonal has more than n_d entries */
    some_diagonals(&m);
    mixed(&m, &h, "cocktail", "csr", LINES("n_d x 1.000000\n"));
    h.rate[SPMV_DIA] = 4.9; /* the flat category is first and takes all */
    some_diagonals(&m);
    mixed(&m, &h, "cocktail", "csr", LINES("priority  diagonals: 4.900, dia\n"));
}

/* Sides that are equal by the table are equal, however the rates are rounded: of a diagonal of 10 places with 6 entries, 6 > 10 x 0.6 does
 * not hold. */
Test(cocktail, equal_sides)
{
    static const double tenth[] = { 1, 3, 7, 11, 13, 17, 0.1, 0.3, 0.7, 1.1, 1.3 }; /* of the picoseconds of a slot of csr */
    size_t i;
    for (i = 0; i < sizeof tenth / sizeof *tenth; i++) {
        hand_rates h = flat_rates(0, 0, 2000 / (10 * tenth[i]), 0);
        matrix m;
        uint64_t r;
        h.rate[SPMV_DIA] = 2000 / (6 * tenth[i]);
        matrix_open(&m, "six of ten", 10, 10);
        for (r = 0; r < 10; r++) {
            if (r < 6) matrix_add(&m, r);
            m.ptr[r + 1] = m.nnz;
        }
        mixed(&m, &h, "cocktail", "csr", LINES("holds for 0 of 1 diagonals"));
    }
}

/* 16 x 16: four full diagonals side by side and a fifth apart. */
static void a_band_and_a_diagonal(matrix *m)
{
    uint64_t r, k;
    matrix_open(m, "band and diagonal", 16, 16);
    for (r = 0; r < 16; r++) {
        for (k = r; k < r + 4 && k < 16; k++) matrix_add(m, k);
        if (r + 8 < 16) matrix_add(m, r + 8);
        m->ptr[r + 1] = m->nnz;
    }
}

/* 58 + 8 nonzeros in five diagonals of 16 slots each. */
Test(cocktail, bdia_or_dia)
{
    hand_rates h = flat_rates(0, 0, 1, 0);
    matrix m;
    h.rate[SPMV_DIA] = 10;
    h.rate[SPMV_BDIA] = 20;
    a_band_and_a_diagonal(&m);
    mixed(&m, &h, "cocktail", "bdia",
          LINES("only bdia: 66 / (80 / 20.000) = 16.500\n", "only dia: 66 / (80 / 10.000) = 8.250\n",
                "bdia for bands of 4 or more, dia: 66 / (64 / 20.000 + 16 / 10.000) = 13.750\n"));
    h.rate[SPMV_DIA] = 30;
    a_band_and_a_diagonal(&m);
    mixed(&m, &h, "cocktail", "dia", LINES("only dia: 66 / (80 / 30.000) = 24.750\n"));
    h.rate[SPMV_DIA] = 10;
    h.steps = "step 0 5 0.0048\n"; /* with five diagonals bdia takes 24 ns more, with four none */
    h.lanes[SPMV_BDIA] = 1;
    a_band_and_a_diagonal(&m);
    mixed(&m, &h, "cocktail", "bdia:w=4+dia",
          LINES("only bdia: 66 / (80 / 5.000) = 4.125\n", "only dia: 66 / (80 / 10.000) = 8.250\n", "= 13.750\n"));
}

/* Adds to row r of 8 x 8 what it has of blocks of 4 x 4 with so many nonzeros each, row by row in the block. */
static void add_blocks(matrix *m, const int n[2][2])
{
    int r, b, c;
    for (r = 0; r < 8; r++) {
        for (b = 0; b < 2; b++)
            for (c = 0; c < 4; c++)
                if (r % 4 * 4 + c < n[r / 4][b]) matrix_add(m, (uint64_t)(4 * b + c));
        m->ptr[r + 1] = m->nnz;
    }
}

/* Blocks of 9, 8, 16 and 12 nonzeros: e_b > 16 x 5 / 10 holds for three of them. */
Test(cocktail, dense_blocks)
{
    static const int some[2][2] = { { 9, 8 }, { 16, 12 } }, uneven[2][2] = { { 16, 0 }, { 16, 16 } };
    static const int full[2][2] = { { 16, 16 }, { 16, 16 } };
    hand_rates h = flat_rates(0, 0, 5, 0);
    matrix m;
    h.bh = h.bw = 4;
    h.rate[SPMV_BCSR] = 10;
    matrix_open(&m, "blocks", 8, 8);
    add_blocks(&m, some);
    mixed(&m, &h, "cocktail", "bcsr:d=0.5625,b=4x4+csr", /* all blocks, which the first histogram counts, would be as fast */
          LINES("4x4: n_b x 5.000 / 10.000 = 8.000\n", "e_b >= 9: 3 of 4 blocks, with 37 nonzeros\n",
                "bcsr:b=4x4, dense: 45 / (48 / 10.000 + 8 / 5.000) = 7.031\n",
                "bcsr:b=4x4, all: 45 / (64 / 10.000) = 7.031 > 5.000: yes\n"));
    h.rate[SPMV_CSR] = 6; /* e_b > 9.6 */
    matrix_open(&m, "blocks", 8, 8);
    add_blocks(&m, some);
    mixed(&m, &h, "cocktail", "bcsr:d=0.625,b=4x4+csr",
          LINES("e_b >= 10: 2 of 4 blocks, with 28 nonzeros\n", "dense: 45 / (32 / 10.000 + 17 / 6.000) = 7.459\n",
                "all: 45 / (64 / 10.000) = 7.031 > 6.000: yes\n"));
    h.rate[SPMV_CSR] = 5;
    h.rate[SPMV_BELL] = h.rate[SPMV_SBELL] = 11; /* a slice of sbell has 32 block rows, of which these are two */
    matrix_open(&m, "uneven blocks", 8, 8);
    add_blocks(&m, uneven);
    mixed(&m, &h, "cocktail", "sbell:b=4x4", /* it skips its padding, 48 / 11, which rates do not know */
          LINES("sbell:b=4x4, all: 48 / (1024 / 11.000) = 0.516 > 5.000: no\n", "bell:b=4x4, all: 48 / (64 / 11.000) = 8.250",
                "bcsr:b=4x4, all: 48 / (48 / 10.000) = 10.000", "read: sbell:b=4x4: 0.009 us, bcsr:b=4x4: 0.010 us"));
    h.rate[SPMV_BELL] = 12;
    matrix_open(&m, "full blocks", 8, 8);
    add_blocks(&m, full);
    mixed(&m, &h, "cocktail", "bell:b=4x4", LINES("bell:b=4x4, all: 64 / (64 / 12.000) = 12.000"));
}

/* Rows of those lengths from column 0 on. */
static void rows_of(matrix *m, const char *name, uint64_t rows, uint64_t (*n)(uint64_t r))
{
    uint64_t r, c;
    matrix_open(m, name, rows, 50);
    for (r = 0; r < rows; r++) {
        for (c = 0; c < n(r); c++) matrix_add(m, c);
        m->ptr[r + 1] = m->nnz;
    }
}

static uint64_t nine_two_ones(uint64_t r) { return r == 0 ? 9 : r == 1 ? 2 : 1; }
static uint64_t twenty_two_ones(uint64_t r) { return r == 0 ? 20 : nine_two_ones(r); }

/* Six rows of 9, 2, 1, 1, 1, 1: (z + e) / 30 < e / 10 up to w = 5, where e = 11 of 30; at w = 6, 12 of 36 is a third and not more. */
Test(cocktail, ell_width)
{
    hand_rates h = flat_rates(30, 0, 10, 10);
    matrix m;
    rows_of(&m, "9 2 1 1 1 1", 6, nine_two_ones);
    mixed(&m, &h, "cocktail", "ell:w=5+coo",
          LINES("flat      m_c = max(10.000, 10.000) > m_e = max(30.000, 0.000): no\n",
                "ell (z + e) / g < e / m_c, e / (z + e) > 10.000 / 30.000 = 0.333333: widths up to 5, with 11 nonzeros in 30 slots\n",
                /* rows 0 to 2 of the rest have 4 nonzeros, the others none */
                "csr, coo  u max nnz(i) / g_csr = 2 x 4 / 10.000 = 0.800 < n / g_coo = 4 / 10.000 = 0.400: no\n"));
    h.rate[SPMV_CSR] = 12; /* m_c: w = 4 has 10 of 24, w = 5 11 of 30, which is below 0.4; the rest has 5 */
    rows_of(&m, "9 2 1 1 1 1", 6, nine_two_ones);
    h.rate[SPMV_COO] = 5;
    mixed(&m, &h, "cocktail", "ell:w=4+csr", LINES("2 x 5 / 12.000 = 0.833 < n / g_coo = 5 / 5.000 = 1.000: yes\n"));
    h.rate[SPMV_COO] = 10;
    rows_of(&m, "9 2 1 1 1 1", 6, nine_two_ones); /* a group has four rows, too uneven for csr alone as well */
    mixed(&m, &h, "cocktail", "ell:w=4+coo", LINES("2 x 5 / 12.000 = 0.833 < n / g_coo = 5 / 10.000 = 0.500: no\n"));
    h.rate[SPMV_ELL] = 11.9;
    rows_of(&m, "9 2 1 1 1 1", 6, nine_two_ones);
    h.rate[SPMV_COO] = 1;
    mixed(&m, &h, "cocktail", "csr", LINES("m_c = max(12.000, 1.000) > m_e = max(11.900, 0.000): yes\n"));
    h.rate[SPMV_COO] = 10;
    rows_of(&m, "9 2 1 1 1 1", 6, nine_two_ones); /* rows are too uneven for csr, so that coo has m_c, 10 */
    mixed(&m, &h, "cocktail", "ell:w=1+coo", LINES("10.000 / 11.900 = 0.840336: widths up to 1, with 6 nonzeros"));
    h.rate[SPMV_ELL] = 60; /* even the longest row fills a fifth */
    rows_of(&m, "9 2 1 1 1 1", 6, nine_two_ones);
    mixed(&m, &h, "cocktail", "ell", LINES("widths up to 9, with 15 nonzeros in 54 slots\n"));
}

static uint64_t two_slices(uint64_t r) { return r < 32 ? 3 : r == 40 ? 40 : 1; }

/* 64 rows: those of the first slice have 3, those of the second 1 and once 40. At g = 20 and m_c = 10 the second may be filled to more than
 * a half: two columns, 33 of 64. */
Test(cocktail, sell_slices)
{
    hand_rates h = flat_rates(0, 20, 10, 0);
    matrix m;
    rows_of(&m, "two slices", 64, two_slices);
    mixed(&m, &h, "cocktail", "sell:fill=0.500001+csr",
          LINES("sell (z + e) / g < e / m_c, e / (z + e) > 10.000 / 20.000 = 0.500000: widths up to 3, with 129 nonzeros in 160 slots\n",
                "167 / (160 / 20.000 + 38 / 10.000) = 14.153\n"));
    h.rate[SPMV_ELL] = 21; /* ell has w = 4, with 131 of 256 */
    rows_of(&m, "two slices", 64, two_slices);
    mixed(&m, &h, "cocktail", "sell:fill=0.500001+csr", LINES("  167 / (256 / 21.000 + 36 / 10.000) = 10.576\n"));
}

static uint64_t a_long_row_and_fives(uint64_t r) { return r == 0 ? 40 : r < 10 ? 5 : 1; }

/* A smaller part goes into a larger one, and not the other way around. */
Test(cocktail, merging)
{
    hand_rates h = flat_rates(2 / 0.03, 0, 10.4, 0);
    matrix m;
    h.launch[SPMV_ELL] = 0.001; /* 26 slots take 1.8 ns, 84 3.5, 120 4.6 */
    h.launch[SPMV_CSR] = 0.0026; /* 26 nonzeros take 7.6 ns, 6 3.8 */
    rows_of(&m, "20 2 1 1 1 1", 6, twenty_two_ones);
    mixed(&m, &h, "cocktail", "ell", /* 20 nonzeros do not go into 6 */
          LINES("widths up to 14, with 20 nonzeros in 84 slots",
                "has a rate\nmerge     ell: 0.005 < 0.007 us, ell:w=14+csr: yes\ndefence"));
    h = flat_rates(7, 0, 0, 10);
    h.launch[SPMV_COO] = 0.01; /* 95 nonzeros take 29 ns, 75 25 */
    rows_of(&m, "40, nine of 5, ten of 1", 20, a_long_row_and_fives);
    mixed(&m, &h, "cocktail", "coo", /* 75 nonzeros do not go into 20 */
          LINES("widths up to 1, with 20 nonzeros in 20 slots", "merge     coo: 0.029 < 0.031 us, ell:w=1+coo: yes\ndefence"));
}

static uint64_t ones_and_a_long_row(uint64_t r) { return r == 40 ? 50 : 1; }

/* The longest row counts in estimates of every format: a row of 50 nonzeros among ones takes 50 steps of a lane of sell, and its padding
 * costs less than a second part. */
Test(cocktail, balance)
{
    hand_rates h = flat_rates(0, 60, 0, 10);
    matrix m;
    h.launch[SPMV_COO] = 0.05;
    h.lanes[SPMV_SELL] = 1;
    rows_of(&m, "a long row", 3200, ones_and_a_long_row);
    mixed(&m, &h, "cocktail", "sell", LINES("merge     sell: 0.159 < 0.172 us, sell:fill=0.154759+coo: yes\n"));
    h.steps = "step 0.01 1000 0.01\n";
    rows_of(&m, "a long row", 3200, ones_and_a_long_row);
    mixed(&m, &h, "cocktail", "sell:fill=0.169268+coo", LINES("merge     sell: 0.659 < 0.242 us, sell:fill=0.169268+coo: no\n"));
}

/* A long row turns the policies from csr to coo, although csr is estimated to be faster. */
Test(cocktail, defence)
{
    hand_rates h = flat_rates(0, 0, 12, 10);
    matrix m;
    rows_of(&m, "a long row", 3200, ones_and_a_long_row);
    mixed(&m, &h, "cocktail", "csr", LINES("read: csr: 0.54", "us, coo: 0.65"));
}

/* What a table says of a size of blocks counts in their rate and in their estimate. */
Test(cocktail, block_sizes_of_the_table)
{
    static const char table[] = HEAD "memory 1000000\nlaunch 1\nblocks f64 bcsr 1 1 4 1 1 1 1 1\n"
        F64("csr", "500") F64("bcsr:b=4x4", "200");
    static const int full[2][2] = { { 16, 16 }, { 16, 16 } };
    static char steps[SPMV_COCKTAIL_TEXT];
    spmv_build_hints hints;
    spmv_build how;
    spmv_choice *c = fresh(&hints, &how);
    matrix m;
    spmv_csr a;
    matrix_open(&m, "full blocks", 8, 8);
    add_blocks(&m, full);
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    hints.steps = steps;
    hints.without = ~(1u << SPMV_CSR | 1u << SPMV_BCSR);
    cr_assert_eq(choose(c, "cocktail", &a, table, &hints, &how, NULL), SPMV_OK);
    cr_assert_str_eq(plan_of(c, 0), "bcsr:b=1x4"); /* by the line of 4x4, which takes four times as long itself */
    cr_assert(strstr(c->steps, "1x4: n_b x 4.000 / 10.000 = 1.600\n") && strstr(c->steps, "4x4: n_b x 4.000 / 2.500 = 25.600\n"), "%s",
              c->steps);
    spmv_csr_destroy(&a);
    matrix_free(&m);
    free(c);
}

static uint64_t tens_and_a_long_row(uint64_t r) { return r == 30000 ? 40 : r % 2 ? 10 : 8; }

/* Of a large matrix the policies look at windows, of which one has the longest row; what a part takes is as in the whole matrix. */
Test(cocktail, windows)
{
    hand_rates h = flat_rates(20, 0, 10, 0);
    matrix m;
    rows_of(&m, "many rows", 50000, tens_and_a_long_row); /* 450,032 nonzeros, one window of three */
    mixed(&m, &h, "cocktail", "ell:w=18+csr",
          LINES("settings  50000 rows, 9.001 nonzeros in a row", "sample    16640 rows with 149792 nonzeros\n",
                "widths up to 18, with 149770 nonzeros in 299520 slots\n", "merge     ell: 199.971 < 90.000 us"));
}

/* Without any rate, and where formats are excluded, some format takes all. */
Test(cocktail, without_rates)
{
    static const char none[] = HEAD F64("dense", "1");
    static char steps[SPMV_COCKTAIL_TEXT];
    hand_rates h = flat_rates(0, 0, 1, 0);
    spmv_build_hints hints;
    spmv_build how;
    spmv_choice *c = fresh(&hints, &how);
    matrix m;
    spmv_csr a;
    some_diagonals(&m);
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    hints.steps = steps;
    cr_assert_eq(choose(c, "cocktail", &a, none, &hints, &how, NULL), SPMV_OK);
    cr_assert_str_eq(plan_of(c, 0), "csr");
    cr_assert(strstr(c->steps, "priority  flat: 0.000, no rate\n"));
    hints.without = 1u << SPMV_CSR;
    cr_assert_eq(choose(c, "cocktail", &a, none, &hints, &how, NULL), SPMV_OK);
    cr_assert_str_eq(plan_of(c, 0), "coo");
    spmv_csr_destroy(&a);
    matrix_free(&m);
    free(c);
    h.max_bytes = 200;
    h.rate[SPMV_DIA] = 100; /* 32 slots of 8 bytes */
    some_diagonals(&m);
    mixed(&m, &h, "cocktail", "csr", /* with DIA for the dense diagonals alone, and with CSR */
          LINES("holds for 4 of 4 diagonals", "  32 slots are more than a part may have\n",
                "csr, coo  g_csr = 1.000, g_coo = 0.000: at most one has a rate\n"));
    h.rate[SPMV_DIA] = 0;
    matrix_open(&m, "empty", 3, 3);
    m.ptr[1] = m.ptr[2] = m.ptr[3] = 0;
    mixed(&m, &h, "cocktail", "csr", LINES(""));
}

/* By a table, with its variants; spmv_explain writes all of it. Only layouts of the paper count, although others are faster. What the table
 * lacks has the rate of the line that is most like it. */
Test(cocktail, by_a_table)
{
    static const char table[] = "spmv tuning table 2\ndevice d\nclass host\nunits 2\nmemory 1000\n" LINE("f64", "dia", "V=2", "200", "0")
        F64("dia", "400") F64("csr", "400") F64("csr:run=1024", "20") "f64 csr L=3 0 0 0 400 0 20 0 0 0\n"
        F64("coo", "500") F64("ell:idx=16", "20") F64("ell", "2000") F64("bdia", "1000") F64("sell", "2000") F64("bcsr", "2000");
    static const char want[] =
        "matrix    8 x 8, 17 nonzeros\n"
        "table     d\n"
        "settings  8 rows, 2.125 nonzeros in a row; rates in GFLOP/s\n"
        "priority  diagonals: 10.000, dia\n"
        "priority  blocks: 1.000, sbell:b=1x4\n"
        "priority  flat: 5.000, csr\n"
        "diagonals e_d > n_d x g_f / g_d = n_d x 5.000 / 10.000 = n_d x 0.500000\n"
        "  holds for 2 of 4 diagonals, with 12 nonzeros\n"
        "  only bdia: 12 / (16 / 2.000) = 1.500\n"
        "  only dia: 12 / (16 / 10.000) = 7.500\n"
        "csr, coo  u max nnz(i) / g_csr = 2 x 5 / 5.000 = 2.000 < n / g_coo = 5 / 4.000 = 1.250: no\n"
        "flat      m_c = max(5.000, 4.000) > m_e = max(1.000, 1.000): yes\n"
        "merge     dia: 0.006 < 0.006 us, dia:d=0.500001+coo: no\n"
        "defence   with how x and rows are read: dia:d=0.500001+coo: 0.006 us, dia:d=0.500001+coo: 0.006 us\n"
        "\n"
        "dia:d=0.500001+coo/V=2+ is the plan by the policies of clSpMV; by the table a product takes 0.01 us, and with csr "
        "0.01 us.\n";
    static char text[2000], steps[SPMV_COCKTAIL_TEXT];
    spmv_build_hints hints;
    spmv_build how;
    spmv_choice *c = fresh(&hints, &how);
    matrix m;
    spmv_csr a;
    some_diagonals(&m);
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    hints.steps = steps;
    cr_assert_eq(choose(c, "cocktail", &a, table, &hints, &how, NULL), SPMV_OK);
    cr_assert_str_eq(c->variant, "V=2+");
    cr_assert_lt(spmv_explain(c, text, sizeof text), sizeof text);
    cr_assert_str_eq(text, want);
    hints.steps = NULL; /* without the inequalities */
    cr_assert_eq(choose(c, "cocktail", &a, table, &hints, &how, NULL), SPMV_OK);
    cr_assert_lt(spmv_explain(c, text, sizeof text), sizeof text);
    cr_assert(!strstr(text, "settings") && !strcmp(strstr(text, "dia:d="), strstr(want, "dia:d=0.500001+coo/")), "%s", text);
    cr_assert_eq(choose(c, "cocktail:u=1", &a, table, &hints, &how, NULL), SPMV_ERR_PLAN); /* it has no keys */
    cr_assert_eq(c->count, 0);
    how.strict = 1; /* dia stores fill; what the policies take, coo, is slower than csr alone */
    cr_assert_eq(choose(c, "cocktail", &a, table, &hints, &how, NULL), SPMV_OK);
    cr_assert_str_eq(plan_of(c, 0), "csr");
    free(c);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

/* What no plan can be built with is refused before any is tried. */
Test(create, refuses_a_level_with_one_message)
{
    static const struct { spmv_simd level; spmv_status status; const char *says; } cases[] = {
        { SPMV_SIMD_COUNT, SPMV_ERR_ARGUMENT, "simd 4 is unknown" }, { (spmv_simd)77, SPMV_ERR_ARGUMENT, "simd 77 is unknown" },
        { SPMV_SIMD_AVX2, SPMV_ERR_UNSUPPORTED, "\"avx2\"" }, { SPMV_SIMD_NEON, SPMV_ERR_UNSUPPORTED, "\"neon\"" }
    };
    matrix m;
    size_t i;
    matrix_random(&m, "large enough for a choice", 3000, 3000, 0.003);
    matrix_close(&m, INTEGERS);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        ledger l;
        spmv_desc d;
        spmv_matrix a;
        if (spmv_simd_usable(cases[i].level)) continue;
        memset(&d, 0, sizeof d);
        d.matrix = matrix_input(&m, SPMV_F64);
        d.hooks = ledger_hooks(&l);
        d.simd = cases[i].level;
        CHECK(spmv_create(&a, &d) == cases[i].status && l.live == 0, "level %d", (int)d.simd);
        CHECK(l.messages == 1 && strstr(l.text, cases[i].says), "level %d: %d messages, the first: %s", (int)d.simd, l.messages, l.text);
    }
    matrix_free(&m);
}

/* For several vectors auto takes a format whose kernels multiply them at once, unless it is much slower with one. */
static void check_several(const char *table, const spmv_target *target, unsigned vectors, const char *wanted, const char *at_once)
{
    char plan[64], why[4000];
    spmv_build how = { 0 };
    spmv_build_hints hints = { 0 };
    spmv_tuning tuning;
    spmv_choice choice;
    spmv_csr a;
    matrix m;
    matrix_random(&m, "random", 9000, 9000, 0.005);
    a = matrix_csr(&m, SPMV_F64);
    cr_assert_eq(spmv_tuning_create(&tuning, table, strlen(table), "table", NULL), SPMV_OK);
    hints.tuning = &tuning;
    hints.vectors = vectors;
    how.type = SPMV_F64;
    cr_assert_eq(spmv_choose(&choice, "auto", &a, &how, target, &hints, NULL, NULL), SPMV_OK);
    spmv_plan_print(&choice.plan, plan, sizeof plan);
    CHECK(!strncmp(plan, wanted, strlen(wanted)), "%u vectors: %s", vectors, plan);
    spmv_explain(&choice, why, sizeof why);
    CHECK(at_once ? strstr(why, at_once) != NULL : !strstr(why, "vectors "), "%u vectors: %s", vectors, why);
    spmv_tuning_destroy(&tuning);
    spmv_csr_destroy(&a);
    matrix_free(&m);
}

#define SEVERAL_LINES "units 10\nlaunch 1\nmemory 100\ncache 1 200\n"
Test(auto, several_vectors)
{
    static const char table[] = "spmv tuning table 2\ndevice gpu\nclass gpu\n" SEVERAL_LINES
                                "f64 ell - 1 0.8 0 0 0 0 0 0 0\nf64 tcsr - 1 1 0 0 0 0 0 0 0\n";
    static const struct { unsigned vectors; const char *plan; } t[] = {
        { 0, "tcsr" }, { 1, "tcsr" }, { 4, "ell" }, { 8, "ell" }, { 30, "ell" }
    };
    const spmv_target target = { "gpu", SPMV_DEVICE_CLASS_GPU, NULL, 0, 0, 0, 0 };
    size_t i;
    for (i = 0; i < sizeof t / sizeof *t; i++)
        check_several(table, &target, t[i].vectors, t[i].plan, t[i].vectors < 2 ? NULL : "up to 8 at once");
}

/* On the host csr does, if it has all rows in their order. */
Test(auto, several_vectors_on_the_host)
{
    static const char slower[] = "spmv tuning table 2\ndevice host\nclass host\n" SEVERAL_LINES
                                 "f64 csr - 1 1 0 0 0 0 0 0 0\nf64 tcsr - 1 0.5 0 0 0 0 0 0 0\n"
                                 "f64 csr:rows=sorted,sigma=256 - 1 0.8 0 0 0 0 0 0 0\n";
    static const char slowest[] = "spmv tuning table 2\ndevice host\nclass host\n" SEVERAL_LINES
                                  "f64 csr - 1 1 0 0 0 0 0 0 0\nf64 tcsr - 1 0.1 0 0 0 0 0 0 0\n";
    check_several(slower, NULL, 0, "tcsr", NULL);
    check_several(slower, NULL, 8, "csr", "up to 8 at once");
    check_several(slowest, NULL, 8, "tcsr", "one by one");
}
