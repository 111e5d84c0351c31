/* SPDX-License-Identifier: MIT
 *
 * spmv_table.h - tuning tables: their text, the bundled ones, and rates between the samples.
 *
 * A tuning table says how fast each way to store and multiply a matrix was on one device, for several numbers of rows and of nonzeros in a
 * row. It is text, written by "spmv tune". Its head comes first, a word and its value in each line; then a line of rates for each
 * candidate:
 *
 *     spmv tuning table 1
 *     device NVIDIA H200          the name that the device reports; "host" for products on the host
 *     class gpu                   gpu, cpu (OpenCL) or host
 *     driver 580.159.04           or the compiler of the host products
 *     units 132                   compute units, or cores
 *     memory 143771               MiB
 *     copy 3900                   GB/s, measured
 *     read 4100
 *     cache 56 7100               MiB that are read faster when read again, GB/s then; optional
 *     far 28 14                   MiB of x that scattered reads find in the cache while a matrix streams through it, and how many
 *                                 picoseconds longer a read takes that misses it; optional
 *     timed graph 3.1             short products were recorded in CUDA graphs, so that the host's launches do not hold them up. The number,
 *                                 which is optional, is the microseconds of the smallest product if the host launches each. Without this
 *                                 line, or with "timed calls", all were launched by the host
 *     launch 0.9                  microseconds of the smallest product
 *     step 0.1 500 0.2            microseconds of one step of the longest row where other rows do not hide it: in a row of up to 500 steps,
 *                                 and in a longer one; optional
 *     convert csr 40 900 1100 -   what making a part of a format takes: microseconds to begin, and picoseconds for each slot, as
 *                                 SPMV_WAY_LIST has them; "-": not measured; optional, as the next four are
 *     part 1200                   picoseconds for each nonzero of the matrix that a plan's preparing takes longer for each further part
 *     divide 9000                 the same of dividing the matrix into parts for an estimate
 *     look 2400 110               microseconds of analysing a matrix in buffers of the device, and picoseconds more for each byte of its
 *                                 pointers and columns
 *     build 200000                microseconds of building the kernels of a plan
 *     date 2026-11-21
 *     rows 1024 16384 262144      the numbers of rows that were measured, rising
 *     per_row 1 4 16 64           nonzeros in a row, rising
 *     f64 banded csr:run=1024/WG=256 0.81 1.6 3 3.1 2 8 11 12 5 - - -
 *     left_out 0.19 46 5120       of the fits below: the error of estimates for structures left out of them; structures; samples; optional
 *     alike 0.2 0.4 0.7 0.9       the correlations of these errors, as SPMV_ALIKE_LIST has them; optional
 *     noise 0.07                  how far the measurements of a sample are from their median, which it is; in the same unit, optional
 *     terms all spread fill ...   the terms of the fits, as SPMV_TERM_LIST has them
 *     work csr 1 0.9 0 0.25 ...   what the work of products in a format costs, as SPMV_WORK_LIST has it
 *     fit f64 csr:run=1024/WG=256 0.15 0.08 0 0.31 ...
 *
 * A line of rates has the type, the kind of matrix, a plan of one part, "/", the knobs of its kernel (may be empty), and then GFLOP/s
 * (2 x nonzeros / time) for every per_row of the first of rows, of the second, and so on; "-" where nothing was measured, "-3" for three
 * such values in a row. A line "fit" has the type, plan and knobs, the error of the estimate, and a factor for each term: estimates are
 * 2 to the power of the sum of factors times terms longer than the rates say. A line "work" has a format and the cost of each kind of work:
 * a factor of what takes seconds, picoseconds for each of what is counted. Their sum is a second estimate, which knows more of a matrix
 * than the rates do and less of the layout; the term "work" says how far the two are apart, and the fits how far to follow the second.
 * Errors are root mean squares of logarithms to base 2 of predicted over measured times. A line that begins with "#" is a comment.
 *
 * If you only want the interface, stop at "END OF THE INTERFACE".
 */
/* Above the guard: the bodies may be wanted although the interface was seen. What is complete is not read again. */
#if !defined(SPMV_PLAN_H) || (defined(SPMV_IMPLEMENTATION) && !defined(SPMV_PLAN_IMPLEMENTED))
#include "spmv_plan.h"
#endif
#ifndef SPMV_TABLE_H
#define SPMV_TABLE_H

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SPMV_TUNE_AXIS    = 16, /* the most points of each axis of a table */
    SPMV_TUNE_VARIANT = 96, /* bytes of the text of a variant of one part, with its end */
    SPMV_TUNE_NAME    = 128, /* bytes of the name of a device, with its end */
    SPMV_TUNE_LEVELS  = 24   /* of the bytes that a product moves: powers of two from 2^10 on */
};

/* ---- tuning tables ------------------------------------------------------------------------------------------------ */

/* A line of rates. */
typedef struct spmv_tune_row {
    spmv_spec      layout;                     /* a format with the keys of its layout */
    spmv_type      type;
    spmv_tune_kind kind;
    char           variant[SPMV_TUNE_VARIANT]; /* knobs as text, "": the defaults */
    float         *rate;                       /* GFLOP/s, [rows][per_row] of the table; 0: not measured. NULL in spmv_tuning_host */
    float         *curve;                      /* what spmv_tuning_rate reads, with the gaps filled; NULL: nothing was measured */
} spmv_tune_row;

/* X(IDENT, "name", "what"): by what products differ from those that the rates of a table were measured with, whose terms are 0 except for
 * ALL. spmv_cost.h computes them, spmv tune fits how much each counts. */
#define SPMV_TERM_LIST(X)                                                                               \
    X(ALL,    "all",    "1")                                                                            \
    X(SPREAD, "spread", "log2 of 1 + the standard deviation of row lengths over their mean")            \
    X(FILL,   "fill",   "log2 of the slots that are read for each nonzero")                             \
    X(PADS,   "pads",   "log2 of all slots over those that are read")                                   \
    X(MODEL,  "model",  "log2 of the time of a launch and of reading the bytes over that by the rates") \
    X(WORK,   "work",   "log2 of the time by the work of the format over that by the rates")            \
    X(GATHER, "gather", "x locality: the share of the reads of x that need another line")               \
    X(BANDS,  "bands",  "log2 of the groups of adjacent diagonals")                                     \
    X(CHAIN,  "chain",  "1, for the time of the longest row instead of that by the rates")

typedef enum spmv_term {
#define X(ID, name, text) SPMV_TERM_##ID,
    SPMV_TERM_LIST(X)
#undef X
    SPMV_TERM_COUNT
} spmv_term;

/* X(IDENT, "what"): how alike two candidates are, whose estimates for one structure err alike the more. */
#define SPMV_ALIKE_LIST(X)                                                                               \
    X(ANY,    "of different formats")                                                                    \
    X(FORMAT, "of the same format")                                                                      \
    X(RUNS,   "with blocks of the same size, both in runs or not, and both with rows in the same order") \
    X(LAYOUT, "of the same layout, with other knobs")

typedef enum spmv_alike {
#define X(ID, text) SPMV_ALIKE_##ID,
    SPMV_ALIKE_LIST(X)
#undef X
    SPMV_ALIKE_COUNT
} spmv_alike;

