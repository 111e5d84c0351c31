/* SPDX-License-Identifier: MIT
 *
 * tools/measure/graph.h - products recorded in a CUDA graph, which the device runs one after another without the host: small matrices are
 * multiplied in less time than the host takes to launch a kernel, so that by calls only the launches would be timed.
 */
#ifndef SPMV_TOOLS_MEASURE_GRAPH_H
#define SPMV_TOOLS_MEASURE_GRAPH_H

#include "../cli/cli.h"
#include "spmv.h"

enum { GRAPH_PRODUCTS = 20 /* of a graph: so many that launching it hardly counts, and so few that recording it does not take long */ };

typedef struct graph graph;

/* 1 if products on the device can be recorded: it is one by CUDA, whose driver has graphs. d: NULL is the host. */
int graph_possible(const spmv_device *d);

#ifndef SPMV_NO_DEVICES
/* Enqueues a product, or several, of what a graph is recorded for. */
typedef spmv_status (*graph_product)(void *of);

/* Records GRAPH_PRODUCTS calls of product, which enqueue products on a device for which graph_possible is 1. One must have run before,
 * as the first may allocate memory. Their buffers and execs must outlive the graph. SPMV_ERR_MEMORY, SPMV_ERR_BACKEND. */
spmv_status graph_record(graph **out, const spmv_device *d, graph_product product, void *of);

/* Runs the products once more in the stream of the device, and does not wait for them. */
spmv_status graph_launch(graph *g);

/* NULL is allowed. */
void graph_free(graph *g);
#endif

#endif
