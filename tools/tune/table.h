/* SPDX-License-Identifier: MIT
 *
 * tools/tune/table.h - writes tuning tables (spmv_table.h).
 */
#ifndef SPMV_TOOLS_TUNE_TABLE_H
#define SPMV_TOOLS_TUNE_TABLE_H

#include "../cli/cli.h"
#include "spmv.h"

enum { TABLE_CANDIDATES = 24, TABLE_BYTES = 8192 }; /* the most candidates of a type, and bytes of the text, of a new table */

/* Writes a table with the head of head and the lines whose byte in kept is not 0, checks that it can be read back, and saves it.
 * *bytes: how many it has. DONE, or FAILED after a message. */
int table_save(tool *t, const spmv_tuning *head, const spmv_candidate *line, const unsigned char *kept, size_t lines, const char *path,
               size_t *bytes);

#endif
