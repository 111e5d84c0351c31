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
 * A matrix is stored   spmv_input --spmv_csr_from--> spmv_csr --spmv_part_build--> spmv_part
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
 *   SPMV_NO_OPENCL        leave out OpenCL: neither its headers nor its library is needed. CUDA stays, unless it is left out as well
 *   SPMV_NO_CUDA          leave out CUDA, which needs nothing to build but -ldl before glibc 2.34
 *   SPMV_CUDA_NO_OVERLAP  let no kernel of CUDA start before the one in front of it has ended (spmv_cuda.h)
 *   SPMV_API              written before the declaration of every public function, such as a storage class; default: nothing
 *   SPMV_STATIC           make every function static (then each unit that uses the library needs SPMV_IMPLEMENTATION)
 *   SPMV_ASSERT(x)        default: assert of <assert.h>
 *   SPMV_MALLOC, SPMV_REALLOC, SPMV_FREE   define all three or none; default: those of the C library. An allocator with a pointer of
 *                         yours goes to spmv_hooks instead
 *   SPMV_THREADS(), SPMV_PARALLEL(task, job, count)   define both or none: threads of your own, see below
 *   SPMV_NO_STDIO         do not use <stdio.h>: messages go only to the log callback
 *   SPMV_NO_F64           leave out f64 and mixed products
 *   SPMV_REPRODUCIBLE     also compile the reproducible host products, which call fma and fmaf of libm (-lm)
 *   SPMV_NO_SIMD          leave out the host products with vector instructions (spmv_simd)
 *   SPMV_AVX512           compile those for AVX-512 as well; so far they were not faster than those for AVX2 (docs/measurements.md, M1)
 *   SPMV_NO_AUTO          leave out the choice of a plan and its tuning tables; without a plan, "csr" is used
 *   SPMV_NO_TUNING        leave out the tuning tables: plans are chosen by the bytes that they move alone
 *   SPMV_NO_ELL, SPMV_NO_BDIA, ...   leave a format out
 *   SPMV_ONLY             keep only these formats, e.g. -DSPMV_ONLY=SPMV_BIT_CSR+SPMV_BIT_SELL
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
 * library then starts no thread of its own. Without OpenMP, the plan "measure" goes by the time of all processors: set hints.clock.
 *
 * If you only want the interface, stop at "END OF THE INTERFACE".
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
 * size 0). Functions that free or close do nothing with NULL. Functions that return no status treat NULL as a zeroed object: they
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
    X(UPLOAD,  "upload",     "copying to a device, with all that is neither of the others")     \
    X(BUILD,   "building",   "making the programs of a device: compiling them or loading them")

typedef enum spmv_phase {
#define X(NAME, name, text) SPMV_PHASE_##NAME,
    SPMV_PHASE_LIST(X)
#undef X
    SPMV_PHASE_COUNT
} spmv_phase;

/* The name of a phase, for example "conversion"; "unknown" if there is no such phase. */
SPMV_API const char *spmv_phase_name(spmv_phase p);

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
    void (*phase)(void *user, spmv_phase p);
    int part; /* set by the library: its messages begin with this part of a plan; 0: with none */
} spmv_hooks;

/* ---- types -------------------------------------------------------------------------------------------------------
 * What a product computes in. Values are those of the matrix; vectors are x and y. Sums are formed in the type of the vectors. A type that
 * is left out, zero, is f64, but for spmv_input.val_type. */
typedef enum spmv_type {
    SPMV_F64 = 1, /* double values, double vectors (the default) */
    SPMV_F32,     /* float values, float vectors */
    SPMV_MIXED,   /* float values, double vectors: two thirds of the bytes of f64 */
    SPMV_TYPE_COUNT
} spmv_type;

/* The name of a type, "f64", "f32" or "mixed"; "unknown" if there is no such type. */
SPMV_API const char *spmv_type_name(spmv_type t);
/* The type of that name; SPMV_TYPE_COUNT if there is none. */
SPMV_API spmv_type spmv_type_from(const char *name);
/* Bytes of one value of the matrix. */
SPMV_API size_t spmv_value_size(spmv_type t);
/* Bytes of one element of x or y. */
SPMV_API size_t spmv_vector_size(spmv_type t);

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

/* ---- CSR ---------------------------------------------------------------------------------------------------------
 * The interchange form: zero-based, columns strictly rising within each row. Members may be read but not changed. The functions that make
 * one check it (spmv_csr_from, spmv_parts_to_csr, the readers). Of those that take one, the writers check all of it again, spmv_create only
 * that arrays are there and row pointers end at nnz. Arrays of your own go through spmv_csr_from. A zeroed one has no rows or columns. */
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
 * are placed in threads; rows are sorted only where entries come out of order or twice.
 *   out     need not be initialised; zeroed on failure. Free it with spmv_csr_free
 *   in      the matrix; its arrays are copied unless it says borrow
 *   store   type of the values in out: SPMV_F64 or SPMV_F32 (SPMV_MIXED means SPMV_F32)
 *   hooks   copied into out
 * Threads: reentrant, but each call needs an out of its own. */
SPMV_API spmv_status spmv_csr_from(spmv_csr *out, const spmv_input *in, spmv_type store, const spmv_hooks *hooks);
/* Replaces the values; the pattern stays. val has the order, type and number of values of in->val at spmv_csr_from, so for a symmetric
 * matrix it holds one half. If the values are borrowed, val is borrowed in their place and must not be NULL; otherwise NULL sets every
 * value to 1. SPMV_ERR_FIXED if the matrix was not made updatable. For a skew-symmetric matrix, values on the diagonal must be zero;
 * otherwise the result is SPMV_ERR_ARGUMENT and nothing changes. Whether diagonal blocks of BSR are still symmetric is not checked. */
SPMV_API spmv_status spmv_csr_update(spmv_csr *a, const void *val);
/* Frees what the matrix owns and zeroes it. */
SPMV_API void spmv_csr_free(spmv_csr *a);

/* ===================================================== MORE ===================================================== */

/* ---- instruction sets ---------------------------------------------------------------------------------------------
 * X(NAME, "name", "description"): the levels of vector instructions for which products on the host are compiled. Only plain is there
 * if SPMV_NO_SIMD is defined, and with compilers other than gcc and clang. */
#define SPMV_SIMD_LIST(X)                                                     \
    X(BEST,   "best",   "the best level that the build and the machine have") \
    X(PLAIN,  "plain",  "standard C, for any processor")                      \
    X(AVX2,   "avx2",   "x86-64 with AVX2 and FMA, vectors of 32 bytes")      \
    X(AVX512, "avx512", "x86-64 with AVX-512F, in builds with SPMV_AVX512")   \
    X(NEON,   "neon",   "64-bit ARM, vectors of 16 bytes")

typedef enum spmv_simd {
#define X(NAME, name, text) SPMV_SIMD_##NAME,
    SPMV_SIMD_LIST(X)
#undef X
    SPMV_SIMD_COUNT
} spmv_simd;

/* The name of a level, for example "avx2"; "?" if it is none. */
SPMV_API const char *spmv_simd_name(spmv_simd s);
/* The level of that name; SPMV_SIMD_COUNT if there is none, or if name is NULL. */
SPMV_API spmv_simd spmv_simd_from(const char *name);
/* 1 if the library was compiled with the level and this machine can run it. Always 1 for SPMV_SIMD_BEST and SPMV_SIMD_PLAIN. */
SPMV_API int spmv_simd_usable(spmv_simd s);

/* ---- the format table --------------------------------------------------------------------------------------------
 * X(NAME, name, "description"). Every list of formats in these headers, the tools and the tests is generated from this one. Leaving
 * out a format (SPMV_NO_<NAME>, SPMV_ONLY) removes its functions but does not change the enum, so that units with different cuts
 * agree on every number.
 *
 * SPMV_FORMATS_EXTRA, a file name in quotes, adds a format of the user's own: the header that "spmvgen --target library" writes from its
 * description (Grewe and Lokhmotov 2011; formats/README.md). To add several, the file defines SPMV_EXTRA_LIST as the list of their
 * SPMV_<NAME>_FORMAT(X) and includes their headers. All units of a program must be compiled with the same file. */
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
SPMV_API const char *spmv_format_name(spmv_format f);
/* Its description in the table above. */
SPMV_API const char *spmv_format_text(spmv_format f);
/* The format of that name; SPMV_FORMAT_COUNT if there is none. */
SPMV_API spmv_format spmv_format_from(const char *name);
/* 1 if the format is compiled in, 0 if it was left out or does not exist. */
SPMV_API int spmv_format_built(spmv_format f);

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
SPMV_API unsigned spmv_format_flags(spmv_format f);

/* Which formats compete for the same nonzeros (the categories of clSpMV 2; dense, which that paper lacks, has its own). */
typedef enum spmv_format_class {
    SPMV_CLASS_FLAT = 0, /* any nonzeros */
    SPMV_CLASS_DIAGONAL, /* diagonals that are mostly full */
    SPMV_CLASS_BLOCK,    /* small dense blocks; block sizes do not compete with each other */
    SPMV_CLASS_DENSE,    /* matrices that are mostly full */
    SPMV_CLASS_COUNT
} spmv_format_class;

/* The class of a format, whether or not it is compiled in; SPMV_CLASS_COUNT if there is no such format. */
SPMV_API spmv_format_class spmv_format_class_of(spmv_format f);

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
    X(COLS,  cols,  INT)   /* all formats: take only nonzeros in the first so many columns; 0: in all columns */

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

/* 1 if the format understands the key. */
SPMV_API int spmv_format_takes_key(spmv_format f, spmv_key k);
/* Checks every key of a specification against the format. Returns SPMV_ERR_ARGUMENT or SPMV_ERR_UNSUPPORTED with the reason in *why,
 * a string that lives as long as the program; *why is NULL on success. why may be NULL. */
SPMV_API spmv_status spmv_spec_check(const spmv_spec *spec, const char **why);

/* ---- a stored part -----------------------------------------------------------------------------------------------
 * Some of a matrix's nonzeros in one format: a few integers and a few flat arrays, in the order in which the kernel takes them.
 * spmv_part_build makes one; what takes a part does not check what its arrays hold. Array 0 always holds the values. off is an
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
 *         |                           |   rows
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
    uint32_t borrowed; /* 1: belongs to the CSR matrix that the part was built from */
} spmv_array;

typedef struct spmv_part {
    spmv_spec  spec;
    spmv_type  type;
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
    struct spmv_elsewhere *elsewhere; /* NULL, or arrays that a device has filled, which have no data here (spmv_convert.h) */
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
    spmv_converter *converter; /* fills parts on a device (spmv_convert.h); NULL: all arrays are filled on the host */
} spmv_build;

/* Stores nonzeros of a matrix in one format. Returns SPMV_ERR_TOO_LARGE, SPMV_ERR_STRICT or SPMV_ERR_UNSUPPORTED if the format cannot
 * hold them under these settings.
 *   out     need not be initialised; zeroed on failure. Free it with spmv_part_free
 *   spec    the format and its keys
 *   view    the nonzeros and the rows; not needed after the call unless the part borrows from view->a
 *   how     settings, such as the type and the limit of memory
 *   hooks   copied into out */
SPMV_API spmv_status spmv_part_build(spmv_part *out, const spmv_spec *spec, const spmv_view *view,
                                     const spmv_build *how, const spmv_hooks *hooks);
/* Replaces the part's values. val holds all values of the CSR matrix that the part was built from, in its order and value type.
 * SPMV_ERR_FIXED if the part was not made updatable. Does nothing to a part that a device filled; spmv_converter_update does. */
SPMV_API spmv_status spmv_part_update(spmv_part *p, const void *val);
/* Frees what the part owns and zeroes it. */
SPMV_API void spmv_part_free(spmv_part *p);
/* Bytes of the part that a product reads: its arrays and its row list. */
SPMV_API uint64_t spmv_part_bytes(const spmv_part *p);
/* Slots of val: stored elements, including padding and fill. */
SPMV_API uint64_t spmv_part_slots(const spmv_part *p);

/* Makes the CSR matrix that some parts hold together. It has as many columns as each part has, or 0 without parts. Explicit zeros
 * are kept; fill and padding are not.
 *   out     need not be initialised; zeroed on failure. Free it with spmv_csr_free
 *   rows    rows of the matrix
 *   parts   parts of the same type and number of columns. SPMV_ERR_DUPLICATE if two of them hold an element at the same place
 *   count   number of parts
 *   hooks   copied into out */
SPMV_API spmv_status spmv_parts_to_csr(spmv_csr *out, uint64_t rows, const spmv_part *parts, size_t count,
                                       const spmv_hooks *hooks);

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
SPMV_API const char *spmv_device_class_name(spmv_device_class c);
/* The class of that name; SPMV_DEVICE_CLASS_COUNT if there is none. */
SPMV_API spmv_device_class spmv_device_class_from(const char *name);

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
SPMV_API size_t spmv_format_layouts(spmv_format f, const char *const **out);

/* ---- features ----------------------------------------------------------------------------------------------------
 * Properties of a matrix by which the choice weighs plans, and from which the size of a part is estimated without building it
 * (clSpMV 3.3: histograms over diagonals, blocks and rows). spmv_features_make of spmv_features.h computes them. */
enum { SPMV_FILL_BINS = 64 };

typedef struct spmv_block_features {
    int      bh, bw;
    double   sampled;                    /* share of the nonzeros that were examined; 0: none, and nothing below is known */
    double   blocks, widest, slots;      /* all blocks; the most in any block row examined; slots of sbell with the default height */
    double   error;                      /* the most that is the standard error of slots, as a share of them; 0: all blocks were counted */
    double   at[SPMV_FILL_BINS + 1];     /* at[n]: blocks with exactly n nonzeros */
} spmv_block_features;

typedef struct spmv_features {
    uint64_t rows, cols, nnz;
    uint64_t longest, empty;             /* nonzeros of the longest row; number of empty rows */
    double   mean, deviation;            /* of row lengths: the mean over all rows, the standard deviation over nonempty rows */
    double   sigma;                      /* standard deviation of all row lengths over the square root of their mean (Koza et al. 2013) */
    double   uneven;                     /* standard deviation over mean of the nonempty rows, lengths being capped at 64 means */
    double   gather;                     /* 0: neighbouring nonzeros share cache lines of x; 1: each nonzero needs a line of its own */
    uint64_t diagonals, bands;           /* diagonals that hold nonzeros; groups of adjacent ones */
    int      diagonals_sampled;          /* 1: the features of diagonals are those of a sample, which may lack diagonals */
    double   diagonals_error;            /* the most that is the standard error of the share to which a diagonal is filled; 0: counted */
    double   diagonal_nnz[SPMV_FILL_BINS + 1], diagonal_count[SPMV_FILL_BINS + 1]; /* [n]: of diagonals filled n/64 to (n+1)/64 */
    spmv_block_features block[SPMV_BLOCK_SIZES];
} spmv_features;

/* ---- small helpers shared by the headers ------------------------------------------------------------------------- */

/* Allocates count * size bytes through the hooks. NULL if that is 0, too large for size_t, or not available. */
SPMV_API void *spmv_alloc(const spmv_hooks *h, uint64_t count, uint64_t size);
/* Frees a block of spmv_alloc through the same hooks. */
SPMV_API void spmv_free(const spmv_hooks *h, void *block);
/* Makes compilers check the arguments from number first onwards against the format, which is argument number text. On mingw, gcc would
 * take plain printf to mean Microsoft's conversions. */
#if defined(__clang__)
#  define SPMV__PRINTF(text, first) __attribute__((format(printf, text, first)))
#elif defined(__GNUC__)
#  define SPMV__PRINTF(text, first) __attribute__((format(gnu_printf, text, first)))
#else
#  define SPMV__PRINTF(text, first)
#endif

/* Passes a message to h->log and returns s. format is as for printf, with %s, %c, %d, %u, %f and %%, the length modifiers l and ll, and
 * a precision of up to 9 digits for %f (6 by default): "%llu", "%.2f", "%.*f". From the first other conversion on, the format is
 * copied unchanged. The result does not depend on the locale. Messages are cut at 4095 bytes; from 512 on they take memory, and are cut
 * there if there is none. */
SPMV__PRINTF(3, 4) SPMV_API spmv_status spmv_log(const spmv_hooks *h, spmv_status s, const char *format, ...);
/* Writes such a text into a buffer of size bytes, cut and terminated as snprintf does; out may be NULL if size is 0. Returns the length
 * of the whole text without its terminator. */
SPMV__PRINTF(3, 4) SPMV_API size_t spmv_print(char *out, size_t size, const char *format, ...);

#ifdef __cplusplus
}
#endif
#endif /* SPMV_FORMATS_H */
/* ============================================ END OF THE INTERFACE ============================================== */

#if defined(SPMV_IMPLEMENTATION) && !defined(SPMV_FORMATS_IMPLEMENTED)
#define SPMV_FORMATS_IMPLEMENTED

#include <stdarg.h>
#include <string.h>
#ifndef SPMV_NO_STDIO
#include <stdio.h>
#endif
#ifndef SPMV_ASSERT
#include <assert.h>
#define SPMV_ASSERT(x) assert(x)
#endif
#if !defined(SPMV_MALLOC) && !defined(SPMV_REALLOC) && !defined(SPMV_FREE)
#include <stdlib.h>
#define SPMV_MALLOC(n) malloc(n)
#define SPMV_REALLOC(p, n) realloc(p, n)
#define SPMV_FREE(p) free(p)
#elif !defined(SPMV_MALLOC) || !defined(SPMV_REALLOC) || !defined(SPMV_FREE)
#error "define all of SPMV_MALLOC, SPMV_REALLOC and SPMV_FREE, or none"
#else
#define SPMV__OWN_MALLOC
#endif

/* On Linux, large arrays are put into large pages where the system allows that: a fresh page of 4 KiB costs up to 3 us, which is more than
 * a product needs to read what fits into it. Allocators of the user's own are left alone. */
#if defined(__linux__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(SPMV__OWN_MALLOC)
#include <sys/mman.h>
#define SPMV__LARGE_PAGES
#if !defined(__cplusplus) && !defined(MADV_HUGEPAGE) /* strict C99 hides these; they are part of the system's binary interface */
extern int madvise(void *address, size_t bytes, int advice);
#define SPMV__HUGEPAGE 14
#else
#define SPMV__HUGEPAGE MADV_HUGEPAGE
#endif
#ifndef __cplusplus
extern int posix_memalign(void **out, size_t alignment, size_t bytes);
#endif
#endif

#if defined(SPMV_THREADS) != defined(SPMV_PARALLEL)
#error "define both SPMV_THREADS and SPMV_PARALLEL, or none"
#endif
#ifdef _OPENMP
#include <omp.h>
#endif
#if defined(__GNUC__) && (defined(__unix__) || defined(__APPLE__))
#define SPMV__POSIX
#include <pthread.h> /* mutexes, which no library is needed for, and where they need none, handlers of forks */
#include <unistd.h>  /* getpid */
#if defined(_OPENMP) || !defined(__GLIBC__) || __GLIBC__ * 100 + __GLIBC_MINOR__ >= 234
#define SPMV__ATFORK /* costs a product nothing, where getpid is a call of the system, for each one */
#endif
#endif

#ifdef __GNUC__
#define SPMV__SHARED static __attribute__((unused)) /* used only by formats that a cut may leave out, or by headers above */
/* For functions whose stack frame is large and must not become part of their caller's; not every cut uses all of them. */
#define SPMV__APART static __attribute__((noinline, unused))
/* Called with constants, for which it is compiled anew, unless the compiler does not optimise: then copies would only take longer. */
#ifdef __OPTIMIZE__
#define SPMV__INLINE static inline __attribute__((always_inline, unused))
#else
#define SPMV__INLINE static inline __attribute__((unused))
#endif
#else
#define SPMV__SHARED static
#define SPMV__APART static
#define SPMV__INLINE static
#endif
/* Levels of vector instructions need the ways of gcc and clang to compile single functions for other processors. */
#if !defined(SPMV_NO_SIMD) && defined(__GNUC__) && !defined(_MSC_VER)
#if defined(__x86_64__) && (defined(__clang__) ? __clang_major__ >= 8 : __GNUC__ >= 8)
#define SPMV__SIMD_X86
#elif defined(__aarch64__) && defined(__ARM_NEON)
#define SPMV__SIMD_NEON
#endif
#endif

/* ---- names ------------------------------------------------------------------------------------------------------- */

SPMV_API const char *spmv_status_text(spmv_status s)
{
    static const char *const text[] = {
#define X(name, refusal, words) words,
        SPMV_STATUS_LIST(X)
#undef X
    };
    return (unsigned)s < SPMV_STATUS_COUNT ? text[s] : "unknown status";
}

SPMV_API const char *spmv_status_name(spmv_status s)
{
    static const char *const names[] = {
#define X(name, refusal, words) "SPMV_" #name,
        SPMV_STATUS_LIST(X)
#undef X
    };
    return (unsigned)s < SPMV_STATUS_COUNT ? names[s] : "unknown";
}

SPMV_API int spmv_status_is_refusal(spmv_status s)
{
    static const unsigned char refusals[] = {
#define X(name, refusal, words) refusal,
        SPMV_STATUS_LIST(X)
#undef X
    };
    return (unsigned)s < SPMV_STATUS_COUNT && refusals[s];
}

static const char *const spmv__type_names[] = { "f64", "f64", "f32", "mixed" }; /* the first is of a type that was left out */

SPMV_API const char *spmv_type_name(spmv_type t)
{
    return (unsigned)t < SPMV_TYPE_COUNT ? spmv__type_names[t] : "unknown";
}

SPMV_API spmv_type spmv_type_from(const char *name)
{
    int t = SPMV_F64;
    while (name && t < SPMV_TYPE_COUNT && strcmp(name, spmv__type_names[t]) != 0) t++;
    return name ? (spmv_type)t : SPMV_TYPE_COUNT;
}

static const char *const spmv__device_class_names[] = {
#define X(NAME, name) name,
    SPMV_DEVICE_CLASS_LIST(X)
#undef X
};

SPMV_API const char *spmv_phase_name(spmv_phase p)
{
    static const char *const names[] = {
#define X(NAME, name, text) name,
        SPMV_PHASE_LIST(X)
#undef X
    };
    return (unsigned)p < SPMV_PHASE_COUNT ? names[p] : "unknown";
}

/* Tells the caller that a phase begins. */
SPMV__SHARED void spmv__phase(const spmv_hooks *h, spmv_phase p)
{
    if (h && h->phase) h->phase(h->user, p);
}

SPMV_API const char *spmv_device_class_name(spmv_device_class c)
{
    return (unsigned)c < SPMV_DEVICE_CLASS_COUNT ? spmv__device_class_names[c] : "unknown";
}

SPMV_API spmv_device_class spmv_device_class_from(const char *name)
{
    int c = 0;
    while (name && c < SPMV_DEVICE_CLASS_COUNT && strcmp(name, spmv__device_class_names[c]) != 0) c++;
    return name ? (spmv_device_class)c : SPMV_DEVICE_CLASS_COUNT;
}

/* 1 if products in the type are compiled in. */
static int spmv__type_built(spmv_type t)
{
#ifdef SPMV_NO_F64
    return t == SPMV_F32;
#else
    return (unsigned)t < SPMV_TYPE_COUNT;
#endif
}

SPMV_API size_t spmv_value_size(spmv_type t) { return t && t != SPMV_F64 ? 4 : 8; }
SPMV_API size_t spmv_vector_size(spmv_type t) { return t == SPMV_F32 ? 4 : 8; }

/* What a type means that may have been left out. */
SPMV__SHARED spmv_type spmv__type(spmv_type t) { return t ? t : SPMV_F64; }

/* The type of the values that products in a type read. */
SPMV__SHARED spmv_type spmv__stored_type(spmv_type t) { return spmv_value_size(t) == sizeof(double) ? SPMV_F64 : SPMV_F32; }

static const char *const spmv__format_names[] = {
#define X(NAME, name, text) #name,
    SPMV_FORMAT_LIST(X)
#undef X
};

static const char *const spmv__simd_names[] = {
#define X(NAME, name, text) name,
    SPMV_SIMD_LIST(X)
#undef X
};

SPMV_API const char *spmv_simd_name(spmv_simd s) { return (unsigned)s < SPMV_SIMD_COUNT ? spmv__simd_names[s] : "?"; }

SPMV_API spmv_simd spmv_simd_from(const char *name)
{
    int i;
    for (i = 0; name && i < SPMV_SIMD_COUNT; i++)
        if (!strcmp(name, spmv__simd_names[i])) return (spmv_simd)i;
    return SPMV_SIMD_COUNT;
}

/* The compiler's functions ask the processor, and for AVX also the operating system, once. */
SPMV_API int spmv_simd_usable(spmv_simd s)
{
    switch (s) {
    case SPMV_SIMD_BEST:
    case SPMV_SIMD_PLAIN: return 1;
#ifdef SPMV__SIMD_X86
    case SPMV_SIMD_AVX2: __builtin_cpu_init(); return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#ifdef SPMV_AVX512
    case SPMV_SIMD_AVX512: return spmv_simd_usable(SPMV_SIMD_AVX2) && __builtin_cpu_supports("avx512f");
#endif
#endif
#ifdef SPMV__SIMD_NEON
    case SPMV_SIMD_NEON: return 1;
#endif
    default: return 0;
    }
}

/* The level that SPMV_SIMD_BEST stands for: the last of the list that is usable. */
static spmv_simd spmv__simd_best(void)
{
    int s = SPMV_SIMD_COUNT - 1;
    while (!spmv_simd_usable((spmv_simd)s)) s--;
    return (spmv_simd)s;
}

SPMV_API const char *spmv_format_name(spmv_format f)
{
    return (unsigned)f < SPMV_FORMAT_COUNT ? spmv__format_names[f] : "unknown";
}

SPMV_API const char *spmv_format_text(spmv_format f)
{
    static const char *const texts[] = {
#define X(NAME, name, text) text,
        SPMV_FORMAT_LIST(X)
#undef X
    };
    return (unsigned)f < SPMV_FORMAT_COUNT ? texts[f] : "unknown";
}

SPMV_API spmv_format spmv_format_from(const char *name)
{
    int f = 0;
    while (name && f < SPMV_FORMAT_COUNT && strcmp(name, spmv__format_names[f]) != 0) f++;
    return name ? (spmv_format)f : SPMV_FORMAT_COUNT;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

typedef unsigned long long spmv__ull; /* the type of %llu */

typedef struct spmv__text {
    char  *out;
    size_t size, length;
} spmv__text;

static void spmv__put_char(spmv__text *t, int c)
{
    if (t->length + 1 < t->size) t->out[t->length] = (char)c;
    t->length++;
}

static void spmv__put_text(spmv__text *t, const char *s)
{
    while (*s) spmv__put_char(t, *s++);
}

static void spmv__put_count(spmv__text *t, uint64_t n)
{
    char digits[20];
    int used = 0;
    do {
        digits[used++] = (char)('0' + (int)(n % 10));
        n /= 10;
    } while (n);
    while (used) spmv__put_char(t, digits[--used]);
}

static void spmv__put_integer(spmv__text *t, long long v)
{
    if (v < 0) spmv__put_char(t, '-');
    spmv__put_count(t, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

/* Puts a number with up to 9 decimals, rounded half up. Above 1e18 only that it is larger. */
static void spmv__put_real(spmv__text *t, double v, int decimals)
{
    uint64_t unit = 1, whole, part;
    int i;
    for (i = 0; i < decimals && i < 9; i++) unit *= 10;
    if (v != v) { spmv__put_text(t, "nan"); return; }
    if (v < 0) { spmv__put_char(t, '-'); v = -v; }
    if (v > 1e18) { spmv__put_text(t, "over 1e18"); return; }
    whole = (uint64_t)v;
    part = (uint64_t)((v - (double)whole) * (double)unit + 0.5);
    spmv__put_count(t, whole + part / unit);
    if (unit > 1) spmv__put_char(t, '.');
    for (unit /= 10; unit; unit /= 10) spmv__put_char(t, '0' + (int)(part / unit % 10));
}

/* SPMV__FIGURE(v) gives "%.*f" its two arguments for three significant digits of v. */
SPMV__SHARED int spmv__decimals(double v) { return v < 9.995 && v > -9.995 ? 2 : v < 99.95 && v > -99.95 ? 1 : 0; }
#define SPMV__FIGURE(v) spmv__decimals(v), (v)

/* Puts the text of a format and its arguments, and terminates it. See spmv_log for the conversions. */
static void spmv__format_text(spmv__text *t, const char *f, va_list args)
{
    for (; *f; f++) {
        int longs = 0, decimals = 6;
        const char *begin = f, *text;
        if (*f != '%') { spmv__put_char(t, *f); continue; }
        if (*++f == '.') {
            decimals = 0;
            if (*++f == '*') { decimals = va_arg(args, int); f++; } /* of spmv__decimals: not negative */
            else for (; *f >= '0' && *f <= '9' && decimals < 10; f++) decimals = decimals * 10 + (*f - '0');
        }
        for (; *f == 'l' && longs < 2; f++) longs++;
        switch (*f) {
        case '%': spmv__put_char(t, '%'); break;
        case 'c': spmv__put_char(t, va_arg(args, int)); break;
        case 's':
            text = va_arg(args, const char *);
            spmv__put_text(t, text ? text : "(null)");
            break;
        case 'd': spmv__put_integer(t, longs == 2 ? va_arg(args, long long) : longs ? va_arg(args, long) : va_arg(args, int)); break;
        case 'u': spmv__put_count(t, longs == 2 ? va_arg(args, unsigned long long)
                                                : longs ? va_arg(args, unsigned long) : va_arg(args, unsigned)); break;
        case 'f': spmv__put_real(t, va_arg(args, double), decimals); break;
        default: /* the type of its argument is unknown, so the arguments after it cannot be found either */
            spmv__put_text(t, begin);
            f = begin + strlen(begin) - 1;
        }
    }
    if (t->size) t->out[t->length < t->size ? t->length : t->size - 1] = 0;
}

/* A spmv__text on the caller's buffer. */
SPMV_API size_t spmv_print(char *out, size_t size, const char *format, ...)
{
    spmv__text t;
    va_list args;
    t.out = out;
    t.size = out ? size : 0;
    t.length = 0;
    va_start(args, format);
    spmv__format_text(&t, format ? format : "", args);
    va_end(args);
    return t.length;
}

/* Writes a message, which begins with the part of a plan that it is about, and returns its length, which may be beyond size. */
static size_t spmv__message(const spmv_hooks *h, char *out, size_t size, const char *format, va_list args)
{
    spmv__text t;
    t.out = out;
    t.size = size;
    t.length = 0;
    if (h && h->part) {
        spmv__put_text(&t, "part ");
        spmv__put_integer(&t, h->part);
        spmv__put_text(&t, ": ");
    }
    spmv__format_text(&t, format ? format : "", args);
    return t.length;
}

/* A short message is on the stack, so that one about lack of memory needs none. */
SPMV_API spmv_status spmv_log(const spmv_hooks *h, spmv_status s, const char *format, ...)
{
    char brief[512], *whole = NULL;
    const char *line = brief;
    size_t size;
    va_list args;
    va_start(args, format);
    size = spmv__message(h, brief, sizeof brief, format, args) + 1;
    va_end(args);
    if (size > 4096) size = 4096;
    if (size > sizeof brief) whole = (char *)spmv_alloc(h, size, 1);
    if (whole) {
        va_start(args, format);
        spmv__message(h, whole, size, format, args);
        va_end(args);
        line = whole;
    }
    if (h && h->log) {
        h->log(h->user, s, line);
    } else {
#ifndef SPMV_NO_STDIO
        fprintf(stderr, "spmv: %s\n", line);
#endif
    }
    spmv_free(h, whole);
    return s;
}

/* The log of work whose faults are not to be reported. */
static void spmv__hush(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    (void)message;
}

/* Refuses a NULL pointer that a public function needs: logs the argument's name, zeroes out (unless that is NULL), and returns
 * SPMV_ERR_ARGUMENT. */
SPMV__SHARED spmv_status spmv__null(const spmv_hooks *h, const char *function, const char *argument, void *out, size_t size)
{
    if (out) memset(out, 0, size);
    spmv_log(h, SPMV_ERR_ARGUMENT, "%s: %s is NULL", function, argument);
    return SPMV_ERR_ARGUMENT; /* so that compilers see that what follows the check is not reached */
}

/* 1 if two ranges of at least one byte have one in common. */
SPMV__SHARED int spmv__overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
    return a < b ? b - a < a_bytes : a - b < b_bytes;
}

/* Refuses vectors that a product of this size needs but that are NULL, and y over an x that is read. */
SPMV__SHARED spmv_status spmv__check_vectors(const spmv_hooks *h, const char *function, spmv_type t, uint64_t rows, uint64_t cols,
                                             double alpha, const void *x, const void *y)
{
    const uint64_t size = spmv_vector_size(t);
    if (rows && !y) return spmv__null(h, function, "y", NULL, 0);
    if (!rows || !cols || alpha == 0.0) return SPMV_OK;
    if (!x) return spmv__null(h, function, "x", NULL, 0);
    if (!spmv__overlap((uintptr_t)x, cols * size, (uintptr_t)y, rows * size)) return SPMV_OK;
    return spmv_log(h, SPMV_ERR_ARGUMENT, "%s: x and y overlap", function);
}

/* Checks what takes no time: that the arrays of a CSR matrix are there, and that its row pointers go from 0 to nnz. A zeroed one has no
 * rows. name: of the matrix, for messages. */
SPMV__SHARED spmv_status spmv__csr_there(const spmv_hooks *h, const char *name, const spmv_csr *a)
{
    const int none = a->rows && !a->ptr;
    if (none || (a->nnz && (!a->col || !a->val))) return spmv__null(h, name, none ? "ptr" : !a->col ? "col" : "val", NULL, 0);
    if (a->ptr ? !a->ptr[0] && a->ptr[a->rows] == a->nnz : !a->nnz) return SPMV_OK;
    return spmv_log(h, SPMV_ERR_INDEX, "%s: expected row pointers from 0 to nnz, %llu, found %llu and %llu", name, (spmv__ull)a->nnz,
                    (spmv__ull)(a->ptr ? a->ptr[0] : 0), (spmv__ull)(a->ptr ? a->ptr[a->rows] : 0));
}

/* Checks also that row pointers never fall, and that columns are in range and rise within each row. */
SPMV__SHARED spmv_status spmv__check_csr(const spmv_hooks *h, const char *name, const spmv_csr *a)
{
    const char *expected = NULL;
    uint64_t r, i, next;
    spmv_status s = spmv__csr_there(h, name, a);
    if (s) return s;
    for (r = 0; r < a->rows && !expected; r++) {
        if (a->ptr[r] > a->ptr[r + 1] || a->ptr[r + 1] > a->nnz) expected = "row pointers that never fall and end at nnz";
        for (i = a->ptr[r], next = 0; !expected && i < a->ptr[r + 1]; i++) {
            if (a->col[i] < next || a->col[i] >= a->cols) expected = "rising columns below cols";
            next = (uint64_t)a->col[i] + 1;
        }
    }
    if (!expected) return SPMV_OK;
    return spmv_log(h, SPMV_ERR_INDEX, "%s: expected %s, found others in row %llu", name, expected, (spmv__ull)(r - 1));
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void *spmv__resize(const spmv_hooks *h, void *block, size_t bytes)
{
    if (h && h->resize) return h->resize(h->user, block, bytes);
    if (bytes) return block ? SPMV_REALLOC(block, bytes) : SPMV_MALLOC(bytes);
    SPMV_FREE(block);
    return NULL;
}

SPMV_API void *spmv_alloc(const spmv_hooks *h, uint64_t count, uint64_t size)
{
    if (!count || !size || count > (uint64_t)(SIZE_MAX / 2) / size) return NULL;
    return spmv__resize(h, NULL, (size_t)(count * size));
}

SPMV_API void spmv_free(const spmv_hooks *h, void *block)
{
    if (block) spmv__resize(h, block, 0);
}

static spmv_status spmv__no_memory(const spmv_hooks *h, uint64_t count, uint64_t size)
{
    return spmv_log(h, SPMV_ERR_MEMORY, "no memory for %llu elements of %llu bytes", (spmv__ull)count, (spmv__ull)size);
}

/* Allocates a block from the C library, which free and realloc accept. Where the system has large pages, a block that is large enough
 * begins at one, and asks for them. NULL: there is no memory. */
SPMV__SHARED void *spmv__large_block(size_t bytes)
{
#ifdef SPMV__LARGE_PAGES
    const size_t page = 1u << 21, tail = bytes % page; /* bytes: of a large page, and of the last one that are needed */
    void *block = NULL;
    if (bytes >= page / 2 && bytes <= SIZE_MAX / 2) {
        if (tail >= page / 2) bytes += page - tail; /* else single small pages at the end waste less */
        if (posix_memalign(&block, page, bytes) != 0) return NULL;
        (void)madvise(block, bytes, SPMV__HUGEPAGE); /* if it fails, pages stay small */
        return block;
    }
#endif
    return SPMV_MALLOC(bytes);
}

/* All memory of the headers is allocated here: *out becomes count * size uninitialised bytes, or NULL if that is 0. */
static spmv_status spmv__room(const spmv_hooks *h, void **out, uint64_t count, uint64_t size)
{
    *out = NULL;
    if (!count || !size) return SPMV_OK;
    if (count > (uint64_t)(SIZE_MAX / 2) / size) return spmv__no_memory(h, count, size);
    *out = h && h->resize ? spmv_alloc(h, count, size) : spmv__large_block((size_t)(count * size));
    return *out ? SPMV_OK : spmv__no_memory(h, count, size);
}

/* As spmv__room, with each byte set to fill. */
static spmv_status spmv__new(const spmv_hooks *h, void **out, uint64_t count, uint64_t size, int fill)
{
    spmv_status s = spmv__room(h, out, count, size);
    if (*out) memset(*out, fill, (size_t)(count * size));
    return s;
}

/* The number of the lowest bit that is set; one must be. */
SPMV__SHARED uint64_t spmv__low_bit(uint64_t bits)
{
#ifdef __GNUC__
    return (uint64_t)__builtin_ctzll(bits);
#else
    uint64_t n = 0;
    for (; !(bits & 1); bits >>= 1) n++;
    return n;
#endif
}

/* How many bits are set. Compilers know no faster way unless they may assume an instruction for it. */
SPMV__INLINE uint64_t spmv__bit_count(uint64_t bits)
{
    const uint64_t pairs = 0x5555555555555555u, fours = 0x3333333333333333u, bytes = 0x0f0f0f0f0f0f0f0fu, sum = 0x0101010101010101u;
    bits -= bits >> 1 & pairs;
    bits = (bits & fours) + (bits >> 2 & fours);
    return ((bits + (bits >> 4)) & bytes) * sum >> 56;
}

static uint64_t spmv__sat_mul(uint64_t a, uint64_t b) { return a && b > UINT64_MAX / a ? UINT64_MAX : a * b; }
SPMV__SHARED uint64_t spmv__sat_add(uint64_t a, uint64_t b) { return b > UINT64_MAX - a ? UINT64_MAX : a + b; }
SPMV__SHARED uint64_t spmv__smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }
SPMV__SHARED uint64_t spmv__ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }
SPMV__SHARED uint64_t spmv__round_up(uint64_t a, uint64_t b) { return spmv__ceil_div(a, b) * b; }

#define SPMV__LONG_ENTRIES 4096 /* rows: shorter entries do not share so few sets of a cache that it shows */

/* Slots from one stored diagonal, or entry of a row, to the next, for so many rows: a multiple of 32, but of long ones an odd multiple.
 * Otherwise the same row of all entries would be in a few sets of a processor's L1 cache, each of which holds eight lines. */
SPMV__SHARED uint64_t spmv__leading(uint64_t rows)
{
    const uint64_t slots = spmv__round_up(rows, 32);
    return slots / 32 % 2 == 0 && rows >= SPMV__LONG_ENTRIES ? slots + 32 : slots;
}

/* Element i of an array of unsigned integers of any width. */
static uint64_t spmv__at(const spmv_array *a, uint64_t i)
{
    if (a->width == 4) return ((const uint32_t *)a->data)[i];
    if (a->width == 8) return ((const uint64_t *)a->data)[i];
    return a->width == 2 ? ((const uint16_t *)a->data)[i] : ((const uint8_t *)a->data)[i];
}

static void spmv__set(spmv_array *a, uint64_t i, uint64_t v)
{
    if (a->width == 4) ((uint32_t *)a->data)[i] = (uint32_t)v;
    else if (a->width == 8) ((uint64_t *)a->data)[i] = v;
    else if (a->width == 2) ((uint16_t *)a->data)[i] = (uint16_t)v;
    else ((uint8_t *)a->data)[i] = (uint8_t)v;
}

/* Sets each element of an array of offsets to so many times the sum of the numbers before it, of which there is one fewer. */
SPMV__SHARED void spmv__offsets_from(spmv_array *a, const uint32_t *number, uint64_t times)
{
    const uint64_t last = a->count - 1;
    uint64_t sum = 0, i;
    for (i = 0; a->width == 4 && i < last; i++) { /* as below, without a question for each */
        ((uint32_t *)a->data)[i] = (uint32_t)sum;
        sum += number[i] * times;
    }
    for (; i < last; i++) {
        spmv__set(a, i, sum);
        sum += number[i] * times;
    }
    spmv__set(a, last, sum);
}

/* ---- sorting ----------------------------------------------------------------------------------------------------- */

/* Pairs are sorted by key, then by load. */

typedef struct spmv__pair {
    uint64_t key, load;
} spmv__pair;

static int spmv__pair_less(const spmv__pair *a, const spmv__pair *b)
{
    return a->key < b->key || (a->key == b->key && a->load < b->load);
}

/* Moves the pair at root down until the heap of n pairs is in order below it. */
static void spmv__sift(spmv__pair *p, uint64_t root, uint64_t n)
{
    spmv__pair top = p[root];
    for (;;) {
        uint64_t child = 2 * root + 1;
        if (child >= n) break;
        if (child + 1 < n && spmv__pair_less(&p[child], &p[child + 1])) child++;
        if (!spmv__pair_less(&top, &p[child])) break;
        p[root] = p[child];
        root = child;
    }
    p[root] = top;
}

/* Sorts n pairs in O(n log n): few of them by insertion, which is faster there, more by a heap, unless they are in order already. */
SPMV__SHARED void spmv__sort(spmv__pair *p, uint64_t n)
{
    const uint64_t few = 24;
    uint64_t i, j;
    if (n <= few) {
        for (i = 1; i < n; i++) {
            spmv__pair v = p[i];
            for (j = i; j && spmv__pair_less(&v, &p[j - 1]); j--) p[j] = p[j - 1];
            p[j] = v;
        }
        return;
    }
    for (i = 1; i < n && !spmv__pair_less(&p[i], &p[i - 1]); i++) {}
    if (i == n) return;
    for (i = n / 2; i--;) spmv__sift(p, i, n);
    for (i = n - 1; i; i--) {
        spmv__pair t = p[0];
        p[0] = p[i];
        p[i] = t;
        spmv__sift(p, 0, i);
    }
}

/* The place of a key among n sorted pairs; the key must be one of theirs. */
SPMV__SHARED uint64_t spmv__find(const spmv__pair *p, uint64_t n, uint64_t key)
{
    uint64_t low = 0;
    while (n > 1) {
        uint64_t half = n / 2;
        if (p[low + half].key <= key) low += half;
        n -= half;
    }
    return low;
}

/* Sorts n pairs and merges those with equal keys into one, adding their loads; returns how many are left. */
SPMV__SHARED uint64_t spmv__sort_and_merge(spmv__pair *p, uint64_t n)
{
    uint64_t i, kept = 0;
    spmv__sort(p, n);
    for (i = 0; i < n; i++) {
        if (kept && p[kept - 1].key == p[i].key) p[kept - 1].load += p[i].load;
        else p[kept++] = p[i];
    }
    return kept;
}

/* ---- input to CSR ------------------------------------------------------------------------------------------------ */

/* Of "sharing work among threads" below. */
enum { SPMV__MOST_SHARES = 64 };
SPMV__SHARED uint64_t spmv__share_count(uint64_t work);
SPMV__SHARED uint64_t spmv__share_threads(uint64_t shares, uint64_t most);
SPMV__SHARED void     spmv__share_out(void (*work)(void *job, uint64_t share), void *job, uint64_t shares);
SPMV__SHARED uint64_t spmv__share_row(const uint64_t *ptr, uint64_t rows, uint64_t share, uint64_t shares);

/* Has the cache line loaded that lies so many bytes behind an address, which may be outside of any array. */
SPMV__INLINE void spmv__prefetch(const void *at, uint64_t bytes)
{
#ifdef __GNUC__
    __builtin_prefetch((const void *)((uintptr_t)at + (uintptr_t)bytes));
#else
    (void)at;
    (void)bytes;
#endif
}

/* Entry i of an index array as a zero-based number. A negative one becomes larger than any matrix. */
static uint64_t spmv__index(const void *array, int bits, int base, uint64_t i)
{
    int64_t v = bits == 64 ? ((const int64_t *)array)[i] : (int64_t)((const uint32_t *)array)[i];
    return v < base ? UINT64_MAX : (uint64_t)(v - base);
}

/* Entry i as the caller wrote it, for messages. */
static int64_t spmv__raw_index(const void *array, int bits, uint64_t i)
{
    return bits == 64 ? ((const int64_t *)array)[i] : (int64_t)((const int32_t *)array)[i];
}

static double spmv__value(const void *val, spmv_type t, uint64_t i)
{
    if (!val) return 1.0;
    return spmv_value_size(t) == sizeof(double) ? ((const double *)val)[i] : (double)((const float *)val)[i];
}

static void spmv__store_value(void *val, spmv_type t, uint64_t i, double v)
{
    if (spmv_value_size(t) == sizeof v) ((double *)val)[i] = v;
    else ((float *)val)[i] = (float)v;
}

/* The caller's value with number source, negated where SPMV_NEGATED is set. */
static double spmv__signed_value(const void *val, spmv_type t, uint64_t source)
{
    double v = spmv__value(val, t, source & ~SPMV_NEGATED);
    return source & SPMV_NEGATED ? -v : v;
}

enum { SPMV__IMPORT_BATCH = 64 }; /* entries: enough to load the memory of all of them at once */

/* Entries that are read, counted or placed together: where they are in the CSR matrix, and the numbers of the caller's values. */
typedef struct spmv__import_batch {
    uint64_t n, source[SPMV__IMPORT_BATCH], slot[SPMV__IMPORT_BATCH];
    uint32_t row[SPMV__IMPORT_BATCH], col[SPMV__IMPORT_BATCH];
} spmv__import_batch;

/* The work of spmv_csr_from. A line is a row, column or block row of the input, whichever its pointers count. */
typedef struct spmv__import {
    const spmv_input *in;
    const spmv_hooks *h;
    int       ptr_bits, index_bits;
    const void *index;             /* CSR, CSC, BSR: the indices within a line; COO: NULL */
    uint64_t  lines, inner;        /* CSR, CSC, BSR: number of lines, and the bound that indices must stay below */
    int       by_columns;          /* 1: lines are columns of the CSR matrix */
    uint64_t  rows, cols, entries; /* shape of the CSR matrix; number of values of in, with blocks expanded */
    uint64_t  first, end;          /* the entries (BSR: blocks) that a pass takes */
    spmv__import_batch *batch;     /* two: entries (BSR: blocks) as they were read, and what they were expanded to */
    uint64_t  line;                /* CSR, CSC, BSR: the line that holds the entry read last */
    uint64_t *count;               /* rows: in the counting pass entries of each row, then where the next entry of a row goes */
    uint32_t *col;                 /* NULL in the counting pass */
    void     *val;                 /* the value of each entry placed */
    spmv_type type;                /* of val */
    uint64_t *order;               /* if updatable, the number of the caller's value for each entry placed; else NULL */
    int       half;                /* with symmetry, the half that was given: -1 below the diagonal, 1 above it, 0 not known yet */
    uint64_t  half_entry;          /* the first entry (BSR: block) in that half */
    const uint64_t *ptr;           /* the row pointers, once all entries are placed */
    uint64_t  tasks;               /* that share the work, each with a copy of this */
    uint64_t  longest;             /* entries of the longest row that is not in order */
    spmv_status status;
} spmv__import;

/* Reports entry i of an index array, which is to be below limit. line: what its pointers count, "row", and which of them it is in; NULL for
 * COO, which has none. */
static spmv_status spmv__bad_index(const spmv__import *m, const char *what, const void *array, uint64_t i, uint64_t limit,
                                   const char *line, uint64_t o)
{
    long long v = spmv__raw_index(array, m->index_bits, i);
    uint64_t low = (uint64_t)m->in->base;
    char where[40] = "";
    if (line) spmv_print(where, sizeof where, " in %s %llu", line, (spmv__ull)(o + low));
    if (!limit)
        return spmv_log(m->h, SPMV_ERR_INDEX, "entry %llu%s: %s index %lld, but the matrix has no %ss", (spmv__ull)i, where, what, v, what);
    return spmv_log(m->h, SPMV_ERR_INDEX, "entry %llu%s: %s index %lld is outside %llu .. %llu", (spmv__ull)i, where, what, v,
                    (spmv__ull)low, (spmv__ull)(limit - 1 + low));
}

/* Refuses entry (BSR: block) i at row r and column c if it lies in the other half than the entries before it. */
static spmv_status spmv__import_half(spmv__import *m, uint64_t r, uint64_t c, uint64_t i)
{
    const char *what = m->in->form == SPMV_IN_BSR ? "block" : "entry";
    const spmv__ull base = (spmv__ull)m->in->base, row = m->in->transpose ? c : r, col = m->in->transpose ? r : c;
    int half = r > c ? -1 : r < c;
    if (!half || half == m->half) return SPMV_OK;
    if (m->half)
        return spmv_log(m->h, SPMV_ERR_INDEX, "%s %llu at row %llu, column %llu lies %s the diagonal, but %s %llu lies %s it: give only "
                        "one half of a symmetric or skew-symmetric matrix", what, (spmv__ull)i, row + base, col + base,
                        row > col ? "below" : "above", what, (spmv__ull)m->half_entry, row > col ? "above" : "below");
    m->half = half;
    m->half_entry = i;
    return SPMV_OK;
}

/* Refuses a value on the diagonal, at row r, that is not zero if the matrix is skew-symmetric. */
static spmv_status spmv__import_diagonal(const spmv__import *m, uint64_t r, uint64_t source)
{
    const spmv_input *in = m->in;
    if (in->symmetry != SPMV_SKEW || spmv__value(in->val, in->val_type, source) == 0) return SPMV_OK;
    return spmv_log(m->h, SPMV_ERR_ARGUMENT, "value %llu, at row and column %llu, is not zero, but lies on the diagonal of a "
                    "skew-symmetric matrix", (spmv__ull)source, (spmv__ull)(r + (uint64_t)in->base));
}

/* Puts the values of a batch into their slots; inlined, so that the types are known where they are constants. */
SPMV__INLINE void spmv__import_values(const spmv__import *m, const spmv__import_batch *b, spmv_type from, spmv_type to)
{
    uint64_t i;
    for (i = 0; i < b->n; i++) spmv__store_value(m->val, to, b->slot[i], spmv__signed_value(m->in->val, from, b->source[i]));
}

/* Places the entries of a batch. The memory for all of them is loaded first: rows that are filled in turn lie far apart. */
static void spmv__import_store(const spmv__import *m, spmv__import_batch *b)
{
    const spmv_input *in = m->in;
    const uint64_t size = spmv_value_size(m->type);
    uint64_t i;
    for (i = 0; i < b->n; i++) {
        b->slot[i] = m->count[b->row[i]]++;
        spmv__prefetch(m->col, b->slot[i] * sizeof *m->col);
        spmv__prefetch(m->val, b->slot[i] * size);
    }
    for (i = 0; i < b->n; i++) m->col[b->slot[i]] = b->col[i];
    if (m->type == SPMV_F64 && in->val_type == SPMV_F64) spmv__import_values(m, b, SPMV_F64, SPMV_F64);
    else if (m->type == SPMV_F32 && in->val_type == SPMV_F32) spmv__import_values(m, b, SPMV_F32, SPMV_F32);
    else spmv__import_values(m, b, in->val_type, m->type);
    for (i = 0; m->order && i < b->n; i++) m->order[b->slot[i]] = b->source[i];
}

/* Counts the entries of the batch in the first pass, places them in their rows in the second. */
static void spmv__import_flush(const spmv__import *m, spmv__import_batch *b)
{
    uint64_t i;
    if (m->col) spmv__import_store(m, b);
    else for (i = 0; i < b->n; i++) m->count[b->row[i]]++;
    b->n = 0;
}

/* Takes one entry of the CSR matrix. */
static void spmv__import_place(spmv__import *m, uint64_t r, uint64_t c, uint64_t source)
{
    spmv__import_batch *b = m->batch + 1;
    b->row[b->n] = (uint32_t)r;
    b->col[b->n] = (uint32_t)c;
    b->source[b->n] = source;
    if (++b->n == SPMV__IMPORT_BATCH) spmv__import_flush(m, b);
}

/* Takes an entry and its mirror image. */
static void spmv__import_both(spmv__import *m, uint64_t r, uint64_t c, uint64_t source)
{
    spmv__import_place(m, r, c, source);
    spmv__import_place(m, c, r, m->in->symmetry == SPMV_SKEW ? source | SPMV_NEGATED : source);
}

/* Takes one entry of COO, CSR or CSC of a matrix with symmetry, and its mirror image if it has one. */
static spmv_status spmv__import_mirrored(spmv__import *m, uint64_t r, uint64_t c, uint64_t source)
{
    spmv_status s = SPMV_OK;
    if (!m->col) s = r == c ? spmv__import_diagonal(m, r, source) : spmv__import_half(m, r, c, source);
    if (s) return s;
    if (r == c) spmv__import_place(m, r, c, source);
    else spmv__import_both(m, r, c, source);
    return SPMV_OK;
}

/* The number of the caller's value at row i and column j of a block. */
static uint64_t spmv__block_value(const spmv_input *in, uint64_t block, uint64_t i, uint64_t j)
{
    uint64_t bh = (uint64_t)in->block_rows, bw = (uint64_t)in->block_cols;
    return block * bh * bw + (in->block_by_columns ? j * bh + i : i * bw + j);
}

/* Refuses a block on the diagonal of a symmetric (skew-symmetric) matrix that is not symmetric (skew-symmetric) itself. */
static spmv_status spmv__import_diagonal_block(const spmv__import *m, uint64_t block_row, uint64_t block)
{
    const spmv_input *in = m->in;
    uint64_t n = (uint64_t)in->block_rows, first = block_row * n, i, j;
    for (i = 0; i < n; i++) {
        spmv_status s = spmv__import_diagonal(m, first + i, spmv__block_value(in, block, i, i));
        if (s) return s;
        for (j = 0; j < i; j++) {
            double below = spmv__value(in->val, in->val_type, spmv__block_value(in, block, i, j));
            double above = spmv__value(in->val, in->val_type, spmv__block_value(in, block, j, i));
            if (below == (in->symmetry == SPMV_SKEW ? -above : above) || (below != below && above != above)) continue;
            return spmv_log(m->h, SPMV_ERR_ARGUMENT, "block %llu lies on the diagonal but is not %s in itself: row %llu, column %llu "
                            "has no counterpart in it", (spmv__ull)block, in->symmetry == SPMV_SKEW ? "skew-symmetric" : "symmetric",
                            (spmv__ull)(first + i + (uint64_t)in->base), (spmv__ull)(first + j + (uint64_t)in->base));
        }
    }
    return SPMV_OK;
}

/* Takes the entries of one block of BSR, and their mirror images where in->symmetry is set. */
static spmv_status spmv__import_block(spmv__import *m, uint64_t block_row, uint64_t block_col, uint64_t block)
{
    const spmv_input *in = m->in;
    const int turn = in->transpose != 0, mirror = in->symmetry && block_row != block_col;
    uint64_t bh = (uint64_t)in->block_rows, bw = (uint64_t)in->block_cols, i, j;
    spmv_status s = SPMV_OK;
    if (in->symmetry && !m->col)
        s = mirror ? spmv__import_half(m, turn ? block_col : block_row, turn ? block_row : block_col, block)
                   : spmv__import_diagonal_block(m, block_row, block);
    for (i = 0; i < bh && !s; i++)
        for (j = 0; j < bw; j++) {
            uint64_t r = block_row * bh + i, c = block_col * bw + j, source = spmv__block_value(in, block, i, j);
            if (mirror) spmv__import_both(m, turn ? c : r, turn ? r : c, source);
            else spmv__import_place(m, turn ? c : r, turn ? r : c, source);
        }
    return s;
}

/* The line that holds entry i: the first that ends behind it. */
static uint64_t spmv__import_line(const spmv__import *m, uint64_t i)
{
    uint64_t low = 0, high = m->lines;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (spmv__index(m->in->ptr, m->ptr_bits, m->in->base, middle + 1) > i) high = middle;
        else low = middle + 1;
    }
    return low;
}

/* Reads n indices of so many bits from number first on, until one is not below limit; returns how many are. */
SPMV__INLINE uint64_t spmv__import_indices_of(const void *array, int bits, int base, uint64_t first, uint64_t n, uint64_t limit,
                                              uint32_t *out)
{
    uint64_t i;
    for (i = 0; i < n; i++) {
        const uint64_t v = spmv__index(array, bits, base, first + i);
        if (v >= limit) return i;
        out[i] = (uint32_t)v;
    }
    return n;
}

static uint64_t spmv__import_indices(const spmv__import *m, const void *array, uint64_t first, uint64_t n, uint64_t limit, uint32_t *out)
{
    if (m->index_bits == 64) return spmv__import_indices_of(array, 64, m->in->base, first, n, limit, out);
    return spmv__import_indices_of(array, 32, m->in->base, first, n, limit, out);
}

/* Sets the line of each of n entries from number first on. */
static void spmv__import_line_numbers(spmv__import *m, uint64_t first, uint64_t n, uint32_t *out)
{
    uint64_t i, k, end;
    for (i = 0; i < n; i = k) {
        end = spmv__index(m->in->ptr, m->ptr_bits, m->in->base, m->line + 1) - first;
        for (k = i; k < n && k < end; k++) out[k] = (uint32_t)m->line;
        if (k < n) m->line++;
    }
}

/* Reads n entries from number first on as a batch, until an index is outside the matrix. */
static void spmv__import_read(spmv__import *m, uint64_t first, uint64_t n)
{
    const spmv_input *in = m->in;
    spmv__import_batch *b = m->batch;
    uint64_t i;
    if (in->form == SPMV_IN_COO) {
        b->n = spmv__import_indices(m, in->transpose ? in->col : in->row, first, n, m->rows, b->row);
        b->n = spmv__import_indices(m, in->transpose ? in->row : in->col, first, b->n, m->cols, b->col);
    } else {
        b->n = spmv__import_indices(m, m->index, first, n, m->inner, m->by_columns ? b->row : b->col);
        spmv__import_line_numbers(m, first, b->n, m->by_columns ? b->col : b->row);
    }
    for (i = 0; i < b->n; i++) b->source[i] = first + i;
}

/* Reports entry i, one index of which is outside the matrix. */
static spmv_status spmv__import_outside(const spmv__import *m, uint64_t i)
{
    const spmv_input *in = m->in;
    const int csc = in->form == SPMV_IN_CSC, bsr = in->form == SPMV_IN_BSR;
    if (in->form != SPMV_IN_COO)
        return spmv__bad_index(m, csc ? "row" : bsr ? "block column" : "column", m->index, i, m->inner,
                               csc ? "column" : bsr ? "block row" : "row", spmv__import_line(m, i));
    if (spmv__index(in->row, m->index_bits, in->base, i) >= (uint64_t)in->rows)
        return spmv__bad_index(m, "row", in->row, i, (uint64_t)in->rows, NULL, 0);
    return spmv__bad_index(m, "column", in->col, i, (uint64_t)in->cols, NULL, 0);
}

/* Takes entry (block) i of those read. */
static spmv_status spmv__import_take(spmv__import *m, uint64_t i)
{
    const spmv__import_batch *b = m->batch;
    if (m->in->form != SPMV_IN_BSR) return spmv__import_mirrored(m, b->row[i], b->col[i], b->source[i]);
    return spmv__import_block(m, m->by_columns ? b->col[i] : b->row[i], m->by_columns ? b->row[i] : b->col[i], b->source[i]);
}

/* One pass over the entries, whose indices are checked; the pointers have been checked before. */
static spmv_status spmv__import_pass(spmv__import *m)
{
    const int plain = !m->in->symmetry && m->in->form != SPMV_IN_BSR;
    uint64_t i, k, n, read;
    spmv_status s = SPMV_OK;
    m->line = spmv__import_line(m, m->first);
    for (i = m->first; i < m->end && !s; i += n) {
        n = spmv__smaller(m->end - i, SPMV__IMPORT_BATCH);
        spmv__import_read(m, i, n);
        read = m->batch->n;
        for (k = 0; k < read && !plain && !s; k++) s = spmv__import_take(m, k);
        if (plain) spmv__import_flush(m, m->batch);
        if (!s && read < n) s = spmv__import_outside(m, i + read);
    }
    spmv__import_flush(m, m->batch + 1);
    return s;
}

/* Checks the members of the input that are not arrays. */
static spmv_status spmv__import_settings(const spmv__import *m)
{
    const spmv_input *in = m->in;
    const spmv_hooks *h = m->h;
    if (in->rows < 0 || in->cols < 0 || in->rows > 0xfffffffe || in->cols > 0xfffffffe)
        return spmv_log(h, SPMV_ERR_ARGUMENT, "rows and cols must lie in 0 .. 4294967294, not %lld and %lld", (long long)in->rows,
                        (long long)in->cols);
    if ((unsigned)in->form > SPMV_IN_BSR) return spmv_log(h, SPMV_ERR_ARGUMENT, "form %d is unknown", (int)in->form);
    if ((m->ptr_bits != 32 && m->ptr_bits != 64) || (m->index_bits != 32 && m->index_bits != 64))
        return spmv_log(h, SPMV_ERR_ARGUMENT, "ptr_bits and index_bits must be 32 or 64 (or 0 for 32)");
    if (in->base != 0 && in->base != 1) return spmv_log(h, SPMV_ERR_ARGUMENT, "base must be 0 or 1, not %d", in->base);
    if (in->val_type != SPMV_F64 && in->val_type != SPMV_F32)
        return spmv_log(h, SPMV_ERR_ARGUMENT, "val_type must be SPMV_F64, SPMV_F32 or 0");
    if (in->nnz < 0) return spmv_log(h, SPMV_ERR_ARGUMENT, "nnz is negative");
    if (in->drop_zeros && in->updatable)
        return spmv_log(h, SPMV_ERR_ARGUMENT, "drop_zeros and updatable exclude each other: dropped entries have no place for new values");
    if (in->form == SPMV_IN_BSR &&
        (in->block_rows < 1 || in->block_cols < 1 || in->rows % in->block_rows || in->cols % in->block_cols))
        return spmv_log(h, SPMV_ERR_ARGUMENT, "rows and cols must be multiples of block_rows and block_cols, which are %d x %d and must be "
                        "positive", in->block_rows, in->block_cols);
    if ((unsigned)in->symmetry > SPMV_SKEW) return spmv_log(h, SPMV_ERR_ARGUMENT, "symmetry %d is unknown", (int)in->symmetry);
    if (in->symmetry && in->rows != in->cols)
        return spmv_log(h, SPMV_ERR_ARGUMENT, "a symmetric or skew-symmetric matrix is square, not %llu x %llu", (spmv__ull)in->rows,
                        (spmv__ull)in->cols);
    if (in->symmetry && in->form == SPMV_IN_BSR && in->block_rows != in->block_cols)
        return spmv_log(h, SPMV_ERR_ARGUMENT, "blocks of a symmetric or skew-symmetric matrix are square, not %d x %d", in->block_rows,
                        in->block_cols);
    return SPMV_OK;
}

/* Reports pointer i: the first is not the base, or it is negative, too large, or below the one before. */
static spmv_status spmv__bad_pointer(const spmv__import *m, uint64_t i, int below)
{
    const long long v = spmv__raw_index(m->in->ptr, m->ptr_bits, i);
    if (below)
        return spmv_log(m->h, SPMV_ERR_INDEX, "pointer %llu is %llu, but pointer %llu is %llu", (spmv__ull)i,
                        (spmv__ull)(spmv__index(m->in->ptr, m->ptr_bits, 0, i)), (spmv__ull)(i - 1),
                        (spmv__ull)(spmv__index(m->in->ptr, m->ptr_bits, 0, i - 1)));
    if (!i) return spmv_log(m->h, SPMV_ERR_INDEX, "pointer 0 is %lld, but matrix.base is %d", v, m->in->base);
    return spmv_log(m->h, SPMV_ERR_INDEX, "pointer %llu is %lld, which is negative or above nnz%s", (spmv__ull)i, v,
                    m->ptr_bits == 32 && !m->in->nnz ? " (a pointer above 2^31 - 1 needs matrix.nnz)" : "");
}

/* Checks the pointers of CSR, CSC or BSR and sets the number of entries. */
static spmv_status spmv__import_pointers(spmv__import *m)
{
    const spmv_input *in = m->in;
    const spmv_hooks *h = m->h;
    const uint64_t signed_most = m->ptr_bits == 32 ? 0x7fffffff : INT64_MAX; /* above it is a negative one, unless nnz is as large */
    const uint64_t most = (uint64_t)in->nnz > signed_most ? (uint64_t)in->nnz : signed_most;
    uint64_t i, last = 0, per = 1;
    if (in->form == SPMV_IN_BSR) per = (uint64_t)in->block_rows * (uint64_t)in->block_cols;
    if (!in->ptr) {
        if (m->lines || in->nnz) return spmv_log(h, SPMV_ERR_ARGUMENT, "matrix.ptr is NULL");
        return SPMV_OK;
    }
    for (i = 0; i <= m->lines; i++) {
        uint64_t p = spmv__index(in->ptr, m->ptr_bits, in->base, i);
        if (p < last || p > most || (!i && p)) return spmv__bad_pointer(m, i, p < last);
        last = p;
    }
    if (in->nnz && last != (uint64_t)in->nnz)
        return spmv_log(h, SPMV_ERR_INDEX, "the last pointer counts %llu entries, but nnz is %llu", (spmv__ull)last, (spmv__ull)in->nnz);
    if (last && !m->index) return spmv_log(h, SPMV_ERR_ARGUMENT, "matrix.%s is NULL", in->form == SPMV_IN_CSC ? "row" : "col");
    m->end = last;
    m->entries = spmv__sat_mul(last, per);
    if (m->entries == UINT64_MAX) return spmv_log(h, SPMV_ERR_OVERFLOW, "the blocks hold more than 2^64 values");
    return SPMV_OK;
}

/* Checks everything but pointers and indices, and sets the members of m that describe the input and the CSR matrix. */
static spmv_status spmv__import_shape(spmv__import *m)
{
    const spmv_input *in = m->in;
    int bsr = in->form == SPMV_IN_BSR;
    uint64_t rows = (uint64_t)in->rows, cols = (uint64_t)in->cols;
    spmv_status s = spmv__import_settings(m);
    if (s) return s;
    m->rows = in->transpose ? cols : rows;
    m->cols = in->transpose ? rows : cols;
    if (in->form == SPMV_IN_COO) {
        m->entries = m->end = (uint64_t)in->nnz;
        if (m->entries && (!in->row || !in->col)) return spmv_log(m->h, SPMV_ERR_ARGUMENT, "matrix.%s is NULL", in->row ? "col" : "row");
        if (in->ptr) return spmv_log(m->h, SPMV_ERR_ARGUMENT, "matrix.ptr must be NULL with SPMV_IN_COO");
        return SPMV_OK;
    }
    m->index = in->form == SPMV_IN_CSC ? in->row : in->col;
    m->lines = in->form == SPMV_IN_CSC ? cols : bsr ? rows / (uint64_t)in->block_rows : rows;
    m->inner = in->form == SPMV_IN_CSC ? rows : bsr ? cols / (uint64_t)in->block_cols : cols;
    m->by_columns = (in->form == SPMV_IN_CSC) != (in->transpose != 0);
    return SPMV_OK;
}

/* Checks everything but the indices themselves. */
static spmv_status spmv__import_check(spmv__import *m)
{
    spmv_status s = spmv__import_shape(m);
    return s || m->in->form == SPMV_IN_COO ? s : spmv__import_pointers(m);
}

/* A look at the columns of all rows in shares: which of them has a row whose columns do not rise or lie outside. */
typedef struct spmv__import_order {
    const spmv__import *m;
    uint64_t            shares;
    uint8_t             broken[SPMV__MOST_SHARES];
} spmv__import_order;

static void spmv__import_order_share(void *job, uint64_t share)
{
    spmv__import_order *o = (spmv__import_order *)job;
    const spmv__import *m = o->m;
    const spmv_input *in = m->in;
    uint64_t r = m->rows / o->shares * share + m->rows % o->shares * share / o->shares, i, end;
    const uint64_t stop = m->rows / o->shares * (share + 1) + m->rows % o->shares * (share + 1) / o->shares;
    for (; r < stop; r++) {
        uint64_t next = 0;
        end = spmv__index(in->ptr, m->ptr_bits, in->base, r + 1);
        for (i = spmv__index(in->ptr, m->ptr_bits, in->base, r); i < end; i++) {
            uint64_t c = spmv__index(m->index, m->index_bits, in->base, i);
            if (c < next || c >= m->cols) {
                o->broken[share] = 1;
                return;
            }
            next = c + 1;
        }
    }
}

/* 1 if the lines are the rows of the CSR matrix and are sorted already, so that they can be copied: CSR, or CSC to be transposed. */
SPMV__APART int spmv__import_in_order(const spmv__import *m)
{
    const spmv_input *in = m->in;
    spmv__import_order o;
    uint64_t i, broken = 0;
    if ((in->form != SPMV_IN_CSR && in->form != SPMV_IN_CSC) || m->by_columns || in->drop_zeros || in->symmetry || !in->ptr) return 0;
    memset(&o, 0, sizeof o);
    o.m = m;
    o.shares = spmv__share_count(m->rows + m->entries);
    spmv__share_out(spmv__import_order_share, &o, o.shares);
    for (i = 0; i < o.shares; i++) broken += o.broken[i];
    return !broken;
}

/* Borrows, copies or converts the values of an input that is in order. */
static spmv_status spmv__import_copy_values(spmv_csr *out, const spmv_input *in)
{
    void *val;
    uint64_t i;
    size_t size = spmv_value_size(out->type);
    spmv_status s;
    if (in->borrow && in->val && in->val_type == out->type) {
        out->val = in->val;
        return SPMV_OK;
    }
    s = spmv__new(&out->hooks, &val, out->nnz, size, 0);
    if (s) return s;
    out->val = val;
    out->owned |= 4u;
    if (in->val && in->val_type == out->type && out->nnz) memcpy(val, in->val, (size_t)out->nnz * size);
    else for (i = 0; i < out->nnz; i++) spmv__store_value(val, out->type, i, spmv__value(in->val, in->val_type, i));
    return SPMV_OK;
}

/* Borrows, copies or converts the arrays of an input that is in order. */
static spmv_status spmv__import_copy(spmv_csr *out, const spmv__import *m)
{
    const spmv_input *in = m->in;
    void *block;
    uint64_t i;
    spmv_status s = SPMV_OK;
    out->nnz = m->entries;
    if (in->borrow && m->ptr_bits == 64 && in->base == 0) {
        out->ptr = (const uint64_t *)in->ptr;
    } else {
        s = spmv__new(m->h, &block, m->rows + 1, 8, 0);
        if (s) return s;
        for (i = 0; i <= m->rows; i++) ((uint64_t *)block)[i] = spmv__index(in->ptr, m->ptr_bits, in->base, i);
        out->ptr = (const uint64_t *)block;
        out->owned |= 1u;
    }
    if (in->borrow && m->index_bits == 32 && in->base == 0) {
        out->col = (const uint32_t *)m->index;
    } else {
        s = spmv__new(m->h, &block, m->entries, 4, 0);
        if (s) return s;
        out->col = (const uint32_t *)block;
        out->owned |= 2u;
        for (i = 0; i < m->entries; i++) ((uint32_t *)block)[i] = (uint32_t)spmv__index(m->index, m->index_bits, in->base, i);
    }
    return spmv__import_copy_values(out, in);
}

/* 1 if the columns of a row rise, so that it has no duplicates. */
static int spmv__import_rises(const spmv__import *m, uint64_t r)
{
    uint64_t i;
    for (i = m->ptr[r] + 1; i < m->ptr[r + 1] && m->col[i - 1] < m->col[i]; i++) {}
    return i >= m->ptr[r + 1];
}

/* Finds the longest row that is not in order among a task's. */
static void spmv__import_look(void *tasks, uint64_t t)
{
    spmv__import *m = (spmv__import *)tasks + t;
    uint64_t r = spmv__share_row(m->ptr, m->rows, t, m->tasks), end = spmv__share_row(m->ptr, m->rows, t + 1, m->tasks);
    for (; r < end; r++)
        if (m->ptr[r + 1] - m->ptr[r] > m->longest && !spmv__import_rises(m, r)) m->longest = m->ptr[r + 1] - m->ptr[r];
}

/* Moves n elements of some bytes to where the sorted pairs say they belong; room holds them meanwhile. */
static void spmv__import_move(void *elements, size_t bytes, const spmv__pair *pair, uint64_t n, void *room)
{
    uint64_t i;
    for (i = 0; i < n; i++) memcpy((char *)room + i * bytes, (char *)elements + pair[i].load * bytes, bytes);
    memcpy(elements, room, (size_t)(n * bytes));
}

/* Sorts each row by column, and entries of one column in the order given. */
static spmv_status spmv__import_sort(spmv__import *m)
{
    const size_t bytes = spmv_value_size(m->type);
    void *block;
    spmv__pair *pair;
    uint64_t r, i;
    spmv_status s = spmv__room(m->h, &block, m->longest, sizeof *pair + 8);
    if (s || !block) return s;
    pair = (spmv__pair *)block;
    for (r = 0; r < m->rows; r++) {
        const uint64_t first = m->ptr[r], n = m->ptr[r + 1] - first;
        if (spmv__import_rises(m, r)) continue;
        for (i = 0; i < n; i++) {
            pair[i].key = m->col[first + i];
            pair[i].load = i;
        }
        spmv__sort(pair, n);
        for (i = 0; i < n; i++) m->col[first + i] = (uint32_t)pair[i].key;
        spmv__import_move((char *)m->val + first * bytes, bytes, pair, n, pair + n);
        if (m->order) spmv__import_move(m->order + first, 8, pair, n, pair + n);
    }
    spmv_free(m->h, block);
    return SPMV_OK;
}

/* Refuses a second entry at row r and column c of the CSR matrix; the message says where it is in the caller's matrix. */
static spmv_status spmv__import_twice(const spmv__import *m, uint64_t r, uint64_t c)
{
    const spmv__ull base = (spmv__ull)m->in->base;
    int mirrored = m->half < 0 ? r < c : m->half > 0 && r > c, turn = (m->in->transpose != 0) != mirrored;
    return spmv_log(m->h, SPMV_ERR_DUPLICATE, "row %llu, column %llu occurs twice", (turn ? c : r) + base, (turn ? r : c) + base);
}

/* Sums duplicates and drops zeros as the input says, in place. Rewrites ptr; from (or NULL) becomes the values of each nonzero, as in
 * spmv_csr. */
static spmv_status spmv__import_merge(spmv_csr *out, spmv__import *m, uint64_t *ptr, uint64_t *from, void *val)
{
    const spmv_input *in = m->in;
    uint64_t r, i = 0, k = 0, used = 0;
    for (r = 0; r < m->rows; r++) {
        uint64_t end = ptr[r + 1];
        ptr[r] = k;
        while (i < end) {
            uint64_t first = i, kept = used;
            double sum = 0;
            if (in->duplicates == SPMV_DUP_REFUSE && i + 1 < end && m->col[i + 1] == m->col[i]) return spmv__import_twice(m, r, m->col[i]);
            for (; i < end && m->col[i] == m->col[first]; i++) {
                double v = spmv__value(m->val, m->type, i);
                sum = i == first ? v : sum + v;
                if (from) m->order[used] = m->order[i];
                used++;
            }
            if (in->drop_zeros && sum == 0) {
                used = kept;
                continue;
            }
            m->col[k] = m->col[first];
            spmv__store_value(val, out->type, k, sum);
            if (from) from[k] = kept;
            k++;
        }
    }
    ptr[m->rows] = k;
    if (from) from[k] = used;
    out->nnz = k;
    return SPMV_OK;
}

/* Makes the tasks of an import, each with a stretch of the entries and a count for each row. The last one's counts are ptr, which is 0;
 * those of the others take at most half as much memory as columns and values in f32. */
static spmv_status spmv__import_deal(spmv__import *m, uint64_t *ptr, const spmv_hooks *quiet, spmv__import **task)
{
    const uint64_t n = spmv__share_threads(spmv__share_count(m->entries), 1 + m->entries / (2 * m->rows + 1));
    void *block;
    uint64_t t;
    spmv_status s = spmv__new(m->h, &block, 1, n * (sizeof *m + 2 * sizeof *m->batch) + (n - 1) * m->rows * 8, 0);
    if (s) return s;
    *task = (spmv__import *)block;
    m->tasks = n;
    m->count = ptr;
    m->batch = (spmv__import_batch *)(*task + n);
    for (t = 0; t < n; t++) {
        (*task)[t] = *m;
        (*task)[t].h = quiet;
        (*task)[t].first = m->end / n * t + m->end % n * t / n;
        (*task)[t].end = m->end / n * (t + 1) + m->end % n * (t + 1) / n;
        (*task)[t].batch = m->batch + 2 * t;
        if (t + 1 < n) (*task)[t].count = (uint64_t *)(m->batch + 2 * n) + t * m->rows;
    }
    return SPMV_OK;
}

/* Counts or places a task's entries. */
static void spmv__import_work(void *tasks, uint64_t t)
{
    spmv__import *task = (spmv__import *)tasks + t;
    task->status = spmv__import_pass(task);
}

/* 1 if no task has found fault, and those that have met entries off the diagonal of a half agree on which half it is. */
static int spmv__import_agree(spmv__import *m, const spmv__import *task)
{
    int half = 0;
    uint64_t t;
    for (t = 0; t < m->tasks; t++) {
        if (task[t].status || half * task[t].half < 0) return 0;
        if (task[t].half) half = task[t].half;
    }
    m->half = half; /* for what is said about an entry that is there twice */
    return 1;
}

/* Makes the numbers of entries that the tasks have counted the places of the first that each puts in each row. */
static void spmv__import_places(const spmv__import *m, spmv__import *task)
{
    uint64_t r, t, sum = 0;
    for (r = 0; r < m->rows; r++)
        for (t = 0; t < m->tasks; t++) {
            uint64_t n = task[t].count[r];
            task[t].count[r] = sum;
            sum += n;
        }
}

/* Counts the entries of each row, then places them in the order given, in threads; ptr becomes the row pointers. The tasks log nothing: of
 * faults that several may find, the first is reported by a pass over all entries. */
static spmv_status spmv__import_bucket(spmv__import *m, uint64_t *ptr, uint32_t *col)
{
    spmv_hooks quiet;
    spmv__import *task;
    uint64_t t, r;
    spmv_status s;
    memset(&quiet, 0, sizeof quiet);
    quiet.log = spmv__hush;
    s = spmv__import_deal(m, ptr, &quiet, &task);
    if (s) return s;
    spmv__share_out(spmv__import_work, task, m->tasks);
    if (!spmv__import_agree(m, task)) {
        s = spmv__import_pass(m);
        goto done;
    }
    spmv__import_places(m, task);
    m->col = col;
    m->ptr = ptr;
    for (t = 0; t < m->tasks; t++) {
        task[t].col = col;
        task[t].ptr = ptr;
    }
    spmv__share_out(spmv__import_work, task, m->tasks);
    for (r = m->rows; r; r--) ptr[r] = ptr[r - 1]; /* placing moved every pointer to the end of its row */
    ptr[0] = 0;
    spmv__share_out(spmv__import_look, task, m->tasks);
    for (t = 0; t < m->tasks; t++) m->longest = task[t].longest > m->longest ? task[t].longest : m->longest;
done:
    spmv_free(m->h, task);
    return s;
}

/* Converts any input: places the entries in their rows, and sorts rows and merges duplicates if there is need. All memory for entries is
 * allocated before the first is read, because an input can claim sizes that no machine could hold or walk through. With symmetry, one
 * entry can become two, so up to half of the arrays may stay unused. Values to be narrowed are narrowed after duplicates are summed. */
static spmv_status spmv__import_general(spmv_csr *out, spmv__import *m)
{
    const spmv_input *in = m->in;
    const int narrow = out->type == SPMV_F32 && in->val && in->val_type == SPMV_F64;
    void *ptr = NULL, *col = NULL, *order = NULL, *val = NULL, *wide = NULL, *from = NULL;
    uint64_t most = spmv__sat_mul(m->entries, in->symmetry ? 2 : 1);
    spmv_status s = spmv__room(m->h, &val, most, spmv_value_size(out->type));
    if (!s && narrow) s = spmv__room(m->h, &wide, most, 8);
    if (!s) s = spmv__room(m->h, &col, most, 4);
    if (!s && in->updatable) s = spmv__room(m->h, &order, most, 8);
    if (!s && in->updatable) s = spmv__room(m->h, &from, spmv__sat_add(most, 1), 8);
    if (!s) s = spmv__new(m->h, &ptr, m->rows + 1, 8, 0);
    if (s) goto done;
    m->type = narrow ? SPMV_F64 : out->type;
    m->val = narrow ? wide : val;
    m->order = (uint64_t *)order;
    s = spmv__import_bucket(m, (uint64_t *)ptr, (uint32_t *)col);
    if (!s && m->longest) s = spmv__import_sort(m);
    if (s) goto done;
    out->nnz = ((uint64_t *)ptr)[m->rows];
    if (m->longest || narrow || in->drop_zeros || in->updatable)
        s = spmv__import_merge(out, m, (uint64_t *)ptr, (uint64_t *)from, val);
    if (s) goto done;
    out->ptr = (const uint64_t *)ptr;
    out->col = (const uint32_t *)col;
    out->val = val;
    out->owned = 7u;
    out->from = (uint64_t *)from;
    out->order = (uint64_t *)order;
    ptr = col = val = from = order = NULL;
done:
    spmv_free(m->h, from);
    spmv_free(m->h, order);
    spmv_free(m->h, wide);
    spmv_free(m->h, val);
    spmv_free(m->h, col);
    spmv_free(m->h, ptr);
    return s;
}

/* spmv_csr_from of values that have the type stored. Apart, as a second input would take much of the stack that tiny matrices may use. */
SPMV__APART spmv_status spmv__csr_from_stored(spmv_csr *out, const spmv_input *in, spmv_type store, const spmv_hooks *hooks)
{
    spmv_input given = *in;
    given.val_type = spmv__stored_type(store);
    return spmv_csr_from(out, &given, store, hooks);
}

/* Checks the input, then copies or borrows it if it is in order, else sorts it. */
SPMV_API spmv_status spmv_csr_from(spmv_csr *out, const spmv_input *in, spmv_type store, const spmv_hooks *hooks)
{
    if (!out || !in) return spmv__null(hooks, "spmv_csr_from", !out ? "out" : "in", out, sizeof *out);
    spmv__import m;
    spmv_status s;
    memset(out, 0, sizeof *out);
    if (!in->val_type) return spmv__csr_from_stored(out, in, store, hooks);
    memset(&m, 0, sizeof m);
    m.in = in;
    m.h = hooks;
    m.ptr_bits = in->ptr_bits ? in->ptr_bits : 32;
    m.index_bits = in->index_bits ? in->index_bits : 32;
    s = spmv__import_check(&m);
    if (s) return s;
    if (hooks) out->hooks = *hooks;
    out->rows = m.rows;
    out->cols = m.cols;
    out->type = spmv__stored_type(store);
    out->updatable = in->updatable;
    out->source = m.entries;
    out->source_type = in->val_type;
    out->symmetry = in->symmetry;
    s = spmv__import_in_order(&m) ? spmv__import_copy(out, &m) : spmv__import_general(out, &m);
    if (s) spmv_csr_free(out);
    return s;
}

/* Refuses new values of a skew-symmetric matrix that are not zero on its diagonal. */
static spmv_status spmv__update_skew(const spmv_csr *a, const void *val)
{
    uint64_t r, k, i;
    for (r = 0; r < a->rows; r++)
        for (k = a->ptr[r]; k < a->ptr[r + 1]; k++)
            for (i = a->col[k] == r ? a->from[k] : a->from[k + 1]; i < a->from[k + 1]; i++)
                if (spmv__value(val, a->source_type, a->order[i]) != 0)
                    return spmv_log(&a->hooks, SPMV_ERR_ARGUMENT, "value %llu is not zero, but lies on the diagonal of a "
                                    "skew-symmetric matrix", (spmv__ull)a->order[i]);
    return SPMV_OK;
}

/* Sums the new values of each nonzero in the order in which spmv_csr_from summed the old ones. */
SPMV_API spmv_status spmv_csr_update(spmv_csr *a, const void *val)
{
    if (!a) return spmv__null(NULL, "spmv_csr_update", "a", NULL, 0);
    uint64_t k, i;
    spmv_status s;
    if (!a->updatable) return spmv_log(&a->hooks, SPMV_ERR_FIXED, "the CSR matrix was not made updatable");
    if (!(a->owned & 4u)) {
        if (!val && a->nnz) return spmv_log(&a->hooks, SPMV_ERR_ARGUMENT, "val is NULL, but the values were borrowed");
        a->val = val;
        return SPMV_OK;
    }
    s = a->symmetry == SPMV_SKEW ? spmv__update_skew(a, val) : SPMV_OK;
    for (k = 0; k < a->nnz && !s; k++) {
        double sum = a->from ? 0 : spmv__value(val, a->source_type, k);
        for (i = a->from ? a->from[k] : 0; a->from && i < a->from[k + 1]; i++) {
            double v = spmv__signed_value(val, a->source_type, a->order[i]);
            sum = i == a->from[k] ? v : sum + v;
        }
        spmv__store_value((void *)(uintptr_t)a->val, a->type, k, sum);
    }
    return s;
}

/* The hooks are copied, because the matrix that holds them is zeroed. */
SPMV_API void spmv_csr_free(spmv_csr *a)
{
    spmv_hooks h;
    if (!a) return;
    h = a->hooks;
    if (a->owned & 1u) spmv_free(&h, (void *)(uintptr_t)a->ptr);
    if (a->owned & 2u) spmv_free(&h, (void *)(uintptr_t)a->col);
    if (a->owned & 4u) spmv_free(&h, (void *)(uintptr_t)a->val);
    spmv_free(&h, a->from);
    spmv_free(&h, a->order);
    memset(a, 0, sizeof *a);
}

/* ---- keys and cuts ----------------------------------------------------------------------------------------------- */

/* SPMV_ONLY is a sum of SPMV_BIT_<NAME>; the formats that it leaves out are cut as by SPMV_NO_<NAME>. */
#ifdef SPMV_ONLY
#define SPMV__ONLY (SPMV_ONLY)
#else
#define SPMV__ONLY (~0)
#endif

SPMV__SHARED int64_t spmv__block_height(const spmv_spec *s) { return s->key[SPMV_KEY_B] ? s->key[SPMV_KEY_B] >> 8 : 4; }
SPMV__SHARED int64_t spmv__block_width(const spmv_spec *s) { return s->key[SPMV_KEY_B] ? s->key[SPMV_KEY_B] & 255 : 4; }

/* The height of a slice or strip, or the default of the key. */
SPMV__SHARED uint64_t spmv__height(const spmv_spec *s)
{
    if (s->key[SPMV_KEY_H]) return (uint64_t)s->key[SPMV_KEY_H];
    return s->format == SPMV_CMRS ? 4 : 32;
}

static int spmv__block_known(int64_t b)
{
#define X(bh, bw, uw) if (b == ((bh) << 8 | (bw))) return 1;
    SPMV_BLOCK_LIST(X)
#undef X
    return b == 0;
}

/* The first key of a specification that is not valid, as a sentence for the user; NULL if all are. */
static const char *spmv__spec_fault(const spmv_spec *s)
{
    const int64_t *k = s->key;
    int i, h_ok = k[SPMV_KEY_H] >= 0 && k[SPMV_KEY_H] <= 65536;
    for (i = 0; i < SPMV_KEY_COUNT; i++)
        if (k[i] && !spmv_format_takes_key(s->format, (spmv_key)i)) return "the format has no such key";
    if (k[SPMV_KEY_W] < 0 || k[SPMV_KEY_W] > 0xffffffff) return "w must be 0 .. 4294967295";
    if (k[SPMV_KEY_FILL] < 0 || k[SPMV_KEY_FILL] > 1000000) return "fill must be 0 .. 1";
    if (k[SPMV_KEY_D] < 0 || k[SPMV_KEY_D] > 1000000) return "d must be 0 .. 1";
    if (!spmv__block_known(k[SPMV_KEY_B])) return
#define X(bh, bw, uw) " " #bh "x" #bw
        "b must be one of" SPMV_BLOCK_LIST(X);
#undef X
    if (s->format == SPMV_CMRS)
        h_ok = k[SPMV_KEY_H] >= 0 && k[SPMV_KEY_H] <= 16 && !(k[SPMV_KEY_H] & (k[SPMV_KEY_H] - 1));
    if (!h_ok) return s->format == SPMV_CMRS ? "h must be 1 2 4 8 or 16" : "h must be 1 .. 65536";
    if (k[SPMV_KEY_GROW] < 0 || k[SPMV_KEY_GROW] >= 1000000) return "grow must be below 1";
    if (k[SPMV_KEY_ROWS] < 0 || k[SPMV_KEY_ROWS] > SPMV_ROWS_SORTED) return "rows must be all, nonempty or sorted";
    if (k[SPMV_KEY_SIGMA] < 0 || k[SPMV_KEY_SIGMA] > 0xffffffff) return "sigma must be 0 .. 4294967295";
    if (k[SPMV_KEY_SIGMA] && k[SPMV_KEY_ROWS] != SPMV_ROWS_SORTED) return "sigma needs rows=sorted";
    if ((k[SPMV_KEY_SORT] | k[SPMV_KEY_WIDE]) & ~(int64_t)1) return "sort and wide must be 0 or 1";
    if (k[SPMV_KEY_RUN] && (k[SPMV_KEY_RUN] < 32 || k[SPMV_KEY_RUN] > 65536)) return "run must be 32 .. 65536";
    if (k[SPMV_KEY_IDX] && k[SPMV_KEY_IDX] != 16 && k[SPMV_KEY_IDX] != 32) return "idx must be 16 or 32";
    if (k[SPMV_KEY_IDX] == 16 && s->format == SPMV_CSR && !k[SPMV_KEY_RUN]) return "idx=16 needs run";
    if (k[SPMV_KEY_TILE] && (k[SPMV_KEY_TILE] < 512 || k[SPMV_KEY_TILE] > 4096 || (k[SPMV_KEY_TILE] & (k[SPMV_KEY_TILE] - 1))))
        return "tile must be 512 1024 2048 or 4096";
    if (k[SPMV_KEY_COLS] < 0 || k[SPMV_KEY_COLS] > 0xffffffff) return "cols must be 0 .. 4294967295";
    return NULL;
}

/* Checks the format, its keys, and then whether the format is compiled in. */
SPMV_API spmv_status spmv_spec_check(const spmv_spec *spec, const char **why)
{
    if (!spec) {
        if (why) *why = "spec is NULL";
        return SPMV_ERR_ARGUMENT;
    }
    const char *fault = "there is no such format";
    spmv_status s = SPMV_ERR_ARGUMENT;
    if ((unsigned)spec->format < SPMV_FORMAT_COUNT) {
        fault = spmv__spec_fault(spec);
        if (!fault && !spmv_format_built(spec->format)) {
            fault = "the format was left out of this build";
            s = SPMV_ERR_UNSUPPORTED;
        }
    }
    if (why) *why = fault;
    return fault ? s : SPMV_OK;
}

/* ---- building a part: what every format shares ------------------------------------------------------------------- */

/* Bytes of the arrays of a CSR matrix. */
SPMV__SHARED uint64_t spmv__csr_bytes(const spmv_csr *a)
{
    return spmv__sat_add(spmv__sat_mul(a->nnz, 4 + spmv_value_size(a->type)), (a->rows + 1) * 8);
}

/* 1 if an array of one 32-bit number per key is no larger than the matrix. Keys are block columns or diagonals, which can be many
 * even if the nonzeros are few. 3 nnz + 2 rows numbers take as many bytes as the CSR form in f64. */
SPMV__SHARED int spmv__keys_fit(const spmv_csr *a, uint64_t keys)
{
    return keys <= spmv__sat_add(spmv__sat_mul(3, a->nnz), 2 * a->rows);
}

/* The diagonals that hold nonzeros, numbered by column - row + rows - 1. */
typedef struct spmv__diagonals {
    uint64_t    first, end; /* numbers are from first on and below end */
    uint64_t    count;      /* entries of list */
    spmv__pair *list;       /* by rising number. key: the number; load: how many nonzeros, 0 if the diagonal was dropped */
    uint32_t   *place;      /* by number - first: place in the list + 1; 0: no nonzeros, or dropped. NULL if there are too many numbers:
                               then the list is searched by bisection */
} spmv__diagonals;

/* What the sizes of tcsr follow from. */
typedef struct spmv__tile_counts {
    uint64_t tiles, cuts, empties; /* tiles, rows that are cut, empty rows */
    uint64_t wide;                 /* with the key idx: warps whose columns need a high byte */
    int      fits;                 /* then: 1 if the columns of each warp span less than 2^23 */
} spmv__tile_counts;

/* The input of size and fill: the part's nonzeros, counted by row, and scratch memory that both use. */
typedef struct spmv__source {
    const spmv_view  *v;
    const uint64_t   *ptr;     /* part rows + 1: running counts of the part's nonzeros; NULL: they are on a device */
    uint32_t         *longest; /* then, if the format asks: the nonzeros of the longest of each longest_of rows */
    uint32_t          longest_of;
    uint8_t           counted; /* 1: a device has counted blocks, and set spans if the part has the key idx */
    uint8_t           weighed; /* 1: only sizes are wanted, nothing will be filled */
    uint8_t           threads; /* that fill the part, at most SPMV__MOST_SHARES; 0: any number */
    const spmv__tile_counts *tiled; /* then, of tcsr; NULL: the host counts */
    spmv__diagonals   diagonals;
    spmv__pair       *seen;    /* cmrs: room for the entries of a strip, for each thread; tcsr: where shares begin, rows and slots */
    uint32_t         *blocks;  /* how many blocks each block row has */
    uint32_t         *spans;   /* the lowest block column of each block row, then the highest of each; only if a device has counted */
    uint32_t         *row_spans; /* if a device has found them: the lowest column of each row of the part, then the highest of each;
                                    low > high: it is empty. Else NULL */
    spmv_converter   *converter; /* that may count blocks; NULL: the host does */
    uint64_t          strip;   /* cmrs: the most entries of a strip */
    struct spmv__block_set *sets; /* one for each thread that counts or fills blocks */
    uint64_t          rows;    /* of the part */
    void             *packed;  /* formats of the user's own: what their packer made; see spmv__extra_size */
    uint64_t          grain;   /* shares begin at multiples of so many rows; 0: anywhere */
    const spmv_array *cuts;    /* if not NULL, shares begin at one of these rows, which rise from 0 to all rows */
    const spmv_hooks *h;
} spmv__source;

/* Arrays of a part that a device holds. The creator of a matrix on that device may take them over, by setting them to NULL. */
typedef struct spmv_elsewhere {
    const void *device;       /* the spmv_device */
    void *a[SPMV_MAX_ARRAYS]; /* buffers; NULL: the array is on the host, or was taken over */
    void *all;                /* the buffer in which all of them lie; NULL: each is one by itself */
    void (*drop)(struct spmv_elsewhere *e); /* frees them and e */
} spmv_elsewhere;

/* What fills the arrays of a part instead of the host. rows comes first and sees to it that what the part's sizes follow from is on the
 * host: columns, or in their place s->row_spans or s->diagonals, counted in place, which it allocates, and of a part that takes the whole
 * matrix the row pointers, s->ptr; or it sets s->longest, which it allocates, or s->tiled, which is its own, if the format needs no more
 * than that. part sets p->elsewhere and all arrays that remain on the host if it takes the part; else it leaves p as it was. It has failed
 * if the host would fail as well. blocks, for formats of blocks, comes before it and sets s->blocks and, with the key idx, s->spans, which
 * it allocates; it sets s->counted unless the host has to count.
 * The others serve a split of a matrix whose columns are on a device only, and have them on the host unless they do their work. diagonals
 * counts the nnz nonzeros of a view by diagonal, in d->place, which it allocates; d is zero before. take gives part the nonzeros of a view
 * that lie on diagonals that stay, by writing to owner, which is that of the view, and then sets *taken. f: for messages. */
struct spmv_converter {
    spmv_status (*rows)(spmv_converter *c, spmv_part *p, spmv__source *s);
    spmv_status (*part)(spmv_converter *c, spmv_part *p, spmv__source *s, const spmv_build *how);
    spmv_status (*blocks)(spmv_converter *c, spmv_part *p, spmv__source *s);
    spmv_status (*diagonals)(spmv_converter *c, const spmv_view *v, uint64_t nnz, spmv_format f, const spmv_hooks *h, spmv__diagonals *d);
    spmv_status (*take)(spmv_converter *c, const spmv_view *v, const spmv__diagonals *d, unsigned part, uint8_t *owner, spmv_format f,
                        const spmv_hooks *h, int *taken);
};

/* Where fill puts values. If src is NULL, it puts the number of the nonzero + 1 instead, which gives the map for updates. */
typedef struct spmv__sink {
    const unsigned char *src;
    spmv_array          *dst;
    int                  fill;       /* 1: the format has fill, so explicit zeros are counted */
    unsigned             thread;     /* the number of the thread that fills, which may have tables of its own in the source */
    uint64_t            *zeros, zero_count; /* their slots, unless NULL; how many there were so far */
} spmv__sink;

typedef void (*spmv__visit)(void *user, uint64_t row, uint64_t col, uint64_t slot);

/* ---- tasks in threads ---------------------------------------------------------------------------------------------- */

/* Does task number task of a job, which no other task waits for. This is also the type of a task of libdispatch (dispatch_apply_f) and of
 * pthreadpool, so that SPMV_PARALLEL can hand it to them as it is. */
typedef void (*spmv__task)(void *job, size_t task);

/* How many threads there are. */
SPMV__SHARED size_t spmv__thread_count(void)
{
#ifdef SPMV_PARALLEL
    const size_t threads = (size_t)(SPMV_THREADS());
    return threads ? threads : 1;
#elif defined(_OPENMP)
    return (size_t)omp_get_max_threads();
#else
    return 1;
#endif
}

#ifdef SPMV__ATFORK
static long spmv__forks; /* 1 + forks behind this process since it first asked; with the processes of spmv__left_by, spmv__team and what
                            spmv_cuda.h has loaded, all that the library remembers outside of objects */
static void spmv__count_fork(void) { spmv__forks++; }
#endif

/* A number that a child which is forked off does not share with its parent, if that has asked for its own; 0 where there is no fork. */
SPMV__SHARED long spmv__process(void)
{
#if defined(SPMV__ATFORK)
    long none = 0;
    if (!__atomic_load_n(&spmv__forks, __ATOMIC_RELAXED) && !pthread_atfork(NULL, NULL, spmv__count_fork))
        __atomic_compare_exchange_n(&spmv__forks, &none, 1L, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return __atomic_load_n(&spmv__forks, __ATOMIC_RELAXED);
#elif defined(SPMV__POSIX)
    return (long)getpid();
#else
    return 0;
#endif
}

/* 1 in a process that was forked off *owner, which becomes the first process that asks. */
SPMV__SHARED int spmv__left_by(long *owner)
{
#ifdef SPMV__POSIX
    const long process = spmv__process(), first = __atomic_load_n(owner, __ATOMIC_RELAXED);
    if (!first) __atomic_store_n(owner, process, __ATOMIC_RELAXED);
    return first && first != process;
#else
    (void)owner;
    return 0;
#endif
}

/* 1 in a process that was forked off the one which called this first: OpenMP's threads have stayed there, and GNU's runtime would wait for
 * them for ever. */
SPMV__SHARED int spmv__forked(void)
{
    static long owner;
    return spmv__left_by(&owner);
}

#if defined(_OPENMP) && !defined(SPMV_PARALLEL)
/* Seconds: a region that takes so much longer than its tasks would in one thread is held up. Starting threads takes less; one of them waits
 * for a processor that another program uses. */
#define SPMV__HELD_UP 1e-3
#define SPMV__HELD_UP_OWN 1e-2 /* seconds: where tasks take longer, waiting costs little beside them, or only means that one is longest */
#define SPMV__HELD_UP_TIMES 4 /* for so many times as long as a region was held up, the thread that called does tasks alone */

/* What the calling thread knows of its team, and remembers as spmv__forked does.
 *   alone  seconds for which it still does tasks alone
 *   since  when these were counted last, while it does some; else 0
 *   team   threads of the last region, 0: there was none */
static struct spmv__team_known { double alone, since; size_t team; } spmv__team;
#pragma omp threadprivate(spmv__team)

/* Counts the time for which the calling thread does tasks alone. 1: it does some and has done so for long enough. */
static int spmv__alone_ends(void)
{
    double now;
    if (!(spmv__team.since > 0)) return 0;
    now = omp_get_wtime();
    spmv__team.alone -= now - spmv__team.since;
    spmv__team.since = now;
    return !(spmv__team.alone > 0);
}

/* Does the tasks alone for as long as the thread should. Returns how many it has done. */
static size_t spmv__do_alone(spmv__task task, void *job, size_t count)
{
    size_t i = 0;
    if (!(spmv__team.alone > 0)) return 0;
    spmv__team.since = omp_get_wtime();
    do task(job, i++);
    while (!spmv__alone_ends() && i < count);
    spmv__team.since = 0;
    return i;
}

/* Does the tasks from the first on in a team. Where other programs use the processors, its threads wait for one another at both ends of the
 * region until these let them, often for 100 times as long as the tasks take. What starting more threads takes does not count. */
static void spmv__do_in_team(spmv__task task, void *job, size_t first, size_t count, size_t team)
{
    double begin = omp_get_wtime(), own = 0, held_up;
    #pragma omp parallel num_threads((int)team) if (!spmv__forked())
    {
        double start = 0;
        int64_t i;
        #pragma omp master
        start = omp_get_wtime();
        #pragma omp for schedule(static, 1) nowait
        for (i = (int64_t)first; i < (int64_t)count; i++) task(job, (size_t)i);
        #pragma omp master
        {
            own = omp_get_wtime() - start;
            if (team > spmv__team.team) begin = start;
        }
    }
    spmv__team.team = team;
    held_up = omp_get_wtime() - begin - own * (double)(count - first);
    if (held_up > SPMV__HELD_UP && own < SPMV__HELD_UP_OWN) spmv__team.alone = SPMV__HELD_UP_TIMES * held_up;
}
#endif

/* Does tasks 0 .. count - 1, where count is at least 1, in threads if the build has them and the process was not forked off one whose
 * threads of OpenMP these are (spmv__forked). They have all been done when it returns.
 *   team  how many threads OpenMP has for that, count or more */
SPMV__APART void spmv__parallel(spmv__task task, void *job, size_t count, size_t team)
{
    if (count == 1) {
        task(job, 0);
        return;
    }
#ifdef SPMV_PARALLEL
    (void)team;
    SPMV_PARALLEL(task, job, count);
#elif defined(_OPENMP)
    {
        const size_t done = spmv__do_alone(task, job, count);
        if (done < count) spmv__do_in_team(task, job, done, count, team);
    }
#else
    (void)team; /* there is one thread, so count is 1 */
#endif
}

/* Tasks take numbers from a counter. Where there are no threads, or no atomic addition is known, each is dealt numbers of its own. */
#ifndef SPMV__DEALS
#if defined(__GNUC__) && (defined(SPMV_PARALLEL) || defined(_OPENMP))
#define SPMV__DEALS 0
#elif !defined(SPMV_PARALLEL) && defined(_OPENMP) && _OPENMP >= 201107 /* atomic capture */
#define SPMV__DEALS 0
#else
#define SPMV__DEALS 1
#endif
#endif

/* Should a task that takes numbers leave the rest to the tasks after it? These are then done in a team. */
#if defined(_OPENMP) && !defined(SPMV_PARALLEL) && !SPMV__DEALS
#define SPMV__LEAVES spmv__alone_ends()
#else
#define SPMV__LEAVES 0
#endif

/* The next number for a task: from the counter, or the one that it is dealt. */
SPMV__SHARED size_t spmv__take_number(size_t *counter, size_t dealt)
{
#if SPMV__DEALS
    (void)counter;
    return dealt;
#elif defined(__GNUC__)
    (void)dealt;
    return __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
#else
    size_t number;
    (void)dealt;
    #pragma omp atomic capture
    number = (*counter)++;
    return number;
#endif
}

/* ---- sharing work among threads ----------------------------------------------------------------------------------- */

/* Conversions and analyses are divided into shares of about this many rows and nonzeros, so few that starting a thread pays. How many
 * there are depends on the matrix alone, so that every result has the same bits with any number of threads. */
#ifndef SPMV__SHARE
#define SPMV__SHARE 32768
#endif

/* The most threads of a conversion or an analysis. More hardly gain, since they wait for memory, and starting them takes longer: sell of
 * 4.3 million nonzeros took 2.5, 2.7, 3.8 and 15.8 ms to prepare with 4, 8, 16 and 32 threads (a host of an H200 that shows 32 processors
 * and has 16). */
enum { SPMV__MOST_THREADS = 8 };

/* How many shares so many rows and nonzeros are worth. */
SPMV__SHARED uint64_t spmv__share_count(uint64_t work)
{
    const uint64_t most = SPMV__MOST_SHARES, shares = work / SPMV__SHARE;
    return shares < 2 ? 1 : shares < most ? shares : most;
}

/* Does share number share of some work. */
typedef void (*spmv__work)(void *job, uint64_t share);
/* The same with the number of the thread that does it, below that of the threads which do the work: each may have a table of its own. */
typedef void (*spmv__work_in)(void *job, uint64_t share, size_t thread);

/* How many threads conversions and analyses have. */
SPMV__SHARED uint64_t spmv__share_team(void)
{
    const uint64_t threads = spmv__thread_count(), most = SPMV__MOST_THREADS;
    return threads < most ? threads : most;
}

/* How many threads do so many shares; most is the most there may be. */
SPMV__SHARED uint64_t spmv__share_threads(uint64_t shares, uint64_t most)
{
    const uint64_t threads = spmv__share_team();
    if (shares < most) most = shares;
    return threads < most ? threads : most;
}

/* What the tasks of spmv__share_among have in common. */
typedef struct spmv__sharing {
    spmv__work_in work;
    void         *job;
    uint64_t      shares, each; /* each: those of a stretch, of which there are as many as tasks */
    size_t        tasks, next;
} spmv__sharing;

static void spmv__share_task(void *sharing, size_t task)
{
    spmv__sharing *c = (spmv__sharing *)sharing;
    size_t dealt, i;
    for (dealt = task; (i = spmv__take_number(&c->next, dealt)) < c->each * c->tasks; dealt += c->tasks) {
        const uint64_t share = i % c->tasks * c->each + i / c->tasks;
        if (share < c->shares) c->work(c->job, share, task);
        if (SPMV__LEAVES) return;
    }
}

/* Calls work for each share, in at most so many threads. Shares that begin at the same time lie far apart: of two threads that write to the
 * same large page for the first time, both have the system zero one, which takes longer than filling it. The threads belong to a team that
 * is as large for every work, as GNU's OpenMP ends the threads that a smaller team leaves over and starts new ones for the next larger
 * team. */
SPMV__APART void spmv__share_among(spmv__work_in work, void *job, uint64_t shares, uint64_t threads)
{
    const uint64_t team = spmv__share_team(); /* may have changed since the threads were counted */
    spmv__sharing c;
    c.work = work;
    c.job = job;
    c.shares = shares;
    c.tasks = (size_t)(threads < 2 ? 1 : threads < team ? threads : team);
    c.each = spmv__ceil_div(shares, c.tasks);
    c.next = 0;
    spmv__parallel(spmv__share_task, &c, c.tasks, (size_t)team);
}

/* Work that does not ask for the number of its thread. */
typedef struct spmv__plain_work {
    spmv__work work;
    void      *job;
} spmv__plain_work;

static void spmv__work_plainly(void *plain, uint64_t share, size_t thread)
{
    const spmv__plain_work *p = (const spmv__plain_work *)plain;
    (void)thread;
    p->work(p->job, share);
}

/* Calls work for each share, in threads if the build has them. */
SPMV__SHARED void spmv__share_out(spmv__work work, void *job, uint64_t shares)
{
    spmv__plain_work plain;
    plain.work = work;
    plain.job = job;
    if (shares == 1) work(job, 0);
    else spmv__share_among(spmv__work_plainly, &plain, shares, shares);
}

/* The row at which a share begins, so that all have about as many rows and nonzeros; ptr counts the nonzeros before each row. */
SPMV__SHARED uint64_t spmv__share_row(const uint64_t *ptr, uint64_t rows, uint64_t share, uint64_t shares)
{
    uint64_t all = rows ? ptr[rows] - ptr[0] + rows : 0, want = all / shares * share + all % shares * share / shares, low = 0, high = rows;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (ptr[middle] - ptr[0] + middle < want) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The last of rows i .. rows that begins with nonzero k at the latest, as row i does. It is most often near row i, so steps grow from
 * there. */
SPMV__SHARED uint64_t spmv__tile_row(const uint64_t *ptr, uint64_t i, uint64_t rows, uint64_t k)
{
    uint64_t step = 1, high;
    while (step <= rows - i && ptr[i + step] <= k) {
        i += step;
        step *= 2;
    }
    for (high = spmv__smaller(i + step - 1, rows); i < high;) {
        uint64_t middle = i + (high - i + 1) / 2;
        if (ptr[middle] <= k) i = middle;
        else high = middle - 1;
    }
    return i;
}

/* ---- estimates of a part that is not built ------------------------------------------------------------------------ */

/* A view, and what was found out about its rows. */
typedef struct spmv__look {
    const spmv_view  *v;
    const spmv_hooks *h;
    uint32_t         *len;    /* the nonzeros of each row of the matrix; NULL: the view shows all, so that its row pointers say it */
    uint64_t         *longer; /* longer[k]: number of rows with k or more nonzeros, k up to longest + 1 */
    uint64_t          longest, nnz, rows; /* rows: those that are not empty */
    uint64_t          longest_row;        /* the first row that is the longest */
    double            weighted;           /* sum over k > 0 of k longer[k] */
    uint32_t         *tallest;            /* the longest row of each SPMV__LOOK_FEW rows */
    struct spmv__look_known *known;       /* what estimates have found out so far */
} spmv__look;

enum {
    SPMV__LOOK_KNOWN = 12, /* more heights, and more tiles, than layouts have */
    SPMV__LOOK_FEW   = 8,  /* rows whose longest is known: every usual height is a multiple */
    SPMV__LOOK_GROUP = 32  /* rows whose columns are known together: every height for which they are asked often is a multiple */
};

/* Results that estimates share because each takes a pass over the rows, by the height of slices or the slots of a tile. */
typedef struct spmv__look_results {
    int      count;
    uint64_t key[SPMV__LOOK_KNOWN];
    double   result[SPMV__LOOK_KNOWN];
} spmv__look_results;

/* What several estimates need. */
typedef struct spmv__look_known {
    spmv__look_results in_order, sorted, tiles; /* slots of sell, of sell with sorted rows, and of tcsr */
    spmv__look_results narrow;                  /* 1: the columns of every so many adjacent rows fit 16 bits */
    int                spanned, spans_fit;      /* 1: the spans are there; each of them fits 16 bits */
    int                warps;                   /* sampled warps of tcsr; 0: none yet */
    int                wide, beyond;            /* those whose columns span 2^16 or more, and 2^23 or more */
    uint32_t          *low, *high; /* of each group of SPMV__LOOK_GROUP rows: first and last column; low > high: no nonzeros */
} spmv__look_known;

/* The work of a product with a part. */
typedef struct spmv__load {
    double rows, slots, nnz;
    double skipped; /* of the slots: padding of which a product reads only the column */
    double gather;  /* as in spmv_features */
    double uneven;  /* standard deviation of row lengths over their mean; 0 if the layout pads rows to one length */
    double longest; /* slots of the longest row (block formats: of one row of the longest block row) */
    double bands;   /* groups of adjacent diagonals */
    double extra;   /* bytes of the matrix besides values, columns of the width that the keys say, and one element of y a row */
} spmv__load;

/* Estimates the work of a product with a part that takes all of a view. The caller sets in out what holds for most formats: rows,
 * nonzeros, as many slots, gather and the longest row; a format's function changes what differs. SPMV_ERR_UNSUPPORTED, without
 * a message, if such a part makes no sense for the matrix. */
typedef spmv_status (*spmv__estimate)(const spmv_spec *spec, const spmv__look *l, const spmv_features *f, spmv__load *out);

/* Which rows a format (a block format: which block rows) stores with one width, that of the longest among them. */
typedef enum spmv__padding { SPMV__PADS_NONE = 0, SPMV__PADS_SLICES, SPMV__PADS_ALL } spmv__padding;

/* How many lanes a row has on a device where knob L does not set them (spmv__lanes_by_default of spmv_plan.h). */
typedef enum spmv__lane_rule {
    SPMV__LANES_ONE = 0,   /* one */
    SPMV__LANES_BY_ROWS,   /* several only where the rows alone do not fill the device */
    SPMV__LANES_BY_LENGTH, /* more, the longer the mean row is (cmrs: strip), as they read its entries side by side */
    SPMV__LANES_BY_BATCH   /* as many as load the mean row at once, as each loads several entries at once */
} spmv__lane_rule;

/* The properties of a format that the library needs even where the format is left out; at the head of the format's section. */
typedef struct spmv__traits {
    unsigned          keys;     /* bits SPMV__KEY(W) of the keys that it understands */
    unsigned          flags;    /* see spmv_format_flags */
    spmv_format_class category;
    double            indices;  /* column and row indices stored for each slot (block formats: for each block) */
    unsigned          even;     /* bits of the keys with which a long row does not slow down a product, because it is shared out in
                                   pieces; SPMV__EVEN: with any keys */
    spmv__padding     pads;
    spmv__lane_rule   lanes;
    int             (*suits)(const spmv_features *f); /* 0: not worth an estimate for such a matrix; NULL: it always is */
} spmv__traits;

#define SPMV__KEY(NAME) (1u << SPMV_KEY_##NAME)
#define SPMV__LISTS (SPMV__KEY(ROWS) | SPMV__KEY(SIGMA))
enum { SPMV__EVEN = 1u << SPMV_KEY_COUNT /* see spmv__traits */ };

/* The functions of a format; all are NULL if it is left out. */
typedef struct spmv__ops {
    spmv_status (*size)(spmv_part *p, spmv__source *s); /* integers, array counts and widths, and where shares may begin */
    /* Fills what later rows need to know of earlier ones, such as pointers; NULL: nothing. Arrays are allocated, not initialised. */
    void (*lay)(spmv_part *p, spmv__source *s);
    /* Fills the slots of rows first .. end - 1, with their padding; those of the last row also what follows it. Several threads call it
     * at once for different rows. */
    void (*fill)(spmv_part *p, const spmv__source *s, spmv__sink *to, uint64_t first, uint64_t end);
    void (*each)(const spmv_part *p, spmv__visit visit, void *user); /* every slot that may hold a nonzero */
    spmv__estimate estimate;
} spmv__ops;

static uint64_t spmv__source_row(const spmv__source *s, uint64_t i) { return s->v->list ? s->v->list[i] : i; }

static int spmv__mine(const spmv_view *v, uint64_t k) { return !v->owner || v->owner[k] == v->part; }

/* 1 if a value of 4 or 8 bytes is zero, with either sign. */
static int spmv__is_zero(const unsigned char *value, uint32_t width)
{
    uint64_t d;
    uint32_t f;
    if (width == 8) {
        memcpy(&d, value, 8);
        return !(d << 1);
    }
    memcpy(&f, value, 4);
    return !(f << 1);
}

/* Puts nonzero k into a slot. */
static void spmv__put(spmv__sink *to, uint64_t slot, uint64_t k)
{
    uint32_t width = to->dst->width;
    if (!to->src) {
        spmv__set(to->dst, slot, k + 1);
        return;
    }
    if (width == 8) memcpy((unsigned char *)to->dst->data + slot * 8, to->src + k * 8, 8);
    else memcpy((unsigned char *)to->dst->data + slot * 4, to->src + k * 4, 4);
    if (to->fill && spmv__is_zero(to->src + k * width, width)) {
        if (to->zeros) to->zeros[to->zero_count] = slot;
        to->zero_count++;
    }
}

/* Makes count slots from slot on hold no nonzero: padding or fill. */
SPMV__SHARED void spmv__clear(const spmv__sink *to, uint64_t slot, uint64_t count)
{
    if (count) memset((unsigned char *)to->dst->data + slot * to->dst->width, 0, (size_t)(count * to->dst->width));
}

/* Puts nonzeros k .. k + count - 1 into as many slots from slot on, for formats without fill. */
SPMV__SHARED void spmv__put_all(spmv__sink *to, uint64_t slot, uint64_t k, uint64_t count)
{
    uint32_t width = to->dst->width;
    uint64_t i;
    if (to->src && count) memcpy((unsigned char *)to->dst->data + slot * width, to->src + k * width, (size_t)(count * width));
    for (i = 0; !to->src && i < count; i++) spmv__put(to, slot + i, k + i);
}

/* The first row of a share of the part. */
static uint64_t spmv__share_first(const spmv__source *s, uint64_t share, uint64_t shares)
{
    uint64_t row, low = 0, high;
    row = s->ptr ? spmv__share_row(s->ptr, s->rows, share, shares) : s->rows / shares * share + s->rows % shares * share / shares;
    if (s->grain) row = spmv__smaller(spmv__round_up(row, s->grain), s->rows);
    if (!s->cuts || !s->cuts->count) return row;
    for (high = s->cuts->count - 1; low < high;) {
        uint64_t middle = low + (high - low) / 2;
        if (spmv__at(s->cuts, middle) < row) low = middle + 1;
        else high = middle;
    }
    return spmv__at(s->cuts, low);
}

/* The part's nonzeros. */
static uint64_t spmv__source_nnz(const spmv__source *s) { return !s->rows ? 0 : s->ptr ? s->ptr[s->rows] : s->v->a->nnz; }

static uint64_t spmv__source_shares(const spmv__source *s) { return spmv__share_count(s->rows ? spmv__source_nnz(s) + s->rows : 0); }

/* Sets how large an array is to be; spmv__part_arrays allocates it. */
static void spmv__want(spmv_array *a, uint64_t count, uint32_t width)
{
    a->count = count;
    a->width = width;
}

/* As spmv__want, with 4 bytes for each offset if the largest fits, else 8. */
SPMV__SHARED void spmv__want_offsets(spmv_array *a, uint64_t count, uint64_t largest)
{
    spmv__want(a, count, largest <= 0xffffffffu ? 4 : 8);
}

static uint32_t spmv__part_row(const spmv_part *p, uint64_t i)
{
    return p->list.count ? ((const uint32_t *)p->list.data)[i] : (uint32_t)i;
}

/* ---- columns of 32 bits, or of 16 bits from a base ---------------------------------------------------------------- */

/* Sets how large the arrays of columns and bases are to be: 16-bit columns with bases if the key idx says so and they fit, else 32-bit
 * columns without bases.
 *   count   columns
 *   bases   groups of rows, each of which has a base
 *   fits    1 if the columns of every group span less than 2^16 - 1 */
SPMV__SHARED void spmv__want_columns(const spmv_part *p, spmv_array *col, spmv_array *base, uint64_t count, uint64_t bases, int fits)
{
    int narrow = p->spec.key[SPMV_KEY_IDX] == 16 && fits;
    spmv__want(col, count, narrow ? 2 : 4);
    spmv__want(base, narrow ? bases : 0, 4);
}

/* Stores column c in a slot, relative to the base of its group if there are bases; scale is the width of a block, else 1. */
SPMV__SHARED void spmv__set_column(spmv_array *col, const spmv_array *base, uint64_t slot, uint64_t group, uint64_t c, uint64_t scale)
{
    if (base->count) ((uint16_t *)col->data)[slot] = (uint16_t)((c - ((const uint32_t *)base->data)[group]) / scale);
    else ((uint32_t *)col->data)[slot] = (uint32_t)c;
}

/* The column that spmv__set_column stored in a slot; SPMV_PAD for padding. */
SPMV__SHARED uint32_t spmv__column_at(const spmv_array *col, const spmv_array *base, uint64_t slot, uint64_t group, uint64_t scale)
{
    uint32_t c;
    if (!base->count) return ((const uint32_t *)col->data)[slot];
    c = ((const uint16_t *)col->data)[slot];
    return c == SPMV_PAD16 ? SPMV_PAD : ((const uint32_t *)base->data)[group] + c * (uint32_t)scale;
}

/* Widens low .. high by the columns of the part's nonzeros among entries k .. end - 1 of one row: as columns rise, by the first and the
 * last of them. */
static void spmv__span_entries(const spmv_view *v, uint64_t k, uint64_t end, uint64_t *low, uint64_t *high)
{
    while (k < end && !spmv__mine(v, k)) k++;
    if (k == end) return;
    while (!spmv__mine(v, end - 1)) end--;
    if (v->a->col[k] < *low) *low = v->a->col[k];
    if (v->a->col[end - 1] > *high) *high = v->a->col[end - 1];
}

/* The lowest and the highest column of rows first .. end - 1 of the part; low > high if they are empty. */
SPMV__SHARED void spmv__span(const spmv__source *s, uint64_t first, uint64_t end, uint64_t *low, uint64_t *high)
{
    const spmv_csr *a = s->v->a;
    uint64_t i;
    *low = UINT64_MAX;
    *high = 0;
    for (i = first; s->row_spans && i < end; i++) {
        if (s->row_spans[i] < *low && s->row_spans[i] != UINT32_MAX) *low = s->row_spans[i];
        if (s->row_spans[s->rows + i] > *high) *high = s->row_spans[s->rows + i];
    }
    for (; i < end; i++) {
        uint64_t r = spmv__source_row(s, i);
        spmv__span_entries(s->v, a->ptr[r], a->ptr[r + 1], low, high);
    }
}

SPMV__SHARED int spmv__span_fits(uint64_t low, uint64_t high) { return low > high || high - low < SPMV_PAD16; }

/* ---- estimates that several formats share -------------------------------------------------------------------------- */

/* The nonzeros of a row of the view. */
SPMV__SHARED uint64_t spmv__look_len(const spmv__look *l, uint64_t r)
{
    return l->len ? l->len[r] : l->v->a->ptr[r + 1] - l->v->a->ptr[r];
}

/* The nonzeros of the longest of rows first .. end - 1 of the matrix. */
SPMV__SHARED uint64_t spmv__look_tallest(const spmv__look *l, uint64_t first, uint64_t end)
{
    const int whole = first % SPMV__LOOK_FEW == 0 && (end % SPMV__LOOK_FEW == 0 || end == l->v->a->rows);
    uint64_t most = 0, i;
    for (i = first / SPMV__LOOK_FEW; whole && i * SPMV__LOOK_FEW < end; i++)
        if (l->tallest[i] > most) most = l->tallest[i];
    for (i = first; !whole && i < end; i++)
        if (spmv__look_len(l, i) > most) most = spmv__look_len(l, i);
    return most;
}

/* Finds the result for a key. 0: it is not known. */
SPMV__SHARED int spmv__look_has(const spmv__look_results *r, uint64_t key, double *result)
{
    int i;
    for (i = 0; i < r->count; i++)
        if (r->key[i] == key) {
            *result = r->result[i];
            return 1;
        }
    return 0;
}

/* Remembers the result for a key, as long as there is room. */
SPMV__SHARED void spmv__look_keep(spmv__look_results *r, uint64_t key, double result)
{
    if (r->count == SPMV__LOOK_KNOWN) return;
    r->key[r->count] = key;
    r->result[r->count++] = result;
}

/* A pass over all rows of a look in shares of whole slices of h rows. */
typedef struct spmv__look_pass {
    const spmv__look *l;
    uint64_t          h, shares;
    uint64_t          result[SPMV__MOST_SHARES];
} spmv__look_pass;

/* The row at which a share of a pass begins. */
static uint64_t spmv__look_first(const spmv__look_pass *c, uint64_t share)
{
    uint64_t rows = c->l->v->a->rows, slices = spmv__ceil_div(rows, c->h);
    return spmv__smaller(slices / c->shares * share * c->h + slices % c->shares * share / c->shares * c->h, rows);
}

/* Begins a pass and calls work for each share. Each row counts for steps, so that short passes stay in one thread. */
SPMV__SHARED void spmv__look_run(spmv__look_pass *c, const spmv__look *l, uint64_t h, uint64_t steps, spmv__work work)
{
    uint64_t rows = l->v->a->rows;
    c->l = l;
    c->h = rows && h > rows ? rows : h;
    c->shares = spmv__share_count(rows * steps);
    spmv__share_out(work, c, c->shares);
}

/* Finds the first and the last column of each group of rows of a share, up to a group that does not fit 16 bits: then the share's result
 * is 0, else 1. */
SPMV__SHARED void spmv__look_spans_share(void *job, uint64_t share)
{
    spmv__look_pass *c = (spmv__look_pass *)job;
    const spmv_csr *a = c->l->v->a;
    spmv__look_known *known = c->l->known;
    uint64_t first, r, end, stop = spmv__look_first(c, share + 1);
    c->result[share] = 0;
    for (first = spmv__look_first(c, share); first < stop; first = end) {
        uint64_t low = UINT64_MAX, high = 0, group = first / SPMV__LOOK_GROUP;
        end = spmv__smaller(first + SPMV__LOOK_GROUP, stop);
        for (r = first; r < end; r++)
            if (spmv__look_len(c->l, r)) spmv__span_entries(c->l->v, a->ptr[r], a->ptr[r + 1], &low, &high);
        if (!spmv__span_fits(low, high)) return;
        known->low[group] = low > high ? 1 : (uint32_t)low;
        known->high[group] = (uint32_t)high;
    }
    c->result[share] = 1;
}

/* 1 if, of some groups of SPMV__LOOK_GROUP rows that are spread evenly, at least one does not fit 16 bits. */
SPMV__SHARED int spmv__look_spans_sample(const spmv__look *l)
{
    const uint64_t samples = 64, groups = l->v->a->rows / SPMV__LOOK_GROUP; /* samples: groups, few beside a pass over all */
    uint64_t i, r;
    for (i = 0; i < samples && samples < groups; i++) {
        const uint64_t first = groups / samples * i * SPMV__LOOK_GROUP;
        uint64_t low = UINT64_MAX, high = 0;
        for (r = first; r < first + SPMV__LOOK_GROUP; r++) spmv__span_entries(l->v, l->v->a->ptr[r], l->v->a->ptr[r + 1], &low, &high);
        if (!spmv__span_fits(low, high)) return 1;
    }
    return 0;
}

/* Finds the spans of all groups of rows, unless a sample shows that not all fit 16 bits. */
SPMV__SHARED void spmv__look_spans(const spmv__look *l)
{
    const uint64_t steps = 8; /* most rows cause a miss of the cache */
    spmv__look_known *known = l->known;
    spmv__look_pass c;
    uint64_t i;
    known->spanned = 1;
    if (spmv__look_spans_sample(l)) return;
    spmv__look_run(&c, l, SPMV__LOOK_GROUP, steps, spmv__look_spans_share);
    known->spans_fit = 1;
    for (i = 0; i < c.shares; i++) known->spans_fit = known->spans_fit && c.result[i];
}

/* Widens low .. high to the columns of a group of rows, whose spans are known. */
static void spmv__span_group(const spmv__look_known *known, uint64_t group, uint64_t *low, uint64_t *high)
{
    if (known->low[group] > known->high[group]) return;
    *low = spmv__smaller(*low, known->low[group]);
    if (known->high[group] > *high) *high = known->high[group];
}

/* 1 if the columns of rows first .. end - 1 fit 16 bits. If all groups fit, those around the rows usually decide; else rows are read that
 * share a group with others. */
SPMV__SHARED int spmv__rows_fit(const spmv__look *l, uint64_t first, uint64_t end)
{
    const spmv__look_known *known = l->known;
    const uint64_t *ptr = l->v->a->ptr;
    uint64_t low = UINT64_MAX, high = 0, r, g;
    for (g = first / SPMV__LOOK_GROUP; known->spans_fit && g * SPMV__LOOK_GROUP < end; g++) spmv__span_group(known, g, &low, &high);
    if (known->spans_fit && spmv__span_fits(low, high)) return 1;
    low = UINT64_MAX;
    high = 0;
    for (r = first; r < end;) {
        if (known->spans_fit && r % SPMV__LOOK_GROUP == 0 && end - r >= SPMV__LOOK_GROUP) {
            spmv__span_group(known, r / SPMV__LOOK_GROUP, &low, &high);
            r += SPMV__LOOK_GROUP;
        } else {
            spmv__span_entries(l->v, ptr[r], ptr[r + 1], &low, &high);
            r++;
        }
    }
    return spmv__span_fits(low, high);
}

/* Sets the share's result to 1 if the columns of each of its slices fit 16 bits. */
static void spmv__narrow_share(void *job, uint64_t share)
{
    spmv__look_pass *c = (spmv__look_pass *)job;
    const uint64_t end = spmv__look_first(c, share + 1);
    uint64_t r = spmv__look_first(c, share), stop;
    int fit = 1;
    for (; fit && r < end; r = stop) {
        stop = end - r < c->h ? end : r + c->h;
        fit = spmv__rows_fit(c->l, r, stop);
    }
    c->result[share] = (uint64_t)fit;
}

/* 1 if the columns of every h adjacent rows fit 16 bits. */
SPMV__SHARED int spmv__narrow_fits(const spmv__look *l, uint64_t h)
{
    spmv__look_pass c;
    double fit = 1;
    uint64_t i;
    if (l->v->a->cols < SPMV_PAD16) return 1;
    if (!l->known->spanned) spmv__look_spans(l);
    if (!l->known->spans_fit && h % SPMV__LOOK_GROUP == 0) return 0;
    if (l->known->spans_fit && SPMV__LOOK_GROUP % h == 0) return 1; /* all lie within groups */
    if (spmv__look_has(&l->known->narrow, h, &fit)) return fit > 0;
    spmv__look_run(&c, l, h, 1, spmv__narrow_share);
    for (i = 0; i < c.shares && fit > 0; i++) fit = (double)c.result[i];
    spmv__look_keep(&l->known->narrow, h, fit);
    return fit > 0;
}

/* SPMV_ERR_UNSUPPORTED if the key idx wants 16-bit columns but those of some h adjacent rows do not fit. */
SPMV__SHARED spmv_status spmv__estimate_columns(const spmv_spec *spec, const spmv__look *l, uint64_t h)
{
    return spec->key[SPMV_KEY_IDX] == 16 && !spmv__narrow_fits(l, h) ? SPMV_ERR_UNSUPPORTED : SPMV_OK;
}

/* For formats without padding: the slots are the nonzeros, and the rows stay uneven. */
SPMV__SHARED spmv_status spmv__estimate_entries(const spmv_features *f, spmv__load *out)
{
    out->uneven = f->uneven;
    return SPMV_OK;
}

/* ---- dense ------------------------------------------------------------------------------------------------------- */
#if defined(SPMV_NO_DENSE) || !(SPMV__ONLY & SPMV_BIT_DENSE)
#undef SPMV_NO_DENSE
#define SPMV_NO_DENSE
#define SPMV__BUILT_DENSE 0
#else
#define SPMV__BUILT_DENSE 1
#endif

static const spmv__traits spmv__dense_traits = {
    SPMV__LISTS,                                    /* keys */
    SPMV_CAN_LIST | SPMV_HAS_FILL | SPMV_LONG_ROWS, /* flags */
    SPMV_CLASS_DENSE,                               /* class */
    0,                                              /* indices */
    0,                                              /* even */
    SPMV__PADS_NONE, SPMV__LANES_BY_LENGTH,         /* pads, lanes */
    NULL                                            /* suits */
};

static const char *const spmv__dense_layouts[] = {
    "dense"
};

#ifndef SPMV_NO_DENSE
static spmv_status spmv__dense_size(spmv_part *p, spmv__source *s)
{
    (void)s;
    spmv__want(&p->a[SPMV_VAL], spmv__sat_mul(p->rows, p->cols), p->a[SPMV_VAL].width);
    return SPMV_OK;
}

static spmv_status spmv__dense_estimate(const spmv_spec *spec, const spmv__look *l, const spmv_features *f, spmv__load *out)
{
    (void)spec;
    (void)l;
    out->slots = (double)f->rows * (double)f->cols;
    out->longest = (double)f->cols;
    return SPMV_OK;
}

#define spmv__dense_lay NULL

static void spmv__dense_fill(spmv_part *p, const spmv__source *s, spmv__sink *to, uint64_t first, uint64_t end)
{
    uint64_t i, k;
    spmv__clear(to, first * p->cols, (end - first) * p->cols);
    for (i = first; i < end; i++) {
        uint64_t r = spmv__source_row(s, i);
        for (k = s->v->a->ptr[r]; k < s->v->a->ptr[r + 1]; k++)
            if (spmv__mine(s->v, k)) spmv__put(to, i * p->cols + s->v->a->col[k], k);
    }
}

static void spmv__dense_each(const spmv_part *p, spmv__visit visit, void *user)
{
    uint64_t i, c;
    for (i = 0; i < p->rows; i++)
        for (c = 0; c < p->cols; c++) visit(user, i, c, i * p->cols + c);
}
#endif

/* ---- rows of csr and coo ------------------------------------------------------------------------------------------ */

/* How the host sums rows of csr, and those of formats that share its code. */
/* Nonzeros: rows with fewer have a loop for their length where most are alike, and blocks with at most so many in a row on average are
 * summed without branches. */
#define SPMV__SHORT 8
#define SPMV__BLOCK_ROWS 64 /* of which all are short or the block is not */
#define SPMV__FOUR 4 /* nonzeros that a row of a short block has at most, which are multiplied at once */
#define SPMV__ALIKE_ROWS 5 /* rows are alike if fewer than one in so many is not as long as the row before */
/* Of x, bytes: more than these will not stay in the caches beside the matrix. If at least one nonzero in SPMV__FAR_ONE is far from those
 * before it, x is fetched in advance, by SPMV__FAR nonzeros. With 1 to 2 MB this made products up to 1.4 times slower unless most nonzeros
 * are far and rows are long (0.75 to 1.0 of the time); from 5 MB on it left 0.4 to 1.0 of the time. */
#define SPMV__FAR_BYTES 5000000
#define SPMV__FAR_LESS 1000000
#define SPMV__FAR_ONE 16
#define SPMV__FAR 96
#define SPMV__CACHE_LINE 64 /* bytes */
/* Of spmv__csr_is_uneven: so many rows are looked at in so many places; fewer rows are learnt by heart in repeated products; see there
 * for the others. */
enum { SPMV__GUESS_ROWS = 8192, SPMV__GUESS_PLACES = 8, SPMV__GUESS_LEAST = 2000, SPMV__GUESS_BITS = 13 };
enum { SPMV__MISSED_F32 = 11, SPMV__MISSED_F64 = 8 };
/* The sample that tells whether columns are scattered: so many rows at each of so many places, of each so many nonzeros. */
enum { SPMV__FAR_PLACES = 32, SPMV__FAR_ROWS = 32, SPMV__FAR_LONGEST = 256 };

#if (!defined(SPMV_NO_CSR) && (SPMV__ONLY & SPMV_BIT_CSR)) || (!defined(SPMV_NO_COO) && (SPMV__ONLY & SPMV_BIT_COO))
/* Counts the nonzeros of row i, and those in none of whose cache lines of x, nor beside them, the row before or the nonzero before has one.
 * line is the number of elements in a cache line. */
static void spmv__csr_look(const spmv__source *s, uint64_t i, uint64_t line, uint64_t *all, uint64_t *apart)
{
    const spmv_csr *a = s->v->a;
    uint64_t before = spmv__source_row(s, i - 1), r = spmv__source_row(s, i), k = a->ptr[r], last = 0;
    uint64_t j = a->ptr[before];
    const uint64_t stop = a->ptr[before + 1], end = spmv__smaller(a->ptr[r + 1], k + SPMV__FAR_LONGEST);
    for (; k < end; k++) {
        const uint64_t c = a->col[k];
        if (!spmv__mine(s->v, k)) continue;
        while (j < stop && a->col[j] + line < c) j++;
        *apart += (j == stop || a->col[j] > c + line) && (!last || c > last + line);
        last = c;
        ++*all;
    }
}

/* 1 if in a sample of rows many nonzeros are far from all near them. */
SPMV__APART int spmv__csr_looks_far(const spmv_part *p, const spmv__source *s)
{
    const uint64_t size = spmv_vector_size(p->type), step = p->rows / SPMV__FAR_PLACES;
    uint64_t place, i, all = 0, apart = 0;
    for (place = 0; place < SPMV__FAR_PLACES; place++)
        for (i = place * step + 1; i < place * step + SPMV__FAR_ROWS; i++) spmv__csr_look(s, i, SPMV__CACHE_LINE / size, &all, &apart);
    if (p->cols >= SPMV__FAR_BYTES / size) return apart * SPMV__FAR_ONE > all;
    return apart * 2 > all && p->nnz / SPMV__SHORT >= p->rows;
}

/* 1 if a product will mostly wait for elements of x: x is large, and many nonzeros are far from all near them. 0 if the columns stay on a
 * device, where nobody asks. */
static int spmv__csr_is_far(const spmv_part *p, const spmv__source *s)
{
    if (!s->v->a->col || p->cols < SPMV__FAR_LESS / spmv_vector_size(p->type)) return 0;
    return p->rows / SPMV__FAR_PLACES > SPMV__FAR_ROWS && spmv__csr_looks_far(p, s);
}

/* What rows are like: the longest row, rows whose length, if it is short, is not that of the row before, and blocks of rows that all are
 * short. */
typedef struct spmv__csr_found {
    uint64_t longest, changes, fits;
} spmv__csr_found;

/* Looks at rows first .. end - 1, which are whole blocks but at the end of the matrix. */
SPMV__APART void spmv__csr_lengths_rows(const uint64_t *ptr, uint64_t first, uint64_t end, spmv__csr_found *found)
{
    uint64_t i, n, before = first ? spmv__smaller(ptr[first] - ptr[first - 1], SPMV__SHORT) : 0;
    uint64_t longest = 0, changes = 0, fits = 0, in_block = 0; /* in_block: the longest row of the block so far */
    for (i = first; i < end; i++) {
        n = ptr[i + 1] - ptr[i];
        in_block = n > in_block ? n : in_block;
        n = n < SPMV__SHORT ? n : SPMV__SHORT;
        changes += (uint64_t)(n != before);
        before = n;
        if ((i + 1) % SPMV__BLOCK_ROWS && i + 1 < end) continue;
        longest = in_block > longest ? in_block : longest;
        fits += (uint64_t)(in_block <= SPMV__FOUR && (i + 1) % SPMV__BLOCK_ROWS == 0);
        in_block = 0;
    }
    found->longest = longest;
    found->changes = changes;
    found->fits = fits;
}

/* The rows in shares, and what each finds. */
typedef struct spmv__csr_shares {
    const uint64_t *ptr;
    uint64_t        rows, shares;
    spmv__csr_found found[SPMV__MOST_SHARES];
} spmv__csr_shares;

static void spmv__csr_lengths_share(void *job, uint64_t share)
{
    spmv__csr_shares *c = (spmv__csr_shares *)job;
    const uint64_t blocks = spmv__ceil_div(c->rows, SPMV__BLOCK_ROWS), first = blocks * share / c->shares * SPMV__BLOCK_ROWS;
    const uint64_t end = spmv__smaller(blocks * (share + 1) / c->shares * SPMV__BLOCK_ROWS, c->rows);
    spmv__csr_lengths_rows(c->ptr, first, end, &c->found[share]);
}

/* Looks at all rows in shares, whose results would take too much of the stack of a small matrix. */
SPMV__APART void spmv__csr_lengths_among(const uint64_t *ptr, uint64_t rows, uint64_t shares, spmv__csr_found *all)
{
    spmv__csr_shares c;
    uint64_t share;
    c.ptr = ptr;
    c.rows = rows;
    c.shares = shares;
    spmv__share_out(spmv__csr_lengths_share, &c, shares);
    all->longest = all->changes = all->fits = 0;
    for (share = 0; share < shares; share++) {
        if (c.found[share].longest > all->longest) all->longest = c.found[share].longest;
        all->changes += c.found[share].changes;
        all->fits += c.found[share].fits;
    }
}

/* 1 if a processor will often mispredict how long the next row is, so often that it pays to sum rows without branches. What it learns is
 * imitated: the length that followed the last four the last time, in rows from several places. The limit is from products with
 * 12 matrices: a mispredicted row costs as much as so many nonzeros more in an uneven block do. */
SPMV__APART int spmv__csr_is_uneven(const spmv_part *p, const uint64_t *ptr)
{
    uint8_t next[1 << (SPMV__GUESS_BITS - 1)]; /* two guesses of 4 bits in a byte */
    const uint64_t count = spmv__smaller(p->rows / SPMV__GUESS_PLACES, SPMV__GUESS_ROWS);
    uint64_t place, i, missed = 0, nonzeros = 0;
    uint32_t last = 0;
    memset(next, 0, sizeof next);
    for (place = 0; place < SPMV__GUESS_PLACES; place++) {
        const uint64_t first = p->rows / SPMV__GUESS_PLACES * place;
        for (i = first; i < first + count; i++) {
            const uint32_t n = (uint32_t)spmv__smaller(ptr[i + 1] - ptr[i], 15);
            const uint32_t slot = (uint32_t)(last * 0x9e3779b1u) >> (32 - SPMV__GUESS_BITS), shift = slot % 2 * 4;
            uint8_t *guess = &next[slot / 2];
            missed += (*guess >> shift & 15) != n;
            *guess = (uint8_t)((*guess & 0xf0 >> shift) | n << shift);
            last = (last << 4 | n) & 0xffff;
        }
        nonzeros += ptr[first + count] - ptr[first];
    }
    return missed * (p->type == SPMV_F32 ? SPMV__MISSED_F32 : SPMV__MISSED_F64) > nonzeros;
}

/* Sets what the host's product of csr or coo should know about the lengths of the rows, and about its columns. Rows are taken in
 * blocks if half of them are in short ones, or if their lengths are uneven. */
static void spmv__csr_lengths(spmv_part *p, const spmv__source *s)
{
    const uint64_t shares = spmv__share_count(p->rows);
    spmv__csr_found all;
    if (shares == 1) spmv__csr_lengths_rows(s->ptr, 0, p->rows, &all);
    else spmv__csr_lengths_among(s->ptr, p->rows, shares, &all);
    if (all.longest > p->longest) p->longest = all.longest;
    p->lengths = spmv__csr_is_far(p, s) ? SPMV__LENGTHS_FAR : SPMV__LENGTHS_MIXED;
    if (p->lengths == SPMV__LENGTHS_FAR || p->nnz / SPMV__SHORT >= p->rows) return;
    if (all.changes * SPMV__ALIKE_ROWS < p->rows) p->lengths = SPMV__LENGTHS_ALIKE;
    else if (all.fits * 2 * SPMV__BLOCK_ROWS > p->rows || (p->rows >= SPMV__GUESS_LEAST && spmv__csr_is_uneven(p, s->ptr)))
        p->lengths = SPMV__LENGTHS_BLOCKS;
}
#endif

/* ---- coo --------------------------------------------------------------------------------------------------------- */
#if defined(SPMV_NO_COO) || !(SPMV__ONLY & SPMV_BIT_COO)
#undef SPMV_NO_COO
#define SPMV_NO_COO
#define SPMV__BUILT_COO 0
#else
#define SPMV__BUILT_COO 1
#endif

static const spmv__traits spmv__coo_traits = {
    0,                                    /* keys */
    SPMV_ADDS_ONLY | SPMV_LONG_ROWS,      /* flags */
    SPMV_CLASS_FLAT,                      /* class */
    2,                                    /* indices */
    SPMV__EVEN,                           /* even */
    SPMV__PADS_NONE, SPMV__LANES_ONE,     /* pads, lanes */
    NULL                                  /* suits */
};

static const char *const spmv__coo_layouts[] = {
    "coo"
};

#ifndef SPMV_NO_COO
static spmv_status spmv__coo_size(spmv_part *p, spmv__source *s)
{
    spmv__want(&p->a[SPMV_VAL], p->nnz, p->a[SPMV_VAL].width);
    spmv__want(&p->a[SPMV_COO_ROW], p->nnz, 4);
    spmv__want(&p->a[SPMV_COO_COL], p->nnz, 4);
    spmv__csr_lengths(p, s);
    return SPMV_OK;
}

static spmv_status spmv__coo_estimate(const spmv_spec *spec, const spmv__look *l, const spmv_features *f, spmv__load *out)
{
    (void)spec;
    (void)l;
    return spmv__estimate_entries(f, out);
}

#define spmv__coo_lay NULL

/* coo has no row list: the rows of the part are those of the matrix. */
static void spmv__coo_fill(spmv_part *p, const spmv__source *s, spmv__sink *to, uint64_t first, uint64_t end)
{
    uint64_t r, k, slot = s->ptr[first];
    for (r = first; r < end; r++)
        for (k = s->v->a->ptr[r]; k < s->v->a->ptr[r + 1]; k++)
            if (spmv__mine(s->v, k)) {
                ((uint32_t *)p->a[SPMV_COO_ROW].data)[slot] = (uint32_t)r;
                ((uint32_t *)p->a[SPMV_COO_COL].data)[slot] = s->v->a->col[k];
                spmv__put(to, slot++, k);
            }
}

static void spmv__coo_each(const spmv_part *p, spmv__visit visit, void *user)
{
    uint64_t k;
    for (k = 0; k < p->nnz; k++)
        visit(user, ((const uint32_t *)p->a[SPMV_COO_ROW].data)[k], ((const uint32_t *)p->a[SPMV_COO_COL].data)[k], k);
}
#endif

/* ---- csr --------------------------------------------------------------------------------------------------------- */
#if defined(SPMV_NO_CSR) || !(SPMV__ONLY & SPMV_BIT_CSR)
#undef SPMV_NO_CSR
#define SPMV_NO_CSR
#define SPMV__BUILT_CSR 0
#else
#define SPMV__BUILT_CSR 1
#endif

static const spmv__traits spmv__csr_traits = {
    SPMV__LISTS | SPMV__KEY(RUN) | SPMV__KEY(IDX), /* keys */
    SPMV_CAN_LIST | SPMV_REPEATS | SPMV_LONG_ROWS, /* flags */
    SPMV_CLASS_FLAT,                               /* class */
    1,                                             /* indices */
    SPMV__KEY(RUN),                                /* even */
    SPMV__PADS_NONE, SPMV__LANES_BY_BATCH,         /* pads, lanes */
    NULL                                           /* suits */
};

static const char *const spmv__csr_layouts[] = {
    "csr",
    "csr:run=1024",
    "csr:run=256",
    "csr:run=4096",
    "csr:run=2048",
    "csr:run=1024,idx=16",
    "csr:run=256,idx=16",
    "csr:run=2048,idx=16",
    "csr:rows=sorted,sigma=256"
};

/* A row with up to this many times the nonzeros of a run is one run: one work-group sums it without a carry. Longer rows are cut into
 * pieces of a run's size, so that no work-group has much more to do than the others. */
#define SPMV__WHOLE 4
#define SPMV__RUN_GROUP 256 /* work-items on a GPU that take a run, by default */

/* The most nonzeros of a run of csr; 0 if the layout has no runs. */
SPMV__SHARED double spmv__longest_run(const spmv_spec *spec)
{
    return spec->format == SPMV_CSR ? (double)(SPMV__WHOLE * spec->key[SPMV_KEY_RUN]) : 0;
}

#ifndef SPMV_NO_CSR
/* Moves *row and *at, the row and the slot where a run begins, to where the next run begins; most is the size of a run. */
static void spmv__run_step(const spmv__source *s, uint64_t rows, uint64_t most, uint64_t *row, uint64_t *at)
{
    uint64_t first = *at, r = *row;
    if (s->ptr[r + 1] - first > (first == s->ptr[r] ? SPMV__WHOLE * most : most)) {
        *at += most;
        return;
    }
    if (first != s->ptr[r]) r++; /* the rest of a row; or a whole row, and more rows as long as they fit */
    else r = spmv__tile_row(s->ptr, r + 1, spmv__smaller(rows, r + most), first + most);
    *row = r;
    *at = s->ptr[r];
}

/* 1 if row r is cut into pieces. */
static int spmv__in_pieces(const spmv__source *s, uint64_t most, uint64_t r)
{
    return s->ptr[r + 1] - s->ptr[r] > SPMV__WHOLE * most;
}

/* Finds the lowest and the highest column of the run that goes from row and slot at to next_row and next_at. *k is the entry at which the
 * first piece of a row leaves off, for the next one. */
static void spmv__run_span(const spmv__source *s, uint64_t row, uint64_t at, uint64_t next_row, uint64_t next_at, uint64_t *k,
                           uint64_t *low, uint64_t *high)
{
    uint64_t count = next_at - at, first;
    if (at == s->ptr[row] && row < next_row) {
        spmv__span(s, row, next_row, low, high);
        return;
    }
    if (at == s->ptr[row]) *k = s->v->a->ptr[spmv__source_row(s, row)];
    *low = UINT64_MAX;
    *high = 0;
    for (first = *k; count; ++*k) count -= (uint64_t)spmv__mine(s->v, *k);
    spmv__span_entries(s->v, first, *k, low, high);
}

/* Walks the part's rows run by run. 1 if the columns of each run fit 16 bits. Writes the bases if their array is allocated. */
static int spmv__run_bases(const spmv_part *p, const spmv__source *s)
{
    uint32_t *base = (uint32_t *)p->a[SPMV_CSR_BASE].data;
    uint64_t row = 0, at = 0, run = 0, k = 0, low, high;
    for (; row < p->rows; run++) {
        uint64_t next_row = row, next_at = at;
        spmv__run_step(s, p->rows, (uint64_t)p->spec.key[SPMV_KEY_RUN], &next_row, &next_at);
        spmv__run_span(s, row, at, next_row, next_at, &k, &low, &high);
        if (!spmv__span_fits(low, high)) return 0;
        if (base) base[run] = low > high ? 0 : (uint32_t)low;
        row = next_row;
        at = next_at;
    }
    return 1;
}

/* With the key run, the runs are counted here and written by spmv__csr_lay. */
static spmv_status spmv__csr_size(spmv_part *p, spmv__source *s)
{
    uint64_t most = (uint64_t)p->spec.key[SPMV_KEY_RUN], row = 0, at = 0, i;
    spmv__want(&p->a[SPMV_VAL], p->nnz, p->a[SPMV_VAL].width);
    spmv__want_offsets(&p->a[SPMV_CSR_PTR], p->rows + 1, p->nnz);
    spmv__want(&p->a[SPMV_CSR_COL], p->nnz, 4);
    spmv__csr_lengths(p, s);
    if (!most) return SPMV_OK;
    for (; row < p->rows; p->n[SPMV_CSR_RUNS]++) spmv__run_step(s, p->rows, most, &row, &at);
    for (i = 0; p->longest > SPMV__WHOLE * most && i < p->rows; i++) p->n[SPMV_CSR_LONGS] += (uint64_t)spmv__in_pieces(s, most, i);
    spmv__want(&p->a[SPMV_CSR_RUN_ROW], p->n[SPMV_CSR_RUNS] + 1, 4);
    spmv__want_offsets(&p->a[SPMV_CSR_RUN_AT], p->n[SPMV_CSR_RUNS] + 1, p->nnz);
    spmv__want(&p->a[SPMV_CSR_LONG_RUN], p->n[SPMV_CSR_LONGS], 4);
    spmv__want_columns(p, &p->a[SPMV_CSR_COL], &p->a[SPMV_CSR_BASE], p->nnz, p->n[SPMV_CSR_RUNS],
                       p->spec.key[SPMV_KEY_IDX] == 16 && spmv__run_bases(p, s));
    if (p->a[SPMV_CSR_BASE].count) s->cuts = &p->a[SPMV_CSR_RUN_ROW]; /* of a run that is cut, the pieces have bases of their own */
    return SPMV_OK;
}

/* Fills the arrays that the key run adds. */
static void spmv__csr_lay(spmv_part *p, spmv__source *s)
{
    uint64_t most = (uint64_t)p->spec.key[SPMV_KEY_RUN], row = 0, at = 0, run, longs = 0;
    spmv__set(&p->a[SPMV_CSR_PTR], 0, 0);
    for (run = 0; run < p->a[SPMV_CSR_RUN_ROW].count; run++) {
        ((uint32_t *)p->a[SPMV_CSR_RUN_ROW].data)[run] = (uint32_t)row;
        spmv__set(&p->a[SPMV_CSR_RUN_AT], run, at);
        if (run == p->n[SPMV_CSR_RUNS]) break;
        if (spmv__in_pieces(s, most, row) && at == s->ptr[row]) ((uint32_t *)p->a[SPMV_CSR_LONG_RUN].data)[longs++] = (uint32_t)run;
        spmv__run_step(s, p->rows, most, &row, &at);
    }
    if (p->a[SPMV_CSR_BASE].count) spmv__run_bases(p, s);
}

/* So many nonzeros has the longest run at least, however short rows share runs: those of the longest row that is not cut, or of a piece. */
static double spmv__csr_least_run(const spmv_spec *spec, const spmv__look *l)
{
    const uint64_t most = (uint64_t)spmv__longest_run(spec), piece = (uint64_t)spec->key[SPMV_KEY_RUN];
    uint64_t k = spmv__smaller(l->longest, most);
    if (l->longest <= most) return (double)k;
    while (k > piece && l->longer[k] == l->longer[k + 1]) k--;
    return (double)k;
}

static spmv_status spmv__csr_estimate(const spmv_spec *spec, const spmv__look *l, const spmv_features *f, spmv__load *out)
{
    double mean = f->mean > 1 ? f->mean : 1, rows = (double)spec->key[SPMV_KEY_RUN] / mean + 1; /* of a run */
    spmv__estimate_entries(f, out);
    if (spec->key[SPMV_KEY_RUN]) out->longest = spmv__csr_least_run(spec, l);
    return spmv__estimate_columns(spec, l, (uint64_t)rows);
}

/* Fills the columns of rows first .. end - 1 as 16 bits from the bases of their runs. A share begins with a run. */
SPMV__APART void spmv__csr_narrow(spmv_part *p, const spmv__source *s, uint64_t first, uint64_t end)
{
    const spmv_array *at = &p->a[SPMV_CSR_RUN_AT], *row = &p->a[SPMV_CSR_RUN_ROW];
    const uint32_t *base = (const uint32_t *)p->a[SPMV_CSR_BASE].data;
    uint16_t *narrow = (uint16_t *)p->a[SPMV_CSR_COL].data;
    uint64_t i, k, slot = s->ptr[first], run = 0, high = p->n[SPMV_CSR_RUNS], next;
    while (run < high) {
        uint64_t middle = run + (high - run) / 2;
        if (spmv__at(row, middle) < first) run = middle + 1;
        else high = middle;
    }
    next = spmv__at(at, run + 1);
    if (!s->v->owner && !s->v->list) { /* the slots are the matrix's nonzeros */
        const uint64_t stop = s->ptr[end];
        while (slot < stop) {
            uint64_t to;
            while (slot >= next) next = spmv__at(at, ++run + 1);
            for (to = spmv__smaller(next, stop); slot < to; slot++) narrow[slot] = (uint16_t)(s->v->a->col[slot] - base[run]);
        }
        return;
    }
    for (i = first; i < end; i++) {
        uint64_t r = spmv__source_row(s, i);
        for (k = s->v->a->ptr[r]; k < s->v->a->ptr[r + 1]; k++) {
            if (!spmv__mine(s->v, k)) continue;
            while (slot >= next) next = spmv__at(at, ++run + 1);
            spmv__set_column(&p->a[SPMV_CSR_COL], &p->a[SPMV_CSR_BASE], slot++, run, s->v->a->col[k], 1);
        }
    }
}

enum { SPMV__FEW_ENTRIES = 24 /* of a row: as many are copied in less time one by one than by two calls of memcpy */ };

/* Copies n nonzeros from k on, columns and values of so many bytes, into slots. */
SPMV__INLINE void spmv__csr_copy(uint32_t *col, const spmv__sink *to, const uint32_t *from, uint64_t slot, uint64_t k, uint64_t n,
                                 size_t bytes)
{
    unsigned char *val = (unsigned char *)to->dst->data + slot * bytes;
    const unsigned char *src = to->src + k * bytes;
    uint64_t i;
    for (i = 0; i < n; i++) {
        col[slot + i] = from[k + i];
        memcpy(val + i * bytes, src + i * bytes, bytes);
    }
}

/* Fills row i: columns, unless they are of 16 bits, and values. */
static void spmv__csr_row(spmv_part *p, const spmv__source *s, spmv__sink *to, uint64_t i)
{
    const spmv_csr *a = s->v->a;
    const int wide = !p->a[SPMV_CSR_BASE].count;
    uint32_t *col = (uint32_t *)p->a[SPMV_CSR_COL].data;
    uint64_t r = spmv__source_row(s, i), k = a->ptr[r], end = a->ptr[r + 1], slot = s->ptr[i];
    if (!s->v->owner && wide && to->src && end - k <= SPMV__FEW_ENTRIES) {
        if (to->dst->width == 8) spmv__csr_copy(col, to, a->col, slot, k, end - k, 8);
        else spmv__csr_copy(col, to, a->col, slot, k, end - k, 4);
        return;
    }
    if (!s->v->owner) {
        if (wide && end > k) memcpy(col + slot, a->col + k, (size_t)(end - k) * sizeof *col);
        spmv__put_all(to, slot, k, end - k);
        return;
    }
    for (; k < end; k++)
        if (spmv__mine(s->v, k)) {
            if (wide) col[slot] = a->col[k];
            spmv__put(to, slot++, k);
        }
}

/* Columns and values that are borrowed from the CSR matrix are not written. */
static void spmv__csr_fill(spmv_part *p, const spmv__source *s, spmv__sink *to, uint64_t first, uint64_t end)
{
    uint64_t i;
    if (p->a[SPMV_CSR_PTR].width == 8)
        for (i = first; i < end; i++) ((uint64_t *)p->a[SPMV_CSR_PTR].data)[i + 1] = s->ptr[i + 1];
    else
        for (i = first; i < end; i++) ((uint32_t *)p->a[SPMV_CSR_PTR].data)[i + 1] = (uint32_t)s->ptr[i + 1];
    if (p->a[SPMV_CSR_BASE].count && first < end) spmv__csr_narrow(p, s, first, end);
    for (i = first; i < end && !to->dst->borrowed; i++) spmv__csr_row(p, s, to, i);
}

static void spmv__csr_each(const spmv_part *p, spmv__visit visit, void *user)
{
    uint64_t i, k, run = 0;
    for (i = 0; i < p->rows; i++)
        for (k = spmv__at(&p->a[SPMV_CSR_PTR], i); k < spmv__at(&p->a[SPMV_CSR_PTR], i + 1); k++) {
            while (p->a[SPMV_CSR_BASE].count && k >= spmv__at(&p->a[SPMV_CSR_RUN_AT], run + 1)) run++;
            visit(user, i, spmv__column_at(&p->a[SPMV_CSR_COL], &p->a[SPMV_CSR_BASE], k, run, 1), k);
        }
}
#endif

/* ---- dia and bdia ------------------------------------------------------------------------------------------------ */
#if defined(SPMV_NO_DIA) || !(SPMV__ONLY & SPMV_BIT_DIA)
#undef SPMV_NO_DIA
#define SPMV_NO_DIA
#define SPMV__BUILT_DIA 0
#else
#define SPMV__BUILT_DIA 1
#endif

#if defined(SPMV_NO_BDIA) || !(SPMV__ONLY & SPMV_BIT_BDIA)
#undef SPMV_NO_BDIA
#define SPMV_NO_BDIA
#define SPMV__BUILT_BDIA 0
#else
#define SPMV__BUILT_BDIA 1
#endif

#if SPMV__BUILT_DIA || SPMV__BUILT_BDIA
#define SPMV__ANY_DIA
#endif

SPMV__SHARED void spmv__diagonals_free(spmv__diagonals *d, const spmv_hooks *h)
{
    spmv_free(h, d->list);
    spmv_free(h, d->place);
    memset(d, 0, sizeof *d);
}

/* 1 if row r of the matrix has the columns of the row before it, each moved on by one: then it has the same diagonals. Where rows
 * differ, it is mostly in their length or at an end; the columns between are compared in pairs. */
SPMV__SHARED int spmv__row_moved(const spmv_csr *a, uint64_t r)
{
    const uint32_t *col = a->col + a->ptr[r], *before = a->col + a->ptr[r - 1];
    const uint64_t n = a->ptr[r + 1] - a->ptr[r], by = ((uint64_t)1 << 32) + 1;
    uint64_t i, differ = n ^ (a->ptr[r] - a->ptr[r - 1]), now, then;
    if (!n || col == before) return !differ;
    differ |= (uint64_t)(col[0] - before[0] - 1) | (col[n - 1] - col[-1] - 1);
    for (i = 1; !differ && i + 1 < n; i += 2) {
        memcpy(&now, col + i, sizeof now);
        memcpy(&then, before + i, sizeof then);
        differ = now - then - by;
    }
    return !differ;
}

/* How many rows from row r on, up to row end, have its diagonals. Of a view of some nonzeros, it is taken alone. */
SPMV__SHARED uint64_t spmv__moved_rows(const spmv_view *v, uint64_t r, uint64_t end)
{
    uint64_t rows = 1;
    while (!v->owner && r + rows < end && spmv__row_moved(v->a, r + rows)) rows++;
    return rows;
}

/* What the shares that look for diagonals have in common. */
typedef struct spmv__diagonals_job {
    const spmv_view *v;
    uint32_t        *table;           /* for each thread, the nonzeros of each diagonal, by number - first */
    uint64_t         first, numbers;
    uint64_t         shares, low[SPMV__MOST_SHARES], end[SPMV__MOST_SHARES]; /* numbers of each share */
} spmv__diagonals_job;

/* Finds the lowest number and the end of those of a share. Columns rise in a row. */
static void spmv__diagonals_range_share(void *job, uint64_t share)
{
    spmv__diagonals_job *c = (spmv__diagonals_job *)job;
    const spmv_csr *a = c->v->a;
    const uint64_t stop = spmv__share_row(a->ptr, a->rows, share + 1, c->shares);
    uint64_t r, low = UINT64_MAX, end = 0, last;
    for (r = spmv__share_row(a->ptr, a->rows, share, c->shares); r < stop; r++) {
        if (a->ptr[r] == a->ptr[r + 1]) continue;
        low = spmv__smaller(low, a->col[a->ptr[r]] + a->rows - 1 - r);
        last = a->col[a->ptr[r + 1] - 1] + a->rows - 1 - r;
        end = last < end ? end : last + 1;
    }
    c->low[share] = low;
    c->end[share] = end;
}

/* Finds the range of the numbers of diagonals. */
static void spmv__diagonals_range(spmv__diagonals *d, spmv__diagonals_job *c)
{
    uint64_t i;
    spmv__share_out(spmv__diagonals_range_share, c, c->shares);
    for (i = 0, d->first = UINT64_MAX; i < c->shares; i++) {
        d->first = spmv__smaller(d->first, c->low[i]);
        d->end = d->end < c->end[i] ? c->end[i] : d->end;
    }
    d->first = spmv__smaller(d->first, d->end);
}

static void spmv__diagonals_tally_share(void *job, uint64_t share, size_t thread)
{
    const spmv__diagonals_job *c = (const spmv__diagonals_job *)job;
    const spmv_csr *a = c->v->a;
    const uint64_t end = spmv__share_row(a->ptr, a->rows, share + 1, c->shares);
    uint32_t *table = c->table + thread * c->numbers;
    uint64_t r, k, rows;
    for (r = spmv__share_row(a->ptr, a->rows, share, c->shares); r < end; r += rows) {
        rows = spmv__moved_rows(c->v, r, end);
        for (k = a->ptr[r]; k < a->ptr[r + 1]; k++)
            if (spmv__mine(c->v, k)) table[a->col[k] + a->rows - 1 - r - c->first] += (uint32_t)rows;
    }
}

/* Counts the nonzeros of each diagonal in place. The tables of all threads take no more than a quarter of the CSR form. */
static spmv_status spmv__diagonals_tally(spmv__diagonals *d, spmv__diagonals_job *c, const spmv_hooks *h)
{
    const uint64_t numbers = d->end - d->first, fit = numbers ? spmv__csr_bytes(c->v->a) / 16 / numbers : 1;
    const uint64_t threads = spmv__share_threads(c->shares, fit ? fit : 1);
    uint64_t i, n;
    void *block;
    spmv_status s = spmv__new(h, &block, numbers, 4 * threads, 0);
    d->place = c->table = (uint32_t *)block;
    c->first = d->first;
    c->numbers = numbers;
    if (!s) spmv__share_among(spmv__diagonals_tally_share, c, c->shares, threads);
    for (i = 1; !s && i < threads; i++)
        for (n = 0; n < numbers; n++) d->place[n] += c->table[i * numbers + n];
    return s;
}

/* Lists the number of each nonzero's diagonal, sorts the list, and merges equal numbers. */
SPMV__SHARED spmv_status spmv__diagonals_sort(spmv__diagonals *d, const spmv_view *v, const spmv_hooks *h)
{
    const spmv_csr *a = v->a;
    void *block;
    uint64_t r, k, n = 0;
    spmv_status s = spmv__new(h, &block, a->nnz, sizeof *d->list, 0);
    if (s) return s;
    d->list = (spmv__pair *)block;
    for (r = 0; r < a->rows; r++)
        for (k = a->ptr[r]; k < a->ptr[r + 1]; k++)
            if (spmv__mine(v, k)) {
                d->list[n].key = a->col[k] + a->rows - 1 - r;
                d->list[n++].load = 1;
            }
    d->count = spmv__sort_and_merge(d->list, n);
    return SPMV_OK;
}

/* Counts the nonzeros of each diagonal; spmv__diagonals_next then returns them. Takes memory and time in proportion to the nonzeros and
 * rows, however many columns there are. Free with spmv__diagonals_free. */
SPMV__SHARED spmv_status spmv__diagonals_count(spmv__diagonals *d, const spmv_view *v, const spmv_hooks *h)
{
    spmv__diagonals_job c;
    memset(d, 0, sizeof *d);
    c.v = v;
    c.shares = spmv__share_count(v->a->nnz + v->a->rows);
    spmv__diagonals_range(d, &c);
    return spmv__keys_fit(v->a, d->end - d->first) ? spmv__diagonals_tally(d, &c, h) : spmv__diagonals_sort(d, v, h);
}

/* Finds the next diagonal that holds nonzeros, after spmv__diagonals_count: its number, and how many it holds. *at is 0 for the first
 * call and then left alone. Returns 0 if there are no more. */
SPMV__SHARED int spmv__diagonals_next(const spmv__diagonals *d, uint64_t *at, uint64_t *number, uint64_t *held)
{
    uint64_t i = *at, end = d->place ? d->end - d->first : d->count;
    while (d->place && i < end && !d->place[i]) i++;
    if (i >= end) return 0;
    *number = d->place ? d->first + i : d->list[i].key;
    *held = d->place ? d->place[i] : d->list[i].load;
    *at = i + 1;
    return 1;
}

/* Makes the list of diagonals that are counted in place. Frees all if there is no memory. */
SPMV__SHARED spmv_status spmv__diagonals_list(spmv__diagonals *d, const spmv_hooks *h)
{
    void *block = NULL;
    uint64_t at, number, held, n = 0;
    spmv_status s;
    for (at = 0; spmv__diagonals_next(d, &at, &number, &held);) d->count++;
    s = spmv__new(h, &block, d->count, sizeof *d->list, 0);
    d->list = (spmv__pair *)block;
    for (at = 0; !s && spmv__diagonals_next(d, &at, &number, &held);) {
        d->list[n].key = number;
        d->list[n].load = held;
        d->place[number - d->first] = (uint32_t)++n;
    }
    if (s) spmv__diagonals_free(d, h);
    return s;
}

/* As spmv__diagonals_count, and always makes the list. */
SPMV__SHARED spmv_status spmv__diagonals_make(spmv__diagonals *d, const spmv_view *v, const spmv_hooks *h)
{
    spmv_status s = spmv__diagonals_count(d, v, h);
    return s || !d->place ? s : spmv__diagonals_list(d, h);
}

/* The place in the list of the diagonal on which nonzero k of a row lies. */
SPMV__INLINE uint64_t spmv__diagonal_place(const spmv__diagonals *d, const spmv_csr *a, uint64_t row, uint64_t k)
{
    uint64_t number = a->col[k] + a->rows - 1 - row;
    return d->place ? d->place[number - d->first] - 1 : spmv__find(d->list, d->count, number);
}

/* Drops diagonal i of the list: spmv__diagonal_stays then returns 0 for its nonzeros. */
SPMV__SHARED void spmv__diagonal_drop(spmv__diagonals *d, uint64_t i)
{
    d->list[i].load = 0;
    if (d->place) d->place[d->list[i].key - d->first] = 0;
}

/* 1 if the diagonal on which nonzero k of a row lies was not dropped. */
SPMV__SHARED int spmv__diagonal_stays(const spmv__diagonals *d, const spmv_csr *a, uint64_t row, uint64_t k)
{
    uint64_t number = a->col[k] + a->rows - 1 - row;
    return d->place ? d->place[number - d->first] != 0 : d->list[spmv__find(d->list, d->count, number)].load != 0;
}

/* The length of a diagonal within the matrix. */
SPMV__SHARED uint64_t spmv__diagonal_length(const spmv_csr *a, uint64_t number)
{
    uint64_t below = number + 1 < a->rows ? a->rows - 1 - number : 0, right = number + 1 > a->rows ? number + 1 - a->rows : 0;
    return a->rows - below < a->cols - right ? a->rows - below : a->cols - right;
}

/* 1 if diagonal i of the list begins a band, because the diagonal before it holds no nonzeros. */
SPMV__SHARED int spmv__band_begins(const spmv__diagonals *d, uint64_t i) { return !i || d->list[i - 1].key + 1 != d->list[i].key; }

#ifdef SPMV__ANY_DIA
/* Lists the part's diagonals, in the order in which its arrays hold them, and counts their bands. */
static spmv_status spmv__dia_count(spmv_part *p, spmv__source *s, uint64_t *bands)
{
    spmv__diagonals *d = &s->diagonals;
    uint64_t i;
    spmv_status status;
    *bands = 0;
    if (p->rows > 0x7fffffff || p->cols > 0x7fffffff)
        return spmv_log(s->h, SPMV_ERR_UNSUPPORTED, "%s stores offsets in 32 bits: rows and cols must be below 2^31",
                        spmv_format_name(p->spec.format));
    status = d->place ? spmv__diagonals_list(d, s->h) : spmv__diagonals_make(d, s->v, s->h); /* a device may have counted them */
    for (i = 0; i < d->count; i++) *bands += (uint64_t)spmv__band_begins(d, i);
    return status;
}

/* Neighbouring rows read neighbouring elements of x, so gather is 0. */
static spmv_status spmv__estimate_diagonals(const spmv_features *f, spmv__load *out)
{
    out->slots = (double)f->rows * (double)f->diagonals;
    out->longest = (double)f->diagonals;
    out->gather = 0;
    out->bands = (double)f->bands;
    return SPMV_OK;
}

/* The column - row of a diagonal. */
static int32_t spmv__dia_offset(const spmv_part *p, const spmv__pair *diagonal)
{
    return (int32_t)((int64_t)diagonal->key - (int64_t)p->rows + 1);
}

/* What dia and bdia both have: the length of a stored diagonal, and the column - row of each diagonal or of each band's first. */
static uint64_t spmv__dia_ld(const spmv_part *p) { return p->spec.format == SPMV_BDIA ? p->n[SPMV_BDIA_LD] : p->n[SPMV_DIA_LD]; }
SPMV__SHARED const int32_t *spmv__dia_offsets(const spmv_part *p)
{
    return (const int32_t *)(p->spec.format == SPMV_BDIA ? p->a[SPMV_BDIA_OFFSET].data : p->a[SPMV_DIA_OFFSET].data);
}

/* How many offsets there are: one for each diagonal of dia, one for each band of bdia. */
SPMV__SHARED uint64_t spmv__dia_offset_count(const spmv_part *p)
{
    return p->spec.format == SPMV_BDIA ? p->n[SPMV_BDIA_BANDS] : p->n[SPMV_DIA_DIAGONALS];
}

enum { SPMV__DIA_ROWS = 64 /* that are filled together: of a few dozen diagonals, what they have stays in a near cache */ };

/* Puts nonzeros k, k + step, ... of so many rows into as many slots of val from slot on. Values have so many bytes. */
SPMV__INLINE void spmv__dia_copy(spmv__sink *to, unsigned char *val, const unsigned char *src, uint64_t slot, uint64_t k, uint64_t step,
                                 uint64_t rows, uint32_t bytes)
{
    uint64_t i;
    for (i = 0; i < rows; i++, k += step) {
        const int zero = spmv__is_zero(src + k * bytes, bytes);
        memcpy(val + (slot + i) * bytes, src + k * bytes, bytes);
        if (!zero) continue;
        if (to->zeros) to->zeros[to->zero_count] = slot + i;
        to->zero_count++;
    }
}

/* Puts rows first .. end - 1 into the stored diagonals, whose slots were cleared. Rows with the same diagonals are put together. */
SPMV__INLINE void spmv__dia_rows(const spmv__source *s, spmv__sink *to, uint64_t ld, uint64_t first, uint64_t end, uint32_t bytes)
{
    const spmv_view v = *s->v;
    const spmv_csr a = *v.a;
    const spmv__diagonals d = s->diagonals;
    unsigned char *val = (unsigned char *)to->dst->data;
    const unsigned char *src = to->src;
    uint64_t r, k, i, rows, slot;
    for (r = first; r < end; r += rows) {
        const uint64_t begin = a.ptr[r], stop = a.ptr[r + 1];
        rows = spmv__moved_rows(&v, r, end);
        for (k = begin; k < stop; k++) {
            if (!spmv__mine(&v, k)) continue;
            slot = spmv__diagonal_place(&d, &a, r, k) * ld + r;
            if (bytes) spmv__dia_copy(to, val, src, slot, k, stop - begin, rows, bytes);
            for (i = 0; !bytes && i < rows; i++) spmv__put(to, slot + i, k + i * (stop - begin));
        }
    }
}

/* Puts the values of rows first .. end - 1 into the stored diagonals. */
static void spmv__dia_values(spmv_part *p, const spmv__source *s, spmv__sink *to, uint64_t first, uint64_t end)
{
    uint64_t r, next, ld = spmv__dia_ld(p), d;
    for (r = first; r < end; r = next) {
        next = spmv__smaller(r + SPMV__DIA_ROWS, end);
        for (d = 0; d < s->diagonals.count; d++) spmv__clear(to, d * ld + r, (next < p->rows ? next : ld) - r);
        if (!to->src) spmv__dia_rows(s, to, ld, r, next, 0);
        else if (to->dst->width == 8) spmv__dia_rows(s, to, ld, r, next, 8);
        else spmv__dia_rows(s, to, ld, r, next, 4);
    }
}

/* Visits the slots of stored diagonal d that lie within the matrix. */
static void spmv__dia_each_one(const spmv_part *p, uint64_t d, int64_t offset, spmv__visit visit, void *user)
{
    uint64_t begin = d * spmv__dia_ld(p);
    int64_t r, first = offset < 0 ? -offset : 0, end = (int64_t)p->cols - offset;
    if (end > (int64_t)p->rows) end = (int64_t)p->rows;
    for (r = first; r < end; r++) visit(user, (uint64_t)r, (uint64_t)(r + offset), begin + (uint64_t)r);
}
#endif

static const spmv__traits spmv__dia_traits = {
    SPMV__KEY(D),                         /* keys */
    SPMV_HAS_FILL | SPMV_REPEATS,         /* flags */
    SPMV_CLASS_DIAGONAL,                  /* class */
    0,                                    /* indices */
    0,                                    /* even */
    SPMV__PADS_NONE, SPMV__LANES_BY_ROWS, /* pads, lanes */
    NULL                                  /* suits */
};

static const char *const spmv__dia_layouts[] = {
    "dia"
};

#ifndef SPMV_NO_DIA
static spmv_status spmv__dia_size(spmv_part *p, spmv__source *s)
{
    uint64_t bands;
    spmv_status status = spmv__dia_count(p, s, &bands);
    p->n[SPMV_DIA_DIAGONALS] = s->diagonals.count;
    p->n[SPMV_DIA_LD] = spmv__leading(p->rows);
    spmv__want(&p->a[SPMV_VAL], spmv__sat_mul(p->n[SPMV_DIA_DIAGONALS], p->n[SPMV_DIA_LD]), p->a[SPMV_VAL].width);
    spmv__want(&p->a[SPMV_DIA_OFFSET], p->n[SPMV_DIA_DIAGONALS], 4);
    return status;
}

static spmv_status spmv__dia_estimate(const spmv_spec *spec, const spmv__look *l, const spmv_features *f, spmv__load *out)
{
    (void)spec;
    (void)l;
    return spmv__estimate_diagonals(f, out);
}

static void spmv__dia_lay(spmv_part *p, spmv__source *s)
{
    uint64_t i;
    for (i = 0; i < s->diagonals.count; i++) ((int32_t *)p->a[SPMV_DIA_OFFSET].data)[i] = spmv__dia_offset(p, &s->diagonals.list[i]);
}

#define spmv__dia_fill spmv__dia_values

static void spmv__dia_each(const spmv_part *p, spmv__visit visit, void *user)
{
    uint64_t d;
    for (d = 0; d < p->n[SPMV_DIA_DIAGONALS]; d++) spmv__dia_each_one(p, d, ((const int32_t *)p->a[SPMV_DIA_OFFSET].data)[d], visit, user);
}
#endif

static const spmv__traits spmv__bdia_traits = {
    SPMV__KEY(D) | SPMV__KEY(W),                   /* keys */
    SPMV_HAS_FILL | SPMV_REPEATS | SPMV_LONG_ROWS, /* flags */
    SPMV_CLASS_DIAGONAL,                           /* class */
    0,                                             /* indices */
    0,                                             /* even */
    SPMV__PADS_NONE, SPMV__LANES_BY_ROWS,          /* pads, lanes */
    NULL                                           /* suits */
};

static const char *const spmv__bdia_layouts[] = {
    "bdia"
};

#ifndef SPMV_NO_BDIA
static spmv_status spmv__bdia_size(spmv_part *p, spmv__source *s)
{
    spmv_status status = spmv__dia_count(p, s, &p->n[SPMV_BDIA_BANDS]);
    p->n[SPMV_BDIA_LD] = spmv__leading(p->rows);
    spmv__want(&p->a[SPMV_VAL], spmv__sat_mul(s->diagonals.count, p->n[SPMV_BDIA_LD]), p->a[SPMV_VAL].width);
    spmv__want(&p->a[SPMV_BDIA_OFFSET], p->n[SPMV_BDIA_BANDS], 4);
    spmv__want(&p->a[SPMV_BDIA_BAND_PTR], p->n[SPMV_BDIA_BANDS] + 1, 4);
    return status;
}

static spmv_status spmv__bdia_estimate(const spmv_spec *spec, const spmv__look *l, const spmv_features *f, spmv__load *out)
{
    (void)spec;
    (void)l;
    return spmv__estimate_diagonals(f, out);
}

/* A band is a run of diagonals whose numbers follow each other. */
static void spmv__bdia_lay(spmv_part *p, spmv__source *s)
{
    const spmv__diagonals *d = &s->diagonals;
    uint64_t i, band = 0;
    uint32_t *band_ptr = (uint32_t *)p->a[SPMV_BDIA_BAND_PTR].data;
    band_ptr[0] = 0;
    for (i = 0; i < d->count; i++) {
        if (spmv__band_begins(d, i)) ((int32_t *)p->a[SPMV_BDIA_OFFSET].data)[band++] = spmv__dia_offset(p, &d->list[i]);
        band_ptr[band] = (uint32_t)(i + 1);
    }
}

#define spmv__bdia_fill spmv__dia_values

static void spmv__bdia_each(const spmv_part *p, spmv__visit visit, void *user)
{
    const uint32_t *band_ptr = (const uint32_t *)p->a[SPMV_BDIA_BAND_PTR].data;
    uint64_t b;
    uint32_t d;
    for (b = 0; b < p->n[SPMV_BDIA_BANDS]; b++)
        for (d = band_ptr[b]; d < band_ptr[b + 1]; d++)
            spmv__dia_each_one(p, d, (int64_t)((const int32_t *)p->a[SPMV_BDIA_OFFSET].data)[b] + (int64_t)(d - band_ptr[b]), visit, user);
}
#endif

/* ---- ell and sell ------------------------------------------------------------------------------------------------ */
#if defined(SPMV_NO_ELL) || !(SPMV__ONLY & SPMV_BIT_ELL)
#undef SPMV_NO_ELL
#define SPMV_NO_ELL
#define SPMV__BUILT_ELL 0
#else
#define SPMV__BUILT_ELL 1
#endif

#if defined(SPMV_NO_SELL) || !(SPMV__ONLY & SPMV_BIT_SELL)
#undef SPMV_NO_SELL
#define SPMV_NO_SELL
#define SPMV__BUILT_SELL 0
#else
#define SPMV__BUILT_SELL 1
#endif

#if SPMV__BUILT_ELL || SPMV__BUILT_SELL
#define SPMV__ANY_ELL
#endif

#ifdef SPMV__ANY_ELL
/* The nonzeros of the longest of rows first .. end - 1 of the part. Of rows on a device, first must be a multiple of s->longest_of, and end
 * as well or the number of rows. */
static uint64_t spmv__longest(const spmv__source *s, uint64_t first, uint64_t end)
{
    const uint64_t found = s->longest ? spmv__ceil_div(end, s->longest_of) : 0;
    uint64_t i, w = 0;
    for (i = found ? first / s->longest_of : 0; i < found; i++)
        if (s->longest[i] > w) w = s->longest[i];
    for (i = first; !s->longest && i < end; i++)
        if (s->ptr[i + 1] - s->ptr[i] > w) w = s->ptr[i + 1] - s->ptr[i];
    return w;
}

/* Where the rows of a column-major slab go. */
typedef struct spmv__slab {
    spmv_array       *col;
    const spmv_array *base;
    uint64_t          group; /* the base of the rows */
    uint64_t          ld;    /* slots from an entry of a row to its next */
    uint64_t          width; /* entries of a row with padding */
} spmv__slab;

/* Rows that are filled together, so that whole cache lines of the slab are written at once. Of doubles, these are all rows of a slice of
 * the usual height, whose padding is then adjacent. More rows of floats, or of higher slabs, were no faster to fill. */
enum { SPMV__SLAB_ROWS = 16, SPMV__SLAB_SLICE = 32 };
enum { SPMV__SLAB_STRETCH = 64 /* entries of rows of different lengths that are filled together: 24 KiB, less than a near cache */ };
enum { SPMV__PAD_BYTE = 0xff /* of SPMV_PAD and SPMV_PAD16 */ };

/* Makes entries first .. end - 1 of some rows padding, at most SPMV__SLAB_SLICE; slot is that of entry 0 of the first of them. */
static void spmv__slab_pad(const spmv__slab *t, const spmv__sink *to, uint64_t rows, uint64_t first, uint64_t end, uint64_t slot)
{
    const uint64_t width = t->col->width, bytes = to->dst->width;
    const int usual = rows == SPMV__SLAB_ROWS && width == 4; /* then memset knows how much it sets */
    unsigned char *col = (unsigned char *)t->col->data + (slot + first * t->ld) * width;
    unsigned char *val = (unsigned char *)to->dst->data + (slot + first * t->ld) * bytes;
    uint64_t j;
    if (first == end) return; /* the slab may have no slots at all */
    if (rows == t->ld) { /* all of the slab's */
        memset(col, SPMV__PAD_BYTE, (size_t)((end - first) * rows * width));
        memset(val, 0, (size_t)((end - first) * rows * bytes));
        return;
    }
    for (j = first; j < end; j++, col += t->ld * width) {
        if (usual) memset(col, SPMV__PAD_BYTE, (size_t)SPMV__SLAB_ROWS * 4);
        else memset(col, SPMV__PAD_BYTE, (size_t)(rows * width));
    }
    for (j = first; j < end; j++, val += t->ld * bytes) {
        if (usual && bytes == 8) memset(val, 0, (size_t)SPMV__SLAB_ROWS * 8);
        else if (usual) memset(val, 0, (size_t)SPMV__SLAB_ROWS * 4);
        else memset(val, 0, (size_t)(rows * bytes));
    }
}

/* Puts n entries of each of some rows into the slab, the first into slot, slot + 1 and so on; k: where their entries begin. Values have so
 * many bytes. Nearly all of the time of a conversion is spent here, so the loops are compiled for each width. What several rows will read
 * next, if they are adjacent, is prefetched: processors do not foresee so many short streams. */
SPMV__INLINE void spmv__slab_entries(const spmv__slab *t, const spmv__sink *to, const uint32_t *from, const uint64_t *k, uint64_t rows,
                                     uint64_t n, uint64_t slot, size_t bytes)
{
    uint32_t *col = (uint32_t *)t->col->data;
    uint16_t *narrow = (uint16_t *)t->col->data;
    unsigned char *val = (unsigned char *)to->dst->data + slot * bytes;
    const unsigned char *src = to->src;
    uint64_t i, j, at;
    if (t->base->count) {
        const uint32_t base = ((const uint32_t *)t->base->data)[t->group];
        for (j = 0, at = slot; j < n; j++, at += t->ld) {
            if (rows > 1) spmv__prefetch(from, (k[0] + (n + j) * rows) * sizeof *from);
            for (i = 0; i < rows; i++) narrow[at + i] = (uint16_t)(from[k[i] + j] - base);
        }
    } else {
        for (j = 0, at = slot; j < n; j++, at += t->ld) {
            if (rows > 1) spmv__prefetch(from, (k[0] + (n + j) * rows) * sizeof *from);
            for (i = 0; i < rows; i++) col[at + i] = from[k[i] + j];
        }
    }
    for (j = 0; j < n; j++, val += t->ld * bytes) {
        if (rows > 1) spmv__prefetch(src, (k[0] + (n + j) * rows) * bytes);
        for (i = 64; i < rows * bytes; i += 64) spmv__prefetch(src, (k[0] + (n + j) * rows) * bytes + i);
        for (i = 0; i < rows; i++) memcpy(val + i * bytes, src + (k[i] + j) * bytes, bytes);
    }
}

/* Puts entries k .. k + n - 1 into a row, the first into slot. */
static void spmv__slab_copy(const spmv__slab *t, const spmv__sink *to, const uint32_t *from, uint64_t k, uint64_t n, uint64_t slot)
{
    if (to->dst->width == 8) spmv__slab_entries(t, to, from, &k, 1, n, slot, 8);
    else spmv__slab_entries(t, to, from, &k, 1, n, slot, 4);
}

/* 1 if the entries of rows can be copied: the part takes all of the matrix, and they are values. */
static int spmv__slab_copies(const spmv__source *s, const spmv__sink *to) { return !s->v->owner && to->src; }

/* Puts row i of the part into a slab, its first entry into slot: for what spmv__slab_some_rows cannot do, views of some nonzeros, and
 * maps. */
static void spmv__ell_row(const spmv__slab *t, const spmv__source *s, spmv__sink *to, uint64_t i, uint64_t slot)
{
    const spmv_csr *a = s->v->a;
    uint64_t r = spmv__source_row(s, i), k = a->ptr[r], end = a->ptr[r + 1], n = 0;
    for (; k < end; k++)
        if (spmv__mine(s->v, k)) {
            spmv__set_column(t->col, t->base, slot + n * t->ld, t->group, a->col[k], 1);
            spmv__put(to, slot + n++ * t->ld, k);
        }
    spmv__slab_pad(t, to, 1, n, t->width, slot);
}

/* Puts so many rows from row i on, SPMV__SLAB_SLICE at most, into a slab; those from row end on are padding. What all rows have is copied
 * line by line. The rest, up to the end of the longest row, is copied in short stretches, so that cache lines stay in the cache until all
 * rows have been there. What lies behind is padding. */
static void spmv__slab_some_rows(const spmv__slab *t, const spmv__source *s, const spmv__sink *to, uint64_t i, uint64_t end, uint64_t rows,
                                 uint64_t slot)
{
    const spmv_csr *a = s->v->a;
    uint64_t k[SPMV__SLAB_SLICE], n[SPMV__SLAB_SLICE], u, j, stop, least = UINT64_MAX, most = 0;
    for (u = 0; u < rows; u++) {
        uint64_t r = i + u < end ? spmv__source_row(s, i + u) : 0;
        n[u] = i + u < end ? a->ptr[r + 1] - a->ptr[r] : 0;
        k[u] = a->ptr[r];
        least = n[u] < least ? n[u] : least;
        most = n[u] > most ? n[u] : most;
    }
    if (rows == SPMV__SLAB_SLICE) spmv__slab_entries(t, to, a->col, k, SPMV__SLAB_SLICE, least, slot, 8);
    else if (rows != SPMV__SLAB_ROWS) least = 0;
    else if (to->dst->width == 8) spmv__slab_entries(t, to, a->col, k, SPMV__SLAB_ROWS, least, slot, 8);
    else spmv__slab_entries(t, to, a->col, k, SPMV__SLAB_ROWS, least, slot, 4);
    for (j = least; j < most; j = stop) {
        stop = spmv__smaller(j + SPMV__SLAB_STRETCH, most);
        spmv__slab_pad(t, to, rows, j, stop, slot);
        for (u = 0; u < rows; u++)
            if (n[u] > j) spmv__slab_copy(t, to, a->col, k[u] + j, spmv__smaller(n[u], stop) - j, slot + u + j * t->ld);
    }
    spmv__slab_pad(t, to, rows, most, t->width, slot);
}

/* Puts rows first .. end - 1 of the part, which share a base, and rows of padding, into a slab, the first entry of the first one into
 * slot; stop: the row behind all of these. */
static void spmv__slab_rows(const spmv__slab *t, const spmv__source *s, spmv__sink *to, uint64_t first, uint64_t end, uint64_t stop,
                            uint64_t slot)
{
    const uint64_t together = t->ld == SPMV__SLAB_SLICE && to->dst->width == 8 ? SPMV__SLAB_SLICE : SPMV__SLAB_ROWS;
    for (; !spmv__slab_copies(s, to) && first < end; first++, slot++) spmv__ell_row(t, s, to, first, slot);
    for (; first < stop; first += together, slot += together)
        spmv__slab_some_rows(t, s, to, first, end, spmv__smaller(stop - first, together), slot);
}

/* Visits the entries of a row that spmv__ell_row stored; width is the number of slots that the row has. */
static void spmv__ell_visit(const spmv_array *col, const spmv_array *base, uint64_t group, uint64_t row, uint64_t slot, uint64_t ld,
                            uint64_t width, spmv__visit visit, void *user)
{
    uint64_t k;
    for (k = 0; k < width; k++, slot += ld) {
        uint32_t c = spmv__column_at(col, base, slot, group, 1);
        if (c != SPMV_PAD) visit(user, row, c, slot);
    }
}
#endif

static const spmv__traits spmv__ell_traits = {
    SPMV__LISTS | SPMV__KEY(W) | SPMV__KEY(FILL) | SPMV__KEY(IDX), /* keys */
    SPMV_CAN_LIST | SPMV_REPEATS,                                  /* flags */
    SPMV_CLASS_FLAT,                                               /* class */
    1,                                                             /* indices */
    0,                                                             /* even */
    SPMV__PADS_ALL, SPMV__LANES_BY_ROWS,                           /* pads, lanes */
    NULL                                                           /* suits */
};

static const char *const spmv__ell_layouts[] = {
    "ell",
    "ell:idx=16"
};

#ifndef SPMV_NO_ELL
/* 16-bit columns need the rows of each base to span few enough columns. */
static spmv_status spmv__ell_size(spmv_part *p, spmv__source *s)
{
    int fits = 1;
    uint64_t i, low, high;
    p->n[SPMV_ELL_WIDTH] = spmv__longest(s, 0, p->rows);
    p->n[SPMV_ELL_LD] = spmv__leading(p->rows);
    for (i = 0; i < p->rows && fits && p->spec.key[SPMV_KEY_IDX] == 16; i += 32) {
        spmv__span(s, i, p->rows - i < 32 ? p->rows : i + 32, &low, &high);
        fits = spmv__span_fits(low, high);
    }
    spmv__want(&p->a[SPMV_VAL], spmv__sat_mul(p->n[SPMV_ELL_WIDTH], p->n[SPMV_ELL_LD]), p->a[SPMV_VAL].width);
    spmv__want_columns(p, &p->a[SPMV_ELL_COL], &p->a[SPMV_ELL_BASE], p->a[SPMV_VAL].count, p->n[SPMV_ELL_LD] / 32, fits);
    s->grain = 32; /* rows of a base */
    return SPMV_OK;
}

static spmv_status spmv__ell_estimate(const spmv_spec *spec, const spmv__look *l, const spmv_features *f, spmv__load *out)
{
    (void)f;
    out->slots = out->rows * (double)l->longest;
    return spmv__estimate_columns(spec, l, 32);
}

#define spmv__ell_lay NULL

/* A base is the lowest column of its 32 rows; empty rows have 0. */
static void spmv__ell_fill(spmv_part *p, const spmv__source *s, spmv__sink *to, uint64_t first, uint64_t end)
{
    spmv__slab t;
    uint64_t i, next, low, high, pads = end < p->rows ? end : p->n[SPMV_ELL_LD];
    t.col = &p->a[SPMV_ELL_COL];
    t.base = &p->a[SPMV_ELL_BASE];
    t.ld = p->n[SPMV_ELL_LD];
    t.width = p->n[SPMV_ELL_WIDTH];
    for (i = first; i < end; i = next) {
        t.group = i / 32;
        next = spmv__smaller(spmv__round_up(i + 1, 32), end);
        if (t.base->count) {
            spmv__span(s, i, next, &low, &high);
            ((uint32_t *)t.base->data)[t.group] = low > high ? 0 : (uint32_t)low;
        }
        spmv__slab_rows(&t, s, to, i, next, next < end ? next : pads, i);
    }
    if (first == end) spmv__slab_rows(&t, s, to, end, end, pads, end);
}

static void spmv__ell_each(const spmv_part *p, spmv__visit visit, void *user)
{
    const spmv_array *col = &p->a[SPMV_ELL_COL], *base = &p->a[SPMV_ELL_BASE];
    uint64_t i;
    for (i = 0; i < p->rows; i++) spmv__ell_visit(col, base, i / 32, i, i, p->n[SPMV_ELL_LD], p->n[SPMV_ELL_WIDTH], visit, user);
}
#endif

static const spmv__traits spmv__sell_traits = {
    SPMV__LISTS | SPMV__KEY(W) | SPMV__KEY(FILL) | SPMV__KEY(IDX) | SPMV__KEY(H) | SPMV__KEY(GROW), /* keys */
    SPMV_CAN_LIST | SPMV_REPEATS,                                                                   /* flags */
    SPMV_CLASS_FLAT,                                                                                /* class */
    1,                                                                                              /* indices */
    0,                                                                                              /* even */
    SPMV__PADS_SLICES, SPMV__LANES_BY_ROWS,                                                         /* pads, lanes */
    NULL                                                                                            /* suits */
};

static const char *const spmv__sell_layouts[] = {
    "sell",
    "sell:h=8",
    "sell:h=64",
    "sell:h=256",
    "sell:h=32,rows=sorted,sigma=1024",
    "sell:idx=16",
    "sell:h=64,idx=16",
    "sell:h=256,idx=16",
    "sell:h=32,rows=sorted,sigma=1024,idx=16"
};

#ifndef SPMV_NO_SELL
/* The first row of slice t. */
static uint64_t spmv__slice_first(const spmv_part *p, uint64_t t)
{
    const spmv_array *slice_row = &p->a[SPMV_SELL_SLICE_ROW];
    return slice_row->count ? ((const uint32_t *)slice_row->data)[t] : t * p->n[SPMV_SELL_H];
}

/* The row after the last of slice t. */
static uint64_t spmv__slice_end(const spmv_part *p, uint64_t t)
{
    const spmv_array *slice_row = &p->a[SPMV_SELL_SLICE_ROW];
    uint64_t end = slice_row->count ? ((const uint32_t *)slice_row->data)[t + 1] : (t + 1) * p->n[SPMV_SELL_H];
    return end < p->rows ? end : p->rows;
}

/* The distance of a row's entries in slice t; the last slice can have fewer rows than that. */
static uint64_t spmv__slice_height(const spmv_part *p, uint64_t t)
{
    return p->a[SPMV_SELL_SLICE_ROW].count ? spmv__slice_end(p, t) - spmv__slice_first(p, t) : p->n[SPMV_SELL_H];
}

/* The end of the slice that begins at row first: h rows, or with the key grow as many up to h as keep padding under that share of the
 * slice. (Monakov et al. have slices of varying height; this rule is our own.) */
static uint64_t spmv__slice_grow(const spmv_part *p, const spmv__source *s, uint64_t first)
{
    uint64_t h = p->n[SPMV_SELL_H], end, width = 0;
    int64_t grow = p->spec.key[SPMV_KEY_GROW];
    if (h > p->rows - first) h = p->rows - first;
    if (!grow) return first + h;
    for (end = first; end < first + h; end++) {
        uint64_t length = s->ptr[end + 1] - s->ptr[end], slots, held = s->ptr[end + 1] - s->ptr[first];
        if (length > width) width = length;
        slots = width * (end + 1 - first);
        if ((double)(slots - held) * 1e6 > (double)grow * (double)slots) break;
    }
    return end > first ? end : first + 1;
}

/* The height of the slices of a part. It is at most the number of rows, rounded up to 32: everything above would be padding. */
static uint64_t spmv__sell_height(const spmv_spec *spec, uint64_t rows)
{
    return rows ? spmv__smaller(spmv__height(spec), spmv__round_up(rows, 32)) : spmv__height(spec);
}

/* The width of each slice, if a device has found them; else NULL. Columns of 16 bits need more. */
static const uint32_t *spmv__sell_widths(const spmv_part *p, const spmv__source *s)
{
    const int64_t *key = p->spec.key;
    return !key[SPMV_KEY_GROW] && key[SPMV_KEY_IDX] != 16 && s->longest_of == p->n[SPMV_SELL_H] ? s->longest : NULL;
}

/* What the shares of spmv__sell_size find. */
typedef struct spmv__sell_count {
    const spmv_part    *p;
    const spmv__source *s;
    uint64_t            total[SPMV__MOST_SHARES], slices[SPMV__MOST_SHARES], shares;
    int                 fits[SPMV__MOST_SHARES];
} spmv__sell_count;

/* Goes through the slices of a share once, for their number, slots, and whether the columns of each fit 16 bits. */
static void spmv__sell_count_share(void *job, uint64_t share)
{
    spmv__sell_count *c = (spmv__sell_count *)job;
    const spmv_part *p = c->p;
    const uint64_t stop = spmv__share_first(c->s, share + 1, c->shares);
    uint64_t first, end, low, high, total = 0, slices = 0;
    int grow = p->spec.key[SPMV_KEY_GROW] != 0, fits = p->spec.key[SPMV_KEY_IDX] == 16;
    for (first = spmv__share_first(c->s, share, c->shares); first < stop; first = end) {
        end = spmv__slice_grow(p, c->s, first);
        total = spmv__sat_add(total, spmv__sat_mul(spmv__longest(c->s, first, end), grow ? end - first : p->n[SPMV_SELL_H]));
        slices++;
        if (!fits) continue;
        spmv__span(c->s, first, end, &low, &high);
        fits = spmv__span_fits(low, high);
    }
    c->total[share] = total;
    c->slices[share] = slices;
    c->fits[share] = fits;
}

/* Goes through all slices. *fits: 1 if columns of 16 bits are asked for and fit. Returns the slots. With the key grow, where a slice begins
 * depends on those before it, so one share counts them all. */
static uint64_t spmv__sell_count_all(spmv_part *p, const spmv__source *s, int *fits)
{
    spmv__sell_count c;
    uint64_t i, total = 0;
    c.p = p;
    c.s = s;
    c.shares = p->spec.key[SPMV_KEY_GROW] ? 1 : spmv__source_shares(s);
    spmv__share_out(spmv__sell_count_share, &c, c.shares);
    p->n[SPMV_SELL_SLICES] = 0;
    for (i = 0, *fits = 1; i < c.shares; i++) {
        total = spmv__sat_add(total, c.total[i]);
        p->n[SPMV_SELL_SLICES] += c.slices[i];
        *fits = *fits && c.fits[i];
    }
    return total;
}

/* The same for slices whose widths a device has found. */
static uint64_t spmv__sell_count_widths(spmv_part *p, const uint32_t *widths)
{
    uint64_t t, total = 0;
    p->n[SPMV_SELL_SLICES] = spmv__ceil_div(p->rows, p->n[SPMV_SELL_H]);
    for (t = 0; t < p->n[SPMV_SELL_SLICES]; t++) total += widths[t];
    return spmv__sat_mul(total, p->n[SPMV_SELL_H]);
}

static spmv_status spmv__sell_size(spmv_part *p, spmv__source *s)
{
    const int grow = p->spec.key[SPMV_KEY_GROW] != 0;
    const uint32_t *widths;
    uint64_t total;
    int fits = 0;
    p->n[SPMV_SELL_H] = spmv__sell_height(&p->spec, p->rows);
    s->grain = grow ? 0 : p->n[SPMV_SELL_H];
    widths = spmv__sell_widths(p, s);
    total = widths ? spmv__sell_count_widths(p, widths) : spmv__sell_count_all(p, s, &fits);
    spmv__want(&p->a[SPMV_VAL], total, p->a[SPMV_VAL].width);
    spmv__want_offsets(&p->a[SPMV_SELL_PTR], p->n[SPMV_SELL_SLICES] + 1, total);
    spmv__want_columns(p, &p->a[SPMV_SELL_COL], &p->a[SPMV_SELL_BASE], total, p->n[SPMV_SELL_SLICES], fits);
    spmv__want(&p->a[SPMV_SELL_SLICE_ROW], grow ? p->n[SPMV_SELL_SLICES] + 1 : 0, 4);
    if (grow) s->cuts = &p->a[SPMV_SELL_SLICE_ROW];
    return SPMV_OK;
}

/* Sets the share's result to the sum of the widths of its slices. */
static void spmv__slots_share(void *job, uint64_t share)
{
    spmv__look_pass *c = (spmv__look_pass *)job;
    uint64_t r = spmv__look_first(c, share), end = spmv__look_first(c, share + 1), widths = 0;
    while (r < end) {
        const uint64_t stop = end - r < c->h ? end : r + c->h;
        widths += spmv__look_tallest(c->l, r, stop);
        r = stop;
    }
    c->result[share] = widths;
}

/* The slots of sell if its slices are h rows of the matrix each, in order. */
static double spmv__slots_in_order(const spmv__look *l, uint64_t h)
{
    spmv__look_pass c;
    double slots = 0;
    uint64_t i;
    if (spmv__look_has(&l->known->in_order, h, &slots)) return slots;
    spmv__look_run(&c, l, h, 1, spmv__slots_share);
    for (i = 0; i < c.shares; i++) slots += (double)c.result[i] * (double)h;
    spmv__look_keep(&l->known->in_order, h, slots);
    return slots;
}

/* How many rows of a window have each length, and which lengths there are. */
typedef struct spmv__length_counts {
    uint32_t *with;  /* by length */
    uint64_t *there; /* a bit for each length above 0 that a row of the window has */
} spmv__length_counts;

/* Goes from length k to the next one below it that is there, and takes its bit away; 0: there is none. */
static uint64_t spmv__length_below(spmv__length_counts *c, uint64_t k)
{
    uint64_t word = k / 64, bits = c->there[word], n = 63;
    while (!bits && word) bits = c->there[--word];
    if (!bits) return 0;
#ifdef __GNUC__
    n = 63 - (uint64_t)__builtin_clzll(bits);
#else
    while (!(bits >> n)) n--;
#endif
    c->there[word] = bits ^ (uint64_t)1 << n;
    return word * 64 + n;
}

enum { SPMV__SORTED_SAMPLE = 1 << 15 /* rows: as few show how well the rows of a window fit together */ };

/* Adds up the slots of windows of sigma rows; c has room for the longest row and is zero. A slice that begins among the rows of length k is
 * k wide. One that was begun before becomes wider if it is narrower, as it can be at the beginning of a window. Of many windows only a
 * sample is read, whose slots are scaled by its share of the nonzeros; each row that is longer than all in the sample counts as a slice of
 * its own. all: 1: reads every window, as is done in the end if the nonzeros lie so unevenly that the sample says little. */
static double spmv__slots_of_windows(const spmv__look *l, uint64_t h, uint64_t sigma, spmv__length_counts *c, int all)
{
    const uint64_t rows = l->v->a->rows, windows = spmv__ceil_div(rows, sigma), sampled = spmv__ceil_div(SPMV__SORTED_SAMPLE, sigma);
    const uint64_t step = !all && windows > 2 * sampled && sampled > 1 ? windows / sampled : 1;
    uint64_t i, begin, end, r, k, nnz = 0, longest = 0; /* of the sample: nonzeros, the longest row */
    uint64_t place = 0, open = 0;                       /* rows so far; width of the last slice */
    double slots = 0;
    for (i = 0; i * step < windows; i++) {
        uint64_t most = 0;
        begin = (i * step + (i * 2654435769u >> 16) % step) * sigma; /* by the golden section, so that no pattern of the rows hides */
        if (begin >= rows) break;
        end = rows - begin < sigma ? rows : begin + sigma;
        for (r = begin; r < end; r++) {
            uint64_t n = spmv__look_len(l, r);
            c->with[n]++;
            c->there[n / 64] |= (uint64_t)(n != 0) << n % 64;
            if (n > most) most = n;
            nnz += n;
        }
        if (most > longest) longest = most;
        for (k = most; (k = spmv__length_below(c, k)) != 0;) {
            uint64_t next = place + c->with[k], opened = spmv__ceil_div(next, h) - spmv__ceil_div(place, h);
            if (place % h && k > open) slots += (double)(h * (k - open));
            if (opened || k > open) open = k;
            slots += (double)(opened * h * k);
            place = next;
            c->with[k] = 0;
        }
    }
    if (step == 1) return slots;
    if (nnz * step < l->nnz / 2 || nnz * step / 2 > l->nnz) return spmv__slots_of_windows(l, h, sigma, c, 1);
    slots *= (double)l->nnz / (double)nnz;
    for (k = longest + 1; k <= l->longest; k++) slots += (double)(h - 1) * (double)l->longer[k];
    return slots;
}

/* The slots of sell if empty rows are left out and rows are sorted by length within windows of sigma rows (0: all rows). Counts the rows
 * of each length instead of sorting them. */
static spmv_status spmv__slots_sorted(const spmv__look *l, uint64_t h, uint64_t sigma, double *slots)
{
    const uint64_t words = l->longest / 64 + 1, key = sigma << 32 | h; /* h is 65536 at most */
    spmv__length_counts c;
    void *block;
    spmv_status s;
    if (spmv__look_has(&l->known->sorted, key, slots)) return SPMV_OK;
    s = spmv__new(l->h, &block, words * 8 + (l->longest + 1) * 4, 1, 0);
    if (s) return s;
    c.there = (uint64_t *)block;
    c.with = (uint32_t *)(void *)(c.there + words);
    *slots = spmv__slots_of_windows(l, h, sigma ? sigma : l->v->a->rows, &c, 0);
    spmv__look_keep(&l->known->sorted, key, *slots);
    spmv_free(l->h, block);
    return SPMV_OK;
}

/* Sorting leaves little padding; its cost is narrow slices and writing y in any order, which uneven stands for. */
static spmv_status spmv__sell_estimate(const spmv_spec *spec, const spmv__look *l, const spmv_features *f, spmv__load *out)
{
    uint64_t sigma = (uint64_t)spec->key[SPMV_KEY_SIGMA], h = spmv__sell_height(spec, spec->key[SPMV_KEY_ROWS] ? l->rows : f->rows);
    spmv_status s = SPMV_OK;
    if (spec->key[SPMV_KEY_ROWS] == SPMV_ROWS_SORTED) {
        s = spmv__slots_sorted(l, h, sigma, &out->slots);
        out->uneven = f->uneven;
    } else {
        out->slots = spmv__slots_in_order(l, h);
    }
    return s ? s : spmv__estimate_columns(spec, l, sigma ? sigma : h);
}

/* What the shares of spmv__sell_lay have in common. */
typedef struct spmv__sell_slices {
    spmv_part          *p;
    const spmv__source *s;
    uint64_t            shares;
} spmv__sell_slices;

/* Cuts the slices of a share as spmv__sell_size does, and fills the rows where they begin, and as pointers their slots. */
static void spmv__sell_lay_share(void *job, uint64_t share)
{
    const spmv__sell_slices *c = (const spmv__sell_slices *)job;
    spmv_part *p = c->p;
    const int grow = p->a[SPMV_SELL_SLICE_ROW].count != 0;
    const uint64_t stop = c->shares == 1 ? p->rows : spmv__share_first(c->s, share + 1, c->shares);
    uint64_t first = c->shares == 1 ? 0 : spmv__share_first(c->s, share, c->shares), end, t = first / p->n[SPMV_SELL_H];
    for (; first < stop; t++, first = end) {
        end = spmv__slice_grow(p, c->s, first);
        if (grow) spmv__set(&p->a[SPMV_SELL_SLICE_ROW], t + 1, end);
        spmv__set(&p->a[SPMV_SELL_PTR], t + 1, spmv__longest(c->s, first, end) * (grow ? end - first : p->n[SPMV_SELL_H]));
    }
}

/* With the key grow, where a slice begins depends on those before it, so one share cuts them all. */
static void spmv__sell_lay(spmv_part *p, spmv__source *s)
{
    const int grow = p->a[SPMV_SELL_SLICE_ROW].count != 0;
    spmv_array *ptr = &p->a[SPMV_SELL_PTR];
    spmv__sell_slices c;
    uint64_t t, sum = 0;
    if (spmv__sell_widths(p, s)) {
        spmv__offsets_from(ptr, spmv__sell_widths(p, s), p->n[SPMV_SELL_H]);
        return;
    }
    c.p = p;
    c.s = s;
    c.shares = grow ? 1 : spmv__source_shares(s);
    spmv__set(ptr, 0, 0);
    if (grow) spmv__set(&p->a[SPMV_SELL_SLICE_ROW], 0, 0);
    spmv__share_out(spmv__sell_lay_share, &c, c.shares);
    for (t = 0; t < p->n[SPMV_SELL_SLICES]; t++) {
        sum += spmv__at(ptr, t + 1);
        spmv__set(ptr, t + 1, sum);
    }
}

/* The slice that begins at row first, which is the beginning of one, or the number of slices. */
static uint64_t spmv__slice_at(const spmv_part *p, uint64_t first)
{
    uint64_t low = 0, high = p->n[SPMV_SELL_SLICES];
    if (!p->a[SPMV_SELL_SLICE_ROW].count) return spmv__ceil_div(first, p->n[SPMV_SELL_H]);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (spmv__slice_first(p, middle) < first) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Fills the slices of rows first .. stop - 1. A base is the lowest column of its slice, 0 if that is empty. */
static void spmv__sell_fill(spmv_part *p, const spmv__source *s, spmv__sink *to, uint64_t first, uint64_t stop)
{
    spmv__slab b;
    uint64_t t, end, slot, low, high;
    b.col = &p->a[SPMV_SELL_COL];
    b.base = &p->a[SPMV_SELL_BASE];
    for (t = spmv__slice_at(p, first); first < stop; t++, first = end) {
        end = spmv__slice_end(p, t);
        slot = spmv__at(&p->a[SPMV_SELL_PTR], t);
        b.group = t;
        b.ld = spmv__slice_height(p, t);
        b.width = (spmv__at(&p->a[SPMV_SELL_PTR], t + 1) - slot) / b.ld;
        if (b.base->count) {
            spmv__span(s, first, end, &low, &high);
            ((uint32_t *)b.base->data)[t] = low > high ? 0 : (uint32_t)low;
        }
        spmv__slab_rows(&b, s, to, first, end, first + b.ld, slot);
    }
}

static void spmv__sell_each(const spmv_part *p, spmv__visit visit, void *user)
{
    uint64_t t, i;
    for (t = 0; t < p->n[SPMV_SELL_SLICES]; t++) {
        uint64_t slot = spmv__at(&p->a[SPMV_SELL_PTR], t), height = spmv__slice_height(p, t), first = spmv__slice_first(p, t);
        uint64_t width = height ? (spmv__at(&p->a[SPMV_SELL_PTR], t + 1) - slot) / height : 0;
        for (i = first; i < spmv__slice_end(p, t); i++)
            spmv__ell_visit(&p->a[SPMV_SELL_COL], &p->a[SPMV_SELL_BASE], t, i, slot + i - first, height, width, visit, user);
    }
}
#endif

/* ---- bell, sbell and bcsr ---------------------------------------------------------------------------------------- */
#if defined(SPMV_NO_BELL) || !(SPMV__ONLY & SPMV_BIT_BELL)
#undef SPMV_NO_BELL
#define SPMV_NO_BELL
#define SPMV__BUILT_BELL 0
#else
#define SPMV__BUILT_BELL 1
#endif

#if defined(SPMV_NO_SBELL) || !(SPMV__ONLY & SPMV_BIT_SBELL)
#undef SPMV_NO_SBELL
#define SPMV_NO_SBELL
#define SPMV__BUILT_SBELL 0
#else
#define SPMV__BUILT_SBELL 1
#endif

#if defined(SPMV_NO_BCSR) || !(SPMV__ONLY & SPMV_BIT_BCSR)
#undef SPMV_NO_BCSR
#define SPMV_NO_BCSR
#define SPMV__BUILT_BCSR 0
#else
#define SPMV__BUILT_BCSR 1
#endif

#if SPMV__BUILT_BELL || SPMV__BUILT_SBELL || SPMV__BUILT_BCSR
#define SPMV__ANY_BLOCK
#endif

/* The block column of a column. Division by a constant is fast, which matters as there is one for each nonzero. */
SPMV__SHARED uint32_t spmv__block_of(uint32_t c, uint64_t bw)
{
    switch (bw) {
    case 2: return c / 2;
    case 3: return c / 3;
    case 4: return c / 4;
    case 6: return c / 6;
    default: return c / 8;
    }
}

/* Division of columns by the width of blocks, for loops over many of them: column * times >> shift. */
typedef struct spmv__block_division {
    uint64_t times;
    uint32_t shift;
} spmv__block_division;

SPMV__SHARED spmv__block_division spmv__block_divisor(uint64_t bw)
{
    spmv__block_division d;
    d.times = bw % 3 ? 1 : 0xaaaaaaabu; /* a third of 2^33, rounded up: exact for every column of 32 bits */
    d.shift = bw % 3 ? bw == 2 ? 1 : bw == 4 ? 2 : 3 : bw == 3 ? 33 : 34;
    return d;
}

SPMV__INLINE uint32_t spmv__divide_by(spmv__block_division d, uint32_t c) { return (uint32_t)(c * d.times >> d.shift); }

enum { SPMV__BLOCK_SIDE = 8 /* the most rows of a block, and the most columns */ };
#define SPMV__NO_BLOCK UINT32_MAX /* above every column and every block column */

/* Walks the blocks of one block row by rising column. As the columns of each row rise, it only merges the rows, and needs no memory that
 * depends on the matrix. */
typedef struct spmv__blocks {
    const spmv_view *v;
    uint64_t         bw;
    uint64_t         rows;                       /* of the block row, fewer at the end of the matrix */
    uint64_t         from[SPMV__BLOCK_SIDE];     /* the entries of each row in the current block, with those of other parts among them */
    uint64_t         at[SPMV__BLOCK_SIDE];       /* ... up to this one, the first nonzero of the view after the block */
    uint64_t         end[SPMV__BLOCK_SIDE];
    uint32_t         next[SPMV__BLOCK_SIDE];     /* the column of entry at, or SPMV__NO_BLOCK */
} spmv__blocks;

/* Moves row i to its first nonzero of the view from entry k on. */
static void spmv__blocks_move(spmv__blocks *b, uint64_t i, uint64_t k)
{
    while (k < b->end[i] && !spmv__mine(b->v, k)) k++;
    b->at[i] = k;
    b->next[i] = k < b->end[i] ? b->v->a->col[k] : SPMV__NO_BLOCK;
}

/* Begins a walk over the blocks of the rows from first on, at most bh of them. */
SPMV__SHARED void spmv__blocks_begin(spmv__blocks *b, const spmv_view *v, uint64_t first, uint64_t bh, uint64_t bw)
{
    uint64_t i;
    b->v = v;
    b->bw = bw;
    b->rows = first < v->a->rows ? spmv__smaller(v->a->rows - first, bh) : 0;
    for (i = 0; i < b->rows; i++) {
        b->end[i] = v->a->ptr[first + i + 1];
        spmv__blocks_move(b, i, v->a->ptr[first + i]);
    }
}

/* Goes to the next block that holds nonzeros of the view and returns its block column; SPMV__NO_BLOCK if there is none. */
SPMV__SHARED uint32_t spmv__blocks_next(spmv__blocks *b)
{
    const uint32_t *col = b->v->a->col;
    uint32_t c = SPMV__NO_BLOCK, limit;
    uint64_t i, k;
    for (i = 0; i < b->rows; i++)
        if (b->next[i] < c) c = b->next[i];
    if (c == SPMV__NO_BLOCK) return c;
    c = spmv__block_of(c, b->bw);
    limit = (uint32_t)spmv__smaller(((uint64_t)c + 1) * b->bw, SPMV__NO_BLOCK);
    for (i = 0; i < b->rows; i++) {
        b->from[i] = b->at[i];
        if (b->next[i] >= limit) continue;
        for (k = b->at[i] + 1; k < b->end[i] && col[k] < limit; k++) {}
        if (b->v->owner) {
            spmv__blocks_move(b, i, k);
            continue;
        }
        b->at[i] = k; /* as spmv__blocks_move, without the test of each entry: most of the time of blocks is spent here */
        b->next[i] = k < b->end[i] ? col[k] : SPMV__NO_BLOCK;
    }
    return c;
}

/* The nonzeros of the view in the current block. */
SPMV__SHARED uint64_t spmv__blocks_load(const spmv__blocks *b)
{
    uint64_t i, k, n = 0;
    for (i = 0; i < b->rows; i++) {
        if (!b->v->owner) n += b->at[i] - b->from[i];
        else
            for (k = b->from[i]; k < b->at[i]; k++) n += (uint64_t)spmv__mine(b->v, k);
    }
    return n;
}

/* 64 adjacent block columns: which of them hold nonzeros of a block row, and how many blocks of that block row lie before them. */
typedef struct spmv__block_word {
    uint64_t bits, before;
} spmv__block_word;

/* The blocks of one block row. A bit for each block column sorts them and drops duplicates without a branch that depends on the columns,
 * which merging the rows takes for most blocks, and counting bits says which block a nonzero belongs to. The words take a
 * quarter of a byte for each block column, a 16th of a table of 32-bit numbers, so that they stay in a near cache. */
typedef struct spmv__block_set {
    spmv__block_word *word;   /* by block column / 64. All bits are 0 between block rows. NULL: the matrix has too many columns for its
                                 nonzeros; rows are merged, and the place of a block in col is found by bisection */
    uint64_t         *upper;  /* a bit for each word, 0 between block rows */
    uint32_t         *col;    /* the block columns, rising */
    uint64_t          count;  /* blocks */
    spmv__block_division by;  /* a column by the width of a block */
    int               alike;  /* 1: all rows of the block row have the same columns, and no bits are set */
} spmv__block_set;

enum { SPMV__WORD_BITS = 6, SPMV__UPPER_BITS = 12 /* of block columns: the bits that number them within a word, and a word of upper */ };

/* The most nonzeros of the matrix in bh adjacent rows from a multiple of bh on. */
SPMV__SHARED uint64_t spmv__longest_block_row(const spmv_csr *a, uint64_t bh)
{
    uint64_t r, most = 0;
    for (r = 0; r < a->rows; r += bh) {
        uint64_t n = a->ptr[spmv__smaller(r + bh, a->rows)] - a->ptr[r];
        if (n > most) most = n;
    }
    return most;
}

/* Makes *out, an array of sets for *threads threads, or for fewer, so that the sets take no more than a quarter of the CSR form unless one
 * does. They are one block of memory, which the caller frees. Blocks have bh rows and bw columns. */
SPMV__SHARED spmv_status spmv__sets_make(spmv__block_set **out, const spmv_csr *a, uint64_t bh, uint64_t bw, uint64_t *threads,
                                         const spmv_hooks *h)
{
    const uint64_t all = spmv__ceil_div(a->cols, bw), most = spmv__smaller(spmv__longest_block_row(a, bh), all);
    const uint64_t room = (a->nnz * 12 + a->rows * 8) / 4; /* bytes, for all threads */
    const uint64_t far = 16; /* times the nonzeros of a block row: so many words of upper may lie between its first and last block */
    uint64_t words = spmv__ceil_div(all, 64), uppers = spmv__ceil_div(words, 64), i, bytes, fit;
    unsigned char *at;
    void *block;
    spmv_status s;
    if (words * sizeof(spmv__block_word) + uppers * 8 > room || uppers * spmv__ceil_div(a->rows, bh) > far * (a->nnz + a->rows))
        words = uppers = 0;
    bytes = spmv__round_up(words * sizeof(spmv__block_word) + uppers * 8 + most * 4, 64);
    fit = room / (bytes + 1);
    if (*threads > fit) *threads = fit ? fit : 1;
    s = spmv__room(h, &block, *threads, sizeof **out + bytes);
    *out = (spmv__block_set *)block;
    if (s) return s;
    at = (unsigned char *)(*out + *threads);
    memset(block, 0, (size_t)(*threads * (sizeof **out + bytes)));
    for (i = 0; i < *threads; i++, at += bytes) {
        spmv__block_set *set = &(*out)[i];
        if (words) set->word = (spmv__block_word *)(void *)at;
        set->upper = (uint64_t *)(void *)(at + words * sizeof *set->word);
        set->col = (uint32_t *)(void *)(set->upper + uppers);
        set->by = spmv__block_divisor(bw);
    }
    return SPMV_OK;
}

SPMV__INLINE uint32_t spmv__set_block(const spmv__block_set *set, uint32_t c) { return spmv__divide_by(set->by, c); }

/* The number of a block that is in the set, whose rows are not alike. */
SPMV__INLINE uint64_t spmv__number_by_bits(const spmv__block_set *set, uint32_t block)
{
    const spmv__block_word *w = &set->word[block >> SPMV__WORD_BITS];
    return w->before + spmv__bit_count(w->bits & (((uint64_t)1 << block % 64) - 1));
}

/* The same by bisection, where there are no bits. */
SPMV__SHARED uint64_t spmv__number_by_column(const spmv__block_set *set, uint32_t block)
{
    uint64_t low = 0, n = set->count;
    while (n > 1) {
        uint64_t half = n / 2;
        if (set->col[low + half] <= block) low += half;
        n -= half;
    }
    return low;
}

/* Sets the bits of the blocks of entries k .. end - 1 and counts those that are new. listed: 1: they will be listed. */
SPMV__INLINE void spmv__set_add(spmv__block_set *set, const spmv_view *v, uint64_t k, uint64_t end, int owned, int listed)
{
    const uint32_t *col = v->a->col;
    const spmv__block_division by = set->by;
    spmv__block_word *word = set->word;
    uint64_t *upper = set->upper, n = 0;
    for (; k < end; k++) {
        const uint32_t block = spmv__divide_by(by, col[k]);
        spmv__block_word *w = &word[block >> SPMV__WORD_BITS];
        const uint64_t was = w->bits;
        if (owned && !spmv__mine(v, k)) continue;
        w->bits = was | (uint64_t)1 << block % 64;
        n += ~(was >> block % 64) & 1;
        if (listed) upper[block >> SPMV__UPPER_BITS] |= (uint64_t)1 << (block >> SPMV__WORD_BITS) % 64;
    }
    set->count += n;
}

/* 1 if some rows of the matrix from first on have nonzeros in the same columns, as the rows of a node have in finite elements with several
 * unknowns a node. */
SPMV__SHARED int spmv__rows_alike(const spmv_csr *a, uint64_t first, uint64_t rows)
{
    uint64_t i, n = a->ptr[first + 1] - a->ptr[first];
    for (i = 1; i < rows; i++)
        if (a->ptr[first + i + 1] - a->ptr[first + i] != n) return 0;
    for (i = 1; n && i < rows; i++)
        if (memcmp(a->col + a->ptr[first], a->col + a->ptr[first + i], (size_t)n * sizeof *a->col)) return 0;
    return 1;
}

/* Counts the blocks of one row, which rise; listed: 1: lists them in col as well. The last block stays in a register: reading it back from
 * col would have every nonzero wait for the one before. */
SPMV__INLINE void spmv__set_row(spmv__block_set *set, const spmv_csr *a, uint64_t row, int listed)
{
    const uint64_t end = a->ptr[row + 1];
    const spmv__block_division by = set->by;
    uint32_t *col = set->col, last = SPMV__NO_BLOCK;
    uint64_t k, n = 0;
    for (k = a->ptr[row]; k < end; k++) {
        const uint32_t block = spmv__divide_by(by, a->col[k]);
        n += (uint64_t)(block != last);
        if (listed) col[n - 1] = block;
        last = block;
    }
    set->count = n;
}

/* Collects the blocks of some rows by merging these. */
SPMV__SHARED void spmv__set_merge(spmv__block_set *set, const spmv_view *v, uint64_t first, uint64_t rows, uint64_t bw)
{
    spmv__blocks b;
    uint32_t c;
    spmv__blocks_begin(&b, v, first, rows, bw);
    for (set->count = 0; (c = spmv__blocks_next(&b)) != SPMV__NO_BLOCK;) set->col[set->count++] = c;
}

/* Lists the blocks whose bits are set, those of some rows of the matrix, in col, and notes how many lie before each word. */
SPMV__SHARED void spmv__set_list(spmv__block_set *set, const spmv_csr *a, uint64_t first, uint64_t rows)
{
    uint64_t r, u, end, words, bits, n = 0;
    uint32_t low = UINT32_MAX, high = 0; /* the columns between which all nonzeros of the rows lie */
    for (r = first; r < first + rows; r++) {
        if (a->ptr[r] == a->ptr[r + 1]) continue;
        if (a->col[a->ptr[r]] < low) low = a->col[a->ptr[r]];
        if (a->col[a->ptr[r + 1] - 1] > high) high = a->col[a->ptr[r + 1] - 1];
    }
    end = low > high ? 0 : (spmv__set_block(set, high) >> SPMV__UPPER_BITS) + 1;
    for (u = spmv__set_block(set, low) >> SPMV__UPPER_BITS; u < end; u++)
        for (words = set->upper[u]; words; words &= words - 1) {
            const uint64_t at = u * 64 + spmv__low_bit(words);
            set->word[at].before = n;
            for (bits = set->word[at].bits; bits; bits &= bits - 1) set->col[n++] = (uint32_t)(at * 64 + spmv__low_bit(bits));
        }
}

/* Counts the blocks of so many rows from first on. */
SPMV__SHARED uint64_t spmv__set_count(spmv__block_set *set, const spmv_view *v, uint64_t first, uint64_t rows, uint64_t bw)
{
    const spmv_csr *a = v->a;
    uint64_t k, begin, end;
    set->count = 0;
    if (!rows) return 0; /* padding behind the last row */
    if (!set->word) {
        spmv__set_merge(set, v, first, rows, bw);
        return set->count;
    }
    begin = a->ptr[first];
    end = a->ptr[first + rows];
    if (!v->owner && spmv__rows_alike(a, first, rows)) {
        spmv__set_row(set, a, first, 0);
        return set->count;
    }
    if (v->owner) spmv__set_add(set, v, begin, end, 1, 0);
    else spmv__set_add(set, v, begin, end, 0, 0);
    for (k = begin; k < end; k++) set->word[spmv__set_block(set, a->col[k]) >> SPMV__WORD_BITS].bits = 0;
    return set->count;
}

/* Lists the blocks of so many rows from first on. Until spmv__set_clear, spmv__set_number finds them. */
SPMV__SHARED void spmv__set_collect(spmv__block_set *set, const spmv_view *v, uint64_t first, uint64_t rows, uint64_t bw)
{
    const spmv_csr *a = v->a;
    set->count = 0;
    set->alike = rows && !v->owner && spmv__rows_alike(a, first, rows);
    if (!rows) return; /* padding behind the last row */
    if (set->alike) spmv__set_row(set, a, first, 1);
    else if (!set->word) spmv__set_merge(set, v, first, rows, bw);
    else {
        if (v->owner) spmv__set_add(set, v, a->ptr[first], a->ptr[first + rows], 1, 1);
        else spmv__set_add(set, v, a->ptr[first], a->ptr[first + rows], 0, 1);
        spmv__set_list(set, a, first, rows);
    }
}

/* Takes the blocks out again. */
SPMV__SHARED void spmv__set_clear(spmv__block_set *set)
{
    uint64_t i;
    for (i = 0; set->word && !set->alike && i < set->count; i++) {
        set->word[set->col[i] >> SPMV__WORD_BITS].bits = 0;
        set->upper[set->col[i] >> SPMV__UPPER_BITS] = 0;
    }
}

/* The number of a block that is in the set. */
SPMV__SHARED uint64_t spmv__set_number(const spmv__block_set *set, uint32_t block)
{
    return set->word && !set->alike ? spmv__number_by_bits(set, block) : spmv__number_by_column(set, block);
}

/* With the key d, every block is counted before the conversion. */
static const spmv__traits spmv__bell_traits = {
    SPMV__KEY(B) | SPMV__KEY(D) | SPMV__KEY(IDX),  /* keys */
    SPMV_HAS_FILL | SPMV_ROW_BLOCK | SPMV_REPEATS, /* flags */
    SPMV_CLASS_BLOCK,                              /* class */
    1,                                             /* indices */
    0,                                             /* even */
    SPMV__PADS_ALL, SPMV__LANES_BY_ROWS,           /* pads, lanes */
    NULL                                           /* suits */
};
static const spmv__traits spmv__sbell_traits = {
    SPMV__KEY(B) | SPMV__KEY(D) | SPMV__KEY(IDX) | SPMV__KEY(H), /* keys */
    SPMV_HAS_FILL | SPMV_ROW_BLOCK | SPMV_REPEATS,               /* flags */
    SPMV_CLASS_BLOCK,                                            /* class */
    1,                                                           /* indices */
    0,                                                           /* even */
    SPMV__PADS_SLICES, SPMV__LANES_BY_ROWS,                      /* pads, lanes */
    NULL                                                         /* suits */
};
static const spmv__traits spmv__bcsr_traits = {
    SPMV__KEY(B) | SPMV__KEY(D) | SPMV__KEY(IDX),                   /* keys */
    SPMV_HAS_FILL | SPMV_ROW_BLOCK | SPMV_REPEATS | SPMV_LONG_ROWS, /* flags */
    SPMV_CLASS_BLOCK,                                               /* class */
    1,                                                              /* indices */
    0,                                                              /* even */
    SPMV__PADS_NONE, SPMV__LANES_BY_LENGTH,                         /* pads, lanes */
    NULL                                                            /* suits */
};

static const char *const spmv__bell_layouts[] = {
#define X(bh, bw, uw) "bell:b=" #bh "x" #bw, "bell:b=" #bh "x" #bw ",idx=16",
    SPMV_BLOCK_LIST(X)
#undef X
};

static const char *const spmv__sbell_layouts[] = {
#define X(bh, bw, uw) "sbell:b=" #bh "x" #bw, "sbell:b=" #bh "x" #bw ",idx=16",
    SPMV_BLOCK_LIST(X)
#undef X
};

static const char *const spmv__bcsr_layouts[] = {
#define X(bh, bw, uw) "bcsr:b=" #bh "x" #bw, "bcsr:b=" #bh "x" #bw ",idx=16",
    SPMV_BLOCK_LIST(X)
#undef X
};

/* The features of the blocks that a specification names; NULL if there are none. */
SPMV__SHARED const spmv_block_features *spmv__features_of_block(const spmv_features *f, const spmv_spec *spec)
{
    int i;
    for (i = 0; i < SPMV_BLOCK_SIZES; i++)
        if (f->block[i].bh == (int)spmv__block_height(spec) && f->block[i].bw == (int)spmv__block_width(spec)) return &f->block[i];
    return NULL;
}

#ifdef SPMV__ANY_BLOCK
/* Where a block lies: the slot of its column, the slot of its first value, and the distance in values from unit to unit. */
typedef struct spmv__block {
    uint64_t col, val, step;
} spmv__block;

/* Checked when compiling: the integers of all three formats begin with those that describe a block, as SPMV_BLOCK_BH says, and bases
 * follow columns. */
enum {
#define SPMV__BLOCK_AGREES(NAME) \
    ((int)SPMV_##NAME##_BH == (int)SPMV_BLOCK_BH && (int)SPMV_##NAME##_BW == (int)SPMV_BLOCK_BW && \
     (int)SPMV_##NAME##_UW == (int)SPMV_BLOCK_UW && (int)SPMV_##NAME##_BASE == (int)SPMV_##NAME##_COL + 1)
    SPMV__BLOCKS_AGREE = 1 / (SPMV__BLOCK_AGREES(BELL) && SPMV__BLOCK_AGREES(SBELL) && SPMV__BLOCK_AGREES(BCSR))
#undef SPMV__BLOCK_AGREES
};

/* The array of a format that holds the first columns of its blocks. */
static int spmv__block_col(const spmv_part *p)
{
    if (p->spec.format == SPMV_BELL) return SPMV_BELL_COL;
    return p->spec.format == SPMV_SBELL ? (int)SPMV_SBELL_COL : (int)SPMV_BCSR_COL;
}

/* The array that holds the bases of 16-bit columns. */
static int spmv__block_base(const spmv_part *p) { return spmv__block_col(p) + 1; }

/* The array that holds pointers, to slices in sbell and to block rows in bcsr. bell has none. */
static int spmv__block_ptr(const spmv_part *p) { return p->spec.format == SPMV_SBELL ? (int)SPMV_SBELL_PTR : (int)SPMV_BCSR_PTR; }

/* Block rows that share a base: those of a slice in sbell, 32 in the others. */
static uint64_t spmv__block_group_height(const spmv_part *p) { return p->spec.format == SPMV_SBELL ? p->n[SPMV_SBELL_H] : 32; }
static uint64_t spmv__block_group(const spmv_part *p, uint64_t block_row) { return block_row / spmv__block_group_height(p); }

/* Slots from the column of a block to that of the next block in the same block row. */
SPMV__SHARED uint64_t spmv__block_distance(const spmv_part *p)
{
    if (p->spec.format == SPMV_BELL) return p->n[SPMV_BELL_LD];
    return p->spec.format == SPMV_SBELL ? p->n[SPMV_SBELL_H] : 1;
}

/* Units in a block. */
static uint64_t spmv__block_units(const spmv_part *p) { return p->n[SPMV_BLOCK_BH] * p->n[SPMV_BLOCK_BW] / p->n[SPMV_BLOCK_UW]; }

/* Where the k-th block of a block row lies. */
static spmv__block spmv__block_at(const spmv_part *p, uint64_t block_row, uint64_t k)
{
    spmv__block b;
    uint64_t uw = p->n[SPMV_BLOCK_UW], units = spmv__block_units(p), h, first, i;
    switch (p->spec.format) {
    case SPMV_BELL:
        b.col = k * p->n[SPMV_BELL_LD] + block_row;
        b.val = (k * units * p->n[SPMV_BELL_LD] + block_row) * uw;
        b.step = p->n[SPMV_BELL_LD] * uw;
        break;
    case SPMV_SBELL:
        h = p->n[SPMV_SBELL_H];
        first = spmv__at(&p->a[SPMV_SBELL_PTR], block_row / h);
        i = block_row % h;
        b.col = first + k * h + i;
        b.val = (first * units + k * units * h + i) * uw;
        b.step = h * uw;
        break;
    default:
        b.col = spmv__at(&p->a[SPMV_BCSR_PTR], block_row) + k;
        b.val = b.col * uw;
        b.step = p->n[SPMV_BCSR_BLOCKS] * uw;
    }
    return b;
}

/* The first column of the block in a slot of the block row, SPMV_PAD for padding. */
static uint32_t spmv__block_column(const spmv_part *p, uint64_t block_row, uint64_t slot)
{
    const spmv_array *col = &p->a[spmv__block_col(p)], *base = &p->a[spmv__block_base(p)];
    return spmv__column_at(col, base, slot, spmv__block_group(p, block_row), p->n[SPMV_BLOCK_BW]);
}

/* The blocks that are stored for a block row, including padding. */
static uint64_t spmv__block_count(const spmv_part *p, uint64_t block_row)
{
    const spmv_array *ptr = &p->a[spmv__block_ptr(p)];
    uint64_t t;
    if (p->spec.format == SPMV_BELL) return p->n[SPMV_BELL_WIDTH];
    if (p->spec.format == SPMV_BCSR) return spmv__at(ptr, block_row + 1) - spmv__at(ptr, block_row);
    t = block_row / p->n[SPMV_SBELL_H];
    return (spmv__at(ptr, t + 1) - spmv__at(ptr, t)) / p->n[SPMV_SBELL_H];
}

static uint64_t spmv__block_rows(const spmv_part *p) { return spmv__ceil_div(p->rows, p->n[SPMV_BLOCK_BH]); }

/* What the shares of spmv__block_size find. */
typedef struct spmv__block_counts {
    const spmv_part    *p;
    const spmv__source *s;
    uint64_t            shares, most[SPMV__MOST_SHARES], all[SPMV__MOST_SHARES], sliced[SPMV__MOST_SHARES];
    int                 fits[SPMV__MOST_SHARES];
} spmv__block_counts;

/* The rows of the matrix in a block row, fewer at its end. */
static uint64_t spmv__block_row_height(const spmv_part *p, uint64_t block_row)
{
    const uint64_t bh = p->n[SPMV_BLOCK_BH], first = block_row * bh;
    return first < p->rows ? spmv__smaller(p->rows - first, bh) : 0;
}

/* Counts the blocks of one block row. */
static uint64_t spmv__block_row_count(const spmv_part *p, const spmv__source *s, spmv__block_set *set, uint64_t block_row)
{
    const uint64_t bh = p->n[SPMV_BLOCK_BH];
    return spmv__set_count(set, s->v, block_row * bh, spmv__block_row_height(p, block_row), p->n[SPMV_BLOCK_BW]);
}

/* 1 if the block columns of block rows first .. end - 1 fit 16 bits. */
static int spmv__block_rows_fit(const spmv_part *p, const spmv__source *s, uint64_t first, uint64_t end)
{
    const uint64_t bh = p->n[SPMV_BLOCK_BH], bw = p->n[SPMV_BLOCK_BW];
    uint64_t low = UINT64_MAX, high = 0, i;
    if (!s->counted) {
        spmv__span(s, first * bh, spmv__smaller(end * bh, p->rows), &low, &high);
        return low > high || spmv__span_fits(low / bw, high / bw);
    }
    for (i = first; i < end; i++) {
        if (s->spans[i] < low) low = s->spans[i];
        if (s->spans[spmv__block_rows(p) + i] > high) high = s->spans[spmv__block_rows(p) + i];
    }
    return spmv__span_fits(low, high);
}

/* Counts the blocks of a share as all three formats need them: of each block row, in total, the most in a block row, and for sbell, summed
 * over the slices, the most in a block row times the height. */
static void spmv__block_count_share(void *job, uint64_t share, size_t thread)
{
    spmv__block_counts *c = (spmv__block_counts *)job;
    const spmv_part *p = c->p;
    const uint64_t bh = p->n[SPMV_BLOCK_BH], per = spmv__block_group_height(p);
    const uint64_t stop = spmv__ceil_div(spmv__share_first(c->s, share + 1, c->shares), bh);
    const uint64_t first = spmv__share_first(c->s, share, c->shares);
    spmv__block_set set;
    uint64_t row = spmv__ceil_div(first, bh), end, i, most = 0, all = 0, sliced = 0;
    int fits = p->spec.key[SPMV_KEY_IDX] == 16;
    memset(&set, 0, sizeof set);
    if (!c->s->counted) set = c->s->sets[thread]; /* a copy: no two threads write to one cache line */
    for (; row < stop; row = end) {
        uint64_t group = 0; /* the most in a block row of the group */
        end = spmv__smaller(row + per, stop);
        for (i = row; i < end; i++) {
            const uint64_t n = c->s->counted ? c->s->blocks[i] : spmv__block_row_count(p, c->s, &set, i);
            c->s->blocks[i] = (uint32_t)n;
            all += n;
            if (n > group) group = n;
        }
        if (group > most) most = group;
        fits = fits && spmv__block_rows_fit(p, c->s, row, end);
        sliced = spmv__sat_add(sliced, spmv__sat_mul(group, per));
    }
    c->most[share] = most;
    c->all[share] = all;
    c->sliced[share] = sliced;
    c->fits[share] = fits;
}

/* Makes what the host counts and fills blocks with. */
static spmv_status spmv__block_sets(const spmv_part *p, spmv__source *s)
{
    uint64_t threads = s->threads;
    const spmv_status status = spmv__sets_make(&s->sets, s->v->a, p->n[SPMV_BLOCK_BH], p->n[SPMV_BLOCK_BW], &threads, s->h);
    s->threads = (uint8_t)threads;
    return status;
}

/* Sets what describes a block, where shares may begin, and room for the number of blocks of each block row. A converter may count them. */
static spmv_status spmv__block_begin(spmv_part *p, spmv__source *s)
{
    void *blocks;
    spmv_status status;
    uint64_t bw = (uint64_t)spmv__block_width(&p->spec);
    p->n[SPMV_BLOCK_BH] = (uint64_t)spmv__block_height(&p->spec);
    p->n[SPMV_BLOCK_BW] = bw;
    p->n[SPMV_BLOCK_UW] = bw % 4 == 0 ? 4 : bw % 2 == 0 ? 2 : 3;
    if (p->spec.format == SPMV_SBELL) p->n[SPMV_SBELL_H] = spmv__height(&p->spec);
    s->grain = p->n[SPMV_BLOCK_BH] * spmv__block_group_height(p);
    status = spmv__room(s->h, &blocks, spmv__block_rows(p), sizeof *s->blocks);
    s->blocks = (uint32_t *)blocks;
    s->threads = (uint8_t)spmv__share_threads(spmv__source_shares(s), SPMV__MOST_SHARES);
    if (!status && s->converter && s->converter->blocks) status = s->converter->blocks(s->converter, p, s);
    return status || s->counted ? status : spmv__block_sets(p, s);
}

/* Counts the blocks and sets the sizes of the arrays. */
static spmv_status spmv__block_size(spmv_part *p, spmv__source *s)
{
    spmv__block_counts c;
    uint64_t block_rows, most = 0, all = 0, sliced = 0, blocks, bases, i;
    int fits = 1;
    spmv_status status = spmv__block_begin(p, s);
    if (status) return status;
    block_rows = spmv__block_rows(p);
    c.p = p;
    c.s = s;
    c.shares = spmv__source_shares(s);
    spmv__share_among(spmv__block_count_share, &c, c.shares, s->threads);
    for (i = 0; i < c.shares; i++) {
        if (c.most[i] > most) most = c.most[i];
        all += c.all[i];
        sliced = spmv__sat_add(sliced, c.sliced[i]);
        fits = fits && c.fits[i];
    }
    if (p->spec.format == SPMV_BELL) {
        p->n[SPMV_BELL_WIDTH] = most;
        p->n[SPMV_BELL_LD] = spmv__leading(block_rows);
        blocks = spmv__sat_mul(most, p->n[SPMV_BELL_LD]);
        bases = p->n[SPMV_BELL_LD] / 32;
    } else if (p->spec.format == SPMV_SBELL) {
        p->n[SPMV_SBELL_SLICES] = spmv__ceil_div(block_rows, p->n[SPMV_SBELL_H]);
        blocks = sliced;
        bases = p->n[SPMV_SBELL_SLICES];
        spmv__want_offsets(&p->a[SPMV_SBELL_PTR], p->n[SPMV_SBELL_SLICES] + 1, blocks);
    } else {
        p->n[SPMV_BCSR_BLOCKS] = blocks = all;
        bases = spmv__ceil_div(block_rows, 32);
        spmv__want_offsets(&p->a[SPMV_BCSR_PTR], block_rows + 1, blocks);
    }
    spmv__want_columns(p, &p->a[spmv__block_col(p)], &p->a[spmv__block_base(p)], blocks, bases, fits);
    spmv__want(&p->a[SPMV_VAL], spmv__sat_mul(blocks, p->n[SPMV_BLOCK_BH] * p->n[SPMV_BLOCK_BW]), p->a[SPMV_VAL].width);
    return SPMV_OK;
}

/* Counts the slots that hold no blocks as padding. */
SPMV__SHARED void spmv__block_padding(const spmv_block_features *b, spmv__load *out)
{
    double held = b->blocks * (double)(b->bh * b->bw);
    out->skipped = out->slots > held ? out->slots - held : 0;
}

/* The estimate of bcsr, which has no padding; the other two start from it. */
static spmv_status spmv__block_estimate(const spmv_spec *spec, const spmv__look *l, const spmv_features *f, spmv__load *out)
{
    const spmv_block_features *b = spmv__features_of_block(f, spec);
    if (!b || b->sampled <= 0) return SPMV_ERR_UNSUPPORTED;
    out->slots = b->blocks * (double)(b->bh * b->bw);
    out->longest = b->widest * (double)b->bw;
    out->gather /= (double)b->bw;
    out->uneven = f->uneven;
    return spmv__estimate_columns(spec, l, 32 * (uint64_t)b->bh);
}

#ifndef SPMV_NO_BELL
static spmv_status spmv__bell_estimate(const spmv_spec *spec, const spmv__look *l, const spmv_features *f, spmv__load *out)
{
    spmv_status s = spmv__block_estimate(spec, l, f, out);
    if (s) return s;
    out->slots = out->longest * (double)f->rows;
    spmv__block_padding(spmv__features_of_block(f, spec), out);
    return SPMV_OK;
}
#endif

#ifndef SPMV_NO_SBELL
static spmv_status spmv__sbell_estimate(const spmv_spec *spec, const spmv__look *l, const spmv_features *f, spmv__load *out)
{
    const spmv_block_features *b = spmv__features_of_block(f, spec);
    spmv_status s = spmv__block_estimate(spec, l, f, out);
    if (s) return s;
    out->slots = b->slots;
    spmv__block_padding(b, out);
    return SPMV_OK;
}
#endif

#ifndef SPMV_NO_BCSR
static spmv_status spmv__bcsr_estimate(const spmv_spec *spec, const spmv__look *l, const spmv_features *f, spmv__load *out)
{
    return spmv__block_estimate(spec, l, f, out);
}
#endif

/* Makes the slots of a slice of sbell, or those of as many block rows of bell, hold no nonzeros. */
static void spmv__block_clear_slice(const spmv_part *p, const spmv__sink *to, uint64_t block_row)
{
    const uint64_t uw = p->n[SPMV_BLOCK_UW], units = spmv__block_units(p), h = spmv__block_group_height(p);
    const uint64_t blocks = spmv__block_count(p, block_row), ld = p->n[SPMV_BELL_LD];
    uint64_t u;
    if (p->spec.format == SPMV_SBELL) spmv__clear(to, spmv__block_at(p, block_row, 0).val, blocks * units * h * uw);
    else
        for (u = 0; u < blocks * units; u++) spmv__clear(to, (u * ld + block_row) * uw, h * uw);
}

/* Makes the slots of a block row of bcsr hold no nonzeros: each unit of its blocks has a stretch of them. */
static void spmv__block_clear_row(const spmv_part *p, const spmv__sink *to, uint64_t block_row)
{
    const uint64_t uw = p->n[SPMV_BLOCK_UW], units = spmv__block_units(p), blocks = spmv__block_count(p, block_row);
    const spmv__block b = spmv__block_at(p, block_row, 0);
    uint64_t u;
    for (u = 0; u < units; u++) spmv__clear(to, b.val + u * b.step, blocks * uw);
}

/* Where the values of a block row go: a value of block number n, row i and column j of the block goes to slot
 * val + n * apart + i * row + unit[j]. */
typedef struct spmv__block_places {
    uint64_t val, apart, row, unit[SPMV__BLOCK_SIDE];
    uint64_t step; /* slots from one unit of a row to the next */
} spmv__block_places;

/* 1 if some bytes, 4 or 8 of them, are a zero value with either sign. */
SPMV__INLINE uint64_t spmv__zero_at(const unsigned char *value, size_t bytes)
{
    uint64_t d;
    uint32_t f;
    if (bytes == 8) {
        memcpy(&d, value, 8);
        return (uint64_t)(d << 1 == 0);
    }
    memcpy(&f, value, 4);
    return (uint64_t)(f << 1 == 0);
}

/* Lists the slots of the explicit zeros of a block row with so many rows, from row first on, whose values are in place. */
static void spmv__block_list_zeros(const spmv__source *s, spmv__sink *to, const spmv__block_set *set, uint64_t first, uint64_t rows,
                                   uint64_t bw, const spmv__block_places *at)
{
    const spmv_csr *a = s->v->a;
    const uint32_t width = to->dst->width;
    uint64_t i, k;
    for (i = 0; i < rows; i++)
        for (k = a->ptr[first + i]; k < a->ptr[first + i + 1]; k++) {
            uint32_t block = spmv__set_block(set, a->col[k]);
            uint64_t slot;
            if (!spmv__is_zero(to->src + k * width, width) || !spmv__mine(s->v, k)) continue;
            slot = at->val + i * at->row + spmv__set_number(set, block) * at->apart + at->unit[a->col[k] - block * bw];
            to->zeros[to->zero_count++] = slot;
        }
}

/* Is any value of so many rows of the matrix, from row first on, an explicit zero? */
static int spmv__block_has_zeros(const spmv__source *s, const spmv__sink *to, uint64_t first, uint64_t rows)
{
    const uint64_t *ptr = s->v->a->ptr;
    uint64_t k, any = 0, end = ptr[first + rows];
    if (to->dst->width == 8)
        for (k = ptr[first]; k < end; k++) any |= spmv__zero_at(to->src + k * 8, 8);
    else
        for (k = ptr[first]; k < end; k++) any |= spmv__zero_at(to->src + k * 4, 4);
    return any != 0;
}

/* Puts the nonzeros of a row into the blocks of their set, and counts the zeros among them. They have so many bytes each; first: the slot
 * of the row in the first block. */
SPMV__INLINE void spmv__block_store(spmv__sink *to, const spmv__source *s, const spmv__block_set *set, uint64_t row, uint64_t bw,
                                    uint64_t first, const spmv__block_places *at, size_t bytes)
{
    const spmv_csr *a = s->v->a;
    const spmv__block_division by = set->by;
    const unsigned char *src = to->src;
    const uint64_t apart = at->apart, end = a->ptr[row + 1];
    unsigned char *out = (unsigned char *)to->dst->data + first * bytes;
    uint64_t k, zeros = 0;
    for (k = a->ptr[row]; k < end; k++) {
        uint32_t block = spmv__divide_by(by, a->col[k]);
        uint64_t slot = spmv__number_by_bits(set, block) * apart + at->unit[a->col[k] - block * bw];
        memcpy(out + slot * bytes, src + k * bytes, bytes);
        zeros += spmv__zero_at(src + k * bytes, bytes);
    }
    to->zero_count += zeros;
}

/* Puts the nonzeros of so many rows with the same columns, from row first on, into their blocks, which need not be looked up. */
SPMV__INLINE void spmv__block_store_alike(spmv__sink *to, const spmv__source *s, const spmv__block_set *set, uint64_t first,
                                          uint64_t rows, uint64_t bw, const spmv__block_places *at, size_t bytes)
{
    const spmv_csr *a = s->v->a;
    const spmv__block_division by = set->by;
    const uint32_t *col = a->col + a->ptr[first];
    const uint64_t n = a->ptr[first + 1] - a->ptr[first];
    const unsigned char *src = to->src + a->ptr[first] * bytes;
    uint64_t e, i, number = 0, zeros = 0;
    for (e = 0; e < n; e++) {
        uint32_t block = spmv__divide_by(by, col[e]);
        unsigned char *out;
        number += (uint64_t)(block != set->col[number]);
        out = (unsigned char *)to->dst->data + (at->val + number * at->apart + at->unit[col[e] - block * bw]) * bytes;
        for (i = 0; i < rows; i++) {
            memcpy(out + i * at->row * bytes, src + (i * n + e) * bytes, bytes);
            zeros += spmv__zero_at(src + (i * n + e) * bytes, bytes);
        }
    }
    to->zero_count += zeros;
}

/* As spmv__block_store_alike, where the rows fill all blocks of their set: copies whole units, which have so many bytes. */
SPMV__INLINE void spmv__block_store_full(spmv__sink *to, const spmv__source *s, const spmv__block_set *set, uint64_t first, uint64_t rows,
                                         uint64_t units, const spmv__block_places *at, size_t unit, size_t bytes)
{
    const spmv_csr *a = s->v->a;
    const unsigned char *src = to->src + a->ptr[first] * bytes;
    const uint64_t values = set->count * units * rows * (unit / bytes);
    uint64_t i, n, u, zeros = 0;
    for (n = 0; n < values; n++) zeros += spmv__zero_at(src + n * bytes, bytes);
    for (i = 0; i < rows; i++) {
        unsigned char *out = (unsigned char *)to->dst->data + (at->val + i * at->row) * bytes;
        for (n = 0; n < set->count; n++, out += at->apart * bytes)
            for (u = 0; u < units; u++, src += unit) memcpy(out + u * at->step * bytes, src, unit);
    }
    to->zero_count += zeros;
}

/* As spmv__block_store, for what that cannot do: views of some nonzeros, and maps. */
static void spmv__block_put(spmv__sink *to, const spmv__source *s, const spmv__block_set *set, uint64_t row, uint64_t bw, uint64_t first,
                            const spmv__block_places *at)
{
    const spmv_csr *a = s->v->a;
    uint64_t k;
    for (k = a->ptr[row]; k < a->ptr[row + 1]; k++) {
        uint32_t block = spmv__set_block(set, a->col[k]);
        if (spmv__mine(s->v, k))
            spmv__put(to, first + spmv__set_number(set, block) * at->apart + at->unit[a->col[k] - block * bw], k);
    }
}

/* 1 if the rows of the set have the same columns, which fill every block. */
static int spmv__block_is_full(const spmv__block_set *set, const spmv_csr *a, uint64_t first, uint64_t bw)
{
    return set->alike && a->ptr[first + 1] - a->ptr[first] == set->count * bw;
}

/* Puts the nonzeros of so many rows, from row first on, which fill every block of their set, into these blocks. */
static void spmv__block_copy(spmv__sink *to, const spmv__source *s, const spmv__block_set *set, uint64_t first, uint64_t rows, uint64_t bw,
                             uint64_t uw, const spmv__block_places *at)
{
    const uint64_t units = bw / uw;
    if (to->dst->width == 8) {
        if (uw == 2) spmv__block_store_full(to, s, set, first, rows, units, at, 16, 8);
        else if (uw == 3) spmv__block_store_full(to, s, set, first, rows, units, at, 24, 8);
        else spmv__block_store_full(to, s, set, first, rows, units, at, 32, 8);
    } else {
        if (uw == 2) spmv__block_store_full(to, s, set, first, rows, units, at, 8, 4);
        else if (uw == 3) spmv__block_store_full(to, s, set, first, rows, units, at, 12, 4);
        else spmv__block_store_full(to, s, set, first, rows, units, at, 16, 4);
    }
}

/* Puts the nonzeros of a block row with so many rows, from row first on, into its blocks. */
static void spmv__block_values(spmv__sink *to, const spmv__source *s, const spmv__block_set *set, uint64_t first, uint64_t rows,
                               uint64_t bw, const spmv__block_places *at)
{
    const int plain = to->src && !s->v->owner, wide = to->dst->width == 8;
    uint64_t i;
    if (plain && set->alike) {
        if (wide) spmv__block_store_alike(to, s, set, first, rows, bw, at, 8);
        else spmv__block_store_alike(to, s, set, first, rows, bw, at, 4);
        return;
    }
    for (i = 0; i < rows; i++) {
        uint64_t val = at->val + i * at->row;
        if (!plain || !set->word) spmv__block_put(to, s, set, first + i, bw, val, at);
        else if (wide) spmv__block_store(to, s, set, first + i, bw, val, at, 8);
        else spmv__block_store(to, s, set, first + i, bw, val, at, 4);
    }
}

/* Fills the columns of block row block_row, with their padding. */
static void spmv__block_columns(spmv_part *p, const spmv__block_set *set, uint64_t block_row, uint64_t slot)
{
    spmv_array *col = &p->a[spmv__block_col(p)];
    const spmv_array *base = &p->a[spmv__block_base(p)];
    const uint64_t distance = spmv__block_distance(p), stored = spmv__block_count(p, block_row), count = set->count;
    const uint32_t *from = set->col, bw = (uint32_t)p->n[SPMV_BLOCK_BW];
    uint64_t i;
    if (base->count) {
        const uint32_t lowest = ((const uint32_t *)base->data)[spmv__block_group(p, block_row)] / bw;
        uint16_t *to = (uint16_t *)col->data + slot;
        for (i = 0; i < count; i++) to[i * distance] = (uint16_t)(from[i] - lowest);
        for (; i < stored; i++) to[i * distance] = SPMV_PAD16;
    } else {
        uint32_t *to = (uint32_t *)col->data + slot;
        for (i = 0; i < count; i++) to[i * distance] = from[i] * bw;
        for (; i < stored; i++) to[i * distance] = SPMV_PAD;
    }
}

/* Sets what the places of all block rows have in common. */
static void spmv__block_places_of(spmv__block_places *at, const spmv_part *p)
{
    const uint64_t bw = p->n[SPMV_BLOCK_BW], uw = p->n[SPMV_BLOCK_UW];
    uint64_t i;
    memset(at, 0, sizeof *at);
    if (!p->a[SPMV_VAL].count) return; /* no blocks, and so no places */
    at->step = spmv__block_at(p, 0, 0).step;
    at->apart = spmv__block_at(p, 0, 1).val - spmv__block_at(p, 0, 0).val;
    at->row = bw / uw * at->step;
    for (i = 0; i < bw; i++) at->unit[i] = i / uw * at->step + i % uw;
}

/* Fills block row block_row: the columns of its blocks, and their values. In bell and sbell the slots of its slice hold no nonzeros so
 * far. In the second pass over formats with fill, which lists explicit zeros, only these are looked for. at->val is changed. */
static void spmv__block_fill_row(spmv_part *p, const spmv__source *s, spmv__sink *to, spmv__block_set *set, spmv__block_places *at,
                                 uint64_t block_row)
{
    const uint64_t bh = p->n[SPMV_BLOCK_BH], bw = p->n[SPMV_BLOCK_BW], first = block_row * bh;
    const uint64_t rows = spmv__block_row_height(p, block_row);
    const spmv__block begin = spmv__block_at(p, block_row, 0);
    int full;
    if (to->zeros && !(rows && spmv__block_has_zeros(s, to, first, rows))) return;
    spmv__set_collect(set, s->v, first, rows, bw);
    at->val = begin.val;
    if (to->zeros) spmv__block_list_zeros(s, to, set, first, rows, bw, at);
    else {
        full = to->src && spmv__block_is_full(set, s->v->a, first, bw);
        spmv__block_columns(p, set, block_row, begin.col);
        if (p->spec.format == SPMV_BCSR && !(full && rows == bh)) spmv__block_clear_row(p, to, block_row);
        if (full) spmv__block_copy(to, s, set, first, rows, bw, p->n[SPMV_BLOCK_UW], at);
        else spmv__block_values(to, s, set, first, rows, bw, at);
    }
    spmv__set_clear(set);
}

/* Fills the base of a group of block rows: its lowest column, rounded down to a whole block. */
static void spmv__block_fill_base(spmv_part *p, const spmv__source *s, uint64_t group)
{
    uint64_t low, high, rows = p->n[SPMV_BLOCK_BH] * spmv__block_group_height(p);
    spmv__span(s, spmv__smaller(group * rows, p->rows), spmv__smaller((group + 1) * rows, p->rows), &low, &high);
    ((uint32_t *)p->a[spmv__block_base(p)].data)[group] = low > high ? 0 : (uint32_t)(low - low % p->n[SPMV_BLOCK_BW]);
}

/* Fills the pointers, to slices in sbell and to block rows in bcsr, from the numbers of blocks. */
static void spmv__block_lay(spmv_part *p, spmv__source *s)
{
    const uint64_t block_rows = spmv__block_rows(p);
    uint64_t row = 0, t, sum = 0;
    spmv_array *ptr = &p->a[spmv__block_ptr(p)];
    if (p->spec.format == SPMV_BCSR) spmv__offsets_from(ptr, s->blocks, 1);
    if (p->spec.format != SPMV_SBELL) return;
    for (t = 0; t < p->n[SPMV_SBELL_SLICES]; t++) {
        const uint64_t end = spmv__smaller(row + p->n[SPMV_SBELL_H], block_rows);
        uint64_t most = 0;
        for (; row < end; row++)
            if (s->blocks[row] > most) most = s->blocks[row];
        spmv__set(ptr, t, sum);
        sum += most * p->n[SPMV_SBELL_H];
    }
    spmv__set(ptr, t, sum);
}

/* Fills the block rows of rows first .. end - 1, which begin with a group that shares a base, and after the last one the padding that
 * bell and sbell have in the place of further block rows. */
static void spmv__block_fill(spmv_part *p, const spmv__source *s, spmv__sink *to, uint64_t first, uint64_t end)
{
    const uint64_t bh = p->n[SPMV_BLOCK_BH], h = spmv__block_group_height(p), bases = p->a[spmv__block_base(p)].count;
    spmv__block_set set = s->sets[to->thread]; /* a copy: no two threads write to one cache line */
    uint64_t row, stop = spmv__ceil_div(end, bh);
    spmv__block_places at;
    spmv__block_places_of(&at, p);
    if (end == p->rows && p->spec.format == SPMV_SBELL) stop = spmv__round_up(stop, h);
    if (end == p->rows && p->spec.format == SPMV_BELL) stop = p->n[SPMV_BELL_LD];
    for (row = first / bh; row < stop; row++) {
        if (row % h == 0 && row / h < bases && !to->zeros) spmv__block_fill_base(p, s, row / h);
        if (row % h == 0 && p->spec.format != SPMV_BCSR && !to->zeros) spmv__block_clear_slice(p, to, row);
        spmv__block_fill_row(p, s, to, &set, &at, row);
    }
}

/* Visits the elements of all blocks that lie within the matrix. */
static void spmv__block_each(const spmv_part *p, spmv__visit visit, void *user)
{
    uint64_t block_row, k, i, j, bh = p->n[SPMV_BLOCK_BH], bw = p->n[SPMV_BLOCK_BW], uw = p->n[SPMV_BLOCK_UW];
    for (block_row = 0; block_row < spmv__block_rows(p); block_row++)
        for (k = 0; k < spmv__block_count(p, block_row); k++) {
            spmv__block b = spmv__block_at(p, block_row, k);
            uint32_t c = spmv__block_column(p, block_row, b.col);
            if (c == SPMV_PAD) continue;
            for (i = 0; i < bh && block_row * bh + i < p->rows; i++)
                for (j = 0; j < bw && c + j < p->cols; j++)
                    visit(user, block_row * bh + i, c + j, b.val + (i * bw + j) / uw * b.step + j % uw);
        }
}

/* The three formats share these functions; the table needs each under the format's own name. */
#define spmv__bell_size  spmv__block_size
#define spmv__bell_lay   spmv__block_lay
#define spmv__bell_fill  spmv__block_fill
#define spmv__bell_each  spmv__block_each
#define spmv__sbell_size spmv__block_size
#define spmv__sbell_lay  spmv__block_lay
#define spmv__sbell_fill spmv__block_fill
#define spmv__sbell_each spmv__block_each
#define spmv__bcsr_size  spmv__block_size
#define spmv__bcsr_lay   spmv__block_lay
#define spmv__bcsr_fill  spmv__block_fill
#define spmv__bcsr_each  spmv__block_each
#endif

/* ---- cmrs (Koza et al. 2013, 3 and 4) ---------------------------------------------------------------------------- */
#if defined(SPMV_NO_CMRS) || !(SPMV__ONLY & SPMV_BIT_CMRS)
#undef SPMV_NO_CMRS
#define SPMV_NO_CMRS
#define SPMV__BUILT_CMRS 0
#else
#define SPMV__BUILT_CMRS 1
#endif

/* Where CMRS is worth an estimate. Koza et al. would "use the CMRS format for matrices with mu > 70 and test its efficiency against the
 * HYB format for 20 < mu < 70" (5.4), and "as long as sigma < mu, the HYB format should be used if sigma < 1.5 and the CMRS is more
 * efficient for sigma > 3. Matrices for which sigma > mu are 'atypical' [...] for which the HYB format is preferable" (5.4; between 1.5
 * and 3 either may be, 6). That it is tried where only one of the two sentences speaks for it is our own addition. */
static int spmv__cmrs_suits(const spmv_features *f)
{
    const double long_rows = 20, uneven = 1.5; /* mu in nonzeros, sigma without a unit */
    return f->sigma <= f->mean && (f->mean > long_rows || f->sigma > uneven);
}

static const spmv__traits spmv__cmrs_traits = {
    SPMV__LISTS | SPMV__KEY(H) | SPMV__KEY(SORT) | SPMV__KEY(WIDE), /* keys */
    SPMV_CAN_LIST | SPMV_LONG_ROWS,                                 /* flags */
    SPMV_CLASS_FLAT,                                                /* class */
    1,                                                              /* indices */
    0,                                                              /* even */
    SPMV__PADS_NONE, SPMV__LANES_BY_LENGTH,                         /* pads, lanes */
    spmv__cmrs_suits                                                /* suits */
};

static const char *const spmv__cmrs_layouts[] = {
    "cmrs",
    "cmrs:h=2",
    "cmrs:h=8",
    "cmrs:h=16"
};

#ifndef SPMV_NO_CMRS
/* Column and row are packed into 32 bits if 28 of them hold any column, unless the key wide forbids it. */
static spmv_status spmv__cmrs_size(spmv_part *p, spmv__source *s)
{
    uint64_t strips, i, most = 0;
    void *block;
    spmv_status status;
    p->n[SPMV_CMRS_HEIGHT] = spmv__height(&p->spec);
    p->n[SPMV_CMRS_PACKED] = p->cols <= (1u << 28) && !p->spec.key[SPMV_KEY_WIDE];
    strips = spmv__ceil_div(p->rows, p->n[SPMV_CMRS_HEIGHT]);
    for (i = 0; i < strips; i++) {
        uint64_t end = (i + 1) * p->n[SPMV_CMRS_HEIGHT] < p->rows ? (i + 1) * p->n[SPMV_CMRS_HEIGHT] : p->rows;
        if (s->ptr[end] - s->ptr[i * p->n[SPMV_CMRS_HEIGHT]] > most) most = s->ptr[end] - s->ptr[i * p->n[SPMV_CMRS_HEIGHT]];
    }
    spmv__want(&p->a[SPMV_VAL], p->nnz, p->a[SPMV_VAL].width);
    spmv__want_offsets(&p->a[SPMV_CMRS_PTR], strips + 1, p->nnz);
    spmv__want(&p->a[SPMV_CMRS_INDEX], p->nnz, 4);
    spmv__want(&p->a[SPMV_CMRS_ROW], p->n[SPMV_CMRS_PACKED] ? 0 : p->nnz, 1);
    s->grain = p->n[SPMV_CMRS_HEIGHT];
    if (!p->spec.key[SPMV_KEY_SORT]) return SPMV_OK;
    s->strip = most;
    s->threads = (uint8_t)spmv__share_threads(spmv__source_shares(s), SPMV__MOST_SHARES);
    while (s->threads > 1 && s->threads * most * sizeof *s->seen > p->nnz) s->threads--; /* a twelfth of the CSR form, or one */
    status = spmv__room(s->h, &block, s->threads, most * sizeof *s->seen);
    s->seen = (spmv__pair *)block;
    return status;
}

static spmv_status spmv__cmrs_estimate(const spmv_spec *spec, const spmv__look *l, const spmv_features *f, spmv__load *out)
{
    (void)spec;
    (void)l;
    return spmv__estimate_entries(f, out);
}

static void spmv__cmrs_lay(spmv_part *p, spmv__source *s)
{
    uint64_t height = p->n[SPMV_CMRS_HEIGHT], t;
    for (t = 0; t < p->a[SPMV_CMRS_PTR].count; t++) spmv__set(&p->a[SPMV_CMRS_PTR], t, s->ptr[spmv__smaller(t * height, p->rows)]);
}

/* Writes the entry in a slot: a nonzero's column and its row within the strip. */
SPMV__SHARED void spmv__cmrs_entry(spmv_part *p, uint64_t slot, uint64_t column, uint64_t row)
{
    ((uint32_t *)p->a[SPMV_CMRS_INDEX].data)[slot] = (uint32_t)(p->n[SPMV_CMRS_PACKED] ? column << 4 | row : column);
    if (!p->n[SPMV_CMRS_PACKED]) ((uint8_t *)p->a[SPMV_CMRS_ROW].data)[slot] = (uint8_t)row;
}

/* Fills rows first .. stop - 1 of one strip by rising column: the entries are collected as column * 16 + row, the key to sort them by. */
static void spmv__cmrs_fill_sorted(spmv_part *p, const spmv__source *s, spmv__sink *to, uint64_t first, uint64_t stop)
{
    spmv__pair *seen = s->seen + (uint64_t)to->thread * s->strip;
    uint64_t i, k, n = 0, slot = s->ptr[first];
    for (i = first; i < stop; i++) {
        uint64_t r = spmv__source_row(s, i);
        for (k = s->v->a->ptr[r]; k < s->v->a->ptr[r + 1]; k++)
            if (spmv__mine(s->v, k)) {
                seen[n].key = (uint64_t)s->v->a->col[k] << 4 | (i - first);
                seen[n++].load = k;
            }
    }
    spmv__sort(seen, n);
    for (i = 0; i < n; i++, slot++) {
        spmv__cmrs_entry(p, slot, seen[i].key >> 4, seen[i].key & 15);
        spmv__put(to, slot, seen[i].load);
    }
}

/* Fills the strips of rows first .. stop - 1. */
static void spmv__cmrs_fill(spmv_part *p, const spmv__source *s, spmv__sink *to, uint64_t first, uint64_t stop)
{
    const uint64_t height = p->n[SPMV_CMRS_HEIGHT];
    uint64_t i, k, slot = s->ptr[first];
    if (p->spec.key[SPMV_KEY_SORT]) {
        for (i = first; i < stop; i += height) spmv__cmrs_fill_sorted(p, s, to, i, spmv__smaller(i + height, stop));
        return;
    }
    for (i = first; i < stop; i++) {
        const uint64_t r = spmv__source_row(s, i), row = i % height, begin = s->v->a->ptr[r], end = s->v->a->ptr[r + 1];
        if (!s->v->owner) {
            for (k = begin; k < end; k++) spmv__cmrs_entry(p, slot + k - begin, s->v->a->col[k], row);
            spmv__put_all(to, slot, begin, end - begin);
            slot += end - begin;
            continue;
        }
        for (k = begin; k < end; k++)
            if (spmv__mine(s->v, k)) {
                spmv__cmrs_entry(p, slot, s->v->a->col[k], row);
                spmv__put(to, slot++, k);
            }
    }
}

static void spmv__cmrs_each(const spmv_part *p, spmv__visit visit, void *user)
{
    const uint32_t *index = (const uint32_t *)p->a[SPMV_CMRS_INDEX].data;
    const uint8_t *row = (const uint8_t *)p->a[SPMV_CMRS_ROW].data;
    const uint64_t height = p->n[SPMV_CMRS_HEIGHT], packed = p->n[SPMV_CMRS_PACKED];
    uint64_t t, k;
    for (t = 0; t < spmv__ceil_div(p->rows, height); t++)
        for (k = spmv__at(&p->a[SPMV_CMRS_PTR], t); k < spmv__at(&p->a[SPMV_CMRS_PTR], t + 1); k++)
            visit(user, t * height + (packed ? index[k] & 15 : row[k]), packed ? index[k] >> 4 : index[k], k);
}
#endif

/* Entry r of an array of 32-bit or 64-bit pointers. */
static uint64_t spmv__ptr_get(const void *ptr, int bits, uint64_t r)
{
    return bits == 64 ? ((const uint64_t *)ptr)[r] : ((const uint32_t *)ptr)[r];
}

static void spmv__ptr_set(void *ptr, int bits, uint64_t r, uint64_t v)
{
    if (bits == 64) ((uint64_t *)ptr)[r] = v;
    else ((uint32_t *)ptr)[r] = (uint32_t)v;
}

/* 1 if the height of a strip and the size of a pointer are possible. */
static int spmv__cmrs_height_ok(int h, int bits)
{
    return (h == 1 || h == 2 || h == 4 || h == 8 || h == 16) && (bits == 32 || bits == 64);
}

/* 1 if pointers 0 to n begin with 0 and never fall. */
static int spmv__ptr_rises(const void *ptr, int bits, uint64_t n)
{
    uint64_t r;
    if (spmv__ptr_get(ptr, bits, 0)) return 0;
    for (r = 0; r < n; r++)
        if (spmv__ptr_get(ptr, bits, r) > spmv__ptr_get(ptr, bits, r + 1)) return 0;
    return 1;
}

/* Packs the columns first, while the row pointers are still there, then overwrites these with strip pointers. */
SPMV_API spmv_status spmv_csr_to_cmrs(uint64_t rows, int height, void *ptr, int ptr_bits, uint32_t *col)
{
    uint64_t h = (uint64_t)height, r, k, strips;
    if (!spmv__cmrs_height_ok(height, ptr_bits)) return SPMV_ERR_ARGUMENT;
    if (rows && (!ptr || (!col && spmv__ptr_get(ptr, ptr_bits, rows))))
        return spmv__null(NULL, "spmv_csr_to_cmrs", ptr ? "col" : "ptr", NULL, 0);
    if (rows && !spmv__ptr_rises(ptr, ptr_bits, rows)) return SPMV_ERR_INDEX;
    for (k = 0; rows && k < spmv__ptr_get(ptr, ptr_bits, rows); k++)
        if (col[k] >> 28) return SPMV_ERR_OVERFLOW;
    strips = spmv__ceil_div(rows, h);
    for (r = 0; r < rows; r++)
        for (k = spmv__ptr_get(ptr, ptr_bits, r); k < spmv__ptr_get(ptr, ptr_bits, r + 1); k++)
            col[k] = col[k] << 4 | (uint32_t)(r % h);
    for (r = 1; r <= strips; r++)
        spmv__ptr_set(ptr, ptr_bits, r, spmv__ptr_get(ptr, ptr_bits, r * h < rows ? r * h : rows));
    return SPMV_OK;
}

/* 1 if the rows of each strip follow one another, as spmv_csr_to_cmrs leaves them. */
static int spmv__cmrs_grouped(uint64_t rows, uint64_t h, const void *ptr, int bits, const uint32_t *col)
{
    uint64_t t, k;
    for (t = 0; t < spmv__ceil_div(rows, h); t++) {
        uint64_t n = rows - t * h < h ? rows - t * h : h, last = 0;
        for (k = spmv__ptr_get(ptr, bits, t); k < spmv__ptr_get(ptr, bits, t + 1); k++) {
            if ((col[k] & 15) >= n || (col[k] & 15) < last) return 0;
            last = col[k] & 15;
        }
    }
    return 1;
}

/* Works backwards from the last strip, so that row pointers overwrite only strip pointers that are no longer needed. */
SPMV_API spmv_status spmv_cmrs_to_csr(uint64_t rows, int height, void *ptr, int ptr_bits, uint32_t *col)
{
    uint64_t h = (uint64_t)height, t, i, k, strips;
    if (!spmv__cmrs_height_ok(height, ptr_bits)) return SPMV_ERR_ARGUMENT;
    strips = spmv__ceil_div(rows, h);
    if (rows && (!ptr || (!col && spmv__ptr_get(ptr, ptr_bits, strips))))
        return spmv__null(NULL, "spmv_cmrs_to_csr", ptr ? "col" : "ptr", NULL, 0);
    if (rows && !spmv__ptr_rises(ptr, ptr_bits, strips)) return SPMV_ERR_INDEX;
    if (!spmv__cmrs_grouped(rows, h, ptr, ptr_bits, col)) return SPMV_ERR_ARGUMENT;
    for (t = strips; t--;) {
        uint64_t first = spmv__ptr_get(ptr, ptr_bits, t), end = spmv__ptr_get(ptr, ptr_bits, t + 1), count[17];
        memset(count, 0, sizeof count);
        for (k = first; k < end; k++) {
            count[(col[k] & 15) + 1]++;
            col[k] >>= 4;
        }
        for (i = 0; i < 16; i++) count[i + 1] += count[i];
        for (i = rows - t * h < h ? rows - t * h : h; i; i--) spmv__ptr_set(ptr, ptr_bits, t * h + i, first + count[i]);
    }
    return SPMV_OK;
}

/* ---- tcsr -------------------------------------------------------------------------------------------------------- */
#if defined(SPMV_NO_TCSR) || !(SPMV__ONLY & SPMV_BIT_TCSR)
#undef SPMV_NO_TCSR
#define SPMV_NO_TCSR
#define SPMV__BUILT_TCSR 0
#else
#define SPMV__BUILT_TCSR 1
#endif

static const spmv__traits spmv__tcsr_traits = {
    SPMV__LISTS | SPMV__KEY(TILE) | SPMV__KEY(IDX), /* keys */
    SPMV_CAN_LIST | SPMV_LONG_ROWS,                 /* flags */
    SPMV_CLASS_FLAT,                                /* class */
    1,                                              /* indices */
    SPMV__EVEN,                                     /* even */
    SPMV__PADS_NONE, SPMV__LANES_ONE,               /* pads, lanes */
    NULL                                            /* suits */
};

static const char *const spmv__tcsr_layouts[] = {
    "tcsr",
    "tcsr:tile=2048",
    "tcsr:idx=16",
    "tcsr:tile=2048,idx=16"
};

enum { SPMV__TCSR_WARP = SPMV_TCSR_LANES * SPMV_TCSR_SLOTS /* slots of a warp */ };

/* The row of the part that is the n-th to end. */
SPMV__SHARED uint64_t spmv__tcsr_row(const spmv_part *p, uint64_t n)
{
    return p->a[SPMV_TCSR_ROW].count ? ((const uint32_t *)p->a[SPMV_TCSR_ROW].data)[n] : n;
}

/* Rows that end before tile t. */
SPMV__SHARED uint64_t spmv__tcsr_ends(const spmv_part *p, uint64_t t)
{
    return ((const uint32_t *)p->a[SPMV_TCSR_END].data)[t * (p->n[SPMV_TCSR_TILE] / SPMV__TCSR_WARP)];
}

/* Where the 16-bit column of a slot is stored: those of eight slots of a lane are adjacent, so that it loads them together. */
SPMV__SHARED uint64_t spmv__tcsr_place(uint64_t slot)
{
    const uint64_t together = 8, in = slot % SPMV__TCSR_WARP, nth = in / SPMV_TCSR_LANES;
    return slot - in + nth / together * (together * SPMV_TCSR_LANES) + in % SPMV_TCSR_LANES * together + nth % together;
}

/* The high byte of a slot's column; NULL: its warp has none. */
SPMV__SHARED uint8_t *spmv__tcsr_high(const spmv_part *p, uint64_t slot)
{
    const uint32_t *at = (const uint32_t *)p->a[SPMV_TCSR_HIGH_AT].data;
    if (!at) return NULL;
    at += slot / SPMV__TCSR_WARP;
    if (at[0] == at[1]) return NULL;
    return (uint8_t *)p->a[SPMV_TCSR_HIGH].data + (uint64_t)at[0] * SPMV__TCSR_WARP + slot % SPMV_TCSR_LANES * SPMV_TCSR_SLOTS +
           slot % SPMV__TCSR_WARP / SPMV_TCSR_LANES;
}

/* The column in a slot. */
SPMV__SHARED uint32_t spmv__tcsr_column(const spmv_part *p, uint64_t slot)
{
    const uint8_t *high;
    uint32_t c;
    if (!p->a[SPMV_TCSR_BASE].count) return ((const uint32_t *)p->a[SPMV_TCSR_COL].data)[slot];
    c = ((const uint32_t *)p->a[SPMV_TCSR_BASE].data)[slot / SPMV__TCSR_WARP];
    c += ((const uint16_t *)p->a[SPMV_TCSR_COL].data)[spmv__tcsr_place(slot)];
    high = spmv__tcsr_high(p, slot);
    return high ? c + ((uint32_t)*high << 16) : c;
}

#ifndef SPMV_NO_TCSR
enum {
    SPMV__TILE_SLOTS = 4096, /* H200, geometric mean of 20 matrices: 2048 takes 1.02 times as long in f32, 0.99 in f64 */
    SPMV__TCSR_BITS = 23,    /* of columns of 16 bits and a high byte, whose sign bit is 0: the kernel fills up columns with it */
    SPMV__TILE_REST = 16     /* a row is not cut if at most this share of a tile, a 16th, is left; an 8th: no gain on the H200 */
};

SPMV__SHARED uint64_t spmv__tile_slots(const spmv_spec *s)
{
    return s->key[SPMV_KEY_TILE] ? (uint64_t)s->key[SPMV_KEY_TILE] : (uint64_t)SPMV__TILE_SLOTS;
}

/* 1 if all warps shall have high bytes, as nearly all need them: a warp then knows where its own are without reading it first. */
SPMV__SHARED int spmv__tcsr_all_wide(uint64_t wide, uint64_t warps) { return wide && wide * 4 >= warps * 3; }

/* Where a row of length nonzeros begins if the rows before it end at slot at. tile, the slots of a tile, is a power of two. */
SPMV__SHARED uint64_t spmv__tile_slot(uint64_t tile, uint64_t at, uint64_t length)
{
    uint64_t rest = tile - (at & (tile - 1));
    return length > rest && rest * SPMV__TILE_REST <= tile ? at + rest : at;
}

/* 1 if the slots at up to end lie in several tiles. */
SPMV__SHARED int spmv__tile_cuts(uint64_t tile, uint64_t at, uint64_t end) { return (at ^ (end - 1)) >= tile; }

/* The first row from row i on, which begins at slot *at, that does not fit into the rest of its tile; rows if all fit. *at becomes the slot
 * where the rows before it end. Within a tile nothing has to be looked at row by row. */
static uint64_t spmv__tile_full(const uint64_t *ptr, uint64_t rows, uint64_t tile, uint64_t i, uint64_t *at)
{
    const uint64_t full = spmv__tile_row(ptr, i, rows, ptr[i] + tile - (*at & (tile - 1)));
    *at += ptr[full] - ptr[i];
    return full;
}

/* The walk of spmv__tcsr_bases over the slots of a part. */
typedef struct spmv__tcsr_walk {
    uint32_t *base, *high_at; /* where these arrays are written; NULL: nowhere */
    uint64_t  at, wide;       /* slots; warps that have high bytes */
    uint64_t  low, high;      /* of the columns in the warp so far; low > high: there are none */
    int       all;            /* 1: every warp has high bytes, 0: those that need them */
    int       fits;           /* 1: the columns of each warp so far span less than 2^23 */
} spmv__tcsr_walk;

/* Passes count slots of one warp, whose columns lie in low .. high. After the warp's last slot, writes its base. */
static void spmv__tcsr_pass(spmv__tcsr_walk *w, uint64_t count, uint64_t low, uint64_t high)
{
    uint64_t span;
    if (low < w->low) w->low = low;
    if (high > w->high) w->high = high;
    w->at += count;
    if (w->at % SPMV__TCSR_WARP) return;
    span = w->high - w->low;
    w->fits &= span < 1u << SPMV__TCSR_BITS;
    w->wide += (uint64_t)(w->all || span >= 1u << 16);
    if (w->base) *w->base++ = (uint32_t)w->low;
    if (w->high_at) *++w->high_at = (uint32_t)w->wide;
    w->low = UINT64_MAX;
    w->high = 0;
}

/* Passes padding up to slot end, which repeats a column. */
static void spmv__tcsr_pass_padding(spmv__tcsr_walk *w, uint64_t end, uint32_t column)
{
    while (w->at < end) spmv__tcsr_pass(w, spmv__smaller(end - w->at, SPMV__TCSR_WARP - w->at % SPMV__TCSR_WARP), column, column);
}

/* Passes a row, whose nonzeros are among entries k .. end - 1, and returns its last column. In a warp, its first and last nonzero tell the
 * span, as columns rise. */
static uint32_t spmv__tcsr_pass_row(spmv__tcsr_walk *w, const spmv_view *v, uint64_t k, uint64_t length)
{
    uint64_t high = 0;
    while (length) {
        uint64_t low = UINT64_MAX, count = spmv__smaller(length, SPMV__TCSR_WARP - w->at % SPMV__TCSR_WARP), first = k, left;
        if (!v->owner) k += count;
        else
            for (left = count; left; k++) left -= (uint64_t)spmv__mine(v, k);
        high = 0;
        spmv__span_entries(v, first, k, &low, &high);
        spmv__tcsr_pass(w, count, low, high);
        length -= count;
    }
    return (uint32_t)high;
}

/* The walk in shares of whole tiles. */
typedef struct spmv__tcsr_shares {
    const spmv_part    *p;
    const spmv__source *s;
    uint64_t            shares, row[SPMV__MOST_SHARES + 1]; /* row: in which a share begins; behind the last one, all rows */
    uint64_t            done[SPMV__MOST_SHARES];        /* its nonzeros before the share */
    uint64_t            empties[SPMV__MOST_SHARES];     /* empty rows from there on, or before it */
    uint64_t            wide[SPMV__MOST_SHARES];        /* warps of the share that have high bytes */
    int                 fits[SPMV__MOST_SHARES];        /* 1: the columns of each of its warps span less than 2^23 */
} spmv__tcsr_shares;

/* The first tile of a share. */
static uint64_t spmv__tcsr_tile(const spmv__tcsr_shares *c, uint64_t share) { return c->p->n[SPMV_TCSR_TILES] * share / c->shares; }

/* Finds where the shares begin. A row that does not fit into the rest of a tile begins at the next one or is cut there. */
static void spmv__tcsr_starts(spmv__tcsr_shares *c)
{
    const uint64_t tile = c->p->n[SPMV_TCSR_TILE], rows = c->p->rows, *ptr = c->s->ptr;
    uint64_t at = 0, i, share;
    c->row[0] = c->done[0] = 0;
    for (i = 0, share = 1; share < c->shares && i < rows; i++) {
        uint64_t begin, to;
        i = spmv__tile_full(ptr, rows, tile, i, &at);
        if (i == rows) break;
        begin = spmv__tile_slot(tile, at, ptr[i + 1] - ptr[i]);
        at = begin + ptr[i + 1] - ptr[i];
        for (; share < c->shares && (to = spmv__tcsr_tile(c, share) * tile) <= at; share++) {
            c->row[share] = to == at && to > begin ? i + 1 : i;
            c->done[share] = to > begin && to < at ? to - begin : 0;
        }
    }
    for (; share < c->shares; share++) {
        c->row[share] = rows;
        c->done[share] = 0;
    }
    c->row[share] = rows;
}

/* Counts the empty rows of a share. */
static void spmv__tcsr_empties_share(void *job, uint64_t share)
{
    spmv__tcsr_shares *c = (spmv__tcsr_shares *)job;
    const uint64_t *ptr = c->s->ptr;
    uint64_t i, empties = 0;
    for (i = c->row[share]; i < c->row[share + 1]; i++) empties += (uint64_t)(ptr[i] == ptr[i + 1]);
    c->empties[share] = empties;
}

/* The empty rows of the part. */
static uint64_t spmv__tcsr_empties(const spmv_part *p, const spmv__source *s)
{
    spmv__tcsr_shares c;
    uint64_t share, empties = 0;
    c.s = s;
    c.shares = spmv__share_count(p->rows);
    for (share = 0; share <= c.shares; share++) c.row[share] = p->rows / c.shares * share + p->rows % c.shares * share / c.shares;
    spmv__share_out(spmv__tcsr_empties_share, &c, c.shares);
    for (share = 0; share < c.shares; share++) empties += c.empties[share];
    return empties;
}

/* Walks the rows of a share. */
static void spmv__tcsr_walk_share(void *job, uint64_t share)
{
    spmv__tcsr_shares *c = (spmv__tcsr_shares *)job;
    const spmv_part *p = c->p;
    const spmv__source *s = c->s;
    const uint64_t tile = p->n[SPMV_TCSR_TILE], first = spmv__tcsr_tile(c, share), end = spmv__tcsr_tile(c, share + 1) * tile;
    const uint64_t warp = first * tile / SPMV__TCSR_WARP;
    uint64_t i, done = c->done[share];
    uint32_t column = 0;
    spmv__tcsr_walk w;
    w.base = p->a[SPMV_TCSR_BASE].data ? (uint32_t *)p->a[SPMV_TCSR_BASE].data + warp : NULL;
    w.high_at = p->a[SPMV_TCSR_HIGH_AT].data ? (uint32_t *)p->a[SPMV_TCSR_HIGH_AT].data + warp : NULL;
    w.at = first * tile;
    w.wide = w.high = 0;
    w.low = UINT64_MAX;
    w.all = p->a[SPMV_TCSR_HIGH].count && p->a[SPMV_TCSR_HIGH].count == p->a[SPMV_TCSR_COL].count;
    w.fits = 1;
    for (i = c->row[share]; i < p->rows && w.at < end && w.fits; i++, done = 0) {
        const uint64_t length = s->ptr[i + 1] - s->ptr[i] - done, begin = done ? w.at : spmv__tile_slot(tile, w.at, length);
        if (!length) continue;
        spmv__tcsr_pass_padding(&w, begin, column);
        if (begin < end)
            column = spmv__tcsr_pass_row(&w, s->v, s->v->a->ptr[spmv__source_row(s, i)] + done, spmv__smaller(length, end - begin));
    }
    if (w.fits) spmv__tcsr_pass_padding(&w, end, column);
    c->wide[share] = w.wide;
    c->fits[share] = w.fits;
}

/* Walks the part's rows. 1 if the columns of each warp span less than 2^23; *wide becomes the number of warps whose columns need a high
 * byte. Writes the bases, and high_at, if their arrays are allocated. If the view does not show all nonzeros, there is only one share: a
 * share that begins within a row could not find its first nonzero. */
static int spmv__tcsr_bases(const spmv_part *p, const spmv__source *s, uint64_t *wide)
{
    uint32_t *high_at = (uint32_t *)p->a[SPMV_TCSR_HIGH_AT].data;
    uint64_t share, i;
    int fits = 1;
    spmv__tcsr_shares c;
    c.p = p;
    c.s = s;
    c.shares = s->v->owner || !p->n[SPMV_TCSR_TILES] ? 1 : spmv__smaller(spmv__source_shares(s), p->n[SPMV_TCSR_TILES]);
    spmv__tcsr_starts(&c);
    spmv__share_out(spmv__tcsr_walk_share, &c, c.shares);
    if (high_at) *high_at = 0;
    for (*wide = share = 0; share < c.shares; share++) {
        const uint64_t warps = p->n[SPMV_TCSR_TILE] / SPMV__TCSR_WARP, end = spmv__tcsr_tile(&c, share + 1) * warps;
        for (i = spmv__tcsr_tile(&c, share) * warps; high_at && *wide && i < end; i++) high_at[i + 1] += (uint32_t)*wide;
        *wide += c.wide[share];
        fits &= c.fits[share];
    }
    return fits;
}

/* Counts tiles, rows that are cut, and empty rows. */
static void spmv__tile_count(const spmv_part *p, const spmv__source *s, uint64_t tile, spmv__tile_counts *c)
{
    uint64_t at = 0, i;
    c->cuts = 0;
    c->empties = spmv__tcsr_empties(p, s);
    for (i = 0; p->rows && (i = spmv__tile_full(s->ptr, p->rows, tile, i, &at)) < p->rows; i++) {
        const uint64_t length = s->ptr[i + 1] - s->ptr[i];
        at = spmv__tile_slot(tile, at, length);
        c->cuts += (uint64_t)spmv__tile_cuts(tile, at, at + length);
        at += length;
    }
    c->tiles = spmv__ceil_div(at, tile);
}

static spmv_status spmv__tcsr_size(spmv_part *p, spmv__source *s)
{
    const int there = s->tiled != NULL, narrow = p->spec.key[SPMV_KEY_IDX] == 16;
    const uint64_t tile = spmv__tile_slots(&p->spec);
    spmv__tile_counts c = { 0, 0, 0, 0, 0 };
    uint64_t slots, warps;
    void *block;
    spmv_status status;
    if (there) c = *s->tiled;
    else spmv__tile_count(p, s, tile, &c);
    if (c.tiles > 0x7fffffffu)
        return spmv_log(s->h, SPMV_ERR_OVERFLOW, "tcsr: %llu tiles, 2^31 - 1 can be numbered", (spmv__ull)c.tiles);
    slots = c.tiles * tile;
    warps = slots / SPMV__TCSR_WARP;
    p->n[SPMV_TCSR_TILE] = tile;
    p->n[SPMV_TCSR_TILES] = c.tiles;
    p->n[SPMV_TCSR_CUTS] = c.cuts;
    p->n[SPMV_TCSR_EMPTIES] = c.empties;
    spmv__want(&p->a[SPMV_TCSR_VAL], slots, p->a[SPMV_TCSR_VAL].width);
    spmv__want(&p->a[SPMV_TCSR_FLAG], slots / SPMV_TCSR_SLOTS, 4);
    spmv__want(&p->a[SPMV_TCSR_END], warps + 1, 4);
    spmv__want(&p->a[SPMV_TCSR_ROW], c.empties ? p->rows - c.empties : 0, 4);
    spmv__want(&p->a[SPMV_TCSR_PIECE], 2 * c.tiles, 4);
    spmv__want(&p->a[SPMV_TCSR_CUT], c.cuts, 4);
    spmv__want(&p->a[SPMV_TCSR_EMPTY], c.empties, 4);
    if (narrow && !there) c.fits = spmv__tcsr_bases(p, s, &c.wide);
    spmv__want_columns(p, &p->a[SPMV_TCSR_COL], &p->a[SPMV_TCSR_BASE], slots, warps, narrow && c.fits);
    if (!p->a[SPMV_TCSR_BASE].count) c.wide = 0;
    if (spmv__tcsr_all_wide(c.wide, p->a[SPMV_TCSR_BASE].count)) c.wide = warps;
    spmv__want(&p->a[SPMV_TCSR_HIGH_AT], c.wide ? warps + 1 : 0, 4);
    spmv__want(&p->a[SPMV_TCSR_HIGH], c.wide * SPMV__TCSR_WARP, 1);
    status = spmv__room(s->h, &block, spmv__source_shares(s), sizeof *s->seen);
    s->seen = (spmv__pair *)block;
    return status;
}

/* The lowest and the highest column of nonzeros k .. end - 1; low > high if the view shows none of them. */
static void spmv__nonzero_span(const spmv_view *v, uint64_t k, uint64_t end, uint32_t *low, uint32_t *high)
{
    const uint32_t *col = v->a->col;
    *low = UINT32_MAX;
    *high = 0;
    for (; v->owner && k < end; k++)
        if (spmv__mine(v, k)) {
            if (col[k] < *low) *low = col[k];
            if (col[k] > *high) *high = col[k];
        }
    for (; k < end; k++) {
        *low = col[k] < *low ? col[k] : *low;
        *high = col[k] > *high ? col[k] : *high;
    }
}

/* Samples warps at equal distances: 512 nonzeros each, as padding is rare. Shares found in them have a standard error of at most
 * 1 / (2 sqrt(128)), 0.044. */
static void spmv__tcsr_sample(const spmv__look *l)
{
    const uint64_t samples = 128, warps = spmv__ceil_div(l->v->a->nnz, SPMV__TCSR_WARP), step = spmv__ceil_div(warps, samples);
    uint64_t t;
    if (l->v->a->cols <= 1u << 16) l->known->warps = 1; /* no columns span more */
    for (t = 0; t < warps && l->v->a->cols > 1u << 16; t += step) {
        uint32_t low, high;
        spmv__nonzero_span(l->v, t * SPMV__TCSR_WARP, spmv__smaller((t + 1) * SPMV__TCSR_WARP, l->v->a->nnz), &low, &high);
        l->known->warps++;
        l->known->wide += low < high && high - low >= 1u << 16;
        l->known->beyond += low < high && high - low >= 1u << SPMV__TCSR_BITS;
    }
}

/* With 16-bit columns, the bytes of the bases and those of the high bytes; SPMV_ERR_UNSUPPORTED if columns do not fit. */
static spmv_status spmv__tcsr_estimate_columns(const spmv__look *l, spmv__load *out)
{
    const double base = 8; /* bytes a warp, that of high_at included */
    double wide = 0;
    if (!l->known->warps) spmv__tcsr_sample(l);
    if (l->known->beyond) return SPMV_ERR_UNSUPPORTED;
    if (l->known->warps) wide = (double)l->known->wide / l->known->warps;
    if (spmv__tcsr_all_wide((uint64_t)l->known->wide, (uint64_t)l->known->warps)) wide = 1;
    out->extra = out->slots * (base / (double)SPMV__TCSR_WARP + wide);
    return SPMV_OK;
}

/* Walks the rows from *r on, the first of which begins a tile, to the last one or until there are at least most slots. Returns the slots,
 * padding included, as in a build; *r becomes the row behind them. If the view shows all nonzeros, only rows that do not fit into the rest
 * of a tile are looked at. */
static uint64_t spmv__tcsr_end(const spmv__look *l, uint64_t tile, uint64_t most, uint64_t *r)
{
    const uint64_t *ptr = l->v->a->ptr, rows = l->v->a->rows;
    uint64_t at = 0;
    for (; *r < rows && at < most; ++*r) {
        uint64_t n;
        if (!l->len && (*r = spmv__tile_full(ptr, rows, tile, *r, &at)) == rows) break;
        n = spmv__look_len(l, *r);
        if (n) at = spmv__tile_slot(tile, at, n) + n;
    }
    return at;
}

/* The slots of tcsr. Of many tiles only a sample is looked at, as each takes some misses of the cache: stretches that begin at equal
 * distances of nonzeros. As less than a 16th of a tile is padding, the slots then err by less than a 32nd over the root of the number of
 * stretches, 0.6%, if what these hold is independent. */
static double spmv__tcsr_slots(const spmv__look *l, uint64_t tile)
{
    const uint64_t stretches = 32, length = 8 * tile; /* slots of each */
    const uint64_t *ptr = l->v->a->ptr, rows = l->v->a->rows;
    uint64_t i, first = 0, r = 0;
    double times = 0; /* slots for each nonzero, summed over the stretches */
    if (l->len || l->nnz < 2 * stretches * length)
        return (double)(spmv__ceil_div(spmv__tcsr_end(l, tile, UINT64_MAX, &r), tile) * tile);
    for (i = 0; i < stretches; i++) {
        uint64_t slots;
        first = r = spmv__tile_row(ptr, first, rows - 1, l->nnz / stretches * i);
        slots = spmv__tcsr_end(l, tile, length, &r);
        times += slots ? (double)slots / (double)(ptr[r] - ptr[first]) : 1;
    }
    return times / (double)stretches * (double)l->nnz;
}

static spmv_status spmv__tcsr_estimate(const spmv_spec *spec, const spmv__look *l, const spmv_features *f, spmv__load *out)
{
    const uint64_t tile = spmv__tile_slots(spec);
    spmv__estimate_entries(f, out);
    if (!spmv__look_has(&l->known->tiles, tile, &out->slots)) {
        out->slots = spmv__tcsr_slots(l, tile);
        spmv__look_keep(&l->known->tiles, tile, out->slots);
    }
    return spec->key[SPMV_KEY_IDX] == 16 ? spmv__tcsr_estimate_columns(l, out) : SPMV_OK;
}

/* Stores a column in a slot. */
static void spmv__tcsr_set_column(spmv_part *p, uint64_t slot, uint32_t c)
{
    uint8_t *high;
    if (!p->a[SPMV_TCSR_BASE].count) {
        ((uint32_t *)p->a[SPMV_TCSR_COL].data)[slot] = c;
        return;
    }
    c -= ((const uint32_t *)p->a[SPMV_TCSR_BASE].data)[slot / SPMV__TCSR_WARP];
    ((uint16_t *)p->a[SPMV_TCSR_COL].data)[spmv__tcsr_place(slot)] = (uint16_t)c;
    high = spmv__tcsr_high(p, slot);
    if (high) *high = (uint8_t)(c >> 16);
}

/* Stores count columns from slot at on. */
static void spmv__tcsr_set_columns(spmv_part *p, uint64_t at, const uint32_t *from, uint64_t count)
{
    uint64_t i;
    if (!p->a[SPMV_TCSR_BASE].count) memcpy((uint32_t *)p->a[SPMV_TCSR_COL].data + at, from, (size_t)count * sizeof *from);
    else
        for (i = 0; i < count; i++) spmv__tcsr_set_column(p, at + i, from[i]);
}

/* Padding of slots at up to end: it reads the same column as the slot before it, which is in the cache, and no sum takes it in. */
static void spmv__tcsr_pad(spmv_part *p, const spmv__sink *to, uint64_t at, uint64_t end, uint32_t column)
{
    spmv__clear(to, at, end - at);
    for (; at < end; at++) spmv__tcsr_set_column(p, at, column);
}

/* The column of the last nonzero before row i of the part; 0 if there is none. */
static uint32_t spmv__tcsr_column_before(const spmv__source *s, uint64_t i)
{
    const spmv_csr *a = s->v->a;
    uint64_t r, k;
    while (i && s->ptr[i] == s->ptr[i - 1]) i--;
    if (!i) return 0;
    r = spmv__source_row(s, i - 1);
    for (k = a->ptr[r + 1] - 1; !spmv__mine(s->v, k);) k--;
    return a->col[k];
}

/* The row in slots at up to end, which lie in several tiles, is cut. */
static void spmv__tcsr_cut_row(spmv_part *p, uint64_t at, uint64_t end, uint64_t *cuts)
{
    uint32_t *piece = (uint32_t *)p->a[SPMV_TCSR_PIECE].data;
    uint64_t first = at / p->n[SPMV_TCSR_TILE], last = (end - 1) / p->n[SPMV_TCSR_TILE], t;
    ((uint32_t *)p->a[SPMV_TCSR_CUT].data)[(*cuts)++] = (uint32_t)first;
    for (t = first; t < last; t++) {
        piece[2 * t + 1] = (uint32_t)last;
        piece[2 * t + 2] = (uint32_t)first;
    }
}

/* From row ends alone, in lanes first .. end - 1, whole warps: the counts above bit 16 of the flags, and how many rows end before the warp
 * behind each of them; so many rows end before the first one. */
static void spmv__tcsr_count_ends(const spmv_part *p, uint64_t first, uint64_t end, uint32_t rows)
{
    uint32_t *flag = (uint32_t *)p->a[SPMV_TCSR_FLAG].data, *ends = (uint32_t *)p->a[SPMV_TCSR_END].data, in_warp = 0;
    uint64_t i;
    for (i = first; i < end; i++) {
        const uint32_t bits = flag[i];
        flag[i] |= in_warp << SPMV_TCSR_SLOTS;
        in_warp += (uint32_t)spmv__bit_count(bits);
        if ((i + 1) % SPMV_TCSR_LANES) continue;
        ends[(i + 1) / SPMV_TCSR_LANES] = rows += in_warp;
        in_warp = 0;
    }
}

/* Fills the flags of a share of tiles, the ends of its warps, and where there are empty rows, the lists of these and of the others. */
static void spmv__tcsr_lay_share(void *job, uint64_t share)
{
    const spmv__tcsr_shares *c = (const spmv__tcsr_shares *)job;
    const spmv_part *p = c->p;
    const uint64_t tile = p->n[SPMV_TCSR_TILE], *ptr = c->s->ptr, begin = c->row[share];
    const uint64_t first = spmv__tcsr_tile(c, share) * tile, end = spmv__tcsr_tile(c, share + 1) * tile; /* slots */
    uint32_t *flag = (uint32_t *)p->a[SPMV_TCSR_FLAG].data;
    uint32_t *row = (uint32_t *)p->a[SPMV_TCSR_ROW].data, *empty = (uint32_t *)p->a[SPMV_TCSR_EMPTY].data;
    uint64_t at = first, done = c->done[share], empties = c->empties[share], i;
    for (i = first / SPMV_TCSR_SLOTS; i < end / SPMV_TCSR_SLOTS; i++) flag[i] = 0;
    for (i = begin; i < c->row[share + 1]; i++, done = 0) {
        const uint64_t length = ptr[i + 1] - ptr[i] - done;
        if (ptr[i + 1] == ptr[i]) {
            empty[empties++] = (uint32_t)i;
            continue;
        }
        at = (done ? at : spmv__tile_slot(tile, at, length)) + length;
        flag[(at - 1) / SPMV_TCSR_SLOTS] |= 1u << (at - 1) % SPMV_TCSR_SLOTS;
        if (row) row[i - empties] = (uint32_t)i;
    }
    spmv__tcsr_count_ends(c->p, first / SPMV_TCSR_SLOTS, end / SPMV_TCSR_SLOTS, (uint32_t)(begin - c->empties[share]));
}

/* Lists the rows that are cut, and notes for each share of the rows the slot after the rows before it. */
static void spmv__tcsr_pieces(spmv_part *p, spmv__source *s)
{
    const uint64_t tile = p->n[SPMV_TCSR_TILE], shares = spmv__source_shares(s), *ptr = s->ptr;
    uint64_t at = 0, cuts = 0, share = 0, next = 0, i;
    for (i = 0; i < p->rows; i++) {
        uint64_t before = at, begin;
        const uint64_t full = spmv__tile_full(ptr, p->rows, tile, i, &at);
        for (; share < shares && next <= full; next = spmv__share_first(s, ++share, shares)) {
            s->seen[share].key = next;
            s->seen[share].load = before + ptr[next] - ptr[i];
        }
        if (full == p->rows) return;
        i = full;
        begin = spmv__tile_slot(tile, at, ptr[i + 1] - ptr[i]);
        at = begin + ptr[i + 1] - ptr[i];
        if (spmv__tile_cuts(tile, begin, at)) spmv__tcsr_cut_row(p, begin, at, &cuts);
    }
}

/* Fills all arrays but columns and values: where a row begins depends on all rows before it. */
static void spmv__tcsr_lay(spmv_part *p, spmv__source *s)
{
    uint32_t *piece = (uint32_t *)p->a[SPMV_TCSR_PIECE].data;
    uint64_t i, n, empties = 0, share;
    spmv__tcsr_shares c;
    if (p->a[SPMV_TCSR_BASE].count) spmv__tcsr_bases(p, s, &i);
    for (i = 0; i < p->a[SPMV_TCSR_PIECE].count; i++) piece[i] = (uint32_t)(i / 2);
    spmv__tcsr_pieces(p, s);
    c.p = p;
    c.s = s;
    c.shares = p->n[SPMV_TCSR_TILES] ? spmv__smaller(spmv__source_shares(s), p->n[SPMV_TCSR_TILES]) : 1;
    spmv__tcsr_starts(&c);
    memset(c.empties, 0, sizeof c.empties);
    if (p->n[SPMV_TCSR_EMPTIES]) spmv__share_out(spmv__tcsr_empties_share, &c, c.shares);
    for (share = 0; share < c.shares; share++, empties += n) {
        n = c.empties[share];
        c.empties[share] = empties;
    }
    ((uint32_t *)p->a[SPMV_TCSR_END].data)[0] = 0;
    spmv__share_out(spmv__tcsr_lay_share, &c, c.shares);
}

/* Fills columns and values of nonzeros k .. end - 1 of the matrix from slot at on. */
static void spmv__tcsr_fill_slots(spmv_part *p, const spmv__source *s, spmv__sink *to, uint64_t at, uint64_t k, uint64_t end)
{
    if (k == end) return;
    spmv__tcsr_set_columns(p, at, s->v->a->col + k, end - k);
    spmv__put_all(to, at, k, end - k);
}

/* Fills row i of the part from slot at on, if the view does not show all nonzeros. */
static void spmv__tcsr_fill_row(spmv_part *p, const spmv__source *s, spmv__sink *to, uint64_t i, uint64_t at)
{
    const spmv_csr *a = s->v->a;
    uint64_t r = spmv__source_row(s, i), k;
    for (k = a->ptr[r]; k < a->ptr[r + 1]; k++)
        if (spmv__mine(s->v, k)) {
            spmv__tcsr_set_column(p, at, a->col[k]);
            spmv__put(to, at++, k);
        }
}

/* Fills the columns and values of rows first .. end - 1, with the padding before each row, and behind the last row of the part. Rows that
 * lie one behind the other in the matrix and in a tile are filled together. */
static void spmv__tcsr_fill(spmv_part *p, const spmv__source *s, spmv__sink *to, uint64_t first, uint64_t end)
{
    const uint64_t *ptr = s->ptr, tile = p->n[SPMV_TCSR_TILE];
    const int all = !s->v->owner && !s->v->list;
    uint64_t share = 0, at, begin, i, r;
    if (first == end) return;
    while (s->seen[share].key != first) share++;
    at = s->seen[share].load;
    for (i = first; i < end; i++) {
        if (all) {
            begin = at;
            r = i;
            i = spmv__tile_full(ptr, end, tile, r, &at);
            spmv__tcsr_fill_slots(p, s, to, begin, ptr[r], ptr[i]);
            if (i == end) break;
        }
        if (ptr[i] == ptr[i + 1]) continue;
        begin = spmv__tile_slot(tile, at, ptr[i + 1] - ptr[i]);
        if (at < begin) spmv__tcsr_pad(p, to, at, begin, spmv__tcsr_column_before(s, i));
        at = begin + ptr[i + 1] - ptr[i];
        r = spmv__source_row(s, i);
        if (s->v->owner) spmv__tcsr_fill_row(p, s, to, i, begin);
        else spmv__tcsr_fill_slots(p, s, to, begin, s->v->a->ptr[r], s->v->a->ptr[r + 1]);
    }
    if (end == p->rows) spmv__tcsr_pad(p, to, at, tile * p->n[SPMV_TCSR_TILES], spmv__tcsr_column_before(s, end));
}

/* Which of the slots of lane i, counted from the first tile on, are the last of a row. */
SPMV__SHARED uint32_t spmv__tcsr_bits(const spmv_part *p, uint64_t i)
{
    return ((const uint32_t *)p->a[SPMV_TCSR_FLAG].data)[i] & ((1u << SPMV_TCSR_SLOTS) - 1);
}

static void spmv__tcsr_each(const spmv_part *p, spmv__visit visit, void *user)
{
    const uint32_t *flag = (const uint32_t *)p->a[SPMV_TCSR_FLAG].data;
    const uint32_t *piece = (const uint32_t *)p->a[SPMV_TCSR_PIECE].data;
    uint64_t t, k, n = 0;
    for (t = 0; t < p->n[SPMV_TCSR_TILES]; t++) {
        uint64_t last = spmv__tcsr_ends(p, t + 1), at = t * p->n[SPMV_TCSR_TILE];
        for (k = at; k < at + p->n[SPMV_TCSR_TILE] && (n < last || piece[2 * t + 1] != t); k++) {
            visit(user, spmv__tcsr_row(p, n), spmv__tcsr_column(p, k), k);
            n += flag[k / SPMV_TCSR_SLOTS] >> k % SPMV_TCSR_SLOTS & 1u;
        }
    }
}
#endif

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

/* ---- the table --------------------------------------------------------------------------------------------------- */

#define SPMV__CAT_(a, b) a##b
#define SPMV__CAT(a, b) SPMV__CAT_(a, b)

/* A row of the table, by SPMV__BUILT_<NAME>: 1 or 0. */
#define SPMV__ROW_1(name) { spmv__##name##_size, spmv__##name##_lay, spmv__##name##_fill, spmv__##name##_each, spmv__##name##_estimate }
#define SPMV__ROW_0(name) { NULL, NULL, NULL, NULL, NULL }

static const spmv__ops spmv__table[SPMV_FORMAT_COUNT] = {
#define X(NAME, name, text) SPMV__CAT(SPMV__ROW_, SPMV__BUILT_##NAME)(name),
    SPMV_FORMAT_LIST(X)
#undef X
};

/* Checked when compiling: the bit of each format is 1 << its number, and SPMV_ONLY without that bit leaves it out. */
enum {
#define X(NAME, name, text)                                                                                    \
    SPMV__BIT_AGREES_##NAME = 1 / ((SPMV_BIT_##NAME) == 1 << SPMV_##NAME),                                     \
    SPMV__CUT_AGREES_##NAME = 1 / (!SPMV__BUILT_##NAME || SPMV_##NAME > SPMV_TCSR || (SPMV__ONLY & 1 << SPMV_##NAME)),
    SPMV_FORMAT_LIST(X)
#undef X
};

/* Formats that are left out have traits as well. */
static const spmv__traits *const spmv__trait[SPMV_FORMAT_COUNT] = {
#define X(NAME, name, text) &spmv__##name##_traits,
    SPMV_FORMAT_LIST(X)
#undef X
};

static const struct {
    const char *const *list;
    size_t                    count;
} spmv__layouts[SPMV_FORMAT_COUNT] = {
#define X(NAME, name, text) { spmv__##name##_layouts, sizeof spmv__##name##_layouts / sizeof *spmv__##name##_layouts },
    SPMV_FORMAT_LIST(X)
#undef X
};

SPMV_API int spmv_format_built(spmv_format f) { return (unsigned)f < SPMV_FORMAT_COUNT && spmv__table[f].size != NULL; }

SPMV_API unsigned spmv_format_flags(spmv_format f) { return (unsigned)f < SPMV_FORMAT_COUNT ? spmv__trait[f]->flags : 0; }

SPMV_API spmv_format_class spmv_format_class_of(spmv_format f)
{
    return (unsigned)f < SPMV_FORMAT_COUNT ? spmv__trait[f]->category : SPMV_CLASS_COUNT;
}

SPMV_API size_t spmv_format_layouts(spmv_format f, const char *const **out)
{
    int built = spmv_format_built(f);
    if (out) *out = built ? spmv__layouts[f].list : NULL;
    return built ? spmv__layouts[f].count : 0;
}

SPMV_API int spmv_format_takes_key(spmv_format f, spmv_key k)
{
    return (unsigned)f < SPMV_FORMAT_COUNT && (unsigned)k < SPMV_KEY_COUNT &&
           ((spmv__trait[f]->keys | SPMV__KEY(COLS)) >> k & 1u);
}

/* 1 if the format pads rows to the length of the longest in their group. */
SPMV__SHARED int spmv__is_padded(spmv_format f) { return spmv_format_takes_key(f, SPMV_KEY_FILL); }

/* How many rows such a format pads to one length: those of a slice, or all rows if it has no slices. */
SPMV__SHARED uint64_t spmv__padded_rows(const spmv_spec *spec, uint64_t rows)
{
    return spmv_format_takes_key(spec->format, SPMV_KEY_H) ? spmv__height(spec) : rows;
}

/* 1 if a long row does not slow down a product with such a part; see spmv__traits. */
SPMV__SHARED int spmv__spec_even(const spmv_spec *spec)
{
    unsigned even = spmv__trait[spec->format]->even;
    int k;
    for (k = 0; k < SPMV_KEY_COUNT; k++)
        if (even >> k & 1u && spec->key[k]) return 1;
    return even == SPMV__EVEN;
}

/* The steps in which one lane goes through a row of so many slots; a step is the time of an entry whose column is read before its element
 * of x. The loops over entries are unrolled, so that a lane waits once for several of them; the loops over blocks are not, and the values
 * of a block are read one after another. Without columns an entry takes as long: by tuning/nvidia-h200.samples.gz, one of dense takes 0.6
 * to 1.4 steps (dense_1500_1500, dense_64_50000; 32 lanes), one of dia and bdia 0.8 to 1.7 (dense_1500_1500; 8 lanes).
 *   bytes  of a value */
SPMV__SHARED double spmv__spec_steps(const spmv_spec *spec, double longest, int bytes)
{
    const double unrolled = 4; /* entries in flight at once */
    const double load = 16;    /* bytes that a lane reads at once */
    const spmv__traits *t = spmv__trait[spec->format];
    double width, values;
    if (t->category != SPMV_CLASS_BLOCK) return longest;
    width = (double)spmv__block_width(spec);
    values = width * (double)spmv__block_height(spec);
    return (unrolled + values * (double)bytes / load) * longest / width;
}

/* Bytes of column and row indices for each slot. */
SPMV__SHARED double spmv__spec_index_bytes(const spmv_spec *spec)
{
    const spmv__traits *t = spmv__trait[spec->format];
    double bytes = t->indices * (spec->key[SPMV_KEY_IDX] == 16 ? 2 : 4);
    return t->category == SPMV_CLASS_BLOCK ? bytes / (double)(spmv__block_height(spec) * spmv__block_width(spec)) : bytes;
}

/* Estimates the work of a product with a part that takes all of a view; see spmv__estimate. */
SPMV__SHARED spmv_status spmv__spec_estimate(const spmv_spec *spec, const spmv__look *l, const spmv_features *f, spmv__load *out)
{
    memset(out, 0, sizeof *out);
    out->rows = spec->key[SPMV_KEY_ROWS] ? (double)l->rows : (double)f->rows;
    out->nnz = out->slots = (double)f->nnz;
    out->gather = f->gather;
    out->longest = (double)l->longest;
    return spmv__table[spec->format].estimate(spec, l, f, out);
}

/* ---- build, update, free ----------------------------------------------------------------------------------------- */

SPMV_API uint64_t spmv_part_bytes(const spmv_part *p)
{
    if (!p) return 0;
    uint64_t bytes = spmv__sat_mul(p->list.count, p->list.width);
    int i;
    for (i = 0; i < SPMV_MAX_ARRAYS; i++) bytes = spmv__sat_add(bytes, spmv__sat_mul(p->a[i].count, p->a[i].width));
    return bytes;
}

SPMV_API uint64_t spmv_part_slots(const spmv_part *p) { return p ? p->a[SPMV_VAL].count : 0; }

/* The most bytes that a part may take: max_bytes of spmv_build, or its default. */
SPMV__SHARED uint64_t spmv__most_bytes(const spmv_csr *a, uint64_t max_bytes)
{
    const uint64_t times = 16, more = 1u << 24; /* bytes: small matrices may take any format */
    return max_bytes ? max_bytes : spmv__sat_add(spmv__sat_mul(spmv__csr_bytes(a), times), more);
}

/* Refuses a part whose arrays, which are not allocated yet, would take more than that. */
static spmv_status spmv__part_limit(const spmv_part *p, const spmv_csr *a, uint64_t max_bytes, const spmv_hooks *h)
{
    uint64_t bytes = spmv_part_bytes(p), csr = spmv__csr_bytes(a), limit = spmv__most_bytes(a, max_bytes);
    const char *name = spmv_format_name(p->spec.format);
    if (bytes <= limit) return SPMV_OK;
    if (bytes == UINT64_MAX)
        return spmv_log(h, SPMV_ERR_TOO_LARGE, "%s would take more than 2^64 bytes for %llu nonzeros", name, (spmv__ull)p->nnz);
    return spmv_log(h, SPMV_ERR_TOO_LARGE, "%s would take %llu bytes for %llu nonzeros, %.1f times the CSR form; the limit is %llu bytes",
                    name, (spmv__ull)bytes, (spmv__ull)p->nnz, (double)bytes / (double)csr, (spmv__ull)limit);
}

/* Counts the view's nonzeros in each row of a share into ptr. */
typedef struct spmv__row_counts {
    const spmv__source *s;
    uint64_t           *ptr, shares;
} spmv__row_counts;

static void spmv__count_rows_share(void *job, uint64_t share)
{
    const spmv__row_counts *c = (const spmv__row_counts *)job;
    const spmv_view *v = c->s->v;
    uint64_t i, k, end = v->rows / c->shares * (share + 1) + (share + 1 == c->shares ? v->rows % c->shares : 0);
    for (i = v->rows / c->shares * share; i < end; i++) {
        uint64_t r = spmv__source_row(c->s, i), n = v->a->ptr[r + 1] - v->a->ptr[r];
        if (v->owner)
            for (n = 0, k = v->a->ptr[r]; k < v->a->ptr[r + 1]; k++) n += (uint64_t)(v->owner[k] == v->part);
        c->ptr[i + 1] = n;
    }
}

/* Sets s->ptr to running counts of the view's nonzeros by row of the part: the matrix's own row pointers if the view holds everything,
 * else an array that the caller frees, *owned. */
SPMV__APART spmv_status spmv__source_count(spmv__source *s, void **owned)
{
    const spmv_view *v = s->v;
    spmv__row_counts c;
    uint64_t i;
    spmv_status status;
    *owned = NULL;
    s->ptr = v->a->ptr;
    if (!v->owner && !v->list) return SPMV_OK;
    status = spmv__room(s->h, owned, v->rows + 1, 8);
    if (status) return status;
    c.s = s;
    c.ptr = (uint64_t *)*owned;
    c.shares = spmv__share_count(v->a->nnz + v->rows);
    spmv__share_out(spmv__count_rows_share, &c, c.shares);
    for (c.ptr[0] = 0, i = 0; i < v->rows; i++) c.ptr[i + 1] += c.ptr[i];
    s->ptr = c.ptr;
    return SPMV_OK;
}

/* Allocates the arrays, or borrows them from the CSR matrix. They are not initialised: lay and fill write every element, once. */
static spmv_status spmv__part_arrays(spmv_part *p, const spmv__source *s, const spmv_build *how)
{
    spmv_status status = SPMV_OK;
    int i, own = !(p->spec.format == SPMV_CSR && how->borrow && !how->updatable && !s->v->owner && !s->v->list);
    for (i = 0; i < SPMV_MAX_ARRAYS && !status; i++) {
        int col = i == SPMV_CSR_COL && p->a[i].width == 4;
        if (!own && (i == SPMV_VAL || col) && p->a[i].count) {
            p->a[i].data = (void *)(uintptr_t)(col ? (const void *)s->v->a->col : s->v->a->val);
            p->a[i].borrowed = 1;
        } else {
            status = spmv__room(s->h, &p->a[i].data, p->a[i].count, p->a[i].width);
        }
    }
    return status;
}

/* What the shares of a fill have in common. */
typedef struct spmv__fill_job {
    spmv_part          *p;
    const spmv__source *s;
    spmv__sink          to;
    uint64_t            shares, *zeros; /* formats with fill: explicit zeros in each share, then in all shares before it */
} spmv__fill_job;

/* Fills a share of the rows. In a format with fill, the first pass counts the explicit zeros of each share. A second one, where only the
 * shares that have some are filled again, lists them. */
static void spmv__fill_share(void *job, uint64_t share, size_t thread)
{
    const spmv__fill_job *f = (const spmv__fill_job *)job;
    spmv__sink to = f->to;
    uint64_t first, end;
    to.thread = (unsigned)thread;
    first = spmv__share_first(f->s, share, f->shares);
    end = spmv__share_first(f->s, share + 1, f->shares);
    if (to.zeros && f->zeros[share] == (share + 1 < f->shares ? f->zeros[share + 1] : f->p->zeros.count)) return;
    if (to.zeros) to.zeros += f->zeros[share];
    if (first < end || (!f->s->rows && !share)) spmv__table[f->p->spec.format].fill(f->p, f->s, &to, first, end);
    if (to.fill && !to.zeros) f->zeros[share] = to.zero_count;
}

static void spmv__fill_shares(spmv__fill_job *f)
{
    if (f->shares == 1) spmv__fill_share(f, 0, 0); /* on less stack, for tiny matrices */
    else spmv__share_among(spmv__fill_share, f, f->shares, f->s->threads ? f->s->threads : f->shares);
}

/* Allocates p->zeros, in which each share lists its zeros behind those of the shares before it. */
static spmv_status spmv__part_zeros(spmv__fill_job *f)
{
    spmv_part *p = f->p;
    uint64_t i, all = 0;
    spmv_status status;
    for (i = 0; i < f->shares; i++) {
        uint64_t n = f->zeros[i];
        f->zeros[i] = all;
        all += n;
    }
    spmv__want(&p->zeros, all, 8);
    status = spmv__room(f->s->h, &p->zeros.data, p->zeros.count, 8);
    f->to.zeros = (uint64_t *)p->zeros.data;
    return status;
}

/* Sorts the slots of explicit zeros, which are many where a program stores all of its pattern: digit by digit from the lowest, into a
 * second array and back. */
static spmv_status spmv__part_sort_zeros(spmv_part *p, const spmv_hooks *h)
{
    enum { BITS = 11, DIGITS = 1 << BITS };
    uint64_t *from = (uint64_t *)p->zeros.data, *to, *place, n = p->zeros.count, i, digit, sum;
    unsigned shift;
    void *block, *places;
    spmv_status status = spmv__room(h, &block, n, 8);
    if (!status) {
        status = spmv__room(h, &places, DIGITS, sizeof *place);
        if (status) spmv_free(h, block);
    }
    if (status) return status;
    to = (uint64_t *)block;
    place = (uint64_t *)places;
    for (shift = 0; shift < 64 && (p->a[SPMV_VAL].count >> shift); shift += BITS) {
        uint64_t *swap = from;
        memset(place, 0, DIGITS * sizeof *place);
        for (i = 0; i < n; i++) place[from[i] >> shift & (DIGITS - 1)]++;
        for (sum = 0, digit = 0; digit < DIGITS; digit++) {
            uint64_t here = place[digit];
            place[digit] = sum;
            sum += here;
        }
        for (i = 0; i < n; i++) to[place[from[i] >> shift & (DIGITS - 1)]++] = from[i];
        from = to;
        to = swap;
    }
    p->zeros.data = from;
    spmv_free(h, to);
    spmv_free(h, places);
    return SPMV_OK;
}

/* Fills the arrays of a part in a format with fill, and lists the slots of explicit zeros in rising order. */
SPMV__APART spmv_status spmv__fill_and_list_zeros(spmv__fill_job *f)
{
    uint64_t zeros[SPMV__MOST_SHARES];
    spmv_status status;
    f->zeros = zeros;
    f->to.fill = 1;
    spmv__fill_shares(f);
    status = spmv__part_zeros(f);
    if (status) return status;
    if (f->p->zeros.count) spmv__fill_shares(f);
    return f->p->zeros.count > 1 ? spmv__part_sort_zeros(f->p, f->s->h) : SPMV_OK;
}

/* Fills the part's arrays. */
SPMV__APART spmv_status spmv__part_values(spmv_part *p, spmv__source *s)
{
    const spmv__ops *ops = &spmv__table[p->spec.format];
    spmv__fill_job f;
    memset(&f, 0, sizeof f);
    f.p = p;
    f.s = s;
    f.to.src = (const unsigned char *)s->v->a->val;
    f.to.dst = &p->a[SPMV_VAL];
    if (ops->lay) ops->lay(p, s);
    f.shares = spmv__source_shares(s);
    if (spmv_format_flags(p->spec.format) & SPMV_HAS_FILL) return spmv__fill_and_list_zeros(&f);
    spmv__fill_shares(&f);
    return SPMV_OK;
}

/* Makes the map for updates: the array of values, filled with the numbers of the nonzeros instead. */
SPMV__APART spmv_status spmv__part_map(spmv_part *p, spmv__source *s)
{
    spmv__fill_job f;
    spmv_status status;
    spmv__want(&p->map, p->a[SPMV_VAL].count, s->v->a->nnz < 0xffffffffu ? 4 : 8);
    status = spmv__room(s->h, &p->map.data, p->map.count, p->map.width);
    if (status) return status;
    memset(&f, 0, sizeof f);
    f.p = p;
    f.s = s;
    f.to.dst = &p->map;
    f.shares = spmv__source_shares(s);
    spmv__fill_shares(&f);
    return SPMV_OK;
}

/* Refuses a view whose rows are not those of its matrix. */
SPMV__SHARED spmv_status spmv__check_view(const spmv_view *v, const spmv_hooks *h)
{
    const uint64_t rows = v->a->rows;
    uint64_t i;
    if (!v->list && v->rows != rows)
        return spmv_log(h, SPMV_ERR_ARGUMENT, "%llu rows without a row list, but the matrix has %llu", (spmv__ull)v->rows, (spmv__ull)rows);
    for (i = 0; v->list && i < v->rows; i++)
        if (v->list[i] >= rows)
            return spmv_log(h, SPMV_ERR_INDEX, "row list: entry %llu is row %u, but the matrix has %llu rows", (spmv__ull)i,
                            (unsigned)v->list[i], (spmv__ull)rows);
    return SPMV_OK;
}

/* Refuses a level of instructions that does not exist, or not here. */
SPMV__SHARED spmv_status spmv__simd_check(spmv_simd level, const spmv_hooks *h)
{
    if (spmv_simd_usable(level)) return SPMV_OK;
    if ((unsigned)level >= SPMV_SIMD_COUNT) return spmv_log(h, SPMV_ERR_ARGUMENT, "simd %d is unknown", (int)level);
    return spmv_log(h, SPMV_ERR_UNSUPPORTED, "the level of instructions \"%s\" is missing in this build or on this machine",
                    spmv_simd_name(level));
}

/* Refuses a specification or settings that do not fit the format, the view or this build. */
static spmv_status spmv__part_check(const spmv_spec *spec, const spmv_view *v, const spmv_build *how, const spmv_hooks *h)
{
    const char *why, *name = spmv_format_name(spec->format);
    spmv_status s = spmv_spec_check(spec, &why);
    if (s) return spmv_log(h, s, "%s: %s", name, why);
    s = spmv__check_view(v, h);
    if (s) return s;
    if ((unsigned)how->type >= SPMV_TYPE_COUNT) return spmv_log(h, SPMV_ERR_ARGUMENT, "type %d is unknown", (int)how->type);
    if (spmv_value_size(how->type) != spmv_value_size(v->a->type))
        return spmv_log(h, SPMV_ERR_ARGUMENT, "a product in %s needs a CSR matrix of %s", spmv_type_name(how->type),
                        spmv_value_size(how->type) == sizeof(double) ? "doubles" : "floats");
    if (!spmv__type_built(how->type))
        return spmv_log(h, SPMV_ERR_UNSUPPORTED, "%s was left out of this build", spmv_type_name(how->type));
    s = spmv__simd_check(how->simd, h);
    if (s) return s;
    if (how->strict && (spmv_format_flags(spec->format) & SPMV_HAS_FILL))
        return spmv_log(h, SPMV_ERR_STRICT, "%s multiplies its fill by x, which strict mode excludes", name);
    if (how->reproducible && !(spmv_format_flags(spec->format) & SPMV_REPEATS))
        return spmv_log(h, SPMV_ERR_UNSUPPORTED, "%s has no reproducible product", name);
    if (how->reproducible && spec->format == SPMV_CSR && spec->key[SPMV_KEY_RUN])
        return spmv_log(h, SPMV_ERR_UNSUPPORTED, "csr with the key run has no reproducible product; leave out run");
    if (v->list && !(spmv_format_flags(spec->format) & SPMV_CAN_LIST))
        return spmv_log(h, SPMV_ERR_UNSUPPORTED, "%s cannot follow a row list", name);
    return SPMV_OK;
}

/* Has what a device knows of the matrix, as far as the sizes of a part follow from it. Apart, for the stack of the caller. */
SPMV__APART spmv_status spmv__source_there(spmv_part *p, spmv__source *s)
{
    return s->converter ? s->converter->rows(s->converter, p, s) : SPMV_OK;
}

/* Sets all of a part but the arrays' contents: checks the specification, counts the view's nonzeros, lets the format set the sizes of the
 * arrays, and checks them against the limit. converter: may be NULL. The caller sets src->weighed, and frees src with
 * spmv__source_free, also after a failure, and *counts. */
SPMV__APART spmv_status spmv__part_sizes(spmv_part *out, const spmv_spec *spec, const spmv_view *view, const spmv_build *how,
                                    spmv_converter *converter, const spmv_hooks *hooks, spmv__source *src, void **counts)
{
    spmv_status s;
    const uint8_t weighed = src->weighed;
    memset(out, 0, sizeof *out);
    memset(src, 0, sizeof *src);
    *counts = NULL;
    src->weighed = weighed;
    src->v = view;
    src->h = hooks;
    src->rows = view->rows;
    src->converter = converter;
    s = spmv__part_check(spec, view, how, hooks);
    if (s) return s;
    if (hooks) out->hooks = *hooks;
    out->spec = *spec;
    out->type = spmv__type(how->type);
    out->reproducible = how->reproducible;
    out->simd = how->simd == SPMV_SIMD_BEST ? spmv__simd_best() : how->simd;
    out->rows = view->rows;
    out->cols = view->a->cols;
    spmv__want(&out->a[SPMV_VAL], 0, (uint32_t)spmv_value_size(how->type));
    s = spmv__source_count(src, counts);
    if (!s) s = spmv__source_there(out, src);
    if (s) return s;
    out->nnz = spmv__source_nnz(src);
    s = spmv__table[spec->format].size(out, src);
    if (s) return s;
    spmv__want(&out->list, view->list ? view->rows : 0, 4);
    return spmv__part_limit(out, view->a, how->max_bytes, hooks);
}

static void spmv__source_free(spmv__source *src)
{
    spmv__diagonals_free(&src->diagonals, src->h);
    spmv_free(src->h, src->seen);
    spmv_free(src->h, src->blocks);
    spmv_free(src->h, src->spans);
    spmv_free(src->h, src->row_spans);
    spmv_free(src->h, src->longest);
    spmv_free(src->h, src->sets);
#ifdef SPMV_FORMATS_EXTRA
    spmv__extra_free(src);
#endif
}

/* The slots and bytes that a part would have, counted without building it. The statuses of spmv_part_build. */
SPMV__SHARED spmv_status spmv__part_weigh(const spmv_spec *spec, const spmv_view *view, const spmv_build *how, const spmv_hooks *hooks,
                                          uint64_t *slots, uint64_t *bytes)
{
    spmv__source src;
    spmv_part p;
    void *counts;
    spmv_status s;
    src.weighed = 1;
    s = spmv__part_sizes(&p, spec, view, how, NULL, hooks, &src, &counts);
    *slots = s ? 0 : spmv_part_slots(&p);
    *bytes = s ? 0 : spmv_part_bytes(&p);
    spmv__source_free(&src);
    spmv_free(hooks, counts);
    return s;
}

/* The format sets the sizes of the arrays; they are checked against the limit, allocated, and filled. */
SPMV_API spmv_status spmv_part_build(spmv_part *out, const spmv_spec *spec, const spmv_view *view, const spmv_build *how,
                                     const spmv_hooks *hooks)
{
    if (!out || !spec || !view || !view->a || !how)
        return spmv__null(hooks, "spmv_part_build", !out ? "out" : !spec ? "spec" : !view ? "view" : !view->a ? "view->a" : "how", out,
                          sizeof *out);
    spmv__source src;
    void *counts;
    spmv_status s;
    src.weighed = 0;
    s = spmv__part_sizes(out, spec, view, how, how->converter, hooks, &src, &counts);
    if (!s) s = spmv__room(hooks, &out->list.data, out->list.count, 4);
    if (!s && out->list.count) memcpy(out->list.data, view->list, (size_t)out->list.count * 4);
    if (!s && how->converter) s = how->converter->part(how->converter, out, &src, how);
#ifdef SPMV__ANY_BLOCK
    if (!s && src.counted && !out->elsewhere) s = spmv__block_sets(out, &src); /* the host fills what the device has counted */
#endif
    if (!s && !out->elsewhere) s = spmv__part_arrays(out, &src, how);
    if (!s && !out->elsewhere) s = spmv__part_values(out, &src);
    if (!s && how->updatable && !out->elsewhere) s = spmv__part_map(out, &src);
    spmv__source_free(&src);
    spmv_free(hooks, counts);
    if (s) spmv_part_free(out);
    return s;
}

/* Counts the slots of nonzeros whose new value is zero, and lists them in out unless that is NULL. */
static uint64_t spmv__map_zeros(const spmv_part *p, const unsigned char *val, uint64_t *out)
{
    uint32_t width = p->a[SPMV_VAL].width;
    uint64_t i, n = 0;
    for (i = 0; i < p->map.count; i++) {
        uint64_t m = spmv__at(&p->map, i);
        if (m && spmv__is_zero(val + (m - 1) * width, width)) {
            if (out) out[n] = i;
            n++;
        }
    }
    return n;
}

/* The list of explicit zeros is made anew before the values change, so that nothing changes if there is no memory. */
SPMV_API spmv_status spmv_part_update(spmv_part *p, const void *val)
{
    if (!p || (!val && p->a[SPMV_VAL].count)) return spmv__null(p ? &p->hooks : NULL, "spmv_part_update", p ? "val" : "p", NULL, 0);
    const unsigned char *src = (const unsigned char *)val;
    spmv__sink to;
    uint64_t i, n;
    void *zeros;
    spmv_status s;
    if (p->elsewhere) return SPMV_OK;
    if (p->a[SPMV_VAL].count && !p->map.count) return spmv_log(&p->hooks, SPMV_ERR_FIXED, "the part was not made updatable");
    if (spmv_format_flags(p->spec.format) & SPMV_HAS_FILL) {
        n = spmv__map_zeros(p, src, NULL);
        s = spmv__new(&p->hooks, &zeros, n, 8, 0);
        if (s) return s;
        spmv__map_zeros(p, src, (uint64_t *)zeros);
        spmv_free(&p->hooks, p->zeros.data);
        p->zeros.data = zeros;
        p->zeros.count = n;
    }
    memset(&to, 0, sizeof to);
    to.src = src;
    to.dst = &p->a[SPMV_VAL];
    for (i = 0; i < p->map.count; i++) {
        uint64_t m = spmv__at(&p->map, i);
        if (m) spmv__put(&to, i, m - 1);
    }
    return SPMV_OK;
}

/* Borrowed arrays belong to the CSR matrix. */
SPMV_API void spmv_part_free(spmv_part *p)
{
    if (!p) return;
    spmv_hooks h = p->hooks;
    int i;
    for (i = 0; i < SPMV_MAX_ARRAYS; i++)
        if (!p->a[i].borrowed) spmv_free(&h, p->a[i].data);
    spmv_free(&h, p->list.data);
    spmv_free(&h, p->zeros.data);
    spmv_free(&h, p->map.data);
    if (p->elsewhere) p->elsewhere->drop(p->elsewhere);
    memset(p, 0, sizeof *p);
}

/* ---- back to CSR ------------------------------------------------------------------------------------------------- */

/* The entries that spmv_parts_to_csr has found so far. */
typedef struct spmv__collect {
    const spmv_part *p;
    uint64_t  count;
    uint32_t *row, *col;
    unsigned char *val;
} spmv__collect;

/* 1 if a slot holds an explicit zero, by bisection of p->zeros. */
static int spmv__listed_zero(const spmv_part *p, uint64_t slot)
{
    const uint64_t *z = (const uint64_t *)p->zeros.data;
    uint64_t low = 0, high = p->zeros.count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (z[middle] < slot) low = middle + 1;
        else high = middle;
    }
    return low < p->zeros.count && z[low] == slot;
}

/* Adds the entry in a slot, unless that holds fill. */
static void spmv__collect_slot(void *user, uint64_t row, uint64_t col, uint64_t slot)
{
    spmv__collect *c = (spmv__collect *)user;
    uint32_t width = c->p->a[SPMV_VAL].width;
    const unsigned char *value = (const unsigned char *)c->p->a[SPMV_VAL].data + slot * width;
    if ((spmv_format_flags(c->p->spec.format) & SPMV_HAS_FILL) && spmv__is_zero(value, width) && !spmv__listed_zero(c->p, slot)) return;
    c->row[c->count] = spmv__part_row(c->p, row);
    c->col[c->count] = (uint32_t)col;
    memcpy(c->val + c->count * width, value, width);
    c->count++;
}

/* Collects the entries of all parts as COO and lets spmv_csr_from sort and check them. */
SPMV_API spmv_status spmv_parts_to_csr(spmv_csr *out, uint64_t rows, const spmv_part *parts, size_t count, const spmv_hooks *hooks)
{
    if (!out || (count && !parts)) return spmv__null(hooks, "spmv_parts_to_csr", !out ? "out" : "parts", out, sizeof *out);
    spmv__collect c;
    spmv_input in;
    void *row = NULL, *col = NULL, *val = NULL;
    size_t i;
    spmv_status s;
    memset(out, 0, sizeof *out);
    memset(&c, 0, sizeof c);
    memset(&in, 0, sizeof in);
    in.form = SPMV_IN_COO;
    in.rows = (int64_t)rows;
    in.cols = count ? (int64_t)parts[0].cols : 0;
    in.val_type = spmv__stored_type(count ? parts[0].type : SPMV_F32);
    in.duplicates = SPMV_DUP_REFUSE;
    for (i = 0; i < count; i++)
        if (parts[i].cols != parts[0].cols || parts[i].type != parts[0].type)
            return spmv_log(hooks, SPMV_ERR_ARGUMENT, "part %llu differs from part 0 in its columns or type", (spmv__ull)i);
    for (i = 0; i < count; i++) in.nnz += (int64_t)parts[i].nnz;
    s = spmv__new(hooks, &row, (uint64_t)in.nnz, 4, 0);
    if (!s) s = spmv__new(hooks, &col, (uint64_t)in.nnz, 4, 0);
    if (!s) s = spmv__new(hooks, &val, (uint64_t)in.nnz, spmv_value_size(in.val_type), 0);
    if (s) goto done;
    c.row = (uint32_t *)row;
    c.col = (uint32_t *)col;
    c.val = (unsigned char *)val;
    for (i = 0; i < count && in.nnz; i++) {
        c.p = &parts[i];
        spmv__table[parts[i].spec.format].each(&parts[i], spmv__collect_slot, &c);
    }
    SPMV_ASSERT(c.count == (uint64_t)in.nnz);
    in.row = row;
    in.col = col;
    in.val = val;
    s = spmv_csr_from(out, &in, in.val_type, hooks);
done:
    spmv_free(hooks, val);
    spmv_free(hooks, col);
    spmv_free(hooks, row);
    return s;
}
#endif /* SPMV_IMPLEMENTATION */
