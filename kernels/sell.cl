/* SPDX-License-Identifier: MIT
 * sell: sliced ELLPACK; k-th entry of row i of slice s at ptr[s] + k * height + i. */
#ifndef WG
#define WG 128 // tune: 32 64 128 256 512
#endif
#ifndef L
#define L 1 // tune: 1 2 4 8
#endif
#ifndef H
#define H 32 /* slice height; 0: slice s begins at row slice_row[s] */
#endif
#define W 1
#define APART 1
#define SCRATCH 0
#define SYNC 0
#define PARAMS __global const VAL *restrict val, __global const OFF *restrict ptr, \
               __global const COLUMN *restrict col, __global const uint *restrict slice_row UNUSED, \
               __global const uint *restrict base UNUSED, ulong slices UNUSED
#define ARGS val, ptr, col, slice_row, base, slices

INLINE void BODY(VEC *acc, ROW_PARAMS, PARAMS)
{
#if H
    const uint s = r / H;
    const uint height = H;
    const uint i = r % H;
#else
    uint s = 0;
    for (uint above = (uint)slices; above - s > 1;) { /* slice_row[s] <= r < slice_row[above] */
        const uint middle = s + (above - s) / 2;
        if (slice_row[middle] <= r)
            s = middle;
        else
            above = middle;
    }
    const uint height = slice_row[s + 1] - slice_row[s];
    const uint i = r - slice_row[s];
#endif
    const IDX end = (IDX)ptr[s + 1];
    const uint first UNUSED = BASE(base, s);
    VEC sum = 0;

    for (IDX slot = (IDX)ptr[s] + i + lane * height; slot < end; slot += L * height) {
        const uint c = COL(col, slot, first, 1);
        if (c != PAD)
            MULADD(sum, (VEC)val[slot], x[c]);
    }
    acc[0] += sum;
}
