/* SPDX-License-Identifier: MIT
 *
 * tools/plot.h - pictures of a matrix under a plan, and of a tuning table. Part of tools/spmv.c.
 */
#ifndef SPMV_TOOLS_PLOT_H
#define SPMV_TOOLS_PLOT_H

#include "draw.h"
#include "info.h"
#include "picture.h"
#include "run.h"

enum { INK = 0x222222, FAINT = 0x777777, LETTERS = 2 /* scale of text */, LINE = 22 /* pixels from line to line */ };

/* ---- numbers and axes --------------------------------------------------------------------------------------------- */

/* 1234567 as "1,234,567". */
static const char *grouped(uint64_t v, char out[32])
{
    char plain[32];
    int n = snprintf(plain, sizeof plain, "%llu", (unsigned long long)v), i, k = 0;
    for (i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0) out[k++] = ',';
        out[k++] = plain[i];
    }
    out[k] = 0;
    return out;
}

/* A round number, short: 500, 20k, 1.5M. */
static const char *shortened(uint64_t v, char out[32])
{
    if (v >= 1000000 && v % 1000000 == 0) snprintf(out, 32, "%lluM", (unsigned long long)(v / 1000000));
    else if (v >= 1000000 && v % 100000 == 0)
        snprintf(out, 32, "%llu.%lluM", (unsigned long long)(v / 1000000), (unsigned long long)(v / 100000 % 10));
    else if (v >= 1000 && v % 1000 == 0) snprintf(out, 32, "%lluk", (unsigned long long)(v / 1000));
    else if (v >= 1000 && v % 100 == 0) snprintf(out, 32, "%llu.%lluk", (unsigned long long)(v / 1000), (unsigned long long)(v / 100 % 10));
    else snprintf(out, 32, "%llu", (unsigned long long)v);
    return out;
}

/* 1, 2 or 5 times a power of ten, so that at most so many steps fit. */
static uint64_t axis_step(uint64_t length, uint64_t most)
{
    uint64_t step = 1;
    int i;
    for (i = 0; length / step > most; i++) step = i % 3 == 1 ? step / 2 * 5 : step * 2;
    return step;
}

/* ---- a matrix --------------------------------------------------------------------------------------------------------
 * Cells hold many nonzeros. Their number is shown by six shades, their owner by colour; where several parts meet in one cell
 * one is drawn by lot, by the square roots of their numbers so that a thin part stays visible. */

enum { SIDE = 720, LEFT = 104, TOP = 152, LEGEND = 390, SHADES = 6, HUES = 8 };

/* Okabe and Ito: told apart by colour-blind eyes as well. */
static const uint32_t hues[HUES] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x4d4d4d, 0xb8a800};

typedef struct raster {
    int       across, down;      /* cells */
    int       cell_x, cell_y;    /* pixels of one */
    int       parts;
    uint32_t *count;             /* nonzeros [cell][part] */
    uint32_t  most;              /* in one cell */
    uint32_t *pixel;             /* colours of the cells */
} raster;

static uint32_t blend(uint32_t colour, double share)
{
    uint32_t out = 0;
    int shift;
    for (shift = 0; shift < 24; shift += 8) out |= (uint32_t)(255 - share * (255 - (double)(colour >> shift & 255)) + 0.5) << shift;
    return out;
}

static uint32_t shade(int part, int level)
{
    return blend(hues[part % HUES], 0.4 + 0.6 * level / (SHADES - 1));
}

static void raster_size(raster *r, const spmv_csr *a)
{
    uint64_t longer = a->rows > a->cols ? a->rows : a->cols;
    uint64_t wide = SIDE * a->cols / longer, high = SIDE * a->rows / longer;
    if (wide < SIDE / 4) wide = SIDE / 4; /* so that a thin one is still seen */
    if (high < SIDE / 4) high = SIDE / 4;
    r->across = (int)(a->cols < wide / 2 ? a->cols : wide / 2);
    r->down = (int)(a->rows < high / 2 ? a->rows : high / 2);
    r->cell_x = (int)wide / r->across;
    r->cell_y = (int)high / r->down;
}

