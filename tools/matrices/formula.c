/* SPDX-License-Identifier: MIT */
#include "formula.h"

#include "../cli/memory.h"
#include "entries.h"
#include <stdlib.h>
#include <string.h>

/* ---- primes: Trefethen's hundred-digit challenge, problem 7 ---------------------------------------------------- */

/* An array, which the caller frees, that marks the composite numbers below limit; NULL if memory ran out. */
static unsigned char *sieve(uint64_t limit)
{
    unsigned char *composite = (unsigned char *)calloc((size_t)limit, 1);
    uint64_t p, k;
    if (!composite) return NULL;
    for (p = 2; p * p < limit; p++)
        if (!composite[p]) for (k = p * p; k < limit; k += p) composite[k] = 1;
    return composite;
}

/* Rows first .. n-1 of the matrix of order n: the primes on the diagonal, 1 where |i - j| is a power of two. */
static void trefethen(entries *e, uint64_t n, uint64_t first)
{
    uint64_t limit = 16 + 32 * n, prime = 1, i, step; /* the n-th prime is below 32 n while n is below 10^12 */
    unsigned char *composite = sieve(limit);
    if (!composite) { e->failed = 1; return; }
    e->rows = e->cols = n - first;
    for (i = 0; i < n && !e->failed; i++) {
        do prime++; while (composite[prime]);
        if (i < first) continue;
        entries_add(e, i - first, i - first, (double)prime);
        for (step = 1; i + step < n; step *= 2) entries_add_both(e, i - first, i + step - first, 1);
    }
    free(composite);
}

static const char *make_trefethen(entries *e, const uint64_t *n)
{
    if (n[0] < 1 || n[0] > 20000000) return "N must be from 1 to 20000000";
    trefethen(e, n[0], 0);
    return NULL;
}

static const char *make_trefethen_b(entries *e, const uint64_t *n)
{
    if (n[0] < 2 || n[0] > 20000000) return "N must be from 2 to 20000000";
    trefethen(e, n[0], 1);
    return NULL;
}

/* ---- Mycielski's graphs ---------------------------------------------------------------------------------------- */

/* Begins with one edge. Each step adds a copy of every vertex, joined to the neighbours of the original, and one vertex that is joined
 * to all copies. */
static const char *make_mycielskian(entries *e, const uint64_t *n)
{
    uint64_t order = 2, step, k, edges, i;
    if (n[0] < 2 || n[0] > 20) return "N must be from 2 to 20";
    e->ones = 1;
    entries_add_both(e, 0, 1, 1);
    for (step = 2; step < n[0] && !e->failed; step++) {
        edges = e->count;
        for (k = 0; k < edges && !e->failed; k++) entries_add_both(e, e->row[k], e->col[k] + order, 1);
        for (i = 0; i < order; i++) entries_add_both(e, order + i, 2 * order, 1);
        order = 2 * order + 1;
    }
    e->rows = e->cols = order;
    return NULL;
}

/* ---- simplicial complexes ------------------------------------------------------------------------------------------
 * A simplex is stored as a key: groups lists of length bytes each, one byte per vertex. Keys are in memcmp's order. To drop vertex i is
 * to remove byte i of each list. */

typedef struct simplices {
    size_t   length, groups;
    uint64_t count, room;
    unsigned char *key;
} simplices;

enum { LONGEST = 32, MOST_SIMPLICES = 50000000 };

typedef int (*fits_rule)(const unsigned char *list, int i);

static int fits_rising(const unsigned char *list, int i)
{
    return !i || list[i] > list[i - 1];
}

static int fits_distinct(const unsigned char *list, int i)
{
    return !memchr(list, list[i], (size_t)i);
}

/* Vertex number v of the matching complex is the v-th pair i < j in lexical order of (j, i), so that it does not depend
 * on how many points there are. */
static void pair_of(unsigned v, unsigned *i, unsigned *j)
{
    for (*j = 1; v >= *j; ++*j) v -= *j;
    *i = v;
}

static int fits_matching(const unsigned char *list, int i)
{
    unsigned a, b, c, d;
    int k;
    if (!fits_rising(list, i)) return 0;
    pair_of(list[i], &a, &b);
    for (k = 0; k < i; k++) {
        pair_of(list[k], &c, &d);
        if (a == c || a == d || b == c || b == d) return 0;
    }
    return 1;
}

/* Sets list to the first (if fresh) or next list of length numbers below n, in lexical order, that obeys the rule at every place. 0 if
 * there is none. */
