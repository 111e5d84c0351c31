/* SPDX-License-Identifier: MIT */
#include "mesh.h"

#include "../cli/numbers.h"
#include "draw.h"
#include <stdlib.h>
#include <string.h>

/* ---- points of a grid ------------------------------------------------------------------------------------------- */

enum { NEAREST = 6, OFFSETS = 13 * 13 * 13 }; /* the largest distance of neighbours along an axis; the offsets within it */

typedef struct lattice {
    int       size[3];
    uint64_t  count;
    uint32_t *number; /* for each place of the grid 1 + the number of its point, or 0 */
    uint32_t *place;  /* for each point its place */
    int       offsets;
    int       offset[OFFSETS][3]; /* ordered by distance */
} lattice;

static void points_free(lattice *g)
{
    free(g->number);
    free(g->place);
}

/* The depth of a place, by which points are chosen: for BALL the squared distance from the centre, 4096 on the ellipsoid that fits the
 * grid; for HOLLOW it counts from the surface inwards. */
static uint32_t depth_of(const lattice *g, const int *at, enum domain shape)
{
    int64_t sum = 0;
    int i;
    if (shape == BOX) return 0;
    for (i = 0; i < 3; i++) {
        int64_t n = g->size[i], t = 2 * at[i] - n + 1;
        if (n > 1) sum += 4096 * t * t / (n * n);
    }
    if (shape == HOLLOW) sum = sum > 4096 ? sum + 4096 : 4096 - sum;
    return (uint32_t)sum;
}

/* The depth up to which places are points, so that there are g->count of them; *rest: how many of exactly this depth are points. */
static uint32_t depth_limit(const lattice *g, enum domain shape, uint64_t *rest)
{
    static uint32_t number_of[4 * 4096];
    uint64_t before = 0;
    int at[3];
    uint32_t d;
    memset(number_of, 0, sizeof number_of);
    for (at[2] = 0; at[2] < g->size[2]; at[2]++)
        for (at[1] = 0; at[1] < g->size[1]; at[1]++)
            for (at[0] = 0; at[0] < g->size[0]; at[0]++) number_of[depth_of(g, at, shape)]++;
    for (d = 0; d + 1 < 4 * 4096 && before + number_of[d] <= g->count; d++) before += number_of[d];
    *rest = g->count - before;
    return d;
}

static uint64_t place_of(const lattice *g, const int *at)
{
    return (uint64_t)at[0] + (uint64_t)g->size[0] * ((uint64_t)at[1] + (uint64_t)g->size[1] * (uint64_t)at[2]);
}

/* Index k of a walk over n cells, which goes backwards in every other turn unless cells are single points. */
static int to_and_fro(int k, int n, int turn, int cell)
{
    return cell > 1 && turn % 2 ? n - 1 - k : k;
}

/* Numbers the points of one cube, beginning with n; returns the next number. */
static uint64_t number_cube(lattice *g, const recipe *r, const int *cube, uint64_t n, uint32_t limit, uint64_t *rest)
{
    int at[3], in[3], i;
    for (in[2] = 0; in[2] < r->cell; in[2]++) for (in[1] = 0; in[1] < r->cell; in[1]++) for (in[0] = 0; in[0] < r->cell; in[0]++) {
        uint32_t depth;
        for (i = 0; i < 3 && (at[i] = cube[i] * r->cell + in[i]) < g->size[i]; i++) continue;
        if (i < 3 || n == g->count) continue;
        depth = depth_of(g, at, r->shape);
        if (depth > limit || (depth == limit && !*rest)) continue;
        if (depth == limit) --*rest;
        g->place[n++] = (uint32_t)place_of(g, at);
    }
    return n;
}

