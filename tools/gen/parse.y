/* SPDX-License-Identifier: MIT
 *
 * tools/gen/parse.y - the grammar of format descriptions; formats/README.md explains it.
 */
%define api.pure full
%define api.prefix {front_yy}
%define api.header.include {"parse.h"}
%define api.location.type {tree_place}
%define parse.error custom
%define parse.lac full
%locations
%param {void *scanner}
%parse-param {front *p}

%code requires {
#include "tools/gen/front.h"

/* Lists are built at their ends. */
typedef struct front_symbols { tree_symbol *first, *last; } front_symbols;
typedef struct front_stmts { tree_stmt *first, *last; } front_stmts;
typedef struct front_parts { tree_part *first, *last; } front_parts;
typedef struct front_numbers { int64_t *number; int count; } front_numbers;

/* What stands before the name of an array, and the type behind it. */
typedef struct front_mark { int reuse, unique; } front_mark;
typedef struct front_type { tree_type type, other; tree_expr *when; } front_type;
typedef struct front_args { tree_expr *arg[2]; int count; } front_args;
}

%code {
#include <stdio.h>
#include <string.h>

#define YYLLOC_DEFAULT(out, rhs, n) ((out) = joined(&YYRHSLOC(rhs, 0), n))

/* The place of a phrase of n words that begin after words[0]: from the first to the last of them if they are on one line, otherwise the
 * first alone. */
static tree_place joined(const tree_place *words, int n)
{
    tree_place at;
    memset(&at, 0, sizeof at);
    if (!n) return at;
    at = words[1];
    if (words[n].line == at.line && words[n].column >= at.column) at.length = words[n].column - at.column + words[n].length;
    return at;
}

union FRONT_YYSTYPE;
int front_scan_lex(union FRONT_YYSTYPE *value, tree_place *at, void *scanner);
int front_scan_lex_init_extra(front *user, void **scanner);
int front_scan_lex_destroy(void *scanner);
struct yy_buffer_state *front_scan__scan_bytes(const char *text, int bytes, void *scanner);
front *front_scan_get_extra(void *scanner);
static int next_word(union FRONT_YYSTYPE *value, tree_place *at, void *scanner);
#define front_yylex next_word

static void front_yyerror(const tree_place *at, void *scanner, front *p, const char *message);
static tree_expr *binary(front *p, tree_place at, tree_op op, tree_expr *a, tree_expr *b);
static tree_expr *node(front *p, tree_place at, tree_expr_kind kind, tree_expr *a, tree_expr *b, tree_expr *c);
static tree_expr *leaf(front *p, tree_place at, tree_expr_kind kind, const char *name, int64_t number);
static tree_expr *call(front *p, tree_place at, const char *name, front_args args);
static tree_stmt *statement(front *p, tree_place at, tree_stmt_kind kind, const char *name, tree_expr *a, tree_expr *b, tree_stmt *body);
static front_numbers one_more(front *p, front_numbers list, int64_t number);
static tree_symbol *parameter(front *p, tree_place at, const char *name, front_numbers choice);
static tree_symbol *array(front *p, tree_place at, front_mark mark, const char *name, tree_expr *size, front_type type);
static tree_part *part(front *p, tree_place at, const char *name, tree_symbol *parameters, tree_symbol *arrays, tree_stmt *access);
static int deeper(front *p, tree_place at);
static void unknown_type(const front *p, tree_place at, const char *name);

#define APPEND(list, item)                                 \
    do {                                                   \
        if ((list).last) (list).last->next = (item);       \
        else (list).first = (item);                        \
        (list).last = (item);                              \
    } while (0)
}

%union {
    const char   *name;
    int64_t       number;
    tree_type     type;
    tree_expr    *expr;
    tree_stmt    *stmt;
    front_stmts   stmts;
    front_symbols symbols;
    front_parts   parts;
    front_numbers numbers;
    front_mark    mark;
    front_type    types;
    front_args    args;
    tree_symbol  *symbol;
    tree_part    *part;
}

