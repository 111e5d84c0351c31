#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/regret.sh DEVICE TYPE FILE... - what "auto" costs against the best that search finds: times auto, cocktail, the builders, every
# plan of bench/singles.sh and some of two parts in one run, the four fastest and what was chosen once more side by side, and prints the
# table of bench/regret.py. JSON stays in build/regret. SPMV: the program (build/spmv). SINGLES=short: fewer plans. Exit status 0 if every
# product was right.
set -eu
cd "$(dirname "$0")/.."
device=$1 type=$2
shift 2
spmv=${SPMV:-build/spmv}
mkdir -p build/regret
case $device in host) class=host ;; *[!0-9]*) class=gpu ;; *) class=${CLASS:-cpu} ;; esac
set -- "$@" --plan auto --plan cocktail --plan hyb --plan hyb-csr --plan hybr
for p in $(sh bench/singles.sh $class ${SINGLES:-}); do set -- "$@" --plan "$p"; done
widths='2 3 4 6 8 12 16 24 32' shares='0.3 0.6'
if [ "${SINGLES:-}" ]; then widths='2 4 8 16' shares=0.6; fi
for w in $widths; do set -- "$@" --plan "sell:w=$w+csr:rows=nonempty,run=1024"; done
for d in $shares; do
    set -- "$@" --plan "dia:d=$d+csr:run=1024" --plan "dia:d=$d+sell" --plan "sbell:b=3x3,d=$d+csr:run=1024" --plan "sbell:d=$d+csr:run=1024" --plan "bcsr:d=$d+csr:run=1024"
done
out=build/regret/$(echo "$device" | tr -c 'a-zA-Z0-9\n' _).$type.json
"$spmv" bench "$@" --again 4 --device "$device" --type "$type" --json >"$out" 2>"$out.err" || true
python3 bench/regret.py "$out"
