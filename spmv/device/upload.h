/* SPDX-License-Identifier: MIT
 *
 * spmv/device/upload.h - arrays of parts and vectors in device memory.
 */
#ifndef SPMV__DEVICE_UPLOAD_H
#define SPMV__DEVICE_UPLOAD_H

#include "cache.h"

/* ---- upload ------------------------------------------------------------------------------------------------------ */

static int spmv__scratch_empty(const spmv_device *device);

/* Creates a buffer with a copy of the bytes at from (NULL: uninitialised). 0 bytes give a buffer of 16, as none can be empty. Where that
 * fails, it is tried again without what the device keeps for the next matrix. */
static spmv_status spmv__dev_new_filled(const spmv_device *device, uint64_t bytes, int read_only, const void *from, void **out)
{
    spmv_status s;
    if (bytes > device->info.alloc_bytes || bytes > (uint64_t)(size_t)-1)
        return spmv_log(&device->hooks, SPMV_ERR_LIMIT, "a buffer of %llu bytes exceeds the device's limit of %llu", (spmv__ull)bytes,
                        (spmv__ull)device->info.alloc_bytes);
    if (!bytes) bytes = 16;
    s = device->info.backend->buffer(device, bytes, read_only, from, out);
    if (s != SPMV_ERR_MEMORY || !spmv__scratch_empty(device)) return s;
    spmv_log(&device->hooks, SPMV_OK, "what was kept for the next matrix is freed, so that there may be memory");
    return device->info.backend->buffer(device, bytes, read_only, from, out);
}

static spmv_status spmv__dev_new_buffer(const spmv_device *device, uint64_t bytes, int read_only, void **out)
{
    return spmv__dev_new_filled(device, bytes, read_only, NULL, out);
}

static void spmv__dev_buffer_free(const spmv_device *device, void *buffer)
{
    if (buffer && spmv__dev_is_here(device)) device->info.backend->buffer_free(device, buffer);
}

static void spmv__dev_kernel_free(const spmv_device *device, void *kernel)
{
    if (kernel && spmv__dev_is_here(device)) device->info.backend->kernel_free(device, kernel);
}

/* Takes the smallest kept buffer of at least so many bytes and at most others that no product may still use; NULL: there is none. */
static void *spmv__scratch_find(const spmv_device *device, uint64_t bytes, uint64_t most)
{
    spmv__scratch *scratch = &device->common->scratch;
    void *found = NULL;
    int i, best = -1;
    spmv__lock(&device->common->lock);
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++) {
        if (!scratch->buffer[i].at || scratch->buffer[i].running) continue;
        if (scratch->buffer[i].bytes < bytes || scratch->buffer[i].bytes > most) continue;
        if (best < 0 || scratch->buffer[i].bytes < scratch->buffer[best].bytes) best = i;
    }
    if (best >= 0) {
        found = scratch->buffer[best].at;
        scratch->buffer[best].at = NULL;
    }
    spmv__unlock(&device->common->lock);
    return found;
}

/* The place of the buffer that was given back longest ago, of those that are kept; -1: there is none. */
static int spmv__scratch_oldest(const spmv__scratch *scratch)
{
    int i, oldest = -1;
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++) {
        if (!scratch->buffer[i].at) continue;
        if (oldest < 0 || scratch->buffer[i].given < scratch->buffer[oldest].given) oldest = i;
    }
    return oldest;
}

/* Frees the buffers that are kept. 1: there were some. */
static int spmv__scratch_empty(const spmv_device *device)
{
    spmv__scratch *scratch = &device->common->scratch;
    void *gone[SPMV__SCRATCH_BUFFERS];
    int i;
    spmv__lock(&device->common->lock);
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++) {
        gone[i] = scratch->buffer[i].at;
        scratch->buffer[i].at = NULL;
    }
    spmv__unlock(&device->common->lock);
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++) spmv__dev_buffer_free(device, gone[i]);
    for (i = 0; i < SPMV__SCRATCH_BUFFERS && !gone[i];) i++;
    return i < SPMV__SCRATCH_BUFFERS;
}

