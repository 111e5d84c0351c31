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
#define PARAMS __global const VAL *restrict val, __global const uint *restrict col, ulong width, ulong ld
#define ARGS val, col, width, ld

INLINE void BODY(VEC *acc, ROW_PARAMS, PARAMS)
{
    for (uint k = lane; k < (uint)width; k += L) {
        const uint c = col[k * (IDX)ld + r];
        if (c != PAD)
            add_block(acc, val, k * UNITS * (IDX)ld + r, (IDX)ld, c, cols, x);
    }
}
