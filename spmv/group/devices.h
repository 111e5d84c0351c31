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

static const char *spmv__group_name(const spmv_group_block *block)
{
#ifdef SPMV_DEVICE_H
    if (block->device) return block->device->info.name;
#else
    (void)block;
#endif
    return "host";
}

/* Adds to a failure which device it was; the reason has been logged. */
static spmv_status spmv__group_blame(const spmv_group *group, const spmv_group_block *block, spmv_status s)
{
    if (!s) return s;
    return spmv_log(&group->hooks, s, "device %llu of the group (%s), rows %llu to %llu: %s", (spmv__ull)(block - group->block),
                    spmv__group_name(block), (spmv__ull)block->row, (spmv__ull)(block->row + block->rows), spmv_status_text(s));
}

/* ---- on a device ----------------------------------------------------------------------------------------------------
 * All that is different between a device and the host. SPMV__ON_DEVICE is what a call returns; in a build without devices, where no
 * block has one, nothing is called. */

#ifdef SPMV_DEVICE_H
#define SPMV__ON_DEVICE(call) (call)
static const spmv_transfer *spmv__group_transfer(const spmv_device *device) { return device->info.backend->transfer; }

/* Refuses a device that cannot be part of a group. */
static spmv_status spmv__group_check_device(const spmv_device *device, size_t i, const spmv_hooks *hooks)
{
    if (!device) return SPMV_OK;
    if (!device->info.backend) return spmv_log(hooks, SPMV_ERR_ARGUMENT, "spmv_group_create: device %llu is not open", (spmv__ull)i);
    if (!spmv__dev_is_here(device)) return spmv__dev_not_here(device, "spmv_group_create", NULL, 0);
    if (!spmv__group_transfer(device))
        return spmv_log(hooks, SPMV_ERR_UNSUPPORTED, "spmv_group_create: device %llu: %s has no transfers", (spmv__ull)i,
                        device->info.backend->name);
    if (!device->common->chain) return SPMV_OK;
    return spmv_log(hooks, SPMV_ERR_UNSUPPORTED, "spmv_group_create: the queue of device %llu (%s) is out of order", (spmv__ull)i,
                    device->info.name);
}

/* 1: halos go from one to the other without the host. */
static int spmv__group_is_peer(const spmv_device *from, const spmv_device *to)
{
    return from && to && from->info.backend == to->info.backend && spmv__group_transfer(to)->peer;
}

/* 1: estimates for one hold for the other. */
static int spmv__group_is_alike(const spmv_device *device, const spmv_device *other)
{
    return device == other || (device && other && device->info.backend == other->info.backend &&
                               !strcmp(device->info.name, other->info.name));
}

static int spmv__group_is_cpu(const spmv_device *device) { return device && device->info.type == SPMV_DEVICE_CPU; }

/* 1: both are the same processor, so that they share its time; a CPU is the host's. */
static int spmv__group_is_same(const spmv_device *device, const spmv_device *other)
{
    if (!device || !other) return device == other || spmv__group_is_cpu(device) || spmv__group_is_cpu(other);
    return device == other || (device->info.backend == other->info.backend && device->info.id == other->info.id);
}

/* What a block needs to send: the kernel that collects, its list of elements, and room for them; nothing if it sends from x itself. */
static spmv_status spmv__group_sender(const spmv_group *group, spmv_group_block *block)
{
    spmv_device *device = block->device;
    const spmv_backend *back;
    uint64_t size = spmv_vector_size(group->type);
    spmv_status s;
    if (!device || !block->sends || block->direct_) return SPMV_OK;
    back = device->info.backend;
    s = spmv__dev_vector_program(device, (int)SPMV__KERNEL_GATHER, group->type, &block->program_);
    block->wg_ = (uint64_t)spmv__dev_vector_group(device);
    if (!s) s = spmv__dev_groups(device, block->sends, block->wg_, block->wg_, &block->groups_);
    if (!s) s = back->kernel(device, block->program_, "spmv", &block->kernel_);
    if (!s) s = spmv__dev_new_filled(device, block->sends * 4, 1, block->index_, &block->send_index_);
    if (!s) s = spmv__dev_new_buffer(device, block->sends * size, 0, &block->packed_);
    const spmv__dev_value given[4] = {
        spmv__number(0), spmv__mem(block->send_index_), spmv__number(block->sends), spmv__mem(block->packed_)
    };
    if (!s) s = spmv__dev_set(device, block->kernel_, 1, given, SPMV__COUNT_OF(given));
    spmv_free(&group->hooks, block->index_);
    block->index_ = NULL;
    return s;
}

