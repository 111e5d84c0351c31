/* SPDX-License-Identifier: MIT
 * tcsr: CSR in tiles of TILE slots. Tiles begin at fixed, aligned addresses, so loads need neither a pointer nor a condition.
 *
 * A warp is 32 adjacent lanes, which multiply 512 adjacent slots. Their loads are coalesced; the products are exchanged through local
 * memory, so that each lane sums U adjacent slots. The bits of its flag say in which of them a row ends. A sum that is still open after
 * a lane's last slot is passed on to the next lanes, and from one warp to the next through local memory. The sums of the rows that end
 * in a warp are collected in local memory in the order of the rows, so that adjacent lanes store adjacent elements of y.
 * On NVIDIA's devices the lanes of a warp exchange data by PTX instructions, elsewhere through local memory with barriers.
 *
 * With IDX16 a column is its warp's base, 16 bits, and with HIGH, if the warp has them, a high byte below 128. The 16 bits of eight slots
 * of a lane are adjacent, and so are the high bytes of all of them, so that one load brings eight or sixteen and they take few
 * registers. x is moved to the base, so that 16 bits cost no addition.
 *
 * STREAM 1: a group takes a tile. STREAM 0: an item takes a tile and goes through it slot by slot (for CPUs). The groups or items after
 * those of the tiles write the empty rows. A row that is cut has a piece in each of its tiles, which is left in carry[2 * tile] by the
 * tile where the row ends, and in carry[2 * tile + 1] by the others; they are added as FINISH says in csr.cl, with STREAM 1 and FINISH 1 on
 * NVIDIA's devices in a tree (join in common.cl). */
#ifndef WG
#define WG 256 // tune: 1 4 16 32 64 128 256
#endif
#ifndef STREAM
#define STREAM 1 // tune: 0 1
#endif
#ifndef FINISH
#define FINISH 0 // tune: 0 1
#endif
#ifndef CUTS
#define CUTS 1 /* 0: no row is cut, so that finish is never launched */
#endif
#ifndef UNROLL
#define UNROLL 8 // tune: 8 16
#endif
#ifndef NT
#define NT 0 // tune: 0 1
#endif
#ifndef TILE
#define TILE 4096 // lint: TILE=512 ; GAPS=1
#endif
#ifndef GAPS
#define GAPS 0 /* 1: some rows are empty, and the array row has the row of each end; 0: end n is that of row n */
#endif
#ifndef HIGH
#define HIGH 0 // lint: IDX16=1 ; IDX16=1 HIGH=1 ; IDX16=1 HIGH=2 TILE=512
/* 1: some warps have high bytes, 2: all have */
#endif
#define U 16 /* SPMV_TCSR_SLOTS */
#define LANES 32 /* SPMV_TCSR_LANES */
#define WARP_SLOTS (LANES * U)
#define WARPS (TILE / WARP_SLOTS)
#define ROW_ENDS(flag) ((flag) & ((1u << U) - 1)) /* of a lane's slots */
#define RANK(flag) ((flag) >> U) /* rows that end before them in the warp */
#if IDX16
#define TOGETHER 8 /* slots of a lane whose columns are adjacent; spmv__tcsr_place has the same number */
#else
#define TOGETHER 1
#endif
#if HIGH == 2
#define HAS_HIGH 1
#else
#define HAS_HIGH has_high
#endif
#define EMPTY_EACH 4 /* empty rows that an item writes; spmv__tcsr_deal has the same number */
#if GAPS
#define ROW_OF(n) Y_ROW(row[n])
#define EARLY_ROW_OF(n) Y_ROW(load_early(row + (n)))
#else
#define EARLY_ROW_OF ROW_OF
#define ROW_OF(n) Y_ROW(n)
#endif

#define TILE_PARAMS __global const VAL *restrict val UNUSED, __global const COLUMN *restrict col UNUSED, \
                    __global const uint *restrict flags UNUSED, __global const uint *restrict end_at, \
                    __global const uint *restrict row UNUSED, __global const uint *restrict piece, \
                    __global const uint *restrict cut UNUSED, __global const uint *restrict empty UNUSED, \
                    __global const uint *restrict base UNUSED, __global const uint *restrict high_at UNUSED, \
                    __global const uchar *restrict high UNUSED, \
                    ulong tiles UNUSED, ulong cuts UNUSED, ulong empties UNUSED, LIST_PARAM \
                    __global VEC *restrict carry UNUSED, PRODUCT_PARAMS
