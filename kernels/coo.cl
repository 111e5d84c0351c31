/* SPDX-License-Identifier: MIT
 * coo: coordinates sorted by row, in two launches and without atomics. In the first, each group sums the rows of its SPAN
 * nonzeros: rows that begin and end within them are added to y; the sums of the first and the last row, which may continue in
 * other groups, become carries. The second launch adds the carries, in order. STAGE 1: nonzeros are loaded to local memory,
 * several at a time, and sums are stored from there, so that adjacent items access adjacent memory. STAGE 0: each item walks
 * through its own nonzeros (for CPUs).
 *
 * ATOMIC 1: each item adds PER products, one by one, to y by compare and exchange (Kuresson 2012, 5). The order of the additions,
 * and with it the last bits of y, change from product to product, so this is never a default. ATOMIC 2: the kernel of kernels/gen/coo.cl,
 * in one launch: groups add the products of a row by a tree, and their sums atomically, so that the last bits change only in rows that
 * three groups or more share. H200, f64: 0.53 to 0.86 of the time with ATOMIC 0 on 18 matrices. */
#ifndef WG
#define WG 128 // tune: 1 4 8 16 32 64 128 256
#endif
#ifndef PER
#define PER 7 // tune: 1 3 5 7 11 15 31 63 127 255 511
#endif
#ifndef STAGE
#define STAGE 1 // tune: 0 1
#endif
#ifndef ATOMIC
#define ATOMIC 0 // tune: 0 1 2
#endif
#ifndef NT
#define NT 0 // tune: 0 1
#endif
#define SPAN (WG * PER)
#define COO_PARAMS __global const VAL *restrict val UNUSED, __global const uint *restrict row UNUSED, \
                   __global const uint *restrict col UNUSED, ulong nnz, __global uint *restrict carry_row UNUSED, \
                   __global VEC *restrict carry_sum UNUSED, PRODUCT_PARAMS

#if ATOMIC == 1
#ifdef F64
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define WORD ulong
#define AS_WORD as_ulong
#define AS_VEC as_double
#define EXCHANGE atom_cmpxchg
#else
#define WORD uint
#define AS_WORD as_uint
#define AS_VEC as_float
#define EXCHANGE atomic_cmpxchg
#endif

KERNEL void spmv(COO_PARAMS)
{
    BEGIN(x, y);
    for (uint u = 0; u < PER; u++) {
        const ulong k = ((ulong)get_group_id(0) * PER + u) * WG + get_local_id(0);
        if (k < nnz) {
            volatile __global WORD *place = (volatile __global WORD *)(y + row[k]);
            const VEC v = alpha * (VALUE(LOAD_VAL(val, k)) * X(LOAD_UINT(col, k)));
            WORD before;
            WORD now = EXCHANGE(place, (WORD)0, (WORD)0); /* an atomic load */
            do {
                before = now;
                now = EXCHANGE(place, before, AS_WORD(AS_VEC(before) + v));
            } while (now != before);
        }
    }
}
#elif !ATOMIC

#if STAGE
#define PLACE(k) place[k]
#define ADD(sum, k) (sum) += product[k]
#define ROW_ENDS(k, sum) product[k] = (sum) /* stored below */
#else
#define PLACE(k) LOAD_UINT(row, base + (k))
#define ADD(sum, k) MULADD(sum, VALUE(LOAD_VAL(val, base + (k))), X(LOAD_UINT(col, base + (k))))
#define ROW_ENDS(k, sum) put(y, PLACE(k), alpha, sum, (VEC)1)
#endif
#define AHEAD (PER < 8 ? PER : 8) /* nonzeros that an item loads before it uses the first */

