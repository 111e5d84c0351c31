/* SPDX-License-Identifier: MIT
 *
 * spmv.h - sparse matrix times vector, y = alpha A x + beta y, on the host CPU, on any OpenCL 1.2 device and on NVIDIA's GPUs by CUDA.
 *
 * Put this into exactly one C file:
 *
 *     #define SPMV_IMPLEMENTATION
 *     #include "spmv.h"
 *
 * and only include it elsewhere. A program without OpenCL defines SPMV_NO_OPENCL and needs neither its headers nor its library.
 * SPMV_NO_CUDA leaves out CUDA, which is loaded at run time, and SPMV_NO_DEVICES both: products run on the host alone. SPMV_NO_AUTO
 * leaves out the choice of a plan and its tuning tables. spmv_formats.h lists all configuration macros.
 *
 *     spmv_desc d = {0};                            // zero means default everywhere
 *     d.matrix.rows = d.matrix.cols = n;
 *     d.matrix.ptr = ptr; d.matrix.col = col; d.matrix.val = val;    // CSR, 32-bit, zero-based, doubles
 *     spmv_matrix a;
 *     if (spmv_create(&a, &d) != SPMV_OK) ...       // the reason is on stderr, or in your log callback
 *     spmv_mul(&a, 1.0, x, 0.0, y);                 // y = A x
 *     spmv_destroy(&a);
 *
 * The interface comes in three tiers. Most programs need only the first:
 *     start here   spmv_desc, spmv_create, spmv_mul, spmv_destroy; spmv_input, which describes the matrix, is in spmv_formats.h
 *     more         new values, OpenCL devices, questions about a matrix
 *     for tools    the members of spmv_matrix and what the choice needs to know of a device
 * Below it are spmv_io.h (files), spmv_plan.h (plans), spmv_auto.h (the choice), spmv_device.h (devices, your own vectors and queues).
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
#ifndef SPMV_NO_OPENCL
/* Above the guard: the bodies may be wanted although the interface was seen. What is complete is not read again. */
#if !defined(SPMV_CL_H) || (defined(SPMV_IMPLEMENTATION) && !defined(SPMV_CL_IMPLEMENTED))
#include "spmv_cl.h"
#endif
#endif
#ifndef SPMV_NO_CUDA
#if !defined(SPMV_CUDA_H) || (defined(SPMV_IMPLEMENTATION) && !defined(SPMV_CUDA_IMPLEMENTED))
#include "spmv_cuda.h"
#endif
#endif
#ifdef SPMV_DEVICE_H /* by a back end of the library, or by the caller, with a back end of their own: its bodies are wanted here as well */
#if !defined(SPMV_CHECK_H) || (defined(SPMV_IMPLEMENTATION) && !defined(SPMV_CHECK_IMPLEMENTED))
#include "spmv_check.h"
#endif
/* Above the guard: the bodies may be wanted although the interface was seen. What is complete is not read again. */
#if !defined(SPMV_CONVERT_H) || (defined(SPMV_IMPLEMENTATION) && !defined(SPMV_CONVERT_IMPLEMENTED))
#include "spmv_convert.h"
#endif
#endif
#ifdef SPMV_NO_AUTO
#if !defined(SPMV_PLAN_H) || (defined(SPMV_IMPLEMENTATION) && !defined(SPMV_PLAN_IMPLEMENTED))
#include "spmv_plan.h"
#endif
#else
#if !defined(SPMV_AUTO_H) || (defined(SPMV_IMPLEMENTATION) && !defined(SPMV_AUTO_IMPLEMENTED))
#include "spmv_auto.h"
#endif
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
                                 compiling the kernels for it pays (spmv_convert.h) */
    SPMV_CONVERT_ON_HOST,
    SPMV_CONVERT_ON_DEVICE    /* if it can fill the part (spmv_convert.h), else on the host */
} spmv_conversion;

/* What spmv_create makes a matrix from. Zero-initialise it, then set what applies: zero is a valid default for every member but
 * matrix, whose defaults spmv_input describes. spmv_create copies what it needs; the comments say what must outlive the matrix. */
typedef struct spmv_desc {
    spmv_input      matrix;  /* the matrix in the caller's form: sizes, arrays, symmetry (spmv_formats.h) */
    const spmv_csr *csr;     /* or one that spmv_csr_from or a reader made, which must outlive the spmv_matrix unless it is transposed.
                                Of matrix, only transpose may then be set, else SPMV_ERR_ARGUMENT. The type of its values must fit type.
                                NULL: matrix is used */
    spmv_type       type;    /* the type that products compute in; zero: f64 */
    const char     *plan;    /* a plan or a builder as text (spmv_plan.h), "auto", "measure" or "cocktail" (spmv_auto.h). NULL: "auto",
                                the library chooses; but "csr" with reproducible, since a choice differs from device to device, and with
                                SPMV_NO_AUTO, where these three are refused with SPMV_ERR_UNSUPPORTED. "measure" goes by estimates alone,
                                as "auto" does, where a clock tells nothing: products that take no longer than their launch, a queue that
                                does not measure time, a variant that is given, SPMV_PARALLEL without hints.clock */
    spmv_device    *device;  /* where products run; it must outlive the matrix. NULL: on the host */
    const char     *variant; /* knobs of the device's kernels, part by part as in the plan: "WG=256,NT=1+L=8", or "*:WG=256" for all parts
                                (spmv_variants_parse of spmv_device.h). NULL: those that the choice found, else the defaults. Ignored on
                                the host */
    spmv_conversion convert; /* where the arrays are filled; ignored on the host */
    int             buffers; /* 1: matrix.ptr, col and val are buffers of device (cl_mem, CUdeviceptr), and the matrix is CSR as it is
                                stored: zero-based, columns of 32 bits rising within each row, values of the type stored; anything else is
                                refused with SPMV_ERR_UNSUPPORTED, and one that is too small with SPMV_ERR_ARGUMENT. They must outlive the
                                matrix if it is updatable. The device checks them. With a plan of one part of ell, sell, bell, sbell, bcsr
                                or tcsr with no keys but b, h, tile, and idx of tcsr, all three stay there; other plans need ptr on the
                                host. They need col, too, if a part has the key cols or is of blocks with d; for idx=16 of tcsr that does
                                not take all rows and nonzeros, and of csr with rows over four times as long as run; and for dia and bdia if
                                the matrix has many more rows and columns than nonzeros. So do "cocktail", "panels" and a device that does
                                not convert. "auto" has the host look at the matrix, which takes some milliseconds, only if
                                hints.expected_calls products may save that much on a GPU; else it takes tcsr or sell. Parts that the host
                                fills, such as cmrs with sort, need all three. csr must be NULL */
    int             strict;  /* 1: use no format that multiplies fill by x (SPMV_HAS_FILL), so that Inf and NaN in x stay in
                                the rows that use them */
    int             updatable;    /* 1: allow spmv_update; costs 4 or 8 bytes for each stored slot */
    int             reproducible; /* 1: the same bits of y on the host and on every OpenCL device (SPMV_REPEATS in spmv_formats.h), with
                                plans of csr, dia, bdia, ell, sell, bell, sbell and bcsr. On the host it needs SPMV_REPRODUCIBLE */
    spmv_simd       simd;         /* on the host, the level of vector instructions (spmv_formats.h), SPMV_ERR_UNSUPPORTED if it is not
                                usable. Zero: the best one */
    uint64_t        max_bytes;    /* refuse a part that takes more bytes; 0: 16 times the CSR form plus 16 MiB */
    const spmv_build_hints *hints; /* for builders and the choice (spmv_plan.h); needed only during the call. NULL: none */
    spmv_hooks      hooks;   /* where memory comes from and where messages go; zero: the C library and stderr */
} spmv_desc;

