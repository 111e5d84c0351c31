/* SPDX-License-Identifier: MIT
 *
 * tools/cmd/check.c - spmv self-check: tries every variant on a device.
 */
#include "../cli/cli.h"
#include "../cli/json.h"
#include "../cli/options.h"
#include "commands.h"
#include "../measure/device.h"
#include "../measure/selfcheck.h"
#include "spmv.h"
#include <stdio.h>
#include <string.h>

#ifdef SPMV_NO_DEVICES
int check_command(tool *t, const arguments *args)
{
    (void)args;
    return cli_complain(t, "this program was built without OpenCL");
}
#else
typedef struct checker {
    tool              *t;
    const char        *device;
    int                json;
    selfcheck_counts *counts;
} checker;

static const char *check_word(selfcheck_result r)
{
    return r == SELFCHECK_USABLE ? "usable" : r == SELFCHECK_REFUSED ? "refused" :
           r == SELFCHECK_FAILED ? "FAILED" : "WRONG";
}

/* Prints a variant's result as the JSON object of its line. */
static void check_json(const checker *c, const selfcheck_variant *v)
{
    putchar('{');
    json_text("device", c->device); json_next();
    json_text("format", spmv_format_name(v->format)); json_next();
    json_text("type", spmv_type_name(v->type)); json_next();
    json_text("plan", v->plan); json_next();
    json_text("variant", v->variant); json_next();
    json_text("result", check_word(v->result)); json_next();
    printf("\"built\": %s, \"exact\": %s, \"bound\": %s, ", v->built ? "true" : "false", v->exact ? "true" : "false",
           v->bound ? "true" : "false");
    json_text("status", spmv_status_name(v->status)); json_next();
    json_text("message", v->message);
    puts("}");
}

/* selfcheck_desc.report: prints a line for each variant with JSON, otherwise one for each that cannot be used. */
static void check_report(void *user, const selfcheck_variant *v)
{
    const checker *c = (const checker *)user;
    char what[160], *p;
    char why[400];
    if (v->result == SELFCHECK_BEGINS) {
        snprintf(what, sizeof what, "%llu: %s %s/%s", (unsigned long long)c->counts->variants + 1,
                 spmv_type_name(v->type), v->plan, v->variant);
        cli_progress(c->t, what, -1);
        return;
    }
    if (!c->json && v->result == SELFCHECK_USABLE) return;
    cli_progress_clear(c->t);
    snprintf(why, sizeof why, "%s", v->message); /* a compiler's message in one line */
    for (p = why; *p; p++) if (*p == '\n') *p = ' ';
    if (c->json) check_json(c, v);
    else printf("%-7s %-5s %s/%s: %s\n", check_word(v->result), spmv_type_name(v->type), v->plan, v->variant, why);
    fflush(stdout);
}

/* Selects the formats that the arguments name. DONE, or USAGE after a message. */
static int check_formats(tool *t, const arguments *args, selfcheck_desc *desc)
{
    int i;
    for (i = 0; i < args->files; i++) {
        spmv_format f = spmv_format_from(args->file[i]);
        if (f == SPMV_FORMAT_COUNT) return cli_misplan(t, "there is no format '%s'", args->file[i]);
        desc->formats |= 1u << f;
    }
    return DONE;
}

/* Runs the self-check and prints the counts. FAILED if a variant was wrong or failed, or if none was usable; a variant that was refused
 * beside usable ones is no failure, and neither is a selection without variants. */
static int check_run(tool *t, const arguments *args, selfcheck_desc *desc, spmv_device *d)
{
    selfcheck_counts counts;
    checker c;
    spmv_status s;
    c.t = t;
    c.device = d->info.name;
    c.json = args->value[OPT_JSON] != NULL;
    c.counts = &counts;
    desc->report = check_report;
    desc->user = &c;
    cli_progress_begin(t);
    s = selfcheck_run(d, desc, &counts);
    cli_progress_clear(t);
    fprintf(c.json ? stderr : stdout,
            "%s: %llu variants: %llu usable, %llu refused, %llu failed, %llu wrong; %llu products\n", c.device,
            (unsigned long long)counts.variants, (unsigned long long)counts.usable,
            (unsigned long long)counts.refused, (unsigned long long)counts.failed, (unsigned long long)counts.wrong,
            (unsigned long long)counts.products);
    return s == SPMV_OK && !counts.wrong && !counts.failed && (counts.usable || !counts.variants) ? DONE : FAILED;
}

int check_command(tool *t, const arguments *args)
{
    selfcheck_desc desc;
    spmv_device *d = NULL;
    const char *which = args->value[OPT_DEVICE] ? args->value[OPT_DEVICE] : "";
    int result = DONE;
    memset(&desc, 0, sizeof desc);
    if (args->value[OPT_TYPE]) desc.types = 1u << option_type(t, args, &result);
    desc.pairs = args->value[OPT_PAIRS] != NULL;
    desc.brief = args->value[OPT_BRIEF] != NULL;
    desc.reproducible = args->value[OPT_REPRODUCIBLE] != NULL;
    if (result == DONE) result = check_formats(t, args, &desc);
    if (result == DONE) result = device_open(t, which, &d);
    if (result == DONE && !d) result = cli_complain(t, "the host has no variants to check");
    if (result == DONE) result = check_run(t, args, &desc, d);
    device_close(t, d);
    return result;
}
#endif
