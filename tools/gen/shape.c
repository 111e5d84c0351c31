/* SPDX-License-Identifier: MIT
 *
 * tools/gen/shape.c - finds out which loops of an access enumerate rows, slots and the elements of blocks.
 *
 * Kernels give rows to work-items, so two items must never have the same row. That holds if each iteration of the row loops has rows of
 * its own, which this file shows from the way in which _row depends on them. Where it cannot, rows are said to come in any order.
 */
#include "tools/gen/shape.h"
#include "tools/gen/fold.h"

#include <string.h>

/* The loops around the element, outermost first. */
typedef struct loops {
    tree_stmt *loop[TREE_MAX_LOOPS];
    int count;
} loops;

/* Collects the loops around a statement. Returns 0 if there are too many. */
static int loops_around(loops *out, const tree_stmt *inner)
{
    tree_stmt *s;
    int i;
    out->count = 0;
    for (s = inner->parent; s; s = s->parent) {
        if (s->kind != TREE_FOR) continue;
        if (out->count == TREE_MAX_LOOPS) return 0;
        for (i = out->count++; i > 0; i--) out->loop[i] = out->loop[i - 1];
        out->loop[0] = s;
    }
    return 1;
}

/* 1 if inner runs over array[e] to array[e'] - 1, where e' is e + 1 and e grows by 1 with outer: neighbouring ranges, none twice. */
static int runs_over_slices(const tree_stmt *outer, const tree_stmt *inner)
{
    const tree_expr *a = tree_behind(inner->a), *b = tree_behind(inner->b);
    int64_t step = 0, apart = 0;
    if (b->kind != TREE_BINARY || b->op != TREE_SUB || b->b->kind != TREE_NUMBER || b->b->number != 1) return 0;
    b = tree_behind(b->a);
    return a->kind == TREE_ELEMENT && b->kind == TREE_ELEMENT && a->symbol == b->symbol && fold_difference(b->a, a->a, &apart) && apart == 1
           && tree_step(a->a, outer->symbol, &step) && step == 1;
}

/* 1 if different iterations of the first count loops give values of e that are at least height apart, so that block rows of that height
 * never overlap. */
static int separates(const loops *l, int count, const tree_expr *e, int64_t height)
{
    int64_t step = 0;
    int i;
    e = tree_behind(e);
    if (e->kind == TREE_ELEMENT && e->symbol->unique && height == 1) return separates(l, count, e->a, 1);
    if (count == 2 && height == 1 && e->kind == TREE_NAME && e->symbol == l->loop[1]->symbol
        && runs_over_slices(l->loop[0], l->loop[1])) return 1;
    for (i = count - 1; i >= 0; i--) {
        if (!tree_step(e, l->loop[i]->symbol, &step) || step != height) return 0;
        if (i > 0 && l->loop[i]->trip < 0) return 0;
        if (i > 0) height *= l->loop[i]->trip;
        if (height > TREE_MAX_CONSTANT) return 0;
    }
    return count > 0;
}

/* The value of _row as an expression: its assignment's, or a name for the loop variable. */
static const tree_expr *row_value(const tree_shape *s, tree_expr *name)
{
    memset(name, 0, sizeof *name);
    name->kind = TREE_NAME;
    name->symbol = s->row_let->symbol;
    return name;
}

/* How many of the outer loops may be row loops: those before the first loop of unknown length that does not decide the row, or, if there is
 * none, those before the first static loop. */
static int row_loops(const loops *l, const tree_expr *row)
{
    int i;
    for (i = 0; i < l->count; i++) {
        const tree_stmt *next = i + 1 < l->count ? l->loop[i + 1] : NULL;
        const int decides = tree_depends(row, l->loop[i]->symbol)
                            || (next && tree_depends(row, next->symbol) && runs_over_slices(l->loop[i], next));
        if (l->loop[i]->trip < 0 && !decides) return i;
    }
    for (i = 1; i < l->count; i++)
        if (l->loop[i]->trip >= 0) return i;
    return l->count;
}

/* The static loop behind the first from loops that enumerates the rows of a block row. NULL if there is none; *clear becomes 0 if the row
 * depends on these loops in another way. */
