#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/papers.sh DEVICE DIRECTORY - measures what the tables and figures of the five papers show: generates their matrices, which needs no
# files, and times on DEVICE, which is what "spmv --device" takes, what each paper compares. bench/tables.py makes text, pictures and a page
# of what this leaves in DIRECTORY:
#   clspmv, bands, hybr, koza, kuresson and others, with .json   lines of "spmv bench --json", of bench/permuted.c and two_devices.c
#   clspmv-plans.json, hybr-plans.json   lines of "spmv plan --json", for the shares of parts, each with the builder
#   cuda.json, opencl.json      lines of tools/gen/measure/measure.c
#   machine.txt                 the machine, the date and this command
# and the matrices, which are not generated again. Products with x in an image are by OpenCL, on the same device. Variables, with their
# defaults:
#   PAPERS  which ones (clspmv hybr koza kuresson grewe)
#   SIZE    small: matrices of at most 3 million nonzeros, and fewer and smaller ones of families and of generated kernels
#   LIMIT   seconds in all (580 on GPUs, else 2400), of which each paper has a part; what is not reached then is missing
#   TABLE   the tuning table for auto and cocktail (the bundled one)
#   OPENCL  the device for products by OpenCL (the first OpenCL device of DEVICE's type)
#   TWO     two devices for Kuresson's Table 14, with a comma between them (on a CPU its halves, else only one)
#   SPMV    the program (build/spmv; bench/permuted.c and others are beside it)
# A call ends after a 16th of LIMIT at the latest, so that one that hangs costs its own rows.
set -eu
if [ $# != 2 ]; then
    sed -n '3p' "$0" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
command="${PAPERS:+PAPERS=\"$PAPERS\" }${SIZE:+SIZE=$SIZE }${LIMIT:+LIMIT=$LIMIT }${TABLE:+TABLE=$TABLE }bench/papers.sh $*"
device=$1 dir=$2 papers=${PAPERS:-clspmv hybr koza kuresson grewe}
spmv=${SPMV:-build/spmv}
cores=$(getconf _NPROCESSORS_ONLN)
mkdir -p "$dir/cache"

# ---- devices -------------------------------------------------------------------------------------------------------------------------

# device_of WORD TYPE: the number of the first device by WORD, OpenCL or CUDA, of the type cpu or gpu, and what it is
device_of() {
    "$spmv" devices | awk -v by="by $1:" -v type="$2," '
        /^[0-9]/ { number = $1; sub(/^[0-9]+ +/, ""); name = $0 }
        index($0, by) { right = 1; version = $0; sub(/^ +/, "", version) }
        right && $1 == type { print number " " name ", " version; exit }
        $0 ~ /units/ { right = 0 }'
}
case $device in
host) class=host name="host, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" cl= ;;
cuda:*)
    class=gpu name="$(device_of CUDA gpu | cut -d ' ' -f 2-)"
    cl=${OPENCL:-$(device_of OpenCL gpu | cut -d ' ' -f 1)} ;;
*)
    class=gpu cl=$device
    case $("$spmv" devices | grep -A 2 -F -e "$device" | sed -n 3p) in *cpu,*) class=cpu ;; esac
    name="$(device_of OpenCL $class | cut -d ' ' -f 2-)" ;;
esac
printf '%s, on a machine with %s cores\n' "$name" "$cores" >"$dir/machine.txt"
printf '%s\nCommand: %s\n' "$(date -u '+%Y-%m-%d %H:%M UTC')" "$command" >>"$dir/machine.txt"

# ---- time --------------------------------------------------------------------------------------------------------------------------------

