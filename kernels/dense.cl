/* SPDX-License-Identifier: MIT
 * dense: every element, row by row. L lanes share a row. For CPUs, each lane takes V adjacent elements at a time, with a vector of
 * sums, and several rows one after another (SEQ). */
#ifndef WG
#define WG 128 // tune: 1 32 64 128 256 512
#endif
#ifndef L
#define L 32 // tune: 1 2 4 8 16 32 64
#endif
#ifndef V
#define V 1 // tune: 1 4 8 16
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
#define W 1
#define APART 0
#define SCRATCH 0
#define SYNC 0
#define PARAMS __global const VAL *restrict val
#define ARGS val

INLINE void BODY(SUM *acc, ROW_PARAMS, PARAMS)
{
    __global const VAL *row = val + (IDX)r * cols;
    const uint whole = cols / (L * V) * (L * V); /* the columns after these are taken one by one */
    SUM sum[V] = { 0 };
#if BY_VECTORS
    VECTOR_V sums = 0;
    for (IDX c = lane * V; c < whole; c += L * V)
        sums = sum_of_vectors(sums, row + c, x + c);
    CAT(vstore, V)(sums, 0, sum);
#else
    for (IDX c = lane * V; c < whole; c += L * V) {
        #pragma unroll
        for (uint w = 0; w < V; w++)
            if (WANTED(LOAD_VAL(row, c + w)))
                MULADD(sum[w], VALUE(LOAD_VAL(row, c + w)), X(c + w));
    }
#endif
    for (IDX c = (IDX)whole + lane; c < cols; c += L)
        if (WANTED(LOAD_VAL(row, c)))
            MULADD(sum[0], VALUE(LOAD_VAL(row, c)), X(c));
    #pragma unroll
    for (uint d = V / 2; d > 0; d /= 2)
        for (uint w = 0; w < d; w++)
            sum[w] += sum[w + d];
    acc[0] += sum[0];
}
