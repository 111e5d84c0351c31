/* SPDX-License-Identifier: MIT
 *
 * spmv_auto.h - the library chooses: tuning tables, features of a matrix, the cost of a plan, and the plans "cocktail"
 * and "auto" (Su, Keutzer 2012: clSpMV and the Cocktail format).
 *
 * A tuning table says how fast each way to store and multiply ran on one device, over the size of a matrix and its
 * nonzeros a row. It is text, written by "spmv tune". Lines of one word and a value come first, a row of rates for
 * each candidate after them:
 *
 *     spmv tuning table 1
 *     device NVIDIA H200          its name as the device tells it; "host" for products on the host
 *     class gpu                   gpu, cpu (OpenCL), or host
 *     driver 580.159.04           or what compiled the host products
 *     units 132                   compute units, or cores
 *     memory 143771               MiB
 *     copy 3900                   GB/s, measured
 *     read 4100
 *     launch 2.9                  microseconds that the smallest product takes
 *     date 2026-11-21
 *     rows 1024 16384 262144      the sizes that were measured, rising
 *     per_row 1 4 16 64           nonzeros a row, rising
 *     f64 banded csr:run=1024/WG=256 0.81 1.6 3 3.1 2 8 11 12 5 - - -
 *
 * that is: type, kind of matrix, plan of one part, "/", knobs of its kernel (may be empty, and is opaque here), then
 * GFLOP/s (2 x nonzeros / time) for every per_row of the first of rows, of the second, and so on; "-" where nothing was
 * measured. "#" begins a comment line.
 *
 * If you only want the interface, stop at "END OF THE INTERFACE".
 */
#include "spmv_plan.h" /* above the guard, as in the other headers */
#ifndef SPMV_AUTO_H
#define SPMV_AUTO_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tuning tables ------------------------------------------------------------------------------------------------
 * X(IDENT, "name", "the matrices that were measured: M rows, k nonzeros a row"). All are M x M; cut at the edges. */
#define SPMV_TUNE_KIND_LIST(X)                                                                                        \
    X(BANDED,    "banded",    "k full diagonals side by side (clSpMV 5.1); blocks: on their grid, side by side")      \
    X(SCATTERED, "scattered", "k different columns a row, anywhere; blocks: anywhere on their grid")                  \
    X(UNEVEN,    "uneven",    "row lengths that fall off as 1/t up to 64 k, in any order, columns side by side")

typedef enum spmv_tune_kind {
#define X(ID, name, text) SPMV_TUNE_##ID,
    SPMV_TUNE_KIND_LIST(X)
#undef X
    SPMV_TUNE_KIND_COUNT
} spmv_tune_kind;

SPMV_API const char *spmv_tune_kind_name(spmv_tune_kind k);

enum { SPMV_TUNE_AXIS = 16, SPMV_TUNE_VARIANT = 96, SPMV_TUNE_NAME = 128 };

typedef struct spmv_tune_row {
    spmv_type      type;
    spmv_tune_kind kind;
    spmv_spec      layout;                     /* format and layout keys */
    char           variant[SPMV_TUNE_VARIANT]; /* knobs as text, "": defaults */
    float         *rate;                       /* GFLOP/s, [rows][per_row] of the table; 0: not measured */
} spmv_tune_row;

typedef struct spmv_tuning {
    char           device[SPMV_TUNE_NAME], device_class[8], driver[SPMV_TUNE_NAME], date[16];
    uint64_t       units, memory; /* memory: MiB */
    double         copy, read;    /* GB/s */
    double         launch;        /* seconds */
    int            rows, per_row; /* points on each axis */
    uint64_t       rows_at[SPMV_TUNE_AXIS], per_row_at[SPMV_TUNE_AXIS];
    size_t         count;
    spmv_tune_row *row;
    spmv_hooks     hooks;
} spmv_tuning;

/* Reads a table; text need not end in a 0. name is for messages: "name, line 3: ...". Nothing in the text is trusted. out need
 * not be initialised; on failure it is zeroed. SPMV_ERR_PARSE, SPMV_ERR_MEMORY. */
