/* SPDX-License-Identifier: MIT */
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#include "spmv_group.h"
#include "spmv_io.h"

#include "library.h"

double library_log2(double v)
{
    uint64_t bits;
    double e, m, z;
    if (!(v > 1e-300)) return -1000;
    memcpy(&bits, &v, sizeof bits);
    e = (double)(int)(bits >> 52 & 2047) - 1023;
    bits = (bits & 0xfffffffffffffu) | (uint64_t)1023 << 52;
    memcpy(&v, &bits, sizeof v);
    z = (v - 1) / (v + 1); /* ln v = 2 (z + z^3/3 + z^5/5 + ...), |z| <= 1/3 */
    m = z * z;
    return e + 2.885390081777927 * z * (1 + m * (1.0 / 3 + m * (1.0 / 5 + m * (1.0 / 7 + m * (1.0 / 9 + m / 11)))));
}

double library_exp2(double v)
{
    return spmv__exp2(v);
}

spmv_status library_estimates(const spmv_csr *a, const spmv_tuning *t, spmv_type type, spmv_estimate *out, const spmv_hooks *hooks)
{
    spmv__estimator e;
    spmv_build how;
    spmv_view v;
    spmv__analysis l;
    spmv_features f;
    size_t i;
    spmv_status s;
    memset(&how, 0, sizeof how);
    memset(&v, 0, sizeof v);
    memset(&l, 0, sizeof l);
    memset(out, 0, t->count * sizeof *out);
    how.type = type;
    v.a = a;
    v.rows = a->rows;
    s = spmv__estimator_make(&e, a, &how, NULL, t, 0, hooks);
    if (!s) s = spmv__analysis_make(&l, &v, e.tuning->device_class, hooks);
    if (!s) s = spmv__analysis_features(&l, &f, 0, 0, NULL);
    for (i = 0; i < t->count && !s; i++) {
        const spmv_candidate *k = &t->line[i];
        spmv__load load;
        if (k->type != type || !spmv__load_of(&e, &k->layout, &l, &f, &load, &s)) continue;
        spmv__cost_parts(&e, k, &k->layout, &load, &out[i]);
        out[i].slots = (uint64_t)load.slots;
    }
    spmv__analysis_free(&l);
    spmv__estimator_free(&e);
    return s;
}

int library_is_float(double v)
{
    return spmv__is_float(v);
}

uint64_t library_device_bytes(const spmv_part *p)
{
    return spmv__part_device_bytes(p);
}

void *library_large_block(size_t bytes)
{
    return spmv__large_block(bytes);
}
