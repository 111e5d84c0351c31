/* SPDX-License-Identifier: MIT
 *
 * matspmv.h - the PETSc matrix type "spmv": an AIJ matrix whose products are computed by spmv.h. README.md, beside this file, shows how to
 * build and use it.
 *
 * The type is a subclass of AIJ, as PETSc's own types aijperm and aijmkl are: "seqaijspmv" on one process, "mpiaijspmv" on several, and
 * "spmv" stands for whichever fits. Everything but MatMult, MatMultTranspose, both with Add, and MatView is AIJ's: assembly,
 * preconditioners, factorizations, MatGetDiagonal, products of matrices, communication. The transpose is stored besides, as auto chooses,
 * when it is first multiplied.
 */
#ifndef MATSPMV_H
#define MATSPMV_H

#include <petscmat.h>

#define MATSPMV    "spmv"
#define MATSEQSPMV "seqaijspmv"
#define MATMPISPMV "mpiaijspmv"

/* Makes the type known to PETSc. Collective on PETSC_COMM_WORLD; call it once, after PetscInitialize. Then MatSetType(A, MATSPMV),
 * MatConvert(A, MATSPMV, ...) and -mat_type spmv work as with any other type. A program that cannot be changed loads the type by the
 * option -dll_append libmatspmv.so instead.
 *
 * These options are read when a matrix is first multiplied, with the prefix of the matrix if it has one:
 *   -spmv_plan TEXT        how the diagonal block, or a matrix on one process, is stored: a plan, a builder or auto (spmv.h); default auto
 *   -spmv_off_plan TEXT    the same for the off-diagonal block, which multiplies what comes from other processes; default auto
 *   -spmv_device LIST      where the product with the diagonal block runs: host (the default) or a device as in spmv_device_desc.which,
 *                          for example 0, gpu or cuda:0. Of several, separated by commas, process i of each node takes number i, and it
 *                          begins again at the first when they run out
 *   -spmv_off_device LIST  the same for the off-diagonal block; default host
 *   -spmv_calls N          how many products must pay for the choice and the conversion; default 0, very many
 *
 * Errors of the library become PETSc errors that contain its message. */
PETSC_EXTERN PetscErrorCode MatRegisterSpmv(void);

#endif
