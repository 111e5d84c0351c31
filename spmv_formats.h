/* SPDX-License-Identifier: MIT
 *
 * spmv_formats.h - sparse matrix formats: vocabulary, and conversion from and to CSR.
 *
 * This is the lowest layer of the spmv headers. It needs only a C99 compiler and also compiles as C++11. Most users include spmv.h,
 * which includes this file. As with every header here, put
 *
 *     #define SPMV_IMPLEMENTATION
 *     #include "spmv.h"
 *
 * into exactly one C file; all others only include it.
 *
 * A matrix is stored   spmv_input --spmv_csr_create--> spmv_csr --spmv_part_create--> spmv_part
 * and read back        spmv_part  --spmv_parts_to_csr--> spmv_csr.
 * CSR is the only interchange form: no format is converted directly into another.
 *
 * The interface has three tiers, in the order in which readers need them:
 *   START HERE                         status, hooks, types, input, CSR: what every user of the library meets
 *   MORE                               formats and their keys, stored parts: for plans made by hand and for products without spmv.h
 *   FOR AUTHORS OF FORMATS AND TOOLS   the arrays of a part by name, layouts, features, small helpers
 *
 * Configuration macros are defined before the include (docs/configuration.md is made from this list). No public struct or constant
 * depends on them, so translation units that are linked together may differ: only the unit with SPMV_IMPLEMENTATION counts. What that
 * unit leaves out is refused with SPMV_ERR_UNSUPPORTED or is missing at link time.
 *   SPMV_IMPLEMENTATION   compile the function bodies here
 *   SPMV_NO_DEVICES       host only: leave out OpenCL and CUDA
 *   SPMV_NO_OPENCL        leave out OpenCL. This alone does not make a host-only build: CUDA stays, unless it is left out as well
 *   SPMV_NO_CUDA          leave out CUDA. OpenCL stays, likewise
 *   SPMV_NO_PTX           leave out the kernels that ship compiled for CUDA: NVRTC compiles them all, and must be there
 *   SPMV_CL_LINK          call OpenCL directly, which then must be linked (-lOpenCL), instead of loading it at run time
 *   SPMV_CUDA_NO_OVERLAP  let no kernel of CUDA start before the one in front of it has ended (spmv_cuda.h)
 *   SPMV_API              written before the declaration of every public function, such as a storage class; default: nothing
 *   SPMV_STATIC           make every function static (then each unit that uses the library needs SPMV_IMPLEMENTATION)
 *   SPMV_ASSERT(x)        default: assert of <assert.h>
 *   SPMV_MALLOC, SPMV_REALLOC, SPMV_FREE   define all three or none; default: those of the C library. An allocator with a pointer of
 *                         yours goes to spmv_hooks instead
 *   SPMV_THREADS(), SPMV_PARALLEL(task, job, count)   define both or none: threads of your own, see below
 *   SPMV_NO_STDIO         do not use <stdio.h>: messages go only to the log callback
 *   SPMV_NO_F64           leave out f64 and mixed products
 *   SPMV_NO_MIXED         leave out mixed products, which take a quarter of the time that compiling takes
 *   SPMV_REPRODUCIBLE     also compile the reproducible host products, which call fma and fmaf of libm (-lm)
 *   SPMV_NO_SIMD          leave out the host products with vector instructions (spmv_simd)
 *   SPMV_NO_AUTO          leave out the choice of a plan and its tuning tables; without a plan, "csr" is used
 *   SPMV_NO_TUNING        leave out the tuning tables: plans are chosen by the bytes that they move alone
 *   SPMV_ONLY             keep only these formats, e.g. -DSPMV_ONLY=SPMV_BIT_CSR+SPMV_BIT_SELL, or ~SPMV_BIT_ELL for all but one. One
 *                         alone leaves out the choice as well
 *   SPMV_FORMATS_EXTRA    a header with formats of your own, written by "spmvgen --target library": -DSPMV_FORMATS_EXTRA='"own.h"'
 *
 * Products and preparations run in the threads of OpenMP if the file with SPMV_IMPLEMENTATION is compiled with it, else in the calling
 * thread; or, either way, in threads of your own if that file defines
 *   SPMV_THREADS()        an expression, how many there are, at least 1. It is evaluated many times, in the thread that calls the library,
 *                         and may change. While it is 1, everything is done in that thread
 *   SPMV_PARALLEL(task, job, count)   a statement that calls task(job, i) once for each i from 0 to count - 1, in any threads and any
 *                         order, and ends when all these calls have returned. task is a void (*)(void *, size_t), job a void *, and count
 *                         a size_t, at least 2 and at most what SPMV_THREADS() was. If the library is called in several threads at once,
 *                         so is this. Products are fastest if a thread gets the same i each time. The thread that calls does nothing
 *                         else meanwhile, since it may hold a lock of a device (TBB: within this_task_arena::isolate)
 * Tasks do not wait for each other and use no SPMV_PARALLEL themselves; they call no hook, so they neither allocate nor log. A stack of
 * 32 KiB is enough for them, except where CUDA compiles several kernels at once: NVRTC is a whole compiler and needs the usual stack. The
 * library then starts no thread of its own.
 */
#ifndef SPMV_FORMATS_H
#define SPMV_FORMATS_H

#include <stddef.h>
#include <stdint.h>

#ifdef SPMV_STATIC
#  undef SPMV_API
#  if defined(__GNUC__)
#    define SPMV_API static __attribute__((unused))
#  else
#    define SPMV_API static
#  endif
#elif !defined(SPMV_API)
#  define SPMV_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ================================================== START HERE ================================================== */

/* ---- status ------------------------------------------------------------------------------------------------------
 * Every function that can fail returns one of these. Details (file, line, column, index, build log) go to the log callback of
 * spmv_hooks.
 *
 * NULL, in all headers: hooks may be NULL, and so may a pointer to nothing (a vector of length 0, an array of count 0, text of
 * size 0). Functions that destroy or free do nothing with NULL. Functions that return no status treat NULL as a zeroed object: they
 * return 0, NULL or "", and print nothing. Any other pointer may be NULL only where its function says so; otherwise the result is
 * SPMV_ERR_ARGUMENT, the message names the function and the argument, and what the function would have filled in is zeroed.
 *
 * X(NAME, refusal, "what it means"); refusal: see spmv_status_is_refusal. */
