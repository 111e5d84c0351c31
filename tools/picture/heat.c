/* SPDX-License-Identifier: MIT */
#include "heat.h"

#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/options.h"
#include "picture.h"
#include "spmv.h"
#include <stdio.h>
#include <string.h>

/* In units of the picture. HEAT_LEFT: room for the axis; BEST_HIGH: height of a cell of the large map; HEAD: room for the heading above
 * maps; FOOT: room for the axis below; SMALL_MAP: approximate side of a small map. ACROSS is the number of small maps in a row. */
enum { HEAT_LEFT = 66, HEAT_TOP = 152, HEAT_GAP = 14, BEST_HIGH = 30, HEAD = 20, FOOT = 44, SMALL_MAP = 80, ACROSS = 6 };

/* Font size in a cell of the large map. */
#define CELL_TEXT 9.5

enum { UNMEASURED = 0xe6e6e6, SHARES = 7 };

/* The colours of rates as shares of the best rate at that size: steps of Matplotlib's viridis, whose brightness rises in grey and for
 * colour-blind readers, too. Only formats that are measured on other matrices reach the first class. */
static const struct share_class {
    double      least;
    uint32_t    colour;
    const char *name;
} share_classes[SHARES] = {
    {1.10, 0xf46d43, "110%"}, {0.97, 0xfde725, "97%"}, {0.80, 0x7ad151, "80%"},  {0.50, 0x22a884, "50%"},
    {0.25, 0x2a788e, "25%"},  {0.10, 0x414487, "10%"}, {0.00, 0x440154, "less"},
};

typedef struct heat {
    const spmv_tuning *table;
    int         formats;
    spmv_format format[SPMV_FORMAT_COUNT]; /* those in the table */
    double      best_wide, cell;           /* units: width of a cell of the large map; side of a cell of the small maps */
    picture     p;
} heat;

/* 1: spmv tune measures the format on matrices of its own, of full blocks or completely full, so that its rates cannot be compared with
 * those of other formats. */
static int is_measured_apart(spmv_format f)
{
    spmv_format_class category = spmv_format_class_of(f);
    return category == SPMV_CLASS_BLOCK || category == SPMV_CLASS_DENSE;
}

/* The fastest row at a size (an index into rates) of one format; SPMV_FORMAT_COUNT: of all formats that can be compared. NULL: none was
 * measured. */
static const spmv_tune_row *heat_best(const heat *h, spmv_type type, int kind, spmv_format format, int at)
{
    const spmv_tune_row *best = NULL;
    size_t i;
    for (i = 0; i < h->table->count; i++) {
        const spmv_tune_row *r = &h->table->row[i];
        spmv_format own = r->layout.format;
        if (r->type != type || (int)r->kind != kind) continue;
        if (format == SPMV_FORMAT_COUNT ? is_measured_apart(own) : own != format) continue;
        if (r->rate[at] > (best ? best->rate[at] : 0)) best = r;
    }
    return best;
}

/* Whether a format has any rate for a type and kind. */
static int heat_has(const heat *h, spmv_type type, int kind, spmv_format format)
{
    int i;
    for (i = 0; i < h->table->rows * h->table->per_row; i++)
        if (heat_best(h, type, kind, format, i)) return 1;
    return 0;
}

/* Sets the formats and the sizes of cells. */
static void heat_scan(heat *h)
{
    int there[SPMV_FORMAT_COUNT] = {0}, i, rows = h->table->rows, per_row = h->table->per_row;
    size_t k;
    for (k = 0; k < h->table->count; k++) there[h->table->row[k].layout.format] = 1;
    for (i = 0; i < SPMV_FORMAT_COUNT; i++)
        if (there[i]) h->format[h->formats++] = (spmv_format)i;
    h->best_wide = rows < 7 ? 56 : rows < 10 ? 44 : 36;
    h->cell = SMALL_MAP / (rows > per_row ? rows : per_row);
}

/* 1024 as "1k": the sizes of a table are usually powers of two. */
static const char *heat_size(uint64_t v, char out[32])
{
    if (v >= 1 << 20 && v % (1 << 20) == 0) snprintf(out, 32, "%lluM", (unsigned long long)(v >> 20));
    else if (v >= 1 << 10 && v % (1 << 10) == 0) snprintf(out, 32, "%lluk", (unsigned long long)(v >> 10));
    else snprintf(out, 32, "%llu", (unsigned long long)v);
    return out;
}

/* ---- the large map --------------------------------------------------------------------------------------------------- */

/* The layout, or only its format if there is no room for it. */
static void heat_name(heat *h, const spmv_spec *layout, char *text, size_t size)
{
    static spmv_plan one;
    one.count = 1;
    one.part[0] = *layout;
    spmv_plan_print(&one, text, size);
    if (picture_text_width(&h->p, CELL_TEXT, text) > h->best_wide - 6) snprintf(text, size, "%s", spmv_format_name(layout->format));
}

