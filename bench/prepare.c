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
 * With -t, the line of a matrix has three numbers for each of 100, 1,000 and 10,000 products, which auto is told to expect: total:
 * preparing by auto and that many products, over the same with the best plan of the list "single"; one: a product with what auto chose,
 * over one with the fastest plan of all, choices of auto included; ready: the time of preparing by auto, in products of csr. "stored as"
 * is the choice for 1,000 products. The last three lines have the geometric means and, in parentheses, the highest of total and of one.
 *
 *   make build/prepare
 *   build/prepare [-c CALLS] [-p PLAN] f64|f32 FILE...      CALLS: hints.expected_calls; PLAN: only this one of the plans
 *   build/prepare -t f64|f32 FILE...
 */
#define SPMV_IMPLEMENTATION
#define SPMV_NO_DEVICES
#include "../spmv.h"
#include "../spmv_io.h"
#include "common.h"
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <math.h>
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

/* Seconds of a product. */
static double product_seconds(const spmv_matrix *m)
{
    double took[PRODUCTS], from;
    void *x = room(spmv_cols(m), 8), *y = room(spmv_rows(m), 8);
    int i, j, row = 1;
    spmv_mul(m, 1, x, 0, y);
    from = now();
    spmv_mul(m, 1, x, 0, y);
    while (row < 100 && (now() - from) * row < 2e-4) row++; /* so long that the clock's steps do not count */
    for (i = 0; i < PRODUCTS; i++) {
        from = now();
        for (j = 0; j < row; j++) spmv_mul(m, 1, x, 0, y);
        took[i] = (now() - from) / row;
    }
    free(x);
    free(y);
    return median(took, PRODUCTS);
}

