/* SPDX-License-Identifier: MIT
 *
 * tools/gen/cl_expr.c - cl_expr.h says what is here.
 */
#include "tools/gen/cl_expr.h"
#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

/* ---- names ------------------------------------------------------------------------------------------------------- */

const char *cl_kind_name(cl_kind k)
{
    static const char *const names[] = {"uint", "IDX", "long"};
    return names[k];
}

const char *cl_type_name(tree_type t)
{
    switch (t) {
    case TREE_DATA_TYPE: return "VAL";
    case TREE_OFFSET_TYPE: return "OFF";
    case TREE_SIGNED_TYPE: return "int";
    case TREE_UINT8_TYPE: return "uchar";
    case TREE_UINT16_TYPE: return "ushort";
    default: return "uint";
    }
}

/* 1 if the word means something in C, OpenCL C, CUDA C++ or the files around the kernel. Their macros are all in capital letters. */
static int reserved(const char *word)
{
    static const char words[] =
        " acc alpha asm auto begin beta body bool break carry case char clz const constant continue count default do double else end enum"
        " extern false fetch first float for global goto half if image inline int lane list lanes local long main max mine min new place"
        " private put r register restrict return rows cols scratch short signed sizeof slab static struct sum switch this true typedef"
        " loaded product tail joined starts cut lid"
        " typename uchar uint ulong union unit unsigned ushort using v void volatile while x x0 xs y y0 u q j_ int2 int4 uint2 uint4 float2"
        " float4 double2 double4 ushort2 ushort4 size_t catch class delete explicit export friend mutable namespace operator protected"
        " public"
        " template throw try typeid virtual and or not xor take leave arrive event pipe kernel finish spmv barrier select ";
    char padded[80];
    const char *c;
    for (c = word; *c && !islower((unsigned char)*c); c++) continue;
    if (!*c) return 1;
    snprintf(padded, sizeof padded, " %s ", word);
    return strstr(words, padded) != NULL;
}

const char *cl_name(const tree_symbol *s)
{
    static char text[4][80]; /* a statement that is printed names fewer at a time */
    static int next;
    if (!strcmp(s->name, "num_cols")) return "cols";
    if (!reserved(s->name) && strlen(s->name) < 60) return s->name;
    next = (next + 1) % 4;
    snprintf(text[next], sizeof text[next], "%.60s_%s", s->name, strlen(s->name) >= 60 ? "long" : "");
    return text[next];
}

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

static cl_kind wider(cl_kind a, cl_kind b) { return a > b ? a : b; }

/* The element that an expression is, by way of locals; NULL if it is none. */
static const tree_expr *element_of(const tree_expr *e)
{
    while (e->kind == TREE_NAME && e->symbol->value) e = e->symbol->value;
    return e->kind == TREE_ELEMENT ? e : NULL;
}

/* 1 for the difference of two elements of one array of pointers, which never fall: it is not negative. */
static int is_length(const tree_expr *e)
{
    const tree_expr *a, *b;
    if (e->kind != TREE_BINARY || e->op != TREE_SUB) return 0;
    a = element_of(e->a);
    b = element_of(e->b);
    return a && b && a->symbol == b->symbol && a->symbol->type != TREE_SIGNED_TYPE && a->symbol->type != TREE_DATA_TYPE;
}

enum { MOST_SUBSCRIPTS = 64 };
static const tree_symbol *subscript[MOST_SUBSCRIPTS];
static int subscripts;

static int is_subscript(const tree_symbol *s)
{
    int i;
    for (i = 0; i < subscripts; i++)
        if (subscript[i] == s) return 1;
    return 0;
}

static void note_in(const tree_expr *e)
{
    if (!e) return;
    if (e->kind == TREE_ELEMENT && e->a->kind == TREE_NAME && subscripts < MOST_SUBSCRIPTS) subscript[subscripts++] = e->a->symbol;
    note_in(e->a);
    note_in(e->b);
    note_in(e->c);
}

