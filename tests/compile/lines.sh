#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/compile/lines.sh OBJECT - the products of the host in an object compiled with -g -O0: each of their lines has a number of its own,
# in a debugger and in a profile, which it would not have in a macro. Those of single block sizes only call.
set -eu
objdump -dl --no-show-raw-insn "$1" | awk '
    /^[0-9a-f]+ <.*>:$/ { name = $2 ~ /_(f32|f64|mixed)_(plain|avx2|neon)>:$/ && $2 !~ /__block_[0-9]x/ ? $2 : "" }
    /^ .*:\t/ { code[name]++ }
    /^\/.*:[0-9]+/ { sub(/ .*/, ""); if (name && !seen[name $0]++) lines[name]++ }
    END {
        for (name in code)
            if (name && code[name] > 100 && ++n && lines[name] < 2) { print name, lines[name] + 0, "lines"; bad++ }
        print n + 0, "products"
        exit !(n >= 60 && !bad)
    }'
