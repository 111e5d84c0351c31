/* SPDX-License-Identifier: MIT
 *
 * tools/measure/plans.h - plans as words of the command line, how the library is to choose them, and timing for builders that
 * measure.
 */
#ifndef SPMV_TOOLS_MEASURE_PLANS_H
#define SPMV_TOOLS_MEASURE_PLANS_H

#include "../cli/cli.h"
#include "../cli/options.h"
#include "spmv.h"

/* Plans that the library finds for a device. */
int plan_is_chosen(const char *text);

/* Whether text is a plan or a builder at all, found out on the empty matrix, before any file is read. */
int plan_is_text(tool *t, const char *from, const char *text);

/* 1 if text is a format's or a builder's name, with keys or without; 0 if it is a plan of several parts. */
int plan_is_named(const char *text);

typedef struct measurer {
    tool     *t;
    spmv_desc desc;
    void     *x, *y; /* made for measuring only */
    spmv_build_hints hints;
} measurer;

/* chosen: how to choose, or NULL. */
int measurer_make(measurer *me, tool *t, const spmv_desc *desc, const spmv_build_hints *chosen);

/* A zeroed measurer is fine as well. */
void measurer_free(measurer *me);

/* --refine, --calls, --table; table is freed by the caller. */
int plan_options(tool *t, const arguments *a, spmv_build_hints *hints, spmv_tuning *table);

#endif
