#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/generator.sh prepare DIR - writes the kernels that spmvgen can make of formats/ to DIR/texts, for OpenCL and CUDA, and lists of what
#                    tests/gen/multiply.c (DIR/all.TARGET) and tools/gen/measure/measure.c (DIR/time.TARGET) try. Needs build/spmvgen.
# bench/generator.sh table JSON... - prints Figures 3 to 9 of Grewe and Lokhmotov's paper as tables (bench/generator.py)
set -eu
cd "$(dirname "$0")/.."
[ "${1-}" = prepare ] && [ $# = 2 ] || { sed -n '3,5s/^# //p' "$0" >&2; exit 2; }
dir=$2
mkdir -p "$dir/texts"
: >"$dir/time.opencl"
: >"$dir/time.cuda"
set -f

csr='val,ptr,col,*run_row,*run_at,*base,*long_run,runs,longs'
sell='val,ptr,col,*slice_row,base,slices'
# What the kernels of the library take, in their order
arguments() {
    case $1 in
    csr) echo "$csr" ;;
    coo) echo 'val,row,col,num_nonzeros,*carry_row,*carry_sum' ;;
    dense) echo 'val' ;;
    dia) echo 'val,offset,diagonals,ld' ;;
    bdia) echo 'val,offset,band_ptr,bands,ld' ;;
    ell | bell) echo 'val,col,base,width,ld' ;;
    sell) echo "$sell" ;;
    sellv) echo 'val,ptr,col,slice_row,base,slices' ;;
    sbell) echo 'val,ptr,col,base,slices' ;;
    bcsr) echo 'val,ptr,col,base,blocks' ;;
    cmrs) echo 'val,ptr,index,row' ;;
    esac
}

# text TARGET DESCRIPTION OPTION...: writes the kernel unless it is there, and prints the name of its file
text() {
    target=$1 name=$2
    shift 2
    file=$(echo "texts/$name $*.$target" | tr ' =' '_-')
    set -- --set "$(printf '%s --set ' "$@")"
    # shellcheck disable=SC2086 # words
    [ -e "$dir/$file" ] ||
        build/spmvgen "formats/$name.fmt" --target "$target" $(echo "$*" | sed 's/ --set $//; s/^--set $//') --set "arguments=$(arguments "$name")" -o "$dir/$file"
    echo "$file"
}

# hand GROUP PLAN KNOBS: the library's own kernel, with its defaults and with each of KNOBS
hand() {
    for target in opencl cuda; do
        echo "$1 hand $2 - 1 -" >>"$dir/time.$target"
        [ "$3" = - ] || echo "$1 hand-tried $2 $3 1 -" >>"$dir/time.$target"
    done
}
# same GROUP DESCRIPTION PLAN KNOBS OPTION...: the generated kernel in the configuration of the library's; tried: with others
same() { generated same "$@"; }
tried() { generated tried "$@"; }
generated() {
    role=$1 group=$2 name=$3 plan=$4 knobs=$5
    shift 5
    within=1
    case " $* " in *' within=2 '*) within=2 ;; *' within=4 '*) within=4 ;; esac
    for target in opencl cuda; do
        case "$target $*" in cuda*reuse=constant*) continue ;; esac
        kernel=$name
        [ "$name" != sellv ] || kernel=sell
        files="$kernel=$(text $target "$name" "$@")"
        [ "$group" != hyb ] || files="$files+csr=$(text $target csr vector=1)"
        echo "$group $role $plan $knobs $within $files" >>"$dir/time.$target"
    done
}

L='L=1|2|4|8|16|32'
hand csr csr "$L,WG=128|256"
for target in opencl cuda; do echo "csr hand-tried csr L=2|4|8|16|32,SHUF=1 1 -" >>"$dir/time.$target"; done
same csr csr csr - vector=1
for v in 1 2 4; do tried csr csr csr "$L,WG=128|256" vector=$v; done
for v in 1 2 4; do tried csr csr csr 'L=4|8|16|32,SHUF=1' vector=$v; done
hand flat csr GEN=2\|4
hand flat csr:run SHUF=0\|1
hand flat tcsr -
hand ell ell 'V=1|4,WG=64|128|256,UNROLL=1|4'
for target in opencl cuda; do echo "ell hand-tried ell L=2|4,WG=64|128|256 1 -" >>"$dir/time.$target"; done
same ell ell ell - within=1
for w in 1 2 4; do tried ell ell ell 'L=1|2|4,WG=64|128|256' within=$w; done
tried ell ell ell 'UNROLL=4,WG=64|128|256' within=1
hand sell sell 'V=1|4,WG=64|128|256,STAGE=0|1'
for target in opencl cuda; do echo "sell hand-tried sell L=2|4,WG=128|256 1 -" >>"$dir/time.$target"; done
same sell sell sell STAGE=0 reuse=local
for w in 1 2 4; do
    for r in buffer local; do tried sell sell sell 'STAGE=0,L=1|2|4,WG=128|256' within=$w reuse=$r; done
