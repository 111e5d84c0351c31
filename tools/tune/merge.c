/* SPDX-License-Identifier: MIT */
#include "merge.h"

#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/options.h"
#include "structures.h"
#include "table.h"
#include "../library.h"
#include "spmv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- merging --------------------------------------------------------------------------------------------------- */

/* Copies every rate of from into to, which has all its sizes, and overwrites rates that are there. DONE or FAILED. */
static int table_pour(tool *t, spmv_tuning *to, size_t *room, const spmv_tuning *from)
{
    size_t k;
    int r, p;
    for (k = 0; k < from->count; k++) {
        const spmv_tune_row *a = &from->row[k];
        spmv_tune_row *b = table_find(to, a);
        if (!b) {
            b = table_add(to, room);
            if (!b) return cli_no_memory(t);
            b->type = a->type;
            b->kind = a->kind;
            b->layout = a->layout;
            memcpy(b->variant, a->variant, sizeof b->variant);
        }
        for (r = 0; r < from->rows; r++)
            for (p = 0; p < from->per_row; p++) {
                float v = a->rate[r * from->per_row + p];
                int i = table_axis_index(to->rows_at, to->rows, from->rows_at[r]);
                int j = table_axis_index(to->per_row_at, to->per_row, from->per_row_at[p]);
                if (v > 0) b->rate[i * to->per_row + j] = v;
            }
    }
    return DONE;
}

/* Takes into the head of all what the head of one more table shows. Other work on a machine only makes it slower, so the highest speeds and
 * the shortest launch count; of what only some tables know, the later one counts. */
static void head_merge(spmv_tuning *all, const spmv_tuning *more)
{
    if (more->copy > all->copy) all->copy = more->copy;
    if (more->read > all->read) all->read = more->read;
    if (more->launch > 0 && (!(all->launch > 0) || more->launch < all->launch)) all->launch = more->launch;
    if (more->call > 0 && (!(all->call > 0) || more->call < all->call)) all->call = more->call;
    if (more->cache > 0) {
        all->cache = more->cache;
        all->cache_read = more->cache_read;
    }
    if (more->miss > 0) {
        all->held = more->held;
        all->miss = more->miss;
    }
    if (more->units) all->units = more->units;
    if (more->memory) all->memory = more->memory;
    if (*more->driver) memcpy(all->driver, more->driver, sizeof all->driver);
    if (*more->date) memcpy(all->date, more->date, sizeof all->date);
    if (more->step > 0) {
        all->step = more->step;
        all->long_step = more->long_step;
        all->short_steps = more->short_steps;
    }
    if (more->prepare.slot[SPMV_CSR][SPMV_WAY_PLAIN] > 0) all->prepare = more->prepare;
}

/* Reads all tables into in and merges them into *all. DONE, or FAILED after a message. */
static int tables_merge(tool *t, const arguments *args, spmv_tuning *all, spmv_tuning *in)
{
    int i, result = DONE;
    size_t room = 0;
    for (i = 0; i < args->files && result == DONE; i++) result = file_load_table(t, args->file[i], &in[i]);
    if (result != DONE) return result;
    *all = in[args->files - 1];
    all->row = NULL;
    all->fit = NULL;
    all->count = all->fits = 0;
    all->structures = all->samples = 0;
    all->noise = 0;
    memset(all->low, 0, sizeof all->low);
    memset(all->high, 0, sizeof all->high);
    memset(all->work, 0, sizeof all->work);
    memset(all->regret, 0, sizeof all->regret);
    all->rows = all->per_row = 0;
    all->launch = all->call = all->copy = all->read = all->cache = all->cache_read = all->step = 0;
    all->held = all->miss = 0;
    for (i = 0; i < args->files; i++) {
        if (strcmp(in[i].device, all->device) != 0)
            return cli_complain(t, "%s is a table of another device: %s", args->file[i], in[i].device);
        if (in[i].graph != all->graph)
            return cli_complain(t, "%s was timed %s, but the last table %s", args->file[i], samples_timed(in[i].graph),
                                samples_timed(all->graph));
        head_merge(all, &in[i]);
        if (!table_axis_join(all->rows_at, &all->rows, in[i].rows_at, in[i].rows) ||
            !table_axis_join(all->per_row_at, &all->per_row, in[i].per_row_at, in[i].per_row))
            return cli_complain(t, "together the tables have more than %d sizes", SPMV_TUNE_AXIS);
    }
    for (i = 0; i < args->files && result == DONE; i++) result = table_pour(t, all, &room, &in[i]);
    return result;
}

int merge_tables(tool *t, const arguments *args)
{
    spmv_tuning all, *in = (spmv_tuning *)calloc((size_t)args->files + 1, sizeof *in);
    size_t rows, bytes;
    int i, result;
    memset(&all, 0, sizeof all);
    if (!in) return cli_no_memory(t);
    result = tables_merge(t, args, &all, in);
    if (result == DONE) result = table_save(t, &all, args->value[OPT_OUT], 0, &rows, &bytes);
    if (result == DONE)
        fprintf(stderr, "%s: %u of %u rows kept, %u bytes\n", all.device, (unsigned)rows, (unsigned)all.count, (unsigned)bytes);
    spmv_tuning_free(&all);
    for (i = 0; i < args->files; i++) spmv_tuning_free(&in[i]);
    free(in);
    return result;
}

