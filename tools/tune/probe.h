/* SPDX-License-Identifier: MIT
 *
 * tools/tune/probe.h - what the device is and how fast its memory is: the head of a tuning table.
 */
#ifndef SPMV_TOOLS_TUNE_PROBE_H
#define SPMV_TOOLS_TUNE_PROBE_H

#include "candidates.h"

/* GB/s of the best of some runs: what the memory can do, not what the machine did meanwhile. */
void probe_host_bandwidth(tuner *u);

/* What the host is and how fast its memory, into u->head. */
void probe_host(tuner *u);

#ifndef SPMV_NO_DEVICES
/* Measures the device's memory and cache into u->head, where it was not faster before. */
void probe_device_bandwidth(tuner *u, int gpu);

/* What the device is and how fast its memory, into u->head, and vectors there for u->run. DONE or FAILED. */
int probe_device(tuner *u);
#endif

/* Tells the head on standard error. */
void probe_print(const tuner *u);

#endif
