/* SPDX-License-Identifier: MIT
 * Conversion on a device (spmv/device.h): every byte of every array is compared with what the host fills, on the first OpenCL device.
 * SPMV_TEST_DEVICE chooses another, as for test_cl. */
/* Small chunks of pinned memory, so that many copies go through it, in several chunks. */
#define SPMV__STAGE_CHUNK 16384
#define SPMV__STAGE_LEAST 1
#define SPMV__STAGE_PAYS 1
#define SPMV__STAGE_SHARE 6000
#define SPMV__STAGE_ANYWHERE 1
#define SPMV__SCRATCH_BYTES 100000
#define SPMV_IMPLEMENTATION
#include "../spmv.h"
#include <criterion/criterion.h>
#include "common.h"

static const char *const plans[] = {
    "csr", "csr:run=64,idx=16", "csr:rows=nonempty", "tcsr", "tcsr:tile=512,rows=nonempty", "tcsr:tile=512,idx=16",
    "ell:w=3+tcsr:tile=1024,rows=nonempty,idx=16", "ell", "ell:idx=16", "ell:rows=sorted", "sell",
    "sell:h=8", "sell:h=32,rows=sorted,sigma=64,idx=16", "sell:h=16,grow=0.1", "coo", "cmrs", "cmrs:h=16,wide=1", "cmrs:rows=nonempty",
    "dense", "dia", "bdia", "ell:w=2+coo", "dia:d=0.6+csr:run=64,idx=16", "bdia:d=0.5+ell:w=3+tcsr:rows=nonempty", "sell:w=2+cmrs",
    "sell:w=1,grow=0.2+csr:rows=nonempty", "ell:w=3+bcsr:b=2x2",
    "bell:b=3x3,idx=16", "sbell", "sbell:b=2x2,h=8,idx=16", "sbell:b=6x6", "bcsr:b=1x4", "bcsr:b=8x8,idx=16", "bcsr:b=3x3",
    "ell:w=1+sbell:b=2x4,h=16,idx=16+coo",
    "ell:w=2+sell:idx=16,rows=nonempty,w=3+bcsr:b=2x2,d=0.4+tcsr",
    "csr:val=32", "csr:run=64,idx=16,val=32", "ell:val=32", "sell:idx=16,val=32", "tcsr:tile=512,val=32", "tcsr:tile=512,idx=16,val=32",
    "dia:val=32", "bdia:val=32", "bcsr:b=2x2,val=32", "bell:b=3x3,val=32", "coo:val=32", "cmrs:val=32", "dense:val=32",
    "ell:w=1,val=32+csr:rows=nonempty,val=32"
};

static int same_array(const spmv_device *d, const spmv_part *there, const spmv_array *a, int k)
{
    const uint64_t bytes = a->count * a->width;
    void *got = need_exact(bytes);
    int same = 1;
    if (bytes && there->a[k].data) memcpy(got, there->a[k].data, (size_t)bytes);
    if (bytes && there->elsewhere && there->elsewhere->a[k])
        CHECK(!spmv_buffer_read(d, there->elsewhere->a[k], bytes, got), "read");
    else CHECK(!bytes || there->a[k].data, "array %d is nowhere", k);
    same = !bytes || !memcmp(got, a->data, (size_t)bytes);
    free(got);
    return same;
}

/* Compares all arrays of two stores, the second of which a device has filled. */
static void compare_arrays(const spmv_device *d, const spmv_store *here, const spmv_store *there, const char *what, const char *name)
{
    int i, k;
    CHECK(here->count == there->count, "%s on %s: parts", what, name);
    for (i = 0; i < here->count; i++) {
        CHECK(!memcmp(here->part[i].n, there->part[i].n, sizeof here->part[i].n), "%s on %s: integers", what, name);
        for (k = 0; k < SPMV_MAX_ARRAYS; k++)
            CHECK(same_array(d, &there->part[i], &here->part[i].a[k], k), "%s on %s: array %d of part %d", what, name, k, i);
    }
}

#ifdef SPMV__CONVERT_AHEAD
static int ahead; /* matrices whose upload a thread began */
#endif

/* Has a thread upload the matrix of a converter, if it is large enough. */
static void begin_upload(spmv_converter *c)
{
    spmv__converter_begin(c);
#ifdef SPMV__CONVERT_AHEAD
    ahead += ((spmv__convert *)c)->running;
#endif
}

/* Stores the matrix on the host and on the device, and compares; with updates, also after one of them, from the host and then from a buffer
 * of the device. Returns how many parts the device filled. */
static uint64_t compare(spmv_device *d, const spmv_csr *a, int updatable, const char *text, const char *name, ledger *l)
{
    const uint64_t bytes = a->nnz * spmv_value_size(a->type);
    spmv_plan plan;
    spmv_build how;
    spmv_store here, there;
    spmv_converter *c;
    spmv_csr other = *a;
    spmv_hooks h = ledger_hooks(l);
    unsigned char *val = (unsigned char *)need_exact(bytes);
    void *buffer = NULL;
    uint64_t filled, i;
    spmv_status s;
    memset(&how, 0, sizeof how);
    how.type = a->type;
    how.borrow = 1;
    how.updatable = updatable;
    CHECK(!spmv_plan_parse(&plan, text, NULL, &h), "%s: %s", text, l->text);
    s = spmv_store_create(&here, &plan, a, &how, &h);
    CHECK(!s || spmv_status_is_refusal(s), "%s on %s: %s", text, name, l->text);
    if (s) {
        free(val);
        return 0;
    }
    CHECK(!spmv__converter_create(&c, d, a), "open");
    begin_upload(c);
    how.converter = c;
    CHECK(!spmv_store_create(&there, &plan, a, &how, &h), "%s on %s: %s", text, name, l->text);
    filled = spmv__converter_count(c);
    CHECK(!spmv__converter_finish(c), "finish");
    compare_arrays(d, &here, &there, text, name);
    for (i = 0; i < bytes; i++) val[i] = ((const unsigned char *)a->val)[bytes - 1 - i]; /* any bytes will do */
    other.val = val;
    if (updatable) {
        CHECK(!spmv_store_update(&here, &other) && !spmv_store_update(&there, &other), "%s: update", text);
        CHECK(!spmv__converter_update(c, val, NULL), "%s: update from the host", text);
        compare_arrays(d, &here, &there, "updated", text);
        CHECK(!spmv_store_update(&here, a) && !spmv_store_update(&there, a), "%s: update", text);
        CHECK(!spmv_buffer_create(d, bytes, &buffer) && !spmv_buffer_write(d, buffer, bytes, a->val), "buffer");
        CHECK(!spmv__converter_update(c, NULL, buffer), "%s: update from the device", text);
        compare_arrays(d, &here, &there, "updated from the device", text);
        spmv_buffer_destroy(d, buffer);
    }
    if (a->rows & 1) spmv__converter_destroy(c); /* either order will do */
    spmv_store_destroy(&there);
    spmv_store_destroy(&here);
    if (!(a->rows & 1)) spmv__converter_destroy(c);
    free(val);
    return filled;
}

static void open_device(spmv_device *d)
{
    spmv_device_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.which = getenv("SPMV_TEST_DEVICE");
    cr_assert_eq(spmv_device_create(d, &desc), SPMV_OK);
}

/* Compares every second pair of a matrix and a plan, those that the other test does not have. */
static void bytes_of(spmv_type type, int updatable)
{
    spmv_device d;
    ledger l;
    matrix m;
    uint64_t filled[sizeof plans / sizeof *plans] = { 0 };
    size_t j;
    int i;
    memset(&l, 0, sizeof l);
    open_device(&d);
    for (i = 0; matrix_awkward(&m, i, WITH_ZEROS); i++, matrix_free(&m)) {
        spmv_csr a = matrix_csr(&m, type);
        for (j = (size_t)(i + updatable) % 2; j < sizeof plans / sizeof *plans; j += 2)
            filled[j] += compare(&d, &a, updatable, plans[j], m.name, &l);
    }
    for (j = 0; j < sizeof plans / sizeof *plans; j++) cr_assert_gt(filled[j], 0, "the device filled no part of %s", plans[j]);
    spmv_device_destroy(&d);
}

Test(convert, every_byte_f64) { bytes_of(SPMV_F64, 0); }
Test(thorough, every_byte_f32_after_updates) { bytes_of(SPMV_F32, 1); }

/* A matrix with bands, so large that its upload takes many chunks. */
static void make_banded(spmv_csr *a, spmv_type type)
{
    enum { ROWS = 6000, WIDTH = 9 };
    uint64_t *ptr = (uint64_t *)need_exact((ROWS + 1) * 8), n = 0;
    uint32_t *col = (uint32_t *)need_exact(ROWS * WIDTH * 4), r, k;
    unsigned char *val = (unsigned char *)need_exact(ROWS * WIDTH * spmv_value_size(type));
    memset(a, 0, sizeof *a);
    for (ptr[0] = r = 0; r < ROWS; ptr[++r] = n)
        for (k = 0; k < WIDTH && r % 5; k++)
            if (r + k * k < ROWS) col[n++] = r + k * k;
    for (k = 0; k < n * spmv_value_size(type); k++) val[k] = (unsigned char)(k % 61);
    a->rows = a->cols = ROWS;
    a->nnz = n;
    a->type = type;
    a->ptr = ptr;
    a->col = col;
    a->val = val;
}

static void free_banded(spmv_csr *a)
{
    free((void *)(uintptr_t)a->ptr);
    free((void *)(uintptr_t)a->col);
    free((void *)(uintptr_t)a->val);
}

/* The matrix is uploaded while the host counts. Wherever that thread is stopped, all bytes are right: at once, after some chunks, or when
 * everything is there, depending on how long the host takes until it needs the device. */
Test(convert, uploaded_ahead)
{
    static const char *const some[] = { "csr", "tcsr", "sell:h=16,grow=0.1", "sbell:b=2x2,h=8,idx=16", "ell:w=2+cmrs", "cmrs:sort=1" };
    spmv_device d;
    spmv_csr a;
    spmv_converter *c;
    ledger l;
    size_t j;
    memset(&l, 0, sizeof l);
    open_device(&d);
    make_banded(&a, SPMV_F64);
    for (j = 0; j < sizeof some / sizeof *some; j++)
        cr_assert_eq(compare(&d, &a, 0, some[j], "bands", &l) > 0, j + 1 < sizeof some / sizeof *some, "%s", some[j]);
    cr_assert_eq(spmv__converter_create(&c, &d, &a), SPMV_OK);
    begin_upload(c);
    cr_assert_eq(spmv__converter_finish(c), SPMV_OK);
    spmv__converter_destroy(c);
    cr_assert_eq(spmv__converter_create(&c, &d, &a), SPMV_OK);
    begin_upload(c);
    spmv__converter_destroy(c);
    a.nnz = 0; /* nothing will be filled, so that nobody would wait for a thread */
    memset((void *)(uintptr_t)a.ptr, 0, (size_t)(a.rows + 1) * 8);
    cr_assert_eq(spmv__converter_create(&c, &d, &a), SPMV_OK);
    begin_upload(c);
    spmv__converter_destroy(c);
#ifdef SPMV__CONVERT_AHEAD
    if (omp_get_max_threads() > 1) cr_assert_eq(ahead, (int)(sizeof some / sizeof *some) + 2);
#endif
    free_banded(&a);
    make_banded(&a, SPMV_F32);
    cr_assert_gt(compare(&d, &a, 1, "sell", "bands", &l), 0);
    cr_assert_gt(compare(&d, &a, 1, "tcsr", "bands", &l), 0);
    free_banded(&a);
    spmv_device_destroy(&d);
}

