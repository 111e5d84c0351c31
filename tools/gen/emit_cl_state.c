/* SPDX-License-Identifier: MIT
 *
 * tools/gen/emit_cl_state.c - the lines of a kernel, and which locals the statements that are still to be written need.
 */
#include "tools/gen/emit_cl_state.h"

#include <stdarg.h>

void emit_cl_indent(emitter *e) { fprintf(e->out, "%*s", 4 * e->depth, ""); }

void emit_cl_line(emitter *e, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    emit_cl_indent(e);
    vfprintf(e->out, format, list);
    fputc('\n', e->out);
    va_end(list);
}

void emit_cl_open_block(emitter *e)
{
    fputs(" {\n", e->out);
    e->depth++;
}

void emit_cl_close_block(emitter *e)
{
    e->depth--;
    emit_cl_line(e, "}");
}

int emit_cl_is_needed(const emitter *e, const tree_symbol *s)
{
    int i;
    for (i = 0; i < e->needs; i++)
        if (e->needed[i] == s) return 1;
    return e->needs == MOST_NEEDED; /* then all are written */
}

static void need(emitter *e, const tree_expr *x)
{
    if (!x) return;
    if (x->kind == TREE_NAME && !emit_cl_is_needed(e, x->symbol) && e->needs < MOST_NEEDED) {
        e->needed[e->needs++] = x->symbol;
        need(e, x->symbol->value);
    }
    need(e, x->a);
    need(e, x->b);
    need(e, x->c);
}

static void need_symbol(emitter *e, const tree_symbol *s)
{
    if (emit_cl_is_needed(e, s) || e->needs == MOST_NEEDED) return;
    e->needed[e->needs++] = s;
    need(e, s->value);
}

int emit_cl_is_row_loop(const emitter *e, const tree_stmt *s)
{
    int i;
    for (i = 0; i < e->p->shape.row_loops; i++)
        if (e->p->shape.row_loop[i] == s) return 1;
    return 0;
}

/* 1 if a condition differs between the rows of a block. */
static int of_block_row(const emitter *e, const tree_expr *x)
{
    const tree_stmt *rows = e->p->shape.block_row_loop;
    return rows && tree_depends(x, rows->symbol);
}

/* 1 for "_row < num_rows", where the shell makes sure of it: it calls the body if the first row exists, and stores only sums of rows that
 * exist. Then the condition only matters where values may be missing for other rows. */
static int is_implied(const emitter *e, const tree_expr *x)
{
    const tree_shape *s = &e->p->shape;
    if (x->kind != TREE_BINARY || x->op != TREE_LT || x->a->kind != TREE_NAME || x->b->kind != TREE_NAME) return 0;
    if (x->a->symbol != s->row_let->symbol || x->b->symbol != e->f->num_rows) return 0;
    return (s->rows == TREE_ROWS_SINGLE || (s->rows == TREE_ROWS_BLOCK && e->o->early)) && options_rows_in_order(e->p);
}

int emit_cl_is_kept(const emitter *e, const tree_expr *x)
{
    if (x->kind == TREE_BINARY && x->op == TREE_AND) return emit_cl_is_kept(e, x->a) || emit_cl_is_kept(e, x->b);
    if (e->to == TO_LOAD || is_implied(e, x)) return 0;
    if (e->to != TO_COLUMN && e->to != TO_ONCE && e->to != TO_UNIT) return 1;
    return of_block_row(e, x) == (e->to != TO_COLUMN);
}

static void need_kept(emitter *e, const tree_expr *x)
{
    if (x->kind == TREE_BINARY && x->op == TREE_AND) {
        need_kept(e, x->a);
        need_kept(e, x->b);
    } else if (emit_cl_is_kept(e, x)) {
        need(e, x);
    }
}

/* Adds what the loops and conditions of the statements read, apart from conditions that the walk leaves out. */
static void need_statements(emitter *e, const tree_stmt *s)
{
    for (; s; s = s->next) {
        if (s->kind == TREE_FOR && !emit_cl_is_row_loop(e, s)) {
            need(e, s->a);
            need(e, s->b);
        }
        if (s->kind == TREE_IF) need_kept(e, s->a);
        need_statements(e, s->body);
    }
}

void emit_cl_aim(emitter *e, target to, const tree_stmt *from)
{
    const tree_shape *s = &e->p->shape;
    e->to = to;
    e->needs = 0;
    if (e->o->early ? to == TO_LOAD : to != TO_COLUMN) need(e, s->val_let->a->a);
    if (to != TO_ONCE && to != TO_UNIT && to != TO_LOAD) need_symbol(e, s->col_let->symbol);
    if (to == TO_STRIP || to == TO_Y || to == TO_Y_ATOMIC || to == TO_SEGMENT) need_symbol(e, s->row_let->symbol);
    if (s->within && to == TO_STRIP) need(e, s->within->a);
    need_statements(e, from);
}