/* X(IDENT, "name", seconds of one): the kinds of work of which the time of a product is made up. What is counted costs picoseconds, the
 * others are seconds already. spmv_cost.h computes them, spmv tune fits what they cost in each format. */
#define SPMV_WORK_LIST(X)                                                                                                   \
    X(LAUNCH, "launch", 1)     /* of the smallest product */                                                                \
    X(BYTES,  "bytes",  1)     /* own bytes at the speed of the level that they fit in */                                   \
    X(READS,  "reads",  1e-12) /* scattered reads of x */                                                                   \
    X(SLOTS,  "slots",  1e-12) /* of its arrays */                                                                          \
    X(ROWS,   "rows",   1e-12)                                                                                              \
    X(UNEVEN, "uneven", 1e-12) /* nonzeros times the deviation of row lengths over their mean: what waits for longer rows */ \
    X(CHAIN,  "chain",  1)     /* the longest row alone */

typedef enum spmv_work {
#define X(ID, name, unit) SPMV_WORK_##ID,
    SPMV_WORK_LIST(X)
#undef X
    SPMV_WORK_COUNT
} spmv_work;

/* X(IDENT, "what"): the ways to store a format that take differently long to prepare. */
#define SPMV_WAY_LIST(X)                                                                                                    \
    X(PLAIN,  "without keys, or with others than these")                                                                    \
    X(OWN,    "with the key that changes the most: run (csr), w (ell, sell), d (diagonals, blocks), idx (tcsr)")            \
    X(SORTED, "with rows=sorted")

typedef enum spmv_way {
#define X(ID, text) SPMV_WAY_##ID,
    SPMV_WAY_LIST(X)
#undef X
    SPMV_WAY_COUNT
} spmv_way;

/* What preparing takes, in seconds, with the host of the device and in f64; 0: not known. */
typedef struct spmv_tune_prepare {
    double begin[SPMV_FORMAT_COUNT];               /* of a part, whatever its size */
    double slot[SPMV_FORMAT_COUNT][SPMV_WAY_COUNT]; /* more for each slot of it */
    double part;             /* for each nonzero of the matrix, of each part of a plan after the first */
    double divide;           /* for each nonzero of dividing the matrix for an estimate */
    double look, look_byte;  /* of analysing a matrix in buffers of the device, and more for each byte of its pointers and columns */
    double build;            /* of building the kernels of a plan */
} spmv_tune_prepare;

/* A line "fit". */
typedef struct spmv_tune_fit {
    spmv_spec layout;
    spmv_type type;
    char      variant[SPMV_TUNE_VARIANT];
    double    error;                   /* of estimates, as log2 */
    double    factor[SPMV_TERM_COUNT];
} spmv_tune_fit;

typedef struct spmv_tuning {
    char           device[SPMV_TUNE_NAME], driver[SPMV_TUNE_NAME], date[16];
    spmv_device_class device_class;
    uint64_t       units, memory;     /* compute units or cores; MiB */
    double         copy, read;        /* GB/s */
    double         cache, cache_read; /* MiB, GB/s; 0: not known */
    double         held, miss;        /* MiB of x that scattered reads find in the cache while a matrix streams through it; how many
                                         seconds longer a read takes that misses it; 0: not known */
    int            graph;             /* 1: timed in CUDA graphs */
    double         call;              /* if so, seconds of the smallest product if the host launches each; 0: not known */
    double         launch;            /* seconds */
    double         step, long_step;   /* seconds of a step of a row of up to short_steps steps, and of a longer one; 0: not known */
    uint64_t       short_steps;
    double         peak[SPMV_TUNE_LEVELS]; /* GB/s, the most that any line of the table shows for products that move at least 2^10,
                                         2^11, ... bytes: no product that moves as many is faster. It falls from level to level of the
                                         caches */
    int            rows, per_row;     /* points on each axis */
    uint64_t       rows_at[SPMV_TUNE_AXIS], per_row_at[SPMV_TUNE_AXIS];
    size_t         count;             /* lines of rates */
    spmv_tune_row *row;
    size_t         fits;              /* lines "fit" */
    spmv_tune_fit *fit;
    double         low[SPMV_TERM_COUNT], high[SPMV_TERM_COUNT]; /* of the terms of the samples: beyond, a term counts as at the end */
    double         work[SPMV_FORMAT_COUNT][SPMV_WORK_COUNT]; /* what one of each kind of work costs in a format: seconds, or a factor of
                                         launch, bytes and chain, which are seconds already; all 0: not known */
    double         left_out;          /* error of estimates for structures that were left out of the fits, as log2 */
    double         alike[SPMV_ALIKE_COUNT]; /* correlations of these errors; all 0: not known */
    double         noise;             /* of single measurements around their median, which a sample is, as log2; 0: not known */
    double         regret[SPMV_TYPE_COUNT], worst[SPMV_TYPE_COUNT]; /* time of the layout that the fits choose for a structure that was
                                         left out of them, over that of the fastest: geometric mean, and the most; 0: not known */
    uint64_t       structures, samples; /* that the fits are of */
    spmv_tune_prepare prepare;
    spmv_hooks     hooks;
} spmv_tuning;

/* Reads a table. Nothing in the text is trusted.
 *   out     need not be initialised; on failure it is zeroed. Free it with spmv_tuning_free
 *   text    the table; need not end in a 0, and zeros in it count as blanks
 *   length  bytes of text
 *   name    for messages such as "name, line 3: ..."; NULL: "tuning table"
 *   hooks   may be NULL
 * SPMV_ERR_PARSE, SPMV_ERR_MEMORY. */
SPMV_API spmv_status spmv_tuning_read(spmv_tuning *out, const char *text, size_t length, const char *name, const spmv_hooks *hooks);
SPMV_API void spmv_tuning_free(spmv_tuning *t);
/* The text of the bundled table for a device, else of one for its class, of the same runtime if there is one; NULL if there is none of the
 * class.
 *   device        its name; NULL: unknown
 *   device_class  its class
 *   length        becomes the bytes of the text; may be NULL
 *   exact         becomes 1 if the table is for that very device, else 0; may be NULL */
SPMV_API const char *spmv_tuning_bundled(const char *device, spmv_device_class device_class, size_t *length, int *exact);
/* The bundled table for products on the host, which need not be read: it is part of the program, and any number of threads may use it. Its
 * rows have curves but no rates (rate is NULL). NULL: it was left out of this build (SPMV_NO_TUNING). Must not be freed. */
SPMV_API const spmv_tuning *spmv_tuning_host(void);
/* The number of bundled tables, and the text of each: zeros stand between some of its lines and after the last. length may be NULL. */
SPMV_API size_t spmv_tuning_count(void);
SPMV_API const char *spmv_tuning_text(size_t i, size_t *length);

/* ---- for tools ---------------------------------------------------------------------------------------------------- */

/* "banded"; "unknown" if there is no such kind. */
SPMV_API const char *spmv_tune_kind_name(spmv_tune_kind k);

/* "fill"; "unknown" if there is no such term. */
SPMV_API const char *spmv_term_name(spmv_term t);

