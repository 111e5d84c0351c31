/* SPDX-License-Identifier: MIT
 *
 * spmv/choice/cocktail.h - "cocktail": the greedy policies of clSpMV (Su, Keutzer 2012, section 3.3), rule by rule.
 */
#ifndef SPMV__CHOICE_COCKTAIL_H
#define SPMV__CHOICE_COCKTAIL_H

#include "../choice.h"
#include "cost.h"

/* ---- keys ------------------------------------------------------------------------------------------------------------------ */

/* Reads one key. */
static spmv_status spmv__cocktail_key(spmv__scan *c, spmv_cocktail_desc *d)
{
    char key[SPMV__WORD], word[SPMV__WORD];
    const char *at;
    int64_t v;
    int padding;
    spmv__skip_space(c);
    at = c->at;
    spmv__word(c, key, sizeof key);
    padding = !strcmp(key, "padding");
    if (!padding && strcmp(key, "u") != 0) return spmv__fault(c, at, SPMV_ERR_PLAN, "cocktail has the keys u and padding");
    if (!spmv__accept(c, '=')) return spmv__fault(c, c->at, SPMV_ERR_PLAN, "expected \"=\"");
    spmv__skip_space(c);
    at = c->at;
    spmv__word(c, word, sizeof word);
    if (!spmv__key_value(SPMV__INT, word, &v)) return spmv__fault(c, at, SPMV_ERR_PLAN, spmv__key_form(SPMV__INT));
    if (padding && v > 1) return spmv__fault(c, at, SPMV_ERR_PLAN, "padding must be 0 or 1");
    if (!padding && !v) return spmv__fault(c, at, SPMV_ERR_PLAN, "u must be at least 1");
    if (padding) d->rates_alone = !v;
    else d->groups = (uint64_t)v;
    return SPMV_OK;
}

SPMV_API spmv_status spmv_cocktail_keys(spmv_cocktail_desc *desc, const char *text, int *column, const spmv_hooks *hooks)
{
    spmv__scan c = spmv__scan_begin(text, column, hooks);
    spmv_status s = SPMV_OK;
    if (!desc || !text) return spmv__null(hooks, "spmv_cocktail_keys", desc ? "text" : "desc", NULL, 0);
    if (!spmv__is_cocktail(text)) return spmv__fault(&c, text, SPMV_ERR_PLAN, "expected \"cocktail\"");
    c.at = spmv__after_name(text, "cocktail");
    if (spmv__accept(&c, ':')) {
        do s = spmv__cocktail_key(&c, desc);
        while (!s && spmv__accept(&c, ','));
    }
    spmv__skip_space(&c);
    return !s && *c.at ? spmv__fault(&c, c.at, SPMV_ERR_PLAN, "expected \",\", \":\" or the end") : s;
}

/* ---- layouts ------------------------------------------------------------------------------------------------------- */

enum {
    SPMV__COCKTAIL_SIZES  = 8, /* of blocks: the paper's, which are the first of SPMV_BLOCK_LIST */
    SPMV__COCKTAIL_BLOCKS = 3, /* formats for each of them */
    SPMV__COCKTAIL_SAMPLE = 1 << 14, /* nonzeros that are read for each block size, and rows for each height of slices */
    SPMV__COCKTAIL_ROWS   = 4  /* rows of a work-group of the paper's CSR: 128 work-items, of which each 32, a warp, have one */
};

/* Where the layouts of each category begin in spmv__brew.layout; sell has one for each of its heights. */
enum {
    SPMV__BREW_BDIA, SPMV__BREW_DIA,
    SPMV__BREW_ELL, SPMV__BREW_SELL, SPMV__BREW_SELL_END = SPMV__BREW_SELL + 4, SPMV__BREW_CSR = SPMV__BREW_SELL_END, SPMV__BREW_COO,
    SPMV__BREW_BLOCK, SPMV__BREW_END = SPMV__BREW_BLOCK + SPMV__COCKTAIL_SIZES * SPMV__COCKTAIL_BLOCKS
};

/* A plan of few parts. */
typedef struct spmv__brew_parts {
    int       count;
    spmv_spec part[SPMV_COCKTAIL_PARTS];
} spmv__brew_parts;

/* A plan with what it is estimated to take. */
typedef struct spmv__brewed {
    spmv__brew_parts      plan;                        /* of parts that all hold nonzeros */
    uint64_t              nnz[SPMV_COCKTAIL_PARTS];   /* of each part */
    double                slots[SPMV_COCKTAIL_PARTS];
    const spmv_candidate *line[SPMV_COCKTAIL_PARTS];  /* of the table, by which the rate of each part was read */
    double                seconds, full;               /* by rates; with how x is read and how uneven rows are. Negative: not possible */
} spmv__brewed;

/* What some parts of a plan leave. */
typedef struct spmv__brew_left {
    int           parts;
    spmv_spec     part[SPMV_COCKTAIL_PARTS];
    spmv_split    split; /* by them; its last part is what they leave. Not made without parts */
    spmv_view     view;  /* what they leave */
    spmv__look    look;  /* at that */
} spmv__brew_left;

/* What spmv__cocktail_make works on. */
typedef struct spmv__brew {
    const spmv__estimator    *e;
    const spmv_cocktail_desc *d;
    spmv__text                steps;
    spmv_spec                 layout[SPMV__BREW_END];
    double                    rate[SPMV__BREW_END];  /* of each layout at the current settings; 0: it may not be used */
    spmv__load                whole[SPMV__BREW_END]; /* of the whole matrix; no slots: not possible */
    double                    rows, per_row;         /* the current settings */
    unsigned                  later;                 /* bits of the formats of categories that have not had their share */
    spmv__brew_left           base, after, other;    /* no part; those of diagonals and blocks so far; those of a plan that is tried */
    spmv__brew_left          *left;                  /* base or after */
    spmv_features             f, of_part;            /* of what is left; of a part that is looked at */
    spmv_format               last;                  /* for nonzeros that no policy takes, because no flat format has a rate */
    spmv__brewed              now, first, best, trial; /* now: the plan so far; first: before merging */
} spmv__brew;

/* Adds a line to the steps. */
#define SPMV__STEP(c, ...)                              \
    do {                                                \
        char step_[512];                                \
        spmv_print(step_, sizeof step_, __VA_ARGS__);   \
        spmv__put_text(&(c)->steps, step_);             \
        spmv__put_char(&(c)->steps, '\n');              \
    } while (0)

static const char *spmv__yes_no(int yes) { return yes ? "yes" : "no"; }

/* Fills in the layouts. The heights of SELL's slices are "multiples of GPU alignment requirement (128 bytes)" (4.3.2), 32 rows in f32;
 * those of SBELL have the default height. */
