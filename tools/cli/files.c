/* SPDX-License-Identifier: MIT */
#include "files.h"

#include "cli.h"
#include "output.h"
#include "spmv.h"
#include "spmv_io.h"
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

int file_ends_in(const char *name, const char *tail)
{
    size_t n = strlen(name), k = strlen(tail);
    return n >= k && !strcmp(name + n - k, tail);
}

void file_bare_name(const char *path, char *out, size_t size)
{
    static const char *const suffixes[] = {".tgz", ".gz", ".tar", ".mtx", ".bin", ".json"};
    const char *slash = strrchr(path, '/');
    size_t i;
    snprintf(out, size, "%s", slash ? slash + 1 : path);
    for (i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (file_ends_in(out, suffixes[i]) && strlen(out) > strlen(suffixes[i])) out[strlen(out) - strlen(suffixes[i])] = 0;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

typedef struct reader {
    tool       *t;
    gzFile      gz;      /* also reads files that are not compressed */
    const char *name;
    double      size;    /* bytes of the file on disk; 0: unknown */
    char        head[512]; /* the first bytes, read ahead to tell what the file is */
    size_t      headed, given; /* bytes in head; those of them that read_some has returned */
    double      left;    /* bytes of the archive's file that are still to be read; -1: this is no archive */
    char        label[80];
    spmv_source source;
} reader;

/* 1: zlib has an error, which was printed. */
static int read_trouble(reader *r)
{
    int code;
    const char *text = gzerror(r->gz, &code);
    if (code == Z_ERRNO) text = strerror(errno);
    if (code == Z_BUF_ERROR) text = "the compressed data ends too early";
    if (code == Z_OK || code == Z_STREAM_END) return 0;
    cli_complain(r->t, "%s: %s", r->name, text);
    r->t->silent = 1; /* the library could only add that reading failed */
    return 1;
}

/* The archive's end is missing. */
static size_t tar_ends_early(reader *r)
{
    cli_complain(r->t, "%s: the archive ends too early", r->name);
    r->t->silent = 1;
    return SPMV_READ_FAILED;
}

/* spmv_source.read: up to so many bytes, those of head first. */
static size_t read_some(void *user, void *buffer, size_t bytes)
{
    reader *r = (reader *)user;
    int n;
    if (r->given < r->headed) {
        size_t left = r->headed - r->given;
        if (bytes > left) bytes = left;
        memcpy(buffer, r->head + r->given, bytes);
        r->given += bytes;
        return bytes;
    }
    if (r->left >= 0 && (double)bytes > r->left) bytes = (size_t)r->left;
    n = gzread(r->gz, buffer, bytes < 1u << 20 ? (unsigned)bytes : 1u << 20);
    if (n <= 0 && read_trouble(r)) return SPMV_READ_FAILED; /* zlib reports a truncated file only at its end */
    if (n <= 0 && r->left > 0) return tar_ends_early(r);
    if (r->left >= 0) r->left -= n;
    cli_progress(r->t, r->label, r->size > 0 ? (double)gzoffset(r->gz) / r->size : -1);
    return n < 0 ? SPMV_READ_FAILED : (size_t)n;
}

static void reader_close(reader *r)
{
    if (r->gz) gzclose(r->gz);
    r->gz = NULL;
    r->t->silent = 0;
    cli_progress_clear(r->t);
}

/* ---- archives: the one Matrix Market file in a tar file, as collections pack it with others ---- */

typedef struct tar_found {
    int    files;     /* how many end in .mtx */
    int    chosen;    /* 1: at and size are those of the one that is named like the archive; 0: those of the last one */
    double at, size;  /* where its bytes begin, and how many there are */
    char   names[200]; /* of all, for messages */
} tar_found;

/* The number in a header's field of octal digits; -1: it has none. */
static double tar_number(const char *field, size_t size)
{
    double n = 0;
    size_t i = 0;
    while (i < size && field[i] == ' ') i++;
    if (i == size || field[i] < '0' || field[i] > '7') return -1;
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++) n = n * 8 + (field[i] - '0');
    return n;
}

/* 1 if a block of 512 bytes is a header: its bytes, with blanks in place of the checksum, have this sum. */
static int tar_header(const char *block)
{
    double sum = 0;
    int i;
    for (i = 0; i < 512; i++) sum += i >= 148 && i < 156 ? ' ' : (unsigned char)block[i];
    return !memcmp(block + 257, "ustar", 5) && tar_number(block + 148, 8) == sum;
}

/* Takes note of a file in the archive, whose bytes are next to be read. */
static void tar_note(const reader *r, const char *name, double size, tar_found *f)
{
    char wanted[256], bare[256];
    size_t used = strlen(f->names);
    if (!file_ends_in(name, ".mtx") || f->chosen) return;
    file_bare_name(r->name, wanted, sizeof wanted);
    file_bare_name(name, bare, sizeof bare);
    f->chosen = !strcmp(wanted, bare);
    f->files++;
    f->at = (double)gztell(r->gz);
    f->size = size;
    snprintf(f->names + used, sizeof f->names - used, "%s%s", used ? ", " : "", name);
}

/* Reads the name of a file from its header, or a long one, as GNU tar writes it, from the data of the header in front of it. */
static int tar_long_name(reader *r, double size, char *name, size_t room)
{
    const size_t n = size < (double)(room - 1) ? (size_t)size : room - 1;
    if (gzread(r->gz, name, (unsigned)n) != (int)n) return 0;
    name[n] = 0;
    return 1;
}

/* Walks through the headers. 0: the archive is damaged. */
static int tar_walk(reader *r, tar_found *f)
{
    char block[512], name[256] = "";
    double at, size;
    for (;;) {
        if (gzread(r->gz, block, sizeof block) != (int)sizeof block) return 0;
        if (!block[0]) return 1; /* a block of zeros ends the archive */
        size = tar_number(block + 124, 12);
        at = (double)gztell(r->gz);
        if (!tar_header(block) || size < 0) return 0;
        if (block[156] == 'L' && !tar_long_name(r, size, name, sizeof name)) return 0;
        if (block[156] == '0' || !block[156]) {
            if (!name[0]) snprintf(name, sizeof name, "%.100s", block);
            tar_note(r, name, size, f);
        }
        if (block[156] != 'L') name[0] = 0;
        at += size + (512 - (double)((uint64_t)size % 512)) * ((uint64_t)size % 512 != 0);
        if (gzseek(r->gz, (z_off_t)at, SEEK_SET) < 0 || gzeof(r->gz)) return 0;
    }
}

/* Goes to the Matrix Market file of an archive: the only one, or the one that is named like the archive. */
static int tar_open(reader *r)
{
    tar_found f;
    memset(&f, 0, sizeof f);
    if (gzrewind(r->gz) < 0) return cli_complain(r->t, "%s: a tar archive is read from a file only", r->name);
    if (!tar_walk(r, &f)) return cli_complain(r->t, "%s: the archive is damaged or ends too early", r->name);
    if (!f.files) return cli_complain(r->t, "%s: there is no .mtx file in this archive", r->name);
    if (f.files > 1 && !f.chosen)
        return cli_complain(r->t, "%s: extract one of the .mtx files in this archive first: %s", r->name, f.names);
    if (gzseek(r->gz, (z_off_t)f.at, SEEK_SET) < 0) return cli_complain(r->t, "%s: reading failed", r->name);
    r->left = f.size;
    r->headed = 0;
    return DONE;
}

/* Opens the file and reads its first bytes. */
static int reader_open(reader *r, tool *t, const char *path)
{
    struct stat status;
    int standard = !strcmp(path, "-"), handle, n;
    memset(r, 0, sizeof *r);
    r->t = t;
    r->left = -1;
    r->name = standard ? "standard input" : path;
    snprintf(r->label, sizeof r->label, "reading %s", r->name);
    errno = 0;
    handle = standard ? dup(STDIN_FILENO) : -1;
    r->gz = standard ? gzdopen(handle, "rb") : gzopen(path, "rb");
    if (!r->gz) {
        if (handle >= 0) close(handle);
        return cli_complain(t, "%s: %s", r->name, errno ? strerror(errno) : "memory could not be allocated");
    }
    gzbuffer(r->gz, 1u << 18);
    cli_progress_begin(t);
    if (!standard && stat(path, &status) == 0 && S_ISREG(status.st_mode)) r->size = (double)status.st_size;
    n = gzread(r->gz, r->head, sizeof r->head);
    if (n < 0) {
        read_trouble(r);
        reader_close(r);
        return FAILED;
    }
    r->headed = (size_t)n;
    r->source.user = r;
    r->source.read = read_some;
    r->source.name = r->name;
    if (tar_header(r->head)) {
        const int result = tar_open(r);
        if (result != DONE) reader_close(r);
        return result;
    }
    if (gzdirect(r->gz)) r->source.bytes = (uint64_t)r->size;
    return DONE;
}

/* Replaces the matrix by the same one, or its transpose, with values of this type. */
static spmv_status retype(tool *t, spmv_csr *a, spmv_type type, int transpose)
{
    spmv_input in;
    spmv_csr b;
    spmv_status s;
    memset(&in, 0, sizeof in);
    in.rows = (int64_t)a->rows;
    in.cols = (int64_t)a->cols;
    in.ptr = a->ptr;
    in.col = a->col;
    in.val = a->val;
    in.ptr_bits = 64;
    in.val_type = a->type;
    in.transpose = transpose;
    s = spmv_csr_create(&b, &in, type, &t->hooks);
    if (s != SPMV_OK) return s;
    spmv_csr_destroy(a);
    *a = b;
    return SPMV_OK;
}

/* Reads what is left, at most most bytes. The caller frees *text; NULL after a failure. */
static int read_all(reader *r, size_t most, char **text, size_t *used)
{
    size_t room = r->source.bytes && r->source.bytes < most ? (size_t)r->source.bytes + 1 : 65536, got = 1;
    char *more;
    int result = DONE;
    *used = 0;
    *text = (char *)malloc(room);
    if (!*text) return cli_no_memory(r->t);
    while (got && got != SPMV_READ_FAILED && result == DONE) {
        got = read_some(r, *text + *used, room - *used);
        if (got == SPMV_READ_FAILED) break;
        *used += got;
        if (*used < room) continue;
        if (room >= most) result = cli_complain(r->t, "%s: longer than %lu bytes", r->name, (unsigned long)most);
        more = result == DONE ? (char *)realloc(*text, room *= 2) : NULL;
        if (more) *text = more;
        else if (result == DONE) result = cli_no_memory(r->t);
    }
    if (got == SPMV_READ_FAILED) result = FAILED;
    if (result == DONE) return DONE;
    free(*text);
    *text = NULL;
    *used = 0;
    return result;
}

int file_load_saved(tool *t, const char *path, spmv_type type, spmv_csr *a, char **saved, size_t *bytes)
{
    spmv_mm_options opt;
    spmv_status s = SPMV_OK;
    reader r;
    int result = DONE;
    *saved = NULL;
    *bytes = 0;
    memset(a, 0, sizeof *a);
    memset(&opt, 0, sizeof opt);
    t->about = NULL; /* the library's messages already begin with the file's name */
    if (reader_open(&r, t, path) != DONE) return FAILED;
    opt.store = type == SPMV_F64 || type == SPMV_TYPE_COUNT ? SPMV_F64 : SPMV_F32;
    opt.max_dim = t->max_dim;
    if (spmv_saved_is(r.head, r.headed)) result = read_all(&r, SIZE_MAX / 4, saved, bytes);
    else s = spmv_bin_is(r.head, r.headed) ? spmv_bin_read(a, &r.source, t->max_dim, &t->hooks)
                                           : spmv_mm_read(a, &r.source, &opt, NULL, &t->hooks);
    reader_close(&r);
    if (*saved || result != DONE) return result;
    if (type == SPMV_TYPE_COUNT) opt.store = a->type;
    if (s == SPMV_OK && (a->type != opt.store || t->transpose)) s = retype(t, a, opt.store, t->transpose);
    if (s != SPMV_OK) spmv_csr_destroy(a);
    return s == SPMV_OK ? DONE : FAILED;
}

/* Makes the CSR form of a saved matrix. */
static spmv_status unprepare(tool *t, const char *path, const char *saved, size_t bytes, spmv_type type, spmv_csr *a)
{
    spmv_matrix m;
    spmv_desc d;
    spmv_status s;
    memset(&d, 0, sizeof d);
    d.matrix.borrow = 1;
    d.hooks = t->hooks;
    t->about = path;
    s = spmv_load(&m, saved, bytes, &d);
    if (s != SPMV_OK) return s;
    s = spmv_parts_to_csr(a, spmv_rows(&m), m.store.part, (size_t)m.store.count, &t->hooks);
    if (!m.store.count) a->cols = spmv_cols(&m);
    spmv_destroy(&m);
    if (type == SPMV_TYPE_COUNT) type = a->type;
    if (s == SPMV_OK && (spmv_value_size(a->type) != spmv_value_size(type) || t->transpose))
        s = retype(t, a, spmv_value_size(type) == 8 ? SPMV_F64 : SPMV_F32, t->transpose);
    return s;
}

int file_load_matrix(tool *t, const char *path, spmv_type type, spmv_csr *a)
{
    char *saved;
    size_t bytes;
    spmv_status s = SPMV_OK;
    if (file_load_saved(t, path, type, a, &saved, &bytes) != DONE) return FAILED;
    if (saved) s = unprepare(t, path, saved, bytes, type, a);
    free(saved);
    if (s != SPMV_OK) spmv_csr_destroy(a);
    return s == SPMV_OK ? DONE : FAILED;
}

/* Lays the columns of a matrix in type one after another. */
static void *dense_columns(tool *t, const spmv_csr *a, spmv_type type)
{
    const size_t wide = spmv_vector_size(type);
    char *x = (char *)spmv_alloc(&t->hooks, a->rows * a->cols + 1, wide);
    uint64_t r, k;
    if (!x) return NULL;
    memset(x, 0, (size_t)(a->rows * a->cols) * wide);
    for (r = 0; r < a->rows; r++)
        for (k = a->ptr[r]; k < a->ptr[r + 1]; k++)
            memcpy(x + (a->col[k] * a->rows + r) * wide, (const char *)a->val + k * wide, wide);
    return x;
}

int file_load_vectors(tool *t, const char *path, spmv_type type, uint64_t n, uint64_t *count, const char *what, void **x)
{
    spmv_mm_options opt;
    spmv_status s;
    spmv_csr a;
    reader r;
    int result;
    *x = NULL;
    memset(&opt, 0, sizeof opt);
    opt.store = type == SPMV_MIXED ? SPMV_F64 : type;
    opt.max_dim = t->max_dim;
    t->about = NULL;
    if (reader_open(&r, t, path) != DONE) return FAILED;
    s = spmv_mm_read(&a, &r.source, &opt, NULL, &t->hooks);
    reader_close(&r);
    if (s != SPMV_OK) return FAILED;
    if (a.rows != n)
        result = cli_complain(t, "%s: %s needs %llu elements, the file has %llu", path, what, (unsigned long long)n,
                              (unsigned long long)a.rows);
    else if (*count && a.cols != *count)
        result = cli_complain(t, "%s: %s needs %llu columns, as x has, the file has %llu", path, what, (unsigned long long)*count,
                              (unsigned long long)a.cols);
    else result = (*x = dense_columns(t, &a, opt.store)) != NULL ? DONE : cli_no_memory(t);
    *count = a.cols;
    spmv_csr_destroy(&a);
    return result;
}

int file_load_text(tool *t, const char *path, size_t most, char **text, size_t *used)
{
    reader r;
    int result;
    *text = NULL;
    *used = 0;
    if (reader_open(&r, t, path) != DONE) return FAILED;
    result = read_all(&r, most, text, used);
    reader_close(&r);
    return result;
}

int file_load_table(tool *t, const char *path, spmv_tuning *out)
{
    char *text;
    size_t used;
    spmv_status s;
    memset(out, 0, sizeof *out);
    if (file_load_text(t, path, 1 << 20, &text, &used) != DONE) return FAILED;
    t->about = NULL;
    s = spmv_tuning_create(out, text, used, path, &t->hooks);
    free(text);
    return s == SPMV_OK ? DONE : FAILED;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

typedef struct writer {
    tool       *t;
    output      out;
    gzFile      gz;
    const char *name;
    double      written, expected; /* bytes, for progress; expected 0: unknown */
    char        label[80];
    spmv_sink   sink;
} writer;

/* Prints zlib's error. Returns 0, as spmv_sink.write does on failure. */
static size_t write_trouble(writer *w)
{
    int code;
    const char *text = gzerror(w->gz, &code);
    cli_complain(w->t, "%s: %s", w->name, code == Z_ERRNO ? strerror(errno) : text);
    w->t->silent = 1;
    return 0;
}

/* spmv_sink.write: all of the bytes. */
static size_t write_some(void *user, const void *data, size_t bytes)
{
    writer *w = (writer *)user;
    size_t done = 0;
    while (done < bytes) {
        size_t piece = bytes - done < 1u << 20 ? bytes - done : 1u << 20;
        if (gzwrite(w->gz, (const char *)data + done, (unsigned)piece) <= 0) return write_trouble(w);
        done += piece;
        w->written += (double)piece;
        cli_progress(w->t, w->label, w->expected > 0 ? w->written / w->expected : -1);
    }
    return done;
}

/* Opens a file or, if path is NULL or -, standard output; a name that ends in .gz is compressed. */
static int writer_open(writer *w, tool *t, const char *path)
{
    const char *mode = path && file_ends_in(path, ".gz") ? "wb" : "wbT"; /* T: uncompressed */
    int handle;
    memset(w, 0, sizeof *w);
    if (output_open(&w->out, t, path) != DONE) return FAILED;
    w->t = t;
    w->name = w->out.name;
    snprintf(w->label, sizeof w->label, "writing %s", w->name);
    errno = 0;
    handle = dup(w->out.handle); /* gzclose closes this one; output_close still needs the output's own */
    if (handle >= 0) w->gz = gzdopen(handle, mode);
    if (!w->gz) {
        output_trouble(&w->out);
        if (handle >= 0) close(handle);
        return output_close(&w->out, FAILED);
    }
    gzbuffer(w->gz, 1u << 18);
    cli_progress_begin(t);
    w->sink.user = w;
    w->sink.write = write_some;
    w->sink.name = w->name;
    return DONE;
}

/* Writes the rest and closes the file; s is the status of the writing so far. */
static int writer_close(writer *w, spmv_status s)
{
    int code, result = s == SPMV_OK ? DONE : FAILED;
    errno = 0;
    code = gzclose(w->gz);
    cli_progress_clear(w->t);
    w->t->silent = 0;
    if (result == DONE && code != Z_OK)
        result = cli_complain(w->t, "%s: %s", w->name, code == Z_ERRNO && errno ? strerror(errno) : "could not be written completely");
    return output_close(&w->out, result);
}

int file_save_matrix(tool *t, const char *path, const spmv_csr *a)
{
    int binary = path && (file_ends_in(path, ".bin") || file_ends_in(path, ".bin.gz"));
    spmv_status s;
    writer w;
    t->about = NULL;
    if (writer_open(&w, t, path) != DONE) return FAILED;
    s = binary ? spmv_bin_write(&w.sink, a, &t->hooks) : spmv_mm_write(&w.sink, a, &t->hooks);
    return writer_close(&w, s);
}

/* Writes bytes as the array of a C file, in words of 64 bits, which begin where spmv_use needs it. 0 on failure. */
static int write_array(writer *w, const char *path, const unsigned char *data, size_t bytes)
{
    char name[256], line[400];
    size_t i;
    int n;
    file_bare_name(path ? path : "matrix", name, sizeof name);
    for (i = 0; name[i]; i++) {
        if (name[i] == '.') name[i] = 0; /* .c or .h */
        else if (!isalnum((unsigned char)name[i]) || (!i && isdigit((unsigned char)name[i]))) name[i] = '_';
        if (!name[i]) break;
    }
    n = snprintf(line, sizeof line, "/* A prepared matrix for spmv_use, of spmv convert */\n#include <stdint.h>\n"
                 "static const uint64_t %s[%lu] = {", i ? name : "matrix", (unsigned long)(bytes / 8));
    if (!write_some(w, line, (size_t)n)) return 0;
    for (i = 0; i < bytes; i += 8) {
        uint64_t word;
        memcpy(&word, data + i, sizeof word);
        n = snprintf(line, sizeof line, "%s0x%llx,", i % 48 ? " " : "\n    ", (unsigned long long)word);
        if (!write_some(w, line, (size_t)n)) return 0;
    }
    return write_some(w, "\n};\n", 4) != 0;
}

int file_save_prepared(tool *t, const char *path, const void *data, size_t bytes, int array)
{
    writer w;
    int good;
    t->about = NULL;
    if (writer_open(&w, t, path) != DONE) return FAILED;
    good = array ? write_array(&w, path, (const unsigned char *)data, bytes) : write_some(&w, data, bytes) == bytes;
    return writer_close(&w, good ? SPMV_OK : SPMV_ERR_IO);
}

int file_save_vectors(tool *t, const char *path, spmv_type type, uint64_t n, uint64_t count, const void *x)
{
    spmv_status s;
    writer w;
    t->about = NULL;
    if (writer_open(&w, t, path) != DONE) return FAILED;
    s = spmv_mm_write_vectors(&w.sink, type, n, count, x, &t->hooks);
    return writer_close(&w, s);
}
