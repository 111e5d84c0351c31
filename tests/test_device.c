/* SPDX-License-Identifier: MIT
 * Code that all back ends share, tested with one that computes nothing: it holds buffers in memory, counts what it gave out,
 * checks the arguments of every launch and fails at a given call. No OpenCL is needed. */
#define SPMV_NO_DEVICES
#define SPMV_IMPLEMENTATION
#include "../spmv/device.h"
#include "../spmv.h"
#include "../spmv_group.h"

#include <criterion/criterion.h>
#include "final.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define LENGTH(a) (sizeof(a) / sizeof *(a))

/* ---- the back end ------------------------------------------------------------------------------------------------- */

typedef enum kind { CONTEXT, QUEUE, PROGRAM, KERNEL, BUFFER, EVENT, KINDS } kind;
enum { MOST = 40 }; /* arguments of a kernel */

typedef struct thing {
    kind           what;
    int            refs;
    unsigned char *data; /* of buffers */
    uint64_t       bytes;
    char           signature[MOST + 1]; /* of a program or kernel: b a buffer, n a 64-bit count, r a number in the vectors' type */
    size_t         real;                /* the bytes of r */
    const void    *buffer[MOST];        /* the arguments that are buffers, and the size of each argument */
    size_t         size[MOST];
    struct thing  *next;
} thing;

static thing *alive; /* objects that were given out and not yet freed */
static int count[KINDS], launches, chained, fails_left, bad; /* chained: launches that wait for the one before by its event */
static int finished;       /* waits for a queue */
static int builds, loads;  /* programs compiled from source; made from images */
static int no_profile;     /* 1: queues measure no time */
static int no_images;      /* 1: the back end has no images of programs; 2: it takes none */
static char driver[16] = "1.0";
static void *previous; /* the event of the latest launch */
static char said[4096];

static void hear(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    snprintf(said, sizeof said, "%s", message);
}

/* 1 if this call is the one that fails. */
static int fails(const spmv_device *d)
{
    if (fails_left-- != 0) return 0;
    spmv_log(&d->hooks, SPMV_ERR_MEMORY, "this call was to fail");
    return 1;
}

/* No call fails from here on: freeing makes calls, too, but has nobody to tell. */
static void spare(void)
{
    if (fails_left >= 0) fails_left = INT_MAX;
}

static thing *new_thing(kind what)
{
    thing *t = (thing *)calloc(1, sizeof *t);
    if (!t) abort();
    t->what = what;
    t->refs = 1;
    t->next = alive;
    alive = t;
    count[what]++;
    return t;
}

static int lives(const void *handle, kind what)
{
    const thing *t = alive;
    while (t && t != handle) t = t->next;
    return t && t->what == what;
}

static void release(void *handle, kind what)
{
    thing **at = &alive, *t = (thing *)handle;
    if (!lives(handle, what)) { bad++; return; }
    if (--t->refs) return;
    while (*at != t) at = &(*at)->next;
    *at = t->next;
    count[what]--;
    free(t->data);
    free(t);
}

static const spmv_backend *fake(void);

/* 0: a GPU; 1: a CPU with small buffers whose queues are out of order. */
static spmv_status fake_list(spmv_device_info *out, size_t max, size_t *n, const spmv_hooks *hooks)
{
    size_t i;
    (void)hooks;
    *n = 2;
    for (i = 0; i < 2 && i < max; i++) {
        memset(&out[i], 0, sizeof out[i]);
        out[i].backend = fake();
        snprintf(out[i].name, sizeof out[i].name, "Fake %s", i ? "small" : "large");
        out[i].type = i ? SPMV_DEVICE_CPU : SPMV_DEVICE_GPU;
        out[i].compute_units = 4;
        out[i].address_bits = 64;
        out[i].global_bytes = 1u << 30;
        out[i].alloc_bytes = i ? 600 : 1u << 28;
        out[i].local_bytes = 49152;
        out[i].group_size = 1024;
        out[i].f64 = out[i].profiling = out[i].atomics64 = 1;
        out[i].out_of_order = (int)i;
        snprintf(out[i].driver, sizeof out[i].driver, "%s", driver);
    }
    return SPMV_OK;
}

static spmv_status fake_open(spmv_device *d, const spmv_device_desc *desc)
{
    (void)desc;
    if (fails(d)) return SPMV_ERR_MEMORY;
    d->context = new_thing(CONTEXT);
    if (fails(d)) return SPMV_ERR_MEMORY;
    d->queue = new_thing(QUEUE);
    return SPMV_OK;
}

static void fake_close(spmv_device *d)
{
    if (d->queue) release(d->queue, QUEUE);
    if (d->context) release(d->context, CONTEXT);
}

/* The parameters of each kernel as in kernels/<file>, without those that all kernels have. */
static spmv_status fake_build(const spmv_device *d, const spmv_kernel_source *source, void **out)
{
    static const char *const own[][2] = {
        { "dense.cl", "b" }, { "coo.cl", "bbb" }, { "csr.cl", "bbbbbbbnn" }, { "dia.cl", "bbnn" }, { "bdia.cl", "bbbnn" },
        { "ell.cl", "bbbnn" }, { "sell.cl", "bbbbbn" }, { "bell.cl", "bbbnn" }, { "sbell.cl", "bbbbn" }, { "bcsr.cl", "bbbbn" },
        { "cmrs.cl", "bbbb" }, { "tcsr.cl", "bbbbbbbbbbbnnn" }, { "scale.cl", "" }, { "gather.cl", "bnbnb" },
        { "convert.cl", "nnbbbbbnbbbnbbbnbnbbbb" }, { "tail.cl", "nnbbnbnbnbnbnrn" }
    };
    static const char blocks[] = "nnbbbbnbbbnnbbbnnnbnnnbbb", check[] = "nnnbbb"; /* kernels of convert.cl: for blocks, and check */
    int gather = !strcmp(source->file, "gather.cl"), convert = !strcmp(source->file, "convert.cl");
    int whole = gather || convert || !strcmp(source->file, "tail.cl");
    int coo = !strcmp(source->file, "coo.cl"), scale = !strcmp(source->file, "scale.cl"), tcsr = !strcmp(source->file, "tcsr.cl");
    size_t i, files = 0;
    thing *t;
    if (fails(d)) return SPMV_ERR_BUILD;
    for (i = 0; i < source->count; i++) {
        files += strstr(source->text[i], "#line 1 \"kernels/") && source->size[i] < 64;
        if (source->size[i] != strlen(source->text[i])) bad++;
    }
    for (i = 0; i < LENGTH(own) && strcmp(own[i][0], source->file); i++) {}
    if (i == LENGTH(own) || files != (scale || whole ? 2 : coo || tcsr ? 3 : 4) || source->count > SPMV_KERNEL_TEXTS) bad++;
    t = new_thing(PROGRAM);
    snprintf(t->signature, sizeof t->signature, "%s%s%s%s%s",
             strstr(source->options, "PLACE=BY_BLOCK") ? blocks
             : strstr(source->options, "CHECK=1") ? check : i < LENGTH(own) ? own[i][1] : "",
             coo ? "nb" : scale ? "n" : tcsr || whole ? "" : "nn",
             strstr(source->options, "LIST=1") && !convert ? "b" : "", coo || tcsr || strstr(source->options, "-DRUN=") ? "b" : "",
             whole ? "" : "bnbnrr");
    t->real = strstr(source->options, "VEC=double") ? 8 : 4;
    builds++;
    *out = t;
    return SPMV_OK;
}

/* The image of a program is its signature and a last byte with the size of its numbers. */
static spmv_status fake_image_of(const spmv_device *d, void *program, void **image, size_t *bytes)
{
    const thing *t = (const thing *)program;
    *image = NULL;
    *bytes = no_images == 1 ? 0 : sizeof t->signature + 1;
    if (fails(d)) return SPMV_ERR_MEMORY;
    if (!*bytes) return SPMV_OK;
    *image = spmv_alloc(&d->hooks, *bytes, 1);
    memcpy(*image, t->signature, sizeof t->signature);
    ((char *)*image)[sizeof t->signature] = (char)t->real;
    return SPMV_OK;
}

