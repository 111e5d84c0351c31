/* SPDX-License-Identifier: MIT
 *
 * spmv/device/buffers.h - matrices of spmv.h on a device: moved there, or made from buffers that are there.
 */
#ifndef SPMV__DEVICE_BUFFERS_H
#define SPMV__DEVICE_BUFFERS_H

#include "convert.h"
#include "check.h"

enum { SPMV__BACKENDS = 2 }; /* the most that a build can have: one for each statement below */

/* The back ends of this build, with NULL at the end. A new one needs a statement here and SPMV__BACKENDS one larger. */
static void spmv__backends(const spmv_backend *all[SPMV__BACKENDS + 1])
{
    int n = 0;
#ifndef SPMV_NO_OPENCL
    all[n++] = spmv_opencl();
#endif
#ifndef SPMV_NO_CUDA
    all[n++] = spmv_cuda();
#endif
    all[n] = NULL;
}

SPMV_API spmv_status spmv_device_list(spmv_device_info *out, size_t max, size_t *count, const spmv_hooks *hooks)
{
    const spmv_backend *all[SPMV__BACKENDS + 1];
    if (!count || (max && !out)) return spmv__null(hooks, "spmv_device_list", !count ? "count" : "out", NULL, 0);
    spmv__backends(all);
    return spmv_backends_list(all, out, max, count, hooks);
}

SPMV_API spmv_status spmv_device_create(spmv_device *out, const spmv_device_desc *desc)
{
    const spmv_backend *all[SPMV__BACKENDS + 1];
    if (!out) return spmv__null(desc ? &desc->hooks : NULL, "spmv_device_create", "out", NULL, 0);
    spmv__backends(all);
    return spmv_backends_create(all, out, desc);
}

/* 1 if the device has filled parts of the store. */
static int spmv__device_filled(const spmv_store *st)
{
    int i, filled = 0;
    for (i = 0; i < st->count; i++) filled |= st->part[i].elsewhere != NULL;
    return filled;
}

/* Uploads the stored parts to the device, with kernels of the given variant, and makes the exec of spmv_mul. Does nothing for the host.
 * What was made before a failure is freed by spmv__off_device. */
static spmv_status spmv__to_device(spmv_matrix *m, const spmv_desc *d, const char *variant)
{
    const spmv_hooks *h = &d->hooks;
    void *matrix = NULL, *exec = NULL, *variants = NULL;
    spmv_status s;
    m->device = d->device;
    if (!m->device) return SPMV_OK;
    spmv__phase(h, SPMV_PHASE_UPLOAD);
    s = spmv__new(h, &matrix, 1, sizeof *m->on_device, 0);
    m->on_device = (spmv_device_matrix *)matrix;
    if (!s) s = spmv__new(h, &exec, 1, sizeof *m->exec, 0);
    m->exec = (spmv_exec *)exec;
    if (!s) s = spmv__new(h, &variants, (uint64_t)m->store.count + 1, sizeof(spmv_variant), 0); /* without nonzeros there is no part */
    if (!s) s = spmv_variants_parse((spmv_variant *)variants, &m->store, variant, h);
    if (!s) s = spmv_device_matrix_create(m->on_device, m->device, m->store.rows, m->store.cols, m->store.type, m->store.part,
                                          (size_t)m->store.count, (const spmv_variant *)variants);
    spmv_free(h, variants);
    if (!s && spmv__device_filled(&m->store)) s = spmv_device_finish(m->device); /* products may start early */
    if (!s) s = spmv_exec_create(m->exec, m->on_device, NULL);
    if (!s && !m->updatable) spmv__release_arrays(&m->store);
    return s;
}

static void spmv__off_device(spmv_matrix *m)
{
    if (m->exec) spmv_exec_destroy(m->exec);
    if (m->on_device) spmv_device_matrix_destroy(m->on_device);
    spmv_free(&m->store.hooks, m->exec);
    spmv_free(&m->store.hooks, m->on_device);
    m->exec = NULL;
    m->on_device = NULL;
}

