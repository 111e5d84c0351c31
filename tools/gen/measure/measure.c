/* SPDX-License-Identifier: MIT
 * measure - times kernels that spmvgen wrote beside those of the library, on one device.
 *     measure LIST DEVICE TYPES SECONDS MATRIX...
 * Each line of LIST has six words:
 *     GROUP  ROLE  PLAN  KNOBS  WITHIN  FILES
 * Lines of a GROUP stand together; it and ROLE are printed as they are. PLAN is stored and multiplied with each of KNOBS, whose values may
 * be alternatives: "L=1|2|4,WG=128" has three; "-": none. WITHIN is the number of entries of a row that the kernel expects together (1:
 * the library's layout). FILES has the texts that take the place of the library's kernels, "ell=FILE+csr=FILE"; "-": none. TYPES is f32,
 * f64 or both: "f32,f64"; a group whose name ends with .f32 has only that. Every group compiles in a process of its own, all at once; then
 * one after another measures, in the order of LIST, so that nothing else runs on the device. A group stops measuring when it has taken its
 * part of SECONDS.
 * Prints lines of JSON: one for each variant, with the median of several samples, each of products in a row and one wait; "worst" is the
 * largest error of an element in units of its bound. */
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#include "spmv_io.h"
#include "tools/gen/measure/other_text.h"
#include "tools/gen/measure/within.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    WORD = 400,
    TEXT = 1 << 17,   /* bytes of a generated kernel */
    LINES = 400,
    MATRICES = 64,
    GROUPS = 32,
    PLANS = 8,        /* different plans of a group */
    KNOBS = 200,      /* variants of a line */
    PARTS = 4,        /* of a plan */
    SAMPLES = 7,
    WARM = 3,         /* products before the first sample */
    WARM_FIRST = 300, /* before the first of a matrix: the driver moves memory at first use, and clocks rise */
    MOST_IN_A_ROW = 2000,
    BOUND_MORE = 4    /* roundings of an element besides one for each nonzero */
};
#define NOT_A_NUMBER 0xffffffffu /* in f32, and twice in f64 */
#define SAMPLE_SECONDS 0.0006 /* the wait for the device, some 10 us, is a small part of it */
#define SLOW_SECONDS 0.005    /* products that take longer are measured once */

typedef struct line {
    char group[WORD], role[WORD], plan[WORD], knobs[WORD], files[WORD];
    int  within, parts;
    char *text[PARTS];        /* the generated ones */
    char file[PARTS][WORD];   /* which kernel it replaces */
    spmv__program *programs;  /* compiled from these texts; kept in the first line of the group that has them */
} line;

typedef struct matrix {
    const char *name;
    spmv_csr a; /* f64 */
} matrix;

static line lines[LINES];
static int line_count;
static matrix matrices[MATRICES];
static int matrix_count;
static char said[2000];

static void listen(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    snprintf(said, sizeof said, "%s", message);
}

