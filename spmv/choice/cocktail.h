/* SPDX-License-Identifier: MIT
 *
 * spmv/choice/cocktail.h - "cocktail": the greedy policies of clSpMV (Su, Keutzer 2012, section 3.3), rule by rule.
 */
#ifndef SPMV__CHOICE_COCKTAIL_H
#define SPMV__CHOICE_COCKTAIL_H

#include "brew.h"

/* ---- dense diagonals, BDIA or DIA ------------------------------------------------------------------------------------- */

/* The dense diagonals of what is left. */
typedef struct spmv__dense_diagonals {
    int64_t   least;           /* millionths to which they are filled */
    uint64_t  all, dense, nnz; /* diagonals; dense ones, and their nonzeros */
    uint64_t *bands, widest;   /* bands[w]: bands of w adjacent dense diagonals; the greatest w */
} spmv__dense_diagonals;

/* Goes to the next dense diagonal after place *at, which holds so many nonzeros. *all: becomes more by the diagonals on the way. */
static int spmv__next_dense(const spmv__brew *brew, const spmv__diagonals *diagonals, const spmv__dense_diagonals *dense, uint64_t *at,
                            uint64_t *number, uint64_t *held, uint64_t *all)
{
    while (spmv__diagonals_next(diagonals, at, number, held)) {
        ++*all;
        if (spmv__is_filled(*held, spmv__diagonal_length(brew->a, *number), dense->least)) return 1;
    }
    return 0;
}

/* Counts the dense diagonals, and the bands in which they lie, by their widths. Free dense->bands. */
static spmv_status spmv__count_dense(const spmv__brew *brew, const spmv__diagonals *diagonals, spmv__dense_diagonals *dense)
{
    uint64_t at = 0, number, held, before = 0, width = 0, any = 0;
    void *block;
    spmv_status s;
    while (spmv__next_dense(brew, diagonals, dense, &at, &number, &held, &dense->all)) {
        dense->dense++;
        dense->nnz += held;
    }
    s = spmv__new(brew->e->hooks, &block, dense->dense + 2, sizeof *dense->bands, 0);
    dense->bands = (uint64_t *)block;
    for (at = 0; !s && spmv__next_dense(brew, diagonals, dense, &at, &number, &held, &any); before = number) {
        if (width && number != before + 1) {
            dense->bands[width]++;
            width = 0;
        }
        if (++width > dense->widest) dense->widest = width;
    }
    if (width) dense->bands[width]++;
    return s;
}

/* Finds the dense diagonals of what is left. If the features are those of a sample that has none, there are none. Free dense->bands. */
static spmv_status spmv__find_dense(spmv__brew *brew, spmv__dense_diagonals *dense)
{
    spmv__diagonals diagonals;
    spmv_status s;
    if (brew->f.diagonals_sampled && !brew->f.dense_diagonals && (double)dense->least >= SPMV_FILL_DENSE * (double)SPMV__ONE)
        return SPMV_OK;
    s = spmv__diagonals_count(&diagonals, &brew->left->view, brew->e->hooks);
    if (s) return s;
    s = spmv__count_dense(brew, &diagonals, dense);
    spmv__diagonals_free(&diagonals, brew->e->hooks);
    return s;
}

/* A way to store the dense diagonals: so many of them in bands of BDIA, the others in DIA. */
typedef struct spmv__diagonal_case {
    uint64_t thick, banded; /* the least diagonals of a band in BDIA, and all diagonals there */
    double   time;          /* in units of spmv__slots_over; negative: not possible */
} spmv__diagonal_case;

/* Estimates one of the ways, and writes its line: the nonzeros over the time of both parts, in GFLOP/s. Keeps it in best if it takes less
 * time. */
static void spmv__try_diagonals(spmv__brew *brew, const spmv__dense_diagonals *dense, uint64_t thick, spmv__diagonal_case *best)
{
    spmv__diagonal_case found;
    double bands, others, g1, g2, t1, t2;
    uint64_t w;
    found.thick = thick;
    for (found.banded = 0, w = thick; w <= dense->widest; w++) found.banded += w * dense->bands[w];
    bands = (double)found.banded;
    others = (double)(dense->dense - found.banded);
    g1 = spmv__brew_rate(brew, SPMV__BREW_BDIA, bands);
    g2 = spmv__brew_rate(brew, SPMV__BREW_DIA, others);
    t1 = bands > 0 ? spmv__slots_over(brew, brew->rows * bands, g1) : 0;
    t2 = others > 0 ? spmv__slots_over(brew, brew->rows * others, g2) : 0;
    found.time = t1 + t2;
    if (t1 < 0 || t2 < 0) return;
    if (others <= 0 || bands <= 0)
        SPMV__STEP(brew, "  only %s: %llu / (%.0f / %.3f) = %.3f", others <= 0 ? "bdia" : "dia", (spmv__ull)dense->nnz,
                   brew->rows * (double)dense->dense, others <= 0 ? g1 : g2, (double)dense->nnz / found.time);
    else
        SPMV__STEP(brew, "  bdia for bands of %llu or more, dia: %llu / (%.0f / %.3f + %.0f / %.3f) = %.3f", (spmv__ull)thick,
                   (spmv__ull)dense->nnz, brew->rows * bands, g1, brew->rows * others, g2, (double)dense->nnz / found.time);
    if (best->time < 0 || spmv__is_less(found.time, best->time)) *best = found;
}

