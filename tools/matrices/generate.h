/* SPDX-License-Identifier: MIT
 *
 * tools/matrices/generate.h - what spmv gen can make: families, and the matrices of the papers. Part of tools/spmv.c.
 */
#ifndef SPMV_TOOLS_SUITE_H
#define SPMV_TOOLS_SUITE_H

#include "mesh.h"

/* ---- families drawn row by row ---------------------------------------------------------------------------------- */

enum { MOST_ENTRIES = 2000000000 };

static const char *draw_dense(sketch *p, const uint64_t *n)
{
    uint64_t c;
    if (!n[0] || !n[1] || n[0] > MOST_ENTRIES / n[1]) return "1 to 2 * 10^9 entries";
    if (!sketch_make(p, n[0], n[1], n[0] * n[1])) return NULL;
    for (; p->row < p->rows && !p->failed; row_end(p))
        for (c = 0; c < p->cols; c++) append(p, c);
    return NULL;
}

/* States (i, j), i + j < N: each stays, (i-1, j+1), (i, j-1) or (i+1, j). */
static const char *draw_epidemic(sketch *p, const uint64_t *n)
{
    uint64_t i, j, order = n[0];
    if (order < 1 || order > 30000) return "N is 1 to 30000";
    if (!sketch_make(p, order * (order + 1) / 2, order * (order + 1) / 2, 2 * order * (order + 1))) return NULL;
    for (i = 0; i < order && !p->failed; i++)
        for (j = 0; i + j < order; j++, row_end(p)) {
            if (i) append(p, p->row - (order - i));
            if (j) append(p, p->row - 1);
            append(p, p->row);
            if (i + j + 1 < order) append(p, p->row + (order - i));
        }
    return NULL;
}

/* The spins of a neighbouring site, one step up or down in direction d, that a spin meets; returns how many. The projectors are
 * 1 - g and 1 + g; that of time is diagonal. */
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
    if (size < 3 || size > 40) return "N is 3 to 40";
    if (!sketch_make(p, 12 * size * size * size * size, 12 * size * size * size * size, 468 * size * size * size * size)) return NULL;
    for (; p->row < p->rows && !p->failed; row_end(p)) {
        site = p->row / 12;
        spin = (int)(p->row / 3 % 4);
        for (d = 0, step = 1; d < 4; d++, step *= size)
            for (up = 0; up < 2; up++) {
                uint64_t at = site / step % size;
                there = site - at * step + (at + (up ? 1 : size - 1)) % size * step;
                count = wilson_spins(spin, d, up, spins);
                for (k = 0; k < count; k++)
                    for (c = 0; c < 3; c++) append(p, there * 12 + (uint64_t)(spins[k] * 3 + c));
            }
    }
    return NULL;
}

static const char *draw_permutation(sketch *p, const uint64_t *n)
{
    if (n[0] < 1 || n[0] > 1000000000) return "the order is 1 to 10^9";
    if (!sketch_make(p, n[0], n[0], n[0])) return NULL;
    for (; p->row < p->rows && !p->failed; row_end(p)) append(p, permute(p->row, n[0], 5));
    return NULL;
}

static const char *draw_band(sketch *p, const uint64_t *n)
{
    uint64_t c;
    if (n[0] < 1 || n[1] >= n[0] || n[0] > MOST_ENTRIES / (2 * n[1] + 1))
        return "WIDTH is below N, and the band has at most 2 * 10^9 places";
    if (n[2] > 100) return "FILL is 0 to 100 percent";
    if (!sketch_make(p, n[0], n[0], n[0] * (2 * n[1] + 1) * n[2] / 100 + n[0])) return NULL;
    for (; p->row < p->rows && !p->failed; row_end(p))
        for (c = p->row < n[1] ? 0 : p->row - n[1]; c <= p->row + n[1] && c < p->cols; c++)
            if (c == p->row || hash_below(p->row, c, 100) < n[2]) append(p, c);
    return NULL;
}