/* The rate of one row of a table at any size.
 *   t, row   the table and one of its rows
 *   rows     rows of the matrix
 *   per_row  nonzeros in a row
 * Returns GFLOP/s, 0 if the row has no sample. Between the samples it is bilinear in the logarithms of rows, of nonzeros in a row, and of
 * the ratio of the rate to the one that launch and memory speed of the head allow. Outside the table it is that of the edge, where longer
 * rows count as more rows. At a size where the row has no sample, it is as far behind the best of its format as at the samples around
 * it, and the best of the format likewise behind the best of all. */
SPMV_API double spmv_tuning_rate(const spmv_tuning *t, const spmv_tune_row *row, double rows, double per_row);

#ifdef __cplusplus
}
#endif
#endif /* SPMV_TABLE_H */
/* ============================================ END OF THE INTERFACE ============================================== */

#if defined(SPMV_IMPLEMENTATION) && !defined(SPMV_TABLE_IMPLEMENTED)
#define SPMV_TABLE_IMPLEMENTED

#include "spmv_tuning.h"

/* ---- tuning tables: reading ---------------------------------------------------------------------------------------- */

SPMV_API const char *spmv_tune_kind_name(spmv_tune_kind k)
{
    static const char *const names[] = {
#define X(ID, name, text) name,
        SPMV_TUNE_KIND_LIST(X)
#undef X
    };
    return (unsigned)k < SPMV_TUNE_KIND_COUNT ? names[k] : "unknown";
}

SPMV_API const char *spmv_term_name(spmv_term t)
{
    static const char *const names[] = {
#define X(ID, name, text) name,
        SPMV_TERM_LIST(X)
#undef X
    };
    return (unsigned)t < SPMV_TERM_COUNT ? names[t] : "unknown";
}

/* Where the reader is in the text, and the word it has read. */
typedef struct spmv__lines {
    const char       *at, *end, *name;
    uint64_t          line;
    char              word[256];
    const spmv_hooks *h;
} spmv__lines;

static spmv_status spmv__bad_line(const spmv__lines *l, const char *why)
{
    return spmv_log(l->h, SPMV_ERR_PARSE, "%s, line %llu: %s", l->name, (spmv__ull)l->line, why);
}

/* Zeros count as blanks, because they fill up the pieces of the bundled tables. */
static int spmv__blank(char c) { return c == ' ' || c == '\t' || c == '\r' || !c; }

/* Copies the next word of the line into l->word and returns its length, 0 at the end of the line. A word that is too long is cut off; no
 * valid one is that long. */
static size_t spmv__next_word(spmv__lines *l)
{
    const char *at = l->at, *const end = l->end;
    size_t n = 0;
    while (at < end && spmv__blank(*at)) at++;
    for (; at < end && (*at > ' ' || (*at != '\n' && !spmv__blank(*at))); at++)
        if (n + 1 < sizeof l->word) l->word[n++] = *at;
    l->word[n] = 0;
    l->at = at;
    return n;
}

/* Copies the rest of the line without the blanks around it; characters that do not print become "?". */
static void spmv__rest_of_line(spmv__lines *l, char *out, size_t size)
{
    size_t n = 0;
    while (l->at < l->end && spmv__blank(*l->at)) l->at++;
    for (; l->at < l->end && *l->at != '\n'; l->at++)
        if (n + 1 < size) out[n++] = (unsigned char)*l->at < 32 || (unsigned char)*l->at > 126 ? '?' : *l->at;
    while (n && (out[n - 1] == ' ' || out[n - 1] == '?')) n--;
    out[n] = 0;
}

/* Goes to the start of the next line that is neither empty nor a comment. 0: there is none. */
static int spmv__next_line(spmv__lines *l)
{
    for (;;) {
        while (l->line && l->at < l->end && *l->at != '\n') l->at++;
        if (l->line && l->at < l->end) l->at++;
        if (l->at >= l->end) return 0;
        l->line++;
        while (l->at < l->end && spmv__blank(*l->at)) l->at++;
        if (l->at < l->end && *l->at != '\n' && *l->at != '#') return 1;
    }
}

/* Reads a decimal number without sign or exponent, as "spmv tune" writes it. 0 if w is not one. */
static int spmv__decimal(const char *w, double *v)
{
    enum { DECIMALS = 18 /* further ones would not change a double */ };
    double unit = 1;
    int64_t whole;
    int digits = 0;
    w = spmv__whole(w, &whole);
    if (!w) return 0;
    *v = (double)whole;
    if (*w == '.')
        for (w++; spmv__is_digit(*w) && digits < DECIMALS; w++, digits++) *v += (*w - '0') * (unit /= 10);
    return !*w;
}

/* Reads the rest of the line as the points of an axis, which must rise. */
static spmv_status spmv__tune_axis(spmv__lines *l, int *count, uint64_t *at)
{
    double v, before = 0;
    for (*count = 0; spmv__next_word(l); at[(*count)++] = (uint64_t)v) {
        if (*count == SPMV_TUNE_AXIS) return spmv__bad_line(l, "there are more than 16 sizes");
        if (!spmv__decimal(l->word, &v) || v <= before || v > 1e12 || v < 1) return spmv__bad_line(l, "sizes must be numbers that rise");
        before = v;
    }
    return *count ? SPMV_OK : spmv__bad_line(l, "no sizes");
}

static spmv_status spmv__tune_number(spmv__lines *l, double scale, double *v)
{
    if (!spmv__next_word(l) || !spmv__decimal(l->word, v)) return spmv__bad_line(l, "expected a number");
    *v *= scale;
    return SPMV_OK;
}

/* Reads the rest of the line "timed". */
static spmv_status spmv__tune_timed(spmv_tuning *t, spmv__lines *l)
{
    spmv__next_word(l);
    t->graph = !strcmp(l->word, "graph");
    t->call = 0;
    if (!t->graph && strcmp(l->word, "calls") != 0) return spmv__bad_line(l, "expected graph or calls");
    if (!t->graph || !spmv__next_word(l)) return SPMV_OK;
    if (!spmv__decimal(l->word, &t->call)) return spmv__bad_line(l, "expected a number");
    t->call *= 1e-6;
    return SPMV_OK;
}

/* Reads the rest of the line "step". */
static spmv_status spmv__tune_step(spmv_tuning *t, spmv__lines *l)
{
    double steps = 0;
    spmv_status s = spmv__tune_number(l, 1e-6, &t->step);
    if (!s) s = spmv__tune_number(l, 1, &steps);
    if (!s) s = spmv__tune_number(l, 1e-6, &t->long_step);
    if (!s && !(steps <= 1e12)) s = spmv__bad_line(l, "too many steps");
    t->short_steps = s ? 0 : (uint64_t)steps;
    return s;
}

/* Reads the rest of the line "left_out". */
static spmv_status spmv__tune_left_out(spmv_tuning *t, spmv__lines *l)
{
    double structures = 0, samples = 0;
    spmv_status s = spmv__tune_number(l, 1, &t->left_out);
    if (!s) s = spmv__tune_number(l, 1, &structures);
    if (!s) s = spmv__tune_number(l, 1, &samples);
    if (!s && !(structures <= 1e12 && samples <= 1e12)) s = spmv__bad_line(l, "too many samples");
    t->structures = s ? 0 : (uint64_t)structures;
    t->samples = s ? 0 : (uint64_t)samples;
    return s;
}

