/* SPDX-License-Identifier: MIT */
#include "thin.h"

#include "../cli/cli.h"
#include "../cli/memory.h"
#include "table.h"
#include "../library.h"
#include "spmv.h"
#include <stdlib.h>
#include <string.h>

enum { TABLE_POINTS = 36 }; /* with at most so many sizes, rows are removed rather than sizes */

/* A row's rate at a point, weighted for the decision which rows to keep. A variant with tuned knobs must be 10% faster than one without:
 * a smaller gain is within the error of estimates, and one row with all sizes is worth more than two with some. */
static float claim(const spmv_tuning *t, size_t i, int point)
{
    return t->row[i].rate[point] * (*t->row[i].variant ? 0.9f : 1.0f);
}

/* The best weighted rate at a point among the rows that compete with row i, with or without itself. keep: only these rows, NULL: all. */
static float rival(const spmv_tuning *t, const unsigned char *keep, size_t i, int point, int itself)
{
    float best = 0;
    size_t k;
    for (k = 0; k < t->count; k++)
        if ((!keep || keep[k]) && (itself || k != i) && table_rows_compete(&t->row[k], &t->row[i]) && claim(t, k, point) > best)
            best = claim(t, k, point);
    return best;
}

/* The number of points at which the row is within 3% of the best. */
static int row_wins(const spmv_tuning *t, size_t i)
{
    int p, n = 0;
    for (p = 0; p < t->rows * t->per_row; p++)
        n += claim(t, i, p) > 0 && claim(t, i, p) >= 0.97f * rival(t, NULL, i, p, 1);
    return n;
}

/* What is lost without the row: the sum over all points of the logarithm to base 2 by which the best rate falls. */
static double row_worth(const spmv_tuning *t, const unsigned char *keep, size_t i)
{
    double sum = 0;
    int p;
    for (p = 0; p < t->rows * t->per_row; p++) {
        float own = claim(t, i, p), other = own > 0 ? rival(t, keep, i, p, 0) : 0;
        if (own > other) sum += other > 0 ? library_log2((double)own / (double)other) : 4;
    }
    return table_row_has_blocks(&t->row[i]) ? sum : 3 * sum; /* few matrices have dense blocks, and then of one size only */
}

/* The sum over all points of the row's rate divided by the best. */
static double row_score(const spmv_tuning *t, size_t i)
{
    double sum = 0;
    int p;
    for (p = 0; p < t->rows * t->per_row; p++)
        if (claim(t, i, p) > 0) sum += (double)claim(t, i, p) / (double)rival(t, NULL, i, p, 1);
    return sum;
}

/* 1: the row has the highest score of its format (by_class: of its class), and wide columns, because narrow ones do not suit every matrix.
 * Estimates fall back on this row; one with few rates cannot have the highest score. */
static int row_leads(const spmv_tuning *t, const double *score, size_t i, int by_class)
{
    const spmv_tune_row *a = &t->row[i], *b;
    size_t k;
    if (a->layout.key[SPMV_KEY_IDX]) return 0;
    for (k = 0; k < t->count; k++) {
        b = &t->row[k];
        if (b->layout.key[SPMV_KEY_IDX] || b->type != a->type || b->kind != a->kind) continue;
        if (by_class ? table_row_class(b) != table_row_class(a) : b->layout.format != a->layout.format) continue;
        if (score[k] > score[i] || (!(score[k] < score[i]) && k < i)) return 0;
    }
    return score[i] > 0;
}

/* Values of keep[]. LEADS: never removed. BACKS: shows how slow a kept layout is on another kind of matrix or in another type. */
enum { ROW_OUT, ROW_IN, ROW_LEADS, ROW_BACKS };

/* Sets keep[] of all rows: those that lead, and those that are the best somewhere. 0 if memory ran out. */
static int table_choose(const spmv_tuning *t, unsigned char *keep)
{
    double *score = (double *)calloc(t->count + 1, sizeof *score);
    size_t i;
    if (!score) return 0;
    for (i = 0; i < t->count; i++) score[i] = row_score(t, i);
    for (i = 0; i < t->count; i++)
        keep[i] = row_leads(t, score, i, 0) || row_leads(t, score, i, 1) ? ROW_LEADS : row_wins(t, i) ? ROW_IN : ROW_OUT;
    free(score);
    return 1;
}

/* Bytes of the table's text; 0 if memory ran out. */
static size_t table_size(const spmv_tuning *t, const unsigned char *keep)
{
    growing out;
    size_t n;
    memset(&out, 0, sizeof out);
    table_print(&out, t, keep);
    n = out.failed ? 0 : out.used;
    growing_free(&out);
    return n;
}

/* The row of least worth that may be removed; t->count if there is none. */
static size_t table_least(const spmv_tuning *t, const unsigned char *keep)
{
    size_t i, least = t->count;
    double worth, lowest = 0;
    for (i = 0; i < t->count; i++) {
        if (keep[i] != ROW_IN) continue;
        worth = row_worth(t, keep, i);
        if (least < t->count && worth >= lowest) continue;
        least = i;
        lowest = worth;
    }
    return least;
}

/* The logarithm of the rate at point p over the model's, between which the library interpolates. */
static double sample_curve(const spmv_tuning *t, const spmv_tune_row *r, int p)
{
    return library_log2((double)r->rate[p]) -
           library_model_rate(t, r->type, &r->layout, (double)t->rows_at[p / t->per_row], (double)t->per_row_at[p % t->per_row]);
}

