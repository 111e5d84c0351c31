/* SPDX-License-Identifier: MIT
 * The CUDA back end on a driver and a compiler that compute nothing (tests/cuda/fake.c): what is called, in which context, what is left
 * behind, and what comes of a call that fails. Products themselves are tested on a GPU: tests/test_cl.c with SPMV_TEST_DEVICE=cuda: */
#define SPMV_NO_OPENCL
#define SPMV_IMPLEMENTATION
#include "../spmv.h"
#include "../spmv_group.h"

#include "../tools/measure/graph.h"
#include "../tools/measure/runner.h"
#include "../tools/measure/selfcheck.h"
#include "cuda/fake.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <dirent.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <sys/stat.h>
#include <unistd.h>

#define LENGTH(a) (sizeof(a) / sizeof *(a))
enum { ROWS = 5, COLS = 4, NNZ = 7 };
static const uint64_t ptr[ROWS + 1] = { 0, 2, 2, 4, 6, 7 };
static const uint32_t col[NNZ] = { 0, 3, 1, 2, 0, 2, 3 };
static const double   val[NNZ] = { 1, 2, 3, 4, 5, 6, 7 };
static char said[4096];

static void hear(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    snprintf(said, sizeof said, "%s", message);
}

/* What runner.c needs of the command line. */
double cli_seconds(void) { return 0; }
void cli_progress(tool *t, const char *what, double part)
{
    (void)t;
    (void)what;
    (void)part;
}

static long blocks, blocks_left = -1; /* not freed; to be given until one is refused, negative: all are given */

static void *limited(void *user, void *block, size_t bytes)
{
    (void)user;
    if (!bytes) {
        blocks -= block != NULL;
        free(block);
        return NULL;
    }
    if (blocks_left >= 0 && !blocks_left--) return NULL;
    blocks += !block;
    return realloc(block, bytes);
}

static spmv_status open_with(spmv_device *d, spmv_device_desc *desc)
{
    desc->hooks.log = hear;
    desc->hooks.resize = limited;
    desc->backend = spmv_cuda();
    *said = 0;
    return spmv_device_create(d, desc);
}

static spmv_status open_device(spmv_device *d, const char *which)
{
    spmv_device_desc desc = { 0 };
    desc.which = which;
    return open_with(d, &desc);
}

static spmv_status store_as(spmv_matrix *m, spmv_device *d, const char *plan, const char *variant, int updatable)
{
    spmv_desc desc = { 0 };
    desc.updatable = updatable;
    desc.matrix.rows = ROWS;
    desc.matrix.cols = COLS;
    desc.matrix.ptr = ptr;
    desc.matrix.ptr_bits = 64;
    desc.matrix.col = col;
    desc.matrix.val = val;
    desc.plan = plan;
    desc.variant = variant;
    desc.device = d;
    desc.hooks.log = hear;
    desc.hooks.resize = limited;
    return spmv_create(m, &desc);
}

static spmv_status store(spmv_matrix *m, spmv_device *d, const char *plan) { return store_as(m, d, plan, NULL, 0); }

/* Nothing is left of what the driver and the compiler gave out, and none was misused. */
static void check_clean(const char *what)
{
    int i;
    for (i = 0; i < FAKE_KINDS; i++) cr_assert_eq(fake.alive[i], 0, "%s: %d of kind %d are left", what, fake.alive[i], i);
    cr_assert_eq(fake.bad, 0, "%s: %d bad calls", what, fake.bad);
    cr_assert_null(fake.current, "%s: a context is still current", what);
    cr_assert_eq(fake.mode, 0, "%s: capture mode %d", what, fake.mode);
}

Test(devices, are_described)
{
    spmv_device_info info[3];
    spmv_hooks hooks = { 0 };
    size_t n = 9;
    hooks.log = hear;
    cr_assert_eq(spmv_device_list(info, LENGTH(info), &n, &hooks), SPMV_OK);
    cr_assert_eq(n, FAKE_DEVICES);
    cr_assert_str_eq(info[0].name, "NVIDIA Fake 0");
    cr_assert_str_eq(info[0].version, "compute capability 9.0");
    cr_assert_str_eq(info[0].driver, "CUDA 13.0");
    cr_assert_eq(info[0].type, SPMV_DEVICE_GPU);
    cr_assert_eq(info[0].nvidia, 90);
    cr_assert_eq(info[1].nvidia, 81);
    cr_assert_eq(info[0].compute_units, 132);
    cr_assert_eq(info[0].local_bytes, 49152);
    cr_assert_eq(info[0].group_size, 1024);
    cr_assert_eq(info[0].global_bytes, (uint64_t)1 << 32);
    cr_assert_eq(info[0].alloc_bytes, (uint64_t)1 << 32);
    cr_assert_eq(info[0].image_texels, 0);
    cr_assert(info[0].f64 && info[0].profiling && info[0].atomics64 && !info[0].out_of_order);
    check_clean("list");
}

Test(devices, are_found_by_back_end_and_number)
{
    static const char *const which[][2] = { { NULL, "0" }, { "1", "1" }, { "cuda:1", "1" }, { "CUDA:", "0" }, { "Cuda:fake 1", "1" },
                                            { "cuda:gpu", "0" }, { "cuda", "0" } };
    spmv_device d;
    size_t i;
    for (i = 0; i < LENGTH(which); i++) {
        cr_assert_eq(open_device(&d, which[i][0]), SPMV_OK, "%s", said);
        cr_assert_str_eq(d.info.name + strlen("NVIDIA Fake "), which[i][1]);
        spmv_device_destroy(&d);
        check_clean("open");
    }
    cr_assert_eq(open_device(&d, "cuda:2"), SPMV_ERR_NO_DEVICE);
    cr_assert_eq(open_device(&d, "cud:0"), SPMV_ERR_NO_DEVICE);
}

/* Where there is no driver, no GPU, or a driver that does not start. */
Test(devices, are_none_without_a_driver)
{
    static const struct { int init, devices; const char *says; } ways[] = {
        { 100, 0, "" }, { 34, 0, "" }, { 999, 0, "cuInit: CUDA_ERROR_FAKE (999): planted" }, { 0, 0, "" }
    };
    spmv_hooks hooks = { 0 };
    spmv_device d;
    size_t i, n;
    hooks.log = hear;
    for (i = 0; i < LENGTH(ways); i++) {
        spmv__cuda_api.driver.state = 0; /* as in a new process */
        fake.init = ways[i].init;
        fake.devices = ways[i].devices;
        *said = 0;
        n = 9;
        cr_assert_eq(spmv_device_list(NULL, 0, &n, &hooks), SPMV_OK);
        cr_assert_eq(n, 0);
        cr_assert_str_eq(said, ways[i].says);
        cr_assert_eq(open_device(&d, NULL), SPMV_ERR_NO_DEVICE);
        cr_assert(strstr(said, "CUDA: the driver is too old, does not start, or finds no GPU"), "%s", said);
        check_clean("no device");
    }
    spmv__cuda_api.driver.state = SPMV__LOAD_ABSENT; /* what loading a library that is not there gives */
    cr_assert_eq(open_device(&d, NULL), SPMV_ERR_NO_DEVICE);
    cr_assert(strstr(said, "no CUDA driver was found (libcuda.so.1)"), "%s", said);
}

Test(devices, callers_own_are_left_alone)
{
    spmv_device first, d;
    spmv_device_desc desc = { 0 };
    void *context, *queue;
    int i;
    cr_assert_eq(open_device(&first, NULL), SPMV_OK);
    context = first.context;
    queue = first.queue;
    for (i = 1; i < 8; i++) { /* every set of the three; a device alone is not enough */
        desc.context = i & 1 ? context : NULL;
        desc.queue = i & 2 ? queue : NULL;
        desc.id = i & 4 ? first.info.id : NULL;
        if (i == 4) {
            cr_assert_eq(open_with(&d, &desc), SPMV_ERR_ARGUMENT);
            continue;
        }
        cr_assert_eq(open_with(&d, &desc), SPMV_OK, "%d: %s", i, said);
        cr_assert_eq(d.context, context);
        cr_assert((d.queue == queue) == (desc.queue != NULL));
        cr_assert_str_eq(d.info.name, "NVIDIA Fake 0");
        cr_assert_eq(fake.alive[FAKE_STREAMS], desc.queue ? 1 : 2);
        spmv_device_destroy(&d);
        cr_assert_eq(fake.alive[FAKE_STREAMS], 1);
        cr_assert_eq(fake.alive[FAKE_CONTEXTS], 1);
    }
    desc.id = (void *)((char *)first.info.id + 1);
    cr_assert_eq(open_with(&d, &desc), SPMV_ERR_ARGUMENT);
    desc.id = NULL;
    desc.context = &d;
    desc.queue = queue;
    cr_assert_eq(open_with(&d, &desc), SPMV_ERR_ARGUMENT);
    spmv_device_destroy(&first);
    check_clean("own");
}

