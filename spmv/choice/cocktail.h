/* SPDX-License-Identifier: MIT
 *
 * spmv/choice/cocktail.h - "cocktail": the greedy policies of clSpMV (Su, Keutzer 2012, section 3.3), rule by rule.
 */
#ifndef SPMV__CHOICE_COCKTAIL_H
#define SPMV__CHOICE_COCKTAIL_H

#include "../choice.h"
#include "../plan/builders.h"

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

/* ---- layouts and rates --------------------------------------------------------------------------------------------- */

enum {
    SPMV__COCKTAIL_SIZES  = 8, /* of blocks: the paper's, which are the first of SPMV_BLOCK_LIST */
    SPMV__COCKTAIL_BLOCKS = 3  /* formats for each of them */
};

/* Where the layouts of each category begin in spmv__brew.layout; sell has one for each of its heights. */
enum {
    SPMV__BREW_BDIA, SPMV__BREW_DIA,
    SPMV__BREW_ELL, SPMV__BREW_SELL, SPMV__BREW_SELL_END = SPMV__BREW_SELL + 4, SPMV__BREW_CSR = SPMV__BREW_SELL_END, SPMV__BREW_COO,
    SPMV__BREW_BLOCK, SPMV__BREW_END = SPMV__BREW_BLOCK + SPMV__COCKTAIL_SIZES * SPMV__COCKTAIL_BLOCKS
};

/* What spmv__cocktail_make works on. */
typedef struct spmv__brew {
    const spmv_csr           *a;
    const spmv_cocktail_desc *d;
    const spmv_hooks         *h;
    spmv_cocktail            *out;
    spmv__text                steps;
    spmv_spec                 layout[SPMV__BREW_END];
    double                    rate[SPMV__BREW_END]; /* of each layout at the current settings; 0: it may not be used */
    double                    rows, per_row;        /* the current settings */
    spmv_split                split;                /* by the parts so far; its last part is what they leave */
    spmv_view                 left;                 /* what they leave */
    uint64_t                  left_nnz;
    spmv_format               last;                 /* for nonzeros that no policy takes, because no flat format has a rate */
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
    static const int sizes[][2] = {
#define X(h, w, u) { h, w },
        SPMV_BLOCK_LIST(X)
#undef X
    };
    static const spmv_format flat[] = { SPMV_ELL, SPMV_SELL, SPMV_SELL, SPMV_SELL, SPMV_SELL, SPMV_CSR, SPMV_COO };
    static const int64_t heights[] = { 0 /* 32 */, 64, 128, 256 };
    static const spmv_format blocks[SPMV__COCKTAIL_BLOCKS] = { SPMV_SBELL, SPMV_BELL, SPMV_BCSR };
    int i;
    memset(c->layout, 0, sizeof c->layout);
    c->layout[SPMV__BREW_BDIA].format = SPMV_BDIA;
    c->layout[SPMV__BREW_DIA].format = SPMV_DIA;
    for (i = SPMV__BREW_ELL; i < SPMV__BREW_BLOCK; i++) c->layout[i].format = flat[i - SPMV__BREW_ELL];
    for (i = SPMV__BREW_SELL; i < SPMV__BREW_SELL_END; i++) c->layout[i].key[SPMV_KEY_H] = heights[i - SPMV__BREW_SELL];
    for (i = 0; i < SPMV__COCKTAIL_SIZES * SPMV__COCKTAIL_BLOCKS; i++) {
        spmv_spec *s = &c->layout[SPMV__BREW_BLOCK + i];
        s->format = blocks[i % SPMV__COCKTAIL_BLOCKS];
        s->key[SPMV_KEY_B] = (int64_t)sizes[i / SPMV__COCKTAIL_BLOCKS][0] << 8 | sizes[i / SPMV__COCKTAIL_BLOCKS][1];
    }
}

static int spmv__brew_usable(const spmv__brew *c, spmv_format f) { return spmv_format_built(f) && !(c->d->without >> f & 1u); }

/* The rate of a layout; 0 if it is not known, or may not be used. */
static double spmv__brew_rate(const spmv__brew *c, const spmv_spec *layout, double per_row)
{
    double rate = per_row > 0 && spmv__brew_usable(c, layout->format) ? c->d->rate(c->d->user, layout, c->rows, per_row) : 0;
    return rate > 0 ? rate : 0;
}

/* Sets the current settings, after a part was taken, and reads all rates there. */
static void spmv__brew_settle(spmv__brew *c)
{
    int i;
    c->per_row = (double)c->left_nnz / c->rows;
    for (i = 0; i < SPMV__BREW_END; i++) c->rate[i] = spmv__brew_rate(c, &c->layout[i], c->per_row);
}

/* The layout with the highest rate among those from first to end - 1, the first of equal ones. */
static int spmv__brew_fastest(const spmv__brew *c, int first, int end)
{
    int i, best = first;
    for (i = first + 1; i < end; i++)
        if (c->rate[i] > c->rate[best]) best = i;
    return best;
}

/* The highest of those rates; 0: none is known. */
static double spmv__brew_highest(const spmv__brew *c, int first, int end) { return c->rate[spmv__brew_fastest(c, first, end)]; }

static double spmv__brew_flat(const spmv__brew *c) { return spmv__brew_highest(c, SPMV__BREW_ELL, SPMV__BREW_BLOCK); } /* g_f */

