/* SPDX-License-Identifier: MIT */
#include "tune.h"

#include "../library.h"
#include "../matrices/generate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- looking at structures ------------------------------------------------------------------------------------------ */

/* The number of a structure in a type. */
static size_t group_of(size_t name, spmv_type type) { return name * SPMV_TYPE_COUNT + (size_t)type; }

int looks_make(looks *k, const sample_list *l)
{
    k->count = group_of(l->names, (spmv_type)0);
    k->at = (spmv_estimate **)calloc(k->count + 1, sizeof *k->at);
    return k->at != NULL;
}

void looks_free(looks *k)
{
    size_t i;
    for (i = 0; i < k->count; i++) free(k->at[i]);
    free(k->at);
    memset(k, 0, sizeof *k);
}

const spmv_estimate *looks_at(tool *t, looks *k, const spmv_tuning *head, const sample_list *l, size_t name, spmv_type type,
                              const spmv_csr *a)
{
    spmv_estimate **at = &k->at[group_of(name, type)];
    spmv_tuning table = *head;
    if (*at) return *at;
    table.line = l->line;
    table.count = l->lines;
    *at = (spmv_estimate *)calloc(l->lines + 1, sizeof **at);
    if (!*at) cli_no_memory(t);
    else if (library_estimates(a, &table, type, *at, &t->hooks) != SPMV_OK) {
        free(*at);
        *at = NULL;
    }
    return *at;
}

/* Looks at all structures that have samples and were not looked at yet. DONE, or FAILED after a message. */
static int look_at_rest(tool *t, looks *k, const spmv_tuning *head, const sample_list *l)
{
    spmv_csr a;
    size_t name, i;
    int result = DONE;
    for (name = 0; name < l->names && result == DONE; name++) {
        memset(&a, 0, sizeof a);
        for (i = 0; i < l->count && result == DONE; i++) {
            const spmv_type type = l->line[l->at[i].line].type;
            if (l->at[i].name != name || k->at[group_of(name, type)]) continue;
            cli_progress_name(t, "looking at", l->name[name]);
            if (!a.ptr) result = generate_matrix(t, l->name[name], &a);
            if (result == DONE && !looks_at(t, k, head, l, name, type, &a)) result = FAILED;
        }
        spmv_csr_destroy(&a);
    }
    cli_progress_clear(t);
    return result;
}

/* The least seconds of the samples by structure and type; 0: there are none. The caller frees it. NULL: memory ran out. */
static double *best_of(const sample_list *l)
{
    double *best = (double *)calloc(group_of(l->names, (spmv_type)0) + 1, sizeof *best);
    size_t i;
    for (i = 0; best && i < l->count; i++) {
        double *b = &best[group_of(l->at[i].name, l->line[l->at[i].line].type)];
        if (!(*b > 0) || l->at[i].seconds < *b) *b = l->at[i].seconds;
    }
    return best;
}

/* ---- which candidates ----------------------------------------------------------------------------------------------- */

#define MISSING 10.0 /* times as long as with the best candidate takes a product by one that was not measured */

/* 1: csr without keys and with default knobs. */
static int is_csr(const spmv_candidate *k)
{
    spmv_candidate csr;
    memset(&csr, 0, sizeof csr);
    csr.layout.format = SPMV_CSR;
    return samples_alike(k, &csr);
}

/* How much shorter, as sums of logarithms, all products get by each candidate that is not taken, which is named by the first of its lines.
 * now: the least seconds by structure and type with those that are. */
static void find_gains(const sample_list *l, const unsigned char *kept, const size_t *first, const double *now, double *gain)
{
    size_t i;
    for (i = 0; i < l->lines; i++) gain[i] = is_csr(&l->line[i]) ? 1e300 : 0;
    for (i = 0; i < l->count; i++) {
        const sample *s = &l->at[i];
        const double before = now[group_of(s->name, l->line[s->line].type)];
        if (kept[s->line] && s->seconds < before) gain[first[s->line]] += library_log2(before / s->seconds);
    }
}

