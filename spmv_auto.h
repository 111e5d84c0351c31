/* SPDX-License-Identifier: MIT
 *
 * spmv_auto.h - the library chooses the plan: "auto", which goes by estimates, and "cocktail", which goes by the policies of
 * spmv_cocktail.h; the tuning tables that they go by, and the features of a matrix.
 *
 * The interface comes in three tiers:
 *     start here   spmv_choose and spmv_explain; spmv_create of spmv.h calls the first, so most programs need neither
 *     more         tuning tables: reading one, the bundled ones
 *     for tools    rates of a table, features of a matrix
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
 *     launch 2.9                  microseconds of the smallest product
 *     date 2026-11-21
 *     rows 1024 16384 262144      the numbers of rows that were measured, rising
 *     per_row 1 4 16 64           nonzeros in a row, rising
 *     f64 banded csr:run=1024/WG=256 0.81 1.6 3 3.1 2 8 11 12 5 - - -
 *
 * The last line has the type, the kind of matrix, a plan of one part, "/", the knobs of its kernel (may be empty), and then GFLOP/s
 * (2 x nonzeros / time) for every per_row of the first of rows, of the second, and so on; "-" where nothing was measured, "-3" for three
 * such values in a row. A line that begins with "#" is a comment.
 *
 * If you only want the interface, stop at "END OF THE INTERFACE".
 */
#include "spmv_cocktail.h" /* above the guard, as in the other headers */
#ifndef SPMV_AUTO_H
#define SPMV_AUTO_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- start here: the choice --------------------------------------------------------------------------------------- */

enum {
    SPMV_TUNE_AXIS    = 16,  /* the most points of each axis of a table */
    SPMV_TUNE_VARIANT = 96,  /* bytes of the text of a variant of one part, with its end */
    SPMV_TUNE_NAME    = 128, /* bytes of the name of a device, with its end */
    SPMV_CHOICE_TEXT  = 320, /* bytes of the text of an option's plan or variant, with its end; a plan with a longer one is no option */
    SPMV_CHOICE_MAX   = 24   /* the most options that a choice keeps */
};

/* Matrices of up to so many bytes as CSR are tiny: "auto" takes csr without looking at them. Half of 32 KiB, the smallest first-level cache
 * in use, so that the matrix stays there together with x and y; on a GPU every way to multiply it takes as long as the launch. On a host,
 * with banded, blocked, scattered and uneven matrices of 4 to 32 KiB, a choice took 400 us, as long as 700 products of csr, and found
 * nothing that was more than 3% faster than csr. */
enum { SPMV_TINY_BYTES = 16384 };

/* A plan with the knobs of its kernels, and what it would cost. */
typedef struct spmv_option {
    char   plan[SPMV_CHOICE_TEXT], variant[SPMV_CHOICE_TEXT];
    double predicted;  /* seconds of a product, by the tuning table */
    double measured;   /* seconds of a product, by hints->measure; 0: not measured, negative: it cannot run */
    double convert;    /* analysis and conversion, in products of csr, roughly */
    double cost;       /* seconds by which options are ranked: the predicted time; 15% (not GPUs: 50%) of it more for each part after the
                          first; 10% more for all but csr where the table is of another processor (hosts: always); and the share of
                          convert that falls on each of hints->expected_calls products */
} spmv_option;

typedef struct spmv_choice {
    spmv_plan     plan;                      /* the plan that was chosen */
    char          variant[SPMV_CHOICE_TEXT]; /* its knobs, for spmv_desc.variant */
    int           count;                     /* options, the best first; 0 if the plan was given as text, or the matrix is tiny */
    int           tiny;                      /* 1: the matrix takes up to SPMV_TINY_BYTES, so the plan is csr and nothing was compared */
    spmv_option   option[SPMV_CHOICE_MAX];
    spmv_features features;                  /* cocktail: only the numbers of rows, columns and nonzeros */
    double        csr;                       /* predicted seconds of a product of the fastest csr */
    char          steps[SPMV_COCKTAIL_TEXT]; /* cocktail: every inequality that was evaluated; "": the plan is not by cocktail */
    char          table[SPMV_TUNE_NAME];     /* the device whose table was used */
    int           exact;                     /* 1: the table is the device's own or the caller's; 0: of another device or the general one */
} spmv_choice;

/* What the choice needs to know of the device where products will run: its name and its class, as a tuning table has them. spmv_target_of
 * of spmv.h makes it from an open device. All zero: the host. */
typedef struct spmv_target {
    const char       *device;       /* NULL: unknown, so that no table counts as the device's own; on the host: "host" */
    spmv_device_class device_class; /* without a table of the device itself, one of its class is used */
    const struct spmv_tuning *table; /* the bundled table for this device if it was read before, so that it need not be read again; NULL:
                                        it is read. spmv_create reads it once for each open device */
    int               exact;        /* 1: that table is the device's own */
} spmv_target;

/* Chooses a plan and the knobs of its kernels.
 *   out     the choice, with all options and their estimates; on failure it is zeroed
 *   text    "auto" or NULL: every format competes; "cocktail": the policies of clSpMV (spmv_cocktail.h), by the table's rates of banded
 *           matrices, which make one plan; it may have keys. Any other text goes to spmv_plan_make
 *   a       the matrix
 *   how     how it will be stored: type, strict, reproducible and max_bytes count
 *   target  where products will run; NULL: on the host
 *   hints   may be NULL: nothing is measured, conversion costs nothing, the bundled table is used
 *   column  as in spmv_plan_make; may be NULL
 *   hooks   may be NULL
 * For a tiny matrix "auto" is csr and no table is read, unless the hints have a table or a clock with refine, or exclude csr.
 * SPMV_ERR_MEMORY; SPMV_ERR_PLAN for unknown keys of cocktail; for other texts the statuses of spmv_plan_make. */
SPMV_API spmv_status spmv_choose(spmv_choice *out, const char *text, const spmv_csr *a, const spmv_build *how, const spmv_target *target,
                                 const spmv_build_hints *hints, int *column, const spmv_hooks *hooks);
/* Writes why a plan was chosen: the features of the matrix, a table of the options with their estimates, the least cost first and the
 * chosen one marked, and a sentence with the reason; for "cocktail" every inequality with its numbers. As snprintf does, it returns the
 * length of the whole text without its end, of which at most size bytes, a 0 at the end included, are written. */
SPMV_API size_t spmv_explain(const spmv_choice *c, char *out, size_t size);

/* ---- more: tuning tables ------------------------------------------------------------------------------------------ */

/* A line of rates. */
typedef struct spmv_tune_row {
    spmv_spec      layout;                     /* a format with the keys of its layout */
    spmv_type      type;
    spmv_tune_kind kind;
    char           variant[SPMV_TUNE_VARIANT]; /* knobs as text, "": the defaults */
    float         *rate;                       /* GFLOP/s, [rows][per_row] of the table; 0: not measured */
    float         *curve;                      /* what spmv_tuning_rate reads, with the gaps filled; NULL: nothing was measured */
} spmv_tune_row;

typedef struct spmv_tuning {
    char           device[SPMV_TUNE_NAME], driver[SPMV_TUNE_NAME], date[16];
    spmv_device_class device_class;
    uint64_t       units, memory;     /* compute units or cores; MiB */
    double         copy, read;        /* GB/s */
    double         cache, cache_read; /* MiB, GB/s; 0: not known */
    double         launch;            /* seconds */
    int            rows, per_row;     /* points on each axis */
    uint64_t       rows_at[SPMV_TUNE_AXIS], per_row_at[SPMV_TUNE_AXIS];
    size_t         count;             /* lines of rates */
    spmv_tune_row *row;
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
/* The text of the bundled table for a device, else of one for its class; NULL if there is neither.
 *   device        its name; NULL: unknown
 *   device_class  its class
 *   length        becomes the bytes of the text; may be NULL
 *   exact         becomes 1 if the table is for that very device, else 0; may be NULL */
SPMV_API const char *spmv_tuning_bundled(const char *device, spmv_device_class device_class, size_t *length, int *exact);
/* The number of bundled tables, and the text of each: zeros stand between some of its lines and after the last. length may be NULL. */
SPMV_API size_t spmv_tuning_count(void);
SPMV_API const char *spmv_tuning_text(size_t i, size_t *length);

/* ---- for tools ---------------------------------------------------------------------------------------------------- */

/* "banded"; "unknown" if there is no such kind. */
SPMV_API const char *spmv_tune_kind_name(spmv_tune_kind k);

/* The rate of one row of a table at any size.
 *   t, row   the table and one of its rows
 *   rows     rows of the matrix
 *   per_row  nonzeros in a row
 * Returns GFLOP/s, 0 if the row has no sample. Between the samples it is bilinear in the logarithms of rows, of nonzeros in a row, and of
 * the ratio of the rate to the one that launch and memory speed of the head allow. Outside the table it is that of the edge, where longer
 * rows count as more rows. At a size where the row has no sample, it is as far behind the best of its format as at the samples around
 * it, and the best of the format likewise behind the best of all. */
SPMV_API double spmv_tuning_rate(const spmv_tuning *t, const spmv_tune_row *row, double rows, double per_row);

/* Finds the features of a matrix, or of those of its nonzeros that a view shows. Rows and diagonals are read once; blocks, and how x is
 * read, are estimated from samples.
 *   out      the features; on failure zeroed
 *   v        the view; its row list is ignored
 *   sample   nonzeros in the sample for each block size; 0: a 32nd of them and 8192 more, at most 2^17. Shares found in blocks err by
 *            about 1 / sqrt(slices in the sample)
 *   without  bits 1u << SPMV_DIA of formats that will not be used; features that only they need are left zero
 *   hooks    may be NULL
 * SPMV_ERR_MEMORY. */
SPMV_API spmv_status spmv_features_make(spmv_features *out, const spmv_view *v, uint64_t sample, unsigned without, const spmv_hooks *hooks);

#ifdef __cplusplus
}
#endif
#endif /* SPMV_AUTO_H */
/* ============================================ END OF THE INTERFACE ============================================== */

#if defined(SPMV_IMPLEMENTATION) && !defined(SPMV_AUTO_IMPLEMENTED)
#define SPMV_AUTO_IMPLEMENTED

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
    size_t n = 0;
    while (l->at < l->end && spmv__blank(*l->at)) l->at++;
    for (; l->at < l->end && *l->at != '\n' && !spmv__blank(*l->at); l->at++)
        if (n + 1 < sizeof l->word) l->word[n++] = *l->at;
    l->word[n] = 0;
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
    } else if (!strcmp(w, "launch")) s = spmv__tune_number(l, 1e-6, &t->launch);
    else if (!strcmp(w, "rows")) s = spmv__tune_axis(l, &t->rows, t->rows_at);
    else if (!strcmp(w, "per_row")) s = spmv__tune_axis(l, &t->per_row, t->per_row_at);
    else *known = 0;
    return s;
}

