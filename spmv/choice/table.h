/* SPDX-License-Identifier: MIT
 *
 * spmv/choice/table.h - tuning tables: what products cost on a device, a line for each way to store and multiply a matrix.
 */
#ifndef SPMV__CHOICE_TABLE_H
#define SPMV__CHOICE_TABLE_H

#include "../choice.h"
#include "../plan/builders.h"

#include "../generated/tuning.h"

static const struct {
    const char *name;
    double      unit;
} spmv__costs[] = {
#define X(ID, name, unit) { name, unit },
    SPMV_COST_LIST(X)
#undef X
};

/* "bytes"; "unknown" if there is no such cost. */
SPMV__SHARED const char *spmv__cost_name(spmv_cost cost) { return (unsigned)cost < SPMV_COST_COUNT ? spmv__costs[cost].name : "unknown"; }
SPMV_API double spmv_cost_unit(spmv_cost cost) { return (unsigned)cost < SPMV_COST_COUNT ? spmv__costs[cost].unit : 0; }

/* ---- reading ------------------------------------------------------------------------------------------------------- */

/* Where the reader is in the text, and the word it has read. */
typedef struct spmv__lines {
    const char       *at, *end, *name;
    uint64_t          line;
    char              word[256];
    const spmv_hooks *hooks;
} spmv__lines;

SPMV__APART spmv_status spmv__bad_line(const spmv__lines *lines, const char *why)
{
    return spmv_log(lines->hooks, SPMV_ERR_PARSE, "%s, line %llu: %s", lines->name, (spmv__ull)lines->line, why);
}

/* Zeros count as blanks, because they fill up the pieces of the bundled tables. */
static int spmv__blank(char c) { return c == ' ' || c == '\t' || c == '\r' || !c; }

/* Copies the next word of the line into lines->word and returns its length, 0 at the end of the line. A word that is too long is cut off;
 * no valid one is that long. */
static size_t spmv__next_word(spmv__lines *lines)
{
    const char *at = lines->at, *const end = lines->end;
    size_t n = 0;
    while (at < end && spmv__blank(*at)) at++;
    for (; at < end && (*at > ' ' || (*at != '\n' && !spmv__blank(*at))); at++)
        if (n + 1 < sizeof lines->word) lines->word[n++] = *at;
    lines->word[n] = 0;
    lines->at = at;
    return n;
}

/* Copies the rest of the line without the blanks around it; characters that do not print become "?". */
static void spmv__rest_of_line(spmv__lines *lines, char *out, size_t size)
{
    size_t n = 0;
    while (lines->at < lines->end && spmv__blank(*lines->at)) lines->at++;
    for (; lines->at < lines->end && *lines->at != '\n'; lines->at++)
        if (n + 1 < size) out[n++] = (unsigned char)*lines->at < 32 || (unsigned char)*lines->at > 126 ? '?' : *lines->at;
    while (n && (out[n - 1] == ' ' || out[n - 1] == '?')) n--;
    out[n] = 0;
}

/* Goes to the start of the next line that is neither empty nor a comment. 0: there is none. */
static int spmv__next_line(spmv__lines *lines)
{
    for (;;) {
        while (lines->line && lines->at < lines->end && *lines->at != '\n') lines->at++;
        if (lines->line && lines->at < lines->end) lines->at++;
        if (lines->at >= lines->end) return 0;
        lines->line++;
        while (lines->at < lines->end && spmv__blank(*lines->at)) lines->at++;
        if (lines->at < lines->end && *lines->at != '\n' && *lines->at != '#') return 1;
    }
}

/* Reads a decimal number without sign or exponent, as "spmv tune" writes it. 0 if p is not one. */
static int spmv__decimal(const char *p, double *v)
{
    double unit = 1;
    int64_t whole;
    p = spmv__whole(p, &whole);
    if (!p) return 0;
    *v = (double)whole;
    if (*p == '.')
        for (p++; spmv__is_digit(*p); p++) *v += (*p - '0') * (unit /= 10);
    return !*p;
}

/* Reads a number and multiplies it by the unit of what it stands for. */
static spmv_status spmv__tune_number(spmv__lines *lines, double unit, double *v)
{
    const double most = 1e12; /* nothing that a table counts or measures is more */
    if (!spmv__next_word(lines) || !spmv__decimal(lines->word, v) || *v > most)
        return spmv__bad_line(lines, "expected a number of up to 1e12");
    *v *= unit;
    return SPMV_OK;
}

