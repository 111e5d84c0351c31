#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/install.sh demo|test|bench|petsc - installs the missing Debian packages, as root or by sudo -n. If neither is possible, it prints
# the command to run and fails.
set -u

demo='gcc libc6-dev make ocl-icd-opencl-dev opencl-headers pocl-opencl-icd zlib1g-dev'
test="$demo g++ cmake binutils xxd gzip libcriterion-dev libclblast-dev clang libclang-rt-dev libomp-dev
      gcc-mingw-w64-x86-64 tcc oclgrind python3-matplotlib pkgconf help2man flex bison gfortran
      python3-scipy python3-dev python3-venv python3-pip python3-setuptools python3-wheel"

# only for the 32-bit and the ARM builds of the compile checks
[ "$(dpkg --print-architecture 2>/dev/null)" != amd64 ] || test="$test libc6-dev-i386 lib32gcc-12-dev
      gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm"
bench="$demo g++ libeigen3-dev librsb-dev python3-matplotlib"
# about 100 packages, 0.5 GB; with them, the group petsc of tests/run.sh and examples/mpi.c are tested
petsc='gcc libc6-dev pkgconf libpetsc-real-dev libpetsc3.18-dev-examples libopenmpi-dev openmpi-bin'

case ${1-} in
demo) want=$demo ;;
test) want=$test ;;
bench) want=$bench ;;
petsc) want=$petsc ;;
*) echo "usage: tools/install.sh demo|test|bench|petsc" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
    echo "This is not Debian. These packages, by their Debian names, must be installed:" $want
    exit 0
fi

missing=
for p in $want; do
    dpkg-query -W -f '${Status}\n' "$p" 2>/dev/null | grep -q '^install ok installed' || missing="$missing $p"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=env
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root='sudo -n env'
else
    echo "Packages are missing. As root, run"
    echo
    echo "    apt-get install -y --no-install-recommends$missing"
    echo
    echo "and then repeat this command."
    exit 1
fi
mkdir -p build
echo "installing:$missing"
$as_root DEBIAN_FRONTEND=noninteractive apt-get update -q >/dev/null || echo "apt-get update failed; trying with the present package lists"
if ! $as_root DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >build/install.log 2>&1; then
    tail -n 20 build/install.log
    echo "apt-get install failed"
    exit 1
fi