static int next_list(unsigned char *list, int length, unsigned n, fits_rule fits, int fresh)
{
    int i = fresh ? 0 : length - 1;
    unsigned v = fresh ? 0 : list[i] + 1u;
    while (i >= 0) {
        for (; v < n; v++) {
            list[i] = (unsigned char)v;
            if (fits(list, i)) break;
        }
        if (v >= n) {
            if (--i >= 0) v = list[i] + 1u;
        } else if (++i == length) {
            return 1;
        } else {
            v = 0;
        }
    }
    return 0;
}

/* Adds a simplex. 1, or 0 if memory ran out. */
static int simplex_add(simplices *s, const unsigned char *first, const unsigned char *second)
{
    size_t width = s->length * s->groups;
    unsigned char *at;
    if (s->count == s->room) {
        void *key = s->key;
        uint64_t room = s->room ? s->room + s->room / 2 : 1024;
        if (!memory_resize(&key, room, width)) return 0;
        s->key = (unsigned char *)key;
        s->room = room;
    }
    at = s->key + s->count++ * width;
    memcpy(at, first, s->length);
    if (s->groups == 2) memcpy(at + s->length, second, s->length);
    return 1;
}

/* Makes all simplices: all lists that obey the rule or, if n is not 0, all pairs of such a list below m and one of distinct numbers
 * below n. 1, or 0 if memory ran out. */
static int simplices_make(simplices *s, size_t length, unsigned m, unsigned n, fits_rule rule)
{
    unsigned char first[LONGEST], second[LONGEST];
    int more, inner, size = (int)length;
    memset(s, 0, sizeof *s);
    s->length = length;
    s->groups = n ? 2 : 1;
    for (more = next_list(first, size, m, rule, 1); more; more = next_list(first, size, m, rule, 0)) {
        if (!n && !simplex_add(s, first, NULL)) return 0;
        if (!n) continue;
        for (inner = next_list(second, size, n, fits_distinct, 1); inner;
             inner = next_list(second, size, n, fits_distinct, 0))
            if (!simplex_add(s, first, second)) return 0;
    }
    return 1;
}

/* The number of the simplex with this key. */
static uint64_t simplex_find(const simplices *s, const unsigned char *key)
{
    size_t width = s->length * s->groups;
    uint64_t low = 0, high = s->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int order = memcmp(s->key + middle * width, key, width);
        if (!order) return middle;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return s->count; /* not reached: every face of a simplex is a simplex */
}

/* The boundary matrix: its rows are the simplices of big and its columns their faces, those of small. The face without vertex i has the
 * sign (-1)^i. */
static void boundary(entries *e, const simplices *big, const simplices *small)
{
    unsigned char face[2 * LONGEST];
    uint64_t r;
    size_t i, g;
    e->rows = big->count;
    e->cols = small->count;
    for (r = 0; r < big->count && !e->failed; r++) {
        const unsigned char *key = big->key + r * big->length * big->groups;
        for (i = 0; i < big->length; i++) {
            for (g = 0; g < big->groups; g++) {
                memcpy(face + g * small->length, key + g * big->length, i);
                memcpy(face + g * small->length + i, key + g * big->length + i + 1, small->length - i);
            }
            entries_add(e, r, simplex_find(small, face), i % 2 ? -1 : 1);
        }
    }
}

static void make_boundary(entries *e, size_t length, unsigned m, unsigned n, fits_rule rule)
{
    simplices big, small = {0, 0, 0, 0, NULL};
    if (simplices_make(&big, length, m, n, rule) && simplices_make(&small, length - 1, m, n, rule))
        boundary(e, &big, &small);
    else e->failed = 1;
    free(big.key);
    free(small.key);
}

static double choose(uint64_t n, uint64_t k)
{
    double c = 1;
    uint64_t i;
    if (k > n) return 0;
    for (i = 1; i <= k; i++) c = c * (double)(n - k + i) / (double)i;
    return c;
}

static double factorial(uint64_t n)
{
    return n < 2 ? 1 : (double)n * factorial(n - 1);
}

/* Simplices are K + 1 rooks on a board of M x N that do not attack each other. */
static const char *make_chessboard(entries *e, const uint64_t *n)
{
    uint64_t rooks = n[2] + 1, k;
    if (n[0] > 255 || n[1] > 255) return "a board has at most 255 rows and columns";
    if (rooks < 2 || rooks > n[0] || rooks > n[1] || rooks > LONGEST) return "K must be from 1 to the board's shorter side - 1";
    for (k = rooks - 1; k <= rooks; k++)
        if (choose(n[0], k) * choose(n[1], k) * factorial(k) > MOST_SIMPLICES) return "more than 50 million simplices";
    make_boundary(e, rooks, (unsigned)n[0], (unsigned)n[1], fits_rising);
    return NULL;
}

