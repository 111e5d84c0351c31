/* SPDX-License-Identifier: MIT
 * bench/two_devices.c - repeats Kuresson's Table 14: ELL and CSR in f32 on one device and on two, each with half of the rows.
 * For each matrix and format it prints millions of nonzeros per second, as the table does, and GFLOP/s (two operations a nonzero) of
 *   stay    vectors that stay on the devices, 1000 products in a row as in his chapter 5; with two devices the halos are exchanged in
 *           each product
 *   copied  vectors that are copied to the devices and back in each product
 * and the speed-up of two devices over one, beside his. FILES are named as spmv gen does (kuresson_heart1.mtx); for others no figures of
 * his are printed. DEVICES is two names as in spmv_device_desc.which with a comma between them, "host" for the host, or "halves" for two
 * halves of the first OpenCL device.
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -O2 -I. bench/two_devices.c -o build/two_devices -lOpenCL -ldl
 *   build/two_devices DEVICES FILE...
 */
#define SPMV_IMPLEMENTATION
#include "../spmv.h"
#include "../spmv_group.h"
#include "../spmv_io.h"
#include "common.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, MOST_PRODUCTS = 1000 };
static const double LEAST_SECONDS = 0.1; /* of a round; a round of fewer than 1000 products is as long */

/* Table 14: millions of nonzeros per second of ELL on one and two, and of CSR on one and two Tesla T10. */
static const struct paper {
    const char *name;
    double      figure[4];
} table_14[] = {
    { "heart1", { 81.16, 144.56, 157.70, 255.11 } },        { "trefethen_20000b", { 179.51, 205.16, 179.51, 241.36 } },
    { "tsopf_rs_b162_c3", { 117.37, 195.61, 203.43, 216.42 } }, { "psmigr_1", { 16.87, 32.64, 47.65, 81.31 } },
    { "spiral", { 16.39, 13.65, 49.16, 15.36 } },           { "viscoplastic1", { 61.17, 61.17, 152.92, 83.79 } },
    { "deter4", { 27.47, 27.47, 24.04, 25.64 } },           { "maragal_2", { 10.89, 6.22, 21.79, 9.68 } },
    { "fp", { 29.36, 56.80, 192.85, 238.36 } },
};

/* ---- devices -------------------------------------------------------------------------------------------------------- */

static spmv_device device[2];
static spmv_device *on[2]; /* NULL: the host */

/* Opens a half of the first OpenCL device. */
static void open_halves(void)
{
    static const cl_device_partition_property halves[] = { CL_DEVICE_PARTITION_EQUALLY, 1, 0 };
    cl_device_partition_property equally[3];
    spmv_device_desc desc;
    spmv_device_info first;
    cl_device_id half[2];
    cl_uint count = 0;
    cl_context context;
    cl_int e;
    size_t n = 0;
    int i;
    memcpy(equally, halves, sizeof equally);
    need(spmv_device_list(&first, 1, &n, NULL) == SPMV_OK && n && first.backend == spmv_opencl(), "finding an OpenCL device");
    equally[1] = (cl_device_partition_property)(first.compute_units / 2);
    need(first.compute_units >= 2 && clCreateSubDevices((cl_device_id)first.id, equally, 2, half, &count) == CL_SUCCESS, "dividing it");
    context = clCreateContext(NULL, 2, half, NULL, NULL, &e);
    need(e == CL_SUCCESS, "clCreateContext");
    for (i = 0; i < 2; i++) {
        memset(&desc, 0, sizeof desc);
        desc.context = context;
        desc.id = half[i];
        need(spmv_device_create(&device[i], &desc) == SPMV_OK, "opening a half");
        on[i] = &device[i];
    }
}

/* Opens what the user named. */
static void open_named(char *names)
{
    char *comma = strchr(names, ','), *name[2];
    spmv_device_desc desc;
    int i;
    need(comma != NULL, "reading DEVICES (two names with a comma between them, or halves)");
    *comma = 0;
    name[0] = names;
    name[1] = comma + 1;
    for (i = 0; i < 2; i++) {
        memset(&desc, 0, sizeof desc);
        desc.which = name[i];
        if (!strcmp(name[i], "host")) continue;
        need(spmv_device_create(&device[i], &desc) == SPMV_OK, name[i]);
        on[i] = &device[i];
    }
}

/* ---- times ---------------------------------------------------------------------------------------------------------- */

/* One product: with vectors on the devices (enqueued only) or, if x is given, on the host. */
static void multiply(spmv_group *g, spmv_group_vector *u, spmv_group_vector *v, const float *x, float *y)
{
    if (x) need(spmv_group_mul(g, 1, x, 0, y) == SPMV_OK, "a product");
    else need(spmv_group_mul_vectors(g, 1, u, 0, v) == SPMV_OK, "a product");
}

