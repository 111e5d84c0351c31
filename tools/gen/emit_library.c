/* SPDX-License-Identifier: MIT
 *
 * tools/gen/emit_library.c - writes a header by which the library takes a format of the user's own into its plans (SPMV_FORMATS_EXTRA in
 * spmv_formats.h): names for its lists, the C code for conversions and products, and the text of the kernel.
 */
#include "tools/gen/backend.h"
#include "tools/gen/emit_c.h"
#include "tools/gen/emit_cl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 2048 /* SPMV__PIECE_BYTES of the library */, MOST_LINE = 512 /* characters; a longer line declares no knob */ };

/* Options of the C code and those of the kernel that make sense here. The kernel's knobs stay open. */
static const backend_option library_options[] = {
    { "offset", "32", "32 64", "bits of OFFSET_TYPE" },
    { "pack", "auto", "auto extern", "the packer: spmvgen's own, or extern: the header declares it, and you write it" },
    { "fill", "0", "0 1", "with pack=extern, 1: products also read slots that hold no entry" },
    { "vector", "1", "1 2 4", "adjacent slots of a row, or elements of a block, that the kernel loads at once" },
    { NULL, NULL, NULL, NULL }
};

/* ---- what fits --------------------------------------------------------------------------------------------------------- */

/* The loop among the outermost statements, if there is exactly one; otherwise NULL. */
static const tree_stmt *outermost_loop(const tree_part *p)
{
    const tree_stmt *s, *found = NULL;
    for (s = p->access; s; s = s->next) {
        if (s->kind == TREE_FOR && found) return NULL;
        if (s->kind == TREE_FOR) found = s;
    }
    return found;
}

/* 1 if the name can be that of a format in a plan and, in capital letters, a part of C names. */
static int is_plan_name(const char *name)
{
    size_t i;
    for (i = 0; name[i]; i++)
        if (!islower((unsigned char)name[i]) && !(i && isdigit((unsigned char)name[i]))) return 0;
    return i > 0 && i < 24;
}

/* Says why the rows of a description are not those that the library can serve; NULL: they are. */
static const char *rows_against(const tree_format *f)
{
    const tree_part *p = f->part;
    const tree_stmt *loop = outermost_loop(p);
    if (f->parts > 1) return "it has several parts, which plans have already (own:w=4+csr)";
    if (p->shape.rows != TREE_ROWS_SINGLE || p->shape.row_loops != 1 || !loop || !emit_c_pack_walks_rows(f, loop))
        return "its outermost loop must run from 0 to num_rows - 1, with one row in each iteration";
    return NULL;
}

/* Says why the description is nothing that the library can take, with a packer by hand or without; NULL: it can. */
static const char *reason_against(const tree_format *f, int by_hand)
{
    const tree_part *p = f->part;
    int present = 0;
    const tree_symbol *s;
    if (!is_plan_name(f->name)) return "the file's name, which names the format in plans, must be small letters and digits, at most 23";
    if (rows_against(f)) return rows_against(f);
    if (!by_hand && emit_c_pack_reason(f)) return emit_c_pack_reason(f);
    if (p->arrays->type != TREE_DATA_TYPE) return "the array of values must be declared first";
    for (s = p->arrays; s; s = s->next) {
        if (s->absent) return "an array is absent, and would have no place among the kernel's arguments";
        present++;
    }
    if (present > 8 || f->parameters > 7) return "it has more than 8 arrays, or more than 5 parameters besides num_rows and num_cols";
    return NULL;
}

/* ---- output -------------------------------------------------------------------------------------------------------------- */

static void put_capitals(FILE *out, const char *name)
{
    for (; *name; name++) fputc(toupper((unsigned char)*name), out);
}

/* Writes text in which @ stands for the format's name and ^ for the same in capital letters. */
static void put(FILE *out, const tree_format *f, const char *text)
{
    for (; *text; text++) {
        if (*text == '@') fputs(f->name, out);
        else if (*text == '^') put_capitals(out, f->name);
        else fputc(*text, out);
    }
}

