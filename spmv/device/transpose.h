/* SPDX-License-Identifier: MIT
 *
 * spmv/device/transpose.h - the transpose of a CSR matrix in buffers, made on the device.
 */
#ifndef SPMV__DEVICE_TRANSPOSE_H
#define SPMV__DEVICE_TRANSPOSE_H

#include "convert.h"

/* Of kernels/convert.cl: bits of a digit, and the nonzeros that a work-item takes. */
enum { SPMV__DIGIT_BITS = 8, SPMV__DIGITS = 1 << SPMV__DIGIT_BITS, SPMV__DIGIT_EACH = 4 * SPMV__CONVERT_PER };

/* Nonzeros of a matrix, each with its column, row and value. */
typedef struct spmv__sorted {
    void *col, *row, *val;
} spmv__sorted;

/* A matrix in buffers, and its transpose, in scratch buffers. */
typedef struct spmv__transpose {
    spmv_device    *device;
    const spmv_csr *a; /* the sizes of the matrix */
    int             ptr_bits;
    void           *ptr, *turned_ptr; /* turned_ptr: 64 bits */
    spmv__sorted    given, set[2];    /* passes write to the sets in turn, the last one to set[0], whose rows are the columns then */
    void           *count;
} spmv__transpose;

/* Launches a kernel for elements of which each work-item takes some. */
static spmv_status spmv__transpose_run(const spmv__transpose *job, const char *name, const spmv__dev_value *given, size_t count,
                                       uint64_t elements, uint64_t each)
{
    return spmv__convert_scan(job->device, SPMV__CHECK_TRANSPOSE, job->ptr_bits, name, given, count, elements, each);
}

/* The groups of a pass. */
static uint64_t spmv__transpose_groups(const spmv__transpose *job)
{
    return spmv__ceil_div(job->a->nnz, (uint64_t)spmv__dev_vector_group(job->device) * SPMV__DIGIT_EACH);
}

/* Sorts nonzeros by a digit of their columns. */
static spmv_status spmv__transpose_pass(const spmv__transpose *job, uint64_t shift, const spmv__sorted *from, const spmv__sorted *to)
{
    const uint64_t nnz = job->a->nnz, groups = spmv__transpose_groups(job), wg = (uint64_t)spmv__dev_vector_group(job->device);
    const spmv__dev_value count = spmv__mem(job->count);
    const spmv__dev_value counted[5] = { spmv__number(nnz), spmv__number(shift), spmv__number(groups), spmv__mem(from->col), count };
    const spmv__dev_value of_digit[3] = { spmv__number(groups), spmv__number(0), count };
    const spmv__dev_value of_all[3] = { spmv__number(SPMV__DIGITS), spmv__number(SPMV__DIGITS * groups), count };
    const spmv__dev_value moved[13] = {
        spmv__number(job->a->rows), spmv__number(nnz), spmv__number(shift), spmv__number(groups),
        spmv__number(spmv_value_size(job->a->type) / 4), spmv__mem(job->ptr),
        spmv__mem(from->col), spmv__mem(from->row), spmv__mem(from->val), count, spmv__mem(to->col), spmv__mem(to->row), spmv__mem(to->val)
    };
    spmv_status s = spmv__transpose_run(job, "digits", counted, SPMV__COUNT_OF(counted), nnz, SPMV__DIGIT_EACH);
    if (!s) s = spmv__transpose_run(job, "sums", of_digit, SPMV__COUNT_OF(of_digit), SPMV__DIGITS * wg, 1);
    if (!s) s = spmv__transpose_run(job, "sums", of_all, SPMV__COUNT_OF(of_all), 1, 1);
    return s ? s : spmv__transpose_run(job, "move", moved, SPMV__COUNT_OF(moved), nnz, SPMV__DIGIT_EACH);
}

/* Makes the buffers of so many passes. */
static spmv_status spmv__transpose_room(spmv__transpose *job, int passes)
{
    const uint64_t nnz = job->a->nnz;
    int i;
    spmv_status s = spmv__scratch_take(job->device, (job->a->cols + 1) * 8, &job->turned_ptr);
    if (!s) s = spmv__scratch_take(job->device, ((spmv__transpose_groups(job) + 1) * SPMV__DIGITS + 1) * 4, &job->count);
    for (i = 0; !s && i < 2 && i < passes; i++) {
        s = spmv__scratch_take(job->device, nnz * 4, &job->set[i].col);
        if (!s) s = spmv__scratch_take(job->device, nnz * 4, &job->set[i].row);
        if (!s) s = spmv__scratch_take(job->device, nnz * spmv_value_size(job->a->type), &job->set[i].val);
    }
    return s;
}

