/* SPDX-License-Identifier: MIT
 *
 * spmv/device/upload.h - arrays of parts and vectors in device memory.
 */
#ifndef SPMV__DEVICE_UPLOAD_H
#define SPMV__DEVICE_UPLOAD_H

#include "program.h"

/* ---- upload ------------------------------------------------------------------------------------------------------ */

static int spmv__scratch_empty(const spmv_device *d);

/* Creates a buffer with a copy of the bytes at from (NULL: uninitialised). 0 bytes give a buffer of 16, as none can be empty. Where that
 * fails, it is tried again without what the device keeps for the next matrix. */
static spmv_status spmv__dev_new_filled(const spmv_device *d, uint64_t bytes, int read_only, const void *from, void **out)
{
    spmv_status s;
    if (bytes > d->info.alloc_bytes || bytes > (uint64_t)(size_t)-1)
        return spmv_log(&d->hooks, SPMV_ERR_LIMIT, "a buffer of %llu bytes exceeds the device's limit of %llu", (spmv__ull)bytes,
                        (spmv__ull)d->info.alloc_bytes);
    if (!bytes) bytes = 16;
    s = d->info.backend->buffer(d, bytes, read_only, from, out);
    if (s != SPMV_ERR_MEMORY || !spmv__scratch_empty(d)) return s;
    spmv_log(&d->hooks, SPMV_OK, "what was kept for the next matrix is freed, so that there may be memory");
    return d->info.backend->buffer(d, bytes, read_only, from, out);
}

static spmv_status spmv__dev_new_buffer(const spmv_device *d, uint64_t bytes, int read_only, void **out)
{
    return spmv__dev_new_filled(d, bytes, read_only, NULL, out);
}

static void spmv__dev_buffer_free(const spmv_device *d, void *buffer)
{
    if (buffer && spmv__dev_is_here(d)) d->info.backend->buffer_free(d, buffer);
}

static void spmv__dev_kernel_free(const spmv_device *d, void *kernel)
{
    if (kernel && spmv__dev_is_here(d)) d->info.backend->kernel_free(d, kernel);
}

/* Takes the smallest kept buffer of at least so many bytes and at most others that no product may still use; NULL: there is none. */
static void *spmv__scratch_find(const spmv_device *d, uint64_t bytes, uint64_t most)
{
    spmv__scratch *t = &d->common->scratch;
    int i, best = -1;
    spmv__lock(&d->common->lock);
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++) {
        if (!t->buffer[i].at || t->buffer[i].used || t->buffer[i].running) continue;
        if (t->buffer[i].bytes < bytes || t->buffer[i].bytes > most) continue;
        if (best < 0 || t->buffer[i].bytes < t->buffer[best].bytes) best = i;
    }
    if (best >= 0) t->buffer[best].used = 1;
    spmv__unlock(&d->common->lock);
    return best < 0 ? NULL : t->buffer[best].at;
}

/* The place of the buffer that was given back longest ago, of those that are kept and not in use; -1: there is none. */
static int spmv__scratch_oldest(const spmv__scratch *t)
{
    int i, oldest = -1;
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++) {
        if (!t->buffer[i].at || t->buffer[i].used) continue;
        if (oldest < 0 || t->buffer[i].given < t->buffer[oldest].given) oldest = i;
    }
    return oldest;
}

/* Frees the buffers that are kept. Returns how many there were. */
static int spmv__scratch_empty(const spmv_device *d)
{
    spmv__scratch *t = &d->common->scratch;
    int oldest = 0, freed = 0;
    while (oldest >= 0) {
        void *at = NULL;
        spmv__lock(&d->common->lock);
        oldest = spmv__scratch_oldest(t);
        if (oldest >= 0) {
            at = t->buffer[oldest].at;
            t->buffer[oldest].at = NULL;
            freed++;
        }
        spmv__unlock(&d->common->lock);
        spmv__dev_buffer_free(d, at);
    }
    return freed;
}

/* Notes a buffer that is in use, in a free place or that of the oldest one that is kept, which is returned; NULL: there is none to free. If
 * all are in use, the new one will not be kept. */
