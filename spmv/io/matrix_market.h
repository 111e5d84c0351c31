/* SPDX-License-Identifier: MIT
 *
 * spmv/io/matrix_market.h - Matrix Market files.
 */
#ifndef SPMV__IO_MATRIX_MARKET_H
#define SPMV__IO_MATRIX_MARKET_H

#include "number.h"

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

/* Reads the line of sizes into info. */
static spmv_status spmv__mm_sizes(spmv__mm_in *in, spmv_mm_info *info)
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
    uint64_t sizes_line; /* for messages: where the sizes stand */
    uint64_t cut_line;   /* and where a number may be cut, 0: nowhere */
} spmv__mm_coo;

static int spmv__io_resize(const spmv_hooks *hooks, void **block, uint64_t count, uint64_t size)
{
    void *wider = count <= SIZE_MAX / 2 / size ? spmv__resize(hooks, *block, (size_t)(count * size)) : NULL;
    if (wider) *block = wider;
    return wider != NULL;
}

/* Makes room for so many entries. On failure coo keeps the blocks it has. */
static spmv_status spmv__mm_reserve(spmv__mm_coo *coo, const spmv__mm_in *in, uint64_t room)
{
    void *row = coo->row, *col = coo->col, *val = coo->val;
    int ok = spmv__io_resize(in->hooks, &row, room, sizeof *coo->row) &&
             spmv__io_resize(in->hooks, &col, room, sizeof *coo->col) &&
             (coo->pattern || spmv__io_resize(in->hooks, &val, room, sizeof *coo->val));
    coo->row = (uint32_t *)row;
    coo->col = (uint32_t *)col;
    coo->val = (double *)val;
    if (!ok) {
        return spmv_log(in->hooks, SPMV_ERR_MEMORY, "%s:%llu: no memory for %llu entries",
                        spmv__io_name(in->src->name, "input"), (spmv__ull)in->line, (spmv__ull)room);
    }
    coo->room = room;
    return SPMV_OK;
}

/* Makes room for more entries: twice as many, or as many as may still come if the source knows its length, but never more than the header
 * announces. */
static spmv_status spmv__mm_grow(spmv__mm_coo *coo, const spmv__mm_in *in, const spmv_mm_info *info)
{
    uint64_t least = info->array ? 2 : coo->pattern ? 4 : 6; /* bytes of the shortest entry: "0", "1 1", "1 1 0" */
    uint64_t room = coo->room ? coo->room * 2 : 1024, here = (uint64_t)(in->p - in->buffer);
    uint64_t left = in->src->bytes > in->bytes ? in->src->bytes - in->bytes + in->filled - here : in->filled - here;
    if (in->src->bytes && coo->count + left / least + 1 > room) room = coo->count + left / least + 1;
    return spmv__mm_reserve(coo, in, room < info->stored ? room : info->stored);
}

static void spmv__mm_push(spmv__mm_coo *coo, uint64_t row, uint64_t col, double v)
{
    coo->row[coo->count] = (uint32_t)row;
    coo->col[coo->count] = (uint32_t)col;
    if (!coo->pattern) coo->val[coo->count] = v;
    coo->count++;
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
static spmv_status spmv__mm_entry(spmv__mm_in *in, const spmv_mm_info *info, spmv__mm_coo *coo)
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
    if (!coo->pattern) {
        spmv_status s = spmv__mm_value(in, info, spmv__mm_blanks(p), &v);
        if (s) return s;
    } else {
        in->p = p;
    }
    spmv__mm_push(coo, row - 1, col - 1, v);
    return spmv__mm_end_line(in);
}

static spmv_status spmv__mm_coordinate(spmv__mm_in *in, const spmv_mm_info *info, spmv__mm_coo *coo)
{
    spmv_status s = SPMV_OK;
    while (!s && coo->count < info->stored) {
        int found;
        s = spmv__mm_next(in, &found);
        if (!s && !found) s = spmv__mm_too_few(in, info, coo->count);
        if (!s && coo->count == coo->room) s = spmv__mm_grow(coo, in, info);
        if (!s) s = spmv__mm_entry(in, info, coo);
    }
    return s;
}

/* Reads one line of an array file, the element at (row, col). */
static spmv_status spmv__mm_element(spmv__mm_in *in, const spmv_mm_info *info, spmv__mm_coo *coo, uint64_t row,
                                    uint64_t col)
{
    double v = 0;
    spmv_status s = spmv__mm_value(in, info, in->p, &v);
    if (s) return s;
    if (v != 0) {
        if (coo->count == coo->room) s = spmv__mm_grow(coo, in, info);
        if (!s) spmv__mm_push(coo, row, col, v);
    }
    return s ? s : spmv__mm_end_line(in);
}

