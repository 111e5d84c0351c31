/* SPDX-License-Identifier: MIT
 * y = beta * y; with beta 0, y is not read. Launched before the parts if they can only add to y. Every program of a format has this kernel
 * as well; there, WG is the work-group of the format's kernels. */
#ifndef WG
#define WG 128
#endif

KERNEL void scale(ulong rows, PRODUCT_PARAMS)
{
    const ulong i = (ulong)get_group_id(0) * WG + get_local_id(0);

    BEGIN(x, y);
    if (i < rows)
        put(y, (uint)i, (VEC)0, (VEC)0, beta);
}
