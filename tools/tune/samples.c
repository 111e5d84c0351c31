/* SPDX-License-Identifier: MIT */
#include "tune.h"

#include "../cli/files.h"
#include "../cli/memory.h"
#include "spmv_io.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_BYTES = 1 << 24 }; /* the most bytes of a file of samples */

static const char title[] = "spmv tuning samples 1";

/* ---- lists ---------------------------------------------------------------------------------------------------------- */

void samples_free(sample_list *l)
{
    free(l->at);
    free(l->line);
    free(l->name);
    memset(l, 0, sizeof *l);
}

/* Makes room for one more than count elements. Returns where they are then; NULL: memory ran out, and nothing has changed. */
static void *grown(void *at, size_t count, size_t *room, size_t size)
{
    const size_t more = *room ? 2 * *room : 64;
    if (count < *room) return at;
    if (!memory_resize(&at, more, size)) return NULL;
    *room = more;
    return at;
}

int samples_alike(const spmv_candidate *a, const spmv_candidate *b)
{
    return a->layout.format == b->layout.format && !memcmp(a->layout.key, b->layout.key, sizeof a->layout.key) &&
           !strcmp(a->variant, b->variant);
}

size_t samples_line(sample_list *l, const spmv_candidate *like)
{
    spmv_candidate *k;
    size_t i;
    for (i = 0; i < l->lines; i++)
        if (l->line[i].type == like->type && samples_alike(&l->line[i], like)) return i;
    k = (spmv_candidate *)grown(l->line, l->lines, &l->line_room, sizeof *k);
    if (!k) return SAMPLES_NONE;
    l->line = k;
    k += l->lines;
    memset(k, 0, sizeof *k);
    k->type = like->type;
    k->layout = like->layout;
    memcpy(k->variant, like->variant, sizeof k->variant);
    k->cost[SPMV_COST_LAUNCH] = k->cost[SPMV_COST_BYTES] = k->cost[SPMV_COST_CHAIN] = 1;
    return l->lines++;
}

size_t samples_name(sample_list *l, const char *name)
{
    char (*at)[SAMPLE_NAME];
    size_t i;
    for (i = 0; i < l->names; i++)
        if (!strcmp(l->name[i], name)) return i;
    at = (char (*)[SAMPLE_NAME])grown(l->name, l->names, &l->name_room, sizeof *at);
    if (!at) return SAMPLES_NONE;
    l->name = at;
    snprintf(l->name[l->names], sizeof *at, "%s", name);
    return l->names++;
}

int samples_add(sample_list *l, sample s)
{
    sample *at = (sample *)grown(l->at, l->count, &l->room, sizeof *at);
    if (!at) return 0;
    l->at = at;
    l->at[l->count++] = s;
    return 1;
}

void samples_plan(const spmv_candidate *k, char *out, size_t size)
{
    spmv_plan *one = (spmv_plan *)calloc(1, sizeof *one); /* large */
    snprintf(out, size, "?");
    if (!one) return;
    one->count = 1;
    one->part[0] = k->layout;
    spmv_plan_print(one, out, size);
    free(one);
}

/* ---- files ---------------------------------------------------------------------------------------------------------- */

/* Reads microseconds. 1, or 0 if the word is no such number. */
static int seconds_of(const char *word, double *out)
{
    if (!spmv_number_from(word, out) || !(*out > 0 && *out < 1e12)) return 0;
    *out *= 1e-6;
    return 1;
}

/* Reads a candidate: its type, and the word of its plan and knobs. plan: room for it. 1, or 0 if the words are something else. */
static int candidate_of(tool *t, const char *type, char *word, spmv_candidate *out, spmv_plan *plan)
{
    char *slash = strchr(word, '/');
    memset(out, 0, sizeof *out);
    out->type = spmv_type_from(type);
    if (out->type == SPMV_TYPE_COUNT || !slash || strlen(slash + 1) >= sizeof out->variant) return 0;
    *slash = 0;
    if (spmv_plan_parse(plan, word, NULL, &t->hooks) != SPMV_OK || plan->count != 1) return 0;
    out->layout = plan->part[0];
    memcpy(out->variant, slash + 1, strlen(slash + 1));
    return 1;
}

