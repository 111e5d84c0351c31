/* SPDX-License-Identifier: MIT
 *
 * tools/picture/picture.h - pictures as PNG or SVG. Python draws them by tools/plot.py, whose text the program contains.
 */
#ifndef SPMV_TOOLS_PICTURE_PICTURE_H
#define SPMV_TOOLS_PICTURE_PICTURE_H

#include "../cli/cli.h"
#include <stdio.h>

/* A picture to be drawn. */
typedef struct picture {
    tool       *t;
    const char *path;
    const char *python; /* the one that has matplotlib */
    FILE       *data;   /* the numbers, as JSON; NULL: none */
} picture;

/* Begins a picture, before any file is read: checks that path ends in .png or .svg and that there is a Python with matplotlib. DONE, or
 * USAGE or FAILED after a message. */
int picture_begin(picture *p, tool *t, const char *path);

/* Opens p->data, a temporary file, which picture_draw closes. DONE, or FAILED after a message. */
int picture_open(picture *p);

/* Draws the kind of picture that the first word names, with the other words, which end in NULL, and the data. DONE, or FAILED after a
 * message. */
int picture_draw(picture *p, const char *const *words);

#endif
