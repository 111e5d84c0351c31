/* SPDX-License-Identifier: MIT
 *
 * tools/matrices/draw.h - patterns drawn row by row from a hash of integers, the same on every machine: meshes, grids with atoms,
 * rows of given lengths, bands, blocks.
 */
#ifndef SPMV_TOOLS_MATRICES_DRAW_H
#define SPMV_TOOLS_MATRICES_DRAW_H

#include <stdint.h>

/* 64 bits that look like chance and depend on v alone. */
uint64_t draw_mix(uint64_t v);

/* A number in 0 .. n-1 (n below 2^32) that a and b decide. */
uint64_t draw_hash(uint64_t a, uint64_t b, uint64_t n);

/* The next number in 0 .. n-1 of a sequence. */
uint64_t draw_roll(uint64_t *dice, uint64_t n);

/* Where number i goes in a permutation of 0 .. n-1: a Feistel network, walked until it lands inside. */
uint64_t draw_permute(uint64_t i, uint64_t n, uint64_t seed);

typedef struct sketch {
    uint64_t  rows, cols, row, room; /* row: the one being written; room: of col */
    uint64_t  nnz;
    uint64_t *ptr;
    uint32_t *col;
    uint32_t *seen;   /* of each column, 1 + the last row that took it */
    int       failed; /* 1: memory ran out */
} sketch;

/* A zeroed sketch is fine as well. */
void sketch_free(sketch *p);

/* Begins a pattern of so many rows and columns; nnz is a guess. 0 without memory; to be freed either way. */
int sketch_make(sketch *p, uint64_t rows, uint64_t cols, uint64_t nnz);

/* A column that the row cannot have yet. */
void sketch_append(sketch *p, uint64_t col);

/* A column that the row may have already; 1 if it was new. */
int sketch_append_new(sketch *p, uint64_t col);

/* Shell's method, which is insertion for the short rows that most are. */
void sketch_sort(uint32_t *col, uint64_t n);

/* Ends the row being written: its columns are sorted. */
void sketch_row_end(sketch *p);

enum domain { BOX, BALL, HOLLOW }; /* the whole box; an ellipsoid in it, from its middle; one, from its surface inwards */

enum drawing { FORMULA, MESH, ATOMS, ROWS };

typedef struct knot {
    uint32_t share, length; /* so many rows of a million are at most so long */
} knot;

typedef struct recipe {
    const char  *name;      /* in the SuiteSparse collection; FORMULA: of the family that makes it */
    uint64_t     rows, cols, nnz;
    enum drawing drawing;
    /* MESH, ATOMS: points of a grid, the nearest neighbours joined until nnz is reached */
    enum domain shape;
    int        size[3];   /* of the grid, first index fastest */
    int        block;     /* unknowns a point */
    int        shell;     /* 1: of 6 unknowns, those in the plane of the shell and those out of it do not meet */
    int        fill;      /* percent of the entries of a block; ATOMS: number of atoms */
    int        loss;      /* percent of the neighbours that are missing, here and there */
    int        plain, rich; /* beyond the nearest so many pairs of offsets only so many percent of the points are joined; 0: all */
    int        cell;      /* points are numbered cube by cube of so many, to and fro; 1: line by line */
    int        chunk;     /* runs of so many points are shuffled; 0: none */
    int        empty;     /* rows without any entry */
    /* ROWS: lengths by knots, scaled to reach nnz; columns drawn */
    knot       knots[7];
    int        same, copy; /* so many rows in turn have one length, and so many percent of their columns in common */
    int        run;       /* columns side by side */
    int        near, reach; /* percent of columns near the diagonal, up to so far */
    int        popular;   /* percent by a power law; the rest anywhere */
    int        diagonal;  /* 1: always there */
    uint64_t   period;    /* rows are alike after so many; 0: never */
    uint64_t   longs, length; /* so many more rows of that length */
} recipe;

/* Every row with as many columns as length says, as the recipe wants them. */
void draw_rows(sketch *p, const recipe *r, const uint32_t *length);

/* A recipe of rows of given lengths, drawn whole. */
void draw_lengths(sketch *p, const recipe *r);

#endif
