/* SPDX-License-Identifier: MIT
 *
 * tools/picture/lines.h - reads the output of "spmv bench --json" and of the peers' benchmarks, one JSON object per line.
 */
#ifndef SPMV_TOOLS_PICTURE_LINES_H
#define SPMV_TOOLS_PICTURE_LINES_H

#include "../cli/cli.h"
#include <stddef.h>

/* The time of one product, of ours or of a peer. */
typedef struct bench_line {
    char   matrix[96], type[16];
    char   device[128]; /* of a peer: its name, which is that of the file */
    char   builder[128]; /* the builders that made the plan, "auto, cocktail"; "": none */
    char   plan[256];
    char   label[520];  /* plan/variant; of a peer: its variant */
    double us;          /* microseconds per product; 0: the plan was refused */
    double work;        /* 10^3 operations per product; 0: unknown */
    int    is_peer, is_wrong, is_again; /* is_again: timed side by side with others */
} bench_line;

/* All lines that were read. Begin with zeros except for t and only. */
typedef struct bench_lines {
    tool       *t;
    bench_line *at;
    size_t      count, room;
    char        peer[128];  /* the peer's name, "others" if there are several */
    char        device[128]; /* the device of our lines; "": there are several */
    int         devices;
    const char *only;       /* the plan or builder whose lines of ours are read; NULL: all */
} bench_lines;

/* Appends as much of the text as fits. */
void lines_label_add(char *out, size_t size, const char *text);

/* Copies as much of the text as fits. */
void lines_label_copy(char *out, size_t size, const char *text);

/* 1: the builder is among those that made the line's plan. */
int lines_is_built_by(const bench_line *b, const char *builder);

/* Adds the lines of a file to l. DONE, or FAILED after a message. */
int lines_of_file(bench_lines *l, const char *file);

#endif
