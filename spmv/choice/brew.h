/* SPDX-License-Identifier: MIT
 *
 * spmv/choice/brew.h - what the policies of "cocktail" work on: layouts and their rates, windows of the matrix, and what parts leave.
 */
#ifndef SPMV__CHOICE_BREW_H
#define SPMV__CHOICE_BREW_H

#include "../choice.h"
#include "cost.h"

/* ---- layouts ------------------------------------------------------------------------------------------------------- */

enum {
    SPMV__COCKTAIL_SIZES  = SPMV_TUNE_BLOCKS,
    SPMV__COCKTAIL_BLOCKS = 3, /* formats for each of them */
    SPMV__COCKTAIL_SAMPLE = 1 << 14, /* nonzeros that are read for each block size, and rows for each height of slices */
    SPMV__COCKTAIL_TAKEN  = 1 << 17, /* nonzeros of the windows that stand for a large matrix */
    SPMV__COCKTAIL_WINDOW = 256,     /* rows of one, a multiple of the rows of all slices and blocks */
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
    int            parts;
    spmv_spec      part[SPMV_COCKTAIL_PARTS];
    spmv_split     split;    /* by them; its last part is what they leave. Not made without parts */
    spmv_view      view;     /* what they leave */
    spmv__analysis analysis; /* of that */
} spmv__brew_left;

/* What spmv__cocktail_make works on. */
typedef struct spmv__brew {
    const spmv__estimator    *e;
    const spmv_csr           *a;      /* what the policies look at: the matrix, or windows of it that stand for it */
    spmv_csr                  windows;
    double                    by_rows, by_nnz; /* how many rows and nonzeros of the matrix each one there stands for */
    spmv__text                steps;
    spmv_spec                 layout[SPMV__BREW_END];
    double                    rate[SPMV__BREW_END];  /* of each layout at the current settings; 0: it may not be used */
    spmv__load                whole[SPMV__BREW_END]; /* of the whole matrix; no slots: not possible */
    double                    rows;                  /* of a */
    int                       uneven;                /* 1: "CSR vs COO" took COO */
    unsigned                  later;                 /* bits of the formats of categories that have not had their share */
    spmv__brew_left           base, after, other;    /* no part; those of diagonals and blocks so far; those of a plan that is tried */
    spmv__brew_left          *left;                  /* base or after */
    spmv_features             f, of_part;            /* of what is left; of a part that is looked at */
    spmv_format               last;                  /* for nonzeros that no policy takes, because no flat format has a rate */
    spmv__brewed              now, best, trial, least; /* now: the plan so far; least: of all that were estimated the fastest */
} spmv__brew;

/* Adds a line to the steps. */
#define SPMV__STEP(brew, ...) (spmv__say(&(brew)->steps, __VA_ARGS__), spmv__put_char(&(brew)->steps, '\n'))

static const char *spmv__yes_no(int yes) { return yes ? "yes" : "no"; }

/* Fills in the layouts. The heights of SELL's slices are "multiples of GPU alignment requirement (128 bytes)" (4.3.2), 32 rows in f32;
 * those of SBELL have the default height. */
static void spmv__brew_layouts(spmv__brew *brew)
{
    static const spmv_format flat[] = { SPMV_ELL, SPMV_SELL, SPMV_SELL, SPMV_SELL, SPMV_SELL, SPMV_CSR, SPMV_COO };
    static const int64_t heights[] = { 0 /* 32 */, 64, 128, 256 };
    static const spmv_format blocks[SPMV__COCKTAIL_BLOCKS] = { SPMV_SBELL, SPMV_BELL, SPMV_BCSR };
    int i;
    brew->layout[SPMV__BREW_BDIA].format = SPMV_BDIA;
    brew->layout[SPMV__BREW_DIA].format = SPMV_DIA;
    for (i = SPMV__BREW_ELL; i < SPMV__BREW_BLOCK; i++) brew->layout[i].format = flat[i - SPMV__BREW_ELL];
    for (i = SPMV__BREW_SELL; i < SPMV__BREW_SELL_END; i++) brew->layout[i].key[SPMV_KEY_H] = heights[i - SPMV__BREW_SELL];
    for (i = 0; i < SPMV__COCKTAIL_SIZES * SPMV__COCKTAIL_BLOCKS; i++) {
        spmv_spec *spec = &brew->layout[SPMV__BREW_BLOCK + i];
        spec->format = blocks[i % SPMV__COCKTAIL_BLOCKS];
        spec->key[SPMV_KEY_B] = (int64_t)spmv__block_sizes[i / SPMV__COCKTAIL_BLOCKS][0] << 8 |
                             spmv__block_sizes[i / SPMV__COCKTAIL_BLOCKS][1];
    }
}

