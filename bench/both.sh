#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/both.sh DIRECTORY [FILE...] - compares A x and A^T y in turn, from a matrix made with both, with cuSPARSE's products with two
# matrices in CSR, by its fastest pair of methods: on LPs that "spmv gen" makes and on FILEs. Products of both sides are recorded in CUDA
# graphs of 20 pairs. The table is printed; rows (ours.json, cuSPARSE.json), errors and generated matrices stay in DIRECTORY.
# Variables, with their defaults: DEVICE (cuda:0); TYPES ("f64 f32"); MATRICES, what "spmv gen" makes (LPs, of which 534,388 short rows
# and one long one); PLANS, tried beside auto, each for A and A^T (csr); LIMIT, seconds after which no further matrix is begun (300); SPMV,
# CSRB, PEER: programs that are already built; CUSPARSE, a folder made by bench/peers/cusparse.sh (the toolkit's, which may lack SpMVOp).
set -eu
if [ $# = 0 ]; then
    echo "usage: bench/both.sh DIRECTORY [FILE...]" >&2
    exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
out=$1
shift
mkdir -p "$out"
. "$root/bench/programs.sh"
spmv_programs
cusparse_program
begun=$(date +%s)
for m in ${MATRICES-clspmv_lp koza_lp1}; do
    [ -e "$out/$m.bin" ] || { "$SPMV" gen "$m" -o "$out/.$m.bin" >/dev/null && mv "$out/.$m.bin" "$out/$m.bin"; } &
    made="${made:-} $out/$m.bin"
done
wait
# shellcheck disable=SC2086
set -- ${made:-} "$@"
plans=
for p in auto ${PLANS-csr}; do plans="$plans --plan $p"; done
for file in ours.json cuSPARSE.json errors; do : >"$out/$file"; done
for f; do
    if [ $(($(date +%s) - begun)) -ge "${LIMIT:-300}" ]; then
        echo "no time left for $f" >&2
        continue
    fi
    name=$(basename "$f" .gz)
    name=${name%.*}
    bin=$out/$name.bin
    [ -e "$bin" ] || "$SPMV" convert "$f" "$bin" >/dev/null
    "$CSRB" "$bin" "$out/$name.csrb"
    for t in ${TYPES:-f64 f32}; do # a plan that is refused makes this fail; errors has the reason
        "$PEER" --graph --both "$t" "$out/$name.csrb" >>"$out/cuSPARSE.json" 2>>"$out/errors" || true
        # shellcheck disable=SC2086
        "$SPMV" bench "$bin" $plans --both --graph --device "${DEVICE:-cuda:0}" --type "$t" --json \
            >>"$out/ours.json" 2>>"$out/errors" || true
    done
    rm -f "$out/$name.csrb"
    echo "$(($(date +%s) - begun)) s  $name" >&2
done
python3 "$root/bench/compare.py" "$out/cuSPARSE.json" "$out/ours.json"
