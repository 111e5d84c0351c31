/* SPDX-License-Identifier: MIT
 * The heap and stack that create, mul and destroy use for a tiny matrix, with the plan "csr" and arrays that can be borrowed, and with
 * the choice left to the library. Fails if they use more than LIMIT_STACK bytes of stack, or any heap besides the record of the one part
 * and its row pointers. Prints the figures. list.sh compiles it in many ways. */
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
enum { ROWS = 3, STACK = 1 << 20, FRAME = 128 /* bytes of the frame of begin */, PAINT = 0xa5, ARENA = 1 << 20 };

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

/* Paints the stack below its own frame, works, and finds the depth down to which the paint is gone. */
static void *begin(void *unused) {
    volatile unsigned char here = 0;
    size_t top = (size_t)((uintptr_t)&here - (uintptr_t)stack), i;
    for (i = 0; i < top - FRAME; i++) stack[i] = PAINT;
    work();
    for (i = 0; i < top - FRAME && stack[i] == PAINT; i++) {}
    depth = top - i;
    return unused;
}

static int measure(const char *text, int own) {
    pthread_attr_t how;
    pthread_t thread;
    int n;
    for (n = 0; n < 2; n++) { /* in the first turn the dynamic linker resolves functions, which also takes stack */
        used = live = peak = calls = largest = 0;
        plan = text;
        if (pthread_attr_init(&how) || pthread_attr_setstack(&how, (void *)(uintptr_t)stack, STACK)) return 1;
        if (pthread_create(&thread, &how, begin, NULL)) return 1;
        pthread_join(thread, NULL);
        pthread_attr_destroy(&how);
    }
    printf("plan %-6s stack %6u bytes; heap %6u bytes in %u blocks, the largest %u\n", text ? text : "NULL", (unsigned)depth,
           (unsigned)peak, (unsigned)calls, (unsigned)largest);
    if (failed || y[0] != 201 || y[1] != 0 || y[2] != 430 || live) return 1;
    if (!own) return 0;
    return depth > LIMIT_STACK || calls != 2 || peak != sizeof(spmv_part) + (ROWS + 1) * sizeof(uint32_t);
}

int main(void) {
    int bad = 0;
    stack = (volatile unsigned char *)mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if ((void *)(uintptr_t)stack == MAP_FAILED) return 2;
    bad |= measure("csr", 1);
    bad |= measure(NULL, 1);
    bad |= measure(" csr ", 1);
    bad |= measure("hyb", 0);
    return bad;
}
