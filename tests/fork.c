/* SPDX-License-Identifier: MIT
 * What a child may do that was forked off a process whose products ran in threads of OpenMP or on a device: on the host everything, in one
 * thread; on a device nothing, but it is told so and does not hang. It is a program and not a Criterion test, which would fork itself.
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -g -O0 -fopenmp -I. tests/fork.c -o build/fork -ldl -lm
 *
 * The argument names the device, as for spmv_device_create. Ends with "N passed, N failed". */
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 200000, PATIENCE = 30 /* seconds, for what takes some milliseconds */ };

static int32_t ptr[ROWS + 1], col[ROWS];
static double val[ROWS], x[ROWS], y[ROWS];
static spmv_desc desc;
static unsigned passed, failed;
static char said[512];

static void hear(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    spmv_print(said, sizeof said, "%s", message);
}

static void check(int fine, const char *what)
{
    if (fine) passed++;
    else failed++;
    if (!fine) printf("%s: not as it must be\n", what);
}

/* 1 if so many times x is the product. */
static int is_product(const spmv_matrix *a, double times)
{
    int i, same = spmv_mul(a, 1, x, 0, y) == SPMV_OK;
    for (i = 0; i < ROWS; i++) same = same && y[i] == times * x[i];
    return same;
}

/* 1 if act(a) is 1 in a child that comes back in time. */
static int in_child(int (*act)(spmv_matrix *a), spmv_matrix *a)
{
    int status = 0;
    pid_t child;
    fflush(stdout);
    child = fork();
    if (!child) {
        alarm(PATIENCE);
        _exit(act(a) != 1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

static int multiply(spmv_matrix *a) { return is_product(a, 2); }

static int prepare(spmv_matrix *a)
{
    spmv_matrix b;
    int fine = spmv_create(&b, &desc) == SPMV_OK && is_product(&b, 2);
    spmv_destroy(&b);
    return fine && is_product(a, 2);
}

static int update(spmv_matrix *a)
{
    int i;
    for (i = 0; i < ROWS; i++) val[i] = 3;
    return !spmv_update(a, val) && is_product(a, 3);
}

static int destroy(spmv_matrix *a)
{
    spmv_destroy(a);
    return 1;
}

/* A child of the child. */
static int again(spmv_matrix *a) { return multiply(a) && in_child(multiply, a) && multiply(a); }

/* ---- on a device ---- */

static int refuses_products(spmv_matrix *a)
{
    spmv_exec e;
    return spmv_mul(a, 1, x, 0, y) == SPMV_ERR_BACKEND && spmv_exec_create(&e, a->on_device, NULL) == SPMV_ERR_BACKEND &&
           spmv_device_finish(a->device) == SPMV_ERR_BACKEND && strstr(said, "forked");
}

static int refuses_preparation(spmv_matrix *a)
{
    spmv_device own;
    spmv_device_desc wish;
    spmv_matrix b;
    memset(&wish, 0, sizeof wish);
    wish.hooks.log = hear;
    return spmv_create(&b, &desc) == SPMV_ERR_BACKEND && spmv_update(a, val) == SPMV_ERR_BACKEND && refuses_products(a) &&
           spmv_device_create(&own, &wish) == SPMV_ERR_BACKEND;
}

/* The end of the matrix and of the device, as in a child that cleans up before it exits; then products on the host. */
static int ends(spmv_matrix *a)
{
    spmv_device *d = a->device;
    spmv_destroy(a);
    spmv_device_destroy(d);
    desc.device = NULL;
    return !spmv_create(a, &desc) && is_product(a, 2);
}

static void test_device(const char *which, const char *plan, spmv_conversion convert)
{
    spmv_device_desc wish;
    spmv_device d;
    spmv_matrix a;
    memset(&wish, 0, sizeof wish);
    wish.which = which;
    wish.hooks.log = hear;
    desc.plan = plan;
    desc.convert = convert;
    desc.device = &d;
    check(!spmv_device_create(&d, &wish) && !spmv_create(&a, &desc) && is_product(&a, 2), "device");
    check(in_child(refuses_products, &a), "a child's product on a device");
    check(in_child(refuses_preparation, &a), "a child's matrix on a device");
    check(in_child(ends, &a), "a child's end of a device");
    check(is_product(&a, 2), "device, after all children");
    spmv_destroy(&a);
    spmv_device_destroy(&d);
    desc.device = NULL;
}

static void test_host(void)
{
    spmv_matrix a;
    desc.plan = "csr";
    check(!spmv_create(&a, &desc) && is_product(&a, 2), "host");
    check(in_child(multiply, &a), "a child's product");
    check(in_child(prepare, &a), "a child's matrix");
    check(in_child(update, &a), "a child's update");
    check(in_child(again, &a), "a child's child");
    check(in_child(destroy, &a), "a child's end of a matrix");
    check(is_product(&a, 2), "host, after all children");
    spmv_destroy(&a);
}

int main(int argc, char **argv)
{
    int i;
    for (i = 0; i < ROWS; i++) {
        ptr[i + 1] = i + 1;
        col[i] = i;
        val[i] = 2;
        x[i] = i;
    }
    desc.matrix.rows = desc.matrix.cols = ROWS;
    desc.matrix.ptr = ptr;
    desc.matrix.col = col;
    desc.matrix.val = val;
    desc.updatable = 1;
    desc.hooks.log = hear;
    test_host();
    test_device(argc > 1 ? argv[1] : NULL, "csr", SPMV_CONVERT_ON_HOST);
    test_device(argc > 1 ? argv[1] : NULL, "sell", SPMV_CONVERT_ON_DEVICE);
    printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
