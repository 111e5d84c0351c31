#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/generator.sh fresh|standalone|quick|all|write - tests what spmvgen writes for devices. Needs build/spmvgen.
#   fresh  kernels/gen is what spmvgen writes now
#   standalone  texts that compile by themselves: by clang for OpenCL and CUDA, and by nvcc, where it is
#   quick  some kernels: compiled by clang for OpenCL and CUDA, and multiplied through the library (build/gen/multiply)
#   all    every description with every legal combination of options; also compiled by NVRTC (build/gen/compile), where it is
#   write  writes the kernels of all, without testing them, and build/gen/device/write/TARGET.list, which build/gen/multiply takes: to test
#          on another machine
# The last line is "N passed, N failed". Refusals are counted by their reasons.
set -u
cd "$(dirname "$0")/.." || exit 1
mode=${1:-quick}
work=build/gen/device
passed=0 failed=0
good() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAIL $*"; }
finish() {
    echo "$passed passed, $failed failed"
    [ $failed = 0 ] && [ $passed -gt 0 ]
    exit
}

if [ "$mode" = fresh ]; then
    rm -rf $work/fresh
    mkdir -p $work
    sh tools/generate.sh $work/fresh || bad "tools/generate.sh"
    for f in kernels/gen/*.cl; do
        if cmp "$f" "$work/fresh/${f##*/}"; then good; else bad "$f is out of date: make kernels"; fi
    done
    [ "$(ls $work/fresh)" = "$(ls kernels/gen)" ] || bad "kernels/gen has other files than tools/generate.sh writes"
    finish
fi
rm -rf $work/$mode
mkdir -p $work/$mode || exit 1

# description | plan | constants | knobs
. tools/gen/arguments.sh
table="
csr|csr||L=4
csr|csr:rows=sorted||L=1,WG=32
coo|coo||ATOMIC=1
dense|dense||V=1,L=4
dia|dia||V=1,L=2
bdia|bdia||V=1,STAGE=0,L=2
ell|ell||V=1,L=2
ell|ell:idx=16,rows=sorted|IDX=16|V=1,ZERO=1
sell|sell||V=1,STAGE=0,L=2
sell|sell:h=8,idx=16|H=8 IDX=16|V=1,STAGE=0,UNROLL=4
sellv|sell:grow=0.2||V=1,STAGE=0,L=2
sellv|sell:grow=0.2,idx=16|IDX=16|V=1,STAGE=0
bell|bell||V=1,L=2
bell|bell:b=3x3,idx=16|BH=3 BW=3 IDX=16|V=1
bell|bell:b=2x8|BH=2 BW=8|V=1,ZERO=1
sbell|sbell||L=2
sbell|sbell:b=6x6,idx=16|BH=6 BW=6 IDX=16|SEQ=4
bcsr|bcsr||L=8
bcsr|bcsr:b=1x4,idx=16|BH=1 IDX=16|L=4,SEQ=4
bcsr|bcsr:b=2x2|BH=2 BW=2|L=2,ZERO=1
cmrs|cmrs||STAGE=1,L=8
cmrs|cmrs:h=16,wide=1,sort=1|HEIGHT=16 PACKED=0|STAGE=0,L=2
cmrs|cmrs:h=1|HEIGHT=1|STAGE=1,L=1
hyb|ell:w=5+csr:rows=nonempty||-
"
# description | constants and options: the kernels that the quick run multiplies; their plans follow from the table
some="
csr||vector=4
ell||within=2
sell||within=4 reuse=constant
dia||reuse=local
bcsr||vector=4
cmrs|HEIGHT=16 PACKED=0|vector=2
coo||strategy=atomic
coo||strategy=segments
sbell||vector=2 early=2
"

