/* SPDX-License-Identifier: MIT
 *
 * spmv/plan/grammar.h - plans from and to text.
 */
#ifndef SPMV__PLAN_GRAMMAR_H
#define SPMV__PLAN_GRAMMAR_H

#include "../plan.h"
#include "../host.h"

/* ---- lanes by default ---------------------------------------------------------------------------------------------- */

enum { /* of the default of knob L */
    SPMV__LANES_SIDE_BY_SIDE = 32, SPMV__LANES_APART = 8, /* the most lanes */
    SPMV__LANE_BATCH = 4,        /* entries that a lane of csr without runs loads at once by default (knob UNROLL), and of ell and sell
                                    where rows leave much of a GPU idle; twice as many where all lanes run, for the sake of long rows */
    SPMV__LANE_ENTRIES = 4,      /* in other formats than csr, lanes are added to fill a GPU while each has so many entries or more */
    SPMV__LANES_BLOCK = 9,       /* elements: larger blocks count as so many */
    SPMV__UNIT_ITEMS = 2048,     /* work-items that run at once on a compute unit of a GPU, in work-groups of */
    SPMV__UNIT_GROUP = 64        /* so many or more */
};

/* How many lanes share a row: 32 at most where they read its entries side by side, else 8. Side by side, the mean length of a block row
 * decides: in csr, the smallest power of two with SPMV__LANE_BATCH L >= mean; in other formats the smallest with 2 L^2 >= mean, counted in
 * blocks, or in 9 elements where blocks are larger. Then, for all, their number is doubled as long as all work-groups still run at the same
 * time and each lane had 4 entries before, in csr more than two; with work-groups of 32 only half as many work-items run at the same time.
 * ([M9] of docs/measurements.md)
 *   block_rows  rows, block rows or strips; mean: entries in each; block: the elements of a block, 1 without blocks
 *   units       compute units of the device; group: work-items of a work-group */
SPMV__SHARED uint64_t spmv__lanes_by_default(spmv__lane_rule rule, uint64_t block_rows, uint64_t mean, uint64_t block, uint64_t units,
                                             uint64_t group)
{
    const int by_length = rule == SPMV__LANES_BY_LENGTH, by_batch = rule == SPMV__LANES_BY_BATCH;
    uint64_t most = by_length || by_batch ? (uint64_t)SPMV__LANES_SIDE_BY_SIDE : (uint64_t)SPMV__LANES_APART;
    uint64_t unit = spmv__smaller(block, SPMV__LANES_BLOCK), fill = units * SPMV__UNIT_ITEMS, l = 1;
    if (rule == SPMV__LANES_ONE) return 1;
    if (group < SPMV__UNIT_GROUP) fill /= 2;
    while (l < most && ((by_length && 2 * l * l * unit < mean) || (by_batch && SPMV__LANE_BATCH * l < mean))) l *= 2;
    while (l < most && 2 * l * block_rows <= fill && (by_batch ? 2 * l < mean : SPMV__LANE_ENTRIES * l * block <= mean)) l *= 2;
    return l;
}

/* ---- grammar ----------------------------------------------------------------------------------------------------- */

enum { SPMV__INT, SPMV__FRAC, SPMV__BLOCK, SPMV__ROWS }; /* kinds of keys, as SPMV_KEY_LIST names them */

enum {
    SPMV__ONE       = 1000000, /* fractions are stored in millionths: this is 1 */
    SPMV__TENTH     = SPMV__ONE / 10, /* what the first decimal of a fraction counts */
    SPMV__MOST_SIDE = 255,     /* rows or columns of a block that fit the 8 bits that key b has for each */
    SPMV__WORD      = 32       /* bytes of a word with its end; longer than any name, key or number that means something */
};
#define SPMV__MOST_WHOLE ((int64_t)1 << 40) /* no key means anything beyond; far enough below 2^63 that times 10 is no overflow */