static spmv_status fake_load(const spmv_device *d, const char *options, const void *image, size_t bytes, void **out)
{
    thing *t;
    if (fails(d)) return SPMV_ERR_MEMORY;
    if (no_images == 2) return spmv_log(&d->hooks, SPMV_ERR_BACKEND, "this image is refused");
    if (bytes != sizeof t->signature + 1 || !*options) bad++;
    t = new_thing(PROGRAM);
    memcpy(t->signature, image, sizeof t->signature);
    t->real = (size_t)((const char *)image)[sizeof t->signature];
    loads++;
    *out = t;
    return SPMV_OK;
}

static void fake_program_free(const spmv_device *d, void *program) { (void)d; release(program, PROGRAM); }

static spmv_status fake_kernel(const spmv_device *d, void *program, const char *name, void **kernel)
{
    static const char *const names[] = { "spmv", "finish", "scale", "fill", "count_ends", "find", "sum_up", "count", "check",
                                        "tiles", "tail" };
    size_t i;
    thing *t;
    if (fails(d)) return SPMV_ERR_MEMORY;
    for (i = 0; i < LENGTH(names) && strcmp(names[i], name); i++) {}
    if (i == LENGTH(names)) bad++;
    if (!lives(program, PROGRAM)) bad++;
    t = new_thing(KERNEL);
    t->real = ((thing *)program)->real;
    snprintf(t->signature, sizeof t->signature, "%s",
             !strcmp(name, "scale")   ? "nbnbnrr"
             : !strcmp(name, "tiles") ? "nnnbbnnnnbbbbbbnbbbbbbb"
                                      : ((thing *)program)->signature);
    *kernel = t;
    return SPMV_OK;
}

static void fake_kernel_free(const spmv_device *d, void *kernel) { (void)d; release(kernel, KERNEL); }

static spmv_status fake_limits(const spmv_device *d, void *kernel, uint64_t *group, uint64_t *local)
{
    if (fails(d)) return SPMV_ERR_MEMORY;
    if (!lives(kernel, KERNEL)) bad++;
    *group = 1024;
    *local = 0;
    return SPMV_OK;
}

static spmv_status fake_argument(const spmv_device *d, void *kernel, unsigned index, const void *value, size_t size)
{
    thing *t = (thing *)kernel;
    if (fails(d)) return SPMV_ERR_MEMORY;
    if (!lives(kernel, KERNEL) || index >= strlen(t->signature)) { bad++; return SPMV_OK; }
    t->size[index] = size;
    if (t->signature[index] == 'b' && size == sizeof t->buffer[index]) memcpy(&t->buffer[index], value, size);
    return SPMV_OK;
}

static spmv_status fake_buffer(const spmv_device *d, uint64_t bytes, int read_only, const void *from, void **buffer)
{
    thing *t;
    (void)read_only;
    if (fails(d)) return SPMV_ERR_MEMORY;
    if (!bytes || bytes > d->info.alloc_bytes) bad++;
    t = new_thing(BUFFER);
    t->bytes = bytes;
    t->data = (unsigned char *)calloc(1, (size_t)bytes);
    if (from) memcpy(t->data, from, (size_t)bytes);
    *buffer = t;
    return SPMV_OK;
}

static void fake_buffer_free(const spmv_device *d, void *buffer) { (void)d; release(buffer, BUFFER); }

static spmv_status fake_bytes(const spmv_device *d, void *buffer, uint64_t *bytes)
{
    if (fails(d)) return SPMV_ERR_MEMORY;
    *bytes = ((thing *)buffer)->bytes;
    return SPMV_OK;
}

static spmv_status fake_copy(const spmv_device *d, void *queue, thing *buffer, void *to, const void *from, uint64_t bytes)
{
    if (fails(d)) return SPMV_ERR_MEMORY;
    if (!lives(queue, QUEUE) || !lives(buffer, BUFFER) || bytes > buffer->bytes) { bad++; return SPMV_OK; }
    memcpy(to ? to : buffer->data, from ? from : buffer->data, (size_t)bytes);
    return SPMV_OK;
}

static spmv_status fake_write(const spmv_device *d, void *queue, void *buffer, uint64_t bytes, const void *from)
{
    return fake_copy(d, queue, (thing *)buffer, NULL, from, bytes);
}

static spmv_status fake_read(const spmv_device *d, void *queue, void *buffer, uint64_t bytes, void *to, void *after)
{
    if (after && !lives(after, EVENT)) bad++;
    return fake_copy(d, queue, (thing *)buffer, to, NULL, bytes);
}

static spmv_status fake_fill(const spmv_device *d, void *queue, void *buffer, uint64_t bytes, uint32_t word)
{
    uint64_t i;
    if (fails(d)) return SPMV_ERR_MEMORY;
    if (!lives(queue, QUEUE) || !lives(buffer, BUFFER) || bytes % 4 || bytes > ((thing *)buffer)->bytes) { bad++; return SPMV_OK; }
    for (i = 0; i < bytes; i += 4) memcpy(((thing *)buffer)->data + i, &word, 4);
    return SPMV_OK;
}

static spmv_status fake_queue_keep(const spmv_device *d, void *queue, int *out_of_order, int *profiles)
{
    if (fails(d)) return SPMV_ERR_MEMORY;
    if (!lives(queue, QUEUE)) return SPMV_ERR_ARGUMENT;
    ((thing *)queue)->refs++;
    *out_of_order = d->info.out_of_order;
    *profiles = !no_profile;
    return SPMV_OK;
}

static void fake_queue_free(const spmv_device *d, void *queue) { (void)d; release(queue, QUEUE); }

static spmv_status fake_finish(const spmv_device *d, void *queue)
{
    finished++;
    return fails(d) || !lives(queue, QUEUE) ? SPMV_ERR_MEMORY : SPMV_OK;
}

static spmv_status fake_marker(const spmv_device *d, void *queue, const spmv_order *order, void **event)
{
    if (fails(d)) return SPMV_ERR_MEMORY;
    if (!lives(queue, QUEUE) || (order->after && order->count) || (order->after && order->after != previous)) bad++;
    chained += order->after != NULL;
    if (event) previous = *event = new_thing(EVENT);
    return SPMV_OK;
}

static spmv_status fake_launch(const spmv_device *d, void *queue, void *kernel, uint64_t groups, uint64_t wg, const spmv_order *order,
                               void **event)
{
    thing *t = (thing *)kernel;
    size_t i;
    if (!lives(kernel, KERNEL) || !groups || !wg || wg > d->info.group_size) bad++;
    for (i = 0; i < strlen(t->signature); i++) {
        char c = t->signature[i];
        if (t->size[i] != (c == 'b' ? sizeof(void *) : c == 'n' ? 8 : t->real)) bad++;
        if (c == 'b' && !lives(t->buffer[i], BUFFER)) bad++;
    }
    launches++;
    return fake_marker(d, queue, order, event);
}

static spmv_status fake_event_keep(const spmv_device *d, void *event)
{
    if (fails(d)) return SPMV_ERR_MEMORY;
    if (!lives(event, EVENT)) bad++;
    else ((thing *)event)->refs++;
    return SPMV_OK;
}

static void fake_event_free(const spmv_device *d, void *event) { (void)d; release(event, EVENT); }

/* Times that were read from events so far. Where two matrices are timed by turns, each read two times and then alternately five times, the
 * first takes 0.25 seconds and the second so many. */
enum { BEFORE_TURNS = 4, READS = BEFORE_TURNS + 2 * 5 };
static int    timed;
static double second_takes = 0.25;

static spmv_status fake_seconds(const spmv_device *d, void *first, void *last, double *seconds)
{
    if (fails(d)) return SPMV_ERR_MEMORY;
    if (!lives(first, EVENT) || !lives(last, EVENT)) bad++;
    *seconds = (timed % READS < BEFORE_TURNS ? timed % READS / 2 : timed % 2) ? second_takes : 0.25;
    timed++;
    return SPMV_OK;
}

/* ---- transfers; a point is an event ---- */
static spmv_status fake_queue_new(const spmv_device *d, void **queue)
{
    if (fails(d)) return SPMV_ERR_MEMORY;
    *queue = new_thing(QUEUE);
    return SPMV_OK;
}

static void fake_queue_end(const spmv_device *d, void *queue) { (void)d; release(queue, QUEUE); }

static spmv_status fake_pin(const spmv_device *d, uint64_t bytes, void **at, void **handle)
{
    spmv_status s = fake_buffer(d, bytes, 0, NULL, handle);
    if (!s) *at = ((thing *)*handle)->data;
    return s;
}

