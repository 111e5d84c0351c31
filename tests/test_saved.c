/* SPDX-License-Identifier: MIT
 *
 * Prepared matrices as bytes: the same products in every format, in place and copied; failing allocations; bytes that are damaged, also
 * with a checksum that fits. */
#include <criterion/criterion.h>

#include "spmv.h"
#include "common.h"
#include "library.h"

/* Bytes of the head; where it has the number of all bytes, and the checksum; bytes behind it that are worth a share (library.c). */
enum { HEAD = 80, HEAD_BYTES = 64, HEAD_SUM = 72, SUMMED = 8 * 64 };

static const char *const plans[] = {
    "dense", "dense:rows=nonempty", "coo", "csr", "csr:run=32", "csr:run=32,idx=16", "csr:run=64,rows=nonempty", "csr:rows=sorted,sigma=16",
    "csr:run=40,idx=16,rows=sorted", "dia", "bdia", "ell", "ell:idx=16", "ell:rowmajor=1", "ell:rowmajor=1,idx=16,rows=sorted", "sell",
    "sell:h=9,idx=16", "sell:h=300", "sell:h=5,grow=0.2", "sell:h=8,rows=sorted,sigma=32", "bell:b=2x2", "bell:b=3x3,idx=16", "sbell:b=4x4",
    "sbell:h=5,b=1x8,idx=16", "bcsr:b=6x6", "bcsr:b=3x3,idx=16", "cmrs", "cmrs:h=16,sort=1", "cmrs:wide=1", "tcsr", "tcsr:tile=512",
    "tcsr:tile=512,idx=16,rows=sorted", "tcsr:idx=16", "csr:val=32", "sell:val=32", "bdia:val=8", "csr:val=1", "ell:val=8,idx=16",
    "ell:w=2+coo", "bdia:d=0.6+bcsr:b=2x2,d=0.7+csr:rows=nonempty", "hyb:rows=8"
};
enum { PLANS = sizeof plans / sizeof *plans };

static void say_nothing(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    (void)message;
}

/* Prepares a matrix; 0 if the plan does not fit it. */
static int prepare(spmv_matrix *out, const matrix *m, const char *plan, spmv_type type)
{
    spmv_desc d;
    memset(&d, 0, sizeof d);
    d.matrix = matrix_input(m, type);
    d.type = type;
    d.plan = plan;
    d.hooks.log = say_nothing;
    return spmv_create(out, &d) == SPMV_OK;
}

/* The bytes of a matrix, in a block of just that size. */
static unsigned char *save(const spmv_matrix *a, size_t *n)
{
    unsigned char *out;
    CHECK(spmv_save(a, NULL, 0, n) == SPMV_OK && *n % 64 == 0, "size");
    out = (unsigned char *)need_exact(*n);
    memset(out, 0xa5, *n); /* all are written */
    CHECK(spmv_save(a, out, *n, n) == SPMV_OK, "save");
    return out;
}

/* alpha A x + beta y for fixed vectors. */
static void *product(const spmv_matrix *a, double alpha, double beta)
{
    const spmv_type type = a->store.type;
    void *x = vector_new(type, spmv_cols(a)), *y = vector_new(type, spmv_rows(a));
    uint64_t i;
    rng_state = 77;
    for (i = 0; i < spmv_cols(a); i++) vector_set(type, x, i, rng_real());
    for (i = 0; i < spmv_rows(a); i++) vector_set(type, y, i, rng_real());
    CHECK(spmv_mul(a, alpha, x, beta, y) == SPMV_OK, "mul");
    free(x);
    return y;
}

