/* SPDX-License-Identifier: MIT
 * Fills the values and columns of a part from CSR that is on the device (spmv_convert.h). Everything that takes time in proportion to rows
 * or slices alone was computed by the host. Each group takes WG * PER adjacent nonzeros of the matrix; an item finds the row of its
 * nonzero by bisection, and from the row the slot. What is padding, or fill between nonzeros, was written before the launch; only tcsr,
 * whose padding repeats a column, writes it here. The kernels are not called spmv and finish as those of products are, since they start
 * only when all before them in the queue is done. */
#ifndef WG
#define WG 128
#endif
#ifndef PER
#define PER 8 /* nonzeros for each item; the host knows it */
#endif
#ifndef WORD
#define WORD uint /* as large as a value, which is only copied */
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
#define NUMBER 0 // tune: 0 1 2 3
/* 1: coo, the row of each entry is stored as well; 2: cmrs, packed with the column; 3: cmrs, in an array of its own */
#endif
#ifndef TILES
#define TILES 0 // tune: 0 1
/* 1: tcsr */
#endif

#define SLOTS 16 /* of a lane of tcsr; 32 lanes are a warp */

/* Where nonzero number n of row i of the part goes; c is its column. */
#define BY_ROW 0      /* start[i] + n */
#define BY_COLUMN 1   /* i + n * ld */
#define BY_SLICE 2    /* slices of ld rows */
#define BY_GROWN 3    /* slices of any height; slice_row has their first rows */
#define BY_MATRIX 4   /* i * ld + c */
#define BY_DIAGONAL 5 /* diagonal * ld + i; offset has column - row of each diagonal, rising */
#define BY_BAND 6     /* the same, for the first diagonal of each band */
#ifndef PLACE
#define PLACE 0 // tune: 0 1 2 3 4 5 6
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
LAST_UP_TO(run_of, OFF)
LAST_UP_TO(slice_of, uint)
LAST_UP_TO(diagonal_of, int)

#if OWNED
/* How many items before this one have mine 1; *all becomes how many of the group have. */
INLINE uint count_before(uint mine, uint id, __local uint *sum, uint *all)
{
    uint d;
    sum[id] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
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

/* ptr, from_col, from_val: the CSR matrix. place: the row of the part for each row of the matrix, PAD if it has none, where LIST is 1.
 * owner: one byte a nonzero; before: the part's nonzeros before each group; first: those before each row of the matrix, and all (OWNED 1).
 * start: see PLACE; of slices and bands, the pointers. ld: see PLACE; cmrs, the rows of a strip; tcsr, the slots of a tile. run_at
 * (idx=16), slice_row (grown slices) and offset (diagonals, or bands) have count elements that matter.
 * pad: tcsr, the slots of each tile before its padding. row: see NUMBER. flag: tcsr, bits where rows end; its elements are counted by
 * count. */
#define PARAMETERS                                                                                                  \
    ulong rows UNUSED, ulong nnz UNUSED, __global const ulong *restrict ptr UNUSED,                                 \
    __global const uint *restrict from_col UNUSED, __global const WORD *restrict from_val UNUSED,                   \
    __global const uint *restrict place UNUSED, __global const uchar *restrict owner UNUSED, ulong part UNUSED,     \
    __global const ulong *restrict before UNUSED, __global const ulong *restrict first UNUSED,                      \
    __global const OFF *restrict start UNUSED, ulong ld UNUSED, __global const OFF *restrict run_at UNUSED,         \
    __global const uint *restrict slice_row UNUSED, __global const int *restrict offset UNUSED, ulong count UNUSED, \
    __global const uint *restrict base UNUSED, __global const uint *restrict pad UNUSED,                            \
    __global WORD *restrict val UNUSED, __global COLUMN *restrict col UNUSED, __global uint *restrict row UNUSED,   \
    __global uint *restrict flag UNUSED

KERNEL void fill(PARAMETERS)
{
    const uint id = (uint)get_local_id(0);
    const ulong begin = (ulong)get_group_id(0) * (WG * PER), end = begin + WG * PER < nnz ? begin + WG * PER : nnz;
    uint low = row_of(ptr, 0, (uint)rows - 1, begin), j;
    const uint high = row_of(ptr, low, (uint)rows - 1, (end - 1));
#if OWNED
    LOCAL uint sum[WG];
    ulong held = before[get_group_id(0)];
#endif
    FOLLOW();
    for (j = 0; j < PER; j++) {
        const ulong k = begin + j * WG + id;
        int mine = k < end;
        uint i, c UNUSED;
        IDX slot, n, length UNUSED;
#if OWNED
        uint all, mine_before;
        mine = mine && owner[k] == (uchar)part;
        mine_before = count_before((uint)mine, id, sum, &all);
#endif
        if (mine) {
            low = row_of(ptr, low, high, k);
            i = low;
            c = from_col[k];
#if LIST
            i = place[low];
#endif
#if OWNED
            n = (IDX)(held + mine_before - first[low]);
            length = (IDX)(first[low + 1] - first[low]);
#else
            n = (IDX)(k - ptr[low]);
            length = (IDX)(ptr[low + 1] - ptr[low]);
#endif
            if (i != PAD) {
#if PLACE == BY_ROW
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
                val[slot] = from_val[k];
#if NUMBER == 2
                col[slot] = c << 4 | i % (uint)ld;
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
                if (n + 1 == length) atomic_or(&flag[slot / SLOTS], 1u << (uint)(slot % SLOTS));
                /* the last nonzero before padding */
                if (slot % (uint)ld + 1 == pad[slot / (uint)ld])
                    while (++slot % (uint)ld) {
                        val[slot] = 0;
                        col[slot] = c;
                    }
#endif
            }
        }
#if OWNED
        held += all;
#endif
    }
}

#if TILES
/* Adds to the flags of tcsr, behind the bits, how many rows end before each lane in its warp. An item does a warp. */
KERNEL void count_ends(PARAMETERS)
{
    const ulong begin = ((ulong)get_group_id(0) * WG + get_local_id(0)) * 32;
    uint lane, ends = 0;
    FOLLOW();
    for (lane = 0; begin < count && lane < 32; lane++) {
        uint bits = flag[begin + lane] & ((1u << SLOTS) - 1);
        flag[begin + lane] = bits | ends << SLOTS;
        for (; bits; bits &= bits - 1) ends++;
    }
}
#endif
