/* SPDX-License-Identifier: MIT
 *
 * tools/gen/emit_cl_parameters.c - the parameters of a kernel, as it declares them and as its body is called.
 */
#include "tools/gen/emit_cl_state.h"

#include <string.h>

const tree_symbol *emit_cl_rows_of(const emitter *e)
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
static int is_given(const emitter *e, const tree_symbol *s) { return s == emit_cl_rows_of(e) || s == e->f->num_cols; }

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

void emit_cl_print_parameters(emitter *e, int declared)
{
    if (!strcmp(e->o->arguments, "description")) print_described(e, declared);
    else print_named(e, declared);
}

const tree_symbol *emit_cl_forgotten(const emitter *e)
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
