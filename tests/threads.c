/* SPDX-License-Identifier: MIT
 * Products on one matrix from many threads: on the host; on a device with an exec for each thread; and on a device through spmv_mul,
 * where each call must be right or return SPMV_ERR_BUSY. Matrices that each thread makes, updates, multiplies with and destroys by itself,
 * all on one device object or on the host. It is a program and not a Criterion test, so that ThreadSanitizer can run it:
 *
 *   cc -std=c99 -D_POSIX_C_SOURCE=200809L -g -O1 -fsanitize=thread -I. tests/threads.c -o build/threads-tsan -pthread
 *
 * without OpenMP, because the sanitizer does not support its runtime. Prints the counts; exits with 0 if all are as they must be. */
#define SPMV__STAGE_CHUNK 16384 /* so that copies go through pinned memory, and through several chunks of it, on any device */
#define SPMV__STAGE_LEAST 1
#define SPMV__STAGE_PAYS 1
#define SPMV__STAGE_ANYWHERE 1
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 600, THREADS = 8, PRODUCTS = 60, TWO = 2, TWO_PRODUCTS = 200, LIVES = 24 };

static int32_t ptr[ROWS + 1], col[ROWS * 12];
static double val[ROWS * 12], x[ROWS], want[ROWS]; /* small integers: the sums do not depend on the order of additions */

static void make_matrix(void)
{
    int r, k, n = 0;
    for (r = 0; r < ROWS; r++) {
        x[r] = 1 + r % 7;
        for (k = 0; k < 3 + r % 9; k++) {
            col[n] = (r + 5 * k) % ROWS;
            val[n++] = 1 + (r + k) % 5;
        }
        ptr[r + 1] = n;
    }
    for (r = 0; r < ROWS; r++)
        for (k = ptr[r]; k < ptr[r + 1]; k++) want[r] += val[k] * x[col[k]];
}

static void quiet(void *user, spmv_status s, const char *message)
{
    (void)user;
    if (s != SPMV_ERR_BUSY) fprintf(stderr, "%s\n", message);
}

typedef struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    const spmv_matrix *m;
    int own, products;       /* own: 1 if the thread has an exec of its own */
    int right, busy, wrong, failed;
} worker;

static void *work(void *arg)
{
    worker *w = (worker *)arg;
    double *y = (double *)malloc(sizeof want);
    spmv_exec e;
    spmv_status s = y ? SPMV_OK : SPMV_ERR_MEMORY;
    int i;
    memset(&e, 0, sizeof e);
    if (!s && w->own) s = spmv_exec_create(&e, w->m->on_device, NULL);
    if (s) w->failed++;
    pthread_barrier_wait(w->start);
    for (i = 0; !w->failed && i < w->products; i++) {
        s = w->own ? spmv_exec_mul_host(&e, 1, x, 0, y) : spmv_mul(w->m, 1, x, 0, y);
        if (s == SPMV_ERR_BUSY) w->busy++;
        else if (s) w->failed++;
        else if (memcmp(y, want, sizeof want) != 0) w->wrong++;
        else w->right++;
    }
    spmv_exec_destroy(&e);
    free(y);
    return NULL;
}

/* Multiplies in several threads. Returns 1 if every product was right, or busy where it may be, and at least one was right. */
static int crowd(const char *what, const spmv_matrix *m, int threads, int products, int own, int may_be_busy)
{
    pthread_barrier_t start;
    worker w[THREADS];
    int i, right = 0, busy = 0, wrong = 0, failed = 0;
    memset(w, 0, sizeof w);
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (i = 0; i < threads; i++) {
        w[i].start = &start;
        w[i].m = m;
        w[i].own = own;
        w[i].products = products;
        if (pthread_create(&w[i].thread, NULL, work, &w[i])) abort();
    }
    for (i = 0; i < threads; i++) {
        pthread_join(w[i].thread, NULL);
        right += w[i].right;
        busy += w[i].busy;
        wrong += w[i].wrong;
        failed += w[i].failed;
    }
    pthread_barrier_destroy(&start);
    printf("%s: %d right, %d busy, %d wrong, %d failed\n", what, right, busy, wrong, failed);
    return right && !wrong && !failed && (may_be_busy || !busy) && right + busy == threads * products;
}

static int plan(const char *text, spmv_device *device)
{
    static double y[ROWS];
    char what[64];
    spmv_desc d;
    spmv_matrix m;
    int fine;
    memset(&d, 0, sizeof d);
    d.matrix.rows = d.matrix.cols = ROWS;
    d.matrix.ptr = ptr;
    d.matrix.col = col;
    d.matrix.val = val;
    d.plan = text;
    d.device = device;
    d.hooks.log = quiet;
    if (spmv_create(&m, &d)) return 0;
    spmv_print(what, sizeof what, "%s, %s", device ? "device" : "host", text);
    fine = crowd(what, &m, THREADS, PRODUCTS, device != NULL, 0);
    if (device) {
        spmv_print(what, sizeof what, "device, %s, spmv_mul", text);
        fine &= crowd(what, &m, TWO, TWO_PRODUCTS, 0, 1);
        fine &= spmv_mul(&m, 1, x, 0, y) == SPMV_OK && !memcmp(y, want, sizeof y); /* once the threads have ended, it is not busy */
    }
    spmv_destroy(&m);
    return fine;
}

