/* SPDX-License-Identifier: MIT
 *
 * tools/tune/structures.h - samples: products with matrices whose structure is like that of real ones. The matrices of the grid are
 * banded, scattered or uneven and nothing else; the estimate's efficiencies are fitted to these samples (fit.h).
 *
 * A file of samples is text. Its first lines are "spmv tuning samples 1", and the device and its driver; then one line for each sample:
 *
 *     f64 poisson2d_700 csr:run=1024/WG=256 12.3
 *
 * the type, the matrix as "spmv gen" names it, a plan of one part, "/", the knobs of its kernel, and the microseconds of a product. Samples
 * are taken in passes over all structures, each with a line of its own, because other work on a machine comes and goes: of several short
 * measurements minutes apart most are disturbed less than a long one may be. Where samples are used, the median of such lines counts: on
 * PoCL those of other passes agree with it more often than with the fastest.
 */
#ifndef SPMV_TOOLS_TUNE_STRUCTURES_H
#define SPMV_TOOLS_TUNE_STRUCTURES_H

#include "candidates.h"

/* A product that was measured. */
typedef struct sample {
    spmv_type type;
    char      structure[48];
    spmv_spec layout;
    char      variant[SPMV_TUNE_VARIANT];
    double    seconds;
    size_t    first; /* the number of the first sample of the list that it repeats, or its own */
} sample;

/* The samples of a file, and its first two lines after the first. */
typedef struct sample_list {
    sample *at;
    size_t  count, room;
    double  noise;   /* of the measurements of a product around their median: root mean square as log2; 0: none was repeated */
    char    device[SPMV_TUNE_NAME], driver[SPMV_TUNE_NAME];
    int     graph;   /* 1: timed in CUDA graphs */
} sample_list;

/* "in CUDA graphs" or "by calls", for messages. */
const char *samples_timed(int by_graph);

/* Frees the samples and zeroes the list. A zeroed list is allowed. */
void samples_free(sample_list *l);

/* Reads a file of samples, packed by gzip or not, of which those of the same product become one, their median. DONE, or FAILED after a
 * message; free *out in either case. */
int samples_read(tool *t, const char *path, sample_list *out);

/* What structures_measure is to do, and what it gives back where a table is corrected. */
typedef struct structures_wish {
    const spmv_tuning *table;  /* whose rows are measured */
    unsigned           types;  /* bits 1u << type */
    const char        *path;   /* the file of samples; NULL: none is kept */
    int                likely; /* 1: only what the table expects to be near the best of a structure, or the best of its format, so that a
                                  short time shows many structures */
    unsigned char     *struck; /* a byte for each row of the table, becomes 1 if its product was wrong or failed; NULL: not wanted */
    sample_list       *taken;  /* becomes all samples, those included that the file had before, as samples_read returns them; free it also
                                  after a failure. NULL: not wanted */
} structures_wish;

/* Measures the layouts and variants that the rows of the table have on every structure, in passes, and appends each sample to the file.
 * Of those that the file has, the ones with the fewest lines come first. It ends as early before u->end as a fit to the samples takes.
 * DONE, or FAILED after a message. */
int structures_measure(tuner *u, const structures_wish *wish);

#endif
