#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/demo.sh - the demonstration of "make demo", which needs build/spmv: generates two matrices of the SuiteSparse collection and
# multiplies them in every format and by every builder's plan, on the host and on the first OpenCL device. Each product is checked.
set -eu
cd "$(dirname "$0")/.."
spmv=build/spmv
dir=build/demo
mkdir -p $dir build/pocl
POCL_CACHE_DIR=${POCL_CACHE_DIR:-$(pwd)/build/pocl}
export POCL_CACHE_DIR

$spmv devices
for m in Trefethen_20000b mycielskian11; do
    [ -s $dir/$m.mtx ] || $spmv gen $m -o $dir/$m.mtx
done
echo
$spmv info $dir/Trefethen_20000b.mtx
rc=0
for device in host 0; do
    echo
    $spmv bench $dir/Trefethen_20000b.mtx $dir/mycielskian11.mtx --plan all --device $device --type f64 || rc=1
done
echo
if [ $rc = 0 ]; then
    echo "Every product was within its error bound (err < 1). The line of a plan that was refused gives the reason."
    echo "Next, try build/spmv bench FILE.mtx --plan 'ell:w=5+coo' --device 0, or see examples/ and docs/choosing.md."
else
    echo "A product failed; see above."
fi
exit $rc