case $class in gpu) limit=${LIMIT:-580} ;; *) limit=${LIMIT:-2400} ;; esac
weight() { case $1 in clspmv) echo 24 ;; hybr) echo 13 ;; koza) echo 32 ;; kuresson) echo 9 ;; grewe) echo 22 ;; *) echo 0 ;; esac; }
all=0 sum=0
for p in $papers; do all=$((all + $(weight $p))); done
[ $all -gt 0 ] || { echo "bench/papers.sh: PAPERS has none of clspmv hybr koza kuresson grewe" >&2; exit 2; }
begin=$(date +%s)
left() { # left [MOST]: seconds until the deadline of this paper, at most MOST
    seconds=$((deadline - $(date +%s)))
    [ $seconds -le "${1:-$seconds}" ] || seconds=$1
    [ $seconds -gt 0 ] && echo $seconds
}
call() { # call OUT COMMAND...: appends the lines of JSON that it prints to OUT.json, whether it succeeds or not
    out=$dir/$1.json
    shift
    seconds=$(left $((limit / 16))) || { echo "no time left: $*" >>"$dir/errors"; return 0; }
    timeout "$seconds" "$@" >"$dir/part" 2>>"$dir/errors" || [ $? != 124 ] || echo "$seconds seconds were too few: $*" >>"$dir/errors"
    sed -n '/^{.*}$/p' "$dir/part" >>"$out"
}
bench() { # bench OUT DEVICE TYPE "PLAN..." FILE...
    to=$1 on=$2 type=$3
    set -f
    for p in $4; do plans="${plans:-} --plan $p"; done
    shift 4
    # shellcheck disable=SC2086
    call "$to" "$spmv" bench "$@" $plans ${TABLE:+--table "$TABLE"} --device "$on" --type "$type" --max-bytes 4G --cache "$dir/cache" --json
    set +f
    plans=
}
plan() { # plan OUT FILE BUILDER [PLAN]: the parts of the builder's plan, or of PLAN, which it made
    parts=$(timeout "$(left 60 || echo 1)" "$spmv" plan "$2" --builder "${4:-$3}" --type f32 --json 2>>"$dir/errors") || return 0
    echo "$parts" | sed "s/^{/{\"builder\": \"$3\", /" >>"$dir/$1-plans.json"
}

# ---- matrices ----------------------------------------------------------------------------------------------------------------------------

huge=' clspmv_circuit5m clspmv_eu-2005 clspmv_ga41as41h72 clspmv_in-2004 clspmv_si41ge41h72 koza_cage15 koza_asia_osm koza_dense10000
    koza_p7 koza_tsopf_rs_b2383 '
large=' clspmv_dense clspmv_protein clspmv_spheres clspmv_cantilever clspmv_wind_tunnel clspmv_ship clspmv_webbase clspmv_lp clspmv_mip1
    hybr_ship koza_chebyshev4 '
huge=" $(echo $huge) " large=" $(echo $large) "
names() { # names PAPER: its matrices, the huge ones last
    grep -v '^#' "bench/papers/$1.tsv" | cut -f 1 | awk -v huge="$huge" -v large="$large" -v small="${SIZE:-}" '
        small && index(huge large, " " $1 " ") { next }
        index(huge, " " $1 " ") { last = last "\n" $1; next }
        { print }
        END { print last }' | grep .
}
is_huge() { case $huge in *" $1 "*) return 0 ;; *) return 1 ;; esac; }
# generate: reads lines of a name and, if it is another, what "spmv gen" calls it; makes the files, several at a time, and on a GPU the huge
# ones in the background
generate() {
    sed 's/^[^ ]*$/& &/' >"$dir/names"
    if [ $class = gpu ]; then
        awk -v huge="$huge" 'index(huge, " " $1 " ")' "$dir/names" >"$dir/later"
        awk -v huge="$huge" '!index(huge, " " $1 " ")' "$dir/names" >"$dir/part"
        make_files <"$dir/later" &
        make_files <"$dir/part"
    else make_files <"$dir/names"; fi
}
make_files() {
    timeout "$(left 300)" xargs -r -P "$cores" -n 2 sh -c \
        '[ -e "$1/$2.bin" ] || { "$0" gen "$3" -o "$1/.$2.bin" && mv "$1/.$2.bin" "$1/$2.bin"; }' "$spmv" "$dir" 2>>"$dir/errors" || true
}
there() { # there NAME: whether its file exists, when it is made
    if is_huge $1; then wait; fi
    [ -e "$dir/$1.bin" ]
}
files() { # files NAME...: those that exist
    for n; do if [ -e "$dir/$n.bin" ]; then echo "$dir/$n.bin"; fi; done
}
# families: lines of a name and a matrix of random columns near the diagonal whose row lengths have the mean and the deviation of Koza's
# matrix, for each that has no imitation of its own; with fewer rows, if that is needed for at most 2 million nonzeros
families() {
    awk -F '\t' -v most=${SIZE:+0.1} '
        BEGIN { most = 2e6 * (most ? most : 1) }
        /^#/ || $10 != "-" || $2 > 1500 { next }
        {
            mean = int($2 + 0.5)
            deviation = int($3 * sqrt($2) + 0.5)
            rows = int(most / mean)
            least = int(3 * (mean + deviation * deviation / mean)) # for that deviation
            if (rows < least) rows = least
            if (rows > $4 * 1000) rows = $4 * 1000
            if (rows * mean > 5 * most) next
            print "family_" $1, "near_" rows "_" mean "_" deviation "_0"
        }' bench/papers/koza.tsv
}

