/* SPDX-License-Identifier: MIT
 *
 * tools/cli/output.h - where every command writes: files that are whole or as they were before.
 *
 * A file is written beside the one that it replaces, under a name of its own, and renamed when all of it is on the disk.
 * Until then the old file is as it was, which may be the only copy of what is being written; after a failure, or a
 * signal, nothing is left. What cannot be replaced is written to directly: standard output, pipes, devices.
 */
#ifndef SPMV_TOOLS_CLI_OUTPUT_H
#define SPMV_TOOLS_CLI_OUTPUT_H

#include "cli.h"
#include <stddef.h>

typedef struct output {
    tool       *t;
    const char *name;    /* for messages */
    int         handle;  /* a descriptor, -1: none */
    char       *target;  /* the file that is replaced in the end, links followed; NULL: handle is the place itself */
    char       *beside;  /* what is renamed to it */
} output;

/* 1: path is a file, or will be one, that can be replaced by another. */
int output_is_file(const char *path);

/* Complains of errno for this output. Returns FAILED. */
int output_trouble(const output *o);

/* Opens what path names for writing to o->handle; NULL or - is standard output. */
int output_open(output *o, tool *t, const char *path);

/* Ends the writing; result is what came of it so far. Where that is DONE, the file is put in its place, else removed. */
int output_close(output *o, int result);

/* Writes what is in memory as a whole file. */
int output_save(tool *t, const char *path, const void *data, size_t bytes);

#endif