static void fake_unpin(const spmv_device *d, void *at, void *handle)
{
    (void)d;
    if (((thing *)handle)->data != at) bad++;
    release(handle, BUFFER);
}

static spmv_status fake_move(const spmv_device *d, void *queue, thing *buffer, uint64_t offset, uint64_t bytes, void *to, const void *from)
{
    if (fails(d)) return SPMV_ERR_MEMORY;
    if (!lives(queue, QUEUE) || !lives(buffer, BUFFER) || offset + bytes > buffer->bytes || !bytes) { bad++; return SPMV_OK; }
    memcpy(to ? to : buffer->data + offset, to ? buffer->data + offset : from, (size_t)bytes);
    return SPMV_OK;
}

static spmv_status fake_get(const spmv_device *d, void *queue, void *buffer, uint64_t offset, uint64_t bytes, void *to)
{
    return fake_move(d, queue, (thing *)buffer, offset, bytes, to, NULL);
}

static spmv_status fake_put(const spmv_device *d, void *queue, void *buffer, uint64_t offset, uint64_t bytes, const void *from)
{
    return fake_move(d, queue, (thing *)buffer, offset, bytes, NULL, from);
}

static spmv_status fake_start(const spmv_device *d, void *queue)
{
    if (fails(d)) return SPMV_ERR_MEMORY;
    if (!lives(queue, QUEUE)) bad++;
    return SPMV_OK;
}

static spmv_status fake_point(const spmv_device *d, void **point)
{
    if (fails(d)) return SPMV_ERR_MEMORY;
    *point = new_thing(EVENT);
    return SPMV_OK;
}

static spmv_status fake_at_point(const spmv_device *d, void *queue, void *point)
{
    if (fails(d)) return SPMV_ERR_MEMORY;
    if (!lives(queue, QUEUE) || !lives(point, EVENT)) bad++;
    return SPMV_OK;
}

static spmv_status fake_point_wait(const spmv_device *d, void *point)
{
    if (fails(d)) return SPMV_ERR_MEMORY;
    if (!lives(point, EVENT)) bad++;
    return SPMV_OK;
}

static int transfers; /* 0: the back end has none; 1: through the host; 2: peer copies, too */
static spmv_status fake_peer_open(const spmv_device *d, const spmv_device *other)
{
    (void)other;
    return fails(d) ? SPMV_ERR_MEMORY : SPMV_OK;
}

static spmv_status fake_peer(const spmv_device *d, void *queue, void *to, uint64_t to_offset, const spmv_device *other, void *from,
                             uint64_t from_offset, uint64_t bytes)
{
    if (!lives(from, BUFFER) || from_offset + bytes > ((thing *)from)->bytes || other == NULL) bad++;
    return fake_move(d, queue, (thing *)to, to_offset, bytes, NULL, ((thing *)from)->data + from_offset);
}


static int addresses; /* 1: buffers are addresses, as with CUDA */

static void *fake_within(void *buffer, uint64_t offset)
{
    (void)offset;
    bad++; /* only conversion asks for it */
    return buffer;
}

static const spmv_backend *fake(void)
{
    static const spmv_transfer staged = {
        fake_queue_new, fake_queue_end, fake_pin, fake_unpin, fake_get, fake_put, fake_start, fake_point, fake_event_free,
        fake_at_point, fake_at_point, fake_point_wait, NULL, NULL
    };
    static const spmv_transfer direct = {
        fake_queue_new, fake_queue_end, fake_pin, fake_unpin, fake_get, fake_put, NULL, fake_point, fake_event_free, fake_at_point,
        fake_at_point, fake_point_wait, fake_peer_open, fake_peer
    };
    static const spmv_backend without = {
        "fake", fake_list, fake_open, fake_close, fake_build, fake_program_free, fake_image_of, fake_load, fake_kernel, fake_kernel_free,
        fake_limits, fake_argument, fake_buffer, fake_buffer_free, fake_bytes, fake_write, fake_read, fake_fill, fake_queue_keep,
        fake_queue_free, fake_finish, fake_launch, fake_marker, fake_event_keep, fake_event_free, fake_seconds, NULL, NULL, NULL, NULL,
        NULL, NULL, NULL
    };
    static spmv_backend table;
    table = without;
    table.within = addresses ? fake_within : NULL;
    table.transfer = transfers == 0 ? NULL : transfers == 1 ? &staged : &direct;
    return &table;
}

/* ---- matrices and helpers ------------------------------------------------------------------------------------------- */

static const char *const plans[] = {
    "dense", "coo", "csr", "csr:rows=nonempty", "csr:run=64", "dia", "bdia", "ell", "ell:rows=sorted,idx=16", "sell:h=8",
    "sell:h=64,grow=0.3", "bell:b=3x3", "sbell:b=4x4,h=4", "bcsr:b=3x3,idx=16", "cmrs", "ell:w=2+dia:d=0.9+csr:run=64+coo",
    "ell:w=3+coo", "tcsr", "tcsr:tile=512,rows=nonempty"
};

enum { ROWS = 43, COLS = 37 };
/* Of store: 0 the host converts, 1 the device does, and the matrix has no updates, 2 the device does, with updates, 3 the same, and the
 * matrix is in buffers, 4 it is, and has no updates. */
static int fixed;
static void *on_device[3]; /* those buffers */
static int64_t ptr[ROWS + 1];
static int32_t col[ROWS * COLS];
static double val[ROWS * COLS], x[COLS], y[ROWS];

static void start(void)
{
    int r, c, n = 0;
    for (r = 0; r < ROWS; r++) {
        for (c = 0; c < COLS; c++)
            if (c == r || c == r + 1 || (r * 7 + c * 5) % 13 == 0 || (r == 20 && c % 2)) { val[n] = 1 + n % 5; col[n++] = c; }
        ptr[r + 1] = n;
    }
    fails_left = -1;
    builds = loads = no_images = fixed = 0;
}

/* Everything that was given out has been freed, and nothing was wrong. */
static void finish(void)
{
    cr_assert_null(alive);
    cr_assert_eq(bad, 0);
}

TestSuite(device, .init = start, .fini = finish);

static spmv_status open_fake(spmv_device *d, const char *which)
{
    const spmv_backend *all[] = { fake(), NULL };
    spmv_device_desc desc = { 0 };
    desc.which = which;
    desc.hooks.log = hear;
    return spmv_backends_create(all, d, &desc);
}

/* Copies the matrix to buffers of the device. */
static spmv_status make_buffers(spmv_device *d, spmv_desc *desc)
{
    const uint64_t nnz = (uint64_t)ptr[ROWS], bytes[3] = { sizeof ptr, nnz * 4, nnz * spmv_value_size(desc->type) };
    const void *from[3] = { ptr, col, desc->matrix.val };
    spmv_status s = SPMV_OK;
    int i;
    for (i = 0; i < 3 && !s; i++) {
        s = spmv_buffer_create(d, bytes[i], &on_device[i]);
        if (!s) s = spmv_buffer_write(d, on_device[i], bytes[i], from[i]);
    }
    desc->buffers = 1;
    desc->matrix.ptr = on_device[0];
    desc->matrix.col = on_device[1];
    desc->matrix.val = on_device[2];
    return s;
}

static void free_buffers(spmv_device *d)
{
    int i;
    for (i = 0; i < 3; i++) {
        if (on_device[i]) spmv_buffer_destroy(d, on_device[i]);
        on_device[i] = NULL;
    }
}

static const spmv_build_hints *wishes; /* of store */

static spmv_status store(spmv_matrix *m, spmv_device *d, const char *plan, spmv_type type)
{
    static float narrow[LENGTH(val)];
    spmv_desc desc = { 0 };
    size_t i;
    for (i = 0; i < LENGTH(val); i++) narrow[i] = (float)val[i];
    desc.matrix.rows = ROWS;
    desc.matrix.cols = COLS;
    desc.matrix.ptr = ptr;
    desc.matrix.ptr_bits = 64;
    desc.matrix.col = col;
    desc.matrix.val = type == SPMV_F64 ? (const void *)val : narrow;
    desc.type = type;
    desc.plan = plan;
    desc.device = d;
    desc.updatable = fixed != 1 && fixed != 4;
    desc.convert = fixed ? SPMV_CONVERT_ON_DEVICE : SPMV_CONVERT_ON_HOST;
    desc.hooks.log = hear;
    desc.hints = wishes;
    if (fixed >= 3) {
        spmv_status s = make_buffers(d, &desc);
        if (s) return s;
    }
    return spmv_create(m, &desc);
}