/* Marks the candidate and its lines of all types, and lowers now to its times. */
static void take(const sample_list *l, size_t candidate, const size_t *first, unsigned char *taken, double *now)
{
    size_t i;
    for (i = 0; i < l->lines; i++) taken[i] |= first[i] == candidate;
    for (i = 0; i < l->count; i++) {
        double *before = &now[group_of(l->at[i].name, l->line[l->at[i].line].type)];
        if (first[l->at[i].line] == candidate && l->at[i].seconds < *before) *before = l->at[i].seconds;
    }
}

int fit_cover(tool *t, const sample_list *l, size_t most, unsigned char *kept)
{
    double *now = best_of(l), *gain = (double *)calloc(l->lines + 1, sizeof *gain);
    unsigned char *taken = (unsigned char *)calloc(l->lines + 1, 1);
    size_t *first = (size_t *)calloc(l->lines + 1, sizeof *first), i, n, next;
    const int fine = now && gain && taken && first;
    for (i = 0; fine && i < group_of(l->names, (spmv_type)0); i++) now[i] *= MISSING;
    for (i = 0; fine && i < l->lines; i++)
        while (!samples_alike(&l->line[first[i]], &l->line[i])) first[i]++;
    for (n = 0; fine && n < most; n++) {
        find_gains(l, kept, first, now, gain);
        for (i = 0, next = l->lines; i < l->lines; i++)
            if (kept[i] && !taken[i] && gain[first[i]] > 0 && (next == l->lines || gain[first[i]] > gain[next])) next = first[i];
        if (next < l->lines) take(l, next, first, taken, now);
    }
    for (i = 0; fine && i < l->lines; i++) kept[i] = kept[i] && taken[i];
    free(now);
    free(gain);
    free(taken);
    free(first);
    return fine ? DONE : cli_no_memory(t);
}

/* ---- least squares -------------------------------------------------------------------------------------------------- */

/* What a time consists of: costs times x. */
typedef struct equation {
    double x[SPMV_COST_COUNT], seconds, weight;
} equation;

/* Minimises x' h x / 2 - g' x over x of n elements that are not negative, one element after another, beginning with what x is. */
static void solve(int n, double h[SPMV_COST_COUNT][SPMV_COST_COUNT], const double *g, double *x)
{
    int sweep, j, k;
    double moved = 1, r;
    for (sweep = 0; sweep < 3000 && moved > 1e-7; sweep++)
        for (j = 0, moved = 0; j < n; j++) {
            if (!(h[j][j] > 0)) continue; /* nothing depends on it */
            for (k = 0, r = g[j]; k < n; k++) r -= h[j][k] * x[k];
            r = x[j] + r / h[j][j] > 0 ? r / h[j][j] : -x[j];
            x[j] += r;
            if (fabs(r) * sqrt(h[j][j]) > moved) moved = fabs(r) * sqrt(h[j][j]);
        }
}

static double sum_of(int n, const double *cost, const double *x)
{
    double sum = 0;
    int j;
    for (j = 0; j < n; j++) sum += cost[j] * x[j];
    return sum;
}

/* Finds n costs, where strength further equations agree with what x is before. In the later rounds the root of time and estimate is what
 * differences are divided by, so that half as long counts as much as twice as long. */
