/* SPDX-License-Identifier: MIT
 *
 * tools/gen/emit_cl.c - writes OpenCL C, which kernels/cuda.cuh makes CUDA C++. What walks rows becomes a body in the conventions of
 * kernels/common.cl, for the shell of kernels/shell.cl; what cannot becomes a kernel of its own.
 */
#include "tools/gen/emit_cl.h"
#include "tools/gen/cl_expr.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static void indent(emitter *e) { fprintf(e->out, "%*s", 4 * e->depth, ""); }

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void line(emitter *e, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    indent(e);
    vfprintf(e->out, format, list);
    fputc('\n', e->out);
    va_end(list);
}

static void open_block(emitter *e)
{
    fputs(" {\n", e->out);
    e->depth++;
}

static void close_block(emitter *e)
{
    e->depth--;
    line(e, "}");
}

/* ---- which locals are needed ------------------------------------------------------------------------------------- */

static int is_needed(const emitter *e, const tree_symbol *s)
{
    int i;
    for (i = 0; i < e->needs; i++)
        if (e->needed[i] == s) return 1;
    return e->needs == MOST_NEEDED; /* then all are written */
}

static void need(emitter *e, const tree_expr *x)
{
    if (!x) return;
    if (x->kind == TREE_NAME && !is_needed(e, x->symbol) && e->needs < MOST_NEEDED) {
        e->needed[e->needs++] = x->symbol;
        need(e, x->symbol->value);
    }
    need(e, x->a);
    need(e, x->b);
    need(e, x->c);
}

static void need_symbol(emitter *e, const tree_symbol *s)
{
    if (is_needed(e, s) || e->needs == MOST_NEEDED) return;
    e->needed[e->needs++] = s;
    need(e, s->value);
}

static int is_row_loop(const emitter *e, const tree_stmt *s)
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

/* 1 if the walk keeps a condition, or, of one joined by "and", a part of it: those that differ between the rows of a block belong to the
 * products, the others to the loads of x. */
static int is_kept(const emitter *e, const tree_expr *x)
{
    if (x->kind == TREE_BINARY && x->op == TREE_AND) return is_kept(e, x->a) || is_kept(e, x->b);
    if (e->to == TO_LOAD || is_implied(e, x)) return 0;
    if (e->to != TO_COLUMN && e->to != TO_ONCE && e->to != TO_UNIT) return 1;
    return of_block_row(e, x) == (e->to != TO_COLUMN);
}

static void need_kept(emitter *e, const tree_expr *x)
{
    if (x->kind == TREE_BINARY && x->op == TREE_AND) {
        need_kept(e, x->a);
        need_kept(e, x->b);
    } else if (is_kept(e, x)) {
        need(e, x);
    }
}

/* Adds what the loops and conditions of the statements read, apart from conditions that the walk leaves out. */
static void need_statements(emitter *e, const tree_stmt *s)
{
    for (; s; s = s->next) {
        if (s->kind == TREE_FOR && !is_row_loop(e, s)) {
            need(e, s->a);
            need(e, s->b);
        }
        if (s->kind == TREE_IF) need_kept(e, s->a);
        need_statements(e, s->body);
    }
}

/* Begins a walk that writes to a new target. */
static void aim(emitter *e, target to, const tree_stmt *from)
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

/* ---- statements -------------------------------------------------------------------------------------------------- */

static void walk(emitter *e, const tree_stmt *s);

/* Writes "const uint name = " of a local. Where arrays have been loaded before, nothing may be left that reads it. */
static void declare(emitter *e, const tree_symbol *s)
{
    indent(e);
    fprintf(e->out, "const %s %s%s = ", cl_kind_name(cl_kind_of_symbol(s)), cl_name(s), e->pr.block ? " UNUSED" : "");
}

/* The value of a local that is read a slot ahead, in the slot that the text at says; 0 behind the last slot. */
static void print_ahead(emitter *e, const tree_stmt *s, const char *at)
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

/* Writes an assignment, unless loop_head_ahead has done so. */
static void let(emitter *e, const tree_stmt *s)
{
    if (e->o->early == 2 && options_reads_ahead(e->p, s)) return;
    declare(e, s->symbol);
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
    fputs("SUM((uint)(", e->out);
    cl_print_symbol(&e->pr, s->row_let->symbol, CL_IDX);
    fputs(" - ", e->out);
    cl_print(&e->pr, s->within->a, CL_IDX, 1);
    fputs("))", e->out);
}

/* The place in xs of the column in which the walk stands. */
static void print_x_once(emitter *e)
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
    indent(e);
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
    if (e->to == TO_ONCE || e->to == TO_UNIT) print_x_once(e);
    else print_x(e);
    fputs(");\n", e->out);
}

/* Loads as many elements of an array as a vector has, from the text or the index at, to a temporary, whose number it returns. */
static int load_vector(emitter *e, const tree_symbol *a, const char *n, const tree_expr *index, const char *at)
{
    static int number; /* so that no two in a function have one name */
    const char *type = cl_type_name(a->type);
    number++;
    indent(e);
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

/* Loads them to a private array that it declares. */
static void load_array(emitter *e, const tree_symbol *a, const char *to, const char *n, const tree_expr *index, const char *at)
{
    int number;
    line(e, "%s %s[%s];", cl_type_name(a->type), to, n);
    number = load_vector(e, a, n, index, at);
    line(e, "CAT(UNPACK, %s)(%s, t%d_);", n, to, number);
}

/* The unit of a block's row that begins in the column in which the walk stands. */
static void unit(emitter *e)
{
    char n[24];
    snprintf(n, sizeof n, "%d", e->o->vector);
    if (!e->o->early) load_array(e, e->p->shape.val_let->a->symbol, "v", n, e->p->shape.val_let->a->a, NULL);
    line(e, "#pragma unroll");
    line(e, "for (uint u = 0; u < %s; u++)", n);
    e->depth++;
    muladd(e);
    e->depth--;
}

/* The values of a block's row that are loaded as one: a vector, or as many as lie next to each other, from an address in common. */
static int unit_of_block(const emitter *e)
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
    snprintf(n, sizeof n, "%d", unit_of_block(e));
    if (e->o->vector > 1) {
        number = load_vector(e, val->symbol, n, val->a, NULL);
        indent(e);
        fprintf(e->out, "UNPACK%s(&", n);
        print_loaded(e, "");
        fprintf(e->out, ", t%d_);\n", number);
        return;
    }
    indent(e);
    fprintf(e->out, "__global const VAL *unit_at = %s + ", cl_name(val->symbol));
    cl_print(&e->pr, val->a, CL_IDX, 1);
    fputs(";\n", e->out);
    for (u = 0; u < atoi(n); u++) {
        char more[24] = "";
        if (u) snprintf(more, sizeof more, " + %d", u);
        indent(e);
        print_loaded(e, more);
        fprintf(e->out, " = LOAD_VAL(unit_at, %d);\n", u);
    }
}