/* Reads the rest of the line "alike". */
static spmv_status spmv__tune_alike(spmv_tuning *t, spmv__lines *l)
{
    int i;
    spmv_status s = SPMV_OK;
    for (i = 0; i < SPMV_ALIKE_COUNT && !s; i++) {
        s = spmv__tune_number(l, 1, &t->alike[i]);
        if (!s && (t->alike[i] >= 1 || (i && t->alike[i] < t->alike[i - 1])))
            s = spmv__bad_line(l, "correlations are below 1, and none is below the one before it");
    }
    return s;
}

/* Checks that the rest of the line has the names of the terms, in their order. */
static spmv_status spmv__tune_terms(spmv__lines *l)
{
    int i;
    for (i = 0; i < SPMV_TERM_COUNT; i++)
        if (!spmv__next_word(l) || strcmp(l->word, spmv_term_name((spmv_term)i)) != 0) break;
    if (i < SPMV_TERM_COUNT || spmv__next_word(l)) return spmv__bad_line(l, "the fits are of another version, with other terms");
    return SPMV_OK;
}

/* Reads a factor of a fit, which may be negative. */
static spmv_status spmv__tune_factor(spmv__lines *l, double *v)
{
    const double most = 20; /* a factor of a million */
    int minus;
    if (!spmv__next_word(l)) return spmv__bad_line(l, "there are too few factors");
    minus = l->word[0] == '-';
    if (!spmv__decimal(l->word + minus, v) || *v > most) return spmv__bad_line(l, "expected a factor from -20 to 20");
    if (minus) *v = -*v;
    return SPMV_OK;
}

/* What a cost of 1 in a line "work" stands for: 1, a factor of what takes seconds; or 1e-12, picoseconds for each of what is counted. */
SPMV__SHARED double spmv__work_unit(spmv_work w)
{
    static const double unit[] = {
#define X(ID, name, one) one,
        SPMV_WORK_LIST(X)
#undef X
    };
    return unit[w];
}

/* Reads the rest of a line "work". */
static spmv_status spmv__tune_work(spmv_tuning *t, spmv__lines *l)
{
    spmv_status s = SPMV_OK;
    spmv_format f;
    int i;
    spmv__next_word(l);
    f = spmv_format_from(l->word);
    if (f == SPMV_FORMAT_COUNT) return spmv__bad_line(l, "expected a format");
    for (i = 0; i < SPMV_WORK_COUNT && !s; i++) s = spmv__tune_number(l, spmv__work_unit((spmv_work)i), &t->work[f][i]);
    if (!s && spmv__next_word(l)) s = spmv__bad_line(l, "there are too many kinds of work");
    return s;
}

/* Reads a number of picoseconds as seconds; "-": 0, not known. */
static spmv_status spmv__tune_picoseconds(spmv__lines *l, double *v)
{
    if (!spmv__next_word(l)) return spmv__bad_line(l, "expected a number or \"-\"");
    if (!strcmp(l->word, "-")) return SPMV_OK;
    if (!spmv__decimal(l->word, v)) return spmv__bad_line(l, "expected a number or \"-\"");
    *v *= 1e-12;
    return SPMV_OK;
}

/* Reads the rest of a line "convert". */
static spmv_status spmv__tune_convert(spmv_tuning *t, spmv__lines *l)
{
    spmv_status s;
    spmv_format f;
    int i;
    spmv__next_word(l);
    f = spmv_format_from(l->word);
    if (f == SPMV_FORMAT_COUNT) return spmv__bad_line(l, "expected a format");
    s = spmv__tune_number(l, 1e-6, &t->prepare.begin[f]);
    for (i = 0; i < SPMV_WAY_COUNT && !s; i++) s = spmv__tune_picoseconds(l, &t->prepare.slot[f][i]);
    if (!s && spmv__next_word(l)) s = spmv__bad_line(l, "there are too many ways");
    return s;
}

/* Reads the rest of the line "look". */
static spmv_status spmv__tune_look(spmv_tuning *t, spmv__lines *l)
{
    spmv_status s = spmv__tune_number(l, 1e-6, &t->prepare.look);
    return s ? s : spmv__tune_number(l, 1e-12, &t->prepare.look_byte);
}

/* Reads the rest of a line "low" or "high". */
static spmv_status spmv__tune_range(spmv__lines *l, double range[SPMV_TERM_COUNT])
{
    int i;
    spmv_status s = SPMV_OK;
    for (i = 0; i < SPMV_TERM_COUNT && !s; i++) s = spmv__tune_factor(l, &range[i]);
    return s;
}

/* Reads the rest of the line "regret". */
static spmv_status spmv__tune_regret(spmv_tuning *t, spmv__lines *l)
{
    spmv_type type;
    spmv_status s;
    spmv__next_word(l);
    type = spmv_type_from(l->word);
    if (type == SPMV_TYPE_COUNT) return spmv__bad_line(l, "expected a type");
    s = spmv__tune_number(l, 1, &t->regret[type]);
    return s ? s : spmv__tune_number(l, 1, &t->worst[type]);
}

/* Reads one line of the head. *known becomes 0 if its first word does not belong to the head. */
static spmv_status spmv__tune_head(spmv_tuning *t, spmv__lines *l, int *known)
{
    const char *w = l->word;
    double number = 0;
    spmv_status s = SPMV_OK;
    *known = 1;
    if (!strcmp(w, "device")) spmv__rest_of_line(l, t->device, sizeof t->device);
    else if (!strcmp(w, "driver")) spmv__rest_of_line(l, t->driver, sizeof t->driver);
    else if (!strcmp(w, "date")) spmv__rest_of_line(l, t->date, sizeof t->date);
    else if (!strcmp(w, "class")) {
        char name[8];
        spmv__rest_of_line(l, name, sizeof name);
        t->device_class = spmv_device_class_from(name);
        if (t->device_class == SPMV_DEVICE_CLASS_COUNT) s = spmv__bad_line(l, "class must be gpu, cpu or host");
    } else if (!strcmp(w, "units")) {
        s = spmv__tune_number(l, 1, &number);
        t->units = (uint64_t)number;
    } else if (!strcmp(w, "memory")) {
        s = spmv__tune_number(l, 1, &number);
        t->memory = (uint64_t)number;
    } else if (!strcmp(w, "copy")) s = spmv__tune_number(l, 1, &t->copy);
    else if (!strcmp(w, "read")) s = spmv__tune_number(l, 1, &t->read);
    else if (!strcmp(w, "cache")) {
        s = spmv__tune_number(l, 1, &t->cache);
        if (!s) s = spmv__tune_number(l, 1, &t->cache_read);
    } else if (!strcmp(w, "far")) {
        s = spmv__tune_number(l, 1, &t->held);
        if (!s) s = spmv__tune_number(l, 1e-12, &t->miss);
    } else if (!strcmp(w, "timed")) s = spmv__tune_timed(t, l);
    else if (!strcmp(w, "launch")) s = spmv__tune_number(l, 1e-6, &t->launch);
    else if (!strcmp(w, "step")) s = spmv__tune_step(t, l);
    else if (!strcmp(w, "convert")) s = spmv__tune_convert(t, l);
    else if (!strcmp(w, "part")) s = spmv__tune_number(l, 1e-12, &t->prepare.part);
    else if (!strcmp(w, "divide")) s = spmv__tune_number(l, 1e-12, &t->prepare.divide);
    else if (!strcmp(w, "look")) s = spmv__tune_look(t, l);
    else if (!strcmp(w, "build")) s = spmv__tune_number(l, 1e-6, &t->prepare.build);
    else if (!strcmp(w, "left_out")) s = spmv__tune_left_out(t, l);
    else if (!strcmp(w, "alike")) s = spmv__tune_alike(t, l);
    else if (!strcmp(w, "noise")) s = spmv__tune_number(l, 1, &t->noise);
    else if (!strcmp(w, "regret")) s = spmv__tune_regret(t, l);
    else if (!strcmp(w, "terms")) s = spmv__tune_terms(l);
    else if (!strcmp(w, "work")) s = spmv__tune_work(t, l);
    else if (!strcmp(w, "low")) s = spmv__tune_range(l, t->low);
    else if (!strcmp(w, "high")) s = spmv__tune_range(l, t->high);
    else if (!strcmp(w, "rows")) s = spmv__tune_axis(l, &t->rows, t->rows_at);
    else if (!strcmp(w, "per_row")) s = spmv__tune_axis(l, &t->per_row, t->per_row_at);
    else *known = 0;
    return s;
}