#define SPMV_STATUS_LIST(X)                                                                 \
    X(OK,              0, "done")                                                           \
    X(ERR_ARGUMENT,    0, "an argument is outside its documented range")                    \
    X(ERR_MEMORY,      1, "memory could not be allocated")                                  \
    X(ERR_OVERFLOW,    1, "a size does not fit the integers it needs")                      \
    X(ERR_INDEX,       0, "a row pointer or an index does not fit the matrix")              \
    X(ERR_DUPLICATE,   0, "an entry occurs twice and duplicates were to be refused")        \
    X(ERR_PLAN,        0, "the plan's text does not follow the grammar")                    \
    X(ERR_INCOMPLETE,  1, "the plan leaves nonzeros that no part takes")                    \
    X(ERR_TOO_LARGE,   1, "the format would need more memory than allowed for this matrix") \
    X(ERR_STRICT,      1, "a format with fill cannot be used in strict mode")               \
    X(ERR_UNSUPPORTED, 1, "not supported in this build or by this format")                  \
    X(ERR_FIXED,       0, "the matrix was not made updatable")                              \
    X(ERR_IO,          0, "a file could not be opened, read or written")                    \
    X(ERR_PARSE,       0, "the file does not follow its format")                            \
    X(ERR_COMPLEX,     0, "complex matrices are not supported")                             \
    X(ERR_NO_DEVICE,   0, "no such device")                                                 \
    X(ERR_NO_F64,      0, "the device has no double precision")                             \
    X(ERR_BUILD,       0, "a kernel did not build")                                         \
    X(ERR_LIMIT,       1, "the device cannot take this size")                               \
    X(ERR_BACKEND,     0, "a call of the device's driver failed")                           \
    X(ERR_BUSY,        0, "the object is in use by another thread")

typedef enum spmv_status {
#define X(name, refusal, text) SPMV_##name,
    SPMV_STATUS_LIST(X)
#undef X
    SPMV_STATUS_COUNT
} spmv_status;

/* One line of English for a status; never NULL. */
SPMV_API const char *spmv_status_text(spmv_status s);
/* The status's name, for example "SPMV_ERR_INDEX"; never NULL. */
SPMV_API const char *spmv_status_name(spmv_status s);
/* 1 if the matrix, the build or the device rules out this request, although nothing is wrong with any of them and another plan may
 * work; 0 for success, for faulty input and for failures. */
SPMV_API int spmv_status_is_refusal(spmv_status s);

/* ---- phases ------------------------------------------------------------------------------------------------------
 * What preparing a matrix consists of. X(NAME, "name", "what it is") */
#define SPMV_PHASE_LIST(X)                                                                      \
    X(NONE,    "none",       "nothing is prepared")                                             \
    X(INPUT,   "input",      "checking the caller's arrays and making CSR of them")             \
    X(CHOICE,  "analysis",   "analysing the matrix and choosing a plan, or a builder's work")   \
    X(CONVERT, "conversion", "splitting the matrix and storing its parts")                      \
    X(UPLOAD,  "upload",     "copying to the device, and whatever no other phase covers")       \
    X(BUILD,   "building",   "making the programs of a device: compiling them or loading them")

typedef enum spmv_phase {
#define X(NAME, name, text) SPMV_PHASE_##NAME,
    SPMV_PHASE_LIST(X)
#undef X
    SPMV_PHASE_COUNT
} spmv_phase;

/* The name of a phase, for example "conversion"; "unknown" if there is no such phase. */
SPMV_API const char *spmv_phase_name(spmv_phase phase);

/* ---- hooks -------------------------------------------------------------------------------------------------------
 * Where memory comes from and where messages go. If all members are zero, memory comes from SPMV_MALLOC and its companions, and
 * messages go to stderr (nowhere with SPMV_NO_STDIO). A hooks pointer may be NULL everywhere. Objects copy the struct, so it may be
 * discarded after the call. */
typedef struct spmv_hooks {
    void *user;                                             /* passed to each of them */
    void *(*resize)(void *user, void *block, size_t bytes); /* as realloc, except that bytes 0 frees the block and returns NULL */
    /* Takes one message without a newline at its end. s is the error; SPMV_OK means a warning. */
    void (*log)(void *user, spmv_status s, const char *message);
    /* Called when a phase of preparing a matrix begins, which ends the one before; SPMV_PHASE_NONE: preparing has ended. With a clock in
     * it, it shows where the time goes. Building is reported through the device's hooks. */
    void (*phase)(void *user, spmv_phase phase);
    int part; /* set by the library: its messages begin with this part of a plan; 0: with none */
    int transposed; /* set by the library: 1: they are about the transpose (spmv_desc.both) and say so first */
} spmv_hooks;

/* ---- types -------------------------------------------------------------------------------------------------------
 * What a product computes in. Values are those of the matrix; vectors are x and y. Sums are formed in the type of the vectors. A type that
 * is left out, zero, is f64, but for spmv_input.val_type and spmv_desc.type, of which either follows the other. */
typedef enum spmv_type {
    SPMV_F64 = 1, /* double values, double vectors (the default) */
    SPMV_F32,     /* float values, float vectors */
    SPMV_MIXED,   /* float values, double vectors: two thirds of the bytes of f64 */
    SPMV_TYPE_COUNT
} spmv_type;

/* The name of a type, "f64", "f32" or "mixed"; "unknown" if there is no such type. */
SPMV_API const char *spmv_type_name(spmv_type type);
/* The type of that name; SPMV_TYPE_COUNT if there is none. */
SPMV_API spmv_type spmv_type_from(const char *name);
/* Bytes of one value of the matrix. */
SPMV_API size_t spmv_value_size(spmv_type type);
/* Bytes of one element of x or y. */
SPMV_API size_t spmv_vector_size(spmv_type type);

/* How the vectors of a product of several lie in memory. */
typedef enum spmv_arrangement {
    SPMV_ONE_AFTER_ANOTHER = 0, /* by columns: element i of vector j is number j * ld + i */
    SPMV_SIDE_BY_SIDE           /* by rows: it is number i * ld + j */
} spmv_arrangement;

/* ---- input -------------------------------------------------------------------------------------------------------
 * A matrix as the caller has it. Zero-initialise the struct, then set what applies. */
typedef enum spmv_input_form { SPMV_IN_CSR = 0, SPMV_IN_CSC, SPMV_IN_COO, SPMV_IN_BSR } spmv_input_form;
typedef enum spmv_duplicates { SPMV_DUP_SUM = 0, SPMV_DUP_REFUSE } spmv_duplicates;

/* Which entries the arrays hold. A symmetric or skew-symmetric matrix is square and is given by its diagonal and one of its halves,
 * below or above the diagonal; an entry at (r, c) off the diagonal then also stands for the one at (c, r). Entries in both halves are
 * refused with SPMV_ERR_INDEX, and the message says where they are. For BSR, blocks must be square and the half consists of whole
 * blocks; a block on the diagonal is given in full and is refused with SPMV_ERR_ARGUMENT if it is not symmetric in itself. */
typedef enum spmv_symmetry {
    SPMV_GENERAL = 0, /* every entry */
    SPMV_SYMMETRIC,   /* the entry at (c, r) has the same value */
    SPMV_SKEW         /* the entry at (c, r) has the opposite value. The diagonal is empty or holds zeros; any other value on it is
                         refused with SPMV_ERR_ARGUMENT */
} spmv_symmetry;

