/* SPDX-License-Identifier: MIT
 *
 * tools/gen/explain_cl.c - what --list and --explain say about kernels for devices.
 */
#include "tools/gen/cl_expr.h"
#include "tools/gen/emit_cl.h"
#include <stdlib.h>
#include <string.h>

/* ---- the legal options ------------------------------------------------------------------------------------------- */

/* The options whose combinations are listed. The others are knobs, whose values go with all of them, and forms of the output. */
static const char *const listed[] = {"strategy", "vector", "within", "reuse", "xonce", "early"};
enum { LISTED = sizeof listed / sizeof *listed, WORD = 16 };

typedef struct combination {
    backend_setting set[LISTED];
    char value[LISTED][WORD];
} combination;

static const backend_option *option_named(const char *name)
{
    const backend_option *t = options_table;
    while (strcmp(t->name, name)) t++;
    return t;
}

/* 1 if the options fit all parts; otherwise reason says why not. */
static int fits(const backend *b, const tree_format *f, combination *c, char *reason)
{
    backend_settings set;
    const tree_part *p;
    set.set = c->set;
    set.count = LISTED;
    for (p = f->part; p; p = p->next) {
        options o = options_read(b, &set);
        if (!options_fit(p, &o, reason)) return 0;
    }
    return 1;
}

/* Sets option i to word number n of its values. Returns 0 if there are fewer. Values that leave something open are left out, and so is
 * the automatic strategy. */
static int choose(combination *c, int i, int n)
{
    const char *at = option_named(listed[i])->values;
    for (;;) {
        size_t length = strcspn(at, " ");
        int wanted = strncmp(at, "open", length) != 0 && strncmp(at, "auto", length) != 0;
        if (wanted && n-- == 0) {
            snprintf(c->value[i], WORD, "%.*s", (int)length, at);
            c->set[i].name = listed[i];
            c->set[i].value = c->value[i];
            return 1;
        }
        if (!at[length]) return 0;
        at += length + 1;
    }
}

/* Prints the legal ones among the combinations of options i and later. */
static int list_from(const backend *b, const tree_format *f, combination *c, int i, FILE *out)
{
    char reason[OPTIONS_REASON];
    int n, legal = 0;
    if (i < LISTED) {
        for (n = 0; choose(c, i, n); n++) legal += list_from(b, f, c, i + 1, out);
        return legal;
    }
    if (!fits(b, f, c, reason)) return 0;
    fputs(" ", out);
    for (n = 0; n < LISTED; n++) fprintf(out, " %s=%s", c->set[n].name, c->set[n].value);
    fputs("\n", out);
    return 1;
}

/* Prints the values of single options that are refused, the others being at their usual values. */
static void list_refused(const backend *b, const tree_format *f, FILE *out)
{
    int i, k, n;
    for (i = 0; i < LISTED; i++) {
        combination c;
        for (k = 0; k < LISTED; k++) {
            snprintf(c.value[k], WORD, "%s", option_named(listed[k])->usual);
            c.set[k].name = listed[k];
            c.set[k].value = c.value[k];
        }
        for (n = 0; choose(&c, i, n); n++) {
            char reason[OPTIONS_REASON];
            if (!fits(b, f, &c, reason)) fprintf(out, "  refused: %s\n", reason);
        }
    }
}

/* The knobs of each part's kernel with their values. */
static void list_knobs(const backend *b, const tree_format *f, const backend_settings *set, FILE *out)
{
    const tree_part *p;
    for (p = f->part; p; p = p->next) {
        options o = options_read(b, set);
        char reason[OPTIONS_REASON];
        int k;
        if (!options_fit(p, &o, reason)) continue;
        fprintf(out, "  knobs%s%s:", *p->name ? " of " : "", p->name);
        for (k = 0; k < OPTIONS_KNOBS; k++) {
            const char *values = options_knob_values(p, &o, (options_knob)k), *at;
            if (!values) continue;
            fprintf(out, " %s=", options_knob_name((options_knob)k));
            for (at = values; *at; at++) fputc(*at == ' ' ? '|' : *at, out);
        }
        fputs("\n", out);
    }
}

