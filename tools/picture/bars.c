/* SPDX-License-Identifier: MIT */
#include "bars.h"

#include "../cli/cli.h"
#include "../cli/options.h"
#include "lines.h"
#include "picture.h"
#include "spmv.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NAMES: where names end; AT: where bars begin; VALUES: room for the text after the longest bar; all in units of the picture. */
enum { BARS_WIDTH = 900, BARS_NAMES = 262, BARS_AT = 272, BARS_VALUES = 150, BARS_STEP = 20, BARS_HIGH = 14, BARS_TOP = 92 };

enum { BARS_MOST = 48 }; /* the most plans of one matrix that are drawn; slower ones are only counted */

enum { PEER = 0x8c959f };

/* Reads all files, which follow the first argument. DONE, or FAILED or USAGE after a message. */
static int lines_read(tool *t, const arguments *args, bench_lines *l)
{
    int i, result = DONE;
    memset(l, 0, sizeof *l);
    l->t = t;
    if (args->plans > 1) return cli_misuse(t, "only one --plan can be given");
    l->only = args->plans ? args->plan[0] : NULL;
    for (i = 1; i < args->files && result == DONE; i++) result = lines_of_file(l, args->file[i]);
    return result;
}

static void draw_caption(picture *p, const bench_lines *l, const arguments *args)
{
    const char *more = args->value[OPT_CAPTION];
    char text[512];
    snprintf(text, sizeof text, "%s%s%s", l->device, *l->device && more ? "; " : "", more ? more : "");
    picture_fitted(p, 14, p->height - 14, SMALL, FAINT, AT_LEFT, p->width - 28, text);
}

/* Draws a coloured square with its meaning; returns the x where the next one can be drawn. */
static double draw_key(picture *p, double x, double y, uint32_t colour, const char *meaning)
{
    picture_box(p, x, y - 10, 12, 12, colour);
    picture_text(p, x + 18, y, TEXT, INK, AT_LEFT, meaning);
    return x + 18 + picture_text_width(p, TEXT, meaning) + 22;
}

/* ---- the plans of a matrix ------------------------------------------------------------------------------------------- */

/* The lines of one matrix and type by rising time; those without a time come last. */
typedef struct panel {
    const bench_line **line;
    int                count, timed;
    double             work; /* 10^3 operations a product */
} panel;

static int compare_times(const void *a, const void *b)
{
    const bench_line *x = *(const bench_line *const *)a, *y = *(const bench_line *const *)b;
    if ((x->us > 0) != (y->us > 0)) return x->us > 0 ? -1 : 1;
    if (x->us != y->us) return x->us < y->us ? -1 : 1;
    return strcmp(x->label, y->label);
}

/* Makes the panel whose first line is number first. 0 if an earlier line belongs to it, or if it has no line of ours. */
static int panel_make(panel *a, const bench_lines *l, size_t first)
{
    const bench_line *b = &l->at[first];
    size_t i;
    int ours = 0;
    a->count = a->timed = 0;
    a->work = 0;
    for (i = 0; i < l->count; i++) {
        const bench_line *c = &l->at[i];
        if (strcmp(b->matrix, c->matrix) != 0 || strcmp(b->type, c->type) != 0) continue;
        if (i < first) return 0;
        a->line[a->count++] = c;
        a->timed += c->us > 0;
        ours += !c->is_peer;
        if (c->work > a->work) a->work = c->work;
    }
    if (!ours) return 0;
    qsort(a->line, (size_t)a->count, sizeof *a->line, compare_times);
    return 1;
}

static double panel_high(const panel *a)
{
    int bars = a->timed < BARS_MOST ? a->timed : BARS_MOST;
    return 34 + BARS_STEP * (bars + (a->timed > BARS_MOST) + (a->timed < a->count)) + 12;
}

static uint32_t bar_colour(const bench_line *b)
{
    return b->is_peer ? PEER : b->is_wrong ? picture_hues[1] : lines_is_built_by(b, "auto") ? picture_hues[2] : picture_hues[0];
}

