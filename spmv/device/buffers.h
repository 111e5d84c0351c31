/* SPDX-License-Identifier: MIT
 *
 * spmv/device/buffers.h - matrices of spmv.h on a device: moved there, or made from buffers that are there.
 */
#ifndef SPMV__DEVICE_BUFFERS_H
#define SPMV__DEVICE_BUFFERS_H

#include "transpose.h"
#include "many.h"

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
static int spmv__device_filled(const spmv_store *store)
{
    int i, filled = 0;
    for (i = 0; i < store->count; i++) filled |= store->part[i].elsewhere != NULL;
    return filled;
}

/* Uploads the stored parts to the device, with kernels of the given variant, and makes the exec of spmv_mul. Does nothing for the host.
 * What was made before a failure is freed by spmv__off_device. */
static spmv_status spmv__to_device(spmv_matrix *matrix, const spmv_desc *desc, const char *variant)
{
    const spmv_hooks *hooks = &desc->hooks;
    void *on_device = NULL, *exec = NULL, *variants = NULL;
    spmv_status s;
    matrix->device = desc->device;
    if (!matrix->device) return SPMV_OK;
    spmv__phase(hooks, SPMV_PHASE_UPLOAD);
    s = spmv__new(hooks, &on_device, 1, sizeof *matrix->on_device, 0);
    matrix->on_device = (spmv_device_matrix *)on_device;
    if (!s) s = spmv__new(hooks, &exec, 1, sizeof *matrix->exec, 0);
    matrix->exec = (spmv_exec *)exec;
    if (!s)
        s = spmv__new(hooks, &variants, (uint64_t)matrix->store.count + 1, sizeof(spmv_variant), 0); /* without nonzeros there is no part */
    if (!s) s = spmv_variants_parse((spmv_variant *)variants, &matrix->store, variant, hooks);
    if (!s)
        s = spmv_device_matrix_create(matrix->on_device, matrix->device, matrix->store.rows, matrix->store.cols, matrix->store.type,
                                      matrix->store.part, (size_t)matrix->store.count, (const spmv_variant *)variants);
    spmv_free(hooks, variants);
    if (!s && spmv__device_filled(&matrix->store)) s = spmv_device_finish(matrix->device); /* products may start early */
    if (!s) s = spmv_exec_create(matrix->exec, matrix->on_device, NULL);
    if (!s && !matrix->updatable) spmv__release_arrays(&matrix->store);
    return s;
}

static void spmv__off_device(spmv_matrix *matrix)
{
    if (matrix->exec) spmv_exec_destroy(matrix->exec);
    if (matrix->on_device) spmv_device_matrix_destroy(matrix->on_device);
    spmv_free(&matrix->store.hooks, matrix->exec);
    spmv_free(&matrix->store.hooks, matrix->on_device);
    matrix->exec = NULL;
    matrix->on_device = NULL;
}

/* Checks that a buffer of the description holds count elements. */
static spmv_status spmv__holds(const spmv_desc *desc, const char *what, const void *buffer, uint64_t count, uint64_t width)
{
    return spmv__dev_holds(desc->device, &desc->hooks, "buffers", what, (void *)(uintptr_t)buffer, count, width);
}