typedef struct spmv_input {
    int64_t     rows, cols;  /* elements of the stored matrix (before transpose); at most 2^32 - 2 each. BSR: multiples of the
                                block's */
    int64_t     nnz;         /* COO: number of entries. CSR, CSC, BSR: 0, or what the last pointer must be, less base; needed where
                                a 32-bit pointer exceeds 2^31 - 1 */
    const void *ptr;         /* CSR, BSR: (block) rows + 1; CSC: columns + 1; COO: NULL */
    const void *row;         /* COO, CSC: row indices; else NULL */
    const void *col;         /* COO, CSR: column indices; BSR: block columns; CSC: NULL */
    const void *val;         /* values; NULL: every value is 1. BSR: blocks one after another */
    spmv_input_form form;
    int         ptr_bits;    /* 32 or 64; 0: 32 */
    int         index_bits;  /* of row and col: 32 or 64; 0: 32 */
    int         base;        /* 0 or 1: the number from which pointers and indices count */
    spmv_type   val_type;    /* type of val: SPMV_F64 or SPMV_F32; 0: that of the values stored, which are doubles for products in f64,
                                else floats */
    int         block_rows, block_cols; /* BSR only */
    int         block_by_columns;       /* BSR: 1 if blocks are stored column by column */
    spmv_symmetry   symmetry;           /* whether the arrays leave out one half of the matrix; 0: they do not */
    int         transpose;   /* 1: make the transpose of the stored matrix, with cols rows and rows columns */
    spmv_duplicates duplicates;         /* entries at the same place: summed in the order given, or refused */
    int         drop_zeros;  /* 1: leave out entries with value 0 (after duplicates are summed). Not with updatable: they would have no
                                place for new values */
    int         borrow;      /* 1: use the caller's arrays where they already have the form needed (CSR, or CSC with transpose;
                                zero-based, rows sorted, no duplicates, general; ptr 64, indices 32 bits; values of the type stored);
                                they must then outlive the spmv_csr and not change */
    int         updatable;   /* 1: remember where each entry of val went, for spmv_csr_update */
} spmv_input;

/* CSR as most programs have it, with the type of its arrays checked by the compiler; csr64: with 64-bit pointers and indices. What is
 * different is set in the result (base = 1, symmetry, ...). Nothing is read or copied here: spmv_create reads the arrays and checks them.
 *   ptr  rows + 1: where each row begins in col and val, and behind the last of them the number of nonzeros
 *   val  NULL: every value is 1 */
SPMV_API spmv_input spmv_csr_f64(int64_t rows, int64_t cols, const int32_t *ptr, const int32_t *col, const double *val);
SPMV_API spmv_input spmv_csr_f32(int64_t rows, int64_t cols, const int32_t *ptr, const int32_t *col, const float *val);
SPMV_API spmv_input spmv_csr64_f64(int64_t rows, int64_t cols, const int64_t *ptr, const int64_t *col, const double *val);
SPMV_API spmv_input spmv_csr64_f32(int64_t rows, int64_t cols, const int64_t *ptr, const int64_t *col, const float *val);

/* ---- CSR ---------------------------------------------------------------------------------------------------------
 * The interchange form: zero-based, columns strictly rising within each row. Members may be read but not changed. The functions that make
 * one check it (spmv_csr_create, spmv_parts_to_csr, the readers). Of those that take one, the writers check all of it again, spmv_create
 * only that arrays are there and row pointers end at nnz. Arrays of your own go through spmv_csr_create. A zeroed one has no rows or
 * columns. */
typedef struct spmv_csr {
    uint64_t        rows, cols, nnz;
    const uint64_t *ptr;   /* rows + 1 */
    const uint32_t *col;   /* nnz */
    const void     *val;   /* nnz floats or doubles */
    spmv_type       type;  /* type of val: SPMV_F32 or SPMV_F64 */
    unsigned        owned; /* bits 0, 1, 2: ptr, col, val belong to this object */
    uint64_t       *from;  /* updatable: nonzero k is the sum of the caller's values order[from[k]] ... */
    uint64_t       *order; /* ... order[from[k+1]-1], negated where bit 63 (SPMV_NEGATED) is set; if both are NULL, nonzero k is the
                              caller's value k */
    uint64_t        source; /* how many values the caller gave */
    int             updatable;
    spmv_type       source_type;
    spmv_symmetry   symmetry; /* of the caller's arrays */
    spmv_hooks      hooks;
} spmv_csr;

#define SPMV_NEGATED ((uint64_t)1 << 63)

/* Makes a CSR matrix. Checks every pointer and index and logs the position of the first that is wrong. Takes time and memory
 * proportional to the entries and the rows; all memory for entries is allocated before the first is read. Columns, transposes and halves
 * are placed in threads, large ones by way of a copy if there is memory for it; rows are sorted only where entries come out of order or
 * twice.
 *   out     need not be initialised; zeroed on failure. Destroy it with spmv_csr_destroy
 *   in      the matrix; its arrays are copied unless it says borrow
 *   store   type of the values in out: SPMV_F64 or SPMV_F32 (SPMV_MIXED means SPMV_F32)
 *   hooks   copied into out
 * Threads: reentrant, but each call needs an out of its own. */
SPMV_API spmv_status spmv_csr_create(spmv_csr *out, const spmv_input *in, spmv_type store, const spmv_hooks *hooks);
/* Replaces the values; the pattern stays. val has the order, type and number of values of in->val at spmv_csr_create, so for a symmetric
 * matrix it holds one half. If the values are borrowed, val is borrowed in their place and must not be NULL; otherwise NULL sets every
 * value to 1. SPMV_ERR_FIXED if the matrix was not made updatable. For a skew-symmetric matrix, values on the diagonal must be zero;
 * otherwise the result is SPMV_ERR_ARGUMENT and nothing changes. Whether diagonal blocks of BSR are still symmetric is not checked. */
SPMV_API spmv_status spmv_csr_update(spmv_csr *a, const void *val);
/* Frees what the matrix owns and zeroes it. */
SPMV_API void spmv_csr_destroy(spmv_csr *a);

/* ===================================================== MORE ===================================================== */

/* ---- instruction sets ---------------------------------------------------------------------------------------------
 * X(NAME, "name", "description"): the levels of vector instructions for which products on the host are compiled. Only plain is there
 * if SPMV_NO_SIMD is defined, and with compilers other than gcc and clang. */
#define SPMV_SIMD_LIST(X)                                                     \
    X(BEST,   "best",   "the best level that the build and the machine have") \
    X(PLAIN,  "plain",  "standard C, for any processor")                      \
    X(AVX2,   "avx2",   "x86-64 with AVX2 and FMA, vectors of 32 bytes")      \
    X(NEON,   "neon",   "64-bit ARM, vectors of 16 bytes")

typedef enum spmv_simd {
#define X(NAME, name, text) SPMV_SIMD_##NAME,
    SPMV_SIMD_LIST(X)
#undef X
    SPMV_SIMD_COUNT
} spmv_simd;

/* The name of a level, for example "avx2"; "?" if it is none. */
SPMV_API const char *spmv_simd_name(spmv_simd simd);
/* The level of that name; SPMV_SIMD_COUNT if there is none, or if name is NULL. */
SPMV_API spmv_simd spmv_simd_from(const char *name);
/* 1 if the library was compiled with the level and this machine can run it. Always 1 for SPMV_SIMD_BEST and SPMV_SIMD_PLAIN. */
SPMV_API int spmv_simd_usable(spmv_simd simd);

