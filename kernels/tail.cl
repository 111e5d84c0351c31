/* SPDX-License-Identifier: MIT
 * What follows a product: z = y + gamma w, and sums of products of elements (spmv_tail), in one launch whatever the formats of the parts.
 * It is not fused into the kernels that put y: rows are put by many kernels, a row sometimes by several, in no fixed order. y is read
 * from the cache.
 *
 * The order of additions follows from n alone, and the host adds in the same one (spmv/tail.h): a group has strips of LANES adjacent
 * elements; lane l adds element l of each; the lanes of a group are added in a tree. Then lane l adds the sums of some adjacent groups,
 * and these lanes are added in a tree again. An item has one lane, or several where groups are small. */
#ifndef WG
#define WG 256
#endif
#define LANES 256 /* SPMV__TAIL_LANES */
#define DOTS 5    /* SPMV_DOT_COUNT, in this order: x.y, y.y, w.y, x.x, z.z */
#define READ_X 9  /* of the set of sums: those that need x */
#define READ_W 4

#if defined(FINISH) && FINISH // lint: FINISH=1
/* The first of the LANES of each wanted sum becomes that of all. Every item calls it, with the same dots. */
INLINE void add_lanes(__local VEC *lane, uint dots)
{
    const uint lid = (uint)get_local_id(0);

    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = dots ? LANES / 2 : 0; d > 0; d /= 2) {
        for (uint k = 0; k < DOTS; k++)
            for (uint l = lid; l < d && (dots >> k & 1); l += WG)
                lane[k * LANES + l] += lane[k * LANES + l + d];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* each: the strips of a group. carry: a sum of each group for each k, and a counter. set: the sums that are wanted, bit k for number k,
 * and bit DOTS: z is stored. */
KERNEL void tail(ulong n, ulong each, __global VEC *carry, __global const VEC *x, ulong x0, __global const VEC *y, ulong y0,
                 __global const VEC *w, ulong w0, __global VEC *z, ulong z0, __global VEC *sums, ulong sums0, VEC gamma, ulong set)
{
    LOCAL VEC lane[DOTS * LANES];
    LOCAL uint last;
    const uint lid = (uint)get_local_id(0);
    const ulong group = get_group_id(0);
    const ulong groups = get_num_groups(0);
    const uint dots = (uint)set & ((1u << DOTS) - 1);
    const ulong first = group * each * LANES;
    const ulong end = min(n, first + each * LANES);

    BEGIN(x, y);
    w += w0;
    z += z0;
    REREAD(w);
    REREAD(z);
    REREAD(carry);
    for (uint l = lid; l < LANES; l += WG) {
        VEC sum[DOTS];
        #pragma unroll
        for (uint k = 0; k < DOTS; k++)
            sum[k] = 0;
        for (ulong i = first + l; i < end; i += LANES) {
            const VEC yi = y[i];
            const VEC xi = dots & READ_X ? x[i] : 0;
            const VEC wi = dots & READ_W || gamma != 0 ? w[i] : 0;
            VEC zi = yi;
            if (gamma != 0)
                MULADD(zi, gamma, wi);
            MULADD(sum[0], xi, yi);
            MULADD(sum[1], yi, yi);
            MULADD(sum[2], wi, yi);
            MULADD(sum[3], xi, xi);
            MULADD(sum[4], zi, zi);
            if (set >> DOTS)
                z[i] = zi;
        }
        #pragma unroll
        for (uint k = 0; k < DOTS; k++)
            lane[k * LANES + l] = sum[k];
    }
    add_lanes(lane, dots);
    if (lid == 0)
        last = 0;
    if (lid == 0 && dots) {
        uint k = DOTS - 1;
        while (!(dots >> k & 1))
            k--;
        for (uint other = 0; other < k; other++)
            leave(carry + other * groups + group, lane[other * LANES]);
        last = arrive(carry, DOTS * groups, 0, k * groups + group, (uint)groups, lane[k * LANES]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    const uint ends = last ? dots : 0;
    const ulong some = (groups + LANES - 1) / LANES;
    for (uint k = 0; k < DOTS; k++)
        for (uint l = lid; l < LANES && (ends >> k & 1); l += WG) {
            VEC sum = 0;
            for (ulong g = l * some; g < min(groups, (l + 1) * some); g++)
                sum += take(carry + k * groups + g);
            lane[k * LANES + l] = sum;
        }
    add_lanes(lane, ends);
    for (uint k = lid; k < DOTS; k += WG)
        if (ends >> k & 1)
            sums[sums0 + k] = lane[k * LANES];
}
#endif
