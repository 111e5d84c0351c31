/* SPDX-License-Identifier: MIT
 *
 * tools/picture.h - rectangles, text and pixels, as PNG or as SVG. Part of tools/spmv.c.
 */
#ifndef SPMV_TOOLS_PICTURE_H
#define SPMV_TOOLS_PICTURE_H

#include "files.h"

typedef struct bytes {
    unsigned char *at;
    size_t         used, room;
    int            failed; /* 1: memory ran out */
} bytes;

static void bytes_add(bytes *b, const void *data, size_t n)
{
    if (b->failed || !n) return;
    if (b->used + n > b->room) {
        size_t room = 2 * (b->used + n) + 4096;
        unsigned char *more = (unsigned char *)realloc(b->at, room);
        if (!more) { b->failed = 1; return; }
        b->at = more;
        b->room = room;
    }
    memcpy(b->at + b->used, data, n);
    b->used += n;
}

LIKE_PRINTF(2, 3) static void bytes_print(bytes *b, const char *format, ...)
{
    char text[512];
    va_list list;
    int n;
    va_start(list, format);
    n = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (n > 0) bytes_add(b, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

typedef struct picture {
    int       width, height, is_svg;
    uint32_t *pixel; /* 0xRRGGBB, by rows; SVG: NULL */
    bytes     svg;
} picture;

/* ---- PNG -------------------------------------------------------------------------------------------------------- */

static void put_big_endian(unsigned char *out, uint32_t v)
{
    out[0] = (unsigned char)(v >> 24);
    out[1] = (unsigned char)(v >> 16);
    out[2] = (unsigned char)(v >> 8);
    out[3] = (unsigned char)v;
}

static void png_chunk(bytes *out, const char *name, const unsigned char *data, size_t n)
{
    unsigned char four[4];
    uint32_t sum = (uint32_t)crc32(crc32(0, (const unsigned char *)name, 4), data, (unsigned)n);
    if (!n) sum = (uint32_t)crc32(0, (const unsigned char *)name, 4);
    put_big_endian(four, (uint32_t)n);
    bytes_add(out, four, 4);
    bytes_add(out, name, 4);
    bytes_add(out, data, n);
    put_big_endian(four, sum);
    bytes_add(out, four, 4);
}

/* The colours of the pixels, at most 256 of them; returns how many, or 257. */
static int png_colours(const uint32_t *pixel, size_t n, uint32_t *colour)
{
    int count = 0, k = 0;
    size_t i;
    for (i = 0; i < n; i++) {
        if (count && colour[k] == pixel[i]) continue; /* the one before again */
        for (k = 0; k < count && colour[k] != pixel[i]; k++) continue;
        if (k == count && count == 256) return 257;
        if (k == count) colour[count++] = pixel[i];
    }
    return count;
}

/* Rows of samples, each behind a 0 (no filter): indices of colours or, if there are too many, three bytes a pixel. */
static void png_rows(unsigned char *out, const uint32_t *pixel, int width, int height, const uint32_t *colour, int count)
{
    int x, y, k = 0;
    for (y = 0; y < height; y++) {
        *out++ = 0;
        for (x = 0; x < width; x++, pixel++) {
            if (count > 256) {
                *out++ = (unsigned char)(*pixel >> 16);
                *out++ = (unsigned char)(*pixel >> 8);
                *out++ = (unsigned char)*pixel;
                continue;
            }
            for (k = colour[k] == *pixel ? k : 0; colour[k] != *pixel; k++) continue;
            *out++ = (unsigned char)k;
        }
    }
}

/* With a palette where 256 colours are enough, which they are in everything drawn here. */
static void png_encode(bytes *out, const uint32_t *pixel, int width, int height)
{
    static const unsigned char magic[8] = {137, 80, 78, 71, 13, 10, 26, 10};
    unsigned char head[13] = {0}, palette[768];
    uint32_t colour[256];
    int count = png_colours(pixel, (size_t)width * (size_t)height, colour), k;
    size_t raw = ((size_t)width * (count > 256 ? 3 : 1) + 1) * (size_t)height;
    uLongf packed = compressBound((uLong)raw);
    unsigned char *rows = (unsigned char *)malloc(raw), *data = (unsigned char *)malloc(packed);
    if (!rows || !data) out->failed = 1;
    else {
        png_rows(rows, pixel, width, height, colour, count);
        if (compress2(data, &packed, rows, (uLong)raw, 9) != Z_OK) out->failed = 1;
        put_big_endian(head, (uint32_t)width);
        put_big_endian(head + 4, (uint32_t)height);
        head[8] = 8; /* bits */
        head[9] = count > 256 ? 2 : 3;
        for (k = 0; k < count && k < 256; k++) {
            palette[3 * k] = (unsigned char)(colour[k] >> 16);
            palette[3 * k + 1] = (unsigned char)(colour[k] >> 8);
            palette[3 * k + 2] = (unsigned char)colour[k];
        }
        bytes_add(out, magic, sizeof magic);
        png_chunk(out, "IHDR", head, sizeof head);
        if (count <= 256) png_chunk(out, "PLTE", palette, 3 * (size_t)count);
        png_chunk(out, "IDAT", data, packed);
        png_chunk(out, "IEND", NULL, 0);
    }
    free(rows);
    free(data);
}

/* ---- letters ------------------------------------------------------------------------------------------------------
 * ASCII 32 to 126, 5 wide and 8 high, the last row below the line: bit 5 y + x. */

enum { LETTER_WIDTH = 6, LETTER_HEIGHT = 8 };

static const uint64_t letters[95] = {
    0x0000000000, 0x0100421084, 0x000000294a, 0x0295f57d4a, 0x011f4717c4, 0x0672222273, 0x0593511526, 0x0000001084,
    0x0208210888, 0x0088842082, 0x0009575480, 0x00084f9080, 0x1118000000, 0x00000f8000, 0x018c000000, 0x0042222210,
    0x03a33ae62e, 0x03884210c4, 0x07c444422e, 0x03a304111f, 0x0211f4a988, 0x03a3083c3f, 0x03a317844c, 0x008422221f,
    0x03a317462e, 0x01910f462e, 0x000c6018c0, 0x00886018c0, 0x0208208888, 0x0001f07c00, 0x0088882082, 0x010044422e,
    0x0383daf62e, 0x04631fc62e, 0x03e317c62f, 0x03a210862e, 0x01d318c527, 0x07c217843f, 0x004217843f, 0x07a31e862e,
    0x04631fc631, 0x038842108e, 0x019284211c, 0x0452519531, 0x07c2108421, 0x04631ad771, 0x04639ace31, 0x03a318c62e,
    0x004217c62f, 0x059358c62e, 0x045257c62f, 0x03e107043e, 0x010842109f, 0x03a318c631, 0x011518c631, 0x02ab5ac631,
    0x0462a22a31, 0x0108422a31, 0x07c222221f, 0x038421084e, 0x0420820821, 0x039084210e, 0x0000004544, 0xf800000000,
    0x0000002082, 0x07a3e83800, 0x03e318bc21, 0x078210f800, 0x07a318fa10, 0x0383f8b800, 0x0084238a4c, 0x743d18f800,
    0x046319b421, 0x0388421804, 0x3250843008, 0x024a32a421, 0x0388421086, 0x056b5aac00, 0x046319b400, 0x03a318b800,
    0x085f18bc00, 0x843d18f800, 0x004219b400, 0x03e0e0f800, 0x0324211c42, 0x05b318c400, 0x011518c400, 0x02ab58c400,
    0x0454454400, 0x743d18c400, 0x07c4447c00, 0x0208411088, 0x0108421084, 0x0088441082, 0x00008a8800,
};

static void draw_letter(picture *p, int x, int y, int scale, uint32_t colour, char c)
{
    int i, j, k;
    uint64_t bits = c < 32 || c > 126 ? letters['?' - 32] : letters[c - 32];
    for (k = 0; k < 40; k++) {
        if (!(bits >> k & 1)) continue;
        for (j = 0; j < scale; j++)
            for (i = 0; i < scale; i++) {
                int px = x + k % 5 * scale + i, py = y + k / 5 * scale + j;
                if (px >= 0 && py >= 0 && px < p->width && py < p->height) p->pixel[(size_t)py * (size_t)p->width + (size_t)px] = colour;
            }
    }
}

static int text_width(const char *text, int scale)
{
    return (int)strlen(text) * LETTER_WIDTH * scale;
}

static void svg_letter(bytes *out, char c)
{
    if (c == '&') bytes_print(out, "&amp;");
    else if (c == '<') bytes_print(out, "&lt;");
    else if (c == '>') bytes_print(out, "&gt;");
    else bytes_print(out, "%c", c < 32 || c > 126 ? '?' : c);
}

/* Text whose left (align 0), middle (1) or right end (2) is at x and whose capitals begin at y. */
static void draw_text(picture *p, int x, int y, int scale, uint32_t colour, int align, const char *text)
{
    x -= text_width(text, scale) * align / 2;
    if (p->is_svg) {
        bytes_print(&p->svg, "<text x=\"%d\" y=\"%d\" font-size=\"%d\" fill=\"#%06lx\" textLength=\"%d\" xml:space=\"preserve\">", x,
            y + 7 * scale,
                    10 * scale, (unsigned long)colour, text_width(text, scale));
        for (; *text; text++) svg_letter(&p->svg, *text);
        bytes_print(&p->svg, "</text>\n");
        return;
    }
    for (; *text; text++, x += LETTER_WIDTH * scale) draw_letter(p, x, y, scale, colour, *text);
}

/* ---- rectangles and pixels -------------------------------------------------------------------------------------- */

static void draw_box(picture *p, int x, int y, int width, int height, uint32_t colour)
{
    int i, j;
    if (p->is_svg) {
        bytes_print(&p->svg, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#%06lx\"/>\n", x, y, width, height,
            (unsigned long)colour);
        return;
    }
    for (j = y < 0 ? 0 : y; j < y + height && j < p->height; j++)
        for (i = x < 0 ? 0 : x; i < x + width && i < p->width; i++) p->pixel[(size_t)j * (size_t)p->width + (size_t)i] = colour;
}

/* An outline of one pixel around a rectangle. */
static void draw_frame(picture *p, int x, int y, int width, int height, uint32_t colour)
{
    draw_box(p, x - 1, y - 1, width + 2, 1, colour);
    draw_box(p, x - 1, y + height, width + 2, 1, colour);
    draw_box(p, x - 1, y, 1, height, colour);
    draw_box(p, x + width, y, 1, height, colour);
}

static void svg_base64(bytes *out, const bytes *data)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t i;
    for (i = 0; i < data->used; i += 3) {
        size_t left = data->used - i;
        uint32_t v = (uint32_t)data->at[i] << 16 | (left > 1 ? (uint32_t)data->at[i + 1] << 8 : 0) | (left > 2 ? data->at[i + 2] : 0u);
        char four[4];
        four[0] = digit[v >> 18];
        four[1] = digit[v >> 12 & 63];
        four[2] = left > 1 ? digit[v >> 6 & 63] : '=';
        four[3] = left > 2 ? digit[v & 63] : '=';
        bytes_add(out, four, 4);
    }
}

/* Cells of wide x high pixels; in SVG a PNG inside. */
static void draw_cells(picture *p, int x, int y, const uint32_t *cell, int across, int down, int wide, int high)
{
    int i, j;
    if (!p->is_svg) {
        for (j = 0; j < down * high; j++)
            for (i = 0; i < across * wide; i++)
                p->pixel[(size_t)(y + j) * (size_t)p->width + (size_t)(x + i)] =
                    cell[(size_t)(j / high) * (size_t)across + (size_t)(i / wide)];
    } else {
        bytes png = {NULL, 0, 0, 0};
        png_encode(&png, cell, across, down);
        bytes_print(&p->svg, "<image x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                    "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,", x,
                    y, across * wide, down * high);
        svg_base64(&p->svg, &png);
        bytes_print(&p->svg, "\"/>\n");
        if (png.failed) p->svg.failed = 1;
        free(png.at);
    }
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

/* Whether the name ends in .png or .svg: known before anything is read. */
static int picture_name(tool *t, const char *path)
{
    if (!path) return misuse(t, "where to? -o NAME.png or -o NAME.svg");
    if (!ends_in(path, ".png") && !ends_in(path, ".svg")) return misuse(t, "a picture's name ends in .png or .svg, not '%s'", path);
    return DONE;
}

static int picture_make(tool *t, picture *p, const char *path, int width, int height)
{
    memset(p, 0, sizeof *p);
    p->width = width;
    p->height = height;
    p->is_svg = ends_in(path, ".svg");
    if (p->is_svg)
        bytes_print(&p->svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                    "viewBox=\"0 0 %d %d\" font-family=\"monospace\">\n",
                    width, height, width, height);
    else if ((p->pixel = (uint32_t *)malloc((size_t)width * (size_t)height * sizeof *p->pixel)) == NULL) return no_memory(t);
    draw_box(p, 0, 0, width, height, 0xffffff);
    return DONE;
}

/* Writes and frees it. */
static int picture_save(tool *t, picture *p, const char *path)
{
    bytes out = {NULL, 0, 0, 0};
    int result;
    t->about = NULL;
    if (p->is_svg) {
        bytes_print(&p->svg, "</svg>\n");
        out = p->svg;
    } else {
        png_encode(&out, p->pixel, p->width, p->height);
    }
    free(p->pixel);
    result = out.failed ? no_memory(t) : save_bytes(t, path, out.at, out.used);
    free(out.at);
    return result;
}

#endif