/* Two matrices give the same bits, have the same plan and shares, and are saved as the same bytes. */
static void same(const spmv_matrix *a, const spmv_matrix *b, const char *what)
{
    static char one[SPMV_PLAN_TEXT], two[SPMV_PLAN_TEXT];
    const size_t bytes = spmv_rows(a) * spmv_vector_size(a->store.type);
    size_t i, n, k;
    unsigned char *first, *second;
    for (i = 0; i < 2; i++) {
        void *y = product(a, i ? 1.5 : 1, i ? -0.5 : 0), *z = product(b, i ? 1.5 : 1, i ? -0.5 : 0);
        CHECK(!bytes || memcmp(y, z, bytes) == 0, "%s: y differs", what);
        free(y);
        free(z);
    }
    spmv_plan_of(a, one, sizeof one);
    spmv_plan_of(b, two, sizeof two);
    CHECK(!strcmp(one, two) && spmv_bytes(a) == spmv_bytes(b) && spmv_nnz(a) == spmv_nnz(b), "%s: %s, %s", what, one, two);
    spmv_shares(a, one, sizeof one);
    spmv_shares(b, two, sizeof two);
    CHECK(!strcmp(one, two), "%s: %s, %s", what, one, two);
    first = save(a, &n);
    second = save(b, &k);
    CHECK(n == k && memcmp(first, second, n) == 0, "%s: other bytes", what);
    free(first);
    free(second);
}

/* Explicit zeros come back as well. */
static void same_csr(const spmv_matrix *a, const spmv_matrix *b, const char *what)
{
    spmv_csr c, d;
    CHECK(spmv_parts_to_csr(&c, spmv_rows(a), a->store.part, (size_t)a->store.count, NULL) == SPMV_OK, "%s", what);
    CHECK(spmv_parts_to_csr(&d, spmv_rows(b), b->store.part, (size_t)b->store.count, NULL) == SPMV_OK, "%s", what);
    CHECK(!csr_difference(&c, &d), "%s: %s", what, csr_difference(&c, &d));
    spmv_csr_destroy(&c);
    spmv_csr_destroy(&d);
}

/* Saves a matrix and makes it again in each way. */
static void round_trip(const spmv_matrix *a, const char *what)
{
    static uint64_t room[SPMV_USE_ROOM(SPMV_MAX_PARTS)];
    const size_t words = SPMV_USE_ROOM((size_t)a->store.plan_count);
    spmv_matrix b;
    spmv_desc d;
    ledger l;
    size_t n;
    unsigned char *bytes = save(a, &n);
    memset(&d, 0, sizeof d);
    d.hooks = ledger_hooks(&l);
    d.matrix.borrow = 1;
    CHECK(spmv_load(&b, bytes, n, &d) == SPMV_OK && l.live == 1, "%s: %s", what, l.text);
    same(a, &b, what);
    same_csr(a, &b, what);
    spmv_destroy(&b);
    CHECK(spmv_use(&b, bytes, n, room, words * 8, NULL) == SPMV_OK, "%s", what);
    same(a, &b, what);
    spmv_destroy(&b);
    d.hooks.resize = NULL;
    d.hooks.log = say_nothing;
    CHECK(a->store.count < a->store.plan_count || spmv_use(&b, bytes, n, room, (words - 1) * 8, &d.hooks) == SPMV_ERR_ARGUMENT, "%s", what);
    d.hooks = ledger_hooks(&l);
    d.matrix.borrow = 0;
    CHECK(spmv_load(&b, bytes, n, &d) == SPMV_OK && l.live, "%s: %s", what, l.text);
    memset(bytes, 0, n);
    free(bytes);
    same(a, &b, what);
    spmv_destroy(&b);
    CHECK(!l.live, "%s: leaks", what);
}

/* Awkward matrices by every plan above, and one by all layouts. */
Test(saved, round_trip)
{
    static const spmv_type types[] = { SPMV_F64, SPMV_F32, SPMV_MIXED };
    char what[200];
    spmv_matrix a;
    matrix m;
    size_t j, n;
    int i, f, trips = 0;
    for (i = 0; matrix_awkward(&m, i, i % 2 ? WITH_ZEROS : INTEGERS); i++, matrix_free(&m))
        for (j = 0; j < PLANS; j++) {
            const spmv_type type = types[(j + (size_t)i) % 3];
            if (m.nnz > 2000 && j % 5 != (size_t)i % 5) continue; /* some of the large ones */
            snprintf(what, sizeof what, "%s, %s, %s", m.name, plans[j], spmv_type_name(type));
            if (!prepare(&a, &m, plans[j], type)) continue;
            round_trip(&a, what);
            spmv_destroy(&a);
            trips++;
        }
    CHECK(matrix_awkward(&m, 28, WITH_ZEROS), "matrix");
    for (f = 0; f < SPMV_FORMAT_COUNT; f++) {
        const char *const *layouts;
        for (n = spmv_format_layouts((spmv_format)f, &layouts), j = 0; j < n; j++) {
            CHECK(prepare(&a, &m, layouts[j], types[j % 3]), "%s", layouts[j]);
            round_trip(&a, layouts[j]);
            spmv_destroy(&a);
        }
    }
    matrix_free(&m);
    CHECK(trips > 800, "%d trips", trips);
}

