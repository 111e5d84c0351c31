#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/oclgrind.sh WHAT [FORMAT...] - runs kernels under oclgrind, a simulator that checks every access to memory. WHAT is one of
#   races          every variant (of these formats): data races, writes of one element by several items, accesses outside of
#                  buffers, barriers that not all items reach, wrong API calls
#   uninitialized  every variant: results that depend on uninitialized memory
#   plans          every format and some variants, plans of several parts and builders in every type: both sorts of faults at once;
#                  the result must equal the host's (small integers)
#   planted        kernels with one defect each, which must be found
# oclgrind exits with 0 whatever it finds, so its output decides. The option -O0 is needed because it cannot run some instructions of
# optimised code. One process tries many variants: the JSON line of each follows oclgrind's reports about it.
set -u
cd "$(dirname "$0")/.." || exit 1
command -v oclgrind >/dev/null 2>&1 || { echo "oclgrind is missing"; exit 1; }
faults='data race|[Uu]ninitialized|Invalid (read|write|memory)|divergence|FATAL|errors generated|CL_[A-Z]|OCLGRIND|[Oo]clgrind:|No OpenCL'
mode=${1-}
[ $# = 0 ] || shift
dir=build/oclgrind/$mode # several of them may run at once
mkdir -p "$dir"
most=100000 # reports, after which oclgrind prints no more
grind() { # grind races|uninitialized COMMAND...
    if [ "$1" = races ]; then see='--data-races --uniform-writes --check-api'; else see=--uninitialized; fi
    shift
    # shellcheck disable=SC2086 # words
    oclgrind $see --max-errors $most --build-options -O0 "$@"
}
variants() { # variants races|uninitialized OUT PROGRAM FORMAT...
    kind=$1 out=$dir/$2 program=$3
    shift 3
    if [ "$kind" = races ]; then type=f32; else type=f64; fi
    grind "$kind" "$program" self-check --brief --json --device 0 --type $type "$@" >"$out" 2>&1
}
# Prints the reports for each variant, and their number; fails if there are any, or if nothing was tried.
judge() { # judge OUT STATUS
    awk -v faults="$faults" '
        /^\{"device": / {
            tried++
            if (n) {
                variant = $0
                sub(/.*"type": "/, "", variant); sub(/", "plan": "/, " ", variant); sub(/", "variant": "/, "/", variant)
                sub(/".*/, "", variant)
                printf "%d reports: %s\n%s", n, variant, text
                hit++
            }
            n = 0; text = ""
            next
        }
        $0 ~ faults { n++; all++; room = n <= 3 ? 9 : 0 }
        room > 0 { text = text "    " $0 "\n"; room-- }
        / variants: / { counts = $0 }
        END {
            if (n) printf "%d reports after the last variant\n%s", n, text
            print counts
            printf "%d variants, %d reports in %d of them\n", tried, all, hit
            exit !(tried && !all && counts ~ /: [1-9][0-9]* usable, [0-9]+ refused, 0 failed, 0 wrong;/)
        }' "$1" && [ "$2" = 0 ]
}

# Writes a matrix with rows of 1 to 3 nonzeros, some of 60 and one of 300, so that runs of csr have long rows and rows in pieces.
skew() {
    awk 'BEGIN { srand(1); n = 0
        for (r = 1; r <= 70; r++) {
            width = r == 35 ? 300 : r % 20 == 7 ? 60 : r % 9 == 0 ? 0 : 1 + r % 3
            for (k = 0; k < width; k++) entry[++n] = r " " 1 + (k * 5 + r * 7 * (width < 300)) % 301 " " 1 + (k + r) % 5
        }
        print "%%MatrixMarket matrix coordinate real general"; print "70 301 " n
        for (k = 1; k <= n; k++) print entry[k] }' >$dir/skew.mtx
}

# Writes a matrix with 70000 columns: rows of adjacent ones, and some that have far ones as well.
far() {
    awk 'BEGIN { rows = 24; n = 0
        for (r = 1; r <= rows; r++) {
            for (k = 0; k < 50; k++) entry[++n] = r " " r + k " " 1 + (k + r) % 5
            for (k = 1; k <= 7 && r > 12; k++) entry[++n] = r " " k * 9990 + r " " 1 + k % 3
        }
        print "%%MatrixMarket matrix coordinate real general"; print rows " 70000 " n
        for (k = 1; k <= n; k++) print entry[k] }' >$dir/far.mtx
}

case $mode in
races)
    variants races races.out build/spmv "$@"
    judge $dir/races.out $?
    ;;
uninitialized)
    # oclgrind 21.10 wrongly reports two things as uninitialized; both faults are in its src/plugins/Uninitialized.cpp:
    # - The results of read_imagef() and similar functions: it interprets the shadow of the argument, which is a pointer, as an Image
    #   (isCleanImage). Only variants with IMG=1 had such reports. These run with one change: the read takes the same element from
    #   the buffer.
    # - Buffers that no host call wrote: the shadow of a released buffer stays, and if a larger buffer gets its number, everything
    #   beyond the old size is considered uninitialized for ever (kernelBegin, ShadowMemory::load). The sums that csr's pieces leave
    #   for the second launch were reported from byte 16 on, after another buffer of 16 bytes; a process with only that product had
    #   no report. So no buffer is released here.
    read='as_double(read_imageui(image, (int)(x0 + (i))).xy)'
    grep -qF "$read" kernels/common.cl || { echo "kernels/common.cl no longer reads images as this script expects"; exit 1; }
    SPMV_DEFECT="$read=>x[i]" SPMV_KEEP=1
    export SPMV_DEFECT SPMV_KEEP
    variants uninitialized uninitialized.out build/spmv-defect "$@"
    judge $dir/uninitialized.out $?
    ;;
