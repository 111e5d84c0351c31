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
 * that never change. ISSUE(v) keeps the load of v from being moved down behind FOLLOW. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
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
/* SPDX-License-Identifier: MIT
 * What all kernels share. A program consists of common.cl, <format>.cl and, for a format that walks rows, shell.cl. Its
 * kernel is called spmv; a format whose work-groups leave partial sums in carries has a second kernel, finish, with the
 * same parameters. In these comments an item is a work-item and a group is a work-group.
 *
 * A format that walks rows defines
 *   W         the number of rows that one item (or L lanes together) sums at once: a block row
 *   APART     1: the lanes of a row lie WG / L items apart, so that adjacent items have adjacent rows (column-major arrays);
 *             0: the lanes of a row are adjacent items (row-major arrays)
 *   SCRATCH   the elements of local memory that its body uses, 0 for none
 *   SYNC      1: its body contains barriers. Every item calls it, even if block row r does not exist, and the body must end
 *             with a barrier unless each item touches only the elements w * WG + local id of the scratch
 *   PARAMS    its arrays and integers as parameters; ARGS: the same as arguments
 *   BODY      the name of its function, which adds this lane's share of block row r to acc[0 .. W-1]
 * and shell.cl does the rest. A knob is an #ifndef with a "tune:" list of its legal values. */

/* The host defines these for each matrix. The defaults only allow this file to be compiled by itself. */
#ifndef VAL
#define VAL float /* an element of the matrix */
#endif
#ifndef VEC
#define VEC float /* an element of x and y, and what sums are formed in */
#endif
#ifndef VECTORS
#define VECTORS 1 // lint: VECTORS=2 ; VECTORS=8 ; VECTORS=4 SUBS=2
/* vectors that an item multiplies at once, in a format that walks rows. They lie side by side, so that an element of all of them is a SUM,
 * which is also what sums are formed in: each component gets the bits that a vector alone would. */
#endif
#ifndef SUBS
#define SUBS 1
/* adjacent items that do the same for the next VECTORS vectors each, so that adjacent items read adjacent memory. They have one local id,
 * and WG counts them once. */
#endif
#ifndef CODES
#define CODES 0 // lint: CODES=1 ; CODES=2
/* 1: val has the numbers of values in a dictionary; 2: val has nothing, since every value is the first of it */
#endif
#ifndef OFF
#define OFF uint /* an element of an array of pointers (offsets into other arrays) */
#endif
#ifndef LIST
#define LIST 0 /* 1: the part has a row list */
#endif

#ifdef F64
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#endif

#ifndef I64
#define I64 0 // tune: 0 1
#endif
#if I64
#define IDX ulong /* a slot of the matrix; the host sets I64 whenever 32 bits could overflow */
#else
#define IDX uint
#endif

/* Bodies write every multiply-add as MULADD, so that its rounding is decided here: by the compiler, or, with REPEAT 1, by fma,
 * which gives the same bits on every device and on the host. */
#ifndef REPEAT
#define REPEAT 0
#endif
#if REPEAT
#pragma OPENCL FP_CONTRACT OFF
#define MULADD(acc, a, b) (acc) = fma((SUM)(a), (SUM)(b), (acc))
#else
#define MULADD(acc, a, b) (acc) += (a) * (b)
#endif

/* The most registers of an item, for CUDA; 0: the compiler decides, which often takes 32 so that a processor holds as many items as it
 * can, even if loads then wait for each other. */
#ifndef REGS
#define REGS 0 // tune: 0 32 40 48 64 80 96 128
#endif

/* On a CPU (CPU 1, set by the host) loops over adjacent rows become vector instructions if nothing in them is done under a condition; so
 * one test in front of a loop decides for all of its rows. */
#ifndef CPU
#define CPU 0
#endif

#define PAD 0xffffffffu
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

/* What CUDA says in other words: kernels/cuda.cuh, which stands in front of this file there, has its own. */
#ifndef KERNEL
#define UNUSED __attribute__((unused))
#define INLINE static inline UNUSED
#define KERNEL __kernel __attribute__((reqd_work_group_size(WG * SUBS, 1, 1)))
#define LOCAL __local /* in front of a variable in local memory; __local says what a pointer points to */
#define VECTOR2(type, a, b) ((CAT(type, 2))(a, b))
#define VECTOR4(type, a, b, c, d) ((CAT(type, 4))(a, b, c, d))
#define SUM_OF(type, n) CAT(type, n)
#define LOAD_SUM(pointer) (*(pointer))
#define OVERLAPS 0 /* 1: FOLLOW, REREAD and ISSUE are not empty */
#define FOLLOW()
#define REREAD(pointer)
#define ISSUE(v)
#endif

#if VECTORS > 1
#define SUM SUM_OF(VEC, VECTORS)
#undef REGS
#define REGS 0
#else
#define SUM VEC
#endif
#define COMPONENT(sum, j) ((VEC *)&(sum))[j]
#if SUBS > 1
INLINE uint item_id(void)
{
    return (uint)get_local_id(0);
}
#define sub_id() (item_id() % SUBS)
#undef get_local_id
#define get_local_id(d) (item_id() / SUBS)
#else
#define sub_id() 0
#endif

/* With CUDA a kernel may start before the kernels in front of it in the stream have quite ended. Every kernel calls BEGIN before it reads
 * or writes x, y or carries; before BEGIN it may read only arrays that no product writes. ISSUE asks for a value to be read there, but the
 * assembler of CUDA 13 moves the wait up all the same. Carries are passed to REREAD after it. REREAD also hides from the compiler how x
 * came about: it would add x0 to every index of x, in three instructions more for each. */
#define BEGIN(x, y) \
    FOLLOW(); \
    (x) += x0 + sub_id(); \
    (y) += y0 + sub_id(); \
    REREAD(x); \
    REREAD(y)

/* Arrays of columns have 32 bits an element, or 16 bits relative to a base (IDX16, set by the host). COL gives the column in a
 * slot, or PAD for padding. first is BASE(base, i), where i is the slice, the run or the 32 (block) rows that share a base, and
 * scale is the number of columns that one step of a 16-bit column stands for. */
#ifndef IDX16
#define IDX16 0
#endif
#if IDX16
#define COLUMN ushort
#define BASE(base, group) base[group]
#define COLUMN_OF(c, first, scale) wide_column(c, first, scale)
#define USED_COLUMN_OF(c, first, scale) ((first) + (c) * (scale)) /* of a slot that is not padding */
#else
#define COLUMN uint
#define BASE(base, group) 0
#define COLUMN_OF(c, first, scale) (c)
#define USED_COLUMN_OF(c, first, scale) (c)
#endif
#define COL(col, slot, first, scale) COLUMN_OF(LOAD_COL(col, slot), first, scale)

INLINE uint wide_column(uint c, uint first, uint scale)
{
    return c == 0xffffu ? PAD : first + c * scale;
}

/* VALUE(v) is the value that val has as v, converted to VEC. */
#if CODES
typedef VAL value_type; /* elements of the matrix as the host has them; those of val are their codes from here on */
#undef VAL
#define VAL uchar
#define DICTIONARY_PARAM __global const value_type *restrict dictionary UNUSED,
#define DICTIONARY_ARG dictionary,
#define VALUE(v) ((VEC)dictionary[v])
#else
#define DICTIONARY_PARAM
#define DICTIONARY_ARG
#define VALUE(v) ((VEC)(v))
#endif

/* X(i) loads x[i] from the buffer, or through an image of it (clSpMV 4; Grewe 4.3.1), in which x begins at element x0. The image
 * holds floats, or doubles as pairs of 32-bit words. The buffer is passed in both cases. */