/* It opens a device on the caller's stream for each layout, and closes it. */
Test(devices, are_left_alone_by_a_self_check)
{
    selfcheck_desc some = { 0 };
    selfcheck_counts n;
    spmv_device d;
    int i;
    some.formats = 1u << SPMV_COO | 1u << SPMV_DENSE;
    some.types = 1u << SPMV_F64;
    cr_assert_eq(open_device(&d, "cuda:0"), SPMV_OK);
    for (i = 0; i < 2; i++) {
        cr_assert_eq(selfcheck_run(&d, &some, &n), SPMV_OK, "%d: %s", i, said);
        cr_assert(n.wrong > 0 && n.wrong + n.refused == n.variants); /* as nothing is computed */
        cr_assert_eq(fake.alive[FAKE_STREAMS], 1);
        cr_assert_eq(fake.alive[FAKE_CONTEXTS], 1);
    }
    spmv_device_destroy(&d);
    check_clean("self-check");
}

Test(programs, are_compiled_for_the_device)
{
    static const struct { const char *which; int archs[3]; const char *macros, *options; } ways[] = {
        { "0", { 75, 80, 90 }, NULL, "--gpu-architecture=sm_90 --fmad=true --minimal " },
        { "0", { 75, 80, 90 }, "-DREPEAT=1", "--gpu-architecture=sm_90 --fmad=false --minimal " },
        { "0", { 100, 80, 75 }, "-DREPEAT=0", "--gpu-architecture=compute_80 --fmad=true --minimal " },
        { "1", { 75, 80, 90 }, NULL, "--gpu-architecture=compute_80 --fmad=true --minimal " }
    };
    spmv_device d;
    void *program;
    size_t i;
    for (i = 0; i < LENGTH(ways); i++) {
        memcpy(fake.archs, ways[i].archs, sizeof fake.archs);
        cr_assert_eq(open_device(&d, ways[i].which), SPMV_OK);
        cr_assert_eq(spmv__device_program(&d, SPMV_CSR, ways[i].macros, &program), SPMV_OK, "%s", said);
        cr_assert_str_eq(fake.options, ways[i].options);
        spmv_device_destroy(&d);
        check_clean(ways[i].options);
    }
    fake.archs[0] = fake.archs[1] = fake.archs[2] = 120;
    cr_assert_eq(open_device(&d, "0"), SPMV_OK);
    cr_assert_eq(spmv__device_program(&d, SPMV_CSR, NULL, &program), SPMV_ERR_BUILD);
    cr_assert_str_eq(said, "NVRTC does not compile for compute capability 9.0 of NVIDIA Fake 0: that of an older CUDA toolkit may");
    spmv_device_destroy(&d);
}

/* An older NVRTC does not know --minimal. */
Test(programs, are_compiled_by_older_compilers)
{
    spmv_device d;
    void *program;
    fake.old = 1;
    cr_assert_eq(open_device(&d, "0"), SPMV_OK);
    cr_assert_eq(spmv__device_program(&d, SPMV_CSR, NULL, &program), SPMV_OK, "%s", said);
    cr_assert_str_eq(fake.options, "--gpu-architecture=sm_90 --fmad=true ");
    spmv_device_destroy(&d);
    check_clean("old");
}

Test(programs, are_macros_and_prelude_and_source)
{
    spmv_kernel_source source = { "some.cl", "-DA=1 -DB -cl-fast  -DC=x=y", 2, { "one", "two!" }, { 3, 3 } };
    spmv_device d = { 0 };
    char *text = spmv__cuda_text(&d, &source);
    const char *end = "#define A 1\n#define B 1\n#define C x=y\nonetwo";
    cr_assert_not_null(text);
    cr_assert_str_eq(text + strlen(text) - strlen(end), end);
    cr_assert_not_null(strstr(text, "#define __kernel"));
    spmv_free(&d.hooks, text);
}

/* Machine code is taken out and given back, so that a second device object needs no compiler: also that of PTX. */
Test(programs, are_bytes)
{
    static const char *const which[] = { "0", "1" }; /* machine code; PTX */
    spmv_device d;
    spmv_matrix m;
    void *bytes;
    size_t size, i;
    for (i = 0; i < LENGTH(which); i++) {
        cr_assert_eq(open_device(&d, which[i]), SPMV_OK, "%s", said);
        cr_assert_eq(store(&m, &d, "ell:w=1,rowmajor=1+coo"), SPMV_OK, "%s", said);
        cr_assert_geq(d.compiled, 2);
        cr_assert_eq(spmv_device_programs_take(&d, &bytes, &size), SPMV_OK, "%s", said);
        spmv_destroy(&m);
        spmv_device_destroy(&d);
        cr_assert_eq(open_device(&d, which[i]), SPMV_OK, "%s", said);
        cr_assert_eq(spmv_device_programs_give(&d, bytes, size), SPMV_OK);
        spmv_free(&d.hooks, bytes);
        fake.modules[0] = fake.linked = 0;
        cr_assert_eq(store(&m, &d, "ell:w=1,rowmajor=1+coo"), SPMV_OK, "%s", said);
        cr_assert_eq(d.compiled, 0);
        cr_assert(!fake.modules[0] && !fake.linked);
        spmv_destroy(&m);
        spmv_device_destroy(&d);
        check_clean(which[i]);
    }
}

enum { BEFORE_VOLTA = 60 }; /* a compute capability for which no program ships */

/* The kernels that fill parts are compiled once the host has taken as long as that takes, or at once where they will be kept. A product's
 * own program also has the kernel that scales y. */
Test(programs, for_conversion_are_compiled_when_that_pays)
{
    spmv_device d;
    spmv_matrix m;
    int way;
    for (way = 0; way < 3; way++) {
        double rented = 0;
        int again;
        cr_assert_eq(open_device(&d, "0"), SPMV_OK, "%s", said);
        d.info.nvidia = BEFORE_VOLTA;
        fake.archs[0] = BEFORE_VOLTA;
        if (way == 1) cr_assert_eq(spmv_device_programs_give(&d, NULL, 0), SPMV_OK);
        if (way == 2) d.common->rented = 1;
        for (again = 0; again < 2; again++) {
            cr_assert_eq(store(&m, &d, "sell"), SPMV_OK, "%s", said);
            cr_assert_eq(d.compiled, way ? 2 : 1, "%d, %d", way, again);
            cr_assert_eq(m.store.part[0].elsewhere != NULL, way != 0, "%d, %d", way, again);
            cr_assert_eq(d.common->rented > rented, !way, "%d, %d: %g s", way, again, d.common->rented);
            rented = d.common->rented;
            spmv_destroy(&m);
        }
        spmv_device_destroy(&d);
        check_clean("conversion");
    }
}

/* Those that find tiles are two more, which must pay as well. */
Test(programs, that_find_tiles_are_compiled_when_that_pays)
{
    static const int compiled[] = { 1, 2, 2, 5, 5 }; /* the product's; one that fills; none, as nothing was rented; two that find tiles and
                                                        one that fills these; none */
    static const unsigned found[] = { 1, 4 }; /* tiles, and rows that are not empty */
    spmv_device d;
    spmv_matrix m;
    size_t i;
    memcpy(fake.found, found, sizeof found);
    cr_assert_eq(open_device(&d, "0"), SPMV_OK, "%s", said);
    d.info.nvidia = BEFORE_VOLTA;
    fake.archs[0] = BEFORE_VOLTA;
    for (i = 0; i < LENGTH(compiled); i++) {
        d.common->rented = i == 1 ? 0.1 : i == 3; /* seconds: enough for one that fills, enough for all */
        cr_assert_eq(store(&m, &d, "tcsr"), SPMV_OK, "%s", said);
        cr_assert_eq(d.compiled, compiled[i], "%d: %d", (int)i, (int)d.compiled);
        cr_assert_eq(m.store.part[0].elsewhere != NULL, i > 0, "%d", (int)i);
        spmv_destroy(&m);
    }
    memset(fake.found, 0, sizeof fake.found);
    spmv_device_destroy(&d);
    check_clean("tiles");
}