static void spmv__brew_layouts(spmv__brew *c)
{
    static const spmv_format flat[] = { SPMV_ELL, SPMV_SELL, SPMV_SELL, SPMV_SELL, SPMV_SELL, SPMV_CSR, SPMV_COO };
    static const int64_t heights[] = { 0 /* 32 */, 64, 128, 256 };
    static const spmv_format blocks[SPMV__COCKTAIL_BLOCKS] = { SPMV_SBELL, SPMV_BELL, SPMV_BCSR };
    int i;
    c->layout[SPMV__BREW_BDIA].format = SPMV_BDIA;
    c->layout[SPMV__BREW_DIA].format = SPMV_DIA;
    for (i = SPMV__BREW_ELL; i < SPMV__BREW_BLOCK; i++) c->layout[i].format = flat[i - SPMV__BREW_ELL];
    for (i = SPMV__BREW_SELL; i < SPMV__BREW_SELL_END; i++) c->layout[i].key[SPMV_KEY_H] = heights[i - SPMV__BREW_SELL];
    for (i = 0; i < SPMV__COCKTAIL_SIZES * SPMV__COCKTAIL_BLOCKS; i++) {
        spmv_spec *s = &c->layout[SPMV__BREW_BLOCK + i];
        s->format = blocks[i % SPMV__COCKTAIL_BLOCKS];
        s->key[SPMV_KEY_B] = (int64_t)spmv__block_sizes[i / SPMV__COCKTAIL_BLOCKS][0] << 8 |
                             spmv__block_sizes[i / SPMV__COCKTAIL_BLOCKS][1];
    }
}

/* The text of a layout, a part or a plan, cut off after as many characters as a line of the steps can hold. */
typedef struct spmv__brew_text {
    char text[200];
} spmv__brew_text;

static spmv__brew_text spmv__text_of(const spmv_spec *part, int count)
{
    spmv__brew_text s;
    spmv__print_parts(part, count, s.text, sizeof s.text);
    return s;
}

static spmv__brew_text spmv__text_of_plan(const spmv__brew_parts *plan) { return spmv__text_of(plan->part, plan->count); }

/* ---- rates ----------------------------------------------------------------------------------------------------------- */

/* Rates and times are quotients, so that those that are equal by their definition differ by rounding. A difference of a thousand
 * millionths, far more than that and far less than matters, does not count. */
#define SPMV__BREW_EQUAL 1e-9

static int spmv__is_less(double a, double b) { return a < b - SPMV__BREW_EQUAL * b; }

/* The least whole number above x. */
static int64_t spmv__above(double x) { return (int64_t)(x * (1 + SPMV__BREW_EQUAL)) + 1; }

/* The least millionths above a ratio. Policies count what a part takes by this number, which is its key d or fill, as the split does; so
 * what is filled to less than a millionth above the ratio is left. */
static int64_t spmv__millionths_above(double ratio) { return spmv__above(ratio * (double)SPMV__ONE); }

static int spmv__is_filled(uint64_t held, uint64_t places, int64_t millionths)
{
    return (double)held * (double)SPMV__ONE >= (double)millionths * (double)places;
}

/* Seconds of a product with a banded matrix, on which the paper benchmarks (5.1), that is as large as a part and has a row as long as its
 * longest, whose balance counts in every format. A line of a table that is like the layout costs what its bytes and slots say. */
static double spmv__banded_seconds(const spmv__estimator *e, const spmv_candidate *k, const spmv_spec *layout, const spmv__load *part)
{
    spmv__estimator banded = *e;
    spmv__load l = *part;
    spmv_csr a;
    spmv_estimate by;
    memset(&a, 0, sizeof a);
    a.rows = (uint64_t)l.rows;
    a.cols = e->a->cols;
    a.nnz = (uint64_t)l.slots;
    banded.a = &a;
    l.nnz = l.slots;
    l.gather = l.uneven = l.skipped = 0;
    return spmv__cost_parts(&banded, k, layout, &l, &by);
}

/* A banded matrix of so many rows and slots in a row. */
static spmv__load spmv__banded(double rows, double per_row)
{
    spmv__load l;
    memset(&l, 0, sizeof l);
    l.rows = rows;
    l.nnz = l.slots = rows * per_row;
    l.longest = per_row;
    l.bands = 1;
    return l;
}

/* Seconds of a product with a part as it is, with how x is read and how uneven rows are. */
static double spmv__full_seconds(const spmv__estimator *e, const spmv_candidate *k, const spmv_spec *layout, const spmv__load *l)
{
    spmv_estimate by;
    return spmv__cost_parts(e, k, layout, l, &by);
}

/* The line of the table that is the fastest for a layout of a cocktail, whatever its knobs: with a banded matrix as large as the part or,
 * if full, with the part as it is. The paper's CSR and BCSR have a warp for each row; ours have the lanes of that line, so that products
 * run as they were rated. If no line has the layout, those that are most like it stand in: of the same format and another size, of other
 * blocks, or of csr. NULL: there is none. *seconds: of a product. */
static const spmv_candidate *spmv__cocktail_line(const spmv__estimator *e, const spmv_spec *layout, const spmv__load *l, int full,
                                                 double *seconds)
{
    const spmv_candidate *like = spmv__line_for(e, layout, NULL), *best = NULL;
    size_t i;
    *seconds = 0;
    for (i = 0; i < e->t->count && like; i++) {
        const spmv_candidate *k = &e->t->line[i];
        double now;
        if (k->type != e->type || k->layout.format != like->layout.format) continue;
        if (spmv__likeness(k, layout, like->variant) / 2 != spmv__likeness(like, layout, like->variant) / 2) continue;
        now = full ? spmv__full_seconds(e, k, layout, l) : spmv__banded_seconds(e, k, layout, l);
        if (best && !spmv__is_less(now, *seconds)) continue;
        *seconds = now;
        best = k;
    }
    return best;
}

/* The rate of a layout in GFLOP/s; 0 if it is not known, or may not be used. */
static double spmv__brew_rate(const spmv__brew *c, int layout, double per_row)
{
    const spmv__load l = spmv__banded(c->rows, per_row);
    double seconds = 0;
    if (per_row > 0 && spmv__usable(c->e, c->layout[layout].format)) spmv__cocktail_line(c->e, &c->layout[layout], &l, 0, &seconds);
    return seconds > 0 ? 2e-9 * l.slots / seconds : 0;
}

/* The layout with the highest rate among those from first to end - 1, the first of equal ones. */
static int spmv__brew_fastest(const spmv__brew *c, int first, int end)
{
    int i, best = first;
    for (i = first + 1; i < end; i++)
        if (spmv__is_less(c->rate[best], c->rate[i])) best = i;
    return best;
}

