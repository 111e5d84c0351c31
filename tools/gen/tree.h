/* SPDX-License-Identifier: MIT
 *
 * tools/gen/tree.h - the description of a matrix format as a tree, which the front end of spmvgen builds and back ends read.
 *
 * A description has one part, or several if the format is a composite (hyb). The product of a composite is the sum of the products of its
 * parts. Each part has parameters, arrays, and one access: nested statements that enumerate the stored elements.
 *
 *     text --scan.l, parse.y--> tree --check.c--> checked tree --emit_*.c--> OpenCL C, CUDA C or C99
 *
 * parse.y makes expressions and statements and leaves symbols unresolved. check.c then
 *   - resolves every name to a tree_symbol,
 *   - gives each constant (a parameter with a value, such as "BH = 4") its value from --set or its default, and folds: what depends on
 *     constants alone becomes a TREE_NUMBER (so does a local whose value is a number), and branches that can never be taken are removed,
 *   - sets the results below "set by check.c", among them the tree_shape of each part.
 * Back ends read only checked trees. All integer arithmetic in a description is exact and signed; the validator of emit_c.c makes sure
 * that nothing in a stored matrix exceeds 63 bits. Loops include both ends of their range, as in Figure 2 of the paper.
 *
 * An example, the CSR format of Figure 2 as a checked tree:
 *
 *     FOR _row in [0 : num_rows - 1]             symbol _row, kind TREE_ROW, loop = this statement; shape.row_loop[0]
 *         LET s = rowPtr[_row]                   symbol s, kind TREE_LOCAL, value = the TREE_ELEMENT
 *         LET e = rowPtr[_row + 1]
 *         FOR i in [s : e - 1]                   shape.slot_loop[0]; trip = -1, since its length is only known at run time
 *             LET _col = colIdx[i]
 *             LET _val = values[i]               the element is complete at the end of the body with this statement
 *
 * Everything is allocated in one arena and freed by tree_free. No structure is changed after check.c.
 */
#ifndef SPMV_TOOLS_GEN_TREE_H
#define SPMV_TOOLS_GEN_TREE_H

#include <stddef.h>
#include <stdint.h>

/* A place in the description: lines and columns count from 1; length is the number of bytes on that line. Line 0: nowhere. */
typedef struct tree_place {
    int line, column, length;
} tree_place;

/* ---- element types ------------------------------------------------------------------------------------------------
 * X(NAME, "NAME", bits, signed): what arrays hold. DATA_TYPE is the value type of the generated code; INDEX_TYPE holds rows, columns and
 * counts; OFFSET_TYPE holds positions in other arrays and has 32 or 64 bits, as the option "offset" says. */
#define TREE_TYPE_LIST(X)                \
    X(DATA,   "DATA_TYPE",   0,  1)      \
    X(INDEX,  "INDEX_TYPE",  32, 0)      \
    X(OFFSET, "OFFSET_TYPE", 0,  0)      \
    X(SIGNED, "SIGNED_TYPE", 32, 1)      \
    X(UINT8,  "UINT8_TYPE",  8,  0)      \
    X(UINT16, "UINT16_TYPE", 16, 0)

typedef enum tree_type {
#define X(NAME, name, bits, sign) TREE_##NAME##_TYPE,
    TREE_TYPE_LIST(X)
#undef X
    TREE_TYPE_COUNT
} tree_type;

/* ---- symbols ------------------------------------------------------------------------------------------------------ */
typedef enum tree_symbol_kind {
    TREE_PARAMETER, /* an integer that is known when the matrix is: num_rows */
    TREE_CONSTANT,  /* an integer that is known when the kernel is compiled: BH = 4. Checked trees contain its number instead */
    TREE_ARRAY,
    TREE_LOCAL,     /* an integer of the access: a loop variable, or the left side of an assignment */
    TREE_ROW,       /* _row, _col: built-in; like a local, either a loop variable or the left side of an assignment */
    TREE_COL,
    TREE_VAL        /* _val: built-in, the left side of exactly one assignment in each part */
} tree_symbol_kind;