/* Makes the queue and the points of a block's device. */
static spmv_status spmv__group_queue_create(spmv_group_block *block)
{
    const spmv_device *device = block->device;
    const spmv_transfer *transfer;
    spmv_status s;
    if (!device) return SPMV_OK;
    transfer = spmv__group_transfer(device);
    s = transfer->queue(device, &block->queue_);
    if (!s) s = transfer->point(device, &block->ready_);
    if (!s) s = transfer->point(device, &block->gathered_);
    if (!s) s = transfer->point(device, &block->sent_);
    return s ? s : transfer->point(device, &block->arrived_);
}

static void spmv__group_point_free(const spmv_device *device, void *point)
{
    if (point) spmv__group_transfer(device)->point_free(device, point);
}

static void spmv__group_queue_destroy(spmv_group_block *block)
{
    const spmv_device *device = block->device;
    if (!device || !spmv__dev_is_here(device)) return;
    if (block->queue_) spmv__group_transfer(device)->queue_end(device, block->queue_);
    spmv__group_point_free(device, block->ready_);
    spmv__group_point_free(device, block->gathered_);
    spmv__group_point_free(device, block->sent_);
    spmv__group_point_free(device, block->arrived_);
    spmv__dev_kernel_free(device, block->kernel_);
    spmv__dev_buffer_free(device, block->send_index_);
    spmv__dev_buffer_free(device, block->packed_);
}

static void spmv__group_unpin(spmv_group_block *block)
{
    if (spmv__dev_is_here(block->stage_of_))
        spmv__group_transfer(block->stage_of_)->unpin(block->stage_of_, block->stage_, block->stage_handle_);
    block->stage_ = NULL;
}

/* Does any kernel of the matrix read x through an image? */
static int spmv__group_has_image(const spmv_matrix *matrix)
{
    size_t i;
    int any = 0;
    for (i = 0; matrix->exec && i < matrix->exec->count; i++) any |= matrix->exec->launch[i].image;
    return any;
}

/* Enqueues a copy between host memory and a piece of a vector, behind products. */
static spmv_status spmv__group_copy_device(const spmv_device *device, const spmv_group_part *p, uint64_t size, void *to, const void *from)
{
    const spmv_transfer *transfer = spmv__group_transfer(device);
    if (to) return transfer->get(device, device->queue, p->at, p->offset * size, p->count * size, to);
    return transfer->put(device, device->queue, p->at, p->offset * size, p->count * size, from);
}

/* Waits for the queues of a device; the queue of transfers first, since products may wait for it. */
static spmv_status spmv__group_finish_device(const spmv_group_block *block)
{
    const spmv_backend *back = block->device->info.backend;
    spmv_status s = SPMV_OK, other;
    if (!spmv__dev_is_here(block->device)) return s; /* spmv_group_wait refuses it; what frees does not wait */
    if (block->queue_) s = back->finish(block->device, block->queue_);
    other = back->finish(block->device, block->device->queue);
    return s ? s : other;
}

/* What is enqueued in the block's own queue from now on comes after all that is in the queue of its device. */
static spmv_status spmv__group_begin_device(const spmv_group_block *block)
{
    const spmv_device *device = block->device;
    const spmv_transfer *transfer = spmv__group_transfer(device);
    spmv_status s = transfer->set(device, device->queue, block->ready_);
    return s ? s : transfer->follow(device, block->queue_, block->ready_);
}

/* What is enqueued in the queue of the device from now on comes after the halo, or, without one, after what was sent was collected. */
static spmv_status spmv__group_end_device(const spmv_group_block *block)
{
    const spmv_device *device = block->device;
    const spmv_transfer *transfer = spmv__group_transfer(device);
    spmv_status s = transfer->set(device, block->queue_, block->arrived_);
    return s ? s : transfer->follow(device, device->queue, block->arrived_);
}

/* Lets a queue of the block's device wait until the other devices have fetched what it sent last. */
static spmv_status spmv__group_fetched(const spmv_group *group, const spmv_group_block *block, void *queue)
{
    size_t i, from = (size_t)(block - group->block);
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < group->messages; i++)
        if (group->message[i].from == from && group->message[i].peer)
            s = spmv__group_transfer(block->device)->follow(block->device, queue, group->block[group->message[i].to].arrived_);
    return s;
}