planted)
    n=0 found=0 most=100
    plant() { # plant RUN REPORT DEFECT WHAT COMMAND...: runs the command on kernels with the defect, which must be reported
        n=$((n + 1))
        out=$dir/planted$n.out kind=$1 report=$2 what=$4
        SPMV_DEFECT=$3
        export SPMV_DEFECT
        shift 4
        "$@" "$kind" "planted$n.out"
        if ! judge "$out" 0 >/dev/null && grep -v '^{' "$out" | grep -E "$faults" | grep -qE "$report"; then
            found=$((found + 1))
            echo "found      $what: $(grep -oE "$report" "$out" | head -n 1)"
        else
            echo "NOT FOUND  $what"
            grep -E "$faults" "$out" | head -n 5
        fi
        unset SPMV_DEFECT
    }
    all() { variants "$2" "$3" build/spmv-defect "$1"; }   # all FORMAT RUN OUT
    one() { grind "$2" build/spmv-defect mul $dir/skew.mtx --device 0 --type f32 --plan "$1" >"$dir/$3" 2>&1; }   # one PLAN RUN OUT
    skew
    barrier='barrier(CLK_LOCAL_MEM_FENCE);' pieces=csr:run=32/STREAM=1,WG=64
    plant races 'data race' "$barrier=>" 'no barriers, in any variant' all dia
    plant uninitialized 'Uninitialized' 'acc[w] = 0;=>' 'sums that begin with old contents' one dia
    plant races 'data race' "$barrier=>" 'no barriers' one csr/L=4
    plant races 'Write-write data race' 'put_at((y) + (i), =>put_at((y) + 0 * (i), ' 'items that write one element' one csr
    plant races 'Invalid read' '(x) += x0 + =>(x) += x0 + 100000 + ' 'a read outside a buffer' one ell
    plant races 'Invalid write' 'put_at((y) + (i), =>put_at((y) + (i) + 100000, ' 'a write outside a buffer' one sell
    plant races 'divergence' "$barrier=>if (get_local_id(0)) $barrier" 'a barrier that not all items reach' one bcsr/L=4
    plant races 'data race' 'EXCHANGE(place, (WORD)0, (WORD)0)=>*place' 'a plain load beside atomics' one coo/ATOMIC=1
    plant races 'data race' 'queue[atomic_inc(&waiting)]=>queue[waiting++]' 'a queue without atomics' one csr:run=1024/STREAM=1,WG=32
    plant races 'CL_INVALID_KERNEL_NAME' 'void spmv(=>void other(' 'a kernel that does not exist' one dia
    plant uninitialized 'Uninitialized' 'scratch[w * WG + lid] = acc[w];=>' 'local memory that is not written' one cmrs/L=4
    plant races 'data race' "$barrier=>" 'lanes that do not wait for each other' one tcsr:tile=512/STREAM=1
    plant uninitialized 'uninitialized' 'waiting = 0;=>;' 'a count that is not set' one $pieces
    plant uninitialized 'Uninitialized' 'CARRY(run) = partial[0];=>;' 'sums for the second launch that are not written' one $pieces
    echo "$found of $n planted defects found"
    [ "$found" = "$n" ]
    ;;
