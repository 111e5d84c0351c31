/* SPDX-License-Identifier: MIT
 * cmrs: strips of HEIGHT rows walked by L lanes, each lane with HEIGHT sums of its own in local memory (Koza et al.
 * 2013, algorithm 1). A strip is the shell's super-row. */
#ifndef WG
#define WG 128 // tune: 32 64 128 256 512
#endif
#ifndef L
#define L 32 // tune: 1 2 4 8 16 32 64
#endif
#ifndef HEIGHT
#define HEIGHT 4
#endif
#ifndef PACKED
#define PACKED 1 /* index holds column * 16 + row; 0: the column, and row the row in the strip */
#endif
#define W HEIGHT
#define APART 0
#define SCRATCH (HEIGHT * WG)
#define SYNC 0
#define PARAMS __global const VAL *restrict val, __global const OFF *restrict ptr, \
               __global const uint *restrict index, __global const uchar *restrict row UNUSED
#define ARGS val, ptr, index, row

INLINE void BODY(VEC *acc, ROW_PARAMS, PARAMS)
{
    __local VEC *mine = scratch + get_local_id(0);
    const IDX end = (IDX)ptr[(size_t)r + 1];

    for (uint w = 0; w < HEIGHT; w++)
        mine[w * WG] = 0;
    for (IDX k = (IDX)ptr[r] + lane; k < end; k += L) {
#if PACKED
        const uint i = index[k] & 15u;
        const uint c = index[k] >> 4;
#else
        const uint i = row[k];
        const uint c = index[k];
#endif
        MULADD(mine[i * WG], (VEC)val[k], x[c]);
    }
    #pragma unroll
    for (uint w = 0; w < HEIGHT; w++)
        acc[w] += mine[w * WG];
}
