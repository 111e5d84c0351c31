/* SPDX-License-Identifier: MIT
 *
 * tools/cmd/plan.c - spmv plan: shows the plan that the library or a builder makes, part by part.
 */
#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/json.h"
#include "../cli/numbers.h"
#include "../cli/options.h"
#include "../library.h"
#include "commands.h"
#include "../measure/device.h"
#include "../measure/plans.h"
#include "../measure/team.h"
#include "spmv.h"
#include "spmv_group.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is printed about a part. */
typedef struct part_figures {
    char     text[512];
    uint64_t rows, nnz;
    double   share;           /* of the matrix's nonzeros, percent */
    int      stored;          /* 0: it was refused, and the message is printed */
    uint64_t bytes;
    double   padding;         /* stored slots / nonzeros - 1; NAN: no nonzeros, or refused */
    spmv_estimate predicted;  /* of a product with it */
} part_figures;

/* Stores part i of the split for a moment and fills in its figures. FAILED if it was refused. */
static int part_measure(tool *t, const spmv_split *split, const spmv_plan *plan, const spmv_csr *a, int i, const spmv_build *how,
                        const spmv_device *on, part_figures *out)
{
    spmv_plan *one = (spmv_plan *)calloc(1, sizeof *one);
    spmv_view view = spmv_split_view(split, a, i);
    spmv_part part;
    memset(out, 0, sizeof *out);
    if (!one) return cli_no_memory(t);
    one->count = 1;
    one->part[0] = plan->part[i];
    spmv_plan_print(one, out->text, sizeof out->text);
    free(one);
    out->rows = split->rows[i];
    out->nnz = split->nnz[i];
    out->share = number_percent(out->nnz, a->nnz);
    out->padding = NAN;
    t->about = out->text;
    if (spmv_part_create(&part, &plan->part[i], &view, how, &t->hooks) != SPMV_OK) return FAILED;
    out->stored = 1;
    out->bytes = on ? library_device_bytes(&part) : spmv_part_bytes(&part);
    if (out->nnz) out->padding = (double)spmv_part_slots(&part) / (double)out->nnz - 1;
    spmv_part_destroy(&part);
    return DONE;
}

static void part_print(const part_figures *p, int column)
{
    printf("%-*s %12llu %14llu %7.2f%%", column, p->text, (unsigned long long)p->rows, (unsigned long long)p->nnz, p->share);
    if (!p->stored) printf(" %15s %9s\n", "refused", "-");
    else if (p->nnz) printf(" %15llu %9.4f\n", (unsigned long long)p->bytes, p->padding);
    else printf(" %15llu %9s\n", (unsigned long long)p->bytes, "-");
}

static void part_json(const part_figures *p)
{
    putchar('{');
    json_text("plan", p->text); json_next();
    json_count("rows", p->rows); json_next();
    json_count("nnz", p->nnz); json_next();
    json_real("share", p->share / 100); json_next();
    if (p->stored) json_count("bytes", p->bytes);
    else fputs("\"bytes\": null", stdout);
    json_next();
    json_real("padding", p->padding); json_next();
    json_real("predicted_us", p->predicted.seconds > 0 ? p->predicted.seconds * 1e6 : NAN); json_next();
    json_real("memory_us", p->predicted.of[SPMV_COST_BYTES] > 0 ? p->predicted.of[SPMV_COST_BYTES] * 1e6 : NAN); json_next();
    json_real("chain_us", p->predicted.of[SPMV_COST_CHAIN] > 0 ? p->predicted.of[SPMV_COST_CHAIN] * 1e6 : NAN);
    putchar('}');
}

/* The knobs of a variant; NULL: all have their defaults. */
static const char *knobs(const char *variant) { return variant[strspn(variant, "+")] ? variant : NULL; }

/* Prints the options of a choice, the chosen one first. text: SPMV_PLAN_TEXT bytes. */
static void choice_json(const spmv_choice *c, char *text)
{
    int i;
    fputs("{", stdout);
    json_text("table", c->table); json_next();
    printf("\"exact\": %s, ", c->exact ? "true" : "false");
    json_real("csr_us", c->csr > 0 ? c->csr * 1e6 : NAN);
    fputs(", \"options\": [", stdout);
    for (i = 0; i < c->count; i++) {
        const spmv_option *o = &c->option[i];
        fputs(i ? ", {" : "{", stdout);
        spmv_option_print(c, i, text, SPMV_PLAN_TEXT);
        json_text("plan", text); json_next();
        json_text("variant", knobs(i ? o->variant : c->variant)); json_next();
        json_real("cost_us", o->cost * 1e6); json_next();
        json_real("predicted_us", o->predicted * 1e6); json_next();
        json_real("measured_us", o->measured > 0 ? o->measured * 1e6 : NAN); json_next();
        printf("\"runs\": %s, ", o->measured < 0 ? "false" : "true");
        json_real("convert_us", o->convert * 1e6);
        putchar('}');
    }
    fputs("]}", stdout);
}

