#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/gen/tune.sh - what "spmvgen tune" does (section 5 of Grewe and Lokhmotov 2011): tries the kernels that spmvgen can make of a
# description, with their knobs, on a device, and writes the best.
#     spmvgen tune DESCRIPTION [--device DEVICE] [--type f32|f64] [--set CONSTANT=VALUE]... [-o OUT] MATRIX...
# DEVICE is as in spmv_device_create: "cuda:0"; default: the first GPU, else the first device. OUT gets the best kernel, with its parameters
# and its time in a comment at the end. A description that is among formats/ replaces the library's kernel of that format, and is compared
# with it; any other must be one that --target library accepts. Matrices are Matrix Market files or spmv's own (.bin). Needs a C compiler.
set -eu
usage() {
    sed -n 's/^#  *\(spmvgen tune .*\)/usage: \1/p' "$0" >&2
    exit 2
}
absolute() { case $1 in /*) echo "$1" ;; *) echo "$PWD/$1" ;; esac; }
description='' device='' type=f64 out='' constants='' matrices=''
while [ $# -gt 0 ]; do
    case $1 in
    --device | --type | --set | -o)
        [ $# -gt 1 ] || usage
        case $1 in
        --device) device=$2 ;;
        --type) type=$2 ;;
        --set) constants="$constants $2" ;;
        -o) out=$(absolute "$2") ;;
        esac
        shift ;;
    -*) usage ;;
    *) if [ -z "$description" ]; then description=$(absolute "$1"); else matrices="$matrices $(absolute "$1")"; fi ;;
    esac
    shift
done
[ -n "$matrices" ] || usage
for m in "$description" $matrices; do [ -r "$m" ] || { echo "spmvgen tune: $m cannot be read" >&2; exit 1; }; done
case $type in f32 | f64) ;; *) usage ;; esac
cd "$(dirname "$0")/../.."
. tools/gen/arguments.sh
name=$(basename "$description" .fmt)
target=opencl
case $device in cuda*) target=cuda ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
settings=
for c in $constants; do settings="$settings --set $c"; done

# ---- the plan whose kernel is replaced, and knobs that the generated kernel does not have ----
arguments=$(library_arguments "$name")
kernel=$name plan=$name fixed='' extra=
constant() { echo "$constants" | tr ' ' '\n' | sed -n "s/^$1=//p" | tail -n 1; } # constant NAME: its value, if it was set
keys=
key() { keys="$keys${keys:+,}$1"; }
if [ -n "$arguments" ] && cmp -s "$description" "formats/$name.fmt"; then
    set -f
    arguments="--set arguments=$arguments"
    case $name in
    sellv) kernel=sell plan=sell fixed=V=1,STAGE=0, && key grow=0.2 ;;
    sell | bdia) fixed=V=1,STAGE=0, ;;
    ell | dia | bell | dense) fixed=V=1, ;;
    cmrs) # without a key, cmrs is the name of a builder, which chooses the height
        fixed=STAGE=1,
        [ "$(constant HEIGHT)" ] || key h=4 ;;
    coo) fixed=ATOMIC=1, ;;
    esac
    if [ "$(constant BH)$(constant BW)" ]; then
        bh=$(constant BH) bw=$(constant BW)
        key "b=${bh:-4}x${bw:-4}"
    fi
    [ "$(constant IDX)" != 16 ] || key idx=16
    [ -z "$(constant H)" ] || key "h=$(constant H)"
    [ -z "$(constant HEIGHT)" ] || key "h=$(constant HEIGHT)"
    [ "$(constant PACKED)" != 0 ] || key wide=1
    plan=$plan${keys:+:$keys}
else
    arguments=
    # shellcheck disable=SC2086 # settings are words
    build/spmvgen "$description" --target library $settings -o "$work/own.h"
    extra="-DSPMV_FORMATS_EXTRA=\"$work/own.h\""
fi

# ---- the kernels ----
sets() { for o; do printf ' --set %s' "$o"; done; } # sets OPTION=VALUE...: the words by which spmvgen takes them
grid() { # grid TEXT: what to try with a kernel: lanes, and sizes of groups; one name=value|value a line
    sed -n 's/.* L=\([0-9|]*\).*/L=\1/p' "$work/legal" | head -n 1
    echo 'WG=64|256|512'
}
# shellcheck disable=SC2086
build/spmvgen "$description" --target $target --list $settings >"$work/legal"
: >"$work/list"
[ -n "$extra" ] || echo "$name library $plan - 1 -" >>"$work/list"
n=0
sed -n 's/^  strategy=/strategy=/p' "$work/legal" >"$work/options"
while read -r options; do
    case $options in *reuse=image* | strategy=sequential*) continue ;; esac # the library passes neither
    within=$(echo "$options" | sed 's/.*within=\([0-9]*\).*/\1/')
    [ "$within" = 1 ] || [ -z "$extra" ] || continue # for the library's formats the arrays are rearranged while they are timed
    n=$((n + 1))
    # shellcheck disable=SC2046,SC2086
    build/spmvgen "$description" --target $target $settings $arguments $(sets $options) -o "$work/$n.cl"
    echo "$n $options" >>"$work/kernels"
    grid | sed "s|.*|$name tried $plan $fixed& $within $kernel=$work/$n.cl|" >>"$work/list"
