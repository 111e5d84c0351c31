/* SPDX-License-Identifier: MIT
 * The library, compiled once for all tests that do not define SPMV_IMPLEMENTATION themselves, because it takes longer to compile than they
 * do. tools/library.c has it with what the tools need as well. */
#define SPMV__SHARE 64 /* so that the work on small matrices is shared among threads as well */
#define SPMV_REPRODUCIBLE
#include "../tools/library.c"

#include "library.h"

spmv_status library_estimate(const spmv_view *v, const spmv_spec *spec, double *slots, double *extra)
{
    spmv__analysis l;
    spmv__load load;
    spmv_features f;
    spmv_status s = spmv__analysis_make(&l, v, SPMV_DEVICE_CLASS_HOST, NULL);
    if (s) return s;
    s = spmv__analysis_features(&l, &f, UINT64_MAX / 4, 0, NULL);
    if (!s) s = spmv__spec_estimate(spec, &l, &f, &load);
    if (!s) *slots = load.slots;
    if (!s) *extra = load.extra;
    spmv__analysis_free(&l);
    return s;
}

spmv_status library_features_make(spmv_features *out, const spmv_view *v, uint64_t sample, unsigned without, const spmv_hooks *hooks)
{
    spmv__analysis l;
    spmv_status s = spmv__analysis_make(&l, v, SPMV_DEVICE_CLASS_HOST, hooks);
    if (s) return s;
    s = spmv__analysis_features(&l, out, sample, without, NULL);
    spmv__analysis_free(&l);
    return s;
}

spmv_features library_features(const spmv_view *v, spmv_device_class device_class)
{
    spmv__analysis l;
    spmv_features f;
    memset(&f, 0, sizeof f);
    if (spmv__analysis_make(&l, v, device_class, NULL)) return f;
    if (spmv__analysis_features(&l, &f, UINT64_MAX / 4, 0, NULL)) memset(&f, 0, sizeof f);
    spmv__analysis_free(&l);
    return f;
}

const char *library_tuning_text(size_t i, size_t *length)
{
    *length = spmv__tuning[i].length;
    return spmv__tuning[i].text;
}

void library_scale(spmv_type t, uint64_t n, double beta, void *y)
{
    const spmv__many one = spmv__many_of(1, SPMV_ONE_AFTER_ANOTHER, 0, 0, n, 0);
    spmv__scale_rows(t, NULL, one.rows, &one, beta, y);
}

#define X(result, name, parameters) result (*const library_##name) parameters = spmv__##name;
LIBRARY_LIST(X)
#undef X

#ifdef _OPENMP
void library_parallel(void (*task)(void *job, size_t i), void *job, size_t count) { spmv__parallel(task, job, count, count); }

void library_share(void (*work)(void *job, uint64_t share, size_t thread), void *job, uint64_t shares, size_t threads)
{
    spmv__share_among(work, job, shares, threads);
}

double library_alone(double seconds)
{
    const double before = spmv__team.alone;
    spmv__team.alone = seconds;
    return before;
}
#endif
