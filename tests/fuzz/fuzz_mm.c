/* SPDX-License-Identifier: MIT
 *
 * Fuzzes the Matrix Market reader. What it accepts must be a valid matrix that is the same after writing and reading it, and memory must
 * stay in proportion to the input. With -DFUZZ_REPLAY, it is a program that replays the files named on the command line.
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

/* Counts errors; SPMV_OK is the warning that a file may be cut off. */
static void fuzz_log(void *user, spmv_status s, const char *message)
{
    FUZZ_CHECK(strlen(message) < 400 && (s != SPMV_OK || strstr(message, "may be cut")));
    *(int *)user += s != SPMV_OK;
}

typedef struct fuzz_text {
    char *data;
    size_t bytes;
} fuzz_text;

static size_t fuzz_write(void *user, const void *data, size_t bytes)
{
    fuzz_text *t = (fuzz_text *)user;
    t->data = (char *)realloc(t->data, t->bytes + bytes);
    memcpy(t->data + t->bytes, data, bytes);
    t->bytes += bytes;
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

/* A NaN may lose its payload; nothing else may change. */
static void fuzz_same(const spmv_csr *a, const spmv_csr *b)
{
    const double *v = (const double *)a->val, *w = (const double *)b->val;
    uint64_t i;
    FUZZ_CHECK(a->rows == b->rows && a->cols == b->cols && a->nnz == b->nnz);
    FUZZ_CHECK(memcmp(a->ptr, b->ptr, (size_t)(a->rows + 1) * 8) == 0);
    FUZZ_CHECK(a->nnz == 0 || memcmp(a->col, b->col, (size_t)a->nnz * 4) == 0);
    for (i = 0; i < a->nnz; i++) FUZZ_CHECK(v[i] != v[i] ? w[i] != w[i] : memcmp(&v[i], &w[i], 8) == 0);
}

static void fuzz_round_trip(const spmv_csr *a, const spmv_mm_options *opt, const spmv_hooks *h)
{
    fuzz_text text = {NULL, 0};
    spmv_sink sink;
    spmv_csr b;
    sink.user = &text;
    sink.write = fuzz_write;
    sink.name = "text";
    FUZZ_CHECK(spmv_mm_write(&sink, a, h) == SPMV_OK);
    fuzz_limit = 16 * text.bytes + 16 * (size_t)(a->rows + 2) + 131072;
    FUZZ_CHECK(spmv_mm_read_memory(&b, text.data, text.bytes, "text", opt, NULL, h) == SPMV_OK);
    fuzz_same(a, &b);
    spmv_csr_destroy(&b);
    free(text.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    int messages = 0;
    spmv_mm_options opt;
    spmv_hooks h;
    spmv_csr a;
    spmv_status s;
    h.user = &messages;
    h.resize = fuzz_resize;
    h.log = fuzz_log;
    memset(&opt, 0, sizeof opt);
    opt.max_dim = 4096;
    fuzz_limit = 16 * bytes + 16 * 4098 + 131072;
    s = spmv_mm_read_memory(&a, data, bytes, "fuzz", &opt, NULL, &h);
    FUZZ_CHECK(messages == (s != SPMV_OK));
    if (!s) {
        FUZZ_CHECK(a.rows <= 4096 && a.cols <= 4096);
        fuzz_sound(&a);
        fuzz_round_trip(&a, &opt, &h);
    }
    spmv_csr_destroy(&a);
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