/* Numbers all points, and shuffles groups of them if the recipe says so. */
static void number_points(lattice *g, const recipe *r)
{
    int k[3], n[3], cube[3], i;
    uint64_t rest, done = 0, whole;
    uint32_t limit = depth_limit(g, r->shape, &rest);
    for (i = 0; i < 3; i++) n[i] = (g->size[i] + r->cell - 1) / r->cell;
    for (k[2] = 0; k[2] < n[2]; k[2]++) for (k[1] = 0; k[1] < n[1]; k[1]++) for (k[0] = 0; k[0] < n[0]; k[0]++) {
        cube[2] = k[2];
        cube[1] = to_and_fro(k[1], n[1], k[2], r->cell);
        cube[0] = to_and_fro(k[0], n[0], k[1] + k[2], r->cell);
        done = number_cube(g, r, cube, done, limit, &rest);
    }
    g->count = done;
    whole = r->chunk ? done / (uint64_t)r->chunk : 0; /* the number of complete groups, which are shuffled */
    for (rest = 0; rest < done; rest++) {
        uint64_t to = rest, chunk = (uint64_t)r->chunk;
        if (whole && rest / chunk < whole) to = draw_permute(rest / chunk, whole, 1) * chunk + rest % chunk;
        g->number[g->place[rest]] = (uint32_t)to + 1;
    }
    for (i = 0; whole && i < g->size[2]; i++) { /* place is the inverse of number */
        uint64_t layer = (uint64_t)g->size[0] * (uint64_t)g->size[1], from = (uint64_t)i * layer;
        for (rest = from; rest < from + layer; rest++)
            if (g->number[rest]) g->place[g->number[rest] - 1] = (uint32_t)rest;
    }
}

/* Lists the offsets by rising distance. */
static void sort_offsets(lattice *g)
{
    int d, x, y, z, reach[3], i;
    for (i = 0; i < 3; i++) reach[i] = g->size[i] - 1 < NEAREST ? g->size[i] - 1 : NEAREST;
    for (d = 0; d <= 3 * NEAREST * NEAREST; d++)
        for (z = -reach[2]; z <= reach[2]; z++) for (y = -reach[1]; y <= reach[1]; y++) for (x = -reach[0]; x <= reach[0]; x++) {
            if (x * x + y * y + z * z != d) continue;
            g->offset[g->offsets][0] = x;
            g->offset[g->offsets][1] = y;
            g->offset[g->offsets++][2] = z;
        }
}

/* Makes the points of a recipe. 1, or 0 if memory ran out; the caller calls points_free in either case. */
static int points_make(lattice *g, const recipe *r, uint64_t count)
{
    uint64_t places = (uint64_t)r->size[0] * (uint64_t)r->size[1] * (uint64_t)r->size[2];
    memset(g, 0, sizeof *g);
    memcpy(g->size, r->size, sizeof g->size);
    g->count = count;
    g->number = (uint32_t *)calloc((size_t)places, sizeof *g->number);
    g->place = (uint32_t *)calloc((size_t)count + 1, sizeof *g->place);
    if (!g->number || !g->place) return 0;
    number_points(g, r);
    sort_offsets(g);
    return 1;
}

static void point_at(const lattice *g, uint64_t point, int *at)
{
    uint32_t place = g->place[point];
    at[0] = (int)(place % (uint32_t)g->size[0]);
    place /= (uint32_t)g->size[0];
    at[1] = (int)(place % (uint32_t)g->size[1]);
    at[2] = (int)(place / (uint32_t)g->size[1]);
}

/* 1 + the point at sign times an offset from a place, or 0 if there is none. */
static uint32_t point_beside(const lattice *g, const int *at, const int *offset, int sign)
{
    int there[3], i;
    for (i = 0; i < 3; i++) {
        there[i] = at[i] + sign * offset[i];
        if (there[i] < 0 || there[i] >= g->size[i]) return 0;
    }
    return g->number[place_of(g, there)];
}

/* ---- meshes ------------------------------------------------------------------------------------------------------- */

typedef struct mesh {
    lattice  g;
    int      plain, rich;    /* as in the recipe */
    int      pairs;          /* number of offsets that are used, each in both directions */
    int      pair[OFFSETS];  /* their indices */
    uint64_t keep[OFFSETS];  /* how many in 2^32 such neighbours are joined */
} mesh;

/* 1 for one of two opposite offsets. */
static int is_forward(const int *offset)
{
    return offset[2] > 0 || (offset[2] == 0 && (offset[1] > 0 || (offset[1] == 0 && offset[0] > 0)));
}

/* 1: the point, like those with numbers near its own, has neighbours beyond the nearest. */
static int is_rich(const mesh *m, uint64_t point)
{
    return draw_hash(11, point / 64, 100) < (uint64_t)m->rich;
}

/* 1: two points may be joined by the k-th pair of offsets. */
static int may_join(const mesh *m, int k, uint64_t a, uint64_t b)
{
    return !m->rich || k < m->plain || (is_rich(m, a) && is_rich(m, b));
}

