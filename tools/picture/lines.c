/* SPDX-License-Identifier: MIT */
#include "lines.h"

#include "../cli/cli.h"
#include "../cli/files.h"
#include "spmv_io.h"
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The members of a line. One of ours has matrix, type and plan; one of a peer has matrix, dtype and variant. Other members are ignored. */
typedef struct fields {
    char   matrix[96], device[128], builder[64], plan[256], variant[256], type[16], dtype[16];
    double us, gflops; /* 0: null or missing */
    double again, ok;  /* 1: true; 0: false; ok -1: null or missing */
} fields;

void lines_label_add(char *out, size_t size, const char *text)
{
    size_t used = strlen(out), n = strlen(text);
    if (n > size - 1 - used) n = size - 1 - used;
    memcpy(out + used, text, n);
    out[used + n] = 0;
}

void lines_label_copy(char *out, size_t size, const char *text)
{
    *out = 0;
    lines_label_add(out, size, text);
}

/* ---- an object --------------------------------------------------------------------------------------------------------- */

typedef struct json {
    tool          *t;
    const char    *file, *begin, *at;
    unsigned long  line;
    char           text[512]; /* the last string */
    double         number;    /* the last number; of true 1, of false 0 */
} json;

static int json_bad(const json *j, const char *why)
{
    return cli_complain(j->t, "%s, line %lu, column %lu: %s", j->file, j->line, (unsigned long)(j->at - j->begin) + 1, why);
}

static void json_blanks(json *j)
{
    while (*j->at == ' ' || *j->at == '\t' || *j->at == '\r' || *j->at == '\n') j->at++;
}

/* Reads the rest of an escape, after its backslash. A character that is not ASCII becomes a question mark. DONE or FAILED. */
static int json_escape(json *j, char *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *known = *j->at ? strchr(from, *j->at) : NULL;
    unsigned v = 0;
    int i;
    if (known) *out = to[known - from];
    else if (*j->at == 'u') {
        for (i = 0; i < 4; i++) {
            const char *hex = "0123456789abcdef", *digit;
            char c = *++j->at;
            if (c >= 'A' && c <= 'F') c = (char)(c - 'A' + 'a');
            digit = c ? strchr(hex, c) : NULL;
            if (!digit) return json_bad(j, "\\u must be followed by four hexadecimal digits");
            v = 16 * v + (unsigned)(digit - hex);
        }
        *out = v && v < 128 ? (char)v : '?';
    } else {
        return json_bad(j, "no such escape");
    }
    j->at++;
    return DONE;
}

/* Reads a string into j->text, as much as fits. DONE or FAILED. */
static int json_string(json *j)
{
    size_t n = 0;
    char c;
    if (*j->at != '"') return json_bad(j, "a string in quotes is expected");
    for (j->at++; *j->at != '"';) {
        if ((unsigned char)*j->at < 0x20) return json_bad(j, "the string does not end");
        c = *j->at++;
        if (c == '\\' && json_escape(j, &c) != DONE) return FAILED;
        if (n + 1 < sizeof j->text) j->text[n++] = c;
    }
    j->text[n] = 0;
    j->at++;
    return DONE;
}

static int json_word(json *j, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(j->at, word, n) != 0) return 0;
    j->at += n;
    return 1;
}

static int json_scalar(json *j);

/* Skips an object of scalars, such as "total_us". Returns 'o', or FAILED. */
static int json_object(json *j)
{
    j->at++;
    for (json_blanks(j); *j->at != '}'; json_blanks(j)) {
        if (json_string(j) != DONE) return FAILED;
        json_blanks(j);
        if (*j->at != ':') return json_bad(j, "a colon is expected");
        j->at++;
        json_blanks(j);
        if (json_scalar(j) == FAILED) return FAILED;
        json_blanks(j);
        if (*j->at == ',') j->at++;
        else if (*j->at != '}') return json_bad(j, "a comma or a closing brace is expected");
    }
    j->at++;
    return 'o';
}

/* Reads a value. Returns 's' for a string, 'n' for a number, 'b' for true or false, '0' for null, 'o' for an object of these, FAILED for
 * anything else. */
static int json_value(json *j)
{
    return *j->at == '{' ? json_object(j) : json_scalar(j);
}