static const char *draw_blocks(sketch *p, const uint64_t *n)
{
    uint64_t k, c, across, dice;
    if (n[0] < 1 || !n[1] || n[1] > n[0]) return "B is 1 to N";
    across = (n[0] + n[1] - 1) / n[1];
    if (n[2] > across || n[0] > MOST_ENTRIES / (n[1] * n[2] + 1)) return "K is at most N / B, and there are at most 2 * 10^9 places";
    if (n[3] < 1 || n[3] > 100) return "FILL is 1 to 100 percent";
    if (!sketch_make(p, n[0], n[0], n[0] * n[1] * n[2] * n[3] / 100)) return NULL;
    for (; p->row < p->rows && !p->failed; row_end(p)) {
        dice = mix(p->row / n[1]); /* so that all rows of a block draw the same ones */
        for (k = 0; k < n[2];) {
            uint64_t b = 2 * n[2] > across ? permute(k, across, p->row / n[1]) : roll(&dice, across);
            if (p->seen[b] == p->row + 1) continue;
            p->seen[b] = (uint32_t)p->row + 1;
            for (k++, c = b * n[1]; c < (b + 1) * n[1] && c < p->cols; c++)
                if (n[3] == 100 || hash_below(p->row, c, 100) < n[3]) append(p, c);
        }
    }
    return NULL;
}

/* ---- lengths by mean, deviation and skewness ----------------------------------------------------------------------
 * A row's length is linear in E^c, E being exponentially distributed (Weibull); c gives the skewness. */

enum { STRATA = 65536 };

typedef struct moments {
    double mean, deviation, skew;
} moments;

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
    m.deviation = square_root(m.deviation);
    m.skew = m.deviation > 0 ? m.skew / (m.deviation * m.deviation * m.deviation) : 0;
    return m;
}

static void powers(double *v, int n, double c)
{
    int i;
    for (i = 0; i < n; i++) v[i] = spmv__exp2(c * spmv__log2(-spmv__log2((i + 0.5) / n)));
}

/* Lengths, longest first, with the wanted mean and deviation and whatever skewness E^c has: 0 if whole numbers from 0 to
 * most have no such moments. */
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

/* The least c that gives the skewness, or with lengths from 0 a larger one. */
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

static const char *draw_moments(sketch *p, const uint64_t *n)
{
    moments want;
    recipe r;
    uint64_t i;
    int strata = n[0] < STRATA ? (int)n[0] : STRATA;
    double *v;
    uint32_t *length;
    if (n[0] < 1 || n[0] > 1000000000 || n[1] > n[0] || n[1] * n[0] > MOST_ENTRIES)
        return "MEAN is at most N, and there are at most 2 * 10^9 entries";
    want.mean = (double)n[1];
    want.deviation = (double)n[2];
    want.skew = (double)n[3];
    memset(&r, 0, sizeof r);
    r.rows = r.cols = n[0];
    r.same = r.run = 1;
    v = (double *)malloc((size_t)strata * sizeof *v);
    length = (uint32_t *)malloc((size_t)n[0] * sizeof *length);
    if (!v || !length || !sketch_make(p, n[0], n[0], n[0] * n[1])) p->failed = 1;
    else if (!find_lengths(v, strata, &want, (double)n[0])) p->failed = 2;
    for (i = 0; i < n[0] && !p->failed; i++) length[i] = (uint32_t)v[permute(i, n[0], 9) * (uint64_t)strata / n[0]];
    if (!p->failed) draw_rows(p, &r, length);
    free(v);
    free(length);
    return p->failed == 2 ? "no lengths from 0 to N have this mean and deviation" : NULL;
}

/* ---- the list of drawn families ----------------------------------------------------------------------------------- */

typedef struct drawn {
    const char *form;
    const char *(*draw)(sketch *p, const uint64_t *n); /* makes p; NULL, or why not */
    const char *text;
} drawn;

