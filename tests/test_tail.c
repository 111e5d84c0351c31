/* SPDX-License-Identifier: MIT
 *
 * What follows a product (spmv_tail): z = y + gamma w and sums, on the host and on an OpenCL device. */
#include <criterion/criterion.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "spmv.h"
#include "common.h"

static const spmv_type types[] = { SPMV_F64, SPMV_F32, SPMV_MIXED };
static const uint64_t sizes[] = { 1, 3, 255, 256, 257, 511, 513, 1000, 4099, 70001 };
/* lanes of the end have several groups; groups have more than two strips */
static const uint64_t large[] = { 300007, 600011 };

enum { TYPES = 3, SIZES = sizeof sizes / sizeof *sizes, ALL = (1 << SPMV_DOT_COUNT) - 1 };

static ledger heard;

/* Hooks that go on counting; the next message is heard. */
static spmv_hooks hearing(void)
{
    spmv_hooks h;
    memset(&h, 0, sizeof h);
    h.user = &heard;
    h.resize = ledger_resize;
    h.log = ledger_log;
    heard.messages = 0;
    return h;
}

/* A square matrix with two entries in most rows; reals: values that round. */
static void make(spmv_matrix *a, uint64_t n, spmv_type t, const char *plan, int reproducible, values kind, spmv_device *device)
{
    spmv_desc d;
    matrix m;
    uint64_t r;
    matrix_open(&m, "two in a row", n, n);
    for (r = 0; r < n; r++) {
        if (r % 5) matrix_add(&m, r);
        if (r + 3 < n) matrix_add(&m, r + 3);
        m.ptr[r + 1] = m.nnz;
    }
    matrix_close(&m, kind);
    memset(&d, 0, sizeof d);
    d.matrix = matrix_input(&m, t);
    d.type = t;
    d.plan = plan;
    d.reproducible = reproducible;
    d.device = device;
    d.hooks = hearing();
    cr_assert_eq(spmv_create(a, &d), SPMV_OK, "%s", heard.text);
    matrix_free(&m);
}

/* Host vectors of a product with a tail: x, y before, w, z and sums. */
typedef struct vectors {
    spmv_type type;
    uint64_t  n;
    void     *x, *y, *w, *z, *sums;
} vectors;

static vectors draw(spmv_type t, uint64_t n, int reals)
{
    vectors v = { t, n, vector_new(t, n), vector_new(t, n), vector_new(t, n), vector_new(t, n), vector_new(t, SPMV_DOT_COUNT) };
    uint64_t i;
    for (i = 0; i < n; i++) {
        vector_set(t, v.x, i, reals ? rng_real() : rng_int());
        vector_set(t, v.y, i, reals ? rng_real() : rng_int());
        vector_set(t, v.w, i, reals ? rng_real() : rng_int());
        vector_set(t, v.z, i, -1);
    }
    for (i = 0; i < SPMV_DOT_COUNT; i++) vector_set(t, v.sums, i, -1);
    return v;
}

static void drop(vectors *v)
{
    free(v->x);
    free(v->y);
    free(v->w);
    free(v->z);
    free(v->sums);
}

static spmv_tail tail_of(const vectors *v, double gamma, unsigned dots, int stores)
{
    spmv_tail tail;
    memset(&tail, 0, sizeof tail);
    tail.gamma = gamma;
    tail.w = v->w;
    tail.z = stores ? v->z : NULL;
    tail.dots = dots;
    tail.sums = v->sums;
    return tail;
}