/* Simplices are K + 1 pairs out of N points, with no point in two pairs. */
static const char *make_matching(entries *e, const uint64_t *n)
{
    uint64_t pairs = n[1] + 1, k, i;
    if (n[0] < 4 || n[0] > 22) return "N must be from 4 to 22";
    if (pairs < 2 || 2 * pairs > n[0]) return "K must be from 1 to N / 2 - 1";
    for (k = pairs - 1; k <= pairs; k++) {
        double count = 1 / factorial(k);
        for (i = 0; i < k; i++) count *= choose(n[0] - 2 * i, 2);
        if (count > MOST_SIMPLICES) return "more than 50 million simplices";
    }
    make_boundary(e, pairs, (unsigned)(n[0] * (n[0] - 1) / 2), 0, fits_matching);
    return NULL;
}

/* Rows are the pairs of V points and columns their subsets of K points: 1 where the subset contains the pair. */
static const char *make_bibd(entries *e, const uint64_t *n)
{
    unsigned char set[LONGEST];
    int more, size = (int)n[1], i, k;
    if (n[0] < 2 || n[0] > 255) return "V must be from 2 to 255";
    if (n[1] < 2 || n[1] > n[0] || n[1] > LONGEST) return "K must be from 2 to V and at most 32";
    if (choose(n[0], n[1]) > MOST_SIMPLICES) return "more than 50 million subsets";
    e->ones = 1;
    e->rows = n[0] * (n[0] - 1) / 2;
    for (more = next_list(set, size, (unsigned)n[0], fits_rising, 1); more && !e->failed;
         more = next_list(set, size, (unsigned)n[0], fits_rising, 0)) {
        for (k = 1; k < size; k++) /* pair (i, j), i < j, is row i (2 V - i - 1) / 2 + j - i - 1 */
            for (i = 0; i < k; i++)
                entries_add(e, (uint64_t)set[i] * (2 * n[0] - set[i] - 1) / 2 + set[k] - set[i] - 1, e->cols, 1);
        e->cols++;
    }
    return NULL;
}

/* ---- grids ----------------------------------------------------------------------------------------------------- */

/* The first row, the first column and the diagonal. */
static const char *make_arrow(entries *e, const uint64_t *n)
{
    uint64_t i;
    if (n[0] < 1 || n[0] > 1000000000) return "N must be from 1 to 10^9";
    e->rows = e->cols = n[0];
    for (i = 0; i < n[0]; i++) entries_add(e, i, 0, 2);
    for (i = 1; i < n[0]; i++) entries_add(e, 0, i, 1);
    for (i = 1; i < n[0]; i++) entries_add(e, i, i, 1);
    return NULL;
}

/* Couples every unknown of one point with every unknown of another: -1, except for an unknown with itself. */
static void add_points(entries *e, uint64_t a, uint64_t b, uint64_t unknowns, double diagonal)
{
    uint64_t i, j;
    for (i = 0; i < unknowns; i++)
        for (j = 0; j < unknowns; j++)
            entries_add(e, a * unknowns + i, b * unknowns + j, a == b && i == j ? diagonal : -1);
}

/* The Laplacian of a grid of size[0] x size[1] x size[2] points, whose first index varies fastest, with several unknowns per point: -1
 * for neighbours whose positions differ by 1 in one index (corners: in any). Returns NULL, or why it cannot be made. */
static const char *grid(entries *e, const uint64_t *size, double diagonal, int corners, uint64_t unknowns)
{
    uint64_t at[3], me, there, points;
    int64_t d[3];
    if (!size[0] || !size[1] || !size[2] || size[0] > 1000000000 || size[1] > 1000000000 / size[0] ||
        size[2] > 1000000000 / size[0] / size[1]) return "a grid must have 1 to 10^9 points";
    points = size[0] * size[1] * size[2];
    if (!unknowns || unknowns > 1000000000 / points) return "a grid must have 1 to 10^9 unknowns";
    e->rows = e->cols = points * unknowns;
    for (me = 0; me < points && !e->failed; me++) {
        at[0] = me % size[0];
        at[1] = me / size[0] % size[1];
        at[2] = me / size[0] / size[1];
        add_points(e, me, me, unknowns, diagonal);
        for (d[2] = -1; d[2] <= 1; d[2]++) for (d[1] = -1; d[1] <= 1; d[1]++) for (d[0] = -1; d[0] <= 1; d[0]++) {
            int i, moved = 0;
            for (i = 0; i < 3; i++) {
                if (d[i]) moved++;
                if ((d[i] < 0 && !at[i]) || (d[i] > 0 && at[i] + 1 == size[i])) break;
            }
            if (i < 3 || !moved || (moved > 1 && !corners)) continue;
            there = me + (uint64_t)d[0] + size[0] * ((uint64_t)d[1] + size[1] * (uint64_t)d[2]);
            add_points(e, me, there, unknowns, diagonal);
        }
    }
    return NULL;
}

