/* SPDX-License-Identifier: MIT
 *
 * tools/measure/plans.h - plans on the command line, the options of the choice, and timing for builders that measure.
 */
#ifndef SPMV_TOOLS_MEASURE_PLANS_H
#define SPMV_TOOLS_MEASURE_PLANS_H

#include "../cli/cli.h"
#include "../cli/options.h"
#include "spmv.h"

/* 1: text is auto, measure or cocktail (with or without keys), with which the library chooses the plan. */
int plan_is_chosen(const char *text);

/* Checks before any file is read that text is a plan or a builder, by trying it on the empty matrix. from: the option that it was given
 * to. DONE, or USAGE after a message. */
int plan_is_text(tool *t, const char *from, const char *text);

/* 1 if text is the name of a format, a builder or a choice, with or without keys; 0 if it is a plan of several parts. */
int plan_is_named(const char *text);

/* The hints for builders and choices that measure: they time plans of desc->csr on desc->device. */
typedef struct measurer {
    tool     *t;
    spmv_desc desc;
    void     *x, *y; /* vectors for the products that are timed */
    spmv_build_hints hints;
} measurer;

/* Sets me->hints to *chosen (NULL: the defaults), with the function that measures. DONE, or FAILED after a message; the caller calls
 * measurer_free in either case. */
int measurer_make(measurer *me, tool *t, const spmv_desc *desc, const spmv_build_hints *chosen);

/* Frees the vectors and zeroes *me. A zeroed measurer is allowed. */
void measurer_free(measurer *me);

/* Sets *hints from --calls and --table. The caller frees *table, to which hints may point. DONE, or USAGE or FAILED after a
 * message. */
int plan_options(tool *t, const arguments *a, spmv_build_hints *hints, spmv_tuning *table);

/* Warns once if hints have the table of --table and one of these devices (NULL: the host) is of another class than the table's. */
void plan_check_table(tool *t, const arguments *a, const spmv_build_hints *hints, spmv_device *const *d, size_t count);

#endif
