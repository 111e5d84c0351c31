/* SPDX-License-Identifier: MIT
 * csr: compressed sparse rows. L 1 is one item a row ("scalar"), L 32 is a warp a row ("vector"). */
#ifndef WG
#define WG 128 // tune: 32 64 128 256 512
#endif
#ifndef L
#define L 1 // tune: 1 2 4 8 16 32 64
#endif
#define W 1
#define APART 0
#define SCRATCH 0
#define SYNC 0
#define PARAMS __global const VAL *restrict val, __global const OFF *restrict ptr, __global const uint *restrict col
#define ARGS val, ptr, col

INLINE void BODY(VEC *acc, ROW_PARAMS, PARAMS)
{
    const IDX end = (IDX)ptr[(size_t)r + 1];
    VEC sum = 0;

    for (IDX k = (IDX)ptr[r] + lane; k < end; k += L)
        MULADD(sum, (VEC)val[k], x[col[k]]);
    acc[0] += sum;
}
