/* SPDX-License-Identifier: MIT
 *
 * tools/cli/cli.c: messages of progress on a terminal and elsewhere; tools/tune/candidates.c: what spmv tune measures first. Linked with
 * these modules of tools/; what candidates.c needs of others for measuring is left out here.
 */
#include "tools/cli/cli.h"
#include "tools/tune/candidates.h"
#include "tools/tune/journal.h"
#include "tools/tune/table.h"

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

/* There is no journal. */
void journal_recall_candidate(tuner *u, candidate *c)
{
    (void)u;
    (void)c;
}

int table_row_is(const spmv_tune_row *a, const spmv_tune_row *b)
{
    return a->type == b->type && a->kind == b->kind && !memcmp(&a->layout, &b->layout, sizeof a->layout) && !strcmp(a->variant, b->variant);
}

void table_row_name(const spmv_tune_row *r, char *out, size_t size)
{
    (void)r;
    if (size) *out = 0;
}

int64_t table_row_class(const spmv_tune_row *r) { return r->layout.key[SPMV_KEY_B]; }

int table_row_has_blocks(const spmv_tune_row *r) { return r->layout.key[SPMV_KEY_B] != 0; }

/* The round of a format's layout with blocks of that size, or -1. */
static int round_of_blocks(const tuner *u, spmv_format format, int64_t height, int64_t width)
{
    size_t i;
    for (i = 0; i < u->count; i++) {
        const spmv_spec *s = &u->c[i].row.layout;
        if (s->format == format && s->key[SPMV_KEY_B] == (height << 8 | width) && !s->key[SPMV_KEY_IDX]) return u->c[i].round;
    }
    return -1;
}

/* The candidates follow one another by rounds, and the first round has a layout of every format, so that a short run sees all of them. Of
 * blocks, the square ones come first, from the small to the large. */
Test(tools, tune_begins_with_the_first_layouts_of_every_format)
{
    static const spmv_format blocks[] = {SPMV_BELL, SPMV_SBELL, SPMV_BCSR};
    int seen[SPMV_FORMAT_COUNT] = {0}, f;
    tool t;
    tuner *u = (tuner *)calloc(1, sizeof *u);
    size_t i;
    cr_assert_not_null(u);
    cli_init(&t, "tune");
    u->t = &t;
    candidate_add_layouts(u);
    for (i = 0; i < u->count; i++) {
        cr_assert(u->c[i].round >= 0 && u->c[i].round < u->rounds);
        cr_assert(!i || u->c[i].round >= u->c[i - 1].round);
        if (!u->c[i].round) seen[u->c[i].row.layout.format] = 1;
    }
    for (f = 0; f < SPMV_FORMAT_COUNT; f++) cr_assert(seen[f], "%s has no layout in the first round", spmv_format_name((spmv_format)f));
    for (f = 0; f < 3; f++) {
        cr_assert_eq(round_of_blocks(u, blocks[f], 2, 2), 0);
        cr_assert_lt(round_of_blocks(u, blocks[f], 3, 3), round_of_blocks(u, blocks[f], 4, 4));
        cr_assert_lt(round_of_blocks(u, blocks[f], 8, 8), round_of_blocks(u, blocks[f], 1, 4));
    }
    for (i = 0; i < u->count; i++) free(u->c[i].row.rate);
    free(u->c);
    free(u);
}
