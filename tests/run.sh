#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/run.sh [--quick] [--list] [GROUP | CHECK]... - runs the checks of these groups, or all checks, and ends with "N passed, N failed".
# A word with a slash is the name of a check or a pattern of names: unit/test_io, 'compile/gcc/*'.
#   --quick   only the checks that "make test" runs (the function quick below says which)
#   --list    prints the names of the checks, and runs none
# Groups: self tidy headers unit cli gen oclgrind reproducible suite petsc sanitize kernels fuzz threads readme examples lib python
# package compile.
# By name only: rusticl (needs Mesa's OpenCL driver), generator (every kernel that spmvgen can write for devices).
# The checks of "make test" come first. Every program that checks use is built before the first check starts. Then JOBS checks run at a
# time (default: as many as there are processors, at least 2 and at most 8), each for at most LIMIT seconds (1800). The line of a check
# gives the time it took and the processor time it used. Logs stay in build/check/log. The exit status is 0 only if something passed and
# nothing failed, 2 for a wrong call.
set -u
cd "$(dirname "$0")/.." || exit 1
all='self tidy headers unit cli gen oclgrind reproducible suite petsc sanitize kernels fuzz threads readme examples'
all="$all lib python package compile"
select=every list_only=
while :; do
    case ${1-} in
    --quick) select=quick ;;
    --list) list_only=1 ;;
    -*) echo "usage: tests/run.sh [--quick] [--list] [GROUP | CHECK]..." >&2; exit 2 ;;
    *) break ;;
    esac
    shift
done
limit=${LIMIT:-1800}
most_jobs=8 # each may be a compiler, which needs up to 0.4 GB for a test program
jobs=${JOBS:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)}
[ -n "${JOBS-}" ] || { [ "$jobs" -ge 2 ] || jobs=2; [ "$jobs" -le $most_jobs ] || jobs=$most_jobs; }
tail_lines=20 # of a failed check's log, shown at the end
out=build/check
mkdir -p build || exit 1

lock=build/check.lock # a link whose target is the number of the running process
tidy_up() {
    if [ "$list_only" ]; then rm -rf "$out"; else rm -f "$lock"; fi
}
if [ "$list_only" ]; then
    out=$(mktemp -d) || exit 1
else # a second run in one checkout ("make -j unit examples") waits, because each would remove the other's logs and claims
    until ln -s $$ "$lock" 2>/dev/null; do
        holder=$(readlink "$lock")
        if [ -z "$holder" ]; then continue; fi
        if ! kill -0 "$holder" 2>/dev/null; then rm -f "$lock"; continue; fi
        [ "${waiting-}" ] || echo "waiting for process $holder, which runs checks here" >&2
        waiting=yes
        sleep 1
    done
    rm -rf "$out"
fi
trap tidy_up EXIT
mkdir -p "$out/log" "$out/san" "$out/claim" build/pocl || exit 1
for f in list results; do : >"$out/$f"; done
POCL_CACHE_DIR=$(pwd)/build/pocl
export POCL_CACHE_DIR
# Checks run side by side. Threads of OpenMP that spin while they wait would take the processors from each other.
OMP_WAIT_POLICY=passive
export OMP_WAIT_POLICY

