#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/peers.sh FILE... - compares products of this library with those of others on the same device. Both sides are timed alike: products
# in a row, medians. On the host (the default) the peers are a plain OpenMP loop, Eigen, librsb and, if MKL and AOCL are set, Intel MKL and
# AOCL-Sparse; on an NVIDIA GPU (DEVICE=gpu, or anything else that "spmv --device" takes) the peer is cuSPARSE. FILE is a Matrix Market
# file, compressed or not, or the binary form. The table is printed; rows and their description stay in build/peers/host or build/peers/gpu,
# from which "make bench-report" makes it again.
# Variables, with their defaults: PLANS (those of bench/candidates.sh); TYPES ("f64 f32"); ROUNDS, of which each side's fastest counts (2 on
# the host, else 1); SECONDS_LEFT, after which no further matrix is begun (no limit); RUN, a prefix of each timed command, such as "chrt -f
# 5" on a machine that others use, too; MKL and AOCL, folders made by bench/peers/mkl.sh and aocl.sh; CUSPARSE, one made by
# bench/peers/cusparse.sh (the toolkit's cuSPARSE, which may lack SpMVOp); SPMV, PEER, CSRB: programs that are already built; ARCH, the
# processor for which the host's peers are built (native). The host's peers need libeigen3-dev and librsb-dev, cuSPARSE needs nvcc.
set -eu
if [ $# = 0 ]; then
    echo "usage: bench/peers.sh FILE..." >&2
    exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
device=${DEVICE:-host}
case $device in host) class=host ;; *) class=gpu ;; esac
out=$root/build/peers/$class
types=${TYPES:-f64 f32}
mkdir -p "$out"

# For each class, begin_CLASS builds the peers' programs and sets rounds and peer, the name of the peers' file of rows; run_CLASS FILE
# prints their rows; describe_CLASS prints what a reader of the table should know.
begin_host() {
    peer=peers rounds=${ROUNDS:-2}
    cpu_programs
}
run_host() { for program in $PEERS; do ${RUN:-} "$program" "$1"; done; }
describe_host() {
    echo "Machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores; $(date -u +%Y-%m-%d)"
    echo "Peers: $PEERS_ARE"
    echo "Ours: build/spmv as make builds it, $(compiler_of "$SPMV")"
    echo "Products in a row by the wall clock, medians; rounds of which each side's fastest counts: $rounds."
}

begin_gpu() {
    peer=cuSPARSE rounds=${ROUNDS:-1}
    cusparse_program
}
run_gpu() { ${RUN:-} "$PEER" "$1"; }
describe_gpu() {
    echo "Machine: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1); $(date -u +%Y-%m-%d)"
    timed() { sed -n "/\"us\": null/d; s/.*\"$1\": \"*\([a-z0-9_]*\).*/\1/p" "$out/$peer.json" | sort -u | tr '\n' ' ' | sed 's/ $//'; }
    echo "Peer: cuSPARSE $(timed cusparse), the fastest of $(timed variant)."
    echo "Both sides: products in a row, warm caches, medians of batches of at least 2 ms; the peer by CUDA's events around a batch, ours"
    echo "by the wall clock around it. clspmv_* and poisson2d_* are of spmv gen, the others are real matrices."
}

. "$root/bench/programs.sh"
spmv_programs
"begin_$class"
plans=
for p in ${PLANS-$(sh "$root/bench/candidates.sh" $class peers)}; do plans="$plans --plan $p"; done
begun=$(date +%s)
for file in "$peer.json" ours.json ours.err; do : >"$out/$file"; done
for f; do
    if [ "${SECONDS_LEFT:-}" ] && [ $(($(date +%s) - begun)) -ge "$SECONDS_LEFT" ]; then
        echo "no time left for $f" >&2
        continue
    fi
    name=$(basename "$f" .gz)
    name=${name%.*}
    "$SPMV" convert "$f" "$out/$name.bin" >/dev/null
    "$CSRB" "$out/$name.bin" "$out/$name.csrb"
    round=1
    while [ "$round" -le "$rounds" ]; do
        "run_$class" "$out/$name.csrb" >"$out/rows"
        sed -n '/^{/p' "$out/rows" >>"$out/$peer.json" # librsb also prints other lines
        for t in $types; do # a plan that is refused makes this fail; ours.err has the reason, and its row "ok": null
            # shellcheck disable=SC2086
            ${RUN:-} "$SPMV" bench "$out/$name.bin" $plans --device "$device" --type "$t" --json \
                >>"$out/ours.json" 2>>"$out/ours.err" || true
        done
        round=$((round + 1))
    done
    rm -f "$out/$name.bin" "$out/$name.csrb"
    echo "$(($(date +%s) - begun)) s  $name" >&2
done
{
    "describe_$class"
    others="${PLANS:+PLANS=\"$PLANS\" }${MKL:+MKL=... }${AOCL:+AOCL=... }${CUSPARSE:+CUSPARSE=... }"
    echo "Command: ${RUN:+RUN=\"$RUN\" }${others}make bench-peers FILES=... DEVICE=$device"
} >"$out/head.txt"
cat "$out/head.txt"
echo
python3 "$root/bench/compare.py" "$out/$peer.json" "$out/ours.json"
