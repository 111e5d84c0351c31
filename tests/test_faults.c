/* SPDX-License-Identifier: MIT
 * Failures of OpenCL and of memory: every OpenCL call of the library fails once, in turn, and every handle must be released exactly as
 * often as it was retained; the choice tries plans that need less memory. Runs on PoCL or on the device named by SPMV_TEST_DEVICE. */
#define SPMV_CL_LINK
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(a) (sizeof(a) / sizeof *(a))

/* ---- calls that can be made to fail, and the handles that are held ------------------------------------------------------ */
static long calls, fail_at = -1, fails_left; /* calls so far; the number of the first that fails; how many fail from there on */
static cl_int fault;
static const char *only;                     /* only calls of this name count; NULL: all */
static char failed[64];                      /* the name of the latest call that failed */
static long finished;                        /* how often a queue was waited for */

static int fails(const char *name)
{
    if (only && strcmp(only, name) != 0) return 0;
    if (fail_at < 0 || calls++ < fail_at || fails_left <= 0) return 0;
    fails_left--;
    snprintf(failed, sizeof failed, "%s", name);
    return 1;
}

static struct held {
    void *handle;
    long count;
} held[4096];
static size_t held_used;
static int over_released; /* handles released more often than retained */

static void hold(void *handle, int by)
{
    size_t i;
    if (!handle) return;
    for (i = 0; i < held_used && !(held[i].handle == handle && held[i].count > 0); i++) {}
    if (i == held_used) { /* it is new, or was released completely before */
        if (by < 0) { over_released++; return; }
        for (i = 0; i < held_used && held[i].count > 0; i++) {}
        cr_assert_lt(i, LENGTH(held));
        held[i].handle = handle;
        held[i].count = 0;
        if (i == held_used) held_used++;
    }
    held[i].count += by;
}

static long holding(void)
{
    long n = 0;
    size_t i;
    for (i = 0; i < held_used; i++) n += held[i].count;
    return n;
}

#define MAKER(type, name, parameters, arguments)             \
    static type fault_##name parameters                      \
    {                                                        \
        type made;                                           \
        if (fails(#name)) {                                  \
            *e = fault;                                      \
            return NULL;                                     \
        }                                                    \
        made = name arguments;                               \
        hold(made, 1);                                       \
        return made;                                         \
    }
MAKER(cl_context, clCreateContext, (const cl_context_properties *p, cl_uint n, const cl_device_id *d,
      void (CL_CALLBACK *f)(const char *, const void *, size_t, void *), void *u, cl_int *e), (p, n, d, f, u, e))
MAKER(cl_command_queue, clCreateCommandQueue, (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int *e), (c, d, p, e))
MAKER(cl_program, clCreateProgramWithSource, (cl_context c, cl_uint n, const char **t, const size_t *s, cl_int *e), (c, n, t, s, e))
MAKER(cl_program, clCreateProgramWithBinary, (cl_context c, cl_uint n, const cl_device_id *d, const size_t *s, const unsigned char **b,
      cl_int *o, cl_int *e), (c, n, d, s, b, o, e))
MAKER(cl_kernel, clCreateKernel, (cl_program p, const char *n, cl_int *e), (p, n, e))
MAKER(cl_mem, clCreateBuffer, (cl_context c, cl_mem_flags f, size_t n, void *p, cl_int *e), (c, f, n, p, e))
MAKER(cl_mem, clCreateImage, (cl_context c, cl_mem_flags f, const cl_image_format *i, const cl_image_desc *d, void *p, cl_int *e),
      (c, f, i, d, p, e))

static cl_int fault_clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o, const size_t *g, const size_t *l,
                                           cl_uint n, const cl_event *w, cl_event *e)
{
    cl_int code = fails("clEnqueueNDRangeKernel") ? fault : clEnqueueNDRangeKernel(q, k, d, o, g, l, n, w, e);
    if (code == CL_SUCCESS && e) hold(*e, 1);
    return code;
}

static void *fault_clEnqueueMapBuffer(cl_command_queue q, cl_mem m, cl_bool b, cl_map_flags f, size_t o, size_t s, cl_uint n,
                                      const cl_event *w, cl_event *e, cl_int *code)
{
    if (!fails("clEnqueueMapBuffer")) return clEnqueueMapBuffer(q, m, b, f, o, s, n, w, e, code);
    *code = fault;
    return NULL;
}

