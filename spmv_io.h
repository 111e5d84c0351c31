/* SPDX-License-Identifier: MIT
 *
 * spmv_io.h - reads and writes matrices and vectors: Matrix Market files and a binary form of CSR.
 *
 * Optional; it needs only spmv_formats.h. As with every header here, one C file defines SPMV_IMPLEMENTATION before the
 * include. SPMV_NO_STDIO leaves out what takes a FILE or a path; reading from memory and by callbacks remains.
 *
 * The interface comes in three tiers:
 *     start here   spmv_mm_read_file and spmv_mm_write_file, with the rules for Matrix Market files
 *     more         vectors, the binary form, other sources and sinks: memory, streams, callbacks
 *     for tools    numbers from and to text
 *
 * Everything here is reentrant: no state outlives a call, the locale makes no difference, and no number passes through scanf, strtod or
 * printf. What a reader refuses goes to the log callback as "name:line:column: expected ..., found ...".
 *
 * If you only want the interface, stop at "END OF THE INTERFACE".
 */
/* Above the guard: the bodies may be wanted although the interface was seen. What is complete is not read again. */
#if !defined(SPMV_FORMATS_H) || (defined(SPMV_IMPLEMENTATION) && !defined(SPMV_FORMATS_IMPLEMENTED))
#include "spmv_formats.h"
#endif

#ifndef SPMV_IO_H
#define SPMV_IO_H

#ifndef SPMV_NO_STDIO
#  include <stdio.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- start here: Matrix Market ------------------------------------------------------------------------------------
 * Read are coordinate and array files; real, integer and pattern (every value is 1); general, symmetric and skew-symmetric. complex and
 * hermitian are refused with SPMV_ERR_COMPLEX. There is one entry in a line, with blanks and tabs between its numbers and around them.
 *
 * Where the standard says nothing, or where real files do not follow it:
 *   duplicates                   summed in the order of the file
 *   explicit zeros               kept in coordinate files (but see drop_zeros), left out of array files
 *   NaN and infinity             accepted: nan, inf, infinity, in any case, with or without a sign
 *   numbers                      rounded correctly, however many digits they have: to the nearest double, ties to even; numbers that are
 *                                too large give infinity, too small ones zero. Exponents have e, E, d or D. SPMV_F32 values are that
 *                                double rounded to float
 *   integer field                only digits and a sign, any number of them, rounded like the others; unsigned-integer, which scipy
 *                                writes, is read as integer
 *   banner                       must be line 1; in any case; a UTF-8 byte order mark before it is ignored
 *   comments                     lines that begin with %, anywhere after the banner, and the rest of a line after its numbers
 *   blank lines, CRLF            accepted anywhere after the banner
 *   no line feed at the end      accepted. If the file then ends within its last number, that number may have been cut off, which
 *                                nothing else would show; so the log callback gets a warning, with status SPMV_OK
 *   refused (SPMV_ERR_PARSE)     one % before MatrixMarket, unknown or further words in the banner, pattern with array
 *                                or with skew-symmetric, symmetric and not square, entries above the diagonal of a
 *                                symmetric and on or above that of a skew-symmetric file, fewer or more entries than
 *                                announced, 1,5 and 0x1F, further text on a line, CR without LF, signs before an
 *                                index, lines of more than 65,536 bytes before their comment (comments may be longer)
 *   refused (SPMV_ERR_INDEX)     an index outside the matrix
 *   refused (SPMV_ERR_OVERFLOW)  more than 2^32 - 2 rows or columns, more than 2^60 entries
 *   refused (SPMV_ERR_TOO_LARGE) many more rows or columns than nonzeros, see max_dim
 *   files of other kinds         compressed ones, archives, files of MATLAB, NumPy and HDF5: the message says what the file is and what
 *                                to do with it (SPMV_ERR_PARSE)
 * Memory grows with the entries read, whatever the header of the file announces: no block is larger than 16 times the bytes that were
 * read, or are still to be read if src->bytes tells, plus 16 bytes a row plus 128 KiB; max_dim limits the rows. Comments, blank lines and
 * refused lines take no memory, however long they are. */
typedef enum spmv_mm_field { SPMV_MM_REAL = 0, SPMV_MM_INTEGER, SPMV_MM_PATTERN, SPMV_MM_COMPLEX } spmv_mm_field;
typedef enum spmv_mm_symmetry {
    SPMV_MM_GENERAL = 0,
    SPMV_MM_SYMMETRIC,
    SPMV_MM_SKEW,
    SPMV_MM_HERMITIAN
} spmv_mm_symmetry;

/* Zero-initialise; a NULL pointer means all zero. */
typedef struct spmv_mm_options {
    int       drop_zeros; /* 1: entries that are zero after summing duplicates are left out */
    spmv_type store;      /* the type of the values that are made: SPMV_F64; SPMV_F32 (SPMV_MIXED: f32 matrices, f64 vectors); 0: f64 */
    uint64_t  max_dim;    /* the most rows and the most columns; 0: 2^20 + 64 for every nonzero of the matrix, so that a short file cannot
                             make the reader allocate long row pointers or vectors. Both forms have the same limit, so what one reader
                             accepts, the other does as well. Set it for large matrices that are almost empty */
} spmv_mm_options;

/* What the file says about itself. After a failure it holds what was read before. */
typedef struct spmv_mm_info {
    int              array;    /* 1: array, 0: coordinate */
    spmv_mm_field    field;
    spmv_mm_symmetry symmetry;
    uint64_t         rows, cols;
    uint64_t         stored;   /* entries in the file: before mirroring, summing and dropping */
    uint64_t         lines;    /* lines that were read */
    uint64_t         bytes;    /* bytes that were read */
} spmv_mm_info;

#ifndef SPMV_NO_STDIO
/* Reads a matrix from a file.
 *   out    becomes the matrix; need not be initialised. On failure it is zeroed. Free it with spmv_csr_free
 *   path   the file
 *   opt    may be NULL
 *   info   becomes what the file says about itself; may be NULL
 *   hooks  may be NULL
 * SPMV_ERR_IO, SPMV_ERR_MEMORY and the statuses above. */
SPMV_API spmv_status spmv_mm_read_file(spmv_csr *out, const char *path, const spmv_mm_options *opt, spmv_mm_info *info,
                                       const spmv_hooks *hooks);
/* Writes a matrix to a file, as spmv_mm_write does. If writing fails, an incomplete file is left behind. The readers refuse such a file;
 * if it only lacks the end of its last number, they give a warning. SPMV_ERR_IO. */
SPMV_API spmv_status spmv_mm_write_file(const char *path, const spmv_csr *a, const spmv_hooks *hooks);
#endif

/* ---- more: sources and sinks -------------------------------------------------------------------------------------- */
#define SPMV_READ_FAILED ((size_t)-1)

/* Where a reader takes its bytes from. */
typedef struct spmv_source {
    void *user; /* handed to read */
    /* Puts 1 to bytes bytes into buffer and returns how many; 0 at the end, SPMV_READ_FAILED on failure. */
    size_t (*read)(void *user, void *buffer, size_t bytes);
    const char *name; /* for messages; NULL: "input" */
    uint64_t bytes;   /* the number of bytes to come; 0: not known. Memory is allocated by it, so it must be known from the
                         medium and not from the data */
} spmv_source;

/* Where a writer puts its bytes. */
typedef struct spmv_sink {
    void *user;                                                  /* handed to write */
    size_t (*write)(void *user, const void *data, size_t bytes); /* returns bytes; anything less is a failure */
    const char *name;                                            /* for messages; NULL: "output" */
} spmv_sink;

/* A block of memory that is read from its byte number at on. */
typedef struct spmv_memory {
    const void *data; /* may be NULL if bytes is 0 */
    size_t bytes;
    size_t at;        /* moves on as bytes are read */
} spmv_memory;

/* A source that reads from memory; both stay the caller's. */
SPMV_API spmv_source spmv_source_memory(spmv_memory *memory, const char *name);
#ifndef SPMV_NO_STDIO
/* A source that reads an open stream from its current position; open the file with "rb". If the stream can seek, bytes is set. */
SPMV_API spmv_source spmv_source_stream(FILE *stream, const char *name);
/* A sink that writes to an open stream and neither flushes nor closes it; open the file with "wb". */
SPMV_API spmv_sink spmv_sink_stream(FILE *stream, const char *name);
#endif

/* Reads a matrix from src to its end; out, opt, info, hooks and statuses as in spmv_mm_read_file. */
SPMV_API spmv_status spmv_mm_read(spmv_csr *out, const spmv_source *src, const spmv_mm_options *opt, spmv_mm_info *info,
                                  const spmv_hooks *hooks);
/* Reads a matrix from memory.
 *   data, bytes  the text of the file; data may be NULL if bytes is 0
 *   name         for messages; NULL: "input"
 * The others as in spmv_mm_read_file. */
SPMV_API spmv_status spmv_mm_read_memory(spmv_csr *out, const void *data, size_t bytes, const char *name,
                                         const spmv_mm_options *opt, spmv_mm_info *info, const spmv_hooks *hooks);
/* Reads a vector: a file of one column, array or coordinate; elements without an entry are 0.
 *   out    becomes the elements, of spmv_vector_size(opt->store) bytes each; NULL if there are none or on failure. Free it with spmv_free
 *          and the same hooks
 *   n      becomes the number of elements
 * The others as in spmv_mm_read. */
SPMV_API spmv_status spmv_mm_read_vector(void **out, uint64_t *n, const spmv_source *src, const spmv_mm_options *opt,
                                         spmv_mm_info *info, const spmv_hooks *hooks);

/* Writes a matrix as coordinate real general, by rows. Numbers have 17 (f64) or 9 (f32) significant digits, without zeros at the end,
 * and read back to the same bits; of a NaN only the sign is kept. Allocates nothing. SPMV_ERR_IO; SPMV_ERR_INDEX or SPMV_ERR_ARGUMENT for
 * arrays that are not those of a CSR matrix, before anything is written. */
SPMV_API spmv_status spmv_mm_write(const spmv_sink *sink, const spmv_csr *a, const spmv_hooks *hooks);
/* Writes a vector as array real general of one column.
 *   sink   where to
 *   type   SPMV_F32: x has floats; others: doubles
 *   n      elements
 *   x      the elements; may be NULL if n is 0
 *   hooks  may be NULL
 * SPMV_ERR_IO. */
SPMV_API spmv_status spmv_mm_write_vector(const spmv_sink *sink, spmv_type type, uint64_t n, const void *x,
                                          const spmv_hooks *hooks);

/* ---- more: the binary form ----------------------------------------------------------------------------------------
 * A CSR matrix as it is in memory: a header of 64 bytes (magic, version, byte order mark, value type, rows, cols, nnz, a checksum of
 * everything else), rows + 1 row pointers of 8 bytes, nnz columns of 4, nnz values of 8 or 4. Numbers are in the byte order of the writer;
 * a reader with the other order refuses the file. The checksum detects damage, not malice, so the structure is checked as strictly as
 * that of a text file. If the source knows its length, the sizes are compared with it before anything is allocated; otherwise memory
 * grows with what is read. */