# clang's check of one text: as OpenCL C (target, flags) or as CUDA C, which nvcc gives some headers of C first
as_opencl="${CLANG:-clang} -x cl -cl-std=CL1.2 -target spir64 -Xclang -finclude-default-header -fsyntax-only -Wall -Wextra -Werror"
as_cuda="${CLANG:-clang} -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -nocudainc -nocudalib -std=c++17 -fsyntax-only -Wall -Wextra
    -Werror -Wno-unknown-pragmas -Wno-unknown-cuda-version -include sys/types.h -include tests/cuda/words.h"
opencl() { # opencl FILE FLAG...
    text=$1
    shift
    printf '#include "%s"\n' kernels/common.cl "$text" kernels/shell.cl | $as_opencl -pedantic -Wshadow "$@" -I. -
}
cuda() { # cuda FILE FLAG...
    text=$1
    shift
    printf '#include "%s"\n' kernels/cuda.cuh kernels/common.cl "$text" kernels/shell.cl | $as_cuda -DNVIDIA=80 "$@" -I. -
}
f64='-DVAL=double -DVEC=double -DF64'
mixed='-DVAL=float -DVEC=double -DF64'
syntax() { # syntax TARGET FILE PARTS: compiles it for several types and settings
    [ $mode != write ] || return 0
    part=0
    while [ $part -lt "$3" ]; do
        if [ "$1" = opencl ]; then
            opencl "$2" -DPART=$part -DLIST=1 && opencl "$2" -DPART=$part $f64 -DOFF=ulong -DI64=1 -DREPEAT=1 &&
                opencl "$2" -DPART=$part $mixed -DIMG=1 -DZERO=1 -DUNROLL=4 || return 1
        else
            cuda "$2" -DPART=$part -DLIST=1 && cuda "$2" -DPART=$part $f64 -DOFF=ulong -DI64=1 -DNT=1 -DSHUF=1 -DWG=128 ||
                return 1
        fi
        part=$((part + 1))
    done
}

# write TARGET FILE DESCRIPTION ARGUMENTS OPTION...: writes the kernel of a description, a file
write() {
    target=$1 to=$2 from=$3 arguments=$4
    shift 4
    n=$#
    while [ $n -gt 0 ]; do
        set -- "$@" --set "$1"
        shift
        n=$((n - 1))
    done
    [ -z "$arguments" ] || set -- "$@" --set "arguments=$arguments"
    build/spmvgen "$from" --target "$target" "$@" -o "$to"
}

parts_of() { if [ "$1" = hyb ]; then echo 2; else echo 1; fi; }
within_of() { case " $1 " in *' within=2 '*) echo 2 ;; *' within=4 '*) echo 4 ;; *) echo 1 ;; esac; }
set -f
count=0
# try DESCRIPTION PLAN KNOBS TYPES OPTION...: the kernel for both targets, and a line for the program that multiplies
try() {
    name=$1 plan=$2 knobs=$3 types=$4
    shift 4
    count=$((count + 1))
    file=$work/$mode/$count-$name
    for target in opencl cuda; do
        case "$target $*" in cuda*reuse=constant* | cuda*reuse=image*) continue ;; esac
        if write $target "$file.$target" "formats/$name.fmt" "$(library_arguments "$name")" "$@" &&
            syntax $target "$file.$target" "$(parts_of "$name")"; then good
        else bad "$name $target $*"; fi
    done
    [ -n "$plan" ] || return 0
    [ ! -e "$file.cuda" ] || echo "$plan $knobs $types $(within_of "$*") $file.cuda" >>$work/$mode/cuda.list
    case $* in *reuse=image*) return 0 ;; esac # the library passes no image of an array
    echo "$plan $knobs $types $(within_of "$*") $file.opencl" >>$work/$mode/opencl.list
}

