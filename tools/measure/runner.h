/* SPDX-License-Identifier: MIT
 *
 * tools/measure/runner.h - prepared matrices, and how long a product takes.
 */
#ifndef SPMV_TOOLS_MEASURE_RUNNER_H
#define SPMV_TOOLS_MEASURE_RUNNER_H

#include "../cli/cli.h"
#include "spmv.h"

/* Samples of a product, at least and at most. */
enum { LEAST_RUNS = 20, MOST_RUNS = 200 };

/* For qsort, of doubles. */
int timing_compare(const void *a, const void *b);

/* Sorts v; n is at least 1. */
double timing_median(double *v, int n);

/* What the samples of one thing say, in seconds. */
typedef struct timing {
    double least, median, most;
    int    samples;
} timing;

/* Sorts v. */
timing timing_of(double *v, int n);

/* One matrix, one plan, one device, ready to be multiplied and timed. */
typedef struct runner {
    tool        *t;
    spmv_matrix  m;
    uint64_t     rows, cols;
    const void  *x;         /* host vectors, and copies of them on a device */
    void        *y;
#ifndef SPMV_NO_DEVICES
    spmv_exec    exec;
    const spmv_device *device;                  /* whose the next three are */
    void        *device_x, *device_y, *junk;    /* junk: what --cold fills the caches with */
#endif
} runner;

#ifndef SPMV_NO_DEVICES
/* Frees what the runner has on the device. */
void runner_close_cl(runner *r);

/* Vectors on the device, where they stay. */
spmv_status runner_open_device(runner *r, const spmv_desc *desc);
#endif

/* Frees what it holds and zeroes it. A zeroed runner is allowed. */
void runner_close(runner *r);

/* Prepares desc->csr by desc->plan; x and y are host vectors of its columns and rows. On failure *r is zeroed. */
spmv_status runner_open(runner *r, tool *t, const spmv_desc *desc, const void *x, void *y);

/* Seconds that one of times products on the host takes. */
spmv_status runner_sample_host(runner *r, int times, double *out);

#ifndef SPMV_NO_DEVICES
/* By the clock: times products that follow each other and a wait, as an iterative solver has them. By events: one product, the first
 * kernel's start to the last kernel's end, which has what events themselves cost in it (H200: 3 us, 10 more for each kernel after it). */
spmv_status runner_sample_cl(runner *r, int times, double *out);
#endif

/* Seconds of a product where the runner's matrix is, times of them in a row. */
spmv_status runner_sample(runner *r, int times, double *out);

/* How long a sample should take: waiting for a device takes time as well, which must not show. */
double runner_sample_span(const runner *r);

/* Times least warm samples or more, of a span each; more while they take under so many seconds together. How many products fill
 * a span is found by trying: the first of a process take many times as long as those that follow. */
spmv_status runner_time(runner *r, int least, double together, const char *what, timing *out);

/* The variants of all parts, joined as the plan's parts are; empty for a part that took nothing. */
void runner_variant(const runner *r, char *out, size_t size);

#endif
