/* SPDX-License-Identifier: MIT
 * bench/host.c - products with banded matrices in every format, on the host with one thread and with all, or on a device. bench/host.sh
 * builds it once with -O2 and once with -O3 -march=native, and makes tables of what it prints: a line of JSON for each matrix, plan and
 * number of threads, with the microseconds of a product, the bytes that it must move (the stored matrix, x once and y once), the rate at
 * which so many threads read memory, measured in turn with it, and share, its bytes over its time over that rate.
 *
 *   build/host-O2 NAME DEVICE f32|f64 small|cache|memory [MATRIX[/PLAN]...]
 *
 * NAME is printed as "build". DEVICE is "host", or a name as in spmv_device_desc.which. The sets of matrices: small, of which one thread
 * computes a product in some microseconds; cache, which the L3 cache holds; memory, several times as large. The names behind it select
 * matrices and plans. Exit status 1: a product was wrong.
 */
#include "../spmv.h"
#include "../tools/library.h"
#include "common.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { SAMPLES_LEAST = 3, SAMPLES_MOST = 200, ROUNDS = 5 };
static const double SAMPLE_SECONDS = 1e-4, DEVICE_SAMPLE_SECONDS = 2e-3, ROUND_SECONDS = 0.02;
static const uint64_t READ_BYTES = (uint64_t)128 << 20; /* several times an L3 cache */

static int most_threads(void)
{
#ifdef _OPENMP
    return omp_get_num_procs();
#else
    return 1;
#endif
}

static void use_threads(int n)
{
#ifdef _OPENMP
    omp_set_num_threads(n);
#else
    (void)n;
#endif
}

/* ---- the rate of reading ---------------------------------------------------------------------------------------------- */

#ifdef __GNUC__
typedef double lanes __attribute__((vector_size(16)));
#else
typedef double lanes;
#endif

/* The sum of n lanes. In four sums, because each addition would otherwise wait for the one before it. */
static lanes sum_of(const lanes *a, int64_t n)
{
    lanes s0 = *a, s1 = s0, s2 = s0, s3 = s0;
    int64_t i;
    for (i = 0; i + 4 <= n; i += 4) {
        s0 += a[i];
        s1 += a[i + 1];
        s2 += a[i + 2];
        s3 += a[i + 3];
    }
    return (s0 + s1) + (s2 + s3);
}

/* What the rate of reading is measured with, in large pages where the system has them, as the library's arrays are. */
static lanes *memory;

/* GB/s at which so many threads read that memory, each a piece of it: the faster of two passes. */
static double read_rate(int threads)
{
    const int64_t piece = (int64_t)(READ_BYTES / sizeof *memory) / threads;
    double best = 1e9;
    int pass, t;
    for (pass = 0; pass < 2; pass++) {
        const double from = now();
        double took, sum = 0;
#ifdef _OPENMP
#pragma omp parallel for schedule(static, 1) reduction(+ : sum)
#endif
        for (t = 0; t < threads; t++) {
            const lanes s = sum_of(memory + t * piece, piece);
            double one;
            memcpy(&one, &s, sizeof one);
            sum += one;
        }
        took = now() - from;
        if (sum >= 0 && took < best) best = took;
    }
    return 1e-9 * (double)(piece * threads) * (double)sizeof *memory / best;
}

/* ---- matrices --------------------------------------------------------------------------------------------------------- */

/* A grid of side^3 points with unknowns at each; every point is coupled with itself and its neighbours: the six along the axes (reach 1),
 * or all 26 (reach 3). side 0: dense, with so many rows as unknowns. */
typedef struct shape {
    const char *name, *set;
    int         side, reach, unknowns;
    const char *plans;
} shape;

#define SCALAR_PLANS "csr csr:run=1024,idx=16 tcsr coo cmrs ell ell:idx=16 sell sell:idx=16 sell:h=8 dia bdia"
#define BLOCK_PLANS \
    "csr csr:run=1024,idx=16 tcsr cmrs sell sell:idx=16 bcsr:b=3x3 bcsr:b=3x3,idx=16 sbell:b=3x3 sbell:b=3x3,idx=16 bell:b=3x3"
