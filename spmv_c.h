/* SPDX-License-Identifier: MIT
 *
 * spmv_c.h - the library for other languages: functions with plain arguments, and no struct whose layout a caller must know.
 *
 * spmv_c.c is the other half; "make lib" compiles it to build/libspmv.so, which shows the names below and no others. Python's package is
 * made of it (python/); docs/platforms.md shows Fortran and Julia.
 *
 *     spmv_handle *a = spmv_new_csr(rows, cols, ptr, 32, col, 32, val, "f64", NULL, 0, NULL, 0);
 *     if (!a) puts(spmv_last_error());
 *     spmv_handle_mul(a, 0, 1.0, x, 0.0, y);
 *     spmv_delete(a);
 *
 * Functions that return an int return 0, or the number of an error of spmv_formats.h (SPMV_STATUS_LIST), whose reason spmv_last_error has.
 * What may run at the same time: docs/threads.md; a handle is a matrix there. Beside what the library remembers outside of objects there
 * are the last error of each thread and the devices that are open.
 */
#ifndef SPMV_C_H
#define SPMV_C_H

#include <stddef.h>
#include <stdint.h>

#ifndef SPMV_C_API
#define SPMV_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spmv_handle spmv_handle;

/* What a matrix can do, and how it is given: the sum of some of these, or 0. Their numbers do not change. */
enum {
    SPMV_WITH_BOTH      = 1,   /* products with the transpose as well (spmv_desc.both) */
    SPMV_WITH_UPDATE    = 2,   /* spmv_handle_update */
    SPMV_WITH_EXPLAIN   = 4,   /* spmv_handle_explain */
    SPMV_STRICT         = 8,   /* no format with fill (spmv_desc.strict) */
    SPMV_REPRODUCE      = 16,  /* spmv_desc.reproducible */
    SPMV_FROM_ONE       = 32,  /* pointers and indices count from 1 */
    SPMV_TRANSPOSE      = 64,  /* make the transpose of the matrix in the arrays */
    SPMV_HALF_SYMMETRIC = 128, /* the arrays hold one half of a symmetric matrix */
    SPMV_HALF_SKEW      = 256, /* or of a skew-symmetric one */
    SPMV_BY_COLUMNS     = 512, /* blocks of bsr are stored column by column */
    SPMV_ON_DEVICE      = 1024 /* the arrays lie on the device, which is of CUDA, in the form that spmv_desc.buffers wants: ptr, col and val
                                  are CUdeviceptr of the primary context, as from cudaMalloc. What is in its streams is waited for */
};

/* Prepares a matrix for products. The arrays are needed only during the call.
 *   rows, cols  of the matrix in the arrays
 *   ptr         rows + 1: where each row begins in col and val, and where the last one ends; integers of ptr_bits, 32 or 64
 *   col         columns; integers of col_bits
 *   val         floats where type is "f32" or "mixed", else doubles; NULL: every value is 1
 *   type        what products compute in: "f64", "f32" or "mixed" (float values, double vectors). NULL: in that of
 *               the values, "f64" here
 *   plan        how the matrix is stored, "auto", "measure" or "cocktail" (docs/plans.md). NULL: "auto", the library chooses
 *   threads     of preparing and of products on the host; 0: as many as OpenMP has. Without OpenMP there is one
 *   device      "host", or a device as spmv_device_desc.which names it: "gpu", "cuda:0", "opencl". Matrices with the same text share it.
 *               NULL: "host"
 *   flags       of the list above
 * NULL: it failed, and spmv_last_error says why. */
SPMV_C_API spmv_handle *spmv_new_csr(int64_t rows, int64_t cols, const void *ptr, int ptr_bits, const void *col, int col_bits,
                                     const void *val, const char *type, const char *plan, int threads, const char *device, unsigned flags);

/* The same from any form; what one does not have is 0 or NULL.
 *   form        "csr"; "csc", where ptr counts columns and row has the indices; "coo", row and col; "bsr", where ptr and col are of blocks
 *   nnz         coo: the number of entries. Else 0, or what the last pointer must be
 *   index_bits  of row and col
 *   val_bits    of a value, 32 or 64; 0: as type says, 64 without one
 *   block_rows, block_cols   bsr: of a block
 *   plan_transposed   of the transpose, with SPMV_WITH_BOTH. NULL: plan
 *   calls       products that are expected (spmv_build_hints.expected_calls); 0: the default
 *   vectors     how many each of them has most often (spmv_build_hints.vectors); 0: one */
