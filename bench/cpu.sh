#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/cpu.sh PEERS.cpp FILE... - host and OpenCL CPU products beside the peers' on this machine; the table goes to standard
# output. PEERS.cpp is the peers' program (plain OpenMP CSR, Eigen, librsb, ViennaCL), which reads what bench/csrb writes; FILE is
# Matrix Market, .gz or not. Needs libeigen3-dev, librsb-dev and libviennacl-dev.
# Variables: PLANS, the plans tried; DEVICE (0); PREFIX, put before each timed command ("chrt -f 5" on a machine that others
# use too); TYPES ("f64 f32"); ROUNDS (2), of which each side's fastest counts. What is measured stays in build/cpu, and is
# not measured again, nor compiled, while it is there.
set -eu
peers=$1
shift
root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/build/cpu
mkdir -p "$out/m"
PLANS=${PLANS:-"csr csr:run=1024 csr:run=1024,idx=16 csr:run=4096,idx=16 ell ell:idx=16 sell sell:idx=16 sell:h=8 sell:rows=sorted,sigma=256
    bcsr:b=3x3 bcsr:b=3x3,idx=16 bcsr:b=6x6,idx=16 sbell:b=3x3,idx=16 bell:b=3x3,idx=16 dia bdia coo cmrs hyb hybr"}
TYPES=${TYPES:-f64 f32}
flags='-O3 -march=native -fopenmp'
# shellcheck disable=SC2086
[ -x "$out/spmv" ] ||
    "${CC:-cc}" -std=c99 -D_POSIX_C_SOURCE=200809L -I"$root" $flags "$root/tools/spmv.c" -o "$out/spmv" -lOpenCL -lz -lm
"${CC:-cc}" -std=c99 -O2 -I"$root" "$root/bench/csrb.c" -o "$out/csrb"
# shellcheck disable=SC2086
[ "$out/peers" -nt "$peers" ] ||
    "${CXX:-c++}" $flags -DVIENNACL_WITH_OPENCL -w "$peers" -o "$out/peers" -I/usr/include/eigen3 -lrsb -lOpenCL
# gcc 12 makes gathers of the plain loop with -march=native, which are slower than no vectors at all in f32
[ "$out/plain" -nt "$peers" ] || "${CXX:-c++}" -O2 -fopenmp -w "$peers" -o "$out/plain" -I/usr/include/eigen3 -lrsb
plans=
for p in $PLANS; do plans="$plans --plan $p"; done
round=1
while [ "$round" -le "${ROUNDS:-2}" ]; do
    for f; do
        name=$(basename "$f" .gz)
        name=$(basename "$name" .mtx)
        set_of=$out/$name.$round
        if [ -s "$set_of.ours.json" ] && [ -s "$set_of.peers.json" ] && [ -s "$set_of.plain.json" ]; then continue; fi
        case $f in
        *.gz) gzip -dc "$f" >"$out/m/$name.mtx" ;;
        *) cp "$f" "$out/m/$name.mtx" ;;
        esac
        "$out/csrb" "$out/m/$name.mtx" "$out/m/$name.csrb"
        "$out/spmv" convert "$out/m/$name.mtx" "$out/m/$name.bin" >/dev/null
        echo "$round $name" >&2
        [ -s "$set_of.peers.json" ] || ${PREFIX:-} "$out/peers" "$out/m/$name.csrb" >"$set_of.peers.json"
        [ -s "$set_of.plain.json" ] || ${PREFIX:-} "$out/plain" "$out/m/$name.csrb" |
            sed 's/"variant":"\([a-z_]*\)"/"variant":"\1-O2"/' >"$set_of.plain.json"
        if [ ! -s "$set_of.ours.json" ]; then
            for t in $TYPES; do
                for d in host "${DEVICE:-0}"; do
                    # shellcheck disable=SC2086
                    ${PREFIX:-} "$out/spmv" bench "$out/m/$name.bin" $plans --device "$d" --type "$t" --json || true
                done
            done >"$out/$name.ours.new" 2>"$out/$name.err"
            mv "$out/$name.ours.new" "$set_of.ours.json"
        fi
        rm -f "$out/m/$name".*
    done
    round=$((round + 1))
done
sets() { find "$out" -name "*.$1.json" | wc -l; }
echo "Machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores; $(date -u +%Y-%m-%d)"
echo "Peers: plain OpenMP CSR, Eigen, librsb (tuned), ViennaCL on the same OpenCL device; $("${CXX:-c++}" --version | head -n 1), $flags,"
echo "    and, where the name says so, -O2 -fopenmp; $(dpkg-query -W -f '${Package} ${Version}  ' libeigen3-dev librsb-dev libviennacl-dev 2>/dev/null || true)"
echo "Ours: $("${CC:-cc}" --version | head -n 1), $flags; OpenCL: $("$out/spmv" devices | grep -m 1 "^ *${DEVICE:-0}" || true)"
echo "Medians in microseconds, wall time; each side's fastest. Sets of medians, one a matrix and"
echo "    round: peers $(sets peers), peers of -O2 $(sets plain), ours $(sets ours)."
echo "Command: ${PREFIX:+PREFIX=\"$PREFIX\" }sh bench/cpu.sh PEERS.cpp FILE..."
echo "Plans: $(echo $PLANS)"
echo
cat "$out"/*.peers.json "$out"/*.plain.json >"$out/all.peers"
cat "$out"/*.ours.json >"$out/all.ours"
python3 "$root/bench/compare.py" "$out/all.peers" "$out/all.ours"
