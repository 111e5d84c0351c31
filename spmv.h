/* SPDX-License-Identifier: MIT
 *
 * spmv.h - sparse matrix times vector, y = alpha A x + beta y, on the host CPU, on any OpenCL 1.2 device and on NVIDIA's GPUs by CUDA.
 *
 * Put this into exactly one C file:
 *
 *     #define SPMV_IMPLEMENTATION
 *     #include "spmv.h"
 *
 * and only include it elsewhere. OpenCL and CUDA are loaded at run time, where they are; SPMV_NO_OPENCL and SPMV_NO_CUDA leave one
 * out, and SPMV_NO_DEVICES both: products run on the host alone. SPMV_NO_AUTO leaves out the choice of a plan and its tuning tables.
 * spmv_formats.h lists all configuration macros.
 *
 *     spmv_desc d = {0};                                        // zero means default everywhere
 *     d.matrix = spmv_csr_f64(rows, cols, ptr, col, val);       // int and double arrays; spmv_csr_f32: floats
 *     spmv_matrix a;
 *     if (spmv_create(&a, &d) != SPMV_OK) ...                   // the reason is on stderr, or in your log callback
 *     spmv_mul_f64(&a, 1.0, x, 0.0, y);                         // y = A x
 *     spmv_destroy(&a);
 *
 * The interface comes in three tiers. Most programs need only the first:
 *     start here   spmv_desc, spmv_create, spmv_mul, spmv_destroy; spmv_csr_f64 and spmv_input describe a matrix (spmv_formats.h)
 *     more         new values, OpenCL devices, questions about a matrix
 *     for tools    the members of spmv_matrix and what the choice needs to know of a device
 * Below it are spmv_io.h (files), spmv/plan.h (plans), spmv/choice.h (the choice), spmv/device.h (devices, your own vectors and queues).
 *
 * Versions: 0.1.0 (2026-11) is the first.
 *
 * If you only want the interface, stop at "END OF THE INTERFACE".
 */
/* Which back ends are compiled in: SPMV_NO_OPENCL and SPMV_NO_CUDA leave one out, SPMV_NO_DEVICES both. CUDA exists on Linux and Windows
 * only. */
#if defined(SPMV_NO_DEVICES) && !defined(SPMV_NO_OPENCL)
#  define SPMV_NO_OPENCL
#endif
#if !defined(SPMV_NO_CUDA) && (defined(SPMV_NO_DEVICES) || !(defined(__linux__) || defined(_WIN32)))
#  define SPMV_NO_CUDA
#endif
#if defined(SPMV_NO_OPENCL) && defined(SPMV_NO_CUDA) && !defined(SPMV_NO_DEVICES)
#  define SPMV_NO_DEVICES
#endif
/* (end of: which back ends) */
#include "spmv_formats.h"
#if defined(SPMV_ONLY) && !defined(SPMV_NO_AUTO) && !((SPMV_ONLY) & ((SPMV_ONLY) - 1))
#  define SPMV_NO_AUTO /* one format: there is nothing to choose */
#endif
#include "spmv/plan.h"
#ifndef SPMV_NO_DEVICES
#include "spmv/device.h"
#endif
#ifndef SPMV_NO_AUTO
#include "spmv/choice.h"
#endif
#ifdef SPMV_IMPLEMENTATION
#include "spmv/plan/builders.h"
#include "spmv/plan/saved.h"
#ifndef SPMV_NO_AUTO
#include "spmv/choice/auto.h"
#endif
#ifdef SPMV_DEVICE_H /* or by the caller, with a back end of their own */
#include "spmv/device/load.h"
#include "spmv/device/convert.h"
#endif
#endif
#ifndef SPMV_NO_OPENCL
#include "spmv_cl.h"
#endif
#ifndef SPMV_NO_CUDA
#include "spmv_cuda.h"
#endif
#ifndef SPMV_H
#define SPMV_H

#define SPMV_VERSION_MAJOR 0
#define SPMV_VERSION_MINOR 1
#define SPMV_VERSION_PATCH 0
#define SPMV_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- start here --------------------------------------------------------------------------------------------------- */

#ifndef SPMV_DEVICE_H
typedef struct spmv_device spmv_device; /* never defined: without a back end a device can only be NULL, the host */
#endif
typedef struct spmv_matrix spmv_matrix; /* a prepared matrix; see "for tools" for its members */

/* Where the arrays of a matrix on a device are filled. */
typedef enum spmv_conversion {
    SPMV_CONVERT_DEFAULT = 0, /* on the device if that is expected to be faster: on GPUs and accelerators with memory of their own, once
                                 compiling the kernels for it pays (spmv/device.h) */
    SPMV_CONVERT_ON_HOST,
    SPMV_CONVERT_ON_DEVICE    /* if it can fill the part (spmv/device.h), else on the host */
} spmv_conversion;

/* What spmv_create makes a matrix from. Zero-initialise it, then set what applies: zero is a valid default for every member but
 * matrix, whose defaults spmv_input describes. spmv_create copies what it needs; the comments say what must outlive the matrix. */
