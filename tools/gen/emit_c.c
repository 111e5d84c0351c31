/* SPDX-License-Identifier: MIT
 *
 * tools/gen/emit_c.c - writes a C99 header for a description: a struct for the stored matrix, its product, a validator, an unpacker to
 * coordinates, and a packer from CSR if the access can be inverted (emit_c_pack.c). The header compiles as C++11, too.
 *
 * The product and the unpacker compute in int64_t without checks. The validator computes the same expressions by functions that notice
 * overflow and indices outside of arrays, so what it accepts is safe for the others.
 */
#include "tools/gen/emit_c.h"
#include "tools/gen/backend.h"

#include <ctype.h>
#include <string.h>

/* What a walk through the access is for. */
typedef enum walk {
    WALK_PRODUCT,
    WALK_SHARE,   /* the product, for a share of the iterations of the outermost loop */
    WALK_ENTRIES,
    WALK_VISIT,   /* entries by their slots */
    WALK_PACK,    /* the packer: locals are written as their values */
    WALK_CHECK
} walk;

static const backend_option options[] = {
    { "type", "f64", "f64 f32 mixed", "values and vectors: f64, f32, or values f32 and vectors f64" },
    { "offset", "32", "32 64", "bits of OFFSET_TYPE" },
    { "prefix", "NAME", "*", "what generated names begin with; NAME: the format's name" },
    { "early", "0", "0 1", "1: the validator also asks for values that conditions leave out, which kernels with early=1 load" },
    { "pack", "auto", "auto 0 1", "the packer from CSR: if possible, never, or required" },
    { NULL, NULL, NULL, NULL }
};

/* ---- names and types ---- */

const char *emit_c_type(const emit_c *e, const tree_symbol *array)
{
    switch (array->type) {
    case TREE_DATA_TYPE: return e->text.value;
    case TREE_SIGNED_TYPE: return "int32_t";
    case TREE_UINT8_TYPE: return "uint8_t";
    case TREE_UINT16_TYPE: return "uint16_t";
    case TREE_OFFSET_TYPE: return e->offset_bits == 64 ? "uint64_t" : "uint32_t";
    default: return "uint32_t";
    }
}

static const tree_part *part_of(const tree_format *f, const tree_symbol *s)
{
    const tree_part *p = f->part;
    int i;
    for (i = 0; i < s->part; i++) p = p->next;
    return p;
}

void emit_c_member(const emit_c *e, const tree_symbol *s)
{
    const char *part = s->part < 0 ? "" : part_of(e->f, s)->name;
    fprintf(e->text.out, "%s%s%s", part, *part ? "." : "", s->name);
}

/* Writes the name of a local: _row and _col are row and col; all others get a prefix, so that they can be words of C. */
static void put_local(const emit_c *e, const tree_symbol *s)
{
    fprintf(e->text.out, "%s%s", s->name[0] == '_' ? "" : "l_", s->name[0] == '_' ? s->name + 1 : s->name);
}

/* The number that PAD(array) is. */
static const char *pad_of(const tree_symbol *array)
{
    switch (array->type) {
    case TREE_UINT8_TYPE: return "255";
    case TREE_UINT16_TYPE: return "65535";
    case TREE_SIGNED_TYPE: return "2147483647";
    default: return "4294967295";
    }
}

/* ---- expressions ---- */

enum { FOLLOWED = 2 }; /* locals in locals that is_natural looks into */

/* 1 if a stored matrix that was checked cannot make the expression negative; 0 if that is not known. */
static int is_natural(const tree_expr *e, int follow)
{
    switch (e->kind) {
    case TREE_NUMBER: return e->number >= 0;
    case TREE_PAD:
    case TREE_NOT: return 1;
    case TREE_ELEMENT: return !tree_type_signed(e->symbol->type);
    case TREE_NAME:
        if (e->symbol->kind == TREE_PARAMETER) return 1;
        if (e->symbol->loop) return follow && is_natural(e->symbol->loop->a, follow - 1);
        return follow && is_natural(e->symbol->value, follow - 1);
    case TREE_SELECT: return is_natural(e->b, follow) && is_natural(e->c, follow);
    case TREE_BINARY:
        switch (e->op) {
        case TREE_ADD: case TREE_MUL: case TREE_DIV: case TREE_MIN: case TREE_SHL: case TREE_SHR: case TREE_CEIL:
            return is_natural(e->a, follow) && (is_natural(e->b, follow) || e->op == TREE_SHL || e->op == TREE_SHR);
        case TREE_MASK: case TREE_MAX: return is_natural(e->a, follow) || is_natural(e->b, follow);
        case TREE_SUB: return 0;
        default: return 1;
        }
    default: return 0;
    }
}

static void put_expr(const emit_c *e, const tree_expr *x, walk w);

/* Writes name(a, b), with the checker as the first argument if the walk checks. */
static void put_call(const emit_c *e, const char *name, const tree_expr *x, walk w)
{
    fprintf(e->text.out, "%s_%s%s(%s", e->text.prefix, w == WALK_CHECK ? "checked_" : "", name, w == WALK_CHECK ? "c, " : "");
    put_expr(e, x->a, w);
    if (x->b) {
        fputs(", ", e->text.out);
        put_expr(e, x->b, w);
    }
    fputs(")", e->text.out);
}

static void put_infix(const emit_c *e, const char *op, const tree_expr *x, walk w)
{
    fputs("(", e->text.out);
    put_expr(e, x->a, w);
    fprintf(e->text.out, " %s ", op);
    put_expr(e, x->b, w);
    fputs(")", e->text.out);
}

