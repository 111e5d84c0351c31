/* SPDX-License-Identifier: MIT
 *
 * tools/tune/table.h - tuning tables (spmv_auto.h): written, made small, read, merged, compared. Part of tools/spmv.c.
 */
#ifndef SPMV_TOOLS_TABLE_H
#define SPMV_TOOLS_TABLE_H

#include "../cli/files.h"
#include "../matrices/formula.h"

enum { TABLE_BYTES = 24 * 1024, TABLE_POINTS = 36, JOURNAL_BYTES = 16 * 1024 * 1024 };

/* ---- text that grows ------------------------------------------------------------------------------------------- */

typedef struct growing {
    char  *at;
    size_t used, room;
    int    failed; /* 1: memory ran out */
} growing;

static void text_free(growing *t)
{
    free(t->at);
    memset(t, 0, sizeof *t);
}

LIKE_PRINTF(2, 3) static void text_add(growing *t, const char *format, ...)
{
    char piece[512], *more;
    size_t n, room;
    va_list list;
    va_start(list, format);
    vsnprintf(piece, sizeof piece, format, list);
    va_end(list);
    n = strlen(piece);
    if (t->used + n + 1 > t->room) {
        room = 2 * (t->room + n + 512);
        more = (char *)realloc(t->at, room);
        if (!more) t->failed = 1;
        if (!more) return;
        t->at = more;
        t->room = room;
    }
    memcpy(t->at + t->used, piece, n + 1);
    t->used += n;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

/* Three significant digits where the first is 1 or 2, else two (an error under 2%); no exponent, which the reader does not know. */
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
    text_add(out, "%s", name);
    for (i = 0; i < count; i++) text_add(out, " %llu", (unsigned long long)at[i]);
    text_add(out, "\n");
}

/* "csr:run=1024/WG=256" */
static void row_name(const spmv_tune_row *r, char *out, size_t size)
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

static void row_print(growing *out, const spmv_tuning *t, const spmv_tune_row *r)
{
    char name[300], number[40];
    int i, gaps = 0, n = t->rows * t->per_row;
    row_name(r, name, sizeof name);
    text_add(out, "%s %s %s", spmv_type_name(r->type), spmv_tune_kind_name(r->kind), name);
    for (i = 0; i <= n; i++) {
        if (i < n && !(r->rate[i] > 0)) { gaps++; continue; }
        if (gaps == 1) text_add(out, " -");
        if (gaps > 1) text_add(out, " -%d", gaps);
        gaps = 0;
        if (i == n) break;
        number_print(number, sizeof number, (double)r->rate[i]);
        text_add(out, " %s", number);
    }
    text_add(out, "\n");
}

static void head_number(growing *out, const char *name, double v)
{
    char number[40];
    number_print(number, sizeof number, v);
    text_add(out, "%s %s\n", name, number);
}

/* keep: a byte a row, 0 leaves it out; NULL: all. */
static void table_print(growing *out, const spmv_tuning *t, const unsigned char *keep)
{
    size_t i;
    text_add(out, "spmv tuning table 1\ndevice %s\nclass %s\n", t->device, t->device_class);
    if (*t->driver) text_add(out, "driver %s\n", t->driver);
    text_add(out, "units %llu\nmemory %llu\n", (unsigned long long)t->units, (unsigned long long)t->memory);
    head_number(out, "copy", t->copy);
    head_number(out, "read", t->read);
    if (t->cache > 0 && t->cache_read > 0) text_add(out, "cache %.0f %.0f\n", t->cache, t->cache_read);
    head_number(out, "launch", t->launch * 1e6);
    if (*t->date) text_add(out, "date %s\n", t->date);
    axis_print(out, "rows", t->rows_at, t->rows);
    axis_print(out, "per_row", t->per_row_at, t->per_row);
    for (i = 0; i < t->count; i++)
        if (!keep || keep[i]) row_print(out, t, &t->row[i]);
}

