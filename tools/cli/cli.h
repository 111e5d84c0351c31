/* SPDX-License-Identifier: MIT
 *
 * tools/cli/cli.h - what every command shares: messages, progress, options. Part of tools/spmv.c.
 */
#ifndef SPMV_TOOLS_CLI_H
#define SPMV_TOOLS_CLI_H

#include <errno.h>
#include <float.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Exit statuses, promised in --help. */
enum { DONE = 0, FAILED = 1, USAGE = 2 };

#if defined(__GNUC__)
#  define LIKE_PRINTF(text, rest) __attribute__((format(printf, text, rest)))
#else
#  define LIKE_PRINTF(text, rest)
#endif

/* ---- messages ---------------------------------------------------------------------------------------------------- */

typedef struct tool {
    const char *command;
    const char *about;     /* the file or plan that messages speak of; NULL: the command */
    int         keep;      /* 1: what the library says is kept in text, to be printed in the plan's own line */
    char        text[2048];
    int         silent;    /* 1: what the library says was said before, and better */
    spmv_hooks  hooks;     /* of every library call */
    int         terminal;  /* 1: stderr is a terminal, so progress may be drawn */
    int         drawn;     /* 1: a progress line stands there */
    double      since;     /* when the present piece of work began, seconds */
    double      last;      /* when progress was last drawn */
    double      told;      /* off a terminal: when a line of progress was last printed, or the program began */
    uint64_t    max_dim;   /* most rows and columns that files may have, 0: as spmv_mm_options says */
    int         events;    /* 1: devices are timed by the events of one product; 0: by the clock, over products that follow each other */
    int         cold;      /* 1: what is timed finds the device's caches full of something else */
} tool;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void progress_clear(tool *t)
{
    if (t->drawn) fputs("\r\033[K", stderr);
    t->drawn = 0;
}

static void progress_begin(tool *t)
{
    progress_clear(t);
    t->since = t->last = seconds();
}

enum { PROGRESS_LINE_SECONDS = 30 }; /* off a terminal a log should show that work goes on, and not fill */

/* 1: progress may be told now: on a terminal after the first second and ten times a second, elsewhere a line now and then. */
static int progress_due(const tool *t)
{
    double now = seconds();
    if (!t->terminal) return now - t->told >= PROGRESS_LINE_SECONDS;
    return now - t->since >= 1.0 && now - t->last >= 0.1;
}

/* Draws over the line before on a terminal, prints a line elsewhere. */
LIKE_PRINTF(2, 3) static void progress_say(tool *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (t->terminal) fputc('\r', stderr);
    else fprintf(stderr, "spmv %s: ", t->command);
    vfprintf(stderr, format, list);
    fputs(t->terminal ? "\033[K" : "\n", stderr);
    fflush(stderr);
    va_end(list);
    t->drawn = t->terminal;
    t->last = t->told = seconds();
}

/* Begins work that cannot say how far it is, so that a terminal shows its name at once. */
static void progress_name(tool *t, const char *what, const char *name)
{
    progress_begin(t);
    if (t->terminal || progress_due(t)) progress_say(t, "%s %.60s ...", what, name);
}

/* Tells "what part%" (part < 0: unknown) if it is time to. */
static void progress(tool *t, const char *what, double part)
{
    if (!progress_due(t)) return;
    if (part < 0) progress_say(t, "%.60s ... %.0f s", what, seconds() - t->since);
    else progress_say(t, "%.60s ... %3.0f%%", what, 100 * (part > 1 ? 1 : part));
}

/* One line on stderr; returns FAILED. */
LIKE_PRINTF(2, 3) static int complain(tool *t, const char *format, ...)
{
    va_list list;
    progress_clear(t);
    if (t->about) fprintf(stderr, "spmv: %s: ", t->about);
    else fprintf(stderr, "spmv %s: ", t->command);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    return FAILED;
}