plans)
    # every format by its name, then plans of several parts and variants whose kernels take other paths
    formats=$(build/spmv plan --list | sed -n 's/^format \([^ ]*\).*/\1/p')
    [ -n "$formats" ] || { echo "spmv plan --list names no format"; exit 1; }
    plans="$formats"'
           hyb:rows=1 hyb-csr:rows=1 csr:rows=sorted ell:w=2+coo
           sell:h=4,rows=sorted,sigma=16 sell:grow=0.2 dia:d=0.6+csr:rows=nonempty bcsr:b=3x3 cmrs:h=16,sort=1 cmrs:wide=1
           csr:run=32/STREAM=0 csr:run=32/STREAM=1,WG=64,UNROLL=2 csr:run=128,idx=16,rows=nonempty/STREAM=1,WG=128
           csr:run=1024/STREAM=1,WG=32 csr:run=32/STREAM=0,FINISH=1 csr:run=33,rows=nonempty/STREAM=1,WG=64,FINISH=1
           coo/ATOMIC=1 coo/ATOMIC=2 ell:idx=16 ell:rowmajor=1/L=2 sell:idx=16 bcsr:b=3x3,idx=16 dense/L=8,V=4,SEQ=4 ell/V=4,L=2
           sell/STAGE=1,L=2,V=4 sell:grow=0.2/STAGE=1 bdia/STAGE=1,V=4,L=2 dia/L=4,V=8
           bcsr/L=4,SEQ=4 bell/L=2,SEQ=4,V=4 cmrs/STAGE=1,ALIGN=1,L=8,SEQ=4 tcsr:tile=512/STREAM=0,FINISH=1
           tcsr:tile=1024,rows=nonempty/STREAM=1,UNROLL=16 tcsr:tile=512,idx=16/STREAM=1 tcsr:idx=16/STREAM=0'
    skew
    build/spmv gen gr_9_8 -o $dir/grid.mtx >/dev/null || exit 1
    build/spmv gen ch4-5-b2 -o $dir/complex.mtx >/dev/null || exit 1
    far
    rc=0 run=0
    for m in skew grid complex far; do
        rows=$(awk '!/^%/ { print $1; exit }' $dir/$m.mtx)
        { echo '%%MatrixMarket matrix array real general'; echo "$rows 1"; yes 3 | head -n "$rows"; } >$dir/y.mtx
        for plan in $plans; do
            case $m-$plan in far-tcsr*) ;; far-*) continue ;; esac
            type=$(echo "f64 f32 mixed" | cut -d ' ' -f $((run % 3 + 1)))
            run=$((run + 1))
            # oclgrind does not know that clEnqueueFillBuffer, which a conversion on the device calls, initializes memory
            if [ $((run % 2)) = 0 ]; then convert=device see=; else convert=host see=--uninitialized; fi
            set -- mul $dir/$m.mtx --plan "$plan" --type "$type" --alpha 2 --beta -1 --y $dir/y.mtx --convert $convert
            build/spmv "$@" -o $dir/host.mtx || { echo "$m $plan $type: failed on the host"; rc=1; continue; }
            rm -f $dir/device.mtx
            # shellcheck disable=SC2086 # one word or none
            oclgrind --data-races --uniform-writes --check-api $see --build-options -O0 \
                build/spmv "$@" --device 0 -o $dir/device.mtx >$dir/plan.out 2>&1
            if ! grep -qE "$faults" $dir/plan.out && cmp -s $dir/host.mtx $dir/device.mtx; then
                echo "ok   $m $plan $type, converted by the $convert"
            else
                echo "FAIL $m $plan $type, converted by the $convert"
                grep -E -A 8 "$faults" $dir/plan.out | head -n 30
                rc=1
            fi
        done
    done
    echo "$run products"
    exit $rc
    ;;
*) echo "usage: tests/oclgrind.sh races|uninitialized|plans|planted [FORMAT...]" >&2; exit 2 ;;
esac
