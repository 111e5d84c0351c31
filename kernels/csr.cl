/* SPDX-License-Identifier: MIT
 * csr: compressed sparse rows. With L 1, one item takes a row ("scalar"); with L 32, a warp does ("vector").
 *
 * With RUN the part is divided into runs: whole rows with at most RUN nonzeros together, or one row that is longer. A row
 * longer than 4 RUN is cut into pieces of RUN nonzeros, and each piece is a run.
 *
 * STREAM 1: a group takes a run. It loads the run's nonzeros with coalesced accesses, leaves the products in local memory and
 * sums the rows from there, with as many lanes for each row as the group has items. Rows that are much longer than the others
 * wait for a second round, in which each is taken by a team of TEAM items. A run of one row needs no local memory for products.
 * STREAM 0: one item takes a run and walks through it (for CPUs).
 *
 * A piece leaves its sum in carry[run]. FINISH 0: a second launch, finish, adds the pieces of each long row. FINISH 1: the
 * group or item that finishes the last piece of a row adds them all, always in the order of the pieces, so that the result does
 * not depend on which one it is. None has to wait for another. This saves the launch, but assumes that writes of other groups
 * are visible after a fence, which OpenCL 1.2 does not fully guarantee.
 *
 * Of several vectors (VECTORS of common.cl) the products do not fit into local memory. A group that takes a run leaves the values and the
 * columns there, and multiplies where it sums: each product is rounded before it is added, as it was when it was stored. */
#ifndef WG
#define WG 128 // tune: 1 16 32 64 128 256 512
#endif
#ifndef L
#define L 1 // tune: 1 2 4 8 16 32 64
#endif
#ifndef STREAM
#define STREAM 1 // tune: 0 1
#endif
#if VECTORS > 1
#undef FINISH
#endif
#ifndef FINISH
#define FINISH 0 // tune: 0 1
#endif
#ifndef CUTS
#define CUTS 1 /* 0: no row is cut into pieces, so that finish is never launched */
#endif
#ifndef UNROLL
#define UNROLL 4 // tune: 1 2 4 8
#endif
#ifndef SHUF
#define SHUF 0 // tune: 0 1
#endif
#ifndef SEQ
#define SEQ 1 // tune: 0 1
#endif
#ifndef NT
#define NT 0 // tune: 0 1
#endif
#ifndef RUN
#define RUN 0 /* the most nonzeros in a run; 0: no runs */ // lint: RUN=96 ; RUN=96 VECTORS=8 ; RUN=96 VECTORS=2 SUBS=4
#endif
#define W 1
#define APART 0
#define SCRATCH 0
#define SYNC 0
#define PARAMS __global const VAL *restrict val UNUSED, __global const OFF *restrict ptr, \
               __global const COLUMN *restrict col UNUSED, __global const uint *restrict run_row UNUSED, \
               __global const OFF *restrict run_at UNUSED, __global const uint *restrict base UNUSED, \
               __global const uint *restrict long_run UNUSED, ulong runs UNUSED, ulong longs UNUSED
#define ARGS val, ptr, col, run_row, run_at, base, long_run, runs, longs

/* The sum of the slots k, k + step, ... before end. On a GPU UNROLL of them are loaded at once; on a CPU so many are summed apart, so that
 * additions need not wait for each other. */
INLINE SUM sum_slots(__global const VAL *restrict val, __global const COLUMN *restrict col, IDX k, IDX end, IDX step, uint first UNUSED,
                     X_PARAMS)
{
    SUM sum = 0;

#if UNROLL > 1 && !CPU
    if (k < end)
        add_batches(&sum, val, col, k, step, (uint)((end - k + step - 1) / step), first, X_ARGS);
#else
#if UNROLL > 1 && !REPEAT
    if (end - k >= UNROLL * step && k < end) {
        SUM part[UNROLL] = { 0 };
        for (; end - k >= UNROLL * step; k += UNROLL * step) {
            #pragma unroll
            for (uint u = 0; u < UNROLL; u++)
                MULADD(part[u], VALUE(LOAD_VAL(val + k, u * step)), X(COL(col + k, u * step, first, 1)));
        }
        #pragma unroll
        for (uint u = 0; u < UNROLL; u++)
            sum += part[u];
    }
#endif
    for (; k < end; k += step)
        MULADD(sum, VALUE(LOAD_VAL(val, k)), X(COL(col, k, first, 1)));
#endif
    return sum;
}

#if !RUN
INLINE void BODY(SUM *acc, ROW_PARAMS, PARAMS)
{
    acc[0] += sum_slots(val, col, (IDX)ptr[r] + lane, (IDX)ptr[(size_t)r + 1], L, 0, X_ARGS);
}

#else
#define OWN_SHELL /* in place of shell.cl */
#define RUN_PARAMS PARAMS, ulong rows UNUSED, ulong cols UNUSED, LIST_PARAM __global SUM *restrict carry UNUSED, \
                   PRODUCT_PARAMS
#define CARRY(i) carry[(size_t)(i) * SUBS + sub_id()]