/* What the walk writes where the element is complete. */
static void element(emitter *e)
{
    const tree_shape *s = &e->p->shape;
    if (e->to == TO_COLUMN) {
        indent(e);
        print_x_once(e);
        fputs(" = ", e->out);
        print_x(e);
        fputs(";\n", e->out);
        return;
    }
    if (e->to == TO_UNIT) {
        unit(e);
        return;
    }
    if (e->to == TO_LOAD && unit_of_block(e) > 1) {
        load_unit(e);
        return;
    }
    indent(e);
    if (e->to == TO_LOAD) print_loaded(e, "");
    else fputs("const VAL v", e->out);
    fputs(" = ", e->out);
    if (e->o->early && e->to != TO_LOAD) print_loaded(e, "");
    else cl_print(&e->pr, s->val_let->a, CL_UINT, 0);
    fputs(";\n", e->out);
    if (e->to == TO_LOAD) return;
    if (e->to == TO_SEGMENT) {
        line(e, "row_ = %s;", cl_name(s->row_let->symbol));
        line(e, "if (WANTED(v)) product_ = (VEC)v * X(%s);", cl_name(s->col_let->symbol));
        return;
    }
    if (e->to != TO_Y && e->to != TO_Y_ATOMIC) {
        muladd(e);
        return;
    }
    indent(e);
    fputs(e->to == TO_Y ? "if (WANTED(v)) put(y, " : "if (WANTED(v)) add_to(y + ", e->out);
    fputs(cl_name(s->row_let->symbol), e->out);
    fputs(e->to == TO_Y ? ", alpha, (VEC)v * " : ", alpha * ((VEC)v * ", e->out);
    print_x(e);
    fputs(e->to == TO_Y ? ", (VEC)1);\n" : "));\n", e->out);
}

/* Declares the end of a loop. */
static void loop_end(emitter *e, const tree_stmt *s)
{
    cl_kind k = cl_kind_of_symbol(s->symbol);
    indent(e);
    fprintf(e->out, "const %s %s_end = ", cl_kind_name(k), cl_name(s->symbol));
    cl_print_end(&e->pr, s->b, k);
    fputs(";\n", e->out);
}

/* The knob UNROLL, in front of a loop over slots. */
static void unroll(emitter *e)
{
    fputs("#if UNROLL > 1\n", e->out);
    line(e, "#pragma unroll UNROLL");
    fputs("#endif\n", e->out);
}

/* Writes "for (uint i = first; i < end; i++) {". lanes: 1: the lanes share the iterations. */
static void loop_head(emitter *e, const tree_stmt *s, int lanes)
{
    cl_kind k = cl_kind_of_symbol(s->symbol);
    const char *name = cl_name(s->symbol);
    int zero = s->a->kind == TREE_NUMBER && s->a->number == 0;
    if (s->b->kind != TREE_NUMBER) loop_end(e, s);
    if (lanes) unroll(e);
    indent(e);
    fprintf(e->out, "for (%s %s = ", cl_kind_name(k), name);
    if (!lanes || !zero) cl_print(&e->pr, s->a, k, 0);
    if (lanes) fprintf(e->out, zero ? "lane" : " + lane");
    fprintf(e->out, "; %s < ", name);
    if (s->b->kind != TREE_NUMBER) fprintf(e->out, "%s_end", name);
    else cl_print_end(&e->pr, s->b, k);
    if (lanes) fprintf(e->out, "; %s += L)", name);
    else fprintf(e->out, "; %s++)", name);
    open_block(e);
}

/* The same for slots of which names are read one slot ahead, the first of them before the kernel waits for those in front of it. */
static void loop_head_ahead(emitter *e, const tree_stmt *s)
{
    const char *k = cl_name(s->symbol);
    const tree_stmt *t;
    char next[96];
    line(e, "%s %s = lane;", cl_kind_name(cl_kind_of_symbol(s->symbol)), k);
    loop_end(e, s);
    for (t = s->body; t; t = t->next) {
        if (!options_reads_ahead(e->p, t) || !is_needed(e, t->symbol)) continue;
        indent(e);
        fprintf(e->out, "%s %s_ahead = ", cl_kind_name(cl_kind_of_symbol(t->symbol)), cl_name(t->symbol));
        print_ahead(e, t, k);
        if (cl_kind_of_symbol(t->symbol) == CL_UINT) line(e, "ISSUE(%s_ahead);", cl_name(t->symbol));
    }
    if (e->o->form != OPTIONS_BODY) {
        fputs("#if BODY_FOLLOWS\n", e->out);
        line(e, "FOLLOW();");
        line(e, "REREAD(x);");
        fputs("#endif\n", e->out);
    }
    unroll(e);
    indent(e);
    fprintf(e->out, "for (; %s < %s_end; %s += L)", k, k, k);
    open_block(e);
    snprintf(next, sizeof next, "(%.80s + L)", k);
    for (t = s->body; t; t = t->next) {
        if (!options_reads_ahead(e->p, t) || !is_needed(e, t->symbol)) continue;
        declare(e, t->symbol);
        fprintf(e->out, "%s_ahead;\n", cl_name(t->symbol));
        indent(e);
        fprintf(e->out, "%s_ahead = ", cl_name(t->symbol));
        print_ahead(e, t, next);
    }
}

/* Loads the values of a slot, whatever its conditions say. */
static void load_values(emitter *e, const tree_stmt *s)
{
    target to = e->to;
    line(e, "VAL loaded[%lld];", (long long)options_slot_values(e->p));
    line(e, "{");
    e->depth++;
    aim(e, TO_LOAD, s->body);
    walk(e, s->body);
    close_block(e);
    aim(e, to, e->p->access);
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
        indent(e);
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
    line(e, "const %s %s_whole = %s_end / L * L;", type, k, k);
    unroll(e);
    line(e, "for (%s %s = lane; %s < %s_whole; %s += L) {", type, k, k, k, k);
    e->depth++;
    walk(e, s->body);
    close_block(e);
    line(e, "if (%s_whole + lane < %s_end) {", k, k);
    e->depth++;
    line(e, "const %s %s = %s_whole + lane;", type, k, k);
    walk(e, s->body);
    close_block(e);
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
    else loop_head(e, s, 1);
    if (e->o->early) load_values(e, s);
    walk(e, s->body);
    close_block(e);
}