#ifndef IMG
#define IMG 0 // tune: 0 1
#endif
#if VECTORS > 1
#define X_PARAMS DICTIONARY_PARAM __global const SUM *restrict x UNUSED, ulong x_step UNUSED
#define X_ARGS DICTIONARY_ARG x, x_step
#define IMAGE_PARAM
#define STEP_PARAMS , ulong x_step UNUSED, ulong y_step UNUSED /* from one element to the next */
#define X(i) LOAD_SUM(x + (i) * x_step)
#else
#define STEP_PARAMS
#if IMG
#define X_PARAMS DICTIONARY_PARAM __global const VEC *restrict x UNUSED, ulong x0 UNUSED, __read_only image1d_buffer_t image UNUSED
#define X_ARGS DICTIONARY_ARG x, x0, image
#define IMAGE_PARAM , __read_only image1d_buffer_t image UNUSED
#ifdef F64
#define X(i) as_double(read_imageui(image, (int)(x0 + (i))).xy)
#else
#define X(i) read_imagef(image, (int)(x0 + (i))).x
#endif
#else
#define X_PARAMS DICTIONARY_PARAM __global const VEC *restrict x UNUSED
#define X_ARGS DICTIONARY_ARG x
#define IMAGE_PARAM
#define X(i) x[i]
#endif
#endif

/* Formats without these two knobs use the values here. ZERO 1 tests a value before it loads x (Grewe 4.3.2): for a zero nothing
 * is loaded, and an infinity or a NaN in x has no effect. */
#ifndef UNROLL
#define UNROLL 1
#endif
#ifndef ZERO
#define ZERO 0
#endif
#define WANTED(v) (!ZERO || VALUE(v) != (VEC)0)

#ifndef BODY
#define BODY body
#endif

/* Loads of the matrix. A product reads each element once, so with NT these loads do not allocate in the L1 cache, which is left
 * to x. With NVIDIA's own driver the host defines NVIDIA as the device's compute capability (70 for 7.0). */
#if defined(NT) && NT && defined(NVIDIA) && NVIDIA >= 70
#define NT_LOAD(type, ptx, c)                                                                                \
    INLINE type nt_##type(__global const type *p)                                                            \
    {                                                                                                        \
        type v;                                                                                              \
        __asm__("ld.global.nc.L1::no_allocate." ptx " %0, [%1];" : "=" c(v) : "l"((ulong)p));                \
        return v;                                                                                            \
    }
NT_LOAD(float, "f32", "f")
NT_LOAD(uint, "u32", "r")
NT_LOAD(ushort, "u16", "h")
INLINE uchar nt_uchar(__global const uchar *p)
{
    ushort v; /* no register has 8 bits */
    __asm__("ld.global.nc.L1::no_allocate.u8 %0, [%1];" : "=h"(v) : "l"((ulong)p));
    return (uchar)v;
}
#ifdef F64
NT_LOAD(double, "f64", "d")
#endif
/* Vector loads of up to 16 bytes. */
#define NT_LOAD2(type, ptx, c)                                                                               \
    INLINE CAT(type, 2) nt2_##type(__global const type *p)                                                   \
    {                                                                                                        \
        type v, w;                                                                                           \
        __asm__("ld.global.nc.L1::no_allocate.v2." ptx " {%0, %1}, [%2];" : "=" c(v), "=" c(w) : "l"((ulong)p)); \
        return VECTOR2(type, v, w);                                                                          \
    }
#define NT_LOAD4(type, ptx, c)                                                                               \
    INLINE CAT(type, 4) nt4_##type(__global const type *p)                                                   \
    {                                                                                                        \
        type s, t, v, w;                                                                                     \
        __asm__("ld.global.nc.L1::no_allocate.v4." ptx " {%0, %1, %2, %3}, [%4];"                            \
                : "=" c(s), "=" c(t), "=" c(v), "=" c(w) : "l"((ulong)p));                                   \
        return VECTOR4(type, s, t, v, w);                                                                    \
    }
NT_LOAD2(float, "f32", "f")
NT_LOAD2(uint, "u32", "r")
NT_LOAD2(ushort, "u16", "h")
NT_LOAD4(float, "f32", "f")
NT_LOAD4(uint, "u32", "r")
NT_LOAD4(ushort, "u16", "h")
INLINE uchar2 nt2_uchar(__global const uchar *p)
{
    const uint v = nt_ushort((__global const ushort *)p);
    return VECTOR2(uchar, (uchar)v, (uchar)(v >> 8));
}
INLINE uchar4 nt4_uchar(__global const uchar *p)
{
    const uint v = nt_uint((__global const uint *)p);
    return VECTOR4(uchar, (uchar)v, (uchar)(v >> 8), (uchar)(v >> 16), (uchar)(v >> 24));
}
#ifdef F64
NT_LOAD2(double, "f64", "d")
INLINE double4 nt4_double(__global const double *p)
{
    const double2 v = nt2_double(p);
    const double2 w = nt2_double(p + 2);
    return VECTOR4(double, v.s0, v.s1, w.s0, w.s1);
}
#endif
#define LOAD(type, a, i) CAT(nt_, type)((a) + (i))
#define LOAD_VECTOR(type, n, p) CAT(CAT(nt, n), CAT(_, type))(p)
#else
#define LOAD(type, a, i) (a)[i]
#define LOAD_VECTOR(type, n, p) (*(__global const CAT(type, n) *)(p))
#endif
#define LOAD_COL(a, i) LOAD(COLUMN, a, i)
#define LOAD_UINT(a, i) LOAD(uint, a, i)
#if CODES == 2
#define LOAD_VAL(a, i) ((VAL)0) /* a is the empty buffer */
#else
#define LOAD_VAL(a, i) LOAD(VAL, a, i)
#endif

/* With SHUF, on the same devices, a sum over up to 32 adjacent items needs no local memory: shuffle_down returns v of the item d
 * places further. Every item of the group must call it. */
