/* SPDX-License-Identifier: MIT
 *
 * tools/tune/tune.c - spmv tune: measures products with matrices that are like real ones and writes a tuning table (spmv/choice.h).
 * This is the offline benchmarking stage of clSpMV 3.2, which took half a day. Here a table begins with another one, usually the bundled
 * one of a similar device, which says what to measure and what to expect:
 *
 *   probe.c       what the device is: its memory, its smallest product
 *   structures.c  samples: times of candidates on structures, each kept in a file at once, so that an interrupted run goes on there
 *   fit.c         the costs of each candidate from all samples
 */
#include "../cli/files.h"
#include "../cli/options.h"
#include "../cli/output.h"
#include "../cmd/commands.h"
#include "../measure/device.h"
#include "../measure/graph.h"
#include "tune.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIT_SHARE       0.06 /* of the budget: for the fit */
#define PREPARE_SECONDS 20   /* the least budget in which what preparing takes is measured anew */

/* What a run is to do. */
typedef struct tune_wish {
    unsigned    types;       /* bits 1u << type */
    double      budget;      /* seconds, 0: no limit */
    const char *samples;     /* the file of samples; NULL: none is kept */
    const char *from;        /* the table that is known before; NULL: the bundled one */
    size_t      candidates;  /* chosen anew by the samples; 0: those of that table */
    int         all;         /* 1: every layout is measured */
    const char *out;
} tune_wish;

/* What is known: a table and samples. */
typedef struct tuner {
    tool         *t;
    spmv_tuning   head;     /* of the new table */
    sample_list   samples;  /* its lines are the candidates, with the costs of the prior until the fit */
    unsigned char *kept;    /* by line: it is measured, or in the new table */
    looks         seen;
} tuner;

/* ---- the prior ------------------------------------------------------------------------------------------------------ */

/* Reads the table that is known before: that of the file from, else the bundled one for a device. DONE, or FAILED after a message. */
static int prior_read(tool *t, const char *from, const char *device, spmv_device_class of, spmv_tuning *out)
{
    size_t length;
    const char *text;
    if (from) return file_load_table(t, from, out);
    text = spmv_tuning_bundled(device, of, &length, NULL);
    if (!text) return cli_complain(t, "there is no bundled table for %s; give --from", device);
    return spmv_tuning_create(out, text, length, "the bundled table", &t->hooks) == SPMV_OK ? DONE : FAILED;
}

/* The first line of a table of the format of k, else the first of csr; NULL: there is none. */
static const spmv_candidate *prior_like(const spmv_tuning *prior, const spmv_candidate *k)
{
    const spmv_candidate *csr = NULL;
    size_t i;
    for (i = 0; i < prior->count; i++) {
        if (prior->line[i].layout.format == k->layout.format) return &prior->line[i];
        if (!csr && prior->line[i].layout.format == SPMV_CSR) csr = &prior->line[i];
    }
    return csr;
}

/* Adds the lines of the prior to the candidates. Their costs that are times change as the speeds of the two memories. fresh: 1: those of
 * lines with samples are not taken, because they were found by samples of the same device: where structures are left out, they must not be
 * known by them. DONE, or FAILED after a message. */
static int prior_add(tuner *u, const spmv_tuning *prior, int fresh)
{
    const double slower = prior->read > 0 && u->head.read > 0 ? prior->read / u->head.read : 1;
    size_t i, j, at;
    int k;
    for (i = 0; i < u->samples.lines; i++) {
        const spmv_candidate *like = prior_like(prior, &u->samples.line[i]);
        u->samples.line[i].begin = like ? like->begin : 0;
        u->samples.line[i].slot = like ? slower * like->slot : 0;
    }
    for (i = 0; i < prior->count; i++) {
        at = samples_line(&u->samples, &prior->line[i]);
        if (at == SAMPLES_NONE) return cli_no_memory(u->t);
        u->samples.line[at].begin = prior->line[i].begin;
        u->samples.line[at].slot = slower * prior->line[i].slot;
        for (j = 0; j < u->samples.count && u->samples.at[j].line != at;) j++;
        for (k = 0; k < SPMV_COST_COUNT && (!fresh || j == u->samples.count); k++)
            u->samples.line[at].cost[k] = prior->line[i].cost[k] * (spmv_cost_unit((spmv_cost)k) < 1 ? slower : 1);
    }
    return DONE;
}

/* Adds every layout of a type, with default knobs. DONE, or FAILED after a message. */
static int layouts_add(tuner *u, spmv_type type)
{
    spmv_plan *one = (spmv_plan *)malloc(sizeof *one); /* large */
    const char *const *layout;
    spmv_candidate k;
    size_t n, i;
    int f, result = one ? DONE : cli_no_memory(u->t);
    for (f = 0; f < SPMV_FORMAT_COUNT && result == DONE; f++)
        for (i = 0, n = spmv_format_layouts((spmv_format)f, &layout); i < n && result == DONE; i++) {
            memset(&k, 0, sizeof k);
            k.type = type;
            if (spmv_plan_parse(one, layout[i], NULL, &u->t->hooks) != SPMV_OK) result = FAILED;
            else k.layout = one->part[0];
            if (result == DONE && samples_line(&u->samples, &k) == SAMPLES_NONE) result = cli_no_memory(u->t);
        }
    free(one);
    return result;
}

