/* SPDX-License-Identifier: MIT
 * What the toolkit's <cuda.h> does to names, for a check without a toolkit: types, functions, and macros over functions' names, as
 * they are with CUDA_API_PER_THREAD_DEFAULT_STREAM too. */
#ifndef __cuda_cuda_h__
#define __cuda_cuda_h__
#define cuMemAlloc cuMemAlloc_v2
#define cuEventElapsedTime cuEventElapsedTime_v2
#define cuLaunchKernel cuLaunchKernel_ptsz
#define cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2_ptsz
#define cuMemsetD32Async cuMemsetD32Async_ptsz
#define cuEventRecord cuEventRecord_ptsz
#define cuStreamSynchronize cuStreamSynchronize_ptsz
#define cuStreamGetCtx cuStreamGetCtx_ptsz
typedef enum cudaError_enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_OUT_OF_MEMORY = 2 } CUresult;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
CUresult cuInit(unsigned int Flags);
CUresult cuMemAlloc(CUdeviceptr *dptr, unsigned long bytesize);
CUresult cuStreamSynchronize(CUstream hStream);
CUresult cuStreamGetCtx(CUstream hStream, CUcontext *pctx);
#endif