/* The name of the function for an operator: always, to check; else where C's operator differs or there is none. */
static const char *function_of(const tree_expr *x, walk w)
{
    const int natural = w != WALK_CHECK && is_natural(x->a, FOLLOWED);
    switch (x->op) {
    case TREE_ADD: return w == WALK_CHECK ? "add" : NULL;
    case TREE_SUB: return w == WALK_CHECK ? "sub" : NULL;
    case TREE_MUL: return w == WALK_CHECK ? "mul" : NULL;
    case TREE_DIV: return natural ? NULL : "div";
    case TREE_MOD: return natural ? NULL : "mod";
    case TREE_SHR: return natural ? NULL : "shr";
    case TREE_SHL: return "shl";
    case TREE_CEIL: return "ceil";
    default: return NULL;
    }
}

/* Writes an operation as a call, or by an operator of C. */
static void put_binary(const emit_c *e, const tree_expr *x, walk w)
{
    const char *name = function_of(x, w);
    if (name) {
        put_call(e, name, x, w);
        return;
    }
    switch (x->op) {
    case TREE_AND: put_infix(e, "&&", x, w); break;
    case TREE_OR: put_infix(e, "||", x, w); break;
    case TREE_MIN: case TREE_MAX:
        fprintf(e->text.out, "%s_%s(", e->text.prefix, tree_op_text(x->op));
        put_expr(e, x->a, w);
        fputs(", ", e->text.out);
        put_expr(e, x->b, w);
        fputs(")", e->text.out);
        break;
    default: put_infix(e, tree_op_text(x->op), x, w);
    }
}

/* Writes an expression of type int64_t, or of type int if it is a condition. */
static void put_expr(const emit_c *e, const tree_expr *x, walk w)
{
    FILE *out = e->text.out;
    switch (x->kind) {
    case TREE_NUMBER: fprintf(out, "%lld", (long long)x->number); break;
    case TREE_NAME:
        if (x->symbol->kind == TREE_PARAMETER) {
            fputs("m->", out);
            emit_c_member(e, x->symbol);
        } else if (w == WALK_PACK && x->symbol->value) put_expr(e, x->symbol->value, w);
        else put_local(e, x->symbol);
        break;
    case TREE_PAD: fputs(pad_of(x->symbol), out); break;
    case TREE_ELEMENT:
        if (w == WALK_CHECK) fprintf(out, "%s_checked_load_%d(c, m, ", e->text.prefix, x->symbol->index);
        else {
            fputs("(int64_t)m->", out);
            emit_c_member(e, x->symbol);
            fputs(".data[", out);
        }
        put_expr(e, x->a, w);
        fputs(w == WALK_CHECK ? ")" : "]", out);
        break;
    case TREE_NEGATE:
        if (w == WALK_CHECK) put_call(e, "negate", x, w);
        else {
            fputs("-(", out);
            put_expr(e, x->a, w);
            fputs(")", out);
        }
        break;
    case TREE_NOT:
        fputs("!(", out);
        put_expr(e, x->a, w);
        fputs(")", out);
        break;
    case TREE_SELECT:
        fputs("(", out);
        put_expr(e, x->a, w);
        fputs(" ? ", out);
        put_expr(e, x->b, w);
        fputs(" : ", out);
        put_expr(e, x->c, w);
        fputs(")", out);
        break;
    default: put_binary(e, x, w);
    }
}

void emit_c_followed(const emit_c *e, const tree_expr *x) { put_expr(e, x, WALK_PACK); }
void emit_c_local(const emit_c *e, const tree_symbol *s) { put_local(e, s); }

/* ---- walks ---- */

/* Writes text with the name of a local for each %, and more behind it. */
static void put_words(const emit_c *e, const char *text, const tree_symbol *local, const char *more)
{
    for (; *text; text++) {
        if (*text == '%') put_local(e, local);
        else fputc(*text, e->text.out);
    }
    fputs(more, e->text.out);
}

static void begin(const emit_c *e)
{
    int i;
    for (i = 0; i < e->text.indent; i++) fputs("    ", e->text.out);
}

/* In a check: leaves the function if the expressions before were faulty. */
static void put_verdict(const emit_c *e, walk w)
{
    if (w == WALK_CHECK) emit_text_line(&e->text, "if (c->what) return;");
}

/* In a check: notes which line of the description is meant. */
static void put_line(const emit_c *e, int line, walk w)
{
    if (w != WALK_CHECK) return;
    begin(e);
    fprintf(e->text.out, "c->line = %d;\n", line);
}

/* The outermost loop over elements of one row, whose products are summed before they are added to y; NULL if there is none. */
static const tree_stmt *sum_loop(const tree_shape *shape)
{
    const tree_stmt *s, *found = NULL, *end = shape->row_let->kind == TREE_FOR ? shape->row_let : shape->row_let->parent;
    for (s = shape->val_let->parent; s && s != end; s = s->parent)
        if (s->kind == TREE_FOR) found = s;
    return found;
}

/* Writes the check of _row, where a product adds to an element of y. */
static void put_row_check(const emit_c *e)
{
    emit_text_line(&e->text, "if (row < 0 || row >= m->num_rows) @_fail(c, \"_row is outside of the matrix\", row, m->num_rows);");
}

/* Writes the call of visit for an element. */
static void put_visit(const emit_c *e, const tree_expr *val)
{
    fputs("visit(user, (uint64_t)row, (uint64_t)col, (uint64_t)(", e->text.out);
    put_expr(e, val->a, WALK_VISIT);
    fputs("));\n", e->text.out);
}

