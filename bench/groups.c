/* SPDX-License-Identifier: MIT
 * bench/groups.c - times groups of devices (spmv_group.h) beside their first device alone.
 *
 *   groups [--staged] DEVICES MATRIX...        times products, checks them, and prints for each matrix
 *            one, two  a product on the first device and on all of them, microseconds
 *            product   on all, without the exchange
 *            exchange  of the halos, without the product
 *            own       each device's product with its own block, while the others rest
 *            halo      bytes that each device receives in a product, kilobytes
 *   groups [--staged] DEVICES lines [MATRIX...]  prints one line for each matrix, or for eight of its own: microseconds of a product on
 *            each device alone and on the group as divided by rates, which should be no slower than the best of them, and milliseconds
 *            of creating each when its kernels are compiled
 *   groups [--staged] DEVICES ways             times the exchange of one message between the first two devices, by size
 *   groups write MATRIX FILE                   writes a matrix as bench/csrb does, for the peers' programs
 *
 * DEVICES is names as in spmv_device_desc.which with plus signs between them, "host" for the host. --staged: halos go through pinned host
 * memory even where devices can copy from each other. MATRIX is a file or one of
 *   grid_X_Y_Z    seven-point grid of X x Y x Z points
 *   mesh_X_Y_Z    27-point grid of X x Y x Z points with 3 unknowns each
 *   random_R_M    R rows of M nonzeros in random columns
 *   power_R_M     R rows, a power of two, of about M nonzeros; rows and columns of a power law
 * Products are timed in a row, by the wall clock around a batch; a figure is the median of the batches. All values are small integers, so
 * that every sum is exact and every product is compared bit by bit with that of a plain loop on the host.
 * SPMV_BENCH_TYPE=f32: single precision in place of double.
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -O2 -fopenmp -I. bench/groups.c -o build/groups -ldl -lm
 */
#define SPMV_IMPLEMENTATION
#include "../spmv.h"
#include "../spmv_group.h"
#include "../spmv_io.h"
#include "common.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#define PARALLEL_FOR _Pragma("omp parallel for schedule(static)")
#else
#define PARALLEL_FOR
#endif

enum { MOST_DEVICES = 8, ROUNDS = 7, MOST_PRODUCTS = 1000 };
static const double LEAST_SECONDS = 0.03; /* of a batch; one of 1000 products may be shorter */

static void hear(void *user, spmv_status s, const char *text)
{
    (void)user;
    (void)s;
    fprintf(stderr, "groups: %s\n", text);
}

/* ---- matrices ------------------------------------------------------------------------------------------------------- */

/* How a matrix is made, row by row. row writes the columns of row r in rising order and returns how many there are; col is NULL the first
 * time, when only their number is wanted. */
typedef struct maker {
    uint64_t n[3], rows;
    uint32_t most; /* the longest row that is possible */
    uint32_t (*row)(const struct maker *m, uint64_t r, uint32_t *col);
} maker;

static uint64_t mix(uint64_t v)
{
    v += 0x9e3779b97f4a7c15u;
    v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
    v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
    return v ^ (v >> 31);
}

/* Number k of row r, above 0 and up to 1. */
static double number_of(uint64_t r, uint64_t k) { return (double)((mix(r * 1048583u + k) >> 11) + 1) / 9007199254740992.0; }

/* The neighbours of a point of the grid, span planes, lines and points away; corners: also those that differ in several directions. Each
 * has unknowns columns. */
static uint32_t row_near(const maker *m, uint64_t r, uint32_t *col, int corners, unsigned unknowns)
{
    uint64_t p = r / unknowns, x = p % m->n[0], y = p / m->n[0] % m->n[1], z = p / m->n[0] / m->n[1];
    int64_t n0 = (int64_t)m->n[0], n1 = (int64_t)m->n[1];
    uint32_t n = 0;
    int dx, dy, dz;
    unsigned u;
    for (dz = -1; dz <= 1; dz++)
        for (dy = -1; dy <= 1; dy++)
            for (dx = -1; dx <= 1; dx++) {
                if (!corners && (dx != 0) + (dy != 0) + (dz != 0) > 1) continue;
                if (x + (uint64_t)dx >= m->n[0] || y + (uint64_t)dy >= m->n[1] || z + (uint64_t)dz >= m->n[2]) continue;
                for (u = 0; u < unknowns; u++, n++)
                    if (col) col[n] = (uint32_t)((p + (uint64_t)(((int64_t)dz * n1 + dy) * n0 + dx)) * unknowns + u);
            }
    return n;
}

