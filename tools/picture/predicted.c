/* SPDX-License-Identifier: MIT */
#include "predicted.h"

#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/options.h"
#include "../library.h"
#include "../matrices/generate.h"
#include "../tune/tune.h"
#include "picture.h"
#include "spmv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In units of the picture: a panel for each type; what surrounds them; the side of a dot. */
enum { PANEL_WIDE = 430, PANEL_HIGH = 380, PANEL_LEFT = 64, PANEL_TOP = 130, PANEL_GAP = 54, PANEL_RIGHT = 30, PANEL_FOOT = 60, DOT = 3 };

/* Ratios within these bounds count as good; those beyond the axis are drawn at its ends. */
#define GOOD_LEAST 0.8
#define GOOD_MOST 1.25
#define RATIO_END 8.0

enum { GOOD_GROUND = 0xe6f4ea };

/* A sample and its prediction. */
typedef struct dot {
    const sample *of;
    double        ratio; /* predicted over measured; 0: the table predicts nothing */
} dot;

/* All samples beside a table. */
typedef struct prediction {
    const spmv_tuning *table;
    sample_list        samples;
    dot               *at;
    int                types;
    spmv_type          type[SPMV_TYPE_COUNT]; /* those of the samples */
    double             least, most;           /* the bounds of the axis of times, in seconds: powers of ten */
} prediction;

/* What a group of samples comes to. */
typedef struct tally {
    unsigned samples, good;
    double   logs; /* the sum of log2 of the ratios */
} tally;

/* ---- predictions ----------------------------------------------------------------------------------------------------- */

/* Predicts the samples of structure number name, which a is, in one type. DONE or FAILED. */
static int predict_type(tool *t, prediction *p, const spmv_csr *a, size_t name, spmv_type type)
{
    spmv_estimate *by = (spmv_estimate *)calloc(p->table->count + 1, sizeof *by);
    size_t i, k;
    int result = by ? DONE : cli_no_memory(t);
    if (result == DONE && library_estimates(a, p->table, type, by, &t->hooks) != SPMV_OK) result = FAILED;
    for (i = 0; i < p->samples.count && result == DONE; i++) {
        const spmv_candidate *of = &p->samples.line[p->at[i].of->line];
        if (of->type != type || p->at[i].of->name != name) continue;
        for (k = 0; k < p->table->count; k++)
            if (p->table->line[k].type == type && samples_alike(&p->table->line[k], of))
                p->at[i].ratio = by[k].seconds / p->at[i].of->seconds;
    }
    free(by);
    return result;
}

/* Generates every structure once and predicts its samples. DONE or FAILED. */
static int predict_all(tool *t, prediction *p)
{
    size_t i;
    int type, result = DONE;
    for (i = 0; i < p->samples.names && result == DONE; i++) {
        const char *structure = p->samples.name[i];
        spmv_csr a;
        memset(&a, 0, sizeof a);
        cli_progress_name(t, "predicting", structure);
        result = generate_matrix(t, structure, &a);
        for (type = 0; type < p->types && result == DONE; type++) result = predict_type(t, p, &a, i, p->type[type]);
        spmv_csr_free(&a);
    }
    cli_progress_clear(t);
    return result;
}

/* The candidate of a sample. */
static const spmv_candidate *candidate(const prediction *p, const dot *d) { return &p->samples.line[d->of->line]; }

/* Sets the types and the axis of times. */
static void find_bounds(prediction *p)
{
    size_t i;
    int k;
    double least = p->samples.at[0].seconds, most = least;
    for (i = 0; i < p->samples.count; i++) {
        const sample *s = p->at[i].of;
        for (k = 0; k < p->types && p->type[k] != candidate(p, &p->at[i])->type;) k++;
        if (k == p->types) p->type[p->types++] = candidate(p, &p->at[i])->type;
        if (s->seconds < least) least = s->seconds;
        if (s->seconds > most) most = s->seconds;
    }
    for (p->least = 1; p->least > least;) p->least /= 10;
    for (p->most = p->least; p->most < most;) p->most *= 10;
}

