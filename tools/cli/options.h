/* SPDX-License-Identifier: MIT
 *
 * tools/cli/options.h - the list of options, what was given of them, and the help that they print.
 */
#ifndef SPMV_TOOLS_CLI_OPTIONS_H
#define SPMV_TOOLS_CLI_OPTIONS_H

#include "cli.h"
#include "spmv.h"

/* X(ID, "name", "value's name or empty for a switch", "what it does"): the only list of options. */
#define OPTION_LIST(X)                                                                                              \
    X(PLAN,    "plan",    "P",    "a plan (ell:w=5+coo), a format or a builder with its keys (hybr:k=2)")           \
    X(VARIANTS, "variants", "all", "the knobs of a plan of one part, combined; a knob behind / stays as it is")  \
    X(EVENTS,  "events",  "",     "time single products by the device's events, not many by the clock")             \
    X(COLD,    "cold",    "",     "as --events, and each product finds the device's caches full of something else") \
    X(BUILDER, "builder", "B",    "a builder, a format or a plan; default auto")                                    \
    X(DEVICE,  "device",  "D",    "host (default), a number, gpu, cpu or part of a name; cuda:0 is the first by CUDA")  \
    X(TYPE,    "type",    "T",    "f64 (default), f32, or mixed: f64 vectors over f32 values")                      \
    X(X,       "x",       "FILE", "the vector x, Matrix Market; default: ones")                                     \
    X(Y,       "y",       "FILE", "the vector y that beta multiplies")                                              \
    X(ALPHA,   "alpha",   "A",    "default 1")                                                                      \
    X(BETA,    "beta",    "B",    "default 0: y is not read")                                                       \
    X(OUT,     "output",  "FILE", "where the result goes (also --out, -o); - or nothing: standard output")           \
    X(JSON,    "json",    "",     "JSON instead of text: one object on a line for each result")                     \
    X(AGAIN,   "again",   "N",    "time the N fastest plans of a file, and the chosen ones, once more side by side")  \
    X(STRICT,  "strict",  "",     "refuse formats that multiply fill by x (an Inf in x could reach other rows)")    \
    X(REPRODUCIBLE, "reproducible", "", "the same bits on the host and on every device, at some cost in speed")     \
    X(EXPLAIN, "explain", "",     "why the library chose so: features, estimates, what else there was")            \
    X(REFINE,  "refine",  "N",    "auto: time the N best options and take the fastest")                             \
    X(CALLS,   "calls",   "N",    "auto: products that analysis and conversion must pay for; default: very many")   \
    X(TABLE,   "table",   "FILE", "auto, cocktail: a tuning table; default: the bundled one for the device")        \
    X(MAX_BYTES, "max-bytes", "N", "refuse a part of more bytes (K, M, G: 2^10, 2^20, 2^30); default: 16 times the CSR form and 16M") \
    X(PAIRS,   "pairs",   "",     "every two values of two knobs together as well")                                 \
    X(BUDGET,  "budget",  "SECONDS", "stop measuring after so long; default: when all is measured")                 \
    X(RESUME,  "resume",  "",     "go on from what an interrupted run left beside the table")                       \
    X(ROWS_MAX, "rows-max", "N",  "no matrix with more rows")                                                       \
    X(MERGE,   "merge",   "",     "put tables of one device together; where two have a sample, the later's counts") \
    X(COMPARE, "compare", "",     "two tables: ratios of rates, and what only one has")                             \
    X(MAX_DIM, "max-dim", "N",    "most rows and columns of a file; default 2^20 + 64 for every nonzero")            \
    X(BRIEF,   "brief",   "",     "three small matrices, a product of integers each: for simulators")                 \
    X(CAPTION, "caption", "TEXT", "what stands below the picture: the date, the machine")                           \
    X(LIST,    "list",    "",     "name the matrices that can be made")                                             \
    X(HELP,    "help",    "",     "this text (also -h)")

/* OPT_PLAN and so on, in the order of the list. */
typedef enum option_id {
#define X(ID, name, value, text) OPT_##ID,
    OPTION_LIST(X)
#undef X
    OPT_COUNT
} option_id;

#define BIT(ID) ((uint64_t)1 << OPT_##ID)

/* What was given to a command. */
typedef struct arguments {
    const char  *value[OPT_COUNT]; /* the last one given; "" for a switch; NULL: not given */
    const char **plan;             /* every --plan, in order, up to the / */
    const char **variant;          /* what follows the /, or NULL */
    int          plans;
    const char **file;             /* what is no option, in order */
    int          files;
} arguments;

/* A command, as it is listed, explained and run. */
typedef struct command {
    const char *name;
    const char *synopsis;    /* what follows the name */
    const char *summary;     /* one line, for spmv --help */
    const char *text;        /* what it does, for its --help */
    const char *fields;      /* headings that end in a colon, and under them what each column or member means; "": none */
    const char *examples;    /* lines "spmv ...  # what it does", that tests/test_cli.sh runs; # (GPU): it needs one */
    uint64_t    takes;       /* BIT()s of its options besides --help */
    int         least, most; /* files */
    int (*run)(tool *t, const arguments *a);
} command;

/* Frees what they hold and zeroes them. Zeroed arguments are allowed. */
void arguments_free(arguments *a);

/* What the words behind the command say, into *a, which the caller frees whatever comes of it; it keeps pointers into argv.
 * DONE, USAGE or FAILED. */
int arguments_parse(tool *t, const command *c, int argc, char **argv, arguments *a);

/* As help2man wants it: the usage, paragraphs, headings that end in a colon, and under them lines of a term, two spaces or more and
 * what it means. */
void command_help(const command *c);

/* The number given for an option, from least to most, or fallback; *result becomes USAGE if it is none. */
double option_real(tool *t, const arguments *a, option_id id, double fallback, double least, double most, int *result);

/* least and most are 0 to 2^53. */
uint64_t option_count(tool *t, const arguments *a, option_id id, uint64_t fallback, uint64_t least, uint64_t most, int *result);

/* The bytes given for an option: a whole number above 0, with K, M or G for 2^10, 2^20 or 2^30 behind it or nothing. 0: not given;
 * *result becomes USAGE if it is no such number. */
uint64_t option_bytes(tool *t, const arguments *a, option_id id, int *result);

/* The type that --type names, or f64; *result becomes USAGE if it names none. */
spmv_type option_type(tool *t, const arguments *a, int *result);

#endif