static uint32_t row_grid(const maker *m, uint64_t r, uint32_t *col) { return row_near(m, r, col, 0, 1); }
static uint32_t row_mesh(const maker *m, uint64_t r, uint32_t *col) { return row_near(m, r, col, 1, 3); }

static int by_column(const void *a, const void *b)
{
    uint32_t u = *(const uint32_t *)a, v = *(const uint32_t *)b;
    return (u > v) - (u < v);
}

/* Sorts columns and removes those that are there twice; returns how many are left. */
static uint32_t distinct(uint32_t *col, uint32_t n)
{
    uint32_t i, k = 0;
    qsort(col, n, sizeof *col, by_column);
    for (i = 0; i < n; i++)
        if (!i || col[i] != col[i - 1]) col[k++] = col[i];
    return k;
}

static uint32_t row_random(const maker *m, uint64_t r, uint32_t *col)
{
    uint32_t own[4096], k, n = (uint32_t)m->n[1];
    uint32_t *at = col ? col : own;
    for (k = 0; k < n; k++) at[k] = (uint32_t)(number_of(r, k) * (double)(m->rows - 1));
    return distinct(at, n);
}

/* Row lengths by a Pareto distribution of exponent 2, columns whose popularity falls with the power 2/3, both in random order. */
static uint32_t row_power(const maker *m, uint64_t r, uint32_t *col)
{
    uint32_t own[4096], k, n;
    uint32_t *at = col ? col : own;
    double length = 0.5 * (double)m->n[1] / sqrt(number_of(r, 0)), u;
    n = length < 4096 ? (uint32_t)length : 4096;
    if (!n) n = 1;
    for (k = 0; k < n; k++) {
        u = number_of(r, k + 1);
        at[k] = (uint32_t)((uint64_t)(u * u * u * (double)(m->rows - 1)) * 2654435761u & (m->rows - 1));
    }
    return distinct(at, n);
}

/* Makes the CSR form row by row; the values are 1 to 3. */
static void build(const maker *m, spmv_type type, spmv_csr *a)
{
    uint64_t *ptr = (uint64_t *)room(m->rows + 1, sizeof *ptr);
    uint32_t *col;
    void *val;
    int64_t r;
    memset(a, 0, sizeof *a);
    ptr[0] = 0;
    PARALLEL_FOR
    for (r = 0; r < (int64_t)m->rows; r++) ptr[r + 1] = m->row(m, (uint64_t)r, NULL);
    for (r = 0; r < (int64_t)m->rows; r++) ptr[r + 1] += ptr[r];
    a->nnz = ptr[m->rows];
    col = (uint32_t *)room(a->nnz + m->most, sizeof *col);
    val = room(a->nnz, spmv_value_size(type));
    PARALLEL_FOR
    for (r = 0; r < (int64_t)m->rows; r++) {
        uint32_t own[8192], n = m->row(m, (uint64_t)r, own), k;
        memcpy(col + ptr[r], own, n * sizeof *col);
        for (k = 0; k < n; k++)
            if (type == SPMV_F64) ((double *)val)[ptr[r] + k] = 1 + (double)(own[k] % 3);
            else ((float *)val)[ptr[r] + k] = 1 + (float)(own[k] % 3);
    }
    a->rows = a->cols = m->rows;
    a->ptr = ptr;
    a->col = col;
    a->val = val;
    a->type = type;
}

