#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/headers.sh - the generated headers are what their sources give (needs xxd). Changes nothing.
set -u
cd "$(dirname "$0")/.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cp -r kernels tools "$dir"/ || exit 1
cp spmv*.h "$dir"/ || exit 1
rm -f "$dir/spmv_kernels.h"
(cd "$dir" && sh tools/embed.sh) || { echo "tools/embed.sh failed"; exit 1; }
cmp spmv_kernels.h "$dir/spmv_kernels.h" || { echo "run: make headers"; exit 1; }