static const char *make_gr(entries *e, const uint64_t *n)
{
    uint64_t size[3];
    size[0] = n[0]; size[1] = n[1]; size[2] = 1;
    return grid(e, size, 8, 1, 1);
}

static const char *make_poisson2d(entries *e, const uint64_t *n)
{
    uint64_t size[3];
    size[0] = size[1] = n[0]; size[2] = 1;
    return grid(e, size, 4, 0, 1);
}

static const char *make_poisson3d(entries *e, const uint64_t *n)
{
    uint64_t size[3];
    size[0] = size[1] = size[2] = n[0];
    return grid(e, size, 6, 0, 1);
}

/* A mesh of hexahedra with several unknowns per node, as in structural mechanics; diagonally dominant. */
static const char *make_mesh3d(entries *e, const uint64_t *n)
{
    uint64_t size[3];
    size[0] = size[1] = size[2] = n[0];
    return grid(e, size, 27.0 * (double)n[1], 1, n[1]);
}

static const char *make_tridiag(entries *e, const uint64_t *n)
{
    uint64_t size[3];
    size[0] = n[0]; size[1] = size[2] = 1;
    return grid(e, size, 2, 0, 1);
}

/* ---- the list of families -------------------------------------------------------------------------------------- */

const family formula_families[] = {
    {"Trefethen_#", make_trefethen,
     "N: primes on the diagonal, 1 where |i-j| is a power of two\n(SuiteSparse JGD_Trefethen/Trefethen_20 to _20000)"},
    {"Trefethen_#b", make_trefethen_b,
     "the same without its first row and column\n(SuiteSparse JGD_Trefethen/Trefethen_20000b, every entry equal)"},
    {"mycielskian#", make_mycielskian,
     "Mycielski's graph with chromatic number N, 2 to 20\n(SuiteSparse Mycielski/mycielskianN; the vertices may be "
     "in another order there)"},
    {"ch#-#-b#", make_chessboard,
     "boundary of the M x N chessboard complex in dimension K\n"
     "(SuiteSparse JGD_Homology/ch8-8-b4 and others; order and sign may differ there)"},
    {"mk#-b#", make_matching,
     "boundary of the matching complex of N points in dimension K\n"
     "(SuiteSparse JGD_Homology/mk9-b2 and others; order and sign may differ there)"},
    {"bibd_#_#", make_bibd,
     "pairs against subsets of K of V points\n(SuiteSparse JGD_BIBD/bibd_22_8 and others; order may differ there)"},
    {"gr_#_#", make_gr,
     "nine-point grid of M x N points, 8 and -1\n(SuiteSparse HB/gr_30_30)"},
    {"arrow_#", make_arrow,
     "first row, first column and diagonal\n"
     "(SuiteSparse package, SPQR/Matrix/arrow.mtx is arrow_46500, every entry equal)"},
    {"tridiag_#", make_tridiag, "2 on the diagonal and -1 beside it"},
    {"poisson2d_#", make_poisson2d, "five-point grid of N x N points, 4 and -1"},
    {"poisson3d_#", make_poisson3d, "seven-point grid of N x N x N points, 6 and -1"},
    {"mesh3d_#_#", make_mesh3d, "27-point grid of N x N x N nodes with D unknowns each, 27 D and -1"},
};

const int formula_count = (int)(sizeof formula_families / sizeof *formula_families);

int formula_matches(const char *form, const char *name, uint64_t *n)
{
    for (; *form; form++) {
        if (*form != '#') {
            if (*name++ != *form) return 0;
            continue;
        }
        if (*name < '0' || *name > '9') return 0;
        for (*n = 0; *name >= '0' && *name <= '9'; name++) {
            if (*n > 100000000000) return 0;
            *n = *n * 10 + (uint64_t)(*name - '0');
        }
        n++;
    }
    return !*name;
}