typedef struct spmv_desc {
    spmv_input      matrix;  /* the matrix in the caller's form: sizes, arrays, symmetry (spmv_formats.h) */
    const spmv_csr *csr;     /* or one that spmv_csr_create or a reader made, which must outlive the spmv_matrix unless it is transposed.
                                Of matrix, only transpose may then be set, else SPMV_ERR_ARGUMENT. The type of its values must fit type.
                                NULL: matrix is used */
    spmv_type       type;    /* the type that products compute in; zero: that of the values given, by matrix.val_type or csr->type, and f64
                                if neither says so. Values of another type are converted */
    const char     *plan;    /* a plan or a builder as text (spmv/plan.h), "auto", "measure" or "cocktail" (spmv/choice.h). NULL: "auto",
                                the library chooses; but "csr" with reproducible, since a choice differs from device to device, and with
                                SPMV_NO_AUTO, where these three are refused with SPMV_ERR_UNSUPPORTED. "measure" goes by estimates alone,
                                as "auto" does, where a clock tells nothing: products that take no longer than their launch, a queue that
                                does not measure time, a variant that is given */
    spmv_device    *device;  /* where products run; it must outlive the matrix. NULL: on the host */
    const char     *variant; /* knobs of the device's kernels, part by part as in the plan: "WG=256,NT=1+L=8", or "*:WG=256" for all parts
                                (spmv_variants_parse of spmv/device.h). NULL: those that the choice found, else the defaults. Ignored on
                                the host */
    spmv_conversion convert; /* where the arrays are filled; ignored on the host */
    int             buffers; /* 1: matrix.ptr, col and val are buffers of device (cl_mem, CUdeviceptr), and the matrix is CSR as it is
                                stored: zero-based, columns of 32 bits rising within each row, values of the type stored; anything else is
                                refused with SPMV_ERR_UNSUPPORTED, and one that is too small with SPMV_ERR_ARGUMENT. They must outlive the
                                matrix if it is updatable. The device checks them. With a plan of one part of ell, sell, bell, sbell, bcsr
                                or tcsr with no keys but b, h, tile, and idx of tcsr, all three stay there; other plans need ptr on the
                                host. They need col, too, if a part is of blocks with d; for idx=16 of tcsr that does not take all rows and
                                nonzeros, and of csr with rows over four times as long as run; and for dia and bdia if the matrix has many
                                more rows and columns than nonzeros. So do "cocktail" and a device that does not convert. "auto" has the
                                host look at the matrix, which takes some milliseconds, only if hints.expected_calls products may save that
                                much on a GPU; else it takes tcsr or sell. Parts that the host fills, such as cmrs with sort, need all
                                three. csr must be NULL */
    int             strict;  /* 1: use no format that multiplies fill by x (SPMV_HAS_FILL), so that Inf and NaN in x stay in
                                the rows that use them */
    int             updatable;    /* 1: allow spmv_update; costs 4 or 8 bytes for each stored slot */
    int             reproducible; /* 1: the same bits of y on the host and on every OpenCL device (SPMV_REPEATS in spmv_formats.h), with
                                plans of csr, dia, bdia, ell, sell, bell, sbell and bcsr. On the host it needs SPMV_REPRODUCIBLE */
    spmv_simd       simd;         /* on the host, the level of vector instructions (spmv_formats.h), SPMV_ERR_UNSUPPORTED if it is not
                                usable. Zero: the best one */
    uint64_t        max_bytes;    /* refuse a part that takes more bytes; 0: 16 times the CSR form plus 16 MiB */
    const spmv_build_hints *hints; /* for builders and the choice (spmv/plan.h); needed only during the call. NULL: none */
    int             both;    /* 1: allow spmv_mul_transposed as well. The transpose is prepared as a matrix of its own, with the plan that
                                suits it and the same members of this description but for the next three, and takes as much memory again;
                                with updatable 16 bytes for each nonzero besides, and its CSR form. Nothing is stored twice where it is the
                                matrix itself: where matrix.symmetry says so or, without updatable, where every entry has its mirror image.
                                It is made on the host, to which buffers are copied for that; but of buffers on the device if that converts
                                and updatable is 0, as a matrix that is in buffers itself */
    const char     *plan_transposed, *variant_transposed; /* as plan and variant, for the transpose. Both NULL: it is given those */
    const spmv_build_hints *hints_transposed; /* NULL: hints, but for measure, choice and steps, which are of the matrix itself */
    spmv_hooks      hooks;   /* where memory comes from and where messages go; zero: the C library and stderr */
} spmv_desc;

/* Prepares a matrix for products: checks the input, finds or reads the plan, converts, and on a device uploads the arrays and builds the
 * kernels.
 *   matrix  need not be initialised. On failure it is zeroed and a message says why. Destroy it with spmv_destroy
 *   desc    the description, needed only during the call, except for what must outlive the matrix as said there
 * A plan given as text is used as it is: nothing is compared and no tuning table is read. "csr" on the host with matrix.borrow, where
 * the caller's arrays already have the needed form, allocates only one spmv_part with its spmv_spec, and row pointers; spmv_create,
 * spmv_mul and spmv_destroy then use less than 1 KB of stack in an optimised build. */
SPMV_API spmv_status spmv_create(spmv_matrix *matrix, const spmv_desc *desc);

/* y = alpha A x + beta y with vectors in host memory, whose elements have the vector type of desc->type: floats for f32, else doubles.
 *   matrix       a matrix from spmv_create; one that is zeroed, because its creation failed or it was destroyed, is refused with
 *                SPMV_ERR_ARGUMENT
 *   alpha, beta  with beta 0, y is not read; with alpha 0, neither is x
 *   x            spmv_cols(matrix) elements; may be NULL if there are none, or if alpha is 0
 *   y            spmv_rows(matrix) elements; may be NULL if there are none. Where x is read and overlaps y: SPMV_ERR_ARGUMENT
 * On the host only y is written, so any number of threads may use one matrix at a time. On a device the call waits for the result and
 * uses the matrix's own exec: while one thread is in it, any other gets SPMV_ERR_BUSY and its y is left as it was. For products in
 * several threads at once, or on vectors that stay on the device, make an spmv_exec for each thread (spmv/device.h). */
SPMV_API spmv_status spmv_mul(const spmv_matrix *matrix, double alpha, const void *x, double beta, void *y);

/* The same with the type of the vectors checked: by the compiler, and against that of the matrix (SPMV_ERR_ARGUMENT). Vectors of doubles
 * fit f64 and mixed. */
SPMV_API spmv_status spmv_mul_f64(const spmv_matrix *matrix, double alpha, const double *x, double beta, double *y);
SPMV_API spmv_status spmv_mul_f32(const spmv_matrix *matrix, double alpha, const float *x, double beta, float *y);

/* The same with the transpose of a matrix made with both, else SPMV_ERR_ARGUMENT: x has spmv_rows(matrix) elements, y spmv_cols(matrix). */
SPMV_API spmv_status spmv_mul_transposed(const spmv_matrix *matrix, double alpha, const void *x, double beta, void *y);

/* The same for several vectors at once, Y = alpha A X + beta Y: the matrix is read less often. Every vector gets the bits that spmv_mul
 * gives it. For the transpose: spmv_transposed.
 *   count, order  how many vectors, and how those of X and those of Y lie in memory; with count 0 nothing is done
 *   ldx, ldy      elements from one vector of X, of Y, to the next or, side by side, from one element of a vector to the next; 0: the
 *                 least, spmv_cols and spmv_rows or, side by side, count. What lies between the vectors of Y is left alone
 * Where an element of X that is read is one of Y, or X and Y lie within one another and ldx is not ldy: SPMV_ERR_ARGUMENT. Vectors that
 * must be copied need memory for up to 16 of X and 8 of Y (SPMV_ERR_MEMORY); none does with csr and 16 or more side by side on the host,
 * where 8 side by side are fastest. After a fault of a device all of Y is undefined. */
SPMV_API spmv_status spmv_mul_many(const spmv_matrix *matrix, uint64_t count, spmv_arrangement order, double alpha, const void *x,
                                   uint64_t ldx, double beta, void *y, uint64_t ldy);

/* spmv_mul, then what tail says (spmv_formats.h), on the host. SPMV_ERR_ARGUMENT, before anything is written, if that cannot be done. With
 * alpha 0 x is still read where a sum needs it. For the transpose: spmv_transposed. */
SPMV_API spmv_status spmv_mul_tail(const spmv_matrix *matrix, double alpha, const void *x, double beta, void *y, const spmv_tail *tail);