/* A part of which no row is cut says so to the compiler, and gets no kernel that adds pieces. */
Test(programs, know_whether_rows_are_cut)
{
    static const struct { const char *plan; int whole; } ways[] = { { "csr:run=64", 1 }, { "tcsr", 1 }, { "csr", 0 } };
    size_t i;
    fake.reject = "#define CUTS 0\n";
    for (i = 0; i < LENGTH(ways); i++) {
        spmv_device d;
        spmv_matrix m;
        cr_assert_eq(open_device(&d, NULL), SPMV_OK);
        cr_assert_eq(store(&m, &d, ways[i].plan), ways[i].whole ? SPMV_ERR_BUILD : SPMV_OK, "%s", ways[i].plan);
        spmv_destroy(&m);
        spmv_device_destroy(&d);
        check_clean(ways[i].plan);
    }
}

Test(programs, show_the_compilers_words)
{
    spmv_device d;
    void *program = NULL;
    fake.reject = "#define OFF nonsense\n";
    cr_assert_eq(open_device(&d, NULL), SPMV_OK);
    cr_assert_eq(spmv__device_program(&d, SPMV_CSR, "-DOFF=nonsense", &program), SPMV_ERR_BUILD);
    cr_assert_str_eq(said, "kernels/csr.cl did not build with -DOFF=nonsense: error 6 of NVRTC\nwhat is that");
    cr_assert_null(program);
    cr_assert_eq(spmv__device_program(&d, SPMV_CSR, "-DOFF=uint", &program), SPMV_OK);
    spmv_device_destroy(&d);
    check_clean("build");
}

/* By default, csr, tcsr, ell and sell keep the matrix out of the cache that all multiprocessors share if it is too large for that. */
Test(products, matrices_that_the_cache_cannot_hold_stay_out_of_it)
{
    static const struct { const char *plan, *variant; uint64_t cache; int nt; } cases[] = {
        { "csr", NULL, 1 << 20, 0 },  { "csr:run=32", NULL, 1 << 20, 0 },  { "tcsr", NULL, 1 << 20, 0 },  { "sell", NULL, 1 << 20, 0 },
        { "csr", NULL, 64, 1 },       { "csr:run=32", NULL, 64, 1 },       { "tcsr", NULL, 64, 1 },       { "sell", NULL, 64, 1 },
        { "csr", NULL, 0, 1 },        { "csr:run=32", NULL, 0, 1 },        { "tcsr", NULL, 0, 1 },        { "sell", NULL, 0, 0 },
        { "csr", "NT=1", 1 << 20, 1 }, { "tcsr", "NT=0", 64, 0 },          { "sell", "NT=0", 64, 0 },     { "ell", NULL, 64, 1 },
        { "ell", NULL, 1 << 20, 0 },
    };
    size_t i;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        spmv_device d;
        spmv_matrix m;
        cr_assert_eq(open_device(&d, NULL), SPMV_OK);
        d.info.cache_bytes = cases[i].cache; /* 0: the device does not say */
        cr_assert_eq(store_as(&m, &d, cases[i].plan, cases[i].variant, 0), SPMV_OK, "%s", said);
        cr_assert_eq(m.on_device->part[0].variant.value[SPMV_KNOB_NT], cases[i].nt, "%s, a cache of %d bytes", cases[i].plan,
                     (int)cases[i].cache);
        spmv_destroy(&m);
        spmv_device_destroy(&d);
    }
}

Test(products, launch_and_nothing_else)
{
    spmv_device d;
    spmv_matrix m;
    spmv_exec e;
    void *x = NULL, *y = NULL;
    unsigned long long at;
    int launches, syncs, forbidden;
    cr_assert_eq(open_device(&d, NULL), SPMV_OK);
    cr_assert_eq(store(&m, &d, "csr"), SPMV_OK);
    cr_assert_eq(spmv_exec_create(&e, m.on_device, NULL), SPMV_OK);
    cr_assert_eq(spmv_buffer_create(&d, 8 * (COLS + 2), &x), SPMV_OK);
    cr_assert_eq(spmv_buffer_create(&d, 8 * (ROWS + 3), &y), SPMV_OK);
    at = (unsigned long long)(uintptr_t)x;
    launches = fake.launches;
    syncs = fake.syncs;
    forbidden = fake.forbidden;
    cr_assert_eq(spmv_cuda_mul(&e, 2, at + 8, 1, 0.5, (unsigned long long)(uintptr_t)y, 3), SPMV_OK, "%s", said);
    cr_assert_eq(fake.forbidden, forbidden); /* its stream may be captured */
    cr_assert_eq(fake.launches, launches + 1);
    cr_assert_eq(fake.syncs, syncs);
    cr_assert_eq(fake.groups, 1);
    cr_assert_eq(fake.threads, (unsigned)m.on_device->part[0].variant.value[SPMV_KNOB_WG]);
    cr_assert_eq(fake.value[11], at + 8); /* behind seven arrays, runs, longs, rows and columns */
    cr_assert_eq(fake.value[12], 1);
    cr_assert_eq(fake.value[13], (unsigned long long)(uintptr_t)y);
    cr_assert_eq(fake.value[14], 3);
    cr_assert_eq(memcmp(&fake.value[15], &(double){ 2 }, 8), 0);
    cr_assert_eq(memcmp(&fake.value[16], &(double){ 0.5 }, 8), 0);
    cr_assert_eq(spmv_cuda_mul(&e, 1, at + 8, 2, 0, (unsigned long long)(uintptr_t)y, 0), SPMV_ERR_ARGUMENT); /* one too far */
    cr_assert_str_eq(said, "x: 4 elements from offset 2 exceed the buffer's 5");
    cr_assert_eq(spmv_cuda_mul(NULL, 1, at, 0, 0, at, 0), SPMV_ERR_ARGUMENT);
    cr_assert_eq(spmv_cuda_mul(&e, 0, 0, 0, 0, (unsigned long long)(uintptr_t)y, 0), SPMV_OK); /* no x */
    cr_assert_eq(fake.launches, launches + 2);
    cr_assert_eq(fake.overlapped, fake.launches); /* all of them are of products, and the device's compute capability is 9.0 */
    spmv_exec_destroy(&e);
    spmv_buffer_destroy(&d, x);
    spmv_buffer_destroy(&d, y);
    spmv_destroy(&m);
    spmv_device_destroy(&d);
    check_clean("products");
}

/* Addresses are compared, not handles, and a GPU ends the context where one is no multiple of the elements' size. */
Test(products, refuse_addresses_before_they_launch)
{
    spmv_device d;
    spmv_matrix m;
    spmv_exec e;
    void *both = NULL;
    unsigned long long at;
    int i, launches;
    cr_assert_eq(open_device(&d, NULL), SPMV_OK);
    cr_assert_eq(store_as(&m, &d, "csr", NULL, 1), SPMV_OK);
    cr_assert_eq(spmv_exec_create(&e, m.on_device, NULL), SPMV_OK);
    cr_assert_eq(spmv_buffer_create(&d, 8 * (2 * ROWS + COLS), &both), SPMV_OK);
    at = (unsigned long long)(uintptr_t)both;
    launches = fake.launches;
    for (i = 1; i < ROWS + COLS; i++) { /* x is at ROWS, once by its offset and once by its address */
        cr_assert_eq(spmv_cuda_mul(&e, 1, at, ROWS, 0, at + 8 * (unsigned)i, 0), SPMV_ERR_ARGUMENT, "y at %d", i);
        cr_assert_str_eq(said, "x and y overlap");
        cr_assert_eq(spmv_cuda_mul(&e, 1, at + 8 * ROWS, 0, 0, at, (unsigned)i), SPMV_ERR_ARGUMENT, "y at %d", i);
    }
    cr_assert_eq(spmv_cuda_mul(&e, 1, at + 4, 0, 0, at + 8 * COLS, 0), SPMV_ERR_ARGUMENT);
    cr_assert_str_eq(said, "x: its address is not a multiple of 8");
    cr_assert_eq(spmv_cuda_mul(&e, 1, at, 0, 0, at + 8 * COLS + 1, 0), SPMV_ERR_ARGUMENT);
    cr_assert_str_eq(said, "y: its address is not a multiple of 8");
    cr_assert_eq(spmv_update_buffer(&m, (char *)both + 4), SPMV_ERR_ARGUMENT);
    cr_assert_str_eq(said, "val: its address is not a multiple of 8");
    cr_assert_eq(fake.launches, launches);
    cr_assert_eq(spmv_cuda_mul(&e, 0, at + 4, ROWS, 0, at, ROWS), SPMV_OK, "%s", said); /* x is not read */
    cr_assert_eq(spmv_cuda_mul(&e, 1, at, ROWS, 0, at, 0), SPMV_OK, "%s", said);
    cr_assert_eq(spmv_cuda_mul(&e, 1, at, ROWS, 0, at, ROWS + COLS), SPMV_OK, "%s", said);
    spmv_exec_destroy(&e);
    spmv_buffer_destroy(&d, both);
    spmv_destroy(&m);
    spmv_device_destroy(&d);
    check_clean("addresses");
}

