/* SPDX-License-Identifier: MIT
 *
 * spmv/device/exec.h - products on a device.
 */
#ifndef SPMV__DEVICE_EXEC_H
#define SPMV__DEVICE_EXEC_H

#include "stretch.h"

/* ---- execs: kernels with their arguments ---------------------------------------------------------------------------- */

/* A number in the vectors' type. */
static void spmv__dev_arg_real(spmv__dev_args *a, double v)
{
    float f = (float)v;
    if (a->m->type == SPMV_F32) spmv__dev_arg(a, &f, sizeof f);
    else spmv__dev_arg(a, &v, sizeof v);
}

static spmv__dev_args spmv__dev_args_of(const spmv_device_matrix *m, void *kernel)
{
    spmv__dev_args a;
    a.m = m;
    a.kernel = kernel;
    a.next = 0;
    a.s = SPMV_OK;
    return a;
}

static void spmv__dev_launch_shape(spmv__launch *l, uint64_t groups, uint64_t wg)
{
    l->groups = groups;
    l->wg = wg;
}

/* Makes the kernel called name of a part and sets the arguments that never change: arrays, integers, and what its format adds. Those of
 * the finishing launch are the same. */
static spmv_status spmv__dev_launch_part(spmv__launch *l, const spmv_device_matrix *m, const spmv_device_part *p, const char *name,
                                        uint64_t groups, void *const *carry)
{
    const spmv__dev_format *f = spmv__dev_format_of(p->format);
    const spmv__dev_kernel *t = &spmv__dev_kernels[p->format];
    spmv__dev_args a;
    int i;
    spmv_status s = m->device->info.backend->kernel(m->device, p->program, name, &l->kernel);
    if (s) return s;
    a = spmv__dev_args_of(m, l->kernel);
    for (i = 0; i < t->arrays; i++) spmv__dev_arg_mem(&a, p->a[i]);
    for (i = 0; t->ints[i]; i++)
        if (!spmv__dev_int_is_macro(p->format, i)) spmv__dev_arg_count(&a, p->n[i]);
    (f->arguments ? f->arguments : spmv__dev_arguments_rows)(&a, p, carry);
    l->arg = a.next;
    l->first = p->source == 0;
    l->row = p->row;
    l->texel = spmv__dev_texel(p->format, m->type, p->n, &p->variant);
    spmv__dev_launch_shape(l, groups, (uint64_t)p->variant.value[SPMV_KNOB_WG]);
    return a.s;
}

/* Makes a buffer that e owns until it is freed. One that the device keeps may still be in use by the preparation of a matrix in another
 * thread, and so only follows that in the device's queue, if it is in order. */
static spmv_status spmv__dev_exec_own(const spmv_exec *e, uint64_t bytes, int read_only, void **out)
{
    spmv_device *d = e->matrix->device;
    return e->queue == d->queue && !e->chain ? spmv__dev_own(d, bytes, read_only, out) : spmv__dev_new_buffer(d, bytes, read_only, out);
}

/* Creates the buffer of carries, followed by the counters, which begin at zero. It enqueues nothing, as the queue may be waiting for the
 * caller. */
static spmv_status spmv__dev_new_carries(const spmv_exec *e, const spmv_device_part *p, void **out)
{
    const spmv_device_matrix *m = e->matrix;
    const spmv_device *d = m->device;
    uint64_t bytes = p->carries * spmv_vector_size(m->type) + p->counters * 4;
    void *zeros = NULL;
    spmv_status s;
    if (!p->counters || bytes > d->info.alloc_bytes) return spmv__dev_exec_own(e, bytes, 0, out);
    s = spmv__new(&m->hooks, &zeros, bytes, 1, 0);
    if (s) return s;
    s = spmv__dev_new_filled(d, bytes, 0, zeros, out);
    spmv_free(&m->hooks, zeros);
    return s;
}

