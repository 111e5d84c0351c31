/* SPDX-License-Identifier: MIT
 * NULL for every pointer of every public function, one at a time, is refused with the argument's name, or allowed as documented. So are
 * vectors that overlap, and arrays and structs made by hand that are wrong.
 * "tests/tidy.sh null" compares the functions here with those of the headers. */
#include "../spmv.h"
#include "../spmv_group.h"
#include "../spmv_io.h"
#include <criterion/criterion.h>
#include "final.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char said[1024];

static void listen(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    snprintf(said, sizeof said, "%s", message);
}

static spmv_hooks h;

/* Checks that a call was refused. heard: 1 if it was given hooks, so that the message must name the function and the argument. */
static void refused(const char *call, spmv_status s, const char *argument, int heard)
{
    char want[256];
    size_t n = strcspn(call, "(");
    snprintf(want, sizeof want, "%.*s: %s is NULL", (int)n, call, argument);
    cr_assert_eq(s, SPMV_ERR_ARGUMENT, "%s: %s", call, spmv_status_name(s));
    if (heard) cr_assert_str_eq(said, want, "%s: %s", call, said);
    said[0] = 0;
}
#define REFUSED(argument, call) refused(#call, call, argument, 1)
#define REFUSED_UNHEARD(call) refused(#call, call, "", 0)

