#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/candidates.sh host|cpu|gpu peers|short|all - prints the plans that the benchmarks try on a device of that class, one per line.
#   all     for bench/regret.sh: every layout and builder that "spmv plan --list" names, plans of two parts, some more layouts and,
#           on devices, the knobs that were the fastest in some measurement
#   short   every format and builder, and fewer of the others
#   peers   for bench/peers.sh: the few that were the fastest in some measurement
# "auto" and "csr", which the reports compare with, are always among them. SPMV is the program that lists the plans (build/spmv).
set -eu
spmv=${SPMV:-$(dirname "$0")/../build/spmv}
usage() {
    echo "usage: bench/candidates.sh host|cpu|gpu peers|short|all" >&2
    exit 2
}
class=${1-} set=${2-}
case $class in host | cpu | gpu) ;; *) usage ;; esac
names() { # names SORT [PROPERTY]: the names of that sort that the program lists, with PROPERTY only those that have it
    "$spmv" plan --list | awk -v sort="$1" -v property="${2-}" '
        $1 == sort && (property == "" || index($0 " ", " " property " ")) { print $2 }'
}

knobs=
case $set-$class in
all-gpu | short-gpu)
    knobs='csr/L=2 csr/L=4 csr/L=8 csr/L=16 csr/L=32 csr:run=1024/NT=0 csr:run=2048/UNROLL=4 ell/UNROLL=4 ell:idx=16/UNROLL=4
        sell/UNROLL=4 sell/V=4 sell:idx=16/UNROLL=2 sell:idx=16/UNROLL=4 sell:idx=16/UNROLL=8,NT=1 sell:idx=16/UNROLL=4,WG=64
        dia/V=4 dia/UNROLL=4 bdia/STAGE=0 sbell:b=3x3,idx=16/WG=64 bcsr:b=3x3,idx=16/L=8 cmrs/ALIGN=1' ;;
all-cpu | short-cpu)
    knobs='csr/WG=16 csr:run=1024/WG=64 ell/V=16 sell/V=16 sell/V=4 dia/V=8 bdia/STAGE=0 bell:b=4x4/V=4 coo/PER=63' ;;
esac

case $set in
peers)
    if [ "$class" = gpu ]; then
        echo auto csr csr:run=2048 tcsr tcsr:tile=2048 tcsr:idx=16 sell sell:idx=16 bcsr:b=3x3,idx=16 dia
    else
        echo auto csr csr:run=1024,idx=16 csr:rows=sorted,sigma=256 ell sell sell:h=64 sell:idx=16 sell:h=8 bcsr:b=3x3 sbell:b=3x3 dia cmrs
    fi | tr ' ' '\n'
    exit 0 ;;
short)
    layouts="$(names format) csr:run=1024 csr:run=1024,idx=16 ell:idx=16 sell:h=8 sell:h=256 sell:idx=16 sell:rows=sorted,sigma=512"
    layouts="$layouts cmrs:h=16 tcsr:idx=16"
    for f in $(names format blocks); do layouts="$layouts $f:b=2x2 $f:b=3x3 $f:b=6x6 $f:b=3x3,idx=16"; done
    widths='2 4 8 16' shares=0.6 ;;
all)
    layouts="$(names layout) sell:rows=sorted sell:rows=sorted,sigma=512 sell:idx=16,rows=sorted,sigma=512 cmrs:h=1"
    widths='2 3 4 6 8 12 16 24 32' shares='0.3 0.6' ;;
*) usage ;;
esac

for p in $(names choice) $(names builder) $layouts $knobs; do echo "$p"; done | awk '!seen[$0]++'
for w in $widths; do echo "sell:w=$w+csr:rows=nonempty,run=1024"; done
for d in $shares; do
    echo "dia:d=$d+csr:run=1024"
    echo "dia:d=$d+sell"
    for f in sbell:b=3x3,d sbell:d bcsr:d; do echo "$f=$d+csr:run=1024"; done
done
