/* SPDX-License-Identifier: MIT
 *
 * spmv_plan.h - plans: how a matrix is divided into parts, and in which format each part is stored.
 *
 * A plan is an ordered list of parts; each takes its nonzeros from those that the earlier parts left. Its text form is
 *
 *     plan := part ("+" part)*        part := name [":" key "=" value ("," key "=" value)*]
 *
 * with the format names and keys of spmv_formats.h: "ell:w=5+coo", "bdia:d=0.6+sbell:b=4x4,d=0.5+csr:rows=nonempty".
 * Blanks are allowed around every word. The text and the matrix alone determine which part takes which nonzero.
 *
 * A builder makes a plan for a matrix: hyb, hyb-csr, hybr, cmrs, panels. Functions that take a plan as text accept the name of a builder
 * as well, with keys of its own: "hybr:k=3,x=1".
 *
 * The interface comes in three tiers:
 *     start here   spmv_plan and its text, spmv_plan_make
 *     more         the stored parts of a matrix on the host (spmv_store), builders
 *     for tools    which part owns which nonzero (spmv_split)
 *
 * If you only want the interface, stop at "END OF THE INTERFACE".
 */
/* Above the guard: the bodies may be wanted although the interface was seen. What is complete is not read again. */
#if !defined(SPMV_HOST_H) || (defined(SPMV_IMPLEMENTATION) && !defined(SPMV_HOST_IMPLEMENTED))
#include "spmv_host.h"
#endif
#ifndef SPMV_PLAN_H
#define SPMV_PLAN_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- start here --------------------------------------------------------------------------------------------------- */

enum { SPMV_MAX_PARTS = 64, SPMV_PLAN_TEXT = 8192 /* bytes that hold the text of any plan and the 0 at its end */ };

typedef struct spmv_plan {
    int       count; /* parts, 1 .. SPMV_MAX_PARTS */
    spmv_spec part[SPMV_MAX_PARTS];
} spmv_plan;

/* Seconds that one product by this plan takes, for builders that try several; negative if it cannot run.
 *   user     measure_user of spmv_build_hints
 *   plan     the plan to be measured
 *   variant  knobs of its kernels as text, part by part ("L=8+WG=128", "" for the defaults; spmv_device.h); ignore it on the host */
typedef double (*spmv_measure)(void *user, const spmv_plan *plan, const char *variant);

/* Seconds since some moment, by a clock that never goes back. user: clock_user of spmv_build_hints. */
typedef double (*spmv_clock)(void *user);

/* Products that are expected if the hints do not say how many: an iterative solver, or a few of them. */
enum { SPMV_EXPECTED_CALLS = 1000 };

/* What builders and the choice of spmv_auto.h may use. Zero-initialise; zero is the default of every member. */
typedef struct spmv_build_hints {
    spmv_measure measure; /* hybr:k=0 needs it, and cmrs then takes the height that is fastest; NULL: nothing is measured */
    void        *measure_user;   /* handed to measure */
    spmv_clock   clock;          /* plan "measure" on the host: NULL: the clock of OpenMP if the library is compiled with it, else the time
                                    that the processors spent on the program */
    void        *clock_user;     /* handed to clock */
    uint64_t     expected_calls; /* auto, measure: the number of products in which analysis and conversion must pay off; 0:
                                    SPMV_EXPECTED_CALLS */
    unsigned     without;        /* auto, measure, cocktail: bits such as 1u << SPMV_DIA of formats that must not be used;
                                    SPMV_ERR_UNSUPPORTED if no other may be. A plan or builder that is named is used as it is */
    const struct spmv_tuning *tuning; /* auto, measure, cocktail: the caller's table (spmv_table.h). NULL: the bundled one for the device,
                                         which is read once for each device, and on the host again for each matrix, in less than 0.1 ms */
    struct spmv_choice *choice;  /* spmv_create writes here how it chose, for spmv_explain (spmv_auto.h), where there was a choice; NULL: it
                                    is not kept */
} spmv_build_hints;

/* Makes a plan for a matrix from text.
 *   plan    becomes the plan; on failure it is zeroed
 *   text    the text of a plan, which is only parsed, or the name of a builder with its keys:
 *             hyb, hyb-csr  rows=N    column k is taken while at least max(rows, M/3) of the M rows reach it; default 4096
 *             hybr          x=P       split until COO holds under P percent of the nonzeros; default 0.5
 *                           k=0..4    how the width K of a level is chosen: 1 (default) as hyb does; 2 the floor, 4 the ceiling of the
 *                                     mean row length; 3 while nonzeros fill over a third of the ELL part; 0 by measuring every K
 *                           rows=N    stop as well where fewer rows are left; default 4096
 *                           levels=N  at most N levels of ELL; default 0: no limit but SPMV_MAX_PARTS
 *             cmrs          (no keys) of the strip heights 2, 4, 8 and 16, the one that hints->measure finds fastest; without it the
 *                                     one with which the fewest bytes are read, where columns come in sectors of 32 bytes and a
 *                                     greater height must save 5%
 *             panels        n=N       the columns are divided into N panels, 1 .. SPMV_MAX_PARTS, which are multiplied one after another,
 *                                     so that a cache need hold only the elements of x of one; default 2. Each is as wide as a panel of
 *                                     an N-th of the columns, rounded up, so that there may be fewer. The plan of each panel may follow
 *                                     behind ":", as in "panels:n=4:ell:w=3+csr"; default: csr. Where fewer than half of the rows have
 *                                     nonzeros in a panel, its parts get rows=nonempty, unless their format cannot follow a row list or
 *                                     the key rows was given
 *   a       the matrix; may be NULL for the text of a plan
 *   hints   what the builder may use; may be NULL
 *   column  the 1-based column of the fault in text; 0 if the text is not at fault. May be NULL
 *   hooks   may be NULL
 * SPMV_ERR_PLAN, SPMV_ERR_UNSUPPORTED, SPMV_ERR_MEMORY; SPMV_ERR_ARGUMENT where hybr:k=0 has no measure. */
SPMV_API spmv_status spmv_plan_make(spmv_plan *plan, const char *text, const spmv_csr *a, const spmv_build_hints *hints,
                                    int *column, const spmv_hooks *hooks);
/* Parses the text of a plan; names of builders are not accepted here. The message names the column of a fault.
 *   plan    becomes the plan; on failure it is zeroed
 *   text    the text
 *   column  as in spmv_plan_make
 *   hooks   may be NULL */
SPMV_API spmv_status spmv_plan_parse(spmv_plan *plan, const char *text, int *column, const spmv_hooks *hooks);
/* Writes the text form, which parses to the same plan again; keys with their default value are left out. As snprintf does, it ends
 * the text with a 0 if size > 0 and returns the length of the whole text. */
SPMV_API size_t spmv_plan_print(const spmv_plan *plan, char *out, size_t size);
/* Checks every part by spmv_spec_check and, if strict is 1, that no part has a format with fill (SPMV_ERR_STRICT). */
SPMV_API spmv_status spmv_plan_check(const spmv_plan *plan, int strict, const spmv_hooks *hooks);

/* ---- more: builders -----------------------------------------------------------------------------------------------
 * X(IDENT, "name", "what it makes"). */
#define SPMV_BUILDER_LIST(X)                                                                                      \
    X(HYB,     "hyb",     "ELL for the columns that enough rows reach, COO for the rest (Bell, Garland 2009)")    \
    X(HYB_CSR, "hyb-csr", "as hyb, but the rest as CSR over non-empty rows (Grewe, Lokhmotov 2011, 5.1)")         \
    X(HYBR,    "hybr",    "several levels of ELL, each of the rows that are left, then COO (Xu et al. 2012, IV)") \
    X(CMRS,    "cmrs",    "CMRS with the strip height that suits the row lengths (Koza et al. 2013)")            \
    X(PANELS,  "panels",  "panels of adjacent columns, one after another, each by the same plan")

typedef enum spmv_builder {
#define X(ID, name, text) SPMV_BUILDER_##ID,
    SPMV_BUILDER_LIST(X)
#undef X
    SPMV_BUILDER_COUNT
} spmv_builder;

/* The name and the description of a builder; "unknown" if there is no such builder. */
SPMV_API const char *spmv_builder_name(spmv_builder b);
SPMV_API const char *spmv_builder_text(spmv_builder b);

/* ---- more: all parts of a matrix ---------------------------------------------------------------------------------- */

typedef struct spmv_store {
    spmv_plan  plan;
    spmv_type  type;
    uint64_t   rows, cols, nnz;
    int        count;                 /* parts stored: those of the plan that hold nonzeros */
    spmv_part *part;                  /* count */
    int        index[SPMV_MAX_PARTS]; /* part i of the store is part index[i] of the plan */
    char       shares[1024];          /* the text of spmv_split_print; SPMV_MAX_PARTS times "DENSE(99%)" fit */
    spmv_hooks hooks;
} spmv_store;

/* Splits a matrix by a plan and stores every part.
 *   out    need not be initialised; on failure it is zeroed. Free it with spmv_store_free
 *   plan   the plan, which is copied
 *   a      the matrix; must outlive the store only if how->borrow is 1
 *   how    as in spmv_part_build; max_bytes is for each part
 *   hooks  may be NULL
 * The message of a failure names the part. Statuses are those of spmv_split_make and spmv_part_build. */
SPMV_API spmv_status spmv_store_make(spmv_store *out, const spmv_plan *plan, const spmv_csr *a, const spmv_build *how,
                                     const spmv_hooks *hooks);
/* y = alpha A x + beta y on the host.
 *   s            the store; any number of threads may use it at the same time, each with its own y
 *   alpha, beta  with beta 0, y is not read; with alpha 0, neither is x
 *   x            s->cols elements of the vector type; may be NULL if there are none, or if alpha is 0
 *   y            s->rows elements; may be NULL if there are none. Where x is read and overlaps y: SPMV_ERR_ARGUMENT
 * Uses threads as spmv_part_mul does. Fails only where a needed pointer is NULL (SPMV_ERR_ARGUMENT). */
SPMV_API spmv_status spmv_store_mul(const spmv_store *s, double alpha, const void *x, double beta, void *y);
/* Takes the values of a, which spmv_csr_update changed. The store must have been made updatable, else SPMV_ERR_FIXED. */
SPMV_API spmv_status spmv_store_update(spmv_store *s, const spmv_csr *a);
SPMV_API void spmv_store_free(spmv_store *s);
/* Bytes that a product reads of all parts, and their slots: stored elements, padding and fill included. */
SPMV_API uint64_t spmv_store_bytes(const spmv_store *s);
SPMV_API uint64_t spmv_store_slots(const spmv_store *s);