/* Chooses between only BDIA, only DIA, and BDIA for thick bands, and adds the parts. */
static void spmv__choose_diagonals(spmv__brew *brew, const spmv__dense_diagonals *dense)
{
    spmv__diagonal_case best = { 0, 0, -1 };
    uint64_t w, thinnest = 1;
    spmv_spec *part;
    spmv__try_diagonals(brew, dense, 1, &best);
    spmv__try_diagonals(brew, dense, dense->widest + 1, &best);
    while (thinnest < dense->widest && !dense->bands[thinnest]) thinnest++;
    for (w = thinnest + 1; w <= dense->widest; w++) /* widths at which the bands of BDIA are other ones */
        if (dense->bands[w]) spmv__try_diagonals(brew, dense, w, &best);
    if (best.time < 0) return;
    if (best.banded) {
        part = spmv__brew_add(brew, SPMV__BREW_BDIA);
        if (dense->dense < dense->all) part->key[SPMV_KEY_D] = dense->least;
        if (best.banded < dense->dense) part->key[SPMV_KEY_W] = (int64_t)best.thick;
    }
    if (best.banded < dense->dense) {
        part = spmv__brew_add(brew, SPMV__BREW_DIA);
        if (dense->dense < dense->all) part->key[SPMV_KEY_D] = dense->least;
    }
}

/* "Dense Diagonals" and "BDIA vs DIA". */
static spmv_status spmv__cocktail_diagonals(spmv__brew *brew)
{
    double gf = spmv__brew_flat(brew), gd = spmv__brew_highest(brew, SPMV__BREW_BDIA, SPMV__BREW_ELL);
    spmv__dense_diagonals dense;
    spmv_status s;
    memset(&dense, 0, sizeof dense);
    brew->later &= ~spmv__class_bits(SPMV_CLASS_DIAGONAL);
    if (gd <= 0) return SPMV_OK;
    SPMV__STEP(brew, "diagonals e_d > n_d x g_f / g_d = n_d x %.3f / %.3f = n_d x %.6f", gf, gd, gf / gd);
    if (!spmv__is_less(gf, gd)) return SPMV_OK; /* no diagonal holds more nonzeros than it has places */
    dense.least = spmv__millionths_above(gf / gd);
    s = spmv__find_dense(brew, &dense);
    if (!s && !dense.all) SPMV__STEP(brew, "  holds for no diagonal of a sample");
    else if (!s) SPMV__STEP(brew, "  holds for %llu of %llu diagonals, with %llu nonzeros", (spmv__ull)dense.dense, (spmv__ull)dense.all,
                            (spmv__ull)dense.nnz);
    if (!s && dense.dense) spmv__choose_diagonals(brew, &dense);
    spmv_free(brew->e->hooks, dense.bands);
    return s || !dense.dense ? s : spmv__brew_settle(brew, &brew->after);
}

/* ---- dense blocks, SBELL or BELL or BCSR ------------------------------------------------------------------------------ */

/* The best way to store blocks so far. */
typedef struct spmv__block_case {
    int    layout, least; /* layout 0: none; nonzeros of a dense block, 0: all blocks */
    double time;          /* of the blocks and the rest, in units of spmv__slots_over */
} spmv__block_case;

/* Estimates the dense blocks, or all blocks, in one format, the rest at the rate of the flat category; writes a line, and replaces *best if
 * this is faster. blocks, nnz: those there are of these; widest, sliced: in a block row, and with the padding of slices. */
