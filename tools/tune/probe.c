/* SPDX-License-Identifier: MIT */
#include "tune.h"

#include "../matrices/generate.h"
#include "../measure/device.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- memory and cache -----------------------------------------------------------------------------------------------
 * The best of several runs counts, because other work on the machine only makes runs slower. */

/* Reads bytes of an array again and again and returns the GB/s, or 0 if that fails. */
typedef double (*reader)(void *me, size_t bytes);

/* Finds the size and the rate of the cache, as products in a row use it, by reading arrays of rising size again and again. The cache is as
 * large as the last array, after the fastest one, that is read clearly faster than memory; its rate is that of arrays of half its size or
 * more. */
static void probe_cache(spmv_tuning *head, size_t most, reader read, void *me)
{
    double bytes, rates[64], sizes[64];
    int n = 0, top = 0, last, i;
    for (bytes = 1 << 20; bytes <= (double)most && n < 64; bytes *= 1.25, n++) {
        sizes[n] = (double)((size_t)bytes >> 18 << 18);
        rates[n] = read(me, (size_t)sizes[n]);
        if (rates[n] > rates[top]) top = n;
    }
    for (last = i = top; i < n; i++)
        if (rates[i] > 1.3 * head->read) last = i; /* one slow run before says nothing */
    if (!n || rates[top] <= 1.3 * head->read) return;
    for (i = top; sizes[i] < sizes[last] / 2;) i++;
    head->cache = sizes[last] / 1048576;
    for (head->cache_read = 0; i <= last; i++)
        if (rates[i] > head->cache_read) head->cache_read = rates[i];
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

static double host_again(void *me, size_t bytes)
{
    const double *a = (const double *)me;
    const int times = 1 + (int)((16u << 20) / bytes); /* a short run has more luck beside other work */
    double best = 0, from, rate, sum = 0;
    int run, i;
    for (run = 0; run < 6; run++) {
        from = cli_seconds();
        for (i = 0; i < times; i++) sum += host_sum(a, (int64_t)(bytes / sizeof *a));
        rate = 1e-9 * times * (double)bytes / (cli_seconds() - from);
        if (sum > 0 && rate > best) best = rate;
    }
    return best;
}

static int probe_host(spmv_tuning *head)
{
    const size_t bytes = 64u << 20;
    size_t i;
    double *a = (double *)malloc(bytes);
    snprintf(head->device, sizeof head->device, "host");
    head->device_class = SPMV_DEVICE_CLASS_HOST;
#if defined(__clang__)
    snprintf(head->driver, sizeof head->driver, "%s, %d threads", __VERSION__, device_host_threads());
#elif defined(__GNUC__)
    snprintf(head->driver, sizeof head->driver, "gcc %s, %d threads", __VERSION__, device_host_threads());
#endif
    head->units = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    for (i = 0; a && i < bytes / sizeof *a; i++) a[i] = 1;
    if (a) head->read = host_again(a, bytes);
    if (a) probe_cache(head, bytes, host_again, a);
    free(a);
    return a != NULL;
}

#ifndef SPMV_NO_DEVICES
/* It is not known beforehand in which order a device reads fastest, so load can read in two; and a compiler may make load slower than the
 * memory, as Intel's for CPUs does, so that copying counts as well. again reads data that another group has read. */
static const char bandwidth_source[] =
    "__kernel void move(__global const float4 *a, __global float4 *b, uint first, uint step) {\n"
    "    size_t i = get_global_id(0); for (uint j = 0; j < 64; j++, i += get_global_size(0)) b[i] = a[i]; }\n"
    "__kernel void load(__global const float4 *a, __global float4 *b, uint first, uint step) {\n"
    "    size_t i = get_global_id(0) * (size_t)first; float4 s = (float4)(0);\n"
    "    for (uint j = 0; j < 64; j++, i += step) s += a[i];\n"
    "    if (s.x + s.y + s.z + s.w > 1e30f) b[get_global_id(0)] = s; }\n"
    "__kernel void again(__global const float4 *a, __global float4 *b, uint times, uint step) {\n"
    "    uint n = get_global_size(0), at = get_global_id(0); float4 s = (float4)(0);\n"
    "    for (uint k = 0; k < times; k++, at = (at + n / 3 + 1) % n)\n"
    "        for (uint j = 0; j < 64; j++) s += a[at + (size_t)j * n];\n"
    "    if (s.x + s.y + s.z + s.w > 1e30f) b[get_global_id(0)] = s; }\n";

enum { PROBE_GROUP = 256 }; /* work-items in a group; bytes / 16 / 64 must be a multiple of it */

typedef struct device_reader {
    const spmv_device *d;
    void              *program, *buffer[2];
    double             enough; /* bytes whose reading takes about half a millisecond */
} device_reader;

/* The seconds of the fastest of five runs of a kernel that goes through so many bytes of the first buffer; 0 if it does not run. */
static double kernel_seconds(const device_reader *r, const char *name, uint32_t first, uint32_t step, size_t bytes)
{
    const spmv_backend *b = r->d->info.backend;
    const spmv_order none = {0, NULL, NULL};
    void *kernel = NULL;
    double best = 0, from, took;
    unsigned i;
    spmv_status s = b->kernel(r->d, r->program, name, &kernel);
    for (i = 0; i < 2 && s == SPMV_OK; i++) s = b->argument(r->d, kernel, i, &r->buffer[i], sizeof r->buffer[i]);
    if (s == SPMV_OK) s = b->argument(r->d, kernel, 2, &first, sizeof first);
    if (s == SPMV_OK) s = b->argument(r->d, kernel, 3, &step, sizeof step);
    for (i = 0; i < 5 && s == SPMV_OK; i++) {
        from = cli_seconds();
        s = b->launch(r->d, r->d->queue, kernel, bytes / 16 / 64 / PROBE_GROUP, PROBE_GROUP, &none, NULL);
        if (s == SPMV_OK) s = spmv_device_finish(r->d);
        took = cli_seconds() - from;
        if (s == SPMV_OK && (!(best > 0) || took < best)) best = took;
    }
    if (kernel) b->kernel_free(r->d, kernel);
    return best;
}

static double device_again(void *me, size_t bytes)
{
    const device_reader *r = (const device_reader *)me;
    const uint32_t times = r->enough > 4 * (double)bytes ? (uint32_t)(r->enough / (double)bytes) : 4;
    const double took = kernel_seconds(r, "again", times, 0, bytes);
    return took > 0 ? 1e-9 * times * (double)bytes / took : 0;
}

static void device_bandwidth(spmv_tuning *head, device_reader *r, size_t bytes)
{
    const uint32_t apart = (uint32_t)(bytes / 16 / 64);
    const double took[3] = {kernel_seconds(r, "move", 0, 0, bytes) / 2, /* it moves twice as many */
                            kernel_seconds(r, "load", 1, apart, bytes), kernel_seconds(r, "load", 64, 1, bytes)};
    int i;
    for (i = 0; i < 3; i++)
        if (took[i] > 0) head->read = fmax(head->read, 1e-9 * (double)bytes / took[i]);
    r->enough = 0.5e-3 * 1e9 * head->read;
    probe_cache(head, bytes / 2, device_again, r);
}

static int probe_device(const spmv_device *d, spmv_tuning *head)
{
    size_t bytes = d->info.type != SPMV_DEVICE_CPU ? 512u << 20 : 128u << 20;
    spmv_kernel_source source = {"bandwidth (of the tuner)", "", 1, {bandwidth_source}, {sizeof bandwidth_source - 1}};
    device_reader r;
    spmv_status s;
    int i;
    memset(&r, 0, sizeof r);
    r.d = d;
    spmv_print(head->device, sizeof head->device, "%s", d->info.name);
    spmv_print(head->driver, sizeof head->driver, "%s", d->info.driver);
    head->device_class = spmv_target_of(d).device_class;
    head->units = d->info.compute_units;
    while (bytes > 1u << 20 && (bytes > d->info.alloc_bytes || bytes > d->info.global_bytes / 4)) bytes /= 2;
    s = d->info.backend->build(d, &source, &r.program);
    for (i = 0; s == SPMV_OK && i < 2; i++) s = spmv_buffer_create(d, bytes, &r.buffer[i]);
    for (i = 0; s == SPMV_OK && i < 2; i++) s = spmv_buffer_fill(d, r.buffer[i], bytes, 0);
    if (s == SPMV_OK && d->info.group_size >= PROBE_GROUP) device_bandwidth(head, &r, bytes);
    for (i = 0; i < 2; i++) spmv_buffer_destroy(d, r.buffer[i]);
    if (r.program) d->info.backend->program_free(d, r.program);
    return s == SPMV_OK;
}
#endif

/* ---- the smallest product and the longest row ----------------------------------------------------------------------- */

/* Times a product of csr with these knobs and one row of n nonzeros side by side; 0 if that fails. */
static double one_row(product *p, uint64_t n, const char *variant)
{
    uint64_t ptr[2] = {0, n}, k;
    uint32_t *col = (uint32_t *)malloc((size_t)n * sizeof *col);
    product_times took = {0, 0, 0};
    spmv_type type = SPMV_F64;
    spmv_csr a;
#ifndef SPMV_NO_DEVICES
    if (p->device && !p->device->info.f64) type = SPMV_F32;
#endif
    memset(&a, 0, sizeof a);
    a.rows = 1;
    a.cols = a.nnz = n;
    a.ptr = ptr;
    a.col = col;
    for (k = 0; col && k < n; k++) col[k] = (uint32_t)k;
    if (col && product_take(p, &a, type) == DONE) product_measure(p, "csr", variant, &took);
    product_free(p);
    free(col);
    return took.seconds;
}

/* Measures the head's launch and, where products are timed in graphs, what a call takes. */
static void probe_launch(product *p, spmv_tuning *head)
{
    const int by_graph = p->t->graph;
    head->launch = one_row(p, 1, NULL);
    if (!by_graph) return;
    p->t->graph = 0;
    head->call = one_row(p, 1, NULL);
    p->t->graph = by_graph;
}

/* Measures the head's step on a GPU: what a work-item that goes through a row alone takes for each of its nonzeros, in a short row and
 * beyond. */
static void probe_step(product *p, spmv_tuning *head)
{
    static const uint64_t near = 512, far = 16384;
    double short_row, long_row;
    if (head->device_class != SPMV_DEVICE_CLASS_GPU) return;
    short_row = one_row(p, near, "L=1");
    long_row = one_row(p, far, "L=1");
    if (short_row <= head->launch || long_row <= short_row) return; /* lost in noise: nothing is known of steps */
    head->short_steps = near;
    head->step = (short_row - head->launch) / (double)near;
    head->long_step = (long_row - head->launch) / (double)far;
}

int probe_head(product *p, spmv_tuning *head)
{
    int fine;
#ifndef SPMV_NO_DEVICES
    if (p->device) fine = probe_device(p->device, head);
    else
#endif
        fine = probe_host(head);
    if (fine) probe_launch(p, head);
    if (!fine || !(head->launch > 0) || !(head->read > 0))
        return cli_complain(p->t, "%s: its memory and its smallest product could not be measured", head->device);
    probe_step(p, head);
    fprintf(stderr, "%s (%s), %llu units: memory %.4g GB/s", head->device, head->driver, (unsigned long long)head->units, head->read);
    if (head->cache > 0) fprintf(stderr, ", %.0f MiB of cache %.4g GB/s", head->cache, head->cache_read);
    fprintf(stderr, "; the smallest product takes %.2g us\n", head->launch * 1e6);
    return DONE;
}

/* ---- preparing ------------------------------------------------------------------------------------------------------ */

enum { REPEATS = 4 }; /* the fastest counts; the first builds kernels */

/* Seconds of preparing p's matrix by a plan; 0 if that fails. */
static double preparing(product *p, const char *plan)
{
    product_times took;
    double best = 0;
    int i;
    for (i = 0; i < REPEATS && product_prepare(p, plan, &took) == SPMV_OK; i++)
        if (!(best > 0) || took.preparing < best) best = took.preparing;
    return best;
}

/* Measures what a second part adds, for each nonzero. */
static void probe_part(product *p, spmv_tuning *head)
{
    const double one = preparing(p, "sell"), both = preparing(p, "sell:w=2+csr:rows=nonempty");
    if (one > 0 && both > one) head->part = (both - one) / (double)p->a.nnz;
}

#ifndef SPMV_NO_DEVICES
/* Seconds of fetching p's matrix from buffers of the device and analysing it; 0 if that fails. */
static double look_once(product *p, void *const array[3])
{
    spmv_build_hints hints;
    spmv_matrix m;
    spmv_desc d;
    memset(&d, 0, sizeof d);
    memset(&hints, 0, sizeof hints);
    hints.expected_calls = UINT64_C(1) << 40; /* so many that a look pays */
    d.type = p->of.type;
    d.hints = &hints;
    d.device = p->device;
    d.hooks = p->t->hooks;
    d.buffers = 1;
    d.matrix.rows = (int64_t)p->a.rows;
    d.matrix.cols = (int64_t)p->a.cols;
    d.matrix.nnz = (int64_t)p->a.nnz;
    d.matrix.ptr_bits = 64;
    d.matrix.val_type = p->of.type;
    d.matrix.ptr = array[0];
    d.matrix.col = array[1];
    d.matrix.val = array[2];
    cli_phases_begin(p->t);
    if (spmv_create(&m, &d) != SPMV_OK) return 0;
    spmv_destroy(&m);
    return p->t->spent[SPMV_PHASE_INPUT] + p->t->spent[SPMV_PHASE_CHOICE];
}

/* Seconds of a look at p's matrix, the fewest of several. *bytes: those of its pointers and columns. */
static double look(product *p, double *bytes)
{
    const uint64_t sizes[3] = {8 * (p->a.rows + 1), 4 * p->a.nnz, p->a.nnz * spmv_value_size(p->of.type)};
    const void *const from[3] = {p->a.ptr, p->a.col, p->a.val};
    void *array[3] = {NULL, NULL, NULL};
    double best = 0, took;
    int i, fine = 1;
    *bytes = (double)sizes[0] + (double)sizes[1];
    for (i = 0; i < 3 && fine; i++)
        fine = spmv_buffer_create(p->device, sizes[i], &array[i]) == SPMV_OK &&
               spmv_buffer_write(p->device, array[i], sizes[i], from[i]) == SPMV_OK;
    for (i = 0; i < REPEATS && fine; i++) {
        took = look_once(p, array);
        if (took > 0 && (!(best > 0) || took < best)) best = took;
    }
    for (i = 0; i < 3; i++) spmv_buffer_destroy(p->device, array[i]);
    return best;
}
#endif

int probe_prepare(product *p, spmv_tuning *head)
{
    static const char *const size[2] = {"poisson3d_24", "poisson3d_72"}; /* so that a beginning can be told from what bytes take */
    double bytes[2] = {0, 0}, took[2] = {0, 0};
    spmv_csr pattern;
    int i, result = DONE;
    for (i = 0; i < 2 && result == DONE; i++) {
        memset(&pattern, 0, sizeof pattern);
        result = generate_matrix(p->t, size[i], &pattern);
        if (result == DONE) result = product_take(p, &pattern, SPMV_F32);
        if (result == DONE && i) probe_part(p, head);
#ifndef SPMV_NO_DEVICES
        if (result == DONE && head->device_class == SPMV_DEVICE_CLASS_GPU) took[i] = look(p, &bytes[i]);
#endif
        product_free(p);
        spmv_csr_destroy(&pattern);
    }
    if (!(took[0] > 0) || !(took[1] > took[0])) return result;
    head->look_byte = (took[1] - took[0]) / (bytes[1] - bytes[0]);
    head->look = took[0] > head->look_byte * bytes[0] ? took[0] - head->look_byte * bytes[0] : 0;
    return result;
}
