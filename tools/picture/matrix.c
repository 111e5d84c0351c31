/* SPDX-License-Identifier: MIT */
#include "matrix.h"

#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/numbers.h"
#include "../cli/options.h"
#include "../matrices/draw.h"
#include "../measure/device.h"
#include "../measure/plans.h"
#include "labels.h"
#include "picture.h"
#include "../library.h"
#include "spmv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A cell stands for many nonzeros. Its shade, one of six, shows their number, and its colour the part that owns them. If several parts
 * share a cell, one of them is chosen at random, with the square roots of their numbers as weights, so that small parts stay visible. */

/* SIDE: the longer side of the matrix; LEFT, TOP: its corner; LEGEND: room to the right; all in units of the picture. */
enum { SIDE = 580, LEFT = 62, TOP = 116, LEGEND = 258, SHADES = 6 };

/* The least width and height of a cell, at which a line of single nonzeros is still visible. */
#define CELL_SIDE 1.5

typedef struct raster {
    int       across, down;      /* cells */
    double    cell_x, cell_y;    /* size of a cell, in units */
    int       parts;
    uint32_t *count;             /* nonzeros [cell][part] */
    uint32_t  most;              /* the most nonzeros in one cell */
    uint32_t *pixel;             /* colours of the cells */
} raster;

static uint32_t shade(int part, int level)
{
    return picture_blend(picture_hues[part % HUES], 0.4 + 0.6 * level / (SHADES - 1));
}

/* Sets the number and size of the cells. A narrow matrix is drawn wider than it is, so that it stays visible. */
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

/* Counts the nonzeros of each part in each cell. DONE or FAILED. */
static int raster_count(tool *t, raster *r, const spmv_csr *a, const spmv_split *split)
{
    uint64_t row, k, cells, i;
    raster_size(r, a);
    r->parts = split->count;
    cells = (uint64_t)r->across * (uint64_t)r->down;
    r->count = (uint32_t *)calloc((size_t)cells * (size_t)r->parts, sizeof *r->count);
    r->pixel = (uint32_t *)malloc((size_t)cells * sizeof *r->pixel);
    if (!r->count || !r->pixel) return cli_no_memory(t);
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

/* The colour of a cell. */
static uint32_t cell_colour(const raster *r, uint64_t cell)
{
    const uint32_t *count = r->count + cell * (uint64_t)r->parts;
    double weight = 0, lot;
    uint64_t sum = 0;
    int p, level;
    for (p = 0; p < r->parts; p++) {
        sum += count[p];
        weight += number_root(count[p]);
    }
    if (!sum) return 0xffffff;
    level = r->most > 1 ? (int)(0.5 + (SHADES - 1) * library_log2((double)sum) / library_log2((double)r->most)) : SHADES - 1;
    lot = weight * (double)draw_hash(1, cell, 1 << 20) / (1 << 20);
    for (p = 0; p + 1 < r->parts && (lot -= number_root(count[p])) >= 0;) p++;
    while (!count[p]) p--;
    return shade(p, level);
}

/* Draws the axes, with the numbers of rows and columns. */
static void raster_axes(picture *p, const raster *r, const spmv_csr *a)
{
    double wide = r->across * r->cell_x, high = r->down * r->cell_y;
    uint64_t v, step;
    char text[32];
    picture_frame(p, LEFT, TOP, wide, high, RULE);
    step = label_step(a->cols, (uint64_t)wide / 80 + 1);
    for (v = 0; v < a->cols; v += step) {
        double x = LEFT + wide * (double)v / (double)a->cols;
        picture_box(p, x, TOP - 6, 1, 5, FAINT);
        picture_text(p, x, TOP - 10, SMALL, INK, AT_MIDDLE, label_shortened(v, text));
    }
    picture_text(p, LEFT + wide, TOP - 24, SMALL, FAINT, AT_RIGHT, "column");
    step = label_step(a->rows, (uint64_t)high / 60 + 1);
    for (v = 0; v < a->rows; v += step) {
        double y = TOP + high * (double)v / (double)a->rows;
        picture_box(p, LEFT - 6, y, 5, 1, FAINT);
        picture_text(p, LEFT - 10, y + 4, SMALL, INK, AT_RIGHT, label_shortened(v, text));
    }
    picture_upwards(p, 14, TOP + high / 2, SMALL, FAINT, "row");
}

/* The number of decimals of a percentage: enough that a few nonzeros are not 0.0%, nor all but a few 100.0%. */
static int share_digits(uint64_t part, uint64_t whole)
{
    uint64_t less = part < whole - part ? part : whole - part;
    return !less ? 0 : less < whole / 1000 ? 4 : 1;
}

/* Draws a part's lines in the legend: its share, its keys if it has any, its nonzeros. Returns the y of the next line. */
static double legend_part(picture *p, const spmv_spec *part, uint64_t nnz, uint64_t whole, uint32_t colour, double x, double y)
{
    static spmv_plan one;
    char text[256];
    double room = p->width - x - 22;
    picture_box(p, x, y - 11, 12, 12, colour);
    snprintf(text, sizeof text, "%s %.*f%%", spmv_format_name(part->format), share_digits(nnz, whole), number_percent(nnz, whole));
    picture_fitted(p, x + 20, y, TEXT, INK, AT_LEFT, room, text);
    one.count = 1;
    one.part[0] = *part;
    spmv_plan_print(&one, text, sizeof text);
    if (strcmp(text, spmv_format_name(part->format)) != 0) picture_fitted(p, x + 20, y += LINE, SMALL, FAINT, AT_LEFT, room, text);
    picture_fitted(p, x + 20, y += LINE, SMALL, FAINT, AT_LEFT, room, label_nonzeros(nnz, text, sizeof text));
    return y + LINE + 8;
}

/* Draws the legend: the parts, the shades, and how large a cell is. */
static void raster_legend(picture *p, const raster *r, const spmv_csr *a, const spmv_plan *plan, const spmv_split *split, double x)
{
    char text[256], number[32];
    double y = TOP + 11;
    int i;
    for (i = 0; i < split->count && y < p->height - 8 * LINE; i++)
        y = legend_part(p, &plan->part[i], split->nnz[i], a->nnz, picture_hues[i % HUES], x, y);
    if (i < split->count) {
        snprintf(text, sizeof text, "and %d more parts", split->count - i);
        picture_text(p, x + 20, y, SMALL, FAINT, AT_LEFT, text);
        y += LINE;
    }
    y += 6;
    picture_text(p, x, y, TEXT, INK, AT_LEFT, "nonzeros in a cell");
    for (i = 0; i < SHADES; i++)
        picture_box(p, x + 26 * i, y + 8, 26, 12, shade(split->count > 1 ? GREY : 0, r->most > 1 ? i : SHADES - 1));
    picture_text(p, x, y + 34, SMALL, INK, AT_LEFT, r->most ? "1" : "0");
    picture_text(p, x + 26 * SHADES, y + 34, SMALL, INK, AT_RIGHT, label_grouped(r->most, number));
    snprintf(text, sizeof text, "cell: %s \xc3\x97 ", label_grouped((a->rows + (uint64_t)r->down - 1) / (uint64_t)r->down, number));
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s",
             label_grouped((a->cols + (uint64_t)r->across - 1) / (uint64_t)r->across, number));
    picture_fitted(p, x, y + 54, SMALL, FAINT, AT_LEFT, p->width - x - 8, text);
}