/* Prepares a matrix for products: checks the input, finds or reads the plan, converts, and on a device uploads the arrays and builds the
 * kernels.
 *   m     need not be initialised. On failure it is zeroed and a message says why. Free it with spmv_destroy
 *   desc  the description, needed only during the call, except for what must outlive the matrix as said there
 * A plan given as text is used as it is: nothing is compared and no tuning table is read. "csr" on the host with matrix.borrow, where
 * the caller's arrays already have the needed form, allocates only one spmv_part and row pointers; spmv_create, spmv_mul and
 * spmv_destroy then use less than 1 KB of stack in an optimised build. */
SPMV_API spmv_status spmv_create(spmv_matrix *m, const spmv_desc *desc);

/* y = alpha A x + beta y with vectors in host memory, whose elements have the vector type of desc->type.
 *   m            a matrix from spmv_create; one that is zeroed, because its creation failed or it was destroyed, is refused with
 *                SPMV_ERR_ARGUMENT
 *   alpha, beta  with beta 0, y is not read; with alpha 0, neither is x
 *   x            spmv_cols(m) elements; may be NULL if there are none, or if alpha is 0
 *   y            spmv_rows(m) elements; may be NULL if there are none. Where x is read and overlaps y: SPMV_ERR_ARGUMENT
 * On the host only y is written, so any number of threads may use one matrix at a time. On a device the call waits for the result and
 * uses the matrix's own exec: while one thread is in it, any other gets SPMV_ERR_BUSY and its y is left as it was. For products in
 * several threads at once, or on vectors that stay on the device, make an spmv_exec for each thread (spmv_device.h). */
SPMV_API spmv_status spmv_mul(const spmv_matrix *m, double alpha, const void *x, double beta, void *y);

/* Frees everything and zeroes *m. It cannot fail; a zeroed matrix or NULL is ignored. */
SPMV_API void spmv_destroy(spmv_matrix *m);

/* ---- more --------------------------------------------------------------------------------------------------------- */

/* Replaces the values; the pattern stays. No other call may use m meanwhile; what may use its device: spmv_device.h.
 *   m    a matrix that was made with updatable, else SPMV_ERR_FIXED; a zeroed one is refused as by spmv_mul
 *   val  the new values, as in desc->matrix.val; or, if the matrix was made from desc->csr, that CSR's values in its order. Not NULL
 *        unless the matrix has no nonzeros */
SPMV_API spmv_status spmv_update(spmv_matrix *m, const void *val);

#ifdef SPMV_DEVICE_H
/* As spmv_update, with the values in a buffer of the matrix's device. They do not leave it if the device filled all parts and the matrix
 * was made from CSR as it is stored (as spmv_desc.buffers describes). SPMV_ERR_ARGUMENT if the matrix is on the host or the buffer
 * is too small. */
SPMV_API spmv_status spmv_update_buffer(spmv_matrix *m, void *val);

/* Describes the devices of all back ends in this build, in the order of their index (spmv_device.h).
 *   out    room for max descriptions; may be NULL if max is 0
 *   count  becomes the number of devices, which may be larger than max
 *   hooks  may be NULL */
SPMV_API spmv_status spmv_device_list(spmv_device_info *out, size_t max, size_t *count, const spmv_hooks *hooks);
/* Opens one of them, as desc says; desc may be NULL for the defaults. Close it with spmv_device_close. SPMV_ERR_NO_DEVICE. */
SPMV_API spmv_status spmv_device_open(spmv_device *out, const spmv_device_desc *desc);
#endif

/* Rows, columns and stored entries of the matrix that products use: after transposing, mirroring a half and summing duplicates.
 * Explicit zeros count, the fill of a format does not. 0 for NULL and for a zeroed matrix. */
SPMV_API uint64_t spmv_rows(const spmv_matrix *m);
SPMV_API uint64_t spmv_cols(const spmv_matrix *m);
SPMV_API uint64_t spmv_nnz(const spmv_matrix *m);

/* The plan in use; its shares as text, such as "ELL(81%)COO(19%)"; the bytes of the matrix that one product reads. The plan and the
 * text live as long as m. NULL gives NULL, "" and 0. */
SPMV_API const spmv_plan *spmv_plan_of(const spmv_matrix *m);
SPMV_API const char *spmv_shares(const spmv_matrix *m);
SPMV_API uint64_t spmv_bytes(const spmv_matrix *m);

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
};

#if defined(SPMV_DEVICE_H) && !defined(SPMV_NO_AUTO)
/* What spmv_choose needs to know of a device, its name and class; NULL: of the host. The name lives as long as the device. */
SPMV_API spmv_target spmv_target_of(const spmv_device *d);
#endif