static void least_squares(const equation *e, size_t count, int n, double strength, double *x)
{
    double h[SPMV_COST_COUNT][SPMV_COST_COUNT], g[SPMV_COST_COUNT], prior[SPMV_COST_COUNT], scale, drawn;
    int round, j, k;
    size_t i;
    memcpy(prior, x, (size_t)n * sizeof *x);
    for (round = 0; round < 3; round++) {
        memset(h, 0, sizeof h);
        memset(g, 0, sizeof g);
        for (i = 0; i < count; i++) {
            const double t = e[i].seconds, p = round ? sum_of(n, x, e[i].x) : t;
            scale = e[i].weight * e[i].weight / (t * (p > 0.2 * t ? p : 0.2 * t));
            for (j = 0; j < n; j++) {
                g[j] += scale * e[i].x[j] * t;
                for (k = 0; k < n; k++) h[j][k] += scale * e[i].x[j] * e[i].x[k];
            }
        }
        for (j = 0; j < n; j++) {
            drawn = strength * h[j][j] / (double)count;
            h[j][j] += drawn;
            g[j] += drawn * prior[j];
        }
        solve(n, h, g, x);
    }
}

/* ---- fits ----------------------------------------------------------------------------------------------------------- */

/* How many structures agree with the costs known before; the first: a factor is all that samples change. */
static const int strengths[] = {0, 16, 4, 1};
enum { STRENGTHS = sizeof strengths / sizeof *strengths, NO_FAMILY = -1 };

/* A sample of a line that is kept. */
typedef struct point {
    size_t   line, group;
    int      family;
    equation of;
    double   slots, preparing, predicted;
} point;

typedef struct fitting {
    const spmv_tuning *head;
    sample_list *l;
    point       *at;     /* those of a line side by side */
    size_t       count;
    equation    *room;   /* for as many equations */
    double      *best;   /* by group */
    size_t       groups;
    int          families, fresh;
    uint64_t     structures;
} fitting;

/* The characters of a structure's name without its numbers: structures with the same are of one family. */
static size_t family_length(const char *name)
{
    size_t n = strlen(name);
    while (n && strchr("0123456789_.", name[n - 1])) n--;
    return n;
}

/* The number of the first structure of the same family. */
static size_t first_of_family(const sample_list *l, size_t name)
{
    const size_t n = family_length(l->name[name]);
    size_t i;
    for (i = 0; i < name; i++)
        if (family_length(l->name[i]) == n && !strncmp(l->name[i], l->name[name], n)) return i;
    return name;
}

static void add_point(fitting *f, const looks *k, const sample *s)
{
    const spmv_type type = f->l->line[s->line].type;
    const size_t group = group_of(s->name, type);
    const spmv_estimate *e = &k->at[group][s->line];
    point *p = &f->at[f->count];
    if (!(e->seconds > 0)) return;
    memset(p, 0, sizeof *p);
    p->line = s->line;
    p->group = group;
    p->family = (int)first_of_family(f->l, s->name);
    memcpy(p->of.x, e->of, sizeof e->of);
    p->of.seconds = s->seconds;
    p->of.weight = f->best[group] / s->seconds;
    p->slots = (double)e->slots;
    p->preparing = s->preparing;
    f->count++;
}

static double predict(const fitting *f, const point *p, const double *cost)
{
    const double sum = sum_of(SPMV_COST_COUNT, cost, p->of.x), least = fmax(p->of.x[SPMV_COST_BYTES], p->of.x[SPMV_COST_CHAIN]);
    return fmax(f->head->device_class == SPMV_DEVICE_CLASS_GPU ? fmax(sum, least) : sum, 1e-12); /* a logarithm is taken */
}

static spmv_type type_of(const fitting *f, const point *p) { return f->l->line[p->line].type; }

/* The geometric mean of how many times as long as by the costs known before the samples of a type take, without those of a family.
 * SPMV_TYPE_COUNT, or there are none: of all types. 1: no table was known before. */
static double factor_of(const fitting *f, spmv_type type, int family)
{
    double sum = 0, weights = 0;
    size_t i;
    for (i = 0; i < f->count && !f->fresh; i++) {
        const point *p = &f->at[i];
        if (p->family == family || (type != SPMV_TYPE_COUNT && type_of(f, p) != type)) continue;
        sum += p->of.weight * library_log2(p->of.seconds / predict(f, p, f->l->line[p->line].cost));
        weights += p->of.weight;
    }
    if (weights > 0) return library_exp2(sum / weights);
    return type == SPMV_TYPE_COUNT ? 1 : factor_of(f, SPMV_TYPE_COUNT, family);
}

