/* SPDX-License-Identifier: MIT
 *
 * tools/matrices/mesh.h - meshes, and electrons on a grid with atoms, in the likeness of a matrix.
 */
#ifndef SPMV_TOOLS_MATRICES_MESH_H
#define SPMV_TOOLS_MATRICES_MESH_H

#include "draw.h"

/* A recipe of a mesh, drawn whole. */
void mesh_draw(sketch *p, const recipe *r);

/* A recipe of a grid with atoms, drawn whole. */
void mesh_draw_atoms(sketch *p, const recipe *r);

#endif