/* Once a tail has been there, a product with one launches one kernel more, which may follow it closely, and does nothing else. */
Test(products, with_a_tail)
{
    spmv_device d;
    spmv_matrix m;
    spmv_exec e;
    spmv_tail tail = { 0 };
    void *v = NULL;
    int launches, syncs, forbidden, i;
    cr_assert_eq(open_device(&d, NULL), SPMV_OK);
    cr_assert_eq(store(&m, &d, "csr"), SPMV_OK);
    cr_assert_eq(spmv_exec_create(&e, m.on_device, NULL), SPMV_OK);
    cr_assert_eq(spmv_buffer_create(&d, 8 * (COLS + 2 * ROWS + SPMV_DOT_COUNT + 1), &v), SPMV_OK);
    tail.w = v;
    tail.w_offset = COLS + ROWS;
    tail.gamma = 1;
    tail.z = (double *)v + COLS;
    tail.dots = SPMV_DOT_YY;
    tail.sums = (double *)v + COLS + 2 * ROWS;
    tail.sums_offset = 1;
    cr_assert_eq(spmv_exec_mul_tail(&e, 1, v, 0, 0, v, COLS, &tail), SPMV_OK, "%s", said);
    for (i = 0; i < 2; i++) {
        launches = fake.launches;
        syncs = fake.syncs;
        forbidden = fake.forbidden;
        fake.overlapped = 0;
        cr_assert_eq(spmv_exec_mul_tail(&e, 1, v, 0, 0, v, COLS, &tail), SPMV_OK, "%s", said);
        cr_assert(fake.launches == launches + 2 && fake.overlapped == 2 && fake.syncs == syncs && fake.forbidden == forbidden);
        cr_assert(fake.groups == 1 && fake.threads == 256 && fake.value[0] == ROWS);
    }
    tail.z = (double *)v + COLS + 1;
    cr_assert_eq(spmv_exec_mul_tail(&e, 1, v, 0, 0, v, COLS, &tail), SPMV_ERR_ARGUMENT, "z overlaps y in one allocation");
    spmv_exec_destroy(&e);
    spmv_buffer_destroy(&d, v);
    spmv_destroy(&m);
    spmv_device_destroy(&d);
    check_clean("a tail");
}

/* Whatever one thread does while another captures in the global mode. */
Test(products, and_all_else_leave_captures_of_other_threads_alone)
{
    const double x[COLS] = { 1, 2, 3, 4 };
    double y[ROWS];
    spmv_device d;
    spmv_matrix m;
    void *values = NULL;
    cr_assert_eq(spmv_device_list(NULL, 0, &(size_t){ 0 }, NULL), SPMV_OK); /* loads the driver */
    fake.capturing = 1;
    cr_assert_eq(open_device(&d, NULL), SPMV_OK);
    cr_assert_eq(store_as(&m, &d, "csr", NULL, 1), SPMV_OK, "%s", said);
    cr_assert_eq(spmv_update(&m, val), SPMV_OK);
    cr_assert_eq(spmv_buffer_create(&d, sizeof val, &values), SPMV_OK);
    cr_assert_eq(spmv_buffer_write(&d, values, sizeof val, val), SPMV_OK);
    cr_assert_eq(spmv_update_buffer(&m, values), SPMV_OK, "%s", said);
    cr_assert_eq(spmv_mul(&m, 1, x, 0, y), SPMV_OK);
    cr_assert_eq(spmv_exec_timing(m.exec, 1), SPMV_OK);
    cr_assert_eq(spmv_mul(&m, 1, x, 0, y), SPMV_OK);
    cr_assert_eq(spmv_exec_timing(m.exec, 0), SPMV_OK);
    spmv_buffer_destroy(&d, values);
    spmv_destroy(&m);
    spmv_device_destroy(&d);
    fake.capturing = 0;
    cr_assert_gt(fake.forbidden, 0);
    check_clean("a capture in another thread");
}

int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamEndCapture(void *stream, void **graph);
int cuGraphDestroy(void *graph);

/* While the device's own stream is captured it takes products, and all else is refused before it harms the capture: the graph has the
 * products alone, and afterwards everything is as it was. */
Test(products, alone_are_captured)
{
    const double x[COLS] = { 1, 2, 3, 4 };
    double y[ROWS] = { 5 };
    static const char *const plans[] = { "csr", "tcsr", "sell", "bcsr:b=2x2" };
    spmv_device d;
    spmv_matrix m, gone, late;
    spmv_exec e, other;
    spmv_tail tail = { 0 };
    void *v[3] = { NULL, NULL, NULL }, *graph = NULL;
    unsigned long long before[LENGTH(fake.value)];
    size_t i;
    int launches;
    tail.dots = SPMV_DOT_YY;
    cr_assert_eq(open_device(&d, NULL), SPMV_OK);
    cr_assert_eq(store_as(&m, &d, "csr", NULL, 1), SPMV_OK);
    cr_assert_eq(store(&gone, &d, "ell"), SPMV_OK);
    cr_assert_eq(spmv_exec_create(&e, m.on_device, d.queue), SPMV_OK);
    for (i = 0; i < LENGTH(v); i++) cr_assert_eq(spmv_buffer_create(&d, 256, &v[i]), SPMV_OK);
    fake.current = d.context;
    cr_assert_eq(cuStreamBeginCapture_v2(d.queue, 0), 0);
    cr_assert_eq(spmv_exec_mul(&e, 1, v[0], 0, 0, v[1], 0), SPMV_OK, "%s", said);
    memcpy(before, fake.value, sizeof before);
    launches = fake.launches;
    for (i = 0; i < LENGTH(plans); i++) {
        *said = 0;
        cr_assert_eq(store(&late, &d, plans[i]), SPMV_ERR_BUSY, "%s", said);
        cr_assert_not_null(strstr(said, "is being captured"), "%s", said);
    }
    cr_assert_eq(spmv_update(&m, val), SPMV_ERR_BUSY);
    cr_assert_eq(spmv_update_buffer(&m, v[0]), SPMV_ERR_BUSY);
    cr_assert_eq(spmv_mul(&m, 1, x, 0, y), SPMV_ERR_BUSY);
    cr_assert_eq(y[0], 5);
    cr_assert_eq(spmv_buffer_write(&d, v[0], sizeof x, x), SPMV_ERR_BUSY);
    cr_assert_eq(spmv_buffer_read(&d, v[0], sizeof x, y), SPMV_ERR_BUSY);
    tail.sums = v[2];
    cr_assert_eq(spmv_exec_mul_tail(&e, 1, v[0], 0, 0, v[1], 4, &tail), SPMV_ERR_BUSY, "%s", said); /* the first one */
    cr_assert_eq(spmv_exec_create(&other, m.on_device, d.queue), SPMV_OK, "%s", said);
    cr_assert_eq(fake.launches, launches);
    cr_assert_eq(spmv_exec_mul_many(&other, 2, SPMV_SIDE_BY_SIDE, 1, v[0], 0, 0, 0, v[1], 0, 0), SPMV_OK, "%s", said);
    launches = fake.launches;
    spmv_exec_destroy(&other);
    spmv_destroy(&gone);
    cr_assert_not(fake.lost);
    cr_assert_eq(cuStreamEndCapture(d.queue, &graph), 0);
    cr_assert_not_null(graph);
    cr_assert_gt(launches, fake.launches);
    cr_assert_eq(cuGraphDestroy(graph), 0);
    fake.current = NULL;
    cr_assert_eq(spmv_update(&m, val), SPMV_OK, "%s", said); /* where the values are that a graph reads */
    cr_assert_eq(spmv_exec_mul(&e, 1, v[0], 0, 0, v[1], 0), SPMV_OK);
    cr_assert_arr_eq(before, fake.value, sizeof before);
    cr_assert_eq(spmv_exec_mul_tail(&e, 1, v[0], 0, 0, v[1], 4, &tail), SPMV_OK, "%s", said);
    cr_assert_eq(store(&late, &d, "tcsr"), SPMV_OK, "%s", said);
    spmv_destroy(&late);
    spmv_exec_destroy(&e);
    for (i = 0; i < LENGTH(v); i++) spmv_buffer_destroy(&d, v[i]);
    spmv_destroy(&m);
    spmv_device_destroy(&d);
    check_clean("a capture");
}