static cl_int fault_clEnqueueMarkerWithWaitList(cl_command_queue q, cl_uint n, const cl_event *w, cl_event *e)
{
    cl_int code = fails("clEnqueueMarkerWithWaitList") ? fault : clEnqueueMarkerWithWaitList(q, n, w, e);
    if (code == CL_SUCCESS && e) hold(*e, 1);
    return code;
}

#define TAKER(name, type, by)                                              \
    static cl_int fault_##name(type handle)                                \
    {                                                                      \
        cl_int code = by > 0 && fails(#name) ? fault : CL_SUCCESS;         \
        if (code != CL_SUCCESS) return code;                               \
        hold(handle, by);                                                  \
        return over_released ? CL_INVALID_VALUE : name(handle);            \
    }
TAKER(clRetainContext, cl_context, 1)
TAKER(clRetainCommandQueue, cl_command_queue, 1)
TAKER(clRetainEvent, cl_event, 1)
TAKER(clRetainMemObject, cl_mem, 1)
TAKER(clReleaseContext, cl_context, -1)
TAKER(clReleaseCommandQueue, cl_command_queue, -1)
TAKER(clReleaseProgram, cl_program, -1)
TAKER(clReleaseKernel, cl_kernel, -1)
TAKER(clReleaseMemObject, cl_mem, -1)
TAKER(clReleaseEvent, cl_event, -1)

#define clCreateContext           fault_clCreateContext
#define clCreateCommandQueue      fault_clCreateCommandQueue
#define clCreateProgramWithSource fault_clCreateProgramWithSource
#define clCreateProgramWithBinary fault_clCreateProgramWithBinary
#define clCreateKernel            fault_clCreateKernel
#define clCreateBuffer            fault_clCreateBuffer
#define clCreateImage             fault_clCreateImage
#define clEnqueueNDRangeKernel    fault_clEnqueueNDRangeKernel
#define clEnqueueMarkerWithWaitList fault_clEnqueueMarkerWithWaitList
#define clEnqueueMapBuffer        fault_clEnqueueMapBuffer
#define clRetainContext           fault_clRetainContext
#define clRetainCommandQueue      fault_clRetainCommandQueue
#define clRetainEvent             fault_clRetainEvent
#define clRetainMemObject         fault_clRetainMemObject
#define clReleaseContext          fault_clReleaseContext
#define clReleaseCommandQueue     fault_clReleaseCommandQueue
#define clReleaseProgram          fault_clReleaseProgram
#define clReleaseKernel           fault_clReleaseKernel
#define clReleaseMemObject        fault_clReleaseMemObject
#define clReleaseEvent            fault_clReleaseEvent
/* the other calls return a code and make no handle */
#define MAY_FAIL(name, ...) (fails(#name) ? fault : name(__VA_ARGS__))
#define clBuildProgram(...)            MAY_FAIL(clBuildProgram, __VA_ARGS__)
#define clEnqueueBarrierWithWaitList(...) MAY_FAIL(clEnqueueBarrierWithWaitList, __VA_ARGS__)
#define clFinish(queue)                (finished++, clFinish(queue))
#define clFlush(...)                   MAY_FAIL(clFlush, __VA_ARGS__)
#define clEnqueueReadBuffer(...)       MAY_FAIL(clEnqueueReadBuffer, __VA_ARGS__)
#define clEnqueueWriteBuffer(...)      MAY_FAIL(clEnqueueWriteBuffer, __VA_ARGS__)
#define clGetCommandQueueInfo(...)     MAY_FAIL(clGetCommandQueueInfo, __VA_ARGS__)
#define clGetDeviceIDs(...)            MAY_FAIL(clGetDeviceIDs, __VA_ARGS__)
#define clGetDeviceInfo(...)           MAY_FAIL(clGetDeviceInfo, __VA_ARGS__)
#define clGetEventProfilingInfo(...)   MAY_FAIL(clGetEventProfilingInfo, __VA_ARGS__)
#define clGetKernelWorkGroupInfo(...)  MAY_FAIL(clGetKernelWorkGroupInfo, __VA_ARGS__)
#define clGetMemObjectInfo(...)        MAY_FAIL(clGetMemObjectInfo, __VA_ARGS__)
#define clGetPlatformIDs(...)          MAY_FAIL(clGetPlatformIDs, __VA_ARGS__)
#define clGetPlatformInfo(...)         MAY_FAIL(clGetPlatformInfo, __VA_ARGS__)
#define clGetProgramBuildInfo(...)     MAY_FAIL(clGetProgramBuildInfo, __VA_ARGS__)
#define clGetProgramInfo(...)          MAY_FAIL(clGetProgramInfo, __VA_ARGS__)
#define clGetSupportedImageFormats(...) MAY_FAIL(clGetSupportedImageFormats, __VA_ARGS__)
#define clSetKernelArg(...)            MAY_FAIL(clSetKernelArg, __VA_ARGS__)
#define clWaitForEvents(...)           MAY_FAIL(clWaitForEvents, __VA_ARGS__)
/* Pinned memory is used for all copies, as on a GPU. */
#define SPMV__STAGE_CHUNK 65536
#define SPMV__STAGE_LEAST 1
#define SPMV__STAGE_PAYS 1
#define SPMV__STAGE_ANYWHERE 1
#define SPMV_IMPLEMENTATION
#include "../spmv.h"
#include "../spmv_group.h"
#include "../tools/measure/selfcheck.h"

/* ---- a matrix with a few diagonals, so that dia is the best plan; its values are small integers ---------------------- */
enum { N = 8000, NNZ = 5 * N };

static int32_t ptr[N + 1], col[NNZ];
static float val[NNZ], x[N], want[N];

static void make_matrix(void)
{
    int r, k, n = 0;
    for (r = 0; r < N; r++) {
        x[r] = (float)(1 + r % 5);
        for (k = -2; k <= 2; k++)
            if (r + k >= 0 && r + k < N) {
                col[n] = r + k;
                val[n++] = (float)(1 + (r + k + 4) % 3); /* not symmetric */
            }
        ptr[r + 1] = n;
    }
    for (r = 0; r < N; r++)
        for (want[r] = 0, k = ptr[r]; k < ptr[r + 1]; k++) want[r] += val[k] * x[col[k]];
}

static char said[1024]; /* the latest message */

static void listen(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    snprintf(said, sizeof said, "%s", message);
}

/* an allocator that refuses blocks of one size and counts the others */
static size_t refuse = SIZE_MAX;
static long blocks;

static void *bounded(void *user, void *block, size_t bytes)
{
    (void)user;
    if (!bytes) {
        blocks -= block != NULL;
        free(block);
        return NULL;
    }
    if (bytes == refuse) return NULL;
    blocks += block == NULL;
    return realloc(block, bytes);
}

static spmv_desc desc_of(const char *plan, spmv_device *device)
{
    spmv_desc d;
    memset(&d, 0, sizeof d);
    d.matrix.rows = d.matrix.cols = N;
    d.matrix.ptr = ptr;
    d.matrix.col = col;
    d.matrix.val = val;
    d.matrix.val_type = SPMV_F32;
    d.type = SPMV_F32;
    d.plan = plan;
    d.device = device;
    d.hooks.log = listen;
    d.hooks.resize = bounded;
    return d;
}

static int right(const float *y)
{
    int i;
    for (i = 0; i < N; i++)
        if (y[i] - want[i] > 0 || y[i] - want[i] < 0) return 0; /* small integers are exact */
    return 1;
}

static spmv_device_desc device_desc(void)
{
    spmv_device_desc d;
    memset(&d, 0, sizeof d);
    d.which = getenv("SPMV_TEST_DEVICE");
    d.hooks.log = listen;
    d.hooks.resize = bounded;
    d.profile = 1;
    return d;
}

/* ---- every call fails once -------------------------------------------------------------------------------------------- */

/* Does everything once: a device (unless one is given), a matrix, an exec with timing and images, products with events, updates. y is
 * right wherever the status is OK. */
static spmv_conversion conversion; /* in it */

static spmv_status everything(const char *plan, const char *variant, spmv_device *given)
{
    static float y[N];
    spmv_device_desc own = device_desc();
    spmv_desc desc;
    spmv_device d;
    spmv_matrix m;
    spmv_exec e;
    cl_event first = NULL, done = NULL;
    double took = 0;
    spmv_status s = given ? SPMV_OK : spmv_device_create(&d, &own);
    memset(&m, 0, sizeof m);
    memset(&e, 0, sizeof e);
    desc = desc_of(plan, given ? given : &d);
    desc.updatable = 1;
    desc.convert = conversion;
    desc.variant = variant;
    if (!s) s = spmv_create(&m, &desc);
    if (!s) s = spmv_exec_create(&e, m.on_device, NULL);
    if (!s) s = spmv_exec_timing(&e, 1);
    if (!s) s = spmv_exec_mul_host(&e, 1, x, 0, y);
    if (!s) cr_assert(right(y), "%s: wrong", failed);
    if (!s) s = spmv_cl_mul(&e, 1, e.x, 0, 0, e.y, 0, 0, NULL, &first);
    cr_assert(!s == (first != NULL));
    if (!s) s = spmv_cl_mul(&e, 0, NULL, 0, 1, e.y, 0, 1, &first, &done); /* enqueues only a marker */
    cr_assert(!s == (done != NULL));
    if (!s) s = spmv_exec_seconds(&e, &took);
    if (!s) s = spmv_update(&m, val);
    memset(y, 0, sizeof y);
    if (!s) s = spmv_mul(&m, 1, x, 0, y);
    if (!s) cr_assert(right(y), "%s: wrong", failed);
    if (s && m.on_device && fails_left == 0) { /* after a failure, the same call can succeed */
        memset(y, 0, sizeof y);
        cr_assert_eq(spmv_mul(&m, 1, x, 0, y), SPMV_OK, "after %s: %s", failed, said);
        cr_assert(right(y), "wrong after %s", failed);
    }
    if (first) clReleaseEvent(first);
    if (done) clReleaseEvent(done);
    spmv_exec_destroy(&e);
    spmv_destroy(&m);
    if (!given) spmv_device_destroy(&d);
    return s;
}

/* The same for a matrix on the given device and the host (spmv_group.h). */
static spmv_status everything_of_a_group(const char *plan, const char *variant, spmv_device *given)
{
    static float y[N];
    spmv_device *on[2] = { given, NULL };
    spmv_group_desc desc;
    spmv_group g;
    spmv_status s;
    memset(&desc, 0, sizeof desc);
    desc.desc = desc_of(plan, NULL);
    desc.desc.updatable = 1;
    desc.desc.variant = variant;
    desc.device = on;
    desc.count = 2;
    desc.divide = SPMV_GROUP_BY_NNZ;
    s = spmv_group_create(&g, &desc);
    if (!s) s = spmv_group_mul(&g, 1, x, 0, y);
    if (!s) cr_assert(right(y), "%s: wrong", failed);
    if (!s) s = spmv_group_update(&g, val);
    if (!s) s = spmv_group_mul(&g, 1, x, 0, y);
    if (s && g.count && fails_left == 0) {
        memset(y, 0, sizeof y);
        cr_assert_eq(spmv_group_mul(&g, 1, x, 0, y), SPMV_OK, "after %s: %s", failed, said);
        cr_assert(right(y), "wrong after %s", failed);
    }
    spmv_group_destroy(&g);
    return s;
}

static int both; /* 1: matrices in buffers are made for both directions */

/* 1 if y is A^T x. */
static int right_transposed(const float *y)
{
    static float turned[N];
    int r, k;
    memset(turned, 0, sizeof turned);
    for (r = 0; r < N; r++)
        for (k = ptr[r]; k < ptr[r + 1]; k++) turned[col[k]] += val[k] * x[r];
    return !memcmp(y, turned, sizeof turned);
}

/* The same for a matrix whose CSR form is in buffers of the given device; they are not what is tested. */
static spmv_status everything_in_buffers(const char *plan, const char *variant, spmv_device *given)
{
    static const void *const from[3] = { ptr, col, val };
    static const uint64_t bytes[3] = { sizeof ptr, sizeof col, sizeof val };
    static float y[N];
    const long at = fail_at;
    void *buffer[3];
    spmv_desc desc = desc_of(plan, given);
    spmv_matrix m;
    spmv_status s;
    int k;
    fail_at = -1;
    for (k = 0; k < 3; k++) {
        cr_assert_eq(spmv_buffer_create(given, bytes[k], &buffer[k]), SPMV_OK);
        cr_assert_eq(spmv_buffer_write(given, buffer[k], bytes[k], from[k]), SPMV_OK);
    }
    calls = 0;
    fail_at = at;
    desc.variant = variant;
    desc.convert = SPMV_CONVERT_ON_DEVICE;
    desc.buffers = 1;
    desc.both = both;
    desc.matrix.ptr = buffer[0];
    desc.matrix.col = buffer[1];
    desc.matrix.val = buffer[2];
    s = spmv_create(&m, &desc);
    if (!s) s = spmv_mul(&m, 1, x, 0, y);
    if (!s) cr_assert(right(y), "%s: wrong", failed);
    if (!s && both) s = spmv_mul_transposed(&m, 1, x, 0, y);
    if (!s && both) cr_assert(right_transposed(y), "%s: transposed: wrong", failed);
    spmv_destroy(&m);
    for (k = 0; k < 3; k++) spmv_buffer_destroy(given, buffer[k]);
    return s;
}

/* Handles that are held beside those of buffers that a device keeps for the next matrix, whose number may change. */
static long holding_beside(const spmv_device *d)
{
    long n = holding();
    int i;
    for (i = 0; d && d->common && i < SPMV__SCRATCH_BUFFERS; i++) n -= d->common->scratch.buffer[i].at != NULL;
    return n;
}

static void every_call_of(spmv_status (*everything_of)(const char *plan, const char *variant, spmv_device *given), const char *plan,
                          const char *variant, spmv_device *given)
{
    static const cl_int codes[] = { CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY, CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_INVALID_VALUE };
    long n, total, refused = 0, asked = 0, before, blocks_before; /* asked: how large a buffer is that is then freed, not kept */
    fail_at = 1000000; /* no call fails, but they are counted */
    fails_left = 1;
    /* from now on, a given device has the programs, those of the host's way included, which a failure may lead to */
    if (everything_of == everything_in_buffers) cr_assert_eq(everything(plan, variant, given), SPMV_OK, "%s", said);
    cr_assert_eq(everything_of(plan, variant, given), SPMV_OK, "%s", said);
    calls = 0;
    before = holding_beside(given);
    blocks_before = blocks;
    cr_assert_eq(everything_of(plan, variant, given), SPMV_OK, "%s", said);
    total = calls;
    cr_assert(holding_beside(given) == before && !over_released && blocks == blocks_before);
    for (n = 0; n < total; n++) {
        spmv_status s;
        calls = 0;
        fail_at = n;
        fails_left = 1;
        fault = codes[(size_t)n % LENGTH(codes)];
        s = everything_of(plan, variant, given);
        refused += s != SPMV_OK;
        asked += !s && !strcmp(failed, "clGetMemObjectInfo");
        cr_assert_eq(over_released, 0, "call %ld, %s (%d): a handle is released once too often", n, failed, (int)fault);
        cr_assert_eq(holding_beside(given), before, "call %ld, %s (%d): %ld handles are left", n, failed, (int)fault,
                     holding_beside(given) - before);
        cr_assert_eq(blocks, blocks_before, "call %ld, %s (%d): %ld blocks are left", n, failed, (int)fault, blocks - blocks_before);
    }
    fail_at = -1;
    printf("%s: %ld calls failed, %ld times with a status, %ld for a size\n", plan, total, refused, asked);
    /* the other calls only query names and the like; with CSR in buffers, the host often does what the device did not */
    cr_assert_gt(refused, (total - asked) / (everything_of == everything_in_buffers ? 8 : 3));
}

static void every_call(const char *plan, const char *variant, spmv_device *given) { every_call_of(everything, plan, variant, given); }

/* PoCL 3.1 leaks a block in every clCreateImage; here only the library's own blocks and handles are counted. */
#ifdef __SANITIZE_ADDRESS__
void __lsan_disable(void);
#else
static void __lsan_disable(void) {}
#endif

Test(faults, every_call_fails_once, .timeout = 300)
{
    spmv_device_desc own = device_desc();
    spmv_device d;
    make_matrix();
    every_call("csr:run=64", "FINISH=1", NULL);
    __lsan_disable();
    cr_assert_eq(spmv_device_create(&d, &own), SPMV_OK, "%s", said);
    every_call("ell:w=3+coo", "IMG=1+IMG=0", &d);
    every_call_of(everything_of_a_group, "csr", NULL, &d);
    conversion = SPMV_CONVERT_ON_DEVICE;
    every_call("sbell:b=2x2,idx=16", NULL, &d);
    every_call("ell:w=3+tcsr:rows=nonempty", NULL, &d);
    conversion = SPMV_CONVERT_DEFAULT;
    every_call_of(everything_in_buffers, "tcsr", NULL, &d);
    spmv_device_destroy(&d);
    cr_assert(!holding() && !over_released && !blocks);
}

/* The same of each way in which the device fills the arrays of a format. */
Test(thorough, every_call_in_buffers_fails_once, .timeout = 300)
{
    spmv_device_desc own = device_desc();
    spmv_device d;
    make_matrix();
    __lsan_disable();
    cr_assert_eq(spmv_device_create(&d, &own), SPMV_OK, "%s", said);
    every_call_of(everything_in_buffers, "sell", NULL, &d);
    every_call_of(everything_in_buffers, "bcsr:b=2x2", NULL, &d);
    every_call_of(everything_in_buffers, "tcsr:tile=512,idx=16", NULL, &d);
    every_call_of(everything_in_buffers, "ell:w=1+bdia", NULL, &d);
    every_call_of(everything_in_buffers, "ell:w=1+dia:d=0.1+csr", NULL, &d);
    both = 1;
    every_call_of(everything_in_buffers, "ell", NULL, &d);
    both = 0;
    every_call_of(everything_in_buffers, "sell:w=3,rows=sorted,idx=16+csr:run=64,idx=16,rows=nonempty", NULL, &d);
    spmv_device_destroy(&d);
    cr_assert(!holding() && !over_released && !blocks);
}

/* A copy that fails leaves no copy behind that still reads pinned memory, which the next matrix overwrites. */
Test(faults, a_failed_copy_waits_for_earlier_ones)
{
    static const char *const calls_of_copies[] = { "clWaitForEvents", "clEnqueueWriteBuffer", "clEnqueueMarkerWithWaitList" };
    static float y[N];
    spmv_device_desc own = device_desc();
    spmv_desc desc;
    spmv_device d;
    spmv_matrix m;
    size_t i;
    make_matrix();
    cr_assert_eq(spmv_device_create(&d, &own), SPMV_OK, "%s", said);
    desc = desc_of("csr", &d);
    cr_assert_eq(spmv_create(&m, &desc), SPMV_OK, "%s", said); /* the pinned memory is in use from here on */
    spmv_destroy(&m);
    for (i = 0; i < LENGTH(calls_of_copies); i++) {
        only = calls_of_copies[i];
        calls = finished = 0;
        fail_at = 0;
        fails_left = 1;
        fault = CL_OUT_OF_RESOURCES;
        cr_assert_neq(spmv_create(&m, &desc), SPMV_OK, "%s", only);
        cr_assert_gt(finished, 0, "%s", only);
        fail_at = -1;
        only = NULL;
        cr_assert_eq(spmv_create(&m, &desc), SPMV_OK, "%s", said);
        cr_assert_eq(spmv_mul(&m, 1, x, 0, y), SPMV_OK, "%s", said);
        cr_assert(right(y));
        spmv_destroy(&m);
    }
    spmv_device_destroy(&d);
    cr_assert(!holding() && !over_released && !blocks);
}

/* Opens a device, gives it the programs, multiplies once, and takes its programs. compiled: how many came from source. */
static spmv_status programs_once(const void *from, size_t bytes, void **out, size_t *out_bytes, uint64_t *compiled)
{
    static float y[N];
    spmv_device_desc own = device_desc();
    spmv_desc desc;
    spmv_device d;
    spmv_matrix m;
    spmv_status s = spmv_device_create(&d, &own);
    memset(&m, 0, sizeof m);
    desc = desc_of("ell:w=3+coo", &d);
    *out = NULL;
    if (!s) s = spmv_device_programs_give(&d, from, bytes);
    if (!s) s = spmv_create(&m, &desc);
    if (!s) s = spmv_mul(&m, 1, x, 0, y);
    if (!s) cr_assert(right(y), "%s: wrong", failed);
    if (!s) s = spmv_device_programs_take(&d, out, out_bytes);
    *compiled = d.compiled;
    spmv_destroy(&m);
    spmv_device_destroy(&d);
    return s;
}

/* The driver's own binaries, and each call that has to do with them fails once. */
Test(faults, programs_from_bytes, .timeout = 120)
{
    static const char *const calls_of[] = { "clGetProgramInfo", "clCreateProgramWithBinary", "clBuildProgram" };
    void *good = NULL, *other = NULL;
    size_t bytes, again, i;
    uint64_t compiled;
    make_matrix();
    cr_assert_eq(programs_once(NULL, 0, &good, &bytes, &compiled), SPMV_OK, "%s", said);
    cr_assert_geq(compiled, 2);
    cr_assert_eq(programs_once(good, bytes, &other, &again, &compiled), SPMV_OK, "%s", said);
    cr_assert_eq(compiled, 0);
    bounded(NULL, other, 0);
    for (i = 0; i < LENGTH(calls_of); i++) {
        int n;
        for (n = 0; ; n++) {
            spmv_status s;
            only = calls_of[i];
            calls = 0;
            fail_at = n;
            fails_left = 1;
            fault = CL_OUT_OF_HOST_MEMORY;
            s = programs_once(good, bytes, &other, &again, &compiled);
            cr_assert_eq(!s, other != NULL);
            bounded(NULL, other, 0);
            cr_assert(!holding() && !over_released && blocks == 1, "%s %d: %ld handles, %ld blocks are left", only, n, holding(), blocks);
            if (fails_left) break;
            cr_assert_eq(s, i ? SPMV_OK : SPMV_ERR_MEMORY, "%s %d: %s", only, n, said); /* what is not loaded is compiled */
            if (i) cr_assert_eq(compiled, 1);
        }
        cr_assert_gt(n, 0, "%s was not called", only);
    }
    only = NULL;
    fail_at = -1;
    bounded(NULL, good, 0);
    cr_assert_eq(blocks, 0);
}

/* ---- the choice tries the next option -------------------------------------------------------------------------------------- */

Test(choice, goes_on_without_memory_on_the_host)
{
    static float y[N];
    spmv_desc d = desc_of(NULL, NULL);
    spmv_input in = d.matrix;
    spmv_matrix m;
    spmv_csr csr;
    char first[1024], less[1024];
    make_matrix();
    cr_assert_eq(spmv_csr_create(&csr, &in, SPMV_F32, NULL), SPMV_OK);
    d.csr = &csr;
    memset(&d.matrix, 0, sizeof d.matrix);
    cr_assert_eq(spmv_create(&m, &d), SPMV_OK, "%s", said);
    spmv_shares(&m, first, sizeof first);
    refuse = (size_t)(m.store.part[0].a[SPMV_VAL].count * m.store.part[0].a[SPMV_VAL].width);
    spmv_destroy(&m);
    cr_assert_eq(spmv_create(&m, &d), SPMV_OK, "%s", said);
    spmv_shares(&m, less, sizeof less);
    cr_assert_str_neq(less, first);
    cr_assert_eq(spmv_mul(&m, 1, x, 0, y), SPMV_OK);
    cr_assert(right(y));
    printf("%s, with less memory %s\n", first, less);
    spmv_destroy(&m);
    d.plan = "dia"; /* a given plan has no next option, so the status says why */
    cr_assert_eq(spmv_create(&m, &d), SPMV_ERR_MEMORY);
    cr_assert(strstr(said, "no memory for"), "%s", said);
    spmv_csr_destroy(&csr);
    cr_assert_eq(blocks, 0);
}

Test(choice, goes_on_without_memory_on_a_device, .timeout = 120)
{
    static const char *const calls_of[] = { "clCreateBuffer", "clEnqueueWriteBuffer", "clCreateKernel", "clBuildProgram" };
    static const cl_int codes[] = { CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY, CL_MEM_OBJECT_ALLOCATION_FAILURE };
    static float y[N];
    spmv_device_desc own = device_desc();
    spmv_device d;
    spmv_desc desc = desc_of("auto", &d);
    size_t i, k;
    make_matrix();
    cr_assert_eq(spmv_device_create(&d, &own), SPMV_OK, "%s", said);
    for (i = 0; i < LENGTH(calls_of); i++)
        for (k = 0; k < LENGTH(codes); k++) {
            spmv_matrix m;
            long around = holding();
            if (!strcmp(calls_of[i], "clBuildProgram")) { /* without the programs that were built so far */
                spmv_device_destroy(&d);
                around = 0;
                cr_assert_eq(spmv_device_create(&d, &own), SPMV_OK, "%s", said);
                around = holding();
            }
            only = calls_of[i];
            fault = codes[k];
            calls = 0;
            fail_at = 0;
            fails_left = 1;
            cr_assert_eq(spmv_create(&m, &desc), SPMV_OK, "%s, code %d: %s", only, (int)fault, said);
            cr_assert_eq(fails_left, 0, "%s was not called", only);
            cr_assert_eq(spmv_mul(&m, 1, x, 0, y), SPMV_OK, "%s", said);
            cr_assert(right(y));
            fails_left = 1000000; /* if no option can be made, the status says so */
            calls = 0;
            spmv_destroy(&m);
            cr_assert_geq(holding(), around); /* programs still belong to the device */
            if (strcmp(only, "clBuildProgram") != 0)
                cr_assert_eq(spmv_create(&m, &desc), codes[k] == CL_OUT_OF_RESOURCES ? SPMV_ERR_BACKEND : SPMV_ERR_MEMORY);
            fails_left = 0;
            only = NULL;
        }
    spmv_device_destroy(&d);
    cr_assert_eq(holding(), 0);
    cr_assert_eq(blocks, 0);
    cr_assert_eq(over_released, 0);
}

/* "measure" times three options by the events of the device; where the queue has none, the first is taken. */
Test(choice, is_measured_on_a_device, .timeout = 120)
{
    static const char lines[] = "spmv tuning table 2\ndevice d\nclass cpu\nmemory 10\nf32 sell - 0 0 0 100 0 0 0 0 0\n"
                                "f32 dia - 0 0 0 110 0 0 0 0 0\nf32 csr - 0 0 0 150 0 0 0 0 0\nf32 coo - 0 0 0 900 0 0 0 0 0\n";
    static float y[N];
    static spmv_choice c; /* large */
    spmv_tuning table;
    spmv_build_hints hints;
    spmv_matrix m;
    int profile, i, n;
    make_matrix();
    memset(&hints, 0, sizeof hints);
    cr_assert_eq(spmv_tuning_create(&table, lines, sizeof lines - 1, NULL, NULL), SPMV_OK);
    hints.tuning = &table;
    hints.choice = &c;
    for (profile = 0; profile < 2; profile++) {
        spmv_device_desc own = device_desc();
        spmv_device d;
        spmv_desc desc = desc_of("measure", &d);
        own.profile = profile;
        desc.hints = &hints;
        cr_assert_eq(spmv_device_create(&d, &own), SPMV_OK, "%s", said);
        cr_assert_eq(spmv_create(&m, &desc), SPMV_OK, "%s", said);
        for (i = n = 0; i < c.count; i++) n += c.option[i].measured > 0 && c.option[i].measured < 1;
        cr_assert_eq(n, profile ? 3 : 0, "%d options were timed", n);
        for (i = 0; i < c.count && profile; i++) /* of those that were timed, the fastest */
            cr_assert(c.option[i].measured <= 0 || c.option[0].measured <= c.option[i].measured, "option %d", i);
        cr_assert(c.plan.count == m.store.plan_count && !memcmp(c.plan.part, m.store.plan, (size_t)c.plan.count * sizeof *c.plan.part));
        cr_assert_eq(spmv_mul(&m, 1, x, 0, y), SPMV_OK, "%s", said);
        cr_assert(right(y));
        spmv_destroy(&m);
        spmv_device_destroy(&d);
        cr_assert_eq(holding(), 0);
    }
    spmv_tuning_destroy(&table);
    cr_assert_eq(blocks, 0);
}

/* The self-check works on a copy of the device. */
Test(faults, the_self_check_leaves_nothing, .timeout = 120)
{
    spmv_device_desc own = device_desc();
    selfcheck_desc some;
    selfcheck_counts n;
    spmv_device d;
    long before;
    __lsan_disable();
    memset(&some, 0, sizeof some);
    some.formats = 1u << SPMV_DIA;
    some.types = 1u << SPMV_F32;
    some.brief = 1;
    cr_assert_eq(spmv_device_create(&d, &own), SPMV_OK, "%s", said);
    before = holding();
    cr_assert_eq(selfcheck_run(&d, &some, &n), SPMV_OK, "%s", said);
    cr_assert(n.usable > 0);
    cr_assert_eq(holding(), before);
    spmv_device_destroy(&d);
    cr_assert(!holding() && !over_released && !blocks);
}