/* ---- comparing ------------------------------------------------------------------------------------------------- */

typedef struct difference {
    double ratio;
    size_t row;
    int    point;
} difference;

static int compare_differences(const void *a, const void *b)
{
    double x = ((const difference *)a)->ratio, y = ((const difference *)b)->ratio;
    return (x > y) - (x < y);
}

/* The *count rates that both tables have, by rising ratio b / a; the caller frees them. NULL: memory ran out. */
static difference *table_differences(const spmv_tuning *a, const spmv_tuning *b, size_t *count)
{
    int r, p, i, j;
    size_t k;
    difference *d = (difference *)calloc(a->count * (size_t)(a->rows * a->per_row) + 1, sizeof *d);
    *count = 0;
    for (k = 0; d && k < a->count; k++) {
        const spmv_tune_row *other = table_find(b, &a->row[k]);
        for (r = 0; other && r < a->rows; r++)
            for (p = 0; p < a->per_row; p++) {
                float v = a->row[k].rate[r * a->per_row + p];
                i = table_axis_index(b->rows_at, b->rows, a->rows_at[r]);
                j = table_axis_index(b->per_row_at, b->per_row, a->per_row_at[p]);
                if (i < 0 || j < 0 || !(v > 0) || !(other->rate[i * b->per_row + j] > 0)) continue;
                d[*count].ratio = (double)other->rate[i * b->per_row + j] / (double)v;
                d[*count].row = k;
                d[(*count)++].point = r * a->per_row + p;
            }
    }
    if (d) qsort(d, *count, sizeof *d, compare_differences);
    return d;
}

static void print_difference(const spmv_tuning *a, const difference *d)
{
    const spmv_tune_row *r = &a->row[d->row];
    char name[300];
    table_row_name(r, name, sizeof name);
    printf("  %7.3f  %9llu rows %5llu a row  %s %s %s\n", d->ratio, (unsigned long long)a->rows_at[d->point / a->per_row],
           (unsigned long long)a->per_row_at[d->point % a->per_row], spmv_type_name(r->type), spmv_tune_kind_name(r->kind), name);
}

/* Prints the rows of a, which was read from file, that b lacks. */
static void print_only(const spmv_tuning *a, const spmv_tuning *b, const char *file)
{
    char name[300];
    size_t k;
    int said = 0;
    for (k = 0; k < a->count; k++) {
        if (table_find(b, &a->row[k])) continue;
        table_row_name(&a->row[k], name, sizeof name);
        if (!said++) printf("\nonly in %s\n", file);
        printf("  %s %s %s\n", spmv_type_name(a->row[k].type), spmv_tune_kind_name(a->row[k].kind), name);
    }
}

/* Prints the summary of n differences, the five largest of either sign, and the rows that only one table has. */
static void print_comparison(const arguments *args, const spmv_tuning *a, const spmv_tuning *b, const difference *d, size_t n)
{
    double sum = 0;
    size_t k, shown;
    printf("%s: %s, %s\n%s: %s, %s\n", args->file[0], a->device, a->date, args->file[1], b->device, b->date);
    if (a->graph != b->graph)
        printf("timed differently, so that short products differ: %s %s, %s %s\n", args->file[0], samples_timed(a->graph), args->file[1],
               samples_timed(b->graph));
    for (k = 0; k < n; k++) sum += library_log2(d[k].ratio);
    printf("%llu rates in both; the second divided by the first: ", (unsigned long long)n);
    if (!n) puts("-");
    else printf("geometric mean %.3f, least %.3f, median %.3f, largest %.3f\n", library_exp2(sum / (double)n), d[0].ratio,
                d[n / 2].ratio, d[n - 1].ratio);
    shown = n < 5 ? n : 5;
    if (shown) puts("\nlargest differences");
    for (k = 0; k < shown; k++) print_difference(a, &d[k]);
    for (k = n - shown > shown ? n - shown : shown; k < n; k++) print_difference(a, &d[k]);
    print_only(a, b, args->file[0]);
    print_only(b, a, args->file[1]);
}

int merge_compare(tool *t, const arguments *args)
{
    spmv_tuning a, b;
    difference *d = NULL;
    size_t n = 0;
    int result;
    if (args->files != 2) return cli_misuse(t, "--compare requires two tables");
    memset(&b, 0, sizeof b);
    result = file_load_table(t, args->file[0], &a);
    if (result == DONE) result = file_load_table(t, args->file[1], &b);
    if (result == DONE) d = table_differences(&a, &b, &n);
    if (result == DONE && !d) result = cli_no_memory(t);
    if (result == DONE) print_comparison(args, &a, &b, d, n);
    free(d);
    spmv_tuning_free(&a);
    spmv_tuning_free(&b);
    return result;
}
