#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/candidates.sh host|cpu|gpu peers|short|all - prints the plans that the benchmarks try on a device of that class, one a line.
#   all     for bench/regret.sh: every format with the block sizes, heights, runs and narrow columns worth trying, on devices the knobs
#           that ever were the fastest, builders, and divisions into two parts
#   short   fewer of each
#   peers   for bench/peers.sh: the few that were the fastest somewhere
# "auto" and "csr", which the reports compare with, are always among them.
set -eu
usage() {
    echo "usage: bench/candidates.sh host|cpu|gpu peers|short|all" >&2
    exit 2
}
class=${1-} set=${2-}
case $class in host | cpu | gpu) ;; *) usage ;; esac

knobs=
case $set-$class in
all-gpu | short-gpu)
    knobs='csr/L=2 csr/L=4 csr/L=8 csr/L=16 csr/L=32 csr:run=1024/NT=0 csr:run=2048/UNROLL=8 ell/UNROLL=4 ell:idx=16/UNROLL=4
        sell/UNROLL=4 sell/V=4 sell:idx=16/UNROLL=2 sell:idx=16/UNROLL=4 sell:idx=16/UNROLL=8,NT=1 sell:idx=16/UNROLL=4,WG=64
        sell:h=128/SLICE=1 dia/V=4 dia/UNROLL=4 bdia/STAGE=0 sbell:b=3x3,idx=16/WG=64 bcsr:b=3x3,idx=16/L=8 cmrs/ALIGN=1' ;;
all-cpu | short-cpu)
    knobs='csr/WG=16 csr:run=1024/WG=64 ell/V=16 sell/V=16 sell/V=4 dia/V=8 bdia/STAGE=0 bell:b=4x4/V=4 coo/PER=63' ;;
esac

case $set in
peers)
    if [ "$class" = gpu ]; then
        echo auto csr csr:run=1024 csr:run=2048 csr:run=1024,idx=16 tcsr tcsr:tile=2048 sell sell:idx=16 bcsr:b=3x3,idx=16 dia
    else
        echo auto csr csr:run=1024,idx=16 ell sell sell:idx=16 sell:h=8 bcsr:b=3x3 sbell:b=3x3 dia cmrs
    fi | tr ' ' '\n'
    exit 0 ;;
short)
    layouts='dense coo csr csr:run=1024 csr:run=1024,idx=16 dia bdia ell ell:idx=16 sell sell:h=8 sell:h=256 sell:idx=16
        sell:rows=sorted,sigma=512 cmrs cmrs:h=16 tcsr'
    blocks='2x2 3x3 6x6 4x4' narrow=3x3 widths='2 4 8 16' shares=0.6 ;;
all)
    layouts='dense coo csr csr:run=256 csr:run=1024 csr:run=4096 csr:run=1024,idx=16 dia bdia ell ell:idx=16 sell sell:h=8 sell:h=256
        sell:idx=16 sell:rows=sorted sell:rows=sorted,sigma=512 sell:idx=16,rows=sorted,sigma=512 cmrs cmrs:h=1 cmrs:h=16
        tcsr tcsr:tile=2048'
    blocks='2x2 3x3 6x6 1x4 2x4 4x4 8x4 1x8 4x8 8x8' narrow='2x2 3x3 6x6 4x4' widths='2 3 4 6 8 12 16 24 32' shares='0.3 0.6' ;;
*) usage ;;
esac

for p in auto cocktail hyb hyb-csr hybr $layouts; do echo "$p"; done
for b in $blocks; do
    for f in bell sbell bcsr; do echo "$f:b=$b"; done
done
for b in $narrow; do
    for f in sbell bcsr; do echo "$f:b=$b,idx=16"; done
done
for p in $knobs; do echo "$p"; done
for w in $widths; do echo "sell:w=$w+csr:rows=nonempty,run=1024"; done
for d in $shares; do
    echo "dia:d=$d+csr:run=1024"
    echo "dia:d=$d+sell"
    for f in sbell:b=3x3,d sbell:d bcsr:d; do echo "$f=$d+csr:run=1024"; done
done
