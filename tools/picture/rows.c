/* SPDX-License-Identifier: MIT */
#include "rows.h"

#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/options.h"
#include "labels.h"
#include "picture.h"
#include "../library.h"
#include "spmv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The position of the plot, in units of the picture; EMPTY: room for the bar of empty rows, left of the axis of lengths. */
enum { ROWS_WIDTH = 900, ROWS_HEIGHT = 470, ROWS_LEFT = 78, ROWS_RIGHT = 24, ROWS_TOP = 92, ROWS_BOTTOM = 62, ROWS_EMPTY = 64 };

/* ROWS_SPLIT: bins per octave, where an octave has so many lengths; ROWS_BINS: those of 32 octaves, and the bin of empty rows. */
enum { ROWS_SPLIT = 4, ROWS_BINS = 32 * ROWS_SPLIT + 1 };

/* The y axis begins below 1, so that the bar of a single row is visible. */
#define ROWS_FLOOR 0.7

typedef struct lengths {
    int      bins;
    uint64_t first[ROWS_BINS + 1]; /* bin i holds the lengths first[i] to first[i + 1] - 1; bin 0 the empty rows */
    uint64_t rows[ROWS_BINS];
    uint64_t most;                 /* the most rows in one bin */
    uint64_t empty, longest, median;
} lengths;

/* Sets the bins: one for each length up to 2 ROWS_SPLIT, then ROWS_SPLIT per octave. */
static void lengths_bins(lengths *h)
{
    uint64_t at = 1, step = 1;
    h->first[0] = 0;
    h->first[1] = 1;
    for (h->bins = 1; h->bins < ROWS_BINS && at <= h->longest; h->first[++h->bins] = at) {
        if (at >= 2 * ROWS_SPLIT * step) step *= 2;
        at += step;
    }
}

/* The bin of a length. */
static int lengths_bin(const lengths *h, uint64_t length)
{
    int low = 0, high = h->bins;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (length < h->first[middle]) high = middle;
        else low = middle;
    }
    return low;
}

