/* SPDX-License-Identifier: MIT
 *
 * spmv/plan/builders.h - functions that make a plan for a matrix: hyb, hybr, cmrs; spmv_plan_make.
 */
#ifndef SPMV__PLAN_BUILDERS_H
#define SPMV__PLAN_BUILDERS_H

#include "store.h"

/* ---- builders ---------------------------------------------------------------------------------------------------- */

SPMV_API const char *spmv_builder_name(spmv_builder builder)
{
    static const char *const names[] = {
#define X(ID, name, text) name,
        SPMV_BUILDER_LIST(X)
#undef X
    };
    return (unsigned)builder < SPMV_BUILDER_COUNT ? names[builder] : "unknown";
}

/* The builder of that name; SPMV_BUILDER_COUNT if there is none. */
static spmv_builder spmv__builder_from(const char *name)
{
    int b = 0;
    while (b < SPMV_BUILDER_COUNT && strcmp(name, spmv_builder_name((spmv_builder)b)) != 0) b++;
    return (spmv_builder)b;
}

/* X(IDENT, "key", kind, default, takers): the keys of builders. takers has the bits of the builders that know the key. */
#define SPMV__BUILDER_KEYS(X)                                                        \
    X(ROWS,   "rows",   SPMV__INT,  SPMV__ENOUGH_ROWS,    SPMV__HYB | SPMV__HYBR)    \
    X(X,      "x",      SPMV__FRAC, SPMV__ONE / 2,        SPMV__HYBR) /* Xu et al. */ \
    X(K,      "k",      SPMV__INT,  SPMV__K_BELL_GARLAND, SPMV__HYBR)                \
    X(LEVELS, "levels", SPMV__INT,  0,                    SPMV__HYBR) /* no limit */
enum {
    SPMV__HYB  = 1u << SPMV_BUILDER_HYB | 1u << SPMV_BUILDER_HYB_CSR, /* takers */
    SPMV__HYBR = 1u << SPMV_BUILDER_HYBR,
    SPMV__ENOUGH_ROWS = 4096 /* rows that fill a GPU, which a column of ELL should have (Bell, Garland 2009) */
};
enum {
#define X(ID, name, kind, preset, takers) SPMV__BUILDER_##ID,
    SPMV__BUILDER_KEYS(X)
#undef X
    SPMV__BUILDER_KEY_COUNT
};
static const char *const spmv__builder_key_names[] = {
#define X(ID, name, kind, preset, takers) name,
    SPMV__BUILDER_KEYS(X)
#undef X
};
static const unsigned spmv__builder_key_takers[] = {
#define X(ID, name, kind, preset, takers) takers,
    SPMV__BUILDER_KEYS(X)
#undef X
};
/* Values of key k: Xu's methods 1 to 4, and 0 for measuring. */
enum { SPMV__K_MEASURED = 0, SPMV__K_BELL_GARLAND, SPMV__K_FLOOR, SPMV__K_THIRD, SPMV__K_ABOVE };
enum { SPMV__PERCENT = 100 /* key x is a percentage */ };

typedef struct spmv__maker {
    const spmv_csr         *a;
    const spmv_build_hints *hints;
    const spmv_hooks       *hooks;
    spmv_plan              *plan;
    int64_t                 key[SPMV__BUILDER_KEY_COUNT];
    uint64_t               *longer; /* longer[k]: rows with k or more nonzeros */
    uint64_t                longest;
} spmv__maker;

/* Fills in maker->longest and maker->longer. */
static spmv_status spmv__count_lengths(spmv__maker *maker)
{
    const spmv_csr *a = maker->a;
    uint64_t r, k;
    void *block;
    spmv_status s;
    for (r = 0; r < a->rows; r++)
        if (a->ptr[r + 1] - a->ptr[r] > maker->longest) maker->longest = a->ptr[r + 1] - a->ptr[r];
    s = spmv__new(maker->hooks, &block, maker->longest + 2, 8, 0);
    if (s) return s;
    maker->longer = (uint64_t *)block;
    for (r = 0; r < a->rows; r++) maker->longer[a->ptr[r + 1] - a->ptr[r]]++;
    for (k = maker->longest; k--;) maker->longer[k] += maker->longer[k + 1];
    return SPMV_OK;
}

