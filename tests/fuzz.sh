#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/fuzz.sh [--replay] NAME... - runs the fuzzers build/fuzz/NAME for FUZZ_SECONDS (60) each; with --replay on the files of
# tests/fuzz/corpus/NAME (fuzz_fmt: formats) and then on FUZZ_RUNS (20000; fuzz_fmt: 8000) inputs from a fixed seed. Findings stay in
# build/fuzz.
set -u
cd "$(dirname "$0")/.." || exit 1
replay=
[ "${1-}" = --replay ] && { replay=1; shift; }
rc=0
for name; do
    corpus=tests/fuzz/corpus/$name
    runs=20000
    [ "$name" != fuzz_fmt ] || { corpus=formats runs=8000; }
    dict=tests/fuzz/$name.dict
    work=build/fuzz/corpus.$name
    mkdir -p "$work"
    set -- -artifact_prefix=build/fuzz/"$name". -timeout=10 -rss_limit_mb=1024 -print_final_stats=1
    [ -f "$dict" ] && set -- "$@" -dict="$dict"
    [ -d "$corpus" ] || corpus=
    if [ "$replay" ]; then
        if [ "$corpus" ]; then
            build/fuzz/"$name" "$@" -runs=0 $corpus || rc=1
        fi
        build/fuzz/"$name" "$@" -seed=1 -runs="${FUZZ_RUNS:-$runs}" -max_total_time=30 "$work" $corpus || rc=1
    else
        build/fuzz/"$name" "$@" -max_total_time="${FUZZ_SECONDS:-60}" "$work" $corpus || rc=1
    fi
done
exit $rc
