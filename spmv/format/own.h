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
    void  (*release)(struct spmv__extra_matrix *matrix); /* frees arrays that the packer made; NULL: there are none */
} spmv__extra_matrix;

/* What the generated header of a format contains. */
typedef struct spmv__extra {
    const char *const *parameter; /* names, then NULL */
    const size_t      *width;     /* bytes of an element of each array, with values in f64 */
    int                arrays;
    int                by_hand;   /* 1: the user wrote the packer, and the library checks where it put each entry */
    /* Stores a CSR matrix and sets matrix->release. Returns 0; -1 if memory is short, -2 if a number does not fit its array. */
    int (*pack)(spmv__extra_matrix *matrix, int64_t rows, int64_t cols, const int64_t *ptr, const int64_t *col, const double *val,
                int64_t most);
    int (*check)(const spmv__extra_matrix *matrix, char *message, size_t size);
    void (*each)(const spmv__extra_matrix *matrix, spmv__visit visit, void *user);
} spmv__extra;

/* Which of the part's integers a parameter is; -1: its rows or columns, whose number *dimension becomes. */
static int spmv__extra_int(const spmv__extra *extra, const spmv_part *p, int parameter, uint64_t *dimension)
{
    int i, n = 0;
    for (i = 0; i < parameter; i++) n += strcmp(extra->parameter[i], "num_rows") && strcmp(extra->parameter[i], "num_cols");
    *dimension = strcmp(extra->parameter[parameter], "num_cols") ? p->rows : p->cols;
    return strcmp(extra->parameter[parameter], "num_rows") && strcmp(extra->parameter[parameter], "num_cols") ? n : -1;
}

/* The part as the generated functions take it. */
static void spmv__extra_of(const spmv__extra *extra, const spmv_part *p, spmv__extra_matrix *matrix)
{
    int i;
    for (i = 0; extra->parameter[i]; i++) {
        uint64_t dimension;
        int n = spmv__extra_int(extra, p, i, &dimension);
        matrix->parameter[i] = (int64_t)(n < 0 ? dimension : p->n[n]);
    }
    for (i = 0; i < extra->arrays; i++) {
        matrix->data[i] = p->a[i].data;
        matrix->count[i] = (int64_t)p->a[i].count;
    }
    matrix->release = NULL;
}

/* Frees what the packer allocated. */
static void spmv__extra_free(spmv__source *source)
{
    spmv__extra_matrix *matrix = (spmv__extra_matrix *)source->packed;
    if (matrix && matrix->release) matrix->release(matrix);
    spmv_free(source->hooks, matrix);
    source->packed = NULL;
}

/* The view's nonzeros as the CSR matrix that packers take. The value of each is 1 + its number in the whole matrix, from which follows
 * where every value goes; doubles hold such numbers exactly. */
typedef struct spmv__extra_csr {
    void *ptr, *col, *val;
} spmv__extra_csr;

static spmv_status spmv__extra_csr_make(spmv__extra_csr *csr, const spmv__source *source)
{
    const uint64_t nnz = source->rows ? source->ptr[source->rows] : 0;
    uint64_t i, k, n = 0;
    spmv_status status = spmv__room(source->hooks, &csr->ptr, source->rows + 1, 8);
    if (!status) status = spmv__room(source->hooks, &csr->col, nnz, 8);
    if (!status) status = spmv__room(source->hooks, &csr->val, nnz, 8);
    if (status) return status;
    for (i = 0; i < source->rows; i++) {
        const uint64_t r = spmv__source_row(source, i);
        ((int64_t *)csr->ptr)[i] = (int64_t)n;
        for (k = source->view->a->ptr[r]; k < source->view->a->ptr[r + 1]; k++) {
            if (!spmv__mine(source->view, k)) continue;
            ((int64_t *)csr->col)[n] = (int64_t)source->view->a->col[k];
            ((double *)csr->val)[n++] = (double)(k + 1);
        }
    }
    ((int64_t *)csr->ptr)[source->rows] = (int64_t)n;
    return SPMV_OK;
}

/* What the entries of a part packed by hand are compared with. */
typedef struct spmv__extra_search {
    const spmv__extra_csr *csr;
    const double          *number; /* what the packer put into each slot */
    uint64_t               visits, found, empty; /* all visits; those of entries in their places, of slots without an entry */
} spmv__extra_search;

/* Looks for an entry of the part among those of its row, whose numbers rise, and strikes out its column so that it counts once. */
static void spmv__extra_seek(void *user, uint64_t row, uint64_t col, uint64_t slot)
{
    spmv__extra_search *search = (spmv__extra_search *)user;
    const int64_t *ptr = (const int64_t *)search->csr->ptr;
    const double *val = (const double *)search->csr->val, number = search->number[slot];
    int64_t *at = (int64_t *)search->csr->col, low = ptr[row], high = ptr[row + 1];
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (val[middle] < number) low = middle + 1;
        else high = middle;
    }
    search->visits++;
    search->empty += number == 0;
    if (low == ptr[row + 1] || val[low] != number || at[low] != (int64_t)col) return;
    at[low] = -1;
    search->found++;
}