#if defined(SHUF) && SHUF && defined(NVIDIA) && NVIDIA >= 70 && WG >= 32
#define LANES_BY_SHUFFLE (32 / SUBS) /* items less than this far apart are added by shuffles */
INLINE uint shuffle_word(uint v, uint d)
{
    uint w;
    __asm__ volatile("shfl.sync.down.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(w) : "r"(v), "r"(d));
    return w;
}
INLINE VEC shuffle_one(VEC v, uint d)
{
#ifdef F64
    const uint2 w = as_uint2(v);
    return as_double(VECTOR2(uint, shuffle_word(w.s0, d), shuffle_word(w.s1, d)));
#else
    return as_float(shuffle_word(as_uint(v), d));
#endif
}
INLINE SUM shuffle_down(SUM v, uint d)
{
    #pragma unroll
    for (uint j = 0; j < VECTORS; j++)
        COMPONENT(v, j) = shuffle_one(COMPONENT(v, j), d * SUBS);
    return v;
}
#else
#define LANES_BY_SHUFFLE 1
#endif

#if LIST
#define LIST_PARAM __global const uint *restrict list UNUSED,
#define Y_ROW(i) list[i]
#else
#define LIST_PARAM
#define Y_ROW(i) ((uint)(i))
#endif

/* The parameters of a body besides its own PARAMS. */
#define ROW_PARAMS uint r UNUSED, uint lane UNUSED, uint rows UNUSED, uint cols UNUSED, \
                   X_PARAMS, __local SUM *scratch UNUSED

/* The last parameters of every kernel of a product: those that change from one product to the next. */
#define VECTOR_PARAMS __global const SUM *restrict x UNUSED, ulong x0 UNUSED, __global SUM *restrict y UNUSED, \
                      ulong y0 UNUSED, VEC alpha UNUSED, VEC beta UNUSED STEP_PARAMS
#define PRODUCT_PARAMS DICTIONARY_PARAM VECTOR_PARAMS IMAGE_PARAM

/* 1: a vector of n elements can be loaded from or stored to p. */
#define ALIGNED(p, n) ((ulong)(p) % ((n) * sizeof(VEC)) == 0)

/* before + alpha * sum, where before is beta * y. With REPEAT a sum of 0 adds nothing, not even its sign: so the bits of y do not depend on
 * which parts have a row, nor on whether the first of them or the kernel scale forms beta * y. The host's repeat_set does the same. */
INLINE SUM plus(SUM before, VEC alpha, SUM sum)
{
#if REPEAT && VECTORS > 1
    const SUM old = before;
    MULADD(before, alpha, sum);
    #pragma unroll
    for (uint j = 0; j < VECTORS; j++)
        if (COMPONENT(sum, j) == 0)
            COMPONENT(before, j) = COMPONENT(old, j);
#elif REPEAT
    if (sum != 0)
        MULADD(before, alpha, sum);
#else
    MULADD(before, alpha, sum);
#endif
    return before;
}

/* beta * y, rounded. NVIDIA's compilers fuse either product of alpha * sum + beta * y into the sum, which depends on where branches are;
 * so they are not left the choice. */
INLINE SUM scaled(VEC beta, SUM y)
{
#ifdef NVIDIA
    #pragma unroll
    for (uint j = 0; j < VECTORS; j++) {
        VEC v;
#ifdef F64
        __asm__("mul.rn.f64 %0, %1, %2;" : "=d"(v) : "d"(beta), "d"(COMPONENT(y, j)));
#else
        __asm__("mul.rn.f32 %0, %1, %2;" : "=f"(v) : "f"(beta), "f"(COMPONENT(y, j)));
#endif
        COMPONENT(y, j) = v;
    }
    return y;
#else
    return beta * y;
#endif
}

/* y[i] = alpha * sum + beta * y[i]; with beta 0 y is not read. */
#if VECTORS > 1
#define put(y, i, alpha, sum, beta) put_at((y) + (i) * (size_t)y_step, alpha, sum, beta)
#else
#define put(y, i, alpha, sum, beta) put_at((y) + (i), alpha, sum, beta)
#endif
INLINE void put_at(__global SUM *y, VEC alpha, SUM sum, VEC beta)
{
    SUM v = 0;
    if (beta != (VEC)0)
        v = scaled(beta, LOAD_SUM(y));
    *y = plus(v, alpha, sum);
}

/* ---- FINISH 1: pieces of a row that several work-groups sum, of which the last to finish adds the sums ---- */
#if defined(FINISH) && FINISH
/* On NVIDIA's devices, whose fence is known to order memory between groups, carries are plain loads and stores. Elsewhere they
 * are atomic operations, which all groups see alike, and the fence only has to keep them in order. */
#if defined(NVIDIA) && NVIDIA >= 70
#define FENCE() __asm__ volatile("fence.acq_rel.gpu;" ::: "memory")
INLINE void leave(__global VEC *p, VEC v)
{
    *(volatile __global VEC *)p = v;
}
INLINE VEC take(__global VEC *p)
{
    return *(volatile __global VEC *)p;
}
#else
#define FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
INLINE void leave(__global VEC *p, VEC v)
{
    volatile __global uint *word = (volatile __global uint *)p;
#ifdef F64
    const uint2 w = as_uint2(v);
    atomic_xchg(word, w.s0);
    atomic_xchg(word + 1, w.s1);
#else
    atomic_xchg(word, as_uint(v));
#endif
}
INLINE VEC take(__global VEC *p)
{
    volatile __global uint *word = (volatile __global uint *)p;
#ifdef F64
    const uint low = atomic_or(word, 0u);
    return as_double(VECTOR2(uint, low, atomic_or(word + 1, 0u)));
#else
    return as_float(atomic_or(word, 0u));
#endif
}
#endif

#if defined(NVIDIA) && NVIDIA >= 70
/* Leaves v at p, and returns what was there. */
INLINE VEC exchange(__global VEC *p, VEC v)
{
    VEC before;
#ifdef F64
    __asm__ volatile("atom.relaxed.gpu.global.exch.b64 %0, [%1], %2;" : "=d"(before) : "l"((ulong)p), "d"(v) : "memory");
#else
    __asm__ volatile("atom.relaxed.gpu.global.exch.b32 %0, [%1], %2;" : "=f"(before) : "l"((ulong)p), "f"(v) : "memory");
#endif
    return before;
}

/* 1: v is not +0, which stands for a slot in which nothing was left. */
INLINE int was_left(VEC v)
{
#ifdef F64
    const uint2 w = as_uint2(v);
    return (w.s0 | w.s1) != 0;
#else
    return as_uint(v) != 0;
#endif
}

/* Adds the pieces of a row in a binary tree: at each of its nodes the first to come leaves its sum in a slot and is done; the second
 * takes it, adds it to its own and goes on. Since sums travel in the exchanges themselves, no fence is needed, which would also empty
 * the L1 cache. Which comes first makes no difference to the sum of two. Calls of piece number i of n have the sum of that piece in *sum;
 * slots are stride apart, the first is that of piece 1. Returns 1 for the last piece to come, whose *sum is then that of the row, else 0.
 * All slots are then as they were. */
INLINE int join(VEC *sum, uint i, uint n, __global VEC *slot, uint stride)
{
    for (uint k = 0; 1u << k < n; k++) { /* the subtrees of a node have 2^k pieces */
        const uint right = (i >> k | 1) << k; /* the first piece of the right one, which has the node's slot */
        if (right >= n)
            continue;
        __global VEC *p = slot + (size_t)(right - 1) * stride;
        const VEC other = exchange(p, *sum == 0 ? -(VEC)0 : *sum);
        if (!was_left(other))
            return 0;
        *(volatile __global VEC *)p = 0;
        *sum += other;
    }
    return 1;
}
#endif

/* Stores the sum of a piece in carry number at and counts it. Returns the number of pieces of the row if this was the last to finish,
 * else 0. The counters lie after the carries; a row uses number first. The last piece resets it for the next product. */
INLINE uint arrive(__global VEC *carry, ulong carries, size_t first, size_t at, uint pieces, VEC sum)
{
    volatile __global uint *arrived = (volatile __global uint *)(carry + carries) + first;
    leave(carry + at, sum);
    FENCE();
    if (atomic_inc(arrived) + 1 != pieces)
        return 0;
    atomic_xchg(arrived, 0u);
    FENCE();
    return pieces;
}
#endif

/* ---- column-major formats: an item takes V adjacent rows ---- */
#ifndef V
#define V 1
#endif
/* On CPUs, V adjacent values times V adjacent elements of x are written as vectors where that is possible (BY_VECTORS 1), because
 * compilers do not always make vector instructions of the loop (Intel's runtime: dense takes 0.3 to 0.5 of the time, dia 0.3 to 0.6). */
#if CPU && V > 1 && V <= 16 && !ZERO && !IMG && !CODES && VECTORS == 1
#define VECTOR_V CAT(VEC, V)
/* Returns sum + val[0 .. V-1] * x[0 .. V-1]. */
INLINE VECTOR_V sum_of_vectors(VECTOR_V sum, __global const VAL *restrict val, __global const VEC *restrict x)
{
    const VECTOR_V v = CAT(convert_, VECTOR_V)(CAT(vload, V)(0, val));
    const VECTOR_V xs = CAT(vload, V)(0, x);
#if REPEAT
    return fma(v, xs, sum);
#else
    return sum + v * xs;
#endif
}
#define BY_VECTORS 1
#else
#define BY_VECTORS 0
#endif

/* Loads V adjacent values into v. The index of the first must be a multiple of V. */
INLINE void load_rows(VAL *v, __global const VAL *restrict val UNUSED)
{
#if V == 4 && CODES != 2
    const CAT(VAL, 4) t = LOAD_VECTOR(VAL, 4, val);
    v[0] = t.s0;
    v[1] = t.s1;
    v[2] = t.s2;
    v[3] = t.s3;
#else
    #pragma unroll
    for (uint w = 0; w < V; w++)
        v[w] = LOAD_VAL(val, w);
#endif
}

/* Adds one entry of each of V rows. They lie in V slots from slot, which must be a multiple of V. */
INLINE void add_slab(SUM *acc, __global const VAL *restrict val, __global const COLUMN *restrict col, IDX slot,
                     uint first UNUSED, X_PARAMS)
{
    VAL v[V];
    COLUMN c[V];

    load_rows(v, val + slot);
#if V == 4
    const CAT(COLUMN, 4) t = LOAD_VECTOR(COLUMN, 4, col + slot);
    c[0] = t.s0;
    c[1] = t.s1;
    c[2] = t.s2;
    c[3] = t.s3;
#else
    col += slot;
    #pragma unroll
    for (uint w = 0; w < V; w++)
        c[w] = LOAD_COL(col, w);
#endif
    #pragma unroll
    for (uint w = 0; w < V; w++) {
        const uint at = COLUMN_OF(c[w], first, 1);
        if (at != PAD && WANTED(v[w]))
            MULADD(acc[w], VALUE(v[w]), X(at));
    }
}

#if CPU && V > 1 && !ZERO
/* 1: one of the V slots from col on is padding. */
INLINE int has_padding(__global const COLUMN *restrict col)
{
    int found = 0;
    #pragma unroll
    for (uint w = 0; w < V; w++)
        found |= col[w] == (COLUMN)PAD;
    return found;
}

/* Adds the first of count entries of V rows, step slots apart, as far as none is padding, and returns how many these are. Padding is at the
 * end of a row, so it is looked for from there. */
INLINE uint add_whole_slabs(SUM *acc, __global const VAL *restrict val, __global const COLUMN *restrict col, IDX slot, IDX step,
                            uint count, uint first UNUSED, X_PARAMS)
{
    while (count > 0 && has_padding(col + (slot + (count - 1) * step)))
        count--;
    for (uint k = 0; k < count; k++, slot += step) {
        __global const COLUMN *c = col + slot;
        #pragma unroll
        for (uint w = 0; w < V; w++)
            MULADD(acc[w], VALUE(LOAD_VAL(val + slot, w)), X(USED_COLUMN_OF(c[w], first, 1)));
    }
    return count;
}
#endif

#if UNROLL > 1
/* Adds count slots of a row, UNROLL at most and step slots apart. It waits for memory twice, however many they are: for all columns, then
 * for all values and elements of x (with ZERO, these wait for the values). The values come second because padding needs none. Where the
 * compiler knows that count is UNROLL, it drops the test whether a slot exists. */
INLINE void add_batch(SUM *acc, __global const VAL *restrict val, __global const COLUMN *restrict col, IDX slot, IDX step, uint count,
                      uint first UNUSED, X_PARAMS)
{
    uint c[UNROLL];
    VAL v[UNROLL];
    SUM xs[UNROLL];

    val += slot;
    col += slot;
    #pragma unroll
    for (uint u = 0; u < UNROLL; u++)
        c[u] = u < count ? COL(col, u * step, first, 1) : PAD;
    #pragma unroll
    for (uint u = 0; u < UNROLL; u++)
        v[u] = c[u] != PAD ? LOAD_VAL(val, u * step) : (VAL)0;
    #pragma unroll
    for (uint u = 0; u < UNROLL; u++)
        xs[u] = c[u] != PAD && WANTED(v[u]) ? X(c[u]) : (SUM)0;
    #pragma unroll
    for (uint u = 0; u < UNROLL; u++)
        if (c[u] != PAD && WANTED(v[u]))
            MULADD(*acc, VALUE(v[u]), xs[u]);
}

/* Adds count slots of a row in batches. Only the last one, full or not, tests which of its slots exist, so that adjacent items whose counts
 * lie between the same multiples of UNROLL go the same way. */
INLINE void add_batches(SUM *acc, __global const VAL *restrict val, __global const COLUMN *restrict col, IDX slot, IDX step, uint count,
                        uint first UNUSED, X_PARAMS)
{
    for (; count > UNROLL; count -= UNROLL, slot += UNROLL * step)
        add_batch(acc, val, col, slot, step, UNROLL, first, X_ARGS);
    add_batch(acc, val, col, slot, step, count, first, X_ARGS);
}
#endif

/* Adds count entries of each of V rows, step slots apart. */
INLINE void add_slabs(SUM *acc, __global const VAL *restrict val, __global const COLUMN *restrict col, IDX slot, IDX step,
                      uint count, uint first UNUSED, X_PARAMS)
{
#if UNROLL > 1 && V == 1
    add_batches(acc, val, col, slot, step, count, first, X_ARGS);
#else
#if CPU && V > 1 && !ZERO
    const uint whole = add_whole_slabs(acc, val, col, slot, step, count, first, X_ARGS);
    slot += whole * step;
    count -= whole;
#endif
    for (; count > 0; count--, slot += step)
        add_slab(acc, val, col, slot, first, X_ARGS);
#endif
}

/* Adds the elements of a diagonal in V rows, which lie in columns c, c + 1, ...; columns outside the matrix are ignored. */
INLINE void add_diagonal(SUM *acc, __global const VAL *restrict val, long c, uint cols, X_PARAMS)
{
    VAL v[V];

    if (c + (V - 1) < 0 || c >= (long)cols)
        return;
#if BY_VECTORS
    if (c >= 0 && c + (V - 1) < (long)cols) {
        CAT(vstore, V)(sum_of_vectors(CAT(vload, V)(0, acc), val, x + c), 0, acc);
        return;
    }
#endif
    load_rows(v, val);
#if V > 1 && !ZERO && !BY_VECTORS
    if (c >= 0 && c + (V - 1) < (long)cols) {
        SUM xs[V];
#if V == 4 && defined(NVIDIA) && !IMG && VECTORS == 1
        if (ALIGNED(x + c, 4)) {
            const CAT(VEC, 4) t = *(__global const CAT(VEC, 4) *)(x + c);
            xs[0] = t.s0;
            xs[1] = t.s1;
            xs[2] = t.s2;
            xs[3] = t.s3;
        } else
#endif
        #pragma unroll
        for (uint w = 0; w < V; w++)
            xs[w] = X(c + w);
        #pragma unroll
        for (uint w = 0; w < V; w++)
            MULADD(acc[w], VALUE(v[w]), xs[w]);
        return;
    }
#endif
    #pragma unroll
    for (uint w = 0; w < V; w++)
        if (c + w >= 0 && c + w < (long)cols && WANTED(v[w]))
            MULADD(acc[w], VALUE(v[w]), X(c + w));
}

/* ---- block formats: a block has BH x BW elements, stored in units of 1 x UW ----
 * Unit u of a block is unit first + u * step of val. */
#ifndef BH
#define BH 4
#endif
#ifndef BW
#define BW 4
#endif
#ifndef UW
#define UW 4
#endif
#define UNITS (BH * BW / UW)
#define ROW_UNITS (BW / UW)
/* 1: the image of floats has four columns in each texel (clSpMV 4.4), which is used if x begins at a multiple of four. The last
 * texel may be incomplete. */
#if IMG && BW % 4 == 0 && !ZERO && !defined(F64) && VECTORS == 1
#define QUAD 1
#else
#define QUAD 0
#endif

/* Loads the UW values of a unit. */
INLINE void load_unit(VAL *v, __global const VAL *restrict val UNUSED, IDX unit UNUSED)
{
#if UW == 4 && CODES != 2
    const CAT(VAL, 4) t = LOAD_VECTOR(VAL, 4, val + unit * 4);
    v[0] = t.s0;
    v[1] = t.s1;
    v[2] = t.s2;
    v[3] = t.s3;
#elif UW == 2 && CODES != 2
    const CAT(VAL, 2) t = LOAD_VECTOR(VAL, 2, val + unit * 2);
    v[0] = t.s0;
    v[1] = t.s1;
#else
    val += unit * UW;
    #pragma unroll
    for (uint j = 0; j < UW; j++)
        v[j] = LOAD_VAL(val, j);
#endif
}

/* Loads the elements of x for the BW columns of a block from column c, and zeros for columns beyond the last of the matrix. */
INLINE void load_columns(SUM *xs, uint c, uint cols, X_PARAMS)
{
#if QUAD
    if (x0 % 4 == 0) {
        #pragma unroll
        for (uint j = 0; j < BW; j += 4) {
            float4 t = 0;
            if (j + 4 <= cols - c)
                t = read_imagef(image, (int)((x0 + c + j) / 4));
            else {
                t.s0 = j < cols - c ? x[(size_t)c + j] : 0;
                t.s1 = j + 1 < cols - c ? x[(size_t)c + j + 1] : 0;
                t.s2 = j + 2 < cols - c ? x[(size_t)c + j + 2] : 0;
            }
            xs[j] = t.s0;
            xs[j + 1] = t.s1;
            xs[j + 2] = t.s2;
            xs[j + 3] = t.s3;
        }
        return;
    }
#endif
#if CPU
    if (BW <= cols - c) {
        #pragma unroll
        for (uint j = 0; j < BW; j++)
            xs[j] = X((size_t)c + j);
        return;
    }
#endif
    #pragma unroll
    for (uint j = 0; j < BW; j++)
        xs[j] = j < cols - c ? X((size_t)c + j) : (SUM)0;
}

/* 1: a block's values are loaded before its column is tested for padding. On an H200, with sbell:b=3x3, f64, groups of 128 and L from 1
 * to 8, this took 0.69 to 0.94 of the time on six matrices. Blocks of 6x6 gain as much with 32-bit columns but lose with 16-bit ones. */
#if defined(NVIDIA) && BH * BW == 9
#define EARLY 1
#else
#define EARLY 0
#endif

/* Adds the product of the block whose first column is c, if it is not PAD, for which c is not tested if padded is 0. */
INLINE void add_block(SUM *acc, __global const VAL *restrict val, IDX first, IDX step, uint c, int padded, uint cols, X_PARAMS)
{
    SUM xs[BW];
#if ZERO || EARLY
    VAL v[BH * BW];
    #pragma unroll
    for (uint u = 0; u < UNITS; u++)
        load_unit(v + u * UW, val, first + u * step);
    if (padded && c == PAD)
        return;
#if ZERO
    /* an element of x is loaded if some value in its column of the block is not zero */
    #pragma unroll
    for (uint j = 0; j < BW; j++) {
        int wanted = 0;
        #pragma unroll
        for (uint i = 0; i < BH; i++)
            wanted |= v[i * BW + j] != (VAL)0;
        xs[j] = wanted && j < cols - c ? X((size_t)c + j) : (SUM)0;
    }
#else
    load_columns(xs, c, cols, X_ARGS);
#endif
    #pragma unroll
    for (uint i = 0; i < BH; i++)
        #pragma unroll
        for (uint j = 0; j < BW; j++)
            MULADD(acc[i], VALUE(v[i * BW + j]), xs[j]);
#else
    if (padded && c == PAD)
        return;
    load_columns(xs, c, cols, X_ARGS);
    #pragma unroll
    for (uint i = 0; i < BH; i++) {
        #pragma unroll
        for (uint u = 0; u < ROW_UNITS; u++) {
            VAL v[UW];
            load_unit(v, val, first + (i * ROW_UNITS + u) * step);
#if CPU && !REPEAT
            /* the additions to acc depend on each other, so there is only one for each unit */
            SUM sum = VALUE(v[0]) * xs[u * UW];
            #pragma unroll
            for (uint j = 1; j < UW; j++)
                MULADD(sum, VALUE(v[j]), xs[u * UW + j]);
            acc[i] += sum;
#else
            #pragma unroll
            for (uint j = 0; j < UW; j++)
                MULADD(acc[i], VALUE(v[j]), xs[u * UW + j]);
#endif
        }
    }
#endif
}
/* SPDX-License-Identifier: MIT
 * tcsr: CSR in tiles of TILE slots. Tiles begin at fixed, aligned addresses, so loads need neither a pointer nor a condition.
 *
 * A warp is 32 adjacent lanes, which multiply 512 adjacent slots. Their loads are coalesced; the products are exchanged through local
 * memory, so that each lane sums U adjacent slots. The bits of its flag say in which of them a row ends. A sum that is still open after
 * a lane's last slot is passed on to the next lanes, and from one warp to the next through local memory. The sums of the rows that end
 * in a warp are collected in local memory in the order of the rows, so that adjacent lanes store adjacent elements of y.
 * On NVIDIA's devices the lanes of a warp exchange data by PTX instructions, elsewhere through local memory with barriers.
 *
 * With IDX16 a column is its warp's base, 16 bits, and with HIGH, if the warp has them, a high byte below 128. The 16 bits of eight slots
 * of a lane are adjacent, and so are the high bytes of all of them, so that one load brings eight or sixteen and they take few
 * registers. x is moved to the base, so that 16 bits cost no addition.
 *
 * STREAM 1: a group takes a tile. STREAM 0: an item takes a tile and goes through it slot by slot (for CPUs). The groups or items after
 * those of the tiles write the empty rows. A row that is cut has a piece in each of its tiles, which is left in carry[2 * tile] by the
 * tile where the row ends, and in carry[2 * tile + 1] by the others; they are added as FINISH says in csr.cl, with STREAM 1 and FINISH 1 on
 * NVIDIA's devices in a tree (join in common.cl). */
#ifndef WG
#define WG 256 // tune: 1 4 16 32 64 128 256
#endif
#ifndef STREAM
#define STREAM 1 // tune: 0 1
#endif
#ifndef FINISH
#define FINISH 0 // tune: 0 1
#endif
#ifndef CUTS
#define CUTS 1 /* 0: no row is cut, so that finish is never launched */
#endif
#ifndef UNROLL
#define UNROLL 8 // tune: 8 16
#endif
#ifndef NT
#define NT 0 // tune: 0 1
#endif
#ifndef TILE
#define TILE 4096 // lint: TILE=512 ; GAPS=1
#endif
#ifndef GAPS
#define GAPS 0 /* 1: some rows are empty, and the array row has the row of each end; 0: end n is that of row n */
#endif
#ifndef HIGH
#define HIGH 0 // lint: IDX16=1 ; IDX16=1 HIGH=1 ; IDX16=1 HIGH=2 TILE=512
/* 1: some warps have high bytes, 2: all have */
#endif
#define U 16 /* SPMV_TCSR_SLOTS */
#define LANES 32 /* SPMV_TCSR_LANES */
#define WARP_SLOTS (LANES * U)
#define WARPS (TILE / WARP_SLOTS)
#define ROW_ENDS(flag) ((flag) & ((1u << U) - 1)) /* of a lane's slots */
#define RANK(flag) ((flag) >> U) /* rows that end before them in the warp */
#if IDX16
#define TOGETHER 8 /* slots of a lane whose columns are adjacent; spmv__tcsr_place has the same number */
#else
#define TOGETHER 1
#endif
#if HIGH == 2
#define HAS_HIGH 1
#else
#define HAS_HIGH has_high
#endif
#define EMPTY_EACH 4 /* empty rows that an item writes; spmv__tcsr_deal has the same number */
#if GAPS
#define ROW_OF(n) Y_ROW(row[n])
#define EARLY_ROW_OF(n) Y_ROW(load_early(row + (n)))
#else
#define EARLY_ROW_OF ROW_OF
#define ROW_OF(n) Y_ROW(n)
#endif

#define TILE_PARAMS __global const VAL *restrict val UNUSED, __global const COLUMN *restrict col UNUSED, \
                    __global const uint *restrict flags UNUSED, __global const uint *restrict end_at, \
                    __global const uint *restrict row UNUSED, __global const uint *restrict piece, \
                    __global const uint *restrict cut UNUSED, __global const uint *restrict empty UNUSED, \
                    __global const uint *restrict base UNUSED, __global const uint *restrict high_at UNUSED, \
                    __global const uchar *restrict high UNUSED, \
                    ulong tiles UNUSED, ulong cuts UNUSED, ulong empties UNUSED, LIST_PARAM \
                    __global VEC *restrict carry UNUSED, PRODUCT_PARAMS
#if LIST
#define LIST_ARG list,
#else
#define LIST_ARG
#endif
#if IMG
#define IMAGE_ARG , image
#else
#define IMAGE_ARG
#endif
#define TILE_ARGS val, col, flags, end_at, row, piece, cut, empty, base, high_at, high, tiles, cuts, empties, LIST_ARG carry, \
                  DICTIONARY_ARG x, x0, y, y0, alpha, beta IMAGE_ARG
#define PIECE_PARAMS __global const uint *restrict end_at UNUSED, __global const uint *restrict row UNUSED, LIST_PARAM \
                     __global VEC *restrict carry
#define PIECE_ARGS end_at, row, LIST_ARG carry

/* The carry of tile t's piece of a row that is cut and ends in tile last; the element of y that is this row's. */
#define PIECE_AT(t, last) (2 * (size_t)(t) + ((t) < (last)))
#define CUT_ROW(last) ROW_OF(end_at[(size_t)(last) * WARPS])

/* y of the i-th empty row; with beta 1 it stays as it is. */
INLINE void put_empty(__global const uint *restrict empty, ulong empties, ulong i, LIST_PARAM __global VEC *y, VEC alpha, VEC beta)
{
    if (i < empties && beta != (VEC)1)
        put(y, Y_ROW(empty[i]), alpha, 0, beta);
}
#define EMPTY_ARGS(i) empty, empties, i, LIST_ARG y, alpha, beta

#if STREAM
#ifdef F64
#define BANKS 16 /* elements that local memory delivers at once */
#define WIDE 2 /* elements that a lane loads together, of 16 bytes */
#else
#define BANKS 32
#define WIDE 4
#endif
/* Where slot i of a warp lies in local memory. WIDE elements are left out after each BANKS of them, so that lanes that read slots U apart
 * use different banks. */
#define AT(i) ((i) + (i) / BANKS * WIDE)

#if defined(NVIDIA) && NVIDIA >= 70
#define PTX 1
INLINE uint warp_ballot(uint p)
{
    uint b;
    __asm__ volatile("{ .reg .pred q; setp.ne.u32 q, %1, 0; vote.sync.ballot.b32 %0, q, 0xffffffff; }" : "=r"(b) : "r"(p));
    return b;
}
INLINE uint warp_up_word(uint v, uint d)
{
    uint w;
    __asm__ volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(w) : "r"(v), "r"(d));
    return w;
}
INLINE VEC warp_up(VEC v, uint d)
{
#ifdef F64
    const uint2 w = as_uint2(v);
    return as_double(VECTOR2(uint, warp_up_word(w.s0, d), warp_up_word(w.s1, d)));
#else
    return as_float(warp_up_word(as_uint(v), d));
#endif
}
/* After it, each lane of a warp sees what the others wrote to local memory. */
INLINE void warp_sync(void)
{
    __asm__ volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}
