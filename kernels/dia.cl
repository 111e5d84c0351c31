/* SPDX-License-Identifier: MIT
 * dia: diagonals. The element of diagonal d in a row lies at d * ld + row; its column is row + offset[d]. An item takes V rows: 1 or
 * 4 (clSpMV 4.2.1), and 8 or 16 for CPUs. */
#ifndef WG
#define WG 128 // tune: 1 32 64 128 256 512
#endif
#ifndef L
#define L 1 // tune: 1 2 4 8
#endif
#ifndef V
#define V 1 // tune: 1 4 8 16
#endif
#ifndef UNROLL
#define UNROLL 1 // tune: 1 2 4
#endif
#ifndef ZERO
#define ZERO 0 // tune: 0 1
#endif
#ifndef SEQ
#define SEQ 1 // tune: 0 1
#endif
#ifndef NT
#define NT 0 // tune: 0 1
#endif
#define W V
#define APART 1
#define SCRATCH 0
#define SYNC 0
#define PARAMS __global const VAL *restrict val, __global const int *restrict offset, ulong diagonals, ulong ld
#define ARGS val, offset, diagonals, ld

INLINE void BODY(SUM *acc, ROW_PARAMS, PARAMS)
{
    SUM sum[V] = { 0 };

#if UNROLL > 1
    #pragma unroll UNROLL
#endif
    for (uint d = lane; d < (uint)diagonals; d += L)
        add_diagonal(sum, val + (d * (IDX)ld + (IDX)r * V), (long)r * V + offset[d], cols, X_ARGS);
    #pragma unroll
    for (uint w = 0; w < V; w++)
        acc[w] += sum[w];
}
