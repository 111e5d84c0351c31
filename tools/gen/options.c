/* SPDX-License-Identifier: MIT
 *
 * tools/gen/options.c - options.h says what is here.
 */
#include "tools/gen/options.h"
#include "tools/gen/cl_expr.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const backend_option options_table[] = {
    {"form", "file", "file standalone body",
     "file: to be compiled between kernels/common.cl and shell.cl; standalone: with their text; body: its function alone"},
    {"strategy", "auto", "auto rows sequential atomic segments",
     "rows: each row has its items; for formats whose rows come in any order: sequential, atomic, or segments of a row by a tree"},
    {"vector", "1", "1 2 4 open", "adjacent slots of a row, or elements of a block, that are loaded at once; open: the macro VECTOR"},
    {"within", "1", "1 2 4", "entries of a row that are stored together and loaded at once, in a changed layout"},
    {"reuse", "buffer", "buffer constant local image", "how arrays declared __reuse are read"},
    {"xonce", "1", "1 0", "1 loads x once for each column of a block"},
    {"early", "0", "0 1 2",
     "1: values are loaded before conditions are tested, and 2: what conditions read is loaded a slot ahead; the values must exist"},
#define X(NAME, values, what) {#NAME, "open", values, what},
    OPTIONS_KNOB_LIST(X)
#undef X
    {"type", "open", "open f32 f64 mixed", "values and vectors of a standalone text; open: the macros VAL and VEC"},
    {"offset", "open", "open 32 64", "bits of OFFSET_TYPE in a standalone text; open: the macro OFF"},
    {"arguments", "description", "*", "the kernel's arguments, separated by commas; *NAME is a pointer that the kernel does not use"},
    {NULL, NULL, NULL, NULL}};

const char *options_knob_name(options_knob k)
{
    static const char *const names[] = {
#define X(NAME, values, what) #NAME,
        OPTIONS_KNOB_LIST(X)
#undef X
    };
    return names[k];
}

/* The values of a knob without "open". */
static const char *all_values(options_knob k)
{
    static const char *const values[] = {
#define X(NAME, list, what) list,
        OPTIONS_KNOB_LIST(X)
#undef X
    };
    return values[k] + strlen("open ");
}

const tree_stmt *options_slots(const tree_part *p)
{
    return p->shape.slot_loops ? p->shape.slot_loop[p->shape.slot_loops - 1] : NULL;
}

const tree_stmt *options_block_columns(const tree_part *p)
{
    int i;
    for (i = 0; i < p->shape.block_loops; i++)
        if (p->shape.block_loop[i] != p->shape.block_row_loop) return p->shape.block_loop[i];
    return NULL;
}

const tree_symbol *options_reused(const tree_part *p)
{
    const tree_symbol *a;
    for (a = p->arrays; a; a = a->next)
        if (a->reuse && !a->absent && a->type != TREE_DATA_TYPE) return a;
    return NULL;
}

/* The least of *least and the indices with which e reads the array. Returns 0 if one does not follow from the row alone. */
static int row_index_in(const tree_part *p, const tree_expr *e, const tree_symbol *array, const tree_expr **least)
{
    const tree_shape *s = &p->shape;
    const cl_point at = {0};
    int i;
    if (!e) return 1;
    if (e->kind == TREE_ELEMENT && e->symbol == array) {
        for (i = 0; i < s->slot_loops; i++)
            if (tree_depends(e->a, s->slot_loop[i]->symbol)) return 0;
        for (i = 0; i < s->block_loops; i++)
            if (tree_depends(e->a, s->block_loop[i]->symbol)) return 0;
        if (!*least || cl_value(e->a, &at) < cl_value(*least, &at)) *least = e->a;
    }
    return row_index_in(p, e->a, array, least) && row_index_in(p, e->b, array, least) && row_index_in(p, e->c, array, least);
}

static int row_index_of(const tree_part *p, const tree_stmt *s, const tree_symbol *array, const tree_expr **least)
{
    for (; s; s = s->next)
        if (!row_index_in(p, s->a, array, least) || !row_index_in(p, s->b, array, least) || !row_index_of(p, s->body, array, least))
            return 0;
    return 1;
}

const tree_expr *options_row_index(const tree_part *p, const tree_symbol *array)
{
    const tree_expr *least = NULL;
    return !p->shape.varying && row_index_of(p, p->access, array, &least) ? least : NULL;
}

static int is_read_at(const tree_stmt *s, const tree_symbol *array, const tree_expr *index)
{
    for (; s; s = s->next)
        if (cl_reads_at(s->a, array, index) || cl_reads_at(s->b, array, index) || is_read_at(s->body, array, index)) return 1;
    return 0;
}

