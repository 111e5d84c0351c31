/* SPDX-License-Identifier: MIT */
#include "device.h"

#include "../cli/cli.h"
#include "spmv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#  include <omp.h>
#endif

int device_host_threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

#ifdef SPMV_NO_DEVICES
int device_open(tool *t, const char *text, spmv_device **out)
{
    *out = NULL;
    if (!text || !strcmp(text, "host")) return DONE;
    return cli_complain(t, "--device %s: this program was built without OpenCL", text);
}

void device_count_memory(spmv_device *d)
{
    (void)d;
}

void device_close(tool *t, spmv_device *d)
{
    (void)t;
    (void)d;
}

const char *device_label(const spmv_device *d)
{
    (void)d;
    return "host";
}

spmv_target device_target(const spmv_device *d)
{
    spmv_target p = {NULL, SPMV_DEVICE_CLASS_HOST, NULL, 0, 0, 0, 0};
    (void)d;
    return p;
}
#else
int device_open(tool *t, const char *text, spmv_device **out)
{
    spmv_device_desc desc;
    *out = NULL;
    if (!text || !strcmp(text, "host")) return DONE;
    memset(&desc, 0, sizeof desc);
    desc.which = text;
    desc.profile = t->events;
    desc.cache = t->cache;
    desc.hooks = t->hooks;
    *out = (spmv_device *)malloc(sizeof **out);
    if (!*out) return cli_no_memory(t);
    if (spmv_device_create(*out, &desc) == SPMV_OK) return DONE;
    free(*out);
    *out = NULL;
    return cli_complain(t, "--device %s could not be opened; spmv devices lists the devices", text);
}

/* The back end whose buffers are counted. */
static const spmv_backend *counted;

/* spmv_backend.buffer, counted. */
static spmv_status counting_buffer(const spmv_device *d, uint64_t bytes, int read_only, const void *from, void **buffer)
{
    tool *t = (tool *)d->hooks.user;
    spmv_status s = counted->buffer(d, bytes, read_only, from, buffer);
    if (s != SPMV_OK) return s;
    t->device_held += bytes;
    if (t->phase != SPMV_PHASE_NONE && t->device_held > t->device_peak) t->device_peak = t->device_held;
    return s;
}

/* spmv_backend.buffer_free, counted. */
static void counting_buffer_free(const spmv_device *d, void *buffer)
{
    tool *t = (tool *)d->hooks.user;
    uint64_t bytes = 0;
    if (counted->buffer_bytes(d, buffer, &bytes) == SPMV_OK) t->device_held -= bytes < t->device_held ? bytes : t->device_held;
    counted->buffer_free(d, buffer);
}

void device_count_memory(spmv_device *d)
{
    static spmv_backend counting;
    if (!d) return;
    counted = d->info.backend;
    counting = *counted;
    counting.buffer = counting_buffer;
    counting.buffer_free = counting_buffer_free;
    d->info.backend = &counting;
}

void device_close(tool *t, spmv_device *d)
{
    (void)t;
    if (!d) return;
    spmv_device_destroy(d);
    free(d);
}

const char *device_label(const spmv_device *d)
{
    return d ? d->info.name : "host";
}

spmv_target device_target(const spmv_device *d)
{
    return spmv_target_of(d);
}
#endif