/* A mistake in the command line; returns USAGE. */
LIKE_PRINTF(2, 3) static int misuse(tool *t, const char *format, ...)
{
    va_list list;
    fprintf(stderr, "spmv %s: ", t->command);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fprintf(stderr, "; see spmv %s --help\n", t->command);
    return USAGE;
}

static int no_memory(tool *t)
{
    return complain(t, "memory could not be allocated");
}

/* spmv_hooks.log: kept or printed, each message once. */
static void hear(void *user, spmv_status s, const char *message)
{
    tool *t = (tool *)user;
    size_t used = strlen(t->text);
    (void)s;
    if (t->silent) return;
    if (!t->keep) complain(t, "%s", message);
    else if (used + 3 < sizeof t->text)
        snprintf(t->text + used, sizeof t->text - used, "%s%s", used ? "; " : "", message);
}

static void tool_init(tool *t, const char *command)
{
    memset(t, 0, sizeof *t);
    t->command = command;
    t->terminal = isatty(STDERR_FILENO);
    t->told = seconds();
#ifdef SIGXFSZ
    signal(SIGXFSZ, SIG_IGN); /* a limit on files' sizes then is an error as a full disk is */
#endif
    t->hooks.user = t;
    t->hooks.log = hear;
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

/* Flushes stdout: a full disk must not look like success. */
static int finish_output(tool *t, int result)
{
    t->about = NULL;
    if (fflush(stdout) != 0 || ferror(stdout)) return complain(t, "standard output: %s", strerror(errno));
    return result;
}

static int is_infinite_or_nan(double v)
{
    return !(v - v == 0);
}

/* Bytes of the UTF-8 character at p; 0: there is none. */
static int utf8_length(const unsigned char *p)
{
    int n = *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 : *p >= 0xe0 && *p < 0xf0 ? 3 : *p >= 0xf0 && *p < 0xf5 ? 4 : 0, i;
    for (i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if (n == 3 && ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f))) return 0; /* too long, or half of a pair */
    if (n == 4 && ((*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))) return 0;
    return n;
}

/* text NULL: null. JSON is UTF-8: a byte that is not (a file's name may have any) becomes U+FFFD. */
static void json_text(const char *key, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    int n;
    printf("\"%s\": ", key);
    if (!text) { fputs("null", stdout); return; }
    putchar('"');
    for (; *p; p += n ? n : 1) {
        n = utf8_length(p);
        if (*p == '"' || *p == '\\') printf("\\%c", *p);
        else if (*p < 0x20 || *p == 0x7f) printf("\\u%04x", *p);
        else if (!n) fputs("\\ufffd", stdout);
        else fwrite(p, 1, (size_t)n, stdout);
    }
    putchar('"');
}

/* JSON knows no Infinity and no NaN: those are null. */
static void json_real(const char *key, double v)
{
    if (is_infinite_or_nan(v)) printf("\"%s\": null", key);
    else printf("\"%s\": %.9g", key, v);
}

static void json_count(const char *key, uint64_t n)
{
    printf("\"%s\": %llu", key, (unsigned long long)n);
}

/* Between two members. */
static void json_next(void)
{
    fputs(", ", stdout);
}

/* ---- options -----------------------------------------------------------------------------------------------------
 * X(ID, "name", "value's name or empty for a switch", "what it does"): the only list of options. */
#define OPTION_LIST(X)                                                                                              \
    X(PLAN,    "plan",    "P",    "a plan (ell:w=5+coo), a format or a builder with its keys (hybr:k=2)")           \
    X(VARIANTS, "variants", "all", "the knobs of a plan of one part, combined; a knob behind / stays as it is")  \
    X(EVENTS,  "events",  "",     "time single products by the device's events, not many by the clock")             \
    X(COLD,    "cold",    "",     "as --events, and each product finds the device's caches full of something else") \
    X(BUILDER, "builder", "B",    "a builder, a format or a plan; default auto")                                    \
    X(DEVICE,  "device",  "D",    "host (default), an OpenCL device's number, gpu, cpu, or part of its name")       \
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

