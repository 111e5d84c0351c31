/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "cli.h"
#include "spmv.h"
#include "spmv_io.h"
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef char options_fit_the_bits_of_takes[OPT_COUNT <= 64 ? 1 : -1];

typedef struct option {
    const char *name, *value, *text;
} option;

static const option options[OPT_COUNT] = {
#define X(ID, name, value, text) {name, value, text},
    OPTION_LIST(X)
#undef X
};

void arguments_free(arguments *a)
{
    free(a->plan);
    free(a->variant);
    free(a->file);
    memset(a, 0, sizeof *a);
}

/* The option of this command that the first length characters of word name, without dashes; OPT_COUNT if there is none. */
static option_id option_find(const command *c, const char *word, size_t length)
{
    int i;
    if (length == 3 && !memcmp(word, "out", 3)) return option_find(c, "output", 6);
    if (length == 4 && !memcmp(word, "plan", 4) && c->takes & BIT(BUILDER)) return OPT_BUILDER;
    for (i = 0; i < OPT_COUNT; i++)
        if (strlen(options[i].name) == length && !memcmp(options[i].name, word, length) &&
            ((c->takes | BIT(HELP)) >> i & 1u)) return (option_id)i;
    return OPT_COUNT;
}

/* Stores the option at argv[*i] and its value, which may be the next word; then *i is advanced. A plan is split at its slash. */
static int option_take(tool *t, const command *c, int argc, char **argv, int *i, arguments *a)
{
    const char *word = argv[*i], *name = word + 2, *equals = strchr(word, '=');
    option_id id;
    if (!strcmp(word, "-o")) name = "output";
    else if (!strcmp(word, "-h")) name = "help";
    else if (word[1] != '-') return cli_misuse(t, "unknown option '%s'", word);
    if (name != word + 2) equals = NULL;
    id = option_find(c, name, equals ? (size_t)(equals - name) : strlen(name));
    if (id == OPT_COUNT) return cli_misuse(t, "unknown option '%s'", word);
    if (!*options[id].value) {
        if (equals) return cli_misuse(t, "--%s takes no value", options[id].name);
        a->value[id] = "";
        return DONE;
    }
    if (!equals && *i + 1 >= argc) return cli_misuse(t, "--%s requires a value (%s)", options[id].name, options[id].value);
    a->value[id] = equals ? equals + 1 : argv[++*i];
    if (id == OPT_PLAN) {
        char *slash = strchr(equals ? argv[*i] + (equals - word) : argv[*i], '/');
        if (slash) *slash++ = 0;
        a->variant[a->plans] = slash;
        a->plan[a->plans++] = a->value[id];
    }
    return DONE;
}

int arguments_parse(tool *t, const command *c, int argc, char **argv, arguments *a)
{
    int i, only_files = 0, result;
    memset(a, 0, sizeof *a);
    a->plan = (const char **)calloc((size_t)argc + 1, sizeof *a->plan);
    a->variant = (const char **)calloc((size_t)argc + 1, sizeof *a->variant);
    a->file = (const char **)calloc((size_t)argc + 1, sizeof *a->file);
    if (!a->plan || !a->variant || !a->file) return cli_no_memory(t);
    for (i = 0; i < argc; i++) {
        if (only_files || argv[i][0] != '-' || !argv[i][1]) a->file[a->files++] = argv[i];
        else if (!strcmp(argv[i], "--")) only_files = 1;
        else if ((result = option_take(t, c, argc, argv, &i, a)) != DONE) return result;
    }
    if (a->value[OPT_HELP] || a->value[OPT_LIST]) return DONE; /* these need nothing else */
    if (a->files < c->least) return cli_misuse(t, "an argument is missing: spmv %s %s", c->name, c->synopsis);
    if (a->files > c->most) return cli_misuse(t, "unexpected argument '%s'", a->file[c->most]);
    return DONE;
}

/* Writes option i with its value to text; returns its length. */
static int option_print(int i, char *text, size_t size)
{
    return snprintf(text, size, "--%s%s%s", options[i].name, *options[i].value ? " " : "", options[i].value);
}

