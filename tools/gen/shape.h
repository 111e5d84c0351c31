/* SPDX-License-Identifier: MIT
 *
 * tools/gen/shape.h - finds out which loops of an access enumerate rows, slots and the elements of blocks.
 */
#ifndef SPMV_TOOLS_GEN_SHAPE_H
#define SPMV_TOOLS_GEN_SHAPE_H

#include "tools/gen/report.h"
#include "tools/gen/tree.h"

/* Sets part->shape; its members row_let, col_let and val_let are set already. Reports an error if a declared strip is not one. */
void shape_of(tree_format *f, tree_part *part, report *errors);

#endif
