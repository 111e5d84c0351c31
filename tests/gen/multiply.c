/* SPDX-License-Identifier: MIT
 * multiply LIST [DEVICE] - multiplies through the library with generated kernels in place of its own, on DEVICE (as spmv_device_create
 * takes it; the first OpenCL device), and compares every element of y with a plain loop. Each line of LIST has five words:
 *     PLAN  KNOBS  TYPES  WITHIN  FILE
 * PLAN names the format whose arrays the kernel takes, or the two of hyb; KNOBS are set, "-": none; TYPES is f32, f64 or all; WITHIN is
 * the number of entries of a row that the kernel expects together (1: the library's layout; else the arrays are rearranged here); FILE is
 * the generated text. Integers must be exact, reals within the bound of their row. Prints one line for each failure, and the numbers at
 * the end. */
#define SPMV_IMPLEMENTATION
#include "../../spmv.h"

#include "../../tools/gen/measure/other_text.h"
#include "../../tools/gen/measure/within.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TEXT = 1 << 18, WORD = 512, BOUND_MORE = 4 /* roundings besides one for each nonzero */ };

/* ---- a device whose programs are built from another text ------------------------------------------------------------ */
static const char *device;   /* which one */
static const spmv_backend *backend; /* its own, which really builds */
static char text[TEXT];      /* the generated kernel */
static const char *replaced; /* the library's file that it takes the place of; "": of any */
static char file_of_plan[512]; /* the library's file for the format of the plan's only part */
static unsigned builds;
static char said[4096];

static void listen(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    snprintf(said, sizeof said, "%s", message);
}

static spmv_status build(const spmv_device *d, const spmv_kernel_source *source, void **program)
{
    spmv_kernel_source own = *source;
    if (!*replaced || !strcmp(source->file, replaced)) {
        other_text(&own, text);
        builds++;
    }
    return backend->build(d, &own, program);
}

static int read_text(const char *path)
{
    FILE *in = fopen(path, "r");
    size_t n = in ? fread(text, 1, sizeof text - 1, in) : 0;
    text[n] = 0;
    if (in) fclose(in);
    return n > 0 && n < sizeof text - 1;
}

/* ---- matrices ----------------------------------------------------------------------------------------------------- */
typedef struct matrix {
    unsigned rows, cols, kind;
    uint64_t *ptr;
    uint32_t *col;
    double *val;
} matrix;

enum { RANDOM, BAND, EMPTY_ROWS, ONE_ROW, LENGTHS, SQUARES, FULL, KINDS };

static int filled(unsigned kind, unsigned rows, unsigned r, unsigned c)
{
    switch (kind) {
    case RANDOM: return (r * 2654435761u + c * 40503u) / 7 % 5 == 0;
    case BAND: return c + 6 >= r && c <= r + 9 && (r + c) % 5 != 3;
    case EMPTY_ROWS: return r % 40 >= 20 && (r * 7 + c) % 13 == 0;
    case ONE_ROW: return r == rows / 2 || c == r;
    case LENGTHS: return c < r % 71;
    case SQUARES: return (r / 3 * 5 + c / 3 * 3) % 17 == 0;
    default: return 1;
    }
}

static const unsigned sizes[KINDS][2] = {{131, 97}, {200, 190}, {90, 100}, {70, 300}, {142, 90}, {101, 89}, {37, 41}};

static double number(unsigned *state, int real)
{
    *state = *state * 1664525u + 1013904223u;
    if (!real) return (double)(*state >> 8) - floor((double)(*state >> 8) / 7) * 7 - 3;
    return (float)(((double)(*state >> 8) + 1) / 16777216.0 - 0.5) * (*state >> 4 & 1 ? 1000 : 1);
}

static matrix matrix_make(unsigned kind, int real)
{
    matrix m;
    unsigned r, c, state = 17 + kind;
    uint64_t n = 0, room;
    m.rows = sizes[kind][0];
    m.cols = sizes[kind][1];
    m.kind = kind;
    room = (uint64_t)m.rows * m.cols;
    m.ptr = malloc((m.rows + 1) * sizeof *m.ptr);
    m.col = malloc(room * sizeof *m.col);
    m.val = malloc(room * sizeof *m.val);
    if (!m.ptr || !m.col || !m.val) exit(2);
    for (r = 0; r < m.rows; r++) {
        m.ptr[r] = n;
        for (c = 0; c < m.cols; c++)
            if (filled(kind, m.rows, r, c)) {
                m.col[n] = c;
                m.val[n++] = number(&state, real);
            }
    }
    m.ptr[m.rows] = n;
    return m;
}