/* ---- tests -------------------------------------------------------------------------------------------------------- */

static spmv_status list_nothing(spmv_device_info *out, size_t max, size_t *n, const spmv_hooks *hooks)
{
    (void)out;
    (void)max;
    (void)hooks;
    *n = 0;
    return SPMV_OK;
}

static const char *not_there(void) { return "not plugged in"; }

Test(device, back_ends_are_listed_one_after_another)
{
    spmv_backend silent = *fake(), says = silent;
    const spmv_backend *two[] = { fake(), fake(), NULL }, *none[] = { NULL }, *empty[] = { &silent, &says, NULL };
    spmv_device_info info[3];
    spmv_device_desc desc = { 0 };
    spmv_device d;
    size_t n = 7;
    desc.hooks.log = hear;
    silent.list = says.list = list_nothing;
    says.absent = not_there;
    cr_assert_eq(spmv_backends_list(none, NULL, 0, &n, &desc.hooks), SPMV_OK);
    cr_assert_eq(n, 0);
    cr_assert_eq(spmv_backends_list(two, info, 3, &n, &desc.hooks), SPMV_OK);
    cr_assert_eq(n, 4);
    cr_assert_str_eq(info[1].name, "Fake small");
    cr_assert_str_eq(info[2].name, "Fake large");
    desc.which = "3";
    cr_assert_eq(spmv_backends_create(two, &d, &desc), SPMV_OK);
    cr_assert_str_eq(d.info.name, "Fake small");
    spmv_device_destroy(&d);
    cr_assert_eq(spmv_backends_create(none, &d, &desc), SPMV_ERR_NO_DEVICE);
    cr_assert_str_eq(said, "no device was found");
    cr_assert_eq(spmv_backends_create(empty, &d, &desc), SPMV_ERR_NO_DEVICE);
    cr_assert_str_eq(said, "no device was found: fake; fake: not plugged in");
    desc.context = &d; /* of no back end */
    cr_assert_eq(spmv_backends_create(none, &d, &desc), SPMV_ERR_NO_DEVICE);
}

Test(device, is_found_by_type_and_name)
{
    static const char *const which[][2] = {
        { NULL, "large" }, { "gpu", "large" }, { "cpu", "small" }, { "1", "small" }, { "SMALL", "small" }
    };
    spmv_device d;
    size_t i;
    for (i = 0; i < LENGTH(which); i++) {
        cr_assert_eq(open_fake(&d, which[i][0]), SPMV_OK, "%s", said);
        cr_assert_str_eq(d.info.name + 5, which[i][1]);
        spmv_device_destroy(&d);
    }
    cr_assert_eq(open_fake(&d, "accelerator"), SPMV_ERR_NO_DEVICE);
    cr_assert_str_eq(said, "no device matches 'accelerator'; 2 found");
}

Test(device, takes_a_matrix_without_nonzeros)
{
    static const char *const plans[] = { NULL, "csr", "ell+csr" };
    static const uint64_t no_ptr[4] = { 0 };
    spmv_device d;
    size_t i;
    cr_assert_eq(open_fake(&d, NULL), SPMV_OK, "%s", said);
    for (i = 0; i < LENGTH(plans); i++) {
        spmv_desc desc = { 0 };
        spmv_matrix m;
        desc.matrix.rows = desc.matrix.cols = 3;
        desc.matrix.ptr = no_ptr;
        desc.matrix.ptr_bits = 64;
        desc.matrix.col = col;
        desc.matrix.val = val;
        desc.plan = plans[i];
        desc.device = &d;
        desc.hooks.log = hear;
        cr_assert_eq(spmv_create(&m, &desc), SPMV_OK, "%s", said);
        cr_assert_eq(spmv_rows(&m), 3);
        spmv_destroy(&m);
    }
    spmv_device_destroy(&d);
}

/* Every array of every part is in buffers as it was stored, whole or in stretches. */
static void check_arrays(const spmv_matrix *m)
{
    const spmv_device_matrix *on = m->on_device;
    size_t i, k;
    for (i = 0; i < on->count; i++)
        for (k = 0; on->count == (size_t)m->store.count && k < SPMV_MAX_ARRAYS; k++) {
            const spmv_array *a = &m->store.part[i].a[k];
            if (a->count) cr_assert_eq(memcmp(((thing *)on->part[i].a[k])->data, a->data, (size_t)(a->count * a->width)), 0);
            else cr_assert_null(on->part[i].a[k]);
        }
}

Test(device, every_format_gets_the_arguments_of_its_kernel)
{
    size_t i, own;
    int type, on;
    for (on = 0; on < 2; on++)
        for (i = 0; i < LENGTH(plans); i++)
            for (type = SPMV_F64; type < SPMV_TYPE_COUNT; type++) {
                spmv_device d;
                spmv_matrix m;
                cr_assert_eq(open_fake(&d, on ? "small" : "large"), SPMV_OK);
                if (store(&m, &d, plans[i], (spmv_type)type) == SPMV_OK) {
                    own = m.exec->count;
                    cr_assert_geq(own, (size_t)m.store.count);
                    check_arrays(&m);
                    launches = chained = 0;
                    cr_assert_eq(spmv_mul(&m, 1, x, 1, y), SPMV_OK, "%s: %s", plans[i], said);
                    cr_assert_eq((size_t)launches, own, "%s", plans[i]);
                    cr_assert_eq(chained, d.info.out_of_order ? launches - 1 : 0, "%s", plans[i]);
                    cr_assert_eq(spmv_mul(&m, 2, x, 0, y), SPMV_OK, "%s: %s", plans[i], said);
                    cr_assert_eq((size_t)launches, 2 * own + !m.on_device->covers, "%s", plans[i]); /* if nothing sets y, it is scaled */
                    cr_assert_eq(spmv_update(&m, val), SPMV_OK);
                    check_arrays(&m);
                } else {
                    cr_assert(on && strstr(said, "cannot be cut further"), "%s: %s", plans[i], said); /* pointers of large pieces */
                }
                cr_assert_eq(bad, 0, "%s", plans[i]);
                spmv_destroy(&m);
                spmv_device_destroy(&d);
            }
}

/* What follows a product is one launch more, of every plan, which waits for the last of the product if the queue is out of order. */
Test(device, tails)
{
    static double w[COLS > ROWS ? COLS : ROWS];
    size_t i;
    int on;
    for (on = 0; on < 2; on++)
        for (i = 0; i < LENGTH(plans); i++) {
            spmv_device d;
            spmv_matrix m;
            spmv_tail tail = { 0 };
            void *v[4] = { NULL, NULL, NULL, NULL };
            int k;
            cr_assert_eq(open_fake(&d, on ? "small" : "large"), SPMV_OK);
            if (store(&m, &d, plans[i], SPMV_F64) == SPMV_OK) {
                for (k = 0; k < 4; k++) cr_assert_eq(spmv_buffer_create(&d, sizeof w, &v[k]), SPMV_OK);
                tail.w = v[2];
                tail.gamma = 1;
                tail.dots = SPMV_DOT_YY | SPMV_DOT_WY | SPMV_DOT_ZZ;
                tail.sums = v[3];
                launches = chained = 0;
                cr_assert_eq(spmv_exec_mul_tail(m.exec, 1, v[0], 0, 1, v[1], 0, &tail), SPMV_OK, "%s: %s", plans[i], said);
                cr_assert_eq((size_t)launches, m.exec->count + 1, "%s", plans[i]);
                cr_assert_eq(chained, d.info.out_of_order ? launches - 1 : 0, "%s", plans[i]);
                for (k = 0; k < 4; k++) spmv_buffer_destroy(&d, v[k]);
            }
            cr_assert_eq(bad, 0, "%s", plans[i]);
            spmv_destroy(&m);
            spmv_device_destroy(&d);
        }
}

Test(device, parts_larger_than_a_buffer_are_cut)
{
    spmv_device d;
    spmv_matrix m;
    cr_assert_eq(open_fake(&d, "small"), SPMV_OK);
    cr_assert_eq(store(&m, &d, "csr", SPMV_F64), SPMV_OK, "%s", said);
    cr_assert_gt(m.on_device->count, 1);
    cr_assert_eq(m.on_device->sources, 1);
    spmv_destroy(&m);
    spmv_device_destroy(&d);
}