/* The number of rows with at least k nonzeros. Once the first base columns are taken, column k of the rest has spmv__reach(base + k). */
static uint64_t spmv__reach(const spmv__maker *maker, uint64_t k) { return k <= maker->longest ? maker->longer[k] : 0; }

/* Appends a part with two keys; give one key twice where it needs only one. */
static void spmv__add_part(spmv_plan *plan, spmv_format format, spmv_key k1, int64_t v1, spmv_key k2, int64_t v2)
{
    spmv_spec *spec = &plan->part[plan->count++];
    memset(spec, 0, sizeof *spec);
    spec->format = format;
    spec->key[k1] = v1;
    spec->key[k2] = v2;
}

/* The share of the rows, one in so many, that must reach a column so that ELL pays for it: an ELL product runs about three times as fast as
 * one of COO (Bell, Garland 2009); Xu et al. take the same third. */
enum { SPMV__ELL_PAYS = 3 };

/* The width by Bell and Garland's rule, Xu's method 1, after the base columns that are already taken; rows is what the rule calls M. */
static uint64_t spmv__width_bell_garland(const spmv__maker *maker, uint64_t base, uint64_t rows)
{
    uint64_t least = (uint64_t)maker->key[SPMV__BUILDER_ROWS], w = 0;
    for (;; w++) {
        uint64_t reach = spmv__reach(maker, base + w + 1);
        if (!reach || reach < least || reach * SPMV__ELL_PAYS < rows) return w;
    }
}

/* The number of nonzeros after the first base entries of each row. */
static uint64_t spmv__suffix_nnz(const spmv__maker *maker, uint64_t base)
{
    uint64_t k, n = 0;
    for (k = base + 1; k <= maker->longest; k++) n += maker->longer[k];
    return n;
}

/* The width by Xu's method 3: columns are added while nonzeros fill more than a third of the ELL part. */
static uint64_t spmv__width_third(const spmv__maker *maker, uint64_t base, uint64_t rows)
{
    uint64_t w = 0, held = 0;
    while (base + w + 1 <= maker->longest) {
        held += spmv__reach(maker, base + w + 1);
        if (held * SPMV__ELL_PAYS <= rows * (w + 1)) break;
        w++;
    }
    return w;
}

/* Makes hyb or hyb-csr: one ELL part if any column is worth it, then COO or CSR for the rest. */
static spmv_status spmv__make_hyb(spmv__maker *maker, int with_csr)
{
    uint64_t w = spmv__width_bell_garland(maker, 0, maker->a->rows);
    if (w) spmv__add_part(maker->plan, SPMV_ELL, SPMV_KEY_W, (int64_t)w, SPMV_KEY_W, (int64_t)w);
    if (w && w >= maker->longest) maker->plan->part[0].key[SPMV_KEY_W] = 0;
    else if (with_csr) spmv__add_part(maker->plan, SPMV_CSR, SPMV_KEY_ROWS, SPMV_ROWS_NONEMPTY, SPMV_KEY_ROWS, SPMV_ROWS_NONEMPTY);
    else spmv__add_part(maker->plan, SPMV_COO, SPMV_KEY_W, 0, SPMV_KEY_W, 0);
    return SPMV_OK;
}

/* Makes a plan of ELL parts with the given widths; rest: 1 if COO follows. The first part has all rows, each later one a list of those that
 * have nonzeros left. Xu et al. sort the rows by length instead, so that the rows of each later part are the first ones, and bring y back
 * into order at the end. Row lists need neither, and are most often faster ([M8] of docs/measurements.md). */