/* Compares with y of the product alone: exactly, for small integers, or each sum within the error of any order of additions. */
static void check_done(const vectors *v, const void *y, double gamma, unsigned dots, int stores, int exact, const char *what)
{
    const spmv_type t = v->type;
    const double unit = (t == SPMV_F32 ? 1.2e-7 : 2.3e-16) * (double)(v->n + 4);
    long double sum[SPMV_DOT_COUNT] = { 0 }, size[SPMV_DOT_COUNT] = { 0 };
    uint64_t i;
    int k;
    CHECK(!memcmp(v->y, y, (size_t)v->n * spmv_vector_size(t)), "%s: y is not that of the product", what);
    for (i = 0; i < v->n; i++) {
        const long double x = vector_get(t, v->x, i), yi = vector_get(t, y, i), w = vector_get(t, v->w, i), z = yi + (long double)gamma * w;
        const long double term[SPMV_DOT_COUNT] = { x * yi, yi * yi, w * yi, x * x, z * z };
        const double got = vector_get(t, v->z, i), error = exact ? 0 : 4 * unit * (double)(fabsl(yi) + fabsl(gamma * w));
        for (k = 0; k < SPMV_DOT_COUNT; k++) {
            sum[k] += term[k];
            size[k] += fabsl(term[k]);
        }
        if (!stores) CHECK(got == -1, "%s: z[%d] was written", what, (int)i);
        else CHECK(fabs(got - (double)z) <= error, "%s: z[%d] is %g, not %g", what, (int)i, got, (double)z);
    }
    for (k = 0; k < SPMV_DOT_COUNT; k++) {
        const double got = vector_get(t, v->sums, (uint64_t)k);
        if (!(dots >> k & 1u)) CHECK(got == -1, "%s: sum %d was written", what, k);
        else CHECK(fabs(got - (double)sum[k]) <= (exact ? 0 : 4 * unit * (double)size[k]), "%s: sum %d is %.17g, not %.17g", what, k, got,
                   (double)sum[k]);
    }
}

/* One product with a tail on host vectors, checked. */
static void check_one(const spmv_matrix *a, spmv_type t, double alpha, double beta, double gamma, unsigned dots, int stores, int exact)
{
    vectors v = draw(t, spmv_rows(a), !exact);
    void *y = vector_new(t, v.n);
    spmv_tail tail = tail_of(&v, gamma, dots, stores);
    char what[80];
    snprintf(what, sizeof what, "n %d, type %d, gamma %g, dots %u", (int)v.n, (int)t, gamma, dots);
    memcpy(y, v.y, (size_t)v.n * spmv_vector_size(t));
    CHECK(!spmv_mul(a, alpha, v.x, beta, y) && !spmv_mul_tail(a, alpha, v.x, beta, v.y, &tail), "%s: %s", what, heard.text);
    check_done(&v, y, gamma, dots, stores, exact, what);
    free(y);
    drop(&v);
}

/* Small integers are exact in doubles; of floats, only as long as sums are below 2^24. */
static void check_sizes(spmv_device *device, size_t step)
{
    size_t i, t;
    for (i = 0; i < SIZES; i += step)
        for (t = 0; t < TYPES; t++) {
            const int exact = types[t] != SPMV_F32 || sizes[i] < 500;
            spmv_matrix a;
            unsigned dots;
            make(&a, sizes[i], types[t], "csr", 0, INTEGERS, device);
            for (dots = 0; dots <= ALL; dots += sizes[i] < 1000 ? 1 : ALL)
                check_one(&a, types[t], 1, dots & 1 ? 0 : 2, dots & 2 ? -3 : 0, dots, dots % 3 != 0, exact);
            check_one(&a, types[t], 0, -1, 2, ALL, 1, exact);
            check_one(&a, types[t], 1.25, 0.1, 0.3, ALL, 1, 0);
            spmv_destroy(&a);
        }
}

Test(tail, sums_and_z)
{
    size_t i;
    check_sizes(NULL, 1);
    for (i = 0; i < 2; i++) {
        spmv_matrix a;
        make(&a, large[i], SPMV_F64, "csr", 0, INTEGERS, NULL);
        check_one(&a, SPMV_F64, 1, 0, 2, ALL, 1, 1);
        spmv_destroy(&a);
    }
    cr_assert_gt(checks_done, 1000);
    cr_assert_eq(heard.live, 0);
}

