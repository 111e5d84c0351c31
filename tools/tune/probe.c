/* SPDX-License-Identifier: MIT */
#include "probe.h"

#include "../cli/cli.h"
#include "candidates.h"
#include "spmv.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef _OPENMP
#  include <omp.h>
#endif

static void raise_to(double *v, double to)
{
    if (to > *v) *v = to;
}

/* Finds the size and the rate of the cache, as products in a row use it, by reading arrays of rising size again and again. The cache is as
 * large as the last array, after the fastest one, that is read clearly faster than memory; its rate is that of an array half as large.
 * read returns the GB/s for so many bytes, or 0 if that fails. */
static void probe_cache(tuner *u, size_t most, double (*read)(void *, size_t), void *me)
{
    double bytes, rates[64], sizes[64];
    int n = 0, top = 0, last, i;
    for (bytes = 1 << 20; bytes <= (double)most && n < 64; bytes *= 1.25, n++) {
        sizes[n] = (double)((size_t)bytes >> 18 << 18);
        rates[n] = read(me, (size_t)sizes[n]);
        if (rates[n] > rates[top]) top = n;
    }
    for (last = i = top; i < n; i++)
        if (rates[i] > 1.3 * u->head.read) last = i; /* one slow run before says nothing: other work only adds time */
    if (!n || rates[top] <= 1.3 * u->head.read) return;
    for (i = top; sizes[i] < sizes[last] / 2;) i++;
    u->head.cache = sizes[last] / 1048576;
    u->head.cache_read = rates[i];
}

/* The sum of n numbers, eight at a time, because each addition would otherwise wait for the one before it. */
static double host_sum(const double *a, int64_t n)
{
    double sum = 0;
    int64_t i;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) reduction(+ : sum)
#endif
    for (i = 0; i < n / 8; i++) {
        const double *p = a + 8 * i;
        sum += ((p[0] + p[1]) + (p[2] + p[3])) + ((p[4] + p[5]) + (p[6] + p[7]));
    }
    return sum;
}

/* GB/s of reading so many bytes of the array me again and again. */
static double host_again(void *me, size_t bytes)
{
    const double *a = (const double *)me;
    double best = 0, from, took, sum = 0;
    int run, i;
    for (run = 0; run < 5; run++) {
        from = cli_seconds();
        for (i = 0; i < 8; i++) sum += host_sum(a, (int64_t)(bytes / sizeof *a));
        took = cli_seconds() - from;
        if (sum > 0 && took > 0) raise_to(&best, 8e-9 * (double)bytes / took);
    }
    return best;
}

void probe_host_bandwidth(tuner *u)
{
    int64_t n = 1 << 23, i;
    int run;
    double *a = (double *)malloc((size_t)n * sizeof *a), *b = (double *)malloc((size_t)n * sizeof *b);
    double from, copy = 1e9, read = 1e9, sum = 0, took;
    for (i = 0; a && b && i < n; i++) a[i] = b[i] = 1;
    for (run = 0; a && b && run < 5; run++) {
        from = cli_seconds();
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
        for (i = 0; i < n; i++) b[i] = a[i];
        took = cli_seconds() - from;
        if (took < copy) copy = took;
        from = cli_seconds();
        sum += host_sum(b, n);
        took = cli_seconds() - from;
        if (took < read) read = took;
    }
    if (a && b && sum > 0) {
        raise_to(&u->head.copy, 16e-9 * (double)n / copy);
        raise_to(&u->head.read, 8e-9 * (double)n / read);
        probe_cache(u, (size_t)n * sizeof *b, host_again, b);
    }
    free(a);
    free(b);
}

