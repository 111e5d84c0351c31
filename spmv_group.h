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
 */
#include "spmv.h"
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
    spmv_desc desc;              /* the matrix and how it is stored, as for spmv_create, but without buffers. "auto" chooses for each
                                    block, "measure" times for each, any other plan is used for all. device is ignored; so are
                                    measure and choice of the hints, as no block is the matrix that their caller knows */
    spmv_device *const *device;  /* count of them, each open and with a queue in order; NULL is the host. They must outlive the group and
                                    not move. The same device may be given twice. The array is needed only during the call */
    size_t      count;           /* at least 1 */
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
 *   group  need not be initialised; zeroed on failure, of which nothing is left. It must not move. Destroy it with spmv_group_destroy
 *   desc   needed only during the call
 * The statuses of spmv_create, with a message that names the device and its rows; SPMV_ERR_UNSUPPORTED if a queue is out of order or a back
 * end has no transfers (spmv_transfer). */
SPMV_API spmv_status spmv_group_create(spmv_group *group, const spmv_group_desc *desc);

/* y = alpha A x + beta y with vectors on the host, as spmv_mul. The first call allocates vectors on the devices, which group keeps. After a
 * fault of any device, all of y is undefined. */
SPMV_API spmv_status spmv_group_mul(spmv_group *group, double alpha, const void *x, double beta, void *y);

/* The same with the transpose of a matrix made with desc.both, else SPMV_ERR_ARGUMENT. */
SPMV_API spmv_status spmv_group_mul_transposed(spmv_group *group, double alpha, const void *x, double beta, void *y);

/* The transpose of a matrix made with desc.both: a group of its own, divided as suits it, for vectors that stay on the devices, which are
 * made for one of the two groups and fit no other. It belongs to group, and is group itself if the matrix is its own transpose. NULL:
 * there is none. */
SPMV_API spmv_group *spmv_group_transposed(spmv_group *group);

/* Waits for all that was enqueued, frees everything and zeroes *group. Free its vectors before. A zeroed group or NULL is ignored. */
SPMV_API void spmv_group_destroy(spmv_group *group);

/* ---- vectors that stay on the devices ------------------------------------------------------------------------------ */

/* Makes a vector, uninitialised, for the given side of products.
 *   vector  need not be initialised; zeroed on failure
 *   group   must outlive vector */
SPMV_API spmv_status spmv_group_vector_create(spmv_group_vector *vector, spmv_group *group, spmv_group_side side);
/* Waits for the devices and frees it. A zeroed vector or NULL is ignored. */
SPMV_API void spmv_group_vector_destroy(spmv_group_vector *vector);
/* Copy all vector->length elements from and to host memory, and return when that is done. The pointer may be NULL if length is 0. */
SPMV_API spmv_status spmv_group_vector_write(spmv_group_vector *vector, const void *from);
SPMV_API spmv_status spmv_group_vector_read(const spmv_group_vector *vector, void *to);

/* Enqueues y = alpha A x + beta y after all that is in the devices' queues, and returns before it is done; what is enqueued in the
 * same queues afterwards comes after it. It waits only for halos that come through the host, and, where the host has a block, for the
 * host's product. Nothing is allocated.
 *   x  made for SPMV_GROUP_X. Its pieces stay as they are; the room for halos around them is written
 *   y  made for SPMV_GROUP_Y (square matrices: either), other than x where that is read
 * alpha and beta are as in spmv_mul. After a fault of any device, which is waited out, all of y is undefined; the group can be used
 * again. */
SPMV_API spmv_status spmv_group_mul_vectors(spmv_group *group, double alpha, spmv_group_vector *x, double beta, spmv_group_vector *y);

/* Waits until everything in the devices' queues is done. */
SPMV_API spmv_status spmv_group_wait(spmv_group *group);

/* ---- more ---------------------------------------------------------------------------------------------------------- */

/* Replaces the values as spmv_update does, also of the transpose if there is one, for a group made with desc.updatable. Waits for products.
 * After a failure the values are undefined, unless it is SPMV_ERR_ARGUMENT, or SPMV_ERR_FIXED because the group was not made updatable:
 * values that a plan's key val cannot hold are found block by block, when others may have theirs. */
SPMV_API spmv_status spmv_group_update(spmv_group *group, const void *val);

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
    int                 both;
    struct spmv_group  *transposed_; /* NULL with both: it is its own transpose */
    spmv_hooks          hooks;
};

/* Writes for each device its rows, plan, halo and predicted times, and what limits the product. As snprintf does, it returns the length of
 * the whole text without its end, of which at most size bytes, a 0 at the end included, are written. NULL for group gives "". */
SPMV_API size_t spmv_group_explain(const spmv_group *group, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif /* SPMV_GROUP_H */

#ifdef SPMV_IMPLEMENTATION
#include "spmv/group/products.h"
#endif
