/* SPDX-License-Identifier: MIT
 *
 * Tuning tables: every kind of wrong line is refused with its number, every failing allocation is noticed and nothing leaks, and the
 * bundled tables are found and short. */
#include <criterion/criterion.h>

#include "spmv.h"
#include "spmv/choice.h"
#include "common.h"
#include "library.h"

#define TITLE "spmv tuning table 2\n"
#define HEAD TITLE "device a device\nclass gpu\nmemory 1000\n"
#define COSTS " 1 1 2 3 4 5 6 7 8"

static spmv_status read_text(spmv_tuning *t, const char *text, ledger *l)
{
    spmv_hooks h = ledger_hooks(l);
    size_t n = strlen(text);
    char *exact = (char *)need_exact(n); /* without a terminator, so that a sanitizer detects reading past the end */
    spmv_status s;
    memcpy(exact, text, n);
    s = spmv_tuning_create(t, exact, n, "t.tune", &h);
    free(exact);
    return s;
}

static spmv_tuning good(const char *text)
{
    spmv_tuning t;
    spmv_status s = spmv_tuning_create(&t, text, strlen(text), "t.tune", NULL);
    if (s) cr_assert_fail("%s: %s", spmv_status_name(s), text);
    return t;
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

/* 1: equal but for the last bits. */
static int same(double a, double b) { return fabs(a - b) <= 1e-12 * fabs(b); }

Test(tuning, whole_table)
{
    static const char text[] =
        "# made by hand\n\nspmv tuning table 2\r\n# units\n  device\tNVIDIA H200  \nclass gpu\ndriver 580.1 (x)\ndate 2026-11-21\n"
        "units 132\nlaunch 0.86\ncall 3.5\nmemory 4100\ncache 42.5 7800\nstep 0.065 512 0.067\nprepare 1910 174000 1000 320\n"
        "error 0.25 63 2900\nregret f64 1.04 1.3\nblocks f64 bcsr 1 1.5 0.75 2 1 1 1 0.5\n"
        "f64 csr:run=1024 WG=256,NT=1 1.6 0.97 5.28 0.5 11 1.23 0.77 65 750\nf32 sbell:b=4x4,h=32 - 1 2 3 4 5 6 7 8 9\nmixed coo -" COSTS;
    spmv_tuning t = good(text);
    const double cost[SPMV_COST_COUNT] = { 1.6, 0.97, 5.28e-12, 0.5e-12, 11e-12, 1.23e-12, 0.77 };
    int i;
    cr_assert_str_eq(t.device, "NVIDIA H200");
    cr_assert_eq(t.device_class, SPMV_DEVICE_CLASS_GPU);
    cr_assert_str_eq(t.driver, "580.1 (x)");
    cr_assert_str_eq(t.date, "2026-11-21");
    cr_assert(t.units == 132 && same(t.launch, 0.86e-6) && same(t.call, 3.5e-6) && same(t.read, 4100));
    cr_assert(same(t.cache, 42.5) && same(t.cache_read, 7800));
    cr_assert(same(t.step, 0.065e-6) && t.short_steps == 512 && same(t.long_step, 0.067e-6));
    cr_assert(same(t.part, 1910e-12) && same(t.build, 0.174) && same(t.look, 1e-3) && same(t.look_byte, 320e-12));
    cr_assert(same(t.error, 0.25) && t.structures == 63 && t.samples == 2900);
    cr_assert(same((double)t.blocks[SPMV_F64][SPMV_BCSR][2], 0.75) && t.blocks[SPMV_F32][SPMV_BCSR][2] <= 0);
    cr_assert(same(t.regret[SPMV_F64], 1.04) && same(t.worst[SPMV_F64], 1.3) && t.regret[SPMV_F32] <= 0);
    cr_assert_eq(t.count, 3);
    cr_assert(t.line[0].type == SPMV_F64 && t.line[0].layout.format == SPMV_CSR && t.line[0].layout.key[SPMV_KEY_RUN] == 1024);
    cr_assert_str_eq(t.line[0].variant, "WG=256,NT=1");
    for (i = 0; i < SPMV_COST_COUNT; i++) cr_assert(same(t.line[0].cost[i], cost[i]), "%s", library_cost_name((spmv_cost)i));
    cr_assert(same(t.line[0].begin, 65e-6) && same(t.line[0].slot, 750e-12));
    cr_assert(t.line[1].type == SPMV_F32 && t.line[1].layout.format == SPMV_SBELL);
    cr_assert_str_eq(t.line[1].variant, "");
    cr_assert_eq(t.line[2].type, SPMV_MIXED);
    spmv_tuning_destroy(&t);
    cr_assert(t.count == 0 && !t.line);
}

typedef struct fault {
    unsigned    number; /* the line that is wrong */
    const char *text;
} fault;

static const fault faults[] = {
    {0, ""},
    {1, "spmv tuning table 1\n"},
    {1, "hello\n"},
    {3, "# one\n\nspmv tuning tables\n"},
    {3, TITLE "device x\nclass tpu\n"},
    {3, TITLE "device x\nclass\n"},
    {3, TITLE "class gpu\nmemory 1\n"}, /* no device: detected at the end */
    {3, TITLE "device x\nmemory 1\n"},  /* no class */
    {3, TITLE "device x\nclass gpu\n"}, /* no memory */
    {4, TITLE "device x\nclass gpu\nmemory 0\n"},
    {5, HEAD "units many\n"},
    {5, HEAD "units\n"},
    {5, HEAD "memory -1\n"},
    {5, HEAD "memory 1e3\n"},
    {5, HEAD "memory .\n"},
    {5, HEAD "memory 1.2.3\n"},
    {5, HEAD "memory 9999999999999\n"},
    {5, HEAD "memory 10 10\n"},
    {5, HEAD "cache 42\n"},
    {5, HEAD "cache 42 -1\n"},
    {5, HEAD "launch 2.9us\n"},
    {5, HEAD "call\n"},
    {5, HEAD "step 1 2\n"},
    {5, HEAD "step 1 x 2\n"},
    {5, HEAD "prepare 1 2 3\n"},
    {5, HEAD "prepare 1 2 3 4 5\n"},
    {5, HEAD "error 0.2 46\n"},
    {5, HEAD "error x 46 5120\n"},
    {5, HEAD "regret f16 1.1 2\n"},
    {5, HEAD "regret f64 1.1\n"},
    {5, HEAD "blocks f16 bcsr 1 1 1 1 1 1 1 1\n"},
    {5, HEAD "blocks f64 csr 1 1 1 1 1 1 1 1\n"},
    {5, HEAD "blocks f64 bcsr 1 1 1 1 1 1 1\n"},
    {5, HEAD "blocks f64 bcsr 1 1 1 1 1 1 1 1 1\n"},
    {5, HEAD "colour blue\n"},
    {5, HEAD "f16 csr -" COSTS "\n"},
    {5, HEAD "f64\n"},
    {5, HEAD "f64 csr\n"},
    {5, HEAD "f64 csr" COSTS "\n"},
    {5, HEAD "f64 csx -" COSTS "\n"},
    {5, HEAD "f64 csr:run=x -" COSTS "\n"},
    {5, HEAD "f64 csr:run= -" COSTS "\n"},
    {5, HEAD "f64 ell:w=2+csr -" COSTS "\n"},
    {5, HEAD "f64 ell:w=2 -" COSTS "\n"},
    {5, HEAD "f64 sell:fill=0.5 -" COSTS "\n"},
    {5, HEAD "f64 dia:d=0.6 -" COSTS "\n"},
    {5, HEAD "f64 ell:w=100 -" COSTS "\n"},
    {6, HEAD "f64 csr -" COSTS "\nf64 csr -" COSTS "\n"},
    {5, HEAD "f64 csr 1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890" COSTS "\n"},
    {5, HEAD "f64 csr - 1 2 3 4 5 6 7 8\n"},
    {5, HEAD "f64 csr -" COSTS " 9\n"},
    {5, HEAD "f64 csr - 1 2 3 4 5 6 7 8 x\n"},
    {5, HEAD "f64 csr - 1 2 3 -4 5 6 7 8 9\n"},
    {5, HEAD "f64 csr - 1 2 3 nan 5 6 7 8 9\n"},
    {7, HEAD "f64 csr -" COSTS "\n# fine so far\nf64 ell - 1\n"},
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
        CHECK(!t.count && !t.line && !t.device[0], "case %d: not zeroed", (int)i);
    }
    cr_assert_eq(checks_done, 4 * (sizeof faults / sizeof *faults));
}