static const shape shapes[] = {
    { "grid_8", "small", 8, 1, 1, "csr ell sell dia" },
    { "grid_12", "small", 12, 1, 1, "csr ell sell dia" },
    { "grid_16", "small", 16, 1, 1, "csr ell sell dia" },
    { "grid_24", "small", 24, 1, 1, "csr ell sell dia" },
    { "mesh_3", "small", 3, 3, 3, "csr bcsr:b=3x3 sbell:b=3x3" },
    { "mesh_5", "small", 5, 3, 3, "csr bcsr:b=3x3 sbell:b=3x3" },
    { "mesh_8", "small", 8, 3, 3, "csr bcsr:b=3x3 sbell:b=3x3" },
    { "grid_40", "cache", 40, 1, 1, SCALAR_PLANS },
    { "mesh_12", "cache", 12, 3, 3, BLOCK_PLANS },
    { "dense_700", "cache", 0, 0, 700, "dense" },
    { "grid_144", "memory", 144, 1, 1, SCALAR_PLANS },
    { "mesh_46", "memory", 46, 3, 3, BLOCK_PLANS },
    { "dense_5600", "memory", 0, 0, 5600, "dense" },
};

static double entry(uint64_t k) { return 0.25 + (double)(k * 7 % 13) / 8; } /* exact in f32 */

/* The columns of a row of the shape, written to col; returns how many. */
static uint64_t row_columns(const shape *s, uint64_t row, uint32_t *col)
{
    const int64_t side = s->side, point = (int64_t)row / s->unknowns;
    const int64_t i = point % side, j = point / side % side, k = point / side / side;
    int64_t a, b, c, u;
    uint64_t n = 0;
    for (c = -1; c <= 1; c++)
        for (b = -1; b <= 1; b++)
            for (a = -1; a <= 1; a++) {
                if (a * a + b * b + c * c > s->reach) continue;
                if (i + a < 0 || i + a >= side || j + b < 0 || j + b >= side || k + c < 0 || k + c >= side) continue;
                for (u = 0; u < s->unknowns; u++) col[n++] = (uint32_t)((((k + c) * side + j + b) * side + i + a) * s->unknowns + u);
            }
    return n;
}

/* Makes the matrix of a shape with values of a type. */
static void make(spmv_csr *out, const shape *s, spmv_type type)
{
    const uint64_t side = (uint64_t)s->side, rows = (side ? side * side * side : 1) * (uint64_t)s->unknowns;
    const uint64_t most = side ? rows * (s->reach == 1 ? 7 : 27) * (uint64_t)s->unknowns : rows * rows;
    uint64_t *ptr = (uint64_t *)room(rows + 1, sizeof *ptr), r, k;
    uint32_t *col = (uint32_t *)room(most, sizeof *col);
    double *val = (double *)room(most, sizeof *val);
    spmv_input in;
    for (r = 0; r < rows; r++) {
        if (side) ptr[r + 1] = ptr[r] + row_columns(s, r, col + ptr[r]);
        else {
            for (k = 0; k < rows; k++) col[ptr[r] + k] = (uint32_t)k;
            ptr[r + 1] = ptr[r] + rows;
        }
    }
    for (k = 0; k < ptr[rows]; k++) val[k] = entry(k);
    memset(&in, 0, sizeof in);
    in.rows = in.cols = (int64_t)rows;
    in.ptr = ptr;
    in.ptr_bits = 64;
    in.col = col;
    in.val = val;
    in.val_type = SPMV_F64;
    need(spmv_csr_create(out, &in, type, NULL) == SPMV_OK, "making a matrix");
    free(ptr);
    free(col);
    free(val);
}

/* ---- products --------------------------------------------------------------------------------------------------------- */

static spmv_device device, *on; /* on: NULL is the host */

