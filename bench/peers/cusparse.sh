#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/peers/cusparse.sh PREFIX - unpacks cuSPARSE 12.9.4, which has SpMVOp, from its Python wheel (230 MB) into PREFIX/lib and
# PREFIX/include, without installing anything.
set -eu
prefix=${1:?usage: bench/peers/cusparse.sh PREFIX}
mkdir -p "$prefix/wheels" "$prefix/lib" "$prefix/include"
python3 -m pip download -q --no-deps --only-binary=:all: -d "$prefix/wheels" nvidia-cusparse==12.9.4.2
python3 -m zipfile -e "$prefix"/wheels/*.whl "$prefix/files"
cp "$prefix"/files/nvidia/cu13/lib/libcusparse.so.12 "$prefix/lib/"
cp "$prefix"/files/nvidia/cu13/include/*.h "$prefix/include/"
ln -sf libcusparse.so.12 "$prefix/lib/libcusparse.so"
rm -rf "$prefix/wheels" "$prefix/files"