/* Frees everything and zeroes *matrix. It cannot fail; a zeroed matrix or NULL is ignored. */
SPMV_API void spmv_destroy(spmv_matrix *matrix);

/* ---- more --------------------------------------------------------------------------------------------------------- */

/* The transpose of a matrix made with both: for its plan, bytes and execs, for spmv_mul_f64 and the like. It belongs to matrix, and is
 * matrix itself if that is its own transpose. NULL: there is none. */
SPMV_API const spmv_matrix *spmv_transposed(const spmv_matrix *matrix);

/* Replaces the values, also of the transpose if there is one; the pattern stays. If it is refused for the values (SPMV_ERR_FIXED,
 * SPMV_ERR_ARGUMENT), both keep theirs. No other call may use matrix meanwhile; what may use its device: spmv/device.h.
 *   matrix  a matrix that was made with updatable, else SPMV_ERR_FIXED; a zeroed one is refused as by spmv_mul
 *   val     the new values, as in desc->matrix.val; or, if the matrix was made from desc->csr, that CSR's values in its order. Not NULL
 *           unless the matrix has no nonzeros */
SPMV_API spmv_status spmv_update(spmv_matrix *matrix, const void *val);

#ifdef SPMV_DEVICE_H
/* As spmv_update, with the values in a buffer of the matrix's device. They do not leave it if the device filled all parts, the matrix
 * was made from CSR as it is stored (as spmv_desc.buffers describes), and no transpose is to be updated. SPMV_ERR_ARGUMENT if the matrix
 * is on the host or the buffer is too small. */
SPMV_API spmv_status spmv_update_buffer(spmv_matrix *matrix, void *val);

/* Describes the devices of all back ends in this build, in the order of their index (spmv/device.h).
 *   out    room for max descriptions; may be NULL if max is 0
 *   count  becomes the number of devices, which may be larger than max
 *   hooks  may be NULL */
SPMV_API spmv_status spmv_device_list(spmv_device_info *out, size_t max, size_t *count, const spmv_hooks *hooks);
/* Makes one of them ready for matrices, as desc says; desc may be NULL for the defaults. SPMV_ERR_NO_DEVICE. */
SPMV_API spmv_status spmv_device_create(spmv_device *out, const spmv_device_desc *desc);
#endif

/* Rows, columns and stored entries of the matrix that products use: after transposing, mirroring a half and summing duplicates.
 * Explicit zeros count, the fill of a format does not. 0 for NULL and for a zeroed matrix. */
SPMV_API uint64_t spmv_rows(const spmv_matrix *matrix);
SPMV_API uint64_t spmv_cols(const spmv_matrix *matrix);
SPMV_API uint64_t spmv_nnz(const spmv_matrix *matrix);

/* Write the plan in use as text, such as "ell:w=3+coo", which may be desc.plan the next time, and its shares of the nonzeros, such as
 * "ELL(81%)COO(19%)"; both as spmv_plan_print does, and "" for NULL. The bytes of the matrix that one product reads. */
SPMV_API size_t spmv_plan_of(const spmv_matrix *matrix, char *out, size_t size);
SPMV_API size_t spmv_shares(const spmv_matrix *matrix, char *out, size_t size);
SPMV_API uint64_t spmv_bytes(const spmv_matrix *matrix);

/* ---- more: prepared matrices as bytes --------------------------------------------------------------------------------
 * A matrix that is prepared for the host can be kept as bytes, in a file or in the flash memory of a small machine, and used where they
 * lie, without converting anything: the same plan and, with the same simd, the same bits of y. The bytes are for machines of the same
 * byte order and for this version of the library. */

/* Writes the prepared matrix; not its transpose, which spmv_transposed gives, and nothing that spmv_update needs.
 *   matrix  on the host, without formats of the user's own, else SPMV_ERR_UNSUPPORTED
 *   out     room for size bytes; NULL: only *bytes is set
 *   bytes   becomes how many there are, a multiple of 64. SPMV_ERR_ARGUMENT if size is less */
SPMV_API spmv_status spmv_save(const spmv_matrix *matrix, void *out, size_t size, size_t *bytes);
/* 1 if the data begin as a saved matrix does; 8 bytes are enough to tell. */
SPMV_API int spmv_saved_is(const void *data, size_t bytes);

/* Makes a prepared matrix of such bytes. The size, the checksum and every index are checked, so that products with a matrix from a file of
 * strangers read and write nothing outside of it, of x and of y. SPMV_ERR_PARSE and SPMV_ERR_INDEX if they are damaged,
 * SPMV_ERR_UNSUPPORTED for another byte order, version or build.
 *   matrix  as for spmv_create
 *   bytes   n bytes at a multiple of 8 (of 64: arrays begin at cache lines)
 *   desc    where it goes: device, variant, simd and hooks, and type to be compared; other members are not used, and updatable and both
 *           are refused with SPMV_ERR_UNSUPPORTED. On the host, matrix.borrow uses the bytes in place, which must outlive the matrix; else
 *           they are copied */
SPMV_API spmv_status spmv_load(spmv_matrix *matrix, const void *bytes, size_t n, const spmv_desc *desc);

/* Words of uint64_t that spmv_use needs for a matrix whose plan has so many parts. */
#define SPMV_USE_ROOM(parts) (((parts) * (sizeof(spmv_part) + sizeof(spmv_spec)) + 7) / 8)
/* As spmv_load with matrix.borrow, on the host, without allocating memory: not by a product either, except spmv_mul_many of vectors that
 * it must copy, which is refused with SPMV_ERR_MEMORY.
 *   room    size bytes at a multiple of 8, SPMV_USE_ROOM(parts) words; it must outlive the matrix. SPMV_ERR_ARGUMENT if that is too little
 *   hooks   may be NULL; only log is used */
SPMV_API spmv_status spmv_use(spmv_matrix *matrix, const void *bytes, size_t n, void *room, size_t size, const spmv_hooks *hooks);

/* ---- for tools ---------------------------------------------------------------------------------------------------- */

/* Members are private except on_device, from which spmv_exec_create makes execs of your own. A zeroed matrix may be destroyed, and
 * a matrix may be moved in memory. The struct is the same with and without back ends, so that units of both kinds can be linked. */
struct spmv_matrix {
    spmv_store      store;  /* on a device without updates it keeps the sizes only; the arrays are freed */
    spmv_csr        own;    /* the CSR form, kept where parts borrow it or updates need it */
    int             updatable, borrowed_csr; /* borrowed_csr: made from desc->csr as it is or from buffers */
    spmv_device    *device; /* NULL: products run on the host, and the next two are NULL */
    struct spmv_device_matrix *on_device;
    struct spmv_exec *exec; /* for spmv_mul; the only member that products change */
    spmv_converter *converter; /* updatable: what replaces the values of parts that the device filled; NULL: there are none */
    int             both;       /* 1: made with both */
    spmv_matrix    *transposed; /* NULL with both: it is its own transpose */
};

