/* SPDX-License-Identifier: MIT
 *
 * tools/gen/emit_c_pack.c - writes the packer from CSR. An access says how stored entries are found; a packer must say where to store
 * them, which follows only if each entry has one obvious place. Six kinds of accesses are recognized:
 *   dense   _row and _col are loop variables, and all elements are stored
 *   csr     a loop over pointer[_row] to pointer[_row + 1] - 1, with column and value at the loop variable
 *   coo     one loop over entries, with row, column and value at its variable
 *   ell     a loop up to a width, with column and value at an index made of _row and the variable; padding in the column
 *   ellr    a loop up to length[_row] - 1, with column and value at an index made of _row and the variable; the arrays have
 *           width * apart elements
 *   dia     a loop over diagonals, with _col = _row + offset[d]
 */
#include "tools/gen/emit_c.h"

#include <string.h>

typedef enum pack_kind {
    PACK_NONE,
    PACK_DENSE,
    PACK_CSR,
    PACK_COO,
    PACK_ELL,
    PACK_ELLR,
    PACK_DIA
} pack_kind;

/* What was recognized. Members that the kind does not use are NULL. */
typedef struct pack {
    pack_kind kind;
    const char *reason;         /* why there is none */
    const tree_symbol *val, *col, *row; /* arrays of values, columns and rows */
    const tree_symbol *pointer; /* csr: the array of row pointers; dia: the array of offsets; ellr: that of row lengths */
    const tree_symbol *count;   /* the parameter that counts entries (coo), entries of a row (ell, ellr) or diagonals (dia) */
    const tree_symbol *apart;   /* ell, ellr, dia: the parameter by which slots of one row lie apart; NULL: rows are contiguous (ell) */
} pack;

/* ---- recognition ---- */

static int is_number(const tree_expr *e, int64_t n) { return e->kind == TREE_NUMBER && e->number == n; }

static int is_op(const tree_expr *e, tree_op op) { return e->kind == TREE_BINARY && e->op == op; }

static int is_symbol(const tree_expr *e, const tree_symbol *s) { return tree_behind(e)->kind == TREE_NAME && tree_behind(e)->symbol == s; }

/* The symbol that e is, if it is a parameter; otherwise NULL. */
static const tree_symbol *parameter(const tree_expr *e)
{
    e = tree_behind(e);
    return e->kind == TREE_NAME && e->symbol->kind == TREE_PARAMETER ? e->symbol : NULL;
}

/* The parameter n of a loop over [0 : n - 1], or NULL. */
static const tree_symbol *counts_to(const tree_stmt *loop)
{
    const tree_expr *b = tree_behind(loop->b);
    if (!is_number(tree_behind(loop->a), 0) || !is_op(b, TREE_SUB) || !is_number(b->b, 1)) return NULL;
    return parameter(b->a);
}

/* The array of array[index], if the index is the symbol alone; otherwise NULL. */
static const tree_symbol *array_at(const tree_expr *e, const tree_symbol *index)
{
    e = tree_behind(e);
    return e->kind == TREE_ELEMENT && is_symbol(e->a, index) ? e->symbol : NULL;
}

/* The conditions around the element. Returns how many there are, and sets *out to the innermost. */
static int conditions(const tree_part *p, const tree_stmt **out)
{
    const tree_stmt *s;
    int n = 0;
    *out = NULL;
    for (s = p->shape.val_let->parent; s; s = s->parent)
        if (s->kind == TREE_IF && !n++) *out = s;
    return n;
}

/* Sets apart for an index made of the row and the variable k: k * apart + row, or row * width + k. Returns 0 if it is something else. */
static int takes_index(pack *p, const tree_expr *e, const tree_symbol *row, const tree_symbol *k)
{
    const tree_expr *product, *rest;
    e = tree_behind(e);
    if (!is_op(e, TREE_ADD)) return 0;
    product = tree_behind(e->a);
    rest = e->b;
    if (!is_op(product, TREE_MUL)) {
        product = tree_behind(e->b);
        rest = e->a;
    }
    if (!is_op(product, TREE_MUL)) return 0;
    if (is_symbol(rest, row) && (is_symbol(product->a, k) || is_symbol(product->b, k))) {
        p->apart = parameter(is_symbol(product->a, k) ? product->b : product->a);
        return p->apart && p->apart != p->count;
    }
    p->apart = NULL;
    return is_symbol(rest, k) && ((is_symbol(product->a, row) && parameter(product->b) == p->count)
                                  || (is_symbol(product->b, row) && parameter(product->a) == p->count));
}