#ifdef __cplusplus
}
#endif
#endif /* SPMV_H */
/* ============================================ END OF THE INTERFACE ============================================== */

#if defined(SPMV_IMPLEMENTATION) && !defined(SPMV_IMPLEMENTED)
#define SPMV_IMPLEMENTED

#if !defined(SPMV_NO_AUTO) && !defined(_OPENMP)
#include <time.h>
#endif

static spmv_status spmv__plan_and_store(spmv_matrix *m, const spmv_desc *d, const spmv_csr *csr, const spmv_build *how);

/* The plan of the description, or what stands for it, as text. */
static const char *spmv__plan_text(const spmv_desc *d)
{
#ifdef SPMV_NO_AUTO
    return d->plan ? d->plan : "csr";
#else
    return d->plan ? d->plan : d->reproducible ? "csr" : "auto";
#endif
}

/* Frees the arrays on the host, which are not needed once the parts are on a device. Sizes stay. */
static void spmv__release_arrays(spmv_store *st)
{
    int i, j;
    for (i = 0; i < st->count; i++) {
        spmv_part *p = &st->part[i];
        for (j = 0; j < SPMV_MAX_ARRAYS; j++) {
            if (!p->a[j].borrowed) spmv_free(&st->hooks, p->a[j].data);
            p->a[j].data = NULL;
        }
    }
}

#ifndef SPMV_DEVICE_H
static spmv_status spmv__to_device(spmv_matrix *m, const spmv_desc *d, const char *variant)
{
    (void)m;
    (void)variant;
    (void)spmv__release_arrays;
    (void)d;
    return SPMV_OK;
}

static void spmv__off_device(spmv_matrix *m) { (void)m; }
static void spmv__close_converter(spmv_matrix *m) { (void)m; }

static spmv_status spmv__take_buffers(spmv_matrix *m, const spmv_desc *d)
{
    (void)m;
    return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "buffers: this build has no devices");
}

/* Products run on the host, and so does the conversion. */
static spmv_status spmv__plan_and_convert(spmv_matrix *m, const spmv_desc *d, const spmv_csr *csr, spmv_build *how)
{
    return spmv__plan_and_store(m, d, csr, how);
}
#else
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

SPMV_API spmv_status spmv_device_open(spmv_device *out, const spmv_device_desc *desc)
{
    const spmv_backend *all[SPMV__BACKENDS + 1];
    if (!out) return spmv__null(desc ? &desc->hooks : NULL, "spmv_device_open", "out", NULL, 0);
    spmv__backends(all);
    return spmv_backends_open(all, out, desc);
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
    if (!s) s = spmv_device_matrix_create(m->on_device, m->device, m->store.rows, m->store.cols, d->type, m->store.part,
                                          (size_t)m->store.count, (const spmv_variant *)variants);
    spmv_free(h, variants);
    if (!s && spmv__device_filled(&m->store)) s = spmv_device_finish(m->device); /* products may start early */
    if (!s) s = spmv_exec_create(m->exec, m->on_device, NULL);
    if (!s && !m->updatable) spmv__release_arrays(&m->store);
    return s;
}

