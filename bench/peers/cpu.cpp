// SPDX-License-Identifier: MIT
// bench/peers/cpu.cpp - products of other libraries on the CPU, timed as "spmv bench" times ours: by the wall clock, products in a row,
// in samples of at least 100 us, the median of at least 20 samples.
//
//     c++ -O3 -march=native -fopenmp bench/peers/cpu.cpp -o build/cpu-peers -I/usr/include/eigen3 -lrsb
//     build/cpu-peers [--vectors N] [f32|f64] [VARIANT] FILE...   each written by bench/csrb; without a type both, without a variant all
//
// The variants are omp_csr, a plain OpenMP loop over CSR; eigen; rsb_raw, librsb as it stores a matrix at first; librsb, after its own
// tuning; with -DWITH_MKL, Intel MKL's inspector-executor interface: mkl_csr, which only makes a handle, and mkl, with its hints and
// mkl_sparse_optimize; and, with -DWITH_AOCL, AOCL-Sparse likewise: aocl_csr and aocl, with its hint and aoclsparse_optimize. With
// --vectors N only MKL's mm multiplies, N vectors: mkl_mm_rows, which lie side by side, and mkl_mm_columns, one after another, each with
// its hint and mkl_sparse_optimize. Prints a line of JSON for each matrix, type and variant: us, microseconds per product; prepare_us, the
// time of the library's own preparation, from the arrays of CSR until the first product can begin, where an earlier one was freed: the
// median of four, or fewer if they take long; first_us, that of the first one, which with one variant and one type is the first in its
// process; total_us, the time from CSR to the 100th, 1000th and 10000th product, with prepare_us, and first_total_us, with first_us; err,
// the largest error of a row divided by |A||x|.
#include <Eigen/Sparse>
#include <omp.h>
#include <rsb.h>
#ifdef WITH_MKL
#include <mkl_spblas.h>
#endif

#ifdef WITH_AOCL
// As in aoclsparse.h, which its wheel lacks.
extern "C" {
typedef struct _aoclsparse_matrix *aoclsparse_matrix;
typedef struct _aoclsparse_mat_descr *aoclsparse_mat_descr;
enum { AOCL_NOT_TRANSPOSED = 111, AOCL_FROM_ZERO = 0, AOCL_SUCCESS = 0 };
int aoclsparse_create_mat_descr(aoclsparse_mat_descr *); // of a general matrix
int aoclsparse_destroy_mat_descr(aoclsparse_mat_descr);
int aoclsparse_create_scsr(aoclsparse_matrix *, int base, int rows, int cols, int nnz, int *ptr, int *col, float *val);
int aoclsparse_create_dcsr(aoclsparse_matrix *, int base, int rows, int cols, int nnz, int *ptr, int *col, double *val);
int aoclsparse_destroy(aoclsparse_matrix *);
int aoclsparse_set_mv_hint(aoclsparse_matrix, int operation, aoclsparse_mat_descr, int calls);
int aoclsparse_optimize(aoclsparse_matrix);
int aoclsparse_smv(int operation, const float *alpha, aoclsparse_matrix, aoclsparse_mat_descr, const float *x, const float *beta,
                   float *y);
int aoclsparse_dmv(int operation, const double *alpha, aoclsparse_matrix, aoclsparse_mat_descr, const double *x, const double *beta,
                   double *y);
}
#endif

#include "csrb.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

static const double SAMPLE_US = 100; // a sample takes at least this long
static const size_t SAMPLES = 20;
static const size_t PREPARATIONS = 5;
static const double PREPARE_US = 1e6; // no further preparation begins after so long
static const double RSB_SECONDS = 3; // for how long librsb may tune
#ifndef SUFFIX
#define SUFFIX "" // appended to every variant's name, for example the compiler's flags
#endif

static double now_us() { return omp_get_wtime() * 1e6; }

// Microseconds of the first preparation and of later ones.
struct Preparation {
    double first, later;
};