/* The text beside a bar: the device of a peer or our builder, the plan and, if there are several, our device. */
static void bar_name(const bench_lines *l, const bench_line *b, char *text, size_t size)
{
    lines_label_copy(text, size, b->is_peer ? b->device : b->builder);
    if (*text) lines_label_add(text, size, b->is_peer ? " " : " = ");
    lines_label_add(text, size, b->label);
    if (l->devices < 2 || b->is_peer) return;
    lines_label_add(text, size, " on ");
    lines_label_add(text, size, b->device);
}

/* Draws a bar, wide units long, with its name, time and speed. work: 10^3 operations of the product, 0: unknown. */
static void draw_bar(picture *p, const bench_lines *l, const bench_line *b, double work, double wide, double y)
{
    char text[512];
    bar_name(l, b, text, sizeof text);
    picture_fitted(p, BARS_NAMES, y + 11, SMALL, INK, AT_RIGHT, BARS_NAMES - 14, text);
    picture_box(p, BARS_AT, y, wide > 1 ? wide : 1, BARS_HIGH, bar_colour(b));
    snprintf(text, sizeof text, b->us < 1000 ? "%.3g \xc2\xb5s" : "%.0f \xc2\xb5s", b->us);
    if (work > 0) snprintf(text + strlen(text), sizeof text - strlen(text), work < 1000 * b->us ?
             ", %.3g GFLOP/s" : ", %.0f GFLOP/s", work / b->us);
    if (b->is_wrong) lines_label_add(text, sizeof text, ": WRONG");
    picture_text(p, BARS_AT + (wide > 1 ? wide : 1) + 6, y + 11, SMALL, INK, AT_LEFT, text);
}

/* Draws the line that names the plans without a time. */
static void panel_refused(picture *p, const bench_lines *l, const panel *a, double y)
{
    char text[1024] = "", name[512];
    int i;
    for (i = a->timed; i < a->count; i++) {
        bar_name(l, a->line[i], name, sizeof name);
        if (*text) lines_label_add(text, sizeof text, ", ");
        lines_label_add(text, sizeof text, name);
    }
    picture_text(p, BARS_NAMES, y + 11, SMALL, FAINT, AT_RIGHT, "refused");
    picture_fitted(p, BARS_AT, y + 11, SMALL, FAINT, AT_LEFT, p->width - BARS_AT - 14, text);
}

/* Draws a panel with its heading. */
static void panel_draw(picture *p, const bench_lines *l, const panel *a, double y)
{
    char text[512];
    int i, bars = a->timed < BARS_MOST ? a->timed : BARS_MOST;
    snprintf(text, sizeof text, "%s, %s", a->line[0]->matrix, a->line[0]->type);
    picture_bold(p, 14, y + 20, TEXT, INK, AT_LEFT, text);
    y += 34;
    for (i = 0; i < bars; i++, y += BARS_STEP) /* the first is the fastest, so its bar is the longest */
        draw_bar(p, l, a->line[i], a->work, (BARS_WIDTH - BARS_AT - BARS_VALUES - 14) * a->line[0]->us / a->line[i]->us, y);
    if (a->timed > bars) {
        snprintf(text, sizeof text, "and %d slower", a->timed - bars);
        picture_text(p, BARS_AT, y + 11, SMALL, FAINT, AT_LEFT, text);
        y += BARS_STEP;
    }
    if (a->timed < a->count) panel_refused(p, l, a, y);
}