/* 1 if the index e is made of the row and k in the same way as the one that takes_index accepted before. */
static int same_index(const pack *p, const tree_expr *e, const tree_symbol *row, const tree_symbol *k)
{
    pack q = *p;
    return takes_index(&q, e, row, k) && q.apart == p->apart;
}

static pack no_pack(const char *reason)
{
    pack p;
    memset(&p, 0, sizeof p);
    p.reason = reason;
    return p;
}

/* coo: row[i], col[i], val[i]. */
static pack recognize_coo(const tree_part *part)
{
    const tree_shape *s = &part->shape;
    const tree_symbol *i = s->slot_loop[0]->symbol;
    const tree_stmt *condition;
    pack p = no_pack("its rows come in an order that the description does not tell");
    p.count = counts_to(s->slot_loop[0]);
    p.val = array_at(s->val_let->a, i);
    p.row = s->row_let->kind == TREE_LET ? array_at(s->row_let->a, i) : NULL;
    p.col = s->col_let->kind == TREE_LET ? array_at(s->col_let->a, i) : NULL;
    if (s->slot_loops == 1 && !s->block_loops && p.count && p.val && p.row && p.col && !conditions(part, &condition)) p.kind = PACK_COO;
    return p;
}

/* csr: pointer[_row] to pointer[_row + 1] - 1. */
static int recognize_csr(pack *p, const tree_part *part, const tree_stmt *loop, const tree_symbol *row)
{
    const tree_shape *s = &part->shape;
    const tree_expr *a = tree_behind(loop->a), *b = tree_behind(loop->b), *next;
    const tree_stmt *condition;
    if (!is_op(b, TREE_SUB) || !is_number(b->b, 1)) return 0;
    next = tree_behind(b->a);
    p->pointer = array_at(a, row);
    if (!p->pointer || next->kind != TREE_ELEMENT || next->symbol != p->pointer) return 0;
    next = tree_behind(next->a);
    if (!is_op(next, TREE_ADD) || !is_symbol(next->a, row) || !is_number(next->b, 1)) return 0;
    p->col = s->col_let->kind == TREE_LET ? array_at(s->col_let->a, loop->symbol) : NULL;
    p->val = array_at(s->val_let->a, loop->symbol);
    if (!p->col || !p->val || conditions(part, &condition)) return 0;
    p->kind = PACK_CSR;
    return 1;
}

/* ell: col[index] != PAD(col). */
static int recognize_ell(pack *p, const tree_part *part, const tree_stmt *loop, const tree_symbol *row)
{
    const tree_shape *s = &part->shape;
    const tree_expr *col = s->col_let->kind == TREE_LET ? tree_behind(s->col_let->a) : NULL, *tested;
    const tree_stmt *condition;
    if (!p->count || !col || col->kind != TREE_ELEMENT || conditions(part, &condition) != 1) return 0;
    if (!is_op(condition->a, TREE_NE) || condition->a->b->kind != TREE_PAD || condition->a->b->symbol != col->symbol) return 0;
    tested = tree_behind(condition->a->a);
    if (tested->kind != TREE_ELEMENT || tested->symbol != col->symbol) return 0;
    if (!takes_index(p, s->val_let->a->a, row, loop->symbol)) return 0;
    if (!same_index(p, col->a, row, loop->symbol) || !same_index(p, tested->a, row, loop->symbol)) return 0;
    p->col = col->symbol;
    p->val = s->val_let->a->symbol;
    p->kind = PACK_ELL;
    return 1;
}

