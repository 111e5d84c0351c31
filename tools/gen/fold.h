/* SPDX-License-Identifier: MIT
 *
 * tools/gen/fold.h - works out what is known of expressions when code is generated.
 */
#ifndef SPMV_TOOLS_GEN_FOLD_H
#define SPMV_TOOLS_GEN_FOLD_H

#include "tools/gen/report.h"
#include "tools/gen/tree.h"

/* Folds an expression whose operands are folded: returns a number, one of its operands, or e itself. Reports an error for a quotient,
 * shift or overflow that no matrix could make valid. */
tree_expr *fold(tree_format *f, tree_expr *e, report *errors);

/* Returns 1 and sets *out to b - a, if that is the same for every matrix. */
int fold_difference(const tree_expr *b, const tree_expr *a, int64_t *out);

#endif