/* Reads a matrix.
 *   out      becomes the matrix, with the value type of the file; on failure it is zeroed. Free it with spmv_csr_free
 *   src      is read to its end
 *   max_dim  as in spmv_mm_options
 *   hooks    may be NULL
 * SPMV_ERR_PARSE (another form, too short, too long or damaged), SPMV_ERR_UNSUPPORTED (version, byte order), SPMV_ERR_INDEX,
 * SPMV_ERR_OVERFLOW, SPMV_ERR_TOO_LARGE, SPMV_ERR_IO, SPMV_ERR_MEMORY. */
SPMV_API spmv_status spmv_bin_read(spmv_csr *out, const spmv_source *src, uint64_t max_dim, const spmv_hooks *hooks);
/* Writes a matrix. The statuses of spmv_mm_write. */
SPMV_API spmv_status spmv_bin_write(const spmv_sink *sink, const spmv_csr *a, const spmv_hooks *hooks);
/* 1 if the first bytes of a file (8 are enough) are those of the binary form. */
SPMV_API int spmv_bin_is(const void *data, size_t bytes);

#ifndef SPMV_NO_STDIO
/* The same by path; SPMV_ERR_IO as well if the file cannot be opened. If writing fails, an incomplete file is left behind, which the
 * reader refuses. */
SPMV_API spmv_status spmv_bin_read_file(spmv_csr *out, const char *path, uint64_t max_dim, const spmv_hooks *hooks);
SPMV_API spmv_status spmv_bin_write_file(const char *path, const spmv_csr *a, const spmv_hooks *hooks);
#endif

/* ---- for tools: numbers -------------------------------------------------------------------------------------------
 * The conversions used above, for programs that read or print numbers whatever the locale is. */

/* Reads a number that all of text consists of, by the rules for Matrix Market files. 1 and *out set, or 0. */
SPMV_API int spmv_number_from(const char *text, double *out);
/* Writes v with at most digits (1 to 17) significant digits, rounded correctly, ties to even, and a 0 at the end; returns the
 * length. Integers of up to digits digits have neither point nor exponent. */
enum { SPMV_NUMBER_TEXT = 32 };
SPMV_API size_t spmv_number_text(char out[SPMV_NUMBER_TEXT], double v, int digits);

#ifdef __cplusplus
}
#endif
#endif /* SPMV_IO_H */
/* ============================================ END OF THE INTERFACE ============================================== */

#if defined(SPMV_IMPLEMENTATION) && !defined(SPMV__IO_BODY)
#define SPMV__IO_BODY

#ifndef SPMV_NO_STDIO
#include <errno.h>
#endif
#include <string.h>

/* ---- big integers -------------------------------------------------------------------------------------------------
 * For exact comparisons and digits, for which 64 bits are too few. The longest number is that of 801 digits, or of 5^1144 times 54 bits:
 * under 2800 bits. */
enum {
    SPMV__IO_WORDS  = 96, /* 32-bit words of a big integer: 3072 bits */
    SPMV__IO_DIGITS = 800 /* decimal digits that are kept: the middle of two doubles has at most 768, a double 767 */
};

typedef struct spmv__io_big {
    uint32_t w[SPMV__IO_WORDS]; /* lowest first */
    int n;                      /* words in use; the highest is not 0 */
} spmv__io_big;

static void spmv__io_big_from(spmv__io_big *b, uint64_t v)
{
    b->n = 0;
    for (; v; v >>= 32) b->w[b->n++] = (uint32_t)v;
}

static void spmv__io_big_push(spmv__io_big *b, uint32_t w)
{
    SPMV_ASSERT(b->n < SPMV__IO_WORDS);
    b->w[b->n++] = w;
}

