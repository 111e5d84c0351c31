#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/totals.sh FILE... - how long preparing and 100, 1,000 and 10,000 products take, beside other libraries. FILE is a Matrix Market
# file, compressed or not, or the binary form. Rows go to OUT, and bench/totals.py makes the table of them, which is printed.
#
# On an NVIDIA GPU the peer is cuSPARSE. For each file, "auto" prepares it in a process that finds no programs, a second time in the same
# process, once in a process that finds what NVRTC kept of an earlier one in its own cache on the disk, and once in one that finds the
# programs that an earlier one kept in a folder (spmv bench --cache). It expects as many products as by default, 1,000:
#     sh bench/totals.sh FILE... && python3 bench/totals.py build/totals >bench/results/nvidia-h200-prepare.txt
# With DEVICE=host the peers are those of bench/peers.sh: a plain OpenMP loop, Eigen, librsb and, if they are set, Intel MKL and AOCL.
# "auto" prepares each file five times in one process for 100 products, which it is told to expect, in another for 1,000 and in a third for
# 10,000, and each peer prepares it five times in a process of its own:
#     DEVICE=host sh bench/totals.sh FILE... && python3 bench/totals.py build/totals/host >bench/results/cpu-prepare.txt
# Variables, with their defaults: DEVICE (cuda:0); TYPES (f64); OUT (build/totals, on the host build/totals/host); SECONDS_LEFT, after which
# no further step is begun (no limit); SPMV, PEER, CSRB: programs that are already built (an empty PEER: without peers). On the host: MKL
# and AOCL, folders made by bench/peers/mkl.sh and aocl.sh; RUN, a prefix of each timed command, such as "chrt -f 5" on a machine that
# others use, too; ROUNDS, of which each side's least total counts (2).
set -eu
if [ $# = 0 ]; then
    echo "usage: bench/totals.sh FILE..." >&2
    exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
device=${DEVICE:-cuda:0}
case $device in host) class=host default=$root/build/totals/host ;; *) class=gpu default=$root/build/totals ;; esac
out=${OUT:-$default}
begun=$(date +%s)
mkdir -p "$out"
. "$root/bench/programs.sh"
spmv_programs
late() { [ "${SECONDS_LEFT:-}" ] && [ $(($(date +%s) - begun)) -ge "$SECONDS_LEFT" ] && echo "no time left for $*" >&2; }
took() { echo "$(($(date +%s) - begun)) s  $*" >&2; }
# bench ROWS ARGUMENT...: a plan that is refused makes this fail; errors has the reason
bench() {
    rows=$1
    shift
    ${RUN:-} "$SPMV" bench "$@" --device "$device" --json >>"$out/$rows" 2>>"$out/errors" || true
}
name_of() { # name_of FILE: sets name
    name=$(basename "$1" .gz)
    name=${name%.*}
}

gpu() { # gpu FILE...
    [ "${PEER-unset}" = "" ] || cusparse_program
    rm -rf "$out/nvrtc"
    for rows in cold.json disk.json kept.json cuSPARSE.json errors; do : >"$out/$rows"; done
    files= peers= counts='--total 100,1000,10000'
    for f; do
        name_of "$f"
        late "$name" && continue
        "$SPMV" convert "$f" "$out/$name.bin" >/dev/null
        # shellcheck disable=SC2086
        for t in ${TYPES:-f64}; do
            (export CUDA_CACHE_DISABLE=1; bench cold.json "$out/$name.bin" --plan auto --plan auto $counts --type "$t")
            for rows in first.json disk.json; do
                (export CUDA_CACHE_PATH="$out/nvrtc"; bench "$rows" "$out/$name.bin" --plan auto $counts --type "$t")
            done
        done
        [ -z "$PEER" ] || "$CSRB" "$out/$name.bin" "$out/$name.csrb"
        files="$files $out/$name.bin" peers="$peers $out/$name.csrb"
        took "$name"
    done
    # shellcheck disable=SC2086
    for t in ${TYPES:-f64}; do
        late "$t, cuSPARSE and with kept programs" && continue
        [ -z "$PEER" ] || "$PEER" "$t" $peers >>"$out/cuSPARSE.json"
        took "$t, cuSPARSE"
        rm -rf "$out/programs"
        mkdir "$out/programs"
        bench first.json $files --plan auto --cache "$out/programs" $counts --type "$t"
        for f in $files; do bench kept.json "$f" --plan auto --cache "$out/programs" $counts --type "$t"; done
    done
    # shellcheck disable=SC2086
    rm -rf "$out/programs" "$out/nvrtc" "$out/first.json" $files $peers
    {
        gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1)
        echo "Machine: $gpu, $(nproc) host cores; $(date -u +%Y-%m-%d)"
        echo "Command: sh bench/totals.sh FILE... && python3 bench/totals.py build/totals"
    } >"$out/head.txt"
}

# host_peers ROWS FILE TYPE: each variant in a process of its own, so that the first preparation finds nothing that another has loaded
host_peers() {
    for program in $PEERS; do
        variants='omp_csr eigen'
        case $program in *-O2) ;; *) variants="$variants rsb_raw librsb ${MKL:+mkl_csr mkl} ${AOCL:+aocl_csr aocl}" ;; esac
        for variant in $variants; do # librsb also prints other lines
            ${RUN:-} "$program" "$3" "$variant" "$2" 2>>"$out/errors" | sed -n '/^{/p' >>"$out/$1"
        done
    done
}
host() { # host FILE...
    PEERS=
    [ "${PEER-unset}" = "" ] || cpu_programs
    rm -f "$out"/ours-*.json "$out"/peers-*.json "$out/errors"
    round=1
    while [ "$round" -le "${ROUNDS:-2}" ]; do
        : >"$out/ours-$round.json"
        : >"$out/peers-$round.json"
        for f; do
            name_of "$f"
            late "$name, round $round" && continue
            "$SPMV" convert "$f" "$out/$name.bin" >/dev/null
            "$CSRB" "$out/$name.bin" "$out/$name.csrb"
            for t in ${TYPES:-f64}; do
                for n in 100 1000 10000; do
                    bench "ours-$round.json" "$out/$name.bin" --plan auto --plan auto --plan auto --plan auto --plan auto --calls "$n" \
                        --total "$n" --type "$t"
                done
                host_peers "peers-$round.json" "$out/$name.csrb" "$t"
            done
            rm -f "$out/$name.bin" "$out/$name.csrb"
            took "$name, round $round"
        done
        round=$((round + 1))
    done
    {
        echo "Machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores; $(date -u +%Y-%m-%d)"
        [ -z "$PEERS" ] || echo "Peers: $PEERS_ARE"
        echo "Ours: build/spmv as make builds it, $("${CC:-cc}" --version | head -n 1)"
        echo "Rounds of which each side's least total counts: ${ROUNDS:-2}"
        others="${MKL:+MKL=... }${AOCL:+AOCL=... }"
        echo "Command: ${RUN:+RUN=\"$RUN\" }${others}TYPES=\"${TYPES:-f64}\" DEVICE=host sh bench/totals.sh FILE... &&"
        echo "python3 bench/totals.py build/totals/host"
    } >"$out/head.txt"
}

"$class" "$@"
python3 "$root/bench/totals.py" "$out"