typedef struct tree_expr tree_expr;
typedef struct tree_stmt tree_stmt;
typedef struct tree_symbol tree_symbol;

struct tree_symbol {
    tree_symbol_kind kind;
    const char *name;
    tree_place  place;        /* where it is declared */
    tree_symbol *next;        /* the next parameter, constant or array of its part, in the order of the text */
    int         part;         /* the number of its part; -1: shared by all parts (parameters before the first part) */
    int         index;        /* parameters: number among those of the whole description; arrays: likewise */
    int         read;         /* set by check.c: 1: a statement or a size reads it; an assignment of a local that nothing reads, because
                                 of folding, may be left out */

    /* constants */
    int64_t     number;       /* the value in use */
    int64_t    *choice;       /* the values that --set accepts, the default first; with one choice alone, any from 1 to TREE_MAX_CONSTANT */
    int         choices;      /* 0: the value follows from constants before it */
    tree_expr  *formula;      /* how, or NULL */
    int         known;        /* set by check.c: 1: number is set */

    /* arrays */
    tree_type   type;         /* set by check.c if the text says "cond ? TYPE : TYPE" */
    tree_expr  *type_if;      /* the text's condition, or NULL */
    tree_type   type_else;
    tree_expr  *size;         /* number of elements; it may depend on parameters and on elements of other arrays */
    int         reuse;        /* 1: declared __reuse: the paper's hint that its elements are read many times */
    int         unique;       /* 1: declared __unique: no number occurs twice, as in a row list; the validator checks it */
    int         position;     /* set by check.c: its number among the arrays of its part */
    int         absent;       /* set by check.c: 1: the size is the number 0, so no statement reads it; the array is not passed */

    /* locals, _row and _col: one of the two is set */
    tree_expr  *value;        /* the right side of its only assignment */
    tree_stmt  *loop;         /* the loop that runs over it */
    struct tree_memo *memo;   /* of tree.c, so that locals which are read often are followed once */
};

enum { TREE_MAX_CONSTANT = 1 << 20 }; /* the largest value of a constant, so that folding never overflows */

enum {
    TREE_MAX_DEPTH = 100, /* levels of an expression, counting those of the locals in it */
    TREE_MAX_NEST = 24,   /* blocks in each other */
    TREE_MAX_SYMBOLS = 32 /* parameters or arrays of one section */
};

/* ---- expressions -------------------------------------------------------------------------------------------------- */
typedef enum tree_expr_kind {
    TREE_NUMBER,  /* number */
    TREE_NAME,    /* symbol: a parameter, a local, _row or _col (before check.c, also a constant) */
    TREE_ELEMENT, /* symbol[a] */
    TREE_PAD,     /* PAD(symbol): the largest number of the array's type, which marks unused slots. Checked trees keep it */
    TREE_NEGATE,  /* -a */
    TREE_NOT,     /* not a */
    TREE_BINARY,  /* a op b */
    TREE_SELECT   /* a ? b : c */
} tree_expr_kind;

/* X(NAME, "as written"). Quotients are rounded down; a divisor or the b of ceil must be positive and shifts are from 0 to 62, which the
 * validator checks. AND and OR evaluate b only if a does not decide. Comparisons, AND, OR and NOT give 0 or 1. */
#define TREE_OP_LIST(X)                                                                                     \
    X(ADD, "+") X(SUB, "-") X(MUL, "*") X(DIV, "/") X(MOD, "%") X(SHL, "<<") X(SHR, ">>") X(MASK, "&")      \
    X(LT, "<") X(LE, "<=") X(GT, ">") X(GE, ">=") X(EQ, "==") X(NE, "!=") X(AND, "and") X(OR, "or")         \
    X(MIN, "min") X(MAX, "max") X(CEIL, "ceil") /* min(a, b), max(a, b), ceil(a, b): a / b rounded up */