KERNEL void spmv(COO_PARAMS)
{
#if STAGE
    LOCAL VEC product[SPAN];
    LOCAL uint place[SPAN];
#endif
    LOCAL VEC tail_sum[2 * WG];
    LOCAL uint tail_row[WG];
    const uint lid = (uint)get_local_id(0);
    const ulong group = get_group_id(0);
    const ulong base = group * SPAN;
    const uint n = (uint)min(nnz - base, (ulong)SPAN);

    BEGIN(x, y);
    REREAD(carry_row);
    REREAD(carry_sum);
#if STAGE
    for (uint i = lid; i < n; i += AHEAD * WG) {
        VAL v[AHEAD];
        uint c[AHEAD];
        VEC xs[AHEAD];
        #pragma unroll
        for (uint u = 0; u < AHEAD; u++) {
            const int in = i + u * WG < n;
            v[u] = in ? LOAD_VAL(val, base + i + u * WG) : 0;
            c[u] = in ? LOAD_UINT(col, base + i + u * WG) : 0;
            if (in)
                place[i + u * WG] = LOAD_UINT(row, base + i + u * WG);
        }
        #pragma unroll
        for (uint u = 0; u < AHEAD; u++)
            xs[u] = i + u * WG < n ? X(c[u]) : 0;
        #pragma unroll
        for (uint u = 0; u < AHEAD; u++)
            if (i + u * WG < n)
                product[i + u * WG] = VALUE(v[u]) * xs[u];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#endif

    /* Each item sums PER adjacent nonzeros: a head, which may continue a row of the item before, then whole rows, then a tail. An
     * item without nonzeros has an empty tail in the group's last row, so that the last item's tail always belongs to that row. */
    const uint first_row = PLACE(0);
    const uint last_row = PLACE(n - 1);
    const uint begin = min(lid * PER, n);
    const uint end = min(begin + PER, n);
    const uint head_row = begin < n ? PLACE(begin) : last_row;
    uint head_end = begin; /* the end of the head, or begin if it does not end in this item */
    VEC head_sum = 0;
    VEC sum = 0;
    uint now = head_row;
    for (uint k = begin; k < end; k++) {
        if (PLACE(k) != now) {
            if (head_end > begin) {
                ROW_ENDS(k - 1, sum);
            } else {
                head_sum = sum;
                head_end = k;
            }
            now = PLACE(k);
            sum = 0;
        }
        ADD(sum, k);
    }
    const int tail_ends = end > begin && end < n && PLACE(min(end, n - 1)) != now;
    tail_row[lid] = now;
    tail_sum[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);

    /* the tails of one row are adjacent: a scan adds to each those before it, from one half of tail_sum into the other */
    uint half_at = 0;
    for (uint d = 1; d < WG; d *= 2) {
        if (lid >= d && tail_row[lid - d] == now)
            sum += tail_sum[half_at + lid - d];
        half_at = WG - half_at;
        tail_sum[half_at + lid] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    if (head_end > begin) {
        VEC all = head_sum;
        if (lid > 0 && tail_row[lid - 1] == head_row)
            all = tail_sum[half_at + lid - 1] + head_sum;
        if (head_row == first_row)
            carry_sum[2 * group] = all;
        else
            ROW_ENDS(head_end - 1, all);
    }
    if (tail_ends) {
        if (now == first_row)
            carry_sum[2 * group] = sum;
        else
            ROW_ENDS(end - 1, sum);
    }
    if (lid == 0) {
        carry_row[2 * group] = first_row;
        carry_row[2 * group + 1] = last_row;
        carry_sum[2 * group + 1] = tail_sum[half_at + WG - 1];
        if (first_row == last_row)
            carry_sum[2 * group] = 0;
    }

#if STAGE
    /* the sum of a row is now in the place of its last nonzero */
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = lid; i < n; i += AHEAD * WG) {
        VEC before[AHEAD];
        int ends[AHEAD];
        #pragma unroll
        for (uint u = 0; u < AHEAD; u++) {
            const uint k = min(i + u * WG, n - 1);
            ends[u] = i + u * WG < n - 1 && place[k] != first_row && place[k] != place[min(k + 1, n - 1)];
            before[u] = ends[u] ? y[place[k]] : 0;
        }
        #pragma unroll
        for (uint u = 0; u < AHEAD; u++)
            if (ends[u])
                y[place[i + u * WG]] = alpha * product[i + u * WG] + before[u];
    }
#endif
}

/* Adds the carries to y: two for each group of the first launch, in rising order of rows. A group takes WG carries and adds every
 * row whose carries begin among them. The last such row may continue in later carries, which all items sum together. */
KERNEL void finish(COO_PARAMS)
{
    LOCAL VEC rest[WG];
    BEGIN(x, y);
    REREAD(carry_row);
    REREAD(carry_sum);
    const uint lid = (uint)get_local_id(0);
    const ulong n = 2 * ((nnz + SPAN - 1) / SPAN);
    const ulong base = (ulong)get_group_id(0) * WG;
    const ulong end = min(base + WG, n);
    const ulong own = base + lid;
    const uint last_row = carry_row[end - 1];
    const int begins = base == 0 || carry_row[base - 1] != last_row;
    ulong stop = end; /* the end of the last row's carries */
    VEC sum = 0;

    if (begins) { /* the row mostly ends at once, so the steps of the search double before it bisects */
        ulong above = end;
        for (ulong step = 1; above < n && carry_row[above] == last_row; step *= 2) {
            stop = above + 1;
            above += step;
        }
        above = min(above, n);
        while (stop < above) {
            const ulong middle = stop + (above - stop) / 2;
            if (carry_row[middle] == last_row)
                stop = middle + 1;
            else
                above = middle;
        }
    }
    for (ulong k = end + lid; k < stop; k += WG)
        sum += carry_sum[k];
    rest[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = WG / 2; d > 0; d /= 2) {
        if (lid < d)
            rest[lid] += rest[lid + d];
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    if (own < end && (own == 0 || carry_row[own - 1] != carry_row[own])) {
        const uint r = carry_row[own];
        VEC all = 0;
        for (ulong k = own; k < end && carry_row[k] == r; k++)
            all += carry_sum[k];
        if (r == last_row)
            all += rest[0];
        put(y, r, alpha, all, (VEC)1);
    }
}
#endif
