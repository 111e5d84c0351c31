/* SPDX-License-Identifier: MIT
 *
 * tools/cli/options.h - the list of options, the parser of arguments, and a command's help.
 */
#ifndef SPMV_TOOLS_CLI_OPTIONS_H
#define SPMV_TOOLS_CLI_OPTIONS_H

#include "cli.h"
#include "spmv.h"

/* X(ID, "name", "value's name or empty for a switch", "what it does"): the only list of options. */
#define OPTION_LIST(X)                                                                                              \
    X(PLAN,    "plan",    "P",    "a plan (ell:w=5+coo), or a format or builder with its keys (hybr:k=2)")          \
    X(VARIANTS, "variants", "all", "try other knobs of a plan of one part; knobs set after / keep their values")    \
    X(EVENTS,  "events",  "",     "time single products by the device's events instead of many by the clock")       \
    X(GRAPH,   "graph",   "",     "record products in a CUDA graph, so that the host's launches are not timed")         \
    X(COLD,    "cold",    "",     "as --events, and fill the device's caches with other data before each product")  \
    X(BUILDER, "builder", "B",    "a builder, a format or a plan (also --plan); default: auto")                     \
    X(DEVICE,  "device",  "D",    "host, a number, gpu, cpu or part of a name; cuda:0 is the first by CUDA; default: host, unless said " \
                                  "otherwise above")                                                                \
    X(SHARES,  "shares",  "A,B,...", "of several devices (--device host+0), the shares of the nonzeros; default: by their speed") \
    X(TYPE,    "type",    "T",    "f64, f32, or mixed (f64 vectors and f32 values); default: f64, unless said otherwise above") \
    X(X,       "x",       "FILE", "the vector x, or several as columns, a Matrix Market file; default: all ones")   \
    X(Y,       "y",       "FILE", "the vector y that beta multiplies, or several")                                  \
    X(ALPHA,   "alpha",   "A",    "default: 1")                                                                     \
    X(BETA,    "beta",    "B",    "default: 0, and y is not read")                                                  \
    X(OUT,     "output",  "FILE", "where to write the result (also --out, -o); default: -, standard output")        \
    X(JSON,    "json",    "",     "print JSON instead of text, one object per line")                                \
    X(TOTAL,   "total",   "N,...", "also print the time until the N-th product, preparing included, for each N")   \
    X(CACHE,   "cache",   "DIR",  "keep the device's programs in this folder, which exists, for the next run")     \
    X(AGAIN,   "again",   "N",    "time the N fastest plans of a file, and the chosen ones, again side by side")    \
    X(STRICT,  "strict",  "",     "refuse formats that multiply fill by x (an Inf in x could reach other rows)")    \
    X(REPRODUCIBLE, "reproducible", "", "give the same bits on the host and on every device, at some cost in speed") \
    X(SIMD,    "simd",    "LEVEL", "on the host, use plain, avx2 or neon instructions; default: the best usable") \
    X(CONVERT, "convert", "WHERE", "on a device, fill the matrix's arrays there (device) or on the host; default: there on GPUs") \
    X(EXPLAIN, "explain", "",     "print the reasons for the choice: features, estimates, other options")           \
    X(CALLS,   "calls",   "N",    "auto, measure: the products over which analysis and conversion must pay off; default: 1000") \
    X(TABLE,   "table",   "FILE", "auto, measure, cocktail: the tuning table to use; default: the bundled one for the device") \
    X(MAX_BYTES, "max-bytes", "N", "refuse parts larger than N bytes (K, M, G: 2^10, 2^20, 2^30); default: 16 times the CSR form and 16M") \
    X(PAIRS,   "pairs",   "",     "also try every pair of values of two knobs")                                     \
    X(BUDGET,  "budget",  "SECONDS", "end after about this time, fits included; default: measure everything")        \
    X(SAMPLES, "samples", "FILE", "the file that keeps all samples; those that it has count as well")                      \
    X(FIT,     "fit",     "FILE", "only fit the costs to the samples in FILE; measure nothing")                        \
    X(FROM,    "from",    "TABLE", "the table to begin with; default: the bundled one of the device or its class")      \
    X(ALL,     "all",     "",     "measure every layout and choose the candidates of the table anew")                  \
    X(CANDIDATES, "candidates", "N", "with --all or --fit, choose up to N candidates by the samples; with --all, default: 24") \
    X(MAX_DIM, "max-dim", "N",    "accept files with up to N rows and columns; default: 2^20 + 64 for every nonzero") \
    X(TRANSPOSED, "transposed", "", "multiply by the transpose of a matrix that is prepared for both")               \
    X(BOTH,    "both",    "",     "prepare the transpose as well, and time products with both, alone and in turn")  \
    X(VECTORS, "vectors", "N",    "also time products of N vectors at once, one after another in memory and side by side") \
    X(TRANSPOSE, "transpose", "", "take the transpose of the matrix in the file")                                   \
    X(BRIEF,   "brief",   "",     "try only one product of integers with each of three small matrices, for simulators") \
    X(PREPARED, "prepared", "",   "write the matrix as a plan stores it on the host, to be used without conversion")  \
    X(C_ARRAY, "c-array", "",     "the same as a C file with one array, for spmv_use")                              \
    X(CAPTION, "caption", "TEXT", "text to print below the picture, such as the date and the machine")              \
    X(LIST,    "list",    "",     "print the names that can be given instead of doing anything else")               \
    X(HELP,    "help",    "",     "print this text (also -h)")

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
    const char **variant;          /* the text after the /, or NULL */
    int          plans;
    const char **file;             /* the other arguments, in order */
    int          files;
} arguments;