/* Adds the one or two launches of a part to e. */
static spmv_status spmv__dev_launch_all(spmv_exec *e, const spmv_device_matrix *m, const spmv_device_part *p)
{
    spmv__launch *l = &e->launch[e->count];
    spmv_status s = SPMV_OK;
    e->count += p->finish ? 2 : 1;
    if (p->carries) s = spmv__dev_new_carries(e, p, &l->carry[0]);
    if (!s && p->carries && spmv__dev_format_of(p->format)->carry_rows) s = spmv__dev_exec_own(e, p->carries * 4, 0, &l->carry[1]);
    if (!s) s = spmv__dev_launch_part(l, m, p, "spmv", p->groups, l->carry);
    if (!s && p->finish) s = spmv__dev_launch_part(l + 1, m, p, "finish", p->finish, l->carry);
    return s;
}

enum { SPMV__SCALE_EACH = 64 }; /* elements of y that an item of scale.cl takes in groups of one item */

static spmv_status spmv__dev_launch_scale(spmv__launch *l, const spmv_device_matrix *m)
{
    uint64_t wg = (uint64_t)m->scale_group, groups;
    spmv__dev_args a;
    spmv_status s = spmv__dev_groups(m->device, m->rows, wg > 1 ? wg : (uint64_t)SPMV__SCALE_EACH, wg, &groups);
    if (!s) s = m->device->info.backend->kernel(m->device, m->scale, "scale", &l->kernel);
    if (s) return s;
    a = spmv__dev_args_of(m, l->kernel);
    spmv__dev_arg_count(&a, m->rows);
    l->arg = a.next;
    spmv__dev_launch_shape(l, groups, wg);
    return a.s;
}

static spmv_status spmv__dev_exec_queue(spmv_exec *e, void *queue)
{
    const spmv_device *d = e->matrix->device;
    spmv_status s;
    if (!queue) queue = d->queue;
    s = d->info.backend->queue_keep(d, queue, &e->chain, &e->profiles);
    if (!s) e->queue = queue;
    return s;
}

SPMV_API spmv_status spmv_exec_create(spmv_exec *out, const spmv_device_matrix *m, void *queue)
{
    if (!out || !m || !m->device)
        return spmv__null(m ? &m->hooks : NULL, "spmv_exec_create", !out ? "out" : !m ? "m" : "m->device", out, sizeof *out);
    if (!spmv__dev_is_here(m->device)) return spmv__dev_not_here(m->device, "spmv_exec_create", out, sizeof *out);
    void *block = NULL;
    size_t i;
    spmv_status s;
    memset(out, 0, sizeof *out);
    out->matrix = m;
    out->hooks = m->hooks;
    s = spmv__dev_exec_queue(out, queue);
    if (!s) s = spmv__new(&m->hooks, &block, 2 * (uint64_t)m->count, sizeof(spmv__launch), 0);
    out->launch = (spmv__launch *)block;
    if (!s && m->count && out->queue != m->device->queue) spmv__set_flag(&m->part[0].elsewhere);
    if (!s && m->rows) s = spmv__dev_launch_scale(&out->scale, m);
    for (i = 0; !s && i < m->count; i++)
        if (m->part[i].groups) s = spmv__dev_launch_all(out, m, &m->part[i]);
    if (s) spmv_exec_destroy(out);
    return s;
}

/* ordered: as for spmv__dev_left */
static void spmv__dev_launch_free(const spmv_device *d, spmv__launch *l, int ordered)
{
    spmv__dev_kernel_free(d, l->kernel);
    spmv__dev_left(d, l->carry[0], ordered);
    spmv__dev_left(d, l->carry[1], ordered);
}

static void spmv__dev_event_free(const spmv_device *d, void *event)
{
    if (event && spmv__dev_is_here(d)) d->info.backend->event_free(d, event);
}

/* Replaces the event in *slot by event (NULL: none), which it retains; by none if that fails. */
static spmv_status spmv__dev_event_keep(const spmv_device *d, void **slot, void *event)
{
    spmv_status s = event ? d->info.backend->event_keep(d, event) : SPMV_OK;
    spmv__dev_event_free(d, *slot);
    *slot = s ? NULL : event;
    return s;
}