static void raster_title(picture *p, const spmv_csr *a, const spmv_plan *plan, const char *file)
{
    static char text[SPMV_PLAN_TEXT + 16];
    double room = p->width - 28;
    file_bare_name(file, text, sizeof text);
    picture_fitted(p, 14, 32, TITLE, INK, AT_LEFT, room, text);
    picture_fitted(p, 14, 54, TEXT, FAINT, AT_LEFT, room, label_shape(a, text, sizeof text));
    memcpy(text, "plan ", 6);
    spmv_plan_print(plan, text + 5, sizeof text - 5);
    picture_fitted(p, 14, 54 + LINE, TEXT, FAINT, AT_LEFT, room, text);
}

/* Draws the matrix and writes the picture. DONE, or FAILED after a message. */
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
    picture_cells(&p, LEFT, TOP, r->pixel, r->across, r->down, r->cell_x, r->cell_y);
    raster_axes(&p, r, a);
    raster_title(&p, a, plan, file);
    raster_legend(&p, r, a, plan, split, LEFT + wide + 26);
    return picture_save(t, &p, path);
}

/* Splits the matrix by the plan and draws it. DONE, or FAILED after a message. */
static int plot_split(tool *t, const spmv_csr *a, const spmv_plan *plan, const char *file, const char *path)
{
    spmv_split split;
    raster r;
    int result;
    memset(&r, 0, sizeof r);
    if (!a->rows || !a->cols) return cli_complain(t, "%s: a matrix without rows or columns cannot be drawn", file);
    if (spmv_split_make(&split, plan, a, &t->hooks) != SPMV_OK) return FAILED;
    result = raster_draw(t, &r, a, plan, &split, file, path);
    free(r.count);
    free(r.pixel);
    spmv_split_free(&split);
    return result;
}

int plot_matrix(tool *t, const arguments *args)
{
    const char *text = args->plans ? args->plan[0] : "csr", *path = args->value[OPT_OUT];
    spmv_choice *choice;
    spmv_build how;
    spmv_target place;
    spmv_csr a;
    int result;
    if (args->plans > 1) return cli_misuse(t, "only one --plan can be given");
    result = plan_is_text(t, "plan", text);
    if (result != DONE) return result;
    memset(&how, 0, sizeof how);
    if (file_load_matrix(t, args->file[0], SPMV_F64, &a) != DONE) return FAILED;
    choice = (spmv_choice *)malloc(sizeof *choice);
    result = choice ? DONE : cli_no_memory(t);
    t->about = text;
    place = device_target(NULL);
    cli_progress_name(t, "planning", text);
    if (result == DONE && spmv_choose(choice, text, &a, &how, &place, NULL, NULL, &t->hooks) != SPMV_OK) result = FAILED;
    cli_progress_clear(t);
    t->about = NULL;
    if (result == DONE) result = plot_split(t, &a, &choice->plan, args->file[0], path);
    free(choice);
    spmv_csr_free(&a);
    return result;
}
