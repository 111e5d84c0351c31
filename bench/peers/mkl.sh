#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/peers/mkl.sh PREFIX - unpacks Intel MKL from its Python wheels into PREFIX/lib and PREFIX/include, without installing anything: the
# three static libraries that programs of bench/peers/cpu.cpp take what they need from, so that they run elsewhere as well.
set -eu
prefix=${1:?usage: bench/peers/mkl.sh PREFIX}
mkdir -p "$prefix/wheels" "$prefix/files" "$prefix/lib" "$prefix/include"
python3 -m pip download -q --no-deps -d "$prefix/wheels" mkl-static==2026.2.0 mkl-include==2026.2.0
for wheel in "$prefix"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$prefix/files"; done
for name in intel_lp64 gnu_thread core; do find "$prefix/files" -name "libmkl_$name.a" -exec mv {} "$prefix/lib/" \;; done
find "$prefix/files" -path '*include*' -name '*.h' -exec cp -n {} "$prefix/include/" \;
rm -rf "$prefix/wheels" "$prefix/files"
