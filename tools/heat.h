/* SPDX-License-Identifier: MIT
 *
 * tools/heat.h - heat maps of a tuning table, as clSpMV's figures 10 and 11 have them: for each type, kind of matrix and format the
 * best rate at each size. Part of tools/spmv.c.
 */
#ifndef SPMV_TOOLS_HEAT_H
#define SPMV_TOOLS_HEAT_H

#include "plot.h"

enum { HEATS = 32, HEAT_LEFT = 190, HEAT_TOP = 150, HEAT_GAP = 16, UNMEASURED = 0xe4e4e4 };

#define FORMAT_DIGITS "123456789abcdefghijk"

typedef struct heat {
    const spmv_tuning *table;
    int         formats;
    spmv_format format[SPMV_FORMAT_COUNT]; /* those that the table has */
    double      most[SPMV_TYPE_COUNT];     /* highest rate of a type, 0: it has none */
    int         cell;                      /* pixels */
    picture     p;
} heat;

/* Matplotlib's viridis, from eight of its colours: dark to bright for all eyes, and in grey. */
static uint32_t heat_colour(double share)
{
    static const uint32_t anchor[] = {0x440154, 0x46327e, 0x365c8d, 0x277f8e, 0x1fa187, 0x4ac16d, 0xa0da39, 0xfde725};
    int level = (int)(share * (HEATS - 1) + 0.5), i = level * 7 / (HEATS - 1), shift;
    double part = level * 7.0 / (HEATS - 1) - i;
    uint32_t out = 0;
    if (i >= 7) return anchor[7];
    for (shift = 0; shift < 24; shift += 8) {
        double a = anchor[i] >> shift & 255, b = anchor[i + 1] >> shift & 255;
        out |= (uint32_t)(a + part * (b - a) + 0.5) << shift;
    }
    return out;
}

/* The best rate of a format (SPMV_FORMAT_COUNT: of any, which goes to *which) at a sample; 0: none was measured. */
static double heat_rate(const heat *h, spmv_type type, int kind, spmv_format format, int at, spmv_format *which)
{
    double best = 0;
    size_t i;
    for (i = 0; i < h->table->count; i++) {
        const spmv_tune_row *r = &h->table->row[i];
        if (r->type != type || (int)r->kind != kind || (format != SPMV_FORMAT_COUNT && r->layout.format != format)) continue;
        if ((double)r->rate[at] <= best) continue;
        best = (double)r->rate[at];
        if (which) *which = r->layout.format;
    }
    return best;
}

static void heat_scan(heat *h)
{
    int there[SPMV_FORMAT_COUNT] = {0}, i, n = h->table->rows * h->table->per_row;
    size_t k;
    for (k = 0; k < h->table->count; k++) {
        const spmv_tune_row *r = &h->table->row[k];
        there[r->layout.format] = 1;
        for (i = 0; i < n; i++)
            if ((double)r->rate[i] > h->most[r->type]) h->most[r->type] = (double)r->rate[i];
    }
    for (i = 0; i < SPMV_FORMAT_COUNT; i++)
        if (there[i]) h->format[h->formats++] = (spmv_format)i;
    h->cell = 132 / (h->table->rows > h->table->per_row ? h->table->rows : h->table->per_row);
    h->cell = h->cell < 12 ? 12 : h->cell > 24 ? 24 : h->cell;
}

static int heat_is_bright(uint32_t colour)
{
    return 3 * (colour >> 16 & 255) + 6 * (colour >> 8 & 255) + (colour & 255) > 1300;
}

/* The number of the best format, on its sample. */
static void heat_digit(heat *h, spmv_format which, uint32_t colour, int left, int top)
{
    char digit[2] = {0, 0};
    int k = 0;
    while (h->format[k] != which) k++;
    digit[0] = FORMAT_DIGITS[k];
    draw_text(&h->p, left + (h->cell - 5) / 2, top + (h->cell - 7) / 2, 1, heat_is_bright(colour) ? 0x000000 : 0xffffff, 0, digit);
}

