/* SPDX-License-Identifier: MIT
 *
 * tools/tune/tune.h - what the modules of spmv tune have for each other.
 */
#ifndef SPMV_TOOLS_TUNE_TUNE_H
#define SPMV_TOOLS_TUNE_TUNE_H

#include "../cli/cli.h"
#include "../measure/reference.h"
#include "spmv.h"
#include <stdio.h>

/* ---- samples.c: samples: measured times of products with matrices whose structure is like that of real ones.
 *
 * A file of them is text: "spmv tuning samples 1", with " graph" behind it if products were timed in CUDA graphs; the device; its driver;
 * then a line for each sample, such as
 *
 *     f64 poisson2d_700 csr:run=1024/WG=256 12.3 4100
 *
 * the type, the matrix as "spmv gen" names it, a plan of one part, "/", the knobs of its kernel, the microseconds of a product, and those
 * of preparing the matrix without building kernels, which may be missing. */

enum { SAMPLE_NAME = 48 /* bytes of the name of a structure, with its end */ };

typedef struct sample {
    size_t line, name;         /* the number of its candidate and of its structure in the list */
    double seconds, preparing; /* preparing 0: not known */
} sample;

/* A zeroed list is empty. */
typedef struct sample_list {
    sample         *at;
    spmv_candidate *line; /* candidates, of whose costs all are 0 but those of samples_line */
    char          (*name)[SAMPLE_NAME]; /* of structures */
    size_t          count, room, lines, line_room, names, name_room;
    char            device[SPMV_TUNE_NAME], driver[SPMV_TUNE_NAME];
    int             graph; /* 1: timed in CUDA graphs */
    size_t          bytes; /* of whole lines in the file that was read */
} sample_list;

void samples_free(sample_list *l);

/* The number of a candidate or structure, which is added unless it is there; a candidate with the costs of a product that takes the time of
 * its launch, its bytes and its longest row. SAMPLES_NONE: memory ran out. */
#define SAMPLES_NONE ((size_t)-1)
size_t samples_line(sample_list *l, const spmv_candidate *like);
size_t samples_name(sample_list *l, const char *name);

/* Adds a sample. 1, or 0 if memory ran out. */
int samples_add(sample_list *l, sample s);

/* 1: the same format with the same keys, and the same knobs. */
int samples_alike(const spmv_candidate *a, const spmv_candidate *b);

/* "csr:run=1024", the layout of a candidate as a plan. */
void samples_plan(const spmv_candidate *k, char *out, size_t size);

/* Reads a file of samples, packed by gzip or not, into an empty list. DONE, or FAILED after a message; free *out in either case. */
int samples_read(tool *t, const char *path, sample_list *out);

/* Replaces samples of the same product by their median, of an even number the faster one in the middle, and orders all by candidate. */
void samples_join(sample_list *l);

/* Writes the head of a file of samples, or the last sample of the list. */
void samples_write_head(FILE *f, const sample_list *l);
void samples_write_last(FILE *f, const sample_list *l);

/* ---- fit.c: the costs of a tuning table from samples: for each candidate a non-negative least squares of its seven costs.
 *
 * The difference of estimate and time over the time counts, times the share that the best candidate's time on that structure is of it: how
 * slow a slow candidate is matters little to a choice. As a few samples do not determine seven costs, each fit is drawn to the costs known
 * before, times one factor for all lines of a type, as if so many further structures agreed with them. How many, or whether that factor
 * alone is better, is found by leaving out one family of structures after another. */

enum { FIT_LEAST = 10 /* structures: with fewer, fits to a table of another device chose worse than a factor alone */ };

/* Estimates of all lines of a list for its structures. */
typedef struct looks {
    spmv_estimate **at; /* by structure and type; NULL: not made yet */
    size_t          count;
} looks;

/* The list must get no further lines or structures. 1, or 0 if memory ran out. */
int looks_make(looks *k, const sample_list *l);
void looks_free(looks *k);

/* The estimates of the lines for structure number name, whose pattern is a, by the costs that they have at the first call. NULL after a
 * message. */
