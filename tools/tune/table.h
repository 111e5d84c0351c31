/* SPDX-License-Identifier: MIT
 *
 * tools/tune/table.h - tuning tables (spmv_table.h): prints and saves them, and finds and adds rows.
 */
#ifndef SPMV_TOOLS_TUNE_TABLE_H
#define SPMV_TOOLS_TUNE_TABLE_H

#include "../cli/cli.h"
#include "../cli/memory.h"
#include "spmv.h"

/* "csr:run=1024/WG=256" */
void table_row_name(const spmv_tune_row *r, char *out, size_t size);

/* Appends the table's text to out. keep: a byte per row, 0 leaves the row out; NULL: all rows. */
void table_print(growing *out, const spmv_tuning *t, const unsigned char *keep);

/* Adds a row without rates; *room: for how many rows there is memory. NULL: memory ran out. */
spmv_tune_row *table_add(spmv_tuning *t, size_t *room);

/* 1: the same format with the same keys. */
int table_same_layout(const spmv_spec *a, const spmv_spec *b);

/* 1: both rows have the same type, kind, layout and variant. */
int table_row_is(const spmv_tune_row *a, const spmv_tune_row *b);

/* The row with the same type, kind, layout and variant, or NULL. */
spmv_tune_row *table_find(const spmv_tuning *t, const spmv_tune_row *like);

/* Removes the rows whose bytes in drop are not 0. */
void table_drop(spmv_tuning *t, const unsigned char *drop);

/* Removes entry i of the axis rows_at or, if across, per_row_at, and the rates there. */
void table_axis_cut(spmv_tuning *t, int across, int i);

/* Removes the entries of both axes at which nothing was measured. */
void table_axis_tidy(spmv_tuning *t);

/* 1: the row's format stores blocks. */
int table_row_has_blocks(const spmv_tune_row *r);

/* A number that rows which compete with each other share. Formats compete within their class (the number is at most 0); formats with
 * blocks only where the blocks have the same size, because the matrix decides which size fits (the number is that size, as in key b). */
int64_t table_row_class(const spmv_tune_row *r);

/* 1: a can take b's place where it is faster. Narrow columns cannot take the place of wide ones, because they do not suit every matrix. */
int table_rows_compete(const spmv_tune_row *a, const spmv_tune_row *b);

enum { TABLE_BYTES = 28 * 1024 }; /* the most bytes of the text of a new table, because tables are bundled with the library */

/* Thins the table so that its text has at most limit bytes (0: keeps every row that has a rate), checks that the text can be read back, and
 * writes it. *rows and *bytes: what was written. DONE, or FAILED after a message. */
int table_save(tool *t, spmv_tuning *table, const char *path, size_t limit, size_t *rows, size_t *bytes);

/* Adds n entries of another axis to an axis, in order. 1, or 0 if a table cannot have so many. */
int table_axis_join(uint64_t *at, int *count, const uint64_t *more, int n);

/* The index of v in an axis of count entries; -1: not there. */
int table_axis_index(const uint64_t *at, int count, uint64_t v);

#endif
