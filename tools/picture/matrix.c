/* SPDX-License-Identifier: MIT */
#include "matrix.h"

#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/numbers.h"
#include "../cli/options.h"
#include "../matrices/draw.h"
#include "../measure/device.h"
#include "../measure/plans.h"
#include "picture.h"
#include "spmv.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A cell stands for many nonzeros. Its shade shows their number, and its colour the part that owns them. If several parts share a cell, one
 * of them is chosen at random, with the square roots of their numbers as weights, so that small parts stay visible. */

enum { SIDE = 580 }; /* the longer side of the matrix in the picture, whose unit is 1/96 inch, two pixels */

/* The least width and height of a cell, at which a line of single nonzeros is still visible. */
#define CELL_SIDE 1.5

typedef struct raster {
    int       across, down;      /* cells */
    double    cell_x, cell_y;    /* size of a cell, in units */
    int       parts;
    uint32_t *count;             /* nonzeros [cell][part] */
} raster;

/* Sets the number and size of the cells. A narrow matrix is drawn wider than it is, so that it stays visible. */
static void raster_size(raster *r, const spmv_csr *a)
{
    double longer = (double)(a->rows > a->cols ? a->rows : a->cols);
    double wide = SIDE * (double)a->cols / longer, high = SIDE * (double)a->rows / longer;
    if (wide < SIDE / 4) wide = SIDE / 4;
    if (high < SIDE / 4) high = SIDE / 4;
    r->across = (double)a->cols < wide / CELL_SIDE ? (int)a->cols : (int)(wide / CELL_SIDE);
    r->down = (double)a->rows < high / CELL_SIDE ? (int)a->rows : (int)(high / CELL_SIDE);
    r->cell_x = (double)(int)(2 * wide / r->across + 0.5) / 2; /* whole pixels */
    r->cell_y = (double)(int)(2 * high / r->down + 0.5) / 2;
}

/* Counts the nonzeros of each part in each cell. DONE or FAILED. */
static int raster_count(tool *t, raster *r, const spmv_csr *a, const spmv_split *split)
{
    uint64_t row, k, cells;
    raster_size(r, a);
    r->parts = split->count;
    cells = (uint64_t)r->across * (uint64_t)r->down;
    r->count = (uint32_t *)calloc((size_t)cells * (size_t)r->parts, sizeof *r->count);
    if (!r->count) return cli_no_memory(t);
    for (row = 0; row < a->rows; row++) {
        uint64_t first = row * (uint64_t)r->down / a->rows * (uint64_t)r->across;
        for (k = a->ptr[row]; k < a->ptr[row + 1]; k++) {
            uint64_t cell = first + a->col[k] * (uint64_t)r->across / a->cols;
            r->count[cell * (uint64_t)r->parts + (split->owner ? split->owner[k] : 0)]++;
        }
    }
    return DONE;
}

/* The part that a cell is drawn of. */
static int cell_owner(const raster *r, uint64_t cell)
{
    const uint32_t *count = r->count + cell * (uint64_t)r->parts;
    double weight = 0, lot;
    int p;
    for (p = 0; p < r->parts; p++) weight += number_root(count[p]);
    lot = weight * (double)draw_hash(1, cell, 1 << 20) / (1 << 20);
    for (p = 0; p + 1 < r->parts && (lot -= number_root(count[p])) >= 0;) p++;
    while (p && !count[p]) p--;
    return p;
}

static uint64_t cell_nonzeros(const raster *r, uint64_t cell)
{
    uint64_t sum = 0;
    int p;
    for (p = 0; p < r->parts; p++) sum += r->count[cell * (uint64_t)r->parts + (uint64_t)p];
    return sum;
}

/* Writes the size of the matrix and of the raster, and the parts: the format, the text and the nonzeros of each. */
static void write_head(FILE *out, const raster *r, const spmv_csr *a, const spmv_plan *plan, const spmv_split *split)
{
    static spmv_plan one;
    char text[256];
    int i;
    fprintf(out, "{\"rows\": %llu, \"cols\": %llu, \"nnz\": %llu, ", (unsigned long long)a->rows, (unsigned long long)a->cols,
            (unsigned long long)a->nnz);
    fprintf(out, "\"across\": %d, \"down\": %d, \"cell\": [%g, %g], \"parts\": [", r->across, r->down, r->cell_x, r->cell_y);
    for (i = 0; i < split->count; i++) {
        one.count = 1;
        one.part[0] = plan->part[i];
        spmv_plan_print(&one, text, sizeof text);
        fprintf(out, "%s[\"%s\", \"%s\", %llu]", i ? ", " : "", spmv_format_name(plan->part[i].format), text,
                (unsigned long long)split->nnz[i]);
    }
}

/* Writes the nonzeros of each cell, and the part that it is drawn of. */
static void write_cells(FILE *out, const raster *r)
{
    uint64_t cell, cells = (uint64_t)r->across * (uint64_t)r->down;
    fputs("], \"count\": [", out);
    for (cell = 0; cell < cells; cell++) fprintf(out, "%s%llu", cell ? "," : "", (unsigned long long)cell_nonzeros(r, cell));
    fputs("], \"owner\": [", out);
    for (cell = 0; cell < cells; cell++) fprintf(out, "%s%d", cell ? "," : "", cell_owner(r, cell));
    fputs("]}\n", out);
}

/* Splits the matrix by the plan and draws it. DONE, or FAILED after a message. */
static int plot_split(picture *p, const spmv_csr *a, const spmv_plan *plan, const char *file)
{
    static char text[SPMV_PLAN_TEXT];
    const char *words[] = {"matrix", NULL, text, NULL};
    char name[256];
    spmv_split split;
    raster r;
    int result;
    memset(&r, 0, sizeof r);
    if (!a->rows || !a->cols) return cli_complain(p->t, "%s: a matrix without rows or columns cannot be drawn", file);
    if (spmv_split_create(&split, plan, a, &p->t->hooks) != SPMV_OK) return FAILED;
    file_bare_name(file, name, sizeof name);
    words[1] = name;
    spmv_plan_print(plan, text, sizeof text);
    result = raster_count(p->t, &r, a, &split);
    if (result == DONE) result = picture_open(p);
    if (result == DONE) {
        write_head(p->data, &r, a, plan, &split);
        write_cells(p->data, &r);
        result = picture_draw(p, words);
    }
    free(r.count);
    spmv_split_destroy(&split);
    return result;
}

int plot_matrix(picture *p, const arguments *args)
{
    const char *text = args->plans ? args->plan[0] : "csr";
    tool *t = p->t;
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
    if (result == DONE) result = plot_split(p, &a, &choice->plan, args->file[0]);
    free(choice);
    spmv_csr_destroy(&a);
    return result;
}