/* Makes the matrix of this name or reads the file. */
static void matrix_of(const char *name, spmv_type type, spmv_csr *a)
{
    unsigned long long n[3] = { 0, 0, 0 };
    spmv_mm_options options;
    maker m;
    memset(&m, 0, sizeof m);
    if (sscanf(name, "grid_%llu_%llu_%llu", &n[0], &n[1], &n[2]) == 3) m.row = row_grid;
    else if (sscanf(name, "mesh_%llu_%llu_%llu", &n[0], &n[1], &n[2]) == 3) m.row = row_mesh;
    else if (sscanf(name, "random_%llu_%llu", &n[0], &n[1]) == 2) m.row = row_random;
    else if (sscanf(name, "power_%llu_%llu", &n[0], &n[1]) == 2) m.row = row_power;
    if (!m.row) {
        memset(&options, 0, sizeof options);
        options.store = type;
        if (strstr(name, ".bin")) need(spmv_bin_read_file(a, name, type, NULL) == SPMV_OK, name);
        else need(spmv_mm_read_file(a, name, &options, NULL, NULL) == SPMV_OK, name);
        return;
    }
    m.n[0] = n[0];
    m.n[1] = n[1];
    m.n[2] = n[2];
    m.rows = m.row == row_grid ? n[0] * n[1] * n[2] : m.row == row_mesh ? 3 * n[0] * n[1] * n[2] : n[0];
    need(m.rows && m.rows < 0xffffffffu && (m.row != row_random || (n[1] && n[1] <= 4096)) &&
         (m.row != row_power || !(n[0] & (n[0] - 1))), name);
    m.most = 8192;
    build(&m, type, a);
}

/* Frees a matrix of matrix_of. */
static void matrix_end(spmv_csr *a)
{
    if (!a->owned) {
        free((void *)(uintptr_t)a->ptr);
        free((void *)(uintptr_t)a->col);
        free((void *)(uintptr_t)a->val);
    } else spmv_csr_destroy(a);
}

/* Element i of x: a small integer. */
static double x_of(uint64_t i) { return (double)(mix(i) % 5) - 2; }

static void put(spmv_type type, void *v, uint64_t i, double value)
{
    if (type == SPMV_F64) ((double *)v)[i] = value;
    else ((float *)v)[i] = (float)value;
}
static double get(spmv_type type, const void *v, uint64_t i) { return type == SPMV_F64 ? ((const double *)v)[i] : ((const float *)v)[i]; }

/* y = A x by a plain loop. */
static void reference(const spmv_csr *a, double *y)
{
    int64_t r;
    PARALLEL_FOR
    for (r = 0; r < (int64_t)a->rows; r++) {
        uint64_t k;
        for (y[r] = 0, k = a->ptr[r]; k < a->ptr[r + 1]; k++) y[r] += get(a->type, a->val, k) * x_of(a->col[k]);
    }
}

/* Writes the matrix as bench/csrb.c does. */
static void write_plain(const spmv_csr *a, const char *path)
{
    int64_t shape[3];
    FILE *f = fopen(path, "wb");
    shape[0] = (int64_t)a->rows;
    shape[1] = (int64_t)a->cols;
    shape[2] = (int64_t)a->nnz;
    need(f && fwrite("CSRB", 1, 4, f) == 4 && fwrite(shape, 8, 3, f) == 3 && fwrite(a->ptr, 8, (size_t)a->rows + 1, f) == a->rows + 1 &&
         fwrite(a->col, 4, (size_t)a->nnz, f) == a->nnz && fwrite(a->val, 8, (size_t)a->nnz, f) == a->nnz && !fclose(f), path);
}

/* ---- devices -------------------------------------------------------------------------------------------------------- */

static spmv_device   device[MOST_DEVICES];
static spmv_device  *on[MOST_DEVICES]; /* NULL: the host */
static size_t        devices;
static spmv_backend  without_peers[MOST_DEVICES];
static spmv_transfer staged[MOST_DEVICES];

/* Opens the devices that are named. */
static void open_all(char *names, int through_host)
{
    spmv_device_desc desc;
    char *end;
    for (; names; names = end) {
        size_t i = devices++;
        need(i < MOST_DEVICES, "reading DEVICES (at most 8)");
        end = strchr(names, '+');
        if (end) *end++ = 0;
        if (!strcmp(names, "host")) continue;
        memset(&desc, 0, sizeof desc);
        desc.which = names;
        desc.hooks.log = hear;
        need(spmv_device_create(&device[i], &desc) == SPMV_OK, names);
        on[i] = &device[i];
        if (!through_host) continue;
        without_peers[i] = *device[i].info.backend;
        staged[i] = *without_peers[i].transfer;
        staged[i].peer = NULL;
        staged[i].peer_open = NULL;
        without_peers[i].transfer = &staged[i];
        device[i].info.backend = &without_peers[i];
    }
}