/* Loads vectors of all arrays that have the values' index. */
static void load_slots(emitter *e, const char *n, const char *at)
{
    const tree_symbol *a;
    for (a = e->p->arrays; a; a = a->next) {
        char name[96];
        if (!options_with_values(e->p, a)) continue;
        snprintf(name, sizeof name, "%s_", cl_name(a));
        load_array(e, a, name, n, NULL, at);
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
        indent(e);
        fputs("const IDX shift = ", e->out);
        cl_print(&e->pr, index, CL_IDX, 0);
        e->pr.count = bound;
        e->pr.expand = 0;
        fputs(";\n", e->out);
    }
    indent(e);
    fprintf(e->out, "const IDX begin = %s", shifted ? "shift + " : "");
    cl_print(&e->pr, s->a, CL_IDX, shifted);
    fputs(";\n", e->out);
    indent(e);
    fprintf(e->out, "const IDX end_ = %s", shifted ? "shift + " : "");
    cl_print_end(&e->pr, s->b, CL_IDX);
    fputs(";\n\n", e->out);
    e->pr.slot = k;
    line(e, "for (IDX q = begin / %s * %s + lane * %s; q < end_; q += L * %s) {", n, n, n, n);
    e->depth++;
    line(e, "if (q >= begin && q + %s <= end_) {", n);
    e->depth++;
    load_slots(e, n, "q");
    line(e, "#pragma unroll");
    line(e, "for (uint u = 0; u < %s; u++) {", n);
    e->depth++;
    e->pr.block = index;
    e->pr.block_at = "u";
    if (is_needed(e, k)) line(e, "const IDX %s UNUSED = q + u%s;", cl_name(k), minus);
    walk(e, s->body);
    e->pr.block = NULL;
    close_block(e);
    e->depth--;
    line(e, "} else {");
    e->depth++;
    line(e, "for (uint u = 0; u < %s; u++)", n);
    e->depth++;
    line(e, "if (q + u >= begin && q + u < end_) {");
    e->depth++;
    line(e, "const IDX %s UNUSED = q + u%s;", cl_name(k), minus);
    walk(e, s->body);
    close_block(e);
    e->depth--;
    close_block(e);
    close_block(e);
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
    indent(e);
    fputs("const IDX start = ", e->out);
    cl_print(&e->pr, index, CL_IDX, 0);
    fputs(";\n\n", e->out);
    e->pr.count = bound;
    unroll(e);
    indent(e);
    fprintf(e->out, "for (%s q = lane; q * %d < ", cl_kind_name(kind), n);
    e->pr.expand = 0;
    cl_print_end(&e->pr, s->b, kind);
    fputs("; q += L)", e->out);
    open_block(e);
    indent(e);
    fputs("const IDX slot = start + (", e->out);
    e->pr.expand = 1;
    cl_bind(&e->pr, k, kind == CL_IDX ? "q" : "(IDX)q");
    cl_print(&e->pr, index, CL_IDX, 0);
    e->pr.count = bound;
    e->pr.expand = 0;
    fprintf(e->out, " - start) * %d;\n", n);
    load_slots(e, count, "slot");
    line(e, "#pragma unroll");
    line(e, "for (uint u = 0; u < %d; u++) {", n);
    e->depth++;
    line(e, "const %s %s UNUSED = q * %d + u;", cl_kind_name(kind), cl_name(k), n);
    indent(e);
    fprintf(e->out, "if (%s < ", cl_name(k));
    cl_print_end(&e->pr, s->b, kind);
    fputs(")", e->out);
    open_block(e);
    e->pr.slot = k;
    e->pr.block = index;
    e->pr.block_at = "u";
    walk(e, s->body);
    e->pr.block = NULL;
    close_block(e);
    close_block(e);
    close_block(e);
}

static void slots(emitter *e, const tree_stmt *s)
{
    e->pr.slot = s->symbol;
    if (e->o->vector != 1 && e->p->shape.rows != TREE_ROWS_BLOCK) slots_vector(e, s);
    else if (e->o->within != 1) slots_within(e, s);
    else slots_single(e, s);
    e->pr.slot = NULL;
}

/* Block loops as they are written, with a load of x for each element. */
static void block_plain(emitter *e, const tree_stmt *s)
{
    line(e, "#pragma unroll");
    loop_head(e, s, 0);
    walk(e, s->body);
    close_block(e);
}

/* First x for each column of the block, then the products, row by row. */
static void block_once(emitter *e, const tree_stmt *s)
{
    const tree_stmt *rows = e->p->shape.block_row_loop, *columns = options_block_columns(e->p);
    int n = e->o->vector;
    line(e, "VEC xs[%lld];", (long long)columns->trip);
    aim(e, TO_COLUMN, s);
    line(e, "#pragma unroll");
    loop_head(e, columns, 0);
    indent(e);
    print_x_once(e);
    fputs(" = 0;\n", e->out);
    walk(e, s->body);
    close_block(e);
    aim(e, n > 1 ? TO_UNIT : TO_ONCE, s);
    line(e, "#pragma unroll");
    loop_head(e, rows, 0);
    line(e, "#pragma unroll");
    if (n > 1) {
        const char *name = cl_name(columns->symbol);
        line(e, "for (uint %s = 0; %s < %lld; %s += %d) {", name, name, (long long)columns->trip, name, n);
        e->depth++;
    } else {
        loop_head(e, columns, 0);
    }
    walk(e, s->body);
    close_block(e);
    close_block(e);
}

/* A loop over a block whose values are loaded. */
static void block_load(emitter *e, const tree_stmt *s)
{
    const char *name = cl_name(s->symbol);
    line(e, "#pragma unroll");
    if (unit_of_block(e) > 1 && s == options_block_columns(e->p)) {
        line(e, "for (uint %s = 0; %s < %lld; %s += %d) {", name, name, (long long)s->trip, name, unit_of_block(e));
        e->depth++;
    } else {
        loop_head(e, s, 0);
    }
    walk(e, s->body);
    close_block(e);
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
        line(e, "{");
        e->depth++;
        block_once(e, s);
        close_block(e);
        fputs("#else\n", e->out);
        aim(e, TO_BLOCK, e->p->access);
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
    line(e, "uint %s = 0;", s);
    indent(e);
    fputs("for (uint top = ", e->out);
    cl_print_end(&e->pr, slices->b, CL_UINT);
    fprintf(e->out, "; top - %s > 1;)", s);
    open_block(e);
    line(e, "const uint middle = %s + (top - %s) / 2;", s, s);
    indent(e);
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
    line(e, "else top = middle;");
    close_block(e);
}

