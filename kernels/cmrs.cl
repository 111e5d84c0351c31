/* SPDX-License-Identifier: MIT
 * cmrs: strips of HEIGHT rows, each walked by L lanes; the shell sees a strip as a block row. Each lane has HEIGHT sums of its own
 * (Koza et al. 2013, algorithm 1). STAGE 1 keeps them in local memory. STAGE 0 (for CPUs) keeps them in private memory, and the
 * sum of a row in a register as long as the lane meets only entries of this row.
 * ALIGN 1 begins at the last multiple of L at or before the strip's first slot, so that all loads are aligned; in the first trip
 * the lanes before the strip are idle (Koza 4, the third optimization: "first accessing the non-aligned portion of a strip and
 * then accessing the remaining, aligned portion"). It is not a default because it does not pay on current GPUs: on an H200 in f64
 * its speed relative to ALIGN 0, with strips of 4 and 16 rows, is 1.03 and 0.83 for clspmv_qcd, 0.93 and 0.61 for
 * clspmv_cantilever, 0.91 and 0.97 for clspmv_epidemiology. */
#ifndef WG
#define WG 128 // tune: 1 32 64 128 192 256 320 384 448 512
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
#define SEQ 1 // tune: 0 1 4 16
#endif
#ifndef NT
#define NT 0 // tune: 0 1
#endif
#ifndef HEIGHT
#define HEIGHT 4
#endif
#ifndef PACKED
#define PACKED 1 /* index holds column * 16 + row within the strip; 0: index holds the column and row the row within the strip */
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

INLINE void BODY(SUM *acc, ROW_PARAMS, PARAMS)
{
    const IDX end = (IDX)ptr[(size_t)r + 1];
    IDX k = (IDX)ptr[r];
#if STAGE
    __local SUM *mine = scratch + get_local_id(0);

    for (uint w = 0; w < HEIGHT; w++)
        mine[w * WG] = 0;
#else
    uint now = 0;
    SUM sum = 0;
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
        MULADD(mine[i * WG], VALUE(LOAD_VAL(val, k)), X(c));
#else
        if (i != now) {
            acc[now] += sum;
            sum = 0;
            now = i;
        }
        MULADD(sum, VALUE(LOAD_VAL(val, k)), X(c));
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
