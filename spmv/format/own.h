/* SPDX-License-Identifier: MIT
 *
 * spmv/format/own.h - formats of the user's own (SPMV_FORMATS_EXTRA).
 */
#ifndef SPMV__FORMAT_OWN_H
#define SPMV__FORMAT_OWN_H

#include "../products.h"

/* ---- formats of the user's own (SPMV_FORMATS_EXTRA) ---------------------------------------------------------------- */
#ifdef SPMV_FORMATS_EXTRA
#include SPMV_FORMATS_EXTRA /* again, for its functions */

enum { SPMV__EXTRA_INTS = SPMV_MAX_INTS + 2 /* parameters of a description: its integers, num_rows and num_cols */ };

/* A stored matrix as its generated functions take it: parameters, arrays, and their numbers of elements. */
typedef struct spmv__extra_matrix {
    int64_t parameter[SPMV__EXTRA_INTS], count[SPMV_MAX_ARRAYS];
    void   *data[SPMV_MAX_ARRAYS];
    void  (*release)(struct spmv__extra_matrix *m); /* frees arrays that the packer made; NULL: there are none */
} spmv__extra_matrix;

/* What the generated header of a format contains. */
typedef struct spmv__extra {
    const char *const *parameter; /* names, then NULL */
    const size_t      *width;     /* bytes of an element of each array, with values in f64 */
    int                arrays;
    int                by_hand;   /* 1: the user wrote the packer, and the library checks where it put each entry */
    /* Stores a CSR matrix and sets m->release. Returns 0; -1 if memory is short, -2 if a number does not fit its array. */
    int (*pack)(spmv__extra_matrix *m, int64_t rows, int64_t cols, const int64_t *ptr, const int64_t *col, const double *val, int64_t most);
    int (*check)(const spmv__extra_matrix *m, char *message, size_t size);
    void (*each)(const spmv__extra_matrix *m, spmv__visit visit, void *user);
} spmv__extra;

/* Which of the part's integers a parameter is; -1: its rows or columns, whose number *dimension becomes. */
static int spmv__extra_int(const spmv__extra *e, const spmv_part *p, int parameter, uint64_t *dimension)
{
    int i, n = 0;
    for (i = 0; i < parameter; i++) n += strcmp(e->parameter[i], "num_rows") && strcmp(e->parameter[i], "num_cols");
    *dimension = strcmp(e->parameter[parameter], "num_cols") ? p->rows : p->cols;
    return strcmp(e->parameter[parameter], "num_rows") && strcmp(e->parameter[parameter], "num_cols") ? n : -1;
}

/* The part as the generated functions take it. */
static void spmv__extra_of(const spmv__extra *e, const spmv_part *p, spmv__extra_matrix *m)
{
    int i;
    for (i = 0; e->parameter[i]; i++) {
        uint64_t dimension;
        int n = spmv__extra_int(e, p, i, &dimension);
        m->parameter[i] = (int64_t)(n < 0 ? dimension : p->n[n]);
    }
    for (i = 0; i < e->arrays; i++) {
        m->data[i] = p->a[i].data;
        m->count[i] = (int64_t)p->a[i].count;
    }
    m->release = NULL;
}

/* Frees what the packer allocated. */
static void spmv__extra_free(spmv__source *s)
{
    spmv__extra_matrix *m = (spmv__extra_matrix *)s->packed;
    if (m && m->release) m->release(m);
    spmv_free(s->h, m);
    s->packed = NULL;
}

/* The view's nonzeros as the CSR matrix that packers take. The value of each is 1 + its number in the whole matrix, from which follows
 * where every value goes; doubles hold such numbers exactly. */
typedef struct spmv__extra_csr {
    void *ptr, *col, *val;
} spmv__extra_csr;

