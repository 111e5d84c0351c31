/* SPDX-License-Identifier: MIT
 *
 * spmv/group/devices.h - what a group does on each of its devices.
 */
#ifndef SPMV__GROUP_DEVICES_H
#define SPMV__GROUP_DEVICES_H

#include <string.h>

/* Blocks begin at multiples of so many rows if each has SPMV__GROUP_MANY times as many: a multiple of 32 rows, for slices and bases of
 * columns, and of the sizes of blocks of nonzeros but 5. The share of a device is then off by less than 1%. */
enum { SPMV__GROUP_GRAIN = 96, SPMV__GROUP_MANY = 128 };

/* A block is split if the columns of its own piece have this share of its nonzeros, which hide that share of the product's time from the
 * exchange, and if the halo has one element for so many rows that read it. Adding to such a row reads and writes its y once more, two
 * elements at the speed of the device's memory, which is at least ten times that of the exchange. */
#define SPMV__GROUP_OWN 0.125
#define SPMV__GROUP_ROWS_PER_HALO 4

/* What an exchange between GPUs takes: seconds before the first byte is there, and bytes a second ([M5] of docs/measurements.md). */
#define SPMV__GROUP_PEER_LATENCY 5e-6
#define SPMV__GROUP_PEER_BYTES 230e9
/* Through pinned memory of the host, there and back [M5]. */
#define SPMV__GROUP_HOST_LATENCY 14e-6
#define SPMV__GROUP_HOST_BYTES 27e9
/* With OpenCL on a CPU, whose threads must wake up [M6]. */
#define SPMV__GROUP_CPU_LATENCY 150e-6
#define SPMV__GROUP_MEMORY_BYTES 10e9 /* between two blocks on the host */

/* Seconds of the host for each operation of a queue that it enqueues for a product with an exchange, and how many of these there are for
 * each device (spmv__group_begin_device, _gather, _end_device, two products) and each message (its copy, the points before and behind it).
 * A product takes at least as long as all of them. It is measured as above. */
#define SPMV__GROUP_OPERATION 2e-6
enum { SPMV__GROUP_DEVICE_OPERATIONS = 8, SPMV__GROUP_MESSAGE_OPERATIONS = 3 };

/* Seconds that a device takes for each step which the exchange adds to its product, however short: waiting for the point of another queue,
 * and beginning the second matrix of a block. It is measured as above. */
#define SPMV__GROUP_STEP 6e-6

/* Rows are divided only if by the predictions this takes at most so much of the time of the fastest device alone: more than half of all
 * predictions are within 0.8 to 1.25 of what is measured (bench/results/predicted.txt). */
#define SPMV__GROUP_CLEARLY 0.8

static void *spmv__group_at(void *base, uint64_t bytes) { return base ? (unsigned char *)base + bytes : NULL; }

static const char *spmv__group_name(const spmv_group_block *b)
{
#ifdef SPMV_DEVICE_H
    if (b->device) return b->device->info.name;
#else
    (void)b;
#endif
    return "host";
}

/* Adds to a failure which device it was; the reason has been logged. */
static spmv_status spmv__group_blame(const spmv_group *g, const spmv_group_block *b, spmv_status s)
{
    if (!s) return s;
    return spmv_log(&g->hooks, s, "device %llu of the group (%s), rows %llu to %llu: %s", (spmv__ull)(b - g->block), spmv__group_name(b),
                    (spmv__ull)b->row, (spmv__ull)(b->row + b->rows), spmv_status_text(s));
}

/* ---- on a device ----------------------------------------------------------------------------------------------------
 * All that is different between a device and the host. */

#ifdef SPMV_DEVICE_H
static const spmv_transfer *spmv__group_transfer(const spmv_device *d) { return d->info.backend->transfer; }

