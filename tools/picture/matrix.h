/* SPDX-License-Identifier: MIT
 *
 * tools/picture/matrix.h - what pictures share beside drawing, and the picture of a matrix under a plan. Part of tools/spmv.c.
 */
#ifndef SPMV_TOOLS_PLOT_H
#define SPMV_TOOLS_PLOT_H

#include "../matrices/draw.h"
#include "../cmd/info.h"
#include "picture.h"
#include "../measure/runner.h"

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

/* A file's name without folders and without what its form added. */
static void name_of_file(const char *file, char *out, size_t size)
{
    static const char *const ends[] = {".gz", ".mtx", ".bin", ".json"};
    const char *name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    size_t i;
    snprintf(out, size, "%s", name);
    for (i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_in(out, ends[i]) && strlen(out) > strlen(ends[i])) out[strlen(out) - strlen(ends[i])] = 0;
}

/* "1 nonzero", "3,000 nonzeros" */
static const char *nonzeros_text(uint64_t nnz, char *out, size_t size)
{
    char number[32];
    snprintf(out, size, "%s nonzero%s", grouped(nnz, number), nnz == 1 ? "" : "s");
    return out;
}

/* "1,000 x 2,000, 3,000 nonzeros" */
static const char *shape_text(const spmv_csr *a, char *out, size_t size)
{
    char rows[32], cols[32], nnz[64];
    snprintf(out, size, "%s \xc3\x97 %s, %s", grouped(a->rows, rows), grouped(a->cols, cols), nonzeros_text(a->nnz, nnz, sizeof nnz));
    return out;
}

/* ---- a matrix --------------------------------------------------------------------------------------------------------
 * Cells hold many nonzeros. Their number is shown by six shades, their owner by colour; where several parts meet in one cell
 * one is drawn by lot, by the square roots of their numbers so that a thin part stays visible. */

/* SIDE: the longer side of the matrix; LEFT, TOP: where it begins; LEGEND: room to the right; all in units of the picture. */
enum { SIDE = 580, LEFT = 62, TOP = 116, LEGEND = 258, SHADES = 6 };

/* A cell's width and height at least: a line of single nonzeros is still seen. */
#define CELL_SIDE 1.5