/* A product on buffers, for graph_record. */
typedef struct recorded_product {
    spmv_exec exec;
    void *x, *y;
} recorded_product;

static spmv_status enqueue_product(void *of)
{
    recorded_product *p = of;
    return spmv_exec_mul(&p->exec, 1, p->x, 0, 0, p->y, 0);
}

/* What spmv bench --graph and spmv tune time: a graph has its products, and a call that fails leaves nothing behind. */
Test(products, are_recorded_in_a_graph)
{
    spmv_device d;
    spmv_matrix m;
    recorded_product p = { 0 };
    graph *g;
    int launches, i, failed = 1;
    cr_assert_eq(open_device(&d, NULL), SPMV_OK);
    cr_assert(graph_possible(&d));
    cr_assert_not(graph_possible(NULL));
    cr_assert_eq(store(&m, &d, "csr"), SPMV_OK);
    cr_assert_eq(spmv_exec_create(&p.exec, m.on_device, NULL), SPMV_OK);
    cr_assert_eq(spmv_buffer_create(&d, 8 * COLS, &p.x), SPMV_OK);
    cr_assert_eq(spmv_buffer_create(&d, 8 * ROWS, &p.y), SPMV_OK);
    for (i = 0; failed; i++) {
        fake.fail_in = i;
        failed = graph_record(&g, &d, enqueue_product, &p) != SPMV_OK;
        cr_assert_eq(failed, fake.fail_in < 0, "call %d: %s", i, fake.failed);
        fake.fail_in = -1;
        if (failed) cr_assert_eq(fake.alive[FAKE_GRAPHS], 0, "call %d: %s", i, fake.failed);
        cr_assert_eq(fake.capturing, 0, "call %d: %s", i, fake.failed);
    }
    cr_assert_gt(i, GRAPH_PRODUCTS);
    cr_assert_eq(fake.alive[FAKE_GRAPHS], 1);
    launches = fake.launches;
    cr_assert_eq(graph_launch(g), SPMV_OK);
    cr_assert_eq(graph_launch(g), SPMV_OK);
    cr_assert_eq(fake.launches, launches + 2 * GRAPH_PRODUCTS);
    fake.fail_in = 0;
    cr_assert_eq(graph_launch(g), SPMV_ERR_BACKEND);
    fake.fail_in = -1;
    graph_free(g);
    graph_free(NULL);
    spmv_exec_destroy(&p.exec);
    spmv_buffer_destroy(&d, p.x);
    spmv_buffer_destroy(&d, p.y);
    spmv_destroy(&m);
    spmv_device_destroy(&d);
    check_clean("graph");
}

/* What a runner recorded goes with the exec that it was recorded with, and products of the next one are recorded anew. */
Test(products, are_recorded_anew_for_another_exec)
{
    spmv_device d;
    spmv_matrix m[2];
    tool t;
    runner r;
    graph *first;
    double took;
    int i, launches;
    memset(&t, 0, sizeof t);
    memset(&r, 0, sizeof r);
    cr_assert_eq(open_device(&d, NULL), SPMV_OK);
    t.graph = 1;
    r.t = &t;
    r.device = r.m.device = &d;
    for (i = 0; i < 2; i++) {
        cr_assert_eq(spmv_buffer_create(&d, 8 * COLS, &r.device_x), SPMV_OK);
        cr_assert_eq(spmv_buffer_create(&d, 8 * ROWS, &r.device_y), SPMV_OK);
        cr_assert_eq(store(&m[i], &d, i ? "ell" : "csr"), SPMV_OK);
        cr_assert_eq(spmv_exec_create(&r.exec, m[i].on_device, NULL), SPMV_OK);
        cr_assert_eq(runner_sample(&r, GRAPH_PRODUCTS - 1, &took), SPMV_OK);
        cr_assert_null(r.recorded); /* too few for a graph */
        launches = fake.launches;
        cr_assert_eq(runner_sample(&r, GRAPH_PRODUCTS + 1, &took), SPMV_OK);
        cr_assert_eq(fake.launches, launches + 2 * GRAPH_PRODUCTS);
        first = r.recorded;
        cr_assert_eq(runner_sample(&r, GRAPH_PRODUCTS, &took), SPMV_OK);
        cr_assert_eq(r.recorded, first);
        cr_assert_eq(fake.alive[FAKE_GRAPHS], 1);
        runner_close_cl(&r);
        cr_assert_null(r.recorded);
        cr_assert_eq(fake.alive[FAKE_GRAPHS], 0);
        spmv_destroy(&m[i]);
    }
    spmv_device_destroy(&d);
    check_clean("runner");
}

/* Kernels start before those in front of them have ended only where the device can do that and the driver offers it. */
Test(products, overlap_where_it_is_possible)
{
    static const struct { const char *which; int old; } where[] = { { "cuda:1", 0 }, { "cuda:0", 1 } };
    size_t i;
    for (i = 0; i < sizeof where / sizeof *where; i++) {
        spmv_device d;
        spmv_matrix m;
        double x[COLS] = { 0 }, y[ROWS] = { 0 };
        cr_assert_eq(open_device(&d, where[i].which), SPMV_OK);
        if (where[i].old) spmv__cuda_api.p_cuLaunchKernelEx = NULL;
        cr_assert_eq(store(&m, &d, "csr"), SPMV_OK);
        cr_assert_eq(spmv_mul(&m, 1, x, 0, y), SPMV_OK, "%s", said);
        cr_assert_gt(fake.launches, 0);
        cr_assert_eq(fake.overlapped, 0);
        spmv_destroy(&m);
        spmv_device_destroy(&d);
    }
    check_clean("overlap");
}

/* Memory goes there and back; what was current in the thread is current again. */
Test(products, leave_the_callers_context_current)
{
    spmv_device first, d;
    void *b = NULL;
    int word[3] = { 1, 2, 3 };
    cr_assert_eq(open_device(&first, "1"), SPMV_OK);
    cr_assert_eq(open_device(&d, "0"), SPMV_OK);
    fake.current = first.context;
    cr_assert_eq(spmv_buffer_create(&d, sizeof word, &b), SPMV_OK);
    cr_assert_eq(spmv_buffer_fill(&d, b, sizeof word, 7), SPMV_OK);
    cr_assert_eq(spmv_buffer_write(&d, b, 4, word), SPMV_OK);
    cr_assert_eq(spmv_buffer_read(&d, b, sizeof word, word), SPMV_OK);
    cr_assert(word[0] == 1 && word[1] == 7 && word[2] == 7);
    spmv_buffer_destroy(&d, b);
    spmv_device_destroy(&d);
    cr_assert_eq(fake.current, first.context);
    fake.current = NULL;
    spmv_device_destroy(&first);
    check_clean("current");
}

/* A device, a matrix in a plan of two parts, products with and without timing. together: the host fills the parts, and where there are
 * threads, all programs are compiled at once; else the device fills them, and programs are compiled one by one. */
static spmv_status everything(int together)
{
    static const double x[COLS] = { 1, 1, 1, 1 };
    double y[ROWS] = { 0 }, seconds = 0;
    spmv_device d;
    spmv_matrix m;
    spmv_status s = open_device(&d, "cuda:0");
    if (s) return s;
    d.common->keeps = !together;
    d.info.nvidia = fake.archs[0] = BEFORE_VOLTA;
#ifdef _OPENMP
    omp_set_num_threads(together ? 2 : 1);
#endif
    s = store(&m, &d, "ell:w=1+coo");
    if (!s) s = spmv_mul(&m, 1, x, 1, y);
    if (!s) s = spmv_exec_timing(m.exec, 1);
    if (!s) s = spmv_mul(&m, 0, x, 1, y); /* no launch, and an event all the same */
    if (!s) s = spmv_exec_seconds(m.exec, &seconds);
    if (!s) cr_assert_float_eq(seconds, 2.5e-3, 1e-12);
    if (!s) fake.fail_in = -1; /* freeing makes calls, too, but has nobody to tell */
    spmv_destroy(&m);
    spmv_device_destroy(&d);
    return s;
}

/* A matrix for both directions, from arrays or from buffers: products and new values. buffers: 2: no new values, and the device makes the
 * transpose. */