static int stop(const char *what, const char *which)
{
    fprintf(stderr, "measure: %s%s\n", what, which);
    exit(2);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- input ---------------------------------------------------------------------------------------------------------- */

static char *read_text(const char *path)
{
    FILE *in = fopen(path, "r");
    char *text = malloc(TEXT);
    size_t n = in && text ? fread(text, 1, TEXT - 1, in) : 0;
    if (!n || n == TEXT - 1) stop("cannot read ", path);
    text[n] = 0;
    fclose(in);
    return text;
}

/* Finds the texts of a line and the kernels that they replace. */
static void read_texts(line *l)
{
    const char *at = l->files;
    for (l->parts = 0; strcmp(l->files, "-") && *at && l->parts < PARTS; l->parts++) {
        char path[WORD];
        const size_t name = strcspn(at, "="), n = strcspn(at, "+");
        if (name >= n) stop("expected KERNEL=FILE: ", l->files);
        snprintf(l->file[l->parts], WORD, "%.*s.cl", (int)name, at);
        snprintf(path, sizeof path, "%.*s", (int)(n - name - 1), at + name + 1);
        l->text[l->parts] = read_text(path);
        at += n + (at[n] == '+');
    }
}

static void read_list(const char *path)
{
    FILE *in = fopen(path, "r");
    line *l = lines;
    if (!in) stop("cannot read ", path);
    while (line_count < LINES &&
           fscanf(in, "%399s %399s %399s %399s %d %399s", l->group, l->role, l->plan, l->knobs, &l->within, l->files) == 6) {
        read_texts(l);
        line_count++;
        l++;
    }
    if (!feof(in) || !line_count) stop("faulty list ", path);
    fclose(in);
}

static void read_matrix(const char *path)
{
    matrix *m = &matrices[matrix_count++];
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    spmv_hooks h = {0};
    if (matrix_count > MATRICES) stop("too many matrices", "");
    h.log = listen;
    m->name = slash ? slash + 1 : path;
    if (dot && !strcmp(dot, ".bin") ? spmv_bin_read_file(&m->a, path, 0, &h) : spmv_mm_read_file(&m->a, path, NULL, NULL, &h))
        stop(path, said);
}

/* ---- a device whose programs are built from other texts --------------------------------------------------------------- */

static const line *at_work;

static spmv_status build(const spmv_device *d, const spmv_kernel_source *source, void **program)
{
    spmv_kernel_source own = *source;
    int i;
    for (i = 0; i < at_work->parts; i++)
        if (!strcmp(source->file, at_work->file[i])) other_text(&own, at_work->text[i]);
    return !strncmp(d->info.backend->name, "CUDA", 4) ? spmv_cuda()->build(d, &own, program) : spmv_opencl()->build(d, &own, program);
}

/* ---- stored matrices -------------------------------------------------------------------------------------------------- */

typedef struct stored {
    char plan[WORD];
    int  refused;
    spmv_store store;
} stored;

/* The matrix as a plan says, in one type; kept, as converting takes longer than measuring. */
static stored *store_of(stored *kept, const matrix *m, const char *plan, spmv_type t, const spmv_hooks *h)
{
    int i;
    spmv_input in = {0};
    spmv_build how = {0};
    spmv_plan parsed;
    spmv_csr csr;
    for (i = 0; i < PLANS && *kept[i].plan; i++)
        if (!strcmp(kept[i].plan, plan)) return &kept[i];
    if (i == PLANS) stop("too many plans in a group: ", plan);
    strcpy(kept[i].plan, plan);
    in.rows = (int64_t)m->a.rows;
    in.cols = (int64_t)m->a.cols;
    in.ptr = m->a.ptr;
    in.ptr_bits = 64;
    in.col = m->a.col;
    in.val = m->a.val;
    in.val_type = SPMV_F64;
    how.type = t;
    how.max_bytes = 6 * (m->a.nnz * 12 + 8 * m->a.rows); /* more is not worth its time */
    if (spmv_csr_create(&csr, &in, t, h)) stop("cannot convert ", said);
    if (spmv_plan_make(&parsed, plan, &csr, NULL, NULL, h)) stop("no plan: ", said);
    kept[i].refused = spmv_store_create(&kept[i].store, &parsed, &csr, &how, h) != SPMV_OK;
    if (kept[i].refused) fprintf(stderr, "%s %s: %s\n", m->name, plan, said);
    spmv_csr_destroy(&csr);
    return &kept[i];
}

/* ---- products ------------------------------------------------------------------------------------------------------------ */

typedef struct vectors {
    double *x;
    long double *want, *bound; /* of y = A x */
    void   *xd, *yd, *y;
    int     used; /* in a product */
} vectors;

static double at(const void *v, spmv_type t, size_t i) { return t == SPMV_F32 ? ((const float *)v)[i] : ((const double *)v)[i]; }

/* Vectors of one matrix and type on the device, with what each element of y must be. */
static vectors vectors_make(const spmv_device *d, const matrix *m, spmv_type t)
{
    vectors v;
    size_t size = spmv_vector_size(t), i;
    double u = t == SPMV_F32 ? 5.9604644775390625e-8 : 1.1102230246251565e-16;
    void *xs = malloc((m->a.cols + 1) * size);
    unsigned state = 5;
    uint64_t k;
    v.used = 0;
    v.x = malloc((m->a.cols + 1) * sizeof *v.x);
    v.want = malloc((m->a.rows + 1) * sizeof *v.want);
    v.bound = malloc((m->a.rows + 1) * sizeof *v.bound);
    v.y = malloc((m->a.rows + 1) * size);
    if (!xs || !v.x || !v.want || !v.bound || !v.y) stop("out of memory", "");
    for (i = 0; i < m->a.cols; i++) {
        state = state * 1664525u + 1013904223u;
        v.x[i] = (float)((double)(state >> 8) / 16777216.0 - 0.5);
        if (t == SPMV_F32) ((float *)xs)[i] = (float)v.x[i];
        else ((double *)xs)[i] = v.x[i];
    }
    for (i = 0; i < m->a.rows; i++) {
        long double sum = 0, size_of = 0;
        for (k = m->a.ptr[i]; k < m->a.ptr[i + 1]; k++) {
            double a = ((const double *)m->a.val)[k];
            long double product = (long double)(t == SPMV_F32 ? (float)a : a) * v.x[m->a.col[k]];
            sum += product;
            size_of += fabsl(product);
        }
        v.want[i] = sum;
        v.bound[i] = (m->a.ptr[i + 1] - m->a.ptr[i] + BOUND_MORE) * u * size_of;
    }
    if (spmv_buffer_create(d, m->a.cols * size, &v.xd) || spmv_buffer_create(d, m->a.rows * size, &v.yd) ||
        spmv_buffer_write(d, v.xd, m->a.cols * size, xs))
        stop("vectors: ", said);
    free(xs);
    return v;
}

static void vectors_free(const spmv_device *d, vectors *v)
{
    spmv_buffer_destroy(d, v->xd);
    spmv_buffer_destroy(d, v->yd);
    free(v->x);
    free(v->want);
    free(v->bound);
    free(v->y);
}

/* Seconds of a product, count of them in a row; negative after a failure. */
static double row_of(spmv_exec *e, const vectors *v, int count)
{
    double begin = now();
    int i;
    for (i = 0; i < count; i++)
        if (spmv_exec_mul(e, 1, v->xd, 0, 0, v->yd, 0)) return -1;
    if (spmv_device_finish(e->matrix->device)) return -1;
    return (now() - begin) / count;
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median seconds of a product; *spread is the relative distance of the quartiles. Negative after a failure. */
static double median(spmv_exec *e, vectors *v, double *spread)
{
    double t[SAMPLES], guess;
    int i, count;
    if (row_of(e, v, WARM) < 0) return -1;
    guess = row_of(e, v, WARM);
    if (!v->used && guess >= 0 && guess < SLOW_SECONDS) guess = row_of(e, v, WARM_FIRST);
    v->used = 1;
    *spread = 0;
    if (guess < 0 || guess > SLOW_SECONDS) return guess;
    count = guess > SAMPLE_SECONDS / WARM ? WARM : (int)(SAMPLE_SECONDS / guess);
    if (count > MOST_IN_A_ROW) count = MOST_IN_A_ROW;
    for (i = 0; i < SAMPLES; i++) {
        t[i] = row_of(e, v, count);
        if (t[i] < 0) return -1;
    }
    qsort(t, SAMPLES, sizeof *t, rising);
    *spread = (t[SAMPLES * 3 / 4] - t[SAMPLES / 4]) / t[SAMPLES / 2];
    return t[SAMPLES / 2];
}

/* The largest error of y in units of its bound. */
static double worst_of(const spmv_device *d, const matrix *m, spmv_type t, const vectors *v)
{
    double worst = 0;
    size_t i;
    if (spmv_buffer_read(d, v->yd, m->a.rows * spmv_vector_size(t), v->y)) return INFINITY;
    for (i = 0; i < m->a.rows; i++) {
        long double error = fabsl(at(v->y, t, i) - v->want[i]);
        if (!(error <= 0) && !(error <= worst * v->bound[i])) worst = v->bound[i] > 0 ? (double)(error / v->bound[i]) : INFINITY;
    }
    return worst;
}

/* ---- one group ------------------------------------------------------------------------------------------------------------ */

/* Writes alternative number index of knobs ("L=1|2,WG=64|128") to out; returns 0 if there are not so many. */
static int alternative(const char *knobs, int index, char *out)
{
    *out = 0;
    if (!strcmp(knobs, "-")) return !index;
    while (*knobs) {
        size_t n = strcspn(knobs, ","), name = strcspn(knobs, "=") + 1, i, count = 1;
        const char *value = knobs + name;
        for (i = name; i < n; i++) count += knobs[i] == '|';
        for (i = (size_t)index % count; i; i--) value += strcspn(value, "|") + 1;
        index /= (int)count;
        sprintf(out + strlen(out), "%s%.*s%.*s", *out ? "," : "", (int)name, knobs, (int)strcspn(value, "|,"), value);
        knobs += n + (knobs[n] == ',');
    }
    return !index;
}

typedef struct job {
    spmv_device *d;
    const matrix *m;
    spmv_type t;
    line *l;
    char   knobs[WORD];
    stored *st;
    vectors *v; /* NULL: only compile */
} job;

static void print_time(const job *j, const spmv_device_matrix *a, double seconds, double spread, double worst)
{
    char used[PARTS * SPMV_VARIANT_TEXT] = "";
    size_t i;
    for (i = 0; i < a->sources && i < PARTS; i++) {
        if (i) strcat(used, "+");
        spmv_variant_print(spmv_device_matrix_variant(a, i), used + strlen(used), SPMV_VARIANT_TEXT - 1);
    }
    printf("{\"device\":\"%s\",\"type\":\"%s\",\"matrix\":\"%s\",\"group\":\"%s\",\"role\":\"%s\",\"plan\":\"%s\",\"knobs\":\"%s\","
           "\"within\":%d,\"kernel\":\"%s\",\"us\":%.3f,\"spread\":%.3f,\"worst\":%.3g,\"used\":\"%s\"}\n",
           j->d->info.backend->name, spmv_type_name(j->t), j->m->name, j->l->group, j->l->role, j->l->plan, j->knobs, j->l->within,
           j->l->files, seconds * 1e6, spread, worst, used);
    fflush(stdout);
}

static void multiply(const job *j)
{
    spmv_device_matrix a;
    spmv_exec e;
    spmv_variant v[SPMV_MAX_PARTS];
    spmv_store *st = &j->st->store;
    double seconds, spread = 0;
    spmv_status s = spmv_variants_parse(v, st, j->knobs, &j->d->hooks);
    if (!s) s = spmv_device_matrix_create(&a, j->d, st->rows, st->cols, j->t, st->part, (size_t)st->count, v);
    if (s) {
        if (!j->v) fprintf(stderr, "%s %s %s/%s %s: %s\n", j->m->name, spmv_type_name(j->t), j->l->plan, j->knobs, j->l->role, said);
        return;
    }
    if (j->v && !spmv_exec_create(&e, &a, NULL)) {
        /* no element may be right because an earlier kernel left it there */
        if (spmv_buffer_fill(j->d, j->v->yd, st->rows * spmv_vector_size(j->t), NOT_A_NUMBER)) stop("vectors: ", said);
        seconds = median(&e, j->v, &spread);
        if (seconds > 0) print_time(j, &a, seconds, spread, worst_of(j->d, j->m, j->t, j->v));
        else fprintf(stderr, "%s %s/%s: %s\n", j->m->name, j->l->plan, j->knobs, said);
        spmv_exec_destroy(&e);
    }
    spmv_device_matrix_destroy(&a);
}

/* All variants of a line on one matrix. */
static void try_line(job *j, stored *kept)
{
    int i, changed = 0;
    line *first = lines;
    within w;
    j->st = store_of(kept, j->m, j->l->plan, j->t, &j->d->hooks);
    if (j->st->refused || !j->st->store.count) return;
    if (j->l->within > 1) {
        changed = j->st->store.count == 1 && within_begin(&w, &j->st->store.part[0], (uint64_t)j->l->within);
        if (!changed) return;
    }
    at_work = j->l;
    while (strcmp(first->files, j->l->files) != 0 || strcmp(first->group, j->l->group) != 0) first++;
    j->d->common->programs = first->programs;
    for (i = 0; i < KNOBS && alternative(j->l->knobs, i, j->knobs); i++) multiply(j);
    first->programs = j->d->common->programs;
    j->d->common->programs = NULL;
    if (changed) within_end(&w);
}

/* The whole group: compiles, says so by a byte to ready, waits for the turn, and measures. A process of its own. */
static void run_group(int first, int end, const char *device, const char *types, int ready, int turn)
{
    static stored kept[MATRICES][SPMV_TYPE_COUNT][PLANS];
    static spmv_backend own;
    spmv_device d;
    spmv_device_desc desc = {0};
    job j = {0};
    double begin = 0, seconds = 0;
    int m, t, pass, i, done = 0;
    char byte = 0;
    const size_t name = strlen(lines[first].group);
    if (name > 4 && !strcmp(lines[first].group + name - 4, ".f32")) types = "f32";
    desc.which = device;
    desc.hooks.log = listen;
    if (spmv_device_create(&d, &desc)) stop("no device: ", said);
    own = *d.info.backend;
    own.build = build;
    d.info.backend = &own;
    j.d = &d;
    for (pass = 0; pass < 2; pass++) {
        if (pass) {
            if (write(ready, &byte, 1) != 1 || read(turn, &seconds, sizeof seconds) != sizeof seconds) exit(2);
            begin = now();
            fprintf(stderr, "%s: %u programs\n", lines[first].group, (unsigned)d.compiled);
        }
        for (m = 0; m < matrix_count; m++)
            for (t = SPMV_F64; t < SPMV_TYPE_COUNT; t++) {
                vectors v;
                if (!strstr(types, spmv_type_name((spmv_type)t)) || (pass && now() - begin > seconds)) continue;
                j.m = &matrices[m];
                j.t = (spmv_type)t;
                j.v = pass ? &v : NULL;
                done += pass;
                if (pass) v = vectors_make(&d, j.m, j.t);
                for (i = first; i < end; i++) {
                    j.l = &lines[i];
                    try_line(&j, kept[m][t]);
                }
                if (pass) vectors_free(&d, &v);
            }
    }
    fprintf(stderr, "%s: measured for %.1f s, %d matrices\n", lines[first].group, now() - begin, done);
    exit(0);
}

/* A process of its own for each group. */
typedef struct process {
    pid_t id;
    int   turn; /* to write the seconds to that it may measure */
    int   ended, status;
} process;

/* Notes which processes have ended; with wait_for it waits until that one has. Returns how many ended now. */
static int collect(process *p, int count, pid_t wait_for)
{
    int status, i, n = 0;
    pid_t id;
    while ((id = waitpid(wait_for ? wait_for : -1, &status, wait_for ? 0 : WNOHANG)) > 0) {
        for (i = 0; i < count; i++)
            if (p[i].id == id) {
                p[i].ended = 1;
                p[i].status = status;
                n++;
            }
        if (wait_for) break;
    }
    return n;
}

/* Waits until each process is ready or has ended. */
static void wait_for_all(process *p, int count, int ready)
{
    int done = 0;
    char byte;
    fcntl(ready, F_SETFL, O_NONBLOCK);
    while (done < count) {
        const struct timespec pause = {0, 10000000};
        if (read(ready, &byte, 1) == 1) {
            done++;
            continue;
        }
        done += collect(p, count, 0);
        nanosleep(&pause, NULL);
    }
}

/* Starts the process of the lines from first to end - 1. */
static process start(int first, int end, char **argv, int ready)
{
    int turn[2];
    process p = {0};
    if (pipe(turn)) stop("no pipe", "");
    p.turn = turn[1];
    p.id = fork();
    if (p.id < 0) stop("no process", "");
    if (!p.id) run_group(first, end, argv[2], argv[3], ready, turn[0]);
    close(turn[0]);
    return p;
}

/* Starts a process for each group, and lets them measure one after another when all have compiled. */
int main(int argc, char **argv)
{
    static process p[GROUPS];
    int ready[2], i, first, groups = 0, bad = 0;
    double begin = now(), measuring;
    if (argc < 6) stop("usage: measure LIST DEVICE TYPES SECONDS MATRIX...", "");
    read_list(argv[1]);
    for (i = 5; i < argc; i++) read_matrix(argv[i]);
    if (pipe(ready)) stop("no pipe", "");
    fprintf(stderr, "read after %.1f s\n", now() - begin);
    for (first = 0; first < line_count; first = i) {
        for (i = first; i < line_count && !strcmp(lines[i].group, lines[first].group);) i++;
        if (groups == GROUPS) stop("too many groups in ", argv[1]);
        p[groups++] = start(first, i, argv, ready[1]);
    }
    wait_for_all(p, groups, ready[0]);
    fprintf(stderr, "compiled after %.1f s\n", now() - begin);
    measuring = now();
    for (i = 0; i < groups; i++) {
        const double rest = (atof(argv[4]) - (now() - measuring)) / (groups - i);
        if (!p[i].ended && (write(p[i].turn, &rest, sizeof rest) < 0 || !collect(p, groups, p[i].id))) stop("a group is lost", "");
        bad += p[i].status != 0;
    }
    fprintf(stderr, "done after %.1f s, %d of %d groups failed\n", now() - begin, bad, groups);
    return bad != 0;
}