const spmv_estimate *looks_at(tool *t, looks *k, const spmv_tuning *head, const sample_list *l, size_t name, spmv_type type,
                              const spmv_csr *a);

/* Leaves of the lines whose byte in kept is not 0 those of at most so many candidates, csr among them, with which the best one on each
 * structure is missed least. DONE, or FAILED after a message. */
int fit_cover(tool *t, const sample_list *l, size_t most, unsigned char *kept);

/* Fits the costs of the lines that are kept, and what preparing takes, to samples that samples_join has joined, and sets the error and the
 * regrets of the head.
 *   fresh     1: the costs known before are of no table, so that no factor makes them better
 *   strength  becomes the number of structures that agree with what was known; 0: only a factor was fitted
 * DONE, or FAILED after a message. */
int fit_lines(tool *t, spmv_tuning *head, sample_list *l, looks *k, const unsigned char *kept, int fresh, int *strength);

/* ---- product.c: checks and times the product of one matrix with one candidate after another. */

typedef struct product {
    tool        *t;
    spmv_device *device;   /* NULL: the host */
    double       patience; /* seconds after which a time is accepted as it is */
    spmv_csr     a;        /* the current matrix, of integers so small that every product is exact: the pattern of another, and val */
    void        *val;
    trial        of;       /* its vectors, and what the product must be */
} product;

typedef struct product_times {
    double seconds;   /* 0: it was not timed, as some element of y is not exact */
    double preparing; /* without building kernels */
    double build;     /* seconds of that; 0: there was nothing to build */
} product_times;

/* Makes a matrix with that pattern, which must stay, the current one, with values of a type. DONE, or FAILED after a message. */
int product_take(product *p, const spmv_csr *pattern, spmv_type type);
void product_free(product *p);

/* Prepares the current matrix by a plan of one part, checks its product and times it. Messages of the library are kept in p->t->text. */
spmv_status product_measure(product *p, const char *plan, const char *variant, product_times *out);

/* Prepares it by any plan and does nothing else. */
spmv_status product_prepare(product *p, const char *plan, product_times *out);

/* ---- probe.c: the head of a tuning table. DONE, or FAILED after a message. */

/* Fills in the name of p's device, its driver and its figures, and prints them on standard error. */
int probe_head(product *p, spmv_tuning *head);

/* Measures what a further part of a plan and, on a GPU, a look at a matrix in buffers of the device take. What is lost in noise stays. */
int probe_prepare(product *p, spmv_tuning *head);

/* ---- structures.c: the structures that spmv tune measures, and the order in which it does. */

typedef struct structures_wish {
    spmv_tuning   *head;       /* of the device's table; gets the median of the seconds of building kernels, if any were built */
    sample_list   *samples;    /* gets the samples; its lines have the costs known before */
    unsigned char *wanted;     /* by line: 1: to be measured; becomes 0 if its product is wrong or fails */
    looks         *seen;
    unsigned       types;      /* bits 1u << type */
    FILE          *file;       /* each sample is appended to it at once; NULL: none */
    double         until;      /* when it ends */
} structures_wish;

/* Adds the names of all structures that are measured to a list. 1, or 0 if memory ran out. */
int structures_add(sample_list *l, const spmv_device *device, int graphs);

/* Measures the lines that are wanted on every structure, those expected to be fast first. It does so in passes, because other work on a
 * machine comes and goes: of several short measurements minutes apart most are disturbed less than a long one may be. DONE, or FAILED
 * after a message. */
int structures_measure(product *p, structures_wish *w);

/* ---- table.c: writes tuning tables (spmv/choice.h). */

enum { TABLE_CANDIDATES = 24 /* the most candidates of a type in a new table */ };

/* Writes a table with the head of head and the lines whose byte in kept is not 0, checks that it can be read back, and saves it.
 * DONE, or FAILED after a message. */
int table_save(tool *t, const spmv_tuning *head, const spmv_candidate *line, const unsigned char *kept, size_t lines, const char *path);

#endif