static spmv_status everything_both_ways(int buffers)
{
    static const double x[ROWS] = { 1, 1, 1 };
    const void *const from[3] = { ptr, col, val };
    const uint64_t bytes[3] = { sizeof ptr, sizeof col, sizeof val };
    double y[COLS] = { 0 };
    void *buffer[3] = { NULL, NULL, NULL };
    spmv_desc desc = { 0 };
    spmv_device d;
    spmv_matrix m;
    int k;
    spmv_status s = open_device(&d, NULL);
    if (s) return s;
    memset(&m, 0, sizeof m);
    desc.matrix.rows = ROWS;
    desc.matrix.cols = COLS;
    desc.matrix.ptr_bits = 64;
    desc.plan = buffers == 2 ? "sell:h=8" : buffers ? "csr" : "ell:w=1+coo";
    desc.both = 1;
    desc.updatable = buffers < 2;
    desc.buffers = buffers != 0;
    desc.device = &d;
    desc.hooks.log = hear;
    desc.hooks.resize = limited;
    for (k = 0; k < 3 && !s && buffers; k++) {
        s = spmv_buffer_create(&d, bytes[k], &buffer[k]);
        if (!s) s = spmv_buffer_write(&d, buffer[k], bytes[k], from[k]);
    }
    desc.matrix.ptr = buffers ? buffer[0] : ptr;
    desc.matrix.col = buffers ? buffer[1] : col;
    desc.matrix.val = buffers ? buffer[2] : val;
    if (!s) s = spmv_create(&m, &desc);
    if (!s) s = spmv_mul_transposed(&m, 1, x, 1, y);
    if (!s && buffers < 2) s = buffers ? spmv_update_buffer(&m, buffer[2]) : spmv_update(&m, val);
    if (s) *said = 0;
    else fake.fail_in = -1;
    spmv_destroy(&m);
    for (k = 0; k < 3; k++) spmv_buffer_destroy(&d, buffer[k]);
    spmv_device_destroy(&d);
    return s;
}

Test(failures, of_every_call_for_both_directions, .timeout = 60)
{
    spmv_status s;
    long k, here = 0; /* here: the host transposed what the device could not */
    int buffers;
    fake.error = 2;
    for (buffers = 0; buffers < 3; buffers++) {
        cr_assert_eq(everything_both_ways(buffers), SPMV_OK, "%s", said);
        check_clean("both directions");
        for (k = 0;; k++) {
            fake.fail_in = k;
            *fake.failed = 0;
            s = everything_both_ways(buffers);
            here += strstr(said, "the host transposes it") != NULL;
            fake.fail_in = -1;
            check_clean(fake.failed);
            if (!*fake.failed) break;
        }
        cr_assert_eq(s, SPMV_OK, "%s", said);
        cr_assert_gt(k, 100);
        for (s = SPMV_ERR_MEMORY, k = 0; s == SPMV_ERR_MEMORY; k++) {
            blocks_left = k;
            s = everything_both_ways(buffers);
            blocks_left = -1;
            cr_assert_eq(blocks, 0, "%ld blocks are left", blocks);
            check_clean("memory");
        }
        cr_assert_eq(s, SPMV_OK, "%s", said);
        cr_assert(buffers == 2 ? here > 10 : !here);
    }
}

/* ---- groups --------------------------------------------------------------------------------------------------------- */

/* Both GPUs, and with_host the host between them: a group, products, an update. */
static spmv_status everything_of_a_group(int with_host)
{
    static const double x[COLS] = { 1, 1, 1, 1 };
    double y[ROWS] = { 0 };
    spmv_device d[2];
    spmv_device *on[3];
    spmv_group_desc desc = { 0 };
    spmv_group g;
    spmv_status s = open_device(&d[0], "cuda:0");
    if (s) return s;
    s = open_device(&d[1], "cuda:1");
    if (s) {
        spmv_device_destroy(&d[0]);
        return s;
    }
    on[0] = &d[0];
    on[1] = with_host ? NULL : &d[1];
    on[2] = &d[1];
    desc.device = on;
    desc.count = with_host ? 3 : 2;
    desc.divide = SPMV_GROUP_BY_ROWS;
    desc.desc.matrix.rows = ROWS;
    desc.desc.matrix.cols = COLS;
    desc.desc.matrix.ptr = ptr;
    desc.desc.matrix.ptr_bits = 64;
    desc.desc.matrix.col = col;
    desc.desc.matrix.val = val;
    desc.desc.plan = "csr";
    desc.desc.updatable = 1;
    desc.desc.convert = SPMV_CONVERT_ON_HOST;
    desc.desc.hooks.log = hear;
    desc.desc.hooks.resize = limited;
    s = spmv_group_create(&g, &desc);
    if (!s) cr_assert_eq(fake.alive[FAKE_PINNED], with_host); /* what the second GPU sends to the host */
    if (!s) s = spmv_group_mul(&g, 1, x, 1, y);
    if (!s) s = spmv_group_update(&g, val);
    if (s) *said = 0; /* freeing waits for the devices, too, but has nobody to tell */
    else fake.fail_in = -1;
    spmv_group_destroy(&g);
    spmv_device_destroy(&d[0]);
    spmv_device_destroy(&d[1]);
    return s;
}

/* Halos go from GPU to GPU; what goes through the host is pinned. */
Test(groups, send_halos_from_device_to_device)
{
    int peers = fake.peers;
    cr_assert_eq(everything_of_a_group(0), SPMV_OK, "%s", said);
    check_clean("group");
    cr_assert_eq(fake.peers, peers + 2);
    cr_assert_eq(everything_of_a_group(1), SPMV_OK, "%s", said);
    check_clean("group with host");
    cr_assert_eq(fake.peers, peers + 4);
}

Test(groups, leave_nothing_after_a_failure, .timeout = 60)
{
    spmv_status s = SPMV_OK;
    long k;
    int host;
    fake.error = 700;
    for (host = 0; host < 2; host++) {
        for (k = 0;; k++) {
            fake.fail_in = k;
            *fake.failed = 0;
            s = everything_of_a_group(host);
            fake.fail_in = -1;
            check_clean(fake.failed);
            if (!*fake.failed) break;
            if (strncmp(fake.failed, "cuDeviceGet", 11) && strcmp(fake.failed, "cuDeviceTotalMem_v2"))
                cr_assert_neq(s, SPMV_OK, "%s failed, and nobody said so", fake.failed);
        }
        cr_assert_eq(s, SPMV_OK, "%s", said);
        cr_assert_gt(k, 100);
    }
    for (s = SPMV_ERR_MEMORY, k = 0; s == SPMV_ERR_MEMORY; k++) {
        blocks_left = k;
        s = everything_of_a_group(1);
        cr_assert_eq(blocks, 0, "%ld blocks are left", blocks);
        check_clean("memory");
    }
    cr_assert_eq(s, SPMV_OK, "%s", said);
}

/* Prepares a matrix whose CSR form is in buffers of a device; the buffers and the device are made by calls that do not fail. */
static spmv_status prepare_from_buffers(const char *plan, long fail_in)
{
    const void *const from[3] = { ptr, col, val };
    const uint64_t bytes[3] = { sizeof ptr, sizeof col, sizeof val };
    spmv_desc desc = { 0 };
    spmv_device d;
    spmv_matrix m;
    void *buffer[3];
    uint64_t rest, all;
    spmv_status s;
    int k;
    cr_assert_eq(open_device(&d, NULL), SPMV_OK);
    for (k = 0; k < 3; k++) cr_assert_eq(spmv_buffer_create(&d, bytes[k], &buffer[k]), SPMV_OK);
    for (k = 0; k < 3; k++) cr_assert_eq(spmv_buffer_write(&d, buffer[k], bytes[k], from[k]), SPMV_OK);
    desc.matrix.rows = ROWS;
    desc.matrix.cols = COLS;
    desc.matrix.ptr = buffer[0];
    desc.matrix.ptr_bits = 64;
    desc.matrix.col = buffer[1];
    desc.matrix.val = buffer[2];
    desc.buffers = 1;
    desc.plan = plan;
    desc.device = &d;
    desc.hooks.log = hear;
    desc.hooks.resize = limited;
    fake.fail_in = fail_in;
    *fake.failed = 0;
    s = spmv_create(&m, &desc);
    for (k = 0; !s && fail_in < 0 && k < SPMV_MAX_ARRAYS; k++) { /* each array lies in the one buffer */
        const spmv_device_part *p = &m.on_device->part[0];
        if (!p->a[k]) continue;
        cr_assert_not_null(p->all, "%s", plan);
        cr_assert_eq(d.info.backend->buffer_bytes(&d, p->all, &all) || d.info.backend->buffer_bytes(&d, p->a[k], &rest), 0);
        cr_assert((uintptr_t)p->a[k] - (uintptr_t)p->all == all - rest && (all - rest) % 256 == 0, "%s: array %d", plan, k);
    }
    fake.fail_in = -1;
    spmv_destroy(&m);
    for (k = 0; k < 3; k++) spmv_buffer_destroy(&d, buffer[k]);
    spmv_device_destroy(&d);
    check_clean(*fake.failed ? fake.failed : plan);
    return s;
}