# ---- the papers --------------------------------------------------------------------------------------------------------------------------

blocks='1x4 2x4 4x4 8x4 1x8 2x8 4x8 8x8'
measure_clspmv() {
    most=9000000
    [ -z "${SIZE:-}" ] || most=1000000
    for rows in 1024 8192 65536 262144 1048576; do # Figures 10 and 11: the nine formats on bands of 5 to 257 diagonals
        for width in 2 8 32 128; do [ $((rows * width)) -gt $most ] || echo band_${rows}_${width}_100; done >"$dir/bands"
        [ -s "$dir/bands" ] || continue
        generate <"$dir/bands"
        # shellcheck disable=SC2046
        bench bands "$device" f32 'dia bdia ell sell csr coo bell:b=1x4 sbell:b=1x4 bcsr:b=1x4' $(files $(cat "$dir/bands"))
    done
    names clspmv | generate
    vector=
    [ $class != gpu ] || vector=csr/L=32
    for n in $(names clspmv); do
        there $n || continue
        list="auto cocktail hyb csr $vector coo ell dia bdia sell sell:h=64 sell:h=128 sell:h=256"
        sizes=$blocks
        if is_huge $n || [ -n "${SIZE:-}" ]; then sizes='1x4 4x4'; fi
        for b in $sizes; do list="$list sbell:b=$b bell:b=$b bcsr:b=$b"; done
        bench clspmv "$device" f32 "$list" "$dir/$n.bin"
        made=$(sed -n "/\"$n\"/s/.*\"builder\": \"cocktail\", \"plan\": \"\([^\"]*\)\".*/\1/p" "$dir/clspmv.json" | tail -n 1)
        [ -z "$made" ] || plan clspmv "$dir/$n.bin" cocktail "$made"
    done
}

measure_hybr() {
    names hybr | generate
    for n in $(names hybr); do
        f=$dir/$n.bin
        there $n || continue
        for b in hyb hybr:levels=2; do plan hybr "$f" $b; done
        k=$(sed -n "/\"hyb\", .*$n[.]bin/s/.*\"plan\": \"ell:w=\([0-9]*\)+.*/\1/p" "$dir/hybr-plans.json" | head -n 1)
        widths=
        for w in ${k:+$((k * 3 / 4)) $((k - 2)) $((k - 1)) $((k + 1)) $((k + 2)) $((k + 3)) $((k + 4)) $((k * 3 / 2))}; do
            [ "$w" -le 0 ] || widths="$widths ell:w=$w+coo"
        done
        bench hybr "$device" f32 "csr hyb hybr:levels=2 hybr hybr:levels=1,k=1 hybr:levels=1,k=2 hybr:levels=1,k=3 $widths" "$f"
        [ -z "$cl" ] || bench hybr-image "$cl" f32 'hyb/*:IMG=0 hybr:levels=2/*:IMG=0 hyb/*:IMG=1 hybr:levels=2/*:IMG=1' "$f"
        call permuted "${spmv%/*}/permuted" "$device" f32 "$f"
    done
}