static const drawn drawn_families[] = {
    {"dense_#_#", draw_dense, "every entry of M x N"},
    {"epidemic_#", draw_epidemic, "states of a Markov chain on a triangle of side N, four a row\n"
     "(SuiteSparse Williams/mc2depi is epidemic_1025, states in another order)"},
    {"wilson_#", draw_wilson, "Wilson's hopping matrix on a periodic lattice of N^4 sites, 39 a row\n"
     "(SuiteSparse Williams/qcd5_4 is wilson_8, but for the order of unknowns)"},
    {"permutation_#", draw_permutation, "one entry in each row and column, anywhere"},
    {"band_#_#_#", draw_band, "N rows, WIDTH diagonals on either side, FILL percent of them, and the diagonal"},
    {"blocks_#_#_#_#", draw_blocks, "N rows in blocks of B x B on a grid, K anywhere in a row of blocks, FILL percent full"},
    {"lengths_#_#_#_#", draw_moments, "N rows of mean length MEAN with standard deviation DEV and skewness SKEW\n"
     "(or the least there is), columns anywhere"},
};

enum { DRAWN_FAMILIES = sizeof drawn_families / sizeof *drawn_families };

/* ---- matrices of the papers ------------------------------------------------------------------------------------------
 * Rows, columns and nonzeros are the collection's; the rest is chosen for the structure that the papers' figures and tables show
 * (the split of HYB, the formats that win, diagonals and blocks). */