%token WORD_PARAMETERS "'parameters'" WORD_DATA "'data'" WORD_ACCESS "'access'" WORD_PART "'part'"
%token WORD_FOR "'for'" WORD_IN "'in'" WORD_IF "'if'" WORD_AND "'and'" WORD_OR "'or'" WORD_NOT "'not'"
%token WORD_REUSE "'__reuse'" WORD_UNIQUE "'__unique'" WORD_BAD "a faulty word"
%token WORD_SHL "'<<'" WORD_SHR "'>>'" WORD_LE "'<='" WORD_GE "'>='" WORD_EQ "'=='" WORD_NE "'!='"
%token <type> WORD_TYPE "a type"
%token <number> WORD_NUMBER "a number"
%token <name> WORD_NAME "a name"

%type <symbols> parameters parameter_list arrays array_list
%type <symbol> parameter array
%type <numbers> choice
%type <mark> mark
%type <types> type
%type <stmts> access statements block
%type <stmt> statement
%type <expr> expr
%type <args> args
%type <parts> parts
%type <part> part

%right '?' ':'
%left WORD_OR
%left WORD_AND
%precedence WORD_NOT
%nonassoc '<' '>' WORD_LE WORD_GE WORD_EQ WORD_NE
%left '&'
%left WORD_SHL WORD_SHR
%left '+' '-'
%left '*' '/' '%'
%precedence SIGN

%%

description
    : parameters arrays access {
          p->format->part = part(p, @1, "", $1.first, $2.first, $3.first);
          p->format->parts = 1;
      }
    | parameters parts {
          p->format->shared = $1.first;
          p->format->part = $2.first;
      }
    ;

parts
    : part { $$.first = $$.last = $1; p->format->parts = 1; }
    | parts part { $$ = $1; APPEND($$, $2); p->format->parts++; }
    ;

part
    : WORD_PART WORD_NAME ':' parameters arrays access { $$ = part(p, @2, $2, $4.first, $5.first, $6.first); }
    | WORD_PART WORD_NAME ':' arrays access { $$ = part(p, @2, $2, NULL, $4.first, $5.first); }
    ;

parameters
    : WORD_PARAMETERS ':' parameter_list { $$ = $3; }
    ;

parameter_list
    : parameter { $$.first = $$.last = $1; }
    | parameter_list parameter { $$ = $1; APPEND($$, $2); }
    ;

parameter
    : WORD_NAME { front_numbers none = { NULL, 0 }; $$ = parameter(p, @1, $1, none); }
    | WORD_NAME '=' choice { $$ = parameter(p, @1, $1, $3); }
    | WORD_NAME '=' '(' expr ')' {
          $$ = tree_new_symbol(p->format, TREE_CONSTANT, $1, @1);
          $$->formula = $4;
      }
    ;

choice
    : WORD_NUMBER { front_numbers none = { NULL, 0 }; $$ = one_more(p, none, $1); }
    | choice '|' WORD_NUMBER { $$ = one_more(p, $1, $3); }
    ;

arrays
    : WORD_DATA ':' array_list { $$ = $3; }
    ;

array_list
    : array { $$.first = $$.last = $1; }
    | array_list array { $$ = $1; APPEND($$, $2); }
    ;

array
    : mark WORD_NAME '[' expr ']' ':' type { $$ = array(p, @2, $1, $2, $4, $7); }
    ;

mark
    : %empty { $$.reuse = $$.unique = 0; }
    | mark WORD_REUSE { $$ = $1; $$.reuse = 1; }
    | mark WORD_UNIQUE { $$ = $1; $$.unique = 1; }
    ;

type
    : WORD_TYPE { $$.type = $$.other = $1; $$.when = NULL; }
    | expr '?' WORD_TYPE ':' WORD_TYPE { $$.type = $3; $$.other = $5; $$.when = $1; }
    | WORD_NAME { unknown_type(p, @1, $1); YYABORT; }
    ;

access
    : WORD_ACCESS ':' statements { $$ = $3; }
    ;

statements
    : statement { $$.first = $$.last = $1; }
    | statements statement { $$ = $1; APPEND($$, $2); }
    ;

block
    : '{' { if (!deeper(p, @1)) YYABORT; } statements '}' { $$ = $3; p->depth--; }
    ;