/* ---- products ------------------------------------------------------------------------------------------------------- */

/* What is timed: whole products, products without the exchange, the exchange, or the product of device number part - PART. */
enum { WHOLE, PRODUCT, EXCHANGE, PART };

/* Enqueues one of these. */
static void enqueue(spmv_group *g, spmv_group_vector *x, spmv_group_vector *y, int part)
{
    spmv__group_run r;
    size_t i;
    spmv_status s = SPMV_OK;
    memset(&r, 0, sizeof r);
    r.group = g;
    r.alpha = 1;
    r.x = x->part;
    r.y = y->part;
    r.exchange = part == EXCHANGE && g->messages;
    if (part == WHOLE) s = spmv_group_mul_vectors(g, 1, x, 0, y);
    else if (part == PRODUCT) {
        s = spmv__group_begin(&r);
        if (!s) s = spmv__group_early(&r);
        if (!s) s = spmv__group_rest(&r);
        if (!s) s = spmv__group_on_host(&r);
    } else if (part == EXCHANGE) {
        s = spmv__group_begin(&r);
        if (!s) s = spmv__group_send(&r);
        for (i = 0; !s && i < g->count; i++) if (!g->block[i].device && g->block[i].staged_) spmv__group_pack(&r, i);
        for (i = 0; !s && i < g->count; i++) if (g->block[i].device) s = spmv__group_receive_device(g, &g->block[i], r.x);
        for (i = 0; !s && i < g->count; i++) if (!g->block[i].device) s = spmv__group_receive_host(&r, i);
        for (i = 0; !s && i < g->count; i++) if (g->block[i].device) s = spmv__group_end_device(&g->block[i]);
    } else {
        s = spmv__group_mul_block(&r, (size_t)(part - PART), SPMV__GROUP_EARLY);
        if (!s) s = spmv__group_mul_block(&r, (size_t)(part - PART), SPMV__GROUP_LATE);
    }
    need(s == SPMV_OK, "a product");
}

/* Seconds of one: the median of some batches; *calls: the seconds after which the last batch had been enqueued, for one. */
static double measure(spmv_group *g, spmv_group_vector *x, spmv_group_vector *y, int part, double *calls)
{
    double round[ROUNDS], begun, enqueued = 0;
    int i, k, n = 5;
    for (i = -2; i < ROUNDS; i++) { /* the first two warm up and say how many products a batch has */
        begun = now();
        for (k = 0; k < n; k++) enqueue(g, x, y, part);
        enqueued = now() - begun;
        need(spmv_group_wait(g) == SPMV_OK, "waiting");
        if (i >= 0) round[i] = (now() - begun) / n;
        else n = (int)(1 + LEAST_SECONDS * n / (now() - begun));
        if (n > MOST_PRODUCTS) n = MOST_PRODUCTS;
    }
    if (calls) *calls = enqueued / n;
    return median(round, ROUNDS);
}

/* The seconds of a product with a block by itself, for a division by measured rates. */
static double measure_block(void *user, size_t i, spmv_matrix *m)
{
    uint64_t size = spmv_vector_size(m->store.type), xs = spmv_cols(m) * size, ys = spmv_rows(m) * size;
    void *x = NULL, *y = NULL;
    double best = 1e9, begun, took;
    int round, k, n = 20;
    (void)user;
    (void)i;
    if (m->device) need(!spmv_buffer_create(m->device, xs, &x) && !spmv_buffer_create(m->device, ys, &y) &&
                        !spmv_buffer_fill(m->device, x, xs / 4 * 4, 0), "buffers");
    else {
        x = calloc((size_t)xs + 8, 1);
        y = calloc((size_t)ys + 8, 1);
    }
    for (round = 0; round < 4; round++) {
        begun = now();
        for (k = 0; k < n; k++)
            need(SPMV_OK == (m->device ? spmv_exec_mul(m->exec, 1, x, 0, 0, y, 0) : spmv_mul(m, 1, x, 0, y)), "a product");
        if (m->device) spmv_device_finish(m->device);
        took = (now() - begun) / n;
        if (round && took < best) best = took;
        if (took * n > 0.2) n = n / 4 + 1;
    }
    if (m->device) {
        spmv_buffer_destroy(m->device, x);
        spmv_buffer_destroy(m->device, y);
    } else {
        free(x);
        free(y);
    }
    return best;
}