/* Finds the costs of the line of points first to last - 1, which a family of structures is left out of. */
static void costs_of(const fitting *f, size_t first, size_t last, int family, double factor, int strength, double *out)
{
    size_t i, n = 0;
    int k;
    for (k = 0; k < SPMV_COST_COUNT; k++) out[k] = factor * f->l->line[f->at[first].line].cost[k];
    for (i = first; i < last; i++)
        if (f->at[i].family != family) f->room[n++] = f->at[i].of;
    if (n && strength) least_squares(f->room, n, SPMV_COST_COUNT, strength, out);
}

/* The number of the first point behind those of the line that begins at first. */
static size_t line_end(const fitting *f, size_t first)
{
    size_t i = first;
    while (i < f->count && f->at[i].line == f->at[first].line) i++;
    return i;
}

/* Predicts the samples of a family by fits to all others. */
static void predict_family(fitting *f, int family, int strength)
{
    double factor[SPMV_TYPE_COUNT], cost[SPMV_COST_COUNT];
    size_t first, last, i;
    int type;
    for (type = 0; type < SPMV_TYPE_COUNT; type++) factor[type] = factor_of(f, (spmv_type)type, family);
    for (first = 0; first < f->count; first = last) {
        last = line_end(f, first);
        for (i = first; i < last && f->at[i].family != family;) i++;
        if (i == last) continue;
        costs_of(f, first, last, family, factor[type_of(f, &f->at[first])], strength, cost);
        for (; i < last; i++)
            if (f->at[i].family == family) f->at[i].predicted = predict(f, &f->at[i], cost);
    }
}

/* Finds for each structure and type how many times as long as the best candidate the one takes that is predicted to be the best, and puts
 * the geometric means and the most of these into the head. Returns the sum of their logarithms. */
static double judge_choices(const fitting *f, const point **chosen, spmv_tuning *head)
{
    double sum[SPMV_TYPE_COUNT] = {0}, all = 0, over;
    size_t i, n[SPMV_TYPE_COUNT] = {0};
    int type;
    memset(chosen, 0, f->groups * sizeof *chosen);
    memset(head->worst, 0, sizeof head->worst);
    for (i = 0; i < f->count; i++) {
        const point **c = &chosen[f->at[i].group];
        if (!*c || f->at[i].predicted < (*c)->predicted) *c = &f->at[i];
    }
    for (i = 0; i < f->groups; i++) {
        if (!chosen[i]) continue;
        type = (int)type_of(f, chosen[i]);
        over = chosen[i]->of.seconds / f->best[i];
        sum[type] += library_log2(over);
        n[type]++;
        if (over > head->worst[type]) head->worst[type] = over;
    }
    for (type = 0; type < SPMV_TYPE_COUNT; type++) {
        all += sum[type];
        head->regret[type] = n[type] ? library_exp2(sum[type] / (double)n[type]) : 0;
    }
    return all;
}

/* The error of all predictions, as log2. */
static double error_of(const fitting *f)
{
    double sum = 0, weights = 0, d;
    size_t i;
    for (i = 0; i < f->count; i++) {
        d = library_log2(f->at[i].predicted / f->at[i].of.seconds);
        sum += f->at[i].of.weight * d * d;
        weights += f->at[i].of.weight;
    }
    return weights > 0 ? sqrt(sum / weights) : 0;
}

