/* SPDX-License-Identifier: MIT
 * bench/prepare.c - what preparing a matrix costs, from the CSR form in memory to the first product.
 *
 * On the host, it is in milliseconds and in products of csr. A preparation is repeated; the median counts. Its memory is new each time, as
 * in a program that prepares one matrix, so the time in which the system zeroes pages is contained. For each matrix and plan a line has
 *   ms, products   the time of spmv_create, and how many products of csr take as long
 *   analysis       the share of these products in which options are compared
 *   storing        ... for storing the plan
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
 * With -d, the matrix is prepared on a device, whose kernels an earlier preparation has compiled. For each matrix and plan there is a line
 * with the CSR form in buffers of the device (spmv_desc.buffers), and one with it in the memory of the host:
 *   ms             the time of spmv_create; for the next two, it is divided by that of
 *   products       a product with the plan itself
 *   copies         a copy of the CSR form from pageable memory to the device
 *   input .. build the milliseconds of each phase
 *   us             a product
 * The last lines have the medians of products (buffers) and of copies (host).
 *
 *   make build/prepare
 *   build/prepare [-c CALLS] [-p PLAN] f64|f32 FILE...      CALLS: hints.expected_calls; PLAN: only this one of the plans
 *   build/prepare -d DEVICE [-c CALLS] [-p PLAN] f64|f32 FILE...      DEVICE: spmv_device_desc.which
 *   build/prepare -t f64|f32 FILE...
 */
#define SPMV_IMPLEMENTATION
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

enum { ANALYSIS, STORING, STEPS };

