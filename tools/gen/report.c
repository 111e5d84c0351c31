/* SPDX-License-Identifier: MIT
 *
 * tools/gen/report.c - messages about a description.
 */
#include "tools/gen/report.h"

#include <stdarg.h>
#include <string.h>

const char *report_line(const tree_format *f, int line)
{
    const char *p = f->text, *end = f->text + f->bytes;
    int at = 1;
    while (at < line && p < end)
        if (*p++ == '\n') at++;
    return p;
}

/* Prints the source line, and below it a caret under the column with tildes for the rest of the place. A tab stands below
 * a tab, so that both lines have the same width. Bytes that are not printable ASCII are printed as question marks. */
static void show_line(FILE *out, const tree_format *f, tree_place at)
{
    const char *p = report_line(f, at.line), *end = f->text + f->bytes;
    int i;
    fputs("    ", out);
    for (i = 0; p + i < end && p[i] != '\n'; i++)
        if (p[i] != '\r') fputc(p[i] == '\t' || (p[i] >= 32 && p[i] < 127) ? p[i] : '?', out);
    fputs("\n    ", out);
    for (i = 1; i < at.column; i++) fputc(p + i - 1 < end && p[i - 1] == '\t' ? '\t' : ' ', out);
    fputc('^', out);
    for (i = 1; i < at.length; i++) fputc('~', out);
    fputc('\n', out);
}

void report_error(report *r, const tree_format *f, tree_place at, const char *format, ...)
{
    va_list list;
    r->errors++;
    if (r->errors > REPORT_MOST) return;
    if (at.line) fprintf(r->out, "%s:%d:%d: error: ", f->file, at.line, at.column);
    else fprintf(r->out, "%s: error: ", f->file);
    va_start(list, format);
    vfprintf(r->out, format, list);
    va_end(list);
    fputc('\n', r->out);
    if (at.line) show_line(r->out, f, at);
}
