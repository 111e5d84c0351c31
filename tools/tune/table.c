/* SPDX-License-Identifier: MIT */
#include "table.h"

#include "../cli/cli.h"
#include "../cli/memory.h"
#include "../cli/output.h"
#include "../library.h"
#include "thin.h"
#include "spmv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing --------------------------------------------------------------------------------------------------- */

/* Prints a number to three significant digits if the first is 1 or 2, otherwise to two: the error is under 2%. There is no exponent,
 * because the reader of tables accepts none. */
static void number_print(char *out, size_t size, double v)
{
    double unit = 1, m = v;
    int decimals = 0, digits;
    size_t n;
    for (; m >= 10; m /= 10) decimals--;
    for (; m < 1 && decimals < 12; m *= 10) decimals++;
    digits = m < 2.995 ? 3 : 2;
    decimals += digits - 1;
    for (; decimals < 0; decimals++) unit *= 10;
    snprintf(out, size, "%.*f", decimals, (double)(uint64_t)(v / unit + 0.5) * unit);
    if (unit == 1) snprintf(out, size, "%.*f", decimals, v);
    if (!strchr(out, '.')) return;
    for (n = strlen(out); out[n - 1] == '0';) out[--n] = 0;
    if (out[n - 1] == '.') out[n - 1] = 0;
}

static void axis_print(growing *out, const char *name, const uint64_t *at, int count)
{
    int i;
    growing_add(out, "%s", name);
    for (i = 0; i < count; i++) growing_add(out, " %llu", (unsigned long long)at[i]);
    growing_add(out, "\n");
}

void table_row_name(const spmv_tune_row *r, char *out, size_t size)
{
    spmv_plan *one = (spmv_plan *)calloc(1, sizeof *one);
    char plan[160] = "?";
    if (one) {
        one->count = 1;
        one->part[0] = r->layout;
        spmv_plan_print(one, plan, sizeof plan);
        free(one);
    }
    snprintf(out, size, "%s/%s", plan, r->variant);
}

/* Prints a row: its name and its rates, with "-" for one and "-N" for N sizes that were not measured. */
static void row_print(growing *out, const spmv_tuning *t, const spmv_tune_row *r)
{
    char name[300], number[40];
    int i, gaps = 0, n = t->rows * t->per_row;
    table_row_name(r, name, sizeof name);
    growing_add(out, "%s %s %s", spmv_type_name(r->type), spmv_tune_kind_name(r->kind), name);
    for (i = 0; i <= n; i++) {
        if (i < n && !(r->rate[i] > 0)) { gaps++; continue; }
        if (gaps == 1) growing_add(out, " -");
        if (gaps > 1) growing_add(out, " -%d", gaps);
        gaps = 0;
        if (i == n) break;
        number_print(number, sizeof number, (double)r->rate[i]);
        growing_add(out, " %s", number);
    }
    growing_add(out, "\n");
}

static void head_number(growing *out, const char *name, double v)
{
    char number[40];
    number_print(number, sizeof number, v);
    growing_add(out, "%s %s\n", name, number);
}

/* 1: a row of the table that is kept has the type and layout of the fit, or it has blocks of the same size in another format, so that
 * estimates know the layout by that row. */
static int fit_is_used(const spmv_tuning *t, const unsigned char *keep, const spmv_tune_fit *fit)
{
    size_t i;
    spmv_spec like = fit->layout;
    for (i = 0; i < t->count; i++) {
        const spmv_tune_row *r = &t->row[i];
        if ((keep && !keep[i]) || r->type != fit->type) continue;
        if (table_same_layout(&r->layout, &fit->layout) && !strcmp(r->variant, fit->variant)) return 1;
        like.format = r->layout.format;
        if (*fit->variant || !table_row_has_blocks(r) || spmv_format_class_of(fit->layout.format) != SPMV_CLASS_BLOCK) continue;
        if (table_same_layout(&r->layout, &like)) return 1;
    }
    return 0;
}