enum { SPMV__X, SPMV__Y }; /* of spmv_exec.seen */

/* Releases the vector that e has seen last, of x also the images. */
static void spmv__dev_exec_forget(spmv_exec *e, int vector)
{
    const spmv_device *d = e->matrix->device;
    int i;
    for (i = 0; i < 2 && vector == SPMV__X; i++) {
        spmv__dev_buffer_free(d, e->image[i]);
        e->image[i] = NULL;
    }
    spmv__dev_buffer_free(d, e->seen[vector].mem);
    e->seen[vector].mem = NULL;
    e->turn++;
}

/* Forgets the events of the latest timed product. */
static void spmv__dev_exec_untimed(spmv_exec *e)
{
    spmv__dev_event_keep(e->matrix->device, &e->first, NULL);
    spmv__dev_event_keep(e->matrix->device, &e->last, NULL);
}

SPMV_API void spmv_exec_destroy(spmv_exec *e)
{
    const spmv_device *d;
    spmv_hooks h;
    size_t i;
    int ordered;
    if (!e || !e->matrix) return;
    d = e->matrix->device;
    ordered = e->queue == d->queue;
    h = e->hooks;
    spmv__dev_exec_forget(e, SPMV__X);
    spmv__dev_exec_forget(e, SPMV__Y);
    spmv__dev_exec_untimed(e);
    spmv__dev_launch_free(d, &e->scale, ordered);
    for (i = 0; i < e->count; i++) spmv__dev_launch_free(d, &e->launch[i], ordered);
    spmv__dev_left(d, e->x, ordered);
    spmv__dev_left(d, e->y, ordered);
    if (e->queue && spmv__dev_is_here(d)) d->info.backend->queue_free(d, e->queue);
    spmv_free(&h, e->launch);
    memset(e, 0, sizeof *e);
}

/* ---- one thread at a time ------------------------------------------------------------------------------------------- */

#if defined(__GNUC__)
static int spmv__try_lock(long *busy) { return !__atomic_exchange_n(busy, 1L, __ATOMIC_ACQUIRE); }
static void spmv__set_free(long *busy) { __atomic_store_n(busy, 0L, __ATOMIC_RELEASE); }
#elif defined(_MSC_VER)
static int spmv__try_lock(long *busy) { return !_InterlockedExchange((volatile long *)busy, 1); }
static void spmv__set_free(long *busy) { _InterlockedExchange((volatile long *)busy, 0); }
#else
static int spmv__try_lock(long *busy) { (void)busy; return 1; }
static void spmv__set_free(long *busy) { (void)busy; }
#endif