static void spmv__off_device(spmv_matrix *m)
{
    if (m->exec) spmv_exec_free(m->exec);
    if (m->on_device) spmv_device_matrix_free(m->on_device);
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

/* 1 if no columns are needed on the host to split the matrix by the plan, or by that of spmv__leave_unseen if this is not empty. The
 * converter reads them if a part needs them. *rows: 1 if no row pointers are needed there, either. */
static int spmv__columns_stay(const spmv_desc *d, const spmv_plan *unseen, int *rows)
{
    spmv_hooks quiet = d->hooks;
    spmv_plan plan;
    quiet.log = spmv__dev_hush;
    *rows = 0;
    plan = *unseen;
    if (!plan.count && spmv_plan_parse(&plan, spmv__plan_text(d), NULL, &quiet)) return spmv__builds_by_rows(spmv__plan_text(d));
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
    spmv_tuning_free(&k->table);
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

#if defined(SPMV_NO_AUTO) || defined(SPMV_NO_SELL) || defined(SPMV_NO_TCSR)
#define spmv__leave_unseen(m, d, t) SPMV_OK
#else
/* Sets m->store.plan to the plan by which the matrix is stored if the host is not to look at it (spmv__plan_unseen); else leaves it empty.
 * That is decided only where the library is free to choose, and the device has looked at the matrix and can store it by itself. */
static spmv_status spmv__leave_unseen(spmv_matrix *m, const spmv_desc *d, const spmv__taken *t)
{
    const unsigned both = SPMV_BIT_TCSR | SPMV_BIT_SELL;
    const spmv_build_hints *hints = d->hints;
    const spmv_tuning *table = hints ? hints->tuning : NULL;
    const char *plan;
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
    a.type = how.type = spmv__type(d->type);
    if (!table) s = spmv__keep_table(d->device, &target);
    padded = s ? 0 : spmv__convert_padding(d->device, &a, t->ptr, t->work.ptr_bits, &d->hooks);
    plan = padded > 0 ? spmv__plan_unseen(table ? table : target.table, &a, &how, hints, padded) : NULL;
    return s || !plan ? s : spmv_plan_parse(&m->store.plan, plan, NULL, &d->hooks);
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
SPMV__APART spmv_status spmv__take_buffers(spmv_matrix *m, const spmv_desc *d)
{
    spmv__taken t;
    void *col = NULL;
    int rows_stay, columns_stay;
    spmv_status s;
    memset(&t, 0, sizeof t);
    t.in = d->matrix;
    if (!d->device) return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "buffers: there is no device");
    if (d->csr) return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "buffers: csr must be NULL");
    if (!t.in.val_type) t.in.val_type = spmv__stored_type(d->type);
    if (t.in.form != SPMV_IN_CSR || t.in.base || t.in.transpose || t.in.symmetry || t.in.drop_zeros ||
        (t.in.index_bits && t.in.index_bits != 32) || spmv_value_size(t.in.val_type) != spmv_value_size(d->type))
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
    if (!s) s = spmv__leave_unseen(m, d, &t);
    columns_stay = spmv__columns_stay(d, &m->store.plan, &rows_stay);
    if (!s) s = spmv__take_pointers(d, &t, rows_stay);
    if (!s) s = spmv__take_columns(d, &t, columns_stay, &col);
    if (!s) s = spmv__holds(d, "matrix.val", d->matrix.val, t.work.entries, spmv_value_size(d->type));
    t.in.val = &t.in; /* borrowed and not looked at */
    t.in.val_type = m->own.type = spmv__stored_type(d->type);
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
    spmv_status s = spmv_converter_give(m->converter, &m->own, wide ? ptr : NULL, (void *)(uintptr_t)d->matrix.col,
                                        (void *)(uintptr_t)d->matrix.val);
    if (!s && !wide) spmv__converter_give_narrow(m->converter, ptr);
    return s;
}

static void spmv__close_converter(spmv_matrix *m)
{
    spmv_converter_close(m->converter);
    m->converter = NULL;
}

/* Finds the plan and stores the matrix by it, on the device if it converts. Then the kernels are done and the CSR matrix is no longer
 * there. */
static spmv_status spmv__plan_and_convert(spmv_matrix *m, const spmv_desc *d, const spmv_csr *csr, spmv_build *how)
{
    spmv_status s = SPMV_OK, end;
    if (d->device && (d->buffers || spmv__converts_there(d)))
        s = spmv_converter_open(&m->converter, d->device, csr);
    if (!s && m->converter) spmv__converter_set_thrifty(m->converter, d->convert == SPMV_CONVERT_DEFAULT && !d->buffers && !d->updatable);
    if (!s && d->buffers) s = spmv__give_buffers(m, d);
    how->converter = m->converter;
    if (!s && m->converter && !(d->hints && d->hints->measure)) spmv__converter_begin(m->converter); /* measuring uses the device */
    if (!s) s = spmv__plan_and_store(m, d, csr, how);
    if (!m->converter) return s;
    end = spmv_converter_finish(m->converter);
    if (!m->updatable || !spmv_converter_count(m->converter)) spmv__close_converter(m);
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

/* Stores the matrix by a plan or a builder given as text. */
static spmv_status spmv__store_given(spmv_matrix *m, const spmv_desc *d, const spmv_csr *csr, const spmv_build *how, const char *text)
{
    spmv_status s;
    spmv__phase(&d->hooks, SPMV_PHASE_CHOICE);
    s = spmv_plan_make(&m->store.plan, text, csr, d->hints, NULL, &d->hooks);
    m->store.hooks = d->hooks;
    spmv__phase(&d->hooks, SPMV_PHASE_CONVERT);
    if (!s) s = spmv__store_by_plan(&m->store, csr, how);
    if (!s) s = spmv__to_device(m, d, d->variant);
    return s;
}

/* Does any part of the store point into the CSR matrix? */
static int spmv__borrows(const spmv_store *st)
{
    int i;
    for (i = 0; i < st->count; i++)
        if (st->part[i].a[0].borrowed && st->part[i].a[0].data) return 1;
    return 0;
}

#ifdef SPMV_NO_AUTO
static spmv_status spmv__plan_and_store(spmv_matrix *m, const spmv_desc *d, const spmv_csr *csr, const spmv_build *how)
{
    if (d->plan && (spmv__is_auto(d->plan) || spmv__is_measure(d->plan) || spmv__is_cocktail(d->plan)))
        return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "plan \"%s\": the choice was left out of this build (SPMV_NO_AUTO)", d->plan);
    return spmv__store_given(m, d, csr, how, spmv__plan_text(d));
}
#else
/* Is another plan worth trying after this status? A plan may need more memory than there is, and then another one may fit. No kernel runs
 * while a matrix is prepared, so a failed driver call (such as CL_OUT_OF_RESOURCES) is most likely a lack of memory as well. */
static int spmv__try_next(spmv_status s)
{
    return spmv_status_is_refusal(s) || s == SPMV_ERR_BUILD || s == SPMV_ERR_BACKEND;
}

/* 1 if csr, which takes the least memory, is still to be tried after all options of a choice; 0 if it was among them or may not be used. */
static int spmv__csr_is_left(const spmv_choice *c, const spmv_build_hints *hints)
{
    int i, left = c->count && spmv_format_built(SPMV_CSR) && !(hints && hints->without >> SPMV_CSR & 1u);
    for (i = 0; i < c->count; i++) left &= strcmp(c->option[i].plan, "csr") != 0;
    return left;
}

/* Moves an option to the front. */
static void spmv__to_front(spmv_choice *c, int at)
{
    spmv_option first = c->option[at];
    for (; at > 0; at--) c->option[at] = c->option[at - 1];
    c->option[0] = first;
}

/* Makes the last place csr, which is none of the options, and returns it. */
static int spmv__append_csr(spmv_choice *c)
{
    const int i = c->count < SPMV_CHOICE_MAX ? c->count++ : SPMV_CHOICE_MAX - 1;
    memset(&c->option[i], 0, sizeof c->option[i]);
    spmv_print(c->option[i].plan, sizeof c->option[i].plan, "csr");
    c->option[i].predicted = c->option[i].cost = c->csr;
    c->option[i].convert = c->convert_csr;
    return i;
}

/* Stores the matrix by the plan that was chosen. Where that cannot be built, tries the other options in the order of their cost, and csr
 * at the end; the one that is taken moves to the front. */
static spmv_status spmv__store_choice(spmv_matrix *m, const spmv_desc *d, const spmv_csr *csr, const spmv_build *how, spmv_choice *c)
{
    int i = 0, count = c->count + spmv__csr_is_left(c, d->hints);
    spmv_status s;
    for (;;) {
        const char *next;
        spmv__phase(&d->hooks, SPMV_PHASE_CONVERT);
        s = spmv_store_make(&m->store, &c->plan, csr, how, &d->hooks);
        if (!s) s = spmv__to_device(m, d, d->variant ? d->variant : c->variant);
        /* the table of another version may name knobs that there are no longer */
        if (!(spmv__try_next(s) || (s == SPMV_ERR_PLAN && !d->variant)) || ++i >= count) break;
        spmv__off_device(m);
        spmv_store_free(&m->store);
        c->option[i - 1].measured = -1;
        next = i < c->count ? c->option[i].plan : "csr";
        spmv_log(&d->hooks, SPMV_OK, "plan \"%s\" could not be built; trying \"%s\"", c->option[i - 1].plan, next);
        s = spmv_plan_parse(&c->plan, next, NULL, &d->hooks);
        if (s) return s;
        memset(c->variant, 0, sizeof c->variant);
        if (i < c->count) memcpy(c->variant, c->option[i].variant, sizeof c->variant);
    }
    if (s || !c->count) return s;
    spmv__to_front(c, i < c->count ? i : spmv__append_csr(c));
    return SPMV_OK;
}

/* ---- "measure" ------------------------------------------------------------------------------------------------------ */

enum {
    SPMV__MEASURED = 3, /* options that are prepared and timed: among so many the fastest of all hardly ever is missing */
    SPMV__TURNS    = 5  /* rows of products of each of two matrices, of which the fastest counts: a delay by other programs spoils one */
};

/* A product that is bound by its launch takes up to so many times as long as the smallest of all, whatever it computes, unless products are
 * recorded in a graph: the clock does not tell such plans apart, the predictions do. */
#define SPMV__CALL_TIMES 1.5

/* Is there a clock for products on the host? That of the processors does not tell how long threads of the caller's took. */
static int spmv__has_clock(const spmv_build_hints *hints)
{
#if defined(SPMV_PARALLEL) && !defined(_OPENMP)
    return hints && hints->clock;
#else
    (void)hints;
    return 1;
#endif
}

/* Seconds by the clock of the hints, else by that of OpenMP, else of the processor: products run in one thread then. */
static double spmv__clock_now(const spmv_build_hints *hints)
{
    if (hints && hints->clock) return hints->clock(hints->clock_user);
#ifdef _OPENMP
    return omp_get_wtime();
#else
    return (double)clock() / CLOCKS_PER_SEC;
#endif
}

/* The vectors of zeros with which products are timed, on the device or on the host. */
typedef struct spmv__vectors {
    void *x, *y;
} spmv__vectors;

static void spmv__vectors_free(const spmv_matrix *m, spmv__vectors *v)
{
#ifdef SPMV_DEVICE_H
    if (m->device) {
        spmv_buffer_free(m->device, v->x);
        spmv_buffer_free(m->device, v->y);
        return;
    }
#endif
    spmv_free(&m->store.hooks, v->x);
    spmv_free(&m->store.hooks, v->y);
}

static spmv_status spmv__vectors_make(const spmv_matrix *m, spmv__vectors *v)
{
    const uint64_t size = spmv_vector_size(m->store.type), x = m->store.cols * size, y = m->store.rows * size;
    spmv_status s;
    v->x = v->y = NULL;
#ifdef SPMV_DEVICE_H
    if (m->device) {
        s = spmv_buffer_create(m->device, x, &v->x);
        if (!s) s = spmv_buffer_create(m->device, y, &v->y);
        return !s && x ? spmv_buffer_fill(m->device, v->x, x, 0) : s;
    }
#endif
    s = spmv__new(&m->store.hooks, &v->x, x + 1, 1, 0);
    return s ? s : spmv__new(&m->store.hooks, &v->y, y + 1, 1, 0);
}

#ifdef SPMV_DEVICE_H
/* One product; timed: with events. */
static spmv_status spmv__dev_product(const spmv_matrix *m, const spmv__vectors *v, int timed)
{
    spmv__dev_run r = spmv__dev_run_of(m->exec, 1, v->x, 0, v->y, 0);
    m->exec->timing = timed;
    return spmv__dev_exec_mul(&r, 0, NULL);
}

/* Seconds of n products in a row by the events of the device, from the begin of the first to the end of the last. */
static spmv_status spmv__dev_row_seconds(const spmv_matrix *m, const spmv__vectors *v, int n, double *seconds)
{
    void *begin = NULL;
    int i;
    spmv_status s = spmv__dev_product(m, v, 1);
    if (!s) s = spmv__dev_event_keep(m->device, &begin, m->exec->first);
    for (i = 2; i < n && !s; i++) s = spmv__dev_product(m, v, 0);
    if (!s && n > 1) s = spmv__dev_product(m, v, 1);
    if (!s) s = m->device->info.backend->seconds(m->device, begin, m->exec->last, seconds);
    spmv__dev_event_free(m->device, begin);
    spmv__dev_exec_timing(m->exec, 0);
    return s;
}
#endif

/* Seconds of a product among n in a row; 0: they could not be timed. */
static double spmv__row_seconds(const spmv_matrix *m, const spmv_build_hints *hints, const spmv__vectors *v, int n)
{
    double begin, seconds = 0;
    int i;
    spmv_status s = SPMV_OK;
#ifdef SPMV_DEVICE_H
    if (m->device) return !spmv__dev_row_seconds(m, v, n, &seconds) && seconds > 0 ? seconds / n : 0;
#endif
    begin = spmv__clock_now(hints);
    for (i = 0; i < n && !s; i++) s = spmv_store_mul(&m->store, 1, v->x, 0, v->y);
    seconds = spmv__clock_now(hints) - begin;
    return !s && seconds > 0 ? seconds / n : 0;
}

/* How many products make a row that is long enough for the clock, which has steps of up to 1 us, and for the first launch and short delays
 * of the host to count little. The products before fill the caches and load the kernels. */
static int spmv__row_length(const spmv_matrix *m, const spmv_build_hints *hints, const spmv__vectors *v)
{
    const double row = 1e-3; /* seconds */
    enum { FIRST = 3, MOST = 1000 };
    double one;
    int n = FIRST;
    (void)spmv__row_seconds(m, hints, v, 1);
    one = spmv__row_seconds(m, hints, v, FIRST);
    while (n < MOST && n * one < row) n++;
    return n;
}

/* Times two matrices by turns, so that whatever disturbs the machine disturbs both. 0: a time is not known. */
static int spmv__by_turns(const spmv_matrix *a, const spmv_matrix *b, const spmv_build_hints *hints, double *first, double *second)
{
    spmv__vectors v;
    double one, other;
    int i, n, k, known = !spmv__vectors_make(a, &v);
    n = known ? spmv__row_length(a, hints, &v) : 0;
    k = known ? spmv__row_length(b, hints, &v) : 0;
    for (i = 0; i < SPMV__TURNS && known; i++) {
        one = spmv__row_seconds(a, hints, &v, n);
        other = spmv__row_seconds(b, hints, &v, k);
        known = one > 0 && other > 0;
        if (!i || one < *first) *first = one;
        if (!i || other < *second) *second = other;
    }
    spmv__vectors_free(a, &v);
    return known;
}

/* Exchanges what two matrices with the same nonzeros are stored as. */
static void spmv__exchange_stores(spmv_matrix *a, spmv_matrix *b)
{
    unsigned char *at = (unsigned char *)&a->store, *other = (unsigned char *)&b->store;
    struct spmv_device_matrix *on_device = a->on_device;
    struct spmv_exec *exec = a->exec;
    size_t i;
    for (i = 0; i < sizeof a->store; i++) { /* a third store would make a large frame */
        const unsigned char byte = at[i];
        at[i] = other[i];
        other[i] = byte;
    }
    a->on_device = b->on_device;
    a->exec = b->exec;
    b->on_device = on_device;
    b->exec = exec;
}

/* The seconds by which an option is ranked once it was timed. */
static double spmv__measured_cost(const spmv_option *o, const spmv_build_hints *hints)
{
    return o->measured + o->convert / spmv__calls(hints);
}

/* Times another matrix, stored by an option, beside the one that is stored by option 0, and keeps the one that costs less: its option
 * becomes the first. */
static void spmv__compare(spmv_matrix *m, spmv_matrix *other, const spmv_desc *d, spmv_choice *c, int option)
{
    spmv_option *kept = &c->option[0], *o = &c->option[option];
    if (!spmv__by_turns(m, other, d->hints, &kept->measured, &o->measured)) return;
    kept->cost = spmv__measured_cost(kept, d->hints);
    o->cost = spmv__measured_cost(o, d->hints);
    if (o->cost >= kept->cost) return;
    spmv__exchange_stores(m, other);
    spmv__to_front(c, option);
}

/* Prepares an option beside the matrix and compares both. It is no failure, and there is no message, if there is no room for it. */
static void spmv__challenge(spmv_matrix *m, const spmv_desc *d, const spmv_csr *csr, const spmv_build *how, spmv_choice *c, int option)
{
    spmv_desc quiet = *d;
    spmv_matrix *other = (spmv_matrix *)spmv_alloc(&d->hooks, 1, sizeof *other); /* large */
    spmv_status s;
    int i;
    if (!other) return;
    memset(other, 0, sizeof *other);
    other->updatable = m->updatable;
    quiet.hooks.log = spmv__hush;
    spmv__phase(&d->hooks, SPMV_PHASE_CONVERT);
    s = spmv_plan_parse(&c->plan, c->option[option].plan, NULL, &quiet.hooks);
    if (!s) s = spmv_store_make(&other->store, &c->plan, csr, how, &quiet.hooks);
    if (!s) s = spmv__to_device(other, &quiet, c->option[option].variant);
    spmv__phase(&d->hooks, SPMV_PHASE_CHOICE);
    if (s) c->option[option].measured = -1;
    other->store.hooks.log = d->hooks.log;
    for (i = 0; !s && i < other->store.count; i++) other->store.part[i].hooks.log = d->hooks.log;
    if (!s) spmv__compare(m, other, d, c, option);
    spmv__off_device(other);
    spmv_store_free(&other->store);
    spmv_free(&d->hooks, other);
}

/* Can products with the matrix be timed? */
static int spmv__is_timed(const spmv_matrix *m, const spmv_build_hints *hints)
{
#ifdef SPMV_DEVICE_H
    if (m->device) return m->exec->profiles;
#else
    (void)m;
#endif
    return spmv__has_clock(hints);
}

/* Prepares and times the best options of a choice, of which the first is stored, and keeps the one that costs least, unless a clock tells
 * nothing. The matrix of the fastest so far and the next one are in memory beside the CSR form. */
static void spmv__measure(spmv_matrix *m, const spmv_desc *d, const spmv_csr *csr, const spmv_build *how, spmv_choice *c)
{
    int i, n = 1;
    if (!c->count || c->option[0].predicted < SPMV__CALL_TIMES * c->call || !spmv__is_timed(m, d->hints)) return;
    for (i = 1; i < c->count && n < SPMV__MEASURED; i++) {
        if (c->option[i].measured < 0) continue; /* it could not be built */
        spmv__challenge(m, d, csr, how, c, i); /* an option that moves to the front leaves those behind it in place */
        n += c->option[i].measured >= 0;
    }
    memcpy(c->variant, c->option[0].variant, sizeof c->variant);
}

/* Chooses a plan and stores the matrix by it. spmv_choice is large, so it is allocated. */
SPMV__APART spmv_status spmv__choose_and_store(spmv_matrix *m, const spmv_desc *d, const spmv_csr *csr, const spmv_build *how)
{
    spmv_target target = { NULL, SPMV_DEVICE_CLASS_HOST, NULL, 0, 0, 0 };
    void *block;
    spmv_choice *c;
    spmv_status s = spmv__new(&d->hooks, &block, 1, sizeof *c, 0);
    if (s) return s;
    c = d->hints && d->hints->choice ? d->hints->choice : (spmv_choice *)block;
    spmv__phase(&d->hooks, SPMV_PHASE_CHOICE);
#ifdef SPMV_DEVICE_H
    target = spmv_target_of(d->device);
    if (d->device && !(d->hints && d->hints->tuning)) s = spmv__keep_table(d->device, &target);
#endif
    if (!s) s = spmv_choose(c, d->plan, csr, how, &target, d->hints, NULL, &d->hooks);
    if (!s) s = spmv__store_choice(m, d, csr, how, c);
    if (!s && d->plan && spmv__is_measure(d->plan) && !d->variant) spmv__measure(m, d, csr, how, c);
    if (!s && c->count) c->plan = m->store.plan;
    if (s) memset(c, 0, sizeof *c);
    spmv_free(&d->hooks, block);
    return s;
}

/* The class of the device that will multiply. Apart, because a target would take much of the stack that tiny matrices may use. */
SPMV__APART spmv_device_class spmv__class_of(const spmv_desc *d)
{
#ifdef SPMV_DEVICE_H
    return spmv_target_of(d->device).device_class;
#else
    (void)d;
    return SPMV_DEVICE_CLASS_HOST;
#endif
}

/* Stores the matrix by the plan of the description. A choice allocates memory and reads a table, so it is made only where it was requested
 * and the matrix is large enough to gain by it. */
static spmv_status spmv__plan_and_store(spmv_matrix *m, const spmv_desc *d, const spmv_csr *csr, const spmv_build *how)
{
    const char *text = spmv__plan_text(d);
    if (m->store.plan.count) text = spmv_format_name(m->store.plan.part[0].format); /* by spmv__leave_unseen */
    if (spmv__is_auto(text) && !(d->hints && d->hints->choice) && spmv__is_tiny(csr, spmv__class_of(d), d->hints)) text = "csr";
    if (!spmv__is_auto(text) && !spmv__is_measure(text) && !spmv__is_cocktail(text)) return spmv__store_given(m, d, csr, how, text);
    return spmv__choose_and_store(m, d, csr, how);
}
#endif

/* Frees what is not needed of the CSR form once the matrix is stored: all of it, or all but what parts point into. */
static void spmv__release_csr(spmv_matrix *m)
{
    if (!spmv__borrows(&m->store)) {
        spmv_csr_free(&m->own);
        return;
    }
    if (m->own.owned & 1u) spmv_free(&m->own.hooks, (void *)(uintptr_t)m->own.ptr); /* parts have row pointers of their own */
    m->own.owned &= ~1u;
    m->own.ptr = NULL;
}

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
static spmv_status spmv__take_input(const spmv_csr **csr, spmv_csr *own, const spmv_desc *d)
{
    const spmv_csr *a = d->csr;
    const char *set = a ? spmv__member_set(&d->matrix) : NULL;
    spmv_input in = d->matrix;
    if (set) return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "desc.csr: only transpose of desc.matrix may be set beside it, not %s", set);
    if (a && spmv_value_size(a->type) != spmv_value_size(d->type))
        return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "desc.csr holds %s values, which do not fit type %s", spmv_type_name(a->type),
                        spmv_type_name(d->type));
    *csr = a && !in.transpose ? a : own;
    if (a) {
        const spmv_status s = spmv__csr_there(&d->hooks, "desc.csr", a);
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
    if (!in.val_type) in.val_type = spmv__stored_type(d->type);
    in.updatable = d->updatable;
    if (!d->updatable) in.borrow = 1;
    return spmv_csr_from(own, &in, d->type, &d->hooks);
}

