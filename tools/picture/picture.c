/* SPDX-License-Identifier: MIT */
#include "picture.h"

#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/output.h"
#include <cairo-svg.h>
#include <cairo.h>
#include <stdlib.h>
#include <string.h>

const uint32_t picture_hues[HUES] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9,
                                    0x7b4fa3, 0xb8a800, 0x4d4d4d, 0x8c564b, 0x00a0a0, 0xe7298a};

/* ---- bytes that grow ------------------------------------------------------------------------------------------------ */

/* cairo_write_func_t; user is the bytes. */
static cairo_status_t bytes_add(void *user, const unsigned char *data, unsigned n)
{
    bytes *b = (bytes *)user;
    if (b->used + n > b->room) {
        size_t room = 2 * (b->used + n) + 4096;
        unsigned char *more = (unsigned char *)realloc(b->at, room);
        if (!more) return CAIRO_STATUS_NO_MEMORY;
        b->at = more;
        b->room = room;
    }
    if (n) memcpy(b->at + b->used, data, n);
    b->used += n;
    return CAIRO_STATUS_SUCCESS;
}

/* ---- a picture ------------------------------------------------------------------------------------------------------ */

static void set_colour(picture *p, uint32_t rgb)
{
    cairo_set_source_rgb(p->cairo, (rgb >> 16 & 255) / 255.0, (rgb >> 8 & 255) / 255.0, (rgb & 255) / 255.0);
}

void picture_box(picture *p, double x, double y, double width, double height, uint32_t colour)
{
    set_colour(p, colour);
    cairo_rectangle(p->cairo, x, y, width, height);
    cairo_fill(p->cairo);
}

void picture_frame(picture *p, double x, double y, double width, double height, uint32_t colour)
{
    picture_box(p, x - 1, y - 1, width + 2, 1, colour);
    picture_box(p, x - 1, y + height, width + 2, 1, colour);
    picture_box(p, x - 1, y, 1, height, colour);
    picture_box(p, x + width, y, 1, height, colour);
}

void picture_cells(picture *p, double x, double y, const uint32_t *cell, int across, int down, double wide, double high)
{
    int columns = (int)(PNG_SCALE * wide + 0.5), rows = (int)(PNG_SCALE * high + 0.5), i, j;
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, across * columns, down * rows);
    unsigned char *to = cairo_image_surface_get_data(image);
    int stride = cairo_image_surface_get_stride(image);
    for (j = 0; to && j < down * rows; j++)
        for (i = 0; i < across * columns; i++)
            memcpy(to + (size_t)j * (size_t)stride + (size_t)i * 4, cell + (size_t)(j / rows) * (size_t)across + (size_t)(i / columns), 4);
    cairo_surface_mark_dirty(image);
    cairo_save(p->cairo);
    cairo_translate(p->cairo, x, y);
    cairo_scale(p->cairo, 1.0 / PNG_SCALE, 1.0 / PNG_SCALE);
    cairo_set_source_surface(p->cairo, image, 0, 0); /* if the image failed, the picture fails, too */
    cairo_pattern_set_filter(cairo_get_source(p->cairo), CAIRO_FILTER_NEAREST);
    cairo_rectangle(p->cairo, 0, 0, across * columns, down * rows);
    cairo_fill(p->cairo);
    cairo_restore(p->cairo);
    cairo_surface_destroy(image);
}

/* ---- text ------------------------------------------------------------------------------------------------------------ */

/* The text with '?' for control characters and for bytes that are not UTF-8, with which cairo would fail. */
static const char *clean_text(const char *text, char out[512])
{
    size_t used = 0, n;
    for (; *text && used + 5 < 512; text += n ? n : 1) {
        n = (unsigned char)*text < 0x20 || *text == 0x7f ? 0 : cli_utf8_length(text);
        memcpy(out + used, n ? text : "?", n ? n : 1);
        used += n ? n : 1;
    }
    out[used] = 0;
    return out;
}