static int json_scalar(json *j)
{
    char word[64];
    size_t n;
    if (*j->at == '"') return json_string(j) == DONE ? 's' : FAILED;
    if (json_word(j, "null")) return '0';
    j->number = *j->at == 't';
    if (json_word(j, "true") || json_word(j, "false")) return 'b';
    n = strspn(j->at, "+-.0123456789eE");
    if (n && n < sizeof word) {
        memcpy(word, j->at, n);
        word[n] = 0;
        if (spmv_number_from(word, &j->number)) {
            j->at += n;
            return 'n';
        }
    }
    return json_bad(j, "a string, a number, true, false or null is expected");
}

/* ---- fields ------------------------------------------------------------------------------------------------------------ */

#define TEXT_FIELD(name) {#name, 's', offsetof(fields, name), sizeof ((fields *)0)->name}

#define REAL_FIELD(name, kind) {#name, kind, offsetof(fields, name), 0}

/* Stores the value just read, which is of that kind, as the member key. DONE or FAILED. */
static int field_take(json *j, const char *key, int kind, fields *f)
{
    static const struct field {
        const char *key;
        int         kind;
        size_t      at, size;
    } known[] = {
        TEXT_FIELD(matrix), TEXT_FIELD(device), TEXT_FIELD(builder), TEXT_FIELD(plan), TEXT_FIELD(variant), TEXT_FIELD(type),
        TEXT_FIELD(dtype), REAL_FIELD(us, 'n'), REAL_FIELD(gflops, 'n'), REAL_FIELD(again, 'b'),
        REAL_FIELD(ok, 'b'),
    };
    char why[128], *to;
    size_t i;
    for (i = 0; i < sizeof known / sizeof *known && strcmp(key, known[i].key) != 0; i++) continue;
    if (i == sizeof known / sizeof *known || kind == '0') return DONE;
    to = (char *)f + known[i].at;
    if (kind != known[i].kind) {
        snprintf(why, sizeof why, "\"%s\" is %s", key,
                 known[i].kind == 's' ? "a string" : known[i].kind == 'n' ? "a number or null" : "true, false or null");
        return json_bad(j, why);
    }
    if (kind == 's') lines_label_copy(to, known[i].size, j->text);
    else memcpy(to, &j->number, sizeof j->number);
    return DONE;
}

/* Reads an object. DONE or FAILED. */
static int fields_read(json *j, fields *f)
{
    char key[64];
    int kind;
    memset(f, 0, sizeof *f);
    f->ok = -1;
    json_blanks(j);
    if (*j->at != '{') return json_bad(j, "a JSON object is expected, as printed by spmv bench --json");
    do {
        j->at++;
        json_blanks(j);
        if (json_string(j) != DONE) return FAILED;
        lines_label_copy(key, sizeof key, j->text);
        json_blanks(j);
        if (*j->at != ':') return json_bad(j, "a colon is expected");
        j->at++;
        json_blanks(j);
        if ((kind = json_value(j)) == FAILED || field_take(j, key, kind, f) != DONE) return FAILED;
        json_blanks(j);
    } while (*j->at == ',');
    if (*j->at != '}') return json_bad(j, "a comma or a closing brace is expected");
    j->at++;
    json_blanks(j);
    return *j->at ? json_bad(j, "unexpected text after the object") : DONE;
}

/* ---- lines -------------------------------------------------------------------------------------------------------------- */

static int same_line(const bench_line *a, const bench_line *b)
{
    return a->is_peer == b->is_peer && !strcmp(a->matrix, b->matrix) && !strcmp(a->type, b->type) && !strcmp(a->label, b->label) &&
           !strcmp(a->device, b->device);
}

int lines_is_built_by(const bench_line *b, const char *builder)
{
    const char *at = b->builder;
    size_t n = strlen(builder);
    for (; at; at = strchr(at, ' '), at += at != NULL)
        if (!strncmp(at, builder, n) && (!at[n] || at[n] == ',')) return n > 0;
    return 0;
}

/* Merges two lines of one product: keeps the one that was timed side by side with others, otherwise the faster one, and the builders of
 * both. */
static void lines_merge(bench_line *old, const bench_line *b)
{
    int faster = b->us > 0 && (!(old->us > 0) || b->us < old->us);
    bench_line kept = (b->is_again != old->is_again ? b->is_again : faster) ? *b : *old;
    const char *other = *b->builder && !lines_is_built_by(old, b->builder) ? b->builder : "";
    lines_label_copy(kept.builder, sizeof kept.builder, old->builder);
    if (*other && *old->builder) lines_label_add(kept.builder, sizeof kept.builder, ", ");
    lines_label_add(kept.builder, sizeof kept.builder, other);
    *old = kept;
}

