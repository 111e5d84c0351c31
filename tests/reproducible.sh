#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/reproducible.sh [DEVICE [TYPE...]] - "spmv mul --reproducible" must write the same bytes on the host, with one thread and with
# all and at every level of vector instructions that this machine has, and on an OpenCL device (default 0), with several group sizes and
# other knobs: in every format that has reproducible products, with and without row lists, in f64 and f32 (TYPE), with beta 0
# and another beta. RUN is a prefix of the program on the device: RUN="oclgrind --build-options -O0". MOST=32: only groups of 32, for a
# device that takes no larger ones. ZEROS=1: the device may write -0 for 0.
# The data are reals over many binades, so that another order of additions or another rounding shows; the script checks that it does.
set -u
cd "$(dirname "$0")/.." || exit 1
device=${1:-0}
[ $# = 0 ] || shift
types=${*:-f64 f32}
dir=build/reproducible-$device
rm -rf "$dir"
mkdir -p "$dir" || exit 1
vector() { # vector SEED ROWS
    awk -v s="$1" -v n="$2" 'BEGIN { print "%%MatrixMarket matrix array real general"; print n " 1"
        for (i = 0; i < n; i++) { s = (s * 16807) % 2147483647; printf "%.17g\n", (s / 2147483647 - 0.5) * 2 ^ (s % 9 - 4) } }'
}
# A matrix with rows of 0 to 40 nonzeros on both sides of the diagonal and one of 200, which every format can store, some with fill.
awk 'BEGIN { s = 42; m = 150; c = 203
    for (r = 1; r <= m; r++)
        for (j = 1; j <= c; j++)
            if (r == 77 ? j < 201 : r % 11 && j > r - 2 * (r % 21) && j < r + 3 && (r * j) % 7 != 3) {
                s = (s * 16807) % 2147483647
                entry[++n] = sprintf("%d %d %.17g", r, j, (s / 2147483647 - 0.5) * 2 ^ (s % 21 - 10))
            }
    print "%%MatrixMarket matrix coordinate real general"; print m " " c " " n
    for (k = 1; k <= n; k++) print entry[k] }' >"$dir/a.mtx"
vector 7 203 >"$dir/x.mtx"
vector 9 150 >"$dir/y.mtx"
passed=0 failed=0
count() { # count STATUS WHAT
    if [ "$1" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "FAIL $2"; fi
}
product() { # product OUT PROGRAM OPTIONS...
    out=$1 program=$2
    shift 2
    rm -f "$dir/$out"
    $program mul "$dir/a.mtx" --x "$dir/x.mtx" "$@" -o "$dir/$out" >"$dir/said" 2>&1 && [ -s "$dir/$out" ] ||
        { cat "$dir/said"; return 1; }
}
same() {
    if [ "${ZEROS:-}" ]; then sed 's/^-0$/0/' "$dir/$1" | cmp -s "$dir/host" -; else cmp -s "$dir/host" "$dir/$1"; fi
}
levels=
for level in plain avx2 neon; do # the host chooses the best of them by itself
    if product level build/spmv --plan csr --simd $level >/dev/null; then levels="$levels $level"
    else echo "not usable here: level $level"; fi
done
case $levels in *plain*) ;; *) cat "$dir/said"; exit 1 ;; esac
formats=$(build/spmv plan --list | sed -n 's/^format \([^ ]*\) .*reproducible.*/\1/p')
[ -n "$formats" ] || { echo "spmv plan --list names no format with reproducible products"; exit 1; }
plans_of() { # plans_of TYPE: every format with one group size, which differs between the types; and knobs that must not change the order
    case $1 in
    f64) sizes='32 256 64 512 32 128 64 256' more='csr:rows=sorted/WG=64 ell:rows=sorted/WG=32' ;;
    *) sizes='256 32 128 64' more='csr:rows=nonempty/WG=32 sell:rows=sorted/WG=64
        ell/WG=32,V=4 sell/WG=128,UNROLL=4 dia/WG=64,V=4 bdia/WG=128,V=4 bell/WG=32,V=1 sbell/WG=256,SEQ=4' ;;
    esac
    # shellcheck disable=SC2086 # words
    echo $formats | awk -v sizes="$sizes" '{ n = split(sizes, size, " "); for (i = 1; i <= NF; i++) print $i "/WG=" size[(i - 1) % n + 1] }'
    echo "$more"
}
for type in $types; do
    for plan in $(plans_of "$type"); do
        if [ "${MOST:-}" ]; then plan=$(echo "$plan" | sed "s/WG=[0-9]*/WG=$MOST/"); fi
        for factors in '--alpha -1.7 --beta 0' "--alpha 1.7 --beta -0.3 --y $dir/y.mtx"; do
            what="$type $plan ${factors%% --y*}"
            # shellcheck disable=SC2086 # words
            set -- --type "$type" --reproducible $factors
            product host build/spmv "$@" --plan "${plan%/*}"
            count $? "$what on the host"
            OMP_NUM_THREADS=1 product one build/spmv "$@" --plan "${plan%/*}" && same one
            count $? "$what: one thread gives other bits than all"
            for level in $levels; do
                product level build/spmv "$@" --plan "${plan%/*}" --simd "$level" && same level
                count $? "$what: level $level gives other bits than the best"
            done
            product device "${RUN:-} build/spmv" "$@" --plan "$plan" --device "$device" && same device
            count $? "$what: $device gives other bits than the host"
        done
    done
    # these must differ: a sum in another order, and one without fused multiply-adds
    product host build/spmv --type "$type" --reproducible --plan csr && product order build/spmv --type "$type" --plan csr &&
        ! same order
    count $? "$type: csr in another order gives the same bits, so these data show nothing"
    SPMV_DEFECT='fma((SUM)(a), (SUM)(b), (acc))=>(acc) + (a) * (b)'
    export SPMV_DEFECT
    product rounded "${RUN:-} build/spmv-defect" --type "$type" --reproducible --plan csr --device "$device" && ! same rounded
    count $? "$type: products that are rounded before they are added give the same bits"
    unset SPMV_DEFECT
done
rm -f "$dir"/host "$dir"/one "$dir"/device "$dir"/level
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