/* The highest of those rates; 0: none is known. */
static double spmv__brew_highest(const spmv__brew *c, int first, int end) { return c->rate[spmv__brew_fastest(c, first, end)]; }

static double spmv__brew_flat(const spmv__brew *c) { return spmv__brew_highest(c, SPMV__BREW_ELL, SPMV__BREW_BLOCK); } /* g_f */

/* The highest rate of a block size. */
static double spmv__brew_block(const spmv__brew *c, int size)
{
    int first = SPMV__BREW_BLOCK + size * SPMV__COCKTAIL_BLOCKS;
    return spmv__brew_highest(c, first, first + SPMV__COCKTAIL_BLOCKS);
}

/* A number of slots over a rate: half the nanoseconds that they take. Negative if the rate is not known, or if there are too many slots for
 * one part, which is written as a line. */
static double spmv__slots_over(spmv__brew *c, double slots, double rate)
{
    if (!(rate > 0)) return -1;
    if (spmv__fits(c->e, slots)) return slots / rate;
    SPMV__STEP(c, "  %.0f slots are more than a part may have", slots);
    return -1;
}

/* ---- parts and what they leave -------------------------------------------------------------------------------------- */

/* Sets *last to the format for nonzeros that nothing else takes: the first that may be used, beginning with those that hold any in little
 * memory. without: bits of formats that may not be used. */
SPMV__SHARED spmv_status spmv__last_format(spmv_format *last, unsigned without, const spmv_hooks *h)
{
    static const spmv_format order[] = { SPMV_CSR, SPMV_COO, SPMV_TCSR, SPMV_CMRS, SPMV_SELL, SPMV_ELL, SPMV_BCSR, SPMV_SBELL, SPMV_BELL,
                                         SPMV_BDIA, SPMV_DIA };
    const int n = (int)(sizeof order / sizeof *order);
    int i;
    for (i = 0; i < n + SPMV_FORMAT_COUNT; i++) {
        *last = i < n ? order[i] : (spmv_format)(i - n);
        if (spmv_format_built(*last) && !(without >> *last & 1u)) return SPMV_OK;
    }
    return spmv_log(h, SPMV_ERR_UNSUPPORTED, "hints.without (and strict or reproducible) leave no format of this build");
}

/* Finds the least number of nonzeros of a dense block for each size, e_b > n_b g_f / g_b. */
static void spmv__brew_dense(const spmv__brew *c, int least[SPMV_BLOCK_SIZES])
{
    int i;
    memset(least, 0, SPMV_BLOCK_SIZES * sizeof *least);
    for (i = 0; i < SPMV__COCKTAIL_SIZES; i++) {
        const spmv_spec *spec = &c->layout[SPMV__BREW_BLOCK + i * SPMV__COCKTAIL_BLOCKS];
        const int64_t size = spmv__block_height(spec) * spmv__block_width(spec);
        const double gf = spmv__brew_flat(c), gb = spmv__brew_block(c, i);
        least[i] = (int)(gb > 0 && gf < gb ? spmv__above((double)size * gf / gb) : size + 1);
    }
}

static void spmv__left_free(spmv__brew_left *l)
{
    spmv__look_free(&l->look);
    spmv_split_destroy(&l->split);
    memset(l, 0, sizeof *l);
}

/* Splits the matrix by the first parts of a plan and looks at the rows of what they leave. Free l. */
static spmv_status spmv__left_make(const spmv__brew *c, const spmv__brew_parts *plan, int parts, spmv__brew_left *l)
{
    spmv_plan first;
    spmv_status s = SPMV_OK;
    memset(l, 0, sizeof *l);
    l->parts = parts;
    memcpy(l->part, plan->part, (size_t)parts * sizeof *l->part);
    l->view.a = c->e->a;
    l->view.rows = c->e->a->rows;
    memset(&first, 0, sizeof first);
    memcpy(first.part, plan->part, (size_t)parts * sizeof *l->part);
    first.part[parts] = spmv__plain(c->last);
    first.count = parts + 1;
    if (parts) s = spmv_split_create(&l->split, &first, c->e->a, c->e->h);
    if (parts && !s) l->view = spmv_split_view(&l->split, c->e->a, parts);
    return s ? s : spmv__look_make(&l->look, &l->view, c->e->h);
}

/* Reads all rates at what the parts so far leave, and looks at the blocks and diagonals there that later policies ask for. */
static spmv_status spmv__brew_settle(spmv__brew *c, spmv__brew_left *l)
{
    int i, least[SPMV_BLOCK_SIZES];
    spmv_status s;
    spmv__left_free(l);
    c->left = l;
    s = spmv__left_make(c, &c->now.plan, c->now.plan.count, l);
    c->per_row = (double)l->look.nnz / c->rows;
    for (i = 0; i < SPMV__BREW_END; i++) c->rate[i] = spmv__brew_rate(c, i, c->per_row);
    spmv__brew_dense(c, least);
    return s ? s : spmv__look_sampled(&l->look, &c->f, SPMV__COCKTAIL_SAMPLE, ~c->later, least);
}

static spmv_spec *spmv__brew_add(spmv__brew *c, int layout)
{
    spmv_spec *part = &c->now.plan.part[c->now.plan.count++];
    *part = c->layout[layout];
    return part;
}

/* ---- dense diagonals, BDIA or DIA ------------------------------------------------------------------------------------- */

/* The dense diagonals of what is left. */
typedef struct spmv__dense_diagonals {
    int64_t   least;           /* millionths to which they are filled */
    uint64_t  all, dense, nnz; /* diagonals; dense ones, and their nonzeros */
    uint64_t *bands, widest;   /* bands[w]: bands of w adjacent dense diagonals; the greatest w */
} spmv__dense_diagonals;

/* Goes to the next dense diagonal after place *at, which holds so many nonzeros. *all: becomes more by the diagonals on the way. */
static int spmv__next_dense(const spmv__brew *c, const spmv__diagonals *d, const spmv__dense_diagonals *f, uint64_t *at, uint64_t *number,
                            uint64_t *held, uint64_t *all)
{
    while (spmv__diagonals_next(d, at, number, held)) {
        ++*all;
        if (spmv__is_filled(*held, spmv__diagonal_length(c->e->a, *number), f->least)) return 1;
    }
    return 0;
}