template <class T> class Bench {
    using Product = std::function<void()>;
    const Csr &a;
    const int rows, cols;
    std::vector<T> val, x, y;
    std::vector<double> want, size; // A x and |A||x|

    double error() const {
        double worst = 0;
        for (size_t i = 0; i < y.size(); i++) {
            double off = std::fabs(y[i] - want[i]);
            worst = std::isnan(off) ? INFINITY : std::max(worst, size[i] > 0 ? off / size[i] : off > 0 ? INFINITY : 0);
        }
        return worst;
    }

    // Prepares a few times, and stays prepared by the last. undo frees what prepare made, which returns whether it could.
    Preparation prepared(const std::function<bool()> &prepare, const std::function<void()> &undo) {
        std::vector<double> us;
        const double first = now_us();
        do {
            if (!us.empty()) undo();
            const double begin = now_us();
            if (!prepare()) return {-1, -1};
            us.push_back(now_us() - begin);
        } while (us.size() < PREPARATIONS && now_us() - first < PREPARE_US);
        const double cold = us[0];
        if (us.size() > 1) us.erase(us.begin());
        std::sort(us.begin(), us.end());
        return {cold, us[us.size() / 2]};
    }

    void totals(const char *name, double prepare_us, double us) {
        std::printf("\"%s\": {\"100\": %.1f, \"1000\": %.1f, \"10000\": %.1f}, ", name, prepare_us + 100 * us, prepare_us + 1000 * us,
                    prepare_us + 10000 * us);
    }

    // collect: brings the product to y, if it is not there
    void run(const char *variant, const Preparation &before, const Product &product, const Product &collect = [] {}) {
        std::vector<double> us;
        std::fill(y.begin(), y.end(), T(NAN));
        for (int i = 0; i < 3; i++) product();
        double begin = now_us();
        product();
        int repeats = std::max(1, int(SAMPLE_US / std::max(now_us() - begin, 0.01)) + 1);
        while (us.size() < SAMPLES) {
            begin = now_us();
            for (int i = 0; i < repeats; i++) product();
            us.push_back((now_us() - begin) / repeats);
        }
        collect();
        std::sort(us.begin(), us.end());
        const double one = us[us.size() / 2];
        std::printf("{\"matrix\": \"%s\", \"dtype\": \"%s\", \"variant\": \"%s%s\", \"threads\": %d, \"us\": %.3f, "
                    "\"prepare_us\": %.1f, \"first_us\": %.1f, ",
                    a.name.c_str(), sizeof(T) == 8 ? "f64" : "f32", variant, SUFFIX, omp_get_max_threads(), one, before.later,
                    before.first);
        totals("total_us", before.later, one);
        totals("first_total_us", before.first, one);
        std::printf("\"err\": %.1e}\n", error());
        std::fflush(stdout);
    }

    void plain() {
        run("omp_csr", {0, 0}, [&] {
            const int *ptr = a.ptr.data(), *col = a.col.data();
            const T *v = val.data(), *in = x.data();
            T *out = y.data();
#pragma omp parallel for schedule(static)
            for (int i = 0; i < rows; i++) {
                T sum = 0;
                for (int k = ptr[i]; k < ptr[i + 1]; k++) sum += v[k] * in[col[k]];
                out[i] = sum;
            }
        });
    }

    void eigen() {
        Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor, int>> m(rows, cols, a.nnz, a.ptr.data(), a.col.data(), val.data());
        Eigen::Map<Eigen::Matrix<T, -1, 1>> in(x.data(), cols), out(y.data(), rows);
        run("eigen", {0, 0}, [&] { out.noalias() = m * in; });
    }

    // tune: lets it tune for RSB_SECONDS at most
    void librsb(const char *variant, bool tune) {
        const rsb_type_t kind = sizeof(T) == 8 ? RSB_NUMERICAL_TYPE_DOUBLE : RSB_NUMERICAL_TYPE_FLOAT;
        const rsb_flags_t flags = RSB_FLAG_NOFLAGS | RSB_FLAG_WANT_BCSS_STORAGE;
        const T one = 1, zero = 0;
        rsb_mtx_t *m = nullptr;
        const auto make = [&] {
            rsb_err_t error_code = 0;
            rsb_real_t speedup = 0;
            rsb_int_t threads = 0;
            m = rsb_mtx_alloc_from_csr_const(val.data(), a.ptr.data(), a.col.data(), rsb_nnz_idx_t(a.nnz), kind, rows, cols, 1, 1, flags,
                                             &error_code);
            if (m && tune)
                rsb_tune_spmm(&m, &speedup, &threads, 0, RSB_SECONDS, RSB_TRANSPOSITION_N, &one, nullptr, 1,
                              RSB_FLAG_WANT_COLUMN_MAJOR_ORDER, nullptr, cols, &zero, nullptr, rows);
            return m != nullptr;
        };
        const Preparation before = prepared(make, [&] { rsb_mtx_free(m); });
        if (before.first < 0) return;
        run(variant, before, [&] { rsb_spmv(RSB_TRANSPOSITION_N, &one, m, x.data(), 1, &zero, y.data(), 1); });
        rsb_mtx_free(m);
    }

#ifdef WITH_MKL
    static sparse_status_t create(sparse_matrix_t *m, int r, int c, int *ptr, int *col, double *v) {
        return mkl_sparse_d_create_csr(m, SPARSE_INDEX_BASE_ZERO, r, c, ptr, ptr + 1, col, v);
    }
    static sparse_status_t create(sparse_matrix_t *m, int r, int c, int *ptr, int *col, float *v) {
        return mkl_sparse_s_create_csr(m, SPARSE_INDEX_BASE_ZERO, r, c, ptr, ptr + 1, col, v);
    }
    static void multiply(sparse_matrix_t m, matrix_descr d, const double *in, double *out) {
        mkl_sparse_d_mv(SPARSE_OPERATION_NON_TRANSPOSE, 1, m, d, in, 0, out);
    }
    static void multiply(sparse_matrix_t m, matrix_descr d, const float *in, float *out) {
        mkl_sparse_s_mv(SPARSE_OPERATION_NON_TRANSPOSE, 1, m, d, in, 0, out);
    }
    static void multiply(sparse_matrix_t m, matrix_descr d, sparse_layout_t layout, int n, const double *in, int ldx, double *out, int ldy) {
        mkl_sparse_d_mm(SPARSE_OPERATION_NON_TRANSPOSE, 1, m, d, layout, in, n, ldx, 0, out, ldy);
    }
    static void multiply(sparse_matrix_t m, matrix_descr d, sparse_layout_t layout, int n, const float *in, int ldx, float *out, int ldy) {
        mkl_sparse_s_mm(SPARSE_OPERATION_NON_TRANSPOSE, 1, m, d, layout, in, n, ldx, 0, out, ldy);
    }
    // So many vectors, each a copy of x; errors are those of the last one.
    void mkl_mm(const char *variant, sparse_layout_t layout, int n) {
        sparse_matrix_t m;
        matrix_descr d;
        std::vector<int> ptr = a.ptr, col = a.col;
        const bool sides = layout == SPARSE_LAYOUT_ROW_MAJOR;
        std::vector<T> in(size_t(n) * cols), out(size_t(n) * rows);
        for (size_t j = 0; j < size_t(n); j++)
            for (size_t i = 0; i < size_t(cols); i++) in[sides ? i * n + j : j * cols + i] = x[i];
        d.type = SPARSE_MATRIX_TYPE_GENERAL;
        const auto make = [&] {
            if (create(&m, rows, cols, ptr.data(), col.data(), val.data()) != SPARSE_STATUS_SUCCESS) return false;
            mkl_sparse_set_mm_hint(m, SPARSE_OPERATION_NON_TRANSPOSE, d, layout, n, 100000);
            mkl_sparse_set_memory_hint(m, SPARSE_MEMORY_AGGRESSIVE);
            mkl_sparse_optimize(m);
            return true;
        };
        const Preparation before = prepared(make, [&] { mkl_sparse_destroy(m); });
        if (before.first < 0) return;
        run(variant, before, [&] { multiply(m, d, layout, n, in.data(), sides ? n : cols, out.data(), sides ? n : rows); },
            [&] { for (size_t i = 0; i < size_t(rows); i++) y[i] = out[sides ? i * n + n - 1 : size_t(n - 1) * rows + i]; });
        mkl_sparse_destroy(m);
    }
    // optimize: with hints, which promise many products, and its analysis
    void mkl(const char *variant, bool optimize) {
        sparse_matrix_t m;
        matrix_descr d;
        std::vector<int> ptr = a.ptr, col = a.col;
        d.type = SPARSE_MATRIX_TYPE_GENERAL;
        const auto make = [&] {
            if (create(&m, rows, cols, ptr.data(), col.data(), val.data()) != SPARSE_STATUS_SUCCESS) return false;
            if (!optimize) return true;
            mkl_sparse_set_mv_hint(m, SPARSE_OPERATION_NON_TRANSPOSE, d, 100000);
            mkl_sparse_set_memory_hint(m, SPARSE_MEMORY_AGGRESSIVE);
            mkl_sparse_optimize(m);
            return true;
        };
        const Preparation before = prepared(make, [&] { mkl_sparse_destroy(m); });
        if (before.first < 0) return;
        run(variant, before, [&] { multiply(m, d, x.data(), y.data()); });
        mkl_sparse_destroy(m);
    }
#endif

#ifdef WITH_AOCL
    static int make_aocl(aoclsparse_matrix *m, int r, int c, int n, int *ptr, int *col, double *v) {
        return aoclsparse_create_dcsr(m, AOCL_FROM_ZERO, r, c, n, ptr, col, v);
    }
    static int make_aocl(aoclsparse_matrix *m, int r, int c, int n, int *ptr, int *col, float *v) {
        return aoclsparse_create_scsr(m, AOCL_FROM_ZERO, r, c, n, ptr, col, v);
    }
    static void mul_aocl(aoclsparse_matrix m, aoclsparse_mat_descr d, const double *in, double *out) {
        const double one = 1, zero = 0;
        aoclsparse_dmv(AOCL_NOT_TRANSPOSED, &one, m, d, in, &zero, out);
    }
    static void mul_aocl(aoclsparse_matrix m, aoclsparse_mat_descr d, const float *in, float *out) {
        const float one = 1, zero = 0;
        aoclsparse_smv(AOCL_NOT_TRANSPOSED, &one, m, d, in, &zero, out);
    }
    // optimize: with a hint, which promises many products, and its analysis
    void aocl(const char *variant, bool optimize) {
        aoclsparse_matrix m = nullptr;
        aoclsparse_mat_descr d = nullptr;
        std::vector<int> ptr = a.ptr, col = a.col;
        aoclsparse_create_mat_descr(&d);
        const auto make = [&] {
            if (make_aocl(&m, rows, cols, int(a.nnz), ptr.data(), col.data(), val.data()) != AOCL_SUCCESS) return false;
            if (!optimize) return true;
            aoclsparse_set_mv_hint(m, AOCL_NOT_TRANSPOSED, d, 100000);
            aoclsparse_optimize(m);
            return true;
        };
        const Preparation before = prepared(make, [&] { aoclsparse_destroy(&m); });
        if (before.first >= 0) run(variant, before, [&] { mul_aocl(m, d, x.data(), y.data()); });
        aoclsparse_destroy(&m);
        aoclsparse_destroy_mat_descr(d);
    }
#endif

  public:
    explicit Bench(const Csr &m) : a(m), rows(int(m.rows)), cols(int(m.cols)), val(m.val.begin(), m.val.end()), x(size_t(m.cols)), y(size_t(m.rows)),
                                   want(size_t(m.rows)), size(size_t(m.rows)) {
        for (int j = 0; j < cols; j++) x[j] = T(0.5 + double((uint64_t(j) * 40503u >> 3) % 997) / 1000);
        for (int i = 0; i < rows; i++)
            for (int k = a.ptr[i]; k < a.ptr[i + 1]; k++) {
                double term = double(val[k]) * x[a.col[k]];
                want[i] += term;
                size[i] += std::fabs(term);
            }
    }
#ifdef WITH_MKL
    void several(const std::string &only, int vectors) {
        if (only.empty() || only == "mkl_mm_rows") mkl_mm("mkl_mm_rows", SPARSE_LAYOUT_ROW_MAJOR, vectors);
        if (only.empty() || only == "mkl_mm_columns") mkl_mm("mkl_mm_columns", SPARSE_LAYOUT_COLUMN_MAJOR, vectors);
    }
#else
    void several(const std::string &, int) { std::fprintf(stderr, "cpu-peers: --vectors needs a build with MKL (-DWITH_MKL)\n"); }
#endif
    // Runs the variant of this name, all if it is empty.
    void all(const std::string &only) {
        const auto chosen = [&](const char *variant) { return only.empty() || only == variant; };
        if (chosen("omp_csr")) plain();
        if (chosen("eigen")) eigen();
        if (chosen("rsb_raw")) librsb("rsb_raw", false);
        if (chosen("librsb")) librsb("librsb", true);
#ifdef WITH_MKL
        if (chosen("mkl_csr")) mkl("mkl_csr", false);
        if (chosen("mkl")) mkl("mkl", true);
#endif
#ifdef WITH_AOCL
        if (chosen("aocl_csr")) aocl("aocl_csr", false);
        if (chosen("aocl")) aocl("aocl", true);
#endif
    }
};

