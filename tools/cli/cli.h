/* SPDX-License-Identifier: MIT
 *
 * tools/cli/cli.h - what every command shares: messages, progress, the clock, exit statuses.
 */
#ifndef SPMV_TOOLS_CLI_CLI_H
#define SPMV_TOOLS_CLI_CLI_H

#include "spmv.h"
#include <stddef.h>
#include <stdio.h>

/* Exit statuses, which --help documents. */
enum { DONE = 0, FAILED = 1, USAGE = 2 };

#if defined(__GNUC__)
#  define LIKE_PRINTF(text, rest) __attribute__((format(printf, text, rest)))
#else
#  define LIKE_PRINTF(text, rest)
#endif

/* The state of one run of a command. Every function that prints, reports progress or may fail takes it as its first argument. */
typedef struct tool {
    const char *command;
    const char *about;     /* the file or plan that messages begin with; NULL: the command */
    int         keep;      /* 1: messages of the library are collected in text instead of printed */
    char        text[2048];
    int         silent;    /* 1: messages of the library are dropped, because a better one was printed */
    spmv_hooks  hooks;     /* for every library call */
    int         terminal;  /* 1: stderr is a terminal, so progress may be drawn */
    int         drawn;     /* 1: the terminal shows a progress line */
    double      since;     /* when the current work began, seconds */
    double      last;      /* when progress was last drawn */
    double      told;      /* without a terminal: when a progress line was last printed, or the program began */
    uint64_t    max_dim;   /* the most rows and columns that files may have; 0: the default of spmv_mm_options */
    int         transpose; /* 1: matrices that are read are replaced by their transposes */
    int         events;    /* 1: products on devices are timed one by one by events; 0: many in a row by the clock */
    int         graph;     /* 1: products in a row are recorded in a CUDA graph (../measure/graph.h) */
    const char *cache;     /* the folder in which the programs of devices are kept; NULL: they are not */
    double      spent[SPMV_PHASE_COUNT]; /* seconds in each phase of preparing since cli_phases_begin */
    spmv_phase  phase;     /* the current one, and when it began */
    double      phase_since;
    uint64_t    held, peak; /* bytes that the library holds; the most since cli_phases_begin */
    uint64_t    device_held, device_peak; /* the same in buffers of a device (device_count_memory), the most while a phase goes on */
    int         cold;      /* 1: the device's caches are filled with other data before each product that is timed */
} tool;

/* Seconds since some fixed moment, by a clock that never runs backwards. */
double cli_seconds(void);

/* The number of bytes of the UTF-8 character at text; 0: the bytes are not UTF-8. */
size_t cli_utf8_length(const char *text);

/* Removes the progress line from the terminal, if there is one. */
void cli_progress_clear(tool *t);

/* Begins a piece of work, from which the progress counts. */
void cli_progress_begin(tool *t);

enum { PROGRESS_LINE_SECONDS = 30 }; /* without a terminal: often enough to show in a log that work goes on, without filling it */

/* Begins work whose progress is unknown; a terminal shows its name at once. */
void cli_progress_name(tool *t, const char *what, const char *name);

/* Reports "what part%" if it is due. part is from 0 to 1, or below 0 if it is unknown. */
void cli_progress(tool *t, const char *what, double part);

/* Prints a message, one line on stderr. Returns FAILED. */
LIKE_PRINTF(2, 3) int cli_complain(tool *t, const char *format, ...);

/* Prints a message about a mistake in the command line. Returns USAGE. */
LIKE_PRINTF(2, 3) int cli_misuse(tool *t, const char *format, ...);

/* Prints a message about a mistake in a plan or in the name of a format, and where the names are listed. Returns USAGE. */
LIKE_PRINTF(2, 3) int cli_misplan(tool *t, const char *format, ...);

/* Prints that memory ran out. Returns FAILED. */
int cli_no_memory(tool *t);

/* Begins to measure how a matrix is prepared: sets t->spent to 0 and the peaks to what the library holds already. */
void cli_phases_begin(tool *t);

/* Begins a run of a command: t->hooks report to t. Nothing needs to be freed. */
void cli_init(tool *t, const char *command);

/* Ends a run: flushes stdout, because a full disk must not look like success. Returns result, or FAILED if that fails. */
int cli_finish(tool *t, int result);

#endif
