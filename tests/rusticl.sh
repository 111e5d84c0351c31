#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/rusticl.sh [COMMAND...] - runs the command with Mesa's rusticl on llvmpipe as the only OpenCL platform; without a command, the
# self-check and the check of reproducible products. This device has no doubles, reports 32 as the largest group of its kernels, and
# never contracts a product and a sum.
set -u
cd "$(dirname "$0")/.." || exit 1
dir=build/rusticl
mkdir -p $dir
# the library's name without a path: it need not be registered for all programs, nor be in a certain folder
echo "${RUSTICL:-libRusticlOpenCL.so.1}" >$dir/rusticl.icd
OCL_ICD_VENDORS=$(pwd)/$dir/ RUSTICL_ENABLE=llvmpipe
export OCL_ICD_VENDORS RUSTICL_ENABLE
if ! build/spmv devices 2>/dev/null | grep -q 'platform rusticl'; then
    echo "rusticl was not found: Debian has it in mesa-opencl-icd; RUSTICL can name its library"
    exit 1
fi
if [ $# -gt 0 ]; then exec "$@"; fi
build/spmv self-check --device llvmpipe --type f32 >$dir/out || { cat $dir/out; exit 1; }
tail -n 1 $dir/out
grep -Eq '[1-9][0-9]* usable, [0-9]+ refused, 0 failed, 0 wrong' $dir/out || exit 1
# Mesa 22.3.6 turns fma(a, b, 0) into a product: if a is fill and b is negative, a row without nonzeros becomes -0.
MOST=32 ZEROS=1 exec sh tests/reproducible.sh llvmpipe f32