/* Writes x and compares a product with the reference. */
static void check(spmv_group *g, spmv_group_vector *x, spmv_group_vector *y, const double *want, const char *what)
{
    void *v = room(g->cols > g->rows ? g->cols : g->rows, spmv_vector_size(g->type));
    uint64_t i, wrong = 0, first = 0;
    for (i = 0; i < g->cols; i++) put(g->type, v, i, x_of(i));
    need(spmv_group_vector_write(x, v) == SPMV_OK, "writing x");
    enqueue(g, x, y, WHOLE);
    enqueue(g, x, y, WHOLE);
    need(spmv_group_vector_read(y, v) == SPMV_OK, "reading y");
    for (i = g->rows; i-- > 0;)
        if (get(g->type, v, i) != want[i]) {
            wrong++;
            first = i;
        }
    if (wrong)
        printf("WRONG %s: %llu of %llu rows, row %llu is %g, not %g\n", what, (unsigned long long)wrong, (unsigned long long)g->rows,
               (unsigned long long)first, get(g->type, v, first), want[first]);
    free(v);
}

/* How a group is divided in a line. */
typedef struct way {
    const char         *name;
    spmv_group_division divide;
    int                 timed; /* 1: by rates that are measured */
} way;

/* Makes a group of count devices from the first one on. */
static void make_group(spmv_group *g, const spmv_csr *a, size_t first, size_t count, const way *w)
{
    spmv_group_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.desc.csr = a;
    desc.desc.type = a->type;
    desc.desc.plan = getenv("SPMV_BENCH_PLAN");
    desc.desc.hooks.log = hear;
    desc.device = on + first;
    desc.count = count;
    desc.divide = w->divide;
    desc.estimate = count > 1;
    if (w->timed) desc.measure = measure_block;
    need(spmv_group_create(g, &desc) == SPMV_OK, "making a group");
}

/* Makes a group and vectors; says how long that took. */
static void make(spmv_group *g, spmv_group_vector *v, const spmv_csr *a, size_t first, size_t count, const way *w)
{
    double begun = now();
    make_group(g, a, first, count, w);
    need(!spmv_group_vector_create(&v[0], g, SPMV_GROUP_X) && !spmv_group_vector_create(&v[1], g, SPMV_GROUP_Y), "vectors");
    fprintf(stderr, "%u devices by %s: made in %.2f s\n", (unsigned)count, w->name, now() - begun);
}

static void end(spmv_group *g, spmv_group_vector *v)
{
    spmv_group_vector_destroy(&v[0]);
    spmv_group_vector_destroy(&v[1]);
    spmv_group_destroy(g);
}

/* The plan of a matrix as text; out has SPMV_PLAN_TEXT bytes. */
static const char *plan_of(const spmv_matrix *m, char *out)
{
    spmv_plan_of(m, out, SPMV_PLAN_TEXT);
    return out;
}

/* Prints what each device of a group has and takes. */
static void print_blocks(spmv_group *g, spmv_group_vector *v)
{
    uint64_t size = spmv_vector_size(g->type);
    char plan[SPMV_PLAN_TEXT];
    size_t i;
    int k;
    for (i = 0; i < g->count; i++) {
        const spmv_group_block *b = &g->block[i];
        double own = b->rows ? measure(g, &v[0], &v[1], PART + (int)i, NULL) : 0;
        printf("    %-20s %8llu rows, %4.1f%% of the nonzeros, own %.1f us (predicted %.1f, exchange %.1f), halo %.1f KB, sends %.1f KB%s:",
               b->device ? b->device->info.name : "host", (unsigned long long)b->rows, 100.0 * (double)b->nnz / (double)g->nnz, own * 1e6,
               b->predicted * 1e6, b->exchange * 1e6, (double)((b->before + b->after) * size) * 1e-3, (double)(b->sends * size) * 1e-3,
               b->sends && b->device && !b->packed_ ? " from x" : "");
        for (k = 0; k < b->pieces; k++)
            printf(" %s%s %llu rows", b->piece[k].adds ? "halo " : b->split ? "own " : "", plan_of(&b->piece[k].m, plan),
                   (unsigned long long)spmv_rows(&b->piece[k].m));
        printf("\n");
    }
}