typedef struct raster {
    int       across, down;      /* cells */
    double    cell_x, cell_y;    /* units of one */
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

/* A narrow matrix is drawn wider than it is, so that it is still seen. */
static void raster_size(raster *r, const spmv_csr *a)
{
    double longer = (double)(a->rows > a->cols ? a->rows : a->cols);
    double wide = SIDE * (double)a->cols / longer, high = SIDE * (double)a->rows / longer;
    if (wide < SIDE / 4) wide = SIDE / 4;
    if (high < SIDE / 4) high = SIDE / 4;
    r->across = (double)a->cols < wide / CELL_SIDE ? (int)a->cols : (int)(wide / CELL_SIDE);
    r->down = (double)a->rows < high / CELL_SIDE ? (int)a->rows : (int)(high / CELL_SIDE);
    r->cell_x = (double)(int)(PNG_SCALE * wide / r->across + 0.5) / PNG_SCALE; /* whole pixels */
    r->cell_y = (double)(int)(PNG_SCALE * high / r->down + 0.5) / PNG_SCALE;
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
    double wide = r->across * r->cell_x, high = r->down * r->cell_y;
    uint64_t v, step;
    char text[32];
    draw_frame(p, LEFT, TOP, wide, high, RULE);
    step = axis_step(a->cols, (uint64_t)wide / 80 + 1);
    for (v = 0; v < a->cols; v += step) {
        double x = LEFT + wide * (double)v / (double)a->cols;
        draw_box(p, x, TOP - 6, 1, 5, FAINT);
        draw_text(p, x, TOP - 10, SMALL, INK, AT_MIDDLE, shortened(v, text));
    }
    draw_text(p, LEFT + wide, TOP - 24, SMALL, FAINT, AT_RIGHT, "column");
    step = axis_step(a->rows, (uint64_t)high / 60 + 1);
    for (v = 0; v < a->rows; v += step) {
        double y = TOP + high * (double)v / (double)a->rows;
        draw_box(p, LEFT - 6, y, 5, 1, FAINT);
        draw_text(p, LEFT - 10, y + 4, SMALL, INK, AT_RIGHT, shortened(v, text));
    }
    draw_upwards(p, 14, TOP + high / 2, SMALL, FAINT, "row");
}

/* So that neither a few nonzeros are 0.0% nor all but a few 100.0%. */
static int share_digits(uint64_t part, uint64_t whole)
{
    uint64_t less = part < whole - part ? part : whole - part;
    return !less ? 0 : less < whole / 1000 ? 4 : 1;
}

/* A part's lines in the legend: its share, its keys if it has any, its nonzeros. Returns the next line's place. */
static double legend_part(picture *p, const spmv_spec *part, uint64_t nnz, uint64_t whole, uint32_t colour, double x, double y)
{
    static spmv_plan one;
    char text[256];
    double room = p->width - x - 22;
    draw_box(p, x, y - 11, 12, 12, colour);
    snprintf(text, sizeof text, "%s %.*f%%", spmv_format_name(part->format), share_digits(nnz, whole), share(nnz, whole));
    draw_fitted(p, x + 20, y, TEXT, INK, AT_LEFT, room, text);
    one.count = 1;
    one.part[0] = *part;
    spmv_plan_print(&one, text, sizeof text);
    if (strcmp(text, spmv_format_name(part->format)) != 0) draw_fitted(p, x + 20, y += LINE, SMALL, FAINT, AT_LEFT, room, text);
    draw_fitted(p, x + 20, y += LINE, SMALL, FAINT, AT_LEFT, room, nonzeros_text(nnz, text, sizeof text));
    return y + LINE + 8;
}

static void raster_legend(picture *p, const raster *r, const spmv_csr *a, const spmv_plan *plan, const spmv_split *split, double x)
{
    char text[256], number[32];
    double y = TOP + 11;
    int i;
    for (i = 0; i < split->count && y < p->height - 8 * LINE; i++)
        y = legend_part(p, &plan->part[i], split->nnz[i], a->nnz, hues[i % HUES], x, y);
    if (i < split->count) {
        snprintf(text, sizeof text, "and %d more parts", split->count - i);
        draw_text(p, x + 20, y, SMALL, FAINT, AT_LEFT, text);
        y += LINE;
    }
    y += 6;
    draw_text(p, x, y, TEXT, INK, AT_LEFT, "nonzeros in a cell");
    for (i = 0; i < SHADES; i++) draw_box(p, x + 26 * i, y + 8, 26, 12, shade(split->count > 1 ? GREY : 0, r->most > 1 ? i : SHADES - 1));
    draw_text(p, x, y + 34, SMALL, INK, AT_LEFT, r->most ? "1" : "0");
    draw_text(p, x + 26 * SHADES, y + 34, SMALL, INK, AT_RIGHT, grouped(r->most, number));
    snprintf(text, sizeof text, "cell: %s \xc3\x97 ", grouped((a->rows + (uint64_t)r->down - 1) / (uint64_t)r->down, number));
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s",
             grouped((a->cols + (uint64_t)r->across - 1) / (uint64_t)r->across, number));
    draw_fitted(p, x, y + 54, SMALL, FAINT, AT_LEFT, p->width - x - 8, text);
}

static void raster_title(picture *p, const spmv_csr *a, const spmv_plan *plan, const char *file)
{
    static char text[SPMV_PLAN_TEXT + 16];
    double room = p->width - 28;
    name_of_file(file, text, sizeof text);
    draw_fitted(p, 14, 32, TITLE, INK, AT_LEFT, room, text);
    draw_fitted(p, 14, 54, TEXT, FAINT, AT_LEFT, room, shape_text(a, text, sizeof text));
    memcpy(text, "plan ", 6);
    spmv_plan_print(plan, text + 5, sizeof text - 5);
    draw_fitted(p, 14, 54 + LINE, TEXT, FAINT, AT_LEFT, room, text);
}

static int raster_draw(tool *t, raster *r, const spmv_csr *a, const spmv_plan *plan, const spmv_split *split, const char *file,
    const char *path)
{
    picture p;
    uint64_t cell;
    double wide, high, least = TOP + (3 * LINE + 8) * (split->count < 8 ? split->count : 8) + 8 * LINE;
    if (raster_count(t, r, a, split) != DONE) return FAILED;
    for (cell = 0; cell < (uint64_t)r->across * (uint64_t)r->down; cell++) r->pixel[cell] = cell_colour(r, cell);
    wide = r->across * r->cell_x;
    high = TOP + r->down * r->cell_y + 20;
    picture_make(&p, path, LEFT + wide + LEGEND, high > least ? high : least);
    draw_cells(&p, LEFT, TOP, r->pixel, r->across, r->down, r->cell_x, r->cell_y);
    raster_axes(&p, r, a);
    raster_title(&p, a, plan, file);
    raster_legend(&p, r, a, plan, split, LEFT + wide + 26);
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
