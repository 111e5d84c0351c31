/* SPDX-License-Identifier: MIT */
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#include "spmv_group.h"
#include "spmv_io.h"

#include "library.h"

double library_log2(double v)
{
    return spmv__log2(v);
}

double library_exp2(double v)
{
    return spmv__exp2(v);
}

double library_model_rate(const spmv_tuning *t, spmv_type type, const spmv_spec *layout, double rows, double per_row)
{
    return spmv__model_rate(t, type, layout, rows, per_row);
}

/* The candidate with that layout and these knobs; NULL: there is none. */
static const spmv__candidate *candidate_named(const spmv__estimator *e, const spmv_spec *layout, const char *variant)
{
    size_t i;
    for (i = 0; i < e->cands; i++)
        if (spmv__same_spec(e->cand[i].layout, layout) && !strcmp(e->cand[i].variant, variant)) return &e->cand[i];
    return NULL;
}

spmv_status library_estimates(const spmv_csr *a, spmv_type type, const spmv_tuning *t, size_t n, const spmv_spec *layout,
                              const char *const *variant, spmv_estimate *out, const spmv_hooks *hooks)
{
    spmv__estimator e;
    spmv_build how;
    spmv_view v;
    spmv__look l;
    spmv_features f;
    size_t i;
    spmv_status s;
    memset(&how, 0, sizeof how);
    memset(&v, 0, sizeof v);
    memset(&l, 0, sizeof l);
    memset(out, 0, n * sizeof *out);
    how.type = type;
    v.a = a;
    v.rows = a->rows;
    s = spmv__estimator_make(&e, a, &how, NULL, t, 0, hooks);
    if (!s) s = spmv__find_candidates(&e);
    if (!s) s = spmv__look_make(&l, &v, hooks);
    if (!s) s = spmv__look_features(&l, &f, 0, 0);
    for (i = 0; i < n && !s; i++) {
        const spmv__candidate *k = candidate_named(&e, &layout[i], variant[i]);
        spmv__load load;
        if (k && spmv__load_of(&e, &layout[i], &l, &f, &load, &s)) spmv__cost_terms(&e, k, &load, &out[i]);
    }
    spmv__look_free(&l);
    spmv__estimator_free(&e);
    return s;
}

spmv_status library_unmeasured(const spmv_tuning *t, spmv_type type, spmv_spec *out, size_t room, size_t *n, const spmv_hooks *hooks)
{
    const spmv_csr none = {0};
    spmv__estimator e;
    spmv_build how;
    size_t i;
    spmv_status s;
    memset(&how, 0, sizeof how);
    how.type = type;
    *n = 0;
    s = spmv__estimator_make(&e, &none, &how, NULL, t, 0, hooks);
    if (!s) s = spmv__find_candidates(&e);
    for (i = e.measured; i < e.cands && *n < room && !s && e.rates == type; i++) out[(*n)++] = *e.cand[i].layout;
    spmv__estimator_free(&e);
    return s;
}

const spmv_tune_fit *library_fit_of(const spmv_tuning *t, spmv_type type, const spmv_spec *layout, const char *variant)
{
    spmv__candidate k;
    memset(&k, 0, sizeof k);
    k.layout = layout;
    k.variant = variant;
    return spmv__fit_of(t, type, &k);
}

double library_work_unit(spmv_work w)
{
    return spmv__work_unit(w);
}

double library_work_term(const spmv_tuning *t, spmv_format f, const double work[SPMV_WORK_COUNT], double rates)
{
    return spmv__work_term(t, f, work, rates);
}

int library_runs_alike(const spmv_spec *a, const spmv_spec *b)
{
    return spmv__runs_alike(a, b);
}

spmv_alike library_how_alike(const spmv_spec *a, const spmv_spec *b)
{
    spmv__likeness one, two;
    memset(&one, 0, sizeof one);
    memset(&two, 0, sizeof two);
    spmv__likeness_add(&one, a);
    spmv__likeness_add(&two, b);
    return spmv__how_alike(&one, &two);
}

spmv_key library_slower_key(spmv_format f)
{
    return spmv__trait[f]->slower;
}

void *library_large_block(size_t bytes)
{
    return spmv__large_block(bytes);
}