/* All arrays of a part that the device fills are one allocation, and nothing is left of it after any failure. */
Test(failures, of_every_call_of_preparing_from_buffers, .timeout = 60)
{
    static const char *const plans[] = { "sell:h=8", "tcsr", "ell" };
    static const unsigned found[] = { 1, 4 }; /* of tcsr: tiles, and rows that are not empty */
    size_t i;
    long k;
    fake.error = 2;
    memcpy(fake.found, found, sizeof found);
    for (i = 0; i < LENGTH(plans); i++) {
        cr_assert_eq(prepare_from_buffers(plans[i], -1), SPMV_OK, "%s", said);
        for (k = 0;; k++) {
            const spmv_status s = prepare_from_buffers(plans[i], k);
            if (!*fake.failed) break;
            cr_assert(!s || s == SPMV_ERR_MEMORY || s == SPMV_ERR_BUILD, "%s: %s: %d", plans[i], fake.failed, (int)s);
        }
        cr_assert_gt(k, 30, "%s", plans[i]);
    }
}

Test(failures, of_every_call, .timeout = 60)
{
    static const int errors[] = { 2, 700 };
    spmv_status s;
    size_t i;
    long k;
    for (i = 0; i < LENGTH(errors); i++) {
        fake.error = errors[i];
        for (k = 0;; k++) {
            fake.fail_in = k;
            *fake.failed = 0;
            s = everything(0);
            fake.fail_in = -1;
            if (!*fake.failed) break; /* fewer calls */
            check_clean(fake.failed);
            if (!strncmp(fake.failed, "cuDeviceGet", 11) || !strcmp(fake.failed, "cuDeviceTotalMem_v2")) continue; /* a device less */
            if (!s && (strstr(said, "the host converts instead") || strstr(said, "so that there may be memory"))) continue;
            if (!s && strstr(said, "instead of being kept")) continue;
            cr_assert_eq(s, errors[i] == 2 ? SPMV_ERR_MEMORY : strncmp(fake.failed, "nvrtc", 5) ? SPMV_ERR_BACKEND : SPMV_ERR_BUILD,
                         "%s: %d", fake.failed, (int)s);
            cr_assert_not_null(strstr(said, strncmp(fake.failed, "nvrtcCompile", 12) ? fake.failed : "did not build"), "%s: %s",
                               fake.failed, said);
        }
        cr_assert_eq(s, SPMV_OK, "%s", said);
        cr_assert_gt(k, 40);
    }
}

Test(failures, of_every_allocation, .timeout = 60)
{
    long k;
    spmv_status s = SPMV_ERR_MEMORY;
    for (k = 0; blocks_left < 0; k++) {
        blocks_left = k;
        s = everything(0);
        cr_assert_eq(blocks, 0, "%ld blocks are left", blocks);
        check_clean("memory");
        if (blocks_left < 0 && s != SPMV_ERR_MEMORY) cr_assert(strstr(said, "the host converts instead"), "%s", said);
    }
    blocks_left = -1;
    cr_assert_eq(s, SPMV_OK, "%s", said);
    cr_assert_gt(k, 30);
}

/* What fails while programs are compiled at once is compiled again alone. */
Test(failures, of_programs_that_are_compiled_at_once, .timeout = 60)
{
    spmv_status s;
    long k;
    fake.error = 700;
    for (k = 0;; k++) {
        fake.fail_in = k;
        *fake.failed = 0;
        s = everything(1);
        fake.fail_in = -1;
        if (!*fake.failed) break;
        check_clean(fake.failed);
        if (strncmp(fake.failed, "nvrtc", 5) && strncmp(fake.failed, "cuDevice", 8) && strcmp(fake.failed, "cuModuleLoadData"))
            cr_assert(s != SPMV_OK || strstr(said, "the host converts instead"), "%s failed, and nobody said so", fake.failed);
    }
    cr_assert_eq(s, SPMV_OK, "%s", said);
    cr_assert_gt(k, 40);
    for (s = SPMV_ERR_MEMORY, k = 0; blocks_left < 0; k++) {
        blocks_left = k;
        s = everything(1);
        cr_assert_eq(blocks, 0, "%ld blocks are left", blocks);
        check_clean("memory");
    }
    blocks_left = -1;
    cr_assert_eq(s, SPMV_OK, "%s", said);
    cr_assert_gt(k, 30);
}

/* ---- programs that ship as PTX ---------------------------------------------------------------------------------------------- */

/* Every program of kernels/ptx.list ships, compiled from the kernels as they are now, and no other. */
Test(shipped, are_current)
{
    char line[1024];
    FILE *list = fopen("kernels/ptx.list", "r");
    size_t programs = 0, found = 0;
    cr_assert_not_null(list);
    while (fgets(line, sizeof line, list)) {
        char *options = strchr(line, ' ');
        int f = 0;
        if (*line == '#') continue;
        line[strcspn(line, "\n")] = 0;
        *options++ = 0;
        while (strcmp(spmv__dev_kernels[f].file, line) != 0) f++;
        found += spmv__shipped_of(spmv__dev_source_hash(f), options) != NULL;
        programs++;
    }
    fclose(list);
    cr_assert_eq(found, programs, "%d of %d are there: run make ptx", (int)found, (int)programs);
    cr_assert_eq(programs + 1, LENGTH(spmv__shipped_all));
}

/* 1: every kernel of the PTX waits for the kernel before it. */
static int all_wait(const char *ptx)
{
    static const char entry[] = ".entry ";
    const char *at = strstr(ptx, entry), *wait, *next;
    for (; at; at = next) {
        next = strstr(at + 1, entry);
        wait = strstr(at, "griddepcontrol.wait;");
        if (!wait || (next && wait > next)) return 0;
    }
    return 1;
}

/* Each is whole, and for the device: from compute capability 9.0 on its kernels wait for the one before them, as they are launched without
 * waiting. */
Test(shipped, unpack_for_the_device)
{
    static const char *const target[] = { ".target sm_70\n", ".target sm_90\n" };
    const spmv__shipped *at;
    spmv_device d;
    int new_one;
    cr_assert_eq(open_device(&d, NULL), SPMV_OK);
    for (at = spmv__shipped_all; at->packed; at++)
        for (new_one = 0; new_one < 2; new_one++) {
            spmv__image *image;
            const char *ptx;
            d.info.nvidia = new_one ? 100 : 89;
            image = spmv__shipped_image(&d, at, 7, "-DA");
            cr_assert_not_null(image);
            ptx = (const char *)(image + 1) + image->options;
            cr_assert_str_eq((const char *)(image + 1), "-DA");
            cr_assert(image->source == 7 && image->bytes == at->bytes + 1u && strlen(ptx) == at->bytes);
            cr_assert_eq(strncmp(ptx, ".version 7.8\n", 13), 0);
            cr_assert_eq(strncmp(ptx + 13, target[new_one], strlen(target[new_one])), 0);
            cr_assert_str_eq(ptx + at->bytes - 2, "}\n");
            cr_assert(new_one ? all_wait(ptx) : !strstr(ptx, "griddepcontrol"), "%s", ptx);
            cr_assert(!strpbrk(ptx, "~^`"));
            spmv_free(&d.hooks, image);
        }
    spmv_device_destroy(&d);
    check_clean("shipped");
}

static void runs_shipped(const char *plan, const char *variant, uint64_t compiled)
{
    spmv_device d;
    spmv_matrix m;
    spmv_exec e;
    cr_assert_eq(open_device(&d, "1"), SPMV_OK, "%s", said);
    cr_assert_eq(store_as(&m, &d, plan, variant, 0), SPMV_OK, "%s: %s", plan, said);
    cr_assert_eq(d.compiled, compiled, "%s: %d", plan, (int)d.compiled);
    cr_assert_eq(fake.linked, 0); /* the driver keeps what it compiles */
    cr_assert_eq(spmv_exec_create(&e, m.on_device, NULL), SPMV_OK, "%s", said);
    spmv_exec_destroy(&e);
    spmv_destroy(&m);
    spmv_device_destroy(&d);
    check_clean(plan);
}

/* What ships needs no compiler, whose library is not even looked for; what does not says what is missing. PTX that the driver does not take
 * is compiled from its source. */