/* A load that is issued before the next warp_sync: the assembler moves loads of what never changes down to where they are needed. */
INLINE uint load_early(__global const uint *p)
{
    uint v;
    __asm__ volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"((ulong)p));
    return v;
}
/* BALLOT: bit l is set if p is not 0 in lane l of the warp. UP: v of the lane that is d lower; in the first d lanes their own. */
#define BALLOT(p) warp_ballot(p)
#define UP(v, d) warp_up(v, d)
#else
#define PTX 0
#define load_early(p) (*(p))
INLINE void warp_sync(void)
{
    barrier(CLK_LOCAL_MEM_FENCE);
}
INLINE uint group_ballot(uint p, __local uint *vote, uint lid)
{
    if (lid % LANES == 0)
        vote[lid / LANES] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (p)
        atomic_or(vote + lid / LANES, 1u << lid % LANES);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint b = vote[lid / LANES];
    barrier(CLK_LOCAL_MEM_FENCE);
    return b;
}
INLINE VEC group_up(VEC v, uint d, __local VEC *sums, uint lid)
{
    sums[lid] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    const VEC t = lid % LANES >= d ? sums[lid - d] : v;
    barrier(CLK_LOCAL_MEM_FENCE);
    return t;
}
#define BALLOT(p) group_ballot(p, m->vote, lid)
#define UP(v, d) group_up(v, d, m->sums, lid)
#endif

