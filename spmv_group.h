/* SPDX-License-Identifier: MIT
 *
 * spmv_group.h - one matrix on several devices: OpenCL devices of one or several contexts, GPUs of CUDA, the host.
 *
 *     spmv_device *on[2] = {&gpu, NULL};            // NULL is the host
 *     spmv_group_desc d = {0};
 *     d.desc.matrix.rows = ...                      // everything as for spmv_create
 *     d.device = on;
 *     d.count = 2;
 *     spmv_group g;
 *     if (spmv_group_create(&g, &d) != SPMV_OK) ...
 *     spmv_group_mul(&g, 1.0, x, 0.0, y);           // y = A x, vectors on the host
 *     spmv_group_destroy(&g);
 *
 * Each device gets a block of adjacent rows (Kuresson 2012, 9), with a plan of its own, and the piece of x with the same numbers. What its
 * rows read of the other pieces is its halo. A block is an ordinary matrix: its columns are the halo columns before its piece of x, the
 * piece, and the halo columns behind it, in the order of the whole matrix. So diagonals and blocks of nonzeros stay what they are.
 *
 * A product collects the elements that other devices need (kernels/gather.cl, or a loop on the host; adjacent elements are sent from where
 * they are) and sends them: between devices of CUDA directly, everywhere else through pinned host memory. Meanwhile a device multiplies
 * its rows by its own piece of x; the columns of the halo are another matrix, whose product is added when the halo is there. In a square
 * matrix the y of a product is the x of the next one without leaving its devices, so that iterative solvers never collect a vector
 * (examples/two_devices.c).
 *
 * Bits: the same division, plans and devices give the same bits. "auto" finds the same plans each time, "measure" may not. With
 * desc.reproducible a device waits for its halo and multiplies its block as one matrix, so that
 * the sums of a row are formed in the same order as on one device; with one plan for all of csr, sell or ell, the bits are those of one
 * device.
 *
 * Optional, above spmv.h. One thread at a time may use a group and its vectors; its devices serve nobody else meanwhile.
 *
 * If you only want the interface, stop at "END OF THE INTERFACE".
 */
/* Above the guard: the bodies may be wanted although the interface was seen. What is complete is not read again. */
#if !defined(SPMV_H) || (defined(SPMV_IMPLEMENTATION) && !defined(SPMV_IMPLEMENTED))
#include "spmv.h"
#endif
#ifndef SPMV_GROUP_H
#define SPMV_GROUP_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- start here --------------------------------------------------------------------------------------------------- */

/* What the rows are divided by. */
typedef enum spmv_group_division {
    SPMV_GROUP_BY_RATE = 0, /* by the time that each device needs for its own block, measured or estimated. If with the exchange of halos
                               this takes more than four fifths of the time of one device alone, that one gets all rows; so it does if
                               the others are the same processors, as the host and a CPU of OpenCL are. If nothing is measured and the
                               matrix is so small that no plans are compared on one of the devices (SPMV_TINY_BYTES), the first one
                               gets all rows */
    SPMV_GROUP_BY_NNZ,      /* every device gets as many nonzeros, within a row */
    SPMV_GROUP_BY_ROWS      /* every device gets as many rows, as Kuresson 2012, 9 */
} spmv_group_division;

/* Zero-initialise it and set desc, device and count; zero is the default of all else. */
typedef struct spmv_group_desc {
    spmv_desc desc;              /* the matrix and how it is stored, as for spmv_create, but without buffers. "auto" chooses for
                                    each block, "measure" times for each, any other plan is used for all. device is ignored; so are
                                    measure and choice of the hints, as no block is the matrix that their caller knows */
    spmv_device *const *device;  /* count of them, each open and with a queue in order; NULL is the host. They must outlive the group and
                                    not move. The same device may be given twice. The array is needed only during the call */
    size_t      count;           /* at least 1 */
    const char *const *plan;     /* a plan for each device's block, in place of desc.plan; NULL: none. So may be single elements */
    spmv_group_division divide;
    const double *shares;        /* count weights of at least 0 and not all 0: each device gets that share of the nonzeros, or of the
                                    rows with SPMV_GROUP_BY_ROWS; rates are then not looked at. NULL: equal shares, or rates */
    /* For SPMV_GROUP_BY_RATE: the seconds of one product with the block of device i, stored by itself with all columns; above 0. NULL:
     * the estimates of spmv_choose for "auto" (with SPMV_NO_AUTO: as SPMV_GROUP_BY_NNZ). */
    double    (*measure)(void *user, size_t i, spmv_matrix *block);
    void       *measure_user;
    int         estimate;        /* 1: estimate times for spmv_group_explain even if the division needs none */
} spmv_group_desc;

/* One piece of a vector. */
typedef struct spmv_group_part {
    void    *at;     /* the buffer as the back end has it (OpenCL: cl_mem, CUDA: CUdeviceptr), or memory on the host */
    uint64_t offset; /* where the piece begins in it, in elements; before it and behind it is room for halos */
    uint64_t begin;  /* the number of its first element in the whole vector */
    uint64_t count;  /* its elements */
} spmv_group_part;

typedef struct spmv_group spmv_group;

/* A vector whose pieces lie on the devices of a group. Read the members freely. The elements of a piece may be changed by work in the
 * queue of its device (device->queue); on the host, at any time after spmv_group_wait. */
typedef struct spmv_group_vector {
    spmv_group      *group;
    spmv_group_part *part;  /* one for each device */
    int              is_x;  /* 1: has the columns' elements and room for halos, so that it can be x */
    int              is_y;  /* 1: has the rows' elements. In a square matrix every vector is both */
    uint64_t         length;
} spmv_group_vector;

typedef enum spmv_group_side { SPMV_GROUP_X = 0, SPMV_GROUP_Y } spmv_group_side;

/* Divides the matrix, finds the halos, and prepares every block. Takes memory for a second copy of one block at a time.
 *   g     need not be initialised; zeroed on failure, of which nothing is left. It must not move. Free it with spmv_group_destroy
 *   desc  needed only during the call
 * The statuses of spmv_create, with a message that names the device and its rows; SPMV_ERR_UNSUPPORTED if a queue is out of order or a back
 * end has no transfers (spmv_transfer). */
SPMV_API spmv_status spmv_group_create(spmv_group *g, const spmv_group_desc *desc);

/* y = alpha A x + beta y with vectors on the host, as spmv_mul. The first call allocates vectors on the devices, which g keeps. After a
 * fault of any device, all of y is undefined. */
SPMV_API spmv_status spmv_group_mul(spmv_group *g, double alpha, const void *x, double beta, void *y);

/* Waits for all that was enqueued, frees everything and zeroes *g. Free its vectors before. A zeroed group or NULL is ignored. */
SPMV_API void spmv_group_destroy(spmv_group *g);

/* ---- vectors that stay on the devices ------------------------------------------------------------------------------ */

/* Makes a vector, uninitialised, for the given side of products.
 *   v     need not be initialised; zeroed on failure
 *   g     must outlive v */
SPMV_API spmv_status spmv_group_vector_create(spmv_group_vector *v, spmv_group *g, spmv_group_side side);
/* Waits for the devices and frees it. A zeroed vector or NULL is ignored. */
SPMV_API void spmv_group_vector_free(spmv_group_vector *v);
/* Copy all v->length elements from and to host memory, and return when that is done. The pointer may be NULL if length is 0. */
SPMV_API spmv_status spmv_group_vector_write(spmv_group_vector *v, const void *from);
SPMV_API spmv_status spmv_group_vector_read(const spmv_group_vector *v, void *to);

/* Enqueues y = alpha A x + beta y after all that is in the devices' queues, and returns before it is done; what is enqueued in the
 * same queues afterwards comes after it. It waits only for halos that come through the host, and, where the host has a block, for the
 * host's product. Nothing is allocated.
 *   x  made for SPMV_GROUP_X. Its pieces stay as they are; the room for halos around them is written
 *   y  made for SPMV_GROUP_Y (square matrices: either), other than x where that is read
 * alpha and beta are as in spmv_mul. After a fault of any device, which is waited out, all of y is undefined; the group can be used
 * again. */
SPMV_API spmv_status spmv_group_mul_vectors(spmv_group *g, double alpha, spmv_group_vector *x, double beta, spmv_group_vector *y);

/* Waits until everything in the devices' queues is done. */
SPMV_API spmv_status spmv_group_wait(spmv_group *g);

/* ---- more ---------------------------------------------------------------------------------------------------------- */

/* Replaces the values as spmv_update does, for a group made with desc.updatable. Waits for products. After a failure (except
 * SPMV_ERR_FIXED and SPMV_ERR_ARGUMENT) the values are undefined. */
SPMV_API spmv_status spmv_group_update(spmv_group *g, const void *val);

/* One of the matrices that a block is stored as. */
typedef struct spmv_group_piece {
    spmv_matrix m;
    uint64_t    row, nonzero;          /* where it begins in the matrix of the group */
    uint64_t   *from_;                 /* some columns of an updatable matrix: the number of each of its nonzeros; else NULL */
    int         own;                   /* 1: its columns are the block's own piece of x alone, and it waits for no halo */
    int         adds;                  /* 1: its columns are those of the halo alone, and it adds to what the matrix before it stored */
    int         image;                 /* 1: a kernel reads x through an image, which nothing may write meanwhile */
} spmv_group_piece;