/* Leaves out family by family, judges the strengths and keeps in the head what the best one shows. DONE, or FAILED after a message. */
static int choose_strength(tool *t, fitting *f, spmv_tuning *head, int *strength)
{
    const point **chosen = (const point **)calloc(f->groups + 1, sizeof *chosen);
    spmv_tuning now;
    double least = 0, missed;
    int i, family;
    if (!chosen) return cli_no_memory(t);
    for (i = 0; i < STRENGTHS && (!i || f->structures >= FIT_LEAST); i++) {
        for (family = 0; family < f->families; family++) predict_family(f, family, strengths[i]);
        now = *head;
        missed = judge_choices(f, chosen, &now);
        now.error = error_of(f);
        if (i && (missed > least || (missed >= least && now.error >= head->error))) continue;
        least = missed;
        *strength = strengths[i];
        *head = now;
    }
    free(chosen);
    return DONE;
}

/* Fits what preparing takes to the points of a line. */
static void fit_preparing(const fitting *f, size_t first, size_t last)
{
    spmv_candidate *k = &f->l->line[f->at[first].line];
    double cost[2];
    size_t i, n = 0;
    for (i = first; i < last; i++) {
        equation *e = &f->room[n];
        if (!(f->at[i].preparing > 0)) continue;
        memset(e, 0, sizeof *e);
        e->x[0] = 1;
        e->x[1] = f->at[i].slots;
        e->seconds = f->at[i].preparing;
        e->weight = 1;
        n++;
    }
    cost[0] = k->begin;
    cost[1] = k->slot;
    if (n) least_squares(f->room, n, 2, 1, cost);
    k->begin = cost[0];
    k->slot = cost[1];
}

/* Replaces the costs of all lines that are kept. */
static void fit_all(fitting *f, const unsigned char *kept, int strength)
{
    double factor[SPMV_TYPE_COUNT], cost[SPMV_COST_COUNT];
    size_t i, last;
    int k;
    for (k = 0; k < SPMV_TYPE_COUNT; k++) factor[k] = factor_of(f, (spmv_type)k, NO_FAMILY);
    for (i = 0; i < f->l->lines; i++) { /* what has no samples */
        size_t j = 0;
        while (j < f->count && f->at[j].line != i) j++;
        for (k = 0; kept[i] && j == f->count && k < SPMV_COST_COUNT; k++) f->l->line[i].cost[k] *= factor[f->l->line[i].type];
    }
    for (i = 0; i < f->count; i = last) {
        last = line_end(f, i);
        costs_of(f, i, last, NO_FAMILY, factor[type_of(f, &f->at[i])], strength, cost);
        memcpy(f->l->line[f->at[i].line].cost, cost, sizeof cost);
        fit_preparing(f, i, last);
    }
}

/* How many structures have samples. */
static uint64_t structures_of(const sample_list *l)
{
    uint64_t n = 0;
    size_t name, i;
    for (name = 0; name < l->names; name++) {
        for (i = 0; i < l->count && l->at[i].name != name;) i++;
        n += i < l->count;
    }
    return n;
}

int fit_lines(tool *t, spmv_tuning *head, sample_list *l, looks *k, const unsigned char *kept, int fresh, int *strength)
{
    fitting f;
    size_t i;
    int result = look_at_rest(t, k, head, l);
    memset(&f, 0, sizeof f);
    f.head = head;
    f.l = l;
    f.groups = k->count;
    f.families = (int)l->names;
    f.fresh = fresh;
    f.structures = structures_of(l);
    f.best = best_of(l);
    f.at = (point *)calloc(l->count + 1, sizeof *f.at);
    f.room = (equation *)calloc(l->count + 1, sizeof *f.room);
    if (result == DONE && (!f.best || !f.at || !f.room)) result = cli_no_memory(t);
    for (i = 0; i < l->count && result == DONE; i++)
        if (kept[l->at[i].line]) add_point(&f, k, &l->at[i]);
    if (result == DONE && !f.count) result = cli_complain(t, "there are no samples of the table's candidates");
    if (result == DONE) result = choose_strength(t, &f, head, strength);
    if (result == DONE) {
        fit_all(&f, kept, *strength);
        head->structures = f.structures;
        head->samples = f.count;
    }
    free(f.best);
    free(f.at);
    free(f.room);
    return result;
}
