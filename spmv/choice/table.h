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
SPMV__SHARED const char *spmv__cost_name(spmv_cost c) { return (unsigned)c < SPMV_COST_COUNT ? spmv__costs[c].name : "unknown"; }
SPMV_API double spmv_cost_unit(spmv_cost c) { return (unsigned)c < SPMV_COST_COUNT ? spmv__costs[c].unit : 0; }

/* ---- reading ------------------------------------------------------------------------------------------------------- */

/* Where the reader is in the text, and the word it has read. */
typedef struct spmv__lines {
    const char       *at, *end, *name;
    uint64_t          line;
    char              word[256];
    const spmv_hooks *h;
} spmv__lines;

static spmv_status spmv__bad_line(const spmv__lines *l, const char *why)
{
    return spmv_log(l->h, SPMV_ERR_PARSE, "%s, line %llu: %s", l->name, (spmv__ull)l->line, why);
}

/* Zeros count as blanks, because they fill up the pieces of the bundled tables. */
static int spmv__blank(char c) { return c == ' ' || c == '\t' || c == '\r' || !c; }

/* Copies the next word of the line into l->word and returns its length, 0 at the end of the line. A word that is too long is cut off; no
 * valid one is that long. */
static size_t spmv__next_word(spmv__lines *l)
{
    const char *at = l->at, *const end = l->end;
    size_t n = 0;
    while (at < end && spmv__blank(*at)) at++;
    for (; at < end && (*at > ' ' || (*at != '\n' && !spmv__blank(*at))); at++)
        if (n + 1 < sizeof l->word) l->word[n++] = *at;
    l->word[n] = 0;
    l->at = at;
    return n;
}

/* Copies the rest of the line without the blanks around it; characters that do not print become "?". */
static void spmv__rest_of_line(spmv__lines *l, char *out, size_t size)
{
    size_t n = 0;
    while (l->at < l->end && spmv__blank(*l->at)) l->at++;
    for (; l->at < l->end && *l->at != '\n'; l->at++)
        if (n + 1 < size) out[n++] = (unsigned char)*l->at < 32 || (unsigned char)*l->at > 126 ? '?' : *l->at;
    while (n && (out[n - 1] == ' ' || out[n - 1] == '?')) n--;
    out[n] = 0;
}

/* Goes to the start of the next line that is neither empty nor a comment. 0: there is none. */
static int spmv__next_line(spmv__lines *l)
{
    for (;;) {
        while (l->line && l->at < l->end && *l->at != '\n') l->at++;
        if (l->line && l->at < l->end) l->at++;
        if (l->at >= l->end) return 0;
        l->line++;
        while (l->at < l->end && spmv__blank(*l->at)) l->at++;
        if (l->at < l->end && *l->at != '\n' && *l->at != '#') return 1;
    }
}

/* Reads a decimal number without sign or exponent, as "spmv tune" writes it. 0 if w is not one. */
static int spmv__decimal(const char *w, double *v)
{
    double unit = 1;
    int64_t whole;
    w = spmv__whole(w, &whole);
    if (!w) return 0;
    *v = (double)whole;
    if (*w == '.')
        for (w++; spmv__is_digit(*w); w++) *v += (*w - '0') * (unit /= 10);
    return !*w;
}

/* Reads a number and multiplies it by the unit of what it stands for. */
static spmv_status spmv__tune_number(spmv__lines *l, double unit, double *v)
{
    const double most = 1e12; /* nothing that a table counts or measures is more */
    if (!spmv__next_word(l) || !spmv__decimal(l->word, v) || *v > most) return spmv__bad_line(l, "expected a number of up to 1e12");
    *v *= unit;
    return SPMV_OK;
}