/* What a device has. Read the members freely; those that end in an underscore are private. */
typedef struct spmv_group_block {
    spmv_device *device;               /* NULL: the host */
    uint64_t     row, rows;            /* its rows of the matrix */
    uint64_t     col, cols;            /* its piece of x */
    uint64_t     nnz;
    uint64_t     before, after;        /* halo columns before and behind the piece */
    uint64_t     sends;                /* elements that it sends in a product */
    uint64_t     own_nnz;              /* its nonzeros in columns of its own piece */
    uint64_t     reads_first, reads_end; /* the rows of the matrix from the first to behind the last that reads the halo */
    int          split;                /* 1: it is stored as two matrices, its own columns and those of the halo */
    double       predicted;            /* seconds of its product by estimate or measurement; 0: not known */
    double       exchange;             /* seconds until its halo is there, by a rule of thumb */
    int          pieces;
    spmv_group_piece piece[2];
    uint32_t    *index_;               /* host: which elements of the piece are sent, by receiver */
    void        *send_index_, *packed_, *program_, *kernel_; /* device: the same, and the kernel that collects them */
    void        *queue_;               /* device: where the exchange goes */
    void        *ready_, *gathered_, *sent_, *arrived_; /* points in the two queues */
    uint64_t     groups_, wg_;
    int          direct_;              /* device: 1 if each of its messages is adjacent elements, which are sent from x itself */
    void        *stage_, *stage_handle_; /* host memory that holds what is sent */
    spmv_device *stage_of_;            /* which pinned it; NULL: it is ordinary memory */
    int          staged_, receives_;   /* 1: some of what it sends, or receives, goes through the host */
} spmv_group_block;

/* The elements that one device sends to another in a product. */
typedef struct spmv_group_message {
    size_t   from, to;
    uint64_t count;
    uint64_t at;    /* where they begin among those that from sends */
    uint64_t first; /* the first of them in the piece of from */
    uint64_t into;  /* where they go in the columns of to's block */
    int      peer;  /* 1: without the host */
} spmv_group_message;

struct spmv_group {
    size_t              count;    /* devices */
    spmv_group_block   *block;    /* one for each */
    size_t              messages;
    spmv_group_message *message;
    uint64_t            rows, cols, nnz;
    spmv_type           type;
    spmv_group_division divided;  /* by what: BY_RATE also if it came out as one device alone */
    double              alone, together; /* BY_RATE: predicted seconds on the fastest device alone, and divided; 0: not known */
    int                 shares;   /* 1: shares were given */
    int                 updatable, borrowed_csr;
    spmv_csr            own_;     /* updatable: where values go */
    spmv_group_vector   x_, y_;   /* of spmv_group_mul */
    spmv_hooks          hooks;
};

/* Writes for each device its rows, plan, halo and predicted times, and what limits the product. As snprintf does, it returns the length of
 * the whole text without its end, of which at most size bytes, a 0 at the end included, are written. NULL for g gives "". */