/* Counts the dense diagonals, and the bands in which they lie, by their widths. Free f->bands. */
static spmv_status spmv__count_dense(const spmv__brew *c, const spmv__diagonals *d, spmv__dense_diagonals *f)
{
    uint64_t at = 0, number, held, before = 0, width = 0, any = 0;
    void *block;
    spmv_status s;
    while (spmv__next_dense(c, d, f, &at, &number, &held, &f->all)) {
        f->dense++;
        f->nnz += held;
    }
    s = spmv__new(c->e->h, &block, f->dense + 2, sizeof *f->bands, 0);
    f->bands = (uint64_t *)block;
    for (at = 0; !s && spmv__next_dense(c, d, f, &at, &number, &held, &any); before = number) {
        if (width && number != before + 1) {
            f->bands[width]++;
            width = 0;
        }
        if (++width > f->widest) f->widest = width;
    }
    if (width) f->bands[width]++;
    return s;
}

/* Finds the dense diagonals of what is left. If the features are those of a sample that has none, there are none. Free f->bands. */
static spmv_status spmv__find_dense(spmv__brew *c, spmv__dense_diagonals *f)
{
    spmv__diagonals d;
    spmv_status s;
    if (c->f.diagonals_sampled && !c->f.dense_diagonals && (double)f->least >= SPMV_FILL_DENSE * (double)SPMV__ONE) return SPMV_OK;
    s = spmv__diagonals_count(&d, &c->left->view, c->e->h);
    if (s) return s;
    s = spmv__count_dense(c, &d, f);
    spmv__diagonals_free(&d, c->e->h);
    return s;
}

/* A way to store the dense diagonals: so many of them in bands of BDIA, the others in DIA. */
typedef struct spmv__diagonal_case {
    uint64_t thick, banded; /* the least diagonals of a band in BDIA, and all diagonals there */
    double   time;          /* in units of spmv__slots_over; negative: not possible */
} spmv__diagonal_case;

/* Estimates one of the ways, and writes its line: the nonzeros over the time of both parts, in GFLOP/s. Keeps it in best if it takes less
 * time. */
static void spmv__try_diagonals(spmv__brew *c, const spmv__dense_diagonals *f, uint64_t thick, spmv__diagonal_case *best)
{
    spmv__diagonal_case k;
    double bands, others, g1, g2, t1, t2;
    uint64_t w;
    k.thick = thick;
    for (k.banded = 0, w = thick; w <= f->widest; w++) k.banded += w * f->bands[w];
    bands = (double)k.banded;
    others = (double)(f->dense - k.banded);
    g1 = spmv__brew_rate(c, SPMV__BREW_BDIA, bands);
    g2 = spmv__brew_rate(c, SPMV__BREW_DIA, others);
    t1 = bands > 0 ? spmv__slots_over(c, c->rows * bands, g1) : 0;
    t2 = others > 0 ? spmv__slots_over(c, c->rows * others, g2) : 0;
    k.time = t1 + t2;
    if (t1 < 0 || t2 < 0) return;
    if (others <= 0 || bands <= 0)
        SPMV__STEP(c, "  only %s: %llu / (%.0f / %.3f) = %.3f", others <= 0 ? "bdia" : "dia", (spmv__ull)f->nnz,
                   c->rows * (double)f->dense, others <= 0 ? g1 : g2, (double)f->nnz / k.time);
    else
        SPMV__STEP(c, "  bdia for bands of %llu or more, dia: %llu / (%.0f / %.3f + %.0f / %.3f) = %.3f", (spmv__ull)thick,
                   (spmv__ull)f->nnz, c->rows * bands, g1, c->rows * others, g2, (double)f->nnz / k.time);
    if (best->time < 0 || spmv__is_less(k.time, best->time)) *best = k;
}

/* Chooses between only BDIA, only DIA, and BDIA for thick bands, and adds the parts. */
static void spmv__choose_diagonals(spmv__brew *c, const spmv__dense_diagonals *f)
{
    spmv__diagonal_case best = { 0, 0, -1 };
    uint64_t w, thinnest = 1;
    spmv_spec *part;
    spmv__try_diagonals(c, f, 1, &best);
    spmv__try_diagonals(c, f, f->widest + 1, &best);
    while (thinnest < f->widest && !f->bands[thinnest]) thinnest++;
    for (w = thinnest + 1; w <= f->widest; w++) /* widths at which the bands of BDIA are other ones */
        if (f->bands[w]) spmv__try_diagonals(c, f, w, &best);
    if (best.time < 0) return;
    if (best.banded) {
        part = spmv__brew_add(c, SPMV__BREW_BDIA);
        if (f->dense < f->all) part->key[SPMV_KEY_D] = f->least;
        if (best.banded < f->dense) part->key[SPMV_KEY_W] = (int64_t)best.thick;
    }
    if (best.banded < f->dense) {
        part = spmv__brew_add(c, SPMV__BREW_DIA);
        if (f->dense < f->all) part->key[SPMV_KEY_D] = f->least;
    }
}

/* "Dense Diagonals" and "BDIA vs DIA". */
static spmv_status spmv__cocktail_diagonals(spmv__brew *c)
{
    double gf = spmv__brew_flat(c), gd = spmv__brew_highest(c, SPMV__BREW_BDIA, SPMV__BREW_ELL);
    spmv__dense_diagonals f;
    spmv_status s;
    memset(&f, 0, sizeof f);
    c->later &= ~spmv__class_bits(SPMV_CLASS_DIAGONAL);
    if (gd <= 0) return SPMV_OK;
    SPMV__STEP(c, "diagonals e_d > n_d x g_f / g_d = n_d x %.3f / %.3f = n_d x %.6f", gf, gd, gf / gd);
    if (!spmv__is_less(gf, gd)) return SPMV_OK; /* no diagonal holds more nonzeros than it has places */
    f.least = spmv__millionths_above(gf / gd);
    s = spmv__find_dense(c, &f);
    if (!s && !f.all) SPMV__STEP(c, "  holds for no diagonal of a sample");
    else if (!s) SPMV__STEP(c, "  holds for %llu of %llu diagonals, with %llu nonzeros", (spmv__ull)f.dense, (spmv__ull)f.all,
                            (spmv__ull)f.nnz);
    if (!s && f.dense) spmv__choose_diagonals(c, &f);
    spmv_free(c->e->h, f.bands);
    return s || !f.dense ? s : spmv__brew_settle(c, &c->after);
}

/* ---- dense blocks, SBELL or BELL or BCSR ------------------------------------------------------------------------------ */

/* The best way to store blocks so far. */
typedef struct spmv__block_case {
    int    layout, least; /* layout 0: none; nonzeros of a dense block, 0: all blocks */
    double time;          /* of the blocks and the rest, in units of spmv__slots_over */
} spmv__block_case;

/* Estimates the dense blocks, or all blocks, in one format, the rest at the rate of the flat category; writes a line, and replaces *best if
 * this is faster. blocks, nnz: those there are of these; widest, sliced: in a block row, and with the padding of slices. */