statement
    : WORD_FOR WORD_NAME WORD_IN '[' expr ':' expr ']' block { $$ = statement(p, @2, TREE_FOR, $2, $5, $7, $9.first); }
    | WORD_IF expr block { $$ = statement(p, @2, TREE_IF, NULL, $2, NULL, $3.first); }
    | WORD_NAME '=' expr { $$ = statement(p, @1, TREE_LET, $1, $3, NULL, NULL); }
    | WORD_NAME WORD_IN '[' expr ':' expr ']' { $$ = statement(p, @1, TREE_WITHIN, $1, $4, $6, NULL); }
    ;

expr
    : WORD_NUMBER { $$ = leaf(p, @$, TREE_NUMBER, NULL, $1); }
    | WORD_NAME { $$ = leaf(p, @$, TREE_NAME, $1, 0); }
    | WORD_NAME '[' expr ']' { $$ = node(p, @1, TREE_ELEMENT, $3, NULL, NULL); $$->name = $1; }
    | WORD_NAME '(' args ')' { $$ = call(p, @1, $1, $3); if (!$$) YYABORT; }
    | '(' expr ')' { $$ = $2; }
    | '-' expr %prec SIGN { $$ = node(p, @$, TREE_NEGATE, $2, NULL, NULL); }
    | WORD_NOT expr { $$ = node(p, @$, TREE_NOT, $2, NULL, NULL); }
    | expr '+' expr { $$ = binary(p, @$, TREE_ADD, $1, $3); }
    | expr '-' expr { $$ = binary(p, @$, TREE_SUB, $1, $3); }
    | expr '*' expr { $$ = binary(p, @$, TREE_MUL, $1, $3); }
    | expr '/' expr { $$ = binary(p, @$, TREE_DIV, $1, $3); }
    | expr '%' expr { $$ = binary(p, @$, TREE_MOD, $1, $3); }
    | expr WORD_SHL expr { $$ = binary(p, @$, TREE_SHL, $1, $3); }
    | expr WORD_SHR expr { $$ = binary(p, @$, TREE_SHR, $1, $3); }
    | expr '&' expr { $$ = binary(p, @$, TREE_MASK, $1, $3); }
    | expr '<' expr { $$ = binary(p, @$, TREE_LT, $1, $3); }
    | expr '>' expr { $$ = binary(p, @$, TREE_GT, $1, $3); }
    | expr WORD_LE expr { $$ = binary(p, @$, TREE_LE, $1, $3); }
    | expr WORD_GE expr { $$ = binary(p, @$, TREE_GE, $1, $3); }
    | expr WORD_EQ expr { $$ = binary(p, @$, TREE_EQ, $1, $3); }
    | expr WORD_NE expr { $$ = binary(p, @$, TREE_NE, $1, $3); }
    | expr WORD_AND expr { $$ = binary(p, @$, TREE_AND, $1, $3); }
    | expr WORD_OR expr { $$ = binary(p, @$, TREE_OR, $1, $3); }
    | expr '?' expr ':' expr { $$ = node(p, @$, TREE_SELECT, $1, $3, $5); }
    ;

args
    : expr { $$.arg[0] = $1; $$.arg[1] = NULL; $$.count = 1; }
    | args ',' expr { $$ = $1; if ($$.count < 2) $$.arg[$$.count] = $3; $$.count++; }
    ;

%%

/* ---- words ---- */

/* Reads the next word. The end of the file is said to be behind the last word. */
static int next_word(union FRONT_YYSTYPE *value, tree_place *at, void *scanner)
{
    front *p = front_scan_get_extra(scanner);
    const int word = front_scan_lex(value, at, scanner);
    if (word) p->last = *at;
    else {
        at->line = p->last.line;
        at->column = p->last.column + p->last.length;
        at->length = 1;
    }
    return word;
}

/* ---- nodes ---- */

static tree_expr *leaf(front *p, tree_place at, tree_expr_kind kind, const char *name, int64_t number)
{
    tree_expr *e = tree_new_expr(p->format, kind, at);
    e->name = name;
    e->number = number;
    return e;
}

