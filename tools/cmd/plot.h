/* SPDX-License-Identifier: MIT
 *
 * tools/cmd/plot.h - spmv plot. Part of tools/spmv.c.
 */
#ifndef SPMV_TOOLS_PICTURES_H
#define SPMV_TOOLS_PICTURES_H

#ifdef SPMV_CAIRO

#  include "../picture/bars.h"
#  include "../picture/heat.h"
#  include "../picture/rows.h"

/* The first word that says what to draw; by itself it is a file's name. */
static int plot_is(const arguments *args, const char *word)
{
    return args->files > 1 && !strcmp(args->file[0], word);
}

static int plot_command(tool *t, const arguments *args)
{
    int result = picture_name(t, args->value[OPT_OUT]);
    if (result != DONE) return result;
    if (plot_is(args, "bench")) return plot_bench(t, args);
    if (plot_is(args, "ratio")) return plot_ratio(t, args);
    if (args->value[OPT_CAPTION]) return misuse(t, "--caption is for plot bench and plot ratio");
    if (plot_is(args, "tune") && args->files == 2) return plot_tune(t, args);
    if (plot_is(args, "rows") && args->files == 2) return plot_rows(t, args);
    if (args->files > 1) return misuse(t, "one argument too many: '%s'", args->file[args->files - 1]);
    return plot_matrix(t, args);
}

#else

static int plot_command(tool *t, const arguments *args)
{
    (void)args;
    return complain(t, "this spmv was built without cairo, which draws; install it (Debian: libcairo2-dev, pkg-config) and build again");
}

#endif
#endif
