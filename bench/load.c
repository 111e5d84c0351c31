/* SPDX-License-Identifier: MIT
 * bench/load.c - what loading a prepared matrix takes beside reading its CSR form. Build and run:
 *
 *     cc -std=c99 -D_POSIX_C_SOURCE=200809L -O2 -fopenmp bench/load.c -o build/load -ldl
 *     build/spmv convert a.bin a.spmv --prepared && build/load a.bin a.spmv
 *
 * For each pair of files, which should be in the system's cache, a line has milliseconds, the least of 9: spmv_bin_read_file; mmap and
 * spmv_load with borrow; and the ratio of the two. OMP_NUM_THREADS says how many threads check the bytes. */
#define SPMV_NO_DEVICES
#define SPMV_IMPLEMENTATION
#include "../spmv.h"
#include "../spmv_io.h"
#include "common.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TIMES = 9 };

static double read_csr(const char *path)
{
    const double begin = now();
    double seconds;
    spmv_csr a;
    need(spmv_bin_read_file(&a, path, 0, NULL) == SPMV_OK, path);
    seconds = now() - begin;
    spmv_csr_destroy(&a);
    return seconds;
}

static double load(const char *path)
{
    const double begin = now();
    const int file = open(path, O_RDONLY);
    double seconds;
    struct stat is;
    spmv_desc desc = { 0 };
    spmv_matrix m;
    void *bytes;
    need(file >= 0 && !fstat(file, &is), path);
    bytes = mmap(NULL, (size_t)is.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    desc.matrix.borrow = 1;
    need(bytes != MAP_FAILED && spmv_load(&m, bytes, (size_t)is.st_size, &desc) == SPMV_OK, path);
    seconds = now() - begin;
    spmv_destroy(&m);
    munmap(bytes, (size_t)is.st_size);
    close(file);
    return seconds;
}

int main(int argc, char **argv)
{
    int i, k;
    for (i = 1; i + 1 < argc; i += 2) {
        double csr = read_csr(argv[i]), prepared = load(argv[i + 1]), t;
        for (k = 1; k < TIMES; k++) {
            if ((t = read_csr(argv[i])) < csr) csr = t;
            if ((t = load(argv[i + 1])) < prepared) prepared = t;
        }
        printf("%-40s %8.2f %8.2f %6.2f\n", argv[i + 1], 1e3 * csr, 1e3 * prepared, prepared / csr);
    }
    return 0;
}