/* The factor of a product of two parameters that is not the other; NULL: e is no such product. */
static const tree_symbol *factor_beside(const tree_expr *e, const tree_symbol *other)
{
    e = tree_behind(e);
    if (!other || !is_op(e, TREE_MUL)) return NULL;
    return is_symbol(e->a, other) ? parameter(e->b) : is_symbol(e->b, other) ? parameter(e->a) : NULL;
}

/* ellr: [0 : length[_row] - 1], with slots of a row that lie apart. */
static int recognize_ellr(pack *p, const tree_part *part, const tree_stmt *loop, const tree_symbol *row)
{
    const tree_shape *s = &part->shape;
    const tree_expr *b = tree_behind(loop->b), *col = s->col_let->kind == TREE_LET ? tree_behind(s->col_let->a) : NULL;
    const tree_stmt *condition;
    if (!is_number(tree_behind(loop->a), 0) || !is_op(b, TREE_SUB) || !is_number(b->b, 1)) return 0;
    p->pointer = array_at(b->a, row);
    if (!p->pointer || !col || col->kind != TREE_ELEMENT || conditions(part, &condition)) return 0;
    if (!takes_index(p, s->val_let->a->a, row, loop->symbol) || !p->apart || !same_index(p, col->a, row, loop->symbol)) return 0;
    p->col = col->symbol;
    p->val = s->val_let->a->symbol;
    p->count = factor_beside(p->val->size, p->apart);
    if (!p->count || p->count == p->apart || factor_beside(p->col->size, p->apart) != p->count) return 0;
    p->kind = PACK_ELLR;
    return 1;
}

/* 1 if the condition is "_col >= 0 and _col < num_cols", in this or the other order. */
static int keeps_inside(const tree_expr *e, const tree_symbol *col, const tree_symbol *num_cols)
{
    const tree_expr *low, *high;
    if (!is_op(e, TREE_AND)) return 0;
    low = is_op(e->a, TREE_GE) ? e->a : e->b;
    high = low == e->a ? e->b : e->a;
    return is_op(low, TREE_GE) && is_number(low->b, 0) && is_op(high, TREE_LT) && low->a->symbol == col && high->a->symbol == col
           && parameter(high->b) == num_cols;
}

/* dia: _col = _row + offset[d]. */
static int recognize_dia(pack *p, const tree_format *f, const tree_part *part, const tree_stmt *loop, const tree_symbol *row)
{
    const tree_shape *s = &part->shape;
    const tree_expr *col = s->col_let->kind == TREE_LET ? tree_behind(s->col_let->a) : NULL;
    const tree_stmt *condition;
    if (!p->count || !col || !is_op(col, TREE_ADD) || conditions(part, &condition) != 1) return 0;
    p->pointer = is_symbol(col->a, row) ? array_at(col->b, loop->symbol) : array_at(col->a, loop->symbol);
    if (!p->pointer || p->pointer->type != TREE_SIGNED_TYPE || !(is_symbol(col->a, row) || is_symbol(col->b, row))) return 0;
    if (!keeps_inside(condition->a, s->col_let->symbol, f->num_cols)) return 0;
    if (!takes_index(p, s->val_let->a->a, row, loop->symbol) || !p->apart) return 0;
    p->val = s->val_let->a->symbol;
    p->kind = PACK_DIA;
    return 1;
}

/* dense: _row * num_cols + _col. */
static int recognize_dense(pack *p, const tree_format *f, const tree_part *part, const tree_stmt *loop, const tree_symbol *row)
{
    const tree_stmt *condition;
    if (part->shape.col_let != loop || p->count != f->num_cols || conditions(part, &condition)) return 0;
    if (!takes_index(p, part->shape.val_let->a->a, row, loop->symbol) || p->apart) return 0;
    p->val = part->shape.val_let->a->symbol;
    p->kind = PACK_DENSE;
    return 1;
}