#if defined(SPMV_DEVICE_H) && !defined(SPMV_NO_AUTO)
/* What spmv_choose needs to know of a device, its name and class; NULL: of the host. The name lives as long as the device. */
SPMV_API spmv_target spmv_target_of(const spmv_device *device);
#endif

#ifdef __cplusplus
}
#endif
#endif /* SPMV_H */

#if defined(SPMV_IMPLEMENTATION) && !defined(SPMV_IMPLEMENTED)
#define SPMV_IMPLEMENTED

static spmv_status spmv__plan_and_store(spmv_matrix *matrix, const spmv_desc *desc, const spmv_csr *csr, const spmv_build *how,
                                        spmv_format only);
SPMV__APART spmv_status spmv__make_transposed(spmv_matrix *matrix, const spmv_desc *desc, const spmv_csr *csr, const spmv_input *turned);

/* The plan of the description, or what stands for it, as text: in a build without the choice csr or, if that was left out, the first format
 * that was not. */
static const char *spmv__plan_text(const spmv_desc *desc)
{
#ifdef SPMV_NO_AUTO
    int f = SPMV_CSR, first = 0;
    while (!spmv__table[f].size && first < (int)SPMV_FORMAT_COUNT) f = first++;
    return desc->plan ? desc->plan : spmv_format_name((spmv_format)f);
#else
    return desc->plan ? desc->plan : desc->reproducible ? "csr" : "auto";
#endif
}

/* The type that products compute in. */
static spmv_type spmv__desc_type(const spmv_desc *desc)
{
    if (desc->type) return desc->type;
    return (desc->csr ? desc->csr->type : desc->matrix.val_type) == SPMV_F32 ? SPMV_F32 : SPMV_F64;
}

/* Frees the arrays on the host, which are not needed once the parts are on a device. Sizes stay. */
static void spmv__release_arrays(spmv_store *store)
{
    int i, j;
    for (i = 0; i < store->count; i++) {
        spmv_part *p = &store->part[i];
        for (j = 0; j < SPMV_MAX_ARRAYS; j++) {
            if (!p->a[j].borrowed) spmv_free(&store->hooks, p->a[j].data);
            p->a[j].data = NULL;
        }
    }
}

#ifndef SPMV_DEVICE_H
static spmv_status spmv__to_device(spmv_matrix *matrix, const spmv_desc *desc, const char *variant)
{
    (void)matrix;
    (void)variant;
    (void)spmv__release_arrays;
    (void)desc;
    return SPMV_OK;
}

static void spmv__off_device(spmv_matrix *matrix) { (void)matrix; }
static void spmv__destroy_converter(spmv_matrix *matrix) { (void)matrix; }

static spmv_status spmv__take_buffers(spmv_matrix *matrix, const spmv_desc *desc, spmv_format *only)
{
    (void)matrix;
    (void)only;
    return spmv_log(&desc->hooks, SPMV_ERR_UNSUPPORTED, "buffers: this build has no devices");
}

#define spmv__transpose_buffers(matrix, desc) SPMV_OK

/* Products run on the host, and so does the conversion. */
static spmv_status spmv__plan_and_convert(spmv_matrix *matrix, const spmv_desc *desc, const spmv_csr *csr, spmv_build *how,
                                          spmv_format only)
{
    return spmv__plan_and_store(matrix, desc, csr, how, only);
}
#else
#include "spmv/device/buffers.h"
#endif

/* Stores the matrix by a valid plan. */
static spmv_status spmv__store_valid(spmv_matrix *matrix, const spmv_desc *desc, const spmv_csr *csr, const spmv_build *how,
                                     const spmv_spec *plan, int count)
{
    spmv_status s;
    spmv__phase(&desc->hooks, SPMV_PHASE_CONVERT);
    matrix->store.hooks = desc->hooks;
    s = spmv__store_by_plan(&matrix->store, plan, count, csr, how);
    return s || !desc->device ? s : spmv__to_device(matrix, desc, desc->variant);
}

/* Stores the matrix by a builder, or a plan of several parts, given as text. */
SPMV__APART spmv_status spmv__store_built(spmv_matrix *matrix, const spmv_desc *desc, const spmv_csr *csr, const spmv_build *how,
                                          const char *text)
{
    void *block;
    spmv_status s = spmv__new(&desc->hooks, &block, 1, sizeof(spmv_plan), 0); /* large */
    spmv_plan *plan = (spmv_plan *)block;
    if (!s) s = spmv_plan_make(plan, text, csr, desc->hints, NULL, &desc->hooks);
    if (!s) s = spmv__plan_check(plan, desc->strict, &desc->hooks);
    if (!s) s = spmv__store_valid(matrix, desc, csr, how, plan->part, plan->count);
    spmv_free(&desc->hooks, block);
    return s;
}

/* Stores the matrix by a plan or a builder given as text, or without keys in the format only, unless that is SPMV_FORMAT_COUNT. A plan of
 * one part is made where it will stay, so that tiny matrices need little stack. */
static spmv_status spmv__store_given(spmv_matrix *matrix, const spmv_desc *desc, const spmv_csr *csr, const spmv_build *how,
                                     const char *text, spmv_format only)
{
    spmv_store *store = &matrix->store;
    spmv_status s;
    spmv__phase(&desc->hooks, SPMV_PHASE_CHOICE);
    if (only == SPMV_FORMAT_COUNT && !spmv__is_one_part(text)) return spmv__store_built(matrix, desc, csr, how, text);
    store->hooks = desc->hooks;
    s = spmv__store_room(store, 1, csr->nnz != 0);
    if (s) return s;
    if (only == SPMV_FORMAT_COUNT) s = spmv__parse_one_part(store->plan, text, &desc->hooks);
    else store->plan->format = only;
    if (!s && desc->strict) s = spmv__strict_check(store->plan, 0, &desc->hooks);
    return s ? s : spmv__store_valid(matrix, desc, csr, how, store->plan, 1);
}

#ifdef SPMV_NO_AUTO
static spmv_status spmv__plan_and_store(spmv_matrix *matrix, const spmv_desc *desc, const spmv_csr *csr, const spmv_build *how,
                                        spmv_format only)
{
    if (desc->plan && (spmv__is_name(desc->plan, "auto") || spmv__is_name(desc->plan, "measure") || spmv__is_name(desc->plan, "cocktail")))
        return spmv_log(&desc->hooks, SPMV_ERR_UNSUPPORTED, "plan \"%s\": the choice was left out of this build (SPMV_NO_AUTO)",
                        desc->plan);
    return spmv__store_given(matrix, desc, csr, how, spmv__plan_text(desc), only);
}
#else
#include "spmv/choice/measure.h"
#endif

