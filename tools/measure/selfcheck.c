/* SPDX-License-Identifier: MIT */
#include "selfcheck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SPMV_NO_DEVICES
/* The layouts that are tried; a format without one here is tried by its name alone. */
static const char *const layouts[] = {
    "dense", "dense:rows=nonempty", "coo", "csr", "csr:rows=sorted", "csr:run=64", "csr:rows=nonempty,run=1024,idx=16", "dia", "bdia",
    "ell", "ell:rows=sorted,idx=16", "ell:rowmajor=1", "sell:h=8", "sell:h=64,rows=sorted,idx=16", "sell:h=64,grow=0.3",
    "bell:b=4x4", "bell:b=3x3,idx=16", "sbell:b=4x4,h=4", "sbell:b=3x3,h=4,idx=16", "bcsr:b=4x4", "bcsr:b=3x3,idx=16",
    "cmrs", "cmrs:rows=nonempty,h=16,sort=1,wide=1", "tcsr", "tcsr:tile=512", "tcsr:rows=nonempty,tile=2048", "tcsr:idx=16"
};

/* A buffer of x holds whole numbers from an aligned element on, then reals from an odd one. y lies between canaries. */
enum {
    MATRICES = 4, LONGEST = 2, /* the matrix with the most nonzeros */
    MOST_ROWS = 142, MOST_COLS = 300, MOST_CELLS = 142 * 71,
    X0 = 8, Y0 = 5, BEHIND = 9, CANARY = 1234
};

typedef struct sample {
    uint32_t     rows, cols;
    uint64_t     ptr[MOST_ROWS + 1];
    uint32_t     col[MOST_CELLS];
    double       val[MOST_CELLS], x[2 * MOST_COLS], y[2 * MOST_ROWS]; /* whole numbers; in x and y followed by reals */
    void        *xd, *yd; /* buffers */
    double       ys[Y0 + MOST_ROWS + BEHIND], again[Y0 + MOST_ROWS + BEHIND]; /* y after a product, and after the same again, in any type */
    spmv_store   store;   /* in the layout that is being tried */
    int          stored;  /* 0: this matrix cannot have the layout */
    spmv_variant plain;   /* the variant of all defaults */
} sample;

/* The state of one self-check. */
typedef struct selfcheck {
    const selfcheck_desc *desc;
    selfcheck_counts     *counts;
    spmv_device      *outer;
    spmv_hooks        hooks;
    spmv_device       device; /* on the caller's context and queue, with the programs of one layout */
    selfcheck_variant now;
    char              message[1024];
    sample            test[MATRICES];
} selfcheck;

static void *resize(void *user, void *block, size_t bytes)
{
    const selfcheck *self = (const selfcheck *)user;
    return self->outer->hooks.resize(self->outer->hooks.user, block, bytes);
}

/* Keeps the first message about a variant, which tells the cause. */
static void hear(void *user, spmv_status s, const char *message)
{
    selfcheck *self = (selfcheck *)user;
    (void)s;
    if (!self->message[0]) snprintf(self->message, sizeof self->message, "%s", message);
}