/* Marks the lines of the prior or, with all, all lines. DONE, or FAILED after a message. */
static int mark_kept(tuner *u, const spmv_tuning *prior, int all)
{
    size_t i;
    u->kept = (unsigned char *)calloc(u->samples.lines + 1, 1);
    if (!u->kept) return cli_no_memory(u->t);
    if (all) memset(u->kept, 1, u->samples.lines);
    for (i = 0; i < prior->count && !all; i++) u->kept[samples_line(&u->samples, &prior->line[i])] = 1; /* they are there */
    return looks_make(&u->seen, &u->samples) ? DONE : cli_no_memory(u->t);
}

/* ---- the table ------------------------------------------------------------------------------------------------------ */

/* Fits the lines that are kept to all samples, saves the table and says how good it is. DONE, or FAILED after a message. */
static int tune_finish(tuner *u, const tune_wish *w, int fresh)
{
    int strength = 0, result = DONE;
    samples_join(&u->samples);
    if (!u->samples.count) result = cli_complain(u->t, "nothing could be measured");
    if (result == DONE && w->candidates) result = fit_cover(u->t, &u->samples, w->candidates, u->kept);
    if (result == DONE) result = fit_lines(u->t, &u->head, &u->samples, &u->seen, u->kept, fresh, &strength);
    if (result == DONE) result = table_save(u->t, &u->head, u->samples.line, u->kept, u->samples.lines, w->out);
    if (result != DONE) return result;
    fprintf(stderr, "%s: %llu samples of %llu structures, ", u->head.device, (unsigned long long)u->head.samples,
            (unsigned long long)u->head.structures);
    if (strength) fprintf(stderr, "fits drawn to what was known as by %d more", strength);
    else fprintf(stderr, "one factor for all costs of a type");
    fprintf(stderr, "; for structures left out: error %.3f (log2)\n", u->head.error);
    return DONE;
}

/* Fits a table to a file of samples. DONE, or FAILED after a message. */
static int tune_fit(tuner *u, const tune_wish *w, const char *samples)
{
    spmv_tuning prior;
    int fresh, result = samples_read(u->t, samples, &u->samples);
    memset(&prior, 0, sizeof prior);
    if (result == DONE) result = file_load_table(u->t, w->from, &prior);
    if (result == DONE && strcmp(prior.device, u->samples.device) != 0)
        result = cli_complain(u->t, "%s has samples of %s, but %s is a table of %s", samples, u->samples.device, w->from, prior.device);
    if (result == DONE && u->samples.graph != (prior.call > 0))
        result = cli_complain(u->t, "%s has samples that were timed %s, but the table's launch was timed %s", samples,
                              u->samples.graph ? "in CUDA graphs" : "by calls", u->samples.graph ? "by calls" : "in CUDA graphs");
    u->head = prior;
    fresh = u->samples.names >= FIT_LEAST;
    if (result == DONE) result = prior_add(u, &prior, fresh);
    if (result == DONE) result = mark_kept(u, &prior, w->candidates > 0);
    if (result == DONE) result = tune_finish(u, w, fresh);
    spmv_tuning_destroy(&prior);
    return result;
}

/* ---- measuring ------------------------------------------------------------------------------------------------------ */

/* Reads the file of samples that a run goes on with, and opens it for appending; a new one gets its head. DONE, or FAILED after a
 * message. */
static int samples_open(tuner *u, const char *path, FILE **file)
{
    sample_list *l = &u->samples;
    const int old = path && access(path, F_OK) == 0;
    if (path && file_ends_in(path, ".gz")) return cli_complain(u->t, "%s: samples can only be added to a file that is not packed", path);
    if (old && samples_read(u->t, path, l) != DONE) return FAILED;
    if (old && (strcmp(l->device, u->head.device) != 0 || l->graph != u->t->graph))
        return cli_complain(u->t, "%s has samples of %s, timed %s", path, l->device, l->graph ? "in CUDA graphs" : "by calls");
    memcpy(l->device, u->head.device, sizeof l->device);
    memcpy(l->driver, u->head.driver, sizeof l->driver);
    l->graph = u->t->graph;
    if (!path) return DONE;
    *file = fopen(path, "ab");
    if (*file && old && ftruncate(fileno(*file), (off_t)l->bytes)) fclose(*file), *file = NULL; /* the last line may be incomplete */
    if (!*file) return cli_complain(u->t, "%s: %s", path, strerror(errno));
    if (!old) samples_write_head(*file, l);
    return DONE;
}

/* Takes over from the prior what of the head is not measured, or not in every run. */
static void head_begin(spmv_tuning *head, const spmv_tuning *prior)
{
    const double slower = prior->read > 0 ? prior->read / head->read : 1;
    time_t now = time(NULL);
    struct tm utc;
    head->part = slower * prior->part;
    head->build = prior->build;
    head->look = prior->look;
    head->look_byte = slower * prior->look_byte;
    if (gmtime_r(&now, &utc)) strftime(head->date, sizeof head->date, "%Y-%m-%d", &utc);
}