static void note_statements(const tree_stmt *s)
{
    for (; s; s = s->next) {
        note_in(s->a);
        note_in(s->b);
        note_statements(s->body);
    }
}

void cl_note_subscripts(const tree_part *p)
{
    subscripts = 0;
    note_statements(p->access);
}

cl_kind cl_kind_of_symbol(const tree_symbol *s)
{
    cl_kind k;
    if (s->kind == TREE_PARAMETER) return !strcmp(s->name, "num_rows") || !strcmp(s->name, "num_cols") ? CL_UINT : CL_IDX;
    if (s->loop) return wider(cl_kind_of(s->loop->a), cl_kind_of_end(s->loop->b));
    k = s->value ? cl_kind_of(s->value) : CL_IDX;
    if (k == CL_LONG && is_subscript(s)) return CL_IDX;
    return (s->kind == TREE_ROW || s->kind == TREE_COL) && k == CL_IDX ? CL_UINT : k;
}

static cl_kind kind_of_binary(const tree_expr *e)
{
    cl_kind a = cl_kind_of(e->a), b = cl_kind_of(e->b);
    switch (e->op) {
    case TREE_MUL:
    case TREE_SHL: return wider(CL_IDX, wider(a, b));
    case TREE_SUB: return is_length(e) ? wider(a, b) : CL_LONG;
    case TREE_MOD:
    case TREE_MASK:
    case TREE_MIN:
        if (a != CL_LONG && b != CL_LONG) return a < b ? a : b;
        return CL_LONG;
    case TREE_SHR: return a;
    case TREE_ADD:
    case TREE_DIV:
    case TREE_MAX:
    case TREE_CEIL: return wider(a, b);
    default: return CL_UINT; /* comparisons */
    }
}

cl_kind cl_kind_of(const tree_expr *e)
{
    switch (e->kind) {
    case TREE_NUMBER: return e->number < 0 ? CL_LONG : e->number > (int64_t)UINT_MAX ? CL_IDX : CL_UINT;
    case TREE_NAME: return cl_kind_of_symbol(e->symbol);
    case TREE_ELEMENT:
        return e->symbol->type == TREE_OFFSET_TYPE ? CL_IDX : e->symbol->type == TREE_SIGNED_TYPE ? CL_LONG : CL_UINT;
    case TREE_NEGATE: return CL_LONG;
    case TREE_SELECT: return wider(cl_kind_of(e->b), cl_kind_of(e->c));
    case TREE_BINARY: return kind_of_binary(e);
    default: return CL_UINT;
    }
}

const tree_symbol *cl_root(const tree_expr *e)
{
    while (e->kind == TREE_NAME && e->symbol->value) e = e->symbol->value;
    return e->kind == TREE_NAME ? e->symbol : NULL;
}

const tree_expr *cl_end(const tree_expr *last)
{
    int one = last->kind == TREE_BINARY && last->op == TREE_SUB && last->b->kind == TREE_NUMBER && last->b->number == 1;
    return one ? last->a : NULL;
}

