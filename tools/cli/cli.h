/* SPDX-License-Identifier: MIT
 *
 * tools/cli/cli.h - what every command shares: messages, progress, the clock, exit statuses.
 */
#ifndef SPMV_TOOLS_CLI_CLI_H
#define SPMV_TOOLS_CLI_CLI_H

#include "spmv.h"
#include <stdio.h>

/* Exit statuses, promised in --help. */
enum { DONE = 0, FAILED = 1, USAGE = 2 };

#if defined(__GNUC__)
#  define LIKE_PRINTF(text, rest) __attribute__((format(printf, text, rest)))
#else
#  define LIKE_PRINTF(text, rest)
#endif

typedef struct tool {
    const char *command;
    const char *about;     /* the file or plan that messages speak of; NULL: the command */
    int         keep;      /* 1: what the library says is kept in text, to be printed in the plan's own line */
    char        text[2048];
    int         silent;    /* 1: what the library says was said before, and better */
    spmv_hooks  hooks;     /* of every library call */
    int         terminal;  /* 1: stderr is a terminal, so progress may be drawn */
    int         drawn;     /* 1: a progress line stands there */
    double      since;     /* when the present piece of work began, seconds */
    double      last;      /* when progress was last drawn */
    double      told;      /* off a terminal: when a line of progress was last printed, or the program began */
    uint64_t    max_dim;   /* most rows and columns that files may have, 0: as spmv_mm_options says */
    int         events;    /* 1: devices are timed by the events of one product; 0: by the clock, over products that follow each other */
    int         cold;      /* 1: what is timed finds the device's caches full of something else */
} tool;

/* Seconds of a clock that only runs forward, from some moment on. */
double cli_seconds(void);

/* Takes the progress line off the terminal, if one stands there. */
void cli_progress_clear(tool *t);

/* A piece of work begins: progress counts from here. */
void cli_progress_begin(tool *t);

enum { PROGRESS_LINE_SECONDS = 30 }; /* off a terminal a log should show that work goes on, and not fill */

/* 1: progress may be told now: on a terminal after the first second and ten times a second, elsewhere a line now and then. */
int cli_progress_due(const tool *t);

/* Begins work that cannot say how far it is, so that a terminal shows its name at once. */
void cli_progress_name(tool *t, const char *what, const char *name);

/* Tells "what part%" (part < 0: unknown) if it is time to. */
void cli_progress(tool *t, const char *what, double part);

/* One line on stderr; returns FAILED. */
LIKE_PRINTF(2, 3) int cli_complain(tool *t, const char *format, ...);

/* A mistake in the command line; returns USAGE. */
LIKE_PRINTF(2, 3) int cli_misuse(tool *t, const char *format, ...);

/* Complains that memory ran out. Returns FAILED. */
int cli_no_memory(tool *t);

/* The state of one run of a command; t->hooks then reports to t. Nothing needs to be freed. */
void cli_init(tool *t, const char *command);

/* Flushes stdout: a full disk must not look like success. */
int cli_finish(tool *t, int result);

#endif