# quick NAME: succeeds if "make test" runs this check. These are nearly all unit tests on the host and on the first OpenCL device, the most
# common builds, one example, the README's program, and checks that take almost no time; the other examples are only checked for errors
# of syntax. The run may take 6 minutes on two cores. "make test-all" also runs the others.
quick() {
    case $1 in
    self/* | tidy/* | headers/* | unit/* | readme/*) ;;
    cli/bench | cli/cocktail | cli/suite | gen/messages | gen/fresh | threads/own) ;;
    examples/opencl | compile/gcc/examples | compile/gcc/lines) ;;
    compile/gcc/all | compile/g++/all | compile/*/csr+sell | compile/*/no-f64 | compile/gcc/single | compile/clang++/single-c++2b) ;;
    *) return 1 ;;
    esac
}

# check NAME KIND COMMAND... - adds a line to the list. KIND tells how its result is counted:
#   plain      exit status 0 counts as one passed
#   criterion  by criterion's closing line; if nothing was tested, that is a failure, and so is any report of a sanitizer
#   sum        by a last line "N passed, N failed"
#   trap       passes if the exit status is 0 and "criterion" counts a failure, which shows that a check can fail
# If the command begins with "make -s TARGET... &&", these targets are built before any check starts.
check() {
    name=$1 kind=$2
    shift 2
    printf '%s\t%s\t%s\n' "$name" "$kind" "$*" >>"$out/part"
}

numbers() { # numbers KIND LOG STATUS SANITIZER_PREFIX: prints the numbers of passed and failed tests
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
        grep -qsE 'ERROR: |runtime error|SUMMARY: ' "$report" || continue # it is only a warning, such as of a missing symbolizer
        { echo "sanitizer report:"; head -n 60 "$report"; } >>"$2"
        f=$((f + 1))
    done
    echo "$p $f"
}

file_of() { echo "$1" | tr '/ ' '..'; } # file_of NAME: the check's name as a file name

one() { # one WORKER NAME KIND COMMAND: runs the check, adds "passed failed name" to the results and prints a line
    log=$out/log/$(file_of "$2") san=$(pwd)/$out/san/$(file_of "$2")
    begun=$(date +%s)
    times >"$out/times.$1"
    (
        ASAN_OPTIONS=log_path=$san:detect_leaks=1:abort_on_error=0
        LSAN_OPTIONS=log_path=$san
        UBSAN_OPTIONS=log_path=$san:print_stacktrace=1
        export ASAN_OPTIONS LSAN_OPTIONS UBSAN_OPTIONS
        exec timeout "$limit" sh -c "$4"
    ) >"$log" 2>&1 </dev/null &
    echo $! >"$out/pid.$1"
    wait $!
    status=$?
    rm -f "$out/pid.$1"
    times >>"$out/times.$1"
    if [ "$status" = 124 ]; then echo "stopped after $limit s" >>"$log"; fi
    case $3 in
    trap)
        read -r p f <<END
$(numbers criterion "$log" "$status" "$san")
END
        if [ "$f" -gt 0 ] && [ "$status" = 0 ]; then p=1 f=0; else p=0 f=1; fi ;;
    *)
        read -r p f <<END
$(numbers "$3" "$log" "$status" "$san")
END
        ;;
    esac
    used="$(($(date +%s) - begun)) s, $(cpu "$out/times.$1") s CPU"
    echo "$p $f $2" >>"$out/results"
    if [ "$f" = 0 ]; then echo "ok    $2 ($p passed in $used)"; else echo "FAIL  $2 ($p passed, $f failed in $used)"; fi
}

# cpu TIMES: prints the processor seconds of a shell's children between two calls of "times", which prints a line for the shell and one for
# its children.
cpu() {
    awk '{ for (i = 1; i <= 2; i++) { split($i, a, /[ms]/); sum[NR] += 60 * a[1] + a[2] } } END { printf "%.0f", sum[4] - sum[2] }' "$1"
}

worker() { # worker N: runs one check after another that no other worker has claimed
    i=0
    while IFS='	' read -r w_name w_kind w_cmd; do
        i=$((i + 1))
        mkdir "$out/claim/$i" 2>/dev/null || continue
        one "$1" "$w_name" "$w_kind" "$w_cmd"
    done <"$out/list"
}

have() { for h; do [ -e "$h" ] || return 1; done; }

# ---- the list ----
pin=OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd
group() { # group NAME: lists its checks
    case $1 in
    self) # whether failures are found
        planted="\${CC:-cc} tests/self/planted.c -lcriterion -o $out/planted"
        check self/nothing-tested trap "$planted && $out/planted --filter 'none/*'"
        check self/leak trap "$planted-leak -fsanitize=address && $out/planted-leak --filter 'planted/leak'"
        check self/no-leak criterion "$planted-good -fsanitize=address && $out/planted-good --filter 'planted/good'"
        check self/runner plain "sh tests/self/runner.sh"
        check self/symbols plain "sh tests/self/symbols.sh"
        check self/make plain "sh tests/self/make.sh"
        check self/lint plain "sh tests/self/lint.sh"
        check self/messages plain "sh tests/self/messages.sh"
        ;;
    tidy) sh tests/tidy.sh list >>"$out/part" ;;
    headers)
        check headers/fresh plain "sh tests/headers.sh"
        check headers/tools plain "make -s build/spmv && sh tests/tools.sh"
        check headers/bench plain "for f in bench/*.c; do \${CC:-cc} -std=c99 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror -fopenmp" \
            "-DSPMV_NO_SIMD -I. -fsyntax-only \$f || exit 1; done" ;;
    compile) sh tests/compile/list.sh >>"$out/part" || check compile/list plain false ;;
    kernels)
        for k in kernels/*.cl; do
            have "$k" && check "kernels/$(basename "$k" .cl)" plain "sh tests/lint.sh $k"
        done
        formats=$(sed -n '/^#define SPMV_FORMAT_LIST(X)/,/[^\\]$/s/^ *X([A-Z]*, *\([a-z]*\), .*/\1/p' spmv_formats.h)
        for f in $formats; do
            check "kernels/cuda-$f" plain "make -s build/cuda/compile && sh tests/cuda.sh $f"
        done ;;
    unit)
        for t in tests/test_*.c; do
            have "$t" || continue
            n=$(basename "$t" .c)
            if grep -q spmv_device "$t"; then # compiling the kernels of every knob takes as long as everything else
                program="build/tests/$n -j1 --timeout 600"
                # In "make test", PoCL does not optimise, which takes 0.65 of the time; in "make test-all" it does, and there are also
                # products of reals (bound), which take the same path as those of integers, and the suites that are called thorough.
                flags= others='knobs|pairs|self_check'
                [ $select != quick ] || flags=POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable others="$others|bound|thorough"
                check "unit/$n" criterion "make -s build/tests/$n && $flags $program --filter '!($others)/*'" \
                    "&& touch $out/compiled.$n"
                # PoCL's optimiser changes the time that a knob's tests take, but not their results
                grep -qE '^Test\((knobs|pairs|self_check),' "$t" || continue
                check "knobs/$n" criterion "make -s build/tests/$n &&" \
                    "POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable $program --filter '@(knobs|pairs|self_check)/*'"
            else
                check "unit/$n" criterion "make -s build/tests/$n && build/tests/$n -j1 --timeout 600"
            fi
        done ;;
    sanitize)
        # PoCL leaks when it compiles a kernel, but not when it finds it in its cache, and to hide what PoCL allocated would hide our
        # own lost buffers, too. So the same tests run first without sanitizers, whose results do not count here,
        # unless unit/NAME has just run them, on PoCL because there is no other driver.
        only_pocl=false
        [ "$(ls /etc/OpenCL/vendors 2>/dev/null)" != pocl.icd ] || only_pocl=true
        # All values of a knob, and reals after integers, take the same path through the host code: they run only without sanitizers.
        some="--filter '!(bound|knobs|pairs|self_check)/*'"
        for t in $(ls -r tests/test_*.c); do
            have "$t" || continue
            n=$(basename "$t" .c)
            if grep -q spmv_device "$t"; then
                check "sanitize/$n" criterion "make -s build/tests/$n build/san/$n &&" \
                    "{ { $only_pocl && [ -e $out/compiled.$n ]; } || $pin build/tests/$n -j1 $some >/dev/null 2>&1;" \
                    "$pin build/san/$n -j1 --timeout 500 $some; }"
            else
                check "sanitize/$n" criterion "make -s build/san/$n && $pin build/san/$n -j1 --timeout 500"
            fi
        done ;;
    threads) # under ThreadSanitizer, the exit status is 66 if there is a race
        cc="\${CC:-cc} -std=c99 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror -g -O0 -I."
        check threads/tsan plain "$cc -fsanitize=thread tests/threads.c -o $out/threads -pthread && $pin $out/threads"
        check threads/openmp plain "$cc -fopenmp tests/threads.c -o $out/threads-omp -pthread &&" \
            "OMP_NUM_THREADS=2 $pin $out/threads-omp" # copies run ahead in a thread of their own
        check threads/fork sum "$cc -fopenmp tests/fork.c -o $out/fork -ldl -lm && OMP_NUM_THREADS=2 $out/fork"
        own="-DSPMV_NO_SIMD tests/own_threads.c -pthread"
        check threads/own sum "$cc $own -o $out/own && $out/own"
        check threads/own-dealt sum "$cc -DSPMV__DEALS=1 $own -o $out/own-dealt && $out/own-dealt"
        check threads/own-tsan sum "$cc -fsanitize=thread -DPOOL_STACK=1048576 $own -o $out/own-tsan && $out/own-tsan" ;;
    fuzz)
        for t in tests/fuzz/fuzz_*.c; do
            have "$t" || continue
            n=$(basename "$t" .c)
            check "fuzz/$n" plain "make -s build/fuzz/$n && sh tests/fuzz.sh --replay $n"
        done ;;
    examples)
        for e in examples/*.c examples/own_format/*.c; do
            have "$e" && check "examples/$(basename "$e" .c)" plain "sh tests/example.sh $e"
        done ;;
    readme) check readme/quick-start plain "sh tests/readme.sh" ;;
    cli)
        # PoCL's optimiser is left to unit/test_cl: here, kernels are only started from the command line
        check cli sum "make -s build/spmv build/spmv-defect && POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable sh tests/test_cli.sh"
        check cli/man sum "make -s build/spmv && sh tests/man.sh"
        check cli/bench sum "make -s build/spmv && sh tests/bench.sh"
        check cli/cocktail sum "make -s build/spmv && python3 tests/cocktail.py"
        check cli/suite sum "make -s build/spmv && sh tests/suite.sh some" ;;
    gen)
        check gen/messages sum "make -s build/spmvgen && sh tests/gen.sh messages"
        check gen/c sum "make -s build/spmvgen build/obj/library.o && sh tests/gen.sh c"
        check gen/own sum "make -s build/spmvgen && $pin sh tests/gen.sh own"
        check gen/tune sum "make -s build/spmvgen && $pin sh tests/gen.sh tune"
        check gen/shipped plain "make -s build/gen/list && { build/gen/list | cmp - kernels/ptx.list ||" \
            "{ echo run: make ptx-list; false; }; }"
        check gen/fresh sum "make -s build/spmvgen && sh tests/generator.sh fresh"
        check gen/standalone sum "make -s build/spmvgen && sh tests/generator.sh standalone"
        check gen/device sum "make -s build/spmvgen build/gen/multiply &&" \
            "POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable $pin sh tests/generator.sh quick" ;;
    oclgrind)
        check oclgrind/races plain "make -s build/spmv && sh tests/oclgrind.sh races"
        check oclgrind/plans plain "make -s build/spmv && sh tests/oclgrind.sh plans"
        check oclgrind/planted plain "make -s build/spmv-defect && sh tests/oclgrind.sh planted"
        check oclgrind/uninitialized plain "make -s build/spmv-defect && sh tests/oclgrind.sh uninitialized" ;;
    reproducible) check reproducible sum "make -s build/spmv build/spmv-defect && sh tests/reproducible.sh" ;;
    suite) check suite/all sum "make -s build/spmv && sh tests/suite.sh all" ;;
    generator) check generator/all sum "make -s build/spmvgen build/gen/multiply build/gen/compile &&" \
        "POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable $pin sh tests/generator.sh all" ;;
    petsc) # optional: tools/install.sh petsc
        if pkg-config --exists PETSc 2>/dev/null && command -v mpirun >/dev/null; then check petsc sum "sh tests/petsc.sh"
        else check petsc/skipped plain "echo 'skipped: there is no PETSc or no mpirun; tools/install.sh petsc installs it'"; fi ;;
    rusticl) check rusticl plain "make -s build/spmv build/spmv-defect && sh tests/rusticl.sh" ;;
    lib) check lib sum "make -s build/check-lib/libspmv.so && sh tests/lib.sh" ;;
    python) check python sum "make -s build/cuda/compiler/libnvrtc.so.13 && sh tests/python.sh" ;;
    package) sh tests/package.sh list >>"$out/part" ;;
    *) echo "no group named $1" >&2; exit 2 ;;
    esac
}

# select_checks GROUP|CHECK...: fills the list. A group without checks becomes a failure, and so does an argument that selects none.
select_checks() {
    for word; do
        : >"$out/part"
        case $word in
        */*) for g in $all rusticl generator; do group "$g"; done ;;
        *) group "$word" ;;
        esac
        n=0 left=0
        while IFS='	' read -r name kind command; do
            case $word in
            */*) case $name in $word) ;; *) continue ;; esac ;;
            esac
            n=$((n + 1))
            if [ $select = quick ] && ! quick "$name"; then continue; fi
            left=$((left + 1))
            printf '%s\t%s\t%s\n' "$name" "$kind" "$command" >>"$out/list"
        done <"$out/part"
        if [ $n = 0 ] || [ "$named$left" = yes0 ]; then
            printf '%s\tplain\techo "%s has no check"; false\n' "$word/nothing" "$word" >>"$out/list"
        fi
    done
}

if [ $# = 0 ]; then named=no; set -- $all; else named=yes; fi
select_checks "$@"
# each check once, the quick ones first
for f in first later; do : >"$out/$f"; done
awk -F '\t' '!seen[$1]++' "$out/list" >"$out/part"
while IFS= read -r line; do
    if quick "${line%%	*}"; then f=first; else f=later; fi
    printf '%s\n' "$line" >>"$out/$f"
done <"$out/part"
cat "$out/first" "$out/later" >"$out/list"
if [ "$list_only" ]; then cut -f 1 "$out/list"; exit 0; fi

# ---- the run ----
# A run that is stopped stops its checks: each has its own process group, which only "timeout" can end.
stop() {
    trap '' HUP INT TERM
    kill $workers 2>/dev/null
    for pid in "$out"/pid.*; do [ -e "$pid" ] && kill "$(cat "$pid")" 2>/dev/null; done
    echo "stopped"
    exit 1
}
workers=
trap stop HUP INT TERM

# Programs that several checks need are built once, before the checks start. Variables from make's command line (CC=...) are passed
# on; its -j is not.
build() {
    case ${MAKEFLAGS-} in
    *' -- '*) MAKEFLAGS="-- ${MAKEFLAGS#* -- }" ;;
    *) MAKEFLAGS= ;;
    esac
    export MAKEFLAGS
    unset MAKELEVEL MFLAGS
    times >"$out/times.0"
    targets=$(awk -F '\t' 'sub(/^make -s /, "", $3) && sub(/ &&.*/, "", $3) { print $3 }' "$out/list" | tr ' ' '\n' | sort -u)
    if [ "$targets" ]; then
        make -s -k -j "$jobs" $targets >"$out/log/build" 2>&1 || echo "some programs cannot be built: $out/log/build"
        times >>"$out/times.0"
        echo "built $(echo "$targets" | wc -l) programs in $(($(date +%s) - started)) s, $(cpu "$out/times.0") s CPU"
    fi
}

