/* SPDX-License-Identifier: MIT
 * out[i] = x[index[i]]: collects the elements of x that other devices need (spmv_group.h), so that they travel as one piece. */
#ifndef WG
#define WG 128
#endif

KERNEL void spmv(__global const VEC *restrict x, ulong x0, __global const uint *restrict index, ulong count, __global VEC *restrict out)
{
    const ulong i = (ulong)get_group_id(0) * WG + get_local_id(0);

    FOLLOW();
    REREAD(x);
    REREAD(out);
    if (i < count)
        out[i] = x[x0 + index[i]];
}

/* Element i of vector j of count, at i * from_step + j * from_next, becomes that at i * to_step + j * to_next. */
KERNEL void turn(__global const VEC *restrict from, ulong from0, ulong from_step, ulong from_next, __global VEC *restrict to, ulong to0,
                 ulong to_step, ulong to_next, ulong n, ulong count)
{
    const ulong i = (ulong)get_group_id(0) * WG + get_local_id(0);

    FOLLOW();
    REREAD(from);
    REREAD(to);
    if (i < n)
        for (ulong j = 0; j < count; j++)
            to[to0 + i * to_step + j * to_next] = from[from0 + i * from_step + j * from_next];
}
