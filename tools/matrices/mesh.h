/* SPDX-License-Identifier: MIT
 *
 * tools/matrices/mesh.h - draws meshes, and the Hamiltonians of electrons on a grid with atoms, that imitate given matrices.
 */
#ifndef SPMV_TOOLS_MATRICES_MESH_H
#define SPMV_TOOLS_MATRICES_MESH_H

#include "draw.h"

/* Draws a matrix by a recipe of the sort MESH. */
void mesh_draw(sketch *p, const recipe *r);

/* Draws a matrix by a recipe of the sort ATOMS. */
void mesh_draw_atoms(sketch *p, const recipe *r);

#endif
