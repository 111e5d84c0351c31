#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/generator.sh prepare DIR - writes the kernels that spmvgen can make of formats/ to DIR/texts, for OpenCL and CUDA, and lists of what
# tools/gen/measure/measure.c tries, DIR/time.opencl and DIR/time.cuda. Needs build/spmvgen.
# In DIR, "build/gen/measure time.cuda cuda:0 f64 100 MATRIX.bin..." then times them, as bench/papers.sh does for Figures 3 to 9 of Grewe
# and Lokhmotov's paper.
set -eu
cd "$(dirname "$0")/.."
[ "${1-}" = prepare ] && [ $# = 2 ] || { sed -n '3,6s/^# //p' "$0" >&2; exit 2; }
dir=$2
mkdir -p "$dir/texts"
: >"$dir/time.opencl"
: >"$dir/time.cuda"
set -f

. tools/gen/arguments.sh

# text TARGET DESCRIPTION OPTION...: writes the kernel unless it is there, and prints the name of its file
text() {
    target=$1 name=$2
    shift 2
    file=$(echo "texts/$name $*.$target" | tr ' =' '_-')
    set -- --set "$(printf '%s --set ' "$@")"
    # shellcheck disable=SC2086 # words
    [ -e "$dir/$file" ] ||
        build/spmvgen "formats/$name.fmt" --target "$target" $(echo "$*" | sed 's/ --set $//; s/^--set $//') \
            --set "arguments=$(library_arguments "$name")" -o "$dir/$file"
    echo "$file"
}

# hand GROUP PLAN KNOBS [SET]: the library's own kernel, with its defaults, of which SET ("V=1", one row an item) replaces those that the
# generated kernels lack, and with each of KNOBS
hand() {
    for target in opencl cuda; do
        echo "$1 hand $2 ${4--} 1 -" >>"$dir/time.$target"
        [ -z "${4-}" ] || echo "$1 hand-tried $2 - 1 -" >>"$dir/time.$target"
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
        case $plan in
        hyb-csr) files="$files+csr=$(text $target csr vector=1)" ;;
        hyb) files="$files+coo=$(text $target coo strategy=segments)" ;;
        esac
        echo "$group $role $plan $knobs $within $files" >>"$dir/time.$target"
    done
}

# The library's kernels with other knobs
hand_tried() {
    for target in opencl cuda; do echo "$1 hand-tried $2 $3 1 -" >>"$dir/time.$target"; done
}

L='L=1|2|4|8|16|32'
W='WG=64|256'
for type in '' .f32; do
    hand csr$type csr $L
    hand_tried csr$type csr $W
    hand_tried csr$type csr SHUF=1
    same csr$type csr csr - vector=1
    tried csr$type csr csr $W vector=1
    for v in 1 2 4; do
        tried csr$type csr csr $L vector=$v
        tried csr$type csr csr SHUF=1 vector=$v
    done
    hand flat$type csr:run=1024 'SHUF=0|1'
    hand flat$type tcsr -
done
hand ell ell 'L=2|4' V=1
hand_tried ell ell V=4
hand_tried ell ell $W
hand_tried ell ell UNROLL=4
same ell ell ell V=1 within=1
for k in 'L=2|4' $W UNROLL=4; do tried ell ell ell V=1,$k within=1; done
for w in 2 4; do tried ell ell ell 'V=1,WG=128|256,L=1|2' within=$w; done
hand sell sell 'L=2|4' V=1,STAGE=0
hand_tried sell sell V=4
hand_tried sell sell 'WG=64|256,STAGE=0|1'
same sell sell sell V=1,STAGE=0 early=1 reuse=buffer
tried sell sell sell V=1,STAGE=0 reuse=buffer
for k in 'L=2|4' $W; do tried sell sell sell V=1,STAGE=0,$k reuse=local; done
for k in 'L=1|2' $W; do tried sell sell sell V=1,STAGE=0,$k reuse=buffer; done
for w in 2 4; do
    for r in buffer local; do tried sell sell sell 'V=1,STAGE=0,WG=128|256' within=$w reuse=$r; done