static void spmv__try_blocks(spmv__brew *brew, int layout, const spmv_block_features *block, double blocks, double nnz,
                             spmv__block_case *best)
{
    const spmv_spec *spec = &brew->layout[layout];
    const int all = nnz >= (double)brew->f.nnz;
    const double n = (double)brew->f.nnz, rest = n - nnz, size = (double)(block->bh * block->bw), gf = spmv__brew_flat(brew);
    double slots = size * blocks, t, g, t_rest = 0;
    if (spec->format == SPMV_SBELL) slots = all ? block->slots : block->dense_slots;
    if (spec->format == SPMV_BELL) slots = (all ? block->widest : block->dense_widest) * (double)block->bw * brew->rows;
    g = spmv__brew_rate(brew, layout, slots / brew->rows);
    t = spmv__slots_over(brew, slots, g);
    if (!all) t_rest = spmv__slots_over(brew, rest, gf);
    if (!(blocks > 0) || t < 0 || t_rest < 0) return;
    if (!all)
        SPMV__STEP(brew, "    %s, dense: %.0f / (%.0f / %.3f + %.0f / %.3f) = %.3f", spmv__text_of(spec, 1).text, n, slots, g, rest, gf,
                   n / (t + t_rest));
    else
        SPMV__STEP(brew, "    %s, all: %.0f / (%.0f / %.3f) = %.3f > %.3f: %s", spmv__text_of(spec, 1).text, n, slots, g, n / t, gf,
                   spmv__yes_no(spmv__is_less(gf * t, n)));
    if ((all && !spmv__is_less(gf * t, n)) || (best->layout && !spmv__is_less(t + t_rest, best->time))) return;
    best->layout = layout;
    best->least = all ? 0 : block->least;
    best->time = t + t_rest;
}

/* Applies the policies to one block size. */
static void spmv__cocktail_block_size(spmv__brew *brew, int i, spmv__block_case *best)
{
    const spmv_block_features *block = &brew->f.block[i];
    const int first = SPMV__BREW_BLOCK + i * SPMV__COCKTAIL_BLOCKS;
    double gf = spmv__brew_flat(brew), gb = spmv__brew_block(brew, i);
    int k;
    if (gb <= 0 || block->sampled <= 0) return;
    SPMV__STEP(brew, "  %dx%d: n_b x %.3f / %.3f = %.3f", block->bh, block->bw, gf, gb, block->bh * block->bw * gf / gb);
    if (!spmv__is_less(gf, gb)) return; /* no block holds more nonzeros than it has places */
    SPMV__STEP(brew, "    e_b >= %d: %.0f of %.0f blocks%s, with %.0f nonzeros", block->least, block->dense, block->blocks,
               block->sampled < 1 ? " by a sample" : "", block->dense_nnz);
    if (spmv__is_less(block->dense_nnz, (double)brew->f.nnz))
        for (k = first; k < first + SPMV__COCKTAIL_BLOCKS; k++) spmv__try_blocks(brew, k, block, block->dense, block->dense_nnz, best);
    for (k = first; k < first + SPMV__COCKTAIL_BLOCKS; k++) spmv__try_blocks(brew, k, block, block->blocks, (double)brew->f.nnz, best);
}

/* "Dense Blocks" and "SBELL vs BELL vs BCSR", over all block sizes. */
static spmv_status spmv__cocktail_blocks(spmv__brew *brew)
{
    spmv__block_case best = { 0, 0, 0 };
    spmv_spec *part;
    int i;
    brew->later &= ~spmv__class_bits(SPMV_CLASS_BLOCK);
    if (spmv__brew_highest(brew, SPMV__BREW_BLOCK, SPMV__BREW_END) <= 0) return SPMV_OK;
    SPMV__STEP(brew, "blocks    e_b > n_b x g_f / g_b; then nonzeros / (slots / g + rest / g_f)");
    for (i = 0; i < SPMV__COCKTAIL_SIZES; i++) spmv__cocktail_block_size(brew, i, &best);
    if (!best.layout) return SPMV_OK;
    part = spmv__brew_add(brew, best.layout);
    if (best.least)
        part->key[SPMV_KEY_D] = (int64_t)best.least * SPMV__ONE / (spmv__block_height(part) * spmv__block_width(part));
    return spmv__brew_settle(brew, &brew->after);
}

/* ---- flat formats ------------------------------------------------------------------------------------------------------ */

/* Finds the most nonzeros of a slice of rows of a share. */
static void spmv__most_share(void *job, uint64_t share)
{
    spmv__analysis_pass *pass = (spmv__analysis_pass *)job;
    uint64_t r = spmv__analysis_first(pass, share), end = spmv__analysis_first(pass, share + 1), stop, n;
    for (pass->result[share] = 0; r < end;) {
        for (n = 0, stop = spmv__smaller(r + pass->height, end); r < stop; r++) n += spmv__analysis_len(pass->analysis, r);
        if (n > pass->result[share]) pass->result[share] = n;
    }
}

