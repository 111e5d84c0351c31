/* SPDX-License-Identifier: MIT
 *
 * tools/gen/options.h - the options of the back ends for devices, and which of them fit a description (section 4 of the paper).
 */
#ifndef SPMV_TOOLS_GEN_OPTIONS_H
#define SPMV_TOOLS_GEN_OPTIONS_H

#include "tools/gen/backend.h"

typedef enum options_form { OPTIONS_FILE, OPTIONS_STANDALONE, OPTIONS_BODY } options_form;
typedef enum options_strategy { OPTIONS_AUTO, OPTIONS_ROWS, OPTIONS_SEQUENTIAL, OPTIONS_ATOMIC, OPTIONS_SEGMENTS } options_strategy;
typedef enum options_reuse { OPTIONS_BUFFER, OPTIONS_CONSTANT, OPTIONS_LOCAL, OPTIONS_IMAGE } options_reuse;

enum { OPTIONS_OPEN = 0, OPTIONS_REASON = 400 /* bytes that hold any reason */ };

/* X(NAME, member, "what it is"): the knobs that the generated files have in common with the hand-written ones. Each is left open, or set
 * to one value. */
#define OPTIONS_KNOB_LIST(X)                                                                                     \
    X(WG,     "open 32 64 128 256 512",  "work-items of a work-group")                                           \
    X(L,      "open 1 2 4 8 16 32 64",   "items a row: 1 for each row or block row (1IPR), or n with a sum by a tree (nIPR)") \
    X(UNROLL, "open 1 2 4 8",            "iterations of the loop over a row's slots that are unrolled")          \
    X(ZERO,   "open 0 1",                "1 tests a value before it loads x for it")                             \
    X(SEQ,    "open 1 4 16",             "rows or block rows that an item takes one after another")              \
    X(SHUF,   "open 0 1",                "1 leaves out the barriers of sums within a warp (NVIDIA)")             \
    X(NT,     "open 0 1",                "1 keeps the matrix out of the first-level cache (NVIDIA)")             \
    X(IMG,    "open 0 1",                "1 reads x through an image (OpenCL)")

typedef enum options_knob {
#define X(NAME, values, what) OPTIONS_##NAME,
    OPTIONS_KNOB_LIST(X)
#undef X
    OPTIONS_KNOBS
} options_knob;

typedef struct options {
    int cuda;                   /* 1: for CUDA */
    options_form form;
    options_strategy strategy;  /* never OPTIONS_AUTO after options_fit */
    int vector;                 /* slots, or elements of a block's row, that are loaded at once; OPTIONS_OPEN: the macro VECTOR, 2 or 4 */
    int within;                 /* entries of a row that the changed layout keeps together; 1: the layout is that of the description */
    options_reuse reuse;        /* how arrays declared __reuse are read */
    int xonce;                  /* 1: one load of x for each column of a block */
    int early;                  /* 1: a slot's values are loaded before its conditions are tested; 2: what those read, a slot ahead */
    const char *knob[OPTIONS_KNOBS]; /* a number, or "open" */
    const char *type, *offset;  /* of a standalone text: "f32" "f64" "mixed"; "32" "64"; "open" */
    const char *arguments;      /* the order of arrays and parameters; "description": as they are declared */
} options;

/* All options; ends with a zeroed one. */
extern const backend_option options_table[];

/* The name of a knob. */
const char *options_knob_name(options_knob k);
/* The legal values of a knob for a part, separated by spaces; NULL if its kernel does not have the knob. */
const char *options_knob_values(const tree_part *p, const options *o, options_knob k);

/* Reads the options from the command line's settings, which are known to be among the values of options_table. */
options options_read(const backend *b, const backend_settings *set);

/* Completes the strategy, and returns 1 if the options fit the part. Otherwise returns 0 and writes the reason. */
int options_fit(const tree_part *p, options *o, char *reason);

/* The array of the part that is declared __reuse and can be read as the option reuse says; NULL if there is none. */
const tree_symbol *options_reused(const tree_part *p);
/* The least index with which elements of the array are read, if it follows from the row alone (as that of pointers does); else NULL. */
const tree_expr *options_row_index(const tree_part *p, const tree_symbol *array);
/* 1 if x can be loaded once for each column of a block: the format has blocks with rows and columns, and _col does not depend on
 * the row. */
int options_xonce_fits(const tree_part *p);
/* The row of the matrix that the part stores as row number at, by way of its row loops: the loops' variables are set accordingly. */
int64_t options_row(const tree_part *p, int64_t at, unsigned point);
/* 1 if the part stores the rows of the matrix in their order. */
int options_rows_in_order(const tree_part *p);
/* 1 if the values' index grows by 1 with each step of the innermost slot loop. */
int options_slots_adjacent(const tree_part *p);
/* 1 if the body of the innermost slot loop reads the element of the array with the values' index. */
int options_with_values(const tree_part *p, const tree_symbol *array);
/* 1 if a statement of the innermost slot loop gives a name to what it reads from an array, so that it can be read a slot ahead. */
int options_reads_ahead(const tree_part *p, const tree_stmt *s);
/* The values that are loaded for a slot: one, or those of a block. 0: the block does not begin with numbers. */
int64_t options_slot_values(const tree_part *p);
/* The innermost slot loop, or NULL. */
const tree_stmt *options_slots(const tree_part *p);
/* The block loop that does not enumerate rows, or NULL. */
const tree_stmt *options_block_columns(const tree_part *p);

#endif