#if LIST
#define LIST_ARG list,
#else
#define LIST_ARG
#endif
#if IMG
#define IMAGE_ARG , image
#else
#define IMAGE_ARG
#endif
#define TILE_ARGS val, col, flags, end_at, row, piece, cut, empty, base, high_at, high, tiles, cuts, empties, LIST_ARG carry, \
                  DICTIONARY_ARG x, x0, y, y0, alpha, beta IMAGE_ARG
#define PIECE_PARAMS __global const uint *restrict end_at UNUSED, __global const uint *restrict row UNUSED, LIST_PARAM \
                     __global VEC *restrict carry
#define PIECE_ARGS end_at, row, LIST_ARG carry

/* The carry of tile t's piece of a row that is cut and ends in tile last; the element of y that is this row's. */
#define PIECE_AT(t, last) (2 * (size_t)(t) + ((t) < (last)))
#define CUT_ROW(last) ROW_OF(end_at[(size_t)(last) * WARPS])

/* y of the i-th empty row; with beta 1 it stays as it is. */
INLINE void put_empty(__global const uint *restrict empty, ulong empties, ulong i, LIST_PARAM __global VEC *y, VEC alpha, VEC beta)
{
    if (i < empties && beta != (VEC)1)
        put(y, Y_ROW(empty[i]), alpha, 0, beta);
}
#define EMPTY_ARGS(i) empty, empties, i, LIST_ARG y, alpha, beta

#if STREAM
#ifdef F64
#define BANKS 16 /* elements that local memory delivers at once */
#define WIDE 2 /* elements that a lane loads together, of 16 bytes */
#else
#define BANKS 32
#define WIDE 4
#endif
/* Where slot i of a warp lies in local memory. WIDE elements are left out after each BANKS of them, so that lanes that read slots U apart
 * use different banks. */
#define AT(i) ((i) + (i) / BANKS * WIDE)

#if defined(NVIDIA) && NVIDIA >= 70
#define PTX 1
INLINE uint warp_ballot(uint p)
{
    uint b;
    __asm__ volatile("{ .reg .pred q; setp.ne.u32 q, %1, 0; vote.sync.ballot.b32 %0, q, 0xffffffff; }" : "=r"(b) : "r"(p));
    return b;
}
INLINE uint warp_up_word(uint v, uint d)
{
    uint w;
    __asm__ volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(w) : "r"(v), "r"(d));
    return w;
}
INLINE VEC warp_up(VEC v, uint d)
{
#ifdef F64
    const uint2 w = as_uint2(v);
    return as_double(VECTOR2(uint, warp_up_word(w.s0, d), warp_up_word(w.s1, d)));
#else
    return as_float(warp_up_word(as_uint(v), d));
#endif
}
/* After it, each lane of a warp sees what the others wrote to local memory. */
INLINE void warp_sync(void)
{
    __asm__ volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}
/* A load that is issued before the next warp_sync: the assembler moves loads of what never changes down to where they are needed. */
INLINE uint load_early(__global const uint *p)
{
    uint v;
    __asm__ volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"((ulong)p));
    return v;
}
/* BALLOT: bit l is set if p is not 0 in lane l of the warp. UP: v of the lane that is d lower; in the first d lanes their own. */
#define BALLOT(p) warp_ballot(p)
#define UP(v, d) warp_up(v, d)
#else
#define PTX 0
#define load_early(p) (*(p))
INLINE void warp_sync(void)
{
    barrier(CLK_LOCAL_MEM_FENCE);
}
INLINE uint group_ballot(uint p, __local uint *vote, uint lid)
{
    if (lid % LANES == 0)
        vote[lid / LANES] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (p)
        atomic_or(vote + lid / LANES, 1u << lid % LANES);
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint b = vote[lid / LANES];
    barrier(CLK_LOCAL_MEM_FENCE);
    return b;
}
INLINE VEC group_up(VEC v, uint d, __local VEC *sums, uint lid)
{
    sums[lid] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    const VEC t = lid % LANES >= d ? sums[lid - d] : v;
    barrier(CLK_LOCAL_MEM_FENCE);
    return t;
}
#define BALLOT(p) group_ballot(p, m->vote, lid)
#define UP(v, d) group_up(v, d, m->sums, lid)
#endif