/* Makes an expression of up to three others. check.c refuses it if its depth exceeds TREE_MAX_DEPTH. */
static tree_expr *node(front *p, tree_place at, tree_expr_kind kind, tree_expr *a, tree_expr *b, tree_expr *c)
{
    tree_expr *e = tree_new_expr(p->format, kind, at);
    e->a = a;
    e->b = b;
    e->c = c;
    e->depth = tree_depth_above(a, b, c);
    if (e->depth > TREE_MAX_DEPTH && !p->stop) {
        report_error(p->errors, p->format, at, "this expression has more than %d levels; expected locals for parts of it", TREE_MAX_DEPTH);
        p->stop = 1;
    }
    return e;
}

static tree_expr *binary(front *p, tree_place at, tree_op op, tree_expr *a, tree_expr *b)
{
    tree_expr *e = node(p, at, TREE_BINARY, a, b, NULL);
    e->op = op;
    return e;
}

/* Makes the expression for min, max, ceil or PAD. Returns NULL after an error. */
static tree_expr *call(front *p, tree_place at, const char *name, front_args args)
{
    static const struct { const char *name; tree_op op; } two[] = { { "min", TREE_MIN }, { "max", TREE_MAX }, { "ceil", TREE_CEIL } };
    size_t i;
    if (!strcmp(name, "PAD")) {
        if (args.count == 1 && args.arg[0]->kind == TREE_NAME) return leaf(p, at, TREE_PAD, args.arg[0]->name, 0);
        report_error(p->errors, p->format, at, "expected the name of one array in PAD(array)");
        return NULL;
    }
    for (i = 0; i < sizeof two / sizeof two[0]; i++)
        if (!strcmp(name, two[i].name)) {
            if (args.count == 2) return binary(p, at, two[i].op, args.arg[0], args.arg[1]);
            report_error(p->errors, p->format, at, "%s was given %d argument%s; expected 2", name, args.count, args.count == 1 ? "" : "s");
            return NULL;
        }
    report_error(p->errors, p->format, at, "there is no function '%s'; expected min, max, ceil or PAD", name);
    return NULL;
}

static tree_stmt *statement(front *p, tree_place at, tree_stmt_kind kind, const char *name, tree_expr *a, tree_expr *b, tree_stmt *body)
{
    tree_stmt *s = tree_new_stmt(p->format, kind, at);
    s->name = name;
    s->a = a;
    s->b = b;
    s->body = body;
    return s;
}

/* Appends a number to a list; lists are short, so each step copies the list. */
static front_numbers one_more(front *p, front_numbers list, int64_t number)
{
    front_numbers out;
    out.number = (int64_t *)tree_alloc(p->format, ((size_t)list.count + 1) * sizeof *out.number);
    if (list.count) memcpy(out.number, list.number, (size_t)list.count * sizeof *out.number);
    out.number[list.count] = number;
    out.count = list.count + 1;
    return out;
}

static tree_symbol *parameter(front *p, tree_place at, const char *name, front_numbers choice)
{
    tree_symbol *s = tree_new_symbol(p->format, choice.count ? TREE_CONSTANT : TREE_PARAMETER, name, at);
    s->choice = choice.number;
    s->choices = choice.count;
    return s;
}

static tree_symbol *array(front *p, tree_place at, front_mark mark, const char *name, tree_expr *size, front_type type)
{
    tree_symbol *s = tree_new_symbol(p->format, TREE_ARRAY, name, at);
    s->reuse = mark.reuse;
    s->unique = mark.unique;
    s->size = size;
    s->type = type.type;
    s->type_else = type.other;
    s->type_if = type.when;
    return s;
}

static tree_part *part(front *p, tree_place at, const char *name, tree_symbol *parameters, tree_symbol *arrays, tree_stmt *access)
{
    tree_part *t = (tree_part *)tree_alloc(p->format, sizeof *t);
    t->name = name;
    t->place = at;
    t->parameters = parameters;
    t->arrays = arrays;
    t->access = access;
    return t;
}

/* Enters a block. Returns 0 after an error if blocks lie too deep in each other. */
static int deeper(front *p, tree_place at)
{
    if (++p->depth <= TREE_MAX_NEST) return 1;
    report_error(p->errors, p->format, at, "expected at most %d blocks in each other", TREE_MAX_NEST);
    return 0;
}