/* What the command prints. */
typedef struct plan_report {
    const char        *matrix, *device;
    spmv_type          type;
    const spmv_choice *choice;   /* holds the plan and the variant */
    const spmv_target *target;
    const spmv_tuning *table;    /* NULL: the bundled one */
    const spmv_device *on;       /* NULL: the host */
    int                explain;
    char              *text;     /* SPMV_PLAN_TEXT bytes, for the plan and then the shares */
    part_figures      *part;
    int                parts;
    int                refused;  /* 1: a part could not be stored */
} plan_report;

static const char *report_variant(const plan_report *r) { return knobs(r->choice->variant); }

/* Prints the library's explanation of its choice. DONE or FAILED. */
static int explain(tool *t, const spmv_choice *c, const spmv_device *d)
{
    size_t size = spmv_explain(c, NULL, 0) + 1;
    char *text = (char *)malloc(size);
    if (!text) return cli_no_memory(t);
    spmv_explain(c, text, size);
    puts(text);
#ifndef SPMV_NO_DEVICES
    if (d) printf("\nconversion: %s\n", spmv_convert_here(d) ? "on the device, from one copy of the CSR matrix, where it fills the format"
                                                             : "on the host, as the device is a CPU or shares the host's memory");
#else
    (void)d;
#endif
    free(text);
    return DONE;
}

/* Prints the report as text. */
static void report_print(const plan_report *r, const spmv_split *split)
{
    enum { NARROWEST = 16, WIDEST = 48 }; /* characters of the column of parts: the same for all short plans; limited for long ones */
    int i, n, column = NARROWEST;
    uint64_t nnz = 0, bytes = 0;
    spmv_plan_print(&r->choice->plan, r->text, SPMV_PLAN_TEXT);
    printf("plan    %s%s%s\n", r->text, report_variant(r) ? "/" : "", report_variant(r) ? report_variant(r) : "");
    spmv_split_print(split, &r->choice->plan, r->text, SPMV_PLAN_TEXT);
    printf("shares  %s\n\n", r->text);
    for (i = 0; i < r->parts; i++) {
        n = (int)strlen(r->part[i].text);
        if (n > column) column = n < WIDEST ? n : WIDEST;
    }
    printf("%-*s %12s %14s %8s %15s %9s\n", column, "part", "rows", "nonzeros", "share", "bytes", "padding");
    for (i = 0; i < r->parts; i++) {
        part_print(&r->part[i], column);
        nnz += r->part[i].nnz;
        bytes += r->part[i].bytes;
    }
    if (r->explain && nnz && !r->refused)
        printf("\nbytes   %llu, %.2f a nonzero\n", (unsigned long long)bytes, (double)bytes / (double)nnz);
}

/* Prints the report as the JSON object that --help describes. */
static void report_json(const plan_report *r, const spmv_csr *a, const spmv_split *split)
{
    int i;
    putchar('{');
    json_text("matrix", r->matrix); json_next();
    json_count("rows", a->rows); json_next();
    json_count("cols", a->cols); json_next();
    json_count("nnz", a->nnz); json_next();
    json_text("device", r->device); json_next();
    json_text("type", spmv_type_name(r->type)); json_next();
    spmv_plan_print(&r->choice->plan, r->text, SPMV_PLAN_TEXT);
    json_text("plan", r->text); json_next();
    json_text("variant", report_variant(r)); json_next();
    spmv_split_print(split, &r->choice->plan, r->text, SPMV_PLAN_TEXT);
    json_text("shares", r->text);
    fputs(", \"parts\": [", stdout);
    for (i = 0; i < r->parts; i++) {
        if (i) json_next();
        part_json(&r->part[i]);
    }
    fputs("], \"choice\": ", stdout);
    if (r->explain && r->choice->count) choice_json(r->choice, r->text);
    else fputs("null", stdout);
    json_next();
    json_text("version", SPMV_VERSION);
    puts("}");
}

