/* SPDX-License-Identifier: MIT
 *
 * tools/gen/check.c - the meaning of a parsed description: names, constants, sizes and accesses. shape.c adds the shapes.
 */
#include "tools/gen/check.h"
#include "tools/gen/fold.h"
#include "tools/gen/shape.h"

#include <stdlib.h>
#include <string.h>

/* The locals that have a value at some point of an access, the newest first. */
typedef struct scope {
    tree_symbol *symbol;
    struct scope *older;
} scope;

typedef struct checker {
    tree_format      *f;
    report           *r;
    backend_settings *set;
    tree_part        *part;     /* NULL for the shared parameters */
    int               number;   /* of the part */
    scope            *visible;
    tree_stmt        *val;      /* the assignment of _val, once it was found */
    tree_stmt        *within;   /* the range of rows of a strip, once it was found */
    int               in_size;  /* 1: the expression is the size of an array or the condition of a type */
} checker;

/* ---- names ---- */

/* Words that cannot be names of parameters, arrays or parts, because generated code uses the names in structs of C, C++ and OpenCL C. */
static const char *const reserved[] = {
    "alignas", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "const", "constexpr", "continue", "default", "delete",
    "do", "double", "else", "enum", "explicit", "export", "extern", "false", "float", "friend", "global", "goto", "half", "image", "inline",
    "int", "kernel", "local", "long", "mutable", "namespace", "new", "nullptr", "operator", "private", "protected", "public", "register",
    "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "template", "this", "throw", "true", "try", "typedef",
    "typename", "uchar", "uint", "ulong", "union", "unsigned", "ushort", "using", "virtual", "void", "volatile", "while", "constant",
    "max", "min", "ceil", "PAD", NULL
};

static int is_reserved(const char *name)
{
    int i;
    for (i = 0; reserved[i]; i++)
        if (!strcmp(name, reserved[i])) return 1;
    return 0;
}

static tree_symbol *find_in(tree_symbol *list, const char *name)
{
    while (list && strcmp(list->name, name) != 0) list = list->next;
    return list;
}

/* The parameter, constant or array of that name which the current part can use, or NULL. */
static tree_symbol *find_declared(const checker *c, const char *name)
{
    tree_symbol *s = c->part ? find_in(c->part->parameters, name) : NULL;
    if (!s && c->part) s = find_in(c->part->arrays, name);
    return s ? s : find_in(c->f->shared, name);
}

static tree_symbol *find_local(const checker *c, const char *name)
{
    const scope *s = c->visible;
    while (s && strcmp(s->symbol->name, name) != 0) s = s->older;
    return s ? s->symbol : NULL;
}

/* The kind that a built-in name has; TREE_LOCAL for all other names. */
static tree_symbol_kind kind_of(const char *name)
{
    return !strcmp(name, "_row") ? TREE_ROW : !strcmp(name, "_col") ? TREE_COL : !strcmp(name, "_val") ? TREE_VAL : TREE_LOCAL;
}

/* Checks that a declared name is allowed, and that none of others before it has the same name. */
static void check_name(checker *c, const char *name, tree_place at, const tree_symbol *others)
{
    const tree_symbol *s;
    if (name[0] == '_')
        report_error(c->r, c->f, at, "'%s' begins with an underscore, as only built-in variables do; expected another name", name);
    else if (is_reserved(name))
        report_error(c->r, c->f, at, "'%s' is a word of C, C++, OpenCL C or this language; expected another name", name);
    for (s = others; s; s = s->next) {
        if (s->place.line == at.line && s->place.column == at.column) return;
        if (!strcmp(s->name, name)) {
            report_error(c->r, c->f, at, "'%s' was declared on line %d; expected a new name", name, s->place.line);
            return;
        }
    }
}

/* ---- constants ---- */