/* One map; column h->formats is the best of all, each sample with the number of its format. */
static void heat_map(heat *h, spmv_type type, int kind, int column, int x, int y)
{
    spmv_format format = column < h->formats ? h->format[column] : SPMV_FORMAT_COUNT, which[SPMV_TUNE_AXIS * SPMV_TUNE_AXIS];
    uint32_t cell[SPMV_TUNE_AXIS * SPMV_TUNE_AXIS];
    int i, j, across = h->table->rows, down = h->table->per_row;
    for (i = 0; i < across; i++)
        for (j = 0; j < down; j++) {
            int at = (down - 1 - j) * across + i;
            double rate = heat_rate(h, type, kind, format, i * down + j, &which[at]);
            cell[at] = rate > 0 ? heat_colour(rate / h->most[type]) : UNMEASURED;
        }
    draw_cells(&h->p, x, y, cell, across, down, h->cell, h->cell);
    for (i = 0; column == h->formats && i < across * down; i++)
        if (cell[i] != UNMEASURED) heat_digit(h, which[i], cell[i], x + i % across * h->cell, y + i / across * h->cell);
    draw_frame(&h->p, x, y, across * h->cell, down * h->cell, FAINT);
}

/* 1024 as "1k": sizes of a table are powers of two as a rule. */
static const char *heat_size(uint64_t v, char out[32])
{
    if (v >= 1 << 20 && v % (1 << 20) == 0) snprintf(out, 32, "%lluM", (unsigned long long)(v >> 20));
    else if (v >= 1 << 10 && v % (1 << 10) == 0) snprintf(out, 32, "%lluk", (unsigned long long)(v >> 10));
    else snprintf(out, 32, "%llu", (unsigned long long)v);
    return out;
}

/* Sizes under a map: the first, the last, and one between where there is room. */
static void heat_rows_axis(heat *h, int x, int y)
{
    int n = h->table->rows, i;
    char text[32];
    for (i = 0; i < n; i++) {
        int middle = x + i * h->cell + h->cell / 2;
        if (i && i + 1 < n && (n < 8 || i != n / 2)) continue;
        draw_box(&h->p, middle, y, 1, 5, FAINT);
        draw_text(&h->p, i ? i + 1 < n ? middle : middle + 8 : middle - 8, y + 9, LETTERS, INK, i ? i + 1 < n ? 1 : 2 : 0,
            heat_size(h->table->rows_at[i], text));
    }
}

static void heat_per_row_axis(heat *h, int x, int y)
{
    int n = h->table->per_row, i, every = (18 + h->cell - 1) / h->cell;
    char text[32];
    for (i = 0; i < n; i += every) {
        int middle = y + (n - i) * h->cell - h->cell / 2;
        draw_box(&h->p, x - 6, middle, 5, 1, FAINT);
        draw_text(&h->p, x - 10, middle - 7, LETTERS, INK, 2, heat_size(h->table->per_row_at[i], text));
    }
}

static void heat_scale(heat *h, spmv_type type, int x, int y)
{
    char text[64];
    int i;
    draw_text(&h->p, x, y, LETTERS, INK, 0, spmv_type_name(type));
    for (i = 0; i < HEATS; i++) draw_box(&h->p, x + 76 + 6 * i, y - 1, 6, 16, heat_colour((double)i / (HEATS - 1)));
    snprintf(text, sizeof text, "0 to %.4g GFLOP/s", h->most[type]);
    draw_text(&h->p, x + 76 + 6 * HEATS + 12, y, LETTERS, INK, 0, text);
}

static void heat_title(heat *h)
{
    const spmv_tuning *t = h->table;
    char text[512];
    int type, x = HEAT_LEFT;
    snprintf(text, sizeof text, "%s (%s)", t->device, t->device_class);
    draw_text(&h->p, 20, 14, 3, INK, 0, text);
    snprintf(text, sizeof text, "copy %.4g GB/s, launch %.3g us, driver %s, %s", t->copy, 1e6 * t->launch, t->driver, t->date);
    draw_line(&h->p, 20, 46, FAINT, text);
    draw_line(&h->p, 20, 70, INK, "across: rows of the matrix; up: nonzeros a row; grey: not measured; best: number of the fastest format");
    for (type = 0; type < SPMV_TYPE_COUNT; type++)
        if (h->most[type] > 0) {
            heat_scale(h, (spmv_type)type, x, 96);
            x += 560;
        }
}