SPMV_API size_t spmv_group_explain(const spmv_group *g, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif /* SPMV_GROUP_H */
/* ============================================ END OF THE INTERFACE ============================================== */

#if defined(SPMV_IMPLEMENTATION) && !defined(SPMV_GROUP_IMPLEMENTED)
#define SPMV_GROUP_IMPLEMENTED

#include <string.h>

/* Blocks begin at multiples of so many rows if each has SPMV__GROUP_MANY times as many: a multiple of 32 rows, for slices and bases of
 * columns, and of the sizes of blocks of nonzeros but 5. The share of a device is then off by less than 1%. */
enum { SPMV__GROUP_GRAIN = 96, SPMV__GROUP_MANY = 128 };

/* A block is split if the columns of its own piece have this share of its nonzeros, which hide that share of the product's time from the
 * exchange, and if the halo has one element for so many rows that read it. Adding to such a row reads and writes its y once more, two
 * elements at the speed of the device's memory, which is at least ten times that of the exchange. */
#define SPMV__GROUP_OWN 0.125
#define SPMV__GROUP_ROWS_PER_HALO 4

/* What an exchange takes: seconds before the first byte is there, and bytes a second; measured (bench/results/nvidia-h200-x2.txt) on two
 * H200s with NVLink. Peer copies of 4 KB: 2.5 us in a row, 6.9 us if each is waited for; halos of 16.7 and 33.5 MB: 85 and 141 us, which
 * includes gathering them. */
#define SPMV__GROUP_PEER_LATENCY 5e-6
#define SPMV__GROUP_PEER_BYTES 230e9
/* Through pinned memory of the host: 14.1 us for 4 KB, 27.5 GB/s for 64 MB, there and back. */
#define SPMV__GROUP_HOST_LATENCY 14e-6
#define SPMV__GROUP_HOST_BYTES 27e9
/* With OpenCL on a CPU, whose threads must wake up: 64 us with a Xeon of 32 cores, and 128 to 184 us with an EPYC of 2
 * (bench/results/pocl-two-devices.txt: small matrices as csr, the time on two devices less half of that on one). */
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
static void spmv__group_room_free_device(const spmv_device *d, void *at) { spmv_buffer_free(d, at); }

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
    return spmv_exec_mul_buffers(p->m.exec, alpha, x, x0, beta, y, y0);
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

/* ---- dividing the rows ----------------------------------------------------------------------------------------------- */

/* The columns of a block's halo, rising, and how many nonzeros lie in them before each share of the block's rows. */
typedef struct spmv__group_halo {
    uint32_t *col;
    uint64_t  shares, before[SPMV__MOST_SHARES];
} spmv__group_halo;

/* A group that is being made. */
typedef struct spmv__group_maker {
    spmv_group            *g;
    const spmv_group_desc *d;
    const spmv_csr        *a;
    spmv_build_hints       hints;  /* the caller's, without what knows the whole matrix */
    uint32_t              *map;    /* while a halo is looked for: a bit for each column of the matrix, of each thread; then for every 32
                                      columns such bits of one halo, and how many of its columns are before them. The halo's numbers for
                                      all columns would be 16 times as large, too large for a cache */
    spmv__group_halo      *halo;   /* for each block */
    uint64_t              *ptr;    /* room for the nonzeros that are picked from any block, one after another, so that the system has to */
    uint32_t              *col;    /* clear its pages once */
    unsigned char         *val;
    double                *weight; /* for each block */
    double                *whole;  /* for each device, the estimated seconds of a product with the whole matrix */
    size_t                 best;   /* BY_RATE: the device that is fastest alone, */
    double                 alone;  /* ... and its seconds; 0: no others are to be compared with it */
} spmv__group_maker;

/* The first row before which at least want nonzeros lie. */
static uint64_t spmv__group_row_at(const spmv_csr *a, double want)
{
    uint64_t low = 0, high = a->rows;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if ((double)a->ptr[middle] < want) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Where the share of the devices up to one ends, part of all of whose weights is before it. */
static uint64_t spmv__group_bound(const spmv_csr *a, int by_rows, size_t count, double part)
{
    uint64_t r = by_rows || !a->nnz ? (uint64_t)(part * (double)a->rows + 0.5) : spmv__group_row_at(a, part * (double)a->nnz);
    if (a->rows / count >= SPMV__GROUP_GRAIN * SPMV__GROUP_MANY)
        r = (r + SPMV__GROUP_GRAIN / 2) / SPMV__GROUP_GRAIN * SPMV__GROUP_GRAIN;
    return spmv__smaller(r, a->rows);
}

/* Sets the rows and columns of all blocks by the weights. A square matrix is divided alike in both directions; otherwise each device
 * gets the same share of the columns as of the rows. */
static void spmv__group_divide(const spmv__group_maker *k)
{
    spmv_group *g = k->g;
    const spmv_csr *a = k->a;
    int by_rows = k->d->divide == SPMV_GROUP_BY_ROWS;
    double all = 0, sum = 0, left;
    uint64_t row = 0, col = 0, end;
    size_t i, last = 0;
    for (i = 0; i < g->count; i++) {
        all += k->weight[i];
        if (k->weight[i] > 0) last = i;
    }
    for (i = 0; i < g->count; i++) {
        spmv_group_block *b = &g->block[i];
        sum += k->weight[i];
        left = all > 0 ? sum / all : 1;
        end = i >= last ? a->rows : spmv__group_bound(a, by_rows, g->count, left);
        if (end < row) end = row;
        b->row = row;
        b->rows = end - row;
        b->nnz = a->nnz ? a->ptr[end] - a->ptr[row] : 0;
        row = end;
        b->col = col;
        end = a->rows == a->cols ? row : i >= last ? a->cols : (uint64_t)((double)row / (double)(a->rows ? a->rows : 1) * (double)a->cols);
        b->cols = end - col;
        col = end;
    }
}

/* The rows of a block as a matrix with all columns; only the row pointers are new, if they do not begin with 0. */
static spmv_status spmv__group_range(const spmv__group_maker *k, const spmv_group_block *b, spmv_csr *out)
{
    const spmv_csr *a = k->a;
    uint64_t r, *ptr;
    void *block;
    spmv_status s;
    memset(out, 0, sizeof *out);
    out->rows = b->rows;
    out->cols = a->cols;
    out->nnz = b->nnz;
    out->ptr = a->ptr;
    out->type = a->type;
    out->hooks = k->g->hooks;
    if (b->row || !a->nnz) {
        s = spmv__room(&k->g->hooks, &block, b->rows + 1, sizeof *ptr);
        if (s) return s;
        out->ptr = ptr = (uint64_t *)block;
        out->owned = 1;
        for (r = 0; r <= b->rows; r++) ptr[r] = a->nnz ? a->ptr[b->row + r] - a->ptr[b->row] : 0;
    }
    if (!b->nnz) return SPMV_OK;
    out->col = a->col + a->ptr[b->row];
    out->val = (const unsigned char *)a->val + a->ptr[b->row] * spmv_value_size(a->type);
    return SPMV_OK;
}

/* The description by which a block is stored. */
static spmv_desc spmv__group_desc_of(const spmv__group_maker *k, const spmv_group_block *b)
{
    spmv_desc d = k->d->desc;
    size_t i = (size_t)(b - k->g->block);
    if (k->d->plan && k->d->plan[i]) d.plan = k->d->plan[i];
    d.device = b->device;
    d.csr = NULL;
    memset(&d.matrix, 0, sizeof d.matrix);
    if (d.hints) d.hints = &k->hints;
    return d;
}

/* Measures a product with a block by the caller's function. */
static spmv_status spmv__group_measure(const spmv__group_maker *k, const spmv_group_block *b, const spmv_csr *a, double *seconds)
{
    spmv_desc d = spmv__group_desc_of(k, b);
    spmv_matrix m;
    spmv_status s;
    d.csr = a;
    d.updatable = 0;
    s = spmv_create(&m, &d);
    if (s) return s;
    *seconds = k->d->measure(k->d->measure_user, (size_t)(b - k->g->block), &m);
    spmv_destroy(&m);
    if (*seconds > 0) return SPMV_OK;
    return spmv_log(&k->g->hooks, SPMV_ERR_ARGUMENT, "spmv_group_create: measure must return seconds above 0");
}

#ifndef SPMV_NO_AUTO
/* Estimates it by the tuning table of the device; 0 if the matrix is tiny there. */
static spmv_status spmv__group_estimate(const spmv__group_maker *k, const spmv_group_block *b, const spmv_csr *a, double *seconds)
{
    spmv_target target;
    spmv_build how;
    spmv_build_hints hints = k->hints;
    void *block;
    spmv_choice *c;
    spmv_status s = spmv__new(&k->g->hooks, &block, 1, sizeof *c, 0);
    if (s) return s;
    if (hints.expected_calls < SPMV_EXPECTED_CALLS) hints.expected_calls = 0; /* there is an estimate for few products as well */
    c = (spmv_choice *)block;
    memset(&how, 0, sizeof how);
    how.type = k->g->type;
    how.strict = k->d->desc.strict;
    how.reproducible = k->d->desc.reproducible;
    how.max_bytes = k->d->desc.max_bytes;
#ifdef SPMV_DEVICE_H
    target = spmv_target_of(b->device);
#else
    (void)b;
    memset(&target, 0, sizeof target); /* the host */
#endif
    s = spmv_choose(c, "auto", a, &how, &target, k->d->desc.hints ? &hints : NULL, NULL, &k->g->hooks);
    *seconds = !s && c->count ? c->option[0].predicted : 0;
    spmv_free(&k->g->hooks, c);
    return s;
}
#else
static spmv_status spmv__group_estimate(const spmv__group_maker *k, const spmv_group_block *b, const spmv_csr *a, double *seconds)
{
    (void)k;
    (void)b;
    (void)a;
    *seconds = 0;
    return SPMV_OK;
}
#endif

/* How many blocks with rows share the processor of block i, itself included. */
static size_t spmv__group_sharing(const spmv_group *g, size_t i)
{
    size_t j, same = 0;
    for (j = 0; j < g->count; j++) same += g->block[j].rows && spmv__group_is_same(g->block[j].device, g->block[i].device);
    return same;
}

/* Sets b->predicted to the seconds of its product, times the blocks that share its processor. */
static spmv_status spmv__group_predict(const spmv__group_maker *k, spmv_group_block *b)
{
    spmv_csr a;
    spmv_status s;
    b->predicted = 0;
    if (!b->nnz) return SPMV_OK;
    s = spmv__group_range(k, b, &a);
    if (!s && k->d->measure && k->d->divide == SPMV_GROUP_BY_RATE) s = spmv__group_measure(k, b, &a, &b->predicted);
    else if (!s) s = spmv__group_estimate(k, b, &a, &b->predicted);
    spmv_csr_free(&a);
    b->predicted *= (double)spmv__group_sharing(k->g, (size_t)(b - k->g->block));
    return spmv__group_blame(k->g, b, s);
}

/* Gives all rows to device i. */
static void spmv__group_only(const spmv__group_maker *k, size_t i)
{
    size_t j;
    for (j = 0; j < k->g->count; j++) k->weight[j] = j == i;
    spmv__group_divide(k);
}

/* Makes each weight the rate of the device on its block. A block has no prediction if it has no nonzeros or is tiny; then its device keeps
 * its weight. */
static void spmv__group_weigh(const spmv__group_maker *k)
{
    size_t i;
    for (i = 0; i < k->g->count; i++) {
        const spmv_group_block *b = &k->g->block[i];
        if (b->predicted > 0) k->weight[i] = (double)b->nnz / b->predicted;
    }
}

/* Seconds before the first byte of a halo is there. */
static double spmv__group_latency(const spmv_device *from, const spmv_device *to)
{
    if (!from && !to) return 0;
    if (spmv__group_is_peer(from, to)) return SPMV__GROUP_PEER_LATENCY;
    return spmv__group_is_cpu(from) || spmv__group_is_cpu(to) ? SPMV__GROUP_CPU_LATENCY : SPMV__GROUP_HOST_LATENCY;
}

/* Sets the predictions for new blocks by the rates that are the weights. */
static void spmv__group_rescale(const spmv__group_maker *k)
{
    size_t i;
    for (i = 0; i < k->g->count; i++)
        k->g->block[i].predicted = k->weight[i] > 0 ? (double)k->g->block[i].nnz / k->weight[i] : 0;
}

/* Estimates the seconds of the whole matrix on each device. */
static spmv_status spmv__group_estimate_whole(const spmv__group_maker *k)
{
    spmv_group *g = k->g;
    size_t i, j;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < g->count; i++) {
        for (j = 0; !spmv__group_is_alike(g->block[i].device, g->block[j].device); j++) {}
        spmv__group_only(k, i);
        if (j == i) s = spmv__group_predict(k, &g->block[i]);
        k->whole[i] = j == i ? g->block[i].predicted : k->whole[j];
    }
    return s;
}

/* Finds the device that is fastest alone, and its seconds: by the estimates, or by the rates that were measured, which are weights. */
static void spmv__group_find_best(spmv__group_maker *k)
{
    const spmv_group *g = k->g;
    size_t i;
    double one;
    for (i = 0; i < g->count; i++) {
        one = k->d->measure ? (double)k->a->nnz / (k->weight[i] * (double)spmv__group_sharing(g, i)) : k->whole[i];
        if (k->d->measure && !(g->block[i].predicted > 0)) continue; /* it was not measured */
        if (i && k->alone > 0 && one >= k->alone) continue;
        k->best = i;
        k->alone = one;
    }
}

/* Divides a matrix that lacks estimates: one that is tiny goes to the first device; without auto, each gets as many nonzeros. Predictions
 * that there are for some of the devices do not count. */
static void spmv__group_without_estimates(const spmv__group_maker *k)
{
    size_t i;
    for (i = 0; i < k->g->count; i++) k->g->block[i].predicted = 0;
#ifndef SPMV_NO_AUTO
    spmv__group_only(k, 0);
#else
    for (i = 0; i < k->g->count; i++) k->weight[i] = 1;
    spmv__group_divide(k);
#endif
}

/* Divides by rates: a first division by the rates of each device on the whole matrix (measured ones: on equal blocks), a second by those
 * on their own blocks. */
static spmv_status spmv__group_by_rate(spmv__group_maker *k)
{
    spmv_group *g = k->g;
    int estimates = !k->d->measure;
    size_t i;
    spmv_status s = estimates ? spmv__group_estimate_whole(k) : SPMV_OK;
    if (s) return s;
    for (i = 0; estimates && i < g->count; i++)
        if (!(k->whole[i] > 0)) {
            spmv__group_without_estimates(k);
            return SPMV_OK;
        }
    if (estimates) spmv__group_find_best(k);
    for (i = 0; i < g->count; i++) k->weight[i] = k->whole[i] > 0 ? (double)k->a->nnz / k->whole[i] : 1;
    spmv__group_divide(k);
    for (i = 0; !s && i < g->count; i++) s = spmv__group_predict(k, &g->block[i]);
    if (s) return s;
    spmv__group_weigh(k);
    if (!estimates) spmv__group_find_best(k);
    spmv__group_divide(k);
    spmv__group_rescale(k);
    return SPMV_OK;
}

/* Checks the shares that were given and takes them as weights. */
static spmv_status spmv__group_take_shares(const spmv__group_maker *k)
{
    double sum = 0, v;
    size_t i;
    for (i = 0; i < k->g->count; i++) {
        v = k->d->shares ? k->d->shares[i] : 1;
        if (!(v >= 0 && v <= 1e300))
            return spmv_log(&k->g->hooks, SPMV_ERR_ARGUMENT, "spmv_group_create: shares[%llu] must lie in 0 .. 1e300", (spmv__ull)i);
        k->weight[i] = v;
        sum += v;
    }
    if (sum > 0) return SPMV_OK;
    return spmv_log(&k->g->hooks, SPMV_ERR_ARGUMENT, "spmv_group_create: all shares are 0");
}

/* Decides which rows each device gets. */
static spmv_status spmv__group_decide(spmv__group_maker *k)
{
    spmv_group *g = k->g;
    size_t i;
    spmv_status s;
    g->divided = k->d->divide;
    g->shares = k->d->shares != NULL;
    if (!g->shares && g->divided == SPMV_GROUP_BY_RATE) return spmv__group_by_rate(k);
    s = spmv__group_take_shares(k);
    if (s) return s;
    spmv__group_divide(k);
    for (i = 0; !s && k->d->estimate && i < g->count; i++) s = spmv__group_predict(k, &g->block[i]);
    return s;
}

/* ---- halos ----------------------------------------------------------------------------------------------------------- */

/* Where the nonzeros of row r in columns of the block's own piece begin and end. */
static uint64_t spmv__group_own_begin(const spmv_csr *a, const spmv_group_block *b, uint64_t r)
{
    uint64_t n = a->ptr[r];
    while (n < a->ptr[r + 1] && a->col[n] < b->col) n++;
    return n;
}
static uint64_t spmv__group_own_end(const spmv_csr *a, const spmv_group_block *b, uint64_t r)
{
    uint64_t n = a->ptr[r + 1];
    while (n > a->ptr[r] && a->col[n - 1] >= b->col + b->cols) n--;
    return n;
}

/* The row of the matrix with which a share of a block begins. */
static uint64_t spmv__group_share_row(const spmv_csr *a, const spmv_group_block *b, uint64_t share, uint64_t shares)
{
    return b->row + spmv__share_row(a->ptr + b->row, b->rows, share, shares);
}

/* A search for the halo of a block: what each share of its rows finds. */
typedef struct spmv__group_search {
    const spmv__group_maker *k;
    const spmv_group_block  *b;
    uint64_t shares, words; /* words: of the bits of a thread */
    uint64_t foreign[SPMV__MOST_SHARES], readers[SPMV__MOST_SHARES]; /* nonzeros in the halo, and rows that have some */
    uint64_t first[SPMV__MOST_SHARES], end[SPMV__MOST_SHARES];       /* from the first to behind the last of these */
} spmv__group_search;

/* How many bits are 1. */
static uint32_t spmv__group_ones(uint32_t v)
{
    v -= v >> 1 & 0x55555555u;
    v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
    return ((v + (v >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}

static void spmv__group_mark(uint32_t *bits, const uint32_t *col, uint64_t n)
{
    uint64_t i;
    for (i = 0; i < n; i++) bits[col[i] / 32] |= (uint32_t)1 << col[i] % 32;
}

/* Marks the halo columns that a share of the rows reads. */
static void spmv__group_search_share(void *job, uint64_t share, size_t thread)
{
    spmv__group_search *c = (spmv__group_search *)job;
    const spmv_csr *a = c->k->a;
    uint32_t *bits = c->k->map + thread * c->words;
    uint64_t r = spmv__group_share_row(a, c->b, share, c->shares), end = spmv__group_share_row(a, c->b, share + 1, c->shares);
    uint64_t foreign = 0, readers = 0, first = 0, last = 0;
    for (; r < end; r++) {
        const uint64_t own = spmv__group_own_begin(a, c->b, r), after = spmv__group_own_end(a, c->b, r);
        const uint64_t low = own - a->ptr[r], high = a->ptr[r + 1] - after;
        if (!(low + high)) continue;
        spmv__group_mark(bits, a->col + a->ptr[r], low);
        spmv__group_mark(bits, a->col + after, high);
        foreign += low + high;
        if (!readers++) first = r;
        last = r + 1;
    }
    c->foreign[share] = foreign;
    c->readers[share] = readers;
    c->first[share] = first;
    c->end[share] = last;
}

/* Adds up what the shares have found. Returns how many rows read the halo. */
static uint64_t spmv__group_sum_up(const spmv__group_search *c, spmv_group_block *b, spmv__group_halo *halo)
{
    uint64_t i, readers = 0;
    halo->shares = c->shares;
    for (i = 0; i < c->shares; i++) {
        halo->before[i] = b->nnz - b->own_nnz;
        b->own_nnz -= c->foreign[i];
        if (!c->readers[i]) continue;
        if (!readers) b->reads_first = c->first[i];
        b->reads_end = c->end[i];
        readers += c->readers[i];
    }
    return readers;
}

/* Lists the columns that any of the threads has marked. */
static spmv_status spmv__group_list_halo(const spmv__group_search *c, uint64_t threads, spmv_group_block *b, spmv__group_halo *halo)
{
    uint32_t *bits = c->k->map, v;
    uint64_t w, t, col, n = 0;
    void *list;
    spmv_status s;
    for (w = 0; w < c->words; w++) {
        for (t = 1; t < threads; t++) bits[w] |= bits[t * c->words + w];
        n += spmv__group_ones(bits[w]);
    }
    s = spmv__room(&c->k->g->hooks, &list, n, sizeof *halo->col);
    halo->col = (uint32_t *)list;
    for (n = w = 0; !s && w < c->words; w++)
        for (v = bits[w], col = 32 * w; v; v >>= 1, col++)
            if (v & 1) {
                b->before += col < b->col;
                halo->col[n++] = (uint32_t)col;
            }
    b->after = n - b->before;
    return s;
}

/* Finds the halo of a block and the rows that read it, and decides whether the block is split. */
static spmv_status spmv__group_find_halo(const spmv__group_maker *k, spmv_group_block *b)
{
    spmv__group_halo *halo = &k->halo[b - k->g->block];
    spmv__group_search c;
    uint64_t threads, readers;
    spmv_status s;
    b->before = b->after = b->reads_first = b->reads_end = 0;
    b->own_nnz = b->nnz;
    b->split = 0;
    if (!b->nnz) return SPMV_OK;
    c.k = k;
    c.b = b;
    c.shares = spmv__share_count(b->rows + b->nnz);
    c.words = spmv__ceil_div(k->a->cols, 32);
    threads = spmv__share_threads(c.shares, SPMV__MOST_SHARES);
    memset(k->map, 0, (size_t)(threads * c.words * sizeof *k->map));
    spmv__share_among(spmv__group_search_share, &c, c.shares, threads);
    readers = spmv__group_sum_up(&c, b, halo);
    s = readers ? spmv__group_list_halo(&c, threads, b, halo) : SPMV_OK;
    b->split = b->device && !k->d->desc.reproducible && readers && (double)b->own_nnz >= SPMV__GROUP_OWN * (double)b->nnz &&
               (b->before + b->after) * SPMV__GROUP_ROWS_PER_HALO >= readers;
    return s;
}

/* Makes k->map that of a block's halo. */
static void spmv__group_map(const spmv__group_maker *k, const spmv_group_block *b)
{
    const uint32_t *halo = k->halo[b - k->g->block].col;
    const uint64_t words = spmv__ceil_div(k->a->cols, 32);
    uint64_t i;
    uint32_t before = 0;
    memset(k->map, 0, (size_t)(2 * words * sizeof *k->map));
    for (i = 0; i < b->before + b->after; i++) k->map[halo[i] / 32 * 2] |= (uint32_t)1 << halo[i] % 32;
    for (i = 0; i < words; i++) {
        k->map[2 * i + 1] = before;
        before += spmv__group_ones(k->map[2 * i]);
    }
}

/* Which of the halo's columns column c is. */
SPMV__INLINE uint32_t spmv__group_place(const uint32_t *map, uint32_t c)
{
    const uint32_t *at = map + c / 32 * 2, below = ((uint32_t)1 << c % 32) - 1;
    return at[1] + spmv__group_ones(at[0] & below);
}

/* Adds a message for each device that has some of the halo of block number to. The columns of one owner are adjacent in it. */
static void spmv__group_add_messages(const spmv__group_maker *k, size_t to)
{
    spmv_group *g = k->g;
    const spmv_group_block *b = &g->block[to];
    const uint32_t *halo = k->halo[to].col;
    uint64_t i = 0, all = b->before + b->after;
    size_t from = 0;
    while (i < all) {
        spmv_group_message *m = &g->message[g->messages];
        uint64_t first = i, owned;
        while (halo[i] >= g->block[from].col + g->block[from].cols) from++;
        owned = g->block[from].col + g->block[from].cols;
        while (i < all && halo[i] < owned) i++;
        m->from = from;
        m->to = to;
        m->count = i - first;
        m->at = g->block[from].sends;
        m->into = first < b->before ? first : first + b->cols;
        m->peer = spmv__group_is_peer(g->block[from].device, b->device);
        g->block[from].sends += m->count;
        g->messages++;
    }
}

/* Lists the elements of its piece that each block sends. */
static spmv_status spmv__group_list_sends(const spmv__group_maker *k)
{
    spmv_group *g = k->g;
    void *list;
    uint64_t e;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < g->count; i++) {
        s = spmv__room(&g->hooks, &list, g->block[i].sends, sizeof(uint32_t));
        g->block[i].index_ = (uint32_t *)list;
        g->block[i].direct_ = 1;
    }
    for (i = 0; !s && i < g->messages; i++) {
        const spmv_group_message *m = &g->message[i];
        spmv_group_block *from = &g->block[m->from], *to = &g->block[m->to];
        const uint32_t *halo = k->halo[m->to].col + (m->into < to->before ? m->into : m->into - to->cols);
        for (e = 0; e < m->count; e++) from->index_[m->at + e] = halo[e] - (uint32_t)from->col;
        g->message[i].first = halo[0] - from->col;
        if (!from->device || halo[m->count - 1] - halo[0] != m->count - 1) from->direct_ = 0;
        from->staged_ |= !m->peer;
        to->receives_ |= !m->peer;
        if (m->peer) s = spmv__group_peer_open(to->device, from->device);
        else if (!from->stage_of_) from->stage_of_ = from->device ? from->device : to->device;
    }
    return s;
}

/* Makes the host memory through which a block sends. */
static spmv_status spmv__group_stage(const spmv_group *g, spmv_group_block *b)
{
    uint64_t bytes = b->sends * spmv_vector_size(g->type);
    if (!b->staged_) return SPMV_OK;
    if (b->stage_of_) return spmv__group_pin(b, bytes);
    return spmv__room(&g->hooks, &b->stage_, bytes, 1);
}

/* The rule of thumb for the time of its exchange. */
static void spmv__group_predict_exchange(spmv_group *g)
{
    size_t i;
    for (i = 0; i < g->messages; i++) {
        const spmv_group_message *m = &g->message[i];
        spmv_group_block *to = &g->block[m->to];
        int host = !to->device && !g->block[m->from].device;
        double bytes = (double)(m->count * spmv_vector_size(g->type));
        double latency = spmv__group_latency(g->block[m->from].device, to->device);
        if (to->exchange < latency) to->exchange = latency;
        to->exchange += bytes / (host ? SPMV__GROUP_MEMORY_BYTES : m->peer ? SPMV__GROUP_PEER_BYTES : SPMV__GROUP_HOST_BYTES);
    }
}

/* Of the exchange, the time that the product with its own piece of x hides. */
static double spmv__group_hidden(const spmv_group_block *b)
{
    double could = b->split ? b->predicted * (double)b->own_nnz / (double)b->nnz : 0;
    return could < b->exchange ? could : b->exchange;
}

/* 1: a product uses the block's own queue. */
static int spmv__group_is_aside(const spmv_group_block *b) { return b->device && (b->sends || b->before + b->after); }

/* Seconds of enqueueing a product of the group. */
static double spmv__group_calls(const spmv_group *g)
{
    uint64_t n = 0;
    size_t i;
    for (i = 0; i < g->count; i++)
        if (spmv__group_is_aside(&g->block[i])) n += SPMV__GROUP_DEVICE_OPERATIONS;
    for (i = 0; i < g->messages; i++)
        if (g->block[g->message[i].from].device || g->block[g->message[i].to].device) n += SPMV__GROUP_MESSAGE_OPERATIONS;
    return (double)n * SPMV__GROUP_OPERATION;
}

/* Seconds until a block is done, by the predictions. The host's comes after all is enqueued. */
static double spmv__group_seconds(const spmv_group *g, const spmv_group_block *b)
{
    double steps = b->device ? (b->before + b->after > 0) + b->split : 0;
    double before = b->device || !b->rows ? 0 : spmv__group_calls(g);
    return before + b->predicted + b->exchange - spmv__group_hidden(b) + steps * SPMV__GROUP_STEP;
}

/* Seconds of a product of the group. */
static double spmv__group_predicted(const spmv_group *g)
{
    double most = spmv__group_calls(g), one;
    size_t i;
    for (i = 0; i < g->count; i++) {
        one = spmv__group_seconds(g, &g->block[i]);
        if (one > most) most = one;
    }
    return most;
}

/* 1: by the predictions, dividing the rows clearly pays. */
static int spmv__group_pays(const spmv_group *g) { return g->together < SPMV__GROUP_CLEARLY * g->alone; }

/* ---- blocks ---------------------------------------------------------------------------------------------------------- */

/* Stores one matrix of a block; row is where it begins in the matrix of the group. */
static spmv_status spmv__group_store_csr(const spmv__group_maker *k, spmv_group_block *b, const spmv_csr *a, uint64_t row)
{
    spmv_group_piece *p = &b->piece[b->pieces];
    spmv_desc d = spmv__group_desc_of(k, b);
    spmv_status s;
    d.matrix.rows = (int64_t)a->rows;
    d.matrix.cols = (int64_t)a->cols;
    d.matrix.nnz = (int64_t)a->nnz;
    d.matrix.ptr = a->ptr;
    d.matrix.ptr_bits = 64;
    d.matrix.col = a->col;
    d.matrix.val = a->val;
    d.matrix.val_type = a->type;
    s = spmv_create(&p->m, &d);
    if (s) return s;
    b->pieces++;
    p->row = row;
    p->nonzero = k->a->nnz ? k->a->ptr[row] : 0;
    p->image = spmv__group_has_image(&p->m);
    return SPMV_OK;
}

/* Some of the nonzeros of a block as CSR: those in columns of its own piece, those of its halo, or both. */
typedef struct spmv__group_pick {
    const spmv__group_maker *k;
    const spmv_group_block  *b;
    int       own, halo, values; /* values: 0: all are picked, which need no copy */
    uint64_t  first, end;        /* rows of the matrix */
    uint64_t *from;              /* their numbers in the matrix; NULL: not wanted */
} spmv__group_pick;

/* Picks nonzeros n .. end - 1 of a row as number at and so on, with the numbers of their columns, or of their places in the halo (map),
 * plus shift. Returns which comes next. */
static uint64_t spmv__group_pick_run(const spmv__group_pick *p, uint64_t n, uint64_t end, const uint32_t *map, uint64_t shift, uint64_t at)
{
    const spmv_csr *a = p->k->a;
    uint32_t *col = p->k->col + at;
    const size_t size = (size_t)spmv_value_size(a->type);
    const uint64_t count = end - n;
    uint64_t i;
    if (!count) return at;
    if (map) for (i = 0; i < count; i++) col[i] = spmv__group_place(map, a->col[n + i]) + (uint32_t)shift;
    else for (i = 0; i < count; i++) col[i] = a->col[n + i] + (uint32_t)shift;
    if (p->values) memcpy(p->k->val + at * size, (const unsigned char *)a->val + n * size, (size_t)count * size);
    for (i = 0; p->from && i < count; i++) p->from[at + i] = n + i;
    return at + count;
}

/* Picks the nonzeros of a share of the block's rows. */
static void spmv__group_pick_share(void *job, uint64_t share)
{
    const spmv__group_pick *p = (const spmv__group_pick *)job;
    const spmv_csr *a = p->k->a;
    const spmv__group_halo *halo = &p->k->halo[p->b - p->k->g->block];
    uint64_t r = spmv__group_share_row(a, p->b, share, halo->shares), end = spmv__group_share_row(a, p->b, share + 1, halo->shares);
    uint64_t foreign = halo->before[share], at = (p->own ? a->ptr[r] - a->ptr[p->b->row] - foreign : 0) + (p->halo ? foreign : 0);
    const uint64_t before = p->halo ? p->b->before : 0;
    if (r < p->first) r = p->first;
    for (end = spmv__smaller(end, p->end); r < end; r++) {
        const uint64_t own = spmv__group_own_begin(a, p->b, r), after = spmv__group_own_end(a, p->b, r);
        p->k->ptr[r - p->first] = at;
        if (p->halo) at = spmv__group_pick_run(p, a->ptr[r], own, p->k->map, 0, at);
        if (p->own) at = spmv__group_pick_run(p, own, after, NULL, before - p->b->col, at);
        if (p->halo) at = spmv__group_pick_run(p, after, a->ptr[r + 1], p->k->map, p->b->cols, at);
    }
}

/* Stores nonzeros of a block as one matrix: those of its own piece (own), those of its halo, in the rows from the first to the last that
 * read it, or all, whose values need no copy. */
static spmv_status spmv__group_store_picked(const spmv__group_maker *k, spmv_group_block *b, int own, int halo)
{
    spmv_group_piece *p = &b->piece[b->pieces];
    const uint64_t base = k->a->ptr[b->row] * spmv_value_size(k->a->type);
    void *from = NULL;
    spmv__group_pick c;
    spmv_csr a;
    spmv_status s = SPMV_OK;
    memset(&a, 0, sizeof a);
    c.k = k;
    c.b = b;
    c.own = own;
    c.halo = halo;
    c.first = own ? b->row : b->reads_first;
    c.end = own ? b->row + b->rows : b->reads_end;
    c.values = !(own && halo);
    a.rows = c.end - c.first;
    a.cols = b->cols + (halo ? b->before + b->after : 0);
    a.nnz = (own ? b->own_nnz : 0) + (halo ? b->nnz - b->own_nnz : 0);
    a.type = k->a->type;
    a.ptr = k->ptr;
    a.col = k->col;
    a.val = c.values ? k->val : (const unsigned char *)k->a->val + base;
    if (c.values && k->g->updatable) s = spmv__room(&k->g->hooks, &from, a.nnz, sizeof *c.from);
    c.from = (uint64_t *)from;
    if (s) return s;
    spmv__share_out(spmv__group_pick_share, &c, k->halo[b - k->g->block].shares);
    k->ptr[a.rows] = a.nnz;
    s = spmv__group_store_csr(k, b, &a, c.first);
    if (s) {
        spmv_free(&k->g->hooks, from);
        return s;
    }
    p->own = !halo || b->own_nnz == b->nnz;
    p->adds = !own;
    p->from_ = c.from;
    return SPMV_OK;
}

/* Stores a block that has all columns it reads, in their places: as it is. */
static spmv_status spmv__group_store_as_is(const spmv__group_maker *k, spmv_group_block *b)
{
    spmv_csr a;
    spmv_status s = spmv__group_range(k, b, &a);
    a.cols = b->cols;
    if (!s) s = spmv__group_store_csr(k, b, &a, b->row);
    if (!s) b->piece[0].own = 1;
    spmv_csr_free(&a);
    return s;
}

/* 1: the columns of a block, if it has nonzeros, are all its own and the first of the matrix. */
static int spmv__group_is_as_is(const spmv_group_block *b) { return !b->nnz || (!b->col && b->own_nnz == b->nnz); }

/* Makes the room for what is picked. */
static spmv_status spmv__group_room_to_pick(spmv__group_maker *k)
{
    const spmv_hooks *h = &k->g->hooks;
    uint64_t rows = 0, nnz = 0, values = 0;
    void *ptr = NULL, *col = NULL, *val = NULL;
    size_t i;
    spmv_status s;
    for (i = 0; i < k->g->count; i++) {
        const spmv_group_block *b = &k->g->block[i];
        if (spmv__group_is_as_is(b)) continue;
        rows = b->rows > rows ? b->rows : rows;
        nnz = b->nnz > nnz ? b->nnz : nnz;
        values = b->split && b->nnz > values ? b->nnz : values;
    }
    s = spmv__room(h, &ptr, rows + 1, sizeof *k->ptr);
    if (!s) s = spmv__room(h, &col, nnz, sizeof *k->col);
    if (!s) s = spmv__room(h, &val, values, spmv_value_size(k->a->type));
    k->ptr = (uint64_t *)ptr;
    k->col = (uint32_t *)col;
    k->val = (unsigned char *)val;
    return s;
}

/* Stores a block as one or two matrices. */
static spmv_status spmv__group_store_block(const spmv__group_maker *k, spmv_group_block *b)
{
    spmv_status s;
    if (!b->rows) return SPMV_OK;
    if (spmv__group_is_as_is(b)) return spmv__group_store_as_is(k, b);
    spmv__group_map(k, b);
    if (!b->split) return spmv__group_store_picked(k, b, 1, 1);
    s = spmv__group_store_picked(k, b, 1, 0);
    return s ? s : spmv__group_store_picked(k, b, 0, 1);
}

/* Finds the halos and the messages of all blocks, in place of those of an earlier division. */
static spmv_status spmv__group_lay_out(const spmv__group_maker *k)
{
    spmv_group *g = k->g;
    size_t i;
    spmv_status s = SPMV_OK;
    g->messages = 0;
    for (i = 0; i < g->count; i++) {
        spmv_free(&g->hooks, k->halo[i].col);
        k->halo[i].col = NULL;
        g->block[i].sends = 0;
        g->block[i].exchange = 0;
    }
    for (i = 0; !s && i < g->count; i++) {
        s = spmv__group_blame(g, &g->block[i], spmv__group_find_halo(k, &g->block[i]));
        if (!s) spmv__group_add_messages(k, i);
    }
    if (!s) spmv__group_predict_exchange(g);
    return s;
}

/* Gives all rows to the fastest device unless, by the predictions, dividing them clearly pays. */
static spmv_status spmv__group_reconsider(const spmv__group_maker *k)
{
    spmv_group *g = k->g;
    size_t i;
    if (!(k->alone > 0) || g->count < 2) return SPMV_OK;
    g->alone = k->alone;
    g->together = spmv__group_predicted(g);
    if (spmv__group_pays(g)) return SPMV_OK;
    spmv__group_only(k, k->best);
    for (i = 0; i < g->count; i++) g->block[i].predicted = i == k->best ? k->alone : 0;
    return spmv__group_lay_out(k);
}

/* Stores all blocks and makes what their exchange needs. */
static spmv_status spmv__group_store(const spmv__group_maker *k)
{
    spmv_group *g = k->g;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < g->count; i++) {
        s = spmv__group_open_device(&g->block[i]);
        if (!s) s = spmv__group_store_block(k, &g->block[i]);
        s = spmv__group_blame(g, &g->block[i], s);
    }
    if (!s) s = spmv__group_list_sends(k);
    for (i = 0; !s && i < g->count; i++) {
        s = spmv__group_stage(g, &g->block[i]);
        if (!s) s = spmv__group_sender(g, &g->block[i]);
        s = spmv__group_blame(g, &g->block[i], s);
    }
    return s;
}

/* Allocates what is needed while a group is made, and the lists of the group. */
static spmv_status spmv__group_rooms(spmv__group_maker *k)
{
    spmv_group *g = k->g;
    const spmv_hooks *h = &g->hooks;
    uint64_t n = k->d->count;
    void *block = NULL, *message = NULL, *map = NULL, *halo = NULL, *weight = NULL;
    spmv_status s = spmv__new(h, &block, n, sizeof *g->block, 0);
    g->block = (spmv_group_block *)block;
    if (!s) s = spmv__new(h, &message, spmv__sat_mul(n, n), sizeof *g->message, 0);
    g->message = (spmv_group_message *)message;
    if (!s) s = spmv__room(h, &map, spmv__ceil_div(k->a->cols, 32) * SPMV__MOST_THREADS, sizeof *k->map);
    k->map = (uint32_t *)map;
    if (!s) s = spmv__new(h, &halo, n, sizeof *k->halo, 0);
    k->halo = (spmv__group_halo *)halo;
    if (!s) s = spmv__new(h, &weight, spmv__sat_mul(n, 2), sizeof *k->weight, 0);
    k->weight = (double *)weight;
    if (!s) k->whole = k->weight + n;
    return s;
}

/* Makes the group from its matrix as CSR. */
static spmv_status spmv__group_make(spmv_group *g, const spmv_group_desc *desc, const spmv_csr *a)
{
    spmv__group_maker k;
    size_t i;
    spmv_status s;
    memset(&k, 0, sizeof k);
    k.g = g;
    k.d = desc;
    k.a = a;
    if (desc->desc.hints) k.hints = *desc->desc.hints;
    k.hints.measure = NULL;
    k.hints.choice = NULL;
    g->rows = a->rows;
    g->cols = a->cols;
    g->nnz = a->nnz;
    s = spmv__group_rooms(&k);
    if (!s) g->count = desc->count;
    for (i = 0; i < g->count; i++) g->block[i].device = desc->device[i];
    if (!s) s = spmv__group_decide(&k);
    if (!s) s = spmv__group_lay_out(&k);
    if (!s) s = spmv__group_reconsider(&k);
    if (!s) s = spmv__group_room_to_pick(&k);
    if (!s) s = spmv__group_store(&k);
    for (i = 0; k.halo && i < desc->count; i++) spmv_free(&g->hooks, k.halo[i].col);
    spmv_free(&g->hooks, k.halo);
    spmv_free(&g->hooks, k.map);
    spmv_free(&g->hooks, k.ptr);
    spmv_free(&g->hooks, k.col);
    spmv_free(&g->hooks, k.val);
    spmv_free(&g->hooks, k.weight);
    return s;
}

SPMV_API spmv_status spmv_group_create(spmv_group *g, const spmv_group_desc *desc)
{
    const spmv_desc *d = desc ? &desc->desc : NULL;
    if (!g || !desc || !desc->device)
        return spmv__null(d ? &d->hooks : NULL, "spmv_group_create", !g ? "g" : !desc ? "desc" : "desc->device", g, sizeof *g);
    const spmv_csr *csr = NULL;
    spmv_status s = SPMV_OK;
    size_t i;
    memset(g, 0, sizeof *g);
    g->hooks = d->hooks;
    g->type = spmv__type(d->type);
    g->updatable = d->updatable;
    if (!desc->count) return spmv_log(&g->hooks, SPMV_ERR_ARGUMENT, "spmv_group_create: count is 0");
    if (d->buffers)
        return spmv_log(&g->hooks, SPMV_ERR_UNSUPPORTED, "spmv_group_create: desc.buffers is set, but groups take arrays of the host");
    if ((unsigned)d->type >= SPMV_TYPE_COUNT) return spmv_log(&g->hooks, SPMV_ERR_ARGUMENT, "type %d is unknown", (int)d->type);
    if ((unsigned)desc->divide > SPMV_GROUP_BY_ROWS)
        return spmv_log(&g->hooks, SPMV_ERR_ARGUMENT, "spmv_group_create: divide %d is unknown", (int)desc->divide);
    for (i = 0; !s && i < desc->count; i++) s = spmv__group_check_device(desc->device[i], i, &g->hooks);
    if (!s) s = spmv__take_input(&csr, &g->own_, d);
    g->borrowed_csr = csr != &g->own_;
    if (!s) s = spmv__group_make(g, desc, csr);
    if (s) spmv_group_destroy(g);
    else if (!g->updatable) spmv_csr_free(&g->own_);
    return s;
}

static void spmv__group_block_free(const spmv_group *g, spmv_group_block *b)
{
    for (; b->pieces; b->pieces--) {
        spmv_destroy(&b->piece[b->pieces - 1].m);
        spmv_free(&g->hooks, b->piece[b->pieces - 1].from_);
    }
    spmv__group_close_device(b);
    spmv_free(&g->hooks, b->index_);
    if (b->stage_ && b->stage_of_) spmv__group_unpin(b);
    else spmv_free(&g->hooks, b->stage_);
}

/* Waits, but not in a process that was forked off. */
static spmv_status spmv__group_finish(spmv_group *g)
{
    spmv_status s = SPMV_OK, one;
    size_t i;
    for (i = 0; i < g->count; i++) {
        one = g->block[i].device ? spmv__group_blame(g, &g->block[i], spmv__group_finish_device(&g->block[i])) : SPMV_OK;
        if (!s) s = one;
    }
    return s;
}

SPMV_API void spmv_group_destroy(spmv_group *g)
{
    spmv_hooks h;
    size_t i;
    if (!g) return;
    h = g->hooks;
    spmv_group_vector_free(&g->x_);
    spmv_group_vector_free(&g->y_);
    if (g->count) spmv__group_finish(g);
    for (i = 0; i < g->count; i++) spmv__group_block_free(g, &g->block[i]);
    spmv_csr_free(&g->own_);
    spmv_free(&h, g->block);
    spmv_free(&h, g->message);
    memset(g, 0, sizeof *g);
}

/* Refuses a group that has no devices, or one whose devices were opened in another process. */
static spmv_status spmv__group_is_made(const spmv_group *g, const char *function)
{
#ifdef SPMV_DEVICE_H
    size_t i;
    for (i = 0; i < g->count; i++)
        if (g->block[i].device && !spmv__dev_is_here(g->block[i].device)) return spmv__dev_not_here(g->block[i].device, function, NULL, 0);
#endif
    return g->count ? SPMV_OK : spmv_log(&g->hooks, SPMV_ERR_ARGUMENT, "%s: the group was not created, or it was destroyed", function);
}

/* Gives a matrix of a block its values among those of the group. */
static spmv_status spmv__group_update_piece(const spmv_group *g, spmv_group_piece *p, const unsigned char *from)
{
    size_t size = (size_t)spmv_value_size(g->type);
    uint64_t n, count = spmv_nnz(&p->m);
    void *values;
    spmv_status s;
    if (!p->from_) return spmv_update(&p->m, from ? from + p->nonzero * size : NULL);
    s = spmv__room(&g->hooks, &values, count, size);
    if (s) return s;
    for (n = 0; n < count; n++) memcpy((unsigned char *)values + n * size, from + p->from_[n] * size, size);
    s = spmv_update(&p->m, values);
    spmv_free(&g->hooks, values);
    return s;
}

SPMV_API spmv_status spmv_group_update(spmv_group *g, const void *val)
{
    if (!g) return spmv__null(NULL, "spmv_group_update", "g", NULL, 0);
    const unsigned char *from = (const unsigned char *)val;
    size_t i;
    int k;
    spmv_status s = spmv__group_is_made(g, "spmv_group_update");
    if (s) return s;
    if (!g->updatable) return spmv_log(&g->hooks, SPMV_ERR_FIXED, "spmv_group_update: the group was not made with updatable = 1");
    if (!val && g->nnz) return spmv__null(&g->hooks, "spmv_group_update", "val", NULL, 0);
    s = spmv_group_wait(g);
    if (!s && !g->borrowed_csr) {
        s = spmv_csr_update(&g->own_, val);
        from = (const unsigned char *)g->own_.val;
    }
    for (i = 0; i < g->count; i++)
        for (k = 0; !s && k < g->block[i].pieces; k++) s = spmv__group_update_piece(g, &g->block[i].piece[k], from);
    return s;
}

/* ---- vectors --------------------------------------------------------------------------------------------------------- */

/* Makes one piece of a vector, with room for halos where the vector may be x. */
static spmv_status spmv__group_part_make(const spmv_group *g, const spmv_group_block *b, const spmv_group_vector *v, spmv_group_part *p)
{
    uint64_t all, size = spmv_vector_size(g->type);
    p->begin = v->is_x ? b->col : b->row;
    p->count = v->is_x ? b->cols : b->rows;
    p->offset = v->is_x ? b->before : 0;
    all = p->count + (v->is_x ? b->before + b->after : 0);
    if (b->device) return spmv__group_room_device(b->device, all * size, &p->at);
    return spmv__room(&g->hooks, &p->at, all, size);
}

SPMV_API spmv_status spmv_group_vector_create(spmv_group_vector *v, spmv_group *g, spmv_group_side side)
{
    if (!v || !g) return spmv__null(g ? &g->hooks : NULL, "spmv_group_vector_create", !v ? "v" : "g", v, sizeof *v);
    void *part;
    size_t i;
    spmv_status s = spmv__group_is_made(g, "spmv_group_vector_create");
    memset(v, 0, sizeof *v);
    if (s) return s;
    if (side != SPMV_GROUP_X && side != SPMV_GROUP_Y)
        return spmv_log(&g->hooks, SPMV_ERR_ARGUMENT, "spmv_group_vector_create: side %d is unknown", (int)side);
    s = spmv__new(&g->hooks, &part, g->count, sizeof *v->part, 0);
    if (s) return s;
    v->group = g;
    v->part = (spmv_group_part *)part;
    v->is_x = side == SPMV_GROUP_X || g->rows == g->cols;
    v->is_y = side == SPMV_GROUP_Y || g->rows == g->cols;
    v->length = v->is_x ? g->cols : g->rows;
    for (i = 0; !s && i < g->count; i++) s = spmv__group_blame(g, &g->block[i], spmv__group_part_make(g, &g->block[i], v, &v->part[i]));
    if (s) spmv_group_vector_free(v);
    return s;
}

SPMV_API void spmv_group_vector_free(spmv_group_vector *v)
{
    spmv_group *g;
    size_t i;
    if (!v || !v->group) return;
    g = v->group;
    spmv__group_finish(g);
    for (i = 0; i < g->count; i++) {
        if (!g->block[i].device) spmv_free(&g->hooks, v->part[i].at);
        else if (v->part[i].at) spmv__group_room_free_device(g->block[i].device, v->part[i].at);
    }
    spmv_free(&g->hooks, v->part);
    memset(v, 0, sizeof *v);
}

/* Copies a vector to host memory or, if that is NULL, from it. Devices work side by side; waits for all. */
static spmv_status spmv__group_copy(const spmv_group_vector *v, void *to, const void *from)
{
    spmv_group *g = v->group;
    uint64_t size = spmv_vector_size(g->type);
    size_t i;
    spmv_status s = SPMV_OK, done;
    for (i = 0; !s && i < g->count; i++) {
        const spmv_group_part *p = &v->part[i];
        unsigned char *out = to ? (unsigned char *)to + p->begin * size : NULL;
        const unsigned char *in = to ? NULL : (const unsigned char *)from + p->begin * size;
        if (!p->count) continue;
        if (g->block[i].device) s = spmv__group_blame(g, &g->block[i], spmv__group_copy_device(g->block[i].device, p, size, out, in));
        else if (to) memcpy(out, (const unsigned char *)p->at + p->offset * size, (size_t)(p->count * size));
        else memcpy((unsigned char *)p->at + p->offset * size, in, (size_t)(p->count * size));
    }
    done = spmv_group_wait(g);
    return s ? s : done;
}

SPMV_API spmv_status spmv_group_vector_write(spmv_group_vector *v, const void *from)
{
    if (!v || !v->group) return spmv__null(NULL, "spmv_group_vector_write", !v ? "v" : "v->group", NULL, 0);
    spmv_status s = spmv__group_is_made(v->group, "spmv_group_vector_write");
    if (s || !v->length) return s;
    if (!from) return spmv__null(&v->group->hooks, "spmv_group_vector_write", "from", NULL, 0);
    return spmv__group_copy(v, NULL, from);
}

SPMV_API spmv_status spmv_group_vector_read(const spmv_group_vector *v, void *to)
{
    if (!v || !v->group) return spmv__null(NULL, "spmv_group_vector_read", !v ? "v" : "v->group", NULL, 0);
    spmv_status s = spmv__group_is_made(v->group, "spmv_group_vector_read");
    if (s || !v->length) return s;
    if (!to) return spmv__null(&v->group->hooks, "spmv_group_vector_read", "to", NULL, 0);
    return spmv__group_copy(v, to, NULL);
}

SPMV_API spmv_status spmv_group_wait(spmv_group *g)
{
    if (!g) return spmv__null(NULL, "spmv_group_wait", "g", NULL, 0);
    spmv_status s = g->count ? spmv__group_is_made(g, "spmv_group_wait") : SPMV_OK;
    return s ? s : spmv__group_finish(g);
}

/* ---- products -------------------------------------------------------------------------------------------------------- */

/* A product that is under way. */
typedef struct spmv__group_run {
    spmv_group            *g;
    double                 alpha, beta;
    const spmv_group_part *x, *y; /* one for each block */
    int                    exchange; /* 1: halos are needed */
} spmv__group_run;

/* Multiplies one matrix of block i. */
static spmv_status spmv__group_mul_piece(const spmv__group_run *r, size_t i, spmv_group_piece *p)
{
    const spmv_group_block *b = &r->g->block[i];
    uint64_t size = spmv_vector_size(r->g->type), x0 = p->own ? r->x[i].offset : 0, y0 = r->y[i].offset + (p->row - b->row);
    double beta = p->adds ? 1 : r->beta;
    if (b->device) return spmv__group_piece_device(p, r->alpha, r->x[i].at, x0, beta, r->y[i].at, y0);
    return spmv_mul(&p->m, r->alpha, spmv__group_at(r->x[i].at, x0 * size), beta, spmv__group_at(r->y[i].at, y0 * size));
}

/* When a matrix is multiplied: before the exchange, or after it, because it reads the halo, or because nothing may write to the x that its
 * kernel reads through an image. */
typedef enum spmv__group_turn { SPMV__GROUP_EARLY, SPMV__GROUP_LATE } spmv__group_turn;

static spmv__group_turn spmv__group_turn_of(const spmv__group_run *r, const spmv_group_piece *p)
{
    return !p->own || (p->image && r->exchange) ? SPMV__GROUP_LATE : SPMV__GROUP_EARLY;
}

/* Multiplies those matrices of block i whose turn it is. */
static spmv_status spmv__group_mul_block(const spmv__group_run *r, size_t i, spmv__group_turn turn)
{
    spmv_group_block *b = &r->g->block[i];
    int k;
    spmv_status s = SPMV_OK;
    for (k = 0; !s && k < b->pieces; k++)
        if (spmv__group_turn_of(r, &b->piece[k]) == turn) s = spmv__group_mul_piece(r, i, &b->piece[k]);
    return s;
}

/* Begins a product in the blocks' own queues. */
static spmv_status spmv__group_begin(const spmv__group_run *r)
{
    spmv_group *g = r->g;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < g->count; i++)
        if (spmv__group_is_aside(&g->block[i])) s = spmv__group_blame(g, &g->block[i], spmv__group_begin_device(&g->block[i]));
    return s;
}

/* Collects what a block on the host sends. */
static void spmv__group_pack(const spmv__group_run *r, size_t i)
{
    const spmv_group_block *b = &r->g->block[i];
    uint64_t e;
    if (spmv_vector_size(r->g->type) == sizeof(double)) {
        const double *x = (const double *)r->x[i].at + r->x[i].offset;
        double *to = (double *)b->stage_;
        for (e = 0; e < b->sends; e++) to[e] = x[b->index_[e]];
    } else {
        const float *x = (const float *)r->x[i].at + r->x[i].offset;
        float *to = (float *)b->stage_;
        for (e = 0; e < b->sends; e++) to[e] = x[b->index_[e]];
    }
}

/* Copies the halo of block number to on the host. */
static spmv_status spmv__group_receive_host(const spmv__group_run *r, size_t to)
{
    const spmv_group *g = r->g;
    uint64_t size = spmv_vector_size(g->type);
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < g->messages; i++) {
        const spmv_group_message *m = &g->message[i];
        const spmv_group_block *from = &g->block[m->from];
        if (m->to != to) continue;
        if (from->device) s = spmv__group_blame(g, from, spmv__group_wait_sent(from));
        if (!s) memcpy((unsigned char *)r->x[to].at + m->into * size, (const unsigned char *)from->stage_ + m->at * size,
                       (size_t)(m->count * size));
    }
    return s;
}