/* The options that c takes, in the form that help2man expects. */
static void print_options(const command *c)
{
    const uint64_t takes = c->takes | BIT(HELP);
    char left[40];
    int i, column = 0;
    for (i = 0; i < OPT_COUNT; i++) {
        int n = takes >> i & 1u ? option_print(i, left, sizeof left) : 0;
        if (n > column) column = n;
    }
    puts("Options:");
    for (i = 0; i < OPT_COUNT; i++) {
        if (!(takes >> i & 1u)) continue;
        option_print(i, left, sizeof left);
        printf("  %-*s  %s\n", column, left, options[i].text);
    }
}

void command_help(const command *c)
{
    printf("Usage: spmv %s%s%s\n\n%s\n", c->name, *c->synopsis ? " " : "", c->synopsis, c->text);
    puts("Exit status: 0 done, 1 refused or failed, 2 usage error.\n");
    if (*c->fields) puts(c->fields);
    print_options(c);
    printf("\nExamples:\n%s", c->examples);
}

/* option_real, or option_count if whole. NaN, infinity and numbers beyond the range of a double are refused. */
static double option_number(tool *t, const arguments *a, option_id id, int whole, double fallback, double least, double most,
                            int *result)
{
    char range[64] = "";
    double v;
    if (!a->value[id]) return fallback;
    if (spmv_number_from(a->value[id], &v) && v >= least && v <= most && (!whole || (double)(int64_t)v == v)) return v;
    if (least > -DBL_MAX || most < DBL_MAX) snprintf(range, sizeof range, " from %.10g to %.10g", least, most);
    *result = cli_misuse(t, "--%s requires a %snumber%s, not '%s'", options[id].name, whole ? "whole " : "", range, a->value[id]);
    return fallback;
}

double option_real(tool *t, const arguments *a, option_id id, double fallback, double least, double most, int *result)
{
    return option_number(t, a, id, 0, fallback, least, most, result);
}

uint64_t option_count(tool *t, const arguments *a, option_id id, uint64_t fallback, uint64_t least, uint64_t most, int *result)
{
    return (uint64_t)option_number(t, a, id, 1, (double)fallback, (double)least, (double)most, result);
}

uint64_t option_bytes(tool *t, const arguments *a, option_id id, int *result)
{
    static const char suffixes[] = "KMG";
    const char *p = a->value[id], *suffix;
    uint64_t v = 0, unit = 1;
    int fits = 1;
    if (!p) return 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        fits = fits && v <= (UINT64_MAX - 9) / 10;
        v = fits ? v * 10 + (uint64_t)(*p - '0') : v;
    }
    suffix = *p ? strchr(suffixes, *p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p) : NULL;
    if (suffix) {
        unit = (uint64_t)1 << (10 * (suffix - suffixes + 1));
        p++;
    }
    if (!*p && v && fits && v <= UINT64_MAX / unit) return v * unit;
    *result = cli_misuse(t, "--%s requires a whole number of bytes above 0, optionally followed by K, M or G, not '%s'", options[id].name,
                     a->value[id]);
    return 0;
}

spmv_simd option_simd(tool *t, const arguments *a, int *result)
{
    spmv_simd level = a->value[OPT_SIMD] ? spmv_simd_from(a->value[OPT_SIMD]) : SPMV_SIMD_BEST;
    if (level != SPMV_SIMD_COUNT) return level;
    *result = cli_misuse(t, "--simd must be plain, avx2, neon or best, not '%s'", a->value[OPT_SIMD]);
    return SPMV_SIMD_BEST;
}

spmv_conversion option_convert(tool *t, const arguments *a, int *result)
{
    const char *where = a->value[OPT_CONVERT];
    if (!where) return SPMV_CONVERT_DEFAULT;
    if (!strcmp(where, "device")) return SPMV_CONVERT_ON_DEVICE;
    if (strcmp(where, "host")) *result = cli_misuse(t, "--convert must be host or device, not '%s'", where);
    return SPMV_CONVERT_ON_HOST;
}

spmv_type option_type(tool *t, const arguments *a, int *result)
{
    spmv_type type = a->value[OPT_TYPE] ? spmv_type_from(a->value[OPT_TYPE]) : SPMV_F64;
    if (type != SPMV_TYPE_COUNT) return type;
    *result = cli_misuse(t, "--type must be f32, f64 or mixed, not '%s'", a->value[OPT_TYPE]);
    return SPMV_F64;
}