/* The setting for a constant: NAME=..., or PART.NAME=... for the constant of one part. NULL if there is none. */
static backend_setting *setting_of(const checker *c, const tree_symbol *s)
{
    backend_setting *found = NULL;
    int i;
    for (i = 0; c->set && i < c->set->count; i++) {
        backend_setting *t = &c->set->set[i];
        const char *dot = strchr(t->name, '.'), *name = dot ? dot + 1 : t->name;
        if (strcmp(name, s->name) != 0) continue;
        if (dot && (!c->part || strncmp(t->name, c->part->name, (size_t)(dot - t->name)) != 0
                    || c->part->name[dot - t->name])) continue;
        t->used = 1;
        if (!found || dot) found = t;
    }
    return found;
}

static int is_choice(const tree_symbol *s, int64_t value)
{
    int i;
    if (s->choices == 1) return value >= 1 && value <= TREE_MAX_CONSTANT;
    for (i = 0; i < s->choices; i++)
        if (s->choice[i] == value) return 1;
    return 0;
}

/* Says which values --set accepts for a constant. */
static void report_choices(checker *c, const tree_symbol *s, const backend_setting *t)
{
    const tree_place nowhere = { 0, 0, 0 };
    char list[256] = "";
    size_t used = 0;
    int i;
    if (!s->choices) {
        report_error(c->r, c->f, nowhere, "--set %s=%s: its value follows from other constants; expected %lld", t->name, t->value,
                     (long long)s->number);
        return;
    }
    for (i = 0; s->choices > 1 && i < s->choices && used < sizeof list - 32; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%lld", i ? ", " : "", (long long)s->choice[i]);
    if (s->choices == 1) snprintf(list, sizeof list, "1 to %d", TREE_MAX_CONSTANT);
    report_error(c->r, c->f, nowhere, "--set %s=%s: expected one of %s", t->name, t->value, list);
}

static tree_expr *resolve(checker *c, tree_expr *e);

/* Works out a constant that follows from others. */
static void set_by_formula(checker *c, tree_symbol *s)
{
    const int before = c->r->errors;
    c->in_size = 1;
    s->formula = resolve(c, s->formula);
    c->in_size = 0;
    if (s->formula->kind == TREE_NUMBER) s->number = s->formula->number;
    if (c->r->errors > before) return;
    if (s->formula->kind != TREE_NUMBER)
        report_error(c->r, c->f, s->formula->place, "the value of '%s' depends on the matrix; expected constants", s->name);
    else if (s->number < 0 || s->number > TREE_MAX_CONSTANT)
        report_error(c->r, c->f, s->formula->place, "'%s' is %lld; expected 0 to %d", s->name, (long long)s->number, TREE_MAX_CONSTANT);
}

/* Checks the values that a constant may have, and sets the first. */
static void set_by_choice(checker *c, tree_symbol *s)
{
    int i;
    s->number = s->choice[0];
    for (i = 0; i < s->choices; i++)
        if (s->choice[i] > TREE_MAX_CONSTANT)
            report_error(c->r, c->f, s->place, "'%s' may be %lld; expected at most %d", s->name, (long long)s->choice[i],
                         TREE_MAX_CONSTANT);
    if (s->choices == 1 && s->choice[0] < 1)
        report_error(c->r, c->f, s->place, "'%s' has the only value 0; expected a positive number, or a list such as '0 | 1'", s->name);
}

/* Sets a constant to the value of --set, or to its usual one. */
static void set_constant(checker *c, tree_symbol *s)
{
    backend_setting *t = setting_of(c, s);
    if (s->formula) set_by_formula(c, s);
    else set_by_choice(c, s);
    s->known = 1;
    if (t) {
        char *end;
        const long long value = strtoll(t->value, &end, 10);
        if (*end || !*t->value || !(s->formula ? value == s->number : is_choice(s, value))) report_choices(c, s, t);
        else s->number = value;
    }
}

/* Checks the names of a list of parameters or arrays, numbers them, and sets constants. */
static void declare_list(checker *c, tree_symbol *list)
{
    tree_symbol *s;
    int position = 0;
    for (s = list; s; s = s->next) {
        if (position == TREE_MAX_SYMBOLS) {
            report_error(c->r, c->f, s->place, "this section has more than %d names; expected fewer", TREE_MAX_SYMBOLS);
            s->next = NULL;
        } else s->position = position++;
        s->part = c->part ? c->number : -1;
        check_name(c, s->name, s->place, list);
        if (c->part && find_in(c->f->shared, s->name))
            report_error(c->r, c->f, s->place, "'%s' is a parameter of all parts; expected a new name", s->name);
        if (s->kind == TREE_ARRAY) {
            if (find_in(c->part->parameters, s->name))
                report_error(c->r, c->f, s->place, "'%s' is a parameter; expected a new name", s->name);
            s->index = c->f->arrays++;
        } else if (s->kind == TREE_PARAMETER) s->index = c->f->parameters++;
        else set_constant(c, s);
    }
}

/* ---- expressions ---- */

/* Replaces a constant by its number; an unknown name by 0, after an error. */
static tree_expr *resolve_name(checker *c, tree_expr *e)
{
    tree_symbol *s = find_local(c, e->name);
    if (!s) s = find_declared(c, e->name);
    e->symbol = s;
    if (s && s->kind == TREE_LOCAL && s->value && s->value->kind == TREE_NUMBER) {
        e->kind = TREE_NUMBER;
        e->number = s->value->number;
    } else if (s && s->kind == TREE_LOCAL) e->depth = s->value ? s->value->depth + 1 : 1;
    else if (s && (s->kind == TREE_ROW || s->kind == TREE_COL)) e->depth = s->value ? s->value->depth + 1 : 1;
    else if (s && s->kind == TREE_CONSTANT && s->known) {
        e->kind = TREE_NUMBER;
        e->number = s->number;
    } else if (s && s->kind == TREE_PARAMETER) return e;
    else {
        if (s && s->kind == TREE_CONSTANT)
            report_error(c->r, c->f, e->place, "'%s' is declared later; expected a constant from above", e->name);
        else if (s && s->kind == TREE_ARRAY)
            report_error(c->r, c->f, e->place, "'%s' is an array; expected an index behind it, as in %s[0]", e->name, e->name);
        else if (kind_of(e->name) == TREE_VAL)
            report_error(c->r, c->f, e->place, "_val is a value of the matrix; expected an integer");
        else if (e->name[0] == '_' && kind_of(e->name) == TREE_LOCAL)
            report_error(c->r, c->f, e->place, "there is no built-in variable '%s'; expected _row or _col", e->name);
        else if (c->in_size)
            report_error(c->r, c->f, e->place, "'%s' is not declared; expected a parameter", e->name);
        else
            report_error(c->r, c->f, e->place, "'%s' has no value here; expected a parameter, a loop variable or a name assigned before",
                         e->name);
        e->kind = TREE_NUMBER;
        e->number = 0;
        e->symbol = NULL;
    }
    return e;
}

/* Resolves the array of symbol[...] or PAD(symbol); after an error, the number 0 takes its place. */
static void resolve_array(checker *c, tree_expr *e)
{
    tree_symbol *s = find_declared(c, e->name);
    if (s && s->kind == TREE_ARRAY && s->type != TREE_DATA_TYPE) {
        if (e->kind == TREE_PAD && s->type == TREE_OFFSET_TYPE)
            report_error(c->r, c->f, e->place, "'%s' has OFFSET_TYPE, which has no padding; expected an array of another type", e->name);
        e->symbol = s;
        return;
    }
    if (s && s->kind == TREE_ARRAY)
        report_error(c->r, c->f, e->place, "'%s' holds values of the matrix; expected an array of integers", e->name);
    else if (find_local(c, e->name) || s)
        report_error(c->r, c->f, e->place, "'%s' is not an array; expected the name of one", e->name);
    else
        report_error(c->r, c->f, e->place, "there is no array '%s'; expected one of the data section", e->name);
    e->kind = TREE_NUMBER;
    e->number = 0;
    e->a = NULL;
}

/* Resolves the names of an expression and folds it. Returns what replaces it. */
static tree_expr *resolve(checker *c, tree_expr *e)
{
    if (e->kind == TREE_NUMBER) return e;
    if (e->kind == TREE_NAME) return resolve_name(c, e);
    if (e->a) e->a = resolve(c, e->a);
    if (e->b) e->b = resolve(c, e->b);
    if (e->c) e->c = resolve(c, e->c);
    e->depth = tree_depth_above(e->a, e->b, e->c);
    if (e->depth > TREE_MAX_DEPTH) {
        report_error(c->r, c->f, e->place, "this has more than %d levels, with those of the locals in it; expected a simpler access",
                     TREE_MAX_DEPTH);
        e->kind = TREE_NUMBER;
        e->depth = 0;
        return e;
    }
    if (e->kind == TREE_ELEMENT || e->kind == TREE_PAD) {
        resolve_array(c, e);
        return e;
    }
    return fold(c->f, e, c->r);
}

/* Checks what is left of an expression after folding: arrays without elements are not read. Marks the arrays and locals that are. */
static void check_reads(checker *c, const tree_expr *e)
{
    if (!e) return;
    if (e->symbol) e->symbol->read = 1;
    if (e->kind == TREE_ELEMENT || e->kind == TREE_PAD) {
        if (e->symbol->absent)
            report_error(c->r, c->f, e->place, "'%s' has size 0 with these constants; expected a condition that avoids this use", e->name);
    }
    check_reads(c, e->a);
    check_reads(c, e->b);
    check_reads(c, e->c);
}

/* ---- the data section ---- */

/* Resolves the type and the size of each array. */
static void check_arrays(checker *c)
{
    tree_symbol *s;
    c->in_size = 1;
    for (s = c->part->arrays; s; s = s->next)
        if (s->type_if) {
            s->type_if = resolve(c, s->type_if);
            if (s->type_if->kind != TREE_NUMBER)
                report_error(c->r, c->f, s->type_if->place, "a type may depend on constants only; expected one such as 'IDX = 32 | 16'");
            else if (!s->type_if->number) s->type = s->type_else;
        }
    for (s = c->part->arrays; s; s = s->next) {
        const int before = c->r->errors;
        s->size = resolve(c, s->size);
        s->absent = c->r->errors == before && s->size->kind == TREE_NUMBER && s->size->number == 0;
        if (s->size->kind == TREE_NUMBER && s->size->number < 0)
            report_error(c->r, c->f, s->size->place, "the size of '%s' is %lld; expected at least 0", s->name, (long long)s->size->number);
        if (s->unique && (s->type == TREE_DATA_TYPE || s->type == TREE_SIGNED_TYPE))
            report_error(c->r, c->f, s->place, "'%s' is __unique; expected an unsigned type", s->name);
    }
    for (s = c->part->arrays; s; s = s->next) check_reads(c, s->size);
    c->in_size = 0;
}

/* Follows the arrays that a size reads. Returns an array whose size depends on itself, or NULL; *state is 1 while an array is being
 * followed and 2 when it is known to be sound. */
static const tree_symbol *circle_in(const tree_expr *e, int *state)
{
    const tree_symbol *found = NULL;
    if (!e) return NULL;
    if (e->kind == TREE_ELEMENT) {
        const tree_symbol *s = e->symbol;
        if (state[s->position] == 1) return s;
        if (!state[s->position]) {
            state[s->position] = 1;
            found = circle_in(s->size, state);
            state[s->position] = 2;
        }
    }
    if (!found) found = circle_in(e->a, state);
    if (!found) found = circle_in(e->b, state);
    return found ? found : circle_in(e->c, state);
}

/* Reports the first size that depends on itself. */
static void check_sizes(checker *c)
{
    const tree_symbol *s;
    int state[TREE_MAX_SYMBOLS] = { 0 };
    for (s = c->part->arrays; s; s = s->next) {
        const tree_symbol *found;
        if (state[s->position]) continue;
        state[s->position] = 1;
        found = circle_in(s->size, state);
        state[s->position] = 2;
        if (!found) continue;
        report_error(c->r, c->f, found->size->place, "the size of '%s' depends on itself; expected parameters, or other arrays",
                     found->name);
        return;
    }
}

/* ---- the access section ---- */

/* Makes a statement's symbol visible, after checking that its name is new here. */
static void bind(checker *c, tree_stmt *s)
{
    const tree_symbol_kind kind = kind_of(s->name);
    const tree_symbol *before = find_local(c, s->name);
    scope *top;
    if (before)
        report_error(c->r, c->f, s->place, "'%s' has a value here, from line %d; expected a new name", s->name, before->place.line);
    else if (find_declared(c, s->name))
        report_error(c->r, c->f, s->place, "'%s' is declared on line %d; expected a new name", s->name,
                     find_declared(c, s->name)->place.line);
    else if (s->name[0] == '_' && kind == TREE_LOCAL)
        report_error(c->r, c->f, s->place, "there is no built-in variable '%s'; expected _row, _col or _val", s->name);
    s->symbol = tree_new_symbol(c->f, kind, s->name, s->place);
    s->symbol->part = c->number;
    if (s->kind == TREE_FOR) s->symbol->loop = s;
    else s->symbol->value = s->a;
    top = (scope *)tree_alloc(c->f, sizeof *top);
    top->symbol = s->symbol;
    top->older = c->visible;
    c->visible = top;
}

/* Checks "_val = array[index]". Returns 0 if _val was assigned before. */
static int check_val(checker *c, tree_stmt *s)
{
    tree_expr *e = s->a;
    tree_symbol *a = e->kind == TREE_ELEMENT ? find_declared(c, e->name) : NULL;
    if (c->val) {
        report_error(c->r, c->f, s->place, "_val is assigned a second time in this part; expected one assignment, that of line %d",
                     c->val->place.line);
        return 0;
    }
    c->val = s;
    if (!a || a->kind != TREE_ARRAY || a->type != TREE_DATA_TYPE) {
        report_error(c->r, c->f, e->place, "_val needs an element of an array of DATA_TYPE; expected _val = array[index]");
        return 1;
    }
    e->a = resolve(c, e->a);
    e->symbol = a;
    e->depth = e->a->depth + 1;
    check_reads(c, e);
    return 1;
}

/* Checks a loop's header and sets its trip count. */
static void check_for(checker *c, tree_stmt *s)
{
    s->a = resolve(c, s->a);
    s->b = resolve(c, s->b);
    check_reads(c, s->a);
    check_reads(c, s->b);
    if (kind_of(s->name) == TREE_VAL) report_error(c->r, c->f, s->place, "_val cannot be a loop variable; expected _val = array[index]");
    if (fold_difference(s->b, s->a, &s->trip)) {
        s->trip++;
        if (s->trip < 1)
            report_error(c->r, c->f, s->place, "this range is empty; expected [first : last] with last >= first");
        if (s->trip > TREE_MAX_CONSTANT)
            report_error(c->r, c->f, s->place, "this range has %lld values; expected at most %d", (long long)s->trip, TREE_MAX_CONSTANT);
    } else s->trip = -1;
}

/* Checks "_row in [a : b]". */
static void check_within(checker *c, tree_stmt *s)
{
    s->a = resolve(c, s->a);
    s->b = resolve(c, s->b);
    check_reads(c, s->a);
    check_reads(c, s->b);
    if (c->within)
        report_error(c->r, c->f, s->place, "line %d limits the rows already; expected one range of rows in each part",
                     c->within->place.line);
    c->within = s;
    if (c->val)
        report_error(c->r, c->f, s->place, "this range of rows has no effect behind the loop; expected it before the loop");
    if (kind_of(s->name) != TREE_ROW)
        report_error(c->r, c->f, s->place, "'%s in' declares a range of rows; expected _row in [first : last], or %s = value", s->name,
                     s->name);
    if (!fold_difference(s->b, s->a, &s->trip) || s->trip < 0 || s->trip >= 256)
        report_error(c->r, c->f, s->place, "the height of a strip must be known and from 1 to 256; expected _row in [e : e + HEIGHT - 1]");
    else s->trip++;
}

/* Resolves a block of statements in order. Returns it without the branches that are never taken. */
static tree_stmt *check_block(checker *c, tree_stmt *first, tree_stmt *parent)
{
    scope *outside = c->visible;
    tree_stmt **link = &first, *s;
    while ((s = *link) != NULL) {
        s->parent = parent;
        if (s->kind == TREE_WITHIN) check_within(c, s);
        else if (s->kind == TREE_LET && kind_of(s->name) == TREE_VAL) {
            if (check_val(c, s)) bind(c, s);
        } else if (s->kind == TREE_LET) {
            s->a = resolve(c, s->a);
            check_reads(c, s->a);
            bind(c, s);
        } else if (s->kind == TREE_FOR) {
            scope *before = c->visible;
            check_for(c, s);
            bind(c, s);
            s->body = check_block(c, s->body, s);
            c->visible = before;
        } else {
            s->a = resolve(c, s->a);
            check_reads(c, s->a);
            if (s->a->kind == TREE_NUMBER && !s->a->number) { /* never taken: leaves out the whole statement */
                *link = s->next;
                continue;
            }
            if (s->a->kind == TREE_NUMBER) { /* always taken: its body takes its place */
                tree_stmt *last = s->body;
                while (last->next) last = last->next;
                last->next = s->next;
                *link = s->body;
                continue;
            }
            s->body = check_block(c, s->body, s);
        }
        link = &s->next;
    }
    c->visible = outside;
    return first;
}

/* The statement among those from s to before end that sets a built-in variable, or NULL. */
static tree_stmt *setter_in(tree_stmt *s, const tree_stmt *end, tree_symbol_kind kind)
{
    for (; s && s != end; s = s->next)
        if (s->kind == TREE_LET && s->symbol->kind == kind) return s;
    return NULL;
}

/* The statement that sets a built-in variable for the element: in the block of _val, or before it in a block around it. */
static tree_stmt *setter_of(const checker *c, tree_symbol_kind kind)
{
    tree_stmt *s = c->val->parent, *inner = NULL;
    for (; s; inner = s, s = s->parent) {
        tree_stmt *found = setter_in(s->body, inner, kind);
        if (found) return found;
        if (s->kind == TREE_FOR && s->symbol->kind == kind) return s;
    }
    return setter_in(c->part->access, inner, kind);
}

/* Reports loops and branches that do not lead to the element. */
static void check_purpose(checker *c, tree_stmt *s)
{
    for (; s; s = s->next) {
        const tree_stmt *around = c->val->parent;
        if (s->kind != TREE_FOR && s->kind != TREE_IF) continue;
        while (around && around != s) around = around->parent;
        if (!around && s->parent == c->val->parent)
            report_error(c->r, c->f, s->place, "this %s shares a block with the assignment of _val; expected _val in the innermost block",
                         s->kind == TREE_FOR ? "loop" : "condition");
        else if (!around)
            report_error(c->r, c->f, s->place, "this %s contains no assignment of _val; expected every loop and condition around it",
                         s->kind == TREE_FOR ? "loop" : "condition");
        else check_purpose(c, s->body);
    }
}

/* Checks that an access sets row, column and value of an element, and nothing else. Returns 0 after an error. */
static int check_element(checker *c)
{
    tree_shape *shape = &c->part->shape;
    const tree_place at = c->part->access ? c->part->access->place : c->part->place;
    if (!c->val) {
        report_error(c->r, c->f, at, "this access never assigns _val; expected _val = array[index]");
        return 0;
    }
    if (!c->val->parent) {
        report_error(c->r, c->f, c->val->place, "_val is assigned outside of every loop; expected a loop around it");
        return 0;
    }
    shape->val_let = c->val;
    shape->row_let = setter_of(c, TREE_ROW);
    shape->col_let = setter_of(c, TREE_COL);
    if (!shape->row_let)
        report_error(c->r, c->f, c->val->place, "this element has no row; expected _row as a loop variable or an assignment");
    if (!shape->col_let)
        report_error(c->r, c->f, c->val->place, "this element has no column; expected _col as a loop variable or an assignment");
    c->val->parent->complete = 1;
    check_purpose(c, c->part->access);
    return shape->row_let && shape->col_let;
}

/* Reports arrays that no statement and no size reads. */
static void check_unread(checker *c)
{
    const tree_symbol *s;
    for (s = c->part->arrays; s; s = s->next)
        if (!s->absent && !s->read)
            report_error(c->r, c->f, s->place, "'%s' is never read; expected a use in the access section, or size 0", s->name);
}

/* Checks a part: its name, its sections in order, its element and its shape. Later steps need the earlier ones without errors. */
static void check_part(checker *c)
{
    const int before = c->r->errors;
    const tree_part *other;
    c->val = NULL;
    c->within = NULL;
    c->visible = NULL;
    if (c->part->name[0]) {
        check_name(c, c->part->name, c->part->place, NULL);
        if (find_in(c->f->shared, c->part->name))
            report_error(c->r, c->f, c->part->place, "'%s' is a parameter; expected a new name", c->part->name);
        for (other = c->f->part; other != c->part; other = other->next)
            if (!strcmp(other->name, c->part->name))
                report_error(c->r, c->f, c->part->place, "part '%s' was declared on line %d; expected a new name", other->name,
                             other->place.line);
    }
    declare_list(c, c->part->parameters);
    declare_list(c, c->part->arrays);
    check_arrays(c);
    if (c->r->errors == before) check_sizes(c);
    c->part->access = check_block(c, c->part->access, NULL);
    if (c->r->errors == before && check_element(c) && c->r->errors == before) {
        check_unread(c);
        shape_of(c->f, c->part, c->r);
    }
}

/* The parameter with that name that every description must have, from the shared ones or those of the only part. */
static tree_symbol *dimension(checker *c, const char *name)
{
    tree_place at = { 1, 1, 1 };
    tree_symbol *list = c->f->part->name[0] ? c->f->shared : c->f->part->parameters, *s = find_in(list, name);
    if (list) at = list->place;
    if (!s) report_error(c->r, c->f, at, "these parameters lack '%s'; expected num_rows and num_cols, the size of the matrix", name);
    else if (s->kind != TREE_PARAMETER)
        report_error(c->r, c->f, s->place, "'%s' has a value here; expected the name alone, as the matrix determines it", name);
    return s;
}

int check_format(tree_format *f, backend_settings *set, report *errors)
{
    checker c;
    const int before = errors->errors;
    memset(&c, 0, sizeof c);
    c.f = f;
    c.r = errors;
    c.set = set;
    f->parameters = f->arrays = 0;
    declare_list(&c, f->shared);
    for (c.part = f->part; c.part; c.part = c.part->next, c.number++) check_part(&c);
    f->num_rows = dimension(&c, "num_rows");
    f->num_cols = dimension(&c, "num_cols");
    return errors->errors > before ? -1 : 0;
}
