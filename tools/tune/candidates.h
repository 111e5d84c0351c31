/* SPDX-License-Identifier: MIT
 *
 * tools/tune/candidates.h - what is being tuned: layouts with knobs on a kind of matrix, their rates, and the state of the
 * whole run.
 */
#ifndef SPMV_TOOLS_TUNE_CANDIDATES_H
#define SPMV_TOOLS_TUNE_CANDIDATES_H

#include "../cli/cli.h"
#include "../cli/memory.h"
#include "../measure/runner.h"
#include "workload.h"
#include "spmv.h"
#include <stdio.h>

enum { TUNE_ROWS = 6, TUNE_PER = 6, TUNE_POINTS = TUNE_ROWS * TUNE_PER, TUNE_PROBES = 4, TUNE_SLOTS = 3, TUNE_SEEN = 64,
    TUNE_FAILURES = 10, TUNE_LEAST = 8 };

/* Rows of the matrices that are measured on. */
extern const uint64_t tune_rows[TUNE_ROWS];

/* Their nonzeros a row. */
extern const uint64_t tune_per[TUNE_PER];

/* Middling, small, beyond the caches, long rows: indices into the two above. */
extern const int tune_probes[TUNE_PROBES][2];

typedef enum candidate_state { LIVE, DROPPED, STRUCK } candidate_state;

/* A layout with knobs on one kind of matrix. */
typedef struct candidate {
    spmv_tune_row   row;     /* type, kind, layout, variant, rate: GFLOP/s by point, 0 not measured, below: cannot be */
    candidate_state state;
    int             wanted;  /* 1: to be measured in the present wave */
    int             own, twin; /* samples of its own; those that other knobs already gave, meaning the same */
    float          *before;  /* while samples are taken again: what they were; else NULL */
    size_t          base;    /* while it leads: the best variant so far */
    int             leads;
} candidate;

typedef struct seen {
    char  variant[160];
    float rate;
} seen;

/* A matrix, the layout it is stored in, and what variants were measured on it. */
typedef struct slot {
    workload   w;
    spmv_store store;
    int        stored;
    int        row, per; /* the matrix's size */
    seen       seen[TUNE_SEEN];
    int        seens;
} slot;

typedef struct tuner {
    tool        *t;
    spmv_device *device;     /* NULL: host */
    spmv_tuning  head;       /* what the table's head says, and its sizes */
    uint64_t     most;       /* nonzeros at most */
    candidate   *c;
    size_t       count, room;
    slot         slots[TUNE_SLOTS], *at; /* at: the one at hand; the others serve to keep several while knobs turn */
    runner       run;        /* its vectors on the device */
    double       begun, end, until; /* seconds: when it began, when all must end, and the present phase */
    double       patience;   /* seconds that a sample may take: less where the budget is short */
    double       share, done;       /* of all work: what the present phase is, and what came before it */
    const char  *phase;
    spmv_type    type;
    FILE        *journal;
    char         journal_path[1024];
    growing      past;       /* the journal of an interrupted run */
    size_t       samples, struck, recalled;
    int          failures;   /* in a row: the device may be lost */
    int          complete;   /* 1: nothing was left out for want of time */
} tuner;

/* The matrix for a candidate at a size, row and per being numbers of sizes. */
tune_shape candidate_shape(const tuner *u, const candidate *c, int row, int per);

/* 1: the candidate is measured at that size. */
int candidate_fits(const tuner *u, const candidate *c, int row, int per);

/* Where the candidate's rate at a size is kept. */
float *candidate_rate(const tuner *u, const candidate *c, int row, int per);

/* "f64 banded csr/WG=64": how the journal names it. */
void candidate_name(const candidate *c, char *out, size_t size);

/* Adds a candidate unless it is there; its number, or u->count without memory. */
size_t candidate_add(tuner *u, spmv_type type, spmv_tune_kind kind, const spmv_spec *layout, const char *variant);

/* Every layout of the type at hand with default knobs. What a build leaves out is left out. */
void candidate_add_layouts(tuner *u);

#endif
