/* SPDX-License-Identifier: MIT
 *
 * spmv/device/cache.h - the programs of a device in a file (spmv_device_desc.cache).
 */
#ifndef SPMV__DEVICE_CACHE_H
#define SPMV__DEVICE_CACHE_H

#include "program.h"

#ifndef SPMV_NO_STDIO
#include <errno.h>
#ifdef _WIN32
#include <process.h>
#define SPMV__PROCESS_ID() ((spmv__ull)_getpid())
#elif defined(SPMV__POSIX)
#define SPMV__PROCESS_ID() ((spmv__ull)getpid())
#else
#define SPMV__PROCESS_ID() 0ULL
#endif

/* The name of the file: "DIR/spmv-CUDA-12345.programs", and after it what makes it another one, or "". SPMV_ERR_MEMORY */
static spmv_status spmv__cache_name(const spmv_device *device, const char *suffix, char **out)
{
    const char *folder = device->common->cache, *back = device->info.backend->name;
    const size_t size = strlen(folder) + strlen(back) + strlen(suffix) + 40;
    void *name;
    spmv_status s = spmv__room(&device->hooks, &name, size, 1);
    *out = (char *)name;
    if (!s) spmv_print(*out, size, "%s/spmv-%s-%llu.programs%s", folder, back, (spmv__ull)spmv__dev_identity(device), suffix);
    return s;
}

/* All bytes of a file, to be freed; NULL: it is not there or cannot be read. */
static void *spmv__cache_bytes(const spmv_device *device, const char *name, size_t *bytes)
{
    FILE *file = fopen(name, "rb");
    void *all = NULL;
    long size = -1;
    if (!file) return NULL;
    if (!fseek(file, 0, SEEK_END)) size = ftell(file);
    if (size > 0 && !fseek(file, 0, SEEK_SET) && !spmv__room(&device->hooks, &all, (uint64_t)size, 1) &&
        fread(all, 1, (size_t)size, file) != (size_t)size) {
        spmv_free(&device->hooks, all);
        all = NULL;
    }
    fclose(file);
    *bytes = (size_t)size;
    return all;
}

/* Gives the device the programs of the file. One that cannot be read, or does not fit, is as good as none. */
static void spmv__cache_read(spmv_device *device)
{
    spmv_device quiet = spmv__dev_quiet(device);
    char *name = NULL;
    void *all = NULL;
    size_t bytes = 0;
    if (!spmv__cache_name(&quiet, "", &name)) all = spmv__cache_bytes(&quiet, name, &bytes);
    spmv_device_programs_give(&quiet, NULL, 0); /* says that programs will be kept */
    if (all) spmv_device_programs_give(&quiet, all, bytes);
    spmv_free(&device->hooks, all);
    spmv_free(&device->hooks, name);
}

/* Writes bytes under a name of its own, which it renames when all is there, so that nobody reads half of it. The name has the number of
   the process, not spmv__process(), which two children of one process share. */
static void spmv__cache_replace(const spmv_device *device, const void *all, size_t bytes)
{
    char suffix[64], *name = NULL, *fresh = NULL;
    FILE *file = NULL;
    int good = 0;
    spmv_print(suffix, sizeof suffix, ".%llu.%llu", SPMV__PROCESS_ID(), (spmv__ull)(uintptr_t)device);
    if (spmv__cache_name(device, "", &name) || spmv__cache_name(device, suffix, &fresh)) goto done;
    errno = 0;
    file = fopen(fresh, "wb");
    if (file) {
        good = fwrite(all, 1, bytes, file) == bytes;
        if (fclose(file)) good = 0;
#ifdef _WIN32
        if (good) remove(name);
#endif
        if (good && rename(fresh, name)) good = 0;
        if (!good) remove(fresh);
    }
    if (!good) spmv_log(&device->hooks, SPMV_ERR_IO, "cache: %s: %s", fresh, errno ? strerror(errno) : "writing failed");
done:
    spmv_free(&device->hooks, fresh);
    spmv_free(&device->hooks, name);
}

/* Writes the programs of the device, with those that others have written meanwhile, if some were compiled. */
static void spmv__cache_write(spmv_device *device)
{
    void *all;
    size_t bytes;
    if (!device->common->fresh) return;
    spmv__cache_read(device);
    if (spmv_device_programs_take(device, &all, &bytes)) return;
    spmv__cache_replace(device, all, bytes);
    spmv_free(&device->hooks, all);
}
#else
static void spmv__cache_write(spmv_device *device) { (void)device; }
#endif

#endif
