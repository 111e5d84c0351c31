/* SPDX-License-Identifier: MIT
 *
 * ex_grid.c - a program in the manner of PETSc's tutorials: solves A x = b by KSP, where A is the five-point Laplacian of an m x n grid or
 * is read from a file, and b is the product of A and a vector of ones. The only line that concerns spmv is MatRegisterSpmv; the option
 * -mat_type spmv does the rest. README.md has the command that compiles it.
 *
 *     mpirun -n 2 ./ex_grid -m 1000 -n 1000 -mat_type spmv -ksp_type cg -pc_type jacobi -products 100
 *
 *   -m M -n N      the grid; default 100 x 100
 *   -f FILE        a Matrix Market file instead; every process reads all of it and keeps its rows
 *   -products N    time N products before the system is solved
 *   -systems N     solve N systems with the same pattern, each with 1 added to the diagonal of the one before; default 1
 */
#define SPMV_STATIC
#define SPMV_IMPLEMENTATION
#include "spmv_io.h"

#include "matspmv.h"
#include <petscksp.h>
#include <petsctime.h>

static char help[] = "Solves a linear system with a grid's matrix or one from a file; -mat_type spmv multiplies by spmv.h.\n";

/* The rows of the grid's matrix that belong to this process, entry by entry. */
static PetscErrorCode Grid(Mat A, PetscInt m, PetscInt n)
{
    PetscInt first, last, row;
    PetscFunctionBeginUser;
    PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, m * n, m * n));
    PetscCall(MatSetFromOptions(A));
    PetscCall(MatSeqAIJSetPreallocation(A, 5, NULL));
    PetscCall(MatMPIAIJSetPreallocation(A, 5, NULL, 2, NULL));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    for (row = first; row < last; row++) {
        PetscInt    i = row / n, j = row % n, count = 0, col[5];
        PetscScalar val[5];
        if (i > 0) { col[count] = row - n; val[count++] = -1; }
        if (j > 0) { col[count] = row - 1; val[count++] = -1; }
        col[count] = row; val[count++] = 4;
        if (j < n - 1) { col[count] = row + 1; val[count++] = -1; }
        if (i < m - 1) { col[count] = row + n; val[count++] = -1; }
        PetscCall(MatSetValues(A, 1, &row, count, col, val, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* The rows of a file's matrix that belong to this process. */
static PetscErrorCode File(Mat A, const char *path)
{
    spmv_csr    a;
    spmv_status s;
    PetscInt    rows = PETSC_DECIDE, cols = PETSC_DECIDE, all_rows, all_cols, first, i, *ptr, *col;
    size_t      begin;
    PetscFunctionBeginUser;
    s = spmv_mm_read_file(&a, path, NULL, NULL, NULL);
    PetscCheck(!s, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s: %s", path, spmv_status_text(s));
    all_rows = (PetscInt)a.rows;
    all_cols = (PetscInt)a.cols;
    PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &rows, &all_rows));
    PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &cols, &all_cols));
    PetscCallMPI(MPI_Scan(&rows, &first, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
    first -= rows;
    begin = (size_t)a.ptr[first];
    PetscCall(PetscMalloc2(rows + 1, &ptr, (size_t)a.ptr[first + rows] - begin, &col));
    for (i = 0; i <= rows; i++) ptr[i] = (PetscInt)(a.ptr[first + i] - begin);
    for (i = 0; i < ptr[rows]; i++) col[i] = (PetscInt)a.col[begin + (size_t)i];
    PetscCall(MatSetSizes(A, rows, cols, all_rows, all_cols));
    PetscCall(MatSetFromOptions(A));
    PetscCall(MatSeqAIJSetPreallocationCSR(A, ptr, col, (const PetscScalar *)a.val + begin));
    PetscCall(MatMPIAIJSetPreallocationCSR(A, ptr, col, (const PetscScalar *)a.val + begin));
    PetscCall(PetscFree2(ptr, col));
    spmv_csr_destroy(&a);
    PetscFunctionReturn(0);
}

/* Times products one after another, after two that are not timed: the first prepares the matrix. */
static PetscErrorCode Time(Mat A, Vec x, Vec y, PetscInt products)
{
    PetscLogDouble begun, ended;
    PetscInt       i;
    MatType        type;
    PetscFunctionBeginUser;
    for (i = 0; i < 2; i++) PetscCall(MatMult(A, x, y));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&begun));
    for (i = 0; i < products; i++) PetscCall(MatMult(A, x, y));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&ended));
    PetscCall(MatGetType(A, &type));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %.1f us a product\n", type, 1e6 * (ended - begun) / (double)products));
    PetscFunctionReturn(0);
}

/* Solves A x = b, where the solution is known, and prints how well and how fast that went. */
static PetscErrorCode Solve(KSP ksp, Mat A, Vec x, Vec b, Vec solution)
{
    PetscLogDouble begun, ended;
    PetscInt       steps;
    PetscReal      error, size;
    PetscFunctionBeginUser;
    PetscCall(MatMult(A, solution, b));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetUp(ksp));
    PetscCall(PetscTime(&begun));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(PetscTime(&ended));
    PetscCall(KSPGetIterationNumber(ksp, &steps));
    PetscCall(VecAXPY(x, -1, solution));
    PetscCall(VecNorm(x, NORM_2, &error));
    PetscCall(VecNorm(solution, NORM_2, &size));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " iterations, relative error %.2e, %.1f ms\n", steps, (double)(error / size),
                          1e3 * (ended - begun)));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    char      path[PETSC_MAX_PATH_LEN];
    Mat       A;
    Vec       x, b, solution;
    KSP       ksp;
    PetscInt  m = 100, n = 100, products = 0, systems = 1, i;
    PetscBool file;

    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, help));
    PetscCall(MatRegisterSpmv());
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-m", &m, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-products", &products, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-systems", &systems, NULL));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-f", path, sizeof path, &file));

    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    if (file) PetscCall(File(A, path));
    else PetscCall(Grid(A, m, n));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(x, &solution));
    PetscCall(VecSet(solution, 1));
    if (products > 0) PetscCall(Time(A, solution, b, products));

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetFromOptions(ksp));
    for (i = 0; i < systems; i++) {
        if (i) PetscCall(MatShift(A, 1));
        PetscCall(Solve(ksp, A, x, b, solution));
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&solution));
    PetscCall(MatDestroy(&A));
    PetscCall(PetscFinalize());
    return 0;
}