static void spmv__set_levels(spmv_plan *plan, const uint64_t *width, int levels, int rest)
{
    int i;
    plan->count = 0;
    for (i = 0; i < levels; i++)
        spmv__add_part(plan, SPMV_ELL, SPMV_KEY_W, (int64_t)width[i], SPMV_KEY_ROWS, i ? SPMV_ROWS_NONEMPTY : SPMV_ROWS_ALL);
    if (rest || !levels) spmv__add_part(plan, SPMV_COO, SPMV_KEY_W, 0, SPMV_KEY_W, 0);
    else plan->part[levels - 1].key[SPMV_KEY_W] = 0;
}

/* The fastest width of a level by the caller's clock, of all from one column to the longest row; the levels before it keep theirs. */
static uint64_t spmv__width_measured(spmv__maker *maker, uint64_t *width, int level, uint64_t base)
{
    spmv_plan trial;
    uint64_t w, best = 0;
    double least = -1;
    memset(&trial, 0, sizeof trial);
    for (w = 1; base + w <= maker->longest; w++) {
        double t;
        width[level] = w;
        spmv__set_levels(&trial, width, level + 1, base + w < maker->longest);
        t = maker->hints->measure(maker->hints->measure_user, &trial, "");
        if (t >= 0 && (least < 0 || t < least)) {
            least = t;
            best = w;
        }
    }
    return best;
}

/* The width of a level, by the method that key k names. */
static uint64_t spmv__hybr_width(spmv__maker *maker, uint64_t *width, int level, uint64_t base, uint64_t rows)
{
    uint64_t left = spmv__suffix_nnz(maker, base);
    switch (maker->key[SPMV__BUILDER_K]) {
    case SPMV__K_MEASURED: return spmv__width_measured(maker, width, level, base);
    case SPMV__K_FLOOR: return left / rows;
    case SPMV__K_THIRD: return spmv__width_third(maker, base, rows);
    case SPMV__K_ABOVE: return left / rows + 1;
    default: return spmv__width_bell_garland(maker, base, rows);
    }
}

/* Makes hybr (Xu et al. IV): splits off ELL parts until few nonzeros or few rows are left. M of the width's rule is the number of rows
 * that are left; with that of the matrix, no column of a later level would ever qualify. The first level is that of hyb and always
 * tried. */
static spmv_status spmv__make_hybr(spmv__maker *maker)
{
    uint64_t width[SPMV_MAX_PARTS], base = 0, rows = maker->a->rows;
    uint64_t least_rows = (uint64_t)maker->key[SPMV__BUILDER_ROWS];
    const double unit = (double)SPMV__ONE * (double)SPMV__PERCENT; /* in a nonzero; least is so scaled that an exact share compares equal */
    double least = (double)maker->key[SPMV__BUILDER_X] * (double)maker->a->nnz;
    int64_t levels_key = maker->key[SPMV__BUILDER_LEVELS]; /* up to 2^40 */
    int levels = 0, most = levels_key && levels_key < SPMV_MAX_PARTS - 1 ? (int)levels_key : SPMV_MAX_PARTS - 1;
    while (levels < most && base < maker->longest && rows) {
        uint64_t w;
        if (levels && ((double)spmv__suffix_nnz(maker, base) * unit < least || rows < least_rows)) break;
        w = spmv__hybr_width(maker, width, levels, base, rows);
        if (!w) break;
        if (w > maker->longest - base) w = maker->longest - base;
        width[levels++] = w;
        base += w;
        rows = spmv__reach(maker, base + 1);
    }
    spmv__set_levels(maker->plan, width, levels, base < maker->longest);
    return SPMV_OK;
}

static void spmv__set_strips(spmv_plan *plan, int64_t height)
{
    plan->count = 0;
    spmv__add_part(plan, SPMV_CMRS, SPMV_KEY_H, height, SPMV_KEY_H, height);
}

/* Bytes that a product reads of CMRS arrays if the columns of a strip come in sectors of 32 bytes, the least that the memory of a GPU
 * delivers. Short strips waste most of a sector, as short rows do in long SIMD units (Koza et al., 3). Of many rows an evenly spread
 * sample is read, the same for each height, so that the heights compare: the waste of a strip deviates by a third of a sector, its mean
 * over the sample, which has 1024 strips or more of each height, by about 1% of a sector. */