/* Locks e until spmv__set_free: a second thread would set arguments of the same kernels. function is the caller's name, for messages. */
static spmv_status spmv__dev_exec_take(spmv_exec *e, const char *function)
{
    if (!e || !e->matrix) return spmv__null(e ? &e->hooks : NULL, function, e ? "e->matrix" : "e", NULL, 0);
    if (!spmv__dev_is_here(e->matrix->device)) return spmv__dev_not_here(e->matrix->device, function, NULL, 0);
    if (spmv__try_lock(&e->busy)) return SPMV_OK;
    return spmv_log(&e->hooks, SPMV_ERR_BUSY, "another thread is using this exec (spmv_mul uses the matrix's own): create an spmv_exec for "
                    "each thread (spmv_exec_create)");
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* A product that is being enqueued. */
typedef struct spmv__dev_run {
    spmv_exec  *e;
    double      alpha;
    void       *x, *y;
    uint64_t    x0, y0;
    unsigned    num_wait;
    const void *wait;
    size_t      left;      /* launches still to be enqueued */
    void       *previous;  /* event of the previous launch, if launches are chained or timed */
    int         begun;
    int         keep_last; /* 1: the caller wants the last launch's event */
} spmv__dev_run;

/* The first launch waits for the caller's events; each other one waits for the one before it if the queue is out of order. */
static spmv_order spmv__dev_order(const spmv__dev_run *r)
{
    spmv_order o;
    o.count = r->begun ? 0 : r->num_wait;
    o.wait = r->begun ? NULL : r->wait;
    o.after = r->begun && r->e->chain ? r->previous : NULL;
    return o;
}

/* Sets the changing arguments of a launch. */
static spmv_status spmv__dev_launch_give(const spmv_exec *e, spmv__launch *l, const spmv__given *g)
{
    spmv__dev_args a = spmv__dev_args_of(e->matrix, l->kernel);
    a.next = l->arg;
    spmv__dev_arg_mem(&a, g->x);
    spmv__dev_arg_count(&a, g->x0);
    spmv__dev_arg_mem(&a, g->y);
    spmv__dev_arg_count(&a, g->y0);
    spmv__dev_arg_real(&a, g->alpha);
    spmv__dev_arg_real(&a, g->beta);
    if (l->texel) spmv__dev_arg_mem(&a, e->image[l->texel == 4 && g->x0 % 4 == 0]);
    l->given = *g;
    if (a.s) memset(&l->given, 0, sizeof l->given);
    return a.s;
}

/* Enqueues a launch, with new arguments if they are not those that it has, and keeps its event as far as one is needed. */
static spmv_status spmv__dev_enqueue(spmv__dev_run *r, spmv__launch *l, double beta)
{
    spmv_exec *e = r->e;
    const spmv_device *d = e->matrix->device;
    spmv_order order = spmv__dev_order(r);
    spmv__given g;
    void *event = NULL;
    int want = e->chain || e->timing || (r->left == 1 && r->keep_last);
    spmv_status s = SPMV_OK;
    memset(&g, 0, sizeof g);
    g.x = r->x;
    g.x0 = r->x0;
    g.y = r->y;
    g.y0 = r->y0 + l->row;
    g.turn = e->turn;
    g.alpha = r->alpha;
    g.beta = beta;
    if (memcmp(&g, &l->given, sizeof g) != 0) s = spmv__dev_launch_give(e, l, &g);
    if (!s) s = d->info.backend->launch(d, e->queue, l->kernel, l->groups, l->wg, &order, want ? &event : NULL);
    if (s) return s;
    if (e->timing && !r->begun) s = spmv__dev_event_keep(d, &e->first, event);
    if (r->previous) spmv__dev_event_free(d, r->previous);
    r->previous = event;
    r->begun = 1;
    r->left--;
    return s;
}

/* Asks the driver how much a buffer holds that e has not seen, and remembers it as x or y. name is the argument's. */
static spmv_status spmv__dev_exec_see(spmv_exec *e, int vector, void *mem, const char *name)
{
    const spmv_device *d = e->matrix->device;
    const spmv_backend *b = d->info.backend;
    const uint64_t size = spmv_vector_size(e->matrix->type);
    uint64_t bytes = 0;
    spmv_status s = spmv__dev_aligned(d, &e->hooks, name, mem, size);
    if (!s) s = b->buffer_bytes(d, mem, &bytes);
    if (!s && b->buffer_keep) s = b->buffer_keep(d, mem);
    if (s) return s;
    if (e->seen[vector].mem) spmv__dev_exec_forget(e, vector);
    if (b->buffer_keep) e->seen[vector].mem = mem;
    e->seen[vector].elements = bytes / size;
    return SPMV_OK;
}

/* Checks that a vector of n elements at an offset lies within its buffer; name is the argument's. */
static spmv_status spmv__dev_exec_check(spmv_exec *e, int vector, void *mem, uint64_t offset, uint64_t n, const char *name)
{
    uint64_t have;
    spmv_status s = SPMV_OK;
    if (!n) return SPMV_OK;
    if (!mem) return spmv_log(&e->hooks, SPMV_ERR_ARGUMENT, "%s is NULL", name);
    if (e->seen[vector].mem != mem) s = spmv__dev_exec_see(e, vector, mem, name);
    if (s) return s;
    have = e->seen[vector].elements;
    if (offset <= have && n <= have - offset) return SPMV_OK;
    return spmv_log(&e->hooks, SPMV_ERR_ARGUMENT, "%s: %llu elements from offset %llu exceed the buffer's %llu", name, (spmv__ull)n,
                    (spmv__ull)offset, (spmv__ull)have);
}

/* Refuses y over x. Handles that differ are those of different buffers where the back end has no addresses. */
static spmv_status spmv__dev_exec_apart(const spmv__dev_run *r)
{
    const spmv_device_matrix *m = r->e->matrix;
    const uint64_t size = spmv_vector_size(m->type), x0 = r->x0 * size, y0 = r->y0 * size;
    const int addresses = m->device->info.backend->within != NULL;
    const uint64_t x = addresses ? (uintptr_t)r->x + x0 : x0, y = addresses ? (uintptr_t)r->y + y0 : y0;
    if ((r->x != r->y && !addresses) || !spmv__overlap(x, m->cols * size, y, m->rows * size)) return SPMV_OK;
    return spmv_log(&r->e->hooks, SPMV_ERR_ARGUMENT, "x and y overlap");
}

/* Makes an image of x, which e has seen, with 1 or 4 elements in a texel, unless e has it already. It covers as much of x as the device
 * allows; SPMV_ERR_LIMIT if that is less than the product reads. */
static spmv_status spmv__dev_exec_image(spmv_exec *e, void *x, uint64_t x_offset, int texel)
{
    const spmv_device_matrix *m = e->matrix;
    const spmv_device *d = m->device;
    const uint64_t need = (x_offset + m->cols) / (uint64_t)texel;
    int i = texel == 4;
    spmv_status s = SPMV_OK;
    if (!e->image[i]) {
        e->texels[i] = e->seen[SPMV__X].elements / (uint64_t)texel;
        if (e->texels[i] > d->info.image_texels) e->texels[i] = d->info.image_texels;
        if (e->texels[i]) s = d->info.backend->image(d, x, m->type, texel, e->texels[i], &e->image[i]);
        else s = d->info.backend->image(d, x, m->type, 1, e->texels[i] = 1, &e->image[i]); /* x has fewer than 4 elements, so
                                                                                             no texel is read */
        if (s) return s;
    }
    if (need <= e->texels[i]) return SPMV_OK;
    return spmv_log(&e->hooks, SPMV_ERR_LIMIT, "x ends at element %llu of its buffer, but an image of it holds only %llu",
                    (spmv__ull)(x_offset + m->cols), (spmv__ull)(e->texels[i] * (uint64_t)texel));
}

/* Makes the images that the launches read. x and y must be different buffers then: reading an image is undefined while any part of its
 * buffer is written. */
static spmv_status spmv__dev_exec_images(spmv_exec *e, void *x, uint64_t x_offset, void *y)
{
    spmv_status s = SPMV_OK;
    size_t i;
    for (i = 0; !s && i < e->count; i++) {
        int texel = e->launch[i].texel;
        if (!texel) continue;
        if (x == y) return spmv_log(&e->hooks, SPMV_ERR_ARGUMENT, "IMG=1: x and y are in the same buffer");
        s = spmv__dev_exec_image(e, x, x_offset, x_offset % 4 ? 1 : texel);
    }
    return s;
}

/* Checks the vectors of a product and makes the images that it reads; launches: how many launches multiply. An x that is not read may be
 * no buffer. */
static spmv_status spmv__dev_exec_ready(spmv__dev_run *r, size_t launches)
{
    spmv_exec *e = r->e;
    const spmv_device_matrix *m = e->matrix;
    const int reads = r->alpha != 0 && m->rows && m->cols;
    spmv_status s = r->num_wait && !r->wait ? spmv__null(&e->hooks, "spmv_cl_mul", "wait", NULL, 0) : SPMV_OK;
    if (!s) s = spmv__dev_exec_check(e, SPMV__Y, r->y, r->y0, m->rows, "y");
    if (!s && reads) s = spmv__dev_exec_check(e, SPMV__X, r->x, r->x0, m->cols, "x");
    if (!s && reads) s = spmv__dev_exec_apart(r);
    if (!s && launches && m->cols) s = spmv__dev_exec_images(e, r->x, r->x0, r->y);
    if (reads) return s;
    r->x = NULL;
    r->x0 = 0;
    return s;
}

/* After the launches: the event that stands for a product without any, and the events of its time. */
static spmv_status spmv__dev_exec_events(spmv__dev_run *r)
{
    spmv_exec *e = r->e;
    const spmv_device *d = e->matrix->device;
    spmv_status s = SPMV_OK;
    if (!r->begun && (r->keep_last || r->num_wait || e->timing)) {
        spmv_order order = spmv__dev_order(r);
        s = d->info.backend->marker(d, e->queue, &order, &r->previous);
        if (!s && e->timing) s = spmv__dev_event_keep(d, &e->first, r->previous);
    }
    if (!s && e->timing) s = spmv__dev_event_keep(d, &e->last, r->previous);
    return s;
}

/* Enqueues the pass that scales y (unless the first part covers it or beta is 1), then all launches. r has the vectors, alpha and what
 * to wait for. *event, if event is not NULL, gets one that completes with the product. */
static spmv_status spmv__dev_exec_mul(spmv__dev_run *r, double beta, void **event)
{
    spmv_exec *e = r->e;
    const spmv_device_matrix *m = e->matrix;
    size_t i, launches = r->alpha != 0 && m->rows ? e->count : 0;
    int covers = launches && m->covers && m->part[0].groups;
    int scale = m->rows && beta != 1 && !covers;
    spmv_status s = spmv__dev_exec_ready(r, launches);
    if (s) return s;
    if (!r->num_wait) r->wait = NULL;
    r->left = launches + (size_t)scale;
    r->keep_last = event != NULL;
    if (scale) s = spmv__dev_enqueue(r, &e->scale, beta);
    for (i = 0; !s && i < launches; i++) s = spmv__dev_enqueue(r, &e->launch[i], covers && e->launch[i].first ? beta : 1);
    if (!s) s = spmv__dev_exec_events(r);
    if (s) spmv__dev_exec_untimed(e);
    if (!s && event) {
        *event = r->previous;
        r->previous = NULL;
    }
    if (r->previous) spmv__dev_event_free(m->device, r->previous);
    return s;
}

/* A product that waits for nothing. */
static spmv__dev_run spmv__dev_run_of(spmv_exec *e, double alpha, void *x, uint64_t x_offset, void *y, uint64_t y_offset)
{
    spmv__dev_run r;
    memset(&r, 0, sizeof r);
    r.e = e;
    r.alpha = alpha;
    r.x = x;
    r.x0 = x_offset;
    r.y = y;
    r.y0 = y_offset;
    return r;
}

/* A product with the handles of any back end. Typed functions such as spmv_cl_mul call it with their own name. */
static spmv_status spmv__exec_mul(spmv_exec *e, const char *function, double alpha, void *x, uint64_t x_offset, double beta, void *y,
                                  uint64_t y_offset, unsigned num_wait, const void *wait, void **event)
{
    spmv__dev_run r = spmv__dev_run_of(e, alpha, x, x_offset, y, y_offset);
    spmv_status s = spmv__dev_exec_take(e, function);
    if (event) *event = NULL;
    if (s) return s;
    r.num_wait = num_wait;
    r.wait = wait;
    s = spmv__dev_exec_mul(&r, beta, event);
    spmv__set_free(&e->busy);
    return s;
}

SPMV_API spmv_status spmv_exec_mul(spmv_exec *e, double alpha, void *x, uint64_t x_offset, double beta, void *y,
                                   uint64_t y_offset)
{
    return spmv__exec_mul(e, "spmv_exec_mul", alpha, x, x_offset, beta, y, y_offset, 0, NULL, NULL);
}

/* Creates the buffers of products with host vectors, unless e has them. */
static spmv_status spmv__dev_exec_host_buffers(spmv_exec *e)
{
    const spmv_device_matrix *m = e->matrix;
    uint64_t size = spmv_vector_size(m->type);
    spmv_status s = SPMV_OK;
    if (!e->x) s = spmv__dev_exec_own(e, spmv__sat_mul(m->cols, size), 1, &e->x);
    if (!s && !e->y) s = spmv__dev_exec_own(e, spmv__sat_mul(m->rows, size), 0, &e->y);
    return s;
}

/* Copies x (and y, if beta is not 0) to the device, multiplies, and copies y back. */
static spmv_status spmv__dev_exec_mul_host(spmv_exec *e, double alpha, const void *x, double beta, void *y)
{
    const spmv_device_matrix *m = e->matrix;
    const spmv_device *d = m->device;
    const spmv_backend *b = d->info.backend;
    uint64_t size = spmv_vector_size(m->type), x_bytes = m->cols * size, y_bytes = m->rows * size;
    spmv__dev_run r;
    void *done = NULL;
    spmv_status s = spmv__check_vectors(&e->hooks, "spmv_exec_mul_host", m->type, m->rows, m->cols, alpha, x, y);
    if (s || !m->rows) return s;
    s = spmv__dev_exec_host_buffers(e);
    if (!s && alpha != 0 && m->cols) s = b->write(d, e->queue, e->x, x_bytes, x);
    if (!s && beta != 0) s = b->write(d, e->queue, e->y, y_bytes, y);
    r = spmv__dev_run_of(e, alpha, e->x, 0, e->y, 0);
    if (!s) s = spmv__dev_exec_mul(&r, beta, &done);
    if (!s) s = b->read(d, e->queue, e->y, y_bytes, y, done);
    spmv__dev_event_free(d, done);
    return s;
}

SPMV_API spmv_status spmv_exec_mul_host(spmv_exec *e, double alpha, const void *x, double beta, void *y)
{
    spmv_status s = spmv__dev_exec_take(e, "spmv_exec_mul_host");
    if (s) return s;
    s = spmv__dev_exec_mul_host(e, alpha, x, beta, y);
    spmv__set_free(&e->busy);
    return s;
}

static spmv_status spmv__dev_exec_timing(spmv_exec *e, int on)
{
    if (on && !e->profiles)
        return spmv_log(&e->hooks, SPMV_ERR_UNSUPPORTED, "the queue does not measure time (desc.profile; OpenCL: "
                        "CL_QUEUE_PROFILING_ENABLE)");
    e->timing = on != 0;
    spmv__dev_exec_untimed(e);
    return SPMV_OK;
}

SPMV_API spmv_status spmv_exec_timing(spmv_exec *e, int on)
{
    spmv_status s = spmv__dev_exec_take(e, "spmv_exec_timing");
    if (s) return s;
    s = spmv__dev_exec_timing(e, on);
    spmv__set_free(&e->busy);
    return s;
}

static spmv_status spmv__dev_exec_seconds(spmv_exec *e, double *seconds)
{
    const spmv_device *d = e->matrix->device;
    if (!e->first || !e->last) return spmv_log(&e->hooks, SPMV_ERR_ARGUMENT, "no product has been timed (spmv_exec_timing)");
    return d->info.backend->seconds(d, e->first, e->last, seconds);
}

SPMV_API spmv_status spmv_exec_seconds(spmv_exec *e, double *seconds)
{
    spmv_status s = seconds ? spmv__dev_exec_take(e, "spmv_exec_seconds") : spmv__null(NULL, "spmv_exec_seconds", "seconds", NULL, 0);
    if (seconds) *seconds = 0;
    if (s) return s;
    s = spmv__dev_exec_seconds(e, seconds);
    spmv__set_free(&e->busy);
    return s;
}

#endif