/* The row within its slice of varying height. */
static void find_row(emitter *e, const tree_stmt *inner)
{
    const tree_stmt *row = e->p->shape.row_let;
    int bound = e->pr.count;
    declare(e, inner->symbol);
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
        if (is_needed(e, s->symbol)) line(e, "const %s %s = r;", type, name);
    } else if (shape->varying) {
        if (s == shape->row_loop[0]) find_slice(e, s);
        else find_row(e, s);
    } else {
        char op = s == shape->row_loop[0] ? '/' : '%';
        line(e, "const %s %s UNUSED = r %c %lld;", type, name, op, (long long)shape->row_loop[1]->trip);
    }
    walk(e, s->body);
}

/* Prints what the walk keeps of a condition. */
static void print_condition(emitter *e, const tree_expr *x)
{
    int both = x->kind == TREE_BINARY && x->op == TREE_AND;
    if (both && is_kept(e, x->a) && is_kept(e, x->b)) {
        print_condition(e, x->a);
        fputs(" && ", e->out);
        print_condition(e, x->b);
    } else if (both) {
        print_condition(e, is_kept(e, x->a) ? x->a : x->b);
    } else {
        cl_print(&e->pr, x, cl_kind_of(x), both || (x->kind == TREE_BINARY && x->op == TREE_OR));
    }
}

/* A condition, where the walk keeps it, and the statements under it. */
static void condition(emitter *e, const tree_stmt *s)
{
    if (!is_kept(e, s->a)) {
        walk(e, s->body);
        return;
    }
    indent(e);
    fputs("if (", e->out);
    print_condition(e, s->a);
    fputs(")", e->out);
    open_block(e);
    walk(e, s->body);
    close_block(e);
}

/* Loops over a block have been written by block_once when the walk meets them; it only goes through their bodies. */
static int written_before(const emitter *e, const tree_stmt *s)
{
    return (e->to == TO_COLUMN || e->to == TO_ONCE || e->to == TO_UNIT) && is_block_loop(e, s);
}

static void walk(emitter *e, const tree_stmt *s)
{
    for (; s; s = s->next)
        switch (s->kind) {
        case TREE_WITHIN: break;
        case TREE_IF: condition(e, s); break;
        case TREE_LET:
            if (s == e->p->shape.val_let) element(e);
            else if (is_needed(e, s->symbol)) let(e, s);
            break;
        case TREE_FOR:
            if (is_row_loop(e, s)) {
                row_loop(e, s);
            } else if (written_before(e, s)) {
                walk(e, s->body);
            } else if (s == options_slots(e->p) && e->to != TO_Y && e->to != TO_Y_ATOMIC) {
                slots(e, s);
            } else if (is_block_loop(e, s)) {
                block(e, s);
            } else {
                loop_head(e, s, 0);
                walk(e, s->body);
                close_block(e);
            }
            break;
        }
}

/* ---- the parameters of a kernel ---------------------------------------------------------------------------------- */

/* The parameter that counts the stored rows, which the shell has as rows: num_rows, or that of the loop over single rows. */
static const tree_symbol *rows_of(const emitter *e)
{
    const tree_shape *s = &e->p->shape;
    const tree_expr *end = s->rows == TREE_ROWS_SINGLE && s->row_loops == 1 ? cl_end(s->row_loop[0]->b) : NULL;
    const tree_symbol *root = end ? cl_root(end) : NULL;
    return root && root->kind == TREE_PARAMETER ? root : e->f->num_rows;
}

static const tree_symbol *symbol_named(const tree_symbol *list, const char *name, size_t length)
{
    for (; list; list = list->next)
        if (strlen(list->name) == length && !strncmp(list->name, name, length)) return list;
    return NULL;
}

/* 1 if the shell, or the kernel itself, has the parameter without its being an argument of the part. */
static int is_given(const emitter *e, const tree_symbol *s) { return s == rows_of(e) || s == e->f->num_cols; }

static void print_parameter(emitter *e, const tree_symbol *s, int declared)
{
    if (!declared) {
        fputs(cl_name(s), e->out);
    } else if (s->kind == TREE_PARAMETER) {
        fprintf(e->out, "ulong %s UNUSED", cl_name(s));
    } else if (s == e->pr.image) {
        fprintf(e->out, "__read_only image1d_buffer_t %s", cl_name(s));
    } else {
        const char *space = s->reuse && e->o->reuse == OPTIONS_CONSTANT ? "__constant" : "__global const";
        fprintf(e->out, "%s %s *restrict %s UNUSED", space, cl_type_name(s->type), cl_name(s));
    }
}

/* What stands between two parameters: a line break, which a macro continues. */
static const char *parameter_break(const emitter *e)
{
    return e->o->form == OPTIONS_BODY && e->o->strategy == OPTIONS_ROWS ? ",\n                 " : ", \\\n               ";
}

/* Writes an argument that the description does not have: a number, or a pointer if its name begins with '*'. */
static void print_unused(emitter *e, const char *name, size_t length, int declared)
{
    int pointer = *name == '*';
    if (declared) fputs(pointer ? "__global const uint *restrict " : "ulong ", e->out);
    fprintf(e->out, "unused_%.*s%s", (int)length - pointer, name + pointer, declared ? " UNUSED" : "");
}

/* Writes the arguments that the option names, as parameters if declared is 1. */
static void print_named(emitter *e, int declared)
{
    const char *at = e->o->arguments, *between = parameter_break(e);
    for (;;) {
        size_t length = strcspn(at, ",");
        const tree_symbol *s = symbol_named(e->p->arrays, at, length);
        if (!s) s = symbol_named(e->p->parameters, at, length);
        if (!s) s = symbol_named(e->f->shared, at, length);
        if (s) print_parameter(e, s, declared);
        else print_unused(e, at, length, declared);
        if (!at[length]) return;
        at += length + 1;
        fputs(declared ? between : ", ", e->out);
    }
}

/* Writes the arguments in the order of the description: arrays, then parameters. */
static void print_described(emitter *e, int declared)
{
    const tree_symbol *lists[3], *s;
    const char *between = "";
    int i;
    lists[0] = e->p->arrays;
    lists[1] = e->f->shared;
    lists[2] = e->p->parameters;
    for (i = 0; i < 3; i++)
        for (s = lists[i]; s; s = s->next) {
            if (s->kind == TREE_CONSTANT || s->absent || is_given(e, s)) continue;
            fputs(between, e->out);
            print_parameter(e, s, declared);
            between = declared ? parameter_break(e) : ", ";
        }
}

static void print_parameters(emitter *e, int declared)
{
    if (!strcmp(e->o->arguments, "description")) print_described(e, declared);
    else print_named(e, declared);
}

/* An array that the option arguments forgets, or NULL. */
static const tree_symbol *forgotten(const emitter *e)
{
    const tree_symbol *a;
    if (!strcmp(e->o->arguments, "description")) return NULL;
    for (a = e->p->arrays; a; a = a->next) {
        const char *at = e->o->arguments;
        size_t length;
        int found = a->absent;
        for (; !found; at += length + 1) {
            length = strcspn(at, ",");
            found = length == strlen(a->name) && !strncmp(at, a->name, length);
            if (!at[length]) break;
        }
        if (!found) return a;
    }
    return NULL;
}

