/* SPDX-License-Identifier: MIT
 *
 * spmv/plan/store.h - all parts of a matrix, and their products on the host.
 */
#ifndef SPMV__PLAN_STORE_H
#define SPMV__PLAN_STORE_H

#include "split.h"

/* ---- all parts together ------------------------------------------------------------------------------------------ */

/* 1 if a product with the part sets every row of y, so that it can apply beta itself when it is multiplied first. p: NULL: there is none */
SPMV__SHARED int spmv__part_covers(const spmv_part *p, uint64_t matrix_rows)
{
    return p && p->rows == matrix_rows && !(spmv_format_flags(p->spec.format) & SPMV_ADDS_ONLY); /* a list of all rows names each once */
}

/* Makes room for so many parts, and behind them for a plan of count parts. */
static spmv_status spmv__store_room(spmv_store *out, int count, int stored)
{
    void *block;
    spmv_status s = spmv__new(&out->hooks, &block, (uint64_t)stored * sizeof *out->part + (uint64_t)count * sizeof *out->plan, 1, 0);
    if (s) return s;
    out->part = (spmv_part *)block;
    out->plan = (spmv_spec *)(void *)(out->part + stored);
    out->plan_count = count;
    return SPMV_OK;
}

/* Makes room for so many parts and copies the plan, unless out has both. */
static spmv_status spmv__store_keep(spmv_store *out, const spmv_spec *plan, int count, int stored)
{
    spmv_status s = out->plan ? SPMV_OK : spmv__store_room(out, count, stored);
    if (!s && out->plan != plan) memcpy(out->plan, plan, (size_t)count * sizeof *plan);
    return s;
}

/* Builds every part of the split that holds nonzeros. On failure out->count parts are to be freed. */
static spmv_status spmv__store_parts(spmv_store *out, const spmv_spec *plan, const spmv_split *split, const spmv_csr *a,
                                     const spmv_build *how)
{
    spmv_hooks hooks = out->hooks;
    int i, stored = 0;
    spmv_status s;
    for (i = 0; i < split->count; i++) stored += split->nnz[i] != 0;
    s = spmv__store_keep(out, plan, split->count, stored);
    for (i = 0; i < split->count && !s; i++) {
        spmv_view view = spmv_split_view(split, a, i);
        if (!split->nnz[i]) continue;
        if (split->count > 1) hooks.part = i + 1;
        s = spmv__part_create(&out->part[out->count], &plan[i], &view, how, &hooks);
        if (!s) out->part[out->count++].index = i;
    }
    return s;
}

/* Splits the matrix by a plan and stores the parts. A split is large, so its frame is kept apart. */
SPMV__APART spmv_status spmv__store_split(spmv_store *out, const spmv_spec *plan, int count, const spmv_csr *a, const spmv_build *how)
{
    spmv_split split;
    spmv_status s = spmv__split_there(&split, plan, count, a, how->converter, &out->hooks);
    if (s) return s;
    s = spmv__store_parts(out, plan, &split, a, how);
    spmv_split_destroy(&split);
    return s;
}

/* Stores a plan of one part that takes all rows as they are. Nothing is split, so that a small matrix costs no more than its part. */
static spmv_status spmv__store_whole(spmv_store *out, const spmv_spec *spec, const spmv_csr *a, const spmv_build *how)
{
    spmv_view view;
    spmv_status s;
    memset(&view, 0, sizeof view);
    view.a = a;
    view.rows = a->rows;
    s = spmv__store_keep(out, spec, 1, a->nnz != 0);
    if (s || !a->nnz) return s;
    s = spmv__part_create(out->part, spec, &view, how, &out->hooks);
    if (!s) out->count = 1;
    return s;
}

/* Stores a by a valid plan in out, where hooks are set and all else is zero, but for a plan of one part, which may be there with room for
 * that. On failure out is zeroed. */
static spmv_status spmv__store_by_plan(spmv_store *out, const spmv_spec *plan, int count, const spmv_csr *a, const spmv_build *how)
{
    spmv_status s;
    out->type = spmv__type(how->type);
    out->rows = a->rows;
    out->cols = a->cols;
    out->nnz = a->nnz;
    if (count == 1 && spmv__takes_all(plan) && !plan->key[SPMV_KEY_ROWS]) s = spmv__store_whole(out, plan, a, how);
    else s = spmv__store_split(out, plan, count, a, how);
    if (s) spmv_store_destroy(out);
    return s;
}

SPMV_API spmv_status spmv_store_create(spmv_store *out, const spmv_plan *plan, const spmv_csr *a, const spmv_build *how,
                                       const spmv_hooks *hooks)
{
    spmv_status s;
    if (!out || !plan || !a || !how)
        return spmv__null(hooks, "spmv_store_create", !out ? "out" : !plan ? "plan" : !a ? "a" : "how", out, sizeof *out);
    memset(out, 0, sizeof *out);
    s = spmv__plan_check(plan, how->strict, hooks);
    if (s) return s;
    if (hooks) out->hooks = *hooks;
    return spmv__store_by_plan(out, plan->part, plan->count, a, how);
}