/* Writes what happens with a complete element. */
static void put_element(const emit_c *e, const tree_shape *shape, const tree_expr *val, int sum, walk w)
{
    FILE *out = e->text.out;
    put_line(e, val->place.line, w);
    if (shape->within && w == WALK_CHECK && !e->early)
        emit_text_line(&e->text,
                       "if (row < strip_first || row > strip_last) @_fail(c, \"_row is outside of its strip\", row, strip_last);");
    if (w == WALK_CHECK) {
        begin(e);
        fputs("const int64_t slot = ", out);
        put_expr(e, val->a, w);
        fprintf(out, ", count = m->");
        emit_c_member(e, val->symbol);
        fputs(".count;\n", out);
        emit_text_line(&e->text,
                       "if (slot < 0 || slot >= count) @_fail(c, \"an index of the values is outside of their array\", slot, count);");
        if (e->early) return;
        put_row_check(e);
        emit_text_line(&e->text, "if (col < 0 || col >= m->num_cols) @_fail(c, \"_col is outside of the matrix\", col, m->num_cols);");
        put_verdict(e, w);
        return;
    }
    begin(e);
    if (w == WALK_VISIT) {
        put_visit(e, val);
        return;
    }
    if (w == WALK_ENTRIES) {
        fputs("if (n < capacity) {\n", out);
        begin(e);
        fputs("    out_row[n] = row;\n", out);
        begin(e);
        fputs("    out_col[n] = col;\n", out);
        begin(e);
        fputs("    out_val[n] = m->", out);
    } else emit_text_put(&e->text, sum ? "sum += (~)" : "y[row] += alpha * (~)");
    if (w == WALK_SHARE) emit_text_put(&e->text, "((const $ *)");
    if (w != WALK_ENTRIES) fputs("m->", out);
    emit_c_member(e, val->symbol);
    fputs(w == WALK_SHARE ? ".data)[" : ".data[", out);
    put_expr(e, val->a, w);
    fputs("]", out);
    if (w == WALK_ENTRIES) {
        fputs(";\n", out);
        emit_text_line(&e->text, "}");
        emit_text_line(&e->text, "n++;");
    } else fputs(" * x[col];\n", out);
}

static void put_block(emit_c *e, const tree_shape *shape, const tree_stmt *s, int complete, int sum, walk w);


/* Writes the bounds of a loop of which only a share is to run. */
static void put_shared_bounds(const emit_c *e, const tree_stmt *s)
{
    FILE *out = e->text.out;
    fputs("const int64_t begin = ", out);
    put_expr(e, s->a, WALK_SHARE);
    fputs(", iterations = ", out);
    put_expr(e, s->b, WALK_SHARE);
    fputs(" - begin + 1;\n", out);
    begin(e);
    put_words(e, "const int64_t last_% = begin + iterations * (share + 1) / shares - 1;", s->symbol, "\n");
    begin(e);
    put_words(e, "for (int64_t % = begin + iterations * share / shares", s->symbol, "");
}

/* Writes a loop. To check, its bounds are worked out once and its length may not be negative. */
static void put_for(emit_c *e, const tree_shape *shape, const tree_stmt *s, int sum, walk w)
{
    FILE *out = e->text.out;
    const int sums = s == sum_loop(shape), own_sum = sums && (w == WALK_PRODUCT || w == WALK_SHARE);
    if (sums && w == WALK_CHECK && !e->early) {
        put_row_check(e);
        put_verdict(e, w);
    }
    if (own_sum) emit_text_line(&e->text, "~ sum = 0;");
    put_line(e, s->place.line, w);
    begin(e);
    if (w == WALK_SHARE && s == shape->row_loop[0]) put_shared_bounds(e, s);
    else {
        put_words(e, w == WALK_CHECK ? "const int64_t first_% = " : "for (int64_t % = ", s->symbol, "");
        put_expr(e, s->a, w);
        put_words(e, ", last_% = ", s->symbol, "");
        put_expr(e, s->b, w);
    }
    if (w == WALK_CHECK) {
        fputs(";\n", out);
        begin(e);
        put_words(e, "if (last_% < first_% && last_% + 1 < first_%) ", s->symbol, "");
        emit_text_put(&e->text, "@_fail(c, \"a range has a negative length\", ");
        put_words(e, "first_%, last_%);", s->symbol, "\n");
        put_verdict(e, w);
        begin(e);
        put_words(e, "for (int64_t % = first_%", s->symbol, "");
    }
    put_words(e, "; % <= last_%; %++) {", s->symbol, "\n");
    e->text.indent++;
    put_block(e, shape, s->body, s->complete, sum || own_sum, w);
    e->text.indent--;
    emit_text_line(&e->text, "}");
    if (own_sum) emit_text_line(&e->text, "y[row] += alpha * sum;");
}

/* Writes a condition. To check, a fault in it ends the check whether or not it holds. */
static void put_if(emit_c *e, const tree_shape *shape, const tree_stmt *s, int sum, walk w)
{
    FILE *out = e->text.out;
    put_line(e, s->place.line, w);
    begin(e);
    if (!e->early) {
        fputs("if (", out);
        put_expr(e, s->a, w);
        fputs(") ", out);
    }
    fputs("{\n", out);
    e->text.indent++;
    put_verdict(e, w);
    put_block(e, shape, s->body, s->complete, sum, w);
    e->text.indent--;
    emit_text_line(&e->text, "}");
    put_verdict(e, w);
}

/* Writes "const int64_t name = value;". A local that nothing reads is left out. */
static void put_let(const emit_c *e, const tree_stmt *s, walk w)
{
    if (s->symbol->kind == TREE_VAL || (s->symbol->kind == TREE_LOCAL && !s->symbol->read)) return;
    put_line(e, s->place.line, w);
    begin(e);
    fputs("const int64_t ", e->text.out);
    put_local(e, s->symbol);
    fputs(" = ", e->text.out);
    put_expr(e, s->a, w);
    fputs(";\n", e->text.out);
    if (e->early) {
        begin(e);
        put_words(e, "(void)%;", s->symbol, "\n");
    }
    put_verdict(e, w);
}

