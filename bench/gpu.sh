#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/gpu.sh DIRECTORY NAME MATRICES - writes bench/results/NAME.txt (beside cuSPARSE), NAME-plans.txt, NAME-regret.txt and NAME-tables.txt
# from what was measured on a GPU and brought here. In DIRECTORY: machine.txt (a line of name and driver, a line of the date),
# cusparse.json (of the peer's program), events_*.json (spmv bench --events) and clock_*.json (spmv bench). In MATRICES: their binary
# files, for what auto chooses now by tuning/NAME.tune.
set -eu
cd "$(dirname "$0")/.."
from=$1 name=$2 matrices=$3
make -s --no-print-directory build/spmv
machine="Machine: $(head -n 1 "$from/machine.txt"); $(sed -n 2p "$from/machine.txt"). clspmv_*, poisson2d_* and mesh3d_* are of spmv gen, the others real."
{
    echo "$machine"
    echo "Peer: cuSPARSE, the fastest of csr_alg1, csr_alg2, coo_alg1, sell32, bsr2, bsr3, bsr4, bsr6 and bsr8. Both sides by events around"
    echo "one product, warm caches; the two are not the same events: CUDA's are records before and after the call, OpenCL's the kernel's own."
    echo "Command: spmv bench FILE... --plan P... --device 0 --type T --events --json; python3 bench/compare.py cusparse.json events_*.json"
    echo
    python3 bench/compare.py "$from/cusparse.json" "$from"/events_*.json
} >"bench/results/$name.txt"
{
    echo "$machine"
    echo "By the clock, products in a row. Command: spmv bench FILE... --plan P... --device 0 --type T --json; python3 bench/plans.py clock_*.json"
    echo "A dash: refused, not reached, or not among the plans tried for that matrix, which were within 25% of its best of some 40 before."
    echo
    python3 bench/plans.py "$from"/clock_*.json
} >"bench/results/$name-plans.txt"
for what in regret tables; do
    {
        echo "$machine"
        echo "By the clock, products in a row; the plans of $name-plans.txt. auto is"
        echo "what the library chooses now, its time looked up in those: it was not measured again. cocktail and prepare are of the table of then."
        echo "Command: python3 bench/$what.py --table tuning/$name.tune --matrices MATRICES clock_*.json"
        echo
        python3 bench/$what.py --table "tuning/$name.tune" --matrices "$matrices" "$from"/clock_*.json
    } >"bench/results/$name-$what.txt"
done