/* Checks that a buffer of the description holds count elements. */
static spmv_status spmv__holds(const spmv_desc *d, const char *what, const void *buffer, uint64_t count, uint64_t width)
{
    return spmv__dev_holds(d->device, &d->hooks, "buffers", what, (void *)(uintptr_t)buffer, count, width);
}

/* 1 if arrays are to be filled on the device, as far as it can. */
static int spmv__converts_there(const spmv_desc *d)
{
    return d->convert == SPMV_CONVERT_DEFAULT ? spmv_convert_here(d->device) : d->convert == SPMV_CONVERT_ON_DEVICE;
}

/* 1 if the device finds out all that the sizes of the plan follow from: one part that takes all nonzeros, in a format whose longest rows,
 * tiles or blocks it counts. */
static int spmv__pointers_stay(const spmv_plan *plan)
{
    const unsigned there = SPMV_BIT_ELL | SPMV_BIT_SELL | SPMV_BIT_BELL | SPMV_BIT_SBELL | SPMV_BIT_BCSR | SPMV_BIT_TCSR;
    const spmv_spec *one = &plan->part[0];
    unsigned known = 1u << SPMV_KEY_B | 1u << SPMV_KEY_H | 1u << SPMV_KEY_TILE;
    int k, stay = plan->count == 1 && (there >> one->format & 1u);
    if (one->format == SPMV_TCSR) known |= 1u << SPMV_KEY_IDX;
    for (k = 0; k < SPMV_KEY_COUNT; k++) stay &= !one->key[k] || (known >> k & 1u);
    return stay;
}

/* 1 if no columns are needed on the host to split the matrix by the plan, as in the format of spmv__leave_unseen. The converter reads them
 * if a part needs them. *rows: 1 if no row pointers are needed there, either. */
static int spmv__columns_stay(const spmv_desc *d, spmv_format unseen, int *rows)
{
    spmv_hooks quiet = d->hooks;
    spmv_plan plan;
    quiet.log = spmv__dev_hush;
    *rows = unseen != SPMV_FORMAT_COUNT;
    if (*rows) return 1;
    if (spmv_plan_parse(&plan, spmv__plan_text(d), NULL, &quiet)) return spmv__builds_by_rows(spmv__plan_text(d));
    *rows = spmv__pointers_stay(&plan);
    return !spmv__split_reads_columns(&plan);
}

/* A matrix in buffers that is being looked at. */
typedef struct spmv__taken {
    spmv__import        work;
    spmv_input          in;    /* as it was given; ptr is NULL until the row pointers are on the host */
    void               *ptr;   /* their buffer */
    spmv__convert_found found; /* what the device has found */
    int                 there; /* 1: the device has looked at it */
} spmv__taken;

/* The last row pointer: *nnz. */
static spmv_status spmv__last_pointer(const spmv_device *d, const spmv__taken *t, uint64_t *nnz)
{
    const spmv_backend *b = d->info.backend;
    const uint64_t width = (uint64_t)t->work.ptr_bits / 8;
    uint32_t narrow = 0;
    spmv_status s = b->transfer->get(d, d->queue, t->ptr, t->work.rows * width, width, width == 8 ? (void *)nnz : (void *)&narrow);
    if (!s) s = b->finish(d, d->queue);
    if (width != 8) *nnz = narrow;
    return s;
}

/* Has the device check the matrix. Where this fails or finds a fault, the host checks it. The last row pointer is read only if the caller
 * has not said how many nonzeros there are; else the check contains it. */