/* Bytes that a device keeps for the next matrix. */
static uint64_t kept_bytes(const spmv_device *d)
{
    uint64_t kept = 0;
    int i;
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++)
        if (d->common->scratch.buffer[i].at) kept += d->common->scratch.buffer[i].bytes;
    return kept;
}

/* What one matrix needed while it was prepared serves the next, up to a limit. */
Test(convert, scratch_memory_is_kept)
{
    enum { MANY = SPMV__SCRATCH_BUFFERS + 3 };
    spmv_device d;
    void *at[MANY], *again, *larger;
    uint64_t i;
    open_device(&d);
    d.info.global_bytes = 0; /* then the limit is SPMV__SCRATCH_BYTES */
    cr_assert_eq(spmv__scratch_take(&d, 60000, &at[0]), SPMV_OK);
    cr_assert_eq(spmv__scratch_take(&d, 30000, &at[1]), SPMV_OK);
    cr_assert_eq(kept_bytes(&d), 0);
    spmv__scratch_give(&d, at[0]);
    spmv__scratch_give(&d, at[1]);
    cr_assert_eq(kept_bytes(&d), 90000);
    cr_assert_eq(spmv__scratch_take(&d, 20000, &again), SPMV_OK);
    cr_assert_eq(again, at[1]); /* the smallest that is large enough */
    cr_assert_eq(spmv__scratch_take_close(&d, 50000, &again), SPMV_OK);
    cr_assert_neq(again, at[0]); /* much larger than it must be */
    spmv_buffer_destroy(&d, again);
    cr_assert_eq(spmv__scratch_take(&d, 50000, &again), SPMV_OK);
    cr_assert_eq(again, at[0]);
    spmv__scratch_give(&d, at[0]);
    cr_assert_eq(spmv__scratch_take_close(&d, 59000, &again), SPMV_OK);
    cr_assert_eq(again, at[0]);
    cr_assert_eq(spmv__scratch_take(&d, 80000, &larger), SPMV_OK);
    cr_assert(larger != at[0] && larger != at[1]);
    spmv__scratch_give(&d, at[0]);
    cr_assert_eq(kept_bytes(&d), 60000);
    spmv__scratch_give(&d, larger); /* too many bytes together: the older one goes */
    cr_assert_eq(kept_bytes(&d), 80000);
    spmv__scratch_give(&d, at[1]);
    cr_assert_eq(kept_bytes(&d), 30000);
    cr_assert_eq(spmv__scratch_take(&d, 200000, &larger), SPMV_OK);
    spmv__scratch_give(&d, larger); /* too many alone */
    cr_assert_eq(kept_bytes(&d), 30000);
    cr_assert_eq(spmv__scratch_take(&d, 60000, &at[0]), SPMV_OK);
    spmv__scratch_give(&d, at[0]);
    spmv__scratch_give(&d, NULL);
    cr_assert_eq(spmv__scratch_take(&d, 1000, &again), SPMV_OK);
    cr_assert_eq(kept_bytes(&d), 90000); /* both are much too large for that */
    spmv_buffer_destroy(&d, again);
    for (i = 0; i < MANY; i++) cr_assert_eq(spmv__scratch_take(&d, 1000, &at[i]), SPMV_OK); /* more than can be kept */
    for (i = 0; i < MANY; i++) spmv__scratch_give(&d, at[i]);
    cr_assert_eq(kept_bytes(&d), SPMV__SCRATCH_BUFFERS * 1000);
    d.info.global_bytes = 4 * (uint64_t)SPMV__SCRATCH_BYTES * SPMV__SCRATCH_PART; /* a part of a large memory is more */
    cr_assert_eq(spmv__scratch_take(&d, 300000, &at[0]), SPMV_OK);
    spmv__scratch_give(&d, at[0]);
    cr_assert_eq(kept_bytes(&d), (SPMV__SCRATCH_BUFFERS - 1) * 1000 + 300000);
    spmv_device_destroy(&d);
}

/* The bytes in buffers of the device, and the most that ever were. */
static struct { const spmv_backend *of; uint64_t now, most; } counted;

static spmv_status counting_buffer(const spmv_device *d, uint64_t bytes, int read_only, const void *from, void **buffer)
{
    spmv_status s = counted.of->buffer(d, bytes, read_only, from, buffer);
    if (s) return s;
    counted.now += bytes;
    if (counted.now > counted.most) counted.most = counted.now;
    return SPMV_OK;
}

static void counting_buffer_free(const spmv_device *d, void *buffer)
{
    uint64_t bytes = 0;
    CHECK(!counted.of->buffer_bytes(d, buffer, &bytes), "bytes of a buffer");
    counted.now -= bytes;
    counted.of->buffer_free(d, buffer);
}

/* While a matrix is prepared, a device holds the CSR form, the stored matrix, and some numbers for each row and column: with plans that
 * store about as much as the CSR form, at most 2.5 times that. Besides, the library keeps up to SPMV__SCRATCH_BYTES of what came before. */
Test(convert, peak_of_memory)
{
    static const char *const plans[] = { "csr", "tcsr", "sell", "bcsr:b=3x3" };
    enum { BLOCKS = 3 };
    spmv_backend counting;
    spmv_device d;
    spmv_desc desc;
    matrix m;
    spmv_csr a;
    size_t j;
    open_device(&d);
    d.info.global_bytes = (uint64_t)SPMV__SCRATCH_BYTES * SPMV__SCRATCH_PART; /* enough, and SPMV__SCRATCH_BYTES are kept */
    counted.of = d.info.backend;
    counting = *counted.of;
    counting.buffer = counting_buffer;
    counting.buffer_free = counting_buffer_free;
    d.info.backend = &counting;
    cr_assert_eq(counted.of->buffer_bytes(&d, d.common->none, &counted.now), SPMV_OK); /* it was made before */
    cr_assert(matrix_plain(&m, BLOCKS));
    a = matrix_csr(&m, SPMV_F64);
    memset(&desc, 0, sizeof desc);
    desc.csr = &a;
    desc.device = &d;
    desc.convert = SPMV_CONVERT_ON_DEVICE;
    for (j = 0; j < sizeof plans / sizeof *plans; j++) {
        spmv_matrix there;
        counted.most = counted.now;
        desc.plan = plans[j];
        cr_assert_eq(spmv_create(&there, &desc), SPMV_OK, "%s", plans[j]);
        cr_assert(there.store.part[0].elsewhere != NULL, "%s was not filled by the device", plans[j]);
        spmv_destroy(&there);
        cr_assert(2 * counted.most <= 5 * csr_bytes(&a) + 2 * SPMV__SCRATCH_BYTES, "%s: %.2f times the CSR form", plans[j],
                  (double)counted.most / (double)csr_bytes(&a));
    }
    spmv_csr_destroy(&a);
    matrix_free(&m);
    spmv_device_destroy(&d);
    cr_assert_eq(counted.now, 0);
}

/* A converter that is given row pointers in a buffer only, of a matrix without nonzeros. */
Test(convert, pointers_of_an_empty_matrix_are_fetched)
{
    static const char *const plans[] = { "ell", "sell", "bell:b=2x2", "csr", "tcsr", "tcsr:idx=16" };
    static const uint64_t zero[9] = { 0 };
    spmv_device d;
    void *buffer;
    size_t i;
    open_device(&d);
    cr_assert_eq(spmv_buffer_create(&d, sizeof zero, &buffer), SPMV_OK);
    cr_assert_eq(spmv_buffer_write(&d, buffer, sizeof zero, zero), SPMV_OK);
    for (i = 0; i < sizeof plans / sizeof *plans; i++) {
        spmv_converter *c;
        spmv_build how;
        spmv_plan plan;
        spmv_part part;
        spmv_view v;
        spmv_csr a;
        memset(&a, 0, sizeof a);
        memset(&how, 0, sizeof how);
        memset(&v, 0, sizeof v);
        a.rows = a.cols = v.rows = 8;
        a.type = how.type = SPMV_F64;
        v.a = &a;
        cr_assert_eq(spmv__converter_create(&c, &d, &a), SPMV_OK);
        cr_assert_eq(spmv__converter_give(c, &a, buffer, 64, NULL, NULL), SPMV_OK);
        how.converter = c;
        cr_assert_eq(spmv_plan_parse(&plan, plans[i], NULL, NULL), SPMV_OK);
        cr_assert_eq(spmv_part_create(&part, &plan.part[0], &v, &how, NULL), SPMV_OK, "%s", plans[i]);
        cr_assert_eq(part.nnz, 0);
        spmv_part_destroy(&part);
        spmv__converter_destroy(c);
        if (a.owned) free((void *)(uintptr_t)a.ptr);
    }
    spmv_buffer_destroy(&d, buffer);
    spmv_device_destroy(&d);
}

/* The arrays of a store that spmv_create has made on the device, against those of a store on the host. */
static void compare_created(const spmv_device *d, const spmv_matrix *m, const spmv_store *here, const char *what)
{
    int i, k;
    for (i = 0; i < here->count; i++)
        for (k = 0; k < SPMV_MAX_ARRAYS; k++) {
            const spmv_array *a = &here->part[i].a[k];
            void *got = need_exact(a->count * a->width);
            if (a->count)
                cr_assert_eq(spmv_buffer_read(d, m->on_device->part[i].a[k], a->count * a->width, got), SPMV_OK, "%s: array %d", what, k);
            cr_assert(!a->count || !memcmp(got, a->data, (size_t)(a->count * a->width)), "%s: array %d of part %d", what, k, i);
            free(got);
        }
}

/* A CSR matrix in buffers of a device, and what is to be in them: ptr, col, val. */
typedef struct in_buffers {
    void       *at[3];
    const void *from[3];
    uint64_t    bytes[3];
} in_buffers;

static void buffers_write(const in_buffers *b, spmv_device *d)
{
    int k;
    for (k = 0; k < 3; k++) cr_assert_eq(spmv_buffer_write(d, b->at[k], b->bytes[k], b->from[k]), SPMV_OK);
}

/* Makes the buffers and fills them. ptr_size: bytes of a row pointer. */
static void buffers_make(in_buffers *b, spmv_device *d, const void *ptr, uint64_t rows, uint64_t ptr_size, const uint32_t *col,
                         const double *val, uint64_t nnz)
{
    int k;
    b->from[0] = ptr;
    b->from[1] = col;
    b->from[2] = val;
    b->bytes[0] = (rows + 1) * ptr_size;
    b->bytes[1] = nnz * 4;
    b->bytes[2] = nnz * 8;
    for (k = 0; k < 3; k++) cr_assert_eq(spmv_buffer_create(d, b->bytes[k], &b->at[k]), SPMV_OK);
    buffers_write(b, d);
}

