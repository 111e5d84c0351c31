/* SPDX-License-Identifier: MIT
 *
 * tools/cmd/plot.c - spmv plot: selects the picture to draw.
 */
#include "../cli/cli.h"
#include "../cli/options.h"
#include "commands.h"
#include "../picture/matrix.h"
#include "../picture/picture.h"
#include "../picture/predicted.h"
#include "../picture/rows.h"
#include <stdlib.h>
#include <string.h>

/* 1: the first argument is this word, which selects a picture. A single argument is always a file's name. */
static int plot_is(const arguments *args, const char *word)
{
    return args->files > 1 && !strcmp(args->file[0], word);
}

/* plot bench and plot ratio: plot.py reads the lines itself. */
static int plot_lines(picture *p, const arguments *args)
{
    const char **words;
    int i, result;
    if (args->plans > 1) return cli_misuse(p->t, "only one --plan can be given");
    words = (const char **)calloc((size_t)args->files + 3, sizeof *words);
    if (!words) return cli_no_memory(p->t);
    words[0] = args->file[0];
    words[1] = args->plans ? args->plan[0] : "";
    words[2] = args->value[OPT_CAPTION] ? args->value[OPT_CAPTION] : "";
    for (i = 1; i < args->files; i++) words[i + 2] = args->file[i];
    result = picture_draw(p, words);
    free(words);
    return result;
}

int plot_command(tool *t, const arguments *args)
{
    picture p;
    int result = picture_begin(&p, t, args->value[OPT_OUT]);
    if (result != DONE) return result;
    if (plot_is(args, "bench") || plot_is(args, "ratio")) return plot_lines(&p, args);
    if (args->value[OPT_CAPTION]) return cli_misuse(t, "--caption is for plot bench and plot ratio");
    if (plot_is(args, "predicted") && args->files == 3) return plot_predicted(&p, args);
    if (plot_is(args, "rows") && args->files == 2) return plot_rows(&p, args);
    if (args->files > 1) return cli_misuse(t, "unexpected argument '%s'", args->file[args->files - 1]);
    return plot_matrix(&p, args);
}