static void spmv__try_blocks(spmv__brew *c, int layout, const spmv_block_features *b, double blocks, double nnz, spmv__block_case *best)
{
    const spmv_spec *spec = &c->layout[layout];
    const int all = nnz >= (double)c->f.nnz;
    const double n = (double)c->f.nnz, rest = n - nnz, size = (double)(b->bh * b->bw), gf = spmv__brew_flat(c);
    double slots = size * blocks, t, g = c->rate[layout], t_rest = 0;
    if (!c->d->rates_alone && spec->format == SPMV_SBELL) slots = all ? b->slots : b->dense_slots;
    if (!c->d->rates_alone && spec->format == SPMV_BELL) slots = (all ? b->widest : b->dense_widest) * (double)b->bw * c->rows;
    if (!c->d->rates_alone) g = spmv__brew_rate(c, layout, slots / c->rows);
    t = spmv__slots_over(c, slots, g);
    if (!all) t_rest = spmv__slots_over(c, rest, gf);
    if (!(blocks > 0) || t < 0 || t_rest < 0) return;
    if (!all)
        SPMV__STEP(c, "    %s, dense: %.0f / (%.0f / %.3f + %.0f / %.3f) = %.3f", spmv__text_of(spec, 1).text, n, slots, g, rest, gf,
                   n / (t + t_rest));
    else
        SPMV__STEP(c, "    %s, all: %.0f / (%.0f / %.3f) = %.3f > %.3f: %s", spmv__text_of(spec, 1).text, n, slots, g, n / t, gf,
                   spmv__yes_no(spmv__is_less(gf * t, n)));
    if ((all && !spmv__is_less(gf * t, n)) || (best->layout && !spmv__is_less(t + t_rest, best->time))) return;
    best->layout = layout;
    best->least = all ? 0 : b->least;
    best->time = t + t_rest;
}

/* Applies the policies to one block size. */
static void spmv__cocktail_block_size(spmv__brew *c, int i, spmv__block_case *best)
{
    const spmv_block_features *b = &c->f.block[i];
    const int first = SPMV__BREW_BLOCK + i * SPMV__COCKTAIL_BLOCKS;
    double gf = spmv__brew_flat(c), gb = spmv__brew_block(c, i);
    int k;
    if (gb <= 0 || b->sampled <= 0) return;
    SPMV__STEP(c, "  %dx%d: n_b x %.3f / %.3f = %.3f", b->bh, b->bw, gf, gb, b->bh * b->bw * gf / gb);
    if (!spmv__is_less(gf, gb)) return; /* no block holds more nonzeros than it has places */
    SPMV__STEP(c, "    e_b >= %d: %.0f of %.0f blocks%s, with %.0f nonzeros", b->least, b->dense, b->blocks,
               b->sampled < 1 ? " by a sample" : "", b->dense_nnz);
    if (spmv__is_less(b->dense_nnz, (double)c->f.nnz))
        for (k = first; k < first + SPMV__COCKTAIL_BLOCKS; k++) spmv__try_blocks(c, k, b, b->dense, b->dense_nnz, best);
    for (k = first; k < first + SPMV__COCKTAIL_BLOCKS; k++) spmv__try_blocks(c, k, b, b->blocks, (double)c->f.nnz, best);
}

/* "Dense Blocks" and "SBELL vs BELL vs BCSR", over all block sizes. */
static spmv_status spmv__cocktail_blocks(spmv__brew *c)
{
    spmv__block_case best = { 0, 0, 0 };
    spmv_spec *part;
    int i;
    c->later &= ~spmv__class_bits(SPMV_CLASS_BLOCK);
    if (spmv__brew_highest(c, SPMV__BREW_BLOCK, SPMV__BREW_END) <= 0) return SPMV_OK;
    SPMV__STEP(c, "blocks    e_b > n_b x g_f / g_b; then nonzeros / (slots / g + rest / g_f)");
    for (i = 0; i < SPMV__COCKTAIL_SIZES; i++) spmv__cocktail_block_size(c, i, &best);
    if (!best.layout) return SPMV_OK;
    part = spmv__brew_add(c, best.layout);
    if (best.least)
        part->key[SPMV_KEY_D] = (int64_t)best.least * SPMV__ONE / (spmv__block_height(part) * spmv__block_width(part));
    return spmv__brew_settle(c, &c->after);
}

/* ---- flat formats ------------------------------------------------------------------------------------------------------ */

/* The ELL part of all rows, or of those of a slice, or the sums over slices. */
typedef struct spmv__ell_part {
    uint64_t w, slots, nnz; /* the width, and what it covers */
} spmv__ell_part;

/* "Extract ELL": the greatest width with (z + e) / g < e / m_c, to which so many rows are filled to more than m_c / g. longer[k]: rows of
 * k nonzeros or more. The mean gain falls with every column, so the first that does not hold is the end. */
static spmv__ell_part spmv__extract_ell(const uint64_t *longer, uint64_t longest, uint64_t rows, int64_t fill)
{
    spmv__ell_part k = { 0, 0, 0 };
    while (k.w < longest && spmv__is_filled(k.nnz + longer[k.w + 1], rows * (k.w + 1), fill)) {
        k.nnz += longer[++k.w];
        k.slots += rows;
    }
    return k;
}

/* "Extract SELL": the same for each slice of h rows, or for a sample of them, whose sums are scaled. longer: scratch. */
static spmv__ell_part spmv__extract_sell(const spmv__look *l, uint64_t h, int64_t fill, uint64_t *longer)
{
    const uint64_t rows = l->v->a->rows, slices = spmv__ceil_div(rows, h), step = slices * h / SPMV__COCKTAIL_SAMPLE + 1;
    spmv__ell_part sum = { 0, 0, 0 }, k;
    uint64_t i, r, n, seen = 0;
    double times;
    for (i = 0; i < slices; i += step) {
        const uint64_t first = (i + (uint64_t)(spmv__spread(i / step) * (double)spmv__smaller(step, slices - i))) * h;
        const uint64_t end = spmv__smaller(first + h, rows), longest = spmv__look_tallest(l, first, end);
        memset(longer, 0, (size_t)(longest + 2) * sizeof *longer);
        for (r = first; r < end; r++) {
            n = spmv__look_len(l, r);
            longer[n]++;
            seen += n;
        }
        for (n = longest; n-- > 0;) longer[n] += longer[n + 1];
        k = spmv__extract_ell(longer, longest, end - first, fill);
        sum.slots += k.slots;
        sum.nnz += k.nnz;
        if (k.w > sum.w) sum.w = k.w;
    }
    times = step > 1 && seen ? (double)l->nnz / (double)seen : 1;
    sum.slots = (uint64_t)((double)sum.slots * times);
    sum.nnz = spmv__smaller((uint64_t)((double)sum.nnz * times), l->nnz);
    return sum;
}

