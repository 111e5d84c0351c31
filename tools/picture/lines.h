/* SPDX-License-Identifier: MIT
 *
 * tools/picture/lines.h - reads what "spmv bench --json" and the benchmarks of peers print, a JSON object a line.
 */
#ifndef SPMV_TOOLS_PICTURE_LINES_H
#define SPMV_TOOLS_PICTURE_LINES_H

#include "../cli/cli.h"
#include <stddef.h>

typedef struct bench_line {
    char   matrix[96], type[16];
    char   device[128]; /* of a peer: the name of the file */
    char   builder[128]; /* those that made the plan, "auto, cocktail"; "": it was asked for as it stands */
    char   plan[256];
    char   label[520];  /* plan/variant, or the variant of a peer */
    double us;          /* microseconds of a product, 0: the plan was refused */
    double work;        /* 10^3 operations a product, 0: not known */
    int    is_peer, is_wrong, is_again;
} bench_line;

typedef struct bench_lines {
    tool       *t;
    bench_line *at;
    size_t      count, room;
    char        peer[128];  /* the device of a peer's lines, "others" if there are several */
    char        device[128]; /* of our lines; "": there are several */
    int         devices;
    const char *only;       /* the plan or builder whose lines count, beside a peer's; NULL: all */
} bench_lines;

/* As much of the text as there is room for, behind what stands in out. */
void lines_label_add(char *out, size_t size, const char *text);

/* As much of the text as there is room for. */
void lines_label_copy(char *out, size_t size, const char *text);

/* Whether that builder is among those that made the line's plan. */
int lines_is_built_by(const bench_line *b, const char *builder);

/* Adds the lines of a file to l. DONE or FAILED. */
int lines_of_file(bench_lines *l, const char *file);

#endif