void explain_cl_list(const backend *b, const tree_format *f, const backend_settings *set, FILE *out)
{
    combination c;
    if (!list_from(b, f, &c, 0, out)) fputs("  none\n", out);
    list_knobs(b, f, set, out);
    list_refused(b, f, out);
}

/* ---- what a kernel reads ----------------------------------------------------------------------------------------- */

/* The variable that differs by 1 between adjacent items: that of the slots, if the lanes of a row are adjacent; else that of the rows. */
static const tree_symbol *item_variable(const tree_part *p, const options *o)
{
    const tree_shape *s = &p->shape;
    int lanes = s->order == TREE_ORDER_CONTIGUOUS && strcmp(o->knob[OPTIONS_L], "1") != 0;
    if (s->rows == TREE_ROWS_ANY) return s->slot_loop[0]->symbol;
    if (lanes && options_slots(p)) return options_slots(p)->symbol;
    return s->row_loop[s->row_loops - 1]->symbol;
}

/* Sets *step to the difference of e between adjacent items; 0 if it is not the same everywhere. */
static int item_step(const tree_expr *e, const tree_symbol *item, int64_t *step)
{
    cl_point at = {0};
    int first = 1;
    at.count = 1;
    at.set[0].symbol = item;
    for (at.number = 0; at.number < CL_POINTS; at.number++) {
        int64_t before, now;
        at.set[0].value = 2 * at.number;
        before = cl_value(e, &at);
        at.set[0].value++;
        now = cl_value(e, &at) - before;
        if (!first && now != *step) return 0;
        *step = now;
        first = 0;
    }
    return 1;
}

/* How often an element with this index is read. */
static const char *how_often(const tree_part *p, const tree_expr *index)
{
    const tree_shape *s = &p->shape;
    int i;
    for (i = 0; i < s->block_loops; i++)
        if (tree_depends(index, s->block_loop[i]->symbol)) return "for each element of a block";
    for (i = s->slot_loops - 1; i >= 0; i--)
        if (tree_depends(index, s->slot_loop[i]->symbol)) return i == s->slot_loops - 1 ? "for each slot" : "for each group of slots";
    for (i = 0; i < s->row_loops; i++)
        if (tree_depends(index, s->row_loop[i]->symbol)) return s->height > 1 ? "once for each block row" : "once for each row";
    return "once";
}

static void explain_step(const tree_expr *e, const tree_symbol *item, int width, FILE *out)
{
    int64_t step = 0;
    if (!item_step(e, item, &step)) fputs("adjacent items read wherever the matrix says: not coalesced", out);
    else if (step == 0) fputs("adjacent items read the same element", out);
    else if (step == width || step == -1) fputs("adjacent items read adjacent memory: coalesced", out);
    else fprintf(out, "adjacent items read elements %lld apart: not coalesced", (long long)step);
}

typedef struct explainer {
    const tree_part *p;
    const options *o;
    const tree_symbol *item;
    FILE *out;
    struct {
        const tree_symbol *array;
        const tree_expr *index;
    } seen[64];
    int count;
} explainer;

/* 1 if two indices differ by the same number everywhere, so that what is said of one holds for the other: ptr[r] and ptr[r + 1]. */
static int alike(const tree_expr *a, const tree_expr *b)
{
    cl_point at = {0};
    int64_t apart = cl_value(a, &at) - cl_value(b, &at);
    for (at.number = 1; at.number < CL_POINTS; at.number++)
        if (cl_value(a, &at) - cl_value(b, &at) != apart) return 0;
    return 1;
}