/* 1 if the arrays and parameters of the part are those that were recognized: a packer could not set any others. */
static int is_all(const pack *p, const tree_format *f, const tree_part *part)
{
    const tree_symbol *s;
    for (s = part->arrays; s; s = s->next)
        if (s != p->val && s != p->col && s != p->row && s != p->pointer && !s->absent) return 0;
    for (s = part->parameters; s; s = s->next)
        if (s->kind == TREE_PARAMETER && s != f->num_rows && s != f->num_cols && s != p->count && s != p->apart
            && strcmp(s->name, "num_nonzeros") != 0) return 0;
    return 1;
}

/* What stands against an access by rows that no function above recognizes. */
static const char *reason_against(const tree_format *f, const tree_part *part)
{
    const tree_shape *s = &part->shape;
    const tree_expr *col = s->col_let->kind == TREE_LET ? tree_behind(s->col_let->a) : NULL;
    const tree_stmt *condition;
    if (s->row_let->kind != TREE_FOR || counts_to(s->row_let) != f->num_rows) return "its rows are not simply those from 0 to num_rows - 1";
    if (col && col->kind != TREE_ELEMENT && !is_op(col, TREE_ADD)) return "its columns are worked out, not read from an array";
    if (conditions(part, &condition) > 1) return "more than one condition leaves entries out";
    return "its access is none of those in formats/README.md that have a packer";
}

/* Finds the kind of an access; without one, the reason is the first thing that stands against it. */
static pack recognize(const tree_format *f)
{
    const tree_part *part = f->part;
    const tree_shape *s = &part->shape;
    pack p;
    if (f->parts > 1) return no_pack("it has several parts, and does not say which part takes an entry");
    if (s->rows == TREE_ROWS_STRIP) return no_pack("the order of the entries of a strip is open");
    if (s->rows == TREE_ROWS_BLOCK) return no_pack("it stores blocks");
    if (s->rows == TREE_ROWS_ANY) p = recognize_coo(part);
    else {
        const tree_stmt *loop = s->slot_loops == 1 ? s->slot_loop[0] : NULL;
        const tree_symbol *row = s->row_let->symbol;
        p = no_pack("its rows are stored in slices");
        if (s->row_loops != 1) return p;
        p = no_pack("a row is not walked by exactly one loop");
        if (!loop || s->block_loops) return p;
        p = no_pack(reason_against(f, part));
        if (s->row_let->kind != TREE_FOR || counts_to(s->row_let) != f->num_rows) return p;
        p.count = counts_to(loop);
        if (!recognize_csr(&p, part, loop, row) && !recognize_ell(&p, part, loop, row) && !recognize_dia(&p, f, part, loop, row) &&
            !recognize_ellr(&p, part, loop, row))
            recognize_dense(&p, f, part, loop, row);
    }
    if (p.kind && !is_all(&p, f, part)) {
        p.kind = PACK_NONE;
        p.reason = "it has parameters or arrays whose values do not follow from the entries";
    }
    return p;
}

int emit_c_pack_walks_rows(const tree_format *f, const tree_stmt *loop) { return counts_to(loop) == f->num_rows; }

int emit_c_pack_fills(const tree_format *f)
{
    const pack_kind kind = recognize(f).kind;
    return kind == PACK_DENSE || kind == PACK_DIA;
}

const char *emit_c_pack_reason(const tree_format *f)
{
    const pack p = recognize(f);
    return p.kind ? NULL : p.reason;
}

/* ---- output ---- */

/* Writes text in which % stands for a member of m. */
static void put(const emit_c *e, const char *text, const tree_symbol *s)
{
    char part[2] = { 0, 0 };
    for (; *text; text++) {
        part[0] = *text;
        if (*text == '%') emit_c_member(e, s);
        else emit_text_put(&e->text, part);
    }
}

/* Writes the allocation of an array, with the number of elements as a C expression. */
static void put_new(const emit_c *e, const tree_symbol *s, const char *count)
{
    put(e, "    m->%.count = ", s);
    emit_text_put(&e->text, count);
    fprintf(e->text.out, ";\n    %s *const %s_ = (%s *)", emit_c_type(e, s), s->name, emit_c_type(e, s));
    put(e, e->library ? "@_new(&failed, m->%.count > most ? -1 : m->%.count, " : "@_new(&failed, m->%.count, ", s);
    fprintf(e->text.out, "sizeof(%s));\n", emit_c_type(e, s));
    fprintf(e->text.out, "    m->");
    emit_c_member(e, s);
    fprintf(e->text.out, ".data = %s_;\n", s->name);
}