/* The same bits with any number of threads, and again. */
Test(tail, the_same_bits)
{
    int reproducible, n;
    size_t t;
    for (reproducible = 0; reproducible < 2; reproducible++)
        for (t = 0; t < TYPES; t++) {
            vectors v = draw(types[t], 300007, 1);
            double first[SPMV_DOT_COUNT] = { 0 };
            void *z = vector_new(types[t], v.n);
            spmv_tail tail = tail_of(&v, 0.7, ALL, 1);
            spmv_matrix a;
            make(&a, v.n, types[t], "csr", reproducible, REALS, NULL);
            for (n = 1; n <= 3; n++) {
#ifdef _OPENMP
                omp_set_num_threads(n);
#endif
                cr_assert_eq(spmv_mul_tail(&a, 0.3, v.x, 0, v.y, &tail), SPMV_OK);
                if (n == 1) memcpy(first, v.sums, SPMV_DOT_COUNT * spmv_vector_size(types[t]));
                if (n == 1) memcpy(z, v.z, (size_t)v.n * spmv_vector_size(types[t]));
                cr_assert(!memcmp(first, v.sums, SPMV_DOT_COUNT * spmv_vector_size(types[t])), "%d threads", n);
                cr_assert(!memcmp(z, v.z, (size_t)v.n * spmv_vector_size(types[t])), "%d threads", n);
            }
            spmv_destroy(&a);
            free(z);
            drop(&v);
        }
}

/* z may be y, w or x, and then has the bits that it has by itself, as have the sums. */
static void same_vector(const spmv_matrix *a, spmv_type t, int which)
{
    vectors v = draw(t, spmv_rows(a), 1);
    const size_t bytes = (size_t)v.n * spmv_vector_size(t);
    void *y = need_exact(bytes), *z = need_exact(bytes), *sums = vector_new(t, SPMV_DOT_COUNT);
    spmv_tail tail = tail_of(&v, -0.4, ALL, 1);
    memcpy(y, v.y, bytes);
    CHECK(!spmv_mul_tail(a, 0.3, v.x, 0.1, y, &tail), "%s", heard.text);
    memcpy(z, v.z, bytes);
    memcpy(sums, v.sums, SPMV_DOT_COUNT * spmv_vector_size(t));
    tail.z = which == 0 ? v.y : which == 1 ? v.w : v.x;
    CHECK(!spmv_mul_tail(a, 0.3, v.x, 0.1, v.y, &tail), "%s", heard.text);
    CHECK(!memcmp(z, tail.z, bytes), "z is vector %d", which);
    CHECK(!memcmp(sums, v.sums, SPMV_DOT_COUNT * spmv_vector_size(t)), "sums, z is vector %d", which);
    free(sums);
    free(z);
    free(y);
    drop(&v);
}

Test(tail, z_may_be_a_vector_that_is_read)
{
    spmv_matrix a;
    int i;
    for (i = 0; i < 9; i++) {
        make(&a, 5003, types[i / 3], "csr", 0, REALS, NULL);
        same_vector(&a, types[i / 3], i % 3);
        spmv_destroy(&a);
    }
    cr_assert_eq(checks_done, 36);
}

/* What is not wanted is not read: NaN in w stays out, and w, sums and z may be NULL. */
Test(tail, reads_only_what_it_needs)
{
    spmv_matrix a;
    vectors v = draw(SPMV_F64, 700, 0);
    double *w = (double *)v.w, *z = (double *)v.z, *sums = (double *)v.sums;
    spmv_tail tail = tail_of(&v, 0, SPMV_DOT_XY | SPMV_DOT_ZZ, 1);
    make(&a, 700, SPMV_F64, "csr", 0, INTEGERS, NULL);
    w[5] = NAN;
    cr_assert_eq(spmv_mul_tail(&a, 1, v.x, 0, v.y, &tail), SPMV_OK);
    cr_assert(z[5] == ((double *)v.y)[5] && !isnan(sums[0]) && !isnan(sums[4]));
    tail.gamma = 1;
    cr_assert_eq(spmv_mul_tail(&a, 1, v.x, 0, v.y, &tail), SPMV_OK);
    cr_assert(isnan(z[5]) && !isnan(z[4]) && !isnan(sums[0]) && isnan(sums[4]), "NaN goes where it is read");
    tail.z = NULL;
    tail.dots = SPMV_DOT_XX;
    tail.w = NULL;
    cr_assert_eq(spmv_mul_tail(&a, 1, v.x, 0, v.y, &tail), SPMV_OK, "%s", heard.text);
    tail.dots = 0;
    tail.sums = NULL;
    cr_assert_eq(spmv_mul_tail(&a, 0, NULL, 0, v.y, &tail), SPMV_OK, "%s", heard.text);
    spmv_destroy(&a);
    drop(&v);
}

