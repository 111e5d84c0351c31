/* SPDX-License-Identifier: MIT
 * dia: diagonals; element (d, row) at d * ld + row, its column row + offset[d]. */
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
#define PARAMS __global const VAL *restrict val, __global const int *restrict offset, ulong diagonals, ulong ld
#define ARGS val, offset, diagonals, ld

INLINE void BODY(VEC *acc, ROW_PARAMS, PARAMS)
{
    VEC sum = 0;

    for (uint d = lane; d < (uint)diagonals; d += L) {
        const long c = (long)r + offset[d];
        if (c >= 0 && c < (long)cols)
            MULADD(sum, (VEC)val[d * (IDX)ld + r], x[c]);
    }
    acc[0] += sum;
}