/* Refuses a device that cannot be part of a group. */
static spmv_status spmv__group_check_device(const spmv_device *d, size_t i, const spmv_hooks *h)
{
    int out_of_order = 0, profiles;
    spmv_status s;
    if (!d) return SPMV_OK;
    if (!d->info.backend) return spmv_log(h, SPMV_ERR_ARGUMENT, "spmv_group_create: device %llu is not open", (spmv__ull)i);
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_group_create", NULL, 0);
    if (!spmv__group_transfer(d))
        return spmv_log(h, SPMV_ERR_UNSUPPORTED, "spmv_group_create: device %llu: %s has no transfers", (spmv__ull)i,
                        d->info.backend->name);
    s = d->info.backend->queue_keep(d, d->queue, &out_of_order, &profiles);
    if (s) return s;
    d->info.backend->queue_free(d, d->queue);
    if (!out_of_order) return SPMV_OK;
    return spmv_log(h, SPMV_ERR_UNSUPPORTED, "spmv_group_create: the queue of device %llu (%s) is out of order", (spmv__ull)i,
                    d->info.name);
}

/* 1: halos go from one to the other without the host. */
static int spmv__group_is_peer(const spmv_device *from, const spmv_device *to)
{
    return from && to && from->info.backend == to->info.backend && spmv__group_transfer(to)->peer;
}

/* 1: estimates for one hold for the other. */
static int spmv__group_is_alike(const spmv_device *a, const spmv_device *b)
{
    return a == b || (a && b && a->info.backend == b->info.backend && !strcmp(a->info.name, b->info.name));
}

static int spmv__group_is_cpu(const spmv_device *d) { return d && d->info.type == SPMV_DEVICE_CPU; }

/* 1: both are the same processor, so that they share its time; a CPU is the host's. */
static int spmv__group_is_same(const spmv_device *a, const spmv_device *b)
{
    if (!a || !b) return a == b || spmv__group_is_cpu(a) || spmv__group_is_cpu(b);
    return a == b || (a->info.backend == b->info.backend && a->info.id == b->info.id);
}

static spmv_status spmv__group_peer_open(const spmv_device *to, const spmv_device *from)
{
    return spmv__group_transfer(to)->peer_open(to, from);
}

/* What a block needs to send: the kernel that collects, its list of elements, and room for them; nothing if it sends from x itself. */
static spmv_status spmv__group_sender(const spmv_group *g, spmv_group_block *b)
{
    spmv_device *d = b->device;
    const spmv_backend *back;
    uint64_t zero = 0, size = spmv_vector_size(g->type);
    spmv_status s;
    if (!d || !b->sends || b->direct_) return SPMV_OK;
    back = d->info.backend;
    s = spmv__dev_vector_program(d, (int)SPMV__KERNEL_GATHER, g->type, &b->program_);
    b->wg_ = (uint64_t)spmv__dev_vector_group(d);
    if (!s) s = spmv__dev_groups(d, b->sends, b->wg_, b->wg_, &b->groups_);
    if (!s) s = back->kernel(d, b->program_, "spmv", &b->kernel_);
    if (!s) s = spmv__dev_new_filled(d, b->sends * 4, 1, b->index_, &b->send_index_);
    if (!s) s = spmv__dev_new_buffer(d, b->sends * size, 0, &b->packed_);
    if (!s) s = back->argument(d, b->kernel_, 1, &zero, sizeof zero);
    if (!s) s = back->argument(d, b->kernel_, 2, &b->send_index_, sizeof b->send_index_);
    if (!s) s = back->argument(d, b->kernel_, 3, &b->sends, sizeof b->sends);
    if (!s) s = back->argument(d, b->kernel_, 4, &b->packed_, sizeof b->packed_);
    spmv_free(&g->hooks, b->index_);
    b->index_ = NULL;
    return s;
}

/* Makes the queue and the points of a block's device. */
static spmv_status spmv__group_open_device(spmv_group_block *b)
{
    const spmv_device *d = b->device;
    const spmv_transfer *t;
    spmv_status s;
    if (!d) return SPMV_OK;
    t = spmv__group_transfer(d);
    s = t->queue(d, &b->queue_);
    if (!s) s = t->point(d, &b->ready_);
    if (!s) s = t->point(d, &b->gathered_);
    if (!s) s = t->point(d, &b->sent_);
    return s ? s : t->point(d, &b->arrived_);
}

static void spmv__group_point_free(const spmv_device *d, void *point)
{
    if (point) spmv__group_transfer(d)->point_free(d, point);
}