static double spmv__strip_bytes(const spmv_csr *a, uint64_t height)
{
    enum { INDEX = 4 /* bytes of a column with its row in the strip, and of a strip's pointer */, SECTOR = 32 / INDEX /* columns */ };
    enum { GROUP = 64 /* rows that are read together, whole strips of each height */, SAMPLE = 1 << 9 /* groups */ };
    const uint64_t groups = spmv__ceil_div(a->rows, GROUP), step = groups / SAMPLE + 1;
    double slot = (double)(spmv_value_size(a->type) + INDEX), bytes = 0;
    uint64_t g, r;
    for (g = 0; g < groups; g += step) {
        const uint64_t stop = spmv__smaller((g + 1) * GROUP, a->rows);
        for (r = g * GROUP; r < stop; r += height) {
            uint64_t end = stop - r < height ? stop : r + height;
            bytes += (double)INDEX + slot * (double)spmv__round_up(a->ptr[end] - a->ptr[r], SECTOR);
        }
    }
    return bytes;
}

/* The heights that are compared: 2, 4, 8 and 16, as in the paper. A strip of one row is csr, and a row's number in its strip has 4 bits. */
enum { SPMV__STRIP_HEIGHTS = 4 };

/* The bytes for each height; a height is a share. */
typedef struct spmv__strips {
    const spmv_csr *a;
    double          bytes[SPMV__STRIP_HEIGHTS];
} spmv__strips;

static void spmv__strips_share(void *job, uint64_t share, size_t thread)
{
    spmv__strips *strips = (spmv__strips *)job;
    (void)thread;
    strips->bytes[share] = spmv__strip_bytes(strips->a, (uint64_t)2 << share);
}

/* Makes cmrs, a part with the best strip height. Koza et al. take whichever of 2, 4, 8 and 16 is the fastest ("brute-force search", 5.2),
 * as is done here with hints->measure. For the case without one they give no rule ("a detailed answer is beyond the scope", 5.5), so this
 * one is our own: the height with the fewest bytes, where a greater one, for which every lane needs more local memory ("a severe limit on
 * acceptable values of height", 4), must save 5%. */
static spmv_status spmv__make_cmrs(spmv__maker *maker)
{
    const double gain = 0.95; /* of the bytes of the height before: what a greater one may read */
    spmv_measure measure = maker->hints ? maker->hints->measure : NULL;
    int64_t best = 0, fastest = 0;
    double least = 0, shortest = 0;
    spmv__strips strips;
    int i;
    strips.a = maker->a;
    spmv__share_among(spmv__strips_share, &strips, SPMV__STRIP_HEIGHTS,
                      spmv__share_threads(spmv__share_count(maker->a->rows), SPMV__STRIP_HEIGHTS));
    for (i = 0; i < SPMV__STRIP_HEIGHTS; i++) {
        const int64_t h = (int64_t)2 << i;
        double bytes = strips.bytes[i], seconds = -1;
        spmv__set_strips(maker->plan, h);
        if (measure) seconds = measure(maker->hints->measure_user, maker->plan, "");
        if (seconds >= 0 && (!fastest || seconds < shortest)) {
            fastest = h;
            shortest = seconds;
        }
        if (best && bytes > gain * least) continue;
        best = h;
        least = bytes;
    }
    spmv__set_strips(maker->plan, fastest ? fastest : best);
    return SPMV_OK;
}

/* Reports a key that the builder does not have, with those that it has. */
SPMV__APART spmv_status spmv__no_such_builder_key(const spmv__scan *scan, const char *at, spmv_builder builder)
{
    char text[160]; /* the names of all keys */
    size_t n = spmv_print(text, sizeof text, "the builder has no such key; %s has ", spmv_builder_name(builder));
    int k, some = 0;
    for (k = 0; k < SPMV__BUILDER_KEY_COUNT && n < sizeof text; k++)
        if (spmv__builder_key_takers[k] >> builder & 1u)
            n += spmv_print(text + n, sizeof text - n, "%s%s", some++ ? ", " : "", spmv__builder_key_names[k]);
    return spmv__fault(scan, at, SPMV_ERR_PLAN, text);
}