/* Prints a factor or range of each term, and the end of the line. */
static void factors_print(growing *out, const double v[SPMV_TERM_COUNT])
{
    int k;
    for (k = 0; k < SPMV_TERM_COUNT; k++) {
        if (v[k] > -0.005 && v[k] < 0.005) growing_add(out, " 0");
        else growing_add(out, " %.2f", v[k]);
    }
    growing_add(out, "\n");
}

/* Prints what the work of each format costs. */
static void works_print(growing *out, const spmv_tuning *t)
{
    char number[40];
    int f, i;
    for (f = 0; f < SPMV_FORMAT_COUNT; f++) {
        for (i = 0; i < SPMV_WORK_COUNT && !(t->work[f][i] > 0);) i++;
        if (i == SPMV_WORK_COUNT) continue;
        growing_add(out, "work %s", spmv_format_name((spmv_format)f));
        for (i = 0; i < SPMV_WORK_COUNT; i++) {
            const double v = t->work[f][i] / library_work_unit((spmv_work)i);
            number_print(number, sizeof number, v);
            growing_add(out, " %s", v < 1e-4 ? "0" : number); /* below that it is nothing beside the others */
        }
        growing_add(out, "\n");
    }
}

/* Prints the fits of all rows that are kept. */
static void fits_print(growing *out, const spmv_tuning *t, const unsigned char *keep)
{
    char name[300];
    spmv_tune_row r;
    size_t i;
    int k;
    if (!t->fits) return;
    growing_add(out, "left_out %.3f %llu %llu\n", t->left_out, (unsigned long long)t->structures, (unsigned long long)t->samples);
    if (t->alike[SPMV_ALIKE_LAYOUT] > 0) {
        growing_add(out, "alike");
        for (k = 0; k < SPMV_ALIKE_COUNT; k++) growing_add(out, " %.2f", t->alike[k]);
        growing_add(out, "\n");
    }
    if (t->noise > 0) growing_add(out, "noise %.3f\n", t->noise);
    growing_add(out, "terms");
    for (k = 0; k < SPMV_TERM_COUNT; k++) growing_add(out, " %s", spmv_term_name((spmv_term)k));
    growing_add(out, "\nlow");
    factors_print(out, t->low);
    growing_add(out, "high");
    factors_print(out, t->high);
    works_print(out, t);
    for (k = SPMV_F64; k < SPMV_TYPE_COUNT; k++)
        if (t->regret[k] > 0) growing_add(out, "regret %s %.3f %.3f\n", spmv_type_name((spmv_type)k), t->regret[k], t->worst[k]);
    for (i = 0; i < t->fits; i++) {
        if (!fit_is_used(t, keep, &t->fit[i])) continue;
        memset(&r, 0, sizeof r);
        r.layout = t->fit[i].layout;
        memcpy(r.variant, t->fit[i].variant, sizeof r.variant);
        table_row_name(&r, name, sizeof name);
        growing_add(out, "fit %s %s %.2f", spmv_type_name(t->fit[i].type), name, t->fit[i].error);
        factors_print(out, t->fit[i].factor);
    }
}

/* Writes picoseconds, "-" if they are not known. */
static void picoseconds_print(growing *out, double seconds)
{
    char number[40];
    number_print(number, sizeof number, seconds * 1e12);
    growing_add(out, " %s", seconds > 0 ? number : "-");
}

/* Writes what preparing takes, as far as it is known. */
static void prepare_print(growing *out, const spmv_tune_prepare *p)
{
    char number[40];
    int f, way;
    for (f = 0; f < SPMV_FORMAT_COUNT; f++) {
        if (!(p->slot[f][SPMV_WAY_PLAIN] > 0)) continue;
        number_print(number, sizeof number, p->begin[f] * 1e6);
        growing_add(out, "convert %s %s", spmv_format_name((spmv_format)f), number);
        for (way = 0; way < SPMV_WAY_COUNT; way++) picoseconds_print(out, p->slot[f][way]);
        growing_add(out, "\n");
    }
    if (p->part > 0) head_number(out, "part", p->part * 1e12);
    if (p->divide > 0) head_number(out, "divide", p->divide * 1e12);
    if (p->look_byte > 0) {
        number_print(number, sizeof number, p->look * 1e6);
        growing_add(out, "look %s", number);
        picoseconds_print(out, p->look_byte);
        growing_add(out, "\n");
    }
    if (p->build > 0) head_number(out, "build", p->build * 1e6);
}

