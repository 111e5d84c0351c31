/* SPDX-License-Identifier: MIT
 * Kernels with a planted defect, for the tests of tests. Included before everything else (cc -include tests/self/defect.h), this header
 * replaces the library's calls of clCreateProgramWithSource. The environment variable SPMV_DEFECT, "FROM=>TO", makes it
 * replace FROM by TO everywhere in the sources; if it is unset, nothing changes. With SPMV_KEEP, buffers are never released. */
#ifndef SPMV_TESTS_DEFECT_H
#define SPMV_TESTS_DEFECT_H

#define SPMV_CL_LINK
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdlib.h>
#include <string.h>

/* Returns a copy of text with every from replaced by to. */
static inline char *defect_plant(const char *text, size_t size, const char *from, size_t from_size, const char *to)
{
    size_t room = size + 1, used = 0, i = 0, to_size = strlen(to);
    char *out = (char *)malloc(room + 4096);
    while (out && i < size) {
        if (used + to_size + 2 > room + 4096) abort();
        if (from_size && i + from_size <= size && !memcmp(text + i, from, from_size)) {
            memcpy(out + used, to, to_size);
            used += to_size;
            i += from_size;
        } else {
            out[used++] = text[i++];
        }
    }
    if (out) out[used] = 0;
    return out;
}

static inline cl_program defect_create(cl_context c, cl_uint count, const char **text, const size_t *size, cl_int *error)
{
    const char *defect = getenv("SPMV_DEFECT"), *arrow = defect ? strstr(defect, "=>") : NULL;
    enum { MOST = 256 }; /* texts of a program */
    const char *planted[MOST];
    cl_program p;
    cl_uint i;
    if (count > MOST) abort();
    if (!arrow) return clCreateProgramWithSource(c, count, text, size, error);
    for (i = 0; i < count; i++)
        planted[i] = defect_plant(text[i], size[i], defect, (size_t)(arrow - defect), arrow + 2);
    p = clCreateProgramWithSource(c, count, planted, NULL, error);
    for (i = 0; i < count; i++) free((void *)planted[i]);
    return p;
}
#define clCreateProgramWithSource defect_create

static inline cl_int defect_release(cl_mem m)
{
    return getenv("SPMV_KEEP") ? CL_SUCCESS : clReleaseMemObject(m);
}
#define clReleaseMemObject defect_release
#endif
