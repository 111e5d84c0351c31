/* SPDX-License-Identifier: MIT
 *
 * tools/cli/cli.c: messages of progress on a terminal and elsewhere. Linked with this module of tools/.
 */
#include "tools/cli/cli.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct caught {
    FILE *file;
    int   before; /* what stderr was */
    char  text[4096];
} caught;

static void catch_stderr(caught *c)
{
    memset(c, 0, sizeof *c);
    c->file = tmpfile();
    cr_assert_not_null(c->file);
    fflush(stderr);
    c->before = dup(STDERR_FILENO);
    cr_assert_geq(c->before, 0);
    cr_assert_geq(dup2(fileno(c->file), STDERR_FILENO), 0);
}

static void release_stderr(caught *c)
{
    size_t n;
    fflush(stderr);
    cr_assert_geq(dup2(c->before, STDERR_FILENO), 0);
    close(c->before);
    rewind(c->file);
    n = fread(c->text, 1, sizeof c->text - 1, c->file);
    c->text[n] = 0;
    fclose(c->file);
}

/* If stderr is not a terminal, a line every half minute, however often progress is reported. */
Test(tools, progress_off_a_terminal_is_a_line_now_and_then)
{
    tool t;
    caught c;
    int i;
    cli_init(&t, "tune");
    t.terminal = 0;
    catch_stderr(&c);
    cli_progress_begin(&t);
    for (i = 0; i < 1000; i++) cli_progress(&t, "early", 0.1);
    t.told -= PROGRESS_LINE_SECONDS;
    for (i = 0; i < 1000; i++) cli_progress(&t, "grid", 0.25);
    cli_progress_name(&t, "making", "soon");
    t.told -= PROGRESS_LINE_SECONDS;
    cli_progress_name(&t, "making", "arrow_5");
    t.told -= PROGRESS_LINE_SECONDS - 1;
    cli_progress(&t, "nearly", 0.3);
    t.told -= 1;
    cli_progress(&t, "unknown", -1);
    cli_progress_clear(&t);
    release_stderr(&c);
    cr_assert_str_eq(c.text, "spmv tune: grid ...  25%\nspmv tune: making arrow_5 ...\nspmv tune: unknown ... 0 s\n");
}

/* On a terminal, one line that is overwritten, after the first second and at most ten times a second. */
Test(tools, progress_on_a_terminal_is_drawn_over)
{
    tool t;
    caught c;
    int i;
    cli_init(&t, "tune");
    t.terminal = 1;
    catch_stderr(&c);
    cli_progress_begin(&t);
    cli_progress(&t, "early", 0.1);
    t.since -= 2;
    t.last -= 2;
    for (i = 0; i < 100; i++) cli_progress(&t, "grid", 0.25);
    cli_progress_name(&t, "making", "arrow_5");
    cli_progress_clear(&t);
    release_stderr(&c);
    cr_assert_str_eq(c.text, "\rgrid ...  25%\033[K\r\033[K\rmaking arrow_5 ...\033[K\r\033[K");
}