/* ---- for tools: splitting -----------------------------------------------------------------------------------------
 * Which part owns which nonzero, and the row list of each part: the meaning of a plan for one matrix. */
typedef struct spmv_split {
    int        count;                 /* parts */
    uint8_t   *owner;                 /* one byte for each nonzero, the number of its part; NULL: all belong to part 0 */
    uint32_t  *list[SPMV_MAX_PARTS];  /* row lists; NULL: all rows in order */
    uint64_t   rows[SPMV_MAX_PARTS];  /* rows of each part: of its list, or of the matrix */
    uint64_t   nnz[SPMV_MAX_PARTS];   /* nonzeros of each part */
    spmv_hooks hooks;
} spmv_split;

/* Assigns every nonzero to a part.
 *   out    need not be initialised; on failure it is zeroed. Free it with spmv_split_free
 *   plan   the plan
 *   a      the matrix
 *   hooks  may be NULL
 * SPMV_ERR_INCOMPLETE if the last part leaves nonzeros; the statuses of spmv_plan_check; SPMV_ERR_MEMORY. */
SPMV_API spmv_status spmv_split_make(spmv_split *out, const spmv_plan *plan, const spmv_csr *a, const spmv_hooks *hooks);
SPMV_API void spmv_split_free(spmv_split *s);
/* The view of part i, for spmv_part_build; it points into s and a. Zeroed if there is no part i. */
SPMV_API spmv_view spmv_split_view(const spmv_split *s, const spmv_csr *a, int i);
/* Writes the shares of the nonzeros in the papers' notation, "ELL(81%)COO(19%)", without parts that hold none.
 *   s, plan    a split and the plan it was made by
 *   out, size  as in spmv_plan_print */
SPMV_API size_t spmv_split_print(const spmv_split *s, const spmv_plan *plan, char *out, size_t size);
/* 1 if a product with the part sets every row of y, so that it can apply beta itself when it is multiplied first. */
SPMV_API int spmv_part_covers(const spmv_part *p, uint64_t matrix_rows);

#ifdef __cplusplus
}
#endif
#endif /* SPMV_PLAN_H */
/* ============================================ END OF THE INTERFACE ============================================== */

#if defined(SPMV_IMPLEMENTATION) && !defined(SPMV_PLAN_IMPLEMENTED)
#define SPMV_PLAN_IMPLEMENTED

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
 * (H200, f64: ell:idx=16 on clspmv_harbor L=1 25 us, 4 11; bcsr:b=3x3 on clspmv_spheres L=4 14.6 us, 8 17.2; bcsr:b=6x6 on
 * clspmv_wind_tunnel L=4 49 us, 8 36. H100, csr without runs, 31 matrices: 0.83 of the time of both the former rule, 2 L^2 >= mean, and
 * kernel in f64, 0.84 in f32.)
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
    const spmv_hooks *h;
    int *column;
    int builders; /* 1: the text may begin with the name of a builder */
} spmv__scan;

static int spmv__column(const spmv__scan *c, const char *at) { return (int)(at - c->text) + 1; }

/* Logs a fault at a place in the text, with its column and the text from there on, sets *column, and returns s. */
static spmv_status spmv__fault(const spmv__scan *c, const char *at, spmv_status s, const char *why)
{
    char rest[25]; /* as much of the text as a message needs, and its end */
    size_t n = 0;
    for (; n < sizeof rest - 1 && at[n]; n++) rest[n] = at[n];
    rest[n] = 0;
    if (c->column) *c->column = spmv__column(c, at);
    return spmv_log(c->h, s, "plan \"%s\", column %d, at \"%s\": %s", c->text, spmv__column(c, at), rest, why);
}

static void spmv__skip_space(spmv__scan *c)
{
    while (*c->at == ' ' || *c->at == '\t') c->at++;
}

