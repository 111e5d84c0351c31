/* SPDX-License-Identifier: MIT
 *
 * spmv_formats.h - sparse matrix formats: vocabulary, conversion from and to CSR, products on the host.
 *
 * The lowest layer of the spmv headers; it needs nothing but a C99 compiler (it also compiles as C++11). Most users
 * include spmv.h instead, which brings this file in. As with every header here, put
 *
 *     #define SPMV_IMPLEMENTATION
 *     #include "spmv.h"
 *
 * into exactly one C file; all others only include it.
 *
 * A stored matrix goes   spmv_input --spmv_csr_from--> spmv_csr --spmv_part_build--> spmv_part
 * and back again         spmv_part  --spmv_parts_to_csr--> spmv_csr.
 * CSR is the only interchange form: nothing converts from one format straight into another.
 *
 * Configuration, to be defined before the include (the same in every unit that links together, except the cuts):
 *   SPMV_IMPLEMENTATION   compile the bodies here
 *   SPMV_API              storage class of public functions, default: nothing
 *   SPMV_STATIC           make every function static (then each unit that uses it needs SPMV_IMPLEMENTATION)
 *   SPMV_ASSERT(x)        default: assert of <assert.h>
 *   SPMV_MALLOC, SPMV_REALLOC, SPMV_FREE   all three or none, default: the C library's
 *   SPMV_NO_STDIO         no use of <stdio.h>: messages go to the log callback only
 *   SPMV_NO_F64           leave out f64 and mixed products
 *   SPMV_NO_<FORMAT>      leave out a format, e.g. SPMV_NO_BDIA
 *   SPMV_ONLY             keep these formats only, e.g. -DSPMV_ONLY=SPMV_BIT_CSR+SPMV_BIT_SELL
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

/* ---- status ------------------------------------------------------------------------------------------------------
 * Every function that can fail returns one of these. The detail (file, line, column, index, build log) goes to the
 * log callback of spmv_hooks. */
#define SPMV_STATUS_LIST(X)                                                                 \
    X(OK,              "done")                                                              \
    X(ERR_ARGUMENT,    "an argument is outside its documented range")                       \
    X(ERR_MEMORY,      "memory could not be allocated")                                     \
    X(ERR_OVERFLOW,    "a size does not fit the integers it needs")                         \
    X(ERR_INDEX,       "a row pointer or an index does not fit the matrix")                 \
    X(ERR_DUPLICATE,   "an entry occurs twice and duplicates were to be refused")           \
    X(ERR_PLAN,        "the plan's text does not follow the grammar")                       \
    X(ERR_INCOMPLETE,  "the plan leaves nonzeros that no part takes")                       \
    X(ERR_TOO_LARGE,   "the format would need more memory than allowed for this matrix")    \
    X(ERR_STRICT,      "a format with fill cannot be used in strict mode")                  \
    X(ERR_UNSUPPORTED, "not supported in this build or by this format")                     \
    X(ERR_FIXED,       "the matrix was not made updatable")                                 \
    X(ERR_IO,          "a file could not be opened, read or written")                       \
    X(ERR_PARSE,       "the file does not follow its format")                               \
    X(ERR_COMPLEX,     "complex matrices are not supported")                                \
    X(ERR_NO_DEVICE,   "no such device")                                                    \
    X(ERR_NO_F64,      "the device has no double precision")                                \
    X(ERR_BUILD,       "a kernel did not build")                                            \
    X(ERR_LIMIT,       "the device cannot take this size")                                  \
    X(ERR_OPENCL,      "an OpenCL call failed")

typedef enum spmv_status {
#define X(name, text) SPMV_##name,
    SPMV_STATUS_LIST(X)
#undef X
    SPMV_STATUS_COUNT
} spmv_status;

/* One line of English for a status; never NULL. */
SPMV_API const char *spmv_status_text(spmv_status s);
/* Its name, for example "SPMV_ERR_INDEX"; never NULL. */
SPMV_API const char *spmv_status_name(spmv_status s);

/* ---- hooks -------------------------------------------------------------------------------------------------------
 * Where memory comes from and where messages go. All zero: SPMV_MALLOC and friends, and stderr (nowhere with
 * SPMV_NO_STDIO). A hooks pointer may be NULL everywhere. Objects copy the struct, so it need not live on. */
