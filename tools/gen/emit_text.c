/* SPDX-License-Identifier: MIT
 *
 * tools/gen/emit_text.c - writes text with names in it.
 */
#include "tools/gen/emit_text.h"

void emit_text_put(const emit_text *e, const char *text)
{
    for (; *text; text++) {
        if (*text == '@') fputs(e->prefix, e->out);
        else if (*text == '$') fputs(e->value, e->out);
        else if (*text == '~') fputs(e->vector, e->out);
        else fputc(*text, e->out);
    }
}

void emit_text_line(const emit_text *e, const char *text)
{
    int i;
    for (i = 0; i < e->indent; i++) fputs("    ", e->out);
    emit_text_put(e, text);
    fputc('\n', e->out);
}
