#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/gpu.sh prepare - builds what the next needs into build/gpu (gcc, zlib, criterion, Python's headers, those of OpenCL; no GPU,
# no toolkit).
# tests/gpu.sh run [DEVICE] - tests the CUDA back end on this machine's GPU by what lies in build/gpu, which may come from another
# machine: every listed variant, tests/test_cl.c, test_convert.c, test_many.c (its products at once) and test_tail.c, products in a graph,
# arrays of Python on the GPU where NumPy and SciPy are, with CuPy, PyTorch and Numba where they are, captures, and times beside OpenCL's.
# DEVICE is cuda:0 unless given. A few minutes. The last line is "N passed, N failed"; logs are in $OUT or build/gpu/log.
set -u
cd "$(dirname "$0")/.." || exit 1
dir=build/gpu
prepare() {
    mkdir -p $dir/lib || exit 1
    make -s build/spmv LIBS='-ldl -l:libz.a' || exit 1
    make -s build/tests/test_cl build/tests/test_convert build/tests/test_many build/tests/test_tail LIBS='-ldl -l:libz.a' || exit 1
    ${CC:-cc} -std=c99 -O2 -DSPMV_NO_OPENCL -I. examples/cuda.c -o $dir/graph -ldl || exit 1
    mkdir -p $dir/python/spmv && cp python/tests/test_cuda.py $dir/python/ && cp python/spmv/*.py $dir/python/spmv/ || exit 1
    ${CC:-cc} -O2 -shared -fPIC -DSPMV_C_API= -I. $(python3-config --includes) python/spmv/_core.c spmv_c.c \
        -o $dir/python/spmv/_core.abi3.so -ldl || exit 1
    ${CC:-cc} -std=c99 -D_POSIX_C_SOURCE=200809L -O2 -I. tests/cuda/capture.c tools/measure/graph.c -o $dir/capture -ldl -pthread || exit 1
    cp build/spmv build/tests/test_cl build/tests/test_convert build/tests/test_many build/tests/test_tail $dir/ || exit 1
    # what the tests need and a machine with a GPU seldom has; not the C library, which must be the machine's own
    ldd $dir/test_cl | awk '$3 ~ /^\// && $1 !~ /^(libc|libm|libpthread|libresolv|libOpenCL)\./ { print $3 }' |
        while IFS= read -r f; do cp -L "$f" $dir/lib/ || exit 1; done
    ls $dir
}

find_compiler() { # NVRTC where the loader does not find it by itself
    for f in /usr/local/cuda*/lib64 /usr/local/cuda*/targets/*/lib \
        $(find / -name 'libnvrtc.so.1[1-9]*' ! -path '/proc/*' 2>/dev/null | xargs -r -n 1 dirname); do
        if ls "$f"/libnvrtc.so.1* >/dev/null 2>&1; then echo "$f"; return; fi
    done
}

passed=0 failed=0
result() { # result STATUS NAME
    if [ "$1" = 0 ]; then passed=$((passed + 1)); echo "ok    $2"; else failed=$((failed + 1)); echo "FAIL  $2"; fi
}

variants() { # every listed variant, a process for each format and type; sums and whatever is not usable or refused
    $dir/spmv plan --list | awk '$1 == "format" {
        print $2, "f32"; print $2, "f64"; print $2, "mixed"
        if (/ reproducible/) print $2, "f64 --reproducible" }' >"$out/checks"
    xargs -P "$(nproc)" -L 1 sh -c \
        "$dir/spmv self-check \$0 --type \$1 \$2 --device $device >$out/self.\$0.\$1\$2 2>&1" <"$out/checks"
    grep -hE '^(FAILED|WRONG)' "$out"/self.* | head -n 40
    grep -hE ' variants: ' "$out"/self.* | awk -v checks="$(wc -l <"$out/checks")" '{ for (i = 2; i <= NF; i++) sum[$i] += $(i - 1) }
        END { printf "%d usable, %d refused, %d failed, %d wrong\n", sum["usable,"], sum["refused,"], sum["failed,"], sum["wrong;"]
              exit !(NR == checks && sum["usable,"] > 900 && !sum["failed,"] && !sum["wrong;"]) }'
}

speeds() { # by the clock, many products in a row, on the first GPU of OpenCL and on DEVICE; a line each
    opencl=$($dir/spmv devices | awk '/^[0-9]/ { n = $1 } / by / { cl = /by OpenCL/ } cl && /^ *gpu,/ { print n; exit }')
    plans='--plan csr --plan csr:run=512 --plan sell --plan bcsr:b=3x3 --plan coo --plan auto'
    for name in clspmv_qcd clspmv_cantilever clspmv_epidemiology clspmv_harbor clspmv_webbase poisson2d_100; do
        [ -e $dir/$name.bin ] || $dir/spmv gen $name -o $dir/$name.bin || return 1
        for on in $opencl "$device"; do
            echo "$name on $on"
            $dir/spmv bench $dir/$name.bin $plans --device $on || return 1
        done
    done
}

run() {
    device=${1:-cuda:0}
    out=${OUT:-$dir/log}
    mkdir -p "$out" || exit 1
    LD_LIBRARY_PATH=$(pwd)/$dir/lib:$(find_compiler)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
    echo "LD_LIBRARY_PATH=$LD_LIBRARY_PATH"
    $dir/spmv devices
    $dir/graph >"$out/graph" 2>&1 && grep -q 'where it should be' "$out/graph"
    result $? graph
    cat "$out/graph"
    $dir/capture >"$out/capture" 2>&1
    result $? capture
    cat "$out/capture"
    variants
    result $? variants
    for test in test_cl test_convert test_many test_tail; do
        SPMV_TEST_DEVICE=$device timeout 240 $dir/$test -j"$(nproc)" --timeout 200 >"$out/$test" 2>&1
        result $? $test
        grep -E '^\[|spmv:' "$out/$test" | grep -vE '^\[----\] *$| is NULL$' | tail -n 60
    done
    if python3 -c 'import numpy, scipy'; then
        PYTHONPATH=$dir/python timeout 240 python3 $dir/python/test_cuda.py -v >"$out/python" 2>&1 && grep -q '^OK' "$out/python"
        result $? python
        tail -n 60 "$out/python"
    fi
    speeds >"$out/times" 2>&1
    result $? speeds
    cat "$out/times"
    echo "$passed passed, $failed failed"
    [ $failed = 0 ]
}

case ${1-} in
prepare) prepare ;;
run) shift; run "$@" ;;
*) echo "usage: tests/gpu.sh prepare | run [DEVICE]" >&2; exit 2 ;;
esac
