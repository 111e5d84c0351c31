// SPDX-License-Identifier: MIT
// bench/peers/dasp.cu - times and checks the f64 product of DASP (Lu and Liu, SC '23), whose sources are not part of this project:
//
//     git clone https://github.com/SuperScientificSoftwareLaboratory/DASP && git -C DASP checkout 8ce8363
//     nvcc -O3 -arch=native -D f64 -Xcompiler -fopenmp-simd -I DASP/src bench/peers/dasp.cu -o build/dasp
//     mkdir -p data && build/dasp FILE...          each written by bench/csrb
//
// DASP's own function spmv_all multiplies 100 times, then 1000 times in a row, and writes the mean to data/spmv_f64_record.csv. It is
// called up to three times. Prints a line of JSON for each matrix: us, the median of the calls; wrong, the rows that are off by more than
// (n + 4) 2^-53 |A||x|.
#include "dasp_f64.h"

#include "csrb.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

static const char *const RECORD = "data/spmv_f64_record.csv";
static const int TIME_FIELD = 21;    // of the record: milliseconds for each product
static const int NUM = 4;            // these three are what DASP's own program passes
static const double THRESHOLD = 0.75;
static const int LONGEST = 256;
static const int CALLS = 3;
static const double MOST_SECONDS = 1.5; // no further call after that

// Microseconds for each product, as the record says; negative if there is none.
static double recorded_us() {
    std::string text;
    char part[4096];
    FILE *in = fopen(RECORD, "r");
    while (in && fgets(part, sizeof part, in)) text += part;
    if (in) fclose(in);
    size_t at = 0;
    for (int i = 0; i < TIME_FIELD; i++) {
        at = text.find(',', at);
        if (at == std::string::npos) return -1;
        at++;
    }
    return 1e3 * atof(text.c_str() + at);
}

// The rows of y that are wrong; row order[i] of A x is in y[i].
static long wrong_rows(const Csr &a, const std::vector<double> &x, const std::vector<double> &y, const std::vector<int> &order) {
    long wrong = 0;
    for (int64_t i = 0; i < a.rows; i++) {
        const int64_t row = order[i];
        double want = 0, size = 0;
        if (row < 0 || row >= a.rows) return a.rows;
        for (int k = a.ptr[row]; k < a.ptr[row + 1]; k++) {
            const double term = a.val[k] * x[a.col[k]];
            want += term;
            size += fabs(term);
        }
        wrong += !(fabs(y[i] - want) <= (a.ptr[row + 1] - a.ptr[row] + 4) * 0x1p-53 * size);
    }
    return wrong;
}

static void run(Csr &a) {
    std::vector<double> x(a.cols), y(a.rows), us;
    std::vector<int> order(a.rows);
    long wrong = a.rows;
    const auto since = std::chrono::steady_clock::now();
    for (int64_t j = 0; j < a.cols; j++) x[j] = 0.5 + double((uint64_t(j) * 40503u >> 3) % 997) / 1000;
    while (us.size() < CALLS && std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count() < MOST_SECONDS) {
        remove(RECORD);
        std::fill(y.begin(), y.end(), NAN);
        spmv_all(const_cast<char *>(a.name.c_str()), a.val.data(), a.ptr.data(), a.col.data(), x.data(), y.data(), order.data(),
                 int(a.rows), int(a.cols), int(a.nnz), NUM, THRESHOLD, LONGEST);
        us.push_back(recorded_us());
        wrong = cudaGetLastError() ? long(a.rows) : wrong_rows(a, x, y, order);
    }
    std::sort(us.begin(), us.end());
    printf("{\"matrix\": \"%s\", \"dtype\": \"f64\", \"variant\": \"dasp\", \"us\": %.3f, \"wrong\": %ld}\n", a.name.c_str(),
           us[us.size() / 2], wrong);
    fflush(stdout);
}

int main(int argc, char **argv) {
    int failed = argc < 2;
    if (failed) fprintf(stderr, "usage: dasp FILE...\n");
    for (int i = 1; i < argc; i++) {
        Csr a;
        if (load(argv[i], a)) {
            run(a);
        } else {
            fprintf(stderr, "%s: not a file of bench/csrb\n", argv[i]);
            failed = 1;
        }
    }
    return failed;
}