/* Draws the title, and the key of the colours that occur. */
static void panels_title(picture *p, const bench_lines *l)
{
    int peers = 0, chosen = 0, wrong = 0;
    double x = 14;
    size_t i;
    for (i = 0; i < l->count; i++) {
        peers |= l->at[i].is_peer;
        chosen |= lines_is_built_by(&l->at[i], "auto");
        wrong |= l->at[i].is_wrong;
    }
    picture_text(p, 14, 32, TITLE, INK, AT_LEFT, "Speed of each plan");
    picture_text(p, 14, 54, TEXT, FAINT, AT_LEFT, "operations per second, two per nonzero; longer is faster");
    x = draw_key(p, x, 54 + LINE + 4, picture_hues[0], "spmv");
    if (chosen) x = draw_key(p, x, 54 + LINE + 4, picture_hues[2], "chosen by spmv (auto)");
    if (wrong) x = draw_key(p, x, 54 + LINE + 4, picture_hues[1], "wrong");
    if (peers) draw_key(p, x, 54 + LINE + 4, PEER, l->peer);
}

/* Draws all panels, one below the other. DONE or FAILED. */
static int panels_draw(tool *t, const bench_lines *l, const arguments *args, panel *a)
{
    picture p;
    double y = BARS_TOP;
    size_t i;
    for (i = 0; i < l->count; i++)
        if (panel_make(a, l, i)) y += panel_high(a);
    if (y == BARS_TOP)
        return cli_complain(t, "there are no lines of ours%s%s", args->plans ? " with the plan " : "", args->plans ? args->plan[0] : "");
    picture_make(&p, args->value[OPT_OUT], BARS_WIDTH, y + 30);
    panels_title(&p, l);
    for (y = BARS_TOP, i = 0; i < l->count; i++) {
        if (!panel_make(a, l, i)) continue;
        panel_draw(&p, l, a, y);
        y += panel_high(a);
    }
    draw_caption(&p, l, args);
    return picture_save(t, &p, args->value[OPT_OUT]);
}

int plot_bench(tool *t, const arguments *args)
{
    bench_lines l;
    panel a;
    int result = lines_read(t, args, &l);
    memset(&a, 0, sizeof a);
    if (result == DONE && (a.line = (const bench_line **)malloc(l.count * sizeof *a.line)) == NULL) result = cli_no_memory(t);
    if (result == DONE) result = panels_draw(t, &l, args, &a);
    free(a.line);
    free(l.at);
    return result;
}

/* ---- a peer's time over ours ------------------------------------------------------------------------------------------ */

enum { RATIO_HIGH = 10, RATIO_STEP = 11, RATIO_GAP = 8, RATIO_NAMES = 190, RATIO_LEFT = 242, RATIO_RIGHT = 58, RATIO_TOP = 134 };

/* The axis shows at least this much to either side of 1. */
#define RATIO_LEAST 1.15

typedef struct ratio {
    const char *matrix;
    double      of[SPMV_TYPE_COUNT]; /* the peer's time divided by ours; 0: one of them is unknown */
    double      mean;                /* of the logarithms to base 2 */
} ratio;

typedef struct ratios {
    ratio *at;
    size_t count, alone; /* alone: matrices with a time of ours but none of a peer */
    double low, high;    /* ends of the axis */
    int    types;        /* number of types that occur */
    double sum[SPMV_TYPE_COUNT]; /* of logarithms */
    int    number[SPMV_TYPE_COUNT], above[SPMV_TYPE_COUNT];
} ratios;

/* The best time of a right product of a matrix and type, of peers or of ours; 0: none. */
static double best_time(const bench_lines *l, const char *matrix, const char *type, int peer)
{
    double best = 0;
    size_t i;
    for (i = 0; i < l->count; i++) {
        const bench_line *b = &l->at[i];
        if (b->is_peer != peer || b->is_wrong) continue;
        if (strcmp(b->matrix, matrix) != 0 || strcmp(b->type, type) != 0) continue;
        if (b->us > 0 && (!(best > 0) || b->us < best)) best = b->us;
    }
    return best;
}

static int compare_means(const void *a, const void *b)
{
    const ratio *x = (const ratio *)a, *y = (const ratio *)b;
    if (x->mean != y->mean) return x->mean > y->mean ? -1 : 1;
    return strcmp(x->matrix, y->matrix);
}