/* ---- the format table --------------------------------------------------------------------------------------------
 * X(NAME, name, "description"). Every list of formats in these headers, the tools and the tests is generated from this one. Leaving
 * out a format (SPMV_ONLY) removes its functions but does not change the enum, so that units with different cuts
 * agree on every number.
 *
 * SPMV_FORMATS_EXTRA, a file name in quotes, adds a format of the user's own: the header that "spmvgen --target library" writes from its
 * description (Grewe and Lokhmotov 2011; formats/README.md). To add several, the file defines SPMV_EXTRA_LIST as the list of their
 * SPMV_<NAME>_FORMAT(X) and includes their headers. All units of a program must be compiled with the same file. */
enum { SPMV__PIECE_BYTES = 2048 }; /* of a piece of an embedded text: kernels, tuning tables */
#ifdef SPMV_FORMATS_EXTRA
#include SPMV_FORMATS_EXTRA
#else
#define SPMV_EXTRA_LIST(X)
#endif
#define SPMV_FORMAT_LIST(X)                                                                          \
    X(DENSE, dense, "every element, by rows (Kuresson 2012, 4)")                                     \
    X(COO,   coo,   "coordinates sorted by row (Kuresson 2012, 5; clSpMV 4.3.4)")                    \
    X(CSR,   csr,   "compressed sparse rows (Kuresson 2012, 7; clSpMV 4.3.3)")                       \
    X(DIA,   dia,   "diagonals (clSpMV 4.2.1; Kuresson 2012, 8)")                                    \
    X(BDIA,  bdia,  "bands of adjacent diagonals (clSpMV 4.2.2)")                                    \
    X(ELL,   ell,   "ELLPACK, column-major (clSpMV 4.3.1)")                                          \
    X(SELL,  sell,  "sliced ELLPACK (clSpMV 4.3.2)")                                                 \
    X(BELL,  bell,  "blocked ELLPACK (clSpMV 4.4.1)")                                                \
    X(SBELL, sbell, "sliced blocked ELLPACK (clSpMV 4.4.2)")                                         \
    X(BCSR,  bcsr,  "blocked CSR (clSpMV 4.4.3)")                                                    \
    X(CMRS,  cmrs,  "compressed multi-row storage (Koza et al. 2013)")                               \
    X(TCSR,  tcsr,  "CSR in tiles of equal size, for GPUs and irregular rows (after CSR5, Liu and Vinter 2015)") \
    SPMV_EXTRA_LIST(X)

typedef enum spmv_format {
#define X(NAME, name, text) SPMV_##NAME,
    SPMV_FORMAT_LIST(X)
#undef X
    SPMV_FORMAT_COUNT
} spmv_format;

/* 1 << the number of each format, for the preprocessor and SPMV_ONLY; the implementation checks them against the enum. */
#define SPMV_BIT_DENSE 1
#define SPMV_BIT_COO   2
#define SPMV_BIT_CSR   4
#define SPMV_BIT_DIA   8
#define SPMV_BIT_BDIA  16
#define SPMV_BIT_ELL   32
#define SPMV_BIT_SELL  64
#define SPMV_BIT_BELL  128
#define SPMV_BIT_SBELL 256
#define SPMV_BIT_BCSR  512
#define SPMV_BIT_CMRS  1024
#define SPMV_BIT_TCSR  2048

/* The name of a format, for example "ell"; "unknown" if there is no such format. */
SPMV_API const char *spmv_format_name(spmv_format format);
/* The format of that name; SPMV_FORMAT_COUNT if there is none. */
SPMV_API spmv_format spmv_format_from(const char *name);
/* 1 if the format is compiled in, 0 if it was left out or does not exist. */
SPMV_API int spmv_format_built(spmv_format format);

/* What a format can do, as flags. */
enum {
    SPMV_CAN_LIST  = 1, /* its rows may follow a row list */
    SPMV_HAS_FILL  = 2, /* it stores zeros between nonzeros and multiplies them by x: an Inf or NaN in x can cause a NaN in a row that
                           does not use that element. No plan uses such a format in strict mode */
    SPMV_ROW_BLOCK = 4, /* it stores blocks (key b) */
    SPMV_ADDS_ONLY = 8, /* its product can only add to y */
    SPMV_REPEATS   = 16, /* it has a reproducible product: each row is summed by fused multiply-adds in one fixed order, so that y is
                            bitwise the same on the host and on any device, whatever the group size or number of threads. In csr, 16
                            lanes each take every 16th entry of a row; in bcsr, 8 lanes each take every 8th block; the lanes are added
                            in a tree. All other formats add entry after entry. The sum of a part, unless it is 0, times alpha is then
                            added to the rounded beta y, again fused. This relies on IEEE arithmetic with subnormals, which compiler
                            options such as -ffast-math break */
    SPMV_LONG_ROWS = 32 /* many work-items of a device can share a row, which speeds up rows of thousands of nonzeros (clSpMV 3.2) */
};
/* The flags of a format; 0 if there is no such format. */
SPMV_API unsigned spmv_format_flags(spmv_format format);

/* Which formats compete for the same nonzeros (the categories of clSpMV 2; dense, which that paper lacks, has its own). */
typedef enum spmv_format_class {
    SPMV_CLASS_FLAT = 0, /* any nonzeros */
    SPMV_CLASS_DIAGONAL, /* diagonals that are mostly full */
    SPMV_CLASS_BLOCK,    /* small dense blocks; block sizes do not compete with each other */
    SPMV_CLASS_DENSE,    /* matrices that are mostly full */
    SPMV_CLASS_COUNT
} spmv_format_class;


/* ---- specification of a part -------------------------------------------------------------------------------------
 * X(KEY, key, kind). The keys and the matrix alone decide what a part takes and how it is laid out. Zero is the default of every
 * key. Kinds: INT a count, FRAC a fraction (held in millionths), BLOCK RxC (held as R*256+C), ROWS a word. */
