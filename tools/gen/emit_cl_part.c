/* SPDX-License-Identifier: MIT
 *
 * tools/gen/emit_cl_part.c - one part of a description: its knobs, and the body for the shell of kernels/shell.cl.
 */
#include "tools/gen/emit_cl_state.h"

#include <string.h>

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
        fputs("#if STAGE\n#define STRIP_SUM(i) mine[(i) * WG]\n#else\n#define STRIP_SUM(i) acc[i]\n#endif\n", e->out);
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
    emit_cl_print_parameters(e, 1);
    fputs("\n#define ARGS ", e->out);
    emit_cl_print_parameters(e, 0);
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
    emit_cl_line(e, "__local %s *%s_near = (__local %s *)scratch;", type, name, type);
    if (e->pr.staged_from) {
        char row[64];
        int bound = e->pr.count;
        snprintf(row, sizeof row, "(IDX)(get_group_id(0) * (WG / L) / %lld)", s->row_loops == 2 ? (long long)s->row_loop[1]->trip : 1);
        if (s->row_loops == 2) cl_bind(&e->pr, s->row_loop[1]->symbol, "0");
        cl_bind(&e->pr, s->row_loop[0]->symbol, row);
        e->pr.expand = 1;
        emit_cl_indent(e);
        fprintf(e->out, "const IDX %s_from = ", name);
        cl_print(&e->pr, options_row_index(e->p, a), CL_IDX, 0);
        fputs(";\n", e->out);
        e->pr.expand = 0;
        e->pr.count = bound;
        snprintf(from, sizeof from, "%.80s_from + ", name);
    }
    emit_cl_line(e, "for (uint i_ = (uint)get_local_id(0); i_ < REUSED; i_ += WG)");
    e->depth++;
    emit_cl_indent(e);
    fprintf(e->out, "if (%si_ < ", from);
    cl_print(&e->pr, a->size, CL_IDX, 1);
    fprintf(e->out, ") %s_near[i_] = %s[%si_];\n", name, name, from);
    e->depth--;
    emit_cl_line(e, "barrier(CLK_LOCAL_MEM_FENCE);");
}

/* Opens the sums of the body, walks the access, and closes them. */
static void print_sums(emitter *e)
{
    const tree_shape *s = &e->p->shape;
    const char *n = e->o->vector == 4 ? "4" : e->o->vector == 2 ? "2" : "VECTOR";
    target to = s->rows == TREE_ROWS_STRIP ? TO_STRIP : s->rows == TREE_ROWS_BLOCK ? TO_BLOCK : e->o->vector == 1 ? TO_SUM : TO_SUMS;
    emit_cl_aim(e, to, e->p->access);
    if (to == TO_SUM) emit_cl_line(e, "VEC sum = 0;");
    if (to == TO_SUMS) emit_cl_line(e, "VEC sum[%s] = { 0 };", n);
    if (to == TO_STRIP) {
        fputs("#if STAGE\n", e->out);
        emit_cl_line(e, "__local VEC *mine = scratch + get_local_id(0);");
        emit_cl_line(e, "for (uint w = 0; w < W; w++) mine[w * WG] = 0;");
        fputs("#endif\n", e->out);
    }
    emit_cl_walk(e, e->p->access);
    if (to == TO_SUM) emit_cl_line(e, "acc[0] += sum;");
    if (to == TO_SUMS) emit_cl_line(e, "for (uint u = 0; u < %s; u++) acc[0] += sum[u];", n);
    if (to == TO_STRIP) {
        fputs("#if STAGE\n", e->out);
        emit_cl_line(e, "for (uint w = 0; w < W; w++) acc[w] += mine[w * WG];");
        fputs("#endif\n", e->out);
    }
}

static void print_body(emitter *e)
{
    if (e->o->form == OPTIONS_BODY) {
        fputs("INLINE void BODY(VEC *acc, ROW_PARAMS, ", e->out);
        emit_cl_print_parameters(e, 1);
        fputs(")\n{\n", e->out);
    } else {
        fputs("INLINE void BODY(VEC *acc, ROW_PARAMS, PARAMS)\n{\n", e->out);
    }
    e->depth = 1;
    if (e->o->reuse == OPTIONS_LOCAL) {
        stage(e, options_reused(e->p));
        emit_cl_line(e, "if ((ulong)r * W < rows) {");
        e->depth++;
    }
    print_sums(e);
    if (e->o->reuse == OPTIONS_LOCAL) {
        emit_cl_close_block(e);
        emit_cl_line(e, "barrier(CLK_LOCAL_MEM_FENCE);");
    }
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
                (long long)s->height, emit_cl_rows_of(e)->name);
    if (e->o->within > 1)
        fprintf(e->out, "/* Changed layout: each row has room for a multiple of %d entries. With start = the described index of the first\n"
                " * entry of the slice (of the matrix, without slices), entry k of a row lies at start + (where - start) * %d + k %% %d,\n"
                " * where \"where\" is the described index of entry k / %d. This holds for all arrays with the values' index. */\n",
                e->o->within, e->o->within, e->o->within, e->o->within);
}

void emit_cl_begin_part(emitter *e, const tree_format *f, const tree_part *p, const options *o, FILE *out)
{
    memset(e, 0, sizeof *e);
    e->out = e->pr.out = out;
    e->f = f;
    e->p = p;
    e->o = o;
    cl_note_subscripts(p);
    if (o->strategy == OPTIONS_ROWS) e->pr.rows_name = emit_cl_rows_of(e);
    if (o->reuse == OPTIONS_LOCAL) {
        e->pr.staged = options_reused(p);
        e->pr.staged_from = options_row_index(p, e->pr.staged) != NULL;
    }
    if (o->reuse == OPTIONS_IMAGE) e->pr.image = options_reused(p);
}

void emit_cl_print_part(const tree_format *f, const tree_part *p, const options *o, FILE *out, int what)
{
    emitter e;
    emit_cl_begin_part(&e, f, p, o, out);
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
        emit_cl_print_unordered(&e);
    }
}