/* The largest number of an array's type. */
static const char *most_of(const emit_c *e, const tree_symbol *s)
{
    switch (s->type) {
    case TREE_UINT8_TYPE: return "255";
    case TREE_UINT16_TYPE: return "65535";
    case TREE_SIGNED_TYPE: return "2147483647";
    default: return s->type == TREE_OFFSET_TYPE && e->offset_bits == 64 ? "@_most" : "4294967295";
    }
}

/* Writes the refusal of a matrix whose numbers, at most the C expression, do not fit an array; padding needs one number more. */
static void put_fits(const emit_c *e, const tree_symbol *s, const char *most)
{
    emit_text_put(&e->text, "    if ((");
    emit_text_put(&e->text, most);
    emit_text_put(&e->text, ") >= ");
    emit_text_put(&e->text, most_of(e, s));
    emit_text_put(&e->text, ") {\n        @_free(m);\n        return -2;\n    }\n");
}

static void put_parameter(const emit_c *e, const tree_symbol *s, const char *value)
{
    if (!s) return;
    put(e, "    m->% = ", s);
    emit_text_put(&e->text, value);
    emit_text_put(&e->text, ";\n");
}

static const char *const leave = "    if (failed) {\n        @_free(m);\n        return -1;\n    }\n";

static void put_store(const emit_c *e, const tree_symbol *s, const char *index, const char *value)
{
    fprintf(e->text.out, "%s_[%s] = (%s)%s;\n", s->name, index, emit_c_type(e, s), value);
}

static void put_dense(const emit_c *e, const pack *p)
{
    emit_text_put(&e->text, "    if (cols && rows > @_most / cols) {\n        @_free(m);\n        return -1;\n    }\n");
    put_new(e, p->val, "rows * cols");
    emit_text_put(&e->text, leave);
    emit_text_put(&e->text, "    for (r = 0; r < rows; r++)\n        for (i = ptr[r]; i < ptr[r + 1]; i++) ");
    put_store(e, p->val, "r * cols + col[i]", "val[i]");
}

/* The arrays of CSR are copied, with row pointers that begin at 0. */
static void put_csr(const emit_c *e, const pack *p)
{
    put_fits(e, p->pointer, "nnz");
    put_fits(e, p->col, "cols");
    put_new(e, p->val, "nnz");
    put_new(e, p->pointer, "rows + 1");
    put_new(e, p->col, "nnz");
    emit_text_put(&e->text, leave);
    emit_text_put(&e->text, "    for (r = 0; r <= rows; r++) ");
    put_store(e, p->pointer, "r", "(ptr[r] - ptr[0])");
    emit_text_put(&e->text, "    for (i = 0; i < nnz; i++) {\n        ");
    put_store(e, p->col, "i", "col[ptr[0] + i]");
    emit_text_put(&e->text, "        ");
    put_store(e, p->val, "i", "val[ptr[0] + i]");
    emit_text_put(&e->text, "    }\n");
}

/* Entries are stored by rows. */
static void put_coo(const emit_c *e, const pack *p)
{
    put_fits(e, p->row, "rows");
    put_fits(e, p->col, "cols");
    put_parameter(e, p->count, "nnz");
    put_new(e, p->val, "nnz");
    put_new(e, p->row, "nnz");
    put_new(e, p->col, "nnz");
    emit_text_put(&e->text, leave);
    emit_text_put(&e->text, "    for (r = 0; r < rows; r++)\n        for (i = ptr[r]; i < ptr[r + 1]; i++) {\n            ");
    put_store(e, p->row, "i - ptr[0]", "r");
    emit_text_put(&e->text, "            ");
    put_store(e, p->col, "i - ptr[0]", "col[i]");
    emit_text_put(&e->text, "            ");
    put_store(e, p->val, "i - ptr[0]", "val[i]");
    emit_text_put(&e->text, "        }\n");
}