template <class T> static void measure(const Csr &a, const std::string &variant, int vectors) {
    Bench<T> bench(a);
    if (vectors) bench.several(variant, vectors);
    else bench.all(variant);
}

static bool is_variant(const std::string &word) {
    for (const char *variant :
         {"omp_csr", "eigen", "rsb_raw", "librsb", "mkl_csr", "mkl", "mkl_mm_rows", "mkl_mm_columns", "aocl_csr", "aocl"})
        if (word == variant) return true;
    return false;
}

int main(int argc, char **argv) {
    std::string type, variant;
    int first = 1, failed, vectors = 0;
    if (first + 1 < argc && !std::strcmp(argv[first], "--vectors")) {
        vectors = std::atoi(argv[first + 1]);
        first += 2;
    }
    if (first < argc && (!std::strcmp(argv[first], "f32") || !std::strcmp(argv[first], "f64"))) type = argv[first++];
    if (first < argc && is_variant(argv[first])) variant = argv[first++];
    failed = argc <= first;
    if (failed) std::fprintf(stderr, "usage: cpu-peers [--vectors N] [f32|f64] [VARIANT] FILE...\n");
    rsb_lib_init(RSB_NULL_INIT_OPTIONS);
    for (int i = first; i < argc; i++) {
        Csr a;
        if (!load(argv[i], a)) {
            std::fprintf(stderr, "%s: not a file of bench/csrb\n", argv[i]);
            failed = 1;
            continue;
        }
        if (type != "f64") measure<float>(a, variant, vectors);
        if (type != "f32") measure<double>(a, variant, vectors);
    }
    return failed;
}