/* Says that the matrix, whose shape is set, is in the buffers. */
static void buffers_describe(const in_buffers *b, spmv_desc *desc, spmv_device *d)
{
    desc->matrix.ptr = b->at[0];
    desc->matrix.col = b->at[1];
    desc->matrix.val = b->at[2];
    desc->matrix.val_type = SPMV_F64;
    desc->device = d;
    desc->buffers = 1;
}

/* Describes a matrix in its buffers, for the device to convert it by a plan. */
static void buffers_plan(const in_buffers *b, spmv_desc *desc, spmv_device *d, const spmv_csr *a, int ptr_bits, const char *plan)
{
    memset(desc, 0, sizeof *desc);
    desc->matrix.rows = (int64_t)a->rows;
    desc->matrix.cols = (int64_t)a->cols;
    desc->matrix.ptr_bits = ptr_bits;
    buffers_describe(b, desc, d);
    desc->plan = plan;
    desc->convert = SPMV_CONVERT_ON_DEVICE;
}

static void buffers_free(const in_buffers *b, spmv_device *d)
{
    int k;
    for (k = 0; k < 3; k++) spmv_buffer_destroy(d, b->at[k]);
}

/* Whether row pointers and columns were on the device only when the watched matrix was uploaded; afterwards it has none. */
static const spmv_matrix *watched;
static int pointers_stayed, columns_stayed;

/* spmv_hooks.phase */
static void watch_phase(void *user, spmv_phase p)
{
    (void)user;
    if (p != SPMV_PHASE_UPLOAD) return;
    pointers_stayed = !watched->own.ptr;
    columns_stayed = !watched->own.col;
}

static void watch(spmv_desc *desc, const spmv_matrix *m)
{
    watched = m;
    pointers_stayed = columns_stayed = -1;
    desc->hooks.phase = watch_phase;
}

/* Where buffers of the caller's reach kernels or copies: each is given what it reads, and then one byte less. */
enum { DOOR_CREATE, DOOR_UPDATE, DOOR_GIVE, DOOR_CONVERTER_UPDATE, DOOR_X, DOOR_Y, DOOR_WRITE, DOOR_READ, DOOR_FILL };
typedef struct door {
    int         at, which; /* which: of the buffers ptr, col and val */
    const char *plan, *says;
} door;
static const door doors[] = {
    { DOOR_CREATE, 0, "tcsr", "matrix.ptr" }, { DOOR_CREATE, 1, "tcsr", "matrix.col" }, { DOOR_CREATE, 2, "tcsr", "matrix.val" },
    { DOOR_CREATE, 0, "csr", "matrix.ptr" }, { DOOR_CREATE, 1, "csr", "matrix.col" }, { DOOR_CREATE, 2, "csr", "matrix.val" },
    { DOOR_CREATE, 2, "dia", "matrix.val" }, { DOOR_CREATE, 2, "cmrs:sort=1", "matrix.val" },
    { DOOR_UPDATE, 2, "tcsr", "spmv_update_buffer: val" },
    { DOOR_UPDATE, 2, "cmrs:sort=1", "spmv_update_buffer: val" }, { DOOR_GIVE, 0, "csr", "spmv_create: ptr" },
    { DOOR_GIVE, 1, "csr", "spmv_create: col" }, { DOOR_GIVE, 2, "csr", "spmv_create: val" },
    { DOOR_CONVERTER_UPDATE, 2, "csr", "spmv_update_buffer: val" }, { DOOR_X, 0, "csr", "x: 6 elements from offset 3 exceed" },
    { DOOR_Y, 0, "csr", "y: 3 elements from offset 3 exceed" }, { DOOR_WRITE, 0, "csr", "spmv_buffer_write: buffer" },
    { DOOR_READ, 0, "csr", "spmv_buffer_read: buffer" }, { DOOR_FILL, 0, "csr", "spmv_buffer_fill: buffer" }
};

/* Goes through a door with a buffer that has less bytes than it must. b: a matrix; csr: the same on the host. */
static spmv_status go_through(const door *at, const in_buffers *b, spmv_csr *csr, spmv_device *d, int ptr_bits, uint64_t less, ledger *l)
{
    in_buffers tried = *b;
    uint64_t bytes = b->bytes[at->which];
    void *tight = NULL, *large = NULL;
    unsigned char copy[512];
    spmv_converter *c = NULL;
    spmv_part part;
    spmv_view view;
    spmv_spec spec;
    spmv_build how;
    spmv_desc desc;
    spmv_matrix m;
    spmv_status s = SPMV_OK;
    memset(&m, 0, sizeof m);
    memset(&part, 0, sizeof part);
    memset(&view, 0, sizeof view);
    memset(&spec, 0, sizeof spec);
    memset(&how, 0, sizeof how);
    memset(copy, 0, sizeof copy);
    spec.format = SPMV_TCSR;
    if (at->at == DOOR_X || at->at == DOOR_Y) bytes = (3 + (at->at == DOOR_X ? csr->cols : csr->rows)) * 8;
    cr_assert_eq(spmv_buffer_create(d, bytes - less, &tight), SPMV_OK);
    cr_assert_eq(spmv_buffer_create(d, sizeof copy, &large), SPMV_OK);
    cr_assert_eq(spmv_buffer_write(d, tight, bytes - less, bytes > b->bytes[at->which] ? copy : b->from[at->which]), SPMV_OK);
    if (at->at == DOOR_CREATE || at->at == DOOR_GIVE) tried.at[at->which] = tight;
    buffers_plan(&tried, &desc, d, csr, ptr_bits, at->plan);
    desc.updatable = 1;
    desc.hooks.log = ledger_log;
    desc.hooks.user = l;
    d->hooks = desc.hooks;
    if (at->at == DOOR_GIVE || at->at == DOOR_CONVERTER_UPDATE) {
        view.a = csr;
        view.rows = csr->rows;
        how.updatable = 1;
        cr_assert_eq(spmv__converter_create(&c, d, csr), SPMV_OK);
        how.converter = c;
        s = spmv__converter_give(c, csr, ptr_bits == 64 ? tried.at[0] : NULL, 64, tried.at[1], tried.at[2]);
        if (!s) s = spmv_part_create(&part, &spec, &view, &how, &d->hooks);
        if (!s) s = spmv__converter_finish(c);
    } else s = spmv_create(&m, &desc);
    switch (at->at) {
        case DOOR_UPDATE: s = s ? s : spmv_update_buffer(&m, tight); break;
        case DOOR_CONVERTER_UPDATE: s = s ? s : spmv__converter_update(c, NULL, tight); break;
        case DOOR_X: s = s ? s : spmv_exec_mul(m.exec, 1, tight, 3, 0, large, 0); break;
        case DOOR_Y: s = s ? s : spmv_exec_mul(m.exec, 1, large, 0, 0, tight, 3); break;
        case DOOR_WRITE: s = spmv_buffer_write(d, tight, bytes, copy); break;
        case DOOR_READ: s = spmv_buffer_read(d, tight, bytes, copy); break;
        case DOOR_FILL: s = spmv_buffer_fill(d, tight, bytes, 0); break;
        default: break;
    }
    spmv_device_finish(d);
    spmv_part_destroy(&part);
    spmv__converter_destroy(c);
    spmv_destroy(&m);
    spmv_buffer_destroy(d, tight);
    spmv_buffer_destroy(d, large);
    return s;
}

Test(convert, every_buffer_is_checked_against_its_size)
{
    const uint64_t wide[] = { 0, 2, 2, 5 };
    const uint32_t narrow[] = { 0, 2, 2, 5 }, col[] = { 3, 4, 0, 1, 2 };
    const double val[] = { 1, 2, 3, 4, 5 };
    spmv_csr csr;
    spmv_device d;
    in_buffers b;
    ledger l;
    size_t i;
    int bits;
    memset(&csr, 0, sizeof csr);
    csr.rows = 3;
    csr.cols = 6;
    csr.nnz = 5;
    csr.ptr = wide;
    open_device(&d);
    for (bits = 32; bits <= 64; bits += 32) {
        buffers_make(&b, &d, bits == 64 ? (const void *)wide : narrow, 3, (uint64_t)bits / 8, col, val, 5);
        for (i = 0; i < sizeof doors / sizeof *doors; i++) {
            if (bits == 32 && (doors[i].at != DOOR_CREATE || doors[i].which)) continue; /* those of pointers suffice */
            memset(&l, 0, sizeof l);
            cr_assert_eq(go_through(&doors[i], &b, &csr, &d, bits, 0, &l), SPMV_OK, "door %d: %s", (int)i, l.text);
            memset(&l, 0, sizeof l);
            cr_assert_eq(go_through(&doors[i], &b, &csr, &d, bits, doors[i].at == DOOR_FILL ? 4 : 1, &l), SPMV_ERR_ARGUMENT,
                         "door %d: %s", (int)i, doors[i].says);
            cr_assert(strstr(l.text, doors[i].says), "%s: %s", doors[i].says, l.text);
        }
        buffers_free(&b, &d);
    }
    memset(&d.hooks, 0, sizeof d.hooks);
    spmv_device_destroy(&d);
}

/* Columns in a buffer that do not rise, or lie outside the matrix, are found on the device. */
Test(convert, columns_are_checked_there)
{
    const uint32_t ptr[] = { 0, 2, 2, 5 }, good[] = { 3, 4, 0, 1, 2 };
    const double val[] = { 1, 2, 3, 4, 5 };
    uint32_t col[5], c;
    char says[60];
    in_buffers b;
    spmv_desc desc;
    spmv_device d;
    int i;
    open_device(&d);
    memset(&desc, 0, sizeof desc);
    memcpy(col, good, sizeof col);
    buffers_make(&b, &d, ptr, 3, 4, col, val, 5);
    desc.matrix.rows = 3;
    desc.matrix.cols = 6;
    buffers_describe(&b, &desc, &d);
    desc.convert = SPMV_CONVERT_ON_DEVICE;
    for (i = 0; i < 5; i++)
        for (c = 0; c < 8; c++) { /* every column, in the place of every nonzero */
            const int begins = i == 0 || i == 2, ends = i == 1 || i == 4;
            const int fits = c < 6 && (begins || good[i - 1] < c) && (ends || c < good[i + 1]);
            spmv_matrix m;
            ledger l;
            memcpy(col, good, sizeof col);
            col[i] = c;
            buffers_write(&b, &d);
            desc.hooks = ledger_hooks(&l);
            desc.plan = c % 2 ? "ell" : "tcsr";
            watch(&desc, &m);
            cr_assert_eq(spmv_create(&m, &desc), fits ? SPMV_OK : c < 6 ? SPMV_ERR_UNSUPPORTED : SPMV_ERR_INDEX,
                         "column %u of nonzero %d: %s", c, i, l.text);
            snprintf(says, sizeof says, c < 6 ? "in row %d: column" : "in row %d: column index %u is outside 0 .. 5", i < 2 ? 0 : 2, c);
            if (!fits) cr_assert(strstr(l.text, says), "%s", l.text);
            cr_assert_eq(columns_stayed, fits ? 1 : -1);
            spmv_destroy(&m);
            cr_assert_eq(l.live, 0);
        }
    buffers_free(&b, &d);
    spmv_device_destroy(&d);
}