typedef enum tree_op {
#define X(NAME, text) TREE_##NAME,
    TREE_OP_LIST(X)
#undef X
    TREE_OP_COUNT
} tree_op;

struct tree_expr {
    tree_expr_kind kind;
    tree_op     op;
    tree_place  place;
    int64_t     number;
    const char *name;         /* as written, for TREE_NAME, TREE_ELEMENT and TREE_PAD */
    tree_symbol *symbol;      /* set by check.c */
    tree_expr  *a, *b, *c;
    int         depth;        /* levels of expressions below it; at most TREE_MAX_DEPTH, so that functions may recurse */
};

/* ---- statements --------------------------------------------------------------------------------------------------- */
typedef enum tree_stmt_kind {
    TREE_FOR,    /* for symbol in [a : b] { body } */
    TREE_LET,    /* symbol = a; a name is assigned once in its block and never changes */
    TREE_IF,     /* if a { body } */
    TREE_WITHIN  /* _row in [a : b]: every element of the rest of this block has its row in this range. b - a + 1 is static: the strip's
                    height. The validator checks it; kernels rely on it to keep one sum for each row of the strip */
} tree_stmt_kind;

struct tree_stmt {
    tree_stmt_kind kind;
    tree_place  place;
    const char *name;         /* of the symbol, as written */
    tree_symbol *symbol;      /* TREE_FOR, TREE_LET: set by check.c; a symbol of its own for each statement */
    tree_expr  *a, *b;
    tree_stmt  *body;         /* TREE_FOR, TREE_IF: the first statement, or NULL */
    tree_stmt  *next;         /* the next statement of the same block */

    /* set by check.c */
    tree_stmt  *parent;       /* the FOR or IF around it, or NULL */
    int64_t     trip;         /* TREE_FOR: number of iterations if it is static, else -1. WITHIN: the height */
    int         complete;     /* 1 for the FOR or IF whose body contains the assignment of _val: there the element is complete, and its body
                                 has no other FOR or IF */
};

/* ---- what kernels need to know of an access --------------------------------------------------------------------------
 * The loops around the element, outermost first, are row loops, then slot loops, then block loops; any number may be missing.
 *   row loops    enumerate rows, or block rows of height rows. One loop (csr, ell, bcsr); two for formats in slices: the slices, and the
 *                rows of a slice (sell, sbell). None: rows come in any order (coo)
 *   slot loops   enumerate the stored slots of a row, of a block row or of a strip; for dia and bdia its bands and diagonals
 *   block loops  have static trip counts and enumerate the elements of a block: its rows, then its columns, in any order
 * Rows within a block row: _row = first row of the block row + the variable of block_row_loop. */
typedef enum tree_rows {
    TREE_ROWS_SINGLE, /* one row for each iteration of the row loops: 1 or n items a row */
    TREE_ROWS_BLOCK,  /* block rows of height rows, of which block_row_loop is the inner loop */
    TREE_ROWS_STRIP,  /* strips of height rows, whose elements come in any order (cmrs; TREE_WITHIN) */
    TREE_ROWS_ANY     /* no row loops (coo): sequential, or atomic */
} tree_rows;

/* How adjacent items best share the slots. It follows from the strides below. */
typedef enum tree_order {
    TREE_ORDER_CONTIGUOUS,   /* slots of one row are adjacent: n items a row coalesce (csr, bcsr, cmrs, dense) */
    TREE_ORDER_COLUMN_MAJOR, /* the same slot of adjacent rows is adjacent: one item a row coalesces (ell, dia, sell) */
    TREE_ORDER_OTHER
} tree_order;

enum { TREE_MAX_LOOPS = 8 }; /* around the element */