/* Prints a line for each element of an array that e reads, unless one like it was met before. */
static void explain_elements(explainer *x, const tree_expr *e)
{
    int i, vector = x->o->vector > 1 ? x->o->vector : 1;
    if (!e) return;
    explain_elements(x, e->a);
    explain_elements(x, e->b);
    explain_elements(x, e->c);
    if (e->kind != TREE_ELEMENT) return;
    for (i = 0; i < x->count; i++)
        if (x->seen[i].array == e->symbol && alike(x->seen[i].index, e->a)) return;
    if (x->count < 64) {
        x->seen[x->count].array = e->symbol;
        x->seen[x->count++].index = e->a;
    }
    fprintf(x->out, "  %s (%s): read %s; ", e->symbol->name, tree_type_name(e->symbol->type), how_often(x->p, e->a));
    if (e->symbol->reuse && x->o->reuse != OPTIONS_BUFFER) {
        static const char *const where[] = {"", "from constant memory", "from local memory, as far as it reaches", "through an image"};
        fputs(where[x->o->reuse], x->out);
    } else {
        int same = cl_same(e->a, x->p->shape.val_let->a->a);
        if (same && x->o->within > 1) {
            fprintf(x->out, "%d entries of a row in one load; adjacent items read adjacent memory: coalesced", x->o->within);
        } else {
            if (same && vector > 1) fprintf(x->out, "%d at a time; ", vector);
            explain_step(e->a, x->item, x->p->shape.rows == TREE_ROWS_BLOCK && same ? vector : 1, x->out);
        }
    }
    fputs("\n", x->out);
}

static void explain_statements(explainer *x, const tree_stmt *s)
{
    for (; s; s = s->next) {
        explain_elements(x, s->a);
        explain_elements(x, s->b);
        explain_statements(x, s->body);
    }
}

static void explain_x(const explainer *x)
{
    const tree_stmt *col = x->p->shape.col_let;
    fputs("  x: read for each element", x->out);
    if (x->o->xonce && options_xonce_fits(x->p))
        fputs(" of a block's first row only, and used for the whole column (unless ZERO=1)", x->out);
    fputs("; ", x->out);
    if (col->kind == TREE_LET) explain_step(col->a, x->item, 1, x->out);
    else fputs("adjacent items read adjacent memory: coalesced, or the same element", x->out);
    if (!strcmp(x->o->knob[OPTIONS_IMG], "1")) fputs("; through an image", x->out);
    fputs("\n", x->out);
}

static void explain_work(const tree_part *p, const options *o, FILE *out)
{
    const char *l = o->knob[OPTIONS_L];
    if (o->strategy == OPTIONS_SEQUENTIAL) {
        fputs("  one work-item takes all elements, one after another\n", out);
    } else if (o->strategy == OPTIONS_SEGMENTS) {
        fputs("  groups of work-items take adjacent slots, add those of one row by a tree, and the sums of rows to y atomically:\n"
              "  the last bits of y vary where groups share a row\n", out);
    } else if (o->strategy == OPTIONS_ATOMIC) {
        fputs("  each work-item takes slots and adds each product to y atomically: the last bits of y vary from product to product\n",
              out);
    } else {
        fprintf(out, "  %s work-items (L) sum each %s", strcmp(l, "open") ? l : "1 or more",
                p->shape.rows == TREE_ROWS_BLOCK ? "block row" : p->shape.rows == TREE_ROWS_STRIP ? "strip" : "row");
        if (p->shape.height > 1) fprintf(out, " of %lld rows", (long long)p->shape.height);
        if (options_knob_values(p, o, OPTIONS_SHUF)) fputs("; their sums are added by a tree, with SHUF=1 without barriers on NVIDIA", out);
        else fputs("; their sums are added by a tree with barriers", out);
        fputs("\n", out);
    }
    if (o->early) fputs("  values are loaded before conditions are tested, and must exist even where conditions leave them out\n", out);
    if (o->early == 2) fputs("  what conditions read is loaded one slot ahead\n", out);
    if (p->shape.varying) fputs("  each row finds its slice by bisection\n", out);
}

void explain_cl(const backend *b, const tree_format *f, const backend_settings *set, FILE *out)
{
    const tree_part *p;
    for (p = f->part; p; p = p->next) {
        options o = options_read(b, set);
        char reason[OPTIONS_REASON];
        explainer x;
        if (f->parts > 1) fprintf(out, "  part %s, a program of its own (PART of the text):\n", p->name);
        if (!options_fit(p, &o, reason)) {
            fprintf(out, "  refused: %s\n", reason);
            continue;
        }
        memset(&x, 0, sizeof x);
        x.p = p;
        x.o = &o;
        x.item = item_variable(p, &o);
        x.out = out;
        explain_work(p, &o, out);
        explain_statements(&x, p->access);
        explain_x(&x);
    }
}