/* Fills in what the parts are predicted to take. */
static int plan_predict(tool *t, plan_report *r, const spmv_csr *a, const spmv_build *how)
{
    spmv_estimate *all = (spmv_estimate *)calloc(SPMV_MAX_PARTS, sizeof *all);
    int i, result = all ? DONE : cli_no_memory(t);
    if (result == DONE && spmv_predict(all, &r->choice->plan, report_variant(r), a, how, r->target, r->table, &t->hooks) != SPMV_OK)
        result = FAILED;
    for (i = 0; result == DONE && i < r->parts; i++) r->part[i].predicted = all[i];
    free(all);
    return result;
}

/* Splits the matrix by the chosen plan and prints the report. FAILED if a part was refused. */
static int plan_show(tool *t, plan_report *r, const spmv_csr *a, const spmv_build *how, int json)
{
    const spmv_plan *plan = &r->choice->plan;
    spmv_split split;
    int result = DONE;
    if (!json && r->explain && explain(t, r->choice, r->on) != DONE) return FAILED;
    if (spmv_split_create(&split, plan, a, &t->hooks) != SPMV_OK) return FAILED;
    r->text = (char *)malloc(SPMV_PLAN_TEXT);
    r->part = (part_figures *)calloc((size_t)split.count + 1, sizeof *r->part);
    if (!r->text || !r->part) result = cli_no_memory(t);
    for (; result == DONE && r->parts < split.count; r->parts++)
        if (part_measure(t, &split, plan, a, r->parts, how, r->on, &r->part[r->parts]) != DONE) r->refused = 1;
    if (result == DONE && json) result = plan_predict(t, r, a, how);
    if (result == DONE && json) report_json(r, a, &split);
    if (result == DONE && !json) report_print(r, &split);
    free(r->text);
    free(r->part);
    spmv_split_destroy(&split);
    return r->refused ? FAILED : result;
}

/* ---- the list of plans ------------------------------------------------------------------------------------------- */

/* The flags of a format that scripts need, and their names in the list. */
static const struct format_property {
    unsigned    flag;
    const char *name;
} format_properties[] = {{SPMV_ROW_BLOCK, "blocks"}, {SPMV_HAS_FILL, "fill"}, {SPMV_REPEATS, "reproducible"}};

/* Prints a format's line and a line for each of its layouts. */
static void list_format(spmv_format f)
{
    const char *const *layout;
    size_t i, count = spmv_format_layouts(f, &layout);
    printf("format %s", spmv_format_name(f));
    for (i = 0; i < sizeof format_properties / sizeof *format_properties; i++)
        if (spmv_format_flags(f) & format_properties[i].flag) printf(" %s", format_properties[i].name);
    putchar('\n');
    for (i = 0; i < count; i++) printf("layout %s\n", layout[i]);
}

/* Prints everything that can be named in a plan, a line each: its sort, its name and its properties. Formats that this build lacks are
 * left out. */
static int list_plans(void)
{
    int i;
    for (i = 0; i < SPMV_FORMAT_COUNT; i++)
        if (spmv_format_built((spmv_format)i)) list_format((spmv_format)i);
    for (i = 0; i < SPMV_BUILDER_COUNT; i++) printf("builder %s\n", spmv_builder_name((spmv_builder)i));
    puts("choice cocktail\nchoice auto\nchoice measure");
    return DONE;
}

/* ---- several devices ----------------------------------------------------------------------------------------------- */

/* Divides the matrix among the devices of the team and prints what each has. DONE or FAILED. */
static int team_show(tool *t, const team *m, const spmv_desc *desc, int estimate)
{
    spmv_group_desc d = team_desc(m, desc);
    spmv_group g;
    spmv_status s;
    size_t size;
    char *text;
    d.estimate = estimate;
    cli_progress_name(t, "planning", desc->plan);
    s = spmv_group_create(&g, &d);
    cli_progress_clear(t);
    if (s != SPMV_OK) return FAILED;
    size = spmv_group_explain(&g, NULL, 0) + 1;
    text = (char *)malloc(size);
    if (text) {
        spmv_group_explain(&g, text, size);
        fputs(text, stdout);
    }
    free(text);
    spmv_group_destroy(&g);
    return text ? DONE : cli_no_memory(t);
}