/* The member of an input that is set, but for transpose; NULL: none is. */
static const char *spmv__member_set(const spmv_input *in)
{
    return in->rows ? "rows" : in->cols ? "cols" : in->nnz ? "nnz" : in->ptr ? "ptr" : in->row ? "row" : in->col ? "col"
         : in->val ? "val" : in->form ? "form" : in->ptr_bits ? "ptr_bits" : in->index_bits ? "index_bits" : in->base ? "base"
         : in->val_type ? "val_type" : in->block_rows ? "block_rows" : in->block_cols ? "block_cols"
         : in->block_by_columns ? "block_by_columns" : in->symmetry ? "symmetry" : in->duplicates ? "duplicates"
         : in->drop_zeros ? "drop_zeros" : in->borrow ? "borrow" : in->updatable ? "updatable" : NULL;
}

/* Makes the CSR form of the matrix in the description: own; *csr becomes own, or the caller's, which is checked, if it is used as it is.
 * Without updates, few plans need the form after the call, so arrays are borrowed for that long: a copy would take as long as some
 * products, and as much memory as the matrix. */
SPMV__APART spmv_status spmv__take_input(const spmv_csr **csr, spmv_csr *own, const spmv_desc *desc)
{
    const spmv_csr *a = desc->csr;
    const spmv_type type = spmv__desc_type(desc);
    const char *set = a ? spmv__member_set(&desc->matrix) : NULL;
    spmv_input in = desc->matrix;
    if (set) return spmv_log(&desc->hooks, SPMV_ERR_ARGUMENT, "desc.csr: only transpose of desc.matrix may be set beside it, not %s", set);
    if (a && spmv_value_size(a->type) != spmv_value_size(type))
        return spmv_log(&desc->hooks, SPMV_ERR_ARGUMENT, "desc.csr holds %s values, which do not fit type %s", spmv_type_name(a->type),
                        spmv_type_name(type));
    *csr = a && !in.transpose ? a : own;
    if (a) {
        const spmv_status s = spmv__csr_there(&desc->hooks, "desc.csr", a);
        if (s || *csr == a) return s;
        in.nnz = (int64_t)a->nnz;
        in.rows = (int64_t)a->rows;
        in.cols = (int64_t)a->cols;
        in.ptr = a->ptr;
        in.ptr_bits = 64;
        in.col = a->col;
        in.val = a->val;
        in.val_type = a->type;
    }
    if (!in.val_type) in.val_type = spmv__stored_type(type);
    in.updatable = desc->updatable;
    if (!desc->updatable) in.borrow = 1;
    return spmv_csr_create(own, &in, type, &desc->hooks);
}

/* Lets the arrays of parts that are borrowed from one place point to another; NULL: only counts them. Returns how many there are. */
static int spmv__point_to(spmv_store *store, const void *from, void *to)
{
    int i, j, n = 0;
    for (i = 0; i < store->count; i++)
        for (j = 0; j < SPMV_MAX_ARRAYS; j++) {
            spmv_array *array = &store->part[i].a[j];
            if (!array->borrowed || array->data != from) continue;
            if (to) array->data = to;
            n++;
        }
    return n;
}

/* Makes *array, of matrix->own, a copy of the caller's, unless it is one or no part points into it. bit: of spmv_csr.owned. */
static spmv_status spmv__own_array(spmv_matrix *matrix, const void **array, unsigned bit, uint64_t width)
{
    const void *lent = *array;
    void *copy = NULL;
    spmv_status s = SPMV_OK;
    if (matrix->own.owned & bit) return SPMV_OK;
    if (lent && spmv__point_to(&matrix->store, lent, NULL)) s = spmv__room(&matrix->own.hooks, &copy, matrix->own.nnz, width);
    *array = copy;
    if (!copy) return s;
    memcpy(copy, lent, (size_t)(matrix->own.nnz * width));
    (void)spmv__point_to(&matrix->store, lent, copy);
    matrix->own.owned |= bit;
    return SPMV_OK;
}

/* Copies those arrays of the caller that parts point into, unless they were given for longer than the call. */
SPMV__APART spmv_status spmv__keep_lent(spmv_matrix *matrix, const spmv_desc *desc)
{
    const void *col = matrix->own.col, *val = matrix->own.val;
    spmv_status s;
    if (desc->csr || desc->buffers || desc->device || desc->updatable || desc->matrix.borrow) return SPMV_OK;
    s = spmv__own_array(matrix, &col, 2u, sizeof *matrix->own.col);
    matrix->own.col = (const uint32_t *)col;
    if (!s) s = spmv__own_array(matrix, &val, 4u, spmv_value_size(matrix->own.type));
    matrix->own.val = val;
    return s;
}

/* Frees what is not needed of the CSR form once the matrix is stored: all of it, or all but what parts point into. */
static void spmv__release_csr(spmv_matrix *matrix)
{
    const spmv_csr *own = &matrix->own;
    if ((!own->val || !spmv__point_to(&matrix->store, own->val, NULL)) && (!own->col || !spmv__point_to(&matrix->store, own->col, NULL))) {
        spmv_csr_destroy(&matrix->own);
        return;
    }
    if (matrix->own.owned & 1u)
        spmv_free(&matrix->own.hooks, (void *)(uintptr_t)matrix->own.ptr); /* parts have row pointers of their own */
    matrix->own.owned &= ~1u;
    matrix->own.ptr = NULL;
}

/* 1 if the matrix is its own transpose and remains so. */
static int spmv__stays_symmetric(const spmv_desc *desc, const spmv_csr *csr)
{
    if (!desc->csr && desc->matrix.symmetry == SPMV_SYMMETRIC) return 1;
    return !desc->updatable && spmv__is_symmetric(csr);
}

/* Sets the plan and the like of the transpose. */
static void spmv__describe_transposed(spmv_desc *of, const spmv_desc *desc)
{
    if (desc->hints_transposed) of->hints = desc->hints_transposed;
    if (desc->plan_transposed) of->plan = desc->plan_transposed;
    if (desc->plan_transposed || desc->variant_transposed) of->variant = desc->variant_transposed;
    of->hooks.transposed = 1;
}

/* Makes the transpose of csr a matrix of its own, unless it is csr. Without csr, turned is the transpose, in buffers. */
SPMV__APART spmv_status spmv__make_transposed(spmv_matrix *matrix, const spmv_desc *desc, const spmv_csr *csr, const spmv_input *turned)
{
    spmv_desc of = *desc;
    spmv_build_hints hints;
    void *block;
    spmv_status s;
    if (csr && spmv__stays_symmetric(desc, csr)) return SPMV_OK;
    memset(&hints, 0, sizeof hints);
    if (desc->hints) hints = *desc->hints;
    hints.measure = NULL;
    hints.choice = NULL;
    hints.steps = NULL;
    memset(&of.matrix, 0, sizeof of.matrix);
    of.matrix.transpose = 1;
    if (turned) of.matrix = *turned;
    of.csr = csr;
    of.type = spmv__desc_type(desc);
    of.buffers = turned != NULL;
    of.both = 0;
    if (desc->hints) of.hints = &hints;
    spmv__describe_transposed(&of, desc);
    s = spmv__new(&desc->hooks, &block, 1, sizeof *matrix, 0);
    if (s) return s;
    s = spmv_create((spmv_matrix *)block, &of);
    if (s) spmv_free(&desc->hooks, block);
    else matrix->transposed = (spmv_matrix *)block;
    return s;
}

