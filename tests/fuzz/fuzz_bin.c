/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the reader of the binary form. The checksum is corrected first, so that the later checks are reached. What the reader accepts
 * must be a valid matrix that is written back as the same bytes. With -DFUZZ_REPLAY, it is a program that replays files.
 */
#define SPMV_IMPLEMENTATION
#include "spmv_io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUZZ_CHECK(x) do { if (!(x)) { fprintf(stderr, "failed: %s\n", #x); abort(); } } while (0)

static size_t fuzz_limit; /* no single block may be larger */

static void *fuzz_resize(void *user, void *block, size_t bytes)
{
    (void)user;
    FUZZ_CHECK(bytes <= fuzz_limit);
    if (bytes) return realloc(block, bytes);
    free(block);
    return NULL;
}

static void fuzz_log(void *user, spmv_status s, const char *message)
{
    FUZZ_CHECK(s != SPMV_OK && strlen(message) < 400);
    *(int *)user += 1;
}

/* A sink that compares what it gets with the input. */
typedef struct fuzz_want {
    const uint8_t *data;
    size_t bytes, at;
} fuzz_want;

static size_t fuzz_compare(void *user, const void *data, size_t bytes)
{
    fuzz_want *w = (fuzz_want *)user;
    FUZZ_CHECK(bytes <= w->bytes - w->at && memcmp(w->data + w->at, data, bytes) == 0);
    w->at += bytes;
    return bytes;
}

static void fuzz_sound(const spmv_csr *a)
{
    uint64_t r, i;
    FUZZ_CHECK(a->ptr[0] == 0 && a->ptr[a->rows] == a->nnz);
    for (r = 0; r < a->rows; r++) {
        FUZZ_CHECK(a->ptr[r] <= a->ptr[r + 1]);
        for (i = a->ptr[r]; i < a->ptr[r + 1]; i++)
            FUZZ_CHECK(a->col[i] < a->cols && (i == a->ptr[r] || a->col[i] > a->col[i - 1]));
    }
}

static void fuzz_resum(uint8_t *data, size_t bytes)
{
    spmv__bin_head head;
    uint64_t ptr, col;
    if (bytes < sizeof head) return;
    memcpy(&head, data, sizeof head);
    if (head.type > 1 || head.rows > bytes || head.nnz > bytes) return;
    ptr = (head.rows + 1) * 8;
    col = head.nnz * 4;
    if (sizeof head + ptr + col + head.nnz * spmv_value_size(head.type ? SPMV_F32 : SPMV_F64) != bytes) return;
    head.sum = spmv__bin_sum_all(head, data + sizeof head, data + sizeof head + ptr, data + sizeof head + ptr + col);
    memcpy(data, &head, sizeof head);
}

static void fuzz_read(const uint8_t *data, size_t bytes, int known)
{
    int messages = 0;
    spmv_hooks h;
    spmv_memory m;
    spmv_source src;
    spmv_csr a;
    spmv_status s;
    h.user = &messages;
    h.resize = fuzz_resize;
    h.log = fuzz_log;
    m.data = data;
    m.bytes = bytes;
    m.at = 0;
    src = spmv_source_memory(&m, "fuzz");
    if (!known) src.bytes = 0;
    fuzz_limit = 2 * bytes + 65536;
    s = spmv_bin_read(&a, &src, 0, &h);
    FUZZ_CHECK(messages == (s != SPMV_OK));
    if (!s) {
        fuzz_want want;
        spmv_sink sink;
        fuzz_sound(&a);
        want.data = data;
        want.bytes = bytes;
        want.at = 0;
        sink.user = &want;
        sink.write = fuzz_compare;
        sink.name = "want";
        FUZZ_CHECK(spmv_bin_write(&sink, &a, &h) == SPMV_OK && want.at == bytes);
    }
    spmv_csr_destroy(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t *copy = (uint8_t *)calloc(bytes + 1, 1);
    FUZZ_CHECK(copy != NULL);
    if (bytes) memcpy(copy, data, bytes);
    fuzz_read(copy, bytes, 1);
    fuzz_resum(copy, bytes);
    fuzz_read(copy, bytes, 1);
    fuzz_read(copy, bytes, 0);
    free(copy);
    return 0;
}

#ifdef FUZZ_REPLAY
int main(int argc, char **argv)
{
    int i;
    for (i = 1; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");
        static uint8_t data[1 << 20];
        size_t bytes = f ? fread(data, 1, sizeof data, f) : 0;
        FUZZ_CHECK(f != NULL);
        fclose(f);
        LLVMFuzzerTestOneInput(data, bytes);
    }
    printf("%d files replayed\n", argc - 1);
    return 0;
}
#endif
