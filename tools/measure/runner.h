/* SPDX-License-Identifier: MIT
 *
 * tools/measure/runner.h - prepares a matrix and times its products.
 */
#ifndef SPMV_TOOLS_MEASURE_RUNNER_H
#define SPMV_TOOLS_MEASURE_RUNNER_H

#include "../cli/cli.h"
#include "graph.h"
#include "spmv.h"
#include "spmv_group.h"

/* The least and the largest number of samples of a product. */
enum { LEAST_RUNS = 20, MOST_RUNS = 200 };

/* Compares two doubles, for qsort. */
int timing_compare(const void *a, const void *b);

/* The median of n values, at least one; sorts v. */
double timing_median(double *v, int n);

/* The result of several samples, in seconds. */
typedef struct timing {
    double least, median, most;
    int    samples;
} timing;

/* The timing of n samples, at least one; sorts v. */
timing timing_of(double *v, int n);

/* A matrix under one plan on one device, or divided among several, ready to be multiplied and timed. */
typedef struct runner {
    tool        *t;
    spmv_matrix  m;
    spmv_group   g;          /* several devices: count is not 0, and m is zero */
    spmv_group_vector group_x, group_y;
    uint64_t     rows, cols;
    const void  *x;         /* vectors on the host, not owned */
    void        *y;
    uint64_t     vectors;   /* how many are multiplied at once; 0: one */
    spmv_arrangement order; /* ... and how they lie */
    struct runner *then;    /* of the transpose, which multiplies the result of each product that is timed; NULL: none */
#ifndef SPMV_NO_DEVICES
    spmv_exec    exec;
    const spmv_device *device;                  /* the device of the three buffers */
    void        *device_x, *device_y, *junk;    /* junk: what --cold fills the caches with */
    graph       *recorded;                      /* with --graph, once many products in a row were asked for; else NULL */
#endif
} runner;

#ifndef SPMV_NO_DEVICES
/* Frees the exec and the buffers on the device. */
void runner_close_cl(runner *r);

/* Makes the exec and the buffers on the device, and copies x to it. */
spmv_status runner_open_device(runner *r, const spmv_desc *desc);
#endif

/* Frees the matrix and what is on the device, and zeroes *r. A zeroed runner is allowed. */
void runner_close(runner *r);

/* Prepares desc->csr under desc->plan. x and y are vectors on the host with as many elements as it has columns and rows; they must
 * stay until runner_close. On failure *r is zeroed. */
spmv_status runner_open(runner *r, tool *t, const spmv_desc *desc, const void *x, void *y);

/* The same for a matrix that several devices share: prepares desc->desc.csr. */
spmv_status runner_open_group(runner *r, tool *t, const spmv_group_desc *desc, const void *x, void *y);

/* A runner of the transpose of of's matrix, which was made with both by desc and must outlive it. x has as many elements as that has rows,
 * y as it has columns. On failure *r is zeroed. */
spmv_status runner_open_transposed(runner *r, const runner *of, const spmv_desc *desc, const void *x, void *y);

/* A runner of so many vectors and of's matrix, which must outlive it; x and y have as many. On failure *r is zeroed. */
spmv_status runner_open_many(runner *r, const runner *of, const spmv_desc *desc, uint64_t vectors, spmv_arrangement order, const void *x,
                             void *y);

/* Frees the exec and the buffers of a runner of another's matrix, and zeroes *r. */
void runner_close_shared(runner *r);

/* From now on the times of r are those of y = A x and z = A^T y together, one after the other. then: from runner_open_transposed. */
void runner_follow(runner *r, runner *then);

/* y = alpha A x + beta y with vectors on the host. */
spmv_status runner_multiply(runner *r, double alpha, const void *x, double beta, void *y);

/* Takes a sample where the runner's matrix is: the seconds per product of times products in a row, as in an iterative solver. On a device
 * they end with a wait; with --graph, they are a multiple of GRAPH_PRODUCTS where times is as many or more. By events: one product, from
 * the start of its first kernel to the end of its last; this includes the cost of the events themselves (H200: 3 us, and 10 us for each
 * further kernel). */
spmv_status runner_sample(runner *r, int times, double *out);

/* How many seconds a sample should take: so long that the wait for a device hardly counts. */
double runner_sample_span(const runner *r);

/* Times a product: at least least samples after a warm-up, and more until they have taken together seconds. How many products fill
 * a sample is found by trying, because the first products of a process are many times slower than the following ones. what: the text
 * of the progress line. */
spmv_status runner_time(runner *r, int least, double together, const char *what, timing *out);

/* The bytes and the slots that the stored matrix has. */
double runner_bytes(const runner *r);
double runner_slots(const runner *r);

/* Writes the plan. With several devices, that of most of each device's rows, with " | " between them; - for a device without rows. */
void runner_plan(const runner *r, char *out, size_t size);

/* Writes the variants of all parts, joined by + as the parts are; empty for a part without nonzeros. "host" on the host. With several
 * devices as runner_plan. */
void runner_variant(const runner *r, char *out, size_t size);

#endif
