#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/example.sh examples/NAME.c - compiles the example by the cc line in its first comment, runs it, and checks that it prints each
# text that the comment gives after "Prints:".
set -u
cd "$(dirname "$0")/.." || exit 1
root=$(pwd)
source=$1
name=$(basename "$source" .c)
head=$(awk '{ print } /\*\// { exit }' "$source")
line=$(echo "$head" | sed -n 's/^ \* *\(cc .*\)$/\1/p')
[ "$(echo "$line" | grep -c '^cc ')" = 1 ] || { echo "$source: the first comment must have one cc line"; exit 1; }
# exactly that line, in a directory that looks like the project's
dir=build/examples/$name
rm -rf "$dir"
mkdir -p "$dir" || exit 1
ln -s "$root"/spmv*.h "$root/examples" "$dir"/ || exit 1
cd "$dir" || exit 1
echo "\$ $line"
sh -c "$line" || exit 1
echo "\$ ./$name"
"./$name" >output 2>&1
rc=$?
cat output
[ $rc = 0 ] || { echo "exit status $rc"; exit 1; }
echo "$head" | sed -n 's/^ \* *Prints: *//p' >promised
[ -s promised ] || { echo "$source: the first comment must have a line \"Prints: ...\""; exit 1; }
while IFS= read -r text; do
    grep -qF -- "$text" output || { echo "not printed: $text"; exit 1; }
done <promised