/* "CSR vs COO": does csr take less time than coo for all that is left? */
static int spmv__csr_is_less(spmv__brew *brew)
{
    const double g_csr = brew->rate[SPMV__BREW_CSR], g_coo = brew->rate[SPMV__BREW_COO], n = (double)brew->left->analysis.nnz;
    const uint64_t rows = brew->a->rows, units = spmv__for_gpu(brew->e) ? 0 : brew->e->tuning->units;
    const uint64_t h = units ? spmv__ceil_div(rows, units) : (uint64_t)SPMV__COCKTAIL_ROWS;
    uint64_t i, groups = spmv__ceil_div(rows, h), most = 0;
    double work;
    int csr;
    spmv__analysis_pass pass;
    if (!(g_csr > 0 && g_coo > 0)) {
        SPMV__STEP(brew, "csr, coo  g_csr = %.3f, g_coo = %.3f: at most one has a rate", g_csr, g_coo);
        return g_csr > 0;
    }
    spmv__analysis_run(&pass, &brew->left->analysis, h, 1, spmv__most_share);
    for (i = 0; i < pass.shares; i++) most = most > pass.result[i] ? most : pass.result[i];
    work = (double)groups * (double)most;
    csr = spmv__is_less(work / g_csr, n / g_coo);
    SPMV__STEP(brew, "csr, coo  u max nnz(i) / g_csr = %llu x %llu / %.3f = %.3f < n / g_coo = %.0f / %.3f = %.3f: %s",
               (spmv__ull)groups, (spmv__ull)most, g_csr, work / g_csr, n, g_coo, n / g_coo, spmv__yes_no(csr));
    return csr;
}

/* The ELL part of all rows, or of those of a slice, or the sums over slices. */
typedef struct spmv__ell_part {
    uint64_t w, slots, nnz; /* the width, and what it covers */
} spmv__ell_part;

/* "Extract ELL": the greatest width with (z + e) / g < e / m_c, to which so many rows are filled to more than m_c / g. longer[ell]: rows of
 * ell nonzeros or more. The mean gain falls with every column, so the first that does not hold is the end. */
static spmv__ell_part spmv__extract_ell(const uint64_t *longer, uint64_t longest, uint64_t rows, int64_t fill)
{
    spmv__ell_part ell = { 0, 0, 0 };
    while (ell.w < longest && spmv__is_filled(ell.nnz + longer[ell.w + 1], rows * (ell.w + 1), fill)) {
        ell.nnz += longer[++ell.w];
        ell.slots += rows;
    }
    return ell;
}

/* "Extract SELL": the same for each slice of h rows, or for a sample of them, whose sums are scaled. longer: scratch. */
static spmv__ell_part spmv__extract_sell(const spmv__analysis *analysis, uint64_t h, int64_t fill, uint64_t *longer)
{
    const uint64_t rows = analysis->view->a->rows, slices = spmv__ceil_div(rows, h), step = slices * h / SPMV__COCKTAIL_SAMPLE + 1;
    spmv__ell_part sum = { 0, 0, 0 }, ell;
    uint64_t i, r, n, seen = 0;
    double times;
    for (i = 0; i < slices; i += step) {
        const uint64_t first = (i + (uint64_t)(spmv__spread(i / step) * (double)spmv__smaller(step, slices - i))) * h;
        const uint64_t end = spmv__smaller(first + h, rows), longest = spmv__analysis_tallest(analysis, first, end);
        memset(longer, 0, (size_t)(longest + 2) * sizeof *longer);
        for (r = first; r < end; r++) {
            n = spmv__analysis_len(analysis, r);
            longer[n]++;
            seen += n;
        }
        for (n = longest; n-- > 0;) longer[n] += longer[n + 1];
        ell = spmv__extract_ell(longer, longest, end - first, fill);
        sum.slots += ell.slots;
        sum.nnz += ell.nnz;
        if (ell.w > sum.w) sum.w = ell.w;
    }
    times = step > 1 && seen ? (double)analysis->nnz / (double)seen : 1;
    sum.slots = (uint64_t)((double)sum.slots * times);
    sum.nnz = spmv__smaller((uint64_t)((double)sum.nnz * times), analysis->nnz);
    return sum;
}

/* A way to store the first entries of rows by ELL or SELL. */
typedef struct spmv__ell_case {
    int            layout;
    spmv__ell_part all;
    int64_t        fill;
    double         time; /* of the part, and of the rest at m_c; in units of spmv__slots_over; negative: not possible */
} spmv__ell_case;