/* Writes the lists of integers and arrays. */
static void put_lists(FILE *out, const tree_format *f)
{
    const tree_symbol *s;
    put(out, f, "#define SPMV_^_INTS(X)");
    for (s = f->part->parameters; s; s = s->next) {
        if (s->kind != TREE_PARAMETER || s == f->num_rows || s == f->num_cols) continue;
        put(out, f, " X(^, ");
        put_capitals(out, s->name);
        fprintf(out, ", \"%s\")", s->name);
    }
    put(out, f, "\n#define SPMV_^_ARRAYS(X)");
    for (s = f->part->arrays; s; s = s->next) {
        put(out, f, " X(^, ");
        put_capitals(out, s == f->part->arrays ? "val" : s->name);
        fputs(")", out);
    }
    fputs("\n", out);
}

/* Writes the properties that the library's records of formats have. */
static void put_properties(FILE *out, const tree_format *f, int by_hand, int fill)
{
    const tree_symbol *s;
    int offsets = -1;
    for (s = f->part->arrays; s; s = s->next)
        if (s->type == TREE_OFFSET_TYPE && offsets < 0) offsets = s->position;
    fprintf(out, "/* Flags beside those of every such format, whether the lanes of a row lie apart, the array of offsets. */\n");
    put(out, f, "#define SPMV__FLAGS_^ ");
    fputs((by_hand ? fill : emit_c_pack_fills(f)) ? "SPMV_HAS_FILL\n" : "0\n", out);
    put(out, f, "#define SPMV__BY_HAND_^ ");
    fprintf(out, "%d /* whether the packer is the user's */\n", by_hand);
    put(out, f, "#define SPMV__APART_^ ");
    fprintf(out, "%d\n", f->part->shape.order != TREE_ORDER_CONTIGUOUS);
    put(out, f, "#define SPMV__OFFSETS_^ ");
    fprintf(out, offsets < 0 ? "SPMV__NO_ARRAY\n" : "%d\n", offsets);
}

/* Writes the knobs that the kernel's text declares, as numbers: each with the number of its legal values and these. */
static void put_knobs(FILE *out, FILE *text)
{
    static const char define[] = "#define ", tune[] = "// tune:";
    char line[MOST_LINE];
    while (fgets(line, sizeof line, text)) {
        const char *values = strstr(line, tune), *name = line + sizeof define - 1, *p;
        int count = 0;
        if (strncmp(line, define, sizeof define - 1) != 0 || !values) continue;
        values += sizeof tune - 1;
        for (p = values; *p && *p != '\n'; p++) count += *p == ' ';
        fprintf(out, " \\\n    SPMV_KNOB_%.*s, %d,", (int)strcspn(name, " "), name, count);
        for (p = values; *p && *p != '\n'; p++) fprintf(out, *p == ' ' && p > values ? ", " : "%c", *p);
        fputc(',', out);
    }
}

/* Writes a text as the library embeds its own kernels (tools/embed.sh): an array of pieces of whole lines, which zeros fill up, since C99
 * promises strings of only 4095 characters. */
static void put_pieces(FILE *out, FILE *text)
{
    char line[PIECE_BYTES];
    size_t used = 0;
    while (fgets(line, sizeof line, text)) {
        const char *at;
        fputs(used + strlen(line) >= PIECE_BYTES ? ",\n    \"" : "\n    \"", out);
        used = (used + strlen(line) >= PIECE_BYTES ? 0 : used) + strlen(line);
        for (at = line; *at; at++) {
            if (strchr("\n\"\\?", *at)) fputc('\\', out); /* two question marks would begin a trigraph */
            fputc(*at == '\n' ? 'n' : *at, out);
        }
        fputc('"', out);
    }
    fputs("\n    \"\" \"\"", out); /* clang would take a last row of only two literals for one without its comma */
}

