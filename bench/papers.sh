#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/papers.sh DEVICE TYPE DIRECTORY [MATRIX...] - measures what the tables of clSpMV (2 to 4), HYB-R (V and VI) and CMRS (2) compare:
# generates each MATRIX by "spmv gen", which needs no files, and times the plans of "bench/candidates.sh CLASS paper". Without MATRIX it
# takes those of the three papers that have at most 12 million nonzeros. The matrices stay in DIRECTORY, and so do
#   papers_DEVICE.TYPE.json   lines of "spmv bench --json", from which bench/tables.py makes the tables
#   machine.txt               the machine, the date and this command, for bench/report.sh
# DEVICE is what "spmv --device" takes; a number counts as a CPU unless CLASS=gpu. Variables, with their defaults: SPMV, the program
# (build/spmv); TABLE, the tuning table for auto and cocktail (the bundled one); RUN, what precedes the program, such as "timeout 9" or
# "chrt -f 5" (nothing). A matrix whose run fails or ends early keeps the rows that it has.
set -eu
if [ $# -lt 3 ]; then
    echo "usage: bench/papers.sh DEVICE TYPE DIRECTORY [MATRIX...]" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
command="${RUN:+RUN=\"$RUN\" }${TABLE:+TABLE=$TABLE }bench/papers.sh $*"
device=$1 type=$2 out=$3
shift 3
case $device in host) class=host ;; *[!0-9]*) class=gpu ;; *) class=${CLASS:-cpu} ;; esac
if [ -z "${SPMV:-}" ]; then
    make -s --no-print-directory build/spmv
    SPMV=build/spmv
fi
export SPMV
clspmv='dense protein spheres cantilever wind_tunnel harbor qcd ship economics epidemiology accelerator circuit webbase lp mip1'
if [ $# = 0 ]; then # those that another paper lists before have the same recipe
    for m in $clspmv; do set -- "$@" clspmv_$m; done
    set -- "$@" hybr_harbor hybr_ship koza_p7 koza_lp1 koza_aorta koza_raefsky3 koza_chebyshev4
fi
mkdir -p "$out"
json=$out/papers_$(echo "$device" | tr -c 'a-zA-Z0-9\n' _).$type.json
cores=$(getconf _NPROCESSORS_ONLN)
if [ "$device" = host ]; then
    name="host, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), ${OMP_NUM_THREADS:-$cores} of $cores cores"
else name="device $device, on a machine with $cores cores"; fi
printf '%s\n%s\nCommand: %s\n' "$name" "$(date -u '+%Y-%m-%d %H:%M UTC')" "$command" >"$out/machine.txt"
plans=
for p in $(sh bench/candidates.sh $class paper); do plans="$plans --plan $p"; done
rm -f "$json" "$json.err"
for m; do
    file=$out/$m.bin
    if [ ! -e "$file" ] && ! "$SPMV" gen "$m" -o "$file"; then
        rm -f "$file"
        continue
    fi
    # a plan that is refused makes this fail, but has its row, too
    ${RUN:-} "$SPMV" bench "$file" $plans --again 4 ${TABLE:+--table "$TABLE"} --device "$device" --type "$type" --json \
        >>"$json" 2>>"$json.err" || true
done
echo "$json: $(wc -l <"$json") rows"