/* The lines of one matrix. */
static void report(const char *name, spmv_type type)
{
    static const way ways[] = {
        { "rates", SPMV_GROUP_BY_RATE, 0 }, { "measured", SPMV_GROUP_BY_RATE, 1 }, { "nonzeros", SPMV_GROUP_BY_NNZ, 0 }
    };
    char plan[SPMV_PLAN_TEXT];
    spmv_csr a;
    spmv_group g;
    spmv_group_vector v[2];
    double begun = now(), one, all, product, exchange, calls, *want;
    size_t w, i;
    int same = 1, used, split = 0;
    for (i = 1; i < devices; i++) same &= (on[i] != NULL) == (on[0] != NULL) && (!on[i] || !strcmp(on[i]->info.name, on[0]->info.name));
    matrix_of(name, type, &a);
    want = (double *)room(a.rows, sizeof *want);
    reference(&a, want);
    fprintf(stderr, "%s: made in %.2f s\n", name, now() - begun);
    make(&g, v, &a, 0, 1, &ways[2]);
    check(&g, &v[0], &v[1], want, "on one device");
    one = measure(&g, &v[0], &v[1], WHOLE, NULL);
    printf("%s %s: %llu rows, %llu nonzeros, CSR %.0f MB; on one %.1f us by %s (%.0f MB, %.0f GB/s of it)\n", name, spmv_type_name(type),
           (unsigned long long)a.rows, (unsigned long long)a.nnz, 1e-6 * (double)(a.nnz * (4 + spmv_value_size(type)) + 8 * a.rows),
           one * 1e6,
           plan_of(&g.block[0].piece[0].m, plan), 1e-6 * (double)spmv_bytes(&g.block[0].piece[0].m),
           1e-9 * (double)spmv_bytes(&g.block[0].piece[0].m) / one);
    end(&g, v);
    for (w = 0; w < 3; w++) {
        if (same && w == 1) continue;                  /* equal devices have equal rates */
        if (w == 2 && split) continue;                 /* so that there is a division at least once */
        make(&g, v, &a, 0, devices, &ways[w]);
        for (used = 0, i = 0; i < devices; i++) used += g.block[i].rows > 0;
        if (used < 2) {
            printf("  by %s: one device gets all rows\n", ways[w].name);
            end(&g, v);
            continue;
        }
        if (w == 0) split = 1;
        check(&g, &v[0], &v[1], want, ways[w].name);
        all = measure(&g, &v[0], &v[1], WHOLE, &calls);
        product = measure(&g, &v[0], &v[1], PRODUCT, NULL);
        exchange = g.messages ? measure(&g, &v[0], &v[1], EXCHANGE, NULL) : 0;
        printf("  by %-8s  on %u %.1f us, speed-up %.2f; product alone %.1f, exchange alone %.1f, together %.1f, enqueued in %.1f\n",
               ways[w].name, (unsigned)devices, all * 1e6, one / all, product * 1e6, exchange * 1e6, all * 1e6, calls * 1e6);
        print_blocks(&g, v);
        check(&g, &v[0], &v[1], want, "after timing");
        end(&g, v);
    }
    free(want);
    matrix_end(&a);
    fflush(stdout);
}

/* ---- lines ---------------------------------------------------------------------------------------------------------- */

