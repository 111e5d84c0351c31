/* SPDX-License-Identifier: MIT
 * bench/prepare.c - what preparing a matrix costs on the host, from the CSR form in memory to the first product, in milliseconds and in
 * products of csr. A preparation is repeated; the median counts. Its memory is new each time, as in a program that prepares one matrix, so
 * the time in which the system zeroes pages is contained. For each matrix and plan a line has
 *   ms, products   the time of spmv_create, and how many products of csr take as long
 *   analysis       the share of these products in which options are compared
 *   first          ... for storing the first plan; where the choice is checked by the clock, that is csr, with measuring it
 *   check          ... for storing and measuring others
 *   memory         the most bytes in use at one time, the stored matrix included, in multiples of those of the CSR form
 *   plan           what was stored
 * A plan that is refused is left out. The last lines have the median and the highest number of products for each class of plans: csr in
 * runs, slices (sell, ell, tcsr), blocks and auto. FILES are binary (spmv gen NAME -o FILE.bin, spmv convert).
 *
 *   make build/prepare
 *   build/prepare [-c CALLS] [-p PLAN] f64|f32 FILE...      CALLS: hints.expected_calls; PLAN: only this one of the plans
 */
#define SPMV_IMPLEMENTATION
#define SPMV_NO_DEVICES
#include "../spmv.h"
#include "../spmv_io.h"
#include "common.h"
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 9, PRODUCTS = 31, MOST_FILES = 512 };

/* X(IDENT, "name", goal): the classes of plans, and the most csr products that preparing one is to take at the median. */
#define CLASS_LIST(X)      \
    X(RUNS,   "csr:run", 2)  \
    X(SLICES, "slices",  5)  \
    X(BLOCKS, "blocks",  12) \
    X(AUTO,   "auto",    8)

enum {
#define X(ID, name, goal) CLASS_##ID,
    CLASS_LIST(X)
#undef X
    CLASSES
};

static const struct {
    int         category;
    const char *text;
} plans[] = {
    { CLASS_RUNS,   "csr:run=1024" },
    { CLASS_SLICES, "sell" },
    { CLASS_SLICES, "ell" },
    { CLASS_SLICES, "tcsr" },
    { CLASS_BLOCKS, "bcsr:b=3x3" },
    { CLASS_BLOCKS, "sbell:b=3x3" },
    { CLASS_BLOCKS, "bell:b=2x2" },
    { CLASS_AUTO,   "auto" },
};

enum { PLANS = sizeof plans / sizeof *plans };

static double   found[CLASSES][MOST_FILES * PLANS];
static int      found_count[CLASSES];
static uint64_t calls;

/* ---- hooks: memory in use and the time of analysis --------------------------------------------------------------------- */

enum { ANALYSIS, FIRST, CHECK, STEPS };

typedef struct watch {
    size_t in_use, most;
    double begun;       /* seconds; 0 before the first phase */
    double took[STEPS]; /* seconds */
    int    step, stored, measured, analysed; /* what comes now, and how often each came */
} watch;

enum { BEFORE = 64 }; /* bytes in front of a block, for its size; keeps blocks aligned for vector instructions */

/* spmv_hooks.resize: counts the bytes in use. */
static void *watch_resize(void *user, void *block, size_t bytes)
{
    watch *w = (watch *)user;
    unsigned char *old = block ? (unsigned char *)block - BEFORE : NULL, *now_at;
    size_t was = 0;
    if (old) memcpy(&was, old, sizeof was);
    w->in_use -= was;
    if (!bytes) {
        free(old);
        return NULL;
    }
    now_at = (unsigned char *)realloc(old, bytes + BEFORE);
    if (!now_at) {
        w->in_use += was;
        return NULL;
    }
    memcpy(now_at, &bytes, sizeof bytes);
    w->in_use += bytes;
    if (w->in_use > w->most) w->most = w->in_use;
    return now_at + BEFORE;
}

/* spmv_hooks.phase. The first plan is stored before the analysis or after it, and the analysis begins with a phase of its own. */
static void watch_phase(void *user, spmv_phase p)
{
    watch *w = (watch *)user;
    double at = now();
    if (w->begun > 0) w->took[w->step] += at - w->begun;
    w->begun = p == SPMV_PHASE_NONE ? 0 : at;
    if (p == SPMV_PHASE_CONVERT) w->step = w->stored++ ? CHECK : FIRST;
    else if (p == SPMV_PHASE_CHOICE && !w->analysed && (!w->stored || w->measured++)) {
        w->step = ANALYSIS;
        w->analysed = 1;
    } else if (p == SPMV_PHASE_CHOICE && w->analysed) w->step = CHECK;
}

static void quiet(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    (void)message;
}

/* ---- one matrix --------------------------------------------------------------------------------------------------------- */

/* Gives the matrix values of the type. */
static void of_type(spmv_csr *a, spmv_type type)
{
    uint64_t i;
    void *val;
    if (a->type == type) return;
    val = room(a->nnz, spmv_value_size(type));
    for (i = 0; i < a->nnz; i++) {
        if (type == SPMV_F64) ((double *)val)[i] = (double)((const float *)a->val)[i];
        else ((float *)val)[i] = (float)((const double *)a->val)[i];
    }
    free((void *)(uintptr_t)a->val);
    a->val = val;
    a->type = type;
}