/* Reads a candidate such as "csr:run=1024/WG=256" from l->word. *ignore becomes 1 if its format is left out of this build. */
static spmv_status spmv__tune_candidate(spmv_tune_row *r, spmv__lines *l, int *ignore)
{
    char *slash = strchr(l->word, '/');
    spmv_plan plan;
    spmv_hooks quiet;
    spmv_status s;
    memset(&quiet, 0, sizeof quiet);
    quiet.log = spmv__hush;
    if (!slash) return spmv__bad_line(l, "expected a plan of one part, \"/\" and knobs");
    *slash = 0;
    if (strlen(slash + 1) >= sizeof r->variant) return spmv__bad_line(l, "the knobs are too long");
    memcpy(r->variant, slash + 1, strlen(slash + 1) + 1);
    s = spmv_plan_parse(&plan, l->word, NULL, &quiet);
    *ignore = s == SPMV_ERR_UNSUPPORTED;
    if (s && !*ignore) return spmv__bad_line(l, "the plan does not parse");
    if (!s && plan.count != 1) return spmv__bad_line(l, "the plan has several parts");
    r->layout = plan.part[0];
    return SPMV_OK;
}

/* The number of sizes that a word such as "-" or "-12" skips, at most most; 0: the word is something else. */
static int spmv__tune_gaps(const char *word, int most)
{
    int64_t n;
    if (*word++ != '-') return 0;
    if (!*word) return 1;
    word = spmv__whole(word, &n);
    return word && !*word && n <= most ? (int)n : 0;
}

/* Reads the rest of the line as the rates of a row, and allocates its curve if there is any rate. */
static spmv_status spmv__tune_rates(const spmv_tuning *t, spmv_tune_row *r, spmv__lines *l)
{
    int i, gaps, n = t->rows * t->per_row, any = 0;
    double v;
    void *block;
    spmv_status s = spmv__new(l->h, &block, (uint64_t)n, sizeof(float), 0);
    if (s) return s;
    r->rate = (float *)block;
    for (i = 0; i < n; i += gaps ? gaps : 1) {
        if (!spmv__next_word(l)) return spmv__bad_line(l, "there are too few rates");
        gaps = spmv__tune_gaps(l->word, n - i);
        if (gaps) continue;
        if (!spmv__decimal(l->word, &v) || v > 1e7) return spmv__bad_line(l, "expected a rate in GFLOP/s, or gaps such as - or -3");
        r->rate[i] = (float)v;
        any = any || v > 0;
    }
    if (spmv__next_word(l)) return spmv__bad_line(l, "there are too many rates");
    if (!any) return SPMV_OK;
    s = spmv__new(l->h, &block, (uint64_t)n, sizeof(float), 0);
    r->curve = s ? NULL : (float *)block;
    return s;
}

/* Makes room for at least one more of *count elements of some bytes at *at. *room: for how many there is room. */
static spmv_status spmv__tune_grow(const spmv_tuning *t, void **at, size_t count, size_t size, size_t *room)
{
    void *more;
    size_t wanted = *room ? *room * 2 : 64;
    spmv_status s;
    if (count < *room) return SPMV_OK;
    s = spmv__new(&t->hooks, &more, wanted, size, 0);
    if (s) return s;
    if (count) memcpy(more, *at, count * size);
    spmv_free(&t->hooks, *at);
    *at = more;
    *room = wanted;
    return SPMV_OK;
}

/* Reads the rest of a line "fit" and appends it to the table, unless its format is left out of this build. */
static spmv_status spmv__tune_fit_line(spmv_tuning *t, spmv__lines *l, size_t *room)
{
    spmv_tune_row r;
    spmv_tune_fit fit;
    void *at = t->fit;
    int i, ignore = 0;
    spmv_status s;
    memset(&r, 0, sizeof r);
    memset(&fit, 0, sizeof fit);
    spmv__next_word(l);
    fit.type = spmv_type_from(l->word);
    if (fit.type == SPMV_TYPE_COUNT) return spmv__bad_line(l, "expected a type");
    spmv__next_word(l);
    s = spmv__tune_candidate(&r, l, &ignore);
    if (!s) s = spmv__tune_factor(l, &fit.error);
    if (!s && fit.error < 0) s = spmv__bad_line(l, "an error is never negative");
    for (i = 0; i < SPMV_TERM_COUNT && !s; i++) s = spmv__tune_factor(l, &fit.factor[i]);
    if (!s && spmv__next_word(l)) s = spmv__bad_line(l, "there are too many factors");
    if (s || ignore) return s;
    s = spmv__tune_grow(t, &at, t->fits, sizeof *t->fit, room);
    t->fit = (spmv_tune_fit *)at;
    if (s) return s;
    fit.layout = r.layout;
    memcpy(fit.variant, r.variant, sizeof fit.variant);
    t->fit[t->fits++] = fit;
    return SPMV_OK;
}

/* Reads a line of rates and appends it to the table, unless its format is left out of this build. */
static spmv_status spmv__tune_line(spmv_tuning *t, spmv__lines *l, size_t *room)
{
    spmv_tune_row r;
    void *at = t->row;
    int kind = 0, ignore = 0;
    spmv_status s;
    memset(&r, 0, sizeof r);
    r.type = spmv_type_from(l->word);
    if (r.type == SPMV_TYPE_COUNT) return spmv__bad_line(l, "expected a word of the head or a type");
    if (!t->rows || !t->per_row) return spmv__bad_line(l, "rates must follow the lines \"rows\" and \"per_row\"");
    spmv__next_word(l);
    while (kind < SPMV_TUNE_KIND_COUNT && strcmp(l->word, spmv_tune_kind_name((spmv_tune_kind)kind)) != 0) kind++;
    if (kind == SPMV_TUNE_KIND_COUNT) return spmv__bad_line(l, "there is no such kind of matrix");
    r.kind = (spmv_tune_kind)kind;
    spmv__next_word(l);
    s = spmv__tune_candidate(&r, l, &ignore);
    if (!s) s = spmv__tune_grow(t, &at, t->count, sizeof *t->row, room);
    t->row = (spmv_tune_row *)at;
    if (s) return s;
    s = spmv__tune_rates(t, &r, l);
    if (s || ignore) {
        spmv_free(l->h, r.rate);
        spmv_free(l->h, r.curve);
    } else {
        t->row[t->count++] = r;
    }
    return s;
}

