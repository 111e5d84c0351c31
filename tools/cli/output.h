/* SPDX-License-Identifier: MIT
 *
 * tools/cli/output.h - writes files so that they are either complete or unchanged.
 *
 * The new file is written under a temporary name in the folder of the old one and renamed once all of it is on the disk. Until then
 * the old file is unchanged: it may be the only copy of the data that is being written. After a failure or a signal no temporary file
 * is left. Standard output, pipes and devices cannot be replaced and are written to directly.
 */
#ifndef SPMV_TOOLS_CLI_OUTPUT_H
#define SPMV_TOOLS_CLI_OUTPUT_H

#include "cli.h"
#include <stddef.h>

/* An output that is open. */
typedef struct output {
    tool       *t;
    const char *name;    /* for messages */
    int         handle;  /* a descriptor, -1: none */
    char       *target;  /* the file that is to be replaced, with links resolved; NULL: handle writes to the output itself */
    char       *beside;  /* the temporary file */
} output;

/* 1: path is a regular file, or does not exist yet, so that a rename can replace it. */
int output_is_file(const char *path);

/* Prints the error in errno as a message about this output. Returns FAILED. */
int output_trouble(const output *o);

/* Opens path for writing through o->handle; NULL or - is standard output. DONE, or FAILED after a message. */
int output_open(output *o, tool *t, const char *path);

/* Closes the output; result is that of the writing so far. If it is DONE, the file takes its place; otherwise it is removed. Returns
 * DONE, or FAILED after a message. */
int output_close(output *o, int result);

/* Writes data as a whole file. DONE, or FAILED after a message. */
int output_save(tool *t, const char *path, const void *data, size_t bytes);

#endif