static int compare_lengths(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Counts the rows of each bin. DONE or FAILED. */
static int lengths_count(tool *t, lengths *h, const spmv_csr *a)
{
    uint32_t *sorted = (uint32_t *)malloc((size_t)a->rows * sizeof *sorted);
    uint64_t r;
    int i;
    memset(h, 0, sizeof *h);
    if (!sorted) return cli_no_memory(t);
    for (r = 0; r < a->rows; r++) sorted[r] = (uint32_t)(a->ptr[r + 1] - a->ptr[r]);
    qsort(sorted, (size_t)a->rows, sizeof *sorted, compare_lengths);
    h->longest = sorted[a->rows - 1];
    h->median = sorted[a->rows / 2];
    lengths_bins(h);
    for (r = 0; r < a->rows; r++) h->rows[lengths_bin(h, sorted[r])]++;
    h->empty = h->rows[0];
    for (i = 0; i < h->bins; i++)
        if (h->rows[i] > h->most) h->most = h->rows[i];
    free(sorted);
    return DONE;
}

/* The position of a length on its axis, as a share of the axis: length 1 is at 0. */
static double lengths_x(const lengths *h, double length)
{
    return library_log2(length) / library_log2((double)h->first[h->bins] > 2 ? (double)h->first[h->bins] : 2);
}

/* The height of a number of rows, as a share of the y axis. */
static double lengths_y(const lengths *h, double rows)
{
    double top = h->most > 1 ? 1.3 * (double)h->most : 2; /* room above the highest bar */
    return library_log2(rows / ROWS_FLOOR) / library_log2(top / ROWS_FLOOR);
}

/* Draws the axes. */
static void lengths_axes(picture *p, const lengths *h, double left, double wide, double high)
{
    double bottom = ROWS_TOP + high, v, last = 0;
    char text[32];
    int i;
    for (v = 1; v <= (double)h->most; v *= 10) {
        double y = bottom - high * lengths_y(h, v);
        picture_box(p, ROWS_LEFT, y, p->width - ROWS_LEFT - ROWS_RIGHT, 1, RULE);
        picture_text(p, ROWS_LEFT - 8, y + 4, SMALL, INK, AT_RIGHT, label_shortened((uint64_t)v, text));
    }
    for (i = 1; i < h->bins; i++) {
        double x = left + wide * lengths_x(h, (double)h->first[i]), to = left + wide * lengths_x(h, (double)h->first[i + 1]);
        if (h->longest > 8 && (h->first[i] & (h->first[i] - 1))) continue; /* only powers of two, if there are many lengths */
        if (h->first[i + 1] == h->first[i] + 1) x = (x + to) / 2;            /* one length: under the middle of its bar */
        if (x - last < 34) continue;
        last = x;
        picture_box(p, x, bottom, 1, 5, FAINT);
        picture_text(p, x, bottom + 18, SMALL, INK, AT_MIDDLE, label_grouped(h->first[i], text));
    }
    picture_box(p, ROWS_LEFT, bottom, p->width - ROWS_LEFT - ROWS_RIGHT, 1, FAINT);
    picture_text(p, left + wide / 2, bottom + 42, TEXT, INK, AT_MIDDLE, "nonzeros in a row");
    picture_upwards(p, 18, ROWS_TOP + high / 2, TEXT, INK, "rows");
}

/* Draws the bars. */
static void lengths_bars(picture *p, const lengths *h, double left, double wide, double high)
{
    double bottom = ROWS_TOP + high;
    int i;
    if (h->empty) {
        double tall = high * lengths_y(h, (double)h->empty);
        picture_box(p, ROWS_LEFT + 12, bottom - tall, ROWS_EMPTY - 24, tall, picture_hues[1]);
        picture_text(p, ROWS_LEFT + ROWS_EMPTY / 2, bottom + 18, SMALL, INK, AT_MIDDLE, "empty");
    }
    for (i = 1; i < h->bins; i++) {
        double x = left + wide * lengths_x(h, (double)h->first[i]), to = left + wide * lengths_x(h, (double)h->first[i + 1]);
        double tall = h->rows[i] ? high * lengths_y(h, (double)h->rows[i]) : 0;
        if (h->rows[i]) picture_box(p, x + 0.5, bottom - tall, to - x > 2 ? to - x - 1 : to - x, tall, picture_hues[0]);
    }
}

/* Draws a dashed line at the mean, with its value. */
static void lengths_mean(picture *p, const lengths *h, double mean, double left, double wide, double high)
{
    double x = left + wide * lengths_x(h, mean), y;
    char text[64];
    if (mean < 1) return;
    for (y = ROWS_TOP; y < ROWS_TOP + high; y += 8) picture_box(p, x, y, 1, 4, INK);
    snprintf(text, sizeof text, "mean %.4g", mean);
    if (x < p->width - 140) picture_text(p, x + 6, ROWS_TOP + 2, SMALL, INK, AT_LEFT, text);
    else picture_text(p, x - 6, ROWS_TOP + 2, SMALL, INK, AT_RIGHT, text);
}

/* Draws the histogram and writes the picture. DONE, or FAILED after a message. */
static int lengths_draw(tool *t, const lengths *h, const spmv_csr *a, const char *file, const char *path)
{
    picture p;
    char text[256], number[3][32];
    double left = ROWS_LEFT + (h->empty ? ROWS_EMPTY : 0), wide = ROWS_WIDTH - ROWS_RIGHT - left;
    double high = ROWS_HEIGHT - ROWS_TOP - ROWS_BOTTOM;
    picture_make(&p, path, ROWS_WIDTH, ROWS_HEIGHT);
    file_bare_name(file, text, sizeof text);
    picture_fitted(&p, 14, 32, TITLE, INK, AT_LEFT, ROWS_WIDTH - 28, text);
    picture_text(&p, 14, 54, TEXT, FAINT, AT_LEFT, label_shape(a, text, sizeof text));
    snprintf(text, sizeof text, "row lengths: median %s, longest %s; %s empty rows", label_grouped(h->median, number[0]),
             label_grouped(h->longest, number[1]), label_grouped(h->empty, number[2]));
    picture_text(&p, 14, 54 + LINE, TEXT, FAINT, AT_LEFT, text);
    lengths_axes(&p, h, left, wide, high);
    lengths_bars(&p, h, left, wide, high);
    lengths_mean(&p, h, (double)a->nnz / (double)a->rows, left, wide, high);
    return picture_save(t, &p, path);
}

int plot_rows(tool *t, const arguments *args)
{
    const char *file = args->file[1];
    lengths h;
    spmv_csr a;
    int result;
    if (args->plans) return cli_misuse(t, "plot rows takes no --plan");
    if (file_load_matrix(t, file, SPMV_F64, &a) != DONE) return FAILED;
    if (!a.rows || !a.cols) result = cli_complain(t, "%s: a matrix without rows or columns cannot be drawn", file);
    else result = lengths_count(t, &h, &a);
    if (result == DONE) result = lengths_draw(t, &h, &a, file, args->value[OPT_OUT]);
    spmv_csr_free(&a);
    return result;
}
