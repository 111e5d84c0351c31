// SPDX-License-Identifier: MIT
// bench/peers/cusparse.cu - cuSPARSE's product in every format that fits a matrix, timed as "spmv bench" times ours: many products in
// a row, in batches of at least 2 ms, the median of the batches.
//
//     nvcc -O2 -std=c++17 bench/peers/cusparse.cu -o build/cusparse -lcusparse
//     build/cusparse [--graph] [--both | --vectors N] [f32|f64] FILE...      each written by bench/csrb; both types unless one is named
//
// --graph records products in CUDA graphs as "spmv bench --graph" does; "timed" is "calls" where cuSPARSE does not let itself be recorded.
// --both makes the transpose a second matrix and times y = A x and z = A^T y in turn, as "spmv bench --both" does, instead of products with
// A: in CSR, by each method for A with each for A^T. A variant is then such a pair, us and prepare_us are those of both products.
//
// Prints a line of JSON for each matrix, type and variant: cusparse, the version; us, microseconds per product; prepare_us, the time of
// cusparseSpMV_preprocess, or of making SpMVOp's descriptor and plan; for CSR and COO copy_us, the time of copying the matrix to the
// device, and total_us, the time from arrays on the host to the 100th, 1000th and 10000th product; err, the largest error of a row divided
// by |A||x|. A variant that would store more than MAX_GROWTH slots per nonzero is left out, and one that cuSPARSE refuses has "us": null.
// SpMVOp is timed from cuSPARSE 12.9.4 on, which bench/peers/cusparse.sh unpacks where the toolkit has an earlier one.
#include <cuda_runtime.h>
#define CUSPARSE_ENABLE_EXPERIMENTAL_API // SpMVOp
#include <cusparse.h>

#include "csrb.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

static const double BATCH_US = 2000;  // a batch takes at least this long, so that the events' own cost does not count
static const int BATCHES = 20;        // of which the median is taken
static const int MAX_REPEATS = 2000;  // the most products in a batch
static const double MAX_GROWTH = 4;   // the most slots per nonzero in padded formats
static const int GRAPH_PRODUCTS = 20; // in a graph, as in tools/measure/graph.h

static cudaStream_t stream; // of all products: the default one cannot be recorded
static bool use_graphs;