/* Waits until the halos of the last product have left the host's memory, and begins to collect those of this one. */
static spmv_status spmv__group_send(const spmv__group_run *r)
{
    spmv_group *g = r->g;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < g->count; i++)
        if (g->block[i].device && g->block[i].receives_) s = spmv__group_blame(g, &g->block[i], spmv__group_wait_arrived(&g->block[i]));
    for (i = 0; !s && i < g->count; i++)
        if (g->block[i].device) s = spmv__group_blame(g, &g->block[i], spmv__group_send_device(g, &g->block[i], &r->x[i]));
    return s;
}

/* Multiplies what needs no halo, on the devices. */
static spmv_status spmv__group_early(const spmv__group_run *r)
{
    spmv_group *g = r->g;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < g->count; i++)
        if (g->block[i].device) s = spmv__group_blame(g, &g->block[i], spmv__group_mul_block(r, i, SPMV__GROUP_EARLY));
    for (i = 0; !s && i < g->count; i++) /* after all are enqueued: starting them takes time, too */
        if (g->block[i].device) s = spmv__group_blame(g, &g->block[i], spmv__group_go(&g->block[i]));
    return s;
}

/* Sends the halos on to a device, which multiplies the rest. */
static spmv_status spmv__group_rest_of(const spmv__group_run *r, size_t i)
{
    spmv_group *g = r->g;
    spmv_group_block *b = &g->block[i];
    spmv_status s = SPMV_OK;
    if (!spmv__group_is_aside(b)) return SPMV_OK;
    if (r->exchange && b->before + b->after) s = spmv__group_receive_device(g, b, r->x);
    if (!s) s = spmv__group_end_device(b);
    return s ? s : spmv__group_mul_block(r, i, SPMV__GROUP_LATE);
}

