/* SPDX-License-Identifier: MIT
 *
 * tools/gen/backend.h - what spmvgen knows of a back end: its name, its options and the function that writes code.
 */
#ifndef SPMV_TOOLS_GEN_BACKEND_H
#define SPMV_TOOLS_GEN_BACKEND_H

#include "tools/gen/tree.h"
#include <stdio.h>

/* One --set OPTION=VALUE of the command line; the last of those with the same name counts. */
typedef struct backend_setting {
    const char *name, *value;
    int         used;       /* 1: it set a constant of the description or an option of the back end */
} backend_setting;

typedef struct backend_settings {
    backend_setting *set;
    int              count;
} backend_settings;

/* One option of a back end. */
typedef struct backend_option {
    const char *name, *usual; /* usual: the value without --set */
    const char *values;       /* the values that it accepts, separated by blanks; "*" is any text */
    const char *what;         /* for --help */
} backend_option;

typedef struct backend {
    const char *name;              /* for --target */
    const char *what;              /* for --help */
    const backend_option *options; /* ends with a zeroed one */
    /* Writes the code for a checked tree. Returns 0, or -1 after a message on stderr that says why the options do not fit. */
    int (*emit)(const tree_format *f, const backend_settings *set, FILE *out);
    /* Prints the combinations of options that are legal for the description, one a line, as they would be given to --set. */
    void (*list)(const tree_format *f, const backend_settings *set, FILE *out);
    /* Prints in English what the generated code will read, and how. */
    void (*explain)(const tree_format *f, const backend_settings *set, FILE *out);
} backend;

/* 1 if the option accepts the value. */
int backend_accepts(const backend_option *o, const char *value);
/* The value that --set gives the option, or its usual one. Never NULL if the option is one of the back end. */
const char *backend_value(const backend *b, const backend_settings *set, const char *option);

/* The back ends, each in a source of its own; spmvgen.c lists them. */
extern const backend emit_c_backend, emit_cl_backend, emit_cuda_backend, emit_library_backend;

#endif