/* The transpose is a matrix to be saved as well; what a matrix was made from is not needed. */
Test(saved, both_and_csr)
{
    spmv_matrix a;
    spmv_desc d;
    spmv_csr csr;
    matrix m;
    CHECK(matrix_awkward(&m, 29, REALS), "matrix");
    csr = matrix_csr(&m, SPMV_F64);
    memset(&d, 0, sizeof d);
    d.csr = &csr;
    d.both = 1;
    d.updatable = 1;
    d.plan = "csr";
    d.plan_transposed = "ell:w=3+tcsr";
    CHECK(spmv_create(&a, &d) == SPMV_OK, "create");
    round_trip(&a, "csr");
    round_trip(spmv_transposed(&a), "transpose");
    spmv_destroy(&a);
    spmv_csr_destroy(&csr);
    matrix_free(&m);
}

#define REFUSED(status, call) CHECK((call) == (status) && l.messages == 1 && l.last == (status), "%s: %s", #call, l.text)

/* What cannot be done is refused, with one message, and leaves nothing. */
Test(saved, refusals)
{
    uint64_t room[SPMV_USE_ROOM(1)];
    unsigned char *bytes, *moved;
    spmv_matrix a, b;
    spmv_desc d;
    ledger l;
    matrix m;
    size_t n, k;
    CHECK(matrix_awkward(&m, 9, REALS) && prepare(&a, &m, "sell", SPMV_F64), "matrix");
    bytes = save(&a, &n);
    CHECK(spmv_saved_is(bytes, 8) && !spmv_saved_is(bytes, 7) && !spmv_saved_is(bytes + 1, 8) && !spmv_saved_is(NULL, 0), "magic");
    memset(&d, 0, sizeof d);
    d.hooks = ledger_hooks(&l);
    a.store.hooks = d.hooks;
    REFUSED(SPMV_ERR_ARGUMENT, spmv_save(&a, bytes, n - 1, &k));
    memset(&a.store.hooks, 0, sizeof a.store.hooks);
    ledger_hooks(&l);
    d.updatable = 1;
    REFUSED(SPMV_ERR_UNSUPPORTED, spmv_load(&b, bytes, n, &d));
    d.updatable = 0;
    ledger_hooks(&l);
    d.type = SPMV_F32;
    REFUSED(SPMV_ERR_ARGUMENT, spmv_load(&b, bytes, n, &d));
    d.type = SPMV_F64;
    for (k = 0; k < n; k += k < 3000 ? 1 : 64) {
        ledger_hooks(&l);
        REFUSED(SPMV_ERR_PARSE, spmv_load(&b, bytes, k, &d));
    }
    moved = (unsigned char *)need_exact(n + 8);
    memcpy(moved + 1, bytes, n);
    ledger_hooks(&l);
    REFUSED(SPMV_ERR_ARGUMENT, spmv_load(&b, moved + 1, n, &d));
    memcpy(moved + 8, bytes, n); /* a multiple of 8 is enough */
    ledger_hooks(&l);
    CHECK(spmv_use(&b, moved + 8, n, room, sizeof room, &d.hooks) == SPMV_OK, "%s", l.text);
    same(&a, &b, "moved");
    REFUSED(SPMV_ERR_FIXED, spmv_update(&b, m.val));
    spmv_destroy(&b);
    CHECK(!l.live && !l.calls, "memory");
    free(moved);
    free(bytes);
    spmv_destroy(&a);
    matrix_free(&m);
}

