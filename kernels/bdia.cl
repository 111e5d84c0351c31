/* SPDX-License-Identifier: MIT
 * bdia: bands of adjacent diagonals. The rows of a group need adjacent elements of x, so a tile of x in local memory serves up to WG
 * diagonals at a time (STAGE 1; clSpMV 4.2.2). An item takes V rows, as in dia. */
#ifndef WG
#define WG 128 // tune: 1 32 64 128 256 512
#endif
#ifndef L
#define L 1 // tune: 1 2 4 8
#endif
#ifndef V
#define V 1 // tune: 1 4 8 16
#endif
#ifndef STAGE
#define STAGE 1 // tune: 0 1
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
#define ROWS (WG / L * V) /* the rows of a group */
#if STAGE
#define SYNC 1
#define SCRATCH (WG + ROWS)
#else
#define SYNC 0
#define SCRATCH 0
#endif
#define PARAMS __global const VAL *restrict val, __global const int *restrict offset, \
               __global const uint *restrict band_ptr, ulong bands, ulong ld
#define ARGS val, offset, band_ptr, bands, ld

INLINE void BODY(SUM *acc, ROW_PARAMS, PARAMS)
{
    SUM sum[V] = { 0 };
#if STAGE
    const uint lid = (uint)get_local_id(0);
    __local const SUM *own = scratch + lid % (WG / L) * V;
    const int mine = (ulong)r * V < rows;
    const long top = (long)((ulong)get_group_id(0) * ROWS); /* the group's first row */

    for (uint b = 0; b < (uint)bands; b++) {
        const uint end = band_ptr[b + 1];
        long column = top + offset[b]; /* the column of row top in diagonal first */
        for (uint first = band_ptr[b]; first < end; first += WG, column += WG) {
            const uint count = min(end - first, (uint)WG);
            for (uint i = lid; i < WG + ROWS; i += WG) {
                const long c = column + i;
                scratch[i] = i < count + ROWS && c >= 0 && c < (long)cols ? X(c) : (SUM)0;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (mine)
                for (uint d = lane; d < count; d += L) {
                    const IDX slot = (first + d) * (IDX)ld + (IDX)r * V;
                    VAL v[V];
                    load_rows(v, val + slot);
                    #pragma unroll
                    for (uint w = 0; w < V; w++)
                        if (WANTED(v[w]))
                            MULADD(sum[w], VALUE(v[w]), own[d + w]);
                }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
#else
    for (uint b = 0; b < (uint)bands; b++) {
        const uint first = band_ptr[b];
        const uint count = band_ptr[b + 1] - first;
        const long column = (long)r * V + offset[b];
#if V == 1
        /* the diagonals of the band that have an element in this row, so that no load depends on a test */
        const uint left = column >= 0 ? 0 : -column < (long)count ? (uint)-column : count;
        const uint right = column + count <= (long)cols ? count : column < (long)cols ? (uint)((long)cols - column) : 0;
        for (uint d = left + lane; d < right; d += L) {
            const VAL v = LOAD_VAL(val, (first + d) * (IDX)ld + r);
            if (WANTED(v))
                MULADD(sum[0], VALUE(v), X(column + d));
        }
#else
        for (uint d = lane; d < count; d += L)
            add_diagonal(sum, val + ((first + d) * (IDX)ld + (IDX)r * V), column + d, cols, X_ARGS);
#endif
    }
#endif
    #pragma unroll
    for (uint w = 0; w < V; w++)
        acc[w] += sum[w];
}