/* Lets the arrays of parts that are borrowed from one place point to another; NULL: only counts them. Returns how many there are. */
static int spmv__point_to(spmv_store *st, const void *from, void *to)
{
    int i, j, n = 0;
    for (i = 0; i < st->count; i++)
        for (j = 0; j < SPMV_MAX_ARRAYS; j++) {
            spmv_array *a = &st->part[i].a[j];
            if (!a->borrowed || a->data != from) continue;
            if (to) a->data = to;
            n++;
        }
    return n;
}

/* Makes *array, of m->own, a copy of the caller's, unless it is one or no part points into it. bit: of spmv_csr.owned. */
static spmv_status spmv__own_array(spmv_matrix *m, const void **array, unsigned bit, uint64_t width)
{
    const void *lent = *array;
    void *copy = NULL;
    spmv_status s = SPMV_OK;
    if (m->own.owned & bit) return SPMV_OK;
    if (lent && spmv__point_to(&m->store, lent, NULL)) s = spmv__room(&m->own.hooks, &copy, m->own.nnz, width);
    *array = copy;
    if (!copy) return s;
    memcpy(copy, lent, (size_t)(m->own.nnz * width));
    (void)spmv__point_to(&m->store, lent, copy);
    m->own.owned |= bit;
    return SPMV_OK;
}