/* Row pointers in a buffer that are wrong are found on the device, and named by the host. */
Test(convert, pointers_are_checked_there)
{
    enum { ROWS = 2000 };
    static const struct { uint32_t at, is; const char *says; } wrong[] = {
        { 0, 1, "pointer 0 is 1, " }, { 700, 702, "pointer 701 is 701, " }, { 700, 698, "pointer 700 is 698, " },
        { 1999, 0xfffffff0u, "pointer 1999 is " }, { 700, 5000, "pointer 701 is 701, " },
        { ROWS, ROWS - 1, "the last pointer counts 1999 entries, but nnz is 2000" }
    };
    uint32_t *ptr = (uint32_t *)need_exact((ROWS + 1) * 4), *col = (uint32_t *)need_exact(ROWS * 4), i;
    uint64_t *wide = (uint64_t *)need_exact((ROWS + 1) * 8);
    double *val = (double *)need_exact(ROWS * 8);
    in_buffers b[2]; /* with 32 and with 64 bits */
    spmv_device d;
    size_t j;
    int k;
    open_device(&d);
    for (i = 0; i <= ROWS; i++) wide[i] = ptr[i] = i;
    for (i = 0; i < ROWS; i++) {
        col[i] = i;
        val[i] = i;
    }
    buffers_make(&b[0], &d, ptr, ROWS, 4, col, val, ROWS);
    buffers_make(&b[1], &d, wide, ROWS, 8, col, val, ROWS);
    for (j = 0; j < sizeof wrong / sizeof *wrong; j++) {
        const uint32_t at = wrong[j].at;
        for (k = 0; k < 2; k++) {
            spmv_desc desc;
            spmv_matrix m;
            ledger l;
            memset(&desc, 0, sizeof desc);
            desc.matrix.rows = desc.matrix.cols = desc.matrix.nnz = ROWS;
            desc.matrix.ptr_bits = k ? 64 : 32;
            buffers_describe(&b[k], &desc, &d);
            desc.convert = SPMV_CONVERT_ON_DEVICE;
            desc.hooks = ledger_hooks(&l);
            desc.plan = j % 2 ? "sell" : "sbell:b=2x2";
            ptr[at] = wrong[j].is;
            wide[at] = wrong[j].is;
            buffers_write(&b[k], &d);
            cr_assert_eq(spmv_create(&m, &desc), SPMV_ERR_INDEX, "pointer %u of %d bits: %s", at, k ? 64 : 32, l.text);
            cr_assert(strstr(l.text, wrong[j].says), "%s", l.text);
            cr_assert_eq(l.live, 0);
            wide[at] = ptr[at] = at;
            buffers_write(&b[k], &d);
            watch(&desc, &m);
            cr_assert_eq(spmv_create(&m, &desc), SPMV_OK, "%s", l.text);
            cr_assert(pointers_stayed && columns_stayed);
            spmv_destroy(&m);
            cr_assert_eq(l.live, 0);
        }
    }
    for (k = 0; k < 2; k++) buffers_free(&b[k], &d);
    spmv_device_destroy(&d);
    free(ptr);
    free(wide);
    free(col);
    free(val);
}

/* Of a matrix with so many columns, the host's product of csr would look at some to see how far apart they are. */
Test(convert, many_columns_stay_there)
{
    enum { N = 2000, APART = 150 };
    static const char *const stay[] = { "csr", "csr:run=64" };
    uint32_t *ptr = (uint32_t *)need_exact((N + 1) * 4), *col = (uint32_t *)need_exact(N * 4);
    double *val = (double *)need_exact(N * 8), *x = (double *)need_exact((uint64_t)N * APART * 8), *y = (double *)need_exact(N * 8);
    in_buffers b;
    spmv_desc desc;
    spmv_device d;
    uint32_t i;
    int k;
    open_device(&d);
    for (i = 0; i < N * APART; i++) x[i] = i;
    for (i = 0; i <= N; i++) ptr[i] = i;
    for (i = 0; i < N; i++) {
        col[i] = i * APART;
        val[i] = 2;
    }
    memset(&desc, 0, sizeof desc);
    buffers_make(&b, &d, ptr, N, 4, col, val, N);
    desc.matrix.rows = N;
    desc.matrix.cols = (int64_t)N * APART;
    buffers_describe(&b, &desc, &d);
    desc.convert = SPMV_CONVERT_ON_DEVICE;
    for (k = 0; k < 2; k++) {
        spmv_matrix m;
        ledger l;
        desc.hooks = ledger_hooks(&l);
        desc.plan = stay[k];
        watch(&desc, &m);
        cr_assert_eq(spmv_create(&m, &desc), SPMV_OK, "%s: %s", stay[k], l.text);
        cr_assert_eq(columns_stayed, 1);
        cr_assert_eq(spmv_mul(&m, 1, x, 0, y), SPMV_OK);
        for (i = 0; i < N; i++) cr_assert_eq(y[i], 2. * i * APART, "%s: row %u", stay[k], i);
        spmv_destroy(&m);
        cr_assert_eq(l.live, 0);
    }
    buffers_free(&b, &d);
    spmv_device_destroy(&d);
    free(ptr);
    free(col);
    free(val);
    free(x);
    free(y);
}

/* A matrix on a GPU is looked at by the host only if that may pay: with few products it is stored as sell or tcsr, by how much padding sell
 * has, and neither row pointers nor columns leave the device. */
Test(convert, what_a_look_cannot_save_is_left_unseen)
{
    enum { ROWS = 16000, MOST = 80000, OWN = 0, H200, H100, TABLES };
    static const char *const names[TABLES] = { NULL, "NVIDIA H200", "NVIDIA H100 80GB HBM3" };
    static const struct {
        const char *plan; /* NULL: as the default */
        int         uneven; /* some rows are 40 times as long as the others */
        uint64_t    calls;
        int         table;  /* 0: the device's own, or of an H200 or an H100 */
        int         updatable;
        int         stays;
        const char *stored; /* NULL: whatever is chosen */
    } tries[] = {
        { NULL, 0, 100, H200, 0, 1, "sell" },  { "auto", 0, 100, OWN, 0, 1, "sell" },  { NULL, 1, 100, H200, 0, 1, "tcsr" },
        { NULL, 0, 100000000, H200, 0, 0, NULL }, { NULL, 1, 100000000, H200, 0, 0, NULL }, { "measure", 0, 100, H200, 0, 0, NULL },
        { "csr", 1, 100, H200, 0, 1, "csr" },  { NULL, 0, 100, H200, 1, 1, "sell" },   { NULL, 1, 100, H200, 1, 1, "tcsr" },
        { NULL, 0, 100, H100, 0, 1, "sell" },  { NULL, 1, 100, H100, 0, 1, "tcsr" },   { NULL, 0, 100000000, H100, 0, 0, NULL },
    };
    uint64_t *ptr = (uint64_t *)need_exact((ROWS + 1) * 8);
    uint32_t *col = (uint32_t *)need_exact(MOST * 4);
    double *val = (double *)need_exact(MOST * 8), *x = (double *)need_exact(ROWS * 8), *y = (double *)need_exact(ROWS * 8);
    const char *text;
    spmv_tuning table[TABLES];
    spmv_device d;
    size_t i, length;
    uint64_t r, k;
    int t, exact;
    open_device(&d);
    d.info.type = SPMV_DEVICE_GPU;
    for (t = H200; t < TABLES; t++) {
        text = spmv_tuning_bundled(names[t], SPMV_DEVICE_CLASS_GPU, &length, &exact);
        cr_assert(exact);
        cr_assert_eq(spmv_tuning_create(&table[t], text, length, "", NULL), SPMV_OK);
    }
    for (i = 0; i < sizeof tries / sizeof *tries; i++) {
        char stored[SPMV_PLAN_TEXT];
        spmv_build_hints hints;
        spmv_desc desc;
        spmv_matrix m;
        in_buffers b;
        ledger l;
        memset(&hints, 0, sizeof hints);
        memset(&desc, 0, sizeof desc);
        for (r = ptr[0] = 0; r < ROWS; r++) {
            const uint64_t n = !tries[i].uneven ? 4 : r % 32 ? 2 : 80;
            ptr[r + 1] = ptr[r] + n;
            for (k = 0; k < n; k++) {
                col[ptr[r] + k] = (uint32_t)((r < ROWS - 80 ? r : ROWS - 80) + k);
                val[ptr[r] + k] = (double)(k + 1);
            }
            x[r] = (double)r;
        }
        buffers_make(&b, &d, ptr, ROWS, 8, col, val, ptr[ROWS]);
        desc.matrix.rows = desc.matrix.cols = ROWS;
        desc.matrix.ptr_bits = 64;
        buffers_describe(&b, &desc, &d);
        hints.expected_calls = tries[i].calls;
        hints.tuning = tries[i].table ? &table[tries[i].table] : NULL;
        desc.hints = &hints;
        desc.hooks = ledger_hooks(&l);
        desc.plan = tries[i].plan;
        desc.updatable = tries[i].updatable;
        desc.convert = SPMV_CONVERT_ON_DEVICE;
        for (k = 1; i < 3; k++) { /* without memory, the host looks, or it is said; nothing is left */
            spmv_status s;
            desc.hooks = ledger_hooks(&l);
            l.fail_at = (long)k;
            s = spmv_create(&m, &desc);
            cr_assert(!s || s == SPMV_ERR_MEMORY, "try %zu: request %d of memory: %s", i, (int)k, l.text);
            spmv_destroy(&m);
            cr_assert_eq(l.live, 0, "try %zu: request %d of memory", i, (int)k);
            if (l.calls < l.fail_at) break;
        }
        desc.hooks = ledger_hooks(&l);
        watch(&desc, &m);
        cr_assert_eq(spmv_create(&m, &desc), SPMV_OK, "try %zu: %s", i, l.text);
        spmv_plan_of(&m, stored, sizeof stored);
        cr_assert_eq(columns_stayed, tries[i].stays, "try %zu: %s", i, stored);
        if (tries[i].stored) cr_assert_str_eq(stored, tries[i].stored, "try %zu", i);
        cr_assert_eq(spmv_mul(&m, 1, x, 0, y), SPMV_OK, "%s", l.text);
        for (r = 0; r < ROWS; r++) {
            double sum = 0;
            for (k = ptr[r]; k < ptr[r + 1]; k++) sum += val[k] * x[col[k]];
            cr_assert_eq(y[r], sum, "try %zu, row %d: %g, not %g", i, (int)r, y[r], sum);
        }
        spmv_destroy(&m);
        cr_assert_eq(l.live, 0);
        buffers_free(&b, &d);
    }
    for (t = H200; t < TABLES; t++) spmv_tuning_destroy(&table[t]);
    spmv_device_destroy(&d);
    free(ptr);
    free(col);
    free(val);
    free(x);
    free(y);
}

/* A matrix of some 60,000 nonzeros whose rows are long or short, by kind: all of one length, so that no tile is padded; very different,
 * with empty ones, and a row over many tiles; far apart, so that some or all warps of idx=16 need high bytes, or columns do not fit; in the
 * last, scattered. */