/* Refuses a device that cannot be used in this process or build. */
static spmv_status spmv__device_here(const spmv_desc *desc, const char *function)
{
#ifndef SPMV_DEVICE_H
    (void)function;
    if (desc->device) return spmv_log(&desc->hooks, SPMV_ERR_UNSUPPORTED, "a device was given, but this build has no OpenCL");
#else
    if (desc->device && !spmv__dev_is_here(desc->device)) return spmv__dev_not_here(desc->device, function, NULL, 0);
#endif
    return SPMV_OK;
}

/* SPMV_ERR_UNSUPPORTED if this build has no reproducible products on the host. */
static spmv_status spmv__host_repeats(int reproducible, const spmv_hooks *hooks)
{
#ifndef SPMV_REPRODUCIBLE
    if (reproducible)
        return spmv_log(hooks, SPMV_ERR_UNSUPPORTED, "reproducible products on the host need a build with SPMV_REPRODUCIBLE");
#endif
    (void)reproducible;
    (void)hooks;
    return SPMV_OK;
}

SPMV_API spmv_status spmv_create(spmv_matrix *matrix, const spmv_desc *desc)
{
    if (!matrix || !desc) return spmv__null(desc ? &desc->hooks : NULL, "spmv_create", !matrix ? "matrix" : "desc", matrix, sizeof *matrix);
    const spmv_csr *csr = &matrix->own;
    spmv_format only = SPMV_FORMAT_COUNT; /* how a matrix is stored that is not worth a choice; SPMV_FORMAT_COUNT: not yet known */
    spmv_build how;
    spmv_status s;
    memset(matrix, 0, sizeof *matrix);
    memset(&how, 0, sizeof how);
#ifndef SPMV_NO_AUTO
    if (desc->hints && desc->hints->choice) memset(desc->hints->choice, 0, sizeof *desc->hints->choice);
#endif
    matrix->updatable = desc->updatable;
    how.type = spmv__desc_type(desc);
    how.updatable = desc->updatable;
    how.strict = desc->strict;
    how.reproducible = desc->reproducible;
    how.simd = desc->simd;
    how.max_bytes = desc->max_bytes;
    how.borrow = 1; /* with a device, only until the arrays are uploaded */
    if ((unsigned)desc->type >= SPMV_TYPE_COUNT) return spmv_log(&desc->hooks, SPMV_ERR_ARGUMENT, "type %d is unknown", (int)desc->type);
    s = spmv__simd_check(desc->simd, &desc->hooks);
    if (s) return s;
    if (desc->device) s = spmv__device_here(desc, "spmv_create");
    else if (desc->reproducible) s = spmv__host_repeats(1, &desc->hooks);
    if (s) return s;
    if (!desc->plan && desc->hints && desc->hints->without >> SPMV_CSR & 1u && !strcmp(spmv__plan_text(desc), "csr"))
        return spmv_log(&desc->hooks, SPMV_ERR_UNSUPPORTED, "hints.without excludes csr, the plan where none is given and none chosen");
#ifdef _OPENMP
    (void)spmv__forked(); /* a process that has made a matrix is known to those that are forked off it */
#endif
    spmv__phase(&desc->hooks, SPMV_PHASE_INPUT);
    s = desc->buffers ? spmv__take_buffers(matrix, desc, &only) : spmv__take_input(&csr, &matrix->own, desc);
    matrix->borrowed_csr = desc->buffers || csr != &matrix->own;
    if (!s) s = spmv__plan_and_convert(matrix, desc, csr, &how, only);
    if (!s && desc->both) s = desc->buffers ? spmv__transpose_buffers(matrix, desc) : spmv__make_transposed(matrix, desc, csr, NULL);
    matrix->both = desc->both;
    if (!s) s = spmv__keep_lent(matrix, desc);
    if (s) spmv_destroy(matrix);
    else if (!matrix->updatable || desc->buffers) spmv__release_csr(matrix);
    spmv__phase(&desc->hooks, SPMV_PHASE_NONE);
    return s;
}

/* SPMV_ERR_ARGUMENT if spmv_create did not make matrix, or spmv_destroy was called since. The hooks are gone then. */
static spmv_status spmv__is_made(const spmv_matrix *matrix, const char *function)
{
    if (matrix->store.plan_count) return SPMV_OK;
    return spmv_log(NULL, SPMV_ERR_ARGUMENT, "%s: the matrix was not created, or it was destroyed", function);
}

/* spmv_mul by the name of function; size: of an element of x and y, or 0 for what the matrix takes. */
static spmv_status spmv__mul(const char *function, size_t size, const spmv_matrix *matrix, double alpha, const void *x, double beta,
                             void *y)
{
    if (!matrix) return spmv__null(NULL, function, "matrix", NULL, 0);
    const spmv_store *store = &matrix->store;
    if (spmv__is_made(matrix, function)) return SPMV_ERR_ARGUMENT;
    if (size && size != spmv_vector_size(store->type))
        return spmv_log(&store->hooks, SPMV_ERR_ARGUMENT, "%s: the matrix is of type %s and takes vectors of %ss", function,
                        spmv_type_name(store->type), store->type == SPMV_F32 ? "float" : "double");
    if (spmv__check_vectors(&store->hooks, function, store->type, store->rows, store->cols, alpha, x, y)) return SPMV_ERR_ARGUMENT;
#ifdef SPMV_DEVICE_H
    if (matrix->device) return spmv_exec_mul_host(matrix->exec, alpha, x, beta, y);
#endif
    spmv__store_mul(store, NULL, alpha, x, beta, y);
    return SPMV_OK;
}

SPMV_API spmv_status spmv_mul(const spmv_matrix *matrix, double alpha, const void *x, double beta, void *y)
{
    return spmv__mul("spmv_mul", 0, matrix, alpha, x, beta, y);
}

SPMV_API spmv_status spmv_mul_f64(const spmv_matrix *matrix, double alpha, const double *x, double beta, double *y)
{
    return spmv__mul("spmv_mul_f64", sizeof *x, matrix, alpha, x, beta, y);
}

SPMV_API spmv_status spmv_mul_f32(const spmv_matrix *matrix, double alpha, const float *x, double beta, float *y)
{
    return spmv__mul("spmv_mul_f32", sizeof *x, matrix, alpha, x, beta, y);
}