/* Sums up the samples of one type; of one format, or of all (SPMV_FORMAT_COUNT). */
static tally count(const prediction *p, spmv_type type, spmv_format format)
{
    tally sum = {0, 0, 0};
    size_t i;
    for (i = 0; i < p->samples.count; i++) {
        const dot *d = &p->at[i];
        if (candidate(p, d)->type != type || !(d->ratio > 0)) continue;
        if (format != SPMV_FORMAT_COUNT && candidate(p, d)->layout.format != format) continue;
        sum.samples++;
        sum.good += d->ratio >= GOOD_LEAST && d->ratio <= GOOD_MOST;
        sum.logs += library_log2(d->ratio);
    }
    return sum;
}

/* "62% of 1234 within 0.8 to 1.25, geometric mean 1.03" */
static const char *verdict(tally sum, char *out, size_t size)
{
    snprintf(out, size, "%.0f%% of %u within %g to %g, geometric mean %.2f", 100.0 * sum.good / sum.samples, sum.samples, GOOD_LEAST,
             GOOD_MOST, library_exp2(sum.logs / sum.samples));
    return out;
}

/* Prints the shares: all samples of each type, then those of each format. */
static void print_shares(const prediction *p)
{
    char text[120];
    int k, format;
    for (k = 0; k < p->types; k++) {
        const char *type = spmv_type_name(p->type[k]);
        tally all = count(p, p->type[k], SPMV_FORMAT_COUNT);
        if (!all.samples) continue;
        printf("%s         %s\n", type, verdict(all, text, sizeof text));
        for (format = 0; format < SPMV_FORMAT_COUNT; format++) {
            tally sum = count(p, p->type[k], (spmv_format)format);
            if (sum.samples) printf("%s %-7s %s\n", type, spmv_format_name((spmv_format)format), verdict(sum, text, sizeof text));
        }
    }
}

/* ---- the picture ------------------------------------------------------------------------------------------------------- */

/* Where a time lies on its axis, and where a ratio lies, both from 0 to 1. */
static double place_of_time(const prediction *p, double seconds)
{
    return library_log2(seconds / p->least) / library_log2(p->most / p->least);
}

static double place_of_ratio(double ratio)
{
    double at = 0.5 + 0.5 * library_log2(ratio) / library_log2(RATIO_END);
    return at < 0 ? 0 : at > 1 ? 1 : at;
}

/* Draws the ground, the axes and the heading of a panel. */
static void draw_frame(const prediction *p, picture *pic, double x, double y, spmv_type type, int first)
{
    static const double ratios[] = {0.125, 0.25, 0.5, GOOD_LEAST, 1, GOOD_MOST, 2, 4, 8};
    char text[160], number[32];
    double top = y + PANEL_HIGH * (1 - place_of_ratio(GOOD_MOST)), v;
    size_t i;
    picture_box(pic, x, top, PANEL_WIDE, y + PANEL_HIGH * (1 - place_of_ratio(GOOD_LEAST)) - top, GOOD_GROUND);
    for (i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        double at = y + PANEL_HIGH * (1 - place_of_ratio(ratios[i]));
        picture_box(pic, x, at, PANEL_WIDE, 1, RULE);
        snprintf(number, sizeof number, "%g", ratios[i]);
        if (first) picture_text(pic, x - 8, at + 4, SMALL, INK, AT_RIGHT, number);
    }
    for (v = p->least; v < p->most * 1.5; v *= 10) {
        double at = x + PANEL_WIDE * place_of_time(p, v);
        picture_box(pic, at, y, 1, PANEL_HIGH + 5, RULE);
        snprintf(number, sizeof number, "%.0f us", v * 1e6);
        if (v < 0.99e-6) snprintf(number, sizeof number, "%.0f ns", v * 1e9);
        if (v > 0.99e-3) snprintf(number, sizeof number, "%.0f ms", v * 1e3);
        if (v > 0.99) snprintf(number, sizeof number, "%.0f s", v);
        picture_text(pic, at, y + PANEL_HIGH + 20, SMALL, INK, AT_MIDDLE, number);
    }
    picture_text(pic, x + PANEL_WIDE / 2, y + PANEL_HIGH + 44, TEXT, INK, AT_MIDDLE, "measured time of a product");
    if (first) picture_upwards(pic, 18, y + PANEL_HIGH / 2, TEXT, INK, "predicted / measured");
    snprintf(text, sizeof text, "%s: ", spmv_type_name(type));
    verdict(count(p, type, SPMV_FORMAT_COUNT), text + strlen(text), sizeof text - strlen(text));
    picture_text(pic, x, y - 10, TEXT, INK, AT_LEFT, text);
}