/* A way to store the first entries of rows by ELL or SELL. */
typedef struct spmv__ell_case {
    int            layout;
    spmv__ell_part all;
    int64_t        fill;
    double         time; /* of the part, and of the rest at m_c; in units of spmv__slots_over; negative: not possible */
} spmv__ell_case;

/* Extracts ELL or SELL, writes its lines, and keeps it in best if it takes less time. longer: scratch. */
static void spmv__try_ell(spmv__brew *c, int layout, double mc, uint64_t *longer, spmv__ell_case *best)
{
    const spmv_spec *spec = &c->layout[layout];
    double g = c->rate[layout], rest, t, t_rest = 0;
    spmv__ell_case k;
    k.layout = layout;
    k.fill = spmv__millionths_above(mc / g);
    if (spec->format == SPMV_ELL) k.all = spmv__extract_ell(c->left->look.longer, c->left->look.longest, c->e->a->rows, k.fill);
    else k.all = spmv__extract_sell(&c->left->look, spmv__height(spec), k.fill, longer);
    SPMV__STEP(c, "%s (z + e) / g < e / m_c, e / (z + e) > %.3f / %.3f = %.6f: widths up to %llu, with %llu nonzeros in %llu slots",
               spmv__text_of(spec, 1).text, mc, g, mc / g, (spmv__ull)k.all.w, (spmv__ull)k.all.nnz, (spmv__ull)k.all.slots);
    rest = (double)(c->left->look.nnz - k.all.nnz);
    if (!c->d->rates_alone) g = spmv__brew_rate(c, layout, (double)k.all.slots / c->rows);
    t = k.all.w ? spmv__slots_over(c, (double)k.all.slots, g) : -1;
    if (rest > 0) t_rest = spmv__slots_over(c, rest, mc);
    if (t < 0 || t_rest < 0) return;
    k.time = c->d->rates_alone ? 1 / g : t + t_rest;
    if (c->d->rates_alone) SPMV__STEP(c, "  g = %.3f", g);
    else
        SPMV__STEP(c, "  %llu / (%llu / %.3f + %.0f / %.3f) = %.3f", (spmv__ull)c->left->look.nnz, (spmv__ull)k.all.slots, g, rest, mc,
                   (double)c->left->look.nnz / k.time);
    if (best->time < 0 || spmv__is_less(k.time, best->time)) *best = k;
}

/* "ELL and SELL vs CSR and COO", "Extract ELL", "Extract SELL" and "ELL vs SELL". */
static spmv_status spmv__cocktail_ell(spmv__brew *c)
{
    double mc = spmv__brew_highest(c, SPMV__BREW_CSR, SPMV__BREW_BLOCK), me = spmv__brew_highest(c, SPMV__BREW_ELL, SPMV__BREW_CSR);
    spmv__ell_case best;
    spmv_spec *part;
    void *longer;
    spmv_status s;
    int i;
    SPMV__STEP(c, "flat      m_c = max(%.3f, %.3f) > m_e = max(%.3f, %.3f): %s", c->rate[SPMV__BREW_CSR], c->rate[SPMV__BREW_COO],
               c->rate[SPMV__BREW_ELL], spmv__brew_highest(c, SPMV__BREW_SELL, SPMV__BREW_SELL_END), spmv__yes_no(spmv__is_less(me, mc)));
    if (spmv__is_less(me, mc)) return SPMV_OK;
    memset(&best, 0, sizeof best);
    best.time = -1;
    s = spmv__room(c->e->h, &longer, c->left->look.longest + 2, sizeof(uint64_t));
    if (s) return s;
    for (i = SPMV__BREW_ELL; i < SPMV__BREW_SELL_END; i++)
        if (c->rate[i] > 0) spmv__try_ell(c, i, mc, (uint64_t *)longer, &best);
    spmv_free(c->e->h, longer);
    if (best.time < 0) return SPMV_OK;
    part = spmv__brew_add(c, best.layout);
    if (best.all.nnz < c->left->look.nnz && part->format == SPMV_ELL) part->key[SPMV_KEY_W] = (int64_t)best.all.w;
    else if (best.all.nnz < c->left->look.nnz) part->key[SPMV_KEY_FILL] = best.fill;
    c->later = 0;
    return spmv__brew_settle(c, &c->after);
}

/* Finds the most nonzeros of a slice of rows of a share. */
static void spmv__most_share(void *job, uint64_t share)
{
    spmv__look_pass *pass = (spmv__look_pass *)job;
    uint64_t r = spmv__look_first(pass, share), end = spmv__look_first(pass, share + 1), stop, n;
    for (pass->result[share] = 0; r < end;) {
        for (n = 0, stop = spmv__smaller(r + pass->height, end); r < stop; r++) n += spmv__look_len(pass->look, r);
        if (n > pass->result[share]) pass->result[share] = n;
    }
}

/* "CSR vs COO", for all that is left. If neither has a rate, the first format that may be used takes it. */
static spmv_status spmv__cocktail_csr_or_coo(spmv__brew *c)
{
    const double g_csr = c->rate[SPMV__BREW_CSR], g_coo = c->rate[SPMV__BREW_COO], n = (double)c->left->look.nnz;
    const uint64_t rows = c->e->a->rows, units = c->e->t->device_class == SPMV_DEVICE_CLASS_GPU ? 0 : c->e->t->units;
    const uint64_t given = c->d->groups ? c->d->groups : units, h = given ? spmv__ceil_div(rows, given) : (uint64_t)SPMV__COCKTAIL_ROWS;
    uint64_t i, groups = spmv__ceil_div(rows, h), most = 0;
    double work;
    int csr = g_csr > 0;
    spmv__look_pass pass;
    if (g_csr > 0 && g_coo > 0) {
        spmv__look_run(&pass, &c->left->look, h, 1, spmv__most_share);
        for (i = 0; i < pass.shares; i++) most = most > pass.result[i] ? most : pass.result[i];
        work = (double)groups * (double)most;
        csr = spmv__is_less(work / g_csr, n / g_coo);
        SPMV__STEP(c, "csr, coo  u max nnz(i) / g_csr = %llu x %llu / %.3f = %.3f < n / g_coo = %.0f / %.3f = %.3f: %s", (spmv__ull)groups,
                   (spmv__ull)most, g_csr, work / g_csr, n, g_coo, n / g_coo, spmv__yes_no(csr));
    } else {
        SPMV__STEP(c, "csr, coo  g_csr = %.3f, g_coo = %.3f: at most one has a rate", g_csr, g_coo);
    }
    if (csr || g_coo > 0) spmv__brew_add(c, csr ? SPMV__BREW_CSR : SPMV__BREW_COO);
    else c->now.plan.part[c->now.plan.count++] = spmv__plain(c->last);
    return SPMV_OK;
}