/* Copies those arrays of the caller that parts point into, unless they were given for longer than the call. */
SPMV__APART spmv_status spmv__keep_lent(spmv_matrix *m, const spmv_desc *d)
{
    const void *col = m->own.col, *val = m->own.val;
    spmv_status s;
    if (d->csr || d->buffers || d->device || d->updatable || d->matrix.borrow || !spmv__borrows(&m->store)) return SPMV_OK;
    s = spmv__own_array(m, &col, 2u, sizeof *m->own.col);
    m->own.col = (const uint32_t *)col;
    if (!s) s = spmv__own_array(m, &val, 4u, spmv_value_size(m->own.type));
    m->own.val = val;
    return s;
}

SPMV_API spmv_status spmv_create(spmv_matrix *m, const spmv_desc *d)
{
    if (!m || !d) return spmv__null(d ? &d->hooks : NULL, "spmv_create", !m ? "m" : "desc", m, sizeof *m);
    const spmv_csr *csr = &m->own;
    spmv_build how;
    spmv_status s;
    memset(m, 0, sizeof *m);
    memset(&how, 0, sizeof how);
#ifndef SPMV_NO_AUTO
    if (d->hints && d->hints->choice) memset(d->hints->choice, 0, sizeof *d->hints->choice);
#endif
    m->updatable = d->updatable;
    how.type = spmv__type(d->type);
    how.updatable = d->updatable;
    how.strict = d->strict;
    how.reproducible = d->reproducible;
    how.simd = d->simd;
    how.max_bytes = d->max_bytes;
    how.borrow = 1; /* with a device, only until the arrays are uploaded */
    if ((unsigned)d->type >= SPMV_TYPE_COUNT) return spmv_log(&d->hooks, SPMV_ERR_ARGUMENT, "type %d is unknown", (int)d->type);
    s = spmv__simd_check(d->simd, &d->hooks);
    if (s) return s;
#ifndef SPMV_DEVICE_H
    if (d->device) return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "a device was given, but this build has no OpenCL");
