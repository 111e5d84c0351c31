#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/cpu.sh FILE... - products on the host beside other libraries' on this machine, timed the same way on both sides: products in a
# row. FILE is Matrix Market, .gz or not, or the binary form. The table goes to standard output, JSON stays in build/cpu.
# Variables: PLANS, tried beside auto and csr; TYPES ("f64 f32"); MKL, a folder made by bench/peers/mkl.sh (without it MKL is left out);
# PREFIX, put before each timed command ("chrt -f 5" on a machine that others use too); ROUNDS (2), of which each side's fastest counts.
# Our program is the one that "make" builds. Needs libeigen3-dev and librsb-dev.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/build/cpu
mkdir -p "$out"
PLANS=${PLANS-"csr:run=1024,idx=16 ell sell sell:idx=16 sell:h=8 bcsr:b=3x3 sbell:b=3x3 dia cmrs"}
plans='--plan auto --plan csr'
for p in $PLANS; do plans="$plans --plan $p"; done
make -s -C "$root" --no-print-directory build/spmv
"${CC:-cc}" -std=c99 -O2 -I"$root" "$root/bench/csrb.c" -o "$out/csrb"
mkl=
[ -z "${MKL:-}" ] || mkl="-DWITH_MKL -I$MKL/include -L$MKL/lib -Wl,-rpath,$MKL/lib"
peer() { # peer NAME FLAGS...
    name=$1
    shift
    # shellcheck disable=SC2086
    "${CXX:-c++}" "$@" -fopenmp -w "$root/bench/peers/cpu.cpp" -o "$out/$name" -I/usr/include/eigen3 $mkl -lrsb ${mkl:+-lmkl_rt}
}
peer peers -O3 -march=native
# gcc 12 makes gathers of the plain loop with -march=native, which are slower than no vectors at all in f32
peer peers-O2 -O2 '-DSUFFIX="-O2"'
export MKL_THREADING_LAYER=GNU
: >"$out/peers.json"
: >"$out/ours.json"
: >"$out/ours.err"
for f; do
    name=$(basename "$f" .gz)
    name=${name%.*}
    "$root/build/spmv" convert "$f" "$out/$name.bin" >/dev/null
    "$out/csrb" "$out/$name.bin" "$out/$name.csrb"
    round=1
    while [ "$round" -le "${ROUNDS:-2}" ]; do
        ${PREFIX:-} "$out/peers" "$out/$name.csrb" >>"$out/peers.json"
        ${PREFIX:-} "$out/peers-O2" "$out/$name.csrb" >>"$out/peers.json"
        for t in ${TYPES:-f64 f32}; do
            # shellcheck disable=SC2086
            ${PREFIX:-} "$root/build/spmv" bench "$out/$name.bin" $plans --type "$t" --json >>"$out/ours.json" 2>>"$out/ours.err" || true
        done
        round=$((round + 1))
    done
    rm -f "$out/$name.bin" "$out/$name.csrb"
    echo "$name" >&2
done
echo "Machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores; $(date -u +%Y-%m-%d)"
echo "Peers: plain OpenMP CSR and Eigen (-O3 -march=native, and -O2 where the name says so), librsb (tuned)${mkl:+, Intel MKL 2025.0.1}; $("${CXX:-c++}" --version | head -n 1)"
echo "Ours: build/spmv as make builds it, $("${CC:-cc}" --version | head -n 1)"
echo "Products in a row by the wall clock, medians; rounds of which each side's fastest counts: ${ROUNDS:-2}."
echo "Command: ${PREFIX:+PREFIX=\"$PREFIX\" }${mkl:+MKL=... }sh bench/cpu.sh FILE..."
echo
python3 "$root/bench/compare.py" "$out/peers.json" "$out/ours.json"