/* ---- merging ------------------------------------------------------------------------------------------------------------ */

/* Estimates a part of a plan that takes all of what was looked at, and adds it to what the plan takes. It is rated as a banded matrix with
 * as many slots and as long a row. */
static spmv_status spmv__brewed_add(spmv__brew *c, spmv__brewed *b, const spmv_spec *part, const spmv__look *look)
{
    const int i = b->plan.count;
    spmv_spec layout = *part;
    double seconds;
    spmv__load l;
    spmv_status s;
    if (!look->nnz) return SPMV_OK;
    s = spmv__look_features(look, &c->of_part, SPMV__COCKTAIL_SAMPLE, ~(1u << part->format));
    if (s) return s;
    layout.key[SPMV_KEY_W] = layout.key[SPMV_KEY_FILL] = layout.key[SPMV_KEY_D] = 0;
    b->plan.part[b->plan.count++] = *part;
    b->nnz[i] = look->nnz;
    b->line[i] = spmv__load_of(c->e, &layout, look, &c->of_part, &l, &s) ? spmv__cocktail_line(c->e, &layout, &l, 0, &seconds) : NULL;
    if (s || !b->line[i] || b->seconds < 0) {
        b->seconds = b->full = -1;
        return s;
    }
    b->slots[i] = l.slots;
    b->seconds += seconds;
    b->full += spmv__full_seconds(c->e, b->line[i], &layout, &l);
    return SPMV_OK;
}

/* What the parts before the last one of a plan leave: if that is known, it is not looked for again. */
static spmv_status spmv__brew_find(spmv__brew *c, const spmv__brew_parts *plan, spmv__brew_left **out)
{
    const int parts = plan->count - 1;
    *out = &c->base;
    if (!parts) return SPMV_OK;
    *out = &c->after;
    if (c->after.parts == parts && !memcmp(plan->part, c->after.part, (size_t)parts * sizeof *plan->part)) return SPMV_OK;
    *out = &c->other;
    spmv__left_free(&c->other);
    return spmv__left_make(c, plan, parts, &c->other);
}

/* Estimates a plan: the sum over its parts of those that hold nonzeros. The last takes all that is left. */
static spmv_status spmv__brew_estimate(spmv__brew *c, const spmv__brew_parts *plan, spmv__brewed *out)
{
    spmv__brew_left *left;
    spmv__look l;
    spmv_status s = spmv__brew_find(c, plan, &left);
    int i;
    memset(out, 0, sizeof *out);
    for (i = 0; i + 1 < plan->count && !s; i++) {
        spmv_view v = spmv_split_view(&left->split, c->e->a, i);
        if (!left->split.nnz[i]) continue;
        s = spmv__look_make(&l, &v, c->e->h);
        if (!s) s = spmv__brewed_add(c, out, &plan->part[i], &l);
        spmv__look_free(&l);
    }
    return s ? s : spmv__brewed_add(c, out, &plan->part[plan->count - 1], &left->look);
}

/* Makes change number i of a plan: of the first count - 1, it drops part i, whose nonzeros then go to the parts behind it by their keys; of
 * the others, it lets part i - count + 1 take all that is left. 0: so a part would go into smaller ones. Negative: there is no such
 * change. */
static int spmv__merge_change(const spmv__brewed *from, int i, spmv__brew_parts *to)
{
    const int last = from->plan.count - 1, part = i < last ? i : i - last;
    uint64_t most = 0;
    int j;
    if (i >= 2 * last) return -1;
    for (j = part + 1; j <= last; j++) most = from->nnz[j] > most ? from->nnz[j] : most;
    if (i < last ? from->nnz[part] > most : from->nnz[part] < most) return 0;
    *to = from->plan;
    if (i < last) {
        for (j = part; j < last; j++) to->part[j] = to->part[j + 1];
        to->count--;
    } else {
        to->part[part].key[SPMV_KEY_W] = to->part[part].key[SPMV_KEY_FILL] = to->part[part].key[SPMV_KEY_D] = 0;
        to->count = part + 1;
    }
    return 1;
}

/* "Merge small submatrices" into larger ones: makes the best change as long as the estimate falls. */
static spmv_status spmv__cocktail_merge(spmv__brew *c)
{
    int i, change, better = 1;
    spmv__brew_parts plan;
    spmv_status s = SPMV_OK;
    while (!s && better && c->now.seconds > 0) {
        c->best = c->now;
        for (i = 0; !s && (change = spmv__merge_change(&c->now, i, &plan)) >= 0; i++) {
            if (!change) continue;
            s = spmv__brew_estimate(c, &plan, &c->trial);
            if (s) break;
            if (c->trial.seconds < 0) SPMV__STEP(c, "merge     %s: not possible", spmv__text_of_plan(&c->trial.plan).text);
            if (c->trial.seconds < 0) continue;
            SPMV__STEP(c, "merge     %s: %.3f < %.3f us, %s: %s", spmv__text_of_plan(&c->trial.plan).text, c->trial.seconds * 1e6,
                       c->now.seconds * 1e6, spmv__text_of_plan(&c->now.plan).text,
                       spmv__yes_no(spmv__is_less(c->trial.seconds, c->now.seconds)));
            if (spmv__is_less(c->trial.seconds, c->best.seconds)) c->best = c->trial;
        }
        better = spmv__is_less(c->best.seconds, c->now.seconds);
        c->now = c->best;
    }
    return s;
}

/* ---- the last line of defence ------------------------------------------------------------------------------------------ */

/* Finds the format that is the fastest alone, with how x is read and how uneven rows are. */
static void spmv__brew_alone(spmv__brew *c, spmv__brewed *best)
{
    const spmv_candidate *k;
    double seconds;
    int i;
    memset(best, 0, sizeof *best);
    for (i = 0; i < SPMV__BREW_END; i++) {
        if (!(c->whole[i].slots > 0)) continue;
        k = spmv__cocktail_line(c->e, &c->layout[i], &c->whole[i], 1, &seconds);
        if (!k || (best->plan.count && !spmv__is_less(seconds, best->full))) continue;
        best->plan.count = 1;
        best->plan.part[0] = c->layout[i];
        best->line[0] = k;
        best->slots[0] = c->whole[i].slots;
        best->full = seconds;
    }
}

