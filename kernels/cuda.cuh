/* SPDX-License-Identifier: MIT
 * OpenCL C as CUDA C++: spmv_cuda.h puts this in front of common.cl, and NVRTC, which needs no header for it, compiles the rest
 * as it stands. It has what the kernels use, no more. Images are not among that: devices of CUDA say that they have none. */
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long long spmv_ulong; /* of 64 bits on Windows as well */
#define ulong spmv_ulong               /* nvcc has included sys/types.h, whose ulong is another type */
#define size_t ulong

/* Address spaces: pointers need none, variables in shared memory do. */
#define __global
#define __local
#define restrict __restrict__
#define __kernel extern "C" __global__
#define __asm__ asm

/* What common.cl leaves to a prelude. With REGS a processor shall hold at least as many groups as its registers suffice for; without,
 * the compiler takes few registers, so that a processor holds as many groups as it can. */
#define UNUSED __attribute__((unused))
#define INLINE static __device__ __forceinline__ UNUSED
#define KERNEL __kernel __launch_bounds__(WG * SUBS, REGS ? 65536 / (WG * (REGS + !REGS)) : 0)
#define LOCAL __shared__
#define VECTOR2(type, a, b) spmv_vector2<type>(a, b)
#define VECTOR4(type, a, b, c, d) spmv_vector4<type>(a, b, c, d)
#define SUM_OF(type, n) spmv_sum<type, n>

/* Programmatic dependent launch, from compute capability 9.0 on: a kernel starts as soon as the groups of the kernel before it in the
 * stream have ended, and FOLLOW waits until that one's writes are visible. It is not started earlier (griddepcontrol.launch_dependents):
 * its groups would be spread unevenly over processors that are still occupied, which on an H200 cost up to half of the speed. REREAD
 * gives a pointer a new value as far as the compiler knows, so that no load through it moves up across FOLLOW or takes the path for data
 * that never change. ISSUE(v) keeps the load of v from being moved down behind FOLLOW. SHIPPED: PTX for all devices, from which the library
 * removes the wait where the device is older. */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900 || defined(SHIPPED))
#define OVERLAPS 1
#define FOLLOW() asm volatile("griddepcontrol.wait;" ::: "memory")
template <typename T> INLINE T *spmv_reread(T *pointer)
{
    ulong at = __cvta_generic_to_global(pointer); /* so that it is still known to point to global memory */
    asm volatile("" : "+l"(at));
    return (T *)__cvta_global_to_generic(at);
}
#define REREAD(pointer) (pointer) = spmv_reread(pointer)
INLINE void spmv_issue(uint &v) { asm volatile("" : "+r"(v)); }
INLINE void spmv_issue(float &v) { asm volatile("" : "+f"(v)); }
INLINE void spmv_issue(double &v) { asm volatile("" : "+d"(v)); }
#define ISSUE(v) spmv_issue(v)
#else
#define OVERLAPS 0
#define FOLLOW()
#define REREAD(pointer)
#define ISSUE(v)
#endif

/* One dimension only. */
#define get_local_id(d) threadIdx.x
#define get_group_id(d) blockIdx.x
#define get_num_groups(d) gridDim.x
#define get_global_id(d) ((ulong)blockIdx.x * blockDim.x + threadIdx.x)
#define get_global_size(d) ((ulong)gridDim.x * blockDim.x)
#define barrier(flags) __syncthreads()
#define mem_fence(flags) __threadfence()

/* Vectors in memory are aligned to their size, but loads take at most 16 bytes. */
template <typename T> struct alignas(2 * sizeof(T)) spmv_vector2 {
    T s0, s1;
    spmv_vector2() = default;
    __device__ spmv_vector2(T a, T b) : s0(a), s1(b) {}
};
template <typename T> struct alignas(sizeof(T) < 8 ? 4 * sizeof(T) : 16) spmv_vector4 {
    union { T s0, x; };
    union { T s1, y; };
    union { T s2, z; };
    union { T s3, w; };
    spmv_vector4() = default;
    __device__ spmv_vector4(T a) : s0(a), s1(a), s2(a), s3(a) {}
    __device__ spmv_vector4(T a, T b, T c, T d) : s0(a), s1(b), s2(c), s3(d) {}
    __device__ void operator+=(const spmv_vector4 &v) { s0 += v.s0; s1 += v.s1; s2 += v.s2; s3 += v.s3; }
};
#define uint2 spmv_vector2<uint>
#define float2 spmv_vector2<float>
#define double2 spmv_vector2<double>
#define uchar2 spmv_vector2<uchar>
#define ushort2 spmv_vector2<ushort>
#define uchar4 spmv_vector4<uchar>
#define uint4 spmv_vector4<uint>
#define ushort4 spmv_vector4<ushort>
#define float4 spmv_vector4<float>
#define double4 spmv_vector4<double>

