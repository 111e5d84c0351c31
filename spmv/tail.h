/* SPDX-License-Identifier: MIT
 *
 * spmv/tail.h - what follows a product (spmv_tail): checks, the order of additions, and the pass on the host.
 */
#ifndef SPMV__TAIL_H
#define SPMV__TAIL_H

#include "products.h"

/* kernels/tail.cl adds in the same order, and says which. */
enum { SPMV__TAIL_LANES = 256, SPMV__TAIL_STRIPS = 2, SPMV__TAIL_GROUPS = 1024 };

/* Strips of a group: at least SPMV__TAIL_STRIPS, and so many that there are at most SPMV__TAIL_GROUPS groups. */
SPMV__SHARED uint64_t spmv__tail_strips(uint64_t n)
{
    const uint64_t least = SPMV__TAIL_STRIPS, strips = spmv__ceil_div(spmv__ceil_div(n, SPMV__TAIL_LANES), SPMV__TAIL_GROUPS);
    return strips < least ? least : strips;
}

static int spmv__tail_reads_x(const spmv_tail *tail) { return (tail->dots & (SPMV_DOT_XY | SPMV_DOT_XX)) != 0; }

/* What gamma comes to: 0 where y + gamma w is not wanted. */
static double spmv__tail_gamma(const spmv_tail *tail) { return tail->z || tail->dots & SPMV_DOT_ZZ ? tail->gamma : 0; }
static int spmv__tail_reads_w(const spmv_tail *tail) { return spmv__tail_gamma(tail) != 0 || tail->dots & SPMV_DOT_WY; }

/* A vector that a tail uses, as spmv__tail_check compares them. */
typedef struct spmv__tail_span {
    const char *name;
    const void *memory; /* spans in different memories are apart */
    uint64_t    at, bytes;
} spmv__tail_span;

/*   addresses  1: pointers, or buffers whose handles are addresses; 0: other handles */
static spmv__tail_span spmv__tail_span_of(const char *name, const void *memory, uint64_t offset, uint64_t bytes, int addresses)
{
    spmv__tail_span span;
    span.name = name;
    span.memory = addresses ? NULL : memory;
    span.at = offset + (addresses ? (uint64_t)(uintptr_t)memory : 0);
    span.bytes = bytes;
    return span;
}

/* Refuses what a tail writes over what it reads. same: 1: it may be the same vector */
static spmv_status spmv__tail_apart(const spmv_hooks *hooks, const char *function, const spmv__tail_span *to, const spmv__tail_span *from,
                                    int same)
{
    if (!to->bytes || !from->bytes || to->memory != from->memory || (same && to->at == from->at)) return SPMV_OK;
    if (!spmv__overlap(to->at, to->bytes, from->at, from->bytes)) return SPMV_OK;
    return spmv_log(hooks, SPMV_ERR_ARGUMENT, "%s: tail.%s and %s overlap", function, to->name, from->name);
}

/* Checks a tail with the vectors x, at offset x0, and y of a product; addresses: as above. */
SPMV__SHARED spmv_status spmv__tail_check(const spmv_hooks *hooks, const char *function, const spmv_tail *tail, spmv_type type,
                                          uint64_t rows, uint64_t cols, const void *x, uint64_t x0, const void *y, uint64_t y0,
                                          int addresses)
{
    const uint64_t size = spmv_vector_size(type), bytes = rows * size;
    const char *missing = NULL;
    spmv__tail_span z, sums, from[3];
    spmv_status s = SPMV_OK;
    int i;
    if (!tail) missing = "tail";
    else if (tail->dots && !tail->sums) missing = "tail.sums";
    else if (rows && spmv__tail_reads_w(tail) && !tail->w) missing = "tail.w";
    else if (rows && spmv__tail_reads_x(tail) && !x) missing = "x";
    if (missing) return spmv__null(hooks, function, missing, NULL, 0);
    if (tail->dots >= 1u << SPMV_DOT_COUNT) return spmv_log(hooks, SPMV_ERR_ARGUMENT, "%s: tail.dots %u is unknown", function, tail->dots);
    if (spmv__tail_reads_x(tail) && rows != cols)
        return spmv_log(hooks, SPMV_ERR_ARGUMENT, "%s: tail.dots with x need a square matrix, not %llu x %llu", function, (spmv__ull)rows,
                        (spmv__ull)cols);
    z = spmv__tail_span_of("z", tail->z, tail->z_offset * size, tail->z ? bytes : 0, addresses);
    sums = spmv__tail_span_of("sums", tail->sums, tail->sums_offset * size, tail->dots ? SPMV_DOT_COUNT * size : 0, addresses);
    from[0] = spmv__tail_span_of("y", y, y0 * size, bytes, addresses);
    from[1] = spmv__tail_span_of("tail.w", tail->w, tail->w_offset * size, spmv__tail_reads_w(tail) ? bytes : 0, addresses);
    from[2] = spmv__tail_span_of("x", x, x0 * size, spmv__tail_reads_x(tail) ? bytes : 0, addresses);
    for (i = 0; i < 3 && !s; i++) {
        s = spmv__tail_apart(hooks, function, &z, &from[i], 1);
        if (!s) s = spmv__tail_apart(hooks, function, &sums, &from[i], 0);
    }
    return s ? s : spmv__tail_apart(hooks, function, &sums, &z, 0);
}

