#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/self/make.sh - no rule of the Makefile leaves half a program where a whole one is expected: with a compiler that writes
# something and then fails, the target must not be there, or the next "make" would take it for built.
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$(pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cp -r Makefile spmv*.[ch] spmv tools bench "$dir/" && cp -r tests "$dir/tests" && cd "$dir" || exit 1
cat >half <<'END'
while [ $# -gt 0 ]; do
    if [ "$1" = -o ]; then echo half >"$2"; exit 1; fi
    shift
done
exit 1
END
echo 'echo half; exit 1' >tools/single.sh
echo 'exit 0' >tools/install.sh
rc=0 n=0
for target in build/obj/spmv.o build/obj-defect/library.o build/spmv build/spmv-defect build/tests/test_io build/san/test_io \
    build/gen/parse.c build/gen/scan.c build/gen/scan.o build/gen/tree.o build/spmvgen \
    build/gen/multiply build/gen/compile build/gen/measure build/gen/ptx build/gen/list build/tests/library.o build/san/library.o \
    build/fuzz/fuzz_mm build/threads build/two_devices build/groups build/permuted build/prepare build/cuda/libcuda.so.1 \
    build/cuda/compiler/libnvrtc.so.13 build/cuda/compile build/compile/clang-two_a.o build/obj/plot.inc build/libspmv.so dist/spmv.h; do
    n=$((n + 1))
    if [ $target = build/spmv ]; then # nor do the objects of programs keep it from being linked
        find tools -name '*.c' | while IFS= read -r f; do
            for o in "build/obj/${f#tools/}" "build/obj-defect/${f#tools/}"; do mkdir -p "${o%/*}" && touch "${o%.c}.o"; done
        done
    fi
    case $target in # what it is made of is there
    build/gen/scan.c) mkdir -p build/gen && touch build/gen/parse.c ;;
    build/gen/scan.o) touch build/gen/scan.c ;;
    build/spmvgen) for f in tools/gen/*.c scan.c parse.c; do f=${f##*/} && touch "build/gen/${f%.c}.o"; done ;;
    esac
    if make -s OMP= CC='sh half' CXX='sh half' CLANG='sh half' FLEX='sh half' BISON='sh half' SED='sh half' $target >out 2>&1; then
        echo "$target: made by a compiler that fails"
        rc=1
    fi
    if [ -e $target ]; then echo "$target: half of it is left"; rc=1; fi
done
# every rule that names its target so is among them
rules=$(grep -c -- '\$(NEW) \$@$' "$root/Makefile")
[ "$rules" = $n ] || { echo "$rules rules in the Makefile end with \$(NEW) \$@, $n targets are tried: name the others here"; rc=1; }
if grep -nE -- '(-o|>) *\$@( |$)' "$root/Makefile"; then
    echo "these rules write their target directly: write \$(NEW) and rename it"
    rc=1
fi
[ $rc = 0 ] && echo "$n rules"
exit $rc
