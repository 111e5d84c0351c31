#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/man.sh PROGRAM DIR - writes manual pages from the program's --help by help2man: DIR/spmv.1 and a page for each command.
set -u
if [ $# -ne 2 ]; then
    echo "usage: tools/man.sh PROGRAM DIR" >&2
    exit 2
fi
if ! command -v help2man >/dev/null 2>&1; then
    echo "tools/man.sh: help2man is missing (Debian package help2man)" >&2
    exit 1
fi
program=$1 out=$2
mkdir -p "$out" || exit 1
version=$("$program" --version) || exit 1

# page NAME SUMMARY PROGRAM: writes one page; its references to the other pages come from an include file
page() {
    {
        echo '[see also]'
        if [ "$1" = spmv ]; then echo "$commands" | sed 's/ .*//; s/.*/.BR spmv\\-& (1)/; $!s/$/,/'
        else echo '.BR spmv (1)'; fi
    } >"$out/$1.include"
    help2man --no-info --section 1 --manual 'User Commands' --source "$version" --version-string "$version" --name "$2" \
        --include "$out/$1.include" --output "$out/$1.1.new" "$3" || return 1
    # help2man names the page after the program, without the command
    title=$(echo "$1" | tr 'a-z' 'A-Z')
    sed "s/^\\.TH [^ ]*/.TH $title/; s/^spmv \\\\- /$1 \\\\- /" "$out/$1.1.new" >"$out/$1.1"
    rm -f "$out/$1.include" "$out/$1.1.new"
}

# "name summary" of each command
commands=$("$program" --help | sed -n 's/^  spmv \([a-z-]*\) .*  \([^ ].*\)$/\1 \2/p' | grep -v '#')
[ -n "$commands" ] || { echo "tools/man.sh: $program --help names no command" >&2; exit 1; }
page spmv 'sparse matrix times vector on the host and on OpenCL devices' "$program" || exit 1
printf '%s\n' "$commands" | while read -r name summary; do
    page "spmv-$name" "$summary" "$program $name" || exit 1
done
