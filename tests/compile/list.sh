#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/compile/list.sh - prints a line for each compile check: its name, kind and command (see tests/run.sh).
set -u
t=tests/compile
o=build/compile
mkdir -p "$o"
w='-std=c99 -pedantic -Wall -Wextra -Wshadow -Wconversion -Werror'
x='-std=c++11 -pedantic -Wall -Wextra -Werror'
host=-DSPMV_NO_DEVICES
formats=$(awk '/define SPMV_FORMAT_LIST/ { on = 1; next }
               on { last = !/\\$/; if (sub(/.*X\(/, "")) { sub(/,.*/, ""); print } if (last) exit }' spmv_formats.h)
say() { # say NAME COMMAND...
    name=$1
    shift
    # What is about other things compiles the plain products of the host alone, which takes half the time. The vector products of the
    # single header are the same text: */single compiles them.
    case $name in
    */all | */host | */levels | */lines | */single | */small-[On]* | */static | */same-DSPMV_NO_SIMD) ;;
    gcc/* | clang/*) set -- "$(echo "$*" | sed 's/ -I\(\.\|dist\) / -I\1 -DSPMV_NO_SIMD /g')" ;;
    esac
    case $* in
    *-Idist*) set -- "make -s dist/spmv.h && $*" ;;
    esac
    printf 'compile/%s\tplain\t%s\n' "$name" "$*"
}
sym="sh $t/symbols.sh"

[ "$(echo "$formats" | wc -l)" -ge 11 ] || { echo "the format table was not found in spmv_formats.h" >&2; exit 1; }

# Flow analysis for warnings needs optimisation in gcc alone, so clang optimises only in */all, */levels and */small. Where only the text is
# in question, gcc reads it and clang, whose syntax check also finds unused functions, compiles and runs it in a third of gcc's time.
for cc in gcc clang; do
    i="-I."
    case $cc in gcc) opt1=-O1 opt2=-O2 ;; *) opt1=-O0 opt2=-O0 ;; esac
    say "$cc/all"        "$cc $w -O2 $i $t/c99.c -o $o/$cc-all && $o/$cc-all"
    say "$cc/host"       "$cc $w $opt1 $i $host $t/c99.c -o $o/$cc-host && $o/$cc-host"
    say "$cc/openmp"     "$cc $w -O0 $i $host -fopenmp $t/c99.c -o $o/$cc-openmp && $o/$cc-openmp"
    say "$cc/ndebug"     "$cc $w $opt1 $i $host -DNDEBUG $t/c99.c -o $o/$cc-ndebug && $o/$cc-ndebug"
    say "$cc/no-simd"    "$cc $w $opt2 $i $host -DSPMV_NO_SIMD $t/c99.c -o $o/$cc-nosimd && $o/$cc-nosimd && ! nm $o/$cc-nosimd | grep avx"
    say "$cc/levels"     "$cc $w -O1 $i $t/levels.c -o $o/$cc-levels && $o/$cc-levels"
    say "$cc/csr+sell"   "$cc $w -O0 $i -DSPMV_ONLY=SPMV_BIT_CSR+SPMV_BIT_SELL $t/c99.c -o $o/$cc-only && $o/$cc-only"
    say "$cc/no-f64"     "$cc $w -O0 $i -DSPMV_NO_F64 $t/c99.c -o $o/$cc-nof64 && $o/$cc-nof64"
    say "$cc/no-mixed"   "$cc $w -O0 $i -DSPMV_NO_MIXED $t/c99.c -o $o/$cc-nomixed && $o/$cc-nomixed"
    say "$cc/reproducible" "$cc $w -O0 $i -DSPMV_REPRODUCIBLE $t/c99.c -o $o/$cc-repro -lm && $o/$cc-repro"
    say "$cc/reproducible-host" "$cc $w -O0 $i $host -DSPMV_REPRODUCIBLE $t/c99.c -o $o/$cc-repro-host -lm && $o/$cc-repro-host"
    say "$cc/fast-math" "! $cc $i $host -ffast-math -DSPMV_REPRODUCIBLE -c $t/has.c -o $o/$cc-fast.o"
    say "$cc/no-stdio"   "$cc $w -O0 $i $host -DSPMV_NO_STDIO -DNDEBUG -c $t/c99.c -o $o/$cc-nostdio.o && $sym $o/$cc-nostdio.o no-stdio"
    say "$cc/passes"     "$cc $w -O0 $i $t/passes.c -o $o/$cc-passes && $o/$cc-passes"
    say "$cc/messages"   "$cc $w -O0 $i $host $t/messages.c -o $o/$cc-messages && $o/$cc-messages"
    say "$cc/messages-checked" "! $cc $w $i $host -DWRONG_CONVERSION -fsyntax-only $t/messages.c"
    say "$cc/two-units"  "$cc $w -O0 $i $t/uses.c $t/has.c -o $o/$cc-units && $o/$cc-units"
    say "$cc/two-cuts"   "$cc $w -O0 $i $t/two_a.c $t/two_b.c -o $o/$cc-cuts && $o/$cc-cuts"
    for what in "device $host" "host -DHOST"; do # a unit that uses matrices, linked with an implementation that has other macros
        set -- $what
        [ "$1" = host ] && other=$host || other=
        say "$cc/mixed-$1" "$cc $w -O0 $i $2 -c $t/mixed.c -o $o/$cc-mixed-$1.o &&" \
            "$cc $w -O0 $i $other $t/has.c $o/$cc-mixed-$1.o -o $o/$cc-mixed-$1 && $o/$cc-mixed-$1"
    done
    say "$cc/mixed-missing" "$cc $w -O0 $i -DDEVICE -c $t/mixed.c -o $o/$cc-mixed-d.o &&" \
        "! $cc $i $host $t/has.c $o/$cc-mixed-d.o -o $o/$cc-mixed-d 2>$o/$cc-mixed-d.log && grep spmv_device_create $o/$cc-mixed-d.log"
    for cut in $host -DSPMV_NO_OPENCL -DSPMV_NO_CUDA -DSPMV_NO_F64 -DSPMV_NO_MIXED -DSPMV_NO_STDIO -DSPMV_NO_TUNING -DSPMV_NO_SIMD \
        -DSPMV_REPRODUCIBLE -DNDEBUG; do
        # no macro changes a struct: a unit with it is linked with one without, which has no vector products and is compiled once
        with=$cut
        [ $cut != -DSPMV_NO_SIMD ] || with=
        say "$cc/same$cut" "make -s $o/$cc-two_a.o && $cc $w -O0 $i $with -c $t/two_b.c -o $o/$cc-same$cut.o &&" \
            "$cc $o/$cc-two_a.o $o/$cc-same$cut.o -o $o/$cc-same$cut -lm && $o/$cc-same$cut"
    done
    say "$cc/static"     "$cc $w -O0 $i -DSPMV_STATIC -c $t/has.c -o $o/$cc-static.o && $sym $o/$cc-static.o none"
    say "$cc/prefix"     "$cc $w -O0 $i -DNDEBUG -c $t/has.c -o $o/$cc-prefix.o && $sym $o/$cc-prefix.o prefix quiet"
    say "$cc/malloc"     "$cc $w -O0 $i $host -c $t/malloc.c -o $o/$cc-malloc.o && $sym $o/$cc-malloc.o no-malloc &&" \
        "$cc $w -DMY_BODY $t/malloc.c $o/$cc-malloc.o -o $o/$cc-malloc && $o/$cc-malloc"
    say "$cc/malloc-half" "! $cc $i $host -DSPMV_MALLOC=malloc -c $t/has.c -o $o/$cc-half.o"
    # threads of the caller's own: OpenMP, too, does nothing then
    own="-O0 $i $host -fopenmp -include tests/pool.h $t/c99.c -pthread"
    say "$cc/own-threads" "$cc $w -D_POSIX_C_SOURCE=200809L $own -o $o/$cc-own && $o/$cc-own && ! nm $o/$cc-own | grep GOMP_parallel"
    for half in 'THREADS()=1' 'PARALLEL(task,job,count)=task(job,0)'; do
        say "$cc/own-threads-${half%%(*}" "! $cc $w $i $host '-DSPMV_$half' -fsyntax-only $t/has.c 2>$o/$cc-own.txt &&" \
            "grep 'both SPMV_THREADS and' $o/$cc-own.txt"
    done
    say "$cc/cuda-alone" "$cc $w -O0 $i -DSPMV_NO_OPENCL $t/c99.c -o $o/$cc-cuda -ldl && $o/$cc-cuda"
    say "$cc/no-ptx"     "$cc $w -fsyntax-only $i -DSPMV_NO_OPENCL -DSPMV_NO_PTX $t/c99.c"
    say "$cc/no-cuda"    "$cc $w -O0 $i -DSPMV_NO_CUDA $t/c99.c -o $o/$cc-nocuda && $o/$cc-nocuda"
    say "$cc/cuda.h"     "$cc $w -fsyntax-only $i -I$t/cuda -DSPMV_NO_OPENCL -include cuda.h $t/c99.c"
    for h in spmv spmv_formats spmv_io spmv_cl spmv_cuda spmv_group; do
        case $cc in
        gcc) say "gcc/alone-$h" "gcc $w -fsyntax-only $i -DHEADER=$h.h $t/alone.c" ;;
        *) say "$cc/alone-$h" "$cc $w -O0 $i -DHEADER=$h.h $t/alone.c -o $o/$cc-alone-$h && $o/$cc-alone-$h" ;;
        esac
    done
    say "$cc/lines"      "$cc $w -O0 -g $i -c $t/has.c -o $o/$cc-lines.o && sh $t/lines.sh $o/$cc-lines.o"
    say "$cc/alone-formats-csr" "$cc $w -O0 $i -DSPMV_ONLY=SPMV_BIT_CSR -DHEADER=spmv_formats.h $t/alone.c -o $o/$cc-alone-csr &&" \
        "$o/$cc-alone-csr"
    say "$cc/own-back-end" "$cc $w -O0 $i $t/backend.c -o $o/$cc-backend && $o/$cc-backend"
    say "$cc/no-tuning" "$cc $w -O0 $i $host -DSPMV_NO_TUNING $t/c99.c -o $o/$cc-notuning && $o/$cc-notuning"
    say "$cc/no-auto"   "$cc $w -O0 $i -DSPMV_NO_AUTO $t/no_auto.c -o $o/$cc-noauto && $o/$cc-noauto &&" \
        "$sym $o/$cc-noauto no-choice"
    say "$cc/one-format" "$cc $w -O0 $i $host -DSPMV_ONLY=SPMV_BIT_ELL $t/no_auto.c -o $o/$cc-one &&" \
        "$o/$cc-one && $sym $o/$cc-one no-choice"
    say "$cc/no-auto-host" "$cc $w -O0 $i $host -DSPMV_NO_AUTO $t/no_auto.c -o $o/$cc-noauto-host && $o/$cc-noauto-host"
    for opt in -O2 -Os; do # the promised cost of a tiny matrix holds for optimised builds only
        say "$cc/small$opt"         "$cc $w $opt $i $host $t/small.c -o $o/$cc-small$opt -pthread && $o/$cc-small$opt"
        say "$cc/small-no-auto$opt" "$cc $w $opt $i $host -DSPMV_NO_AUTO $t/small.c -o $o/$cc-small-noauto$opt -pthread &&" \
            "$o/$cc-small-noauto$opt"
    done
    say "$cc/small-cl"    "$cc $w -O2 $i $t/small.c -o $o/$cc-small-cl -pthread && $o/$cc-small-cl"
    [ $cc = clang ] || say "$cc/calls" "$cc $w -O0 $i -finstrument-functions $t/calls.c -o $o/$cc-calls && $o/$cc-calls"
    say "$cc/single-no-auto" "$cc $w -O0 -Idist -DSPMV_IO -DSPMV_GROUP -DSPMV_NO_AUTO $t/no_auto.c -o $o/$cc-single-noauto &&" \
        "$o/$cc-single-noauto && $sym $o/$cc-single-noauto no-choice"
    say "$cc/examples"   "$cc $w $i -fsyntax-only $(grep -L 'include <mpi.h>' examples/*.c examples/own_format/*.c | tr '\n' ' ')"
    if command -v mpicc >/dev/null 2>&1; then # clang complains of the libraries that mpicc adds
        say "$cc/mpi"    "OMPI_CC=$cc MPICH_CC=$cc mpicc $w $i -Wno-unused-command-line-argument -fsyntax-only examples/mpi.c"
    fi
    for std in c11 gnu17; do
        say "$cc/$std" "$cc $w -std=$std -fsyntax-only $i $t/c99.c"
    done
    say "$cc/cl-300"     "$cc $w -fsyntax-only $i -DCL_TARGET_OPENCL_VERSION=300 $t/has.c"
    # the single header, compiled where the separate headers cannot be found
    say "$cc/single"      "$cc $w -O0 -Idist -DSPMV_IO -DSPMV_GROUP $t/c99.c -o $o/$cc-single && $o/$cc-single"
    say "$cc/single-host" "$cc $w -O0 -Idist -DSPMV_IO -DSPMV_GROUP $host $t/c99.c -o $o/$cc-single-host && $o/$cc-single-host"
    say "$cc/single-reproducible" "$cc $w -O0 -Idist -DSPMV_IO -DSPMV_GROUP -DSPMV_REPRODUCIBLE $t/c99.c" \
        "-o $o/$cc-single-repro -lm && $o/$cc-single-repro"
    say "$cc/single-io" "$cc $w -O0 -Idist -DSPMV_IO -DSPMV_GROUP $host -c $t/has.c -o $o/$cc-single-io.o && $sym $o/$cc-single-io.o io"
    say "$cc/single-no-io" "$cc $w -O0 -Idist $host -c $t/has.c -o $o/$cc-single-noio.o && $sym $o/$cc-single-noio.o no-io"
    say "$cc/single-csr+sell" "$cc $w -O0 -Idist -DSPMV_IO -DSPMV_GROUP -DSPMV_ONLY=SPMV_BIT_CSR+SPMV_BIT_SELL $t/c99.c" \
        "-o $o/$cc-single-only && $o/$cc-single-only"
    say "$cc/single-no-f64" "$cc $w -O0 -Idist -DSPMV_IO -DSPMV_GROUP -DSPMV_NO_F64 $t/c99.c -o $o/$cc-single-nof64 &&" \
        "$o/$cc-single-nof64"
    say "$cc/single-passes" "$cc $w -O0 -Idist -DSPMV_IO -DSPMV_GROUP $t/passes.c -o $o/$cc-single-passes && $o/$cc-single-passes"
    say "$cc/single-two-units" "$cc $w -O0 -Idist $t/uses.c $t/has.c -o $o/$cc-single-units && $o/$cc-single-units"
    say "$cc/single-two-cuts" "$cc $w -O0 -Idist $t/two_a.c $t/two_b.c -o $o/$cc-single-cuts && $o/$cc-single-cuts"
    say "$cc/single-static" "$cc $w -O0 -Idist -DSPMV_IO -DSPMV_GROUP -DSPMV_STATIC -c $t/has.c -o $o/$cc-single-static.o &&" \
        "$sym $o/$cc-single-static.o none"
    say "$cc/single-prefix" "$cc $w -O0 -Idist -DSPMV_IO -DSPMV_GROUP -DNDEBUG -c $t/has.c -o $o/$cc-single-prefix.o &&" \
        "$sym $o/$cc-single-prefix.o prefix quiet"