/* An element of several vectors. */
template <typename T, int N> struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) spmv_sum {
    T of[N];
    spmv_sum() = default;
    __device__ __forceinline__ spmv_sum(T v)
    {
        #pragma unroll
        for (int j = 0; j < N; j++) of[j] = v;
    }
};
#define SPMV_EACH(expression) \
    spmv_sum<T, N> r; \
    _Pragma("unroll") for (int j = 0; j < N; j++) r.of[j] = expression; \
    return r
#define SPMV_SUMS template <typename T, int N> INLINE spmv_sum<T, N>
SPMV_SUMS operator*(T a, const spmv_sum<T, N> &b) { SPMV_EACH(a * b.of[j]); }
SPMV_SUMS operator+(const spmv_sum<T, N> &a, const spmv_sum<T, N> &b) { SPMV_EACH(a.of[j] + b.of[j]); }
SPMV_SUMS fma(const spmv_sum<T, N> &a, const spmv_sum<T, N> &b, const spmv_sum<T, N> &c) { SPMV_EACH(fma(a.of[j], b.of[j], c.of[j])); }
template <typename T, int N> INLINE void operator+=(spmv_sum<T, N> &a, const spmv_sum<T, N> &b) { a = a + b; }

/* Loads a SUM in pieces of 16 bytes, into which the compiler would not gather its components. */
INLINE void spmv_load(double *to, const double *from) { asm("ld.global.v2.f64 {%0, %1}, [%2];" : "=d"(to[0]), "=d"(to[1]) : "l"(from)); }
INLINE void spmv_load(float *to, const float *from)
{
    asm("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3]) : "l"(from));
}
INLINE float spmv_load_sum(const float *from) { return *from; }
INLINE double spmv_load_sum(const double *from) { return *from; }
INLINE spmv_sum<float, 2> spmv_load_sum(const spmv_sum<float, 2> *from)
{
    spmv_sum<float, 2> r;
    asm("ld.global.v2.f32 {%0, %1}, [%2];" : "=f"(r.of[0]), "=f"(r.of[1]) : "l"(from));
    return r;
}
template <typename T, int N> INLINE spmv_sum<T, N> spmv_load_sum(const spmv_sum<T, N> *from)
{
    spmv_sum<T, N> r;
    #pragma unroll
    for (int j = 0; j < N; j += 16 / (int)sizeof(T)) spmv_load(r.of + j, from->of + j);
    return r;
}
#define LOAD_SUM(pointer) spmv_load_sum(pointer)

INLINE uint clz(uint v) { return (uint)__clz((int)v); }
INLINE uint popcount(uint v) { return (uint)__popc(v); }
INLINE uint as_uint(float v) { return __float_as_uint(v); }
INLINE float as_float(uint v) { return __uint_as_float(v); }
INLINE ulong as_ulong(double v) { return (ulong)__double_as_longlong(v); }
INLINE double as_double(ulong v) { return __longlong_as_double((long long)v); }
INLINE double as_double(uint2 v) { return __hiloint2double((int)v.s1, (int)v.s0); }
INLINE uint2 as_uint2(double v) { return uint2((uint)__double2loint(v), (uint)__double2hiint(v)); }

INLINE uint atomic_inc(volatile uint *p) { return atomicAdd((uint *)p, 1u); }
INLINE uint atomic_add(volatile uint *p, uint v) { return atomicAdd((uint *)p, v); }
INLINE uint atomic_or(volatile uint *p, uint v) { return atomicOr((uint *)p, v); }
INLINE uint atomic_xchg(volatile uint *p, uint v) { return atomicExch((uint *)p, v); }
INLINE uint atomic_cmpxchg(volatile uint *p, uint before, uint now) { return atomicCAS((uint *)p, before, now); }
INLINE ulong atom_cmpxchg(volatile ulong *p, ulong before, ulong now) { return atomicCAS((ulong *)p, before, now); }

#define long long long /* last: the macro does not expand itself */