/* Checks that a packer written by hand put every entry where the access finds it, and nothing else into the array of values. */
static spmv_status spmv__extra_compare(const spmv__extra *extra, const spmv_part *p, const spmv__source *source,
                                       const spmv__extra_matrix *matrix, const spmv__extra_csr *csr)
{
    const char *name = spmv_format_name(p->spec.format);
    const uint64_t nnz = (uint64_t)((const int64_t *)csr->ptr)[p->rows];
    spmv__extra_search search;
    uint64_t used = 0;
    int64_t slot;
    search.csr = csr;
    search.number = (const double *)matrix->data[SPMV_VAL];
    search.visits = search.found = search.empty = 0;
    extra->each(matrix, spmv__extra_seek, &search);
    for (slot = 0; slot < matrix->count[SPMV_VAL]; slot++) used += search.number[slot] != 0;
    if (search.found != nnz || used != nnz || search.visits - search.empty != nnz)
        return spmv_log(source->hooks, SPMV_ERR_ARGUMENT,
                        "%s: its packer put %llu of %llu entries into their places; %llu slots are used, and "
                        "products read %llu of them", name, (spmv__ull)search.found, (spmv__ull)nnz, (spmv__ull)used,
                        (spmv__ull)(search.visits - search.empty));
    if (search.empty && !(spmv_format_flags(p->spec.format) & SPMV_HAS_FILL))
        return spmv_log(source->hooks, SPMV_ERR_ARGUMENT,
                        "%s: products read %llu slots that hold no entry: generate the format with --set fill=1",
                        name, (spmv__ull)search.empty);
    return SPMV_OK;
}

SPMV__SHARED uint64_t spmv__most_bytes(const spmv_csr *a, uint64_t max_bytes);

/* Packs the nonzeros and checks the result, which goes to matrix. */
static spmv_status spmv__extra_pack(const spmv__extra *extra, const spmv_part *p, const spmv__source *source, spmv__extra_matrix *matrix,
                                    const spmv__extra_csr *csr)
{
    const char *name = spmv_format_name(p->spec.format);
    const int64_t most = (int64_t)(spmv__most_bytes(source->view->a, 0) / p->a[SPMV_VAL].width); /* elements of an array */
    char message[200];
    int i;
    const int failed = extra->pack(matrix, (int64_t)p->rows, (int64_t)p->cols, (const int64_t *)csr->ptr, (const int64_t *)csr->col,
                                   (const double *)csr->val, most);
    if (failed == -2)
        return spmv_log(source->hooks, SPMV_ERR_TOO_LARGE, "%s: a number of this matrix does not fit the type of its array", name);
    if (failed)
        return spmv_log(source->hooks, SPMV_ERR_TOO_LARGE, "%s: its packer ran out of memory, or needs far more than the CSR form", name);
    for (i = 0; extra->parameter[i]; i++) { /* the part's size is not the packer's affair */
        uint64_t dimension;
        if (spmv__extra_int(extra, p, i, &dimension) < 0) matrix->parameter[i] = (int64_t)dimension;
    }
    if (extra->check(matrix, message, sizeof message))
        return spmv_log(source->hooks, SPMV_ERR_ARGUMENT, "%s: its packer made a faulty part: %s", name, message);
    return extra->by_hand ? spmv__extra_compare(extra, p, source, matrix, csr) : SPMV_OK;
}

/* Packs the nonzeros, which stay in source->packed until the part is built, and sets the part's integers and the sizes of its arrays. */
static spmv_status spmv__extra_size(const spmv__extra *extra, spmv_part *p, spmv__source *source)
{
    spmv__extra_csr csr = { NULL, NULL, NULL };
    spmv__extra_matrix *matrix;
    int i;
    spmv_status status = spmv__new(source->hooks, &source->packed, 1, sizeof *matrix, 0);
    if (!status) status = spmv__extra_csr_make(&csr, source);
    matrix = (spmv__extra_matrix *)source->packed;
    if (!status) status = spmv__extra_pack(extra, p, source, matrix, &csr);
    spmv_free(source->hooks, csr.ptr);
    spmv_free(source->hooks, csr.col);
    spmv_free(source->hooks, csr.val);
    if (status) return status;
    for (i = 0; extra->parameter[i]; i++) {
        uint64_t dimension;
        int n = spmv__extra_int(extra, p, i, &dimension);
        if (n >= 0) p->n[n] = (uint64_t)matrix->parameter[i];
    }
    for (i = 0; i < extra->arrays; i++)
        spmv__want(&p->a[i], (uint64_t)matrix->count[i], i == SPMV_VAL ? p->a[i].width : (uint32_t)extra->width[i]);
    source->grain = p->rows; /* one share fills everything */
    return SPMV_OK;
}

/* Copies all arrays but the values. */
static void spmv__extra_lay(spmv_part *p, spmv__source *source)
{
    const spmv__extra_matrix *matrix = (const spmv__extra_matrix *)source->packed;
    int i;
    for (i = SPMV_VAL + 1; i < SPMV_MAX_ARRAYS; i++)
        if (p->a[i].count) memcpy(p->a[i].data, matrix->data[i], (size_t)(p->a[i].count * p->a[i].width));
}