static const char *const spmv__key_names[] = {
#define X(NAME, name, kind) #name,
    SPMV_KEY_LIST(X)
#undef X
};
static const int spmv__key_kinds[] = {
#define X(NAME, name, kind) SPMV__##kind,
    SPMV_KEY_LIST(X)
#undef X
};
static const char *const spmv__rows_words[] = { "all", "nonempty", "sorted" };

/* Where the parser is in the text of a plan. */
typedef struct spmv__scan {
    const char *text, *at;
    const spmv_hooks *hooks;
    int *column;
    int builders; /* 1: the text may begin with the name of a builder */
} spmv__scan;

static int spmv__column(const spmv__scan *scan, const char *at) { return (int)(at - scan->text) + 1; }

/* Logs a fault at a place in the text, with its column and the text from there on, sets *column, and returns s. */
static spmv_status spmv__fault(const spmv__scan *scan, const char *at, spmv_status s, const char *why)
{
    char rest[25]; /* as much of the text as a message needs, and its end */
    size_t n = 0;
    for (; n < sizeof rest - 1 && at[n]; n++) rest[n] = at[n];
    rest[n] = 0;
    if (scan->column) *scan->column = spmv__column(scan, at);
    return spmv_log(scan->hooks, s, "plan \"%s\", column %d, at \"%s\": %s", scan->text, spmv__column(scan, at), rest, why);
}

static void spmv__skip_space(spmv__scan *scan)
{
    while (*scan->at == ' ' || *scan->at == '\t') scan->at++;
}