static void spmv__look_there(const spmv_desc *d, spmv__taken *t)
{
    const spmv_backend *b = d->device->info.backend;
    const uint64_t most = t->in.nnz || t->work.ptr_bits == 64 ? UINT64_MAX : 0x7fffffff;
    void *col = (void *)(uintptr_t)d->matrix.col;
    uint64_t bytes = 0;
    spmv_csr a;
    spmv_status s = SPMV_OK;
    memset(&a, 0, sizeof a);
    a.rows = t->work.rows;
    a.cols = t->work.cols;
    a.nnz = (uint64_t)t->in.nnz;
    if (!spmv__converts_there(d) || !b->transfer || !a.rows || !a.cols || !col) return;
    if (!a.nnz) s = spmv__last_pointer(d->device, t, &a.nnz);
    if (!s) s = b->buffer_bytes(d->device, col, &bytes);
    if (!s && (!a.nnz || a.nnz > most || a.nnz > bytes / 4)) return;
    if (!s) s = spmv__convert_check(d->device, &a, t->ptr, t->work.ptr_bits, col, &t->found);
    if (s) spmv_log(&d->hooks, SPMV_OK, "the matrix could not be checked on the device (%s); the host checks it", spmv_status_text(s));
    t->there = t->found.pointers;
    if (t->there) t->work.entries = a.nnz;
}

#ifndef SPMV_NO_AUTO
/* The tuning table that a device keeps. */
typedef struct spmv__kept {
    spmv_tuning table;
    spmv_hooks  hooks;
    int         exact;
} spmv__kept;

static void spmv__kept_free(void *kept)
{
    spmv__kept *k = (spmv__kept *)kept;
    spmv_hooks h = k->hooks;
    spmv_tuning_destroy(&k->table);
    spmv_free(&h, k);
}

/* Reads the device's bundled table: *out, or NULL on failure. */
static spmv_status spmv__kept_make(spmv_device *d, const spmv_target *target, spmv__kept **out)
{
    void *block;
    spmv_status s = spmv__new(&d->hooks, &block, 1, sizeof **out, 0);
    *out = (spmv__kept *)block;
    if (s) return s;
    (*out)->hooks = d->hooks;
    s = spmv__bundled_table(&(*out)->table, &(*out)->exact, target, &d->hooks);
    if (s) spmv_free(&d->hooks, *out);
    if (s) *out = NULL;
    return s;
}

/* The table that the device keeps; NULL: none. If it keeps none yet, it keeps made from now on. */
static spmv__kept *spmv__kept_of(spmv_device *d, spmv__kept *made)
{
    spmv__common *c = d->common;
    void *kept;
    spmv__lock(&c->lock);
    if (!c->kept && made) {
        c->kept = made;
        c->kept_free = spmv__kept_free;
    }
    kept = c->kept;
    spmv__unlock(&c->lock);
    return (spmv__kept *)kept;
}

/* Sets target->table to the device's bundled table, which is read for the first matrix and kept until the device is closed. */
static spmv_status spmv__keep_table(spmv_device *d, spmv_target *target)
{
    spmv__kept *k = spmv__kept_of(d, NULL), *made = NULL;
    spmv_status s = k ? SPMV_OK : spmv__kept_make(d, target, &made);
    if (s) return s;
    if (!k) k = spmv__kept_of(d, made);
    if (made && k != made) spmv__kept_free(made); /* another thread has read it as well */
    target->table = &k->table;
    target->exact = k->exact;
    return SPMV_OK;
}
#endif

#if defined(SPMV_NO_AUTO) || defined(SPMV__NO_SELL) || defined(SPMV__NO_TCSR)
#define spmv__leave_unseen(d, t, only) SPMV_OK
#else
/* Sets *only to the format in which the matrix is stored if the host is not to look at it (spmv__plan_unseen). That is decided only where
 * the library is free to choose, and the device has looked at the matrix and can store it by itself. */
static spmv_status spmv__leave_unseen(const spmv_desc *d, const spmv__taken *t, spmv_format *only)
{
    const unsigned both = SPMV_BIT_TCSR | SPMV_BIT_SELL;
    const spmv_build_hints *hints = d->hints;
    const spmv_tuning *table = hints ? hints->tuning : NULL;
    spmv_target target = spmv_target_of(d->device);
    spmv_build how;
    spmv_csr a;
    double padded;
    spmv_status s = SPMV_OK;
    if (!t->there || (d->plan && !spmv__is_auto(d->plan)) || d->reproducible || d->strict || d->max_bytes) return s;
    if (target.device_class != SPMV_DEVICE_CLASS_GPU) return s;
    if (hints && (hints->choice || hints->without & both)) return s;
    memset(&a, 0, sizeof a);
    memset(&how, 0, sizeof how);
    a.rows = t->work.rows;
    a.cols = t->work.cols;
    a.nnz = t->work.entries;
    a.type = how.type = spmv__desc_type(d);
    if (!table) s = spmv__keep_table(d->device, &target);
    padded = s ? 0 : spmv__convert_padding(d->device, &a, t->ptr, t->work.ptr_bits, &d->hooks);
    if (padded > 0) *only = spmv__plan_unseen(table ? table : target.table, &a, &how, hints, padded);
    return s;
}
#endif

