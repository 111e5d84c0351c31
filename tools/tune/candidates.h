/* SPDX-License-Identifier: MIT
 *
 * tools/tune/candidates.h - the candidates, which are layouts with knobs on a kind of matrix, their rates, and the state of a run.
 */
#ifndef SPMV_TOOLS_TUNE_CANDIDATES_H
#define SPMV_TOOLS_TUNE_CANDIDATES_H

#include "../cli/cli.h"
#include "../cli/memory.h"
#include "../measure/runner.h"
#include "workload.h"
#include "spmv.h"
#include <stdio.h>

/* A size is a pair of indices: row into u->head.rows_at, per into u->head.per_row_at. */
enum {
    TUNE_DENSITY = 6,   /* by default: numbers of rows that are measured, and as many of nonzeros in a row */
    TUNE_DENSITY_LEAST = 3,
    TUNE_DENSITY_MOST = 11, /* every power of two of nonzeros in a row */
    TUNE_PER_MOST = 1024,   /* the most nonzeros in a row */
    TUNE_PROBES = 4,    /* sizes at which every layout is tried first */
    TUNE_SLOTS = 3,     /* matrices kept at once */
    TUNE_SEEN = 64,     /* variants remembered for each of them */
    TUNE_FAILURES = 10, /* failures in a row that end the run */
    TUNE_LEAST = 8      /* rates that are measured whatever the budget */
};

/* The sizes that are measured, for a density: the numbers of rows and of nonzeros in a row are powers of two, of which the first and the
 * last are the same for each density. With at most rows_max rows, except for the smallest. */
void tune_sizes(spmv_tuning *head, int density, uint64_t rows_max);

/* LIVE: may still win; DROPPED: cannot win; STRUCK: struck out, because it failed or its product was wrong. */
typedef enum candidate_state { LIVE, DROPPED, STRUCK } candidate_state;

/* A layout with knobs on one kind of matrix. */
typedef struct candidate {
    spmv_tune_row   row;     /* type, kind, layout, variant, and the rate in GFLOP/s at each size; 0: not measured, below 0: impossible */
    candidate_state state;
    int             wanted;  /* 1: to be measured in the current pass */
    int             round;   /* its layout is the first (0), second (1), ... of its format to be measured */
    int             own, twin; /* rates measured for it; rates taken over from other knobs that resolve to the same variant */
    float          *before;  /* while outliers are measured again: the rates before; else NULL */
    size_t          base;    /* of a leader: the number of its best variant so far */
    int             leads;   /* 1: a leader, a layout whose knobs are tuned */
} candidate;

/* A variant that was measured, with all its knobs resolved. */
typedef struct seen {
    char  variant[160];
    float rate;
} seen;

/* A matrix, the layout in which it is stored, and the variants that were measured on it. */
typedef struct slot {
    workload   w;
    spmv_store store;
    int        stored;
    int        row, per; /* the matrix's size */
    seen       seen[TUNE_SEEN];
    int        seens;
} slot;

/* The state of a run of spmv tune. */
typedef struct tuner {
    tool        *t;
    spmv_device *device;     /* NULL: the host */
    spmv_tuning  head;       /* the head of the table and its sizes */
    uint64_t     most;       /* the most nonzeros of a matrix */
    candidate   *c;
    size_t       count, room;
    int          rounds;     /* more than the round of any candidate */
    slot         slots[TUNE_SLOTS], *at; /* at: the current slot; several are kept while knobs are tuned */
    runner       run;        /* multiplies what the current slot holds; owns the vectors on the device */
    double       begun, end, until; /* seconds: when the run began, when it must end, when the current phase must end */
    double       patience;   /* seconds after which a rate is accepted as it is: fewer if the budget is short */
    double       share, done;       /* the current phase's share of the whole work, and that of the phases before it */
    const char  *phase;
    spmv_type    type;       /* the current type */
    FILE        *journal;
    char         journal_path[1024];
    growing      past;       /* the journal of an interrupted run */
    size_t       samples, struck, recalled; /* rates measured, candidates struck out, rates from the journal */
    int          failures;   /* failures in a row: the device may be lost */
    int          complete;   /* 1: nothing was left out for lack of time */
} tuner;

/* The sizes nearest to those of a probe: a medium one, a small one, one larger than the caches, one with long rows. */
void tune_probe(const tuner *u, int probe, int *row, int *per);

/* The matrix on which a candidate is measured at a size. */
tune_shape candidate_shape(const tuner *u, const candidate *c, int row, int per);

/* 1: the candidate is measured at that size. */
int candidate_fits(const tuner *u, const candidate *c, int row, int per);

/* Where the candidate's rate at a size is stored. */
float *candidate_rate(const tuner *u, const candidate *c, int row, int per);

/* "f64 banded csr/WG=64": the candidate's name in the journal. */
void candidate_name(const candidate *c, char *out, size_t size);

/* Adds a candidate unless it exists. Returns its number, or u->count if memory ran out. */
size_t candidate_add(tuner *u, spmv_type type, spmv_tune_kind kind, const spmv_spec *layout, const char *variant);

/* Adds every layout of the formats in this build, with default knobs and the current type, and sets their rounds. */
void candidate_add_layouts(tuner *u);

#endif
