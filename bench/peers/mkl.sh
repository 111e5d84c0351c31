#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/peers/mkl.sh PREFIX - unpacks Intel MKL from its Python wheels into PREFIX/lib and PREFIX/include, without installing anything.
set -eu
prefix=${1:?usage: bench/peers/mkl.sh PREFIX}
mkdir -p "$prefix/wheels" "$prefix/files" "$prefix/lib" "$prefix/include"
python3 -m pip download -q --no-deps -d "$prefix/wheels" mkl==2025.0.1 mkl-include==2025.0.1 intel-openmp==2025.0.4 tbb
for wheel in "$prefix"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$prefix/files"; done
find "$prefix/files" -path '*data/lib/*.so*' -exec cp -n {} "$prefix/lib/" \;
find "$prefix/files" -path '*include*' -name '*.h' -exec cp -n {} "$prefix/include/" \;
ln -sf libmkl_rt.so.2 "$prefix/lib/libmkl_rt.so"
rm -rf "$prefix/wheels" "$prefix/files"