/* The text of a layout, a part or a plan, cut off after as many characters as a line of the steps can hold. */
typedef struct spmv__brew_text {
    char text[200];
} spmv__brew_text;

static spmv__brew_text spmv__text_of(const spmv_spec *spec)
{
    spmv__brew_text s;
    spmv__text t;
    spmv__text_open(&t, s.text, sizeof s.text);
    spmv__put_spec(&t, spec);
    spmv__text_close(&t);
    return s;
}

static spmv__brew_text spmv__text_of_plan(const spmv_plan *plan)
{
    spmv__brew_text s;
    spmv_plan_print(plan, s.text, sizeof s.text);
    return s;
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

/* Splits the matrix by the parts so far and finds what they leave. */
static spmv_status spmv__brew_split(spmv__brew *c)
{
    spmv_plan *plan = &c->out->plan;
    spmv_spec *last = &plan->part[plan->count];
    spmv_status s;
    spmv_split_destroy(&c->split);
    memset(last, 0, sizeof *last);
    last->format = c->last;
    plan->count++;
    s = spmv_split_create(&c->split, plan, c->a, c->h);
    plan->count--;
    if (s) return s;
    c->left = spmv_split_view(&c->split, c->a, plan->count);
    c->left_nnz = c->split.nnz[plan->count];
    spmv__brew_settle(c);
    return SPMV_OK;
}

static spmv_spec *spmv__brew_add(spmv__brew *c, const spmv_spec *layout)
{
    spmv_spec *part = &c->out->plan.part[c->out->plan.count++];
    *part = *layout;
    return part;
}

/* The largest whole number of millionths in n / of, for the keys d and fill. */
static int64_t spmv__millionths_of(uint64_t n, uint64_t of) { return (int64_t)((double)n * (double)SPMV__ONE / (double)of); }

/* A number of slots over a rate: half the nanoseconds that they take. Negative if the rate is not known, or if there are too many slots for
 * one part, which is written as a line. */
static double spmv__slots_over(spmv__brew *c, double slots, double rate)
{
    if (!(rate > 0)) return -1;
    if (!c->d->most_slots || slots <= (double)c->d->most_slots) return slots / rate;
    SPMV__STEP(c, "  %.0f slots are more than a part may have, which is %llu", slots, (spmv__ull)c->d->most_slots);
    return -1;
}

/* ---- dense diagonals, BDIA or DIA ------------------------------------------------------------------------------------- */

/* The dense diagonals of what is left. */
typedef struct spmv__dense_diagonals {
    uint64_t  all, dense, nnz;     /* diagonals; dense ones, and their nonzeros */
    uint64_t  least[2], most[2];   /* nonzeros and length: of the emptiest dense diagonal, of the fullest of the others */
    uint64_t *bands, widest;       /* bands[w]: bands of w adjacent dense diagonals; the greatest w */
} spmv__dense_diagonals;

/* Does the inequality hold for a diagonal with so many nonzeros? */
static int spmv__is_dense_diagonal(uint64_t held, uint64_t length, double gf, double gd)
{
    return (double)held * gd > (double)length * gf;
}

/* Counts the dense diagonals, and finds the emptiest of them and the fullest of the others. */
static void spmv__count_diagonals(const spmv__brew *c, const spmv__diagonals *d, double gf, double gd, spmv__dense_diagonals *f)
{
    uint64_t at = 0, number, held;
    while (spmv__diagonals_next(d, &at, &number, &held)) {
        uint64_t length = spmv__diagonal_length(c->a, number);
        int dense = spmv__is_dense_diagonal(held, length, gf, gd);
        uint64_t *extreme = dense ? f->least : f->most;
        double fill = (double)held * (double)extreme[1], other = (double)extreme[0] * (double)length; /* over both lengths */
        f->all++;
        f->dense += (uint64_t)dense;
        f->nnz += dense ? held : 0;
        if (extreme[1] && (dense ? fill >= other : fill <= other)) continue;
        extreme[0] = held;
        extreme[1] = length;
    }
}

/* Counts the bands in which the dense diagonals lie, by their widths. */
static void spmv__count_bands(const spmv__brew *c, const spmv__diagonals *d, double gf, double gd, spmv__dense_diagonals *f)
{
    uint64_t at = 0, number, held, before = 0, width = 0;
    while (spmv__diagonals_next(d, &at, &number, &held)) {
        if (!spmv__is_dense_diagonal(held, spmv__diagonal_length(c->a, number), gf, gd)) continue;
        if (width && number != before + 1) {
            f->bands[width]++;
            width = 0;
        }
        if (++width > f->widest) f->widest = width;
        before = number;
    }
    if (width) f->bands[width]++;
}

/* Finds the dense diagonals of what is left, those with e_d > n_d g_f / g_d. Free f->bands. */
static spmv_status spmv__find_diagonals(const spmv__brew *c, double gf, double gd, spmv__dense_diagonals *f)
{
    spmv__diagonals d;
    void *block = NULL;
    spmv_status s = spmv__diagonals_count(&d, &c->left, c->h);
    memset(f, 0, sizeof *f);
    if (s) return s;
    spmv__count_diagonals(c, &d, gf, gd, f);
    s = spmv__new(c->h, &block, f->dense + 2, sizeof *f->bands, 0);
    f->bands = (uint64_t *)block;
    if (!s) spmv__count_bands(c, &d, gf, gd, f);
    spmv__diagonals_free(&d, c->h);
    return s;
}

/* A way to store the dense diagonals: so many of them in bands of BDIA, the others in DIA. */
typedef struct spmv__diagonal_case {
    uint64_t thick, banded; /* the least diagonals of a band in BDIA, and all diagonals there */
    double   time;          /* in units of spmv__slots_over; negative: not possible */
} spmv__diagonal_case;

/* Estimates one of the ways, and writes its line: the nonzeros over the time of both parts, in GFLOP/s. */
static spmv__diagonal_case spmv__try_diagonals(spmv__brew *c, const spmv__dense_diagonals *f, uint64_t thick)
{
    spmv__diagonal_case k;
    double bands, others, g1, g2, t1, t2;
    uint64_t w;
    k.thick = thick;
    for (k.banded = 0, w = thick; w <= f->widest; w++) k.banded += w * f->bands[w];
    bands = (double)k.banded;
    others = (double)(f->dense - k.banded);
    g1 = spmv__brew_rate(c, &c->layout[SPMV__BREW_BDIA], bands);
    g2 = spmv__brew_rate(c, &c->layout[SPMV__BREW_DIA], others);
    t1 = bands > 0 ? spmv__slots_over(c, c->rows * bands, g1) : 0;
    t2 = others > 0 ? spmv__slots_over(c, c->rows * others, g2) : 0;
    k.time = t1 < 0 || t2 < 0 ? -1 : t1 + t2;
    if (k.time < 0) return k;
    if (others <= 0 || bands <= 0)
        SPMV__STEP(c, "  only %s: %llu / (%.0f / %.3f) = %.3f", others <= 0 ? "bdia" : "dia", (spmv__ull)f->nnz,
                   c->rows * (double)f->dense, others <= 0 ? g1 : g2, (double)f->nnz / k.time);
    else
        SPMV__STEP(c, "  bdia for bands of %llu or more, dia: %llu / (%.0f / %.3f + %.0f / %.3f) = %.3f", (spmv__ull)thick,
                   (spmv__ull)f->nnz, c->rows * bands, g1, c->rows * others, g2, (double)f->nnz / k.time);
    return k;
}

/* Chooses between only BDIA, only DIA, and BDIA for thick bands, and adds the parts. */
static void spmv__choose_diagonals(spmv__brew *c, const spmv__dense_diagonals *f)
{
    spmv__diagonal_case best = spmv__try_diagonals(c, f, 1), k = spmv__try_diagonals(c, f, f->widest + 1);
    int64_t d = f->dense < f->all ? spmv__millionths_of(f->least[0], f->least[1]) : 0;
    uint64_t w, thinnest = 1;
    if (best.time < 0 || (k.time >= 0 && k.time < best.time)) best = k;
    while (thinnest < f->widest && !f->bands[thinnest]) thinnest++;
    for (w = thinnest + 1; w <= f->widest; w++) { /* widths at which the bands of BDIA are other ones */
        if (!f->bands[w]) continue;
        k = spmv__try_diagonals(c, f, w);
        if (k.time >= 0 && (best.time < 0 || k.time < best.time)) best = k;
    }
    if (best.time < 0) return;
    if (best.banded) {
        spmv_spec *part = spmv__brew_add(c, &c->layout[SPMV__BREW_BDIA]);
        part->key[SPMV_KEY_D] = d;
        if (best.banded < f->dense) part->key[SPMV_KEY_W] = (int64_t)best.thick;
    }
    if (best.banded < f->dense) spmv__brew_add(c, &c->layout[SPMV__BREW_DIA])->key[SPMV_KEY_D] = d;
}

/* "Dense Diagonals" and "BDIA vs DIA". */
static spmv_status spmv__cocktail_dense_diagonals(spmv__brew *c)
{
    double gf = spmv__brew_flat(c), gd = spmv__brew_highest(c, SPMV__BREW_BDIA, SPMV__BREW_ELL);
    spmv__dense_diagonals f;
    spmv_status s;
    if (gd <= 0) return SPMV_OK;
    SPMV__STEP(c, "diagonals e_d > n_d x g_f / g_d = n_d x %.3f / %.3f = n_d x %.6f", gf, gd, gf / gd);
    if (gf >= gd) return SPMV_OK; /* no diagonal holds more nonzeros than it has places */
    s = spmv__find_diagonals(c, gf, gd, &f);
    if (!s) {
        SPMV__STEP(c, "  holds for %llu of %llu diagonals, with %llu nonzeros", (spmv__ull)f.dense, (spmv__ull)f.all, (spmv__ull)f.nnz);
        if (f.least[1])
            SPMV__STEP(c, "  the emptiest of these: %llu > %.3f", (spmv__ull)f.least[0], (double)f.least[1] * gf / gd);
        if (f.most[1]) SPMV__STEP(c, "  the fullest other: %llu > %.3f: no", (spmv__ull)f.most[0], (double)f.most[1] * gf / gd);
        if (f.dense) spmv__choose_diagonals(c, &f);
    }
    spmv_free(c->h, f.bands);
    return s ? s : spmv__brew_split(c);
}

/* ---- dense blocks, SBELL or BELL or BCSR ------------------------------------------------------------------------------ */

/* The sums of a histogram of blocks over block rows. */
typedef struct spmv__block_sums {
    uint64_t blocks, nnz;
    uint64_t widest, sliced; /* blocks of the widest block row; blocks of sbell's slices, whose rows are all as wide as the widest */
} spmv__block_sums;

/* Counts the blocks that hold at least so many nonzeros of what a view shows. */
static void spmv__sum_blocks(const spmv__brew *c, const spmv_view *v, const spmv_spec *spec, const uint64_t *least,
                             spmv__block_sums *out, int histograms)
{
    uint64_t bh = (uint64_t)spmv__block_height(spec), bw = (uint64_t)spmv__block_width(spec), supers = spmv__ceil_div(c->a->rows, bh);
    uint64_t slice, super, load, height = spmv__height(spec), widest[2] = { 0, 0 }, wide[2] = { 0, 0 };
    spmv__blocks blocks;
    int j;
    memset(out, 0, (size_t)histograms * sizeof *out);
    for (slice = 0; slice < supers; slice += height) {
        uint64_t end = spmv__smaller(slice + height, supers);
        for (j = 0; j < histograms; j++) widest[j] = 0;
        for (super = slice; super < end; super++) {
            for (j = 0; j < histograms; j++) wide[j] = 0;
            spmv__blocks_begin(&blocks, v, super * bh, bh, bw);
            while (spmv__blocks_next(&blocks) != SPMV__NO_BLOCK) {
                load = spmv__blocks_load(&blocks);
                for (j = 0; j < histograms; j++) {
                    if (load < least[j]) continue;
                    wide[j]++;
                    out[j].nnz += load;
                }
            }
            for (j = 0; j < histograms; j++) {
                out[j].blocks += wide[j];
                if (wide[j] > widest[j]) widest[j] = wide[j];
            }
        }
        for (j = 0; j < histograms; j++) {
            out[j].sliced += widest[j] * (end - slice);
            if (widest[j] > out[j].widest) out[j].widest = widest[j];
        }
    }
}

/* Slots of a block format. */
static double spmv__block_slots(const spmv__brew *c, const spmv_spec *spec, const spmv__block_sums *b)
{
    uint64_t bh = (uint64_t)spmv__block_height(spec);
    double size = (double)bh * (double)spmv__block_width(spec);
    if (spec->format == SPMV_BCSR) return size * (double)b->blocks;
    return size * (spec->format == SPMV_SBELL ? (double)b->sliced : (double)b->widest * (double)spmv__ceil_div(c->a->rows, bh));
}

/* The best way to store blocks so far. */
typedef struct spmv__block_case {
    int      layout;    /* 0: none */
    uint64_t least, nnz; /* nonzeros of a dense block; of all of them */
    double   time;      /* of the blocks and the rest, in units of spmv__slots_over */
} spmv__block_case;

/* Estimates the dense blocks, or all blocks, in one format, the rest at the rate of the flat category; writes a line, and replaces *best if
 * this is faster. */
static void spmv__try_blocks(spmv__brew *c, int layout, const spmv__block_sums *b, uint64_t least, double gf, spmv__block_case *best)
{
    const spmv_spec *spec = &c->layout[layout];
    double n = (double)c->left_nnz, rest = n - (double)b->nnz, slots = spmv__block_slots(c, spec, b), t, g, t_rest = 0;
    int pays = 1;
    if (c->d->rates_alone) slots = (double)b->blocks * (double)(spmv__block_height(spec) * spmv__block_width(spec));
    g = c->d->rates_alone ? c->rate[layout] : spmv__brew_rate(c, spec, slots / c->rows);
    t = spmv__slots_over(c, slots, g);
    if (rest > 0) t_rest = spmv__slots_over(c, rest, gf);
    if (!b->blocks || t < 0 || t_rest < 0) return;
    if (rest > 0)
        SPMV__STEP(c, "    %s, dense: %.0f / (%.0f / %.3f + %.0f / %.3f) = %.3f", spmv__text_of(spec).text, n, slots, g, rest, gf,
                   n / (t + t_rest));
    else {
        pays = n > gf * t;
        SPMV__STEP(c, "    %s, all: %.0f / (%.0f / %.3f) = %.3f > %.3f: %s", spmv__text_of(spec).text, n, slots, g, n / t, gf,
                   spmv__yes_no(pays));
    }
    if (!pays || (best->layout && t + t_rest >= best->time)) return;
    best->layout = layout;
    best->least = least;
    best->nnz = b->nnz;
    best->time = t + t_rest;
}

/* Applies the policies to one block size. */
static void spmv__cocktail_block_size(spmv__brew *c, int first, double gf, spmv__block_case *best)
{
    const spmv_spec *spec = &c->layout[first];
    double gb = spmv__brew_highest(c, first, first + SPMV__COCKTAIL_BLOCKS);
    double size = (double)(spmv__block_height(spec) * spmv__block_width(spec));
    spmv__block_sums sums[2]; /* of all blocks, of the dense ones */
    uint64_t least[2] = { 1, 1 };
    int i, j;
    if (gb <= 0) return;
    SPMV__STEP(c, "  %lldx%lld: n_b x %.3f / %.3f = %.3f", (long long)spmv__block_height(spec), (long long)spmv__block_width(spec), gf, gb,
               size * gf / gb);
    if (gf >= gb) return; /* no block holds more nonzeros than it has places */
    while (!((double)least[1] * gb > size * gf)) least[1]++;
    spmv__sum_blocks(c, &c->left, spec, least, sums, 2);
    SPMV__STEP(c, "    e_b >= %llu: %llu of %llu blocks, with %llu nonzeros", (spmv__ull)least[1], (spmv__ull)sums[1].blocks,
               (spmv__ull)sums[0].blocks, (spmv__ull)sums[1].nnz);
    for (j = 1; j >= 0; j--)
        for (i = first; i < first + SPMV__COCKTAIL_BLOCKS && (j || sums[1].blocks < sums[0].blocks); i++)
            spmv__try_blocks(c, i, &sums[j], j ? least[1] : 1, gf, best);
}

/* "Dense Blocks" and "SBELL vs BELL vs BCSR", over all block sizes. */
static spmv_status spmv__cocktail_dense_blocks(spmv__brew *c)
{
    double gf = spmv__brew_flat(c);
    spmv__block_case best;
    spmv_spec *part;
    int i;
    if (spmv__brew_highest(c, SPMV__BREW_BLOCK, SPMV__BREW_END) <= 0) return SPMV_OK;
    memset(&best, 0, sizeof best);
    SPMV__STEP(c, "blocks    e_b > n_b x g_f / g_b; then nonzeros / (slots / g + rest / g_f)");
    for (i = SPMV__BREW_BLOCK; i < SPMV__BREW_END; i += SPMV__COCKTAIL_BLOCKS) spmv__cocktail_block_size(c, i, gf, &best);
    if (!best.layout) return SPMV_OK;
    part = spmv__brew_add(c, &c->layout[best.layout]);
    if (best.nnz < c->left_nnz)
        part->key[SPMV_KEY_D] = spmv__millionths_of(best.least, (uint64_t)(spmv__block_height(part) * spmv__block_width(part)));
    return spmv__brew_split(c);
}

/* ---- flat formats ------------------------------------------------------------------------------------------------------ */

/* The row lengths of what is left. */
typedef struct spmv__brew_rows {
    uint32_t *length;  /* of each row */
    uint64_t *count;   /* count[k]: scratch, rows with k nonzeros */
    uint64_t  longest;
} spmv__brew_rows;

static void spmv__brew_rows_free(const spmv__brew *c, spmv__brew_rows *r)
{
    spmv_free(c->h, r->length);
    spmv_free(c->h, r->count);
}

/* Finds the row lengths. Free them with spmv__brew_rows_free. */
static spmv_status spmv__brew_rows_make(const spmv__brew *c, const spmv_view *v, spmv__brew_rows *out)
{
    const spmv_csr *a = c->a;
    uint64_t r, k;
    void *block;
    spmv_status s = spmv__new(c->h, &block, a->rows, sizeof *out->length, 0);
    memset(out, 0, sizeof *out);
    if (s) return s;
    out->length = (uint32_t *)block;
    for (r = 0; r < a->rows; r++) {
        for (k = a->ptr[r]; k < a->ptr[r + 1]; k++) out->length[r] += (uint32_t)spmv__mine(v, k);
        if (out->length[r] > out->longest) out->longest = out->length[r];
    }
    s = spmv__new(c->h, &block, out->longest + 2, sizeof *out->count, 0);
    out->count = (uint64_t *)block;
    return s;
}

/* The ELL part of some rows. */
typedef struct spmv__ell_part {
    uint64_t w, slots, nnz; /* the width, and what it covers */
} spmv__ell_part;

/* "Extract ELL" for the rows from first to end - 1: the greatest width w with (z + e) / g < e / m_c. next: the width after it, for which
 * the inequality fails; its w is 0 if there is none, because the longest row is reached. */
static spmv__ell_part spmv__extract_ell(const spmv__brew_rows *r, uint64_t first, uint64_t end, double g, double mc, spmv__ell_part *next)
{
    uint64_t i, longest = 0, reach = end - first;
    spmv__ell_part best, k;
    memset(&best, 0, sizeof best);
    memset(&k, 0, sizeof k);
    for (i = first; i < end; i++)
        if (r->length[i] > longest) longest = r->length[i];
    memset(r->count, 0, (size_t)(longest + 1) * sizeof *r->count);
    for (i = first; i < end; i++) r->count[r->length[i]]++;
    memset(next, 0, sizeof *next);
    while (k.w < longest) {
        reach -= r->count[k.w++];
        k.nnz += reach;
        k.slots = k.w * (end - first);
        if (!((double)k.slots * mc < (double)k.nnz * g)) {
            *next = k; /* the mean gain falls with every column, so no greater width can hold either */
            break;
        }
        best = k;
    }
    return best;
}

/* Writes the inequality for one width. */
static void spmv__ell_step(spmv__brew *c, const spmv__ell_part *k, double g, double mc, const char *where, int yes)
{
    SPMV__STEP(c, "  %sw = %llu: (%llu + %llu) / %.3f = %.3f < %llu / %.3f = %.3f: %s", where, (spmv__ull)k->w,
               (spmv__ull)(k->slots - k->nnz), (spmv__ull)k->nnz, g, (double)k->slots / g, (spmv__ull)k->nnz, mc, (double)k->nnz / mc,
               spmv__yes_no(yes));
}

/* A way to store the first entries of rows by ELL or SELL. */
typedef struct spmv__ell_case {
    int            layout;
    spmv__ell_part all;    /* the sums over the slices */
    int64_t        key;    /* w of ell or fill of sell */
    double         time;   /* of the part, and of the rest at m_c; in units of spmv__slots_over; negative: not possible */
} spmv__ell_case;

/* Extracts ELL or SELL and writes the inequalities: for SELL those of the slice that is filled least, and of the one where the next width
 * came closest. */
static spmv__ell_case spmv__try_ell(spmv__brew *c, const spmv__brew_rows *r, int layout, double mc)
{
    const spmv_spec *spec = &c->layout[layout];
    double g = c->rate[layout], rest, t, t_rest = 0;
    uint64_t rows = c->a->rows, h = spec->format == SPMV_SELL ? spmv__height(spec) : rows, first, slices = 0, wide = 0;
    spmv__ell_part least, most, k, next;
    spmv__ell_case out;
    memset(&out, 0, sizeof out);
    memset(&least, 0, sizeof least);
    memset(&most, 0, sizeof most);
    out.layout = layout;
    for (first = 0; first < rows; first += h, slices++) {
        k = spmv__extract_ell(r, first, spmv__smaller(first + h, rows), g, mc, &next);
        out.all.slots += k.slots;
        out.all.nnz += k.nnz;
        if (k.w > out.all.w) out.all.w = k.w;
        wide += k.w != 0;
        if (k.w && (!least.w || (double)k.nnz * (double)least.slots < (double)least.nnz * (double)k.slots)) least = k;
        if (next.w && (!most.w || (double)next.nnz * (double)most.slots > (double)most.nnz * (double)next.slots)) most = next;
    }
    SPMV__STEP(c, "%s (z + e) / g < e / m_c: widths up to %llu in %llu of %llu slices", spmv__text_of(spec).text, (spmv__ull)out.all.w,
               (spmv__ull)wide, (spmv__ull)slices);
    if (least.w) spmv__ell_step(c, &least, g, mc, slices > 1 ? "least filled, " : "", 1);
    if (most.w) spmv__ell_step(c, &most, g, mc, slices > 1 ? "fullest refused, " : "", 0);
    out.key = spec->format == SPMV_ELL ? (int64_t)out.all.w : least.w ? spmv__millionths_of(least.nnz, least.slots) : 0;
    rest = (double)(c->left_nnz - out.all.nnz);
    if (!c->d->rates_alone) g = spmv__brew_rate(c, spec, (double)out.all.slots / c->rows);
    t = out.all.w ? spmv__slots_over(c, (double)out.all.slots, g) : -1;
    if (rest > 0) t_rest = spmv__slots_over(c, rest, mc);
    out.time = t < 0 || t_rest < 0 ? -1 : c->d->rates_alone ? 1 / c->rate[layout] : t + t_rest;
    if (out.time < 0) return out;
    if (c->d->rates_alone) SPMV__STEP(c, "  g = %.3f", c->rate[layout]);
    else
        SPMV__STEP(c, "  %llu / (%llu / %.3f + %.0f / %.3f) = %.3f", (spmv__ull)c->left_nnz, (spmv__ull)out.all.slots, g, rest, mc,
                   (double)c->left_nnz / out.time);
    return out;
}

/* "ELL and SELL vs CSR and COO", "Extract ELL", "Extract SELL" and "ELL vs SELL". */
static spmv_status spmv__cocktail_ell(spmv__brew *c)
{
    double mc = spmv__brew_highest(c, SPMV__BREW_CSR, SPMV__BREW_BLOCK), me = spmv__brew_highest(c, SPMV__BREW_ELL, SPMV__BREW_CSR);
    spmv__ell_case best, k;
    spmv__brew_rows r;
    spmv_spec *part;
    spmv_status s;
    int i;
    SPMV__STEP(c, "flat      m_c = max(%.3f, %.3f) > m_e = max(%.3f, %.3f): %s", c->rate[SPMV__BREW_CSR], c->rate[SPMV__BREW_COO],
               c->rate[SPMV__BREW_ELL], spmv__brew_highest(c, SPMV__BREW_SELL, SPMV__BREW_SELL_END), spmv__yes_no(mc > me));
    if (mc > me) return SPMV_OK;
    memset(&best, 0, sizeof best);
    best.time = -1;
    s = spmv__brew_rows_make(c, &c->left, &r);
    for (i = SPMV__BREW_ELL; i < SPMV__BREW_SELL_END && !s; i++) {
        if (c->rate[i] <= 0) continue;
        k = spmv__try_ell(c, &r, i, mc);
        if (k.time >= 0 && (best.time < 0 || k.time < best.time)) best = k;
    }
    spmv__brew_rows_free(c, &r);
    if (s || best.time < 0) return s;
    part = spmv__brew_add(c, &c->layout[best.layout]);
    if (best.all.nnz < c->left_nnz) part->key[part->format == SPMV_ELL ? SPMV_KEY_W : SPMV_KEY_FILL] = best.key;
    return spmv__brew_split(c);
}

/* The most nonzeros of a view that one of the work-groups of CSR multiplies, times the number of groups: u max nnz(i). */
static double spmv__balanced(const spmv__brew *c, const spmv_view *v, uint64_t *groups, uint64_t *most)
{
    uint64_t rows = c->a->rows, i, r, k;
    *groups = spmv__smaller(c->d->groups ? c->d->groups : 1, rows);
    *most = 0;
    for (i = 0, r = 0; i < *groups; i++) {
        uint64_t end = rows / *groups * (i + 1) + rows % *groups * (i + 1) / *groups, n = 0;
        for (; r < end; r++)
            for (k = c->a->ptr[r]; k < c->a->ptr[r + 1]; k++) n += (uint64_t)spmv__mine(v, k);
        if (n > *most) *most = n;
    }
    return (double)*groups * (double)*most;
}

/* "CSR vs COO", for all that is left. If neither has a rate, the first format that may be used takes it. */
static void spmv__cocktail_csr_or_coo(spmv__brew *c)
{
    double g_csr = c->rate[SPMV__BREW_CSR], g_coo = c->rate[SPMV__BREW_COO], n = (double)c->left_nnz, work;
    uint64_t groups, most;
    int csr = g_csr > 0;
    spmv_spec last;
    if (g_csr > 0 && g_coo > 0) {
        work = spmv__balanced(c, &c->left, &groups, &most);
        csr = work / g_csr < n / g_coo;
        SPMV__STEP(c, "csr, coo  u max nnz(i) / g_csr = %llu x %llu / %.3f = %.3f < n / g_coo = %.0f / %.3f = %.3f: %s", (spmv__ull)groups,
                   (spmv__ull)most, g_csr, work / g_csr, n, g_coo, n / g_coo, spmv__yes_no(csr));
    } else {
        SPMV__STEP(c, "csr, coo  g_csr = %.3f, g_coo = %.3f: at most one has a rate", g_csr, g_coo);
    }
    memset(&last, 0, sizeof last);
    last.format = csr ? SPMV_CSR : g_coo > 0 ? SPMV_COO : c->last;
    spmv__brew_add(c, &last);
}

static spmv_status spmv__cocktail_flat(spmv__brew *c)
{
    spmv_status s = spmv__cocktail_ell(c);
    if (s || !c->left_nnz) return s;
    spmv__cocktail_csr_or_coo(c);
    return spmv__brew_split(c);
}

/* ---- merging ------------------------------------------------------------------------------------------------------------ */

/* The slots of a part that takes all of a view. *work: the slots that its slowest group would have, times the groups. */
static spmv_status spmv__brew_slots(const spmv__brew *c, const spmv_spec *spec, const spmv_view *v, double *slots, double *work)
{
    spmv__diagonals d;
    spmv__block_sums sums;
    spmv__brew_rows rows;
    spmv__ell_part k, next;
    const uint64_t any = 1;
    uint64_t at = 0, number, held, n = 0, first, h, most;
    spmv_status s = SPMV_OK;
    switch (spmv__format_class_of(spec->format)) {
    case SPMV_CLASS_DIAGONAL:
        s = spmv__diagonals_count(&d, v, c->h);
        while (!s && spmv__diagonals_next(&d, &at, &number, &held)) n++;
        if (!s) spmv__diagonals_free(&d, c->h);
        *work = *slots = c->rows * (double)n;
        return s;
    case SPMV_CLASS_BLOCK:
        spmv__sum_blocks(c, v, spec, &any, &sums, 1);
        *work = *slots = spmv__block_slots(c, spec, &sums);
        return s;
    default:
        break;
    }
    s = spmv__brew_rows_make(c, v, &rows);
    if (!s && spmv__is_padded(spec->format)) {
        h = spec->format == SPMV_SELL ? spmv__height(spec) : c->a->rows;
        for (*slots = 0, first = 0; first < c->a->rows; first += h) {
            k = spmv__extract_ell(&rows, first, spmv__smaller(first + h, c->a->rows), 1, 0, &next);
            *slots += (double)k.slots;
        }
        *work = *slots;
    } else if (!s) {
        for (first = 0; first < c->a->rows; first++) n += rows.length[first];
        *slots = (double)n;
        *work = spec->format == SPMV_CSR ? spmv__balanced(c, v, &h, &most) : *slots;
    }
    spmv__brew_rows_free(c, &rows);
    return s;
}

/* Estimates a plan: the sum over its parts of the work over the rate at as many slots in a row. *seconds is negative if a part is too large
 * or has no rate. Parts that hold nothing are dropped from the plan. per_row: the slots in a row of each part that stays. */
static spmv_status spmv__brew_estimate(spmv__brew *c, spmv_plan *plan, double *seconds, double *per_row)
{
    spmv_split split;
    int i, kept = 0;
    spmv_status s = spmv_split_create(&split, plan, c->a, c->h);
    *seconds = 0;
    if (s) return s;
    for (i = 0; i < split.count && !s; i++) {
        spmv_view v = spmv_split_view(&split, c->a, i);
        spmv_spec layout;
        double slots = 0, work = 0, t;
        if (!split.nnz[i]) continue;
        s = spmv__brew_slots(c, &plan->part[i], &v, &slots, &work);
        if (s) break;
        memset(&layout, 0, sizeof layout);
        layout.format = plan->part[i].format;
        layout.key[SPMV_KEY_B] = plan->part[i].key[SPMV_KEY_B];
        layout.key[SPMV_KEY_H] = plan->part[i].key[SPMV_KEY_H];
        t = spmv__slots_over(c, slots, spmv__brew_rate(c, &layout, slots / c->rows));
        *seconds = t < 0 || *seconds < 0 ? -1 : *seconds + 2e-9 * t * work / slots;
        per_row[kept] = slots / c->rows;
        plan->part[kept++] = plan->part[i];
    }
    if (!s) plan->count = kept;
    spmv_split_destroy(&split);
    return s;
}

/* Makes change number i of a plan: of the first count - 1, it drops part i; of the others, it lets part i - count + 1 take all that is
 * left. 0: there is no such change. */
static int spmv__merge_change(const spmv_plan *from, int i, spmv_plan *to)
{
    int last = from->count - 1, j;
    memset(to, 0, sizeof *to);
    if (i >= 2 * last) return 0;
    if (i < last) {
        for (j = 0; j < from->count; j++)
            if (j != i) to->part[to->count++] = from->part[j];
        return 1;
    }
    to->count = i - last + 1;
    for (j = 0; j < to->count; j++) to->part[j] = from->part[j];
    to->part[i - last].key[SPMV_KEY_W] = to->part[i - last].key[SPMV_KEY_FILL] = to->part[i - last].key[SPMV_KEY_D] = 0;
    return 1;
}

/* "Merge small submatrices". trial and best: two plans to work on. */
static spmv_status spmv__cocktail_merge(spmv__brew *c, spmv_plan *trial, spmv_plan *best)
{
    spmv_cocktail *out = c->out;
    double seconds, least, per_row[SPMV_COCKTAIL_PARTS], kept[SPMV_COCKTAIL_PARTS] = { 0 };
    int i;
    spmv_status s = spmv__brew_estimate(c, &out->plan, &out->seconds, out->per_row);
    while (!s && out->seconds > 0) {
        least = out->seconds;
        for (i = 0; !s && spmv__merge_change(&out->plan, i, trial); i++) {
            s = spmv__brew_estimate(c, trial, &seconds, per_row);
            if (s) break;
            if (seconds < 0) SPMV__STEP(c, "merge     %s: not possible", spmv__text_of_plan(trial).text);
            if (seconds < 0) continue;
            SPMV__STEP(c, "merge     %s: %.3f < %.3f us, %s: %s", spmv__text_of_plan(trial).text, seconds * 1e6, out->seconds * 1e6,
                       spmv__text_of_plan(&out->plan).text, spmv__yes_no(seconds < out->seconds));
            if (seconds >= least) continue;
            least = seconds;
            *best = *trial;
            memcpy(kept, per_row, sizeof kept);
        }
        if (s || !(least < out->seconds)) break;
        out->plan = *best;
        out->seconds = least;
        memcpy(out->per_row, kept, sizeof kept);
    }
    return s;
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
        SPMV__STEP(c, "priority  %s: %.3f, %s", name[i], highest[i], highest[i] > 0 ? spmv__text_of(&c->layout[fastest]).text : "no rate");
        for (j = i; j > 0 && highest[order[j - 1]] < highest[i]; j--) order[j] = order[j - 1];
        order[j] = i;
    }
    for (i = 0; i < CATEGORIES && c->left_nnz && !s; i++) {
        if (order[i] == DIAGONALS) s = spmv__cocktail_dense_diagonals(c);
        else if (order[i] == BLOCKS) s = spmv__cocktail_dense_blocks(c);
        else s = spmv__cocktail_flat(c);
    }
    return s;
}

