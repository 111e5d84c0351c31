/* SPDX-License-Identifier: MIT
 *
 * tools/tune/samples.h - samples: measured times of products with matrices whose structure is like that of real ones.
 *
 * A file of samples is text. Its first lines are "spmv tuning samples 1", with " graph" behind it if products were timed in CUDA graphs,
 * the device and its driver; then one line for each sample:
 *
 *     f64 poisson2d_700 csr:run=1024/WG=256 12.3 4100
 *
 * the type, the matrix as "spmv gen" names it, a plan of one part, "/", the knobs of its kernel, the microseconds of a product, and those
 * of preparing the matrix without building kernels, which may be missing. Samples are taken in passes over all structures, each with a line
 * of its own, because other work on a machine comes and goes: of several short measurements minutes apart most are disturbed less than a
 * long one may be. Of repeated samples the median counts.
 */
#ifndef SPMV_TOOLS_TUNE_SAMPLES_H
#define SPMV_TOOLS_TUNE_SAMPLES_H

#include "../cli/cli.h"
#include "spmv.h"
#include <stdio.h>

enum { SAMPLE_NAME = 48 /* bytes of the name of a structure, with its end */ };

/* A product that was measured. */
typedef struct sample {
    size_t line, name;         /* the number of its candidate and of its structure in the list */
    double seconds, preparing; /* preparing 0: not known */
} sample;

/* Samples, their candidates, and the names of their structures. */
typedef struct sample_list {
    sample         *at;
    spmv_candidate *line; /* of whose costs all are 0 but those of samples_line */
    char          (*name)[SAMPLE_NAME];
    size_t          count, room, lines, line_room, names, name_room;
    char            device[SPMV_TUNE_NAME], driver[SPMV_TUNE_NAME];
    int             graph; /* 1: timed in CUDA graphs */
    size_t          bytes; /* of whole lines in the file that was read */
} sample_list;

/* What samples_line and samples_name return if memory ran out. */
#define SAMPLES_NONE ((size_t)-1)

/* Frees the list and zeroes it. A zeroed list is allowed. */
void samples_free(sample_list *l);

/* The number of a candidate, which is added unless it is there, with the costs of a product that takes the time of its launch, its bytes
 * and its longest row. */
size_t samples_line(sample_list *l, const spmv_candidate *like);

/* The number of a structure, which is added unless it is there. */
size_t samples_name(sample_list *l, const char *name);

/* Adds a sample. 1, or 0 if memory ran out. */
int samples_add(sample_list *l, sample s);

/* 1: the same format with the same keys, and the same knobs. */
int samples_alike(const spmv_candidate *a, const spmv_candidate *b);

/* "csr:run=1024", the layout of a candidate as a plan. */
void samples_plan(const spmv_candidate *k, char *out, size_t size);

/* Reads a file of samples, packed by gzip or not, into an empty list. DONE, or FAILED after a message; free *out in either case. */
int samples_read(tool *t, const char *path, sample_list *out);

/* Replaces the samples of the same product by their median, of an even number the faster one of the two in the middle. Then they are
 * ordered by their candidates. */
void samples_join(sample_list *l);

/* Writes the head of a file of samples, or the last sample of the list. */
void samples_write_head(FILE *f, const sample_list *l);
void samples_write_last(FILE *f, const sample_list *l);

#endif