/* ---- tuning tables: what was not measured ----------------------------------------------------------------------------
 * A curve holds the logarithm of the ratio of each rate to that of a model, which knows what a launch and reading the bytes cost, because
 * this ratio changes little from one size to the next. A gap is filled with the best value at that size, lowered by as much as the row is
 * behind at the sizes around it. This takes three steps: the best of all rows of a type and kind; the best of each format, compared with
 * those; the row, compared with its format. */

/* The logarithm to base 2 of a positive, normal number, to about 1e-5; -1000 for others. The headers do without libm. */
static double spmv__log2(double v)
{
    uint64_t bits;
    double e, m, z;
    if (!(v > 1e-300)) return -1000;
    memcpy(&bits, &v, sizeof bits);
    e = (double)(int)(bits >> 52 & 2047) - 1023;
    bits = (bits & 0xfffffffffffffu) | (uint64_t)1023 << 52;
    memcpy(&v, &bits, sizeof v);
    z = (v - 1) / (v + 1); /* ln v = 2 (z + z^3/3 + z^5/5 + ...), |z| <= 1/3 */
    m = z * z;
    return e + 2.885390081777927 * z * (1 + m * (1.0 / 3 + m * (1.0 / 5 + m * (1.0 / 7 + m * (1.0 / 9 + m / 11)))));
}

/* 2 to the power of v, to the last few bits. */
static double spmv__exp2(double v)
{
    static const double inverse[] = { 1, 1.0 / 2, 1.0 / 3, 1.0 / 4, 1.0 / 5, 1.0 / 6, 1.0 / 7, 1.0 / 8, 1.0 / 9, 1.0 / 10, 1.0 / 11,
                                      1.0 / 12, 1.0 / 13 };
    double scale = 1, t, sum = 1;
    int i;
    if (v > 1000) v = 1000; /* near the ends of double; a table may say anything */
    if (v < -1000) v = -1000;
    while (v >= 1) v--, scale *= 2;
    while (v < 0) v++, scale /= 2;
    t = v * 0.6931471805599453;
    for (i = (int)(sizeof inverse / sizeof *inverse); i-- > 0;) sum = 1 + sum * t * inverse[i]; /* Horner's rule for the exponential */
    return scale * sum;
}

/* Seconds to read bytes: from a cache of so many MiB, which is as fast as that of the table, as long as all of them fit there beside x, y
 * and the rest, else from memory at read GB/s. Padding that is skipped lies between the bytes that are read, so that all is more than
 * bytes. On an H200, whose cache appears as 56 MiB when nothing else is read, matrices up to 40 MB are served from it and none from 50 MB
 * on. */
static double spmv__read_seconds(const spmv_tuning *t, double cache, double read, double all, double bytes)
{
    const double served = 0.7, gone = 0.9; /* of the cache's size: up to the first all bytes are read from it, from the second on none */
    double slow = bytes / (read * 1e9), fast, out;
    if (!(cache > 0) || !(t->cache_read > read)) return slow;
    fast = bytes / (t->cache_read * 1e9);
    out = (all / (cache * 1048576) - served) / (gone - served);
    return out <= 0 ? fast : out >= 1 ? slow : fast + out * (slow - fast);
}

/* 1 if a product that reads and writes so many bytes may find them in the cache; a table without a cache has one level of memory. Measured
 * sizes of caches err, so only what is clearly larger counts as not there. */
SPMV__SHARED int spmv__is_near(const spmv_tuning *t, double bytes)
{
    const double clearly = 2;
    return !(t->cache > 0) || bytes <= clearly * t->cache * 1048576;
}

/* Bytes of the arrays of a part with so many slots and rows, and of the elements of y that a product writes. */
static double spmv__layout_bytes(spmv_type type, const spmv_spec *layout, double slots, double rows)
{
    return slots * ((double)spmv_value_size(type) + spmv__spec_index_bytes(layout)) + rows * (double)spmv_vector_size(type);
}

enum { SPMV__LEVEL_FIRST = 10 /* the power of two of bytes at which the first level of spmv_tuning.peak begins */ };

/* The level of spmv_tuning.peak that a product belongs to, and how far it is on the way to the next, from 0 to 1. */
static int spmv__peak_level(double bytes, double *part)
{
    double level = spmv__log2(bytes > 1 ? bytes : 1) - (double)SPMV__LEVEL_FIRST;
    int i = level > 0 ? (int)level : 0;
    *part = level > 0 ? level - i : 0;
    if (i < SPMV_TUNE_LEVELS) return i;
    *part = 1;
    return SPMV_TUNE_LEVELS - 1;
}

/* Seconds below which no product that moves so many bytes was measured. Within a level, the speed falls from that of the level before to
 * its own, so that the estimates of two products that differ by a byte do not differ by a level. */
SPMV__SHARED double spmv__peak_seconds(const spmv_tuning *t, double bytes)
{
    double part;
    const int i = spmv__peak_level(bytes, &part);
    const double before = t->peak[i ? i - 1 : 0], peak = before + part * (t->peak[i] - before);
    return peak > 0 ? bytes / (peak * 1e9) : 0;
}

/* Finds the highest speeds of memory that the table shows, level by level. */
static void spmv__tune_peaks(spmv_tuning *t)
{
    size_t k;
    int i;
    double part;
    const double nearby = t->cache_read > t->read ? t->cache_read : t->read; /* of what is in the cache */
    const int cached = t->cache > 0 ? spmv__peak_level(t->cache * 1048576, &part) : -1;
    for (i = 0; i < SPMV_TUNE_LEVELS; i++) t->peak[i] = i <= cached ? nearby : t->read;
    for (k = 0; k < t->count; k++) {
        const spmv_tune_row *r = &t->row[k];
        const int dense = spmv_format_class_of(r->layout.format) == SPMV_CLASS_DENSE;
        const double slot = spmv__layout_bytes(r->type, &r->layout, 1, 0), element = (double)spmv_vector_size(r->type);
        for (i = 0; i < t->rows * t->per_row; i++) {
            double rows, per_row, nnz, bytes, speed, *peak; /* speed: GB/s */
            if (!(r->rate[i] > 0)) continue;
            rows = (double)t->rows_at[i / t->per_row];
            per_row = (double)t->per_row_at[i % t->per_row];
            nnz = rows * per_row;
            bytes = nnz * slot + (rows + (dense ? per_row : rows)) * element; /* x has as many elements as there are columns */
            speed = bytes * (double)r->rate[i] / (2 * nnz);
            peak = &t->peak[spmv__peak_level(bytes, &part)];
            if (speed > *peak) *peak = speed;
        }
    }
    for (i = SPMV_TUNE_LEVELS - 1; i-- > 0;)
        if (t->peak[i + 1] > t->peak[i]) t->peak[i] = t->peak[i + 1];
    for (i = 1; i < SPMV_TUNE_LEVELS; i++) /* beyond what was measured, nothing is known to be slower */
        if (!(t->peak[i] > 0)) t->peak[i] = t->peak[i - 1];
}