/* Takes another plan if the present one is estimated to be slower by more than estimates err: less is no reason to leave the policies. */
static void spmv__brew_defend(spmv__brew *c, const spmv__brewed *other, const char *what)
{
    const double error = spmv__exp2(c->e->t->error > 0 ? c->e->t->error : SPMV__ERROR_UNKNOWN);
    const int better = c->now.full > 0 ? spmv__is_less(other->full * error, c->now.full) : 1;
    if (!(other->full > 0)) return;
    SPMV__STEP(c, "defence   with how x and rows are read, %s: %s: %.3f x %.3f < %.3f us, %s: %s", what,
               spmv__text_of_plan(&other->plan).text, error, other->full * 1e6, c->now.full * 1e6, spmv__text_of_plan(&c->now.plan).text,
               spmv__yes_no(better));
    if (better) c->now = *other;
}

/* ---- all policies ---------------------------------------------------------------------------------------------------------- */

/* "Priority of the categories": lets each category take its share, the one with the highest rate first. The flat category takes all. */
static spmv_status spmv__cocktail_categories(spmv__brew *c)
{
    static const int begin[] = { SPMV__BREW_BDIA, SPMV__BREW_BLOCK, SPMV__BREW_ELL };
    static const int end[] = { SPMV__BREW_ELL, SPMV__BREW_END, SPMV__BREW_BLOCK };
    static const char *const name[] = { "diagonals", "blocks", "flat" };
    enum { DIAGONALS, BLOCKS, FLAT, CATEGORIES };
    double highest[CATEGORIES];
    int order[CATEGORIES], i, j;
    spmv_status s = SPMV_OK;
    SPMV__STEP(c, "settings  %.0f rows, %.3f nonzeros in a row; rates in GFLOP/s", c->rows, c->per_row);
    for (i = 0; i < CATEGORIES; i++) {
        int fastest = spmv__brew_fastest(c, begin[i], end[i]);
        highest[i] = c->rate[fastest];
        SPMV__STEP(c, "priority  %s: %.3f, %s", name[i], highest[i],
                   highest[i] > 0 ? spmv__text_of(&c->layout[fastest], 1).text : "no rate");
        for (j = i; j > 0 && spmv__is_less(highest[order[j - 1]], highest[i]); j--) order[j] = order[j - 1];
        order[j] = i;
    }
    for (i = 0; i < CATEGORIES && c->left->look.nnz && !s; i++) {
        if (order[i] == DIAGONALS) s = spmv__cocktail_diagonals(c);
        else if (order[i] == BLOCKS) s = spmv__cocktail_blocks(c);
        else {
            s = spmv__cocktail_ell(c);
            if (!s && c->left->look.nnz) s = spmv__cocktail_csr_or_coo(c);
            break;
        }
    }
    return s;
}

/* Looks at the whole matrix, and finds the load of each layout. */
static spmv_status spmv__brew_whole(spmv__brew *c)
{
    spmv_status s = spmv__last_format(&c->last, spmv__unusable(c->e), c->e->h);
    int i;
    for (i = 0; i < SPMV__BREW_END; i++)
        if (spmv__usable(c->e, c->layout[i].format)) c->later |= 1u << c->layout[i].format;
    if (!s) s = spmv__brew_settle(c, &c->base);
    for (i = 0; i < SPMV__BREW_END && !s && c->base.look.nnz; i++)
        if (c->later >> c->layout[i].format & 1u && !spmv__load_of(c->e, &c->layout[i], &c->base.look, &c->f, &c->whole[i], &s))
            c->whole[i].slots = 0;
    return s;
}

/* Makes the plan. */
static spmv_status spmv__brew_plan(spmv__brew *c)
{
    spmv_status s = spmv__brew_whole(c);
    if (!s && c->left->look.nnz) s = spmv__cocktail_categories(c);
    if (s) return s;
    if (!c->now.plan.count) c->now.plan.part[c->now.plan.count++] = spmv__plain(c->last);
    if (!c->e->a->nnz) return SPMV_OK;
    s = spmv__brew_estimate(c, &c->now.plan, &c->first);
    c->now = c->first;
    if (!s) s = spmv__cocktail_merge(c);
    if (s) return s;
    spmv__brew_defend(c, &c->first, "before merging");
    spmv__brew_alone(c, &c->best);
    spmv__brew_defend(c, &c->best, "a format alone");
    return SPMV_OK;
}

/* Copies the plan into the choice, as its first option, with the variants by which its parts were rated. */
static void spmv__brew_take(const spmv__brew *c, spmv_choice *out)
{
    const spmv__brewed *b = &c->now;
    spmv_option *o = out->option;
    int i;
    out->plan.count = b->plan.count;
    memcpy(out->plan.part, b->plan.part, sizeof b->plan.part);
    for (i = 0; i < b->plan.count; i++) {
        const spmv_candidate *k = b->line[i];
        spmv__add_variant(out->variant, sizeof out->variant, i, k && k->layout.format == b->plan.part[i].format ? k->variant : "");
        if (k) o->convert += k->begin + k->slot * b->slots[i];
        if (i) o->convert += c->e->t->part * (double)c->e->a->nnz;
    }
    if (c->whole[SPMV__BREW_CSR].slots > 0)
        spmv__cocktail_line(c->e, &c->layout[SPMV__BREW_CSR], &c->whole[SPMV__BREW_CSR], 1, &out->csr);
    o->predicted = o->cost = b->full > 0 ? b->full : 0;
    out->count = 1;
}

/* Chooses the plan (clSpMV 3.3).
 *   out    its plan, variant, times and first option are set
 *   e      the table and the matrix
 *   d      what the text "cocktail" sets, else zero
 *   hints  NULL, or where the steps go */
static spmv_status spmv__cocktail_make(spmv_choice *out, const spmv__estimator *e, const spmv_cocktail_desc *d,
                                       const spmv_build_hints *hints)
{
    void *block;
    spmv__brew *c;
    spmv_status s = spmv__new(e->h, &block, 1, sizeof *c, 0);
    if (s) return s;
    c = (spmv__brew *)block;
    c->e = e;
    c->d = d;
    c->rows = e->a->rows ? (double)e->a->rows : 1;
    out->features.rows = e->a->rows;
    out->features.cols = e->a->cols;
    out->features.nnz = e->a->nnz;
    out->steps = hints ? hints->steps : NULL;
    spmv__text_open(&c->steps, hints ? hints->steps : NULL, out->steps ? SPMV_COCKTAIL_TEXT : 0);
    spmv__brew_layouts(c);
    s = spmv__brew_plan(c);
    spmv__text_close(&c->steps);
    if (!s) spmv__brew_take(c, out);
    spmv__left_free(&c->base);
    spmv__left_free(&c->after);
    spmv__left_free(&c->other);
    spmv_free(e->h, block);
    return s;
}

#endif