static void *spmv__scratch_note(const spmv_device *d, void *buffer, uint64_t bytes)
{
    spmv__scratch *t = &d->common->scratch;
    void *old = NULL;
    int i;
    spmv__lock(&d->common->lock);
    for (i = 0; i < SPMV__SCRATCH_BUFFERS && t->buffer[i].at;) i++;
    if (i == SPMV__SCRATCH_BUFFERS) i = spmv__scratch_oldest(t);
    if (i >= 0) {
        old = t->buffer[i].at;
        t->buffer[i].at = buffer;
        t->buffer[i].bytes = bytes;
        t->buffer[i].used = 1;
        t->buffer[i].running = 0;
    }
    spmv__unlock(&d->common->lock);
    return old;
}

/* Waits, if there are buffers that products in the device's queue may still use, so that they serve the next matrix. */
SPMV__SHARED spmv_status spmv__scratch_settle(const spmv_device *d)
{
    spmv__scratch *t = &d->common->scratch;
    uint64_t last;
    int i, any = 0;
    spmv_status s;
    spmv__lock(&d->common->lock);
    last = t->given;
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++) any |= t->buffer[i].at && t->buffer[i].running;
    spmv__unlock(&d->common->lock);
    if (!any) return SPMV_OK;
    s = d->info.backend->finish(d, d->queue);
    if (s) return s;
    spmv__lock(&d->common->lock);
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++)
        if (t->buffer[i].given <= last) t->buffer[i].running = 0;
    spmv__unlock(&d->common->lock);
    return s;
}

/* Makes a buffer of at least so many bytes and, if it is one that was kept, at most others. */
static spmv_status spmv__scratch_take_most(spmv_device *d, uint64_t bytes, uint64_t most, void **out)
{
    spmv_status s;
    *out = spmv__scratch_find(d, bytes, most);
    if (*out) return SPMV_OK;
    s = spmv__dev_new_buffer(d, bytes, 0, out);
    if (!s) spmv__dev_buffer_free(d, spmv__scratch_note(d, *out, bytes));
    return s;
}

/* Makes a buffer of at least so many bytes, with any contents, to be given back by spmv__scratch_give. */
SPMV__SHARED spmv_status spmv__scratch_take(spmv_device *d, uint64_t bytes, void **out)
{
    const uint64_t least = SPMV__SCRATCH_LEAST;
    return spmv__scratch_take_most(d, bytes, spmv__sat_mul(bytes > least ? bytes : least, SPMV__SCRATCH_TIMES), out);
}

/* The same for a buffer that a part may keep, which is not to be much larger than it must be. */
SPMV__SHARED spmv_status spmv__scratch_take_close(spmv_device *d, uint64_t bytes, void **out)
{
    return spmv__scratch_take_most(d, bytes, bytes + bytes / SPMV__SCRATCH_CLOSE + SPMV__SCRATCH_LEAST, out);
}

/* Keeps a buffer that was noted. Too many bytes are freed then, those first that were given back first; a buffer that is more than may be
 * kept is freed itself. */
static void spmv__scratch_keep(const spmv_device *d, void *buffer, int running)
{
    const uint64_t part = d->info.global_bytes / SPMV__SCRATCH_PART, most = part > SPMV__SCRATCH_BYTES ? part : SPMV__SCRATCH_BYTES;
    spmv__scratch *t = &d->common->scratch;
    void *gone[SPMV__SCRATCH_BUFFERS + 1];
    uint64_t kept = 0;
    int i, place = -1, n = 0;
    if (!spmv__dev_is_here(d)) return; /* nor may the lock ever be free */
    spmv__lock(&d->common->lock);
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++) {
        if (t->buffer[i].at && !t->buffer[i].used) kept += t->buffer[i].bytes;
        if (t->buffer[i].at == buffer) place = i;
    }
    if (place < 0) gone[n++] = buffer; /* there was no place for it */
    else if (t->buffer[place].bytes > most) {
        gone[n++] = buffer;
        t->buffer[place].at = NULL;
    }
    else {
        t->buffer[place].used = 0;
        t->buffer[place].running = running;
        t->buffer[place].given = ++t->given;
        for (kept += t->buffer[place].bytes; kept > most; kept -= t->buffer[i].bytes) {
            i = spmv__scratch_oldest(t);
            gone[n++] = t->buffer[i].at;
            t->buffer[i].at = NULL;
        }
    }
    spmv__unlock(&d->common->lock);
    while (n--) spmv__dev_buffer_free(d, gone[n]);
}

