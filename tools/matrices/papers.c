/* SPDX-License-Identifier: MIT */
#include "papers.h"

#include "draw.h"
#include <string.h>

/* Rows, columns and nonzeros are those of the collection; the rest is chosen to give the structure that the papers' figures and tables
 * show (the split of HYB, the fastest formats, diagonals and blocks). */

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
    {"clspmv_economics", "mac_econ_fwd500", "413 periods of 500 rows each, which are much alike"},
    {"clspmv_epidemiology", "epidemic_1025", "triangle of states, four a row"},
    {"clspmv_accelerator", "cop20k_A", "mesh with shuffled numbering, every sixth row empty"},
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
    {"kuresson_trefethen_20000b", "Trefethen_20000b", "primes and powers of two; the table counts one half, 287,217"},
    {"kuresson_tsopf_rs_b162_c3", "TSOPF_RS_b162_c3", "a fifth of the rows in dense strips"},
    {"kuresson_psmigr_1", "psmigr_1", "a sixth full, popular columns"},
    {"kuresson_spiral", "spiral", "flat mesh; the table counts one half, 9,831"},
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

const paper paper_list[] = {
    {"Su, Keutzer 2012 (clSpMV), Table 1", clspmv_list, sizeof clspmv_list / sizeof *clspmv_list},
    {"Xu and others 2012 (HYB-R), Table III", hybr_list, sizeof hybr_list / sizeof *hybr_list},
    {"Kuresson 2012, Table 5", kuresson_list, sizeof kuresson_list / sizeof *kuresson_list},
    {"Koza and others 2013 (CMRS), Table 2", koza_list, sizeof koza_list / sizeof *koza_list},
};

const int paper_count = (int)(sizeof paper_list / sizeof *paper_list);

const recipe *paper_recipe(const char *name)
{
    size_t k;
    int i, j;
    for (i = 0; i < paper_count; i++)
        for (j = 0; j < paper_list[i].count; j++)
            if (!strcmp(name, paper_list[i].list[j].name))
                for (k = 0; k < sizeof recipes / sizeof *recipes; k++)
                    if (!strcmp(recipes[k].name, paper_list[i].list[j].recipe)) return &recipes[k];
    return NULL;
}
