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
/* vectors that an item multiplies at once, in all formats but coo and tcsr. They lie side by side, so that an element of all of them is a
 * SUM, which is also what sums are formed in: each component gets the bits that a vector alone would. */
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