/* Waits, if there are buffers that products in the device's queue may still use, so that they serve the next matrix. */
SPMV__SHARED spmv_status spmv__scratch_settle(const spmv_device *device)
{
    spmv__scratch *scratch = &device->common->scratch;
    uint64_t last;
    int i, any = 0;
    spmv_status s;
    spmv__lock(&device->common->lock);
    last = scratch->given;
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++) any |= scratch->buffer[i].at && scratch->buffer[i].running;
    spmv__unlock(&device->common->lock);
    if (!any) return SPMV_OK;
    s = device->info.backend->finish(device, device->queue);
    if (s) return s;
    spmv__lock(&device->common->lock);
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++)
        if (scratch->buffer[i].given <= last) scratch->buffer[i].running = 0;
    spmv__unlock(&device->common->lock);
    return s;
}

/* Makes a buffer of at least so many bytes and, if it is one that was kept, at most others. */
static spmv_status spmv__scratch_take_most(spmv_device *device, uint64_t bytes, uint64_t most, void **out)
{
    *out = spmv__scratch_find(device, bytes, most);
    return *out ? SPMV_OK : spmv__dev_new_buffer(device, bytes, 0, out);
}

/* Makes a buffer of at least so many bytes, with any contents, to be given back by spmv__scratch_give. */
SPMV__SHARED spmv_status spmv__scratch_take(spmv_device *device, uint64_t bytes, void **out)
{
    const uint64_t least = SPMV__SCRATCH_LEAST;
    return spmv__scratch_take_most(device, bytes, spmv__sat_mul(bytes > least ? bytes : least, SPMV__SCRATCH_TIMES), out);
}

/* The same for a buffer that a part may keep, which is not to be much larger than it must be. */
SPMV__SHARED spmv_status spmv__scratch_take_close(spmv_device *device, uint64_t bytes, void **out)
{
    return spmv__scratch_take_most(device, bytes, bytes + bytes / SPMV__SCRATCH_CLOSE + SPMV__SCRATCH_LEAST, out);
}

/* Keeps a buffer, or frees one that is more than may be kept. Too many buffers or bytes are freed then, those first that were given back
 * first. running: 1: products in the device's queue may still use it. */
static void spmv__scratch_keep(const spmv_device *device, void *buffer, int running)
{
    const uint64_t part = device->info.global_bytes / SPMV__SCRATCH_PART, most = part > SPMV__SCRATCH_BYTES ? part : SPMV__SCRATCH_BYTES;
    spmv__scratch *scratch = &device->common->scratch;
    void *gone[SPMV__SCRATCH_BUFFERS];
    uint64_t bytes, kept = 0;
    int i, place = -1, n = 0;
    if (!spmv__dev_is_here(device)) return; /* nor may the lock ever be free */
    if (device->info.backend->buffer_bytes(device, buffer, &bytes)) {
        spmv_log(&device->hooks, SPMV_OK, "a buffer is freed instead of being kept for the next matrix");
        bytes = UINT64_MAX;
    }
    if (bytes > most) {
        spmv__dev_buffer_free(device, buffer);
        return;
    }
    spmv__lock(&device->common->lock);
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++) {
        if (scratch->buffer[i].at) kept += scratch->buffer[i].bytes;
        else place = i;
    }
    while (place < 0 || kept + bytes > most) {
        place = spmv__scratch_oldest(scratch);
        kept -= scratch->buffer[place].bytes;
        gone[n++] = scratch->buffer[place].at;
        scratch->buffer[place].at = NULL;
    }
    scratch->buffer[place].at = buffer;
    scratch->buffer[place].bytes = bytes;
    scratch->buffer[place].running = running;
    scratch->buffer[place].given = ++scratch->given;
    spmv__unlock(&device->common->lock);
    while (n--) spmv__dev_buffer_free(device, gone[n]);
}

/* Gives back a buffer of spmv__scratch_take, or NULL. */
SPMV__SHARED void spmv__scratch_give(const spmv_device *device, void *buffer)
{
    if (buffer) spmv__scratch_keep(device, buffer, 0);
}

/* 1: the device has memory of its own. */
static int spmv__dev_has_memory(const spmv_device *device) { return device->info.type != SPMV_DEVICE_CPU && !device->info.unified; }

/* 1: what a matrix leaves is kept: where allocations are known to take long, in the memory of GPUs by CUDA, whose buffers are addresses. */
static int spmv__dev_keeps(const spmv_device *device) { return spmv__dev_has_memory(device) && device->info.backend->within; }

