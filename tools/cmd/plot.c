/* SPDX-License-Identifier: MIT
 *
 * tools/cmd/plot.c - spmv plot: selects the picture to draw.
 */
#include "../cli/cli.h"
#include "../cli/options.h"
#include "commands.h"
#ifdef SPMV_CAIRO
#  include "../picture/bars.h"
#  include "../picture/matrix.h"
#  include "../picture/picture.h"
#  include "../picture/predicted.h"
#  include "../picture/rows.h"
#endif
#include <string.h>

#ifdef SPMV_CAIRO
/* 1: the first argument is this word, which selects a picture. A single argument is always a file's name. */
static int plot_is(const arguments *args, const char *word)
{
    return args->files > 1 && !strcmp(args->file[0], word);
}

int plot_command(tool *t, const arguments *args)
{
    int result = picture_name(t, args->value[OPT_OUT]);
    if (result != DONE) return result;
    if (plot_is(args, "bench")) return plot_bench(t, args);
    if (plot_is(args, "ratio")) return plot_ratio(t, args);
    if (args->value[OPT_CAPTION]) return cli_misuse(t, "--caption is for plot bench and plot ratio");
    if (plot_is(args, "predicted") && args->files == 3) return plot_predicted(t, args);
    if (plot_is(args, "rows") && args->files == 2) return plot_rows(t, args);
    if (args->files > 1) return cli_misuse(t, "unexpected argument '%s'", args->file[args->files - 1]);
    return plot_matrix(t, args);
}
#else
int plot_command(tool *t, const arguments *args)
{
    (void)args;
    return cli_complain(t, "this program was built without cairo, which plot requires; install it (Debian: libcairo2-dev, pkg-config) "
                           "and build again");
}
#endif
