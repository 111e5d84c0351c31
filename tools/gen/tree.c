/* SPDX-License-Identifier: MIT
 *
 * tools/gen/tree.c - memory of trees, and questions about expressions.
 */
#include "tools/gen/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

typedef union arena_unit { /* what every object of a tree can be aligned to */
    void *pointer;
    int64_t number;
} arena_unit;

enum { ARENA_UNITS = 2048 }; /* of one block: 16 KiB */

struct tree_arena {
    tree_arena *next;
    size_t used, units;
    arena_unit unit[1]; /* in fact, units of them */
};

/* Takes the memory from the newest block, or from a new one if that is full. */
void *tree_alloc(tree_format *f, size_t bytes)
{
    const size_t need = bytes / sizeof(arena_unit) + 1;
    tree_arena *a = f->arena;
    void *p;
    if (!a || a->units - a->used < need) {
        const size_t units = need > ARENA_UNITS ? need : ARENA_UNITS;
        a = (tree_arena *)malloc(sizeof *a + units * sizeof(arena_unit));
        if (!a) {
            fputs("spmvgen: out of memory\n", stderr);
            exit(1);
        }
        a->next = f->arena;
        a->used = 0;
        a->units = units;
        f->arena = a;
    }
    p = a->unit + a->used;
    a->used += need;
    return memset(p, 0, need * sizeof(arena_unit));
}

const char *tree_text(tree_format *f, const char *text, size_t length)
{
    char *copy = (char *)tree_alloc(f, length + 1);
    memcpy(copy, text, length);
    return copy;
}

void tree_free(tree_format *f)
{
    while (f->arena) {
        tree_arena *next = f->arena->next;
        free(f->arena);
        f->arena = next;
    }
}

struct tree_memo {
    unsigned query; /* the query to which the rest is the answer */
    int answer;
    int64_t step;
};

tree_symbol *tree_new_symbol(tree_format *f, tree_symbol_kind kind, const char *name, tree_place place)
{
    tree_symbol *s = (tree_symbol *)tree_alloc(f, sizeof *s);
    s->kind = kind;
    s->name = name;
    s->place = place;
    s->memo = (struct tree_memo *)tree_alloc(f, sizeof *s->memo);
    return s;
}

tree_expr *tree_new_expr(tree_format *f, tree_expr_kind kind, tree_place place)
{
    tree_expr *e = (tree_expr *)tree_alloc(f, sizeof *e);
    e->kind = kind;
    e->place = place;
    return e;
}

tree_stmt *tree_new_stmt(tree_format *f, tree_stmt_kind kind, tree_place place)
{
    tree_stmt *s = (tree_stmt *)tree_alloc(f, sizeof *s);
    s->kind = kind;
    s->place = place;
    s->trip = -1;
    return s;
}

/* ---- names ---- */

const char *tree_type_name(tree_type t)
{
    static const char *const name[] = {
#define X(NAME, text, bits, sign) text,
        TREE_TYPE_LIST(X)
#undef X
    };
    return name[t];
}

int tree_type_bits(tree_type t)
{
    static const int number[] = {
#define X(NAME, text, bits, sign) bits,
        TREE_TYPE_LIST(X)
#undef X
    };
    return number[t];
}

int tree_type_signed(tree_type t)
{
    static const int flag[] = {
#define X(NAME, text, bits, sign) sign,
        TREE_TYPE_LIST(X)
#undef X
    };
    return flag[t];
}

const char *tree_op_text(tree_op op)
{
    static const char *const text[] = {
#define X(NAME, written) written,
        TREE_OP_LIST(X)
#undef X
    };
    return text[op];
}

/* ---- questions ---- */

const tree_expr *tree_behind(const tree_expr *e)
{
    while (e->kind == TREE_NAME && e->symbol && e->symbol->value) e = e->symbol->value;
    return e;
}

int tree_depth_above(const tree_expr *a, const tree_expr *b, const tree_expr *c)
{
    int depth = 1;
    if (a && a->depth >= depth) depth = a->depth + 1;
    if (b && b->depth >= depth) depth = b->depth + 1;
    if (c && c->depth >= depth) depth = c->depth + 1;
    return depth;
}