SPMV_API const spmv_matrix *spmv_transposed(const spmv_matrix *matrix)
{
    return !matrix || !matrix->both ? NULL : matrix->transposed ? matrix->transposed : matrix;
}

SPMV_API spmv_status spmv_mul_transposed(const spmv_matrix *matrix, double alpha, const void *x, double beta, void *y)
{
    if (!matrix) return spmv__null(NULL, "spmv_mul_transposed", "matrix", NULL, 0);
    if (spmv__is_made(matrix, "spmv_mul_transposed")) return SPMV_ERR_ARGUMENT;
    if (!matrix->both)
        return spmv_log(&matrix->store.hooks, SPMV_ERR_ARGUMENT, "spmv_mul_transposed: the matrix was not made with both = 1");
    return spmv__mul("spmv_mul_transposed", 0, spmv_transposed(matrix), alpha, x, beta, y);
}

#ifdef SPMV_DEVICE_H
static spmv_status spmv__mul_packed(const void *matrix, const spmv__many *many, double alpha, const void *x, double beta, void *y)
{
    return spmv__exec_mul_many_host(((const spmv_matrix *)matrix)->exec, many, alpha, x, beta, y);
}
#endif

SPMV_API spmv_status spmv_mul_many(const spmv_matrix *matrix, uint64_t count, spmv_arrangement order, double alpha, const void *x,
                                   uint64_t ldx, double beta, void *y, uint64_t ldy)
{
    if (!matrix) return spmv__null(NULL, "spmv_mul_many", "matrix", NULL, 0);
    const spmv_store *store = &matrix->store;
    spmv__many many = spmv__many_of(count, order, ldx, ldy, store->rows, store->cols);
    spmv_status s;
    if (spmv__is_made(matrix, "spmv_mul_many")) return SPMV_ERR_ARGUMENT;
    s = spmv__check_many(&store->hooks, "spmv_mul_many", store->type, &many, alpha, x, y);
    if (s || !count || !store->rows) return s;
#ifdef SPMV_DEVICE_H
    if (matrix->device) return spmv__many_packed(&store->hooks, store->type, &many, alpha, x, beta, y, spmv__mul_packed, matrix);
#endif
    return spmv__store_mul_many(store, &many, alpha, x, beta, y);
}

SPMV_API spmv_status spmv_mul_tail(const spmv_matrix *matrix, double alpha, const void *x, double beta, void *y, const spmv_tail *tail)
{
    if (!matrix) return spmv__null(NULL, "spmv_mul_tail", "matrix", NULL, 0);
    const spmv_store *store = &matrix->store;
    spmv_status s;
    if (spmv__is_made(matrix, "spmv_mul_tail")) return SPMV_ERR_ARGUMENT;
    s = spmv__tail_check(&store->hooks, "spmv_mul_tail", tail, store->type, store->rows, store->cols, x, 0, y, 0, 1);
    if (!s) s = spmv__mul("spmv_mul_tail", 0, matrix, alpha, x, beta, y);
    if (!s) spmv__tail(tail, store->type, store->rows, x, y, !store->count || store->part[0].reproducible);
    return s;
}

/* Sets *own to the new values in the order of the CSR form, which takes them over if it was made for updates. */
static spmv_status spmv__take_values(spmv_matrix *matrix, const void *val, const void **own)
{
    spmv_status s = matrix->borrowed_csr ? SPMV_OK : spmv_csr_update(&matrix->own, val);
    *own = matrix->borrowed_csr ? val : matrix->own.val;
    return s;
}

/* Gives such values to all parts. */
static spmv_status spmv__put_values(spmv_matrix *matrix, const void *own)
{
    spmv_csr given;
    spmv_status s;
    memset(&given, 0, sizeof given);
    given.val = own;
    s = spmv_store_update(&matrix->store, &given);
#ifdef SPMV_DEVICE_H
    if (!s && matrix->device) s = spmv_device_matrix_update(matrix->on_device, matrix->store.part, (size_t)matrix->store.count);
    if (!s && matrix->converter) s = spmv__converter_update(matrix->converter, own, NULL);
#endif
    return s;
}

SPMV_API spmv_status spmv_update(spmv_matrix *matrix, const void *val)
{
    if (!matrix) return spmv__null(NULL, "spmv_update", "matrix", NULL, 0);
    spmv_matrix *transposed = matrix->transposed;
    const void *own, *turned = NULL;
    spmv_status s;
    if (spmv__is_made(matrix, "spmv_update")) return SPMV_ERR_ARGUMENT;
    if (!matrix->updatable)
        return spmv_log(&matrix->store.hooks, SPMV_ERR_FIXED, "spmv_update: the matrix was not made with updatable = 1");
    if (!val && matrix->store.nnz) return spmv__null(&matrix->store.hooks, "spmv_update", "val", NULL, 0);
    s = spmv__take_values(matrix, val, &own);
    if (!s && transposed) s = spmv__take_values(transposed, own, &turned);
    if (!s && transposed) s = spmv__store_fits(&transposed->store, turned); /* else the matrix would have changed alone */
    if (!s) s = spmv__put_values(matrix, own);
    if (!s && transposed) s = spmv__put_values(transposed, turned);
    return s;
}

#ifdef SPMV_DEVICE_H
/* 1 if the device filled all parts, from values in the order of the caller's. */
static int spmv__updates_from_buffer(const spmv_matrix *matrix)
{
    int i, all = matrix->converter && (matrix->borrowed_csr || (!matrix->own.order && matrix->own.source_type == matrix->own.type));
    for (i = 0; i < matrix->store.count; i++) all = all && matrix->store.part[i].elsewhere;
    return all;
}

SPMV_API spmv_status spmv_update_buffer(spmv_matrix *matrix, void *val)
{
    if (!matrix || (!val && matrix->store.nnz))
        return spmv__null(matrix ? &matrix->store.hooks : NULL, "spmv_update_buffer", matrix ? "val" : "matrix", NULL, 0);
    const spmv_hooks *hooks = &matrix->store.hooks;
    const int given = matrix->borrowed_csr;
    uint64_t count = given ? matrix->store.nnz : matrix->own.source;
    uint64_t width = spmv_value_size(given ? matrix->store.type : matrix->own.source_type);
    void *block;
    spmv_status s;
    if (spmv__is_made(matrix, "spmv_update_buffer")) return SPMV_ERR_ARGUMENT;
    if (!matrix->updatable) return spmv_log(hooks, SPMV_ERR_FIXED, "spmv_update_buffer: the matrix was not made with updatable = 1");
    if (!matrix->device) return spmv_log(hooks, SPMV_ERR_ARGUMENT, "spmv_update_buffer: the matrix is on the host");
    if (!count) return SPMV_OK;
    if (!spmv__dev_is_here(matrix->device)) return spmv__dev_not_here(matrix->device, "spmv_update_buffer", NULL, 0);
    s = spmv__dev_holds(matrix->device, hooks, "spmv_update_buffer", "val", val, count, width);
    if (s) return s;
    if (!matrix->transposed && spmv__updates_from_buffer(matrix)) return spmv__converter_update(matrix->converter, NULL, val);
    s = spmv__room(hooks, &block, count, width);
    if (!s) s = spmv_buffer_read(matrix->device, val, count * width, block);
    if (!s) s = spmv_update(matrix, block);
    spmv_free(hooks, block);
    return s;
}
#endif

