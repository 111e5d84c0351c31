#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/readme.sh - checks README.md and docs/*.md. The first C block of README.md is compiled by its first cc line, in a directory with
# only the headers, and must print what that line says. Every other C block must compile: as a file by itself if it defines
# SPMV_IMPLEMENTATION, else unchanged within a function that has the variables below. Links must lead to files and headings; every
# format, key, builder and example must be named; tables must agree with bench/results; and pages that are to stay short do.
set -u
cd "$(dirname "$0")/.." || exit 1
root=$(pwd) dir=build/readme rc=0
rm -rf "$dir"
mkdir -p "$dir" || exit 1
bad() { echo "$*"; rc=1; }
block() { # block LANGUAGE N FILE: prints the N-th fenced block of that language
    awk -v lang="$1" -v n="$2" '
        /^```/ { if (on) { on = 0; next }
                 if ($0 == "```" lang && ++seen == n) on = 1; next }
        on' "$3"
}
ln -s "$root"/spmv* "$dir"/
block c 1 README.md >"$dir/quick.c"
line=$(grep '^cc .*quick\.c.* # prints ' README.md | head -n 1)
echo "${line#*# prints }" >"$dir/wanted"
[ -s "$dir/quick.c" ] && [ -n "$line" ] || { echo "README.md: no quick start found"; exit 1; }
cd "$dir" || exit 1
echo "\$ $line"
sh -c "$line" >got || exit 1
cmp got wanted || { diff got wanted; exit 1; }
cd "$root" || exit 1

# what the blocks may use: x, y and the others on the host, *_mem by OpenCL, *_cuda by CUDA
cat >$dir/names.h <<'END'
#include "spmv.h"
#include <stdio.h>
static const int *ptr, *col;
static const double *val;
static double *x, *y;
static const float *val32;
static float *x32, *y32;
static int rows, cols, nnz;
static spmv_desc d;
static spmv_matrix a;
static spmv_device device;
static spmv_exec exec;
static void *w, *z, *sums;
static uint64_t x_offset, y_offset;
static cl_command_queue queue;
static cl_mem x_mem, y_mem;
static cl_uint num_wait;
static const cl_event *wait;
static cl_event event;
static void *stream;
static unsigned long long ptr_cuda, col_cuda, val_cuda, x_cuda, y_cuda;
END
blocks=0
for page in README.md docs/*.md; do
    n=1
    while block c $n "$page" >$dir/block.c && [ -s $dir/block.c ]; do
        if grep -q '^#define SPMV_IMPLEMENTATION' $dir/block.c; then
            cp $dir/block.c $dir/alone.c
            set -- -DSPMV_NO_DEVICES= -DSPMV_NO_SIMD $dir/alone.c
        else
            { cat $dir/names.h; grep '^#include' $dir/block.c; echo 'int block(void); int block(void) {'; grep -v '^#include' $dir/block.c
              echo 'return 0; }'; } >$dir/within.c
            set -- $dir/within.c
        fi
        "${CC:-cc}" -std=c99 -Wall -Wextra -Werror -Wno-unused -I. -fsyntax-only "$@" || bad "$page: C block $n does not compile"
        n=$((n + 1)) blocks=$((blocks + 1))
    done
done
[ $blocks -ge 12 ] || bad "only $blocks blocks of C were found"

# links, as far as they are to files and headings of this project
links=0
for page in README.md CONTRIBUTING.md docs/*.md; do
    for to in $(awk '/^```/ { on = !on } !on' "$page" | sed 's/`[^`]*`//g' |
        grep -o ']([^)]*)\|src="[^"]*"\|href="[^"]*"' | sed 's/^](//; s/)$//; s/.*="//; s/"$//'); do
        case $to in *://*) continue ;; esac
        links=$((links + 1)) file=${to%%#*}
        [ -n "$file" ] && file=$(dirname "$page")/$file || file=$page
        [ -e "$file" ] || { bad "$page: $to is not there"; continue; }
        case $to in *'#'*)
            sed -n 's/^##* //p' "$file" | tr 'A-Z' 'a-z' | sed "s/[^a-z0-9 _-]//g; s/ /-/g" | grep -Fqx -- "${to#*#}" ||
                bad "$page: $to has no such heading" ;;
        esac
    done
done
[ $links -ge 20 ] || bad "only $links links were found"
for page in docs/*.md; do
    grep -q "($page[)#]" README.md CONTRIBUTING.md || bad "neither README.md nor CONTRIBUTING.md leads to $page"
done

python3 bench/readme.py --check || rc=1
list() { # list MACRO: prints the second column of a table in the headers
    cat spmv*.h spmv/*.h spmv/*/*.h 2>/dev/null | awk -v m="define $1(X)" 'index($0, m) { on = 1; next }
        on { last = !/\\$/; if (sub(/.*X\([A-Z_0-9]*, */, "")) { sub(/,.*/, ""); gsub(/"/, ""); print } if (last) exit }'
}
names="$(list SPMV_FORMAT_LIST) $(list SPMV_KEY_LIST) $(list SPMV_BUILDER_LIST)"
[ "$(echo $names | wc -w)" -ge 25 ] || { echo "the tables were not found: $names"; exit 1; }
for n in $names; do
    grep -q "^| \`$n\`" docs/plans.md docs/choosing.md || bad "docs/plans.md and docs/choosing.md have no line for $n"
done
for e in examples/*.c; do
    grep -q "(\(\.\./\)*$e)" README.md docs/*.md || bad "no page leads to $e"
done
short() { [ "$(wc -l <"$1")" -le "$2" ] || bad "$1 has more than $2 lines"; }
short README.md 150
short CONTRIBUTING.md 60
[ "$(grep -c '^| \*\*' docs/terms.md)" -le 35 ] || bad "docs/terms.md has more than 35 terms"
exit $rc