typedef struct spmv_hooks {
    void *user;                                             /* handed to both functions */
    void *(*resize)(void *user, void *block, size_t bytes); /* realloc's contract; bytes 0 frees and returns NULL */
    void (*log)(void *user, spmv_status s, const char *message); /* one message, no newline at its end */
} spmv_hooks;

/* ---- types -------------------------------------------------------------------------------------------------------
 * What a product computes in. Values are the matrix's, vectors are x and y. Sums are formed in the vectors' type. */
typedef enum spmv_type {
    SPMV_F64 = 0, /* double values, double vectors (the default) */
    SPMV_F32,     /* float values, float vectors */
    SPMV_MIXED,   /* float values, double vectors: two thirds of the bytes of f64 */
    SPMV_TYPE_COUNT
} spmv_type;

/* "f64", "f32", "mixed"; and back: SPMV_TYPE_COUNT if the text is none of them. */
SPMV_API const char *spmv_type_name(spmv_type t);
SPMV_API spmv_type spmv_type_from(const char *name);
/* Bytes of one value of the matrix, and of one element of x or y. */
SPMV_API size_t spmv_value_size(spmv_type t);
SPMV_API size_t spmv_vector_size(spmv_type t);

/* ---- the format table --------------------------------------------------------------------------------------------
 * X(NAME, name, "what it is called"). Every list of formats in these headers, the tools and the tests expands from
 * here. Cuts (SPMV_NO_<NAME>, SPMV_ONLY) empty a row but leave the enum whole, so that units with different cuts
 * agree on every number. */
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
    X(CMRS,  cmrs,  "compressed multi-row storage (Koza et al. 2013)")

typedef enum spmv_format {
#define X(NAME, name, text) SPMV_##NAME,
    SPMV_FORMAT_LIST(X)
#undef X
    SPMV_FORMAT_COUNT
} spmv_format;

/* The same numbers for the preprocessor, for SPMV_ONLY. */
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

/* "ell"; and back: SPMV_FORMAT_COUNT if the text names no format. */
SPMV_API const char *spmv_format_name(spmv_format f);
SPMV_API const char *spmv_format_text(spmv_format f);
SPMV_API spmv_format spmv_format_from(const char *name);
/* 1 if the format is compiled in, 0 if a cut removed it. */
SPMV_API int spmv_format_built(spmv_format f);

/* What a format can do, as flags. */
enum {
    SPMV_CAN_LIST  = 1, /* its rows may follow a row list */
    SPMV_HAS_FILL  = 2, /* it stores zeros between nonzeros and multiplies them by x: an Inf or NaN in x may turn up as
                           NaN in a row that does not use that element. Kept out of every plan in strict mode. */
    SPMV_ROW_BLOCK = 4, /* it stores blocks (key b) */
    SPMV_ADDS_ONLY = 8  /* its product can only add to y */
};
SPMV_API unsigned spmv_format_flags(spmv_format f);

/* ---- specification of a part -------------------------------------------------------------------------------------
 * X(KEY, key, kind). What a part takes and how it is laid out follows from these and the matrix alone. Zero is every
 * key's default. Kinds: INT a count, FRAC a fraction (held in millionths), BLOCK RxC (held as R*256+C), ROWS a word. */
#define SPMV_KEY_LIST(X)                                                                                      \
    X(W,     w,     INT)   /* ell, sell: take at most w entries of a row; 0: no limit */                      \
    X(FILL,  fill,  FRAC)  /* ell, sell: take the widest part that is filled to this fraction (sell: a slice) */ \
    X(D,     d,     FRAC)  /* dia, bdia, block formats: take diagonals or blocks filled at least to this */   \
    X(B,     b,     BLOCK) /* block formats: block size, 0: 4x4 */                                            \
    X(H,     h,     INT)   /* sell, sbell: slice height, 0: 32; cmrs: strip height 1 2 4 8 16, 0: 4 */        \
    X(GROW,  grow,  FRAC)  /* sell: slices of varying height up to h, grown while padding stays under this */ \
    X(ROWS,  rows,  ROWS)  /* row list: all, nonempty, sorted (nonempty, by falling length) */                \
    X(SIGMA, sigma, INT)   /* rows=sorted: sort within windows of this many rows; 0: all rows */              \
    X(SORT,  sort,  INT)   /* cmrs: 1 sorts a strip's entries by column */                                    \
    X(WIDE,  wide,  INT)   /* cmrs: 1 keeps row and column apart even where 28 bits hold a column */