SPMV_API spmv_status spmv_tuning_read(spmv_tuning *out, const char *text, size_t length, const char *name, const spmv_hooks *hooks);
SPMV_API void spmv_tuning_free(spmv_tuning *t);
/* The bundled table for a device by its name, else one of its class ("gpu", "cpu", "host"): its text and length, or NULL if
 * there is none. *exact (may be NULL): 1 if the device is the very one. */
SPMV_API const char *spmv_tuning_bundled(const char *device, const char *device_class, size_t *length, int *exact);
/* Number of bundled tables and the text of each. */
SPMV_API size_t spmv_tuning_count(void);
SPMV_API const char *spmv_tuning_text(size_t i, size_t *length);

/* Rate at any size in GFLOP/s, bilinear in the logarithms of rows, of nonzeros a row and of the rate; outside the table as at its
 * edge. 0: the row has no sample at all. */
SPMV_API double spmv_tuning_rate(const spmv_tuning *t, const spmv_tune_row *row, double rows, double per_row);

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

/* A reader of one line: words are cut out of a copy. */
typedef struct spmv__lines {
    const char       *at, *end, *name;
    uint64_t          line;
    char              word[256];
    const spmv_hooks *h;
} spmv__lines;

static spmv_status spmv__bad_line(const spmv__lines *l, const char *why)
{
    return spmv_log(l->h, SPMV_ERR_PARSE, "%s, line %u: %s", l->name, (unsigned)l->line, why);
}

static int spmv__blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* The next word of the line into l->word; 0 at its end. One that is too long is cut, and means nothing then. */
static size_t spmv__next_word(spmv__lines *l)
{
    size_t n = 0;
    while (l->at < l->end && spmv__blank(*l->at)) l->at++;
    for (; l->at < l->end && *l->at != '\n' && !spmv__blank(*l->at); l->at++)
        if (n + 1 < sizeof l->word) l->word[n++] = *l->at;
    l->word[n] = 0;
    return n;
}

/* What is left of the line, without blanks around it. */
static void spmv__rest_of_line(spmv__lines *l, char *out, size_t size)
{
    size_t n = 0;
    while (l->at < l->end && spmv__blank(*l->at)) l->at++;
    for (; l->at < l->end && *l->at != '\n'; l->at++)
        if (n + 1 < size) out[n++] = (unsigned char)*l->at < 32 || (unsigned char)*l->at > 126 ? '?' : *l->at;
    while (n && (out[n - 1] == ' ' || out[n - 1] == '?')) n--;
    out[n] = 0;
}

/* To the start of the next line that is neither empty nor a comment; 0 at the end. */
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

/* A decimal number without sign or exponent, as "spmv tune" writes them; 0 if w is none. */
static int spmv__decimal(const char *w, double *v)
{
    double unit = 1;
    int digits = 0;
    for (*v = 0; spmv__is_digit(*w) && digits < 18; w++, digits++) *v = *v * 10 + (*w - '0');
    if (*w == '.')
        for (w++; spmv__is_digit(*w) && digits < 18; w++, digits++) *v += (*w - '0') * (unit /= 10);
    return digits && !*w;
}