/* A zeroed device, as before spmv_device_create and after spmv_device_destroy. */
Test(device, that_is_not_open_is_refused)
{
    spmv_device none;
    spmv_device_matrix m;
    void *buffer = &none, *program = &none, *taken = &none;
    size_t bytes = 1;
    char byte = 0;
    memset(&none, 0, sizeof none);
    none.hooks.log = hear;
    cr_assert_eq(spmv_buffer_create(&none, 0, &buffer), SPMV_ERR_ARGUMENT);
    cr_assert(!buffer && strstr(said, "spmv_buffer_create: the device is not open"), "%s", said);
    cr_assert_eq(spmv_buffer_write(&none, &none, 1, &byte), SPMV_ERR_ARGUMENT);
    cr_assert_eq(spmv_buffer_read(&none, &none, 1, &byte), SPMV_ERR_ARGUMENT);
    cr_assert_eq(spmv_buffer_fill(&none, &none, 4, 0), SPMV_ERR_ARGUMENT);
    cr_assert_eq(spmv_device_finish(&none), SPMV_ERR_ARGUMENT);
    cr_assert_eq(spmv_device_programs_give(&none, &byte, 1), SPMV_ERR_ARGUMENT);
    cr_assert_eq(spmv_device_programs_take(&none, &taken, &bytes), SPMV_ERR_ARGUMENT);
    cr_assert(!taken && !bytes);
    cr_assert_eq(spmv__device_program(&none, SPMV_CSR, "", &program), SPMV_ERR_ARGUMENT);
    cr_assert_null(program);
    cr_assert_eq(spmv_device_matrix_create(&m, &none, 0, 0, SPMV_F32, NULL, 0, NULL), SPMV_ERR_ARGUMENT);
    cr_assert_null(m.device);
}

Test(device, images_are_refused_where_there_are_none)
{
    spmv_device d;
    spmv_variant v;
    spmv_matrix m;
    cr_assert_eq(open_fake(&d, NULL), SPMV_OK);
    cr_assert_eq(store(&m, &d, "ell", SPMV_F32), SPMV_OK);
    cr_assert_eq(spmv__variant_parse(&v, SPMV_ELL, "IMG=1", &d.hooks), SPMV_OK);
    cr_assert_eq(spmv_variant_resolve(&v, &d, &m.store.part[0]), SPMV_ERR_UNSUPPORTED);
    cr_assert_str_eq(said, "IMG=1: Fake large has no images");
    spmv_destroy(&m);
    spmv_device_destroy(&d);
}

Test(device, vectors_lie_in_buffers_of_any_back_end)
{
    static const float from[] = { 1, 2, 3 };
    float to[3] = { 0, 0, 0 };
    uint32_t words[2] = { 0, 0 };
    spmv_device d;
    void *b, *empty;
    cr_assert_eq(open_fake(&d, "small"), SPMV_OK);
    cr_assert_eq(spmv_buffer_create(&d, 601, &b), SPMV_ERR_LIMIT);
    cr_assert_null(b);
    cr_assert_eq(spmv_buffer_create(&d, 0, &empty), SPMV_OK);
    cr_assert_eq(spmv_buffer_write(&d, empty, 0, NULL), SPMV_OK);
    cr_assert_eq(spmv_buffer_create(&d, sizeof from, &b), SPMV_OK);
    cr_assert_eq(spmv_buffer_write(&d, b, sizeof from, from), SPMV_OK);
    cr_assert_eq(spmv_buffer_read(&d, b, sizeof to, to), SPMV_OK);
    cr_assert_eq(memcmp(from, to, sizeof to), 0);
    cr_assert_eq(spmv_buffer_fill(&d, b, 6, 7), SPMV_ERR_ARGUMENT);
    cr_assert_eq(spmv_buffer_fill(&d, b, 4, 7), SPMV_OK);
    cr_assert_eq(spmv_buffer_read(&d, b, sizeof words, words), SPMV_OK);
    cr_assert_eq(words[0], 7);
    cr_assert_eq(memcmp(&words[1], &from[1], 4), 0);
    cr_assert_eq(spmv_device_finish(&d), SPMV_OK);
    spmv_buffer_destroy(&d, b);
    spmv_buffer_destroy(&d, empty);
    spmv_device_destroy(&d);
}

Test(device, time_is_told_from_the_first_launch_to_the_last)
{
    spmv_device d;
    spmv_matrix m;
    double took = 7;
    cr_assert_eq(open_fake(&d, NULL), SPMV_OK);
    cr_assert_eq(store(&m, &d, "ell:w=3+coo", SPMV_F64), SPMV_OK);
    cr_assert_eq(spmv_exec_timing(m.exec, 1), SPMV_OK);
    cr_assert_eq(spmv_exec_seconds(m.exec, &took), SPMV_ERR_ARGUMENT);
    cr_assert_eq(spmv_mul(&m, 1, x, 0, y), SPMV_OK);
    cr_assert_eq(spmv_exec_seconds(m.exec, &took), SPMV_OK);
    cr_assert(took > 0.2 && took < 0.3);
    cr_assert_eq(m.exec->last, previous);
    cr_assert_neq(m.exec->first, m.exec->last);
    spmv_destroy(&m);
    spmv_device_destroy(&d);
}

static int by_number(const void *a, const void *b) { return *(const int32_t *)a - *(const int32_t *)b; }

/* ---- programs ------------------------------------------------------------------------------------------------------- */

/* Opens a device, gives it the string unless that is NULL, multiplies once, and takes the string of its programs. */
static spmv_status use_programs(const void *from, size_t bytes, void **out, size_t *out_bytes)
{
    spmv_device d;
    spmv_matrix m;
    spmv_status s = open_fake(&d, NULL);
    memset(&m, 0, sizeof m);
    builds = loads = 0;
    said[0] = 0;
    *out = NULL;
    if (!s) s = spmv_device_programs_give(&d, from, bytes);
    if (!s) s = store(&m, &d, "ell:w=2+dia:d=0.9+csr:run=64", SPMV_F64);
    if (!s) s = spmv_mul(&m, 1, x, 0, y);
    if (!s) s = spmv_device_programs_take(&d, out, out_bytes);
    if (!s) spare();
    spmv_destroy(&m);
    spmv_device_destroy(&d);
    return s;
}

Test(device, builds_nothing_for_a_second_matrix_with_the_same_plan)
{
    spmv_device d;
    spmv_matrix one, two;
    int before;
    cr_assert_eq(open_fake(&d, NULL), SPMV_OK);
    cr_assert_eq(store(&one, &d, "ell:w=2+csr:run=64", SPMV_F64), SPMV_OK, "%s", said);
    before = builds;
    cr_assert_geq(before, 2);
    cr_assert_eq(store(&two, &d, "ell:w=2+csr:run=64", SPMV_F64), SPMV_OK, "%s", said);
    cr_assert_eq(builds, before);
    cr_assert_eq(d.compiled, (uint64_t)before);
    spmv_destroy(&two);
    cr_assert_eq(store(&two, &d, "ell:w=2+csr:run=64", SPMV_F32), SPMV_OK, "%s", said); /* other programs */
    cr_assert_gt(builds, before);
    spmv_destroy(&one);
    spmv_destroy(&two);
    spmv_device_destroy(&d);
}

/* The buffers of a matrix are kept when it is destroyed, and the next one gets them, but not before the queue is done with them. Those that
 * another queue may still use are freed. What is kept is given up where memory runs out. */
