#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/peers/aocl.sh PREFIX - unpacks AMD's AOCL-Sparse and what it needs from a Python wheel into PREFIX/lib, without installing anything.
set -eu
prefix=${1:?usage: bench/peers/aocl.sh PREFIX}
mkdir -p "$prefix/files" "$prefix/lib"
python3 -m pip download -q --no-deps --only-binary :all: --python-version 3.11 -d "$prefix/files" aoclda==5.3.0.1
python3 -m zipfile -e "$prefix"/files/*.whl "$prefix/files"
for name in aoclsparse flame blis-mt aoclutils omp; do mv "$prefix/files/aoclda.libs/lib$name-"* "$prefix/lib/"; done
ln -sf "$(cd "$prefix/lib" && ls -d libaoclsparse-*)" "$prefix/lib/libaoclsparse.so"
rm -rf "$prefix/files"
