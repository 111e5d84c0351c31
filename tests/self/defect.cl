/* SPDX-License-Identifier: MIT
 * tests/lint.sh must refuse the lines marked so, and no others: the first ones for their text, the rest by a compiler, each in only one
 * of the configurations that lint tries. */
#ifndef WG
#define WG 64
#endif
#ifndef V
#define V 1 // tune: 1 4 8
#endif
#ifndef MODE
#define MODE 0 // lint: MODE=3
#endif
KERNEL void planted(__global float *y, __global const COLUMN *col, uint n) /* refused */
{
    __local float t[64];
    const uint group = (uint)get_group_id(0);
    const ulong fine = (ulong)get_group_id(0) * 64 + get_local_id(0);
    t[get_local_id(0)] = y[fine] + (float)col[n];
    if (n > 1) {
        barrier(CLK_LOCAL_MEM_FENCE); /* refused */
    }
    if (n > 2)
        barrier(CLK_LOCAL_MEM_FENCE); /* refused */
    y[get_group_id(0) * 64] = 1; /* refused */
    y[group * 64] = 1; /* refused */
    y[(size_t)group * 64] = mad(t[0], t[1], t[2]); /* refused */
#if V == 8
    y[0] = t; /* refused */
#endif
#if V == 4 && defined(__NVPTX__)
    y[1] = no_such_function(n); /* refused */
#endif
#if V == 4 && !defined(__NVPTX__)
    y[2] = (float4)(1, 2, 3); /* refused */
#endif
#if MODE == 3
    uint unused = n; /* refused */
#endif
#if LIST
    y[3] = y[n; /* refused */
#endif
#ifdef F64
    y[4] = (VEC4)n; /* refused */
#endif
#if I64
    y += y; /* refused */
#endif
#if IDX16
    uint *wide = col; /* refused */
#endif
#ifdef NVIDIA
    const uint n = 3; /* refused */
#endif
}
