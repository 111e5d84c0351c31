/* SPDX-License-Identifier: MIT
 *
 * Tuning tables: every kind of wrong line is refused with its number, every failing allocation is noticed and nothing leaks, and rates
 * between, at and beyond the samples are as the logarithms give them. */
#include <criterion/criterion.h>

#include "spmv.h"
#include "spmv_auto.h"
#include "common.h"
#include "library.h"

#define HEAD "spmv tuning table 1\ndevice a device\nclass gpu\n"
#define AXES "rows 1024 16384\nper_row 1 4 16\n"
#define RATES " 1 2 4 8 16 32\n"
#define FITS \
    "left_out 0.2 46 5120\nalike 0.2 0.4 0.7 0.9\nnoise 0.07\nterms all spread fill pads model work gather bands chain\n" \
    "low 1 0 0 0 -1 0 0 0 1\nhigh 1 2 3 2 1.5 2 1 4 1\nwork sell 1 0.5 0 250 0 3 0.25\nregret f64 1.08 1.7\n"

static spmv_status read_text(spmv_tuning *t, const char *text, ledger *l)
{
    spmv_hooks h = ledger_hooks(l);
    size_t n = strlen(text);
    char *exact = (char *)need_exact(n); /* without a terminator, so that a sanitizer detects reading past the end */
    spmv_status s;
    memcpy(exact, text, n);
    s = spmv_tuning_read(t, exact, n, "t.tune", &h);
    free(exact);
    return s;
}