void table_print(growing *out, const spmv_tuning *t, const unsigned char *keep)
{
    char step[40], long_step[40];
    size_t i;
    growing_add(out, "spmv tuning table 1\ndevice %s\nclass %s\n", t->device,
                spmv_device_class_name(t->device_class));
    if (*t->driver) growing_add(out, "driver %s\n", t->driver);
    growing_add(out, "units %llu\nmemory %llu\n", (unsigned long long)t->units, (unsigned long long)t->memory);
    head_number(out, "copy", t->copy);
    head_number(out, "read", t->read);
    if (t->cache > 0 && t->cache_read > 0) growing_add(out, "cache %.0f %.0f\n", t->cache, t->cache_read);
    if (t->miss > 0) growing_add(out, "far %.0f %.1f\n", t->held, t->miss * 1e12);
    if (t->graph && t->call > 0) head_number(out, "timed graph", t->call * 1e6);
    else if (t->graph) growing_add(out, "timed graph\n");
    head_number(out, "launch", t->launch * 1e6);
    if (t->step > 0) {
        number_print(step, sizeof step, t->step * 1e6);
        number_print(long_step, sizeof long_step, t->long_step * 1e6);
        growing_add(out, "step %s %llu %s\n", step, (unsigned long long)t->short_steps, long_step);
    }
    prepare_print(out, &t->prepare);
    if (*t->date) growing_add(out, "date %s\n", t->date);
    axis_print(out, "rows", t->rows_at, t->rows);
    axis_print(out, "per_row", t->per_row_at, t->per_row);
    for (i = 0; i < t->count; i++)
        if (!keep || keep[i]) row_print(out, t, &t->row[i]);
    fits_print(out, t, keep);
}

/* ---- rows and axes ------------------------------------------------------------------------------------------ */

spmv_tune_row *table_add(spmv_tuning *t, size_t *room)
{
    size_t wanted = *room ? 2 * *room : 64;
    spmv_tune_row *r;
    if (t->count == *room) {
        r = (spmv_tune_row *)spmv_alloc(&t->hooks, wanted, sizeof *r);
        if (!r) return NULL;
        if (t->count) memcpy(r, t->row, t->count * sizeof *r);
        spmv_free(&t->hooks, t->row);
        t->row = r;
        *room = wanted;
    }
    r = &t->row[t->count];
    memset(r, 0, sizeof *r);
    r->rate = (float *)spmv_alloc(&t->hooks, (uint64_t)(t->rows * t->per_row), sizeof *r->rate);
    if (!r->rate) return NULL;
    memset(r->rate, 0, (size_t)(t->rows * t->per_row) * sizeof *r->rate);
    t->count++;
    return r;
}

int table_same_layout(const spmv_spec *a, const spmv_spec *b)
{
    return a->format == b->format && !memcmp(a->key, b->key, sizeof a->key);
}

int table_row_is(const spmv_tune_row *a, const spmv_tune_row *b)
{
    return a->type == b->type && a->kind == b->kind && table_same_layout(&a->layout, &b->layout) && !strcmp(a->variant, b->variant);
}

spmv_tune_row *table_find(const spmv_tuning *t, const spmv_tune_row *like)
{
    size_t i;
    for (i = 0; i < t->count; i++)
        if (table_row_is(&t->row[i], like)) return &t->row[i];
    return NULL;
}

void table_drop(spmv_tuning *t, const unsigned char *drop)
{
    size_t i, n = 0;
    for (i = 0; i < t->count; i++) {
        if (!drop[i]) {
            t->row[n++] = t->row[i];
            continue;
        }
        spmv_free(&t->hooks, t->row[i].rate);
        spmv_free(&t->hooks, t->row[i].curve);
    }
    t->count = n;
}

