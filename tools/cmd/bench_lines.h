/* SPDX-License-Identifier: MIT
 *
 * tools/cmd/bench_lines.h - what came of each plan of spmv bench, and how it is printed.
 */
#ifndef SPMV_TOOLS_CMD_BENCH_LINES_H
#define SPMV_TOOLS_CMD_BENCH_LINES_H

#include "../cli/cli.h"
#include "../cli/options.h"
#include "../measure/reference.h"
#include "../measure/runner.h"
#include "spmv.h"

/* One line: what came of one plan. */
typedef struct line {
    const char *asked;            /* what --plan said */
    char       *plan, *variant;   /* in use, on the heap; NULL: it was not made */
    spmv_status status;           /* of making and multiplying it */
    char       *why;              /* what failed, on the heap; NULL: the status tells */
    timing      took;             /* of a product; NAN: not known, as in the figures that follow */
    double      gflops, gbs, bytes, padding, err;
    double      prepare;          /* seconds from CSR to the first product: choice, conversion, on a device upload and building */
    int         refused;          /* 1: the plan cannot work here */
    int         ok;               /* 1: multiplied, and right */
    int         again;            /* 1: timed beside others */
} line;

/* Why the plan has no time: the message, or what its status says. */
const char *bench_line_why(const line *r);

/* Frees the line itself as well. */
void bench_line_free(line *r);

/* Lines in some order. */
typedef struct lines {
    line **at;
    size_t count;
} lines;

/* Takes over r. DONE or FAILED. */
int bench_lines_add(tool *t, lines *all, line *r);

/* What all plans of one file share. */
typedef struct bench {
    tool            *t;
    const arguments *args;
    spmv_type        type;
    spmv_device     *device;
    uint64_t         max_bytes;
    const char      *matrix;   /* its name */
    const spmv_csr  *a;
    trial            real, whole;
    int              worst;    /* exit status so far */
    spmv_build_hints hints;    /* how to choose */
    int              again;    /* how many plans are timed once more */
    lines            done;     /* of this file, in the order of the plans; it owns them */
} bench;

/* Frees the lines of the file at hand. */
void bench_lines_forget(bench *b);

/* The line as a JSON object. */
void bench_line_json(const bench *b, const line *r);

/* The line above a table: the matrix and the device. */
void bench_lines_heading(const bench *b);

/* All lines as a table. */
void bench_lines_print(const bench *b, const lines *all);

#endif
