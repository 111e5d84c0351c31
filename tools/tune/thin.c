/* SPDX-License-Identifier: MIT */
#include "thin.h"

#include "../cli/cli.h"
#include "../cli/memory.h"
#include "table.h"
#include "../library.h"
#include "spmv.h"
#include <stdlib.h>
#include <string.h>

/* Samples a row that are kept as long as rows can go instead. */
enum { TABLE_POINTS = 36 };

/* A row's rate at a point, as far as it counts for being kept. A kernel that was turned to be fast at one size must be 10% faster than
 * one that was not: less is within what estimates miss, and a row with every size tells more than two with some. */
static float claim(const spmv_tuning *t, size_t i, int point)
{
    return t->row[i].rate[point] * (*t->row[i].variant ? 0.9f : 1.0f);
}

/* The best rate at a point among the rows (of those in keep; NULL: all) that compete with row i, itself left out or not. */
static float rival(const spmv_tuning *t, const unsigned char *keep, size_t i, int point, int itself)
{
    float best = 0;
    size_t k;
    for (k = 0; k < t->count; k++)
        if ((!keep || keep[k]) && (itself || k != i) && table_rows_compete(&t->row[k], &t->row[i]) && claim(t, k, point) > best)
            best = claim(t, k, point);
    return best;
}

/* Points at which the row is within 3% of the best. */
static int row_wins(const spmv_tuning *t, size_t i)
{
    int p, n = 0;
    for (p = 0; p < t->rows * t->per_row; p++)
        n += claim(t, i, p) > 0 && claim(t, i, p) >= 0.97f * rival(t, NULL, i, p, 1);
    return n;
}

/* What is lost without the row: doublings of the best rate, over all points. */
static double row_worth(const spmv_tuning *t, const unsigned char *keep, size_t i)
{
    double sum = 0;
    int p;
    for (p = 0; p < t->rows * t->per_row; p++) {
        float own = claim(t, i, p), other = own > 0 ? rival(t, keep, i, p, 0) : 0;
        if (own > other) sum += other > 0 ? library_log2((double)own / (double)other) : 4;
    }
    return !table_row_has_blocks(&t->row[i]) ? 3 * sum : sum; /* few matrices have dense blocks, and of one size only */
}

/* Sum over all points of its rate over the best. */
static double row_score(const spmv_tuning *t, size_t i)
{
    double sum = 0;
    int p;
    for (p = 0; p < t->rows * t->per_row; p++)
        if (claim(t, i, p) > 0) sum += (double)claim(t, i, p) / (double)rival(t, NULL, i, p, 1);
    return sum;
}

/* 1: the best of its format (or, by_class, of blocks of its size) by and large, which those with few samples are not: what an estimate
 * falls back on. Short columns do not fit every matrix, so those with long ones lead. */
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

enum { ROW_OUT, ROW_IN, ROW_LEADS /* stays */, ROW_BACKS /* tells how slow a layout that is kept is elsewhere */ };

/* keep[] for every row: those that lead, and those that are the best somewhere. */
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

/* The row that may go and is worth least; t->count if none may. */
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

/* The sample at point p as curves have it: its logarithm over the model's. */
static double sample_curve(const spmv_tuning *t, const spmv_tune_row *r, int p)
{
    return library_log2((double)r->rate[p]) -
           library_model_rate(t, r->type, &r->layout, (double)t->rows_at[p / t->per_row], (double)t->per_row_at[p % t->per_row]);
}

/* How badly the samples before and after it along an axis tell those at inner size i: the mean error of logarithms. */
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

/* Takes out the inner size that is missed least. */
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

/* Rows that were dropped after a few probes know too little to win anywhere: those with under half the samples of the fullest of their
 * format. */
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

/* 1: the row's layout is kept for its own sake, for some kind of matrix or another type. */
static int layout_kept(const spmv_tuning *t, const unsigned char *keep, size_t i)
{
    size_t k;
    for (k = 0; k < t->count; k++)
        if ((keep[k] == ROW_IN || keep[k] == ROW_LEADS) && table_same_layout(&t->row[k].layout, &t->row[i].layout)) return 1;
    return 0;
}

/* The row with the most samples for the layout and kind of row i, of those the fastest; keeping one that is kept. */
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

/* A layout that wins for one kind of matrix is judged for the others too, where it may be slow, and for all types: a row for each. */
static void keep_backing(const spmv_tuning *t, unsigned char *keep)
{
    size_t i, k;
    for (i = 0; i < t->count; i++) {
        if (keep[i] != ROW_OUT || !layout_kept(t, keep, i)) continue;
        k = layout_row(t, keep, i);
        if (keep[k] == ROW_OUT) keep[k] = ROW_BACKS;
    }
}

/* What backs nothing any more goes. */
static void drop_backing(const spmv_tuning *t, unsigned char *keep)
{
    size_t i;
    for (i = 0; i < t->count; i++)
        if (keep[i] == ROW_BACKS && !layout_kept(t, keep, i)) keep[i] = ROW_OUT;
}

/* Rows whose only samples were at sizes that are gone. */
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
        else return cli_complain(tool_, "the table does not fit %u bytes", (unsigned)limit);
    }
    return DONE;
}
