#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/self/symbols.sh - each rule of tests/compile/symbols.sh refuses an object that breaks it, and names the symbol.
set -u
cd "$(dirname "$0")/../.." || exit 1
dir=build/check/symbols
mkdir -p $dir || exit 1
rc=0
object() { printf '%s\n' "$1" | "${CC:-cc}" -O0 -x c -c - -o $dir/a.o || exit 1; } # object TEXT
refused() { # refused RULE SYMBOL TEXT: by that rule an object with this text has a symbol that it must not have
    object "$3"
    if sh tests/compile/symbols.sh $dir/a.o "$1" >$dir/out; then echo "$1 takes $2"; rc=1
    elif ! grep -qw -- "$2" $dir/out; then echo "$1 does not name $2"; rc=1
    else echo "$1 refuses $2"; fi
}
refused prefix other 'int spmv_a; int other(void) { return 0; }'
refused none spmv_a 'int spmv_a(void) { return 0; }'
refused no-malloc malloc '#include <stdlib.h>
void *spmv_a(void) { return malloc(1); }'
refused no-stdio fopen '#include <stdio.h>
FILE *spmv_a(void) { return fopen("a", "r"); }'
refused quiet getenv '#include <stdlib.h>
char *spmv_a(void) { return getenv("A"); }'
refused no-io spmv_mm_read_file 'int spmv_mm_read_file(void) { return 0; }'
refused io spmv_mm_read_file 'int spmv_mm_write_file(void) { return 0; }'
object 'int spmv_a(void) { return 0; }'
sh tests/compile/symbols.sh $dir/a.o prefix no-malloc no-stdio quiet no-io || rc=1
exit $rc