#define ALL 1000000
static const recipe recipes[] = {
    {.name = "dense_2000_2000", .rows = 2000, .cols = 2000, .nnz = 4000000},
    {.name = "dense_10000_10000", .rows = 10000, .cols = 10000, .nnz = 100000000},
    {.name = "epidemic_1025", .rows = 525825, .cols = 525825, .nnz = 2100225},
    {.name = "wilson_8", .rows = 49152, .cols = 49152, .nnz = 1916928},
    {.name = "permutation_10000000", .rows = 10000000, .cols = 10000000, .nnz = 10000000},
    {.name = "Trefethen_20000b", .rows = 19999, .cols = 19999, .nnz = 554435},
    /* meshes */
    {.name = "cant", .rows = 62451, .cols = 62451, .nnz = 4007383, .drawing = MESH, .size = {9, 9, 257}, .block = 3},
    {.name = "consph", .rows = 83334, .cols = 83334, .nnz = 6010480, .drawing = MESH, .shape = HOLLOW, .size = {45, 45, 45}, .block = 3},
    {.name = "pdb1HYS", .rows = 36417, .cols = 36417, .nnz = 4344765, .drawing = MESH, .shape = BALL, .size = {29, 29, 29}, .block = 3,
     .cell = 3, .loss = 25},
    {.name = "pwtk", .rows = 217918, .cols = 217918, .nnz = 11524432, .drawing = MESH, .shape = BALL, .size = {216, 216, 1}, .block = 6},
    {.name = "rma10", .rows = 46835, .cols = 46835, .nnz = 2329092, .drawing = MESH, .shape = BALL, .size = {4, 67, 68}, .block = 5,
        .plain = 5, .rich = 38, .loss = 20},
    {.name = "rma10 with zeros", .rows = 46835, .cols = 46835, .nnz = 2374001, .drawing = MESH, .shape = BALL, .size = {4, 67, 68},
        .block = 5,
     .plain = 5, .rich = 38, .loss = 20},
    {.name = "shipsec1", .rows = 140874, .cols = 140874, .nnz = 3568176, .drawing = MESH, .shape = BALL, .size = {174, 174, 1}, .block = 6,
     .shell = 1, .fill = 90},
    {.name = "shipsec1, half", .rows = 140874, .cols = 140874, .nnz = 3977139, .drawing = MESH, .shape = BALL, .size = {174, 174, 1},
        .block = 6,
     .shell = 1},
    {.name = "shipsec1 with zeros", .rows = 140874, .cols = 140874, .nnz = 7813404, .drawing = MESH, .shape = BALL, .size = {174, 174, 1},
     .block = 6},
    {.name = "cop20k_A", .rows = 121192, .cols = 121192, .nnz = 2624331, .drawing = MESH, .shape = BALL, .size = {58, 58, 58},
        .plain = 13, .rich = 42, .loss = 27,
     .chunk = 16, .empty = 21349},
    {.name = "raefsky3", .rows = 21200, .cols = 21200, .nnz = 1488768, .drawing = MESH, .size = {50, 53, 1}, .block = 8},
    {.name = "aorta", .rows = 497000, .cols = 497000, .nnz = 2400000, .drawing = MESH, .shape = BALL, .size = {40, 40, 600}, .loss = 34},
    {.name = "cage15", .rows = 5154859, .cols = 5154859, .nnz = 99199551, .drawing = MESH, .shape = BALL, .size = {215, 215, 215},
        .loss = 10},
    {.name = "heart1", .rows = 3557, .cols = 3557, .nnz = 1387773, .drawing = MESH, .shape = BALL, .size = {14, 14, 14}, .block = 3,
        .loss = 15},
    {.name = "spiral", .rows = 1434, .cols = 1434, .nnz = 18228, .drawing = MESH, .shape = BALL, .size = {44, 44, 1}, .loss = 10},
    {.name = "viscoplastic1", .rows = 4326, .cols = 4326, .nnz = 61166, .drawing = MESH, .shape = BALL, .size = {54, 54, 1}, .block = 2,
        .loss = 5},
    {.name = "fp", .rows = 7548, .cols = 7548, .nnz = 834222, .drawing = MESH, .shape = BALL, .size = {17, 17, 17}, .block = 3, .loss = 10},
    /* electrons: .fill atoms */
    {.name = "Ga41As41H72", .rows = 268096, .cols = 268096, .nnz = 18488476, .drawing = ATOMS, .shape = BALL, .size = {81, 81, 81},
        .fill = 154},
    {.name = "Si41Ge41H72", .rows = 185639, .cols = 185639, .nnz = 15011265, .drawing = ATOMS, .shape = BALL, .size = {71, 71, 71},
        .fill = 154},
    /* rows by length */
    {.name = "mac_econ_fwd500", .rows = 206500, .cols = 206500, .nnz = 1273389, .drawing = ROWS, .period = 500, .near = 100,
        .reach = 3000, .diagonal = 1,
     .knots = {{0, 1}, {300000, 3}, {600000, 6}, {700000, 7}, {900000, 9}, {990000, 20}, {ALL, 44}}},
    {.name = "scircuit", .rows = 170998, .cols = 170998, .nnz = 958936, .drawing = ROWS, .near = 75, .reach = 2000, .popular = 10,
        .diagonal = 1,
     .knots = {{0, 3}, {330000, 4}, {660000, 5}, {900000, 7}, {990000, 15}, {999000, 50}, {ALL, 353}}},
    {.name = "webbase-1M", .rows = 1000005, .cols = 1000005, .nnz = 3105536, .drawing = ROWS, .near = 50, .reach = 2000, .popular = 40,
        .diagonal = 1,
     .knots = {{0, 1}, {10000, 2}, {850000, 2}, {900000, 3}, {985000, 6}, {999900, 84}, {ALL, 4700}}},
    {.name = "rail4284", .rows = 4284, .cols = 1092610, .nnz = 11279748, .drawing = ROWS, .near = 60, .reach = 200000, .run = 2,
     .knots = {{0, 1}, {44000, 23}, {200000, 300}, {500000, 1200}, {800000, 3500}, {980000, 11000}, {ALL, 56181}}},
    {.name = "circuit5M", .rows = 5558326, .cols = 5558326, .nnz = 59524291, .drawing = ROWS, .near = 75, .reach = 3000, .popular = 15,
        .diagonal = 1,
     .longs = 3, .length = 1290501,
     .knots = {{0, 1}, {100000, 4}, {500000, 7}, {800000, 10}, {980000, 27}, {999900, 100}, {ALL, 1000}}},
    {.name = "eu-2005", .rows = 862664, .cols = 862664, .nnz = 19235140, .drawing = ROWS, .near = 75, .reach = 4000, .popular = 15,
        .same = 4, .copy = 60,
     .run = 2, .knots = {{0, 0}, {100000, 5}, {500000, 15}, {800000, 30}, {980000, 65}, {999900, 350}, {ALL, 6985}}},
    {.name = "in-2004", .rows = 1382908, .cols = 1382908, .nnz = 16917053, .drawing = ROWS, .near = 80, .reach = 4000, .popular = 12,
        .same = 4, .copy = 70,
     .run = 3, .knots = {{0, 0}, {150000, 2}, {500000, 7}, {800000, 15}, {980000, 45}, {999900, 250}, {ALL, 7753}}},
    {.name = "mip1", .rows = 66463, .cols = 66463, .nnz = 10352819, .drawing = ROWS, .near = 90, .reach = 3000, .popular = 5, .same = 8,
        .copy = 100,
     .run = 8, .longs = 8, .length = 66395,
     .knots = {{0, 4}, {300000, 40}, {600000, 110}, {800000, 180}, {980000, 500}, {999900, 1200}, {ALL, 5000}}},
    {.name = "asia_osm", .rows = 11950757, .cols = 11950757, .nnz = 25423206, .drawing = ROWS, .near = 99, .reach = 256,
     .knots = {{0, 1}, {100000, 1}, {150000, 2}, {750000, 2}, {950000, 3}, {ALL, 4}}},
    {.name = "lp1", .rows = 534388, .cols = 534388, .nnz = 1643420, .drawing = ROWS, .near = 70, .reach = 20000, .popular = 20,
        .diagonal = 1,
     .longs = 1, .length = 249643, .knots = {{0, 1}, {300000, 2}, {800000, 3}, {990000, 4}, {ALL, 30}}},
    {.name = "Chebyshev4", .rows = 68121, .cols = 68121, .nnz = 5377761, .drawing = ROWS, .near = 100, .reach = 200, .run = 8,
        .diagonal = 1,
     .longs = 16, .length = 68121, .knots = {{0, 9}, {100000, 60}, {ALL, 68}}},
    {.name = "TSOPF_RS_b2383", .rows = 38120, .cols = 38120, .nnz = 16171169, .drawing = ROWS, .near = 50, .reach = 2000, .same = 16,
        .copy = 100, .run = 24,
     .knots = {{0, 2}, {490000, 6}, {500000, 820}, {900000, 860}, {ALL, 983}}},
    {.name = "TSOPF_RS_b162_c3", .rows = 15374, .cols = 15374, .nnz = 610299, .drawing = ROWS, .near = 50, .reach = 1000, .same = 12,
        .copy = 100, .run = 12,
     .knots = {{0, 2}, {800000, 4}, {820000, 160}, {ALL, 200}}},
    {.name = "psmigr_1", .rows = 3140, .cols = 3140, .nnz = 543162, .drawing = ROWS, .near = 20, .reach = 200, .popular = 20,
     .knots = {{0, 2}, {200000, 50}, {500000, 120}, {800000, 230}, {980000, 550}, {ALL, 2294}}},
    {.name = "deter4", .rows = 3235, .cols = 9133, .nnz = 19231, .drawing = ROWS, .near = 80, .reach = 60, .run = 2,
     .knots = {{0, 1}, {300000, 3}, {900000, 7}, {995000, 12}, {ALL, 300}}},
    {.name = "Maragal_2", .rows = 555, .cols = 350, .nnz = 4357, .drawing = ROWS, .popular = 50,
     .knots = {{0, 1}, {500000, 3}, {900000, 10}, {ALL, 80}}},
};