static uint32_t noise(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static double whole(uint32_t *state)
{
    double v = 1 + (double)(noise(state) % 3);
    return noise(state) % 2 ? v : -v;
}

/* 1: the matrix has an entry at (r, c). Matrix 0 has diagonals and blocks; 1 is scattered, with empty rows, a full one, and a column
 * that all others use; 2 has rows of 0 to 62; 3 has few rows, some of them long enough to be cut into pieces. */
static int is_filled(int which, uint32_t r, uint32_t c)
{
    switch (which) {
    case 0: return c == r || c == r + 1 || c + 3 == r || (r / 6 == 4 && c / 6 == 2) || (r > 30 && c == 0);
    case 1: return r % 5 != 2 ? c == 50 || (r * 31 + c * 17 + r * c % 7) % 23 == 0 : r == 17;
    case 2: return c < r * 7 % 71 && (r + c) % 9 != 5;
    default: return r != 3 && (c + r) % 9 != 0;
    }
}

/* Fills a vector with n whole numbers, then n reals between -1 and 1 that a float can hold, so that every type begins with the same. */
static void fill_vector(double *v, uint32_t n, uint32_t *state)
{
    uint32_t i;
    for (i = 0; i < 2 * n; i++) v[i] = i < n ? whole(state) : (double)noise(state) / 8388608.0 - 1;
}

/* Makes matrix number which and its vectors. */
static void make_sample(sample *test, int which)
{
    static const uint32_t shape[MATRICES][2] = { { 45, 41 }, { 33, 70 }, { 142, 71 }, { 5, 300 } };
    uint32_t r, c, state = 7u + (uint32_t)which;
    uint64_t n = 0;
    test->rows = shape[which][0];
    test->cols = shape[which][1];
    for (r = 0; r < test->rows; r++) {
        for (c = 0; c < test->cols; c++) {
            if (!is_filled(which, r, c)) continue;
            test->col[n] = c;
            test->val[n++] = whole(&state);
        }
        test->ptr[r + 1] = n;
    }
    fill_vector(test->x, test->cols, &state);
    fill_vector(test->y, test->rows, &state);
}

static void put(spmv_type type, void *vector, uint64_t i, double x)
{
    if (type == SPMV_F32) ((float *)vector)[i] = (float)x;
    else ((double *)vector)[i] = x;
}

static double get(spmv_type type, const void *vector, uint64_t i)
{
    return type == SPMV_F32 ? (double)((const float *)vector)[i] : ((const double *)vector)[i];
}

/* Where the reals of x begin: an odd element after the whole numbers. */
static uint64_t x_reals(const sample *test) { return ((uint64_t)X0 + test->cols + BEHIND) | 1; }
static uint64_t x_size(const sample *test) { return x_reals(test) + test->cols + BEHIND; }
static uint64_t y_size(const sample *test) { return (uint64_t)Y0 + test->rows + BEHIND; }

/* Creates the buffers of a matrix's vectors; the elements around x are NaN. */
static spmv_status make_buffers(const spmv_device *device, sample *test, spmv_type type)
{
    double x[2 * (MOST_COLS + BEHIND) + X0 + 1];
    uint64_t i, size = spmv_vector_size(type), bytes = x_size(test) * size;
    spmv_status s;
    memset(x, 0xff, sizeof x);
    for (i = 0; i < test->cols; i++) {
        put(type, x, X0 + i, test->x[i]);
        put(type, x, x_reals(test) + i, test->x[test->cols + i]);
    }
    s = spmv_buffer_create(device, bytes, &test->xd);
    if (!s) s = spmv_buffer_create(device, y_size(test) * size, &test->yd);
    return s ? s : spmv_buffer_write(device, test->xd, bytes, x);
}

static void free_buffers(const spmv_device *device, sample *test)
{
    spmv_buffer_destroy(device, test->xd);
    spmv_buffer_destroy(device, test->yd);
    test->xd = test->yd = NULL;
}

/* Computes one product, real or of whole numbers, into out. y begins as NaN where beta is 0, so that reading it would show. */
static spmv_status multiply(selfcheck *self, sample *test, spmv_exec *exec, int real, double alpha, double beta, void *out)
{
    const spmv_device *device = &self->device;
    spmv_type type = self->now.type;
    uint64_t i, n = y_size(test), bytes = n * spmv_vector_size(type);
    spmv_status s;
    memset(out, 0xff, (size_t)bytes);
    for (i = 0; i < n; i++) {
        int inside = i >= Y0 && i < Y0 + (uint64_t)test->rows;
        if (!inside) put(type, out, i, CANARY);
        else if (beta != 0) put(type, out, i, test->y[i - Y0 + (real ? test->rows : 0)]);
    }
    self->counts->products++;
    s = spmv_buffer_write(device, test->yd, bytes, out);
    if (!s) s = spmv_exec_mul(exec, alpha, test->xd, real ? x_reals(test) : (uint64_t)X0, beta, test->yd, Y0);
    return s ? s : spmv_buffer_read(device, test->yd, bytes, out);
}

static long double magnitude(long double v) { return v < 0 ? -v : v; }

/* 1 if the result in test->ys is right; else says what is wrong. */
static int is_right(selfcheck *self, const sample *test, int real, double alpha, double beta)
{
    spmv_type type = self->now.type;
    const double *x = test->x + (real ? test->cols : 0), *y = test->y + (real ? test->rows : 0);
    long double u = type == SPMV_F32 ? 1.0L / 16777216 : 1.0L / 9007199254740992.0L;
    uint64_t i, j, n = y_size(test);
    for (i = 0; i < n; i++) {
        double got = get(type, test->ys, i);
        long double sum = 0, size = 0, want, most;
        uint64_t r = i - Y0;
        char text[256];
        if (i < Y0 || r >= test->rows) {
            if (got == (double)CANARY) continue;
            hear(self, SPMV_OK, i < Y0 ? "the kernel writes before y" : "the kernel writes after y");
            return 0;
        }
        for (j = test->ptr[r]; j < test->ptr[r + 1]; j++) {
            long double term = (long double)test->val[j] * x[test->col[j]];
            sum += term;
            size += magnitude(term);
        }
        want = alpha * sum + (beta != 0 ? (long double)beta * y[r] : 0);
        size = magnitude(alpha) * size + magnitude((long double)beta * y[r]);
        most = real ? (long double)(test->ptr[r + 1] - test->ptr[r] + 4) * u * size : 0;
        if (magnitude(got - want) <= most) continue;
        snprintf(text, sizeof text, "%ux%u, %s, alpha %g, beta %g: row %llu is %.9g, expected %.9g", (unsigned)test->rows,
                 (unsigned)test->cols, real ? "reals" : "integers", alpha, beta, (unsigned long long)r, got, (double)want);
        hear(self, SPMV_OK, text);
        return 0;
    }
    return 1;
}

/* Computes all products with one matrix and clears now.exact or now.bound if one is wrong. atomic: sums may vary in their last bits. */
static spmv_status try_products(selfcheck *self, sample *test, spmv_exec *exec, int atomic)
{
    static const double alpha[2][2] = { { 1, -2 }, { 1, -2.5 } }, beta[2][2] = { { 0, 3 }, { 0, 1.5 } };
    size_t bytes = (size_t)(y_size(test) * spmv_vector_size(self->now.type));
    spmv_status s = SPMV_OK;
    int brief = self->desc->brief, first = brief && test != self->test, last = brief ? first : 1, real, i;
    for (real = 0; real < 2 - brief; real++)
        for (i = first; !s && i <= last; i++) {
            s = multiply(self, test, exec, real, alpha[real][i], beta[real][i], test->ys);
            if (!s && !is_right(self, test, real, alpha[real][i], beta[real][i])) *(real ? &self->now.bound : &self->now.exact) = 0;
        }
    if (atomic || brief) return s;
    if (!s) s = multiply(self, test, exec, 1, alpha[1][1], beta[1][1], test->again);
    if (!s && memcmp(test->ys, test->again, bytes) != 0) {
        self->now.bound = 0;
        hear(self, SPMV_OK, "the same product gave different bits the second time");
    }
    return s;
}

/* Tries one variant (NULL: all defaults) with one matrix; skips the products if the variant is the default one, else sets *own. */
static spmv_status try_matrix(selfcheck *self, sample *test, const spmv_variant *wish, int *own)
{
    spmv_device_matrix matrix;
    spmv_exec exec;
    const spmv_variant *variant;
    spmv_status s = spmv_device_matrix_create(&matrix, &self->device, test->rows, test->cols, self->now.type, test->store.part,
                                              (size_t)test->store.count, wish);
    if (s) return s;
    variant = spmv_device_matrix_variant(&matrix, 0);
    if (!wish) test->plain = *variant;
    if (!wish || variant->set != test->plain.set || memcmp(variant->value, test->plain.value, sizeof variant->value) != 0) {
        *own = 1;
        s = spmv_exec_create(&exec, &matrix, NULL);
        if (!s) s = try_products(self, test, &exec, variant->value[SPMV_KNOB_ATOMIC] != 0);
        spmv_exec_destroy(&exec);
    }
    spmv_device_matrix_destroy(&matrix);
    return s;
}

static selfcheck_result judge(spmv_status s, const selfcheck_variant *variant)
{
    if (spmv_status_is_refusal(s) || s == SPMV_ERR_NO_F64) return SELFCHECK_REFUSED;
    if (s) return SELFCHECK_FAILED;
    return variant->exact && variant->bound ? SELFCHECK_USABLE : SELFCHECK_WRONG;
}

static void report(selfcheck *self, selfcheck_result result, spmv_status s)
{
    self->now.result = result;
    self->now.status = s;
    self->now.message = s && !self->message[0] ? spmv_status_text(s) : self->message;
    if (self->desc->report) self->desc->report(self->desc->user, &self->now);
}

/* Tries one variant with all matrices, counts and reports it. *out gets the status of the attempt; the function fails only with
 * SPMV_ERR_MEMORY, which ends the check. */
static spmv_status try_variant(selfcheck *self, const spmv_variant *wish, spmv_status *out)
{
    char text[SPMV_VARIANT_TEXT];
    selfcheck_result result;
    spmv_status s = SPMV_OK;
    int i, own = 0;
    spmv_variant_print(wish, text, sizeof text);
    self->now.variant = text;
    self->now.exact = self->now.bound = 1;
    self->now.built = 0;
    self->message[0] = 0;
    report(self, SELFCHECK_BEGINS, SPMV_OK);
    for (i = 0; !s && i < MATRICES; i++)
        if (self->test[i].stored) s = try_matrix(self, &self->test[i], wish, &own);
    *out = s;
    if (s == SPMV_ERR_MEMORY) return s;
    /* the combination does not exist, or the value changes nothing here: not counted */
    if (s == SPMV_ERR_ARGUMENT || s == SPMV_ERR_PLAN || (!s && !own)) return SPMV_OK;
    self->now.built = s == SPMV_OK;
    if (s) self->now.exact = self->now.bound = 0;
    result = judge(s, &self->now);
    self->counts->variants++;
    self->counts->usable += result == SELFCHECK_USABLE;
    self->counts->refused += result == SELFCHECK_REFUSED;
    self->counts->failed += result == SELFCHECK_FAILED;
    self->counts->wrong += result == SELFCHECK_WRONG;
    report(self, result, s);
    return SPMV_OK;
}

/* Tries every value of each knob from number first on, added to the knobs in variant. deep: pairs with later knobs as well. */
static spmv_status try_knobs(selfcheck *self, const spmv_variant *variant, int first, int deep)
{
    spmv_status s = SPMV_OK, what;
    int knob;
    for (knob = first; !s && knob < SPMV_KNOB_COUNT; knob++) {
        int values[64];
        size_t i, n = spmv_knob_values(self->now.format, (spmv_knob)knob, values, 64);
        for (i = 0; !s && i < n && i < 64; i++) {
            spmv_variant next = *variant;
            next.set |= (uint64_t)1 << knob;
            next.value[knob] = values[i];
            s = try_variant(self, &next, &what);
            if (!s && deep) s = try_knobs(self, &next, knob + 1, 0);
        }
    }
    return s;
}

/* Stores a matrix in the layout being tried; test->stored stays 0 if it cannot have that layout. */
static spmv_status store(selfcheck *self, sample *test)
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
    how.type = self->now.type;
    how.reproducible = self->desc->reproducible;
    s = spmv_plan_parse(&plan, self->now.plan, NULL, &self->hooks);
    if (!s) s = spmv_csr_create(&csr, &in, how.type, &self->hooks);
    if (s) return s;
    s = spmv_store_create(&test->store, &plan, &csr, &how, &self->hooks);
    spmv_csr_destroy(&csr);
    test->stored = !s;
    return spmv_status_is_refusal(s) && s != SPMV_ERR_MEMORY ? SPMV_OK : s; /* without memory the check ends */
}