int options_with_values(const tree_part *p, const tree_symbol *array)
{
    return is_read_at(options_slots(p)->body, array, p->shape.val_let->a->a);
}

const char *options_knob_values(const tree_part *p, const options *o, options_knob k)
{
    int rows = p->shape.rows != TREE_ROWS_ANY;
    switch (k) {
    case OPTIONS_L: return !rows || !p->shape.slot_loops ? NULL : p->shape.order == TREE_ORDER_CONTIGUOUS ? all_values(k) : "1 2 4 8";
    case OPTIONS_SHUF: return rows && p->shape.slot_loops && p->shape.order == TREE_ORDER_CONTIGUOUS ? all_values(k) : NULL;
    case OPTIONS_UNROLL: return rows && p->shape.slot_loops && o->vector == 1 && o->within == 1 ? all_values(k) : NULL;
    case OPTIONS_SEQ: return rows && o->reuse != OPTIONS_LOCAL ? all_values(k) : NULL;
    case OPTIONS_IMG: return o->cuda ? NULL : all_values(k);
    default: return all_values(k);
    }
}

/* _col as an expression; NULL if it is a loop variable. */
static const tree_expr *column_value(const tree_part *p) { return p->shape.col_let->kind == TREE_LET ? p->shape.col_let->a : NULL; }

int options_xonce_fits(const tree_part *p)
{
    const tree_shape *s = &p->shape;
    if (s->rows != TREE_ROWS_BLOCK || s->block_loops != 2 || !options_block_columns(p)) return 0;
    if (s->block_row_loop->a->kind != TREE_NUMBER || options_block_columns(p)->a->kind != TREE_NUMBER) return 0;
    return !column_value(p) || !tree_depends(column_value(p), s->block_row_loop->symbol);
}

int64_t options_row(const tree_part *p, int64_t at, unsigned point)
{
    const tree_shape *s = &p->shape;
    const tree_stmt *rows = s->row_let;
    cl_point where = {0};
    where.number = point;
    where.set[0].symbol = s->row_loop[0]->symbol;
    where.set[0].value = s->rows == TREE_ROWS_BLOCK ? at / s->height : at;
    where.count = 1;
    if (s->rows == TREE_ROWS_BLOCK) {
        where.set[1].symbol = s->block_row_loop->symbol;
        where.set[1].value = at % s->height;
        where.count = 2;
    }
    if (s->row_loops == 2 && s->row_loop[1]->trip > 0) {
        int64_t slice = where.set[0].value;
        where.set[0].value = slice / s->row_loop[1]->trip;
        where.set[where.count].symbol = s->row_loop[1]->symbol;
        where.set[where.count++].value = slice % s->row_loop[1]->trip;
    }
    if (s->rows == TREE_ROWS_STRIP) return cl_value(s->within->a, &where);
    if (rows->kind == TREE_LET) return cl_value(rows->a, &where);
    return at;
}

int options_rows_in_order(const tree_part *p)
{
    int64_t at, height = p->shape.rows == TREE_ROWS_STRIP ? p->shape.height : 1;
    if (p->shape.varying) return 1; /* its slice is found by the rows themselves */
    for (at = 0; at < CL_POINTS * 37; at += 37)
        if (options_row(p, at, (unsigned)at) != at * height) return 0;
    return 1;
}

/* ---- from the command line --------------------------------------------------------------------------------------- */

static int number_of(const backend *b, const backend_settings *set, const char *option)
{
    const char *value = backend_value(b, set, option);
    return !strcmp(value, "open") ? OPTIONS_OPEN : atoi(value);
}

/* The number of an option's value among those of its table, which begins with 0. */
static int choice_of(const backend *b, const backend_settings *set, const char *option)
{
    const char *value = backend_value(b, set, option), *at;
    size_t length = strlen(value);
    int n = 0;
    const backend_option *t = options_table;
    while (strcmp(t->name, option)) t++;
    for (at = t->values; *at; n++) {
        size_t word = strcspn(at, " ");
        if (word == length && !strncmp(at, value, length)) return n;
        at += word + (at[word] == ' ');
    }
    return 0;
}