SPMV_API void spmv_destroy(spmv_matrix *matrix)
{
    if (!matrix) return;
    if (matrix->transposed) {
        const spmv_hooks hooks = matrix->store.hooks;
        spmv_destroy(matrix->transposed);
        spmv_free(&hooks, matrix->transposed);
    }
    spmv__off_device(matrix);
    spmv_store_destroy(&matrix->store);
    spmv__destroy_converter(matrix);
    spmv_csr_destroy(&matrix->own);
    memset(matrix, 0, sizeof *matrix);
}

SPMV_API int spmv_saved_is(const void *data, size_t bytes) { return spmv__saved_is(data, bytes); }

SPMV_API spmv_status spmv_save(const spmv_matrix *matrix, void *out, size_t size, size_t *bytes)
{
    if (!matrix || !bytes) return spmv__null(matrix ? &matrix->store.hooks : NULL, "spmv_save", matrix ? "bytes" : "matrix", NULL, 0);
    const spmv_store *store = &matrix->store;
    uint64_t n;
    int i;
    *bytes = 0;
    if (spmv__is_made(matrix, "spmv_save")) return SPMV_ERR_ARGUMENT;
    if (matrix->device)
        return spmv_log(&store->hooks, SPMV_ERR_UNSUPPORTED,
                        "spmv_save: the matrix is on a device; prepare it by the same plan on the host");
    for (i = 0; i < store->plan_count; i++)
        if ((int)store->plan[i].format >= (int)SPMV__OWN_FIRST)
            return spmv_log(&store->hooks, SPMV_ERR_UNSUPPORTED, "spmv_save: %s is a format of your own",
                            spmv_format_name(store->plan[i].format));
    n = spmv__saved_bytes(store);
    if (n > SIZE_MAX / 2) return spmv__no_memory(&store->hooks, n, 1);
    *bytes = (size_t)n;
    if (!out) return SPMV_OK;
    if (size < n)
        return spmv_log(&store->hooks, SPMV_ERR_ARGUMENT, "spmv_save: %llu bytes are needed, not %llu", (spmv__ull)n, (spmv__ull)size);
    spmv__saved_write(store, (unsigned char *)out, n);
    return SPMV_OK;
}

/* Refuses what a loaded matrix cannot do. */
static spmv_status spmv__check_loaded(const spmv_matrix *matrix, const spmv_desc *desc)
{
    if (desc->updatable || desc->both)
        return spmv_log(&desc->hooks, SPMV_ERR_UNSUPPORTED, "spmv_load: a saved matrix has no %s", desc->both ? "transpose" : "updates");
    if (desc->type && desc->type != matrix->store.type)
        return spmv_log(&desc->hooks, SPMV_ERR_ARGUMENT, "spmv_load: the matrix is of type %s, not %s", spmv_type_name(matrix->store.type),
                        spmv_type_name(desc->type));
    return SPMV_OK;
}

SPMV_API spmv_status spmv_load(spmv_matrix *matrix, const void *bytes, size_t n, const spmv_desc *desc)
{
    if (!matrix || !bytes || !desc)
        return spmv__null(desc ? &desc->hooks : NULL, "spmv_load", !matrix ? "matrix" : !bytes ? "bytes" : "desc", matrix, sizeof *matrix);
    spmv_store *store = &matrix->store;
    spmv_status s;
    memset(matrix, 0, sizeof *matrix);
    s = spmv__device_here(desc, "spmv_load");
    if (!s) s = spmv__simd_check(desc->simd, &desc->hooks);
    if (s) return s;
    store->hooks = desc->hooks;
    s = spmv__saved_use(store, "spmv_load", bytes, n, desc->simd, NULL, 0);
    if (!s) s = spmv__check_loaded(matrix, desc);
    if (!s && !desc->device) s = spmv__host_repeats(store->count && store->part[0].reproducible, &desc->hooks);
    if (!s && (desc->device || !desc->matrix.borrow)) s = spmv__saved_keep(store, !desc->device);
    if (!s && desc->device) s = spmv__to_device(matrix, desc, desc->variant);
    if (s) spmv_destroy(matrix);
    spmv__phase(&desc->hooks, SPMV_PHASE_NONE);
    return s;
}

SPMV_API spmv_status spmv_use(spmv_matrix *matrix, const void *bytes, size_t n, void *room, size_t size, const spmv_hooks *hooks)
{
    if (!matrix || !bytes || !room)
        return spmv__null(hooks, "spmv_use", !matrix ? "matrix" : !bytes ? "bytes" : "room", matrix, sizeof *matrix);
    spmv_store *store = &matrix->store;
    spmv_status s;
    memset(matrix, 0, sizeof *matrix);
    if (hooks) store->hooks = *hooks;
    store->hooks.resize = spmv__saved_none;
    s = spmv__saved_use(store, "spmv_use", bytes, n, SPMV_SIMD_BEST, room, size);
    if (!s) s = spmv__host_repeats(store->count && store->part[0].reproducible, &store->hooks);
    if (s) spmv_destroy(matrix);
    return s;
}

SPMV_API uint64_t spmv_rows(const spmv_matrix *matrix) { return matrix ? matrix->store.rows : 0; }
SPMV_API uint64_t spmv_cols(const spmv_matrix *matrix) { return matrix ? matrix->store.cols : 0; }
SPMV_API uint64_t spmv_nnz(const spmv_matrix *matrix) { return matrix ? matrix->store.nnz : 0; }
SPMV_API size_t spmv_plan_of(const spmv_matrix *matrix, char *out, size_t size)
{
    return spmv__print_parts(matrix ? matrix->store.plan : NULL, matrix ? matrix->store.plan_count : 0, out, size);
}
SPMV_API size_t spmv_shares(const spmv_matrix *matrix, char *out, size_t size)
{
    return spmv__store_shares(matrix ? &matrix->store : NULL, out, size);
}
SPMV_API uint64_t spmv_bytes(const spmv_matrix *matrix)
{
    uint64_t bytes = 0;
    int i;
    if (!matrix || !matrix->device) return matrix ? spmv_store_bytes(&matrix->store) : 0;
    for (i = 0; i < matrix->store.count; i++) bytes += spmv__part_device_bytes(&matrix->store.part[i]);
    return bytes;
}
#endif /* SPMV_IMPLEMENTATION */
