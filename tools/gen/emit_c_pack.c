/* SPDX-License-Identifier: MIT
 *
 * tools/gen/emit_c_pack.c - writes the packer from CSR. An access says how stored entries are found; a packer must say where to store
 * them, which follows only if each entry has one obvious place. These kinds of accesses are recognized:
 *   dense   _row and _col are loop variables, and all elements are stored
 *   coo     one loop over entries, with row, column and value at its variable
 *   ellr    a loop up to length[_row] - 1, with column and value at an index made of _row and the variable; the arrays have
 *           width * apart elements
 *   dia     a loop over diagonals, with _col = _row + offset[d]; or two, over bands of diagonals
 *   tiles   lists of entries or blocks, one for each row, block row, or such of a slice: csr, ell, sell, bcsr, bell, sbell. They are as
 *           long as a pointer array or a width says; their slots may be anywhere, as long as no two are in one place
 *   strip   a list for several rows, with the row within the strip beside the column or in its lowest bits
 */
#include "tools/gen/cl_expr.h"
#include "tools/gen/emit_c.h"

#include <stdlib.h>
#include <string.h>

typedef enum pack_kind { PACK_NONE, PACK_DENSE, PACK_COO, PACK_ELLR, PACK_DIA, PACK_TILES, PACK_STRIP } pack_kind;