/* Runs a call whose message has no log to go to, and finds words in what it wrote to stderr. */
#define REFUSED_ON_STDERR(words, call)                                                    \
    do {                                                                                  \
        char text_[400] = "";                                                             \
        FILE *file_ = tmpfile();                                                          \
        int kept_ = dup(2);                                                               \
        spmv_status status_;                                                              \
        cr_assert(file_ && kept_ >= 0 && fflush(stderr) == 0 && dup2(fileno(file_), 2) == 2); \
        status_ = call;                                                                   \
        fflush(stderr);                                                                   \
        dup2(kept_, 2);                                                                   \
        close(kept_);                                                                     \
        rewind(file_);                                                                    \
        cr_assert(fgets(text_, sizeof text_, file_) && strstr(text_, words), "%s: %s", #call, text_); \
        fclose(file_);                                                                    \
        cr_assert_eq(status_, SPMV_ERR_ARGUMENT);                                         \
    } while (0)
#define FINE(call) cr_assert_eq(call, SPMV_OK, "%s: %s", #call, said)

/* 1 if all bytes are zero. Every check sets them to another value before. */
static int zeroed(const void *p, size_t size)
{
    size_t i;
    for (i = 0; i < size; i++)
        if (((const unsigned char *)p)[i]) return 0;
    return 1;
}
#define REFUSED_AND_ZEROED(argument, out, call)                       \
    do {                                                              \
        memset(&out, 0x5a, sizeof out);                               \
        refused(#call, call, argument, 1);                            \
        cr_assert(zeroed(&out, sizeof out), "%s: not zeroed", #call); \
    } while (0)

/* ---- objects for the calls ---------------------------------------------------------------------------------------------- */
static const int32_t ptr[] = { 0, 1, 2 }, col[] = { 0, 1 };
static const double val[] = { 2, 3 }, x[] = { 1, 10 };
static double y[2];
static spmv_input in;
static spmv_csr a;
static spmv_plan plan;
static spmv_build how;
static spmv_store store;
static const spmv_tail tail; /* of nothing */

static void set_up(void)
{
    h.log = listen;
    in.rows = in.cols = 2;
    in.ptr = ptr;
    in.col = col;
    in.val = val;
    in.updatable = how.updatable = 1;
    FINE(spmv_csr_create(&a, &in, SPMV_F64, &h));
    FINE(spmv_plan_parse(&plan, "csr", NULL, &h));
    FINE(spmv_store_create(&store, &plan, &a, &how, &h));
}

static void tear_down(void)
{
    spmv_store_destroy(&store);
    spmv_csr_destroy(&a);
}

TestSuite(null, .init = set_up, .fini = tear_down);

Test(null, formats)
{
    spmv_view v = { &a, NULL, 0, NULL, 2 };
    spmv_csr c;
    spmv_part p;
    uint32_t wide[] = { 0, 1, 2 }, index[] = { 0, 1 };
    char text[8] = "q";
    cr_assert_eq(spmv_type_from(NULL), SPMV_TYPE_COUNT);
    cr_assert_eq(spmv_format_from(NULL), SPMV_FORMAT_COUNT);
    cr_assert_eq(spmv_simd_from(NULL), SPMV_SIMD_COUNT);
    cr_assert_neq(spmv_format_layouts(SPMV_CSR, NULL), 0);
    REFUSED("out", spmv_csr_create(NULL, &in, SPMV_F64, &h));
    REFUSED_AND_ZEROED("in", c, spmv_csr_create(&c, NULL, SPMV_F64, &h));
    REFUSED_UNHEARD(spmv_csr_update(NULL, val));
    FINE(spmv_csr_update(&a, NULL)); /* every value is 1 */
    spmv_csr_destroy(NULL);
    REFUSED("out", spmv_part_create(NULL, &plan.part[0], &v, &how, &h));
    REFUSED_AND_ZEROED("spec", p, spmv_part_create(&p, NULL, &v, &how, &h));
    REFUSED_AND_ZEROED("view", p, spmv_part_create(&p, &plan.part[0], NULL, &how, &h));
    REFUSED_AND_ZEROED("how", p, spmv_part_create(&p, &plan.part[0], &v, NULL, &h));
    v.a = NULL;
    REFUSED_AND_ZEROED("view->a", p, spmv_part_create(&p, &plan.part[0], &v, &how, &h));
    REFUSED_UNHEARD(spmv_part_update(NULL, val));
    REFUSED("val", spmv_part_update(&store.part[0], NULL));
    spmv_part_destroy(NULL);
    cr_assert(!spmv_part_bytes(NULL) && !spmv_part_slots(NULL));
    REFUSED_UNHEARD(spmv_part_mul(NULL, 1, x, 0, y));
    REFUSED("x", spmv_part_mul(&store.part[0], 1, NULL, 0, y));
    REFUSED("y", spmv_part_mul(&store.part[0], 1, x, 0, NULL));
    FINE(spmv_part_mul(&store.part[0], 0, NULL, 0, y));
    REFUSED("out", spmv_parts_to_csr(NULL, 2, store.part, 1, &h));
    REFUSED_AND_ZEROED("parts", c, spmv_parts_to_csr(&c, 2, NULL, 1, &h));
    FINE(spmv_parts_to_csr(&c, 0, NULL, 0, &h));
    spmv_csr_destroy(&c);
    REFUSED_UNHEARD(spmv_csr_to_cmrs(2, 4, NULL, 32, index));
    REFUSED_UNHEARD(spmv_csr_to_cmrs(2, 4, wide, 32, NULL));
    REFUSED_UNHEARD(spmv_cmrs_to_csr(2, 4, NULL, 32, index));
    REFUSED_UNHEARD(spmv_cmrs_to_csr(2, 4, wide, 32, NULL));
    FINE(spmv_csr_to_cmrs(0, 4, NULL, 32, NULL));
    cr_assert_null(spmv_alloc(NULL, 0, 8));
    spmv_free(NULL, NULL);
    cr_assert_eq(spmv_log(&h, SPMV_ERR_PLAN, NULL), SPMV_ERR_PLAN);
    cr_assert(!said[0]);
    cr_assert(spmv_print(text, sizeof text, NULL) == 0 && !text[0]);
    cr_assert_eq(spmv_print(NULL, 8, "%s", "abc"), 3);
    cr_assert_eq(spmv_print(text, sizeof text, "%s", ""), 0);
}

Test(null, plans)
{
    spmv_plan p;
    spmv_split split, s;
    spmv_store st;
    spmv_view v;
    char text[64] = "q";
    int column = 7;
    REFUSED("plan", spmv_plan_parse(NULL, "csr", &column, &h));
    cr_assert_eq(column, 0);
    REFUSED_AND_ZEROED("text", p, spmv_plan_parse(&p, NULL, NULL, &h));
    cr_assert(spmv_plan_print(NULL, text, sizeof text) == 0 && !text[0]);
    cr_assert_eq(spmv_plan_print(&plan, NULL, 0), 3);
    REFUSED("plan", spmv_plan_make(NULL, "csr", &a, NULL, &column, &h));
    REFUSED_AND_ZEROED("text", p, spmv_plan_make(&p, NULL, &a, NULL, NULL, &h));
    REFUSED_AND_ZEROED("a", p, spmv_plan_make(&p, "hyb", NULL, NULL, NULL, &h));
    FINE(spmv_plan_make(&p, "ell", NULL, NULL, NULL, &h)); /* a plan's text needs no matrix */
    FINE(spmv_split_create(&split, &plan, &a, &h));
    REFUSED("out", spmv_split_create(NULL, &plan, &a, &h));
    REFUSED_AND_ZEROED("plan", s, spmv_split_create(&s, NULL, &a, &h));
    REFUSED_AND_ZEROED("a", s, spmv_split_create(&s, &plan, NULL, &h));
    v = spmv_split_view(NULL, &a, 0);
    cr_assert(!v.a && !v.rows);
    v = spmv_split_view(&split, NULL, 0);
    cr_assert(!v.a && !v.rows);
    text[0] = 'q';
    cr_assert(spmv_split_print(NULL, &plan, text, sizeof text) == 0 && !text[0]);
    cr_assert_eq(spmv_split_print(&split, NULL, text, sizeof text), 0);
    spmv_split_destroy(&split);
    spmv_split_destroy(NULL);
    REFUSED("out", spmv_store_create(NULL, &plan, &a, &how, &h));
    REFUSED_AND_ZEROED("plan", st, spmv_store_create(&st, NULL, &a, &how, &h));
    REFUSED_AND_ZEROED("a", st, spmv_store_create(&st, &plan, NULL, &how, &h));
    REFUSED_AND_ZEROED("how", st, spmv_store_create(&st, &plan, &a, NULL, &h));
    REFUSED_UNHEARD(spmv_store_update(NULL, &a));
    REFUSED("a", spmv_store_update(&store, NULL));
    spmv_store_destroy(NULL);
    cr_assert(!spmv_store_bytes(NULL) && !spmv_store_slots(NULL));
    REFUSED_UNHEARD(spmv_store_mul(NULL, 1, x, 0, y));
    REFUSED("x", spmv_store_mul(&store, 1, NULL, 0, y));
    REFUSED("y", spmv_store_mul(&store, 1, x, 0, NULL));
    FINE(spmv_store_mul(&store, 0, NULL, 0, y));
}

Test(null, choices)
{
    static const char table[] = "spmv tuning table 2\nunits oops\n";
    spmv_tuning t;
    spmv_choice c;
    spmv_estimate part[SPMV_MAX_PARTS];
    char text[64] = "q";
    size_t length = 0;
    int column = 7;
    REFUSED("out", spmv_tuning_create(NULL, table, sizeof table - 1, "t", &h));
    REFUSED_AND_ZEROED("text", t, spmv_tuning_create(&t, NULL, 9, "t", &h));
    cr_assert_eq(spmv_tuning_create(&t, table, sizeof table - 1, NULL, &h), SPMV_ERR_PARSE);
    cr_assert_str_eq(said, "tuning table, line 2: expected a number of up to 1e12");
    cr_assert_eq(spmv_tuning_create(&t, NULL, 0, NULL, &h), SPMV_ERR_PARSE); /* empty */
    spmv_tuning_destroy(NULL);
    cr_assert_eq(spmv_tuning_bundled(NULL, SPMV_DEVICE_CLASS_HOST, NULL, NULL),
                 spmv_tuning_bundled("host", SPMV_DEVICE_CLASS_HOST, &length, NULL));
    cr_assert_eq(spmv_cost_unit(SPMV_COST_COUNT), 0);
    REFUSED("out", spmv_choose(NULL, "auto", &a, &how, NULL, NULL, &column, &h));
    cr_assert_eq(column, 0);
    REFUSED_AND_ZEROED("a", c, spmv_choose(&c, "auto", NULL, &how, NULL, NULL, NULL, &h));
    REFUSED_AND_ZEROED("how", c, spmv_choose(&c, "auto", &a, NULL, NULL, NULL, NULL, &h));
    FINE(spmv_choose(&c, NULL, &a, &how, NULL, NULL, NULL, &h));
    REFUSED("out", spmv_predict(NULL, &c.plan, NULL, &a, &how, NULL, NULL, &h));
    REFUSED("plan", spmv_predict(part, NULL, NULL, &a, &how, NULL, NULL, &h));
    REFUSED("a", spmv_predict(part, &c.plan, NULL, NULL, &how, NULL, NULL, &h));
    REFUSED("how", spmv_predict(part, &c.plan, NULL, &a, NULL, NULL, NULL, &h));
    FINE(spmv_predict(part, &c.plan, NULL, &a, &how, NULL, NULL, NULL));
    cr_assert(spmv_explain(NULL, text, sizeof text) == 0 && !text[0]);
    cr_assert_gt(spmv_explain(&c, NULL, 0), 0);
    strcpy(text, "q");
    cr_assert(spmv_option_print(NULL, 0, text, sizeof text) == 0 && !text[0] && spmv_option_print(&c, -1, NULL, 0) == 0);
}

static size_t swallow(void *user, const void *data, size_t bytes)
{
    (void)user;
    (void)data;
    return bytes;
}

Test(null, files)
{
    static const char file[] = "%%MatrixMarket matrix array real general\n1 1\n5\n";
    spmv_memory memory = { file, sizeof file - 1, 0 }, nothing = { NULL, 9, 0 };
    spmv_source src = spmv_source_memory(&memory, NULL), dead = spmv_source_memory(NULL, NULL);
    spmv_sink sink = { NULL, swallow, NULL }, shut = spmv_sink_stream(NULL, NULL);
    spmv_csr c;
    double number;
    REFUSED("out", spmv_mm_read(NULL, &src, NULL, NULL, &h));
    REFUSED_AND_ZEROED("src", c, spmv_mm_read(&c, NULL, NULL, NULL, &h));
    REFUSED_AND_ZEROED("src->read", c, spmv_mm_read(&c, &dead, NULL, NULL, &h));
    dead = spmv_source_memory(&nothing, NULL);
    REFUSED_AND_ZEROED("src->read", c, spmv_mm_read(&c, &dead, NULL, NULL, &h));
    dead = spmv_source_stream(NULL, NULL);
    REFUSED_AND_ZEROED("src->read", c, spmv_mm_read(&c, &dead, NULL, NULL, &h));
    FINE(spmv_mm_read(&c, &src, NULL, NULL, &h));
    spmv_csr_destroy(&c);
    REFUSED("out", spmv_mm_read_memory(NULL, file, 9, NULL, NULL, NULL, &h));
    REFUSED_AND_ZEROED("data", c, spmv_mm_read_memory(&c, NULL, 9, NULL, NULL, NULL, &h));
    FINE(spmv_mm_read_memory(&c, file, sizeof file - 1, NULL, NULL, NULL, &h));
    spmv_csr_destroy(&c);
    REFUSED("sink", spmv_mm_write(NULL, &a, &h));
    REFUSED("sink->write", spmv_mm_write(&shut, &a, &h));
    REFUSED("a", spmv_mm_write(&sink, NULL, &h));
    REFUSED("sink", spmv_mm_write_vectors(NULL, SPMV_F64, 2, 1, x, &h));
    REFUSED("sink->write", spmv_mm_write_vectors(&shut, SPMV_F64, 2, 1, x, &h));
    REFUSED("x", spmv_mm_write_vectors(&sink, SPMV_F64, 2, 1, NULL, &h));
    FINE(spmv_mm_write_vectors(&sink, SPMV_F64, 0, 1, NULL, &h));
    REFUSED("out", spmv_bin_read(NULL, &src, 0, &h));
    REFUSED_AND_ZEROED("src", c, spmv_bin_read(&c, NULL, 0, &h));
    REFUSED_AND_ZEROED("src->read", c, spmv_bin_read(&c, &dead, 0, &h));
    REFUSED("sink", spmv_bin_write(NULL, &a, &h));
    REFUSED("sink->write", spmv_bin_write(&shut, &a, &h));
    REFUSED("a", spmv_bin_write(&sink, NULL, &h));
    FINE(spmv_bin_write(&sink, &a, &h));
    cr_assert_eq(spmv_bin_is(NULL, 64), 0);
    REFUSED("out", spmv_mm_read_file(NULL, "no such file", NULL, NULL, &h));
    REFUSED_AND_ZEROED("path", c, spmv_mm_read_file(&c, NULL, NULL, NULL, &h));
    REFUSED("path", spmv_mm_write_file(NULL, &a, &h));
    REFUSED("a", spmv_mm_write_file("/nowhere/null.mtx", NULL, &h));
    REFUSED("out", spmv_bin_read_file(NULL, "no such file", 0, &h));
    REFUSED_AND_ZEROED("path", c, spmv_bin_read_file(&c, NULL, 0, &h));
    REFUSED("path", spmv_bin_write_file(NULL, &a, &h));
    REFUSED("a", spmv_bin_write_file("/nowhere/null.bin", NULL, &h));
    cr_assert(!spmv_number_from(NULL, &number) && !spmv_number_from("1", NULL));
}

static spmv_device open_device(void)
{
    spmv_device_desc desc;
    spmv_device d;
    memset(&desc, 0, sizeof desc);
    desc.which = getenv("SPMV_TEST_DEVICE");
    desc.hooks.log = listen;
    cr_assert_eq(spmv_device_create(&d, &desc), SPMV_OK, "%s", said);
    return d;
}

Test(null, matrices)
{
    spmv_desc desc;
    spmv_matrix m, none;
    const spmv_input nothing[] = { spmv_csr_f64(2, 2, NULL, NULL, NULL), spmv_csr_f32(2, 2, NULL, NULL, NULL),
                                   spmv_csr64_f64(2, 2, NULL, NULL, NULL), spmv_csr64_f32(2, 2, NULL, NULL, NULL) };
    float x32[2] = { 1, 10 }, y32[2];
    uint64_t saved[200], room[SPMV_USE_ROOM(1)];
    spmv_desc load;
    size_t bytes;
    int on, i;
    memset(&desc, 0, sizeof desc);
    memset(&load, 0, sizeof load);
    memset(&none, 0, sizeof none);
    load.hooks = h;
    desc.hooks = h;
    for (i = 0; i < 4; i++) {
        desc.matrix = nothing[i];
        cr_assert(spmv_create(&m, &desc) == SPMV_ERR_ARGUMENT && strstr(said, "ptr"), "%s", said);
    }
    desc.matrix = in;
    desc.plan = "csr";
    desc.updatable = 1;
    desc.hooks = h;
    REFUSED("matrix", spmv_create(NULL, &desc));
    memset(&m, 0x5a, sizeof m);
    REFUSED_UNHEARD(spmv_create(&m, NULL));
    cr_assert(zeroed(&m, sizeof m));
    spmv_destroy(NULL);
    cr_assert(!spmv_plan_of(NULL, NULL, 0) && !spmv_shares(NULL, NULL, 0) && !spmv_bytes(NULL));
    cr_assert(!spmv_rows(NULL) && !spmv_cols(NULL) && !spmv_nnz(NULL));
    REFUSED_UNHEARD(spmv_mul(NULL, 1, x, 0, y));
    REFUSED_UNHEARD(spmv_mul(&none, 1, NULL, 0, NULL)); /* never created */
    REFUSED_UNHEARD(spmv_mul(&none, 1, x, 0, y));
    REFUSED_UNHEARD(spmv_mul_tail(NULL, 1, x, 0, y, &tail));
    REFUSED_UNHEARD(spmv_mul_tail(&none, 1, x, 0, y, &tail));
    REFUSED_UNHEARD(spmv_mul_transposed(NULL, 1, x, 0, y));
    REFUSED_UNHEARD(spmv_mul_transposed(&none, 1, x, 0, y));
    REFUSED_UNHEARD(spmv_mul_many(NULL, 1, SPMV_SIDE_BY_SIDE, 1, x, 0, 0, y, 0));
    REFUSED_UNHEARD(spmv_mul_many(&none, 1, SPMV_SIDE_BY_SIDE, 1, x, 0, 0, y, 0));
    cr_assert(!spmv_transposed(NULL) && !spmv_transposed(&none));
    REFUSED_UNHEARD(spmv_mul_f64(NULL, 1, x, 0, y));
    REFUSED_UNHEARD(spmv_mul_f32(NULL, 1, x32, 0, y32));
    REFUSED_UNHEARD(spmv_update(NULL, val));
    REFUSED_UNHEARD(spmv_update_buffer(NULL, y));
    REFUSED_ON_STDERR("spmv_mul: the matrix was not created, or it was destroyed", spmv_mul(&none, 1, x, 0, y));
    REFUSED_ON_STDERR("spmv_update: the matrix was not created", spmv_update(&none, val));
    REFUSED_ON_STDERR("spmv_update: the matrix was not created", spmv_update(&none, NULL));
    REFUSED_ON_STDERR("spmv_update_buffer: the matrix was not created", spmv_update_buffer(&none, y));
    cr_assert(!spmv_target_of(NULL).device);
    FINE(spmv_create(&m, &desc));
    REFUSED_UNHEARD(spmv_save(NULL, saved, sizeof saved, &bytes));
    REFUSED_UNHEARD(spmv_save(&none, saved, sizeof saved, &bytes));
    REFUSED("bytes", spmv_save(&m, saved, sizeof saved, NULL));
    FINE(spmv_save(&m, NULL, 0, &bytes));
    FINE(spmv_save(&m, saved, sizeof saved, &bytes));
    spmv_destroy(&m);
    cr_assert(spmv_saved_is(saved, bytes) && !spmv_saved_is(NULL, bytes));
    REFUSED("matrix", spmv_load(NULL, saved, bytes, &load));
    REFUSED("bytes", spmv_load(&m, NULL, bytes, &load));
    REFUSED_UNHEARD(spmv_load(&m, saved, bytes, NULL));
    cr_assert(zeroed(&m, sizeof m));
    REFUSED("matrix", spmv_use(NULL, saved, bytes, room, sizeof room, &h));
    REFUSED("bytes", spmv_use(&m, NULL, bytes, room, sizeof room, &h));
    REFUSED("room", spmv_use(&m, saved, bytes, NULL, sizeof room, &h));
    FINE(spmv_use(&m, saved, bytes, room, sizeof room, NULL));
    spmv_destroy(&m);
    for (on = 0; on < 2; on++) {
        spmv_device d;
        if (on) d = open_device();
        desc.device = load.device = on ? &d : NULL;
        FINE(spmv_load(&m, saved, bytes, &load));
        FINE(spmv_mul(&m, 1, x, 0, y));
        cr_assert(y[0] == 2 && y[1] == 30);
        spmv_destroy(&m);
        FINE(spmv_create(&m, &desc));
        REFUSED("x", spmv_mul(&m, 1, NULL, 0, y));
        REFUSED("y", spmv_mul(&m, 1, x, 0, NULL));
        REFUSED("x", spmv_mul_f64(&m, 1, NULL, 0, y));
        REFUSED("y", spmv_mul_f64(&m, 1, x, 0, NULL));
        REFUSED("tail", spmv_mul_tail(&m, 1, x, 0, y, NULL));
        REFUSED("y", spmv_mul_tail(&m, 1, x, 0, NULL, &tail));
        FINE(spmv_mul(&m, 0, NULL, 0, y));
        cr_assert(y[0] == 0 && y[1] == 0);
        REFUSED("val", spmv_update(&m, NULL));
        REFUSED("val", spmv_update_buffer(&m, NULL));
        FINE(spmv_mul(&m, 1, x, 0, y));
        cr_assert(y[0] == 2 && y[1] == 30);
        spmv_destroy(&m);
        REFUSED_ON_STDERR("spmv_update: the matrix was not created, or it was destroyed", spmv_update(&m, val));
        if (on) spmv_device_destroy(&d);
    }
}

Test(null, devices, .timeout = 120)
{
    spmv_device d = open_device(), none;
    spmv_device_info info;
    spmv_variant v;
    spmv_device_matrix m, zero;
    spmv_exec e, never;
    const spmv_backend *all[] = { spmv_opencl(), NULL };
    void *program = NULL, *buffer;
    size_t bytes = 0;
    cl_mem mem;
    cl_event event = NULL;
    char text[16] = "q";
    size_t count = 0;
    double took = 7;
    int values[4];
    d.hooks = h;
    memset(&zero, 0, sizeof zero);
    memset(&never, 0, sizeof never);
    REFUSED("count", spmv_device_list(&info, 1, NULL, &h));
    REFUSED("out", spmv_device_list(NULL, 1, &count, &h));
    FINE(spmv_device_list(NULL, 0, &count, &h));
    REFUSED_UNHEARD(spmv_device_create(NULL, NULL));
    FINE(spmv_device_create(&none, NULL)); /* all defaults */
    spmv_device_destroy(&none);
    REFUSED("all", spmv_backends_list(NULL, NULL, 0, &count, &h));
    REFUSED("count", spmv_backends_list(all, &info, 1, NULL, &h));
    REFUSED("out", spmv_backends_list(all, NULL, 1, &count, &h));
    REFUSED_UNHEARD(spmv_backends_create(NULL, &none, NULL));
    REFUSED_UNHEARD(spmv_backends_create(all, NULL, NULL));
    FINE(spmv_backends_create(all, &none, NULL));
    spmv_device_destroy(&none);
    spmv_device_destroy(NULL);
    cr_assert_eq(spmv_knob_values(SPMV_CSR, SPMV_KNOB_L, NULL, 4), spmv_knob_values(SPMV_CSR, SPMV_KNOB_L, values, 4));
    cr_assert(spmv_variant_print(NULL, text, sizeof text) == 0 && !text[0]);
    cr_assert_eq(spmv_variant_print(NULL, NULL, 16), 0);
    REFUSED("variant", spmv_variants_parse(NULL, &store, "L=8", &h));
    REFUSED("store", spmv_variants_parse(&v, NULL, "L=8", &h));
    FINE(spmv_variants_parse(&v, &store, NULL, &h));
    REFUSED("variant", spmv_variant_resolve(NULL, &d, &store.part[0]));
    REFUSED_UNHEARD(spmv_variant_resolve(&v, NULL, &store.part[0]));
    REFUSED("p", spmv_variant_resolve(&v, &d, NULL));
    REFUSED("out", spmv_device_matrix_create(NULL, &d, 2, 2, SPMV_F64, store.part, 1, NULL));
    memset(&m, 0x5a, sizeof m);
    REFUSED_UNHEARD(spmv_device_matrix_create(&m, NULL, 2, 2, SPMV_F64, store.part, 1, NULL));
    cr_assert(zeroed(&m, sizeof m));
    REFUSED_AND_ZEROED("parts", m, spmv_device_matrix_create(&m, &d, 2, 2, SPMV_F64, NULL, 1, NULL));
    FINE(spmv_device_matrix_create(&m, &d, 2, 2, SPMV_F64, store.part, 1, NULL));
    REFUSED_UNHEARD(spmv_device_matrix_update(NULL, store.part, 1));
    REFUSED("parts", spmv_device_matrix_update(&m, NULL, 1));
    cr_assert_null(spmv_device_matrix_variant(NULL, 0));
    cr_assert_eq(spmv_convert_here(NULL), 0);
    REFUSED("out", spmv_device_programs_take(&d, NULL, &bytes));
    REFUSED("bytes", spmv_device_programs_take(&d, &program, NULL));
    REFUSED_UNHEARD(spmv_device_programs_take(NULL, &program, &bytes));
    REFUSED("from", spmv_device_programs_give(&d, NULL, 1));
    REFUSED_UNHEARD(spmv_device_programs_give(NULL, &bytes, 1));
    cr_assert_eq(spmv_device_programs_give(&d, NULL, 0), SPMV_OK);
    REFUSED("out", spmv_exec_create(NULL, &m, NULL));
    memset(&e, 0x5a, sizeof e);
    REFUSED_UNHEARD(spmv_exec_create(&e, NULL, NULL));
    cr_assert(zeroed(&e, sizeof e));
    zero.hooks = h;
    REFUSED_AND_ZEROED("matrix->device", e, spmv_exec_create(&e, &zero, NULL));
    FINE(spmv_exec_create(&e, &m, NULL));
    FINE(spmv_exec_mul_host(&e, 1, x, 0, y));
    mem = e.x;
    REFUSED_UNHEARD(spmv_cl_mul(NULL, 1, mem, 0, 0, e.y, 0, 0, NULL, NULL));
    event = (cl_event)(void *)&count;
    never.hooks = h;
    REFUSED("exec->matrix", spmv_cl_mul(&never, 1, mem, 0, 0, e.y, 0, 0, NULL, &event));
    cr_assert_null(event);
    cr_assert_eq(spmv_cl_mul(&e, 1, NULL, 0, 0, e.y, 0, 0, NULL, NULL), SPMV_ERR_ARGUMENT);
    cr_assert_str_eq(said, "x is NULL");
    cr_assert_eq(spmv_cl_mul(&e, 1, mem, 0, 0, NULL, 0, 0, NULL, NULL), SPMV_ERR_ARGUMENT);
    cr_assert_str_eq(said, "y is NULL");
    REFUSED("wait", spmv_cl_mul(&e, 1, mem, 0, 0, e.y, 0, 1, NULL, NULL));
    FINE(spmv_cl_mul(&e, 0, NULL, 0, 0, e.y, 0, 0, NULL, NULL));
    REFUSED_UNHEARD(spmv_cuda_mul(NULL, 1, 1, 0, 0, 1, 0)); /* tests/test_cuda.c has the rest */
    REFUSED("exec->matrix", spmv_cuda_mul(&never, 1, 1, 0, 0, 1, 0));
    REFUSED("out", spmv_buffer_create(&d, 16, NULL));
    buffer = &d;
    REFUSED_UNHEARD(spmv_buffer_create(NULL, 16, &buffer));
    cr_assert_null(buffer);
    FINE(spmv_buffer_create(&d, 16, &buffer));
    REFUSED_UNHEARD(spmv_buffer_write(NULL, buffer, 16, x));
    REFUSED("buffer", spmv_buffer_write(&d, NULL, 16, x));
    REFUSED("from", spmv_buffer_write(&d, buffer, 16, NULL));
    FINE(spmv_buffer_write(&d, buffer, 16, x));
    REFUSED_UNHEARD(spmv_buffer_fill(NULL, buffer, 16, 0));
    REFUSED("buffer", spmv_buffer_fill(&d, NULL, 16, 0));
    FINE(spmv_buffer_fill(&d, buffer, 4, 0xffffffffu));
    REFUSED_UNHEARD(spmv_buffer_read(NULL, buffer, 16, y));
    REFUSED("buffer", spmv_buffer_read(&d, NULL, 16, y));
    REFUSED("to", spmv_buffer_read(&d, buffer, 16, NULL));
    FINE(spmv_buffer_read(&d, buffer, 16, y));
    cr_assert_eq(memcmp(y, "\xff\xff\xff\xff", 4), 0);
    cr_assert_eq(memcmp((char *)y + 4, (const char *)x + 4, 12), 0);
    REFUSED_UNHEARD(spmv_device_finish(NULL));
    FINE(spmv_device_finish(&d));
    spmv_buffer_destroy(NULL, NULL);
    spmv_buffer_destroy(&d, NULL);
    spmv_buffer_destroy(&d, buffer);
    REFUSED_UNHEARD(spmv_exec_mul_tail(NULL, 1, mem, 0, 0, e.y, 0, &tail));
    REFUSED("tail", spmv_exec_mul_tail(&e, 1, mem, 0, 0, e.y, 0, NULL));
    cr_assert_eq(spmv_exec_mul_tail(&e, 1, mem, 0, 0, NULL, 0, &tail), SPMV_ERR_ARGUMENT);
    REFUSED_UNHEARD(spmv_exec_mul(NULL, 1, mem, 0, 0, e.y, 0));
    REFUSED("exec->matrix", spmv_exec_mul(&never, 1, mem, 0, 0, e.y, 0));
    REFUSED_UNHEARD(spmv_exec_mul_many(NULL, 1, SPMV_SIDE_BY_SIDE, 1, mem, 0, 0, 0, e.y, 0, 0));
    REFUSED("exec->matrix", spmv_exec_mul_many(&never, 1, SPMV_SIDE_BY_SIDE, 1, mem, 0, 0, 0, e.y, 0, 0));
    cr_assert_eq(spmv_exec_mul_many(&e, 1, SPMV_ONE_AFTER_ANOTHER, 1, NULL, 0, 0, 0, e.y, 0, 0), SPMV_ERR_ARGUMENT);
    cr_assert_eq(spmv_exec_mul_many(&e, 1, SPMV_ONE_AFTER_ANOTHER, 1, mem, 0, 0, 0, NULL, 0, 0), SPMV_ERR_ARGUMENT);
    cr_assert_eq(spmv_exec_mul(&e, 1, NULL, 0, 0, e.y, 0), SPMV_ERR_ARGUMENT);
    cr_assert_eq(spmv_exec_mul(&e, 1, mem, 0, 0, NULL, 0), SPMV_ERR_ARGUMENT);
    REFUSED_UNHEARD(spmv_exec_mul_host(NULL, 1, x, 0, y));
    REFUSED("x", spmv_exec_mul_host(&e, 1, NULL, 0, y));
    REFUSED("y", spmv_exec_mul_host(&e, 1, x, 0, NULL));
    REFUSED_UNHEARD(spmv_exec_timing(NULL, 1));
    REFUSED_UNHEARD(spmv_exec_seconds(NULL, &took));
    cr_assert(took <= 0);
    REFUSED_UNHEARD(spmv_exec_seconds(&e, NULL));
    spmv_exec_destroy(&e);
    spmv_exec_destroy(NULL);
    spmv_device_matrix_destroy(&m);
    spmv_device_matrix_destroy(NULL);
    spmv_device_destroy(&d);
}

Test(null, groups)
{
    spmv_device *on[1] = { NULL };
    spmv_group_desc desc = { 0 };
    spmv_group g;
    spmv_group_vector u, v, none = { 0 };
    char text[8] = "before";
    desc.desc.hooks = h;
    desc.desc.matrix = in;
    desc.desc.updatable = 1;
    desc.count = 1;
    REFUSED_AND_ZEROED("desc->device", g, spmv_group_create(&g, &desc));
    desc.device = on;
    REFUSED("group", spmv_group_create(NULL, &desc));
    memset(&g, 0x5a, sizeof g);
    REFUSED_UNHEARD(spmv_group_create(&g, NULL));
    cr_assert(zeroed(&g, sizeof g));
    FINE(spmv_group_create(&g, &desc));
    REFUSED_UNHEARD(spmv_group_mul(NULL, 1, x, 0, y));
    REFUSED("x", spmv_group_mul(&g, 1, NULL, 0, y));
    REFUSED("y", spmv_group_mul(&g, 1, x, 0, NULL));
    FINE(spmv_group_mul(&g, 0, NULL, 0, y));
    REFUSED("vector", spmv_group_vector_create(NULL, &g, SPMV_GROUP_X));
    memset(&u, 0x5a, sizeof u);
    REFUSED_UNHEARD(spmv_group_vector_create(&u, NULL, SPMV_GROUP_X));
    cr_assert(zeroed(&u, sizeof u));
    FINE(spmv_group_vector_create(&u, &g, SPMV_GROUP_X));
    FINE(spmv_group_vector_create(&v, &g, SPMV_GROUP_Y));
    REFUSED_UNHEARD(spmv_group_vector_write(NULL, x));
    REFUSED_UNHEARD(spmv_group_vector_write(&none, x));
    REFUSED("from", spmv_group_vector_write(&u, NULL));
    FINE(spmv_group_vector_write(&u, x));
    REFUSED_UNHEARD(spmv_group_mul_vectors(NULL, 1, &u, 0, &v));
    REFUSED("x", spmv_group_mul_vectors(&g, 1, NULL, 0, &v));
    REFUSED("y", spmv_group_mul_vectors(&g, 1, &u, 0, NULL));
    FINE(spmv_group_mul_vectors(&g, 1, &u, 0, &v));
    REFUSED_UNHEARD(spmv_group_vector_read(NULL, y));
    REFUSED("to", spmv_group_vector_read(&v, NULL));
    REFUSED_UNHEARD(spmv_group_mul_transposed(NULL, 1, x, 0, y));
    cr_assert_null(spmv_group_transposed(NULL));
    REFUSED_UNHEARD(spmv_group_wait(NULL));
    REFUSED_UNHEARD(spmv_group_update(NULL, val));
    REFUSED("val", spmv_group_update(&g, NULL));
    cr_assert_eq(spmv_group_explain(NULL, text, sizeof text), 0);
    cr_assert_str_eq(text, "");
    spmv_group_vector_destroy(NULL);
    spmv_group_vector_destroy(&none);
    spmv_group_vector_destroy(&u);
    spmv_group_vector_destroy(&v);
    spmv_group_destroy(NULL);
    spmv_group_destroy(&g);
}

/* ---- vectors that overlap ----------------------------------------------------------------------------------------------- */
static spmv_matrix made;
static spmv_exec made_exec;
static spmv_group made_group;
static double both[8]; /* x and y */
static void *both_on_device;

static spmv_status by_mul(double alpha, const double *from, double *to) { return spmv_mul(&made, alpha, from, 0, to); }
static spmv_status by_store(double alpha, const double *from, double *to) { return spmv_store_mul(&made.store, alpha, from, 0, to); }
static spmv_status by_part(double alpha, const double *from, double *to) { return spmv_part_mul(&store.part[0], alpha, from, 0, to); }
static spmv_status by_group(double alpha, const double *from, double *to) { return spmv_group_mul(&made_group, alpha, from, 0, to); }
static spmv_status by_exec_host(double alpha, const double *from, double *to) { return spmv_exec_mul_host(&made_exec, alpha, from, 0, to); }
static spmv_status by_buffers(double alpha, const double *from, double *to)
{
    return spmv_exec_mul(&made_exec, alpha, both_on_device, (uint64_t)(from - both), 0, both_on_device, (uint64_t)(to - both));
}
static spmv_status by_cl_mem(double alpha, const double *from, double *to)
{
    return spmv_cl_mul(&made_exec, alpha, (cl_mem)both_on_device, (uint64_t)(from - both), 0, (cl_mem)both_on_device,
                       (uint64_t)(to - both), 0, NULL, NULL);
}

/* x of 2 elements in the middle, y of 2 elements everywhere around it. */
static void check_overlaps(const char *what, spmv_status (*product)(double, const double *, double *))
{
    int at;
    for (at = 1; at < 6; at++) {
        int apart = at == 1 || at == 5;
        spmv_status s;
        said[0] = 0;
        s = product(1, both + 3, both + at);
        cr_assert_eq(s, apart ? SPMV_OK : SPMV_ERR_ARGUMENT, "%s, y at %d: %s", what, at, spmv_status_name(s));
        cr_assert(apart || strstr(said, "x and y overlap"), "%s: %s", what, said);
        FINE(product(0, both + 3, both + at));
    }
}

static void make(const char *plan_text, spmv_device *d)
{
    spmv_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.matrix = in;
    desc.plan = plan_text;
    desc.device = d;
    desc.hooks = h;
    FINE(spmv_create(&made, &desc));
}

Test(null, vectors_that_overlap_on_the_host)
{
    spmv_device *on[1] = { NULL };
    spmv_group_desc desc;
    int f;
    for (f = 0; f < SPMV_FORMAT_COUNT; f++) {
        if (!spmv_format_built((spmv_format)f)) continue;
        make(spmv_format_name((spmv_format)f), NULL);
        check_overlaps(spmv_format_name((spmv_format)f), by_mul);
        check_overlaps(spmv_format_name((spmv_format)f), by_store);
        spmv_destroy(&made);
    }
    check_overlaps("a part", by_part);
    memset(&desc, 0, sizeof desc);
    desc.desc.hooks = h;
    desc.desc.matrix = in;
    desc.device = on;
    desc.count = 1;
    FINE(spmv_group_create(&made_group, &desc));
    check_overlaps("a group", by_group);
    spmv_group_destroy(&made_group);
}

Test(null, vectors_that_overlap_on_a_device)
{
    static const char *const plans[] = { "csr", "ell:w=1+coo" };
    spmv_device d = open_device();
    size_t i;
    FINE(spmv_buffer_create(&d, sizeof both, &both_on_device));
    FINE(spmv_buffer_fill(&d, both_on_device, sizeof both, 0));
    for (i = 0; i < sizeof plans / sizeof *plans; i++) {
        make(plans[i], &d);
        FINE(spmv_exec_create(&made_exec, made.on_device, NULL));
        made_exec.hooks = h;
        check_overlaps(plans[i], by_mul);
        check_overlaps(plans[i], by_exec_host);
        check_overlaps(plans[i], by_buffers);
        if (!strcmp(d.info.backend->name, "OpenCL")) check_overlaps(plans[i], by_cl_mem);
        spmv_exec_destroy(&made_exec);
        spmv_destroy(&made);
    }
    spmv_buffer_destroy(&d, both_on_device);
    spmv_device_destroy(&d);
}

/* ---- arrays and structs made by hand ------------------------------------------------------------------------------------ */
#define GIVES(status, words, call)                                                                   \
    do {                                                                                             \
        spmv_status s_;                                                                              \
        said[0] = 0;                                                                                 \
        s_ = call;                                                                                   \
        cr_assert_eq(s_, status, "%s: %s", #call, spmv_status_name(s_));                             \
        cr_assert(strstr(said, words), "%s: %s", #call, said);                                       \
    } while (0)

/* Both writers refuse a matrix. */
static void check_writers(const spmv_csr *c, spmv_status status, const char *words)
{
    spmv_sink sink = { NULL, swallow, NULL };
    GIVES(status, words, spmv_mm_write(&sink, c, &h));
    GIVES(status, words, spmv_bin_write(&sink, c, &h));
}

/* Neither is it stored, if a look at its ends shows what it is. */
static void check_doors(const spmv_csr *c, spmv_status status, const char *words)
{
    spmv_device *on[1] = { NULL };
    spmv_group_desc desc;
    spmv_matrix m;
    spmv_group g;
    memset(&desc, 0, sizeof desc);
    desc.desc.hooks = h;
    desc.desc.csr = c;
    desc.device = on;
    desc.count = 1;
    GIVES(status, words, spmv_create(&m, &desc.desc));
    GIVES(status, words, spmv_group_create(&g, &desc));
    check_writers(c, status, words);
}

Test(null, matrices_made_by_hand)
{
    const uint64_t rows[] = { 0, 1, 2 }, beyond[] = { 0, 5, 2 }, late[] = { 1, 1, 2 }, ends[] = { 0, 1, 1 };
    const uint32_t cols[] = { 0, 1 }, wide[] = { 0, 2 }, one[] = { 1, 1 };
    const uint64_t both_in_one[] = { 0, 2, 2 };
    spmv_sink sink = { NULL, swallow, NULL };
    spmv_csr c;
    memset(&c, 0, sizeof c);
    FINE(spmv_mm_write(&sink, &c, &h));
    FINE(spmv_bin_write(&sink, &c, &h)); /* zeroed: no rows */
    c.nnz = 2;
    c.col = cols;
    c.val = val;
    check_doors(&c, SPMV_ERR_INDEX, "expected row pointers from 0 to nnz, 2");
    c.rows = c.cols = 2;
    check_doors(&c, SPMV_ERR_ARGUMENT, ": ptr is NULL");
    c.ptr = rows;
    FINE(spmv_bin_write(&sink, &c, &h));
    c.ptr = beyond;
    check_writers(&c, SPMV_ERR_INDEX, "end at nnz, found others in row 0");
    c.ptr = late;
    check_doors(&c, SPMV_ERR_INDEX, "found 1 and 2");
    c.ptr = ends;
    check_doors(&c, SPMV_ERR_INDEX, "found 0 and 1");
    c.ptr = rows;
    c.col = wide;
    check_writers(&c, SPMV_ERR_INDEX, "rising columns below cols, found others in row 1");
    c.ptr = both_in_one;
    c.col = one;
    check_writers(&c, SPMV_ERR_INDEX, "rising columns below cols, found others in row 0");
    c.col = NULL;
    check_doors(&c, SPMV_ERR_ARGUMENT, ": col is NULL");
    c.col = cols;
    c.val = NULL;
    check_doors(&c, SPMV_ERR_ARGUMENT, ": val is NULL");
}

Test(null, pointers_of_cmrs_made_by_hand)
{
    uint64_t starts[] = { 0, 1000, 2, 3 }, late[] = { 1, 1, 2, 3 }, right[] = { 0, 1, 2, 3 }, strips[] = { 0, 3, 77 };
    uint32_t starts32[] = { 0, 1000, 2, 3 }, index[] = { 0, 16, 32 };
    cr_assert_eq(spmv_csr_to_cmrs(3, 4, starts, 64, index), SPMV_ERR_INDEX);
    cr_assert_eq(spmv_csr_to_cmrs(3, 4, starts32, 32, index), SPMV_ERR_INDEX);
    cr_assert_eq(spmv_csr_to_cmrs(3, 4, late, 64, index), SPMV_ERR_INDEX);
    cr_assert_eq(spmv_cmrs_to_csr(3, 1, starts, 64, index), SPMV_ERR_INDEX);
    cr_assert_eq(spmv_cmrs_to_csr(3, 1, starts32, 32, index), SPMV_ERR_INDEX);
    cr_assert_eq(spmv_cmrs_to_csr(3, 1, late, 64, index), SPMV_ERR_INDEX);
    cr_assert(starts[1] == 1000 && index[1] == 16 && index[2] == 32); /* nothing was changed */
    cr_assert_eq(spmv_cmrs_to_csr(2, 2, strips, 64, index), SPMV_OK); /* the pointer behind those of strips is not looked at */
    cr_assert_eq(strips[2], 3);
    FINE(spmv_csr_to_cmrs(3, 4, right, 64, index));
}

Test(null, views_and_parts_made_by_hand)
{
    const uint32_t list[] = { 1 }, outside[] = { 2 };
    spmv_view all = { &a, NULL, 0, NULL, 3 }, listed = { &a, NULL, 0, NULL, 1 };
    spmv_device d = open_device();
    spmv_device_matrix m;
    spmv_part p;
    listed.list = outside;
    GIVES(SPMV_ERR_ARGUMENT, "3 rows without a row list", spmv_part_create(&p, &plan.part[0], &all, &how, &h));
    GIVES(SPMV_ERR_INDEX, "row list: entry 0 is row 2", spmv_part_create(&p, &plan.part[0], &listed, &how, &h));
    listed.list = list;
    listed.owner = (const uint8_t *)"\1"; /* the first nonzero is of part 1, this is part 0 */
    FINE(spmv_part_create(&p, &plan.part[0], &listed, &how, &h));
    GIVES(SPMV_ERR_INDEX, "part 0: its row list has row 1, but the matrix has 1 rows",
          spmv_device_matrix_create(&m, &d, 1, 2, SPMV_F64, &p, 1, NULL));
    FINE(spmv_device_matrix_create(&m, &d, 2, 2, SPMV_F64, &p, 1, NULL));
    spmv_device_matrix_destroy(&m);
    spmv_part_destroy(&p);
    spmv_device_destroy(&d);
}

/* Handles of a device's buffers are not memory of the host. */
Test(null, groups_take_no_buffers)
{
    spmv_device *on[1] = { NULL };
    spmv_group_desc desc;
    spmv_group g;
    memset(&desc, 0, sizeof desc);
    desc.desc.hooks = h;
    desc.desc.matrix = in;
    desc.desc.matrix.ptr = desc.desc.matrix.col = desc.desc.matrix.val = on; /* not what it says */
    desc.desc.buffers = 1;
    desc.device = on;
    desc.count = 1;
    GIVES(SPMV_ERR_UNSUPPORTED, "desc.buffers is set", spmv_group_create(&g, &desc));
}