static void ratio_note(ratios *r, ratio *one, int type, double value)
{
    one->of[type] = value;
    r->sum[type] += log2(value);
    r->number[type]++;
    r->above[type] += value > 1;
    if (value < r->low) r->low = value;
    if (value > r->high) r->high = value;
}

/* Adds the ratios of a matrix, if it has any. */
static void ratio_of_matrix(ratios *r, const bench_lines *l, const char *matrix)
{
    ratio *one = &r->at[r->count];
    int type, n = 0, timed = 0;
    memset(one, 0, sizeof *one);
    one->matrix = matrix;
    for (type = SPMV_F64; type < SPMV_TYPE_COUNT; type++) {
        const char *name = spmv_type_name((spmv_type)type);
        double ours = best_time(l, matrix, name, 0), peer = best_time(l, matrix, name, 1);
        timed |= ours > 0;
        if (!(ours > 0 && peer > 0)) continue;
        ratio_note(r, one, type, peer / ours);
        one->mean += log2(peer / ours);
        n++;
    }
    if (n) one->mean /= n;
    if (n) r->count++;
    else r->alone += (size_t)timed;
}

/* Computes the ratios of all matrices, the largest first. DONE, or FAILED after a message. */
static int ratios_make(tool *t, ratios *r, const bench_lines *l, const arguments *args)
{
    size_t i, k;
    int type;
    memset(r, 0, sizeof *r);
    r->low = 1 / RATIO_LEAST;
    r->high = RATIO_LEAST;
    r->at = (ratio *)malloc((l->count + 1) * sizeof *r->at);
    if (!r->at) return cli_no_memory(t);
    for (i = 0; i < l->count; i++) {
        for (k = 0; k < i && strcmp(l->at[k].matrix, l->at[i].matrix) != 0; k++) continue;
        if (k == i) ratio_of_matrix(r, l, l->at[i].matrix);
    }
    for (type = SPMV_F64; type < SPMV_TYPE_COUNT; type++) r->types += r->number[type] > 0;
    qsort(r->at, r->count, sizeof *r->at, compare_means);
    if (r->count) return DONE;
    return cli_complain(t, "no matrix has both a time of ours%s%s and a peer's", args->plans ? " with the plan " : "",
                    args->plans ? args->plan[0] : "");
}

static uint32_t type_colour(int type)
{
    return type == SPMV_F32 ? picture_hues[5] : type == SPMV_F64 ? picture_hues[0] : picture_hues[2];
}

static double ratio_x(const picture *p, const ratios *r, double value)
{
    return RATIO_LEFT + (p->width - RATIO_LEFT - RATIO_RIGHT) * log2(value / r->low) / log2(r->high / r->low);
}

/* Draws lines at round ratios, from 1 outwards on both sides, as far as there is room. */
static void ratio_axis(picture *p, const ratios *r, double bottom)
{
    static const double round[2][18] = {
        {0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002, 0.001},
        {1.1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100, 200, 500, 1000}};
    double one = ratio_x(p, r, 1), last;
    char text[32];
    size_t i;
    int up;
    for (up = 0; up < 2; up++)
        for (last = one, i = 0; i < sizeof *round / sizeof **round; i++) {
            double value = round[up][i], x = ratio_x(p, r, value);
            if (value > r->high || value < r->low || fabs(x - last) < 44) continue;
            last = x;
            picture_box(p, x, RATIO_TOP - 4, 1, bottom - RATIO_TOP + 4, RULE);
            snprintf(text, sizeof text, "%g\xc3\x97", value);
            picture_text(p, x, RATIO_TOP - 9, SMALL, INK, AT_MIDDLE, text);
        }
    picture_text(p, one, RATIO_TOP - 9, SMALL, INK, AT_MIDDLE, "1\xc3\x97");
}

