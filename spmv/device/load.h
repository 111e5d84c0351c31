/* SPDX-License-Identifier: MIT
 *
 * spmv/device/load.h - libraries that are loaded at run time, so that one program runs with and without them.
 */
#ifndef SPMV__DEVICE_LOAD_H
#define SPMV__DEVICE_LOAD_H

#include "exec.h"

#if !defined(SPMV_NO_CUDA) || !(defined(SPMV_NO_OPENCL) || defined(SPMV_CL_LINK)) /* else nothing is loaded */
#ifndef _WIN32
#include <dlfcn.h>
#endif

/* The library, or NULL. On POSIX, name NULL is the program with all that it is linked with. */
SPMV__SHARED void *spmv__library(const char *name)
{
#ifdef _WIN32
    return (void *)LoadLibraryA(name);
#else
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
#endif
}

/* Sets the pointer to a function at at, if the library has it, and returns 1, else 0. It is copied as bytes, since C does not convert a
 * void * to it. */
SPMV__SHARED int spmv__symbol(void *library, const char *name, void *at)
{
#ifdef _WIN32
    FARPROC symbol = GetProcAddress((HMODULE)library, name);
#else
    void *symbol = dlsym(library, name);
#endif
    if (symbol) memcpy(at, &symbol, sizeof symbol);
    return symbol != NULL;
}

typedef struct spmv__wanted {
    const char *name;
    void       *at; /* the pointer to the function */
} spmv__wanted;

/* Sets the pointers to the functions of a list, which ends with NULL; 0 if one is not there. */
SPMV__SHARED int spmv__symbols(void *library, const char *what, const spmv__wanted *list, const spmv_hooks *hooks)
{
    for (; list->name; list++) {
        if (spmv__symbol(library, list->name, list->at)) continue;
        spmv_log(hooks, SPMV_OK, "%s has no %s: it is too old", what, list->name);
        return 0;
    }
    return 1;
}

enum { SPMV__LOADED = 1, SPMV__LOAD_FAILED = -1, SPMV__LOAD_ABSENT = -2 };

/* What was loaded stays until the process ends; the functions do not change once they are there. */
typedef struct spmv__loading {
    long busy;  /* the lock of state, held for long only once, while the library is loaded */
    int  state; /* 0: not tried yet; else one of the above */
} spmv__loading;

/* Loads a library, unless that was tried before in this process. 1 if it is there. */
SPMV__SHARED int spmv__load_once(spmv__loading *loading, int (*load)(const spmv_hooks *hooks), const spmv_hooks *hooks)
{
    int state;
    while (!spmv__try_lock(&loading->busy)) {}
    if (!loading->state) loading->state = load(hooks);
    state = loading->state;
    spmv__set_free(&loading->busy);
    return state == SPMV__LOADED;
}
#endif

#endif