/* b = b * mul + add */
static void spmv__io_big_mul(spmv__io_big *b, uint32_t mul, uint32_t add)
{
    uint64_t carry = add;
    int i;
    for (i = 0; i < b->n; i++) {
        carry += (uint64_t)b->w[i] * mul;
        b->w[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry) spmv__io_big_push(b, (uint32_t)carry);
}

/* b = b * 5^power, by steps of 5^13, the highest power that fits 32 bits */
static void spmv__io_big_pow5(spmv__io_big *b, int64_t power)
{
    for (; power >= 13; power -= 13) spmv__io_big_mul(b, 1220703125u, 0);
    for (; power > 0; power--) spmv__io_big_mul(b, 5, 0);
}

/* b = b * 2^bits */
static void spmv__io_big_shift(spmv__io_big *b, int64_t bits)
{
    int words = (int)(bits / 32), i;
    if (b->n == 0) return;
    spmv__io_big_mul(b, (uint32_t)1 << (bits % 32), 0);
    if (words == 0) return;
    SPMV_ASSERT(b->n + words <= SPMV__IO_WORDS);
    memmove(b->w + words, b->w, (size_t)b->n * sizeof b->w[0]);
    for (i = 0; i < words; i++) b->w[i] = 0;
    b->n += words;
}

static int spmv__io_big_compare(const spmv__io_big *a, const spmv__io_big *b)
{
    int i;
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    for (i = a->n; i-- > 0;) {
        if (a->w[i] != b->w[i]) return a->w[i] < b->w[i] ? -1 : 1;
    }
    return 0;
}

/* b = b / div; returns the remainder */
static uint32_t spmv__io_big_divide(spmv__io_big *b, uint32_t div)
{
    uint64_t rest = 0;
    int i;
    for (i = b->n; i-- > 0;) {
        rest = rest << 32 | b->w[i];
        b->w[i] = (uint32_t)(rest / div);
        rest %= div;
    }
    while (b->n > 0 && b->w[b->n - 1] == 0) b->n--;
    return (uint32_t)rest;
}

/* ---- text to number -----------------------------------------------------------------------------------------------
 * value = m * 10^e is first formed in 64 bits with a bound on its error. If that does not decide which of two doubles is nearer (about
 * once in a hundred for 17 digits), the decimal is compared exactly with the middle between them. */
enum {
    SPMV__IO_EXACT_DIGITS = 19,   /* decimal digits that always fit 64 bits */
    SPMV__IO_MOST_TEN     = 308,  /* m * 10^e is infinite for a higher e, m being at least 1 */
    SPMV__IO_LEAST_TEN    = -343, /* and rounds to 0 for a lower one, m being below 10^19 */
    SPMV__IO_TOP_EXPONENT = 1023, /* of two, of the largest doubles, and ... */
    SPMV__IO_LOW_EXPONENT = -1022,/* ... of the smallest normal ones */
    SPMV__IO_MANTISSA     = 52    /* bits of a double after the leading one */
};
typedef struct spmv__io_decimal {
    const char *digits, *stop; /* the significand as written, point and leading zeros included */
    int64_t exponent;          /* the exponent as written */
    uint64_t m;                /* the first significant digits, up to SPMV__IO_EXACT_DIGITS */
    int64_t e;                 /* power of ten of m */
    int more;                  /* 1: m leaves out digits that are not 0, so that the true m is up to 1 larger */
} spmv__io_decimal;

static int spmv__io_is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static int spmv__io_leading_zeros(uint64_t v)
{
#if defined(__GNUC__)
    return __builtin_clzll((spmv__ull)v);
#else
    int n = 0;
    for (; !(v >> 63); v <<= 1) n++;
    return n;
#endif
}

/* Returns the upper half of a * b; *low becomes the lower. */
static uint64_t spmv__io_multiply(uint64_t a, uint64_t b, uint64_t *low)
{
    uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    uint64_t low0 = a0 * b0, mid = a1 * b0 + (low0 >> 32), mid2 = a0 * b1 + (mid & 0xffffffffu);
    *low = mid2 << 32 | (low0 & 0xffffffffu);
    return a1 * b1 + (mid >> 32) + (mid2 >> 32);
}

/* Powers of five: 5^(28 k) is about top * 2^exponent, for k from -13; top is rounded down, so that the true value is less than 1 above it.
 * 5^27 is the highest power that fits 64 bits. */
enum { SPMV__IO_POW5_STEP = 28, SPMV__IO_POW5_ONE = 13 /* place of 5^0 in the table */ };
static const struct { uint64_t top; int exponent; } spmv__io_pow5_28[] = {
    {0xe1afa13afbd14d6du, -909}, {0xe3e27a444d8d98b7u, -844}, {0xe61acf033d1a45dfu, -779},
    {0xe858ad248f5c22c9u, -714}, {0xea9c227723ee8bcbu, -649}, {0xece53cec4a314ebdu, -584},
    {0xef340a98172aace4u, -519}, {0xf18899b1bc3f8ca1u, -454}, {0xf3e2f893dec3f126u, -389},
    {0xf64335bcf065d37du, -324}, {0xf8a95fcf88747d94u, -259}, {0xfb158592be068d2eu, -194},
    {0xfd87b5f28300ca0du, -129}, {0x8000000000000000u, -63},  {0x813f3978f8940984u, 2},
    {0x82818f1281ed449fu, 67},   {0x83c7088e1aab65dbu, 132},  {0x850fadc09923329eu, 197},
    {0x865b86925b9bc5c2u, 262},  {0x87aa9aff79042286u, 327},  {0x88fcf317f22241e2u, 392},
    {0x8a5296ffe33cc92fu, 457},  {0x8bab8eefb6409c1au, 522},  {0x8d07e33455637eb2u, 587},
    {0x8e679c2f5e44ff8fu, 652}
};

static const uint64_t spmv__io_pow5[] = {
    1u, 5u, 25u, 125u, 625u, 3125u, 15625u, 78125u, 390625u, 1953125u, 9765625u, 48828125u, 244140625u, 1220703125u,
    6103515625u, 30517578125u, 152587890625u, 762939453125u, 3814697265625u, 19073486328125u, 95367431640625u,
    476837158203125u, 2384185791015625u, 11920928955078125u, 59604644775390625u, 298023223876953125u,
    1490116119384765625u, 7450580596923828125u
};

/* A value in [top, top + error] * 2^exponent, top with its highest bit set. */
typedef struct spmv__io_approx {
    uint64_t top, error;
    int exponent;
} spmv__io_approx;

/* Multiplies by a number in [factor, factor + error] * 2^exponent, factor with its highest bit set. */
static void spmv__io_approx_mul(spmv__io_approx *a, uint64_t factor, uint64_t error, int exponent)
{
    uint64_t low, high = spmv__io_multiply(a->top, factor, &low);
    a->error += error + (low != 0);
    a->exponent += exponent + 64;
    if (!(high >> 63)) {
        high = high << 1 | low >> 63;
        a->error *= 2;
        a->exponent--;
    }
    a->top = high;
}

/* m * 10^e for m > 0 and SPMV__IO_LEAST_TEN <= e <= SPMV__IO_MOST_TEN. more: the true m is up to 1 larger. */
static spmv__io_approx spmv__io_approx_from(uint64_t m, int e, int more)
{
    int zeros = spmv__io_leading_zeros(m), from_first = e + SPMV__IO_POW5_ONE * SPMV__IO_POW5_STEP;
    int coarse = from_first / SPMV__IO_POW5_STEP, fine = from_first % SPMV__IO_POW5_STEP;
    spmv__io_approx a;
    a.top = m << zeros;
    a.error = more ? (uint64_t)1 << zeros : 0;
    a.exponent = e - zeros;
    if (fine) {
        zeros = spmv__io_leading_zeros(spmv__io_pow5[fine]);
        spmv__io_approx_mul(&a, spmv__io_pow5[fine] << zeros, 0, -zeros);
    }
    if (coarse != SPMV__IO_POW5_ONE) spmv__io_approx_mul(&a, spmv__io_pow5_28[coarse].top, 1, spmv__io_pow5_28[coarse].exponent);
    return a;
}

/* The sign of the decimal minus odd * 2^exponent, found exactly. */
static int spmv__io_compare(const spmv__io_decimal *d, uint64_t odd, int64_t exponent)
{
    spmv__io_big left, right;
    const char *p;
    int64_t five = d->exponent;
    int taken = 0, fraction = 0, rest = 0;
    left.n = 0;
    /* no middle of two doubles has more digits than are kept: of the others it only matters whether any is not 0 */
    for (p = d->digits; p < d->stop; p++) {
        if (*p == '.') {
            fraction = 1;
        } else if (taken < SPMV__IO_DIGITS) {
            spmv__io_big_mul(&left, 10, (uint32_t)(*p - '0'));
            taken += left.n > 0;
            five -= fraction;
        } else {
            rest |= *p != '0';
            five += !fraction;
        }
    }
    if (rest) {
        spmv__io_big_mul(&left, 10, 1);
        five--;
    }
    spmv__io_big_from(&right, odd);
    spmv__io_big_pow5(five >= 0 ? &left : &right, five >= 0 ? five : -five);
    exponent -= five;
    spmv__io_big_shift(exponent >= 0 ? &right : &left, exponent >= 0 ? exponent : -exponent);
    return spmv__io_big_compare(&left, &right);
}

static double spmv__io_from_bits(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static uint64_t spmv__io_bits(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

#define SPMV__IO_INFINITY ((uint64_t)0x7ff << SPMV__IO_MANTISSA)

/* The double that is nearest to the decimal. */
static double spmv__io_round(const spmv__io_decimal *d)
{
    spmv__io_approx a;
    uint64_t mant, rest, half;
    int exponent, shift, order, up;
    if (d->m == 0 || d->e < SPMV__IO_LEAST_TEN) return 0;
    if (d->e > SPMV__IO_MOST_TEN) return spmv__io_from_bits(SPMV__IO_INFINITY);
    if (d->e == 0 && !d->more && d->m >> (SPMV__IO_MANTISSA + 1) == 0) return (double)d->m;
    a = spmv__io_approx_from(d->m, (int)d->e, d->more);
    exponent = a.exponent + 63;
    if (exponent > SPMV__IO_TOP_EXPONENT) return spmv__io_from_bits(SPMV__IO_INFINITY);
    shift = 63 - SPMV__IO_MANTISSA;
    if (exponent < SPMV__IO_LOW_EXPONENT) shift += SPMV__IO_LOW_EXPONENT - exponent; /* subnormal doubles have fewer bits */
    if (shift > 65) return 0;
    mant = shift < 64 ? a.top >> shift : 0;
    rest = shift < 64 ? a.top & (((uint64_t)1 << shift) - 1) : a.top;
    half = shift < 65 ? (uint64_t)1 << (shift - 1) : 0;
    if (shift < 65 && (rest > half || half - rest > a.error)) {
        up = rest > half;
    } else {
        order = spmv__io_compare(d, 2 * mant + 1, (int64_t)a.exponent + shift - 1);
        up = order > 0 || (order == 0 && (mant & 1));
    }
    /* the leading bit of a normal mantissa adds 1 to the exponent, and so does a carry out of it */
    if (exponent >= SPMV__IO_LOW_EXPONENT) mant += (uint64_t)(exponent - SPMV__IO_LOW_EXPONENT) << SPMV__IO_MANTISSA;
    return spmv__io_from_bits(mant + (uint64_t)up);
}

/* Sets m, e and more of a significand with more than SPMV__IO_EXACT_DIGITS digits. */
static void spmv__io_scan_long(spmv__io_decimal *d)
{
    const char *p;
    int taken = 0, fraction = 0;
    d->m = 0;
    d->e = d->exponent;
    for (p = d->digits; p < d->stop; p++) {
        if (*p == '.') {
            fraction = 1;
        } else if (taken < SPMV__IO_EXACT_DIGITS) {
            d->m = d->m * 10 + (uint64_t)(*p - '0');
            taken += d->m > 0;
            d->e -= fraction;
        } else {
            d->more |= *p != '0';
            d->e += !fraction;
        }
    }
}

/* Reads the exponent after its letter, limited to what cannot overflow later. Returns what follows it; NULL if there is none. */
static const char *spmv__io_scan_exponent(const char *p, int64_t *out)
{
    const int64_t limit = INT64_MAX / 16;
    const char *start;
    int negative = *p == '-';
    int64_t e = 0;
    p += *p == '-' || *p == '+';
    for (start = p; spmv__io_is_digit(*p); p++) e = e < limit / 16 ? e * 10 + (*p - '0') : limit;
    *out = negative ? -e : e;
    return p == start ? NULL : p;
}

/* Reads an unsigned decimal; returns what follows it, or NULL if there is none. */
static const char *spmv__io_scan(const char *p, spmv__io_decimal *d)
{
    const char *point = NULL;
    uint64_t m = 0;
    d->digits = p;
    d->exponent = 0;
    d->more = 0;
    for (; spmv__io_is_digit(*p); p++) m = m * 10 + (uint64_t)(*p - '0');
    if (*p == '.') {
        point = p++;
        for (; spmv__io_is_digit(*p); p++) m = m * 10 + (uint64_t)(*p - '0');
    }
    d->stop = p;
    if (p - d->digits == (point != NULL)) return NULL;
    if (*p == 'e' || *p == 'E' || *p == 'd' || *p == 'D') p = spmv__io_scan_exponent(p + 1, &d->exponent);
    d->m = m;
    d->e = d->exponent - (point ? d->stop - point - 1 : 0);
    if (d->stop - d->digits - (point != NULL) > SPMV__IO_EXACT_DIGITS) spmv__io_scan_long(d);
    return p;
}

/* Skips word, which is given in lower case; NULL if it is not there. */
static const char *spmv__io_word(const char *p, const char *word)
{
    for (; *word; p++, word++) {
        if ((*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p) != *word) return NULL;
    }
    return p;
}

/* Reads a number with its sign; returns what follows it, or NULL if there is none. The text must end in something that is not part of a
 * number. */
static const char *spmv__io_number(const char *p, int integer, double *out)
{
    spmv__io_decimal d;
    const char *after;
    int negative = *p == '-';
    double v;
    p += *p == '-' || *p == '+';
    if (spmv__io_is_digit(*p) || (*p == '.' && !integer)) {
        after = spmv__io_scan(p, &d);
        if (!after) return NULL;
        if (integer && (after != d.stop || memchr(p, '.', (size_t)(after - p)))) return NULL;
        v = spmv__io_round(&d);
    } else if (integer) {
        return NULL;
    } else if ((after = spmv__io_word(p, "nan")) != NULL) {
        v = spmv__io_from_bits(SPMV__IO_INFINITY | (uint64_t)1 << (SPMV__IO_MANTISSA - 1)); /* a quiet one */
    } else {
        after = spmv__io_word(p, "infinity");
        if (!after) after = spmv__io_word(p, "inf");
        v = spmv__io_from_bits(SPMV__IO_INFINITY);
    }
    *out = negative ? -v : v;
    return after;
}

SPMV_API int spmv_number_from(const char *text, double *out)
{
    if (!text || !out) return 0;
    double v;
    const char *after = spmv__io_number(text, 0, &v);
    if (!after || *after) return 0;
    *out = v;
    return 1;
}

/* ---- number to text ---------------------------------------------------------------------------------------------- */

static size_t spmv__io_count_text(char *out, uint64_t n)
{
    char digits[20];
    size_t length = 0, i;
    do digits[length++] = (char)('0' + (int)(n % 10));
    while (n /= 10);
    for (i = 0; i < length; i++) out[i] = digits[length - 1 - i];
    return length;
}

/* All decimal digits of m * 2^e, which are finitely many, at the end of a buffer of size bytes. Returns the place of
 * the first; the value is the digits times 10^*ten. */
static size_t spmv__io_all_digits(char *buffer, size_t size, uint64_t m, int e, int *ten)
{
    spmv__io_big b;
    size_t at = size;
    int i;
    for (; !(m & 1) && e < 0; e++) m >>= 1;
    spmv__io_big_from(&b, m);
    if (e >= 0) spmv__io_big_shift(&b, e);
    else spmv__io_big_pow5(&b, -e); /* m / 2^k = m * 5^k / 10^k */
    *ten = e < 0 ? e : 0;
    while (b.n) {
        uint32_t group = spmv__io_big_divide(&b, 1000000000u);
        for (i = 0; i < 9; i++, group /= 10) buffer[--at] = (char)('0' + (int)(group % 10));
    }
    while (buffer[at] == '0') at++;
    return at;
}

/* Rounds n digits to at most keep, ties to even, and takes zeros off the end. Returns how many are left; *carry is 1 if
 * they became 1 and the point moved. */
static size_t spmv__io_round_digits(char *digits, size_t n, size_t keep, int *carry)
{
    int up = 0;
    size_t i;
    *carry = 0;
    if (n > keep) {
        for (i = keep + 1; i < n && digits[i] == '0'; i++) { }
        up = digits[keep] > '5' || (digits[keep] == '5' && (i < n || digits[keep - 1] % 2));
        n = keep;
        while (up && n > 0 && digits[n - 1] == '9') n--;
        if (up && n > 0) digits[n - 1]++;
    }
    if (n == 0) {
        digits[0] = '1';
        *carry = 1;
        return 1;
    }
    while (n > 1 && digits[n - 1] == '0') n--;
    return n;
}

/* Writes 0.DIGITS * 10^point, without an exponent where that takes few zeros, and returns the length. limit: the most digits before the
 * point. */
static size_t spmv__io_lay_out(char *out, const char *digits, size_t n, int point, size_t limit)
{
    size_t length = 0, i;
    const int most_zeros = 3; /* between the point and the first digit, as %g of printf has */
    if (point >= -most_zeros && point <= (int)limit) {
        if (point <= 0) {
            out[length++] = '0';
            out[length++] = '.';
            for (; point < 0; point++) out[length++] = '0';
            point = -1;
        }
        for (i = 0; i < n || (int)i < point; i++) {
            if ((int)i == point) out[length++] = '.';
            out[length++] = i < n ? digits[i] : '0';
        }
        return length;
    }
    out[length++] = digits[0];
    if (n > 1) out[length++] = '.';
    for (i = 1; i < n; i++) out[length++] = digits[i];
    out[length++] = 'e';
    point--;
    out[length++] = point < 0 ? '-' : '+';
    return length + spmv__io_count_text(out + length, (uint64_t)(point < 0 ? -point : point));
}

SPMV_API size_t spmv_number_text(char out[SPMV_NUMBER_TEXT], double v, int digits)
{
    if (!out) return 0;
    char all[SPMV__IO_DIGITS];
    uint64_t bits = spmv__io_bits(v), mant = bits & (((uint64_t)1 << 52) - 1);
    int exponent = (int)(bits >> 52 & 0x7ff), ten, carry;
    size_t length = bits >> 63 ? 1 : 0, keep = (size_t)(digits < 1 ? 1 : digits > 17 ? 17 : digits), first, count;
    if (length) out[0] = '-';
    if (exponent == 0x7ff) {
        memcpy(out + length, mant ? "nan" : "inf", 3);
        length += 3;
    } else if ((bits << 1) == 0) {
        out[length++] = '0';
    } else {
        mant |= exponent ? (uint64_t)1 << 52 : 0;
        first = spmv__io_all_digits(all, sizeof all, mant, (exponent ? exponent : 1) - 1075, &ten);
        count = spmv__io_round_digits(all + first, sizeof all - first, keep, &carry);
        length += spmv__io_lay_out(out + length, all + first, count, (int)(sizeof all - first) + ten + carry, keep);
    }
    out[length] = 0;
    return length;
}

/* ---- lines --------------------------------------------------------------------------------------------------------
 * The source is read in pieces. The buffer always holds whole lines; where the source lacks the last line feed, one is added, so that
 * nothing below has to check for the end of the buffer. The size of the buffer also limits a line (the standard allows 1024 bytes). Of a
 * comment that does not fit nothing is kept. */
enum { SPMV__MM_BUFFER = 1 << 16 }; /* bytes */

typedef struct spmv__mm_in {
    const spmv_source *src;
    const spmv_hooks *hooks;
    char *buffer;          /* SPMV__MM_BUFFER bytes and one for the line feed that is added */
    size_t filled;         /* bytes */
    char *p;               /* where the parser is */
    char *safe;            /* the end of the last whole line */
    char *line_start;
    uint64_t line, bytes;  /* lines begun, bytes read */
    uint64_t sizes_line;   /* the line with the sizes, for messages */
    int ended;             /* 1: the source has ended */
    int in_comment;        /* 1: the next bytes belong to a comment of which nothing is kept */
    int cut;               /* 1: the source ended within the last word of its last line */
} spmv__mm_in;

static const char *spmv__io_name(const char *name, const char *other)
{
    return name ? name : other;
}

static spmv_status spmv__io_read_failed(const spmv_source *src, const spmv_hooks *hooks)
{
    return spmv_log(hooks, SPMV_ERR_IO, "%s: reading failed", spmv__io_name(src->name, "input"));
}

static spmv_status spmv__mm_refuse_at(const spmv__mm_in *in, spmv_status s, const char *at, const char *expected,
                                      const char *found)
{
    return spmv_log(in->hooks, s, "%s:%llu:%llu: expected %s, found %s", spmv__io_name(in->src->name, "input"), (spmv__ull)in->line,
                    (spmv__ull)(at - in->line_start) + 1, expected, found);
}

/* Refuses the word that begins at at and quotes its beginning; characters that do not print become "?". */
static spmv_status spmv__mm_refuse(const spmv__mm_in *in, spmv_status s, const char *at, const char *expected)
{
    char found[32];
    size_t n = 0;
    found[n++] = '\'';
    for (; n < 28 && at[n - 1] != '\n' && at[n - 1] != ' ' && at[n - 1] != '\t'; n++) {
        if (at[n - 1] == '\r' && at[n] == '\n') break;
        found[n] = at[n - 1] > ' ' && at[n - 1] < 127 ? at[n - 1] : '?';
    }
    if (n == 1) return spmv__mm_refuse_at(in, s, at, expected, "the end of the line");
    found[n++] = '\'';
    found[n] = 0;
    return spmv__mm_refuse_at(in, s, at, expected, found);
}

static spmv_status spmv__mm_refuse_end(const spmv__mm_in *in, const char *expected)
{
    return spmv_log(in->hooks, SPMV_ERR_PARSE, "%s:%llu: expected %s, found the end of the file",
                    spmv__io_name(in->src->name, "input"), (spmv__ull)(in->line ? in->line : 1), expected);
}

static spmv_status spmv__mm_open(spmv__mm_in *in)
{
    in->buffer = (char *)spmv__resize(in->hooks, NULL, SPMV__MM_BUFFER + 1);
    in->p = in->safe = in->buffer;
    if (in->buffer) return SPMV_OK;
    return spmv_log(in->hooks, SPMV_ERR_MEMORY, "%s:1: no memory for a line of %llu bytes",
                    spmv__io_name(in->src->name, "input"), (spmv__ull)SPMV__MM_BUFFER);
}

static spmv_status spmv__mm_refuse_kind(const spmv__mm_in *in, const char *kind)
{
    return spmv_log(in->hooks, SPMV_ERR_PARSE, "%s:1: expected %%%%MatrixMarket, found %s", spmv__io_name(in->src->name, "input"), kind);
}

/* The bytes of a UTF-8 byte order mark at p, 0 if there is none. */
static size_t spmv__mm_order_mark(const unsigned char *p)
{
    return p[0] == 0xef && p[1] == 0xbb && p[2] == 0xbf ? 3 : 0;
}

/* What a file is that begins like this, and what to do with it; NULL if that is not known. */
static const char *spmv__mm_kind(const char *data, size_t bytes)
{
    static const struct {
        size_t at, size;
        const char *bytes, *text;
    } kinds[] = {
        {0, 2, "\x1f\x8b", "a file that gzip compressed: gunzip it first"},
        {0, 6, "\xfd" "7zXZ\0", "a file that xz compressed: unxz it first"},
        {0, 3, "BZh", "a file that bzip2 compressed: bunzip2 it first"},
        {0, 4, "\x28\xb5\x2f\xfd", "a file that zstd compressed: unzstd it first"},
        {0, 6, "7z\xbc\xaf\x27\x1c", "a 7z archive: extract the .mtx file first"},
        {0, 4, "PK\3\4", "a zip archive or an .npz file of NumPy: extract the .mtx file, or write the matrix with scipy.io.mmwrite, first"},
        {0, 6, "\x93NUMPY", "a file of NumPy: write the matrix with scipy.io.mmwrite first"},
        {0, 7, "MATLAB ", "a .mat file of MATLAB: write the matrix with mmwrite (MATLAB or scipy.io) first"},
        {0, 8, "\x89HDF\r\n\x1a\n", "an HDF5 or .mat file: write the matrix with mmwrite (MATLAB or scipy.io) first"},
        {0, 8, "\x89SPMV\r\n\x1a", "a file of the binary form: spmv_bin_read reads it"},
        {257, 5, "ustar", "a tar archive: extract the .mtx file first"}
    };
    size_t i;
    for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (bytes >= kinds[i].at + kinds[i].size && !memcmp(data + kinds[i].at, kinds[i].bytes, kinds[i].size)) return kinds[i].text;
    return NULL;
}

/* The buffer is full and holds one line without its end: removes the comment in it, or refuses the line. In the banner, which begins with
 * two %, only a later one begins a comment. */
static spmv_status spmv__mm_drop_comment(spmv__mm_in *in)
{
    size_t from = in->line ? 0 : 2 + spmv__mm_order_mark((const unsigned char *)in->buffer);
    const char *comment = (const char *)memchr(in->buffer + from, '%', SPMV__MM_BUFFER - from);
    const char *kind = in->line ? NULL : spmv__mm_kind(in->buffer, in->filled);
    if (kind) return spmv__mm_refuse_kind(in, kind);
    if (!comment) {
        return spmv_log(in->hooks, SPMV_ERR_PARSE, "%s:%llu: expected a line of at most %llu bytes, found a longer one",
                        spmv__io_name(in->src->name, "input"), (spmv__ull)in->line + 1, (spmv__ull)SPMV__MM_BUFFER);
    }
    in->filled = (size_t)(comment - in->buffer);
    in->in_comment = 1;
    return SPMV_OK;
}

/* Of the got bytes just read, drops those that still belong to the comment; returns how many are left. */
static size_t spmv__mm_pass_comment(spmv__mm_in *in, size_t got)
{
    char *from = in->buffer + in->filled, *end = (char *)memchr(from, '\n', got);
    if (!end) return 0;
    in->in_comment = 0;
    got -= (size_t)(end - from);
    memmove(from, end, got);
    return got;
}

/* The source has ended and the buffer holds a line without a line feed: adds one. */
static void spmv__mm_end_source(spmv__mm_in *in)
{
    char last = in->buffer[in->filled - 1];
    in->cut = last != ' ' && last != '\t' && last != '\r' && !in->in_comment && !memchr(in->buffer, '%', in->filled);
    in->buffer[in->filled++] = '\n';
}

/* Reads until the buffer holds a whole line or the source ends. */
static spmv_status spmv__mm_fill(spmv__mm_in *in)
{
    size_t kept = in->filled - (size_t)(in->p - in->buffer), whole = 0, i;
    if (kept) memmove(in->buffer, in->p, kept);
    in->filled = kept;
    while (!whole && !in->ended) {
        size_t got;
        spmv_status s = in->filled == SPMV__MM_BUFFER ? spmv__mm_drop_comment(in) : SPMV_OK;
        if (s) return s;
        got = in->src->read(in->src->user, in->buffer + in->filled, SPMV__MM_BUFFER - in->filled);
        if (got > SPMV__MM_BUFFER - in->filled) return spmv__io_read_failed(in->src, in->hooks);
        in->bytes += got;
        in->ended = got == 0;
        if (in->in_comment && got) got = spmv__mm_pass_comment(in, got);
        for (i = in->filled + got; i > in->filled && !whole; i--) whole = in->buffer[i - 1] == '\n' ? i : 0;
        in->filled += got;
    }
    if (in->ended && in->filled) {
        spmv__mm_end_source(in);
        whole = in->filled;
    }
    in->p = in->buffer;
    in->safe = in->buffer + whole;
    return SPMV_OK;
}

static char *spmv__mm_blanks(char *p)
{
    while (*p == ' ' || *p == '\t') p++;
    return p;
}

/* Goes to the start of the next line, whatever is in it. *found: 0 at the end. */
static spmv_status spmv__mm_line(spmv__mm_in *in, int *found)
{
    spmv_status s = SPMV_OK;
    if (in->p == in->safe) s = spmv__mm_fill(in);
    *found = !s && in->p != in->safe;
    in->line_start = in->p;
    in->line += (uint64_t)*found;
    return s;
}

/* Goes to the first word of the next line that has one; skips blank lines and comments. *found: 0 at the end. */
static spmv_status spmv__mm_next(spmv__mm_in *in, int *found)
{
    for (;;) {
        spmv_status s = spmv__mm_line(in, found);
        if (s || !*found) return s;
        in->p = spmv__mm_blanks(in->p);
        if (*in->p == '%') in->p = (char *)memchr(in->p, '\n', (size_t)(in->safe - in->p));
        else if (*in->p == '\r' && in->p[1] == '\n') in->p++;
        if (*in->p != '\n') return SPMV_OK;
        in->p++;
    }
}

/* Skips the rest of a line, which may only have blanks and a comment. */
static spmv_status spmv__mm_end_line(spmv__mm_in *in)
{
    char *p = spmv__mm_blanks(in->p);
    if (*p == '%') p = (char *)memchr(p, '\n', (size_t)(in->safe - p));
    else if (*p == '\r' && p[1] == '\n') p++;
    if (*p != '\n') return spmv__mm_refuse(in, SPMV_ERR_PARSE, p, "the end of the line");
    in->p = p + 1;
    return SPMV_OK;
}

static int spmv__mm_ends(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '%';
}

/* Reads a whole number without a sign, at most UINT64_MAX; returns what follows it, NULL if there is none. */
static char *spmv__mm_count(char *p, uint64_t *out)
{
    char *start = p;
    uint64_t n = 0, digit;
    for (; spmv__io_is_digit(*p); p++) n = n * 10 + (uint64_t)(*p - '0');
    if (p - start > SPMV__IO_EXACT_DIGITS) { /* it may have wrapped */
        for (n = 0, p = start; spmv__io_is_digit(*p); p++) {
            digit = (uint64_t)(*p - '0');
            n = n > (UINT64_MAX - digit) / 10 ? UINT64_MAX : n * 10 + digit;
        }
    }
    *out = n;
    return p == start || !spmv__mm_ends(*p) ? NULL : p;
}

/* ---- banner and sizes -------------------------------------------------------------------------------------------- */
#define SPMV__MM_MOST_DIM (((uint64_t)1 << 32) - 2)   /* rows or columns: spmv_csr has 32-bit columns, and 2^32 - 1 marks padding */
#define SPMV__MM_MOST_ENTRIES ((uint64_t)1 << 60)     /* entries; no overflow with their mirror images */
/* The default of max_dim, in rows or columns. FREE_DIM is what every matrix may have, as 8 MiB of row pointers are no burden;
 * DIM_PER_NONZERO allows for nearly empty rows: one in 64 holds a nonzero, which in a text file takes about as many bytes. */
#define SPMV__IO_FREE_DIM ((uint64_t)1 << 20)
#define SPMV__IO_DIM_PER_NONZERO 64u

/* Checks the dimensions of a matrix in either form against max_dim. line: the line of the file that has them, 0: it has no lines. */
static spmv_status spmv__io_check_dims(const spmv_source *src, uint64_t line, uint64_t rows, uint64_t cols, uint64_t nnz,
                                       uint64_t max_dim, const spmv_hooks *hooks)
{
    uint64_t most = max_dim ? max_dim : SPMV__IO_FREE_DIM + (nnz < SPMV__MM_MOST_DIM ? SPMV__IO_DIM_PER_NONZERO * nnz : nnz);
    char where[24] = "";
    if (rows <= most && cols <= most) return SPMV_OK;
    if (line) spmv_print(where, sizeof where, ":%llu", (spmv__ull)line);
    return spmv_log(hooks, SPMV_ERR_TOO_LARGE, "%s%s: expected at most %llu rows and columns for %llu nonzeros (max_dim sets another "
                    "limit; on the command line --max-dim), found %llu x %llu", spmv__io_name(src->name, "input"), where, (spmv__ull)most,
                    (spmv__ull)nnz, (spmv__ull)rows, (spmv__ull)cols);
}

typedef struct spmv__mm_choice {
    const char *word;
    int value;
} spmv__mm_choice;

/* Reads the next word of the banner, which must be one of the choices (ended by word NULL). */
static spmv_status spmv__mm_choose(spmv__mm_in *in, const spmv__mm_choice *choice, const char *expected, int *out)
{
    char *at = spmv__mm_blanks(in->p);
    for (; choice->word; choice++) {
        const char *after = spmv__io_word(at, choice->word);
        if (!after || !spmv__mm_ends(*after)) continue;
        *out = choice->value;
        in->p = at + (after - at);
        return SPMV_OK;
    }
    return spmv__mm_refuse(in, SPMV_ERR_PARSE, at, expected);
}

static spmv_status spmv__mm_check_kind(const spmv__mm_in *in, const spmv_mm_info *info)
{
    if (info->field == SPMV_MM_COMPLEX || info->symmetry == SPMV_MM_HERMITIAN)
        return spmv__mm_refuse_at(in, SPMV_ERR_COMPLEX, in->line_start, "a real matrix", "a complex or hermitian one");
    if (info->field == SPMV_MM_PATTERN && info->array)
        return spmv__mm_refuse_at(in, SPMV_ERR_PARSE, in->line_start, "values in an array file", "pattern");
    if (info->field == SPMV_MM_PATTERN && info->symmetry == SPMV_MM_SKEW)
        return spmv__mm_refuse_at(in, SPMV_ERR_PARSE, in->line_start, "values in a skew-symmetric file", "pattern");
    return SPMV_OK;
}

/* Reads line 1 into info. */
static spmv_status spmv__mm_banner(spmv__mm_in *in, spmv_mm_info *info)
{
    static const spmv__mm_choice magic[] = {{"%%matrixmarket", 0}, {NULL, 0}}, object[] = {{"matrix", 0}, {NULL, 0}},
        layout[] = {{"coordinate", 0}, {"array", 1}, {NULL, 0}},
        field[] = {{"real", SPMV_MM_REAL}, {"integer", SPMV_MM_INTEGER}, {"unsigned-integer", SPMV_MM_INTEGER},
                   {"pattern", SPMV_MM_PATTERN}, {"complex", SPMV_MM_COMPLEX}, {NULL, 0}},
        symmetry[] = {{"general", SPMV_MM_GENERAL}, {"symmetric", SPMV_MM_SYMMETRIC}, {"skew-symmetric", SPMV_MM_SKEW},
                      {"hermitian", SPMV_MM_HERMITIAN}, {NULL, 0}};
    int found, value = 0;
    spmv_status s = spmv__mm_line(in, &found);
    if (!s && !found) s = spmv__mm_refuse_end(in, "%%MatrixMarket");
    if (!s) in->p += spmv__mm_order_mark((const unsigned char *)in->p);
    if (!s && spmv__mm_kind(in->buffer, in->filled)) return spmv__mm_refuse_kind(in, spmv__mm_kind(in->buffer, in->filled));
    if (!s && *in->p != '%') s = spmv__mm_refuse(in, SPMV_ERR_PARSE, in->p, "%%MatrixMarket");
    if (!s) s = spmv__mm_choose(in, magic, "%%MatrixMarket", &value);
    if (!s) s = spmv__mm_choose(in, object, "matrix", &value);
    if (!s) s = spmv__mm_choose(in, layout, "coordinate or array", &value);
    if (s) return s;
    info->array = value;
    s = spmv__mm_choose(in, field, "real, integer or pattern", &value);
    if (s) return s;
    info->field = (spmv_mm_field)value;
    s = spmv__mm_choose(in, symmetry, "general, symmetric or skew-symmetric", &value);
    if (s) return s;
    info->symmetry = (spmv_mm_symmetry)value;
    s = spmv__mm_end_line(in);
    return s ? s : spmv__mm_check_kind(in, info);
}

static spmv_status spmv__mm_size(spmv__mm_in *in, const char *expected, uint64_t most, uint64_t *out)
{
    char *at = spmv__mm_blanks(in->p), *after = spmv__mm_count(at, out), text[96];
    if (!after) return spmv__mm_refuse(in, SPMV_ERR_PARSE, at, expected);
    if (*out > most) {
        spmv_print(text, sizeof text, "%s of at most %llu", expected, (spmv__ull)most);
        return spmv__mm_refuse(in, SPMV_ERR_OVERFLOW, at, text);
    }
    in->p = after;
    return SPMV_OK;
}

static uint64_t spmv__mm_array_entries(const spmv_mm_info *info)
{
    uint64_t n = info->rows;
    if (info->symmetry == SPMV_MM_GENERAL || n == 0) return n * info->cols;
    return n * (info->symmetry == SPMV_MM_SYMMETRIC ? n + 1 : n - 1) / 2;
}

/* Reads the line of sizes into info. vector: 1 if only one column is accepted. */
static spmv_status spmv__mm_sizes(spmv__mm_in *in, spmv_mm_info *info, int vector)
{
    char text[64];
    int found;
    spmv_status s = spmv__mm_next(in, &found);
    in->sizes_line = in->line;
    if (!s && !found) s = spmv__mm_refuse_end(in, "the line of sizes");
    if (!s) s = spmv__mm_size(in, "a number of rows", SPMV__MM_MOST_DIM, &info->rows);
    if (!s) s = spmv__mm_size(in, "a number of columns", SPMV__MM_MOST_DIM, &info->cols);
    if (!s && !info->array) s = spmv__mm_size(in, "a number of entries", SPMV__MM_MOST_ENTRIES, &info->stored);
    if (s) return s;
    spmv_print(text, sizeof text, "%llu x %llu", (spmv__ull)info->rows, (spmv__ull)info->cols);
    if (vector && info->cols != 1)
        return spmv__mm_refuse_at(in, SPMV_ERR_PARSE, in->line_start, "a vector, of one column", text);
    if (info->symmetry != SPMV_MM_GENERAL && info->rows != info->cols)
        return spmv__mm_refuse_at(in, SPMV_ERR_PARSE, in->line_start, "as many rows as columns", text);
    if (info->stored && (!info->rows || !info->cols))
        return spmv__mm_refuse_at(in, SPMV_ERR_PARSE, in->line_start, "no entries in an empty matrix", text);
    if (info->array) info->stored = spmv__mm_array_entries(info);
    return spmv__mm_end_line(in);
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */
typedef struct spmv__mm_coo {
    uint32_t *row, *col; /* zero-based */
    double *val;         /* NULL for pattern */
    uint64_t count, room;
    int pattern;
    int zeros;           /* 1: zeros of array files are entries too */
    uint64_t sizes_line; /* for messages: where the sizes stand */
    uint64_t cut_line;   /* and where a number may be cut, 0: nowhere */
} spmv__mm_coo;

static int spmv__io_resize(const spmv_hooks *hooks, void **block, uint64_t count, uint64_t size)
{
    void *wider = count <= SIZE_MAX / 2 / size ? spmv__resize(hooks, *block, (size_t)(count * size)) : NULL;
    if (wider) *block = wider;
    return wider != NULL;
}

/* Makes room for so many entries. On failure c keeps the blocks it has. */
static spmv_status spmv__mm_reserve(spmv__mm_coo *c, const spmv__mm_in *in, uint64_t room)
{
    void *row = c->row, *col = c->col, *val = c->val;
    int ok = spmv__io_resize(in->hooks, &row, room, sizeof *c->row) &&
             spmv__io_resize(in->hooks, &col, room, sizeof *c->col) &&
             (c->pattern || spmv__io_resize(in->hooks, &val, room, sizeof *c->val));
    c->row = (uint32_t *)row;
    c->col = (uint32_t *)col;
    c->val = (double *)val;
    if (!ok) {
        return spmv_log(in->hooks, SPMV_ERR_MEMORY, "%s:%llu: no memory for %llu entries",
                        spmv__io_name(in->src->name, "input"), (spmv__ull)in->line, (spmv__ull)room);
    }
    c->room = room;
    return SPMV_OK;
}

/* Makes room for more entries: twice as many, or as many as may still come if the source knows its length, but never more than the header
 * announces. */
static spmv_status spmv__mm_grow(spmv__mm_coo *c, const spmv__mm_in *in, const spmv_mm_info *info)
{
    uint64_t least = info->array ? 2 : c->pattern ? 4 : 6; /* bytes of the shortest entry: "0", "1 1", "1 1 0" */
    uint64_t room = c->room ? c->room * 2 : 1024, here = (uint64_t)(in->p - in->buffer);
    uint64_t left = in->src->bytes > in->bytes ? in->src->bytes - in->bytes + in->filled - here : in->filled - here;
    if (in->src->bytes && c->count + left / least + 1 > room) room = c->count + left / least + 1;
    return spmv__mm_reserve(c, in, room < info->stored ? room : info->stored);
}

static void spmv__mm_push(spmv__mm_coo *c, uint64_t row, uint64_t col, double v)
{
    c->row[c->count] = (uint32_t)row;
    c->col[c->count] = (uint32_t)col;
    if (!c->pattern) c->val[c->count] = v;
    c->count++;
}

static spmv_status spmv__mm_refuse_index(const spmv__mm_in *in, const char *at, const char *what, uint64_t most,
                                         int number)
{
    char text[64];
    spmv_print(text, sizeof text, "a %s index in 1 .. %llu", what, (spmv__ull)most);
    return spmv__mm_refuse(in, number ? SPMV_ERR_INDEX : SPMV_ERR_PARSE, at, text);
}

static spmv_status spmv__mm_too_few(const spmv__mm_in *in, const spmv_mm_info *info, uint64_t found)
{
    char text[80];
    spmv_print(text, sizeof text, "%llu entries, of which %llu came", (spmv__ull)info->stored, (spmv__ull)found);
    return spmv__mm_refuse_end(in, text);
}

/* Reads the value at at and moves the parser past it. */
static spmv_status spmv__mm_value(spmv__mm_in *in, const spmv_mm_info *info, char *at, double *out)
{
    int integer = info->field == SPMV_MM_INTEGER;
    const char *after = spmv__io_number(at, integer, out);
    if (!after || !spmv__mm_ends(*after))
        return spmv__mm_refuse(in, SPMV_ERR_PARSE, at, integer ? "an integer" : "a number");
    in->p = at + (after - at);
    return SPMV_OK;
}

/* Reads one line of a coordinate file. */
static spmv_status spmv__mm_entry(spmv__mm_in *in, const spmv_mm_info *info, spmv__mm_coo *c)
{
    char *at = in->p, *p;
    uint64_t row, col;
    double v = 1;
    p = spmv__mm_count(at, &row);
    if (!p || row - 1 >= info->rows) return spmv__mm_refuse_index(in, at, "row", info->rows, p != NULL);
    at = spmv__mm_blanks(p);
    p = spmv__mm_count(at, &col);
    if (!p || col - 1 >= info->cols) return spmv__mm_refuse_index(in, at, "column", info->cols, p != NULL);
    if (info->symmetry == SPMV_MM_SYMMETRIC && col > row)
        return spmv__mm_refuse(in, SPMV_ERR_PARSE, at, "a column on or below the diagonal of a symmetric file");
    if (info->symmetry == SPMV_MM_SKEW && col >= row)
        return spmv__mm_refuse(in, SPMV_ERR_PARSE, at, "a column below the diagonal of a skew-symmetric file");
    if (!c->pattern) {
        spmv_status s = spmv__mm_value(in, info, spmv__mm_blanks(p), &v);
        if (s) return s;
    } else {
        in->p = p;
    }
    spmv__mm_push(c, row - 1, col - 1, v);
    return spmv__mm_end_line(in);
}

static spmv_status spmv__mm_coordinate(spmv__mm_in *in, const spmv_mm_info *info, spmv__mm_coo *c)
{
    spmv_status s = SPMV_OK;
    while (!s && c->count < info->stored) {
        int found;
        s = spmv__mm_next(in, &found);
        if (!s && !found) s = spmv__mm_too_few(in, info, c->count);
        if (!s && c->count == c->room) s = spmv__mm_grow(c, in, info);
        if (!s) s = spmv__mm_entry(in, info, c);
    }
    return s;
}

/* Reads one line of an array file, the element at (row, col). */
static spmv_status spmv__mm_element(spmv__mm_in *in, const spmv_mm_info *info, spmv__mm_coo *c, uint64_t row,
                                    uint64_t col)
{
    double v = 0;
    spmv_status s = spmv__mm_value(in, info, in->p, &v);
    if (s) return s;
    if (v != 0 || c->zeros) {
        if (c->count == c->room) s = spmv__mm_grow(c, in, info);
        if (!s) spmv__mm_push(c, row, col, v);
    }
    return s ? s : spmv__mm_end_line(in);
}

/* Reads the elements of an array file, column by column. */
static spmv_status spmv__mm_array(spmv__mm_in *in, const spmv_mm_info *info, spmv__mm_coo *c)
{
    uint64_t row = info->symmetry == SPMV_MM_SKEW ? 1 : 0, col = 0, done;
    spmv_status s = SPMV_OK;
    for (done = 0; !s && done < info->stored; done++) {
        int found;
        s = spmv__mm_next(in, &found);
        if (!s && !found) s = spmv__mm_too_few(in, info, done);
        if (!s) s = spmv__mm_element(in, info, c, row, col);
        if (++row == info->rows) {
            col++;
            row = info->symmetry == SPMV_MM_GENERAL ? 0 : info->symmetry == SPMV_MM_SYMMETRIC ? col : col + 1;
        }
    }
    return s;
}

/* Makes the matrix of the entries, with their mirror images if the file holds one half. */
static spmv_status spmv__mm_to_csr(spmv_csr *out, const spmv__mm_coo *c, const spmv_mm_info *info, const spmv_mm_options *opt,
                                   const spmv_hooks *hooks)
{
    spmv_input input;
    memset(&input, 0, sizeof input);
    input.form = SPMV_IN_COO;
    input.rows = (int64_t)info->rows;
    input.cols = (int64_t)info->cols;
    input.nnz = (int64_t)c->count;
    input.row = c->row;
    input.col = c->col;
    input.val = c->val;
    input.val_type = SPMV_F64;
    input.symmetry = info->symmetry == SPMV_MM_SKEW ? SPMV_SKEW : info->symmetry == SPMV_MM_SYMMETRIC ? SPMV_SYMMETRIC : SPMV_GENERAL;
    input.drop_zeros = opt && opt->drop_zeros;
    return spmv_csr_from(out, &input, opt ? opt->store : SPMV_F64, hooks);
}

/* After the last entry: nothing may follow, and the dimensions must be in proportion to the entries. */
static spmv_status spmv__mm_finish(spmv__mm_in *in, const spmv_mm_info *info, const spmv__mm_coo *c, uint64_t max_dim)
{
    uint64_t nonzeros = info->symmetry == SPMV_MM_GENERAL ? c->count : 2 * c->count;
    int found;
    spmv_status s = spmv__mm_next(in, &found);
    if (s) return s;
    if (found) return spmv__mm_refuse(in, SPMV_ERR_PARSE, in->p, "the end of the file after the last entry");
    return spmv__io_check_dims(in->src, in->sizes_line, info->rows, info->cols, nonzeros, max_dim, in->hooks);
}

/* Reads a whole file into entries. */
static spmv_status spmv__mm_parse(spmv__mm_coo *c, const spmv_source *src, uint64_t max_dim, spmv_mm_info *info,
                                  int vector, const spmv_hooks *hooks)
{
    spmv__mm_in in;
    spmv_status s;
    memset(&in, 0, sizeof in);
    in.src = src;
    in.hooks = hooks;
    s = spmv__mm_open(&in);
    if (!s) s = spmv__mm_banner(&in, info);
    if (!s) s = spmv__mm_sizes(&in, info, vector);
    c->pattern = info->field == SPMV_MM_PATTERN;
    c->zeros = vector;
    if (!s) s = info->array ? spmv__mm_array(&in, info, c) : spmv__mm_coordinate(&in, info, c);
    if (!s) s = spmv__mm_finish(&in, info, c, max_dim);
    c->sizes_line = in.sizes_line;
    c->cut_line = in.cut ? in.line : 0;
    info->lines = in.line;
    info->bytes = in.bytes;
    spmv_free(hooks, in.buffer);
    return s;
}

/* Reads a matrix; vector: 1 if it must have one column and zeros of array files are kept. */
static spmv_status spmv__mm_read(spmv_csr *out, const spmv_source *src, const spmv_mm_options *opt, spmv_mm_info *info,
                                 int vector, const spmv_hooks *hooks)
{
    spmv_mm_info unwanted;
    spmv__mm_coo c;
    uint64_t max_dim = opt ? opt->max_dim : 0;
    spmv_status s;
    if (!info) info = &unwanted;
    memset(out, 0, sizeof *out);
    memset(info, 0, sizeof *info);
    memset(&c, 0, sizeof c);
    s = spmv__mm_parse(&c, src, max_dim, info, vector, hooks);
    if (!s) s = spmv__mm_to_csr(out, &c, info, opt, hooks);
    spmv_free(hooks, c.row);
    spmv_free(hooks, c.col);
    spmv_free(hooks, c.val);
    if (!s) { /* again: summing and dropping may have left fewer nonzeros than there were entries */
        s = spmv__io_check_dims(src, c.sizes_line, out->rows, out->cols, out->nnz, max_dim, hooks);
        if (s) spmv_csr_free(out);
    }
    if (s || !c.cut_line) return s;
    return spmv_log(hooks, SPMV_OK, "%s:%llu: the file ends without a line feed, so its last number may be cut off",
                    spmv__io_name(src->name, "input"), (spmv__ull)c.cut_line);
}

SPMV_API spmv_status spmv_mm_read(spmv_csr *out, const spmv_source *src, const spmv_mm_options *opt, spmv_mm_info *info,
                                  const spmv_hooks *hooks)
{
    if (!out || !src || !src->read)
        return spmv__null(hooks, "spmv_mm_read", !out ? "out" : !src ? "src" : "src->read", out, sizeof *out);
    return spmv__mm_read(out, src, opt, info, 0, hooks);
}

SPMV_API spmv_status spmv_mm_read_memory(spmv_csr *out, const void *data, size_t bytes, const char *name,
                                         const spmv_mm_options *opt, spmv_mm_info *info, const spmv_hooks *hooks)
{
    if (!out || (bytes && !data)) return spmv__null(hooks, "spmv_mm_read_memory", !out ? "out" : "data", out, sizeof *out);
    spmv_memory memory;
    spmv_source src;
    memory.data = data;
    memory.bytes = bytes;
    memory.at = 0;
    src = spmv_source_memory(&memory, name);
    return spmv__mm_read(out, &src, opt, info, 0, hooks);
}

SPMV_API spmv_status spmv_mm_read_vector(void **out, uint64_t *n, const spmv_source *src, const spmv_mm_options *opt,
                                         spmv_mm_info *info, const spmv_hooks *hooks)
{
    if (!out || !n || !src || !src->read)
        return spmv__null(hooks, "spmv_mm_read_vector", !out ? "out" : !n ? "n" : !src ? "src" : "src->read", NULL, 0);
    spmv_mm_options o;
    spmv_csr a;
    uint64_t i;
    spmv_status s;
    int f32;
    memset(&o, 0, sizeof o);
    if (opt) o = *opt;
    o.drop_zeros = 0; /* -0 counts */
    f32 = o.store == SPMV_F32;
    o.store = f32 ? SPMV_F32 : SPMV_F64;
    *out = NULL;
    *n = 0;
    s = spmv__mm_read(&a, src, &o, info, 1, hooks);
    if (!s) s = spmv__new(hooks, out, a.rows, spmv_vector_size(o.store), 0);
    if (!s) *n = a.rows;
    for (i = 0; i < *n; i++) {
        if (a.ptr[i] == a.ptr[i + 1]) continue;
        if (f32) ((float *)*out)[i] = ((const float *)a.val)[a.ptr[i]];
        else ((double *)*out)[i] = ((const double *)a.val)[a.ptr[i]];
    }
    spmv_csr_free(&a);
    return s;
}

/* ---- writing ------------------------------------------------------------------------------------------------------
 * A failure is remembered and checked once, at the end. */
typedef struct spmv__io_out {
    const spmv_sink *sink;
    size_t used;
    int failed;
    char buffer[8192]; /* bytes that are written at once; many times the longest number */
} spmv__io_out;

static void spmv__io_flush(spmv__io_out *o)
{
    if (o->used && !o->failed) o->failed = o->sink->write(o->sink->user, o->buffer, o->used) != o->used;
    o->used = 0;
}

static char *spmv__io_room(spmv__io_out *o, size_t bytes)
{
    if (sizeof o->buffer - o->used < bytes) spmv__io_flush(o);
    return o->buffer + o->used;
}

static void spmv__io_put(spmv__io_out *o, const char *text)
{
    size_t length = strlen(text);
    memcpy(spmv__io_room(o, length), text, length);
    o->used += length;
}

static void spmv__io_put_count(spmv__io_out *o, uint64_t n, char after)
{
    char *p = spmv__io_room(o, 21);
    size_t length = spmv__io_count_text(p, n);
    p[length] = after;
    o->used += length + 1;
}

static void spmv__io_put_value(spmv__io_out *o, const void *val, int f32, uint64_t i)
{
    char *p = spmv__io_room(o, SPMV_NUMBER_TEXT + 1);
    double v = f32 ? (double)((const float *)val)[i] : ((const double *)val)[i];
    size_t length = spmv_number_text(p, v, f32 ? 9 : 17);
    p[length] = '\n';
    o->used += length + 1;
}

static spmv_status spmv__io_written(const spmv_sink *sink, int failed, const spmv_hooks *hooks)
{
    if (!failed) return SPMV_OK;
    return spmv_log(hooks, SPMV_ERR_IO, "%s: writing failed", spmv__io_name(sink->name, "output"));
}

SPMV_API spmv_status spmv_mm_write(const spmv_sink *sink, const spmv_csr *a, const spmv_hooks *hooks)
{
    if (!sink || !sink->write || !a)
        return spmv__null(hooks, "spmv_mm_write", !sink ? "sink" : !sink->write ? "sink->write" : "a", NULL, 0);
    spmv__io_out o;
    uint64_t r, i;
    spmv_status s = spmv__check_csr(hooks, "spmv_mm_write", a);
    if (s) return s;
    o.sink = sink;
    o.used = 0;
    o.failed = 0;
    spmv__io_put(&o, "%%MatrixMarket matrix coordinate real general\n");
    spmv__io_put_count(&o, a->rows, ' ');
    spmv__io_put_count(&o, a->cols, ' ');
    spmv__io_put_count(&o, a->nnz, '\n');
    for (r = 0; r < a->rows && !o.failed; r++) {
        for (i = a->ptr[r]; i < a->ptr[r + 1]; i++) {
            spmv__io_put_count(&o, r + 1, ' ');
            spmv__io_put_count(&o, (uint64_t)a->col[i] + 1, ' ');
            spmv__io_put_value(&o, a->val, spmv_value_size(a->type) == sizeof(float), i);
        }
    }
    spmv__io_flush(&o);
    return spmv__io_written(sink, o.failed, hooks);
}

SPMV_API spmv_status spmv_mm_write_vector(const spmv_sink *sink, spmv_type type, uint64_t n, const void *x,
                                          const spmv_hooks *hooks)
{
    if (!sink || !sink->write || (n && !x))
        return spmv__null(hooks, "spmv_mm_write_vector", !sink ? "sink" : !sink->write ? "sink->write" : "x", NULL, 0);
    spmv__io_out o;
    uint64_t i;
    o.sink = sink;
    o.used = 0;
    o.failed = 0;
    spmv__io_put(&o, "%%MatrixMarket matrix array real general\n");
    spmv__io_put_count(&o, n, ' ');
    spmv__io_put_count(&o, 1, '\n');
    for (i = 0; i < n && !o.failed; i++) spmv__io_put_value(&o, x, type == SPMV_F32, i);
    spmv__io_flush(&o);
    return spmv__io_written(sink, o.failed, hooks);
}

/* ---- the binary form --------------------------------------------------------------------------------------------- */
typedef struct spmv__bin_head {
    unsigned char magic[8];
    uint32_t version, order, type, unused; /* type: 0 doubles, 1 floats; unused and spare are 0 */
    uint64_t rows, cols, nnz;
    uint64_t sum, spare;
} spmv__bin_head;

static spmv_type spmv__bin_type(const spmv__bin_head *h) { return h->type ? SPMV_F32 : SPMV_F64; }

/* The bytes around SPMV change if a transfer converts line ends or drops the eighth bit. */
static const unsigned char spmv__bin_magic[8] = {0x89, 'S', 'P', 'M', 'V', 0x0d, 0x0a, 0x1a};
#define SPMV__BIN_VERSION 1u
#define SPMV__BIN_ORDER 0x01020304u /* reads as another number in the other byte order */

static uint64_t spmv__bin_mix(uint64_t lane, const unsigned char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    lane = (lane ^ word) * 0x9e3779b97f4a7c15u;
    return lane << 29 | lane >> 35;
}

/* The checksum of a block, continuing from seed. Four independent lanes let it run as fast as memory. Every step is invertible, so that no
 * change within one word goes undetected. */
static uint64_t spmv__bin_sum(uint64_t seed, const void *data, uint64_t bytes)
{
    const unsigned char *p = (const unsigned char *)data;
    unsigned char tail[32] = {0};
    uint64_t lane[4], i;
    for (i = 0; i < 4; i++) lane[i] = seed + i;
    for (i = 0; bytes - i >= 32; i += 32) {
        lane[0] = spmv__bin_mix(lane[0], p + i);
        lane[1] = spmv__bin_mix(lane[1], p + i + 8);
        lane[2] = spmv__bin_mix(lane[2], p + i + 16);
        lane[3] = spmv__bin_mix(lane[3], p + i + 24);
    }
    if (bytes > i) memcpy(tail, p + i, (size_t)(bytes - i));
    seed ^= bytes;
    for (i = 0; i < 4; i++) {
        seed = (seed ^ spmv__bin_mix(lane[i], tail + 8 * i)) * 0xff51afd7ed558ccdu;
        seed ^= seed >> 32;
    }
    return seed;
}

static uint64_t spmv__bin_sum_all(spmv__bin_head head, const void *ptr, const void *col, const void *val)
{
    uint64_t sum;
    head.sum = 0;
    sum = spmv__bin_sum(0, &head, sizeof head);
    sum = spmv__bin_sum(sum, ptr, (head.rows + 1) * 8);
    sum = spmv__bin_sum(sum, col, head.nnz * 4);
    return spmv__bin_sum(sum, val, head.nnz * spmv_value_size(spmv__bin_type(&head)));
}

static spmv_status spmv__bin_refuse(const spmv_source *src, const spmv_hooks *hooks, spmv_status s,
                                    const char *expected, uint64_t found)
{
    return spmv_log(hooks, s, "%s: expected %s, found %llu", spmv__io_name(src->name, "input"), expected, (spmv__ull)found);
}

/* Reads exactly bytes bytes. */
static spmv_status spmv__bin_get(const spmv_source *src, void *to, size_t bytes, const spmv_hooks *hooks)
{
    size_t done = 0;
    while (done < bytes) {
        size_t got = src->read(src->user, (char *)to + done, bytes - done);
        if (got > bytes - done) return spmv__io_read_failed(src, hooks);
        if (got == 0)
            return spmv_log(hooks, SPMV_ERR_PARSE, "%s: expected %llu more bytes, found the end of the file",
                            spmv__io_name(src->name, "input"), (spmv__ull)(bytes - done));
        done += got;
    }
    return SPMV_OK;
}

/* Reads count elements of width bytes into a new block. If the length of the source is known, which was then checked, the block is
 * allocated at once; else it grows with what is read. */
static spmv_status spmv__bin_array(const spmv_source *src, uint64_t count, uint64_t width, void **out,
                                   const spmv_hooks *hooks)
{
    const uint64_t first = 8192; /* elements; room doubles from there */
    uint64_t room = src->bytes || count < first ? count : first, have = 0;
    spmv_status s = SPMV_OK;
    while (!s && have < count) {
        if (!spmv__io_resize(hooks, out, room, width)) return spmv__no_memory(hooks, room, width);
        s = spmv__bin_get(src, (char *)*out + have * width, (size_t)((room - have) * width), hooks);
        have = room;
        room = count - room < room ? count : room * 2;
    }
    return s;
}

/* Checks every field of the header, and the sizes against the length of the source if that is known. */
static spmv_status spmv__bin_check_head(const spmv__bin_head *h, const spmv_source *src, uint64_t max_dim,
                                        const spmv_hooks *hooks)
{
    uint64_t bytes;
    spmv_status s;
    if (!spmv_bin_is(h->magic, sizeof h->magic))
        return spmv__bin_refuse(src, hooks, SPMV_ERR_PARSE, "byte 137 and SPMV at the start", h->magic[0]);
    if (h->order != SPMV__BIN_ORDER)
        return spmv__bin_refuse(src, hooks, SPMV_ERR_UNSUPPORTED, "this machine's byte order 16909060", h->order);
    if (h->version != SPMV__BIN_VERSION)
        return spmv__bin_refuse(src, hooks, SPMV_ERR_UNSUPPORTED, "version 1", h->version);
    if (h->type > 1)
        return spmv__bin_refuse(src, hooks, SPMV_ERR_PARSE, "value type 0 (f64) or 1 (f32)", h->type);
    if (h->unused || h->spare)
        return spmv__bin_refuse(src, hooks, SPMV_ERR_PARSE, "0 in unused fields", h->unused ? h->unused : h->spare);
    if (h->rows > SPMV__MM_MOST_DIM || h->cols > SPMV__MM_MOST_DIM)
        return spmv__bin_refuse(src, hooks, SPMV_ERR_OVERFLOW, "at most 4294967294 rows and columns",
                                h->rows > h->cols ? h->rows : h->cols);
    if (h->nnz > h->rows * h->cols || h->nnz > SPMV__MM_MOST_ENTRIES)
        return spmv__bin_refuse(src, hooks, SPMV_ERR_OVERFLOW, "at most rows * columns nonzeros", h->nnz);
    s = spmv__io_check_dims(src, 0, h->rows, h->cols, h->nnz, max_dim, hooks);
    if (s) return s;
    bytes = sizeof *h + (h->rows + 1) * 8 + h->nnz * (4 + spmv_value_size(spmv__bin_type(h)));
    if (src->bytes && src->bytes != bytes) {
        return spmv_log(hooks, SPMV_ERR_PARSE, "%s: expected %llu bytes for %llu x %llu with %llu nonzeros, found %llu",
                        spmv__io_name(src->name, "input"), (spmv__ull)bytes, (spmv__ull)h->rows, (spmv__ull)h->cols,
                        (spmv__ull)h->nnz, (spmv__ull)src->bytes);
    }
    return SPMV_OK;
}

static spmv_status spmv__bin_check_end(const spmv_source *src, const spmv_hooks *hooks)
{
    char more;
    size_t got = src->read(src->user, &more, 1);
    if (got > 1) return spmv__io_read_failed(src, hooks);
    if (!got) return SPMV_OK;
    return spmv_log(hooks, SPMV_ERR_PARSE, "%s: expected the end of the file, found more bytes", spmv__io_name(src->name, "input"));
}

SPMV_API int spmv_bin_is(const void *data, size_t bytes)
{
    return data && bytes >= sizeof spmv__bin_magic && memcmp(data, spmv__bin_magic, sizeof spmv__bin_magic) == 0;
}

SPMV_API spmv_status spmv_bin_read(spmv_csr *out, const spmv_source *src, uint64_t max_dim, const spmv_hooks *hooks)
{
    if (!out || !src || !src->read)
        return spmv__null(hooks, "spmv_bin_read", !out ? "out" : !src ? "src" : "src->read", out, sizeof *out);
    spmv__bin_head head;
    void *ptr = NULL, *col = NULL, *val = NULL;
    uint64_t sum;
    spmv_status s;
    memset(out, 0, sizeof *out);
    memset(&head, 0, sizeof head);
    s = spmv__bin_get(src, &head, sizeof head, hooks);
    if (!s) s = spmv__bin_check_head(&head, src, max_dim, hooks);
    if (!s) s = spmv__bin_array(src, head.rows + 1, 8, &ptr, hooks);
    if (!s) s = spmv__bin_array(src, head.nnz, 4, &col, hooks);
    if (!s) s = spmv__bin_array(src, head.nnz, spmv_value_size(spmv__bin_type(&head)), &val, hooks);
    if (!s) s = spmv__bin_check_end(src, hooks);
    if (!s && (sum = spmv__bin_sum_all(head, ptr, col, val)) != head.sum)
        s = spmv__bin_refuse(src, hooks, SPMV_ERR_PARSE, "contents that match the checksum in the header", sum);
    out->rows = head.rows;
    out->cols = head.cols;
    out->nnz = out->source = head.nnz;
    out->type = out->source_type = spmv__bin_type(&head);
    out->ptr = (const uint64_t *)ptr;
    out->col = (const uint32_t *)col;
    out->val = val;
    out->owned = 7u;
    if (hooks) out->hooks = *hooks;
    if (!s) s = spmv__check_csr(hooks, spmv__io_name(src->name, "input"), out);
    if (s) spmv_csr_free(out);
    return s;
}

/* Writes a block in pieces of moderate size; 0 on failure. */
static int spmv__bin_put(const spmv_sink *sink, const void *data, uint64_t bytes)
{
    const uint64_t most = 1u << 22; /* bytes: so few calls cost nothing, and it fits any size_t */
    const char *p = (const char *)data;
    uint64_t done = 0;
    while (done < bytes) {
        size_t piece = (size_t)spmv__smaller(bytes - done, most);
        if (sink->write(sink->user, p + done, piece) != piece) return 0;
        done += piece;
    }
    return 1;
}

SPMV_API spmv_status spmv_bin_write(const spmv_sink *sink, const spmv_csr *a, const spmv_hooks *hooks)
{
    if (!sink || !sink->write || !a)
        return spmv__null(hooks, "spmv_bin_write", !sink ? "sink" : !sink->write ? "sink->write" : "a", NULL, 0);
    static const uint64_t none = 0; /* the one row pointer of a zeroed matrix */
    const uint64_t *ptr = a->ptr ? a->ptr : &none;
    spmv__bin_head head;
    int ok;
    spmv_status s = spmv__check_csr(hooks, "spmv_bin_write", a);
    if (s) return s;
    memset(&head, 0, sizeof head);
    memcpy(head.magic, spmv__bin_magic, sizeof head.magic);
    head.version = SPMV__BIN_VERSION;
    head.order = SPMV__BIN_ORDER;
    head.type = spmv_value_size(a->type) == sizeof(float);
    head.rows = a->rows;
    head.cols = a->cols;
    head.nnz = a->nnz;
    head.sum = spmv__bin_sum_all(head, ptr, a->col, a->val);
    ok = spmv__bin_put(sink, &head, sizeof head) && spmv__bin_put(sink, ptr, (a->rows + 1) * 8) &&
         spmv__bin_put(sink, a->col, a->nnz * 4) &&
         spmv__bin_put(sink, a->val, a->nnz * spmv_value_size(a->type));
    return spmv__io_written(sink, !ok, hooks);
}

/* ---- memory and streams ------------------------------------------------------------------------------------------ */

static size_t spmv__io_read_memory(void *user, void *buffer, size_t bytes)
{
    spmv_memory *m = (spmv_memory *)user;
    size_t left = m->bytes - m->at, n = left < bytes ? left : bytes;
    if (n) memcpy(buffer, (const char *)m->data + m->at, n);
    m->at += n;
    return n;
}

SPMV_API spmv_source spmv_source_memory(spmv_memory *memory, const char *name)
{
    spmv_source src;
    src.user = memory;
    src.read = memory && (memory->data || !memory->bytes) ? spmv__io_read_memory : NULL;
    src.name = name;
    src.bytes = src.read ? memory->bytes - memory->at : 0;
    return src;
}

#ifndef SPMV_NO_STDIO
static size_t spmv__io_read_stream(void *user, void *buffer, size_t bytes)
{
    size_t got = fread(buffer, 1, bytes, (FILE *)user);
    return got == 0 && ferror((FILE *)user) ? SPMV_READ_FAILED : got;
}

static size_t spmv__io_write_stream(void *user, const void *data, size_t bytes)
{
    return fwrite(data, 1, bytes, (FILE *)user);
}

/* The bytes from the current position to the end; 0 if the stream cannot seek. */
static uint64_t spmv__io_stream_bytes(FILE *stream)
{
    long here = ftell(stream), end;
    if (here < 0 || fseek(stream, 0, SEEK_END)) return 0;
    end = ftell(stream);
    if (fseek(stream, here, SEEK_SET) || end < here) return 0;
    return (uint64_t)end - (uint64_t)here;
}

SPMV_API spmv_source spmv_source_stream(FILE *stream, const char *name)
{
    spmv_source src;
    src.user = stream;
    src.read = stream ? spmv__io_read_stream : NULL;
    src.name = name;
    src.bytes = stream ? spmv__io_stream_bytes(stream) : 0;
    return src;
}

SPMV_API spmv_sink spmv_sink_stream(FILE *stream, const char *name)
{
    spmv_sink sink;
    sink.user = stream;
    sink.write = stream ? spmv__io_write_stream : NULL;
    sink.name = name;
    return sink;
}

/* Logs what failed with a file, and the system's reason if errno, which was 0 before, has one. */
static spmv_status spmv__io_fail(const char *path, const char *what, const spmv_hooks *hooks)
{
    const int reason = errno;
    return spmv_log(hooks, SPMV_ERR_IO, "%s: %s%s%s", path, what, reason ? ": " : "", reason ? strerror(reason) : "");
}

static FILE *spmv__io_open(const char *path, const char *mode, const spmv_hooks *hooks)
{
    FILE *f;
    errno = 0;
    f = fopen(path, mode);
    if (!f) spmv__io_fail(path, "cannot be opened", hooks);
    return f;
}

/* Closes a file after writing, when what is still buffered may fail to be written. Returns s, or that failure. */
static spmv_status spmv__io_close(FILE *f, const char *path, spmv_status s, const spmv_hooks *hooks)
{
    int failed;
    errno = 0;
    failed = fclose(f) != 0;
    return !s && failed ? spmv__io_fail(path, "writing failed", hooks) : s;
}

SPMV_API spmv_status spmv_mm_read_file(spmv_csr *out, const char *path, const spmv_mm_options *opt, spmv_mm_info *info,
                                       const spmv_hooks *hooks)
{
    if (!out || !path) return spmv__null(hooks, "spmv_mm_read_file", !out ? "out" : "path", out, sizeof *out);
    FILE *f = spmv__io_open(path, "rb", hooks);
    spmv_source src;
    spmv_status s;
    memset(out, 0, sizeof *out);
    if (info) memset(info, 0, sizeof *info);
    if (!f) return SPMV_ERR_IO;
    src = spmv_source_stream(f, path);
    s = spmv__mm_read(out, &src, opt, info, 0, hooks);
    fclose(f);
    return s;
}

SPMV_API spmv_status spmv_bin_read_file(spmv_csr *out, const char *path, uint64_t max_dim, const spmv_hooks *hooks)
{
    if (!out || !path) return spmv__null(hooks, "spmv_bin_read_file", !out ? "out" : "path", out, sizeof *out);
    FILE *f = spmv__io_open(path, "rb", hooks);
    spmv_source src;
    spmv_status s;
    memset(out, 0, sizeof *out);
    if (!f) return SPMV_ERR_IO;
    src = spmv_source_stream(f, path);
    s = spmv_bin_read(out, &src, max_dim, hooks);
    fclose(f);
    return s;
}

SPMV_API spmv_status spmv_mm_write_file(const char *path, const spmv_csr *a, const spmv_hooks *hooks)
{
    if (!path || !a) return spmv__null(hooks, "spmv_mm_write_file", !path ? "path" : "a", NULL, 0);
    FILE *f = spmv__io_open(path, "wb", hooks);
    spmv_sink sink;
    if (!f) return SPMV_ERR_IO;
    sink = spmv_sink_stream(f, path);
    return spmv__io_close(f, path, spmv_mm_write(&sink, a, hooks), hooks);
}

SPMV_API spmv_status spmv_bin_write_file(const char *path, const spmv_csr *a, const spmv_hooks *hooks)
{
    if (!path || !a) return spmv__null(hooks, "spmv_bin_write_file", !path ? "path" : "a", NULL, 0);
    FILE *f = spmv__io_open(path, "wb", hooks);
    spmv_sink sink;
    if (!f) return SPMV_ERR_IO;
    sink = spmv_sink_stream(f, path);
    return spmv__io_close(f, path, spmv_bin_write(&sink, a, hooks), hooks);
}
#endif

#endif /* SPMV_IMPLEMENTATION */