static int heat_rows_of(const heat *h, int type, int kind)
{
    int i;
    for (i = 0; i < h->table->rows * h->table->per_row; i++)
        if (heat_rate(h, (spmv_type)type, kind, SPMV_FORMAT_COUNT, i, NULL) > 0) return 1;
    return 0;
}

static void heat_page(heat *h, int wide, int high)
{
    int type, kind, column, y = HEAT_TOP + LINE;
    char text[64];
    heat_title(h);
    for (column = 0; column <= h->formats; column++) {
        if (column < h->formats) snprintf(text, sizeof text, "%c %s", FORMAT_DIGITS[column], spmv_format_name(h->format[column]));
        else snprintf(text, sizeof text, "best");
        draw_text(&h->p, HEAT_LEFT + column * wide, HEAT_TOP - 10, LETTERS, INK, 0, text);
    }
    for (type = 0; type < SPMV_TYPE_COUNT; type++)
        for (kind = 0; kind < SPMV_TUNE_KIND_COUNT; kind++) {
            if (!heat_rows_of(h, type, kind)) continue;
            draw_text(&h->p, 20, y + 4, LETTERS, INK, 0, spmv_type_name((spmv_type)type));
            draw_text(&h->p, 20, y + 4 + LINE, LETTERS, INK, 0, spmv_tune_kind_name((spmv_tune_kind)kind));
            heat_per_row_axis(h, HEAT_LEFT, y);
            for (column = 0; column <= h->formats; column++) {
                heat_map(h, (spmv_type)type, kind, column, HEAT_LEFT + column * wide, y);
                heat_rows_axis(h, HEAT_LEFT + column * wide, y + h->table->per_row * h->cell);
            }
            y += high;
        }
}

static int heat_plot(tool *t, const spmv_tuning *table, const char *path)
{
    heat *h = (heat *)calloc(1, sizeof *h);
    int type, kind, maps = 0, wide, high, width, result;
    if (!h) return no_memory(t);
    h->table = table;
    heat_scan(h);
    for (type = 0; type < SPMV_TYPE_COUNT; type++)
        for (kind = 0; kind < SPMV_TUNE_KIND_COUNT; kind++) maps += heat_rows_of(h, type, kind);
    wide = table->rows * h->cell + HEAT_GAP;
    if (wide < 108) wide = 108; /* "9 sbell" and a gap */
    high = table->per_row * h->cell + 44;
    if (high < 80) high = 80;
    width = 2 * HEAT_LEFT + (h->formats + 1) * wide < 1400 ? 1400 : HEAT_LEFT + (h->formats + 1) * wide + 20;
    result = maps ? picture_make(t, &h->p, path, width, HEAT_TOP + LINE + maps * high)
                  : complain(t, "the table has no rates");
    if (result == DONE) {
        heat_page(h, wide, high);
        result = picture_save(t, &h->p, path);
    }
    free(h);
    return result;
}

static int plot_tune(tool *t, const arguments *args)
{
    spmv_tuning table;
    int result;
    if (args->plans) return misuse(t, "a tuning table has no --plan");
    if (load_table(t, args->file[1], &table) != DONE) return FAILED;
    t->about = args->file[1];
    result = heat_plot(t, &table, args->value[OPT_OUT]);
    spmv_tuning_free(&table);
    return result;
}

static int plot_command(tool *t, const arguments *args)
{
    int tune = args->files == 2 && !strcmp(args->file[0], "tune"), result = picture_name(t, args->value[OPT_OUT]);
    if (result != DONE) return result;
    if (args->files == 2 && !tune) return misuse(t, "one argument too many: '%s'", args->file[1]);
    return tune ? plot_tune(t, args) : plot_matrix(t, args);
}

#endif