/* ---- on the host --------------------------------------------------------------------------------------------------- */

typedef struct spmv__tailing {
    const spmv_tail *tail;
    const void      *x, *y;
    double           gamma;
    uint64_t         n, strips, groups, tasks;
    void            *lane[SPMV_DOT_COUNT]; /* for each sum that is wanted SPMV__TAIL_LANES elements */
} spmv__tailing;

/* The functions below for floats and doubles, and those for reproducible products, whose multiply-adds are fused. Their macros are not
 * those of the templates of products, which one header of all files reads again at the same time. */
#define SPMV__TAIL_T SPMV__CAT(SPMV__VECTOR_, SPMV__TAIL_TYPE)
#define SPMV__TAIL_TYPE f32
#include "tail.h" /* again */
#define SPMV__TAIL_TYPE f64
#include "tail.h" /* again */
#ifdef SPMV_REPRODUCIBLE
#define SPMV__REPEATED
#define SPMV__TAIL_TYPE f32
#include "tail.h" /* again */
#define SPMV__TAIL_TYPE f64
#include "tail.h" /* again */
#undef SPMV__REPEATED
#endif

/* Does what a tail that was checked says, after the product. The bits do not depend on the number of threads. */
SPMV__SHARED void spmv__tail(const spmv_tail *tail, spmv_type type, uint64_t n, const void *x, const void *y, int repeated)
{
    spmv__tailing job;
    job.tail = tail;
    job.x = x;
    job.y = y;
    job.gamma = spmv__tail_gamma(tail);
    job.n = n;
    job.strips = spmv__tail_strips(n);
    job.groups = spmv__ceil_div(n, job.strips * SPMV__TAIL_LANES);
    job.tasks = spmv__threads(n);
#ifdef SPMV_REPRODUCIBLE
    if (repeated && type == SPMV_F32) spmv__tail_all_f32_repeat(&job);
    else if (repeated) spmv__tail_all_f64_repeat(&job);
    else
#else
    (void)repeated;
#endif
    if (type == SPMV_F32) spmv__tail_all_f32_plain(&job);
    else spmv__tail_all_f64_plain(&job);
}
#endif

#ifdef SPMV__TAIL_TYPE /* again */
#ifdef SPMV__REPEATED
#define SPMV__TAIL(name) SPMV__CAT3(tail_##name, SPMV__TAIL_TYPE, repeat)
#define SPMV__TAIL_PLUS(a, b, c) SPMV__CAT(SPMV__FMA_, SPMV__TAIL_TYPE)(a, b, c)
#else
#define SPMV__TAIL(name) SPMV__CAT3(tail_##name, SPMV__TAIL_TYPE, plain)
#define SPMV__TAIL_PLUS(a, b, c) ((a) * (b) + (c))
#endif

SPMV__FORCE_INLINE void SPMV__TAIL(dot)(SPMV__TAIL_T *SPMV__RESTRICT lane, const SPMV__TAIL_T *SPMV__RESTRICT a,
                                        const SPMV__TAIL_T *SPMV__RESTRICT b, uint64_t n)
{
    uint64_t l;
    for (l = 0; l < n; l++) lane[l] = SPMV__TAIL_PLUS(a[l], b[l], lane[l]);
}

/* The upper n lanes are added to the lower. As n is a constant, compilers make vector instructions of it. */
SPMV__FORCE_INLINE void SPMV__TAIL(fold)(SPMV__TAIL_T *SPMV__RESTRICT low, const SPMV__TAIL_T *SPMV__RESTRICT high, int n)
{
    int l;
    for (l = 0; l < n; l++) low[l] += high[l];
}

/* The sum of all lanes. */
static SPMV__TAIL_T SPMV__TAIL(tree)(SPMV__TAIL_T *lane)
{
    int d, l;
    SPMV__TAIL(fold)(lane, lane + 128, 128);
    SPMV__TAIL(fold)(lane, lane + 64, 64);
    SPMV__TAIL(fold)(lane, lane + 32, 32);
    SPMV__TAIL(fold)(lane, lane + 16, 16);
    for (d = 8; d > 0; d /= 2)
        for (l = 0; l < d; l++) lane[l] += lane[l + d];
    return lane[0];
}