#if FINISH && !PTX
/* Adds the pieces of the row that is cut, begins in tile first and ends in tile last. */
INLINE void finish_row(uint first, uint last, PIECE_PARAMS, __global VEC *y, VEC alpha, VEC beta)
{
    VEC s = 0;
    for (uint t = first; t <= last; t++)
        s += take(carry + PIECE_AT(t, last));
    put(y, CUT_ROW(last), alpha, s, beta);
}
#endif

/* Local memory of a group. */
typedef struct {
    VEC buffer[WARPS][AT(WARP_SLOTS)]; /* aligned to 16 bytes */
    VEC open_sum[WARPS]; /* behind the last row that ends in the warp */
    uint has_end[WARPS];
#if !PTX
    uint vote[WARPS];
    VEC sums[WG];
#endif
} group_memory;

#if IDX16
#define WORDS ((UNROLL < TOGETHER ? TOGETHER : UNROLL) / 2) /* for the columns of UNROLL slots */
/* The columns of the UNROLL slots of a lane that begin at col. */
INLINE void load_lane(uint *c, __global const COLUMN *restrict col)
{
    #pragma unroll
    for (uint u = 0; u < UNROLL; u += TOGETHER) {
        const uint4 four = LOAD_VECTOR(uint, 4, (__global const uint *)(col + u * LANES));
        c[u / 2] = four.x;
        c[u / 2 + 1] = four.y;
        c[u / 2 + 2] = four.z;
        c[u / 2 + 3] = four.w;
    }
}
#if HIGH
/* A column from half u % 2 of a word and byte u % 4 of a word of high bytes. */
INLINE uint join_column(uint low, uint high, uint u)
{
#if PTX
    /* bytes 0 to 3 are of low, 4 to 7 of high; 8 is added for a byte's sign, which is 0, in place of the byte */
    const uint bytes = (u % 2 ? 0x32 : 0x10) + (4 + u % 4) * 0x1100 + 0x8000;
    uint c;
    __asm__("prmt.b32 %0, %1, %2, %3;" : "=r"(c) : "r"(low), "r"(high), "r"(bytes));
    return c;
#else
    return (low >> u % 2 * 16 & 0xffffu) | (high >> u % 4 * 8 & 255) << 16;
#endif
}
#define COLUMN_IN(c, first, u) join_column((c)[(u) / 2], highs[((first) + (u)) / 4], (first) + (u))
#else
#define COLUMN_IN(c, first, u) ((c)[(u) / 2] >> (u) % 2 * 16 & 0xffffu)
#endif
#else
#define WORDS UNROLL
INLINE void load_lane(uint *c, __global const COLUMN *restrict col)
{
    #pragma unroll
    for (uint u = 0; u < UNROLL; u++)
        c[u] = LOAD_COL(col, u * LANES);
}
#define COLUMN_IN(c, first, u) (c)[u]
#endif

/* The values of UNROLL slots of a lane, of which VALUE_IN is that of slot u. Codes of a lane are adjacent (values.cl), so that one load
 * brings them. */
#if CODES == 1
#define VALUES uint
#define VALUE_WORDS (UNROLL / 4)
#define VALUE_STEP(slots) (slots)
#define VALUE_IN(v, u) VALUE((v)[(u) / 4] >> (u) % 4 * 8 & 255u)
INLINE void load_values(uint *v, __global const uchar *restrict val)
{
#if UNROLL == 16
    const uint4 four = LOAD_VECTOR(uint, 4, (__global const uint *)val);
    v[2] = four.s2;
    v[3] = four.s3;
#else
    const uint2 four = LOAD_VECTOR(uint, 2, (__global const uint *)val);
#endif
    v[0] = four.s0;
    v[1] = four.s1;
}
#else
#define VALUES VAL
#define VALUE_WORDS UNROLL
#define VALUE_STEP(slots) ((slots) * LANES)
#define VALUE_IN(v, u) VALUE((v)[u])
INLINE void load_values(VAL *v, __global const VAL *restrict val UNUSED)
{
    #pragma unroll
    for (uint u = 0; u < UNROLL; u++)
        v[u] = LOAD_VAL(val, u * LANES);
}
#endif

