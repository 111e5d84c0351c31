#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/readme.sh - README.md's quick start: its first C block is compiled by its first cc line, in a directory with nothing but
# the headers, and run. What it prints must be the text block that follows. The other C blocks must compile as they stand
# in a function.
set -u
cd "$(dirname "$0")/.." || exit 1
root=$(pwd)
dir=build/readme
rm -rf "$dir"
mkdir -p "$dir" || exit 1
block() { # block LANGUAGE N: the N-th fenced block of that language
    awk -v lang="$1" -v n="$2" '
        /^```/ { if (on) { on = 0; next }
                 if ($0 == "```" lang && ++seen == n) on = 1; next }
        on' README.md
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
