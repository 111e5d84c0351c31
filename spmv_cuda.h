/* SPDX-License-Identifier: MIT
 *
 * spmv_cuda.h - the CUDA back end of spmv/device.h, for NVIDIA's GPUs on Linux and Windows.
 *
 * Building needs no toolkit and links nothing of CUDA: the driver (libcuda.so.1, nvcuda.dll) and NVRTC, the compiler for kernels that
 * do not ship as PTX (libnvrtc.so.13, nvrtc64_130_0.dll or older ones down to 11.2), are loaded when first needed, so that one program
 * runs with and without a GPU. Before glibc 2.34 loading needs -ldl. NVRTC is part of the CUDA toolkit and of the Python package
 * nvidia-cuda-nvrtc; the loader must find it (LD_LIBRARY_PATH), or it lies in /usr/local/cuda/lib64. <cuda.h> may be included as well.
 *
 * Where spmv/device.h says context, queue or event, it is a CUcontext, a CUstream or an object of this back end; a buffer's handle is
 * its CUdeviceptr, cast to void *, so that pointers from cuMemAlloc or cudaMalloc can be given wherever a buffer is wanted. There are
 * no images (IMG=1 is SPMV_ERR_UNSUPPORTED).
 */
#include "spmv/device.h"
#ifndef SPMV_CUDA_H
#define SPMV_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

/* The GPUs that the driver shows; without a driver or a GPU SPMV_OK with a count of 0. A driver that fails is skipped with a message.
 *
 * What holds for its devices beyond spmv/device.h:
 * - A device that is opened by its name uses the primary context, which the CUDA runtime uses as well, and a stream of its own, which
 *   waits for work in the legacy default stream as CUDA's streams do unless they were made otherwise.
 * - spmv_device_desc.context is the caller's CUcontext, .queue the caller's CUstream; one of them is enough, and .device is left NULL
 *   or is the info.id of a listed device. They are not retained, as CUDA counts no references: they must live until the device is
 *   closed. Without a queue a stream is made in the context. The legacy default stream is named CU_STREAM_LEGACY, since NULL means
 *   the device's own.
 * - Calls make the device's context current in the calling thread and restore what was current before. So they do with the thread's
 *   capture mode, which they relax, so that a capture in another thread goes on in whatever mode it was begun. A stream that is
 *   captured takes only products by spmv_cuda_mul, spmv_exec_mul and the like; all else there, if it is the device's own making a matrix,
 *   too, is SPMV_ERR_BUSY and does not harm the capture.
 * - From compute capability 9.0 and CUDA 12.3 on a kernel of a product may start when the groups of the kernel before it in the stream, of
 *   the same product or the one before, have ended (programmatic dependent launch): it waits for that one before it touches x or y, so
 *   nothing changes but the time. What else is in the stream is waited for as always. SPMV_CUDA_NO_OVERLAP, defined, launches every
 *   kernel alone.
 * - All streams are in order and can be timed, from events in the stream: the time of a product includes its launch, which takes some
 *   microseconds. */
SPMV_API const spmv_backend *spmv_cuda(void);

/* Enqueues y = alpha A x + beta y in the stream of exec, for vectors of the type's vector elements (cols and rows of them) that begin at
 * an offset, in elements, of a CUdeviceptr, which may point into an allocation. SPMV_ERR_ARGUMENT if one is no multiple of its elements'
 * size, or where x is read and overlaps y; they may lie in one allocation. With beta 0 y is not read; with alpha 0 neither the matrix nor
 * x is, and x may be 0. Events are the caller's: record and wait for them in the stream.
 * Allocates nothing, waits for nothing and makes no events unless timing is on (spmv_exec_timing), so that products can be captured
 * into a graph (cuStreamBeginCapture on the stream of exec): the graph then holds pointers to what exec and its matrix own, and both must
 * outlive it and its launches. Launches of such a graph and products of exec may not run at the same time.
 * One thread at a time: SPMV_ERR_BUSY as in spmv_cl_mul of spmv_cl.h. */
SPMV_API spmv_status spmv_cuda_mul(spmv_exec *exec, double alpha, unsigned long long x, uint64_t x_offset, double beta,
                                   unsigned long long y, uint64_t y_offset);

#ifdef __cplusplus
}
#endif
#endif /* SPMV_CUDA_H */

#ifdef SPMV_IMPLEMENTATION
#include "spmv/device/cuda.h"
#endif