/* 1 if arrays are to be filled on the device, as far as it can. */
static int spmv__converts_there(const spmv_desc *desc)
{
    return desc->convert == SPMV_CONVERT_DEFAULT ? spmv_convert_here(desc->device) : desc->convert == SPMV_CONVERT_ON_DEVICE;
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
static int spmv__columns_stay(const spmv_desc *desc, spmv_format unseen, int *rows)
{
    spmv_hooks quiet = desc->hooks;
    spmv_plan plan;
    quiet.log = spmv__dev_hush;
    *rows = unseen != SPMV_FORMAT_COUNT;
    if (*rows) return 1;
    if (spmv_plan_parse(&plan, spmv__plan_text(desc), NULL, &quiet)) return spmv__builds_by_rows(spmv__plan_text(desc));
    *rows = spmv__pointers_stay(&plan);
    return !spmv__split_reads_columns(&plan);
}

/* A matrix in buffers, while it is checked. */
typedef struct spmv__buffer_input {
    spmv__import        work;
    spmv_input          in;    /* as it was given; ptr is NULL until the row pointers are on the host */
    void               *ptr;   /* their buffer */
    spmv__convert_found found; /* what the device has found */
    int                 there; /* 1: the device has checked it */
} spmv__buffer_input;

/* The last row pointer: *nnz. */
static spmv_status spmv__last_pointer(const spmv_device *device, const spmv__buffer_input *input, uint64_t *nnz)
{
    const spmv_backend *back = device->info.backend;
    const uint64_t width = (uint64_t)input->work.ptr_bits / 8;
    uint32_t narrow = 0;
    spmv_status s = back->transfer->get(device, device->queue, input->ptr, input->work.rows * width, width,
                                        width == 8 ? (void *)nnz : (void *)&narrow);
    if (!s) s = back->finish(device, device->queue);
    if (width != 8) *nnz = narrow;
    return s;
}

/* Has the device check the matrix. Where this fails or finds a fault, the host checks it. The last row pointer is read only if the caller
 * has not said how many nonzeros there are; else the check contains it. */
static void spmv__check_there(const spmv_desc *desc, spmv__buffer_input *input)
{
    const spmv_backend *back = desc->device->info.backend;
    const uint64_t most = input->in.nnz || input->work.ptr_bits == 64 ? UINT64_MAX : 0x7fffffff;
    void *col = (void *)(uintptr_t)desc->matrix.col;
    uint64_t bytes = 0;
    spmv_csr a;
    spmv_status s = SPMV_OK;
    memset(&a, 0, sizeof a);
    a.rows = input->work.rows;
    a.cols = input->work.cols;
    a.nnz = (uint64_t)input->in.nnz;
    if (!spmv__converts_there(desc) || !back->transfer || !a.rows || !a.cols || !col) return;
    if (!a.nnz) s = spmv__last_pointer(desc->device, input, &a.nnz);
    if (!s) s = back->buffer_bytes(desc->device, col, &bytes);
    if (!s && (!a.nnz || a.nnz > most || a.nnz > bytes / 4)) return;
    if (!s) s = spmv__convert_check(desc->device, &a, input->ptr, input->work.ptr_bits, col, &input->found);
    if (s) spmv_log(&desc->hooks, SPMV_OK, "the matrix could not be checked on the device (%s); the host checks it", spmv_status_text(s));
    input->there = input->found.pointers;
    if (input->there) input->work.entries = a.nnz;
}

#ifndef SPMV_NO_AUTO
/* The tuning table that a device keeps. */
typedef struct spmv__kept {
    spmv_tuning table;
    spmv_hooks  hooks;
    int         exact;
} spmv__kept;

static void spmv__kept_destroy(void *kept)
{
    spmv__kept *tuning = (spmv__kept *)kept;
    spmv_hooks hooks = tuning->hooks;
    spmv_tuning_destroy(&tuning->table);
    spmv_free(&hooks, tuning);
}

/* Sets target->table to the device's bundled table, which is read for the first matrix and kept until the device is closed. */
static spmv_status spmv__keep_table(spmv_device *device, spmv_target *target)
{
    spmv__common *common = device->common;
    spmv__kept *kept, *made;
    void *block = NULL;
    spmv_status s = SPMV_OK;
    spmv__lock(&common->lock);
    kept = (spmv__kept *)common->kept;
    spmv__unlock(&common->lock);
    if (!kept) s = spmv__new(&device->hooks, &block, 1, sizeof *made, 0);
    made = (spmv__kept *)block;
    if (made) made->hooks = device->hooks;
    if (made) s = spmv__bundled_table(&made->table, &made->exact, target, &device->hooks);
    if (s) spmv_free(&device->hooks, made);
    if (s) return s;
    spmv__lock(&common->lock);
    if (!common->kept) common->kept = made;
    kept = (spmv__kept *)common->kept;
    common->kept_free = spmv__kept_destroy;
    spmv__unlock(&common->lock);
    if (made && kept != made) spmv__kept_destroy(made); /* another thread has read it as well */
    target->table = &kept->table;
    target->exact = kept->exact;
    return SPMV_OK;
}

/* Counts the different values of a matrix in buffers where that may decide: beyond the cache of a GPU, unless the first values are too many
 * already. */
SPMV__APART spmv_status spmv__count_distinct(const spmv_desc *desc, const spmv_csr *a, spmv_target *target)
{
    const uint64_t first = spmv__smaller(a->nnz, 4 * SPMV__DISTINCT_MOST);
    const uint32_t width = (uint32_t)spmv_value_size(a->type);
    const spmv_tuning *table = desc->hints && desc->hints->tuning ? desc->hints->tuning : target->table;
    void *val = (void *)(uintptr_t)desc->matrix.val, *some = NULL;
    spmv__distinct set;
    spmv_status s;
    if (!table || table->device_class != SPMV_DEVICE_CLASS_GPU || desc->updatable || a->nnz >= UINT32_MAX / 2) return SPMV_OK;
    if (!first || (double)spmv__csr_bytes(a) < table->cache * 1048576) return SPMV_OK;
    s = spmv__dev_fetch(desc->device, &desc->hooks, val, first, width, &some);
    if (!s) s = spmv__distinct_find(&set, some, width, NULL, 0, first, &desc->hooks);
    spmv_free(&desc->hooks, some);
    return s || set.count >= SPMV__DISTINCT_MOST ? s : spmv__codes_count(desc->device, val, a->nnz, width, &target->distinct);
}
#endif

#if defined(SPMV_NO_AUTO) || defined(SPMV__NO_SELL) || defined(SPMV__NO_TCSR)
#define spmv__leave_unseen(d, t, only) SPMV_OK
#else
/* Sets *only to the format in which the matrix is stored if the host is not to read it (spmv__plan_unseen). That is decided only where
 * the library is free to choose, and the device has checked the matrix and can store it by itself. */
static spmv_status spmv__leave_unseen(const spmv_desc *desc, const spmv__buffer_input *input, spmv_format *only)
{
    const unsigned both = SPMV_BIT_TCSR | SPMV_BIT_SELL;
    const spmv_build_hints *hints = desc->hints;
    const spmv_tuning *table = hints ? hints->tuning : NULL;
    spmv_target target = spmv_target_of(desc->device);
    spmv_build how;
    spmv_csr a;
    double padded;
    spmv_status s = SPMV_OK;
    if (!input->there || (desc->plan && !spmv__is_name(desc->plan, "auto")) || desc->reproducible || desc->strict || desc->max_bytes)
        return s;
    if (target.device_class != SPMV_DEVICE_CLASS_GPU) return s;
    if (hints && (hints->choice || hints->without & both)) return s;
    memset(&a, 0, sizeof a);
    memset(&how, 0, sizeof how);
    a.rows = input->work.rows;
    a.cols = input->work.cols;
    a.nnz = input->work.entries;
    a.type = how.type = spmv__desc_type(desc);
    if (!table) s = spmv__keep_table(desc->device, &target);
    padded = s ? 0 : spmv__convert_padding(desc->device, &a, input->ptr, input->work.ptr_bits, &desc->hooks);
    if (padded > 0) *only = spmv__plan_unseen(table ? table : target.table, &a, &how, hints, padded);
    return s;
}
#endif

/* Copies the row pointers to the host if they are needed there, and has it check them unless the device has. */
static spmv_status spmv__take_pointers(const spmv_desc *desc, spmv__buffer_input *input, int stay)
{
    void *ptr = NULL;
    spmv_status s;
    if (input->found.columns && stay) return SPMV_OK;
    s = spmv__dev_fetch(desc->device, &desc->hooks, input->ptr, input->work.rows + 1, (uint64_t)input->work.ptr_bits / 8, &ptr);
    input->in.ptr = ptr;
    input->work.index = desc->matrix.col;
    return s || input->there ? s : spmv__import_pointers(&input->work);
}

/* Tells the first column that is outside the matrix or does not exceed the one before it. */
static spmv_status spmv__bad_columns(const spmv__import *work)
{
    uint64_t r, i;
    for (r = 0; r < work->rows; r++) {
        const uint64_t begin = spmv__index(work->in->ptr, work->ptr_bits, 0, r), end = spmv__index(work->in->ptr, work->ptr_bits, 0, r + 1);
        for (i = begin; i < end; i++) {
            const uint64_t c = spmv__index(work->index, 32, 0, i), before = i > begin ? spmv__index(work->index, 32, 0, i - 1) : 0;
            if (c >= work->cols) return spmv__bad_index(work, "column", work->index, i, work->cols, "row", r);
            if (i > begin && c <= before)
                return spmv_log(work->hooks, SPMV_ERR_UNSUPPORTED,
                                "buffers: entry %llu in row %llu: column %llu does not exceed %llu before it",
                                (spmv__ull)i, (spmv__ull)r, (spmv__ull)c, (spmv__ull)before);
        }
    }
    return SPMV_OK;
}

/* Copies the columns to the host if they are needed there: *col; and has it check them unless the device has. */
static spmv_status spmv__take_columns(const spmv_desc *desc, spmv__buffer_input *input, int stay, void **col)
{
    spmv_status s = spmv__holds(desc, "matrix.col", desc->matrix.col, input->work.entries, 4);
    if (!s && (!input->found.columns || !stay))
        s = spmv__dev_fetch(desc->device, &desc->hooks, (void *)(uintptr_t)desc->matrix.col, input->work.entries, 4, col);
    input->work.index = *col;
    return s || input->found.columns || spmv__import_in_order(&input->work) ? s : spmv__bad_columns(&input->work);
}

/* Makes the CSR form of a matrix in buffers, whose values stay where they are: matrix->own.val is NULL, and matrix->own.ptr and col may
 * be. */
SPMV__APART spmv_status spmv__take_buffers(spmv_matrix *matrix, const spmv_desc *desc, spmv_format *only)
{
    const spmv_type stored = spmv__stored_type(spmv__desc_type(desc));
    spmv__buffer_input input;
    void *col = NULL;
    int rows_stay, columns_stay;
    spmv_status s;
    memset(&input, 0, sizeof input);
    input.in = desc->matrix;
    if (!desc->device) return spmv_log(&desc->hooks, SPMV_ERR_ARGUMENT, "buffers: there is no device");
    if (desc->csr) return spmv_log(&desc->hooks, SPMV_ERR_ARGUMENT, "buffers: csr must be NULL");
    if (!input.in.val_type) input.in.val_type = stored;
    if (input.in.form != SPMV_IN_CSR || input.in.base || input.in.transpose || input.in.symmetry || input.in.drop_zeros ||
        (input.in.index_bits && input.in.index_bits != 32) || input.in.val_type != stored)
        return spmv_log(&desc->hooks, SPMV_ERR_UNSUPPORTED, "buffers: the matrix must be zero-based general CSR with 32-bit columns and "
                        "values of the type stored");
    input.ptr = (void *)(uintptr_t)input.in.ptr;
    input.in.ptr = NULL;
    input.in.borrow = 1;
    input.work.in = &input.in;
    input.work.hooks = &desc->hooks;
    input.work.ptr_bits = input.in.ptr_bits == 64 ? 64 : 32;
    input.work.index_bits = 32;
    matrix->own.hooks = desc->hooks;
    s = spmv__import_shape(&input.work);
    if (!s) s = spmv__holds(desc, "matrix.ptr", input.ptr, input.work.rows + 1, (uint64_t)input.work.ptr_bits / 8);
    if (!s) spmv__check_there(desc, &input);
    if (!s) s = spmv__leave_unseen(desc, &input, only);
    columns_stay = spmv__columns_stay(desc, *only, &rows_stay);
    if (!s) s = spmv__take_pointers(desc, &input, rows_stay);
    if (!s) s = spmv__take_columns(desc, &input, columns_stay, &col);
    if (!s) s = spmv__holds(desc, "matrix.val", desc->matrix.val, input.work.entries, spmv_value_size(stored));
    input.in.val = &input.in; /* borrowed and not read */
    input.in.val_type = matrix->own.type = stored;
    matrix->own.rows = input.work.rows;
    matrix->own.cols = input.work.cols;
    matrix->own.nnz = input.work.entries;
    if (!s && input.in.ptr) s = spmv__import_copy(&matrix->own, &input.work);
    matrix->own.val = NULL;
    if (col) matrix->own.owned |= 2u;
    if (matrix->own.ptr && (const void *)matrix->own.ptr == input.in.ptr) matrix->own.owned |= 1u;
    else spmv_free(&desc->hooks, (void *)(uintptr_t)input.in.ptr);
    matrix->own.col = (const uint32_t *)col;
    return s;
}

/* Makes the transpose of a matrix in buffers on the host. */
SPMV__APART spmv_status spmv__transpose_here(spmv_matrix *matrix, const spmv_desc *desc)
{
    const spmv_type stored = spmv__stored_type(spmv__desc_type(desc));
    const uint64_t size[3] = { desc->matrix.ptr_bits == 64 ? 8u : 4u, 4, spmv_value_size(stored) };
    const uint64_t count[3] = { matrix->own.rows + 1, matrix->own.nnz, matrix->own.nnz };
    const void *const from[3] = { desc->matrix.ptr, desc->matrix.col, desc->matrix.val };
    void *array[3] = { NULL, NULL, NULL };
    spmv_input in = desc->matrix;
    spmv_csr csr;
    spmv_status s = SPMV_OK;
    int i;
    memset(&csr, 0, sizeof csr);
    for (i = 0; i < 3 && !s; i++)
        s = spmv__dev_fetch(desc->device, &desc->hooks, (void *)(uintptr_t)from[i], count[i], size[i], &array[i]);
    in.ptr = array[0];
    in.col = array[1];
    in.val = array[2];
    in.val_type = stored;
    in.borrow = 1;
    if (!s) s = spmv_csr_create(&csr, &in, stored, &desc->hooks);
    if (!s) s = spmv__make_transposed(matrix, desc, &csr, NULL);
    spmv_csr_destroy(&csr);
    for (i = 0; i < 3; i++) spmv_free(&desc->hooks, array[i]);
    return s;
}

/* Makes the transpose of a matrix in buffers: on the device if that converts. Updates need its CSR form on the host. */
SPMV__APART spmv_status spmv__transpose_buffers(spmv_matrix *matrix, const spmv_desc *desc)
{
    const spmv_csr *own = &matrix->own;
    spmv_input in;
    spmv__transpose job;
    int same = 0;
    spmv_status s;
    if (!own->nnz || desc->updatable || !spmv__converts_there(desc)) return spmv__transpose_here(matrix, desc);
    s = spmv__transpose_make(&job, desc->device, own, (void *)(uintptr_t)desc->matrix.ptr, desc->matrix.ptr_bits == 64 ? 64 : 32,
                             (void *)(uintptr_t)desc->matrix.col, (void *)(uintptr_t)desc->matrix.val, &same);
    if (s) {
        spmv_log(&desc->hooks, SPMV_OK, "the matrix could not be transposed on the device (%s); the host transposes it",
                 spmv_status_text(s));
        return spmv__transpose_here(matrix, desc);
    }
    memset(&in, 0, sizeof in);
    in.rows = (int64_t)own->cols;
    in.cols = (int64_t)own->rows;
    in.nnz = (int64_t)own->nnz;
    in.ptr = job.turned_ptr;
    in.ptr_bits = 64;
    in.col = job.set[0].row;
    in.val = job.set[0].val;
    in.val_type = own->type;
    if (!same) s = spmv__make_transposed(matrix, desc, NULL, &in);
    spmv__transpose_end(&job, 0);
    return s;
}

static void spmv__destroy_converter(spmv_matrix *matrix)
{
    spmv__converter_destroy(matrix->converter);
    matrix->converter = NULL;
}

/* Finds the plan and stores the matrix by it, on the device if it converts. Then the kernels are done and the CSR matrix is no longer
 * there. */
static spmv_status spmv__plan_and_convert(spmv_matrix *matrix, const spmv_desc *desc, const spmv_csr *csr, spmv_build *how,
                                          spmv_format only)
{
    spmv_status s = SPMV_OK, end;
    if (desc->device && (desc->buffers || spmv__converts_there(desc)))
        s = spmv__converter_create(&matrix->converter, desc->device, csr);
    if (!s && matrix->converter)
        spmv__converter_set_lazy(matrix->converter, desc->convert == SPMV_CONVERT_DEFAULT && !desc->buffers && !desc->updatable);
    if (!s && desc->buffers)
        s = spmv__converter_give(matrix->converter, &matrix->own, (void *)(uintptr_t)desc->matrix.ptr,
                                 desc->matrix.ptr_bits == 64 ? 64 : 32, (void *)(uintptr_t)desc->matrix.col,
                                 (void *)(uintptr_t)desc->matrix.val);
    how->converter = matrix->converter;
    if (!s && matrix->converter && !(desc->hints && desc->hints->measure))
        spmv__converter_begin(matrix->converter); /* measuring uses the device */
    if (!s) s = spmv__plan_and_store(matrix, desc, csr, how, only);
    if (!matrix->converter) return s;
    end = spmv__converter_finish(matrix->converter);
    if (!matrix->updatable || !spmv__converter_count(matrix->converter)) spmv__destroy_converter(matrix);
    return s ? s : end;
}

#ifndef SPMV_NO_AUTO
SPMV_API spmv_target spmv_target_of(const spmv_device *device)
{
    spmv_target target;
    memset(&target, 0, sizeof target); /* the host */
    if (!device) return target;
    target.device = device->info.name;
    target.device_class = device->info.type == SPMV_DEVICE_GPU ? SPMV_DEVICE_CLASS_GPU : SPMV_DEVICE_CLASS_CPU;
    target.cache = device->info.cache_bytes;
    target.read = device->info.memory_rate;
    return target;
}
#endif

#endif
