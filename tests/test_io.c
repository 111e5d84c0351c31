/* SPDX-License-Identifier: MIT
 *
 * spmv_io.h: numbers compared with the C library; Matrix Market files that must be read or refused, also with short reads and failing
 * allocations; damaged files of the binary form; round trips.
 */
#define SPMV_IMPLEMENTATION
#include "spmv_io.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- hooks that count memory and keep the last message ----------------------------------------------------------- */
typedef struct io_ledger {
    size_t live, largest; /* bytes */
    long calls, fail_at;  /* the number of the call that fails, from 1; 0: none fails */
    int forever;          /* 1: all calls after it fail as well */
    int messages;
    spmv_status status;
    char text[512];
} io_ledger;

static void *io_resize(void *user, void *block, size_t bytes)
{
    io_ledger *l = (io_ledger *)user;
    size_t *base = block ? (size_t *)block - 2 : NULL, *fresh;
    if (bytes == 0) {
        if (base) l->live -= base[0];
        free(base);
        return NULL;
    }
    l->calls++;
    if (l->fail_at && (l->calls == l->fail_at || (l->forever && l->calls > l->fail_at))) return NULL;
    if (bytes > l->largest) l->largest = bytes;
    if (bytes > (size_t)1 << 30) return NULL;
    fresh = (size_t *)malloc(bytes + 2 * sizeof *fresh);
    if (!fresh) return NULL;
    if (base) {
        memcpy(fresh + 2, base + 2, base[0] < bytes ? base[0] : bytes);
        l->live -= base[0];
        free(base);
    }
    fresh[0] = bytes;
    l->live += bytes;
    return fresh + 2;
}

static void io_log(void *user, spmv_status s, const char *message)
{
    io_ledger *l = (io_ledger *)user;
    l->messages++;
    l->status = s;
    snprintf(l->text, sizeof l->text, "%s", message);
}

static spmv_hooks io_hooks(io_ledger *l)
{
    spmv_hooks h = {l, io_resize, io_log, NULL, 0, 0};
    memset(l, 0, sizeof *l);
    return h;
}

/* ---- sources and sinks ------------------------------------------------------------------------------------------- */
typedef struct io_drip {
    const char *data;
    size_t bytes, at, piece;
    size_t fail; /* fails after this many bytes; SIZE_MAX: never */
} io_drip;

static size_t io_drip_read(void *user, void *buffer, size_t bytes)
{
    io_drip *d = (io_drip *)user;
    size_t n = d->bytes - d->at;
    if (d->at >= d->fail) return SPMV_READ_FAILED;
    if (n > d->fail - d->at) n = d->fail - d->at;
    if (n > bytes) n = bytes;
    if (d->piece && n > d->piece) n = d->piece;
    memcpy(buffer, d->data + d->at, n);
    d->at += n;
    return n;
}

static spmv_source io_drip_source(io_drip *d, const void *data, size_t bytes, size_t piece)
{
    spmv_source s = {d, io_drip_read, "drip", 0};
    d->data = (const char *)data;
    d->bytes = bytes;
    d->at = 0;
    d->piece = piece;
    d->fail = SIZE_MAX;
    return s;
}

typedef struct io_heap {
    char *data;
    size_t bytes, room;
    long calls, fail_at;
} io_heap;

static size_t io_heap_write(void *user, const void *data, size_t bytes)
{
    io_heap *h = (io_heap *)user;
    if (++h->calls == h->fail_at) return bytes / 2;
    if (h->bytes + bytes > h->room) {
        h->room = (h->bytes + bytes) * 2;
        h->data = (char *)realloc(h->data, h->room);
    }
    memcpy(h->data + h->bytes, data, bytes);
    h->bytes += bytes;
    return bytes;
}

static spmv_sink io_heap_sink(io_heap *h)
{
    spmv_sink s = {h, io_heap_write, "heap"};
    memset(h, 0, sizeof *h);
    return s;
}

static int io_same(const spmv_csr *a, const spmv_csr *b)
{
    return a->rows == b->rows && a->cols == b->cols && a->nnz == b->nnz && a->type == b->type &&
           memcmp(a->ptr, b->ptr, (size_t)(a->rows + 1) * 8) == 0 &&
           (a->nnz == 0 || (memcmp(a->col, b->col, (size_t)a->nnz * 4) == 0 &&
                            memcmp(a->val, b->val, (size_t)a->nnz * spmv_value_size(a->type)) == 0));
}

static uint64_t io_state = 88172645463325252u;
static uint64_t io_random(void)
{
    io_state ^= io_state << 13;
    io_state ^= io_state >> 7;
    return io_state ^= io_state << 17;
}

static double io_from_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */
static long io_number_wrong; /* each test runs in a process of its own */

static void io_number_check(const char *text)
{
    double ours = -1, theirs = strtod(text, NULL);
    int ok = spmv_number_from(text, &ours) && memcmp(&ours, &theirs, sizeof ours) == 0;
    if (!ok && io_number_wrong++ < 10) cr_log_error("%.60s: %.17g, strtod says %.17g", text, ours, theirs);
}

Test(io, numbers_equal_strtod_on_random_text)
{
    char text[128];
    long i, count = 0;
    for (i = 0; i < 100000; i++) {
        double d = io_from_bits(io_random());
        if (d != d) continue;
        snprintf(text, sizeof text, "%.*e", (int)(io_random() % 22), d);
        io_number_check(text);
        snprintf(text, sizeof text, "%llu.%llue%d", (unsigned long long)(io_random() >> (io_random() % 64)),
                 (unsigned long long)(io_random() >> (io_random() % 64)), (int)(io_random() % 700) - 350);
        io_number_check(text);
        snprintf(text, sizeof text, "%s%llue%d", io_random() % 2 ? "-" : "+",
                 (unsigned long long)(io_random() >> (io_random() % 64)), (int)(io_random() % 60) - 30);
        io_number_check(text);
        count += 3;
    }
    cr_assert_geq(count, 290000);
    cr_assert_eq(io_number_wrong, 0);
}

/* The decimal halfway between two doubles has up to 768 digits; a change in its last digit, or another digit far to the right, decides
 * the rounding. glibc prints long doubles exactly, and those with 64 bits hold the halfway value. Elsewhere that value is rounded, and
 * the text is an easier case. */
Test(io, numbers_equal_strtod_on_halfway_cases)
{
    static char text[4096];
    long i, count = 0;
    for (i = 0; i < 4000; i++) {
        uint64_t bits = io_random() >> 1;
        double low, high;
        char tail[16], *e;
        if (i % 3 == 0) bits &= ((uint64_t)1 << 52) - 1; /* subnormal */
        if (i % 5 == 0) bits = (bits & (((uint64_t)1 << 52) - 1)) | (1023 + io_random() % 60) << 52;
        low = io_from_bits(bits);
        high = io_from_bits(bits + 1);
        if (!(high < 1e308)) continue;
        snprintf(text, sizeof text - 64, "%.800Le", ((long double)low + (long double)high) / 2);
        io_number_check(text);
        e = strchr(text, 'e');
        snprintf(tail, sizeof tail, "%s", e);
        strcpy(e, "000000001");
        strcat(e, tail);
        io_number_check(text);
        for (e = strchr(text, 'e') - 10; *e == '0' || *e == '.'; e--) { }
        --*e;
        io_number_check(text);
        count += 3;
    }
    cr_assert_geq(count, 10000);
    cr_assert_eq(io_number_wrong, 0);
}

Test(io, numbers_equal_strtod_on_chosen_text)
{
    static const char *const text[] = {
        "0", "-0", "+0", "0.0", "-0.0e99", "0e999999999999999999999", "1", ".5", "5.", "-.5e1", "00001", "1e0", "1E+0",
        "9007199254740992", "9007199254740993", "9007199254740993.0000000000000000000000000000000000001",
        "9007199254740995", "18014398509481989", "18446744073709551615", "18446744073709551616", "18446744073709551617",
        "1234567890123456789012", "9999999999999999999999", "100000000000000000000000000000000000000000000",
        "1.7976931348623157e308", "1.7976931348623158e308", "1.7976931348623159e308", "1.8e308", "-1e309", "1e400",
        "1797693134862315807937289714053034150799341327100378269361737789804449682927647509466490179775872070963302864"
        "1669288791094655554785194040263065748867150582068190890200070838367627385484581771153176447573027006985557136"
        "6959622842914819860834936475292719074168444365510704342711559699508093042880",
        "2.2250738585072014e-308", "2.2250738585072011e-308", "2.2250738585072012e-308", "4.9406564584124654e-324",
        "2.4703282292062327e-324", "2.4703282292062328e-324", "2.47032822920623272e-324", "2.47032822920623273e-324",
        "7.4109846876186981e-324", "1e-323", "1e-324", "1e-325", "1e-400", "123456789e-333", "1e-2147483648",
        "1e2147483648", "1e-9223372036854775808", "1e9223372036854775807", "1e18446744073709551616",
        "1e-18446744073709551617", "0.000000000000000000000000000000000000000000000000000000000000000000000001e72",
        "1000000000000000000000000000000000000000000000000000000000000000000000000000000000000e-84",
        "6929495644600919.5", "3.7455744005952583e15", "8.511030020275656e-63", "2.0919495182368195e19", "1e22", "1e23",
        "8.41e+21", "3.1415926535897932384626433832795028841971", "2.718281828459045e-05", "0.1", "0.2", "0.3", "1e-5",
        "nan", "NaN", "-nan", "inf", "-INF", "+Infinity", "infINITY"
    };
    static char text_long[120000];
    size_t i;
    for (i = 0; i < sizeof text / sizeof text[0]; i++) io_number_check(text[i]);
    memset(text_long, '0', sizeof text_long);
    text_long[0] = '1';
    memcpy(text_long + 100000, "e-100000", 9); /* 1, written long */
    io_number_check(text_long);
    memset(text_long, '9', 100000);
    io_number_check(text_long);
    memset(text_long, '0', 100000);
    text_long[1] = '.';
    text_long[99999] = '7';
    memcpy(text_long + 100000, "e+99990", 8);
    io_number_check(text_long);
    cr_assert_eq(io_number_wrong, 0);
}

Test(io, numbers_with_d_exponents)
{
    static const char *const text[] = {"1d0", "1.5D+05", "-2.5d-3", "1D308", "4.9406564584124654D-324"};
    size_t i;
    for (i = 0; i < sizeof text / sizeof text[0]; i++) {
        char e[64];
        double ours = 0, theirs;
        snprintf(e, sizeof e, "%s", text[i]);
        e[strcspn(e, "dD")] = 'e';
        theirs = strtod(e, NULL);
        cr_assert(spmv_number_from(text[i], &ours), "%s", text[i]);
        cr_assert_eq(memcmp(&ours, &theirs, sizeof ours), 0, "%s", text[i]);
    }
}

Test(io, texts_that_are_no_numbers)
{
    static const char *const text[] = {
        "", " ", " 1", "1 ", "+", "-", ".", "e5", "1e", "1e+", "1d-", "+-1", "--1", "1,5", "1.5.2", "0x1F", "0x", "1f",
        "1e5.0", "1e5e5", "nanx", "nan(1)", "in", "infi", "infinit", "infinityx", "1_000", "1'000", "\xc2\xbd", "1\n",
        "- 1", "1e 5", "ten", "NA", "null", "1.#INF", "1+5", "1.0q0"
    };
    size_t i;
    for (i = 0; i < sizeof text / sizeof text[0]; i++) {
        double v = 42;
        cr_assert_not(spmv_number_from(text[i], &v), "'%s' was read as %g", text[i], v);
        cr_assert_eq(v, 42);
    }
}

Test(io, number_text_is_correctly_rounded_and_reads_back)
{
    char ours[SPMV__NUMBER_TEXT], theirs[64];
    long i, wrong = 0;
    for (i = 0; i < 100000; i++) {
        double d = io_from_bits(io_random()), back = 0;
        int digits = 1 + (int)(io_random() % 17);
        size_t length = spmv__number_text(ours, d, 17);
        if (i % 4 == 0) d = (double)(io_random() >> (io_random() % 64)) / (double)((uint64_t)1 << (io_random() % 20));
        if (d != d) continue;
        length = spmv__number_text(ours, d, 17);
        wrong += length != strlen(ours) || length >= SPMV__NUMBER_TEXT;
        wrong += !spmv_number_from(ours, &back) || memcmp(&back, &d, sizeof d) != 0;
        spmv__number_text(ours, d, digits);
        snprintf(theirs, sizeof theirs, "%.*e", digits - 1, d);
        wrong += strtod(ours, NULL) != strtod(theirs, NULL);
        wrong += strspn(ours, "-0123456789.e+inf") != strlen(ours);
    }
    cr_assert_eq(wrong, 0);
}

