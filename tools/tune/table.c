/* SPDX-License-Identifier: MIT */
#include "tune.h"

#include "../cli/memory.h"
#include "../cli/output.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds a number to three significant digits, without an exponent, which the reader of tables refuses, in at least width characters. */
static void add_number(growing *out, int width, double v)
{
    char text[40];
    double m = v, unit = 1;
    int decimals = 2;
    size_t n;
    for (; m >= 10; m /= 10) decimals--;
    for (; m > 0 && m < 1 && decimals < 12; m *= 10) decimals++;
    for (; decimals < 0; decimals++) unit *= 10;
    if (unit > 1) v = unit * (double)(uint64_t)(v / unit + 0.5);
    snprintf(text, sizeof text, "%.*f", decimals, v);
    n = strlen(text);
    while (decimals && text[n - 1] == '0') text[--n] = 0;
    if (text[n - 1] == '.') text[n - 1] = 0;
    growing_add(out, " %*s", width, text);
}

/* Adds a line of the head: a word and n numbers in some units. */
static void add_numbers(growing *out, const char *word, int n, const double *v)
{
    growing_add(out, "%s", word);
    while (n--) add_number(out, 0, *v++);
    growing_add(out, "\n");
}

/* Adds the line "blocks" of a format, if there is one. */
static void add_blocks(growing *out, const spmv_tuning *t, spmv_type type, int format)
{
    int i, known = 0;
    for (i = 0; i < SPMV_TUNE_BLOCKS; i++) known |= t->blocks[type][format][i] > 0;
    if (!known) return;
    growing_add(out, "blocks %s %s", spmv_type_name(type), spmv_format_name((spmv_format)format));
    for (i = 0; i < SPMV_TUNE_BLOCKS; i++) growing_add(out, " %.2f", (double)t->blocks[type][format][i]);
    growing_add(out, "\n");
}

static void add_head(growing *out, const spmv_tuning *t)
{
    int k;
    growing_add(out, "spmv tuning table 2\n# launch, call, step: us; memory: GB/s; cache: MiB, GB/s; "
                     "prepare: ps a nonzero, us, us, ps a byte\n");
    growing_add(out, "device %s\nclass %s\n", t->device, spmv_device_class_name(t->device_class));
    if (*t->driver) growing_add(out, "driver %s\n", t->driver);
    if (*t->date) growing_add(out, "date %s\n", t->date);
    growing_add(out, "units %llu\n", (unsigned long long)t->units);
    add_numbers(out, "launch", 1, (double[]){t->launch * 1e6});
    if (t->call > 0) add_numbers(out, "call", 1, (double[]){t->call * 1e6});
    add_numbers(out, "memory", 1, &t->read);
    if (t->cache > 0 && t->cache_read > 0) add_numbers(out, "cache", 2, (double[]){t->cache, t->cache_read});
    if (t->step > 0) add_numbers(out, "step", 3, (double[]){t->step * 1e6, (double)t->short_steps, t->long_step * 1e6});
    add_numbers(out, "prepare", 4, (double[]){t->part * 1e12, t->build * 1e6, t->look * 1e6, t->look_byte * 1e12});
    if (t->error > 0)
        growing_add(out, "error %.3f %llu %llu\n", t->error, (unsigned long long)t->structures, (unsigned long long)t->samples);
    for (k = 0; k < SPMV_TYPE_COUNT; k++)
        if (t->regret[k] > 0) growing_add(out, "regret %s %.3f %.2f\n", spmv_type_name((spmv_type)k), t->regret[k], t->worst[k]);
    for (k = 0; k < SPMV_TYPE_COUNT * SPMV_FORMAT_COUNT; k++) add_blocks(out, t, (spmv_type)(k / SPMV_FORMAT_COUNT), k % SPMV_FORMAT_COUNT);
    growing_add(out, "# seconds = launch L + bytes / speed B + (reads R + slots S + rows W + uneven U) ps + chain C, see docs/tuning.md\n"
                     "# type plan                    knobs            L     B     R     S     W     U     C  prepare: us, ps a slot\n");
}

static void add_line(growing *out, const spmv_candidate *k, const char *plan)
{
    int i;
    growing_add(out, "%s %-26s %-12s", spmv_type_name(k->type), plan, *k->variant ? k->variant : "-");
    for (i = 0; i < SPMV_COST_COUNT; i++) add_number(out, 5, k->cost[i] / spmv_cost_unit((spmv_cost)i));
    add_number(out, 4, k->begin * 1e6);
    add_number(out, 5, k->slot * 1e12);
    growing_add(out, "\n");
}

/* Adds the lines of a type that are kept, in the order of their plans, those of the same plan as they are. */
static void add_lines(growing *out, spmv_type type, const spmv_candidate *line, const unsigned char *kept, size_t lines)
{
    char plan[160], last[160] = "", next[160];
    size_t i;
    do {
        for (i = 0, *next = 0; i < lines; i++) {
            if (!kept[i] || line[i].type != type) continue;
            samples_plan(&line[i], plan, sizeof plan);
            if (*last && !strcmp(plan, last)) add_line(out, &line[i], plan);
            if (strcmp(plan, last) > 0 && (!*next || strcmp(plan, next) < 0)) snprintf(next, sizeof next, "%s", plan);
        }
        snprintf(last, sizeof last, "%s", next);
    } while (*last);
}

int table_save(tool *t, const spmv_tuning *head, const spmv_candidate *line, const unsigned char *kept, size_t lines, const char *path)
{
    growing out;
    spmv_tuning again;
    int type, result = DONE;
    memset(&out, 0, sizeof out);
    add_head(&out, head);
    for (type = 0; type < SPMV_TYPE_COUNT; type++) add_lines(&out, (spmv_type)type, line, kept, lines);
    if (out.failed) result = cli_no_memory(t);
    if (result == DONE && spmv_tuning_create(&again, out.at, out.used, "the new table", &t->hooks) != SPMV_OK) result = FAILED;
    else if (result == DONE) spmv_tuning_destroy(&again);
    if (result == DONE) result = output_save(t, path, out.at, out.used);
    growing_free(&out);
    return result;
}
