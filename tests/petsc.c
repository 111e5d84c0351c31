/* SPDX-License-Identifier: MIT
 *
 * Tests of the PETSc matrix type of examples/petsc: matrices of many shapes, converted and changed in every way, are compared with AIJ
 * matrices that went through the same. tests/petsc.sh runs it on several processes with several options. The last line that it prints is
 * "N passed, N failed", the same on every number of processes.
 */
#include "matspmv.h"

enum { PASSED, FAILED };
static int      result[2];
static unsigned fills; /* so that vectors differ */

static void Verdict(const char *shape, const char *what, PetscBool good)
{
    result[good ? PASSED : FAILED]++;
    if (!good) (void)PetscPrintf(PETSC_COMM_WORLD, "FAIL %s: %s\n", shape, what);
}

/* A number from -1 to 1 that depends on i and j only. */
static PetscScalar Number(PetscInt i, PetscInt j)
{
    unsigned h = (unsigned)i * 2654435761u ^ (unsigned)j * 40503u;
    h ^= h >> 15;
    h *= 2246822519u;
    h ^= h >> 13;
    return (PetscScalar)(h % 2001) / 1000 - 1;
}

static PetscErrorCode Fill(Vec x)
{
    PetscInt first, last, i;
    PetscFunctionBegin;
    fills++;
    PetscCall(VecGetOwnershipRange(x, &first, &last));
    for (i = first; i < last; i++) PetscCall(VecSetValue(x, i, Number(i, (PetscInt)fills), INSERT_VALUES));
    PetscCall(VecAssemblyBegin(x));
    PetscCall(VecAssemblyEnd(x));
    PetscFunctionReturn(0);
}

/* Are two vectors equal to rounding? Entries of matrices and vectors are at most about 10, rows at most 100 long. */
static PetscErrorCode Same(const char *shape, const char *what, Vec a, Vec b)
{
    PetscReal distance;
    PetscFunctionBegin;
    PetscCall(VecAXPY(a, -1, b));
    PetscCall(VecNorm(a, NORM_INFINITY, &distance));
    Verdict(shape, what, (PetscBool)(distance < 1e-11));
    PetscFunctionReturn(0);
}

static PetscErrorCode Type(const char *shape, const char *what, Mat A, const char *seq, const char *mpi)
{
    MatType     type;
    PetscMPIInt size;
    PetscBool   same;
    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    PetscCall(MatGetType(A, &type));
    PetscCall(PetscStrcmp(type, size > 1 ? mpi : seq, &same));
    Verdict(shape, what, same);
    PetscFunctionReturn(0);
}

/* Compares every kind of product with S and with the AIJ matrix A. */
static PetscErrorCode Products(const char *shape, const char *when, Mat S, Mat A)
{
    char what[128];
    Vec  x, y, add, got, wanted, right, left;
    PetscFunctionBegin;
    PetscCall(MatCreateVecs(A, &x, &y));
    PetscCall(VecDuplicate(y, &add));
    PetscCall(VecDuplicate(y, &got));
    PetscCall(VecDuplicate(y, &wanted));
    PetscCall(VecDuplicate(x, &right));
    PetscCall(VecDuplicate(x, &left));
    PetscCall(Fill(x));
    PetscCall(Fill(y));
    PetscCall(Fill(add));
    PetscCall(MatMult(A, x, wanted));
    PetscCall(VecSet(got, NAN)); /* what is in y does not matter */
    PetscCall(MatMult(S, x, got));
    PetscCall(PetscSNPrintf(what, sizeof what, "MatMult %s", when));
    PetscCall(Same(shape, what, got, wanted));
    PetscCall(MatMultAdd(A, x, add, wanted));
    PetscCall(MatMultAdd(S, x, add, got));
    PetscCall(PetscSNPrintf(what, sizeof what, "MatMultAdd %s", when));
    PetscCall(Same(shape, what, got, wanted));
    PetscCall(VecCopy(add, got));
    PetscCall(MatMultAdd(S, x, got, got));
    PetscCall(PetscSNPrintf(what, sizeof what, "MatMultAdd in place %s", when));
    PetscCall(Same(shape, what, got, wanted));
    PetscCall(MatMultTranspose(A, y, right));
    PetscCall(MatMultTranspose(S, y, left));
    PetscCall(PetscSNPrintf(what, sizeof what, "MatMultTranspose %s", when));
    PetscCall(Same(shape, what, left, right));
    PetscCall(MatMultTransposeAdd(A, y, x, right));
    PetscCall(MatMultTransposeAdd(S, y, x, left));
    PetscCall(PetscSNPrintf(what, sizeof what, "MatMultTransposeAdd %s", when));
    PetscCall(Same(shape, what, left, right));
    PetscCall(VecCopy(x, left));
    PetscCall(MatMultTransposeAdd(S, y, left, left));
    PetscCall(PetscSNPrintf(what, sizeof what, "MatMultTransposeAdd in place %s", when));
    PetscCall(Same(shape, what, left, right));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&add));
    PetscCall(VecDestroy(&got));
    PetscCall(VecDestroy(&wanted));
    PetscCall(VecDestroy(&right));
    PetscCall(VecDestroy(&left));
    PetscFunctionReturn(0);
}

