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

static int is_own(int column) { return column >= first_row(rank) && column < first_row(rank + 1); }

/* The columns that the nonzeros of this process use and others own: sorted, each once. Returns how many there are. */
static int find_halo(int nnz, const int *col, int *halo)
{
    int k, n = 0, count = 0;
    for (k = 0; k < nnz; k++)
        if (!is_own(col[k])) halo[n++] = col[k];
    qsort(halo, (size_t)n, sizeof *halo, by_number);
    for (k = 0; k < n; k++)
        if (!k || halo[k] != halo[k - 1]) halo[count++] = halo[k];
    return count;
}

/* Stores the nonzeros in own columns, or those in the halo, with renumbered columns. */
static void store(spmv_matrix *m, int rows, const int *ptr, const int *col, const double *val, const int *halo, int count)
{
    int       *cut = room((size_t)rows + 1, sizeof *cut), *at = room((size_t)ptr[rows], sizeof *at), i, k, n = 0;
    double    *some = room((size_t)ptr[rows], sizeof *some);
    spmv_desc  d = {0};
    for (i = 0; i < rows; i++) {
        for (k = ptr[i]; k < ptr[i + 1]; k++) {
            if (is_own(col[k]) == (halo != NULL)) continue;
            if (!halo) at[n] = col[k] - first_row(rank);
            else at[n] = (int)((const int *)bsearch(&col[k], halo, (size_t)count, sizeof *halo, by_number) - halo);
            some[n++] = val[k];
        }
        cut[i + 1] = n;
    }
    d.matrix = spmv_csr_f64(rows, halo ? count : rows, cut, at, some);
    must(spmv_create(m, &d) == SPMV_OK, "spmv_create");
    free(cut);
    free(at);
    free(some);
}

/* Tells the owners of the halo which of their elements this process needs, and learns which of its own the others need. */
static void agree(divided *a, const int *halo, int count)
{
    int p = 0, k;
    a->from = room((size_t)size, sizeof *a->from);
    a->from_at = room((size_t)size, sizeof *a->from_at);
    a->to = room((size_t)size, sizeof *a->to);
    a->to_at = room((size_t)size, sizeof *a->to_at);
    for (k = 0; k < count; k++) {
        while (halo[k] >= first_row(p + 1)) p++;
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
    a->got = room((size_t)count, sizeof *a->got);
    a->request = room(2 * (size_t)size, sizeof *a->request);
    MPI_Alltoallv(halo, a->from, a->from_at, MPI_INT, a->pick, a->to, a->to_at, MPI_INT, MPI_COMM_WORLD);
    while (k-- > 0) a->pick[k] -= first_row(rank);
}

/* Divides a matrix, of which each process gives its rows, with the columns of the whole matrix. */
static void divide(divided *a, int rows, const int *ptr, const int *col, const double *val)
{
    int *halo = room((size_t)ptr[rows], sizeof *halo), count = find_halo(ptr[rows], col, halo);
    store(&a->own, rows, ptr, col, val, NULL, 0);
    store(&a->halo, rows, ptr, col, val, halo, count);
    agree(a, halo, count);
    free(halo);
}

static void undivide(divided *a)
{
    spmv_destroy(&a->own);
    spmv_destroy(&a->halo);
    free(a->from);
    free(a->from_at);
    free(a->to);
    free(a->to_at);
    free(a->pick);
    free(a->sent);
    free(a->got);
    free(a->request);
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
    must(spmv_mul_f64(&a->own, 1, x, 0, y) == SPMV_OK, "spmv_mul_f64");
    MPI_Waitall(open, a->request, MPI_STATUSES_IGNORE);
    must(spmv_mul_f64(&a->halo, 1, a->got, 1, y) == SPMV_OK, "spmv_mul_f64");
}

static double dot(int n, const double *u, const double *v)
{
    double sum = 0, all;
    while (n-- > 0) sum += u[n] * v[n];
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* The rows of this process of the five-point Laplacian. */
static void grid(int rows, int *ptr, int *col, double *val)
{
    int i, n = 0;
    for (i = 0; i < rows; i++) {
        int at = first_row(rank) + i;
        if (at >= SIDE) { col[n] = at - SIDE; val[n++] = -1; }
        if (at % SIDE) { col[n] = at - 1; val[n++] = -1; }
        col[n] = at; val[n++] = 4;
        if ((at + 1) % SIDE) { col[n] = at + 1; val[n++] = -1; }
        if (at < N - SIDE) { col[n] = at + SIDE; val[n++] = -1; }
        ptr[i + 1] = n;
    }
}

/* Solves A x = A 1 from x = 0 by conjugate gradients. Returns the number of steps. */
static int solve(divided *a, int n, double *x)
{
    double *r = room((size_t)n, sizeof *r), *p = room((size_t)n, sizeof *p), *q = room((size_t)n, sizeof *q), rr, bb;
    int     i, steps;
    for (i = 0; i < n; i++) q[i] = 1;
    mul(a, q, r);
    for (i = 0; i < n; i++) p[i] = r[i];
    rr = bb = dot(n, r, r);
    for (steps = 0; steps < MOST && rr > 1e-20 * bb; steps++) {
        double alpha, before = rr;
        mul(a, p, q);
        alpha = rr / dot(n, p, q);
        for (i = 0; i < n; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        rr = dot(n, r, r);
        for (i = 0; i < n; i++) p[i] = r[i] + rr / before * p[i];
    }
    free(r);
    free(p);
    free(q);
    return steps;
}

int main(int argc, char **argv)
{
    int     rows, i, steps, *ptr, *col;
    double *val, *x, error;
    divided a;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    rows = first_row(rank + 1) - first_row(rank);
    ptr = room((size_t)rows + 1, sizeof *ptr);
    col = room(5 * (size_t)rows, sizeof *col);
    val = room(5 * (size_t)rows, sizeof *val);
    x = room((size_t)rows, sizeof *x);
    grid(rows, ptr, col, val);
    divide(&a, rows, ptr, col, val);
    steps = solve(&a, rows, x);

    for (i = 0; i < rows; i++) x[i] -= 1;
    error = dot(rows, x, x) / N;
    if (!rank) {
        printf("%d unknowns on %d processes: %d steps, mean square error %.1e\n", (int)N, size, steps, error);
        printf(error < 1e-14 ? "converged\n" : "the error is too large\n");
    }
    undivide(&a);
    free(ptr);
    free(col);
    free(val);
    free(x);
    MPI_Finalize();
    return error < 1e-14 ? 0 : 1;
}