/* A strip: the n elements from number i on. z is written last, as it may be any of the vectors that are read. */
static void SPMV__TAIL(strip)(const spmv__tailing *job, uint64_t i, uint64_t n, SPMV__TAIL_T (*lane)[SPMV__TAIL_LANES])
{
    const spmv_tail *tail = job->tail;
    const SPMV__TAIL_T *y = (const SPMV__TAIL_T *)job->y + i, *x = spmv__tail_reads_x(tail) ? (const SPMV__TAIL_T *)job->x + i : y;
    const SPMV__TAIL_T *w = spmv__tail_reads_w(tail) ? (const SPMV__TAIL_T *)tail->w + tail->w_offset + i : y;
    const SPMV__TAIL_T gamma = (SPMV__TAIL_T)job->gamma;
    const SPMV__TAIL_T *a[SPMV_DOT_COUNT], *b[SPMV_DOT_COUNT];
    SPMV__TAIL_T z[SPMV__TAIL_LANES];
    uint64_t l;
    int k;
    if (tail->z || tail->dots & SPMV_DOT_ZZ) memcpy(z, y, (size_t)n * sizeof *z);
    for (l = 0; gamma != 0 && l < n; l++) z[l] = SPMV__TAIL_PLUS(gamma, w[l], z[l]);
    a[0] = a[3] = b[3] = x;
    b[0] = a[1] = b[1] = b[2] = y;
    a[2] = w;
    a[4] = b[4] = z;
    for (k = 0; k < SPMV_DOT_COUNT; k++) {
        if (!(tail->dots >> k & 1u)) continue;
        if (n == SPMV__TAIL_LANES) SPMV__TAIL(dot)(lane[k], a[k], b[k], SPMV__TAIL_LANES);
        else SPMV__TAIL(dot)(lane[k], a[k], b[k], n);
    }
    if (tail->z) memcpy((SPMV__TAIL_T *)tail->z + tail->z_offset + i, z, (size_t)n * sizeof *z);
}

/* Adds the sums of a group to lane number to of the end. */
static void SPMV__TAIL(group)(const spmv__tailing *job, uint64_t group, uint64_t to)
{
    const uint64_t each = job->strips * SPMV__TAIL_LANES, end = spmv__smaller(job->n, (group + 1) * each);
    SPMV__TAIL_T lane[SPMV_DOT_COUNT][SPMV__TAIL_LANES];
    uint64_t i;
    int k;
    for (k = 0; k < SPMV_DOT_COUNT; k++)
        if (job->tail->dots >> k & 1u) memset(lane[k], 0, sizeof lane[k]);
    for (i = group * each; i < end; i += SPMV__TAIL_LANES)
        SPMV__TAIL(strip)(job, i, spmv__smaller(end - i, SPMV__TAIL_LANES), lane);
    for (k = 0; k < SPMV_DOT_COUNT; k++)
        if (job->tail->dots >> k & 1u) ((SPMV__TAIL_T *)job->lane[k])[to] += SPMV__TAIL(tree)(lane[k]);
}

/* The groups of whole lanes of the end. */
static void SPMV__TAIL(task)(void *all, size_t task)
{
    const spmv__tailing *job = (const spmv__tailing *)all;
    const uint64_t some = spmv__ceil_div(job->groups, SPMV__TAIL_LANES), end = spmv__even(job->groups, some + !some, task + 1, job->tasks);
    uint64_t group;
    for (group = spmv__even(job->groups, some + !some, task, job->tasks); group < end; group++) SPMV__TAIL(group)(job, group, group / some);
}

static void SPMV__TAIL(all)(spmv__tailing *job)
{
    SPMV__TAIL_T lane[SPMV_DOT_COUNT][SPMV__TAIL_LANES];
    int k;
    memset(lane, 0, sizeof lane);
    for (k = 0; k < SPMV_DOT_COUNT; k++) job->lane[k] = lane[k];
    spmv__parallel(SPMV__TAIL(task), job, (size_t)job->tasks, (size_t)job->tasks);
    for (k = 0; k < SPMV_DOT_COUNT; k++)
        if (job->tail->dots >> k & 1u) ((SPMV__TAIL_T *)job->tail->sums)[job->tail->sums_offset + (uint64_t)k] = SPMV__TAIL(tree)(lane[k]);
}

#undef SPMV__TAIL
#undef SPMV__TAIL_PLUS
#undef SPMV__TAIL_TYPE
#endif /* again */