/* Reads the elements of an array file, column by column. */
static spmv_status spmv__mm_array(spmv__mm_in *in, const spmv_mm_info *info, spmv__mm_coo *coo)
{
    uint64_t row = info->symmetry == SPMV_MM_SKEW ? 1 : 0, col = 0, done;
    spmv_status s = SPMV_OK;
    for (done = 0; !s && done < info->stored; done++) {
        int found;
        s = spmv__mm_next(in, &found);
        if (!s && !found) s = spmv__mm_too_few(in, info, done);
        if (!s) s = spmv__mm_element(in, info, coo, row, col);
        if (++row == info->rows) {
            col++;
            row = info->symmetry == SPMV_MM_GENERAL ? 0 : info->symmetry == SPMV_MM_SYMMETRIC ? col : col + 1;
        }
    }
    return s;
}

/* Makes the matrix of the entries, with their mirror images if the file holds one half. */
static spmv_status spmv__mm_to_csr(spmv_csr *out, const spmv__mm_coo *coo, const spmv_mm_info *info, const spmv_mm_options *opt,
                                   const spmv_hooks *hooks)
{
    spmv_input input;
    memset(&input, 0, sizeof input);
    input.form = SPMV_IN_COO;
    input.rows = (int64_t)info->rows;
    input.cols = (int64_t)info->cols;
    input.nnz = (int64_t)coo->count;
    input.row = coo->row;
    input.col = coo->col;
    input.val = coo->val;
    input.val_type = SPMV_F64;
    input.symmetry = info->symmetry == SPMV_MM_SKEW ? SPMV_SKEW : info->symmetry == SPMV_MM_SYMMETRIC ? SPMV_SYMMETRIC : SPMV_GENERAL;
    input.drop_zeros = opt && opt->drop_zeros;
    return spmv_csr_create(out, &input, opt ? opt->store : SPMV_F64, hooks);
}

/* After the last entry: nothing may follow, and the dimensions must be in proportion to the entries. */
static spmv_status spmv__mm_finish(spmv__mm_in *in, const spmv_mm_info *info, const spmv__mm_coo *coo, uint64_t max_dim)
{
    uint64_t nonzeros = info->symmetry == SPMV_MM_GENERAL ? coo->count : 2 * coo->count;
    int found;
    spmv_status s = spmv__mm_next(in, &found);
    if (s) return s;
    if (found) return spmv__mm_refuse(in, SPMV_ERR_PARSE, in->p, "the end of the file after the last entry");
    return spmv__io_check_dims(in->src, in->sizes_line, info->rows, info->cols, nonzeros, max_dim, in->hooks);
}

/* Reads a whole file into entries. */
static spmv_status spmv__mm_parse(spmv__mm_coo *coo, const spmv_source *src, uint64_t max_dim, spmv_mm_info *info,
                                  const spmv_hooks *hooks)
{
    spmv__mm_in in;
    spmv_status s;
    memset(&in, 0, sizeof in);
    in.src = src;
    in.hooks = hooks;
    s = spmv__mm_open(&in);
    if (!s) s = spmv__mm_banner(&in, info);
    if (!s) s = spmv__mm_sizes(&in, info);
    coo->pattern = info->field == SPMV_MM_PATTERN;
    if (!s) s = info->array ? spmv__mm_array(&in, info, coo) : spmv__mm_coordinate(&in, info, coo);
    if (!s) s = spmv__mm_finish(&in, info, coo, max_dim);
    coo->sizes_line = in.sizes_line;
    coo->cut_line = in.cut ? in.line : 0;
    info->lines = in.line;
    info->bytes = in.bytes;
    spmv_free(hooks, in.buffer);
    return s;
}

