#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/host.sh [bands] [compilers] [devices] - measures, on banded matrices that it makes itself, and prints (all three by default)
#   bands      the bytes of a product over its time, over the rate at which memory is read, for every format beyond the caches; and what
#              products that take microseconds gain or lose by a second thread
#   compilers  the time of the library compiled with -O3 -march=native over that of -O2, in cache
#   devices    the time of OpenCL devices that are this processor over that of the host, for the same plans and default knobs
# "make bench-host" writes that to bench/results/host-bands.txt. Rows stay in build/host.
# Variables, with their defaults: RUN, a prefix of each timed command, such as "chrt -f 5" on a machine that others use, too; ROUNDS, of
# which the fastest counts (2; devices once); TYPES ("f64 f32"); DEVICES, as "spmv --device" takes them (pthread, which is PoCL); INTEL,
# the file libintelocl.so of the PyPI package intel-opencl-rt, whose device is then measured, too.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
out=build/host
flags='-std=c99 -D_POSIX_C_SOURCE=200809L -I. -fopenmp'
mkdir -p "$out/vendors"
[ $# -gt 0 ] || set -- bands compilers devices
build() { # build NAME FLAGS...: the library, unless it is newer than the headers, and the program with these flags
    name=$1
    shift
    if [ ! -e "$out/library-$name.o" ] || [ "$(find spmv*.h spmv -name '*.h' -newer "$out/library-$name.o")" ]; then
        # shellcheck disable=SC2086
        "${CC:-cc}" $flags "$@" -c tools/library.c -o "$out/library-$name.o.new"
        mv "$out/library-$name.o.new" "$out/library-$name.o"
    fi
    # shellcheck disable=SC2086
    "${CC:-cc}" $flags -O2 bench/host.c "$out/library-$name.o" -o "$out/host-$name" -ldl -lz -lm
}
measure() { # measure NAME DEVICE SET...: with the program of that name
    name=$1 device=$2
    shift 2
    for set; do
        for type in ${TYPES:-f64 f32}; do
            # shellcheck disable=SC2086
            ${RUN:-} "$out/host-$name" "$name" "$device" "$type" "$set" >>"$out/rows.json"
        done
    done
}

for table; do
    case $table in bands | compilers | devices) ;; *) echo "usage: bench/host.sh [bands] [compilers] [devices]" >&2; exit 2 ;; esac
done
: >"$out/rows.json"
build O2 -O2
case " $* " in *' compilers '*) build O3 -O3 -march=native ;; esac
round=1
while [ "$round" -le "${ROUNDS:-2}" ]; do
    measure O2 host small cache memory
    case " $* " in *' compilers '*) measure O3 host cache ;; esac # from memory, instructions count for less
    case "$round $* " in "1 "*devices*)
        for device in ${DEVICES:-pthread}; do measure O2 "$device" cache memory; done
        if [ "${INTEL:-}" ]; then
            echo "$INTEL" >"$out/vendors/intel.icd"
            (
                export OCL_ICD_VENDORS="$PWD/$out/vendors/"
                measure O2 0 cache memory
            )
        fi ;;
    esac
    round=$((round + 1))
done
processor() { sed -n "s/^$1[^:]*: //p" /proc/cpuinfo | head -n 1; }
echo "Machine: $(processor 'model name'), $(nproc) cores; $(date -u +%Y-%m-%d); $("${CC:-cc}" --version | head -n 1)"
changed=$(git diff --quiet HEAD -- "spmv*.h" spmv 2>/dev/null || echo ", with changes")
echo "Commit: $(git rev-parse --short HEAD 2>/dev/null || echo none)$changed"
case " $* " in *' devices '*) echo "OpenCL devices: ${DEVICES:-pthread}${INTEL:+, and then that of Intel's intel-opencl-rt}" ;; esac
echo "Command: ${RUN:+RUN=\"$RUN\" }${ROUNDS:+ROUNDS=$ROUNDS }${INTEL:+INTEL=... }sh bench/host.sh $*"
echo "Products in a row by the wall clock: the fastest of five medians that alternate with reading, and of ${ROUNDS:-2} such runs."
echo
python3 bench/host.py "$out/rows.json" "$@"
