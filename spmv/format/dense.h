/* SPDX-License-Identifier: MIT
 *
 * spmv/format/dense.h - dense: every element of a rectangle.
 */
#ifndef SPMV__FORMAT_DENSE_H
#define SPMV__FORMAT_DENSE_H

#include "../shape.h"

/* ---- dense ------------------------------------------------------------------------------------------------------- */
#if !(SPMV__ONLY & SPMV_BIT_DENSE)
#define SPMV__NO_DENSE
#define SPMV__BUILT_DENSE 0
#else
#define SPMV__BUILT_DENSE 1
#endif

static const spmv__traits spmv__dense_traits = {
    SPMV__LISTS,                                    /* keys */
    SPMV_CAN_LIST | SPMV_HAS_FILL | SPMV_LONG_ROWS, /* flags */
    SPMV_CLASS_DENSE,                               /* class */
    0,                                              /* indices */
    0,                                              /* even */
    SPMV__PADS_NONE, SPMV__LANES_BY_LENGTH,         /* pads, lanes */
    NULL                                            /* suits */
};

static const char *const spmv__dense_layouts[] = {
    "dense"
};

#ifndef SPMV__NO_DENSE
static spmv_status spmv__dense_size(spmv_part *p, spmv__source *s)
{
    (void)s;
    spmv__want(&p->a[SPMV_VAL], spmv__sat_mul(p->rows, p->cols), p->a[SPMV_VAL].width);
    return SPMV_OK;
}

static spmv_status spmv__dense_estimate(const spmv_spec *spec, const spmv__look *l, const spmv_features *f, spmv__load *out)
{
    (void)spec;
    (void)l;
    out->slots = (double)f->rows * (double)f->cols;
    out->longest = (double)f->cols;
    return SPMV_OK;
}

#define spmv__dense_lay NULL

static void spmv__dense_fill(spmv_part *p, const spmv__source *s, spmv__sink *to, uint64_t first, uint64_t end)
{
    uint64_t i, k;
    spmv__clear(to, first * p->cols, (end - first) * p->cols);
    for (i = first; i < end; i++) {
        uint64_t r = spmv__source_row(s, i);
        for (k = s->v->a->ptr[r]; k < s->v->a->ptr[r + 1]; k++)
            if (spmv__mine(s->v, k)) spmv__put(to, i * p->cols + s->v->a->col[k], k);
    }
}

static void spmv__dense_each(const spmv_part *p, spmv__visit visit, void *user)
{
    uint64_t i, c;
    for (i = 0; i < p->rows; i++)
        for (c = 0; c < p->cols; c++) visit(user, i, c, i * p->cols + c);
}
#endif

#endif