/* Writes the statements of a block, and its element if the element is complete here. sum is 1 within sum_loop. */
static void put_block(emit_c *e, const tree_shape *shape, const tree_stmt *s, int complete, int sum, walk w)
{
    const tree_expr *val = NULL;
    for (; s; s = s->next) {
        switch (s->kind) {
        case TREE_LET:
            put_let(e, s, w);
            if (s == shape->val_let) val = s->a;
            break;
        case TREE_WITHIN:
            if (w != WALK_CHECK || e->early) break;
            put_line(e, s->place.line, w);
            begin(e);
            fputs("const int64_t strip_first = ", e->text.out);
            put_expr(e, s->a, w);
            fputs(", strip_last = ", e->text.out);
            put_expr(e, s->b, w);
            fputs(";\n", e->text.out);
            put_verdict(e, w);
            break;
        case TREE_FOR: put_for(e, shape, s, sum, w); break;
        case TREE_IF: put_if(e, shape, s, sum, w); break;
        }
    }
    if (complete && val) put_element(e, shape, val, sum, w);
}

/* Writes the accesses of all parts. */
static void put_parts(emit_c *e, walk w)
{
    const tree_part *p;
    for (p = e->f->part; p; p = p->next) {
        if (e->f->parts > 1) {
            begin(e);
            fprintf(e->text.out, "{ /* part %s */\n", p->name);
            e->text.indent++;
        }
        put_block(e, &p->shape, p->access, 0, 0, w);
        if (e->f->parts > 1) {
            e->text.indent--;
            emit_text_line(&e->text, "}");
        }
    }
}

/* ---- the header ---- */

/* What the matrix points to: for the library one struct serves values of all types. */
static const char *stored_type(const emit_c *e, const tree_symbol *array)
{
    return e->library && array->type == TREE_DATA_TYPE ? "void" : emit_c_type(e, array);
}

static void put_members(emit_c *e, const tree_symbol *parameters, const tree_symbol *arrays)
{
    const tree_symbol *s;
    for (s = parameters; s; s = s->next) {
        if (s->kind != TREE_PARAMETER) continue;
        begin(e);
        fprintf(e->text.out, "int64_t %s;\n", s->name);
    }
    for (s = arrays; s; s = s->next) {
        begin(e);
        fprintf(e->text.out, "struct { const %s *data; int64_t count; } %s;\n", stored_type(e, s), s->name);
    }
}

/* Writes the struct of the stored matrix; each part of a composite is a struct in it. */
static void put_struct(emit_c *e)
{
    const tree_part *p;
    emit_text_put(&e->text,
                  "\n/* The stored matrix: its parameters, and its arrays with their numbers of elements. */\ntypedef struct @_matrix {\n");
    e->text.indent = 1;
    put_members(e, e->f->shared, NULL);
    for (p = e->f->part; p; p = p->next) {
        if (*p->name) {
            emit_text_line(&e->text, "struct {");
            e->text.indent++;
        }
        put_members(e, p->parameters, p->arrays);
        if (*p->name) {
            e->text.indent--;
            begin(e);
            fprintf(e->text.out, "} %s;\n", p->name);
        }
    }
    e->text.indent = 0;
    emit_text_put(&e->text, "} @_matrix;\n");
}

typedef void on_symbol(const emit_c *e, const tree_symbol *s, int number);

static void bind_parameter(const emit_c *e, const tree_symbol *s, int number)
{
    fputs("    m->", e->text.out);
    emit_c_member(e, s);
    fprintf(e->text.out, " = parameter[%d];\n", number);
}

static void bind_array(const emit_c *e, const tree_symbol *s, int number)
{
    fputs("    m->", e->text.out);
    emit_c_member(e, s);
    fprintf(e->text.out, ".data = (const %s *)data[%d];\n    m->", stored_type(e, s), number);
    emit_c_member(e, s);
    fprintf(e->text.out, ".count = count[%d];\n", number);
}

static void name_symbol(const emit_c *e, const tree_symbol *s, int number)
{
    (void)number;
    fputs("\"", e->text.out);
    emit_c_member(e, s);
    fputs("\", ", e->text.out);
}

static void size_symbol(const emit_c *e, const tree_symbol *s, int number)
{
    (void)number;
    fprintf(e->text.out, "sizeof(%s), ", emit_c_type(e, s));
}

/* Writes what generated programs can ask of the constants in use. */
static void put_constants(const emit_c *e, int names)
{
    const tree_part *p = NULL;
    const tree_symbol *s = e->f->shared;
    for (;;) {
        for (; s; s = s->next) {
            if (s->kind != TREE_CONSTANT) continue;
            if (names) name_symbol(e, s, 0);
            else fprintf(e->text.out, "%lld, ", (long long)s->number);
        }
        p = p ? p->next : e->f->part;
        if (!p) return;
        s = p->parameters;
    }
}

static void each_parameter(const emit_c *e, on_symbol *act)
{
    const tree_part *p;
    const tree_symbol *s;
    for (s = e->f->shared; s; s = s->next)
        if (s->kind == TREE_PARAMETER) act(e, s, s->index);
    for (p = e->f->part; p; p = p->next)
        for (s = p->parameters; s; s = s->next)
            if (s->kind == TREE_PARAMETER) act(e, s, s->index);
}

static void each_array(const emit_c *e, on_symbol *act)
{
    const tree_part *p;
    const tree_symbol *s;
    for (p = e->f->part; p; p = p->next)
        for (s = p->arrays; s; s = s->next) act(e, s, s->index);
}