# standalone DESCRIPTION TYPE CONSTANT...: the texts that compile by themselves
standalone() {
    from=$1 file=$work/$mode/$(basename "$1" .fmt).$2 parts=$(parts_of "$(basename "$1" .fmt)")
    type=$2
    shift 2
    set -- form=standalone type="$type" offset=64 WG=64 "$@"
    write opencl "$file.cl" "$from" "" "$@" && write cuda "$file.cu" "$from" "" "$@" || bad "$from standalone"
    part=0
    while [ $part -lt "$parts" ]; do
        if $as_opencl -DPART=$part "$file.cl" && $as_cuda -DPART=$part "$file.cu"; then good; else bad "$file"; fi
        if ! command -v nvcc >/dev/null || nvcc -arch=sm_90 -ptx -Werror all-warnings -DPART=$part "$file.cu" -o "$file.ptx"; then good
        else bad "$file.cu by nvcc"; fi
        part=$((part + 1))
    done
}

multiply() {
    if build/gen/multiply $work/$mode/opencl.list >$work/$mode/multiplied; then good; else rc=$?; fi
    cat $work/$mode/multiplied
    if [ "${rc-0}" = 77 ]; then echo "no OpenCL device: nothing was multiplied"; elif [ "${rc-0}" != 0 ]; then bad "wrong products"; fi
}

if [ "$mode" = standalone ]; then
    for from in $(set +f; echo formats/*.fmt tests/gen/figure2.fmt tests/gen/codes.fmt examples/own_format/*.fmt); do
        for type in f32 f64; do standalone "$from" $type; done
    done
    finish
fi
if [ "$mode" = quick ]; then
    for line in $(printf '%s' "$some" | tr ' ' '~'); do
        name=${line%%|*} rest=${line#*|}
        constants=$(printf '%s' "${rest%%|*}" | tr '~' ' ') options=$(printf '%s' "${rest#*|}" | tr '~' ' ')
        row=$(printf '%s' "$table" | awk -F '|' -v n="$name" -v c="$constants" '$1 == n && $3 == c { print; exit }')
        plan=$(echo "$row" | cut -d '|' -f 2) knobs=$(echo "$row" | cut -d '|' -f 4)
        # shellcheck disable=SC2086 # options and constants are words
        try "$name" "$plan" "$knobs" f64 $constants $options
    done
    multiply
    finish
fi

for line in $(printf '%s' "$table" | tr ' ' '~'); do
    name=${line%%|*}
    plan=$(echo "$line" | cut -d '|' -f 2) knobs=$(echo "$line" | cut -d '|' -f 4)
    constants=$(echo "$line" | cut -d '|' -f 3 | tr '~' ' ')
    set --
    for c in $constants; do set -- "$@" --set "$c"; done
    build/spmvgen "formats/$name.fmt" --target opencl --list "$@" >$work/$mode/legal || bad "$name --list"
    sed -n 's/^  refused: //p' $work/$mode/legal >>$work/$mode/refused
    types=all
    for legal in $(sed -n 's/^  strategy=/strategy=/p' $work/$mode/legal | tr ' ' '~'); do
        # shellcheck disable=SC2046,SC2086
        try "$name" "$plan" "$knobs" $types $constants $(echo "$legal" | tr '~' ' ')
        types=f64 # the types have no code of their own
    done
    # shellcheck disable=SC2086
    [ $mode = write ] || standalone "formats/$name.fmt" f64 $constants
done
# formats/ has no description that the table lacks
for f in $(set +f; echo formats/*.fmt); do
    name=${f#formats/}
    printf '%s' "$table" | grep -q "^${name%.fmt}|" || bad "$f is not tested"
done
[ $mode != write ] || finish
multiply
build/gen/compile $work/$mode/cuda.list
rc=$?
if [ $rc = 77 ]; then echo "skipped: no NVRTC, which a CUDA toolkit has"
elif [ $rc = 0 ]; then good
else bad "programs that NVRTC refuses"; fi
echo "refused, by reason:"
sed 's/^\([^:]*\): /\1 | /' $work/$mode/refused | sort | uniq -c | sort -rn
finish
