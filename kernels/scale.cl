/* SPDX-License-Identifier: MIT
 * y = beta * y; with beta 0, y is not read. Launched before the parts if they can only add to y. Every program of a format has this kernel
 * as well; there, WG is the work-group of the format's kernels. */
#ifndef WG
#define WG 128
#endif
/* Elements that an item takes, as SPMV__SCALE_EACH says: a group of one item, as on CPUs, would be started for each element. */
#define SCALE_EACH (WG > 1 ? 1 : 64)

KERNEL void scale(ulong rows, VECTOR_PARAMS)
{
    const ulong first = ((ulong)get_group_id(0) * WG + get_local_id(0)) * SCALE_EACH;

    BEGIN(x, y);
    for (ulong i = first; i < first + SCALE_EACH && i < rows; i++)
        put(y, (uint)i, (VEC)0, (SUM)0, beta);
}
