/* SPDX-License-Identifier: MIT
 *
 * tools/picture/picture.h - rectangles, text and cells, as PNG or as SVG, drawn by cairo.
 */
#ifndef SPMV_TOOLS_PICTURE_PICTURE_H
#define SPMV_TOOLS_PICTURE_PICTURE_H

#include "../cli/cli.h"
#include <cairo.h>
#include <stddef.h>
#include <stdint.h>

/* Lengths are in units of 1/96 inch, as in SVG. A PNG has this many pixels a unit, so that it is sharp on dense screens as well. */
enum { PNG_SCALE = 2 };

/* Sizes of letters, and the distance from line to line. */
enum { TITLE = 20, TEXT = 13, SMALL = 11, LINE = 18 };

enum { INK = 0x24292f, FAINT = 0x57606a, RULE = 0xd0d7de, PAPER = 0xffffff };

typedef enum align { AT_LEFT, AT_MIDDLE, AT_RIGHT } align;

/* Okabe and Ito: told apart by colour-blind eyes as well; three more behind them. */
enum { HUES = 11 };

/* Colours of parts and formats. */
extern const uint32_t picture_hues[HUES];

enum { GREY = 8 }; /* the number of the grey one */

typedef struct bytes {
    unsigned char *at;
    size_t         used, room;
} bytes;

typedef struct picture {
    double           width, height;
    cairo_surface_t *surface;
    cairo_t         *cairo;
    bytes            file; /* as it will be written */
} picture;

/* A filled rectangle. */
void picture_box(picture *p, double x, double y, double width, double height, uint32_t colour);

/* An outline of one unit around a rectangle. */
void picture_frame(picture *p, double x, double y, double width, double height, uint32_t colour);

/* Cells of wide x high units each, whole pixels both, 0xRRGGBB by rows. A viewer that enlarges the SVG would blur an image of one
 * pixel a cell; so every cell has all its pixels. */
void picture_cells(picture *p, double x, double y, const uint32_t *cell, int across, int down, double wide, double high);

/* Units that the text takes. */
double picture_text_width(picture *p, double size, const char *text);

/* Text on the line y, with its left end, middle or right end at x. */
void picture_text(picture *p, double x, double y, double size, uint32_t colour, align where, const char *text);

/* Text in bold letters. */
void picture_bold(picture *p, double x, double y, double size, uint32_t colour, align where, const char *text);

/* Text that reads upwards, its middle at x, y. */
void picture_upwards(picture *p, double x, double y, double size, uint32_t colour, const char *text);

/* Text from x on, or up to x, that loses its end where it is wider than room. */
void picture_fitted(picture *p, double x, double y, double size, uint32_t colour, align where, double room, const char *text);

/* Whether the name ends in .png or .svg: known before anything is read. */
int picture_name(tool *t, const char *path);

/* White; to be ended by picture_save. What fails from here on is reported there. */
void picture_make(picture *p, const char *path, double width, double height);

/* Writes and frees it. */
int picture_save(tool *t, picture *p, const char *path);

/* The colour on white paper, covering this share of it. */
uint32_t picture_blend(uint32_t colour, double share);

#endif