static void make_tiled(spmv_csr *a, int kind)
{
    enum { ROWS = 7000, MOST = 70000 };
    uint64_t *ptr = (uint64_t *)need_exact((ROWS + 1) * 8);
    uint32_t *col = (uint32_t *)need_exact(MOST * 4), seed = 1;
    double *val = (double *)need_exact(MOST * 8);
    uint64_t n = 0, r, k;
    const uint32_t apart = kind == 3 ? 300 : kind == 4 ? 2000 : kind == 5 ? 60000 : 1;
    memset(a, 0, sizeof *a);
    for (ptr[0] = r = 0; r < ROWS; ptr[++r] = n) {
        uint64_t length = 8;
        seed = seed * 1664525u + 1013904223u;
        if (kind) length = seed >> 24 < 100 ? 0 : seed >> 24 < 250 ? (seed >> 16) % 12 : (seed >> 8) % 300;
        if (kind == 1 && r >= 500 && r < 3500) length = 0;
        if (kind == 2 && (r == 0 || r == 3000)) length = 9000;
        if (kind == 6) length = r == 5 ? 3 : 0;
        if (kind == 7) length = 8;
        for (k = 0; k < length && n < MOST; k++) col[n++] = (uint32_t)(k * (kind == 3 && r < 3000 ? 1 : apart) + r % 100);
        for (k = 0; kind == 7 && k < length && n > 7; k++) col[n - 8 + k] = (uint32_t)(k * 1100 + (seed >> k) % 1100);
    }
    for (k = 0; k < n; k++) val[k] = (double)k;
    a->rows = ROWS;
    a->cols = 9100 * (uint64_t)apart + 100;
    a->nnz = n;
    a->type = SPMV_F64;
    a->ptr = ptr;
    a->col = col;
    a->val = val;
}

/* Every byte of tcsr made from buffers, of matrices with many tiles. */
Test(convert, tiles_are_found_there)
{
    enum { KINDS = 7 };
    static const char *const some[] = {
        "tcsr", "tcsr:tile=512", "tcsr:tile=1024", "tcsr:idx=16", "tcsr:tile=512,idx=16", "tcsr:tile=2048,idx=16"
    };
    unsigned high = 0; /* a bit for each: no high bytes, those of some warps, those of all, columns of 32 bits */
    spmv_device d;
    int kind;
    size_t j;
    open_device(&d);
    for (kind = 0; kind < KINDS; kind++) {
        in_buffers b[2];
        uint32_t *ptr;
        spmv_csr a;
        uint64_t i;
        make_tiled(&a, kind);
        ptr = (uint32_t *)need_exact((a.rows + 1) * 4);
        for (i = 0; i <= a.rows; i++) ptr[i] = (uint32_t)a.ptr[i];
        buffers_make(&b[0], &d, ptr, a.rows, 4, a.col, (const double *)a.val, a.nnz);
        buffers_make(&b[1], &d, a.ptr, a.rows, 8, a.col, (const double *)a.val, a.nnz);
        for (j = 0; j < 2 * (sizeof some / sizeof *some); j++) {
            const char *text = some[j / 2];
            spmv_build how;
            spmv_store here;
            spmv_plan plan;
            spmv_desc desc;
            spmv_matrix made;
            ledger l;
            memset(&how, 0, sizeof how);
            buffers_plan(&b[j % 2], &desc, &d, &a, j % 2 ? 64 : 32, text);
            desc.hooks = ledger_hooks(&l);
            watch(&desc, &made);
            cr_assert_eq(spmv_create(&made, &desc), SPMV_OK, "%s: %s", text, l.text);
            cr_assert(pointers_stayed && columns_stayed, "%s of matrix %d: %d %d, %s", text, kind, pointers_stayed, columns_stayed, l.text);
            cr_assert_eq(spmv_plan_parse(&plan, text, NULL, NULL), SPMV_OK);
            cr_assert_eq(spmv_store_create(&here, &plan, &a, &how, NULL), SPMV_OK);
            cr_assert(!memcmp(here.part[0].n, made.store.part[0].n, sizeof here.part[0].n), "%s of matrix %d: sizes", text, kind);
            compare_created(&d, &made, &here, text);
            if (strstr(text, "idx"))
                high |= 1u << (!here.part[0].a[SPMV_TCSR_BASE].count ? 3 : !here.part[0].a[SPMV_TCSR_HIGH].count ? 0 :
                               here.part[0].a[SPMV_TCSR_HIGH].count < here.part[0].a[SPMV_TCSR_COL].count ? 1 : 2);
            spmv_destroy(&made);
            spmv_store_destroy(&here);
            cr_assert_eq(l.live, 0);
        }
        for (j = 0; j < 2; j++) buffers_free(&b[j], &d);
        free(ptr);
        free_banded(&a);
    }
    cr_assert_eq(high, 0xfu);
    spmv_device_destroy(&d);
}

/* One part of a matrix of which the host has nothing but its shape. */
Test(convert, parts_of_a_matrix_that_is_only_there)
{
    static const char *const some[] = {
        "csr", "csr:run=64,idx=16", "coo", "cmrs:h=8", "dense", "dia", "bdia", "ell", "ell:idx=16", "sell", "sell:idx=16",
        "sell:grow=0.1", "tcsr:idx=16", "bcsr:b=2x2,idx=16", "cmrs:sort=1", "ell:rowmajor=1"
    };
    spmv_device d;
    in_buffers b;
    matrix m;
    spmv_csr a;
    size_t j;
    int k;
    open_device(&d);
    for (k = 0; matrix_awkward(&m, k, REALS) && m.nnz < 500; k++) matrix_free(&m);
    a = matrix_csr(&m, SPMV_F64);
    buffers_make(&b, &d, a.ptr, a.rows, 8, a.col, m.val, a.nnz);
    for (j = 0; j < sizeof some / sizeof *some; j++) {
        spmv_converter *c;
        spmv_build how;
        spmv_plan plan;
        spmv_part here, there;
        spmv_view v;
        spmv_csr given = a;
        memset(&how, 0, sizeof how);
        memset(&v, 0, sizeof v);
        how.type = SPMV_F64;
        v.rows = a.rows;
        v.a = &a;
        given.ptr = NULL;
        given.col = NULL;
        given.val = NULL;
        cr_assert_eq(spmv_plan_parse(&plan, some[j], NULL, NULL), SPMV_OK);
        cr_assert_eq(spmv_part_create(&here, &plan.part[0], &v, &how, NULL), SPMV_OK, "%s", some[j]);
        v.a = &given;
        cr_assert_eq(spmv__converter_create(&c, &d, &given), SPMV_OK);
        cr_assert_eq(spmv__converter_give(c, &given, b.at[0], 64, b.at[1], b.at[2]), SPMV_OK);
        how.converter = c;
        cr_assert_eq(spmv_part_create(&there, &plan.part[0], &v, &how, NULL), SPMV_OK, "%s", some[j]);
        cr_assert_eq(spmv__converter_finish(c), SPMV_OK);
        cr_assert_eq(given.col != NULL, strstr(some[j], "sort=1") || strstr(some[j], "rowmajor"), "%s", some[j]); /* filled by the host */
        for (k = 0; k < SPMV_MAX_ARRAYS; k++) cr_assert(same_array(&d, &there, &here.a[k], k), "%s: array %d", some[j], k);
        spmv_part_destroy(&here);
        spmv_part_destroy(&there);
        spmv__converter_destroy(c);
        if (given.owned & 1u) free((void *)(uintptr_t)given.ptr);
        if (given.owned & 2u) free((void *)(uintptr_t)given.col);
        if (given.owned & 4u) free((void *)(uintptr_t)given.val);
    }
    buffers_free(&b, &d);
    matrix_free(&m);
    spmv_device_destroy(&d);
}

static int diagonals_listed; /* matrices whose diagonals a device has listed */

/* The counts of all diagonals of a matrix in buffers, against those of the host. */
static void compare_diagonals(spmv_device *d, const spmv_csr *a, const in_buffers *b)
{
    const int few = a->rows + a->cols <= 3 * a->nnz + 2 * a->rows;
    spmv__diagonals here, there;
    spmv_converter *c;
    spmv_csr given = *a;
    uint64_t i = 0, j = 0, n = 0, number, held, found, load;
    spmv_view v;
    memset(&v, 0, sizeof v);
    memset(&there, 0, sizeof there);
    given.col = NULL;
    v.rows = a->rows;
    v.a = a;
    cr_assert_eq(spmv__diagonals_count(&here, &v, NULL), SPMV_OK);
    v.a = &given;
    cr_assert_eq(spmv__converter_create(&c, d, &given), SPMV_OK);
    cr_assert_eq(spmv__converter_give(c, &given, b->at[0], 64, b->at[1], b->at[2]), SPMV_OK);
    cr_assert_eq(c->diagonals(c, &v, a->nnz, SPMV_DIA, NULL, &there), SPMV_OK);
    cr_assert_eq(there.place != NULL, few);
    while (few && spmv__diagonals_next(&here, &i, &number, &held)) {
        cr_assert(spmv__diagonals_next(&there, &j, &found, &load));
        cr_assert(found == number && load == held);
        n++;
    }
    cr_assert(!few || !spmv__diagonals_next(&there, &j, &found, &load));
    if (few && n && n <= SPMV__DIAGONALS_LISTED) { /* then the host has places for their range only */
        cr_assert(there.first == here.first && there.end == here.end);
        diagonals_listed++;
    }
    spmv__converter_destroy(c);
    spmv__diagonals_free(&here, NULL);
    spmv__diagonals_free(&there, NULL);
    if (given.owned & 2u) free((void *)(uintptr_t)given.col);
}

/* Diagonals are counted and taken there, of matrices with so many that a group does not have a place for each of its own. */
Test(convert, diagonals_are_found_there)
{
    enum { TILED = 8, KINDS = TILED + 1 };
    static const char *const some[] = { "dia:d=0.02+csr", "bdia:d=0.01,w=3+dia:d=0.03+coo", "ell:w=4+dia:d=0.015+tcsr" };
    spmv_device d;
    uint64_t owned = 0; /* nonzeros on diagonals that were taken */
    int kind;
    size_t j;
    open_device(&d);
    for (kind = 0; kind < KINDS; kind++) {
        in_buffers b;
        spmv_csr a;
        if (kind < TILED) make_tiled(&a, kind);
        else make_banded(&a, SPMV_F64);
        buffers_make(&b, &d, a.ptr, a.rows, 8, a.col, (const double *)a.val, a.nnz);
        compare_diagonals(&d, &a, &b);
        for (j = 0; j < sizeof some / sizeof *some; j++) {
            spmv_build how;
            spmv_store here;
            spmv_plan plan;
            spmv_desc desc;
            spmv_matrix made;
            ledger l;
            int i;
            memset(&how, 0, sizeof how);
            buffers_plan(&b, &desc, &d, &a, 64, some[j]);
            desc.hooks = ledger_hooks(&l);
            desc.max_bytes = how.max_bytes = 1u << 30;
            watch(&desc, &made);
            cr_assert_eq(spmv_create(&made, &desc), SPMV_OK, "%s of matrix %d: %s", some[j], kind, l.text);
            /* where there are few nonzeros for so many diagonals, the host sorts them, unless none is left */
            cr_assert_eq(columns_stayed, a.rows + a.cols <= 3 * a.nnz + 2 * a.rows || (kind == 6 && j == 2), "%s of matrix %d", some[j],
                         kind);
            cr_assert_eq(spmv_plan_parse(&plan, some[j], NULL, NULL), SPMV_OK);
            cr_assert_eq(spmv_store_create(&here, &plan, &a, &how, NULL), SPMV_OK);
            cr_assert_eq(here.count, made.store.count);
            compare_created(&d, &made, &here, some[j]);
            for (i = 0; i < here.count; i++)
                if (spmv__format_class_of(here.part[i].spec.format) == SPMV_CLASS_DIAGONAL) owned += here.part[i].nnz;
            spmv_destroy(&made);
            spmv_store_destroy(&here);
            cr_assert_eq(l.live, 0);
        }
        buffers_free(&b, &d);
        free_banded(&a);
    }
    cr_assert_gt(owned, 1000);
    cr_assert(diagonals_listed > 0 && diagonals_listed < KINDS);
    spmv_device_destroy(&d);
}

