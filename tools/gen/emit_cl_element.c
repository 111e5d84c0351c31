/* SPDX-License-Identifier: MIT
 *
 * tools/gen/emit_cl_element.c - what a kernel does at the assignment of _val: the loads of x and of the values, and the products.
 */
#include "tools/gen/emit_cl_state.h"

#include <stdlib.h>

void emit_cl_declare(emitter *e, const tree_symbol *s)
{
    emit_cl_indent(e);
    fprintf(e->out, "const %s %s%s = ", cl_kind_name(cl_kind_of_symbol(s)), cl_name(s), e->pr.block ? " UNUSED" : "");
}

void emit_cl_print_ahead(emitter *e, const tree_stmt *s, const char *at)
{
    const tree_symbol *k = options_slots(e->p)->symbol;
    int bound = e->pr.count;
    fprintf(e->out, "%s < %s_end ? ", at, cl_name(k));
    e->pr.expand = 1;
    cl_bind(&e->pr, k, at);
    cl_print(&e->pr, s->a, cl_kind_of_symbol(s->symbol), 1);
    e->pr.count = bound;
    e->pr.expand = 0;
    fputs(" : 0;\n", e->out);
}

void emit_cl_let(emitter *e, const tree_stmt *s)
{
    if (e->o->early == 2 && options_reads_ahead(e->p, s)) return;
    emit_cl_declare(e, s->symbol);
    cl_print(&e->pr, s->a, cl_kind_of_symbol(s->symbol), 0);
    fputs(";\n", e->out);
}

/* The sum of a block's row: acc[i], where the loop over the block's rows begins with first. */
static void print_block_sum(emitter *e)
{
    const tree_stmt *rows = e->p->shape.block_row_loop;
    fprintf(e->out, "acc[%s", cl_name(rows->symbol));
    if (rows->a->kind == TREE_NUMBER && rows->a->number) fprintf(e->out, " - %lld", (long long)rows->a->number);
    fputs("]", e->out);
}

static void print_strip_sum(emitter *e)
{
    const tree_shape *s = &e->p->shape;
    fputs("STRIP_SUM((uint)(", e->out);
    cl_print_symbol(&e->pr, s->row_let->symbol, CL_IDX);
    fputs(" - ", e->out);
    cl_print(&e->pr, s->within->a, CL_IDX, 1);
    fputs("))", e->out);
}

void emit_cl_print_x_once(emitter *e)
{
    const tree_stmt *columns = options_block_columns(e->p);
    fprintf(e->out, "xs[%s", cl_name(columns->symbol));
    if (columns->a->number) fprintf(e->out, " - %lld", (long long)columns->a->number);
    fputs(e->to == TO_UNIT ? " + u]" : "]", e->out);
}

/* x for the element in which the walk stands. The columns of a block are printed as the first and a distance, in 64 bits, so that the
 * compiler works out one address for all of them. */
static void print_x(emitter *e)
{
    const tree_stmt *col = e->p->shape.col_let, *columns = options_block_columns(e->p);
    int64_t step = 0;
    if (e->to == TO_COLUMN && col->kind == TREE_LET && tree_step(col->a, columns->symbol, &step) && step == 1) {
        int bound = e->pr.count;
        fputs("X((size_t)(", e->out);
        cl_bind(&e->pr, columns->symbol, "0");
        cl_print(&e->pr, col->a, CL_UINT, 0);
        e->pr.count = bound;
        fprintf(e->out, ") + %s)", cl_name(columns->symbol));
        return;
    }
    fprintf(e->out, "X(%s)", cl_name(col->symbol));
}

/* The place of the element in which the walk stands, and of others behind it, among the values that are loaded for a slot. */
static void print_loaded(emitter *e, const char *more)
{
    const tree_shape *s = &e->p->shape;
    int i;
    fputs("loaded[", e->out);
    for (i = 0; i < s->block_loops; i++) {
        int64_t first = s->block_loop[i]->a->number, step = 1;
        int k;
        for (k = i + 1; k < s->block_loops; k++) step *= s->block_loop[k]->trip;
        fprintf(e->out, i ? " + " : "");
        fprintf(e->out, first ? "(%s - %lld)" : "%s", cl_name(s->block_loop[i]->symbol), (long long)first);
        if (step > 1) fprintf(e->out, " * %lld", (long long)step);
    }
    if (!s->block_loops) fputs("0", e->out);
    fprintf(e->out, "%s]", more);
}

/* Writes the multiply-add of a value v and x. */
static void muladd(emitter *e)
{
    emit_cl_indent(e);
    fputs(e->to == TO_ONCE || e->to == TO_UNIT ? "MULADD(" : "if (WANTED(v)) MULADD(", e->out);
    switch (e->to) {
    case TO_SUMS: fputs("sum[u]", e->out); break;
    case TO_STRIP: print_strip_sum(e); break;
    case TO_BLOCK:
    case TO_ONCE:
    case TO_UNIT: print_block_sum(e); break;
    default: fputs("sum", e->out); break;
    }
    fputs(", (VEC)", e->out);
    if (e->to == TO_UNIT && e->o->early) print_loaded(e, " + u");
    else fputs(e->to == TO_UNIT ? "v[u]" : "v", e->out);
    fputs(", ", e->out);
    if (e->to == TO_ONCE || e->to == TO_UNIT) emit_cl_print_x_once(e);
    else print_x(e);
    fputs(");\n", e->out);
}

