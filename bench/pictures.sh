#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/pictures.sh [-p PLAN] [-o DIRECTORY] [FILE...] - draws pictures as PNG: each matrix under PLAN (default: cocktail) and its row
# lengths. Without FILE the six irregular matrices of clSpMV's Table 2 are generated. A FILE that ends in .json has lines of "spmv bench
# --json", which are drawn as bars. DIRECTORY is build/pictures by default.
set -u
spmv=$(dirname "$0")/../build/spmv
plan=cocktail
out=build/pictures
while getopts p:o: option; do
    case $option in
    p) plan=$OPTARG ;;
    o) out=$OPTARG ;;
    *) echo "usage: bench/pictures.sh [-p PLAN] [-o DIRECTORY] [FILE...]" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
mkdir -p "$out" || exit 1
rc=0
picture() { # picture NAME ARGUMENTS...
    name=$1
    shift
    if "$spmv" plot "$@" -o "$out/$name.png"; then echo "$out/$name.png"; else rc=1; fi
}
matrix() { # matrix FILE NAME
    picture "$2" "$1" --plan "$plan"
    picture "$2-rows" rows "$1"
}
for f; do
    case $f in
    *.json) picture "$(basename "$f" .json)" bench "$f" ;;
    *) matrix "$f" "$(basename "$f" | sed 's/\.gz$//; s/\.[a-z]*$//')" ;;
    esac
done
if [ $# = 0 ]; then
    for m in circuit5m eu-2005 ga41as41h72 in-2004 mip1 si41ge41h72; do
        "$spmv" gen clspmv_$m -o "$out/clspmv_$m.bin" || { rc=1; continue; }
        matrix "$out/clspmv_$m.bin" clspmv_$m
        rm -f "$out/clspmv_$m.bin"
    done
fi
exit $rc
