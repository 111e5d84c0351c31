/* SPDX-License-Identifier: MIT */
#include "drawn.h"

#include "../cli/numbers.h"
#include "draw.h"
#include "../library.h"
#include <stdlib.h>
#include <string.h>

/* ---- families drawn row by row ---------------------------------------------------------------------------------- */

enum { MOST_ENTRIES = 2000000000 };

/* A full matrix. */
static const char *draw_dense(sketch *p, const uint64_t *n)
{
    uint64_t c;
    if (!n[0] || !n[1] || n[0] > MOST_ENTRIES / n[1]) return "there must be 1 to 2 * 10^9 entries";
    if (!sketch_make(p, n[0], n[1], n[0] * n[1])) return NULL;
    for (; p->row < p->rows && !p->failed; sketch_row_end(p))
        for (c = 0; c < p->cols; c++) sketch_append(p, c);
    return NULL;
}

/* A Markov chain of states (i, j) with i + j < N, each of which can stay or change to (i-1, j+1), (i, j-1) or (i+1, j). */
static const char *draw_epidemic(sketch *p, const uint64_t *n)
{
    uint64_t i, j, order = n[0];
    if (order < 1 || order > 30000) return "N must be from 1 to 30000";
    if (!sketch_make(p, order * (order + 1) / 2, order * (order + 1) / 2, 2 * order * (order + 1))) return NULL;
    for (i = 0; i < order && !p->failed; i++)
        for (j = 0; i + j < order; j++, sketch_row_end(p)) {
            if (i) sketch_append(p, p->row - (order - i));
            if (j) sketch_append(p, p->row - 1);
            sketch_append(p, p->row);
            if (i + j + 1 < order) sketch_append(p, p->row + (order - i));
        }
    return NULL;
}

/* The spins of a neighbouring site, one step up or down in direction d, with which a spin is coupled; returns how many. The projectors
 * are 1 - g and 1 + g; that of the time direction is diagonal. */
static int wilson_spins(int spin, int d, int up, int *out)
{
    out[0] = spin;
    out[1] = d == 2 ? spin ^ 2 : 3 - spin;
    return d < 3 ? 2 : up == (spin < 2);
}

/* The hopping matrix of Wilson's fermions on a periodic lattice of N^4 sites, 4 spins and 3 colours each, without its diagonal. */
static const char *draw_wilson(sketch *p, const uint64_t *n)
{
    uint64_t site, step, size = n[0], there;
    int spin, d, up, k, c, count, spins[2];
    if (size < 3 || size > 40) return "N must be from 3 to 40";
    if (!sketch_make(p, 12 * size * size * size * size, 12 * size * size * size * size, 468 * size * size * size * size)) return NULL;
    for (; p->row < p->rows && !p->failed; sketch_row_end(p)) {
        site = p->row / 12;
        spin = (int)(p->row / 3 % 4);
        for (d = 0, step = 1; d < 4; d++, step *= size)
            for (up = 0; up < 2; up++) {
                uint64_t at = site / step % size;
                there = site - at * step + (at + (up ? 1 : size - 1)) % size * step;
                count = wilson_spins(spin, d, up, spins);
                for (k = 0; k < count; k++)
                    for (c = 0; c < 3; c++) sketch_append(p, there * 12 + (uint64_t)(spins[k] * 3 + c));
            }
    }
    return NULL;
}

static const char *draw_permutation(sketch *p, const uint64_t *n)
{
    if (n[0] < 1 || n[0] > 1000000000) return "N must be from 1 to 10^9";
    if (!sketch_make(p, n[0], n[0], n[0])) return NULL;
    for (; p->row < p->rows && !p->failed; sketch_row_end(p)) sketch_append(p, draw_permute(p->row, n[0], 5));
    return NULL;
}

