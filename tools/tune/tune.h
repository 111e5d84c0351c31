/* SPDX-License-Identifier: MIT
 *
 * tools/tune/tune.h - what the modules of spmv tune have for each other.
 */
#ifndef SPMV_TOOLS_TUNE_TUNE_H
#define SPMV_TOOLS_TUNE_TUNE_H

#include "../cli/cli.h"
#include "../measure/runner.h"
#include "spmv.h"
#include <stdio.h>

/* ---- samples.c: samples: measured times of products with matrices whose structure is like that of real ones.
 *
 * A file of samples is text. Its first lines are "spmv tuning samples 1", with " graph" behind it if products were timed in CUDA graphs,
 * the device and its driver; then one line for each sample:
 *
 *     f64 poisson2d_700 csr:run=1024/WG=256 12.3 4100
 *
 * the type, the matrix as "spmv gen" names it, a plan of one part, "/", the knobs of its kernel, the microseconds of a product, and those
 * of preparing the matrix without building kernels, which may be missing. Samples are taken in passes over all structures, each with a line
 * of its own, because other work on a machine comes and goes: of several short measurements minutes apart most are disturbed less than a
 * long one may be. Of repeated samples the median counts. */

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

/* ---- fit.c: the costs of a tuning table from samples: for each candidate a non-negative least squares of its seven costs.
 *
 * Of a sample, the difference of estimate and time over the time counts, so that short products weigh as much as long ones, times the
 * share that the best candidate's time on that structure is of its own: how slow a slow candidate is matters little to a choice. As a few
 * samples do not determine seven costs, each fit is drawn to the costs known before, times one factor for all lines of a type, as if so many
 * further structures agreed with them. How many, or whether that factor alone is better, is found by leaving out one family of structures
 * after another; a few structures cannot show it, and then the factor is all that changes. */

enum { FIT_LEAST = 10 /* structures: with fewer, fits to a table of another device chose worse than that table with a factor */ };

/* Estimates of all lines of a list for its structures. */
typedef struct looks {
    spmv_estimate **at; /* by structure and type; NULL: not made yet */
    size_t          count;
} looks;

/* Makes room for those of a list, which must get no further lines or structures. 1, or 0 if memory ran out. */
int looks_make(looks *k, const sample_list *l);
void looks_free(looks *k);

/* The estimates of the lines for structure number name, whose pattern is a, by the costs that the lines have when it is asked for the first
 * time. NULL after a message. */
const spmv_estimate *look_at(tool *t, looks *k, const spmv_tuning *head, const sample_list *l, size_t name, spmv_type type,
                             const spmv_csr *a);

/* Leaves of the lines whose byte in kept is not 0 those of the candidates with which the best one on each structure is missed least, found one
 * after another: csr, and at most so many in all. DONE, or FAILED after a message. */
int fit_cover(tool *t, const sample_list *l, size_t most, unsigned char *kept);

/* How many structures have samples. */
uint64_t fit_structures(const sample_list *l);

/* Fits the costs of the lines that are kept, which are those known before, to the samples, which samples_join has joined, and sets the error
 * and the regrets of the head. Structures that were not looked at are generated. What preparing takes is fitted likewise, where samples say
 * it.
 *   fresh     1: the costs known before are of no table, so that no factor makes them better
 *   strength  becomes the number of structures that agree with what was known; 0: only a factor was fitted
 * DONE, or FAILED after a message. */
int fit_lines(tool *t, spmv_tuning *head, sample_list *l, looks *k, const unsigned char *kept, int fresh, int *strength);

/* ---- product.c: checks and times the product of one matrix with one candidate after another. */

/* The current matrix, of integers so small that every product is exact, and its vectors. */
typedef struct product {
    tool        *t;
    spmv_device *device;   /* NULL: the host */
    double       patience; /* seconds after which a time is accepted as it is */
    spmv_csr     a;        /* borrows the pattern */
    spmv_type    type;
    void        *val, *x, *y, *want;
} product;

/* What a product took. */
typedef struct product_times {
    double seconds;   /* 0: it was not timed, as it is wrong */
    double preparing; /* without building kernels */
    double build;     /* seconds of that; 0: there was nothing to build */
    int    right;     /* 1: every element of y is exact */
} product_times;

/* Makes a matrix with that pattern, which must stay, the current one, with values of a type. On failure there is none. */
spmv_status product_take(product *p, const spmv_csr *pattern, spmv_type type);

/* Frees the current matrix. A zeroed product is allowed. */
void product_free(product *p);

/* Prepares the current matrix by a plan of one part, checks its product and times it. Messages of the library are kept in p->t->text. */
spmv_status product_measure(product *p, const char *plan, const char *variant, product_times *out);

/* Prepares it by any plan and does nothing else. */
spmv_status product_prepare(product *p, const char *plan, product_times *out);

/* Times a product, in seconds: the median of about five series of products. While these differ much, as on a machine with other work, more
 * are taken, and the lower quartile of at least eight counts. Ends after patience seconds. */
spmv_status product_time(runner *r, double patience, double *out);

/* ---- probe.c: the head of a tuning table: what the device is, how fast its memory is, and what preparing takes besides storing. */

/* Fills in the head with the name of p's device, its driver and its figures, and prints them on standard error. DONE, or FAILED after a
 * message. */
int probe_head(product *p, spmv_tuning *head);

/* Measures what a further part of a plan and, on a GPU, a look at a matrix in buffers of the device take. What is lost in noise stays as it
 * is. DONE, or FAILED after a message. */
int probe_prepare(product *p, spmv_tuning *head);

/* ---- structures.c: the structures that spmv tune measures, and the order in which it does. */

/* What is measured, and where it goes. */
typedef struct structures_wish {
    const spmv_tuning *head;   /* of the device's table */
    sample_list   *samples;    /* gets the samples; its lines have the costs known before */
    unsigned char *wanted;     /* by line: 1: to be measured; becomes 0 if its product is wrong or fails */
    looks         *seen;
    unsigned       types;      /* bits 1u << type */
    FILE          *file;       /* each sample is appended to it at once; NULL: none */
    double         until;      /* when it ends */
    double         build;      /* becomes the median of the seconds of building kernels; 0: none were built */
} structures_wish;

/* Adds the names of all structures that are measured to a list. 1, or 0 if memory ran out. */
int structures_add(sample_list *l, const spmv_device *device, int graphs);

/* Measures the lines that are wanted on every structure, in passes, those expected to be fast first, of each with the fewest samples. DONE, or
 * FAILED after a message. */
int structures_measure(product *p, structures_wish *w);

/* ---- table.c: writes tuning tables (spmv_table.h). */

enum { TABLE_CANDIDATES = 24, TABLE_BYTES = 8192 }; /* the most candidates of a type, and bytes of the text, of a new table */

/* Writes a table with the head of head and the lines whose byte in kept is not 0, checks that it can be read back, and saves it.
 * *bytes: how many it has. DONE, or FAILED after a message. */
int table_save(tool *t, const spmv_tuning *head, const spmv_candidate *line, const unsigned char *kept, size_t lines, const char *path,
               size_t *bytes);

#endif