/* Opens a device on the caller's context and queue, so that its programs can be freed. Its limits are those that the caller's has. */
static spmv_status open_own(selfcheck *self)
{
    spmv_device_desc desc;
    spmv_status s;
    void *owned;
    memset(&desc, 0, sizeof desc);
    desc.backend = self->outer->info.backend;
    desc.context = self->outer->context;
    desc.id = self->outer->info.id;
    desc.queue = self->outer->queue;
    desc.hooks = self->hooks;
    s = spmv_device_create(&self->device, &desc);
    owned = self->device.info.platform_id; /* by CUDA, what is released when this device is closed: not the caller's context and stream */
    if (!s) self->device.info = self->outer->info;
    if (!s) self->device.info.platform_id = owned;
    return s;
}

/* Tries all variants of one layout, then frees its stores and programs. */
static spmv_status try_layout(selfcheck *self, const char *plan)
{
    spmv_variant none;
    spmv_status s, what = SPMV_OK;
    int i, any = 0;
    memset(&none, 0, sizeof none);
    self->now.plan = plan;
    self->message[0] = 0;
    s = open_own(self);
    for (i = 0; !s && i < MATRICES; i++) {
        if (i == LONGEST && self->desc->brief) continue;
        s = store(self, &self->test[i]);
        any |= self->test[i].stored;
    }
    if (!s && any) s = try_variant(self, NULL, &what);
    if (!s && any && what != SPMV_ERR_NO_F64) s = try_knobs(self, &none, 0, self->desc->pairs);
    for (i = 0; i < MATRICES; i++) {
        if (self->test[i].stored) spmv_store_destroy(&self->test[i].store);
        self->test[i].stored = 0;
    }
    spmv_device_destroy(&self->device);
    return s;
}