/* A prepared matrix, and the vectors of its product: in memory on the host, else buffers. */
typedef struct product {
    spmv_matrix m;
    void       *x, *y;
} product;

static void multiply(product *p, uint64_t times)
{
    for (; times; times--)
        need((on ? spmv_exec_mul(p->m.exec, 1, p->x, 0, 0, p->y, 0) : spmv_mul(&p->m, 1, p->x, 0, p->y)) == SPMV_OK, "a product");
    if (on) need(spmv_device_finish(on) == SPMV_OK, "waiting for the device");
}

/* How long products take and how fast memory is read. */
typedef struct rates {
    double us, read, share; /* microseconds of a product; GB/s; share: the product's bytes over its time, over read */
} rates;

/* Microseconds of a product: the median of samples, each of so many products in a row. */
static double time_of(product *p, uint64_t times)
{
    double us[SAMPLES_MOST], begin, from;
    int n = 0;
    for (begin = now(); n < SAMPLES_MOST && (n < SAMPLES_LEAST || now() - begin < ROUND_SECONDS); n++) {
        from = now();
        multiply(p, times);
        us[n] = (now() - from) / (double)times * 1e6;
    }
    return median(us, n);
}

/* The fastest of some rounds, and medians of the rates. Reading and products alternate, because the rate of reading changes within seconds
 * on machines that are shared. */
static rates rates_of(product *p, uint64_t bytes, int threads)
{
    const double least = on ? DEVICE_SAMPLE_SECONDS : SAMPLE_SECONDS;
    double us[ROUNDS], read[ROUNDS], share[ROUNDS], took = 0, from;
    uint64_t times = 1;
    rates r;
    int i;
    multiply(p, 2);
    for (;; times *= 2) {
        from = now();
        multiply(p, times);
        took = now() - from;
        if (took >= least) break;
    }
    for (i = 0; i < ROUNDS; i++) {
        read[i] = read_rate(threads);
        us[i] = time_of(p, times);
        share[i] = 1e-3 * (double)bytes / us[i] / read[i];
    }
    (void)median(us, ROUNDS);
    r.us = us[0];
    r.read = median(read, ROUNDS);
    r.share = median(share, ROUNDS);
    return r;
}

/* 1 if y is what the product is by the matrix as CSR, within rounding. */
static int is_right(const spmv_csr *a, const void *x, const void *y)
{
    const double unit = a->type == SPMV_F32 ? 6e-8 : 1.2e-16;
    uint64_t r, k;
    for (r = 0; r < a->rows; r++) {
        double want = 0, size = 0, got = a->type == SPMV_F32 ? (double)((const float *)y)[r] : ((const double *)y)[r];
        for (k = a->ptr[r]; k < a->ptr[r + 1]; k++) {
            const double v = a->type == SPMV_F32 ? (double)((const float *)a->val)[k] : ((const double *)a->val)[k];
            const double w = a->type == SPMV_F32 ? (double)((const float *)x)[a->col[k]] : ((const double *)x)[a->col[k]];
            want += v * w;
            size += fabs(v * w);
        }
        if (!(fabs(got - want) <= 2 * unit * size * (double)(a->ptr[r + 1] - a->ptr[r] + 4))) return 0;
    }
    return 1;
}