/* Every allocation fails in turn. */
Test(saved, no_memory)
{
    static const char *const some[] = { "csr:run=32,idx=16,rows=sorted", "bdia", "tcsr:tile=512", "ell:w=2+bcsr:b=2x2,d=0.4+csr" };
    size_t i, n;
    for (i = 0; i < sizeof some / sizeof *some; i++) {
        unsigned char *bytes;
        spmv_matrix a, b;
        spmv_desc d;
        spmv_status s;
        ledger l;
        matrix m;
        long at;
        CHECK(matrix_awkward(&m, 29, WITH_ZEROS) && prepare(&a, &m, some[i], SPMV_F64), "%s", some[i]);
        bytes = save(&a, &n);
        memset(&d, 0, sizeof d);
        for (at = 1, s = SPMV_ERR_MEMORY; s; at++) {
            d.hooks = ledger_hooks(&l);
            l.fail_at = at;
            s = spmv_load(&b, bytes, n, &d);
            CHECK(s == (l.calls >= at ? SPMV_ERR_MEMORY : SPMV_OK), "%s: %s", some[i], l.text);
            if (!s) spmv_destroy(&b);
            CHECK(!l.live, "%s: a block is left after the failure of %ld", some[i], at);
        }
        CHECK(at > 4, "%s", some[i]);
        free(bytes);
        spmv_destroy(&a);
        matrix_free(&m);
    }
}

/* Every byte flipped is found. */
Test(saved, flips)
{
    static uint64_t room[SPMV_USE_ROOM(SPMV_MAX_PARTS)];
    spmv_hooks quiet;
    size_t i, j, n;
    memset(&quiet, 0, sizeof quiet);
    quiet.log = say_nothing;
    for (i = 4; i < PLANS; i += 7) {
        unsigned char *bytes;
        spmv_matrix a, b;
        matrix m;
        CHECK(matrix_awkward(&m, 6, INTEGERS), "matrix");
        if (prepare(&a, &m, plans[i], SPMV_F64)) {
            bytes = save(&a, &n);
            for (j = 0; j < n; j++) {
                const unsigned char was = bytes[j];
                bytes[j] ^= (unsigned char)(1 << j % 8);
                CHECK(spmv_use(&b, bytes, n, room, sizeof room, &quiet) != SPMV_OK, "%s: byte %d", plans[i], (int)j);
                bytes[j] = (unsigned char)~was;
                CHECK(spmv_use(&b, bytes, n, room, sizeof room, &quiet) != SPMV_OK, "%s: byte %d", plans[i], (int)j);
                bytes[j] = was;
            }
            free(bytes);
            spmv_destroy(&a);
        }
        matrix_free(&m);
    }
}

/* Makes the checksum fit: that of the head, and of the checksums of up to 64 shares of the rest. */
static void seal(unsigned char *bytes, size_t n)
{
    const size_t most = (n - HEAD) / SUMMED + 1, shares = most < 64 ? most : 64, lines = (n - HEAD + 63) / 64;
    uint64_t sum[64], whole;
    size_t i;
    for (i = 0; i < shares; i++) {
        const size_t first = (lines / shares * i + lines % shares * i / shares) * 64;
        const size_t end = i + 1 < shares ? (lines / shares * (i + 1) + lines % shares * (i + 1) / shares) * 64 : n - HEAD;
        sum[i] = library_sum(i, bytes + HEAD + first, end - first);
    }
    memset(bytes + HEAD_SUM, 0, 8);
    whole = library_sum(library_sum(0, bytes, HEAD), sum, shares * 8);
    memcpy(bytes + HEAD_SUM, &whole, 8);
}

/* Changes some numbers of a saved matrix as a stranger might, and makes the checksum fit. */
static void forge(unsigned char *bytes, size_t n)
{
    static const uint64_t numbers[] = { 0, 1, 2, 31, 32, 33, 63, 64, 65, 0xffff, 0x10000, 0x7fffffff, 0x80000000u, 0xfffffffe, 0xffffffffu,
                                        (uint64_t)1 << 59, (uint64_t)1 << 60, (uint64_t)1 << 63, UINT64_MAX - 1, UINT64_MAX };
    const size_t front = n < 1600 ? n : 1600; /* the records; some of them, where there are several parts */
    uint64_t changes = 1 + rng_below(3), whole = n;
    while (changes--) {
        static const size_t widths[] = { 1, 2, 4, 4, 8 };
        const size_t width = widths[rng_below(5)], at = rng_below((rng() & 1 ? front : n) / width) * width;
        uint64_t v = 0;
        memcpy(&v, bytes + at, width);
        switch (rng_below(5)) {
        case 0: v = rng(); break;
        case 1: v = numbers[rng_below(sizeof numbers / sizeof *numbers)]; break;
        case 2: v ^= (uint64_t)1 << rng_below(8 * width); break;
        case 3: v += 1 + rng_below(3); break;
        default: v -= 1 + rng_below(3);
        }
        if (at >= HEAD_BYTES) memcpy(bytes + at, &v, width);
        else if (at >= 24) memcpy(bytes + at, &v, width < 4 ? width : 4); /* not what is refused before anything else */
    }
    if (rng_below(4)) memcpy(bytes + HEAD_BYTES, &whole, 8);
    seal(bytes, n);
}