options options_read(const backend *b, const backend_settings *set)
{
    options o;
    int k;
    memset(&o, 0, sizeof o);
    o.cuda = !strcmp(b->name, "cuda");
    o.form = (options_form)choice_of(b, set, "form");
    o.strategy = (options_strategy)choice_of(b, set, "strategy");
    o.vector = number_of(b, set, "vector");
    o.within = number_of(b, set, "within");
    o.reuse = (options_reuse)choice_of(b, set, "reuse");
    o.xonce = number_of(b, set, "xonce");
    o.early = number_of(b, set, "early");
    for (k = 0; k < OPTIONS_KNOBS; k++) o.knob[k] = backend_value(b, set, options_knob_name((options_knob)k));
    o.type = backend_value(b, set, "type");
    o.offset = backend_value(b, set, "offset");
    o.arguments = backend_value(b, set, "arguments");
    return o;
}

/* ---- what fits a description ------------------------------------------------------------------------------------- */

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static int refuse(char *reason, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(reason, OPTIONS_REASON, format, list);
    va_end(list);
    return 0;
}

static const char *values_name(const tree_part *p) { return p->shape.val_let->a->symbol->name; }

int options_slots_adjacent(const tree_part *p)
{
    const tree_stmt *slots = options_slots(p);
    cl_point at = {0};
    at.set[0].symbol = slots->symbol;
    at.count = 1;
    for (at.number = 0; at.number < CL_POINTS; at.number++) {
        int64_t first;
        at.set[0].value = at.number;
        first = cl_value(p->shape.val_let->a->a, &at);
        at.set[0].value = at.number + 1;
        if (cl_value(p->shape.val_let->a->a, &at) != first + 1) return 0;
    }
    return 1;
}

/* 1 if the values' index is a multiple of the slot loop's variable plus what does not depend on it. */
static int slots_linear(const tree_part *p)
{
    const tree_stmt *slots = options_slots(p);
    const tree_expr *index = p->shape.val_let->a->a;
    cl_point at = {0};
    at.set[0].symbol = slots->symbol;
    at.count = 1;
    for (at.number = 0; at.number < CL_POINTS; at.number++) {
        int64_t v[3], i;
        for (i = 0; i < 3; i++) {
            at.set[0].value = i * 5;
            v[i] = cl_value(index, &at);
        }
        if (v[1] - v[0] != v[2] - v[1]) return 0;
    }
    return 1;
}

static int fit_strategy(const tree_part *p, options *o, char *reason)
{
    int any = p->shape.rows == TREE_ROWS_ANY;
    if (o->strategy == OPTIONS_AUTO) o->strategy = any ? OPTIONS_SEQUENTIAL : OPTIONS_ROWS;
    if (any && o->strategy == OPTIONS_ROWS)
        return refuse(reason, "strategy=rows: the access enumerates no rows, so the elements of one row cannot be found");
    if (!any && o->strategy != OPTIONS_ROWS)
        return refuse(reason, "strategy=%s: each row can be found by itself, so that rows have items of their own",
                      o->strategy == OPTIONS_ATOMIC ? "atomic" : o->strategy == OPTIONS_SEGMENTS ? "segments" : "sequential");
    if (o->strategy == OPTIONS_SEGMENTS && (p->shape.slot_loops != 1 || p->shape.block_loops))
        return refuse(reason, "strategy=segments: a slot holds more than one element");
    if (!any && p->shape.row_loops > 2) return refuse(reason, "the access has %d loops over rows; kernels know two", p->shape.row_loops);
    if (any && !p->shape.slot_loops) return refuse(reason, "the access has no loop over slots");
    if (!any && (p->shape.row_loop[0]->a->kind != TREE_NUMBER || p->shape.row_loop[0]->a->number))
        return refuse(reason, "the loop over rows does not begin with 0");
    if (p->shape.rows == TREE_ROWS_STRIP && !options_rows_in_order(p))
        return refuse(reason, "strips are not numbered from the first row on");
    if (!any && p->shape.row_loops == 2 && !p->shape.varying && p->shape.row_loop[1]->trip < 1)
        return refuse(reason, "the number of rows in a slice is neither static nor that of a slice of varying height");
    return 1;
}

/* An array that would have to be loaded as vectors, of a type of which kernels have none; NULL: there is none. */
static const tree_symbol *without_vectors(const tree_part *p)
{
    const tree_symbol *a;
    for (a = p->arrays; a; a = a->next)
        if ((a->type == TREE_OFFSET_TYPE || a->type == TREE_SIGNED_TYPE) && options_with_values(p, a)) return a;
    return NULL;
}

