#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/sizes.sh - prints the object sizes of builds without some parts, and the number of lines of each header. CC and SIZE_FLAGS (-O2)
# may be set.
set -eu
cd "$(dirname "$0")/.."
cc=${CC:-cc}
flags="-std=c99 ${SIZE_FLAGS:--O2} -DNDEBUG"
dir=build/sizes
mkdir -p $dir
cat >$dir/unit.c <<'END'
#define SPMV_IMPLEMENTATION
#include "spmv.h"
#ifdef WITH_IO
#include "spmv_io.h"
#endif
END
row() { # row NAME FLAGS...
    name=$1
    shift
    $cc $flags "$@" -c $dir/unit.c -o $dir/unit.o
    size $dir/unit.o | awk -v n="$name" 'NR == 2 { printf "%-44s %9d %7d %7d\n", n, $1, $2, $3 }'
}
echo "$($cc --version | head -n 1), $flags, $(uname -m)"
echo
printf '%-44s %9s %7s %7s\n' "bytes of object code" text data bss
row "everything, with files" -I. -DWITH_IO
row "everything" -I.
row "without the choice (SPMV_NO_AUTO)" -I. -DSPMV_NO_AUTO
row "csr and sell" -I. -DSPMV_ONLY=SPMV_BIT_CSR+SPMV_BIT_SELL
row "without CUDA" -I. -DSPMV_NO_CUDA
row "without OpenCL" -I. -DSPMV_NO_OPENCL
row "the host alone" -I. -DSPMV_NO_DEVICES
row "the host alone, without vectors (SPMV_NO_SIMD)" -I. -DSPMV_NO_DEVICES -DSPMV_NO_SIMD
row "the host alone, without the choice" -I. -DSPMV_NO_DEVICES -DSPMV_NO_AUTO
row "the host alone, csr and sell" -I. -DSPMV_NO_DEVICES -DSPMV_ONLY=SPMV_BIT_CSR+SPMV_BIT_SELL
row "the host alone, csr" -I. -DSPMV_NO_DEVICES -DSPMV_ONLY=SPMV_BIT_CSR
row "the host alone, without the choice, csr" -I. -DSPMV_NO_DEVICES -DSPMV_NO_AUTO -DSPMV_ONLY=SPMV_BIT_CSR
row "the host alone, csr, f32, no stdio" -I. -DSPMV_NO_DEVICES -DSPMV_ONLY=SPMV_BIT_CSR -DSPMV_NO_F64 -DSPMV_NO_STDIO
row "the same without the choice" -I. -DSPMV_NO_DEVICES -DSPMV_NO_AUTO -DSPMV_ONLY=SPMV_BIT_CSR -DSPMV_NO_F64 -DSPMV_NO_STDIO
row "single header, with files" -Idist -DSPMV_IO
echo
printf '%-44s %9s %11s %9s\n' "lines" interface "the rest" bytes
for h in spmv*.h spmv/*.h spmv/*/*.h dist/spmv.h; do
    [ -f $h ] || continue
    awk -v n=$h -v b="$(wc -c <$h)" '/^\/\* =+ END OF THE INTERFACE/ && !e { e = NR } END {
        if (n ~ /^dist/ || !e) printf "%-44s %9s %11d %9d\n", n, "", NR, b; else printf "%-44s %9d %11d %9d\n", n, e, NR - e, b }' $h
done
awk 'END { printf "%-44s %9s %11d\n", "kernels/*.cl", "", NR }' kernels/*.cl