SPMV_API spmv_status spmv_mm_read(spmv_csr *out, const spmv_source *src, const spmv_mm_options *opt, spmv_mm_info *info,
                                  const spmv_hooks *hooks)
{
    if (!out || !src || !src->read)
        return spmv__null(hooks, "spmv_mm_read", !out ? "out" : !src ? "src" : "src->read", out, sizeof *out);
    spmv_mm_info unwanted;
    spmv__mm_coo coo;
    uint64_t max_dim = opt ? opt->max_dim : 0;
    spmv_status s;
    if (!info) info = &unwanted;
    memset(out, 0, sizeof *out);
    memset(info, 0, sizeof *info);
    memset(&coo, 0, sizeof coo);
    s = spmv__mm_parse(&coo, src, max_dim, info, hooks);
    if (!s) s = spmv__mm_to_csr(out, &coo, info, opt, hooks);
    spmv_free(hooks, coo.row);
    spmv_free(hooks, coo.col);
    spmv_free(hooks, coo.val);
    if (!s) { /* again: summing and dropping may have left fewer nonzeros than there were entries */
        s = spmv__io_check_dims(src, coo.sizes_line, out->rows, out->cols, out->nnz, max_dim, hooks);
        if (s) spmv_csr_destroy(out);
    }
    if (s || !coo.cut_line) return s;
    return spmv_log(hooks, SPMV_OK, "%s:%llu: the file ends without a line feed, so its last number may be cut off",
                    spmv__io_name(src->name, "input"), (spmv__ull)coo.cut_line);
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
    return spmv_mm_read(out, &src, opt, info, hooks);
}

/* ---- writing ------------------------------------------------------------------------------------------------------
 * A failure is remembered and checked once, at the end. */
typedef struct spmv__io_out {
    const spmv_sink *sink;
    size_t used;
    int failed;
    char buffer[8192]; /* bytes that are written at once; many times the longest number */
} spmv__io_out;

static void spmv__io_flush(spmv__io_out *out)
{
    if (out->used && !out->failed) out->failed = out->sink->write(out->sink->user, out->buffer, out->used) != out->used;
    out->used = 0;
}

static char *spmv__io_room(spmv__io_out *out, size_t bytes)
{
    if (sizeof out->buffer - out->used < bytes) spmv__io_flush(out);
    return out->buffer + out->used;
}

static void spmv__io_put(spmv__io_out *out, const char *text)
{
    size_t length = strlen(text);
    memcpy(spmv__io_room(out, length), text, length);
    out->used += length;
}

static void spmv__io_put_count(spmv__io_out *out, uint64_t n, char after)
{
    char *p = spmv__io_room(out, 21);
    size_t length = spmv__io_count_text(p, n);
    p[length] = after;
    out->used += length + 1;
}

static void spmv__io_put_value(spmv__io_out *out, const void *val, int f32, uint64_t i)
{
    char *p = spmv__io_room(out, SPMV__NUMBER_TEXT + 1);
    double v = f32 ? (double)((const float *)val)[i] : ((const double *)val)[i];
    size_t length = spmv__number_text(p, v, f32 ? 9 : 17);
    p[length] = '\n';
    out->used += length + 1;
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
    spmv__io_out out;
    uint64_t r, i;
    spmv_status s = spmv__check_csr(hooks, "spmv_mm_write", a);
    if (s) return s;
    out.sink = sink;
    out.used = 0;
    out.failed = 0;
    spmv__io_put(&out, "%%MatrixMarket matrix coordinate real general\n");
    spmv__io_put_count(&out, a->rows, ' ');
    spmv__io_put_count(&out, a->cols, ' ');
    spmv__io_put_count(&out, a->nnz, '\n');
    for (r = 0; r < a->rows && !out.failed; r++) {
        for (i = a->ptr[r]; i < a->ptr[r + 1]; i++) {
            spmv__io_put_count(&out, r + 1, ' ');
            spmv__io_put_count(&out, (uint64_t)a->col[i] + 1, ' ');
            spmv__io_put_value(&out, a->val, spmv_value_size(a->type) == sizeof(float), i);
        }
    }
    spmv__io_flush(&out);
    return spmv__io_written(sink, out.failed, hooks);
}

SPMV_API spmv_status spmv_mm_write_vectors(const spmv_sink *sink, spmv_type type, uint64_t n, uint64_t count, const void *x,
                                           const spmv_hooks *hooks)
{
    if (!sink || !sink->write || (n && count && !x))
        return spmv__null(hooks, "spmv_mm_write_vectors", !sink ? "sink" : !sink->write ? "sink->write" : "x", NULL, 0);
    spmv__io_out out;
    uint64_t i;
    out.sink = sink;
    out.used = 0;
    out.failed = 0;
    spmv__io_put(&out, "%%MatrixMarket matrix array real general\n");
    spmv__io_put_count(&out, n, ' ');
    spmv__io_put_count(&out, count, '\n');
    for (i = 0; i < n * count && !out.failed; i++) spmv__io_put_value(&out, x, type == SPMV_F32, i);
    spmv__io_flush(&out);
    return spmv__io_written(sink, out.failed, hooks);
}

#endif