/* A table that is cut anywhere, or in which any byte is changed, is read or refused; nothing else happens. */
Test(tuning, damaged_tables)
{
    static const char text[] = HEAD "launch 1\ncache 40 2000\nstep 0.1 512 0.2\nprepare 1 2 3 4\nerror 0.2 46 5120\nregret f64 1.1 2\n"
                               "f64 csr:run=1024 WG=256" COSTS "\nf32 sell:h=8 -" COSTS "\n";
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
            spmv_tuning_destroy(&t);
            CHECK(l.live == 0, "byte %d: %ld blocks lost", (int)i, l.live);
        }
    cr_assert(read > 50 && refused > 500, "%d read, %d refused", (int)read, (int)refused);
}

Test(tuning, allocation_failures)
{
    char text[20000] = HEAD, line[64];
    spmv_tuning t;
    ledger l;
    spmv_hooks h;
    long at, most;
    int i;
    for (i = 0; i < 130; i++) { /* the list of lines grows twice */
        snprintf(line, sizeof line, "f64 csr L=%d" COSTS "\n", i);
        strcat(text, line);
    }
    h = ledger_hooks(&l);
    cr_assert(spmv_tuning_create(&t, text, strlen(text), "t", &h) == SPMV_OK);
    cr_assert(t.count == 130);
    spmv_tuning_destroy(&t);
    cr_assert(l.live == 0);
    most = l.calls;
    for (at = 1; at <= most; at++) {
        spmv_status s;
        h = ledger_hooks(&l);
        l.fail_at = at;
        s = spmv_tuning_create(&t, text, strlen(text), "t", &h);
        CHECK(s == SPMV_ERR_MEMORY, "request %ld of %ld: %s", at, most, spmv_status_name(s));
        CHECK(l.live == 0, "request %ld: %ld blocks left", at, l.live);
        CHECK(!t.count && !t.line, "request %ld: not zeroed", at);
    }
}