/* Each query has a number, so that the answer for a local is worked out once in it: otherwise a chain of locals, each of which reads the
 * one before twice, would take time exponential in its length. */
static unsigned query_number;

/* tree_depends within one query. */
static int depends(const tree_expr *e, const tree_symbol *s)
{
    if (!e) return 0;
    if (e->kind == TREE_NAME && e->symbol) {
        struct tree_memo *memo = e->symbol->memo;
        if (e->symbol == s) return 1;
        if (!e->symbol->value) return 0;
        if (memo->query != query_number) {
            memo->answer = depends(e->symbol->value, s);
            memo->query = query_number;
        }
        return memo->answer;
    }
    return depends(e->a, s) || depends(e->b, s) || depends(e->c, s);
}

int tree_depends(const tree_expr *e, const tree_symbol *s)
{
    query_number++;
    return depends(e, s);
}

/* Sets *out to a * b, unless that is too large to be of interest. */
static int times(int64_t a, int64_t b, int64_t *out)
{
    const int64_t limit = (int64_t)1 << 31;
    if (a > limit || a < -limit || b > limit || b < -limit) return 0;
    *out = a * b;
    return 1;
}

static int step_of(const tree_expr *e, const tree_symbol *s, int64_t *step);

/* The step of a name: 1 for s itself, that of its value for a local, otherwise 0. */
static int step_of_name(const tree_symbol *name, const tree_symbol *s, int64_t *step)
{
    struct tree_memo *memo = name->memo;
    if (name == s) {
        *step = 1;
        return 1;
    }
    if (!name->value) return 1;
    if (memo->query != query_number) {
        memo->answer = step_of(name->value, s, &memo->step);
        memo->query = query_number;
    }
    *step = memo->step;
    return memo->answer;
}

/* The step of a sum, a difference or a product. A product has one only if its other factor is a number. */
static int step_of_binary(const tree_expr *e, const tree_symbol *s, int64_t *step)
{
    int64_t a = 0, b = 0;
    if (!step_of(e->a, s, &a) || !step_of(e->b, s, &b)) return 0;
    if (!a && !b) return e->op == TREE_ADD || e->op == TREE_SUB || e->op == TREE_MUL;
    switch (e->op) {
    case TREE_ADD: return times(1, a, &a) && times(1, b, &b) && times(1, a + b, step);
    case TREE_SUB: return times(1, a, &a) && times(1, b, &b) && times(1, a - b, step);
    case TREE_MUL:
        if (!b && e->b->kind == TREE_NUMBER) return times(a, e->b->number, step);
        if (!a && e->a->kind == TREE_NUMBER) return times(b, e->a->number, step);
        return 0;
    default: return 0;
    }
}

/* Tells whether any local or name in e leads to s, within the query of step_of, whose memos it must not overwrite. */
static int free_of(const tree_expr *e, const tree_symbol *s)
{
    int64_t step = 0;
    if (!e) return 1;
    if (e->kind == TREE_NAME) return step_of(e, s, &step) && !step;
    return free_of(e->a, s) && free_of(e->b, s) && free_of(e->c, s);
}

/* tree_step within one query. */
static int step_of(const tree_expr *e, const tree_symbol *s, int64_t *step)
{
    int64_t a = 0;
    *step = 0;
    switch (e->kind) {
    case TREE_NUMBER:
    case TREE_PAD: return 1;
    case TREE_NAME: return !e->symbol || step_of_name(e->symbol, s, step);
    case TREE_NEGATE:
        if (!step_of(e->a, s, &a)) return 0;
        *step = -a;
        return 1;
    case TREE_BINARY:
        if (e->op == TREE_ADD || e->op == TREE_SUB || e->op == TREE_MUL) return step_of_binary(e, s, step);
        return free_of(e, s);
    default: return free_of(e, s);
    }
}

int tree_step(const tree_expr *e, const tree_symbol *s, int64_t *step)
{
    query_number++;
    return step_of(e, s, step);
}
