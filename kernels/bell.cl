/* SPDX-License-Identifier: MIT
 * bell: blocked ELLPACK (clSpMV 4.4.1). Unit u of the k-th block of block row s is unit (k * UNITS + u) * ld + s. An item takes V
 * adjacent block rows: many on CPUs, since the units of one block row lie far apart in memory. */
#ifndef WG
#define WG 128 // tune: 1 32 64 128 256 512
#endif
#ifndef L
#define L 1 // tune: 1 2 4 8
#endif
#ifndef ZERO
#define ZERO 0 // tune: 0 1
#endif
#ifndef SEQ
#define SEQ 1 // tune: 0 1 4 16
#endif
#ifndef NT
#define NT 0 // tune: 0 1
#endif
#ifndef V
#define V 1 // tune: 1 4 16 32
#endif
#define W (BH * V)
/* With CUDA the columns of blocks of 36 elements are loaded one block ahead, the first before FOLLOW. */
#define BODY_FOLLOWS (OVERLAPS && SEQ == 1 && V == 1 && BH * BW == 36)
#define APART 1
#define SCRATCH 0
#define SYNC 0
#define PARAMS __global const VAL *restrict val, __global const COLUMN *restrict col, \
               __global const uint *restrict base UNUSED, ulong width, ulong ld
#define ARGS val, col, base, width, ld

INLINE void BODY(SUM *acc, ROW_PARAMS, PARAMS)
{
    const uint first UNUSED = BASE(base, r / (32 / V));

#if BODY_FOLLOWS
    uint k = lane;
    uint c = k < (uint)width ? COL(col, k * (IDX)ld + r, first, BW) : PAD;
    ISSUE(c);
    FOLLOW();
    REREAD(x);
    while (k < (uint)width) {
        const uint next = k + L;
        const uint next_c = next < (uint)width ? COL(col, next * (IDX)ld + r, first, BW) : PAD;
        add_block(acc, val, k * UNITS * (IDX)ld + r, (IDX)ld, c, 1, cols, X_ARGS);
        k = next;
        c = next_c;
    }
#else
    for (uint k = lane; k < (uint)width; k += L) {
#if V <= 4
        #pragma unroll
#endif
        for (uint v = 0; v < V; v++) {
            const uint s = r * V + v;
            const uint c = COL(col, k * (IDX)ld + s, first, BW);
            add_block(acc + v * BH, val, k * UNITS * (IDX)ld + s, (IDX)ld, c, 1, cols, X_ARGS);
        }
    }
#endif
}