/* Reads the matrix and shows how the devices of the team share it. */
static int team_plan(tool *t, const arguments *args, const team *m, spmv_desc *desc, const char *text)
{
    spmv_csr a;
    int result;
    if (args->value[OPT_JSON]) return cli_misuse(t, "--json prints the plan of one device");
    if (file_load_matrix(t, args->file[0], desc->type, &a) != DONE) return FAILED;
    desc->csr = &a;
    desc->hooks = t->hooks;
    desc->plan = text;
    t->about = text;
    result = team_show(t, m, desc, args->value[OPT_EXPLAIN] != NULL);
    spmv_csr_destroy(&a);
    return result;
}

/* Chooses a plan; for "measure" the library prepares the matrix by several. DONE or FAILED. */
static int plan_choose(spmv_choice *out, spmv_desc *desc, spmv_build_hints *hints, const spmv_build *how, const spmv_target *place)
{
    spmv_matrix *m;
    spmv_status s;
    if (strcmp(desc->plan, "measure") != 0)
        return spmv_choose(out, desc->plan, desc->csr, how, place, hints, NULL, &desc->hooks) == SPMV_OK ? DONE : FAILED;
    m = (spmv_matrix *)malloc(sizeof *m);
    hints->choice = out;
    desc->hints = hints;
    s = m ? spmv_create(m, desc) : SPMV_ERR_MEMORY;
    if (s == SPMV_OK) spmv_destroy(m);
    free(m);
    return s == SPMV_OK ? DONE : FAILED;
}

int plan_command(tool *t, const arguments *args)
{
    const char *text = args->value[OPT_BUILDER] ? args->value[OPT_BUILDER] : "auto";
    int result = DONE;
    spmv_choice *choice;
    char *steps;
    spmv_build_hints hints;
    spmv_tuning table;
    measurer me;
    spmv_desc desc;
    spmv_build how;
    spmv_target place;
    spmv_csr a;
    plan_report report;
    team several;
    if (args->value[OPT_LIST]) return list_plans();
    memset(&desc, 0, sizeof desc);
    memset(&how, 0, sizeof how);
    memset(&report, 0, sizeof report);
    desc.type = how.type = option_type(t, args, &result);
    desc.strict = how.strict = args->value[OPT_STRICT] != NULL;
    desc.max_bytes = how.max_bytes = option_bytes(t, args, OPT_MAX_BYTES, &result);
    if (result == DONE) result = plan_is_text(t, "builder", text);
    if (result == DONE) result = plan_options(t, args, &hints, &table);
    if (result != DONE) return result;
    result = team_open(t, args, &several);
    if (result != DONE || several.count) {
        desc.hints = &hints;
        if (result == DONE) plan_check_table(t, args, &hints, several.device, several.count);
        if (result == DONE) result = team_plan(t, args, &several, &desc, text);
        team_close(t, &several);
        spmv_tuning_destroy(&table);
        return result;
    }
    memset(&a, 0, sizeof a);
    choice = (spmv_choice *)malloc(sizeof *choice);
    steps = (char *)malloc(SPMV_COCKTAIL_TEXT);
    result = choice && steps ? device_open(t, args->value[OPT_DEVICE], &desc.device) : cli_no_memory(t);
    if (result == DONE) plan_check_table(t, args, &hints, &desc.device, 1);
    if (result == DONE) result = file_load_matrix(t, args->file[0], desc.type, &a);
    desc.csr = &a;
    desc.hooks = t->hooks;
    t->about = text;
    if (result == DONE) {
        place = device_target(desc.device);
        cli_progress_name(t, "planning", text);
        result = measurer_make(&me, t, &desc, &hints);
        desc.plan = text;
        me.hints.steps = steps;
        if (result == DONE) result = plan_choose(choice, &desc, &me.hints, &how, &place);
        cli_progress_clear(t);
        report.matrix = args->file[0];
        report.device = device_label(desc.device);
        report.on = desc.device;
        report.type = desc.type;
        report.choice = choice;
        report.target = &place;
        report.table = me.hints.tuning;
        report.explain = args->value[OPT_EXPLAIN] != NULL;
        if (result == DONE) result = plan_show(t, &report, &a, &how, args->value[OPT_JSON] != NULL);
        measurer_free(&me);
    }
    free(choice);
    free(steps);
    device_close(t, desc.device);
    spmv_tuning_destroy(&table);
    spmv_csr_destroy(&a);
    return result;
}