typedef struct exhibit {
    const char *name, *recipe, *text;
} exhibit;

#define ZEROS_LEFT_OUT "without explicit zeros"

static const exhibit clspmv_list[] = {
    {"clspmv_dense", "dense_2000_2000", "dense"},
    {"clspmv_protein", "pdb1HYS", "contacts of a folded chain, 3 x 3 blocks"},
    {"clspmv_spheres", "consph", "shell of hexahedra, 3 unknowns a node"},
    {"clspmv_cantilever", "cant", "beam of 9 x 9 x 257 nodes, 3 unknowns each"},
    {"clspmv_wind_tunnel", "pwtk", "shell elements, 6 unknowns a node; " ZEROS_LEFT_OUT},
    {"clspmv_harbor", "rma10", "layers of varying depth, 5 unknowns a node; " ZEROS_LEFT_OUT},
    {"clspmv_qcd", "wilson_8", "lattice of 8^4 sites, 3 x 3 blocks"},
    {"clspmv_ship", "shipsec1, half", "shell elements, 6 x 6 blocks half full; the table's count"},
    {"clspmv_economics", "mac_econ_fwd500", "500 rows, much alike, in each of 413 periods"},
    {"clspmv_epidemiology", "epidemic_1025", "triangle of states, four a row"},
    {"clspmv_accelerator", "cop20k_A", "mesh numbered anyhow, every sixth row empty"},
    {"clspmv_circuit", "scircuit", "rows of 5, some long; popular columns"},
    {"clspmv_webbase", "webbase-1M", "rows of 2, a long tail; popular columns"},
    {"clspmv_lp", "rail4284", "few rows, thousands long"},
    {"clspmv_circuit5m", "circuit5M", "full diagonal, a few rows of a million"},
    {"clspmv_eu-2005", "eu-2005", "web graph: neighbouring rows share links"},
    {"clspmv_ga41as41h72", "Ga41As41H72", "differences on a ball, dense around 154 atoms"},
    {"clspmv_in-2004", "in-2004", "web graph: neighbouring rows share links"},
    {"clspmv_mip1", "mip1", "8 x 8 blocks and a few full rows"},
    {"clspmv_si41ge41h72", "Si41Ge41H72", "differences on a ball, dense around 154 atoms"},
};

