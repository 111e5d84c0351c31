/* SPDX-License-Identifier: MIT
 *
 * spmv_cl.h - the OpenCL 1.2 back end of spmv/device.h: the calls of OpenCL, and nothing else.
 *
 * Building needs Khronos' header (<CL/cl.h>, on Apple <OpenCL/opencl.h>) and links nothing: the library (libOpenCL.so.1, OpenCL.dll) is
 * loaded when first needed, so that one program runs with and without it. Before glibc 2.34 loading needs -ldl. SPMV_CL_LINK, defined,
 * calls the library directly, which then must be linked (-lOpenCL): for static programs, or where nothing can be loaded. A program that
 * calls OpenCL itself links it anyway. Without the header this back end lists no device and refuses to open one, with a message that says
 * so, and spmv_cl_mul is not declared.
 *
 * Handles are OpenCL's objects: a context in spmv/device.h is a cl_context, a queue a cl_command_queue and so on, so that you can pass
 * device.queue to OpenCL yourself. CL_TARGET_OPENCL_VERSION is set to 120 unless you have defined it.
 */
#include "spmv/device.h"
#ifndef SPMV_CL_H
#define SPMV_CL_H

#ifndef CL_TARGET_OPENCL_VERSION
#  define CL_TARGET_OPENCL_VERSION 120
#endif
#ifndef CL_USE_DEPRECATED_OPENCL_1_2_APIS
#  define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clCreateCommandQueue: a 1.2 platform has nothing else */
#endif
#ifdef __APPLE__
#  define SPMV__CL_H <OpenCL/opencl.h>
#else
#  define SPMV__CL_H <CL/cl.h>
#endif
#ifndef __has_include /* a compiler that cannot tell */
#  define SPMV__CL_FOUND
#elif __has_include(SPMV__CL_H)
#  define SPMV__CL_FOUND
#endif
#ifdef SPMV__CL_FOUND
#  include SPMV__CL_H
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifdef SPMV__CL_FOUND
/* ---- start here -------------------------------------------------------------------------------------------------- */

/* Enqueues y = alpha A x + beta y and returns without waiting for it.
 *   exec               one thread at a time. SPMV_ERR_BUSY if another thread is in a function with exec; nothing is done then. (Needs
 *                      atomic operations of GCC, clang or MSVC; other compilers do not check)
 *   alpha, beta        with alpha 0 neither the matrix nor x is read, and x may be NULL; with beta 0 y is not read
 *   x, x_offset        a buffer with a vector of the matrix's cols elements, in the type's vector elements, and where it begins in the
 *                      buffer, in elements
 *   y, y_offset        the same for rows elements. x and y may lie in one buffer (except with IMG=1); where x is read and overlaps y:
 *                      SPMV_ERR_ARGUMENT (sub-buffers, being other buffers, are not compared)
 *   num_wait, wait     events that the product waits for; on an out-of-order queue one must be that of the previous product with exec
 *   event              gets an event that completes with the product, even if there is nothing to do; may be NULL
 * exec retains x and y until a product with another one, so that it asks the driver about a buffer and sets arguments only when they
 * change. It allocates nothing, with one exception: where a part has the knob IMG=1, the first product with an x creates an image of it,
 * which exec keeps as long (SPMV_ERR_LIMIT if x ends beyond the device's largest image). */
SPMV_API spmv_status spmv_cl_mul(spmv_exec *exec, double alpha, cl_mem x, uint64_t x_offset, double beta, cl_mem y,
                                 uint64_t y_offset, cl_uint num_wait, const cl_event *wait, cl_event *event);
#endif

/* ---- for authors of tools ---------------------------------------------------------------------------------------- */

/* The back end. It lists the devices of all platforms: one that fails is skipped with a message, and one without devices is normal.
 * Without the library or any platform it lists none. */
SPMV_API const spmv_backend *spmv_opencl(void);

#ifdef __cplusplus
}
#endif
#endif /* SPMV_CL_H */

#ifdef SPMV_IMPLEMENTATION
#include "spmv/device/cl.h"
#endif