/* A band whose places are filled at random. */
static const char *draw_band(sketch *p, const uint64_t *n)
{
    uint64_t c;
    if (n[0] < 1 || n[1] >= n[0] || n[0] > MOST_ENTRIES / (2 * n[1] + 1))
        return "WIDTH must be below N, and the band may have at most 2 * 10^9 elements";
    if (n[2] > 100) return "FILL must be from 0 to 100 percent";
    if (!sketch_make(p, n[0], n[0], n[0] * (2 * n[1] + 1) * n[2] / 100 + n[0])) return NULL;
    for (; p->row < p->rows && !p->failed; sketch_row_end(p))
        for (c = p->row < n[1] ? 0 : p->row - n[1]; c <= p->row + n[1] && c < p->cols; c++)
            if (c == p->row || draw_hash(p->row, c, 100) < n[2]) sketch_append(p, c);
    return NULL;
}

/* Blocks at random places of a grid. */
static const char *draw_blocks(sketch *p, const uint64_t *n)
{
    uint64_t k, c, across, dice;
    if (n[0] < 1 || !n[1] || n[1] > n[0]) return "B must be from 1 to N";
    across = (n[0] + n[1] - 1) / n[1];
    if (n[2] > across || n[0] > MOST_ENTRIES / (n[1] * n[2] + 1))
        return "K must be at most N / B, and the blocks may have at most 2 * 10^9 elements";
    if (n[3] < 1 || n[3] > 100) return "FILL must be from 1 to 100 percent";
    if (!sketch_make(p, n[0], n[0], n[0] * n[1] * n[2] * n[3] / 100)) return NULL;
    for (; p->row < p->rows && !p->failed; sketch_row_end(p)) {
        dice = draw_mix(p->row / n[1]); /* the same for all rows of a block */
        for (k = 0; k < n[2];) {
            uint64_t b = 2 * n[2] > across ? draw_permute(k, across, p->row / n[1]) : draw_roll(&dice, across);
            if (p->seen[b] == p->row + 1) continue;
            p->seen[b] = (uint32_t)p->row + 1;
            for (k++, c = b * n[1]; c < (b + 1) * n[1] && c < p->cols; c++)
                if (n[3] == 100 || draw_hash(p->row, c, 100) < n[3]) sketch_append(p, c);
        }
    }
    return NULL;
}

/* ---- lengths by mean, deviation and skewness ----------------------------------------------------------------------
 * A row's length is linear in E^c, where E is exponentially distributed (a Weibull distribution); c determines the skewness. */

enum { STRATA = 65536 }; /* the most different lengths that are computed; longer matrices repeat them */

typedef struct moments {
    double mean, deviation, skew;
} moments;

/* The moments of n values. */
static moments moments_of(const double *v, int n)
{
    moments m = {0, 0, 0};
    int i;
    for (i = 0; i < n; i++) m.mean += v[i] / n;
    for (i = 0; i < n; i++) {
        double d = v[i] - m.mean;
        m.deviation += d * d / n;
        m.skew += d * d * d / n;
    }
    m.deviation = number_root(m.deviation);
    m.skew = m.deviation > 0 ? m.skew / (m.deviation * m.deviation * m.deviation) : 0;
    return m;
}

static void powers(double *v, int n, double c)
{
    int i;
    for (i = 0; i < n; i++) v[i] = library_exp2(c * library_log2(-library_log2((i + 0.5) / n)));
}

/* Sets v to n lengths, longest first, with the wanted mean and deviation and the skewness of E^c. 0 if integers from 0 to most cannot
 * have such moments. */
static int fit_lengths(double *v, int n, double c, const moments *want, double most)
{
    moments got;
    int i;
    powers(v, n, c);
    got = moments_of(v, n);
    for (i = 0; i < n; i++) {
        double length = want->mean + want->deviation * (v[i] - got.mean) / got.deviation;
        length = length < 0 ? 0 : length > most ? most : length;
        v[i] = (double)(int64_t)(length + 0.5);
    }
    got = moments_of(v, n);
    return got.mean > 0.95 * want->mean && got.mean < 1.05 * want->mean && got.deviation < 1.1 * want->deviation + 0.3 &&
           got.deviation > 0.9 * want->deviation - 0.3;
}

/* Sets v to n lengths with the wanted moments: the least c that gives the skewness or, if that needs lengths below 0, a larger one. 0 if
 * there is none. */