/* Extracts ELL or SELL, writes its lines, and keeps it in best if it takes less time, where what is left goes to taker. longer: scratch. */
static void spmv__try_ell(spmv__brew *brew, int layout, double mc, int taker, uint64_t *longer, spmv__ell_case *best)
{
    const spmv_spec *spec = &brew->layout[layout];
    double g = brew->rate[layout], g_rest, rest, t, t_rest = 0;
    spmv__ell_case found;
    found.layout = layout;
    found.fill = spmv__millionths_above(mc / g);
    if (spec->format == SPMV_ELL)
        found.all = spmv__extract_ell(brew->left->analysis.longer, brew->left->analysis.longest, brew->a->rows, found.fill);
    else found.all = spmv__extract_sell(&brew->left->analysis, spmv__height(spec), found.fill, longer);
    SPMV__STEP(brew, "%s (z + e) / g < e / m_c, e / (z + e) > %.3f / %.3f = %.6f: widths up to %llu, with %llu nonzeros in %llu slots",
               spmv__text_of(spec, 1).text, mc, g, mc / g, (spmv__ull)found.all.w, (spmv__ull)found.all.nnz, (spmv__ull)found.all.slots);
    rest = (double)(brew->left->analysis.nnz - found.all.nnz);
    g = spmv__brew_rate(brew, layout, (double)found.all.slots / brew->rows);
    g_rest = spmv__brew_rate(brew, taker, rest / brew->rows);
    t = found.all.w ? spmv__slots_over(brew, (double)found.all.slots, g) : -1;
    if (rest > 0) t_rest = spmv__slots_over(brew, rest, g_rest);
    if (t < 0 || t_rest < 0) return;
    found.time = t + t_rest;
    SPMV__STEP(brew, "  %llu / (%llu / %.3f + %.0f / %.3f) = %.3f", (spmv__ull)brew->left->analysis.nnz, (spmv__ull)found.all.slots, g,
               rest, g_rest, (double)brew->left->analysis.nnz / found.time);
    if (best->time < 0 || spmv__is_less(found.time, best->time)) *best = found;
}

/* "ELL and SELL vs CSR and COO", "Extract ELL", "Extract SELL" and "ELL vs SELL". The greater rate of CSR and COO is no measure of what is
 * left where CSR has it and rows are too uneven for CSR, so that the rate of COO is tried as m_c as well. *csr: would CSR take what is
 * left? */
static spmv_status spmv__cocktail_ell(spmv__brew *brew, int *csr)
{
    double mc[2], me = spmv__brew_highest(brew, SPMV__BREW_ELL, SPMV__BREW_CSR);
    spmv__ell_case best;
    spmv_spec *part;
    void *longer;
    spmv_status s;
    int i;
    *csr = spmv__csr_is_less(brew);
    brew->uneven = !*csr;
    mc[0] = spmv__brew_highest(brew, SPMV__BREW_CSR, SPMV__BREW_BLOCK);
    mc[1] = brew->rate[*csr ? SPMV__BREW_CSR : SPMV__BREW_COO];
    SPMV__STEP(brew, "flat      m_c = max(%.3f, %.3f) > m_e = max(%.3f, %.3f): %s", brew->rate[SPMV__BREW_CSR], brew->rate[SPMV__BREW_COO],
               brew->rate[SPMV__BREW_ELL], spmv__brew_highest(brew, SPMV__BREW_SELL, SPMV__BREW_SELL_END),
               spmv__yes_no(spmv__is_less(me, mc[0])));
    memset(&best, 0, sizeof best);
    best.time = -1;
    s = spmv__room(brew->e->hooks, &longer, brew->left->analysis.longest + 2, sizeof(uint64_t));
    if (s) return s;
    for (i = 0; i < 2; i++) {
        int k;
        if (spmv__is_less(me, mc[i]) || (i && !spmv__is_less(mc[1], mc[0]))) continue;
        for (k = SPMV__BREW_ELL; k < SPMV__BREW_SELL_END; k++)
            if (brew->rate[k] > 0)
                spmv__try_ell(brew, k, mc[i], *csr ? SPMV__BREW_CSR : SPMV__BREW_COO, (uint64_t *)longer, &best);
    }
    spmv_free(brew->e->hooks, longer);
    if (best.time < 0) return SPMV_OK;
    part = spmv__brew_add(brew, best.layout);
    if (best.all.nnz < brew->left->analysis.nnz && part->format == SPMV_ELL) part->key[SPMV_KEY_W] = (int64_t)best.all.w;
    else if (best.all.nnz < brew->left->analysis.nnz) part->key[SPMV_KEY_FILL] = best.fill;
    brew->later = 0;
    s = spmv__brew_settle(brew, &brew->after);
    if (!s && brew->left->analysis.nnz) *csr = spmv__csr_is_less(brew);
    return s;
}

/* The flat category: it takes all. If neither csr nor coo has a rate, the first format that may be used takes what ell and sell leave. */
static spmv_status spmv__cocktail_flat(spmv__brew *brew)
{
    int csr;
    spmv_status s = spmv__cocktail_ell(brew, &csr);
    if (s || !brew->left->analysis.nnz) return s;
    if (csr || brew->rate[SPMV__BREW_COO] > 0) spmv__brew_add(brew, csr ? SPMV__BREW_CSR : SPMV__BREW_COO);
    else brew->now.plan.part[brew->now.plan.count++] = spmv__plain(brew->last);
    return SPMV_OK;
}