/* The text of a layout, a part or a plan, cut off after as many characters as a line of the steps can hold. */
typedef struct spmv__brew_text {
    char text[200];
} spmv__brew_text;

static spmv__brew_text spmv__text_of(const spmv_spec *part, int count)
{
    spmv__brew_text text;
    spmv__print_parts(part, count, text.text, sizeof text.text);
    return text;
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

/* Seconds of a product with a part as it is, with how x is read and how uneven rows are, which is like a line of the table: it costs what
 * its bytes and slots say, times what the table says of blocks of that size. */
static double spmv__full_seconds(const spmv__estimator *estimator, const spmv_candidate *candidate, const spmv_spec *layout,
                                 const spmv__load *load)
{
    const float *times = estimator->tuning->blocks[estimator->type][layout->format];
    spmv_estimate by;
    const double seconds = spmv__cost_parts(estimator, candidate, layout, load, &by);
    int i = 0;
    if (!spmv__is_block(layout->format)) return seconds;
    while (i < SPMV_TUNE_BLOCKS && (spmv__block_sizes[i][0] != spmv__block_height(layout) ||
                                    spmv__block_sizes[i][1] != spmv__block_width(layout))) i++;
    return i < SPMV_TUNE_BLOCKS && times[i] > 0 ? seconds * times[i] : seconds;
}

/* The same with a banded matrix, on which the paper benchmarks (5.1), that is as large as a part and has a row as long as its longest,
 * whose balance counts in every format. */
static double spmv__banded_seconds(const spmv__estimator *estimator, const spmv_candidate *candidate, const spmv_spec *layout,
                                   const spmv__load *part)
{
    spmv__estimator banded = *estimator;
    spmv__load load = *part;
    spmv_csr a;
    memset(&a, 0, sizeof a);
    a.rows = (uint64_t)load.rows;
    a.cols = estimator->a->cols;
    a.nnz = (uint64_t)load.slots;
    banded.a = &a;
    load.nnz = load.slots;
    load.gather = load.uneven = load.skipped = 0;
    return spmv__full_seconds(&banded, candidate, layout, &load);
}

/* A banded matrix of so many rows and slots in a row. */
static spmv__load spmv__banded(double rows, double per_row)
{
    spmv__load load;
    memset(&load, 0, sizeof load);
    load.rows = rows;
    load.nnz = load.slots = rows * per_row;
    load.longest = per_row;
    return load;
}

/* Does a line of the table tell as much of a layout as another one, whatever its knobs? */
static int spmv__is_like(const spmv__estimator *estimator, const spmv_candidate *line, const spmv_candidate *other, const spmv_spec *layout)
{
    return line->type == estimator->type && line->layout.format == other->layout.format &&
           spmv__likeness(line, layout, other->variant) / 2 == spmv__likeness(other, layout, other->variant) / 2;
}

/* The line of the table that is the fastest for a layout of a cocktail, whatever its knobs: with a banded matrix as large as the part or,
 * if full, with the part as it is. The paper's CSR and BCSR have a warp for each row; ours have the lanes of that line, so that products
 * run as they were rated. If no line has the layout, those that are most like it stand in: of the same format and another size, of other
 * blocks, or of csr. NULL: there is none. *seconds: of a product. */
static const spmv_candidate *spmv__cocktail_line(const spmv__estimator *estimator, const spmv_spec *layout, const spmv__load *load,
                                                 int full, double *seconds)
{
    const spmv_candidate *like = spmv__line_for(estimator, layout, NULL), *best = NULL;
    size_t i;
    *seconds = 0;
    for (i = 0; i < estimator->tuning->count && like; i++) {
        const spmv_candidate *line = &estimator->tuning->line[i];
        double now;
        if (!spmv__is_like(estimator, line, like, layout)) continue;
        now = full ? spmv__full_seconds(estimator, line, layout, load) : spmv__banded_seconds(estimator, line, layout, load);
        if (best && !spmv__is_less(now, *seconds)) continue;
        *seconds = now;
        best = line;
    }
    return best;
}

/* How much estimates err, as log2. */
static double spmv__brew_error(const spmv__estimator *estimator)
{
    return estimator->tuning->error > 0 ? estimator->tuning->error : SPMV__ERROR_UNKNOWN;
}

/* The line by whose knobs a part runs: the fastest, but one without knobs if that is slower by no more than both estimates err ([M21] of
 * docs/measurements.md). *seconds: by the fastest. */
static const spmv_candidate *spmv__line_to_run(const spmv__estimator *estimator, const spmv_spec *layout, const spmv__load *load,
                                               double *seconds)
{
    const double two = 1.4142135623730951;
    const spmv_candidate *best = spmv__cocktail_line(estimator, layout, load, 1, seconds);
    size_t i;
    for (i = 0; i < estimator->tuning->count && best && best->variant[0]; i++) {
        const spmv_candidate *line = &estimator->tuning->line[i];
        if (!line->variant[0] && spmv__is_like(estimator, line, best, layout) &&
            !spmv__is_less(*seconds * spmv__exp2(two * spmv__brew_error(estimator)), spmv__full_seconds(estimator, line, layout, load)))
            return line;
    }
    return best;
}

/* The rate of a layout in GFLOP/s with as many slots in each row of what is looked at; 0 if it is not known, or may not be used. */
static double spmv__brew_rate(const spmv__brew *brew, int layout, double per_row)
{
    const spmv__load load = spmv__banded(brew->rows * brew->by_rows, per_row * brew->by_nnz / brew->by_rows);
    double seconds = 0;
    if (per_row > 0 && spmv__usable(brew->e, brew->layout[layout].format))
        spmv__cocktail_line(brew->e, &brew->layout[layout], &load, 0, &seconds);
    return seconds > 0 ? 2e-9 * load.slots / seconds : 0;
}

/* The layout with the highest rate among those from first to end - 1, the first of equal ones. */
static int spmv__brew_fastest(const spmv__brew *brew, int first, int end)
{
    int i, best = first;
    for (i = first + 1; i < end; i++)
        if (spmv__is_less(brew->rate[best], brew->rate[i])) best = i;
    return best;
}

/* The highest of those rates; 0: none is known. */
SPMV__APART double spmv__brew_highest(const spmv__brew *brew, int first, int end)
{
    return brew->rate[spmv__brew_fastest(brew, first, end)];
}

static double spmv__brew_flat(const spmv__brew *brew) { return spmv__brew_highest(brew, SPMV__BREW_ELL, SPMV__BREW_BLOCK); } /* g_f */

/* The highest rate of a block size. */
static double spmv__brew_block(const spmv__brew *brew, int size)
{
    int first = SPMV__BREW_BLOCK + size * SPMV__COCKTAIL_BLOCKS;
    return spmv__brew_highest(brew, first, first + SPMV__COCKTAIL_BLOCKS);
}

/* A number of slots over a rate: half the nanoseconds that they take. Negative if the rate is not known, or if there are too many slots for
 * one part, which is written as a line. */
static double spmv__slots_over(spmv__brew *brew, double slots, double rate)
{
    if (!(rate > 0)) return -1;
    if (spmv__fits(brew->e, slots * brew->by_nnz)) return slots / rate;
    SPMV__STEP(brew, "  %.0f slots are more than a part may have", slots * brew->by_nnz);
    return -1;
}

/* ---- parts and what they leave -------------------------------------------------------------------------------------- */

/* Sets *last to the format for nonzeros that nothing else takes: the first that may be used, beginning with those that hold any in little
 * memory. without: bits of formats that may not be used. */
SPMV__SHARED spmv_status spmv__last_format(spmv_format *last, unsigned without, const spmv_hooks *hooks)
{
    static const spmv_format order[] = { SPMV_CSR, SPMV_COO, SPMV_TCSR, SPMV_CMRS, SPMV_SELL, SPMV_ELL, SPMV_BCSR, SPMV_SBELL, SPMV_BELL,
                                         SPMV_BDIA, SPMV_DIA };
    const int n = (int)(sizeof order / sizeof *order);
    int i;
    for (i = 0; i < n + SPMV_FORMAT_COUNT; i++) {
        *last = i < n ? order[i] : (spmv_format)(i - n);
        if (spmv_format_built(*last) && !(without >> *last & 1u)) return SPMV_OK;
    }
    return spmv_log(hooks, SPMV_ERR_UNSUPPORTED, "hints.without (and strict or reproducible) leave no format of this build");
}

/* Finds the least number of nonzeros of a dense block for each size, e_b > n_b g_f / g_b. */
static void spmv__brew_dense(const spmv__brew *brew, int least[SPMV_BLOCK_SIZES])
{
    int i;
    memset(least, 0, SPMV_BLOCK_SIZES * sizeof *least);
    for (i = 0; i < SPMV__COCKTAIL_SIZES; i++) {
        const spmv_spec *spec = &brew->layout[SPMV__BREW_BLOCK + i * SPMV__COCKTAIL_BLOCKS];
        const int64_t size = spmv__block_height(spec) * spmv__block_width(spec);
        const double gf = spmv__brew_flat(brew), gb = spmv__brew_block(brew, i);
        least[i] = (int)(gb > 0 && gf < gb ? spmv__above((double)size * gf / gb) : size + 1);
    }
}

static void spmv__left_free(spmv__brew_left *left)
{
    spmv__analysis_free(&left->analysis);
    spmv_split_destroy(&left->split);
    memset(left, 0, sizeof *left);
}

/* Splits the matrix by the first parts of a plan and looks at the rows of what they leave. Free left. */
static spmv_status spmv__left_make(const spmv__brew *brew, const spmv__brew_parts *plan, int parts, spmv__brew_left *left)
{
    spmv_plan first;
    spmv_status s = SPMV_OK;
    memset(left, 0, sizeof *left);
    left->parts = parts;
    memcpy(left->part, plan->part, (size_t)parts * sizeof *left->part);
    left->view.a = brew->a;
    left->view.rows = brew->a->rows;
    memset(&first, 0, sizeof first);
    memcpy(first.part, plan->part, (size_t)parts * sizeof *left->part);
    first.part[parts] = spmv__plain(brew->last);
    first.count = parts + 1;
    if (parts) s = spmv_split_create(&left->split, &first, brew->a, brew->e->hooks);
    if (parts && !s) left->view = spmv_split_view(&left->split, brew->a, parts);
    return s ? s : spmv__analysis_make(&left->analysis, &left->view, brew->e->tuning->device_class, brew->e->hooks);
}

/* Reads all rates at what the parts so far leave, and looks at the blocks and diagonals there that later policies ask for. */
static spmv_status spmv__brew_settle(spmv__brew *brew, spmv__brew_left *left)
{
    int i, least[SPMV_BLOCK_SIZES];
    spmv_status s;
    spmv__left_free(left);
    brew->left = left;
    s = spmv__left_make(brew, &brew->now.plan, brew->now.plan.count, left);
    for (i = 0; i < SPMV__BREW_END; i++) brew->rate[i] = spmv__brew_rate(brew, i, (double)left->analysis.nnz / brew->rows);
    spmv__brew_dense(brew, least);
    return s ? s : spmv__analysis_features(&left->analysis, &brew->f, SPMV__COCKTAIL_SAMPLE, ~brew->later, least);
}

static spmv_spec *spmv__brew_add(spmv__brew *brew, int layout)
{
    spmv_spec *part = &brew->now.plan.part[brew->now.plan.count++];
    *part = brew->layout[layout];
    return part;
}

/* ---- windows of a large matrix ------------------------------------------------------------------------------------------ */

/* The first row of window i of those that stand for the matrix, one of each step: that with the longest row, or any. */
static uint64_t spmv__brew_window(const spmv__analysis *whole, uint64_t i, uint64_t step)
{
    const uint64_t longest = whole->longest_row / SPMV__COCKTAIL_WINDOW;
    return (longest / step == i ? longest : i * step + (uint64_t)(spmv__spread(i) * (double)step)) * SPMV__COCKTAIL_WINDOW;
}

/* Copies the windows, one below the other. Columns move with the rows, so that diagonals stay what they are. */
static spmv_status spmv__brew_copy(spmv__brew *brew, const spmv__analysis *whole, uint64_t count, uint64_t step, uint64_t nnz)
{
    const spmv_csr *a = brew->e->a;
    const uint64_t height = SPMV__COCKTAIL_WINDOW, most = spmv__brew_window(whole, count - 1, step) - (count - 1) * height;
    uint64_t *ptr, i, r, k, n = 0;
    uint32_t *col;
    void *block;
    spmv_status s = spmv__new(brew->e->hooks, &block, (count * height + 1) * sizeof *ptr + nnz * sizeof *col, 1, 0);
    if (s) return s;
    ptr = (uint64_t *)block;
    col = (uint32_t *)(void *)(ptr + count * height + 1);
    brew->windows.rows = count * height;
    brew->windows.cols = a->cols + most;
    brew->windows.nnz = nnz;
    brew->windows.ptr = ptr;
    brew->windows.col = col;
    for (i = 0, *ptr = 0; i < count; i++) {
        const uint64_t first = spmv__brew_window(whole, i, step), by = most + i * height - first;
        for (r = first; r < first + height; r++) {
            for (k = a->ptr[r]; k < a->ptr[r + 1]; k++) col[n++] = (uint32_t)(a->col[k] + by);
            *++ptr = n;
        }
    }
    brew->a = &brew->windows;
    return SPMV_OK;
}

/* Lets windows of adjacent rows stand for a large matrix, of which one has the longest row, unless that would be much of them. */
static spmv_status spmv__brew_take_windows(spmv__brew *brew, const spmv__analysis *whole)
{
    const spmv_csr *a = brew->e->a;
    const uint64_t height = SPMV__COCKTAIL_WINDOW, few = 8, taken = SPMV__COCKTAIL_TAKEN;
    const uint64_t step = spmv__smaller(a->nnz / taken, a->rows / height / few), count = step ? a->rows / height / step : 0;
    uint64_t i, nnz = 0;
    spmv_status s = SPMV_OK;
    brew->a = a;
    if (step >= 2 && whole->longest <= taken / few && whole->longest_row / height < count * step && a->cols + a->rows <= UINT32_MAX) {
        for (i = 0; i < count; i++) nnz += a->ptr[spmv__brew_window(whole, i, step) + height] - a->ptr[spmv__brew_window(whole, i, step)];
        if (nnz) s = spmv__brew_copy(brew, whole, count, step, nnz);
    }
    brew->rows = brew->a->rows ? (double)brew->a->rows : 1;
    brew->by_rows = brew->a->rows ? (double)a->rows / brew->rows : 1;
    brew->by_nnz = brew->a->nnz ? (double)a->nnz / (double)brew->a->nnz : 1;
    return s;
}

#endif