static void refused(const spmv_matrix *a, const spmv_tail *tail, const void *x, double *y, const char *message)
{
    y[0] = 17;
    heard.messages = 0;
    cr_assert_eq(spmv_mul_tail(a, 0, x, 0, y, tail), SPMV_ERR_ARGUMENT, "%s", message);
    cr_assert_str_eq(heard.text, message);
    cr_assert_eq(y[0], 17, "%s: something was done", message);
}

Test(tail, misuse)
{
    static double apart[5][200]; /* of 64 elements, and what is behind a vector is none of another */
    vectors v = { SPMV_F64, 64, apart[0], apart[1], apart[2], apart[3], apart[4] };
    spmv_tail tail = tail_of(&v, 1, ALL, 1);
    spmv_matrix a;
    spmv_desc d;
    matrix m;
    double *y = apart[1];
    make(&a, 64, SPMV_F64, "csr", 0, INTEGERS, NULL);
    refused(&a, NULL, v.x, y, "spmv_mul_tail: tail is NULL");
    refused(&a, &tail, NULL, y, "spmv_mul_tail: x is NULL");
    tail.w = NULL;
    refused(&a, &tail, v.x, y, "spmv_mul_tail: tail.w is NULL");
    tail.w = v.w;
    tail.sums = NULL;
    refused(&a, &tail, v.x, y, "spmv_mul_tail: tail.sums is NULL");
    tail.sums = y + 3;
    refused(&a, &tail, v.x, y, "spmv_mul_tail: tail.sums and y overlap");
    tail.sums = (double *)v.z + 60;
    tail.sums_offset = 3;
    refused(&a, &tail, v.x, y, "spmv_mul_tail: tail.sums and z overlap");
    tail.sums = v.sums;
    tail.sums_offset = 0;
    tail.z = (double *)v.w + 1;
    refused(&a, &tail, v.x, y, "spmv_mul_tail: tail.z and tail.w overlap");
    tail.z = v.x;
    tail.z_offset = 63;
    refused(&a, &tail, v.x, y, "spmv_mul_tail: tail.z and x overlap");
    tail.z = NULL;
    tail.dots = 32;
    refused(&a, &tail, v.x, y, "spmv_mul_tail: tail.dots 32 is unknown");
    spmv_destroy(&a);
    matrix_random(&m, "wide", 20, 64, 0.2);
    memset(&d, 0, sizeof d);
    d.matrix = matrix_input(&m, SPMV_F64);
    d.hooks = hearing();
    cr_assert_eq(spmv_create(&a, &d), SPMV_OK);
    tail.dots = SPMV_DOT_XY;
    refused(&a, &tail, v.x, y, "spmv_mul_tail: tail.dots with x need a square matrix, not 20 x 64");
    tail.dots = SPMV_DOT_YY | SPMV_DOT_WY;
    cr_assert_eq(spmv_mul_tail(&a, 1, v.x, 0, y, &tail), SPMV_OK);
    spmv_destroy(&a);
    cr_assert_eq(spmv_mul_tail(&a, 1, v.x, 0, y, &tail), SPMV_ERR_ARGUMENT, "it was destroyed");
    matrix_free(&m);
}