/* Reads the rest of the line "regret". */
static spmv_status spmv__tune_regret(spmv_tuning *tuning, spmv__lines *lines)
{
    spmv_type type;
    spmv_status s;
    spmv__next_word(lines);
    type = spmv_type_from(lines->word);
    if (type == SPMV_TYPE_COUNT) return spmv__bad_line(lines, "expected a type");
    s = spmv__tune_number(lines, 1, &tuning->regret[type]);
    return s ? s : spmv__tune_number(lines, 1, &tuning->worst[type]);
}

/* Reads the rest of a line "blocks". */
static spmv_status spmv__tune_blocks(spmv_tuning *tuning, spmv__lines *lines)
{
    spmv_type type;
    spmv_format format;
    double v = 0;
    int i;
    spmv_status s = SPMV_OK;
    spmv__next_word(lines);
    type = spmv_type_from(lines->word);
    if (type == SPMV_TYPE_COUNT) return spmv__bad_line(lines, "expected a type");
    spmv__next_word(lines);
    format = spmv_format_from(lines->word);
    if (format == SPMV_FORMAT_COUNT || spmv__format_class_of(format) != SPMV_CLASS_BLOCK)
        return spmv__bad_line(lines, "expected a block format");
    for (i = 0; i < SPMV_TUNE_BLOCKS && !s; i++) {
        s = spmv__tune_number(lines, 1, &v);
        tuning->blocks[type][format][i] = (float)v;
    }
    return s;
}

/* The numbers of the head: the word of their line, of which there may be several in order, where they go, and their unit; 0: a count. */
static const struct {
    const char *word;
    size_t      at;
    double      unit;
} spmv__tune_keys[] = {
    { "units", offsetof(spmv_tuning, units), 0 }, { "launch", offsetof(spmv_tuning, launch), 1e-6 },
    { "call", offsetof(spmv_tuning, call), 1e-6 }, { "memory", offsetof(spmv_tuning, read), 1 },
    { "cache", offsetof(spmv_tuning, cache), 1 }, { "cache", offsetof(spmv_tuning, cache_read), 1 },
    { "step", offsetof(spmv_tuning, step), 1e-6 }, { "step", offsetof(spmv_tuning, short_steps), 0 },
    { "step", offsetof(spmv_tuning, long_step), 1e-6 },
    { "prepare", offsetof(spmv_tuning, part), 1e-12 }, { "prepare", offsetof(spmv_tuning, build), 1e-6 },
    { "prepare", offsetof(spmv_tuning, look), 1e-6 }, { "prepare", offsetof(spmv_tuning, look_byte), 1e-12 },
    { "error", offsetof(spmv_tuning, error), 1 }, { "error", offsetof(spmv_tuning, structures), 0 },
    { "error", offsetof(spmv_tuning, samples), 0 }
};

/* Reads a line of numbers of the head, whose first word is in lines->word. *known: 0 if it is none. */
static spmv_status spmv__tune_numbers(spmv_tuning *tuning, spmv__lines *lines, int *known)
{
    const size_t keys = sizeof spmv__tune_keys / sizeof *spmv__tune_keys;
    size_t i = 0, first;
    spmv_status s = SPMV_OK;
    while (i < keys && strcmp(lines->word, spmv__tune_keys[i].word) != 0) i++;
    *known = i < keys;
    for (first = i; i < keys && !strcmp(spmv__tune_keys[i].word, spmv__tune_keys[first].word) && !s; i++) {
        void *to = (unsigned char *)tuning + spmv__tune_keys[i].at;
        const double unit = spmv__tune_keys[i].unit;
        double v = 0;
        s = spmv__tune_number(lines, unit > 0 ? unit : 1, &v);
        if (unit > 0) *(double *)to = v;
        else *(uint64_t *)to = (uint64_t)v;
    }
    return s;
}

