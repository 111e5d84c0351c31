/* SPDX-License-Identifier: MIT
 *
 * tools/gen/emit_cl_walk.c - the statements of a kernel: blocks, rows, conditions, and the walk through all of them.
 */
#include "tools/gen/emit_cl_state.h"

/* Block loops as they are written, with a load of x for each element. */
static void block_plain(emitter *e, const tree_stmt *s)
{
    emit_cl_line(e, "#pragma unroll");
    emit_cl_loop_head(e, s, 0);
    emit_cl_walk(e, s->body);
    emit_cl_close_block(e);
}

/* First x for each column of the block, then the products, row by row. */
static void block_once(emitter *e, const tree_stmt *s)
{
    const tree_stmt *rows = e->p->shape.block_row_loop, *columns = options_block_columns(e->p);
    int n = e->o->vector;
    emit_cl_line(e, "VEC xs[%lld];", (long long)columns->trip);
    emit_cl_aim(e, TO_COLUMN, s);
    emit_cl_line(e, "#pragma unroll");
    emit_cl_loop_head(e, columns, 0);
    emit_cl_indent(e);
    emit_cl_print_x_once(e);
    fputs(" = 0;\n", e->out);
    emit_cl_walk(e, s->body);
    emit_cl_close_block(e);
    emit_cl_aim(e, n > 1 ? TO_UNIT : TO_ONCE, s);
    emit_cl_line(e, "#pragma unroll");
    emit_cl_loop_head(e, rows, 0);
    emit_cl_line(e, "#pragma unroll");
    if (n > 1) {
        const char *name = cl_name(columns->symbol);
        emit_cl_line(e, "for (uint %s = 0; %s < %lld; %s += %d) {", name, name, (long long)columns->trip, name, n);
        e->depth++;
    } else {
        emit_cl_loop_head(e, columns, 0);
    }
    emit_cl_walk(e, s->body);
    emit_cl_close_block(e);
    emit_cl_close_block(e);
}

/* A loop over a block whose values are loaded. */
static void block_load(emitter *e, const tree_stmt *s)
{
    const char *name = cl_name(s->symbol);
    emit_cl_line(e, "#pragma unroll");
    if (emit_cl_unit_of_block(e) > 1 && s == options_block_columns(e->p)) {
        emit_cl_line(e, "for (uint %s = 0; %s < %lld; %s += %d) {", name, name, (long long)s->trip, name, emit_cl_unit_of_block(e));
        e->depth++;
    } else {
        emit_cl_loop_head(e, s, 0);
    }
    emit_cl_walk(e, s->body);
    emit_cl_close_block(e);
}

/* The loops over a block; s is the outer one. Testing values needs them before x, so with ZERO the loops are as written. */
static void block(emitter *e, const tree_stmt *s)
{
    if (e->to == TO_LOAD) {
        block_load(e, s);
        return;
    }
    if (e->o->xonce && options_xonce_fits(e->p) && s == e->p->shape.block_loop[0]) {
        fputs("#if !ZERO\n", e->out);
        emit_cl_line(e, "{");
        e->depth++;
        block_once(e, s);
        emit_cl_close_block(e);
        fputs("#else\n", e->out);
        emit_cl_aim(e, TO_BLOCK, e->p->access);
        block_plain(e, s);
        fputs("#endif\n", e->out);
    } else {
        block_plain(e, s);
    }
}

static int is_block_loop(const emitter *e, const tree_stmt *s)
{
    int i;
    for (i = 0; i < e->p->shape.block_loops; i++)
        if (e->p->shape.block_loop[i] == s) return 1;
    return 0;
}

/* Sets the slice of row r, in slices of varying height, by bisection: the last that begins at or before r. */
static void find_slice(emitter *e, const tree_stmt *slices)
{
    const tree_stmt *inner = e->p->shape.row_loop[1];
    const tree_stmt *row = e->p->shape.row_let;
    const char *s = cl_name(slices->symbol);
    int bound = e->pr.count;
    emit_cl_line(e, "uint %s = 0;", s);
    emit_cl_indent(e);
    fputs("for (uint top = ", e->out);
    cl_print_end(&e->pr, slices->b, CL_UINT);
    fprintf(e->out, "; top - %s > 1;)", s);
    emit_cl_open_block(e);
    emit_cl_line(e, "const uint middle = %s + (top - %s) / 2;", s, s);
    emit_cl_indent(e);
    fputs("if (", e->out);
    e->pr.expand = 1;
    cl_bind(&e->pr, slices->symbol, "middle");
    if (row == inner) {
        cl_print(&e->pr, inner->a, CL_UINT, 0);
    } else {
        cl_bind(&e->pr, inner->symbol, "0");
        cl_print(&e->pr, row->a, CL_UINT, 0);
    }
    e->pr.expand = 0;
    e->pr.count = bound;
    fprintf(e->out, " <= r) %s = middle;\n", s);
    emit_cl_line(e, "else top = middle;");
    emit_cl_close_block(e);
}