/* The model: the logarithm of the rate of a layout that takes one launch and the time to read its bytes; 0 if the head of the table lacks
 * the speed of memory. A processor has more levels of caches than the one that the head of its table says, and the highest rates show
 * them; the rates of OpenCL devices are too few or too far from their memory's speed for that. */
static double spmv__model_rate(const spmv_tuning *t, spmv_type type, const spmv_spec *layout, double rows, double per_row)
{
    double width = (double)spmv_value_size(type), nnz = rows * per_row;
    double bytes = nnz * (width + spmv__spec_index_bytes(layout)) + rows * (2 * width + 4), seconds;
    if (t->device_class == SPMV_DEVICE_CLASS_HOST) seconds = spmv__peak_seconds(t, bytes);
    else seconds = spmv__read_seconds(t, t->cache, t->read, bytes, bytes);
    return t->read > 0 ? spmv__log2(2e-9 * nnz / (t->launch + seconds)) : 0;
}

#define SPMV__GAP (-1e9f) /* in a curve: not measured; below any logarithm of a rate */

typedef struct spmv__filling {
    const spmv_tuning *t;
    int                points;
    float             *near_by;  /* [points][points]: the weight of the second point in a gap at the first */
    float             *all;      /* the best of a type and kind */
    float             *format[SPMV_FORMAT_COUNT]; /* the best of each format, of a type and kind */
} spmv__filling;

/* Fills in near_by. The nearest points are those with as many nonzeros in a row, and of these the ones with about as many nonzeros. */
static void spmv__fill_weigh(const spmv__filling *f)
{
    const spmv_tuning *t = f->t;
    double rows[SPMV_TUNE_AXIS], per_row[SPMV_TUNE_AXIS];
    int a, b;
    for (a = 0; a < t->rows; a++) rows[a] = spmv__log2((double)t->rows_at[a]);
    for (a = 0; a < t->per_row; a++) per_row[a] = spmv__log2((double)t->per_row_at[a]);
    for (a = 0; a < f->points; a++)
        for (b = 0; b < f->points; b++) {
            double x = rows[a / t->per_row] - rows[b / t->per_row], y = per_row[a % t->per_row] - per_row[b % t->per_row];
            double d = (x + y) * (x + y) + 10 * y * y;
            f->near_by[a * f->points + b] = (float)(1 / (d * d + 1e-3));
        }
}

/* Turns the row's samples into its curve, with gaps where there are none. */
static void spmv__fill_samples(const spmv__filling *f, const spmv_tune_row *r)
{
    const spmv_tuning *t = f->t;
    int i;
    for (i = 0; i < f->points; i++) {
        r->curve[i] = SPMV__GAP;
        if (!(r->rate[i] > 0)) continue;
        r->curve[i] = (float)(spmv__log2((double)r->rate[i]) - spmv__model_rate(t, r->type, &r->layout, (double)t->rows_at[i / t->per_row],
                                                                                (double)t->per_row_at[i % t->per_row]));
    }
}

/* Raises best to the curve where that is higher. */
static void spmv__fill_raise(const spmv__filling *f, float *best, const float *curve)
{
    int i;
    for (i = 0; i < f->points; i++) best[i] = curve[i] > best[i] ? curve[i] : best[i];
}

/* Fills the gaps of a curve: as far below like as the curve is at the points around. like NULL: below 0. A curve without any sample stays
 * as it is. */
static void spmv__fill_gaps(const spmv__filling *f, const float *like, float *curve)
{
    float below[SPMV_TUNE_AXIS * SPMV_TUNE_AXIS];
    int at[SPMV_TUNE_AXIS * SPMV_TUNE_AXIS], count = 0, i, j;
    for (i = 0; i < f->points; i++) {
        if (!(curve[i] > SPMV__GAP)) continue;
        below[count] = curve[i] - (like ? like[i] : 0);
        at[count++] = i;
    }
    for (i = 0; i < f->points && count; i++) {
        const float *w = f->near_by + (size_t)i * (size_t)f->points;
        double sum = 0, weights = 0;
        if (curve[i] > SPMV__GAP) continue;
        for (j = 0; j < count; j++) {
            sum += (double)w[at[j]] * (double)below[j];
            weights += (double)w[at[j]];
        }
        curve[i] = (float)(sum / weights) + (like ? like[i] : 0);
    }
}

/* Fills the curves of all rows of a type and kind, in the three steps. */
static void spmv__fill_kind(const spmv__filling *f, spmv_type type, spmv_tune_kind kind)
{
    const spmv_tuning *t = f->t;
    size_t k;
    int i;
    for (i = 0; i < f->points * (1 + SPMV_FORMAT_COUNT); i++) f->all[i] = SPMV__GAP; /* the formats' follow it */
    for (k = 0; k < t->count; k++) {
        const spmv_tune_row *r = &t->row[k];
        if (r->type != type || r->kind != kind || !r->curve) continue;
        spmv__fill_samples(f, r);
        spmv__fill_raise(f, f->format[r->layout.format], r->curve);
    }
    for (i = 0; i < SPMV_FORMAT_COUNT; i++) spmv__fill_raise(f, f->all, f->format[i]);
    spmv__fill_gaps(f, NULL, f->all);
    for (i = 0; i < SPMV_FORMAT_COUNT; i++) spmv__fill_gaps(f, f->all, f->format[i]);
    for (k = 0; k < t->count; k++) {
        const spmv_tune_row *r = &t->row[k];
        if (r->type == type && r->kind == kind && r->curve) spmv__fill_gaps(f, f->format[r->layout.format], r->curve);
    }
}

/* Makes the curves of all rows of the table. */
static spmv_status spmv__fill_curves(const spmv_tuning *t)
{
    spmv__filling f;
    void *block;
    float *at;
    int i, type, kind;
    uint64_t n = (uint64_t)t->rows * (uint64_t)t->per_row;
    spmv_status s = spmv__room(&t->hooks, &block, n * (n + 1 + SPMV_FORMAT_COUNT) + 1, sizeof *at);
    if (s) return s;
    f.t = t;
    f.points = (int)n;
    f.near_by = at = (float *)block;
    f.all = at += n * n;
    for (i = 0; i < SPMV_FORMAT_COUNT; i++) f.format[i] = at += n;
    spmv__fill_weigh(&f);
    for (type = SPMV_F64; type < SPMV_TYPE_COUNT; type++)
        for (kind = 0; kind < SPMV_TUNE_KIND_COUNT; kind++) spmv__fill_kind(&f, (spmv_type)type, (spmv_tune_kind)kind);
    spmv_free(&t->hooks, block);
    return SPMV_OK;
}

