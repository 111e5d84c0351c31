/* SPDX-License-Identifier: MIT
 *
 * tools/gen/fold.c - works out what is known of expressions when code is generated.
 */
#include "tools/gen/fold.h"

#define FOLD_LIMIT ((int64_t)1 << 62) /* numbers stay below, so that sums of two of them do not overflow */

static int64_t magnitude(int64_t a) { return a < 0 ? -a : a; }

static int64_t floor_quotient(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/* Computes a op b for any op whose operands are valid. Returns 0 if the result is too large. */
static int compute(tree_op op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case TREE_ADD: *out = a + b; break;
    case TREE_SUB: *out = a - b; break;
    case TREE_MUL:
        if (b && magnitude(a) > FOLD_LIMIT / magnitude(b)) return 0;
        *out = a * b;
        break;
    case TREE_DIV: *out = floor_quotient(a, b); break;
    case TREE_MOD: *out = a - floor_quotient(a, b) * b; break;
    case TREE_CEIL: *out = -floor_quotient(-a, b); break;
    case TREE_SHL:
        if (magnitude(a) > FOLD_LIMIT >> b) return 0;
        *out = a * ((int64_t)1 << b);
        break;
    case TREE_SHR: *out = floor_quotient(a, (int64_t)1 << b); break;
    case TREE_MASK: *out = (int64_t)((uint64_t)a & (uint64_t)b); break;
    case TREE_LT: *out = a < b; break;
    case TREE_LE: *out = a <= b; break;
    case TREE_GT: *out = a > b; break;
    case TREE_GE: *out = a >= b; break;
    case TREE_EQ: *out = a == b; break;
    case TREE_NE: *out = a != b; break;
    case TREE_AND: *out = a && b; break;
    case TREE_OR: *out = a || b; break;
    case TREE_MIN: *out = a < b ? a : b; break;
    case TREE_MAX: *out = a > b ? a : b; break;
    default: return 0;
    }
    return magnitude(*out) < FOLD_LIMIT;
}

static tree_expr *number(tree_format *f, const tree_expr *e, int64_t value)
{
    tree_expr *n = tree_new_expr(f, TREE_NUMBER, e->place);
    n->number = value;
    return n;
}

static int is(const tree_expr *e, int64_t value) { return e->kind == TREE_NUMBER && e->number == value; }

/* Folds what one known operand decides: a + 0, a * 1 and the like, and "and" and "or" with a known left side. */
static tree_expr *with_one_number(tree_format *f, tree_expr *e)
{
    tree_expr *a = e->a, *b = e->b;
    switch (e->op) {
    case TREE_ADD: return is(b, 0) ? a : is(a, 0) ? b : e;
    case TREE_SUB: return is(b, 0) ? a : e;
    case TREE_MUL: return is(b, 1) ? a : is(a, 1) ? b : e;
    case TREE_DIV:
    case TREE_CEIL: return is(b, 1) ? a : e;
    case TREE_MOD: return is(b, 1) ? number(f, e, 0) : e;
    case TREE_SHL:
    case TREE_SHR: return is(b, 0) ? a : e;
    case TREE_AND: return is(a, 0) ? a : e;
    case TREE_OR: return a->kind == TREE_NUMBER && a->number ? number(f, e, 1) : e;
    default: return e;
    }
}

/* Folds an operation; refuses divisors and shifts that cannot be right. */
static tree_expr *fold_binary(tree_format *f, tree_expr *e, report *errors)
{
    const int divides = e->op == TREE_DIV || e->op == TREE_MOD || e->op == TREE_CEIL;
    const int shifts = e->op == TREE_SHL || e->op == TREE_SHR;
    int64_t value = 0;
    if (e->b->kind == TREE_NUMBER && divides && e->b->number <= 0) {
        report_error(errors, f, e->b->place, "this divisor is %lld; expected a positive number", (long long)e->b->number);
        return number(f, e, 0);
    }
    if (e->b->kind == TREE_NUMBER && shifts && (e->b->number < 0 || e->b->number > 62)) {
        report_error(errors, f, e->b->place, "this shifts by %lld; expected 0 to 62", (long long)e->b->number);
        return number(f, e, 0);
    }
    if (e->a->kind != TREE_NUMBER || e->b->kind != TREE_NUMBER) return with_one_number(f, e);
    if (compute(e->op, e->a->number, e->b->number, &value)) return number(f, e, value);
    report_error(errors, f, e->place, "this is more than 62 bits can hold; expected a smaller number");
    return number(f, e, 0);
}

tree_expr *fold(tree_format *f, tree_expr *e, report *errors)
{
    switch (e->kind) {
    case TREE_NEGATE: return e->a->kind == TREE_NUMBER ? number(f, e, -e->a->number) : e;
    case TREE_NOT: return e->a->kind == TREE_NUMBER ? number(f, e, !e->a->number) : e;
    case TREE_SELECT: return e->a->kind != TREE_NUMBER ? e : e->a->number ? e->b : e->c;
    case TREE_BINARY: return fold_binary(f, e, errors);
    default: return e;
    }
}

/* Follows locals and takes numbers off sums: returns the rest and adds them to *offset. */
static const tree_expr *peel(const tree_expr *e, int64_t *offset)
{
    for (;;) {
        if (e->kind == TREE_NAME && e->symbol && e->symbol->value) e = e->symbol->value;
        else if (e->kind == TREE_BINARY && e->op == TREE_ADD && e->b->kind == TREE_NUMBER && magnitude(*offset) < FOLD_LIMIT / 2) {
            *offset += e->b->number;
            e = e->a;
        } else if (e->kind == TREE_BINARY && e->op == TREE_ADD && e->a->kind == TREE_NUMBER && magnitude(*offset) < FOLD_LIMIT / 2) {
            *offset += e->a->number;
            e = e->b;
        } else if (e->kind == TREE_BINARY && e->op == TREE_SUB && e->b->kind == TREE_NUMBER && magnitude(*offset) < FOLD_LIMIT / 2) {
            *offset -= e->b->number;
            e = e->a;
        } else
            return e;
    }
}

/* 1 if both expressions are written alike, so that they have the same value; locals are not followed. */
static int same(const tree_expr *a, const tree_expr *b)
{
    if (!a || !b) return a == b;
    if (a->kind != b->kind || a->symbol != b->symbol) return 0;
    if (a->kind == TREE_NUMBER) return a->number == b->number;
    if (a->kind == TREE_BINARY && a->op != b->op) return 0;
    return same(a->a, b->a) && same(a->b, b->b) && same(a->c, b->c);
}

int fold_difference(const tree_expr *b, const tree_expr *a, int64_t *out)
{
    int64_t above = 0, below = 0;
    const tree_expr *p = peel(b, &above), *q = peel(a, &below);
    if (p->kind == TREE_NUMBER && q->kind == TREE_NUMBER) {
        *out = p->number - q->number;
        if (magnitude(*out) >= FOLD_LIMIT / 2) return 0;
    } else if (same(p, q)) *out = 0;
    else return 0;
    if (magnitude(above) >= FOLD_LIMIT / 4 || magnitude(below) >= FOLD_LIMIT / 4) return 0;
    *out += above - below;
    return 1;
}
