/* SPDX-License-Identifier: MIT
 *
 * tools/tune/probe.h - the head of a tuning table: what the device is, how fast its memory is, and what preparing takes besides storing.
 */
#ifndef SPMV_TOOLS_TUNE_PROBE_H
#define SPMV_TOOLS_TUNE_PROBE_H

#include "product.h"
#include "spmv.h"

/* Fills in the head with the name of p's device, its driver and its figures, and prints them on standard error. DONE, or FAILED after a
 * message. */
int probe_head(product *p, spmv_tuning *head);

/* Measures what a further part of a plan and, on a GPU, a look at a matrix in buffers of the device take. What is lost in noise stays as it
 * is. DONE, or FAILED after a message. */
int probe_prepare(product *p, spmv_tuning *head);

#endif
