/* SPDX-License-Identifier: MIT */
#include "plans.h"

#include "../cli/cli.h"
#include "../cli/files.h"
#include "../cli/options.h"
#include "device.h"
#include "runner.h"
#include "spmv.h"
#include <stdlib.h>
#include <string.h>

/* ---- plans ----------------------------------------------------------------------------------------------------- */

int plan_is_chosen(const char *text)
{
    return !strcmp(text, "auto") || !strcmp(text, "measure") || !strcmp(text, "cocktail");
}

int plan_is_text(tool *t, const char *from, const char *text)
{
    static const uint64_t ptr[1] = {0};
    spmv_plan *plan = (spmv_plan *)malloc(sizeof *plan);
    spmv_csr none;
    spmv_status s;
    int column = 0;
    if (!plan) return cli_no_memory(t);
    memset(&none, 0, sizeof none);
    none.ptr = ptr;
    t->text[0] = 0;
    t->keep = 1;
    s = plan_is_chosen(text) ? SPMV_OK : spmv_plan_make(plan, text, &none, NULL, &column, &t->hooks);
    t->keep = 0;
    free(plan);
    if (s != SPMV_ERR_PLAN && !(s != SPMV_OK && column > 0)) return DONE; /* other failures depend on the matrix */
    return cli_misplan(t, "--%s: %s", from, *t->text ? t->text : spmv_status_text(s));
}

int plan_is_named(const char *text)
{
    int i;
    if (plan_is_chosen(text)) return 1;
    for (i = 0; i < SPMV_BUILDER_COUNT; i++) {
        const char *name = spmv_builder_name((spmv_builder)i);
        size_t n = strlen(name);
        if (!strncmp(text, name, n) && (!text[n] || text[n] == ':') && !strchr(text, '+')) return 1;
    }
    return spmv_format_from(text) != SPMV_FORMAT_COUNT;
}

/* ---- builders that measure ------------------------------------------------------------------------------------- */

/* spmv_measure: the seconds of a product by this plan, or -1 if it cannot run, which needs no message. */
static double measure_plan(void *user, const spmv_plan *plan, const char *variant)
{
    measurer *me = (measurer *)user;
    char *text = (char *)malloc(SPMV_PLAN_TEXT);
    size_t said = strlen(me->t->text);
    int kept = me->t->keep;
    double took = -1;
    timing samples;
    spmv_desc desc = me->desc;
    runner r;
    if (!text) return -1;
    me->t->keep = 1;
    spmv_plan_print(plan, text, SPMV_PLAN_TEXT);
    desc.plan = text;
    desc.variant = variant;
    desc.hints = NULL;
    if (runner_open(&r, me->t, &desc, me->x, me->y) == SPMV_OK) {
        if (runner_time(&r, 5, 0.1, "measuring plans", &samples) == SPMV_OK) took = samples.median;
        runner_close(&r);
    }
    me->t->keep = kept;
    me->t->text[said] = 0;
    free(text);
    return took;
}

static double measurer_clock(void *user)
{
    (void)user;
    return cli_seconds();
}

int measurer_make(measurer *me, tool *t, const spmv_desc *desc, const spmv_build_hints *chosen)
{
    size_t width = spmv_vector_size(desc->type);
    memset(me, 0, sizeof *me);
    me->t = t;
    me->desc = *desc;
    me->x = calloc((size_t)desc->csr->cols + 1, width);
    me->y = calloc((size_t)desc->csr->rows + 1, width);
    if (chosen) me->hints = *chosen;
    me->hints.measure = measure_plan;
    me->hints.measure_user = me;
    me->hints.clock = measurer_clock;
    return me->x && me->y ? DONE : cli_no_memory(t);
}

void measurer_free(measurer *me)
{
    free(me->x);
    free(me->y);
    memset(me, 0, sizeof *me);
}

/* ---- options of the choice --------------------------------------------------------------------------------------------- */

int plan_options(tool *t, const arguments *a, spmv_build_hints *hints, spmv_tuning *table)
{
    int result = DONE;
    uint64_t calls = option_count(t, a, OPT_CALLS, 0, 0, 1000000000000000, &result);
    memset(table, 0, sizeof *table);
    memset(hints, 0, sizeof *hints);
    if (result != DONE) return result;
    hints->expected_calls = calls;
    if (!a->value[OPT_TABLE]) return DONE;
    if (file_load_table(t, a->value[OPT_TABLE], table) != DONE) return FAILED;
    hints->tuning = table;
    return DONE;
}

void plan_check_table(tool *t, const arguments *a, const spmv_build_hints *hints, spmv_device *const *d, size_t count)
{
    const spmv_tuning *table = hints->tuning;
    size_t i;
    for (i = 0; table && i < count; i++) {
        const spmv_device_class c = device_target(d[i]).device_class;
        if (c == table->device_class) continue;
        cli_complain(t, "warning: %s is a table of the class %s (%s); estimates for the class %s (%s) may be far off", a->value[OPT_TABLE],
                     spmv_device_class_name(table->device_class), table->device, spmv_device_class_name(c), device_label(d[i]));
        return;
    }
}
