/* SPDX-License-Identifier: MIT */
#include "lend.h"

#include "../cli/files.h"
#include "../library.h"
#include "table.h"
#include "spmv.h"
#include <string.h>

/* By how much rates differ from those that follow from the other table: sums of logarithms to base 2 over the rates that were measured
 * in layouts which both have, for each class of formats and, last, for all. */
typedef struct lending {
    double   sum[SPMV_CLASS_COUNT + 1];
    unsigned count[SPMV_CLASS_COUNT + 1];
} lending;

/* The logarithm to base 2 of the rate that a row of another table promises for point i of the axes of to: as far from the model as
 * there. */
static double promised(const spmv_tuning *to, const spmv_tuning *from, const spmv_tune_row *r, int i)
{
    double rows = (double)to->rows_at[i / to->per_row], per_row = (double)to->per_row_at[i % to->per_row];
    return library_log2(spmv_tuning_rate(from, r, rows, per_row)) + library_model_rate(to, r->type, &r->layout, rows, per_row) -
           library_model_rate(from, r->type, &r->layout, rows, per_row);
}

/* Compares the rates of all rows that both tables have. */
static lending compare(const spmv_tuning *to, const spmv_tuning *from)
{
    lending l;
    size_t k;
    int i;
    memset(&l, 0, sizeof l);
    for (k = 0; k < from->count; k++) {
        const spmv_tune_row *r = &from->row[k], *own = table_find(to, r);
        const int of = (int)spmv_format_class_of(r->layout.format);
        for (i = 0; own && r->curve && i < to->rows * to->per_row; i++) {
            double differs;
            if (!(own->rate[i] > 0)) continue;
            differs = library_log2((double)own->rate[i]) - promised(to, from, r, i);
            l.sum[of] += differs;
            l.sum[SPMV_CLASS_COUNT] += differs;
            l.count[of]++;
            l.count[SPMV_CLASS_COUNT]++;
        }
    }
    return l;
}

/* The mean of these differences for a class of formats, or for all if both tables have none of that class. */
static double mean_of(const lending *l, int of)
{
    if (!l->count[of]) of = SPMV_CLASS_COUNT;
    return l->count[of] ? l->sum[of] / l->count[of] : 0;
}

/* 1: the first rows of the table have rates of the row's layout, with any knobs, in its type and for its kind of matrix. */
static int is_known(const spmv_tuning *t, size_t rows, const spmv_tune_row *r)
{
    size_t k;
    for (k = 0; k < rows; k++)
        if (t->row[k].type == r->type && t->row[k].kind == r->kind && table_same_layout(&t->row[k].layout, &r->layout)) return 1;
    return 0;
}

/* Fills in what was not measured of a row that both tables have: as far from the promise as at the points that were measured. */
static void fill_row(const spmv_tuning *to, const spmv_tuning *from, const spmv_tune_row *r, spmv_tune_row *own)
{
    double sum = 0;
    unsigned count = 0;
    int i;
    const int points = to->rows * to->per_row;
    for (i = 0; i < points; i++) {
        if (!(own->rate[i] > 0)) continue;
        sum += library_log2((double)own->rate[i]) - promised(to, from, r, i);
        count++;
    }
    for (i = 0; i < points && count; i++)
        if (!(own->rate[i] > 0)) own->rate[i] = (float)library_exp2(promised(to, from, r, i) + sum / count);
}

/* Adds the rows that are not known, and fills in the others. DONE or FAILED. */
static int lend_rows(tool *t, spmv_tuning *to, const spmv_tuning *from)
{
    const lending l = compare(to, from);
    const size_t own = to->count;
    size_t k, room = to->count;
    int i;
    for (k = 0; k < from->count; k++) {
        const spmv_tune_row *r = &from->row[k];
        spmv_tune_row *new_row;
        if (!r->curve) continue;
        new_row = table_find(to, r);
        if (new_row) fill_row(to, from, r, new_row);
        if (is_known(to, own, r)) continue;
        new_row = table_add(to, &room);
        if (!new_row) return cli_no_memory(t);
        new_row->type = r->type;
        new_row->kind = r->kind;
        new_row->layout = r->layout;
        memcpy(new_row->variant, r->variant, sizeof new_row->variant);
        for (i = 0; i < to->rows * to->per_row; i++)
            new_row->rate[i] = (float)library_exp2(promised(to, from, r, i) + mean_of(&l, (int)spmv_format_class_of(r->layout.format)));
    }
    return DONE;
}

int table_lend(tool *t, const char *path)
{
    spmv_tuning to, from;
    size_t length, rows, bytes;
    const char *text;
    int result = file_load_table(t, path, &to);
    if (result != DONE) return result;
    text = spmv_tuning_bundled(to.device, to.device_class, &length, NULL);
    if (text && spmv_tuning_read(&from, text, length, "the bundled tuning table", &t->hooks) == SPMV_OK) {
        result = lend_rows(t, &to, &from);
        if (result == DONE) result = table_save(t, &to, path, 0, &rows, &bytes);
        spmv_tuning_free(&from);
    }
    spmv_tuning_free(&to);
    return result;
}