static const exhibit hybr_list[] = {
    {"hybr_cantilever", "cant", "as clspmv_cantilever"},
    {"hybr_spheres", "consph", "as clspmv_spheres"},
    {"hybr_accelerator", "cop20k_A", "as clspmv_accelerator"},
    {"hybr_economics", "mac_econ_fwd500", "as clspmv_economics"},
    {"hybr_epidemiology", "epidemic_1025", "as clspmv_epidemiology"},
    {"hybr_protein", "pdb1HYS", "as clspmv_protein"},
    {"hybr_wind_tunnel", "pwtk", "as clspmv_wind_tunnel; the table counts 109,992 explicit zeros"},
    {"hybr_qcd", "wilson_8", "as clspmv_qcd"},
    {"hybr_lp", "rail4284", "as clspmv_lp"},
    {"hybr_harbor", "rma10 with zeros", "as clspmv_harbor, with explicit zeros"},
    {"hybr_circuit", "scircuit", "as clspmv_circuit"},
    {"hybr_ship", "shipsec1 with zeros", "as clspmv_ship, blocks full: with explicit zeros"},
    {"hybr_webbase", "webbase-1M", "as clspmv_webbase"},
};

static const exhibit kuresson_list[] = {
    {"kuresson_heart1", "heart1", "mesh, 3 unknowns a node, 130 neighbours"},
    {"kuresson_trefethen_20000b", "Trefethen_20000b", "primes and powers of two; the table counts a half, 287,217"},
    {"kuresson_tsopf_rs_b162_c3", "TSOPF_RS_b162_c3", "a fifth of the rows dense strips"},
    {"kuresson_psmigr_1", "psmigr_1", "a sixth full, popular columns"},
    {"kuresson_spiral", "spiral", "flat mesh; the table counts a half, 9,831"},
    {"kuresson_viscoplastic1", "viscoplastic1", "flat mesh, 2 unknowns a node"},
    {"kuresson_deter4", "deter4", "staircase"},
    {"kuresson_maragal_2", "Maragal_2", "popular columns, a few long rows"},
    {"kuresson_fp", "fp", "mesh, 3 unknowns a node, 37 neighbours"},
};