/* Reads the rest of the line "regret". */
static spmv_status spmv__tune_regret(spmv_tuning *t, spmv__lines *l)
{
    spmv_type type;
    spmv_status s;
    spmv__next_word(l);
    type = spmv_type_from(l->word);
    if (type == SPMV_TYPE_COUNT) return spmv__bad_line(l, "expected a type");
    s = spmv__tune_number(l, 1, &t->regret[type]);
    return s ? s : spmv__tune_number(l, 1, &t->worst[type]);
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

/* Reads a line of numbers of the head, whose first word is in l->word. *known: 0 if it is none. */
static spmv_status spmv__tune_numbers(spmv_tuning *t, spmv__lines *l, int *known)
{
    const size_t keys = sizeof spmv__tune_keys / sizeof *spmv__tune_keys;
    size_t i = 0, first;
    spmv_status s = SPMV_OK;
    while (i < keys && strcmp(l->word, spmv__tune_keys[i].word) != 0) i++;
    *known = i < keys;
    for (first = i; i < keys && !strcmp(spmv__tune_keys[i].word, spmv__tune_keys[first].word) && !s; i++) {
        void *to = (unsigned char *)t + spmv__tune_keys[i].at;
        const double unit = spmv__tune_keys[i].unit;
        double v = 0;
        s = spmv__tune_number(l, unit > 0 ? unit : 1, &v);
        if (unit > 0) *(double *)to = v;
        else *(uint64_t *)to = (uint64_t)v;
    }
    return s;
}

/* Reads a line of the head, whose first word is in l->word. *known: 0 if it is none. */
static spmv_status spmv__tune_head(spmv_tuning *t, spmv__lines *l, int *known)
{
    *known = 1;
    if (!strcmp(l->word, "device")) return spmv__rest_of_line(l, t->device, sizeof t->device), SPMV_OK;
    if (!strcmp(l->word, "driver")) return spmv__rest_of_line(l, t->driver, sizeof t->driver), SPMV_OK;
    if (!strcmp(l->word, "date")) return spmv__rest_of_line(l, t->date, sizeof t->date), SPMV_OK;
    if (!strcmp(l->word, "regret")) return spmv__tune_regret(t, l);
    if (strcmp(l->word, "class") != 0) return spmv__tune_numbers(t, l, known);
    spmv__next_word(l);
    t->device_class = spmv__device_class_from(l->word);
    return t->device_class == SPMV_DEVICE_CLASS_COUNT ? spmv__bad_line(l, "expected gpu, cpu or host") : SPMV_OK;
}

/* Makes room for one more line. */
static spmv_status spmv__tune_grow(spmv_tuning *t, size_t *room)
{
    const size_t more = *room ? 2 * *room : 64;
    void *block;
    spmv_status s;
    if (t->count < *room) return SPMV_OK;
    s = spmv__new(&t->hooks, &block, more, sizeof *t->line, 0);
    if (s) return s;
    if (t->count) memcpy(block, t->line, t->count * sizeof *t->line);
    spmv_free(&t->hooks, t->line);
    t->line = (spmv_candidate *)block;
    *room = more;
    return SPMV_OK;
}

/* Reads the plan and the knobs of a candidate. plan: room for it. */
static spmv_status spmv__tune_plan(spmv_candidate *c, spmv__lines *l, spmv_plan *plan)
{
    spmv_hooks quiet = { NULL, NULL, NULL, NULL, 0 };
    spmv__next_word(l);
    quiet.log = spmv__hush;
    if (spmv_plan_parse(plan, l->word, NULL, &quiet) || plan->count != 1) return spmv__bad_line(l, "expected a plan of one part");
    c->layout = plan->part[0];
    if (c->layout.key[SPMV_KEY_W] || c->layout.key[SPMV_KEY_FILL] || c->layout.key[SPMV_KEY_D] || c->layout.key[SPMV_KEY_COLS])
        return spmv__bad_line(l, "a candidate takes all nonzeros: w, fill, d and cols are not for tables");
    if (spmv__next_word(l) >= sizeof c->variant || !l->word[0]) return spmv__bad_line(l, "expected knobs, or -");
    if (strcmp(l->word, "-") != 0) memcpy(c->variant, l->word, strlen(l->word) + 1);
    return SPMV_OK;
}

static int spmv__same_candidate(const spmv_candidate *a, const spmv_candidate *b)
{
    return a->type == b->type && a->layout.format == b->layout.format && !memcmp(a->layout.key, b->layout.key, sizeof a->layout.key) &&
           !strcmp(a->variant, b->variant);
}

/* Reads the line of a candidate, whose first word, the type, is in l->word. */
static spmv_status spmv__tune_line(spmv_tuning *t, spmv__lines *l, spmv_plan *plan, size_t *room)
{
    spmv_candidate *c;
    size_t k;
    int i;
    const spmv_type type = spmv_type_from(l->word);
    spmv_status s = type == SPMV_TYPE_COUNT ? spmv__bad_line(l, "expected a word of the head, or a type") : spmv__tune_grow(t, room);
    if (s) return s;
    c = &t->line[t->count++];
    c->type = type;
    s = spmv__tune_plan(c, l, plan);
    for (k = 0; k + 1 < t->count && !s; k++)
        if (spmv__same_candidate(&t->line[k], c)) s = spmv__bad_line(l, "this candidate has a line already");
    for (i = 0; i < SPMV_COST_COUNT && !s; i++) s = spmv__tune_number(l, spmv_cost_unit((spmv_cost)i), &c->cost[i]);
    if (!s) s = spmv__tune_number(l, 1e-6, &c->begin);
    return s ? s : spmv__tune_number(l, 1e-12, &c->slot);
}

/* Reads all lines after the first. */
static spmv_status spmv__tune_lines(spmv_tuning *t, spmv__lines *l)
{
    void *plan;
    size_t room = 0;
    spmv_status s = spmv__new(&t->hooks, &plan, 1, sizeof(spmv_plan), 0); /* large */
    while (!s && spmv__next_line(l)) {
        int known;
        spmv__next_word(l);
        s = spmv__tune_head(t, l, &known);
        if (!known) s = spmv__tune_line(t, l, (spmv_plan *)plan, &room);
        if (!s && spmv__next_word(l)) s = spmv__bad_line(l, "there are too many words");
    }
    spmv_free(&t->hooks, plan);
    if (!s && (!t->device[0] || t->device_class == SPMV_DEVICE_CLASS_COUNT))
        s = spmv__bad_line(l, "a table needs the lines \"device\" and \"class\"");
    if (!s && !(t->read > 0)) s = spmv__bad_line(l, "a table needs the line \"memory\"");
    return s;
}

SPMV_API spmv_status spmv_tuning_create(spmv_tuning *out, const char *text, size_t length, const char *name, const spmv_hooks *hooks)
{
    if (!out || (length && !text)) return spmv__null(hooks, "spmv_tuning_create", !out ? "out" : "text", out, sizeof *out);
    static const spmv_hooks plain = { NULL, NULL, NULL, NULL, 0 };
    spmv__lines l;
    spmv_status s;
    char first[40] = "";
    memset(out, 0, sizeof *out);
    memset(&l, 0, sizeof l);
    l.at = text;
    l.end = length ? text + length : text;
    l.name = name ? name : "tuning table";
    l.h = hooks ? hooks : &plain;
    out->hooks = *l.h;
    out->device_class = SPMV_DEVICE_CLASS_COUNT;
    if (spmv__next_line(&l)) spmv__rest_of_line(&l, first, sizeof first);
    if (strcmp(first, "spmv tuning table 2") != 0) s = spmv__bad_line(&l, "a table begins with \"spmv tuning table 2\"");
    else s = spmv__tune_lines(out, &l);
    if (s) spmv_tuning_destroy(out);
    return s;
}

SPMV_API void spmv_tuning_destroy(spmv_tuning *t)
{
    if (!t) return;
    spmv_free(&t->hooks, t->line);
    memset(t, 0, sizeof *t);
}

/* ---- bundled tables ------------------------------------------------------------------------------------------------ */

/* Copies the value after a word in the head of bundled table i; "" if the word is not there. */
static void spmv__tuning_word(size_t i, const char *word, char out[SPMV_TUNE_NAME])
{
    spmv__lines l;
    memset(&l, 0, sizeof l);
    l.at = spmv__tuning[i].text;
    l.end = l.at + spmv__tuning[i].length;
    out[0] = 0;
    while (spmv__next_line(&l)) {
        spmv__next_word(&l);
        if (strcmp(l.word, word) != 0) continue;
        spmv__rest_of_line(&l, out, SPMV_TUNE_NAME);
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
