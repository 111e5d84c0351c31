/* SPDX-License-Identifier: MIT
 *
 * spmv/format/coo.h - coo: each nonzero with its row and column.
 */
#ifndef SPMV__FORMAT_COO_H
#define SPMV__FORMAT_COO_H

#include "rows.h"

/* ---- coo --------------------------------------------------------------------------------------------------------- */
#if !(SPMV__ONLY & SPMV_BIT_COO)
#define SPMV__NO_COO
#define SPMV__BUILT_COO 0
#else
#define SPMV__BUILT_COO 1
#endif

static const spmv__traits spmv__coo_traits = {
    0,                                    /* keys */
    SPMV_ADDS_ONLY | SPMV_LONG_ROWS,      /* flags */
    SPMV_CLASS_FLAT,                      /* class */
    2,                                    /* indices */
    SPMV__EVEN,                           /* even */
    SPMV__PADS_NONE, SPMV__LANES_ONE,     /* pads, lanes */
    NULL                                  /* suits */
};

static const char *const spmv__coo_layouts[] = {
    "coo"
};

#ifndef SPMV__NO_COO
static spmv_status spmv__coo_size(spmv_part *p, spmv__source *s)
{
    spmv__want(&p->a[SPMV_VAL], p->nnz, p->a[SPMV_VAL].width);
    spmv__want(&p->a[SPMV_COO_ROW], p->nnz, 4);
    spmv__want(&p->a[SPMV_COO_COL], p->nnz, 4);
    spmv__csr_lengths(p, s);
    return SPMV_OK;
}

static spmv_status spmv__coo_estimate(const spmv_spec *spec, const spmv__look *l, const spmv_features *f, spmv__load *out)
{
    (void)spec;
    (void)l;
    return spmv__estimate_entries(f, out);
}

#define spmv__coo_lay NULL

/* coo has no row list: the rows of the part are those of the matrix. */
static void spmv__coo_fill(spmv_part *p, const spmv__source *s, spmv__sink *to, uint64_t first, uint64_t end)
{
    uint64_t r, k, slot = s->ptr[first];
    for (r = first; r < end; r++)
        for (k = s->v->a->ptr[r]; k < s->v->a->ptr[r + 1]; k++)
            if (spmv__mine(s->v, k)) {
                ((uint32_t *)p->a[SPMV_COO_ROW].data)[slot] = (uint32_t)r;
                ((uint32_t *)p->a[SPMV_COO_COL].data)[slot] = s->v->a->col[k];
                spmv__put(to, slot++, k);
            }
}

static void spmv__coo_each(const spmv_part *p, spmv__visit visit, void *user)
{
    uint64_t k;
    for (k = 0; k < p->nnz; k++)
        visit(user, ((const uint32_t *)p->a[SPMV_COO_ROW].data)[k], ((const uint32_t *)p->a[SPMV_COO_COL].data)[k], k);
}
#endif

#endif
