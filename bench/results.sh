#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/results.sh DIRECTORY NAME MATRICES - writes NAME-plans.txt, NAME-regret.txt and NAME-tables.txt of bench/results from what was
# measured and brought to DIRECTORY: machine.txt (a line that names machine and driver, a line with the date, and what else a reader
# should know), clock_*.json (spmv bench --json) and more_*.json (earlier runs, for the plans alone). In MATRICES: the matrices' binary files.
set -eu
cd "$(dirname "$0")/.."
from=$1 name=$2 matrices=$3
make -s --no-print-directory build/spmv
head_of() {
    echo "Machine: $(head -n 1 "$from/machine.txt"); $(sed -n 2p "$from/machine.txt"). clspmv_*, poisson2d_* and mesh3d_* are of spmv gen, the others real."
    sed 1,2d "$from/machine.txt"
}
{
    head_of
    echo "By the clock, products in a row. Command: spmv bench FILE... --plan P... --again 4 --device D --type T --json; python3 bench/plans.py clock_*.json"
    echo "A dash: refused, not reached, or not among the plans tried for that matrix: $(cat "$from/plans.txt")"
    echo
    set -- "$from"/clock_*.json
    for f in "$from"/more_*.json; do
        if [ -e "$f" ]; then set -- "$f" "$@"; fi
    done
    python3 bench/plans.py "$@"
} >"bench/results/$name-plans.txt"
table() { # table WHAT HEADING OPTIONS...
    what=$1
    printf '%s\nCommand: python3 bench/%s.py' "$2" "$what"
    shift 2
    printf ' %s' "$@" | sed "s|$matrices|MATRICES|g; s|$from/||g"
    printf ' clock_*.json\n\n'
    python3 "bench/$what.py" "$@" "$from"/clock_*.json
    echo
}
# What a run's own choice was is told by "auto" in it; a file "now" asks what the library would choose now instead, and refined_*.json has
# lines of "auto" under --refine.
{
    head_of
    echo "By the clock, products in a row; the plans of $name-plans.txt, the four or five fastest and what was chosen timed again side by side."
    echo
    if [ -e "$from/now" ]; then
        table regret "auto as the library chooses now, its time looked up among those; cocktail is of the run, prepare that plan without the choice." \
            --table "tuning/$name.tune" --matrices "$matrices"
    else
        table regret "auto as the run had it."
    fi
    for f in "$from"/refined_*.json; do
        if [ -e "$f" ]; then table regret "auto under --refine 4, which times the four best by estimate." --chosen "$f"; fi
    done
} >"bench/results/$name-regret.txt"
{
    head_of
    echo "By the clock, products in a row; the plans of $name-plans.txt."
    echo
    if [ -e "$from/now" ]; then
        table tables "auto as the library chooses now." --table "tuning/$name.tune" --matrices "$matrices"
    else
        table tables "auto as the run had it." --matrices "$matrices"
    fi
} >"bench/results/$name-tables.txt"