#if FINISH && !PTX
/* Adds the pieces of the row that is cut, begins in tile first and ends in tile last. */
INLINE void finish_row(uint first, uint last, PIECE_PARAMS, __global VEC *y, VEC alpha, VEC beta)
{
    VEC s = 0;
    for (uint t = first; t <= last; t++)
        s += take(carry + PIECE_AT(t, last));
    put(y, CUT_ROW(last), alpha, s, beta);
}
#endif

/* Local memory of a group. */
typedef struct {
    VEC buffer[WARPS][AT(WARP_SLOTS)]; /* aligned to 16 bytes */
    VEC open_sum[WARPS]; /* behind the last row that ends in the warp */
    uint has_end[WARPS];
#if !PTX
    uint vote[WARPS];
    VEC sums[WG];
#endif
} group_memory;

#if IDX16
#define WORDS ((UNROLL < TOGETHER ? TOGETHER : UNROLL) / 2) /* for the columns of UNROLL slots */
/* The columns of the UNROLL slots of a lane that begin at col. */
INLINE void load_lane(uint *c, __global const COLUMN *restrict col)
{
    #pragma unroll
    for (uint u = 0; u < UNROLL; u += TOGETHER) {
        const uint4 four = LOAD_VECTOR(uint, 4, (__global const uint *)(col + u * LANES));
        c[u / 2] = four.x;
        c[u / 2 + 1] = four.y;
        c[u / 2 + 2] = four.z;
        c[u / 2 + 3] = four.w;
    }
}
#if HIGH
/* A column from half u % 2 of a word and byte u % 4 of a word of high bytes. */
INLINE uint join_column(uint low, uint high, uint u)
{
#if PTX
    /* bytes 0 to 3 are of low, 4 to 7 of high; 8 is added for a byte's sign, which is 0, in place of the byte */
    const uint bytes = (u % 2 ? 0x32 : 0x10) + (4 + u % 4) * 0x1100 + 0x8000;
    uint c;
    __asm__("prmt.b32 %0, %1, %2, %3;" : "=r"(c) : "r"(low), "r"(high), "r"(bytes));
    return c;
#else
    return (low >> u % 2 * 16 & 0xffffu) | (high >> u % 4 * 8 & 255) << 16;
#endif
}
#define COLUMN_IN(c, first, u) join_column((c)[(u) / 2], highs[((first) + (u)) / 4], (first) + (u))
#else
#define COLUMN_IN(c, first, u) ((c)[(u) / 2] >> (u) % 2 * 16 & 0xffffu)
#endif
#else
#define WORDS UNROLL
INLINE void load_lane(uint *c, __global const COLUMN *restrict col)
{
    #pragma unroll
    for (uint u = 0; u < UNROLL; u++)
        c[u] = LOAD_COL(col, u * LANES);
}
#define COLUMN_IN(c, first, u) (c)[u]
#endif

