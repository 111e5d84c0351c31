/* SPDX-License-Identifier: MIT
 * ell: ELLPACK. The k-th entry of row r lies at k * ld + r; if ld is 1, at r * width + k (Kuresson), with V=1. An item takes V rows: 1
 * as in Bell and Garland, 4 with vector loads (clSpMV 4.3.1, for AMD), and 8 or 16 for CPUs, to fill their vector registers. */
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
#define UNROLL 1 // tune: 1 2 4 8
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
#define PARAMS __global const VAL *restrict val, __global const COLUMN *restrict col, \
               __global const uint *restrict base UNUSED, ulong width, ulong ld
#define ARGS val, col, base, width, ld

INLINE void BODY(SUM *acc, ROW_PARAMS, PARAMS)
{
    const uint first UNUSED = BASE(base, r / (32 / V));
    const IDX slot = ld == 1 ? r * (IDX)width + lane : lane * (IDX)ld + r * V;
    SUM sum[V] = { 0 };

    if (lane < (uint)width)
        add_slabs(sum, val, col, slot, L * (IDX)ld, ((uint)width - lane + L - 1) / L, first, X_ARGS);
    #pragma unroll
    for (uint w = 0; w < V; w++)
        acc[w] += sum[w];
}