/* The number of pairs of points that may be joined by an offset. */
static uint64_t count_pairs(const mesh *m, const int *offset)
{
    uint64_t i, n = 0;
    int at[3];
    for (i = 0; i < m->g.count; i++) {
        uint32_t there;
        point_at(&m->g, i, at);
        there = point_beside(&m->g, at, offset, 1);
        n += there && may_join(m, m->pairs, i, there - 1);
    }
    return n;
}

/* Chooses offsets by rising distance until so many pairs of points are joined. */
static void choose_pairs(mesh *m, double wanted, const recipe *r)
{
    double part = (100 - r->loss) / 100.0;
    int k;
    m->plain = r->plain;
    m->rich = r->rich;
    for (k = 0; k < m->g.offsets && wanted >= 1; k++) {
        double there;
        if (!is_forward(m->g.offset[k])) continue;
        there = part * (double)count_pairs(m, m->g.offset[k]);
        if (there < 1) continue;
        m->pair[m->pairs] = k;
        m->keep[m->pairs++] = (uint64_t)(4294967296.0 * part * (there <= wanted ? 1 : wanted / there));
        wanted -= there;
    }
}

static int is_joined(const mesh *m, int k, uint64_t a, uint64_t b)
{
    if (!may_join(m, k, a, b)) return 0;
    if (m->keep[k] >= 1ull << 32) return 1;
    return draw_hash(a < b ? a : b, a < b ? b : a, 1ull << 32) < m->keep[k];
}

/* Writes the points that point i is joined with, and itself, to out in rising order. Returns how many there are. */
static uint64_t neighbours(const mesh *m, uint64_t i, uint32_t *out)
{
    uint64_t n = 0;
    int at[3], k, sign;
    point_at(&m->g, i, at);
    out[n++] = (uint32_t)i;
    for (k = 0; k < m->pairs; k++)
        for (sign = -1; sign <= 1; sign += 2) {
            uint32_t there = point_beside(&m->g, at, m->g.offset[m->pair[k]], sign);
            if (there && is_joined(m, k, i, there - 1)) out[n++] = there - 1;
        }
    sketch_sort(out, n);
    return n;
}

/* 1: the entry at row and col exists. The diagonal always does, and the pattern is symmetric. */
static int is_filled(const recipe *r, uint64_t row, uint64_t col)
{
    static const int plane[] = {1, 1, 0, 0, 0, 1}; /* 1 for x, y and the rotation about z; 0 for z and the other rotations */
    if (r->shell && plane[row % 6] != plane[col % 6]) return 0;
    if (r->fill >= 100 || row == col) return 1;
    return draw_hash(row < col ? row : col, row < col ? col : row, 100) < (uint64_t)r->fill;
}

/* Draws all rows, with the empty ones spread evenly. */
static void mesh_rows(sketch *p, const recipe *r, const mesh *m)
{
    uint32_t beside[OFFSETS];
    uint64_t i, k, n, u, v, b = (uint64_t)r->block, empty = (uint64_t)r->empty;
    for (i = 0; i < m->g.count && !p->failed; i++) {
        n = neighbours(m, i, beside);
        for (k = 0; empty && k < n; k++) beside[k] += (uint32_t)(beside[k] * empty / m->g.count);
        while (p->row < (i + i * empty / m->g.count) * b) sketch_row_end(p);
        for (u = 0; u < b && p->row < p->rows; u++, sketch_row_end(p))
            for (k = 0; k < n; k++)
                for (v = beside[k] * b; v < (beside[k] + 1) * b && v < p->cols; v++)
                    if (is_filled(r, p->row, v)) sketch_append(p, v);
    }
    while (p->row < p->rows && !p->failed) sketch_row_end(p);
}

void mesh_draw(sketch *p, const recipe *r)
{
    uint64_t b = (uint64_t)r->block, count = (r->rows - (uint64_t)r->empty + b - 1) / b;
    double in_block = (double)(b * b) * (r->shell ? 0.5 : 1) * r->fill / 100;
    mesh *m = (mesh *)calloc(1, sizeof *m);
    if (m && points_make(&m->g, r, count)) {
        choose_pairs(m, ((double)r->nnz / in_block - (double)count) / 2, r);
        mesh_rows(p, r, m);
    } else {
        p->failed = 1;
    }
    if (m) points_free(&m->g);
    free(m);
}