/* Parses one key of a builder into keys. seen: bits of the keys that were given before. */
static spmv_status spmv__parse_builder_key(spmv__scan *scan, spmv_builder builder, int64_t *keys, unsigned *seen)
{
    static const int kinds[] = {
#define X(ID, name, kind, preset, takers) kind,
        SPMV__BUILDER_KEYS(X)
#undef X
    };
    char word[SPMV__WORD];
    const char *at;
    int k = 0;
    spmv__skip_space(scan);
    at = scan->at;
    spmv__word(scan, word, sizeof word);
    while (k < SPMV__BUILDER_KEY_COUNT && strcmp(word, spmv__builder_key_names[k]) != 0) k++;
    if (k == SPMV__BUILDER_KEY_COUNT || !(spmv__builder_key_takers[k] >> builder & 1u)) return spmv__no_such_builder_key(scan, at, builder);
    if (*seen >> k & 1u) return spmv__fault(scan, at, SPMV_ERR_PLAN, "the key is given twice");
    *seen |= 1u << k;
    if (!spmv__accept(scan, '=')) return spmv__fault(scan, scan->at, SPMV_ERR_PLAN, "expected \"=\"");
    spmv__skip_space(scan);
    at = scan->at;
    spmv__word(scan, word, sizeof word);
    if (!spmv__key_value(kinds[k], word, &keys[k])) return spmv__fault(scan, at, SPMV_ERR_PLAN, spmv__key_form(kinds[k]));
    if (k == SPMV__BUILDER_K && keys[k] > SPMV__K_ABOVE) return spmv__fault(scan, at, SPMV_ERR_PLAN, "k must be 0 .. 4");
    if (k == SPMV__BUILDER_X && keys[k] > (int64_t)SPMV__PERCENT * SPMV__ONE)
        return spmv__fault(scan, at, SPMV_ERR_PLAN, "x must be at most 100 percent");
    return SPMV_OK;
}

/* Parses what follows the name of a builder: its keys, with defaults for those not given, and the end of the text. */
static spmv_status spmv__parse_builder(spmv__scan *scan, spmv_builder builder, int64_t *keys)
{
    static const int64_t presets[] = {
#define X(ID, name, kind, preset, takers) preset,
        SPMV__BUILDER_KEYS(X)
#undef X
    };
    unsigned seen = 0;
    spmv_status s;
    memcpy(keys, presets, sizeof presets);
    if (spmv__accept(scan, ':')) {
        do {
            s = spmv__parse_builder_key(scan, builder, keys, &seen);
            if (s) return s;
        } while (spmv__accept(scan, ','));
    }
    spmv__skip_space(scan);
    return *scan->at ? spmv__fault(scan, scan->at, SPMV_ERR_PLAN, "expected \",\", \":\" or the end") : SPMV_OK;
}

/* Makes the plan of a builder whose keys are set. */
SPMV__APART spmv_status spmv__run_builder(spmv__maker *maker, spmv_builder builder)
{
    spmv_status s;
    if (builder == SPMV_BUILDER_HYBR && maker->key[SPMV__BUILDER_K] == SPMV__K_MEASURED && !(maker->hints && maker->hints->measure))
        return spmv_log(maker->hooks, SPMV_ERR_ARGUMENT, "hybr:k=0 tries every width and needs hints->measure");
    s = spmv__count_lengths(maker);
    if (s) return s;
    switch (builder) {
    case SPMV_BUILDER_HYB: s = spmv__make_hyb(maker, 0); break;
    case SPMV_BUILDER_HYB_CSR: s = spmv__make_hyb(maker, 1); break;
    case SPMV_BUILDER_HYBR: s = spmv__make_hybr(maker); break;
    default: s = spmv__make_cmrs(maker);
    }
    spmv_free(maker->hooks, maker->longer);
    return s;
}