SPMV_API spmv_status spmv_tuning_read(spmv_tuning *out, const char *text, size_t length, const char *name, const spmv_hooks *hooks)
{
    if (!out || (length && !text)) return spmv__null(hooks, "spmv_tuning_read", !out ? "out" : "text", out, sizeof *out);
    static const spmv_hooks plain = { NULL, NULL, NULL, NULL, 0 };
    spmv__lines l;
    size_t room = 0, fit_room = 0;
    spmv_status s = SPMV_OK;
    char first[40];
    memset(out, 0, sizeof *out);
    memset(&l, 0, sizeof l);
    l.at = text;
    l.end = length ? text + length : text;
    l.name = name ? name : "tuning table";
    l.h = hooks ? hooks : &plain;
    out->hooks = *l.h;
    out->device_class = SPMV_DEVICE_CLASS_COUNT;
    if (spmv__next_line(&l)) spmv__rest_of_line(&l, first, sizeof first);
    else first[0] = 0;
    if (strcmp(first, "spmv tuning table 1") != 0) s = spmv__bad_line(&l, "a table begins with \"spmv tuning table 1\"");
    while (!s && spmv__next_line(&l)) {
        int known = 1, sizes;
        spmv__next_word(&l);
        sizes = !strcmp(l.word, "rows") || !strcmp(l.word, "per_row");
        if (sizes && out->count) s = spmv__bad_line(&l, "sizes must precede the rates");
        if (!s) s = spmv__tune_head(out, &l, &known);
        if (!s && !known) s = !strcmp(l.word, "fit") ? spmv__tune_fit_line(out, &l, &fit_room) : spmv__tune_line(out, &l, &room);
    }
    if (!s && (!out->device[0] || out->device_class == SPMV_DEVICE_CLASS_COUNT))
        s = spmv__bad_line(&l, "a table needs the lines \"device\" and \"class\"");
    if (!s) spmv__tune_peaks(out);
    if (!s) s = spmv__fill_curves(out);
    if (s) spmv_tuning_free(out);
    return s;
}

SPMV_API void spmv_tuning_free(spmv_tuning *t)
{
    size_t i;
    if (!t) return;
    for (i = 0; i < t->count; i++) {
        spmv_free(&t->hooks, t->row[i].rate);
        spmv_free(&t->hooks, t->row[i].curve);
    }
    spmv_free(&t->hooks, t->row);
    spmv_free(&t->hooks, t->fit);
    memset(t, 0, sizeof *t);
}

/* ---- tuning tables: look-up ---------------------------------------------------------------------------------------- */

SPMV_API const spmv_tuning *spmv_tuning_host(void)
{
#ifdef SPMV__READY
    return SPMV__READY;
#else
    return NULL;
#endif
}

SPMV_API size_t spmv_tuning_count(void)
{
    size_t n = 0;
    while (spmv__tuning[n].text) n++;
    return n;
}

SPMV_API const char *spmv_tuning_text(size_t i, size_t *length)
{
    if (i > spmv_tuning_count()) i = spmv_tuning_count();
    if (length) *length = spmv__tuning[i].length;
    return spmv__tuning[i].text;
}

/* Copies the value after a word in the head of bundled table i; "" if the word is not there. */
static void spmv__tuning_word(size_t i, const char *word, char out[SPMV_TUNE_NAME])
{
    spmv__lines l;
    size_t length;
    memset(&l, 0, sizeof l);
    l.at = spmv_tuning_text(i, &length);
    l.end = l.at + length;
    out[0] = 0;
    while (spmv__next_line(&l)) {
        spmv__next_word(&l);
        if (strcmp(l.word, word) != 0) continue;
        spmv__rest_of_line(&l, out, SPMV_TUNE_NAME);
        return;
    }
}

/* 1 if the name is one that PoCL gives to a processor: its compiler and its work-groups are unlike those of other runtimes, so that on the
 * same processor a choice by the table of another one took 1.4 to 3.7 times as long as the best. */
static int spmv__is_pocl(const char *device) { return !strncmp(device, "pthread-", 8) || !strncmp(device, "cpu-", 4); }

/* How well the table of a device suits another one of its class: 2 if both have the same name, 1 if both have the same sort of runtime. */
static int spmv__tuning_suits(const char *table, const char *device)
{
    if (!device) return 0;
    return !strcmp(table, device) ? 2 : spmv__is_pocl(table) == spmv__is_pocl(device);
}

SPMV_API const char *spmv_tuning_bundled(const char *device, spmv_device_class device_class, size_t *length, int *exact)
{
    char word[SPMV_TUNE_NAME];
    const size_t count = spmv_tuning_count();
    size_t i, found = count;
    int best = -1, suits;
    for (i = 0; i < count; i++) {
        spmv__tuning_word(i, "class", word);
        if (spmv_device_class_from(word) != device_class) continue;
        spmv__tuning_word(i, "device", word);
        suits = spmv__tuning_suits(word, device);
        if (suits <= best) continue;
        best = suits;
        found = i;
    }
    if (exact) *exact = best == 2;
    return spmv_tuning_text(found, length);
}

/* ---- tuning tables: rates between the samples ---------------------------------------------------------------------- */

/* Finds v on a rising axis: it lies between points *i and *i + 1, *part of the way in logarithms. Outside the axis it is moved to the
 * edge. */
static void spmv__axis_place(const uint64_t *at, int count, double v, int *i, double *part)
{
    *part = 0;
    for (*i = 0; *i + 1 < count && v >= (double)at[*i + 1];) ++*i;
    if (*i + 1 < count && v > (double)at[*i])
        *part = spmv__log2(v / (double)at[*i]) / spmv__log2((double)at[*i + 1] / (double)at[*i]);
}

/* A place between the points of a table, for one layout. */
typedef struct spmv__tune_place {
    int    corner[4]; /* the points around it */
    double weight[4]; /* what each of them counts; together 1 */
    double model;     /* logarithm of the model's rate there */
} spmv__tune_place;

/* The place for a matrix with so many rows and nonzeros in a row. */
static spmv__tune_place spmv__tune_at(const spmv_tuning *t, spmv_type type, const spmv_spec *layout, double rows, double per_row)
{
    spmv__tune_place p;
    int i, j, n = 0, a, b;
    double down, right;
    memset(&p, 0, sizeof p);
    p.model = spmv__model_rate(t, type, layout, rows, per_row);
    /* rows longer than those that were measured count as more rows of the longest length */
    if (per_row > (double)t->per_row_at[t->per_row - 1]) rows *= per_row / (double)t->per_row_at[t->per_row - 1];
    spmv__axis_place(t->rows_at, t->rows, rows, &i, &down);
    spmv__axis_place(t->per_row_at, t->per_row, per_row, &j, &right);
    for (a = 0; a < 2; a++)
        for (b = 0; b < 2; b++, n++) {
            p.weight[n] = (a ? down : 1 - down) * (b ? right : 1 - right);
            p.corner[n] = p.weight[n] > 0 ? (i + a) * t->per_row + j + b : 0;
        }
    return p;
}

static double spmv__tune_read(const spmv__tune_place *p, const float *curve)
{
    int n;
    double sum = p->model;
    for (n = 0; n < 4; n++) sum += p->weight[n] * (double)curve[p->corner[n]];
    return spmv__exp2(sum);
}

SPMV_API double spmv_tuning_rate(const spmv_tuning *t, const spmv_tune_row *r, double rows, double per_row)
{
    if (!t || !r) return 0;
    spmv__tune_place p = spmv__tune_at(t, r->type, &r->layout, rows, per_row);
    return r->curve ? spmv__tune_read(&p, r->curve) : 0;
}
#endif /* SPMV_IMPLEMENTATION */