static spmv_desc desc_of(const spmv_csr *a, const char *plan, const spmv_build_hints *hints)
{
    spmv_desc d;
    memset(&d, 0, sizeof d);
    d.csr = a;
    d.type = a->type;
    d.plan = plan;
    d.hints = hints;
    d.hooks.log = quiet;
    return d;
}

/* Seconds of a product of csr. */
static double csr_seconds(const spmv_csr *a)
{
    spmv_desc d = desc_of(a, "csr", NULL);
    double took[PRODUCTS], from;
    void *x = room(a->cols, 8), *y = room(a->rows, 8);
    spmv_matrix m;
    int i, j, row = 1;
    need(spmv_create(&m, &d) == SPMV_OK, "csr");
    from = now();
    spmv_mul(&m, 1, x, 0, y);
    while (row < 100 && (now() - from) * row < 2e-4) row++; /* so long that the clock's steps do not count */
    for (i = 0; i < PRODUCTS; i++) {
        from = now();
        for (j = 0; j < row; j++) spmv_mul(&m, 1, x, 0, y);
        took[i] = (now() - from) / row;
    }
    spmv_destroy(&m);
    free(x);
    free(y);
    return median(took, PRODUCTS);
}

/* Prepares the matrix by a plan, prints its line and keeps the number of products. csr: seconds of a product of csr. */
static void prepare(const char *name, const spmv_csr *a, int plan, double csr)
{
    spmv_build_hints hints;
    spmv_desc d = desc_of(a, plans[plan].text, &hints);
    double took[ROUNDS], part[STEPS][ROUNDS], seconds;
    int i, k, category = plans[plan].category;
    char text[SPMV_PLAN_TEXT] = "";
    size_t most = 0;
    memset(&hints, 0, sizeof hints);
    hints.expected_calls = calls;
    for (i = 0; i <= ROUNDS; i++) { /* the last round counts memory, and its time does not count */
        watch w;
        spmv_matrix m;
        double from = now();
        spmv_status s;
        memset(&w, 0, sizeof w);
        d.hooks.user = &w;
        d.hooks.phase = watch_phase;
        d.hooks.resize = i == ROUNDS ? watch_resize : NULL;
        s = spmv_create(&m, &d);
        if (i < ROUNDS) took[i] = now() - from;
        for (k = 0; k < STEPS && i < ROUNDS; k++) part[k][i] = w.took[k];
        if (spmv_status_is_refusal(s)) return;
        need(s == SPMV_OK, plans[plan].text);
        spmv_plan_print(&m.store.plan, text, sizeof text);
        spmv_destroy(&m);
        most = w.most;
    }
    seconds = median(took, ROUNDS);
    found[category][found_count[category]++] = seconds / csr;
    printf("%-24s %-13s %9.3f %8.2f", name, plans[plan].text, seconds * 1e3, seconds / csr);
    for (k = 0; k < STEPS; k++) printf(" %8.2f", median(part[k], ROUNDS) / csr);
    printf(" %7.2f %9.1f  %s\n", (double)most / (double)spmv__csr_bytes(a), csr * 1e6, text);
    fflush(stdout);
}

static void print_class(int category, const char *name, int goal)
{
    double *v = found[category];
    int n = found_count[category];
    if (!n) return;
    qsort(v, (size_t)n, sizeof *v, by_size);
    printf("%-10s median %6.2f (goal %2d), 9 of 10 below %6.2f, worst %6.2f, of %d\n", name, v[n / 2], goal, v[n * 9 / 10], v[n - 1], n);
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    int at = 1, plan;
    spmv_type type;
    for (; argc > at + 2 && argv[at][0] == '-'; at += 2) {
        if (!strcmp(argv[at], "-c")) calls = strtoull(argv[at + 1], NULL, 10);
        else if (!strcmp(argv[at], "-p")) only = argv[at + 1];
        else break;
    }
    type = argc > at + 1 ? spmv_type_from(argv[at]) : SPMV_TYPE_COUNT;
    if ((type != SPMV_F64 && type != SPMV_F32) || argc - at - 1 > MOST_FILES) {
        fprintf(stderr, "usage: prepare [-c CALLS] [-p PLAN] f64|f32 FILE...\n");
        return 2;
    }
#if defined(__GLIBC__)
    mallopt(M_MMAP_THRESHOLD, 1 << 17); /* large blocks are new pages every time */
#endif
    printf("%-24s %-13s %9s %8s %8s %8s %8s %7s %9s  %s\n", "matrix", "plan", "ms", "products", "analysis", "first", "check", "memory",
           "csr us", "stored as");
    while (++at < argc) {
        const char *name = strrchr(argv[at], '/') ? strrchr(argv[at], '/') + 1 : argv[at];
        spmv_csr a;
        double csr;
        need(spmv_bin_read_file(&a, argv[at], 0, NULL) == SPMV_OK, argv[at]);
        of_type(&a, type);
        csr = csr_seconds(&a);
        for (plan = 0; plan < PLANS; plan++)
            if (!only || !strcmp(only, plans[plan].text)) prepare(name, &a, plan, csr);
        spmv_csr_free(&a);
    }
#define X(ID, name, goal) print_class(CLASS_##ID, name, goal);
    CLASS_LIST(X)
#undef X
    return 0;
}