/* ---- a part ------------------------------------------------------------------------------------------------------ */

/* Writes a knob: its value, and the list of its legal values, which is that value alone if it was set. */
static void print_knob(emitter *e, options_knob k)
{
    const char *values = options_knob_values(e->p, e->o, k), *value = e->o->knob[k], *name = options_knob_name(k);
    if (!values || k == OPTIONS_IMG) return; /* common.cl has IMG */
    if (strcmp(value, "open")) values = value;
    else value = k == OPTIONS_WG ? "128" : k == OPTIONS_ZERO || k == OPTIONS_NT || k == OPTIONS_SHUF ? "0" : "1";
    fprintf(e->out, "#ifndef %s\n#define %s %s // tune: %s\n#endif\n", name, name, value, values);
}

static void print_knobs(emitter *e)
{
    int k;
    for (k = 0; k < OPTIONS_KNOBS; k++) print_knob(e, (options_knob)k);
    if (e->p->shape.rows == TREE_ROWS_STRIP) fputs("#ifndef STAGE\n#define STAGE 1 // tune: 0 1\n#endif\n", e->out);
    if (e->o->strategy == OPTIONS_ATOMIC || e->o->strategy == OPTIONS_SEGMENTS) /* odd, so that items use different banks of local memory */
        fputs("#ifndef PER\n#define PER 7 // tune: 1 3 5 7 11 15\n#endif\n", e->out);
    if (e->o->vector == OPTIONS_OPEN) fputs("#ifndef VECTOR\n#define VECTOR 2 // tune: 2 4\n#endif\n", e->out);
    if (!options_knob_values(e->p, e->o, OPTIONS_L) && e->p->shape.rows != TREE_ROWS_ANY) fputs("#define L 1\n", e->out);
}

/* How many elements of a __reuse array are in local memory. */
static void print_reused(emitter *e)
{
    const tree_shape *s = &e->p->shape;
    fputs("#define REUSED ", e->out);
    if (!e->pr.staged_from) fprintf(e->out, "%d", REUSED);
    else if (s->row_loops == 2) fprintf(e->out, "(WG / L / %lld + 3)", (long long)s->row_loop[1]->trip);
    else fputs("(WG / L + 2)", e->out);
    fprintf(e->out, " /* elements of %s in local memory */\n", e->pr.staged->name);
}

/* Macros of the file that some options use. */
static void print_helpers(emitter *e)
{
    if (e->o->vector != 1 || e->o->within != 1)
        fputs("#define UNPACK2(to, t) (to)[0] = (t).s0, (to)[1] = (t).s1\n"
              "#define UNPACK4(to, t) UNPACK2(to, t), (to)[2] = (t).s2, (to)[3] = (t).s3\n", e->out);
    if (e->o->strategy == OPTIONS_ROWS && e->o->reuse == OPTIONS_LOCAL)
        print_reused(e);
    if (e->p->shape.rows == TREE_ROWS_STRIP)
        fputs("#if STAGE\n#define SUM(i) mine[(i) * WG]\n#else\n#define SUM(i) acc[i]\n#endif\n", e->out);
    if (cl_needs_floor(e->p->access))
        fputs("#define floor_div(a, b) ((a) / (b) - ((a) % (b) < 0))\n#define floor_mod(a, b) ((a) - (b) * floor_div(a, b))\n"
          "#define ceil_div(a, b) (-floor_div(-(a), b))\n", e->out);
}

/* What the shell needs to know. */
static void print_shape(emitter *e)
{
    const tree_shape *s = &e->p->shape;
    fprintf(e->out, "#define W %lld\n", (long long)s->height);
    fprintf(e->out, "#define APART %d\n", s->order != TREE_ORDER_CONTIGUOUS);
    fprintf(e->out, "#define SYNC %d\n", e->o->reuse == OPTIONS_LOCAL);
    if (e->o->early == 2) fputs("#define BODY_FOLLOWS (OVERLAPS && SEQ == 1)\n", e->out);
    if (s->rows == TREE_ROWS_STRIP) fputs("#if STAGE\n#define SCRATCH (W * WG)\n#else\n#define SCRATCH 0\n#endif\n", e->out);
    else fprintf(e->out, "#define SCRATCH %s\n", e->o->reuse == OPTIONS_LOCAL ? "(2 * REUSED) /* of at least 4 bytes each */" : "0");
    fputs("#define PARAMS ", e->out);
    print_parameters(e, 1);
    fputs("\n#define ARGS ", e->out);
    print_parameters(e, 0);
    fputs("\n", e->out);
    if (!options_rows_in_order(e->p)) { /* the part has its own list of rows, which takes the place of the shell's */
        int bound = e->pr.count;
        char block[64], inner[64];
        fputs("#undef Y_ROW\n#define Y_ROW(i) (", e->out);
        e->pr.expand = 1;
        snprintf(block, sizeof block, "(i)");
        if (s->rows == TREE_ROWS_BLOCK) {
            snprintf(block, sizeof block, "((i) / %lld)", (long long)s->height);
            snprintf(inner, sizeof inner, "((i) %% %lld)", (long long)s->height);
            cl_bind(&e->pr, s->block_row_loop->symbol, inner);
        } else if (s->row_loops == 2) {
            snprintf(block, sizeof block, "((i) / %lld)", (long long)s->row_loop[1]->trip);
            snprintf(inner, sizeof inner, "((i) %% %lld)", (long long)s->row_loop[1]->trip);
            cl_bind(&e->pr, s->row_loop[1]->symbol, inner);
        }
        cl_bind(&e->pr, s->row_loop[0]->symbol, block);
        cl_print(&e->pr, s->row_let->a, CL_UINT, 0);
        e->pr.expand = 0;
        e->pr.count = bound;
        fputs(")\n", e->out);
    }
}