/* ---- electrons on a grid -------------------------------------------------------------------------------------------
 * Finite differences of order 12 in each direction, and atoms: all points near one atom are coupled with each other (the non-local part
 * of a pseudopotential). */

typedef struct atoms {
    int       count, at[200][3];
    int       near;  /* the first so many offsets count as near an atom */
    uint8_t  *many;  /* for each point the number of atoms near it */
    uint8_t (*which)[16]; /* and which they are */
} atoms;

/* Places atoms at random inner points, no two of them close together as long as there is room. */
static void place_atoms(atoms *a, const lattice *g, int count)
{
    uint64_t dice = 7;
    int k, i, tries;
    for (a->count = 0; a->count < count; a->count++)
        for (tries = 0; tries < 1000; tries++) {
            int *at = a->at[a->count], inside = 0;
            point_at(g, draw_roll(&dice, g->count), at);
            for (i = 0; i < 6; i++) {
                int off[3] = {0, 0, 0};
                off[i % 3] = i < 3 ? 5 : -5;
                inside += point_beside(g, at, off, 1) != 0;
            }
            for (k = 0; k < a->count; k++) {
                int x = at[0] - a->at[k][0], y = at[1] - a->at[k][1], z = at[2] - a->at[k][2];
                if (x * x + y * y + z * z < 40) break;
            }
            if (inside == 6 && k == a->count) break;
        }
}

/* Lists the atoms near each point. */
static void mark_atoms(atoms *a, const lattice *g)
{
    int k, i;
    memset(a->many, 0, (size_t)g->count);
    for (k = 0; k < a->count; k++)
        for (i = 0; i < a->near; i++) {
            uint32_t there = point_beside(g, a->at[k], g->offset[i], 1);
            if (there && a->many[there - 1] < 16) a->which[there - 1][a->many[there - 1]++] = (uint8_t)k;
        }
}

/* Draws a row. */
static void atoms_row(sketch *p, const lattice *g, const atoms *a, uint64_t row)
{
    int at[3], k, i;
    point_at(g, row, at);
    sketch_append_new(p, row);
    for (k = -6; k <= 6; k++)
        for (i = 0; i < 3; i++) {
            int off[3] = {0, 0, 0};
            uint32_t there;
            off[i] = k;
            there = point_beside(g, at, off, 1);
            if (there) sketch_append_new(p, there - 1);
        }
    for (k = 0; k < a->many[row]; k++)
        for (i = 0; i < a->near; i++) {
            uint32_t there = point_beside(g, a->at[a->which[row][k]], g->offset[i], 1);
            if (there) sketch_append_new(p, there - 1);
        }
}

static int atoms_make(atoms *a, const lattice *g, int count)
{
    a->many = (uint8_t *)malloc((size_t)g->count);
    a->which = (uint8_t (*)[16])malloc((size_t)g->count * 16);
    if (!a->many || !a->which) return 0;
    place_atoms(a, g, count);
    return 1;
}

/* Draws all rows anew with the present a->near. */
static void atoms_rows(sketch *p, const lattice *g, atoms *a)
{
    p->row = p->nnz = 0;
    memset(p->seen, 0, (size_t)p->cols * sizeof *p->seen);
    mark_atoms(a, g);
    for (; p->row < p->rows && !p->failed; sketch_row_end(p)) atoms_row(p, g, a, p->row);
}

void mesh_draw_atoms(sketch *p, const recipe *r)
{
    lattice *g = (lattice *)calloc(1, sizeof *g);
    atoms *a = (atoms *)calloc(1, sizeof *a);
    int tries;
    if (g && a && points_make(g, r, r->rows) && atoms_make(a, g, r->fill)) {
        double wanted = (double)r->nnz, without;
        atoms_rows(p, g, a);
        without = (double)p->nnz;
        a->near = 200;
        for (tries = 0; tries < 8; tries++) { /* the entries that atoms add grow with the square of the points near them */
            atoms_rows(p, g, a);
            if ((double)p->nnz > 0.995 * wanted && (double)p->nnz < 1.005 * wanted) break;
            a->near = (int)(0.5 + a->near * number_root((wanted - without) / ((double)p->nnz - without + 1)));
            if (a->near > g->offsets) a->near = g->offsets;
        }
    } else {
        p->failed = 1;
    }
    if (a) free(a->many);
    if (a) free(a->which);
    if (g) points_free(g);
    free(a);
    free(g);
}
