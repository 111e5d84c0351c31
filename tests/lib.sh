#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/lib.sh - checks build/check-lib/libspmv.so, which make has built: it shows the functions of spmv_c.h and no others, has a name with
# its version, can be called from C and C++ (tests/lib.c), and the Fortran program of docs/platforms.md prints what it should.
set -u
cd "$(dirname "$0")/.." || exit 1
dir=build/check-lib lib=build/check-lib/libspmv.so rc=0 sums=$dir/sums
bad() { echo "$*"; rc=1; }
declared=$(sed -n 's/^SPMV_C_API .*\(spmv_[a-z_]*\)(.*/\1/p' spmv_c.h | sort)
shown=$(nm -D --defined-only $lib | awk '{ print $3 }' | sort)
[ -n "$declared" ] && [ "$declared" = "$shown" ] || bad "spmv_c.h declares" $declared "and the library shows" $shown
version=$(sed -n 's/^#define SPMV_VERSION "\(.*\)\.[0-9]*"$/\1/p' spmv.h)
objdump -p $lib | grep -q "SONAME  *libspmv.so.$version\$" || bad "the library's name is not libspmv.so.$version"
link="-L$dir -lspmv -Wl,-rpath,\$ORIGIN"
w='-Wall -Wextra -Wshadow -Wconversion -pedantic -Werror -I.'
: >$sums
${CC:-cc} -std=c99 -D_POSIX_C_SOURCE=200809L $w tests/lib.c -pthread $link -o $dir/c && $dir/c | tee -a $sums || bad "C"
${CXX:-c++} -x c++ -std=c++11 $w tests/lib.c -x none -pthread $link -o $dir/cxx && $dir/cxx | tee -a $sums || bad "C++"
block() { # block LANGUAGE: prints the first fenced block of that language in docs/platforms.md
    awk -v lang="$1" '/^```/ { if (on) exit; if ($0 == "```" lang) on = 1; next } on' docs/platforms.md
}
block fortran >$dir/quick.f90
{ gfortran -Wall -Werror $dir/quick.f90 $link -o $dir/fortran && $dir/fortran >$dir/got &&
    grep -Eq '^ +7\.0+ +6\.0+ +7\.0+ *$' $dir/got; } || bad "docs/platforms.md: Fortran"
awk -v bad=$rc '{ p += $1; f += $3 } END { print p + !bad " passed, " f + bad " failed" }' $sums
exit $rc