void probe_host(tuner *u)
{
    int threads = 1;
#ifdef _OPENMP
    threads = omp_get_max_threads();
#endif
    snprintf(u->head.device, sizeof u->head.device, "host");
    u->head.device_class = SPMV_DEVICE_CLASS_HOST;
#if defined(__clang__)
    snprintf(u->head.driver, sizeof u->head.driver, "%s, %d threads", __VERSION__, threads);
#elif defined(__GNUC__)
    snprintf(u->head.driver, sizeof u->head.driver, "gcc %s, %d threads", __VERSION__, threads);
#endif
    u->head.units = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
#ifdef _SC_PHYS_PAGES
    u->head.memory = (uint64_t)sysconf(_SC_PHYS_PAGES) / 1024 * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
#endif
    probe_host_bandwidth(u);
}

#ifndef SPMV_NO_DEVICES
/* It is not known beforehand in which order a device reads fastest, so load can read in two. */
static const char bandwidth_source[] =
    "__kernel void move(__global const float4 *a, __global float4 *b) { size_t i = get_global_id(0); b[i] = a[i]; }\n"
    "__kernel void load(__global const float4 *a, __global float4 *b, uint first, uint step) {\n"
    "    size_t i = get_global_id(0) * (size_t)first; float4 s = (float4)(0);\n"
    "    for (uint j = 0; j < 64; j++, i += step) s += a[i];\n"
    "    if (s.x + s.y + s.z + s.w > 1e30f) b[get_global_id(0)] = s; }\n"
    "__kernel void again(__global const float4 *a, __global float4 *b, uint times) {\n"
    "    uint n = get_global_size(0), at = get_global_id(0); float4 s = (float4)(0);\n"
    "    for (uint k = 0; k < times; k++, at = (at + n / 3 + 1) % n)\n" /* data that another group has read */
    "        for (uint j = 0; j < 64; j++) s += a[at + (size_t)j * n];\n"
    "    if (s.x + s.y + s.z + s.w > 1e30f) b[get_global_id(0)] = s; }\n"
    "__kernel void far(__global const float4 *a, __global float4 *b, uint elements) {\n" /* b streams, a is read as x is */
    "    uint n = get_global_size(0), at = get_global_id(0); float4 s = (float4)(0);\n"
    "    __global const float2 *x = (__global const float2 *)a;\n"
    "    for (uint j = 0; j < 64; j++) {\n"
    "        uint r = (at + j * n) * 2654435769u; r ^= r >> 15; r *= 2246822519u; r ^= r >> 13;\n"
    "        float2 v = x[((ulong)r * elements) >> 32]; s += b[at + (size_t)j * n]; s.x += v.s0; s.y += v.s1; }\n"
    "    if (s.x + s.y + s.z + s.w > 1e30f) b[at] = s; }\n";

enum { PROBE_GROUP = 256 }; /* work-items in a group; bytes / 16 / 64 must be a multiple of it */

/* The seconds per launch in the fastest of five runs; 0 if the kernel does not run. */
static double kernel_seconds(const spmv_device *d, void *kernel, size_t items, int launches)
{
    const spmv_backend *b = d->info.backend;
    const spmv_order none = {0, NULL, NULL};
    double best = 0, from, took;
    int i, j;
    for (i = 0; i < 5; i++) {
        spmv_status s = SPMV_OK;
        from = cli_seconds();
        for (j = 0; j < launches && s == SPMV_OK; j++) s = b->launch(d, d->queue, kernel, items / PROBE_GROUP, PROBE_GROUP, &none, NULL);
        if (s == SPMV_OK) s = spmv_device_finish(d);
        if (s != SPMV_OK) return 0;
        took = (cli_seconds() - from) / launches;
        if (!i || took < best) best = took;
    }
    return best;
}

/* Makes a kernel of the program with the two buffers as its first arguments; NULL if that fails. */
static void *probe_kernel(const spmv_device *d, void *program, const char *name, void *const m[2])
{
    const spmv_backend *b = d->info.backend;
    void *kernel = NULL;
    unsigned i;
    spmv_status s = b->kernel(d, program, name, &kernel);
    for (i = 0; i < 2 && s == SPMV_OK; i++) s = b->argument(d, kernel, i, &m[i], sizeof m[i]);
    if (s == SPMV_OK) return kernel;
    if (kernel) b->kernel_free(d, kernel);
    return NULL;
}