/* What follows a name, and the blanks around it, in text; NULL if text does not begin with the name. */
SPMV__SHARED const char *spmv__after_name(const char *text, const char *name)
{
    size_t n = strlen(name);
    while (*text == ' ' || *text == '\t') text++;
    if (strncmp(text, name, n) != 0) return NULL;
    for (text += n; *text == ' ' || *text == '\t';) text++;
    return text;
}

/* Is text that name alone? "auto", "measure" and "cocktail" are not plans; spmv/choice.h makes them. */
SPMV__SHARED int spmv__is_name(const char *text, const char *name)
{
    const char *rest = spmv__after_name(text, name);
    return rest && !*rest;
}

/* Is text a builder that looks at row lengths alone, and whose plans split by them? */
SPMV__SHARED int spmv__builds_by_rows(const char *text)
{
    int b, found = 0;
    for (b = 0; b < SPMV_BUILDER_COUNT; b++) {
        const char *rest = spmv__after_name(text, spmv_builder_name((spmv_builder)b));
        found |= rest && (!*rest || *rest == ':');
    }
    return found;
}

/* The builder with whose name the text begins, and goes on behind it; SPMV_BUILDER_COUNT: it is the text of a plan. cmrs is both a builder
 * and a format: with keys of the format, or in a longer plan, it is the format. */
static spmv_builder spmv__begin_builder(spmv__scan *scan)
{
    char word[SPMV__WORD];
    spmv_builder builder;
    spmv__word(scan, word, sizeof word);
    builder = spmv__builder_from(word);
    if (spmv_format_from(word) != SPMV_FORMAT_COUNT && scan->text[strcspn(scan->text, ":+")]) builder = SPMV_BUILDER_COUNT;
    if (builder == SPMV_BUILDER_COUNT) scan->at = scan->text;
    return builder;
}

/* 1 if the text is that of a plan of one part. Apart, as the next one, for the stack of the caller. */
SPMV__APART int spmv__is_one_part(const char *text)
{
    spmv__scan scan = spmv__scan_begin(text, NULL, NULL);
    return !strchr(text, '+') && spmv__begin_builder(&scan) == SPMV_BUILDER_COUNT;
}

/* Parses such a text into *spec, which is zero. */
SPMV__APART spmv_status spmv__parse_one_part(spmv_spec *spec, const char *text, const spmv_hooks *hooks)
{
    spmv__scan scan = spmv__scan_begin(text, NULL, hooks);
    spmv_status s;
    scan.builders = 1;
    s = spmv__parse_part(&scan, spec);
    return s ? s : spmv__parse_end(&scan);
}

SPMV_API spmv_status spmv_plan_make(spmv_plan *plan, const char *text, const spmv_csr *a, const spmv_build_hints *hints, int *column,
                                    const spmv_hooks *hooks)
{
    if (!plan || !text) {
        if (column) *column = 0;
        return spmv__null(hooks, "spmv_plan_make", !plan ? "plan" : "text", plan, sizeof *plan);
    }
    spmv__maker maker;
    spmv__scan scan = spmv__scan_begin(text, column, hooks);
    spmv_builder builder;
    spmv_status s;
    memset(&maker, 0, sizeof maker);
    memset(plan, 0, sizeof *plan);
    scan.builders = 1;
    builder = spmv__begin_builder(&scan);
    if (builder == SPMV_BUILDER_COUNT) {
        s = spmv__parse_parts(&scan, plan);
        if (s) memset(plan, 0, sizeof *plan);
        return s;
    }
    if (!a) return spmv__null(hooks, "spmv_plan_make", "a", NULL, 0);
    maker.a = a;
    maker.hints = hints;
    maker.hooks = hooks;
    maker.plan = plan;
    s = spmv__parse_builder(&scan, builder, maker.key);
    if (!s) s = spmv__run_builder(&maker, builder);
    if (s) memset(plan, 0, sizeof *plan);
    return s;
}

#endif