/* Draws the dots of one type. */
static void draw_dots(const prediction *p, picture *pic, double x, double y, spmv_type type)
{
    size_t i;
    for (i = 0; i < p->samples.count; i++) {
        const dot *d = &p->at[i];
        if (candidate(p, d)->type != type || !(d->ratio > 0)) continue;
        picture_box(pic, x + PANEL_WIDE * place_of_time(p, d->of->seconds) - 0.5 * DOT,
                    y + PANEL_HIGH * (1 - place_of_ratio(d->ratio)) - 0.5 * DOT, DOT, DOT,
                    picture_hues[candidate(p, d)->layout.format % HUES]);
    }
}

/* Names the formats beside their colours. */
static void draw_legend(const prediction *p, picture *pic, double x, double y)
{
    int format, k;
    for (format = 0; format < SPMV_FORMAT_COUNT; format++) {
        unsigned samples = 0;
        for (k = 0; k < p->types; k++) samples += count(p, p->type[k], (spmv_format)format).samples;
        if (!samples) continue;
        picture_box(pic, x, y - 9, 10, 10, picture_hues[format % HUES]);
        picture_text(pic, x + 14, y, TEXT, INK, AT_LEFT, spmv_format_name((spmv_format)format));
        x += 34 + picture_text_width(pic, TEXT, spmv_format_name((spmv_format)format));
    }
}

/* Draws the picture and writes it. DONE, or FAILED after a message. */
static int draw(tool *t, const prediction *p, const char *path)
{
    picture pic;
    char text[400];
    int k;
    double width = PANEL_LEFT + p->types * (PANEL_WIDE + PANEL_GAP) - PANEL_GAP + PANEL_RIGHT, x = PANEL_LEFT;
    picture_make(&pic, path, width, PANEL_TOP + PANEL_HIGH + PANEL_FOOT);
    picture_fitted(&pic, 14, 32, TITLE, INK, AT_LEFT, width - 28, p->table->device);
    snprintf(text, sizeof text, "predicted over measured times of the samples; %s; table of %s", p->samples.driver, p->table->date);
    picture_fitted(&pic, 14, 54, TEXT, FAINT, AT_LEFT, width - 28, text);
    draw_legend(p, &pic, 14, 54 + 1.4 * LINE);
    for (k = 0; k < p->types; k++, x += PANEL_WIDE + PANEL_GAP) {
        draw_frame(p, &pic, x, PANEL_TOP, p->type[k], !k);
        draw_dots(p, &pic, x, PANEL_TOP, p->type[k]);
    }
    return picture_save(t, &pic, path);
}

int plot_predicted(tool *t, const arguments *args)
{
    prediction p;
    spmv_tuning table;
    size_t i, found = 0;
    int result;
    if (args->plans) return cli_misuse(t, "plot predicted takes no --plan");
    memset(&p, 0, sizeof p);
    if (file_load_table(t, args->file[1], &table) != DONE) return FAILED;
    p.table = &table;
    result = samples_read(t, args->file[2], &p.samples);
    samples_join(&p.samples);
    if (result == DONE && !p.samples.count) result = cli_complain(t, "%s: the file has no samples", args->file[2]);
    if (result == DONE) p.at = (dot *)calloc(p.samples.count, sizeof *p.at);
    if (result == DONE && !p.at) result = cli_no_memory(t);
    for (i = 0; i < p.samples.count && result == DONE; i++) p.at[i].of = &p.samples.at[i];
    if (result == DONE) find_bounds(&p);
    if (result == DONE) result = predict_all(t, &p);
    for (i = 0; i < p.samples.count && result == DONE; i++) found += p.at[i].ratio > 0;
    if (result == DONE && !found) result = cli_complain(t, "%s predicts no sample of %s", args->file[1], args->file[2]);
    if (result == DONE) result = draw(t, &p, args->value[OPT_OUT]);
    if (result == DONE) print_shares(&p);
    free(p.at);
    samples_free(&p.samples);
    spmv_tuning_free(&table);
    return result;
}