/* Without rows the sums are 0. */
static void check_empty(spmv_device *device)
{
    double sums[SPMV_DOT_COUNT] = { 1, 1, 1, 1, 1 };
    spmv_tail tail;
    spmv_matrix a;
    make(&a, 0, SPMV_F64, "csr", 0, INTEGERS, device);
    memset(&tail, 0, sizeof tail);
    tail.gamma = 1;
    tail.dots = ALL;
    tail.sums = sums;
    cr_assert_eq(spmv_mul_tail(&a, 1, NULL, 0, NULL, &tail), SPMV_OK, "%s", heard.text);
    cr_assert(!sums[0] && !sums[1] && !sums[2] && !sums[3] && !sums[4]);
    spmv_destroy(&a);
}

Test(tail, of_nothing) { check_empty(NULL); }

/* ---- on an OpenCL device ------------------------------------------------------------------------------------------------ */

#ifdef SPMV_DEVICE_H
enum { BEFORE = 3 }; /* elements in front of each vector in its buffer */

/* The five vectors of v in buffers. */
typedef struct buffers { void *at[5]; } buffers;

static buffers upload(const spmv_device *device, const vectors *v)
{
    const size_t size = spmv_vector_size(v->type);
    void *const from[5] = { v->x, v->y, v->w, v->z, v->sums };
    buffers b;
    int i;
    for (i = 0; i < 5; i++) {
        const size_t n = i == 4 ? SPMV_DOT_COUNT : (size_t)v->n;
        char *block = (char *)need(n + BEFORE, size);
        memcpy(block + BEFORE * size, from[i], n * size);
        cr_assert_eq(spmv_buffer_create(device, (n + BEFORE) * size, &b.at[i]), SPMV_OK);
        cr_assert_eq(spmv_buffer_write(device, b.at[i], (n + BEFORE) * size, block), SPMV_OK);
        free(block);
    }
    return b;
}

static void download(const spmv_device *device, vectors *v, const buffers *b, int which, void *to)
{
    const size_t size = spmv_vector_size(v->type), n = which == 4 ? SPMV_DOT_COUNT : (size_t)v->n;
    char *block = (char *)need(n + BEFORE, size);
    cr_assert_eq(spmv_buffer_read(device, b->at[which], (n + BEFORE) * size, block), SPMV_OK);
    memcpy(to, block + BEFORE * size, n * size);
    free(block);
}

/* The message of a refused call. */
static void refused_on(spmv_exec *e, const buffers *b, const spmv_tail *tail, const char *message)
{
    heard.messages = 0;
    cr_assert_eq(spmv_exec_mul_tail(e, 1, b->at[0], BEFORE, 0, b->at[1], BEFORE, tail), SPMV_ERR_ARGUMENT);
    cr_assert_str_eq(heard.text, message);
}

static spmv_tail tail_in(const buffers *b, double gamma, unsigned dots, int stores)
{
    spmv_tail tail;
    memset(&tail, 0, sizeof tail);
    tail.gamma = gamma;
    tail.w = b->at[2];
    tail.z = stores ? b->at[3] : NULL;
    tail.dots = dots;
    tail.sums = b->at[4];
    tail.w_offset = tail.z_offset = tail.sums_offset = BEFORE;
    return tail;
}

