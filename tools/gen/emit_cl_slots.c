/* SPDX-License-Identifier: MIT
 *
 * tools/gen/emit_cl_slots.c - the loops over slots of a kernel: one slot at a time, vectors of them, and slots that are kept within a row.
 */
#include "tools/gen/emit_cl_state.h"

#include <string.h>

/* Declares the end of a loop. */
static void loop_end(emitter *e, const tree_stmt *s)
{
    cl_kind k = cl_kind_of_symbol(s->symbol);
    emit_cl_indent(e);
    fprintf(e->out, "const %s %s_end = ", cl_kind_name(k), cl_name(s->symbol));
    cl_print_end(&e->pr, s->b, k);
    fputs(";\n", e->out);
}

/* The knob UNROLL, in front of a loop over slots. */
static void unroll(emitter *e)
{
    fputs("#if UNROLL > 1\n", e->out);
    emit_cl_line(e, "#pragma unroll UNROLL");
    fputs("#endif\n", e->out);
}

void emit_cl_loop_head(emitter *e, const tree_stmt *s, int lanes)
{
    cl_kind k = cl_kind_of_symbol(s->symbol);
    const char *name = cl_name(s->symbol);
    int zero = s->a->kind == TREE_NUMBER && s->a->number == 0;
    if (s->b->kind != TREE_NUMBER) loop_end(e, s);
    if (lanes) unroll(e);
    emit_cl_indent(e);
    fprintf(e->out, "for (%s %s = ", cl_kind_name(k), name);
    if (!lanes || !zero) cl_print(&e->pr, s->a, k, 0);
    if (lanes) fprintf(e->out, zero ? "lane" : " + lane");
    fprintf(e->out, "; %s < ", name);
    if (s->b->kind != TREE_NUMBER) fprintf(e->out, "%s_end", name);
    else cl_print_end(&e->pr, s->b, k);
    if (lanes) fprintf(e->out, "; %s += L)", name);
    else fprintf(e->out, "; %s++)", name);
    emit_cl_open_block(e);
}

/* The same for slots of which names are read one slot ahead, the first of them before the kernel waits for those in front of it. */
static void loop_head_ahead(emitter *e, const tree_stmt *s)
{
    const char *k = cl_name(s->symbol);
    const tree_stmt *t;
    char next[96];
    emit_cl_line(e, "%s %s = lane;", cl_kind_name(cl_kind_of_symbol(s->symbol)), k);
    loop_end(e, s);
    for (t = s->body; t; t = t->next) {
        if (!options_reads_ahead(e->p, t) || !emit_cl_is_needed(e, t->symbol)) continue;
        emit_cl_indent(e);
        fprintf(e->out, "%s %s_ahead = ", cl_kind_name(cl_kind_of_symbol(t->symbol)), cl_name(t->symbol));
        emit_cl_print_ahead(e, t, k);
        if (cl_kind_of_symbol(t->symbol) == CL_UINT) emit_cl_line(e, "ISSUE(%s_ahead);", cl_name(t->symbol));
    }
    if (e->o->form != OPTIONS_BODY) {
        fputs("#if BODY_FOLLOWS\n", e->out);
        emit_cl_line(e, "FOLLOW();");
        emit_cl_line(e, "REREAD(x);");
        fputs("#endif\n", e->out);
    }
    unroll(e);
    emit_cl_indent(e);
    fprintf(e->out, "for (; %s < %s_end; %s += L)", k, k, k);
    emit_cl_open_block(e);
    snprintf(next, sizeof next, "(%.80s + L)", k);
    for (t = s->body; t; t = t->next) {
        if (!options_reads_ahead(e->p, t) || !emit_cl_is_needed(e, t->symbol)) continue;
        emit_cl_declare(e, t->symbol);
        fprintf(e->out, "%s_ahead;\n", cl_name(t->symbol));
        emit_cl_indent(e);
        fprintf(e->out, "%s_ahead = ", cl_name(t->symbol));
        emit_cl_print_ahead(e, t, next);
    }
}

/* Loads the values of a slot, whatever its conditions say. */
static void load_values(emitter *e, const tree_stmt *s)
{
    target to = e->to;
    emit_cl_line(e, "VAL loaded[%lld];", (long long)options_slot_values(e->p));
    emit_cl_line(e, "{");
    e->depth++;
    emit_cl_aim(e, TO_LOAD, s->body);
    emit_cl_walk(e, s->body);
    emit_cl_close_block(e);
    emit_cl_aim(e, to, e->p->access);
}

