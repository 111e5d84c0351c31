/* SPDX-License-Identifier: MIT
 *
 * tools/tune/table.h - tuning tables (spmv_auto.h) as rows: written, found, added, saved.
 */
#ifndef SPMV_TOOLS_TUNE_TABLE_H
#define SPMV_TOOLS_TUNE_TABLE_H

#include "../cli/cli.h"
#include "../cli/memory.h"
#include "spmv.h"

/* "csr:run=1024/WG=256" */
void table_row_name(const spmv_tune_row *r, char *out, size_t size);

/* keep: a byte a row, 0 leaves it out; NULL: all. */
void table_print(growing *out, const spmv_tuning *t, const unsigned char *keep);

/* Room for one row more, with no sample; NULL: no memory. */
spmv_tune_row *table_add(spmv_tuning *t, size_t *room);

/* 1: the same format with the same keys. */
int table_same_layout(const spmv_spec *a, const spmv_spec *b);

/* 1: both are of one type, kind, layout and variant. */
int table_row_is(const spmv_tune_row *a, const spmv_tune_row *b);

/* The row that is like that one, or NULL. */
spmv_tune_row *table_find(const spmv_tuning *t, const spmv_tune_row *like);

/* Takes size i out of rows (or, across, out of per_row). */
void table_axis_cut(spmv_tuning *t, int across, int i);

/* Sizes at which nothing was measured say nothing. */
void table_axis_tidy(spmv_tuning *t);

/* 1: the row's format stores blocks. */
int table_row_has_blocks(const spmv_tune_row *r);

/* A number that rows which compete with each other share. Formats compete within their class (the number is at most 0); formats with
 * blocks only where the blocks have the same size, because the matrix decides which size fits (the number is that size, as in key b). */
int64_t table_row_class(const spmv_tune_row *r);

/* 1: a takes b's place where it is faster, which short columns do not for long ones: they do not fit every matrix. */
int table_rows_compete(const spmv_tune_row *a, const spmv_tune_row *b);

/* Writes the table in at most TABLE_BYTES, after reading back what is about to be written. */
int table_save(tool *t, spmv_tuning *table, const char *path, size_t *rows, size_t *bytes);

/* Both axes' sizes; 0 if they are more than a table has. */
int table_axis_join(uint64_t *at, int *count, const uint64_t *more, int n);

/* Where v stands among count sizes; -1: nowhere. */
int table_axis_index(const uint64_t *at, int count, uint64_t v);

#endif