static int fit_vector(const tree_part *p, const options *o, char *reason)
{
    int n = o->vector == OPTIONS_OPEN ? 4 : o->vector;
    const tree_stmt *columns = options_block_columns(p), *rows = p->shape.block_row_loop;
    if (n == 1) return 1;
    if (o->strategy != OPTIONS_ROWS) return refuse(reason, "vector=%d: the product of one slot is added to y before the next is loaded", n);
    if (p->shape.rows == TREE_ROWS_BLOCK) {
        if (o->vector == OPTIONS_OPEN) return refuse(reason, "vector=open: blocks need a number");
        if (!o->xonce || !options_xonce_fits(p))
            return refuse(reason, "vector=%d: blocks need xonce=1, and columns that no row changes", n);
        if (!columns || columns->trip % n) return refuse(reason, "vector=%d: %d does not divide the columns of a block", n, n);
        if (columns->a->kind != TREE_NUMBER || columns->a->number)
            return refuse(reason, "vector=%d: the loop over a block's columns does not begin with 0", n);
        if (!cl_in_units(p->shape.val_let->a->a, columns->symbol, n, rows->symbol, rows->trip))
            return refuse(reason, "vector=%d: %d adjacent elements of a block's row are not one aligned block of %s", n, n, values_name(p));
        return 1;
    }
    if (!options_slots(p)) return refuse(reason, "vector=%d: the access has no loop over slots", n);
    if (p->shape.block_loops) return refuse(reason, "vector=%d: the slots have loops of their own", n);
    if (without_vectors(p)) return refuse(reason, "vector=%d: there are no vectors of the type of %s", n, without_vectors(p)->name);
    if (!options_slots_adjacent(p))
        return refuse(reason, "vector=%d: adjacent slots of a row are not adjacent in %s, so they cannot be loaded as one block", n,
                      values_name(p));
    return 1;
}

static int fit_within(const tree_part *p, const options *o, char *reason)
{
    int n = o->within;
    const tree_stmt *slots = options_slots(p);
    if (n == 1) return 1;
    if (o->vector != 1) return refuse(reason, "within=%d: vector=%d loads slots that are adjacent already", n, o->vector);
    if (o->strategy != OPTIONS_ROWS || p->shape.rows != TREE_ROWS_SINGLE || p->shape.block_loops || !slots)
        return refuse(reason, "within=%d: only for formats of single rows with one loop over the slots of a row", n);
    if (options_slots_adjacent(p)) return refuse(reason, "within=%d: the slots of a row are adjacent already; see vector", n);
    if (slots->a->kind != TREE_NUMBER || slots->a->number)
        return refuse(reason, "within=%d: the loop over slots does not begin with 0", n);
    if (p->shape.slot_loops > 1) return refuse(reason, "within=%d: the access has %d loops over slots", n, p->shape.slot_loops);
    if (!slots_linear(p)) return refuse(reason, "within=%d: the slots of a row are not equally far apart in %s", n, values_name(p));
    if (without_vectors(p)) return refuse(reason, "within=%d: there are no vectors of the type of %s", n, without_vectors(p)->name);
    if (p->shape.varying) return refuse(reason, "within=%d: slices of varying height", n);
    return 1;
}

static int fit_reuse(const tree_part *p, const options *o, char *reason)
{
    const tree_symbol *a = options_reused(p);
    static const char *const names[] = {"buffer", "constant", "local", "image"};
    if (o->reuse == OPTIONS_BUFFER) return 1;
    if (!a) return refuse(reason, "reuse=%s: no array of indices is declared __reuse", names[o->reuse]);
    if (o->reuse == OPTIONS_CONSTANT && o->cuda)
        return refuse(reason, "reuse=constant: constant memory of CUDA cannot be an argument; its read-only cache serves reuse=buffer");
    if (o->reuse == OPTIONS_IMAGE && o->cuda) return refuse(reason, "reuse=image: the kernels for CUDA have no images");
    if (o->reuse == OPTIONS_IMAGE && a->type != TREE_INDEX_TYPE && a->type != TREE_SIGNED_TYPE)
        return refuse(reason, "reuse=image: %s does not have elements of 32 bits", a->name);
    if (o->reuse == OPTIONS_LOCAL && o->strategy != OPTIONS_ROWS) return refuse(reason, "reuse=local: items share nothing");
    return 1;
}

static int has_condition(const tree_stmt *s)
{
    for (; s; s = s->next)
        if (s->kind == TREE_IF || has_condition(s->body)) return 1;
    return 0;
}

static int has_element(const tree_expr *e)
{
    return e && (e->kind == TREE_ELEMENT || has_element(e->a) || has_element(e->b) || has_element(e->c));
}