/* The same twice through one exec; reproducible: as on the host, bit by bit. */
static void check_exec(spmv_device *device, uint64_t n, spmv_type t, const char *plan, double gamma, unsigned dots, int stores)
{
    const size_t size = spmv_vector_size(t), bytes = (size_t)n * size;
    vectors v = draw(t, n, 1), host = v;
    void *y = vector_new(t, n), *sums = vector_new(t, SPMV_DOT_COUNT), *z = vector_new(t, n);
    buffers b = upload(device, &v);
    spmv_tail tail = tail_in(&b, gamma, dots, stores), on_host;
    spmv_matrix a, h;
    spmv_exec e;
    const uint64_t seed = rng_state;
    int i;
    make(&a, n, t, plan, 1, REALS, device);
    rng_state = seed;
    make(&h, n, t, plan, 1, REALS, NULL);
    host.y = y;
    host.z = z;
    host.sums = sums;
    memcpy(y, v.y, bytes);
    memcpy(z, v.z, bytes);
    memcpy(sums, v.sums, SPMV_DOT_COUNT * size);
    on_host = tail_of(&host, gamma, dots, stores);
    cr_assert_eq(spmv_mul_tail(&h, 0.3, v.x, 0, y, &on_host), SPMV_OK);
    cr_assert_eq(spmv_exec_create(&e, a.on_device, NULL), SPMV_OK);
    for (i = 0; i < 2; i++) {
        CHECK(!spmv_exec_mul_tail(&e, 0.3, b.at[0], BEFORE, 0, b.at[1], BEFORE, &tail), "%s", heard.text);
        download(device, &v, &b, 1, v.y);
        download(device, &v, &b, 3, v.z);
        download(device, &v, &b, 4, v.sums);
        CHECK(!memcmp(v.y, y, bytes), "n %d, %s: y", (int)n, plan);
        CHECK(!memcmp(v.z, z, bytes), "n %d, %s: z", (int)n, plan);
        CHECK(!memcmp(v.sums, sums, SPMV_DOT_COUNT * size), "n %d, type %d, %s: sums", (int)n, (int)t, plan);
    }
    spmv_exec_destroy(&e);
    spmv_destroy(&h);
    spmv_destroy(&a);
    for (i = 0; i < 5; i++) spmv_buffer_destroy(device, b.at[i]);
    free(z);
    free(sums);
    free(y);
    drop(&v);
}

static void open_device(spmv_device *device)
{
    spmv_device_desc open;
    memset(&open, 0, sizeof open);
    open.which = getenv("SPMV_TEST_DEVICE");
    open.hooks = hearing(); /* programs belong to the device */
    cr_assert_eq(spmv_device_create(device, &open), SPMV_OK, "%s", heard.text);
}

Test(tail, on_a_device)
{
    spmv_device device;
    size_t i, t;
    open_device(&device);
    check_sizes(&device, 4);
    check_empty(&device);
    for (i = 0; i < SIZES; i++)
        for (t = 0; t < TYPES; t++) check_exec(&device, sizes[i], types[t], i & 1 ? "csr" : "sell:h=32", -0.7, ALL, 1);
    for (i = 0; i < 2; i++) check_exec(&device, large[i], i ? SPMV_F32 : SPMV_MIXED, "csr", 0.5, ALL, 1);
    for (i = 0; i <= ALL; i += 3) check_exec(&device, 4099, SPMV_F64, "csr", i & 4 ? 0 : 1.1, (unsigned)i, i & 1);
    check_exec(&device, 3, SPMV_F64, "csr", 1, ALL, 0);
    for (i = 0; i < 2; i++) { /* groups as on GPUs, and as on those that allow only small ones */
        device.info.type = SPMV_DEVICE_GPU;
        if (i) device.info.group_size = 64;
        check_exec(&device, 4099, SPMV_F64, "csr", 0.5, ALL, 1);
        check_exec(&device, large[i], SPMV_F64, "csr", 0.5, SPMV_DOT_YY | SPMV_DOT_ZZ, 0);
        check_exec(&device, 513, SPMV_F32, "csr", 0.5, 0, 1);
    }
    spmv_device_destroy(&device);
    cr_assert_eq(heard.live, 0);
}

