/* SPDX-License-Identifier: MIT
 *
 * tools/cli/files.h - matrices and vectors from files and back, plain or through gzip, also on standard input and output.
 */
#ifndef SPMV_TOOLS_CLI_FILES_H
#define SPMV_TOOLS_CLI_FILES_H

#include "cli.h"
#include "spmv.h"

/* 1: name ends in tail. */
int file_ends_in(const char *name, const char *tail);

/* Reads a matrix, text or binary, with values that products of this type need; SPMV_TYPE_COUNT: as the file has them,
 * f64 from text. On failure *a is zeroed. */
int file_load_matrix(tool *t, const char *path, spmv_type type, spmv_csr *a);

/* Reads a vector of n elements for products of this type; *x is freed with spmv_free(&t->hooks, ...). */
int file_load_vector(tool *t, const char *path, spmv_type type, uint64_t n, const char *what, void **x);

/* A whole file of up to most bytes; the caller frees *text. */
int file_load_text(tool *t, const char *path, size_t most, char **text, size_t *used);

/* A tuning table, refused as any other file is. */
int file_load_table(tool *t, const char *path, spmv_tuning *out);

/* Text or, if the name ends in .bin or .bin.gz, the binary form. */
int file_save_matrix(tool *t, const char *path, const spmv_csr *a);

/* Writes n elements of the type's vectors as a Matrix Market array; path NULL or -: to standard output. DONE or FAILED. */
int file_save_vector(tool *t, const char *path, spmv_type type, uint64_t n, const void *x);

#endif
