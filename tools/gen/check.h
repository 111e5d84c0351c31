/* SPDX-License-Identifier: MIT
 *
 * tools/gen/check.h - the meaning of a parsed description: names, constants, folding, and the shape of each access.
 */
#ifndef SPMV_TOOLS_GEN_CHECK_H
#define SPMV_TOOLS_GEN_CHECK_H

#include "tools/gen/backend.h"
#include "tools/gen/report.h"
#include "tools/gen/tree.h"

/* Checks the tree of front_parse and fills in what tree.h says is set by check.c. Settings that are constants of the description are
 * marked as used. Returns 0, or -1 after errors. */
int check_format(tree_format *f, backend_settings *set, report *errors);

#endif
