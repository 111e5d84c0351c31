#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/compile_time.sh [COMMIT] - prints how many seconds of processor time compilers need at -O2 for this tree and for the headers of a
# commit, by turns, the least of ROUNDS (3), and their ratio.
set -eu
cd "$(dirname "$0")/.."
dir=build/compile-time
mkdir -p $dir
old=${1-}
if [ "$old" ]; then
    rm -rf $dir/old
    mkdir -p $dir/old
    git archive "$old" | tar -x -C $dir/old
fi
printf '#define SPMV_IMPLEMENTATION\n#include "spmv.h"\n' >$dir/unit.c
seconds() { # seconds COMMAND...: of processor time, of this one child
    sh -c '"$@" && times' sh "$@" | awk 'END { split($1, t, /[ms]/); print t[1] * 60 + t[2] }'
}
least() { awk -v a="$1" -v b="${2:-1e9}" 'BEGIN { print a < b ? a : b }'; }
printf '%-10s %-34s %8s %8s %6s\n' compiler build "${old:-}" now ratio
for cc in ${COMPILERS:-gcc clang}; do
    for flags in -DSPMV_NO_DEVICES '' -DSPMV_NO_DEVICES\ -DSPMV_NO_MIXED; do
        was= now= i=0
        while [ $i -lt "${ROUNDS:-3}" ]; do
            [ ! "$old" ] || was=$(least "$(seconds $cc -std=c99 -O2 $flags -I$dir/old -c $dir/unit.c -o $dir/unit.o)" $was)
            now=$(least "$(seconds $cc -std=c99 -O2 $flags -I. -c $dir/unit.c -o $dir/unit.o)" $now)
            i=$((i + 1))
        done
        awk -v c=$cc -v f="${flags:-all back ends}" -v a="$was" -v b=$now 'BEGIN {
            printf "%-10s %-34s %8s %8.1f %6s\n", c, f, a == "" ? "" : sprintf("%.1f", a), b, a == "" ? "" : sprintf("%.2f", b / a) }'
    done
done
