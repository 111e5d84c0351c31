/* SPDX-License-Identifier: MIT
 * cmrs: strips of HEIGHT rows walked by L lanes, each lane with HEIGHT sums of its own (Koza et al. 2013, algorithm 1):
 * in local memory, or with STAGE 0 in its own, one row's in a register while its entries follow each other: for CPUs.
 * ALIGN 1 begins at the slot before the strip that L divides; in the first trip the lanes before the strip are idle, and
 * every load after it is aligned (Koza 4, the third optimization: "first accessing the non-aligned portion of a strip and
 * then accessing the remaining, aligned portion"). It does not pay on today's GPUs (H200, f64, speed over ALIGN 0 with strips of
 * 4 and 16 rows: clspmv_qcd 1.03 and 0.83, clspmv_cantilever 0.93 and 0.61, clspmv_epidemiology 0.91 and 0.97), so it is no
 * default. A strip is the shell's block row. */
#ifndef WG
#define WG 128 // tune: 32 64 128 256 512
#endif
#ifndef L
#define L 32 // tune: 1 2 4 8 16 32 64
#endif
#ifndef STAGE
#define STAGE 1 // tune: 0 1
#endif
#ifndef ALIGN
#define ALIGN 0 // tune: 0 1
#endif
#ifndef UNROLL
#define UNROLL 1 // tune: 1 2 4
#endif
#ifndef SEQ
#define SEQ 1 // tune: 1 4 16
#endif
#ifndef NT
#define NT 0 // tune: 0 1
#endif
#ifndef HEIGHT
#define HEIGHT 4
#endif
#ifndef PACKED
#define PACKED 1 /* index holds column * 16 + row; 0: the column, and row the row in the strip */
#endif
#define W HEIGHT
#define APART 0
#define SYNC 0
#if STAGE
#define SCRATCH (HEIGHT * WG)
#else
#define SCRATCH 0
#endif
#define PARAMS __global const VAL *restrict val, __global const OFF *restrict ptr, \
               __global const uint *restrict index, __global const uchar *restrict row UNUSED
#define ARGS val, ptr, index, row

INLINE void BODY(VEC *acc, ROW_PARAMS, PARAMS)
{
    const IDX end = (IDX)ptr[(size_t)r + 1];
    IDX k = (IDX)ptr[r];
#if STAGE
    __local VEC *mine = scratch + get_local_id(0);

    for (uint w = 0; w < HEIGHT; w++)
        mine[w * WG] = 0;
#else
    uint now = 0;
    VEC sum = 0;
#endif
#if ALIGN
    const IDX begin = k;

    k = begin / L * L + lane;
#else
    k += lane;
#endif
#if UNROLL > 1
    #pragma unroll UNROLL
#endif
    for (; k < end; k += L) {
#if ALIGN
        if (k < begin) /* only in the first trip */
            continue;
#endif
#if PACKED
        const uint i = LOAD_UINT(index, k) & 15u;
        const uint c = LOAD_UINT(index, k) >> 4;
#else
        const uint i = row[k];
        const uint c = LOAD_UINT(index, k);
#endif
#if STAGE
        MULADD(mine[i * WG], (VEC)LOAD_VAL(val, k), X(c));
#else
        if (i != now) {
            acc[now] += sum;
            sum = 0;
            now = i;
        }
        MULADD(sum, (VEC)LOAD_VAL(val, k), X(c));
#endif
    }
#if STAGE
    #pragma unroll
    for (uint w = 0; w < HEIGHT; w++)
        acc[w] += mine[w * WG];
#else
    acc[now] += sum;
#endif
}