done
hand sell sell:grow=0.2 $W V=1,STAGE=0
same sell sellv sell:grow=0.2 V=1,STAGE=0 early=1 reuse=buffer
tried sell sellv sell:grow=0.2 V=1,STAGE=0,$W reuse=buffer
tried sell sellv sell:grow=0.2 'V=1,STAGE=0,L=1|2' reuse=buffer
hand dia dia V=4 V=1
hand_tried dia dia $W
hand_tried dia dia 'L=2|4'
same dia dia dia V=1 reuse=buffer
for k in 'L=2|4' $W; do tried dia dia dia V=1,$k reuse=buffer; done
for r in constant local; do tried dia dia dia V=1,WG=128 reuse=$r; done
for w in 2 4; do tried dia dia dia 'V=1,WG=128|256' within=$w reuse=buffer; done
hand bdia bdia 'WG=128|256,STAGE=0|1' V=1,STAGE=0
hand_tried bdia bdia 'STAGE=0,L=2|4'
same bdia bdia bdia V=1,STAGE=0 reuse=buffer
tried bdia bdia bdia 'V=1,STAGE=0,L=2|4' reuse=buffer
for r in buffer constant local; do tried bdia bdia bdia 'V=1,STAGE=0,WG=128|256' reuse=$r; done
hand hyb hyb '*:WG=64|256'
hand hyb hyb-csr '*:WG=64|256'
# A part may be missing. So V, which the generated ell lacks, cannot be set: on GPUs it is 1 by default. And ATOMIC=1, with which the
# library launches one kernel for coo, is refused where there is no coo; without it, the generated coo lacks the second kernel
for k in - '*:ATOMIC=1'; do same hyb ell hyb $k within=1; done
for k in '*:WG=64|256' '*:ATOMIC=1,WG=64|256' '*:ATOMIC=1,PER=3|5|11'; do tried hyb ell hyb "$k" within=1; done
for k in '*:L=1|2|4' '*:WG=64|256'; do tried hyb ell hyb-csr "$k" within=1; done
for b in 3x3 2x4; do
    block="BH=${b%x*} BW=${b#*x}"
    # the hand-written kernels load blocks of 2x4 by vectors, and on NVIDIA's devices the values of those of 3x3 before the column is tested
    if [ $b = 3x3 ]; then
        vectors=1 as_bell='vector=1 early=1' as_sbell='vector=1 early=2' as_bcsr=vector=1
    else
        vectors='1 2 4' as_bell=vector=4 as_sbell=vector=4 as_bcsr=vector=4
    fi
    hand bell bell:b=$b 'L=1|2|4' V=1
    hand sbell sbell:b=$b 'L=1|2|4'
    for name in bell sbell; do hand_tried $name $name:b=$b $W; done
    hand bcsr bcsr:b=$b 'L=1|2|4|8|16'
    hand_tried bcsr bcsr:b=$b $W
    # shellcheck disable=SC2086 # words
    {
        same bell bell bell:b=$b V=1 $block $as_bell
        same sbell sbell sbell:b=$b - $block $as_sbell reuse=buffer
        same bcsr bcsr bcsr:b=$b - $block $as_bcsr
        for v in $vectors; do
            tried bell bell bell:b=$b 'V=1,L=1|2|4' $block vector=$v
            tried sbell sbell sbell:b=$b 'L=1|2|4' $block vector=$v reuse=buffer
            tried bcsr bcsr bcsr:b=$b 'L=1|2|4|8|16' $block vector=$v
            for early in 1 2; do
                tried bell bell bell:b=$b 'V=1,L=1|2|4' $block vector=$v early=$early
                tried sbell sbell sbell:b=$b 'L=1|2|4' $block vector=$v early=$early reuse=buffer
            done
        done
        tried bell bell bell:b=$b V=1,$W $block vector=1
        tried sbell sbell sbell:b=$b $W $block vector=1 reuse=buffer
        tried sbell sbell sbell:b=$b L=1 $block vector=1 reuse=local
        tried bcsr bcsr bcsr:b=$b $W $block vector=1
        tried bell bell bell:b=$b V=1,L=1 $block vector=1 xonce=0
        tried sbell sbell sbell:b=$b L=1 $block vector=1 xonce=0
        tried bcsr bcsr bcsr:b=$b 'L=4|8' $block vector=1 xonce=0
    }
done
# without a key, cmrs is the name of a builder, which chooses the height
hand cmrs cmrs:h=4 'L=8|16|32'
hand_tried cmrs cmrs:h=4 $W
hand_tried cmrs cmrs:h=4 'UNROLL=2|4,L=8|16|32'
same cmrs cmrs cmrs:h=4 - vector=1
for v in 1 2 4; do tried cmrs cmrs cmrs:h=4 'STAGE=1,L=8|16|32' vector=$v; done
hand coo coo 'PER=3|15'
same coo coo coo ATOMIC=1 strategy=segments
tried coo coo coo ATOMIC=1,$W strategy=segments
tried coo coo coo 'ATOMIC=1,PER=3|5|11|15' strategy=segments
tried coo coo coo ATOMIC=1 strategy=atomic
hand dense dense 'L=16|32|64,V=1|4' V=1
same dense dense dense V=1 vector=1
for v in 1 2 4; do tried dense dense dense 'V=1,L=16|32|64' vector=$v; done
for target in opencl cuda; do sort -s -k 1,1 -o "$dir/time.$target" "$dir/time.$target"; done # a group stands together