static int raster_count(tool *t, raster *r, const spmv_csr *a, const spmv_split *split)
{
    uint64_t row, k, cells, i;
    raster_size(r, a);
    r->parts = split->count;
    cells = (uint64_t)r->across * (uint64_t)r->down;
    r->count = (uint32_t *)calloc((size_t)cells * (size_t)r->parts, sizeof *r->count);
    r->pixel = (uint32_t *)malloc((size_t)cells * sizeof *r->pixel);
    if (!r->count || !r->pixel) return no_memory(t);
    for (row = 0; row < a->rows; row++) {
        uint64_t first = row * (uint64_t)r->down / a->rows * (uint64_t)r->across;
        for (k = a->ptr[row]; k < a->ptr[row + 1]; k++) {
            uint64_t cell = first + a->col[k] * (uint64_t)r->across / a->cols;
            r->count[cell * (uint64_t)r->parts + (split->owner ? split->owner[k] : 0)]++;
        }
    }
    for (i = 0; i < cells; i++) {
        uint32_t sum = 0;
        int p;
        for (p = 0; p < r->parts; p++) sum += r->count[i * (uint64_t)r->parts + (uint64_t)p];
        if (sum > r->most) r->most = sum;
    }
    return DONE;
}

static uint32_t cell_colour(const raster *r, uint64_t cell)
{
    const uint32_t *count = r->count + cell * (uint64_t)r->parts;
    double weight = 0, lot;
    uint64_t sum = 0;
    int p, level;
    for (p = 0; p < r->parts; p++) {
        sum += count[p];
        weight += square_root(count[p]);
    }
    if (!sum) return 0xffffff;
    level = r->most > 1 ? (int)(0.5 + (SHADES - 1) * spmv__log2((double)sum) / spmv__log2((double)r->most)) : SHADES - 1;
    lot = weight * (double)hash_below(1, cell, 1 << 20) / (1 << 20);
    for (p = 0; p + 1 < r->parts && (lot -= square_root(count[p])) >= 0;) p++;
    while (!count[p]) p--;
    return shade(p, level);
}

static void raster_axes(picture *p, const raster *r, const spmv_csr *a)
{
    uint64_t wide = (uint64_t)(r->across * r->cell_x), high = (uint64_t)(r->down * r->cell_y), v, step;
    char text[32];
    draw_frame(p, LEFT, TOP, (int)wide, (int)high, FAINT);
    step = axis_step(a->cols, wide / 110 + 1);
    for (v = 0; v < a->cols; v += step) {
        int x = LEFT + (int)(v * wide / a->cols);
        draw_box(p, x, TOP - 7, 1, 6, FAINT);
        draw_text(p, x, TOP - 26, LETTERS, INK, v ? 1 : 0, shortened(v, text));
    }
    draw_text(p, LEFT + (int)wide / 2, TOP - 48, LETTERS, INK, 1, "column");
    step = axis_step(a->rows, high / 90 + 1);
    for (v = 0; v < a->rows; v += step) {
        int y = TOP + (int)(v * high / a->rows);
        draw_box(p, LEFT - 7, y, 6, 1, FAINT);
        draw_text(p, LEFT - 11, y - (v ? 7 : 0), LETTERS, INK, 2, shortened(v, text));
    }
    draw_text(p, LEFT - 11, TOP - 26, LETTERS, INK, 2, "row");
}

/* One line, cut so that it fits. */
static void draw_line(picture *p, int x, int y, uint32_t colour, const char *text)
{
    char cut[200];
    size_t fit = (size_t)((p->width - x) / (LETTER_WIDTH * LETTERS));
    snprintf(cut, sizeof cut, "%s", text);
    if (fit < sizeof cut && strlen(text) > fit && fit > 3) memcpy(cut + fit - 3, "...", 4);
    draw_text(p, x, y, LETTERS, colour, 0, cut);
}

/* So that neither a few nonzeros are 0.0% nor all but a few 100.0%. */
static int share_digits(uint64_t part, uint64_t whole)
{
    uint64_t less = part < whole - part ? part : whole - part;
    return !less ? 0 : less < whole / 1000 ? 4 : 1;
}

static void raster_legend(picture *p, const raster *r, const spmv_csr *a, const spmv_plan *plan, const spmv_split *split, int x)
{
    static spmv_plan one;
    char text[256], number[32];
    int i, y = TOP;
    for (i = 0; i < split->count && y < p->height - 4 * LINE; i++) {
        draw_box(p, x, y, 16, 16, hues[i % HUES]);
        snprintf(text, sizeof text, "%s %.*f%%", spmv_format_name(plan->part[i].format), share_digits(split->nnz[i], a->nnz),
                 share(split->nnz[i], a->nnz));
        draw_line(p, x + 26, y + 1, INK, text);
        one.count = 1;
        one.part[0] = plan->part[i];
        spmv_plan_print(&one, text, sizeof text);
        y += LINE;
        if (strcmp(text, spmv_format_name(plan->part[i].format)) != 0) {
            draw_line(p, x + 26, y + 1, FAINT, text);
            y += LINE;
        }
        snprintf(text, sizeof text, "%s nonzeros", grouped(split->nnz[i], number));
        draw_line(p, x + 26, y + 1, FAINT, text);
        y += LINE + 12;
    }
    y += 8;
    draw_line(p, x, y, INK, "nonzeros in a cell");
    for (i = 0; i < SHADES; i++) draw_box(p, x + 30 * i, y + 24, 30, 16, shade(split->count > 1 ? 6 : 0, r->most > 1 ? i : SHADES - 1));
    draw_line(p, x, y + 46, INK, r->most ? "1" : "0");
    draw_text(p, x + 30 * SHADES, y + 46, LETTERS, INK, 2, grouped(r->most, number));
    snprintf(text, sizeof text, "cell: %s x", grouped((a->rows + (uint64_t)r->down - 1) / (uint64_t)r->down, number));
    snprintf(text + strlen(text), sizeof text - strlen(text), " %s",
             grouped((a->cols + (uint64_t)r->across - 1) / (uint64_t)r->across, number));
    draw_line(p, x, y + 72, FAINT, text);
}