typedef enum spmv_key {
#define X(NAME, name, kind) SPMV_KEY_##NAME,
    SPMV_KEY_LIST(X)
#undef X
    SPMV_KEY_COUNT
} spmv_key;

enum { SPMV_ROWS_ALL, SPMV_ROWS_NONEMPTY, SPMV_ROWS_SORTED };

typedef struct spmv_spec {
    spmv_format format;
    int64_t key[SPMV_KEY_COUNT];
} spmv_spec;

/* 1 if the format understands the key. */
SPMV_API int spmv_format_takes_key(spmv_format f, spmv_key k);
/* Checks every key of a specification against the format; SPMV_ERR_ARGUMENT or SPMV_ERR_UNSUPPORTED, with the reason
 * in *why (may be NULL; a string that lives as long as the program). */
SPMV_API spmv_status spmv_spec_check(const spmv_spec *spec, const char **why);

/* ---- input -------------------------------------------------------------------------------------------------------
 * A matrix as the caller has it. Zero-initialise, then set what applies. */
typedef enum spmv_layout { SPMV_IN_CSR = 0, SPMV_IN_CSC, SPMV_IN_COO, SPMV_IN_BSR } spmv_layout;
typedef enum spmv_duplicates { SPMV_DUP_SUM = 0, SPMV_DUP_REFUSE } spmv_duplicates;

typedef struct spmv_input {
    spmv_layout layout;
    int64_t     rows, cols;  /* elements; at most 2^32 - 2 each. BSR: of the matrix, multiples of the block size */
    int64_t     nnz;         /* COO: entries. CSR, CSC, BSR: 0, or what the last pointer must say */
    const void *ptr;         /* CSR, BSR: (block) rows + 1; CSC: columns + 1; COO: NULL */
    const void *row;         /* COO, CSC: row indices; else NULL */
    const void *col;         /* COO, CSR: column indices; BSR: block columns; CSC: NULL */
    const void *val;         /* values; NULL: every value is 1. BSR: blocks one after another */
    int         ptr_bits;    /* 32 or 64; 0: 32 */
    int         index_bits;  /* 32 or 64, of row and col; 0: 32 */
    int         base;        /* 0 or 1: what pointers and indices count from */
    spmv_type   val_type;    /* SPMV_F64 or SPMV_F32: the type of val */
    int         block_rows, block_cols; /* BSR only */
    int         block_by_columns;       /* BSR: 1 if blocks are stored column by column */
    spmv_duplicates duplicates;         /* entries at one place: summed in the order given, or refused */
    int         drop_zeros;  /* 1: entries with value 0 are left out (after summing duplicates) */
    int         borrow;      /* 1: use the caller's arrays where they already have the form needed (CSR, zero-based,
                                rows sorted, no duplicates); they must then outlive the spmv_csr and not change */
    int         updatable;   /* 1: remember which entry of val went where, for spmv_csr_update */
} spmv_input;

/* ---- CSR ---------------------------------------------------------------------------------------------------------
 * The interchange form: zero-based, columns strictly rising within each row. Read the members freely; change none. */
typedef struct spmv_csr {
    uint64_t        rows, cols, nnz;
    const uint64_t *ptr;   /* rows + 1 */
    const uint32_t *col;   /* nnz */
    const void     *val;   /* nnz floats or doubles */
    spmv_type       type;  /* SPMV_F32 or SPMV_F64: the type of val */
    unsigned        owned; /* bits 0 1 2: ptr, col, val are ours to free */
    uint64_t       *from;  /* updatable: nonzero k is the sum of the caller's values order[from[k]] ... */
    uint64_t       *order; /* ... order[from[k+1]-1]; both NULL: nonzero k is the caller's value k */
    uint64_t        source; /* how many values the caller gave */
    int             updatable;
    spmv_type       source_type;
    spmv_hooks      hooks;
} spmv_csr;

/* Makes a CSR matrix with values of type store (SPMV_F32 or SPMV_F64; SPMV_MIXED means SPMV_F32) from in.
 * Checks every pointer and index and logs the first that is wrong by its position. out need not be initialised; on
 * failure it is zeroed. Free with spmv_csr_free. Not safe on one out from two threads; otherwise reentrant. */