/* Writes the names of parameters and arrays, and a function that sets them by number. */
static void put_binding(emit_c *e)
{
    FILE *out = e->text.out;
    emit_text_put(&e->text, "\n/* Names and numbers of the members, and the constants in use, for programs that handle matrices of "
                            "several formats alike. */\n");
    emit_text_put(&e->text, "enum { @_parameters = ");
    fprintf(out, "%d", e->f->parameters);
    emit_text_put(&e->text, ", @_arrays = ");
    fprintf(out, "%d };\n", e->f->arrays);
    emit_text_put(&e->text, "static const char *const @_parameter_name[] = { ");
    each_parameter(e, name_symbol);
    emit_text_put(&e->text, "NULL };\nstatic const char *const @_array_name[] = { ");
    each_array(e, name_symbol);
    emit_text_put(&e->text, "NULL };\nstatic const size_t @_array_width[] = { ");
    each_array(e, size_symbol);
    emit_text_put(&e->text, "0 };\nstatic const char *const @_constant_name[] = { ");
    put_constants(e, 1);
    emit_text_put(&e->text, "NULL };\nstatic const int64_t @_constant_value[] = { ");
    put_constants(e, 0);
    emit_text_put(&e->text, "0 };\n\n"
        "/* Sets every member: the parameters, the arrays, and their numbers of elements, in the order of the names above. */\n"
        "static inline void @_bind(@_matrix *m, const int64_t *parameter, const void *const *data, const int64_t *count)\n{\n");
    each_parameter(e, bind_parameter);
    each_array(e, bind_array);
    emit_text_put(&e->text, "}\n");
}

static const char *const arithmetic =
    "\n/* Quotients are rounded down, also below 0. */\n"
    "static inline int64_t @_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }\n"
    "static inline int64_t @_mod(int64_t a, int64_t b) { return a - @_div(a, b) * b; }\n"
    "static inline int64_t @_ceil(int64_t a, int64_t b) { return -@_div(-a, b); }\n"
    "static inline int64_t @_shl(int64_t a, int64_t b) { return a * ((int64_t)1 << b); }\n"
    "static inline int64_t @_shr(int64_t a, int64_t b) { return @_div(a, (int64_t)1 << b); }\n"
    "static inline int64_t @_min(int64_t a, int64_t b) { return a < b ? a : b; }\n"
    "static inline int64_t @_max(int64_t a, int64_t b) { return a > b ? a : b; }\n";

/* Integers of a sound matrix are below @_most, so that neither a sum of two of them nor a loop's variable overflows. */
static const char *const checked_arithmetic =
    "\n/* ---- the validator ---- */\n\n"
    "static const int64_t @_most = (int64_t)1 << 62; /* integers of a sound matrix are below */\n\n"
    "typedef struct @_checker {\n"
    "    const char *what; /* the first fault; NULL: none so far */\n"
    "    int line;         /* of the description */\n"
    "    int64_t a, b;     /* the numbers at fault */\n"
    "} @_checker;\n\n"
    "/* Notes a fault, unless there was one before. Returns a number that does no harm. */\n"
    "static inline int64_t @_fail(@_checker *c, const char *what, int64_t a, int64_t b)\n{\n"
    "    if (c->what) return 0;\n    c->what = what;\n    c->a = a;\n    c->b = b;\n    return 0;\n}\n\n"
    "static inline int64_t @_limit(@_checker *c, int64_t a)\n{\n"
    "    return a < @_most && a > -@_most ? a : @_fail(c, \"an integer exceeds 62 bits\", a, @_most);\n}\n\n"
    "static inline int64_t @_checked_add(@_checker *c, int64_t a, int64_t b) { return @_limit(c, a + b); }\n"
    "static inline int64_t @_checked_sub(@_checker *c, int64_t a, int64_t b) { return @_limit(c, a - b); }\n"
    "static inline int64_t @_checked_negate(@_checker *c, int64_t a) { return @_limit(c, -a); }\n\n"
    "static inline int64_t @_checked_mul(@_checker *c, int64_t a, int64_t b)\n{\n"
    "    const int64_t p = a < 0 ? -a : a, q = b < 0 ? -b : b;\n"
    "    if (q && p > @_most / q) return @_fail(c, \"a product exceeds 62 bits\", a, b);\n"
    "    return @_limit(c, a * b);\n}\n\n"
    "static inline int64_t @_positive(@_checker *c, int64_t b)\n{\n"
    "    return b > 0 ? b : 1 + @_fail(c, \"a divisor is not positive\", b, 1);\n}\n\n"
    "static inline int64_t @_checked_div(@_checker *c, int64_t a, int64_t b) { return @_div(a, @_positive(c, b)); }\n"
    "static inline int64_t @_checked_mod(@_checker *c, int64_t a, int64_t b) { return @_mod(a, @_positive(c, b)); }\n"
    "static inline int64_t @_checked_ceil(@_checker *c, int64_t a, int64_t b) { return @_ceil(a, @_positive(c, b)); }\n\n"
    "static inline int64_t @_distance(@_checker *c, int64_t b)\n{\n"
    "    return b >= 0 && b < 62 ? b : @_fail(c, \"a shift is not from 0 to 61\", b, 61);\n}\n\n"
    "static inline int64_t @_checked_shl(@_checker *c, int64_t a, int64_t b)\n{\n"
    "    return @_checked_mul(c, a, (int64_t)1 << @_distance(c, b));\n}\n"
    "static inline int64_t @_checked_shr(@_checker *c, int64_t a, int64_t b) { return @_shr(a, @_distance(c, b)); }\n";