static int spmv__is_word(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') || ch == '-' || ch == '.'; }

/* Copies the next word into out and returns its length, 0 if there is none. A word that does not fit becomes "-", which is valid
 * nowhere; cut off, it might be taken for a shorter one. */
static size_t spmv__word(spmv__scan *scan, char *out, size_t size)
{
    size_t n = 0;
    spmv__skip_space(scan);
    for (; spmv__is_word(*scan->at); scan->at++, n++)
        if (n + 1 < size) out[n] = *scan->at;
    if (n >= size) {
        out[0] = '-';
        n = 1;
    }
    out[n] = 0;
    return n;
}

SPMV__APART int spmv__accept(spmv__scan *scan, char ch)
{
    spmv__skip_space(scan);
    if (*scan->at != ch) return 0;
    scan->at++;
    return 1;
}

static int spmv__is_digit(char ch) { return ch >= '0' && ch <= '9'; }

/* Reads a whole number at p and returns what follows it; NULL if there is none or it is above SPMV__MOST_WHOLE. */
static const char *spmv__whole(const char *p, int64_t *v)
{
    *v = 0;
    if (!spmv__is_digit(*p)) return NULL;
    for (; spmv__is_digit(*p); p++) {
        *v = *v * 10 + (*p - '0');
        if (*v > SPMV__MOST_WHOLE) return NULL;
    }
    return p;
}

/* Reads a fraction that p consists of, with up to six decimals; further ones are dropped. 1 and *v in millionths, or 0. */
static int spmv__fraction(const char *p, int64_t *v)
{
    const int64_t most = 1000000; /* above any fraction and percentage, and times SPMV__ONE no overflow */
    int64_t unit = SPMV__TENTH;
    p = spmv__whole(p, v);
    if (!p || *v > most) return 0;
    *v *= SPMV__ONE;
    if (*p == '.')
        for (p++; spmv__is_digit(*p) && unit; p++, unit /= 10) *v += (*p - '0') * unit;
    return !*p;
}

/* Reads the value of a key of that kind, which must be all of p. 1 and *v as spmv_spec holds it, or 0. */
static int spmv__key_value(int kind, const char *p, int64_t *v)
{
    int64_t rows;
    switch (kind) {
    case SPMV__INT:
        p = spmv__whole(p, v);
        return p && !*p;
    case SPMV__FRAC:
        return spmv__fraction(p, v);
    case SPMV__BLOCK:
        p = spmv__whole(p, &rows);
        if (!p || *p != 'x' || rows > SPMV__MOST_SIDE) return 0;
        p = spmv__whole(p + 1, v);
        if (!p || *p || *v > SPMV__MOST_SIDE) return 0;
        *v += rows << 8;
        return 1;
    default:
        for (*v = 0; *v <= SPMV_ROWS_SORTED; ++*v)
            if (!strcmp(p, spmv__rows_words[*v])) return 1;
        return 0;
    }
}

static const char *spmv__key_form(int kind)
{
    return kind == SPMV__INT ? "expected a whole number" : kind == SPMV__FRAC ? "expected a fraction with at most six decimals"
         : kind == SPMV__BLOCK ? "expected a block size such as 4x4" : "expected all, nonempty or sorted";
}

/* The reason why the value of key k is invalid whatever the other keys are, so that the message can point at it; NULL: it is valid. */
static const char *spmv__value_fault(const spmv_spec *spec, int k)
{
    spmv_spec one;
    const char *why;
    memset(&one, 0, sizeof one);
    one.format = spec->format;
    one.key[k] = spec->key[k];
    if (k == SPMV_KEY_SIGMA) one.key[SPMV_KEY_ROWS] = SPMV_ROWS_SORTED; /* what these two need is checked with the part */
    if (k == SPMV_KEY_IDX && spec->format == SPMV_CSR) one.key[SPMV_KEY_RUN] = 1024; /* any valid run */
    return spmv__spec_check(&one, &why) == SPMV_ERR_ARGUMENT ? why : NULL;
}

/* Reports a key that the format does not have, with those that it has. */
SPMV__APART spmv_status spmv__no_such_key(const spmv__scan *scan, const char *at, spmv_format format, const char *why)
{
    char text[160]; /* why and the names of all keys */
    size_t n = spmv_print(text, sizeof text, "%s; %s has ", why, spmv_format_name(format));
    int k, some = 0;
    for (k = 0; k < SPMV_KEY_COUNT && n < sizeof text; k++)
        if (spmv__format_takes_key(format, (spmv_key)k))
            n += spmv_print(text + n, sizeof text - n, "%s%s", some++ ? ", " : "", spmv__key_names[k]);
    return spmv__fault(scan, at, SPMV_ERR_PLAN, text);
}

/* Reports a word where a part must begin that is no name of a format, with the names of the formats in this build, and of the builders
 * and choices where one may stand. */
SPMV__APART spmv_status spmv__no_such_format(const spmv__scan *scan, const char *at)
{
    char text[400]; /* the names of all formats and builders; those of many further formats are cut off */
    size_t n = spmv_print(text, sizeof text, "expected the name of a format");
    int i, some = 0, begins = scan->builders && at == scan->text + strspn(scan->text, " \t");
    for (i = 0; i < SPMV_FORMAT_COUNT && n < sizeof text; i++)
        if (spmv_format_built((spmv_format)i))
            n += spmv_print(text + n, sizeof text - n, "%s%s", some++ ? ", " : ": ", spmv_format_name((spmv_format)i));
    for (i = 0; i < SPMV_BUILDER_COUNT && n < sizeof text && begins; i++)
        n += spmv_print(text + n, sizeof text - n, "%s%s", i ? ", " : "; or of a builder: ", spmv_builder_name((spmv_builder)i));
#ifndef SPMV_NO_AUTO
    if (n < sizeof text && begins) spmv_print(text + n, sizeof text - n, "; auto, measure and cocktail choose a plan (spmv/choice.h)");
#endif
    return spmv__fault(scan, at, SPMV_ERR_PLAN, text);
}

/* Parses key "=" value into spec, whose format is known. seen: bits of the keys that were given before. */
static spmv_status spmv__parse_key(spmv__scan *scan, spmv_spec *spec, unsigned *seen)
{
    char word[SPMV__WORD];
    const char *at, *why;
    int k = 0;
    spmv__skip_space(scan);
    at = scan->at;
    if (!spmv__word(scan, word, sizeof word)) return spmv__fault(scan, at, SPMV_ERR_PLAN, "expected a key");
    while (k < SPMV_KEY_COUNT && strcmp(word, spmv__key_names[k]) != 0) k++;
    if (k == SPMV_KEY_COUNT) return spmv__no_such_key(scan, at, spec->format, "there is no such key");
    if (!spmv__format_takes_key(spec->format, (spmv_key)k)) return spmv__no_such_key(scan, at, spec->format, "the format has no such key");
    if (*seen >> k & 1u) return spmv__fault(scan, at, SPMV_ERR_PLAN, "the key is given twice");
    *seen |= 1u << k;
    if (!spmv__accept(scan, '=')) return spmv__fault(scan, scan->at, SPMV_ERR_PLAN, "expected \"=\"");
    spmv__skip_space(scan);
    at = scan->at;
    spmv__word(scan, word, sizeof word);
    if (!spmv__key_value(spmv__key_kinds[k], word, &spec->key[k]))
        return spmv__fault(scan, at, SPMV_ERR_PLAN, spmv__key_form(spmv__key_kinds[k]));
    why = spmv__value_fault(spec, k);
    return why ? spmv__fault(scan, at, SPMV_ERR_PLAN, why) : SPMV_OK;
}

/* Parses one part, its format and its keys, and checks it. */
static spmv_status spmv__parse_part(spmv__scan *scan, spmv_spec *spec)
{
    char word[SPMV__WORD];
    const char *at, *why;
    unsigned seen = 0;
    spmv_status s;
    spmv__skip_space(scan);
    at = scan->at;
    spmv__word(scan, word, sizeof word);
    spec->format = spmv_format_from(word);
    if (spec->format == SPMV_FORMAT_COUNT) return spmv__no_such_format(scan, at);
    if (spmv__accept(scan, ':')) {
        do {
            s = spmv__parse_key(scan, spec, &seen);
            if (s) return s;
        } while (spmv__accept(scan, ','));
    }
    s = spmv__spec_check(spec, &why);
    return s ? spmv__fault(scan, at, s == SPMV_ERR_ARGUMENT ? SPMV_ERR_PLAN : s, why) : SPMV_OK;
}

/* Behind the last part there may only be blanks. */
static spmv_status spmv__parse_end(spmv__scan *scan)
{
    spmv__skip_space(scan);
    if (!*scan->at) return SPMV_OK;
    if (*scan->at == '/') return spmv__fault(scan, scan->at, SPMV_ERR_PLAN, "knobs are no part of a plan; see spmv_desc.variant");
    return spmv__fault(scan, scan->at, SPMV_ERR_PLAN, "expected \"+\", \",\", \":\" or the end");
}

/* Parses all parts up to the end of the text and appends them to a plan. */
static spmv_status spmv__parse_parts(spmv__scan *scan, spmv_plan *plan)
{
    spmv_status s = SPMV_OK;
    do {
        if (plan->count == SPMV_MAX_PARTS) s = spmv__fault(scan, scan->at, SPMV_ERR_PLAN, "too many parts");
        else s = spmv__parse_part(scan, &plan->part[plan->count++]);
    } while (!s && spmv__accept(scan, '+'));
    return s ? s : spmv__parse_end(scan);
}

/* Begins to read a text; *column becomes 0. */
SPMV__SHARED spmv__scan spmv__scan_begin(const char *text, int *column, const spmv_hooks *hooks)
{
    spmv__scan scan;
    memset(&scan, 0, sizeof scan);
    scan.text = scan.at = text;
    scan.hooks = hooks;
    scan.column = column;
    if (column) *column = 0;
    return scan;
}

SPMV_API spmv_status spmv_plan_parse(spmv_plan *plan, const char *text, int *column, const spmv_hooks *hooks)
{
    if (!plan || !text) {
        if (column) *column = 0;
        return spmv__null(hooks, "spmv_plan_parse", plan ? "text" : "plan", plan, sizeof *plan);
    }
    spmv__scan scan = spmv__scan_begin(text, column, hooks);
    spmv_status s;
    memset(plan, 0, sizeof *plan);
    s = spmv__parse_parts(&scan, plan);
    if (s) memset(plan, 0, sizeof *plan);
    return s;
}

static void spmv__put_fraction(spmv__text *text, int64_t millionths)
{
    int64_t rest = millionths % SPMV__ONE, unit = SPMV__TENTH;
    spmv__put_count(text, (uint64_t)(millionths / SPMV__ONE));
    if (rest) spmv__put_char(text, '.');
    for (; rest; rest %= unit, unit /= 10) spmv__put_char(text, (int)('0' + rest / unit));
}

/* Writes key=value so that spmv__key_value reads the same value again. */
static void spmv__put_key(spmv__text *text, int k, int64_t v)
{
    spmv__put_text(text, spmv__key_names[k]);
    spmv__put_char(text, '=');
    switch (spmv__key_kinds[k]) {
    case SPMV__INT: spmv__put_count(text, (uint64_t)v); break;
    case SPMV__FRAC: spmv__put_fraction(text, v); break;
    case SPMV__BLOCK:
        spmv__put_count(text, (uint64_t)v >> 8);
        spmv__put_char(text, 'x');
        spmv__put_count(text, (uint64_t)v & SPMV__MOST_SIDE);
        break;
    default: spmv__put_text(text, spmv__rows_words[v]);
    }
}

static size_t spmv__text_close(spmv__text *text)
{
    if (text->size) text->out[text->length < text->size ? text->length : text->size - 1] = 0;
    return text->length;
}

/* Writes a part as in the text of a plan. */
static void spmv__put_spec(spmv__text *text, const spmv_spec *spec)
{
    char mark = ':';
    int k;
    spmv__put_text(text, spmv_format_name(spec->format));
    for (k = 0; k < SPMV_KEY_COUNT; k++)
        if (spec->key[k]) {
            spmv__put_char(text, mark);
            spmv__put_key(text, k, spec->key[k]);
            mark = ',';
        }
}

/* Writes parts as in the text of a plan. */
static void spmv__put_parts(spmv__text *text, const spmv_spec *part, int count)
{
    int i;
    for (i = 0; i < count; i++) {
        if (i) spmv__put_char(text, '+');
        spmv__put_spec(text, &part[i]);
    }
}

/* Writes parts as the text of a plan. */
SPMV__APART size_t spmv__print_parts(const spmv_spec *part, int count, char *out, size_t size)
{
    spmv__text text;
    spmv__text_open(&text, out, size);
    spmv__put_parts(&text, part, count);
    return spmv__text_close(&text);
}

SPMV_API size_t spmv_plan_print(const spmv_plan *plan, char *out, size_t size)
{
    return spmv__print_parts(plan ? plan->part : NULL, plan ? plan->count : 0, out, size);
}

/* Refuses a format with fill, of part number i, for strict mode. */
SPMV__SHARED spmv_status spmv__strict_check(const spmv_spec *spec, int i, const spmv_hooks *hooks)
{
    if (!(spmv_format_flags(spec->format) & SPMV_HAS_FILL)) return SPMV_OK;
    return spmv_log(hooks, SPMV_ERR_STRICT, "part %d: %s multiplies its fill by x, which strict mode excludes", i + 1,
                    spmv_format_name(spec->format));
}

/* Checks every part by spmv__spec_check and, if strict is 1, that no part has a format with fill (SPMV_ERR_STRICT). */
SPMV__SHARED spmv_status spmv__plan_check(const spmv_plan *plan, int strict, const spmv_hooks *hooks)
{
    int i;
    if (plan->count < 1 || plan->count > SPMV_MAX_PARTS)
        return spmv_log(hooks, SPMV_ERR_PLAN, "a plan has 1 .. %d parts, not %d", (int)SPMV_MAX_PARTS, plan->count);
    for (i = 0; i < plan->count; i++) {
        const char *why;
        spmv_status s = spmv__spec_check(&plan->part[i], &why);
        if (s) return spmv_log(hooks, s, "part %d, %s: %s", i + 1, spmv_format_name(plan->part[i].format), why);
        if (strict) s = spmv__strict_check(&plan->part[i], i, hooks);
        if (s) return s;
    }
    return SPMV_OK;
}

#endif
