/* SPDX-License-Identifier: MIT
 *
 * Threads of the caller's own for tests of SPMV_THREADS and SPMV_PARALLEL. Include it before the implementation, or by -include. */
#ifndef SPMV_TESTS_POOL_H
#define SPMV_TESTS_POOL_H

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define SPMV_THREADS() pool_threads
#define SPMV_PARALLEL(task, job, count) pool_run(task, job, count)

enum { POOL_MOST = 16 /* threads */ };
#ifndef POOL_STACK
#define POOL_STACK (32 << 10) /* bytes, of each thread: what the library says is enough for tasks */
#endif

static int pool_threads = 1;           /* how many there are; set between calls */
static int pool_backward;              /* 1: tasks run in the calling thread, one after another, the last one first */
static unsigned long pool_runs, pool_tasks; /* calls; tasks that began */
static unsigned long pool_faults;      /* what a task may not do: begin tasks, or call a hook */
static __thread int pool_within;       /* 1: this thread does a task */

typedef struct pool_item {
    void (*task)(void *, size_t);
    void     *job;
    size_t    i;
    pthread_t thread;
} pool_item;

static void *pool_do(void *item)
{
    pool_item *p = (pool_item *)item;
    if (pool_within) __atomic_fetch_add(&pool_faults, 1, __ATOMIC_RELAXED);
    pool_within = 1;
    __atomic_fetch_add(&pool_tasks, 1, __ATOMIC_RELAXED);
    p->task(p->job, p->i);
    pool_within = 0;
    return NULL;
}

/* Does task in count threads, of which each has a number. Several threads may call it at once. */
static void pool_run(void (*task)(void *, size_t), void *job, size_t count)
{
    pool_item item[POOL_MOST];
    pthread_attr_t small;
    size_t i;
    __atomic_fetch_add(&pool_runs, 1, __ATOMIC_RELAXED);
    if (count < 2 || count > (size_t)pool_threads || count > POOL_MOST) abort();
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, POOL_STACK); /* if the system allows so small a one */
    for (i = count; i--;) {
        item[i].task = task;
        item[i].job = job;
        item[i].i = i;
        if (pool_backward) pool_do(&item[i]);
        else if (pthread_create(&item[i].thread, &small, pool_do, &item[i])) abort();
    }
    for (i = 0; i < count && !pool_backward; i++) pthread_join(item[i].thread, NULL);
    pthread_attr_destroy(&small);
}

#endif
