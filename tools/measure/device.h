/* SPDX-License-Identifier: MIT
 *
 * tools/measure/device.h - opens the device that --device names.
 */
#ifndef SPMV_TOOLS_MEASURE_DEVICE_H
#define SPMV_TOOLS_MEASURE_DEVICE_H

#include "../cli/cli.h"
#include "spmv.h"

/* Threads that products on the host may use. */
int device_host_threads(void);

/* Opens the device that text names. *out becomes NULL for the host, otherwise the caller frees it by device_close. text NULL: the host.
 * With t->cache, the device gets the programs that an earlier run wrote into that folder.
 * DONE, or FAILED after a message. */
int device_open(tool *t, const char *text, spmv_device **out);

/* From now on, t->device_held and t->device_peak count the bytes of d's buffers. One device at a time; d must have no buffers yet, and its
 * hooks must be t's. NULL, the host, is allowed. */
void device_count_memory(spmv_device *d);

/* Closes and frees d. NULL, the host, is allowed. With t->cache, programs that were compiled are written into that folder before; a message
 * says if that fails. */
void device_close(tool *t, spmv_device *d);

/* The device's name, or "host". */
const char *device_label(const spmv_device *d);

/* The device as spmv_choose takes it; NULL: the host. */
spmv_target device_target(const spmv_device *d);

#endif
