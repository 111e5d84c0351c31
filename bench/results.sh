#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/results.sh DIRECTORY NAME MATRICES - writes NAME-plans.txt, NAME-regret.txt and NAME-tables.txt of bench/results, and for GPUs
# NAME.txt (beside cuSPARSE), from what was measured and brought to DIRECTORY: machine.txt (a line that names machine and driver, a line with the
# date, and what else a reader should know), clock_*.json (spmv bench --json), and for GPUs cusparse.json (of the peer's program) and
# events_*.json (spmv bench --events). In MATRICES: the matrices' binary files.
set -eu
cd "$(dirname "$0")/.."
from=$1 name=$2 matrices=$3
make -s --no-print-directory build/spmv
head_of() {
    echo "Machine: $(head -n 1 "$from/machine.txt"); $(sed -n 2p "$from/machine.txt"). clspmv_*, poisson2d_* and mesh3d_* are of spmv gen, the others real."
    sed 1,2d "$from/machine.txt"
}
if [ -e "$from/cusparse.json" ]; then
    {
        head_of
        echo "Peer: cuSPARSE, the fastest of csr_alg1, csr_alg2, coo_alg1, sell32, bsr2, bsr3, bsr4, bsr6 and bsr8. Both sides by events around"
        echo "one product, warm caches; the two are not the same events: CUDA's are records before and after the call, OpenCL's the kernel's own."
        echo "Command: spmv bench FILE... --plan P... --device 0 --type T --events --json; python3 bench/compare.py cusparse.json events_*.json"
        echo
        python3 bench/compare.py "$from/cusparse.json" "$from"/events_*.json
    } >"bench/results/$name.txt"
fi
{
    head_of
    echo "By the clock, products in a row. Command: spmv bench FILE... --plan P... --device D --type T --json; python3 bench/plans.py clock_*.json"
    echo "A dash: refused, not reached, or not among the plans tried for that matrix: $(cat "$from/plans.txt")"
    echo
    python3 bench/plans.py "$from"/clock_*.json
} >"bench/results/$name-plans.txt"
# What the run's own choice was is told by "auto" in it; a file "again" asks what the library would choose now instead.
for what in regret tables; do
    set -- python3 bench/$what.py --matrices "$matrices"
    if [ -e "$from/again" ]; then set -- "$@" --table "tuning/$name.tune"; fi
    {
        head_of
        echo "By the clock, products in a row; the plans of $name-plans.txt."
        if [ -e "$from/again" ]; then
            echo "auto is what the library chooses now, its time looked up in those: it was not measured again, and ? is what was not tried."
            echo "cocktail and prepare are of the table of then."
        fi
        echo "Command: $(echo "$*" | sed "s|$matrices|MATRICES|") clock_*.json"
        echo
        "$@" "$from"/clock_*.json
    } >"bench/results/$name-$what.txt"
done