SPMV_API spmv_status spmv_csr_from(spmv_csr *out, const spmv_input *in, spmv_type store, const spmv_hooks *hooks);
/* New values for the same pattern, in the caller's order and type (in->val of spmv_csr_from). */
SPMV_API spmv_status spmv_csr_update(spmv_csr *a, const void *val);
SPMV_API void spmv_csr_free(spmv_csr *a);

/* ---- a stored part -----------------------------------------------------------------------------------------------
 * Some of a matrix's nonzeros in one format: a few integers and a few flat arrays, in the order in which its kernel
 * takes them. Array 0 always holds the values. off is 4 bytes where every offset fits, else 8. PAD = 2^32 - 1 marks
 * padding in column arrays; x is never read for it. R is the number of rows of the part (the row list's length if there
 * is one), S the number of super-rows ceil(R / bh); a unit is 1 x uw elements of a block, U = bh * bw / uw units a block.
 *
 *  format | integers n[]              | arrays a[] (values first)
 *  dense  |                           | val[R * cols] by rows
 *  coo    |                           | val[nnz], row u32[nnz], col u32[nnz]
 *  csr    |                           | val[nnz], ptr off[R+1], col u32[nnz]
 *  dia    | diagonals, ld             | val[diagonals * ld]: element (d, row) at d * ld + row; offset i32[diagonals], rising
 *  bdia   | bands, ld                 | val as dia, offset i32[bands] of each band's first, band_ptr u32[bands+1] counts diagonals
 *  ell    | width, ld                 | val[width * ld]: k-th entry of row r at k * ld + r; col u32 likewise
 *  sell   | h, slices                 | val, ptr off[slices+1] in elements, col u32, slice_row u32[slices+1] if key grow
 *         |                           |   was given, else empty; k-th entry of the slice's row i at ptr[s] + k * height + i;
 *         |                           |   height is h, or slice_row[s+1] - slice_row[s]
 *  bell   | bh, bw, uw, width, ld     | val: element j of unit u of the k-th block of super-row s at
 *         |                           |   ((k * U + u) * ld + s) * uw + j; col u32[width * ld]: first column, k * ld + s
 *  sbell  | bh, bw, uw, h, slices     | val, ptr off[slices+1] in blocks, col u32[blocks]: k-th block of super-row i of the
 *         |                           |   slice at ptr[s] + k * h + i; val: (ptr[s] * U + (k * U + u) * h + i) * uw + j
 *  bcsr   | bh, bw, uw, blocks        | val: (u * blocks + b) * uw + j, ptr off[S+1], col u32[blocks]: first column
 *  cmrs   | height, packed            | val[nnz], ptr off[strips+1], index u32[nnz]: column * 16 + row in strip if packed,
 *         |                           |   else the column; row u8[nnz] if not packed, else empty
 *
 * ld is R (bell: S) rounded up to 32. uw is 4 if it divides bw, else 2, else 3. */
#define SPMV_PAD 0xffffffffu
enum { SPMV_MAX_INTS = 5, SPMV_MAX_ARRAYS = 4 };

typedef struct spmv_array {
    void    *data;     /* count * width bytes, NULL if there are none */
    uint64_t count;    /* elements */
    uint32_t width;    /* bytes of an element: 1, 2, 4 or 8 */
    uint32_t borrowed; /* 1: belongs to the CSR matrix it was built from */
} spmv_array;

typedef struct spmv_part {
    spmv_spec  spec;
    spmv_type  type;
    uint64_t   rows;   /* R: rows of the part */
    uint64_t   cols;   /* columns of the whole matrix */
    uint64_t   nnz;    /* nonzeros held, explicit zeros counted */
    uint64_t   n[SPMV_MAX_INTS];
    spmv_array a[SPMV_MAX_ARRAYS];
    spmv_array list;   /* u32[R]: which row of y each row of the part is; empty: row r is row r */
    spmv_array zeros;  /* u64: slots of val that hold explicit zeros, rising; formats with fill only */
    spmv_array map;    /* updatable: for each slot of val 1 + its nonzero's number in the CSR matrix, 0: none */
    spmv_hooks hooks;
} spmv_part;