/* A command: its help, its options and its function. */
typedef struct command {
    const char *name;
    const char *synopsis;    /* the arguments after the name */
    const char *summary;     /* one line, for spmv --help */
    const char *text;        /* the description in its --help */
    const char *fields;      /* headings that end in a colon, and below each the meaning of its columns or members; "": none */
    const char *examples;    /* lines "spmv ...  # what it does", which tests/test_cli.sh runs; # (GPU): needs a GPU */
    uint64_t    takes;       /* BIT()s of its options besides --help */
    int         least, most; /* number of arguments that are not options */
    int (*run)(tool *t, const arguments *a);
} command;

/* Frees the arrays and zeroes *a. Zeroed arguments are allowed. */
void arguments_free(arguments *a);

/* Parses the words after the command's name into *a, which holds pointers into argv. The caller frees *a in any case. Returns DONE, or
 * USAGE or FAILED after a message. */
int arguments_parse(tool *t, const command *c, int argc, char **argv, arguments *a);

/* Prints a command's help in the form that help2man expects: the usage, paragraphs, headings that end in a colon, and below these
 * lines with a term, two spaces or more, and its meaning. */
void command_help(const command *c);

/* The number given for an option, from least to most, or fallback if the option is absent. *result becomes USAGE, after a message, if
 * the text is not such a number. */
double option_real(tool *t, const arguments *a, option_id id, double fallback, double least, double most, int *result);

/* The same for a whole number; least and most are from 0 to 2^53. */
uint64_t option_count(tool *t, const arguments *a, option_id id, uint64_t fallback, uint64_t least, uint64_t most, int *result);

/* The number of bytes given for an option: a whole number above 0, optionally followed by K, M or G for 2^10, 2^20 or 2^30. 0 if the
 * option is absent; *result becomes USAGE, after a message, if the text is not such a number. */
uint64_t option_bytes(tool *t, const arguments *a, option_id id, int *result);

/* The type that --type names, f64 if the option is absent; *result becomes USAGE, after a message, if there is no such type. */
spmv_type option_type(tool *t, const arguments *a, int *result);

/* The level of instructions that --simd names, SPMV_SIMD_BEST if the option is absent; *result becomes USAGE, after a message, if
 * there is no such level. Whether this machine has it is found out when a part is built. */
spmv_simd option_simd(tool *t, const arguments *a, int *result);

/* Where --convert wants the arrays to be filled; *result becomes USAGE, after a message, if it is neither host nor device. */
spmv_conversion option_convert(tool *t, const arguments *a, int *result);

#endif
