#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/report.sh [DIRECTORY NAME [MATRICES]] - writes bench/results/NAME* from the measurements in DIRECTORY, as far as they are there,
# and the documentation's tables (bench/readme.py) and picture (bench/speed.py) from bench/results; without arguments only these.
#   NAME.txt             from the files of bench/peers.sh: head.txt, ours.json, and the peer's rows in cuSPARSE.json or peers.json;
#                        now, if present: as below
#   NAME-papers.txt, pictures and docs/papers.md
#                        from the files of bench/papers.sh, which has more about them
#   NAME-plans.txt, NAME-regret.txt
#                        from clock_*.json (of bench/regret.sh, or other lines of "spmv bench --json --again 4") with
#                        machine.txt: a line that names machine and driver, a line with the date, and what else a reader should know
#                        plans.txt: a sentence about which plans were tried on which matrices
#                        more_*.json, if present: earlier runs, for the table of plans only
#                        measured_*.json, if present: lines of "measure"
#                        told_*.json, if present: of bench/regret.sh with CALLS=1000000, for a second table of NAME-regret.txt
#                        now, if present: "auto" is the plan that the library now chooses by tuning/NAME.tune, not that of the run
# MATRICES holds the matrices as binary files, which shares and choices are computed from.
set -eu
cd "$(dirname "$0")/.."
# a distribution's matplotlib is for its own Python, which another one may precede in PATH
if python3 -c 'import matplotlib' 2>/dev/null; then python=python3; else python=/usr/bin/python3; fi
document() {
    python3 bench/readme.py --write
    $python bench/speed.py
}
case $# in
0)
    document
    exit ;;
2 | 3) from=$1 name=$2 matrices=${3:-} ;;
*)
    echo "usage: bench/report.sh [DIRECTORY NAME [MATRICES]]" >&2
    exit 2 ;;
esac
results=bench/results written=

write() { # write FILE COMMAND...: writes the command's output to the file, if the command succeeds
    file=$1
    shift
    if ! "$@" >"$results/$file.new"; then
        rm -f "$results/$file.new"
        echo "bench/report.sh: $results/$file was not written" >&2
        exit 1
    fi
    mv "$results/$file.new" "$results/$file"
    written="$written $file"
}
needs() { # needs FILE...: fails unless all are in the directory
    for f; do
        if [ ! -e "$from/$f" ]; then
            echo "bench/report.sh: $from/$f is missing" >&2
            exit 1
        fi
    done
}

peers_table() { cat "$from/head.txt" && echo && python3 bench/compare.py "$1" "$ours"; }
head_of() {
    echo "Machine: $(head -n 1 "$from/machine.txt"); $(sed -n 2p "$from/machine.txt"). clspmv_*, poisson2d_* and mesh3d_* are of" \
        "spmv gen, the others real."
    sed 1,2d "$from/machine.txt"
}
how_timed() { # how the products of clock_*.json were timed
    if ! grep -q '"timed": "graph"' "$from"/clock_*.json; then
        echo "By the clock, products in a row"
    elif grep -qv '"timed": "graph"' "$from"/clock_*.json; then
        echo "bench/report.sh: some products of $from/clock_*.json were timed in CUDA graphs, and some were not" >&2
        return 1
    else
        echo "By the clock, products recorded in CUDA graphs (spmv bench --graph)"
    fi
}
plans_table() {
    head_of
    how=$(how_timed) || return 1
    case $how in *graph*) graph=' --graph' ;; *) graph= ;; esac
    echo "$how. Command: spmv bench FILE... --plan P... --again 4$graph --device D --type T --json; python3 bench/plans.py clock_*.json"
    echo "A dash: refused, not reached, or not among the plans tried for that matrix: $(cat "$from/plans.txt")"
    echo
    set -- "$from"/clock_*.json
    for f in "$from"/more_*.json; do
        if [ -e "$f" ]; then set -- "$f" "$@"; fi
    done
    python3 bench/plans.py "$@"
}
table() { # table WHAT HEADING OPTIONS...: prints a heading and the output of bench/WHAT.py
    what=$1
    printf '%s\nCommand: python3 bench/%s.py' "$2" "$what"
    shift 2
    printf ' %s' "$@" | sed "s|${matrices:-MATRICES}|MATRICES|g; s|$from/||g"
    printf ' clock_*.json\n\n'
    python3 "bench/$what.py" "$@" "$from"/clock_*.json && echo
}
regret_tables() {
    head_of
    how=$(how_timed) || return 1
    echo "$how; the plans of $name-plans.txt, the four or five fastest and what was chosen timed again side by side."
    echo
    if [ -e "$from/now" ]; then
        how="auto as the library chooses now, its time looked up among those; cocktail is of the run, prepare that plan without the choice."
        table regret "$how" --table "tuning/$name.tune" --matrices "$matrices" || return 1
    else
        table regret "auto as the run had it." || return 1
    fi
    for f in "$from"/measured_*.json; do
        [ ! -e "$f" ] || table regret "measure, which times the three best by estimate." --chosen "$f" || return 1
    done
    set -- "$from"/told_*.json
    if [ -e "$1" ]; then
        printf '\nauto told to expect 1,000,000 products, in another run.\nCommand: python3 bench/regret.py told_*.json\n\n'
        python3 bench/regret.py "$@" && echo
    fi
}
make -s --no-print-directory build/spmv
for peer in "$from/cuSPARSE.json" "$from/peers.json"; do
    if [ ! -e "$peer" ]; then continue; fi
    needs head.txt ours.json
    ours=$from/ours.json
    if [ -e "$from/now" ]; then
        ours=$from/ours-now.json
        python3 bench/now.py "tuning/$name.tune" "$matrices" "$from/ours.json" >"$ours"
    fi
    write "$name.txt" peers_table "$peer"
done
set -- "$from"/clock_*.json
if [ -e "$1" ]; then
    needs machine.txt plans.txt
    write "$name-plans.txt" plans_table
    write "$name-regret.txt" regret_tables
fi
case "$(cat "$from/machine.txt" 2>/dev/null)" in *bench/papers.sh*)
    $python bench/tables.py "$from" --pictures "$results/$name" --page docs/papers.md >"$results/$name-papers.txt" || exit 1
    written="$written $name-papers.txt" ;;
esac
if [ -z "$written" ]; then
    echo "bench/report.sh: $from has neither clock_*.json nor cuSPARSE.json nor peers.json, nor is it of bench/papers.sh" >&2
    exit 1
fi
echo "written:$written"
document