static tree_stmt *block_row_loop(const loops *l, int from, const tree_expr *row, int *clear)
{
    tree_stmt *found = NULL;
    int i;
    *clear = 1;
    for (i = from; i < l->count; i++) {
        int64_t step = 0;
        tree_stmt *s = l->loop[i];
        if (!tree_depends(row, s->symbol)) continue;
        if (found || s->trip < 0 || s->a->kind != TREE_NUMBER || s->a->number || !tree_step(row, s->symbol, &step) || step != 1) *clear = 0;
        found = s;
    }
    return *clear ? found : NULL;
}

/* Deals the loops behind the row loops: static ones at the end are block loops, the others slot loops. */
static void deal_loops(tree_shape *s, const loops *l, int row_loop_count)
{
    int i, blocks = l->count;
    while (blocks > row_loop_count && l->loop[blocks - 1]->trip >= 0) blocks--;
    for (i = 0; i < row_loop_count; i++) s->row_loop[s->row_loops++] = l->loop[i];
    for (; i < blocks; i++) s->slot_loop[s->slot_loops++] = l->loop[i];
    for (; i < l->count; i++) s->block_loop[s->block_loops++] = l->loop[i];
}

/* Sets the strides of the values and the order that follows from them. */
static void set_order(tree_shape *s)
{
    const tree_expr *index = s->val_let->a->a;
    const int64_t none = INT64_MAX;
    int64_t row, slot;
    if (s->row_loops && !tree_step(index, s->row_loop[s->row_loops - 1]->symbol, &s->row_stride)) s->row_stride = 0;
    if (s->slot_loops && !tree_step(index, s->slot_loop[s->slot_loops - 1]->symbol, &s->slot_stride)) s->slot_stride = 0;
    row = s->row_stride > 0 ? s->row_stride : none;
    slot = s->slot_stride > 0 ? s->slot_stride : none;
    s->order = slot < none && slot <= row ? TREE_ORDER_CONTIGUOUS : row < none ? TREE_ORDER_COLUMN_MAJOR : TREE_ORDER_OTHER;
}

/* The TREE_WITHIN in a block around the element, or NULL. */
static tree_stmt *within_of(const tree_part *part)
{
    const tree_stmt *s = part->shape.val_let->parent;
    tree_stmt *t;
    for (;;) {
        for (t = s ? s->body : part->access; t; t = t->next)
            if (t->kind == TREE_WITHIN) return t;
        if (!s) return NULL;
        s = s->parent;
    }
}

/* Sets rows, height and block_row_loop. Returns the number of row loops. */
static int set_rows(tree_format *f, tree_shape *s, const loops *l, report *errors)
{
    tree_expr name;
    const tree_expr *row = row_value(s, &name);
    int clear = 1, count = 0, i;
    s->height = 1;
    if (s->within) {
        while (count < l->count && tree_depends(s->within->a, l->loop[count]->symbol)) count++;
        for (i = count; i < l->count; i++) clear &= !tree_depends(s->within->a, l->loop[i]->symbol);
        s->rows = TREE_ROWS_STRIP;
        s->height = s->within->trip;
        if (!clear || !separates(l, count, s->within->a, s->height))
            report_error(errors, f, s->within->place, "strips may overlap; expected the first row to grow by %lld from strip to strip",
                         (long long)s->height);
        return count;
    }
    count = row_loops(l, row);
    s->block_row_loop = block_row_loop(l, count, row, &clear);
    if (clear && s->block_row_loop) s->height = s->block_row_loop->trip;
    if (clear && separates(l, count, row, s->height)) {
        s->rows = s->block_row_loop ? TREE_ROWS_BLOCK : TREE_ROWS_SINGLE;
        return count;
    }
    s->rows = TREE_ROWS_ANY;
    s->block_row_loop = NULL;
    s->height = 1;
    return 0;
}

void shape_of(tree_format *f, tree_part *part, report *errors)
{
    tree_shape *s = &part->shape;
    loops l;
    if (!loops_around(&l, s->val_let)) {
        report_error(errors, f, s->val_let->place, "there are more than %d loops around _val; expected fewer", TREE_MAX_LOOPS);
        return;
    }
    s->within = within_of(part);
    deal_loops(s, &l, set_rows(f, s, &l, errors));
    s->varying = s->row_loops == 2 && s->row_loop[1]->trip < 0;
    set_order(s);
}