#else
    if (d->device && !spmv__dev_is_here(d->device)) return spmv__dev_not_here(d->device, "spmv_create", NULL, 0);
#endif
#ifndef SPMV_REPRODUCIBLE
    if (d->reproducible && !d->device)
        return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "reproducible products on the host need a build with SPMV_REPRODUCIBLE");
#endif
    if (!d->plan && d->hints && d->hints->without >> SPMV_CSR & 1u && !strcmp(spmv__plan_text(d), "csr"))
        return spmv_log(&d->hooks, SPMV_ERR_UNSUPPORTED, "hints.without excludes csr, the plan where none is given and none chosen");
    (void)spmv__forked(); /* a process that has made a matrix is known to those that are forked off it */
    spmv__phase(&d->hooks, SPMV_PHASE_INPUT);
    s = d->buffers ? spmv__take_buffers(m, d) : spmv__take_input(&csr, &m->own, d);
    m->borrowed_csr = d->buffers || csr != &m->own;
    if (!s) s = spmv__plan_and_convert(m, d, csr, &how);
    if (!s) s = spmv__keep_lent(m, d);
    if (s) spmv_destroy(m);
    else if (!m->updatable || d->buffers) spmv__release_csr(m);
    spmv__phase(&d->hooks, SPMV_PHASE_NONE);
    return s;
}