/* Seconds of a product: the median of some rounds. */
static double measure(spmv_group *g, spmv_group_vector *u, spmv_group_vector *v, const float *x, float *y)
{
    double round[ROUNDS], begun;
    int i, k, n = 10;
    for (i = -1; i < ROUNDS; i++) { /* the first warms up and says how many products a round has */
        begun = now();
        for (k = 0; k < n; k++) multiply(g, u, v, x, y);
        need(spmv_group_wait(g) == SPMV_OK, "waiting");
        if (i >= 0) round[i] = (now() - begun) / n;
        else n = (int)(1 + LEAST_SECONDS * n / (now() - begun));
        if (n > MOST_PRODUCTS) n = MOST_PRODUCTS;
    }
    return median(round, ROUNDS);
}

/* Measures a plan on the first count devices: seconds[0] where vectors stay, seconds[1] where they are copied. */
static void measure_on(const spmv_csr *a, const char *plan, size_t count, double seconds[2])
{
    spmv_group_desc desc;
    spmv_group g;
    spmv_group_vector u, v;
    float *x = (float *)calloc((size_t)a->cols + 1, sizeof *x), *y = (float *)calloc((size_t)a->rows + 1, sizeof *y);
    uint64_t i;
    need(x && y, "memory");
    for (i = 0; i < a->cols; i++) x[i] = 1;
    memset(&desc, 0, sizeof desc);
    desc.desc.csr = a;
    desc.desc.type = SPMV_F32;
    desc.desc.plan = plan;
    desc.device = on;
    desc.count = count;
    desc.divide = SPMV_GROUP_BY_ROWS;
    need(spmv_group_create(&g, &desc) == SPMV_OK, plan);
    need(spmv_group_vector_create(&u, &g, SPMV_GROUP_X) == SPMV_OK && spmv_group_vector_create(&v, &g, SPMV_GROUP_Y) == SPMV_OK, "vectors");
    need(spmv_group_vector_write(&u, x) == SPMV_OK, "writing");
    seconds[0] = measure(&g, &u, &v, NULL, NULL);
    seconds[1] = measure(&g, NULL, NULL, x, y);
    spmv_group_vector_destroy(&u);
    spmv_group_vector_destroy(&v);
    spmv_group_destroy(&g);
    free(x);
    free(y);
}

/* The matrix's name in the table, from that of its file; its length is *length. */
static const char *name_of(const char *file, size_t *length)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    if (!strncmp(name, "kuresson_", 9)) name += 9;
    *length = strcspn(name, ".");
    return name;
}

/* Prints the lines of one matrix. */
static void report(const spmv_csr *a, const char *file)
{
    static const char *const plans[] = { "ell", "csr" }, *const ways[] = { "stay", "copied" };
    size_t length, k, n = sizeof table_14 / sizeof *table_14;
    const char *name = name_of(file, &length);
    double one[2], two[2], nnz = (double)a->nnz;
    int p, w;
    for (k = 0; k < n && !(strlen(table_14[k].name) == length && !strncmp(table_14[k].name, name, length)); k++) {}
    for (p = 0; p < 2; p++) {
        measure_on(a, plans[p], 1, one);
        measure_on(a, plans[p], 2, two);
        for (w = 0; w < 2; w++) {
            printf("%-18.*s %4s %-7s %9.1f %9.1f %8.2f %8.2f %8.2f", (int)length, name, plans[p], ways[w], nnz / one[w] * 1e-6,
                   nnz / two[w] * 1e-6, 2e-9 * nnz / one[w], 2e-9 * nnz / two[w], one[w] / two[w]);
            if (k < n)
                printf(" %9.2f %9.2f %8.2f\n", table_14[k].figure[2 * p], table_14[k].figure[2 * p + 1],
                       table_14[k].figure[2 * p + 1] / table_14[k].figure[2 * p]);
            else printf(" %9s %9s %8s\n", "-", "-", "-");
        }
    }
}

int main(int argc, char **argv)
{
    spmv_mm_options options;
    spmv_csr a;
    int i;
    memset(&options, 0, sizeof options);
    options.store = SPMV_F32;
    need(argc > 2, "reading the arguments (two_devices DEVICES FILE...)");
    if (!strcmp(argv[1], "halves")) open_halves();
    else open_named(argv[1]);
    printf("one: %s; two: this and %s; rows divided in half, f32\n", on[0] ? on[0]->info.name : "host", on[1] ? on[1]->info.name : "host");
    printf("%-18s %4s %-7s %19s %17s %8s %28s\n", "", "", "", "Mnonzeros/s", "GFLOP/s", "", "Table 14 (Tesla T10)");
    printf("%-18s %4s %-7s %9s %9s %8s %8s %8s %9s %9s %8s\n", "matrix", "plan", "vectors", "one", "two", "one", "two",
           "speed-up", "one", "two", "speed-up");
    for (i = 2; i < argc; i++) {
        need(spmv_mm_read_file(&a, argv[i], &options, NULL, NULL) == SPMV_OK, argv[i]);
        report(&a, argv[i]);
        fflush(stdout);
        spmv_csr_destroy(&a);
    }
    for (i = 0; i < 2; i++)
        if (on[i]) spmv_device_destroy(on[i]);
    return 0;
}