typedef struct tree_shape {
    tree_rows   rows;
    tree_order  order;
    int         row_loops, slot_loops, block_loops;
    tree_stmt  *row_loop[TREE_MAX_LOOPS], *slot_loop[TREE_MAX_LOOPS], *block_loop[TREE_MAX_LOOPS];
    tree_stmt  *block_row_loop;  /* the block loop that enumerates rows, or NULL */
    tree_stmt  *within;          /* the TREE_WITHIN of a strip, or NULL */
    int64_t     height;          /* rows of a block row or strip; 1 for TREE_ROWS_SINGLE and TREE_ROWS_ANY */
    int         varying;         /* 1: two row loops, the length of the second is different for each slice (sell with slice_row) */
    int64_t     row_stride;      /* step of the values' index from one iteration of the innermost row loop to the next; 0: not a number */
    int64_t     slot_stride;     /* likewise for the innermost slot loop */
    tree_stmt  *row_let;         /* the statement that sets _row: TREE_LET, or TREE_FOR if it is a loop variable */
    tree_stmt  *col_let;         /* likewise for _col */
    tree_stmt  *val_let;         /* the assignment of _val; its a is a TREE_ELEMENT of an array of type DATA_TYPE */
} tree_shape;

/* ---- parts and descriptions ---------------------------------------------------------------------------------------- */
typedef struct tree_part tree_part;
struct tree_part {
    const char *name;         /* "" if the description has no parts */
    tree_place  place;
    tree_symbol *parameters;  /* parameters and constants, linked by next, as are arrays */
    tree_symbol *arrays;
    tree_stmt  *access;
    tree_part  *next;
    tree_shape  shape;        /* set by check.c */
};

typedef struct tree_arena tree_arena;

typedef struct tree_format {
    const char *name;         /* of the format: the file's name without directories and suffix */
    const char *file;         /* as messages name it */
    const char *text;         /* the description, for the source lines in messages */
    size_t      bytes;
    tree_symbol *shared;      /* parameters before the first part: num_rows and num_cols, those of the matrix, and others */
    tree_part  *part;         /* the first of the parts; without "part" in the text, the only one, and shared is NULL */
    int         parts;
    tree_symbol *num_rows, *num_cols; /* set by check.c: the parameters with these names, which every description has */
    int         parameters, arrays;   /* set by check.c: how many there are in all parts (parameters without constants) */
    tree_arena *arena;
} tree_format;

/* ---- functions ------------------------------------------------------------------------------------------------------ */

/* Allocates zeroed memory that lives as long as the format. Ends the program if there is none. */
void *tree_alloc(tree_format *f, size_t bytes);
/* A copy of length bytes of text with a terminator, in the arena. */
const char *tree_text(tree_format *f, const char *text, size_t length);
/* Frees all that belongs to the format; f itself belongs to the caller. */
void tree_free(tree_format *f);

/* A new symbol, expression or statement; it copies the name, which may be NULL. */
tree_symbol *tree_new_symbol(tree_format *f, tree_symbol_kind kind, const char *name, tree_place place);
tree_expr *tree_new_expr(tree_format *f, tree_expr_kind kind, tree_place place);
tree_stmt *tree_new_stmt(tree_format *f, tree_stmt_kind kind, tree_place place);

/* A type as written, its bits (0: depends on options) and whether it is signed. */
const char *tree_type_name(tree_type t);
int tree_type_bits(tree_type t);
int tree_type_signed(tree_type t);
/* An operator as written. */
const char *tree_op_text(tree_op op);

/* What an expression is after following the assignments of locals, _row and _col. */
const tree_expr *tree_behind(const tree_expr *e);
/* One more than the largest depth of up to three expressions, which may be NULL. */
int tree_depth_above(const tree_expr *a, const tree_expr *b, const tree_expr *c);
/* 1 if the value of e depends on the symbol, also by way of locals. */
int tree_depends(const tree_expr *e, const tree_symbol *s);
/* Returns 1 and sets *step if e grows by the same number whenever s grows by 1; locals are followed. Returns 0 otherwise. */
int tree_step(const tree_expr *e, const tree_symbol *s, int64_t *step);

#endif
