/* SPDX-License-Identifier: MIT
 *
 * tools/tune/probe.h - the head of a tuning table: what the device is and how fast its memory is.
 */
#ifndef SPMV_TOOLS_TUNE_PROBE_H
#define SPMV_TOOLS_TUNE_PROBE_H

#include "candidates.h"

/* Measures the host's memory and cache and raises the figures of u->head to what it finds. The best of several runs counts, because
 * other work on the machine only makes runs slower. */
void probe_host_bandwidth(tuner *u);

/* Sets u->head to the host's name, its compiler and its figures. */
void probe_host(tuner *u);

#ifndef SPMV_NO_DEVICES
/* Measures the device's memory and cache and raises the figures of u->head to what it finds. */
void probe_device_bandwidth(tuner *u, int gpu);

/* Sets u->head to the device's name, its driver and its figures, and makes the vectors of u->run. DONE, or FAILED after a message. */
int probe_device(tuner *u);
#endif

/* Prints the head on standard error. */
void probe_print(const tuner *u);

#endif