/* Sends the halos on to the devices, which multiply the rest. */
static spmv_status spmv__group_rest(const spmv__group_run *r)
{
    spmv_group *g = r->g;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; r->exchange && i < g->count; i++)
        if (!g->block[i].device && g->block[i].staged_) spmv__group_pack(r, i);
    for (i = 0; !s && i < g->count; i++) s = spmv__group_blame(g, &g->block[i], spmv__group_rest_of(r, i));
    for (i = 0; !s && i < g->count; i++) {
        spmv_group_block *b = &g->block[i];
        if (!spmv__group_is_aside(b)) continue;
        if (r->exchange) s = spmv__group_release_device(g, b);
        if (!s) s = spmv__group_go(b);
        s = spmv__group_blame(g, b, s);
    }
    return s;
}

/* The host's own blocks come last, when all devices are at work. */
static spmv_status spmv__group_on_host(const spmv__group_run *r)
{
    spmv_group *g = r->g;
    size_t i;
    spmv_status s = SPMV_OK;
    for (i = 0; !s && i < g->count; i++) {
        if (g->block[i].device) continue;
        if (r->exchange) s = spmv__group_receive_host(r, i);
        if (!s) s = spmv__group_mul_block(r, i, SPMV__GROUP_EARLY);
        if (!s) s = spmv__group_mul_block(r, i, SPMV__GROUP_LATE);
        s = spmv__group_blame(g, &g->block[i], s);
    }
    return s;
}