/* Reads a line of the head, whose first word is in lines->word. *known: 0 if it is none. */
static spmv_status spmv__tune_head(spmv_tuning *tuning, spmv__lines *lines, int *known)
{
    *known = 1;
    if (!strcmp(lines->word, "device")) return spmv__rest_of_line(lines, tuning->device, sizeof tuning->device), SPMV_OK;
    if (!strcmp(lines->word, "driver")) return spmv__rest_of_line(lines, tuning->driver, sizeof tuning->driver), SPMV_OK;
    if (!strcmp(lines->word, "date")) return spmv__rest_of_line(lines, tuning->date, sizeof tuning->date), SPMV_OK;
    if (!strcmp(lines->word, "regret")) return spmv__tune_regret(tuning, lines);
    if (!strcmp(lines->word, "blocks")) return spmv__tune_blocks(tuning, lines);
    if (strcmp(lines->word, "class") != 0) return spmv__tune_numbers(tuning, lines, known);
    spmv__next_word(lines);
    tuning->device_class = spmv__device_class_from(lines->word);
    return tuning->device_class == SPMV_DEVICE_CLASS_COUNT ? spmv__bad_line(lines, "expected gpu, cpu or host") : SPMV_OK;
}

/* Makes room for one more line. */
static spmv_status spmv__tune_grow(spmv_tuning *tuning, size_t *room)
{
    const size_t more = *room ? 2 * *room : 64;
    void *block;
    spmv_status s;
    if (tuning->count < *room) return SPMV_OK;
    s = spmv__new(&tuning->hooks, &block, more, sizeof *tuning->line, 0);
    if (s) return s;
    if (tuning->count) memcpy(block, tuning->line, tuning->count * sizeof *tuning->line);
    spmv_free(&tuning->hooks, tuning->line);
    tuning->line = (spmv_candidate *)block;
    *room = more;
    return SPMV_OK;
}

/* Reads the plan and the knobs of a candidate. plan: room for it. */
static spmv_status spmv__tune_plan(spmv_candidate *candidate, spmv__lines *lines, spmv_plan *plan)
{
    spmv_hooks quiet = { NULL, NULL, NULL, NULL, 0, 0 };
    spmv__next_word(lines);
    quiet.log = spmv__hush;
    if (spmv_plan_parse(plan, lines->word, NULL, &quiet) || plan->count != 1) return spmv__bad_line(lines, "expected a plan of one part");
    candidate->layout = plan->part[0];
    if (!spmv__takes_all(&candidate->layout))
        return spmv__bad_line(lines, "a candidate takes all nonzeros: w, fill and d are not for tables");
    if (spmv__next_word(lines) >= sizeof candidate->variant || !lines->word[0]) return spmv__bad_line(lines, "expected knobs, or -");
    if (strcmp(lines->word, "-") != 0) memcpy(candidate->variant, lines->word, strlen(lines->word) + 1);
    return SPMV_OK;
}

static int spmv__same_candidate(const spmv_candidate *candidate, const spmv_candidate *other)
{
    return candidate->type == other->type && candidate->layout.format == other->layout.format &&
           !memcmp(candidate->layout.key, other->layout.key, sizeof candidate->layout.key) &&
           !strcmp(candidate->variant, other->variant);
}

/* Reads the line of a candidate, whose first word, the type, is in lines->word. */
static spmv_status spmv__tune_line(spmv_tuning *tuning, spmv__lines *lines, spmv_plan *plan, size_t *room)
{
    spmv_candidate *candidate;
    size_t k;
    int i;
    const spmv_type type = spmv_type_from(lines->word);
    spmv_status s = type == SPMV_TYPE_COUNT ? spmv__bad_line(lines, "expected a word of the head, or a type")
                                            : spmv__tune_grow(tuning, room);
    if (s) return s;
    candidate = &tuning->line[tuning->count++];
    candidate->type = type;
    s = spmv__tune_plan(candidate, lines, plan);
    for (k = 0; k + 1 < tuning->count && !s; k++)
        if (spmv__same_candidate(&tuning->line[k], candidate)) s = spmv__bad_line(lines, "this candidate has a line already");
    for (i = 0; i < SPMV_COST_COUNT && !s; i++) s = spmv__tune_number(lines, spmv_cost_unit((spmv_cost)i), &candidate->cost[i]);
    if (!s) s = spmv__tune_number(lines, 1e-6, &candidate->begin);
    return s ? s : spmv__tune_number(lines, 1e-12, &candidate->slot);
}