done <"$work/options"

# ---- first all kernels, then more knobs of the best one ----
cc=${CC:-cc}
# shellcheck disable=SC2086
$cc -std=c99 -D_POSIX_C_SOURCE=200809L -O1 -DSPMV_NO_SIMD -I. ${extra:+"$extra"} tools/gen/measure/measure.c -o "$work/measure" -ldl -lm
# Prints "microseconds kernel knobs", the best first: geometric means over the matrices, of what ran on all of them and was right. The
# kernel is a number, "-": the library's.
summary() {
    awk '
        function field(name,   at, rest) {
            at = index($0, "\"" name "\":")
            rest = substr($0, at + length(name) + 3)
            if (sub(/^"/, "", rest)) sub(/".*/, "", rest)
            else sub(/[,}].*/, "", rest)
            return rest
        }
        field("worst") + 0 <= 1 {
            kernel = field("kernel")
            sub(/.*\//, "", kernel)
            sub(/\.cl$/, "", kernel)
            what = kernel " " field("knobs")
            if (field("knobs") == "") what = what "-"
            matrix = field("matrix")
            if (!(matrix in seen)) { seen[matrix] = 1; matrices++ }
            if ((what, matrix) in seen) next # the second round repeats some
            seen[what, matrix] = 1
            sum[what] += log(field("us"))
            count[what]++
        }
        END { for (what in sum) if (count[what] == matrices) printf "%.3f %s\n", exp(sum[what] / matrices), what }' "$1" | sort -n
}
# shellcheck disable=SC2086
measure() { "$work/measure" "$work/list" "$device" $type 600 $matrices >>"$work/times" 2>"$work/err" || { cat "$work/err" >&2; exit 1; }; }
measure
summary "$work/times" >"$work/sorted"
best=$(awk '$2 != "-" { print $2; exit }' "$work/sorted")
[ -n "$best" ] || { echo "spmvgen tune: no kernel could be measured:" >&2; cat "$work/err" >&2; exit 1; }
found=$(awk '$2 != "-" { print $3; exit }' "$work/sorted")
options=$(sed -n "s/^$best //p" "$work/kernels")
within=$(echo "$options" | sed 's/.*within=\([0-9]*\).*/\1/')
# shellcheck disable=SC2046,SC2086
build/spmvgen "$description" --target $target --list $settings $(sets $options) >"$work/legal"
: >"$work/list"
lanes=$(echo "$found" | sed -n 's/.*\(L=[0-9]*\).*/\1,/p')
for more in 'WG=64|128|256' 'UNROLL=2|4|8' 'SEQ=4' 'NT=1' 'SHUF=1'; do
    grep -q "^  knobs:.* ${more%%=*}=" "$work/legal" || continue # one that the library's kernel has and this one ignores
    echo "$name tried $plan $fixed$lanes$more $within $kernel=$work/$best.cl" >>"$work/list"
done
measure
summary "$work/times" >"$work/sorted"

# ---- the result ----
knobs=$(awk '$2 != "-" { print $3; exit }' "$work/sorted")
time=$(awk '$2 != "-" { print $1; exit }' "$work/sorted")
library=$(awk '$2 == "-" { print $1; exit }' "$work/sorted")
report() {
    echo "$time us a product, $type${library:+; the library's kernel with its defaults: $library us}"
    echo "options: $options"
    echo "knobs: $knobs"
    echo "device: ${device:-default}; geometric mean of:$(for m in $matrices; do printf ' %s' "$(basename "$m")"; done)"
}
report
echo "tried: $(wc -l <"$work/sorted")"
[ -n "$out" ] || exit 0
# shellcheck disable=SC2046,SC2086
build/spmvgen "$description" --target $target $settings $arguments $(sets $options) \
    $(sets $(echo "$knobs" | tr ',' '\n' | grep -E '^(WG|L|UNROLL|SEQ|NT|SHUF)=')) -o "$out"
report | sed '1s/^/\/* Tuned: /; 2,$s/^/ * /; $s/$/ *\//' >>"$out"