static void raster_title(picture *p, const spmv_csr *a, const spmv_plan *plan, const char *file)
{
    static char text[SPMV_PLAN_TEXT + 16];
    char number[32];
    const char *name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    size_t used;
    draw_text(p, LEFT, 14, 3, INK, 0, name);
    used = (size_t)snprintf(text, sizeof text, "%s x ", grouped(a->rows, number));
    used += (size_t)snprintf(text + used, sizeof text - used, "%s, ", grouped(a->cols, number));
    snprintf(text + used, sizeof text - used, "%s nonzeros", grouped(a->nnz, number));
    draw_line(p, LEFT, 46, INK, text);
    memcpy(text, "plan ", 6);
    spmv_plan_print(plan, text + 5, sizeof text - 5);
    draw_line(p, LEFT, 70, INK, text);
}

static int raster_draw(tool *t, raster *r, const spmv_csr *a, const spmv_plan *plan, const spmv_split *split, const char *file,
    const char *path)
{
    picture p;
    uint64_t cell;
    int wide, high, least = TOP + (3 * LINE + 12) * (split->count < 8 ? split->count : 8) + 120, result;
    if (raster_count(t, r, a, split) != DONE) return FAILED;
    for (cell = 0; cell < (uint64_t)r->across * (uint64_t)r->down; cell++) r->pixel[cell] = cell_colour(r, cell);
    wide = r->across * r->cell_x;
    high = TOP + r->down * r->cell_y + 24;
    result = picture_make(t, &p, path, LEFT + wide + LEGEND, high > least ? high : least);
    if (result != DONE) return result;
    draw_cells(&p, LEFT, TOP, r->pixel, r->across, r->down, r->cell_x, r->cell_y);
    raster_axes(&p, r, a);
    raster_title(&p, a, plan, file);
    raster_legend(&p, r, a, plan, split, LEFT + wide + 32);
    return picture_save(t, &p, path);
}

static int plot_split(tool *t, const spmv_csr *a, const spmv_plan *plan, const char *file, const char *path)
{
    spmv_split split;
    raster r;
    int result;
    memset(&r, 0, sizeof r);
    if (!a->rows || !a->cols) return complain(t, "%s: there is nothing to draw in a matrix without rows or columns", file);
    if (spmv_split_make(&split, plan, a, &t->hooks) != SPMV_OK) return FAILED;
    result = raster_draw(t, &r, a, plan, &split, file, path);
    free(r.count);
    free(r.pixel);
    spmv_split_free(&split);
    return result;
}

static int plot_matrix(tool *t, const arguments *args)
{
    const char *text = args->plans ? args->plan[0] : "csr", *path = args->value[OPT_OUT];
    spmv_choice *choice;
    spmv_build how;
    spmv_place place;
    spmv_csr a;
    int result;
    if (args->plans > 1) return misuse(t, "one --plan is enough");
    result = plan_is_text(t, "plan", text);
    if (result != DONE) return result;
    memset(&how, 0, sizeof how);
    if (load_matrix(t, args->file[0], SPMV_F64, &a) != DONE) return FAILED;
    choice = (spmv_choice *)malloc(sizeof *choice);
    result = choice ? DONE : no_memory(t);
    t->about = text;
    place = device_place(NULL);
    progress_name(t, "planning", text);
    if (result == DONE && spmv_choose(choice, text, &a, &how, &place, NULL, NULL, &t->hooks) != SPMV_OK) result = FAILED;
    progress_clear(t);
    t->about = NULL;
    if (result == DONE) result = plot_split(t, &a, &choice->plan, args->file[0], path);
    free(choice);
    spmv_csr_free(&a);
    return result;
}

#endif
