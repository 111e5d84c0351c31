#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/headers.sh - the generated headers are what their sources give (needs xxd). Changes none of them.
set -u
cd "$(dirname "$0")/.." || exit 1
mkdir -p build
sh tools/embed.sh build/spmv_kernels.h || exit 1
cmp build/spmv_kernels.h spmv_kernels.h || { echo "run: make headers"; exit 1; }