SPMV_C_API spmv_handle *spmv_new(const char *form, int64_t rows, int64_t cols, int64_t nnz, const void *ptr, int ptr_bits,
                                 const void *row, const void *col, int index_bits, const void *val, int val_bits, int block_rows,
                                 int block_cols, const char *type, const char *plan, const char *plan_transposed, uint64_t calls,
                                 unsigned vectors, int threads, const char *device, unsigned flags);

/* Frees everything. NULL is ignored. */
SPMV_C_API void spmv_delete(spmv_handle *handle);

/* y = alpha A x + beta y; with transposed, y = alpha A^T x + beta y, for which it was made with SPMV_WITH_BOTH. x and y are in memory of
 * the host: floats where the type is "f32", else doubles. Otherwise as spmv_mul. */
SPMV_C_API int spmv_handle_mul(const spmv_handle *handle, int transposed, double alpha, const void *x, double beta, void *y);

/* The same for several vectors.
 *   count      how many
 *   by_rows    0: one after another, ldx and ldy elements from one to the next (columns of a matrix by columns, as in Fortran); 1: side by
 *              side, ldx and ldy elements from one element of a vector to the next (by rows, as in C)
 *   ldx, ldy   0: the least */
SPMV_C_API int spmv_handle_mul_many(const spmv_handle *handle, int transposed, uint64_t count, int by_rows, double alpha, const void *x,
                                    uint64_t ldx, double beta, void *y, uint64_t ldy);

/* The same for a matrix on a CUDA device and vectors that lie there, as x and y of spmv_cuda_mul do. The product is enqueued in a stream,
 * and is not waited for.
 *   x, y    CUdeviceptr of the device's primary context
 *   stream  CUstream; 1: CU_STREAM_LEGACY, 2: CU_STREAM_PER_THREAD; NULL: the library's own. What products there need is made before the
 *           first and kept until handle is deleted
 * Threads may multiply at once in different streams. */
SPMV_C_API int spmv_handle_mul_buffers(spmv_handle *handle, int transposed, uint64_t count, int by_rows, double alpha, const void *x,
                                       uint64_t ldx, double beta, void *y, uint64_t ldy, void *stream);

/* Replaces the values, of which there are as many as were given, in their order; _buffer: by those at a CUdeviceptr. No other call may
 * use handle meanwhile; products in streams are waited for. */
SPMV_C_API int spmv_handle_update(spmv_handle *handle, const void *val);
SPMV_C_API int spmv_handle_update_buffer(spmv_handle *handle, void *val);

/* Sets the number of threads of what follows, as spmv_new_csr does. No other call may use handle meanwhile. */
SPMV_C_API int spmv_handle_set_threads(spmv_handle *handle, int threads);

/* Rows, columns and nonzeros of A, and the bytes that a product reads. 0 for NULL. */
SPMV_C_API uint64_t spmv_handle_rows(const spmv_handle *handle);
SPMV_C_API uint64_t spmv_handle_cols(const spmv_handle *handle);
SPMV_C_API uint64_t spmv_handle_nnz(const spmv_handle *handle);
SPMV_C_API uint64_t spmv_handle_bytes(const spmv_handle *handle);

/* The plan of A or of its transpose as text, and why it was chosen (SPMV_WITH_EXPLAIN). As snprintf does, they write at most size bytes, a
 * 0 at the end included, and return the length of the whole text. */
SPMV_C_API size_t spmv_handle_plan(const spmv_handle *handle, int transposed, char *out, size_t size);
SPMV_C_API size_t spmv_handle_explain(const spmv_handle *handle, char *out, size_t size);

/* Why the latest call that failed in this thread did, and its number. The text stays until the next one fails; "" and 0: none has. */
SPMV_C_API const char *spmv_last_error(void);
SPMV_C_API int spmv_last_status(void);

/* The version of the library, such as "0.1.0", and the name of an error, such as "SPMV_ERR_INDEX". */
SPMV_C_API const char *spmv_library_version(void);
SPMV_C_API const char *spmv_error_name(int status);

#ifdef __cplusplus
}
#endif
#endif