#define SPMV_KEY_LIST(X)                                                                                      \
    X(W,     w,     INT)   /* ell, sell: take at most w entries of a row; bdia: bands at least w wide; 0: no limit */ \
    X(FILL,  fill,  FRAC)  /* ell, sell: take the widest part that is filled to this fraction (sell: a slice) */ \
    X(D,     d,     FRAC)  /* dia, bdia, block formats: take diagonals or blocks filled at least to this */   \
    X(B,     b,     BLOCK) /* block formats: block size, 0: 4x4 */                                            \
    X(H,     h,     INT)   /* sell, sbell: slice height, 0: 32; cmrs: strip height 1 2 4 8 16, 0: 4 */        \
    X(GROW,  grow,  FRAC)  /* sell: slices of varying height up to h, grown while padding stays under this */ \
    X(ROWS,  rows,  ROWS)  /* row list: all, nonempty, sorted (nonempty, by falling length) */                \
    X(SIGMA, sigma, INT)   /* rows=sorted: sort within windows of this many rows; 0: all rows */              \
    X(SORT,  sort,  INT)   /* cmrs: 1 sorts a strip's entries by column */                                    \
    X(WIDE,  wide,  INT)   /* cmrs: 1 stores row and column apart even where 28 bits hold a column */         \
    X(RUN,   run,   INT)   /* csr: cut into runs of whole rows with up to this many nonzeros; rows over 4 runs into pieces of run */ \
    X(IDX,   idx,   INT)   /* ell, sell, csr with run, tcsr, blocks: 16 stores columns as 16-bit offsets from a base, if all fit */ \
    X(TILE,  tile,  INT)   /* tcsr: slots of a tile, 512 1024 2048 or 4096; 0: 4096 */                        \
    X(VAL,   val,   INT)   /* all formats: 32 stores doubles as floats, if each of them is one exactly; on devices, 8 stores up to 256   \
                              values, zero among them where there is fill, as their numbers in a dictionary, and 1 a single value for all \
                              slots. Products are as without the key */ \
    X(ROWMAJOR, rowmajor, INT) /* ell: 1 stores row after row */

typedef enum spmv_key {
#define X(NAME, name, kind) SPMV_KEY_##NAME,
    SPMV_KEY_LIST(X)
#undef X
    SPMV_KEY_COUNT
} spmv_key;

/* Values of the key rows. */
enum { SPMV_ROWS_ALL, SPMV_ROWS_NONEMPTY, SPMV_ROWS_SORTED };

/* X(rows, columns, unit): the block sizes that the key b accepts; unit is the number of elements loaded at once. These are the sizes of
 * clSpMV, and 2x2, 3x3 and 6x6 for meshes with that many unknowns per node. */
#define SPMV_BLOCK_LIST(X) \
    X(1, 4, 4) X(2, 4, 4) X(4, 4, 4) X(8, 4, 4) X(1, 8, 4) X(2, 8, 4) X(4, 8, 4) X(8, 8, 4) X(2, 2, 2) X(3, 3, 3) X(6, 6, 2)

enum {
#define X(rows, cols, unit) + 1
    SPMV_BLOCK_SIZES = 0 SPMV_BLOCK_LIST(X)
#undef X
};

/* tcsr: a lane sums SPMV_TCSR_SLOTS slots, and SPMV_TCSR_LANES lanes are a warp. kernels/tcsr.cl has the same numbers. */
enum { SPMV_TCSR_SLOTS = 16, SPMV_TCSR_LANES = 32 };

/* Structs that describe something begin with a number or a pointer, so that "= {0}" initialises them in C++ as in C. */
typedef struct spmv_spec {
    int64_t     key[SPMV_KEY_COUNT];
    spmv_format format;
} spmv_spec;


/* ---- a stored part -----------------------------------------------------------------------------------------------
 * Some of a matrix's nonzeros in one format: a few integers and a few flat arrays, in the order in which the kernel takes them.
 * spmv_part_create makes one; what takes a part does not check what its arrays hold. Array 0 always holds the values. off is an
 * unsigned integer of 4 bytes if every offset fits, else of 8. SPMV_PAD marks padding in column arrays; x is never read for it. R is the
 * number of rows of the part (the length of the row list if there is one), S the number of block rows, ceil(R / bh). A unit is 1 x uw
 * elements of a block; a block has U = bh * bw / uw units.
 *
 *  format | integers n[]              | arrays a[] (values first)
 *  dense  |                           | val[R * cols] by rows
 *  coo    |                           | val[nnz], row u32[nnz], col u32[nnz]
 *  csr    | runs, longs               | val[nnz], ptr off[R+1], col u32[nnz]; with key run also: run_row u32[runs+1], the row where
 *         |                           |   each run begins; run_at off[runs+1], its first slot; one base per run; long_run
 *         |                           |   u32[longs], the first run of each row in pieces. A run is whole rows with up to run nonzeros
 *         |                           |   together, or one longer row; a row of over 4 * run nonzeros is cut into pieces of run
 *  dia    | diagonals, ld             | val[diagonals * ld]: element (d, row) at d * ld + row; offset i32[diagonals]: column - row, rising
 *  bdia   | bands, ld                 | val as in dia; offset i32[bands]: of the first diagonal of each band; band_ptr u32[bands+1]:
 *         |                           |   the number of diagonals before each band
 *  ell    | width, ld                 | val[width * ld]: k-th entry of row r at k * ld + r; col u32 likewise; one base per 32
 *         |                           |   rows. With key rowmajor ld is 1, val[R * width], and the entry is at r * width + k
 *  sell   | h, slices                 | h is at most R rounded up to 32
 *         |                           | val, ptr off[slices+1] in elements, col u32, slice_row u32[slices+1] if key grow
 *         |                           |   was given, else empty; one base per slice; k-th entry of row i of slice s at
 *         |                           |   ptr[s] + k * height + i; height is h, or slice_row[s+1] - slice_row[s]
 *  bell   | bh, bw, uw, width, ld     | val: element j of unit u of the k-th block of block row s at
 *         |                           |   ((k * U + u) * ld + s) * uw + j; col u32[width * ld]: first column of that block, at
 *         |                           |   k * ld + s; one base per 32 block rows
 *  sbell  | bh, bw, uw, h, slices     | val, ptr off[slices+1] in blocks, col u32[blocks]: k-th block of block row i of the
 *         |                           |   slice at ptr[s] + k * h + i; val: (ptr[s] * U + (k * U + u) * h + i) * uw + j;
 *         |                           |   one base per slice
 *  bcsr   | bh, bw, uw, blocks        | val: element j of unit u of block b at (u * blocks + b) * uw + j; ptr off[S+1], col
 *         |                           |   u32[blocks]: first column; one base per 32 block rows
 *  cmrs   | height, packed            | val[nnz], ptr off[strips+1], index u32[nnz]: column * 16 + row in the strip if packed,
 *         |                           |   else the column; row u8[nnz] if not packed, else empty
 *  tcsr   | tile, tiles, cuts,        | val[tile * tiles], col u32 likewise: the rows that are not empty, one after another. A row that
 *         |   empties                 |   does not fit into the rest of a tile begins in the next one if that rest is at most a 16th of the
 *         |                           |   tile; the rest is then padding, which repeats the column before it. Any other row that does not
 *         |                           |   fit is cut and goes on in the next tile. The lanes of a warp take 16 slots each, together 512.
 *         |                           |   flag u32 a lane: bit k is set if a row ends in slot k; the bits from 16 on count the rows that
 *         |                           |   end before it in the warp. end u32[warps+1]: rows that end before a warp. row u32: the row of
 *         |                           |   each end, no elements if no row is empty. piece u32[2 * tiles]: the first tile of the row that
 *         |                           |   goes on from the tile before, and the last tile of the row that goes on in the next; the tile
 *         |                           |   itself if there is none. cut u32[cuts]: the first tile of each row that is cut.
 *         |                           |   empty u32[empties]: the empty rows. With key idx=16 one base per warp, and the column of slot s
 *         |                           |   of a warp at s / 256 * 256 + s % 32 * 8 + s / 32 % 8, so that eight of a lane are adjacent.
 *         |                           |   high_at u32[warps+1]: how many warps before it have high bytes; high u8: 512 for each of those,
 *         |                           |   that of slot s at s % 32 * 16 + s / 32, so that a lane's 16 are adjacent. Both are empty if no
 *         |                           |   warp needs high bytes; if at least 3 of 4 do, all have them
 *
 * ld is R (bell: S) rounded up to 32, from 4096 on to an odd multiple of 32. uw is 4 if it divides bw, else 2, else 3.
 * With key idx=16, if every column fits, col is u16 and base (u32) is not empty: column = base + col (blocks: base + col * bw), and
 * 2^16 - 1 marks padding. The columns of tcsr fit if those of every warp span less than 2^23; where they span 2^16 or more, column =
 * base + col + high * 2^16. Formats of SPMV_FORMATS_EXTRA have the integers and arrays of their descriptions. */