/* 1 if all rows have the same slots, so that the lanes of a row go the same number of times around but for the last. */
static int slots_alike(const emitter *e, const tree_stmt *s)
{
    const tree_expr *end = cl_end(s->b);
    return s->a->kind == TREE_NUMBER && !s->a->number && end && cl_root(end) && cl_root(end)->kind == TREE_PARAMETER &&
           !e->p->shape.block_loops && options_slots_adjacent(e->p);
}

/* The loop over such slots: whole rounds, which the compiler unrolls without a test for each lane, and the rest. Pointers to the first slot
 * of the row leave it one small index. */
static void slots_of_alike(emitter *e, const tree_stmt *s)
{
    const char *k = cl_name(s->symbol), *type = cl_kind_name(cl_kind_of_symbol(s->symbol));
    const tree_expr *index = e->p->shape.val_let->a->a;
    const tree_symbol *a;
    int bound = e->pr.count;
    loop_end(e, s);
    for (a = e->p->arrays; a; a = a->next) {
        if (!options_with_values(e->p, a)) continue;
        emit_cl_indent(e);
        fprintf(e->out, "__global const %s *restrict %s_ = %s + ", cl_type_name(a->type), cl_name(a), cl_name(a));
        e->pr.expand = 1;
        cl_bind(&e->pr, s->symbol, "0");
        cl_print(&e->pr, index, CL_IDX, 1);
        e->pr.expand = 0;
        e->pr.count = bound;
        fputs(";\n", e->out);
    }
    e->pr.block = index;
    e->pr.block_at = k;
    e->pr.block_pointer = 1;
    emit_cl_line(e, "const %s %s_whole = %s_end / L * L;", type, k, k);
    unroll(e);
    emit_cl_line(e, "for (%s %s = lane; %s < %s_whole; %s += L) {", type, k, k, k, k);
    e->depth++;
    emit_cl_walk(e, s->body);
    emit_cl_close_block(e);
    emit_cl_line(e, "if (%s_whole + lane < %s_end) {", k, k);
    e->depth++;
    emit_cl_line(e, "const %s %s = %s_whole + lane;", type, k, k);
    emit_cl_walk(e, s->body);
    emit_cl_close_block(e);
    e->pr.block = NULL;
    e->pr.block_pointer = 0;
}

/* The loop over slots that the lanes of a row share, one slot at a time. */
static void slots_single(emitter *e, const tree_stmt *s)
{
    if (slots_alike(e, s)) {
        slots_of_alike(e, s);
        return;
    }
    if (e->o->early == 2) loop_head_ahead(e, s);
    else emit_cl_loop_head(e, s, 1);
    if (e->o->early) load_values(e, s);
    emit_cl_walk(e, s->body);
    emit_cl_close_block(e);
}

/* Loads vectors of all arrays that have the values' index. */
static void load_slots(emitter *e, const char *n, const char *at)
{
    const tree_symbol *a;
    for (a = e->p->arrays; a; a = a->next) {
        char name[96];
        if (!options_with_values(e->p, a)) continue;
        snprintf(name, sizeof name, "%s_", cl_name(a));
        emit_cl_load_array(e, a, name, n, NULL, at);
    }
}

/* The loop over slots that are adjacent, n at a time. Vectors begin at multiples of n slots. Where one contains slots of other rows, at
 * the ends of the row, its slots are loaded one by one. */