/* The longest row gives the width; the slots of a row lie as many apart as there are rows, if they are not adjacent. Unused slots have
 * padding in the column, or there is an array of row lengths. */
static void put_ell(const emit_c *e, const pack *p)
{
    char pad[64];
    put_fits(e, p->col, "cols");
    emit_text_put(&e->text, "    for (r = 0; r < rows; r++) width = @_max(width, ptr[r + 1] - ptr[r]);\n"
                            "    if (width && rows > @_most / width) {\n        @_free(m);\n        return -1;\n    }\n");
    if (p->kind == PACK_ELLR) put_fits(e, p->pointer, "width");
    put_parameter(e, p->count, "width");
    put_parameter(e, p->apart, "rows");
    put_new(e, p->val, "width * rows");
    put_new(e, p->col, "width * rows");
    if (p->kind == PACK_ELLR) put_new(e, p->pointer, "rows");
    emit_text_put(&e->text, leave);
    snprintf(pad, sizeof pad, "%s", most_of(e, p->col));
    if (p->kind == PACK_ELLR) {
        emit_text_put(&e->text, "    for (r = 0; r < rows; r++) ");
        put_store(e, p->pointer, "r", "(ptr[r + 1] - ptr[r])");
    } else {
        emit_text_put(&e->text, "    for (i = 0; i < width * rows; i++) ");
        put_store(e, p->col, "i", pad);
    }
    emit_text_put(&e->text,
                  "    for (r = 0; r < rows; r++)\n        for (i = ptr[r]; i < ptr[r + 1]; i++) {\n            const int64_t slot = ");
    emit_text_put(&e->text, p->apart ? "(i - ptr[r]) * rows + r;\n            " : "r * width + i - ptr[r];\n            ");
    put_store(e, p->col, "slot", "col[i]");
    emit_text_put(&e->text, "            ");
    put_store(e, p->val, "slot", "val[i]");
    emit_text_put(&e->text, "        }\n");
}

/* The number of each diagonal is found by a table over all diagonals that the matrix could have. */
static void put_dia(const emit_c *e, const pack *p)
{
    put_fits(e, p->pointer, "rows");
    put_fits(e, p->pointer, "cols");
    emit_text_put(&e->text,
        "    int64_t *const number = (int64_t *)@_new(&failed, rows + cols, sizeof *number); /* of diagonal d, at d + rows */\n"
        "    int64_t d;\n"
        "    if (failed) {\n        @_free(m);\n        return -1;\n    }\n"
        "    for (r = 0; r < rows; r++)\n        for (i = ptr[r]; i < ptr[r + 1]; i++) number[col[i] - r + rows] = 1;\n"
        "    for (d = 0; d < rows + cols; d++) width += number[d];\n"
        "    if (width && rows > @_most / width) {\n        free(number);\n        @_free(m);\n        return -1;\n    }\n");
    put_parameter(e, p->count, "width");
    put_parameter(e, p->apart, "rows");
    put_new(e, p->val, "width * rows");
    put_new(e, p->pointer, "width");
    emit_text_put(&e->text, "    if (failed) {\n        free(number);\n        @_free(m);\n        return -1;\n    }\n"
                            "    for (i = d = 0; d < rows + cols; d++) {\n        if (!number[d]) continue;\n        ");
    put_store(e, p->pointer, "i", "(d - rows)");
    emit_text_put(&e->text, "        number[d] = i++;\n    }\n"
                            "    for (r = 0; r < rows; r++)\n        for (i = ptr[r]; i < ptr[r + 1]; i++) ");
    put_store(e, p->val, "number[col[i] - r + rows] * rows + r", "val[i]");
    emit_text_put(&e->text, "    free(number);\n");
}

