#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/petsc.sh [FILE]... - times the PETSc matrix type of examples/petsc beside PETSc's own types, for the five-point grid of
# SIDE x SIDE points and for each file (.mtx or .mtx.gz), and prints the table that bench/results/petsc.txt keeps. Needs the packages of
# "tools/install.sh petsc".
#   SIDE=1024        PROCESSES="1 2"        PRODUCTS=100        STEPS=50 (of the solver)        ROUNDS=3, of which the fastest counts
#   TYPES="aij aijsell aijmkl"              types of PETSc; those that it does not have get no row
#   PLANS="auto csr dia sell:h=256,idx=16"  plans of the diagonal block
#   RUN="chrt -f 5"                         runs every program by this command
set -eu
cd "$(dirname "$0")/.."
. tests/mpi.sh
unset OMPI_MCA_mpi_yield_when_idle
given= # the settings, for the command in the table's head
for name in SIDE PROCESSES PRODUCTS STEPS ROUNDS TYPES PLANS RUN; do
    eval "value=\${$name-}"
    [ -z "$value" ] || given="$given$name=\"$value\" "
done
side=${SIDE:-1024} processes=${PROCESSES:-1 2} products=${PRODUCTS:-100} steps=${STEPS:-50} rounds=${ROUNDS:-3}
types=${TYPES:-aij aijsell aijmkl} plans=${PLANS:-auto csr dia sell:h=256,idx=16}
out=build/bench-petsc
mkdir -p $out
flags=$(pkg-config --cflags --libs PETSc)
# shellcheck disable=SC2086
mpicc -std=c99 -O2 -fPIC -shared -DSPMV_NO_DEVICES -I. examples/petsc/matspmv.c -o $out/libmatspmv.so $flags
# shellcheck disable=SC2086
mpicc -std=c99 -O2 -I. examples/petsc/ex_grid.c -o $out/ex_grid -L$out -lmatspmv '-Wl,-rpath,$ORIGIN' $flags -lm

# time_one PROCESSES OPTION...: prints the fastest product in us, the fastest solution in ms and its number of steps, or nothing if it fails
time_one() {
    n=$1
    shift
    round=0
    while [ $round -lt "$rounds" ]; do
        round=$((round + 1))
        # shellcheck disable=SC2086
        ${RUN:-} mpirun -n "$n" $out/ex_grid "$@" -products "$products" -ksp_type cg -pc_type jacobi -ksp_rtol 1e-30 -ksp_max_it "$steps" \
            >$out/said 2>&1 || return 0
        sed -n 's/^.*: \([0-9.]*\) us a product$/product \1/p; s/^\([0-9]*\) iterations, .*, \([0-9.]*\) ms$/solution \2 \1/p' $out/said
    done | awk '
        $1 == "product" && (!p || $2 < p) { p = $2 }
        $1 == "solution" && (!s || $2 < s) { s = $2; k = $3 }
        END { if (p && s) print p, s, k }'
}

table() { # table NAME OPTION...: the rows of one matrix
    name=$1
    shift
    for n in $processes; do
        first=
        for type in $types spmv; do
            for plan in $(if [ "$type" = spmv ]; then echo "$plans"; else echo -; fi); do
                set -- "$@" -mat_type "$type"
                if [ "$plan" = - ]; then row=$type; else row="spmv $plan"; set -- "$@" -spmv_plan "$plan"; fi
                time_one "$n" "$@" >$out/row
                [ -s $out/row ] || continue
                read -r product solution count <$out/row
                [ "$first" ] || first=$product
                printf '%-22s %4s  %-26s %10s %8s %12s %6s\n' "$name" "$n" "$row" "$product" \
                    "$(awk -v a="$first" -v b="$product" 'BEGIN { printf "%.2f", a / b }')" "$solution" "$count"
            done
        done
        [ "$first" ] || { echo "petsc.sh: no type multiplied $name: $(tail -n 1 $out/said)" >&2; exit 1; }
    done
}

file_table() { # file_table FILE: the rows of a file's matrix, which PETSc reads only if it is not compressed
    name=$(basename "${1%.gz}" .mtx)
    case $1 in
    *.gz) gzip -dc "$1" >$out/"$name".mtx && table "$name" -f $out/"$name".mtx && rm $out/"$name".mtx ;;
    *) table "$name" -f "$1" ;;
    esac
}

echo "Machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(getconf _NPROCESSORS_ONLN) cores; $(date -u +%Y-%m-%d)"
echo "PETSc $(pkg-config --modversion PETSc) of Debian (-O2), $(mpirun --version | head -n 1);" \
    "ours compiled by $(mpicc --version | head -n 1) -O2"
echo "Command: ${given}sh bench/petsc.sh$([ $# = 0 ] || echo ' FILE...')"
echo "Products in a row by the wall clock, preparation not included; solution: so many steps of conjugate gradients with Jacobi."
echo "Of $rounds rounds the fastest counts. The types above spmv are PETSc's own; ratio: the time of the first over that of the row."
echo
printf '%-22s %4s  %-26s %10s %8s %12s %6s\n' matrix proc type us/product ratio 'solution ms' steps
table "grid_$side" -m "$side" -n "$side"
for file; do file_table "$file"; done
