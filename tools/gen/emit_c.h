/* SPDX-License-Identifier: MIT
 *
 * tools/gen/emit_c.h - what the parts of the C99 back end share.
 */
#ifndef SPMV_TOOLS_GEN_EMIT_C_H
#define SPMV_TOOLS_GEN_EMIT_C_H

#include "tools/gen/emit_text.h"
#include "tools/gen/tree.h"

/* The state of one output. */
typedef struct emit_c {
    emit_text          text;
    const tree_format *f;
    int                offset_bits;
    int                early;       /* 1: in the check of the access without its conditions */
    int                library;     /* 1: for emit_library.c: shares of the product, and a limit of the packer */
    int                by_hand;     /* 1: the packer is only declared; the user writes it */
} emit_c;

/* The C type of an array's elements. */
const char *emit_c_type(const emit_c *e, const tree_symbol *array);
/* Writes the member of the matrix that a parameter or array is, behind "m->". */
void emit_c_member(const emit_c *e, const tree_symbol *s);

/* Writes the name of a loop variable, and an expression with the other locals in it written as their values. */
void emit_c_local(const emit_c *e, const tree_symbol *s);
void emit_c_followed(const emit_c *e, const tree_expr *x);

/* Writes what the library needs of a format, under names that begin with the format's: the struct, whose values may have any type, its
 * binding, the validator, shares of the product in each type, a function that visits every entry, and the packer, for values in f64, with
 * its counterpart of the binding. by_hand: 1 if the packer is only declared. */
void emit_c_for_library(const tree_format *f, FILE *out, int offset_bits, int by_hand);

/* Says why there is no packer for the description; NULL: there is one. */
const char *emit_c_pack_reason(const tree_format *f);
/* 1 if the loop runs from 0 to num_rows - 1. */
int emit_c_pack_walks_rows(const tree_format *f, const tree_stmt *loop);
/* 1 if the packer stores zeros between the entries, which a product multiplies by x. */
int emit_c_pack_fills(const tree_format *f);
/* Writes the packer, or its declaration, and functions that allocate and free its arrays. */
void emit_c_pack(const emit_c *e);

#endif