/* What was recognized. Members that the kind does not use are NULL. */
typedef struct pack {
    pack_kind kind;
    const char *reason;         /* why there is none */
    const tree_symbol *val, *col, *row; /* arrays of values, columns and rows */
    const tree_symbol *pointer; /* dia: the array of offsets; ellr: that of row lengths; tiles, strip: that of pointers, or NULL */
    const tree_symbol *count;   /* the parameter that counts entries (coo), slots of a list (ellr, tiles), diagonals or bands (dia) */
    const tree_symbol *apart;   /* the parameter by which slots of one list lie apart; with pointers: the number of all slots; or NULL */
    const tree_symbol *band;    /* dia: the array of the bands' first diagonals, or NULL */
    /* tiles and strip */
    int64_t rows, columns, slice;  /* of a block or strip; the lists that a slice has */
    const tree_symbol *slices;     /* the parameter that counts slices; NULL: their number follows from num_rows */
    const tree_expr *col_at, *val_at; /* the indices of a slot's column, and of a value */
    int padded;                    /* 1: lists have slots without an entry */
    const tree_symbol *base;       /* the array of bases, to which columns times scale are added, or NULL; index base_at */
    const tree_expr *base_at;
    int64_t scale;
    const tree_expr *within;       /* strip: the row within it ... */
    int shift;                     /* ... which is in so many lowest bits of the column; 0: in the array row */
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

/* The n of a loop over [0 : n - 1], or NULL. */
static const tree_expr *up_to(const tree_stmt *loop)
{
    const tree_expr *b = tree_behind(loop->b);
    return is_number(tree_behind(loop->a), 0) && is_op(b, TREE_SUB) && is_number(b->b, 1) ? tree_behind(b->a) : NULL;
}

/* The parameter n of a loop over [0 : n - 1], or NULL. */
static const tree_symbol *counts_to(const tree_stmt *loop) { return up_to(loop) ? parameter(up_to(loop)) : NULL; }

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

/* The array that loop b from array[s] to array[s + 1] - 1 reads, or one like it that ends with - 0; NULL: it is no such loop. */
static const tree_symbol *between(const tree_expr *from, const tree_expr *next, const tree_symbol *s)
{
    const tree_symbol *array = array_at(from, s);
    const tree_expr *index;
    next = tree_behind(next);
    if (!array || next->kind != TREE_ELEMENT || next->symbol != array) return NULL;
    index = tree_behind(next->a);
    return is_op(index, TREE_ADD) && is_symbol(index->a, s) && is_number(index->b, 1) ? array : NULL;
}

/* The array of a loop from array[s] to array[s + 1] - 1, or NULL. */
static const tree_symbol *runs_between(const tree_stmt *loop, const tree_symbol *s)
{
    const tree_expr *b = tree_behind(loop->b);
    return is_op(b, TREE_SUB) && is_number(b->b, 1) ? between(loop->a, b->a, s) : NULL;
}

/* dia with bands: _col = _row + offset[b] + d - band[b], as tried with numbers. */
static int recognize_bands(pack *p, const tree_format *f, const tree_part *part, const tree_symbol *row)
{
    static const int64_t first[] = {0, 2, 5}, offset[] = {-3, 4};
    const tree_shape *s = &part->shape;
    const tree_symbol *b = s->slot_loop[0]->symbol, *d = s->slot_loop[1]->symbol, *a;
    const tree_stmt *condition;
    cl_point at = {0};
    p->count = counts_to(s->slot_loop[0]);
    p->band = runs_between(s->slot_loop[1], b);
    if (!p->count || !p->band || s->col_let->kind != TREE_LET || conditions(part, &condition) != 1) return 0;
    if (!keeps_inside(condition->a, s->col_let->symbol, f->num_cols) || !takes_index(p, s->val_let->a->a, row, d) || !p->apart) return 0;
    p->val = s->val_let->a->symbol;
    for (a = part->arrays; a; a = a->next)
        if (a->type == TREE_SIGNED_TYPE) p->pointer = a;
    if (!p->pointer) return 0;
    at.given[0].array = p->band, at.given[0].element = first, at.given[0].count = 3;
    at.given[1].array = p->pointer, at.given[1].element = offset, at.given[1].count = 2;
    at.set[0].symbol = row, at.set[1].symbol = b, at.set[2].symbol = d, at.count = 3;
    for (at.set[0].value = 0; at.set[0].value < 4; at.set[0].value++)
        for (at.set[1].value = 0; at.set[1].value < 2; at.set[1].value++)
            for (at.set[2].value = first[at.set[1].value]; at.set[2].value < first[at.set[1].value + 1]; at.set[2].value++)
                if (cl_value(s->col_let->a, &at)
                    != at.set[0].value + offset[at.set[1].value] + at.set[2].value - first[at.set[1].value]) return 0;
    p->kind = PACK_DIA;
    return 1;
}

/* ---- tiles and strips: what the loops and the column are ---- */

static const tree_symbol *block_columns(const tree_shape *s)
{
    int i;
    for (i = 0; i < s->block_loops; i++)
        if (s->block_loop[i] != s->block_row_loop) return s->block_loop[i]->symbol;
    return NULL;
}

/* The loops: over slices, their lists, the slots of a list, and the rows and columns of a block. */
static int takes_loops(pack *p, const tree_format *f, const tree_part *part)
{
    const tree_shape *s = &part->shape;
    const tree_symbol *columns = block_columns(s);
    int i;
    if (s->row_loops < 1 || s->row_loops > 2 || s->slot_loops != 1 || s->block_loops != !!columns + !!s->block_row_loop) return 0;
    for (i = 0; i < s->block_loops; i++)
        if (!is_number(s->block_loop[i]->a, 0)) return 0;
    p->rows = s->height;
    p->columns = columns ? columns->loop->trip : 1;
    p->slice = s->row_loops == 2 ? s->row_loop[1]->trip : 1;
    if (p->slice < 1 || (s->row_loops == 2 && !is_number(s->row_loop[1]->a, 0)) || !up_to(s->row_loop[0])) return 0;
    p->slices = counts_to(s->row_loop[0]);
    if (p->slices == f->num_rows) p->slices = NULL;
    return 1;
}

/* The length of a list: a parameter, or from pointers, those of the slice divided by the lists that it has. */
static int takes_length(pack *p, const tree_part *part)
{
    const tree_shape *s = &part->shape;
    const tree_symbol *slice = s->row_loop[0]->symbol;
    const tree_expr *n = up_to(s->slot_loop[0]);
    p->count = n ? parameter(n) : NULL;
    if (p->count) return p->slice == 1 && p->count != p->slices;
    p->pointer = runs_between(s->slot_loop[0], slice);
    if (p->pointer || !n) return p->pointer && p->slice == 1;
    if (is_op(n, TREE_DIV) && is_number(n->b, p->slice)) n = tree_behind(n->a);
    else if (p->slice > 1) return 0;
    p->pointer = is_op(n, TREE_SUB) ? between(n->b, n->a, slice) : NULL;
    return p->pointer != NULL;
}

/* The column: col[slot] * scale + base[...] + the column within the block, of which this adds up what it finds in e. */
static int takes_column(pack *p, const tree_expr *e, const tree_symbol *slot, const tree_symbol *within, int *withins)
{
    int64_t scale = 1;
    e = tree_behind(e);
    if (is_op(e, TREE_ADD)) return takes_column(p, e->a, slot, within, withins) && takes_column(p, e->b, slot, within, withins);
    if (e->kind == TREE_NAME && e->symbol == within) return !(*withins)++;
    if (is_op(e, TREE_MUL) && e->b->kind == TREE_NUMBER) {
        scale = e->b->number;
        e = tree_behind(e->a);
    }
    if (e->kind != TREE_ELEMENT || tree_type_signed(e->symbol->type)) return 0;
    if (!tree_depends(e->a, slot)) {
        if (p->base || scale != 1) return 0;
        p->base = e->symbol;
        p->base_at = e->a;
        return 1;
    }
    if (p->col || (scale != 1 && scale != p->columns)) return 0;
    p->col = e->symbol;
    p->col_at = e->a;
    p->scale = scale;
    return 1;
}

enum { KEEPS_PAD = 1, KEEPS_ROWS = 2, KEEPS_COLUMNS = 4 };

/* What a condition leaves out, as a set of these; -1: something else. */
static int keeps(const pack *p, const tree_format *f, const tree_shape *s, const tree_expr *e)
{
    int a, b;
    if (is_op(e, TREE_AND)) {
        a = keeps(p, f, s, e->a);
        b = keeps(p, f, s, e->b);
        return a < 0 || b < 0 ? -1 : a | b;
    }
    if (is_op(e, TREE_NE) && e->b->kind == TREE_PAD && e->b->symbol == p->col) {
        e = tree_behind(e->a);
        return e->kind == TREE_ELEMENT && e->symbol == p->col && cl_same(e->a, p->col_at) ? KEEPS_PAD : -1;
    }
    if (!is_op(e, TREE_LT) || e->a->kind != TREE_NAME) return -1;
    if (e->a->symbol == s->row_let->symbol && parameter(e->b) == f->num_rows) return KEEPS_ROWS;
    return e->a->symbol == s->col_let->symbol && parameter(e->b) == f->num_cols ? KEEPS_COLUMNS : -1;
}

/* The conditions must leave out the padding of lists that are as long as the longest, and what blocks have beyond the matrix. */
static int takes_conditions(pack *p, const tree_format *f, const tree_part *part)
{
    const tree_stmt *s;
    int kept = 0, more;
    for (s = part->shape.val_let->parent; s; s = s->parent) {
        if (s->kind != TREE_IF) continue;
        more = keeps(p, f, &part->shape, s->a);
        if (more < 0) return 0;
        kept |= more;
    }
    p->padded = p->count || up_to(part->shape.slot_loop[0]);
    return (kept & KEEPS_PAD || !p->padded) && (p->rows == 1 || kept & KEEPS_ROWS) &&
           (p->columns == 1 || kept & KEEPS_COLUMNS);
}

/* ---- tiles and strips: the description on a small matrix ---- */

typedef struct model {
    const pack *p;
    const tree_part *part;
    cl_point at;
    int64_t lists, slots;
    unsigned char *seen[2]; /* places of columns and of values that were met */
    int64_t places[2];
} model;

static int64_t *set_symbol(model *m, const tree_symbol *s, int64_t value)
{
    m->at.set[m->at.count].symbol = s;
    m->at.set[m->at.count].value = value;
    return &m->at.set[m->at.count++].value;
}

/* 1 if the index is a place of the array that was not met before. */
static int is_new(model *m, int which, const tree_expr *index)
{
    const int64_t i = cl_value(index, &m->at);
    if (i < 0 || i >= m->places[which] || m->seen[which][i]) return 0;
    m->seen[which][i] = 1;
    return 1;
}

/* 1 if each row and column of the block at hand has a place of its own, and the right row. */
static int block_holds(model *m, int64_t first_row)
{
    const tree_shape *s = &m->part->shape;
    const int before = m->at.count;
    int64_t *r = set_symbol(m, s->block_row_loop ? s->block_row_loop->symbol : NULL, 0), *c = set_symbol(m, block_columns(s), 0);
    const int strip = s->within != NULL;
    int good = 1;
    for (*r = 0; good && *r < (strip ? 1 : m->p->rows); ++*r)
        for (*c = 0; good && *c < m->p->columns; ++*c)
            good = is_new(m, 1, s->val_let->a->a) &&
                   (s->row_let->kind != TREE_LET ||
                    cl_value(s->row_let->a, &m->at) == first_row + (strip ? cl_value(m->p->within, &m->at) : *r));
    m->at.count = before;
    return good;
}

/* 1 if the lists of the model have the right lengths, and all their slots places of their own. */
static int lists_hold(model *m, const int64_t *pointer)
{
    const tree_shape *s = &m->part->shape;
    const int64_t slice = m->p->slice;
    int64_t *const outer = set_symbol(m, s->row_loop[0]->symbol, 0);
    int64_t *const inner = set_symbol(m, s->row_loops == 2 ? s->row_loop[1]->symbol : NULL, 0);
    int64_t *const slot = set_symbol(m, s->slot_loop[0]->symbol, 0);
    int64_t i, k;
    for (i = 0; i < m->lists; i++) {
        *outer = i / slice;
        *inner = i % slice;
        const int64_t first = cl_value(s->slot_loop[0]->a, &m->at), n = cl_value(s->slot_loop[0]->b, &m->at) + 1 - first;
        if (n != (m->p->count ? m->slots / m->lists : (pointer[*outer + 1] - pointer[*outer]) / slice)) return 0;
        if (s->within && cl_value(s->within->a, &m->at) != i * m->p->rows) return 0;
        if (m->p->base && (cl_value(m->p->base_at, &m->at) < 0 ||
                           cl_value(m->p->base_at, &m->at) >= cl_value(m->p->base->size, &m->at))) return 0;
        for (k = 0; k < n; k++) {
            *slot = first + k;
            if (!is_new(m, 0, m->p->col_at) || !block_holds(m, i * m->p->rows)) return 0;
        }
    }
    return 1;
}

/* 1 if the description means on a small matrix what the packer takes it to mean; its numbers are made from number. */
static int model_holds(const pack *p, const tree_format *f, const tree_part *part, unsigned number)
{
    enum { MOST = 1 << 22 };
    const int64_t width = 2 + (number & 1), slices = 3;
    int64_t pointer[4] = {0, width * p->slice, width * p->slice, (2 * width + 1) * p->slice};
    const tree_symbol *q;
    model m = {0};
    int good;
    m.p = p;
    m.part = part;
    m.at.number = number;
    m.lists = 2 * p->slice + 1;
    m.slots = p->count ? width * m.lists : pointer[slices];
    m.at.given[0].array = p->pointer, m.at.given[0].element = pointer, m.at.given[0].count = slices + 1;
    set_symbol(&m, f->num_rows, m.lists * p->rows - (p->rows > 1));
    set_symbol(&m, f->num_cols, 1000);
    set_symbol(&m, p->slices, slices);
    set_symbol(&m, p->count, width);
    set_symbol(&m, p->apart, p->count ? m.lists : m.slots);
    for (q = part->parameters; q; q = q->next) /* there are as many slots as entries in lists without blocks and padding */
        if (!strcmp(q->name, "num_nonzeros") && p->pointer && p->slice == 1 && p->columns == 1 && (p->rows == 1 || p->within))
            set_symbol(&m, q, m.slots);
    m.places[0] = cl_value(p->col->size, &m.at);
    m.places[1] = cl_value(p->val->size, &m.at);
    if (m.places[0] < 1 || m.places[1] < 1 || m.places[0] > MOST || m.places[1] > MOST) return 0;
    m.seen[0] = (unsigned char *)calloc((size_t)m.places[0], 1);
    m.seen[1] = (unsigned char *)calloc((size_t)m.places[1], 1);
    good = m.seen[0] && m.seen[1] && cl_value(up_to(part->shape.row_loop[0]), &m.at) == slices &&
           (!p->pointer || cl_value(p->pointer->size, &m.at) == slices + 1) && lists_hold(&m, pointer);
    free(m.seen[0]);
    free(m.seen[1]);
    return good;
}

/* The parameter that is left: what lies between the slots of a list, or the number of all. Returns 0 if there are more. */
static int takes_rest(pack *p, const tree_format *f, const tree_part *part)
{
    const tree_symbol *s;
    for (s = part->parameters; s; s = s->next) {
        if (s->kind != TREE_PARAMETER || s == f->num_rows || s == f->num_cols || s == p->slices || s == p->count ||
            !strcmp(s->name, "num_nonzeros")) continue;
        if (p->apart) return 0;
        p->apart = s;
    }
    return 1;
}

static int recognize_tiles(pack *p, const tree_format *f, const tree_part *part)
{
    const tree_shape *s = &part->shape;
    int withins = 0;
    if (s->col_let->kind != TREE_LET || !takes_loops(p, f, part) || !takes_length(p, part)) return 0;
    if (!takes_column(p, s->col_let->a, s->slot_loop[0]->symbol, block_columns(s), &withins) || !p->col) return 0;
    if (withins != (block_columns(s) != NULL) || !takes_conditions(p, f, part) || !takes_rest(p, f, part)) return 0;
    p->val = s->val_let->a->symbol;
    p->val_at = s->val_let->a->a;
    p->kind = PACK_TILES;
    return model_holds(p, f, part, 0) && model_holds(p, f, part, 1);
}

/* strip: the row within it is row[i], or the lowest bits of col[i]. */
static int recognize_strip(pack *p, const tree_format *f, const tree_part *part)
{
    const tree_shape *s = &part->shape;
    const tree_symbol *i = s->slot_loops == 1 ? s->slot_loop[0]->symbol : NULL;
    const tree_expr *row = s->row_let->kind == TREE_LET ? tree_behind(s->row_let->a) : NULL, *col;
    const tree_stmt *condition;
    if (!i || !row || !is_op(row, TREE_ADD) || s->col_let->kind != TREE_LET || conditions(part, &condition)) return 0;
    if (!takes_loops(p, f, part) || !takes_length(p, part) || !p->pointer || p->slice != 1 || !takes_rest(p, f, part)) return 0;
    p->within = tree_behind(tree_depends(row->a, i) ? row->a : row->b);
    col = tree_behind(s->col_let->a);
    if (is_op(col, TREE_SHR) && is_op(p->within, TREE_MASK) && col->b->kind == TREE_NUMBER && p->within->b->kind == TREE_NUMBER) {
        p->shift = (int)col->b->number;
        if (p->shift < 1 || p->shift > 30 || p->within->b->number != (1 << p->shift) - 1 || p->rows > 1 << p->shift) return 0;
        p->col = array_at(col->a, i);
        if (array_at(p->within->a, i) != p->col) return 0;
    } else {
        p->col = array_at(col, i);
        p->row = array_at(p->within, i);
        if (!p->row || p->row == p->col) return 0;
    }
    p->val = array_at(s->val_let->a, i);
    if (!p->col || !p->val) return 0;
    p->col_at = s->val_let->a->a;
    p->kind = PACK_STRIP;
    return model_holds(p, f, part, 0) && model_holds(p, f, part, 1);
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
        if (s != p->val && s != p->col && s != p->row && s != p->pointer && s != p->base && s != p->band && !s->absent) return 0;
    for (s = part->parameters; s; s = s->next)
        if (s->kind == TREE_PARAMETER && s != f->num_rows && s != f->num_cols && s != p->count && s != p->apart
            && s != p->slices && strcmp(s->name, "num_nonzeros") != 0) return 0;
    return 1;
}

/* What stands against an access by rows that no function above recognizes. */
static const char *reason_against(const tree_format *f, const tree_part *part)
{
    const tree_shape *s = &part->shape;
    const tree_expr *col = s->col_let->kind == TREE_LET ? tree_behind(s->col_let->a) : NULL;
    if (s->varying) return "the description leaves open how many rows each slice has";
    if (s->row_loops == 1 && !s->block_row_loop && (s->row_let->kind != TREE_FOR || counts_to(s->row_let) != f->num_rows))
        return "its rows are not simply those from 0 to num_rows - 1";
    if (col && is_op(col, TREE_SUB)) return "its columns are worked out in a way that is not known";
    return "its access is none of those in formats/README.md that have a packer";
}

/* Tries what rows of their own may be. */
static pack recognize_rows(const tree_format *f)
{
    const tree_part *part = f->part;
    const tree_shape *s = &part->shape;
    const tree_symbol *row = s->row_let->symbol;
    const pack none = no_pack(reason_against(f, part));
    pack p = none;
    if (recognize_tiles(&p, f, part)) return p;
    if (s->row_loops != 1 || s->block_loops || s->row_let->kind != TREE_FOR || counts_to(s->row_let) != f->num_rows) return none;
    p = none;
    if (s->slot_loops == 2 && recognize_bands(&p, f, part, row)) return p;
    if (s->slot_loops != 1) return none;
    p = none;
    p.count = counts_to(s->slot_loop[0]);
    if (recognize_dia(&p, f, part, s->slot_loop[0], row) || recognize_ellr(&p, part, s->slot_loop[0], row) ||
        recognize_dense(&p, f, part, s->slot_loop[0], row)) return p;
    return none;
}

/* Finds the kind of an access; without one, the reason is the first thing that stands against it. */
static pack recognize(const tree_format *f)
{
    const tree_part *part = f->part;
    pack p = no_pack("the rows of a strip's entries are not where a packer could put them");
    if (f->parts > 1) return no_pack("it has several parts, and does not say which part takes an entry");
    if (part->shape.rows == TREE_ROWS_ANY) p = recognize_coo(part);
    else if (part->shape.rows != TREE_ROWS_STRIP) p = recognize_rows(f);
    else if (!recognize_strip(&p, f, part)) p.kind = PACK_NONE;
    if (p.kind && !is_all(&p, f, part)) return no_pack("it has parameters or arrays whose values do not follow from the entries");
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

/* Writes the allocation of an array, with the number of elements as a C expression; NULL: as the description says. */
static void put_new(const emit_c *e, const tree_symbol *s, const char *count)
{
    put(e, "    m->%.count = ", s);
    if (count) emit_text_put(&e->text, count);
    else emit_c_followed(e, s->size);
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

/* Writes the refusal of a matrix whose numbers, at most the C expression, do not fit an array; padding needs one number more. Each line
 * begins with in. */
static void put_fits_in(const emit_c *e, const char *in, const tree_symbol *s, const char *most)
{
    fprintf(e->text.out, "%sif ((", in);
    emit_text_put(&e->text, most);
    emit_text_put(&e->text, ") >= ");
    emit_text_put(&e->text, most_of(e, s));
    fprintf(e->text.out, ") {\n%s    ", in);
    emit_text_put(&e->text, "@_free(m);\n");
    fprintf(e->text.out, "%s    return -2;\n%s}\n", in, in);
}

static void put_fits(const emit_c *e, const tree_symbol *s, const char *most) { put_fits_in(e, "    ", s, most); }

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
    fprintf(e->text.out, "%s_[%s] = (%s)", s->name, index, emit_c_type(e, s));
    emit_text_put(&e->text, value);
    emit_text_put(&e->text, ";\n");
}

static void put_dense(const emit_c *e, const pack *p)
{
    emit_text_put(&e->text, "    if (cols && rows > @_most / cols) {\n        @_free(m);\n        return -1;\n    }\n");
    put_new(e, p->val, "rows * cols");
    emit_text_put(&e->text, leave);
    emit_text_put(&e->text, "    for (r = 0; r < rows; r++)\n        for (i = ptr[r]; i < ptr[r + 1]; i++) ");
    put_store(e, p->val, "r * cols + col[i]", "val[i]");
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

/* The longest row gives the width; the slots of a row lie as many apart as there are rows. */
static void put_ellr(const emit_c *e, const pack *p)
{
    put_fits(e, p->col, "cols");
    emit_text_put(&e->text, "    for (r = 0; r < rows; r++) width = @_max(width, ptr[r + 1] - ptr[r]);\n"
                            "    if (width && rows > @_most / width) {\n        @_free(m);\n        return -1;\n    }\n");
    put_fits(e, p->pointer, "width");
    put_parameter(e, p->count, "width");
    put_parameter(e, p->apart, "rows");
    put_new(e, p->val, "width * rows");
    put_new(e, p->col, "width * rows");
    put_new(e, p->pointer, "rows");
    emit_text_put(&e->text, leave);
    emit_text_put(&e->text, "    for (r = 0; r < rows; r++) ");
    put_store(e, p->pointer, "r", "(ptr[r + 1] - ptr[r])");
    emit_text_put(&e->text,
                  "    for (r = 0; r < rows; r++)\n        for (i = ptr[r]; i < ptr[r + 1]; i++) {\n"
                  "            const int64_t slot = (i - ptr[r]) * rows + r;\n            ");
    put_store(e, p->col, "slot", "col[i]");
    emit_text_put(&e->text, "            ");
    put_store(e, p->val, "slot", "val[i]");
    emit_text_put(&e->text, "        }\n");
}

/* The number of each diagonal, from 1 on, is found by a table over all diagonals that the matrix could have. */
static void put_dia(const emit_c *e, const pack *p)
{
    const char *bands = p->band ? "runs" : "width";
    put_fits(e, p->pointer, "rows");
    put_fits(e, p->pointer, "cols");
    emit_text_put(&e->text,
        "    int64_t *const number = (int64_t *)@_new(&failed, rows + cols, sizeof *number); /* of diagonal d, at d + rows */\n"
        "    int64_t d, runs = 0;\n"
        "    if (failed) {\n        @_free(m);\n        return -1;\n    }\n"
        "    for (r = 0; r < rows; r++)\n        for (i = ptr[r]; i < ptr[r + 1]; i++) number[col[i] - r + rows] = 1;\n"
        "    for (d = 0; d < rows + cols; d++) {\n        width += number[d];\n        runs += number[d] && !(d && number[d - 1]);\n    }\n"
        "    if (width && rows > @_most / width) {\n        free(number);\n        @_free(m);\n        return -1;\n    }\n");
    put_parameter(e, p->count, bands);
    put_parameter(e, p->apart, "rows");
    put_new(e, p->val, "width * rows");
    put_new(e, p->pointer, bands);
    if (p->band) put_new(e, p->band, "runs + 1");
    emit_text_put(&e->text, "    if (failed) {\n        free(number);\n        @_free(m);\n        return -1;\n    }\n"
                            "    for (i = runs = d = 0; d < rows + cols; d++) {\n        if (!number[d]) continue;\n        ");
    if (p->band) {
        emit_text_put(&e->text, "if (!(d && number[d - 1])) {\n            ");
        put_store(e, p->band, "runs", "i");
        emit_text_put(&e->text, "            ");
        put_store(e, p->pointer, "runs++", "(d - rows)");
        emit_text_put(&e->text, "        }\n        ");
    } else put_store(e, p->pointer, "i", "(d - rows)"), emit_text_put(&e->text, "        ");
    emit_text_put(&e->text, "number[d] = ++i;\n    }\n    ");
    if (p->band) put_store(e, p->band, "runs", "i"), emit_text_put(&e->text, "    ");
    emit_text_put(&e->text, "for (r = 0; r < rows; r++)\n        for (i = ptr[r]; i < ptr[r + 1]; i++) ");
    put_store(e, p->val, "(number[col[i] - r + rows] - 1) * rows + r", "val[i]");
    emit_text_put(&e->text, "    free(number);\n");
}

/* ---- tiles and strips ---- */

/* Writes the declaration of a loop's variable, if there is one and one of up to three indices reads it. */
static void put_variable(const emit_c *e, const char *in, const tree_symbol *s, const char *value, const tree_expr *const *index)
{
    int i, read = 0;
    for (i = 0; s && i < 3; i++) read |= index[i] && tree_depends(index[i], s);
    if (!read) return;
    fprintf(e->text.out, "%sconst int64_t ", in);
    emit_c_local(e, s);
    fprintf(e->text.out, " = %s;\n", value);
}

/* Writes "array_[index]", with the index that the description has. */
static void put_element(const emit_c *e, const tree_symbol *array, const tree_expr *index)
{
    fprintf(e->text.out, "%s_[", array->name);
    emit_c_followed(e, index);
    emit_text_put(&e->text, "]");
}

static const char *const block_functions =
    "\n/* The column, in blocks, of the first of the entries at[0], at[1] ... of the rows; -1: there are none left. */\n"
    "static inline int64_t @_block(const int64_t *ptr, const int64_t *col, int64_t rows, int64_t columns, const int64_t *at)\n{\n"
    "    int64_t r, first = -1;\n"
    "    for (r = 0; r < rows; r++)\n"
    "        if (at[r] < ptr[r + 1] && (first < 0 || col[at[r]] / columns < first)) first = col[at[r]] / columns;\n"
    "    return first;\n}\n"
    "\n/* The blocks that the rows have together. */\n"
    "static inline int64_t @_blocks(const int64_t *ptr, const int64_t *col, int64_t rows, int64_t columns, int64_t *at)\n{\n"
    "    int64_t r, n = 0, c;\n"
    "    for (r = 0; r < rows; r++) at[r] = ptr[r];\n"
    "    for (; (c = @_block(ptr, col, rows, columns, at)) >= 0; n++)\n"
    "        for (r = 0; r < rows; r++)\n"
    "            while (at[r] < ptr[r + 1] && col[at[r]] / columns == c) at[r]++;\n"
    "    return n;\n}\n";

/* The head of a loop over the lists. */
static const char *const each_list =
    "    for (i = 0; i < lists; i++) {\n"
    "        const int64_t *const own = ptr + i * block_rows, count = @_min(block_rows, rows - i * block_rows);\n";

/* The lengths of lists: the longest of all, or of each slice, of which the pointers are sums. */
static void put_lengths(const emit_c *e, const pack *p)
{
    if (p->pointer) {
        put_new(e, p->pointer, NULL);
        emit_text_put(&e->text, leave);
    }
    emit_text_put(&e->text, each_list);
    emit_text_put(&e->text, "        const int64_t n = @_blocks(own, col, count, block_columns, at);\n");
    if (!p->pointer) {
        emit_text_put(&e->text, "        width = @_max(width, n);\n    }\n"
            "    if (width && lists > @_most / block_rows / block_columns / width) {\n        @_free(m);\n        return -1;\n    }\n");
        put_parameter(e, p->count, "width");
        put_parameter(e, p->apart, "lists");
        return;
    }
    emit_text_put(&e->text, "        width = i % slice ? @_max(width, n) : n;\n"
        "        if ((i + 1) % slice && i + 1 < lists) continue;\n"
        "        if (width > (@_most / block_rows / block_columns - slots) / slice) {\n            @_free(m);\n            return -1;\n"
        "        }\n        slots += width * slice;\n");
    put_fits_in(e, "        ", p->pointer, "slots");
    emit_text_put(&e->text, "        ");
    put_store(e, p->pointer, "i / slice + 1", "slots");
    emit_text_put(&e->text, "    }\n");
    put_parameter(e, p->apart, "slots");
}

/* Writes the head of a loop over the lists, with the variables of the description that the indices read. */
static void put_lists(const emit_c *e, const tree_expr *const *index)
{
    const tree_shape *s = &e->f->part->shape;
    emit_text_put(&e->text, each_list);
    put_variable(e, "        ", s->row_loop[0]->symbol, "i / slice", index);
    if (s->row_loops == 2) put_variable(e, "        ", s->row_loop[1]->symbol, "i % slice", index);
}

/* The least column of the lists that share a base. */
static void put_bases(const emit_c *e, const pack *p)
{
    const tree_expr *const index[3] = { p->base_at, NULL, NULL };
    put(e, "    for (i = 0; i < m->%.count; i++) ", p->base);
    put_store(e, p->base, "i", most_of(e, p->base));
    put_lists(e, index);
    emit_text_put(&e->text, "        for (r = 0; r < count; r++) at[r] = own[r];\n"
                            "        c = @_block(own, col, count, block_columns, at) * block_columns;\n        if (c >= 0 && c < ");
    put_element(e, p->base, p->base_at);
    emit_text_put(&e->text, ") ");
    put_element(e, p->base, p->base_at);
    fprintf(e->text.out, " = (%s)c;\n    }\n", emit_c_type(e, p->base));
    put(e, "    for (i = 0; i < m->%.count; i++)\n        if (", p->base);
    fprintf(e->text.out, "%s_[i] == %s) ", p->base->name, most_of(e, p->base));
    put_store(e, p->base, "i", "0");
}

/* The column of a block's slot. */
static void put_column(const emit_c *e, const pack *p)
{
    emit_text_put(&e->text, "            const int64_t first = (c * block_columns");
    if (p->base) {
        emit_text_put(&e->text, " - (int64_t)");
        put_element(e, p->base, p->base_at);
    }
    fprintf(e->text.out, ") / %lld;\n", (long long)p->scale);
    if (p->base) put_fits_in(e, "            ", p->col, "first");
    emit_text_put(&e->text, "            ");
    put_element(e, p->col, p->col_at);
    fprintf(e->text.out, " = (%s)first;\n", emit_c_type(e, p->col));
}

/* Puts block after block into the slots of its list, with the indices that the description has. */
static void put_slots(const emit_c *e, const pack *p)
{
    const tree_shape *s = &e->f->part->shape;
    const tree_expr *const value[3] = { p->val_at, NULL, NULL };
    const tree_expr *const slot[3] = { p->val_at, p->col_at, s->slot_loop[0]->a };
    put_lists(e, slot);
    emit_text_put(&e->text, "        int64_t ");
    emit_c_local(e, s->slot_loop[0]->symbol);
    emit_text_put(&e->text, " = ");
    emit_c_followed(e, s->slot_loop[0]->a);
    emit_text_put(&e->text, ";\n        for (r = 0; r < count; r++) at[r] = own[r];\n"
                            "        for (; (c = @_block(own, col, count, block_columns, at)) >= 0; ");
    emit_c_local(e, s->slot_loop[0]->symbol);
    emit_text_put(&e->text, "++) {\n");
    put_column(e, p);
    emit_text_put(&e->text, "            for (r = 0; r < count; r++)\n"
                            "                for (; at[r] < own[r + 1] && col[at[r]] / block_columns == c; at[r]++) {\n");
    if (s->block_row_loop) put_variable(e, "                    ", s->block_row_loop->symbol, "r", value);
    put_variable(e, "                    ", block_columns(s), "col[at[r]] % block_columns", value);
    emit_text_put(&e->text, "                    ");
    put_element(e, p->val, p->val_at);
    emit_text_put(&e->text, " = val[at[r]];\n                }\n        }\n    }\n");
}

static void put_tiles(const emit_c *e, const pack *p)
{
    fprintf(e->text.out, "    enum { block_rows = %lld, block_columns = %lld, slice = %lld };\n", (long long)p->rows,
            (long long)p->columns, (long long)p->slice);
    emit_text_put(&e->text, "    const int64_t lists = rows / block_rows + (rows % block_rows != 0);\n"
                            "    int64_t at[block_rows], slots = 0, c;\n    (void)slots;\n");
    put_parameter(e, p->slices, "lists / slice + (lists % slice != 0)");
    put_lengths(e, p);
    put_new(e, p->val, NULL);
    put_new(e, p->col, NULL);
    put_fits(e, p->base ? p->base : p->col, "cols");
    if (p->base) put_new(e, p->base, NULL);
    emit_text_put(&e->text, leave);
    if (p->padded) {
        put(e, "    for (i = 0; i < m->%.count; i++) ", p->col);
        put_store(e, p->col, "i", most_of(e, p->col));
    }
    if (p->base) put_bases(e, p);
    put_slots(e, p);
}

/* The entries of a strip are stored in the order of CSR. */
static void put_strip(const emit_c *e, const pack *p)
{
    char text[100];
    fprintf(e->text.out, "    enum { block_rows = %lld };\n", (long long)p->rows);
    emit_text_put(&e->text, "    const int64_t lists = rows / block_rows + (rows % block_rows != 0);\n");
    snprintf(text, sizeof text, "cols >= (%s >> %d) ? %s : 0", most_of(e, p->col), p->shift, most_of(e, p->col));
    put_fits(e, p->col, text);
    put_fits(e, p->pointer, "nnz");
    if (p->row) put_fits(e, p->row, "block_rows");
    put_parameter(e, p->slices, "lists");
    put_parameter(e, p->apart, "nnz");
    put_new(e, p->pointer, "lists + 1");
    put_new(e, p->val, "nnz");
    put_new(e, p->col, "nnz");
    if (p->row) put_new(e, p->row, "nnz");
    emit_text_put(&e->text, leave);
    emit_text_put(&e->text, "    for (i = 0; i <= lists; i++) ");
    put_store(e, p->pointer, "i", "(ptr[@_min(i * block_rows, rows)] - ptr[0])");
    emit_text_put(&e->text, "    for (r = 0; r < rows; r++)\n        for (i = ptr[r]; i < ptr[r + 1]; i++) {\n            ");
    snprintf(text, sizeof text, p->shift ? "(col[i] << %d | r %% block_rows)" : "col[i]", p->shift);
    put_store(e, p->col, "i - ptr[0]", text);
    emit_text_put(&e->text, "            ");
    if (p->row) put_store(e, p->row, "i - ptr[0]", "(r % block_rows)"), emit_text_put(&e->text, "            ");
    put_store(e, p->val, "i - ptr[0]", "val[i]");
    emit_text_put(&e->text, "        }\n");
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
    if (p.kind == PACK_TILES && !e->by_hand) emit_text_put(&e->text, block_functions);
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
    case PACK_COO: put_coo(e, &p); break;
    case PACK_ELLR: put_ellr(e, &p); break;
    case PACK_DIA: put_dia(e, &p); break;
    case PACK_TILES: put_tiles(e, &p); break;
    case PACK_STRIP: put_strip(e, &p); break;
    case PACK_NONE: break;
    }
    emit_text_put(&e->text, "    return 0;\n}\n");
}