Test(device, buffers_that_a_matrix_left_serve_the_next)
{
    spmv_device d;
    spmv_matrix m;
    spmv_exec e;
    void *first, *other;
    int buffers;
    addresses = 1;
    cr_assert_eq(open_fake(&d, NULL), SPMV_OK);
    cr_assert_eq(store(&m, &d, "sell", SPMV_F64), SPMV_OK, "%s", said);
    cr_assert_eq(spmv_mul(&m, 1, x, 0, y), SPMV_OK);
    first = m.on_device->part[0].a[SPMV_VAL];
    buffers = count[BUFFER];
    spmv_destroy(&m);
    cr_assert_eq(count[BUFFER], buffers);
    cr_assert_null(spmv__scratch_find(&d, 1, 1 << 20), "a product may still be running");
    finished = 0;
    cr_assert_eq(store(&m, &d, "sell", SPMV_F64), SPMV_OK, "%s", said);
    cr_assert_gt(finished, 0);
    cr_assert_eq(spmv_mul(&m, 1, x, 0, y), SPMV_OK);
    cr_assert_eq(m.on_device->part[0].a[SPMV_VAL], first);
    cr_assert_eq(count[BUFFER], buffers);
    other = new_thing(QUEUE);
    cr_assert_eq(spmv_exec_create(&e, m.on_device, other), SPMV_OK);
    spmv_exec_destroy(&e);
    release(other, QUEUE);
    spmv_destroy(&m);
    cr_assert_lt(count[BUFFER], buffers);
    cr_assert_eq(store(&m, &d, "ell", SPMV_F64), SPMV_OK, "%s", said);
    buffers = count[BUFFER];
    fails_left = 0;
    spmv_destroy(&m); /* one buffer whose size is not told is freed */
    cr_assert_lt(fails_left, 0);
    cr_assert_eq(count[BUFFER], buffers - 1);
    fails_left = 0;
    cr_assert_eq(spmv_buffer_create(&d, 1000, &other), SPMV_OK);
    cr_assert(strstr(said, "so that there may be memory"), "%s", said);
    cr_assert_leq(count[BUFFER], 2); /* that one, and the one that stands for arrays without elements */
    spmv_buffer_destroy(&d, other);
    spmv_device_destroy(&d);
}

Test(device, programs_given_back_need_no_compiler)
{
    void *first, *second;
    size_t bytes, again;
    int needed;
    cr_assert_eq(use_programs(NULL, 0, &first, &bytes), SPMV_OK, "%s", said);
    needed = builds;
    cr_assert(needed >= 2 && loads == 0);
    cr_assert_eq(use_programs(first, bytes, &second, &again), SPMV_OK, "%s", said);
    cr_assert_eq(builds, 0);
    cr_assert_eq(loads, needed);
    cr_assert_eq(again, bytes);
    free(second);
    no_images = 2; /* the driver refuses them: nobody hears of it */
    cr_assert_eq(use_programs(first, bytes, &second, &again), SPMV_OK, "%s", said);
    cr_assert_eq(builds, needed);
    cr_assert_str_empty(said);
    free(second);
    no_images = 1;
    cr_assert_eq(use_programs(NULL, 0, &second, &again), SPMV_OK, "%s", said); /* there is nothing to take */
    cr_assert_lt(again, bytes);
    free(first);
    no_images = 0;
    cr_assert_eq(use_programs(second, again, &first, &bytes), SPMV_OK, "%s", said);
    cr_assert_eq(builds, needed);
    free(first);
    free(second);
}

/* The choice reads the device's tuning table for the first matrix only. */
Test(device, keeps_its_tuning_table)
{
    static int64_t wide_ptr[1001];
    static int32_t wide_col[5000];
    spmv_desc desc = { 0 };
    spmv_device d;
    spmv_matrix one, two;
    const void *kept;
    char first[256], second[256];
    int i;
    for (i = 0; i < 5000; i++) wide_col[i] = (int32_t)((i / 5 + i % 5 * 7) % 1000);
    for (i = 0; i < 5000; i += 5) qsort(wide_col + i, 5, sizeof *wide_col, by_number);
    for (i = 0; i <= 1000; i++) wide_ptr[i] = 5 * (int64_t)i;
    cr_assert_eq(open_fake(&d, NULL), SPMV_OK);
    desc.matrix.rows = desc.matrix.cols = 1000;
    desc.matrix.ptr = wide_ptr;
    desc.matrix.ptr_bits = 64;
    desc.matrix.col = wide_col;
    desc.device = &d;
    desc.hooks.log = hear;
    cr_assert_eq(spmv_create(&one, &desc), SPMV_OK, "%s", said);
    spmv_shares(&one, first, sizeof first);
    kept = d.common->kept;
    cr_assert_not_null(kept);
    cr_assert_eq(spmv_create(&two, &desc), SPMV_OK, "%s", said);
    cr_assert_eq(d.common->kept, kept);
    spmv_shares(&two, second, sizeof second);
    cr_assert_str_eq(second, first);
    spmv_destroy(&one);
    spmv_destroy(&two);
    spmv_device_destroy(&d);
}

/* A device that uses only some of the programs that it was given still hands out all of them. */
Test(device, programs_that_were_given_are_kept)
{
    void *all, *taken;
    size_t bytes, again;
    spmv_device d;
    spmv_matrix m;
    int needed;
    cr_assert_eq(use_programs(NULL, 0, &all, &bytes), SPMV_OK, "%s", said);
    needed = builds;
    cr_assert_eq(open_fake(&d, NULL), SPMV_OK);
    cr_assert_eq(spmv_device_programs_give(&d, all, bytes), SPMV_OK);
    cr_assert_eq(store(&m, &d, "bcsr:b=3x3", SPMV_F64), SPMV_OK, "%s", said);
    cr_assert_eq(spmv_device_programs_take(&d, &taken, &again), SPMV_OK);
    cr_assert_gt(again, bytes);
    spmv_destroy(&m);
    spmv_device_destroy(&d);
    free(all);
    cr_assert_eq(use_programs(taken, again, &all, &bytes), SPMV_OK, "%s", said);
    cr_assert_eq(builds, 0);
    cr_assert_eq(loads, needed);
    free(all);
    free(taken);
}

/* Whatever is wrong with the string, the programs are compiled, and nothing of it reaches the driver. */
Test(device, programs_in_doubt_are_compiled)
{
    void *good, *other;
    unsigned char *broken;
    size_t bytes, again, i;
    cr_assert_eq(use_programs(NULL, 0, &good, &bytes), SPMV_OK, "%s", said);
    broken = (unsigned char *)malloc(bytes + 8);
    for (i = 0; i < bytes; i += 1 + i / 64) { /* a bit is wrong, or the end is missing */
        memcpy(broken, good, bytes);
        broken[i] ^= 4;
        cr_assert_eq(use_programs(broken, bytes, &other, &again), SPMV_OK, "%s", said);
        free(other);
        cr_assert(loads == 0 && !*said, "byte %zu: %d loaded; %s", i, loads, said);
        cr_assert_eq(use_programs(good, i, &other, &again), SPMV_OK, "%s", said);
        free(other);
        cr_assert(loads == 0 && !*said, "%zu bytes: %d loaded; %s", i, loads, said);
    }
    memcpy(broken, good, bytes);
    memset(broken + bytes, 0, 8);
    cr_assert_eq(use_programs(broken, bytes + 8, &other, &again), SPMV_OK, "%s", said);
    free(other);
    cr_assert_eq(loads, 0);
    strcpy(driver, "1.1"); /* another driver */
    cr_assert_eq(use_programs(good, bytes, &other, &again), SPMV_OK, "%s", said);
    free(other);
    cr_assert_eq(loads, 0);
    strcpy(driver, "1.0");
    cr_assert_eq(use_programs(good, bytes, &other, &again), SPMV_OK, "%s", said);
    free(other);
    cr_assert_gt(loads, 0);
    free(broken);
    free(good);
}

Test(device, every_call_may_fail_with_programs)
{
    void *good, *other;
    size_t bytes, again;
    int n;
    cr_assert_eq(use_programs(NULL, 0, &good, &bytes), SPMV_OK, "%s", said);
    for (n = 0; ; n++) {
        spmv_status s;
        fails_left = n;
        s = use_programs(good, bytes, &other, &again);
        cr_assert_null(alive, "call %d failed, something was left", n);
        cr_assert_eq(!s, other != NULL);
        free(other);
        if (fails_left >= 0) break;
        cr_assert(s || builds == 1 || strstr(said, "so that there may be memory"), "call %d failed, and nobody said so", n); /* a program
                                                                                      that is not loaded is compiled */
    }
    cr_assert_gt(n, 20);
    free(good);
}

/* With "measure" the three best options are timed by the events of the device, and the fastest is kept. Nothing is timed with another plan,
 * or if the queue measures no time. A failure while an option is timed is none of the matrix. */
