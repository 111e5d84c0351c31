/* SPDX-License-Identifier: MIT
 *
 * tools/gen/cl_expr.h - the expressions of a checked tree as OpenCL C, and questions about their values that need more than their form.
 *
 * Descriptions count exactly, with signs; kernels count in the narrowest of three types that suffices:
 *     uint   rows, columns, and elements of arrays with up to 32 bits
 *     IDX    slots, offsets and parameters: 32 bits, or 64 where 32 could overflow (I64 of kernels/common.cl)
 *     long   whatever may be negative
 */
#ifndef SPMV_TOOLS_GEN_CL_EXPR_H
#define SPMV_TOOLS_GEN_CL_EXPR_H

#include "tools/gen/tree.h"
#include <stdio.h>

typedef enum cl_kind { CL_UINT, CL_IDX, CL_LONG } cl_kind; /* each holds the values of those before it */

/* The type as OpenCL C writes it. */
const char *cl_kind_name(cl_kind k);
cl_kind cl_kind_of(const tree_expr *e);
/* Of a local, _row, _col, or a parameter. */
cl_kind cl_kind_of_symbol(const tree_symbol *s);

/* The element type of an array, as OpenCL C writes it. */
const char *cl_type_name(tree_type t);

/* The name of a symbol in a kernel. Names that the kernels of the library use are written with an underscore behind. */
const char *cl_name(const tree_symbol *s);

enum { CL_MOST_BOUND = 16 };

/* How expressions are printed. */
typedef struct cl_printer {
    FILE *out;
    /* symbols that are printed as another text, which needs no parentheses and has the type of the symbol. "0" disappears from sums */
    struct {
        const tree_symbol *symbol;
        const char *text;
    } bound[CL_MOST_BOUND];
    int count;
    int expand;                    /* 1: a local is printed as its value, where it has one */
    const tree_symbol *rows_name;  /* the parameter that the shell calls rows */
    const tree_symbol *slot;       /* the innermost slot loop's variable: elements that depend on it are read once; NULL: no loop yet */
    const tree_expr *block;        /* elements with this index (or an equal one) have been loaded to private arrays ... */
    const char *block_at;          /* ... and are printed as name_[block_at]; NULL: none has */
    int block_pointer;             /* 1: name_ is not such an array but points into the stored one */
    const tree_symbol *staged;     /* an array of which REUSED elements are in local memory, or NULL */
    int staged_from;               /* 1: they begin with number name_from, else with the first of the array */
    const tree_symbol *image;      /* an array that is read through an image, or NULL */
} cl_printer;

/* Prints the expression as a C expression of that kind, which must hold it. tight: 1 puts parentheses around sums and the like. */
void cl_print(cl_printer *p, const tree_expr *e, cl_kind kind, int tight);
/* The local, parameter, _row or _col that an expression is; locals that were assigned such a name are followed to it. NULL: another one. */
const tree_symbol *cl_root(const tree_expr *e);
/* The expression in front of "- 1" of the last value of a loop, or NULL if it does not end so. */
const tree_expr *cl_end(const tree_expr *last);
/* The end of a loop, which its range includes, as the first value behind it: "e - 1" is printed as "e". */
void cl_print_end(cl_printer *p, const tree_expr *last, cl_kind kind);
cl_kind cl_kind_of_end(const tree_expr *last);
/* Prints a symbol's name or what it is bound to, as a value of that kind. */
void cl_print_symbol(cl_printer *p, const tree_symbol *s, cl_kind kind);
void cl_bind(cl_printer *p, const tree_symbol *s, const char *text);

/* ---- values ----
 * Some properties of indices follow from their values at arbitrary points rather than from how they are written: for example that
 * (j / 4 * n + b) * 4 + j % 4 is contiguous within each four j. So they are tried at many points, at which names and elements that the
 * question does not set have numbers that depend only on their names and on the point. */
enum { CL_POINTS = 24 };

typedef struct cl_point {
    unsigned number;
    struct {
        const tree_symbol *symbol;
        int64_t value;
    } set[12];
    int count;
    struct {
        const tree_symbol *array;
        const int64_t *element;
        int64_t count;
    } given[2]; /* arrays whose elements are set */
} cl_point;

int64_t cl_value(const tree_expr *e, const cl_point *at);
/* 1 if both have the same value everywhere. */
int cl_same(const tree_expr *a, const tree_expr *b);
/* 1 if e grows by 1 with each step of s from 0 to n - 1, and is a multiple of n for s = 0; the same from n on, and so on, up to 4 n. */
int cl_in_units(const tree_expr *e, const tree_symbol *s, int64_t n, const tree_symbol *other, int64_t others);
/* 1 if e contains the element of the array with that index. Locals are not followed: the statements that set them are asked, too. */
int cl_reads_at(const tree_expr *e, const tree_symbol *array, const tree_expr *index);

/* 1 if the part's access divides numbers that may be negative, for which C has no operators that round down. */
int cl_needs_floor(const tree_stmt *s);

/* Whole subscripts are never negative, so locals that are used as such have the kind IDX even if they are differences. This takes note of
 * all of them in a part; it is called before anything is printed. */
void cl_note_subscripts(const tree_part *p);

#endif