/* ---- rows come and go ------------------------------------------------------------------------------------------ */

/* Room for one row more, with no sample; NULL: no memory. */
static spmv_tune_row *table_add(spmv_tuning *t, size_t *room)
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

static int same_layout(const spmv_spec *a, const spmv_spec *b)
{
    return a->format == b->format && !memcmp(a->key, b->key, sizeof a->key);
}

static int row_is(const spmv_tune_row *a, const spmv_tune_row *b)
{
    return a->type == b->type && a->kind == b->kind && same_layout(&a->layout, &b->layout) && !strcmp(a->variant, b->variant);
}

static spmv_tune_row *table_find(const spmv_tuning *t, const spmv_tune_row *like)
{
    size_t i;
    for (i = 0; i < t->count; i++)
        if (row_is(&t->row[i], like)) return &t->row[i];
    return NULL;
}

/* Takes size i out of rows (or, across, out of per_row). */
static void axis_cut(spmv_tuning *t, int across, int i)
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

/* Sizes at which nothing was measured say nothing. */
static void axis_tidy(spmv_tuning *t)
{
    int across, i, j, any;
    size_t k;
    for (across = 0; across < 2; across++)
        for (i = across ? t->per_row : t->rows; i-- > 0;) {
            int others = across ? t->rows : t->per_row;
            for (any = 0, k = 0; k < t->count && !any; k++)
                for (j = 0; j < others && !any; j++)
                    any = t->row[k].rate[across ? j * t->per_row + i : i * t->per_row + j] > 0;
            if (!any && (across ? t->per_row : t->rows) > 1) axis_cut(t, across, i);
        }
}

/* ---- small enough ---------------------------------------------------------------------------------------------- */

/* What competes: formats of the paper's categories (clSpMV 2, 3.3), and among blocks those of one size, as which size a matrix has
 * is not a choice. */
static int64_t row_class(const spmv_tune_row *r)
{
    switch (r->layout.format) {
    case SPMV_DENSE:
    case SPMV_DIA:
    case SPMV_BDIA: return 1;
    case SPMV_BELL:
    case SPMV_SBELL:
    case SPMV_BCSR: return r->layout.key[SPMV_KEY_B] ? r->layout.key[SPMV_KEY_B] : (4 << 8 | 4);
    default: return 0;
    }
}

/* 1: a takes b's place where it is faster, which short columns do not for long ones: they do not fit every matrix. */
static int rows_compete(const spmv_tune_row *a, const spmv_tune_row *b)
{
    return a->type == b->type && a->kind == b->kind && row_class(a) == row_class(b) &&
           (!a->layout.key[SPMV_KEY_IDX] || b->layout.key[SPMV_KEY_IDX]);
}

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
        if ((!keep || keep[k]) && (itself || k != i) && rows_compete(&t->row[k], &t->row[i]) && claim(t, k, point) > best)
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
        if (own > other) sum += other > 0 ? spmv__log2((double)own / (double)other) : 4;
    }
    return row_class(&t->row[i]) < 2 ? 3 * sum : sum; /* few matrices have dense blocks, and of one size only */
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
        if (by_class ? row_class(b) != row_class(a) : b->layout.format != a->layout.format) continue;
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
    text_free(&out);
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
    return spmv__log2((double)r->rate[p]) -
           spmv__model_rate(t, r->type, &r->layout, (double)t->rows_at[p / t->per_row], (double)t->per_row_at[p % t->per_row]);
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
            part = spmv__log2((double)at[i] / (double)at[low]) / spmv__log2((double)at[high] / (double)at[low]);
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
    if (found) axis_cut(t, which, found);
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
        if ((keep[k] == ROW_IN || keep[k] == ROW_LEADS) && same_layout(&t->row[k].layout, &t->row[i].layout)) return 1;
    return 0;
}