/* ---- matrices of each thread's own ---- */

typedef struct owner {
    pthread_t thread;
    pthread_barrier_t *start;
    spmv_device *device;
    int number, products, wrong, failed;
} owner;

/* Products by spmv_mul and by an exec, whose values are so many times those of want. */
static void try_products(owner *o, const spmv_matrix *m, double times)
{
    double y[ROWS];
    spmv_exec e;
    int i, k;
    memset(&e, 0, sizeof e);
    if (o->device && spmv_exec_create(&e, m->on_device, NULL)) o->failed++;
    for (k = 0; k < 1 + (o->device != NULL); k++, o->products++) {
        if (k ? spmv_exec_mul_host(&e, 1, x, 0, y) : spmv_mul(m, 1, x, 0, y)) o->failed++;
        for (i = 0; i < ROWS && y[i] == times * want[i]; i++) {}
        o->wrong += i < ROWS;
    }
    spmv_exec_destroy(&e);
}

/* From the making of a matrix to its end. The plans, and where arrays are filled, differ from thread to thread and from life to life. */
static void live(owner *o, int life, double *scaled)
{
    static const char *const plans[] = { "csr", "ell:w=4+coo", "sell:h=16", "bcsr:b=2x2", "cmrs", "csr:run=64", "tcsr", "auto" };
    const int n = sizeof plans / sizeof *plans, turn = o->number + life, k = ptr[ROWS];
    spmv_desc d;
    spmv_matrix m;
    int i, times;
    memset(&d, 0, sizeof d);
    d.matrix.rows = d.matrix.cols = ROWS;
    d.matrix.ptr = ptr;
    d.matrix.col = col;
    d.matrix.val = scaled;
    d.plan = plans[turn % n];
    d.device = o->device;
    d.convert = turn / n % 2 ? SPMV_CONVERT_ON_DEVICE : SPMV_CONVERT_ON_HOST;
    d.updatable = turn % 3 != 0;
    d.hooks.log = quiet;
    for (times = 1 + o->number; times <= 1 + o->number + 10 * d.updatable; times += 5) {
        for (i = 0; i < k; i++) scaled[i] = times * val[i];
        if (times == 1 + o->number ? spmv_create(&m, &d) : spmv_update(&m, scaled)) {
            o->failed++;
            break;
        }
        try_products(o, &m, times);
    }
    spmv_destroy(&m);
}

static void *own(void *arg)
{
    owner *o = (owner *)arg;
    double *scaled = (double *)malloc(sizeof val);
    int life;
    pthread_barrier_wait(o->start);
    for (life = 0; scaled && life < LIVES; life++) live(o, life, scaled);
    free(scaled);
    return NULL;
}

/* Returns 1 if every product of all threads was right. */
static int owners(const char *what, spmv_device *device)
{
    pthread_barrier_t start;
    owner o[THREADS];
    int i, products = 0, wrong = 0, failed = 0;
    memset(o, 0, sizeof o);
    pthread_barrier_init(&start, NULL, THREADS);
    for (i = 0; i < THREADS; i++) {
        o[i].start = &start;
        o[i].device = device;
        o[i].number = i;
        if (pthread_create(&o[i].thread, NULL, own, &o[i])) abort();
    }
    for (i = 0; i < THREADS; i++) {
        pthread_join(o[i].thread, NULL);
        products += o[i].products;
        wrong += o[i].wrong;
        failed += o[i].failed;
    }
    pthread_barrier_destroy(&start);
    printf("%s, matrices of each thread's own: %d products, %d wrong, %d failed\n", what, products, wrong, failed);
    return products >= THREADS * LIVES && !wrong && !failed;
}

int main(int argc, char **argv)
{
    static const char *const plans[] = { "csr", "csr:run=64", "ell:w=4+coo", "sell:h=16", "bcsr:b=2x2", "cmrs" };
    spmv_device_desc desc;
    spmv_device device;
    int fine = 1;
    size_t i;
    make_matrix();
    memset(&desc, 0, sizeof desc);
    desc.hooks.log = quiet;
    desc.which = argc > 1 ? argv[1] : NULL;
    if (spmv_device_create(&device, &desc)) return 2;
    fine &= owners("host", NULL);
    fine &= owners("device", &device); /* while no program is built yet */
    for (i = 0; i < sizeof plans / sizeof *plans; i++) fine &= plan(plans[i], NULL);
    for (i = 0; i < 3; i++) fine &= plan(plans[i], &device);
    spmv_device_destroy(&device);
    puts(fine ? "all right" : "NOT RIGHT");
    return !fine;
}
