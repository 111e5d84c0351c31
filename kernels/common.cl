/* SPDX-License-Identifier: MIT
 * What every kernel stands on. A program is common.cl, <format>.cl and, for a format that walks rows, shell.cl. The
 * kernel is spmv; a format whose groups leave sums in carries has a second one, finish, with the same parameters.
 *
 * A format that walks rows defines
 *   W         rows that one item (or one row of lanes) sums at once: a super-row
 *   APART     1: lanes of a row lie WG / L items apart, so that rows are neighbours (column-major arrays);
 *             0: lanes of a row are neighbours (row-major arrays)
 *   SCRATCH   elements of local memory that its body uses, 0: none
 *   SYNC      1: its body holds barriers: it is called by every item and guards r itself, and ends behind a barrier
 *             unless an item touches only elements w * WG + local id of the scratch
 *   PARAMS    its arrays and integers, as parameters; ARGS: as arguments
 *   BODY      the function: add to acc[0 .. W-1] what lane of L lanes finds in super-row r
 * and shell.cl does the rest. A knob is an #ifndef with a "tune:" list of its legal values. */

/* What the host chooses by the matrix; the defaults are for reading and checking this file alone. */
#ifndef VAL
#define VAL float /* an element of the matrix */
#endif
#ifndef VEC
#define VEC float /* an element of x and y, and what sums are formed in */
#endif
#ifndef OFF
#define OFF uint /* an element of a pointer array */
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

/* Every multiply-add of a body, so that one definition decides how all are rounded. */
#ifndef MULADD
#define MULADD(acc, a, b) (acc) += (a) * (b)
#endif

#define PAD 0xffffffffu
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#define UNUSED __attribute__((unused))
#define INLINE static inline UNUSED

/* Column arrays: of 32 bits, or of 16 from a base (the host sets IDX16 by the array's width). first is
 * BASE(base, group) and scale what one step of a 16-bit column means; COL is PAD for padding. */
#ifndef IDX16
#define IDX16 0
#endif
#if IDX16
#define COLUMN ushort
#define BASE(base, group) base[group]
#define COL(col, slot, first, scale) wide_column(LOAD_COL(col, slot), first, scale)
#else
#define COLUMN uint
#define BASE(base, group) 0
#define COL(col, slot, first, scale) LOAD_COL(col, slot)
#endif

INLINE uint wide_column(uint c, uint first, uint scale)
{
    return c == 0xffffu ? PAD : first + c * scale;
}

#ifndef BODY
#define BODY body
#endif

/* Loads of the matrix, which a product reads once: with NT they stay out of the first cache, which is left to x. NVIDIA
 * is the compute capability where the device is one of NVIDIA's and the compiler its own. */
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
#ifdef F64
NT_LOAD(double, "f64", "d")
#endif
#define LOAD_VAL(a, i) CAT(nt_, VAL)((a) + (i))
#define LOAD_COL(a, i) CAT(nt_, COLUMN)((a) + (i))
#define LOAD_UINT(a, i) nt_uint((a) + (i))
#else
#define LOAD_VAL(a, i) (a)[i]
#define LOAD_COL(a, i) (a)[i]
#define LOAD_UINT(a, i) (a)[i]
#endif

/* With SHUF, on the same devices, a sum over up to 32 neighbouring items goes without local memory: v of the item d
 * further. Every item of the group must be there. */
#if defined(SHUF) && SHUF && defined(NVIDIA) && NVIDIA >= 70 && WG >= 32
#define LANES_BY_SHUFFLE 32 /* steps shorter than this are shuffles */
INLINE uint shuffle_word(uint v, uint d)
{
    uint w;
    __asm__ volatile("shfl.sync.down.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(w) : "r"(v), "r"(d));
    return w;
}
INLINE VEC shuffle_down(VEC v, uint d)
{
#ifdef F64
    const uint2 w = as_uint2(v);
    return as_double((uint2)(shuffle_word(w.x, d), shuffle_word(w.y, d)));
#else
    return as_float(shuffle_word(as_uint(v), d));
#endif
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

/* What a body gets besides its own PARAMS. */
#define ROW_PARAMS uint r UNUSED, uint lane UNUSED, uint rows UNUSED, uint cols UNUSED, \
                   __global const VEC *restrict x UNUSED, __local VEC *scratch UNUSED

/* What changes from product to product: the end of every kernel's parameters. */
#define PRODUCT_PARAMS __global const VEC *restrict x UNUSED, ulong x0 UNUSED, __global VEC *restrict y UNUSED, \
                       ulong y0 UNUSED, VEC alpha UNUSED, VEC beta UNUSED

#define KERNEL __kernel __attribute__((reqd_work_group_size(WG, 1, 1)))

/* y[i] = alpha * sum + beta * y[i]; with beta 0 y is not read. */
INLINE void put(__global VEC *y, uint i, VEC alpha, VEC sum, VEC beta)
{
    VEC v = alpha * sum;
    if (beta != (VEC)0)
        MULADD(v, beta, y[i]);
    y[i] = v;
}

/* Block formats: BH x BW elements, kept as units of 1 x UW; unit u of a block is unit first + u * step of val. */
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

INLINE void load_unit(VAL *v, __global const VAL *restrict val, IDX unit)
{
#if UW == 4
    CAT(VAL, 4) t = ((__global const CAT(VAL, 4) *)val)[unit];
    v[0] = t.s0;
    v[1] = t.s1;
    v[2] = t.s2;
    v[3] = t.s3;
#elif UW == 2
    CAT(VAL, 2) t = ((__global const CAT(VAL, 2) *)val)[unit];
    v[0] = t.s0;
    v[1] = t.s1;
#else
    for (uint j = 0; j < UW; j++)
        v[j] = val[unit * UW + j];
#endif
}

/* Adds the product of the block whose first column is c; the columns of a last block may end beyond the matrix. */
INLINE void add_block(VEC *acc, __global const VAL *restrict val, IDX first, IDX step, uint c, uint cols,
                      __global const VEC *restrict x)
{
    VEC xs[BW];
    #pragma unroll
    for (uint j = 0; j < BW; j++)
        xs[j] = j < cols - c ? x[(size_t)c + j] : (VEC)0;
    #pragma unroll
    for (uint i = 0; i < BH; i++) {
        #pragma unroll
        for (uint u = 0; u < ROW_UNITS; u++) {
            VAL v[UW];
            load_unit(v, val, first + (i * ROW_UNITS + u) * step);
            #pragma unroll
            for (uint j = 0; j < UW; j++)
                MULADD(acc[i], (VEC)v[j], xs[u * UW + j]);
        }
    }
}