/* Without memory of the host, matrices in buffers are not made, which is said, or the host converts; nothing is left. */
Test(convert, every_request_of_memory_from_buffers_fails)
{
    static const char *const some[] = { "dia:d=0.02+csr", "sell:rows=sorted,idx=16", "hyb", "bdia:d=0.01,w=3+ell:w=2,idx=16+coo" };
    spmv_device d;
    in_buffers b;
    spmv_csr a;
    size_t j;
    open_device(&d);
    make_tiled(&a, 0);
    buffers_make(&b, &d, a.ptr, a.rows, 8, a.col, (const double *)a.val, a.nnz);
    for (j = 0; j < sizeof some / sizeof *some; j++) {
        spmv_status s = SPMV_ERR_MEMORY;
        long k;
        for (k = 1; s; k++) {
            spmv_desc desc;
            spmv_matrix made;
            ledger l;
            buffers_plan(&b, &desc, &d, &a, 64, some[j]);
            desc.both = 1;
            desc.max_bytes = 1u << 30;
            desc.hooks = ledger_hooks(&l);
            l.fail_at = k;
            s = spmv_create(&made, &desc);
            cr_assert(!s || s == SPMV_ERR_MEMORY, "%s: request %ld: %s", some[j], k, l.text);
            cr_assert(s || l.calls < k || l.messages, "%s: request %ld: nobody said so", some[j], k);
            if (!s && l.calls >= k) s = SPMV_ERR_MEMORY; /* go on */
            spmv_destroy(&made);
            cr_assert_eq(l.live, 0, "%s: request %ld", some[j], k);
        }
        cr_assert_gt(k, 5, "%s", some[j]);
    }
    buffers_free(&b, &d);
    free_banded(&a);
    spmv_device_destroy(&d);
}

/* Compares the transpose that the device makes of a matrix in buffers with that which the host makes, for both widths of row pointers and
 * of values. */
static void check_transpose(spmv_device *d, const spmv_csr *of, const char *name)
{
    uint32_t *narrow = (uint32_t *)need_exact((of->rows + 1) * 4);
    uint64_t *ptr = (uint64_t *)need_exact((of->cols + 1) * 8), i;
    uint32_t *row = (uint32_t *)need_exact(of->nnz * 4);
    unsigned char *val = (unsigned char *)need_exact(of->nnz * 8);
    float *narrow_val = (float *)need_exact(of->nnz * 8);
    in_buffers b[2];
    int k;
    for (i = 0; i <= of->rows; i++) narrow[i] = (uint32_t)of->ptr[i];
    for (i = 0; i < 2 * of->nnz; i++) narrow_val[i] = i < of->nnz ? (float)((const double *)of->val)[i] : 0;
    buffers_make(&b[0], d, of->ptr, of->rows, 8, of->col, (const double *)of->val, of->nnz);
    buffers_make(&b[1], d, narrow, of->rows, 4, of->col, (const double *)(const void *)narrow_val, of->nnz);
    for (k = 0; k < 2; k++) {
        spmv_csr a = *of, want;
        spmv_input in;
        spmv__transpose job;
        int same = -1;
        if (k) a.val = narrow_val;
        a.type = k ? SPMV_F32 : SPMV_F64;
        memset(&in, 0, sizeof in);
        in.rows = (int64_t)a.rows;
        in.cols = (int64_t)a.cols;
        in.ptr = a.ptr;
        in.ptr_bits = 64;
        in.col = a.col;
        in.val = a.val;
        in.val_type = a.type;
        in.transpose = 1;
        cr_assert_eq(spmv_csr_create(&want, &in, a.type, NULL), SPMV_OK);
        cr_assert_eq(spmv__transpose_make(&job, d, &a, b[k].at[0], k ? 32 : 64, b[k].at[1], b[k].at[2], &same), SPMV_OK);
        cr_assert_eq(spmv_buffer_read(d, job.turned_ptr, (a.cols + 1) * 8, ptr), SPMV_OK);
        cr_assert_eq(spmv_buffer_read(d, job.set[0].row, a.nnz * 4, row), SPMV_OK);
        cr_assert_eq(spmv_buffer_read(d, job.set[0].val, a.nnz * (k ? 4 : 8), val), SPMV_OK);
        cr_assert(!memcmp(ptr, want.ptr, (a.cols + 1) * 8), "%s: row pointers", name);
        cr_assert(!memcmp(row, want.col, a.nnz * 4), "%s: columns", name);
        cr_assert(!memcmp(val, want.val, a.nnz * (k ? 4 : 8)), "%s: values", name);
        cr_assert_eq(same, spmv__is_symmetric(&a), "%s: %d", name, same);
        spmv__transpose_end(&job, 0);
        spmv_csr_destroy(&want);
        buffers_free(&b[k], d);
    }
    free(narrow);
    free(ptr);
    free(row);
    free(val);
    free(narrow_val);
}

/* A symmetric matrix, or one that is nearly that: odd says which entry is not like its mirror image. */
static void check_mirrored(spmv_device *d, int odd)
{
    enum { N = 100 };
    uint64_t ptr[N + 1], n = 0;
    uint32_t col[3 * N], i;
    double val[3 * N];
    spmv_csr a;
    memset(&a, 0, sizeof a);
    for (ptr[0] = i = 0; i < N; ptr[++i] = n) {
        if (i) col[n++] = i - 1;
        col[n++] = i;
        if (i + 1 < N && !(odd == 2 && i == 7)) col[n++] = i + 1;
    }
    for (i = 0; i < n; i++) val[i] = 3;
    if (odd == 1) val[n - 2] = -3;
    if (odd == 3) col[n - 1] = N - 3; /* the diagonal is not there */
    a.rows = a.cols = N;
    a.nnz = n;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    if (odd == 3) col[n - 2] = N - 4;
    a.type = SPMV_F64;
    cr_assert_eq(spmv__is_symmetric(&a), !odd);
    check_transpose(d, &a, "mirrored");
}

/* One column has an entry in every row, another one in every second; in between, rows have up to three. */
static void check_long_column(spmv_device *d)
{
    enum { ROWS = 90001 };
    uint64_t *ptr = (uint64_t *)need_exact((ROWS + 1) * 8), n = 0, r;
    uint32_t *col = (uint32_t *)need_exact(5 * ROWS * 4);
    double *val = (double *)need_exact(5 * ROWS * 8);
    spmv_csr a;
    memset(&a, 0, sizeof a);
    for (ptr[0] = r = 0; r < ROWS; ptr[++r] = n) {
        if (r & 1) col[n++] = 3;
        if (r % 7 > 2) col[n++] = 4 + (uint32_t)(r % 250);
        col[n++] = 256;
        if (r % 5 == 1) col[n++] = 257 + (uint32_t)(r * 31 % 700);
    }
    for (r = 0; r < n; r++) val[r] = (double)r + 0.1;
    a.rows = ROWS;
    a.cols = 1000;
    a.nnz = n;
    a.type = SPMV_F64;
    a.ptr = ptr;
    a.col = col;
    a.val = val;
    check_transpose(d, &a, "long column");
    free(ptr);
    free(col);
    free(val);
}

Test(convert, transposes_there)
{
    spmv_device d;
    spmv_csr a;
    matrix m;
    int i;
    open_device(&d);
    for (i = 0; matrix_awkward(&m, i, REALS); i++, matrix_free(&m)) {
        a = matrix_csr(&m, SPMV_F64);
        if (a.nnz) check_transpose(&d, &a, m.name);
    }
    for (i = 0; i < 5; i++) {
        make_tiled(&a, i); /* with up to 25 bits of columns */
        check_transpose(&d, &a, "tiled");
        free_banded(&a);
    }
    for (i = 0; i < 4; i++) check_mirrored(&d, i);
    check_long_column(&d);
    spmv_device_destroy(&d);
}

/* Both directions from buffers: products have the bits of those made from the arrays, and of a matrix that stays on the device no array is
 * copied to the host. */
Test(convert, both_directions_from_buffers)
{
    static const char *const some[] = { "tcsr", "sell:h=8", "csr:run=64", "ell:w=3+coo" };
    spmv_device d;
    spmv_csr a;
    in_buffers b;
    size_t j;
    open_device(&d);
    make_tiled(&a, 1);
    buffers_make(&b, &d, a.ptr, a.rows, 8, a.col, (const double *)a.val, a.nnz);
    for (j = 0; j < sizeof some / sizeof *some; j++) {
        double *x = (double *)need_exact(a.rows * 8), *y[2];
        spmv_desc desc;
        spmv_matrix made;
        uint64_t i;
        int k;
        for (i = 0; i < a.rows; i++) x[i] = rng_real();
        for (k = 0; k < 2; k++) {
            meter l;
            y[k] = (double *)need_exact(a.cols * 8);
            buffers_plan(&b, &desc, &d, &a, 64, some[j]);
            desc.hooks = meter_hooks(&l);
            desc.both = 1;
            if (!k) {
                memset(&desc.matrix, 0, sizeof desc.matrix);
                desc.csr = &a;
                desc.buffers = 0;
            }
            cr_assert_eq(spmv_create(&made, &desc), SPMV_OK, "%s", some[j]);
            cr_assert(!k || j > 1 || l.most < a.nnz * 4, "%s: %d bytes", some[j], (int)l.most);
            cr_assert_neq(spmv_transposed(&made), &made);
            cr_assert_eq(spmv_mul_transposed(&made, 0.7, x, 0, y[k]), SPMV_OK);
            spmv_destroy(&made);
            cr_assert_eq(l.now, 0);
        }
        cr_assert(!memcmp(y[0], y[1], a.cols * 8), "%s", some[j]);
        free(x);
        free(y[0]);
        free(y[1]);
    }
    buffers_free(&b, &d);
    free_banded(&a);
    spmv_device_destroy(&d);
}