static spmv_status spmv__extra_csr_make(spmv__extra_csr *c, const spmv__source *s)
{
    const uint64_t nnz = s->rows ? s->ptr[s->rows] : 0;
    uint64_t i, k, n = 0;
    spmv_status status = spmv__room(s->h, &c->ptr, s->rows + 1, 8);
    if (!status) status = spmv__room(s->h, &c->col, nnz, 8);
    if (!status) status = spmv__room(s->h, &c->val, nnz, 8);
    if (status) return status;
    for (i = 0; i < s->rows; i++) {
        const uint64_t r = spmv__source_row(s, i);
        ((int64_t *)c->ptr)[i] = (int64_t)n;
        for (k = s->v->a->ptr[r]; k < s->v->a->ptr[r + 1]; k++) {
            if (!spmv__mine(s->v, k)) continue;
            ((int64_t *)c->col)[n] = (int64_t)s->v->a->col[k];
            ((double *)c->val)[n++] = (double)(k + 1);
        }
    }
    ((int64_t *)c->ptr)[s->rows] = (int64_t)n;
    return SPMV_OK;
}

/* What the entries of a part packed by hand are compared with. */
typedef struct spmv__extra_search {
    const spmv__extra_csr *c;
    const double          *number; /* what the packer put into each slot */
    uint64_t               visits, found, empty; /* all visits; those of entries in their places, of slots without an entry */
} spmv__extra_search;

/* Looks for an entry of the part among those of its row, whose numbers rise, and strikes out its column so that it counts once. */
static void spmv__extra_seek(void *user, uint64_t row, uint64_t col, uint64_t slot)
{
    spmv__extra_search *e = (spmv__extra_search *)user;
    const int64_t *ptr = (const int64_t *)e->c->ptr;
    const double *val = (const double *)e->c->val, number = e->number[slot];
    int64_t *at = (int64_t *)e->c->col, low = ptr[row], high = ptr[row + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (val[middle] < number) low = middle + 1;
        else high = middle;
    }
    e->visits++;
    e->empty += number == 0;
    if (low == ptr[row + 1] || val[low] != number || at[low] != (int64_t)col) return;
    at[low] = -1;
    e->found++;
}

/* Checks that a packer written by hand put every entry where the access finds it, and nothing else into the array of values. */
static spmv_status spmv__extra_compare(const spmv__extra *e, const spmv_part *p, const spmv__source *s, const spmv__extra_matrix *m,
                                       const spmv__extra_csr *c)
{
    const char *name = spmv_format_name(p->spec.format);
    const uint64_t nnz = (uint64_t)((const int64_t *)c->ptr)[p->rows];
    spmv__extra_search search;
    uint64_t used = 0;
    int64_t slot;
    search.c = c;
    search.number = (const double *)m->data[SPMV_VAL];
    search.visits = search.found = search.empty = 0;
    e->each(m, spmv__extra_seek, &search);
    for (slot = 0; slot < m->count[SPMV_VAL]; slot++) used += search.number[slot] != 0;
    if (search.found != nnz || used != nnz || search.visits - search.empty != nnz)
        return spmv_log(s->h, SPMV_ERR_ARGUMENT, "%s: its packer put %llu of %llu entries into their places; %llu slots are used, and "
                        "products read %llu of them", name, (spmv__ull)search.found, (spmv__ull)nnz, (spmv__ull)used,
                        (spmv__ull)(search.visits - search.empty));
    if (search.empty && !(spmv_format_flags(p->spec.format) & SPMV_HAS_FILL))
        return spmv_log(s->h, SPMV_ERR_ARGUMENT, "%s: products read %llu slots that hold no entry: generate the format with --set fill=1",
                        name, (spmv__ull)search.empty);
    return SPMV_OK;
}

SPMV__SHARED uint64_t spmv__most_bytes(const spmv_csr *a, uint64_t max_bytes);

/* Packs the nonzeros and checks the result, which goes to m. */
static spmv_status spmv__extra_pack(const spmv__extra *e, const spmv_part *p, const spmv__source *s, spmv__extra_matrix *m,
                                    const spmv__extra_csr *c)
{
    const char *name = spmv_format_name(p->spec.format);
    const int64_t most = (int64_t)(spmv__most_bytes(s->v->a, 0) / p->a[SPMV_VAL].width); /* elements of an array */
    char message[200];
    int i;
    const int failed = e->pack(m, (int64_t)p->rows, (int64_t)p->cols, (const int64_t *)c->ptr, (const int64_t *)c->col,
                               (const double *)c->val, most);
    if (failed == -2) return spmv_log(s->h, SPMV_ERR_TOO_LARGE, "%s: a number of this matrix does not fit the type of its array", name);
    if (failed) return spmv_log(s->h, SPMV_ERR_TOO_LARGE, "%s: its packer ran out of memory, or needs far more than the CSR form", name);
    for (i = 0; e->parameter[i]; i++) { /* the part's size is not the packer's affair */
        uint64_t dimension;
        if (spmv__extra_int(e, p, i, &dimension) < 0) m->parameter[i] = (int64_t)dimension;
    }
    if (e->check(m, message, sizeof message))
        return spmv_log(s->h, SPMV_ERR_ARGUMENT, "%s: its packer made a faulty part: %s", name, message);
    return e->by_hand ? spmv__extra_compare(e, p, s, m, c) : SPMV_OK;
}

