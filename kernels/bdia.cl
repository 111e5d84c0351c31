/* SPDX-License-Identifier: MIT
 * bdia: bands of adjacent diagonals. Rows of a group need neighbouring elements of x, so that a tile of x in local
 * memory serves up to WG diagonals at a time (clSpMV 4.2.2). */
#ifndef WG
#define WG 128 // tune: 32 64 128 256 512
#endif
#ifndef L
#define L 1 // tune: 1 2 4 8
#endif
#ifndef STAGE
#define STAGE 1 // tune: 0 1
#endif
#define W 1
#define APART 1
#if STAGE
#define SYNC 1
#define SCRATCH (WG + WG / L)
#else
#define SYNC 0
#define SCRATCH 0
#endif
#define PARAMS __global const VAL *restrict val, __global const int *restrict offset, \
               __global const uint *restrict band_ptr, ulong bands, ulong ld
#define ARGS val, offset, band_ptr, bands, ld

#if STAGE
INLINE void BODY(VEC *acc, ROW_PARAMS, PARAMS)
{
    const uint lid = (uint)get_local_id(0);
    const uint own = lid % (WG / L);
    const long top = (long)((ulong)get_group_id(0) * (WG / L)); /* the group's first row */
    VEC sum = 0;

    for (uint b = 0; b < (uint)bands; b++) {
        const uint end = band_ptr[b + 1];
        long column = top + offset[b]; /* of row top in the diagonal that follows */
        for (uint first = band_ptr[b]; first < end; first += WG, column += WG) {
            const uint count = min(end - first, (uint)WG);
            for (uint i = lid; i < WG + WG / L; i += WG) {
                const long c = column + i;
                scratch[i] = i < count + WG / L && c >= 0 && c < (long)cols ? x[c] : (VEC)0;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            if (r < rows)
                for (uint d = lane; d < count; d += L)
                    MULADD(sum, (VEC)val[(first + d) * (IDX)ld + r], scratch[own + d]);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
    acc[0] += sum;
}
#else
INLINE void BODY(VEC *acc, ROW_PARAMS, PARAMS)
{
    VEC sum = 0;

    for (uint b = 0; b < (uint)bands; b++) {
        const uint first = band_ptr[b];
        const uint count = band_ptr[b + 1] - first;
        for (uint d = lane; d < count; d += L) {
            const long c = (long)r + offset[b] + d;
            if (c >= 0 && c < (long)cols)
                MULADD(sum, (VEC)val[(first + d) * (IDX)ld + r], x[c]);
        }
    }
    acc[0] += sum;
}
#endif
