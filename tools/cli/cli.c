/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include "../library.h"

#include "spmv.h"
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- messages ---------------------------------------------------------------------------------------------------- */

double cli_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void cli_progress_clear(tool *t)
{
    if (t->drawn) fputs("\r\033[K", stderr);
    t->drawn = 0;
}

void cli_progress_begin(tool *t)
{
    cli_progress_clear(t);
    t->since = t->last = cli_seconds();
}

/* 1: it is time to report progress: on a terminal after the first second and then ten times a second, elsewhere every
 * PROGRESS_LINE_SECONDS. */
static int cli_progress_due(const tool *t)
{
    double now = cli_seconds();
    if (!t->terminal) return now - t->told >= PROGRESS_LINE_SECONDS;
    return now - t->since >= 1.0 && now - t->last >= 0.1;
}

/* On a terminal replaces the progress line, elsewhere prints a line. */
LIKE_PRINTF(2, 3) static void cli_progress_say(tool *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (t->terminal) fputc('\r', stderr);
    else fprintf(stderr, "spmv %s: ", t->command);
    vfprintf(stderr, format, list);
    fputs(t->terminal ? "\033[K" : "\n", stderr);
    fflush(stderr);
    va_end(list);
    t->drawn = t->terminal;
    t->last = t->told = cli_seconds();
}

void cli_progress_name(tool *t, const char *what, const char *name)
{
    cli_progress_begin(t);
    if (t->terminal || cli_progress_due(t)) cli_progress_say(t, "%s %.60s ...", what, name);
}

void cli_progress(tool *t, const char *what, double part)
{
    if (!cli_progress_due(t)) return;
    if (part < 0) cli_progress_say(t, "%.60s ... %.0f s", what, cli_seconds() - t->since);
    else cli_progress_say(t, "%.60s ... %3.0f%%", what, 100 * (part > 1 ? 1 : part));
}

int cli_complain(tool *t, const char *format, ...)
{
    va_list list;
    cli_progress_clear(t);
    if (t->about) fprintf(stderr, "spmv: %s: ", t->about);
    else fprintf(stderr, "spmv %s: ", t->command);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    return FAILED;
}

/* Reports what was wrong with the arguments, and the command and option that help. */
static void misuse(const tool *t, const char *command, const char *option, const char *format, va_list list)
{
    fprintf(stderr, "spmv %s: ", t->command);
    vfprintf(stderr, format, list);
    fprintf(stderr, "; see spmv %s %s\n", command, option);
}

int cli_misuse(tool *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    misuse(t, t->command, "--help", format, list);
    va_end(list);
    return USAGE;
}

int cli_misplan(tool *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    misuse(t, "plan", "--list", format, list);
    va_end(list);
    return USAGE;
}

int cli_no_memory(tool *t)
{
    return cli_complain(t, "memory could not be allocated");
}

/* spmv_hooks.log: prints a message of the library, or adds it to t->text. */
static void cli_hear(void *user, spmv_status s, const char *message)
{
    tool *t = (tool *)user;
    size_t used = strlen(t->text);
    (void)s;
    if (t->silent) return;
    if (!t->keep) cli_complain(t, "%s", message);
    else if (used + 3 < sizeof t->text)
        snprintf(t->text + used, sizeof t->text - used, "%s%s", used ? "; " : "", message);
}

/* spmv_hooks.phase: adds the time since the last call to the phase that ends. */
static void cli_phase(void *user, spmv_phase p)
{
    tool *t = (tool *)user;
    double now = cli_seconds();
    t->spent[t->phase] += now - t->phase_since;
    t->phase = p;
    t->phase_since = now;
}

void cli_phases_begin(tool *t)
{
    int i;
    for (i = 0; i < SPMV_PHASE_COUNT; i++) t->spent[i] = 0;
    t->phase = SPMV_PHASE_NONE;
    t->phase_since = cli_seconds();
    t->peak = t->held;
    t->device_peak = t->device_held;
}

/* spmv_hooks.resize: keeps the size of each block before it, so that t->held is what the library holds. */
static void *cli_resize(void *user, void *block, size_t bytes)
{
    enum { BEFORE = 64 /* bytes: keeps the alignment of the block */ };
    tool *t = (tool *)user;
    unsigned char *at = block ? (unsigned char *)block - BEFORE : NULL;
    size_t before = 0;
    if (at) memcpy(&before, at, sizeof before);
    if (!bytes) {
        free(at);
        t->held -= before;
        return NULL;
    }
    if (bytes > SIZE_MAX - BEFORE) return NULL;
    at = (unsigned char *)(at ? realloc(at, bytes + BEFORE) : library_large_block(bytes + BEFORE));
    if (!at) return NULL;
    memcpy(at, &bytes, sizeof bytes);
    t->held += bytes - before;
    if (t->held > t->peak) t->peak = t->held;
    return at + BEFORE;
}

void cli_init(tool *t, const char *command)
{
    memset(t, 0, sizeof *t);
    t->command = command;
    t->terminal = isatty(STDERR_FILENO);
    t->told = cli_seconds();
#ifdef SIGXFSZ
    signal(SIGXFSZ, SIG_IGN); /* so that a file larger than the limit is a write error, as on a full disk */
#endif
    t->hooks.user = t;
    t->hooks.log = cli_hear;
    t->hooks.phase = cli_phase;
    t->hooks.resize = cli_resize;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

size_t cli_utf8_length(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t n = *c < 0x80 ? 1 : *c >= 0xc2 && *c < 0xe0 ? 2 : *c >= 0xe0 && *c < 0xf0 ? 3 : *c >= 0xf0 && *c < 0xf5 ? 4 : 0, i;
    for (i = 1; i < n; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    if ((*c == 0xe0 && c[1] < 0xa0) || (*c == 0xed && c[1] > 0x9f)) return 0; /* an overlong form; half a surrogate pair */
    if ((*c == 0xf0 && c[1] < 0x90) || (*c == 0xf4 && c[1] > 0x8f)) return 0; /* an overlong form; beyond Unicode */
    return n;
}

/* ---- standard output --------------------------------------------------------------------------------------------- */

int cli_finish(tool *t, int result)
{
    t->about = NULL;
    if (fflush(stdout) != 0 || ferror(stdout)) return cli_complain(t, "standard output: %s", strerror(errno));
    return result;
}