/* Writes the function that frees what the packer allocated. */
static void put_free(const emit_c *e)
{
    const tree_symbol *s;
    emit_text_put(&e->text,
                  "\n/* Frees the arrays of a matrix that @_pack made, and zeroes it. */\nstatic inline void @_free(@_matrix *m)\n{\n");
    for (s = e->f->part->arrays; s; s = s->next)
        if (!s->absent) put(e, "    free((void *)(uintptr_t)m->%.data);\n", s);
    emit_text_put(&e->text, "    memset(m, 0, sizeof *m);\n}\n");
}

/* Writes the packer's head: its comment, name and arguments. */
static void put_head(const emit_c *e)
{
    static const char *const what =
        "\n/* Stores a CSR matrix, whose columns rise in each row. m need not be initialised; @_free frees its arrays.\n";
    static const char *const what_by_hand =
        "\n/* You write this function, behind the inclusion of spmv.h with SPMV_IMPLEMENTATION. It stores a CSR matrix, whose columns\n"
        " * rise in each row: it sets every parameter, and data and count of every array, which it allocates by @_new (zeroed).\n"
        " * Values are copied unchanged, and slots without an entry stay 0. m is zeroed before the call.\n";
    static const char *const returns =
        " * Returns 0; -1 if memory is short, -2 if a number does not fit its array, and m is then zeroed. */\n";
    static const char *const returns_by_hand =
        " * Returns 0, or, after @_free(m), -1 if memory is short or an array would have more elements than most, -2 if a number\n"
        " * does not fit its array. The library checks the result. */\n";
    static const char *const arguments =
        "int @_pack(@_matrix *m, int64_t rows, int64_t cols, const int64_t *ptr, const int64_t *col, const $ *val";
    emit_text_put(&e->text, e->by_hand ? what_by_hand : what);
    if (e->library) emit_text_put(&e->text, " * most limits the elements of an array.\n");
    emit_text_put(&e->text, e->by_hand ? returns_by_hand : returns);
    if (!e->by_hand) emit_text_put(&e->text, "static inline ");
    emit_text_put(&e->text, arguments);
    if (e->library) emit_text_put(&e->text, e->by_hand ? ", int64_t most" : ",\n                         int64_t most");
    emit_text_put(&e->text, e->by_hand ? ");\n" : ")\n{\n");
}

/* Writes the packer, or its declaration, and before it what allocates and frees its arrays. */
void emit_c_pack(const emit_c *e)
{
    const pack p = recognize(e->f);
    const tree_symbol *s;
    emit_text_put(&e->text,
        "\n/* ---- the packer ---- */\n\n"
        "/* Allocates zeroed memory for count elements, at least one; sets *failed if there is none. */\n"
        "static inline void *@_new(int *failed, int64_t count, size_t size)\n{\n"
        "    void *p = (uint64_t)count < SIZE_MAX / 16 / size ? calloc(count ? (size_t)count : 1, size) : NULL;\n"
        "    if (!p) *failed = 1;\n    return p;\n}\n");
    put_free(e);
    put_head(e);
    if (e->by_hand) return;
    emit_text_put(&e->text,
        "    const int64_t nnz = ptr[rows] - ptr[0];\n"
        "    int64_t r, i, width = 0;\n"
        "    int failed = 0;\n"
        "    (void)r;\n    (void)nnz;\n    (void)width;\n"
        "    memset(m, 0, sizeof *m);\n");
    for (s = e->f->part->parameters; s; s = s->next)
        if (s->kind == TREE_PARAMETER && !strcmp(s->name, "num_nonzeros")) put_parameter(e, s, "nnz");
    put_parameter(e, e->f->num_rows, "rows");
    put_parameter(e, e->f->num_cols, "cols");
    switch (p.kind) {
    case PACK_DENSE: put_dense(e, &p); break;
    case PACK_CSR: put_csr(e, &p); break;
    case PACK_COO: put_coo(e, &p); break;
    case PACK_ELL:
    case PACK_ELLR: put_ell(e, &p); break;
    case PACK_DIA: put_dia(e, &p); break;
    case PACK_NONE: break;
    }
    emit_text_put(&e->text, "    return 0;\n}\n");
}