work() {
    w=0
    while [ "$w" -lt "$jobs" ]; do w=$((w + 1)); worker $w & workers="$workers $!"; done
    wait
}

# ---- results ----
# A check without a result failed, because its worker died.
report() {
    awk '{ print $3 }' "$out/results" >"$out/part"
    cut -f 1 "$out/list" | grep -vxF -f "$out/part" | sed 's/^/0 1 /' >>"$out/results"
    failed=$(awk '$2 { print $3 }' "$out/results")
    for name in $failed; do
        file=$out/log/$(file_of "$name")
        echo
        echo "FAILED $name: $(awk -v n="$name" '$3 == n { print $1 " passed, " $2 " failed" }' "$out/results"); its log, $file, ends with"
        grep -v '^ok ' "$file" 2>/dev/null | tail -n $tail_lines | sed 's/^/    | /'
        echo "  again:  sh tests/run.sh $name"
        echo "  it is:  $(awk -F '\t' -v n="$name" '$1 == n { print $3 }' "$out/list")"
    done
    [ -z "$failed" ] || echo
    awk -v s=$(($(date +%s) - started)) -v bad="$(echo $failed)" '
        END { if (bad) print "failed: " bad
              printf "%d checks in %d s\n", NR, s }' "$out/results"
    awk '{ p += $1; f += $2 } END { if (p + f == 0) f = 1; printf "%d passed, %d failed\n", p, f }' "$out/results" | tee "$out/summary"
    grep -q '^[1-9][0-9]* passed, 0 failed$' "$out/summary"
}

# One line, so that the shell has read it before the run begins, and this file can be edited meanwhile.
started=$(date +%s); build; work; report; exit $?