/* Writes the function that reads an element of an array, or fails. */
static void put_load(const emit_c *e, const tree_symbol *s, int number)
{
    FILE *out = e->text.out;
    if (s->type == TREE_DATA_TYPE || s->absent) return;
    emit_text_put(&e->text, "\nstatic inline int64_t @_checked_load_");
    fprintf(out, "%d", number);
    emit_text_put(&e->text, "(@_checker *c, const @_matrix *m, int64_t i)\n{\n    if (i < 0 || i >= m->");
    emit_c_member(e, s);
    emit_text_put(&e->text, ".count) return @_fail(c, \"an index of '");
    emit_c_member(e, s);
    fputs("' is outside of the array\", i, m->", out);
    emit_c_member(e, s);
    fputs(".count);\n", out);
    if (s->type == TREE_OFFSET_TYPE && e->offset_bits == 64) {
        fputs("    if (m->", out);
        emit_c_member(e, s);
        emit_text_put(&e->text, ".data[i] >= (uint64_t)@_most) return @_fail(c, \"an offset exceeds 62 bits\", i, 0);\n");
    }
    fputs("    return (int64_t)m->", out);
    emit_c_member(e, s);
    fputs(".data[i];\n}\n", out);
}

/* Writes the check of a parameter: rows and columns fit 32 bits, others 62. */
static void check_parameter(const emit_c *e, const tree_symbol *s, int number)
{
    FILE *out = e->text.out;
    const int dimension = s == e->f->num_rows || s == e->f->num_cols;
    (void)number;
    fprintf(out, "    c->line = %d;\n    if (m->", s->place.line);
    emit_c_member(e, s);
    fputs(" < 0 || m->", out);
    emit_c_member(e, s);
    emit_text_put(&e->text, dimension ? " > 4294967295) @_fail(c, \"'" : " >= @_most) @_fail(c, \"'");
    emit_c_member(e, s);
    fputs("' is out of range\", m->", out);
    emit_c_member(e, s);
    emit_text_put(&e->text, dimension ? ", 4294967295);\n" : ", @_most);\n");
}

/* Writes the check that an array has as many elements as its size says. */
static void check_size(const emit_c *e, const tree_symbol *s, int number)
{
    FILE *out = e->text.out;
    (void)number;
    fprintf(out, "    c->line = %d;\n    {\n        const int64_t size = ", s->place.line);
    put_expr(e, s->size, WALK_CHECK);
    fputs(";\n        if (c->what) return;\n        if (m->", out);
    emit_c_member(e, s);
    emit_text_put(&e->text, ".count != size)\n            @_fail(c, \"'");
    emit_c_member(e, s);
    fputs("' has another number of elements than the description says\", m->", out);
    emit_c_member(e, s);
    fputs(".count, size);\n        if (size > 0 && !m->", out);
    emit_c_member(e, s);
    emit_text_put(&e->text, ".data) @_fail(c, \"'");
    emit_c_member(e, s);
    fputs("' is missing\", 0, size);\n    }\n", out);
}

/* An array may not be read, not even by a size, if its pointer is missing or its number of elements is negative. */
static void check_pointer(const emit_c *e, const tree_symbol *s, int number)
{
    FILE *out = e->text.out;
    (void)number;
    fprintf(out, "    c->line = %d;\n    if (m->", s->place.line);
    emit_c_member(e, s);
    fputs(".count < 0 || (m->", out);
    emit_c_member(e, s);
    fputs(".count && !m->", out);
    emit_c_member(e, s);
    emit_text_put(&e->text, ".data))\n        @_fail(c, \"'");
    emit_c_member(e, s);
    fputs("' has no elements, or fewer than none\", m->", out);
    emit_c_member(e, s);
    fputs(".count, 0);\n", out);
}

/* Writes the check that no number occurs twice: quick if they rise, else by sorting a copy. */
static void check_unique(const emit_c *e, const tree_symbol *s, int number)
{
    FILE *out = e->text.out;
    if (!s->unique || s->absent) return;
    fprintf(out, "    c->line = %d;\n    {\n        const int64_t count = m->", s->place.line);
    emit_c_member(e, s);
    emit_text_put(&e->text,
                  ".count;\n        int64_t i, *copy = NULL;\n        for (i = 1; i < count; i++)\n            if (@_checked_load_");
    fprintf(out, "%d(c, m, i) <= ", number);
    emit_text_put(&e->text, "@_checked_load_");
    fprintf(out, "%d(c, m, i - 1)) break;\n", number);
    emit_text_put(&e->text,
        "        if (i < count) {\n"
        "            copy = (uint64_t)count < SIZE_MAX / sizeof *copy ? (int64_t *)malloc((size_t)count * sizeof *copy) : NULL;\n"
        "            if (!copy) @_fail(c, \"there is no memory to check '");
    emit_c_member(e, s);
    fputs("'\", count, 0);\n            for (i = 0; copy && i < count; i++) copy[i] = ", out);
    emit_text_put(&e->text, "@_checked_load_");
    fprintf(out, "%d(c, m, i);\n", number);
    emit_text_put(&e->text,
        "            if (copy) qsort(copy, (size_t)count, sizeof *copy, @_compare);\n"
        "            for (i = 1; copy && i < count; i++)\n"
        "                if (copy[i] == copy[i - 1]) @_fail(c, \"'");
    emit_c_member(e, s);
    fputs("' contains a number twice\", copy[i], 0);\n            free(copy);\n        }\n    }\n", out);
}

static const char *const compare =
    "\nstatic inline int @_compare(const void *a, const void *b)\n{\n"
    "    const int64_t p = *(const int64_t *)a, q = *(const int64_t *)b;\n    return (p > q) - (p < q);\n}\n";

static int has_unique(const tree_format *f)
{
    const tree_part *p;
    const tree_symbol *s;
    for (p = f->part; p; p = p->next)
        for (s = p->arrays; s; s = s->next)
            if (s->unique && !s->absent) return 1;
    return 0;
}