/* Zeros, as between the pieces of the bundled tables. */
Test(tuning, zeros_are_blanks)
{
    static const char text[] = TITLE "\0\0\0device x\n\0class host\nmemory\0 9\0\nf32 coo -" COSTS "\0\0\n\0\0";
    spmv_tuning t;
    cr_assert_eq(spmv_tuning_create(&t, text, sizeof text, "pieces", NULL), SPMV_OK);
    cr_assert(t.count == 1 && same(t.read, 9) && same(t.line[0].slot, 8e-12));
    spmv_tuning_destroy(&t);
}

Test(tuning, costs_have_names_and_units)
{
    cr_assert_str_eq(library_cost_name(SPMV_COST_LAUNCH), "launch");
    cr_assert_str_eq(library_cost_name(SPMV_COST_CHAIN), "chain");
    cr_assert_str_eq(library_cost_name(SPMV_COST_COUNT), "unknown");
    cr_assert(same(spmv_cost_unit(SPMV_COST_BYTES), 1) && same(spmv_cost_unit(SPMV_COST_ROWS), 1e-12));
    cr_assert(spmv_cost_unit(SPMV_COST_COUNT) <= 0);
}

/* ---- what is bundled ---------------------------------------------------------------------------------------------- */

Test(tuning, bundled_tables)
{
    size_t i, k, length, characters, csr;
    const char *text, *found;
    for (i = 0; (text = library_tuning_text(i, &length)) != NULL; i++) {
        int exact = 0;
        size_t found_length, of[SPMV_TYPE_COUNT] = { 0 };
        spmv_tuning t;
        char name[40];
        spmv_status s;
        snprintf(name, sizeof name, "table %d", (int)i);
        s = spmv_tuning_create(&t, text, length, name, NULL);
        CHECK(s == SPMV_OK, "%s: %s", name, spmv_status_name(s));
        for (k = 0, characters = 0; k < length; k++) characters += text[k] != 0;
        CHECK(characters <= 8192, "%s has %d characters", t.device, (int)characters);
        CHECK(t.read > 0 && t.launch > 0 && t.error > 0 && t.regret[SPMV_F64] >= 1 && t.regret[SPMV_F32] >= 1, "the head of %s", t.device);
        for (k = 0, csr = 0; k < t.count; k++) {
            const spmv_candidate *c = &t.line[k];
            of[c->type]++;
            csr += c->layout.format == SPMV_CSR && !c->layout.key[SPMV_KEY_RUN] && !c->layout.key[SPMV_KEY_ROWS] && !*c->variant;
            CHECK(c->cost[SPMV_COST_BYTES] > 0 && c->begin + c->slot > 0, "%s: line %d costs nothing", t.device, (int)k);
        }
        for (k = 0; k < SPMV_TYPE_COUNT; k++) CHECK(of[k] <= 24, "%s: %d candidates", t.device, (int)of[k]);
        CHECK(csr == 2 && of[SPMV_F64] >= 12 && of[SPMV_F32] >= 12, "%s lacks candidates", t.device);
        found = spmv_tuning_bundled(t.device, t.device_class, &found_length, &exact);
        CHECK(exact == 1 && found_length > 0 && found, "%s is not found by its name", t.device);
        found = spmv_tuning_bundled("none such", t.device_class, &found_length, &exact);
        CHECK(exact == 0 && found && found_length > 0, "no table of class %s is found", spmv_device_class_name(t.device_class));
        spmv_tuning_destroy(&t);
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
        cr_assert_eq(spmv_tuning_create(&t, text, length, NULL, NULL), SPMV_OK);
        CHECK(!strncmp(t.device, device[i][1], strlen(device[i][1])), "%s gets the table of %s", device[i][0], t.device);
        spmv_tuning_destroy(&t);
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
        cr_assert_eq(spmv_tuning_create(&t, text, length, NULL, NULL), SPMV_OK);
        cr_assert_str_eq(t.device, name[i][1]);
        cr_assert_eq(exact, i > 1);
        cr_assert(t.call > t.launch && t.launch > 0, "%s", t.device);
        spmv_tuning_destroy(&t);
    }
}

Test(tuning, device_classes)
{
    int c;
    for (c = 0; c < SPMV_DEVICE_CLASS_COUNT; c++)
        cr_assert_eq(library_device_class_from(spmv_device_class_name((spmv_device_class)c)), (spmv_device_class)c);
    cr_assert_eq(library_device_class_from("GPU"), SPMV_DEVICE_CLASS_COUNT);
    cr_assert_eq(library_device_class_from(""), SPMV_DEVICE_CLASS_COUNT);
    cr_assert_eq(library_device_class_from(NULL), SPMV_DEVICE_CLASS_COUNT);
    cr_assert_str_eq(spmv_device_class_name(SPMV_DEVICE_CLASS_COUNT), "unknown");
}

Test(tuning, no_table)
{
    int exact = 7;
    size_t length = 7;
    cr_assert(spmv_tuning_bundled("host", SPMV_DEVICE_CLASS_COUNT, &length, &exact) == NULL);
    cr_assert(length == 0 && exact == 0);
    cr_assert(spmv_tuning_bundled("host", SPMV_DEVICE_CLASS_COUNT, &length, NULL) == NULL);
}