/* Draws a cell of the large map; r NULL: nothing was measured. */
static void heat_best_cell(heat *h, const spmv_tune_row *r, double rate, double x, double y)
{
    char text[SPMV_TUNE_VARIANT + 256];
    double middle = x + h->best_wide / 2;
    picture_box(&h->p, x, y, h->best_wide - 1, BEST_HIGH - 1, r ? picture_blend(picture_hues[r->layout.format % HUES], 0.3) : UNMEASURED);
    if (!r) return;
    heat_name(h, &r->layout, text, sizeof text);
    picture_text(&h->p, middle, y + 12, CELL_TEXT, INK, AT_MIDDLE, text);
    snprintf(text, sizeof text, rate < 1000 ? "%.3g" : "%.0f", rate);
    picture_text(&h->p, middle, y + 24, CELL_TEXT, INK, AT_MIDDLE, text);
}

/* Draws the axes of a large map. */
static void heat_axes(heat *h, double x, double y)
{
    int i;
    double high = h->table->per_row * BEST_HIGH, wide = h->table->rows * h->best_wide;
    char text[32];
    for (i = 0; i < h->table->per_row; i++)
        picture_text(&h->p, x - 8, y + high - (i + 0.5) * BEST_HIGH + 4, SMALL, INK, AT_RIGHT, heat_size(h->table->per_row_at[i], text));
    for (i = 0; i < h->table->rows; i++)
        picture_text(&h->p, x + (i + 0.5) * h->best_wide, y + high + 14, SMALL, INK, AT_MIDDLE, heat_size(h->table->rows_at[i], text));
    picture_upwards(&h->p, x - 48, y + high / 2, SMALL, FAINT, "nonzeros in a row");
    picture_text(&h->p, x + wide / 2, y + high + 30, SMALL, FAINT, AT_MIDDLE, "rows of the matrix");
}

/* Draws a large map. */
static void heat_best_map(heat *h, spmv_type type, int kind, double x, double y)
{
    int i, j, down = h->table->per_row;
    for (i = 0; i < h->table->rows; i++)
        for (j = 0; j < down; j++) {
            int at = i * down + j;
            const spmv_tune_row *r = heat_best(h, type, kind, SPMV_FORMAT_COUNT, at);
            heat_best_cell(h, r, r ? (double)r->rate[at] : 0, x + i * h->best_wide, y + (down - 1 - j) * BEST_HIGH);
        }
    heat_axes(h, x, y);
}

/* ---- the small maps -------------------------------------------------------------------------------------------------- */

static uint32_t share_colour(double part)
{
    int i = 0;
    while (i + 1 < SHARES && part < share_classes[i].least) i++;
    return share_classes[i].colour;
}

/* Draws the small map of a format. */
static void heat_small_map(heat *h, spmv_type type, int kind, spmv_format format, double x, double y)
{
    int i, j, down = h->table->per_row;
    for (i = 0; i < h->table->rows; i++)
        for (j = 0; j < down; j++) {
            int at = i * down + j;
            const spmv_tune_row *own = heat_best(h, type, kind, format, at), *best = heat_best(h, type, kind, SPMV_FORMAT_COUNT, at);
            uint32_t colour = own && best ? share_colour((double)own->rate[at] / (double)best->rate[at]) : UNMEASURED;
            picture_box(&h->p, x + i * h->cell, y + (down - 1 - j) * h->cell, h->cell, h->cell, colour);
        }
    picture_frame(&h->p, x, y, h->table->rows * h->cell, down * h->cell, RULE);
}

static double small_wide(const heat *h) { return (h->table->rows * h->cell < 60 ? 60 : h->table->rows * h->cell) + HEAT_GAP; }

static double small_high(const heat *h) { return HEAD + h->table->per_row * h->cell + 6; }

/* Draws the small maps of all formats that were measured; a star follows the names of those that were measured on other matrices. */
static void heat_small_maps(heat *h, spmv_type type, int kind, double x, double y)
{
    char text[40];
    int i, n = 0;
    for (i = 0; i < h->formats; i++) {
        double left = x + n % ACROSS * small_wide(h), top = y + n / ACROSS * small_high(h);
        if (!heat_has(h, type, kind, h->format[i])) continue;
        snprintf(text, sizeof text, "%s%s", spmv_format_name(h->format[i]), is_measured_apart(h->format[i]) ? " *" : "");
        picture_text(&h->p, left, top + 12, SMALL, INK, AT_LEFT, text);
        heat_small_map(h, type, kind, h->format[i], left, top + HEAD - 2);
        n++;
    }
}

/* ---- the page -------------------------------------------------------------------------------------------------------- */