#define SPMV_PAD 0xffffffffu
#define SPMV_PAD16 0xffffu
enum { SPMV_MAX_INTS = 5, SPMV_MAX_ARRAYS = 11 }; /* the most that any format has */

/* What the host knows of the rows of csr and coo, which decides how it sums them: nothing (mixed); most are as long as the row before
 * (alike); lengths are short and change unpredictably, so that a decision for each row would cost a mispredicted branch, and 64 rows are
 * taken at once (blocks); or most of the time will be spent in waiting for x (far). */
enum { SPMV__LENGTHS_MIXED, SPMV__LENGTHS_ALIKE, SPMV__LENGTHS_BLOCKS, SPMV__LENGTHS_FAR };

typedef struct spmv_array {
    void    *data;     /* count * width bytes; NULL if count is 0 */
    uint64_t count;    /* elements */
    uint32_t width;    /* bytes of an element: 1, 2, 4 or 8 */
    uint32_t borrowed; /* 1: belongs to the CSR matrix that the part was built from, or to the bytes of a saved one */
} spmv_array;

typedef struct spmv_part {
    spmv_spec  spec;
    spmv_type  type;
    spmv_type  product; /* whose products read the values as they are stored: mixed for doubles that are stored as floats, else type */
    int        codes;   /* a device stores 1: the numbers of values in a dictionary, 2: one value for all; 0: the values as they are */
    int        reproducible;
    uint64_t   rows;   /* R: rows of the part */
    uint64_t   cols;   /* columns of the whole matrix */
    uint64_t   nnz;    /* nonzeros held, including explicit zeros */
    uint64_t   n[SPMV_MAX_INTS];
    spmv_array a[SPMV_MAX_ARRAYS];
    spmv_array list;   /* u32[R]: the row of y for each row of the part; empty: row r is row r of y */
    spmv_array zeros;  /* u64: slots of val that hold explicit zeros, in rising order; formats with fill only */
    spmv_array map;    /* updatable: for each slot of val, 1 + the number of its nonzero in the CSR matrix; 0: no nonzero */
    spmv_simd  simd;    /* level of instructions of its product on the host; never SPMV_SIMD_BEST */
    uint64_t   longest; /* csr, coo: nonzeros of the longest row */
    int        lengths; /* csr, coo: what its rows are like, for the host's product (SPMV__LENGTHS_MIXED ...) */
    int        index;   /* in an spmv_store: the number of its part in the plan */
    struct spmv_elsewhere *elsewhere; /* NULL, or arrays that a device has filled, which have no data here (spmv/device.h) */
    spmv_hooks hooks;
} spmv_part;

/* The nonzeros of a CSR matrix that a part is to hold. What takes a view checks its rows. */
typedef struct spmv_view {
    const spmv_csr *a;
    const uint8_t  *owner; /* nnz bytes: nonzero k belongs to the part if owner[k] == part; NULL: all of them belong to it */
    unsigned        part;
    const uint32_t *list;  /* rows of the part, each at most once; NULL: all rows in order */
    uint64_t        rows;  /* length of list, or a->rows */
} spmv_view;

typedef struct spmv_converter spmv_converter;

typedef struct spmv_build {
    int       updatable;    /* 1: keep the map that spmv_part_update needs */
    spmv_type type;         /* what the product will compute in; must fit the value type of the CSR matrix */
    int       strict;       /* 1: refuse formats with fill */
    int       reproducible; /* 1: products are bitwise the same on the host and on every OpenCL device; see SPMV_REPEATS */
    int       borrow;       /* 1: csr may use the arrays of the CSR matrix, which must then outlive the part */
    spmv_simd simd;         /* level of instructions of products on the host; SPMV_ERR_UNSUPPORTED if it is not usable here */
    uint64_t  max_bytes;    /* refuse a part that would take more; 0: 16 times the CSR form plus 16 MiB */
    spmv_converter *converter; /* set by spmv_create: fills parts on a device (spmv/device.h); NULL: all arrays are filled on the host */
} spmv_build;

/* Stores nonzeros of a matrix in one format. Returns SPMV_ERR_TOO_LARGE, SPMV_ERR_STRICT or SPMV_ERR_UNSUPPORTED if the format cannot
 * hold them under these settings.
 *   out     need not be initialised; zeroed on failure. Destroy it with spmv_part_destroy
 *   spec    the format and its keys
 *   view    the nonzeros and the rows; not needed after the call unless the part borrows from view->a
 *   how     settings, such as the type and the limit of memory
 *   hooks   copied into out */
SPMV_API spmv_status spmv_part_create(spmv_part *out, const spmv_spec *spec, const spmv_view *view,
                                      const spmv_build *how, const spmv_hooks *hooks);
/* Replaces the part's values. val holds all values of the CSR matrix that the part was built from, in its order and value type.
 * SPMV_ERR_FIXED if the part was not made updatable. Does nothing to a part that a device filled. */
SPMV_API spmv_status spmv_part_update(spmv_part *p, const void *val);
/* Frees what the part owns and zeroes it. */
SPMV_API void spmv_part_destroy(spmv_part *p);
/* Bytes of the part that a product reads: its arrays and its row list. */
SPMV_API uint64_t spmv_part_bytes(const spmv_part *p);
/* Slots of val: stored elements, including padding and fill. */
SPMV_API uint64_t spmv_part_slots(const spmv_part *p);

/* Makes the CSR matrix that some parts hold together. It has as many columns as each part has, or 0 without parts. Explicit zeros
 * are kept; fill and padding are not.
 *   out     need not be initialised; zeroed on failure. Destroy it with spmv_csr_destroy
 *   rows    rows of the matrix
 *   parts   parts of the same type and number of columns. SPMV_ERR_DUPLICATE if two of them hold an element at the same place
 *   count   number of parts
 *   hooks   copied into out */
SPMV_API spmv_status spmv_parts_to_csr(spmv_csr *out, uint64_t rows, const spmv_part *parts, size_t count,
                                       const spmv_hooks *hooks);

/* ---- products on the host ----------------------------------------------------------------------------------------- */

