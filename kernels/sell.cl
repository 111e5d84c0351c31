/* SPDX-License-Identifier: MIT
 * sell: sliced ELLPACK. The k-th entry of row i of slice s lies at ptr[s] + k * height + i. An item takes V rows, as in ell.
 * STAGE 1 loads the slice pointers to local memory (clSpMV 4.3.2). */
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
#ifndef STAGE
#define STAGE 0 // tune: 0 1
#endif
#ifndef H
#define H 32 /* slice height, a multiple of V; 0: slices of varying height, slice s begins at row slice_row[s], and V is 1 */
#endif
#ifndef SEQ
#define SEQ 1 // tune: 0 1
#endif
#ifndef NT
#define NT 0 // tune: 0 1
#endif
#define W V
#define APART 1
#define SYNC STAGE
#define ROWS (WG / L * V) /* the rows of a group */
#if STAGE
/* The most entries of ptr and of slice_row that the slices of a group need. The scratch has 8 bytes for each of either. */
#if H
#define SLOTS (ROWS / H + 3)
#else
#define SLOTS (ROWS + 2)
#endif
#define SCRATCH (4 * SLOTS)
#else
#define SCRATCH 0
#endif
#define PARAMS __global const VAL *restrict val, __global const OFF *restrict ptr, \
               __global const COLUMN *restrict col, __global const uint *restrict slice_row UNUSED, \
               __global const uint *restrict base UNUSED, ulong slices UNUSED
#define ARGS val, ptr, col, slice_row, base, slices

/* Sets low to the last of the slices low .. above - 1 that begins at or before row r. */
#define FIND_SLICE(low, above, r, slice_row) \
    for (uint top_ = (above); top_ - (low) > 1;) { \
        const uint middle_ = (low) + (top_ - (low)) / 2; \
        if ((slice_row)[middle_] <= (r)) \
            (low) = middle_; \
        else \
            top_ = middle_; \
    }

INLINE void BODY(SUM *acc, ROW_PARAMS, PARAMS)
{
    SUM sum[V] = { 0 };
#if STAGE
    __local ulong *end_of = (__local ulong *)scratch;
    __local uint *row_of UNUSED = (__local uint *)(end_of + SLOTS);
    const uint lid = (uint)get_local_id(0);
    const uint top = (uint)((ulong)get_group_id(0) * ROWS);
    const int mine = (ulong)r * V < rows;
#if H
    const uint begin = top / H;
#else
    uint begin = 0;
    FIND_SLICE(begin, (uint)slices, top, slice_row)
#endif
    for (uint i = lid; i < SLOTS; i += WG) {
        end_of[i] = ptr[min(begin + i, (uint)slices)];
#if !H
        row_of[i] = slice_row[min(begin + i, (uint)slices)];
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#if H
    const uint s = mine ? r * V / H - begin : 0;
    const uint height = H;
    const uint i = r * V % H;
#else
    uint s = 0;
    FIND_SLICE(s, min((uint)slices - begin, (uint)SLOTS - 1), r, row_of)
    const uint height = row_of[s + 1] - row_of[s];
    const uint i = r - row_of[s];
#endif
    const IDX start = (IDX)end_of[s];
    const IDX end = mine ? (IDX)end_of[s + 1] : start;
    const uint first UNUSED = BASE(base, begin + s);
    barrier(CLK_LOCAL_MEM_FENCE);
#else
#if H
    const uint s = r * V / H;
    const uint height = H;
    const uint i = r * V % H;
#else
    uint s = 0;
    FIND_SLICE(s, (uint)slices, r, slice_row)
    const uint height = slice_row[s + 1] - slice_row[s];
    const uint i = r - slice_row[s];
#endif
    const IDX start = (IDX)ptr[s];
    const IDX end = (IDX)ptr[s + 1];
    const uint first UNUSED = BASE(base, s);
#endif

    const uint width = (uint)((end - start) / height);
    if (lane < width)
        add_slabs(sum, val, col, start + i + lane * height, L * height, (width - lane + L - 1) / L, first, X_ARGS);
    #pragma unroll
    for (uint w = 0; w < V; w++)
        acc[w] += sum[w];
}