/* Reads a line of a file of samples and adds it to the list. DONE, FAILED after a message, or USAGE if it is none. */
static int sample_of(tool *t, const char *line, sample_list *l, spmv_plan *plan)
{
    char type[8], name[SAMPLE_NAME], of[256], took[32], preparing[32], more[2];
    const int n = sscanf(line, "%7s %47s %255s %31s %31s %1s", type, name, of, took, preparing, more);
    spmv_candidate k;
    sample s;
    memset(&s, 0, sizeof s);
    if (n < 4 || n > 5 || !candidate_of(t, type, of, &k, plan)) return USAGE;
    if (!seconds_of(took, &s.seconds) || (n == 5 && !seconds_of(preparing, &s.preparing))) return USAGE;
    s.line = samples_line(l, &k);
    s.name = samples_name(l, name);
    return s.line != SAMPLES_NONE && s.name != SAMPLES_NONE && samples_add(l, s) ? DONE : cli_no_memory(t);
}

/* Ends the line at *p with a zero and goes to the next one. NULL: there is no whole line. */
static char *take_line(char **p)
{
    char *line = *p, *end = strchr(line, '\n');
    if (!end) return NULL;
    *end = 0;
    *p = end + 1;
    return line;
}

/* Reads the head. 1, or 0 if the text is something else. */
static int head_of(char **p, sample_list *l)
{
    const char *first = take_line(p), *device = first ? take_line(p) : NULL, *driver = device ? take_line(p) : NULL;
    if (!driver || strncmp(first, title, sizeof title - 1) != 0) return 0;
    first += sizeof title - 1;
    l->graph = !strcmp(first, " graph");
    snprintf(l->device, sizeof l->device, "%s", device);
    snprintf(l->driver, sizeof l->driver, "%s", driver);
    return l->graph || !*first;
}

int samples_read(tool *t, const char *path, sample_list *out)
{
    char *text = NULL, *p, *line;
    size_t used;
    unsigned number = 3;
    spmv_plan *plan = (spmv_plan *)malloc(sizeof *plan); /* large */
    int result = plan ? DONE : cli_no_memory(t);
    memset(out, 0, sizeof *out);
    if (result == DONE) result = file_load_text(t, path, SAMPLES_BYTES, &text, &used);
    if (result == DONE && !memory_resize(&text, used + 1, 1)) result = cli_no_memory(t);
    if (result == DONE) text[used] = 0;
    p = text;
    if (result == DONE && !head_of(&p, out)) result = cli_complain(t, "%s: not a file of samples", path);
    while (result == DONE && (line = take_line(&p)) != NULL) {
        number++;
        result = sample_of(t, line, out, plan);
        if (result == USAGE) result = cli_complain(t, "%s, line %u: not a sample", path, number);
    }
    if (result == DONE) out->bytes = (size_t)(p - text);
    free(text);
    free(plan);
    return result;
}

void samples_write_head(FILE *f, const sample_list *l)
{
    fprintf(f, "%s%s\n%s\n%s\n", title, l->graph ? " graph" : "", l->device, l->driver);
}

void samples_write_last(FILE *f, const sample_list *l)
{
    const sample *s = &l->at[l->count - 1];
    const spmv_candidate *k = &l->line[s->line];
    char plan[160];
    samples_plan(k, plan, sizeof plan);
    fprintf(f, "%s %s %s/%s %.6g", spmv_type_name(k->type), l->name[s->name], plan, k->variant, 1e6 * s->seconds);
    fprintf(f, s->preparing > 0 ? " %.6g\n" : "\n", 1e6 * s->preparing);
    fflush(f);
}

/* ---- repeated samples ----------------------------------------------------------------------------------------------- */

/* Orders samples by their products, and those of one by their times. */
static int compare_samples(const void *a, const void *b)
{
    const sample *x = (const sample *)a, *y = (const sample *)b;
    if (x->line != y->line) return x->line < y->line ? -1 : 1;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    return timing_compare(&x->seconds, &y->seconds);
}

/* The median of n samples of one product, which are ordered by their times; if only others know what preparing took, by one of these. */
static sample median_of(const sample *s, size_t n)
{
    sample out = s[(n - 1) / 2];
    size_t i;
    for (i = 0; i < n && !(out.preparing > 0); i++) out.preparing = s[i].preparing;
    return out;
}

void samples_join(sample_list *l)
{
    size_t i, n, kept = 0;
    if (l->count) qsort(l->at, l->count, sizeof *l->at, compare_samples);
    for (i = 0; i < l->count; i += n) {
        for (n = 1; i + n < l->count && l->at[i + n].line == l->at[i].line && l->at[i + n].name == l->at[i].name;) n++;
        l->at[kept++] = median_of(&l->at[i], n);
    }
    l->count = kept;
}