static int find_lengths(double *v, int n, const moments *want, double most)
{
    int low = 16, high = 512; /* c in 1/64 */
    while (low < high) {
        int middle = (low + high) / 2;
        powers(v, n, middle / 64.0);
        if (moments_of(v, n).skew < want->skew) low = middle + 1;
        else high = middle;
    }
    for (; low <= 640; low += 1 + low / 16)
        if (fit_lengths(v, n, low / 64.0, want, most)) return 1;
    return 0;
}

/* Rows whose lengths have the given moments. r: how their columns are drawn. */
static const char *draw_by_moments(sketch *p, const uint64_t *n, const recipe *how)
{
    moments want;
    recipe r;
    uint64_t i;
    int strata = n[0] < STRATA ? (int)n[0] : STRATA;
    double *v;
    uint32_t *length;
    if (n[0] < 1 || n[0] > 1000000000 || n[1] > n[0] || n[1] * n[0] > MOST_ENTRIES)
        return "MEAN must be at most N, and there may be at most 2 * 10^9 entries";
    want.mean = (double)n[1];
    want.deviation = (double)n[2];
    want.skew = (double)n[3];
    r = *how;
    r.rows = r.cols = n[0];
    v = (double *)malloc((size_t)strata * sizeof *v);
    length = (uint32_t *)malloc((size_t)n[0] * sizeof *length);
    if (!v || !length || !sketch_make(p, n[0], n[0], n[0] * n[1])) p->failed = 1;
    else if (!find_lengths(v, strata, &want, (double)n[0])) p->failed = 2;
    for (i = 0; i < n[0] && !p->failed; i++) length[i] = (uint32_t)v[draw_permute(i, n[0], 9) * (uint64_t)strata / n[0]];
    if (!p->failed) draw_rows(p, &r, length);
    free(v);
    free(length);
    return p->failed == 2 ? "no row lengths from 0 to N have this mean and deviation" : NULL;
}

/* Random columns. */
static const char *draw_moments(sketch *p, const uint64_t *n)
{
    recipe r;
    memset(&r, 0, sizeof r);
    r.same = r.run = 1;
    return draw_by_moments(p, n, &r);
}

/* Columns like those of web graphs: most of them near the diagonal, some popular, and rows in pairs that share half of theirs. */
static const char *draw_near(sketch *p, const uint64_t *n)
{
    recipe r;
    memset(&r, 0, sizeof r);
    r.same = 2;
    r.copy = 50;
    r.run = 2;
    r.near = 75;
    r.reach = n[0] < 8000 ? (int)(n[0] / 4 + 1) : 2000;
    r.popular = 15;
    return draw_by_moments(p, n, &r);
}

/* ---- the list of drawn families ----------------------------------------------------------------------------------- */

const drawn drawn_families[] = {
    {"dense_#_#", draw_dense, "every entry of M x N"},
    {"epidemic_#", draw_epidemic, "states of a Markov chain on a triangle of side N, up to four nonzeros in a row\n"
     "(SuiteSparse Williams/mc2depi is epidemic_1025, with its states in another order)"},
    {"wilson_#", draw_wilson, "Wilson's hopping matrix on a periodic lattice of N^4 sites, 39 nonzeros in a row\n"
     "(SuiteSparse Williams/qcd5_4 is wilson_8, except for the order of the unknowns)"},
    {"permutation_#", draw_permutation, "one entry in each row and column, in random places"},
    {"band_#_#_#", draw_band, "N rows: the diagonal, and FILL percent of WIDTH diagonals on either side"},
    {"blocks_#_#_#_#", draw_blocks, "N rows in blocks of B x B on a grid, K in random places of each block row, FILL percent full"},
    {"lengths_#_#_#_#", draw_moments, "N rows of mean length MEAN with standard deviation DEV and skewness SKEW\n"
     "(or the least possible), in random columns"},
    {"near_#_#_#_#", draw_near, "the same, with most columns near the diagonal, as in web graphs"},
};

const int drawn_count = (int)(sizeof drawn_families / sizeof *drawn_families);
