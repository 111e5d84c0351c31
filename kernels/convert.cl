/* SPDX-License-Identifier: MIT
 * Fills the values and columns of a part from CSR that is on the device (spmv/device.h). Everything that takes time in proportion to rows
 * or slices alone was computed by the host, but for the numbers of blocks, which kernels count, and the tiles of tcsr, which programs of
 * their own find (FIND). Each group takes WG * PER adjacent nonzeros of the matrix; an item finds the row of its nonzero by bisection, in
 * local memory if the rows of the group fit, and from the row the slot. What is padding, or fill between nonzeros, was written before the
 * launch. Where a slot tells which nonzero it holds, groups take slots instead, and write the padding (TILES 2, SLOTWISE); so does tcsr
 * always, whose padding repeats a column. The kernels are not called spmv and finish as those of products are, since they start only when
 * all before them in the queue is done. */
#ifndef WG
#define WG 128
#endif
#ifndef PER
#define PER 8 /* nonzeros for each item; the host knows it */
#endif
#ifndef WORD
#define WORD uint /* as large as a value, which is only copied */
#endif
#ifndef FLOATS
#define FLOATS 0 // lint: FLOATS=1 WORD=ulong
/* 1: values are doubles that are floats, zero or in the normal range, and are stored as such */
#endif
#ifndef OWNED
#define OWNED 0 // tune: 0 1
/* 1: the part holds those nonzeros whose owner is part */
#endif
#ifndef COLUMNS
#define COLUMNS 1 // tune: 0 1
/* 0: the format has no array with one column for each slot */
#endif
#ifndef NUMBER
#define NUMBER 0 // tune: 0 1 2 3 4
/* 1: coo, the row of each entry is stored as well; 2: cmrs, packed with the column; 3: cmrs, in an array of its own; 4: tcsr, the high
 * bytes of columns */
#endif
#ifndef TILES
#define TILES 0 // tune: 0 1 2
/* 1: tcsr; 2: tcsr whose tiles the device has found (FIND) */
#endif
#ifndef SLOTWISE
#define SLOTWISE 0 // lint: SLOTWISE=1 ; SLOTWISE=1 IDX16=1
/* 1: slices, or columns, of a part that has all nonzeros, in the order of the rows: all slots are written, and none is searched for */
#endif
#ifndef FIND
#define FIND 0 // tune: 0 1 2
/* 1: no conversion; the kernel that finds the tiles of tcsr instead, for all types of values and columns; 2: the one that fills the arrays
 * that follow from them. They are two because a compiler takes long for both, and compiles them at the same time. */
#endif
#ifndef CHECK
#define CHECK 0 // tune: 0 1 2 3
/* 1: no conversion; kernels that look at the row pointers and columns instead; 2: those that look at the columns of a part; 3: those that
 * make the transpose */
#endif

#if FLOATS
#define STORED uint
#define STORED_OF(w) float_of(w)
INLINE uint float_of(ulong w)
{
    const uint sign = (uint)(w >> 32) & 0x80000000u, exponent = (uint)(w >> 52) & 0x7ffu;
    return exponent == 0 ? sign : sign | (exponent - (1023 - 127)) << 23 | ((uint)(w >> 29) & 0x7fffffu);
}
#else
#define STORED WORD
#define STORED_OF(w) (w)
#endif

#define SLOTS 16 /* of a lane of tcsr; 32 lanes are a warp */
#define FOUND 8 /* words of numbers in front of the bits that say where rows begin, see FIND */
#define WARP_SLOTS (32 * SLOTS)
#define TOGETHER 8 /* slots of a lane whose 16-bit columns are adjacent, see spmv__tcsr_place */

/* Where nonzero number n of row i of the part goes; c is its column. */
#define BY_ROW 0      /* start[i] + n */
#define BY_COLUMN 1   /* i + n * ld */
#define BY_SLICE 2    /* slices of ld rows */
#define BY_GROWN 3    /* slices of any height; slice_row has their first rows */
#define BY_MATRIX 4   /* i * ld + c */
#define BY_DIAGONAL 5 /* diagonal * ld + i; offset has column - row of each diagonal, rising */
#define BY_BAND 6     /* the same, for the first diagonal of each band */
#define BY_BLOCK 7    /* bell, sbell and bcsr, whose kernels are at the end */
#ifndef PLACE
#define PLACE 0 // tune: 0 1 2 3 4 5 6 7
#endif

/* The last of the rising numbers low .. high of an array that is at most v; that at low is. */
#define LAST_UP_TO(name, type)                                                              \
    INLINE uint name(__global const type *restrict of, uint low, uint high, type v)         \
    {                                                                                       \
        while (low < high) {                                                                \
            const uint middle = low + (high - low + 1) / 2;                                 \
            if (of[middle] <= v) low = middle;                                              \
            else high = middle - 1;                                                         \
        }                                                                                   \
        return low;                                                                         \
    }
LAST_UP_TO(row_of, ulong)
#if PLACE != BY_BLOCK
LAST_UP_TO(run_of, OFF)
LAST_UP_TO(slice_of, uint)
LAST_UP_TO(diagonal_of, int)
#endif

#if CHECK == 2 || (!(CHECK || FIND || TILES == 2) && (!SLOTWISE || PLACE == BY_BLOCK))
/* Sets edge to the first and the last row of nonzeros begin .. end - 1 of a group, and starts to the nonzeros of the group before each row
 * but the first; with more than WG * PER of these, starts is not set. */
