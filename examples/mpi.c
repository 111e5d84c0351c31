/* SPDX-License-Identifier: MIT
 *
 * A matrix divided by rows among the processes of MPI, without PETSc: conjugate gradients for the five-point Laplacian of a grid. Each
 * process stores two matrices: the columns that belong to it, and its halo, the other columns that its rows use, renumbered from 0. A
 * product sends and receives the halo's elements of x while the first matrix is multiplied, and then adds the second. Host only.
 *
 *     mpicc -std=c99 -O2 -I. examples/mpi.c -o mpi
 *     mpirun -n 2 ./mpi
 *
 * Prints: converged
 */
#define SPMV_NO_DEVICES
#define SPMV_IMPLEMENTATION
#include "spmv.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 200, N = SIDE * SIDE, MOST = 1000 };

typedef struct {
    spmv_matrix  own, halo;              /* this process's rows: the columns that belong to it, and the others */
    int         *to, *to_at, *pick;      /* for each process: how many elements of x it needs, where they begin in pick, and which */
    int         *from, *from_at;         /* how many it sends us, and where they begin in got */
    double      *sent, *got;
    MPI_Request *request;
} divided;

static int size, rank;

static int first_row(int process) { return (int)((long long)N * process / size); }

static void must(int good, const char *what)
{
    if (good) return;
    fprintf(stderr, "process %d: %s failed\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *room(size_t count, size_t each)
{
    void *p = calloc(count + 1, each);
    must(p != NULL, "malloc");
    return p;
}

static int by_number(const void *a, const void *b) { return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b); }

static void store(spmv_matrix *m, int rows, int cols, const int *ptr, const int *col, const double *val)
{
    spmv_desc d = {0};
    d.matrix.rows = rows;
    d.matrix.cols = cols;
    d.matrix.ptr = ptr;
    d.matrix.col = col;
    d.matrix.val = val;
    must(spmv_create(m, &d) == SPMV_OK, "spmv_create");
}

/* Divides the rows of this process, whose columns are those of the whole matrix: finds the halo, sorted, and asks for it. */
static void divide(divided *a, int rows, const int *ptr, const int *col, const double *val)
{
    int  nnz = ptr[rows], first = first_row(rank), i, k, n[2] = {0, 0}, halo = 0, p = 0;
    int *wanted = room((size_t)nnz, sizeof *wanted), *cut[2], *part[2];
    double *value[2];
    for (i = 0; i < 2; i++) {
        cut[i] = room((size_t)rows + 1, sizeof *cut[i]);
        part[i] = room((size_t)nnz, sizeof *part[i]);
        value[i] = room((size_t)nnz, sizeof *value[i]);
    }
    for (k = 0; k < nnz; k++)
        if (col[k] < first || col[k] >= first + rows) wanted[n[1]++] = col[k];
    qsort(wanted, (size_t)n[1], sizeof *wanted, by_number);
    for (k = 0; k < n[1]; k++)
        if (!k || wanted[k] != wanted[k - 1]) wanted[halo++] = wanted[k];
    n[1] = 0;
    for (i = 0; i < rows; i++) {
        for (k = ptr[i]; k < ptr[i + 1]; k++) {
            int other = col[k] < first || col[k] >= first + rows;
            part[other][n[other]] = other ? (int)((int *)bsearch(&col[k], wanted, (size_t)halo, sizeof *wanted, by_number) - wanted)
                                          : col[k] - first;
            value[other][n[other]++] = val[k];
        }
        cut[0][i + 1] = n[0];
        cut[1][i + 1] = n[1];
    }
    store(&a->own, rows, rows, cut[0], part[0], value[0]);
    store(&a->halo, rows, halo, cut[1], part[1], value[1]);

    a->from = room((size_t)size, sizeof *a->from);
    a->from_at = room((size_t)size, sizeof *a->from_at);
    a->to = room((size_t)size, sizeof *a->to);
    a->to_at = room((size_t)size, sizeof *a->to_at);
    for (k = 0; k < halo; k++) {
        while (wanted[k] >= first_row(p + 1)) p++;
        a->from[p]++;
    }
    MPI_Alltoall(a->from, 1, MPI_INT, a->to, 1, MPI_INT, MPI_COMM_WORLD);
    for (p = 1; p < size; p++) {
        a->from_at[p] = a->from_at[p - 1] + a->from[p - 1];
        a->to_at[p] = a->to_at[p - 1] + a->to[p - 1];
    }
    k = a->to_at[size - 1] + a->to[size - 1];
    a->pick = room((size_t)k, sizeof *a->pick);
    a->sent = room((size_t)k, sizeof *a->sent);
    a->got = room((size_t)halo, sizeof *a->got);
    a->request = room(2 * (size_t)size, sizeof *a->request);
    MPI_Alltoallv(wanted, a->from, a->from_at, MPI_INT, a->pick, a->to, a->to_at, MPI_INT, MPI_COMM_WORLD);
    while (k-- > 0) a->pick[k] -= first;

    for (i = 0; i < 2; i++) {
        free(cut[i]);
        free(part[i]);
        free(value[i]);
    }
    free(wanted);
}

/* y = A x, where each process has the elements of x and y that belong to its rows. */
static void mul(divided *a, const double *x, double *y)
{
    int p, k, open = 0;
    for (p = 0; p < size; p++)
        if (a->from[p]) MPI_Irecv(a->got + a->from_at[p], a->from[p], MPI_DOUBLE, p, 0, MPI_COMM_WORLD, &a->request[open++]);
    for (p = 0; p < size; p++) {
        if (!a->to[p]) continue;
        for (k = a->to_at[p]; k < a->to_at[p] + a->to[p]; k++) a->sent[k] = x[a->pick[k]];
        MPI_Isend(a->sent + a->to_at[p], a->to[p], MPI_DOUBLE, p, 0, MPI_COMM_WORLD, &a->request[open++]);
    }
    must(spmv_mul(&a->own, 1, x, 0, y) == SPMV_OK, "spmv_mul");
    MPI_Waitall(open, a->request, MPI_STATUSES_IGNORE);
    must(spmv_mul(&a->halo, 1, a->got, 1, y) == SPMV_OK, "spmv_mul");
}

static double dot(int n, const double *u, const double *v)
{
    double sum = 0, all;
    while (n-- > 0) sum += u[n] * v[n];
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    int     rows, first, i, n = 0, steps, *ptr, *col;
    double *val, *x, *r, *p, *q, rr, bb;
    divided a;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    first = first_row(rank);
    rows = first_row(rank + 1) - first;
    ptr = room((size_t)rows + 1, sizeof *ptr);
    col = room(5 * (size_t)rows, sizeof *col);
    val = room(5 * (size_t)rows, sizeof *val);
    for (i = 0; i < rows; i++) {
        int at = first + i;
        if (at >= SIDE) { col[n] = at - SIDE; val[n++] = -1; }
        if (at % SIDE) { col[n] = at - 1; val[n++] = -1; }
        col[n] = at; val[n++] = 4;
        if ((at + 1) % SIDE) { col[n] = at + 1; val[n++] = -1; }
        if (at < N - SIDE) { col[n] = at + SIDE; val[n++] = -1; }
        ptr[i + 1] = n;
    }
    divide(&a, rows, ptr, col, val);

    /* the solution is a vector of ones */
    x = room((size_t)rows, sizeof *x);
    r = room((size_t)rows, sizeof *r);
    p = room((size_t)rows, sizeof *p);
    q = room((size_t)rows, sizeof *q);
    for (i = 0; i < rows; i++) q[i] = 1;
    mul(&a, q, r);
    for (i = 0; i < rows; i++) p[i] = r[i];
    rr = bb = dot(rows, r, r);
    for (steps = 0; steps < MOST && rr > 1e-20 * bb; steps++) {
        double alpha, before = rr;
        mul(&a, p, q);
        alpha = rr / dot(rows, p, q);
        for (i = 0; i < rows; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        rr = dot(rows, r, r);
        for (i = 0; i < rows; i++) p[i] = r[i] + rr / before * p[i];
    }
    for (i = 0; i < rows; i++) q[i] = x[i] - 1;
    rr = dot(rows, q, q) / N; /* the mean square of the error */
    if (!rank) printf("%d unknowns on %d processes: %d steps, mean square error %.1e\n%s\n", (int)N, size, steps, rr,
                      rr < 1e-14 ? "converged" : "not converged");

    spmv_destroy(&a.own);
    spmv_destroy(&a.halo);
    free(a.from); free(a.from_at); free(a.to); free(a.to_at); free(a.pick); free(a.sent); free(a.got); free(a.request);
    free(ptr); free(col); free(val); free(x); free(r); free(p); free(q);
    MPI_Finalize();
    return rr < 1e-14 ? 0 : 1;
}