int options_reads_ahead(const tree_part *p, const tree_stmt *s)
{
    return s->kind == TREE_LET && s->parent == options_slots(p) && s != p->shape.val_let && has_element(s->a);
}

int64_t options_slot_values(const tree_part *p)
{
    int64_t n = 1;
    int i;
    for (i = 0; i < p->shape.block_loops; i++) {
        if (p->shape.block_loop[i]->a->kind != TREE_NUMBER) return 0;
        n *= p->shape.block_loop[i]->trip;
        if (n > TREE_MAX_CONSTANT) return 0;
    }
    return n;
}

static int fit_early(const tree_part *p, const options *o, char *reason)
{
    enum { MOST_VALUES = 64 }; /* an item has registers for so many */
    const tree_stmt *s;
    int64_t n;
    if (!o->early) return 1;
    if (o->strategy != OPTIONS_ROWS || !options_slots(p)) return refuse(reason, "early=%d: rows have no loop over slots", o->early);
    if (o->within != 1 || (o->vector != 1 && p->shape.rows != TREE_ROWS_BLOCK))
        return refuse(reason, "early=%d: vectors of slots are loaded before their conditions anyway", o->early);
    if (!has_condition(options_slots(p)->body)) return refuse(reason, "early=%d: no condition stands before the values", o->early);
    if (o->reuse != OPTIONS_BUFFER) return refuse(reason, "early=%d: only with reuse=buffer", o->early);
    if (p->shape.rows == TREE_ROWS_BLOCK && (!o->xonce || !options_xonce_fits(p)))
        return refuse(reason, "early=%d: blocks need xonce=1, and columns that no row changes", o->early);
    n = options_slot_values(p);
    if (!n || n > MOST_VALUES) return refuse(reason, "early=%d: a slot has more than %d values", o->early, (int)MOST_VALUES);
    if (o->early == 1) return 1;
    if (p->shape.slot_loops > 1) return refuse(reason, "early=2: the access has %d loops over slots", p->shape.slot_loops);
    for (s = options_slots(p)->parent; s; s = s->parent)
        if (s->kind == TREE_IF) return refuse(reason, "early=2: a condition stands before the slots");
    for (s = options_slots(p)->body; s; s = s->next)
        if (options_reads_ahead(p, s)) return 1;
    return refuse(reason, "early=2: the slots have no name for what conditions read");
}

/* Set knobs that the kernel does not have, or not with that value. */
static int fit_knobs(const tree_part *p, const options *o, char *reason)
{
    int k;
    for (k = 0; k < OPTIONS_KNOBS; k++) {
        const char *name = options_knob_name((options_knob)k), *values = options_knob_values(p, o, (options_knob)k);
        char padded[64], word[32];
        if (!strcmp(o->knob[k], "open")) continue;
        if (!values) return refuse(reason, "%s=%s: this kernel has no knob %s", name, o->knob[k], name);
        snprintf(padded, sizeof padded, " %s ", values);
        snprintf(word, sizeof word, " %s ", o->knob[k]);
        if (!strstr(padded, word)) return refuse(reason, "%s=%s: this kernel takes only %s", name, o->knob[k], values);
        if (k == OPTIONS_IMG && o->form != OPTIONS_STANDALONE)
            return refuse(reason, "IMG=%s: kernels/common.cl has this knob; define it for the OpenCL compiler, or set form=standalone",
                          o->knob[k]);
    }
    if (strcmp(o->knob[OPTIONS_L], "open") && strcmp(o->knob[OPTIONS_WG], "open") && atoi(o->knob[OPTIONS_L]) > atoi(o->knob[OPTIONS_WG]))
        return refuse(reason, "L=%s: more items for a row than WG=%s", o->knob[OPTIONS_L], o->knob[OPTIONS_WG]);
    return 1;
}

int options_fit(const tree_part *p, options *o, char *reason)
{
    if (!fit_strategy(p, o, reason) || !fit_vector(p, o, reason) || !fit_within(p, o, reason) || !fit_reuse(p, o, reason) ||
        !fit_early(p, o, reason)) return 0;
    if (!o->xonce && p->shape.rows != TREE_ROWS_BLOCK) return refuse(reason, "xonce=0: the format has no blocks");
    if (o->form != OPTIONS_STANDALONE && strcmp(o->type, "open")) return refuse(reason, "type=%s: only with form=standalone", o->type);
    if (o->form != OPTIONS_STANDALONE && strcmp(o->offset, "open"))
        return refuse(reason, "offset=%s: only with form=standalone", o->offset);
    return fit_knobs(p, o, reason);
}