/* SPMV_ERR_ARGUMENT if spmv_create did not make m, or spmv_destroy was called since. The hooks are gone then. */
static spmv_status spmv__is_made(const spmv_matrix *m, const char *function)
{
    if (m->store.plan.count) return SPMV_OK;
    return spmv_log(NULL, SPMV_ERR_ARGUMENT, "%s: m is a matrix that was not created, or that was destroyed", function);
}

SPMV_API spmv_status spmv_mul(const spmv_matrix *m, double alpha, const void *x, double beta, void *y)
{
    if (!m) return spmv__null(NULL, "spmv_mul", "m", NULL, 0);
    const spmv_store *st = &m->store;
    if (spmv__is_made(m, "spmv_mul") || spmv__check_vectors(&st->hooks, "spmv_mul", st->type, st->rows, st->cols, alpha, x, y))
        return SPMV_ERR_ARGUMENT;
#ifdef SPMV_DEVICE_H
    if (m->device) return spmv_exec_mul_host(m->exec, alpha, x, beta, y);
#endif
    spmv__store_mul(st, alpha, x, beta, y);
    return SPMV_OK;
}

SPMV_API spmv_status spmv_update(spmv_matrix *m, const void *val)
{
    if (!m) return spmv__null(NULL, "spmv_update", "m", NULL, 0);
    spmv_csr given;
    spmv_status s = SPMV_OK;
    memset(&given, 0, sizeof given);
    given.val = val;
    if (spmv__is_made(m, "spmv_update")) return SPMV_ERR_ARGUMENT;
    if (!m->updatable) return spmv_log(&m->store.hooks, SPMV_ERR_FIXED, "spmv_update: the matrix was not made with updatable = 1");
    if (!val && m->store.nnz) return spmv__null(&m->store.hooks, "spmv_update", "val", NULL, 0);
    if (!m->borrowed_csr) s = spmv_csr_update(&m->own, val);
    if (!s) s = spmv_store_update(&m->store, m->borrowed_csr ? &given : &m->own);
#ifdef SPMV_DEVICE_H
    if (!s && m->device) s = spmv_device_matrix_update(m->on_device, m->store.part, (size_t)m->store.count);
    if (!s && m->converter) s = spmv_converter_update(m->converter, m->borrowed_csr ? val : m->own.val, NULL);
#endif
    return s;
}

#ifdef SPMV_DEVICE_H
/* 1 if the device filled all parts, from values in the order of the caller's. */
static int spmv__updates_from_buffer(const spmv_matrix *m)
{
    int i, all = m->converter && (m->borrowed_csr || (!m->own.order && m->own.source_type == m->own.type));
    for (i = 0; i < m->store.count; i++) all = all && m->store.part[i].elsewhere;
    return all;
}

SPMV_API spmv_status spmv_update_buffer(spmv_matrix *m, void *val)
{
    if (!m || (!val && m->store.nnz)) return spmv__null(m ? &m->store.hooks : NULL, "spmv_update_buffer", m ? "val" : "m", NULL, 0);
    const spmv_hooks *h = &m->store.hooks;
    const int given = m->borrowed_csr;
    uint64_t count = given ? m->store.nnz : m->own.source, width = spmv_value_size(given ? m->store.type : m->own.source_type);
    void *block;
    spmv_status s;
    if (spmv__is_made(m, "spmv_update_buffer")) return SPMV_ERR_ARGUMENT;
    if (!m->updatable) return spmv_log(h, SPMV_ERR_FIXED, "spmv_update_buffer: the matrix was not made with updatable = 1");
    if (!m->device) return spmv_log(h, SPMV_ERR_ARGUMENT, "spmv_update_buffer: the matrix is on the host");
    if (!count) return SPMV_OK;
    if (!spmv__dev_is_here(m->device)) return spmv__dev_not_here(m->device, "spmv_update_buffer", NULL, 0);
    s = spmv__dev_holds(m->device, h, "spmv_update_buffer", "val", val, count, width);
    if (s) return s;
    if (spmv__updates_from_buffer(m)) return spmv_converter_update(m->converter, NULL, val);
    s = spmv__room(h, &block, count, width);
    if (!s) s = spmv_buffer_read(m->device, val, count * width, block);
    if (!s) s = spmv_update(m, block);
    spmv_free(h, block);
    return s;
}
#endif

SPMV_API void spmv_destroy(spmv_matrix *m)
{
    if (!m) return;
    spmv__off_device(m);
    spmv_store_free(&m->store);
    spmv__close_converter(m);
    spmv_csr_free(&m->own);
    memset(m, 0, sizeof *m);
}

SPMV_API uint64_t spmv_rows(const spmv_matrix *m) { return m ? m->store.rows : 0; }
SPMV_API uint64_t spmv_cols(const spmv_matrix *m) { return m ? m->store.cols : 0; }
SPMV_API uint64_t spmv_nnz(const spmv_matrix *m) { return m ? m->store.nnz : 0; }
SPMV_API const spmv_plan *spmv_plan_of(const spmv_matrix *m) { return m ? &m->store.plan : NULL; }
SPMV_API const char *spmv_shares(const spmv_matrix *m) { return m ? m->store.shares : ""; }
SPMV_API uint64_t spmv_bytes(const spmv_matrix *m) { return m ? spmv_store_bytes(&m->store) : 0; }
#endif /* SPMV_IMPLEMENTATION */
