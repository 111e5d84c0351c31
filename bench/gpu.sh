#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/gpu.sh FILE... - products on an NVIDIA GPU beside cuSPARSE's, timed the same way on both sides in one run: products in a row.
# FILE is Matrix Market, .gz or not, or the binary form. The table goes to standard output, JSON stays in build/gpu.
# Variables: PLANS, tried beside auto; TYPES ("f64 f32"); DEVICE (gpu); SECONDS_LEFT, after which no further matrix is begun (no limit);
# SPMV, PEER, CSRB: programs already built.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/build/gpu
mkdir -p "$out"
PLANS=${PLANS-"csr:run=1024 csr:run=2048 csr:run=1024,idx=16 sell sell:idx=16 bcsr:b=3x3,idx=16 dia"}
plans='--plan auto --plan csr'
for p in $PLANS; do plans="$plans --plan $p"; done
if [ -z "${SPMV:-}" ]; then
    make -s -C "$root" --no-print-directory build/spmv
    SPMV=$root/build/spmv
fi
if [ -z "${CSRB:-}" ]; then
    CSRB=$out/csrb
    "${CC:-cc}" -std=c99 -O2 -I"$root" "$root/bench/csrb.c" -o "$CSRB"
fi
if [ -z "${PEER:-}" ]; then
    PEER=$out/cusparse
    nvcc -O2 -std=c++17 -arch=native "$root/bench/peers/cusparse.cu" -o "$PEER" -lcusparse
fi
begun=$(date +%s)
: >"$out/cusparse.json"
: >"$out/ours.json"
: >"$out/ours.err"
for f; do
    if [ "${SECONDS_LEFT:-}" ] && [ $(($(date +%s) - begun)) -ge "$SECONDS_LEFT" ]; then
        echo "no time left for $f" >&2
        continue
    fi
    name=$(basename "$f" .gz)
    name=${name%.*}
    "$SPMV" convert "$f" "$out/$name.bin" >/dev/null
    "$CSRB" "$out/$name.bin" "$out/$name.csrb"
    "$PEER" "$out/$name.csrb" >>"$out/cusparse.json"
    for t in ${TYPES:-f64 f32}; do
        # shellcheck disable=SC2086
        "$SPMV" bench "$out/$name.bin" $plans --device "${DEVICE:-gpu}" --type "$t" --json >>"$out/ours.json" 2>>"$out/ours.err" || true
    done
    rm -f "$out/$name.bin" "$out/$name.csrb"
    echo "$(($(date +%s) - begun)) s  $name" >&2
done
echo "Machine: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1); $(date -u +%Y-%m-%d)"
echo "Peer: cuSPARSE, the fastest of csr_alg1, csr_alg2, coo_alg1, sell32, bsr2, bsr3, bsr4, bsr6 and bsr8."
echo "Both sides: products in a row, warm caches, medians of batches of at least 2 ms; the peer by CUDA's events around a batch, ours by the"
echo "wall clock around it. clspmv_* and poisson2d_* are of spmv gen, the others are real matrices."
echo "Command: sh bench/gpu.sh FILE..."
echo
python3 "$root/bench/compare.py" "$out/cusparse.json" "$out/ours.json"