/* Times a plan for the matrix and prints its lines. Returns 1 if the product was wrong. */
static int time_plan(const char *build, const char *name, const spmv_csr *a, const char *plan, const void *x, void *y)
{
    const size_t size = spmv_vector_size(a->type);
    const int most = most_threads();
    uint64_t bytes;
    spmv_desc d;
    product p;
    int threads, right;
    memset(&d, 0, sizeof d);
    d.csr = a;
    d.type = a->type;
    d.plan = plan;
    d.device = on;
    d.max_bytes = UINT64_MAX;
    use_threads(most);
    need(spmv_create(&p.m, &d) == SPMV_OK, plan);
    p.x = (void *)(size_t)x; /* is not written */
    p.y = y;
    if (on) {
        need(spmv_buffer_create(on, a->cols * size, &p.x) == SPMV_OK && spmv_buffer_create(on, a->rows * size, &p.y) == SPMV_OK &&
                 spmv_buffer_write(on, p.x, a->cols * size, x) == SPMV_OK, "making buffers");
    }
    bytes = (a->rows + a->cols) * size + spmv_bytes(&p.m);
    memset(y, 255, (size_t)(a->rows * size));
    multiply(&p, 1);
    if (on) need(spmv_buffer_read(on, p.y, a->rows * size, y) == SPMV_OK, "reading y");
    right = is_right(a, x, y);
    for (threads = on ? most : 1; threads <= most; threads += threads < most ? most - 1 : 1) {
        rates r;
        use_threads(threads);
        r = rates_of(&p, bytes, threads);
        printf("{\"build\": \"%s\", \"device\": \"%s\", \"type\": \"%s\", \"matrix\": \"%s\", \"builder\": \"%s\", \"plan\": \"%s\", "
               "\"variant\": \"\", \"threads\": %d, \"us\": %.4g, \"bytes\": %llu, \"read\": %.4g, \"share\": %.3f, \"ok\": %s}\n",
               build, on ? on->info.name : "host", spmv_type_name(a->type), name, plan, plan, threads, r.us,
               (unsigned long long)bytes, r.read, r.share, right ? "true" : "false");
    }
    fflush(stdout);
    if (on) {
        spmv_buffer_destroy(on, p.x);
        spmv_buffer_destroy(on, p.y);
    }
    spmv_destroy(&p.m);
    return !right;
}

/* Whether the arguments select this matrix, and if plan is not NULL, this plan of it. */
static int selected(int count, char **names, const char *matrix, const char *plan)
{
    const size_t n = strlen(matrix);
    int i;
    for (i = 0; i < count; i++)
        if (!strncmp(names[i], matrix, n) && (!names[i][n] || (names[i][n] == '/' && (!plan || !strcmp(names[i] + n + 1, plan))))) return 1;
    return !count;
}

int main(int argc, char **argv)
{
    spmv_type type;
    size_t i;
    int wrong = 0;
    if (argc < 5) {
        fprintf(stderr, "usage: %s NAME DEVICE f32|f64 small|cache|memory [MATRIX[/PLAN]...]\n", argv[0]);
        return 2;
    }
    type = spmv_type_from(argv[3]);
    need(type != SPMV_TYPE_COUNT, "reading the type");
    if (strcmp(argv[2], "host")) {
        spmv_device_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.which = argv[2];
        need(spmv_device_create(&device, &desc) == SPMV_OK, "opening the device");
        on = &device;
    }
    memory = (lanes *)library_large_block((size_t)READ_BYTES);
    need(memory != NULL, "allocating memory");
    memset(memory, 0, (size_t)READ_BYTES);
    for (i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const shape *s = &shapes[i];
        char plans[256], *plan;
        void *x, *y;
        spmv_csr a;
        uint64_t k;
        if (strcmp(s->set, argv[4]) || !selected(argc - 5, argv + 5, s->name, NULL)) continue;
        make(&a, s, type);
        x = library_large_block((size_t)(a.cols * spmv_vector_size(type)));
        y = library_large_block((size_t)(a.rows * spmv_vector_size(type)));
        need(x && y, "allocating memory");
        for (k = 0; k < a.cols; k++) {
            if (type == SPMV_F32) ((float *)x)[k] = (float)entry(k * 3 + 1);
            else ((double *)x)[k] = entry(k * 3 + 1);
        }
        strcpy(plans, s->plans);
        for (plan = strtok(plans, " "); plan; plan = strtok(NULL, " "))
            if (selected(argc - 5, argv + 5, s->name, plan)) wrong |= time_plan(argv[1], s->name, &a, plan, x, y);
        free(x);
        free(y);
        spmv_csr_destroy(&a);
    }
    free(memory);
    if (on) spmv_device_destroy(on);
    return wrong;
}