/* Refuses vectors that do not belong to a product with g. */
static spmv_status spmv__group_check_vectors(const spmv_group *g, double alpha, const spmv_group_vector *x, const spmv_group_vector *y)
{
    const char *wrong = x->group != g ? "x is of another group" : y->group != g ? "y is of another group"
                      : !x->is_x ? "x was made for SPMV_GROUP_Y" : !y->is_y ? "y was made for SPMV_GROUP_X"
                      : alpha != 0 && y->length && x->part == y->part ? "x and y overlap" : NULL;
    return wrong ? spmv_log(&g->hooks, SPMV_ERR_ARGUMENT, "spmv_group_mul_vectors: %s", wrong) : SPMV_OK;
}

SPMV_API spmv_status spmv_group_mul_vectors(spmv_group *g, double alpha, spmv_group_vector *x, double beta, spmv_group_vector *y)
{
    if (!g || !x || !y)
        return spmv__null(g ? &g->hooks : NULL, "spmv_group_mul_vectors", !g ? "g" : !x ? "x" : "y", NULL, 0);
    spmv__group_run r;
    spmv_status s = spmv__group_is_made(g, "spmv_group_mul_vectors");
    if (!s) s = spmv__group_check_vectors(g, alpha, x, y);
    if (s) return s;
    r.g = g;
    r.alpha = alpha;
    r.beta = beta;
    r.x = x->part;
    r.y = y->part;
    r.exchange = alpha != 0 && g->messages;
    s = spmv__group_begin(&r);
    if (!s && r.exchange) s = spmv__group_send(&r);
    if (!s) s = spmv__group_early(&r);
    if (!s) s = spmv__group_rest(&r);
    if (!s) s = spmv__group_on_host(&r);
    if (s) spmv_group_wait(g); /* nothing that was enqueued may use these vectors any more; the first failure is the one to tell */
    return s;
}

