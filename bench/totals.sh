#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/totals.sh FILE... - how long preparing and 100, 1,000 and 10,000 products take on an NVIDIA GPU, beside cuSPARSE. FILE is a Matrix
# Market file, compressed or not, or the binary form. For each file, "auto" prepares it in a process that finds no programs, a second time
# in the same process, once in a process that finds what NVRTC kept of an earlier one in its own cache on the disk, and once in one that
# finds the programs that an earlier one kept in a folder (spmv bench --cache). Rows go to OUT, and bench/totals.py
# makes the table of them, which is printed:
#     sh bench/totals.sh FILE... && python3 bench/totals.py build/totals >bench/results/nvidia-h200-prepare.txt
# Variables, with their defaults: DEVICE (cuda:0); TYPES (f64); OUT (build/totals); SECONDS_LEFT, after which no further step is begun (no
# limit); SPMV, PEER, CSRB: programs that are already built (an empty PEER: without cuSPARSE).
set -eu
if [ $# = 0 ]; then
    echo "usage: bench/totals.sh FILE..." >&2
    exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
device=${DEVICE:-cuda:0}
out=${OUT:-$root/build/totals}
begun=$(date +%s)
mkdir -p "$out"
rm -rf "$out/nvrtc"
. "$root/bench/programs.sh"
spmv_programs
[ "${PEER-unset}" = "" ] || cusparse_program # without cuSPARSE if PEER is set and empty
late() { [ "${SECONDS_LEFT:-}" ] && [ $(($(date +%s) - begun)) -ge "$SECONDS_LEFT" ] && echo "no time left for $*" >&2; }
# bench ROWS ARGUMENT...: a plan that is refused makes this fail; errors has the reason
bench() {
    rows=$1
    shift
    "$SPMV" bench "$@" --device "$device" --total 100,1000,10000 --json >>"$out/$rows" 2>>"$out/errors" || true
}
for rows in cold.json disk.json kept.json cuSPARSE.json errors; do : >"$out/$rows"; done
files= peers=
for f; do
    name=$(basename "$f" .gz)
    name=${name%.*}
    late "$name" && continue
    "$SPMV" convert "$f" "$out/$name.bin" >/dev/null
    for t in ${TYPES:-f64}; do
        (export CUDA_CACHE_DISABLE=1; bench cold.json "$out/$name.bin" --plan auto --plan auto --type "$t")
        for rows in first.json disk.json; do
            (export CUDA_CACHE_PATH="$out/nvrtc"; bench "$rows" "$out/$name.bin" --plan auto --type "$t")
        done
    done
    [ -z "$PEER" ] || "$CSRB" "$out/$name.bin" "$out/$name.csrb"
    files="$files $out/$name.bin" peers="$peers $out/$name.csrb"
    echo "$(($(date +%s) - begun)) s  $name" >&2
done
# shellcheck disable=SC2086
for t in ${TYPES:-f64}; do
    late "$t, cuSPARSE and with kept programs" && continue
    [ -z "$PEER" ] || "$PEER" "$t" $peers >>"$out/cuSPARSE.json"
    echo "$(($(date +%s) - begun)) s  $t, cuSPARSE" >&2
    rm -rf "$out/programs"
    mkdir "$out/programs"
    bench first.json $files --plan auto --cache "$out/programs" --type "$t"
    for f in $files; do bench kept.json "$f" --plan auto --cache "$out/programs" --type "$t"; done
done
# shellcheck disable=SC2086
rm -rf "$out/programs" "$out/nvrtc" "$out/first.json" $files $peers
{
    gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1)
    echo "Machine: $gpu, $(nproc) host cores; $(date -u +%Y-%m-%d)"
    echo "Command: sh bench/totals.sh FILE... && python3 bench/totals.py build/totals"
} >"$out/head.txt"
python3 "$root/bench/totals.py" "$out"