Test(device, measure_keeps_the_fastest)
{
    static const char text[] = "spmv tuning table 2\ndevice d\nclass gpu\nmemory 1000\nf64 sell - 0 0 0 100 0 0 0 0 200\n"
                               "f64 coo - 0 0 0 300 0 0 0 0 200\nf64 csr - 0 0 0 500 0 0 0 0 100\nf64 cmrs - 0 0 0 600 0 0 0 0 100\n";
    static const struct {
        const char *plan;
        double      second;
        int         no_profile, timed;
    } t[] = { { "auto", 0.125, 0, 0 }, { "measure", 0.125, 1, 0 }, { "measure", 0.125, 0, 2 * READS }, { "measure", 0.5, 0, 2 * READS },
              { "cocktail", 0.125, 0, 0 } };
    spmv_choice *c = (spmv_choice *)calloc(1, sizeof *c);
    char kept[SPMV_PLAN_TEXT], own[SPMV_PLAN_TEXT], first[SPMV_PLAN_TEXT] = "", third[SPMV_PLAN_TEXT] = "";
    spmv_tuning table;
    spmv_build_hints hints = { 0 };
    spmv_matrix m;
    spmv_device d;
    size_t i;
    int n, k, built = 0;
    cr_assert_eq(spmv_tuning_create(&table, text, sizeof text - 1, NULL, NULL), SPMV_OK);
    cr_assert_eq(open_fake(&d, NULL), SPMV_OK);
    hints.tuning = &table;
    hints.choice = c;
    wishes = &hints;
    for (i = 0; i < LENGTH(t); i++) {
        timed = said[0] = 0;
        second_takes = t[i].second;
        no_profile = t[i].no_profile;
        cr_assert_eq(store(&m, &d, t[i].plan, SPMV_F64), SPMV_OK, "%s", said);
        cr_assert_eq(timed, t[i].timed, "%d: %d times", (int)i, timed);
        for (n = k = 0; k < c->count; k++) n += c->option[k].measured > 0;
        cr_assert_eq(n, t[i].timed ? 3 : 0, "%d: %d options were timed", (int)i, n);
        spmv_plan_of(&m, kept, sizeof kept);
        if (i == 0) spmv_option_print(c, 0, first, sizeof first);
        if (i == 0) spmv_option_print(c, 2, third, sizeof third);
        spmv_option_print(c, 0, own, sizeof own);
        cr_assert_str_eq(kept, own);
        if (i == 0) built = builds;
        if (i == 1) cr_assert_eq(builds, built, "an option was prepared that cannot be timed");
        if (i < 4) cr_assert_str_eq(kept, i == 2 ? third : first, "%d", (int)i);
        if (n) cr_assert_float_eq(c->option[0].measured, t[i].second < 0.25 ? t[i].second / 3 : 0.25 / 3, 1e-9); /* of three in a row */
        cr_assert_eq(spmv_mul(&m, 1, x, 0, y), SPMV_OK);
        cr_assert_eq(spmv_update(&m, val), SPMV_OK);
        spmv_destroy(&m);
    }
    for (n = 0, k = 1; k; n++) {
        timed = 0;
        fails_left = n;
        if (store(&m, &d, "measure", SPMV_F64) == SPMV_OK) {
            k = fails_left < 0;
            fails_left = -1;
            cr_assert_eq(spmv_mul(&m, 1, x, 0, y), SPMV_OK, "call %d", n);
        }
        spmv_destroy(&m);
    }
    cr_assert_gt(n, 100);
    spmv_tuning_destroy(&table);
    spmv_device_destroy(&d);
    free(c);
}

/* Everything from opening a device to a timed product. */
static spmv_status everything(const char *plan)
{
    spmv_device d;
    spmv_matrix m;
    double took;
    spmv_status s;
    said[0] = 0;
    s = open_fake(&d, NULL);
    memset(&m, 0, sizeof m);
    if (!s) s = store(&m, &d, plan, SPMV_F64);
    if (!s) s = spmv_exec_timing(m.exec, 1);
    if (!s) s = spmv_mul(&m, 1, x, 2, y);
    if (!s) s = spmv_update(&m, val);
    if (!s) s = spmv_exec_seconds(m.exec, &took);
    if (!s) spare();
    spmv_destroy(&m);
    spmv_device_destroy(&d);
    return s;
}

Test(device, every_call_may_fail)
{
    size_t i;
    int n, failed = 0;
    for (i = 0; i < LENGTH(plans); i++)
        for (n = 0; ; n++, failed++) {
            spmv_status s;
            fails_left = n;
            s = everything(plans[i]);
            cr_assert_null(alive, "%s: call %d failed, something was left", plans[i], n);
            if (fails_left >= 0) { /* there are no more calls */
                cr_assert_eq(s, SPMV_OK, "%s: %s", plans[i], said);
                break;
            }
            cr_assert(s || strstr(said, "so that there may be memory"), "%s: call %d failed, and nobody said so", plans[i], n);
        }
    cr_assert_gt(failed, 20 * (int)LENGTH(plans)); /* each has to open, to build and to set six arguments or more */
}

/* ---- conversion on the device: tests/test_convert.c compares the arrays ------------------------------------------------------ */

/* 1 if the buffers of a matrix hold what the host fills for the same plan. */
static int filled_by_host(const spmv_matrix *m, spmv_device *d, const char *plan)
{
    const int was = fixed;
    spmv_matrix other;
    size_t i, k;
    int same = 1;
    fixed = 0;
    cr_assert_eq(store(&other, d, plan, SPMV_F64), SPMV_OK, "%s", said);
    fixed = was;
    for (i = 0; i < m->on_device->count; i++)
        for (k = 0; k < SPMV_MAX_ARRAYS; k++) {
            const thing *a = (const thing *)m->on_device->part[i].a[k], *b = (const thing *)other.on_device->part[i].a[k];
            const spmv_array *array = &other.store.part[i].a[k];
            if (a && b) same &= !memcmp(a->data, b->data, (size_t)(array->count * array->width));
            else same &= !a && !b;
        }
    spmv_destroy(&other);
    return same;
}

/* Opens a device, converts on it, and updates the values if there are updates. If a call of the conversion, or of checking columns there,
 * fails, the host does it instead and says so; *fell_back counts how often. All other calls are needed. Returns 0 if no call failed. */
static int convert_with_fault(const char *plan, int n, int *fell_back)
{
    spmv_device d;
    spmv_matrix m;
    spmv_status s;
    memset(&m, 0, sizeof m);
    fails_left = n;
    said[0] = 0;
    s = open_fake(&d, NULL);
    if (!s) s = store(&m, &d, plan, SPMV_F64);
    if (!s && fails_left < 0) {
        const int checked = strstr(said, "the host checks them") != NULL;
        const int again = strstr(said, "so that there may be memory") != NULL || strstr(said, "instead of being kept") != NULL;
        cr_assert(checked || again || strstr(said, "the host converts instead"), "%s: call %d failed: %s", plan, n, said);
        if (!checked && !again && !strchr(plan, '+')) cr_assert(filled_by_host(&m, &d, plan), "%s: call %d", plan, n);
        ++*fell_back;
    }
    if (!s && (fixed == 2 || fixed == 3)) {
        int before = fails_left;
        s = fixed == 3 ? spmv_update_buffer(&m, on_device[2]) : spmv_update(&m, val);
        if (before >= 0 && fails_left < 0)
            cr_assert(s || strstr(said, "instead of being kept"), "%s: call %d failed, and nobody said so", plan, n);
    }
    if (!s) spare();
    spmv_destroy(&m);
    free_buffers(&d);
    spmv_device_destroy(&d);
    cr_assert_null(alive, "%s: call %d failed, something was left", plan, n);
    if (fails_left >= 0) cr_assert_eq(s, SPMV_OK, "%s: %s", plan, said);
    return fails_left < 0;
}

Test(device, every_call_of_a_conversion_may_fail)
{
    size_t i;
    int n, failed = 0, fell_back = 0;
    for (fixed = 1; fixed <= 4; fixed++)
        for (i = 0; i < LENGTH(plans); i++)
            for (n = 0; convert_with_fault(plans[i], n, &fell_back); n++) failed++;
    cr_assert_gt(fell_back, 40 * (int)LENGTH(plans)); /* buffers, copies, and the arguments of the kernel */
    cr_assert_gt(failed, fell_back);
}