/* Loads elements of a __reuse array to local memory, by all items of the group: those of its rows, or the first of the array. */
static void stage(emitter *e, const tree_symbol *a)
{
    const tree_shape *s = &e->p->shape;
    const char *name = cl_name(a), *type = cl_type_name(a->type);
    char from[96] = "";
    line(e, "__local %s *%s_near = (__local %s *)scratch;", type, name, type);
    if (e->pr.staged_from) {
        char row[64];
        int bound = e->pr.count;
        snprintf(row, sizeof row, "(IDX)(get_group_id(0) * (WG / L) / %lld)", s->row_loops == 2 ? (long long)s->row_loop[1]->trip : 1);
        if (s->row_loops == 2) cl_bind(&e->pr, s->row_loop[1]->symbol, "0");
        cl_bind(&e->pr, s->row_loop[0]->symbol, row);
        e->pr.expand = 1;
        indent(e);
        fprintf(e->out, "const IDX %s_from = ", name);
        cl_print(&e->pr, options_row_index(e->p, a), CL_IDX, 0);
        fputs(";\n", e->out);
        e->pr.expand = 0;
        e->pr.count = bound;
        snprintf(from, sizeof from, "%.80s_from + ", name);
    }
    line(e, "for (uint i_ = (uint)get_local_id(0); i_ < REUSED; i_ += WG)");
    e->depth++;
    indent(e);
    fprintf(e->out, "if (%si_ < ", from);
    cl_print(&e->pr, a->size, CL_IDX, 1);
    fprintf(e->out, ") %s_near[i_] = %s[%si_];\n", name, name, from);
    e->depth--;
    line(e, "barrier(CLK_LOCAL_MEM_FENCE);");
}

/* Opens the sums of the body, walks the access, and closes them. */
static void print_sums(emitter *e)
{
    const tree_shape *s = &e->p->shape;
    const char *n = e->o->vector == 4 ? "4" : e->o->vector == 2 ? "2" : "VECTOR";
    target to = s->rows == TREE_ROWS_STRIP ? TO_STRIP : s->rows == TREE_ROWS_BLOCK ? TO_BLOCK : e->o->vector == 1 ? TO_SUM : TO_SUMS;
    aim(e, to, e->p->access);
    if (to == TO_SUM) line(e, "VEC sum = 0;");
    if (to == TO_SUMS) line(e, "VEC sum[%s] = { 0 };", n);
    if (to == TO_STRIP) {
        fputs("#if STAGE\n", e->out);
        line(e, "__local VEC *mine = scratch + get_local_id(0);");
        line(e, "for (uint w = 0; w < W; w++) mine[w * WG] = 0;");
        fputs("#endif\n", e->out);
    }
    walk(e, e->p->access);
    if (to == TO_SUM) line(e, "acc[0] += sum;");
    if (to == TO_SUMS) line(e, "for (uint u = 0; u < %s; u++) acc[0] += sum[u];", n);
    if (to == TO_STRIP) {
        fputs("#if STAGE\n", e->out);
        line(e, "for (uint w = 0; w < W; w++) acc[w] += mine[w * WG];");
        fputs("#endif\n", e->out);
    }
}

static void print_body(emitter *e)
{
    if (e->o->form == OPTIONS_BODY) {
        fputs("INLINE void BODY(VEC *acc, ROW_PARAMS, ", e->out);
        print_parameters(e, 1);
        fputs(")\n{\n", e->out);
    } else {
        fputs("INLINE void BODY(VEC *acc, ROW_PARAMS, PARAMS)\n{\n", e->out);
    }
    e->depth = 1;
    if (e->o->reuse == OPTIONS_LOCAL) {
        stage(e, options_reused(e->p));
        line(e, "if ((ulong)r * W < rows) {");
        e->depth++;
    }
    print_sums(e);
    if (e->o->reuse == OPTIONS_LOCAL) {
        close_block(e);
        line(e, "barrier(CLK_LOCAL_MEM_FENCE);");
    }
    fputs("}\n", e->out);
}

/* What adds to an element of y that other items may add to at the same time. Where it is an instruction, no item waits for it. */
static const char add_to_text[] =
    "#if defined(NVIDIA) && NVIDIA >= 70\n"
    "INLINE void add_to(__global VEC *at, VEC v)\n{\n"
    "#ifdef F64\n    __asm__ volatile(\"red.relaxed.gpu.global.add.f64 [%0], %1;\" : : \"l\"((ulong)at), \"d\"(v) : \"memory\");\n"
    "#else\n    __asm__ volatile(\"red.relaxed.gpu.global.add.f32 [%0], %1;\" : : \"l\"((ulong)at), \"f\"(v) : \"memory\");\n#endif\n}\n"
    "#else\n"
    "#ifdef F64\n#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
    "#define WORD ulong\n#define AS_WORD as_ulong\n#define AS_VEC as_double\n#define EXCHANGE atom_cmpxchg\n#else\n"
    "#define WORD uint\n#define AS_WORD as_uint\n#define AS_VEC as_float\n#define EXCHANGE atomic_cmpxchg\n#endif\n\n"
    "INLINE void add_to(__global VEC *at, VEC v)\n{\n"
    "    volatile __global WORD *place = (volatile __global WORD *)at;\n    WORD before;\n"
    "    WORD now = EXCHANGE(place, (WORD)0, (WORD)0); /* an atomic load */\n    do {\n        before = now;\n"
    "        now = EXCHANGE(place, before, AS_WORD(AS_VEC(before) + v));\n    } while (now != before);\n}\n#endif\n\n";

/* The number of slots as "(ulong)(end - first)". */
static void print_slot_count(emitter *e, const tree_stmt *s)
{
    cl_kind k = cl_kind_of_symbol(s->symbol);
    fputs("(ulong)(", e->out);
    cl_print_end(&e->pr, s->b, k);
    if (s->a->kind != TREE_NUMBER || s->a->number) {
        fputs(" - ", e->out);
        cl_print(&e->pr, s->a, k, 1);
    }
    fputs(")", e->out);
}

/* Declares the slot that has the number of the text item among all. */
static void slot_of_item(emitter *e, const tree_stmt *s, const char *item)
{
    cl_kind k = cl_kind_of_symbol(s->symbol);
    declare(e, s->symbol);
    if (s->a->kind != TREE_NUMBER || s->a->number) {
        cl_print(&e->pr, s->a, k, 0);
        fputs(" + ", e->out);
    }
    fprintf(e->out, "(%s)(%s);\n", cl_kind_name(k), item);
}

/* One item takes all elements, in their order, which is that of the additions to each row. */
static void print_sequential(emitter *e)
{
    aim(e, TO_Y, e->p->access);
    line(e, "if (get_group_id(0) == 0 && get_local_id(0) == 0) {");
    e->depth++;
    walk(e, e->p->access);
    close_block(e);
}

/* Each item takes the elements of PER slots and adds them to y atomically. */
static void print_atomic(emitter *e)
{
    const tree_stmt *s = e->p->shape.slot_loop[0];
    aim(e, TO_Y_ATOMIC, e->p->access);
    line(e, "for (uint u_ = 0; u_ < PER; u_++) {");
    e->depth++;
    line(e, "const ulong item = ((ulong)get_group_id(0) * PER + u_) * WG + get_local_id(0);");
    indent(e);
    fputs("if (item < ", e->out);
    print_slot_count(e, s);
    fputs(")", e->out);
    open_block(e);
    slot_of_item(e, s, "item");
    walk(e, s->body);
    close_block(e);
    close_block(e);
}