typedef struct {
    const char *name;
    PetscInt    rows, cols;
    PetscInt    every;      /* about one in so many places holds a nonzero; 0: none */
    PetscBool   empty_rank; /* the first process has neither rows nor columns, if there is another */
    PetscBool   local;      /* only nonzeros whose column belongs to the process of their row */
} Shape;

/* Sets the values of matrix A, which depend on step. */
static PetscErrorCode SetValues(Mat A, const Shape *s, PetscInt step)
{
    PetscInt first, last, left, right, i, j;
    PetscFunctionBegin;
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    PetscCall(MatGetOwnershipRangeColumn(A, &left, &right));
    for (i = first; i < last; i++) {
        for (j = 0; j < s->cols; j++) {
            PetscScalar value = Number(i, j) + (PetscScalar)step;
            if (s->local && (j < left || j >= right)) continue;
            if (i == j || (s->every && (i * 31 + j * 17) % s->every == 0))
                PetscCall(MatSetValues(A, 1, &i, 1, &j, &value, INSERT_VALUES));
        }
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* Makes a matrix of a shape, with the type from the options if type is NULL. */
static PetscErrorCode Make(const Shape *s, const char *type, Mat *A)
{
    PetscMPIInt rank, size;
    PetscInt    rows = PETSC_DECIDE, cols = PETSC_DECIDE;
    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    if (s->empty_rank && size > 1) {
        rows = rank ? s->rows / (size - 1) + (rank == size - 1 ? s->rows % (size - 1) : 0) : 0;
        cols = rank ? s->cols / (size - 1) + (rank == size - 1 ? s->cols % (size - 1) : 0) : 0;
    }
    PetscCall(MatCreate(PETSC_COMM_WORLD, A));
    PetscCall(MatSetSizes(*A, rows, cols, s->rows, s->cols));
    PetscCall(MatSetType(*A, type));
    PetscCall(MatSetUp(*A));
    PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    if (s->every) PetscCall(SetValues(*A, s, 0));
    else {
        PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    }
    PetscFunctionReturn(0);
}

/* Changes both matrices in every way, with products after each change. */
static PetscErrorCode Changes(const Shape *s, Mat S, Mat A)
{
    PetscInt    rank_rows, row, i, all = s->cols;
    Vec         left, right;
    PetscScalar one = 1, two = 2;
    Mat         both[2];
    PetscFunctionBegin;
    both[0] = S;
    both[1] = A;
    PetscCall(MatCreateVecs(A, &right, &left));
    PetscCall(Fill(left));
    PetscCall(Fill(right));
    for (i = 0; i < 2; i++) PetscCall(MatScale(both[i], 3));
    PetscCall(Products(s->name, "after MatScale", S, A));
    for (i = 0; i < 2; i++) PetscCall(MatDiagonalScale(both[i], left, right));
    PetscCall(Products(s->name, "after MatDiagonalScale", S, A));
    for (i = 0; i < 2; i++) PetscCall(SetValues(both[i], s, 1));
    PetscCall(Products(s->name, "after new values", S, A));
    for (i = 0; i < 2; i++) PetscCall(MatZeroEntries(both[i]));
    PetscCall(Products(s->name, "after MatZeroEntries", S, A));
    for (i = 0; i < 2; i++) PetscCall(SetValues(both[i], s, 2));
    PetscCall(Products(s->name, "after values once more", S, A));

    PetscCall(MatGetLocalSize(A, &rank_rows, NULL)); /* a nonzero at a new place, as far from the diagonal as possible */
    PetscCall(MatGetOwnershipRange(A, &row, NULL));
    for (i = 0; i < 2; i++) {
        PetscInt col = row < all / 2 ? all - 1 : 0;
        if (rank_rows) PetscCall(MatSetValues(both[i], 1, &row, 1, &col, &two, ADD_VALUES));
        PetscCall(MatAssemblyBegin(both[i], MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(both[i], MAT_FINAL_ASSEMBLY));
    }
    PetscCall(Products(s->name, "after a new nonzero", S, A));
    if (s->rows == s->cols) {
        for (i = 0; i < 2; i++) PetscCall(MatZeroRows(both[i], rank_rows ? 1 : 0, &row, one, NULL, NULL));
        PetscCall(Products(s->name, "after MatZeroRows", S, A));
        for (i = 0; i < 2; i++) PetscCall(MatShift(both[i], 1));
        PetscCall(Products(s->name, "after MatShift", S, A));
        for (i = 0; i < 2; i++) PetscCall(MatGetDiagonal(both[i], i ? left : right));
        PetscCall(Same(s->name, "MatGetDiagonal", left, right));
    }
    PetscCall(VecDestroy(&left));
    PetscCall(VecDestroy(&right));
    PetscFunctionReturn(0);
}

/* Converts to the type and back in every way that PETSc has. */
static PetscErrorCode Conversions(const Shape *s, Mat A)
{
    Mat S, copy, back;
    PetscFunctionBegin;
    PetscCall(MatConvert(A, MATSPMV, MAT_INITIAL_MATRIX, &S));
    PetscCall(Type(s->name, "MatConvert from aij", S, MATSEQSPMV, MATMPISPMV));
    PetscCall(Products(s->name, "of a converted matrix", S, A));
    PetscCall(Type(s->name, "MatConvert leaves aij as it is", A, MATSEQAIJ, MATMPIAIJ));
    PetscCall(MatScale(A, 2));
    PetscCall(MatConvert(A, MATSPMV, MAT_REUSE_MATRIX, &S));
    PetscCall(Products(s->name, "of a matrix converted again", S, A));
    PetscCall(MatDuplicate(S, MAT_COPY_VALUES, &copy));
    PetscCall(Type(s->name, "MatDuplicate", copy, MATSEQSPMV, MATMPISPMV));
    PetscCall(Products(s->name, "of a duplicate", copy, A));
    PetscCall(MatConvert(S, MATAIJ, MAT_INITIAL_MATRIX, &back));
    PetscCall(Type(s->name, "MatConvert to aij", back, MATSEQAIJ, MATMPIAIJ));
    PetscCall(Products(s->name, "of a matrix converted back", back, A));
    PetscCall(Products(s->name, "of the matrix that was converted back", S, A));
    PetscCall(MatConvert(back, MATSPMV, MAT_INPLACE_MATRIX, &back));
    PetscCall(Type(s->name, "MatConvert in place", back, MATSEQSPMV, MATMPISPMV));
    PetscCall(Products(s->name, "of a matrix converted in place", back, A));
    PetscCall(MatConvert(back, MATAIJ, MAT_INPLACE_MATRIX, &back));
    PetscCall(Type(s->name, "MatConvert to aij in place", back, MATSEQAIJ, MATMPIAIJ));
    PetscCall(Products(s->name, "of a matrix converted back in place", back, A));
    PetscCall(MatDestroy(&back));
    PetscCall(MatConvert(S, MATSPMV, MAT_INITIAL_MATRIX, &back));
    PetscCall(Type(s->name, "MatConvert to its own type", back, MATSEQSPMV, MATMPISPMV));
    PetscCall(MatSetType(copy, MATSPMV));
    PetscCall(Products(s->name, "of a matrix whose type is set again", copy, A));
    PetscCall(MatDestroy(&back));
    PetscCall(MatDestroy(&copy));
    PetscCall(MatDestroy(&S));
    PetscFunctionReturn(0);
}

/* A matrix from coordinates, whose blocks PETSc makes by itself. */
static PetscErrorCode Coordinates(const Shape *s)
{
    Mat         both[2];
    PetscInt    first, last, i, k, *row, *col;
    PetscScalar val[2] = {1, 2};
    PetscFunctionBegin;
    for (k = 0; k < 2; k++) {
        PetscScalar *all;
        PetscCall(MatCreate(PETSC_COMM_WORLD, &both[k]));
        PetscCall(MatSetSizes(both[k], PETSC_DECIDE, PETSC_DECIDE, s->rows, s->rows));
        PetscCall(MatSetType(both[k], k ? MATAIJ : MATSPMV));
        PetscCall(MatSetUp(both[k]));
        PetscCall(MatGetOwnershipRange(both[k], &first, &last));
        PetscCall(PetscMalloc3(2 * (last - first), &row, 2 * (last - first), &col, 2 * (last - first), &all));
        for (i = 0; i < 2 * (last - first); i++) {
            row[i] = first + i / 2;
            col[i] = i % 2 ? s->rows - 1 - row[i] : row[i];
            all[i] = val[i % 2];
        }
        PetscCall(MatSetPreallocationCOO(both[k], 2 * (last - first), row, col));
        PetscCall(MatSetValuesCOO(both[k], all, INSERT_VALUES));
        PetscCall(PetscFree3(row, col, all));
    }
    PetscCall(Type("coordinates", "type", both[0], MATSEQSPMV, MATMPISPMV));
    PetscCall(Products("coordinates", "of new matrices", both[0], both[1]));
    for (k = 0; k < 2; k++) PetscCall(MatScale(both[k], 2));
    PetscCall(Products("coordinates", "after MatScale", both[0], both[1]));
    for (k = 0; k < 2; k++) PetscCall(MatDestroy(&both[k]));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    static const Shape shapes[] = {
        { "square",         60,  60, 5, PETSC_FALSE, PETSC_FALSE },
        { "large",         300, 300, 11, PETSC_FALSE, PETSC_FALSE }, /* over 16 KiB, so that auto compares plans */
        { "wide",           23,  71, 4, PETSC_FALSE, PETSC_FALSE },
        { "tall",           71,  23, 4, PETSC_FALSE, PETSC_FALSE },
        { "empty process",  40,  40, 3, PETSC_TRUE,  PETSC_FALSE },
        { "few rows",        3,   3, 1, PETSC_FALSE, PETSC_FALSE },
        { "block diagonal", 32,  32, 2, PETSC_FALSE, PETSC_TRUE },
        { "no nonzeros",    20,  20, 0, PETSC_FALSE, PETSC_FALSE },
    };
    size_t i;
    Mat    S, A;
    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(MatRegisterSpmv());
    for (i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const Shape *s = &shapes[i];
        PetscCall(Make(s, MATSPMV, &S));
        PetscCall(Make(s, MATAIJ, &A));
        PetscCall(Type(s->name, "type", S, MATSEQSPMV, MATMPISPMV));
        PetscCall(Products(s->name, "of a new matrix", S, A));
        PetscCall(Conversions(s, A));
        PetscCall(MatDestroy(&A));
        PetscCall(Make(s, MATAIJ, &A));
        PetscCall(Changes(s, S, A));
        PetscCall(MatDestroy(&S));
        PetscCall(MatDestroy(&A));
    }
    PetscCall(Coordinates(&shapes[0]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d passed, %d failed\n", result[PASSED], result[FAILED]));
    PetscCall(PetscFinalize());
    return result[FAILED] != 0;
}