static void spmv__group_close_device(spmv_group_block *b)
{
    const spmv_device *d = b->device;
    if (!d || !spmv__dev_is_here(d)) return;
    if (b->queue_) spmv__group_transfer(d)->queue_end(d, b->queue_);
    spmv__group_point_free(d, b->ready_);
    spmv__group_point_free(d, b->gathered_);
    spmv__group_point_free(d, b->sent_);
    spmv__group_point_free(d, b->arrived_);
    spmv__dev_kernel_free(d, b->kernel_);
    spmv__dev_buffer_free(d, b->send_index_);
    spmv__dev_buffer_free(d, b->packed_);
}

static spmv_status spmv__group_pin(spmv_group_block *b, uint64_t bytes)
{
    return spmv__group_transfer(b->stage_of_)->pin(b->stage_of_, bytes, &b->stage_, &b->stage_handle_);
}

static void spmv__group_unpin(spmv_group_block *b)
{
    if (spmv__dev_is_here(b->stage_of_)) spmv__group_transfer(b->stage_of_)->unpin(b->stage_of_, b->stage_, b->stage_handle_);
}

/* Does any kernel of the matrix read x through an image? */
static int spmv__group_has_image(const spmv_matrix *m)
{
    size_t i;
    int any = 0;
    for (i = 0; m->exec && i < m->exec->count; i++) any |= m->exec->launch[i].texel != 0;
    return any;
}

static spmv_status spmv__group_room_device(const spmv_device *d, uint64_t bytes, void **out) { return spmv_buffer_create(d, bytes, out); }
static void spmv__group_room_free_device(const spmv_device *d, void *at) { spmv_buffer_destroy(d, at); }

/* Enqueues a copy between host memory and a piece of a vector, behind products. */
static spmv_status spmv__group_copy_device(const spmv_device *d, const spmv_group_part *p, uint64_t size, void *to, const void *from)
{
    const spmv_transfer *t = spmv__group_transfer(d);
    if (to) return t->get(d, d->queue, p->at, p->offset * size, p->count * size, to);
    return t->put(d, d->queue, p->at, p->offset * size, p->count * size, from);
}

/* Waits for the queues of a device; the queue of transfers first, since products may wait for it. */
static spmv_status spmv__group_finish_device(const spmv_group_block *b)
{
    const spmv_backend *back = b->device->info.backend;
    spmv_status s = SPMV_OK, other;
    if (!spmv__dev_is_here(b->device)) return s; /* spmv_group_wait refuses it; what frees does not wait */
    if (b->queue_) s = back->finish(b->device, b->queue_);
    other = back->finish(b->device, b->device->queue);
    return s ? s : other;
}

static spmv_status spmv__group_piece_device(spmv_group_piece *p, double alpha, void *x, uint64_t x0, double beta, void *y, uint64_t y0)
{
    return spmv_exec_mul(p->m.exec, alpha, x, x0, beta, y, y0);
}

/* What is enqueued in the block's own queue from now on comes after all that is in the queue of its device. */
static spmv_status spmv__group_begin_device(const spmv_group_block *b)
{
    const spmv_device *d = b->device;
    const spmv_transfer *t = spmv__group_transfer(d);
    spmv_status s = t->set(d, d->queue, b->ready_);
    return s ? s : t->follow(d, b->queue_, b->ready_);
}

/* What is enqueued in the queue of the device from now on comes after the halo, or, without one, after what was sent was collected. */
static spmv_status spmv__group_end_device(const spmv_group_block *b)
{
    const spmv_device *d = b->device;
    const spmv_transfer *t = spmv__group_transfer(d);
    spmv_status s = t->set(d, b->queue_, b->arrived_);
    return s ? s : t->follow(d, d->queue, b->arrived_);
}

/* Lets a queue of the block's device wait until the other devices have fetched what it sent last. */
static spmv_status spmv__group_fetched(const spmv_group *g, const spmv_group_block *b, void *queue)
{
    size_t i, from = (size_t)(b - g->block);
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < g->messages; i++)
        if (g->message[i].from == from && g->message[i].peer)
            s = spmv__group_transfer(b->device)->follow(b->device, queue, g->block[g->message[i].to].arrived_);
    return s;
}

