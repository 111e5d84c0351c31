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