#define CUDA(call)                                                                                  \
    do {                                                                                            \
        cudaError_t status = call;                                                                  \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

// Device memory, freed at the end of its scope.
template <class T> struct Buffer {
    T *data = nullptr;
    explicit Buffer(size_t count) { CUDA(cudaMalloc(&data, std::max<size_t>(count * sizeof(T), 16))); }
    explicit Buffer(const std::vector<T> &from) : Buffer(from.size()) {
        CUDA(cudaMemcpy(data, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    Buffer(const Buffer &) = delete;
    ~Buffer() { cudaFree(data); }
};

// Products recorded in a graph.
struct Graph {
    cudaGraphExec_t recorded = nullptr; // NULL: they cannot be recorded
    template <class Product> explicit Graph(const Product &product) {
        cudaGraph_t graph = nullptr;
        bool ok = !cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
        for (int i = 0; i < GRAPH_PRODUCTS && ok; i++) ok = product() == CUSPARSE_STATUS_SUCCESS;
        ok = !cudaStreamEndCapture(stream, &graph) && ok;
        if (ok && cudaGraphInstantiateWithFlags(&recorded, graph, 0)) recorded = nullptr;
        if (graph) cudaGraphDestroy(graph);
        cudaGetLastError();
    }
    Graph(const Graph &) = delete;
    ~Graph() {
        if (recorded) cudaGraphExecDestroy(recorded);
    }
};

template <class T> class Bench {
    const Csr &a;
    cusparseHandle_t handle;
    cusparseDnVecDescr_t vec_x, vec_y;
    cudaEvent_t begin, end;
    std::vector<T> val, x;
    std::vector<double> want, size;  // A x and |A||x|
    Buffer<T> *dev_x, *dev_y;
    const cudaDataType kind = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;
    const cusparseIndexType_t i32 = CUSPARSE_INDEX_32I;

    bool graph = false;  // whether what was timed last was recorded
    double copy_us = -1; // of what is multiplied next, from pageable memory of the host, allocation included; negative: not CSR or COO

    const char *type() const { return sizeof(T) == 8 ? "f64" : "f32"; }

    double elapsed() {
        float ms;
        CUDA(cudaEventSynchronize(end));
        CUDA(cudaEventElapsedTime(&ms, begin, end));
        return ms * 1e3;
    }

    static std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

    // Microseconds until the device has done all it was told.
    static double us_since(std::chrono::steady_clock::time_point since) {
        CUDA(cudaDeviceSynchronize());
        return std::chrono::duration<double, std::micro>(now() - since).count();
    }

    // Microseconds per product in a batch of so many; negative if cuSPARSE refuses.
    template <class Product> double batch(const Product &product, int repeats) {
        CUDA(cudaEventRecord(begin, stream));
        for (int i = 0; i < repeats; i++)
            if (product() != CUSPARSE_STATUS_SUCCESS) return -1;
        CUDA(cudaEventRecord(end, stream));
        return elapsed() / repeats;
    }

    template <class Product> double median(const Product &product) {
        std::vector<double> us;
        graph = false;
        for (int i = 0; i < 5; i++)
            if (batch(product, 1) < 0) return -1;
        double once = batch(product, 10);
        int repeats = std::min(MAX_REPEATS, std::max(1, int(BATCH_US / once) + 1));
        if (use_graphs && repeats >= GRAPH_PRODUCTS) {
            Graph products(product);
            graph = products.recorded != nullptr;
            const auto launch = [&] { return cusparseStatus_t(int(cudaGraphLaunch(products.recorded, stream))); }; // both: 0 is success
            const int launches = (repeats + GRAPH_PRODUCTS - 1) / GRAPH_PRODUCTS;
            for (int i = 0; i < BATCHES && graph; i++) us.push_back(batch(launch, launches) / GRAPH_PRODUCTS);
        }
        for (int i = 0; i < BATCHES && !graph; i++) us.push_back(batch(product, repeats));
        std::sort(us.begin(), us.end());
        return us[us.size() / 2];
    }

    double error() {
        std::vector<T> y(a.rows);
        double worst = 0;
        CUDA(cudaMemcpy(y.data(), dev_y->data, a.rows * sizeof(T), cudaMemcpyDeviceToHost));
        for (int64_t i = 0; i < a.rows; i++) {
            double off = std::fabs(y[i] - want[i]);
            worst = std::isnan(off) ? INFINITY : std::max(worst, size[i] > 0 ? off / size[i] : off > 0 ? INFINITY : 0);
        }
        return worst;
    }

    // Prints the line of a variant; negative us: cuSPARSE refused it.
    void print(const char *variant, double us, double prepare, double err) {
        int version = 0;
        cusparseGetVersion(handle, &version);
        std::printf("{\"matrix\": \"%s\", \"dtype\": \"%s\", \"variant\": \"%s\", \"cusparse\": %d, \"timed\": \"%s\", \"us\": ",
                    a.name.c_str(), type(), variant, version, graph ? "graph" : "calls");
        if (us < 0) {
            std::printf("null}\n");
        } else {
            std::printf("%.3f, \"prepare_us\": %.0f, ", us, prepare);
            if (copy_us >= 0)
                std::printf("\"copy_us\": %.0f, \"total_us\": {\"100\": %.0f, \"1000\": %.0f, \"10000\": %.0f}, ", copy_us,
                            copy_us + prepare + 100 * us, copy_us + prepare + 1000 * us, copy_us + prepare + 10000 * us);
            std::printf("\"err\": %.1e}\n", err);
        }
        std::fflush(stdout);
    }

    // Prepares products and calls use with one, or with one that fails if cuSPARSE refuses, and with the time that this took.
    template <class Use> void prepare(cusparseSpMatDescr_t matrix, cusparseSpMVAlg_t algorithm, const Use &use) {
        const T one = 1, zero = 0;
        const cusparseOperation_t op = CUSPARSE_OPERATION_NON_TRANSPOSE;
        size_t bytes = 0;
        cusparseStatus_t s = cusparseSpMV_bufferSize(handle, op, &one, matrix, vec_x, &zero, vec_y, kind, algorithm, &bytes);
        Buffer<char> work(bytes);
        CUDA(cudaEventRecord(begin, stream));
        if (!s) cusparseSpMV_preprocess(handle, op, &one, matrix, vec_x, &zero, vec_y, kind, algorithm, work.data);
        CUDA(cudaEventRecord(end, stream));
        const double took = elapsed();
        use([&] { return s ? s : cusparseSpMV(handle, op, &one, matrix, vec_x, &zero, vec_y, kind, algorithm, work.data); }, took);
        cusparseDestroySpMat(matrix);
    }

#if CUSPARSE_VERSION >= 12904
    // SpMVOp: z = alpha A x + beta y, here without an epilogue and with y = 0. It prepares on the host, too, so a clock times that.
    template <class Use> void prepare(cusparseSpMatDescr_t matrix, cusparseSpMVOpAlg_t algorithm, const Use &use) {
        const T one = 1, zero = 0;
        const cusparseOperation_t op = CUSPARSE_OPERATION_NON_TRANSPOSE;
        size_t bytes = 0;
        Buffer<T> zeros(std::vector<T>(a.rows, 0));
        cusparseDnVecDescr_t added;
        cusparseSpMVOpDescr_t about = nullptr;
        cusparseSpMVOpPlan_t plan = nullptr;
        cusparseCreateDnVec(&added, a.rows, zeros.data, kind);
        cusparseStatus_t s = cusparseSpMVOp_bufferSize(handle, op, matrix, vec_x, added, vec_y, kind, algorithm, &bytes);
        Buffer<char> work(bytes);
        const auto since = now();
        if (!s) s = cusparseSpMVOp_createDescr(handle, &about, op, matrix, vec_x, added, vec_y, kind, algorithm, work.data);
        if (!s) s = cusparseSpMVOp_createPlan(handle, about, &plan, nullptr, 0);
        const double took = us_since(since);
        use([&] { return s ? s : cusparseSpMVOp(handle, plan, &one, &zero, vec_x, added, vec_y); }, took);
        if (plan) cusparseSpMVOp_destroyPlan(plan);
        if (about) cusparseSpMVOp_destroyDescr(about);
        cusparseDestroyDnVec(added);
        cusparseDestroySpMat(matrix);
    }
#endif

    template <class Algorithm> void run(const char *variant, cusparseSpMatDescr_t matrix, Algorithm algorithm) {
        prepare(matrix, algorithm, [&](const auto &product, double took) {
            CUDA(cudaMemset(dev_y->data, 0xff, a.rows * sizeof(T)));
            const double us = median(product);
            print(variant, us, took, us < 0 ? 0 : error());
        });
    }

    // The time of copying arrays to the device; the copies are freed again.
    double time_copy(const std::vector<int> &first, const std::vector<int> &second) {
        const auto since = now();
        Buffer<int> one(first), two(second);
        Buffer<T> three(val);
        return us_since(since);
    }

    // Calls use(name, algorithm, matrix) with each method for CSR and the matrix, which use must see destroyed.
    template <class Use> void each_csr(const Use &use) {
        Buffer<int> ptr(a.ptr), col(a.col);
        Buffer<T> values(val);
        const auto with = [&](const char *name, auto algorithm) {
            cusparseSpMatDescr_t m;
            if (!cusparseCreateCsr(&m, a.rows, a.cols, a.nnz, ptr.data, col.data, values.data, i32, i32, CUSPARSE_INDEX_BASE_ZERO, kind))
                use(name, algorithm, m);
        };
        with("csr_alg1", CUSPARSE_SPMV_CSR_ALG1);
        with("csr_alg2", CUSPARSE_SPMV_CSR_ALG2);
#if CUSPARSE_VERSION >= 12904
        with("spmvop_alg1", CUSPARSE_SPMVOP_ALG1);
        with("spmvop_alg2", CUSPARSE_SPMVOP_ALG2);
#endif
    }

    void csr_and_coo() {
        copy_us = time_copy(a.ptr, a.col);
        each_csr([&](const char *name, auto algorithm, cusparseSpMatDescr_t m) { run(name, m, algorithm); });
        Buffer<int> col(a.col);
        Buffer<T> values(val);
        std::vector<int> row(a.nnz);
        for (int64_t i = 0; i < a.rows; i++) std::fill(row.begin() + a.ptr[i], row.begin() + a.ptr[i + 1], int(i));
        Buffer<int> rows(row);
        cusparseSpMatDescr_t m;
        copy_us = time_copy(row, a.col);
        if (!cusparseCreateCoo(&m, a.rows, a.cols, a.nnz, rows.data, col.data, values.data, i32, CUSPARSE_INDEX_BASE_ZERO, kind))
            run("coo_alg1", m, CUSPARSE_SPMV_COO_ALG1);
        copy_us = -1;
    }

    void sliced_ell() {
        const int64_t height = 32, slices = (a.rows + height - 1) / height;
        std::vector<int> offset(slices + 1);
        int64_t slots = 0;
        for (int64_t s = 0; s < slices; s++) {
            int width = 0;
            for (int64_t i = s * height; i < std::min(a.rows, (s + 1) * height); i++) width = std::max(width, a.ptr[i + 1] - a.ptr[i]);
            offset[s] = int(slots);
            slots += width * height;
            if (slots > MAX_GROWTH * a.nnz || slots > INT32_MAX) return;
        }
        offset[slices] = int(slots);
        std::vector<int> col(slots, -1);
        std::vector<T> values(slots, 0);
        for (int64_t i = 0; i < a.rows; i++)
            for (int64_t k = a.ptr[i]; k < a.ptr[i + 1]; k++) {
                int64_t at = offset[i / height] + (k - a.ptr[i]) * height + i % height;
                col[at] = a.col[k];
                values[at] = val[k];
            }
        Buffer<int> dev_offset(offset), dev_col(col);
        Buffer<T> dev_values(values);
        cusparseSpMatDescr_t m;
        if (!cusparseCreateSlicedEll(&m, a.rows, a.cols, a.nnz, slots, height, dev_offset.data, dev_col.data, dev_values.data, i32, i32,
                                     CUSPARSE_INDEX_BASE_ZERO, kind))
            run("sell32", m, CUSPARSE_SPMV_SELL_ALG1);
    }

    void blocks(int b) {
        if (a.rows % b || a.cols % b) return;
        std::vector<int> ptr(1, 0), col, mark(a.cols / b, -1);
        for (int64_t i = 0; i < a.rows / b; i++) {
            for (int64_t k = a.ptr[i * b]; k < a.ptr[(i + 1) * b]; k++)
                if (mark[a.col[k] / b] != i) {
                    mark[a.col[k] / b] = int(i);
                    col.push_back(a.col[k] / b);
                }
            std::sort(col.begin() + ptr.back(), col.end());
            ptr.push_back(int(col.size()));
            if (double(col.size()) * b * b > MAX_GROWTH / 2 * a.nnz) return;
        }
        std::vector<T> values(col.size() * b * b, 0);
        for (int64_t i = 0; i < a.rows / b; i++) {
            for (int k = ptr[i]; k < ptr[i + 1]; k++) mark[col[k]] = k;
            for (int64_t r = i * b; r < (i + 1) * b; r++)
                for (int k = a.ptr[r]; k < a.ptr[r + 1]; k++) values[(int64_t(mark[a.col[k] / b]) * b + r % b) * b + a.col[k] % b] = val[k];
        }
        Buffer<int> dev_ptr(ptr), dev_col(col);
        Buffer<T> dev_values(values);
        cusparseSpMatDescr_t m;
        std::string variant = "bsr" + std::to_string(b);
        if (!cusparseCreateBsr(&m, a.rows / b, a.cols / b, int64_t(col.size()), b, b, dev_ptr.data, dev_col.data, dev_values.data, i32, i32,
                               CUSPARSE_INDEX_BASE_ZERO, kind, CUSPARSE_ORDER_ROW))
            run(variant.c_str(), m, CUSPARSE_SPMV_ALG_DEFAULT);
    }

  public:
    explicit Bench(const Csr &matrix) : a(matrix), val(a.val.begin(), a.val.end()), x(a.cols), want(a.rows), size(a.rows) {
        for (int64_t j = 0; j < a.cols; j++) x[j] = T(0.5 + double((uint64_t(j) * 40503u >> 3) % 997) / 1000);
        for (int64_t i = 0; i < a.rows; i++)
            for (int k = a.ptr[i]; k < a.ptr[i + 1]; k++) {
                double term = double(val[k]) * x[a.col[k]];
                want[i] += term;
                size[i] += std::fabs(term);
            }
        dev_x = new Buffer<T>(x);
        dev_y = new Buffer<T>(a.rows);
        cusparseCreate(&handle);
        cusparseSetStream(handle, stream);
        cusparseCreateDnVec(&vec_x, a.cols, dev_x->data, kind);
        cusparseCreateDnVec(&vec_y, a.rows, dev_y->data, kind);
        CUDA(cudaEventCreate(&begin));
        CUDA(cudaEventCreate(&end));
    }
    ~Bench() {
        cudaEventDestroy(begin);
        cudaEventDestroy(end);
        cusparseDestroyDnVec(vec_x);
        cusparseDestroyDnVec(vec_y);
        cusparseDestroy(handle);
        delete dev_x;
        delete dev_y;
    }
    Bench(const Bench &) = delete;

    void all() {
        csr_and_coo();
        sliced_ell();
        for (int b : {2, 3, 4, 6, 8}) blocks(b);
    }

    // Y = A X with so many vectors, side by side (rows) and one after another (columns), each a copy of x; errors are those of the first.
    void several(int64_t vectors) {
        const T one = 1, zero = 0;
        const cusparseOperation_t op = CUSPARSE_OPERATION_NON_TRANSPOSE;
        const cusparseSpMMAlg_t algorithms[] = {CUSPARSE_SPMM_CSR_ALG1, CUSPARSE_SPMM_CSR_ALG2, CUSPARSE_SPMM_CSR_ALG3};
        Buffer<int> ptr(a.ptr), col(a.col);
        Buffer<T> values(val), many_y(a.rows * vectors);
        cusparseSpMatDescr_t matrix;
        if (cusparseCreateCsr(&matrix, a.rows, a.cols, a.nnz, ptr.data, col.data, values.data, i32, i32, CUSPARSE_INDEX_BASE_ZERO, kind)) return;
        for (const bool rows : {true, false}) {
            std::vector<T> many(a.cols * vectors);
            for (int64_t i = 0; i < a.cols; i++)
                for (int64_t j = 0; j < vectors; j++) many[rows ? i * vectors + j : j * a.cols + i] = x[i];
            Buffer<T> many_x(many);
            const cusparseOrder_t order = rows ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
            cusparseDnMatDescr_t from, to;
            cusparseCreateDnMat(&from, a.cols, vectors, rows ? vectors : a.cols, many_x.data, kind, order);
            cusparseCreateDnMat(&to, a.rows, vectors, rows ? vectors : a.rows, many_y.data, kind, order);
            for (int k = 0; k < 3; k++) {
                size_t bytes = 0;
                cusparseStatus_t s = cusparseSpMM_bufferSize(handle, op, op, &one, matrix, from, &zero, to, kind, algorithms[k], &bytes);
                Buffer<char> work(bytes);
                const auto since = now();
                if (!s) s = cusparseSpMM_preprocess(handle, op, op, &one, matrix, from, &zero, to, kind, algorithms[k], work.data);
                const double took = us_since(since);
                const auto product = [&] {
                    return s ? s : cusparseSpMM(handle, op, op, &one, matrix, from, &zero, to, kind, algorithms[k], work.data);
                };
                CUDA(cudaMemset(many_y.data, 0xff, a.rows * vectors * sizeof(T)));
                const double us = median(product);
                CUDA(cudaMemcpy2D(dev_y->data, sizeof(T), many_y.data, (rows ? vectors : 1) * sizeof(T), sizeof(T), a.rows,
                                  cudaMemcpyDeviceToDevice));
                print((std::string(rows ? "rows" : "columns") + "_alg" + std::to_string(k + 1)).c_str(), us, took, us < 0 ? 0 : error());
            }
            cusparseDestroyDnMat(from);
            cusparseDestroyDnMat(to);
        }
        cusparseDestroySpMat(matrix);
    }

    // y = A x and z = A^T y in turn, back being of the transpose, which multiplies its own x where errors are found.
    void in_turn(Bench &back) {
        each_csr([&](const char *there_name, auto there_algorithm, cusparseSpMatDescr_t there_matrix) {
            prepare(there_matrix, there_algorithm, [&](const auto &there, double there_took) {
                back.each_csr([&](const char *name, auto algorithm, cusparseSpMatDescr_t matrix) {
                    back.prepare(matrix, algorithm, [&](const auto &then, double took) {
                        const std::string variant = std::string(there_name) + "+" + name;
                        const auto both = [&] { const cusparseStatus_t s = there(); return s ? s : then(); };
                        CUDA(cudaMemset(dev_y->data, 0xff, a.rows * sizeof(T)));
                        CUDA(cudaMemset(back.dev_y->data, 0xff, a.cols * sizeof(T)));
                        cusparseDnVecSetValues(back.vec_x, back.dev_x->data);
                        double us = both() ? -1 : 0, err = us < 0 ? 0 : std::max(error(), back.error());
                        cusparseDnVecSetValues(back.vec_x, dev_y->data);
                        if (us >= 0) us = median(both);
                        print(variant.c_str(), us, there_took + took, err);
                    });
                });
            });
        });
    }
};

static Csr transposed(const Csr &a) {
    Csr t;
    t.name = a.name, t.rows = a.cols, t.cols = a.rows, t.nnz = a.nnz;
    t.ptr.assign(a.cols + 1, 0), t.col.resize(a.nnz), t.val.resize(a.nnz);
    for (int c : a.col) t.ptr[c + 1]++;
    for (int64_t c = 0; c < a.cols; c++) t.ptr[c + 1] += t.ptr[c];
    std::vector<int> next(t.ptr);
    for (int64_t r = 0; r < a.rows; r++)
        for (int k = a.ptr[r]; k < a.ptr[r + 1]; k++) {
            t.col[next[a.col[k]]] = int(r);
            t.val[next[a.col[k]]++] = a.val[k];
        }
    return t;
}

template <class T> static void measure(const Csr &a, bool both, int64_t vectors) {
    Bench<T> bench(a);
    if (vectors) return bench.several(vectors);
    if (!both) return bench.all();
    const Csr t = transposed(a);
    Bench<T> back(t);
    bench.in_turn(back);
}

int main(int argc, char **argv) {
    bool both = false;
    int64_t vectors = 0;
    int first = 1;
    for (; first < argc && argv[first][0] == '-'; first++) {
        if (!std::strcmp(argv[first], "--graph")) use_graphs = true;
        else if (!std::strcmp(argv[first], "--both")) both = true;
        else if (!std::strcmp(argv[first], "--vectors") && first + 1 < argc) vectors = std::atoll(argv[++first]);
        else break;
    }
    const std::string only = first < argc ? argv[first] : "";
    const bool one_type = only == "f32" || only == "f64";
    first += one_type;
    int failed = argc <= first || argv[first][0] == '-';
    if (failed) {
        std::fprintf(stderr, "usage: cusparse [--graph] [--both | --vectors N] [f32|f64] FILE...\n");
        return 1;
    }
    CUDA(cudaStreamCreate(&stream));
    for (int i = first; i < argc; i++) {
        Csr a;
        if (!load(argv[i], a)) {
            std::fprintf(stderr, "%s: not a file of bench/csrb\n", argv[i]);
            failed = 1;
            continue;
        }
        if (!one_type || only == "f32") measure<float>(a, both, vectors);
        if (!one_type || only == "f64") measure<double>(a, both, vectors);
    }
    return failed;
}
