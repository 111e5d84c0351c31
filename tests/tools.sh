#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/tools.sh [DIR] - checks the modules of tools/ (or DIR): every header compiles alone without warnings (make compiles every source
# by itself), and every name with external linkage is used by another module and begins with the name of a module or a type, so that
# names cannot clash. The command line needs nothing of the generator in tools/gen. Needs the objects of "make build/spmv".
set -u
cd "$(dirname "$0")/.." || exit 1
dir=${1-tools} rc=0 headers=0 names=0
for h in $(find "$dir" -name '*.h' | sort); do
    headers=$((headers + 1))
    echo "#include \"$h\"" | ${CC:-cc} -std=c99 -pedantic -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wshadow -Wconversion -Werror -I. \
        -x c -fsyntax-only - || { echo "$h: does not compile alone"; rc=1; }
    guard=SPMV_TOOLS_$(echo "${h#"$dir"/}" | tr 'a-z/.' 'A-Z__')
    grep -q "^#ifndef $guard$" "$h" || { echo "$h: its guard is not $guard"; rc=1; }
done
[ $headers -gt 20 ] || { echo "$headers headers in $dir"; rc=1; }

objects=$(find build/obj -name '*.o' | sort)
for o in $objects; do # objects of removed files would make names look used
    [ -e "$dir/$(echo "$o" | sed 's|^build/obj/||; s|o$|c|')" ] || objects=$(echo "$objects" | grep -vx "$o")
done
modules=$(echo "$objects" | sed 's|.*/||; s|\.o$||; s|s$||')
types=$(sed -n 's/^} \([a-z_]*\);$/\1/p' $(find "$dir" -name '*.h'))
nm -g $objects | awk 'NF == 2 && $1 == "U" { print $2 }' | sort -u >build/obj/wanted
for o in $objects; do
    own=$(nm -g "$o" | awk 'NF == 3 && $3 !~ /^spmv_/ && $3 != "main" { print $3 }')
    for name in $own; do
        names=$((names + 1))
        if ! grep -qx "$name" build/obj/wanted; then echo "$o: $name is used nowhere else: make it static"; rc=1; fi
        for word in $modules $types; do
            case $name in "$word"_* | "$word"s_* | *_command) continue 2 ;; esac
        done
        echo "$o: $name does not begin with the name of a module or a type"
        rc=1
    done
done
if ${MAKE:-make} -nB build/spmv 2>&1 | grep 'flex\|bison\|/gen/'; then echo "make build/spmv needs the generator"; rc=1; fi
[ $names -gt 100 ] || { echo "$names names in the objects"; rc=1; }
[ $rc = 0 ] && echo "$headers headers, $names names"
exit $rc
