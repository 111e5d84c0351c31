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
#define PARAMS __global const VAL *restrict val, __global const uint *restrict col, ulong width, ulong ld
#define ARGS val, col, width, ld

INLINE void BODY(VEC *acc, ROW_PARAMS, PARAMS)
{
    VEC sum = 0;

    for (uint k = lane; k < (uint)width; k += L) {
        const IDX slot = k * (IDX)ld + r;
        const uint c = col[slot];
        if (c != PAD)
            sum += (VEC)val[slot] * x[c];
    }
    acc[0] += sum;
}