/* How badly the rates at an inner entry i of an axis are interpolated from their neighbours: the mean error of their logarithms. */
static double axis_error(const spmv_tuning *t, int across, int i)
{
    const uint64_t *at = across ? t->per_row_at : t->rows_at;
    int count = across ? t->per_row : t->rows, others = across ? t->rows : t->per_row, j, low, high, n = 0;
    int step = across ? 1 : t->per_row, along = across ? t->per_row : 1;
    double sum = 0, part, e;
    size_t k;
    for (k = 0; k < t->count; k++)
        for (j = 0; j < others; j++) {
            const spmv_tune_row *r = &t->row[k];
            int first = j * along;
            for (low = i - 1; low >= 0 && !(r->rate[first + low * step] > 0);) low--;
            for (high = i + 1; high < count && !(r->rate[first + high * step] > 0);) high++;
            if (low < 0 || high == count || !(r->rate[first + i * step] > 0)) continue;
            part = library_log2((double)at[i] / (double)at[low]) / library_log2((double)at[high] / (double)at[low]);
            e = sample_curve(t, r, first + i * step) - (1 - part) * sample_curve(t, r, first + low * step) -
                part * sample_curve(t, r, first + high * step);
            sum += e < 0 ? -e : e;
            n++;
        }
    return n ? sum / n : 1e9;
}

/* Removes the inner entry of an axis that can best be interpolated. 0 if there is none. */
static int table_coarsen(spmv_tuning *t)
{
    int across, i, found = 0, which = 0;
    double error, least = 0;
    for (across = 0; across < 2; across++)
        for (i = 1; i + 1 < (across ? t->per_row : t->rows); i++) {
            error = axis_error(t, across, i);
            if (found && error >= least) continue;
            found = i;
            which = across;
            least = error;
        }
    if (found) table_axis_cut(t, which, found);
    return found;
}

static int row_samples(const spmv_tuning *t, const spmv_tune_row *r)
{
    int i, n = 0;
    for (i = 0; i < t->rows * t->per_row; i++) n += r->rate[i] > 0;
    return n;
}

/* Removes rows that were measured at too few sizes, because their candidates were dropped early: those with less than half the rates of
 * the fullest row of their format. */
static void drop_sparse(const spmv_tuning *t, unsigned char *keep)
{
    size_t i, k;
    for (i = 0; i < t->count; i++) {
        const spmv_tune_row *a = &t->row[i], *b;
        int most = 0, n;
        for (k = 0; k < t->count; k++) {
            b = &t->row[k];
            n = b->type == a->type && b->kind == a->kind && b->layout.format == a->layout.format ? row_samples(t, b) : 0;
            if (n > most) most = n;
        }
        if (keep[i] == ROW_IN && 2 * row_samples(t, a) < most) keep[i] = ROW_OUT;
    }
}

/* 1: some row with the layout of row i, for any kind of matrix and any type, is kept for its own sake. */
static int layout_kept(const spmv_tuning *t, const unsigned char *keep, size_t i)
{
    size_t k;
    for (k = 0; k < t->count; k++)
        if ((keep[k] == ROW_IN || keep[k] == ROW_LEADS) && table_same_layout(&t->row[k].layout, &t->row[i].layout)) return 1;
    return 0;
}

/* Of the rows with the type, kind and layout of row i one that is kept already, otherwise the one with the most rates, and of those the
 * fastest. */
static size_t layout_row(const spmv_tuning *t, const unsigned char *keep, size_t i)
{
    size_t k, best = i;
    for (k = 0; k < t->count; k++) {
        const spmv_tune_row *a = &t->row[k], *b = &t->row[best];
        if (a->type != t->row[i].type || a->kind != t->row[i].kind || !table_same_layout(&a->layout, &t->row[i].layout)) continue;
        if (keep[k] != ROW_OUT) return k;
        if (row_samples(t, a) > row_samples(t, b) ||
            (row_samples(t, a) == row_samples(t, b) && row_score(t, k) > row_score(t, best))) best = k;
    }
    return best;
}

/* Keeps one row for every kind and type of each layout that is kept, so that its estimates are right where it is slow, too. */
static void keep_backing(const spmv_tuning *t, unsigned char *keep)
{
    size_t i, k;
    for (i = 0; i < t->count; i++) {
        if (keep[i] != ROW_OUT || !layout_kept(t, keep, i)) continue;
        k = layout_row(t, keep, i);
        if (keep[k] == ROW_OUT) keep[k] = ROW_BACKS;
    }
}

/* Removes rows that back a layout which is no longer kept. */
static void drop_backing(const spmv_tuning *t, unsigned char *keep)
{
    size_t i;
    for (i = 0; i < t->count; i++)
        if (keep[i] == ROW_BACKS && !layout_kept(t, keep, i)) keep[i] = ROW_OUT;
}

/* Removes rows that have no rates left. */
static void drop_empty(const spmv_tuning *t, unsigned char *keep)
{
    size_t i;
    for (i = 0; i < t->count; i++)
        if (!row_samples(t, &t->row[i])) keep[i] = ROW_OUT;
}

int thin_table(tool *tool_, spmv_tuning *t, unsigned char *keep, size_t limit)
{
    size_t least;
    table_axis_tidy(t);
    if (!limit) {
        memset(keep, ROW_IN, t->count);
        drop_empty(t, keep);
        return DONE;
    }
    if (!table_choose(t, keep)) return cli_no_memory(tool_);
    drop_sparse(t, keep);
    keep_backing(t, keep);
    while (t->rows * t->per_row > TABLE_POINTS && table_size(t, keep) > limit && table_coarsen(t)) continue;
    drop_empty(t, keep);
    while (table_size(t, keep) > limit) {
        least = table_least(t, keep);
        if (least < t->count) {
            keep[least] = ROW_OUT;
            drop_backing(t, keep);
        } else if (table_coarsen(t)) drop_empty(t, keep);
        else return cli_complain(tool_, "the table does not fit into %u bytes", (unsigned)limit);
    }
    return DONE;
}
