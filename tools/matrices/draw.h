/* SPDX-License-Identifier: MIT
 *
 * tools/matrices/draw.h - patterns that are drawn row by row from a hash of integers, the same on every machine: meshes, grids with
 * atoms, rows of given lengths, bands, blocks.
 */
#ifndef SPMV_TOOLS_MATRICES_DRAW_H
#define SPMV_TOOLS_MATRICES_DRAW_H

#include <stdint.h>

/* 64 pseudorandom bits that depend only on v. */
uint64_t draw_mix(uint64_t v);

/* A pseudorandom number from 0 to n - 1, for n below 2^32, that depends only on a and b. */
uint64_t draw_hash(uint64_t a, uint64_t b, uint64_t n);

/* The next number from 0 to n - 1 of a pseudorandom sequence, whose state is *dice. */
uint64_t draw_roll(uint64_t *dice, uint64_t n);

/* The image of i under a pseudorandom permutation of 0 to n - 1: a Feistel network, applied until the result is below n. */
uint64_t draw_permute(uint64_t i, uint64_t n, uint64_t seed);

/* A pattern being drawn row by row. */
typedef struct sketch {
    uint64_t  rows, cols, row, room; /* row: the one being drawn; room: for how many elements of col there is memory */
    uint64_t  nnz;
    uint64_t *ptr;
    uint32_t *col;
    uint32_t *seen;   /* for each column 1 + the last row that has it */
    int       failed; /* 1: memory ran out */
} sketch;

/* Frees the arrays and zeroes *p. A zeroed sketch is allowed. */
void sketch_free(sketch *p);

/* Begins a pattern of so many rows and columns; nnz is a guess. 1, or 0 if memory ran out. The caller frees it in either case. */
int sketch_make(sketch *p, uint64_t rows, uint64_t cols, uint64_t nnz);

/* Adds a column that the row does not have yet. */
void sketch_append(sketch *p, uint64_t col);

/* Adds a column unless the row has it already. 1 if it was new. */
int sketch_append_new(sketch *p, uint64_t col);

/* Sorts columns by Shell's method, which is insertion sort for short rows. */
void sketch_sort(uint32_t *col, uint64_t n);

/* Ends the row being drawn and sorts its columns. */
void sketch_row_end(sketch *p);

/* The points of a grid that a mesh has: all of them; those of an ellipsoid, from its centre outwards; those, from its surface inwards. */
enum domain { BOX, BALL, HOLLOW };

/* How a recipe is drawn: by the family of formulas that it names, or in one of the ways below. */
enum drawing { FORMULA, MESH, ATOMS, ROWS };

/* A point of a distribution of row lengths. */
typedef struct knot {
    uint32_t share, length; /* share rows in a million have at most so many nonzeros */
} knot;

/* How a matrix is to be drawn. */
typedef struct recipe {
    const char  *name;      /* in the SuiteSparse collection; FORMULA: the name of the matrix that is generated */
    uint64_t     rows, cols, nnz;
    enum drawing drawing;
    /* MESH, ATOMS: points of a grid, of which the nearest neighbours are joined until nnz is reached */
    enum domain shape;
    int        size[3];   /* of the grid; the first index varies fastest */
    int        block;     /* unknowns per point */
    int        shell;     /* 1: of the 6 unknowns of a point, those in the plane of the shell are not coupled with the others */
    int        fill;      /* percentage of the entries of a block that exist; ATOMS: the number of atoms */
    int        loss;      /* percentage of the neighbours that are missing, in random places */
    int        plain, rich; /* beyond the nearest plain pairs of offsets, only rich percent of the points are joined; 0: all */
    int        cell;      /* points are numbered cube by cube, cell points wide, back and forth; 1: line by line */
    int        chunk;     /* groups of so many consecutive points are shuffled; 0: none */
    int        empty;     /* number of rows without entries */
    /* ROWS: row lengths by knots, scaled to reach nnz; random columns */
    knot       knots[7];
    int        same, copy; /* same consecutive rows have the same length and copy percent of their columns in common */
    int        run;       /* number of adjacent columns that are drawn together */
    int        near, reach; /* percentage of columns near the diagonal, and their largest distance from it */
    int        popular;   /* percentage of columns drawn by a power law; the others are uniform */
    int        diagonal;  /* 1: every row has its diagonal entry */
    uint64_t   period;    /* rows at this distance are alike; 0: none */
    uint64_t   longs, length; /* longs further rows have this length */
} recipe;

/* Draws rows as the recipe says, whose lengths are given. */
void draw_rows(sketch *p, const recipe *r, const uint32_t *length);

/* Draws a matrix by a recipe of the sort ROWS. */
void draw_lengths(sketch *p, const recipe *r);

#endif