done
plans="gcc $w -O0 -I. $host $t/plans.c"
say gcc/plans "$plans -o $o/plans && $plans -fopenmp -o $o/plans-openmp && $o/plans >$o/plans.txt &&" \
    "OMP_NUM_THREADS=3 $o/plans-openmp | cmp - $o/plans.txt"
for cxx in g++ clang++; do
    say "$cxx/all"    "$cxx $x -O0 -I. $t/cxx11.cpp -o $o/$cxx-all && $o/$cxx-all"
    say "$cxx/host"   "$cxx $x -O0 -I. -DSPMV_NO_SIMD $host $t/cxx11.cpp -o $o/$cxx-host && $o/$cxx-host"
    say "$cxx/own-threads" "$cxx $x -O0 -I. -DSPMV_NO_SIMD $host -include tests/pool.h $t/cxx11.cpp -o $o/$cxx-own -pthread && $o/$cxx-own"
    say "$cxx/single" "$cxx $x -O0 -Idist -DSPMV_NO_SIMD -DSPMV_IO -DSPMV_GROUP $t/cxx11.cpp -o $o/$cxx-single && $o/$cxx-single"
done
# Newer standards warn of more, such as arithmetic with an enumeration and a double. c++2b is the name of C++23 in older compilers.
for cxx in g++ clang++; do
    for std in c++14 c++17 c++20 c++2b; do
        say "$cxx/$std"        "$cxx $x -Wpedantic -std=$std -fsyntax-only -I. $t/cxx11.cpp"
    done
    say "$cxx/single-c++2b" "$cxx $x -Wpedantic -std=c++2b -fsyntax-only -Idist -DSPMV_IO -DSPMV_GROUP $t/cxx11.cpp"