/* Makes a buffer for what a matrix or an exec owns until it gives that to spmv__dev_left, with any contents. read_only: of a new one. */
SPMV__SHARED spmv_status spmv__dev_own(spmv_device *device, uint64_t bytes, int read_only, void **out)
{
    return spmv__dev_keeps(device) ? spmv__scratch_take_close(device, bytes, out) : spmv__dev_new_buffer(device, bytes, read_only, out);
}

/* Takes a buffer, or NULL, that a matrix or an exec leaves when it is destroyed. ordered: 1: nothing but the device's queue has used it, so
 * that it may serve the next matrix. */
static void spmv__dev_left(const spmv_device *device, void *buffer, int ordered)
{
    if (!buffer) return;
    if (ordered && spmv__dev_keeps(device)) spmv__scratch_keep(device, buffer, 1);
    else spmv__dev_buffer_free(device, buffer);
}

static void spmv__scratch_free(spmv_device *device)
{
    int i;
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++) spmv__dev_buffer_free(device, device->common->scratch.buffer[i].at);
    spmv__dev_buffer_free(device, device->common->none);
}

static void spmv__stage_free(spmv_device *device)
{
    const spmv_transfer *transfer = device->info.backend ? device->info.backend->transfer : NULL;
    spmv__stage *stage = &device->common->stage;
    int i;
    if (!spmv__dev_is_here(device)) return;
    if (stage->busy) device->info.backend->finish(device, device->queue);
    for (i = 0; i < SPMV__STAGE_MOST; i++) {
        if (stage->point[i]) transfer->point_free(device, stage->point[i]);
        if (stage->at[i]) transfer->unpin(device, stage->at[i], stage->handle[i]);
    }
    memset(stage, 0, sizeof *stage);
}

/* Makes a chunk, unless it is there. Without a message, since a driver copies without it as well. After the first failure there is no
 * pinned memory any more. */
static spmv_status spmv__stage_make(spmv_device *device, unsigned chunk)
{
    const spmv_transfer *transfer = device->info.backend->transfer;
    spmv__stage *stage = &device->common->stage;
    spmv_device quiet = spmv__dev_quiet(device);
    spmv_status s = SPMV_OK;
    if (!stage->at[chunk]) s = transfer->pin(&quiet, SPMV__STAGE_CHUNK, &stage->at[chunk], &stage->handle[chunk]);
    if (!s && !stage->point[chunk]) s = transfer->point(&quiet, &stage->point[chunk]);
    if (!s) return s;
    spmv__stage_free(device);
    stage->none = 1;
    return s;
}

/* 1 if copies of so many bytes to the device or from it may go through pinned memory. */
static int spmv__stage_may(const spmv_device *device, uint64_t bytes)
{
    const int own = spmv__dev_has_memory(device) || SPMV__STAGE_ANYWHERE;
    const spmv__stage *stage = &device->common->stage;
    return own && !stage->none && device->info.backend->transfer && (stage->at[0] || stage->copied + bytes >= SPMV__STAGE_PAYS);
}

/* Makes chunks, as many as so many bytes need, if they may go through them. Returns whether they may. */
static int spmv__stage_ready(spmv_device *device, uint64_t bytes)
{
    unsigned i;
    for (i = 0; i < SPMV__STAGE_CHUNKS && (uint64_t)i * SPMV__STAGE_CHUNK < bytes && spmv__stage_may(device, bytes); i++)
        spmv__stage_make(device, i);
    return spmv__stage_may(device, bytes);
}

/* Finds a place for up to want bytes: *at, and how many bytes are free there; 0 if there is no pinned memory. *s: the status of waiting
 * until the place may be written to.
 *   pin  0: if there is none yet, none is made */
static uint64_t spmv__stage_place(spmv_device *device, uint64_t want, int pin, unsigned char **at, spmv_status *s)
{
    enum { ALIGNED = 64 /* bytes: copies of memory and of the bus are in such lines */ };
    spmv__stage *stage = &device->common->stage;
    if (!spmv__stage_may(device, want) || (!stage->at[0] && want < SPMV__STAGE_LEAST)) return 0;
    if (stage->used == SPMV__STAGE_CHUNK) {
        stage->now = (stage->now + 1) % SPMV__STAGE_CHUNKS;
        stage->used = 0;
    }
    if (!pin && !stage->point[stage->now]) return 0;
    if (spmv__stage_make(device, stage->now)) return 0;
    if (!stage->used) *s = device->info.backend->transfer->wait(device, stage->point[stage->now]);
    *at = (unsigned char *)stage->at[stage->now] + stage->used;
    want = spmv__smaller(want, SPMV__STAGE_CHUNK - stage->used);
    stage->used = spmv__smaller(spmv__round_up(stage->used + want, ALIGNED), SPMV__STAGE_CHUNK);
    return want;
}