/* Every byte of matrices in buffers, by every second plan for each of them. */
Test(convert, every_byte_from_buffers)
{
    static const char *const by_host[] = { "csr:val=32", "tcsr:val=32", "tcsr:idx=16,val=32", "dia:val=32", "sell:idx=16,val=32",
                                           "bcsr:idx=16,val=32", "ell:w=1,val=32+coo" }; /* that the host fills, from what it fetches */
    const size_t count = sizeof plans / sizeof *plans;
    spmv_device d;
    matrix m;
    size_t j;
    int i;
    open_device(&d);
    for (i = 0; matrix_awkward(&m, i, WITH_ZEROS); i++, matrix_free(&m)) {
        const spmv_csr a = matrix_csr(&m, SPMV_F64);
        in_buffers b;
        if (!a.nnz) continue;
        buffers_make(&b, &d, a.ptr, a.rows, 8, a.col, m.val, a.nnz);
        for (j = (size_t)i % 2; j < count + sizeof by_host / sizeof *by_host; j += 2) {
            const char *text = j < count ? plans[j] : by_host[j - count];
            spmv_build how;
            spmv_store here;
            spmv_plan plan;
            spmv_desc desc;
            spmv_matrix made;
            spmv_status s;
            ledger l;
            memset(&how, 0, sizeof how);
            memset(&desc, 0, sizeof desc);
            desc.matrix = matrix_input(&m, SPMV_F64);
            buffers_describe(&b, &desc, &d);
            desc.hooks = ledger_hooks(&l);
            desc.plan = text;
            desc.convert = SPMV_CONVERT_ON_DEVICE;
            desc.updatable = how.updatable = j % 4 >= 2;
            cr_assert_eq(spmv_plan_make(&plan, text, &a, NULL, NULL, NULL), SPMV_OK);
            s = spmv_store_create(&here, &plan, &a, &how, &desc.hooks);
            cr_assert_eq(spmv_create(&made, &desc), s, "%s of %s: %s", text, m.name, l.text);
            if (!s) compare_created(&d, &made, &here, text);
            spmv_destroy(&made);
            spmv_store_destroy(&here);
            cr_assert_eq(l.live, 0);
        }
        buffers_free(&b, &d);
    }
    spmv_device_destroy(&d);
}

/* A matrix whose CSR form is in buffers; the last plan has a part that the host fills. */
Test(convert, csr_in_buffers)
{
    static const char *const some[] = { "csr", "ell", "ell:w=1+bcsr:b=2x2" };
    static const struct { const char *plan; int rows; } stay[] = { /* rows: 1 if row pointers stay there, too */
        { "csr", 0 }, { "csr:run=64", 0 }, { "tcsr:tile=512", 1 }, { "tcsr:tile=512,idx=16", 1 }, { "ell", 1 }, { "sell:h=8", 1 },
        { "sell:h=256", 1 }, { "bell:b=2x2", 1 }, { "sbell:b=3x3", 1 }, { "bcsr:b=2x2", 1 }, { "bcsr:b=2x2,idx=16", 0 },
        { "csr:rows=nonempty", 0 }, { "csr:rows=sorted,sigma=64", 0 }, { "csr:run=64,rows=sorted", 0 }, { "coo", 0 }, { "dense", 0 },
        { "cmrs:h=4", 0 }, { "cmrs:h=16,wide=1", 0 }, { "cmrs:rows=nonempty", 0 }, { "tcsr:tile=512,rows=nonempty", 0 },
        { "ell:rows=sorted", 0 }, { "sell:rows=sorted,sigma=128", 0 }, { "sell:h=16,grow=0.1", 0 }, { "sell:rows=nonempty,grow=0.2", 0 },
        { "ell:w=2+coo", 0 }, { "ell:w=2+csr:rows=nonempty", 0 }, { "sell:h=8,fill=0.7+cmrs:rows=nonempty", 0 },
        { "sell:w=1,rows=sorted+ell:w=2,rows=nonempty+tcsr:tile=512,rows=nonempty", 0 }, { "ell:w=1+sbell:b=2x2+csr", 0 },
        { "sell:w=3,h=32+bcsr:b=3x3", 0 }, { "csr:run=64,idx=16", 0 }, { "csr:run=512,rows=sorted,sigma=32,idx=16", 0 },
        { "ell:idx=16", 0 }, { "ell:rows=nonempty,idx=16", 0 }, { "sell:h=8,idx=16", 0 }, { "sell:h=32,rows=sorted,sigma=64,idx=16", 0 },
        { "sell:h=16,grow=0.1,idx=16", 0 }, { "ell:w=2,idx=16+sell:h=4,idx=16,rows=nonempty", 0 },
        { "sell:w=1,h=8,idx=16+csr:run=64,idx=16,rows=nonempty", 0 }, { "dia", 0 }, { "bdia", 0 }, { "ell:w=1+bdia", 0 },
        { "hyb:rows=2", 0 }, { "hyb-csr:rows=2", 0 }, { "hybr:rows=2", 0 }, { "dia:d=0.6+csr", 0 },
        { "bdia:d=0.2,w=2+dia:d=0.3+ell:w=2,rows=nonempty+coo", 0 }, { "dia:d=1+ell:idx=16,rows=sorted", 0 }
    };
    spmv_device d;
    spmv_build how;
    spmv_store here;
    spmv_plan plan;
    matrix m;
    spmv_csr a;
    uint64_t i;
    in_buffers b, narrow; /* narrow: row pointers of 32 bits */
    uint32_t *ptr;
    double *twice;
    size_t j;
    int k;
    open_device(&d);
    for (k = 0; matrix_awkward(&m, k, REALS) && m.nnz < 500; k++) matrix_free(&m);
    a = matrix_csr(&m, SPMV_F64);
    buffers_make(&b, &d, a.ptr, a.rows, 8, a.col, m.val, a.nnz);
    ptr = (uint32_t *)need_exact((a.rows + 1) * 4);
    for (i = 0; i <= a.rows; i++) ptr[i] = (uint32_t)a.ptr[i];
    buffers_make(&narrow, &d, ptr, a.rows, 4, a.col, m.val, a.nnz);
    twice = (double *)need_exact(b.bytes[2]);
    for (i = 0; i < a.nnz; i++) twice[i] = 2 * m.val[i];
    for (j = 0; j < sizeof some / sizeof *some; j++) {
        spmv_desc desc;
        spmv_matrix made;
        ledger l;
        memset(&desc, 0, sizeof desc);
        memset(&how, 0, sizeof how);
        desc.matrix = matrix_input(&m, SPMV_F64);
        buffers_describe(&b, &desc, &d);
        desc.hooks = ledger_hooks(&l);
        desc.plan = some[j];
        desc.updatable = how.updatable = 1;
        buffers_write(&b, &d);
        cr_assert_eq(spmv_create(&made, &desc), SPMV_OK, "%s: %s", some[j], l.text);
        cr_assert_eq(spmv_plan_parse(&plan, some[j], NULL, NULL), SPMV_OK);
        cr_assert_eq(spmv_store_create(&here, &plan, &a, &how, NULL), SPMV_OK);
        compare_created(&d, &made, &here, some[j]);
        cr_assert_eq(spmv_buffer_write(&d, b.at[2], b.bytes[2], twice), SPMV_OK);
        cr_assert_eq(spmv_update_buffer(&made, b.at[2]), SPMV_OK, "%s", l.text);
        a.val = twice;
        cr_assert_eq(spmv_store_update(&here, &a), SPMV_OK);
        compare_created(&d, &made, &here, some[j]);
        a.val = m.val;
        cr_assert_eq(spmv_update(&made, m.val), SPMV_OK, "%s", l.text);
        cr_assert_eq(spmv_store_update(&here, &a), SPMV_OK);
        compare_created(&d, &made, &here, some[j]);
        spmv_destroy(&made);
        spmv_store_destroy(&here);
        cr_assert_eq(l.live, 0);
        /* what is refused, and says why */
        desc.matrix.base = 1;
        cr_assert_eq(spmv_create(&made, &desc), SPMV_ERR_UNSUPPORTED);
        desc.matrix.base = 0;
        desc.matrix.nnz++;
        cr_assert_eq(spmv_create(&made, &desc), SPMV_ERR_INDEX);
        desc.matrix.nnz--;
        desc.matrix.col = b.at[0]; /* no columns, or too few */
        cr_assert_neq(spmv_create(&made, &desc), SPMV_OK);
        cr_assert_eq(l.live, 0);
    }
    buffers_write(&b, &d);
    for (j = 0; j < 4 * (sizeof stay / sizeof *stay); j++) { /* plans for which columns stay on the device */
        const char *text = stay[j / 4].plan;
        spmv_desc desc;
        spmv_matrix made;
        ledger l;
        memset(&desc, 0, sizeof desc);
        memset(&how, 0, sizeof how);
        desc.matrix = matrix_input(&m, SPMV_F64);
        buffers_describe(j % 2 ? &narrow : &b, &desc, &d);
        desc.matrix.ptr_bits = j % 2 ? 32 : 64;
        desc.hooks = ledger_hooks(&l);
        desc.plan = text;
        desc.convert = SPMV_CONVERT_ON_DEVICE;
        desc.updatable = how.updatable = j % 4 >= 2;
        watch(&desc, &made);
        cr_assert_eq(spmv_create(&made, &desc), SPMV_OK, "%s: %s", text, l.text);
        cr_assert_eq(columns_stayed, 1, "%s", text);
        cr_assert_eq(pointers_stayed, stay[j / 4].rows, "%s", text);
        cr_assert_eq(l.text[0], 0, "%s: %s", text, l.text);
        cr_assert_eq(spmv_plan_make(&plan, text, &a, NULL, NULL, NULL), SPMV_OK);
        cr_assert_eq(spmv_store_create(&here, &plan, &a, &how, NULL), SPMV_OK);
        compare_created(&d, &made, &here, text);
        if (how.updatable) {
            cr_assert_eq(spmv_update(&made, twice), SPMV_OK, "%s", l.text);
            a.val = twice;
            cr_assert_eq(spmv_store_update(&here, &a), SPMV_OK);
            compare_created(&d, &made, &here, text);
            a.val = m.val;
        }
        spmv_destroy(&made);
        spmv_store_destroy(&here);
        cr_assert_eq(l.live, 0);
    }
    buffers_free(&b, &d);
    buffers_free(&narrow, &d);
    free(ptr);
    free(twice);
    matrix_free(&m);
    spmv_device_destroy(&d);
}

static void say_nothing(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    (void)message;
}