typedef struct watch {
    size_t in_use, most;
    double begun;       /* seconds; 0 before the first phase */
    double took[STEPS]; /* seconds */
    int    step; /* what comes now */
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

/* spmv_hooks.phase */
static void watch_phase(void *user, spmv_phase p)
{
    watch *w = (watch *)user;
    double at = now();
    if (w->begun > 0) w->took[w->step] += at - w->begun;
    w->begun = p == SPMV_PHASE_NONE ? 0 : at;
    if (p == SPMV_PHASE_CONVERT) w->step = STORING;
    if (p == SPMV_PHASE_CHOICE) w->step = ANALYSIS;
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

static const char *name_of(const char *file) { return strrchr(file, '/') ? strrchr(file, '/') + 1 : file; }

/* The matrix of a file, with values of the type. */
static spmv_csr matrix_of(const char *file, spmv_type type)
{
    spmv_csr a;
    need(spmv_bin_read_file(&a, file, 0, NULL) == SPMV_OK, file);
    of_type(&a, type);
    return a;
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
        spmv_plan_of(&m, text, sizeof text);
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

/* ---- on a device -------------------------------------------------------------------------------------------------------- */

/* X(IDENT, "name", products, copies): the classes of plans there, and the most products of a plan itself, from buffers, and the most copies
 * of the CSR form, from the host, that preparing one is to take at the median. "by ptr": the host computes from the row pointers. */
#define DEVICE_CLASS_LIST(X)           \
    X(TILES,   "tcsr",      5,   1.5)  \
    X(WIDTHS,  "ell, sell", 20,  1.5)  \
    X(POINTS,  "by ptr",    20,  1.5)  \
    X(SIDES,   "blocks",    60,  2.5)  \
    X(MIXED,   "dia, parts", 60, 2.5)  \
    X(CHOICES, "auto",      100, 3)

enum {
#define X(ID, name, products, copies) DEVICE_##ID,
    DEVICE_CLASS_LIST(X)
#undef X
    DEVICE_CLASSES
};

static const struct {
    int         category;
    const char *text;
} device_plans[] = {
    { DEVICE_TILES, "tcsr" },       { DEVICE_TILES, "tcsr:idx=16" },  { DEVICE_WIDTHS, "sell" },  { DEVICE_WIDTHS, "ell" },
    { DEVICE_POINTS, "csr:run=2048" }, { DEVICE_POINTS, "sell:rows=sorted" }, { DEVICE_SIDES, "bcsr:b=3x3" },
    { DEVICE_SIDES, "sbell:b=3x3" }, { DEVICE_MIXED, "dia" }, { DEVICE_MIXED, "ell:w=8+csr" }, { DEVICE_CHOICES, "auto" },
};

enum { DEVICE_PLANS = sizeof device_plans / sizeof *device_plans };
enum { FROM_BUFFERS, FROM_HOST, SOURCES };

static double device_found[SOURCES][DEVICE_CLASSES][MOST_FILES * DEVICE_PLANS];
static int    device_found_count[SOURCES][DEVICE_CLASSES];

/* A matrix, in the memory of the host and in buffers of a device. */
typedef struct resident {
    const char     *name;
    const spmv_csr *a;
    spmv_device    *device;
    void           *buffer[3]; /* ptr, col, val */
    double          copy;      /* seconds of copying it to the buffers */
} resident;

/* Seconds of each phase. */
typedef struct phases {
    double     begun, took[SPMV_PHASE_COUNT];
    spmv_phase now;
} phases;

/* spmv_hooks.phase */
static void phases_next(void *user, spmv_phase p)
{
    phases *t = (phases *)user;
    const double at = now();
    t->took[t->now] += at - t->begun;
    t->now = p;
    t->begun = at;
}

/* Copies the matrix to buffers of the device. */
static void resident_make(resident *r, const char *name, const spmv_csr *a, spmv_device *d)
{
    const void *from[3];
    uint64_t bytes[3];
    double took[ROUNDS];
    int i, k;
    from[0] = a->ptr;
    from[1] = a->col;
    from[2] = a->val;
    bytes[0] = (a->rows + 1) * 8;
    bytes[1] = a->nnz * 4;
    bytes[2] = a->nnz * spmv_value_size(a->type);
    r->name = name;
    r->a = a;
    r->device = d;
    for (k = 0; k < 3; k++) need(spmv_buffer_create(d, bytes[k], &r->buffer[k]) == SPMV_OK, name);
    for (i = 0; i < ROUNDS; i++) {
        const double begun = now();
        for (k = 0; k < 3; k++) need(spmv_buffer_write(d, r->buffer[k], bytes[k], from[k]) == SPMV_OK, name);
        took[i] = now() - begun;
    }
    r->copy = median(took, ROUNDS);
}

static void resident_free(resident *r)
{
    int k;
    for (k = 0; k < 3; k++) spmv_buffer_destroy(r->device, r->buffer[k]);
}

/* Describes the matrix in its buffers or in the memory of the host. */
static spmv_desc resident_desc(const resident *r, int from, const char *plan, const spmv_build_hints *hints)
{
    spmv_desc d = desc_of(r->a, plan, hints);
    d.device = r->device;
    if (from == FROM_HOST) return d;
    d.csr = NULL;
    d.buffers = 1;
    d.matrix.rows = (int64_t)r->a->rows;
    d.matrix.cols = (int64_t)r->a->cols;
    d.matrix.nnz = (int64_t)r->a->nnz;
    d.matrix.ptr_bits = 64;
    d.matrix.val_type = r->a->type;
    d.matrix.ptr = r->buffer[0];
    d.matrix.col = r->buffer[1];
    d.matrix.val = r->buffer[2];
    return d;
}

/* Seconds of a product on the device, among products in a row. */
static double device_seconds(const spmv_matrix *m)
{
    spmv__vectors v;
    double seconds = 0;
    if (spmv__vectors_make(m, &v) == SPMV_OK) seconds = spmv__row_seconds(m, NULL, &v, spmv__row_length(m, NULL, &v));
    spmv__vectors_free(m, &v);
    return seconds;
}

/* Prepares the matrix on the device by a plan, prints its line and keeps the number of products, or of copies. */
static void resident_prepare(const resident *r, int plan, int from)
{
    static const char *const sources[SOURCES] = { "buffers", "host" };
    const int category = device_plans[plan].category;
    spmv_build_hints hints;
    spmv_desc d = resident_desc(r, from, device_plans[plan].text, &hints);
    double took[ROUNDS], part[SPMV_PHASE_COUNT][ROUNDS], product[ROUNDS], seconds, one, ratio;
    char text[SPMV_PLAN_TEXT] = "";
    int i, k;
    memset(&hints, 0, sizeof hints);
    hints.expected_calls = calls;
    for (i = -1; i < ROUNDS; i++) { /* the first compiles the kernels, and its time does not count */
        phases t;
        spmv_matrix m;
        spmv_status s;
        memset(&t, 0, sizeof t);
        d.hooks.user = &t;
        d.hooks.phase = phases_next;
        seconds = t.begun = now();
        s = spmv_create(&m, &d);
        seconds = now() - seconds;
        if (spmv_status_is_refusal(s)) return;
        need(s == SPMV_OK, device_plans[plan].text);
        if (i >= 0) {
            took[i] = seconds;
            product[i] = device_seconds(&m);
            for (k = 0; k < SPMV_PHASE_COUNT; k++) part[k][i] = t.took[k];
        }
        spmv_plan_of(&m, text, sizeof text);
        spmv_destroy(&m);
    }
    seconds = median(took, ROUNDS);
    one = median(product, ROUNDS);
    ratio = seconds / (from == FROM_BUFFERS ? one : r->copy);
    device_found[from][category][device_found_count[from][category]++] = ratio;
    printf("%-24s %-16s %-7s %8.3f %8.1f %8.2f", r->name, device_plans[plan].text, sources[from], seconds * 1e3, seconds / one,
           seconds / r->copy);
    for (k = SPMV_PHASE_INPUT; k < SPMV_PHASE_COUNT; k++) printf(" %10.3f", median(part[k], ROUNDS) * 1e3);
    printf(" %8.1f  %s\n", one * 1e6, text);
    fflush(stdout);
}

/* Prepares a matrix on the device by all plans, or only one. */
static void on_device(const char *name, const spmv_csr *a, spmv_device *d, const char *only)
{
    resident r;
    int plan, from;
    resident_make(&r, name, a, d);
    for (plan = 0; plan < DEVICE_PLANS; plan++)
        for (from = 0; from < SOURCES && (!only || !strcmp(only, device_plans[plan].text)); from++) resident_prepare(&r, plan, from);
    resident_free(&r);
}

static void print_device_head(void)
{
    int k;
    printf("%-24s %-16s %-7s %8s %8s %8s", "matrix", "plan", "from", "ms", "products", "copies");
    for (k = SPMV_PHASE_INPUT; k < SPMV_PHASE_COUNT; k++) printf(" %10s", spmv_phase_name((spmv_phase)k));
    printf(" %8s  stored as\n", "us");
}

static void print_device_class(int category, const char *name, double products, double copies)
{
    static const char *const units[SOURCES] = { "products, from buffers", "copies, from the host" };
    int from;
    for (from = 0; from < SOURCES; from++) {
        double *v = device_found[from][category];
        const int n = device_found_count[from][category];
        if (!n) continue;
        qsort(v, (size_t)n, sizeof *v, by_size);
        printf("%-10s %-22s median %7.2f (goal %5.1f), worst %7.2f, of %d\n", name, units[from], v[n / 2],
               from == FROM_BUFFERS ? products : copies, v[n - 1], n);
    }
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
    spmv_plan_of(&m, text, sizeof text);
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

/* Prepares the matrices of the files on a device. */
static void run_on_device(const char *which, spmv_type type, char *const *file, int files, const char *only)
{
    spmv_device_desc desc;
    spmv_device d;
    int i;
    memset(&desc, 0, sizeof desc);
    desc.which = which;
    desc.profile = 1; /* for the time of products */
    need(spmv_device_create(&d, &desc) == SPMV_OK, which);
    print_device_head();
    for (i = 0; i < files; i++) {
        spmv_csr a = matrix_of(file[i], type);
        on_device(name_of(file[i]), &a, &d, only);
        spmv_csr_destroy(&a);
    }
#define X(ID, name, products, copies) print_device_class(DEVICE_##ID, name, products, copies);
    DEVICE_CLASS_LIST(X)
#undef X
    spmv_device_destroy(&d);
}

/* Prints the totals of the matrices of the files. */
static void run_totals(spmv_type type, char *const *file, int files)
{
    int i;
    printf("%-26s%10.0f products   %10.0f products   %8.0f products\n%-26s %6s %5s %6s %6s %5s %6s %6s %5s %6s  %s\n", "", counts[0],
           counts[1], counts[2], "matrix", "total", "one", "ready", "total", "one", "ready", "total", "one", "ready", "stored as");
    for (i = 0; i < files; i++) {
        spmv_csr a = matrix_of(file[i], type);
        total(name_of(file[i]), &a);
        spmv_csr_destroy(&a);
    }
    print_totals();
}

/* Prepares the matrices of the files on the host. */
static void run_on_host(spmv_type type, char *const *file, int files, const char *only)
{
    int i, plan;
    printf("%-24s %-13s %9s %8s %8s %8s %7s %9s  %s\n", "matrix", "plan", "ms", "products", "analysis", "storing", "memory",
           "csr us", "stored as");
    for (i = 0; i < files; i++) {
        spmv_csr a = matrix_of(file[i], type);
        const double csr = csr_seconds(&a);
        for (plan = 0; plan < PLANS; plan++)
            if (!only || !strcmp(only, plans[plan].text)) prepare(name_of(file[i]), &a, plan, csr);
        spmv_csr_destroy(&a);
    }
#define X(ID, name, goal) print_class(CLASS_##ID, name, goal);
    CLASS_LIST(X)
#undef X
}

int main(int argc, char **argv)
{
    const char *only = NULL, *device = NULL;
    int at = 1, files, in_total = argc > 1 && !strcmp(argv[1], "-t");
    spmv_type type;
    at += in_total;
    for (; argc > at + 2 && argv[at][0] == '-'; at += 2) {
        if (!strcmp(argv[at], "-c")) calls = strtoull(argv[at + 1], NULL, 10);
        else if (!strcmp(argv[at], "-p")) only = argv[at + 1];
        else if (!strcmp(argv[at], "-d")) device = argv[at + 1];
        else break;
    }
    type = argc > at + 1 ? spmv_type_from(argv[at]) : SPMV_TYPE_COUNT;
    files = argc - at - 1;
    if ((type != SPMV_F64 && type != SPMV_F32) || files > MOST_FILES || (in_total && (device || only || calls))) {
        fprintf(stderr, "usage: prepare [-t | [-d DEVICE] [-c CALLS] [-p PLAN]] f64|f32 FILE...\n");
        return 2;
    }
#if defined(__GLIBC__)
    mallopt(M_MMAP_THRESHOLD, 1 << 17); /* large blocks are new pages every time */
#endif
    if (device) run_on_device(device, type, argv + at + 1, files, only);
    else if (in_total) run_totals(type, argv + at + 1, files);
    else run_on_host(type, argv + at + 1, files, only);
    return 0;
}