/* ---- merging ------------------------------------------------------------------------------------------------------------ */

/* The load of a part that takes all of what was looked at, for the whole matrix. 0: as spmv__load_of. */
static int spmv__brew_load(spmv__brew *brew, const spmv_spec *layout, const spmv__analysis *analysis, spmv__load *load, spmv_status *s)
{
    if (!spmv__load_of(brew->e, layout, analysis, &brew->of_part, load, s)) return 0;
    load->rows *= brew->by_rows;
    load->nnz *= brew->by_nnz;
    load->slots *= brew->by_nnz;
    load->skipped *= brew->by_nnz;
    load->extra *= brew->by_rows;
    return spmv__fits(brew->e, load->slots);
}

/* Estimates a part of a plan that takes all of what was looked at, and adds it to what the plan takes. It is rated as a banded matrix with
 * as many slots and as long a row. */
static spmv_status spmv__brewed_add(spmv__brew *brew, spmv__brewed *brewed, const spmv_spec *part, const spmv__analysis *analysis)
{
    const int i = brewed->plan.count;
    spmv_spec layout = *part;
    double seconds, full;
    spmv__load load;
    spmv_status s;
    if (!analysis->nnz) return SPMV_OK;
    s = spmv__analysis_features(analysis, &brew->of_part, SPMV__COCKTAIL_SAMPLE, ~(1u << part->format), NULL);
    if (s) return s;
    layout.key[SPMV_KEY_W] = layout.key[SPMV_KEY_FILL] = layout.key[SPMV_KEY_D] = 0;
    brewed->plan.part[brewed->plan.count++] = *part;
    brewed->nnz[i] = analysis->nnz;
    if (!spmv__brew_load(brew, &layout, analysis, &load, &s) || brewed->seconds < 0 ||
        !spmv__cocktail_line(brew->e, &layout, &load, 0, &seconds)) {
        brewed->seconds = brewed->full = -1;
        return s;
    }
    brewed->line[i] = spmv__line_to_run(brew->e, &layout, &load, &full);
    brewed->slots[i] = load.slots;
    brewed->seconds += seconds;
    brewed->full += full;
    return SPMV_OK;
}

/* What the parts before the last one of a plan leave: if that is known, it is not looked for again. */
static spmv_status spmv__brew_find(spmv__brew *brew, const spmv__brew_parts *plan, spmv__brew_left **out)
{
    const int parts = plan->count - 1;
    *out = &brew->base;
    if (!parts) return SPMV_OK;
    *out = &brew->after;
    if (brew->after.parts == parts && !memcmp(plan->part, brew->after.part, (size_t)parts * sizeof *plan->part)) return SPMV_OK;
    *out = &brew->other;
    spmv__left_free(&brew->other);
    return spmv__left_make(brew, plan, parts, &brew->other);
}

/* Keeps a plan, with how x is read and how uneven rows are, if no other that was looked at is estimated to be as fast. */
static void spmv__brew_keep(spmv__brew *brew, const spmv__brewed *plan)
{
    if (plan->full > 0 && (!(brew->least.full > 0) || spmv__is_less(plan->full, brew->least.full))) brew->least = *plan;
}