static void spmv__hush(void *user, spmv_status s, const char *message)
{
    (void)user;
    (void)s;
    (void)message;
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

/* Makes room for at least one more row. *room: the rows that there is room for. */
static spmv_status spmv__tune_grow(spmv_tuning *t, size_t *room)
{
    void *more;
    size_t wanted = *room ? *room * 2 : 64;
    spmv_status s = spmv__new(&t->hooks, &more, wanted, sizeof *t->row, 0);
    if (s) return s;
    if (t->count) memcpy(more, t->row, t->count * sizeof *t->row);
    spmv_free(&t->hooks, t->row);
    t->row = (spmv_tune_row *)more;
    *room = wanted;
    return SPMV_OK;
}

/* Reads a line of rates and appends it to the table, unless its format is left out of this build. */
static spmv_status spmv__tune_line(spmv_tuning *t, spmv__lines *l, size_t *room)
{
    spmv_tune_row r;
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
    if (!s && t->count == *room) s = spmv__tune_grow(t, room);
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
    double scale = 1, t, term = 1, sum = 1;
    int i;
    while (v >= 1) v--, scale *= 2;
    while (v < 0) v++, scale /= 2;
    t = v * 0.6931471805599453;
    for (i = 1; i < 14; i++) sum += term *= t / i;
    return scale * sum;
}

/* Seconds to read so many bytes: from the cache as long as they fit there beside x, y and the rest. On an H200, whose cache appears as
 * 56 MiB when nothing else is read, matrices up to 40 MB are served from it and none from 50 MB on. */
static double spmv__read_seconds(const spmv_tuning *t, double bytes)
{
    double slow = bytes / (t->read * 1e9), fast, out;
    if (!(t->cache > 0) || !(t->cache_read > t->read)) return slow;
    fast = bytes / (t->cache_read * 1e9);
    out = (bytes / (t->cache * 1048576) - 0.7) / 0.2;
    return out <= 0 ? fast : out >= 1 ? slow : fast + out * (slow - fast);
}

/* The model: the logarithm of the rate of a layout that takes one launch and the time to read its bytes; 0 if the head of the table lacks
 * the speed of memory. */
static double spmv__model_rate(const spmv_tuning *t, spmv_type type, const spmv_spec *layout, double rows, double per_row)
{
    double width = (double)spmv_value_size(type), nnz = rows * per_row;
    double bytes = nnz * (width + spmv__spec_index_bytes(layout)) + rows * (2 * width + 4);
    return t->read > 0 ? spmv__log2(2e-9 * nnz / (t->launch + spmv__read_seconds(t, bytes))) : 0;
}

#define SPMV__GAP (-1e9f) /* in a curve: not measured; below any logarithm of a rate */

typedef struct spmv__filling {
    const spmv_tuning *t;
    int                points;
    float             *near_by;  /* [points][points]: the weight of the second point in a gap at the first */
    float             *measured; /* what is being filled, with its gaps */
    float             *all;      /* the best of a type and kind */
    float             *format[SPMV_FORMAT_COUNT]; /* the best of each format, of a type and kind */
} spmv__filling;

/* Fills in near_by. The nearest points are those with as many nonzeros in a row, and of these the ones with about as many nonzeros. */
static void spmv__fill_weigh(const spmv__filling *f)
{
    const spmv_tuning *t = f->t;
    int a, b;
    for (a = 0; a < f->points; a++)
        for (b = 0; b < f->points; b++) {
            double x = spmv__log2((double)t->rows_at[a / t->per_row] / (double)t->rows_at[b / t->per_row]);
            double y = spmv__log2((double)t->per_row_at[a % t->per_row] / (double)t->per_row_at[b % t->per_row]);
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

/* Sets f->measured to the best curves of a type, kind and format (SPMV_FORMAT_COUNT: of all formats). 0: there are none. */
static int spmv__fill_best(const spmv__filling *f, spmv_type type, spmv_tune_kind kind, spmv_format format)
{
    size_t k;
    int i, any = 0;
    for (i = 0; i < f->points; i++) f->measured[i] = SPMV__GAP;
    for (k = 0; k < f->t->count; k++) {
        const spmv_tune_row *r = &f->t->row[k];
        if (r->type != type || r->kind != kind || !r->curve || (format != SPMV_FORMAT_COUNT && r->layout.format != format)) continue;
        for (i = 0; i < f->points; i++) {
            if (r->curve[i] > f->measured[i]) f->measured[i] = r->curve[i];
        }
        any = 1;
    }
    return any;
}

/* Copies f->measured to out and fills the gaps: as far below like as f->measured is at the points around. like NULL: below 0. */
static void spmv__fill_gaps(const spmv__filling *f, const float *like, float *out)
{
    int i, j;
    for (i = 0; i < f->points; i++) {
        const float *w = f->near_by + (size_t)i * (size_t)f->points;
        double sum = 0, weights = 0;
        out[i] = f->measured[i];
        if (f->measured[i] > SPMV__GAP) continue;
        for (j = 0; j < f->points; j++) {
            if (!(f->measured[j] > SPMV__GAP)) continue;
            sum += (double)w[j] * (double)(f->measured[j] - (like ? like[j] : 0));
            weights += (double)w[j];
        }
        out[i] = (float)(sum / weights) + (like ? like[i] : 0);
    }
}

/* Fills the curves of all rows of a type and kind, in the three steps. */
static void spmv__fill_kind(const spmv__filling *f, spmv_type type, spmv_tune_kind kind)
{
    const spmv_tuning *t = f->t;
    size_t k;
    int i;
    if (!spmv__fill_best(f, type, kind, SPMV_FORMAT_COUNT)) return;
    spmv__fill_gaps(f, NULL, f->all);
    for (i = 0; i < SPMV_FORMAT_COUNT; i++)
        if (spmv__fill_best(f, type, kind, (spmv_format)i)) spmv__fill_gaps(f, f->all, f->format[i]);
    for (k = 0; k < t->count; k++) {
        spmv_tune_row *r = &t->row[k];
        if (r->type != type || r->kind != kind || !r->curve) continue;
        memcpy(f->measured, r->curve, (size_t)f->points * sizeof *f->measured);
        spmv__fill_gaps(f, f->format[r->layout.format], r->curve);
    }
}

/* Makes the curves of all rows of the table. */
static spmv_status spmv__fill_curves(const spmv_tuning *t)
{
    spmv__filling f;
    void *block;
    float *at;
    int i, type, kind;
    size_t k;
    uint64_t n = (uint64_t)t->rows * (uint64_t)t->per_row;
    spmv_status s = spmv__new(&t->hooks, &block, n * (n + 2 + SPMV_FORMAT_COUNT) + 1, sizeof *at, 0);
    if (s) return s;
    f.t = t;
    f.points = (int)n;
    f.near_by = at = (float *)block;
    f.measured = at += n * n;
    f.all = at += n;
    for (i = 0; i < SPMV_FORMAT_COUNT; i++) f.format[i] = at += n;
    spmv__fill_weigh(&f);
    for (k = 0; k < t->count; k++)
        if (t->row[k].curve) spmv__fill_samples(&f, &t->row[k]);
    for (type = 0; type < SPMV_TYPE_COUNT; type++)
        for (kind = 0; kind < SPMV_TUNE_KIND_COUNT; kind++) spmv__fill_kind(&f, (spmv_type)type, (spmv_tune_kind)kind);
    spmv_free(&t->hooks, block);
    return SPMV_OK;
}

SPMV_API spmv_status spmv_tuning_read(spmv_tuning *out, const char *text, size_t length, const char *name, const spmv_hooks *hooks)
{
    if (!out || (length && !text)) return spmv__null(hooks, "spmv_tuning_read", !out ? "out" : "text", out, sizeof *out);
    static const spmv_hooks plain = { NULL, NULL, NULL, NULL };
    spmv__lines l;
    size_t room = 0;
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
        if (!s && !known) s = spmv__tune_line(out, &l, &room);
    }
    if (!s && (!out->device[0] || out->device_class == SPMV_DEVICE_CLASS_COUNT))
        s = spmv__bad_line(&l, "a table needs the lines \"device\" and \"class\"");
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
    memset(t, 0, sizeof *t);
}

/* ---- tuning tables: look-up ---------------------------------------------------------------------------------------- */

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

SPMV_API const char *spmv_tuning_bundled(const char *device, spmv_device_class device_class, size_t *length, int *exact)
{
    char word[SPMV_TUNE_NAME];
    size_t i, found = spmv_tuning_count();
    int same = 0;
    for (i = found; i-- > 0 && !same;) {
        spmv__tuning_word(i, "class", word);
        if (spmv_device_class_from(word) != device_class) continue;
        found = i;
        spmv__tuning_word(i, "device", word);
        same = device && !strcmp(word, device);
    }
    if (exact) *exact = same;
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

/* ---- features ------------------------------------------------------------------------------------------------------ */

static void spmv__look_free(spmv__look *l)
{
    spmv_free(l->h, l->len);
    spmv_free(l->h, l->low);
    spmv_free(l->h, l->high);
    spmv_free(l->h, l->longer);
    spmv_free(l->h, l->known);
}

/* What the shares of spmv__look_make find: the nonzeros and the rows that are not empty of each, and its longest row. */
typedef struct spmv__look_totals {
    spmv__look *l;
    uint64_t    shares, nnz[SPMV__MOST_SHARES], rows[SPMV__MOST_SHARES], longest[SPMV__MOST_SHARES];
} spmv__look_totals;

/* Fills in the length of row r and its first and last column; returns the length. */
static uint64_t spmv__look_at_row(const spmv__look *l, uint64_t r)
{
    const spmv_csr *a = l->v->a;
    uint64_t k, n = 0, end = a->ptr[r + 1];
    l->low[r] = 1;
    l->high[r] = 0;
    if (!l->v->owner) {
        n = end - a->ptr[r];
        if (n) l->low[r] = a->col[a->ptr[r]], l->high[r] = a->col[end - 1];
    } else {
        for (k = a->ptr[r]; k < end; k++) {
            if (!spmv__mine(l->v, k)) continue;
            if (!n++) l->low[r] = a->col[k];
            l->high[r] = a->col[k];
        }
    }
    l->len[r] = (uint32_t)n;
    return n;
}

/* Reads the rows of a share. */
static void spmv__look_share(void *job, uint64_t share)
{
    spmv__look_totals *t = (spmv__look_totals *)job;
    const spmv_csr *a = t->l->v->a;
    uint64_t r = spmv__share_row(a->ptr, a->rows, share, t->shares), end = spmv__share_row(a->ptr, a->rows, share + 1, t->shares);
    uint64_t nnz = 0, rows = 0, longest = 0;
    for (; r < end; r++) {
        uint64_t n = spmv__look_at_row(t->l, r);
        nnz += n;
        rows += n != 0;
        if (n > longest) longest = n;
    }
    t->nnz[share] = nnz;
    t->rows[share] = rows;
    t->longest[share] = longest;
}

/* The square root by Newton's method; 0 for what is not positive. */
static double spmv__square_root(double v)
{
    double r = v > 1 ? v : 1;
    int i;
    for (i = 0; i < 60; i++) r = (r + v / r) / 2;
    return v > 0 ? r : 0;
}

/* sigma of Koza et al. Their equation 3 is the deviation of all row lengths, but their tables print that over the square root of the mean
 * (mc2depi: 0.076 and 4.0 give 0.04; Chebyshev4: 1061 and 78.9 give 119.46), and so does this. */
static double spmv__look_sigma(const spmv__look *l)
{
    double rows = (double)l->v->a->rows, mean = rows > 0 ? (double)l->nnz / rows : 0, squares = 0;
    uint64_t k;
    for (k = 1; k <= l->longest; k++) squares += (2 * (double)k - 1) * (double)l->longer[k];
    return mean > 0 ? spmv__square_root((squares / rows - mean * mean) / mean) : 0;
}

/* The deviation of the lengths of rows that are not empty over their mean, where longer rows than 64 means count as 64 means: those are the
 * longest of the uneven matrices that tables are measured on. */
static double spmv__look_uneven(const spmv__look *l)
{
    double rows = (double)l->rows, mean = rows > 0 ? (double)l->nnz / rows : 0, sum = 0, squares = 0;
    uint64_t k, most = spmv__smaller(l->longest, (uint64_t)(64 * mean) + 64);
    for (k = 1; k <= most; k++) {
        sum += (double)l->longer[k];
        squares += (2 * (double)k - 1) * (double)l->longer[k];
    }
    return sum > 0 ? spmv__square_root(squares / rows - sum / rows * (sum / rows)) * rows / sum : 0;
}

/* Reads all rows, in shares, and adds up what they find. */
static void spmv__look_read(spmv__look *l)
{
    spmv__look_totals t;
    const spmv_csr *a = l->v->a;
    uint64_t i;
    t.l = l;
    t.shares = spmv__share_count(a->rows + (l->v->owner ? a->nnz : 0));
    spmv__share_out(spmv__look_share, &t, t.shares);
    for (i = 0; i < t.shares; i++) {
        l->nnz += t.nnz[i];
        l->rows += t.rows[i];
        if (t.longest[i] > l->longest) l->longest = t.longest[i];
    }
}

/* Reads the lengths of all rows and counts how many rows reach each length. Free l with spmv__look_free. */
static spmv_status spmv__look_make(spmv__look *l, const spmv_view *v, const spmv_hooks *h)
{
    void *len = NULL, *low = NULL, *high = NULL, *longer = NULL, *known = NULL;
    uint64_t r, rows = v->a->rows;
    spmv_status s;
    memset(l, 0, sizeof *l);
    l->v = v;
    l->h = h;
    s = spmv__room(h, &len, rows + 1, 4);
    if (!s) s = spmv__room(h, &low, rows + 1, 4);
    if (!s) s = spmv__room(h, &high, rows + 1, 4);
    if (!s) s = spmv__new(h, &known, 1, sizeof *l->known, 0);
    l->len = (uint32_t *)len;
    l->low = (uint32_t *)low;
    l->high = (uint32_t *)high;
    l->known = (spmv__look_known *)known;
    if (!s) spmv__look_read(l);
    if (!s) s = spmv__new(h, &longer, l->longest + 2, 8, 0);
    l->longer = (uint64_t *)longer;
    for (r = 0; r < rows && !s; r++) l->longer[l->len[r]]++;
    for (r = l->longest; r-- > 0 && !s;) l->longer[r] += l->longer[r + 1];
    if (s) spmv__look_free(l);
    return s;
}

/* What is left of the rows after their first w entries. w only grows, so that trying every width costs one pass over the lengths. */
typedef struct spmv__beyond_w {
    uint64_t w;
    double   rows, nnz;    /* rows that have entries left, and those entries */
    double   weighted;     /* sum over k > w of k longer[k], for the deviation */
} spmv__beyond_w;

static void spmv__beyond_begin(const spmv__look *l, spmv__beyond_w *b)
{
    uint64_t k;
    memset(b, 0, sizeof *b);
    b->rows = (double)l->rows;
    for (k = 1; k <= l->longest; k++) {
        b->nnz += (double)l->longer[k];
        b->weighted += (double)k * (double)l->longer[k];
    }
}

static void spmv__beyond_go(const spmv__look *l, spmv__beyond_w *b, uint64_t w)
{
    for (; b->w < w && b->w < l->longest; b->w++) {
        double reach = (double)l->longer[b->w + 1];
        b->nnz -= reach;
        b->weighted -= (double)(b->w + 1) * reach;
    }
    b->rows = b->w < l->longest ? (double)l->longer[b->w + 1] : 0;
}

/* The standard deviation of the entries left in those rows: the sum of the squares of k - w is that of (2 (k - w) - 1) longer[k]. */
static double spmv__beyond_deviation(const spmv__beyond_w *b)
{
    double mean, squares;
    if (b->rows <= 0) return 0;
    mean = b->nnz / b->rows;
    squares = 2 * b->weighted - (2 * (double)b->w + 1) * b->nnz;
    return spmv__square_root(squares / b->rows - mean * mean);
}

/* Estimates how scattered the reads of x are: the share of the nonzeros that miss a direct-mapped cache of 2048 lines with eight elements
 * each, which is simulated for windows of rows. */
static spmv_status spmv__look_gather(const spmv__look *l, uint64_t sample, double *gather)
{
    enum { LINES = 2048, WINDOW = 512 /* rows */ };
    const spmv_csr *a = l->v->a;
    void *block;
    uint32_t *tag;
    uint64_t windows = spmv__ceil_div(a->rows, WINDOW), step, w, r, k, seen = 0, missed = 0;
    spmv_status s = spmv__new(l->h, &block, LINES, 4, 0);
    if (s) return s;
    tag = (uint32_t *)block;
    step = l->nnz > sample ? l->nnz / sample : 1;
    for (w = step / 2 < windows ? step / 2 : 0; w < windows && seen < 2 * sample; w += step) {
        uint64_t end = (w + 1) * WINDOW < a->rows ? (w + 1) * WINDOW : a->rows, budget = seen + sample / 4 + 1;
        for (r = w * WINDOW; r < end && seen < budget; r++)
            for (k = a->ptr[r]; k < a->ptr[r + 1] && seen < budget; k++) {
                uint32_t line = a->col[k] / 8 + 1;
                if (!spmv__mine(l->v, k)) continue;
                seen++;
                if (tag[line % LINES] == line) continue;
                tag[line % LINES] = line;
                missed++;
            }
    }
    *gather = seen ? (double)missed / (double)seen : 0;
    spmv_free(l->h, block);
    return SPMV_OK;
}

/* A number of 0 <= v < 1 for each i. Any run of successive i spreads evenly, by the golden section in units of 2^-32. */
static double spmv__spread(uint64_t i) { return (double)((uint32_t)(i + 1) * 2654435769u) / 4294967296.0; }

enum { SPMV__DIAGONAL_WINDOW = 8 /* rows of a window that is read or left out: few, so that windows are many */ };

/* Counts the nonzeros of each diagonal in every step-th window of rows. */
static spmv_status spmv__diagonals_sample(spmv__diagonals *d, const spmv_view *v, uint64_t step, const spmv_hooks *h)
{
    const spmv_csr *a = v->a;
    void *block;
    uint64_t w, r, k;
    spmv_status s;
    memset(d, 0, sizeof *d);
    d->numbers = a->rows + a->cols;
    s = spmv__new(h, &block, d->numbers, 4, 0);
    if (s) return s;
    d->place = (uint32_t *)block;
    for (w = 0; w * SPMV__DIAGONAL_WINDOW < a->rows; w += step) {
        /* within each group of step windows another one is taken, so that no pattern of the matrix hides from the sample */
        uint64_t first = (w + (uint64_t)(spmv__spread(w / step) * (double)step)) * SPMV__DIAGONAL_WINDOW;
        for (r = first; r < first + SPMV__DIAGONAL_WINDOW && r < a->rows; r++)
            for (k = a->ptr[r]; k < a->ptr[r + 1]; k++)
                if (spmv__mine(v, k)) d->place[a->col[k] + a->rows - 1 - r]++;
    }
    return SPMV_OK;
}

/* Fills in the histograms of diagonals by how full they are, and counts diagonals and bands. Each nonzero counted in d stands for times of
 * them. */
static void spmv__look_histogram(const spmv__look *l, const spmv__diagonals *d, uint64_t times, spmv_features *f)
{
    uint64_t at = 0, number, held, before = 0;
    f->diagonals = f->bands = 0;
    memset(f->diagonal_nnz, 0, sizeof f->diagonal_nnz);
    memset(f->diagonal_count, 0, sizeof f->diagonal_count);
    for (; spmv__diagonals_next(d, &at, &number, &held); before = number) {
        uint64_t length = spmv__diagonal_length(l->v->a, number), full = spmv__smaller(held * times, length);
        int bin = (int)((double)full * (double)SPMV_FILL_BINS / (double)length);
        f->bands += !f->diagonals || number != before + 1;
        f->diagonals++;
        f->diagonal_nnz[bin] += (double)full;
        f->diagonal_count[bin]++;
    }
}

/* Fills in the features of diagonals. Of a large matrix, every row is read only if a sample shows so few diagonals that the whole matrix
 * could be stored by diagonals. Otherwise the features are those of the sample: a diagonal that is filled to p is estimated with a standard
 * error of sqrt(p (1 - p) / n), where n, the number of rows in the sample, is in the thousands unless rows are very long. Diagonals with few
 * nonzeros may then be missing. */
static spmv_status spmv__look_diagonals(const spmv__look *l, spmv_features *f)
{
    const uint64_t sample = 1u << 18; /* nonzeros */
    const double   dense = 8;         /* slots for each nonzero: more are never worth it */
    const uint64_t rows = l->v->a->rows;
    spmv__diagonals d;
    spmv_status s;
    if (l->nnz >= 2 * sample && spmv__keys_fit(l->v->a, rows + l->v->a->cols)) {
        s = spmv__diagonals_sample(&d, l->v, l->nnz / sample, l->h);
        if (s) return s;
        spmv__look_histogram(l, &d, l->nnz / sample, f);
        spmv__diagonals_free(&d, l->h);
        if ((double)f->diagonals * (double)rows > dense * (double)l->nnz) return SPMV_OK;
    }
    s = spmv__diagonals_count(&d, l->v, l->h);
    if (s) return s;
    spmv__look_histogram(l, &d, 1, f);
    spmv__diagonals_free(&d, l->h);
    return SPMV_OK;
}

/* Adds the blocks of a block row to b, as long as the walk w goes; returns their number. Each counts for weight blocks. */
static uint64_t spmv__look_walk(spmv__blocks *w, double weight, spmv_block_features *b)
{
    uint64_t n = 0;
    for (; spmv__blocks_next(w) != SPMV__NO_BLOCK; n++) b->at[spmv__blocks_load(w)] += weight;
    return n;
}

/* The first entry of a row in column c or a later one; the end of the row if there is none. */
static uint64_t spmv__entry_from(const spmv_csr *a, uint64_t row, uint64_t c)
{
    uint64_t low = a->ptr[row], n = a->ptr[row + 1] - low;
    while (n) {
        uint64_t half = n / 2;
        if (a->col[low + half] < c) {
            low += half + 1;
            n -= half + 1;
        } else
            n = half;
    }
    return low;
}

/* Limits a walk over rows first .. end - 1 to a range of columns that holds about that share of the longest row. Returns the number of
 * entries in the range. */
static uint64_t spmv__look_columns(spmv__blocks *w, uint64_t first, uint64_t end, double share)
{
    const uint64_t least = 32; /* entries; the blocks at both ends are read in full and would count for too much among fewer */
    const spmv_csr *a = w->v->a;
    uint64_t i, r, longest = first, n, taken, begin, low, high, entries = 0;
    for (r = first; r < end; r++)
        if (a->ptr[r + 1] - a->ptr[r] > a->ptr[longest + 1] - a->ptr[longest]) longest = r;
    n = a->ptr[longest + 1] - a->ptr[longest];
    if (!n) return 0;
    taken = (uint64_t)(share * (double)n) + 1;
    taken = spmv__smaller(taken < least ? least : taken, n);
    begin = a->ptr[longest] + (uint64_t)(spmv__spread(first) * (double)(n - taken + 1));
    low = spmv__block_of(a->col[begin], w->bw) * w->bw;
    high = (spmv__block_of(a->col[begin + taken - 1], w->bw) + (uint64_t)1) * w->bw;
    for (i = 0, r = first; r < end; i++, r++) {
        uint64_t from = spmv__entry_from(a, r, low);
        w->end[i] = spmv__entry_from(a, r, high);
        entries += w->end[i] - from;
        spmv__blocks_move(w, i, from);
    }
    return entries;
}

enum { SPMV__LOOK_SLICE = 32 /* block rows that are read together: the default height of slices of sbell, so that their padding shows */ };

/* Adds the blocks of one slice to b, each as weight blocks. share: the share of the columns that is read; what is found there is scaled to
 * the block row. Returns the number of entries that were read. */
static uint64_t spmv__look_slice(const spmv__look *l, uint64_t slice, double weight, double share, spmv_block_features *b)
{
    const spmv_csr *a = l->v->a;
    uint64_t bh = (uint64_t)b->bh, row = slice * SPMV__LOOK_SLICE * bh, looked = 0;
    uint64_t stop = spmv__smaller(row + SPMV__LOOK_SLICE * bh, a->rows);
    double most = 0;
    for (; row < stop; row += bh) {
        uint64_t end = spmv__smaller(row + bh, a->rows), all = a->ptr[end] - a->ptr[row], entries = all;
        double times, found; /* entries of the block row for each that was read; its blocks */
        spmv__blocks w;
        if (!all) continue;
        spmv__blocks_begin(&w, l->v, row, bh, (uint64_t)b->bw);
        if (share < 1) entries = spmv__look_columns(&w, row, end, share);
        looked += entries;
        times = entries ? (double)all / (double)entries : 0;
        found = times * (double)spmv__look_walk(&w, weight * times, b);
        b->blocks += weight * found;
        if (found > most) most = found;
    }
    b->slots += weight * most * (double)SPMV__LOOK_SLICE;
    if (most > b->widest) b->widest = most;
    return looked;
}

static uint64_t spmv__slice_entries(const spmv__look *l, uint64_t slice, uint64_t rows)
{
    const spmv_csr *a = l->v->a;
    return a->ptr[spmv__smaller((slice + 1) * rows, a->rows)] - a->ptr[slice * rows];
}

/* The row in which entry k lies; first is a row that begins at k or before. */
static uint64_t spmv__row_of(const spmv_csr *a, uint64_t first, uint64_t k)
{
    uint64_t end = a->rows;
    while (end - first > 1) {
        uint64_t middle = first + (end - first) / 2;
        if (a->ptr[middle] <= k) first = middle;
        else end = middle;
    }
    return first;
}

/* Reads a sample of the slices. All entries are divided into equal stretches, and in every step-th stretch one entry is picked, at a place
 * that differs from stretch to stretch; the slice around it is read. So no slice is in every sample, no pattern of the matrix hides from
 * it, and other block heights read the same rows, which are then in the cache. A slice is picked in proportion to its entries, and its
 * weight makes up for that: its blocks count for the entries that it stands for. most: the most entries that are read of one slice. */
static void spmv__look_picked(const spmv__look *l, uint64_t stretches, uint64_t step, uint64_t most, spmv_block_features *b)
{
    const spmv_csr *a = l->v->a;
    const double stretch = (double)a->nnz / (double)stretches;
    uint64_t rows = SPMV__LOOK_SLICE * (uint64_t)b->bh, i, row = 0, slice = UINT64_MAX, times = 0, group;
    for (group = 0; group < stretches + step; group += step) { /* the last one is past the end and only completes a slice */
        uint64_t next = UINT64_MAX;
        i = group + group / step % step;
        if (i < stretches) {
            row = spmv__row_of(a, row, (uint64_t)(((double)i + spmv__spread(i)) * stretch));
            next = row / rows;
        }
        if (next != slice && times) {
            double entries = (double)spmv__slice_entries(l, slice, rows);
            b->sampled += (double)spmv__look_slice(l, slice, (double)times * stretch / entries, (double)most / entries, b);
            times = 0;
        }
        slice = next;
        times++;
    }
}

/* Fills in b for one block size from slices with about sample entries, or from all, scaled to the nonzeros of the view. */
static void spmv__look_block_size(const spmv__look *l, uint64_t sample, spmv_block_features *b)
{
    const uint64_t least_picks = 8;
    const uint64_t least_stretches = 72; /* well above the picks, so that heights with few picks have them in different stretches */
    const uint64_t uneven = 4; /* times the mean: no more entries than that are read of one slice */
    const spmv_csr *a = l->v->a;
    uint64_t bh = (uint64_t)b->bh, slices = spmv__ceil_div(a->rows, SPMV__LOOK_SLICE * bh), slice, stretches, picks;
    double held = 0, scale;
    int n;
    if (a->nnz > sample) {
        /* slices picked by their entries hold more of them than the mean, on graphs up to twice as many, so half the picks suffice */
        stretches = spmv__sat_mul(spmv__ceil_div(a->rows, SPMV__LOOK_SLICE), sample / 2) / a->nnz + 1;
        picks = stretches / bh < least_picks ? least_picks : stretches / bh;
        if (stretches < least_stretches) stretches = least_stretches;
        spmv__look_picked(l, stretches, stretches / picks, uneven * sample / picks + 1, b);
    } else
        for (slice = 0; slice < slices; slice++) b->sampled += (double)spmv__look_slice(l, slice, 1, 1, b);
    for (n = 0; n <= SPMV_FILL_BINS; n++) held += n * b->at[n];
    scale = held > 0 ? (double)l->nnz / held : 0;
    b->sampled /= (double)a->nnz;
    b->blocks *= scale;
    b->slots *= scale * (double)(b->bh * b->bw);
    for (n = 0; n <= SPMV_FILL_BINS; n++) b->at[n] *= scale;
}

/* What is known when the features of blocks are found: each block size is a share. */
typedef struct spmv__look_sizes {
    const spmv__look *l;
    uint64_t          sample;
    spmv_features    *f;
} spmv__look_sizes;

static void spmv__look_size_share(void *job, uint64_t share)
{
    const spmv__look_sizes *c = (const spmv__look_sizes *)job;
    spmv__look_block_size(c->l, c->sample, &c->f->block[share]);
}

/* Fills in f->block for every block size. */
static void spmv__look_blocks(const spmv__look *l, uint64_t sample, spmv_features *f)
{
    spmv__look_sizes c;
    uint64_t i;
    c.l = l;
    c.sample = sample;
    c.f = f;
    if (spmv__smaller(sample, l->nnz) * SPMV_BLOCK_SIZES >= SPMV__SHARE) spmv__share_out(spmv__look_size_share, &c, SPMV_BLOCK_SIZES);
    else
        for (i = 0; i < SPMV_BLOCK_SIZES; i++) spmv__look_size_share(&c, i); /* not worth threads */
}

/* The bits of all formats of a class. */
static unsigned spmv__class_bits(spmv_format_class category)
{
    unsigned bits = 0;
    int f;
    for (f = 0; f < SPMV_FORMAT_COUNT; f++)
        if (spmv_format_class_of((spmv_format)f) == category) bits |= 1u << f;
    return bits;
}

/* Fills in the features of what l has read; sample and without are those of spmv_features_make. */
static spmv_status spmv__look_features(const spmv__look *l, spmv_features *f, uint64_t sample, unsigned without)
{
    static const int sizes[][2] = {
#define X(h, w, u) { h, w },
        SPMV_BLOCK_LIST(X)
#undef X
    };
    spmv__beyond_w all;
    int i;
    spmv_status s;
    memset(f, 0, sizeof *f);
    if (!sample) sample = spmv__smaller(1u << 17, 8192 + l->nnz / 32);
    f->rows = l->v->a->rows;
    f->cols = l->v->a->cols;
    f->nnz = l->nnz;
    f->longest = l->longest;
    f->empty = f->rows - l->rows;
    f->mean = f->rows ? (double)f->nnz / (double)f->rows : 0;
    spmv__beyond_begin(l, &all);
    f->deviation = spmv__beyond_deviation(&all);
    f->sigma = spmv__look_sigma(l);
    f->uneven = spmv__look_uneven(l);
    for (i = 0; i < SPMV_BLOCK_SIZES; i++) {
        f->block[i].bh = sizes[i][0];
        f->block[i].bw = sizes[i][1];
    }
    s = spmv__look_gather(l, sample, &f->gather);
    if (!s && ~without & spmv__class_bits(SPMV_CLASS_DIAGONAL) && f->nnz) s = spmv__look_diagonals(l, f);
    if (!s && ~without & spmv__class_bits(SPMV_CLASS_BLOCK) && f->nnz) spmv__look_blocks(l, sample, f);
    return s;
}

SPMV_API spmv_status spmv_features_make(spmv_features *out, const spmv_view *v, uint64_t sample, unsigned without, const spmv_hooks *hooks)
{
    if (!out || !v || !v->a) return spmv__null(hooks, "spmv_features_make", !out ? "out" : !v ? "v" : "v->a", out, sizeof *out);
    spmv__look l;
    spmv_status s = spmv__look_make(&l, v, hooks);
    if (s) {
        memset(out, 0, sizeof *out);
        return s;
    }
    s = spmv__look_features(&l, out, sample, without);
    spmv__look_free(&l);
    if (s) memset(out, 0, sizeof *out);
    return s;
}

/* ---- candidates ---------------------------------------------------------------------------------------------------- */

enum { SPMV__GROUPS = (int)SPMV_FORMAT_COUNT + (int)SPMV_CLASS_COUNT }; /* a group: a format, or SPMV_FORMAT_COUNT + a class */

/* A layout with one choice of knobs, and its rates for each kind of matrix (NULL: not measured). */
typedef struct spmv__candidate {
    const spmv_spec     *layout;
    const char          *variant;
    const spmv_tune_row *kind[SPMV_TUNE_KIND_COUNT];
    unsigned             lent; /* bits of kinds for which these knobs were not measured, so that the row is of other knobs */
} spmv__candidate;

typedef struct spmv__chooser {
    const spmv_csr         *a;
    const spmv_build       *how;
    const spmv_build_hints *hints;
    const spmv_hooks       *h;
    const spmv_tuning      *t;
    spmv_choice            *out;
    spmv__candidate        *cand;
    size_t                  cands;
    spmv_type               rates;   /* the type that all rows of the candidates were measured with */
    float                  *best;    /* the highest curve of all candidates of a group for a kind: [group][kind][rows][per_row] */
    unsigned char           any[SPMV__GROUPS][SPMV_TUNE_KIND_COUNT]; /* 1: there is such a curve */
    double                  flat;    /* the least predicted seconds of a flat format for the whole matrix */
    unsigned                without; /* bits of formats that must not be used */
    double                  limit;   /* the most bytes that a part may take */
} spmv__chooser;

/* May the format be used: by the build, the hints, strict mode and reproducibility? */
static int spmv__usable(const spmv__chooser *c, spmv_format f)
{
    unsigned flags = spmv_format_flags(f);
    if (c->without >> f & 1u || !spmv_format_built(f)) return 0;
    if (c->how->strict && flags & SPMV_HAS_FILL) return 0;
    return !c->how->reproducible || (flags & SPMV_REPEATS);
}

/* Has a part any keys? */
static int spmv__has_keys(const spmv_spec *s)
{
    int k;
    for (k = 0; k < SPMV_KEY_COUNT; k++)
        if (s->key[k]) return 1;
    return 0;
}

static int spmv__same_spec(const spmv_spec *a, const spmv_spec *b)
{
    return a->format == b->format && !memcmp(a->key, b->key, sizeof a->key);
}

/* Is it a flat format without fill, which can take whatever other parts leave? */
static int spmv__is_flat(spmv_format f)
{
    return spmv_format_class_of(f) == SPMV_CLASS_FLAT && !(spmv_format_flags(f) & SPMV_HAS_FILL);
}

static int spmv__is_block(spmv_format f) { return spmv_format_class_of(f) == SPMV_CLASS_BLOCK; }

/* The highest curve of a group for a kind. */
static float *spmv__group_best(const spmv__chooser *c, int group, int kind)
{
    return c->best + (size_t)(group * SPMV_TUNE_KIND_COUNT + kind) * (size_t)(c->t->rows * c->t->per_row);
}

static void spmv__raise_best(spmv__chooser *c, const spmv_tune_row *r, int group)
{
    int i, n = c->t->rows * c->t->per_row;
    float *best = spmv__group_best(c, group, (int)r->kind);
    for (i = 0; i < n; i++)
        if (!c->any[group][r->kind] || r->curve[i] > best[i]) best[i] = r->curve[i];
    c->any[group][r->kind] = 1;
}

/* Collects the layouts and knobs of a type that may be used, each with its rows of the table, and the highest curves of all groups. */
static spmv_status spmv__gather_candidates(spmv__chooser *c, spmv_type type)
{
    void *block;
    size_t i, j;
    spmv_status s = spmv__new(c->h, &block, c->t->count + 1, sizeof *c->cand, 0);
    if (s) return s;
    spmv_free(c->h, c->cand);
    c->cand = (spmv__candidate *)block;
    for (i = 0; i < c->t->count; i++) {
        const spmv_tune_row *r = &c->t->row[i];
        if (r->type != type || !r->curve) continue;
        spmv__raise_best(c, r, (int)r->layout.format);
        spmv__raise_best(c, r, SPMV_FORMAT_COUNT + (int)spmv_format_class_of(r->layout.format));
        if (!spmv__usable(c, r->layout.format)) continue;
        for (j = 0; j < c->cands; j++)
            if (spmv__same_spec(c->cand[j].layout, &r->layout) && !strcmp(c->cand[j].variant, r->variant)) break;
        if (j == c->cands) {
            c->cand[j].layout = &r->layout;
            c->cand[j].variant = r->variant;
            c->cands++;
        }
        c->cand[j].kind[r->kind] = r;
    }
    return SPMV_OK;
}

/* The mean of a curve, to compare rows by. */
static double spmv__curve_mean(const spmv__chooser *c, const spmv_tune_row *r)
{
    double sum = 0;
    int i, n = c->t->rows * c->t->per_row;
    for (i = 0; i < n; i++) sum += (double)r->curve[i];
    return sum / n;
}

/* For each kind that a candidate was not measured on, lends it the best row of the same layout with other knobs. */
static void spmv__lend_rows(spmv__chooser *c)
{
    size_t i, j;
    int kind;
    for (i = 0; i < c->cands; i++)
        for (kind = 0; kind < SPMV_TUNE_KIND_COUNT; kind++) {
            spmv__candidate *k = &c->cand[i];
            if (k->kind[kind]) continue;
            for (j = 0; j < c->cands; j++) {
                const spmv__candidate *o = &c->cand[j];
                if (j == i || !o->kind[kind] || o->lent >> kind & 1u || !spmv__same_spec(o->layout, k->layout)) continue;
                if (k->kind[kind] && spmv__curve_mean(c, o->kind[kind]) <= spmv__curve_mean(c, k->kind[kind])) continue;
                k->kind[kind] = o->kind[kind];
                k->lent |= 1u << kind;
            }
        }
}

/* ---- the cost of a part --------------------------------------------------------------------------------------------- */

/* Seconds of a product if the matrix were of that kind; 0: nothing is known. What the table lacks was never near the best while tuning, so
 * a candidate without a row counts as a little worse than its layout with other knobs, else than the best of its format, else as clearly
 * worse than the best of its class. Block formats have no such substitute, as one block size says nothing about another. */
static double spmv__kind_seconds(const spmv__chooser *c, const spmv__candidate *k, int kind, double rows, double per_row, double slots)
{
    spmv_format_class category = spmv_format_class_of(k->layout->format);
    /* dense is measured on full matrices only; for what x costs elsewhere, the flat formats stand in */
    int format = (int)k->layout->format, group = SPMV_FORMAT_COUNT + (int)(category == SPMV_CLASS_DENSE ? SPMV_CLASS_FLAT : category);
    spmv__tune_place p;
    spmv_spec plain;
    if (k->kind[kind]) {
        p = spmv__tune_at(c->t, c->rates, k->layout, rows, per_row);
        return (k->lent >> kind & 1u ? 1.05 : 1) * 2e-9 * slots / spmv__tune_read(&p, k->kind[kind]->curve);
    }
    if (category == SPMV_CLASS_BLOCK) return 0;
    plain = *k->layout; /* rows of other layouts do not show what narrow columns gain */
    plain.key[SPMV_KEY_IDX] = 0;
    p = spmv__tune_at(c->t, c->rates, &plain, rows, per_row);
    if (c->any[format][kind]) return 1.05 * 2e-9 * slots / spmv__tune_read(&p, spmv__group_best(c, format, kind));
    if (c->any[group][kind]) return 1.3 * 2e-9 * slots / spmv__tune_read(&p, spmv__group_best(c, group, kind));
    return 0;
}

/* The number of a knob such as "L=" in the text of a variant; 0 if it is not there. */
static double spmv__knob_in(const char *variant, const char *name)
{
    const char *at = strstr(variant, name);
    int64_t v;
    if (!at || (at > variant && at[-1] != ',')) return 0;
    return spmv__whole(at + strlen(name), &v) ? (double)v : 0;
}

/* The lanes that share a row, or block row, on a GPU: as its knobs say, else about what spmv_device.h chooses. entries: of a mean row. */
static double spmv__lanes(const spmv__chooser *c, const spmv__candidate *k, double rows, double entries)
{
    spmv__lane_rule rule = spmv__trait[k->layout->format]->lanes;
    double lanes = spmv__knob_in(k->variant, "L="), fill = (double)c->t->units * 1024;
    if (rule == SPMV__LANES_BY_STRIP) return 4; /* there are 16, but they wait for each other (H200) */
    if (lanes >= 1) return lanes;
    lanes = 1;
    if (rule == SPMV__LANES_BY_LENGTH) while (lanes < 32 && lanes < entries) lanes *= 2;
    else while (lanes < 8 && 4 * lanes <= entries && lanes * rows <= fill) lanes *= 2;
    return lanes;
}

/* Seconds that the longest row alone takes, as its lanes go through it step by step; 0 if it is divided among groups. On a GPU each step
 * waits for memory (H200, sell: 0.1 us for an entry in rows of about 100, 0.2 us in rows of thousands;
 * bench/results/nvidia-h200-plans.txt). On a CPU one core does all of it. */
static double spmv__longest_seconds(const spmv__chooser *c, const spmv__candidate *k, const spmv__load *l, double seconds)
{
    const spmv_spec *spec = k->layout;
    double steps = l->longest, rows = l->rows > 0 ? l->rows : 1, mean = l->slots / rows;
    if (spmv__spec_even(spec)) return 0;
    if (c->t->device_class != SPMV_DEVICE_CLASS_GPU)
        return c->t->units > 0 && l->slots > 0 ? l->longest * seconds / l->slots * (double)c->t->units : 0;
    if (spmv__is_block(spec->format)) {
        steps /= (double)spmv__block_width(spec);
        mean /= (double)spmv__block_width(spec);
        rows /= (double)spmv__block_height(spec);
        if (spmv__block_height(spec) > 2) steps *= (double)spmv__block_height(spec) / 2;
    }
    steps /= spmv__lanes(c, k, rows, mean);
    return c->t->launch + steps * (steps < 500 ? 0.1e-6 : 0.2e-6);
}

/* The factor by which a product takes longer than the table says, for what the measured matrices do not show. As far as it depends on the
 * format alone, the format's traits have it. Measured on an H200 (bench/results/nvidia-h200-plans.txt):
 * - blocks that are mostly fill, and blocks that do not lie side by side; 3x3 in f64 is an exception (spmv_device.h, groups of 32);
 * - lanes that are a power of two while rows have other lengths; measured rows have such lengths;
 * - slices of uneven rows, which end at different times;
 * - bands that lie apart.
 * On CPUs: rows or block rows padded to a width beyond the measured ones (host, f32, bell:b=8x8, 2000 wide: 6 times the estimate). On
 * OpenCL CPUs: formats that store entries by columns, more so with sorted rows or blocks (PoCL, 12 matrices compared with csr,
 * bench/results/pocl-plans.txt). A variant with knobs was the fastest of many, which is luck in part, so it counts 10% more. */
static double spmv__unmeasured(const spmv__chooser *c, const spmv__candidate *k, const spmv__load *l)
{
    spmv_format f = k->layout->format;
    const spmv__traits *own = spmv__trait[f];
    int gpu = c->t->device_class == SPMV_DEVICE_CLASS_GPU, cpu = c->t->device_class == SPMV_DEVICE_CLASS_CPU;
    double fill = l->nnz > 0 ? l->slots / l->nnz - 1 : 0, more = 1;
    double lanes = spmv__knob_in(k->variant, "L="), entries = l->rows > 0 ? l->slots / l->rows : 0;
    more += (c->how->type == SPMV_F64 && spmv__block_height(k->layout) == 3 && spmv__block_width(k->layout) == 3 ? 0 : own->apart) +
            (l->uneven > 0.3 ? own->ragged * (l->uneven < 2 ? l->uneven - 0.3 : 1.7) : 0);
    if (gpu && spmv__is_block(f)) more *= 1 + 0.15 * (fill < 5 ? fill : 5);
    if (gpu && !spmv__spec_even(k->layout)) more += own->rounded;
    if (gpu && own->pads == SPMV__PADS_SLICES && spmv__is_flat(f) && !k->layout->key[SPMV_KEY_ROWS])
        more += 0.3 * (l->spread < 0.7 ? l->spread : 0.7);
    if (*k->variant) more *= 1.1;
    if (spmv__is_flat(f) && lanes > entries && entries > 0) more *= lanes / entries; /* lanes beyond the row's end have nothing to do */
    if (cpu && own->pads != SPMV__PADS_NONE) more *= spmv__is_block(f) ? 2 : 1.25;
    if (cpu && own->pads == SPMV__PADS_SLICES && k->layout->key[SPMV_KEY_ROWS]) more *= 1.5;
    if (!gpu && own->pads == SPMV__PADS_ALL && entries > 64) more *= 1 + spmv__log2(entries / 64);
    more += own->bands * (l->bands < 8 ? l->bands > 1 ? l->bands - 1 : 0 : 7);
    return more;
}

/* Predicted seconds of a product: those for a banded matrix of this size, and more as far as x is scattered and rows are uneven, both by
 * what the table has for such matrices. What x costs depends on its length, so the number of columns takes the place of the rows there.
 * Negative: nothing is known. */
static double spmv__cost(const spmv__chooser *c, const spmv__candidate *k, const spmv__load *l)
{
    const double deviation = 4; /* of row lengths over their mean, in the uneven matrices that are measured */
    double rows = l->rows > 0 ? l->rows : 1, per_row = l->slots / rows, cols = (double)c->a->cols, longest;
    double plain = spmv__kind_seconds(c, k, SPMV_TUNE_BANDED, rows, per_row, l->slots), base = plain, other;
    other = l->gather > 0 ? spmv__kind_seconds(c, k, SPMV_TUNE_SCATTERED, cols, per_row, l->nnz) : 0;
    if (plain <= 0) base = spmv__kind_seconds(c, k, SPMV_TUNE_SCATTERED, rows, per_row, l->slots);
    else if (other > 0) {
        double more = other - spmv__kind_seconds(c, k, SPMV_TUNE_BANDED, cols, per_row, l->nnz);
        if (more > 0) base += more * l->gather;
    }
    other = l->uneven > 0 ? spmv__kind_seconds(c, k, SPMV_TUNE_UNEVEN, rows, per_row, l->slots) : 0;
    if (base <= 0) base = other;
    else if (plain > 0 && other > plain) base *= 1 + (other / plain - 1) * (l->uneven < deviation ? l->uneven / deviation : 1);
    if (base <= 0) return -1;
    base *= spmv__unmeasured(c, k, l);
    longest = spmv__longest_seconds(c, k, l, base);
    return longest > base ? longest : base;
}

/* May a part with so many slots be stored, as far as the size of its values shows? */
static int spmv__fits(const spmv__chooser *c, double slots) { return slots * (double)spmv_value_size(c->how->type) <= c->limit; }

/* Estimates a part of that layout for all of the view. 0: it makes no sense there, is too large, or *s is a failure. */
static int spmv__load_of(const spmv__chooser *c, const spmv_spec *spec, const spmv__look *l, const spmv_features *f, spmv__load *out,
                         spmv_status *s)
{
    *s = spmv__spec_estimate(spec, l, f, out);
    if (*s == SPMV_ERR_UNSUPPORTED) {
        *s = SPMV_OK;
        return 0;
    }
    return !*s && spmv__fits(c, out->slots);
}

/* ---- options -------------------------------------------------------------------------------------------------------- */

/* A plan that is being put together, with its variants and what it costs. */
typedef struct spmv__mix {
    int         count;
    spmv_spec   part[SPMV_MAX_PARTS];
    const char *variant[SPMV_MAX_PARTS];
    double      seconds, convert; /* of a product; in products of csr */
} spmv__mix;

/* Appends a part that takes so many seconds and has so many rows. */
static void spmv__mix_add(const spmv__chooser *c, spmv__mix *m, const spmv_spec *spec, const char *variant, double seconds, double rows)
{
    m->part[m->count] = *spec;
    if (spmv__builder_from(spmv_format_name(spec->format)) != SPMV_BUILDER_COUNT) /* "cmrs" alone would name the builder */
        m->part[m->count].key[SPMV_KEY_H] = (int64_t)spmv__height(spec);
    m->variant[m->count++] = variant;
    /* no table has what it costs to read the list and to read y again (clspmv_webbase and NotreDame_www, f64, three rounds of
     * "spmv bench --plan csr:rows=nonempty --plan csr": 1.16 to 1.51 times the time) */
    m->seconds += m->count > 1 && spec->key[SPMV_KEY_ROWS] && c->t->device_class == SPMV_DEVICE_CLASS_HOST ? 1.4 * seconds : seconds;
    m->convert += spmv__spec_convert(spec) + (m->count > 1 ? 4 : 0);
    /* a later part reads y and writes it again */
    if (m->count > 1 && c->t->read > 0) m->seconds += 2e-9 * rows * (double)spmv_vector_size(c->how->type) / c->t->read;
}

static void spmv__mix_plan(const spmv__mix *m, spmv_plan *plan)
{
    int i;
    memset(plan, 0, sizeof *plan);
    plan->count = m->count;
    for (i = 0; i < m->count; i++) plan->part[i] = m->part[i];
}

/* Writes the plan and its variants into an option. 0: they are too long. */
static int spmv__mix_texts(const spmv__mix *m, spmv_option *o)
{
    spmv_plan plan;
    spmv__text t;
    int i;
    spmv__mix_plan(m, &plan);
    if (spmv_plan_print(&plan, o->plan, sizeof o->plan) >= sizeof o->plan) return 0;
    spmv__text_open(&t, o->variant, sizeof o->variant);
    for (i = 0; i < m->count; i++) {
        if (i) spmv__put_char(&t, '+');
        spmv__put_text(&t, m->variant[i]);
    }
    return spmv__text_close(&t) < sizeof o->variant;
}

/* Do the texts of two plans begin with the same format? */
static int spmv__first_word_same(const char *a, const char *b)
{
    while (*a && *a == *b && *a != ':' && *a != '+') a++, b++;
    return (!*a || *a == ':' || *a == '+') && (!*b || *b == ':' || *b == '+');
}

/* Adds a plan to the options, which stay sorted by cost, unless they are full or six cheaper ones begin with the same format. */
static void spmv__offer(spmv__chooser *c, const spmv__mix *m)
{
    enum { ALIKE = 6 /* options that may begin with one format, so that others are kept as well */ };
    spmv_choice *out = c->out;
    spmv_option o;
    double calls = c->hints ? (double)c->hints->expected_calls : 0;
    int i, at, alike = 0, last = -1, host = c->t->device_class == SPMV_DEVICE_CLASS_HOST;
    memset(&o, 0, sizeof o);
    if (m->seconds <= 0 || !spmv__mix_texts(m, &o)) return;
    o.predicted = m->seconds;
    o.convert = m->convert;
    /* estimates of several parts are less accurate (the regret files of bench/results), and so are those from the table of another
     * processor, which the one of every host but one is */
    o.cost = o.predicted * (1 + (c->t->device_class == SPMV_DEVICE_CLASS_GPU ? 0.15 : 0.5) * (m->count - 1));
    if ((!out->exact || host) && (m->count > 1 || m->part[0].format != SPMV_CSR)) o.cost *= 1.1;
    o.cost += (calls > 0 ? o.convert * out->csr / calls : 0);
    for (i = 0; i < out->count; i++) {
        if (!strcmp(out->option[i].plan, o.plan) && !strcmp(out->option[i].variant, o.variant)) return;
        if (!spmv__first_word_same(out->option[i].plan, o.plan)) continue;
        alike++;
        last = i;
    }
    if (alike < ALIKE) last = out->count < SPMV_CHOICE_MAX ? out->count++ : out->count - 1;
    else if (out->option[last].cost <= o.cost) return;
    if (last == SPMV_CHOICE_MAX - 1 && out->option[last].plan[0] && out->option[last].cost <= o.cost) return;
    for (at = last; at > 0 && out->option[at - 1].cost > o.cost; at--) out->option[at] = out->option[at - 1];
    out->option[at] = o;
}

/* ---- flat formats (clSpMV 3.3: ELL and SELL against CSR and COO; ELL and SELL widths) ------------------------------- */

/* Predicted seconds of a candidate that multiplies what rows keep after their first entries. longest: the most that a row keeps. */
static double spmv__rest_seconds(const spmv__chooser *c, const spmv__candidate *k, const spmv__beyond_w *b, double gather, double longest)
{
    spmv__load load;
    memset(&load, 0, sizeof load);
    load.rows = b->rows;
    load.nnz = load.slots = b->nnz;
    load.gather = gather;
    load.longest = longest;
    load.uneven = b->nnz > 0 ? spmv__beyond_deviation(b) * b->rows / b->nnz : 0;
    return spmv__cost(c, k, &load);
}

/* The candidate that is best for what rows keep after their first entries: CSR or COO, by load balance, which the rates on uneven
 * matrices show. NULL: none. */
static const spmv__candidate *spmv__policy_csr_or_coo(const spmv__chooser *c, const spmv__beyond_w *b, double gather, double longest)
{
    const spmv__candidate *best = NULL;
    double least = 0;
    size_t i;
    for (i = 0; i < c->cands; i++) {
        const spmv_spec *spec = c->cand[i].layout;
        double t;
        if (!spmv__is_flat(spec->format) || spmv__is_padded(spec->format) || spec->key[SPMV_KEY_IDX]) continue;
        t = spmv__rest_seconds(c, &c->cand[i], b, gather, longest);
        if (t <= 0 || (best && t >= least)) continue;
        best = &c->cand[i];
        least = t;
    }
    return best;
}

/* Counts, for every w, the slices (ell: one of all rows) whose longest row has w entries or more. Free *reach. */
static spmv_status spmv__slices_reaching(const spmv__look *l, uint64_t h, uint64_t **reach)
{
    uint64_t r, i = 0, most = 0, rows = l->v->a->rows, k;
    void *block;
    spmv_status s = spmv__new(l->h, &block, l->longest + 2, 8, 0);
    if (s) return s;
    *reach = (uint64_t *)block;
    for (r = 0; r < rows; r++) {
        if (l->len[r] > most) most = l->len[r];
        if (++i < h && r + 1 < rows) continue;
        (*reach)[most]++;
        i = most = 0;
    }
    for (k = l->longest; k-- > 0;) (*reach)[k] += (*reach)[k + 1];
    return SPMV_OK;
}

/* The next width to be tried. The paper tries every one ("brute force"); here steps grow with the width. */
static uint64_t spmv__next_width(uint64_t w) { return w < 16 ? w + 1 : w + w / 8; }

typedef struct spmv__width {
    uint64_t               w;
    const spmv__candidate *rest;
    double                 first, tail, left; /* seconds of both parts; rows of the second */
} spmv__width;

/* The paper's policies "extract ELL" and "extract SELL": finds the width with the least predicted time of both parts. The second part is
 * chosen again whenever the width has doubled. best->w 0: no width pays. */
static spmv_status spmv__policy_width(const spmv__chooser *c, const spmv__candidate *k, const spmv__look *l, const spmv_features *f,
                                      spmv__width *best)
{
    uint64_t rows = l->v->a->rows, h = spmv__padded_rows(k->layout, rows), w, at = 0, chosen_at = 0, *reach = NULL;
    double slots = 0;
    const spmv__candidate *rest = NULL;
    spmv__beyond_w b;
    spmv__load load;
    spmv_status s;
    memset(best, 0, sizeof *best);
    memset(&load, 0, sizeof load);
    if (k->layout->key[SPMV_KEY_ROWS]) return SPMV_OK; /* its row list would be a different one with a limited width */
    s = spmv__slices_reaching(l, h, &reach);
    if (s) return s;
    spmv__beyond_begin(l, &b);
    load.rows = (double)rows;
    load.gather = f->gather;
    for (w = 1; w < l->longest; w = spmv__next_width(w)) {
        double first, tail;
        if ((double)l->longer[w] * 50 < (double)l->rows) break; /* columns that few rows reach never pay for their padding */
        for (; at < w; at++) slots += (double)(reach[at + 1] * h);
        spmv__beyond_go(l, &b, w);
        if (!rest || w >= 2 * chosen_at) {
            rest = spmv__policy_csr_or_coo(c, &b, f->gather, (double)(l->longest - w));
            chosen_at = w;
        }
        load.slots = slots;
        load.nnz = (double)l->nnz - b.nnz;
        load.longest = (double)w;
        first = spmv__cost(c, k, &load);
        tail = rest ? spmv__rest_seconds(c, rest, &b, f->gather, (double)(l->longest - w)) : 0;
        if (first <= 0 || tail <= 0 || !spmv__fits(c, slots)) continue;
        if (best->w && first + tail >= best->first + best->tail) continue;
        best->w = w;
        best->rest = rest;
        best->first = first;
        best->tail = tail;
        best->left = b.rows;
    }
    spmv_free(l->h, reach);
    return SPMV_OK;
}

/* Offers the prefix followed by the candidate with its best width, and CSR or COO for the rest. */
static spmv_status spmv__offer_width(spmv__chooser *c, const spmv__candidate *k, const spmv__look *l, const spmv_features *f,
                                     const spmv__mix *prefix)
{
    spmv__width best;
    spmv__mix m = *prefix;
    spmv_spec first = *k->layout, last;
    spmv_status s = spmv__policy_width(c, k, l, f, &best);
    if (s || !best.w || m.count + 2 > SPMV_MAX_PARTS) return s;
    last = *best.rest->layout;
    first.key[SPMV_KEY_W] = (int64_t)best.w;
    if (spmv_format_takes_key(last.format, SPMV_KEY_ROWS)) last.key[SPMV_KEY_ROWS] = SPMV_ROWS_NONEMPTY;
    spmv__mix_add(c, &m, &first, k->variant, best.first, (double)f->rows);
    spmv__mix_add(c, &m, &last, best.rest->variant, best.tail, best.left);
    spmv__offer(c, &m);
    return SPMV_OK;
}

/* Is the format worth an estimate on this matrix? */
static int spmv__suits(spmv_format format, const spmv_features *f)
{
    return !spmv__trait[format]->suits || spmv__trait[format]->suits(f);
}

/* Offers the prefix followed by each flat candidate for all of the rest, or by ELL or SELL for the columns that pay and CSR or COO for the
 * others. */
static spmv_status spmv__offer_flat(spmv__chooser *c, const spmv__look *l, const spmv_features *f, const spmv__mix *prefix)
{
    size_t i, best[SPMV_FORMAT_COUNT] = { 0 }; /* of each padded format: 1 + the candidate with the least time for a slot */
    double least[SPMV_FORMAT_COUNT] = { 0 }, flat = 0;
    spmv_status s = SPMV_OK;
    for (i = 0; i < c->cands && !s; i++) {
        const spmv__candidate *k = &c->cand[i];
        spmv__load load;
        spmv__mix m = *prefix;
        double t;
        spmv_spec spec = *k->layout;
        int own = (int)spec.format;
        if (!spmv__is_flat(spec.format) || m.count >= SPMV_MAX_PARTS) continue;
        if (!spmv__suits(spec.format, f)) continue;
        if (!spmv__load_of(c, &spec, l, f, &load, &s)) {
            if (spmv__is_padded(spec.format) && !s && !spec.key[SPMV_KEY_IDX] && least[own] <= 0) best[own] = i + 1;
            continue;
        }
        t = spmv__cost(c, k, &load);
        if (t <= 0) continue;
        if (spmv__is_padded(spec.format)) {
            double by_slot = t / (load.slots > 0 ? load.slots : 1); /* tells which knobs and heights are best */
            if (least[own] <= 0 || by_slot < least[own]) {
                least[own] = by_slot;
                best[own] = i + 1;
            }
        }
        if (flat <= 0 || t < flat) flat = t;
        if (m.count && spmv_format_takes_key(spec.format, SPMV_KEY_ROWS) && !spec.key[SPMV_KEY_ROWS] && l->rows * 2 < f->rows)
            spec.key[SPMV_KEY_ROWS] = SPMV_ROWS_NONEMPTY;
        spmv__mix_add(c, &m, &spec, k->variant, t, (double)l->rows);
        spmv__offer(c, &m);
    }
    if (!prefix->count) c->flat = flat;
    for (i = 0; i < SPMV_FORMAT_COUNT && !s; i++)
        if (best[i]) s = spmv__offer_width(c, &c->cand[best[i] - 1], l, f, prefix);
    return s;
}

/* ---- dense diagonals and dense blocks (clSpMV 3.3) ------------------------------------------------------------------ */

enum { SPMV__PREFIXES = 2 /* that are kept of the diagonals, and of the blocks */ };

/* A first part that takes some of the matrix, found by the histograms. */
typedef struct spmv__prefix {
    spmv_spec   spec;
    const char *variant;
    double      seconds; /* predicted, of the part */
    double      guess;   /* seconds of a whole product if the rest took its share of the best flat format's time; 0: no part */
    double      rows, nnz;
} spmv__prefix;

/* Keeps p if it is among the best, of which no two have the same format; best is sorted by guess. */
static void spmv__keep_prefix(spmv__prefix *best, const spmv__prefix *p)
{
    int i = SPMV__PREFIXES, j;
    for (j = 0; j < SPMV__PREFIXES; j++) /* one of each format */
        if (best[j].guess > 0 && best[j].spec.format == p->spec.format) {
            if (best[j].guess <= p->guess) return;
            best[j] = *p;
            return;
        }
    while (i > 0 && (best[i - 1].guess <= 0 || best[i - 1].guess > p->guess)) i--;
    if (i == SPMV__PREFIXES) return;
    for (j = SPMV__PREFIXES - 1; j > i; j--) best[j] = best[j - 1];
    best[i] = *p;
}

static int64_t spmv__millionths(double v) { return v >= 1 ? 1000000 : v <= 0.01 ? 10000 : (int64_t)(v * 100 + 0.5) * 10000; }

/* Replaces *best by p if its guess is less. */
static void spmv__prefer_prefix(spmv__prefix *best, const spmv__prefix *p)
{
    if (p->seconds > 0 && (best->guess <= 0 || p->guess < best->guess)) *best = *p;
}

/* The lowest threshold to be tried, where the formula of clSpMV gives threshold. */
static double spmv__threshold_end(double threshold) { return 0.5 * threshold; }

/* Finds the best prefix of dense diagonals for a candidate: those filled beyond g_f / g_d (clSpMV: e_d > n_d g_f / g_d). DIA and BDIA
 * compete. */
static void spmv__policy_diagonals(spmv__chooser *c, const spmv_features *f, const spmv__candidate *k, spmv__prefix *best)
{
    double rows = (double)f->rows, nnz = 0, count = 0, threshold, flat_rate = 2e-9 * (double)f->nnz / c->flat, t;
    spmv__load load;
    spmv__prefix p, mine;
    int bin;
    memset(&load, 0, sizeof load);
    memset(&p, 0, sizeof p);
    memset(&mine, 0, sizeof mine);
    load.rows = rows;
    load.nnz = load.slots = rows * (f->mean > 1 ? f->mean : 1);
    t = spmv__cost(c, k, &load);
    if (t <= 0) return;
    threshold = flat_rate / (2e-9 * load.slots / t);
    if (threshold >= 1) return;
    p.spec = *k->layout;
    p.variant = k->variant;
    p.rows = rows;
    for (bin = SPMV_FILL_BINS; bin >= 0 && bin + 1 > spmv__threshold_end(threshold) * (double)SPMV_FILL_BINS; bin--) {
        nnz += f->diagonal_nnz[bin];
        count += f->diagonal_count[bin];
        if (f->diagonal_count[bin] <= 0 || nnz >= (double)f->nnz) continue;
        load.slots = load.nnz = rows * count;
        p.spec.key[SPMV_KEY_D] = spmv__millionths((double)bin / (double)SPMV_FILL_BINS);
        p.seconds = spmv__cost(c, k, &load);
        p.nnz = nnz;
        p.guess = p.seconds + c->flat * (1 - nnz / (double)f->nnz);
        spmv__prefer_prefix(&mine, &p);
    }
    if (mine.guess > 0) spmv__keep_prefix(best, &mine);
}

/* Finds the best prefix of dense blocks for a candidate: those filled beyond g_f / g_b (clSpMV: e_b > n_b g_f / g_b). SBELL and BCSR in
 * every block size compete. */
static void spmv__policy_blocks(spmv__chooser *c, const spmv_features *f, const spmv__candidate *k, spmv__prefix *best)
{
    double flat_rate = 2e-9 * (double)f->nnz / c->flat, size, blocks = 0, nnz = 0, threshold, t;
    const spmv_block_features *b = spmv__features_of_block(f, k->layout);
    spmv__padding pads = spmv__trait[k->layout->format]->pads;
    spmv__load load;
    spmv__prefix p, mine;
    int n;
    if (!b || b->blocks <= 0 || pads == SPMV__PADS_ALL) return; /* how wide the widest block row of the part would be is not known */
    size = (double)(b->bh * b->bw);
    memset(&load, 0, sizeof load);
    memset(&p, 0, sizeof p);
    memset(&mine, 0, sizeof mine);
    load.rows = (double)f->rows;
    load.slots = load.nnz = (double)f->nnz;
    load.gather = f->gather / (double)b->bw;
    load.longest = b->widest * (double)b->bw;
    load.uneven = f->uneven;
    t = spmv__cost(c, k, &load);
    if (t <= 0) return;
    threshold = flat_rate / (2e-9 * load.slots / t);
    if (threshold >= 1) return;
    p.spec = *k->layout;
    p.variant = k->variant;
    p.rows = load.rows;
    for (n = b->bh * b->bw; n > 0 && n > spmv__threshold_end(threshold) * size; n--) {
        blocks += b->at[n];
        nnz += b->at[n] * n;
        if (b->at[n] <= 0 || nnz <= 0.02 * (double)f->nnz || nnz >= 0.999 * (double)f->nnz) continue;
        load.slots = blocks * size * (pads == SPMV__PADS_SLICES ? b->slots / (b->blocks * size) : 1);
        load.nnz = nnz;
        p.spec.key[SPMV_KEY_D] = spmv__millionths((double)n / size - 0.005);
        p.nnz = nnz;
        p.seconds = spmv__cost(c, k, &load);
        p.guess = p.seconds + c->flat * (1 - nnz / (double)f->nnz);
        spmv__prefer_prefix(&mine, &p);
    }
    if (mine.guess > 0) spmv__keep_prefix(best, &mine);
}

/* Takes one or two prefixes out of the matrix and offers them together with every flat format for the rest. */
static spmv_status spmv__offer_prefix(spmv__chooser *c, const spmv__prefix *const *p, int count)
{
    spmv_plan plan;
    spmv_split split;
    spmv_view rest;
    spmv__look l;
    spmv_features f;
    spmv__mix m;
    int i, all_there = 1;
    spmv_status s;
    memset(&plan, 0, sizeof plan);
    memset(&m, 0, sizeof m);
    for (i = 0; i < count; i++) plan.part[plan.count++] = p[i]->spec;
    plan.part[plan.count++].format = SPMV_CSR;
    s = spmv_split_make(&split, &plan, c->a, c->h);
    if (s) return s;
    rest = spmv_split_view(&split, c->a, count);
    for (i = 0; i < count; i++) {
        double share = p[i]->nnz > 0 ? (double)split.nnz[i] / p[i]->nnz : 1; /* less where an earlier part took some of it */
        all_there = all_there && split.nnz[i];
        spmv__mix_add(c, &m, &p[i]->spec, p[i]->variant, p[i]->seconds * (share < 1 ? share : 1), p[i]->rows);
    }
    if (all_there && split.nnz[count]) {
        s = spmv__look_make(&l, &rest, c->h);
        if (!s) {
            s = spmv__look_features(&l, &f, 0, spmv__class_bits(SPMV_CLASS_DIAGONAL) | spmv__class_bits(SPMV_CLASS_BLOCK));
            if (!s) s = spmv__offer_flat(c, &l, &f, &m);
            spmv__look_free(&l);
        }
    }
    spmv_split_free(&split);
    return s;
}

/* ---- builders' plans: the cost of any plan -------------------------------------------------------------------------- */

/* The fastest candidate with the same layout as a part of a plan, and its seconds; NULL: there is none. */
static const spmv__candidate *spmv__candidate_for(const spmv__chooser *c, const spmv_spec *spec, const spmv__load *load, double *seconds)
{
    const spmv__candidate *best = NULL;
    size_t i;
    *seconds = 0;
    for (i = 0; i < c->cands; i++) {
        const spmv_spec *k = c->cand[i].layout;
        double t;
        if (k->format != spec->format || spmv__height(k) != spmv__height(spec) || k->key[SPMV_KEY_B] != spec->key[SPMV_KEY_B] ||
            k->key[SPMV_KEY_RUN] != spec->key[SPMV_KEY_RUN] || k->key[SPMV_KEY_IDX] != spec->key[SPMV_KEY_IDX])
            continue;
        t = spmv__cost(c, &c->cand[i], load);
        if (t <= 0 || (best && t >= *seconds)) continue;
        best = &c->cand[i];
        *seconds = t;
    }
    return best;
}

/* Offers a plan of a builder: parts of ELL, each w wide and with a row list over the rows that still have entries, then one part that takes
 * the rest. What each part takes follows from the row lengths alone. */
static void spmv__offer_plan(spmv__chooser *c, const spmv_plan *plan, const spmv__look *l, const spmv_features *f)
{
    spmv__mix m;
    spmv__beyond_w b;
    spmv__load load;
    int i;
    memset(&m, 0, sizeof m);
    spmv__beyond_begin(l, &b);
    for (i = 0; i < plan->count; i++) {
        const spmv_spec *spec = &plan->part[i];
        const spmv__candidate *k;
        uint64_t w = spec->key[SPMV_KEY_W] ? (uint64_t)spec->key[SPMV_KEY_W] : l->longest;
        double t, before = b.nnz;
        if (!spmv__usable(c, spec->format) || !spmv__is_flat(spec->format) || !spmv__suits(spec->format, f)) return;
        memset(&load, 0, sizeof load);
        load.rows = spec->key[SPMV_KEY_ROWS] ? b.rows : (double)f->rows;
        load.gather = f->gather;
        load.longest = (double)(spmv__is_padded(spec->format) ? spmv__smaller(w, l->longest - b.w) : l->longest - b.w);
        load.uneven = spmv__is_padded(spec->format) || b.nnz <= 0 ? 0 : spmv__beyond_deviation(&b) * b.rows / b.nnz;
        if (spmv__is_padded(spec->format)) {
            w = spmv__smaller(w, l->longest - b.w);
            load.slots = load.rows * (double)w;
            spmv__beyond_go(l, &b, b.w + w);
            load.nnz = before - b.nnz;
        } else {
            load.slots = load.nnz = before;
            if (spmv_format_flags(spec->format) & SPMV_ADDS_ONLY) load.rows = b.rows; /* it does not touch other rows of y */
        }
        if (load.nnz <= 0 || !spmv__fits(c, load.slots)) return;
        k = spmv__candidate_for(c, spec, &load, &t);
        if (!k) return;
        spmv__mix_add(c, &m, spec, k->variant, t, load.rows);
    }
    spmv__offer(c, &m);
}

/* Offers the plan of every builder. */
static spmv_status spmv__offer_builders(spmv__chooser *c, const spmv__look *l, const spmv_features *f)
{
    spmv_build_hints none;
    int b;
    spmv_status s = SPMV_OK;
    memset(&none, 0, sizeof none);
    for (b = 0; b < SPMV_BUILDER_COUNT && !s; b++) {
        spmv_plan plan;
        s = spmv__plan_of_builder(&plan, (spmv_builder)b, c->a, &none, l->longer, l->longest, c->h);
        if (!s) spmv__offer_plan(c, &plan, l, f);
    }
    return s;
}

/* ---- the whole choice ------------------------------------------------------------------------------------------------ */

/* For devices without any table of their class: rates in proportion to the bytes that a nonzero takes, with memory of 30 GB/s. */
static const char *const spmv__general_table =
    "spmv tuning table 1\ndevice any\nclass host\nread 30\nrows 1\nper_row 1\n"
    "f64 banded csr/ 4.6\nf64 banded csr:run=1024/ 4.7\nf64 banded sell/ 4.9\nf64 banded ell/ 4.8\nf64 banded dia/ 7\n"
    "f64 banded sbell/ 6.6\nf64 banded bcsr/ 6.5\nf64 banded sbell:b=3x3/ 6.4\nf64 banded coo/ 3.4\nf64 banded dense/ 7.4\n"
    "f32 banded csr/ 6.9\nf32 banded csr:run=1024/ 7\nf32 banded sell/ 7.3\nf32 banded ell/ 7.2\nf32 banded dia/ 14\n"
    "f32 banded sbell/ 13\nf32 banded bcsr/ 12.5\nf32 banded sbell:b=3x3/ 12\nf32 banded coo/ 4.6\nf32 banded dense/ 14.8\n";

/* Reads the bundled table to go by: the device's own, one of its class, or the general one. */
static spmv_status spmv__bundled_table(spmv_tuning *out, int *exact, const spmv_target *target, const spmv_hooks *h)
{
    const char *device = target && target->device ? target->device : "host";
    spmv_device_class device_class = target ? target->device_class : SPMV_DEVICE_CLASS_HOST;
    size_t length;
    const char *text = spmv_tuning_bundled(device, device_class, &length, exact);
    if (!text) {
        text = spmv__general_table;
        length = strlen(text);
        *exact = 0;
    }
    return spmv_tuning_read(out, text, length, "the bundled tuning table", h);
}

/* Finds the table to go by: the caller's, one that was read before, or the bundled one. The caller frees *own. */
static spmv_status spmv__find_table(spmv__chooser *c, const spmv_target *target, spmv_tuning *own)
{
    memset(own, 0, sizeof *own);
    c->out->exact = 1;
    c->t = c->hints ? c->hints->tuning : NULL;
    if (c->t) return SPMV_OK;
    if (target && target->table) {
        c->t = target->table;
        c->out->exact = target->exact;
        return SPMV_OK;
    }
    c->t = own;
    return spmv__bundled_table(own, &c->out->exact, target, c->h);
}

/* Collects the candidates from rows of the type itself, else of the type that moves nearly as many bytes: mixed reads floats as f32 does,
 * and its vectors are those of f64. */
static spmv_status spmv__find_candidates(spmv__chooser *c)
{
    static const spmv_type order[SPMV_TYPE_COUNT][3] = { { SPMV_F64, SPMV_F32, SPMV_MIXED }, { SPMV_F32, SPMV_F64, SPMV_MIXED },
                                                         { SPMV_MIXED, SPMV_F32, SPMV_F64 } };
    void *block;
    int i;
    uint64_t points = (uint64_t)(c->t->rows * c->t->per_row);
    spmv_status s = spmv__new(c->h, &block, (uint64_t)SPMV__GROUPS * (uint64_t)SPMV_TUNE_KIND_COUNT * points, sizeof *c->best, 0);
    c->best = (float *)block;
    for (i = 0; i < 3 && !s && !c->cands; i++) {
        memset(c->any, 0, sizeof c->any);
        c->rates = order[c->how->type][i];
        s = spmv__gather_candidates(c, order[c->how->type][i]);
    }
    if (!s) spmv__lend_rows(c);
    return s;
}

/* Finds the time of csr, in which conversion is counted, and offers the formats that are not flat for the whole matrix. */
static spmv_status spmv__offer_singles(spmv__chooser *c, const spmv__look *l, const spmv_features *f)
{
    spmv__load load;
    spmv__mix m;
    size_t i;
    double t;
    spmv_status s = SPMV_OK;
    for (i = 0; i < c->cands && !s; i++) {
        if (c->cand[i].layout->format != SPMV_CSR || !spmv__load_of(c, c->cand[i].layout, l, f, &load, &s)) continue;
        t = spmv__cost(c, &c->cand[i], &load);
        if (t > 0 && (c->out->csr <= 0 || t < c->out->csr)) c->out->csr = t;
    }
    for (i = 0; i < c->cands && !s; i++) {
        const spmv_spec *spec = c->cand[i].layout;
        if (spmv__is_flat(spec->format) || !spmv__load_of(c, spec, l, f, &load, &s)) continue;
        t = spmv__cost(c, &c->cand[i], &load);
        memset(&m, 0, sizeof m);
        if (t > 0) spmv__mix_add(c, &m, spec, c->cand[i].variant, t, load.rows);
        spmv__offer(c, &m);
    }
    return s;
}

/* Offers thick bands in BDIA and other dense diagonals in DIA: the third case of clSpMV. */
static spmv_status spmv__offer_both_diagonals(spmv__chooser *c, const spmv__prefix *diagonal)
{
    enum { THICK = 4 /* diagonals side by side that make a band thick */ };
    spmv__prefix bands = diagonal[0], lone = diagonal[1];
    const spmv__prefix *two[2];
    if (!spmv_format_takes_key(bands.spec.format, SPMV_KEY_W)) {
        bands = diagonal[1];
        lone = diagonal[0];
    }
    bands.spec.key[SPMV_KEY_W] = THICK;
    two[0] = &bands;
    two[1] = &lone;
    return spmv__offer_prefix(c, two, 2);
}

/* Offers the prefixes that may pay: each by itself, both kinds of diagonals, and diagonals before blocks. clSpMV takes the faster category
 * first, and a diagonal is never slower than a block that is as full. Its step of merging small parts is not needed, as the estimate of a
 * small part includes what it costs, so that the plan without it wins. */
static spmv_status spmv__offer_prefixes(spmv__chooser *c, const spmv_features *f)
{
    spmv__prefix diagonal[SPMV__PREFIXES], block[SPMV__PREFIXES];
    const spmv__prefix *two[2];
    double least = c->out->count ? c->out->option[0].predicted : 0;
    size_t i;
    int j;
    spmv_status s = SPMV_OK;
    memset(diagonal, 0, sizeof diagonal);
    memset(block, 0, sizeof block);
    for (i = 0; i < c->cands; i++) {
        spmv_format_class category = spmv_format_class_of(c->cand[i].layout->format);
        if (category == SPMV_CLASS_DIAGONAL) spmv__policy_diagonals(c, f, &c->cand[i], diagonal);
        else if (category == SPMV_CLASS_BLOCK) spmv__policy_blocks(c, f, &c->cand[i], block);
    }
    for (j = 0; j < SPMV__PREFIXES && !s; j++) {
        two[0] = &diagonal[j];
        if (diagonal[j].guess > 0 && diagonal[j].guess < least * 0.98) s = spmv__offer_prefix(c, two, 1);
        two[0] = &block[j];
        if (!s && block[j].guess > 0 && block[j].guess < least * 0.98) s = spmv__offer_prefix(c, two, 1);
    }
    if (!s && diagonal[0].guess > 0 && diagonal[1].guess > 0 && diagonal[0].guess < least * 0.98)
        s = spmv__offer_both_diagonals(c, diagonal);
    two[0] = &diagonal[0];
    two[1] = &block[0];
    if (!s && diagonal[0].guess > 0 && block[0].guess > 0 && diagonal[0].guess < least * 0.98 && block[0].guess < least * 0.98)
        s = spmv__offer_prefix(c, two, 2);
    return s;
}

/* Measures the best few options by the caller's clock and moves the fastest to the front. */
static void spmv__refine(spmv__chooser *c)
{
    spmv_choice *out = c->out;
    int n = c->hints && c->hints->measure ? c->hints->refine : 0, i, best = -1;
    spmv_option first;
    for (i = 0; i < n && i < out->count; i++) {
        spmv_plan plan;
        if (spmv_plan_parse(&plan, out->option[i].plan, NULL, c->h)) continue;
        out->option[i].measured = c->hints->measure(c->hints->measure_user, &plan, out->option[i].variant);
        if (out->option[i].measured > 0 && (best < 0 || out->option[i].measured < out->option[best].measured)) best = i;
    }
    if (best <= 0) return;
    first = out->option[best];
    for (i = best; i > 0; i--) out->option[i] = out->option[i - 1];
    out->option[0] = first;
}

/* Reads the matrix once and offers every kind of plan. */
static spmv_status spmv__choose_all(spmv__chooser *c)
{
    spmv_view v;
    spmv__look l;
    spmv__mix none;
    spmv_status s;
    memset(&v, 0, sizeof v);
    memset(&none, 0, sizeof none);
    v.a = c->a;
    v.rows = c->a->rows;
    s = spmv__look_make(&l, &v, c->h);
    if (s) return s;
    s = spmv__look_features(&l, &c->out->features, 0, c->without);
    if (!s) s = spmv__offer_singles(c, &l, &c->out->features);
    if (!s) s = spmv__offer_flat(c, &l, &c->out->features, &none);
    if (!s && c->flat > 0) s = spmv__offer_prefixes(c, &c->out->features);
    if (!s) s = spmv__offer_builders(c, &l, &c->out->features);
    spmv__look_free(&l);
    if (!s) spmv__refine(c);
    return s;
}

/* Makes the plan of the best option; csr, or coo where csr may not be used, if the table has nothing for any. */
static spmv_status spmv__take_best(spmv__chooser *c)
{
    spmv_choice *out = c->out;
    const char *text = out->count ? out->option[0].plan : spmv_format_built(SPMV_CSR) && !(c->without >> SPMV_CSR & 1u) ? "csr" : "coo";
    if (out->count) memcpy(out->variant, out->option[0].variant, sizeof out->variant);
    return spmv_plan_parse(&out->plan, text, NULL, c->h);
}

/* ---- cocktail ---------------------------------------------------------------------------------------------------------
 * spmv_cocktail.h has the policies; here are the rates by which they go. */

/* The row of the table that is the fastest for a layout of the cocktail: among those of its kernels' variants on banded matrices, which the
 * paper benchmarks (5.1), or on the next kind if a table has none on these. NULL: the table has none. */
static const spmv_tune_row *spmv__cocktail_row(const spmv__chooser *c, const spmv_spec *layout, double rows, double per_row, double *rate)
{
    const spmv_tune_row *best = NULL;
    size_t i;
    int kind;
    *rate = 0;
    for (kind = 0; kind < SPMV_TUNE_KIND_COUNT && !best; kind++)
        for (i = 0; i < c->t->count; i++) {
            const spmv_tune_row *r = &c->t->row[i];
            spmv_spec same = r->layout;
            double v;
            if (r->type != c->rates || (int)r->kind != kind || same.format != layout->format || spmv__height(&same) != spmv__height(layout))
                continue;
            if (spmv__is_block(same.format) && (spmv__block_height(&same) != spmv__block_height(layout) ||
                                                spmv__block_width(&same) != spmv__block_width(layout))) continue;
            same.key[SPMV_KEY_H] = same.key[SPMV_KEY_B] = 0;
            if (spmv__has_keys(&same)) continue; /* layouts that the paper does not have: csr:run, idx=16, sorted rows */
            v = spmv_tuning_rate(c->t, r, rows, per_row);
            if (v <= *rate) continue;
            *rate = v;
            best = r;
        }
    return best;
}

/* spmv_cocktail_rate: the highest rate of any variant, as the table has it. */
static double spmv__cocktail_rate_of(void *user, const spmv_spec *layout, double rows, double per_row)
{
    double rate;
    spmv__cocktail_row((const spmv__chooser *)user, layout, rows, per_row, &rate);
    return rate;
}

/* Copies the cocktail into the choice, as its one option, with the fastest variant of each part. */
static spmv_status spmv__take_cocktail(spmv__chooser *c, const spmv_cocktail *made)
{
    spmv_choice *out = c->out;
    spmv_option *o = out->option;
    double rows = (double)c->a->rows, rate;
    spmv__text t;
    int i;
    spmv_spec csr;
    memset(&csr, 0, sizeof csr);
    csr.format = SPMV_CSR;
    spmv__cocktail_row(c, &csr, rows, (double)c->a->nnz / rows, &rate);
    out->csr = rate > 0 ? 2e-9 * (double)c->a->nnz / rate : 0;
    out->plan = made->plan;
    memcpy(out->steps, made->steps, sizeof out->steps);
    spmv__text_open(&t, o->variant, sizeof o->variant);
    for (i = 0; i < made->plan.count; i++) {
        const spmv_tune_row *r = spmv__cocktail_row(c, &made->plan.part[i], rows, made->per_row[i], &rate);
        if (i) spmv__put_char(&t, '+');
        spmv__put_text(&t, r ? r->variant : "");
        o->convert += spmv__spec_convert(&made->plan.part[i]);
    }
    if (spmv__text_close(&t) >= sizeof o->variant || spmv_plan_print(&made->plan, o->plan, sizeof o->plan) >= sizeof o->plan)
        return spmv_log(c->h, SPMV_ERR_PLAN, "the text of the cocktail's plan is too long");
    memcpy(out->variant, o->variant, sizeof out->variant);
    o->predicted = o->cost = made->seconds > 0 ? made->seconds : 0;
    out->count = 1;
    return SPMV_OK;
}

/* Makes the plan by the policies of clSpMV. keys: what the text "cocktail" sets, else zero. */
static spmv_status spmv__choose_cocktail(spmv__chooser *c, const spmv_cocktail_desc *keys)
{
    static const spmv_type order[SPMV_TYPE_COUNT][3] = { { SPMV_F64, SPMV_F32, SPMV_MIXED }, { SPMV_F32, SPMV_F64, SPMV_MIXED },
                                                         { SPMV_MIXED, SPMV_F32, SPMV_F64 } };
    spmv_cocktail_desc d;
    void *block;
    spmv_status s = spmv__new(c->h, &block, 1, sizeof(spmv_cocktail), 0);
    int i, f;
    size_t k;
    if (s) return s;
    for (i = 2; i >= 0; i--) /* the first of these types that the table has */
        for (k = 0; k < c->t->count; k++)
            if (c->t->row[k].type == order[c->how->type][i]) c->rates = order[c->how->type][i];
    d = *keys;
    d.rate = spmv__cocktail_rate_of;
    d.user = c;
    if (!d.groups) d.groups = c->t->units;
    d.most_slots = (uint64_t)c->limit / spmv_value_size(c->how->type) + 1;
    for (f = 0; f < SPMV_FORMAT_COUNT; f++)
        if (!spmv__usable(c, (spmv_format)f)) d.without |= 1u << f;
    c->out->features.rows = c->a->rows;
    c->out->features.cols = c->a->cols;
    c->out->features.nnz = c->a->nnz;
    s = spmv_cocktail_make((spmv_cocktail *)block, c->a, &d, c->h);
    if (!s) s = spmv__take_cocktail(c, (const spmv_cocktail *)block);
    spmv_free(c->h, block);
    return s;
}

/* Is the matrix too small for "auto" to look at it? Not if the hints have a table or a clock to use, or exclude csr. */
static int spmv__is_tiny(const spmv_csr *a, const spmv_build_hints *hints)
{
    if (!spmv_format_built(SPMV_CSR) || spmv__csr_bytes(a) > SPMV_TINY_BYTES) return 0;
    return !hints || !(hints->tuning || (hints->measure && hints->refine > 0) || (hints->without >> SPMV_CSR & 1u));
}

SPMV_API spmv_status spmv_choose(spmv_choice *out, const char *text, const spmv_csr *a, const spmv_build *how, const spmv_target *target,
                                 const spmv_build_hints *hints, int *column, const spmv_hooks *hooks)
{
    if (!out || !a || !how) {
        if (column) *column = 0;
        return spmv__null(hooks, "spmv_choose", !out ? "out" : !a ? "a" : "how", out, sizeof *out);
    }
    spmv__chooser c;
    spmv_tuning own;
    spmv_cocktail_desc keys;
    spmv_status s;
    int cocktail = text && spmv__is_cocktail(text);
    memset(out, 0, sizeof *out);
    if (column) *column = 0;
    if (text && !cocktail && !spmv__is_auto(text)) return spmv_plan_make(&out->plan, text, a, hints, column, hooks);
    memset(&keys, 0, sizeof keys);
    if (cocktail) {
        s = spmv_cocktail_keys(&keys, text, column, hooks);
        if (s) return s;
    }
    out->tiny = !cocktail && spmv__is_tiny(a, hints);
    if (out->tiny) return spmv_plan_parse(&out->plan, "csr", column, hooks);
    memset(&c, 0, sizeof c);
    c.a = a;
    c.how = how;
    c.hints = hints;
    c.h = hooks;
    c.out = out;
    c.without = hints ? hints->without : 0;
    c.limit = (double)spmv__most_bytes(a, how->max_bytes);
    s = spmv__find_table(&c, target, &own);
    if (!s) memcpy(out->table, c.t->device, sizeof out->table);
    if (!s && cocktail) s = spmv__choose_cocktail(&c, &keys);
    if (!s && !cocktail) s = spmv__find_candidates(&c);
    if (!s && !cocktail && a->nnz) s = spmv__choose_all(&c);
    if (!s && !cocktail) s = spmv__take_best(&c);
    spmv_free(hooks, c.cand);
    spmv_free(hooks, c.best);
    spmv_tuning_free(&own);
    if (s) memset(out, 0, sizeof *out);
    return s;
}

/* ---- why ------------------------------------------------------------------------------------------------------------ */

#define SPMV__SAY(t, ...)                                   \
    do {                                                    \
        char said_[3 * SPMV_CHOICE_TEXT];                   \
        spmv_print(said_, sizeof said_, __VA_ARGS__);       \
        spmv__put_text(t, said_);                           \
    } while (0)

/* Writes the lines about the matrix. */
static void spmv__explain_features(spmv__text *t, const spmv_features *f)
{
    double dense = 0;
    int i, bin, any = 0;
    SPMV__SAY(t, "matrix    %llu x %llu, %llu nonzeros\n", (spmv__ull)f->rows, (spmv__ull)f->cols, (spmv__ull)f->nnz);
    SPMV__SAY(t, "rows      %.*f nonzeros each, deviation %.*f, longest %llu, %llu empty\n", SPMV__FIGURE(f->mean),
              SPMV__FIGURE(f->deviation), (spmv__ull)f->longest, (spmv__ull)f->empty);
    SPMV__SAY(t, "x         %.2f of the reads miss a cache of 16384 elements\n", f->gather);
    for (bin = SPMV_FILL_BINS / 2; bin <= SPMV_FILL_BINS; bin++) dense += f->diagonal_nnz[bin];
    if (f->diagonals)
        SPMV__SAY(t, "diagonals %llu; those at least half full hold %.2f of the nonzeros\n", (spmv__ull)f->diagonals,
            f->nnz ? dense / (double)f->nnz : 0.0);
    for (i = 0; i < SPMV_BLOCK_SIZES; i++) {
        const spmv_block_features *b = &f->block[i];
        if (b->sampled <= 0 || b->blocks <= 0) continue;
        SPMV__SAY(t, "%s%dx%d %.2f", any++ ? ", " : "blocks    filled to: ", b->bh, b->bw,
            (double)f->nnz / (b->blocks * (double)(b->bh * b->bw)));
    }
    if (any) spmv__put_text(t, "\n");
}

/* X(IDENT, "head", "unit", width): the columns of numbers in the table of options; the plan and its variant follow them. */
#define SPMV__EXPLAIN_LIST(X)                      \
    X(COST,      "cost",       "us",           10) \
    X(PREDICTED, "predicted",  "us",           11) \
    X(MEASURED,  "measured",   "us",           11) \
    X(SPEED,     "vs csr",     "times",         8) \
    X(CONVERT,   "convert",    "csr products", 14) \
    X(PAYS,      "pays after", "products",     12)

enum {
#define X(ID, head, unit, width) SPMV__EXPLAIN_##ID,
    SPMV__EXPLAIN_LIST(X)
#undef X
    SPMV__EXPLAIN_COLUMNS
};

static const struct {
    const char *head, *unit;
    size_t width;
} spmv__explain_column[SPMV__EXPLAIN_COLUMNS] = {
#define X(ID, head, unit, width) { head, unit, width },
    SPMV__EXPLAIN_LIST(X)
#undef X
};

static void spmv__put_spaces(spmv__text *t, size_t n)
{
    while (n--) spmv__put_char(t, ' ');
}

/* Writes s at the right of its column. */
static void spmv__put_cell(spmv__text *t, int column, const char *s)
{
    size_t n = strlen(s), width = spmv__explain_column[column].width;
    spmv__put_spaces(t, n < width ? width - n : 1);
    spmv__put_text(t, s);
}

/* Writes a figure, or - if it is not known. */
static void spmv__put_figure_cell(spmv__text *t, int column, double v, int known)
{
    char s[32] = "-";
    if (known) spmv_print(s, sizeof s, "%.*f", SPMV__FIGURE(v));
    spmv__put_cell(t, column, s);
}

static const char *spmv__option_variant(const spmv_option *o) { return o->variant[strspn(o->variant, "+")] ? o->variant : ""; }

/* The least gain that counts, as a share of csr's time: below it the three printed digits do not differ. */
#define SPMV__GAIN_SHOWS 0.001

/* The number of products after which the gain over csr has paid for the longer conversion; own and csr in seconds. 0: it never does. */
static uint64_t spmv__pays_after(double convert, double own, double csr)
{
    double gain = csr - own, more = convert - (double)SPMV__CONVERT_CSR;
    if (gain <= csr * SPMV__GAIN_SHOWS) return 0;
    return more > 0 ? (uint64_t)(more * csr / gain) + 1 : 1;
}

/* The length of the longest plan that has a variant; 0: none has. */
static size_t spmv__explain_plan_width(const spmv_choice *c)
{
    size_t widest = 0, n;
    int i;
    for (i = 0; i < c->count; i++) {
        n = strlen(c->option[i].plan);
        if (*spmv__option_variant(&c->option[i]) && n > widest) widest = n;
    }
    return widest;
}

/* Writes the two lines above the table: heads and units. */
static void spmv__explain_heading(spmv__text *t, size_t plan_width)
{
    int i;
    spmv__put_char(t, ' ');
    for (i = 0; i < SPMV__EXPLAIN_COLUMNS; i++) spmv__put_cell(t, i, spmv__explain_column[i].head);
    spmv__put_text(t, "  plan");
    if (plan_width) {
        spmv__put_spaces(t, plan_width > 4 ? plan_width - 4 : 0);
        spmv__put_text(t, "  variant");
    }
    spmv__put_text(t, "\n ");
    for (i = 0; i < SPMV__EXPLAIN_COLUMNS; i++) spmv__put_cell(t, i, spmv__explain_column[i].unit);
    spmv__put_char(t, '\n');
}

/* Writes the line of one option; * marks the chosen one. */
static void spmv__explain_option(spmv__text *t, const spmv_choice *c, const spmv_option *o, size_t plan_width)
{
    uint64_t pays = spmv__pays_after(o->convert, o->predicted, c->csr);
    size_t n = strlen(o->plan);
    char s[32] = "-";
    spmv__put_char(t, o == c->option ? '*' : ' ');
    spmv__put_figure_cell(t, SPMV__EXPLAIN_COST, o->cost * 1e6, 1);
    spmv__put_figure_cell(t, SPMV__EXPLAIN_PREDICTED, o->predicted * 1e6, 1);
    if (o->measured < 0) spmv__put_cell(t, SPMV__EXPLAIN_MEASURED, "cannot run");
    else spmv__put_figure_cell(t, SPMV__EXPLAIN_MEASURED, o->measured * 1e6, o->measured > 0);
    spmv__put_figure_cell(t, SPMV__EXPLAIN_SPEED, c->csr / o->predicted, c->csr > 0);
    spmv__put_figure_cell(t, SPMV__EXPLAIN_CONVERT, o->convert, 1);
    if (pays) spmv_print(s, sizeof s, "%llu", (spmv__ull)pays);
    spmv__put_cell(t, SPMV__EXPLAIN_PAYS, s);
    spmv__put_text(t, "  ");
    spmv__put_text(t, o->plan);
    if (*spmv__option_variant(o)) {
        spmv__put_spaces(t, plan_width > n ? plan_width - n : 0);
        SPMV__SAY(t, "  %s", o->variant);
    }
    spmv__put_char(t, '\n');
}

/* Writes the table, the least cost first. The chosen option, which is first in c->option, may stand further down after refining. */
static void spmv__explain_table(spmv__text *t, const spmv_choice *c)
{
    const spmv_option *order[SPMV_CHOICE_MAX];
    size_t plan_width = spmv__explain_plan_width(c);
    int i, at;
    for (i = 0; i < c->count; i++) {
        for (at = i; at > 0 && order[at - 1]->cost > c->option[i].cost; at--) order[at] = order[at - 1];
        order[at] = &c->option[i];
    }
    spmv__explain_heading(t, plan_width);
    for (i = 0; i < c->count; i++) spmv__explain_option(t, c, order[i], plan_width);
}

static int spmv__is_csr_alone(const spmv_option *o)
{
    return spmv__first_word_same(o->plan, "csr") && !strchr(o->plan, '+');
}

/* The seconds that the sentence uses: measured if the choice was made by measuring, else predicted. */
static double spmv__option_seconds(const spmv_option *o, int measured) { return measured ? o->measured : o->predicted; }

/* The fastest measured option apart from the chosen one; with csr, the fastest that is csr alone. NULL: there is none. */
static const spmv_option *spmv__fastest_measured(const spmv_choice *c, int csr)
{
    const spmv_option *best = NULL;
    int i;
    for (i = 1; i < c->count; i++) {
        const spmv_option *o = &c->option[i];
        if (csr && !spmv__is_csr_alone(o)) continue;
        if (o->measured > 0 && (!best || o->measured < best->measured)) best = o;
    }
    return best;
}

static void spmv__say_option(spmv__text *t, const spmv_option *o)
{
    SPMV__SAY(t, "%s%s%s", o->plan, *spmv__option_variant(o) ? " / " : "", spmv__option_variant(o));
}

/* Writes " 1.25 times the speed of the second, dia (51.5 us)"; own: seconds of the chosen option. */
static void spmv__say_second(spmv__text *t, const spmv_option *second, double own, int measured)
{
    double other = spmv__option_seconds(second, measured);
    SPMV__SAY(t, " %.*f times the speed of the second, ", SPMV__FIGURE(other / own));
    spmv__say_option(t, second);
    SPMV__SAY(t, " (%.*f us)", SPMV__FIGURE(other * 1e6));
}

/* Writes one sentence: what the choice gains over csr and over the second option, what conversion costs and when that pays. */
static void spmv__explain_reason(spmv__text *t, const spmv_choice *c)
{
    const spmv_option *o = &c->option[0], *second = spmv__fastest_measured(c, 0), *timed_csr = spmv__fastest_measured(c, 1);
    int measured = o->measured > 0 && second, is_csr = spmv__is_csr_alone(o), beside_csr;
    double own = spmv__option_seconds(o, measured), csr = measured && timed_csr ? timed_csr->measured : c->csr;
    uint64_t pays = spmv__pays_after(o->convert, own, csr);
    if (!measured) second = c->count > 1 ? &c->option[1] : NULL;
    beside_csr = csr > 0 && !is_csr && !(second && spmv__is_csr_alone(second));
    spmv__put_char(t, '\n');
    spmv__say_option(t, o);
    spmv__put_text(t, " was chosen because ");
    if (second && spmv__option_seconds(second, measured) < own)
        SPMV__SAY(t, "it ranks at a cost of %.*f us and the second at %.*f us, though ", SPMV__FIGURE(o->cost * 1e6),
                  SPMV__FIGURE(second->cost * 1e6));
    SPMV__SAY(t, "a product is %s to take %.*f us", measured ? "measured" : "predicted", SPMV__FIGURE(own * 1e6));
    if (beside_csr)
        SPMV__SAY(t, ", %.*f times the speed of csr (%.*f us%s)", SPMV__FIGURE(csr / own), SPMV__FIGURE(csr * 1e6),
                  measured && !timed_csr ? " predicted" : "");
    if (second) spmv__put_text(t, beside_csr ? " and" : ",");
    if (second) spmv__say_second(t, second, own, measured);
    SPMV__SAY(t, "; analysis and conversion take about %.*f products of csr", SPMV__FIGURE(o->convert));
    if (pays && !is_csr) SPMV__SAY(t, ", which pays after %llu products", (spmv__ull)pays);
    else if (csr > 0 && !is_csr) spmv__put_text(t, ", which does not pay, as csr is no slower");
    spmv__put_text(t, ".\n");
}

/* Writes every inequality of the cocktail, and the plan. */
static void spmv__explain_cocktail(spmv__text *t, const spmv_choice *c)
{
    const spmv_option *o = c->option;
    SPMV__SAY(t, "matrix    %llu x %llu, %llu nonzeros\n", (spmv__ull)c->features.rows, (spmv__ull)c->features.cols,
              (spmv__ull)c->features.nnz);
    SPMV__SAY(t, "table     %s%s\n", c->table, c->exact ? "" : ", not the device's own");
    spmv__put_text(t, c->steps);
    spmv__put_char(t, '\n');
    spmv__say_option(t, o);
    spmv__put_text(t, " is the plan by the policies of clSpMV");
    if (o->predicted > 0) SPMV__SAY(t, "; by the table's rates a product takes %.*f us", SPMV__FIGURE(o->predicted * 1e6));
    if (o->predicted > 0 && c->csr > 0) SPMV__SAY(t, ", and with csr %.*f us", SPMV__FIGURE(c->csr * 1e6));
    spmv__put_text(t, ".\n");
}

SPMV_API size_t spmv_explain(const spmv_choice *c, char *out, size_t size)
{
    if (!c) return spmv_print(out, size, "%s", "");
    spmv__text t;
    spmv__text_open(&t, out, size);
    if (c->tiny)
        return spmv_print(out, size, "plan      csr: a matrix of up to %d bytes costs less than a choice would\n", (int)SPMV_TINY_BYTES);
    if (!c->count) return spmv_print(out, size, "plan      as it was given\n");
    if (c->steps[0]) {
        spmv__explain_cocktail(&t, c);
        return spmv__text_close(&t);
    }
    spmv__explain_features(&t, &c->features);
    SPMV__SAY(&t, "table     %s%s\n", c->table, c->exact ? "" : ", not the device's own");
    if (c->csr > 0) SPMV__SAY(&t, "csr       %.*f us at best\n", SPMV__FIGURE(c->csr * 1e6));
    spmv__put_char(&t, '\n');
    spmv__explain_table(&t, c);
    spmv__explain_reason(&t, c);
    return spmv__text_close(&t);
}
#endif /* SPMV_IMPLEMENTATION */