done
# Without OpenCL's header, its library or CUDA's driver everything compiles, and opening a device says what is missing. A folder in place of
# /usr/include lacks the header; libraries that are no libraries hide those of the machine.
mkdir -p "$o/none" "$o/bare"
for f in libOpenCL.so.1 libOpenCL.so libcuda.so.1; do : >"$o/none/$f"; done
ln -sfn $(find /usr/include -mindepth 1 -maxdepth 1 ! -name CL) "$o/bare"
for cc in gcc clang; do
    include="-nostdinc -isystem \$($cc -print-file-name=include) -isystem $o/bare/$(gcc -print-multiarch) -isystem $o/bare"
    absent="LD_LIBRARY_PATH=$o/none $o/$cc-no-cl"
    say "$cc/no-cl-header" "$cc $w -O0 -I. $include $t/absent.c -o $o/$cc-no-cl-header &&" \
        "$absent-header 'was compiled without the header CL/cl.h' 'no CUDA driver was found (libcuda.so.1)'"
    say "$cc/no-cl-library" "$cc $w -O0 -I. $t/absent.c -o $o/$cc-no-cl-library &&" \
        "$absent-library 'no OpenCL library was found (libOpenCL.so.1)' 'no CUDA driver was found (libcuda.so.1)'"
    say "$cc/cl-link" "$cc $w -O0 -I. -DSPMV_CL_LINK $t/c99.c -o $o/$cc-cl-link -lOpenCL && $o/$cc-cl-link"