typedef struct cache_reader {
    const spmv_device *d;
    void              *kernel;
    double             enough; /* bytes whose reading takes about half a millisecond */
} cache_reader;

static double device_again(void *me, size_t bytes)
{
    const cache_reader *r = (const cache_reader *)me;
    uint32_t times = r->enough > 4 * (double)bytes ? (uint32_t)(r->enough / (double)bytes) : 4;
    double took;
    if (r->d->info.backend->argument(r->d, r->kernel, 2, &times, sizeof times) != SPMV_OK) return 0;
    took = kernel_seconds(r->d, r->kernel, bytes / 16 / 64, 1);
    return took > 0 ? 1e-9 * times * (double)bytes / took : 0;
}

static void device_cache(tuner *u, void *program, void *const m[2], size_t bytes)
{
    cache_reader r;
    r.d = u->device;
    r.enough = 0.5e-3 * 1e9 * u->head.read;
    r.kernel = probe_kernel(r.d, program, "again", m);
    if (!r.kernel) return;
    probe_cache(u, bytes, device_again, &r);
    r.d->info.backend->kernel_free(r.d, r.kernel);
}

/* Finds how much of an x of 8-byte elements scattered reads find in the cache while 16 bytes for each of them stream through it, and what a
 * read costs that does not. As all elements are needed equally often, the time t of a read is hit + miss (1 - held / x) for each x
 * beyond held; two such x and one far below give the three unknowns. */
static void device_far(tuner *u, void *program, void *const m[2], size_t bytes)
{
    static const double of_cache[3] = {0.125, 1.5, 4}; /* sizes of x */
    const double cache = u->head.cache * 1048576, reads = (double)(bytes / 16 / 64 / PROBE_GROUP * PROBE_GROUP * 64);
    double time[3], slope, all, miss, held;
    void *kernel = cache > 0 && 4 * cache <= (double)bytes ? probe_kernel(u->device, program, "far", m) : NULL;
    int i;
    for (i = 0; kernel && i < 3; i++) {
        uint32_t elements = (uint32_t)(of_cache[i] * cache / 8);
        time[i] = u->device->info.backend->argument(u->device, kernel, 2, &elements, sizeof elements) == SPMV_OK
                      ? kernel_seconds(u->device, kernel, bytes / 16 / 64, 4) / reads : 0;
        if (!(time[i] > 0)) break;
    }
    if (kernel) u->device->info.backend->kernel_free(u->device, kernel);
    if (!kernel || i < 3) return;
    slope = (time[2] - time[1]) / (1 / (of_cache[1] * cache) - 1 / (of_cache[2] * cache)); /* miss times held */
    all = time[2] + slope / (of_cache[2] * cache);                                          /* hit and miss */
    miss = all - time[0];
    held = miss > 0 ? slope / miss : 0;
    if (!(held > 0) || held > cache || (u->head.miss > 0 && miss > u->head.miss)) return; /* lost in noise, or disturbed by other work */
    u->head.held = held / 1048576;
    u->head.miss = miss;
}

/* Measures copying and reading of so many bytes. */
static void bandwidth_run(tuner *u, void *program, void *const m[2], size_t bytes)
{
    const spmv_device *d = u->device;
    const spmv_backend *b = d->info.backend;
    size_t items = bytes / 16;
    uint32_t first[2] = {1, 64}, step[2] = {(uint32_t)(items / 64), 1}; /* adjacent items read adjacent elements, or each its own range */
    void *move = probe_kernel(d, program, "move", m), *load = probe_kernel(d, program, "load", m);
    double took;
    int i;
    if (move) {
        took = kernel_seconds(d, move, items, 4);
        if (took > 0) raise_to(&u->head.copy, 2e-9 * (double)bytes / took);
    }
    for (i = 0; load && i < 2; i++) {
        if (b->argument(d, load, 2, &first[i], sizeof first[i]) || b->argument(d, load, 3, &step[i], sizeof step[i])) break;
        took = kernel_seconds(d, load, items / 64, 4);
        if (took > 0) raise_to(&u->head.read, 1e-9 * (double)bytes / took);
    }
    if (move) b->kernel_free(d, move);
    if (load) b->kernel_free(d, load);
}