/* Loads as many elements of an array as a vector has, from the text or the index at, to a temporary, whose number it returns. */
static int load_vector(emitter *e, const tree_symbol *a, const char *n, const tree_expr *index, const char *at)
{
    static int number; /* so that no two in a function have one name */
    const char *type = cl_type_name(a->type);
    number++;
    emit_cl_indent(e);
    fprintf(e->out, "const CAT(%s, %s) t%d_ = ", type, n, number);
    if (a->type == TREE_UINT8_TYPE) /* common.cl loads no bytes */
        fprintf(e->out, "*(__global const CAT(uchar, %s) *)(%s + ", n, cl_name(a));
    else
        fprintf(e->out, "LOAD_VECTOR(%s, %s, %s + ", type, n, cl_name(a));
    if (index) cl_print(&e->pr, index, CL_IDX, 1);
    else fputs(at, e->out);
    fprintf(e->out, ");\n");
    return number;
}

void emit_cl_load_array(emitter *e, const tree_symbol *a, const char *to, const char *n, const tree_expr *index, const char *at)
{
    int number;
    emit_cl_line(e, "%s %s[%s];", cl_type_name(a->type), to, n);
    number = load_vector(e, a, n, index, at);
    emit_cl_line(e, "CAT(UNPACK, %s)(%s, t%d_);", n, to, number);
}

/* The unit of a block's row that begins in the column in which the walk stands. */
static void unit(emitter *e)
{
    char n[24];
    snprintf(n, sizeof n, "%d", e->o->vector);
    if (!e->o->early) emit_cl_load_array(e, e->p->shape.val_let->a->symbol, "v", n, e->p->shape.val_let->a->a, NULL);
    emit_cl_line(e, "#pragma unroll");
    emit_cl_line(e, "for (uint u = 0; u < %s; u++)", n);
    e->depth++;
    muladd(e);
    e->depth--;
}

int emit_cl_unit_of_block(const emitter *e)
{
    const tree_stmt *columns = options_block_columns(e->p), *rows = e->p->shape.block_row_loop;
    int n;
    if (e->o->vector > 1 || !rows || !columns || columns->a->number) return e->o->vector;
    for (n = 4; n > 1; n--)
        if (columns->trip % n == 0 && cl_in_units(e->p->shape.val_let->a->a, columns->symbol, n, rows->symbol, rows->trip)) return n;
    return 1;
}

/* Loads them to their places among the values of the slot. */
static void load_unit(emitter *e)
{
    const tree_expr *val = e->p->shape.val_let->a;
    char n[24];
    int number, u;
    snprintf(n, sizeof n, "%d", emit_cl_unit_of_block(e));
    if (e->o->vector > 1) {
        number = load_vector(e, val->symbol, n, val->a, NULL);
        emit_cl_indent(e);
        fprintf(e->out, "UNPACK%s(&", n);
        print_loaded(e, "");
        fprintf(e->out, ", t%d_);\n", number);
        return;
    }
    emit_cl_indent(e);
    fprintf(e->out, "__global const VAL *unit_at = %s + ", cl_name(val->symbol));
    cl_print(&e->pr, val->a, CL_IDX, 1);
    fputs(";\n", e->out);
    for (u = 0; u < atoi(n); u++) {
        char more[24] = "";
        if (u) snprintf(more, sizeof more, " + %d", u);
        emit_cl_indent(e);
        print_loaded(e, more);
        fprintf(e->out, " = LOAD_VAL(unit_at, %d);\n", u);
    }
}

void emit_cl_element(emitter *e)
{
    const tree_shape *s = &e->p->shape;
    if (e->to == TO_COLUMN) {
        emit_cl_indent(e);
        emit_cl_print_x_once(e);
        fputs(" = ", e->out);
        print_x(e);
        fputs(";\n", e->out);
        return;
    }
    if (e->to == TO_UNIT) {
        unit(e);
        return;
    }
    if (e->to == TO_LOAD && emit_cl_unit_of_block(e) > 1) {
        load_unit(e);
        return;
    }
    emit_cl_indent(e);
    if (e->to == TO_LOAD) print_loaded(e, "");
    else fputs("const VAL v", e->out);
    fputs(" = ", e->out);
    if (e->o->early && e->to != TO_LOAD) print_loaded(e, "");
    else cl_print(&e->pr, s->val_let->a, CL_UINT, 0);
    fputs(";\n", e->out);
    if (e->to == TO_LOAD) return;
    if (e->to == TO_SEGMENT) {
        emit_cl_line(e, "row_ = %s;", cl_name(s->row_let->symbol));
        emit_cl_line(e, "if (WANTED(v)) product_ = (VEC)v * X(%s);", cl_name(s->col_let->symbol));
        return;
    }
    if (e->to != TO_Y && e->to != TO_Y_ATOMIC) {
        muladd(e);
        return;
    }
    emit_cl_indent(e);
    fputs(e->to == TO_Y ? "if (WANTED(v)) put(y, " : "if (WANTED(v)) add_to(y + ", e->out);
    fputs(cl_name(s->row_let->symbol), e->out);
    fputs(e->to == TO_Y ? ", alpha, (VEC)v * " : ", alpha * ((VEC)v * ", e->out);
    print_x(e);
    fputs(e->to == TO_Y ? ", (VEC)1);\n" : "));\n", e->out);
}
