/* SPDX-License-Identifier: MIT
 * bcsr: blocked CSR. Unit u of block b is unit u * blocks + b. */
#ifndef WG
#define WG 128 // tune: 1 32 64 128 256 512
#endif
#ifndef L
#define L 1 // tune: 1 2 4 8 16 32 64
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
#define W BH
#define APART 0
#define SCRATCH 0
#define SYNC 0
#define PARAMS __global const VAL *restrict val, __global const OFF *restrict ptr, \
               __global const COLUMN *restrict col, __global const uint *restrict base UNUSED, ulong blocks
#define ARGS val, ptr, col, base, blocks

INLINE void BODY(VEC *acc, ROW_PARAMS, PARAMS)
{
    const IDX end = (IDX)ptr[(size_t)r + 1];
    const uint first UNUSED = BASE(base, r / 32);

    for (IDX b = (IDX)ptr[r] + lane; b < end; b += L) {
        const uint c = COL(col, b, first, BW);
        add_block(acc, val, b, (IDX)blocks, c, 0, cols, X_ARGS);
    }
}