/* A copy in host memory, in shares. */
typedef struct spmv__stage_copy {
    unsigned char       *to;
    const unsigned char *from;
    uint64_t             bytes, shares;
} spmv__stage_copy;

static void spmv__stage_copy_share(void *job, uint64_t share)
{
    const spmv__stage_copy *copy = (const spmv__stage_copy *)job;
    const uint64_t begin = copy->bytes * share / copy->shares, end = copy->bytes * (share + 1) / copy->shares;
    memcpy(copy->to + begin, copy->from + begin, (size_t)(end - begin));
}

/* Copies up to want bytes through a chunk to a buffer, from its byte at on. *count: how many; 0 if there is no pinned memory.
 *   alone  1: the calling thread copies alone and pins nothing */
static spmv_status spmv__stage_put(spmv_device *device, void *buffer, uint64_t at, uint64_t want, const unsigned char *from, int alone,
                                   uint64_t *count)
{
    const spmv_transfer *transfer = device->info.backend->transfer;
    spmv__stage *stage = &device->common->stage;
    spmv__stage_copy copy;
    spmv_status s = SPMV_OK;
    copy.from = from;
    *count = copy.bytes = spmv__stage_place(device, want, !alone, &copy.to, &s);
    if (s || !copy.bytes) return s;
    copy.shares = alone ? 1 : spmv__ceil_div(copy.bytes, SPMV__STAGE_SHARE);
    spmv__share_out(spmv__stage_copy_share, &copy, copy.shares);
    stage->busy = 1;
    s = transfer->put(device, device->queue, buffer, at, copy.bytes, copy.to);
    return s ? s : transfer->set(device, device->queue, stage->point[stage->now]);
}

/* Copies the bytes from *at to the end to a buffer; those before are there or on their way. *at becomes how many are. The bytes at from may
 * change as soon as the call returns, but work in other queues than the device's may not start before spmv__dev_settle. After a failure, no
 * earlier copy reads the pinned memory any more: the next matrix overwrites it, and kernels of this one that are still in the queue would
 * use what it wrote there as indices.
 *   stop  NULL, or what another thread sets to end the copy early: then the calling thread copies alone, in small steps */
static spmv_status spmv__dev_copy_rest(spmv_device *device, void *buffer, uint64_t *at, uint64_t bytes, const void *from, const long *stop)
{
    const spmv_backend *back = device->info.backend;
    uint64_t count;
    spmv_status s = SPMV_OK;
    for (; *at < bytes && !(stop && spmv__is_set(stop)); *at += count) {
        const uint64_t left = bytes - *at, want = stop ? spmv__smaller(left, SPMV__STAGE_SHARE) : left;
        spmv__lock(&device->common->copying);
        s = spmv__stage_put(device, buffer, *at, want, (const unsigned char *)from + *at, stop != NULL, &count);
        if (!s && !count) device->common->stage.copied += left;
        if (s) back->finish(device, device->queue);
        spmv__unlock(&device->common->copying);
        if (s) break;
        if (count) continue;
        s = back->write(device, device->queue, buffer, bytes, from);
        count = left;
        if (s) back->finish(device, device->queue);
        if (s) break;
    }
    return s;
}

/* Copies to the beginning of a buffer, as spmv__dev_copy_rest does. */
static spmv_status spmv__dev_copy(spmv_device *device, void *buffer, uint64_t bytes, const void *from)
{
    uint64_t at = 0;
    return spmv__dev_copy_rest(device, buffer, &at, bytes, from, NULL);
}

/* Waits until no copy uses chunks. */
static spmv_status spmv__stage_settle(spmv_device *device)
{
    if (!device->common->stage.busy) return SPMV_OK;
    device->common->stage.busy = 0;
    return device->info.backend->finish(device, device->queue);
}

/* Waits for the copies of spmv__dev_copy, or until another thread has waited for them. */
static spmv_status spmv__dev_settle(spmv_device *device)
{
    spmv_status s;
    spmv__lock(&device->common->copying);
    s = spmv__stage_settle(device);
    spmv__unlock(&device->common->copying);
    return s;
}