/* Gives back a buffer of spmv__scratch_take, or NULL. */
SPMV__SHARED void spmv__scratch_give(const spmv_device *d, void *buffer)
{
    if (buffer) spmv__scratch_keep(d, buffer, 0);
}

/* Leaves a buffer of spmv__scratch_take to a matrix that needs it for as long as it lives: it is not kept when it is given back. */
SPMV__SHARED void spmv__scratch_leave(const spmv_device *d, void *buffer)
{
    spmv__scratch *t = &d->common->scratch;
    int i;
    if (!buffer) return;
    spmv__lock(&d->common->lock);
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++) {
        if (t->buffer[i].at != buffer) continue;
        t->buffer[i].at = NULL;
        t->buffer[i].used = 0;
    }
    spmv__unlock(&d->common->lock);
}

/* 1: the device has memory of its own. */
static int spmv__dev_has_memory(const spmv_device *d) { return d->info.type != SPMV_DEVICE_CPU && !d->info.unified; }

/* 1: what a matrix leaves is kept: where allocations are known to take long, in the memory of GPUs by CUDA, whose buffers are addresses. */
static int spmv__dev_keeps(const spmv_device *d) { return spmv__dev_has_memory(d) && d->info.backend->within; }

/* Makes a buffer for what a matrix or an exec owns until it gives that to spmv__dev_left, with any contents. read_only: of a new one. */
SPMV__SHARED spmv_status spmv__dev_own(spmv_device *d, uint64_t bytes, int read_only, void **out)
{
    spmv_status s;
    if (!spmv__dev_keeps(d)) return spmv__dev_new_buffer(d, bytes, read_only, out);
    s = spmv__scratch_take_close(d, bytes, out);
    if (!s) spmv__scratch_leave(d, *out);
    return s;
}

/* Takes a buffer, or NULL, that a matrix or an exec leaves when it is destroyed. ordered: 1: nothing but the device's queue has used it, so
 * that it may serve the next matrix. */
static void spmv__dev_left(const spmv_device *d, void *buffer, int ordered)
{
    uint64_t bytes;
    if (!buffer) return;
    if (!ordered || !spmv__dev_is_here(d) || !spmv__dev_keeps(d) || d->info.backend->buffer_bytes(d, buffer, &bytes)) {
        spmv__dev_buffer_free(d, buffer);
        return;
    }
    spmv__dev_buffer_free(d, spmv__scratch_note(d, buffer, bytes));
    spmv__scratch_keep(d, buffer, 1);
}

static void spmv__scratch_free(spmv_device *d)
{
    int i;
    for (i = 0; i < SPMV__SCRATCH_BUFFERS; i++) spmv__dev_buffer_free(d, d->common->scratch.buffer[i].at);
    spmv__dev_buffer_free(d, d->common->none);
}

/* Sets *out to the buffer that stands for arrays without elements. */
static spmv_status spmv__dev_none(spmv_device *d, void **out)
{
    spmv__common *c = d->common;
    void *made = NULL;
    spmv_status s = SPMV_OK;
    spmv__lock(&c->lock);
    *out = c->none;
    spmv__unlock(&c->lock);
    if (!*out) s = spmv__dev_new_buffer(d, 0, 0, &made);
    if (s || *out) return s;
    spmv__lock(&c->lock);
    *out = c->none ? c->none : made; /* another thread may have made one */
    c->none = *out;
    spmv__unlock(&c->lock);
    if (*out != made) spmv__dev_buffer_free(d, made);
    return s;
}

static void spmv__stage_free(spmv_device *d)
{
    const spmv_transfer *t = d->info.backend ? d->info.backend->transfer : NULL;
    spmv__stage *stage = &d->common->stage;
    int i;
    if (!spmv__dev_is_here(d)) return;
    if (stage->busy) d->info.backend->finish(d, d->queue);
    for (i = 0; i < SPMV__STAGE_MOST; i++) {
        if (stage->point[i]) t->point_free(d, stage->point[i]);
        if (stage->at[i]) t->unpin(d, stage->at[i], stage->handle[i]);
    }
    memset(stage, 0, sizeof *stage);
}