/* The row within its slice of varying height. */
static void find_row(emitter *e, const tree_stmt *inner)
{
    const tree_stmt *row = e->p->shape.row_let;
    int bound = e->pr.count;
    emit_cl_declare(e, inner->symbol);
    if (row == inner) {
        fputs("r;\n", e->out);
        return;
    }
    fputs("r - (", e->out);
    e->pr.expand = 1;
    cl_bind(&e->pr, inner->symbol, "0");
    cl_print(&e->pr, row->a, CL_UINT, 0);
    e->pr.expand = 0;
    e->pr.count = bound;
    fputs(");\n", e->out);
}

/* A loop over rows or block rows becomes the declaration of its variable, which follows from r. */
static void row_loop(emitter *e, const tree_stmt *s)
{
    const tree_shape *shape = &e->p->shape;
    const char *name = cl_name(s->symbol);
    const char *type = cl_kind_name(cl_kind_of_symbol(s->symbol));
    if (shape->row_loops == 1) {
        if (emit_cl_is_needed(e, s->symbol)) emit_cl_line(e, "const %s %s = r;", type, name);
    } else if (shape->varying) {
        if (s == shape->row_loop[0]) find_slice(e, s);
        else find_row(e, s);
    } else {
        char op = s == shape->row_loop[0] ? '/' : '%';
        emit_cl_line(e, "const %s %s UNUSED = r %c %lld;", type, name, op, (long long)shape->row_loop[1]->trip);
    }
    emit_cl_walk(e, s->body);
}

/* Prints what the walk keeps of a condition. */
static void print_condition(emitter *e, const tree_expr *x)
{
    int both = x->kind == TREE_BINARY && x->op == TREE_AND;
    if (both && emit_cl_is_kept(e, x->a) && emit_cl_is_kept(e, x->b)) {
        print_condition(e, x->a);
        fputs(" && ", e->out);
        print_condition(e, x->b);
    } else if (both) {
        print_condition(e, emit_cl_is_kept(e, x->a) ? x->a : x->b);
    } else {
        cl_print(&e->pr, x, cl_kind_of(x), both || (x->kind == TREE_BINARY && x->op == TREE_OR));
    }
}

/* A condition, where the walk keeps it, and the statements under it. */
static void condition(emitter *e, const tree_stmt *s)
{
    if (!emit_cl_is_kept(e, s->a)) {
        emit_cl_walk(e, s->body);
        return;
    }
    emit_cl_indent(e);
    fputs("if (", e->out);
    print_condition(e, s->a);
    fputs(")", e->out);
    emit_cl_open_block(e);
    emit_cl_walk(e, s->body);
    emit_cl_close_block(e);
}

/* Loops over a block have been written by block_once when the walk meets them; it only goes through their bodies. */
static int written_before(const emitter *e, const tree_stmt *s)
{
    return (e->to == TO_COLUMN || e->to == TO_ONCE || e->to == TO_UNIT) && is_block_loop(e, s);
}

void emit_cl_walk(emitter *e, const tree_stmt *s)
{
    for (; s; s = s->next)
        switch (s->kind) {
        case TREE_WITHIN: break;
        case TREE_IF: condition(e, s); break;
        case TREE_LET:
            if (s == e->p->shape.val_let) emit_cl_element(e);
            else if (emit_cl_is_needed(e, s->symbol)) emit_cl_let(e, s);
            break;
        case TREE_FOR:
            if (emit_cl_is_row_loop(e, s)) {
                row_loop(e, s);
            } else if (written_before(e, s)) {
                emit_cl_walk(e, s->body);
            } else if (s == options_slots(e->p) && e->to != TO_Y && e->to != TO_Y_ATOMIC) {
                emit_cl_slots(e, s);
            } else if (is_block_loop(e, s)) {
                block(e, s);
            } else {
                emit_cl_loop_head(e, s, 0);
                emit_cl_walk(e, s->body);
                emit_cl_close_block(e);
            }
            break;
        }
}