static int spmv__is_word(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') || ch == '-' || ch == '.'; }

/* Copies the next word into out and returns its length, 0 if there is none. A word that does not fit becomes "-", which is valid
 * nowhere; cut off, it might be taken for a shorter one. */
static size_t spmv__word(spmv__scan *c, char *out, size_t size)
{
    size_t n = 0;
    spmv__skip_space(c);
    for (; spmv__is_word(*c->at); c->at++, n++)
        if (n + 1 < size) out[n] = *c->at;
    if (n >= size) {
        out[0] = '-';
        n = 1;
    }
    out[n] = 0;
    return n;
}

static int spmv__accept(spmv__scan *c, char ch)
{
    spmv__skip_space(c);
    if (*c->at != ch) return 0;
    c->at++;
    return 1;
}

static int spmv__is_digit(char ch) { return ch >= '0' && ch <= '9'; }

/* Reads a whole number at w and returns what follows it; NULL if there is none or it is above SPMV__MOST_WHOLE. */
static const char *spmv__whole(const char *w, int64_t *v)
{
    *v = 0;
    if (!spmv__is_digit(*w)) return NULL;
    for (; spmv__is_digit(*w); w++) {
        *v = *v * 10 + (*w - '0');
        if (*v > SPMV__MOST_WHOLE) return NULL;
    }
    return w;
}

/* Reads a fraction that w consists of, with up to six decimals; further ones are dropped. 1 and *v in millionths, or 0. */
static int spmv__fraction(const char *w, int64_t *v)
{
    const int64_t most = 1000000; /* above any fraction and percentage, and times SPMV__ONE no overflow */
    int64_t unit = SPMV__TENTH;
    w = spmv__whole(w, v);
    if (!w || *v > most) return 0;
    *v *= SPMV__ONE;
    if (*w == '.')
        for (w++; spmv__is_digit(*w) && unit; w++, unit /= 10) *v += (*w - '0') * unit;
    return !*w;
}

/* Reads the value of a key of that kind, which must be all of w. 1 and *v as spmv_spec holds it, or 0. */
static int spmv__key_value(int kind, const char *w, int64_t *v)
{
    int64_t rows;
    switch (kind) {
    case SPMV__INT:
        w = spmv__whole(w, v);
        return w && !*w;
    case SPMV__FRAC:
        return spmv__fraction(w, v);
    case SPMV__BLOCK:
        w = spmv__whole(w, &rows);
        if (!w || *w != 'x' || rows > SPMV__MOST_SIDE) return 0;
        w = spmv__whole(w + 1, v);
        if (!w || *w || *v > SPMV__MOST_SIDE) return 0;
        *v += rows << 8;
        return 1;
    default:
        for (*v = 0; *v <= SPMV_ROWS_SORTED; ++*v)
            if (!strcmp(w, spmv__rows_words[*v])) return 1;
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
    return spmv_spec_check(&one, &why) == SPMV_ERR_ARGUMENT ? why : NULL;
}

/* Reports a key that the format does not have, with those that it has. */
SPMV__APART spmv_status spmv__no_such_key(const spmv__scan *c, const char *at, spmv_format f, const char *why)
{
    char text[160]; /* why and the names of all keys */
    size_t n = spmv_print(text, sizeof text, "%s; %s has ", why, spmv_format_name(f));
    int k, some = 0;
    for (k = 0; k < SPMV_KEY_COUNT && n < sizeof text; k++)
        if (spmv_format_takes_key(f, (spmv_key)k))
            n += spmv_print(text + n, sizeof text - n, "%s%s", some++ ? ", " : "", spmv__key_names[k]);
    return spmv__fault(c, at, SPMV_ERR_PLAN, text);
}

/* Reports a word where a part must begin that is no name of a format, with the names of the formats in this build, and of the builders
 * and choices where one may stand. */
SPMV__APART spmv_status spmv__no_such_format(const spmv__scan *c, const char *at)
{
    char text[400]; /* the names of all formats and builders; those of many further formats are cut off */
    size_t n = spmv_print(text, sizeof text, "expected the name of a format");
    int i, some = 0, begins = c->builders && at == c->text + strspn(c->text, " \t");
    for (i = 0; i < SPMV_FORMAT_COUNT && n < sizeof text; i++)
        if (spmv_format_built((spmv_format)i))
            n += spmv_print(text + n, sizeof text - n, "%s%s", some++ ? ", " : ": ", spmv_format_name((spmv_format)i));
    for (i = 0; i < SPMV_BUILDER_COUNT && n < sizeof text && begins; i++)
        n += spmv_print(text + n, sizeof text - n, "%s%s", i ? ", " : "; or of a builder: ", spmv_builder_name((spmv_builder)i));
#ifndef SPMV_NO_AUTO
    if (n < sizeof text && begins) spmv_print(text + n, sizeof text - n, "; auto, measure and cocktail choose a plan (spmv_auto.h)");
#endif
    return spmv__fault(c, at, SPMV_ERR_PLAN, text);
}

/* Parses key "=" value into spec, whose format is known. seen: bits of the keys that were given before. */
static spmv_status spmv__parse_key(spmv__scan *c, spmv_spec *spec, unsigned *seen)
{
    char word[SPMV__WORD];
    const char *at, *why;
    int k = 0;
    spmv__skip_space(c);
    at = c->at;
    if (!spmv__word(c, word, sizeof word)) return spmv__fault(c, at, SPMV_ERR_PLAN, "expected a key");
    while (k < SPMV_KEY_COUNT && strcmp(word, spmv__key_names[k]) != 0) k++;
    if (k == SPMV_KEY_COUNT) return spmv__no_such_key(c, at, spec->format, "there is no such key");
    if (!spmv_format_takes_key(spec->format, (spmv_key)k)) return spmv__no_such_key(c, at, spec->format, "the format has no such key");
    if (*seen >> k & 1u) return spmv__fault(c, at, SPMV_ERR_PLAN, "the key is given twice");
    *seen |= 1u << k;
    if (!spmv__accept(c, '=')) return spmv__fault(c, c->at, SPMV_ERR_PLAN, "expected \"=\"");
    spmv__skip_space(c);
    at = c->at;
    spmv__word(c, word, sizeof word);
    if (!spmv__key_value(spmv__key_kinds[k], word, &spec->key[k]))
        return spmv__fault(c, at, SPMV_ERR_PLAN, spmv__key_form(spmv__key_kinds[k]));
    why = spmv__value_fault(spec, k);
    return why ? spmv__fault(c, at, SPMV_ERR_PLAN, why) : SPMV_OK;
}

/* Parses one part, its format and its keys, and checks it. */
static spmv_status spmv__parse_part(spmv__scan *c, spmv_spec *spec)
{
    char word[SPMV__WORD];
    const char *at, *why;
    unsigned seen = 0;
    spmv_status s;
    spmv__skip_space(c);
    at = c->at;
    spmv__word(c, word, sizeof word);
    spec->format = spmv_format_from(word);
    if (spec->format == SPMV_FORMAT_COUNT) return spmv__no_such_format(c, at);
    if (spmv__accept(c, ':')) {
        do {
            s = spmv__parse_key(c, spec, &seen);
            if (s) return s;
        } while (spmv__accept(c, ','));
    }
    s = spmv_spec_check(spec, &why);
    return s ? spmv__fault(c, at, s == SPMV_ERR_ARGUMENT ? SPMV_ERR_PLAN : s, why) : SPMV_OK;
}

/* Parses all parts up to the end of the text and appends them to a plan. */
static spmv_status spmv__parse_parts(spmv__scan *c, spmv_plan *plan)
{
    spmv_status s = SPMV_OK;
    do {
        if (plan->count == SPMV_MAX_PARTS) s = spmv__fault(c, c->at, SPMV_ERR_PLAN, "too many parts");
        else s = spmv__parse_part(c, &plan->part[plan->count++]);
    } while (!s && spmv__accept(c, '+'));
    spmv__skip_space(c);
    if (!s && *c->at == '/') return spmv__fault(c, c->at, SPMV_ERR_PLAN, "knobs are no part of a plan; see spmv_desc.variant");
    if (!s && *c->at) s = spmv__fault(c, c->at, SPMV_ERR_PLAN, "expected \"+\", \",\", \":\" or the end");
    return s;
}

/* Begins to read a text; *column becomes 0. */
SPMV__SHARED spmv__scan spmv__scan_begin(const char *text, int *column, const spmv_hooks *h)
{
    spmv__scan c;
    memset(&c, 0, sizeof c);
    c.text = c.at = text;
    c.h = h;
    c.column = column;
    if (column) *column = 0;
    return c;
}

SPMV_API spmv_status spmv_plan_parse(spmv_plan *plan, const char *text, int *column, const spmv_hooks *hooks)
{
    if (!plan || !text) {
        if (column) *column = 0;
        return spmv__null(hooks, "spmv_plan_parse", plan ? "text" : "plan", plan, sizeof *plan);
    }
    spmv__scan c = spmv__scan_begin(text, column, hooks);
    spmv_status s;
    memset(plan, 0, sizeof *plan);
    s = spmv__parse_parts(&c, plan);
    if (s) memset(plan, 0, sizeof *plan);
    return s;
}

static void spmv__put_fraction(spmv__text *t, int64_t millionths)
{
    int64_t rest = millionths % SPMV__ONE, unit = SPMV__TENTH;
    spmv__put_count(t, (uint64_t)(millionths / SPMV__ONE));
    if (rest) spmv__put_char(t, '.');
    for (; rest; rest %= unit, unit /= 10) spmv__put_char(t, (int)('0' + rest / unit));
}

/* Writes key=value so that spmv__key_value reads the same value again. */
static void spmv__put_key(spmv__text *t, int k, int64_t v)
{
    spmv__put_text(t, spmv__key_names[k]);
    spmv__put_char(t, '=');
    switch (spmv__key_kinds[k]) {
    case SPMV__INT: spmv__put_count(t, (uint64_t)v); break;
    case SPMV__FRAC: spmv__put_fraction(t, v); break;
    case SPMV__BLOCK:
        spmv__put_count(t, (uint64_t)v >> 8);
        spmv__put_char(t, 'x');
        spmv__put_count(t, (uint64_t)v & SPMV__MOST_SIDE);
        break;
    default: spmv__put_text(t, spmv__rows_words[v]);
    }
}

static void spmv__text_open(spmv__text *t, char *out, size_t size)
{
    t->out = out;
    t->size = size;
    t->length = 0;
}

static size_t spmv__text_close(spmv__text *t)
{
    if (t->size) t->out[t->length < t->size ? t->length : t->size - 1] = 0;
    return t->length;
}

/* Writes a part as in the text of a plan. */
static void spmv__put_spec(spmv__text *t, const spmv_spec *spec)
{
    char mark = ':';
    int k;
    spmv__put_text(t, spmv_format_name(spec->format));
    for (k = 0; k < SPMV_KEY_COUNT; k++)
        if (spec->key[k]) {
            spmv__put_char(t, mark);
            spmv__put_key(t, k, spec->key[k]);
            mark = ',';
        }
}

/* Writes parts as the text of a plan. */
static size_t spmv__print_parts(const spmv_spec *part, int count, char *out, size_t size)
{
    spmv__text t;
    int i;
    spmv__text_open(&t, out, size);
    for (i = 0; i < count; i++) {
        if (i) spmv__put_char(&t, '+');
        spmv__put_spec(&t, &part[i]);
    }
    return spmv__text_close(&t);
}

SPMV_API size_t spmv_plan_print(const spmv_plan *plan, char *out, size_t size)
{
    return spmv__print_parts(plan ? plan->part : NULL, plan ? plan->count : 0, out, size);
}

SPMV_API spmv_status spmv_plan_check(const spmv_plan *plan, int strict, const spmv_hooks *hooks)
{
    if (!plan) return spmv__null(hooks, "spmv_plan_check", "plan", NULL, 0);
    int i;
    if (plan->count < 1 || plan->count > SPMV_MAX_PARTS)
        return spmv_log(hooks, SPMV_ERR_PLAN, "a plan has 1 .. %d parts, not %d", (int)SPMV_MAX_PARTS, plan->count);
    for (i = 0; i < plan->count; i++) {
        const char *why, *name = spmv_format_name(plan->part[i].format);
        spmv_status s = spmv_spec_check(&plan->part[i], &why);
        if (s) return spmv_log(hooks, s, "part %d, %s: %s", i + 1, name, why);
        if (strict && (spmv_format_flags(plan->part[i].format) & SPMV_HAS_FILL))
            return spmv_log(hooks, SPMV_ERR_STRICT, "part %d: %s multiplies its fill by x, which strict mode excludes", i + 1, name);
    }
    return SPMV_OK;
}

/* ---- what a part takes ------------------------------------------------------------------------------------------- */

/* Owners of nonzeros that no part has taken yet, above any part's number. Those beyond the columns that a part may take are hidden from
 * it, so that it finds the others as if there were no more. */
enum { SPMV__LEFT = 255, SPMV__HIDDEN = 254 };

typedef struct spmv__splitter {
    const spmv_csr   *a;
    const spmv_spec  *spec;
    const spmv_hooks *h;
    spmv_split       *out;
    spmv_converter   *converter; /* that may look at columns which are on a device only, or NULL */
    int               part;
    uint64_t         *left;      /* nonzeros left in each row, without hidden ones; NULL: all, which one part takes */
    uint64_t          left_all;  /* in all rows, with hidden ones */
    uint64_t          shown;     /* the columns before this one are not hidden */
} spmv__splitter;

/* Gives the part nonzero k. Several threads may do so for different rows. */
static void spmv__take(const spmv__splitter *s, uint64_t row, uint64_t k, uint64_t *taken)
{
    s->out->owner[k] = (uint8_t)s->part;
    s->left[row]--;
    ++*taken;
}

static int spmv__is_left(const spmv__splitter *s, uint64_t k) { return s->out->owner[k] == SPMV__LEFT; }

/* What the shares of a part's taking have in common, and how many nonzeros each took. */
typedef struct spmv__taking {
    spmv__splitter        *s;
    const spmv__diagonals *d;           /* of diagonals: those that the part takes */
    uint64_t               bh, bw;      /* of blocks: their size; shares begin at multiples of bh rows */
    uint64_t               first, end;  /* of ell: the rows of the part, and the most entries of each to be taken */
    uint64_t               limit;
    uint64_t               shares, taken[SPMV__MOST_SHARES];
} spmv__taking;

/* The row of the matrix at which a share begins. */
static uint64_t spmv__taking_first(const spmv__taking *t, uint64_t share)
{
    const spmv_csr *a = t->s->a;
    uint64_t row = spmv__share_row(a->ptr, a->rows, share, t->shares);
    return t->bh ? spmv__smaller(spmv__round_up(row, t->bh), a->rows) : row;
}

/* Calls work for each share and adds up what they took. */
static void spmv__take_shared(spmv__taking *t, spmv__work work)
{
    spmv__splitter *s = t->s;
    uint64_t i;
    t->shares = spmv__share_count(s->a->nnz + s->a->rows);
    memset(t->taken, 0, sizeof t->taken);
    spmv__share_out(work, t, t->shares);
    for (i = 0; i < t->shares; i++) {
        s->left_all -= t->taken[i];
        s->out->nnz[s->part] += t->taken[i];
    }
}

static void spmv__take_all_share(void *job, uint64_t share)
{
    spmv__taking *t = (spmv__taking *)job;
    const spmv__splitter *s = t->s;
    uint64_t r, k, end = spmv__taking_first(t, share + 1), taken = 0;
    for (r = spmv__taking_first(t, share); r < end; r++)
        for (k = s->a->ptr[r]; s->left[r] && k < s->a->ptr[r + 1]; k++)
            if (spmv__is_left(s, k)) spmv__take(s, r, k, &taken);
    t->taken[share] = taken;
}

static void spmv__take_all(spmv__splitter *s)
{
    spmv__taking t;
    memset(&t, 0, sizeof t);
    t.s = s;
    spmv__take_shared(&t, spmv__take_all_share);
}

static uint64_t spmv__list_row(const spmv__splitter *s, uint64_t i)
{
    const uint32_t *list = s->out->list[s->part];
    return list ? list[i] : i;
}

/* Takes the first entries, up to the limit, of each row of a share of the part's rows. */
static void spmv__take_width_share(void *job, uint64_t share)
{
    spmv__taking *t = (spmv__taking *)job;
    const spmv__splitter *s = t->s;
    uint64_t n = t->end - t->first, i, k, taken = 0;
    uint64_t end = t->first + n / t->shares * (share + 1) + n % t->shares * (share + 1) / t->shares;
    for (i = t->first + n / t->shares * share + n % t->shares * share / t->shares; i < end; i++) {
        uint64_t r = spmv__list_row(s, i), most = taken + t->limit;
        for (k = s->a->ptr[r]; taken < most && s->left[r] && k < s->a->ptr[r + 1]; k++)
            if (spmv__is_left(s, k)) spmv__take(s, r, k, &taken);
    }
    t->taken[share] = taken;
}

/* Takes the first entries of each of the part's rows first .. end - 1, up to the width that keys w and fill allow. height: the rows over
 * which the part is to be filled to that fraction. */
static spmv_status spmv__take_width(spmv__splitter *s, uint64_t first, uint64_t end, uint64_t height)
{
    uint64_t limit = s->spec->key[SPMV_KEY_W] ? (uint64_t)s->spec->key[SPMV_KEY_W] : UINT64_MAX, i, longest = 0, w, reach, held = 0;
    spmv__taking t;
    int64_t fill = s->spec->key[SPMV_KEY_FILL];
    void *block;
    uint64_t *of_length;
    spmv_status status;
    for (i = first; i < end; i++)
        if (s->left[spmv__list_row(s, i)] > longest) longest = s->left[spmv__list_row(s, i)];
    if (longest < limit) limit = longest;
    if (fill) {
        status = spmv__new(s->h, &block, longest + 2, 8, 0);
        if (status) return status;
        of_length = (uint64_t *)block; /* how many rows have each length */
        for (i = first; i < end; i++) of_length[s->left[spmv__list_row(s, i)]]++;
        reach = end - first - of_length[0];
        for (w = 0; w < limit; w++) {
            held += reach;
            if ((double)held * (double)SPMV__ONE < (double)fill * (double)height * (double)(w + 1)) break;
            reach -= of_length[w + 1];
        }
        limit = w;
        spmv_free(s->h, block);
    }
    memset(&t, 0, sizeof t);
    t.s = s;
    t.first = first;
    t.end = end;
    t.limit = limit;
    if (end - first == s->out->rows[s->part]) {
        spmv__take_shared(&t, spmv__take_width_share);
    } else { /* a slice is not worth threads */
        t.shares = 1;
        spmv__take_width_share(&t, 0);
        s->left_all -= t.taken[0];
        s->out->nnz[s->part] += t.taken[0];
    }
    return SPMV_OK;
}

/* Takes what ell or sell stores: the first entries of each row, up to the width that w and fill allow all rows or each slice. */
static spmv_status spmv__take_ell(spmv__splitter *s)
{
    uint64_t rows = s->out->rows[s->part], first, h = spmv__padded_rows(s->spec, rows), end;
    spmv_status status = SPMV_OK;
    if (!s->spec->key[SPMV_KEY_W] && !s->spec->key[SPMV_KEY_FILL]) {
        spmv__take_all(s);
        return SPMV_OK;
    }
    for (first = 0; first < rows && !status; first = end) {
        end = rows - first < h ? rows : first + h;
        status = spmv__take_width(s, first, end, end - first);
    }
    return status;
}

/* The nonzeros that no part has taken yet. */
static spmv_view spmv__left_view(const spmv__splitter *s)
{
    spmv_view v;
    v.a = s->a;
    v.owner = s->out->owner;
    v.part = SPMV__LEFT;
    v.list = NULL;
    v.rows = s->a->rows;
    return v;
}

/* Of the diagonals that are left, drops those that lie in bands of fewer than w. */
static void spmv__drop_thin_bands(spmv__diagonals *d, uint64_t w)
{
    uint64_t i, begin = 0;
    for (i = 0; i <= d->count; i++) {
        if (i < d->count && d->list[i].load && (begin == i || !spmv__band_begins(d, i))) continue;
        if (i - begin < w)
            while (begin < i) spmv__diagonal_drop(d, begin++);
        begin = i < d->count && d->list[i].load ? i : i + 1;
    }
}

static void spmv__take_diagonals_share(void *job, uint64_t share)
{
    spmv__taking *t = (spmv__taking *)job;
    const spmv__splitter *s = t->s;
    uint64_t r, k, end = spmv__taking_first(t, share + 1), taken = 0;
    for (r = spmv__taking_first(t, share); r < end; r++)
        for (k = s->a->ptr[r]; s->left[r] && k < s->a->ptr[r + 1]; k++)
            if (spmv__is_left(s, k) && spmv__diagonal_stays(t->d, s->a, r, k)) spmv__take(s, r, k, &taken);
    t->taken[share] = taken;
}

/* Counts what a device has taken for the part. */
static void spmv__take_marked_share(void *job, uint64_t share)
{
    spmv__taking *t = (spmv__taking *)job;
    const spmv__splitter *s = t->s;
    uint64_t r, k, end = spmv__taking_first(t, share + 1), taken = 0;
    for (r = spmv__taking_first(t, share); r < end; r++) {
        const uint64_t before = taken;
        for (k = s->a->ptr[r]; k < s->a->ptr[r + 1]; k++) taken += (uint64_t)(s->out->owner[k] == s->part);
        s->left[r] -= taken - before;
    }
    t->taken[share] = taken;
}

/* Lists the diagonals of what is left. */
static spmv_status spmv__left_diagonals(const spmv__splitter *s, const spmv_view *left, spmv__diagonals *d)
{
    spmv_status status = SPMV_OK;
    memset(d, 0, sizeof *d);
    if (!s->left_all) return SPMV_OK;
    if (s->converter && !s->a->col) status = s->converter->diagonals(s->converter, left, s->left_all, s->spec->format, s->h, d);
    if (status) return status;
    return d->place ? spmv__diagonals_list(d, s->h) : spmv__diagonals_make(d, left, s->h);
}

/* Takes what lies on diagonals that stay. */
static spmv_status spmv__take_staying(spmv__splitter *s, const spmv_view *left, const spmv__diagonals *d)
{
    int there = 0;
    uint64_t i, stay = 0;
    spmv__taking t;
    spmv_status status = SPMV_OK;
    for (i = 0; i < d->count; i++) stay += d->list[i].load;
    if (!stay) return SPMV_OK;
    if (s->converter && !s->a->col)
        status = s->converter->take(s->converter, left, d, (unsigned)s->part, s->out->owner, s->spec->format, s->h, &there);
    if (status) return status;
    memset(&t, 0, sizeof t);
    t.s = s;
    t.d = d;
    spmv__take_shared(&t, there ? spmv__take_marked_share : spmv__take_diagonals_share);
    return SPMV_OK;
}

/* Takes the diagonals that are filled at least to d: nonzeros over the places that the diagonal has in the matrix. With w, takes of those
 * only bands of w or more side by side ("BDIA to represent thick bands and DIA to represent disjoint diagonals or thin bands", clSpMV
 * 3.3). */
static spmv_status spmv__take_diagonals(spmv__splitter *s)
{
    spmv_view v = spmv__left_view(s);
    uint64_t i;
    double share = (double)s->spec->key[SPMV_KEY_D]; /* in millionths, as 0.07 * 100 rounds to more than 7 */
    spmv__diagonals d;
    spmv_status status = spmv__left_diagonals(s, &v, &d);
    if (status) return status;
    for (i = 0; i < d.count; i++)
        if ((double)d.list[i].load * (double)SPMV__ONE < share * (double)spmv__diagonal_length(s->a, d.list[i].key))
            spmv__diagonal_drop(&d, i);
    if (s->spec->key[SPMV_KEY_W]) spmv__drop_thin_bands(&d, (uint64_t)s->spec->key[SPMV_KEY_W]);
    status = spmv__take_staying(s, &v, &d);
    spmv__diagonals_free(&d, s->h);
    return status;
}

/* Takes the blocks of a share that are filled at least to d. */
static void spmv__take_blocks_share(void *job, uint64_t share)
{
    spmv__taking *t = (spmv__taking *)job;
    const spmv__splitter *s = t->s;
    spmv_view v = spmv__left_view(s);
    uint64_t least = (uint64_t)s->spec->key[SPMV_KEY_D] * (t->bh * t->bw); /* in millionths */
    uint64_t row, i, k, end = spmv__taking_first(t, share + 1), taken = 0;
    spmv__blocks b;
    for (row = spmv__taking_first(t, share); row < end; row += t->bh) {
        spmv__blocks_begin(&b, &v, row, t->bh, t->bw);
        while (spmv__blocks_next(&b) != SPMV__NO_BLOCK) {
            if (spmv__blocks_load(&b) * SPMV__ONE < least) continue;
            for (i = 0; i < b.rows; i++)
                for (k = b.from[i]; k < b.at[i]; k++)
                    if (spmv__is_left(s, k)) spmv__take(s, row + i, k, &taken);
        }
    }
    t->taken[share] = taken;
}

/* Takes the blocks that are filled at least to d: nonzeros over the places of the block, also those beyond the edge of the matrix. */
static spmv_status spmv__take_blocks(spmv__splitter *s)
{
    spmv__taking t;
    memset(&t, 0, sizeof t);
    t.s = s;
    t.bh = (uint64_t)spmv__block_height(s->spec);
    t.bw = (uint64_t)spmv__block_width(s->spec);
    spmv__take_shared(&t, spmv__take_blocks_share);
    return SPMV_OK;
}

/* Does the part take everything that is left in its columns? */
static int spmv__takes_shown(const spmv_spec *spec)
{
    return !spec->key[SPMV_KEY_W] && !spec->key[SPMV_KEY_FILL] && !spec->key[SPMV_KEY_D];
}

/* Does the part take everything that is left of any matrix? */
static int spmv__takes_all(const spmv_spec *spec) { return spmv__takes_shown(spec) && !spec->key[SPMV_KEY_COLS]; }

/* 1 if a split by the plan has the host look at columns. Else row lengths, or diagonals that a device finds, say what each part takes. */
SPMV__SHARED int spmv__split_reads_columns(const spmv_plan *plan)
{
    int i, reads = 0;
    for (i = 0; i < plan->count; i++) {
        const spmv_spec *spec = &plan->part[i];
        reads |= spec->key[SPMV_KEY_COLS] || (spmv_format_class_of(spec->format) == SPMV_CLASS_BLOCK && !spmv__takes_shown(spec));
    }
    return reads;
}

/* Columns from .. end - 1 are to be hidden, or shown. */
typedef struct spmv__showing {
    spmv__splitter *s;
    uint64_t        from, end, shares;
    unsigned char   now, then; /* their owner before and after */
} spmv__showing;

/* Hides or shows nonzeros in the rows of a share. */
static void spmv__show_share(void *job, uint64_t share)
{
    const spmv__showing *g = (const spmv__showing *)job;
    const spmv_csr *a = g->s->a;
    uint64_t r, k, n, end = spmv__share_row(a->ptr, a->rows, share + 1, g->shares);
    for (r = spmv__share_row(a->ptr, a->rows, share, g->shares); r < end; r++) {
        for (k = a->ptr[r + 1]; k > a->ptr[r] && a->col[k - 1] >= g->end;) k--;
        for (n = 0; k > a->ptr[r] && a->col[k - 1] >= g->from; k--) {
            if (g->s->out->owner[k - 1] != g->now) continue;
            g->s->out->owner[k - 1] = g->then;
            n++;
        }
        if (g->then == SPMV__LEFT) g->s->left[r] += n;
        else g->s->left[r] -= n;
    }
}

/* Hides and shows nonzeros so that exactly those in the first columns, end of them, are shown. */
static void spmv__show_columns(spmv__splitter *s, uint64_t end)
{
    spmv__showing g;
    g.s = s;
    if (end == s->shown) return;
    if (end < s->shown) {
        g.from = end;
        g.end = s->shown;
        g.now = SPMV__LEFT;
        g.then = SPMV__HIDDEN;
    } else {
        g.from = s->shown;
        g.end = end;
        g.now = SPMV__HIDDEN;
        g.then = SPMV__LEFT;
    }
    g.shares = spmv__share_count(s->a->nnz + s->a->rows);
    spmv__share_out(spmv__show_share, &g, g.shares);
    s->shown = end;
}

static spmv_status spmv__take_part(spmv__splitter *s)
{
    if (spmv__is_padded(s->spec->format)) return spmv__take_ell(s);
    if (!spmv__takes_shown(s->spec)) {
        if (spmv_format_class_of(s->spec->format) == SPMV_CLASS_BLOCK) return spmv__take_blocks(s);
        if (spmv_format_class_of(s->spec->format) == SPMV_CLASS_DIAGONAL) return spmv__take_diagonals(s);
    }
    spmv__take_all(s);
    return SPMV_OK;
}

/* ---- row lists --------------------------------------------------------------------------------------------------- */

enum { SPMV__SORT_LENGTHS = 256 /* rows with fewer nonzeros are sorted by counting, the others, which are few, by comparing */ };

/* What the shares of a row list have in common. A share has whole windows. */
typedef struct spmv__listing {
    const spmv__splitter *s;
    uint32_t             *list;
    spmv__pair           *longer; /* room for the rows that are not sorted by counting */
    uint32_t             *place;  /* [shares][SPMV__SORT_LENGTHS]: by length, the place of the next row; NULL: rows keep their order */
    uint64_t              window, shares;                                      /* rows */
    uint64_t              rows[SPMV__MOST_SHARES], longs[SPMV__MOST_SHARES];   /* listed before each share; those of them in longer */
} spmv__listing;

/* Nonzeros that are left in a row. */
static uint64_t spmv__left_in(const spmv__splitter *s, uint64_t r) { return s->left ? s->left[r] : s->a->ptr[r + 1] - s->a->ptr[r]; }

/* The first row of a share. */
static uint64_t spmv__list_begin(const spmv__listing *g, uint64_t share)
{
    const uint64_t rows = g->s->a->rows, windows = spmv__ceil_div(rows, g->window);
    return spmv__smaller(rows, (windows / g->shares * share + windows % g->shares * share / g->shares) * g->window);
}

/* Counts the rows that a share lists. */
static void spmv__list_count_share(void *job, uint64_t share)
{
    spmv__listing *g = (spmv__listing *)job;
    const uint64_t end = spmv__list_begin(g, share + 1);
    uint64_t r, rows = 0, longs = 0;
    for (r = spmv__list_begin(g, share); r < end; r++) {
        uint64_t n = spmv__left_in(g->s, r);
        rows += n != 0;
        longs += n >= SPMV__SORT_LENGTHS;
    }
    g->rows[share] = rows;
    g->longs[share] = longs;
}

/* Lists the rows first .. end - 1 by falling number of nonzeros; rows of equal length keep their order. Returns how many they are. longer:
 * room for the rows that are not sorted by counting. */
static uint64_t spmv__list_window(const spmv__splitter *s, uint64_t first, uint64_t end, uint32_t *list, uint32_t *place,
                                  spmv__pair *longer)
{
    uint64_t r, i, longs = 0;
    uint32_t sum = 0;
    memset(place, 0, SPMV__SORT_LENGTHS * sizeof *place);
    for (r = first; r < end; r++) {
        uint64_t n = spmv__left_in(s, r);
        if (n < SPMV__SORT_LENGTHS) place[n]++;
        else {
            longer[longs].key = UINT64_MAX - n;
            longer[longs++].load = r;
        }
    }
    spmv__sort(longer, longs);
    for (i = 0; i < longs; i++) list[i] = (uint32_t)longer[i].load;
    sum = (uint32_t)longs;
    for (i = SPMV__SORT_LENGTHS; --i > 0;) {
        uint32_t n = place[i];
        place[i] = sum;
        sum += n;
    }
    for (r = first; r < end; r++) {
        uint64_t n = spmv__left_in(s, r);
        if (n && n < SPMV__SORT_LENGTHS) list[place[n]++] = (uint32_t)r;
    }
    return sum;
}

/* Lists the rows of a share. */
static void spmv__list_share(void *job, uint64_t share)
{
    const spmv__listing *g = (const spmv__listing *)job;
    const uint64_t end = spmv__list_begin(g, share + 1);
    uint32_t *list = g->list + g->rows[share];
    uint64_t r = spmv__list_begin(g, share);
    for (; g->place && r < end; r += g->window)
        list += spmv__list_window(g->s, r, spmv__smaller(r + g->window, end), list, g->place + share * SPMV__SORT_LENGTHS,
                                  g->longer + g->longs[share]);
    for (; r < end; r++)
        if (spmv__left_in(g->s, r)) *list++ = (uint32_t)r;
}

/* Allocates the list and what sorting needs, once the rows of each share are counted, and sums them up. */
static spmv_status spmv__list_rooms(spmv__listing *g, int sorted, uint64_t *rows)
{
    const spmv_hooks *h = g->s->h;
    void *list, *place = NULL, *longer = NULL;
    uint64_t i, longs = 0;
    spmv_status status;
    for (*rows = i = 0; i < g->shares; i++) {
        uint64_t n = g->rows[i], m = g->longs[i];
        g->rows[i] = *rows;
        g->longs[i] = longs;
        *rows += n;
        longs += m;
    }
    status = spmv__room(h, &list, *rows ? *rows : 1, sizeof *g->list); /* never NULL, which would mean all rows */
    g->list = (uint32_t *)list;
    if (!status && sorted) status = spmv__room(h, &place, g->shares * SPMV__SORT_LENGTHS, sizeof *g->place);
    if (!status && sorted) status = spmv__room(h, &longer, longs ? longs : 1, sizeof *g->longer);
    g->place = (uint32_t *)place;
    g->longer = (spmv__pair *)longer;
    return status;
}

/* Makes the row list that key rows specifies: the rows with nonzeros left, in order or sorted within windows of sigma rows of the matrix;
 * none with rows=all. */
static spmv_status spmv__make_list(spmv__splitter *s)
{
    const int sorted = s->spec->key[SPMV_KEY_ROWS] == SPMV_ROWS_SORTED;
    const uint64_t sigma = (uint64_t)s->spec->key[SPMV_KEY_SIGMA];
    void *block;
    spmv__listing *g;
    spmv_status status;
    s->out->rows[s->part] = s->a->rows;
    if (s->spec->key[SPMV_KEY_ROWS] == SPMV_ROWS_ALL) return SPMV_OK;
    status = spmv__new(s->h, &block, 1, sizeof *g, 0);
    if (status) return status;
    g = (spmv__listing *)block;
    g->s = s;
    g->window = !sorted ? 1 : sigma && sigma < s->a->rows ? sigma : s->a->rows ? s->a->rows : 1;
    g->shares = spmv__smaller(spmv__share_count(s->a->rows), spmv__ceil_div(s->a->rows, g->window));
    spmv__share_out(spmv__list_count_share, g, g->shares);
    status = spmv__list_rooms(g, sorted, &s->out->rows[s->part]);
    s->out->list[s->part] = g->list;
    if (!status) spmv__share_out(spmv__list_share, g, g->shares);
    spmv_free(s->h, g->place);
    spmv_free(s->h, g->longer);
    spmv_free(s->h, g);
    return status;
}

/* ---- split ------------------------------------------------------------------------------------------------------- */

/* Lets each part of the plan take its nonzeros, in order. A plan of one part that takes everything needs no owners. */
static spmv_status spmv__split_parts(spmv__splitter *s, const spmv_plan *plan)
{
    spmv_status status = SPMV_OK;
    int whole = plan->count == 1 && spmv__takes_all(&plan->part[0]);
    void *block;
    uint64_t r, cols;
    s->left_all = s->a->nnz;
    s->shown = s->a->cols;
    if (!whole) {
        status = spmv__room(s->h, &block, s->a->rows, 8);
        if (status) return status;
        s->left = (uint64_t *)block;
        for (r = 0; r < s->a->rows; r++) s->left[r] = s->a->ptr[r + 1] - s->a->ptr[r];
        status = spmv__new(s->h, &block, s->a->nnz, 1, SPMV__LEFT);
        s->out->owner = (uint8_t *)block;
    }
    for (s->part = 0; s->part < plan->count && !status; s->part++) {
        s->spec = &plan->part[s->part];
        cols = (uint64_t)s->spec->key[SPMV_KEY_COLS];
        if (!whole) spmv__show_columns(s, cols && cols < s->a->cols ? cols : s->a->cols);
        status = spmv__make_list(s);
        if (!status && whole) {
            s->out->nnz[0] = s->a->nnz;
            s->left_all = 0;
        } else if (!status) {
            status = spmv__take_part(s);
        }
    }
    return status;
}

/* spmv_split_make, with a converter that may look at columns which are on a device only, or NULL. */
static spmv_status spmv__split_there(spmv_split *out, const spmv_plan *plan, const spmv_csr *a, spmv_converter *converter,
                                     const spmv_hooks *hooks)
{
    spmv__splitter s;
    spmv_status status;
    memset(out, 0, sizeof *out);
    memset(&s, 0, sizeof s);
    if (hooks) out->hooks = *hooks;
    status = spmv_plan_check(plan, 0, hooks);
    if (status) return status;
    out->count = plan->count;
    s.a = a;
    s.h = hooks;
    s.out = out;
    s.converter = converter;
    status = spmv__split_parts(&s, plan);
    if (!status && s.left_all) {
        char text[512]; /* of most plans all; larger ones would only make the stack deeper */
        spmv_plan_print(plan, text, sizeof text);
        status = spmv_log(hooks, SPMV_ERR_INCOMPLETE, "plan \"%s\" leaves %llu of %llu nonzeros: end it with a part that takes all, "
                          "such as csr or coo", text, (spmv__ull)s.left_all, (spmv__ull)a->nnz);
    }
    spmv_free(hooks, s.left);
    if (status) spmv_split_free(out);
    return status;
}

SPMV_API spmv_status spmv_split_make(spmv_split *out, const spmv_plan *plan, const spmv_csr *a, const spmv_hooks *hooks)
{
    if (!out || !plan || !a) return spmv__null(hooks, "spmv_split_make", !out ? "out" : !plan ? "plan" : "a", out, sizeof *out);
    return spmv__split_there(out, plan, a, NULL, hooks);
}

SPMV_API void spmv_split_free(spmv_split *s)
{
    spmv_hooks h;
    int i;
    if (!s) return;
    h = s->hooks;
    for (i = 0; i < SPMV_MAX_PARTS; i++) spmv_free(&h, s->list[i]);
    spmv_free(&h, s->owner);
    memset(s, 0, sizeof *s);
}

SPMV_API spmv_view spmv_split_view(const spmv_split *s, const spmv_csr *a, int i)
{
    spmv_view v;
    memset(&v, 0, sizeof v);
    if (!s || !a || i < 0 || i >= s->count) return v;
    v.a = a;
    v.owner = s->owner;
    v.part = (unsigned)i;
    v.list = s->list[i];
    v.rows = s->rows[i];
    return v;
}

/* Writes "ELL(81%)", or "ELL" if the part holds all nonzeros, or nothing if it holds none. */
static void spmv__put_share(spmv__text *t, spmv_format f, uint64_t nnz, uint64_t all)
{
    const char *c;
    if (!nnz) return;
    for (c = spmv_format_name(f); *c; c++) spmv__put_char(t, *c - 'a' + 'A');
    if (nnz == all) return;
    spmv__put_char(t, '(');
    spmv__put_count(t, (uint64_t)((double)nnz * 100 / (double)all + 0.5));
    spmv__put_text(t, "%)");
}

SPMV_API size_t spmv_split_print(const spmv_split *s, const spmv_plan *plan, char *out, size_t size)
{
    if (!s || !plan) return spmv_print(out, size, "%s", "");
    spmv__text t;
    uint64_t all = 0;
    int i;
    spmv__text_open(&t, out, size);
    for (i = 0; i < s->count; i++) all += s->nnz[i];
    for (i = 0; i < s->count; i++) spmv__put_share(&t, plan->part[i].format, s->nnz[i], all);
    return spmv__text_close(&t);
}

/* ---- all parts together ------------------------------------------------------------------------------------------ */

SPMV_API int spmv_part_covers(const spmv_part *p, uint64_t matrix_rows)
{
    return p && p->rows == matrix_rows && !(spmv_format_flags(p->spec.format) & SPMV_ADDS_ONLY); /* a list of all rows names each once */
}

/* Builds every part of the split that holds nonzeros. On failure out->count parts are to be freed. */
static spmv_status spmv__store_parts(spmv_store *out, const spmv_split *split, const spmv_csr *a, const spmv_build *how)
{
    spmv_hooks h = out->hooks;
    void *block;
    int i, stored = 0;
    spmv_status s;
    for (i = 0; i < split->count; i++) stored += split->nnz[i] != 0;
    s = spmv__new(&h, &block, (uint64_t)stored, sizeof *out->part, 0);
    if (s) return s;
    out->part = (spmv_part *)block;
    for (i = 0; i < split->count && !s; i++) {
        spmv_view v = spmv_split_view(split, a, i);
        if (!split->nnz[i]) continue;
        if (split->count > 1) h.part = i + 1;
        s = spmv_part_build(&out->part[out->count], &out->plan.part[i], &v, how, &h);
        if (s) break;
        out->index[out->count++] = i;
    }
    return s;
}

/* Splits the matrix by the plan in out and stores the parts. A split is large, so its frame is kept apart. */
SPMV__APART spmv_status spmv__store_split(spmv_store *out, const spmv_csr *a, const spmv_build *how)
{
    spmv_split split;
    spmv_status s = spmv__split_there(&split, &out->plan, a, how->converter, &out->hooks);
    if (s) return s;
    spmv_split_print(&split, &out->plan, out->shares, sizeof out->shares);
    s = spmv__store_parts(out, &split, a, how);
    spmv_split_free(&split);
    return s;
}

/* Stores a plan of one part that takes all rows as they are. Nothing is split, so that a small matrix costs no more than its part. */
static spmv_status spmv__store_whole(spmv_store *out, const spmv_csr *a, const spmv_build *how)
{
    spmv__text shares;
    spmv_view v;
    void *block;
    spmv_status s;
    memset(&v, 0, sizeof v);
    v.a = a;
    v.rows = a->rows;
    spmv__text_open(&shares, out->shares, sizeof out->shares);
    spmv__put_share(&shares, out->plan.part[0].format, a->nnz, a->nnz);
    spmv__text_close(&shares);
    s = spmv__new(&out->hooks, &block, a->nnz != 0, sizeof *out->part, 0);
    if (s || !a->nnz) return s;
    out->part = (spmv_part *)block;
    s = spmv_part_build(out->part, &out->plan.part[0], &v, how, &out->hooks);
    if (!s) out->count = 1;
    return s;
}

/* Stores a by the plan in out, where plan and hooks are set and all else is zero. On failure out is zeroed. */
static spmv_status spmv__store_by_plan(spmv_store *out, const spmv_csr *a, const spmv_build *how)
{
    const spmv_spec *first = &out->plan.part[0];
    spmv_status s = spmv_plan_check(&out->plan, how->strict, &out->hooks);
    out->type = spmv__type(how->type);
    out->rows = a->rows;
    out->cols = a->cols;
    out->nnz = a->nnz;
    if (!s && out->plan.count == 1 && spmv__takes_all(first) && !first->key[SPMV_KEY_ROWS]) s = spmv__store_whole(out, a, how);
    else if (!s) s = spmv__store_split(out, a, how);
    if (s) spmv_store_free(out);
    return s;
}

SPMV_API spmv_status spmv_store_make(spmv_store *out, const spmv_plan *plan, const spmv_csr *a, const spmv_build *how,
                                     const spmv_hooks *hooks)
{
    if (!out || !plan || !a || !how)
        return spmv__null(hooks, "spmv_store_make", !out ? "out" : !plan ? "plan" : !a ? "a" : "how", out, sizeof *out);
    memset(out, 0, sizeof *out);
    if (hooks) out->hooks = *hooks;
    out->plan = *plan;
    return spmv__store_by_plan(out, a, how);
}

SPMV_API spmv_status spmv_store_update(spmv_store *st, const spmv_csr *a)
{
    if (!st || !a) return spmv__null(st ? &st->hooks : NULL, "spmv_store_update", !st ? "s" : "a", NULL, 0);
    spmv_status s = SPMV_OK;
    int i;
    for (i = 0; i < st->count && !s; i++) s = spmv_part_update(&st->part[i], a->val);
    return s;
}

SPMV_API void spmv_store_free(spmv_store *s)
{
    spmv_hooks h;
    int i;
    if (!s) return;
    h = s->hooks;
    for (i = 0; i < s->count; i++) spmv_part_free(&s->part[i]);
    spmv_free(&h, s->part);
    memset(s, 0, sizeof *s);
}

SPMV_API uint64_t spmv_store_bytes(const spmv_store *s)
{
    uint64_t bytes = 0;
    int i;
    for (i = 0; s && i < s->count; i++) bytes += spmv_part_bytes(&s->part[i]);
    return bytes;
}

SPMV_API uint64_t spmv_store_slots(const spmv_store *s)
{
    uint64_t slots = 0;
    int i;
    for (i = 0; s && i < s->count; i++) slots += spmv_part_slots(&s->part[i]);
    return slots;
}

/* y = alpha A x + beta y with vectors that are checked. */
static void spmv__store_mul(const spmv_store *st, double alpha, const void *x, double beta, void *y)
{
    const spmv_part *first = st->count ? &st->part[0] : NULL;
    const int sets = first && !(spmv_format_flags(first->spec.format) & SPMV_ADDS_ONLY);
    const int covered = spmv_part_covers(first, st->rows);
    int i;
    if (!covered) spmv__scale_rows(st->type, NULL, st->rows, beta, y);
    for (i = 0; i < st->count; i++) /* the first part need not read zeros */
        spmv__part_mul(&st->part[i], alpha, x, i || !sets || (!covered && beta != 0) ? 1.0 : beta, y);
}

SPMV_API spmv_status spmv_store_mul(const spmv_store *st, double alpha, const void *x, double beta, void *y)
{
    spmv_status s;
    if (!st) return spmv__null(NULL, "spmv_store_mul", "s", NULL, 0);
    s = spmv__check_vectors(&st->hooks, "spmv_store_mul", st->type, st->rows, st->cols, alpha, x, y);
    if (!s) spmv__store_mul(st, alpha, x, beta, y);
    return s;
}

/* ---- builders ---------------------------------------------------------------------------------------------------- */

SPMV_API const char *spmv_builder_name(spmv_builder b)
{
    static const char *const names[] = {
#define X(ID, name, text) name,
        SPMV_BUILDER_LIST(X)
#undef X
    };
    return (unsigned)b < SPMV_BUILDER_COUNT ? names[b] : "unknown";
}

SPMV_API const char *spmv_builder_text(spmv_builder b)
{
    static const char *const texts[] = {
#define X(ID, name, text) text,
        SPMV_BUILDER_LIST(X)
#undef X
    };
    return (unsigned)b < SPMV_BUILDER_COUNT ? texts[b] : "unknown";
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
    X(LEVELS, "levels", SPMV__INT,  0,                    SPMV__HYBR) /* no limit */ \
    X(N,      "n",      SPMV__INT,  2,                    SPMV__PANELS)
enum {
    SPMV__HYB  = 1u << SPMV_BUILDER_HYB | 1u << SPMV_BUILDER_HYB_CSR, /* takers */
    SPMV__HYBR = 1u << SPMV_BUILDER_HYBR,
    SPMV__PANELS = 1u << SPMV_BUILDER_PANELS,
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
enum { SPMV__K_MEASURED = 0, SPMV__K_BELL_GARLAND, SPMV__K_FLOOR, SPMV__K_THIRD, SPMV__K_CEILING };
enum { SPMV__PERCENT = 100 /* key x is a percentage */ };

typedef struct spmv__maker {
    const spmv_csr         *a;
    const spmv_build_hints *hints;
    const spmv_hooks       *h;
    spmv_plan              *plan;
    int64_t                 key[SPMV__BUILDER_KEY_COUNT];
    uint64_t               *longer; /* longer[k]: rows with k or more nonzeros */
    uint64_t                longest;
} spmv__maker;

/* Fills in m->longest and m->longer. */
static spmv_status spmv__count_lengths(spmv__maker *m)
{
    const spmv_csr *a = m->a;
    uint64_t r, k;
    void *block;
    spmv_status s;
    for (r = 0; r < a->rows; r++)
        if (a->ptr[r + 1] - a->ptr[r] > m->longest) m->longest = a->ptr[r + 1] - a->ptr[r];
    s = spmv__new(m->h, &block, m->longest + 2, 8, 0);
    if (s) return s;
    m->longer = (uint64_t *)block;
    for (r = 0; r < a->rows; r++) m->longer[a->ptr[r + 1] - a->ptr[r]]++;
    for (k = m->longest; k--;) m->longer[k] += m->longer[k + 1];
    return SPMV_OK;
}

/* The number of rows with at least k nonzeros. Once the first base columns are taken, column k of the rest has spmv__reach(base + k). */
static uint64_t spmv__reach(const spmv__maker *m, uint64_t k) { return k <= m->longest ? m->longer[k] : 0; }

/* Appends a part with two keys; give one key twice where it needs only one. */
static void spmv__add_part(spmv_plan *plan, spmv_format f, spmv_key k1, int64_t v1, spmv_key k2, int64_t v2)
{
    spmv_spec *s = &plan->part[plan->count++];
    memset(s, 0, sizeof *s);
    s->format = f;
    s->key[k1] = v1;
    s->key[k2] = v2;
}

/* The share of the rows, one in so many, that must reach a column so that ELL pays for it: an ELL product runs about three times as fast as
 * one of COO (Bell, Garland 2009); Xu et al. take the same third. */
enum { SPMV__ELL_PAYS = 3 };

/* The width by Bell and Garland's rule, Xu's method 1, after the base columns that are already taken; rows is what the rule calls M. */
static uint64_t spmv__width_bell_garland(const spmv__maker *m, uint64_t base, uint64_t rows)
{
    uint64_t least = (uint64_t)m->key[SPMV__BUILDER_ROWS], w = 0;
    for (;; w++) {
        uint64_t reach = spmv__reach(m, base + w + 1);
        if (!reach || reach < least || reach * SPMV__ELL_PAYS < rows) return w;
    }
}

/* The number of nonzeros after the first base entries of each row. */
static uint64_t spmv__beyond(const spmv__maker *m, uint64_t base)
{
    uint64_t k, n = 0;
    for (k = base + 1; k <= m->longest; k++) n += m->longer[k];
    return n;
}

/* The width by Xu's method 3: columns are added while nonzeros fill more than a third of the ELL part. */
static uint64_t spmv__width_third(const spmv__maker *m, uint64_t base, uint64_t rows)
{
    uint64_t w = 0, held = 0;
    while (base + w + 1 <= m->longest) {
        held += spmv__reach(m, base + w + 1);
        if (held * SPMV__ELL_PAYS <= rows * (w + 1)) break;
        w++;
    }
    return w;
}

/* Makes hyb or hyb-csr: one ELL part if any column is worth it, then COO or CSR for the rest. */
static spmv_status spmv__make_hyb(spmv__maker *m, int with_csr)
{
    uint64_t w = spmv__width_bell_garland(m, 0, m->a->rows);
    if (w) spmv__add_part(m->plan, SPMV_ELL, SPMV_KEY_W, (int64_t)w, SPMV_KEY_W, (int64_t)w);
    if (w && w >= m->longest) m->plan->part[0].key[SPMV_KEY_W] = 0;
    else if (with_csr) spmv__add_part(m->plan, SPMV_CSR, SPMV_KEY_ROWS, SPMV_ROWS_NONEMPTY, SPMV_KEY_ROWS, SPMV_ROWS_NONEMPTY);
    else spmv__add_part(m->plan, SPMV_COO, SPMV_KEY_W, 0, SPMV_KEY_W, 0);
    return SPMV_OK;
}

/* Makes a plan of ELL parts with the given widths; rest: 1 if COO follows. The first part has all rows, each later one a list of those that
 * have nonzeros left. Xu et al. sort the rows by length instead, so that the rows of each later part are the first ones, and bring y back
 * into order at the end. Row lists need neither: on an H200 they were up to 1.6 times as fast, once 0.9 times
 * (bench/results/hybr.txt). */
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
static uint64_t spmv__width_measured(spmv__maker *m, uint64_t *width, int level, uint64_t base)
{
    spmv_plan trial;
    uint64_t w, best = 0;
    double least = -1;
    memset(&trial, 0, sizeof trial);
    for (w = 1; base + w <= m->longest; w++) {
        double t;
        width[level] = w;
        spmv__set_levels(&trial, width, level + 1, base + w < m->longest);
        t = m->hints->measure(m->hints->measure_user, &trial, "");
        if (t >= 0 && (least < 0 || t < least)) {
            least = t;
            best = w;
        }
    }
    return best;
}

/* The width of a level, by the method that key k names. */
static uint64_t spmv__hybr_width(spmv__maker *m, uint64_t *width, int level, uint64_t base, uint64_t rows)
{
    uint64_t left = spmv__beyond(m, base);
    switch (m->key[SPMV__BUILDER_K]) {
    case SPMV__K_MEASURED: return spmv__width_measured(m, width, level, base);
    case SPMV__K_FLOOR: return left / rows;
    case SPMV__K_THIRD: return spmv__width_third(m, base, rows);
    case SPMV__K_CEILING: return spmv__ceil_div(left, rows);
    default: return spmv__width_bell_garland(m, base, rows);
    }
}

/* Makes hybr (Xu et al. IV): splits off ELL parts until few nonzeros or few rows are left. M of the width's rule is the number of rows
 * that are left; with that of the matrix, no column of a later level would ever qualify. The first level is that of hyb and always
 * tried. */
static spmv_status spmv__make_hybr(spmv__maker *m)
{
    uint64_t width[SPMV_MAX_PARTS], base = 0, rows = m->a->rows;
    uint64_t least_rows = (uint64_t)m->key[SPMV__BUILDER_ROWS];
    const double unit = (double)SPMV__ONE * (double)SPMV__PERCENT; /* in a nonzero; least is so scaled that an exact share compares equal */
    double least = (double)m->key[SPMV__BUILDER_X] * (double)m->a->nnz;
    int64_t levels_key = m->key[SPMV__BUILDER_LEVELS]; /* up to 2^40 */
    int levels = 0, most = levels_key && levels_key < SPMV_MAX_PARTS - 1 ? (int)levels_key : SPMV_MAX_PARTS - 1;
    while (levels < most && base < m->longest && rows) {
        uint64_t w;
        if (levels && ((double)spmv__beyond(m, base) * unit < least || rows < least_rows)) break;
        w = spmv__hybr_width(m, width, levels, base, rows);
        if (!w) break;
        if (w > m->longest - base) w = m->longest - base;
        width[levels++] = w;
        base += w;
        rows = spmv__reach(m, base + 1);
    }
    spmv__set_levels(m->plan, width, levels, base < m->longest);
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
    spmv__strips *c = (spmv__strips *)job;
    (void)thread;
    c->bytes[share] = spmv__strip_bytes(c->a, (uint64_t)2 << share);
}

/* Makes cmrs, a part with the best strip height. Koza et al. take whichever of 2, 4, 8 and 16 is the fastest ("brute-force search", 5.2),
 * as is done here with hints->measure. For the case without one they give no rule ("a detailed answer is beyond the scope", 5.5), so this
 * one is our own: the height with the fewest bytes, where a greater one, for which every lane needs more local memory ("a severe limit on
 * acceptable values of height", 4), must save 5%. */
static spmv_status spmv__make_cmrs(spmv__maker *m)
{
    const double gain = 0.95; /* of the bytes of the height before: what a greater one may read */
    spmv_measure measure = m->hints ? m->hints->measure : NULL;
    int64_t best = 0, fastest = 0;
    double least = 0, shortest = 0;
    spmv__strips strips;
    int i;
    strips.a = m->a;
    spmv__share_among(spmv__strips_share, &strips, SPMV__STRIP_HEIGHTS,
                      spmv__share_threads(spmv__share_count(m->a->rows), SPMV__STRIP_HEIGHTS));
    for (i = 0; i < SPMV__STRIP_HEIGHTS; i++) {
        const int64_t h = (int64_t)2 << i;
        double bytes = strips.bytes[i], seconds = -1;
        spmv__set_strips(m->plan, h);
        if (measure) seconds = measure(m->hints->measure_user, m->plan, "");
        if (seconds >= 0 && (!fastest || seconds < shortest)) {
            fastest = h;
            shortest = seconds;
        }
        if (best && bytes > gain * least) continue;
        best = h;
        least = bytes;
    }
    spmv__set_strips(m->plan, fastest ? fastest : best);
    return SPMV_OK;
}

/* What the shares of spmv__panel_rows have in common: for each of them, the rows with nonzeros in each panel of so many columns. */
typedef struct spmv__panel_count {
    const spmv_csr *a;
    uint64_t        width, shares, (*rows)[SPMV_MAX_PARTS];
} spmv__panel_count;

/* Counts the rows of a share that have nonzeros in each panel. */
static void spmv__panel_rows_share(void *job, uint64_t share)
{
    const spmv__panel_count *c = (const spmv__panel_count *)job;
    const spmv_csr *a = c->a;
    const uint64_t last = spmv__share_row(a->ptr, a->rows, share + 1, c->shares);
    uint64_t *rows = c->rows[share], r, k, end;
    for (r = spmv__share_row(a->ptr, a->rows, share, c->shares); r < last; r++)
        for (end = 0, k = a->ptr[r]; k < a->ptr[r + 1]; k++)
            if (a->col[k] >= end) {
                rows[a->col[k] / c->width]++;
                end = (a->col[k] / c->width + 1) * c->width;
            }
}

/* Counts the rows with nonzeros in each panel of so many columns. */
static spmv_status spmv__panel_rows(const spmv_csr *a, uint64_t width, uint64_t rows[SPMV_MAX_PARTS], const spmv_hooks *h)
{
    spmv__panel_count c;
    void *block;
    uint64_t share;
    int i;
    spmv_status s;
    c.a = a;
    c.width = width;
    c.shares = spmv__share_count(a->nnz + a->rows);
    s = spmv__new(h, &block, c.shares, sizeof *c.rows, 0);
    if (s) return s;
    c.rows = (uint64_t (*)[SPMV_MAX_PARTS])block;
    spmv__share_out(spmv__panel_rows_share, &c, c.shares);
    for (i = 0; i < SPMV_MAX_PARTS; i++)
        for (rows[i] = 0, share = 0; share < c.shares; share++) rows[i] += c.rows[share][i];
    spmv_free(h, block);
    return SPMV_OK;
}

/* Makes panels: the parts of m->plan, or csr if there are none, once for each of n panels of equal width. The last panel takes what is
 * left. Rows without nonzeros cost the reading and writing of y and a row pointer, which rows=nonempty saves for 4 bytes a row. */
SPMV__APART spmv_status spmv__make_panels(spmv__maker *m)
{
    uint64_t rows[SPMV_MAX_PARTS], cols = m->a->cols ? m->a->cols : 1, width, panels, i;
    int j, each;
    spmv_status status;
    if (!m->plan->count) spmv__add_part(m->plan, SPMV_CSR, SPMV_KEY_W, 0, SPMV_KEY_W, 0);
    each = m->plan->count;
    width = spmv__ceil_div(cols, (uint64_t)m->key[SPMV__BUILDER_N]);
    panels = spmv__ceil_div(cols, width);
    if (panels * (uint64_t)each > SPMV_MAX_PARTS)
        return spmv_log(m->h, SPMV_ERR_PLAN, "panels: %d panels of %d parts each are more than the %d parts that a plan may have",
                        (int)panels, each, (int)SPMV_MAX_PARTS);
    status = spmv__panel_rows(m->a, width, rows, m->h);
    if (status) return status;
    m->plan->count = (int)panels * each;
    for (i = panels; i-- > 0;) /* the parts of the first panel, which the others are copied from, come last */
        for (j = 0; j < each; j++) {
            spmv_spec *s = &m->plan->part[(int)i * each + j];
            int64_t end = (int64_t)((i + 1) * width);
            *s = m->plan->part[j];
            if (i + 1 < panels && (!s->key[SPMV_KEY_COLS] || s->key[SPMV_KEY_COLS] > end)) s->key[SPMV_KEY_COLS] = end;
            if (2 * rows[i] < m->a->rows && spmv_format_flags(s->format) & SPMV_CAN_LIST && !s->key[SPMV_KEY_ROWS])
                s->key[SPMV_KEY_ROWS] = SPMV_ROWS_NONEMPTY;
        }
    return SPMV_OK;
}

/* Reports a key that the builder does not have, with those that it has. */
SPMV__APART spmv_status spmv__no_such_builder_key(const spmv__scan *c, const char *at, spmv_builder b)
{
    char text[160]; /* the names of all keys */
    size_t n = spmv_print(text, sizeof text, "the builder has no such key; %s has ", spmv_builder_name(b));
    int k, some = 0;
    for (k = 0; k < SPMV__BUILDER_KEY_COUNT && n < sizeof text; k++)
        if (spmv__builder_key_takers[k] >> b & 1u)
            n += spmv_print(text + n, sizeof text - n, "%s%s", some++ ? ", " : "", spmv__builder_key_names[k]);
    return spmv__fault(c, at, SPMV_ERR_PLAN, text);
}

/* Parses one key of a builder into keys. seen: bits of the keys that were given before. */
static spmv_status spmv__parse_builder_key(spmv__scan *c, spmv_builder b, int64_t *keys, unsigned *seen)
{
    static const int kinds[] = {
#define X(ID, name, kind, preset, takers) kind,
        SPMV__BUILDER_KEYS(X)
#undef X
    };
    char word[SPMV__WORD];
    const char *at;
    int k = 0;
    spmv__skip_space(c);
    at = c->at;
    spmv__word(c, word, sizeof word);
    while (k < SPMV__BUILDER_KEY_COUNT && strcmp(word, spmv__builder_key_names[k]) != 0) k++;
    if (k == SPMV__BUILDER_KEY_COUNT || !(spmv__builder_key_takers[k] >> b & 1u)) return spmv__no_such_builder_key(c, at, b);
    if (*seen >> k & 1u) return spmv__fault(c, at, SPMV_ERR_PLAN, "the key is given twice");
    *seen |= 1u << k;
    if (!spmv__accept(c, '=')) return spmv__fault(c, c->at, SPMV_ERR_PLAN, "expected \"=\"");
    spmv__skip_space(c);
    at = c->at;
    spmv__word(c, word, sizeof word);
    if (!spmv__key_value(kinds[k], word, &keys[k])) return spmv__fault(c, at, SPMV_ERR_PLAN, spmv__key_form(kinds[k]));
    if (k == SPMV__BUILDER_K && keys[k] > SPMV__K_CEILING) return spmv__fault(c, at, SPMV_ERR_PLAN, "k must be 0 .. 4");
    if (k == SPMV__BUILDER_X && keys[k] > (int64_t)SPMV__PERCENT * SPMV__ONE)
        return spmv__fault(c, at, SPMV_ERR_PLAN, "x must be at most 100 percent");
    if (k == SPMV__BUILDER_N && (keys[k] < 1 || keys[k] > SPMV_MAX_PARTS)) return spmv__fault(c, at, SPMV_ERR_PLAN, "n must be 1 .. 64");
    return SPMV_OK;
}

/* Parses what follows the name of a builder: its keys, with defaults for those not given, for panels the plan of each panel, and the end of
 * the text. */
static spmv_status spmv__parse_builder(spmv__scan *c, spmv_builder b, int64_t *keys, spmv_plan *plan)
{
    static const int64_t presets[] = {
#define X(ID, name, kind, preset, takers) preset,
        SPMV__BUILDER_KEYS(X)
#undef X
    };
    unsigned seen = 0;
    spmv_status s;
    memcpy(keys, presets, sizeof presets);
    if (spmv__accept(c, ':')) {
        do {
            s = spmv__parse_builder_key(c, b, keys, &seen);
            if (s) return s;
        } while (spmv__accept(c, ','));
        if (b == SPMV_BUILDER_PANELS && spmv__accept(c, ':')) return spmv__parse_parts(c, plan);
    }
    spmv__skip_space(c);
    return *c->at ? spmv__fault(c, c->at, SPMV_ERR_PLAN, "expected \",\", \":\" or the end") : SPMV_OK;
}

/* Makes the plan of a builder whose keys are set. */
SPMV__APART spmv_status spmv__run_builder(spmv__maker *m, spmv_builder b)
{
    spmv_status s;
    if (b == SPMV_BUILDER_PANELS) return spmv__make_panels(m);
    if (b == SPMV_BUILDER_HYBR && m->key[SPMV__BUILDER_K] == SPMV__K_MEASURED && !(m->hints && m->hints->measure))
        return spmv_log(m->h, SPMV_ERR_ARGUMENT, "hybr:k=0 tries every width and needs hints->measure");
    s = spmv__count_lengths(m);
    if (s) return s;
    switch (b) {
    case SPMV_BUILDER_HYB: s = spmv__make_hyb(m, 0); break;
    case SPMV_BUILDER_HYB_CSR: s = spmv__make_hyb(m, 1); break;
    case SPMV_BUILDER_HYBR: s = spmv__make_hybr(m); break;
    default: s = spmv__make_cmrs(m);
    }
    spmv_free(m->h, m->longer);
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

/* Is text "auto", "measure", or "cocktail" with or without keys? These are not plans; spmv_auto.h makes them. */
SPMV__SHARED int spmv__is_auto(const char *text)
{
    const char *rest = spmv__after_name(text, "auto");
    return rest && !*rest;
}
SPMV__SHARED int spmv__is_measure(const char *text)
{
    const char *rest = spmv__after_name(text, "measure");
    return rest && !*rest;
}
SPMV__SHARED int spmv__is_cocktail(const char *text)
{
    const char *rest = spmv__after_name(text, "cocktail");
    return rest && (!*rest || *rest == ':');
}

/* Is text a builder that looks at row lengths alone, and whose plans split by them? */
SPMV__SHARED int spmv__builds_by_rows(const char *text)
{
    int b, found = 0;
    for (b = 0; b < SPMV_BUILDER_COUNT; b++) {
        const char *rest = spmv__after_name(text, spmv_builder_name((spmv_builder)b));
        found |= b != SPMV_BUILDER_PANELS && rest && (!*rest || *rest == ':');
    }
    return found;
}

SPMV_API spmv_status spmv_plan_make(spmv_plan *plan, const char *text, const spmv_csr *a, const spmv_build_hints *hints, int *column,
                                    const spmv_hooks *hooks)
{
    if (!plan || !text) {
        if (column) *column = 0;
        return spmv__null(hooks, "spmv_plan_make", !plan ? "plan" : "text", plan, sizeof *plan);
    }
    spmv__maker m;
    spmv__scan c = spmv__scan_begin(text, column, hooks);
    char word[SPMV__WORD];
    spmv_builder b;
    spmv_status s;
    memset(&m, 0, sizeof m);
    memset(plan, 0, sizeof *plan);
    c.builders = 1;
    spmv__word(&c, word, sizeof word);
    b = spmv__builder_from(word);
    /* cmrs is both a builder and a format: with keys of the format, or in a longer plan, it is the format */
    if (b == SPMV_BUILDER_COUNT || (spmv_format_from(word) != SPMV_FORMAT_COUNT && text[strcspn(text, ":+")])) {
        c.at = text;
        s = spmv__parse_parts(&c, plan);
        if (s) memset(plan, 0, sizeof *plan);
        return s;
    }
    if (!a) return spmv__null(hooks, "spmv_plan_make", "a", NULL, 0);
    m.a = a;
    m.hints = hints;
    m.h = hooks;
    m.plan = plan;
    s = spmv__parse_builder(&c, b, m.key, plan);
    if (!s) s = spmv__run_builder(&m, b);
    if (s) memset(plan, 0, sizeof *plan);
    return s;
}
#endif /* SPMV_IMPLEMENTATION */
