/* SPDX-License-Identifier: MIT
 *
 * tools/cli/files.h - reads and writes matrices and vectors as files, compressed or not, or by standard input and output.
 */
#ifndef SPMV_TOOLS_CLI_FILES_H
#define SPMV_TOOLS_CLI_FILES_H

#include "cli.h"
#include "spmv.h"
#include <stddef.h>

/* 1: the name ends in tail. */
int file_ends_in(const char *name, const char *tail);

/* A file's name without folders and without the suffixes .gz, .mtx, .bin and .json. */
void file_bare_name(const char *path, char *out, size_t size);

/* Reads a matrix, in text or binary form or prepared, with the type of values that products of this type need. SPMV_TYPE_COUNT keeps the
 * file's type, which is f64 for text. On failure *a is zeroed. Like all functions here it returns DONE, or FAILED after a message. */
int file_load_matrix(tool *t, const char *path, spmv_type type, spmv_csr *a);

/* The same, but for a saved matrix (spmv_save), of which *saved gets the bytes, which the caller frees, and *a remains zero; else *saved
 * becomes NULL. */
int file_load_saved(tool *t, const char *path, spmv_type type, spmv_csr *a, char **saved, size_t *bytes);

/* Reads vectors of n elements for products of this type, each a column, which lie in *x one after another; the caller frees that by
 * spmv_free(&t->hooks, *x). count: how many there must be, or 0, and becomes how many there are. what names them in messages. */
int file_load_vectors(tool *t, const char *path, spmv_type type, uint64_t n, uint64_t *count, const char *what, void **x);

/* Reads a whole file of at most most bytes; the caller frees *text. It does not end in a zero byte. */
int file_load_text(tool *t, const char *path, size_t most, char **text, size_t *used);

/* Reads a tuning table; the caller frees it by spmv_tuning_destroy. On failure *out is zeroed. */
int file_load_table(tool *t, const char *path, spmv_tuning *out);

/* Writes a matrix: in the binary form if the name ends in .bin or .bin.gz, else as text. path NULL or -: to standard output. */
int file_save_matrix(tool *t, const char *path, const spmv_csr *a);

/* Writes the bytes of a saved matrix. array: 1: as the text of a C file. */
int file_save_prepared(tool *t, const char *path, const void *data, size_t bytes, int array);

/* Writes count vectors of n elements of this type as a Matrix Market array. path NULL or -: to standard output. */
int file_save_vectors(tool *t, const char *path, spmv_type type, uint64_t n, uint64_t count, const void *x);

#endif