Test(shipped, need_no_compiler)
{
    static const char ell[] = "L=4,WG=256,UNROLL=4";
    spmv_device d;
    spmv_matrix m;
    runs_shipped("ell", ell, 0);
    cr_assert_eq(spmv__cuda_api.compiler.state, 0);
    spmv__cuda_api.compiler.state = SPMV__LOAD_FAILED;
    runs_shipped("ell", ell, 0);
    runs_shipped("csr", "L=32,UNROLL=8,REGS=64", 0);
    runs_shipped("dense", "L=32", 0);
    cr_assert_eq(open_device(&d, NULL), SPMV_OK);
    cr_assert_eq(store_as(&m, &d, "ell", "L=8,WG=64", 0), SPMV_ERR_BUILD);
    cr_assert_eq(strncmp(said, "NVRTC, the compiler for kernels, was not found", 46), 0, "%s", said);
    spmv_device_destroy(&d);
    spmv__cuda_api.compiler.state = 0;
    fake.old_driver = 1;
    runs_shipped("ell", ell, 1);
}

/* ---- programs in a file ------------------------------------------------------------------------------------------------------- */

static char folder[64];

static void own_folder(void)
{
    spmv_print(folder, sizeof folder, "build/cache-%d", (int)getpid());
    cr_assert_eq(mkdir(folder, 0700), 0);
}

/* The number of files in the folder, which are removed if last is 1; name, unless it is NULL: of one of them. */
static int files(int last, char name[512])
{
    DIR *all = opendir(folder);
    struct dirent *one;
    char path[512];
    int n = 0;
    cr_assert_not_null(all);
    while ((one = readdir(all)) != NULL) {
        if (*one->d_name == '.') continue;
        spmv_print(path, sizeof path, "%s/%s", folder, one->d_name);
        if (name) memcpy(name, path, sizeof path);
        if (last) remove(path);
        n++;
    }
    closedir(all);
    if (last) rmdir(folder);
    return n;
}

static void keep_nothing(void) { files(1, NULL); }

/* Opens the device with the cache, stores a matrix with the plan, and closes it; returns how many programs were compiled. */
static int cached(const char *plan, const char *variant, const char *where)
{
    spmv_device_desc desc = { 0 };
    spmv_device d;
    spmv_matrix m;
    int compiled;
    desc.which = "0";
    desc.cache = where;
    cr_assert_eq(open_with(&d, &desc), SPMV_OK, "%s", said);
    cr_assert_eq(store_as(&m, &d, plan, variant, 0), SPMV_OK, "%s", said);
    compiled = (int)d.compiled;
    spmv_destroy(&m);
    *said = 0;
    spmv_device_destroy(&d);
    check_clean(plan);
    return compiled;
}

static size_t bytes_of(const char *name, char *bytes, size_t size)
{
    FILE *file = fopen(name, "rb");
    size_t n;
    cr_assert_not_null(file);
    n = fread(bytes, 1, size, file);
    fclose(file);
    return n;
}

static void put_bytes(const char *name, const char *bytes, size_t size)
{
    FILE *file = fopen(name, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

/* What was compiled is there for the next process, beside what that compiles. Nothing is written unless that is asked for and something was
 * compiled. */
Test(cache, keeps_what_was_compiled, .init = own_folder, .fini = keep_nothing)
{
    char gone[80], name[512];
    cr_assert(cached("csr", "WG=64", NULL) > 0);
    cr_assert_eq(files(0, NULL), 0);
    cr_assert(cached("csr", "WG=64", folder) > 0);
    cr_assert_str_eq(said, "");
    cr_assert_eq(files(0, name), 1);
    cr_assert_eq(strspn(name + strlen(folder), "/spmv-CUDA.0123456789rogams"), strlen(name + strlen(folder)), "%s", name);
    cr_assert_eq(cached("csr", "WG=64", folder), 0);
    cr_assert(cached("ell", "WG=64", folder) > 0);
    cr_assert_eq(cached("csr", "WG=64", folder), 0);
    cr_assert_eq(cached("ell", "WG=64", folder), 0);
    cr_assert_eq(files(0, NULL), 1);
    spmv_print(gone, sizeof gone, "%s/gone", folder);
    cr_assert(cached("csr", "WG=64", gone) > 0);
    cr_assert_eq(strncmp(said, "cache: ", 7), 0, "%s", said);
    cr_assert_not_null(strstr(said, ": No such file or directory"), "%s", said);
}

/* What ships is there for the next process as machine code, which no compiler and no linker has to make again. What the driver does not
 * take of it is made again of the PTX, and if need be of the source. */
Test(cache, keeps_what_ships, .init = own_folder, .fini = keep_nothing)
{
    static const struct { int refused, old_driver, linked, ptx, compiled; } cases[] = {
        { 0, 0, 2, 2, 0 }, /* the first process: the product's and those that fill the part */
        { 0, 0, 0, 0, 0 },
        { 1, 0, 1, 1, 0 }, /* the driver refuses what was kept */
        { 0, 0, 0, 0, 0 },
        { 1, 1, 0, 0, 1 }, /* and PTX */
        { 0, 0, 0, 0, 0 },
    };
    size_t i;
    for (i = 0; i < LENGTH(cases); i++) {
        fake.refused = cases[i].refused;
        fake.old_driver = cases[i].old_driver;
        fake.linked = fake.modules[0] = fake.modules[1] = 0;
        cr_assert_eq(cached("ell", "L=4,WG=256,UNROLL=4", folder), cases[i].compiled, "%d", (int)i);
        cr_assert_eq(fake.linked, cases[i].linked, "%d: %d", (int)i, fake.linked);
        cr_assert_eq(fake.modules[0], cases[i].ptx, "%d: %d", (int)i, fake.modules[0]);
        cr_assert_eq(files(0, NULL), 1);
    }
    spmv__cuda_api.compiler.state = SPMV__LOAD_FAILED; /* NVRTC is not needed */
    cr_assert_eq(cached("csr", "L=32,UNROLL=8,REGS=64", folder), 0);
}

/* Every byte of the file with a bit flipped, and the file cut off everywhere: programs are compiled from source, and the file is whole
 * again afterwards. So it is with a file of another driver. */
Test(cache, is_not_trusted, .init = own_folder, .fini = keep_nothing)
{
    static char whole[65536], bad[65536], now[65536];
    char name[512];
    size_t size, i, cut;
    const int compiled = cached("csr", "WG=64", folder);
    cr_assert(compiled > 0);
    cr_assert_eq(files(0, name), 1);
    size = bytes_of(name, whole, sizeof whole);
    cr_assert(size > 40 && size < sizeof whole);
    for (cut = 0; cut < 2; cut++)
        for (i = 0; i < size; i++) {
            memcpy(bad, whole, size);
            bad[i] = (char)(bad[i] ^ 1 << i % 8);
            put_bytes(name, bad, cut ? i : size);
            cr_assert_eq(cached("csr", "WG=64", folder), compiled, "byte %d, %d", (int)i, (int)cut);
            cr_assert(bytes_of(name, now, sizeof now) == size && !memcmp(now, whole, size), "byte %d, %d", (int)i, (int)cut);
        }
    cr_assert_eq(cached("csr", "WG=64", folder), 0);
    cr_assert_eq(files(0, NULL), 1);
}

/* Two processes that write and read at the same time never get half of a file, and leave nothing else behind. */
Test(cache, of_two_processes, .init = own_folder, .fini = keep_nothing)
{
    static const char *const variants[] = { "WG=32", "WG=64", "WG=128", "WG=256" };
    static char whole[65536];
    char name[512];
    spmv_device d;
    pid_t child[2];
    int who, k, status, read = 0;
    size_t size;
    for (who = 0; who < 2; who++) {
        child[who] = fork();
        if (child[who]) continue;
        for (k = 0; k < 100; k++) cached(k % 3 ? "ell" : "csr", variants[(k + who) % 4], folder);
        _exit(0);
    }
    cr_assert_eq(open_device(&d, "0"), SPMV_OK);
    for (who = 0; who < 2; who += waitpid(child[who], &status, WNOHANG) != 0) {
        if (!files(0, name)) continue;
        name[strcspn(name, ".")] = 0; /* that of the whole file */
        strcat(name, ".programs");
        if (access(name, R_OK)) continue;
        size = bytes_of(name, whole, sizeof whole);
        cr_assert(spmv__pack_is_whole(&d, (const unsigned char *)whole, size), "%d bytes", (int)size);
        read++;
    }
    cr_assert_eq(status, 0);
    cr_assert(read > 2);
    cr_assert_eq(files(0, NULL), 1);
    spmv_device_destroy(&d);
}