/* Adds a line or merges it with one of the same product. DONE or FAILED. */
static int bench_lines_add(bench_lines *l, const bench_line *b)
{
    size_t i;
    for (i = 0; i < l->count && !same_line(&l->at[i], b); i++) continue;
    if (i < l->count) {
        lines_merge(&l->at[i], b);
        return DONE;
    }
    if (l->count == l->room) {
        size_t room = 2 * l->room + 64;
        bench_line *more = (bench_line *)realloc(l->at, room * sizeof *more);
        if (!more) return cli_no_memory(l->t);
        l->at = more;
        l->room = room;
    }
    l->at[l->count++] = *b;
    return DONE;
}

static void line_label(bench_line *b, const fields *f)
{
    lines_label_copy(b->label, sizeof b->label, b->is_peer ? f->variant : f->plan);
    if (b->is_peer || !*f->variant || !strcmp(f->variant, "host")) return;
    lines_label_add(b->label, sizeof b->label, "/");
    lines_label_add(b->label, sizeof b->label, f->variant);
}

/* Notes the devices of our lines and of the peers, which a picture names once. */
static void lines_note(bench_lines *l, const bench_line *b)
{
    if (b->is_peer) lines_label_copy(l->peer, sizeof l->peer, *l->peer && strcmp(l->peer, b->device) != 0 ? "others" : b->device);
    else if (!l->devices || (l->devices == 1 && strcmp(l->device, b->device) != 0)) {
        lines_label_copy(l->device, sizeof l->device, l->devices ? "" : b->device);
        l->devices++;
    }
}

/* Adds the line that an object describes, unless l->only excludes it. DONE or FAILED. */
static int line_take(bench_lines *l, json *j, const fields *f)
{
    bench_line b;
    int ours = *f->type && *f->plan;
    j->at = j->begin; /* messages from here on are about the whole line */
    memset(&b, 0, sizeof b);
    b.is_peer = !ours && *f->dtype && *f->variant;
    if (!*f->matrix || (!ours && !b.is_peer))
        return json_bad(j, "neither a line of ours (matrix, type, plan) nor one of a peer (matrix, dtype, variant)");
    file_bare_name(f->matrix, b.matrix, sizeof b.matrix);
    if (b.is_peer) file_bare_name(j->file, b.device, sizeof b.device);
    else lines_label_copy(b.device, sizeof b.device, *f->device ? f->device : "host");
    lines_label_copy(b.type, sizeof b.type, b.is_peer ? f->dtype : f->type);
    lines_label_copy(b.plan, sizeof b.plan, f->plan);
    if (!b.is_peer && strcmp(f->builder, f->plan) != 0) lines_label_copy(b.builder, sizeof b.builder, f->builder);
    line_label(&b, f);
    b.us = f->us;
    b.work = b.is_peer ? 0 : f->gflops * f->us;
    b.is_wrong = f->ok == 0;
    b.is_again = f->again == 1;
    if (b.us < 0) return json_bad(j, "the time is below 0");
    if (!b.is_peer && l->only && strcmp(l->only, b.plan) != 0 && !lines_is_built_by(&b, l->only)) return DONE;
    lines_note(l, &b);
    return bench_lines_add(l, &b);
}

int lines_of_file(bench_lines *l, const char *file)
{
    FILE *f = fopen(file, "r");
    char *text = NULL;
    size_t room = 0;
    fields one;
    json j;
    int result = DONE, objects = 0;
    if (!f) return cli_complain(l->t, "%s: %s", file, strerror(errno));
    memset(&j, 0, sizeof j);
    j.t = l->t;
    j.file = file;
    while (result == DONE && getline(&text, &room, f) >= 0) {
        j.line++;
        j.begin = j.at = text;
        text[strcspn(text, "\r\n")] = 0;
        json_blanks(&j);
        if (!*j.at) continue;
        objects = 1;
        result = fields_read(&j, &one);
        if (result == DONE) result = line_take(l, &j, &one);
    }
    if (result == DONE && ferror(f)) result = cli_complain(l->t, "%s: %s", file, strerror(errno));
    if (result == DONE && !objects) result = cli_complain(l->t, "%s: the file has no lines", file);
    free(text);
    fclose(f);
    return result;
}
