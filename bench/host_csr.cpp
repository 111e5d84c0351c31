// SPDX-License-Identifier: MIT
// bench/host_csr FILE... - the host's csr product beside a plain OpenMP loop over 32-bit CSR and beside Eigen.
// FILE is Matrix Market, .gz or not. The three take turns in one run; what is printed are medians, and how many times longer
// ours takes than each of the others (below 1: ours is faster). "make bench-host FILES=..." builds and runs it.
#define SPMV_NO_OPENCL
#include "spmv.h"
#include "spmv_io.h"

#include <Eigen/Sparse>
#include <zlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static size_t gz_read(void *user, void *buffer, size_t bytes) {
    int n = gzread(static_cast<gzFile>(user), buffer, static_cast<unsigned>(std::min<size_t>(bytes, 1u << 20)));
    return n < 0 ? SPMV_READ_FAILED : static_cast<size_t>(n);
}

static bool load(const char *path, spmv_csr *a) {
    gzFile f = gzopen(path, "rb");
    if (!f) {
        std::fprintf(stderr, "%s: cannot be opened\n", path);
        return false;
    }
    spmv_source src = spmv_source();
    src.user = f;
    src.read = gz_read;
    src.name = path;
    spmv_mm_options opt = spmv_mm_options();
    opt.max_dim = 0xfffffffeu;
    bool ok = spmv_mm_read(a, &src, &opt, nullptr, nullptr) == SPMV_OK;
    gzclose(f);
    return ok;
}

template <class T>
static void plain(int rows, const int *ptr, const int *col, const T *val, const T *x, T *y) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < rows; i++) {
        T sum = 0;
        for (int k = ptr[i]; k < ptr[i + 1]; k++) sum += val[k] * x[col[k]];
        y[i] = sum;
    }
}

struct Ratios {
    double loop, eigen;
    int count;
};

template <class T>
static bool measure(const char *name, const spmv_csr &a, Ratios *total) {
    const size_t rows = a.rows, cols = a.cols, nnz = a.nnz;
    std::vector<int> ptr(a.ptr, a.ptr + rows + 1), col(a.col, a.col + nnz);
    std::vector<T> val(nnz), x(cols), ours(rows), loop(rows), eigen(rows);
    for (size_t k = 0; k < nnz; k++) val[k] = static_cast<T>(static_cast<const double *>(a.val)[k]);
    for (size_t j = 0; j < cols; j++) x[j] = static_cast<T>(0.5 + static_cast<double>((j * 40503u >> 3) % 997) / 1000);

    spmv_desc d = spmv_desc();
    d.matrix.rows = static_cast<int64_t>(rows);
    d.matrix.cols = static_cast<int64_t>(cols);
    d.matrix.ptr = ptr.data();
    d.matrix.col = col.data();
    d.matrix.val = val.data();
    d.type = d.matrix.val_type = sizeof(T) == 8 ? SPMV_F64 : SPMV_F32;
    d.plan = "csr";
    spmv_matrix m;
    if (spmv_create(&m, &d) != SPMV_OK) return false;
    Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor, int>> e(
        static_cast<long>(rows), static_cast<long>(cols), static_cast<long>(nnz), ptr.data(), col.data(), val.data());
    Eigen::Map<const Eigen::Matrix<T, -1, 1>> ex(x.data(), static_cast<long>(cols));
    Eigen::Map<Eigen::Matrix<T, -1, 1>> ey(eigen.data(), static_cast<long>(rows));

    const std::function<void()> run[3] = {
        [&] { (void)spmv_mul(&m, 1, x.data(), 0, ours.data()); },
        [&] { plain<T>(static_cast<int>(rows), ptr.data(), col.data(), val.data(), x.data(), loop.data()); },
        [&] { ey.noalias() = e * ex; },
    };
    std::vector<double> us[3];
    int inner = 1;
    for (const auto &f : run) f();
    for (;;) { // samples of at least 200 us
        double t = now();
        for (int i = 0; i < inner; i++) run[1]();
        if (now() - t > 200e-6 || inner > 100000) break;
        inner *= 2;
    }
    const double begun = now();
    for (int r = 0; r < 21 || (now() - begun < 1.0 && r < 2001); r++)
        for (int k = 0; k < 3; k++) {
            const int who = (r + k) % 3;
            double t = now();
            for (int i = 0; i < inner; i++) run[who]();
            us[who].push_back((now() - t) * 1e6 / inner);
        }
    double median[3];
    for (int k = 0; k < 3; k++) {
        std::sort(us[k].begin(), us[k].end());
        median[k] = us[k][us[k].size() / 2];
    }
    bool ok = true;
    const double u = sizeof(T) == 8 ? 0x1p-53 : 0x1p-24;
    for (size_t i = 0; i < rows; i++) {
        double size = 0;
        for (int k = ptr[i]; k < ptr[i + 1]; k++) size += std::fabs(static_cast<double>(val[k]) * x[static_cast<size_t>(col[k])]);
        const double allowed = 2 * (ptr[i + 1] - ptr[i] + 4) * u * size;
        if (!(std::fabs(static_cast<double>(ours[i]) - loop[i]) <= allowed)) ok = false;
        if (!(std::fabs(static_cast<double>(ours[i]) - eigen[i]) <= allowed)) ok = false;
    }
    std::printf("%-28s %-4s %10zu %11zu %11.1f %11.1f %11.1f %8.3f %8.3f %s\n", name, sizeof(T) == 8 ? "f64" : "f32", rows, nnz,
                median[0], median[1], median[2], median[0] / median[1], median[0] / median[2], ok ? "" : "DIFFERS");
    std::fflush(stdout);
    total->loop += std::log(median[0] / median[1]);
    total->eigen += std::log(median[0] / median[2]);
    total->count++;
    spmv_destroy(&m);
    return ok;
}