/* Does with a matrix what a program might. x and y end where their blocks do, so that sanitizers see what is read or written behind. */
static void exercise(const spmv_matrix *a)
{
    const uint64_t rows = spmv_rows(a), cols = spmv_cols(a), count = 9;
    void *x, *y;
    spmv_csr csr;
    spmv_hooks quiet;
    static char text[SPMV_PLAN_TEXT];
    if (rows > 1u << 16 || cols > 1u << 16) return;
    memset(&quiet, 0, sizeof quiet);
    quiet.log = say_nothing;
    free(product(a, 1, 0));
    free(product(a, 0.5, 2));
    x = need(count * cols, 8);
    y = need(count * rows, 8);
    if (cols) (void)spmv_mul_many(a, count, SPMV_ONE_AFTER_ANOTHER, 1, x, 0, 0, y, 0);
    if (cols) (void)spmv_mul_many(a, count, SPMV_SIDE_BY_SIDE, 1, x, 0, 0, y, 0);
    free(x);
    free(y);
    spmv_plan_of(a, text, sizeof text);
    spmv_shares(a, text, sizeof text);
    if (spmv_parts_to_csr(&csr, rows, a->store.part, (size_t)a->store.count, &quiet) == SPMV_OK) spmv_csr_destroy(&csr);
}

/* Number w of small matrices: the last has a row that is cut into pieces in csr with runs and in tcsr. */
static void small_matrix(matrix *m, size_t w)
{
    static const uint64_t lengths[] = { 3, 0, 1300, 2, 60, 1 };
    uint64_t r;
    if (w < 2) CHECK(matrix_awkward(m, w ? 28 : 8, INTEGERS), "matrix");
    else {
        rng_state = 3;
        matrix_open(m, "cut", 6, 1400);
        for (r = 0; r < 6; r++) {
            matrix_random_row(m, lengths[r]);
            m->ptr[r + 1] = m->nnz;
        }
        matrix_close(m, INTEGERS);
    }
}

/* Forged bytes are refused, or products stay within the matrix and the vectors: with each plan, of three matrices. */
Test(saved, forged)
{
    enum { EACH = 190, MOST = 1 << 16 /* bytes */ };
    long tried = 0, taken = 0;
    size_t i, w, n;
    int k;
    for (w = 0; w < 3; w++)
        for (i = 0; i < PLANS; i++) {
            spmv_matrix a, b;
            unsigned char *bytes, *forged;
            spmv_desc d;
            matrix m;
            memset(&d, 0, sizeof d);
            d.hooks.log = say_nothing;
            d.matrix.borrow = 1;
            small_matrix(&m, w);
            if (!prepare(&a, &m, plans[i], i % 3 ? SPMV_F64 : SPMV_F32)) {
                matrix_free(&m);
                continue;
            }
            bytes = save(&a, &n);
            rng_state = i * 3 + w + 1;
            for (k = 0; k < EACH && n <= MOST; k++) {
                const uint64_t state = rng_state;
                forged = (unsigned char *)need_exact(n);
                memcpy(forged, bytes, n);
                forge(forged, n);
                d.simd = k % 2 ? SPMV_SIMD_PLAIN : SPMV_SIMD_BEST;
                tried++;
                if (spmv_load(&b, forged, n, &d) == SPMV_OK) {
                    exercise(&b);
                    spmv_destroy(&b);
                    taken++;
                }
                free(forged);
                rng_state = state * 6364136223846793005u + 1442695040888963407u;
            }
            free(bytes);
            spmv_destroy(&a);
            matrix_free(&m);
        }
    CHECK(tried > 20000 && taken > tried / 10 && taken < tried * 9 / 10, "%ld of %ld taken", taken, tried);
}