/* Copies the row pointers to the host if they are needed there, and has it check them unless the device has. */
static spmv_status spmv__take_pointers(const spmv_desc *d, spmv__taken *t, int stay)
{
    void *ptr = NULL;
    spmv_status s;
    if (t->found.columns && stay) return SPMV_OK;
    s = spmv__dev_fetch(d->device, &d->hooks, t->ptr, t->work.rows + 1, (uint64_t)t->work.ptr_bits / 8, &ptr);
    t->in.ptr = ptr;
    t->work.index = d->matrix.col;
    return s || t->there ? s : spmv__import_pointers(&t->work);
}

/* Tells the first column that is outside the matrix or does not exceed the one before it. */
static spmv_status spmv__bad_columns(const spmv__import *m)
{
    uint64_t r, i;
    for (r = 0; r < m->rows; r++) {
        const uint64_t begin = spmv__index(m->in->ptr, m->ptr_bits, 0, r), end = spmv__index(m->in->ptr, m->ptr_bits, 0, r + 1);
        for (i = begin; i < end; i++) {
            const uint64_t c = spmv__index(m->index, 32, 0, i), before = i > begin ? spmv__index(m->index, 32, 0, i - 1) : 0;
            if (c >= m->cols) return spmv__bad_index(m, "column", m->index, i, m->cols, "row", r);
            if (i > begin && c <= before)
                return spmv_log(m->h, SPMV_ERR_UNSUPPORTED, "buffers: entry %llu in row %llu: column %llu does not exceed %llu before it",
                                (spmv__ull)i, (spmv__ull)r, (spmv__ull)c, (spmv__ull)before);
        }
    }
    return SPMV_OK;
}

/* Copies the columns to the host if they are needed there: *col; and has it check them unless the device has. */
static spmv_status spmv__take_columns(const spmv_desc *d, spmv__taken *t, int stay, void **col)
{
    spmv_status s = spmv__holds(d, "matrix.col", d->matrix.col, t->work.entries, 4);
    if (!s && (!t->found.columns || !stay))
        s = spmv__dev_fetch(d->device, &d->hooks, (void *)(uintptr_t)d->matrix.col, t->work.entries, 4, col);
    t->work.index = *col;
    return s || t->found.columns || spmv__import_in_order(&t->work) ? s : spmv__bad_columns(&t->work);
}