typedef enum option_id {
#define X(ID, name, value, text) OPT_##ID,
    OPTION_LIST(X)
#undef X
    OPT_COUNT
} option_id;

#define BIT(ID) ((uint64_t)1 << OPT_##ID)
typedef char options_fit_the_bits_of_takes[OPT_COUNT <= 64 ? 1 : -1];

typedef struct option {
    const char *name, *value, *text;
} option;

static const option options[OPT_COUNT] = {
#define X(ID, name, value, text) {name, value, text},
    OPTION_LIST(X)
#undef X
};

typedef struct arguments {
    const char  *value[OPT_COUNT]; /* the last one given; "" for a switch; NULL: not given */
    const char **plan;             /* every --plan, in order, up to the / */
    const char **variant;          /* what follows the /, or NULL */
    int          plans;
    const char **file;             /* what is no option, in order */
    int          files;
} arguments;

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

static void arguments_free(arguments *a)
{
    free(a->plan);
    free(a->variant);
    free(a->file);
    memset(a, 0, sizeof *a);
}

/* The option that word (without its dashes, up to length) names for this command, or OPT_COUNT. */
static option_id option_find(const command *c, const char *word, size_t length)
{
    int i;
    if (length == 3 && !memcmp(word, "out", 3)) return option_find(c, "output", 6);
    for (i = 0; i < OPT_COUNT; i++)
        if (strlen(options[i].name) == length && !memcmp(options[i].name, word, length) &&
            ((c->takes | BIT(HELP)) >> i & 1u)) return (option_id)i;
    return OPT_COUNT;
}

/* Takes the option at argv[*i], and its value, which may be the next word. */
static int option_take(tool *t, const command *c, int argc, char **argv, int *i, arguments *a)
{
    const char *word = argv[*i], *name = word + 2, *equals = strchr(word, '=');
    option_id id;
    if (!strcmp(word, "-o")) name = "output";
    else if (!strcmp(word, "-h")) name = "help";
    else if (word[1] != '-') return misuse(t, "unknown option '%s'", word);
    if (name != word + 2) equals = NULL;
    id = option_find(c, name, equals ? (size_t)(equals - name) : strlen(name));
    if (id == OPT_COUNT) return misuse(t, "unknown option '%s'", word);
    if (!*options[id].value) {
        if (equals) return misuse(t, "--%s takes no value", options[id].name);
        a->value[id] = "";
        return DONE;
    }
    if (!equals && *i + 1 >= argc) return misuse(t, "--%s wants a value (%s)", options[id].name, options[id].value);
    a->value[id] = equals ? equals + 1 : argv[++*i];
    if (id == OPT_PLAN) {
        char *slash = strchr(equals ? argv[*i] + (equals - word) : argv[*i], '/');
        if (slash) *slash++ = 0;
        a->variant[a->plans] = slash;
        a->plan[a->plans++] = a->value[id];
    }
    return DONE;
}

static int arguments_parse(tool *t, const command *c, int argc, char **argv, arguments *a)
{
    int i, only_files = 0, result;
    memset(a, 0, sizeof *a);
    a->plan = (const char **)calloc((size_t)argc + 1, sizeof *a->plan);
    a->variant = (const char **)calloc((size_t)argc + 1, sizeof *a->variant);
    a->file = (const char **)calloc((size_t)argc + 1, sizeof *a->file);
    if (!a->plan || !a->variant || !a->file) return no_memory(t);
    for (i = 0; i < argc; i++) {
        if (only_files || argv[i][0] != '-' || !argv[i][1]) a->file[a->files++] = argv[i];
        else if (!strcmp(argv[i], "--")) only_files = 1;
        else if ((result = option_take(t, c, argc, argv, &i, a)) != DONE) return result;
    }
    if (a->value[OPT_HELP] || a->value[OPT_LIST]) return DONE; /* these need nothing else */
    if (a->files < c->least) return misuse(t, "%s", c->least > 1 ? "two files are needed" : "an argument is missing");
    if (a->files > c->most) return misuse(t, "one argument too many: '%s'", a->file[c->most]);
    return DONE;
}