cl_kind cl_kind_of_end(const tree_expr *last)
{
    const tree_expr *end = cl_end(last);
    return cl_kind_of(end ? end : last);
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

void cl_bind(cl_printer *p, const tree_symbol *s, const char *text)
{
    int i;
    for (i = 0; i < p->count && p->bound[i].symbol != s; i++) continue;
    if (i == CL_MOST_BOUND) return;
    if (i == p->count) p->count++;
    p->bound[i].symbol = s;
    p->bound[i].text = text;
}

static const char *bound_to(const cl_printer *p, const tree_symbol *s)
{
    int i;
    for (i = 0; i < p->count; i++)
        if (p->bound[i].symbol == s) return p->bound[i].text;
    return NULL;
}

static int is_zero(const cl_printer *p, const tree_expr *e)
{
    const char *text;
    if (e->kind == TREE_NUMBER) return e->number == 0;
    if (e->kind == TREE_BINARY && e->op == TREE_MUL) return is_zero(p, e->a) || is_zero(p, e->b);
    if (e->kind != TREE_NAME) return 0;
    text = bound_to(p, e->symbol);
    return text && !strcmp(text, "0");
}

static void print_number(cl_printer *p, int64_t n)
{
    if (n < 0) fprintf(p->out, "(%" PRId64 ")", n);
    else fprintf(p->out, "%" PRId64 "%s", n, n <= INT_MAX ? "" : n <= (int64_t)UINT_MAX ? "u" : "l");
}

void cl_print_symbol(cl_printer *p, const tree_symbol *s, cl_kind kind)
{
    const char *text = bound_to(p, s);
    cl_kind own = cl_kind_of_symbol(s);
    if (text) {
        if (kind != own && text[0] >= 'A') fprintf(p->out, "(%s)", cl_kind_name(kind));
        fputs(text, p->out);
        return;
    }
    if (p->expand && s->value) {
        cl_print(p, s->value, kind, 1);
        return;
    }
    if (s->kind == TREE_PARAMETER && s == p->rows_name) {
        fprintf(p->out, "%srows", kind == CL_UINT ? "" : kind == CL_IDX ? "(IDX)" : "(long)");
        return;
    }
    if (kind != own || (s->kind == TREE_PARAMETER && strcmp(cl_name(s), "cols"))) fprintf(p->out, "(%s)", cl_kind_name(kind));
    fputs(cl_name(s), p->out);
}

/* The kind in which a subscript is worked out. Sums may leave the range of IDX on the way, as it wraps round. */
static cl_kind index_kind(const tree_expr *e)
{
    cl_kind k = cl_kind_of(e);
    return k == CL_LONG ? CL_IDX : k;
}

/* Prints an element with the macro that loads its type past the cache, if it is read once. */
static void print_load(cl_printer *p, const tree_expr *e)
{
    const tree_symbol *a = e->symbol;
    const char *load = NULL;
    if (a->type == TREE_DATA_TYPE) load = "LOAD_VAL";
    else if (a->type == TREE_INDEX_TYPE && p->slot && tree_depends(e->a, p->slot)) load = "LOAD_UINT";
    fprintf(p->out, load ? "%s(%s, " : "%s%s[", load ? load : "", cl_name(a));
    cl_print(p, e->a, index_kind(e->a), 0);
    fputs(load ? ")" : "]", p->out);
}

static void print_element(cl_printer *p, const tree_expr *e, cl_kind kind)
{
    const tree_symbol *a = e->symbol;
    if (a->type == TREE_OFFSET_TYPE || (kind != cl_kind_of(e) && a->type != TREE_DATA_TYPE) || kind == CL_LONG)
        fprintf(p->out, "(%s)", cl_kind_name(kind));
    if (p->block && cl_same(e->a, p->block)) {
        int load = p->block_pointer && a->type == TREE_DATA_TYPE;
        fprintf(p->out, load ? "LOAD_VAL(%s_, %s)" : "%s_[%s]", cl_name(a), p->block_at);
    } else if (a == p->staged) {
        char from[96] = "";
        if (p->staged_from) snprintf(from, sizeof from, " - %.80s_from", cl_name(a));
        fputs("(", p->out);
        cl_print(p, e->a, index_kind(e->a), 1);
        fprintf(p->out, "%s < REUSED ? %s_near[", from, cl_name(a));
        cl_print(p, e->a, index_kind(e->a), 0);
        fprintf(p->out, "%s] : %s[", from, cl_name(a));
        cl_print(p, e->a, index_kind(e->a), 0);
        fputs("])", p->out);
    } else if (a == p->image) {
        fprintf(p->out, "read_image%s(%s, (int)(", a->type == TREE_SIGNED_TYPE ? "i" : "ui", cl_name(a));
        cl_print(p, e->a, index_kind(e->a), 0);
        fputs(")).x", p->out);
    } else {
        print_load(p, e);
    }
}

/* Prints a op b with both operands of one kind. */
static void print_operands(cl_printer *p, const tree_expr *e, cl_kind kind, const char *op)
{
    cl_print(p, e->a, kind, 1);
    fprintf(p->out, " %s ", op);
    cl_print(p, e->b, kind, 1);
}

static void print_call(cl_printer *p, const tree_expr *e, cl_kind kind, const char *function)
{
    fprintf(p->out, "%s((%s)(", function, cl_kind_name(kind));
    cl_print(p, e->a, kind, 0);
    fprintf(p->out, "), (%s)(", cl_kind_name(kind));
    cl_print(p, e->b, kind, 0);
    fputs("))", p->out);
}

/* Prints quotients and remainders, which are rounded down in a description: in C that makes a difference below zero only. */
static void print_quotient(cl_printer *p, const tree_expr *e, cl_kind kind)
{
    if (kind == CL_LONG) {
        print_call(p, e, kind, e->op == TREE_DIV ? "floor_div" : e->op == TREE_MOD ? "floor_mod" : "ceil_div");
    } else if (e->op == TREE_CEIL) {
        cl_print(p, e->a, kind, 1);
        fputs(" / ", p->out);
        cl_print(p, e->b, kind, 1);
        fputs(" + (", p->out);
        print_operands(p, e, kind, "%");
        fputs(" != 0)", p->out);
    } else {
        print_operands(p, e, kind, tree_op_text(e->op));
    }
}

/* Prints a sum or a product; bound zeros are left out. */
static void print_sum(cl_printer *p, const tree_expr *e, cl_kind kind, int tight)
{
    int zero_a = is_zero(p, e->a), zero_b = is_zero(p, e->b);
    if (e->op == TREE_MUL && (zero_a || zero_b)) {
        fputs("0", p->out);
    } else if (e->op == TREE_ADD && zero_a) {
        cl_print(p, e->b, kind, tight);
    } else if (e->op != TREE_MUL && zero_b) {
        cl_print(p, e->a, kind, tight);
    } else {
        int loose_a = e->op != TREE_MUL || (e->a->kind == TREE_BINARY && e->a->op == TREE_MUL);
        int loose_b = e->op == TREE_ADD || (e->op == TREE_SUB && e->b->kind == TREE_BINARY && e->b->op == TREE_MUL);
        int sum_a = e->a->kind == TREE_BINARY && (e->a->op == TREE_ADD || e->a->op == TREE_SUB || e->a->op == TREE_MUL);
        int sum_b = e->b->kind == TREE_BINARY && (e->b->op == TREE_ADD || e->b->op == TREE_SUB || e->b->op == TREE_MUL);
        if (tight) fputs("(", p->out);
        cl_print(p, e->a, kind, !(loose_a && sum_a));
        fprintf(p->out, " %s ", tree_op_text(e->op));
        cl_print(p, e->b, kind, !(loose_b && sum_b));
        if (tight) fputs(")", p->out);
    }
}

static void print_binary(cl_printer *p, const tree_expr *e, cl_kind kind, int tight)
{
    cl_kind own = cl_kind_of(e), both = wider(cl_kind_of(e->a), cl_kind_of(e->b));
    switch (e->op) {
    case TREE_ADD:
    case TREE_SUB:
    case TREE_MUL: print_sum(p, e, kind, tight); return;
    default: break;
    }
    if (kind != own) fprintf(p->out, "(%s)", cl_kind_name(kind));
    if (e->op == TREE_MIN || e->op == TREE_MAX) {
        print_call(p, e, both, tree_op_text(e->op));
        return;
    }
    if (kind != own || tight) fputs("(", p->out);
    switch (e->op) {
    case TREE_DIV:
    case TREE_MOD:
    case TREE_CEIL: print_quotient(p, e, both); break;
    case TREE_SHL:
    case TREE_SHR:
    case TREE_MASK: print_operands(p, e, wider(both, own), tree_op_text(e->op)); break;
    case TREE_AND: print_operands(p, e, CL_UINT, "&&"); break;
    case TREE_OR: print_operands(p, e, CL_UINT, "||"); break;
    default: print_operands(p, e, both, tree_op_text(e->op)); break;
    }
    if (kind != own || tight) fputs(")", p->out);
}

void cl_print(cl_printer *p, const tree_expr *e, cl_kind kind, int tight)
{
    cl_kind own = cl_kind_of(e);
    int sum = e->kind == TREE_BINARY && (e->op == TREE_ADD || e->op == TREE_SUB || e->op == TREE_MUL);
    if (kind < own && (own != CL_LONG || !sum)) { /* the result is known to be small */
        fprintf(p->out, "(%s)(", cl_kind_name(kind));
        cl_print(p, e, own, 0);
        fputs(")", p->out);
        return;
    }
    switch (e->kind) {
    case TREE_NUMBER: print_number(p, e->number); break;
    case TREE_NAME: cl_print_symbol(p, e->symbol, kind); break;
    case TREE_ELEMENT: print_element(p, e, kind); break;
    case TREE_PAD:
        fputs(e->symbol->type == TREE_UINT8_TYPE ? "0xffu" : e->symbol->type == TREE_UINT16_TYPE ? "0xffffu" : "PAD", p->out);
        break;
    case TREE_NEGATE:
        fputs("-", p->out);
        cl_print(p, e->a, CL_LONG, 1);
        break;
    case TREE_NOT:
        fputs("!", p->out);
        cl_print(p, e->a, cl_kind_of(e->a), 1);
        break;
    case TREE_SELECT:
        fputs("(", p->out);
        cl_print(p, e->a, cl_kind_of(e->a), 1);
        fputs(" ? ", p->out);
        cl_print(p, e->b, kind, 1);
        fputs(" : ", p->out);
        cl_print(p, e->c, kind, 1);
        fputs(")", p->out);
        break;
    case TREE_BINARY: print_binary(p, e, kind, tight); break;
    }
}

void cl_print_end(cl_printer *p, const tree_expr *last, cl_kind kind)
{
    const tree_expr *end = cl_end(last);
    if (last->kind == TREE_NUMBER) {
        print_number(p, last->number + 1);
    } else if (end) {
        cl_print(p, end, kind, 1);
    } else {
        fputs("(", p->out);
        cl_print(p, last, kind, 1);
        fputs(" + 1)", p->out);
    }
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* A number from 1 to 65536 that depends on the name, the point and n. */
static int64_t any_number(const char *name, unsigned point, int64_t n)
{
    uint64_t h = 1469598103934665603u ^ (uint64_t)n * 11400714819323198485u;
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 1099511628211u;
    h = (h ^ point) * 1099511628211u;
    h ^= h >> 29;
    return (int64_t)(h * 11400714819323198485u >> 48) + 1;
}

/* Arithmetic that does not overflow: values are only compared. */
static int64_t wrap(uint64_t n) { return (int64_t)n; }

static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q;
    if (b <= 0) return 0;
    q = a / b;
    return a % b < 0 ? q - 1 : q;
}

static int64_t binary_value(tree_op op, int64_t a, int64_t b)
{
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    switch (op) {
    case TREE_ADD: return wrap(ua + ub);
    case TREE_SUB: return wrap(ua - ub);
    case TREE_MUL: return wrap(ua * ub);
    case TREE_DIV: return floor_div(a, b);
    case TREE_MOD: return wrap(ua - (uint64_t)floor_div(a, b) * ub);
    case TREE_SHL: return wrap(ua << (ub & 31));
    case TREE_SHR: return a >> (ub & 31);
    case TREE_MASK: return a & b;
    case TREE_LT: return a < b;
    case TREE_LE: return a <= b;
    case TREE_GT: return a > b;
    case TREE_GE: return a >= b;
    case TREE_EQ: return a == b;
    case TREE_NE: return a != b;
    case TREE_AND: return a && b;
    case TREE_OR: return a || b;
    case TREE_MIN: return a < b ? a : b;
    case TREE_MAX: return a > b ? a : b;
    case TREE_CEIL: return wrap((uint64_t)floor_div(wrap(ua - 1), b) + 1);
    default: return 0;
    }
}

enum { MOST_STEPS = 20000 }; /* of one evaluation: a chain of locals, each of which reads the one before twice, could go on for ever */

static int64_t value_of(const tree_expr *e, const cl_point *at, int *steps);

static int64_t symbol_value(const tree_symbol *s, const cl_point *at, int *steps)
{
    int i;
    for (i = 0; i < at->count; i++)
        if (at->set[i].symbol == s) return at->set[i].value;
    if (s->value && *steps < MOST_STEPS) return value_of(s->value, at, steps);
    return any_number(s->name, at->number, s->place.line * 256 + s->place.column);
}

static int64_t element_value(const tree_symbol *array, int64_t index, const cl_point *at)
{
    size_t i;
    for (i = 0; i < sizeof at->given / sizeof *at->given; i++)
        if (at->given[i].array == array && index >= 0 && index < at->given[i].count) return at->given[i].element[index];
    return any_number(array->name, at->number, index);
}

static int64_t value_of(const tree_expr *e, const cl_point *at, int *steps)
{
    if (++*steps > MOST_STEPS) return *steps; /* different each time, so that nothing seems to be equal */
    switch (e->kind) {
    case TREE_NUMBER: return e->number;
    case TREE_NAME: return symbol_value(e->symbol, at, steps);
    case TREE_ELEMENT: return element_value(e->symbol, value_of(e->a, at, steps), at);
    case TREE_PAD: return 0xffffffff;
    case TREE_NEGATE: return wrap(0 - (uint64_t)value_of(e->a, at, steps));
    case TREE_NOT: return !value_of(e->a, at, steps);
    case TREE_BINARY: return binary_value(e->op, value_of(e->a, at, steps), value_of(e->b, at, steps));
    case TREE_SELECT: return value_of(e->a, at, steps) ? value_of(e->b, at, steps) : value_of(e->c, at, steps);
    }
    return 0;
}

int64_t cl_value(const tree_expr *e, const cl_point *at)
{
    int steps = 0;
    return value_of(e, at, &steps);
}

int cl_same(const tree_expr *a, const tree_expr *b)
{
    cl_point at = {0};
    if (a == b) return 1;
    for (at.number = 0; at.number < CL_POINTS; at.number++)
        if (cl_value(a, &at) != cl_value(b, &at)) return 0;
    return 1;
}

int cl_in_units(const tree_expr *e, const tree_symbol *s, int64_t n, const tree_symbol *other, int64_t others)
{
    cl_point at = {0};
    at.set[0].symbol = s;
    at.set[1].symbol = other;
    at.count = other ? 2 : 1;
    for (at.number = 0; at.number < CL_POINTS; at.number++)
        for (at.set[1].value = 0; at.set[1].value < others; at.set[1].value++) {
            int64_t i, first = 0;
            for (i = 0; i < 4 * n; i++) {
                int64_t v;
                at.set[0].value = i;
                v = cl_value(e, &at);
                if (i % n == 0) first = v;
                if (v != first + i % n || floor_div(first, n) * n != first) return 0;
            }
        }
    return 1;
}

int cl_reads_at(const tree_expr *e, const tree_symbol *array, const tree_expr *index)
{
    if (!e) return 0;
    if (e->kind == TREE_ELEMENT && e->symbol == array && cl_same(e->a, index)) return 1;
    return cl_reads_at(e->a, array, index) || cl_reads_at(e->b, array, index) || cl_reads_at(e->c, array, index);
}

static int floor_in(const tree_expr *e)
{
    if (!e) return 0;
    if (e->kind == TREE_BINARY && (e->op == TREE_DIV || e->op == TREE_MOD || e->op == TREE_CEIL) && kind_of_binary(e) == CL_LONG) return 1;
    return floor_in(e->a) || floor_in(e->b) || floor_in(e->c);
}

int cl_needs_floor(const tree_stmt *s)
{
    for (; s; s = s->next)
        if (floor_in(s->a) || floor_in(s->b) || cl_needs_floor(s->body)) return 1;
    return 0;
}
