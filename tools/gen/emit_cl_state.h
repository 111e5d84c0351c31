/* SPDX-License-Identifier: MIT
 *
 * tools/gen/emit_cl_state.h - what the sources of the back ends for devices share: the state of one output, and the functions that each
 * of them offers to the others.
 */
#ifndef SPMV_TOOLS_GEN_EMIT_CL_STATE_H
#define SPMV_TOOLS_GEN_EMIT_CL_STATE_H

#include "tools/gen/cl_expr.h"
#include "tools/gen/emit_cl.h"

enum { MOST_NEEDED = 256, REUSED = 256 /* elements of a __reuse array in local memory; hand-written kernels stage as many */ };

/* What a walk through the statements writes at the assignment of _val. */
typedef enum target {
    TO_SUM,     /* a product to the sum of the row */
    TO_SUMS,    /* a product to sum[u], of a vector */
    TO_STRIP,   /* a product to the sum of its row in the strip */
    TO_BLOCK,   /* a product to the sum of its row in the block, with x loaded for it */
    TO_COLUMN,  /* no product: x for the column of a block */
    TO_LOAD,    /* no product: the values of a slot, which later walks find in loaded */
    TO_ONCE,    /* a product, with that x */
    TO_UNIT,    /* as many products as a unit has elements, with that x */
    TO_Y,       /* a product to y */
    TO_Y_ATOMIC, /* the same, atomically */
    TO_SEGMENT  /* the row and the product of a slot, to variables */
} target;

typedef struct emitter {
    cl_printer   pr;
    FILE        *out;
    const tree_format *f;
    const tree_part *p;
    const options *o;
    int          depth;
    target       to;
    const tree_symbol *needed[MOST_NEEDED]; /* locals that something written later reads */
    int          needs;
    const char  *step; /* of lanes in the loop over slots: "L" */
} emitter;

/* ---- emit_cl_state.c: lines and needed locals --------------------------------------------------------------------- */

/* Writes the blanks in front of a line. */
void emit_cl_indent(emitter *e);
/* Writes a whole line, as printf does. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void emit_cl_line(emitter *e, const char *format, ...);
/* Write " {" and "}" and change the depth. */
void emit_cl_open_block(emitter *e);
void emit_cl_close_block(emitter *e);
/* 1 if something written later reads the local. */
int emit_cl_is_needed(const emitter *e, const tree_symbol *s);
/* 1 if the statement is one of the row loops. */
int emit_cl_is_row_loop(const emitter *e, const tree_stmt *s);
/* 1 if the walk keeps a condition, or, of one joined by "and", a part of it: those that differ between the rows of a block belong to the
 * products, the others to the loads of x. */
int emit_cl_is_kept(const emitter *e, const tree_expr *x);
/* Begins a walk that writes to a new target. */
void emit_cl_aim(emitter *e, target to, const tree_stmt *from);

/* ---- emit_cl_element.c: elements ---------------------------------------------------------------------------------- */

/* Writes "const uint name = " of a local. Where arrays have been loaded before, nothing may be left that reads it. */
void emit_cl_declare(emitter *e, const tree_symbol *s);
/* The value of a local that is read a slot ahead, in the slot that the text at says; 0 behind the last slot. */
void emit_cl_print_ahead(emitter *e, const tree_stmt *s, const char *at);
/* Writes an assignment, unless the head of the loop has done so. */
void emit_cl_let(emitter *e, const tree_stmt *s);
/* The place in xs of the column in which the walk stands. */
void emit_cl_print_x_once(emitter *e);
/* Loads n elements of an array at the index to a private array that it declares; at: the slot, if it is not the loop's. */
void emit_cl_load_array(emitter *e, const tree_symbol *a, const char *to, const char *n, const tree_expr *index, const char *at);
/* The values of a block's row that are loaded as one: a vector, or as many as lie next to each other, from an address in common. */
int emit_cl_unit_of_block(const emitter *e);
/* What the walk writes where the element is complete. */
void emit_cl_element(emitter *e);

/* ---- emit_cl_slots.c: loops over slots ---------------------------------------------------------------------------- */

/* Writes "for (uint i = first; i < end; i++) {". lanes: 1: the lanes share the iterations. */
void emit_cl_loop_head(emitter *e, const tree_stmt *s, int lanes);
/* Writes the loop over slots, in the way that the options say. */
void emit_cl_slots(emitter *e, const tree_stmt *s);

/* ---- emit_cl_walk.c: statements ----------------------------------------------------------------------------------- */

/* Writes the statements from s on, with what e->to says where the element is complete. */
void emit_cl_walk(emitter *e, const tree_stmt *s);

/* ---- emit_cl_parameters.c: parameters ----------------------------------------------------------------------------- */

/* The parameter that counts the stored rows, which the shell has as rows: num_rows, or that of the loop over single rows. */
const tree_symbol *emit_cl_rows_of(const emitter *e);
/* Writes all parameters; declared: 1 as the kernel declares them, 0 as the body is called with them. */
void emit_cl_print_parameters(emitter *e, int declared);
/* An array that the option arguments forgets, or NULL. */
const tree_symbol *emit_cl_forgotten(const emitter *e);

/* ---- emit_cl_unordered.c: kernels without rows -------------------------------------------------------------------- */

/* A kernel without rows. */
void emit_cl_print_unordered(emitter *e);

/* ---- emit_cl_part.c: a part --------------------------------------------------------------------------------------- */

/* Sets e for a part. */
void emit_cl_begin_part(emitter *e, const tree_format *f, const tree_part *p, const options *o, FILE *out);
/* Writes the knobs of a part (what 0) or the rest of it (what 1). */
void emit_cl_print_part(const tree_format *f, const tree_part *p, const options *o, FILE *out, int what);

#endif