/* Makes a chunk, unless it is there. Without a message, since a driver copies without it as well. After the first failure there is no
 * pinned memory any more. */
static spmv_status spmv__stage_make(spmv_device *d, unsigned chunk)
{
    const spmv_transfer *t = d->info.backend->transfer;
    spmv__stage *stage = &d->common->stage;
    spmv_device quiet = spmv__dev_quiet(d);
    spmv_status s = SPMV_OK;
    if (!stage->at[chunk]) s = t->pin(&quiet, SPMV__STAGE_CHUNK, &stage->at[chunk], &stage->handle[chunk]);
    if (!s && !stage->point[chunk]) s = t->point(&quiet, &stage->point[chunk]);
    if (!s) return s;
    spmv__stage_free(d);
    stage->none = 1;
    return s;
}

/* 1 if copies of so many bytes to the device or from it may go through pinned memory. */
static int spmv__stage_may(const spmv_device *d, uint64_t bytes)
{
    const int own = spmv__dev_has_memory(d) || SPMV__STAGE_ANYWHERE;
    const spmv__stage *stage = &d->common->stage;
    return own && !stage->none && d->info.backend->transfer && (stage->at[0] || stage->copied + bytes >= SPMV__STAGE_PAYS);
}

/* Makes chunks, as many as so many bytes need, if they may go through them. Returns whether they may. */
static int spmv__stage_ready(spmv_device *d, uint64_t bytes)
{
    unsigned i;
    for (i = 0; i < SPMV__STAGE_CHUNKS && (uint64_t)i * SPMV__STAGE_CHUNK < bytes && spmv__stage_may(d, bytes); i++) spmv__stage_make(d, i);
    return spmv__stage_may(d, bytes);
}

/* Finds a place for up to want bytes: *at, and how many bytes are free there; 0 if there is no pinned memory. *s: the status of waiting
 * until the place may be written to.
 *   pin  0: if there is none yet, none is made */
static uint64_t spmv__stage_place(spmv_device *d, uint64_t want, int pin, unsigned char **at, spmv_status *s)
{
    enum { ALIGNED = 64 /* bytes: copies of memory and of the bus are in such lines */ };
    spmv__stage *stage = &d->common->stage;
    if (!spmv__stage_may(d, want) || (!stage->at[0] && want < SPMV__STAGE_LEAST)) return 0;
    if (stage->used == SPMV__STAGE_CHUNK) {
        stage->now = (stage->now + 1) % SPMV__STAGE_CHUNKS;
        stage->used = 0;
    }
    if (!pin && !stage->point[stage->now]) return 0;
    if (spmv__stage_make(d, stage->now)) return 0;
    if (!stage->used) *s = d->info.backend->transfer->wait(d, stage->point[stage->now]);
    *at = (unsigned char *)stage->at[stage->now] + stage->used;
    want = spmv__smaller(want, SPMV__STAGE_CHUNK - stage->used);
    stage->used = spmv__smaller(spmv__round_up(stage->used + want, ALIGNED), SPMV__STAGE_CHUNK);
    return want;
}

/* Flags that one thread sets and another one reads. */
#ifdef __GNUC__
static int spmv__is_set(const long *flag) { return __atomic_load_n(flag, __ATOMIC_ACQUIRE) != 0; }
static void spmv__set_flag(long *flag) { __atomic_store_n(flag, 1L, __ATOMIC_RELEASE); }
#else
static int spmv__is_set(const long *flag) { return *(const volatile long *)flag != 0; }
static void spmv__set_flag(long *flag) { *(volatile long *)flag = 1; }
#endif

/* A copy in host memory, in shares. */
typedef struct spmv__stage_copy {
    unsigned char       *to;
    const unsigned char *from;
    uint64_t             bytes, shares;
} spmv__stage_copy;

