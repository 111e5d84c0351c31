/* SPDX-License-Identifier: MIT
 * The heap and stack that create, mul and destroy use for a tiny matrix, with the plan "csr" and arrays that can be borrowed, and with
 * the choice left to the library. Fails if they use more than LIMIT_STACK bytes of stack, or any heap besides the record of the one part,
 * its specification and its row pointers, or if an spmv_matrix takes more than LIMIT_MATRIX bytes. For a larger matrix, whose rows are
 * uneven, and for a message, only the stack is limited. Prints the figures. list.sh compiles it in many ways. */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#define SPMV_IMPLEMENTATION
#include "spmv.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#ifndef LIMIT_STACK
#define LIMIT_STACK 1024 /* bytes */
#endif
enum { LIMIT_MATRIX = 1024 }; /* bytes of an spmv_matrix */
enum { DEEP_CSR = 7000, DEEP_AUTO = 18000, DEEP_COCKTAIL = 23000, DEEP_LOG = 1200 }; /* bytes of stack for the larger matrix */
enum { ROWS = 3, LARGE = 20000, LONGEST = 12 };
enum { STACK = 1 << 20, FRAME = 128 /* bytes of the frame of begin */, PAINT = 0xa5, ARENA = 1 << 20 };

/* ---- heap: from an arena, so that the stack of the C library's allocator is not counted ---- */
static union {
    unsigned char bytes[ARENA];
    uint64_t      align;
} arena;
static size_t used, live, peak, calls, largest;

static void *resize(void *user, void *block, size_t bytes) {
    size_t *head = (size_t *)block;
    (void)user;
    if (head) live -= *--head;
    if (!bytes || block || used + bytes + 16 > ARENA) return NULL; /* the library does not grow blocks here */
    head = (size_t *)(void *)(arena.bytes + used);
    used += (bytes + 16 + 7) / 8 * 8;
    *head = bytes;
    calls++;
    live += bytes;
    if (live > peak) peak = live;
    if (bytes > largest) largest = bytes;
    return head + 1;
}

/* ---- stack: painted before, inspected afterwards ---- */
static volatile unsigned char *stack;
static const char *plan;
static spmv_matrix matrix;
static double y[ROWS];
static int failed;
static size_t depth;

static void work(void) {
    static const uint64_t ptr[] = {0, 2, 2, 4};
    static const uint32_t col[] = {0, 2, 1, 2};
    static const double val[] = {1, 2, 3, 4}, x[] = {1, 10, 100};
    static spmv_desc d;
    d.matrix.rows = d.matrix.cols = ROWS;
    d.matrix.ptr = ptr;
    d.matrix.col = col;
    d.matrix.val = val;
    d.matrix.ptr_bits = 64;
    d.matrix.borrow = 1;
    d.plan = plan;
    d.hooks.resize = resize;
    failed |= spmv_create(&matrix, &d) != SPMV_OK;
    failed |= spmv_mul(&matrix, 1, x, 0, y) != SPMV_OK;
    spmv_destroy(&matrix);
}

static void hush(void *user, spmv_status s, const char *message) {
    (void)user;
    (void)s;
    (void)message;
}

/* Creates a matrix with LARGE rows of 0 to LONGEST nonzeros, and multiplies by it. */
static void work_large(void) {
    static uint64_t ptr[LARGE + 1];
    static uint32_t col[LARGE * LONGEST];
    static double val[LARGE * LONGEST], x[LARGE], z[LARGE];
    static spmv_desc d;
    uint32_t r, k, state = 1;
    for (r = 0; r < LARGE; r++) {
        state = state * 1664525u + 1013904223u;
        for (k = 0, ptr[r + 1] = ptr[r]; k < (state >> 16) % (LONGEST + 1); k++, ptr[r + 1]++) {
            col[ptr[r + 1]] = k ? r % 1000 + k * 1500 + (k > 5 ? state >> 24 : 0) : r % 1000;
            val[ptr[r + 1]] = 1;
        }
    }
    d.matrix.rows = d.matrix.cols = LARGE;
    d.matrix.ptr = ptr;
    d.matrix.col = col;
    d.matrix.val = val;
    d.matrix.ptr_bits = 64;
    d.plan = plan;
    d.hooks.log = hush;
    failed |= spmv_create(&matrix, &d) != SPMV_OK;
    failed |= spmv_mul(&matrix, 1, x, 0, z) != SPMV_OK;
    spmv_destroy(&matrix);
}

static void say(void) {
    static spmv_hooks h;
    h.log = hush;
    spmv_log(&h, SPMV_OK, "row %d of %s", 3, "a matrix");
}

static void (*job)(void); /* NULL: work, which may be inlined */

/* Paints the stack below its own frame, works, and finds the depth down to which the paint is gone. */
static void *begin(void *unused) {
    volatile unsigned char here = 0;
    size_t top = (size_t)((uintptr_t)&here - (uintptr_t)stack), i;
    for (i = 0; i < top - FRAME; i++) stack[i] = PAINT;
    if (job) job();
    else work();
    for (i = 0; i < top - FRAME && stack[i] == PAINT; i++) {}
    depth = top - i;
    return unused;
}

/* Does a job in a thread of its own and sets depth. 1: that failed. */
static int measure_stack(void (*what)(void), const char *text) {
    pthread_attr_t how;
    pthread_t thread;
    int n;
    job = what;
    for (n = 0; n < 2; n++) { /* in the first turn the dynamic linker resolves functions, which also takes stack */
        used = live = peak = calls = largest = 0;
        plan = text;
        if (pthread_attr_init(&how) || pthread_attr_setstack(&how, (void *)(uintptr_t)stack, STACK)) return 1;
        if (pthread_create(&thread, &how, begin, NULL)) return 1;
        pthread_join(thread, NULL);
        pthread_attr_destroy(&how);
    }
    return failed;
}

static int measure(const char *text, int own) {
    if (measure_stack(NULL, text)) return 1;
    printf("plan %-6s stack %6u bytes; heap %6u bytes in %u blocks, the largest %u\n", text ? text : "NULL", (unsigned)depth,
           (unsigned)peak, (unsigned)calls, (unsigned)largest);
    if (y[0] != 201 || y[1] != 0 || y[2] != 430 || live) return 1;
    if (!own) return 0;
    return depth > LIMIT_STACK || calls != 2 || peak != sizeof(spmv_part) + sizeof(spmv_spec) + (ROWS + 1) * sizeof(uint32_t);
}

static int measure_large(void (*what)(void), const char *text, unsigned limit) {
    if (measure_stack(what, text)) return 1;
    printf("%-11s stack %6u bytes, limit %u\n", text, (unsigned)depth, limit);
    return depth > limit;
}

int main(void) {
    int bad = sizeof(spmv_matrix) > LIMIT_MATRIX;
    stack = (volatile unsigned char *)mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if ((void *)(uintptr_t)stack == MAP_FAILED) return 2;
    bad |= measure("csr", 1);
    bad |= measure(NULL, 1);
    bad |= measure(" csr ", 1);
    bad |= measure("hyb", 0);
    bad |= measure_large(say, "a message", DEEP_LOG);
    bad |= measure_large(work_large, "csr", DEEP_CSR);
#ifndef SPMV_NO_AUTO
    bad |= measure_large(work_large, "auto", DEEP_AUTO);
    bad |= measure_large(work_large, "cocktail", DEEP_COCKTAIL);
#endif
    return bad;
}