static const exhibit koza_list[] = {
    {"koza_p7", "permutation_10000000", "a permutation"},
    {"koza_asia_osm", "asia_osm", "roads: rows of two, near the diagonal"},
    {"koza_webbase", "webbase-1M", "as clspmv_webbase"},
    {"koza_lp1", "lp1", "short rows and one of 249,643"},
    {"koza_mc2depi", "epidemic_1025", "as clspmv_epidemiology"},
    {"koza_aorta", "aorta", "flow in a tube; sizes to three digits, as in the table"},
    {"koza_mac_econ", "mac_econ_fwd500", "as clspmv_economics"},
    {"koza_scircuit", "scircuit", "as clspmv_circuit"},
    {"koza_cage15", "cage15", "18 neighbours in a ball"},
    {"koza_cop20k_a", "cop20k_A", "as clspmv_accelerator"},
    {"koza_shipsec1", "shipsec1", "as clspmv_ship; " ZEROS_LEFT_OUT},
    {"koza_qcd5_4", "wilson_8", "as clspmv_qcd"},
    {"koza_rma10", "rma10 with zeros", "as clspmv_harbor; with explicit zeros, as the table has it"},
    {"koza_pwtk", "pwtk", "as clspmv_wind_tunnel"},
    {"koza_cant", "cant", "as clspmv_cantilever"},
    {"koza_raefsky3", "raefsky3", "sheet of 50 x 53 nodes, 8 unknowns each"},
    {"koza_consph", "consph", "as clspmv_spheres"},
    {"koza_chebyshev4", "Chebyshev4", "band of runs and 16 full rows"},
    {"koza_pdb1hys", "pdb1HYS", "as clspmv_protein"},
    {"koza_tsopf_rs_b2383", "TSOPF_RS_b2383", "every other row long, in strips of 16 alike"},
    {"koza_rail4284", "rail4284", "as clspmv_lp"},
    {"koza_dense10000", "dense_10000_10000", "dense"},
};

static const struct paper {
    const char    *title;
    const exhibit *list;
    int            count;
} papers[] = {
    {"Su, Keutzer 2012 (clSpMV), Table 1", clspmv_list, sizeof clspmv_list / sizeof *clspmv_list},
    {"Xu and others 2012 (HYB-R), Table III", hybr_list, sizeof hybr_list / sizeof *hybr_list},
    {"Kuresson 2012, Table 5", kuresson_list, sizeof kuresson_list / sizeof *kuresson_list},
    {"Koza and others 2013 (CMRS), Table 2", koza_list, sizeof koza_list / sizeof *koza_list},
};

enum { PAPERS = sizeof papers / sizeof *papers };

/* What the name of a paper's matrix stands for, or NULL. */
static const recipe *recipe_find(const char *name)
{
    size_t k;
    int i, j;
    for (i = 0; i < PAPERS; i++)
        for (j = 0; j < papers[i].count; j++)
            if (!strcmp(name, papers[i].list[j].name))
                for (k = 0; k < sizeof recipes / sizeof *recipes; k++)
                    if (!strcmp(recipes[k].name, papers[i].list[j].recipe)) return &recipes[k];
    return NULL;
}

/* ---- the list -------------------------------------------------------------------------------------------------------- */

static void list_form(const char *form, const char *text)
{
    printf("  %-15s ", form);
    for (; *text; text++) {
        putchar(*text);
        if (*text == '\n') printf("%18s", "");
    }
    putchar('\n');
}

