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
/* The file in the folder t->cache that holds the programs of a device: its name in letters, digits and hyphens. 0: there is no folder, or
 * its name is too long. */
static int cache_path(const tool *t, const spmv_device *d, char *path, size_t size)
{
    char name[80];
    size_t i, n = 0;
    if (!t->cache) return 0;
    for (i = 0; d->info.name[i] && n + 1 < sizeof name; i++) {
        char c = d->info.name[i];
        int plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (plain || (n && name[n - 1] != '-')) name[n++] = plain ? c : '-';
    }
    name[n] = 0;
    n = (size_t)snprintf(path, size, "%s/spmv-%s-%s.programs", t->cache, d->info.backend->name, name);
    return n < size;
}

/* Gives the device the programs of an earlier run, if there are any. A file that cannot be read or does not fit is as good as none. */
static void cache_read(tool *t, spmv_device *d)
{
    char path[1024];
    long size;
    void *bytes = NULL;
    FILE *f;
    if (!cache_path(t, d, path, sizeof path)) return;
    spmv_device_programs_give(d, NULL, 0); /* says that programs will be kept */
    f = fopen(path, "rb");
    if (!f) return;
    if (fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) > 0 && fseek(f, 0, SEEK_SET) == 0) {
        bytes = malloc((size_t)size);
        if (bytes && fread(bytes, 1, (size_t)size, f) == (size_t)size) spmv_device_programs_give(d, bytes, (size_t)size);
    }
    free(bytes);
    fclose(f);
}

/* Writes the programs of the device if some were compiled, first under another name, so that no reader sees half of a file. */
static void cache_write(tool *t, const spmv_device *d)
{
    char path[1024], fresh[1060];
    void *bytes;
    size_t size;
    int written;
    FILE *f;
    if (!d->compiled || !cache_path(t, d, path, sizeof path)) return;
    if (spmv_device_programs_take(d, &bytes, &size) != SPMV_OK) return; /* the library said why */
    snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid());
    f = fopen(fresh, "wb");
    written = f && fwrite(bytes, 1, size, f) == size;
    if (f && fclose(f) != 0) written = 0;
    if (written && rename(fresh, path) != 0) written = 0;
    if (!written) {
        cli_complain(t, "--cache: %s: %s", path, strerror(errno));
        if (f) remove(fresh);
    }
    spmv_free(&d->hooks, bytes);
}

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