static spmv_status spmv__tune_axis(spmv__lines *l, int *count, uint64_t *at)
{
    double v, before = 0;
    for (*count = 0; spmv__next_word(l); at[(*count)++] = (uint64_t)v) {
        if (*count == SPMV_TUNE_AXIS) return spmv__bad_line(l, "more than 16 sizes");
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

/* One line of the head; *known 0 if its word is none of the head's. */
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
        spmv__rest_of_line(l, t->device_class, sizeof t->device_class);
        if (strcmp(t->device_class, "gpu") && strcmp(t->device_class, "cpu") && strcmp(t->device_class, "host"))
            s = spmv__bad_line(l, "class must be gpu, cpu or host");
    } else if (!strcmp(w, "units")) {
        s = spmv__tune_number(l, 1, &number);
        t->units = (uint64_t)number;
    } else if (!strcmp(w, "memory")) {
        s = spmv__tune_number(l, 1, &number);
        t->memory = (uint64_t)number;
    } else if (!strcmp(w, "copy")) s = spmv__tune_number(l, 1, &t->copy);
    else if (!strcmp(w, "read")) s = spmv__tune_number(l, 1, &t->read);
    else if (!strcmp(w, "launch")) s = spmv__tune_number(l, 1e-6, &t->launch);
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

/* "csr:run=1024/WG=256" in l->word. *ignore 1: of a format that this build leaves out. */
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

static spmv_status spmv__tune_rates(const spmv_tuning *t, spmv_tune_row *r, spmv__lines *l)
{
    int i, n = t->rows * t->per_row;
    double v;
    void *block;
    spmv_status s = spmv__new(l->h, &block, (uint64_t)n, sizeof(float), 0);
    if (s) return s;
    r->rate = (float *)block;
    for (i = 0; i < n; i++) {
        if (!spmv__next_word(l)) return spmv__bad_line(l, "too few rates");
        if (!strcmp(l->word, "-")) continue;
        if (!spmv__decimal(l->word, &v) || v > 1e7) return spmv__bad_line(l, "a rate is a number of GFLOP/s, or -");
        r->rate[i] = (float)v;
    }
    return spmv__next_word(l) ? spmv__bad_line(l, "too many rates") : SPMV_OK;
}

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

static spmv_status spmv__tune_line(spmv_tuning *t, spmv__lines *l, size_t *room)
{
    spmv_tune_row r;
    int kind = 0, ignore = 0;
    spmv_status s;
    memset(&r, 0, sizeof r);
    r.type = spmv_type_from(l->word);
    if (r.type == SPMV_TYPE_COUNT) return spmv__bad_line(l, "neither a word of the head nor a type");
    if (!t->rows || !t->per_row) return spmv__bad_line(l, "rates before the lines \"rows\" and \"per_row\"");
    spmv__next_word(l);
    while (kind < SPMV_TUNE_KIND_COUNT && strcmp(l->word, spmv_tune_kind_name((spmv_tune_kind)kind)) != 0) kind++;
    if (kind == SPMV_TUNE_KIND_COUNT) return spmv__bad_line(l, "there is no such kind of matrix");
    r.kind = (spmv_tune_kind)kind;
    spmv__next_word(l);
    s = spmv__tune_candidate(&r, l, &ignore);
    if (!s && t->count == *room) s = spmv__tune_grow(t, room);
    if (s) return s;
    s = spmv__tune_rates(t, &r, l);
    if (s || ignore) spmv_free(l->h, r.rate);
    else t->row[t->count++] = r;
    return s;
}

SPMV_API spmv_status spmv_tuning_read(spmv_tuning *out, const char *text, size_t length, const char *name, const spmv_hooks *hooks)
{
    static const spmv_hooks plain = { NULL, NULL, NULL };
    spmv__lines l;
    size_t room = 0;
    spmv_status s = SPMV_OK;
    char first[40];
    memset(out, 0, sizeof *out);
    memset(&l, 0, sizeof l);
    l.at = text;
    l.end = text + length;
    l.name = name;
    l.h = hooks ? hooks : &plain;
    out->hooks = *l.h;
    if (spmv__next_line(&l)) spmv__rest_of_line(&l, first, sizeof first);
    else first[0] = 0;
    if (strcmp(first, "spmv tuning table 1") != 0) s = spmv__bad_line(&l, "a table begins with \"spmv tuning table 1\"");
    while (!s && spmv__next_line(&l)) {
        int known;
        spmv__next_word(&l);
        s = spmv__tune_head(out, &l, &known);
        if (!s && known && out->count && (!strcmp(l.word, "rows") || !strcmp(l.word, "per_row"))) s = spmv__bad_line(&l, "sizes after rates");
        if (!s && !known) s = spmv__tune_line(out, &l, &room);
    }
    if (!s && (!out->device[0] || !out->device_class[0])) s = spmv__bad_line(&l, "a table needs the lines \"device\" and \"class\"");
    if (s) spmv_tuning_free(out);
    return s;
}

SPMV_API void spmv_tuning_free(spmv_tuning *t)
{
    size_t i;
    for (i = 0; i < t->count; i++) spmv_free(&t->hooks, t->row[i].rate);
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
    *length = spmv__tuning[i].length;
    return (const char *)spmv__tuning[i].text;
}

/* The value of a word of a table's head. */
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

SPMV_API const char *spmv_tuning_bundled(const char *device, const char *device_class, size_t *length, int *exact)
{
    char word[SPMV_TUNE_NAME];
    size_t i, found = spmv_tuning_count();
    int same = 0;
    for (i = found; i-- > 0 && !same;) {
        spmv__tuning_word(i, "class", word);
        if (strcmp(word, device_class) != 0) continue;
        found = i;
        spmv__tuning_word(i, "device", word);
        same = !strcmp(word, device);
    }
    if (exact) *exact = same;
    return spmv_tuning_text(found, length);
}

/* ---- tuning tables: rates between the samples ---------------------------------------------------------------------- */

/* Logarithm to base 2 of a positive number, to about 1e-5; the headers want no libm. */
static double spmv__log2(double v)
{
    double e = 0, m, z;
    if (!(v > 0)) return -1000;
    while (v >= 2) v /= 2, e++;
    while (v < 1) v *= 2, e--;
    z = (v - 1) / (v + 1); /* ln v = 2 (z + z^3/3 + z^5/5 + ...), |z| <= 1/3 */
    m = z * z;
    return e + 2.885390081777927 * z * (1 + m * (1.0 / 3 + m * (1.0 / 5 + m * (1.0 / 7 + m * (1.0 / 9 + m / 11)))));
}

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

/* Where v lies on a rising axis: between *i and *i + 1, *part of the way in logarithms; at the edges, at the edge. */
static void spmv__axis_place(const uint64_t *at, int count, double v, int *i, double *part)
{
    *part = 0;
    for (*i = 0; *i + 1 < count && v >= (double)at[*i + 1];) ++*i;
    if (*i + 1 < count && v > (double)at[*i])
        *part = spmv__log2(v / (double)at[*i]) / spmv__log2((double)at[*i + 1] / (double)at[*i]);
}

/* The sample at a point, else the nearest one with fewer rows, more rows, fewer nonzeros a row, more: rates level off with size. */
static double spmv__tune_sample(const spmv_tuning *t, const spmv_tune_row *r, int row, int per)
{
    int i, j;
    for (j = 0; j < 2 * t->per_row; j++) {
        int p = j < t->per_row ? per - j : j - t->per_row + per + 1;
        if (p < 0 || p >= t->per_row) continue;
        for (i = 0; i < 2 * t->rows; i++) {
            int q = i < t->rows ? row - i : i - t->rows + row + 1;
            if (q >= 0 && q < t->rows && r->rate[q * t->per_row + p] > 0) return (double)r->rate[q * t->per_row + p];
        }
    }
    return 0;
}

SPMV_API double spmv_tuning_rate(const spmv_tuning *t, const spmv_tune_row *r, double rows, double per_row)
{
    int i, j, a, b;
    double down, right, sum = 0;
    spmv__axis_place(t->rows_at, t->rows, rows, &i, &down);
    spmv__axis_place(t->per_row_at, t->per_row, per_row, &j, &right);
    for (a = 0; a < 2; a++)
        for (b = 0; b < 2; b++) {
            double weight = (a ? down : 1 - down) * (b ? right : 1 - right), rate;
            if (weight <= 0) continue;
            rate = spmv__tune_sample(t, r, i + a, j + b);
            if (rate <= 0) return 0;
            sum += weight * spmv__log2(rate);
        }
    return spmv__exp2(sum);
}
#endif /* SPMV_IMPLEMENTATION */
