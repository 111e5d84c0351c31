/* SPDX-License-Identifier: MIT
 * Values in fewer bytes (spmv/device/codes.h): collect finds the different values of a part, and encode writes the number of each in a
 * dictionary of them. Values are compared as words, so that each keeps its bits. */
#ifndef WG
#define WG 128
#endif
#ifndef WORD
#define WORD uint /* as large as a value */
#endif
#ifndef BY_LANE
#define BY_LANE 0 // tune: 0 1
/* 1: tcsr, codes of a lane's 16 slots are adjacent */
#endif
#define TABLE 1024 /* SPMV__DISTINCT_TABLE: places of a hash table, of which few are taken */
#define MOST 256 /* SPMV__DISTINCT_MOST: with more values, it does not matter how many there are */

#define PLACE(v) ((uint)(((ulong)(v) * 0x9e3779b97f4a7c15ul) >> 54))

/* Has one slot with each value in a table, whose elements are 1 more than the number of the slot; 0: none. New values are counted in
 * table[TABLE]. */
#define ENTER(name, space)                                                                                     \
    INLINE void name(volatile space uint *table, __global const WORD *restrict val, uint slot, WORD v)           \
    {                                                                                                          \
        for (uint n = 0; n < TABLE && table[TABLE] <= MOST; n++) {                                             \
            const uint at = (PLACE(v) + n) % TABLE;                                                            \
            uint there = table[at];                                                                            \
            if (!there)                                                                                        \
                there = atomic_cmpxchg(table + at, 0u, slot + 1);                                              \
            if (!there)                                                                                        \
                atomic_inc(table + TABLE);                                                                     \
            if (!there || val[there - 1] == v)                                                                 \
                return;                                                                                        \
        }                                                                                                      \
    }
ENTER(enter_group, __local)
ENTER(enter, __global)

/* table: as ENTER has it; TABLE + 1: how many slots hold zero. All begins with zeros. */
KERNEL void collect(__global const WORD *restrict val, ulong count, volatile __global uint *table)
{
    LOCAL uint own[TABLE + 1];
    const uint lid = (uint)get_local_id(0);
    uint zeros = 0;
    WORD last = 0;
    int any = 0;

    FOLLOW();
    for (uint i = lid; i <= TABLE; i += WG)
        own[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
        const WORD v = val[i];
        zeros += v == 0;
        if (any && v == last)
            continue;
        enter_group(own, val, (uint)i, v);
        last = v;
        any = 1;
    }
    if (zeros)
        atomic_add(table + TABLE + 1, zeros);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = lid; i < TABLE; i += WG)
        if (own[i])
            enter(table, val, own[i] - 1, val[own[i] - 1]);
}

/* The values of the slots in a table. */
KERNEL void look_up(__global const WORD *restrict val, __global const uint *restrict table, __global WORD *restrict value)
{
    FOLLOW();
    for (uint at = (uint)get_global_id(0); at < TABLE; at += (uint)get_global_size(0))
        value[at] = table[at] ? val[table[at] - 1] : 0;
}

/* Code number i is of this slot. */
#if BY_LANE
#define SLOT_OF(i) (((i) & ~(ulong)511) | (i) % 16 * 32 | (i) % 512 / 16)
#else
#define SLOT_OF(i) (i)
#endif

/* The codes of all slots. dictionary: its values as rising words. */
KERNEL void encode(__global const WORD *restrict val, ulong count, __global const WORD *restrict dictionary, ulong values,
                   __global uchar4 *restrict codes)
{
    LOCAL WORD own[MOST];
    const uint lid = (uint)get_local_id(0);

    FOLLOW();
    for (uint i = lid; i < (uint)values; i += WG)
        own[i] = dictionary[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (ulong i = (ulong)get_global_id(0); 4 * i < count; i += (ulong)get_global_size(0)) {
        uchar code[4];
        for (uint j = 0; j < 4; j++) {
            const WORD v = val[min(SLOT_OF(4 * i + j), count - 1)];
            uint low = 0;
            uint high = (uint)values - 1;
            while (low < high) {
                const uint middle = low + (high - low) / 2;
                if (own[middle] < v)
                    low = middle + 1;
                else
                    high = middle;
            }
            code[j] = (uchar)low;
        }
        codes[i] = VECTOR4(uchar, code[0], code[1], code[2], code[3]);
    }
}