done
for f in $formats; do
    say "gcc/no-$f"     "gcc $w -fsyntax-only -I. -DSPMV_ONLY=~SPMV_BIT_$f $t/c99.c"
    say "clang/no-$f"   "clang $w -O0 -I. -DSPMV_ONLY=~SPMV_BIT_$f $t/c99.c -o $o/no-$f && $o/no-$f"
    say "clang/only-$f" "clang $w -O0 -I. -DSPMV_ONLY=SPMV_BIT_$f $t/c99.c -o $o/only-$f && $o/only-$f"
done
say "no-format"   "! gcc -fsyntax-only -I. $host -DSPMV_NO_ELL $t/has.c 2>$o/no-format.txt && grep 'SPMV_ONLY leaves' $o/no-format.txt"
if command -v tcc >/dev/null 2>&1; then # no optimisation: the whole library in a tenth of a second, for development
    say "tcc/hello"  "tcc -I. examples/hello.c -o $o/tcc-hello -lm -ldl && $o/tcc-hello | grep '^7 6 7'"
fi
arm=aarch64-linux-gnu-gcc
if command -v $arm >/dev/null 2>&1 && command -v qemu-aarch64 >/dev/null 2>&1; then
    say "arm64/levels"   "$arm $w -O2 -static -I. $t/levels.c -o $o/arm64-levels && qemu-aarch64 $o/arm64-levels >$o/arm64-levels.txt &&" \
        "grep 'neon: tested' $o/arm64-levels.txt"
    say "arm64/c99"      "$arm $w -O1 -static -I. $host $t/c99.c -o $o/arm64-c99 && qemu-aarch64 $o/arm64-c99"