/* Values in fewer bytes: y has the bits that it has without the key, before an update, after it and after one that is refused. */
Test(convert, val_keeps_every_bit, .timeout = 300)
{
    static const char *const texts[] = { "dense", "coo", "csr", "csr:run=64,idx=16", "dia", "bdia", "ell", "sell:idx=16", "bell:b=2x2",
                                         "sbell:b=3x3", "bcsr", "cmrs:h=4", "tcsr:tile=512", "tcsr:tile=512,idx=16", "ell:w=2+csr" };
    spmv_device d;
    matrix m;
    size_t p;
    int turn;
    open_device(&d);
    CHECK(matrix_awkward(&m, 21, INTEGERS), "matrix");
    if (!d.info.f64) cr_skip_test("no doubles");
    for (p = 0; p <= 4 * (sizeof texts / sizeof *texts); p++) { /* the last with the last plan on the host */
        char narrow[64];
        double *x = vector_new(SPMV_F64, m.cols), *y = vector_new(SPMV_F64, m.rows), *z = vector_new(SPMV_F64, m.rows);
        double *val = need(m.nnz, sizeof *val);
        const int host = p == 4 * (sizeof texts / sizeof *texts), bits = p / 2 % 2 ? 8 : 32;
        const char *text = texts[p / 4 - (size_t)host];
        spmv_matrix a, b;
        spmv_desc desc = { 0 };
        uint64_t k;
        desc.matrix = matrix_input(&m, SPMV_F64);
        desc.device = host ? NULL : &d;
        desc.updatable = 1;
        desc.plan = text;
        desc.hooks.log = say_nothing;
        desc.reproducible = (int)(p % 2);
        desc.convert = host ? SPMV_CONVERT_DEFAULT : SPMV_CONVERT_ON_DEVICE; /* which leaves updatable parts to the host */
        if (spmv_create(&a, &desc) == SPMV_OK) { /* else it has no reproducible product */
            sprintf(narrow, "%s%cval=%d", text, strchr(text, ':') ? ',' : ':', bits);
            if (strchr(text, '+')) sprintf(narrow, "ell:w=2,val=%d+csr:val=%d", bits, bits);
            desc.plan = narrow;
            cr_assert_eq(spmv_create(&b, &desc), SPMV_OK, "%s", narrow);
            k = (bits == 32 || host ? 0 : 7) * spmv_store_slots(&b.store);
            CHECK(spmv_bytes(&b) == spmv_store_bytes(&b.store) - k, "%s: bytes", narrow);
            for (turn = 0; turn < 3; turn++) {
                for (k = 0; k < m.cols; k++) x[k] = rng_real();
                for (k = 0; k < m.rows; k++) y[k] = z[k] = rng_real();
                cr_assert(!spmv_mul(&a, 1.5, x, 0.5, y) && !spmv_mul(&b, 1.5, x, 0.5, z), "%s", narrow);
                CHECK(!memcmp(y, z, m.rows * sizeof *y), "%s, turn %d", narrow, turn);
                for (k = 0; k < m.nnz; k++) val[k] = rng_int() / 8;
                if (turn == 1) {
                    for (k = 0; m.ptr[k + 1] - m.ptr[k] < 3;) k++; /* in the second part of a plan of two */
                    val[m.ptr[k + 1] - 1] = 0.1;
                    if (bits == 8)
                        for (k = 0; k < m.nnz; k++) val[k] = (double)(k + 1);
                    cr_assert_eq(spmv_update(&b, val), SPMV_ERR_FIXED, "%s", narrow);
                } else cr_assert(!spmv_update(&a, val) && !spmv_update(&b, val), "%s", narrow);
            }
            spmv_destroy(&b);
        } else cr_assert(p % 2, "%s", text);
        spmv_destroy(&a);
        free(val);
        free(x);
        free(y);
        free(z);
    }
    matrix_free(&m);
    spmv_device_destroy(&d);
}

/* Creates a matrix on the device, one with the key val beside it, and compares the bits of products. Returns the status of the second. */
static spmv_status same_with_val(spmv_device *d, const matrix *m, const void *values, spmv_type type, const char *text, int val, int turn)
{
    void *x = vector_new(type, m->cols), *y = vector_new(type, m->rows), *z = vector_new(type, m->rows);
    const size_t size = spmv_vector_size(type);
    spmv_desc desc = { 0 };
    spmv_matrix a, b;
    char with[80];
    spmv_status s = SPMV_OK;
    uint64_t k;
    desc.matrix = matrix_input(m, spmv__stored_type(type));
    desc.matrix.val = values;
    desc.type = type;
    desc.device = d;
    desc.plan = text;
    desc.hooks.log = say_nothing;
    desc.reproducible = turn % 2;
    desc.convert = turn / 2 ? SPMV_CONVERT_ON_DEVICE : SPMV_CONVERT_ON_HOST;
    if (spmv_create(&a, &desc) == SPMV_OK) { /* else it has no reproducible product */
        sprintf(with, "%s%cval=%d", text, strchr(text, ':') ? ',' : ':', val);
        if (strchr(text, '+')) sprintf(with, "ell:w=2,val=%d+csr:val=%d", val, val);
        desc.plan = with;
        s = spmv_create(&b, &desc);
        for (k = 0; k < m->cols && !s; k++) vector_set(type, x, k, rng_real());
        for (k = 0; k < m->rows && !s; k++) vector_set(type, y, k, rng_real());
        memcpy(z, y, (size_t)m->rows * size);
        if (!s) cr_assert(!spmv_mul(&a, 1.5, x, 0.5, y) && !spmv_mul(&b, 1.5, x, 0.5, z), "%s", with);
        CHECK(s || !memcmp(y, z, (size_t)m->rows * size), "%s, %s, turn %d", with, spmv_type_name(type), turn);
        if (!s) spmv_destroy(&b);
        spmv_destroy(&a);
    } else cr_assert(desc.reproducible, "%s", text);
    free(x);
    free(y);
    free(z);
    return s;
}

/* Values that are numbers in a dictionary, or one for all: y has the bits that it has without. Zeros have both signs, and padding and fill
 * another value than all nonzeros. */
Test(thorough, codes_keep_every_bit, .timeout = 600)
{
    static const struct { const char *plan; int fill; } t[] = {
        { "dense", 1 }, { "coo", 0 }, { "csr", 0 }, { "csr:run=64,idx=16", 0 }, { "dia", 1 }, { "bdia", 1 }, { "ell", 0 },
        { "sell:idx=16", 0 }, { "bell:b=2x2", 1 }, { "sbell:b=3x3", 1 }, { "bcsr", 1 }, { "cmrs:h=4", 0 }, { "tcsr:tile=512", 0 },
        { "tcsr:tile=512,idx=16", 0 }, { "ell:w=2+csr", 0 }, { "sell:h=4,rows=sorted", 0 }, { "csr:rows=nonempty", 0 }
    };
    static const spmv_type types[] = { SPMV_F64, SPMV_F32, SPMV_MIXED };
    spmv_device d;
    matrix m;
    size_t i;
    int turn;
    uint64_t k;
    open_device(&d);
    cr_assert(matrix_awkward(&m, 21, INTEGERS));
    d.hooks.log = say_nothing;
    for (i = 0; i < sizeof t / sizeof *t; i++) {
        const spmv_type type = types[i % 3], stored = spmv__stored_type(type);
        const char *text = t[i].plan;
        void *few = vector_new(stored, m.nnz), *one = vector_new(stored, m.nnz);
        if (type != SPMV_F32 && !d.info.f64) continue;
        for (k = 0; k < m.nnz; k++) {
            vector_set(stored, few, k, k % 7 ? (double)(k * k % 201 + 1) / 7 : k % 2 ? -0.0 : 0.0);
            vector_set(stored, one, k, 0.3);
        }
        for (turn = 0; turn < 3; turn++) { /* 1: reproducible, which not all formats are */
            cr_assert_eq(same_with_val(&d, &m, few, type, text, 8, turn), SPMV_OK, "%s", text);
            k = (uint64_t)same_with_val(&d, &m, one, type, text, 1, turn);
            CHECK(k == SPMV_OK || (k == SPMV_ERR_UNSUPPORTED && t[i].fill), "%s", text);
        }
        free(few);
        free(one);
    }
    matrix_free(&m);
    spmv_device_destroy(&d);
}

/* As many values as a dictionary holds are taken, one more is refused; with one value for all, an explicit zero is one more. */
Test(convert, codes_are_few)
{
    static const struct { const char *plan; int val, values; spmv_status s; } t[] = {
        { "csr", 8, 256, SPMV_OK }, { "csr", 8, 257, SPMV_ERR_UNSUPPORTED }, { "csr", 8, 5000, SPMV_ERR_UNSUPPORTED },
        { "csr", 1, 1, SPMV_OK }, { "csr", 1, 2, SPMV_ERR_UNSUPPORTED }, { "ell", 1, 1, SPMV_OK }, { "ell", 1, 2, SPMV_ERR_UNSUPPORTED }
    };
    spmv_device d;
    matrix m;
    size_t i;
    open_device(&d);
    d.hooks.log = say_nothing;
    matrix_random(&m, "random", 300, 300, 0.1);
    matrix_close(&m, INTEGERS);
    for (i = 0; i < sizeof t / sizeof *t; i++) {
        float *val = need(m.nnz, sizeof *val);
        uint64_t k;
        for (k = 0; k < m.nnz; k++) val[k] = (float)(t[i].val == 1 ? (k + 1) % (unsigned)t[i].values : k % (unsigned)t[i].values + 1);
        if (t[i].values == 1) val[0] = val[1];
        CHECK(same_with_val(&d, &m, val, SPMV_F32, t[i].plan, t[i].val, 2) == t[i].s, "%s, %d values", t[i].plan, t[i].values);
        free(val);
    }
    matrix_free(&m);
    spmv_device_destroy(&d);
}

/* auto takes codes for values in buffers by what the device counts there: first values that are few say nothing of the others. */
Test(convert, auto_counts_values_in_buffers)
{
    static const char table[] = "spmv tuning table 2\ndevice gpu\nclass gpu\nunits 10\nlaunch 1\nmemory 100\ncache 0.01 200\n"
                                "f64 csr - 1 1 0 0 0 0 0 0 0\n";
    static const struct { unsigned first, last; const char *plan; } t[] = { /* values of the first half, and of the second */
        { 1, 1, "csr:val=1" }, { 2, 255, "csr:val=8" }, { 2, 300, "csr" }, { 300, 300, "csr" }
    };
    spmv_device d;
    matrix m;
    size_t i;
    open_device(&d);
    if (!d.info.f64) cr_skip_test("no doubles");
    matrix_random(&m, "random", 300, 300, 0.1);
    for (i = 0; i < sizeof t / sizeof *t; i++) {
        spmv_csr a = matrix_csr(&m, SPMV_F64);
        char plan[64];
        double *val = need(m.nnz, sizeof *val);
        spmv_build_hints hints = { 0 };
        spmv_tuning tuning;
        in_buffers b;
        spmv_desc desc;
        spmv_matrix made;
        uint64_t k;
        for (k = 0; k < m.nnz; k++) val[k] = (double)(k % (k < m.nnz / 2 ? t[i].first : t[i].last)) + 1;
        cr_assert_eq(spmv_tuning_create(&tuning, table, strlen(table), "table", NULL), SPMV_OK);
        hints.tuning = &tuning;
        buffers_make(&b, &d, a.ptr, m.rows, sizeof *a.ptr, a.col, val, m.nnz);
        buffers_plan(&b, &desc, &d, &a, 64, "auto");
        desc.hints = &hints;
        cr_assert_eq(spmv_create(&made, &desc), SPMV_OK);
        spmv_plan_of(&made, plan, sizeof plan);
        CHECK(!strcmp(plan, t[i].plan), "%d: %s", (int)i, plan);
        spmv_destroy(&made);
        buffers_free(&b, &d);
        spmv_tuning_destroy(&tuning);
        free(val);
        spmv_csr_destroy(&a);
    }
    matrix_free(&m);
    spmv_device_destroy(&d);
}
