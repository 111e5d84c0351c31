/* SPDX-License-Identifier: MIT */
#if GEN && !RUN
INLINE void BODY(VEC *acc, ROW_PARAMS, PARAMS)
{
    const IDX s = (IDX)ptr[r];
    const IDX e = (IDX)ptr[(size_t)r + 1];
    VEC sum[GEN] = { 0 };

    for (IDX k = s / GEN * GEN + lane * GEN; k < e; k += L * GEN) {
        if (k >= s && k + GEN <= e) {
            const CAT(VAL, GEN) v = LOAD_VECTOR(VAL, GEN, val + k);
            const CAT(COLUMN, GEN) c = LOAD_VECTOR(COLUMN, GEN, col + k);
            MULADD(sum[0], (VEC)v.s0, X(c.s0));
            MULADD(sum[1], (VEC)v.s1, X(c.s1));
#if GEN == 4
            MULADD(sum[2], (VEC)v.s2, X(c.s2));
            MULADD(sum[3], (VEC)v.s3, X(c.s3));
#endif
        } else {
            for (uint j = 0; j < GEN; j++)
                if (k + j >= s && k + j < e)
                    MULADD(sum[j], (VEC)LOAD_VAL(val, k + j), X(LOAD_COL(col, k + j)));
        }
    }
    for (uint j = 0; j < GEN; j++)
        acc[0] += sum[j];
}
#endif
