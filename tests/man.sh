#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/man.sh - checks that "make man" writes a page for spmv and one for each command, each with its name, synopsis and description,
# all options and examples of its --help, and references to the other pages. Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")/.." || exit 1
spmv=build/spmv man=build/man
rm -rf $man
passed=0 failed=0
verdict() { # verdict NAME STATUS
    if [ "$2" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL $1"; fi
}
${MAKE:-make} -s --no-print-directory man
verdict 'make man' $?

commands=$($spmv --help | sed -n 's/^  spmv \([a-z-]*\) .*  [^# ].*$/\1/p')
wanted=$(for c in '' $commands; do echo "spmv${c:+-$c}.1"; done | sort)
[ "$(echo $commands | wc -w)" -ge 10 ] && [ "$(ls $man | sort)" = "$wanted" ]
verdict 'a page for each command and nothing else' $?
plain() { sed 's/\\f[A-Z]//g; s/\\,//g; s/\\\///g; s/\\-/-/g; s/\\&//g' "$1"; }
for c in '' $commands; do
    name=spmv${c:+-$c}
    plain "$man/$name.1" >build/man.txt
    grep -q "^$name - [a-zA-Z]" build/man.txt
    verdict "$name: its name and a summary" $?
    [ "$(grep '^\.SH ' build/man.txt | tr '\n' ' ')" = '.SH NAME .SH SYNOPSIS .SH DESCRIPTION .SH OPTIONS .SH EXAMPLES .SH "SEE ALSO" ' ]
    verdict "$name: its sections" $?
    $spmv $c --help >build/man.help
    sed -n '/^Options:$/,/^$/s/^  \(--[a-z-]*\).*/\1/p' build/man.help >build/man.options
    grep -A1 '^\.TP$' build/man.txt | sed -n 's/^\(--[a-z][a-z-]*\).*/\1/p' | cmp -s - build/man.options &&
        grep -q -- --help build/man.options
    verdict "$name: its options" $?
    sed -n '/^Examples:$/,$s/^  \(spmv [^#]*[^# ]\)  *#.*/\1/p' build/man.help >build/man.examples
    grep '^spmv ' build/man.txt | grep -Fxf build/man.examples | cmp -s - build/man.examples && [ -s build/man.examples ]
    verdict "$name: its examples" $?
done
rm -f build/man.txt build/man.help build/man.options build/man.examples
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
