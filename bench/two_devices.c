/* SPDX-License-Identifier: MIT
 * bench/two_devices.c - products in f32 with vectors that stay on the device and with those that are copied to it and back in each product,
 * for bench/papers.sh: Kuresson's Tables 8 to 13, whose text does not say which he counts, and Table 14, where each of two devices has half
 * of the rows. For each matrix, plan and number of devices there are two lines of JSON; "vectors" is
 *   stay    1000 products in a row as in his chapter 5; with two devices the halos are exchanged in each product
 *   copied  x is copied to the devices and y back in each product
 * DEVICES is one name as in spmv_device_desc.which or two with a comma between them, "host" for the host, or "halves" for two halves of the
 * first OpenCL device. Plans that are refused are left out.
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -O2 -I. bench/two_devices.c -o build/two_devices -lOpenCL -ldl
 *   build/two_devices DEVICES FILE...
 */
#define SPMV_IMPLEMENTATION
#include "../spmv.h"
#include "../spmv_group.h"
#include "../spmv_io.h"
#include "common.h"
#include "matrix.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 5, MOST_PRODUCTS = 1000 };
static const double LEAST_SECONDS = 0.02; /* of a round; a round of fewer than 1000 products is as long */
static const uint64_t MOST_BYTES = (uint64_t)1 << 30;

/* ---- devices -------------------------------------------------------------------------------------------------------- */

static spmv_device device[2];
static spmv_device *on[2]; /* NULL: the host */
static size_t devices = 2;

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
    if (comma) *comma = 0;
    else devices = 1;
    name[0] = names;
    name[1] = comma ? comma + 1 : NULL;
    for (i = 0; i < (int)devices; i++) {
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

/* Prints what one product takes. */
static void print(const spmv_csr *a, const char *file, const char *plan, size_t count, const char *vectors, double seconds)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    printf("{\"matrix\": \"%.*s\", \"device\": \"%s\", \"devices\": %u, \"type\": \"f32\", \"plan\": \"%s\", \"vectors\": \"%s\", "
           "\"nnz\": %.0f, \"us\": %.9g}\n", (int)strcspn(name, "."), name, on[0] ? on[0]->info.name : "host", (unsigned)count, plan,
           vectors, (double)a->nnz, seconds * 1e6);
    fflush(stdout);
}

/* Measures a plan on the first count devices. */
static void measure_on(const spmv_csr *a, const char *file, const char *plan, size_t count)
{
    spmv_group_desc desc;
    spmv_group g;
    spmv_group_vector u, v;
    float *x = (float *)room(a->cols, sizeof *x), *y = (float *)room(a->rows, sizeof *y);
    uint64_t i;
    for (i = 0; i < a->cols; i++) x[i] = 1;
    memset(&desc, 0, sizeof desc);
    desc.desc.csr = a;
    desc.desc.type = SPMV_F32;
    desc.desc.plan = plan;
    desc.desc.max_bytes = MOST_BYTES;
    desc.device = on;
    desc.count = count;
    desc.divide = SPMV_GROUP_BY_ROWS;
    if (spmv_group_create(&g, &desc) == SPMV_OK) {
        need(!spmv_group_vector_create(&u, &g, SPMV_GROUP_X) && !spmv_group_vector_create(&v, &g, SPMV_GROUP_Y), "vectors");
        need(spmv_group_vector_write(&u, x) == SPMV_OK, "writing");
        print(a, file, plan, count, "stay", measure(&g, &u, &v, NULL, NULL));
        print(a, file, plan, count, "copied", measure(&g, NULL, NULL, x, y));
        spmv_group_vector_destroy(&u);
        spmv_group_vector_destroy(&v);
        spmv_group_destroy(&g);
    }
    free(x);
    free(y);
}

int main(int argc, char **argv)
{
    static const char *const plans[] = { "ell", "csr", "coo", "dia" };
    spmv_csr a;
    int i, p;
    need(argc > 2, "reading the arguments (two_devices DEVICES FILE...)");
    if (!strcmp(argv[1], "halves")) open_halves();
    else open_named(argv[1]);
    for (i = 2; i < argc; i++) {
        read_matrix(&a, argv[i], SPMV_F32);
        for (p = 0; p < 4; p++) {
            measure_on(&a, argv[i], plans[p], 1);
            if (devices == 2 && p < 2) measure_on(&a, argv[i], plans[p], 2);
        }
        spmv_csr_destroy(&a);
    }
    for (i = 0; i < 2; i++)
        if (on[i]) spmv_device_destroy(on[i]);
    return 0;
}