/* Enqueues collecting what a device sends from its piece of x. */
static spmv_status spmv__group_gather(const spmv_group *g, spmv_group_block *b, const spmv_group_part *x)
{
    static const spmv_order none = { 0, NULL, NULL };
    const spmv_device *d = b->device;
    const spmv_backend *back = d->info.backend;
    spmv_status s = spmv__group_fetched(g, b, b->queue_);
    if (!s) s = back->argument(d, b->kernel_, 0, &x->at, sizeof x->at);
    if (!s) s = back->argument(d, b->kernel_, 1, &x->offset, sizeof x->offset);
    if (!s) s = back->launch(d, b->queue_, b->kernel_, b->groups_, b->wg_, &none, NULL);
    return s ? s : back->transfer->set(d, b->queue_, b->gathered_);
}

/* Enqueues a copy of a message to the host's memory. */
static spmv_status spmv__group_stage_message(const spmv_group *g, const spmv_group_block *b, const spmv_group_message *m,
                                             const spmv_group_part *x)
{
    const spmv_device *d = b->device;
    uint64_t size = spmv_vector_size(g->type);
    void *to = spmv__group_at(b->stage_, m->at * size);
    if (b->direct_) return spmv__group_transfer(d)->get(d, b->queue_, x->at, (x->offset + m->first) * size, m->count * size, to);
    return spmv__group_transfer(d)->get(d, b->queue_, b->packed_, m->at * size, m->count * size, to);
}

/* Enqueues collecting what a device sends; what other devices do not fetch themselves goes to the host. */
static spmv_status spmv__group_send_device(const spmv_group *g, spmv_group_block *b, const spmv_group_part *x)
{
    const spmv_device *d = b->device;
    size_t i, from = (size_t)(b - g->block);
    spmv_status s = SPMV_OK;
    if (b->sends && !b->direct_) s = spmv__group_gather(g, b, x);
    for (i = 0; !s && i < g->messages; i++)
        if (g->message[i].from == from && !g->message[i].peer) s = spmv__group_stage_message(g, b, &g->message[i], x);
    return s || !b->staged_ ? s : spmv__group_transfer(d)->set(d, b->queue_, b->sent_);
}

/* Enqueues fetching a message from another device of the back end. */
static spmv_status spmv__group_fetch(const spmv_group *g, const spmv_group_message *m, const spmv_group_part *x)
{
    const spmv_group_block *b = &g->block[m->to], *from = &g->block[m->from];
    const spmv_transfer *t = spmv__group_transfer(b->device);
    uint64_t size = spmv_vector_size(g->type), at = from->direct_ ? x[m->from].offset + m->first : m->at;
    spmv_status s = t->follow(b->device, b->queue_, from->direct_ ? from->ready_ : from->gathered_);
    return s ? s : t->peer(b->device, b->queue_, x[m->to].at, m->into * size, from->device,
                           from->direct_ ? x[m->from].at : from->packed_, at * size, m->count * size);
}

/* Enqueues the copies of a device's halo into its x; x: of all blocks. */
static spmv_status spmv__group_receive_device(const spmv_group *g, spmv_group_block *b, const spmv_group_part *x)
{
    const spmv_device *d = b->device;
    const spmv_transfer *t = spmv__group_transfer(d);
    uint64_t size = spmv_vector_size(g->type);
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < g->messages; i++) {
        const spmv_group_message *m = &g->message[i];
        spmv_group_block *from = &g->block[m->from];
        if (&g->block[m->to] != b) continue;
        if (m->peer) s = spmv__group_fetch(g, m, x);
        else {
            if (from->device) s = spmv__group_transfer(from->device)->wait(from->device, from->sent_);
            if (!s) s = t->put(d, b->queue_, x[m->to].at, m->into * size, m->count * size, spmv__group_at(from->stage_, m->at * size));
        }
    }
    return s;
}

/* Lets the queue of a device that sends from x itself wait until that has been fetched, so that x may be changed. */
static spmv_status spmv__group_release_device(const spmv_group *g, const spmv_group_block *b)
{
    return b->direct_ ? spmv__group_fetched(g, b, b->device->queue) : SPMV_OK;
}