Test(io, number_text_of_chosen_values)
{
    static const struct { double v; int digits; const char *text; } want[] = {
        {0, 17, "0"}, {-0.0, 17, "-0"}, {1, 17, "1"}, {-1, 17, "-1"}, {10, 17, "10"}, {123456, 17, "123456"},
        {0.5, 17, "0.5"}, {-2.25, 17, "-2.25"}, {0.1, 17, "0.10000000000000001"}, {100, 1, "1e+2"}, {99.5, 2, "1e+2"},
        {9.5, 1, "1e+1"}, {2.5, 1, "2"}, {3.5, 1, "4"}, {0.25, 1, "0.2"}, {0.0625, 17, "0.0625"},
        {9007199254740992.0, 17, "9007199254740992"}, {1e16, 17, "10000000000000000"}, {1e17, 17, "1e+17"},
        {1e22, 17, "1e+22"}, {1.5e300, 3, "1.5e+300"}, {0.001, 3, "0.001"}, {0.0001, 3, "0.0001"},
        {0.00001, 3, "1e-5"}, {5e-324, 17, "4.9406564584124654e-324"}, {1.7976931348623157e308, 17,
        "1.7976931348623157e+308"}, {(double)0.1f, 9, "0.100000001"}, {(double)16777216.0f, 9, "16777216"},
        {1073741824.0, 9, "1.07374182e+9"}
    };
    char text[SPMV__NUMBER_TEXT];
    size_t i;
    for (i = 0; i < sizeof want / sizeof want[0]; i++) {
        size_t length = spmv__number_text(text, want[i].v, want[i].digits);
        cr_assert_str_eq(text, want[i].text);
        cr_assert_eq(length, strlen(text));
    }
    spmv__number_text(text, (double)INFINITY, 17);
    cr_assert_str_eq(text, "inf");
    spmv__number_text(text, -(double)INFINITY, 17);
    cr_assert_str_eq(text, "-inf");
    spmv__number_text(text, io_from_bits(0x7ff8000000000000u), 17);
    cr_assert_str_eq(text, "nan");
    spmv__number_text(text, io_from_bits(0xfff8000000000000u), 17);
    cr_assert_str_eq(text, "-nan");
}

Test(io, locale_changes_nothing)
{
    static const char *const name[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "fr_FR.utf8", "fr_FR"};
    static const char file[] = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1.5\n";
    char text[SPMV__NUMBER_TEXT];
    double v = 0;
    spmv_csr a;
    size_t i;
    for (i = 0; i < sizeof name / sizeof name[0] && !setlocale(LC_ALL, name[i]); i++) { }
    if (i == sizeof name / sizeof name[0]) cr_skip_test("no locale with a decimal comma is installed");
    cr_assert_str_eq(localeconv()->decimal_point, ",");
    cr_assert(spmv_number_from("1.5", &v));
    cr_assert_eq(v, 1.5);
    cr_assert_not(spmv_number_from("1,5", &v));
    spmv__number_text(text, 0.5, 17);
    cr_assert_str_eq(text, "0.5");
    cr_assert_eq(spmv_mm_read_memory(&a, file, sizeof file - 1, NULL, NULL, NULL, NULL), SPMV_OK);
    cr_assert_eq(((const double *)a.val)[0], 1.5);
    spmv_csr_destroy(&a);
}

/* ---- Matrix Market: files that must be read ---------------------------------------------------------------------- */
#define IO_BANNER "%%MatrixMarket matrix "
#define IO_REAL IO_BANNER "coordinate real general\n"
#define IO_INT IO_BANNER "coordinate integer general\n"
#define IO_PAT IO_BANNER "coordinate pattern general\n"
#define IO_SYM IO_BANNER "coordinate real symmetric\n"
#define IO_SKEW IO_BANNER "coordinate real skew-symmetric\n"
#define IO_ARRAY IO_BANNER "array real general\n"

typedef struct io_good {
    const char *text;
    uint64_t rows, cols, nnz;
    struct { unsigned row, col; double v; } e[6]; /* indices from 0, row by row */
} io_good;

