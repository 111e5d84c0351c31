#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/readme.sh - checks README.md. Its first C block is compiled by its first cc line, in a directory with only the headers, and must
# print the first text block. The second, about threads, is a file by itself, and the others must compile unchanged in functions. Every
# format, key, builder and example must be named, and the table of speed must agree with bench/results. The programs of docs/platforms.md
# must print the same.
set -u
cd "$(dirname "$0")/.." || exit 1
root=$(pwd)
dir=build/readme
rm -rf "$dir"
mkdir -p "$dir" || exit 1
block() { # block LANGUAGE N: prints the N-th fenced block of that language
    awk -v lang="$1" -v n="$2" '
        /^```/ { if (on) { on = 0; next }
                 if ($0 == "```" lang && ++seen == n) on = 1; next }
        on' "${3-README.md}"
}
ln -s "$root"/spmv*.h "$dir"/
block c 1 >"$dir/quick.c"
block text 1 >"$dir/wanted"
line=$(sed -n 's/^\(cc .*quick\.c.*\)$/\1/p' README.md | head -n 1)
[ -s "$dir/quick.c" ] && [ -s "$dir/wanted" ] && [ -n "$line" ] || { echo "README.md: no quick start found"; exit 1; }
cd "$dir" || exit 1
echo "\$ $line"
sh -c "$line" || exit 1
./quick >got || exit 1
cmp got wanted || { diff got wanted; exit 1; }
cd "$root" || exit 1

{
    echo '#include "spmv.h"'
    echo 'int readme(spmv_desc d, spmv_matrix a, cl_command_queue queue, cl_mem x, uint64_t x_offset, cl_mem y, uint64_t y_offset,'
    echo '           cl_uint num_wait, const cl_event *wait, cl_event event);'
    echo 'int readme(spmv_desc d, spmv_matrix a, cl_command_queue queue, cl_mem x, uint64_t x_offset, cl_mem y, uint64_t y_offset,'
    echo '           cl_uint num_wait, const cl_event *wait, cl_event event) {'
    block c 3
    block c 5
    block c 6
    echo 'return d.device == &device; }'
    echo 'void cuda(spmv_matrix a, void *stream, unsigned long long x, uint64_t x_offset, unsigned long long y, uint64_t y_offset);'
    echo 'void cuda(spmv_matrix a, void *stream, unsigned long long x, uint64_t x_offset, unsigned long long y, uint64_t y_offset) {'
    block c 7
    echo '}'
    block c 4 | grep '^#include'
    echo 'spmv_status file(spmv_desc d, spmv_matrix *m);'
    echo 'spmv_status file(spmv_desc d, spmv_matrix *m) {'
    block c 4 | grep -v '^#include'
    echo 'return s ? s : spmv_create(m, &d); }'
    echo 'void several(spmv_device gpu, spmv_input matrix, const double *x, double *y);'
    block c 8 | grep '^#include'
    echo 'void several(spmv_device gpu, spmv_input matrix, const double *x, double *y) {'
    block c 8 | grep -v '^#include'
    echo '}'
} >$dir/rest.c
"${CC:-cc}" -std=c99 -Wall -Wextra -Werror -I. -fsyntax-only $dir/rest.c || exit 1
block c 2 >$dir/threads.c
host="-DSPMV_NO_DEVICES -DSPMV_NO_SIMD"
"${CC:-cc}" -std=c99 -Wall -Wextra -Werror $host -I. -fsyntax-only $dir/threads.c || exit 1
[ -z "$(block c 9)" ] || { echo "README.md has more C blocks than this test checks"; exit 1; }

rc=0
python3 bench/readme.py --check || rc=1
list() { # list MACRO: prints the second column of a table in the headers
    awk -v m="define $1" 'index($0, m) { on = 1; next }
        on { last = !/\\$/; if (sub(/.*X\([A-Z_0-9]*, */, "")) { sub(/,.*/, ""); gsub(/"/, ""); print } if (last) exit }' \
        spmv_formats.h spmv_plan.h
}
names="$(list SPMV_FORMAT_LIST) $(list SPMV_KEY_LIST) $(list SPMV_BUILDER_LIST)"
[ "$(echo $names | wc -w)" -ge 25 ] || { echo "the tables were not found: $names"; exit 1; }
for n in $names; do
    grep -q "^| \`$n\`" README.md || { echo "README.md has no line for $n"; rc=1; }
done
for e in examples/*.c; do
    grep -q "\`$e\`" README.md || { echo "README.md does not name $e"; rc=1; }
done

# the wrapper of docs/platforms.md, called from the languages there
block c 1 docs/platforms.md >$dir/wrap.c
block python 1 docs/platforms.md >$dir/quick.py
block fortran 1 docs/platforms.md >$dir/quick.f90
cd $dir || exit 1
{ sh -c "$(block sh 1 "$root/docs/platforms.md") -DSPMV_NO_SIMD -O0" && python3 quick.py >got && [ "$(cat got)" = '7.0 6.0 7.0' ]; } ||
    { echo "docs/platforms.md: Python"; rc=1; }
if command -v gfortran >/dev/null; then
    { gfortran quick.f90 -L. -lwrap -Wl,-rpath,. -o fortran && ./fortran >got && grep -Eq '^ +7\.0+ +6\.0+ +7\.0+ *$' got; } ||
        { echo "docs/platforms.md: Fortran"; rc=1; }
fi
exit $rc
