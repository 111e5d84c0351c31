#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/run.sh [GROUP...] - runs the checks of these groups (all if none is named) and ends with "N passed, N failed".
# Groups: self tidy headers unit cli oclgrind reproducible fuzz kernels sanitize compile readme examples; the long ones come early.
# By name only: uninitialized (with oclgrind, every listed variant), rusticl.
# JOBS checks run at a time (2), each for at most LIMIT seconds (1800).
# Logs stay in build/check/log. Exit status 0 only if something passed and nothing failed.
set -u
cd "$(dirname "$0")/.." || exit 1
groups=${*:-self tidy headers unit cli oclgrind reproducible fuzz kernels sanitize compile readme examples}
jobs=${JOBS:-2}
out=build/check
rm -rf "$out"
mkdir -p "$out/log" "$out/san" "$out/claim" build/pocl || exit 1
: >"$out/list"
: >"$out/results"
POCL_CACHE_DIR=$(pwd)/build/pocl
export POCL_CACHE_DIR

# check NAME KIND COMMAND... - one line of the list. What KIND says of the result:
#   plain      exit status 0 is one passed
#   criterion  counts by the closing line; none tested is a failure, and so is any report of a sanitizer
#   sum        counts by a last line "N passed, N failed"
#   trap       exits with 0, and yet "criterion" must count a failure (what shows that a check can fail)
check() {
    name=$1 kind=$2
    shift 2
    printf '%s\t%s\t%s\n' "$name" "$kind" "$*" >>"$out/list"
}

numbers() { # numbers KIND LOG STATUS SANITIZER_PREFIX: prints "passed failed"
    p=0 f=0
    case $1 in
    plain) if [ "$3" = 0 ]; then p=1; else f=1; fi ;;
    criterion)
        line=$(sed 's/\x1b\[[0-9;]*m//g' "$2" | grep 'Synthesis: Tested:' | tail -n 1)
        t=$(echo "$line" | sed -n 's/.*Tested: *\([0-9]*\).*/\1/p')
        p=$(echo "$line" | sed -n 's/.*Passing: *\([0-9]*\).*/\1/p')
        f=$(echo "$line" | sed -n 's/.*Failing: *\([0-9]*\).*/\1/p')
        t=${t:-0} p=${p:-0} f=${f:-0}
        if [ "$t" = 0 ]; then echo "nothing was tested" >>"$2"; f=$((f + 1)); fi
        if [ "$3" != 0 ] && [ "$f" = 0 ]; then echo "exit status $3" >>"$2"; f=1; fi ;;
    sum)
        line=$(grep '^[0-9]* passed, [0-9]* failed$' "$2" | tail -n 1)
        p=$(echo "$line" | sed -n 's/^\([0-9]*\) passed.*/\1/p')
        f=$(echo "$line" | sed -n 's/.*, \([0-9]*\) failed$/\1/p')
        p=${p:-0} f=${f:-0}
        if [ $((p + f)) = 0 ]; then echo "nothing was tested" >>"$2"; f=1; fi
        if [ "$3" != 0 ] && [ "$f" = 0 ]; then echo "exit status $3" >>"$2"; f=1; fi ;;
    esac
    for report in "$4".*; do
        grep -qsE 'ERROR: |runtime error|SUMMARY: ' "$report" || continue # else a warning, such as of a missing symbolizer
        { echo "sanitizer report:"; head -n 60 "$report"; } >>"$2"
        f=$((f + 1))
    done
    echo "$p $f"
}

one() { # one NAME KIND COMMAND
    file=$(echo "$1" | tr '/ ' '..')
    log=$out/log/$file san=$(pwd)/$out/san/$file
    begun=$(date +%s)
    (
        ASAN_OPTIONS=log_path=$san:detect_leaks=1:abort_on_error=0
        LSAN_OPTIONS=log_path=$san
        UBSAN_OPTIONS=log_path=$san:print_stacktrace=1
        export ASAN_OPTIONS LSAN_OPTIONS UBSAN_OPTIONS
        exec timeout "${LIMIT:-1800}" sh -c "$3"
    ) >"$log" 2>&1 </dev/null
    status=$?
    if [ "$status" = 124 ]; then echo "stopped after ${LIMIT:-1800} s" >>"$log"; fi
    if [ "$2" = trap ]; then
        set -- "$1" "$2" "$3" $(numbers criterion "$log" "$status" "$san")
        if [ "$5" -gt 0 ] && [ "$status" = 0 ]; then set -- "$1" "$2" "$3" 1 0; else set -- "$1" "$2" "$3" 0 1; fi
    else
        set -- "$1" "$2" "$3" $(numbers "$2" "$log" "$status" "$san")
    fi
    took=$(($(date +%s) - begun))
    echo "$4 $5 $1" >>"$out/results"
    if [ "$5" = 0 ]; then
        echo "ok    $1 ($4 in $took s)"
    else
        { echo "FAIL  $1 ($4 passed, $5 failed; $log)"; echo "      \$ $3"; tail -n 40 "$log" | sed 's/^/      | /'; }
    fi
}

worker() {
    i=0
    while IFS='	' read -r w_name w_kind w_cmd; do
        i=$((i + 1))
        mkdir "$out/claim/$i" 2>/dev/null || continue
        one "$w_name" "$w_kind" "$w_cmd"
    done <"$out/list"
}

have() { for h; do [ -e "$h" ] || return 1; done; }

