/* SPDX-License-Identifier: MIT
 *
 * spmv/choice/measure.h - a matrix by the plan that was chosen; "measure" times the cheapest ones.
 */
#ifndef SPMV__CHOICE_MEASURE_H
#define SPMV__CHOICE_MEASURE_H

#include "auto.h"

#if !defined(_OPENMP) && defined(SPMV__POSIX)
#include <time.h>
#ifdef CLOCK_MONOTONIC
#define SPMV__MONOTONIC CLOCK_MONOTONIC
#elif defined(__linux__) && defined(__LP64__) && !defined(__cplusplus) /* as with madvise; 32-bit programs may have two of these */
extern int clock_gettime(int clock, struct timespec *now);
#define SPMV__MONOTONIC 1
#endif
#endif

/* Is another plan worth trying after this status? A plan may need more memory than there is, and then another one may fit. No kernel runs
 * while a matrix is prepared, so a failed driver call (such as CL_OUT_OF_RESOURCES) is most likely a lack of memory as well. */
static int spmv__try_next(spmv_status s)
{
    return spmv_status_is_refusal(s) || s == SPMV_ERR_BUILD || s == SPMV_ERR_BACKEND;
}

/* Moves an option to the front. */
static void spmv__to_front(spmv_choice *choice, int at)
{
    spmv_option first = choice->option[at];
    for (; at > 0; at--) choice->option[at] = choice->option[at - 1];
    choice->option[0] = first;
}

/* Stores the matrix by the plan that was chosen. Where that cannot be built, tries the other options in the order of their cost; the one
 * that is taken moves to the front. */
static spmv_status spmv__store_choice(spmv_matrix *matrix, const spmv_desc *desc, const spmv_csr *csr, const spmv_build *how,
                                      spmv_choice *choice)
{
    char failed[128], next[128];
    int i = 0;
    spmv_status s;
    for (;;) {
        spmv__phase(&desc->hooks, SPMV_PHASE_CONVERT);
        s = spmv_store_create(&matrix->store, &choice->plan, csr, how, &desc->hooks);
        if (!s) s = spmv__to_device(matrix, desc, desc->variant ? desc->variant : choice->variant);
        /* the table of another version may name knobs that there are no longer */
        if (!(spmv__try_next(s) || (s == SPMV_ERR_PLAN && !desc->variant)) || ++i >= choice->count) break;
        spmv__off_device(matrix);
        spmv_store_destroy(&matrix->store);
        choice->option[i - 1].measured = -1;
        spmv_option_print(choice, i - 1, failed, sizeof failed);
        spmv_option_print(choice, i, next, sizeof next);
        spmv_log(&desc->hooks, SPMV_OK, "plan \"%s\" could not be built; trying \"%s\"", failed, next);
        spmv__take_option(choice, i);
    }
    if (!s && i) spmv__to_front(choice, i);
    return s;
}

/* ---- "measure" ------------------------------------------------------------------------------------------------------ */

enum {
    SPMV__MEASURED = 3, /* options that are prepared and timed: among so many the fastest of all hardly ever is missing */
    SPMV__TURNS    = 5  /* rows of products of each of two matrices, of which the fastest counts: a delay by other programs spoils one */
};

/* A product that is bound by its launch takes up to so many times as long as the smallest of all, whatever it computes, unless products are
 * recorded in a graph: the clock does not tell such plans apart, the predictions do. */
#define SPMV__CALL_TIMES 1.5