done
hand sell sell:grow=0.2 'WG=64|128|256,STAGE=0|1'
same sell sellv sell:grow=0.2 STAGE=0 reuse=local
for r in buffer local; do tried sell sellv sell:grow=0.2 'STAGE=0,L=1|2|4,WG=128|256' reuse=$r; done
hand dia dia 'V=1|4,WG=64|128|256'
same dia dia dia - reuse=buffer
for w in 1 2 4; do
    for r in buffer constant local; do tried dia dia dia 'L=1|2,WG=64|128|256' within=$w reuse=$r; done
done
hand bdia bdia 'V=1|4,WG=64|128|256,STAGE=0|1'
same bdia bdia bdia STAGE=0 reuse=buffer
for r in buffer constant local; do tried bdia bdia bdia 'STAGE=0,L=1|2,WG=64|128|256' reuse=$r; done
hand hyb hyb '*:WG=64|128|256'
hand hyb hyb-csr '*:WG=64|128|256'
same hyb ell hyb-csr - within=1
tried hyb ell hyb-csr '*:L=1|2|4|8,WG=64|128|256' within=1
for b in 3x3 2x4; do
    block="BH=${b%x*} BW=${b#*x}"
    vectors=1
    [ $b = 3x3 ] || vectors='1 2 4'
    hand bell bell:b=$b 'L=1|2,V=1|4,WG=64|128|256'
    hand sbell sbell:b=$b 'L=1|2|4,WG=64|128|256'
    hand bcsr bcsr:b=$b 'L=1|2|4|8|16,WG=128|256'
    # shellcheck disable=SC2086 # words
    {
        same bell bell bell:b=$b - $block vector=1
        same sbell sbell sbell:b=$b - $block reuse=buffer
        same bcsr bcsr bcsr:b=$b - $block vector=1
        for v in $vectors; do
            tried bell bell bell:b=$b 'L=1|2|4,WG=64|128|256' $block vector=$v
            tried sbell sbell sbell:b=$b 'L=1|2|4,WG=64|128|256' $block vector=$v reuse=buffer
            tried sbell sbell sbell:b=$b 'L=1|2|4,WG=128' $block vector=$v reuse=local
            tried bcsr bcsr bcsr:b=$b 'L=1|2|4|8|16,WG=128|256' $block vector=$v
        done
        tried bell bell bell:b=$b 'L=1|2,WG=128' $block vector=1 xonce=0
        tried sbell sbell sbell:b=$b 'L=1|2,WG=128' $block vector=1 xonce=0
        tried bcsr bcsr bcsr:b=$b 'L=4|8|16,WG=128' $block vector=1 xonce=0
    }
done
sort -s -k 1,1 -o "$dir/time.opencl" "$dir/time.opencl"
sort -s -k 1,1 -o "$dir/time.cuda" "$dir/time.cuda"
hand cmrs cmrs 'STAGE=0|1,L=4|8|16|32,WG=128|256'
same cmrs cmrs cmrs - vector=1
for v in 1 2 4; do tried cmrs cmrs cmrs 'STAGE=1,L=4|8|16|32,WG=128|256' vector=$v; done
hand coo coo 'PER=3|7|15,WG=64|128|256'
same coo coo coo ATOMIC=1 strategy=atomic
tried coo coo coo 'ATOMIC=1,WG=64|128|256' strategy=atomic
hand dense dense 'V=1|4,L=8|16|32|64,WG=128|256'
same dense dense dense V=1 vector=1
for v in 1 2 4; do tried dense dense dense 'V=1,L=8|16|32|64,WG=128|256' vector=$v; done