/* Estimates a plan: the sum over its parts of those that hold nonzeros. The last takes all that is left. */
static spmv_status spmv__brew_estimate(spmv__brew *brew, const spmv__brew_parts *plan, spmv__brewed *out)
{
    spmv__brew_left *left;
    spmv__analysis analysis;
    spmv_status s = spmv__brew_find(brew, plan, &left);
    int i;
    memset(out, 0, sizeof *out);
    for (i = 0; i + 1 < plan->count && !s; i++) {
        spmv_view view = spmv_split_view(&left->split, brew->a, i);
        if (!left->split.nnz[i]) continue;
        s = spmv__analysis_make(&analysis, &view, brew->e->tuning->device_class, brew->e->hooks);
        if (!s) s = spmv__brewed_add(brew, out, &plan->part[i], &analysis);
        spmv__analysis_free(&analysis);
    }
    if (!s) s = spmv__brewed_add(brew, out, &plan->part[plan->count - 1], &left->analysis);
    if (!s && (out->plan.count > 1 || brew->a == brew->e->a)) spmv__brew_keep(brew, out); /* one format: exactly, by spmv__brew_alone */
    return s;
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
static spmv_status spmv__cocktail_merge(spmv__brew *brew)
{
    int i, change, better = 1;
    spmv__brew_parts plan;
    spmv_status s = SPMV_OK;
    while (!s && better && brew->now.seconds > 0) {
        brew->best = brew->now;
        for (i = 0; !s && (change = spmv__merge_change(&brew->now, i, &plan)) >= 0; i++) {
            if (!change) continue;
            s = spmv__brew_estimate(brew, &plan, &brew->trial);
            if (s) break;
            if (brew->trial.seconds < 0) SPMV__STEP(brew, "merge     %s: not possible", spmv__text_of_plan(&brew->trial.plan).text);
            if (brew->trial.seconds < 0) continue;
            SPMV__STEP(brew, "merge     %s: %.3f < %.3f us, %s: %s", spmv__text_of_plan(&brew->trial.plan).text, brew->trial.seconds * 1e6,
                       brew->now.seconds * 1e6, spmv__text_of_plan(&brew->now.plan).text,
                       spmv__yes_no(spmv__is_less(brew->trial.seconds, brew->now.seconds)));
            if (spmv__is_less(brew->trial.seconds, brew->best.seconds)) brew->best = brew->trial;
        }
        better = spmv__is_less(brew->best.seconds, brew->now.seconds);
        brew->now = brew->best;
    }
    return s;
}

/* ---- the last line of defence ------------------------------------------------------------------------------------------ */

/* Looks at a format alone, which must be so many times as fast as other plans. */
static void spmv__brew_alone(spmv__brew *brew, int layout, double times)
{
    spmv__brewed *alone = &brew->trial;
    memset(alone, 0, sizeof *alone);
    if (!(brew->whole[layout].slots > 0)) return;
    alone->plan.count = 1;
    alone->plan.part[0] = brew->layout[layout];
    alone->slots[0] = brew->whole[layout].slots;
    alone->line[0] = spmv__line_to_run(brew->e, &brew->layout[layout], &brew->whole[layout], &alone->full);
    if (!(brew->least.full > 0) || spmv__is_less(alone->full * times, brew->least.full)) spmv__brew_keep(brew, alone);
}

/* Takes the plan that is estimated to be the fastest, among plans of several parts and each format alone. CSR must be faster than those of
 * several parts by more than estimates err if "CSR vs COO" found rows too uneven for it. */
static void spmv__brew_defend(spmv__brew *brew)
{
    int i;
    spmv__brew_alone(brew, SPMV__BREW_CSR, brew->uneven && brew->least.plan.count > 1 ? spmv__exp2(spmv__brew_error(brew->e)) : 1);
    for (i = 0; i < SPMV__BREW_END; i++)
        if (i != SPMV__BREW_CSR) spmv__brew_alone(brew, i, 1);
    if (!(brew->least.full > 0)) return;
    SPMV__STEP(brew, "defence   with how x and rows are read: %s: %.3f us, %s: %.3f us", spmv__text_of_plan(&brew->least.plan).text,
               brew->least.full * 1e6, spmv__text_of_plan(&brew->now.plan).text, brew->now.full * 1e6);
    brew->now = brew->least;
}

/* ---- all policies ---------------------------------------------------------------------------------------------------------- */

/* "Priority of the categories": lets each category take its share, the one with the highest rate first. The flat category takes all. */
static spmv_status spmv__cocktail_categories(spmv__brew *brew)
{
    static const int begin[] = { SPMV__BREW_BDIA, SPMV__BREW_BLOCK, SPMV__BREW_ELL };
    static const int end[] = { SPMV__BREW_ELL, SPMV__BREW_END, SPMV__BREW_BLOCK };
    static const char *const name[] = { "diagonals", "blocks", "flat" };
    enum { DIAGONALS, BLOCKS, FLAT, CATEGORIES };
    double highest[CATEGORIES];
    int order[CATEGORIES], i, j;
    spmv_status s = SPMV_OK;
    SPMV__STEP(brew, "settings  %llu rows, %.3f nonzeros in a row; rates in GFLOP/s", (spmv__ull)brew->e->a->rows,
               (double)brew->e->a->nnz / (double)brew->e->a->rows);
    if (brew->a != brew->e->a)
        SPMV__STEP(brew, "sample    %llu rows with %llu nonzeros", (spmv__ull)brew->a->rows, (spmv__ull)brew->a->nnz);
    for (i = 0; i < CATEGORIES; i++) {
        int fastest = spmv__brew_fastest(brew, begin[i], end[i]);
        highest[i] = brew->rate[fastest];
        SPMV__STEP(brew, "priority  %s: %.3f, %s", name[i], highest[i],
                   highest[i] > 0 ? spmv__text_of(&brew->layout[fastest], 1).text : "no rate");
        for (j = i; j > 0 && spmv__is_less(highest[order[j - 1]], highest[i]); j--) order[j] = order[j - 1];
        order[j] = i;
    }
    for (i = 0; i < CATEGORIES && brew->left->analysis.nnz && !s; i++) {
        if (order[i] == DIAGONALS) s = spmv__cocktail_diagonals(brew);
        else if (order[i] == BLOCKS) s = spmv__cocktail_blocks(brew);
        else {
            s = spmv__cocktail_flat(brew);
            break;
        }
    }
    return s;
}

/* Looks at the whole matrix, finds the load of each layout, and what the policies look at. */
static spmv_status spmv__brew_whole(spmv__brew *brew)
{
    spmv__brew_left *whole = &brew->other;
    spmv_status s = spmv__last_format(&brew->last, spmv__unusable(brew->e), brew->e->hooks);
    int i;
    for (i = 0; i < SPMV__BREW_END; i++)
        if (spmv__usable(brew->e, brew->layout[i].format)) brew->later |= 1u << brew->layout[i].format;
    brew->a = brew->e->a;
    if (!s) s = spmv__left_make(brew, &brew->now.plan, 0, whole);
    if (!s) s = spmv__analysis_features(&whole->analysis, &brew->f, SPMV__COCKTAIL_SAMPLE, ~brew->later, NULL);
    for (i = 0; i < SPMV__BREW_END && !s && brew->a->nnz; i++)
        if (brew->later >> brew->layout[i].format & 1u && !spmv__load_of(brew->e, &brew->layout[i], &whole->analysis, &brew->f,
                                                                         &brew->whole[i], &s))
            brew->whole[i].slots = 0;
    if (!s) s = spmv__brew_take_windows(brew, &whole->analysis);
    return s ? s : spmv__brew_settle(brew, &brew->base);
}

/* Makes the plan. */
static spmv_status spmv__brew_plan(spmv__brew *brew)
{
    spmv_status s = spmv__brew_whole(brew);
    if (!s && brew->left->analysis.nnz) s = spmv__cocktail_categories(brew);
    if (s) return s;
    if (!brew->now.plan.count) brew->now.plan.part[brew->now.plan.count++] = spmv__plain(brew->last);
    if (!brew->e->a->nnz) return SPMV_OK;
    s = spmv__brew_estimate(brew, &brew->now.plan, &brew->trial);
    brew->now = brew->trial;
    if (!s) s = spmv__cocktail_merge(brew);
    if (!s) spmv__brew_defend(brew);
    return s;
}

/* Copies the plan into the choice, as its first option, with the variants by which its parts were rated. */
static void spmv__brew_take(const spmv__brew *brew, spmv_choice *out)
{
    const spmv__brewed *brewed = &brew->now;
    spmv_option *option = out->option;
    int i;
    out->plan.count = brewed->plan.count;
    memcpy(out->plan.part, brewed->plan.part, sizeof brewed->plan.part);
    for (i = 0; i < brewed->plan.count; i++) {
        const spmv_candidate *candidate = brewed->line[i];
        spmv__add_variant(out->variant, sizeof out->variant, i,
                          candidate && candidate->layout.format == brewed->plan.part[i].format ? candidate->variant : "");
        if (candidate) option->convert += candidate->begin + candidate->slot * brewed->slots[i];
        if (i) option->convert += brew->e->tuning->part * (double)brew->e->a->nnz;
    }
    if (brew->whole[SPMV__BREW_CSR].slots > 0)
        spmv__cocktail_line(brew->e, &brew->layout[SPMV__BREW_CSR], &brew->whole[SPMV__BREW_CSR], 1, &out->csr);
    option->predicted = option->cost = brewed->full > 0 ? brewed->full : 0;
    out->count = 1;
}

/* Chooses the plan (clSpMV 3.3).
 *   out    its plan, variant, times and first option are set
 *   estimator the table and the matrix
 *   hints  NULL, or where the steps go */
static spmv_status spmv__cocktail_make(spmv_choice *out, const spmv__estimator *estimator, const spmv_build_hints *hints)
{
    void *block;
    spmv__brew *brew;
    spmv_status s = spmv__new(estimator->hooks, &block, 1, sizeof *brew, 0);
    if (s) return s;
    brew = (spmv__brew *)block;
    brew->e = estimator;
    out->features.rows = estimator->a->rows;
    out->features.cols = estimator->a->cols;
    out->features.nnz = estimator->a->nnz;
    out->steps = hints ? hints->steps : NULL;
    spmv__text_open(&brew->steps, hints ? hints->steps : NULL, out->steps ? SPMV_COCKTAIL_TEXT : 0);
    spmv__brew_layouts(brew);
    s = spmv__brew_plan(brew);
    spmv__text_close(&brew->steps);
    if (!s) spmv__brew_take(brew, out);
    spmv__left_free(&brew->base);
    spmv__left_free(&brew->after);
    spmv__left_free(&brew->other);
    spmv_free(estimator->hooks, (void *)(uintptr_t)brew->windows.ptr);
    spmv_free(estimator->hooks, block);
    return s;
}

#endif