/* Tries the layouts of a format. */
static spmv_status try_format(selfcheck *self, spmv_format format)
{
    const char *name = spmv_format_name(format);
    size_t i, found = 0;
    spmv_status s = SPMV_OK;
    self->now.format = format;
    for (i = 0; !s && i < sizeof layouts / sizeof *layouts; i++) {
        if (strcspn(layouts[i], ":") != strlen(name) || strncmp(layouts[i], name, strlen(name))) continue;
        s = try_layout(self, layouts[i]);
        found++;
    }
    return s || found ? s : try_layout(self, name);
}

/* Tries all chosen formats with one type. */
static spmv_status try_type(selfcheck *self, spmv_type type)
{
    spmv_status s = SPMV_OK;
    int f, i;
    self->now.type = type;
    for (i = 0; !s && i < MATRICES; i++) s = make_buffers(self->outer, &self->test[i], type);
    for (f = 0; !s && f < SPMV_FORMAT_COUNT; f++) {
        if (!spmv_format_built((spmv_format)f) || (self->desc->formats && !(self->desc->formats >> f & 1u))) continue;
        if (self->desc->reproducible && !(spmv_format_flags((spmv_format)f) & SPMV_REPEATS)) continue;
        s = try_format(self, (spmv_format)f);
    }
    for (i = 0; i < MATRICES; i++) free_buffers(self->outer, &self->test[i]);
    return s;
}

spmv_status selfcheck_run(spmv_device *device, const selfcheck_desc *desc, selfcheck_counts *counts)
{
    selfcheck *self = (selfcheck *)calloc(1, sizeof *self);
    spmv_status s = SPMV_OK;
    int i;
    memset(counts, 0, sizeof *counts);
    if (!self) return SPMV_ERR_MEMORY;
    self->desc = desc;
    self->counts = counts;
    self->outer = device;
    self->hooks.user = self;
    self->hooks.resize = device->hooks.resize ? resize : NULL;
    self->hooks.log = hear;
    for (i = 0; i < MATRICES; i++) make_sample(&self->test[i], i);
    for (i = SPMV_F64; !s && i < SPMV_TYPE_COUNT; i++)
        if (!desc->types || desc->types >> i & 1u) s = try_type(self, (spmv_type)i);
    if (s && device->hooks.log) {
        char text[sizeof self->message + 16];
        snprintf(text, sizeof text, "self-check: %s", self->message);
        device->hooks.log(device->hooks.user, s, text);
    }
    free(self);
    return s;
}
#endif