static spmv_status spmv__group_wait_sent(const spmv_group_block *b) { return spmv__group_transfer(b->device)->wait(b->device, b->sent_); }
static spmv_status spmv__group_wait_arrived(const spmv_group_block *b)
{
    return spmv__group_transfer(b->device)->wait(b->device, b->arrived_);
}

/* Starts what is in the device's queue. */
static spmv_status spmv__group_go(const spmv_group_block *b)
{
    const spmv_transfer *t = spmv__group_transfer(b->device);
    return t->start ? t->start(b->device, b->device->queue) : SPMV_OK;
}
#else
/* A build without devices: no block has one, so that none of these is reached. */
static spmv_status spmv__group_check_device(const spmv_device *d, size_t i, const spmv_hooks *h)
{
    if (!d) return SPMV_OK;
    return spmv_log(h, SPMV_ERR_UNSUPPORTED, "spmv_group_create: device %llu was given, but this build has none", (spmv__ull)i);
}
static int spmv__group_is_peer(const spmv_device *from, const spmv_device *to) { return from != NULL && to != NULL; }
static int spmv__group_is_same(const spmv_device *a, const spmv_device *b) { return a == b; }
static int spmv__group_is_alike(const spmv_device *a, const spmv_device *b) { return a == b; }
static int spmv__group_is_cpu(const spmv_device *d) { return d != NULL; }
static spmv_status spmv__group_peer_open(const spmv_device *to, const spmv_device *from) { (void)to; (void)from; return SPMV_OK; }
static spmv_status spmv__group_open_device(spmv_group_block *b) { (void)b; return SPMV_OK; }
static spmv_status spmv__group_sender(const spmv_group *g, spmv_group_block *b) { (void)g; (void)b; return SPMV_OK; }
static void spmv__group_close_device(spmv_group_block *b) { (void)b; }
static spmv_status spmv__group_pin(spmv_group_block *b, uint64_t bytes) { (void)b; (void)bytes; return SPMV_OK; }
static void spmv__group_unpin(spmv_group_block *b) { (void)b; }
static int spmv__group_has_image(const spmv_matrix *m) { (void)m; return 0; }
static spmv_status spmv__group_room_device(const spmv_device *d, uint64_t bytes, void **out)
{
    (void)d;
    (void)bytes;
    (void)out;
    return SPMV_OK;
}
static void spmv__group_room_free_device(const spmv_device *d, void *at) { (void)d; (void)at; }
static spmv_status spmv__group_copy_device(const spmv_device *d, const spmv_group_part *p, uint64_t size, void *to, const void *from)
{
    (void)d;
    (void)p;
    (void)size;
    (void)to;
    (void)from;
    return SPMV_OK;
}
static spmv_status spmv__group_finish_device(const spmv_group_block *b) { (void)b; return SPMV_OK; }
static spmv_status spmv__group_piece_device(spmv_group_piece *p, double alpha, void *x, uint64_t x0, double beta, void *y, uint64_t y0)
{
    (void)x0;
    (void)y0;
    return spmv_mul(&p->m, alpha, x, beta, y);
}
static spmv_status spmv__group_begin_device(const spmv_group_block *b) { (void)b; return SPMV_OK; }
static spmv_status spmv__group_end_device(const spmv_group_block *b) { (void)b; return SPMV_OK; }
static spmv_status spmv__group_release_device(const spmv_group *g, const spmv_group_block *b) { (void)g; (void)b; return SPMV_OK; }
static spmv_status spmv__group_send_device(const spmv_group *g, spmv_group_block *b, const spmv_group_part *x)
{
    (void)g;
    (void)b;
    (void)x;
    return SPMV_OK;
}
static spmv_status spmv__group_receive_device(const spmv_group *g, spmv_group_block *b, const spmv_group_part *x)
{
    return spmv__group_send_device(g, b, x);
}
static spmv_status spmv__group_wait_sent(const spmv_group_block *b) { (void)b; return SPMV_OK; }
static spmv_status spmv__group_wait_arrived(const spmv_group_block *b) { (void)b; return SPMV_OK; }
static spmv_status spmv__group_go(const spmv_group_block *b) { (void)b; return SPMV_OK; }
#endif

#endif