/* Seconds of creating a group of count devices; of one: by spmv_create, without a group. */
static double measure_creation(const spmv_csr *a, size_t first, size_t count, const way *w)
{
    double round[3], begun;
    spmv_desc desc;
    spmv_matrix m;
    spmv_group g;
    int i;
    memset(&desc, 0, sizeof desc);
    desc.csr = a;
    desc.type = a->type;
    desc.plan = getenv("SPMV_BENCH_PLAN");
    desc.device = on[first];
    desc.hooks.log = hear;
    for (i = -1; i < 3; i++) { /* the first compiles */
        begun = now();
        if (count > 1) make_group(&g, a, first, count, w);
        else need(spmv_create(&m, &desc) == SPMV_OK, "creating a matrix");
        if (i >= 0) round[i] = now() - begun;
        if (count > 1) spmv_group_destroy(&g);
        else spmv_destroy(&m);
    }
    return median(round, 3);
}

/* The line of one matrix. */
static void report_line(const char *name, spmv_type type)
{
    static const way by_rates = { "rates", SPMV_GROUP_BY_RATE, 0 }, by_nonzeros = { "nonzeros", SPMV_GROUP_BY_NNZ, 0 };
    double seconds[MOST_DEVICES + 1], create[MOST_DEVICES + 1], best = 1e9, *want;
    spmv_csr a;
    size_t i, k, used = 0;
    matrix_of(name, type, &a);
    want = (double *)room(a.rows, sizeof *want);
    reference(&a, want);
    for (i = 0; i <= devices; i++) {
        const size_t first = i < devices ? i : 0, count = i < devices ? 1 : devices;
        spmv_group g;
        spmv_group_vector v[2];
        create[i] = measure_creation(&a, first, count, &by_rates);
        make(&g, v, &a, first, count, count > 1 ? &by_rates : &by_nonzeros);
        check(&g, &v[0], &v[1], want, name);
        seconds[i] = measure(&g, &v[0], &v[1], WHOLE, NULL);
        if (i < devices && seconds[i] < best) best = seconds[i];
        for (k = 0; i == devices && k < devices; k++) used += g.block[k].rows > 0;
        end(&g, v);
    }
    printf("%-20s %9llu rows %10llu nonzeros  us alone", name, (unsigned long long)a.rows, (unsigned long long)a.nnz);
    for (i = 0; i < devices; i++) printf(" %8.1f", seconds[i] * 1e6);
    printf(", group %8.1f on %u, %4.2f of the best;  ms alone", seconds[devices] * 1e6, (unsigned)used, seconds[devices] / best);
    for (i = 0; i < devices; i++) printf(" %7.1f", create[i] * 1e3);
    printf(", group %7.1f\n", create[devices] * 1e3);
    free(want);
    matrix_end(&a);
    fflush(stdout);
}

static void report_lines(char **names, int count, spmv_type type)
{
    static const char *const own[] = { "grid_100_100_100", "grid_128_128_128", "grid_256_256_256", "mesh_40_40_40", "mesh_90_90_90",
                                       "random_1048576_12", "power_1048576_16", "power_4194304_24" };
    int i;
    for (i = 0; i < count; i++) report_line(names[i], type);
    for (i = 0; !count && i < (int)(sizeof own / sizeof *own); i++) report_line(own[i], type);
}

/* ---- ways ----------------------------------------------------------------------------------------------------------- */

/* What a message needs on both sides. */
typedef struct lane {
    void *queue[2], *point[2], *buffer[2], *stage, *handle;
} lane;

/* Sends one message from device 0 to device 1; wait: returns when it is there. */
static spmv_status send(const lane *l, uint64_t bytes, int peer, int wait)
{
    const spmv_transfer *t0 = device[0].info.backend->transfer, *t1 = device[1].info.backend->transfer;
    spmv_status s;
    if (peer) s = t1->peer(&device[1], l->queue[1], l->buffer[1], 0, &device[0], l->buffer[0], 0, bytes);
    else {
        s = t0->get(&device[0], l->queue[0], l->buffer[0], 0, bytes, l->stage);
        if (!s) s = t0->set(&device[0], l->queue[0], l->point[0]);
        if (!s) s = t0->wait(&device[0], l->point[0]);
        if (!s) s = t1->put(&device[1], l->queue[1], l->buffer[1], 0, bytes, l->stage);
    }
    if (!s) s = t1->set(&device[1], l->queue[1], l->point[1]);
    return s || !(wait || !peer) ? s : t1->wait(&device[1], l->point[1]);
}