static void list_families(void)
{
    int i, j;
    puts("By formula. Each # stands for a number.\n");
    for (i = 0; i < FAMILIES; i++) list_form(families[i].form, families[i].text);
    for (i = 0; i < DRAWN_FAMILIES; i++) list_form(drawn_families[i].form, drawn_families[i].text);
    puts("\nMatrices of the papers: name, rows, columns, nonzeros; \"exact\" where a formula gives the pattern (but perhaps for the\n"
         "order of unknowns), \"like\" where it is an imitation of the same size and kind. Values are small integers.");
    for (i = 0; i < PAPERS; i++) {
        printf("\n%s\n", papers[i].title);
        for (j = 0; j < papers[i].count; j++) {
            const exhibit *x = &papers[i].list[j];
            const recipe *r = recipe_find(x->name);
            printf("  %-25s %8llu %8llu %9llu  %s  %s\n", x->name, (unsigned long long)r->rows, (unsigned long long)r->cols,
                   (unsigned long long)r->nnz, r->drawing == FORMULA ? "exact" : "like ", x->text);
        }
    }
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

static const char *draw_recipe(sketch *p, recipe r)
{
    if (!sketch_make(p, r.rows, r.cols, r.nnz)) return NULL;
    if (!r.block) r.block = 1;
    if (!r.fill) r.fill = 100;
    if (!r.cell) r.cell = 1;
    if (!r.same) r.same = 1;
    if (!r.run) r.run = 1;
    if (r.drawing == MESH) draw_mesh(p, &r);
    if (r.drawing == ATOMS) draw_atoms(p, &r);
    if (r.drawing == ROWS) draw_lengths(p, &r);
    return NULL;
}

/* Whole numbers of -8 to 8 but 0, symmetric where the pattern is. */
static float *sketch_values(const sketch *p)
{
    float *val = (float *)malloc(((size_t)p->nnz + 1) * sizeof *val);
    uint64_t r, k;
    for (r = 0; val && r < p->rows; r++)
        for (k = p->ptr[r]; k < p->ptr[r + 1]; k++) {
            uint64_t c = p->col[k], v = hash_below(r < c ? r : c, r < c ? c : r, 16);
            val[k] = (float)v - (v < 8 ? 8 : 7);
        }
    return val;
}

static int sketch_finish(tool *t, sketch *p, spmv_csr *out)
{
    spmv_input in;
    spmv_status s = SPMV_ERR_MEMORY;
    float *val = p->failed ? NULL : sketch_values(p);
    memset(&in, 0, sizeof in);
    in.rows = (int64_t)p->rows;
    in.cols = (int64_t)p->cols;
    in.nnz = (int64_t)p->nnz;
    in.ptr = p->ptr;
    in.ptr_bits = 64;
    in.col = p->col;
    in.val = val;
    in.val_type = SPMV_F32;
    in.duplicates = SPMV_DUP_REFUSE; /* a drawing that gives one is wrong */
    if (val) s = spmv_csr_from(out, &in, SPMV_F64, &t->hooks);
    else no_memory(t);
    free(val);
    sketch_free(p);
    progress_clear(t);
    return s == SPMV_OK ? DONE : FAILED;
}

static int entries_finish(tool *t, entries *e, spmv_csr *out)
{
    spmv_input in;
    spmv_status s;
    memset(&in, 0, sizeof in);
    in.layout = SPMV_IN_COO;
    in.rows = (int64_t)e->rows;
    in.cols = (int64_t)e->cols;
    in.nnz = (int64_t)e->count;
    in.row = e->row;
    in.col = e->col;
    in.val = e->val;
    in.duplicates = SPMV_DUP_REFUSE; /* a formula that gives one is wrong */
    s = spmv_csr_from(out, &in, SPMV_F64, &t->hooks);
    progress_clear(t);
    entries_free(e);
    return s == SPMV_OK ? DONE : FAILED;
}

/* The matrix called name as CSR. */
static int generate(tool *t, const char *name, spmv_csr *out)
{
    uint64_t n[4];
    entries e;
    sketch p;
    const recipe *r = recipe_find(name);
    const char *why = NULL, *form = r && r->drawing == FORMULA ? r->name : name;
    int i, j;
    for (i = 0; i < FAMILIES && !form_matches(families[i].form, form, n); i++) continue;
    for (j = 0; i == FAMILIES && j < DRAWN_FAMILIES && !form_matches(drawn_families[j].form, form, n); j++) continue;
    if (i == FAMILIES && j == DRAWN_FAMILIES && !r) return misuse(t, "no formula for '%s'; spmv gen --list names what there is", name);
    memset(&e, 0, sizeof e);
    memset(&p, 0, sizeof p);
    t->about = name;
    progress_name(t, "making", name);
    if (i < FAMILIES) why = families[i].make(&e, n);
    else if (j < DRAWN_FAMILIES) why = drawn_families[j].draw(&p, n);
    else why = draw_recipe(&p, *r);
    if (!why && !e.failed) return i < FAMILIES ? entries_finish(t, &e, out) : sketch_finish(t, &p, out);
    entries_free(&e);
    sketch_free(&p);
    return why ? complain(t, "%s", why) : no_memory(t);
}

#endif