/* Makes the plan; its two scratch plans are large and therefore allocated. */
static spmv_status spmv__brew_plan(spmv__brew *c)
{
    void *block = NULL;
    spmv_status s = spmv__brew_split(c);
    if (!s && c->left_nnz) s = spmv__cocktail_categories(c);
    if (!s && !c->out->plan.count) c->out->plan.part[c->out->plan.count++].format = c->last;
    if (!s) s = spmv__new(c->h, &block, 2, sizeof(spmv_plan), 0);
    if (!s && c->a->nnz) s = spmv__cocktail_merge(c, (spmv_plan *)block, (spmv_plan *)block + 1);
    spmv_free(c->h, block);
    return s;
}

/* Makes the plan (clSpMV 3.3).
 *   out    becomes the plan and how it came about; on failure it is zeroed
 *   a      the matrix
 *   desc   the rates and limits
 *   hooks  may be NULL
 * Reads the matrix a few times for diagonals and flat formats, and once for each block size. SPMV_ERR_MEMORY. */
SPMV__SHARED spmv_status spmv__cocktail_make(spmv_cocktail *out, const spmv_csr *a, const spmv_cocktail_desc *desc, const spmv_hooks *hooks)
{
    spmv__brew c;
    spmv_status s;
    memset(out, 0, sizeof *out);
    memset(&c, 0, sizeof c);
    c.a = a;
    c.d = desc;
    c.h = hooks;
    c.out = out;
    c.rows = a->rows ? (double)a->rows : 1;
    spmv__text_open(&c.steps, out->steps, sizeof out->steps);
    spmv__brew_layouts(&c);
    s = spmv__last_format(&c.last, desc->without, hooks);
    if (!s) s = spmv__brew_plan(&c);
    spmv__text_close(&c.steps);
    spmv_split_destroy(&c.split);
    if (s) memset(out, 0, sizeof *out);
    return s;
}

#endif