/* Writes the shares of the nonzeros as spmv_split_print does; nothing if store is NULL. */
SPMV__SHARED size_t spmv__store_shares(const spmv_store *store, char *out, size_t size)
{
    spmv__text text;
    int i;
    spmv__text_open(&text, out, size);
    for (i = 0; store && i < store->count; i++) spmv__put_share(&text, store->part[i].spec.format, store->part[i].nnz, store->nnz);
    return spmv__text_close(&text);
}

/* SPMV_ERR_FIXED unless all parts can hold these values of the CSR matrix. */
SPMV__SHARED spmv_status spmv__store_fits(spmv_store *store, const void *val)
{
    spmv_status s = SPMV_OK;
    int i;
    for (i = 0; i < store->count && !s; i++) s = spmv__part_new_values(&store->part[i], val);
    return s;
}

SPMV_API spmv_status spmv_store_update(spmv_store *store, const spmv_csr *a)
{
    if (!store || !a) return spmv__null(store ? &store->hooks : NULL, "spmv_store_update", !store ? "store" : "a", NULL, 0);
    spmv_status s = spmv__store_fits(store, a->val); /* or none changes */
    int i;
    for (i = 0; i < store->count && !s; i++) s = spmv_part_update(&store->part[i], a->val);
    return s;
}

SPMV_API void spmv_store_destroy(spmv_store *store)
{
    spmv_hooks hooks;
    int i;
    if (!store) return;
    hooks = store->hooks;
    for (i = 0; i < store->count; i++) spmv_part_destroy(&store->part[i]);
    spmv_free(&hooks, store->part);
    memset(store, 0, sizeof *store);
}

SPMV_API uint64_t spmv_store_bytes(const spmv_store *store)
{
    uint64_t bytes = 0;
    int i;
    for (i = 0; store && i < store->count; i++) bytes += spmv_part_bytes(&store->part[i]);
    return bytes;
}

SPMV_API uint64_t spmv_store_slots(const spmv_store *store)
{
    uint64_t slots = 0;
    int i;
    for (i = 0; store && i < store->count; i++) slots += spmv_part_slots(&store->part[i]);
    return slots;
}

/* y = alpha A x + beta y with one vector (many NULL) or several one after another, which are checked. */
static void spmv__store_mul(const spmv_store *store, const spmv__many *many, double alpha, const void *x, double beta, void *y)
{
    const spmv_part *first = store->count ? &store->part[0] : NULL;
    const int sets = first && !(spmv_format_flags(first->spec.format) & SPMV_ADDS_ONLY);
    const int covered = spmv__part_covers(first, store->rows);
    int i;
    if (!covered) spmv__scale_rows(store->type, NULL, store->rows, many, beta, y);
    for (i = 0; i < store->count; i++) /* the first part need not read zeros */
        spmv__part_mul(&store->part[i], many, alpha, x, i || !sets || (!covered && beta != 0) ? 1.0 : beta, y);
}

/* The same for spmv__many_packed. */
SPMV__SHARED spmv_status spmv__store_mul_columns(const void *of, const spmv__many *many, double alpha, const void *x, double beta, void *y)
{
    spmv__store_mul((const spmv_store *)of, many, alpha, x, beta, y);
    return SPMV_OK;
}

/* For several, in either order. Fails only where memory is needed. */
SPMV__SHARED spmv_status spmv__store_mul_many(const spmv_store *store, const spmv__many *many, double alpha, const void *x, double beta,
                                              void *y)
{
    const spmv_part *first = store->count == 1 && spmv__part_covers(store->part, store->rows) ? store->part : NULL;
    uint64_t lanes;
    const spmv__product wide = first && alpha != 0 && first->nnz && many->count > 1 ? spmv__wide_of(first, &lanes) : NULL;
    if (wide) return spmv__part_mul_wide(first, wide, lanes, many, alpha, x, beta, y);
    return spmv__many_packed(&store->hooks, store->type, many, alpha, x, beta, y, spmv__store_mul_columns, store);
}

SPMV_API spmv_status spmv_store_mul(const spmv_store *store, double alpha, const void *x, double beta, void *y)
{
    spmv_status s;
    if (!store) return spmv__null(NULL, "spmv_store_mul", "store", NULL, 0);
    s = spmv__check_vectors(&store->hooks, "spmv_store_mul", store->type, store->rows, store->cols, alpha, x, y);
    if (!s) spmv__store_mul(store, NULL, alpha, x, beta, y);
    return s;
}

#endif