/* Writes the check that the values exist which kernels load before they test conditions: the access without its conditions. */
static void put_early_check(emit_c *e)
{
    emit_text_put(&e->text, "\nstatic inline void @_check_early(@_checker *c, const @_matrix *m)\n{\n");
    e->text.indent = 1;
    e->early = 1;
    put_parts(e, WALK_CHECK);
    e->early = 0;
    e->text.indent = 0;
    emit_text_put(&e->text, "}\n");
}

/* Writes the validator: checked arithmetic, loads, sizes, and the access; early: also what put_early_check says. */
static void put_validator(emit_c *e, int early)
{
    emit_text_put(&e->text, checked_arithmetic);
    each_array(e, put_load);
    if (has_unique(e->f)) emit_text_put(&e->text, compare);
    emit_text_put(&e->text, "\nstatic inline void @_check_sizes(@_checker *c, const @_matrix *m)\n{\n");
    each_array(e, check_pointer);
    each_parameter(e, check_parameter);
    emit_text_put(&e->text, "    if (c->what) return;\n");
    each_array(e, check_size);
    each_array(e, check_unique);
    emit_text_put(&e->text, "}\n\nstatic inline void @_check_access(@_checker *c, const @_matrix *m)\n{\n");
    e->text.indent = 1;
    put_parts(e, WALK_CHECK);
    e->text.indent = 0;
    emit_text_put(&e->text, "}\n");
    if (early) put_early_check(e);
    emit_text_put(&e->text, "\n"
        "/* Checks every size, and every index that a product reads or uses. Never reads outside of the arrays, whatever they contain.\n"
        " * Returns 0 if the matrix is sound. Otherwise returns -1 and writes what is wrong to message, cut to size bytes. */\n"
        "static inline int @_check(const @_matrix *m, char *message, size_t size)\n{\n"
        "    @_checker c = { NULL, 0, 0, 0 };\n"
        "    if (size) message[0] = 0;\n"
        "    @_check_sizes(&c, m);\n"
        "    if (!c.what) @_check_access(&c, m);\n");
    if (early) emit_text_put(&e->text, "    if (!c.what) @_check_early(&c, m);\n");
    emit_text_put(&e->text,
        "    if (!c.what) return 0;\n"
        "    snprintf(message, size, \"line %d of the description: %s (%lld, %lld)\", c.line, c.what, (long long)c.a, (long long)c.b);\n"
        "    return -1;\n}\n");
}

static void put_product(emit_c *e)
{
    emit_text_put(&e->text, "\n/* y = alpha A x + beta y. If beta is 0, y is not read. The matrix must be sound (@_check); x has num_cols "
                            "and y num_rows elements,\n"
        " * which may not overlap. */\n"
        "static inline void @_multiply(const @_matrix *m, ~ alpha, const ~ *x, ~ beta, ~ *y)\n{\n"
        "    int64_t r;\n"
        "    for (r = 0; r < m->num_rows; r++) y[r] = beta == 0 ? 0 : beta * y[r];\n");
    e->text.indent = 1;
    put_parts(e, WALK_PRODUCT);
    e->text.indent = 0;
    emit_text_put(&e->text, "}\n");
}

static void put_entries(emit_c *e)
{
    emit_text_put(&e->text, "\n/* Returns the number of stored entries of a sound matrix, zeros that fill up blocks or diagonals "
                            "included, and writes the first of\n"
        " * them, at most capacity, as coordinates. With capacity 0 the arrays may be NULL. */\n"
        "static inline int64_t @_entries(const @_matrix *m, int64_t capacity, int64_t *out_row, int64_t *out_col, $ *out_val)\n{\n"
        "    int64_t n = 0;\n");
    e->text.indent = 1;
    put_parts(e, WALK_ENTRIES);
    e->text.indent = 0;
    emit_text_put(&e->text, "    return n;\n}\n");
}

static void put_share(emit_c *e, const char *type)
{
    emit_text_put(&e->text, "\n/* Adds alpha A x to y, as far as it comes from share number share of shares; different shares have "
                            "different rows. */\n"
        "static inline void @_add_");
    emit_text_put(&e->text, type);
    emit_text_put(&e->text, "(const @_matrix *m, ~ alpha, const ~ *x, ~ *y, int64_t share, int64_t shares)\n{\n");
    e->text.indent = 1;
    put_parts(e, WALK_SHARE);
    e->text.indent = 0;
    emit_text_put(&e->text, "}\n");
}

static void put_visitor(emit_c *e)
{
    emit_text_put(&e->text, "\n/* Calls visit for every stored entry, with its row, its column and its place in the array of values. */\n"
        "static inline void @_each(const @_matrix *m, void (*visit)(void *user, uint64_t row, uint64_t col, uint64_t slot),\n"
        "                          void *user)\n{\n");
    e->text.indent = 1;
    put_parts(e, WALK_VISIT);
    e->text.indent = 0;
    emit_text_put(&e->text, "}\n");
}

static void unbind_parameter(const emit_c *e, const tree_symbol *s, int number)
{
    fprintf(e->text.out, "    parameter[%d] = m->", number);
    emit_c_member(e, s);
    fputs(";\n", e->text.out);
}

static void unbind_array(const emit_c *e, const tree_symbol *s, int number)
{
    fprintf(e->text.out, "    data[%d] = (void *)(uintptr_t)m->", number);
    emit_c_member(e, s);
    fprintf(e->text.out, ".data;\n    count[%d] = m->", number);
    emit_c_member(e, s);
    fputs(".count;\n", e->text.out);
}