static void matrix_free(matrix *m)
{
    free(m->ptr);
    free(m->col);
    free(m->val);
}

/* ---- products ------------------------------------------------------------------------------------------------------ */
typedef struct job {
    char plan[WORD], knobs[WORD], types[WORD], file[WORD];
    int within;
} job;

static unsigned products, refused, failures;

static void fail(const job *j, const matrix *m, spmv_type t, const char *what)
{
    failures++;
    printf("%s/%s %s, %s, %ux%u of kind %u: %s\n", j->plan, j->knobs, j->file, spmv_type_name(t), m->rows, m->cols, m->kind, what);
}

static double at(const void *v, spmv_type t, size_t i) { return t == SPMV_F32 ? ((const float *)v)[i] : ((const double *)v)[i]; }

static void set(void *v, spmv_type t, size_t i, double x)
{
    if (t == SPMV_F32) ((float *)v)[i] = (float)x;
    else ((double *)v)[i] = x;
}

/* 1 if every element of y is right; begun is what y was before. */
static int right(const matrix *m, spmv_type t, int real, const double *x, const double *begun, const void *y, double alpha, double beta)
{
    double u = t == SPMV_F32 ? 5.9604644775390625e-8 : 1.1102230246251565e-16;
    size_t i;
    uint64_t k;
    for (i = 0; i < m->rows; i++) {
        long double sum = 0, size = 0, bound = 0, want;
        for (k = m->ptr[i]; k < m->ptr[i + 1]; k++) {
            sum += (long double)m->val[k] * x[m->col[k]];
            size += fabsl((long double)m->val[k] * x[m->col[k]]);
        }
        want = alpha * sum + (beta == 0 ? 0 : (long double)beta * begun[i]);
        size = fabs(alpha) * size + fabsl((long double)beta * begun[i]);
        if (real) bound = (m->ptr[i + 1] - m->ptr[i] + BOUND_MORE) * u * size;
        if (!(fabsl(at(y, t, i) - want) <= bound)) {
            snprintf(said, sizeof said, "y[%u] is %.17g, not %.17Lg (bound %Lg)", (unsigned)i, at(y, t, i), want, bound);
            return 0;
        }
    }
    return 1;
}

/* ---- composites: a text with a program for each part, which takes its own arguments ---------------------------------- */

/* Sets the arguments of the kernel that was generated for a part of hyb: arrays, parameters, sizes and vectors. */
static spmv_status composite_arguments(const spmv_device_matrix *a, const spmv_device_part *p, void *kernel, const uint64_t at[2],
                                       void *const vector[2], double alpha, double beta)
{
    const int csr = p->format == SPMV_CSR;
    const spmv__dev_value of_csr[] = {
        spmv__mem(p->a[SPMV_VAL]), spmv__mem(p->a[SPMV_CSR_PTR]), spmv__mem(p->a[SPMV_CSR_COL]), spmv__mem(p->list),
        spmv__number(a->rows), spmv__number(p->nnz)
    };
    const spmv__dev_value of_ell[] = {
        spmv__mem(p->a[SPMV_VAL]), spmv__mem(p->a[SPMV_ELL_COL]), spmv__number(p->n[SPMV_ELL_WIDTH]), spmv__number(p->n[SPMV_ELL_LD])
    };
    const spmv__dev_value vectors[] = {
        spmv__number(p->rows), spmv__number(a->cols), spmv__mem(vector[0]), spmv__number(at[0]), spmv__mem(vector[1]), spmv__number(at[1]),
        spmv__real(a->type, alpha), spmv__real(a->type, beta)
    };
    const unsigned first = csr ? SPMV__COUNT_OF(of_csr) : SPMV__COUNT_OF(of_ell);
    const spmv_status s = spmv__dev_set(a->device, kernel, 0, csr ? of_csr : of_ell, first);
    return s ? s : spmv__dev_set(a->device, kernel, first, vectors, SPMV__COUNT_OF(vectors));
}

