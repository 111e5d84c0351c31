/* SPDX-License-Identifier: MIT
 *
 * tools/cmd/bench_lines.h - the results of spmv bench, a line for each plan, and how they are printed.
 */
#ifndef SPMV_TOOLS_CMD_BENCH_LINES_H
#define SPMV_TOOLS_CMD_BENCH_LINES_H

#include "../cli/cli.h"
#include "../cli/options.h"
#include "../measure/reference.h"
#include "../measure/runner.h"
#include "../measure/team.h"
#include "spmv.h"

/* The result of one plan. */
typedef struct line {
    const char *asked;            /* the argument of --plan */
    char       *plan, *variant;   /* those in use, on the heap; NULL: the plan could not be prepared */
    spmv_status status;           /* of preparing and multiplying */
    char       *why;              /* the message about a failure, on the heap; NULL: there was none */
    timing      took;             /* of a product, in seconds; NAN: unknown, as in the following figures */
    double      gflops, gbs, bytes, padding, err;
    double      prepare;          /* seconds from CSR to the first product: choice, conversion, on a device upload and building */
    double      spent[SPMV_PHASE_COUNT]; /* ... of which in each phase */
    double      memory;           /* the most bytes that the library held while preparing, over those of the CSR form */
    int         filled, parts;    /* parts that the device filled, and all of them */
    double      device_memory;    /* the most bytes in buffers of the device while preparing, or for several devices those of the matrix,
                                     over those of the CSR form; NAN: on the host */
    int         refused;          /* 1: the plan cannot work for this matrix or device */
    int         ok;               /* 1: the product is right */
    double      both;             /* with --both: seconds of this product and that of the other direction in turn */
    int         transposed;       /* 1: a product with the transpose */
    double      many[2];          /* with --vectors: seconds of a product of all, one after another and side by side */
    int         again;            /* 1: timed side by side with others */
} line;

/* Why the plan has no time: the message, or the text of its status. */
const char *bench_line_why(const line *r);

/* Frees the line and what it holds. */
void bench_line_free(line *r);

/* A list of lines, which it need not own. */
typedef struct lines {
    line **at;
    size_t count;
} lines;

/* Appends r. DONE, or FAILED after a message. */
int bench_lines_add(tool *t, lines *all, line *r);

enum { TOTALS = 8 /* the most numbers of products of --total */ };

/* The state of spmv bench. */
typedef struct bench {
    tool            *t;
    const arguments *args;
    spmv_type        type;
    spmv_device     *device;
    team             team;     /* with several devices, in place of device */
    char             label[512]; /* the name of the device, or the names of all */
    uint64_t         max_bytes;
    spmv_simd        simd;
    spmv_conversion  convert;
    const char      *matrix;   /* the current file's name without folders and suffixes */
    const spmv_csr  *a;
    trial            real, whole;
    struct { spmv_csr a; trial real, whole; } turned; /* with --both: the transpose */
    int              worst;    /* the exit status so far */
    spmv_build_hints hints;    /* for the choice */
    double           read;     /* seconds for reading the current file and making CSR of it */
    uint64_t         total[TOTALS]; /* numbers of products of --total */
    int              totals;
    uint64_t         vectors;  /* of --vectors; 0: none */
    int              again;    /* how many of the fastest plans are timed again */
    lines            done;     /* the lines of the current file in the order of its plans, which it owns */
} bench;

/* Frees the lines of the current file. */
void bench_lines_forget(bench *b);

/* Prints the line as a JSON object. */
void bench_line_json(const bench *b, const line *r);

/* Prints the heading above a table: the matrix and the device. */
void bench_lines_heading(const bench *b);

/* Prints a table of what preparing took, by phases, and of the time until the products of --total. */
void bench_lines_print_totals(const bench *b, const lines *all);

/* Prints all lines as a table. */
void bench_lines_print(const bench *b, const lines *all);

#endif