void probe_device_bandwidth(tuner *u, int gpu)
{
    const spmv_device *d = u->device;
    size_t bytes = gpu ? 512u << 20 : 128u << 20;
    spmv_kernel_source source = {"bandwidth (of the tuner)", "", 1, {bandwidth_source}, {sizeof bandwidth_source - 1}};
    void *m[2] = {NULL, NULL}, *program = NULL;
    spmv_status s;
    int i, fine;
    while (bytes > 1u << 20 && (bytes > d->info.alloc_bytes || bytes > d->info.global_bytes / 4)) bytes /= 2;
    s = d->info.backend->build(d, &source, &program);
    for (i = 0; s == SPMV_OK && i < 2; i++) s = spmv_buffer_create(d, bytes, &m[i]);
    for (i = 0; s == SPMV_OK && i < 2; i++) s = spmv_buffer_fill(d, m[i], bytes, 0);
    fine = s == SPMV_OK && d->info.group_size >= PROBE_GROUP;
    if (fine) bandwidth_run(u, program, m, bytes);
    raise_to(&u->head.read, u->head.copy); /* a compiler may make load slower than the memory: Intel's compiler for CPUs does */
    if (fine) device_cache(u, program, m, bytes / 2);
    if (fine && gpu) device_far(u, program, m, bytes);
    for (i = 0; i < 2; i++) spmv_buffer_free(d, m[i]);
    if (program) d->info.backend->program_free(d, program);
}

int probe_device(tuner *u)
{
    const spmv_device_info *d = &u->device->info;
    int gpu = d->type != SPMV_DEVICE_CPU;
    spmv_status s;
    size_t bytes = (size_t)u->head.rows_at[u->head.rows - 1] * sizeof(double);
    if (bytes < TUNE_PER_MOST * sizeof(double)) bytes = TUNE_PER_MOST * sizeof(double);
    spmv_print(u->head.device, sizeof u->head.device, "%s", d->name);
    u->head.device_class = spmv_target_of(u->device).device_class;
    spmv_print(u->head.driver, sizeof u->head.driver, "%s", d->driver);
    u->head.units = d->compute_units;
    u->head.memory = d->global_bytes >> 20;
    probe_device_bandwidth(u, gpu);
    u->run.t = u->t;
    u->run.device = u->device;
    s = spmv_buffer_create(u->device, bytes, &u->run.device_x);
    if (s == SPMV_OK) s = spmv_buffer_create(u->device, bytes, &u->run.device_y);
    if (s != SPMV_OK) return cli_complain(u->t, "cannot create the vectors: %s", spmv_status_text(s));
    return DONE;
}
#endif

void probe_print(const tuner *u)
{
    fprintf(stderr, "%s (%s), %llu units: copies %.4g GB/s, reads %.4g GB/s", u->head.device, u->head.driver,
            (unsigned long long)u->head.units, u->head.copy, u->head.read);
    if (u->head.cache > 0) fprintf(stderr, ", %.0f MiB of cache %.4g GB/s", u->head.cache, u->head.cache_read);
    if (u->head.miss > 0) fprintf(stderr, ", %.0f MiB of x held, a miss %.1f ps", u->head.held, u->head.miss * 1e12);
    if (u->head.call > 0) fprintf(stderr, "; a call takes %.2g us, a product in a graph %.2g us", u->head.call * 1e6, u->head.launch * 1e6);
    fputc('\n', stderr);
}