fi
mingw=x86_64-w64-mingw32-gcc
if command -v $mingw >/dev/null 2>&1; then
    say "mingw/host"   "$mingw $w -O1 -I. $host $t/c99.c -o $o/mingw.exe"
    mkdir -p "$o/khronos"
    ln -sfn /usr/include/CL "$o/khronos/CL"
    say "mingw/devices" "$mingw $w -O0 -I. -I$o/khronos -DSPMV_NO_SIMD $t/c99.c -o $o/mingw-devices.exe"
    say "mingw/single" "$mingw $w -O0 -Idist -DSPMV_NO_SIMD -DSPMV_IO -DSPMV_GROUP $host $t/c99.c -o $o/mingw-single.exe"
fi
for cc in gcc clang; do # only if there is a 32-bit C library
    # asm/errno.h is the same for both, but with a 32-bit C library alone it lies only where the 64-bit one looks
    m32="-m32 -idirafter /usr/include/$(gcc -print-multiarch)"
    if printf '#include <stdlib.h>\nint main(void) { return 0; }\n' | $cc $m32 -x c - -o "$o/m32" >/dev/null 2>&1; then
        case $cc in gcc) opt1=-O1 ;; *) opt1=-O0 ;; esac
        say "$cc/m32" "$cc $m32 $w $opt1 -I. $host $t/c99.c -o $o/$cc-m32 && $o/$cc-m32"
        say "$cc/m32-devices" "$cc $m32 $w -O0 -I. $t/c99.c -o $o/$cc-m32-devices && $o/$cc-m32-devices"
        say "$cc/m32-messages" "$cc $m32 $w -O0 -I. $host $t/messages.c -o $o/$cc-m32-messages && $o/$cc-m32-messages"
        printf 'int main(void) { return 0; }\n' | $cc $m32 -fsanitize=address -x c - -o "$o/m32" >/dev/null 2>&1 || continue
        say "$cc/m32-messages-asan" "$cc $m32 -fsanitize=address $w -O0 -I. $host $t/messages.c -o $o/$cc-m32-messages-asan &&" \
            "$o/$cc-m32-messages-asan"
    fi
done
