#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/regret.sh DEVICE TYPE FILE... - measures how much slower the choice is than the best plan that a search finds: times all plans of
# bench/candidates.sh in one run, then the four fastest and the chosen ones again side by side, and prints the table of bench/regret.py.
# The rows stay in build/regret. DEVICE is what "spmv --device" takes; a number counts as a CPU unless CLASS=gpu.
# If DEVICE is cuda:N, products are recorded in graphs.
# Variables, with their defaults: SET, the set of bench/candidates.sh (all); CALLS, the products that "auto" is told to expect (1000); SPMV,
# the program (build/spmv). The exit status is 0 if every product was right.
set -eu
if [ $# -lt 3 ]; then
    echo "usage: bench/regret.sh DEVICE TYPE FILE..." >&2
    exit 2
fi
cd "$(dirname "$0")/.."
device=$1 type=$2
shift 2
case $device in host) class=host ;; *[!0-9]*) class=gpu ;; *) class=${CLASS:-cpu} ;; esac
if [ -z "${SPMV:-}" ]; then
    make -s --no-print-directory build/spmv
    SPMV=build/spmv
fi
for p in $(sh bench/candidates.sh $class "${SET:-all}"); do set -- "$@" --plan "$p"; done
case $device in cuda:*) set -- "$@" --graph ;; esac # by calls, short products take as long as the host's launches
mkdir -p build/regret
out=build/regret/clock_$(echo "$device" | tr -c 'a-zA-Z0-9\n' _).$type.json
# a plan that is refused makes this fail, but has its row, too
"$SPMV" bench "$@" --again 4 --calls "${CALLS:-1000}" --device "$device" --type "$type" --json >"$out" 2>"$out.err" || true
python3 bench/regret.py "$out"