/* Writes the kernel. Returns 0, or -1 after a message. */
static int put_kernel(FILE *out, const tree_format *f, const backend_settings *set)
{
    FILE *text = tmpfile();
    int failed;
    if (!text) {
        fprintf(stderr, "spmvgen: there is no place for a temporary file\n");
        return -1;
    }
    failed = emit_cl(&emit_cl_backend, f, set, text);
    rewind(text);
    put(out, f, "\n/* The kernel, as spmvgen writes it with --target opencl; it is compiled between the library's own texts. */\n"
                "static const char spmv__src_@[][SPMV__PIECE_BYTES] = {");
    if (!failed) put_pieces(out, text);
    put(out, f, "\n};\n#define SPMV__SRC_^ spmv__src_@[0], sizeof spmv__src_@\n#define SPMV__KNOBS_^");
    rewind(text);
    put_knobs(out, text);
    fputc('\n', out);
    failed |= ferror(text);
    fclose(text);
    return failed ? -1 : 0;
}

static int by_hand(const backend_settings *set) { return !strcmp(backend_value(&emit_library_backend, set, "pack"), "extern"); }

/* What a message adds if the description needs only a packer. */
static const char *hint(const tree_format *f)
{
    return reason_against(f, 1) ? "" : "; with --set pack=extern it takes a packer that you write (formats/README.md)";
}

/* Writes the whole header. */
static int emit(const tree_format *f, const backend_settings *set, FILE *out)
{
    const char *bits = backend_value(&emit_library_backend, set, "offset");
    const int hand = by_hand(set), fill = !strcmp(backend_value(&emit_library_backend, set, "fill"), "1");
    const char *reason = reason_against(f, hand);
    if (reason) {
        fprintf(stderr, "%s: error: the library cannot take this format: %s%s\n", f->file, reason, hand ? "" : hint(f));
        return -1;
    }
    if (fill && !hand) {
        fprintf(stderr, "spmvgen: --set fill=1: expected --set pack=extern beside it\n");
        return -1;
    }
    put(out, f, "/* SPDX-License-Identifier: MIT\n"
                " * Generated by spmvgen from the description of @; do not edit. A format for plans of the library: compile with\n"
                " * -DSPMV_FORMATS_EXTRA='\"this file\"'. See formats/README.md. */\n"
                "#ifndef SPMV_^_FORMAT\n"
                "#define SPMV_^_FORMAT(X) X(^, @, \"generated from @.fmt\")\n"
                "#ifndef SPMV_EXTRA_LIST /* a file that includes several such headers defines it before */\n"
                "#define SPMV_EXTRA_LIST(X) SPMV_^_FORMAT(X)\n"
                "#endif\n"
                "#define SPMV_BIT_^ (1 << SPMV_^)\n"
                "#define SPMV__BUILT_^ 1\n");
    put_lists(out, f);
    put_properties(out, f, hand, fill);
    put(out, f, "#define SPMV__HOST_^ { SPMV__PRODUCTS(extra_@), SPMV__NONE }\n"
                "#endif\n\n"
                "#if defined(SPMV_IMPLEMENTATION) && !defined(SPMV_^_CODE)\n"
                "#define SPMV_^_CODE\n\n"
                "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n");
    emit_c_for_library(f, out, !strcmp(bits, "64") ? 64 : 32, hand);
    if (put_kernel(out, f, set)) return -1;
    put(out, f, "#endif\n");
    return 0;
}

/* There is one combination for each width of offsets; what the kernel can do is listed by --target opencl. */
static void list(const tree_format *f, const backend_settings *set, FILE *out)
{
    const int hand = by_hand(set);
    if (reason_against(f, hand)) fprintf(out, "  none: %s%s\n", reason_against(f, hand), hand ? "" : hint(f));
    else fputs("  offset=32\n  offset=64\n", out);
}

static void explain(const tree_format *f, const backend_settings *set, FILE *out)
{
    const int hand = by_hand(set);
    if (reason_against(f, hand)) fprintf(out, "The library cannot take this format: %s%s.\n", reason_against(f, hand), hand ? "" : hint(f));
    else fprintf(out, "The library can take this format as %s%s.\n", f->name, hand ? ", with a packer that you write" : "");
}

const backend emit_library_backend = { "library", "a header that adds the format to the library's (SPMV_FORMATS_EXTRA)",
                                       library_options, emit, list, explain };