static void slots_vector(emitter *e, const tree_stmt *s)
{
    const tree_expr *index = e->p->shape.val_let->a->a;
    const tree_symbol *k = s->symbol;
    int shifted = cl_root(index) != k; /* the index is not the loop's variable itself */
    const char *minus = shifted ? " - shift" : "";
    int bound = e->pr.count;
    char n[24];
    snprintf(n, sizeof n, "%d", e->o->vector);
    if (e->o->vector == OPTIONS_OPEN) strcpy(n, "VECTOR");
    e->pr.slot = NULL;
    if (shifted) {
        e->pr.expand = 1; /* the index is wanted for other slots than the locals know */
        cl_bind(&e->pr, k, "0");
        emit_cl_indent(e);
        fputs("const IDX shift = ", e->out);
        cl_print(&e->pr, index, CL_IDX, 0);
        e->pr.count = bound;
        e->pr.expand = 0;
        fputs(";\n", e->out);
    }
    emit_cl_indent(e);
    fprintf(e->out, "const IDX begin = %s", shifted ? "shift + " : "");
    cl_print(&e->pr, s->a, CL_IDX, shifted);
    fputs(";\n", e->out);
    emit_cl_indent(e);
    fprintf(e->out, "const IDX end_ = %s", shifted ? "shift + " : "");
    cl_print_end(&e->pr, s->b, CL_IDX);
    fputs(";\n\n", e->out);
    e->pr.slot = k;
    emit_cl_line(e, "for (IDX q = begin / %s * %s + lane * %s; q < end_; q += L * %s) {", n, n, n, n);
    e->depth++;
    emit_cl_line(e, "if (q >= begin && q + %s <= end_) {", n);
    e->depth++;
    load_slots(e, n, "q");
    emit_cl_line(e, "#pragma unroll");
    emit_cl_line(e, "for (uint u = 0; u < %s; u++) {", n);
    e->depth++;
    e->pr.block = index;
    e->pr.block_at = "u";
    if (emit_cl_is_needed(e, k)) emit_cl_line(e, "const IDX %s UNUSED = q + u%s;", cl_name(k), minus);
    emit_cl_walk(e, s->body);
    e->pr.block = NULL;
    emit_cl_close_block(e);
    e->depth--;
    emit_cl_line(e, "} else {");
    e->depth++;
    emit_cl_line(e, "for (uint u = 0; u < %s; u++)", n);
    e->depth++;
    emit_cl_line(e, "if (q + u >= begin && q + u < end_) {");
    e->depth++;
    emit_cl_line(e, "const IDX %s UNUSED = q + u%s;", cl_name(k), minus);
    emit_cl_walk(e, s->body);
    emit_cl_close_block(e);
    e->depth--;
    emit_cl_close_block(e);
    emit_cl_close_block(e);
}

/* The loop over slots of which n are stored together: entry k of a row lies at start + (where - start) * n + k % n, where "where" is the
 * described index of entry k / n and start the index of the slice's first slot. */
static void slots_within(emitter *e, const tree_stmt *s)
{
    const tree_shape *shape = &e->p->shape;
    const tree_expr *index = shape->val_let->a->a;
    const tree_symbol *k = s->symbol;
    int n = e->o->within, bound = e->pr.count;
    cl_kind kind = cl_kind_of_symbol(k);
    char count[24];
    snprintf(count, sizeof count, "%d", n);
    e->pr.slot = NULL;
    e->pr.expand = 1;
    cl_bind(&e->pr, k, "0");
    cl_bind(&e->pr, shape->row_loop[shape->row_loops - 1]->symbol, "0");
    emit_cl_indent(e);
    fputs("const IDX start = ", e->out);
    cl_print(&e->pr, index, CL_IDX, 0);
    fputs(";\n\n", e->out);
    e->pr.count = bound;
    unroll(e);
    emit_cl_indent(e);
    fprintf(e->out, "for (%s q = lane; q * %d < ", cl_kind_name(kind), n);
    e->pr.expand = 0;
    cl_print_end(&e->pr, s->b, kind);
    fputs("; q += L)", e->out);
    emit_cl_open_block(e);
    emit_cl_indent(e);
    fputs("const IDX slot = start + (", e->out);
    e->pr.expand = 1;
    cl_bind(&e->pr, k, kind == CL_IDX ? "q" : "(IDX)q");
    cl_print(&e->pr, index, CL_IDX, 0);
    e->pr.count = bound;
    e->pr.expand = 0;
    fprintf(e->out, " - start) * %d;\n", n);
    load_slots(e, count, "slot");
    emit_cl_line(e, "#pragma unroll");
    emit_cl_line(e, "for (uint u = 0; u < %d; u++) {", n);
    e->depth++;
    emit_cl_line(e, "const %s %s UNUSED = q * %d + u;", cl_kind_name(kind), cl_name(k), n);
    emit_cl_indent(e);
    fprintf(e->out, "if (%s < ", cl_name(k));
    cl_print_end(&e->pr, s->b, kind);
    fputs(")", e->out);
    emit_cl_open_block(e);
    e->pr.slot = k;
    e->pr.block = index;
    e->pr.block_at = "u";
    emit_cl_walk(e, s->body);
    e->pr.block = NULL;
    emit_cl_close_block(e);
    emit_cl_close_block(e);
    emit_cl_close_block(e);
}

void emit_cl_slots(emitter *e, const tree_stmt *s)
{
    e->pr.slot = s->symbol;
    if (e->o->vector != 1 && e->p->shape.rows != TREE_ROWS_BLOCK) slots_vector(e, s);
    else if (e->o->within != 1) slots_within(e, s);
    else slots_single(e, s);
    e->pr.slot = NULL;
}