/* Enqueues collecting what a device sends from its piece of x. */
static spmv_status spmv__group_gather(const spmv_group *group, spmv_group_block *block, const spmv_group_part *x)
{
    static const spmv_order none = { 0, NULL, NULL };
    const spmv_device *device = block->device;
    const spmv_backend *back = device->info.backend;
    const spmv__dev_value given[2] = { spmv__mem(x->at), spmv__number(x->offset) };
    spmv_status s = spmv__group_fetched(group, block, block->queue_);
    if (!s) s = spmv__dev_set(device, block->kernel_, 0, given, SPMV__COUNT_OF(given));
    if (!s) s = back->launch(device, block->queue_, block->kernel_, block->groups_, block->wg_, &none, NULL);
    return s ? s : back->transfer->set(device, block->queue_, block->gathered_);
}

/* Enqueues a copy of a message to the host's memory. */
static spmv_status spmv__group_stage_message(const spmv_group *group, const spmv_group_block *block, const spmv_group_message *message,
                                             const spmv_group_part *x)
{
    const spmv_device *device = block->device;
    uint64_t size = spmv_vector_size(group->type);
    void *to = spmv__group_at(block->stage_, message->at * size);
    if (block->direct_)
        return spmv__group_transfer(device)->get(device, block->queue_, x->at, (x->offset + message->first) * size, message->count * size,
                                                 to);
    return spmv__group_transfer(device)->get(device, block->queue_, block->packed_, message->at * size, message->count * size, to);
}

/* Enqueues collecting what a device sends; what other devices do not fetch themselves goes to the host. */
static spmv_status spmv__group_send_device(const spmv_group *group, spmv_group_block *block, const spmv_group_part *x)
{
    const spmv_device *device = block->device;
    size_t i, from = (size_t)(block - group->block);
    spmv_status s = SPMV_OK;
    if (block->sends && !block->direct_) s = spmv__group_gather(group, block, x);
    for (i = 0; !s && i < group->messages; i++)
        if (group->message[i].from == from && !group->message[i].peer) s = spmv__group_stage_message(group, block, &group->message[i], x);
    return s || !block->staged_ ? s : spmv__group_transfer(device)->set(device, block->queue_, block->sent_);
}

/* Enqueues fetching a message from another device of the back end. */
static spmv_status spmv__group_fetch(const spmv_group *group, const spmv_group_message *message, const spmv_group_part *x)
{
    const spmv_group_block *block = &group->block[message->to], *from = &group->block[message->from];
    const spmv_transfer *transfer = spmv__group_transfer(block->device);
    uint64_t size = spmv_vector_size(group->type), at = from->direct_ ? x[message->from].offset + message->first : message->at;
    spmv_status s = transfer->follow(block->device, block->queue_, from->direct_ ? from->ready_ : from->gathered_);
    return s ? s : transfer->peer(block->device, block->queue_, x[message->to].at, message->into * size, from->device,
                                  from->direct_ ? x[message->from].at : from->packed_, at * size, message->count * size);
}

/* Enqueues the copies of a device's halo into its x; x: of all blocks. */
static spmv_status spmv__group_receive_device(const spmv_group *group, spmv_group_block *block, const spmv_group_part *x)
{
    const spmv_device *device = block->device;
    const spmv_transfer *transfer = spmv__group_transfer(device);
    uint64_t size = spmv_vector_size(group->type);
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < group->messages; i++) {
        const spmv_group_message *message = &group->message[i];
        spmv_group_block *from = &group->block[message->from];
        if (&group->block[message->to] != block) continue;
        if (message->peer) s = spmv__group_fetch(group, message, x);
        else {
            if (from->device) s = spmv__group_transfer(from->device)->wait(from->device, from->sent_);
            if (!s)
                s = transfer->put(device, block->queue_, x[message->to].at, message->into * size, message->count * size,
                                  spmv__group_at(from->stage_, message->at * size));
        }
    }
    return s;
}

/* Starts what is in the device's queue. */
static spmv_status spmv__group_go(const spmv_group_block *block)
{
    const spmv_transfer *transfer = spmv__group_transfer(block->device);
    return transfer->start ? transfer->start(block->device, block->device->queue) : SPMV_OK;
}
#else
#define SPMV__ON_DEVICE(call) SPMV_OK
static spmv_status spmv__group_check_device(const spmv_device *device, size_t i, const spmv_hooks *hooks)
{
    if (!device) return SPMV_OK;
    return spmv_log(hooks, SPMV_ERR_UNSUPPORTED, "spmv_group_create: device %llu was given, but this build has none", (spmv__ull)i);
}
static int spmv__group_is_peer(const spmv_device *from, const spmv_device *to) { return from != NULL && to != NULL; }
static int spmv__group_is_same(const spmv_device *device, const spmv_device *other) { return device == other; }
static int spmv__group_is_alike(const spmv_device *device, const spmv_device *other) { return device == other; }
static int spmv__group_is_cpu(const spmv_device *device) { return device != NULL; }
#endif

#endif
