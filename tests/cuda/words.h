/* SPDX-License-Identifier: MIT
 * What NVRTC declares without a header and kernels/cuda.cuh uses, for clang without a CUDA toolkit (tests/lint.sh). */
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

struct words_dim { unsigned x; };
extern const __device__ words_dim threadIdx, blockIdx, blockDim, gridDim;
__device__ void __syncthreads();
__device__ void __threadfence();
__device__ int __clz(int);
__device__ int __popc(unsigned);
__device__ unsigned __float_as_uint(float);
__device__ float __uint_as_float(unsigned);
__device__ long long __double_as_longlong(double);
__device__ double __longlong_as_double(long long);
__device__ double __hiloint2double(int, int);
__device__ int __double2loint(double);
__device__ int __double2hiint(double);
__device__ unsigned atomicAdd(unsigned *, unsigned);
__device__ unsigned atomicOr(unsigned *, unsigned);
__device__ unsigned atomicExch(unsigned *, unsigned);
__device__ unsigned atomicCAS(unsigned *, unsigned, unsigned);
__device__ unsigned long long atomicCAS(unsigned long long *, unsigned long long, unsigned long long);
__device__ float fma(float, float, float);
__device__ double fma(double, double, double);
__device__ int min(int, int);
__device__ unsigned min(unsigned, unsigned);
__device__ unsigned long long min(unsigned long long, unsigned long long);
__device__ unsigned max(unsigned, unsigned);