/* y of the rows that end in a tile, and the pieces of rows that are cut. */
INLINE void sum_tile(uint tile, __local group_memory *m, TILE_PARAMS)
{
    const uint lid = (uint)get_local_id(0), lane = lid % LANES, own = lid / LANES;
    __local VEC *buf = m->buffer[own];
    const size_t warp = (size_t)tile * WARPS + own;
    val += warp * WARP_SLOTS + (CODES == 1 ? lane * U : lane); /* from here on at constant distances */
    col += warp * WARP_SLOTS + lane * TOGETHER;
    VALUES v[VALUE_WORDS];
    uint c[WORDS];
    VEC p[U];
#if IDX16
    const uint lowest = base[warp];
#endif
#if HIGH == 2
    const size_t wide = warp;
#elif HIGH
    const uint wide = high_at[warp], has_high = high_at[warp + 1] - wide;
#endif
#if HIGH
    uint highs[U / 4] = {0, 0, 0, 0};
#endif
    load_lane(c, col);
    load_values(v, val);
#if HIGH
    if (HAS_HIGH) {
        const uint4 four = LOAD_VECTOR(uint, 4, (__global const uint *)(high + (size_t)wide * WARP_SLOTS + lane * U));
        highs[0] = four.x;
        highs[1] = four.y;
        highs[2] = four.z;
        highs[3] = four.w;
    }
#endif
    const uint flag = load_early(flags + warp * LANES + lane), before = load_early(end_at + warp);
    /* loaded now, as each of them would hold up the group after its sums */
    const uint ends = load_early(end_at + warp + 1) - before, ended = load_early(end_at + (size_t)tile * WARPS);
    const uint from = load_early(piece + 2 * (size_t)tile), to = load_early(piece + 2 * (size_t)tile + 1);
    const uint crossing = from != tile && before == ended && ends > 0; /* 1: the warp's first end is of a row of another tile */
    const uint goes_on = to != tile && own == WARPS - 1;
    const uint first UNUSED = before + ends == ended ? from : tile; /* of the row that goes on */
#if FINISH && PTX
    const uint row_on = goes_on && lane == LANES - 1 ? CUT_ROW(to) : 0;
#endif
    BEGIN(x, y);
    REREAD(carry);
#if IDX16
    x += lowest;
    x0 += lowest; /* of an image */
    REREAD(x);
#endif
    #pragma unroll
    for (uint b = 0; b < U; b += UNROLL) {
        VEC xs[UNROLL];
        #pragma unroll
        for (uint u = 0; u < UNROLL; u++)
            xs[u] = X(COLUMN_IN(c, b, u));
#if UNROLL < U /* the next loads are issued before these products are formed */
        VALUES next_v[VALUE_WORDS];
        uint next_c[WORDS];
        if (b + UNROLL < U) {
            load_lane(next_c, col + (b + UNROLL) * LANES);
            load_values(next_v, val + VALUE_STEP(b + UNROLL));
        }
#endif
        #pragma unroll
        for (uint u = 0; u < UNROLL; u++)
            buf[AT((b + u) * LANES) + AT(lane)] = VALUE_IN(v, u) * xs[u];
#if UNROLL < U
        if (b + UNROLL < U) {
            #pragma unroll
            for (uint u = 0; u < VALUE_WORDS; u++)
                v[u] = next_v[u];
            #pragma unroll
            for (uint u = 0; u < WORDS; u++)
                c[u] = next_c[u];
        }
#endif
    }
    uint r = 0;
    if (lane < ends)
        r = EARLY_ROW_OF(before + lane);
    warp_sync();
    __local const VEC *q = buf + AT(lane * U);
    #pragma unroll
    for (uint u = 0; u < U; u += WIDE) {
        const CAT(VEC, WIDE) t = *(__local const CAT(VEC, WIDE) *)(q + u);
        p[u] = t.s0;
        p[u + 1] = t.s1;
#ifndef F64
        p[u + 2] = t.s2;
        p[u + 3] = t.s3;
#endif
    }
    warp_sync();

    const uint mask = ROW_ENDS(flag);
    VEC open = 0; /* behind the last end so far */
    __local VEC *out = buf + RANK(flag);
    #pragma unroll
    for (uint u = 0; u < U; u++) {
        open += p[u];
        if (mask >> u & 1) {
            *out++ = open;
            open = 0;
        }
    }
    const uint ending = BALLOT(mask != 0); /* lanes in which a row ends */
    const uint up_to = ending & (~0u >> (31 - lane));
    const uint begin = up_to ? 31 - clz(up_to) : 0;
    /* each lane adds the open sums of the lanes before it, back to one in which a row ends; z, the lanes that have not reached one,
     * ends the loop early where that needs no barrier */
    uint z = PTX ? ~ending : 1;
    for (uint o = 1; o < LANES && z; o *= 2) {
        const VEC t = UP(open, o);
        if (lane >= begin + o)
            open += t;
        if (PTX)
            z &= z << o;
    }
    VEC in = UP(open, 1);
    if (lane == 0)
        in = 0;
    if (mask)
        buf[RANK(flag)] += in; /* its first end */
    if (lane == LANES - 1) {
        m->open_sum[own] = open;
        m->has_end[own] = ending != 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    VEC carried = 0; /* what the warps before leave open */
#if PTX
    const uint seen = BALLOT(lane < own && m->has_end[lane % WARPS]);
    #pragma unroll 1
    for (uint j = seen ? 31 - clz(seen) : 0; j < own; j++) /* most often one */
        carried += m->open_sum[j];
#else
    for (uint j = 0; j < own; j++)
        carried = m->has_end[j] ? m->open_sum[j] : carried + m->open_sum[j];
#endif
    if (cuts) {
#if FINISH && PTX
        if (crossing && lane == 0) {
            VEC sum = buf[0] + carried;
            if (join(&sum, tile - from, tile - from + 1, carry + PIECE_AT(from, tile), 2))
                put(y, r, alpha, sum, beta);
        }
        if (goes_on && lane == LANES - 1) {
            VEC sum = ending ? open : carried + open;
            if (join(&sum, tile - first, to - first + 1, carry + PIECE_AT(first, to), 2))
                put(y, row_on, alpha, sum, beta);
        }
#elif FINISH
        uint last = 0;
        if (crossing && lane == 0)
            last = arrive(carry, 2 * tiles, from, 2 * (size_t)tile, tile - from + 1, buf[0] + carried);
        if (goes_on && lane == LANES - 1)
            last = arrive(carry, 2 * tiles, first, 2 * (size_t)tile + 1, to - first + 1, ending ? open : carried + open);
        if (last)
            finish_row(lane == 0 ? from : first, lane == 0 ? tile : to, PIECE_ARGS, y, alpha, beta);
#else
        if (crossing && lane == 0)
            carry[2 * (size_t)tile] = buf[0] + carried;
        if (goes_on && lane == LANES - 1)
            carry[2 * (size_t)tile + 1] = ending ? open : carried + open;
#endif
    }
    #pragma unroll 1 /* most often few steps: on an H200, three matrices took 0.97 to 1.00 of the time of a loop that NVRTC unrolls */
    for (uint i = lane; i < ends; i += LANES) {
        if (i || !crossing)
            put(y, r, alpha, i ? buf[i] : buf[i] + carried, beta);
        if (i + LANES < ends)
            r = ROW_OF(before + i + LANES);
    }
}

KERNEL void spmv(TILE_PARAMS)
{
    LOCAL group_memory memory __attribute__((aligned(16)));
    const ulong group = get_group_id(0);
#if PTX
    if (group < tiles)
#else /* no barrier may stand under a condition: this loop is passed once at most */
    for (ulong tile = group; tile < tiles; tile += get_num_groups(0))
#endif
        sum_tile((uint)group, &memory, TILE_ARGS);
    if (group >= tiles) {
        BEGIN(x, y);
        const ulong first = (group - tiles) * (WG * EMPTY_EACH) + get_local_id(0);
        for (uint k = 0; k < EMPTY_EACH; k++)
            put_empty(EMPTY_ARGS(first + k * WG));
    }
}
#else

#if HIGH
#define COLUMN_AT(u) (lowest + lows[(u) * TOGETHER] + (HAS_HIGH ? (uint)highs[(u) * U] << 16 : 0))
#elif IDX16
#define COLUMN_AT(u) (lowest + lows[(u) * TOGETHER])
#else
#define COLUMN_AT(u) col[at + (u)]
#endif

#if CODES == 1 /* where STREAM 1 has them */
#define VALUE_AT(u) VALUE(val[(at & ~(IDX)(WARP_SLOTS - 1)) | (at + (u)) % LANES * U | at % WARP_SLOTS / LANES])
#else
#define VALUE_AT(u) VALUE(LOAD_VAL(val, at + (u)))
#endif

/* A piece of a row that is cut: the sum of what tile t has of it. */
INLINE void leave_piece(uint t, uint first UNUSED, uint last, VEC sum, ulong tiles UNUSED, PIECE_PARAMS, __global VEC *y UNUSED,
                        VEC alpha UNUSED, VEC beta UNUSED)
{
#if FINISH
    if (!arrive(carry, 2 * tiles, first, PIECE_AT(t, last), last - first + 1, sum))
        return;
    sum = 0;
    for (uint i = first; i <= last; i++)
        sum += take(carry + PIECE_AT(i, last));
    put(y, CUT_ROW(last), alpha, sum, beta);
#else
    carry[PIECE_AT(t, last)] = sum;
#endif
}

KERNEL void spmv(TILE_PARAMS)
{
    const size_t item = (size_t)get_group_id(0) * WG + get_local_id(0);
    BEGIN(x, y);
    REREAD(carry);
    if (item >= tiles) {
        for (uint k = 0; k < EMPTY_EACH; k++)
            put_empty(EMPTY_ARGS((item - tiles) * EMPTY_EACH + k));
        return;
    }
    const uint tile = (uint)item, from = piece[2 * item], to = piece[2 * item + 1];
    uint n = end_at[item * WARPS];
    int crossing = from != tile;
    VEC sum = 0;
    for (uint lane = 0; lane < TILE / U; lane++) {
        const IDX at = (IDX)item * TILE + lane * U;
        uint mask = ROW_ENDS(flags[item * (TILE / U) + lane]), u = 0;
#if IDX16
        const size_t warp = item * WARPS + lane / LANES;
        const uint lowest = base[warp];
        /* these U slots are those of number nth of the tile's lanes from first on, as STREAM 1 deals them out */
        const uint first = lane % (LANES / U) * U, nth = lane % LANES / (LANES / U);
        __global const COLUMN *lows = col + warp * WARP_SLOTS + nth / TOGETHER * (TOGETHER * LANES) + first * TOGETHER + nth % TOGETHER;
#endif
#if HIGH == 2
        const size_t wide = warp;
#elif HIGH
        const uint wide = high_at[warp], has_high = high_at[warp + 1] - wide;
#endif
#if HIGH
        __global const uchar *highs = high + (size_t)wide * WARP_SLOTS + first * U + nth;
#endif
        if (!mask) { /* four sums, which need not wait for each other */
            VEC s[4] = {sum, 0, 0, 0};
            #pragma unroll
            for (; u < U; u++)
                MULADD(s[u % 4], VALUE_AT(u), X(COLUMN_AT(u)));
            sum = (s[0] + s[1]) + (s[2] + s[3]);
        }
        for (; mask; mask &= mask - 1) {
            for (const uint end = 31 - clz(mask & (0u - mask)); u <= end; u++)
                MULADD(sum, VALUE_AT(u), X(COLUMN_AT(u)));
            if (crossing)
                leave_piece(tile, from, tile, sum, tiles, PIECE_ARGS, y, alpha, beta);
            else
                put(y, ROW_OF(n), alpha, sum, beta);
            crossing = 0;
            sum = 0;
            n++;
        }
        for (; u < U; u++)
            MULADD(sum, VALUE_AT(u), X(COLUMN_AT(u)));
    }
    if (to != tile)
        leave_piece(tile, crossing ? from : tile, to, sum, tiles, PIECE_ARGS, y, alpha, beta);
}
#endif

#if CUTS && !FINISH /* compiled only where it is launched */
/* A group adds the pieces of a row that is cut. */
KERNEL void finish(TILE_PARAMS)
{
    LOCAL VEC partial[WG];
    const uint lid = (uint)get_local_id(0);
    const uint first = cut[get_group_id(0)];
    const uint last = piece[2 * (size_t)first + 1];
    VEC sum = 0;
    BEGIN(x, y);
    REREAD(carry);
    for (uint t = first + lid; t <= last; t += WG)
        sum += carry[PIECE_AT(t, last)];
    partial[lid] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = WG / 2; d > 0; d /= 2) {
        if (lid < d)
            partial[lid] += partial[lid + d];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        put(y, CUT_ROW(last), alpha, partial[0], beta);
}
#endif
