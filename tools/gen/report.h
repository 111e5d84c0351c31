/* SPDX-License-Identifier: MIT
 *
 * tools/gen/report.h - messages about a description: file, line, column, the source line and a caret below it.
 */
#ifndef SPMV_TOOLS_GEN_REPORT_H
#define SPMV_TOOLS_GEN_REPORT_H

#include "tools/gen/tree.h"
#include <stdio.h>

enum { REPORT_MOST = 20 }; /* errors that are printed; later ones tend to follow from earlier ones */

typedef struct report {
    FILE *out;    /* where messages go */
    int   errors; /* how many there were */
} report;

#if defined(__GNUC__)
#  define REPORT_PRINTF(text, rest) __attribute__((format(printf, text, rest)))
#else
#  define REPORT_PRINTF(text, rest)
#endif

/* The line of the description with that number, which counts from 1; the empty end of the text if there are fewer. */
const char *report_line(const tree_format *f, int line);

/* Prints an error about a place of the description; if its line is 0, without a place and a source line. */
REPORT_PRINTF(4, 5) void report_error(report *r, const tree_format *f, tree_place at, const char *format, ...);

#endif