/* Packs the nonzeros, which stay in s->packed until the part is built, and sets the part's integers and the sizes of its arrays. */
static spmv_status spmv__extra_size(const spmv__extra *e, spmv_part *p, spmv__source *s)
{
    spmv__extra_csr c = { NULL, NULL, NULL };
    spmv__extra_matrix *m;
    int i;
    spmv_status status = spmv__new(s->h, &s->packed, 1, sizeof *m, 0);
    if (!status) status = spmv__extra_csr_make(&c, s);
    m = (spmv__extra_matrix *)s->packed;
    if (!status) status = spmv__extra_pack(e, p, s, m, &c);
    spmv_free(s->h, c.ptr);
    spmv_free(s->h, c.col);
    spmv_free(s->h, c.val);
    if (status) return status;
    for (i = 0; e->parameter[i]; i++) {
        uint64_t dimension;
        int n = spmv__extra_int(e, p, i, &dimension);
        if (n >= 0) p->n[n] = (uint64_t)m->parameter[i];
    }
    for (i = 0; i < e->arrays; i++)
        spmv__want(&p->a[i], (uint64_t)m->count[i], i == SPMV_VAL ? p->a[i].width : (uint32_t)e->width[i]);
    s->grain = p->rows; /* one share fills everything */
    return SPMV_OK;
}

/* Copies all arrays but the values. */
static void spmv__extra_lay(spmv_part *p, spmv__source *s)
{
    const spmv__extra_matrix *m = (const spmv__extra_matrix *)s->packed;
    int i;
    for (i = SPMV_VAL + 1; i < SPMV_MAX_ARRAYS; i++)
        if (p->a[i].count) memcpy(p->a[i].data, m->data[i], (size_t)(p->a[i].count * p->a[i].width));
}

/* Puts each nonzero into the slot where the packer put its number. */
static void spmv__extra_fill(spmv_part *p, const spmv__source *s, spmv__sink *to, uint64_t first, uint64_t end)
{
    const double *number = (const double *)((const spmv__extra_matrix *)s->packed)->data[SPMV_VAL];
    uint64_t slot;
    if (first || end < p->rows) return;
    for (slot = 0; slot < p->a[SPMV_VAL].count; slot++) {
        if (number[slot] > 0) spmv__put(to, slot, (uint64_t)number[slot] - 1);
        else spmv__clear(to, slot, 1);
    }
}

/* The record of a format and its functions. Like ell, it takes the first entries of each row with the keys w and fill. What the choice
 * knows of it is that of csr: its times are those of a tuning table, if there is one. */