/* Seconds of a message: waited for one by one, or in a row. */
static double send_many(const lane *l, uint64_t bytes, int peer, int wait)
{
    double round[ROUNDS], begun;
    int i, k, n = bytes > 4000000 ? 20 : 200;
    for (i = -1; i < ROUNDS; i++) {
        begun = now();
        for (k = 0; k < n; k++) need(send(l, bytes, peer, wait) == SPMV_OK, "a message");
        need(device[1].info.backend->finish(&device[1], l->queue[1]) == SPMV_OK, "waiting");
        if (i >= 0) round[i] = (now() - begun) / n;
    }
    return median(round, ROUNDS);
}

/* Prints the times of messages by size. */
static void report_ways(void)
{
    enum { LARGEST = 64 << 20 };
    lane l;
    uint64_t bytes;
    int i, peer;
    need(devices >= 2 && on[0] && on[1], "ways (two devices, none of them the host)");
    peer = on[0]->info.backend->transfer->peer && on[0]->info.backend == on[1]->info.backend;
    memset(&l, 0, sizeof l);
    for (i = 0; i < 2; i++) {
        const spmv_transfer *t = device[i].info.backend->transfer;
        need(!t->queue(&device[i], &l.queue[i]) && !t->point(&device[i], &l.point[i]) &&
             !spmv_buffer_create(&device[i], LARGEST, &l.buffer[i]) && !spmv_buffer_fill(&device[i], l.buffer[i], LARGEST, 0), "buffers");
    }
    need(!device[0].info.backend->transfer->pin(&device[0], LARGEST, &l.stage, &l.handle), "pinning");
    if (peer) need(!device[1].info.backend->transfer->peer_open(&device[1], &device[0]), "opening peers");
    printf("%s to %s, %s: us and GB/s of a message that is waited for%s\n", device[0].info.name, device[1].info.name,
           device[0].info.backend->name, peer ? ": through the host | peer copy | peer copies in a row" : " through the host");
    for (bytes = 4096; bytes <= LARGEST; bytes *= 4) {
        double host = send_many(&l, bytes, 0, 1), own = peer ? send_many(&l, bytes, 1, 1) : 0, row = peer ? send_many(&l, bytes, 1, 0) : 0;
        printf("%9llu bytes %9.1f us %7.2f GB/s", (unsigned long long)bytes, host * 1e6, (double)bytes / host * 1e-9);
        if (peer) printf("  | %9.1f us %7.2f GB/s | %9.1f us %7.2f GB/s", own * 1e6, (double)bytes / own * 1e-9, row * 1e6,
                         (double)bytes / row * 1e-9);
        printf("\n");
    }
    device[0].info.backend->transfer->unpin(&device[0], l.stage, l.handle);
    for (i = 0; i < 2; i++) {
        const spmv_transfer *t = device[i].info.backend->transfer;
        t->queue_end(&device[i], l.queue[i]);
        t->point_free(&device[i], l.point[i]);
        spmv_buffer_destroy(&device[i], l.buffer[i]);
    }
}

int main(int argc, char **argv)
{
    const char *wish = getenv("SPMV_BENCH_TYPE");
    spmv_type type = wish && !strcmp(wish, "f32") ? SPMV_F32 : SPMV_F64;
    int i, through_host = argc > 1 && !strcmp(argv[1], "--staged"), first = 1 + through_host;
    spmv_csr a;
    need(argc > first + 1, "reading the arguments (groups [--staged] DEVICES MATRIX...|lines [MATRIX...]|ways)");
    if (!strcmp(argv[first], "write")) {
        need(argc == first + 3, "reading the arguments (groups write MATRIX FILE)");
        matrix_of(argv[first + 1], SPMV_F64, &a);
        write_plain(&a, argv[first + 2]);
        matrix_end(&a);
        return 0;
    }
    open_all(argv[first], through_host);
    if (!strcmp(argv[first + 1], "lines")) report_lines(argv + first + 2, argc - first - 2, type);
    else for (i = first + 1; i < argc; i++)
        if (!strcmp(argv[i], "ways")) report_ways();
        else report(argv[i], type);
    for (i = 0; i < MOST_DEVICES; i++)
        if (on[i]) spmv_device_destroy(on[i]);
    return 0;
}