static void spmv__stage_copy_share(void *job, uint64_t share)
{
    const spmv__stage_copy *c = (const spmv__stage_copy *)job;
    const uint64_t begin = c->bytes * share / c->shares, end = c->bytes * (share + 1) / c->shares;
    memcpy(c->to + begin, c->from + begin, (size_t)(end - begin));
}

/* Copies up to want bytes through a chunk to a buffer, from its byte at on. *count: how many; 0 if there is no pinned memory.
 *   alone  1: the calling thread copies alone and pins nothing */
static spmv_status spmv__stage_put(spmv_device *d, void *buffer, uint64_t at, uint64_t want, const unsigned char *from, int alone,
                                   uint64_t *count)
{
    const spmv_transfer *t = d->info.backend->transfer;
    spmv__stage *stage = &d->common->stage;
    spmv__stage_copy c;
    spmv_status s = SPMV_OK;
    c.from = from;
    *count = c.bytes = spmv__stage_place(d, want, !alone, &c.to, &s);
    if (s || !c.bytes) return s;
    c.shares = alone ? 1 : spmv__ceil_div(c.bytes, SPMV__STAGE_SHARE);
    spmv__share_out(spmv__stage_copy_share, &c, c.shares);
    stage->busy = 1;
    s = t->put(d, d->queue, buffer, at, c.bytes, c.to);
    return s ? s : t->set(d, d->queue, stage->point[stage->now]);
}

/* Copies the bytes from *at to the end to a buffer; those before are there or on their way. *at becomes how many are. The bytes at from may
 * change as soon as the call returns, but work in other queues than the device's may not start before spmv__dev_settle. After a failure, no
 * earlier copy reads the pinned memory any more: the next matrix overwrites it, and kernels of this one that are still in the queue would
 * use what it wrote there as indices.
 *   stop  NULL, or what another thread sets to end the copy early: then the calling thread copies alone, in small steps */
static spmv_status spmv__dev_copy_rest(spmv_device *d, void *buffer, uint64_t *at, uint64_t bytes, const void *from, const long *stop)
{
    const spmv_backend *b = d->info.backend;
    uint64_t count;
    spmv_status s = SPMV_OK;
    for (; *at < bytes && !(stop && spmv__is_set(stop)); *at += count) {
        const uint64_t left = bytes - *at, want = stop ? spmv__smaller(left, SPMV__STAGE_SHARE) : left;
        spmv__lock(&d->common->copying);
        s = spmv__stage_put(d, buffer, *at, want, (const unsigned char *)from + *at, stop != NULL, &count);
        if (!s && !count) d->common->stage.copied += left;
        if (s) b->finish(d, d->queue);
        spmv__unlock(&d->common->copying);
        if (s) break;
        if (count) continue;
        s = b->write(d, d->queue, buffer, bytes, from);
        count = left;
        if (s) b->finish(d, d->queue);
        if (s) break;
    }
    return s;
}

/* Copies to the beginning of a buffer, as spmv__dev_copy_rest does. */
static spmv_status spmv__dev_copy(spmv_device *d, void *buffer, uint64_t bytes, const void *from)
{
    uint64_t at = 0;
    return spmv__dev_copy_rest(d, buffer, &at, bytes, from, NULL);
}

/* Waits until no copy uses chunks. */
static spmv_status spmv__stage_settle(spmv_device *d)
{
    if (!d->common->stage.busy) return SPMV_OK;
    d->common->stage.busy = 0;
    return d->info.backend->finish(d, d->queue);
}

/* Waits for the copies of spmv__dev_copy, or until another thread has waited for them. */
static spmv_status spmv__dev_settle(spmv_device *d)
{
    spmv_status s;
    spmv__lock(&d->common->copying);
    s = spmv__stage_settle(d);
    spmv__unlock(&d->common->copying);
    return s;
}

/* Asks for the bytes of a buffer from asked on, as far as there are chunks for them behind the first done bytes, and returns how many were
 * asked for in all. */