/* The values of UNROLL slots of a lane, of which VALUE_IN is that of slot u. Codes of a lane are adjacent (values.cl), so that one load
 * brings them. */
#if CODES == 1
#define VALUES uint
#define VALUE_WORDS (UNROLL / 4)
#define VALUE_STEP(slots) (slots)
#define VALUE_IN(v, u) VALUE((v)[(u) / 4] >> (u) % 4 * 8 & 255u)
INLINE void load_values(uint *v, __global const uchar *restrict val)
{
#if UNROLL == 16
    const uint4 four = LOAD_VECTOR(uint, 4, (__global const uint *)val);
    v[2] = four.s2;
    v[3] = four.s3;
#else
    const uint2 four = LOAD_VECTOR(uint, 2, (__global const uint *)val);
#endif
    v[0] = four.s0;
    v[1] = four.s1;
}
#else
#define VALUES VAL
#define VALUE_WORDS UNROLL
#define VALUE_STEP(slots) ((slots) * LANES)
#define VALUE_IN(v, u) VALUE((v)[u])
INLINE void load_values(VAL *v, __global const VAL *restrict val UNUSED)
{
    #pragma unroll
    for (uint u = 0; u < UNROLL; u++)
        v[u] = LOAD_VAL(val, u * LANES);
}
#endif