/* Which of a CSR matrix's nonzeros a part holds. */
typedef struct spmv_view {
    const spmv_csr *a;
    const uint8_t  *owner; /* nnz bytes: nonzero k belongs to the part if owner[k] == part; NULL: all do */
    unsigned        part;
    const uint32_t *list;  /* rows of the part, each at most once; NULL: all rows in order */
    uint64_t        rows;  /* length of list, or a->rows */
} spmv_view;

typedef struct spmv_build {
    spmv_type type;       /* what the product will compute in; must fit the CSR's value type */
    int       updatable;  /* 1: keep the map that spmv_part_update needs */
    int       strict;     /* 1: refuse formats with fill */
    int       borrow;     /* 1: csr may use the CSR matrix's own arrays, which must then outlive the part */
    uint64_t  max_bytes;  /* refuse what would take more; 0: 16 times the CSR form plus 16 MiB */
} spmv_build;

/* Stores the nonzeros of view as spec says. out need not be initialised; on failure it is zeroed. */
SPMV_API spmv_status spmv_part_build(spmv_part *out, const spmv_spec *spec, const spmv_view *view,
                                     const spmv_build *how, const spmv_hooks *hooks);
/* New values: val are the CSR matrix's, in its order and value type. */
SPMV_API spmv_status spmv_part_update(spmv_part *p, const void *val);
SPMV_API void spmv_part_free(spmv_part *p);
/* Bytes that a product reads of the part: its arrays and its row list. */
SPMV_API uint64_t spmv_part_bytes(const spmv_part *p);
/* Slots of val: stored elements, padding and fill included. */
SPMV_API uint64_t spmv_part_slots(const spmv_part *p);

/* y = alpha A x + beta y on the host, for the rows of the part. x has cols and y rows elements of the vector type.
 * With beta 0 y is not read; with alpha 0 neither the matrix nor x is. coo (SPMV_ADDS_ONLY) needs beta 1. Uses OpenMP where the
 * compiler was told to; the bits of y do not depend on the number of threads. Any number of threads may call this
 * on one part at a time, each with its own y. */
SPMV_API void spmv_part_mul(const spmv_part *p, double alpha, const void *x, double beta, void *y);
/* y = beta y for n elements; beta 0 clears without reading. */
SPMV_API void spmv_scale(spmv_type t, uint64_t n, double beta, void *y);

/* The matrix that the parts hold together: rows x cols, no two parts holding one place (checked: SPMV_ERR_DUPLICATE).
 * Padding does not come back, explicit zeros do. */
SPMV_API spmv_status spmv_parts_to_csr(spmv_csr *out, uint64_t rows, const spmv_part *parts, size_t count,
                                       const spmv_hooks *hooks);

/* ---- CMRS in place (Koza et al. 2013, 3) ---------------------------------------------------------------------------
 * Turns the arrays of a CSR matrix into CMRS without further memory and back. ptr has rows + 1 entries of ptr_bits (32 or
 * 64); the strip pointers take the first ceil(rows / height) + 1 of them. col becomes column * 16 + row in strip, so
 * columns must be below 2^28. Entries keep their order, so val needs no change. Nothing is changed on failure. */
SPMV_API spmv_status spmv_csr_to_cmrs(uint64_t rows, int height, void *ptr, int ptr_bits, uint32_t *col);
SPMV_API spmv_status spmv_cmrs_to_csr(uint64_t rows, int height, void *ptr, int ptr_bits, uint32_t *col);

/* ---- small helpers shared by the headers ------------------------------------------------------------------------- */

/* Memory by the hooks' rules. NULL when bytes is 0 or there is none. count * size is checked. */
SPMV_API void *spmv_alloc(const spmv_hooks *h, uint64_t count, uint64_t size);
SPMV_API void spmv_free(const spmv_hooks *h, void *block);
/* A message from a format with %s (const char *), %d (int), %u (uint64_t), %f (double, three digits), %c (int), %%. Returns s.
 * Messages longer than 4096 bytes are cut. */
SPMV_API spmv_status spmv_log(const spmv_hooks *h, spmv_status s, const char *format, ...);
/* The same into a buffer of size bytes, always terminated; returns the length the whole text has. */
SPMV_API size_t spmv_print(char *out, size_t size, const char *format, ...);

#ifdef __cplusplus
}
#endif
#endif /* SPMV_FORMATS_H */
/* ============================================ END OF THE INTERFACE ============================================== */