#define SPMV__EXTRA_FORMAT(NAME, name, text)                                                                                        \
    static void spmv__##name##_release(spmv__extra_matrix *m)                                                                       \
    {                                                                                                                               \
        name##_matrix made;                                                                                                         \
        name##_bind(&made, m->parameter, (const void *const *)m->data, m->count);                                                   \
        name##_free(&made);                                                                                                         \
    }                                                                                                                               \
    static int spmv__##name##_pack(spmv__extra_matrix *m, int64_t rows, int64_t cols, const int64_t *ptr, const int64_t *col,       \
                                   const double *val, int64_t most)                                                                 \
    {                                                                                                                               \
        name##_matrix made;                                                                                                         \
        int failed;                                                                                                                 \
        memset(&made, 0, sizeof made);                                                                                              \
        failed = name##_pack(&made, rows, cols, ptr, col, val, most);                                                               \
        if (failed) return failed;                                                                                                  \
        name##_unbind(&made, m->parameter, m->data, m->count);                                                                      \
        m->release = spmv__##name##_release;                                                                                        \
        return 0;                                                                                                                   \
    }                                                                                                                               \
    static int spmv__##name##_check(const spmv__extra_matrix *m, char *message, size_t size)                                        \
    {                                                                                                                               \
        name##_matrix bound;                                                                                                        \
        name##_bind(&bound, m->parameter, (const void *const *)m->data, m->count);                                                  \
        return name##_check(&bound, message, size);                                                                                 \
    }                                                                                                                               \
    static void spmv__##name##_visit(const spmv__extra_matrix *m, spmv__visit visit, void *user)                                    \
    {                                                                                                                               \
        name##_matrix bound;                                                                                                        \
        name##_bind(&bound, m->parameter, (const void *const *)m->data, m->count);                                                  \
        name##_each(&bound, visit, user);                                                                                           \
    }                                                                                                                               \
    static const spmv__extra spmv__##name##_extra = {                                                                               \
        name##_parameter_name, name##_array_width, name##_arrays, SPMV__BY_HAND_##NAME, spmv__##name##_pack,                        \
        spmv__##name##_check, spmv__##name##_visit                                                                                  \
    };                                                                                                                              \
    static const spmv__traits spmv__##name##_traits = {                                                                             \
        SPMV__KEY(W) | SPMV__KEY(FILL), SPMV__FLAGS_##NAME, SPMV_CLASS_FLAT, 1, 0, SPMV__PADS_NONE,                                 \
        SPMV__APART_##NAME ? SPMV__LANES_BY_ROWS : SPMV__LANES_BY_LENGTH, NULL                                                      \
    };                                                                                                                              \
    static const char *const spmv__##name##_layouts[] = { #name };                                                                  \
    static spmv_status spmv__##name##_size(spmv_part *p, spmv__source *s) { return spmv__extra_size(&spmv__##name##_extra, p, s); } \
    static void spmv__##name##_lay(spmv_part *p, spmv__source *s) { spmv__extra_lay(p, s); }                                        \
    static void spmv__##name##_fill(spmv_part *p, const spmv__source *s, spmv__sink *to, uint64_t first, uint64_t end)              \
    {                                                                                                                               \
        spmv__extra_fill(p, s, to, first, end);                                                                                     \
    }                                                                                                                               \
    static void spmv__##name##_each(const spmv_part *p, spmv__visit visit, void *user)                                              \
    {                                                                                                                               \
        spmv__extra_matrix m;                                                                                                       \
        spmv__extra_of(&spmv__##name##_extra, p, &m);                                                                               \
        spmv__##name##_visit(&m, visit, user);                                                                                      \
    }                                                                                                                               \
    static spmv_status spmv__##name##_estimate(const spmv_spec *spec, const spmv__look *l, const spmv_features *f, spmv__load *out) \
    {                                                                                                                               \
        (void)spec;                                                                                                                 \
        (void)l;                                                                                                                    \
        return spmv__estimate_entries(f, out);                                                                                      \
    }
SPMV_EXTRA_LIST(SPMV__EXTRA_FORMAT)
#endif

/* -- products on the host -- */

#ifdef SPMV_FORMATS_EXTRA
/* The product of a format of the user's own, by its generated function for the type, which adds to y. */
#define SPMV__EXTRA_PRODUCT(NAME, name, text)                                                                               \
    static void SPMV__F(extra_##name)(const spmv__job *job, uint64_t share, uint64_t shares)                                \
    {                                                                                                                       \
        name##_matrix bound;                                                                                                \
        spmv__extra_matrix m;                                                                                               \
        spmv__extra_of(&spmv__##name##_extra, job->p, &m);                                                                  \
        name##_bind(&bound, m.parameter, (const void *const *)m.data, m.count);                                             \
        SPMV__CAT(name##_add_, SPMV__TYPE)(&bound, (SPMV__T)job->alpha, (const SPMV__T *)job->x, (SPMV__T *)job->y,         \
                                           (int64_t)share, (int64_t)shares);                                                \
    }
#endif

#endif

/* ---- products on the host, for each level and type (products.h) -------------------------------------------------- */
#if defined(SPMV__TYPE) && !defined(SPMV__COLUMN_BITS) && !defined(SPMV__REPEATED) /* again */
#ifdef SPMV_FORMATS_EXTRA
SPMV_EXTRA_LIST(SPMV__EXTRA_PRODUCT)
#endif
#endif /* again */
