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
 */
#include "spmv_formats.h"
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
 *   out    becomes the matrix; need not be initialised. On failure it is zeroed. Destroy it with spmv_csr_destroy
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
/* Writes a matrix as coordinate real general, by rows. Numbers have 17 (f64) or 9 (f32) significant digits, without zeros at the end,
 * and read back to the same bits; of a NaN only the sign is kept. Allocates nothing. SPMV_ERR_IO; SPMV_ERR_INDEX or SPMV_ERR_ARGUMENT for
 * arrays that are not those of a CSR matrix, before anything is written. */
SPMV_API spmv_status spmv_mm_write(const spmv_sink *sink, const spmv_csr *a, const spmv_hooks *hooks);
/* Writes vectors as array real general, each a column.
 *   sink   where to
 *   type   SPMV_F32: x has floats; others: doubles
 *   n      elements of a vector
 *   count  vectors
 *   x      the elements of one vector after another; may be NULL if there are none
 *   hooks  may be NULL
 * SPMV_ERR_IO. */
SPMV_API spmv_status spmv_mm_write_vectors(const spmv_sink *sink, spmv_type type, uint64_t n, uint64_t count, const void *x,
                                           const spmv_hooks *hooks);

/* ---- more: the binary form ----------------------------------------------------------------------------------------
 * A CSR matrix as it is in memory: a header of 64 bytes (magic, version, byte order mark, value type, rows, cols, nnz, a checksum of
 * everything else), rows + 1 row pointers of 8 bytes, nnz columns of 4, nnz values of 8 or 4. Numbers are in the byte order of the writer;
 * a reader with the other order refuses the file. The checksum detects damage, not malice, so the structure is checked as strictly as
 * that of a text file. If the source knows its length, the sizes are compared with it before anything is allocated; otherwise memory
 * grows with what is read. */

/* Reads a matrix.
 *   out      becomes the matrix, with the value type of the file; on failure it is zeroed. Destroy it with spmv_csr_destroy
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
 * The conversion used above, for programs that read numbers whatever the locale is. */

/* Reads a number that all of text consists of, by the rules for Matrix Market files. 1 and *out set, or 0. */
SPMV_API int spmv_number_from(const char *text, double *out);

#ifdef __cplusplus
}
#endif
#endif /* SPMV_IO_H */

#ifdef SPMV_IMPLEMENTATION
#include "spmv/io/binary.h"
#endif