/* The row with the most samples for the layout and kind of row i, of those the fastest; keeping one that is kept. */
static size_t layout_row(const spmv_tuning *t, const unsigned char *keep, size_t i)
{
    size_t k, best = i;
    for (k = 0; k < t->count; k++) {
        const spmv_tune_row *a = &t->row[k], *b = &t->row[best];
        if (a->type != t->row[i].type || a->kind != t->row[i].kind || !same_layout(&a->layout, &t->row[i].layout)) continue;
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

/* keep[] such that the text has at most limit bytes: fewer sizes, then fewer rows, then sizes again. */
static int table_thin(tool *tool_, spmv_tuning *t, unsigned char *keep, size_t limit)
{
    size_t least;
    axis_tidy(t);
    if (!table_choose(t, keep)) return no_memory(tool_);
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
        else return complain(tool_, "the table does not fit %u bytes", (unsigned)limit);
    }
    return DONE;
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

/* Writes the table in at most TABLE_BYTES, after reading back what is about to be written. */
static int table_save(tool *t, spmv_tuning *table, const char *path, size_t *rows, size_t *bytes)
{
    unsigned char *keep = (unsigned char *)calloc(table->count + 1, 1);
    growing out;
    spmv_tuning again;
    int result;
    memset(&out, 0, sizeof out);
    result = keep ? table_thin(t, table, keep, TABLE_BYTES) : no_memory(t);
    if (result == DONE) table_print(&out, table, keep);
    if (out.failed) result = no_memory(t);
    if (result == DONE && spmv_tuning_read(&again, out.at, out.used, "the new table", &t->hooks) != SPMV_OK) result = FAILED;
    if (result == DONE) {
        *rows = again.count;
        *bytes = out.used;
        spmv_tuning_free(&again);
        result = save_bytes(t, path, out.at, out.used);
    }
    text_free(&out);
    free(keep);
    return result;
}

/* ---- merging --------------------------------------------------------------------------------------------------- */

/* Both axes' sizes; 0 if they are more than a table has. */
static int axis_join(uint64_t *at, int *count, const uint64_t *more, int n)
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

static int axis_index(const uint64_t *at, int count, uint64_t v)
{
    int i;
    for (i = 0; i < count; i++)
        if (at[i] == v) return i;
    return -1;
}

/* Every sample of from into to, which has its sizes; those that are there give way. */
static int table_pour(tool *t, spmv_tuning *to, size_t *room, const spmv_tuning *from)
{
    size_t k;
    int r, p;
    for (k = 0; k < from->count; k++) {
        const spmv_tune_row *a = &from->row[k];
        spmv_tune_row *b = table_find(to, a);
        if (!b) {
            b = table_add(to, room);
            if (!b) return no_memory(t);
            b->type = a->type;
            b->kind = a->kind;
            b->layout = a->layout;
            memcpy(b->variant, a->variant, sizeof b->variant);
        }
        for (r = 0; r < from->rows; r++)
            for (p = 0; p < from->per_row; p++) {
                float v = a->rate[r * from->per_row + p];
                int i = axis_index(to->rows_at, to->rows, from->rows_at[r]);
                int j = axis_index(to->per_row_at, to->per_row, from->per_row_at[p]);
                if (v > 0) b->rate[i * to->per_row + j] = v;
            }
    }
    return DONE;
}

/* The head is the last table's. */
static int tables_merge(tool *t, const arguments *args, spmv_tuning *all, spmv_tuning *in)
{
    int i, result = DONE;
    size_t room = 0;
    for (i = 0; i < args->files && result == DONE; i++) result = load_table(t, args->file[i], &in[i]);
    if (result != DONE) return result;
    *all = in[args->files - 1];
    all->row = NULL;
    all->count = 0;
    all->rows = all->per_row = 0;
    for (i = 0; i < args->files; i++) {
        if (strcmp(in[i].device, all->device) != 0)
            return complain(t, "%s is of another device: %s", args->file[i], in[i].device);
        if (!axis_join(all->rows_at, &all->rows, in[i].rows_at, in[i].rows) ||
            !axis_join(all->per_row_at, &all->per_row, in[i].per_row_at, in[i].per_row))
            return complain(t, "the tables have more than %d sizes together", SPMV_TUNE_AXIS);
    }
    for (i = 0; i < args->files && result == DONE; i++) result = table_pour(t, all, &room, &in[i]);
    return result;
}

static int merge_tables(tool *t, const arguments *args)
{
    spmv_tuning all, *in = (spmv_tuning *)calloc((size_t)args->files + 1, sizeof *in);
    size_t rows, bytes;
    int i, result;
    memset(&all, 0, sizeof all);
    if (!in) return no_memory(t);
    result = tables_merge(t, args, &all, in);
    if (result == DONE) result = table_save(t, &all, args->value[OPT_OUT], &rows, &bytes);
    if (result == DONE)
        fprintf(stderr, "%s: %u rows in %u bytes, of %u\n", all.device, (unsigned)rows, (unsigned)bytes, (unsigned)all.count);
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

/* Every sample that both tables have, by rising ratio b / a; *count of them. */
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
                i = axis_index(b->rows_at, b->rows, a->rows_at[r]);
                j = axis_index(b->per_row_at, b->per_row, a->per_row_at[p]);
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
    row_name(r, name, sizeof name);
    printf("  %7.3f  %9llu rows %5llu a row  %s %s %s\n", d->ratio, (unsigned long long)a->rows_at[d->point / a->per_row],
           (unsigned long long)a->per_row_at[d->point % a->per_row], spmv_type_name(r->type), spmv_tune_kind_name(r->kind), name);
}

static void print_only(const spmv_tuning *a, const spmv_tuning *b, const char *file)
{
    char name[300];
    size_t k;
    int said = 0;
    for (k = 0; k < a->count; k++) {
        if (table_find(b, &a->row[k])) continue;
        row_name(&a->row[k], name, sizeof name);
        if (!said++) printf("\nonly in %s\n", file);
        printf("  %s %s %s\n", spmv_type_name(a->row[k].type), spmv_tune_kind_name(a->row[k].kind), name);
    }
}

static void print_comparison(const arguments *args, const spmv_tuning *a, const spmv_tuning *b, const difference *d, size_t n)
{
    double sum = 0;
    size_t k, shown;
    printf("%s: %s, %s\n%s: %s, %s\n", args->file[0], a->device, a->date, args->file[1], b->device, b->date);
    for (k = 0; k < n; k++) sum += spmv__log2(d[k].ratio);
    printf("%llu samples in both; the second over the first: ", (unsigned long long)n);
    if (!n) puts("-");
    else printf("geometric mean %.3f, from %.3f over median %.3f to %.3f\n", spmv__exp2(sum / (double)n), d[0].ratio,
                d[n / 2].ratio, d[n - 1].ratio);
    shown = n < 5 ? n : 5;
    if (shown) puts("\nlargest differences");
    for (k = 0; k < shown; k++) print_difference(a, &d[k]);
    for (k = n - shown > shown ? n - shown : shown; k < n; k++) print_difference(a, &d[k]);
    print_only(a, b, args->file[0]);
    print_only(b, a, args->file[1]);
}

static int compare_tables(tool *t, const arguments *args)
{
    spmv_tuning a, b;
    difference *d = NULL;
    size_t n = 0;
    int result;
    if (args->files != 2) return misuse(t, "--compare wants two tables");
    memset(&b, 0, sizeof b);
    result = load_table(t, args->file[0], &a);
    if (result == DONE) result = load_table(t, args->file[1], &b);
    if (result == DONE) d = table_differences(&a, &b, &n);
    if (result == DONE && !d) result = no_memory(t);
    if (result == DONE) print_comparison(args, &a, &b, d, n);
    free(d);
    spmv_tuning_free(&a);
    spmv_tuning_free(&b);
    return result;
}

#endif