/* The options that c takes, in the form that help2man knows. */
static void print_options(const command *c)
{
    int i;
    puts("Options:");
    for (i = 0; i < OPT_COUNT; i++) {
        char left[40];
        if (!((c->takes | BIT(HELP)) >> i & 1u)) continue;
        snprintf(left, sizeof left, "--%s%s%s", options[i].name, *options[i].value ? " " : "", options[i].value);
        printf("  %-15s  %s\n", left, options[i].text);
    }
}

/* As help2man wants it: the usage, paragraphs, headings that end in a colon, and under them lines of a term, two spaces or more and
 * what it means. */
static void print_help(const command *c)
{
    printf("Usage: spmv %s%s%s\n\n%s\n", c->name, *c->synopsis ? " " : "", c->synopsis, c->text);
    puts("Exit status: 0 done, 1 refused or failed, 2 usage error.\n");
    if (*c->fields) puts(c->fields);
    print_options(c);
    printf("\nExamples:\n%s", c->examples);
}

/* The number given for an option, from least to most, or fallback; *result becomes USAGE if it is none. NaN and infinity
 * are no numbers here, nor is what is too large to be a double. */
static double option_number(tool *t, const arguments *a, option_id id, int whole, double fallback, double least, double most,
                            int *result)
{
    char range[64] = "";
    double v;
    if (!a->value[id]) return fallback;
    if (spmv_number_from(a->value[id], &v) && v >= least && v <= most && (!whole || (double)(int64_t)v == v)) return v;
    if (least > -DBL_MAX || most < DBL_MAX) snprintf(range, sizeof range, " from %.10g to %.10g", least, most);
    *result = misuse(t, "--%s wants a %snumber%s, not '%s'", options[id].name, whole ? "whole " : "", range, a->value[id]);
    return fallback;
}

static double option_real(tool *t, const arguments *a, option_id id, double fallback, double least, double most, int *result)
{
    return option_number(t, a, id, 0, fallback, least, most, result);
}

/* least and most are 0 to 2^53. */
static uint64_t option_count(tool *t, const arguments *a, option_id id, uint64_t fallback, uint64_t least, uint64_t most, int *result)
{
    return (uint64_t)option_number(t, a, id, 1, (double)fallback, (double)least, (double)most, result);
}

/* The bytes given for an option: a whole number above 0, with K, M or G for 2^10, 2^20 or 2^30 behind it or nothing. 0: not given;
 * *result becomes USAGE if it is no such number. */
static uint64_t option_bytes(tool *t, const arguments *a, option_id id, int *result)
{
    static const char suffixes[] = "KMG";
    const char *p = a->value[id], *suffix;
    uint64_t v = 0, unit = 1;
    int fits = 1;
    if (!p) return 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        fits = fits && v <= (UINT64_MAX - 9) / 10;
        v = fits ? v * 10 + (uint64_t)(*p - '0') : v;
    }
    suffix = *p ? strchr(suffixes, *p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p) : NULL;
    if (suffix) {
        unit = (uint64_t)1 << (10 * (suffix - suffixes + 1));
        p++;
    }
    if (!*p && v && fits && v <= UINT64_MAX / unit) return v * unit;
    *result = misuse(t, "--%s wants a whole number of bytes above 0, with K, M or G behind it or nothing, not '%s'", options[id].name,
                     a->value[id]);
    return 0;
}

static spmv_type option_type(tool *t, const arguments *a, int *result)
{
    spmv_type type = a->value[OPT_TYPE] ? spmv_type_from(a->value[OPT_TYPE]) : SPMV_F64;
    if (type != SPMV_TYPE_COUNT) return type;
    *result = misuse(t, "--type is f32, f64 or mixed, not '%s'", a->value[OPT_TYPE]);
    return SPMV_F64;
}

#endif
