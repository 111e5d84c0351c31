/* SPDX-License-Identifier: MIT
 *
 * tools/gen/emit_cl.h - the back ends for devices: OpenCL C, and CUDA C, which is the same text behind kernels/cuda.cuh.
 */
#ifndef SPMV_TOOLS_GEN_EMIT_CL_H
#define SPMV_TOOLS_GEN_EMIT_CL_H

#include "tools/gen/options.h"

/* As backend.emit, list and explain say. */
int emit_cl(const backend *b, const tree_format *f, const backend_settings *set, FILE *out);
void explain_cl_list(const backend *b, const tree_format *f, const backend_settings *set, FILE *out);
void explain_cl(const backend *b, const tree_format *f, const backend_settings *set, FILE *out);

/* The files of the library that surround a generated one. */
typedef enum cl_source { CL_SOURCE_CUDA, CL_SOURCE_COMMON, CL_SOURCE_SHELL } cl_source;
void cl_source_print(cl_source s, FILE *out);

#endif