double picture_text_width(picture *p, double size, const char *text)
{
    char clean[512];
    cairo_text_extents_t e;
    cairo_set_font_size(p->cairo, size);
    cairo_text_extents(p->cairo, clean_text(text, clean), &e);
    return e.x_advance;
}

void picture_text(picture *p, double x, double y, double size, uint32_t colour, align where, const char *text)
{
    char clean[512];
    if (where != AT_LEFT) x -= picture_text_width(p, size, text) * (where == AT_MIDDLE ? 0.5 : 1);
    set_colour(p, colour);
    cairo_set_font_size(p->cairo, size);
    cairo_move_to(p->cairo, x, y);
    cairo_show_text(p->cairo, clean_text(text, clean));
}

void picture_bold(picture *p, double x, double y, double size, uint32_t colour, align where, const char *text)
{
    cairo_select_font_face(p->cairo, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_BOLD);
    picture_text(p, x, y, size, colour, where, text);
    cairo_select_font_face(p->cairo, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
}

void picture_upwards(picture *p, double x, double y, double size, uint32_t colour, const char *text)
{
    cairo_save(p->cairo);
    cairo_translate(p->cairo, x, y);
    cairo_rotate(p->cairo, -1.57079632679489661923);
    picture_text(p, 0, 0, size, colour, AT_MIDDLE, text);
    cairo_restore(p->cairo);
}

void picture_fitted(picture *p, double x, double y, double size, uint32_t colour, align where, double room, const char *text)
{
    static const char dots[] = "\xe2\x80\xa6"; /* an ellipsis */
    char cut[512 + sizeof dots];
    size_t n;
    clean_text(text, cut);
    for (n = strlen(cut); n && picture_text_width(p, size, cut) > room;) {
        for (n--; n && ((unsigned char)cut[n] & 0xc0) == 0x80;) n--;
        memcpy(cut + n, dots, sizeof dots);
    }
    picture_text(p, x, y, size, colour, where, cut);
}

/* ---- files ------------------------------------------------------------------------------------------------------------ */

int picture_name(tool *t, const char *path)
{
    if (!path) return cli_misuse(t, "the name of the picture is missing: -o NAME.png or -o NAME.svg");
    if (!file_ends_in(path, ".png") && !file_ends_in(path, ".svg"))
        return cli_misuse(t, "the picture's name must end in .png or .svg, not '%s'", path);
    return DONE;
}

void picture_make(picture *p, const char *path, double width, double height)
{
    memset(p, 0, sizeof *p);
    p->width = width;
    p->height = height;
    if (file_ends_in(path, ".svg")) {
        p->surface = cairo_svg_surface_create_for_stream(bytes_add, &p->file, width, height);
        cairo_svg_surface_set_document_unit(p->surface, CAIRO_SVG_UNIT_PX);
    } else {
        p->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(PNG_SCALE * width), (int)(PNG_SCALE * height));
        cairo_surface_set_device_scale(p->surface, PNG_SCALE, PNG_SCALE);
    }
    p->cairo = cairo_create(p->surface);
    cairo_select_font_face(p->cairo, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    picture_box(p, 0, 0, width, height, PAPER);
}

int picture_save(tool *t, picture *p, const char *path)
{
    cairo_status_t status = cairo_status(p->cairo);
    int result;
    t->about = NULL;
    cairo_destroy(p->cairo);
    if (file_ends_in(path, ".svg")) cairo_surface_finish(p->surface);
    else if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_write_to_png_stream(p->surface, bytes_add, &p->file);
    if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_status(p->surface);
    cairo_surface_destroy(p->surface);
    if (status == CAIRO_STATUS_SUCCESS) result = output_save(t, path, p->file.at, p->file.used);
    else result = cli_complain(t, "%s: %.0f x %.0f cannot be drawn: %s", path, p->width, p->height, cairo_status_to_string(status));
    free(p->file.at);
    return result;
}

uint32_t picture_blend(uint32_t colour, double share)
{
    uint32_t out = 0;
    int shift;
    for (shift = 0; shift < 24; shift += 8) out |= (uint32_t)(255 - share * (255 - (double)(colour >> shift & 255)) + 0.5) << shift;
    return out;
}