# ---- the list ----
make='make -s --no-print-directory'
knobs='(knobs|pairs|self_check)/*'
pin=OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd
for g in $groups; do
    case $g in
    self) # the traps that would let a failure pass as a success
        check self/nothing-tested trap "\${CC:-cc} tests/self/planted.c -o $out/planted -lcriterion && $out/planted --filter 'none/*'"
        check self/leak trap "\${CC:-cc} -fsanitize=address tests/self/planted.c -o $out/planted-leak -lcriterion && $out/planted-leak --filter 'planted/leak'"
        check self/lint plain "sh tests/self/lint.sh"
        check self/no-leak criterion "\${CC:-cc} -fsanitize=address tests/self/planted.c -o $out/planted-good -lcriterion && $out/planted-good --filter 'planted/good'"
        ;;
    tidy) sh tests/tidy.sh list >"$out/part" && cat "$out/part" >>"$out/list" ;;
    headers) check headers/fresh plain "sh tests/headers.sh" ;;
    compile) sh tests/compile/list.sh >"$out/part" && cat "$out/part" >>"$out/list" || check compile/list plain false ;;
    kernels)
        for k in kernels/*.cl; do
            have "$k" && check "kernels/$(basename "$k" .cl)" plain "sh tests/lint.sh $k"
        done ;;
    unit)
        for t in tests/test_*.c; do
            have "$t" || continue
            n=$(basename "$t" .c)
            if grep -q spmv_device "$t"; then # compiling every knob's kernels takes as long as all else
                check "unit/$n" criterion "$make build/tests/$n && build/tests/$n -j1 --timeout 600 --filter '!$knobs'"
                # a knob's meaning does not hang on what PoCL's optimiser makes of it, but the time does
                check "knobs/$n" criterion "$make build/tests/$n && POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable build/tests/$n -j1 --timeout 600 --filter '@(pairs|self_check)/*'"
            else
                check "unit/$n" criterion "$make build/tests/$n && build/tests/$n -j1 --timeout 600"
            fi
        done ;;
    sanitize)
        # PoCL leaks when it compiles a kernel and not when it finds it in its cache; hiding what PoCL allocated would hide
        # our own lost buffers too. So what uses devices comes after the unit test that fills the cache.
        for t in $(ls -r tests/test_*.c); do
            have "$t" || continue
            n=$(basename "$t" .c)
            # a knob's every value, and reals after integers, take the same way through the host code: once without sanitizers is enough
            if grep -q spmv_device "$t"; then warm="sh tests/warm.sh $n &&" some="--filter '!(bound|knobs|pairs|self_check)/*'"; else warm= some=; fi
            check "sanitize/$n" criterion "$make build/san/$n && $warm $pin build/san/$n -j1 --timeout 500 $some"
        done ;;
    fuzz)
        for t in tests/fuzz/fuzz_*.c; do
            have "$t" || continue
            n=$(basename "$t" .c)
            check "fuzz/$n" plain "$make build/fuzz/$n && sh tests/fuzz.sh --replay $n"
        done ;;
    examples)
        for e in examples/*.c; do
            have "$e" && check "examples/$(basename "$e" .c)" plain "sh tests/example.sh $e"
        done ;;
    readme) check readme/quick-start plain "sh tests/readme.sh" ;;
    cli) have tests/test_cli.sh && check cli sum "$make build/spmv build/spmv-defect && sh tests/test_cli.sh"
        have tests/man.sh && check cli/man sum "$make build/spmv && sh tests/man.sh"
        have tests/suite.sh && check cli/suite sum "$make build/spmv && sh tests/suite.sh some" ;;
    oclgrind)
        check oclgrind/races plain "$make build/spmv && sh tests/oclgrind.sh races"
        check oclgrind/plans plain "$make build/spmv && sh tests/oclgrind.sh plans"
        check oclgrind/planted plain "$make build/spmv-defect && sh tests/oclgrind.sh planted" ;;
    uninitialized) check oclgrind/uninitialized plain "$make build/spmv-defect && sh tests/oclgrind.sh uninitialized" ;;
    reproducible) check reproducible sum "$make build/spmv build/spmv-defect && sh tests/reproducible.sh" ;;
    rusticl) check rusticl plain "$make build/spmv build/spmv-defect && sh tests/rusticl.sh" ;;
    *) echo "no group named $g" >&2; exit 2 ;;
    esac
done

# What several checks want is built once, before they start.
if grep -q 'build/spmv' "$out/list"; then $make build/spmv build/spmv-defect >"$out/log/build.spmv" 2>&1; fi
if grep -q -e '-Idist' "$out/list"; then $make dist/spmv.h >"$out/log/dist.spmv.h" 2>&1; fi

started=$(date +%s)
w=1
while [ "$w" -lt "$jobs" ]; do worker & w=$((w + 1)); done
worker
wait
awk -v s=$(($(date +%s) - started)) '
    { p += $1; f += $2; n++; if ($2) bad = bad "\n  " $3 }
    END { if (bad) print "failed:" bad
          printf "%d checks in %d s\n", n, s }' "$out/results"
awk '{ p += $1; f += $2 } END { if (p + f == 0) f = 1; printf "%d passed, %d failed\n", p, f }' "$out/results" | tee "$out/summary"
grep -q '^[1-9][0-9]* passed, 0 failed$' "$out/summary"
