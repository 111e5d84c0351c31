/* SPDX-License-Identifier: MIT
 *
 * spmv/device/check.h - the self-check of spmv/device.h: does every variant of every format compute the right products on a device?
 */
#ifndef SPMV__DEVICE_CHECK_H
#define SPMV__DEVICE_CHECK_H

#include "exec.h"

#include <string.h>

/* ---- the matrices and their vectors ----------------------------------------------------------------------------- */

/* A buffer of x holds whole numbers from an aligned element on, then reals from an odd one. y lies between canaries. */
enum {
    SPMV__CHECK_MATRICES = 4, SPMV__CHECK_LONGEST = 2, /* the matrix with the most nonzeros */
    SPMV__CHECK_X0 = 8, SPMV__CHECK_Y0 = 5, SPMV__CHECK_BEHIND = 9, SPMV__CHECK_CANARY = 1234
};

typedef struct spmv__check_case {
    uint32_t     rows, cols;
    uint64_t    *ptr;
    uint32_t    *col;
    double      *val, *x, *y;   /* whole numbers; in x and y followed by reals */
    void        *xd, *yd;       /* buffers */
    void        *ys, *again;    /* results: y after a product, and after the same product again */
    spmv_store   store;         /* in the layout that is being tried */
    int          stored;        /* 0: this matrix cannot have the layout */
    spmv_variant plain;         /* the variant of all defaults */
} spmv__check_case;

/* The state of one self-check. */
typedef struct spmv__checker {
    const spmv_check_desc *desc;
    spmv_check_counts     *counts;
    spmv_hooks  outer, hooks;
    spmv_device device;         /* on the caller's context and queue, with programs of its own */
    spmv_check  now;
    char        message[1024];
    spmv__check_case c[SPMV__CHECK_MATRICES];
} spmv__checker;

static void *spmv__check_resize(void *user, void *block, size_t bytes)
{
    const spmv__checker *k = (const spmv__checker *)user;
    return spmv__resize(&k->outer, block, bytes);
}

/* Keeps the first message about a variant, which tells the cause. */
static void spmv__check_hear(void *user, spmv_status s, const char *message)
{
    spmv__checker *k = (spmv__checker *)user;
    (void)s;
    if (!k->message[0]) spmv_print(k->message, sizeof k->message, "%s", message);
}