/* Computes y = alpha A x + beta y on the host, for the rows of the part. The bits of y do not depend on the number of threads.
 *   p       the part A
 *   alpha   0: neither A nor x is read
 *   x       as many elements of the vector type as the matrix has columns
 *   beta    0: y is not read. Must be 1 for coo (SPMV_ADDS_ONLY)
 *   y       as many elements of the vector type as the matrix has rows, or the part has without a row list. SPMV_ERR_ARGUMENT where x
 *           is read and overlaps the first p->rows of them
 * Threads: any number may multiply by the same part at a time, each with a y of its own. */
SPMV_API spmv_status spmv_part_mul(const spmv_part *p, double alpha, const void *x, double beta, void *y);

/* ---- what follows a product ---------------------------------------------------------------------------------------
 * z = y + gamma w and sums of products of elements, from the y of a product, in one more pass: on a device one launch, in the queue.
 * For solvers, whose next step needs these numbers: they stay in the device's memory. */

/* Sums over all elements, in the order in which spmv_tail.sums has them. Those with x need a square matrix. */
enum {
    SPMV_DOT_XY = 1,
    SPMV_DOT_YY = 2,
    SPMV_DOT_WY = 4,
    SPMV_DOT_XX = 8,
    SPMV_DOT_ZZ = 16, /* of y + gamma w, also without z */
    SPMV_DOT_COUNT = 5
};

/* Vectors have as many elements as y, of the vectors' type, and lie in host memory for spmv_mul_tail; for spmv_exec_mul_tail they are
 * buffers. They begin at an offset, in elements. The order of additions follows from their length alone: the same product gives the same
 * bits with any number of threads, and a reproducible one on all devices. */
typedef struct spmv_tail {
    const void *w;      /* needed where gamma is not 0 and z or SPMV_DOT_ZZ is wanted, and for SPMV_DOT_WY */
    void       *z;      /* x, y, w, or a vector that overlaps none of those that are read, else SPMV_ERR_ARGUMENT; NULL: none */
    uint64_t    w_offset, z_offset;
    double      gamma;  /* 0: w is not read for z */
    unsigned    dots;   /* which sums: SPMV_DOT_XY | SPMV_DOT_YY; 0: none */
    void       *sums;   /* SPMV_DOT_COUNT elements of the vectors' type, apart from all others: element 0 gets x.y, 1 y.y, 2 w.y, 3 x.x and
                           4 z.z, each if it is wanted; may be NULL if none is */
    uint64_t    sums_offset;
} spmv_tail;

/* ---- CMRS in place (Koza et al. 2013, 3) ---------------------------------------------------------------------------
 * Converts the arrays of a CSR matrix to CMRS and back without further memory. The order of the entries stays, so val needs no change.
 * Nothing is changed on failure.
 *   rows       rows of the matrix
 *   height     rows of a strip: 1, 2, 4, 8 or 16
 *   ptr        rows + 1 row pointers; in CMRS, the strip pointers take the first ceil(rows / height) + 1 entries
 *   ptr_bits   size of a pointer: 32 or 64
 *   col        column of each entry; in CMRS, column * 16 + row in the strip. Columns must be below 2^28, else SPMV_ERR_OVERFLOW
 * SPMV_ERR_INDEX if the pointers do not begin with 0 or fall. spmv_cmrs_to_csr returns SPMV_ERR_ARGUMENT for a strip that was sorted by
 * column (key sort), whose rows are no longer together. */
SPMV_API spmv_status spmv_csr_to_cmrs(uint64_t rows, int height, void *ptr, int ptr_bits, uint32_t *col);
SPMV_API spmv_status spmv_cmrs_to_csr(uint64_t rows, int height, void *ptr, int ptr_bits, uint32_t *col);

/* ---- where products run ------------------------------------------------------------------------------------------
 * X(NAME, "name"): the classes of devices that tuning tables and estimates distinguish. */
#define SPMV_DEVICE_CLASS_LIST(X)                    \
    X(HOST, "host") /* this process, by the functions of these headers */ \
    X(GPU,  "gpu")                                   \
    X(CPU,  "cpu")  /* any OpenCL device that is not a GPU */

typedef enum spmv_device_class {
#define X(NAME, name) SPMV_DEVICE_CLASS_##NAME,
    SPMV_DEVICE_CLASS_LIST(X)
#undef X
    SPMV_DEVICE_CLASS_COUNT
} spmv_device_class;

/* The name of a device class, for example "gpu"; "unknown" if there is no such class. */
SPMV_API const char *spmv_device_class_name(spmv_device_class kind);

/* ====================================== FOR AUTHORS OF FORMATS AND TOOLS ======================================= */

/* ---- the integers and arrays of a part, by name -------------------------------------------------------------------
 * For example p->n[SPMV_ELL_WIDTH] and p->a[SPMV_ELL_COL]. Every list of a format's integers and arrays is generated from these, in
 * the order of the table under "a stored part".
 * Integers: X(FORMAT, NAME, "name"), with the name that the integer has in the kernel. A name in capital letters is a macro, known
 * when the kernel is compiled; one in small letters is an argument. Arrays: X(FORMAT, NAME). */
#define SPMV_DENSE_INTS(X)
#define SPMV_COO_INTS(X)
#define SPMV_CSR_INTS(X)   X(CSR, RUNS, "runs") X(CSR, LONGS, "longs")
#define SPMV_DIA_INTS(X)   X(DIA, DIAGONALS, "diagonals") X(DIA, LD, "ld")
#define SPMV_BDIA_INTS(X)  X(BDIA, BANDS, "bands") X(BDIA, LD, "ld")
#define SPMV_ELL_INTS(X)   X(ELL, WIDTH, "width") X(ELL, LD, "ld")
#define SPMV_SELL_INTS(X)  X(SELL, H, "H") X(SELL, SLICES, "slices")
#define SPMV_BELL_INTS(X)  X(BELL, BH, "BH") X(BELL, BW, "BW") X(BELL, UW, "UW") X(BELL, WIDTH, "width") X(BELL, LD, "ld")
#define SPMV_SBELL_INTS(X) X(SBELL, BH, "BH") X(SBELL, BW, "BW") X(SBELL, UW, "UW") X(SBELL, H, "H") X(SBELL, SLICES, "slices")
#define SPMV_BCSR_INTS(X)  X(BCSR, BH, "BH") X(BCSR, BW, "BW") X(BCSR, UW, "UW") X(BCSR, BLOCKS, "blocks")
#define SPMV_CMRS_INTS(X)  X(CMRS, HEIGHT, "HEIGHT") X(CMRS, PACKED, "PACKED")
#define SPMV_TCSR_INTS(X)  X(TCSR, TILE, "TILE") X(TCSR, TILES, "tiles") X(TCSR, CUTS, "cuts") X(TCSR, EMPTIES, "empties")

