#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/example.sh examples/NAME.c - compiles the example by the cc line in its first comment, runs it, and checks that it prints each
# text that the comment gives after "Prints:". "Also run: ARGUMENT" there runs it once more with that. An example with an mpicc line runs
# on 1, 2 and 3 processes; without MPI it is skipped.
# Only examples/opencl.c is compiled by exactly that line. Two options follow it for the others, whose compilation would otherwise take
# five times as long: they leave out what they have in common, the optimised vector products of the host.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/mpi.sh
root=$(pwd)
source=$1
name=$(basename "$source" .c)
head=$(awk '{ print } /\*\// { exit }' "$source")
line=$(echo "$head" | sed -n 's/^ \* *\(\(mpi\)\{0,1\}cc .*\)$/\1/p')
[ "$(echo "$line" | grep -c 'cc ')" = 1 ] || { echo "$source: the first comment must have one cc or mpicc line"; exit 1; }
case $line in
mpicc*)
    if mpi_missing; then echo "skipped"; exit 0; fi
    runs='1 2 3' ;;
*) runs="alone $(echo "$head" | sed -n 's/^ \* *Also run: *//p')" ;;
esac
faster='cc() { command cc "$@" -O0 -DSPMV_NO_SIMD; }; mpicc() { command mpicc "$@" -O0 -DSPMV_NO_SIMD; };'
[ "$name" != opencl ] || faster=
# that line, in a directory that looks like the project's
dir=build/examples/$name
rm -rf "$dir"
mkdir -p "$dir" || exit 1
ln -s "$root"/spmv*.h "$root/spmv" "$root/examples" "$dir"/ || exit 1
cd "$dir" || exit 1
echo "\$ $line"
sh -c "$faster $line" || exit 1
echo "$head" | sed -n 's/ *\*\/$//; s/^ \* *Prints: *//p' >promised
[ -s promised ] || { echo "$source: the first comment must have a line \"Prints: ...\""; exit 1; }
for run in $runs; do
    case $line,$run in
    *,alone) set -- "./$name" ;;
    mpicc*) set -- mpi_on "$run" "./$name" ;;
    *) set -- "./$name" "$run" ;;
    esac
    echo "\$ $*"
    "$@" >output 2>&1
    rc=$?
    cat output
    [ $rc = 0 ] || { echo "exit status $rc"; exit 1; }
    while IFS= read -r text; do
        grep -qF -- "$text" output || { echo "not printed: $text"; exit 1; }
    done <promised
done