/* Without entries, on OpenCL's first device, on a queue that is out of order, with time measured. */
Test(tail, on_other_queues)
{
    spmv_device device;
    spmv_device_desc open;
    spmv_desc d;
    spmv_matrix a;
    spmv_exec e;
    vectors v = draw(SPMV_F64, 700, 0);
    double *sums = (double *)v.sums, seconds = -1;
    buffers b;
    spmv_tail tail;
    cl_command_queue queue;
    cl_int error;
    memset(&open, 0, sizeof open);
    open.profile = 1;
    open.which = "opencl:";
    cr_assert_eq(spmv_device_create(&device, &open), SPMV_OK);
    queue = clCreateCommandQueue((cl_context)device.context, (cl_device_id)device.info.id,
                                 CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE, &error);
    cr_assert_eq(error, CL_SUCCESS);
    b = upload(&device, &v);
    tail = tail_in(&b, 2, SPMV_DOT_XX | SPMV_DOT_ZZ, 1);
    memset(&d, 0, sizeof d);
    d.matrix.rows = d.matrix.cols = 700;
    d.matrix.form = SPMV_IN_COO;
    d.device = &device;
    cr_assert_eq(spmv_create(&a, &d), SPMV_OK);
    cr_assert_eq(spmv_exec_create(&e, a.on_device, queue), SPMV_OK);
    cr_assert_eq(spmv_exec_timing(&e, 1), SPMV_OK);
    cr_assert_eq(spmv_exec_mul_tail(&e, 1, b.at[0], BEFORE, 1, b.at[1], BEFORE, &tail), SPMV_OK, "%s", heard.text);
    clFinish(queue);
    cr_assert_eq(spmv_exec_seconds(&e, &seconds), SPMV_OK);
    cr_assert_geq(seconds, 0);
    {
        void *y = need_exact(700 * sizeof(double));
        memcpy(y, v.y, 700 * sizeof(double));
        download(&device, &v, &b, 1, v.y);
        download(&device, &v, &b, 3, v.z);
        download(&device, &v, &b, 4, sums);
        check_done(&v, y, 2, tail.dots, 1, 1, "no entries");
        free(y);
    }
    spmv_exec_destroy(&e);
    spmv_destroy(&a);
    { int i; for (i = 0; i < 5; i++) spmv_buffer_destroy(&device, b.at[i]); }
    clReleaseCommandQueue(queue);
    spmv_device_destroy(&device);
    drop(&v);
}

/* Buffers that are too small or overlap are refused before anything is enqueued. Memory that fails leaves an exec that still works, and
 * after the first tail none is asked for. */
Test(tail, faults_on_a_device)
{
    spmv_device device;
    spmv_matrix a;
    spmv_exec e;
    vectors v = draw(SPMV_F64, 700, 0);
    spmv_tail tail;
    buffers b;
    long n, asked;
    spmv_status s;
    int i;
    open_device(&device);
    b = upload(&device, &v);
    make(&a, 700, SPMV_F64, "csr", 0, INTEGERS, &device);
    cr_assert_eq(spmv_exec_create(&e, a.on_device, NULL), SPMV_OK);
    tail = tail_in(&b, 1, ALL, 1);
    refused_on(&e, &b, NULL, "spmv_exec_mul_tail: tail is NULL");
    tail.w_offset = BEFORE + 1;
    refused_on(&e, &b, &tail, "tail.w: 700 elements from offset 4 exceed the buffer's 703");
    tail.w_offset = BEFORE;
    tail.z = b.at[1];
    tail.z_offset = BEFORE - 1;
    refused_on(&e, &b, &tail, "spmv_exec_mul_tail: tail.z and y overlap");
    tail = tail_in(&b, 1, ALL, 1);
    for (s = SPMV_ERR_MEMORY, n = 1; s; n++) {
        heard.fail_at = heard.calls + n;
        s = spmv_exec_mul_tail(&e, 1, b.at[0], BEFORE, 0, b.at[1], BEFORE, &tail);
        cr_assert(!s || s == SPMV_ERR_MEMORY, "%s", heard.text);
    }
    cr_assert_gt(n, 2);
    heard.fail_at = 0;
    asked = heard.calls;
    cr_assert_eq(spmv_exec_mul_tail(&e, 1, b.at[0], BEFORE, 0, b.at[1], BEFORE, &tail), SPMV_OK);
    cr_assert_eq(heard.calls, asked);
    cr_assert_eq(spmv_device_finish(&device), SPMV_OK); /* PoCL would still compile while the process ends, and crash */
    spmv_exec_destroy(&e);
    spmv_destroy(&a);
    for (i = 0; i < 5; i++) spmv_buffer_destroy(&device, b.at[i]);
    spmv_device_destroy(&device);
    cr_assert_eq(heard.live, 0);
    drop(&v);
}
#endif