SPMV_API spmv_status spmv_group_mul(spmv_group *g, double alpha, const void *x, double beta, void *y)
{
    if (!g) return spmv__null(NULL, "spmv_group_mul", "g", NULL, 0);
    spmv_status s = spmv__group_is_made(g, "spmv_group_mul");
    if (!s) s = spmv__check_vectors(&g->hooks, "spmv_group_mul", g->type, g->rows, g->cols, alpha, x, y);
    if (s || !g->rows) return s;
    if (!g->x_.group) s = spmv_group_vector_create(&g->x_, g, SPMV_GROUP_X);
    if (!s && !g->y_.group) s = spmv_group_vector_create(&g->y_, g, SPMV_GROUP_Y);
    if (!s && alpha != 0) s = spmv_group_vector_write(&g->x_, g->cols ? x : NULL);
    if (!s && beta != 0) s = spmv_group_vector_write(&g->y_, y);
    if (!s) s = spmv_group_mul_vectors(g, alpha, &g->x_, beta, &g->y_);
    return s ? s : spmv_group_vector_read(&g->y_, y);
}

/* ---- why ------------------------------------------------------------------------------------------------------------- */

#define SPMV__GROUP_SAY(t, ...)                       \
    do {                                              \
        char said_[512];                              \
        spmv_print(said_, sizeof said_, __VA_ARGS__); \
        spmv__put_text(t, said_);                     \
    } while (0)

