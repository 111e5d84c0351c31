/* SPDX-License-Identifier: MIT
 *
 * tools/gen/front.h - from the text of a description to a tree whose names are unresolved.
 */
#ifndef SPMV_TOOLS_GEN_FRONT_H
#define SPMV_TOOLS_GEN_FRONT_H

#include "tools/gen/report.h"
#include "tools/gen/tree.h"

enum { FRONT_MOST_BYTES = 16384 }; /* of a description; each is a screen of text */

/* What the scanner and the parser share while they read one description. */
typedef struct front {
    tree_format *format;
    report      *errors;
    int          line, column; /* of the next byte */
    tree_place   last;         /* the last word */
    int          depth;        /* of statements in each other */
    int          stop;         /* 1: an error was reported that ends the parse, so the parser does not report another one */
} front;

/* Parses f->text, and reports the first error of its syntax. Returns 0, or -1 after an error. */
int front_parse(tree_format *f, report *errors);

#endif