void table_axis_cut(spmv_tuning *t, int across, int i)
{
    int *count = across ? &t->per_row : &t->rows, r, p, old = t->per_row;
    uint64_t *at = across ? t->per_row_at : t->rows_at;
    size_t k;
    for (k = 0; k < t->count; k++) {
        float *to = t->row[k].rate;
        for (r = 0; r < t->rows; r++)
            for (p = 0; p < old; p++)
                if ((across ? p : r) != i) *to++ = t->row[k].rate[r * old + p];
    }
    memmove(at + i, at + i + 1, (size_t)(*count - i - 1) * sizeof *at);
    --*count;
}

void table_axis_tidy(spmv_tuning *t)
{
    int across, i, j, any;
    size_t k;
    for (across = 0; across < 2; across++)
        for (i = across ? t->per_row : t->rows; i-- > 0;) {
            int others = across ? t->rows : t->per_row;
            for (any = 0, k = 0; k < t->count && !any; k++)
                for (j = 0; j < others && !any; j++)
                    any = t->row[k].rate[across ? j * t->per_row + i : i * t->per_row + j] > 0;
            if (!any && (across ? t->per_row : t->rows) > 1) table_axis_cut(t, across, i);
        }
}

/* ---- competition ----------------------------------------------------------------------------------------------- */

int table_row_has_blocks(const spmv_tune_row *r)
{
    return spmv_format_class_of(r->layout.format) == SPMV_CLASS_BLOCK;
}

int64_t table_row_class(const spmv_tune_row *r)
{
    enum { DEFAULT_BLOCK = 4 << 8 | 4 }; /* 4x4, what key b means when it is not given */
    if (!table_row_has_blocks(r)) return -(int64_t)spmv_format_class_of(r->layout.format);
    return r->layout.key[SPMV_KEY_B] ? r->layout.key[SPMV_KEY_B] : DEFAULT_BLOCK;
}

int table_rows_compete(const spmv_tune_row *a, const spmv_tune_row *b)
{
    return a->type == b->type && a->kind == b->kind && table_row_class(a) == table_row_class(b) &&
           (!a->layout.key[SPMV_KEY_IDX] || b->layout.key[SPMV_KEY_IDX]);
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

int table_save(tool *t, spmv_tuning *table, const char *path, size_t limit, size_t *rows, size_t *bytes)
{
    unsigned char *keep = (unsigned char *)calloc(table->count + 1, 1);
    growing out;
    spmv_tuning again;
    int result;
    memset(&out, 0, sizeof out);
    result = keep ? thin_table(t, table, keep, limit) : cli_no_memory(t);
    if (result == DONE) table_print(&out, table, keep);
    if (out.failed) result = cli_no_memory(t);
    if (result == DONE && spmv_tuning_read(&again, out.at, out.used, "the new table", &t->hooks) != SPMV_OK) result = FAILED;
    if (result == DONE) {
        *rows = again.count;
        *bytes = out.used;
        spmv_tuning_free(&again);
        result = output_save(t, path, out.at, out.used);
    }
    growing_free(&out);
    free(keep);
    return result;
}

/* ---- entries of an axis ------------------------------------------------------------------------------------------------------- */

int table_axis_join(uint64_t *at, int *count, const uint64_t *more, int n)
{
    int i, j;
    for (i = 0; i < n; i++) {
        for (j = 0; j < *count && at[j] < more[i]; j++) continue;
        if (j < *count && at[j] == more[i]) continue;
        if (*count == SPMV_TUNE_AXIS) return 0;
        memmove(at + j + 1, at + j, (size_t)(*count - j) * sizeof *at);
        at[j] = more[i];
        ++*count;
    }
    return 1;
}

int table_axis_index(const uint64_t *at, int count, uint64_t v)
{
    int i;
    for (i = 0; i < count; i++)
        if (at[i] == v) return i;
    return -1;
}
