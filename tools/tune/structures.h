/* SPDX-License-Identifier: MIT
 *
 * tools/tune/structures.h - the structures that spmv tune measures, and the order in which it does.
 */
#ifndef SPMV_TOOLS_TUNE_STRUCTURES_H
#define SPMV_TOOLS_TUNE_STRUCTURES_H

#include "../cli/cli.h"
#include "fit.h"
#include "product.h"
#include "samples.h"
#include "spmv.h"

/* What is measured, and where it goes. */
typedef struct structures_wish {
    const spmv_tuning *head;   /* of the device's table */
    sample_list   *samples;    /* gets the samples; its lines have the costs known before */
    unsigned char *wanted;     /* by line: 1: to be measured; becomes 0 if its product is wrong or fails */
    looks         *seen;
    unsigned       types;      /* bits 1u << type */
    FILE          *file;       /* each sample is appended to it at once; NULL: none */
    double         until;      /* when it ends */
    double         build;      /* becomes the median of the seconds of building kernels; 0: none were built */
} structures_wish;

/* Adds the names of all structures that are measured to a list. 1, or 0 if memory ran out. */
int structures_add(sample_list *l, const spmv_device *device, int graphs);

/* Measures the lines that are wanted on every structure, in passes, those expected to be fast first, of each with the fewest samples. DONE, or
 * FAILED after a message. */
int structures_measure(product *p, structures_wish *w);

#endif