INLINE void find_rows(__global const ulong *restrict ptr, ulong rows, ulong begin, ulong end, uint id, __local uint *edge,
                      __local uint *starts)
{
    uint r;
    if (!id) edge[0] = row_of(ptr, 0, (uint)rows - 1, begin);
    if (id == WG - 1) edge[1] = row_of(ptr, 0, (uint)rows - 1, end - 1); /* at the same time */
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll 1
    for (r = edge[0] + 1 + id; r <= edge[1] && edge[1] - edge[0] <= WG * PER; r += WG) starts[r - edge[0] - 1] = (uint)(ptr[r] - begin);
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* The row of nonzero k, which is low or behind it. */
INLINE uint row_in_group(__global const ulong *restrict ptr, __local const uint *edge, __local const uint *starts, ulong begin, uint low,
                         ulong k)
{
    const uint first = edge[0], at = (uint)(k - begin);
    uint a = low - first, b = edge[1] - first;
    if (b > WG * PER) return row_of(ptr, low, edge[1], k);
    while (a < b) {
        const uint middle = a + (b - a + 1) / 2;
        if (starts[middle - 1] <= at) a = middle;
        else b = middle - 1;
    }
    return first + a;
}
#endif

#if OWNED || PLACE == BY_BLOCK || CHECK || FIND || TILES == 2
/* The sum of mine over the items before this one; *all becomes that over the whole group. */
INLINE uint count_before(uint mine, uint id, __local uint *sum, uint *all)
{
    uint d;
    sum[id] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll 1
    for (d = 1; d < WG; d *= 2) {
        const uint add = id >= d ? sum[id - d] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sum[id] += add;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    *all = sum[WG - 1];
    d = sum[id] - mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    return d;
}
#endif

#if PLACE == BY_BLOCK || CHECK == 3
/* Replaces each of n numbers by the sum of those before it, and returns the sum of all. Items take PER adjacent numbers at a time. */
INLINE uint sum_before(__global uint *restrict of, ulong n, uint id, __local uint *sum)
{
    uint so_far = 0, all, j;
    ulong g;
    for (g = id * PER; g < n + id * PER; g += WG * PER) {
        uint mine = 0, less;
        for (j = 0; j < PER; j++) mine += g + j < n ? of[g + j] : 0;
        less = so_far + count_before(mine, id, sum, &all);
        for (j = 0; j < PER && g + j < n; j++) {
            const uint here = of[g + j];
            of[g + j] = less;
            less += here;
        }
        so_far += all;
    }
    return so_far;
}
#endif

#if TILES
/* Stores the column of a slot of tcsr. base has the lowest column of each warp, high_at how many warps before it have high bytes. */
INLINE void set_tile_column(__global COLUMN *restrict col, __global uchar *restrict high UNUSED, __global const uint *restrict base UNUSED,
                            __global const int *restrict high_at UNUSED, IDX slot, uint c)
{
#if IDX16
    const IDX warp = slot / WARP_SLOTS;
    const uint in_warp = (uint)(slot % WARP_SLOTS);
    c -= base[warp];
    slot = warp * WARP_SLOTS + in_warp / (32 * TOGETHER) * (32 * TOGETHER) + in_warp % 32 * TOGETHER + in_warp / 32 % TOGETHER;
#if NUMBER == 4
    if (high_at[warp] < high_at[warp + 1])
        high[(size_t)high_at[warp] * WARP_SLOTS + in_warp % 32 * SLOTS + in_warp / 32] = (uchar)(c >> 16);
#endif
#endif
    col[slot] = (COLUMN)c;
}
#endif

#if CHECK == 1
/* Checks CSR that is on the device. ptr: rows + 1 pointers, which are to rise from 0 to nnz. found, 0 before: sums over all groups, all of
 * which stay 0 if the matrix is in order. [0]: the nonzeros whose column is not above that of the nonzero before them, less those of them
 * that begin a row, modulo 2^32, so that no nonzero has to find its row; [1]: those whose column is outside the matrix; [2]: pointers that
 * are wrong. Where there are such, the others mean nothing. */
KERNEL void check(ulong rows, ulong cols, ulong nnz, __global const OFF *restrict ptr, __global const uint *restrict col,
                  __global uint *restrict found)
{
    LOCAL uint sum[WG];
    const uint id = (uint)get_local_id(0);
    const ulong group = (ulong)get_group_id(0), begin = group * (WG * PER) + id;
    uint falls = 0, outside = 0, wrong = 0, all, j;
    FOLLOW();
    for (j = 0; j < PER; j++) {
        const ulong k = begin + j * WG;
        if (k < nnz) {
            const uint c = col[k];
            outside += (uint)(c >= cols);
            falls += (uint)(k > 0 && col[k - 1] >= c);
        }
        if (k < rows) {
            const OFF first = ptr[k], end = ptr[k + 1];
            wrong += (uint)(first > end || end > nnz || (!k && first) || (k + 1 == rows && end != nnz));
            if (first > 0 && first < end && first < nnz) falls -= (uint)(col[first - 1] >= col[first]);
        }
    }
    count_before(falls, id, sum, &all);
    if (!id && all) atomic_add(&found[0], all);
    count_before(outside, id, sum, &all);
    if (!id && all) atomic_add(&found[1], all);
    count_before(wrong, id, sum, &all);
    if (!id && all) atomic_add(&found[2], all);
}

/* Copies row pointers of 32 bits into 64, which the kernels of conversions read. */
KERNEL void widen(ulong rows, __global const OFF *restrict ptr, __global ulong *restrict wide)
{
    const ulong i = (ulong)get_group_id(0) * WG + get_local_id(0);
    FOLLOW();
    if (i <= rows) wide[i] = ptr[i];
}

/* The nonzeros of the longest of each height rows. */
KERNEL void longest(ulong rows, ulong height, ulong slices, __global const OFF *restrict ptr, __global uint *restrict most)
{
    const ulong t = (ulong)get_group_id(0) * WG + get_local_id(0), end = (t + 1) * height < rows ? (t + 1) * height : rows;
    ulong i = t * height;
    OFF before;
    uint n = 0;
    FOLLOW();
    if (t >= slices) return;
    for (before = ptr[i]; i < end; i++) {
        const OFF here = ptr[i + 1];
        n = here - before > n ? (uint)(here - before) : n;
        before = here;
    }
    most[t] = n;
}
#elif CHECK == 3
#define DIGITS 256                /* that 8 bits of a column can be */
#define ROUNDS (4 * PER)          /* in which a group takes its nonzeros; the host knows it */
#define MASKS ((WG + 31) / 32)    /* words with a bit for each item */

/* The nonzeros are sorted by column, by a digit in each pass, the lowest first. Those with the same digit keep their order, so that rows
 * rise within each column in the end, whatever the device. count: for each digit the nonzeros of each group that have it, which become
 * those before them; behind these the nonzeros of each digit, likewise. */
KERNEL void digits(ulong nnz, ulong shift, ulong groups, __global const uint *restrict col, __global uint *restrict count)
{
    LOCAL uint held[DIGITS];
    const uint id = (uint)get_local_id(0);
    const ulong group = (ulong)get_group_id(0), begin = group * (WG * ROUNDS) + id;
    uint j;
    FOLLOW();
    for (j = id; j < DIGITS; j += WG) held[j] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (j = 0; j < ROUNDS; j++)
        if (begin + j * WG < nnz) atomic_inc(&held[col[begin + j * WG] >> shift & (DIGITS - 1)]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (j = id; j < DIGITS; j += WG) count[j * groups + group] = held[j];
}

/* Sums up n numbers of count for each group, from element first on, and writes their sums behind all of them. */
KERNEL void sums(ulong n, ulong first, __global uint *restrict count)
{
    LOCAL uint sum[WG];
    const uint id = (uint)get_local_id(0);
    const ulong group = (ulong)get_group_id(0), groups = (ulong)get_num_groups(0);
    uint all;
    FOLLOW();
    all = sum_before(count + first + group * n, n, id, sum);
    if (!id) count[first + groups * n + group] = all;
}

/* Moves each nonzero to its place in a pass. Before the first pass, when shift is 0, its row follows from ptr. words: of a value. */
KERNEL void move(ulong rows, ulong nnz, ulong shift, ulong groups, ulong words, __global const OFF *restrict ptr,
                 __global const uint *restrict from_col, __global const uint *restrict from_row, __global const uint *restrict from_val,
                 __global const uint *restrict count, __global uint *restrict col, __global uint *restrict row,
                 __global uint *restrict val)
{
    LOCAL uint next[DIGITS], mask[DIGITS * MASKS]; /* mask: the items of this round with each digit */
    const uint id = (uint)get_local_id(0), bit = 1u << id % 32;
    const ulong group = (ulong)get_group_id(0), begin = group * (WG * ROUNDS) + id;
    uint j, w;
    FOLLOW();
    for (j = id; j < DIGITS; j += WG) next[j] = count[j * groups + group] + count[DIGITS * groups + j];
    for (j = id; j < DIGITS * MASKS; j += WG) mask[j] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (j = 0; j < ROUNDS; j++) {
        const ulong k = begin + j * WG;
        const uint c = k < nnz ? from_col[k] : 0, digit = c >> shift & (DIGITS - 1), at = digit * MASKS;
        uint before = 0, all = 0;
        ulong to;
        if (k < nnz) atomic_or(&mask[at + id / 32], bit);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (w = 0; w < MASKS; w++) {
            before += popcount(w < id / 32 ? mask[at + w] : w == id / 32 ? mask[at + w] & (bit - 1) : 0);
            all += popcount(mask[at + w]);
        }
        to = next[digit] + before;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (k < nnz && !before) {
            next[digit] += all;
            for (w = 0; w < MASKS; w++) mask[at + w] = 0;
        }
        if (k < nnz) {
            col[to] = c;
            row[to] = shift ? from_row[k] : run_of(ptr, 0, (uint)rows - 1, (OFF)k);
            for (w = 0; w < words; w++) val[to * words + w] = from_val[k * words + w];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* The row pointers of the transpose: how many of the columns, which rise, are below each. */
KERNEL void begins(ulong cols, ulong nnz, __global const uint *restrict col, __global ulong *restrict ptr)
{
    const ulong c = (ulong)get_group_id(0) * WG + get_local_id(0);
    FOLLOW();
    if (c <= cols) ptr[c] = c && col[0] < c ? (ulong)slice_of(col, 0, (uint)nnz - 1, (uint)c - 1) + 1 : 0;
}

/* Sets differs unless the matrix is its transpose, with the same bits. */
KERNEL void same(ulong rows, ulong nnz, ulong words, __global const OFF *restrict ptr, __global const uint *restrict col,
                 __global const uint *restrict val, __global const ulong *restrict turned_ptr, __global const uint *restrict turned_col,
                 __global const uint *restrict turned_val, __global uint *restrict differs)
{
    const ulong i = (ulong)get_group_id(0) * WG + get_local_id(0);
    FOLLOW();
    if ((i <= rows && ptr[i] != turned_ptr[i]) || (i < nnz && col[i] != turned_col[i]) || (i < nnz * words && val[i] != turned_val[i]))
        atomic_or(differs, 1u);
}
#elif CHECK
/* The lowest column of each row of a part, and behind those of all rows the highest of each; PAD and 0 if the row is empty. list: the row
 * of the matrix for each of these rows, if listed is 1; owner: one byte a nonzero, those of the part being part, if owned is 1. */
KERNEL void spans(ulong rows, __global const ulong *restrict ptr, __global const uint *restrict col, __global const uint *restrict list,
                  ulong listed, __global const uchar *restrict owner, ulong owned, ulong part, __global uint *restrict span)
{
    const ulong i = (ulong)get_group_id(0) * WG + get_local_id(0);
    ulong r, k, end;
    FOLLOW();
    if (i >= rows) return;
    r = listed ? list[i] : i;
    k = ptr[r];
    end = ptr[r + 1];
    if (owned) {
        while (k < end && owner[k] != (uchar)part) k++;
        while (k < end && owner[end - 1] != (uchar)part) end--;
    }
    span[i] = k < end ? col[k] : PAD;
    span[rows + i] = k < end ? col[end - 1] : 0;
}

/* Gives part the nonzeros whose owner is left and whose diagonal's place, by its number from first on, is not 0. */
KERNEL void take(ulong rows, ulong nnz, __global const ulong *restrict ptr, __global const uint *restrict col,
                 __global uchar *restrict owner, ulong left, ulong part, ulong first, __global const uint *restrict place)
{
    LOCAL uint edge[2], starts[WG * PER];
    const uint id = (uint)get_local_id(0);
    const ulong begin = (ulong)get_group_id(0) * (WG * PER), end = begin + WG * PER < nnz ? begin + WG * PER : nnz;
    uint low, j;
    FOLLOW();
    find_rows(ptr, rows, begin, end, id, edge, starts);
    low = edge[0];
    for (j = 0; j < PER; j++) {
        const ulong k = begin + j * WG + id;
        if (k < end && owner[k] == (uchar)left) {
            low = row_in_group(ptr, edge, starts, begin, low, k);
            if (place[col[k] + ((uint)rows - 1 - low) - (uint)first]) owner[k] = (uchar)part;
        }
    }
}

#define KNOWN_BITS 10
#define KNOWN (1u << KNOWN_BITS) /* diagonals that a group counts by itself */
#define KNOWN_TRIES 4            /* places that a diagonal may have */

/* The place that diagonal n has in a group, or gets now; KNOWN: others have all those that it may have. Places are far apart for diagonals
 * that are adjacent, or whose distance is a power of two, as in grids. */
INLINE uint known_place(__local uint *known, uint n)
{
    uint at = n * 2654435769u >> (32 - KNOWN_BITS), tries;
    #pragma unroll 1
    for (tries = 0; tries < KNOWN_TRIES; tries++, at = (at + 1) % KNOWN) {
        const uint was = atomic_cmpxchg(&known[at], PAD, n);
        if (was == PAD || was == n) return at;
    }
    return KNOWN;
}

/* Adds to count, by column - row + rows - 1 from element first on, the nonzeros of each diagonal; owner, owned and part: see spans. The
 * nonzeros of a group lie on few diagonals, most of which it therefore counts in local memory. Which ones these are does not change the
 * sums. */
KERNEL void diagonals(ulong rows, ulong nnz, __global const ulong *restrict ptr, __global const uint *restrict col,
                      __global const uchar *restrict owner, ulong owned, ulong part, ulong first, __global uint *restrict count)
{
    LOCAL uint edge[2], starts[WG * PER], known[KNOWN], held[KNOWN];
    const uint id = (uint)get_local_id(0);
    const ulong begin = (ulong)get_group_id(0) * (WG * PER), end = begin + WG * PER < nnz ? begin + WG * PER : nnz;
    uint low, j;
    FOLLOW();
    for (j = id; j < KNOWN; j += WG) {
        known[j] = PAD;
        held[j] = 0;
    }
    find_rows(ptr, rows, begin, end, id, edge, starts);
    low = edge[0];
    for (j = 0; j < PER; j++) {
        const ulong k = begin + j * WG + id;
        if (k < end && (!owned || owner[k] == (uchar)part)) {
            uint n, at;
            low = row_in_group(ptr, edge, starts, begin, low, k);
            n = col[k] + ((uint)rows - 1 - low);
            at = known_place(known, n);
            if (at < KNOWN) atomic_inc(&held[at]);
            else atomic_inc(&count[first + n]);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (j = id; j < KNOWN; j += WG)
        if (held[j]) atomic_add(&count[first + known[j]], held[j]);
}

/* Counts the diagonals that hold nonzeros in count[0], and lists the number of each and its nonzeros behind that, up to element first. */
KERNEL void listed(ulong numbers, ulong first, __global uint *restrict count)
{
    const ulong n = (ulong)get_group_id(0) * WG + get_local_id(0);
    FOLLOW();
    if (n < numbers && count[first + n]) {
        const uint at = 2 * atomic_inc(count) + 1;
        if (at + 1 < first) {
            count[at] = (uint)n;
            count[at + 1] = count[first + n];
        }
    }
}
#elif FIND
/* Finds the tiles of a matrix whose row pointers are on the device only, and fills the arrays that follow from these. A tile begins with
 * nonzero k; the next one begins with nonzero k + tile, or with the row of that nonzero, if it begins at most a 16th of a tile before it.
 * The matrix is cut into segments of stride nonzeros, some tiles, so that no item has to pass all tiles: from each nonzero that can be the
 * first of the first tile of a segment, an item passes the segment; then one item passes all segments, and one of each segment passes the
 * tiles that there are. One kernel of each program does all its steps, as a driver takes long to find a kernel by its name.
 *   found    FOUND words of numbers (see below), then a bit for each nonzero: 1 if a row begins with it. All 0 before
 *   passed   for each segment and each of its first tile nonzeros: EXIT_BITS bits, the distance of the first tile behind the segment from
 *            its end; above them the tiles passed
 *   segment  for each segment: the nonzero with which its first tile begins, the number of that tile, the rows that are cut first in it
 *   begun    the rows that are not empty before each group of rows
 *   at       the nonzero with which each tile begins, and nnz
 *   spans    for each warp: its lowest column, 1 if it needs high bytes; behind 2 * most_warps of these, how many warps of a group do
 *   high     1: warps that need them have high bytes; 2: all have
 * The rest are arrays of the part. NVRTC would unroll most loops, which takes it half as long again; they are passed a few times. */
#define FOUND_TILES 0
#define FOUND_ROWS 1   /* that are not empty */
#define FOUND_CUTS 2   /* rows that are cut */
#define FOUND_WIDE 3   /* warps that need high bytes */
#define FOUND_BEYOND 4 /* warps whose columns span 2^TILE_BITS or more */
#define EXIT_BITS 12
#define TILE_SHIFT (31 - clz((uint)tile)) /* a tile has 2^TILE_SHIFT slots; to divide by it would take long */
#define TILE_REST 16 /* see SPMV__TILE_REST */
#define TILE_BITS 23 /* see SPMV__TCSR_BITS */
#define TILE_PARAMETERS                                                                                                     \
    ulong rows UNUSED, ulong nnz UNUSED, __global const ulong *restrict ptr UNUSED,                                         \
    __global const uint *restrict from_col UNUSED, ulong tile UNUSED, ulong stride UNUSED, ulong segments UNUSED,           \
    ulong most_warps UNUSED, __global uint *found UNUSED, __global uint *passed UNUSED, __global ulong *segment UNUSED,     \
    __global uint *begun UNUSED, __global ulong *at UNUSED, __global uint *spans UNUSED, ulong high UNUSED,                 \
    __global uint *row UNUSED, __global uint *empty UNUSED, __global uint *piece UNUSED, __global uint *cut UNUSED,         \
    __global uint *end UNUSED, __global uint *base UNUSED, __global uint *high_at UNUSED
#define TILE_ARGUMENTS                                                                                                      \
    rows, nnz, ptr, from_col, tile, stride, segments, most_warps, found, passed, segment, begun, at, spans, high, row, empty, \
    piece, cut, end, base, high_at

#if FIND == 1
/* The nonzero with which the tile behind that of nonzero k begins. */
INLINE ulong tile_behind(__global const uint *found, ulong nnz, ulong tile, ulong k)
{
    const ulong full = k + tile, least = full - tile / TILE_REST;
    ulong word = full / 32;
    uint bits;
    if (full >= nnz) return nnz;
    bits = found[FOUND + word] & 0xffffffffu >> (uint)(31 - full % 32);
    while (!bits && word * 32 > least) bits = found[FOUND + --word];
    word = word * 32 + 31 - clz(bits);
    return bits && word >= least ? word : full;
}

/* Sets a bit for each row that is not empty, and counts these. */
INLINE void mark_rows(uint id, __local uint *sum, TILE_PARAMETERS)
{
    uint mine = 0, all, j;
    #pragma unroll 1
    for (j = 0; j < PER; j++) {
        const ulong r = ((ulong)get_group_id(0) * PER + j) * WG + id, k = r < rows ? ptr[r] : 0;
        if (r < rows && k < ptr[r + 1]) {
            atomic_or(&found[FOUND + k / 32], 1u << (uint)(k % 32));
            mine++;
        }
    }
    count_before(mine, id, sum, &all);
    if (!id) begun[get_group_id(0)] = all;
}

/* Passes a segment from one of its first nonzeros. */
INLINE void pass_segment(uint id, TILE_PARAMETERS)
{
    const ulong item = (ulong)get_group_id(0) * WG + id, s = item >> TILE_SHIFT;
    const ulong behind = (s + 1) * stride < nnz ? (s + 1) * stride : nnz;
    ulong k = s * stride + (item & (tile - 1));
    uint n = 0;
    if (s >= segments) return;
    #pragma unroll 1
    for (; k < behind; n++) k = tile_behind(found, nnz, tile, k);
    passed[item] = (uint)(k - behind) | n << EXIT_BITS;
}

/* Passes all segments, and sums up begun. One group. */
INLINE void pass_all(uint id, __local uint *sum, TILE_PARAMETERS)
{
    const ulong groups = (rows + WG * PER - 1) / (WG * PER);
    uint so_far = 0, t = 0, all;
    ulong k = 0, g;
    #pragma unroll 1
    for (g = 0; !id && g < segments; g++) {
        const uint exit = passed[g * tile + k];
        segment[3 * g] = g * stride + k;
        segment[3 * g + 1] = t;
        k = exit % (1u << EXIT_BITS);
        t += exit >> EXIT_BITS;
    }
    #pragma unroll 1
    for (g = 0; g < groups; g += WG) {
        const uint mine = g + id < groups ? begun[g + id] : 0;
        const uint less = count_before(mine, id, sum, &all);
        if (g + id < groups) begun[g + id] = so_far + less;
        so_far += all;
    }
    if (!id) {
        found[FOUND_TILES] = t;
        found[FOUND_ROWS] = so_far;
    }
}

/* 1 if a row that begins with nonzero begin or behind it goes on with nonzero behind, with which the next tile begins. */
INLINE uint cuts_row(__global const uint *found, ulong rows, ulong nnz, __global const ulong *restrict ptr, ulong begin, ulong behind)
{
    if (behind == nnz || (found[FOUND + behind / 32] >> (uint)(behind % 32) & 1u)) return 0;
    return (uint)(ptr[row_of(ptr, 0, (uint)rows - 1, behind)] >= begin);
}

/* Passes the tiles of a segment, and counts the rows that are cut first in them. A group does a segment. */
INLINE void pass_tiles(uint id, __local uint *sum, __local ulong *behind, TILE_PARAMETERS)
{
    const ulong g = get_group_id(0);
    const ulong until = (g + 1) * stride < nnz ? (g + 1) * stride : nnz;
    const uint first = (uint)segment[3 * g + 1];
    uint t = first, cuts = 0, all;
    if (!id) {
        ulong k = segment[3 * g];
        #pragma unroll 1
        for (; k < until; t++) {
            at[t] = k;
            k = tile_behind(found, nnz, tile, k);
        }
        if (t > first && k == nnz) at[t] = k; /* only the group that passes the last tile */
        behind[0] = k;
        sum[0] = t;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    all = sum[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll 1
    for (t = first + id; t < all; t += WG) cuts += cuts_row(found, rows, nnz, ptr, at[t], t + 1 < all ? at[t + 1] : behind[0]);
    count_before(cuts, id, sum, &all);
    if (!id) segment[3 * g + 2] = all;
    if (!id && all) atomic_add(&found[FOUND_CUTS], all);
}

/* Finds the lowest and highest columns of warps. Padding repeats the last column of the tile. 32 items do a warp. */
INLINE void find_spans(uint id, __local uint *lowest, __local uint *highest, TILE_PARAMETERS)
{
    const ulong warp = (ulong)get_group_id(0) * (WG / 32) + id / 32, t = warp * WARP_SLOTS >> TILE_SHIFT;
    const uint tiles = found[FOUND_TILES], lane = id % 32;
    uint least = PAD, most = 0, span, wide, all, d;
    if (t < tiles) {
        const ulong first = at[t] + (warp * WARP_SLOTS & (tile - 1)), last = at[t + 1] - 1;
        #pragma unroll 4
        for (d = lane; d < WARP_SLOTS; d += 32) {
            const uint c = from_col[first + d < last ? first + d : last];
            least = c < least ? c : least;
            most = c > most ? c : most;
        }
    }
    lowest[id] = least;
    highest[id] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll 1
    for (d = 16; d; d /= 2) {
        if (lane < d) {
            lowest[id] = lowest[id + d] < lowest[id] ? lowest[id + d] : lowest[id];
            highest[id] = highest[id + d] > highest[id] ? highest[id + d] : highest[id];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    least = lowest[id];
    span = highest[id] - least;
    wide = (uint)(!lane && t < tiles && span >= 1u << 16);
    if (!lane && t < tiles) {
        spans[2 * warp] = least;
        spans[2 * warp + 1] = wide;
        if (span >= 1u << TILE_BITS) atomic_inc(&found[FOUND_BEYOND]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    count_before(wide, id, lowest, &all);
    if (!id) spans[2 * most_warps + (ulong)get_group_id(0)] = all;
    if (!id && all) atomic_add(&found[FOUND_WIDE], all);
}

#else
/* Lists the rows that are empty and those that are not. */
INLINE void list_rows(uint id, __local uint *sum, TILE_PARAMETERS)
{
    uint n = begun[get_group_id(0)], all, j;
    #pragma unroll 1
    for (j = 0; j < PER; j++) {
        const ulong r = ((ulong)get_group_id(0) * PER + j) * WG + id;
        const uint mine = (uint)(r < rows && ptr[r] < ptr[r + 1]), less = n + count_before(mine, id, sum, &all);
        if (mine) row[less] = (uint)r;
        else if (r < rows) empty[r - less] = (uint)r;
        n += all;
    }
}

/* Sets the pieces of the tiles of a segment, and lists the rows that are cut first in them. A group does a segment. */
INLINE void set_pieces(uint id, __local uint *sum, TILE_PARAMETERS)
{
    const ulong g = get_group_id(0);
    const uint tiles = found[FOUND_TILES], first = (uint)segment[3 * g + 1], behind = g + 1 < segments ? (uint)segment[3 * g + 4] : tiles;
    uint before = 0, n, s, t;
    #pragma unroll 1
    for (s = id; s < g; s += WG) before += (uint)segment[3 * s + 2];
    count_before(before, id, sum, &n);
    #pragma unroll 1
    for (s = first; s < behind; s += WG) {
        uint cuts = 0, all, less;
        t = s + id;
        if (t < behind) {
            const ulong begin = at[t], next = at[t + 1], from = ptr[row_of(ptr, 0, (uint)rows - 1, begin)];
            const uint last = next < nnz ? row_of(ptr, 0, (uint)rows - 1, next) : 0;
            const int goes_on = next < nnz && ptr[last] < next;
            piece[2 * t] = from < begin ? row_of(at, 0, t, from) : t;
            piece[2 * t + 1] = goes_on ? row_of(at, t, tiles - 1, ptr[last + 1] - 1) : t;
            cuts = (uint)(goes_on && ptr[last] >= begin);
        }
        less = count_before(cuts, id, sum, &all);
        if (cuts) cut[n + less] = t;
        n += all;
    }
}

/* Sets how many rows end before a warp. An item does a warp; there is one behind the last. */
INLINE void set_ends(uint id, ulong group, TILE_PARAMETERS)
{
    const ulong warp = group * WG + id, t = warp * WARP_SLOTS >> TILE_SHIFT, tiles = found[FOUND_TILES];
    ulong k = nnz;
    uint r, less = 0, most = (uint)rows - found[FOUND_ROWS]; /* empty rows before r */
    if (warp > tiles * tile / WARP_SLOTS) return;
    if (t < tiles) k = at[t] + (warp * WARP_SLOTS & (tile - 1)) < at[t + 1] ? at[t] + (warp * WARP_SLOTS & (tile - 1)) : at[t + 1];
    r = row_of(ptr, 0, (uint)rows, k);
    while (less < most) {
        const uint middle = less + (most - less) / 2;
        if (empty[middle] < r) less = middle + 1;
        else most = middle;
    }
    end[warp] = r - less;
}

/* Sets the bases and high_at. An item does a warp. */
INLINE void set_bases(uint id, __local uint *sum, TILE_PARAMETERS)
{
    const ulong warp = (ulong)get_group_id(0) * WG + id, warps = found[FOUND_TILES] * tile / WARP_SLOTS;
    uint before = 0, all, n;
    ulong g;
    #pragma unroll 1
    for (g = id; g < (ulong)get_group_id(0) * 32; g += WG) before += spans[2 * most_warps + g];
    count_before(before, id, sum, &all);
    n = all + count_before(warp < warps ? spans[2 * warp + 1] : 0, id, sum, &before);
    if (warp < warps) base[warp] = spans[2 * warp];
    if (high && warp <= warps) high_at[warp] = high == 2 ? (uint)warp : n;
}
#endif

/* The steps, in their order. */
#define MARK 0
#define PASS_SEGMENTS 1
#define PASS_ALL 2
#define PASS_TILES 3
#define SPANS 4 /* the last of FIND 1 */
#define LISTS 5
#define PIECES 6 /* groups behind those of the segments: ends */
#define BASES 7

KERNEL void tiles(ulong step, TILE_PARAMETERS)
{
    LOCAL uint sum[WG];
#if FIND == 1
    LOCAL uint more[WG];
    LOCAL ulong behind[1];
#endif
    const uint id = (uint)get_local_id(0);
    FOLLOW();
#if FIND == 1
    if (step == MARK) mark_rows(id, sum, TILE_ARGUMENTS);
    else if (step == PASS_SEGMENTS) pass_segment(id, TILE_ARGUMENTS);
    else if (step == PASS_ALL) pass_all(id, sum, TILE_ARGUMENTS);
    else if (step == PASS_TILES) pass_tiles(id, sum, behind, TILE_ARGUMENTS);
    else find_spans(id, sum, more, TILE_ARGUMENTS);
#else
    if (step == LISTS) list_rows(id, sum, TILE_ARGUMENTS);
    else if (step == BASES) set_bases(id, sum, TILE_ARGUMENTS);
    else if (get_group_id(0) < segments) set_pieces(id, sum, TILE_ARGUMENTS);
    else set_ends(id, get_group_id(0) - segments, TILE_ARGUMENTS);
#endif
}
#elif PLACE != BY_BLOCK
/* ptr, from_col, from_val: the CSR matrix. place: the row of the part for each row of the matrix, PAD if it has none, where LIST is 1; with
 * TILES 2, found (see FIND). owner: one byte a nonzero; before: the part's nonzeros before each group; first: those before each row of the
 * matrix, and all (OWNED 1). start: see PLACE; of slices and bands, the pointers. ld: see PLACE; cmrs, the rows of a strip; tcsr, the slots
 * of a tile. run_at (idx=16), slice_row (grown slices) and offset (diagonals, or bands) have count elements that matter; for tcsr, run_at
 * has the first nonzero of each of the tiles, and the number of all; base and, in offset, high_at: see set_tile_column. row: see NUMBER.
 * flag: tcsr with TILES 2, bits where rows end. SLOTWISE gives part and count another meaning. */
#define PARAMETERS                                                                                                  \
    ulong rows UNUSED, ulong nnz UNUSED, __global const ulong *restrict ptr UNUSED,                                 \
    __global const uint *restrict from_col UNUSED, __global const WORD *restrict from_val UNUSED,                   \
    __global const uint *restrict place UNUSED, __global const uchar *restrict owner UNUSED, ulong part UNUSED,     \
    __global const ulong *restrict before UNUSED, __global const ulong *restrict first UNUSED,                      \
    __global const OFF *restrict start UNUSED, ulong ld UNUSED, __global const OFF *restrict run_at UNUSED,         \
    __global const uint *restrict slice_row UNUSED, __global const int *restrict offset UNUSED, ulong count UNUSED, \
    __global const uint *restrict base UNUSED, ulong tiles_ UNUSED, __global STORED *restrict val UNUSED,             \
    __global COLUMN *restrict col UNUSED, __global uint *restrict row UNUSED, __global uint *restrict flag UNUSED

#if TILES == 2
/* The bits of the slots of a lane in which rows end. The first of them holds nonzero k, and n of them hold nonzeros. */
INLINE uint row_ends(__global const uint *restrict found, ulong nnz, ulong k, uint n)
{
    const ulong word = (k + 1) / 32; /* a row ends where the next one begins, or with the last nonzero */
    const uint shift = (uint)((k + 1) % 32);
    uint bits = n ? found[FOUND + word] >> shift : 0;
    if (n && shift > 32 - SLOTS && (word + 1) * 32 < nnz) bits |= found[FOUND + word + 1] << (32 - shift);
    if (n && nnz - k <= n) bits |= 1u << (uint)(nnz - k - 1);
    return bits & ((1u << n) - 1);
}

/* Fills the tiles one after another. 32 items do a warp; padding has the column of the tile's last nonzero. */
KERNEL void fill(PARAMETERS)
{
    LOCAL uint sum[WG];
    const uint id = (uint)get_local_id(0), lane = id % 32;
    const ulong warp = (ulong)get_group_id(0) * (WG / 32) + id / 32, t = warp * WARP_SLOTS >> (31 - clz((uint)ld));
    uint bits = 0, all, before_lane, j;
    FOLLOW();
    if (t < tiles_) {
        const ulong begin = run_at[t] + (warp * WARP_SLOTS & (ld - 1)), end = run_at[t + 1], k = begin + lane * SLOTS;
        #pragma unroll
        for (j = 0; j < SLOTS; j++) {
            const ulong from = begin + j * 32 + lane;
            const IDX slot = (IDX)(warp * WARP_SLOTS) + (IDX)(j * 32 + lane);
            val[slot] = from < end ? STORED_OF(from_val[from]) : 0;
            set_tile_column(col, (__global uchar *)row, base, offset, slot, from_col[from < end ? from : end - 1]);
        }
        bits = row_ends(place, nnz, k, k >= end ? 0 : end - k < SLOTS ? (uint)(end - k) : SLOTS);
    }
    before_lane = count_before(popcount(bits), id, sum, &all);
    if (id >= 32) before_lane -= sum[id / 32 * 32 - 1]; /* those of earlier warps */
    if (t < tiles_) flag[warp * 32 + lane] = bits | before_lane << SLOTS;
}
#elif SLOTWISE
/* Fills 32 adjacent rows in each group, WG slots of each row, of which WG / 32 at a time. part: how many groups have the same rows. count:
 * slices; columns: the slots of a row. */
KERNEL void fill(PARAMETERS)
{
    const uint id = (uint)get_local_id(0);
    const ulong i = (ulong)get_group_id(0) / part * 32 + id % 32, from = (ulong)get_group_id(0) % part * WG;
    ulong begin = 0, length = 0, width, n;
    IDX slot;
    uint group UNUSED;
    FOLLOW();
#if PLACE == BY_SLICE
    group = (uint)(i / ld);
    width = group < count ? (start[group + 1] - start[group]) / ld : 0;
    slot = group < count ? (IDX)start[group] + (IDX)(i % ld) : 0;
#else
    group = (uint)(i / 32);
    width = i < ld ? count : 0;
    slot = (IDX)i;
#endif
    if (i < rows) {
        begin = ptr[i];
        length = ptr[i + 1] - begin;
    }
    width = width < from + WG ? width : from + WG;
    #pragma unroll 4
    for (n = from + id / 32; n < width; n += WG / 32) {
        const IDX at = slot + (IDX)n * (IDX)ld;
        val[at] = n < length ? STORED_OF(from_val[begin + n]) : 0;
#if IDX16
        col[at] = n < length ? (ushort)(from_col[begin + n] - base[group]) : (ushort)0xffff;
#else
        col[at] = n < length ? from_col[begin + n] : PAD;
#endif
    }
}
#else
KERNEL void fill(PARAMETERS)
{
    const uint id = (uint)get_local_id(0);
    const ulong begin = (ulong)get_group_id(0) * (WG * PER), end = begin + WG * PER < nnz ? begin + WG * PER : nnz;
    LOCAL uint edge[2], starts[WG * PER];
    uint low, j;
#if OWNED
    LOCAL uint sum[WG];
    ulong held = before[get_group_id(0)];
#endif
    FOLLOW();
    find_rows(ptr, rows, begin, end, id, edge, starts);
    low = edge[0];
    for (j = 0; j < PER; j++) {
        const ulong k = begin + j * WG + id;
        int mine = k < end;
        uint i, c UNUSED;
        IDX slot, n;
#if OWNED
        uint all, mine_before;
        mine = mine && owner[k] == (uchar)part;
        mine_before = count_before((uint)mine, id, sum, &all);
#endif
        if (mine) {
            low = row_in_group(ptr, edge, starts, begin, low, k);
            i = low;
            c = from_col[k];
#if LIST
            i = place[low];
#endif
#if OWNED
            n = (IDX)(held + mine_before - first[low]);
#else
            n = (IDX)(k - ptr[low]);
#endif
            if (i != PAD) {
#if TILES
                const uint tile = run_of(run_at, 0, (uint)tiles_ - 1, start[i] + n);
                slot = tile * (IDX)ld + (IDX)(start[i] + n - run_at[tile]);
#elif PLACE == BY_ROW
                slot = (IDX)start[i] + n;
#if IDX16
                const uint group = run_of(run_at, 0, (uint)count - 1, (OFF)slot);
#endif
#elif PLACE == BY_COLUMN
                slot = i + n * (IDX)ld;
                const uint group UNUSED = i / 32;
#elif PLACE == BY_SLICE
                const uint group = i / (uint)ld;
                slot = (IDX)start[group] + i % (uint)ld + n * (IDX)ld;
#elif PLACE == BY_GROWN
                const uint group = slice_of(slice_row, 0, (uint)count - 1, i);
                slot = (IDX)start[group] + (i - slice_row[group]) + n * (slice_row[group + 1] - slice_row[group]);
#elif PLACE == BY_MATRIX
                slot = i * (IDX)ld + c + 0 * n;
#elif PLACE == BY_DIAGONAL
                slot = diagonal_of(offset, 0, (uint)count - 1, (int)(c - i)) * (IDX)ld + i + 0 * n;
#elif PLACE == BY_BAND
                const uint band = diagonal_of(offset, 0, (uint)count - 1, (int)(c - i));
                slot = ((IDX)start[band] + (uint)((int)(c - i) - offset[band])) * (IDX)ld + i + 0 * n;
#endif
                val[slot] = STORED_OF(from_val[k]);
#if NUMBER == 2
                col[slot] = c << 4 | i % (uint)ld;
#elif TILES
                set_tile_column(col, (__global uchar *)row, base, offset, slot, c);
#elif COLUMNS && IDX16
                col[slot] = (ushort)(c - base[group]);
#elif COLUMNS
                col[slot] = c;
#endif
#if NUMBER == 1
                row[slot] = i;
#elif NUMBER == 3
                ((__global uchar *)row)[slot] = (uchar)(i % (uint)ld);
#endif
#if TILES
                /* the last nonzero before padding */
                if (start[i] + n + 1 == run_at[tile + 1])
                    while (++slot % (uint)ld) {
                        val[slot] = 0;
                        set_tile_column(col, (__global uchar *)row, base, offset, slot, c);
                    }
#endif
            }
        }
#if OWNED
        held += all;
#endif
    }
}
#endif
#else
/* Blocks. A nonzero is the first of its block if no nonzero before it, in its row or in the rows above it in the block row, lies in the
 * same block. find marks these; the blocks of any stretch of nonzeros are then counted without looking at them, and the number of a block
 * in its block row is the sum, over the rows of the block row, of those that are first and lie to the left of it. */
#define WORD_BITS 32 /* nonzeros of a word of first */
#define GROUP_WORDS (WG * PER / WORD_BITS) /* words of a group of find; the host sees to it that nothing is left */

/* ptr .. part: see above. first: a bit for each nonzero, 1 if it is the first of its block; before: the blocks that begin in the group of a
 * word, before the word; begun: the blocks that begin before each group. words and groups say how many of these there are; the last word
 * has no nonzeros if nnz is a multiple of WORD_BITS. Numbers of blocks are modulo 2^32; only differences within a block row are used.
 * blocks, low, high: for each block row the number of its blocks, and its lowest and highest block column, low > high if it has none.
 * start: the pointers, to slices (sbell) or block rows (bcsr). bh, bw, uw: rows and columns of a block, columns of a unit; arguments, so
 * that one program serves all sizes. height: of slices, in block rows; bell is one slice; bcsr, 0. ld: from a unit to the next, in units.
 * share: block rows that share a base. SIDES makes bh, bw and uw of bh_, bw_ and uw_. */
#define PARAMETERS                                                                                                  \
    ulong rows UNUSED, ulong nnz UNUSED, __global const ulong *restrict ptr UNUSED,                                 \
    __global const uint *restrict from_col UNUSED, __global const WORD *restrict from_val UNUSED,                   \
    __global const uchar *restrict owner UNUSED, ulong part UNUSED, __global uint *restrict first UNUSED,           \
    __global uint *restrict before UNUSED, __global uint *restrict begun UNUSED, ulong words UNUSED,                \
    ulong groups UNUSED, __global uint *restrict blocks UNUSED, __global uint *restrict low UNUSED,                 \
    __global uint *restrict high UNUSED, ulong bh_ UNUSED, ulong bw_ UNUSED, ulong uw_ UNUSED,                      \
    __global const OFF *restrict start UNUSED, ulong height UNUSED, ulong ld UNUSED, ulong share UNUSED,            \
    __global const uint *restrict base UNUSED, __global STORED *restrict val UNUSED, __global COLUMN *restrict col UNUSED
#define SIDES const uint bh UNUSED = (uint)bh_, bw UNUSED = (uint)bw_, uw UNUSED = (uint)uw_

#if OWNED
#define MINE(k) (owner[k] == (uchar)part)
#else
#define MINE(k) 1
#endif

/* The first of nonzeros k .. end - 1 of a row whose column is at least c. It is most often guess, as rows in a block row are alike. */
INLINE ulong first_from(__global const uint *restrict from_col, ulong k, ulong end, uint c, ulong guess)
{
    guess = guess > end ? end : guess;
    if ((guess == end || from_col[guess] >= c) && (guess == k || from_col[guess - 1] < c)) return guess;
    while (k < end) {
        const ulong middle = k + (end - k) / 2;
        if (from_col[middle] < c) k = middle + 1;
        else end = middle;
    }
    return k;
}

/* 1 if the part has a nonzero from k on, before end, whose column is below limit. */
INLINE int any_below(__global const uint *restrict from_col, __global const uchar *restrict owner UNUSED, ulong part UNUSED, ulong k,
                     ulong end, ulong limit)
{
    for (; k < end && from_col[k] < limit; k++)
        if (MINE(k)) return 1;
    return 0;
}

/* 1 if nonzero k, of row i, is the part's and the first of its block. */
INLINE int is_first(__global const ulong *restrict ptr, __global const uint *restrict from_col, __global const uchar *restrict owner UNUSED,
                    ulong part UNUSED, uint bh, uint bw, uint i, ulong k)
{
    const uint c = from_col[k] / bw * bw;
    const ulong limit = (ulong)c + bw;
    ulong at = k;
    uint row;
    if (!MINE(k)) return 0;
    for (; at > ptr[i] && from_col[at - 1] >= c; at--)
        if (MINE(at - 1)) return 0;
    for (row = i / bh * bh; row < i; row++) {
        const ulong begin = ptr[row], end = ptr[row + 1];
        if (any_below(from_col, owner, part, first_from(from_col, begin, end, c, begin + (at - ptr[i])), end, limit)) return 0;
    }
    return 1;
}

/* Sets first and before; begun becomes the number of blocks that begin in each group. */
KERNEL void find(PARAMETERS)
{
    LOCAL uint edge[2], starts[WG * PER], sum[WG], bits[WG];
    const uint id = (uint)get_local_id(0);
    const ulong begin = (ulong)get_group_id(0) * (WG * PER), end = begin + WG * PER < nnz ? begin + WG * PER : nnz;
    const ulong word = (ulong)get_group_id(0) * GROUP_WORDS + id;
    uint i, all, mine, j;
    SIDES;
    bits[id] = 0;
    FOLLOW();
    find_rows(ptr, rows, begin, end, id, edge, starts);
    i = edge[0];
    for (j = 0; j < PER; j++) {
        const ulong k = begin + j * WG + id;
        if (k < end) {
            i = row_in_group(ptr, edge, starts, begin, i, k);
            if (is_first(ptr, from_col, owner, part, bh, bw, i, k))
                atomic_or(&bits[(j * WG + id) / WORD_BITS], 1u << (j * WG + id) % WORD_BITS);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    mine = count_before(popcount(bits[id]), id, sum, &all);
    if (id < GROUP_WORDS && word < words) {
        first[word] = bits[id];
        before[word] = mine;
    }
    if (!id) begun[get_group_id(0)] = all;
}

/* Sums up begun. One group. */
KERNEL void sum_up(PARAMETERS)
{
    LOCAL uint sum[WG];
    FOLLOW();
    sum_before(begun, groups, (uint)get_local_id(0), sum);
}

/* The blocks that begin before nonzero k, modulo 2^32. */
INLINE uint blocks_before(__global const uint *restrict first, __global const uint *restrict before, __global const uint *restrict begun,
                          ulong k)
{
    const ulong word = k / WORD_BITS;
    return begun[word / GROUP_WORDS] + before[word] + popcount(first[word] & ((1u << (uint)(k % WORD_BITS)) - 1));
}

/* Sets blocks, low and high. An item does a block row. */
KERNEL void count(PARAMETERS)
{
    const ulong block_row = (ulong)get_group_id(0) * WG + get_local_id(0), row = block_row * bh_;
    ulong end = row + bh_ < rows ? row + bh_ : rows, i;
    uint least = 0xffffffffu, most = 0;
    SIDES;
    FOLLOW();
    if (row >= rows) return;
    blocks[block_row] = blocks_before(first, before, begun, ptr[end]) - blocks_before(first, before, begun, ptr[row]);
    for (i = row; i < end; i++) {
        ulong k = ptr[i], last = ptr[i + 1];
#if OWNED
        while (k < last && !MINE(k)) k++;
        while (last > k && !MINE(last - 1)) last--;
#endif
        if (k == last) continue;
        least = from_col[k] / bw < least ? from_col[k] / bw : least;
        most = from_col[last - 1] / bw > most ? from_col[last - 1] / bw : most;
    }
    low[block_row] = least;
    high[block_row] = most;
}

/* Puts the nonzeros into their blocks; the first of a block sets its column. */
KERNEL void fill(PARAMETERS)
{
    const uint id = (uint)get_local_id(0);
    const ulong begin = (ulong)get_group_id(0) * (WG * PER), end = begin + WG * PER < nnz ? begin + WG * PER : nnz;
    LOCAL uint edge[2], starts[WG * PER];
    uint at_row, j;
    SIDES;
    const uint units = bh * (bw / uw);
    FOLLOW();
    find_rows(ptr, rows, begin, end, id, edge, starts);
    at_row = edge[0];
    for (j = 0; j < PER; j++) {
        const ulong k = begin + j * WG + id;
        if (k < end && MINE(k)) {
            const uint i = at_row = row_in_group(ptr, edge, starts, begin, at_row, k), block_row = i / bh, top = block_row * bh;
            const uint bottom = top + bh < rows ? top + bh : (uint)rows, in_slice = height ? block_row % (uint)height : 0;
            const uint c = from_col[k] / bw * bw, down = i - top, across = from_col[k] - c;
            ulong at = k;
            IDX n = 0, place, slot; /* the block's number in its block row, the places of its column and its first value */
            uint row;
            for (; at > ptr[i] && from_col[at - 1] >= c; at--) {}
            for (row = top; row < bottom; row++) {
                const ulong front = ptr[row], left = row == i ? at : first_from(from_col, front, ptr[row + 1], c, front + (at - ptr[i]));
                n += blocks_before(first, before, begun, left) - blocks_before(first, before, begun, front);
            }
            place = height > block_row ? 0 : (IDX)start[height ? block_row / (uint)height : block_row]; /* bell has no pointers */
            slot = height ? (place + n * (IDX)height) * units + in_slice : place + n;
            place += height ? n * (IDX)height + in_slice : n;
            val[(slot + (down * (bw / uw) + across / uw) * (IDX)ld) * uw + across % uw] = STORED_OF(from_val[k]);
            if (first[k / WORD_BITS] >> (uint)(k % WORD_BITS) & 1u) {
#if IDX16
                col[place] = (ushort)((c - base[block_row / (uint)share]) / bw);
#else
                col[place] = c;
#endif
            }
        }
    }
}
#endif
