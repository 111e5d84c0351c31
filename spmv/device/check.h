/* SPDX-License-Identifier: MIT
 *
 * spmv/device/check.h - the self-check of spmv/device.h: does every variant of every format compute the right products on a device?
 */
#ifndef SPMV__DEVICE_CHECK_H
#define SPMV__DEVICE_CHECK_H

#include "many.h"

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
    spmv__check_case test[SPMV__CHECK_MATRICES];
} spmv__checker;

static void *spmv__check_resize(void *user, void *block, size_t bytes)
{
    const spmv__checker *checker = (const spmv__checker *)user;
    return spmv__resize(&checker->outer, block, bytes);
}

/* Keeps the first message about a variant, which tells the cause. */
static void spmv__check_hear(void *user, spmv_status s, const char *message)
{
    spmv__checker *checker = (spmv__checker *)user;
    (void)s;
    if (!checker->message[0]) spmv_print(checker->message, sizeof checker->message, "%s", message);
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

static void *spmv__check_new(spmv__checker *checker, uint64_t count, uint64_t size, spmv_status *s)
{
    void *block = *s ? NULL : spmv_alloc(&checker->hooks, count, size);
    if (!*s && !block) *s = spmv__no_memory(&checker->hooks, count, size);
    if (block) memset(block, 0, (size_t)(count * size));
    return block;
}

/* Fills in the nonzeros of a matrix whose row pointers are set, in whole numbers. */
static void spmv__check_entries(spmv__check_case *test, int which, uint32_t *state)
{
    uint64_t n = 0;
    uint32_t r, j;
    for (r = 0; r < test->rows; r++)
        for (j = 0; j < test->cols; j++)
            if (spmv__check_filled(which, r, j)) {
                test->col[n] = j;
                test->val[n++] = spmv__check_whole(state);
            }
}

/* Fills a vector with n whole numbers, then n reals between -1 and 1 that a float can hold, so that every type begins with the same. */
static void spmv__check_vector(double *v, uint32_t n, uint32_t *state)
{
    uint32_t i;
    for (i = 0; i < 2 * n; i++) v[i] = i < n ? spmv__check_whole(state) : (double)spmv__check_noise(state) / 8388608.0 - 1;
}

/* Makes matrix number which and its vectors. */
static spmv_status spmv__check_case_create(spmv__checker *checker, int which)
{
    static const uint32_t shape[SPMV__CHECK_MATRICES][2] = { { 45, 41 }, { 33, 70 }, { 142, 71 }, { 5, 300 } };
    spmv__check_case *test = &checker->test[which];
    uint32_t r, j, state = 7u + (uint32_t)which;
    uint64_t n = 0;
    spmv_status s = SPMV_OK;
    test->rows = shape[which][0];
    test->cols = shape[which][1];
    test->ptr = (uint64_t *)spmv__check_new(checker, test->rows + 1, sizeof *test->ptr, &s);
    for (r = 0; !s && r < test->rows; r++) {
        for (j = 0; j < test->cols; j++) n += (uint64_t)spmv__check_filled(which, r, j);
        test->ptr[r + 1] = n;
    }
    test->col = (uint32_t *)spmv__check_new(checker, n, sizeof *test->col, &s);
    test->val = (double *)spmv__check_new(checker, n, sizeof *test->val, &s);
    test->x = (double *)spmv__check_new(checker, 2 * (uint64_t)test->cols, sizeof *test->x, &s);
    test->y = (double *)spmv__check_new(checker, 2 * (uint64_t)test->rows, sizeof *test->y, &s);
    test->ys = spmv__check_new(checker, test->rows + SPMV__CHECK_Y0 + SPMV__CHECK_BEHIND, sizeof(double), &s);
    test->again = spmv__check_new(checker, test->rows + SPMV__CHECK_Y0 + SPMV__CHECK_BEHIND, sizeof(double), &s);
    if (s) return s;
    spmv__check_entries(test, which, &state);
    spmv__check_vector(test->x, test->cols, &state);
    spmv__check_vector(test->y, test->rows, &state);
    return SPMV_OK;
}

static void spmv__check_set(spmv_type type, void *vector, uint64_t i, double x)
{
    if (type == SPMV_F32) ((float *)vector)[i] = (float)x;
    else ((double *)vector)[i] = x;
}

static double spmv__check_get(spmv_type type, const void *vector, uint64_t i)
{
    return type == SPMV_F32 ? (double)((const float *)vector)[i] : ((const double *)vector)[i];
}

/* Where the reals of x begin: an odd element after the whole numbers. */
static uint64_t spmv__check_x_reals(const spmv__check_case *test)
{
    return ((uint64_t)SPMV__CHECK_X0 + test->cols + SPMV__CHECK_BEHIND) | 1;
}

static uint64_t spmv__check_x_size(const spmv__check_case *test)
{
    return spmv__check_x_reals(test) + test->cols + SPMV__CHECK_BEHIND;
}

static uint64_t spmv__check_y_size(const spmv__check_case *test)
{
    return (uint64_t)SPMV__CHECK_Y0 + test->rows + SPMV__CHECK_BEHIND;
}

/* Creates the buffers of a matrix's vectors; the elements around x are NaN. */
static spmv_status spmv__check_buffers(spmv__checker *checker, spmv__check_case *test, spmv_type type)
{
    uint64_t i, size = spmv_vector_size(type), bytes = spmv__check_x_size(test) * size, reals = spmv__check_x_reals(test);
    spmv_status s = SPMV_OK;
    void *x = spmv__check_new(checker, spmv__check_x_size(test), size, &s);
    if (!s) {
        memset(x, 0xff, (size_t)bytes);
        for (i = 0; i < test->cols; i++) {
            spmv__check_set(type, x, SPMV__CHECK_X0 + i, test->x[i]);
            spmv__check_set(type, x, reals + i, test->x[test->cols + i]);
        }
        s = spmv__dev_new_buffer(&checker->device, bytes, 1, &test->xd);
    }
    if (!s) s = spmv__dev_new_buffer(&checker->device, spmv__check_y_size(test) * size, 0, &test->yd);
    if (!s) s = checker->device.info.backend->write(&checker->device, checker->device.queue, test->xd, bytes, x);
    spmv_free(&checker->hooks, x);
    return s;
}

static void spmv__check_buffers_free(const spmv__checker *checker, spmv__check_case *test)
{
    spmv__dev_buffer_free(&checker->device, test->xd);
    spmv__dev_buffer_free(&checker->device, test->yd);
    test->xd = test->yd = NULL;
}

/* Computes one product, real or of whole numbers, into out. y begins as NaN where beta is 0, so that reading it would show. */
static spmv_status spmv__check_product(spmv__checker *checker, spmv__check_case *test, spmv_exec *exec, int real, double alpha,
                                       double beta, void *out)
{
    const spmv_device *device = &checker->device;
    spmv_type type = checker->now.type;
    uint64_t i, n = spmv__check_y_size(test);
    size_t bytes = (size_t)(n * spmv_vector_size(type));
    spmv_status s;
    memset(out, 0xff, bytes);
    for (i = 0; i < n; i++) {
        int inside = i >= SPMV__CHECK_Y0 && i < SPMV__CHECK_Y0 + (uint64_t)test->rows;
        if (!inside) spmv__check_set(type, out, i, SPMV__CHECK_CANARY);
        else if (beta != 0) spmv__check_set(type, out, i, test->y[i - SPMV__CHECK_Y0 + (real ? test->rows : 0)]);
    }
    checker->counts->products++;
    s = device->info.backend->write(device, device->queue, test->yd, bytes, out);
    if (!s) s = spmv_exec_mul(exec, alpha, test->xd, real ? spmv__check_x_reals(test) : (uint64_t)SPMV__CHECK_X0, beta, test->yd,
                              SPMV__CHECK_Y0);
    if (!s) s = device->info.backend->read(device, device->queue, test->yd, bytes, out, NULL);
    return s;
}

static long double spmv__check_abs(long double v) { return v < 0 ? -v : v; }

/* 1 if the result in test->ys is right; else logs what is wrong. */
static int spmv__check_right(spmv__checker *checker, const spmv__check_case *test, int real, double alpha, double beta)
{
    spmv_type type = checker->now.type;
    const double *x = test->x + (real ? test->cols : 0), *y = test->y + (real ? test->rows : 0);
    long double u = type == SPMV_F32 ? 1.0L / 16777216 : 1.0L / 9007199254740992.0L;
    uint64_t i, j, n = spmv__check_y_size(test);
    for (i = 0; i < n; i++) {
        double got = spmv__check_get(type, test->ys, i);
        long double sum = 0, size = 0, want, most;
        uint64_t r = i - SPMV__CHECK_Y0;
        if (i < SPMV__CHECK_Y0 || r >= test->rows) {
            if (got == (double)SPMV__CHECK_CANARY) continue;
            spmv__check_hear(checker, SPMV_OK, i < SPMV__CHECK_Y0 ? "the kernel writes before y" : "the kernel writes after y");
            return 0;
        }
        for (j = test->ptr[r]; j < test->ptr[r + 1]; j++) {
            long double term = (long double)test->val[j] * x[test->col[j]];
            sum += term;
            size += spmv__check_abs(term);
        }
        want = alpha * sum + (beta != 0 ? (long double)beta * y[r] : 0);
        size = spmv__check_abs(alpha) * size + spmv__check_abs((long double)beta * y[r]);
        most = real ? (long double)(test->ptr[r + 1] - test->ptr[r] + 4) * u * size : 0;
        if (spmv__check_abs(got - want) <= most) continue;
        spmv_log(&checker->hooks, SPMV_OK, "%ux%u, %s, alpha %f, beta %f: row %llu is %f, expected %f", (unsigned)test->rows,
                 (unsigned)test->cols, real ? "reals" : "integers", alpha, beta, (spmv__ull)r, got, (double)want);
        return 0;
    }
    return 1;
}

/* Computes all products with one matrix and clears now.exact or now.bound if one is wrong. atomic: sums may vary in their last bits. */
static spmv_status spmv__check_products(spmv__checker *checker, spmv__check_case *test, spmv_exec *exec, int atomic)
{
    static const double alpha[2][2] = { { 1, -2 }, { 1, -2.5 } }, beta[2][2] = { { 0, 3 }, { 0, 1.5 } };
    size_t bytes = (size_t)(spmv__check_y_size(test) * spmv_vector_size(checker->now.type));
    spmv_status s = SPMV_OK;
    int brief = checker->desc->brief, first = brief && test != checker->test, last = brief ? first : 1, real, i;
    for (real = 0; real < 2 - brief; real++)
        for (i = first; !s && i <= last; i++) {
            s = spmv__check_product(checker, test, exec, real, alpha[real][i], beta[real][i], test->ys);
            if (!s && !spmv__check_right(checker, test, real, alpha[real][i], beta[real][i]))
                *(real ? &checker->now.bound : &checker->now.exact) = 0;
        }
    if (atomic || brief) return s;
    if (!s) s = spmv__check_product(checker, test, exec, 1, alpha[1][1], beta[1][1], test->again);
    if (!s && memcmp(test->ys, test->again, bytes) != 0) {
        checker->now.bound = 0;
        spmv__check_hear(checker, SPMV_OK, "the same product gave different bits the second time");
    }
    return s;
}

/* Tries one variant (NULL: all defaults) with one matrix; skips the products if the variant is the default one, else sets *own. */
static spmv_status spmv__check_matrix(spmv__checker *checker, spmv__check_case *test, const spmv_variant *wish, int *own)
{
    spmv_device_matrix matrix;
    spmv_exec exec;
    const spmv_variant *variant;
    spmv_status s = spmv_device_matrix_create(&matrix, &checker->device, test->rows, test->cols, checker->now.type, test->store.part,
                                   (size_t)test->store.count, wish);
    if (s) return s;
    variant = spmv_device_matrix_variant(&matrix, 0);
    if (!wish) test->plain = *variant;
    if (!wish || variant->set != test->plain.set || memcmp(variant->value, test->plain.value, sizeof variant->value) != 0) {
        *own = 1;
        s = spmv_exec_create(&exec, &matrix, NULL);
        if (!s) s = spmv__check_products(checker, test, &exec, variant->value[SPMV_KNOB_ATOMIC] != 0);
        spmv_exec_destroy(&exec);
    }
    spmv_device_matrix_destroy(&matrix);
    return s;
}

static spmv_check_result spmv__check_judge(spmv_status s, const spmv_check *check)
{
    if (spmv_status_is_refusal(s) || s == SPMV_ERR_NO_F64) return SPMV_CHECK_REFUSED;
    if (s) return SPMV_CHECK_FAILED;
    return check->exact && check->bound ? SPMV_CHECK_USABLE : SPMV_CHECK_WRONG;
}

static void spmv__check_report(spmv__checker *checker, spmv_check_result result, spmv_status s)
{
    checker->now.result = result;
    checker->now.status = s;
    checker->now.message = checker->message;
    if (s && !checker->message[0]) checker->now.message = spmv_status_text(s);
    if (checker->desc->report) checker->desc->report(checker->desc->user, &checker->now);
}

/* Tries one variant with all matrices, counts and reports it. *out gets the status of the attempt; the function fails only with
 * SPMV_ERR_MEMORY, which ends the check. */
static spmv_status spmv__check_variant(spmv__checker *checker, const spmv_variant *wish, spmv_status *out)
{
    char text[SPMV_VARIANT_TEXT];
    spmv_check_result result;
    spmv_status s = SPMV_OK;
    int i, own = 0;
    text[0] = 0;
    if (wish) spmv_variant_print(wish, text, sizeof text);
    checker->now.variant = text;
    checker->now.exact = checker->now.bound = 1;
    checker->now.built = 0;
    checker->message[0] = 0;
    spmv__check_report(checker, SPMV_CHECK_BEGINS, SPMV_OK);
    for (i = 0; !s && i < SPMV__CHECK_MATRICES; i++)
        if (checker->test[i].stored) s = spmv__check_matrix(checker, &checker->test[i], wish, &own);
    *out = s;
    if (s == SPMV_ERR_MEMORY) return s;
    /* the combination does not exist, or the value changes nothing here: not counted */
    if (s == SPMV_ERR_ARGUMENT || s == SPMV_ERR_PLAN || (!s && !own)) return SPMV_OK;
    checker->now.built = s == SPMV_OK;
    if (s) checker->now.exact = checker->now.bound = 0;
    result = spmv__check_judge(s, &checker->now);
    checker->counts->variants++;
    checker->counts->usable += result == SPMV_CHECK_USABLE;
    checker->counts->refused += result == SPMV_CHECK_REFUSED;
    checker->counts->failed += result == SPMV_CHECK_FAILED;
    checker->counts->wrong += result == SPMV_CHECK_WRONG;
    spmv__check_report(checker, result, s);
    return SPMV_OK;
}

/* Tries every value of each knob from number first on, added to the knobs in variant. deep: pairs with later knobs as well. */
static spmv_status spmv__check_knobs(spmv__checker *checker, const spmv_variant *variant, int first, int deep)
{
    spmv_status s = SPMV_OK, what;
    int knob;
    for (knob = first; !s && knob < SPMV_KNOB_COUNT; knob++) {
        int values[64];
        size_t i, n = spmv_knob_values(checker->now.format, (spmv_knob)knob, values, 64);
        for (i = 0; !s && i < n && i < 64; i++) {
            spmv_variant next = *variant;
            spmv__dev_knob_choose(&next, (spmv_knob)knob, values[i]);
            s = spmv__check_variant(checker, &next, &what);
            if (!s && deep) s = spmv__check_knobs(checker, &next, knob + 1, 0);
        }
    }
    return s;
}

/* Stores a matrix in the layout being tried; test->stored stays 0 if it cannot have that layout. */
static spmv_status spmv__check_store(spmv__checker *checker, spmv__check_case *test)
{
    spmv_plan plan;
    spmv_input in;
    spmv_build how;
    spmv_csr csr;
    spmv_status s;
    memset(&in, 0, sizeof in);
    memset(&how, 0, sizeof how);
    in.rows = test->rows;
    in.cols = test->cols;
    in.ptr = test->ptr;
    in.ptr_bits = 64;
    in.col = test->col;
    in.val = test->val;
    in.val_type = SPMV_F64;
    how.type = checker->now.type;
    how.reproducible = checker->desc->reproducible;
    s = spmv_plan_parse(&plan, checker->now.plan, NULL, &checker->hooks);
    if (!s) s = spmv_csr_create(&csr, &in, how.type, &checker->hooks);
    if (s) return s;
    s = spmv_store_create(&test->store, &plan, &csr, &how, &checker->hooks);
    spmv_csr_destroy(&csr);
    test->stored = !s;
    return spmv_status_is_refusal(s) && s != SPMV_ERR_MEMORY ? SPMV_OK : s; /* without memory the check ends */
}

/* Tries all variants of one layout, then frees its stores and programs. */
static spmv_status spmv__check_layout(spmv__checker *checker, const char *plan)
{
    spmv_variant none;
    spmv_status s = SPMV_OK, what = SPMV_OK;
    int i, any = 0;
    memset(&none, 0, sizeof none);
    checker->now.plan = plan;
    checker->message[0] = 0;
    for (i = 0; !s && i < SPMV__CHECK_MATRICES; i++) {
        if (i == SPMV__CHECK_LONGEST && checker->desc->brief) continue;
        s = spmv__check_store(checker, &checker->test[i]);
        any |= checker->test[i].stored;
    }
    if (!s && any) s = spmv__check_variant(checker, NULL, &what);
    if (!s && any && what != SPMV_ERR_NO_F64) s = spmv__check_knobs(checker, &none, 0, checker->desc->pairs);
    for (i = 0; i < SPMV__CHECK_MATRICES; i++) {
        if (checker->test[i].stored) spmv_store_destroy(&checker->test[i].store);
        checker->test[i].stored = 0;
    }
    spmv__programs_free(&checker->device);
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
static spmv_status spmv__check_format(spmv__checker *checker, spmv_format format)
{
    const char *p = spmv__dev_formats[format]->check;
    char plan[128];
    size_t n;
    spmv_status s = SPMV_OK;
    checker->now.format = format;
    for (; !s && (n = spmv__check_word(&p)) != 0; p += n) {
        spmv_print(plan, n + 1 < sizeof plan ? n + 1 : sizeof plan, "%s", p);
        s = spmv__check_layout(checker, plan);
    }
    return s;
}

/* Tries all chosen formats with one type. */
static spmv_status spmv__check_type(spmv__checker *checker, spmv_type type)
{
    spmv_status s = SPMV_OK;
    int f, i;
    checker->now.type = type;
    for (i = 0; !s && i < SPMV__CHECK_MATRICES; i++) s = spmv__check_buffers(checker, &checker->test[i], type);
    for (f = 0; !s && f < SPMV_FORMAT_COUNT; f++) {
        if (!spmv_format_built((spmv_format)f) || (checker->desc->formats && !(checker->desc->formats >> f & 1u))) continue;
        if (checker->desc->reproducible && !(spmv_format_flags((spmv_format)f) & SPMV_REPEATS)) continue;
        s = spmv__check_format(checker, (spmv_format)f);
    }
    for (i = 0; i < SPMV__CHECK_MATRICES; i++) spmv__check_buffers_free(checker, &checker->test[i]);
    return s;
}

/* Frees matrices, vectors and what the copy of the device keeps. */
static void spmv__check_destroy(spmv__checker *checker)
{
    int i;
    for (i = 0; i < SPMV__CHECK_MATRICES; i++) {
        spmv__check_case *test = &checker->test[i];
        spmv_free(&checker->hooks, test->ptr);
        spmv_free(&checker->hooks, test->col);
        spmv_free(&checker->hooks, test->val);
        spmv_free(&checker->hooks, test->x);
        spmv_free(&checker->hooks, test->y);
        spmv_free(&checker->hooks, test->ys);
        spmv_free(&checker->hooks, test->again);
    }
    if (checker->device.common) checker->device.common->images = NULL; /* they belong to the device that is checked */
    spmv__common_destroy(&checker->device);
}

SPMV_API spmv_status spmv_self_check(spmv_device *device, const spmv_check_desc *desc, spmv_check_counts *counts)
{
    if (!device || !counts)
        return spmv__null(device ? &device->hooks : NULL, "spmv_self_check", !device ? "device" : "counts", counts, sizeof *counts);
    if (!spmv__dev_is_here(device)) return spmv__dev_not_here(device, "spmv_self_check", counts, sizeof *counts);
    spmv_check_desc all;
    spmv_hooks hooks = device->hooks;
    spmv__checker *checker = (spmv__checker *)spmv_alloc(&hooks, 1, sizeof *checker);
    spmv_status s = SPMV_OK;
    int i;
    memset(counts, 0, sizeof *counts);
    memset(&all, 0, sizeof all);
    if (!checker) return spmv__no_memory(&hooks, 1, sizeof *checker);
    memset(checker, 0, sizeof *checker);
    checker->desc = desc ? desc : &all;
    checker->counts = counts;
    checker->outer = hooks;
    checker->hooks.user = checker;
    checker->hooks.resize = spmv__check_resize;
    checker->hooks.log = spmv__check_hear;
    checker->device = spmv__dev_quiet(device);
    checker->device.hooks = checker->hooks;
    s = spmv__common_create(&checker->device); /* programs and memory of its own */
    if (!s) checker->device.common->images = spmv__dev_images(device);
    for (i = 0; !s && i < SPMV__CHECK_MATRICES; i++) s = spmv__check_case_create(checker, i);
    for (i = SPMV_F64; !s && i < SPMV_TYPE_COUNT; i++)
        if (!checker->desc->types || checker->desc->types >> i & 1u) s = spmv__check_type(checker, (spmv_type)i);
    if (s) spmv_log(&hooks, s, "self-check: %s", checker->message);
    spmv__check_destroy(checker);
    spmv_free(&hooks, checker);
    return s;
}

#endif
