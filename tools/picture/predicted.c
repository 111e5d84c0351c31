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

/* Ratios within these bounds count as good. */
#define GOOD_LEAST 0.8
#define GOOD_MOST 1.25

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
        spmv_csr_destroy(&a);
    }
    cli_progress_clear(t);
    return result;
}

/* The candidate of a sample. */
static const spmv_candidate *candidate(const prediction *p, const dot *d) { return &p->samples.line[d->of->line]; }

/* Sets the types. */
static void find_types(prediction *p)
{
    size_t i;
    int k;
    for (i = 0; i < p->samples.count; i++) {
        for (k = 0; k < p->types && p->type[k] != candidate(p, &p->at[i])->type;) k++;
        if (k == p->types) p->type[p->types++] = candidate(p, &p->at[i])->type;
    }
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

/* Writes a panel: its heading, and of each sample of the type the measured time, the format and the ratio. */
static void write_panel(FILE *out, const prediction *p, spmv_type type)
{
    char text[120];
    const char *comma = "";
    size_t i;
    fprintf(out, "{\"title\": \"%s: %s\", \"dots\": [", spmv_type_name(type),
            verdict(count(p, type, SPMV_FORMAT_COUNT), text, sizeof text));
    for (i = 0; i < p->samples.count; i++) {
        const dot *d = &p->at[i];
        if (candidate(p, d)->type != type || !(d->ratio > 0)) continue;
        fprintf(out, "%s[%g,%d,%g]", comma, d->of->seconds, (int)candidate(p, d)->layout.format, d->ratio);
        comma = ",";
    }
    fputs("]}", out);
}

/* Draws the picture. DONE, or FAILED after a message. */
static int draw(picture *pic, const prediction *p)
{
    const char *words[] = {"predicted", p->table->device, NULL, NULL};
    char text[400];
    int k;
    if (picture_open(pic) != DONE) return FAILED;
    snprintf(text, sizeof text, "predicted over measured times of the samples; %s; table of %s", p->samples.driver, p->table->date);
    words[2] = text;
    fprintf(pic->data, "{\"least\": %g, \"most\": %g, \"formats\": [", GOOD_LEAST, GOOD_MOST);
    for (k = 0; k < SPMV_FORMAT_COUNT; k++) fprintf(pic->data, "%s\"%s\"", k ? ", " : "", spmv_format_name((spmv_format)k));
    fputs("], \"panels\": [", pic->data);
    for (k = 0; k < p->types; k++) {
        if (k) fputs(", ", pic->data);
        write_panel(pic->data, p, p->type[k]);
    }
    fputs("]}\n", pic->data);
    return picture_draw(pic, words);
}

int plot_predicted(picture *pic, const arguments *args)
{
    tool *t = pic->t;
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
    if (result == DONE) find_types(&p);
    if (result == DONE) result = predict_all(t, &p);
    for (i = 0; i < p.samples.count && result == DONE; i++) found += p.at[i].ratio > 0;
    if (result == DONE && !found) result = cli_complain(t, "%s predicts no sample of %s", args->file[1], args->file[2]);
    if (result == DONE) result = draw(pic, &p);
    if (result == DONE) print_shares(&p);
    free(p.at);
    samples_free(&p.samples);
    spmv_tuning_destroy(&table);
    return result;
}
