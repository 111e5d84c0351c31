/* SPDX-License-Identifier: MIT
 * ell: ELLPACK; k-th entry of row r at k * ld + r. */
#ifndef WG
#define WG 128 // tune: 32 64 128 256 512
#endif
#ifndef L
#define L 1 // tune: 1 2 4 8
#endif
#define W 1
#define APART 1
#define SCRATCH 0
#define SYNC 0
#define PARAMS __global const VAL *restrict val, __global const COLUMN *restrict col, \
               __global const uint *restrict base UNUSED, ulong width, ulong ld
#define ARGS val, col, base, width, ld

INLINE void BODY(VEC *acc, ROW_PARAMS, PARAMS)
{
    const uint first UNUSED = BASE(base, r / 32);
    VEC sum = 0;

    for (uint k = lane; k < (uint)width; k += L) {
        const IDX slot = k * (IDX)ld + r;
        const uint c = COL(col, slot, first, 1);
        if (c != PAD)
            MULADD(sum, (VEC)val[slot], x[c]);
    }
    acc[0] += sum;
}
