/* SPDX-License-Identifier: MIT
 *
 * spmv/io/binary.h - the binary form of CSR; sources and sinks.
 */
#ifndef SPMV__IO_BINARY_H
#define SPMV__IO_BINARY_H

#include "matrix_market.h"

/* ---- the binary form --------------------------------------------------------------------------------------------- */
typedef struct spmv__bin_head {
    unsigned char magic[8];
    uint32_t version, order, type, unused; /* type: 0 doubles, 1 floats; unused and spare are 0 */
    uint64_t rows, cols, nnz;
    uint64_t sum, spare;
} spmv__bin_head;

static spmv_type spmv__bin_type(const spmv__bin_head *head) { return head->type ? SPMV_F32 : SPMV_F64; }

/* The bytes around SPMV change if a transfer converts line ends or drops the eighth bit. */
static const unsigned char spmv__bin_magic[8] = {0x89, 'S', 'P', 'M', 'V', 0x0d, 0x0a, 0x1a};
#define SPMV__BIN_VERSION 1u

static uint64_t spmv__bin_sum_all(spmv__bin_head head, const void *ptr, const void *col, const void *val)
{
    uint64_t sum;
    head.sum = 0;
    sum = spmv__sum(0, &head, sizeof head);
    sum = spmv__sum(sum, ptr, (head.rows + 1) * 8);
    sum = spmv__sum(sum, col, head.nnz * 4);
    return spmv__sum(sum, val, head.nnz * spmv_value_size(spmv__bin_type(&head)));
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
static spmv_status spmv__bin_check_head(const spmv__bin_head *head, const spmv_source *src, uint64_t max_dim,
                                        const spmv_hooks *hooks)
{
    uint64_t bytes;
    spmv_status s;
    if (!spmv_bin_is(head->magic, sizeof head->magic))
        return spmv__bin_refuse(src, hooks, SPMV_ERR_PARSE, "byte 137 and SPMV at the start", head->magic[0]);
    if (head->order != SPMV__BYTE_ORDER)
        return spmv__bin_refuse(src, hooks, SPMV_ERR_UNSUPPORTED, "this machine's byte order 16909060", head->order);
    if (head->version != SPMV__BIN_VERSION)
        return spmv__bin_refuse(src, hooks, SPMV_ERR_UNSUPPORTED, "version 1", head->version);
    if (head->type > 1)
        return spmv__bin_refuse(src, hooks, SPMV_ERR_PARSE, "value type 0 (f64) or 1 (f32)", head->type);
    if (head->unused || head->spare)
        return spmv__bin_refuse(src, hooks, SPMV_ERR_PARSE, "0 in unused fields", head->unused ? head->unused : head->spare);
    if (head->rows > SPMV__MM_MOST_DIM || head->cols > SPMV__MM_MOST_DIM)
        return spmv__bin_refuse(src, hooks, SPMV_ERR_OVERFLOW, "at most 4294967294 rows and columns",
                                head->rows > head->cols ? head->rows : head->cols);
    if (head->nnz > head->rows * head->cols || head->nnz > SPMV__MM_MOST_ENTRIES)
        return spmv__bin_refuse(src, hooks, SPMV_ERR_OVERFLOW, "at most rows * columns nonzeros", head->nnz);
    s = spmv__io_check_dims(src, 0, head->rows, head->cols, head->nnz, max_dim, hooks);
    if (s) return s;
    bytes = sizeof *head + (head->rows + 1) * 8 + head->nnz * (4 + spmv_value_size(spmv__bin_type(head)));
    if (src->bytes && src->bytes != bytes) {
        return spmv_log(hooks, SPMV_ERR_PARSE, "%s: expected %llu bytes for %llu x %llu with %llu nonzeros, found %llu",
                        spmv__io_name(src->name, "input"), (spmv__ull)bytes, (spmv__ull)head->rows, (spmv__ull)head->cols,
                        (spmv__ull)head->nnz, (spmv__ull)src->bytes);
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
    if (s) spmv_csr_destroy(out);
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
    head.order = SPMV__BYTE_ORDER;
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
    spmv_memory *memory = (spmv_memory *)user;
    size_t left = memory->bytes - memory->at, n = left < bytes ? left : bytes;
    if (n) memcpy(buffer, (const char *)memory->data + memory->at, n);
    memory->at += n;
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
    FILE *file;
    errno = 0;
    file = fopen(path, mode);
    if (!file) spmv__io_fail(path, "cannot be opened", hooks);
    return file;
}

/* Closes a file after writing, when what is still buffered may fail to be written. Returns s, or that failure. */
static spmv_status spmv__io_close(FILE *file, const char *path, spmv_status s, const spmv_hooks *hooks)
{
    int failed;
    errno = 0;
    failed = fclose(file) != 0;
    return !s && failed ? spmv__io_fail(path, "writing failed", hooks) : s;
}

SPMV_API spmv_status spmv_mm_read_file(spmv_csr *out, const char *path, const spmv_mm_options *opt, spmv_mm_info *info,
                                       const spmv_hooks *hooks)
{
    if (!out || !path) return spmv__null(hooks, "spmv_mm_read_file", !out ? "out" : "path", out, sizeof *out);
    FILE *file = spmv__io_open(path, "rb", hooks);
    spmv_source src;
    spmv_status s;
    memset(out, 0, sizeof *out);
    if (info) memset(info, 0, sizeof *info);
    if (!file) return SPMV_ERR_IO;
    src = spmv_source_stream(file, path);
    s = spmv_mm_read(out, &src, opt, info, hooks);
    fclose(file);
    return s;
}

SPMV_API spmv_status spmv_bin_read_file(spmv_csr *out, const char *path, uint64_t max_dim, const spmv_hooks *hooks)
{
    if (!out || !path) return spmv__null(hooks, "spmv_bin_read_file", !out ? "out" : "path", out, sizeof *out);
    FILE *file = spmv__io_open(path, "rb", hooks);
    spmv_source src;
    spmv_status s;
    memset(out, 0, sizeof *out);
    if (!file) return SPMV_ERR_IO;
    src = spmv_source_stream(file, path);
    s = spmv_bin_read(out, &src, max_dim, hooks);
    fclose(file);
    return s;
}

SPMV_API spmv_status spmv_mm_write_file(const char *path, const spmv_csr *a, const spmv_hooks *hooks)
{
    if (!path || !a) return spmv__null(hooks, "spmv_mm_write_file", !path ? "path" : "a", NULL, 0);
    FILE *file = spmv__io_open(path, "wb", hooks);
    spmv_sink sink;
    if (!file) return SPMV_ERR_IO;
    sink = spmv_sink_stream(file, path);
    return spmv__io_close(file, path, spmv_mm_write(&sink, a, hooks), hooks);
}

SPMV_API spmv_status spmv_bin_write_file(const char *path, const spmv_csr *a, const spmv_hooks *hooks)
{
    if (!path || !a) return spmv__null(hooks, "spmv_bin_write_file", !path ? "path" : "a", NULL, 0);
    FILE *file = spmv__io_open(path, "wb", hooks);
    spmv_sink sink;
    if (!file) return SPMV_ERR_IO;
    sink = spmv_sink_stream(file, path);
    return spmv__io_close(file, path, spmv_bin_write(&sink, a, hooks), hooks);
}
#endif

#endif