static uint64_t spmv__stage_ask(spmv_device *d, void *buffer, uint64_t done, uint64_t asked, uint64_t bytes, spmv_status *s)
{
    const spmv_transfer *t = d->info.backend->transfer;
    const spmv__stage *stage = &d->common->stage;
    while (!*s && asked < bytes && asked < done + (uint64_t)SPMV__STAGE_CHUNKS * SPMV__STAGE_CHUNK) {
        const uint64_t chunk = asked / SPMV__STAGE_CHUNK % SPMV__STAGE_CHUNKS, count = spmv__smaller(SPMV__STAGE_CHUNK, bytes - asked);
        *s = t->get(d, d->queue, buffer, asked, count, stage->at[chunk]);
        if (!*s) *s = t->set(d, d->queue, stage->point[chunk]);
        asked += count;
    }
    return asked;
}

/* Copies from the beginning of a buffer through pinned memory, which is there: while a chunk is emptied in threads, the next is on its
 * way. */
static spmv_status spmv__stage_get(spmv_device *d, void *buffer, uint64_t bytes, unsigned char *to)
{
    const spmv_backend *b = d->info.backend;
    spmv__stage *stage = &d->common->stage;
    uint64_t asked = 0, done = 0;
    spmv__stage_copy c;
    spmv_status s = spmv__stage_settle(d);
    stage->used = stage->now = 0;
    while (!s && done < bytes) {
        const uint64_t chunk = done / SPMV__STAGE_CHUNK % SPMV__STAGE_CHUNKS;
        asked = spmv__stage_ask(d, buffer, done, asked, bytes, &s);
        if (!s) s = b->transfer->wait(d, stage->point[chunk]);
        if (s) break;
        c.from = (const unsigned char *)stage->at[chunk];
        c.to = to + done;
        c.bytes = spmv__smaller(SPMV__STAGE_CHUNK, bytes - done);
        c.shares = spmv__ceil_div(c.bytes, SPMV__STAGE_SHARE);
        spmv__share_out(spmv__stage_copy_share, &c, c.shares);
        done += c.bytes;
    }
    if (s) b->finish(d, d->queue);
    return s;
}

/* Copies from the beginning of a buffer, through pinned memory where that pays: pinning the first chunk takes longer than a driver takes to
 * copy as many bytes. Returns when all is there. */
SPMV__SHARED spmv_status spmv__dev_download(spmv_device *d, void *buffer, uint64_t bytes, void *to)
{
    spmv__stage *stage = &d->common->stage;
    spmv_status s = SPMV_OK;
    int staged;
    spmv__lock(&d->common->copying);
    staged = bytes >= (stage->at[0] ? SPMV__STAGE_LEAST : SPMV__STAGE_CHUNK) && spmv__stage_ready(d, bytes);
    if (staged) s = spmv__stage_get(d, buffer, bytes, (unsigned char *)to);
    else stage->copied += bytes;
    spmv__unlock(&d->common->copying);
    return staged ? s : d->info.backend->read(d, d->queue, buffer, bytes, to, NULL);
}

/* Copies count elements from the beginning of a buffer to a new block; *out is NULL if there are none, and on failure. */
SPMV__SHARED spmv_status spmv__dev_fetch(spmv_device *d, const spmv_hooks *h, void *buffer, uint64_t count, uint64_t width, void **out)
{
    spmv_status s = SPMV_OK;
    *out = NULL;
    if (!count) return s;
    s = spmv__room(h, out, count, width);
    if (!s) s = spmv__dev_download(d, buffer, count * width, *out);
    if (s) spmv_free(h, *out);
    if (s) *out = NULL;
    return s;
}

static spmv_status spmv__dev_upload(spmv_device *d, const spmv_array *a, void **out)
{
    spmv_status s;
    if (!a->count) return SPMV_OK;
    s = spmv__dev_own(d, a->count * a->width, 1, out);
    if (!s) s = spmv__dev_copy(d, *out, a->count * a->width, a->data);
    return s;
}

/* ---- vectors in device memory ------------------------------------------------------------------------------------ */

/* Reports which argument of function is NULL: d, buffer, or else other. */
static spmv_status spmv__buffer_null(const spmv_device *d, const char *function, const void *buffer, const char *other)
{
    return spmv__null(d ? &d->hooks : NULL, function, !d ? "d" : !buffer ? "buffer" : other, NULL, 0);
}

