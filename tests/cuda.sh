#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/cuda.sh [FORMAT] - compiles kernels for CUDA by NVIDIA's NVRTC (tests/cuda/compile.c), where it is; no GPU is needed.
set -u
cd "$(dirname "$0")/.." || exit 1
build/cuda/compile "$@"
rc=$?
if [ $rc = 77 ]; then
    echo "skipped: no NVRTC, which a CUDA toolkit has"
    exit 0
fi
exit $rc