/* Tells whether the matrix is its transpose, with the same bits. */
static spmv_status spmv__transpose_compare(const spmv__transpose *job, int *same)
{
    const spmv_device *device = job->device;
    const uint64_t each = spmv_value_size(job->a->type) / 4, words = job->a->nnz * each;
    const spmv__dev_value given[10] = {
        spmv__number(job->a->rows), spmv__number(job->a->nnz), spmv__number(each), spmv__mem(job->ptr), spmv__mem(job->given.col),
        spmv__mem(job->given.val), spmv__mem(job->turned_ptr), spmv__mem(job->set[0].row), spmv__mem(job->set[0].val), spmv__mem(job->count)
    };
    uint32_t differs = 1;
    spmv_status s = SPMV_OK;
    *same = 0;
    if (job->a->rows != job->a->cols) return s;
    s = device->info.backend->fill(device, device->queue, job->count, sizeof differs, 0);
    if (!s)
        s = spmv__transpose_run(job, "same", given, SPMV__COUNT_OF(given), words > job->a->rows ? words : job->a->rows + 1, 1);
    if (!s) s = device->info.backend->read(device, device->queue, job->count, sizeof differs, &differs, NULL);
    *same = !differs;
    return s;
}

/* Gives back the buffers; keep: all but those of the transpose. */
static void spmv__transpose_end(spmv__transpose *job, int keep)
{
    void **const all[] = { &job->count, &job->set[0].col, &job->set[1].col, &job->set[1].row, &job->set[1].val,
                           &job->set[0].row, &job->set[0].val, &job->turned_ptr };
    const size_t n = keep ? 5 : sizeof all / sizeof *all;
    size_t i;
    for (i = 0; i < n; i++) {
        spmv__scratch_give(job->device, *all[i]);
        *all[i] = NULL;
    }
}

/* Makes the transpose of a matrix in buffers, which were checked: turned_ptr, and the rows and values of set[0]. *same: 1 if it is the
 * matrix itself. End it with spmv__transpose_end once it was used.
 *   a              its rows, cols, type and nnz, which is not 0
 *   ptr, col, val  the buffers, with row pointers of ptr_bits bits */
SPMV__SHARED spmv_status spmv__transpose_make(spmv__transpose *job, spmv_device *device, const spmv_csr *a, void *ptr, int ptr_bits,
                                              void *col, void *val, int *same)
{
    const spmv__sorted given = { col, col, val }; /* the first pass reads no rows */
    int passes = 1, pass;
    spmv_status s, end;
    memset(job, 0, sizeof *job);
    job->device = device;
    job->a = a;
    job->ptr_bits = ptr_bits;
    job->ptr = ptr;
    job->given = given;
    if (a->nnz > UINT32_MAX)
        return spmv_log(&device->hooks, SPMV_ERR_LIMIT, "transpose: %llu nonzeros exceed 2^32 - 1", (spmv__ull)a->nnz);
    while ((a->cols - 1) >> passes * SPMV__DIGIT_BITS) passes++;
    s = spmv__transpose_room(job, passes);
    for (pass = 0; pass < passes && !s; pass++)
        s = spmv__transpose_pass(job, (uint64_t)pass * SPMV__DIGIT_BITS, pass ? &job->set[(passes - pass) % 2] : &job->given,
                                 &job->set[(passes - 1 - pass) % 2]);
    if (!s) {
        const spmv__dev_value number[4] = {
            spmv__number(a->cols), spmv__number(a->nnz), spmv__mem(job->set[0].col), spmv__mem(job->turned_ptr)
        };
        s = spmv__transpose_run(job, "begins", number, SPMV__COUNT_OF(number), a->cols + 1, 1);
    }
    if (!s) s = spmv__transpose_compare(job, same);
    end = device->info.backend->finish(device, device->queue); /* before the next matrix gets the buffers */
    if (!s) s = end;
    spmv__transpose_end(job, !s);
    return s;
}

#endif