/* Makes the CSR form of a matrix in buffers, whose values stay where they are: m->own.val is NULL, and m->own.ptr and col may be. */
SPMV__APART spmv_status spmv__take_buffers(spmv_matrix *m, const spmv_desc *d, spmv_format *only)
{
    const spmv_type stored = spmv__stored_type(spmv__desc_type(d));
    spmv__taken t;
    void *col = NULL;
    int rows_stay, columns_stay;
    spmv_status s;
    memset(&t, 0, sizeof t);
    t.in = d->matrix;
    if (!d->device) return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "buffers: there is no device");
    if (d->csr) return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "buffers: csr must be NULL");
    if (!t.in.val_type) t.in.val_type = stored;
    if (t.in.form != SPMV_IN_CSR || t.in.base || t.in.transpose || t.in.symmetry || t.in.drop_zeros ||
        (t.in.index_bits && t.in.index_bits != 32) || t.in.val_type != stored)
        return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "buffers: the matrix must be zero-based general CSR with 32-bit columns and "
                        "values of the type stored");
    t.ptr = (void *)(uintptr_t)t.in.ptr;
    t.in.ptr = NULL;
    t.in.borrow = 1;
    t.work.in = &t.in;
    t.work.h = &d->hooks;
    t.work.ptr_bits = t.in.ptr_bits == 64 ? 64 : 32;
    t.work.index_bits = 32;
    m->own.hooks = d->hooks;
    s = spmv__import_shape(&t.work);
    if (!s) s = spmv__holds(d, "matrix.ptr", t.ptr, t.work.rows + 1, (uint64_t)t.work.ptr_bits / 8);
    if (!s) spmv__look_there(d, &t);
    if (!s) s = spmv__leave_unseen(d, &t, only);
    columns_stay = spmv__columns_stay(d, *only, &rows_stay);
    if (!s) s = spmv__take_pointers(d, &t, rows_stay);
    if (!s) s = spmv__take_columns(d, &t, columns_stay, &col);
    if (!s) s = spmv__holds(d, "matrix.val", d->matrix.val, t.work.entries, spmv_value_size(stored));
    t.in.val = &t.in; /* borrowed and not looked at */
    t.in.val_type = m->own.type = stored;
    m->own.rows = t.work.rows;
    m->own.cols = t.work.cols;
    m->own.nnz = t.work.entries;
    if (!s && t.in.ptr) s = spmv__import_copy(&m->own, &t.work);
    m->own.val = NULL;
    if (col) m->own.owned |= 2u;
    if (m->own.ptr && (const void *)m->own.ptr == t.in.ptr) m->own.owned |= 1u;
    else spmv_free(&d->hooks, (void *)(uintptr_t)t.in.ptr);
    m->own.col = (const uint32_t *)col;
    return s;
}

/* Tells the converter where the matrix is. Its kernels read row pointers of 64 bits. */
static spmv_status spmv__give_buffers(spmv_matrix *m, const spmv_desc *d)
{
    void *ptr = (void *)(uintptr_t)d->matrix.ptr;
    const int wide = d->matrix.ptr_bits == 64;
    spmv_status s = spmv__converter_give(m->converter, &m->own, wide ? ptr : NULL, (void *)(uintptr_t)d->matrix.col,
                                         (void *)(uintptr_t)d->matrix.val);
    if (!s && !wide) spmv__converter_give_narrow(m->converter, ptr);
    return s;
}

static void spmv__close_converter(spmv_matrix *m)
{
    spmv__converter_destroy(m->converter);
    m->converter = NULL;
}

/* Finds the plan and stores the matrix by it, on the device if it converts. Then the kernels are done and the CSR matrix is no longer
 * there. */
static spmv_status spmv__plan_and_convert(spmv_matrix *m, const spmv_desc *d, const spmv_csr *csr, spmv_build *how, spmv_format only)
{
    spmv_status s = SPMV_OK, end;
    if (d->device && (d->buffers || spmv__converts_there(d)))
        s = spmv__converter_create(&m->converter, d->device, csr);
    if (!s && m->converter) spmv__converter_set_thrifty(m->converter, d->convert == SPMV_CONVERT_DEFAULT && !d->buffers && !d->updatable);
    if (!s && d->buffers) s = spmv__give_buffers(m, d);
    how->converter = m->converter;
    if (!s && m->converter && !(d->hints && d->hints->measure)) spmv__converter_begin(m->converter); /* measuring uses the device */
    if (!s) s = spmv__plan_and_store(m, d, csr, how, only);
    if (!m->converter) return s;
    end = spmv__converter_finish(m->converter);
    if (!m->updatable || !spmv__converter_count(m->converter)) spmv__close_converter(m);
    return s ? s : end;
}

#ifndef SPMV_NO_AUTO
SPMV_API spmv_target spmv_target_of(const spmv_device *d)
{
    spmv_target p;
    memset(&p, 0, sizeof p); /* the host */
    if (!d) return p;
    p.device = d->info.name;
    p.device_class = d->info.type == SPMV_DEVICE_GPU ? SPMV_DEVICE_CLASS_GPU : SPMV_DEVICE_CLASS_CPU;
    p.cache = d->info.cache_bytes;
    p.read = d->info.memory_rate;
    return p;
}
#endif

#endif