static const io_good io_goods[] = {
    {IO_REAL "2 2 2\n1 1 1.5\n2 2 -2\n", 2, 2, 2, {{0, 0, 1.5}, {1, 1, -2}}},
    {IO_REAL "2 2 2\n1 1 1.5\n2 2 -2", 2, 2, 2, {{0, 0, 1.5}, {1, 1, -2}}},
    {"%%MatrixMarket matrix coordinate real general\r\n2 2 2\r\n1 1 1.5\r\n2 2 -2\r\n", 2, 2, 2,
     {{0, 0, 1.5}, {1, 1, -2}}},
    {"%%MatrixMarket matrix coordinate real general\r\n% c\r\n\r\n2 2 2\r\n\r\n1 1 1.5\r\n2 2 -2\r", 2, 2, 2,
     {{0, 0, 1.5}, {1, 1, -2}}},
    {"%%matrixmarket MATRIX Coordinate REAL gEnErAl\n1 1 1\n1 1 7\n", 1, 1, 1, {{0, 0, 7}}},
    {"%%MATRIXMARKET\tmatrix \t coordinate  real  general \t\n1 1 1\n1 1 7\n", 1, 1, 1, {{0, 0, 7}}},
    {"\xef\xbb\xbf%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 7\n", 1, 1, 1, {{0, 0, 7}}},
    {IO_REAL "% one\n%two\n%\n%%\n  % indented\n1 2 1\n% before\n1 2 3\n% after\n", 1, 2, 1, {{0, 1, 3}}},
    {IO_REAL "1 2 1 % sizes\n1 2 3 % entry\n", 1, 2, 1, {{0, 1, 3}}},
    {IO_REAL "1 2 1%sizes\n1 2 3%entry", 1, 2, 1, {{0, 1, 3}}},
    {IO_REAL "\n\n \n\t\n1 2 1\n\n \t \n1 2 3\n\n\n \n", 1, 2, 1, {{0, 1, 3}}},
    {IO_REAL "   1\t2   1  \n\t1 \t 2\t\t3\t\n", 1, 2, 1, {{0, 1, 3}}},
    {IO_REAL "3 4 0\n", 3, 4, 0, {{0, 0, 0}}},
    {IO_REAL "3 4 0", 3, 4, 0, {{0, 0, 0}}},
    {IO_REAL "0 0 0\n", 0, 0, 0, {{0, 0, 0}}},
    {IO_REAL "0 5 0\n", 0, 5, 0, {{0, 0, 0}}},
    {IO_REAL "5 0 0\n", 5, 0, 0, {{0, 0, 0}}},
    {IO_REAL "65537 3 1\n65537 3 2\n", 65537, 3, 1, {{65536, 2, 2}}},
    {IO_REAL "3 65537 1\n3 65537 2\n", 3, 65537, 1, {{2, 65536, 2}}},
    {IO_REAL "1048576 1048576 1\n1048576 1 2\n", 1048576, 1048576, 1, {{1048575, 0, 2}}},
    {IO_REAL "2 2 3\n2 2 4\n1 2 3\n1 1 1\n", 2, 2, 3, {{0, 0, 1}, {0, 1, 3}, {1, 1, 4}}},
    {IO_REAL "2 2 4\n1 1 1\n2 1 5\n1 1 2\n1 1 4\n", 2, 2, 2, {{0, 0, 7}, {1, 0, 5}}},
    {IO_REAL "1 1 3\n1 1 1e16\n1 1 1\n1 1 -1e16\n", 1, 1, 1, {{0, 0, 0}}},
    {IO_REAL "2 2 2\n1 1 0\n2 1 -0.0\n", 2, 2, 2, {{0, 0, 0}, {1, 0, -0.0}}},
    {IO_REAL "1 6 6\n1 1 1d3\n1 2 1D-3\n1 3 .5E1\n1 4 5.\n1 5 +2e+0\n1 6 1E-400\n", 1, 6, 6,
     {{0, 0, 1000}, {0, 1, 0.001}, {0, 2, 5}, {0, 3, 5}, {0, 4, 2}, {0, 5, 0}}},
    {IO_REAL "1 4 4\n1 1 inf\n1 2 -Infinity\n1 3 1e999\n1 4 -1E+999\n", 1, 4, 4,
     {{0, 0, (double)INFINITY}, {0, 1, -(double)INFINITY}, {0, 2, (double)INFINITY}, {0, 3, -(double)INFINITY}}},
    {IO_REAL "1 2 2\n1 1 5e-324\n1 2 2.2250738585072011e-308\n", 1, 2, 2, {{0, 0, 5e-324},
     {0, 1, 2.2250738585072011e-308}}},
    {IO_REAL "1 1 1\n1 1 0.1000000000000000055511151231257827021181583404541015625\n", 1, 1, 1, {{0, 0, 0.1}}},
    {IO_REAL "0002 002 01\n0000000000000000000000002 001 007\n", 2, 2, 1, {{1, 0, 7}}},
    {IO_INT "1 3 3\n1 1 5\n1 2 -12\n1 3 +7\n", 1, 3, 3, {{0, 0, 5}, {0, 1, -12}, {0, 2, 7}}},
    {IO_INT "1 3 3\n1 1 9007199254740993\n1 2 18446744073709551616\n1 3 1234567890123456789012\n", 1, 3, 3,
     {{0, 0, 9007199254740992.0}, {0, 1, 18446744073709551616.0}, {0, 2, 1234567890123456789012.0}}},
    {IO_PAT "2 3 3\n1 1\n2 3\n2 1\n", 2, 3, 3, {{0, 0, 1}, {1, 0, 1}, {1, 2, 1}}},
    {IO_PAT "2 3 3\n1 1\n1 1\n1 1\n", 2, 3, 1, {{0, 0, 3}}},
    {IO_PAT "2 2 1\n1 2", 2, 2, 1, {{0, 1, 1}}},
    {IO_SYM "3 3 3\n1 1 1\n2 1 2\n3 2 3\n", 3, 3, 5, {{0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {1, 2, 3}, {2, 1, 3}}},
    {IO_SYM "3 3 3\n3 2 3\n2 1 2\n1 1 1\n", 3, 3, 5, {{0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {1, 2, 3}, {2, 1, 3}}},
    {IO_SYM "2 2 3\n2 1 2\n2 2 1\n2 1 0.5\n", 2, 2, 3, {{0, 1, 2.5}, {1, 0, 2.5}, {1, 1, 1}}},
    {IO_SYM "0 0 0\n", 0, 0, 0, {{0, 0, 0}}},
    {IO_SYM "1 1 1\n1 1 4\n", 1, 1, 1, {{0, 0, 4}}},
    {IO_SKEW "3 3 2\n2 1 2\n3 1 -3\n", 3, 3, 4, {{0, 1, -2}, {0, 2, 3}, {1, 0, 2}, {2, 0, -3}}},
    {IO_SKEW "2 2 1\n2 1 0\n", 2, 2, 2, {{0, 1, -0.0}, {1, 0, 0}}},
    {IO_BANNER "coordinate pattern symmetric\n3 3 2\n1 1\n3 1\n", 3, 3, 3, {{0, 0, 1}, {0, 2, 1}, {2, 0, 1}}},
    {IO_BANNER "coordinate integer symmetric\n2 2 1\n2 1 -4\n", 2, 2, 2, {{0, 1, -4}, {1, 0, -4}}},
    {IO_BANNER "coordinate integer skew-symmetric\n2 2 1\n2 1 -4\n", 2, 2, 2, {{0, 1, 4}, {1, 0, -4}}},
    {IO_ARRAY "2 3\n1\n2\n3\n4\n5\n6\n", 2, 3, 6, {{0, 0, 1}, {0, 1, 3}, {0, 2, 5}, {1, 0, 2}, {1, 1, 4}, {1, 2, 6}}},
    {IO_ARRAY "2 2\n0\n2\n-0\n0.0e5\n", 2, 2, 1, {{1, 0, 2}}},
    {IO_ARRAY "3 1\n% c\n1\n\n2 % d\n3", 3, 1, 3, {{0, 0, 1}, {1, 0, 2}, {2, 0, 3}}},
    {IO_ARRAY "0 5\n", 0, 5, 0, {{0, 0, 0}}},
    {IO_ARRAY "5 0", 5, 0, 0, {{0, 0, 0}}},
    {IO_BANNER "array integer general\n1 2\n-3\n4\n", 1, 2, 2, {{0, 0, -3}, {0, 1, 4}}},
    {IO_BANNER "array real symmetric\n2 2\n1\n2\n3\n", 2, 2, 4, {{0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {1, 1, 3}}},
    {IO_BANNER "array real symmetric\n0 0\n", 0, 0, 0, {{0, 0, 0}}},
    {IO_BANNER "array real skew-symmetric\n3 3\n1\n2\n3\n", 3, 3, 6,
     {{0, 1, -1}, {0, 2, -2}, {1, 0, 1}, {1, 2, -3}, {2, 0, 2}, {2, 1, 3}}},
    {IO_BANNER "array real skew-symmetric\n1 1\n", 1, 1, 0, {{0, 0, 0}}},
    {IO_BANNER "array integer skew-symmetric\n2 2\n5\n", 2, 2, 2, {{0, 1, -5}, {1, 0, 5}}}
};
enum { IO_GOODS = sizeof io_goods / sizeof io_goods[0] };

/* 1 if a is the matrix that g describes, bit for bit. */
static int io_is(const spmv_csr *a, const io_good *g)
{
    uint64_t r, i;
    int ok = a->rows == g->rows && a->cols == g->cols && a->nnz == g->nnz && a->type == SPMV_F64 && a->ptr[0] == 0 &&
             a->ptr[a->rows] == a->nnz;
    for (r = 0; ok && r < a->rows; r++) {
        for (i = a->ptr[r]; ok && i < a->ptr[r + 1]; i++) {
            ok = g->e[i].row == r && g->e[i].col == a->col[i] &&
                 memcmp(&g->e[i].v, (const double *)a->val + i, sizeof(double)) == 0;
        }
    }
    return ok;
}

/* 1 if the text ends within its last number. */
static int io_may_be_cut(const char *text)
{
    const char *last = strrchr(text, '\n') + 1;
    size_t n = strlen(last);
    return n && !strchr(last, '%') && strchr(" \t\r", last[n - 1]) == NULL;
}

Test(io, good_files_give_the_exact_matrix)
{
    size_t i;
    cr_assert_geq(IO_GOODS, 40);
    for (i = 0; i < IO_GOODS; i++) {
        io_ledger l;
        spmv_hooks h = io_hooks(&l);
        spmv_csr a;
        spmv_status s = spmv_mm_read_memory(&a, io_goods[i].text, strlen(io_goods[i].text), "f", NULL, NULL, &h);
        cr_assert_eq(s, SPMV_OK, "%d: %s", (int)i, l.text);
        cr_assert_eq(l.messages, io_may_be_cut(io_goods[i].text), "%d: %s", (int)i, l.text);
        cr_assert_eq(l.status, SPMV_OK);
        cr_assert(io_is(&a, &io_goods[i]), "%d: %s", (int)i, io_goods[i].text);
        spmv_csr_destroy(&a);
        cr_assert_eq(l.live, 0);
    }
}

/* The matrix is the same for pieces of any size from the source, and with the length of the file known or unknown. */
Test(io, short_reads_change_nothing)
{
    static const size_t piece[] = {1, 2, 3, 7, 64};
    size_t i, k;
    for (i = 0; i < IO_GOODS; i++) {
        for (k = 0; k < 2 * sizeof piece / sizeof piece[0]; k++) {
            io_drip d;
            spmv_source src = io_drip_source(&d, io_goods[i].text, strlen(io_goods[i].text), piece[k / 2]);
            io_ledger l;
            spmv_hooks h = io_hooks(&l);
            spmv_csr a;
            if (k % 2) src.bytes = d.bytes;
            cr_assert_eq(spmv_mm_read(&a, &src, NULL, NULL, &h), SPMV_OK, "%d", (int)i);
            cr_assert_eq(l.messages, io_may_be_cut(io_goods[i].text));
            cr_assert(io_is(&a, &io_goods[i]), "%d", (int)i);
            spmv_csr_destroy(&a);
        }
    }
}

Test(io, a_failing_source_is_an_io_error_wherever_it_fails)
{
    static const char file[] = IO_SYM "3 3 3\n1 1 1\n2 1 2\n3 2 3\n";
    size_t at;
    for (at = 0; at < sizeof file; at++) {
        io_ledger l;
        spmv_hooks h = io_hooks(&l);
        io_drip d;
        spmv_source src = io_drip_source(&d, file, sizeof file - 1, 5);
        spmv_csr a;
        d.fail = at;
        cr_assert_eq(spmv_mm_read(&a, &src, NULL, NULL, &h), SPMV_ERR_IO, "%d", (int)at);
        cr_assert_eq(l.status, SPMV_ERR_IO);
        cr_assert_not_null(strstr(l.text, "drip"));
        cr_assert_eq(l.live, 0);
        cr_assert_null(a.ptr);
    }
}

Test(io, nan_is_read_and_keeps_its_sign)
{
    static const char file[] = IO_REAL "1 3 3\n1 1 nan\n1 2 -NaN\n1 3 +NAN\n";
    const double *v;
    spmv_csr a;
    cr_assert_eq(spmv_mm_read_memory(&a, file, sizeof file - 1, NULL, NULL, NULL, NULL), SPMV_OK);
    v = (const double *)a.val;
    cr_assert(isnan(v[0]) && isnan(v[1]) && isnan(v[2]));
    cr_assert(!signbit(v[0]) && signbit(v[1]) && !signbit(v[2]));
    spmv_csr_destroy(&a);
}

/* A file of size bytes: head, then filler, then tail. The caller frees it. */
static char *io_filled(const char *head, char filler, size_t size, const char *tail)
{
    char *file = (char *)malloc(size);
    cr_assert_not_null(file);
    memset(file, filler, size);
    memcpy(file, head, strlen(head));
    memcpy(file + size - strlen(tail), tail, strlen(tail));
    return file;
}

enum { IO_LINE = 65536 }; /* bytes of the longest line, its line feed included */

/* A line of the greatest length is read and a longer one refused, whatever its bytes are and whether it has a line feed. */
Test(io, lines_are_read_up_to_a_limit)
{
    static const struct { const char *head; char filler; const char *tail; unsigned line; } kind[] = {
        {IO_REAL "1 1 1\n1 1 ", '0', "7\n", 3}, {IO_REAL "1 1 1\n1 1 ", ' ', "7\n", 3},
        {IO_REAL "1 1 1\n1 1 7", '\t', "\n", 3}, {IO_REAL "1 1 1\n", ' ', "1 1 7", 3},
        {IO_REAL "1", ' ', " 1 1\n1 1 7\n", 2}, {IO_REAL "1 1 1\n1 1 7\n", ' ', "\n", 4},
        {"%%MatrixMarket matrix coordinate real general", ' ', "\n1 1 1\n1 1 7\n", 1}
    };
    static const size_t piece[] = {0, 1000, 1};
    size_t i, k, longer;
    for (i = 0; i < sizeof kind / sizeof kind[0]; i++) for (k = 0; k < 3; k++) for (longer = 0; longer < 2; longer++) {
        const char *before = strrchr(kind[i].head, '\n'), *after = strchr(kind[i].tail, '\n');
        size_t rest = (before ? (size_t)(before + 1 - kind[i].head) : 0) + (after ? strlen(after + 1) : 0);
        size_t size = rest + IO_LINE + longer - !after; /* a missing line feed is counted as well */
        char *file = io_filled(kind[i].head, kind[i].filler, size, kind[i].tail), place[80];
        io_ledger l;
        spmv_hooks h = io_hooks(&l);
        io_drip d;
        spmv_source src;
        spmv_csr a;
        spmv_status s;
        src = io_drip_source(&d, file, size, piece[k]);
        s = spmv_mm_read(&a, &src, NULL, NULL, &h);
        cr_assert_eq(s, longer ? SPMV_ERR_PARSE : SPMV_OK, "%d, longer %d: %s", (int)i, (int)longer, l.text);
        snprintf(place, sizeof place, "drip:%u: expected a line of at most 65536 bytes, found a longer", kind[i].line);
        if (longer) cr_assert_eq(strncmp(l.text, place, strlen(place)), 0, "%s", l.text);
        else cr_assert_eq(((const double *)a.val)[0], 7);
        cr_assert_leq(l.largest, IO_LINE + 1 + 1024 * sizeof(double));
        spmv_csr_destroy(&a);
        cr_assert_eq(l.live, 0);
        free(file);
    }
}

/* A reader's memory does not grow with lines that it skips or refuses. */
Test(io, comments_and_refused_lines_take_no_memory)
{
    static const struct { const char *head; char filler; const char *tail; spmv_status s; unsigned line; } kind[] = {
        {IO_REAL "%", 'x', "\n1 1 1\n1 1 7\n", SPMV_OK, 0}, {IO_REAL "%", '%', "\n1 1 1\n1 1 7\n", SPMV_OK, 0},
        {IO_REAL "1 1 1 %", 'x', "\n1 1 7\n", SPMV_OK, 0}, {IO_REAL "1 1 1\n1 1 7%", 0, "\n%\n", SPMV_OK, 0},
        {IO_REAL "1 1 1\n1 1 7\n %", '\r', "\r\n", SPMV_OK, 0}, {IO_REAL "1 1 1\n1 1 7%", 'x', "x", SPMV_OK, 0},
        {"%%MatrixMarket matrix coordinate real general %", 'x', "\n1 1 1\n1 1 7\n", SPMV_OK, 0},
        {"\xef\xbb\xbf%%MatrixMarket matrix coordinate real general %", ' ', "\n1 1 1\n1 1 7\n", SPMV_OK, 0},
        {IO_REAL, '\n', "1 1 1\n1 1 7\n", SPMV_OK, 0},
        {"", 0, "", SPMV_ERR_PARSE, 1}, {"", '\n', "", SPMV_ERR_PARSE, 1}, {"%%", '%', "%", SPMV_ERR_PARSE, 1},
        {IO_REAL, 'x', "x", SPMV_ERR_PARSE, 2}, {IO_REAL "1 1 1\n1 1 ", '1', "", SPMV_ERR_PARSE, 3},
        {IO_REAL "2 1 2\n1 1 7 %", 'x', "\n1 2 7\n", SPMV_ERR_INDEX, 4}
    };
    static const size_t sizes[] = {200000, 3000000}, piece[] = {0, 4093};
    size_t i, k, n;
    int known;
    for (i = 0; i < sizeof kind / sizeof kind[0]; i++) for (n = 0; n < 2; n++) {
        char *file = io_filled(kind[i].head, kind[i].filler, sizes[n], kind[i].tail), place[64];
        snprintf(place, sizeof place, "drip:%u:", kind[i].line);
        for (k = 0; k < 2; k++) for (known = 0; known < 2; known++) {
            io_ledger l;
            spmv_hooks h = io_hooks(&l);
            io_drip d;
            spmv_source src = io_drip_source(&d, file, sizes[n], piece[k]);
            spmv_csr a;
            if (known) src.bytes = sizes[n];
            cr_assert_eq(spmv_mm_read(&a, &src, NULL, NULL, &h), kind[i].s, "%d: %s", (int)i, l.text);
            cr_assert_eq(l.messages, kind[i].s != SPMV_OK, "%d: %s", (int)i, l.text);
            if (kind[i].s) cr_assert_eq(strncmp(l.text, place, strlen(place)), 0, "%d: %s", (int)i, l.text);
            else cr_assert(a.nnz == 1 && ((const double *)a.val)[0] == 7, "%d", (int)i);
            cr_assert_leq(l.largest, IO_LINE + 1 + 1024 * sizeof(double), "%d: %d bytes", (int)i, (int)l.largest);
            spmv_csr_destroy(&a);
            cr_assert_eq(l.live, 0);
        }
        free(file);
    }
}

/* A file cut anywhere is refused, or read with the warning that it may be cut off, or lacks only blanks, comments and line ends. */
Test(io, no_cut_file_is_taken_silently)
{
    static const char *const files[] = {
        IO_REAL "2 2 2\n1 1 1.5\n2 2 -2.25e10\n", IO_REAL "2 2 2\n1 1 1.5\n2 2 -2.25e10 % c\n\n% d\n",
        IO_PAT "1000 1000 2\n1 1\n1000 1000\n", IO_ARRAY "2 1\n1\n123\r\n", IO_ARRAY "0 512\n",
        IO_SYM "3 3 1\n3 3 inf\n"
    };
    size_t i, bytes, warned = 0;
    for (i = 0; i < sizeof files / sizeof files[0]; i++) {
        const char *end = files[i] + strlen(files[i]);
        const char *last = strstr(files[i], " % c") ? strstr(files[i], " % c") : end - strlen(strchr(files[i], '\r') ? "\r\n" : "\n");
        for (bytes = 0; bytes <= strlen(files[i]); bytes++) {
            io_ledger l;
            spmv_hooks h = io_hooks(&l);
            spmv_csr a;
            spmv_status s = spmv_mm_read_memory(&a, files[i], bytes, "f", NULL, NULL, &h);
            if (files[i] + bytes > last) cr_assert(s == SPMV_OK && !l.messages, "%d bytes of %s", (int)bytes, files[i]);
            else cr_assert_eq(l.messages, 1, "%d bytes of %s", (int)bytes, files[i]);
            if (!s && l.messages) {
                cr_assert(l.status == SPMV_OK && strstr(l.text, "may be cut"), "%s", l.text);
                cr_assert_eq(strncmp(l.text, "f:", 2), 0);
                warned++;
            }
            spmv_csr_destroy(&a);
            cr_assert_eq(l.live, 0);
        }
    }
    cr_assert_geq(warned, 10);
}

/* ---- Matrix Market: files that must be refused ------------------------------------------------------------------- */
typedef struct io_bad {
    spmv_status status;
    unsigned line, column; /* column 0: the message names none */
    const char *text;
} io_bad;

#define P SPMV_ERR_PARSE
#define I SPMV_ERR_INDEX
#define O SPMV_ERR_OVERFLOW
#define C SPMV_ERR_COMPLEX
#define T SPMV_ERR_TOO_LARGE
static const io_bad io_bads[] = {
    /* the banner */
    {P, 1, 0, ""}, {P, 1, 1, "\n"}, {P, 1, 1, "1 1 1\n1 1 1\n"}, {P, 1, 1, "\n" IO_REAL "1 1 0\n"},
    {P, 1, 1, " " IO_REAL "1 1 0\n"}, {P, 1, 1, "%MatrixMarket matrix coordinate real general\n1 1 0\n"},
    {P, 1, 1, "%%%MatrixMarket matrix coordinate real general\n1 1 0\n"},
    {P, 1, 1, "%% MatrixMarket matrix coordinate real general\n1 1 0\n"},
    {P, 1, 1, "%%MatrixMarkets matrix coordinate real general\n1 1 0\n"},
    {P, 1, 1, "% comment first\n" IO_REAL "1 1 0\n"}, {P, 1, 1, "MatrixMarket matrix coordinate real general\n1 1 0\n"},
    {P, 1, 15, "%%MatrixMarket"}, {P, 1, 15, "%%MatrixMarket\n"}, {P, 1, 22, "%%MatrixMarket matrix\n"},
    {P, 1, 33, "%%MatrixMarket matrix coordinate\n"}, {P, 1, 38, "%%MatrixMarket matrix coordinate real\n1 1 0\n"},
    {P, 1, 16, "%%MatrixMarket vector coordinate real general\n1 1 0\n"},
    {P, 1, 16, "%%MatrixMarket coordinate matrix real general\n1 1 0\n"},
    {P, 1, 23, IO_BANNER "coord real general\n1 1 0\n"}, {P, 1, 23, IO_BANNER "dense real general\n1 1\n1\n"},
    {P, 1, 34, IO_BANNER "coordinate double general\n1 1 0\n"},
    {P, 1, 34, IO_BANNER "coordinate reals general\n1 1 0\n"},
    {P, 1, 34, IO_BANNER "coordinate bool general\n1 1 0\n"},
    {P, 1, 39, IO_BANNER "coordinate real unsymmetric\n1 1 0\n"},
    {P, 1, 39, IO_BANNER "coordinate real skew\n1 1 0\n"},
    {P, 1, 39, IO_BANNER "coordinate real skewsymmetric\n1 1 0\n"},
    {P, 1, 47, IO_BANNER "coordinate real general extra\n1 1 0\n"},
    {P, 1, 47, IO_BANNER "coordinate real general 1 1 0\n"},
    {P, 1, 46, IO_BANNER "coordinate real general\r1 1 0\r"}, {P, 1, 1, IO_BANNER "array pattern general\n1 1\n1\n"},
    {P, 1, 1, IO_BANNER "coordinate pattern skew-symmetric\n2 2 1\n2 1\n"},
    {P, 1, 1, IO_BANNER "array pattern symmetric\n1 1\n1\n"}, {P, 1, 1, "\xef\xbb%%MatrixMarket matrix\n"},
    {P, 1, 1, "\xff\xfe%\0%\0M\0"},
    /* complex */
    {C, 1, 1, IO_BANNER "coordinate complex general\n1 1 1\n1 1 1 0\n"},
    {C, 1, 1, IO_BANNER "coordinate complex symmetric\n1 1 1\n1 1 1 0\n"},
    {C, 1, 1, IO_BANNER "coordinate complex hermitian\n1 1 1\n1 1 1 0\n"},
    {C, 1, 1, IO_BANNER "coordinate real hermitian\n1 1 1\n1 1 1\n"},
    {C, 1, 1, IO_BANNER "array complex general\n1 1\n1 0\n"},
    {C, 1, 1, IO_BANNER "array COMPLEX Hermitian\n"}, {C, 1, 1, IO_BANNER "coordinate pattern hermitian\n1 1 0\n"},
    /* the line of sizes */
    {P, 1, 0, IO_REAL}, {P, 4, 0, IO_REAL "\n% c\n\n"}, {P, 2, 2, IO_REAL "1\n"}, {P, 2, 4, IO_REAL "1 1\n"},
    {P, 2, 4, IO_REAL "1 1\n1\n1 1 1\n"}, {P, 2, 7, IO_REAL "1 1 0 0\n"}, {P, 2, 1, IO_REAL "-1 1 0\n"},
    {P, 2, 3, IO_REAL "1 -1 0\n"}, {P, 2, 5, IO_REAL "1 1 -1\n"}, {P, 2, 1, IO_REAL "+1 1 0\n"},
    {P, 2, 1, IO_REAL "1.0 1 0\n"}, {P, 2, 3, IO_REAL "1 1e0 0\n"}, {P, 2, 5, IO_REAL "1 1 0x0\n"},
    {P, 2, 1, IO_REAL "a 1 0\n"}, {P, 2, 1, IO_REAL "1,1,0\n"}, {P, 2, 1, IO_REAL "^ 1 0\n"},
    {P, 3, 1, IO_REAL "% c\nx\n"}, {P, 2, 2, IO_REAL "1\r1 0\n"},
    {O, 2, 1, IO_REAL "4294967295 1 0\n"}, {O, 2, 3, IO_REAL "1 4294967295 0\n"}, {O, 2, 1, IO_REAL "4294967296 1 0\n"},
    {O, 2, 1, IO_REAL "9223372036854775807 1 0\n"}, {O, 2, 1, IO_REAL "9223372036854775808 1 0\n"},
    {O, 2, 1, IO_REAL "18446744073709551615 1 0\n"}, {O, 2, 1, IO_REAL "18446744073709551616 1 0\n"},
    {O, 2, 1, IO_REAL "18446744073709551617 1 0\n"}, {O, 2, 3, IO_REAL "1 340282366920938463463374607431768211457 0\n"},
    {O, 2, 5, IO_REAL "1 1 18446744073709551615\n1 1 1\n"}, {O, 2, 5, IO_REAL "1 1 18446744073709551617\n1 1 1\n"},
    {O, 2, 5, IO_REAL "1 1 9223372036854775807\n1 1 1\n"}, {O, 2, 5, IO_REAL "1 1 1152921504606846977\n1 1 1\n"},
    {P, 2, 1, IO_REAL "0 0 1\n1 1 1\n"}, {P, 2, 1, IO_REAL "0 4 1\n1 1 1\n"}, {P, 2, 1, IO_REAL "4 0 1\n1 1 1\n"},
    {P, 2, 1, IO_SYM "2 3 1\n1 1 1\n"}, {P, 2, 1, IO_SKEW "3 2 1\n2 1 1\n"}, {P, 2, 1, IO_SYM "0 1 0\n"},
    {P, 2, 1, IO_BANNER "array real symmetric\n2 3\n1\n1\n1\n"}, {P, 2, 5, IO_ARRAY "1 1 1\n1\n"},
    {P, 2, 2, IO_ARRAY "1\n1\n"}, {T, 2, 0, IO_REAL "4294967294 1 0\n"}, {T, 2, 0, IO_REAL "1 4294967294 0\n"},
    {T, 2, 0, IO_REAL "2147483647 2147483647 1\n1 1 1\n"}, {T, 2, 0, IO_PAT "2147483648 1 1\n2147483648 1\n"},
    {T, 3, 0, IO_SYM "%\n4294967294 4294967294 1\n4294967294 1 1\n"}, {T, 2, 0, IO_ARRAY "0 4294967294\n"},
    {T, 2, 0, IO_ARRAY "4294967294 0\n"}, {T, 2, 0, IO_REAL "1049000 1 0\n"},
    /* too few entries */
    {P, 2, 0, IO_REAL "1 1 1\n"}, {P, 3, 0, IO_REAL "2 2 2\n1 1 1\n"}, {P, 5, 0, IO_REAL "2 2 2\n1 1 1\n\n%\n"},
    {P, 3, 0, IO_REAL "2 2 1152921504606846976\n1 1 1\n"},
    {P, 3, 0, IO_REAL "4294967294 4294967294 4294967295\n1 1 1\n"},
    {P, 3, 0, IO_PAT "2 2 2147483648\n1 1\n"}, {P, 3, 0, IO_ARRAY "2 1\n1\n"}, {P, 2, 0, IO_ARRAY "1 1\n"},
    {P, 3, 0, IO_ARRAY "4294967294 4294967294\n1\n"}, {P, 4, 0, IO_BANNER "array real symmetric\n2 2\n1\n2\n"},
    {P, 2, 0, IO_BANNER "array real skew-symmetric\n2 2\n"},
    {P, 2, 0, IO_BANNER "array real symmetric\n4294967294 4294967294\n"},
    /* more than announced */
    {P, 3, 1, IO_REAL "1 1 0\n1 1 1\n"}, {P, 4, 1, IO_REAL "1 1 1\n1 1 1\n1 1 1\n"},
    {P, 5, 1, IO_REAL "1 1 1\n1 1 1\n\nx\n"},
    {P, 4, 1, IO_ARRAY "1 1\n1\n2\n"}, {P, 3, 1, IO_ARRAY "0 0\n2\n"}, {P, 4, 2, IO_REAL "1 1 1\n1 1 1\n \x1a"},
    {P, 3, 1, IO_BANNER "array real skew-symmetric\n1 1\n0\n"}, {P, 4, 1, IO_REAL "1 1 1\n1 1 1\n\r\r\n"},
    /* indices */
    {I, 3, 1, IO_REAL "2 2 1\n0 1 1\n"}, {I, 3, 3, IO_REAL "2 2 1\n1 0 1\n"}, {I, 3, 1, IO_REAL "2 2 1\n3 1 1\n"},
    {I, 3, 3, IO_REAL "2 2 1\n1 3 1\n"}, {I, 4, 3, IO_REAL "2 2 2\n1 1 1\n2 4294967297 1\n"},
    {I, 3, 1, IO_REAL "2 2 1\n4294967297 1 1\n"}, {I, 3, 1, IO_REAL "2 2 1\n18446744073709551617 1 1\n"},
    {I, 3, 1, IO_REAL "2 2 1\n18446744073709551616 1 1\n"}, {I, 3, 3, IO_PAT "2 2 1\n1 18446744073709551618\n"},
    {I, 3, 3, IO_SYM "2 2 1\n1 3 1\n"}, {I, 3, 1, IO_PAT "2 3 1\n3 2\n"}, {I, 3, 3, IO_PAT "3 2 1\n2 3\n"},
    {P, 3, 1, IO_REAL "2 2 1\n-1 1 1\n"}, {P, 3, 3, IO_REAL "2 2 1\n1 -1 1\n"}, {P, 3, 1, IO_REAL "2 2 1\n+1 1 1\n"},
    {P, 3, 1, IO_REAL "2 2 1\n1.0 1 1\n"}, {P, 3, 3, IO_REAL "2 2 1\n1 1.0 1\n"}, {P, 3, 3, IO_REAL "2 2 1\n1 1e0 1\n"},
    {P, 3, 1, IO_REAL "2 2 1\n0x1 1 1\n"}, {P, 3, 1, IO_REAL "2 2 1\nx 1 1\n"}, {P, 3, 1, IO_REAL "2 2 1\n1,1,1\n"},
    {P, 3, 2, IO_REAL "2 2 1\n1\n"}, {P, 3, 3, IO_REAL "2 2 1\n1 % 1 1\n"}, {P, 3, 1, IO_REAL "2 2 1\n\"1\" 1 1\n"},
    {P, 3, 2, IO_REAL "2 2 1\n1\r1 1\n"},
    /* values */
    {P, 3, 4, IO_REAL "2 2 1\n1 1\n"}, {P, 3, 5, IO_REAL "2 2 1\n1 1 1,5\n"}, {P, 3, 5, IO_REAL "2 2 1\n1 1 0x1F\n"},
    {P, 3, 5, IO_REAL "2 2 1\n1 1 pi\n"}, {P, 3, 5, IO_REAL "2 2 1\n1 1 1e\n"}, {P, 3, 5, IO_REAL "2 2 1\n1 1 1e+\n"},
    {P, 3, 5, IO_REAL "2 2 1\n1 1 .\n"}, {P, 3, 5, IO_REAL "2 2 1\n1 1 -\n"}, {P, 3, 5, IO_REAL "2 2 1\n1 1 +-1\n"},
    {P, 3, 5, IO_REAL "2 2 1\n1 1 1.2.3\n"}, {P, 3, 5, IO_REAL "2 2 1\n1 1 nanny\n"},
    {P, 3, 5, IO_REAL "2 2 1\n1 1 infin\n"},
    {P, 3, 5, IO_REAL "2 2 1\n1 1 nan(0)\n"}, {P, 3, 5, IO_REAL "2 2 1\n1 1 1.0f\n"},
    {P, 3, 5, IO_REAL "2 2 1\n1 1 1.0+5\n"},
    {P, 3, 5, IO_REAL "2 2 1\n1 1 (1,0)\n"}, {P, 3, 7, IO_REAL "2 2 1\n1 1 1 2\n"},
    {P, 3, 7, IO_REAL "2 2 1\n1 1 1 x\n"},
    {P, 3, 6, IO_REAL "2 2 1\n1 1 1\r2\n"}, {P, 3, 5, IO_INT "2 2 1\n1 1 1.5\n"}, {P, 3, 5, IO_INT "2 2 1\n1 1 1.0\n"},
    {P, 3, 5, IO_INT "2 2 1\n1 1 1.\n"}, {P, 3, 5, IO_INT "2 2 1\n1 1 1e3\n"}, {P, 3, 5, IO_INT "2 2 1\n1 1 nan\n"},
    {P, 3, 5, IO_INT "2 2 1\n1 1 .\n"}, {P, 3, 4, IO_INT "2 2 1\n1 1\n"}, {P, 3, 5, IO_PAT "2 2 1\n1 1 1\n"},
    {P, 3, 1, IO_ARRAY "1 1\nx\n"}, {P, 3, 3, IO_ARRAY "1 2\n1 2\n"}, {P, 4, 1, IO_ARRAY "2 1\n1\n1,5\n"},
    {P, 3, 1, IO_BANNER "array integer general\n1 1\n1.5\n"}, {P, 3, 1, IO_ARRAY "1 1\n1e99999999999999999999x\n"},
    /* the wrong half */
    {P, 3, 3, IO_SYM "2 2 1\n1 2 1\n"}, {P, 4, 3, IO_SYM "2 2 2\n2 1 1\n1 2 1\n"}, {P, 3, 3, IO_SKEW "2 2 1\n1 2 1\n"},
    {P, 3, 3, IO_SKEW "2 2 1\n1 1 1\n"}, {P, 3, 3, IO_SKEW "2 2 1\n1 1 0\n"},
    {P, 4, 3, IO_SKEW "3 3 2\n2 1 1\n3 3 1\n"},
    {P, 3, 3, IO_BANNER "coordinate pattern symmetric\n2 2 1\n1 2\n"}
};
#undef P
#undef I
#undef O
#undef C
#undef T
enum { IO_BADS = sizeof io_bads / sizeof io_bads[0] };

/* The message names the file, the line, the column if there is one, and what was expected. */
static void io_check_refusal(const io_bad *b, spmv_status s, const spmv_csr *a, const io_ledger *l)
{
    char place[64];
    if (b->column) snprintf(place, sizeof place, "drip:%u:%u: expected ", b->line, b->column);
    else snprintf(place, sizeof place, "drip:%u: expected ", b->line);
    cr_assert_eq(s, b->status, "%s gives %s", b->text, spmv_status_name(s));
    cr_assert_eq(l->messages, 1, "%s: %d messages", b->text, l->messages);
    cr_assert_eq(l->status, s);
    cr_assert_eq(strncmp(l->text, place, strlen(place)), 0, "%s: '%s', not '%s'", b->text, l->text, place);
    cr_assert_not_null(strstr(l->text, ", found "), "%s", l->text);
    cr_assert_eq(l->live, 0);
    cr_assert(!a->ptr && !a->col && !a->val && !a->rows && !a->nnz);
}

Test(io, bad_files_are_refused_by_status_line_and_column)
{
    static const size_t piece[] = {0, 1, 5};
    size_t i, j, k;
    cr_assert_geq(IO_BADS, 100);
    for (i = 0; i < IO_BADS; i++) {
        for (j = 0; j < i; j++) cr_assert_neq(strcmp(io_bads[i].text, io_bads[j].text), 0, "%s twice", io_bads[i].text);
        for (k = 0; k < 3; k++) {
            io_ledger l;
            spmv_hooks h = io_hooks(&l);
            io_drip d;
            spmv_source src = io_drip_source(&d, io_bads[i].text, strlen(io_bads[i].text), piece[k]);
            spmv_csr a;
            spmv_status s;
            memset(&a, 0xee, sizeof a);
            if (k == 1) src.bytes = d.bytes;
            s = spmv_mm_read(&a, &src, NULL, NULL, &h);
            io_check_refusal(&io_bads[i], s, &a, &l);
        }
    }
}

/* A NUL byte is an unexpected character like others; it ends neither a line nor the file. */
Test(io, nul_bytes_are_refused)
{
    static const char good[] = IO_REAL "1 2 1\n1 2 3\n";
    size_t at;
    for (at = 0; at < sizeof good - 1; at++) {
        char file[sizeof good];
        io_ledger l;
        spmv_hooks h = io_hooks(&l);
        spmv_csr a;
        memcpy(file, good, sizeof good);
        file[at] = 0;
        cr_assert_neq(spmv_mm_read_memory(&a, file, sizeof good - 1, "f", NULL, NULL, &h), SPMV_OK, "at %d", (int)at);
        cr_assert_eq(l.messages, 1);
        cr_assert_eq(l.live, 0);
    }
}

Test(io, no_data_is_a_refusal)
{
    io_ledger l;
    spmv_hooks h = io_hooks(&l);
    spmv_csr a;
    cr_assert_eq(spmv_mm_read_memory(&a, NULL, 0, NULL, NULL, NULL, &h), SPMV_ERR_PARSE);
    cr_assert_eq(strncmp(l.text, "input:1: expected ", 18), 0, "%s", l.text);
    cr_assert_eq(l.live, 0);
}

/* Files that are not Matrix Market are named, whether their first line ends soon or never. */
Test(io, files_of_other_kinds_are_named)
{
    static const struct {
        size_t at, size;
        const char *bytes, *words;
    } kinds[] = {
        {0, 3, "\x1f\x8b\x08", "gunzip it"}, {0, 6, "\xfd" "7zXZ\0", "unxz it"}, {0, 4, "BZh9", "bunzip2 it"},
        {0, 4, "\x28\xb5\x2f\xfd", "unzstd it"}, {0, 6, "7z\xbc\xaf\x27\x1c", "7z archive"}, {0, 4, "PK\3\4", ".npz"},
        {0, 6, "\x93NUMPY", "scipy.io.mmwrite"}, {0, 19, "MATLAB 5.0 MAT-file", ".mat"}, {0, 19, "MATLAB 7.3 MAT-file", ".mat"},
        {0, 8, "\x89HDF\r\n\x1a\n", "HDF5"}, {0, 8, "\x89SPMV\r\n\x1a", "spmv_bin_read"}, {257, 5, "ustar", "tar archive"}
    };
    static char file[70000];
    size_t i, k, n;
    for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (k = 0; k < 6; k++) {
            static const size_t sizes[] = {0, 300, 70000};
            io_ledger l;
            spmv_hooks h = io_hooks(&l);
            spmv_csr a;
            n = k % 3 ? sizes[k % 3] : kinds[i].at + kinds[i].size;
            memset(file, k > 2 ? '\n' : 'x', sizeof file);
            memcpy(file + kinds[i].at, kinds[i].bytes, kinds[i].size);
            cr_assert_eq(spmv_mm_read_memory(&a, file, n, "f", NULL, NULL, &h), SPMV_ERR_PARSE);
            cr_assert(l.messages == 1 && strstr(l.text, kinds[i].words), "%s lacks %s", l.text, kinds[i].words);
            cr_assert_eq(strncmp(l.text, "f:1: expected %%MatrixMarket, found a", 36), 0, "%s", l.text);
            cr_assert_eq(spmv_mm_read_memory(&a, file, kinds[i].at + kinds[i].size - 1, "f", NULL, NULL, &h), SPMV_ERR_PARSE);
            cr_assert_eq(l.live, 0);
        }
}

/* As scipy.io.mmwrite writes matrices of unsigned integers. */
Test(io, unsigned_integers_are_read_as_the_nearest_doubles)
{
    static const char file[] = IO_BANNER "coordinate unsigned-integer general\n%\n3 3 3\n1 1 4\n2 2 18446744073709551615\n"
                               "3 1 18446744073709549567\n";
    spmv_mm_info f;
    spmv_csr a;
    cr_assert_eq(spmv_mm_read_memory(&a, file, sizeof file - 1, "f", NULL, &f, NULL), SPMV_OK);
    cr_assert_eq(f.field, SPMV_MM_INTEGER);
    cr_assert(((const double *)a.val)[0] == 4 && ((const double *)a.val)[1] == 18446744073709551616.0);
    cr_assert_eq(((const double *)a.val)[2], 18446744073709549568.0);
    spmv_csr_destroy(&a);
}

/* A message quotes what it found, shortened and without control characters. */
Test(io, messages_quote_safely)
{
    static const char file[] = IO_REAL "1 1 1\n1 1 \x1b[31mabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\n";
    io_ledger l;
    spmv_hooks h = io_hooks(&l);
    spmv_csr a;
    const char *p;
    cr_assert_eq(spmv_mm_read_memory(&a, file, sizeof file - 1, "f", NULL, NULL, &h), SPMV_ERR_PARSE);
    for (p = l.text; *p; p++) cr_assert(*p >= ' ' && *p < 127);
    cr_assert_not_null(strstr(l.text, "'?[31mabc"), "%s", l.text);
    cr_assert_lt(strlen(l.text), 80);
}

/* No header leads to an allocation larger than the length of the file justifies. */
Test(io, lying_headers_cost_no_memory)
{
    static const char *const dims[] = {"0", "1", "3", "65535", "65536", "1048575", "1048577", "2147483646",
        "2147483647", "2147483648", "4294967293", "4294967294", "4294967295", "4294967296", "9223372036854775807",
        "9223372036854775808", "18446744073709551615", "18446744073709551616"};
    static const char *const kinds[] = {"coordinate real general", "coordinate pattern symmetric", "array real general",
        "coordinate integer skew-symmetric", "array real symmetric"};
    size_t n = sizeof dims / sizeof dims[0], i, j, k, kind, largest = 0, taken = 0;
    for (kind = 0; kind < 5; kind++) for (i = 0; i < n; i++) for (j = 0; j < n; j++) for (k = 0; k < n; k++) {
        char file[256];
        io_ledger l;
        spmv_hooks h = io_hooks(&l);
        spmv_csr a;
        size_t bytes;
        if (strncmp(kinds[kind], "array", 5) == 0) {
            if (k) continue;
            sprintf(file, "%s%s\n%s %s\n1\n", IO_BANNER, kinds[kind], dims[i], dims[j]);
        } else {
            sprintf(file, "%s%s\n%s %s %s\n1 1%s\n", IO_BANNER, kinds[kind], dims[i], dims[j], dims[k],
                    strstr(kinds[kind], "pattern") ? "" : " 1");
        }
        bytes = strlen(file);
        if (spmv_mm_read_memory(&a, file, bytes, "f", NULL, NULL, &h) == SPMV_OK) {
            cr_assert_leq(a.rows, ((uint64_t)1 << 20) + 64 * a.nnz);
            taken++;
            spmv_csr_destroy(&a);
        }
        if (l.largest > largest) largest = l.largest;
        cr_assert_leq(l.largest, 16 * bytes + 8 * (((size_t)1 << 20) + 64 * 2 + 2) + 131072, "%s", file);
        cr_assert_eq(l.live, 0);
    }
    cr_assert_geq(taken, 40); /* 1048577 rows and one entry, for one */
    cr_assert_geq(largest, (size_t)8 << 20);
}

/* Memory for files full of short entries: at most 16 times their bytes, 16 bytes for each row, and 128 KiB. */
Test(io, memory_is_in_proportion_to_the_file)
{
    static const struct { const char *head, *entry; unsigned rows; } kind[] = {
        {IO_PAT "3 3 100000\n", "1 1\n", 3}, {IO_REAL "3 3 100000\n", "1 1 2\n", 3}, {IO_ARRAY "1 100000\n", "1\n", 1},
        {IO_ARRAY "100000 1\n", "0\n", 100000}, {IO_BANNER "coordinate pattern symmetric\n3 3 100000\n", "2 1\n", 3},
        {IO_BANNER "coordinate real skew-symmetric\n3 3 100000\n", "2 1 1\n", 3}
    };
    char *file = (char *)malloc(1000000);
    size_t k;
    int known;
    cr_assert_not_null(file);
    for (k = 0; k < sizeof kind / sizeof kind[0]; k++) for (known = 0; known < 2; known++) {
        size_t used = (size_t)sprintf(file, "%s", kind[k].head), i;
        io_ledger l;
        spmv_hooks h = io_hooks(&l);
        io_drip d;
        spmv_source src;
        spmv_csr a;
        for (i = 0; i < 100000; i++) used += (size_t)sprintf(file + used, "%s", kind[k].entry);
        src = io_drip_source(&d, file, used, 0);
        if (known) src.bytes = used;
        cr_assert_eq(spmv_mm_read(&a, &src, NULL, NULL, &h), SPMV_OK, "%s", l.text);
        cr_assert_leq(l.largest, 16 * used + 16 * kind[k].rows + 131072, "%s: %g times", kind[k].head,
                      (double)l.largest / (double)used);
        spmv_csr_destroy(&a);
        cr_assert_eq(l.live, 0);
    }
    free(file);
}

/* ---- failing allocations ----------------------------------------------------------------------------------------- */
static spmv_status io_read_any(spmv_csr *a, const void *data, size_t bytes, int binary, int known, const spmv_hooks *h)
{
    io_drip d;
    spmv_source src = io_drip_source(&d, data, bytes, 0);
    if (known) src.bytes = bytes;
    return binary ? spmv_bin_read(a, &src, 0, h) : spmv_mm_read(a, &src, NULL, NULL, h);
}

/* Lets every allocation fail, either alone or with all after it. Returns how many allocations there are. */
static long io_fail_each(const void *data, size_t bytes, int binary, int known)
{
    long at, forever;
    for (forever = 0; forever < 2; forever++) {
        for (at = 1;; at++) {
            io_ledger l;
            spmv_hooks h = io_hooks(&l);
            spmv_csr a;
            spmv_status s;
            l.fail_at = at;
            l.forever = (int)forever;
            s = io_read_any(&a, data, bytes, binary, known, &h);
            if (l.calls < at) {
                cr_assert_eq(s, SPMV_OK);
                spmv_csr_destroy(&a);
                cr_assert_eq(l.live, 0);
                break;
            }
            cr_assert_eq(s, SPMV_ERR_MEMORY, "call %ld gives %s", at, spmv_status_name(s));
            cr_assert_eq(l.status, SPMV_ERR_MEMORY);
            cr_assert_eq(l.messages, 1);
            cr_assert_eq(l.live, 0, "call %ld leaves %d bytes", at, (int)l.live);
            cr_assert_null(a.ptr);
        }
    }
    return at - 1;
}

Test(io, every_failing_allocation_is_survived)
{
    static char file[200000];
    size_t i, used;
    long calls = 0;
    for (i = 0; i < IO_GOODS; i++) calls += io_fail_each(io_goods[i].text, strlen(io_goods[i].text), 0, i % 2);
    cr_assert_geq(calls, 3 * IO_GOODS);
    used = (size_t)sprintf(file, "%s4000 4000 8000\n%%", IO_SYM); /* buffers grow; unsorted, duplicates, a long comment */
    memset(file + used, 'x', 70000);
    used += 70000;
    used += (size_t)sprintf(file + used, "\n");
    for (i = 0; i < 8000; i++) {
        unsigned r = (unsigned)(io_random() % 4000), c = (unsigned)(io_random() % (r + 1));
        used += (size_t)sprintf(file + used, "%u %u %u\n", r + 1, c + 1, (unsigned)i);
    }
    cr_assert_geq(io_fail_each(file, used, 0, 0), 15);
    cr_assert_geq(io_fail_each(file, used, 0, 1), 8);
}

/* ---- options, info, vectors -------------------------------------------------------------------------------------- */
Test(io, options_do_what_they_say)
{
    static const char zeros[] = IO_REAL "2 2 5\n1 1 0\n1 2 1\n2 1 3\n2 1 -3\n2 2 -0.0\n";
    static const char tenth[] = IO_REAL "1 1 1\n1 1 0.1\n", wide[] = IO_REAL "5000000 1 1\n5000000 1 1\n";
    spmv_mm_options o;
    spmv_csr a;
    io_ledger l;
    spmv_hooks h = io_hooks(&l);
    memset(&o, 0, sizeof o);
    cr_assert_eq(spmv_mm_read_memory(&a, zeros, sizeof zeros - 1, NULL, &o, NULL, NULL), SPMV_OK);
    cr_assert_eq(a.nnz, 4);
    spmv_csr_destroy(&a);
    o.drop_zeros = 1;
    cr_assert_eq(spmv_mm_read_memory(&a, zeros, sizeof zeros - 1, NULL, &o, NULL, NULL), SPMV_OK);
    cr_assert(a.nnz == 1 && a.col[0] == 1 && ((const double *)a.val)[0] == 1);
    spmv_csr_destroy(&a);
    for (o.store = SPMV_F32; o.store <= SPMV_MIXED; o.store = (spmv_type)(o.store + 1)) {
        cr_assert_eq(spmv_mm_read_memory(&a, tenth, sizeof tenth - 1, NULL, &o, NULL, NULL), SPMV_OK);
        cr_assert_eq(a.type, SPMV_F32);
        cr_assert_eq(((const float *)a.val)[0], 0.1f);
        spmv_csr_destroy(&a);
    }
    memset(&o, 0, sizeof o);
    cr_assert_eq(spmv_mm_read_memory(&a, wide, sizeof wide - 1, NULL, &o, NULL, &h), SPMV_ERR_TOO_LARGE);
    cr_assert_not_null(strstr(l.text, "(max_dim sets another limit; on the command line --max-dim)"));
    o.max_dim = 5000000;
    cr_assert_eq(spmv_mm_read_memory(&a, wide, sizeof wide - 1, NULL, &o, NULL, &h), SPMV_OK);
    cr_assert_eq(a.rows, 5000000);
    spmv_csr_destroy(&a);
    o.max_dim = 4999999;
    cr_assert_eq(spmv_mm_read_memory(&a, wide, sizeof wide - 1, NULL, &o, NULL, &h), SPMV_ERR_TOO_LARGE);
    o.max_dim = 1;
    cr_assert_eq(spmv_mm_read_memory(&a, zeros, sizeof zeros - 1, NULL, &o, NULL, &h), SPMV_ERR_TOO_LARGE);
    cr_assert_eq(l.live, 0);
}

Test(io, info_tells_what_the_file_said)
{
    static const char sym[] = IO_BANNER "coordinate integer symmetric\n% c\n3 3 3\n1 1 1\n2 1 2\n2 1 2\n";
    static const char array[] = IO_BANNER "array real skew-symmetric\n3 3\n0\n0\n1\n";
    static const char complex_[] = IO_BANNER "coordinate complex hermitian\n3 3 3\n";
    spmv_mm_info f;
    spmv_csr a;
    io_ledger l;
    spmv_hooks h = io_hooks(&l);
    cr_assert_eq(spmv_mm_read_memory(&a, sym, sizeof sym - 1, NULL, NULL, &f, &h), SPMV_OK);
    cr_assert(!f.array && f.field == SPMV_MM_INTEGER && f.symmetry == SPMV_MM_SYMMETRIC);
    cr_assert(f.rows == 3 && f.cols == 3 && f.stored == 3 && f.lines == 6 && f.bytes == sizeof sym - 1);
    cr_assert_eq(a.nnz, 3);
    spmv_csr_destroy(&a);
    cr_assert_eq(spmv_mm_read_memory(&a, array, sizeof array - 1, NULL, NULL, &f, &h), SPMV_OK);
    cr_assert(f.array && f.field == SPMV_MM_REAL && f.symmetry == SPMV_MM_SKEW && f.stored == 3 && a.nnz == 2);
    spmv_csr_destroy(&a);
    cr_assert_eq(spmv_mm_read_memory(&a, complex_, sizeof complex_ - 1, NULL, NULL, &f, &h), SPMV_ERR_COMPLEX);
    cr_assert(f.field == SPMV_MM_COMPLEX && f.symmetry == SPMV_MM_HERMITIAN && f.rows == 0);
    cr_assert_eq(l.live, 0);
}

/* ---- round trips ------------------------------------------------------------------------------------------------- */

/* A matrix with values of every kind, also -0 and the limits of the range, and with empty rows. */
static spmv_csr io_sample(spmv_type store, uint64_t rows, uint64_t cols, uint64_t entries)
{
    static const double special[] = {0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308,
                                     1, -1, 0.1, 1e-45, 3.4028234663852886e38, 1.1754943508222875e-38};
    uint32_t *row = (uint32_t *)malloc((size_t)entries * 4 + 1), *col = (uint32_t *)malloc((size_t)entries * 4 + 1);
    double *val = (double *)malloc((size_t)entries * 8 + 1);
    spmv_input in;
    spmv_csr a;
    uint64_t i;
    cr_assert(row && col && val);
    for (i = 0; i < entries; i++) {
        row[i] = (uint32_t)(i * rows / entries);
        col[i] = (uint32_t)(io_random() % cols);
        val[i] = i % 16 < 12 ? special[i % 16] : io_from_bits(io_random());
        if (store != SPMV_F64 && i % 16 >= 12) {
            uint32_t bits = (uint32_t)io_random();
            float f;
            memcpy(&f, &bits, 4);
            val[i] = (double)f;
        }
        if (val[i] != val[i]) val[i] = 3;
    }
    memset(&in, 0, sizeof in);
    in.form = SPMV_IN_COO;
    in.rows = (int64_t)rows;
    in.cols = (int64_t)cols;
    in.nnz = (int64_t)entries;
    in.row = row;
    in.col = col;
    in.val = val;
    in.val_type = SPMV_F64;
    cr_assert_eq(spmv_csr_create(&a, &in, store, NULL), SPMV_OK);
    free(row);
    free(col);
    free(val);
    return a;
}

Test(io, written_files_read_back_bit_for_bit)
{
    static const uint64_t shape[][3] = {{300, 200, 5000}, {1, 1, 1}, {1, 70000, 3000}, {5000, 1, 900}, {3, 4, 0},
    {0, 0, 0}};
    size_t i, k;
    for (i = 0; i < sizeof shape / sizeof shape[0]; i++) {
        for (k = 0; k < 4; k++) {
            spmv_csr a = io_sample(k % 2 ? SPMV_F32 : SPMV_F64, shape[i][0], shape[i][1], shape[i][2]), b;
            io_heap heap;
            spmv_sink sink = io_heap_sink(&heap);
            spmv_memory m;
            spmv_source src;
            spmv_mm_options o;
            memset(&o, 0, sizeof o);
            o.store = a.type;
            cr_assert_eq(k < 2 ? spmv_mm_write(&sink, &a, NULL) : spmv_bin_write(&sink, &a, NULL), SPMV_OK);
            m.data = heap.data;
            m.bytes = heap.bytes;
            m.at = 0;
            src = spmv_source_memory(&m, "m");
            cr_assert_eq(k < 2 ? spmv_mm_read(&b, &src, &o, NULL, NULL) : spmv_bin_read(&b, &src, 0, NULL), SPMV_OK);
            cr_assert(io_same(&a, &b), "shape %d, kind %d", (int)i, (int)k);
            spmv_csr_destroy(&a);
            spmv_csr_destroy(&b);
            free(heap.data);
        }
    }
}

Test(io, a_written_file_looks_like_this)
{
    static const char want[] = IO_REAL "2 3 3\n1 1 1.5\n1 3 -2\n2 2 0.10000000000000001\n";
    spmv_csr a;
    io_heap heap;
    spmv_sink sink = io_heap_sink(&heap);
    cr_assert_eq(spmv_mm_read_memory(&a, want, sizeof want - 1, NULL, NULL, NULL, NULL), SPMV_OK);
    cr_assert_eq(spmv_mm_write(&sink, &a, NULL), SPMV_OK);
    cr_assert_eq(heap.bytes, sizeof want - 1);
    cr_assert_eq(memcmp(heap.data, want, heap.bytes), 0);
    spmv_csr_destroy(&a);
    free(heap.data);
}

Test(io, written_vectors_read_back_bit_for_bit)
{
    size_t k, i, n = 4000;
    for (k = SPMV_F64; k < SPMV_TYPE_COUNT; k++) {
        size_t width = spmv_vector_size((spmv_type)k);
        char *x = (char *)malloc(n * width);
        io_heap heap;
        spmv_sink sink = io_heap_sink(&heap);
        spmv_mm_options o;
        spmv_csr y;
        memset(&o, 0, sizeof o);
        o.store = width == 4 ? SPMV_F32 : SPMV_F64;
        cr_assert_not_null(x);
        for (i = 0; i < n; i++) {
            uint64_t bits = i < 8 ? (i % 2) << 63 : io_random(); /* the first ones are zeros of both signs */
            double d = io_from_bits(bits);
            float f = (float)d;
            if (d != d) d = f = 0;
            memcpy(x + i * width, width == 8 ? (void *)&d : (void *)&f, width);
        }
        cr_assert_eq(spmv_mm_write_vectors(&sink, (spmv_type)k, n, 1, x, NULL), SPMV_OK);
        cr_assert_eq(spmv_mm_read_memory(&y, heap.data, heap.bytes, NULL, &o, NULL, NULL), SPMV_OK);
        cr_assert_eq(y.rows, n);
        for (i = 0; i < n; i++) {
            static const char zero[8] = { 0 };
            char *at = x + i * width;
            if ((width == 8 ? *(double *)(void *)at : (double)*(float *)(void *)at) == 0) at[width - 1] = 0; /* -0 is no entry */
            cr_assert_eq(memcmp(at, y.ptr[i] < y.ptr[i + 1] ? (const char *)y.val + y.ptr[i] * width : zero, width), 0);
        }
        spmv_csr_destroy(&y);
        free(x);
        free(heap.data);
    }
}

Test(io, a_failing_sink_is_an_io_error_wherever_it_fails)
{
    spmv_csr a = io_sample(SPMV_F64, 300, 200, 5000);
    int kind;
    for (kind = 0; kind < 3; kind++) {
        long at;
        for (at = 1;; at++) {
            io_ledger l;
            spmv_hooks h = io_hooks(&l);
            io_heap heap;
            spmv_sink sink = io_heap_sink(&heap);
            spmv_status s;
            heap.fail_at = at;
            if (kind == 0) s = spmv_mm_write(&sink, &a, &h);
            else if (kind == 1) s = spmv_bin_write(&sink, &a, &h);
            else s = spmv_mm_write_vectors(&sink, SPMV_F64, a.nnz, 1, a.val, &h);
            free(heap.data);
            if (heap.calls < at) {
                cr_assert_eq(s, SPMV_OK);
                cr_assert_eq(l.messages, 0);
                break;
            }
            cr_assert_eq(s, SPMV_ERR_IO);
            cr_assert_eq(heap.calls, at, "written on after a failure");
            cr_assert(l.messages == 1 && strstr(l.text, "heap"));
            cr_assert_eq(l.calls, 0);
        }
        cr_assert_geq(at, 4);
    }
    spmv_csr_destroy(&a);
}

/* ---- the binary form --------------------------------------------------------------------------------------------- */
static io_heap io_binary(spmv_csr *a, spmv_type store)
{
    io_heap heap;
    spmv_sink sink = io_heap_sink(&heap);
    *a = io_sample(store, 7, 9, 20);
    cr_assert_eq(spmv_bin_write(&sink, a, NULL), SPMV_OK);
    cr_assert_eq(heap.bytes, 64 + 8 * (a->rows + 1) + a->nnz * (4 + spmv_value_size(store)));
    return heap;
}

/* With any byte changed to any value, a file is refused, or is the same matrix by chance; and memory stays in proportion. */
Test(io, binary_damage_is_noticed)
{
    int store, known;
    for (store = SPMV_F64; store <= SPMV_F32; store++) for (known = 0; known < 2; known++) {
        spmv_csr a, b;
        io_heap heap = io_binary(&a, (spmv_type)store);
        long read = 0;
        size_t at, v;
        for (at = 0; at < heap.bytes; at++) {
            char was = heap.data[at];
            for (v = 1; v < 256; v++) {
                io_ledger l;
                spmv_hooks h = io_hooks(&l);
                heap.data[at] = (char)(was ^ (char)v);
                if (io_read_any(&b, heap.data, heap.bytes, 1, known, &h) == SPMV_OK) {
                    cr_assert(io_same(&a, &b), "byte %d", (int)at);
                    spmv_csr_destroy(&b);
                    read++;
                } else {
                    cr_assert_eq(l.messages, 1);
                    cr_assert_null(b.ptr);
                }
                cr_assert_eq(l.live, 0);
                cr_assert_leq(l.largest, 65536 + 2 * heap.bytes);
            }
            heap.data[at] = was;
        }
        cr_assert_eq(read, 0);
        cr_assert_eq(io_read_any(&b, heap.data, heap.bytes, 1, known, NULL), SPMV_OK);
        cr_assert(io_same(&a, &b));
        spmv_csr_destroy(&a);
        spmv_csr_destroy(&b);
        free(heap.data);
    }
}

Test(io, binary_of_another_length_is_refused)
{
    spmv_csr a, b;
    io_heap heap = io_binary(&a, SPMV_F64);
    size_t bytes;
    int known;
    heap.data = (char *)realloc(heap.data, heap.bytes + 16);
    memset(heap.data + heap.bytes, 0, 16);
    for (known = 0; known < 2; known++) {
        for (bytes = 0; bytes < heap.bytes + 16; bytes++) {
            io_ledger l;
            spmv_hooks h = io_hooks(&l);
            spmv_status s = io_read_any(&b, heap.data, bytes, 1, known, &h);
            cr_assert_eq(s, bytes == heap.bytes ? SPMV_OK : SPMV_ERR_PARSE, "%d bytes", (int)bytes);
            cr_assert_eq(l.messages, s != SPMV_OK);
            spmv_csr_destroy(&b);
            cr_assert_eq(l.live, 0);
        }
    }
    spmv_csr_destroy(&a);
    free(heap.data);
}

/* Corrects the checksum. */
static void io_resum(io_heap *heap)
{
    spmv__bin_head head;
    const char *p = heap->data + sizeof head;
    memcpy(&head, heap->data, sizeof head);
    head.sum = spmv__bin_sum_all(head, p, p + (head.rows + 1) * 8, p + (head.rows + 1) * 8 + head.nnz * 4);
    memcpy(heap->data, &head, sizeof head);
}

/* The structure is checked even if the checksum is right. */
Test(io, binary_structure_is_checked_behind_a_right_checksum)
{
    spmv_csr a, b;
    io_heap heap = io_binary(&a, SPMV_F64);
    size_t ptr = 64, col = 64 + 8 * (size_t)(a.rows + 1), k, refused = 0;
    static const uint64_t wrong[] = {0, 1, 2, 5, 20, 21, 255, (uint64_t)1 << 32, UINT64_MAX};
    for (k = 0; k < (a.rows + 1) * 9; k++) {
        char keep[8], *at = heap.data + ptr + k / 9 * 8;
        io_ledger l;
        spmv_hooks h = io_hooks(&l);
        uint64_t was;
        memcpy(keep, at, 8);
        memcpy(&was, at, 8);
        memcpy(at, &wrong[k % 9], 8);
        io_resum(&heap);
        if (io_read_any(&b, heap.data, heap.bytes, 1, 1, &h) == SPMV_OK) {
            uint64_t r, i;
            for (r = 0; r < b.rows; r++) {
                cr_assert_leq(b.ptr[r], b.ptr[r + 1]);
                for (i = b.ptr[r]; i < b.ptr[r + 1]; i++)
                    cr_assert(b.col[i] < b.cols && (i == b.ptr[r] || b.col[i] > b.col[i - 1]));
            }
            cr_assert(b.ptr[0] == 0 && b.ptr[b.rows] == b.nnz);
        } else {
            cr_assert_eq(l.status, SPMV_ERR_INDEX);
            refused++;
        }
        spmv_csr_destroy(&b);
        cr_assert_eq(l.live, 0);
        memcpy(at, keep, 8);
    }
    cr_assert_gt(refused, 40);
    for (k = 0; k < a.nnz; k++) {
        uint32_t was, bad = k % 2 ? 9 : UINT32_MAX;
        io_ledger l;
        spmv_hooks h = io_hooks(&l);
        memcpy(&was, heap.data + col + 4 * k, 4);
        memcpy(heap.data + col + 4 * k, &bad, 4);
        io_resum(&heap);
        cr_assert_eq(io_read_any(&b, heap.data, heap.bytes, 1, 0, &h), SPMV_ERR_INDEX);
        memcpy(heap.data + col + 4 * k, &was, 4);
    }
    io_resum(&heap);
    cr_assert_eq(io_read_any(&b, heap.data, heap.bytes, 1, 0, NULL), SPMV_OK);
    spmv_csr_destroy(&b);
    spmv_csr_destroy(&a);
    free(heap.data);
}

/* Each field of the header, with the length of the file unknown: no memory is allocated for bytes that have not been read. */
Test(io, binary_headers_are_checked_field_by_field)
{
    static const struct { size_t at, width; uint64_t v; spmv_status s; } want[] = {
        {0, 1, 'S', SPMV_ERR_PARSE}, {8, 4, 2, SPMV_ERR_UNSUPPORTED}, {8, 4, 0, SPMV_ERR_UNSUPPORTED},
        {12, 4, 0x04030201u, SPMV_ERR_UNSUPPORTED}, {16, 4, 2, SPMV_ERR_PARSE}, {16, 4, 0xffffffffu, SPMV_ERR_PARSE},
        {20, 4, 1, SPMV_ERR_PARSE}, {24, 8, 4294967295u, SPMV_ERR_OVERFLOW}, {24, 8, UINT64_MAX, SPMV_ERR_OVERFLOW},
        {32, 8, 4294967295u, SPMV_ERR_OVERFLOW}, {32, 8, (uint64_t)1 << 63, SPMV_ERR_OVERFLOW},
        {40, 8, 64, SPMV_ERR_OVERFLOW}, {40, 8, UINT64_MAX, SPMV_ERR_OVERFLOW}, {24, 8, 4294967294u, SPMV_ERR_TOO_LARGE},
        {32, 8, 4294967294u, SPMV_ERR_TOO_LARGE}, {24, 8, 1049000, SPMV_ERR_PARSE},
        {24, 8, 8, SPMV_ERR_PARSE}, {40, 8, 60, SPMV_ERR_PARSE}, {48, 8, 0, SPMV_ERR_PARSE}, {56, 8, 1, SPMV_ERR_PARSE}
    };
    spmv_csr a, b;
    io_heap heap = io_binary(&a, SPMV_F64);
    size_t i;
    for (i = 0; i < sizeof want / sizeof want[0]; i++) {
        char keep[8];
        io_ledger l;
        spmv_hooks h = io_hooks(&l);
        memcpy(keep, heap.data + want[i].at, 8);
        if (want[i].width == 8) {
            memcpy(heap.data + want[i].at, &want[i].v, 8);
        } else {
            uint32_t v = (uint32_t)want[i].v;
            memcpy(heap.data + want[i].at, &v, want[i].width);
        }
        cr_assert_eq(io_read_any(&b, heap.data, heap.bytes, 1, 0, &h), want[i].s, "%d: %s", (int)i, l.text);
        cr_assert(l.messages == 1 && l.status == want[i].s);
        cr_assert_eq(strncmp(l.text, "drip: expected ", 15), 0, "%s", l.text);
        cr_assert_leq(l.largest, 131072);
        cr_assert_eq(l.live, 0);
        memcpy(heap.data + want[i].at, keep, 8);
    }
    cr_assert(spmv_bin_is(heap.data, heap.bytes) && spmv_bin_is(heap.data, 8) && !spmv_bin_is(heap.data, 7));
    cr_assert_not(spmv_bin_is("%%Matrix", 8));
    spmv_csr_destroy(&a);
    free(heap.data);
}

/* A file of 132 bytes with one nonzero in 6 rows: a header with other numbers costs no memory, and no wrong matrix is returned. */
Test(io, binary_headers_ask_for_no_memory)
{
    static const uint64_t dims[] = {0, 1, 5, 6, 7, 16, 65535, 1048576, 1048577, 1048640, 1048641, 16777216, 2147483648u, 4294967294u,
                                    4294967295u, (uint64_t)1 << 61, UINT64_MAX};
    static const uint64_t ptr[7] = {0, 1, 1, 1, 1, 1, 1};
    static const uint32_t col[1] = {0};
    static const double val[1] = {2};
    size_t n = sizeof dims / sizeof dims[0], i, j, k, taken = 0;
    int known;
    for (i = 0; i < n; i++) for (j = 0; j < n; j++) for (k = 0; k < n; k++) for (known = 0; known < 2; known++) {
        spmv__bin_head head;
        char file[132];
        io_heap heap;
        io_ledger l;
        spmv_hooks h = io_hooks(&l);
        spmv_csr a;
        memset(&head, 0, sizeof head);
        memcpy(head.magic, spmv__bin_magic, sizeof head.magic);
        head.version = SPMV__BIN_VERSION;
        head.order = SPMV__BYTE_ORDER;
        head.rows = dims[i];
        head.cols = dims[j];
        head.nnz = dims[k];
        memcpy(file, &head, sizeof head);
        memcpy(file + 64, ptr, sizeof ptr);
        memcpy(file + 120, col, sizeof col);
        memcpy(file + 124, val, sizeof val);
        heap.data = file;
        if (dims[i] == 6 && dims[k] == 1) io_resum(&heap);
        if (io_read_any(&a, file, sizeof file, 1, known, &h) == SPMV_OK) {
            cr_assert(a.rows == 6 && a.nnz == 1 && a.cols <= 1048576 + 64);
            taken++;
        } else {
            cr_assert_eq(l.messages, 1);
            cr_assert(!known || l.calls == 0 || (dims[i] == 6 && dims[k] == 1));
        }
        cr_assert_leq(l.largest, 65536);
        spmv_csr_destroy(&a);
        cr_assert_eq(l.live, 0);
    }
    cr_assert_eq(taken, 2 * 9); /* of 1 to 1048640 columns */
}

/* Both forms have the same limit of rows and columns: a matrix read from one can be written and read in the other. */
Test(io, both_forms_have_the_same_limit)
{
    static const struct { uint64_t rows, cols, nnz; int taken; } kind[] = {
        {1048576, 1048576, 0, 1}, {1048577, 1, 0, 0}, {1, 1048577, 0, 0}, {1048640, 1048640, 1, 1}, {1048641, 2, 1, 0},
        {2, 1048641, 1, 0}, {2, 1048704, 2, 1}
    };
    size_t i;
    int binary, open;
    for (i = 0; i < sizeof kind / sizeof kind[0]; i++) for (binary = 0; binary < 2; binary++) for (open = 0; open < 2; open++) {
        spmv_mm_options o;
        spmv_csr a, b;
        io_heap heap;
        spmv_sink sink = io_heap_sink(&heap);
        io_drip d;
        spmv_source src;
        spmv_status s;
        io_ledger l;
        spmv_hooks h = io_hooks(&l);
        char text[200];
        memset(&o, 0, sizeof o);
        o.max_dim = 2000000;
        snprintf(text, sizeof text, "%s%d %d %d\n%s%s", IO_REAL, (int)kind[i].rows, (int)kind[i].cols, (int)kind[i].nnz,
                 kind[i].nnz > 0 ? "1 1 1\n" : "", kind[i].nnz > 1 ? "1 2 1\n" : "");
        cr_assert_eq(spmv_mm_read_memory(&a, text, strlen(text), "f", &o, NULL, &h), SPMV_OK, "%s", l.text);
        cr_assert_eq(binary ? spmv_bin_write(&sink, &a, &h) : spmv_mm_write(&sink, &a, &h), SPMV_OK);
        if (!open) o.max_dim = 0;
        src = io_drip_source(&d, heap.data, heap.bytes, 0);
        s = binary ? spmv_bin_read(&b, &src, o.max_dim, &h) : spmv_mm_read(&b, &src, &o, NULL, &h);
        cr_assert_eq(s, open || kind[i].taken ? SPMV_OK : SPMV_ERR_TOO_LARGE, "%s: %s", text, l.text);
        if (!s) cr_assert(io_same(&a, &b));
        else cr_assert_not_null(strstr(l.text, "max_dim"));
        spmv_csr_destroy(&a);
        spmv_csr_destroy(&b);
        free(heap.data);
        cr_assert_eq(l.live, 0);
    }
}

Test(io, binary_reading_survives_every_failing_allocation_and_source)
{
    spmv_csr a, b;
    io_heap heap = io_binary(&a, SPMV_F32);
    spmv_csr big = io_sample(SPMV_F64, 9000, 9000, 20000); /* long enough for buffers to grow */
    io_heap heap2;
    spmv_sink sink = io_heap_sink(&heap2);
    size_t at;
    cr_assert_eq(spmv_bin_write(&sink, &big, NULL), SPMV_OK);
    cr_assert_eq(io_fail_each(heap.data, heap.bytes, 1, 0), 3);
    cr_assert_eq(io_fail_each(heap2.data, heap2.bytes, 1, 1), 3);
    cr_assert_geq(io_fail_each(heap2.data, heap2.bytes, 1, 0), 6);
    for (at = 0; at <= heap.bytes; at++) {
        io_drip d;
        spmv_source src = io_drip_source(&d, heap.data, heap.bytes, 3);
        io_ledger l;
        spmv_hooks h = io_hooks(&l);
        d.fail = at;
        cr_assert_eq(spmv_bin_read(&b, &src, 0, &h), SPMV_ERR_IO);
        cr_assert_eq(l.live, 0);
        cr_assert_null(b.ptr);
    }
    spmv_csr_destroy(&a);
    spmv_csr_destroy(&big);
    free(heap.data);
    free(heap2.data);
}

/* ---- files and streams ------------------------------------------------------------------------------------------- */
Test(io, files_are_written_and_read_by_path)
{
    spmv_csr a = io_sample(SPMV_F64, 300, 200, 5000), b;
    char path[64], text[160];
    io_ledger l;
    spmv_hooks h = io_hooks(&l);
    spmv_mm_info info;
    int binary;
    snprintf(path, sizeof path, "test_io.%ld.tmp", (long)getpid());
    for (binary = 0; binary < 2; binary++) {
        spmv_status s = binary ? spmv_bin_write_file(path, &a, &h) : spmv_mm_write_file(path, &a, &h);
        if (!s) s = binary ? spmv_bin_read_file(&b, path, 0, &h) : spmv_mm_read_file(&b, path, NULL, &info, &h);
        remove(path);
        cr_assert_eq(s, SPMV_OK, "%s", l.text);
        cr_assert(io_same(&a, &b));
        spmv_csr_destroy(&b);
    }
    cr_assert_eq(info.stored, a.nnz);
    cr_assert_eq(spmv_mm_read_file(&b, path, NULL, NULL, &h), SPMV_ERR_IO);
    snprintf(text, sizeof text, "%s: cannot be opened: %s", path, strerror(ENOENT));
    cr_assert(l.messages == 1 && strstr(l.text, text), "%s", l.text);
    cr_assert_eq(spmv_bin_read_file(&b, path, 0, &h), SPMV_ERR_IO);
    cr_assert(l.messages == 2 && strstr(l.text, text), "%s", l.text);
    cr_assert_eq(spmv_mm_write_file("no/such/folder/a.mtx", &a, &h), SPMV_ERR_IO);
    cr_assert_eq(spmv_bin_write_file("no/such/folder/a.bin", &a, &h), SPMV_ERR_IO);
    cr_assert_eq(spmv_mm_read_file(&b, ".", NULL, NULL, &h), SPMV_ERR_IO);
    cr_assert_eq(spmv_bin_read_file(&b, ".", 0, &h), SPMV_ERR_IO);
    cr_assert_eq(l.live, 0);
    spmv_csr_destroy(&a);
}

Test(io, streams_are_read_from_where_they_stand)
{
    spmv_csr a = io_sample(SPMV_F64, 30, 20, 50), b;
    FILE *f = tmpfile();
    spmv_sink sink;
    spmv_source src;
    int fd[2];
    cr_assert_not_null(f);
    cr_assert_geq(fputs("something before\n", f), 0);
    sink = spmv_sink_stream(f, "s");
    cr_assert_eq(spmv_bin_write(&sink, &a, NULL), SPMV_OK);
    cr_assert_eq(fseek(f, 17, SEEK_SET), 0);
    src = spmv_source_stream(f, "s");
    cr_assert_eq(src.bytes, 64 + 8 * (a.rows + 1) + 12 * a.nnz);
    cr_assert_eq(spmv_bin_read(&b, &src, 0, NULL), SPMV_OK);
    cr_assert(io_same(&a, &b));
    spmv_csr_destroy(&b);
    fclose(f);
    cr_assert_eq(pipe(fd), 0); /* which cannot seek */
    f = fdopen(fd[1], "wb");
    sink = spmv_sink_stream(f, "p");
    cr_assert_eq(spmv_mm_write(&sink, &a, NULL), SPMV_OK);
    fclose(f);
    f = fdopen(fd[0], "rb");
    src = spmv_source_stream(f, "p");
    cr_assert_eq(src.bytes, 0);
    cr_assert_eq(spmv_mm_read(&b, &src, NULL, NULL, NULL), SPMV_OK);
    cr_assert(io_same(&a, &b));
    fclose(f);
    spmv_csr_destroy(&a);
    spmv_csr_destroy(&b);
}
