/* SPDX-License-Identifier: MIT */
#include "graph.h"

#include "spmv.h"
#include <stdlib.h>
#include <string.h>

#if defined(SPMV_NO_DEVICES) || defined(SPMV_NO_CUDA) || defined(_WIN32)
int graph_possible(const spmv_device *d)
{
    (void)d;
    return 0;
}

#  ifndef SPMV_NO_DEVICES
spmv_status graph_record(graph **out, const spmv_device *d, graph_product product, void *of)
{
    (void)d;
    (void)product;
    (void)of;
    *out = NULL;
    return SPMV_ERR_BACKEND;
}

spmv_status graph_launch(graph *g)
{
    (void)g;
    return SPMV_ERR_BACKEND;
}

void graph_free(graph *g) { (void)g; }
#  endif
#else
#  include <dlfcn.h>

/* Functions of the driver that the library does not need. */
static struct {
    int (*push)(void *context);
    int (*pop)(void **context);
    int (*begin_capture)(void *stream, int mode);
    int (*end_capture)(void *stream, void **recorded);
    int (*instantiate)(void **executable, void *recorded, unsigned long long flags);
    int (*launch)(void *executable, void *stream);
    int (*destroy_executable)(void *executable);
    int (*destroy_recorded)(void *recorded);
} driver;

struct graph {
    void *executable, *context, *stream;
};

/* Finds the functions. 0: there is no driver, or it is too old. */
static int find_driver(void)
{
    static const struct { const char *name; void *to; } functions[] = {
        {"cuCtxPushCurrent_v2", &driver.push},
        {"cuCtxPopCurrent_v2", &driver.pop},
        {"cuStreamBeginCapture_v2", &driver.begin_capture},
        {"cuStreamEndCapture", &driver.end_capture},
        {"cuGraphInstantiateWithFlags", &driver.instantiate},
        {"cuGraphLaunch", &driver.launch},
        {"cuGraphExecDestroy", &driver.destroy_executable},
        {"cuGraphDestroy", &driver.destroy_recorded} /* the last: if it is known, all are */
    };
    void *library = driver.destroy_recorded ? NULL : dlopen("libcuda.so.1", RTLD_NOW);
    size_t i;
    if (driver.destroy_recorded) return 1;
    for (i = 0; library && i < sizeof functions / sizeof *functions; i++) {
        void *f = dlsym(library, functions[i].name);
        if (!f) return 0;
        memcpy(functions[i].to, &f, sizeof f);
    }
    return library != NULL;
}

int graph_possible(const spmv_device *d) { return d && !strcmp(d->info.backend->name, "CUDA") && find_driver(); }

/* Records the products while nothing that is enqueued in the stream runs. */
static spmv_status capture(void *stream, graph_product product, void *of, void **recorded)
{
    spmv_status s = SPMV_OK;
    int i;
    if (driver.begin_capture(stream, 0)) return SPMV_ERR_BACKEND; /* CU_STREAM_CAPTURE_MODE_GLOBAL */
    for (i = 0; i < GRAPH_PRODUCTS && s == SPMV_OK; i++) s = product(of);
    if (driver.end_capture(stream, recorded) && s == SPMV_OK) s = SPMV_ERR_BACKEND;
    return s;
}

spmv_status graph_record(graph **out, const spmv_device *d, graph_product product, void *of)
{
    void *recorded = NULL, *before;
    graph *g = (graph *)calloc(1, sizeof *g);
    spmv_status s;
    *out = NULL;
    if (!g) return SPMV_ERR_MEMORY;
    g->context = d->context;
    g->stream = d->queue;
    if (!find_driver() || driver.push(g->context)) {
        free(g);
        return SPMV_ERR_BACKEND;
    }
    s = capture(g->stream, product, of, &recorded);
    if (s == SPMV_OK && driver.instantiate(&g->executable, recorded, 0)) s = SPMV_ERR_BACKEND;
    if (recorded) driver.destroy_recorded(recorded);
    driver.pop(&before);
    if (s == SPMV_OK) *out = g;
    else free(g);
    return s;
}

spmv_status graph_launch(graph *g)
{
    void *before;
    int failed = driver.push(g->context);
    if (failed) return SPMV_ERR_BACKEND;
    failed = driver.launch(g->executable, g->stream);
    driver.pop(&before);
    return failed ? SPMV_ERR_BACKEND : SPMV_OK;
}

void graph_free(graph *g)
{
    void *before;
    if (!g) return;
    if (!driver.push(g->context)) {
        driver.destroy_executable(g->executable);
        driver.pop(&before);
    }
    free(g);
}
#endif
