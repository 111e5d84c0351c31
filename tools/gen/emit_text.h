/* SPDX-License-Identifier: MIT
 *
 * tools/gen/emit_text.h - writes text with a name in it that differs from output to output.
 */
#ifndef SPMV_TOOLS_GEN_EMIT_TEXT_H
#define SPMV_TOOLS_GEN_EMIT_TEXT_H

#include <stdio.h>

typedef struct emit_text {
    FILE       *out;
    const char *prefix; /* what @ stands for in texts */
    const char *value;  /* what $ stands for: the C type of the values */
    const char *vector; /* what ~ stands for: the C type of x, y and sums */
    int         indent; /* levels of four spaces before each line of emit_line */
} emit_text;

/* Writes text, in which @, $ and ~ are replaced; nothing else has a meaning. */
void emit_text_put(const emit_text *e, const char *text);
/* Writes an indented line whose text is the same as for emit_text_put; the line end is added. */
void emit_text_line(const emit_text *e, const char *text);

#endif