/* Seconds of a product of csr. */
static double csr_seconds(const spmv_csr *a)
{
    spmv_desc d = desc_of(a, "csr", NULL);
    double seconds;
    spmv_matrix m;
    need(spmv_create(&m, &d) == SPMV_OK, "csr");
    seconds = product_seconds(&m);
    spmv_destroy(&m);
    return seconds;
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

/* ---- totals ------------------------------------------------------------------------------------------------------------- */

enum { TIMES = 3 /* preparations */, COUNTS = 3, MOST_KNOWN = 64 /* plans; more than "single" has */ };

static const double counts[COUNTS] = { 100, 1000, 10000 };

static const char *const single[] = {
    "csr", "csr:run=1024,idx=16", "csr:rows=sorted,sigma=256", "sell", "sell:h=8", "sell:h=256", "sell:idx=16", "ell", "tcsr", "cmrs:h=8",
    "sell:h=32,rows=sorted,sigma=1024", "bcsr:b=2x2", "bcsr:b=3x3", "bcsr:b=4x4", "bcsr:b=6x6", "sbell:b=3x3", "dia", "bdia", "dense",
};

/* A plan that was measured: seconds of preparing it and of a product. */
typedef struct measured {
    char   text[SPMV_PLAN_TEXT];
    double ready, product;
} measured;

static double total_ratio[COUNTS][MOST_FILES], product_ratio[COUNTS][MOST_FILES];
static int    totals;

/* Prepares a matrix a few times by a plan, and makes known what it is stored as, unless it is. Sets *seconds to the median time of
 * preparing it, and returns the place of what is stored; -1: it is refused. */
static int prepare_known(const spmv_csr *a, const char *plan, uint64_t expected, measured *known, int *count, double *seconds)
{
    spmv_build_hints hints;
    spmv_desc d = desc_of(a, plan, &hints);
    double took[TIMES];
    char text[SPMV_PLAN_TEXT];
    spmv_matrix m;
    int i, at;
    memset(&hints, 0, sizeof hints);
    hints.expected_calls = expected;
    for (i = 0; i < TIMES; i++) {
        double from = now();
        spmv_status s = spmv_create(&m, &d);
        took[i] = now() - from;
        if (spmv_status_is_refusal(s)) return -1;
        need(s == SPMV_OK, plan);
        if (i + 1 < TIMES) spmv_destroy(&m);
    }
    *seconds = median(took, TIMES);
    spmv_plan_print(&m.store.plan, text, sizeof text);
    for (at = 0; at < *count && strcmp(known[at].text, text);) at++;
    if (at == *count && *count < MOST_KNOWN) {
        memcpy(known[at].text, text, sizeof text);
        known[at].product = product_seconds(&m);
        known[at].ready = *seconds;
        ++*count;
    }
    spmv_destroy(&m);
    return at;
}

/* Prints a matrix's line of totals. */
static void total(const char *name, const spmv_csr *a)
{
    static measured known[MOST_KNOWN];
    double ready[COUNTS], seconds;
    int chosen[COUNTS], count = 0, alone, i, k;
    for (i = 0; i < (int)(sizeof single / sizeof *single); i++) (void)prepare_known(a, single[i], 0, known, &count, &seconds);
    alone = count;
    for (i = 0; i < COUNTS; i++) {
        chosen[i] = prepare_known(a, "auto", (uint64_t)counts[i], known, &count, &ready[i]);
        need(chosen[i] >= 0, "auto");
    }
    printf("%-26s", name);
    for (i = 0; i < COUNTS; i++) {
        double least = 0, fastest = 0, own = known[chosen[i]].product;
        for (k = 0; k < count; k++) {
            double whole = known[k].ready + counts[i] * known[k].product;
            if (k < alone && (!k || whole < least)) least = whole;
            if (!k || known[k].product < fastest) fastest = known[k].product;
        }
        total_ratio[i][totals] = (ready[i] + counts[i] * own) / least;
        product_ratio[i][totals] = own / fastest;
        printf(" %6.2f %5.2f %6.1f", total_ratio[i][totals], product_ratio[i][totals], ready[i] / known[0].product);
    }
    printf("  %s\n", known[chosen[1]].text);
    fflush(stdout);
    totals++;
}

/* The geometric mean of n values and, in *worst, the highest. */
static double mean_of(const double *v, int n, double *worst)
{
    double sum = 0;
    int i;
    for (*worst = 0, i = 0; i < n; i++) {
        sum += log(v[i]);
        if (v[i] > *worst) *worst = v[i];
    }
    return n ? exp(sum / n) : 0;
}

static void print_totals(void)
{
    int i;
    for (i = 0; i < COUNTS; i++) {
        double worst, slowest, mean = mean_of(total_ratio[i], totals, &worst), products = mean_of(product_ratio[i], totals, &slowest);
        printf("%6.0f products: total %.3f (%.2f), a product %.3f (%.2f), of %d matrices\n", counts[i], mean, worst, products, slowest,
               totals);
    }
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
    int at = 1, plan, in_total = argc > 1 && !strcmp(argv[1], "-t");
    spmv_type type;
    at += in_total;
    for (; argc > at + 2 && argv[at][0] == '-'; at += 2) {
        if (!strcmp(argv[at], "-c")) calls = strtoull(argv[at + 1], NULL, 10);
        else if (!strcmp(argv[at], "-p")) only = argv[at + 1];
        else break;
    }
    type = argc > at + 1 ? spmv_type_from(argv[at]) : SPMV_TYPE_COUNT;
    if ((type != SPMV_F64 && type != SPMV_F32) || argc - at - 1 > MOST_FILES) {
        fprintf(stderr, "usage: prepare [-t | [-c CALLS] [-p PLAN]] f64|f32 FILE...\n");
        return 2;
    }
#if defined(__GLIBC__)
    mallopt(M_MMAP_THRESHOLD, 1 << 17); /* large blocks are new pages every time */
#endif
    if (in_total)
        printf("%-26s%10.0f products   %10.0f products   %8.0f products\n%-26s %6s %5s %6s %6s %5s %6s %6s %5s %6s  %s\n", "", counts[0],
               counts[1], counts[2], "matrix", "total", "one", "ready", "total", "one", "ready", "total", "one", "ready", "stored as");
    else printf("%-24s %-13s %9s %8s %8s %8s %8s %7s %9s  %s\n", "matrix", "plan", "ms", "products", "analysis", "first", "check", "memory",
           "csr us", "stored as");
    while (++at < argc) {
        const char *name = strrchr(argv[at], '/') ? strrchr(argv[at], '/') + 1 : argv[at];
        spmv_csr a;
        double csr;
        need(spmv_bin_read_file(&a, argv[at], 0, NULL) == SPMV_OK, argv[at]);
        of_type(&a, type);
        if (in_total) total(name, &a);
        csr = in_total ? 0 : csr_seconds(&a);
        for (plan = 0; plan < PLANS && !in_total; plan++)
            if (!only || !strcmp(only, plans[plan].text)) prepare(name, &a, plan, csr);
        spmv_csr_free(&a);
    }
    if (in_total) print_totals();
#define X(ID, name, goal) print_class(CLASS_##ID, name, goal);
    CLASS_LIST(X)
#undef X
    return 0;
}