/* Checks that elements of width bytes may lie in a buffer of the caller's: a GPU ends the context where an address is misaligned. */
static spmv_status spmv__dev_aligned(const spmv_device *d, const spmv_hooks *h, const char *what, void *buffer, uint64_t width)
{
    if (!d->info.backend->within || (uintptr_t)buffer % width == 0) return SPMV_OK;
    return spmv_log(h, SPMV_ERR_ARGUMENT, "%s: its address is not a multiple of %llu", what, (spmv__ull)width);
}

/* Checks that a buffer of the caller's holds count elements of width bytes; where and what name the argument in the message. */
static spmv_status spmv__dev_holds(const spmv_device *d, const spmv_hooks *h, const char *where, const char *what, void *buffer,
                                   uint64_t count, uint64_t width)
{
    const uint64_t need = spmv__sat_mul(count, width);
    uint64_t bytes = 0;
    spmv_status s;
    if (!count) return SPMV_OK;
    if (!buffer) return spmv_log(h, SPMV_ERR_ARGUMENT, "%s: %s is NULL", where, what);
    s = spmv__dev_aligned(d, h, what, buffer, width);
    if (!s) s = d->info.backend->buffer_bytes(d, buffer, &bytes);
    if (s || bytes >= need) return s;
    return spmv_log(h, SPMV_ERR_ARGUMENT, "%s: %s needs %llu bytes, but has %llu", where, what, (spmv__ull)need, (spmv__ull)bytes);
}

SPMV_API spmv_status spmv_buffer_create(const spmv_device *d, uint64_t bytes, void **out)
{
    spmv_status s;
    if (!d || !out) return spmv__null(d ? &d->hooks : NULL, "spmv_buffer_create", !out ? "out" : "d", out, sizeof *out);
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_buffer_create", out, sizeof *out);
    *out = NULL;
    s = spmv__dev_new_buffer(d, bytes, 0, out);
    if (s) *out = NULL;
    return s;
}

SPMV_API void spmv_buffer_destroy(const spmv_device *d, void *buffer)
{
    if (d) spmv__dev_buffer_free(d, buffer);
}

SPMV_API spmv_status spmv_buffer_write(const spmv_device *d, void *buffer, uint64_t bytes, const void *from)
{
    if (!d || !buffer || (bytes && !from)) return spmv__buffer_null(d, "spmv_buffer_write", buffer, "from");
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_buffer_write", NULL, 0);
    spmv_status s = spmv__dev_holds(d, &d->hooks, "spmv_buffer_write", "buffer", buffer, bytes, 1);
    return s || !bytes ? s : d->info.backend->write(d, d->queue, buffer, bytes, from);
}

SPMV_API spmv_status spmv_buffer_read(const spmv_device *d, void *buffer, uint64_t bytes, void *to)
{
    if (!d || !buffer || (bytes && !to)) return spmv__buffer_null(d, "spmv_buffer_read", buffer, "to");
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_buffer_read", NULL, 0);
    spmv_status s = spmv__dev_holds(d, &d->hooks, "spmv_buffer_read", "buffer", buffer, bytes, 1);
    return s || !bytes ? s : d->info.backend->read(d, d->queue, buffer, bytes, to, NULL);
}

SPMV_API spmv_status spmv_buffer_fill(const spmv_device *d, void *buffer, uint64_t bytes, uint32_t word)
{
    if (!d || !buffer) return spmv__buffer_null(d, "spmv_buffer_fill", buffer, "");
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_buffer_fill", NULL, 0);
    if (bytes % 4) return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "spmv_buffer_fill: %llu bytes are not a multiple of 4", (spmv__ull)bytes);
    spmv_status s = spmv__dev_holds(d, &d->hooks, "spmv_buffer_fill", "buffer", buffer, bytes, 1);
    return s || !bytes ? s : d->info.backend->fill(d, d->queue, buffer, bytes, word);
}

SPMV_API spmv_status spmv_device_finish(const spmv_device *d)
{
    if (!d) return spmv__null(NULL, "spmv_device_finish", "d", NULL, 0);
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_device_finish", NULL, 0);
    return d->info.backend->finish(d, d->queue);
}

#endif