/* Asks for the bytes of a buffer from asked on, as far as there are chunks for them behind the first done bytes, and returns how many were
 * asked for in all. */
static uint64_t spmv__stage_ask(spmv_device *device, void *buffer, uint64_t done, uint64_t asked, uint64_t bytes, spmv_status *s)
{
    const spmv_transfer *transfer = device->info.backend->transfer;
    const spmv__stage *stage = &device->common->stage;
    while (!*s && asked < bytes && asked < done + (uint64_t)SPMV__STAGE_CHUNKS * SPMV__STAGE_CHUNK) {
        const uint64_t chunk = asked / SPMV__STAGE_CHUNK % SPMV__STAGE_CHUNKS, count = spmv__smaller(SPMV__STAGE_CHUNK, bytes - asked);
        *s = transfer->get(device, device->queue, buffer, asked, count, stage->at[chunk]);
        if (!*s) *s = transfer->set(device, device->queue, stage->point[chunk]);
        asked += count;
    }
    return asked;
}

/* Copies from the beginning of a buffer through pinned memory, which is there: while a chunk is emptied in threads, the next is on its
 * way. */
static spmv_status spmv__stage_get(spmv_device *device, void *buffer, uint64_t bytes, unsigned char *to)
{
    const spmv_backend *back = device->info.backend;
    spmv__stage *stage = &device->common->stage;
    uint64_t asked = 0, done = 0;
    spmv__stage_copy copy;
    spmv_status s = spmv__stage_settle(device);
    stage->used = stage->now = 0;
    while (!s && done < bytes) {
        const uint64_t chunk = done / SPMV__STAGE_CHUNK % SPMV__STAGE_CHUNKS;
        asked = spmv__stage_ask(device, buffer, done, asked, bytes, &s);
        if (!s) s = back->transfer->wait(device, stage->point[chunk]);
        if (s) break;
        copy.from = (const unsigned char *)stage->at[chunk];
        copy.to = to + done;
        copy.bytes = spmv__smaller(SPMV__STAGE_CHUNK, bytes - done);
        copy.shares = spmv__ceil_div(copy.bytes, SPMV__STAGE_SHARE);
        spmv__share_out(spmv__stage_copy_share, &copy, copy.shares);
        done += copy.bytes;
    }
    if (s) back->finish(device, device->queue);
    return s;
}

/* Copies from the beginning of a buffer, through pinned memory where that pays: pinning the first chunk takes longer than a driver takes to
 * copy as many bytes. Returns when all is there. */
SPMV__SHARED spmv_status spmv__dev_download(spmv_device *device, void *buffer, uint64_t bytes, void *to)
{
    spmv__stage *stage = &device->common->stage;
    spmv_status s = SPMV_OK;
    int staged;
    spmv__lock(&device->common->copying);
    staged = bytes >= (stage->at[0] ? SPMV__STAGE_LEAST : SPMV__STAGE_CHUNK) && spmv__stage_ready(device, bytes);
    if (staged) s = spmv__stage_get(device, buffer, bytes, (unsigned char *)to);
    else stage->copied += bytes;
    spmv__unlock(&device->common->copying);
    return staged ? s : device->info.backend->read(device, device->queue, buffer, bytes, to, NULL);
}

/* Copies count elements from the beginning of a buffer to a new block; *out is NULL if there are none, and on failure. */
SPMV__SHARED spmv_status spmv__dev_fetch(spmv_device *device, const spmv_hooks *hooks, void *buffer, uint64_t count, uint64_t width,
                                         void **out)
{
    spmv_status s = SPMV_OK;
    *out = NULL;
    if (!count) return s;
    s = spmv__room(hooks, out, count, width);
    if (!s) s = spmv__dev_download(device, buffer, count * width, *out);
    if (s) spmv_free(hooks, *out);
    if (s) *out = NULL;
    return s;
}

static spmv_status spmv__dev_upload(spmv_device *device, const spmv_array *array, void **out)
{
    spmv_status s;
    if (!array->count) return SPMV_OK;
    s = spmv__dev_own(device, array->count * array->width, 1, out);
    if (!s) s = spmv__dev_copy(device, *out, array->count * array->width, array->data);
    return s;
}

/* ---- vectors in device memory ------------------------------------------------------------------------------------ */

