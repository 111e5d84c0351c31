/* SPDX-License-Identifier: MIT
 * bell: blocked ELLPACK; unit u of the k-th block of super-row s is unit (k * UNITS + u) * ld + s. */
#ifndef WG
#define WG 128 // tune: 32 64 128 256 512
#endif
#ifndef L
#define L 1 // tune: 1 2 4 8
#endif
#define W BH
#define APART 1
#define SCRATCH 0
#define SYNC 0
#define PARAMS __global const VAL *restrict val, __global const COLUMN *restrict col, \
               __global const uint *restrict base UNUSED, ulong width, ulong ld
#define ARGS val, col, base, width, ld

INLINE void BODY(VEC *acc, ROW_PARAMS, PARAMS)
{
    const uint first UNUSED = BASE(base, r / 32);

    for (uint k = lane; k < (uint)width; k += L) {
        const uint c = COL(col, k * (IDX)ld + r, first, BW);
        if (c != PAD)
            add_block(acc, val, k * UNITS * (IDX)ld + r, (IDX)ld, c, cols, x);
    }
}
