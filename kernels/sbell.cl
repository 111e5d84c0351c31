/* SPDX-License-Identifier: MIT
 * sbell: sliced blocked ELLPACK. The k-th block of block row i of slice s is block ptr[s] + k * H + i, and its unit u is unit
 * ptr[s] * UNITS + (k * UNITS + u) * H + i. */
#ifndef WG
#define WG 128 // tune: 1 32 64 128 256 512
#endif
#ifndef L
#define L 1 // tune: 1 2 4 8
#endif
#ifndef H
#define H 32
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
/* With CUDA the columns of 3x3 blocks are loaded one block ahead, the first before FOLLOW (H200, f64, with 64 registers: clspmv_cantilever
 * 6.9 us, 7.9 without both; clspmv_protein 8.5, 11.4; f32 equal). */
#define BODY_FOLLOWS (OVERLAPS && SEQ == 1 && BH == 3 && BW == 3)
#define APART 1
#define SCRATCH 0
#define SYNC 0
#define PARAMS __global const VAL *restrict val, __global const OFF *restrict ptr, \
               __global const COLUMN *restrict col, __global const uint *restrict base UNUSED, ulong slices UNUSED
#define ARGS val, ptr, col, base, slices

INLINE void BODY(SUM *acc, ROW_PARAMS, PARAMS)
{
    const uint s = r / H;
    const uint i = r % H;
    const IDX begin = (IDX)ptr[s];
    const IDX end = (IDX)ptr[s + 1];
    const uint first UNUSED = BASE(base, s);
    IDX unit = (begin + lane * H) * UNITS + i;

#if BODY_FOLLOWS
    IDX b = begin + lane * H + i;
    uint c = b < end ? COL(col, b, first, BW) : PAD;
    ISSUE(c);
    FOLLOW();
    REREAD(x);
    while (b < end) {
        const IDX next = b + L * H;
        const uint next_c = next < end ? COL(col, next, first, BW) : PAD;
        add_block(acc, val, unit, H, c, 1, cols, X_ARGS);
        b = next;
        c = next_c;
        unit += L * H * UNITS;
    }
#else
    for (IDX b = begin + lane * H + i; b < end; b += L * H, unit += L * H * UNITS) {
        const uint c = COL(col, b, first, BW);
        add_block(acc, val, unit, H, c, 1, cols, X_ARGS);
    }
#endif
}