/* Draws the key of the small maps' colours. */
static void heat_legend(heat *h, double x, double y)
{
    double left = x;
    int i;
    picture_text(&h->p, x, y, SMALL, INK, AT_LEFT, "small maps: rate as a share of the fastest at that size, at least:");
    for (i = 0, y += 8; i <= SHARES; i++) {
        const char *name = i < SHARES ? share_classes[i].name : "not measured";
        picture_box(&h->p, left, y, 12, 12, i < SHARES ? share_classes[i].colour : UNMEASURED);
        picture_text(&h->p, left + 17, y + 10, SMALL, INK, AT_LEFT, name);
        left += 17 + picture_text_width(&h->p, SMALL, name) + 12;
    }
    picture_text(&h->p, x, y + 28, SMALL, FAINT, AT_LEFT, "* measured on matrices of full blocks (dense: full); not in the large maps");
}

/* Draws the title with the head of the table. */
static void heat_title(heat *h)
{
    const spmv_tuning *t = h->table;
    char text[512];
    double x = HEAT_LEFT + t->rows * h->best_wide + 2 * HEAT_GAP;
    picture_fitted(&h->p, 14, 32, TITLE, INK, AT_LEFT, h->p.width - 28, t->device);
    snprintf(text, sizeof text, "tuning table of class %s: copy %.4g GB/s, launch %.3g \xc2\xb5s, driver %s, %s",
             spmv_device_class_name(t->device_class), t->copy, 1e6 * t->launch, t->driver, t->date);
    picture_fitted(&h->p, 14, 54, TEXT, FAINT, AT_LEFT, h->p.width - 28, text);
    picture_text(&h->p, 14, 54 + 2 * LINE, SMALL, INK, AT_LEFT, "large maps: the fastest layout at that size, and its GFLOP/s");
    heat_legend(h, x < 420 ? x : 420, 54 + 2 * LINE);
}

static int heat_is_measured(const heat *h, int type, int kind)
{
    int i;
    for (i = 0; i < h->formats; i++)
        if (heat_has(h, (spmv_type)type, kind, h->format[i])) return 1;
    return 0;
}

static double heat_panel_high(const heat *h)
{
    double best = HEAD + h->table->per_row * BEST_HIGH + FOOT;
    double maps = (h->formats + ACROSS - 1) / ACROSS * small_high(h) + HEAT_GAP;
    return best > maps ? best : maps;
}

/* Draws everything. */
static void heat_page(heat *h)
{
    int type, kind;
    double y = HEAT_TOP;
    char text[64];
    heat_title(h);
    for (type = SPMV_F64; type < SPMV_TYPE_COUNT; type++)
        for (kind = 0; kind < SPMV_TUNE_KIND_COUNT; kind++) {
            if (!heat_is_measured(h, type, kind)) continue;
            snprintf(text, sizeof text, "%s, %s", spmv_type_name((spmv_type)type), spmv_tune_kind_name((spmv_tune_kind)kind));
            picture_bold(&h->p, HEAT_LEFT, y + 12, TEXT, INK, AT_LEFT, text);
            heat_best_map(h, (spmv_type)type, kind, HEAT_LEFT, y + HEAD);
            heat_small_maps(h, (spmv_type)type, kind, HEAT_LEFT + h->table->rows * h->best_wide + 2 * HEAT_GAP, y);
            y += heat_panel_high(h);
        }
}

/* Draws the table and writes the picture. DONE, or FAILED after a message. */
static int heat_plot(tool *t, const spmv_tuning *table, const char *path)
{
    heat h;
    int type, kind, panels = 0, across;
    double width;
    memset(&h, 0, sizeof h);
    h.table = table;
    heat_scan(&h);
    for (type = SPMV_F64; type < SPMV_TYPE_COUNT; type++)
        for (kind = 0; kind < SPMV_TUNE_KIND_COUNT; kind++) panels += heat_is_measured(&h, type, kind);
    if (!panels) return cli_complain(t, "the table has no rates");
    across = h.formats < ACROSS ? h.formats : ACROSS;
    width = HEAT_LEFT + table->rows * h.best_wide + 2 * HEAT_GAP + across * small_wide(&h);
    picture_make(&h.p, path, width < 900 ? 900 : width, HEAT_TOP + panels * heat_panel_high(&h));
    heat_page(&h);
    return picture_save(t, &h.p, path);
}

int plot_tune(tool *t, const arguments *args)
{
    spmv_tuning table;
    int result;
    if (args->plans) return cli_misuse(t, "plot tune takes no --plan");
    if (file_load_table(t, args->file[1], &table) != DONE) return FAILED;
    t->about = args->file[1];
    result = heat_plot(t, &table, args->value[OPT_OUT]);
    spmv_tuning_free(&table);
    return result;
}