/* A group takes WG * PER adjacent slots. It keeps their products and rows in local memory; each item adds PER adjacent products, as long as
 * they belong to one row; a scan joins the sums of neighbouring items; and the sum of each run of slots with one row, which is now in the
 * place of its last slot, is added to y. */
static void print_segments(emitter *e)
{
    static const char head[] =
        "    LOCAL VEC product[WG * PER];\n"
        "    LOCAL uint place[WG * PER]; /* the row of each product; PAD: none */\n"
        "    LOCAL VEC tail[2 * WG];     /* the sum of the products behind the last end of a row in each item */\n"
        "    LOCAL uint starts[2 * WG];  /* 1: this sum does not continue that of the item before */\n"
        "    const uint lid = (uint)get_local_id(0);\n"
        "    const ulong base_ = (ulong)get_group_id(0) * (WG * PER);\n"
        "\n    BEGIN(x, y);\n";
    static const char sums[] =
        "    barrier(CLK_LOCAL_MEM_FENCE);\n\n"
        "    const uint begin_ = min(lid * PER, n_);\n"
        "    const uint end_ = min(begin_ + PER, n_);\n"
        "    const int joined = begin_ > 0 && begin_ < end_ && place[begin_ - 1] == place[begin_];\n"
        "    uint head_at = PAD; /* where the row that began in an item before ends */\n"
        "    VEC head_sum = 0;\n"
        "    VEC sum = 0;\n"
        "    uint cut = !joined;\n"
        "    for (uint k_ = begin_; k_ < end_; k_++) {\n"
        "        sum += product[k_];\n"
        "        if (k_ + 1 < n_ && place[k_ + 1] == place[k_])\n"
        "            continue;\n"
        "        if (cut) {\n"
        "            product[k_] = sum;\n"
        "        } else {\n"
        "            head_at = k_;\n"
        "            head_sum = sum;\n"
        "        }\n"
        "        cut = 1;\n"
        "        sum = 0;\n"
        "    }\n"
        "    tail[lid] = sum;\n"
        "    starts[lid] = cut;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    uint half_at = 0; /* the scan goes from one half of its arrays to the other */\n"
        "    for (uint d_ = 1; d_ < WG; d_ *= 2) {\n"
        "        if (!cut && lid >= d_) {\n"
        "            sum += tail[half_at + lid - d_];\n"
        "            cut = starts[half_at + lid - d_];\n"
        "        }\n"
        "        half_at = WG - half_at;\n"
        "        tail[half_at + lid] = sum;\n"
        "        starts[half_at + lid] = cut;\n"
        "        barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    }\n"
        "    if (head_at != PAD)\n"
        "        product[head_at] = tail[half_at + lid - 1] + head_sum;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    for (uint u_ = 0; u_ < PER; u_++) {\n"
        "        const uint k_ = u_ * WG + lid;\n"
        "        if (k_ < n_ && place[k_] != PAD && (k_ + 1 == n_ || place[k_ + 1] != place[k_]))\n"
        "            add_to(y + place[k_], alpha * product[k_]);\n"
        "    }\n";
    const tree_stmt *s = e->p->shape.slot_loop[0];
    fputs(head, e->out);
    indent(e);
    fputs("const uint n_ = (uint)min(", e->out);
    print_slot_count(e, s);
    fputs(" - base_, (ulong)(WG * PER));\n\n", e->out);
    aim(e, TO_SEGMENT, e->p->access);
    line(e, "#pragma unroll 8");
    line(e, "for (uint u_ = 0; u_ < PER; u_++) {");
    e->depth++;
    line(e, "const uint k_ = u_ * WG + lid; /* behind the last slot the last one is read once more */");
    slot_of_item(e, s, "base_ + min(k_, n_ - 1)");
    line(e, "uint row_ = PAD;");
    line(e, "VEC product_ = 0;");
    walk(e, s->body);
    line(e, "place[k_] = k_ < n_ ? row_ : PAD;");
    line(e, "product[k_] = product_;");
    close_block(e);
    fputs(sums, e->out);
}

/* A kernel without rows. */
static void print_unordered(emitter *e)
{
    fputs("#define OWN_SHELL /* in place of shell.cl */\n", e->out);
    fputs("#define PARAMS ", e->out);
    print_parameters(e, 1);
    if (!strcmp(e->o->arguments, "description")) fputs(", \\\n               ulong rows UNUSED, ulong cols UNUSED", e->out);
    fputs("\n\n", e->out);
    if (e->o->strategy != OPTIONS_SEQUENTIAL) fputs(add_to_text, e->out);
    fputs("/* Adds alpha A x to y, which is scaled before. */\nKERNEL void spmv(PARAMS, PRODUCT_PARAMS)\n{\n", e->out);
    e->depth = 1;
    e->pr.slot = e->p->shape.slot_loop[0]->symbol;
    if (e->o->strategy != OPTIONS_SEGMENTS) line(e, "BEGIN(x, y);");
    if (e->o->strategy == OPTIONS_SEQUENTIAL) print_sequential(e);
    else if (e->o->strategy == OPTIONS_ATOMIC) print_atomic(e);
    else print_segments(e);
    fputs("}\n", e->out);
}

/* Writes what the part's text is for, and how to launch it. */
static void print_use(emitter *e)
{
    const tree_shape *s = &e->p->shape;
    if (e->o->strategy == OPTIONS_ATOMIC)
        fputs("/* PER iterations of the outer loop an item. The order of additions varies from product to product. */\n", e->out);
    else if (e->o->strategy == OPTIONS_SEGMENTS)
        fputs("/* WG * PER slots a group. The order in which groups add to a row that they share varies from product to product. */\n",
              e->out);
    else if (e->o->strategy == OPTIONS_SEQUENTIAL) fputs("/* One item does all. */\n", e->out);
    else
        fprintf(e->out, "/* Groups: (rows + %lld) / %lld block rows, SEQ * WG / L a group. rows is %s. */\n", (long long)s->height - 1,
                (long long)s->height, rows_of(e)->name);
    if (e->o->within > 1)
        fprintf(e->out, "/* Changed layout: each row has room for a multiple of %d entries. With start = the described index of the first\n"
                " * entry of the slice (of the matrix, without slices), entry k of a row lies at start + (where - start) * %d + k %% %d,\n"
                " * where \"where\" is the described index of entry k / %d. This holds for all arrays with the values' index. */\n",
                e->o->within, e->o->within, e->o->within, e->o->within);
}