static spmv_tuning good(const char *text)
{
    spmv_tuning t;
    spmv_status s = spmv_tuning_read(&t, text, strlen(text), "t.tune", NULL);
    if (s) cr_assert_fail("%s: %s", spmv_status_name(s), text);
    return t;
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

Test(tuning, whole_table)
{
    static const char text[] =
        "# made by hand\n\nspmv tuning table 1\r\n  device\tNVIDIA H200  \nclass gpu\ndriver 580.1 (x)\nunits 132\nmemory 143771\n"
        "copy 3900.5\nread 4100\ncache 42.5 7800\nfar 30.5 20\ntimed graph 3.5\nlaunch 2.9\ndate 2026-11-21\n# sizes\n"
        "rows 1024 16384\nper_row 1 4 16\n"
        "f64 banded csr:run=1024/WG=256,NT=1 0.81 1.6 3 - 8 11.25\n"
        "f32 scattered sbell:b=4x4,h=32/ - -3 2 -1\nmixed uneven coo/ 1 1 1 1 1 1";
    spmv_tuning t = good(text);
    cr_assert_str_eq(t.device, "NVIDIA H200");
    cr_assert_eq(t.device_class, SPMV_DEVICE_CLASS_GPU);
    cr_assert_str_eq(t.driver, "580.1 (x)");
    cr_assert_str_eq(t.date, "2026-11-21");
    cr_assert(t.units == 132 && t.memory == 143771 && t.graph && t.call > 3.4e-6 && t.call < 3.6e-6);
    cr_assert(fabs(t.copy - 3900.5) < 1e-9 && fabs(t.read - 4100) < 1e-9 && fabs(t.launch - 2.9e-6) < 1e-15);
    cr_assert(fabs(t.cache - 42.5) < 1e-9 && fabs(t.cache_read - 7800) < 1e-9);
    cr_assert(fabs(t.held - 30.5) < 1e-9 && fabs(t.miss - 20e-12) < 1e-18);
    cr_assert(t.rows == 2 && t.rows_at[0] == 1024 && t.rows_at[1] == 16384);
    cr_assert(t.per_row == 3 && t.per_row_at[0] == 1 && t.per_row_at[2] == 16);
    cr_assert(t.count == 3);
    cr_assert(t.row[0].type == SPMV_F64 && t.row[0].kind == SPMV_TUNE_BANDED && t.row[0].layout.format == SPMV_CSR);
    cr_assert(t.row[0].layout.key[SPMV_KEY_RUN] == 1024);
    cr_assert_str_eq(t.row[0].variant, "WG=256,NT=1");
    cr_assert(t.row[0].rate[0] == 0.81f && t.row[0].rate[3] == 0 && t.row[0].rate[5] == 11.25f);
    cr_assert(t.row[1].type == SPMV_F32 && t.row[1].kind == SPMV_TUNE_SCATTERED && t.row[1].layout.format == SPMV_SBELL);
    cr_assert_str_eq(t.row[1].variant, "");
    cr_assert(t.row[1].rate[0] == 0 && t.row[1].rate[3] == 0 && t.row[1].rate[4] == 2 && t.row[1].rate[5] == 0);
    cr_assert(t.row[2].type == SPMV_MIXED && t.row[2].kind == SPMV_TUNE_UNEVEN);
    spmv_tuning_free(&t);
    cr_assert(t.count == 0 && !t.row);
}

typedef struct fault {
    unsigned    number; /* the line that is wrong */
    const char *text;
} fault;

static const fault faults[] = {
    {0, ""},
    {1, "spmv tuning table 2\n"},
    {1, "hello\n"},
    {3, "# one\n\nspmv tuning tables\n"},
    {3, "spmv tuning table 1\ndevice x\nclass tpu\n"},
    {3, "spmv tuning table 1\ndevice x\nclass\n"},
    {2, "spmv tuning table 1\nclass gpu\n"},                                     /* no device: detected at the end */
    {2, "spmv tuning table 1\ndevice x\n"},                                      /* no class */
    {4, HEAD "units many\n"},
    {4, HEAD "units\n"},
    {4, HEAD "memory -1\n"},
    {4, HEAD "copy 1e3\n"},
    {4, HEAD "cache 42\n"},
    {4, HEAD "cache 42 -1\n"},
    {4, HEAD "far 30\n"},
    {4, HEAD "read .\n"},
    {4, HEAD "launch 2.9us\n"},
    {4, HEAD "timed\n"},
    {4, HEAD "timed twice\n"},
    {4, HEAD "timed graph soon\n"},
    {4, HEAD "rows\n"},
    {4, HEAD "rows 1024 1024\n"},
    {4, HEAD "rows 2048 1024\n"},
    {4, HEAD "rows 0 1024\n"},
    {4, HEAD "rows 1 9999999999999\n"},
    {4, HEAD "rows 1 x\n"},
    {4, HEAD "rows 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n"},
    {4, HEAD "per_row 4 2\n"},
    {4, HEAD "per_row\n"},
    {4, HEAD "f64 banded csr/ 1\n"},                                              /* rates before sizes */
    {5, HEAD "rows 1024\nf64 banded csr/ 1\n"},
    {6, HEAD AXES "colour blue\n"},
    {6, HEAD AXES "f16 banded csr/" RATES},
    {6, HEAD AXES "f64 straight csr/" RATES},
    {6, HEAD AXES "f64\n"},
    {6, HEAD AXES "f64 banded\n"},
    {6, HEAD AXES "f64 banded csr" RATES},
    {6, HEAD AXES "f64 banded /" RATES},
    {6, HEAD AXES "f64 banded csx/" RATES},
    {6, HEAD AXES "f64 banded csr:run=x/" RATES},
    {6, HEAD AXES "f64 banded csr:run=/" RATES},
    {6, HEAD AXES "f64 banded ell:w=2+csr/" RATES},
    {6, HEAD AXES "f64 banded csr/1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"
                  RATES},
    {6, HEAD AXES "f64 banded csr/ 1 2 3 4 5\n"},
    {6, HEAD AXES "f64 banded csr/ 1 2 3 4 5 6 7\n"},
    {6, HEAD AXES "f64 banded csr/ 1 2 3 4 5 x\n"},
    {6, HEAD AXES "f64 banded csr/ 1 2 3 4 5 -6\n"},
    {6, HEAD AXES "f64 banded csr/ 1 2 3 4 5 -2\n"},
    {6, HEAD AXES "f64 banded csr/ 1 2 3 4 5 -0\n"},
    {6, HEAD AXES "f64 banded csr/ -4 1\n"},
    {6, HEAD AXES "f64 banded csr/ -4 1 2 3\n"},
    {6, HEAD AXES "f64 banded csr/ -3x 1 2 3\n"},
    {6, HEAD AXES "f64 banded csr/ -99999999999999999999\n"},
    {6, HEAD AXES "f64 banded csr/ 1 2 3 4 5 1e3\n"},
    {6, HEAD AXES "f64 banded csr/ 1 2 3 4 5 nan\n"},
    {6, HEAD AXES "f64 banded csr/ 1 2 3 4 5 99999999\n"},
    {6, HEAD AXES "f64 banded csr/ 1 2 3 4 5 1.2.3\n"},
    {4, HEAD "left_out 0.2 46\n"},
    {4, HEAD "left_out x 46 5120\n"},
    {4, HEAD "alike 0.2 0.4 0.7\n"},
    {4, HEAD "alike 0.4 0.2 0.7 0.9\n"},
    {4, HEAD "alike 0.2 0.4 0.7 1\n"},
    {4, HEAD "alike -0.2 0.4 0.7 0.9\n"},
    {4, HEAD "convert\n"},
    {4, HEAD "convert csx 1 2 3 4\n"},
    {4, HEAD "convert csr - 2 3 4\n"},
    {4, HEAD "convert csr 1 2 3\n"},
    {4, HEAD "convert csr 1 2 3 4 5\n"},
    {4, HEAD "convert csr 1 -2 3 4\n"},
    {4, HEAD "part -\n"},
    {4, HEAD "divide\n"},
    {4, HEAD "look 2400\n"},
    {4, HEAD "build soon\n"},
    {4, HEAD "noise\n"},
    {4, HEAD "noise -0.1\n"},
    {4, HEAD "terms all spread\n"},
    {4, HEAD "terms all spread fill pads model work gather bands chain more\n"},
    {4, HEAD "terms all fill spread pads model gather bands chain\n"},
    {4, HEAD "work csx 1 1 1 1 1 1 1\n"},
    {4, HEAD "work csr 1 1 1 1 1 1\n"},
    {4, HEAD "work csr 1 1 1 1 1 1 1 1\n"},
    {4, HEAD "work csr 1 1 -1 1 1 1 1\n"},
    {4, HEAD "low 1 0 0 -1 0 0\n"},
    {4, HEAD "high 1 0 0 x 0 0 1\n"},
    {4, HEAD "regret f16 1.1 2\n"},
    {4, HEAD "regret f64 1.1\n"},
    {4, HEAD "fit\n"},
    {4, HEAD "fit f16 csr/ 0.1 1 2 3 4 5 6 7\n"},
    {4, HEAD "fit f64 csr 0.1 1 2 3 4 5 6 6 6 7\n"},
    {4, HEAD "fit f64 csx/ 0.1 1 2 3 4 5 6 6 6 7\n"},
    {4, HEAD "fit f64 csr/ -0.1 1 2 3 4 5 6 6 6 7\n"},
    {4, HEAD "fit f64 csr/ 0.1 1 2 3 4 5 6 6 6\n"},
    {4, HEAD "fit f64 csr/ 0.1 1 2 3 4 5 6 6 6 7 8\n"},
    {4, HEAD "fit f64 csr/ 0.1 1 2 3 4 5 6 6 6 21\n"},
    {4, HEAD "fit f64 csr/ 0.1 1 2 3 4 5 6 6 6 --7\n"},
    {4, HEAD "fit f64 csr/ 0.1 1 2 3 4 5 6 6 6 -\n"},
    {8, HEAD AXES "f64 banded csr/" RATES "# fine so far\nf64 banded ell/ 1\n"},
    {7, HEAD AXES "f64 banded csr/" RATES "rows 1 2\n"},
    {7, HEAD AXES "f64 banded csr/" RATES "per_row 1 2 3\n"},
};

Test(tuning, every_bad_line_is_named)
{
    size_t i;
    for (i = 0; i < sizeof faults / sizeof *faults; i++) {
        char place[40];
        spmv_tuning t;
        ledger l;
        spmv_status s;
        memset(&t, 0x5c, sizeof t);
        s = read_text(&t, faults[i].text, &l);
        snprintf(place, sizeof place, "t.tune, line %u: ", faults[i].number);
        CHECK(s == SPMV_ERR_PARSE, "case %d: %s", (int)i, spmv_status_name(s));
        CHECK(!strncmp(l.text, place, strlen(place)), "case %d: '%s', not '%s'", (int)i, l.text, place);
        CHECK(l.messages == 1 && l.live == 0, "case %d: %d messages, %ld blocks left", (int)i, l.messages, l.live);
        CHECK(!t.count && !t.row && !t.rows && !t.device[0], "case %d: not zeroed", (int)i);
    }
    cr_assert_eq(checks_done, 4 * (sizeof faults / sizeof *faults));
}

/* A table that is cut anywhere, or in which any byte is changed, is read or refused; nothing else happens. */
Test(tuning, damaged_tables)
{
    static const char text[] = HEAD AXES FITS "f64 banded csr:run=1024/WG=256" RATES "f32 uneven sell:h=8/" RATES
                               "fit f64 csr:run=1024/WG=256 0.15 0 -1.5 2 0 0 0 0 0 0.25\n";
    char copy[sizeof text];
    size_t i, round, read = 0, refused = 0;
    for (i = 0; i < sizeof text; i++)
        for (round = 0; round < 9; round++) {
            spmv_tuning t;
            ledger l;
            spmv_status s;
            memcpy(copy, text, sizeof text);
            copy[round ? sizeof text - 1 : i] = 0;
            if (round && i + 1 < sizeof text) copy[i] = round < 4 ? "\n/ "[round - 1] : (char)(1 + rng_below(255));
            s = read_text(&t, copy, &l);
            CHECK(s == SPMV_OK || s == SPMV_ERR_PARSE, "byte %d: %s", (int)i, spmv_status_name(s));
            read += s == SPMV_OK;
            refused += s == SPMV_ERR_PARSE;
            CHECK(s == SPMV_OK || l.live == 0, "byte %d: %ld blocks left", (int)i, l.live);
            spmv_tuning_free(&t);
            CHECK(l.live == 0, "byte %d: %ld blocks lost", (int)i, l.live);
        }
    cr_assert(read > 50 && refused > 500, "%d read, %d refused", (int)read, (int)refused);
}

Test(tuning, allocation_failures)
{
    char text[20000] = HEAD AXES;
    spmv_tuning t;
    ledger l;
    spmv_hooks h;
    long at, most;
    int i;
    for (i = 0; i < 130; i++) strcat(text, "f64 banded csr/" RATES); /* the list of rows grows twice */
    h = ledger_hooks(&l);
    cr_assert(spmv_tuning_read(&t, text, strlen(text), "t", &h) == SPMV_OK);
    cr_assert(t.count == 130);
    spmv_tuning_free(&t);
    cr_assert(l.live == 0);
    most = l.calls;
    for (at = 1; at <= most; at++) {
        spmv_status s;
        h = ledger_hooks(&l);
        l.fail_at = at;
        s = spmv_tuning_read(&t, text, strlen(text), "t", &h);
        CHECK(s == SPMV_ERR_MEMORY, "request %ld of %ld: %s", at, most, spmv_status_name(s));
        CHECK(l.live == 0, "request %ld: %ld blocks left", at, l.live);
        CHECK(!t.count && !t.row, "request %ld: not zeroed", at);
    }
}

/* ---- rates -------------------------------------------------------------------------------------------------------- */

static void near(double got, double want)
{
    CHECK(fabs(got - want) <= 1e-4 * want, "%g, not %g", got, want);
}

Test(tuning, rates)
{
    /* rate = sqrt(rows / 1024) * per_row, exactly bilinear in logarithms */
    spmv_tuning t = good(HEAD AXES "f64 banded csr/ 1 4 16 4 16 64\n");
    double r, p;
    near(spmv_tuning_rate(&t, &t.row[0], 1024, 1), 1);
    near(spmv_tuning_rate(&t, &t.row[0], 1024, 16), 16);
    near(spmv_tuning_rate(&t, &t.row[0], 16384, 4), 16);
    near(spmv_tuning_rate(&t, &t.row[0], 16384, 16), 64);
    for (r = 1024; r <= 16384; r *= 1.3)
        for (p = 1; p <= 16; p *= 1.2) near(spmv_tuning_rate(&t, &t.row[0], r, p), sqrt(r / 1024) * p);
    /* outside the table, the rate is that of the edge */
    near(spmv_tuning_rate(&t, &t.row[0], 1, 1), 1);
    near(spmv_tuning_rate(&t, &t.row[0], 1e9, 4), 16);
    near(spmv_tuning_rate(&t, &t.row[0], 1024, 0.01), 1);
    near(spmv_tuning_rate(&t, &t.row[0], 1e9, 1e6), 64);
    near(spmv_tuning_rate(&t, &t.row[0], 0, 0), 1);
    spmv_tuning_free(&t);
    cr_assert_gt(checks_done, 100);
}

/* At sizes that were not measured, a row is as far behind the best as at the others: half as fast, a quarter as fast. */
Test(tuning, rates_with_gaps)
{
    static const double best[6] = { 1, 4, 16, 4, 16, 64 };
    spmv_tuning t = good(HEAD AXES "f64 banded csr/ 1 4 16 4 16 64\nf64 banded csr:run=1024/ - 2 - - - 32\n"
                                   "f64 banded ell/ - - - - - -\nf64 banded coo/ - - - - 4 -\n");
    int i;
    for (i = 0; i < 6; i++) {
        double rows = i / 3 ? 16384 : 1024, per_row = (double)t.per_row_at[i % 3];
        near(spmv_tuning_rate(&t, &t.row[0], rows, per_row), best[i]);
        near(spmv_tuning_rate(&t, &t.row[1], rows, per_row), best[i] / 2);
        near(spmv_tuning_rate(&t, &t.row[3], rows, per_row), best[i] / 4);
    }
    cr_assert(!(spmv_tuning_rate(&t, &t.row[2], 5000, 5) > 0));
    spmv_tuning_free(&t);
    cr_assert_eq(checks_done, 18);
}

/* If the head gives the times of a launch and of memory, rates between and beyond the measured sizes follow from these. */
Test(tuning, rates_follow_the_model)
{
    /* csr with one nonzero in each row, in f64: 12 bytes for it and 20 for the row, so 1e-9 s at 32 GB/s; a launch takes 10 us */
    spmv_tuning t = good(HEAD "read 32\nlaunch 10\nrows 1000 1000000\nper_row 1\nf64 banded csr/ 0.181818 1.980198\n");
    double rows;
    for (rows = 1000; rows < 1e8; rows *= 3) near(spmv_tuning_rate(&t, &t.row[0], rows, 1), 2e-9 * rows / (10e-6 + 1e-9 * rows));
    spmv_tuning_free(&t);
    cr_assert_gt(checks_done, 9);
}

/* GFLOP/s with one nonzero in each row, if a row takes so many bytes and rate is in GB/s. */
static double rate_of(double bytes, double rate) { return 2 * rate / bytes; }

/* Between the sizes, the rate changes where the bytes that a layout reads no longer fit into the cache. */
Test(tuning, rates_follow_bytes_and_cache)
{
    /* 10 MiB at 100 GB/s, else 10 GB/s, and no launch: 100 rows fit into the cache, 10^8 do not. Bytes of a row of csr, coo, dia: */
    static const double bytes[] = { 32, 36, 28 };
    spmv_tuning t = good(HEAD "read 10\ncache 10 100\nrows 100 100000000\nper_row 1\nf64 banded csr/ 6.25 0.625\n"
                              "f64 banded coo/ 5.555556 0.5555556\nf64 banded dia/ 7.142857 0.7142857\n");
    int i;
    for (i = 0; i < 3; i++) {
        double all = 10 * 1048576 / bytes[i]; /* the number of rows that would fill the cache */
        near(spmv_tuning_rate(&t, &t.row[i], 0.6 * all, 1), rate_of(bytes[i], 100));
        near(spmv_tuning_rate(&t, &t.row[i], 1.0 * all, 1), rate_of(bytes[i], 10));
        near(spmv_tuning_rate(&t, &t.row[i], 5.0 * all, 1), rate_of(bytes[i], 10));
        cr_assert(spmv_tuning_rate(&t, &t.row[i], 0.8 * all, 1) > rate_of(bytes[i], 15));
    }
    spmv_tuning_free(&t);
    cr_assert_eq(checks_done, 9);
}

Test(tuning, one_size)
{
    spmv_tuning t = good(HEAD "rows 1000\nper_row 7\nf32 uneven coo/ 2.5\n");
    near(spmv_tuning_rate(&t, &t.row[0], 1, 1), 2.5);
    near(spmv_tuning_rate(&t, &t.row[0], 1000, 7), 2.5);
    near(spmv_tuning_rate(&t, &t.row[0], 1e6, 1e6), 2.5);
    spmv_tuning_free(&t);
    cr_assert_eq(checks_done, 3);
}

/* Zeros, as between the pieces of the bundled tables. */
Test(tuning, zeros_are_blanks)
{
    static const char text[] = HEAD "\0\0\0rows 1000 2000\n\0per_row\0 1\0\nf32 uneven coo/ 2.5\0\0 3\n\0\0";
    spmv_tuning t;
    cr_assert_eq(spmv_tuning_read(&t, text, sizeof text, "pieces", NULL), SPMV_OK);
    cr_assert_eq(t.rows, 2);
    cr_assert_eq(t.count, 1);
    near(spmv_tuning_rate(&t, &t.row[0], 1000, 1), 2.5);
    near(spmv_tuning_rate(&t, &t.row[0], 2000, 1), 3);
    spmv_tuning_free(&t);
    cr_assert_eq(checks_done, 2);
}

/* ---- what is bundled ---------------------------------------------------------------------------------------------- */

/* The table of the host that is part of the program is the one that reading its text gives. */
Test(tuning, host_table_is_ready)
{
    const spmv_tuning *ready = spmv_tuning_host();
    spmv_tuning t;
    size_t length, k, j = 0;
    int i, exact = 0;
    const char *text = spmv_tuning_bundled("host", SPMV_DEVICE_CLASS_HOST, &length, &exact);
    cr_assert(ready && text && exact);
    cr_assert_eq(spmv_tuning_read(&t, text, length, "host", NULL), SPMV_OK);
    cr_assert_str_eq(ready->device, "host");
    cr_assert_str_eq(ready->driver, t.driver);
    cr_assert_eq(ready->device_class, t.device_class);
    cr_assert(ready->rows == t.rows && ready->per_row == t.per_row && ready->fits == t.fits && ready->fits > 100);
    for (i = 0; i < SPMV_TUNE_AXIS; i++) CHECK(ready->rows_at[i] == t.rows_at[i] && ready->per_row_at[i] == t.per_row_at[i], "%d", i);
    near(ready->read, t.read);
    near(ready->cache, t.cache);
    near(ready->launch * 1e9, t.launch * 1e9);
    for (i = 0; i < SPMV_TUNE_LEVELS; i++) near(ready->peak[i], t.peak[i]);
    near(ready->left_out, t.left_out);
    for (k = 0; k < SPMV_FORMAT_COUNT; k++) {
        near(ready->prepare.begin[k] * 1e6, t.prepare.begin[k] * 1e6);
        for (i = 0; i < SPMV_WAY_COUNT; i++) near(ready->prepare.slot[k][i] * 1e12, t.prepare.slot[k][i] * 1e12);
    }
    near(ready->prepare.part * 1e12, t.prepare.part * 1e12);
    near(ready->prepare.divide * 1e12, t.prepare.divide * 1e12);
    cr_assert_gt(t.prepare.slot[SPMV_CSR][SPMV_WAY_PLAIN], 0);
    near(ready->noise, t.noise);
    for (i = 0; i < SPMV_ALIKE_COUNT; i++) near(ready->alike[i], t.alike[i]);
    near(ready->high[SPMV_TERM_SPREAD], t.high[SPMV_TERM_SPREAD]);
    near(-ready->low[SPMV_TERM_MODEL], -t.low[SPMV_TERM_MODEL]);
    for (k = 0; k < SPMV_FORMAT_COUNT; k++)
        for (i = 0; i < SPMV_WORK_COUNT; i++)
            CHECK(fabs(ready->work[k][i] - t.work[k][i]) <= 1e-9 * t.work[k][i], "work %d of format %d", i, (int)k);
    for (k = 0; k < t.count; k++) {
        const spmv_tune_row *a = &t.row[k], *b = &ready->row[j];
        if (!a->curve) continue;
        CHECK(j < ready->count && a->type == b->type && a->kind == b->kind && !strcmp(a->variant, b->variant), "row %d", (int)k);
        CHECK(a->layout.format == b->layout.format && !memcmp(a->layout.key, b->layout.key, sizeof a->layout.key), "row %d", (int)k);
        CHECK(!b->rate, "row %d", (int)k);
        for (i = 0; i < t.rows * t.per_row; i++)
            CHECK(fabs((double)(a->curve[i] - b->curve[i])) < 1e-5, "row %d, size %d: %g, not %g", (int)k, i, (double)b->curve[i],
                  (double)a->curve[i]);
        j++;
    }
    cr_assert_eq(j, ready->count);
    for (k = 0; k < t.fits; k++) {
        const spmv_tune_fit *a = &t.fit[k], *b = &ready->fit[k];
        CHECK(a->type == b->type && a->layout.format == b->layout.format && !strcmp(a->variant, b->variant), "fit %d", (int)k);
        CHECK(!memcmp(a->layout.key, b->layout.key, sizeof a->layout.key), "fit %d", (int)k);
        for (i = 0; i < SPMV_TERM_COUNT; i++) CHECK(fabs(a->factor[i] - b->factor[i]) < 1e-9, "fit %d, term %d", (int)k, i);
        CHECK(fabs(a->error - b->error) < 1e-9, "fit %d", (int)k);
    }
    spmv_tuning_free(&t);
    cr_assert_gt(checks_done, 5000);
}

Test(tuning, bundled_tables)
{
    size_t i, k, length, characters;
    cr_assert_gt(spmv_tuning_count(), 0);
    for (i = 0; i < spmv_tuning_count(); i++) {
        const char *text = spmv_tuning_text(i, &length), *found;
        int exact = 0;
        size_t found_length;
        spmv_tuning t;
        char name[40];
        spmv_status s;
        snprintf(name, sizeof name, "table %d", (int)i);
        s = spmv_tuning_read(&t, text, length, name, NULL);
        CHECK(s == SPMV_OK, "%s: %s", name, spmv_status_name(s));
        for (k = 0, characters = 0; k < length; k++) characters += text[k] != 0;
        /* 28 KB of rates, which tune keeps to, 1 KB of what samples showed, and a line for each fit */
        CHECK(characters <= 29 * 1024 + 80 * t.fits, "%s has %d characters", t.device, (int)characters);
        CHECK(t.count > 0 && t.copy > 0 && t.read > 0 && t.launch > 0, "%s: its head or its rows are empty", t.device);
        for (k = 0; k < t.count; k++)
            CHECK(spmv_tuning_rate(&t, &t.row[k], 5000, 5) > 0, "%s: row %d has no rate", t.device, (int)k);
        found = spmv_tuning_bundled(t.device, t.device_class, &found_length, &exact);
        CHECK(exact == 1 && found_length > 0 && found, "%s is not found by its name", t.device);
        found = spmv_tuning_bundled("none such", t.device_class, &found_length, &exact);
        CHECK(exact == 0 && found && found_length > 0, "no table of class %s is found", spmv_device_class_name(t.device_class));
        spmv_tuning_free(&t);
    }
}

/* A processor without a table of its own gets that of another one with the same runtime. */
Test(tuning, runtimes)
{
    static const char *const device[][2] = {
        { "pthread-skylake-avx512-Intel(R) Xeon(R) Platinum 8370C", "pthread-" }, { "cpu-znver4-AMD EPYC 9654", "pthread-" },
        { "Intel(R) Xeon(R) Platinum 8370C", "AMD EPYC" }, { "AMD EPYC 9654 96-Core Processor", "AMD EPYC" }
    };
    size_t i, length;
    for (i = 0; i < sizeof device / sizeof *device; i++) {
        int exact = 7;
        spmv_tuning t;
        const char *text = spmv_tuning_bundled(device[i][0], SPMV_DEVICE_CLASS_CPU, &length, &exact);
        cr_assert(text && !exact, "%s", device[i][0]);
        cr_assert_eq(spmv_tuning_read(&t, text, length, NULL, NULL), SPMV_OK);
        CHECK(!strncmp(t.device, device[i][1], strlen(device[i][1])), "%s gets the table of %s", device[i][0], t.device);
        spmv_tuning_free(&t);
    }
}

/* Both tables of GPUs were timed in graphs, which tell small products apart; another GPU goes by that of the H100. */
Test(tuning, of_gpus_are_timed_in_graphs)
{
    static const char *const name[][2] = { { "NVIDIA A100", "NVIDIA H100 80GB HBM3" }, { NULL, "NVIDIA H100 80GB HBM3" },
                                           { "NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3" }, { "NVIDIA H200", "NVIDIA H200" } };
    size_t i, length = 0;
    for (i = 0; i < sizeof name / sizeof *name; i++) {
        int exact = 7;
        spmv_tuning t;
        const char *text = spmv_tuning_bundled(name[i][0], SPMV_DEVICE_CLASS_GPU, &length, &exact);
        cr_assert_eq(spmv_tuning_read(&t, text, length, NULL, NULL), SPMV_OK);
        cr_assert_str_eq(t.device, name[i][1]);
        cr_assert_eq(exact, i > 1);
        cr_assert(t.graph && t.call > t.launch && t.launch > 0, "%s", t.device);
        spmv_tuning_free(&t);
    }
}

Test(tuning, device_classes)
{
    int c;
    for (c = 0; c < SPMV_DEVICE_CLASS_COUNT; c++)
        cr_assert_eq(spmv_device_class_from(spmv_device_class_name((spmv_device_class)c)), (spmv_device_class)c);
    cr_assert_eq(spmv_device_class_from("GPU"), SPMV_DEVICE_CLASS_COUNT);
    cr_assert_eq(spmv_device_class_from(""), SPMV_DEVICE_CLASS_COUNT);
    cr_assert_eq(spmv_device_class_from(NULL), SPMV_DEVICE_CLASS_COUNT);
    cr_assert_str_eq(spmv_device_class_name(SPMV_DEVICE_CLASS_COUNT), "unknown");
}

Test(tuning, no_table)
{
    int exact = 7;
    size_t length = 7;
    cr_assert(spmv_tuning_bundled("host", SPMV_DEVICE_CLASS_COUNT, &length, &exact) == NULL);
    cr_assert(length == 0 && exact == 0);
    cr_assert(spmv_tuning_bundled("host", SPMV_DEVICE_CLASS_COUNT, &length, NULL) == NULL);
    cr_assert(spmv_tuning_text(spmv_tuning_count() + 5, &length) == NULL && length == 0);
}

Test(tuning, kinds)
{
    cr_assert_str_eq(spmv_tune_kind_name(SPMV_TUNE_BANDED), "banded");
    cr_assert_str_eq(spmv_tune_kind_name(SPMV_TUNE_UNEVEN), "uneven");
    cr_assert_str_eq(spmv_tune_kind_name(SPMV_TUNE_KIND_COUNT), "unknown");
}

/* ---- fits ---------------------------------------------------------------------------------------------------------- */

Test(tuning, costs_of_preparing_are_read)
{
    spmv_tuning t = good(HEAD AXES "convert sell 40 900 - 1100\npart 1200\ndivide 9000\nlook 2400 110\nbuild 200000\n"
                                   "f64 banded csr/" RATES);
    const spmv_tune_prepare *p = &t.prepare;
    cr_assert(fabs(p->begin[SPMV_SELL] - 40e-6) < 1e-12 && fabs(p->slot[SPMV_SELL][SPMV_WAY_PLAIN] - 900e-12) < 1e-18);
    cr_assert(p->slot[SPMV_SELL][SPMV_WAY_OWN] <= 0 && fabs(p->slot[SPMV_SELL][SPMV_WAY_SORTED] - 1100e-12) < 1e-18);
    cr_assert(p->begin[SPMV_CSR] <= 0 && p->slot[SPMV_CSR][SPMV_WAY_PLAIN] <= 0);
    cr_assert(fabs(p->part - 1200e-12) < 1e-18 && fabs(p->divide - 9000e-12) < 1e-18);
    cr_assert(fabs(p->look - 2400e-6) < 1e-12 && fabs(p->look_byte - 110e-12) < 1e-18 && fabs(p->build - 0.2) < 1e-9);
    spmv_tuning_free(&t);
}

Test(tuning, fits_are_read)
{
    spmv_tuning t = good(HEAD AXES FITS "fit f32 sell:h=8/WG=64 0.15 1 0 -2.5 0 0.25 -0.5 0 0 -0.01\nf64 banded csr/" RATES);
    cr_assert(fabs(t.left_out - 0.2) < 1e-12 && t.structures == 46 && t.samples == 5120 && t.fits == 1);
    cr_assert(fabs(t.noise - 0.07) < 1e-12);
    cr_assert(fabs(t.alike[SPMV_ALIKE_ANY] - 0.2) < 1e-12 && fabs(t.alike[SPMV_ALIKE_FORMAT] - 0.4) < 1e-12);
    cr_assert(fabs(t.alike[SPMV_ALIKE_RUNS] - 0.7) < 1e-12 && fabs(t.alike[SPMV_ALIKE_LAYOUT] - 0.9) < 1e-12);
    cr_assert(t.fit[0].type == SPMV_F32 && t.fit[0].layout.format == SPMV_SELL && t.fit[0].layout.key[SPMV_KEY_H] == 8);
    cr_assert_str_eq(t.fit[0].variant, "WG=64");
    cr_assert(fabs(t.fit[0].error - 0.15) < 1e-12 && fabs(t.fit[0].factor[SPMV_TERM_ALL] - 1) < 1e-12);
    cr_assert(fabs(t.fit[0].factor[SPMV_TERM_FILL] + 2.5) < 1e-12 && fabs(t.fit[0].factor[SPMV_TERM_MODEL] - 0.25) < 1e-12);
    cr_assert(fabs(t.fit[0].factor[SPMV_TERM_CHAIN] + 0.01) < 1e-12 && t.low[SPMV_TERM_MODEL] == -1 && t.high[SPMV_TERM_FILL] == 3);
    cr_assert(fabs(t.work[SPMV_SELL][SPMV_WORK_BYTES] - 0.5) < 1e-12 && fabs(t.work[SPMV_SELL][SPMV_WORK_CHAIN] - 0.25) < 1e-12);
    cr_assert(fabs(t.work[SPMV_SELL][SPMV_WORK_SLOTS] * 1e12 - 250) < 1e-6 && fabs(t.work[SPMV_SELL][SPMV_WORK_UNEVEN] * 1e12 - 3) < 1e-6);
    cr_assert(t.work[SPMV_CSR][SPMV_WORK_LAUNCH] == 0 && t.work[SPMV_CSR][SPMV_WORK_SLOTS] == 0);
    cr_assert(fabs(t.regret[SPMV_F64] - 1.08) < 1e-12 && fabs(t.worst[SPMV_F64] - 1.7) < 1e-12 && t.regret[SPMV_F32] == 0);
    spmv_tuning_free(&t);
    cr_assert(t.fits == 0 && !t.fit);
    cr_assert_str_eq(spmv_term_name(SPMV_TERM_SPREAD), "spread");
    cr_assert_str_eq(spmv_term_name(SPMV_TERM_COUNT), "unknown");
}

/* The estimate of csr on a matrix of 1000 full rows, by a table whose text ends in these lines. */
static spmv_estimate estimate_by(const char *fits)
{
    char text[1000];
    spmv_estimate e;
    spmv_tuning t;
    spmv_build how;
    spmv_plan plan;
    matrix m;
    spmv_csr a;
    snprintf(text, sizeof text, HEAD "read 100\nlaunch 1\n" AXES "f64 banded csr/" RATES "%s", fits);
    t = good(text);
    memset(&how, 0, sizeof how);
    matrix_random(&m, "full", 1000, 16, 1);
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    cr_assert_eq(spmv_plan_parse(&plan, "csr", NULL, NULL), SPMV_OK);
    cr_assert_eq(spmv_predict(&e, &plan, NULL, &a, &how, NULL, &t, NULL), SPMV_OK);
    spmv_csr_free(&a);
    matrix_free(&m);
    spmv_tuning_free(&t);
    return e;
}

Test(tuning, fits_change_the_estimate)
{
    spmv_estimate plain = estimate_by(""), twice = estimate_by("fit f64 csr/ 0.3 1 0 0 0 0 0 0 0 0\n"),
                  other = estimate_by("fit f32 csr/ 0.3 1 0 0 0 0 0 0 0 0\nfit f64 sell/ 0.3 1 0 0 0 0 0 0 0 0\n"),
                  alike = estimate_by("fit f64 csr:run=1024/ 0.3 2 0 0 0 0 0 0 0 0\n"),
                  nothing = estimate_by("fit f64 csr/ 0.3 -20 0 0 0 0 0 0 0 0\n");
    cr_assert(plain.seconds > 0 && fabs(plain.seconds / plain.rates - 1) < 1e-9 && plain.error == 0);
    cr_assert(fabs(twice.seconds / plain.seconds - 2) < 1e-6 && fabs(twice.error - 0.3) < 1e-12, "%g", twice.seconds / plain.seconds);
    cr_assert(fabs(other.seconds / plain.seconds - 1) < 1e-6, "fits of another type and format are not used");
    cr_assert(fabs(alike.seconds / plain.seconds - 4) < 1e-6, "the fit of another layout of the format stands in");
    cr_assert(nothing.memory > 0 && fabs(nothing.seconds / nothing.memory - 1) < 1e-9, "never below what the bytes take");
    {
        spmv_estimate model = estimate_by("fit f64 csr/ 0.3 0 0 0 0 1 0 0 0 0\n"), /* a factor of a term of which only 0 was seen */
                      ends = estimate_by("low 1 0 0 0 0 0 0 0 1\nhigh 1 0 0 0 0 0 0 0 1\nfit f64 csr/ 0.3 0 0 0 0 1 0 0 0 0\n");
        cr_assert(plain.term[SPMV_TERM_MODEL] < 0 || plain.term[SPMV_TERM_MODEL] > 0);
        cr_assert(fabs(model.seconds / plain.seconds - 1) > 1e-3 || model.memory >= model.seconds);
        cr_assert(ends.term[SPMV_TERM_MODEL] == 0 && fabs(ends.seconds / plain.seconds - 1) < 1e-9,
                  "beyond the range of the samples a term counts as at its end");
    }
    cr_assert(plain.term[SPMV_TERM_WORK] == 0);
    cr_assert(plain.term[SPMV_TERM_ALL] == 1 && plain.term[SPMV_TERM_FILL] == 0 && plain.term[SPMV_TERM_SPREAD] == 0);
}

/* A fit whose factor of the term is 1 makes the costs of the work the estimate. */
Test(tuning, work_is_the_other_estimate)
{
    const char *fit = "fit f64 csr/ 0.3 0 0 0 0 0 1 0 0 0\n";
    const struct {
        spmv_work work;
        double seconds; /* of one */
        const char *line;
    } of[] = {{SPMV_WORK_LAUNCH, 900, "work csr 900 0 0 0 0 0 0\n"},   {SPMV_WORK_BYTES, 700, "work csr 0 700 0 0 0 0 0\n"},
              {SPMV_WORK_SLOTS, 8e-8, "work csr 0 0 0 80000 0 0 0\n"}, {SPMV_WORK_ROWS, 9e-7, "work csr 0 0 0 0 900000 0 0\n"}};
    const spmv_estimate plain = estimate_by(fit), both = estimate_by("work csr 900 0 0 80000 0 0 0\nfit f64 csr/ 0.3 0 0 0 0 0 1 0 0 0\n"),
                        other = estimate_by("work sell 900 0 0 80000 0 0 0\nfit f64 csr/ 0.3 0 0 0 0 0 1 0 0 0\n");
    char text[200];
    size_t i;
    cr_assert(plain.work[SPMV_WORK_ROWS] == 1000 && plain.work[SPMV_WORK_SLOTS] >= 1000, "%g", plain.work[SPMV_WORK_SLOTS]);
    cr_assert(fabs(plain.work[SPMV_WORK_LAUNCH] * 1e6 - 1) < 1e-9 && plain.work[SPMV_WORK_BYTES] > 0);
    for (i = 0; i < sizeof of / sizeof *of; i++) {
        const double seconds = of[i].seconds * plain.work[of[i].work];
        snprintf(text, sizeof text, "%s%s", of[i].line, fit);
        CHECK(fabs(estimate_by(text).seconds / seconds - 1) < 1e-6, "%s: %g, not %g", text, estimate_by(text).seconds, seconds);
    }
    cr_assert(fabs(both.seconds / (900e-6 + 8e-8 * plain.work[SPMV_WORK_SLOTS]) - 1) < 1e-6, "costs add up");
    cr_assert(plain.seconds > 0 && fabs(plain.seconds / plain.rates - 1) < 1e-9, "without costs the term is 0");
    cr_assert(fabs(other.seconds / plain.seconds - 1) < 1e-9, "the costs of another format are not used");
}

/* A random matrix, which m holds, as CSR. */
static spmv_csr random_matrix(matrix *m, int rows, int cols, double share)
{
    matrix_random(m, "scattered", rows, cols, share);
    matrix_close(m, INTEGERS);
    return matrix_csr(m, SPMV_F64);
}

/* The share of the nonzeros whose line of x a cache of so many lines misses. */
static double missed(const spmv_csr *a, double lines)
{
    double share = -1;
    cr_assert_eq(library_missed(a, lines, &share), SPMV_OK);
    return share;
}

/* With random columns, a cache of half of x misses half of the reads, one of a quarter misses three quarters, and one of all none. With a
 * diagonal, no line is read again after the next nonzeros. */
Test(tuning, reuse_of_x)
{
    enum { COLS = 8000, LINES = COLS / 8 };
    matrix m;
    spmv_csr a = random_matrix(&m, 2000, COLS, 0.01), band;
    uint64_t ptr[COLS + 1];
    uint32_t col[COLS], i;
    cr_assert(fabs(missed(&a, LINES / 2.0) - 0.5) < 0.05, "%g", missed(&a, LINES / 2.0));
    cr_assert(fabs(missed(&a, LINES / 4.0) - 0.75) < 0.05, "%g", missed(&a, LINES / 4.0));
    cr_assert(fabs(missed(&a, LINES)) < 1e-12);
    cr_assert(missed(&a, 1) > 0.98);
    for (i = 0; i < COLS; i++) {
        ptr[i] = i;
        col[i] = i;
    }
    ptr[COLS] = COLS;
    memset(&band, 0, sizeof band);
    band.rows = band.cols = band.nnz = COLS;
    band.ptr = ptr;
    band.col = col;
    cr_assert(missed(&band, 4) < 0.01, "%g", missed(&band, 4));
    spmv_csr_free(&a);
    matrix_free(&m);
}

/* Where the table says what reads of x beyond the cache cost, "auto" offers panels, the more of them the larger x is, but none where x fits
 * or the table does not say it. */
Test(tuning, panels_are_offered)
{
    static const struct {
        const char *far;
        int         panels;
    } given[] = { { "far 0.1 900\n", 1 }, { "far 1 900\n", 0 }, { "far 0.1 0.001\n", 0 }, { "", 0 } };
    static spmv_choice c;
    matrix m;
    spmv_csr a = random_matrix(&m, 4000, 60000, 0.0008); /* x takes 0.46 MiB */
    spmv_build how;
    spmv_build_hints hints;
    size_t i;
    memset(&how, 0, sizeof how);
    memset(&hints, 0, sizeof hints);
    hints.expected_calls = 100000000;
    for (i = 0; i < sizeof given / sizeof *given; i++) {
        char text[1000];
        spmv_tuning t;
        spmv_print(text, sizeof text, "%sread 100\ncache 0.2 200\n%slaunch 1\n%sf64 banded tcsr/%s", HEAD, given[i].far, AXES, RATES);
        t = good(text);
        hints.tuning = &t;
        cr_assert_eq(spmv_choose(&c, "auto", &a, &how, NULL, &hints, NULL, NULL), SPMV_OK);
        cr_assert(c.count && (strstr(c.option[0].plan, "cols=") != NULL) == given[i].panels, "%s: %s", given[i].far, c.option[0].plan);
        cr_assert(!given[i].panels || c.plan.count > 2, "%d panels", c.plan.count);
        spmv_tuning_free(&t);
    }
    spmv_csr_free(&a);
    matrix_free(&m);
}

/* Padding that a product skips lies in the cache all the same, and so do the parts that are multiplied in between: what fits without them
 * is read from memory. */
Test(tuning, padding_and_other_parts_need_the_cache)
{
    enum { ROWS = 4000, WIDE = 60, NARROW = 8 }; /* 384 KB, and 64 KB of vectors */
    static const struct { const char *plan, *cache; int beyond; } c[] = {
        { "csr", "0.5", 0 }, { "csr", "1", 0 }, { "bell:b=2x2", "1", 1 }, { "bell:b=2x2", "8", 0 }, { "ell:w=1+csr", "0.5", 1 },
        { "ell:w=1+csr", "1", 0 }
    };
    spmv_estimate part[SPMV_MAX_PARTS];
    spmv_build how;
    spmv_plan plan;
    matrix m;
    spmv_csr a;
    uint64_t r, k;
    size_t i;
    memset(&how, 0, sizeof how);
    matrix_open(&m, "one block row is long", ROWS, ROWS + NARROW);
    for (r = 0; r < ROWS; r++) {
        for (k = 0; k < (r < 2 ? WIDE : NARROW); k++) matrix_add(&m, r / 2 * 2 + k);
        m.ptr[r + 1] = m.nnz;
    }
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    for (i = 0; i < sizeof c / sizeof *c; i++) {
        char text[1000];
        spmv_tuning t;
        spmv_print(text, sizeof text, "%sread 100\ncache %s 1000\nlaunch 1\n%sf64 banded csr/%sf64 banded ell/%sf64 banded bell:b=2x2/%s",
                   HEAD, c[i].cache, AXES, RATES, RATES, RATES);
        t = good(text);
        cr_assert_eq(spmv_plan_parse(&plan, c[i].plan, NULL, NULL), SPMV_OK);
        cr_assert_eq(spmv_predict(part, &plan, NULL, &a, &how, NULL, &t, NULL), SPMV_OK);
        cr_assert(part[0].seconds > 0, "%s", c[i].plan);
        cr_assert_eq(part[0].beyond > 0, c[i].beyond, "%s, %s MiB: %g", c[i].plan, c[i].cache, part[0].beyond);
        cr_assert(part[0].seconds >= part[0].memory && part[0].memory >= part[0].beyond, "%s", c[i].plan);
        spmv_tuning_free(&t);
    }
    spmv_csr_free(&a);
    matrix_free(&m);
}

/* Scattered columns over an x of six times the cache: csr reads a line of x for most nonzeros. A panel whose elements of x fit into half of
 * the cache does not, also the last one, which has no key. */
Test(tuning, panels_read_less_of_x)
{
    enum { PANELS = 16, COLS = 40000 };
    spmv_tuning t = good(HEAD "read 100\ncache 0.05 200\nlaunch 1\n" AXES "f64 banded csr/" RATES);
    spmv_estimate whole, part[PANELS];
    spmv_build how;
    spmv_plan plan;
    matrix m;
    spmv_csr a;
    double sum = 0;
    int i;
    memset(&how, 0, sizeof how);
    matrix_random(&m, "scattered", 1000, COLS, 0.0005);
    matrix_close(&m, INTEGERS);
    a = matrix_csr(&m, SPMV_F64);
    cr_assert_eq(spmv_plan_parse(&plan, "csr", NULL, NULL), SPMV_OK);
    cr_assert_eq(spmv_predict(&whole, &plan, NULL, &a, &how, NULL, &t, NULL), SPMV_OK);
    cr_assert_eq(spmv_plan_make(&plan, "panels:n=16", &a, NULL, NULL, NULL), SPMV_OK);
    cr_assert_eq(plan.count, PANELS);
    cr_assert_eq(spmv_predict(part, &plan, NULL, &a, &how, NULL, &t, NULL), SPMV_OK);
    for (i = 0; i < PANELS; i++) {
        sum += part[i].memory - part[i].beyond; /* the other panels, which pass through the cache, come on top */
        cr_assert(fabs(part[i].memory / part[0].memory - 1) < 0.1, "panel %d: %g s, not %g", i, part[i].memory, part[0].memory);
    }
    cr_assert(sum < 0.7 * whole.memory, "%g us, not %g", sum * 1e6, whole.memory * 1e6);
    spmv_csr_free(&a);
    matrix_free(&m);
    spmv_tuning_free(&t);
}
