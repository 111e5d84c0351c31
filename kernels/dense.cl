/* SPDX-License-Identifier: MIT
 * dense: every element, by rows. */
#ifndef WG
#define WG 128 // tune: 32 64 128 256 512
#endif
#ifndef L
#define L 32 // tune: 1 2 4 8 16 32 64
#endif
#define W 1
#define APART 0
#define SCRATCH 0
#define SYNC 0
#define PARAMS __global const VAL *restrict val
#define ARGS val

INLINE void BODY(VEC *acc, ROW_PARAMS, PARAMS)
{
    const IDX first = (IDX)r * cols;
    VEC sum = 0;

    for (IDX c = lane; c < cols; c += L)
        MULADD(sum, (VEC)val[first + c], x[c]);
    acc[0] += sum;
}