/* Measures the candidates. DONE, or FAILED after a message. */
static int tune_samples(tuner *u, const tune_wish *w, product *p, FILE *file, double end)
{
    structures_wish s = {&u->head, &u->samples, u->kept, &u->seen, w->types, file, end - FIT_SHARE * w->budget};
    int result;
    /* many samples that err a little fit better than few exact ones */
    p->patience = w->budget > 0 && w->budget < 500 ? w->budget / 40000 : 0.0125;
    result = structures_measure(p, &s);
    cli_progress_clear(u->t);
    return result;
}

/* Measures a device and writes its table. DONE, or FAILED after a message. */
static int tune_measure(tuner *u, tune_wish *w, const char *device)
{
    spmv_tuning prior;
    product p;
    FILE *file = NULL;
    double end;
    int type, result;
    memset(&prior, 0, sizeof prior);
    memset(&p, 0, sizeof p);
    p.t = u->t;
    p.patience = 0.25;
    if (device_open(u->t, device, &p.device) != DONE) return FAILED;
    u->t->graph = graph_possible(p.device); /* the host takes longer to launch a kernel at one moment than at the next */
#ifndef SPMV_NO_DEVICES
    if (p.device && !p.device->info.f64) w->types &= 1u << SPMV_F32;
#endif
    result = probe_head(&p, &u->head);
    end = w->budget > 0 ? cli_seconds() + w->budget : 1e300;
    if (result == DONE) result = prior_read(u->t, w->from, u->head.device, u->head.device_class, &prior);
    if (result == DONE && prior.device_class != u->head.device_class)
        result = cli_complain(u->t, "%s is a table of the class %s, the device's is %s", w->from,
                              spmv_device_class_name(prior.device_class), spmv_device_class_name(u->head.device_class));
    if (result == DONE) head_begin(&u->head, &prior);
    if (result == DONE && (!(w->budget > 0) || w->budget >= PREPARE_SECONDS)) result = probe_prepare(&p, &u->head);
    if (result == DONE) result = samples_open(u, w->samples, &file);
    for (type = SPMV_F64; type < SPMV_TYPE_COUNT && result == DONE && w->all; type++)
        if (w->types >> type & 1u) result = layouts_add(u, (spmv_type)type);
    if (result == DONE) result = prior_add(u, &prior, 0);
    if (result == DONE && !structures_add(&u->samples, p.device, u->t->graph)) result = cli_no_memory(u->t);
    if (result == DONE) result = mark_kept(u, &prior, w->all);
    if (result == DONE) result = tune_samples(u, w, &p, file, end);
    if (file && (ferror(file) | fclose(file)) && result == DONE) result = cli_complain(u->t, "%s: cannot be written", w->samples);
    if (result == DONE) result = tune_finish(u, w, 0);
    spmv_tuning_destroy(&prior);
    product_free(&p);
    device_close(u->t, p.device);
    return result;
}

/* Finds out before anything is measured whether the table can be written. DONE, or FAILED after a message. */
static int tune_out(tool *t, const char *path)
{
    output o;
    if (!output_is_file(path)) return DONE;
    if (output_open(&o, t, path) != DONE) return FAILED;
    output_close(&o, FAILED); /* removes the temporary file */
    return DONE;
}

int tune_command(tool *t, const arguments *args)
{
    const char *type = args->value[OPT_TYPE], *fit = args->value[OPT_FIT];
    tune_wish w;
    tuner u;
    int result = DONE;
    memset(&w, 0, sizeof w);
    memset(&u, 0, sizeof u);
    u.t = t;
    u.head.hooks = t->hooks;
    w.types = 1u << SPMV_F64 | 1u << SPMV_F32;
    if (type && strcmp(type, "all") != 0) w.types = 1u << option_type(t, args, &result);
    w.budget = option_real(t, args, OPT_BUDGET, 0, 0.001, 1e9, &result);
    w.all = args->value[OPT_ALL] != NULL;
    w.candidates = (size_t)option_count(t, args, OPT_CANDIDATES, w.all ? TABLE_CANDIDATES : 0, 1, TABLE_CANDIDATES, &result);
    w.samples = args->value[OPT_SAMPLES];
    w.from = args->value[OPT_FROM];
    w.out = args->value[OPT_OUT];
    t->cache = args->value[OPT_CACHE];
    if (result != DONE) return result;
    if (fit && (w.samples || w.all || w.budget > 0 || type || args->value[OPT_DEVICE]))
        return cli_misuse(t, "--fit measures nothing, and is combined only with --from, --candidates and --output");
    if (fit && !w.from) return cli_misuse(t, "--fit requires --from");
    if (!fit && w.candidates && !w.all) return cli_misuse(t, "--candidates requires --fit or --all");
    if (tune_out(t, w.out) != DONE) return FAILED;
    cli_progress_begin(t);
    result = fit ? tune_fit(&u, &w, fit) : tune_measure(&u, &w, args->value[OPT_DEVICE]);
    samples_free(&u.samples);
    looks_free(&u.seen);
    free(u.kept);
    return result;
}