/* Checks that elements of width bytes may lie in a buffer of the caller's: a GPU ends the context where an address is misaligned. */
static spmv_status spmv__dev_aligned(const spmv_device *device, const spmv_hooks *hooks, const char *what, void *buffer, uint64_t width)
{
    if (!device->info.backend->within || (uintptr_t)buffer % width == 0) return SPMV_OK;
    return spmv_log(hooks, SPMV_ERR_ARGUMENT, "%s: its address is not a multiple of %llu", what, (spmv__ull)width);
}

/* Checks that a buffer of the caller's holds count elements of width bytes; where and what name the argument in the message. */
static spmv_status spmv__dev_holds(const spmv_device *device, const spmv_hooks *hooks, const char *where, const char *what, void *buffer,
                                   uint64_t count, uint64_t width)
{
    const uint64_t need = spmv__sat_mul(count, width);
    uint64_t bytes = 0;
    spmv_status s;
    if (!count) return SPMV_OK;
    if (!buffer) return spmv_log(hooks, SPMV_ERR_ARGUMENT, "%s: %s is NULL", where, what);
    s = spmv__dev_aligned(device, hooks, what, buffer, width);
    if (!s) s = device->info.backend->buffer_bytes(device, buffer, &bytes);
    if (s || bytes >= need) return s;
    return spmv_log(hooks, SPMV_ERR_ARGUMENT, "%s: %s needs %llu bytes, but has %llu", where, what, (spmv__ull)need, (spmv__ull)bytes);
}

/* Checks the arguments of a function on so many bytes of a buffer. other: NULL if the argument of that name is; else any. */
static spmv_status spmv__buffer_check(const spmv_device *device, const char *function, void *buffer, uint64_t bytes, const void *other,
                                      const char *name)
{
    const int wrong = !device || !buffer || (bytes && !other);
    if (wrong) return spmv__null(device ? &device->hooks : NULL, function, !device ? "device" : !buffer ? "buffer" : name, NULL, 0);
    if (!spmv__dev_is_here(device)) return spmv__dev_not_here(device, function, NULL, 0);
    return spmv__dev_holds(device, &device->hooks, function, "buffer", buffer, bytes, 1);
}

SPMV_API spmv_status spmv_buffer_create(const spmv_device *device, uint64_t bytes, void **out)
{
    spmv_status s;
    if (!device || !out) return spmv__null(device ? &device->hooks : NULL, "spmv_buffer_create", !out ? "out" : "device", out, sizeof *out);
    if (!spmv__dev_is_here(device)) return spmv__dev_not_here(device, "spmv_buffer_create", out, sizeof *out);
    *out = NULL;
    s = spmv__dev_new_buffer(device, bytes, 0, out);
    if (s) *out = NULL;
    return s;
}

SPMV_API void spmv_buffer_destroy(const spmv_device *device, void *buffer)
{
    if (device) spmv__dev_buffer_free(device, buffer);
}

SPMV_API spmv_status spmv_buffer_write(const spmv_device *device, void *buffer, uint64_t bytes, const void *from)
{
    spmv_status s = spmv__buffer_check(device, "spmv_buffer_write", buffer, bytes, from, "from");
    return s || !bytes ? s : device->info.backend->write(device, device->queue, buffer, bytes, from);
}

SPMV_API spmv_status spmv_buffer_read(const spmv_device *device, void *buffer, uint64_t bytes, void *to)
{
    spmv_status s = spmv__buffer_check(device, "spmv_buffer_read", buffer, bytes, to, "to");
    return s || !bytes ? s : device->info.backend->read(device, device->queue, buffer, bytes, to, NULL);
}

SPMV_API spmv_status spmv_buffer_fill(const spmv_device *device, void *buffer, uint64_t bytes, uint32_t word)
{
    spmv_status s = spmv__buffer_check(device, "spmv_buffer_fill", buffer, bytes, &word, "");
    if (!s && bytes % 4)
        s = spmv_log(&device->hooks, SPMV_ERR_ARGUMENT, "spmv_buffer_fill: %llu bytes are not a multiple of 4", (spmv__ull)bytes);
    return s || !bytes ? s : device->info.backend->fill(device, device->queue, buffer, bytes, word);
}

SPMV_API spmv_status spmv_device_finish(const spmv_device *device)
{
    if (!device) return spmv__null(NULL, "spmv_device_finish", "device", NULL, 0);
    if (!spmv__dev_is_here(device)) return spmv__dev_not_here(device, "spmv_device_finish", NULL, 0);
    return device->info.backend->finish(device, device->queue);
}

#endif