/* A device without room for the CSR matrix beside its parts. */
Test(device, conversion_needs_room)
{
    spmv_device d;
    spmv_matrix m;
    cr_assert_eq(open_fake(&d, "large"), SPMV_OK);
    fixed = 1;
    cr_assert_eq(store(&m, &d, "ell", SPMV_F64), SPMV_OK, "%s", said);
    spmv_destroy(&m);
    said[0] = 0;
    d.info.alloc_bytes = 600; /* parts are cut, and the host fills them */
    cr_assert_eq(store(&m, &d, "csr:run=64", SPMV_F64), SPMV_OK, "%s", said);
    cr_assert_gt(m.on_device->count, 1);
    cr_assert_str_eq(said, "");
    spmv_destroy(&m);
    spmv_device_destroy(&d);
}

/* ---- groups: the calls of a product on several devices; tests/test_group.c has the results --------------------------------- */

/* Everything from opening two devices to an update, with the host between them. *fault, if it is not NULL, becomes what a product with
 * vectors on the devices returns. */
static spmv_status everything_of_a_group(int n, spmv_status *fault)
{
    static double back[ROWS];
    spmv_device d[2];
    spmv_device *on[3];
    spmv_group_desc desc = { 0 };
    spmv_group g;
    spmv_group_vector u, v;
    spmv_status s, t;
    memset(&g, 0, sizeof g);
    memset(&u, 0, sizeof u);
    memset(&v, 0, sizeof v);
    memset(d, 0, sizeof d);
    on[0] = &d[0];
    on[1] = NULL;
    on[2] = &d[1];
    fails_left = n;
    s = open_fake(&d[0], "large");
    t = open_fake(&d[1], "large");
    if (!s) s = t;
    desc.device = on;
    desc.count = 3;
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
    if (!s) s = spmv_group_create(&g, &desc);
    if (!s) s = spmv_group_mul(&g, 1, x, 2, y);
    if (!s) s = spmv_group_vector_create(&u, &g, SPMV_GROUP_X);
    if (!s) s = spmv_group_vector_create(&v, &g, SPMV_GROUP_Y);
    if (!s) s = spmv_group_vector_write(&u, x);
    if (!s) {
        s = spmv_group_mul_vectors(&g, 1, &u, 0, &v);
        if (s && fault) {
            *fault = s;
            cr_assert_eq(spmv_group_mul_vectors(&g, 1, &u, 0, &v), SPMV_OK, "after a fault: %s", said);
        }
    }
    if (!s) s = spmv_group_mul_vectors(&g, 1, &u, 1, &v);
    if (!s) s = spmv_group_wait(&g);
    if (!s) s = spmv_group_vector_read(&v, back);
    if (!s) s = spmv_group_update(&g, val);
    if (fails_left >= 0) fails_left = INT_MAX; /* freeing waits for the devices, too, but has nobody to tell */
    spmv_group_vector_destroy(&u);
    spmv_group_vector_destroy(&v);
    spmv_group_destroy(&g);
    spmv_device_destroy(&d[0]);
    spmv_device_destroy(&d[1]);
    return s;
}

Test(device, every_call_of_a_group_may_fail)
{
    spmv_status s, fault = SPMV_OK;
    int n, failed = 0;
    for (transfers = 1; transfers <= 2; transfers++)
        for (n = 0; ; n++, failed++) {
            s = everything_of_a_group(n, &fault);
            cr_assert_null(alive, "call %d failed, something was left", n);
            cr_assert_eq(bad, 0, "call %d failed: a bad call", n);
            if (fails_left >= 0) {
                cr_assert_eq(s, SPMV_OK, "%s", said);
                break;
            }
            cr_assert_neq(s, SPMV_OK, "call %d failed, and nobody said so", n);
        }
    cr_assert_eq(fault, SPMV_ERR_MEMORY); /* products were among the calls, and the group worked afterwards */
    cr_assert_gt(failed, 200);
}

/* Three chunks of pinned memory, of which there are two. If pinning fails, the back end copies. */
Test(device, every_call_of_a_download_may_fail)
{
    const uint64_t bytes = 2 * SPMV__STAGE_CHUNK + 12345;
    unsigned char *from = (unsigned char *)malloc((size_t)bytes), *to = (unsigned char *)malloc((size_t)bytes);
    int n, good = 0, called = 1;
    uint64_t i;
    for (i = 0; i < bytes; i++) from[i] = (unsigned char)(i * 7 + i / 4099);
    transfers = 1;
    for (n = 0; called; n++) {
        spmv_device d;
        void *buffer;
        spmv_status s;
        cr_assert_eq(open_fake(&d, NULL), SPMV_OK);
        cr_assert_eq(spmv_buffer_create(&d, bytes, &buffer), SPMV_OK);
        cr_assert_eq(spmv_buffer_write(&d, buffer, bytes, from), SPMV_OK);
        memset(to, 0, (size_t)bytes);
        d.common->stage.copied = SPMV__STAGE_PAYS;
        fails_left = n;
        s = spmv__dev_download(&d, buffer, bytes, to);
        called = fails_left < 0;
        fails_left = -1;
        good += !s;
        if (s) cr_assert_eq(spmv__dev_download(&d, buffer, bytes, to), SPMV_OK, "%s", said);
        cr_assert_eq(memcmp(from, to, (size_t)bytes), 0, "call %d", n);
        spmv_buffer_destroy(&d, buffer);
        spmv_device_destroy(&d);
        cr_assert_null(alive, "call %d failed, something was left", n);
        cr_assert_eq(bad, 0, "call %d failed: a bad call", n);
    }
    cr_assert_eq(good, 5); /* two chunks and two points were not made; and no call failed */
    cr_assert_gt(n, 12);
    free(from);
    free(to);
}

/* Copies go through the driver until as many bytes were copied, or are to be copied at once, as pay for pinning memory. */
Test(device, memory_is_pinned_when_that_pays)
{
    const uint64_t bytes = SPMV__STAGE_PAYS / 2, whole = SPMV__STAGE_PAYS;
    unsigned char *host = (unsigned char *)calloc(1, (size_t)whole);
    spmv_device d;
    void *buffer;
    int i;
    transfers = 1;
    for (i = 0; i < 2; i++) {
        cr_assert_eq(open_fake(&d, NULL), SPMV_OK);
        cr_assert_eq(spmv_buffer_create(&d, whole, &buffer), SPMV_OK);
        if (i) cr_assert_eq(spmv__dev_copy(&d, buffer, whole, host), SPMV_OK);
        else {
            cr_assert_eq(spmv__dev_copy(&d, buffer, bytes, host), SPMV_OK);
            cr_assert(!d.common->stage.at[0] && d.common->stage.copied == bytes);
            cr_assert_eq(spmv__dev_download(&d, buffer, bytes - 1, host), SPMV_OK);
            cr_assert(!d.common->stage.at[0] && d.common->stage.copied == whole - 1);
            cr_assert_eq(spmv__dev_copy(&d, buffer, bytes, host), SPMV_OK);
        }
        cr_assert_not_null(d.common->stage.at[0]);
        cr_assert_eq(d.common->stage.copied, i ? 0 : whole - 1);
        spmv_buffer_destroy(&d, buffer);
        spmv_device_destroy(&d);
        cr_assert_null(alive);
    }
    free(host);
}

Test(device, groups_need_transfers_and_queues_in_order)
{
    spmv_device d;
    spmv_device *on[1];
    spmv_group_desc desc = { 0 };
    spmv_group g;
    on[0] = &d;
    desc.device = on;
    desc.count = 1;
    desc.desc.hooks.log = hear;
    transfers = 0;
    cr_assert_eq(open_fake(&d, "large"), SPMV_OK);
    cr_assert_eq(spmv_group_create(&g, &desc), SPMV_ERR_UNSUPPORTED);
    cr_assert_str_eq(said, "spmv_group_create: device 0: fake has no transfers");
    spmv_device_destroy(&d);
    transfers = 1;
    cr_assert_eq(open_fake(&d, "small"), SPMV_OK);
    cr_assert_eq(spmv_group_create(&g, &desc), SPMV_ERR_UNSUPPORTED);
    cr_assert_str_eq(said, "spmv_group_create: the queue of device 0 (Fake small) is out of order");
    spmv_device_destroy(&d);
    cr_assert_eq(spmv_group_create(&g, &desc), SPMV_ERR_ARGUMENT);
    cr_assert_str_eq(said, "spmv_group_create: device 0 is not open");
}