/* Writes the plans of a block's matrices. */
static void spmv__group_explain_plans(spmv__text *t, const spmv_group_block *b)
{
    int k;
    for (k = 0; k < b->pieces; k++) {
        const spmv_group_piece *p = &b->piece[k];
        SPMV__GROUP_SAY(t, "    plan      %s, rows %llu to %llu%s%s\n", spmv_shares(&p->m), (spmv__ull)p->row,
                        (spmv__ull)(p->row + spmv_rows(&p->m)), p->adds ? ", halo columns" : b->split ? ", own columns" : "",
                        p->own && b->split ? ", while halos are sent" : "");
    }
}

/* Writes what one device has and the time that it takes. */
static void spmv__group_explain_block(spmv__text *t, const spmv_group *g, size_t i)
{
    const spmv_group_block *b = &g->block[i];
    uint64_t size = spmv_vector_size(g->type), halo = b->before + b->after;
    SPMV__GROUP_SAY(t, "device %llu  %s\n", (spmv__ull)i, spmv__group_name(b));
    SPMV__GROUP_SAY(t, "    rows      %llu to %llu, %llu nonzeros (%.*f%%)\n", (spmv__ull)b->row, (spmv__ull)(b->row + b->rows),
                    (spmv__ull)b->nnz, SPMV__FIGURE(g->nnz ? 100.0 * (double)b->nnz / (double)g->nnz : 0.0));
    spmv__group_explain_plans(t, b);
    SPMV__GROUP_SAY(t, "    halo      receives %llu elements (%llu bytes), sends %llu (%llu bytes)\n", (spmv__ull)halo,
                    (spmv__ull)(halo * size), (spmv__ull)b->sends, (spmv__ull)(b->sends * size));
    if (b->predicted > 0)
        SPMV__GROUP_SAY(t, "    predicted %.*f us for the product, %.*f us for the exchange, of which %.*f us are hidden\n",
                        SPMV__FIGURE(b->predicted * 1e6), SPMV__FIGURE(b->exchange * 1e6), SPMV__FIGURE(spmv__group_hidden(b) * 1e6));
}

/* Writes which device is the last to be done and why. */
static void spmv__group_explain_limit(spmv__text *t, const spmv_group *g)
{
    const spmv_group_block *last = NULL;
    double most = 0, time, open;
    size_t i;
    for (i = 0; i < g->count; i++) {
        const spmv_group_block *b = &g->block[i];
        time = b->predicted > 0 ? spmv__group_seconds(g, b) : 0;
        if (time > most) {
            most = time;
            last = b;
        }
    }
    if (!last) return;
    if (spmv__group_calls(g) > most) {
        SPMV__GROUP_SAY(t, "limit         %.*f us of the host's time to enqueue a product\n", SPMV__FIGURE(spmv__group_calls(g) * 1e6));
        return;
    }
    open = last->exchange - spmv__group_hidden(last);
    SPMV__GROUP_SAY(t, "limit         device %llu, %.*f us: %s\n", (spmv__ull)(last - g->block), SPMV__FIGURE(most * 1e6),
                    open > last->predicted ? "most of it waits for its halo"
                    : open > 0.1 * most ? "its product and the wait for its halo" : "its product");
}

SPMV_API size_t spmv_group_explain(const spmv_group *g, char *out, size_t size)
{
    static const char *const by[] = { "rates", "nonzeros", "rows" };
    spmv__text t;
    size_t i;
    if (!g) return spmv_print(out, size, "%s", "");
    spmv__text_open(&t, out, size);
    SPMV__GROUP_SAY(&t, "matrix        %llu x %llu, %llu nonzeros, divided by %s\n", (spmv__ull)g->rows, (spmv__ull)g->cols,
                    (spmv__ull)g->nnz, g->shares ? "given shares" : by[g->divided]);
    if (g->alone > 0)
        SPMV__GROUP_SAY(&t, "predicted     %.*f us on the fastest device alone, %.*f us divided%s\n", SPMV__FIGURE(g->alone * 1e6),
                        SPMV__FIGURE(g->together * 1e6), spmv__group_pays(g) ? "" : ", so it gets all rows");
    for (i = 0; i < g->count; i++) spmv__group_explain_block(&t, g, i);
    spmv__group_explain_limit(&t, g);
    return spmv__text_close(&t);
}
#endif /* SPMV_IMPLEMENTATION */
