// SPDX-License-Identifier: MIT
// bench/peers/csrb.hpp - reads the files that bench/csrb writes, for the peers' programs.
#ifndef CSRB_HPP
#define CSRB_HPP

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

struct Csr {
    std::string name;
    int64_t rows = 0, cols = 0, nnz = 0;
    std::vector<int> ptr, col;
    std::vector<double> val;
};

static bool load(const char *path, Csr &a) {
    char magic[4];
    int64_t shape[3];
    FILE *f = std::fopen(path, "rb");
    bool ok = f && std::fread(magic, 1, 4, f) == 4 && !std::memcmp(magic, "CSRB", 4) && std::fread(shape, 8, 3, f) == 3;
    if (ok) {
        a.rows = shape[0], a.cols = shape[1], a.nnz = shape[2];
        const size_t rows = size_t(a.rows), nnz = size_t(a.nnz);
        std::vector<int64_t> ptr(rows + 1);
        a.col.resize(nnz);
        a.val.resize(nnz);
        ok = std::fread(ptr.data(), 8, rows + 1, f) == rows + 1 && std::fread(a.col.data(), 4, nnz, f) == nnz &&
             std::fread(a.val.data(), 8, nnz, f) == nnz;
        a.ptr.assign(ptr.begin(), ptr.end());
    }
    if (f) std::fclose(f);
    std::string name = path;
    name = name.substr(name.find_last_of('/') + 1);
    a.name = name.substr(0, name.find_last_of('.'));
    return ok;
}

#endif