/* Reads all lines after the first. */
static spmv_status spmv__tune_lines(spmv_tuning *tuning, spmv__lines *lines)
{
    void *plan;
    size_t room = 0;
    spmv_status s = spmv__new(&tuning->hooks, &plan, 1, sizeof(spmv_plan), 0); /* large */
    while (!s && spmv__next_line(lines)) {
        int known;
        spmv__next_word(lines);
        s = spmv__tune_head(tuning, lines, &known);
        if (!known) s = spmv__tune_line(tuning, lines, (spmv_plan *)plan, &room);
        if (!s && spmv__next_word(lines)) s = spmv__bad_line(lines, "there are too many words");
    }
    spmv_free(&tuning->hooks, plan);
    if (!s && (!tuning->device[0] || tuning->device_class == SPMV_DEVICE_CLASS_COUNT))
        s = spmv__bad_line(lines, "a table needs the lines \"device\" and \"class\"");
    if (!s && !(tuning->read > 0)) s = spmv__bad_line(lines, "a table needs the line \"memory\"");
    return s;
}

SPMV_API spmv_status spmv_tuning_create(spmv_tuning *out, const char *text, size_t length, const char *name, const spmv_hooks *hooks)
{
    if (!out || (length && !text)) return spmv__null(hooks, "spmv_tuning_create", !out ? "out" : "text", out, sizeof *out);
    static const spmv_hooks plain = { NULL, NULL, NULL, NULL, 0, 0 };
    spmv__lines lines;
    spmv_status s;
    char first[40] = "";
    memset(out, 0, sizeof *out);
    memset(&lines, 0, sizeof lines);
    lines.at = text;
    lines.end = length ? text + length : text;
    lines.name = name ? name : "tuning table";
    lines.hooks = hooks ? hooks : &plain;
    out->hooks = *lines.hooks;
    out->device_class = SPMV_DEVICE_CLASS_COUNT;
    if (spmv__next_line(&lines)) spmv__rest_of_line(&lines, first, sizeof first);
    if (strcmp(first, "spmv tuning table 2") != 0) s = spmv__bad_line(&lines, "a table begins with \"spmv tuning table 2\"");
    else s = spmv__tune_lines(out, &lines);
    if (s) spmv_tuning_destroy(out);
    return s;
}

SPMV_API void spmv_tuning_destroy(spmv_tuning *tuning)
{
    if (!tuning) return;
    spmv_free(&tuning->hooks, tuning->line);
    memset(tuning, 0, sizeof *tuning);
}

/* ---- bundled tables ------------------------------------------------------------------------------------------------ */

/* Copies the value after a word in the head of bundled table i; "" if the word is not there. */
static void spmv__tuning_word(size_t i, const char *word, char out[SPMV_TUNE_NAME])
{
    spmv__lines lines;
    memset(&lines, 0, sizeof lines);
    lines.at = spmv__tuning[i].text;
    lines.end = lines.at + spmv__tuning[i].length;
    out[0] = 0;
    while (spmv__next_line(&lines)) {
        spmv__next_word(&lines);
        if (strcmp(lines.word, word) != 0) continue;
        spmv__rest_of_line(&lines, out, SPMV_TUNE_NAME);
        return;
    }
}

/* 1 if the name is one that PoCL gives to a processor: its compiler and its work-groups are unlike those of other runtimes. */
static int spmv__is_pocl(const char *device) { return !strncmp(device, "pthread-", 8) || !strncmp(device, "cpu-", 4); }

/* How well the table of a device suits another one of its class: 2 if both have the same name, 1 if both have the same sort of runtime. */
static int spmv__tuning_suits(const char *table, const char *device)
{
    if (!device) return 0;
    return !strcmp(table, device) ? 2 : spmv__is_pocl(table) == spmv__is_pocl(device);
}

SPMV_API const char *spmv_tuning_bundled(const char *device, spmv_device_class device_class, size_t *length, int *exact)
{
    char word[SPMV_TUNE_NAME];
    const char *text = NULL;
    size_t i;
    int best = -1, suits;
    for (i = 0; spmv__tuning[i].text; i++) {
        spmv__tuning_word(i, "class", word);
        if (spmv__device_class_from(word) != device_class) continue;
        spmv__tuning_word(i, "device", word);
        suits = spmv__tuning_suits(word, device);
        if (suits <= best) continue;
        best = suits;
        text = spmv__tuning[i].text;
        if (length) *length = spmv__tuning[i].length;
    }
    if (length && !text) *length = 0;
    if (exact) *exact = best == 2;
    return text;
}

#endif
