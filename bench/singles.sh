#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/singles.sh host|cpu|gpu [short] - the plans of one part that bench/regret.sh tries on a device of that class, one a line: every
# format, the block sizes, heights, runs and narrow columns, and on devices the knobs that were ever seen to win. short: fewer of each.
set -eu
class=${1:?host, cpu or gpu}
short=${2:-}
layouts='dense coo csr csr:run=256 csr:run=1024 csr:run=4096 csr:run=1024,idx=16 dia bdia ell ell:idx=16 sell sell:h=8 sell:h=256
sell:idx=16 sell:rows=sorted sell:rows=sorted,sigma=512 sell:idx=16,rows=sorted,sigma=512 cmrs cmrs:h=1 cmrs:h=16'
sizes='2x2 3x3 6x6 1x4 2x4 4x4 8x4 1x8 4x8 8x8' narrow='2x2 3x3 6x6 4x4'
if [ "$short" ]; then
    layouts='dense coo csr csr:run=1024 csr:run=1024,idx=16 dia bdia ell ell:idx=16 sell sell:h=8 sell:h=256 sell:idx=16
sell:rows=sorted,sigma=512 cmrs cmrs:h=16'
    sizes='2x2 3x3 6x6 4x4' narrow=3x3
fi
for b in $sizes; do
    layouts="$layouts bell:b=$b sbell:b=$b bcsr:b=$b"
done
for b in $narrow; do layouts="$layouts sbell:b=$b,idx=16 bcsr:b=$b,idx=16"; done
knobs=
[ "$class" = gpu ] && knobs='csr/L=2 csr/L=4 csr/L=8 csr/L=16 csr/L=32 csr:run=1024/NT=0 csr:run=2048/UNROLL=8 ell/UNROLL=4 ell:idx=16/UNROLL=4
sell/UNROLL=4 sell/V=4 sell:idx=16/UNROLL=2 sell:idx=16/UNROLL=4 sell:idx=16/UNROLL=8,NT=1 sell:idx=16/UNROLL=4,WG=64 sell:h=128/SLICE=1
dia/V=4 dia/UNROLL=4 bdia/STAGE=0 sbell:b=3x3,idx=16/WG=64 bcsr:b=3x3,idx=16/L=8 cmrs/ALIGN=1'
[ "$class" = cpu ] && knobs='csr/WG=16 csr:run=1024/WG=64 ell/V=16 sell/V=16 sell/V=4 dia/V=8 bdia/STAGE=0 bell:b=4x4/V=4 coo/PER=63'
for p in $layouts $knobs; do echo "$p"; done