/* Seconds by a clock that never goes back, OpenMP's or the system's; below 0: there is none. */
static double spmv__seconds(void)
{
#if defined(_OPENMP)
    return omp_get_wtime();
#elif defined(SPMV__MONOTONIC)
    struct timespec now;
    return clock_gettime(SPMV__MONOTONIC, &now) ? -1 : (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
#elif defined(_WIN32)
    LARGE_INTEGER now, second;
    return QueryPerformanceFrequency(&second) && QueryPerformanceCounter(&now) ? (double)now.QuadPart / (double)second.QuadPart : -1;
#else
    return -1;
#endif
}

/* The same by the clock of the hints, if they have one. */
static double spmv__clock_now(const spmv_build_hints *hints)
{
    return hints && hints->clock ? hints->clock(hints->clock_user) : spmv__seconds();
}

/* The vectors of zeros with which products are timed, on the device or on the host. */
typedef struct spmv__vectors {
    void *x, *y;
} spmv__vectors;

static void spmv__vectors_free(const spmv_matrix *matrix, spmv__vectors *v)
{
#ifdef SPMV_DEVICE_H
    if (matrix->device) {
        spmv__dev_exec_forget(matrix->exec, SPMV__X);
        spmv__dev_exec_forget(matrix->exec, SPMV__Y);
        spmv_buffer_destroy(matrix->device, v->x);
        spmv_buffer_destroy(matrix->device, v->y);
        return;
    }
#endif
    spmv_free(&matrix->store.hooks, v->x);
    spmv_free(&matrix->store.hooks, v->y);
}

static spmv_status spmv__vectors_make(const spmv_matrix *matrix, spmv__vectors *v)
{
    const uint64_t size = spmv_vector_size(matrix->store.type), x = matrix->store.cols * size, y = matrix->store.rows * size;
    spmv_status s;
    v->x = v->y = NULL;
#ifdef SPMV_DEVICE_H
    if (matrix->device) {
        s = spmv_buffer_create(matrix->device, x, &v->x);
        if (!s) s = spmv_buffer_create(matrix->device, y, &v->y);
        return !s && x ? spmv_buffer_fill(matrix->device, v->x, x, 0) : s;
    }
#endif
    s = spmv__new(&matrix->store.hooks, &v->x, x + 1, 1, 0);
    return s ? s : spmv__new(&matrix->store.hooks, &v->y, y + 1, 1, 0);
}

#ifdef SPMV_DEVICE_H
/* One product; timed: with events. */
static spmv_status spmv__dev_product(const spmv_matrix *matrix, const spmv__vectors *v, int timed)
{
    spmv__dev_run run = spmv__dev_run_of(matrix->exec, 1, v->x, 0, v->y, 0);
    matrix->exec->timing = timed;
    return spmv__dev_exec_mul(&run, 0, NULL);
}

/* Seconds of n products in a row by the events of the device, from the begin of the first to the end of the last. */
static spmv_status spmv__dev_row_seconds(const spmv_matrix *matrix, const spmv__vectors *v, int n, double *seconds)
{
    void *begin = NULL;
    int i;
    spmv_status s = spmv__dev_product(matrix, v, 1);
    if (!s) s = spmv__dev_event_keep(matrix->device, &begin, matrix->exec->first);
    for (i = 2; i < n && !s; i++) s = spmv__dev_product(matrix, v, 0);
    if (!s && n > 1) s = spmv__dev_product(matrix, v, 1);
    if (!s) s = matrix->device->info.backend->seconds(matrix->device, begin, matrix->exec->last, seconds);
    spmv__dev_event_free(matrix->device, begin);
    spmv_exec_timing(matrix->exec, 0);
    return s;
}
#endif

/* Seconds of a product among n in a row; 0: they could not be timed. */
static double spmv__row_seconds(const spmv_matrix *matrix, const spmv_build_hints *hints, const spmv__vectors *v, int n)
{
    double begin, seconds = 0;
    int i;
    spmv_status s = SPMV_OK;
#ifdef SPMV_DEVICE_H
    if (matrix->device) return !spmv__dev_row_seconds(matrix, v, n, &seconds) && seconds > 0 ? seconds / n : 0;
#endif
    begin = spmv__clock_now(hints);
    for (i = 0; i < n && !s; i++) s = spmv_store_mul(&matrix->store, 1, v->x, 0, v->y);
    seconds = spmv__clock_now(hints) - begin;
    return !s && seconds > 0 ? seconds / n : 0;
}

/* How many products make a row that is long enough for the clock, which has steps of up to 1 us, and for the first launch and short delays
 * of the host to count little. The products before fill the caches and load the kernels. */
static int spmv__row_length(const spmv_matrix *matrix, const spmv_build_hints *hints, const spmv__vectors *v)
{
    const double row = 1e-3; /* seconds */
    enum { FIRST = 3, MOST = 1000 };
    double one;
    int n = FIRST;
    (void)spmv__row_seconds(matrix, hints, v, 1);
    one = spmv__row_seconds(matrix, hints, v, FIRST);
    while (n < MOST && n * one < row) n++;
    return n;
}

/* Times two matrices by turns, so that whatever disturbs the machine disturbs both. 0: a time is not known. */
static int spmv__by_turns(const spmv_matrix *matrix, const spmv_matrix *with, const spmv_build_hints *hints, double *first, double *second)
{
    spmv__vectors v;
    double one, other;
    int i, n, k, known = !spmv__vectors_make(matrix, &v);
    n = known ? spmv__row_length(matrix, hints, &v) : 0;
    k = known ? spmv__row_length(with, hints, &v) : 0;
    for (i = 0; i < SPMV__TURNS && known; i++) {
        one = spmv__row_seconds(matrix, hints, &v, n);
        other = spmv__row_seconds(with, hints, &v, k);
        known = one > 0 && other > 0;
        if (!i || one < *first) *first = one;
        if (!i || other < *second) *second = other;
    }
    spmv__vectors_free(matrix, &v);
    return known;
}

/* Exchanges what two matrices with the same nonzeros are stored as. */
static void spmv__exchange_stores(spmv_matrix *matrix, spmv_matrix *other)
{
    const spmv_matrix was = *matrix;
    matrix->store = other->store;
    matrix->on_device = other->on_device;
    matrix->exec = other->exec;
    other->store = was.store;
    other->on_device = was.on_device;
    other->exec = was.exec;
}

/* Times another matrix, stored by an option, beside the one that is stored by option 0, and keeps the one that costs less: its option
 * becomes the first. */
static void spmv__compare(spmv_matrix *matrix, spmv_matrix *other, const spmv_desc *desc, spmv_choice *choice, int option)
{
    spmv_option *kept = &choice->option[0], *rival = &choice->option[option];
    if (!spmv__by_turns(matrix, other, desc->hints, &kept->measured, &rival->measured)) return;
    kept->cost = kept->measured + kept->convert / spmv__calls(desc->hints);
    rival->cost = rival->measured + rival->convert / spmv__calls(desc->hints);
    if (rival->cost >= kept->cost) return;
    spmv__exchange_stores(matrix, other);
    spmv__to_front(choice, option);
}

/* Prepares an option beside the matrix and compares both. It is no failure, and there is no message, if there is no room for it. */
static void spmv__challenge(spmv_matrix *matrix, const spmv_desc *desc, const spmv_csr *csr, const spmv_build *how, spmv_choice *choice,
                            int option)
{
    spmv_desc quiet = *desc;
    spmv_matrix other;
    spmv_status s;
    int i;
    memset(&other, 0, sizeof other);
    other.updatable = matrix->updatable;
    quiet.hooks.log = spmv__hush;
    spmv__phase(&desc->hooks, SPMV_PHASE_CONVERT);
    spmv__take_option(choice, option);
    s = spmv_store_create(&other.store, &choice->plan, csr, how, &quiet.hooks);
    if (!s) s = spmv__to_device(&other, &quiet, choice->variant);
    spmv__phase(&desc->hooks, SPMV_PHASE_CHOICE);
    if (s) choice->option[option].measured = -1;
    other.store.hooks.log = desc->hooks.log;
    for (i = 0; !s && i < other.store.count; i++) other.store.part[i].hooks.log = desc->hooks.log;
    if (!s) spmv__compare(matrix, &other, desc, choice, option);
    spmv__off_device(&other);
    spmv_store_destroy(&other.store);
}

/* Can products with the matrix be timed? */
static int spmv__is_timed(const spmv_matrix *matrix, const spmv_build_hints *hints)
{
#ifdef SPMV_DEVICE_H
    if (matrix->device) return matrix->exec->profiles;
#else
    (void)matrix;
#endif
    return (hints && hints->clock) || spmv__seconds() >= 0;
}

/* Prepares and times the best options of a choice, of which the first is stored, and keeps the one that costs least, unless a clock tells
 * nothing. The matrix of the fastest so far and the next one are in memory beside the CSR form. */
static void spmv__measure(spmv_matrix *matrix, const spmv_desc *desc, const spmv_csr *csr, const spmv_build *how, spmv_choice *choice)
{
    int i, n = 1;
    if (!choice->count || choice->option[0].predicted < SPMV__CALL_TIMES * choice->call || !spmv__is_timed(matrix, desc->hints)) return;
    for (i = 1; i < choice->count && n < SPMV__MEASURED; i++) {
        if (choice->option[i].measured < 0) continue; /* it could not be built */
        spmv__challenge(matrix, desc, csr, how, choice, i); /* an option that moves to the front leaves those behind it in place */
        n += choice->option[i].measured >= 0;
    }
    spmv__take_option(choice, 0);
}

/* Chooses a plan and stores the matrix by it. spmv_choice is large, so it is allocated. */
SPMV__APART spmv_status spmv__choose_and_store(spmv_matrix *matrix, const spmv_desc *desc, const spmv_csr *csr, const spmv_build *how)
{
    spmv_target target = { NULL, SPMV_DEVICE_CLASS_HOST, NULL, 0, 0, 0, 0 };
    void *block;
    spmv_choice *choice;
    spmv_status s = spmv__new(&desc->hooks, &block, 1, sizeof *choice, 0);
    if (s) return s;
    choice = desc->hints && desc->hints->choice ? desc->hints->choice : (spmv_choice *)block;
    spmv__phase(&desc->hooks, SPMV_PHASE_CHOICE);
#ifdef SPMV_DEVICE_H
    target = spmv_target_of(desc->device);
    if (desc->device && !(desc->hints && desc->hints->tuning)) s = spmv__keep_table(desc->device, &target);
    if (!s && desc->buffers) s = spmv__count_distinct(desc, csr, &target);
#endif
    if (!s) s = spmv_choose(choice, desc->plan, csr, how, &target, desc->hints, NULL, &desc->hooks);
    if (!s) s = spmv__store_choice(matrix, desc, csr, how, choice);
    if (!s && desc->plan && spmv__is_name(desc->plan, "measure") && !desc->variant) spmv__measure(matrix, desc, csr, how, choice);
    if (s) memset(choice, 0, sizeof *choice);
    spmv_free(&desc->hooks, block);
    return s;
}

/* The class of the device that will multiply. Apart, because a target would take much of the stack that tiny matrices may use. */
SPMV__APART spmv_device_class spmv__class_of(const spmv_desc *desc)
{
#ifdef SPMV_DEVICE_H
    return spmv_target_of(desc->device).device_class;
#else
    (void)desc;
    return SPMV_DEVICE_CLASS_HOST;
#endif
}

/* Stores the matrix by the plan of the description. A choice allocates memory and reads a table, so it is made only where it was requested
 * and the matrix is large enough to gain by it. */
static spmv_status spmv__plan_and_store(spmv_matrix *matrix, const spmv_desc *desc, const spmv_csr *csr, const spmv_build *how,
                                        spmv_format only)
{
    const char *text = desc->plan ? desc->plan : "csr";
    const int is_auto = desc->plan ? spmv__is_name(text, "auto") : !desc->reproducible, explained = desc->hints && desc->hints->choice;
    const spmv_device_class where = desc->device ? spmv__class_of(desc) : SPMV_DEVICE_CLASS_HOST;
    if (only == SPMV_FORMAT_COUNT && is_auto && !explained && spmv__is_tiny(csr, where, desc->hints)) only = SPMV_CSR;
    if (only == SPMV_FORMAT_COUNT && (is_auto || spmv__is_name(text, "measure") || spmv__is_name(text, "cocktail")))
        return spmv__choose_and_store(matrix, desc, csr, how);
    return spmv__store_given(matrix, desc, csr, how, text, only);
}

#endif
