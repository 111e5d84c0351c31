#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/petsc.sh - tests the PETSc matrix type of examples/petsc on 1, 2 and 4 processes: builds it and its program by the command lines
# in its README, and compares it with AIJ. Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/mpi.sh
root=$(pwd)
dir=build/petsc
passed=0 failed=0
verdict() { # verdict WHAT STATUS
    if [ "$2" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL $1"; fi
}
finish() { echo "$passed passed, $failed failed"; [ "$failed" = 0 ]; exit $?; }
rm -rf $dir
mkdir -p $dir || exit 1

# ---- build ----
# The lines of the README, in a directory that looks like the project's; strict warnings, and neither optimised nor vector code, which
# others test and which takes long to compile.
ln -s "$root"/spmv*.h "$root/spmv" "$root/examples" $dir/ || exit 1
lines=$(sed -n 's/^    \(mpicc .*\)$/\1/p' examples/petsc/README.md)
[ "$(echo "$lines" | wc -l)" = 2 ]
verdict "README.md has two lines that compile" $?
cd $dir || exit 1
quick="-O0 -DSPMV_NO_SIMD -D_POSIX_C_SOURCE=200809L -pedantic -Wall -Wextra -Wshadow -Werror"
while IFS= read -r line; do
    sh -c "$(echo "$line" | sed "s/ -O2 / $quick /")"
    verdict "$line" $?
done <<LINES
$lines
LINES
flags=$(pkg-config --cflags --libs PETSc)
# shellcheck disable=SC2086
mpicc -std=c99 $quick "$root/tests/petsc.c" -o types -Iexamples/petsc -L. -lmatspmv '-Wl,-rpath,$ORIGIN' $flags
verdict "tests/petsc.c compiles" $?
[ $failed = 0 ] || finish

# ---- every operation, for matrices of many shapes ----
leaks() { grep -E '^ *\[[0-9]+\] *[0-9]+ bytes|PetscMallocDump|still allocated' "$1"; } # of -malloc_dump
types() { # types PROCESSES OPTION...
    n=$1
    shift
    mpi_on "$n" ./types -malloc_dump "$@" >types.out 2>&1
    rc=$?
    if leaks types.out; then rc=1; fi
    if [ $rc != 0 ]; then tail -n 20 types.out; fi
    line=$(grep '^[0-9]* passed, [0-9]* failed$' types.out)
    [ $rc = 0 ] && passed=$((passed + $(echo "${line:-0}" | sed 's/ passed.*//')))
    verdict "types on $n processes $*" $rc
}
types 1
types 2
types 4
mpi_on 2 ./types -info >out 2>&1
[ "$(grep -c 'spmv: prepared .* with its transpose' out)" -ge 8 ]
verdict "products with the transpose are the library's" $?
types 2 -spmv_plan 'sell:h=4,rows=sorted+csr' -spmv_off_plan coo
types 2 -spmv_plan dense -spmv_off_plan csr:rows=nonempty

# ---- solvers: the numbers of iterations and the errors of AIJ ----
solve() { # solve PROCESSES OPTION...: prints "iterations error" for every system
    n=$1
    shift
    mpi_on "$n" ./ex_grid -m 30 -n 20 -systems 4 -malloc_dump "$@" >out 2>&1 || tail -n 5 out
    sed -n 's/^\([0-9]*\) iterations, relative error \([^,]*\),.*/\1 \2/p' out
}
for n in 1 2 4; do
    for how in '-ksp_type cg -pc_type jacobi' '-ksp_type gmres -pc_type bjacobi -sub_pc_type ilu'; do
        # shellcheck disable=SC2086
        solve $n $how -mat_type aij -ksp_rtol 1e-10 >aij
        # shellcheck disable=SC2086
        solve $n $how -mat_type spmv -ksp_rtol 1e-10 >ours
        if leaks out; then rc=1; else rc=0; fi
        verdict "no memory is left, $n processes, $how" $rc
        paste -d ' ' aij ours | awk '
            { near = $1 - $3; if (near < -1 || near > 1 || $2 > 1e-8 || $4 > 1e-8) bad = 1 }
            END { exit bad || NR != 4 }'
        verdict "solutions as by aij, $n processes, $how: $(cat aij) | $(cat ours)" $?
    done
done

# the first change of the values makes the matrices updatable, the others update them; only a new pattern prepares them again
mpi_on 2 ./ex_grid -m 30 -n 20 -systems 5 -mat_type spmv -pc_type jacobi -info >out 2>&1
prepared=$(grep -c 'spmv: prepared' out) updated=$(grep -c 'spmv: took over new values' out)
[ "$prepared" = 8 ] && [ "$updated" = 12 ]
verdict "prepared $prepared and updated $updated times for five systems on two processes with two blocks each" $?

# ---- what is printed ----
mpi_on 2 ./ex_grid -m 30 -n 20 -mat_type spmv -ksp_view -spmv_plan dia -spmv_off_plan coo >out 2>&1
grep -q 'spmv: diagonal block of the first process stored as dia' out && grep -q 'off-diagonal block of the first process stored as coo' out
verdict "-ksp_view prints the plans" $?
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 2\n2 2 3\n3 3 4\n3 1 1\n' >small.mtx
mpi_on 2 ./ex_grid -f small.mtx -mat_type spmv -products 3 >out 2>&1 && grep -q '^mpiaijspmv: .* us a product' out && grep -q iterations out
verdict "a matrix from a file" $?

# ---- errors ----
refused() { # refused TEXT OPTION...: the program fails, and PETSc's error contains the text
    text=$1
    shift
    ./ex_grid -mat_type spmv "$@" >out 2>&1
    [ $? != 0 ] && grep -qF -- "PETSC ERROR: $text" out
    rc=$?
    if [ $rc != 0 ]; then head -n 5 out; fi
    verdict "the error \"$text\"" $rc
}
refused '-spmv_plan nonsense: plan "nonsense", column 1' -spmv_plan nonsense
refused '-spmv_plan csr+: plan "csr+", column 5' -spmv_plan csr+
refused '-spmv_plan ell:w=1: plan "ell:w=1" leaves' -spmv_plan ell:w=1
refused '-spmv_device 0: matspmv.c was compiled for the host alone' -spmv_device 0
refused '-spmv_device "," names no device' -spmv_device ,
refused '-spmv_calls -1 is negative' -spmv_calls -1

# ---- programs that know nothing of the type ----
tutorials=$(find /usr/share/petsc -type d -path '*/ksp/ksp/tutorials' 2>/dev/null | head -n 1)
if [ "$tutorials" ]; then
    for e in ex2 ex5; do
        # shellcheck disable=SC2086
        mpicc -O0 "$tutorials/$e.c" -o $e $flags
        verdict "$e compiles" $?
        mpi_on 2 ./$e -mat_type aij >aij 2>&1
        mpi_on 2 ./$e -dll_append "$(pwd)/libmatspmv.so" -mat_type spmv -malloc_dump >ours 2>&1
        grep -qi iterations ours && ! grep -q ERROR ours && [ "$(grep -io 'iterations.*' aij)" = "$(grep -io 'iterations.*' ours)" ]
        verdict "PETSc's $e with -dll_append: $(cat ours)" $?
    done
else
    echo "PETSc's tutorials are not installed (Debian: libpetsc3.18-dev-examples)"
fi
finish
