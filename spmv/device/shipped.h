/* SPDX-License-Identifier: MIT
 *
 * spmv/device/shipped.h - programs that ship compiled: as PTX, which NVIDIA's driver compiles to machine code by itself.
 */
#ifndef SPMV__DEVICE_SHIPPED_H
#define SPMV__DEVICE_SHIPPED_H

#include "records.h"

/* Continues a hash (FNV-1a, 64 bits) by some bytes. It finds accidents, not forgeries. */
static uint64_t spmv__hash(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *at = (const unsigned char *)bytes;
    size_t i;
    for (i = 0; i < n; i++) hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    return hash;
}

#define SPMV__HASH_BEGIN UINT64_C(14695981039346656037)

/* Continues the hash of a program's source by its options. From SPMV__NVIDIA_VOLTA on its text is the same for all of NVIDIA's devices. */
SPMV__SHARED uint64_t spmv__shipped_hash(uint64_t source, const char *options)
{
    static const char device[] = "-DNVIDIA=";
    const char *at = strstr(options, device), *rest;
    if (!at) return spmv__hash(source, options, strlen(options));
    at += sizeof device - 1;
    rest = at + strspn(at, "0123456789");
    return spmv__hash(spmv__hash(source, options, (size_t)(at - options)), rest, strlen(rest));
}

/* Makes an image of bytes bytes, which the caller sets, for a program of such source and options. NULL: there is no memory. */
static spmv__image *spmv__image_new(const spmv_device *device, uint64_t source, const char *options, size_t bytes)
{
    const size_t n = strlen(options) + 1;
    void *block;
    spmv__image *image;
    if (spmv__room(&device->hooks, &block, (uint64_t)sizeof *image + n + bytes, 1)) return NULL;
    image = (spmv__image *)block;
    image->source = source;
    image->options = n;
    image->bytes = bytes;
    memcpy(image + 1, options, n);
    return image;
}

static void spmv__image_add(const spmv_device *device, spmv__image *image)
{
    spmv__lock(&device->common->lock);
    image->next = device->common->images;
    device->common->images = image;
    spmv__unlock(&device->common->lock);
}

/* A program among the others of its file, which are packed one behind the other (tools/gen/ptx). */
typedef struct spmv__shipped {
    uint64_t    hash;
    const char *packed;
    unsigned    at, size; /* where it begins and what it takes behind those that are unpacked before it */
    unsigned    bytes;    /* of its PTX */
} spmv__shipped;

#if !defined(SPMV_NO_CUDA) && !defined(SPMV_NO_PTX)
#include "../generated/ptx.h"
#else
static const spmv__shipped spmv__shipped_all[] = { { 0, NULL, 0, 0, 0 } };
#endif

/* The next character of an array of pieces, which zeros fill up. */
static unsigned spmv__shipped_next(const char **from)
{
    while (!**from) ++*from;
    return (unsigned char)*(*from)++;
}

/* A number: 5 bits in each character, the lowest first; 32 says that more follow. */
static size_t spmv__shipped_number(const char **from)
{
    size_t n = 0;
    unsigned shift = 0, c;
    do {
        c = spmv__shipped_next(from) - '#';
        n |= (size_t)(c & 31u) << shift;
        shift += 5;
    } while (c & 32u);
    return n;
}

/* Unpacks the first end characters: again and again some as they are, then some that were there before, at a distance; 0: the last one. */
static void spmv__shipped_unpack(const char *from, char *to, size_t end)
{
    size_t n = 0, count, distance, last = 0;
    while (n < end) {
        for (count = spmv__shipped_number(&from); count && n < end; count--) to[n++] = (char)spmv__shipped_next(&from);
        if (n == end) break;
        count = spmv__shipped_number(&from);
        distance = spmv__shipped_number(&from);
        if (distance) last = distance;
        if (count > end - n) count = end - n;
        for (; count; count -= distance, n += distance) {
            distance = count < last ? count : last;
            memcpy(to + n, to + n - last, distance);
        }
    }
}

/* Writes PTX: ~ is the end of a line, and registers, which are numbered from the one of the same kind before, get their numbers: ^ adds
 * what follows, ` subtracts it. */
static void spmv__shipped_write(const char *from, size_t size, char *to)
{
    const char *end = from + size;
    unsigned last[128] = { 0 }, kind = 0, n;
    while (from < end) {
        char c = *from++;
        if (c == '^' || c == '`') {
            for (n = 0; from < end && *from >= '0' && *from <= '9'; from++) n = 10 * n + (unsigned)(*from - '0');
            last[kind] = c == '^' ? last[kind] + n : last[kind] - n;
            to += spmv_print(to, 12, "%u", last[kind]);
            continue;
        }
        kind = c == '%' ? 0 : (kind + (unsigned char)c) % 128; /* of the letters behind a % */
        *to++ = c == '~' ? '\n' : c;
    }
}

/* Makes PTX that was written for compute capability 7.0, but waits for the kernel before it as from 9.0 on (FOLLOW of kernels/cuda.cuh),
 * what the device takes. */
static void spmv__shipped_fit(char *ptx, unsigned nvidia)
{
    static const char target[] = ".target sm_70", wait[] = "griddepcontrol.wait;";
    char *at = strstr(ptx, target);
    if (nvidia >= 90) {
        if (at) at[sizeof target - 3] = '9';
        return;
    }
    for (at = ptx; (at = strstr(at, wait)) != NULL;) memset(at, ' ', sizeof wait - 1);
}

/* 1: programs ship for such devices. */
static int spmv__ships(const spmv_device *device)
{
    return device->info.nvidia >= SPMV__NVIDIA_VOLTA && !strcmp(device->info.backend->name, "CUDA");
}

/* The program that ships for such source and options, or NULL. */
static const spmv__shipped *spmv__shipped_of(uint64_t source, const char *options)
{
    const spmv__shipped *at = spmv__shipped_all;
    const uint64_t hash = spmv__shipped_hash(source, options);
    while (at->packed && at->hash != hash) at++;
    return at->packed ? at : NULL;
}

/* Unpacks a program for the device into a new image; NULL: there is no memory. */
static spmv__image *spmv__shipped_image(const spmv_device *device, const spmv__shipped *from, uint64_t source, const char *options)
{
    spmv_device quiet = spmv__dev_quiet(device);
    const size_t end = (size_t)from->at + from->size;
    void *all = NULL;
    spmv__image *image = NULL;
    if (!spmv__room(&quiet.hooks, &all, end, 1)) image = spmv__image_new(&quiet, source, options, (size_t)from->bytes + 1);
    if (image) {
        char *ptx = (char *)(image + 1) + image->options;
        spmv__shipped_unpack(from->packed, (char *)all, end);
        spmv__shipped_write((const char *)all + from->at, from->size, ptx);
        ptx[from->bytes] = 0;
        spmv__shipped_fit(ptx, device->info.nvidia);
    }
    spmv_free(&device->hooks, all);
    return image;
}

/* The program that ships for such source and options, to be freed; NULL: there is none, or no memory. */
static spmv__image *spmv__shipped_take(const spmv_device *device, uint64_t source, const char *options)
{
    const spmv__shipped *from = spmv__shipped_of(source, options);
    return from ? spmv__shipped_image(device, from, source, options) : NULL;
}
#endif