/* The comment at the head: where the code comes from, and the constants in use. */
static void put_head(const emit_c *e, const char *type)
{
    FILE *out = e->text.out;
    const tree_part *p;
    const tree_symbol *s;
    fprintf(out, "/* Generated by spmvgen from the description of %s; do not edit. Type %s", e->f->name, type);
    for (s = e->f->shared; s; s = s->next)
        if (s->kind == TREE_CONSTANT) fprintf(out, ", %s = %lld", s->name, (long long)s->number);
    for (p = e->f->part; p; p = p->next)
        for (s = p->parameters; s; s = s->next)
            if (s->kind == TREE_CONSTANT) fprintf(out, ", %s%s%s = %lld", p->name, *p->name ? "." : "", s->name, (long long)s->number);
    emit_text_put(&e->text, ". */\n#ifndef @_SPMVGEN\n#define @_SPMVGEN\n\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n"
                            "#include <stdlib.h>\n#include <string.h>\n");
}

/* The prefix of names: the option, or the format's name with an underscore for each character that C does not allow in names. */
static const char *prefix_of(const tree_format *f, const backend_settings *set, char *buffer, size_t size)
{
    const char *wish = backend_value(&emit_c_backend, set, "prefix");
    size_t i;
    if (strcmp(wish, "NAME") != 0) return wish;
    for (i = 0; f->name[i] && i + 2 < size; i++) buffer[i] = isalnum((unsigned char)f->name[i]) ? f->name[i] : '_';
    buffer[i] = 0;
    if (isdigit((unsigned char)buffer[0])) {
        memmove(buffer + 1, buffer, i + 1);
        buffer[0] = 'f';
    }
    return buffer;
}

static int is_name(const char *text)
{
    size_t i;
    for (i = 0; text[i]; i++)
        if (!isalpha((unsigned char)text[i]) && text[i] != '_' && !(i && isdigit((unsigned char)text[i]))) return 0;
    return i > 0 && i < 64;
}

/* The C types of values and of vectors. */
static void set_type(emit_c *e, const char *type)
{
    e->text.value = strcmp(type, "f64") ? "float" : "double";
    e->text.vector = strcmp(type, "f32") ? "double" : "float";
}

/* A state for code whose names begin with prefix, in one type. */
static emit_c state_of(const tree_format *f, FILE *out, const char *prefix, const char *type, int offset_bits)
{
    emit_c e;
    memset(&e, 0, sizeof e);
    e.f = f;
    e.text.out = out;
    e.text.prefix = prefix;
    set_type(&e, type);
    e.offset_bits = offset_bits;
    return e;
}

void emit_c_for_library(const tree_format *f, FILE *out, int offset_bits, int by_hand)
{
    static const char *const type[] = { "f32", "mixed", "f64" }; /* conversions take values in the last */
    emit_c e = state_of(f, out, f->name, "f64", offset_bits);
    size_t i;
    e.library = 1;
    e.by_hand = by_hand;
    put_struct(&e);
    put_binding(&e);
    emit_text_put(&e.text, arithmetic);
    put_validator(&e, 0);
    for (i = 0; i < sizeof type / sizeof *type; i++) {
        set_type(&e, type[i]);
        put_share(&e, type[i]);
    }
    put_visitor(&e);
    emit_c_pack(&e);
    emit_text_put(&e.text, "\n/* The counterpart of @_bind. */\n"
        "static inline void @_unbind(const @_matrix *m, int64_t *parameter, void **data, int64_t *count)\n{\n");
    each_parameter(&e, unbind_parameter);
    each_array(&e, unbind_array);
    emit_text_put(&e.text, "}\n");
}

/* Writes the whole header. */
static int emit(const tree_format *f, const backend_settings *set, FILE *out)
{
    const char *type = backend_value(&emit_c_backend, set, "type"), *pack = backend_value(&emit_c_backend, set, "pack");
    const char *reason = emit_c_pack_reason(f);
    char buffer[66];
    emit_c e = state_of(f, out, prefix_of(f, set, buffer, sizeof buffer), type,
                        strcmp(backend_value(&emit_c_backend, set, "offset"), "64") ? 32 : 64);
    if (!is_name(e.text.prefix)) {
        fprintf(stderr, "spmvgen: --set prefix=%s: expected a name of C with at most 63 characters\n", e.text.prefix);
        return -1;
    }
    if (reason && !strcmp(pack, "1")) {
        fprintf(stderr, "%s: error: there is no packer from CSR for this description: %s\n", f->file, reason);
        return -1;
    }
    put_head(&e, type);
    put_struct(&e);
    put_binding(&e);
    emit_text_put(&e.text, arithmetic);
    put_validator(&e, !strcmp(backend_value(&emit_c_backend, set, "early"), "1"));
    emit_text_put(&e.text, "\n/* ---- the product and the unpacker ---- */\n");
    put_product(&e);
    put_entries(&e);
    if (!reason && strcmp(pack, "0") != 0) emit_c_pack(&e);
    else if (reason) fprintf(out, "\n/* There is no packer from CSR: %s. */\n", reason);
    emit_text_put(&e.text, "\n#endif\n");
    return 0;
}

/* Every combination of types and offsets is legal. */
static void list(const tree_format *f, const backend_settings *set, FILE *out)
{
    static const char *const type[] = { "f64", "f32", "mixed" };
    size_t i;
    (void)f;
    (void)set;
    for (i = 0; i < sizeof type / sizeof type[0]; i++) fprintf(out, "type=%s offset=32\ntype=%s offset=64\n", type[i], type[i]);
}

static void explain(const tree_format *f, const backend_settings *set, FILE *out)
{
    const char *reason = emit_c_pack_reason(f);
    (void)set;
    fprintf(out, "The C code multiplies element after element in the order of the access section.\n");
    if (reason) fprintf(out, "It has no packer from CSR: %s.\n", reason);
    else fprintf(out, "It has a packer from CSR.\n");
}

const backend emit_c_backend = { "c", "a C99 header: product, validator, unpacker, and packer where possible", options, emit, list,
                                explain };
