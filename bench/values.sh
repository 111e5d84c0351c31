#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/values.sh DIRECTORY [FILE...] - how much faster products are whose values are codes (val=8) or one value (val=1): times plans with
# and without the key on generated matrices and on those FILEs that have at most 256 distinct values, and prints the table of
# bench/values.py. Matrices and rows (values.json, info.json) stay in DIRECTORY; what is there is not generated again.
# Variables, with their defaults: DEVICE (cuda:0); TYPES ("f64 f32"); MATRICES, what "spmv gen" makes (grids of 7, 27 and 5 points, an LP,
# webs, a graph, a Markov chain); PLANS, which are tried beside the one that auto takes; LIMIT, seconds after which no further matrix is
# begun (200 with generating); SPMV, the program (build/spmv).
set -eu
if [ $# = 0 ]; then
    echo "usage: bench/values.sh DIRECTORY [FILE...]" >&2
    exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
out=$1
shift
mkdir -p "$out/cache"
. "$root/bench/programs.sh"
CSRB=none spmv_programs
begun=$(date +%s)
for m in ${MATRICES-poisson3d_140 mesh3d_96_1 poisson2d_1600 clspmv_lp clspmv_in-2004 mycielskian15 epidemic_2000 clspmv_eu-2005}; do
    [ -e "$out/$m.bin" ] || { "$SPMV" gen "$m" -o "$out/.$m.bin" >/dev/null && mv "$out/.$m.bin" "$out/$m.bin"; } &
    made="${made:-} $out/$m.bin"
done
wait
# shellcheck disable=SC2086
set -- ${made:-} "$@"
: >"$out/values.json"
: >"$out/info.json"
: >"$out/errors"
bench() { # bench TYPE FILE PLAN...: a plan that is refused makes this fail; errors has the reason
    type=$1 file=$2
    shift 2
    for p; do
        set -- "$@" --plan "$p"
        shift
    done
    "$SPMV" bench "$file" "$@" --device "${DEVICE:-cuda:0}" --type "$type" --cache "$out/cache" --json 2>>"$out/errors" || true
}
plans() { # plans DISTINCT PLAN...: each without the key val and with it, both values where all are equal
    values=8
    [ "$1" != 1 ] || values='8 1'
    shift
    for p; do
        p=$(echo "$p" | sed 's/,val=[0-9]*//g; s/:val=[0-9]*,/:/g; s/:val=[0-9]*//g')
        echo "$p"
        for v in $values; do
            echo "$p" | sed "s/[^+]*/&,val=$v/g; s/^\([^:]*\),val/\1:val/; s/+\([^:+]*\),val/+\1:val/g"
        done
    done | awk '!seen[$0]++'
}
for f; do
    if [ $(($(date +%s) - begun)) -ge "${LIMIT:-200}" ]; then
        echo "no time left for $f" >&2
        continue
    fi
    "$SPMV" info "$f" --json >"$out/info"
    distinct=$(sed 's/.*"distinct": \([0-9]*\).*/\1/' "$out/info")
    [ "$distinct" -le 256 ] || continue
    cat "$out/info" >>"$out/info.json"
    for t in ${TYPES:-f64 f32}; do
        bench "$t" "$f" auto >"$out/auto"
        cat "$out/auto" >>"$out/values.json"
        auto=$(sed 's/.*"plan": "\([^"]*\)".*/\1/' "$out/auto")
        # shellcheck disable=SC2046,SC2086
        bench "$t" "$f" $(plans "$distinct" $auto ${PLANS:-csr:run=2048 tcsr:idx=16 sell:idx=16 dia}) >>"$out/values.json"
    done
    echo "$(($(date +%s) - begun)) s  $f" >&2
done
python3 "$root/bench/values.py" "$out/info.json" "$out/values.json"