/* y = alpha A x + beta y by the text, part after part. */
static spmv_status composite_multiply(const spmv_device_matrix *a, const uint64_t at[2], void *const vector[2], double alpha, double beta)
{
    enum { GROUP = 64, LANES = 2 };
    static const char *const types[] = {"-DVAL=double -DVEC=double -DF64=1", "-DVAL=float -DVEC=float", "-DVAL=float -DVEC=double -DF64=1"};
    spmv_device *d = a->device;
    spmv_order none = {0};
    spmv_status s = SPMV_OK;
    size_t i;
    replaced = "";
    for (i = 0; !s && i < a->count; i++) {
        const spmv_device_part *p = &a->part[i];
        char options[WORD];
        void *program, *kernel = NULL;
        snprintf(options, sizeof options, "-DPART=%u -DWG=%d -DL=%d %s -DOFF=uint", (unsigned)i, GROUP, LANES, types[a->type]);
        s = spmv__device_program(d, p->format, options, &program);
        if (!s) s = d->info.backend->kernel(d, program, "spmv", &kernel);
        if (!s) s = composite_arguments(a, p, kernel, at, vector, alpha, i ? 1 : beta);
        if (!s) s = d->info.backend->launch(d, d->queue, kernel, (p->rows * LANES + GROUP - 1) / GROUP, GROUP, &none, NULL);
        if (!s) s = spmv_device_finish(d);
        if (kernel) d->info.backend->kernel_free(d, kernel);
    }
    return s;
}

/* ---- products in general --------------------------------------------------------------------------------------------- */

/* Multiplies by an exec, or by a composite if e is NULL, with and without the former y. x and y lie somewhat behind the beginning of their
 * buffers. */
static void products_of(const job *j, spmv_exec *e, const spmv_device_matrix *a, const matrix *m, spmv_type t, int real)
{
    enum { FRONT = 3 };
    static const double beta[] = {0, 1};
    size_t size = spmv_vector_size(t), xn = (m->cols + FRONT) * size, yn = (m->rows + FRONT) * size, i, b;
    double *x = malloc((m->cols + 1) * sizeof *x), *y = malloc((m->rows + 1) * sizeof *y);
    void *xs = calloc(xn, 1), *ys = calloc(yn, 1), *xd = NULL, *yd = NULL;
    const spmv_device *d = a->device;
    const uint64_t front[2] = {FRONT, FRONT};
    void *vector[2];
    unsigned state = 5;
    if (!x || !y || !xs || !ys) exit(2);
    for (i = 0; i < m->cols; i++) set(xs, t, i + FRONT, x[i] = number(&state, real));
    for (i = 0; i < m->rows; i++) y[i] = number(&state, real);
    if (spmv_buffer_create(d, xn, &xd) || spmv_buffer_create(d, yn, &yd) || spmv_buffer_write(d, xd, xn, xs)) exit(2);
    vector[0] = xd;
    vector[1] = yd;
    for (b = 0; b < 2; b++) {
        for (i = 0; i < m->rows; i++) set(ys, t, i + FRONT, beta[b] == 0 ? NAN : y[i]);
        if (spmv_buffer_write(d, yd, yn, ys)) exit(2);
        products++;
        if ((e ? spmv_exec_mul(e, -2, xd, FRONT, beta[b], yd, FRONT) : composite_multiply(a, front, vector, -2, beta[b])) ||
            spmv_buffer_read(d, yd, yn, ys)) fail(j, m, t, said);
        else if (!right(m, t, real, x, y, (const char *)ys + FRONT * size, -2, beta[b])) fail(j, m, t, said);
    }
    spmv_buffer_destroy(d, xd);
    spmv_buffer_destroy(d, yd);
    free(x);
    free(y);
    free(xs);
    free(ys);
}

