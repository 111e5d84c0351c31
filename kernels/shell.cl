/* SPDX-License-Identifier: MIT
 * The shell of every format that walks rows: it assigns block rows to items, adds the sums of the lanes in a fixed order, and
 * stores y by the row list, alpha and beta. Every item reaches every barrier. */
#ifndef OWN_SHELL /* defined by a format with a shell of its own */
#define GROUP_ROWS (WG / L)
#ifndef SEQ
#define SEQ 1 /* the number of block rows that an item takes one after another; 0: its share of all, as many as the others */
#endif
#if APART
#define STEP GROUP_ROWS
#else
#define STEP 1
#endif

#ifndef BODY_FOLLOWS
#define BODY_FOLLOWS 0 /* 1: the body calls FOLLOW and REREAD(x) itself, behind its first loads of the matrix */
#endif

#if L > 1 && L <= LANES_BY_SHUFFLE && !APART
#define BY_SHUFFLE 1 /* the lanes of a row are in one warp, which adds their sums without barriers, in the same order */
#else
#define BY_SHUFFLE 0
#endif

#if L > 1 && !BY_SHUFFLE && SCRATCH < W * WG
#define SCRATCH_SIZE (W * WG)
#else
#define SCRATCH_SIZE SCRATCH
#endif

/* 1: an item without lanes beside it stores its rows of y as a vector, where y is aligned. */
#if defined(NVIDIA) && !LIST && L == 1 && (W == 2 || W == 4) && VECTORS == 1
#define VECTOR_PUT 1
#if W == 2
#define VECTOR_W CAT(VEC, 2)
#else
#define VECTOR_W CAT(VEC, 4)
#endif
INLINE void put_vector(__global VEC *y, VEC alpha, const VEC *sum, VEC beta)
{
    __global VECTOR_W *at = (__global VECTOR_W *)y;
#if W == 2
    VECTOR_W v = VECTOR2(VEC, 0, 0);
#else
    VECTOR_W v = VECTOR4(VEC, 0, 0, 0, 0);
#endif
    if (beta != (VEC)0) {
        v = *at;
        v.s0 = scaled(beta, v.s0);
        v.s1 = scaled(beta, v.s1);
#if W == 4
        v.s2 = scaled(beta, v.s2);
        v.s3 = scaled(beta, v.s3);
#endif
    }
    v.s0 = plus(v.s0, alpha, sum[0]);
    v.s1 = plus(v.s1, alpha, sum[1]);
#if W == 4
    v.s2 = plus(v.s2, alpha, sum[2]);
    v.s3 = plus(v.s3, alpha, sum[3]);
#endif
    *at = v;
}
#elif CPU && !LIST && L == 1 && W > 1 && VECTORS == 1
#define VECTOR_PUT 1
INLINE void put_vector(__global VEC *y, VEC alpha, const VEC *sum, VEC beta)
{
    if (beta == (VEC)0) {
        #pragma unroll
        for (uint w = 0; w < W; w++)
            y[w] = plus(0, alpha, sum[w]);
    } else {
        #pragma unroll
        for (uint w = 0; w < W; w++)
            put(y, w, alpha, sum[w], beta);
    }
}
#else
#define VECTOR_PUT 0
#endif

KERNEL void spmv(PARAMS, ulong rows, ulong cols, LIST_PARAM PRODUCT_PARAMS)
{
#if SCRATCH_SIZE > 0
    LOCAL SUM scratches[SCRATCH_SIZE * SUBS] __attribute__((aligned(VECTORS > 1 ? sizeof(SUM) : 8)));
    __local SUM *scratch = scratches + sub_id() * SCRATCH_SIZE;
#else
    __local SUM *scratch = 0;
#endif
    const uint lid = (uint)get_local_id(0);
#if APART
    const uint lane = lid / GROUP_ROWS;
    const uint own = lid % GROUP_ROWS;
#else
    const uint lane = lid % L;
    const uint own = lid / L;
#endif
    const ulong block_rows = (rows + W - 1) / W;
    SUM acc[W];

#if BODY_FOLLOWS
    x += x0 + sub_id();
    y += y0 + sub_id();
#else
    BEGIN(x, y);
#endif
#if SEQ != 1
#if SEQ
    const ulong turns = SEQ;
#else
    const ulong turns = (block_rows + (ulong)get_num_groups(0) * GROUP_ROWS - 1) / ((ulong)get_num_groups(0) * GROUP_ROWS);
#endif
    const ulong begin = ((ulong)get_group_id(0) * GROUP_ROWS + own) * turns;
    for (ulong r = begin; r < begin + turns; r++) {
#else
    const ulong r = (ulong)get_group_id(0) * GROUP_ROWS + own;
#endif
    #pragma unroll
    for (uint w = 0; w < W; w++)
        acc[w] = 0;
#if SYNC
    BODY(acc, (uint)min(r, block_rows), lane, (uint)rows, (uint)cols, X_ARGS, scratch, ARGS);
#else
    if (r < block_rows)
        BODY(acc, (uint)r, lane, (uint)rows, (uint)cols, X_ARGS, scratch, ARGS);
#endif

#if BODY_FOLLOWS
    REREAD(y);
#endif
#if BY_SHUFFLE
    for (uint d = L / 2; d > 0; d /= 2)
        #pragma unroll
        for (uint w = 0; w < W; w++)
            acc[w] += shuffle_down(acc[w], d);
    if (lane == 0)
        for (uint w = 0; w < W; w++)
            if (r * W + w < rows)
                put(y, Y_ROW(r * W + w), alpha, acc[w], beta);
#elif L > 1
    #pragma unroll
    for (uint w = 0; w < W; w++)
        scratch[w * WG + lid] = acc[w];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = L / 2; d > 0; d /= 2) {
        if (lane < d)
            for (uint w = 0; w < W; w++)
                scratch[w * WG + lid] += scratch[w * WG + lid + d * STEP];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    /* the lanes divide the stores of a block row among them */
    for (uint w = lane; w < W; w += L)
        if (r * W + w < rows)
            put(y, Y_ROW(r * W + w), alpha, scratch[w * WG + lid - lane * STEP], beta);
#if SEQ != 1
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
#else
#if VECTOR_PUT
    if ((CPU || ALIGNED(y + r * W, W)) && r * W + W <= rows)
        put_vector(y + r * W, alpha, acc, beta);
    else
#endif
    #pragma unroll
    for (uint w = 0; w < W; w++)
        if (r * W + w < rows)
            put(y, Y_ROW(r * W + w), alpha, acc[w], beta);
#endif
#if SEQ != 1
    }
#endif
}
#endif