#define SPMV_DENSE_ARRAYS(X) X(DENSE, VAL)
#define SPMV_COO_ARRAYS(X)   X(COO, VAL) X(COO, ROW) X(COO, COL)
#define SPMV_CSR_ARRAYS(X) \
    X(CSR, VAL) X(CSR, PTR) X(CSR, COL) X(CSR, RUN_ROW) X(CSR, RUN_AT) X(CSR, BASE) X(CSR, LONG_RUN)
#define SPMV_DIA_ARRAYS(X)   X(DIA, VAL) X(DIA, OFFSET)
#define SPMV_BDIA_ARRAYS(X)  X(BDIA, VAL) X(BDIA, OFFSET) X(BDIA, BAND_PTR)
#define SPMV_ELL_ARRAYS(X)   X(ELL, VAL) X(ELL, COL) X(ELL, BASE)
#define SPMV_SELL_ARRAYS(X)  X(SELL, VAL) X(SELL, PTR) X(SELL, COL) X(SELL, SLICE_ROW) X(SELL, BASE)
#define SPMV_BELL_ARRAYS(X)  X(BELL, VAL) X(BELL, COL) X(BELL, BASE)
#define SPMV_SBELL_ARRAYS(X) X(SBELL, VAL) X(SBELL, PTR) X(SBELL, COL) X(SBELL, BASE)
#define SPMV_BCSR_ARRAYS(X)  X(BCSR, VAL) X(BCSR, PTR) X(BCSR, COL) X(BCSR, BASE)
#define SPMV_CMRS_ARRAYS(X)  X(CMRS, VAL) X(CMRS, PTR) X(CMRS, INDEX) X(CMRS, ROW)
#define SPMV_TCSR_ARRAYS(X) \
    X(TCSR, VAL) X(TCSR, COL) X(TCSR, FLAG) X(TCSR, END) X(TCSR, ROW) X(TCSR, PIECE) X(TCSR, CUT) X(TCSR, EMPTY) X(TCSR, BASE) \
    X(TCSR, HIGH_AT) X(TCSR, HIGH)

#define SPMV__INT(FORMAT, NAME, name) SPMV_##FORMAT##_##NAME,
#define SPMV__ARRAY(FORMAT, NAME) SPMV_##FORMAT##_##NAME,
#define X(NAME, name, text)                                           \
    enum { SPMV_##NAME##_INTS(SPMV__INT) SPMV_##NAME##_INT_COUNT };    \
    enum { SPMV_##NAME##_ARRAYS(SPMV__ARRAY) SPMV_##NAME##_ARRAY_COUNT };
SPMV_FORMAT_LIST(X)
#undef X
/* What formats have in common: array 0 holds the values; in block formats, the first three integers describe a block. */
enum { SPMV_VAL = 0 };
enum { SPMV_BLOCK_BH = 0, SPMV_BLOCK_BW, SPMV_BLOCK_UW };

/* ---- layouts -----------------------------------------------------------------------------------------------------
 * The plans of one part of each format that are worth measuring, for example "sell:h=8". */

/* Returns the number of layouts of a format and sets *out to them: the one without keys first (block formats: all sizes, in the order
 * of SPMV_BLOCK_LIST). 0 and NULL if the format is not compiled in. The array lives as long as the program. out may be NULL. */
SPMV_API size_t spmv_format_layouts(spmv_format format, const char *const **out);

/* ---- features ----------------------------------------------------------------------------------------------------
 * Properties of a matrix by which the choice weighs plans, and from which the size of a part is estimated without building it
 * (clSpMV 3.3). */

/* A diagonal or a block is dense if such a share of its places or more hold nonzeros. Where a part of dense ones pays at all, the time
 * hardly depends on it: it saves columns of 4 bytes for each slot, and a slot has 4 or 8. */
#define SPMV_FILL_DENSE 0.6

typedef struct spmv_block_features {
    int      bh, bw;
    double   sampled;                    /* share of the nonzeros that were examined; 0: none, and nothing below is known */
    double   blocks, widest, slots;      /* all blocks; the most in any block row examined; slots of sbell with the default height */
    int      least;                      /* nonzeros of a dense block */
    double   dense, dense_nnz;           /* dense blocks, and their nonzeros */
    double   dense_widest, dense_slots;  /* as widest and slots, of dense blocks alone */
} spmv_block_features;

typedef struct spmv_features {
    uint64_t rows, cols, nnz;
    uint64_t longest, empty;             /* nonzeros of the longest row; number of empty rows */
    double   mean, deviation;            /* of row lengths: the mean over all rows, the standard deviation over nonempty rows */
    double   uneven;                     /* the share of rows, in a sample, not as long as the row before, 8 or more being 8; for products
                                            on devices: standard deviation over mean of the nonempty rows, capped at 64 means */
    double   gather;                     /* 0: neighbouring nonzeros share cache lines of x; 1: each needs one of its own; by the device */
    uint64_t diagonals;                  /* that hold nonzeros */
    int      diagonals_sampled;          /* 1: the features of diagonals are those of a sample, which may lack diagonals */
    uint64_t dense_diagonals, dense_diagonals_nnz; /* dense ones, and their nonzeros */
    spmv_block_features block[SPMV_BLOCK_SIZES];
} spmv_features;

/* ---- small helpers shared by the headers ------------------------------------------------------------------------- */

/* Allocates count * size bytes through the hooks. NULL if that is 0, too large for size_t, or not available. */
SPMV_API void *spmv_alloc(const spmv_hooks *hooks, uint64_t count, uint64_t size);
/* Frees a block of spmv_alloc through the same hooks. */
SPMV_API void spmv_free(const spmv_hooks *hooks, void *block);
/* Makes compilers check the arguments from number first onwards against the format, which is argument number text. On mingw, gcc would
 * take plain printf to mean Microsoft's conversions. */
#if defined(__clang__)
#  define SPMV__PRINTF(text, first) __attribute__((format(printf, text, first)))
#elif defined(__GNUC__)
#  define SPMV__PRINTF(text, first) __attribute__((format(gnu_printf, text, first)))
#else
#  define SPMV__PRINTF(text, first)
#endif

/* Passes a message to hooks->log and returns s. format is as for printf, with %s, %c, %d, %u, %f and %%, the length modifiers l and ll, and
 * a precision of up to 9 digits for %f (6 by default): "%llu", "%.2f", "%.*f". From the first other conversion on, the format is
 * copied unchanged. The result does not depend on the locale. Messages are cut at 4095 bytes; from 512 on they take memory, and are cut
 * there if there is none. */
SPMV__PRINTF(3, 4) SPMV_API spmv_status spmv_log(const spmv_hooks *hooks, spmv_status s, const char *format, ...);
/* Writes such a text into a buffer of size bytes, cut and terminated as snprintf does; out may be NULL if size is 0. Returns the length
 * of the whole text without its terminator. */
SPMV__PRINTF(3, 4) SPMV_API size_t spmv_print(char *out, size_t size, const char *format, ...);

#ifdef __cplusplus
}
#endif
#endif /* SPMV_FORMATS_H */

#ifdef SPMV_IMPLEMENTATION /* outside the guard: the bodies may be wanted later than the interface */
#include "spmv/host.h"
#include "spmv/tail.h"
#endif