/* ---- errors ---- */

static void unknown_type(const front *p, tree_place at, const char *name)
{
    char list[256] = "";
    int i;
    for (i = 0; i < TREE_TYPE_COUNT; i++) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", !i ? "" : i == TREE_TYPE_COUNT - 1 ? " or " : ", ", tree_type_name((tree_type)i));
    }
    report_error(p->errors, p->format, at, "there is no type '%s'; expected %s", name, list);
}

/* Reports what bison has to say besides syntax errors: that its stack is full. */
static void front_yyerror(const tree_place *at, void *scanner, front *p, const char *message)
{
    (void)scanner;
    report_error(p->errors, p->format, *at, "%s; expected fewer brackets in each other", message);
}

static int is_one_of(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(word, *list)) return 1;
    return 0;
}

/* Replaces the words of a group by its name, if all of them are expected. Returns the new number of words. */
static int group(const char **word, int words, const char *const *members, const char *name)
{
    int i, n = 0, found = 0, size = 0;
    while (members[size]) size++;
    for (i = 0; i < words; i++) found += is_one_of(word[i], members);
    if (found < size) return words;
    for (i = 0; i < words; i++)
        if (!is_one_of(word[i], members)) word[n++] = word[i];
    word[n] = name;
    return n + 1;
}

enum { MOST_WORDS = 64 };

/* Reports a syntax error: what was found, and what was expected. */
static int yyreport_syntax_error(const yypcontext_t *context, void *scanner, front *p)
{
    static const char *const operators[] = { "'+'", "'-'", "'*'", "'/'", "'%'", "'<<'", "'>>'", "'&'", "'<'", "'>'", "'<='", "'>='", "'=='",
                                             "'!='", "'and'", "'or'", "'?'", NULL };
    static const char *const comparing[] = { "'+'", "'-'", "'*'", "'/'", "'%'", "'<<'", "'>>'", "'&'", "'and'", "'or'", "'?'", NULL };
    static const char *const beginnings[] = { "a number", "a name", "'('", "'-'", "'not'", NULL };
    static const char *const statements[] = { "'for'", "'if'", "a name", NULL };
    yysymbol_kind_t symbol[MOST_WORDS];
    const char *word[MOST_WORDS + 1];
    const tree_place at = *yypcontext_location(context);
    char text[512] = "";
    int words = yypcontext_expected_tokens(context, symbol, MOST_WORDS), i;
    (void)scanner;
    if (p->stop) return 0;
    for (i = 0; i < words; i++) word[i] = symbol[i] == YYSYMBOL_YYEOF ? "the end of the file" : yysymbol_name(symbol[i]);
    words = group(word, words, beginnings, "an expression");
    words = group(word, words, operators, "an operator");
    words = group(word, words, comparing, "an operator");
    words = group(word, words, statements, "a statement");
    for (i = 0; i < words; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", !i ? "" : i == words - 1 ? " or " : ", ", word[i]);
    }
    if (yypcontext_token(context) == YYSYMBOL_YYEOF) {
        report_error(p->errors, p->format, at, "the file ends here; expected %s", text);
        return 0;
    }
    report_error(p->errors, p->format, at, "found '%.*s'; expected %s", at.length, report_line(p->format, at.line) + at.column - 1, text);
    return 0;
}

int front_parse(tree_format *f, report *errors)
{
    front p;
    void *scanner;
    tree_place top = { 1, 1, 1 };
    const int before = errors->errors;
    int failed;
    memset(&p, 0, sizeof p);
    p.format = f;
    p.errors = errors;
    p.line = p.column = 1;
    p.last.line = p.last.column = 1;
    if (f->bytes > FRONT_MOST_BYTES) {
        report_error(errors, f, top, "this description has %lu bytes; expected at most %d", (unsigned long)f->bytes, FRONT_MOST_BYTES);
        return -1;
    }
    if (front_scan_lex_init_extra(&p, &scanner)) return -1;
    front_scan__scan_bytes(f->text, (int)f->bytes, scanner);
    failed = front_yyparse(scanner, &p);
    front_scan_lex_destroy(scanner);
    return failed || errors->errors > before ? -1 : 0;
}