static uint32_t spmv__check_noise(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static double spmv__check_whole(uint32_t *state)
{
    double v = 1 + (double)(spmv__check_noise(state) % 3);
    return spmv__check_noise(state) % 2 ? v : -v;
}

/* 1: the matrix has an entry at (r, c). Matrix 0 has diagonals and blocks; 1 is scattered, with empty rows, a full one, and a column
 * that all others use; 2 has rows of 0 to 62; 3 has few rows, some of them long enough to be cut into pieces. */
static int spmv__check_filled(int which, uint32_t r, uint32_t c)
{
    switch (which) {
    case 0: return c == r || c == r + 1 || c + 3 == r || (r / 6 == 4 && c / 6 == 2) || (r > 30 && c == 0);
    case 1: return r % 5 != 2 ? c == 50 || (r * 31 + c * 17 + r * c % 7) % 23 == 0 : r == 17;
    case 2: return c < r * 7 % 71 && (r + c) % 9 != 5;
    default: return r != 3 && (c + r) % 9 != 0;
    }
}

static void *spmv__check_new(spmv__checker *k, uint64_t count, uint64_t size, spmv_status *s)
{
    void *block = *s ? NULL : spmv_alloc(&k->hooks, count, size);
    if (!*s && !block) *s = spmv__no_memory(&k->hooks, count, size);
    if (block) memset(block, 0, (size_t)(count * size));
    return block;
}

/* Fills in the nonzeros of a matrix whose row pointers are set, in whole numbers. */
static void spmv__check_entries(spmv__check_case *c, int which, uint32_t *state)
{
    uint64_t n = 0;
    uint32_t r, j;
    for (r = 0; r < c->rows; r++)
        for (j = 0; j < c->cols; j++)
            if (spmv__check_filled(which, r, j)) {
                c->col[n] = j;
                c->val[n++] = spmv__check_whole(state);
            }
}

/* Fills a vector with n whole numbers, then n reals between -1 and 1 that a float can hold, so that every type begins with the same. */
static void spmv__check_vector(double *v, uint32_t n, uint32_t *state)
{
    uint32_t i;
    for (i = 0; i < 2 * n; i++) v[i] = i < n ? spmv__check_whole(state) : (double)spmv__check_noise(state) / 8388608.0 - 1;
}

/* Makes matrix number which and its vectors. */
static spmv_status spmv__check_make(spmv__checker *k, int which)
{
    static const uint32_t shape[SPMV__CHECK_MATRICES][2] = { { 45, 41 }, { 33, 70 }, { 142, 71 }, { 5, 300 } };
    spmv__check_case *c = &k->c[which];
    uint32_t r, j, state = 7u + (uint32_t)which;
    uint64_t n = 0;
    spmv_status s = SPMV_OK;
    c->rows = shape[which][0];
    c->cols = shape[which][1];
    c->ptr = (uint64_t *)spmv__check_new(k, c->rows + 1, sizeof *c->ptr, &s);
    for (r = 0; !s && r < c->rows; r++) {
        for (j = 0; j < c->cols; j++) n += (uint64_t)spmv__check_filled(which, r, j);
        c->ptr[r + 1] = n;
    }
    c->col = (uint32_t *)spmv__check_new(k, n, sizeof *c->col, &s);
    c->val = (double *)spmv__check_new(k, n, sizeof *c->val, &s);
    c->x = (double *)spmv__check_new(k, 2 * (uint64_t)c->cols, sizeof *c->x, &s);
    c->y = (double *)spmv__check_new(k, 2 * (uint64_t)c->rows, sizeof *c->y, &s);
    c->ys = spmv__check_new(k, c->rows + SPMV__CHECK_Y0 + SPMV__CHECK_BEHIND, sizeof(double), &s);
    c->again = spmv__check_new(k, c->rows + SPMV__CHECK_Y0 + SPMV__CHECK_BEHIND, sizeof(double), &s);
    if (s) return s;
    spmv__check_entries(c, which, &state);
    spmv__check_vector(c->x, c->cols, &state);
    spmv__check_vector(c->y, c->rows, &state);
    return SPMV_OK;
}

static void spmv__check_set(spmv_type t, void *v, uint64_t i, double x)
{
    if (t == SPMV_F32) ((float *)v)[i] = (float)x;
    else ((double *)v)[i] = x;
}

static double spmv__check_get(spmv_type t, const void *v, uint64_t i)
{
    return t == SPMV_F32 ? (double)((const float *)v)[i] : ((const double *)v)[i];
}

/* Where the reals of x begin: an odd element after the whole numbers. */
static uint64_t spmv__check_x_reals(const spmv__check_case *c)
{
    return ((uint64_t)SPMV__CHECK_X0 + c->cols + SPMV__CHECK_BEHIND) | 1;
}

static uint64_t spmv__check_x_size(const spmv__check_case *c)
{
    return spmv__check_x_reals(c) + c->cols + SPMV__CHECK_BEHIND;
}

static uint64_t spmv__check_y_size(const spmv__check_case *c)
{
    return (uint64_t)SPMV__CHECK_Y0 + c->rows + SPMV__CHECK_BEHIND;
}

/* Creates the buffers of a matrix's vectors; the elements around x are NaN. */
static spmv_status spmv__check_buffers(spmv__checker *k, spmv__check_case *c, spmv_type type)
{
    uint64_t i, size = spmv_vector_size(type), bytes = spmv__check_x_size(c) * size, reals = spmv__check_x_reals(c);
    spmv_status s = SPMV_OK;
    void *x = spmv__check_new(k, spmv__check_x_size(c), size, &s);
    if (!s) {
        memset(x, 0xff, (size_t)bytes);
        for (i = 0; i < c->cols; i++) {
            spmv__check_set(type, x, SPMV__CHECK_X0 + i, c->x[i]);
            spmv__check_set(type, x, reals + i, c->x[c->cols + i]);
        }
        s = spmv__dev_new_buffer(&k->device, bytes, 1, &c->xd);
    }
    if (!s) s = spmv__dev_new_buffer(&k->device, spmv__check_y_size(c) * size, 0, &c->yd);
    if (!s) s = k->device.info.backend->write(&k->device, k->device.queue, c->xd, bytes, x);
    spmv_free(&k->hooks, x);
    return s;
}

static void spmv__check_buffers_free(const spmv__checker *k, spmv__check_case *c)
{
    spmv__dev_buffer_free(&k->device, c->xd);
    spmv__dev_buffer_free(&k->device, c->yd);
    c->xd = c->yd = NULL;
}

/* Computes one product, real or of whole numbers, into out. y begins as NaN where beta is 0, so that reading it would show. */
static spmv_status spmv__check_product(spmv__checker *k, spmv__check_case *c, spmv_exec *e, int real, double alpha,
                                       double beta, void *out)
{
    const spmv_device *d = &k->device;
    spmv_type t = k->now.type;
    uint64_t i, n = spmv__check_y_size(c);
    size_t bytes = (size_t)(n * spmv_vector_size(t));
    spmv_status s;
    memset(out, 0xff, bytes);
    for (i = 0; i < n; i++) {
        int inside = i >= SPMV__CHECK_Y0 && i < SPMV__CHECK_Y0 + (uint64_t)c->rows;
        if (!inside) spmv__check_set(t, out, i, SPMV__CHECK_CANARY);
        else if (beta != 0) spmv__check_set(t, out, i, c->y[i - SPMV__CHECK_Y0 + (real ? c->rows : 0)]);
    }
    k->counts->products++;
    s = d->info.backend->write(d, d->queue, c->yd, bytes, out);
    if (!s) s = spmv_exec_mul(e, alpha, c->xd, real ? spmv__check_x_reals(c) : (uint64_t)SPMV__CHECK_X0, beta, c->yd,
                              SPMV__CHECK_Y0);
    if (!s) s = d->info.backend->read(d, d->queue, c->yd, bytes, out, NULL);
    return s;
}

static long double spmv__check_abs(long double v) { return v < 0 ? -v : v; }

/* 1 if the result in c->ys is right; else logs what is wrong. */
static int spmv__check_right(spmv__checker *k, const spmv__check_case *c, int real, double alpha, double beta)
{
    spmv_type t = k->now.type;
    const double *x = c->x + (real ? c->cols : 0), *y = c->y + (real ? c->rows : 0);
    long double u = t == SPMV_F32 ? 1.0L / 16777216 : 1.0L / 9007199254740992.0L;
    uint64_t i, j, n = spmv__check_y_size(c);
    for (i = 0; i < n; i++) {
        double got = spmv__check_get(t, c->ys, i);
        long double sum = 0, size = 0, want, most;
        uint64_t r = i - SPMV__CHECK_Y0;
        if (i < SPMV__CHECK_Y0 || r >= c->rows) {
            if (got == (double)SPMV__CHECK_CANARY) continue;
            spmv__check_hear(k, SPMV_OK, i < SPMV__CHECK_Y0 ? "the kernel writes before y" : "the kernel writes after y");
            return 0;
        }
        for (j = c->ptr[r]; j < c->ptr[r + 1]; j++) {
            long double term = (long double)c->val[j] * x[c->col[j]];
            sum += term;
            size += spmv__check_abs(term);
        }
        want = alpha * sum + (beta != 0 ? (long double)beta * y[r] : 0);
        size = spmv__check_abs(alpha) * size + spmv__check_abs((long double)beta * y[r]);
        most = real ? (long double)(c->ptr[r + 1] - c->ptr[r] + 4) * u * size : 0;
        if (spmv__check_abs(got - want) <= most) continue;
        spmv_log(&k->hooks, SPMV_OK, "%ux%u, %s, alpha %f, beta %f: row %llu is %f, expected %f", (unsigned)c->rows, (unsigned)c->cols,
                  real ? "reals" : "integers", alpha, beta, (spmv__ull)r, got, (double)want);
        return 0;
    }
    return 1;
}

/* Computes all products with one matrix and clears now.exact or now.bound if one is wrong. atomic: sums may vary in their last bits. */
static spmv_status spmv__check_products(spmv__checker *k, spmv__check_case *c, spmv_exec *e, int atomic)
{
    static const double alpha[2][2] = { { 1, -2 }, { 1, -2.5 } }, beta[2][2] = { { 0, 3 }, { 0, 1.5 } };
    size_t bytes = (size_t)(spmv__check_y_size(c) * spmv_vector_size(k->now.type));
    spmv_status s = SPMV_OK;
    int brief = k->desc->brief, first = brief && c != k->c, last = brief ? first : 1, real, i;
    for (real = 0; real < 2 - brief; real++)
        for (i = first; !s && i <= last; i++) {
            s = spmv__check_product(k, c, e, real, alpha[real][i], beta[real][i], c->ys);
            if (!s && !spmv__check_right(k, c, real, alpha[real][i], beta[real][i]))
                *(real ? &k->now.bound : &k->now.exact) = 0;
        }
    if (atomic || brief) return s;
    if (!s) s = spmv__check_product(k, c, e, 1, alpha[1][1], beta[1][1], c->again);
    if (!s && memcmp(c->ys, c->again, bytes) != 0) {
        k->now.bound = 0;
        spmv__check_hear(k, SPMV_OK, "the same product gave different bits the second time");
    }
    return s;
}

/* Tries one variant (NULL: all defaults) with one matrix; skips the products if the variant is the default one, else sets *own. */
static spmv_status spmv__check_matrix(spmv__checker *k, spmv__check_case *c, const spmv_variant *wish, int *own)
{
    spmv_device_matrix m;
    spmv_exec e;
    const spmv_variant *v;
    spmv_status s = spmv_device_matrix_create(&m, &k->device, c->rows, c->cols, k->now.type, c->store.part,
                                   (size_t)c->store.count, wish);
    if (s) return s;
    v = spmv_device_matrix_variant(&m, 0);
    if (!wish) c->plain = *v;
    if (!wish || v->set != c->plain.set || memcmp(v->value, c->plain.value, sizeof v->value) != 0) {
        *own = 1;
        s = spmv_exec_create(&e, &m, NULL);
        if (!s) s = spmv__check_products(k, c, &e, v->value[SPMV_KNOB_ATOMIC] != 0);
        spmv_exec_destroy(&e);
    }
    spmv_device_matrix_destroy(&m);
    return s;
}

static spmv_check_result spmv__check_judge(spmv_status s, const spmv_check *c)
{
    if (spmv_status_is_refusal(s) || s == SPMV_ERR_NO_F64) return SPMV_CHECK_REFUSED;
    if (s) return SPMV_CHECK_FAILED;
    return c->exact && c->bound ? SPMV_CHECK_USABLE : SPMV_CHECK_WRONG;
}

static void spmv__check_report(spmv__checker *k, spmv_check_result result, spmv_status s)
{
    k->now.result = result;
    k->now.status = s;
    k->now.message = k->message;
    if (s && !k->message[0]) k->now.message = spmv_status_text(s);
    if (k->desc->report) k->desc->report(k->desc->user, &k->now);
}

/* Tries one variant with all matrices, counts and reports it. *out gets the status of the attempt; the function fails only with
 * SPMV_ERR_MEMORY, which ends the check. */
static spmv_status spmv__check_variant(spmv__checker *k, const spmv_variant *wish, spmv_status *out)
{
    char text[SPMV_VARIANT_TEXT];
    spmv_check_result result;
    spmv_status s = SPMV_OK;
    int i, own = 0;
    text[0] = 0;
    if (wish) spmv_variant_print(wish, text, sizeof text);
    k->now.variant = text;
    k->now.exact = k->now.bound = 1;
    k->now.built = 0;
    k->message[0] = 0;
    spmv__check_report(k, SPMV_CHECK_BEGINS, SPMV_OK);
    for (i = 0; !s && i < SPMV__CHECK_MATRICES; i++)
        if (k->c[i].stored) s = spmv__check_matrix(k, &k->c[i], wish, &own);
    *out = s;
    if (s == SPMV_ERR_MEMORY) return s;
    /* the combination does not exist, or the value changes nothing here: not counted */
    if (s == SPMV_ERR_ARGUMENT || s == SPMV_ERR_PLAN || (!s && !own)) return SPMV_OK;
    k->now.built = s == SPMV_OK;
    if (s) k->now.exact = k->now.bound = 0;
    result = spmv__check_judge(s, &k->now);
    k->counts->variants++;
    k->counts->usable += result == SPMV_CHECK_USABLE;
    k->counts->refused += result == SPMV_CHECK_REFUSED;
    k->counts->failed += result == SPMV_CHECK_FAILED;
    k->counts->wrong += result == SPMV_CHECK_WRONG;
    spmv__check_report(k, result, s);
    return SPMV_OK;
}

/* Tries every value of each knob from number first on, added to the knobs in v. deep: pairs with later knobs as well. */
static spmv_status spmv__check_knobs(spmv__checker *k, const spmv_variant *v, int first, int deep)
{
    spmv_status s = SPMV_OK, what;
    int knob;
    for (knob = first; !s && knob < SPMV_KNOB_COUNT; knob++) {
        int values[64];
        size_t i, n = spmv_knob_values(k->now.format, (spmv_knob)knob, values, 64);
        for (i = 0; !s && i < n && i < 64; i++) {
            spmv_variant next = *v;
            spmv__dev_knob_choose(&next, (spmv_knob)knob, values[i]);
            s = spmv__check_variant(k, &next, &what);
            if (!s && deep) s = spmv__check_knobs(k, &next, knob + 1, 0);
        }
    }
    return s;
}

/* Stores a matrix in the layout being tried; c->stored stays 0 if it cannot have that layout. */
static spmv_status spmv__check_store(spmv__checker *k, spmv__check_case *c)
{
    spmv_plan plan;
    spmv_input in;
    spmv_build how;
    spmv_csr csr;
    spmv_status s;
    memset(&in, 0, sizeof in);
    memset(&how, 0, sizeof how);
    in.rows = c->rows;
    in.cols = c->cols;
    in.ptr = c->ptr;
    in.ptr_bits = 64;
    in.col = c->col;
    in.val = c->val;
    in.val_type = SPMV_F64;
    how.type = k->now.type;
    how.reproducible = k->desc->reproducible;
    s = spmv_plan_parse(&plan, k->now.plan, NULL, &k->hooks);
    if (!s) s = spmv_csr_create(&csr, &in, how.type, &k->hooks);
    if (s) return s;
    s = spmv_store_create(&c->store, &plan, &csr, &how, &k->hooks);
    spmv_csr_destroy(&csr);
    c->stored = !s;
    return spmv_status_is_refusal(s) && s != SPMV_ERR_MEMORY ? SPMV_OK : s; /* without memory the check ends */
}

/* Tries all variants of one layout, then frees its stores and programs. */
static spmv_status spmv__check_layout(spmv__checker *k, const char *plan)
{
    spmv_variant none;
    spmv_status s = SPMV_OK, what = SPMV_OK;
    int i, any = 0;
    memset(&none, 0, sizeof none);
    k->now.plan = plan;
    k->message[0] = 0;
    for (i = 0; !s && i < SPMV__CHECK_MATRICES; i++) {
        if (i == SPMV__CHECK_LONGEST && k->desc->brief) continue;
        s = spmv__check_store(k, &k->c[i]);
        any |= k->c[i].stored;
    }
    if (!s && any) s = spmv__check_variant(k, NULL, &what);
    if (!s && any && what != SPMV_ERR_NO_F64) s = spmv__check_knobs(k, &none, 0, k->desc->pairs);
    for (i = 0; i < SPMV__CHECK_MATRICES; i++) {
        if (k->c[i].stored) spmv_store_destroy(&k->c[i].store);
        k->c[i].stored = 0;
    }
    spmv__programs_free(&k->device);
    return s;
}

/* The length of the first word in *list, whose beginning it moves to; 0 if there is none. */
static size_t spmv__check_word(const char **list)
{
    size_t n = 0;
    while (**list == ' ') ++*list;
    while ((*list)[n] && (*list)[n] != ' ') n++;
    return n;
}

/* Tries the layouts that the format's record names. */
static spmv_status spmv__check_format(spmv__checker *k, spmv_format f)
{
    const char *p = spmv__dev_formats[f]->check;
    char plan[128];
    size_t n;
    spmv_status s = SPMV_OK;
    k->now.format = f;
    for (; !s && (n = spmv__check_word(&p)) != 0; p += n) {
        spmv_print(plan, n + 1 < sizeof plan ? n + 1 : sizeof plan, "%s", p);
        s = spmv__check_layout(k, plan);
    }
    return s;
}

/* Tries all chosen formats with one type. */
static spmv_status spmv__check_type(spmv__checker *k, spmv_type t)
{
    spmv_status s = SPMV_OK;
    int f, i;
    k->now.type = t;
    for (i = 0; !s && i < SPMV__CHECK_MATRICES; i++) s = spmv__check_buffers(k, &k->c[i], t);
    for (f = 0; !s && f < SPMV_FORMAT_COUNT; f++) {
        if (!spmv_format_built((spmv_format)f) || (k->desc->formats && !(k->desc->formats >> f & 1u))) continue;
        if (k->desc->reproducible && !(spmv_format_flags((spmv_format)f) & SPMV_REPEATS)) continue;
        s = spmv__check_format(k, (spmv_format)f);
    }
    for (i = 0; i < SPMV__CHECK_MATRICES; i++) spmv__check_buffers_free(k, &k->c[i]);
    return s;
}

/* Frees matrices, vectors and what the copy of the device keeps. */
static void spmv__check_free(spmv__checker *k)
{
    int i;
    for (i = 0; i < SPMV__CHECK_MATRICES; i++) {
        spmv__check_case *c = &k->c[i];
        spmv_free(&k->hooks, c->ptr);
        spmv_free(&k->hooks, c->col);
        spmv_free(&k->hooks, c->val);
        spmv_free(&k->hooks, c->x);
        spmv_free(&k->hooks, c->y);
        spmv_free(&k->hooks, c->ys);
        spmv_free(&k->hooks, c->again);
    }
    if (k->device.common) k->device.common->images = NULL; /* they belong to the device that is checked */
    spmv__common_free(&k->device);
}

SPMV_API spmv_status spmv_self_check(spmv_device *d, const spmv_check_desc *desc, spmv_check_counts *counts)
{
    if (!d || !counts) return spmv__null(d ? &d->hooks : NULL, "spmv_self_check", !d ? "d" : "counts", counts, sizeof *counts);
    if (!spmv__dev_is_here(d)) return spmv__dev_not_here(d, "spmv_self_check", counts, sizeof *counts);
    spmv_check_desc all;
    spmv_hooks h = d->hooks;
    spmv__checker *k = (spmv__checker *)spmv_alloc(&h, 1, sizeof *k);
    spmv_status s = SPMV_OK;
    int i;
    memset(counts, 0, sizeof *counts);
    memset(&all, 0, sizeof all);
    if (!k) return spmv__no_memory(&h, 1, sizeof *k);
    memset(k, 0, sizeof *k);
    k->desc = desc ? desc : &all;
    k->counts = counts;
    k->outer = h;
    k->hooks.user = k;
    k->hooks.resize = spmv__check_resize;
    k->hooks.log = spmv__check_hear;
    k->device = spmv__dev_quiet(d);
    k->device.hooks = k->hooks;
    s = spmv__common_make(&k->device); /* programs and memory of its own */
    if (!s) k->device.common->images = spmv__dev_images(d);
    for (i = 0; !s && i < SPMV__CHECK_MATRICES; i++) s = spmv__check_make(k, i);
    for (i = SPMV_F64; !s && i < SPMV_TYPE_COUNT; i++)
        if (!k->desc->types || k->desc->types >> i & 1u) s = spmv__check_type(k, (spmv_type)i);
    if (s) spmv_log(&h, s, "self-check: %s", k->message);
    spmv__check_free(k);
    spmv_free(&h, k);
    return s;
}

#endif