static std::string machine() {
    std::string name = "unknown CPU";
    if (FILE *f = std::fopen("/proc/cpuinfo", "r")) {
        char line[512];
        while (std::fgets(line, sizeof line, f))
            if (!std::strncmp(line, "model name", 10) && std::strchr(line, ':')) {
                name = std::strchr(line, ':') + 2;
                name.erase(name.find_last_not_of('\n') + 1);
                break;
            }
        std::fclose(f);
    }
    return name;
}

int main(int argc, char **argv) {
    int threads = 1;
    bool ok = argc > 1;
    Ratios f32 = {0, 0, 0}, f64 = {0, 0, 0};
    char date[32];
    std::time_t t = std::time(nullptr);
    std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&t));
#ifdef _OPENMP
    threads = omp_get_max_threads();
#endif
    if (argc < 2) {
        std::fprintf(stderr, "usage: host_csr FILE...   (Matrix Market, .gz or not)\n");
        return 2;
    }
    std::printf("# %s, %d threads, %s, compiler %s, flags %s, Eigen %d.%d.%d\n", machine().c_str(), threads, date, __VERSION__,
#ifdef FLAGS
                FLAGS,
#else
                "unknown",
#endif
                EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION);
    std::printf("%-28s %-4s %10s %11s %11s %11s %11s %8s %8s\n", "matrix", "type", "rows", "nnz", "ours us", "loop us", "eigen us",
                "to loop", "to eigen");
    for (int i = 1; i < argc; i++) {
        spmv_csr a;
        if (!load(argv[i], &a)) {
            ok = false;
            continue;
        }
        std::string name = argv[i];
        name = name.substr(name.find_last_of('/') + 1);
        name = name.substr(0, name.find(".mtx"));
        if (a.nnz == 0 || a.nnz > 0x7fffffff) std::printf("%-28s left out\n", name.c_str());
        else ok = measure<double>(name.c_str(), a, &f64) & measure<float>(name.c_str(), a, &f32) & ok;
        spmv_csr_free(&a);
    }
    for (const Ratios *r : {&f64, &f32})
        if (r->count)
            std::printf("%-28s %-4s %58s %8.3f %8.3f\n", "geometric mean", r == &f64 ? "f64" : "f32", "",
                        std::exp(r->loop / r->count), std::exp(r->eigen / r->count));
    return ok ? 0 : 1;
}
