/* SPDX-License-Identifier: MIT
 *
 * tools/picture/picture.h - draws rectangles, text and cells with cairo, as PNG or SVG.
 */
#ifndef SPMV_TOOLS_PICTURE_PICTURE_H
#define SPMV_TOOLS_PICTURE_PICTURE_H

#include "../cli/cli.h"
#include <cairo.h>
#include <stddef.h>
#include <stdint.h>

/* Lengths are in units of 1/96 inch, as in SVG. A PNG has this many pixels per unit, so that it is sharp on high-resolution screens. */
enum { PNG_SCALE = 2 };

/* Sizes of letters, and the distance from line to line. */
enum { TITLE = 20, TEXT = 13, SMALL = 11, LINE = 18 };

/* 0xRRGGBB: letters, letters that matter less, rules, and the ground. */
enum { INK = 0x24292f, FAINT = 0x57606a, RULE = 0xd0d7de, PAPER = 0xffffff };

/* Which end of a text is placed. */
typedef enum align { AT_LEFT, AT_MIDDLE, AT_RIGHT } align;

/* The colours of Okabe and Ito, which colour-blind readers can distinguish, and four more: as many as there are formats. */
enum { HUES = 12 };

/* Colours of parts and formats. */
extern const uint32_t picture_hues[HUES];

enum { GREY = 8 }; /* the number of the grey one */

/* Bytes that grow. */
typedef struct bytes {
    unsigned char *at;
    size_t         used, room;
} bytes;

/* A picture being drawn; picture_make begins it, picture_save ends it. */
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

/* Cells of wide x high units each, both whole numbers of pixels; cell holds their colours as 0xRRGGBB by rows. Every cell has all its
 * pixels, because a viewer that enlarges the SVG would blur an image with one pixel per cell. */
void picture_cells(picture *p, double x, double y, const uint32_t *cell, int across, int down, double wide, double high);

/* The width of the text. */
double picture_text_width(picture *p, double size, const char *text);

/* Text on the line y, with its left end, middle or right end at x. */
void picture_text(picture *p, double x, double y, double size, uint32_t colour, align where, const char *text);

/* Text in bold letters. */
void picture_bold(picture *p, double x, double y, double size, uint32_t colour, align where, const char *text);

/* Text that reads upwards, with its middle at x, y. */
void picture_upwards(picture *p, double x, double y, double size, uint32_t colour, const char *text);

/* The same as picture_text, but text wider than room is cut off and ends in an ellipsis. */
void picture_fitted(picture *p, double x, double y, double size, uint32_t colour, align where, double room, const char *text);

/* Checks, before any file is read, that path ends in .png or .svg. DONE, or USAGE after a message. */
int picture_name(tool *t, const char *path);

/* Begins a white picture, which picture_save ends. Failures from here on are reported there. */
void picture_make(picture *p, const char *path, double width, double height);

/* Writes the picture and frees it. DONE, or FAILED after a message. */
int picture_save(tool *t, picture *p, const char *path);

/* The colour mixed with white: share 1 is the colour itself, 0 white. */
uint32_t picture_blend(uint32_t colour, double share);

#endif