/* The number of pieces of a row, and the run of its first piece if run is the piece that begins at slot at. */
#define PIECES(row) ((uint)(((IDX)ptr[(size_t)(row) + 1] - (IDX)ptr[row] - 1) / RUN) + 1)
#define FIRST_PIECE(run, row, at) ((run) - (size_t)(((at) - (IDX)ptr[row]) / RUN))

#if STREAM
#if WG < 32
#define TEAM WG
#else
#define TEAM 32
#endif

#if VECTORS > 1
/* The sum of every step-th of the products in local memory from k on. */
#define SUM_PRODUCTS(k, end, step) sum_products(value, column, k, end, step, X_ARGS)
INLINE SUM sum_products(__local const VAL *value UNUSED, __local const uint *column, uint k, uint end, uint step, X_PARAMS)
{
    SUM sum = 0;

    for (; k < end; k += UNROLL * step) {
        SUM xs[UNROLL];
        #pragma unroll
        for (uint u = 0; u < UNROLL; u++)
            xs[u] = k + u * step < end ? X(column[k + u * step]) : (SUM)0;
        #pragma unroll
        for (uint u = 0; u < UNROLL; u++)
            if (k + u * step < end)
                sum += scaled(VALUE(value[k + u * step]), xs[u]);
    }
    return sum;
}
#else
#define SUM_PRODUCTS(k, end, step) sum_products(product, k, end, step)
INLINE VEC sum_products(__local const VEC *product, uint k, uint end, uint step)
{
    VEC sum = 0;

    for (; k < end; k += step)
        sum += product[k];
    return sum;
}
#endif

