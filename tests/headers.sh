#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/headers.sh - the generated headers are what their sources give (needs xxd). Changes none of them.
set -u
cd "$(dirname "$0")/.." || exit 1
mkdir -p build/headers
sh tools/embed.sh build/headers || exit 1
for h in spmv_kernels.h spmv_tuning.h; do
    cmp build/headers/$h $h || { echo "run: make headers"; exit 1; }
done
