/* SPDX-License-Identifier: MIT */
#include "tune.h"

#include "../measure/values.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Value number k: a pseudorandom integer from -most to most but not 0, so that every element counts. */
static double integer_at(uint64_t k, int most)
{
    const uint64_t h = (k + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    const double v = 1 + (double)((h >> 1) % (uint64_t)most);
    return h & 1u ? v : -v;
}

void product_free(product *p)
{
    trial_free(&p->of);
    free(p->val);
    p->val = NULL;
}

int product_take(product *p, const spmv_csr *pattern, spmv_type type)
{
    uint64_t k;
    product_free(p);
    p->a = *pattern;
    p->a.type = type == SPMV_F64 ? SPMV_F64 : SPMV_F32;
    p->a.val = p->val = malloc((size_t)pattern->nnz * spmv_value_size(p->a.type) + 1);
    if (!p->val) return cli_no_memory(p->t);
    if (trial_make(&p->of, p->t, &p->a, type) != DONE) return FAILED;
    for (k = 0; k < pattern->nnz; k++) value_put(p->a.type, p->val, k, integer_at(k, 3));
    for (k = 0; k < pattern->cols; k++) value_put(type, p->of.x, k, integer_at(k, 4));
    trial_reference(&p->of);
    return DONE;
}

/* Times a product, in seconds: the median of about five series of products. While these differ much, as on a machine with other work, more
 * are taken, and the lower quartile of at least eight counts. Ends after patience seconds. Dividing by the time of a reference product
 * beside it would make it worse: on a shared machine that made times which differed by 15 to 25% from run to run differ by 50%. */
static spmv_status time_product(runner *r, double patience, double *out)
{
    double v[25], one = 0, from = cli_seconds(), spent, span = runner_sample_span(r);
    spmv_status s = SPMV_OK;
    const int enough = r->t->graph ? 3 : 5; /* the host disturbs a graph little */
    int n = 0, times = 1;
    do s = runner_sample(r, 1, &one); /* warms the caches up, and clocks that rise with the load */
    while (s == SPMV_OK && ++n < 20 && cli_seconds() - from < 500e-6);
    if (s == SPMV_OK && r->t->graph && one < span) s = runner_sample(r, GRAPH_PRODUCTS, &one); /* without the wait for each */
    if (one < span) times = one > 1e-8 ? (int)(span / one) + 1 : 10000;
    from = cli_seconds();
    for (n = 0; s == SPMV_OK && n < 25;) {
        s = runner_sample(r, times, &v[n++]);
        spent = cli_seconds() - from;
        if (n < enough && (n < 3 || spent < 0.6 * patience)) continue;
        *out = timing_median(v, n);
        if (v[3 * n / 4] - v[n / 4] < 0.04 * *out || spent > patience) break;
    }
    /* other work on the machine only adds time, and a quarter of the samples cannot all be fast by accident */
    if (s == SPMV_OK && n >= 8) *out = v[n / 4];
    else if (s == SPMV_OK) *out = timing_median(v, n);
    return s;
}

/* Computes y = A x over a y of NaN, where it is timed; *right: whether y is exact. */
static spmv_status check(product *p, runner *r, int *right)
{
    trial *of = &p->of;
    const uint64_t bytes = p->a.rows * spmv_vector_size(of->type);
    uint64_t k;
    double took;
    spmv_status s = SPMV_OK;
    for (k = 0; k < p->a.rows; k++) value_put(of->type, of->y, k, NAN);
#ifndef SPMV_NO_DEVICES
    if (p->device) s = spmv_buffer_write(p->device, r->device_y, bytes, of->y);
#endif
    if (s == SPMV_OK) s = runner_sample(r, 1, &took);
#ifndef SPMV_NO_DEVICES
    if (s == SPMV_OK && p->device) s = spmv_buffer_read(p->device, r->device_y, bytes, of->y);
#else
    (void)bytes;
#endif
    for (k = 0, *right = 1; k < p->a.rows && *right; k++) *right = (long double)value_get(of->type, of->y, k) == of->exact[k];
    return s;
}

/* 1: some array of the part has 16-bit columns. */
static int is_narrow(const spmv_part *part)
{
    int i;
    for (i = 1; i < SPMV_MAX_ARRAYS; i++)
        if (part->a[i].width == 2 && part->a[i].count) return 1;
    return 0;
}

/* Prepares the matrix as a program does it with all its matrices but the first, and says what that took. */
static spmv_status prepare(product *p, const char *plan, const char *variant, runner *r, product_times *out)
{
    spmv_desc d;
    spmv_status s;
    memset(out, 0, sizeof *out);
    memset(&d, 0, sizeof d);
    d.csr = &p->a;
    d.type = p->of.type;
    d.plan = plan;
    d.variant = variant && *variant ? variant : NULL;
    d.device = p->device;
    d.max_bytes = 96 * p->a.nnz + (UINT64_C(16) << 20); /* eight times the CSR form: with more padding no layout is among the best */
    d.hooks = p->t->hooks;
#ifndef SPMV_NO_DEVICES
    if (d.device && spmv_convert_here(d.device)) d.convert = SPMV_CONVERT_ON_DEVICE;
#endif
    cli_phases_begin(p->t);
    s = runner_open(r, p->t, &d, p->of.x, p->of.y);
    out->build = p->t->spent[SPMV_PHASE_BUILD];
    out->preparing = p->t->spent[SPMV_PHASE_INPUT] + p->t->spent[SPMV_PHASE_CHOICE] + p->t->spent[SPMV_PHASE_CONVERT] +
                     p->t->spent[SPMV_PHASE_UPLOAD];
    return s;
}

spmv_status product_prepare(product *p, const char *plan, product_times *out)
{
    runner r;
    spmv_status s = prepare(p, plan, NULL, &r, out);
    if (s == SPMV_OK) runner_close(&r);
    return s;
}

spmv_status product_measure(product *p, const char *plan, const char *variant, product_times *out)
{
    runner r;
    spmv_status s;
    int right;
    p->t->text[0] = 0;
    p->t->keep = 1;
    s = prepare(p, plan, variant, &r, out);
    if (s == SPMV_OK) {
        if (strstr(plan, "idx=16") && !is_narrow(&r.m.store.part[0])) s = SPMV_ERR_UNSUPPORTED; /* it is another candidate */
        else s = check(p, &r, &right);
        if (s == SPMV_OK && right) s = time_product(&r, p->patience, &out->seconds);
        runner_close(&r);
    }
    p->t->keep = 0;
    return s;
}