static void begin_part(emitter *e, const tree_format *f, const tree_part *p, const options *o, FILE *out)
{
    memset(e, 0, sizeof *e);
    e->out = e->pr.out = out;
    e->f = f;
    e->p = p;
    e->o = o;
    cl_note_subscripts(p);
    if (o->strategy == OPTIONS_ROWS) e->pr.rows_name = rows_of(e);
    if (o->reuse == OPTIONS_LOCAL) {
        e->pr.staged = options_reused(p);
        e->pr.staged_from = options_row_index(p, e->pr.staged) != NULL;
    }
    if (o->reuse == OPTIONS_IMAGE) e->pr.image = options_reused(p);
}

/* Writes the knobs of a part (what 0) or the rest of it (what 1). */
static void print_part(const tree_format *f, const tree_part *p, const options *o, FILE *out, int what)
{
    emitter e;
    begin_part(&e, f, p, o, out);
    if (what == 0) {
        print_knobs(&e);
        return;
    }
    if (o->form != OPTIONS_BODY) print_use(&e);
    if (o->strategy == OPTIONS_ROWS) {
        print_helpers(&e);
        if (o->form != OPTIONS_BODY) print_shape(&e);
        fputs("\n", out);
        print_body(&e);
    } else {
        print_unordered(&e);
    }
}

/* ---- a description ----------------------------------------------------------------------------------------------- */

/* The parts of a composite are programs of their own, of which the macro PART chooses one. */
static void print_parts(const tree_format *f, const options *o, FILE *out, int what)
{
    const tree_part *p;
    int number = 0;
    if (f->parts > 1 && what == 0) fprintf(out, "#ifndef PART\n#define PART 0\n#endif\n");
    for (p = f->part; p; p = p->next, number++) {
        options own = o[number];
        if (f->parts > 1) fprintf(out, "%sif PART == %d /* %s */\n", number ? "#el" : "#", number, p->name);
        print_part(f, p, &own, out, what);
    }
    if (f->parts > 1) fputs("#endif\n", out);
}

static void print_head(const backend *b, const tree_format *f, const backend_settings *set, FILE *out)
{
    const backend_option *t;
    const char *none = " none";
    fprintf(out, "/* SPDX-License-Identifier: MIT\n * GENERATED by spmvgen from %s.fmt, do not edit. Options:\n *", f->name);
    for (t = options_table; t->name; t++) {
        const char *value = backend_value(b, set, t->name);
        if (!strcmp(value, t->usual)) continue;
        fprintf(out, " %s=%s", t->name, value);
        none = "";
    }
    fprintf(out, "%s */\n", none);
}

/* Writes the macros that a standalone text fixes, which must precede common.cl. */
static void print_fixed(const options *o, FILE *out)
{
    if (!strcmp(o->type, "f64")) fputs("#define VAL double\n#define VEC double\n#define F64 1\n", out);
    if (!strcmp(o->type, "f32")) fputs("#define VAL float\n#define VEC float\n", out);
    if (!strcmp(o->type, "mixed")) fputs("#define VAL float\n#define VEC double\n#define F64 1\n", out);
    if (!strcmp(o->offset, "64")) fputs("#define OFF ulong\n#define I64 1\n", out);
    if (!strcmp(o->offset, "32")) fputs("#define OFF uint\n", out);
    if (strcmp(o->knob[OPTIONS_IMG], "open")) fprintf(out, "#define IMG %s\n", o->knob[OPTIONS_IMG]);
}

/* Completes the options for each part. Returns -1 after a message if they do not fit one. */
static int fit_parts(const tree_format *f, const options *o, options *own)
{
    const tree_part *p;
    char reason[OPTIONS_REASON];
    int i = 0;
    if (f->parts > 1 && (o->form == OPTIONS_BODY || strcmp(o->arguments, "description"))) {
        fprintf(stderr, "spmvgen: %s has %d parts: form=body and arguments are for formats of one part\n", f->name, f->parts);
        return -1;
    }
    for (p = f->part; p; p = p->next, i++) {
        emitter e;
        own[i] = *o;
        if (!options_fit(p, &own[i], reason)) {
            fprintf(stderr, "spmvgen: %s%s%s: %s\n", f->name, *p->name ? ", part " : "", p->name, reason);
            return -1;
        }
        begin_part(&e, f, p, &own[i], stderr);
        if (forgotten(&e)) {
            fprintf(stderr, "spmvgen: %s: arguments does not name the array %s\n", f->name, forgotten(&e)->name);
            return -1;
        }
    }
    return 0;
}

int emit_cl(const backend *b, const tree_format *f, const backend_settings *set, FILE *out)
{
    options o = options_read(b, set);
    options *own = (options *)calloc((size_t)f->parts + 1, sizeof *own);
    if (!own) {
        fprintf(stderr, "spmvgen: out of memory\n");
        return -1;
    }
    if (fit_parts(f, &o, own)) {
        free(own);
        return -1;
    }
    print_head(b, f, set, out);
    if (o.form == OPTIONS_STANDALONE) {
        if (o.cuda) cl_source_print(CL_SOURCE_CUDA, out);
        print_fixed(&o, out);
        print_parts(f, own, out, 0);
        cl_source_print(CL_SOURCE_COMMON, out);
    } else if (o.form == OPTIONS_FILE) {
        print_parts(f, own, out, 0);
    }
    print_parts(f, own, out, 1);
    if (o.form == OPTIONS_STANDALONE) {
        fputs("\n", out);
        cl_source_print(CL_SOURCE_SHELL, out);
    }
    free(own);
    return 0;
}

/* ---- the back ends ----------------------------------------------------------------------------------------------- */

static int emit_opencl(const tree_format *f, const backend_settings *set, FILE *out) { return emit_cl(&emit_cl_backend, f, set, out); }
static void list_opencl(const tree_format *f, const backend_settings *set, FILE *out) { explain_cl_list(&emit_cl_backend, f, set, out); }
static void explain_opencl(const tree_format *f, const backend_settings *set, FILE *out) { explain_cl(&emit_cl_backend, f, set, out); }
static int emit_cuda(const tree_format *f, const backend_settings *set, FILE *out) { return emit_cl(&emit_cuda_backend, f, set, out); }
static void list_cuda(const tree_format *f, const backend_settings *set, FILE *out) { explain_cl_list(&emit_cuda_backend, f, set, out); }
static void explain_cuda(const tree_format *f, const backend_settings *set, FILE *out) { explain_cl(&emit_cuda_backend, f, set, out); }

const backend emit_cl_backend = {"opencl", "OpenCL C 1.2", options_table, emit_opencl, list_opencl, explain_opencl};
const backend emit_cuda_backend = {"cuda", "CUDA C, for NVRTC or nvcc", options_table, emit_cuda, list_cuda, explain_cuda};