/* Puts each nonzero into the slot where the packer put its number. */
static void spmv__extra_fill(spmv_part *p, const spmv__source *source, spmv__sink *to, uint64_t first, uint64_t end)
{
    const double *number = (const double *)((const spmv__extra_matrix *)source->packed)->data[SPMV_VAL];
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
    static void spmv__##name##_release(spmv__extra_matrix *matrix)                                                                  \
    {                                                                                                                               \
        name##_matrix made;                                                                                                         \
        name##_bind(&made, matrix->parameter, (const void *const *)matrix->data, matrix->count);                                    \
        name##_free(&made);                                                                                                         \
    }                                                                                                                               \
    static int spmv__##name##_pack(spmv__extra_matrix *matrix, int64_t rows, int64_t cols, const int64_t *ptr, const int64_t *col,  \
                                   const double *val, int64_t most)                                                                 \
    {                                                                                                                               \
        name##_matrix made;                                                                                                         \
        int failed;                                                                                                                 \
        memset(&made, 0, sizeof made);                                                                                              \
        failed = name##_pack(&made, rows, cols, ptr, col, val, most);                                                               \
        if (failed) return failed;                                                                                                  \
        name##_unbind(&made, matrix->parameter, matrix->data, matrix->count);                                                       \
        matrix->release = spmv__##name##_release;                                                                                   \
        return 0;                                                                                                                   \
    }                                                                                                                               \
    static int spmv__##name##_check(const spmv__extra_matrix *matrix, char *message, size_t size)                                   \
    {                                                                                                                               \
        name##_matrix bound;                                                                                                        \
        name##_bind(&bound, matrix->parameter, (const void *const *)matrix->data, matrix->count);                                   \
        return name##_check(&bound, message, size);                                                                                 \
    }                                                                                                                               \
    static void spmv__##name##_visit(const spmv__extra_matrix *matrix, spmv__visit visit, void *user)                               \
    {                                                                                                                               \
        name##_matrix bound;                                                                                                        \
        name##_bind(&bound, matrix->parameter, (const void *const *)matrix->data, matrix->count);                                   \
        name##_each(&bound, visit, user);                                                                                           \
    }                                                                                                                               \
    static const spmv__extra spmv__##name##_extra = {                                                                               \
        name##_parameter_name, name##_array_width, name##_arrays, SPMV__BY_HAND_##NAME, spmv__##name##_pack,                        \
        spmv__##name##_check, spmv__##name##_visit                                                                                  \
    };                                                                                                                              \
    static const spmv__traits spmv__##name##_traits = {                                                                             \
        SPMV__KEY(W) | SPMV__KEY(FILL), SPMV__FLAGS_##NAME, SPMV_CLASS_FLAT, 1, 0, SPMV__PADS_NONE,                                 \
        SPMV__APART_##NAME ? SPMV__LANES_BY_ROWS : SPMV__LANES_BY_LENGTH                                                            \
    };                                                                                                                              \
    static const char *const spmv__##name##_layouts[] = { #name };                                                                  \
    static spmv_status spmv__##name##_size(spmv_part *p, spmv__source *source)                                                      \
    {                                                                                                                               \
        return spmv__extra_size(&spmv__##name##_extra, p, source);                                                                  \
    }                                                                                                                               \
    static void spmv__##name##_lay(spmv_part *p, spmv__source *source) { spmv__extra_lay(p, source); }                              \
    static void spmv__##name##_fill(spmv_part *p, const spmv__source *source, spmv__sink *to, uint64_t first, uint64_t end)         \
    {                                                                                                                               \
        spmv__extra_fill(p, source, to, first, end);                                                                                \
    }                                                                                                                               \
    static void spmv__##name##_each(const spmv_part *p, spmv__visit visit, void *user)                                              \
    {                                                                                                                               \
        spmv__extra_matrix matrix;                                                                                                  \
        spmv__extra_of(&spmv__##name##_extra, p, &matrix);                                                                          \
        spmv__##name##_visit(&matrix, visit, user);                                                                                 \
    }                                                                                                                               \
    SPMV__SHARED int spmv__##name##_sound(const spmv_part *p)                                                                       \
    {                                                                                                                               \
        (void)p; /* not asked: its number means nothing in another program */                                                       \
        return 0;                                                                                                                   \
    }                                                                                                                               \
    static spmv_status spmv__##name##_estimate(const spmv_spec *spec, const spmv__analysis *analysis,                                      \
                                               const spmv_features *features,                                                              \
                                               spmv__load *out)                                                                     \
    {                                                                                                                               \
        (void)spec;                                                                                                                 \
        (void)analysis;                                                                                                                 \
        return spmv__estimate_entries(features, out);                                                                               \
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
        spmv__extra_matrix matrix;                                                                                          \
        spmv__extra_of(&spmv__##name##_extra, job->p, &matrix);                                                             \
        name##_bind(&bound, matrix.parameter, (const void *const *)matrix.data, matrix.count);                              \
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