KERNEL void spmv(RUN_PARAMS)
{
#if VECTORS > 1
    LOCAL VAL value[RUN];
    LOCAL uint column[RUN];
#else
    LOCAL VEC product[RUN];
#endif
    LOCAL SUM partials[WG * SUBS] __attribute__((aligned(VECTORS > 1 ? sizeof(SUM) : 8)));
    __local SUM *partial = partials + sub_id() * WG;
    LOCAL uint queue[RUN / TEAM + 1];
    LOCAL uint waiting;
#if FINISH
    LOCAL uint pieces; /* the number of pieces that this group must add; 0: none */
#endif
    const uint lid = (uint)get_local_id(0);
    const size_t run = get_group_id(0);
    const uint row = run_row[run];
    const uint ends = run_row[run + 1] - row; /* rows that end in the run */
    const IDX at = (IDX)run_at[run];
    const uint n = (uint)((IDX)run_at[run + 1] - at);
    const uint first UNUSED = BASE(base, run);
    const int piece = longs != 0 && (ends == 0 || (IDX)ptr[row] != at);
    const uint m = max(ends, 1u);
    const uint shift = 31 - clz(max(WG / m, 1u));
    const uint lanes = 1u << shift; /* if more than 1, there are items for every row: a single round */
    const uint lane = lid & (lanes - 1);
    const uint own = lid >> shift;
    uint begin = 0;
    uint end = 0;
    SUM sum = 0;

    if (own < m) { /* loaded early, needed after the barrier */
        begin = m == 1 ? 0 : (uint)((IDX)ptr[(size_t)row + own] - at);
        end = m == 1 ? n : (uint)((IDX)ptr[(size_t)row + own + 1] - at);
    }
    BEGIN(x, y);
    REREAD(carry);
    if ((lid | sub_id()) == 0) {
        waiting = 0;
#if FINISH
        pieces = 0;
#endif
    }

#if VECTORS > 1
    if (m > 1)
        for (uint k = lid * SUBS + sub_id(); k < n; k += SUBS * WG) {
            value[k] = LOAD_VAL(val, at + k);
            column[k] = COL(col, at + k, first, 1);
        }
    else
#endif
    for (uint k = lid; k < n; k += UNROLL * WG) {
        VAL v[UNROLL];
        uint c[UNROLL];
        SUM xs[UNROLL];
        #pragma unroll
        for (uint u = 0; u < UNROLL; u++) {
            const int in = k + u * WG < n;
            v[u] = in ? LOAD_VAL(val, at + k + u * WG) : 0;
            c[u] = in ? COL(col, at + k + u * WG, first, 1) : 0;
        }
        #pragma unroll
        for (uint u = 0; u < UNROLL; u++)
            xs[u] = k + u * WG < n ? X(c[u]) : (SUM)0;
        #pragma unroll
        for (uint u = 0; u < UNROLL; u++)
            if (k + u * WG < n) {
#if VECTORS == 1
                if (m > 1)
                    product[k + u * WG] = VALUE(v[u]) * xs[u];
                else
#endif
                    MULADD(sum, VALUE(v[u]), xs[u]);
            }
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    /* neither the set of waiting rows nor their sums depend on the order of the queue */
    const uint longest = m == 1 ? ~0u : TEAM * lanes;
    if (m > 1 && end - begin <= longest)
        sum = SUM_PRODUCTS(begin + lane, end, lanes);
    if (end - begin > longest && (lane | sub_id()) == 0)
        queue[atomic_inc(&waiting)] = own;
    uint d = lanes / 2;
    partial[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (; d >= LANES_BY_SHUFFLE; d /= 2) {
        if (lane < d)
            partial[lid] += partial[lid + d];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#if LANES_BY_SHUFFLE > 1
    sum = partial[lid];
    for (; d > 0; d /= 2)
        sum += shuffle_down(sum, d);
    if (lane == 0)
        partial[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    if (piece) {
        if (lid == 0)
#if FINISH
            pieces = arrive(carry, runs, FIRST_PIECE(run, row, at), run, PIECES(row), partial[0]);
#else
            CARRY(run) = partial[0];
#endif
    } else if (lane == 0 && own < m && end - begin <= longest) {
        put(y, Y_ROW((size_t)row + own), alpha, partial[lid], beta);
    }
    for (uint i = lid + WG; i < m; i += WG) {
        const uint start = (uint)((IDX)ptr[(size_t)row + i] - at);
        const uint stop = (uint)((IDX)ptr[(size_t)row + i + 1] - at);
        if (stop - start <= longest)
            put(y, Y_ROW((size_t)row + i), alpha, SUM_PRODUCTS(start, stop, 1), beta);
        else if (!sub_id())
            queue[atomic_inc(&waiting)] = i;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    const uint rounds = (waiting + WG / TEAM - 1) / (WG / TEAM);
    for (uint q = 0; q < rounds; q++) {
        const uint turn = q * (WG / TEAM) + lid / TEAM;
        const uint i = turn < waiting ? queue[turn] : 0;
        const uint start = turn < waiting ? (uint)((IDX)ptr[(size_t)row + i] - at) : 0;
        const uint stop = turn < waiting ? (uint)((IDX)ptr[(size_t)row + i + 1] - at) : 0;
        partial[lid] = SUM_PRODUCTS(start + lid % TEAM, stop, TEAM);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint e = TEAM / 2; e > 0; e /= 2) {
            if (lid % TEAM < e)
                partial[lid] += partial[lid + e];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (turn < waiting && lid % TEAM == 0)
            put(y, Y_ROW((size_t)row + i), alpha, partial[lid], beta);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#if FINISH
    /* a run that is a piece has no waiting rows, so the local memory is free */
    sum = 0;
    for (uint k = lid; k < pieces; k += WG)
        sum += take(carry + FIRST_PIECE(run, row, at) + k);
    partial[lid] = sum;
    for (uint e = pieces > 0 ? WG / 2 : 0; e > 0; e /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < e)
            partial[lid] += partial[lid + e];
    }
    if (pieces > 0 && lid == 0)
        put(y, Y_ROW(row), alpha, partial[0], beta);
#endif
}

#else
KERNEL void spmv(RUN_PARAMS)
{
#if SEQ
    const ulong turns = SEQ;
#else
    const ulong turns = (runs + (ulong)get_num_groups(0) * WG - 1) / ((ulong)get_num_groups(0) * WG);
#endif
    const ulong begin = ((ulong)get_group_id(0) * WG + get_local_id(0)) * turns;

    BEGIN(x, y);
    REREAD(carry);
    for (ulong run = begin; run < begin + turns && run < runs; run++) {
        const uint first UNUSED = BASE(base, run);
        const uint stop = run_row[run + 1];
        const IDX last = (IDX)run_at[run + 1];
        uint row = run_row[run];
        IDX k = (IDX)run_at[run];
        const int piece = longs != 0 && (stop == row || (IDX)ptr[row] != k);

        do {
            const IDX end = piece ? last : (IDX)ptr[(size_t)row + 1];
            SUM sum = sum_slots(val, col, k, end, 1, first, X_ARGS);
            k = end;
            if (!piece) {
                put(y, Y_ROW(row), alpha, sum, beta);
            } else {
#if FINISH
                const size_t start = FIRST_PIECE(run, row, (IDX)run_at[run]);
                const uint pieces = arrive(carry, runs, start, run, PIECES(row), sum);
                sum = 0;
                for (uint i = 0; i < pieces; i++)
                    sum += take(carry + start + i);
                if (pieces > 0)
                    put(y, Y_ROW(row), alpha, sum, beta);
#else
                CARRY(run) = sum;
#endif
            }
        } while (++row < stop);
    }
}
#endif

#if CUTS && !FINISH
/* Each group adds the pieces of one long row. */
KERNEL void finish(RUN_PARAMS)
{
    LOCAL SUM partials[WG * SUBS] __attribute__((aligned(VECTORS > 1 ? sizeof(SUM) : 8)));
    __local SUM *partial = partials + sub_id() * WG;
    const uint lid = (uint)get_local_id(0);
    const uint run = long_run[get_group_id(0)];
    const uint row = run_row[run];
    const uint pieces = PIECES(row);
    SUM sum = 0;

    BEGIN(x, y);
    REREAD(carry);
    for (uint k = lid; k < pieces; k += WG)
        sum += CARRY((size_t)run + k);
    partial[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = WG / 2; d > 0; d /= 2) {
        if (lid < d)
            partial[lid] += partial[lid + d];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        put(y, Y_ROW(row), alpha, partial[0], beta);
}
#endif
#endif