/* Draws the bars of a matrix, one for each type. */
static void ratio_row(picture *p, const ratios *r, const ratio *one, double y)
{
    double from = ratio_x(p, r, 1);
    char text[32];
    int type, i = 0;
    for (type = SPMV_TYPE_COUNT; type-- > SPMV_F64;) { /* f32 above f64 */
        double x;
        if (!r->number[type]) continue;
        if (one->of[type] > 0) {
            x = ratio_x(p, r, one->of[type]);
            picture_box(p, x < from ? x : from, y + i * RATIO_STEP, fabs(x - from), RATIO_HIGH, type_colour(type));
            snprintf(text, sizeof text, "%.2f", one->of[type]);
            picture_text(p, x < from ? x - 5 : x + 5, y + i * RATIO_STEP + 9, 10, INK, x < from ? AT_RIGHT : AT_LEFT, text);
        }
        i++;
    }
    picture_fitted(p, RATIO_NAMES, y + RATIO_STEP * r->types / 2.0 + 4, SMALL, INK, AT_RIGHT, RATIO_NAMES - 14, one->matrix);
}

/* Draws the title, a summary of each type, and the two directions. */
static void ratio_title(picture *p, const ratios *r, const bench_lines *l, const arguments *args)
{
    char text[512];
    double x = 14, one = ratio_x(p, r, 1);
    int type;
    snprintf(text, sizeof text, "Time of %s divided by time of spmv", l->peer);
    picture_fitted(p, 14, 32, TITLE, INK, AT_LEFT, p->width - 28, text);
    snprintf(text, sizeof text, "for each matrix, the fastest time of %s divided by that of spmv's %s", l->peer,
             args->plans ? args->plan[0] : "fastest plan");
    if (r->alone) snprintf(text + strlen(text), sizeof text - strlen(text), "; %d matrices without both times are left out", (int)r->alone);
    picture_fitted(p, 14, 54, TEXT, FAINT, AT_LEFT, p->width - 28, text);
    for (type = SPMV_TYPE_COUNT; type-- > SPMV_F64;) {
        if (!r->number[type]) continue;
        snprintf(text, sizeof text, "%s: geometric mean %.2f, faster on %d of %d", spmv_type_name((spmv_type)type),
                 exp2(r->sum[type] / r->number[type]), r->above[type], r->number[type]);
        x = draw_key(p, x, 54 + LINE + 4, type_colour(type), text);
    }
    picture_text(p, one + 8, RATIO_TOP - 26, SMALL, FAINT, AT_LEFT, "spmv faster \xe2\x86\x92");
    snprintf(text, sizeof text, "\xe2\x86\x90 %s faster", l->peer);
    picture_fitted(p, one - 8, RATIO_TOP - 26, SMALL, FAINT, AT_RIGHT, one - 22, text);
}

static int ratios_draw(tool *t, const ratios *r, const bench_lines *l, const arguments *args)
{
    picture p;
    double step = RATIO_STEP * r->types + RATIO_GAP, bottom = RATIO_TOP + step * (double)r->count + 4;
    size_t i;
    picture_make(&p, args->value[OPT_OUT], BARS_WIDTH, bottom + 36);
    ratio_title(&p, r, l, args);
    ratio_axis(&p, r, bottom);
    for (i = 0; i < r->count; i++) ratio_row(&p, r, &r->at[i], RATIO_TOP + RATIO_GAP / 2.0 + step * (double)i);
    picture_box(&p, ratio_x(&p, r, 1), RATIO_TOP - 4, 1.5, bottom - RATIO_TOP + 4, INK);
    draw_caption(&p, l, args);
    return picture_save(t, &p, args->value[OPT_OUT]);
}

int plot_ratio(tool *t, const arguments *args)
{
    bench_lines l;
    ratios r;
    int result = lines_read(t, args, &l);
    memset(&r, 0, sizeof r);
    if (result == DONE) result = ratios_make(t, &r, &l, args);
    if (result == DONE) result = ratios_draw(t, &r, &l, args);
    free(r.at);
    free(l.at);
    return result;
}