measure_koza() {
    { names koza2 && families; } | generate
    kernels=
    [ $class != gpu ] || kernels='csr/L=1 csr/L=32'
    list="csr $kernels hyb cmrs:h=2 cmrs:h=4 cmrs:h=8 cmrs:h=16"
    for n in $(names koza2); do is_huge $n || ! there $n || bench koza "$device" f64 "$list" "$dir/$n.bin"; done
    families | cut -d ' ' -f 1 | xargs -n 8 >"$dir/eights"
    while read -r eight; do
        # shellcheck disable=SC2046,SC2086
        set -- $(files $eight)
        [ $# = 0 ] || bench koza "$device" f64 "$list" "$@"
    done <"$dir/eights"
    for h in ${cl:+2 4 8 16}; do # his sets of parameters
        sets=
        for wg in 64 128 192 256 320 384 448 512; do
            for a in 0 1; do sets="$sets cmrs:h=$h/WG=$wg,ALIGN=$a,IMG=0 cmrs:h=$h/WG=$wg,ALIGN=$a,IMG=1"; done
        done
        # shellcheck disable=SC2046
        bench koza-sets "$cl" f64 "$sets" $(files clspmv_qcd koza_raefsky3)
    done
    for n in $(names koza2); do ! is_huge $n || ! there $n || bench koza "$device" f64 "$list" "$dir/$n.bin"; done
}

measure_kuresson() {
    names kuresson | generate
    for n in $(names kuresson); do
        f=$dir/$n.bin dense=dense
        there $n || continue
        case ${SIZE:-}$n in small*trefethen* | small*tsopf*) dense= ;; esac
        bench kuresson "${cl:-$device}" f32 \
            "$dense csr csr/L=1 csr/L=1,IMG=1 ell/V=1 ell/V=1,IMG=1 ell:rowmajor=1/L=1 coo/ATOMIC=1,PER=1 coo dia" "$f"
        [ -z "$dense" ] || OMP_NUM_THREADS=1 bench kuresson-host host f32 dense "$f"
    done
    printf 'row_50 dense_1_50\nrow_50000 dense_1_50000\n' | generate
    # shellcheck disable=SC2046
    bench kuresson "${cl:-$device}" f32 'csr coo/ATOMIC=1,PER=1' $(files row_50 row_50000)
    two=${TWO:-${cl:-$device}}
    [ $class != cpu ] || two=${TWO:-halves}
    # shellcheck disable=SC2046
    call kuresson-copied "${spmv%/*}/two_devices" "$two" $(files $(names kuresson))
}

measure_grewe() {
    runs=${cl:+opencl}
    case $device in cuda:*) runs="cuda $runs" ;; esac
    [ -n "$runs" ] || return 0
    sh bench/generator.sh prepare "$dir/gen" >&2
    names clspmv | head -n 14 | generate
    # shellcheck disable=SC2046
    matrices=$(ls -rS $(files $(names clspmv | head -n 14))) # those that take long at last, which may not be reached
    # shellcheck disable=SC2086
    set -- $runs
    for by; do
        seconds=$(left) || return 0
        seconds=$((seconds / $#))
        shift
        on=$cl
        [ $by = opencl ] || on=$device
        awk -v small="${SIZE:-}" '$1 ~ /^(dia|csr|ell|hyb|bell|sell)$/ && !(small && $4 ~ /[|]/)' "$dir/gen/time.$by" >"$dir/gen/list.$by"
        # shellcheck disable=SC2086
        (cd "$dir/gen" && timeout $seconds "$MEASURE" list.$by "$on" f32 $((seconds / 2)) $matrices) >"$dir/part" 2>>"$dir/errors" || true
        sed -n '/^{.*}$/p' "$dir/part" >>"$dir/$by.json"
    done
}

top=$(pwd)
case $spmv in /*) MEASURE=${spmv%/*}/gen/measure ;; *) MEASURE=$top/${spmv%/*}/gen/measure ;; esac
case $dir in /*) ;; *) dir=$top/$dir ;; esac
: >"$dir/errors"
for p in $papers; do
    sum=$((sum + $(weight $p))) deadline=$((begin + limit * sum / all))
    case $p in
    clspmv) old='clspmv clspmv-plans bands' ;;
    hybr) old='hybr hybr-plans hybr-image permuted' ;;
    koza) old='koza koza-sets' ;;
    kuresson) old='kuresson kuresson-host kuresson-copied' ;;
    grewe) old='cuda opencl' ;;
    *) continue ;;
    esac
    for o in $old; do rm -f "$dir/$o.json"; done
    measure_$p
    for o in $old; do
        [ ! -e "$dir/$o.json" ] || echo "$o: $(wc -l <"$dir/$o.json") lines after $(($(date +%s) - begin)) s"
    done
done
