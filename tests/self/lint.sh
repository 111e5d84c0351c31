#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/self/lint.sh - tests/lint.sh finds every line of tests/self/defect.cl that says "refused", and none beside.
set -u
cd "$(dirname "$0")/../.." || exit 1
file=tests/self/defect.cl
dir=build/check
mkdir -p $dir
if sh tests/lint.sh $file >$dir/lint.out 2>&1; then echo "lint takes $file"; exit 1; fi
grep -v ': note: ' $dir/lint.out | grep -oE "$file:[0-9]+" | sort -u >$dir/lint.found
grep -nE '/\* refused \*/' $file | sed "s|^\([0-9]*\):.*|$file:\1|" | sort -u >$dir/lint.wanted
echo "$(comm -12 $dir/lint.found $dir/lint.wanted | wc -l) of $(wc -l <$dir/lint.wanted) planted faults found"
comm -3 $dir/lint.found $dir/lint.wanted | sed 's/^	/missed: /; t
    s/^/found beside: /'
cmp -s $dir/lint.found $dir/lint.wanted