/* Multiplies by a store whose arrays are as the kernel expects them: of one part, or of the two of hyb. */
static void multiply(const job *j, spmv_device *d, const spmv_store *st, const matrix *m, spmv_type t, int real)
{
    spmv_device_matrix a;
    spmv_exec e;
    spmv_variant v[2];
    spmv_status s;
    replaced = strchr(j->plan, '+') ? "none" : file_of_plan;
    s = spmv_variants_parse(v, st, strcmp(j->knobs, "-") ? j->knobs : "", &d->hooks);
    if (!s) s = spmv_device_matrix_create(&a, d, st->rows, st->cols, t, st->part, (size_t)st->count, v);
    if (s == SPMV_ERR_LIMIT || s == SPMV_ERR_UNSUPPORTED) {
        refused++;
        return;
    }
    if (s) {
        fail(j, m, t, said);
        return;
    }
    if (strchr(j->plan, '+')) {
        products_of(j, NULL, &a, m, t, real);
    } else if (spmv_exec_create(&e, &a, NULL)) {
        fail(j, m, t, said);
    } else {
        products_of(j, &e, &a, m, t, real);
        spmv_exec_destroy(&e);
    }
    spmv_device_matrix_destroy(&a);
}

static void try_matrix(const job *j, spmv_device *d, const matrix *m, spmv_type t, int real)
{
    spmv_input in = {0};
    spmv_build how = {0};
    spmv_plan plan;
    spmv_csr csr;
    spmv_store st;
    within w;
    in.rows = m->rows;
    in.cols = m->cols;
    in.ptr = m->ptr;
    in.ptr_bits = 64;
    in.col = m->col;
    in.val = m->val;
    in.val_type = SPMV_F64;
    how.type = t;
    if (spmv_plan_parse(&plan, j->plan, NULL, &d->hooks) || spmv_csr_create(&csr, &in, t, &d->hooks)) {
        fail(j, m, t, said);
        return;
    }
    if (spmv_store_create(&st, &plan, &csr, &how, &d->hooks)) {
        refused++; /* for example columns that 16 bits do not hold */
        spmv_csr_destroy(&csr);
        return;
    }
    if (j->within > 1 && st.count == 1) {
        if (!within_begin(&w, &st.part[0], (uint64_t)j->within)) exit(2);
        multiply(j, d, &st, m, t, real);
        within_end(&w);
    } else if (st.count == 1 + (strchr(j->plan, '+') != NULL)) {
        multiply(j, d, &st, m, t, real);
    }
    spmv_store_destroy(&st);
    spmv_csr_destroy(&csr);
}

/* Every line has a device of its own, as a device keeps its programs. */
static int try_job(const job *j)
{
    static spmv_backend own;
    spmv_device d;
    spmv_device_desc desc = {0};
    unsigned kind;
    int t, real;
    desc.hooks.log = listen;
    desc.which = device;
    if (spmv_device_create(&d, &desc)) return 77; /* no such device */
    backend = d.info.backend;
    own = *backend;
    own.build = build;
    d.info.backend = &own;
    snprintf(file_of_plan, sizeof file_of_plan, "%.*s.cl", (int)strcspn(j->plan, ":"), j->plan);
    for (t = SPMV_F64; t < SPMV_TYPE_COUNT; t++) {
        if (strcmp(j->types, "all") && strcmp(j->types, spmv_type_name((spmv_type)t))) continue;
        if (t != SPMV_F32 && !d.info.f64) continue;
        for (kind = 0; kind < KINDS; kind++)
            for (real = 0; real < 2; real++) {
                matrix m = matrix_make(kind, real);
                try_matrix(j, &d, &m, (spmv_type)t, real);
                matrix_free(&m);
            }
    }
    d.info.backend = backend;
    spmv_device_destroy(&d);
    return 0;
}

int main(int argc, char **argv)
{
    job j;
    FILE *list = argc == 2 || argc == 3 ? fopen(argv[1], "r") : NULL;
    unsigned lines = 0;
    int rc = 0;
    if (!list) {
        fprintf(stderr, "usage: multiply LIST [DEVICE]\n");
        return 2;
    }
    device = argc == 3 ? argv[2] : "opencl:";
    while (!rc && fscanf(list, "%511s %511s %511s %d %511s", j.plan, j.knobs, j.types, &j.within, j.file) == 5) {
        lines++;
        if (!read_text(j.file)) {
            printf("%s cannot be read\n", j.file);
            failures++;
            continue;
        }
        rc = try_job(&j);
    }
    fclose(list);
    if (rc) return rc;
    printf("%u kernels, %u programs, %u products, %u refused by the library, %u wrong\n", lines, builds, products, refused, failures);
    return !products || builds < lines || failures;
}
