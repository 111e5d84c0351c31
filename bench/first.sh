#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/first.sh DIRECTORY [FILE.bin...] - what a process waits for its first product, each matrix in a process of its own, on DEVICE
# (cuda:0): with the kernels that ship compiled and without (ptx, nvrtc), cold (no cache of CUDA's), with the driver's and NVRTC's own
# caches warm, and with a folder of the library's own (spmv_device_desc.cache) and no cache of CUDA's. FILEs are those of spmv convert; by
# default 12 matrices of spmv gen. The table has the median of ROUNDS (3) processes, in ms: spmv_create and the first product. Lines of JSON
# are in DIRECTORY/first.json. TYPES: "f64 f32". FIRST and FIRST_NVRTC: bench/first.c that is already built, the latter with -DSPMV_NO_PTX;
# SPMV: the command line.
set -eu
if [ $# = 0 ]; then
    echo "usage: bench/first.sh DIRECTORY [FILE.bin...]" >&2
    exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
out=$1
shift
mkdir -p "$out"
build() { # build NAME FLAG...
    name=$1
    shift
    ${CC:-cc} -std=c99 -D_POSIX_C_SOURCE=200809L -O2 -DSPMV_NO_SIMD "$@" "$root/bench/first.c" -o "$out/$name" -ldl -lm
}
[ "${FIRST:-}" ] || { build first && FIRST=$out/first; }
[ "${FIRST_NVRTC:-}" ] || { build first-nvrtc -DSPMV_NO_PTX && FIRST_NVRTC=$out/first-nvrtc; }
if [ $# = 0 ]; then
    . "$root/bench/programs.sh"
    spmv_programs
    for m in clspmv_dense clspmv_protein clspmv_cantilever clspmv_qcd clspmv_ship clspmv_economics clspmv_epidemiology clspmv_circuit \
        clspmv_webbase clspmv_lp poisson2d_500 mesh3d_20_1; do
        [ -e "$out/$m.bin" ] || "$SPMV" gen $m -o "$out/$m.bin" >/dev/null
        set -- "$@" "$out/$m.bin"
    done
fi
kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT
one() { # one STATE KERNELS PROGRAM FILE TYPE [CACHE]: adds a line of JSON
    state=$1 kernels=$2 program=$3 file=$4 type=$5
    shift 5
    "$program" "$file" "$type" "${DEVICE:-cuda:0}" "$@" |
        sed "s/^{/{\"state\": \"$state\", \"kernels\": \"$kernels\", /" >>"$out/first.json" ||
        echo "failed: $state $kernels $file $type" >&2
}
: >"$out/first.json"
for file; do
    for type in ${TYPES:-f64 f32}; do
        for kernels in ptx nvrtc; do
            program=$FIRST
            [ $kernels = ptx ] || program=$FIRST_NVRTC
            own=$kept/$(basename "$file").$type.$kernels
            mkdir -p "$own" "$kept/driver"
            # NVRTC's cache lies in HOME
            (export CUDA_CACHE_PATH=$kept/driver HOME=$kept/driver && "$program" "$file" "$type" "${DEVICE:-cuda:0}" >/dev/null) || true
            (export CUDA_CACHE_DISABLE=1 HOME=$kept/none && "$program" "$file" "$type" "${DEVICE:-cuda:0}" "$own" >/dev/null) || true
            i=0
            while [ $i -lt "${ROUNDS:-3}" ]; do
                rm -rf "$kept/none"
                (export CUDA_CACHE_DISABLE=1 HOME=$kept/none && one cold $kernels "$program" "$file" "$type")
                (export CUDA_CACHE_PATH="$kept/driver" HOME="$kept/driver" && one driver $kernels "$program" "$file" "$type")
                rm -rf "$kept/none"
                (export CUDA_CACHE_DISABLE=1 HOME=$kept/none && one own $kernels "$program" "$file" "$type" "$own")
                i=$((i + 1))
            done
        done
    done
done
python3 - "$out/first.json" <<'END'
import json, os, statistics, sys
rows = {}
for r in map(json.loads, open(sys.argv[1])):
    key = os.path.basename(r['matrix'])[:-4], r['type']
    rows.setdefault(key, {'plan': r['plan']}).setdefault((r['kernels'], r['state']), []).append(r)
heads = [(k, s) for k in ('ptx', 'nvrtc') for s in ('cold', 'driver', 'own')]
print('create to the end of the first product, ms; in parentheses: programs compiled from source')
print('%-22s %-4s' % ('matrix', 'type'), *('%14s' % ' '.join(h) for h in heads), ' plan')
took = {h: [] for h in heads}
for key in sorted(rows):
    cells = []
    for h in heads:
        got = rows[key].get(h)
        ms = statistics.median(r['create'] + r['first'] for r in got) if got else None
        if got: took[h].append(ms)
        cells.append('%9.1f (%2d)' % (ms, got[0]['compiled']) if got else '-')
    print('%-22s %-4s' % key, *('%14s' % c for c in cells), '', rows[key]['plan'])
print('%-27s' % 'median', *('%14s' % ('%9.1f     ' % statistics.median(took[h]) if took[h] else '-') for h in heads))
END