/* y of the rows that end in a tile, and the pieces of rows that are cut. */
INLINE void sum_tile(uint tile, __local group_memory *m, TILE_PARAMS)
{
    const uint lid = (uint)get_local_id(0), lane = lid % LANES, own = lid / LANES;
    __local VEC *buf = m->buffer[own];
    const size_t warp = (size_t)tile * WARPS + own;
    val += warp * WARP_SLOTS + (CODES == 1 ? lane * U : lane); /* from here on at constant distances */
    col += warp * WARP_SLOTS + lane * TOGETHER;
    VALUES v[VALUE_WORDS];
    uint c[WORDS];
    VEC p[U];
#if IDX16
    const uint lowest = base[warp];
#endif
#if HIGH == 2
    const size_t wide = warp;
#elif HIGH
    const uint wide = high_at[warp], has_high = high_at[warp + 1] - wide;
#endif
#if HIGH
    uint highs[U / 4] = {0, 0, 0, 0};
#endif
    load_lane(c, col);
    load_values(v, val);
#if HIGH
    if (HAS_HIGH) {
        const uint4 four = LOAD_VECTOR(uint, 4, (__global const uint *)(high + (size_t)wide * WARP_SLOTS + lane * U));
        highs[0] = four.x;
        highs[1] = four.y;
        highs[2] = four.z;
        highs[3] = four.w;
    }
#endif
    const uint flag = load_early(flags + warp * LANES + lane), before = load_early(end_at + warp);
    /* loaded now, as each of them would hold up the group after its sums */
    const uint ends = load_early(end_at + warp + 1) - before, ended = load_early(end_at + (size_t)tile * WARPS);
    const uint from = load_early(piece + 2 * (size_t)tile), to = load_early(piece + 2 * (size_t)tile + 1);
    const uint crossing = from != tile && before == ended && ends > 0; /* 1: the warp's first end is of a row of another tile */
    const uint goes_on = to != tile && own == WARPS - 1;
    const uint first UNUSED = before + ends == ended ? from : tile; /* of the row that goes on */
#if FINISH && PTX
    const uint row_on = goes_on && lane == LANES - 1 ? CUT_ROW(to) : 0;
#endif
    BEGIN(x, y);
    REREAD(carry);
#if IDX16
    x += lowest;
    x0 += lowest; /* of an image */
    REREAD(x);
#endif
    #pragma unroll
    for (uint b = 0; b < U; b += UNROLL) {
        VEC xs[UNROLL];
        #pragma unroll
        for (uint u = 0; u < UNROLL; u++)
            xs[u] = X(COLUMN_IN(c, b, u));
#if UNROLL < U /* the next loads are issued before these products are formed */
        VALUES next_v[VALUE_WORDS];
        uint next_c[WORDS];
        if (b + UNROLL < U) {
            load_lane(next_c, col + (b + UNROLL) * LANES);
            load_values(next_v, val + VALUE_STEP(b + UNROLL));
        }
#endif
        #pragma unroll
        for (uint u = 0; u < UNROLL; u++)
            buf[AT((b + u) * LANES) + AT(lane)] = VALUE_IN(v, u) * xs[u];
#if UNROLL < U
        if (b + UNROLL < U) {
            #pragma unroll
            for (uint u = 0; u < VALUE_WORDS; u++)
                v[u] = next_v[u];
            #pragma unroll
            for (uint u = 0; u < WORDS; u++)
                c[u] = next_c[u];
        }
#endif
    }
    uint r = 0;
    if (lane < ends)
        r = EARLY_ROW_OF(before + lane);
    warp_sync();
    __local const VEC *q = buf + AT(lane * U);
    #pragma unroll
    for (uint u = 0; u < U; u += WIDE) {
        const CAT(VEC, WIDE) t = *(__local const CAT(VEC, WIDE) *)(q + u);
        p[u] = t.s0;
        p[u + 1] = t.s1;
#ifndef F64
        p[u + 2] = t.s2;
        p[u + 3] = t.s3;
#endif
    }
    warp_sync();

    const uint mask = ROW_ENDS(flag);
    VEC open = 0; /* behind the last end so far */
    __local VEC *out = buf + RANK(flag);
    #pragma unroll
    for (uint u = 0; u < U; u++) {
        open += p[u];
        if (mask >> u & 1) {
            *out++ = open;
            open = 0;
        }
    }
    const uint ending = BALLOT(mask != 0); /* lanes in which a row ends */
    const uint up_to = ending & (~0u >> (31 - lane));
    const uint begin = up_to ? 31 - clz(up_to) : 0;
    /* each lane adds the open sums of the lanes before it, back to one in which a row ends; z, the lanes that have not reached one,
     * ends the loop early where that needs no barrier */
    uint z = PTX ? ~ending : 1;
    for (uint o = 1; o < LANES && z; o *= 2) {
        const VEC t = UP(open, o);
        if (lane >= begin + o)
            open += t;
        if (PTX)
            z &= z << o;
    }
    VEC in = UP(open, 1);
    if (lane == 0)
        in = 0;
    if (mask)
        buf[RANK(flag)] += in; /* its first end */
    if (lane == LANES - 1) {
        m->open_sum[own] = open;
        m->has_end[own] = ending != 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    VEC carried = 0; /* what the warps before leave open */
#if PTX
    const uint seen = BALLOT(lane < own && m->has_end[lane % WARPS]);
    #pragma unroll 1
    for (uint j = seen ? 31 - clz(seen) : 0; j < own; j++) /* most often one */
        carried += m->open_sum[j];
#else
    for (uint j = 0; j < own; j++)
        carried = m->has_end[j] ? m->open_sum[j] : carried + m->open_sum[j];
#endif
    if (cuts) {
#if FINISH && PTX
        if (crossing && lane == 0) {
            VEC sum = buf[0] + carried;
            if (join(&sum, tile - from, tile - from + 1, carry + PIECE_AT(from, tile), 2))
                put(y, r, alpha, sum, beta);
        }
        if (goes_on && lane == LANES - 1) {
            VEC sum = ending ? open : carried + open;
            if (join(&sum, tile - first, to - first + 1, carry + PIECE_AT(first, to), 2))
                put(y, row_on, alpha, sum, beta);
        }
#elif FINISH
        uint last = 0;
        if (crossing && lane == 0)
            last = arrive(carry, 2 * tiles, from, 2 * (size_t)tile, tile - from + 1, buf[0] + carried);
        if (goes_on && lane == LANES - 1)
            last = arrive(carry, 2 * tiles, first, 2 * (size_t)tile + 1, to - first + 1, ending ? open : carried + open);
        if (last)
            finish_row(lane == 0 ? from : first, lane == 0 ? tile : to, PIECE_ARGS, y, alpha, beta);
#else
        if (crossing && lane == 0)
            carry[2 * (size_t)tile] = buf[0] + carried;
        if (goes_on && lane == LANES - 1)
            carry[2 * (size_t)tile + 1] = ending ? open : carried + open;
#endif
    }
    #pragma unroll 1 /* most often few steps: on an H200, three matrices took 0.97 to 1.00 of the time of a loop that NVRTC unrolls */
    for (uint i = lane; i < ends; i += LANES) {
        if (i || !crossing)
            put(y, r, alpha, i ? buf[i] : buf[i] + carried, beta);
        if (i + LANES < ends)
            r = ROW_OF(before + i + LANES);
    }
}

KERNEL void spmv(TILE_PARAMS)
{
    LOCAL group_memory memory __attribute__((aligned(16)));
    const ulong group = get_group_id(0);
#if PTX
    if (group < tiles)
#else /* no barrier may stand under a condition: this loop is passed once at most */
    for (ulong tile = group; tile < tiles; tile += get_num_groups(0))
#endif
        sum_tile((uint)group, &memory, TILE_ARGS);
    if (group >= tiles) {
        BEGIN(x, y);
        const ulong first = (group - tiles) * (WG * EMPTY_EACH) + get_local_id(0);
        for (uint k = 0; k < EMPTY_EACH; k++)
            put_empty(EMPTY_ARGS(first + k * WG));
    }
}
#else

#if HIGH
#define COLUMN_AT(u) (lowest + lows[(u) * TOGETHER] + (HAS_HIGH ? (uint)highs[(u) * U] << 16 : 0))
#elif IDX16
#define COLUMN_AT(u) (lowest + lows[(u) * TOGETHER])
#else
#define COLUMN_AT(u) col[at + (u)]
#endif

#if CODES == 1 /* where STREAM 1 has them */
#define VALUE_AT(u) VALUE(val[(at & ~(IDX)(WARP_SLOTS - 1)) | (at + (u)) % LANES * U | at % WARP_SLOTS / LANES])
#else
#define VALUE_AT(u) VALUE(LOAD_VAL(val, at + (u)))
#endif

/* A piece of a row that is cut: the sum of what tile t has of it. */
INLINE void leave_piece(uint t, uint first UNUSED, uint last, VEC sum, ulong tiles UNUSED, PIECE_PARAMS, __global VEC *y UNUSED,
                        VEC alpha UNUSED, VEC beta UNUSED)
{
#if FINISH
    if (!arrive(carry, 2 * tiles, first, PIECE_AT(t, last), last - first + 1, sum))
        return;
    sum = 0;
    for (uint i = first; i <= last; i++)
        sum += take(carry + PIECE_AT(i, last));
    put(y, CUT_ROW(last), alpha, sum, beta);
#else
    carry[PIECE_AT(t, last)] = sum;
#endif
}

KERNEL void spmv(TILE_PARAMS)
{
    const size_t item = (size_t)get_group_id(0) * WG + get_local_id(0);
    BEGIN(x, y);
    REREAD(carry);
    if (item >= tiles) {
        for (uint k = 0; k < EMPTY_EACH; k++)
            put_empty(EMPTY_ARGS((item - tiles) * EMPTY_EACH + k));
        return;
    }
    const uint tile = (uint)item, from = piece[2 * item], to = piece[2 * item + 1];
    uint n = end_at[item * WARPS];
    int crossing = from != tile;
    VEC sum = 0;
    for (uint lane = 0; lane < TILE / U; lane++) {
        const IDX at = (IDX)item * TILE + lane * U;
        uint mask = ROW_ENDS(flags[item * (TILE / U) + lane]), u = 0;
#if IDX16
        const size_t warp = item * WARPS + lane / LANES;
        const uint lowest = base[warp];
        /* these U slots are those of number nth of the tile's lanes from first on, as STREAM 1 deals them out */
        const uint first = lane % (LANES / U) * U, nth = lane % LANES / (LANES / U);
        __global const COLUMN *lows = col + warp * WARP_SLOTS + nth / TOGETHER * (TOGETHER * LANES) + first * TOGETHER + nth % TOGETHER;
#endif
#if HIGH == 2
        const size_t wide = warp;
#elif HIGH
        const uint wide = high_at[warp], has_high = high_at[warp + 1] - wide;
#endif
#if HIGH
        __global const uchar *highs = high + (size_t)wide * WARP_SLOTS + first * U + nth;
#endif
        if (!mask) { /* four sums, which need not wait for each other */
            VEC s[4] = {sum, 0, 0, 0};
            #pragma unroll
            for (; u < U; u++)
                MULADD(s[u % 4], VALUE_AT(u), X(COLUMN_AT(u)));
            sum = (s[0] + s[1]) + (s[2] + s[3]);
        }
        for (; mask; mask &= mask - 1) {
            for (const uint end = 31 - clz(mask & (0u - mask)); u <= end; u++)
                MULADD(sum, VALUE_AT(u), X(COLUMN_AT(u)));
            if (crossing)
                leave_piece(tile, from, tile, sum, tiles, PIECE_ARGS, y, alpha, beta);
            else
                put(y, ROW_OF(n), alpha, sum, beta);
            crossing = 0;
            sum = 0;
            n++;
        }
        for (; u < U; u++)
            MULADD(sum, VALUE_AT(u), X(COLUMN_AT(u)));
    }
    if (to != tile)
        leave_piece(tile, crossing ? from : tile, to, sum, tiles, PIECE_ARGS, y, alpha, beta);
}
#endif

#if CUTS && !FINISH /* compiled only where it is launched */
/* A group adds the pieces of a row that is cut. */
KERNEL void finish(TILE_PARAMS)
{
    LOCAL VEC partial[WG];
    const uint lid = (uint)get_local_id(0);
    const uint first = cut[get_group_id(0)];
    const uint last = piece[2 * (size_t)first + 1];
    VEC sum = 0;
    BEGIN(x, y);
    REREAD(carry);
    for (uint t = first + lid; t <= last; t += WG)
        sum += carry[PIECE_AT(t, last)];
    partial[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = WG / 2; d > 0; d /= 2) {
        if (lid < d)
            partial[lid] += partial[lid + d];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        put(y, CUT_ROW(last), alpha, partial[0], beta);
}
#endif
/* SPDX-License-Identifier: MIT
 * y = beta * y; with beta 0, y is not read. Launched before the parts if they can only add to y. Every program of a format has this kernel
 * as well; there, WG is the work-group of the format's kernels. */
#ifndef WG
#define WG 128
#endif
/* Elements that an item takes, as SPMV__SCALE_EACH says: a group of one item, as on CPUs, would be started for each element. */
#define SCALE_EACH (WG > 1 ? 1 : 64)

KERNEL void scale(ulong rows, VECTOR_PARAMS)
{
    const ulong first = ((ulong)get_group_id(0) * WG + get_local_id(0)) * SCALE_EACH;

    BEGIN(x, y);
    for (ulong i = first; i < first + SCALE_EACH && i < rows; i++)
        put(y, (uint)i, (VEC)0, (SUM)0, beta);
}
