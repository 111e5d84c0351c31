#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/package.sh list | WAY - uses the library in a separate project in one of the ways open to users: compiles a product there and runs
# it. "list" prints a line for tests/run.sh for each way.
set -u
cd "$(dirname "$0")/.." || exit 1
root=$(pwd)
way=${1-}
ways='cmake-subdirectory cmake-installed cmake-host-only cmake-macros cmake-openmp cmake-cxx cmake-version pkg-config uninstall dist'
ways="$ways versions firmware"
dir=$root/build/package/$way
fail() {
    echo "$*"
    exit 1
}
# Copies what is released, so that nothing else in the directory can help. MAKEFLAGS may set another destination.
copy() {
    cp -r "$root"/spmv*.h "$root/spmv" "$root"/CMakeLists.txt "$root"/cmake "$root"/Makefile "$root"/LICENSE "$dir/source/" &&
        cp -r "$root"/tools "$dir/source/tools"
}
project() { # project LANGUAGE SOURCE LINES...: a CMake project with one program, which links spmv::spmv
    mkdir -p "$dir/project" && cp "$root/tests/compile/$2" "$dir/project/" || exit 1
    {
        printf 'cmake_minimum_required(VERSION 3.14)\nproject(product LANGUAGES %s)\n' "$1"
        printf 'add_executable(product %s)\n' "$2"
        shift 2
        printf '%s\n' "$@"
        echo 'target_link_libraries(product PRIVATE spmv::spmv)'
    } >"$dir/project/CMakeLists.txt"
}
build() { # build OPTION...: configures and builds the project and runs the product
    cmake -S "$dir/project" -B "$dir/build" "$@" >"$dir/configure.log" 2>&1 || { cat "$dir/configure.log"; fail "cmake fails"; }
    cmake --build "$dir/build" || fail "the project does not compile"
    "$dir/build/product" || fail "the product is wrong: $?"
}
install() { # install TARGET PREFIX: into $dir/stage
    make -s -C "$dir/source" "$1" PREFIX="$2" DESTDIR="$dir/stage" OPT=-O0 || fail "make $1 fails"
}
have_cmake() { command -v cmake >/dev/null 2>&1 || fail "cmake is missing"; }
links_opencl() { # links_opencl PROGRAM
    readelf -d "$1" | grep -q 'NEEDED.*libOpenCL'
}

if [ "$way" = list ]; then
    for w in $ways; do
        [ "$w" != firmware ] || first='make -s build/spmv && '
        printf 'package/%s\tplain\t%ssh tests/package.sh %s\n' "$w" "${first-}" "$w"
    done
    exit 0
fi
case " $ways " in
*" $way "*) ;;
*) echo "usage: tests/package.sh list|WAY; ways: $ways" >&2; exit 2 ;;
esac
rm -rf "$dir"
mkdir -p "$dir/source" && copy || exit 1
# These projects are about files and options. All but the first compile without the vector products, which takes a third of the time.
if [ "$way" != cmake-subdirectory ]; then
    CFLAGS=-DSPMV_NO_SIMD CXXFLAGS=-DSPMV_NO_SIMD
    export CFLAGS CXXFLAGS
fi

case $way in
cmake-subdirectory) # the sources inside of the project; the target is made below and used above
    have_cmake
    project C c99.c 'add_subdirectory(../source spmv)'
    build
    if links_opencl "$dir/build/product"; then fail "the product links OpenCL"; fi
    ;;
cmake-installed) # found where "make install" put it, and where cmake's own installation put it
    have_cmake
    install install-headers /opt/spmv
    project C c99.c 'find_package(spmv 0.1 REQUIRED)'
    build -DCMAKE_PREFIX_PATH="$dir/stage/opt/spmv" -DSPMV_CL_LINK=ON
    links_opencl "$dir/build/product" || fail "the product does not link OpenCL"
    cmake -S "$dir/source" -B "$dir/own" -DCMAKE_INSTALL_PREFIX="$dir/own-stage" || fail "cmake fails on the library alone"
    cmake --install "$dir/own" || fail "cmake --install fails"
    # the same files both ways; those for pkg-config hold the prefix
    (cd "$dir/stage/opt/spmv" && find . -type f | sort) >"$dir/by-make"
    (cd "$dir/own-stage" && find . -type f | sort) >"$dir/by-cmake"
    cmp "$dir/by-make" "$dir/by-cmake" || { diff "$dir/by-make" "$dir/by-cmake"; fail "make and cmake install different files"; }
    rm -rf "$dir/build" "$dir/stage"
    build -DCMAKE_PREFIX_PATH="$dir/own-stage"
    ;;
cmake-host-only) # no OpenCL is looked for, and options are the macros
    have_cmake
    project C c99.c 'set(SPMV_OPENCL OFF)' 'set(SPMV_CUDA OFF)' 'set(SPMV_STATIC ON)' 'set(SPMV_REPRODUCIBLE ON)' \
        'set(SPMV_ONLY SPMV_BIT_CSR+SPMV_BIT_SELL)' 'add_subdirectory(../source spmv)'
    build -DCMAKE_DISABLE_FIND_PACKAGE_OpenCL=ON
    if links_opencl "$dir/build/product"; then fail "the product links OpenCL"; fi
    ! nm "$dir/build/product" | grep ' T spmv_' || fail "SPMV_STATIC has no effect"
    # and without OpenCL it is an error to link it, which says what to do
    project C c99.c 'find_package(spmv REQUIRED)'
    install install-headers /usr
    if cmake -S "$dir/project" -B "$dir/none" -DCMAKE_PREFIX_PATH="$dir/stage/usr" -DCMAKE_DISABLE_FIND_PACKAGE_OpenCL=ON \
        -DSPMV_CL_LINK=ON >"$dir/none.log" 2>&1; then fail "OpenCL is not missed"; fi
    grep -q 'set SPMV_CL_LINK to OFF' "$dir/none.log" || { cat "$dir/none.log"; fail "the error does not say what to do"; }
    ;;
cmake-macros) # each macro of docs/configuration.md, by -D, reaches the compiler; function-like ones are for the source
    have_cmake
    project C c99.c 'add_subdirectory(../source spmv)'
    sed -n 's/^| \(`SPMV_[^(|]*\) |.*/\1/p' docs/configuration.md | tr -d '`,.' | tr ' ' '\n' |
        grep SPMV_ | grep -v IMPLEMENTATION >"$dir/macros"
    [ "$(wc -l <"$dir/macros")" -ge 18 ] || fail "docs/configuration.md: no table of macros found"
    cmake -S "$dir/project" -B "$dir/build" $(sed 's/.*/-D&=1/' "$dir/macros") >"$dir/configure.log" 2>&1 ||
        { cat "$dir/configure.log"; fail; }
    tr ' ' '\n' <"$dir/build/CMakeFiles/product.dir/flags.make" | sed -n 's/^-D\([^=]*\)=.*/\1/p' >"$dir/passed"
    for m in $(cat "$dir/macros"); do grep -qx "$m" "$dir/passed" || fail "$m is ignored"; done
    # a definition in the source as well is no warning; with none of these nothing is passed
    grep -q -- '-DSPMV_NO_DEVICES=\(""\)* ' "$dir/build/CMakeFiles/product.dir/flags.make" || fail "SPMV_NO_DEVICES is not empty"
    cmake -S "$dir/project" -B "$dir/none" $(sed 's/.*/-D&=/' "$dir/macros") >"$dir/configure.log" 2>&1 ||
        { cat "$dir/configure.log"; fail; }
    if grep 'DEFINES.*-DSPMV_' "$dir/none/CMakeFiles/product.dir/flags.make"; then fail "macros that were not asked for"; fi
    ;;
cmake-openmp) # an option; without it, and without optimisation, a note
    have_cmake
    project C c99.c 'set(SPMV_NO_DEVICES ON)' 'add_subdirectory(../source spmv)'
    build
    grep -q 'SPMV_OPENMP=ON' "$dir/configure.log" && grep -q 'CMAKE_BUILD_TYPE=Release' "$dir/configure.log" || fail "there are no notes"
    build -DSPMV_OPENMP=ON -DCMAKE_BUILD_TYPE=Debug
    readelf -d "$dir/build/product" | grep -q 'NEEDED.*omp' || fail "the product does not link OpenMP"
    if grep '^-- spmv:' "$dir/configure.log"; then fail "notes on what is set"; fi
    ;;
cmake-cxx) # a project that has C++ alone
    have_cmake
    install install-headers /usr/local
    project CXX cxx11.cpp 'find_package(spmv REQUIRED)'
    build -DCMAKE_PREFIX_PATH="$dir/stage/usr/local"
    ;;
cmake-version) # this version will do where it or an older one of its line is asked for
    have_cmake
    install install-headers /usr
    asks() { # asks VERSION FOUND
        project C c99.c "find_package(spmv $1 QUIET)" "if(NOT \"\${spmv_FOUND}\" STREQUAL \"$2\")" \
            "message(FATAL_ERROR \"$1: \${spmv_FOUND}\")" 'endif()' \
            'if(NOT spmv_FOUND)' 'add_library(spmv::spmv INTERFACE IMPORTED)' 'endif()'
        cmake -S "$dir/project" -B "$dir/build" -DCMAKE_PREFIX_PATH="$dir/stage/usr" >"$dir/log" 2>&1 || { cat "$dir/log"; fail "$1"; }
    }
    version=$(sed -n 's/^#define SPMV_VERSION "\(.*\)"$/\1/p' spmv.h)
    line=${version%.*}
    asks "$version" 1
    asks "$version EXACT" 1
    asks "$line" 1
    asks "$line.9999" 0
    asks "$((${version%%.*} + 1)).0" 0
    ;;
pkg-config)
    command -v pkg-config >/dev/null 2>&1 || fail "pkg-config is missing"
    install install-headers /opt/spmv
    PKG_CONFIG_PATH=$dir/stage/opt/spmv/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dir/stage
    export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
    for p in spmv spmv-host; do
        [ "$(pkg-config --modversion $p)" = "$(sed -n 's/^#define SPMV_VERSION "\(.*\)"$/\1/p' spmv.h)" ] || fail "$p: version"
        # away from the headers
        (cd "$dir" && ${CC:-cc} -std=c99 $CFLAGS "$root/tests/compile/c99.c" $(pkg-config --cflags $p) -o $p $(pkg-config --libs $p)) ||
            fail "$p: does not compile"
        "$dir/$p" || fail "$p: the product is wrong: $?"
    done
    # the first program of README.md
    awk '/^```c$/ { on = 1; next } /^```$/ && on { exit } on' README.md >"$dir/quick.c"
    ${CC:-cc} -std=c99 -Werror $CFLAGS "$dir/quick.c" $(pkg-config --cflags spmv-host) -o "$dir/quick" ||
        fail "README.md's program has warnings"
    grep -q '^prefix=/opt/spmv$' "$dir/stage/opt/spmv/share/pkgconfig/spmv.pc" || fail "the prefix is not that of the installation"
    ;;
uninstall) # leaves what others put there, and nothing of ours
    mkdir -p "$dir/stage/usr/include" && echo '/* not ours */' >"$dir/stage/usr/include/spmvtools.hpp"
    mkdir -p "$dir/source/build/man" && echo '.TH SPMV 1' >"$dir/source/build/man/spmv.1" # as "make man" leaves it
    install install /usr
    [ -e "$dir/stage/usr/share/man/man1/spmv.1" ] || fail "the manual page is not installed"
    "$dir/stage/usr/bin/spmv" --help >/dev/null || fail "the installed command line does not run"
    (cd "$dir" && stage/usr/bin/spmv gen tridiag_5 -o drawn.mtx && stage/usr/bin/spmv plot drawn.mtx -o drawn.png && [ -s drawn.png ]) ||
        fail "the installed command line does not draw"
    for h in spmv*.h spmv; do diff -r "$h" "$dir/stage/usr/include/$h" || fail "$h is not installed as it is"; done
    install uninstall /usr
    left=$(cd "$dir/stage" && find . -type f)
    [ "$left" = ./usr/include/spmvtools.hpp ] || fail "make uninstall left" $left
    [ ! -e "$dir/stage/usr/share/cmake/spmv" ] || fail "make uninstall left its directory"
    ;;
dist) # the single header under its version's name, with a checksum that holds
    make -s -C "$dir/source" dist || fail "make dist fails"
    version=$(sed -n 's/^#define SPMV_VERSION "\(.*\)"$/\1/p' spmv.h)
    cd "$dir/source/dist" && sha256sum -c SHA256SUMS || fail "the checksum does not hold"
    grep -q " spmv-$version.h\$" SHA256SUMS || fail "no spmv-$version.h in SHA256SUMS"
    cp "spmv-$version.h" "$dir/spmv.h" && cd "$dir" || exit 1
    ${CC:-cc} -std=c99 $CFLAGS -DSPMV_IO -DSPMV_GROUP -DSPMV_NO_DEVICES -I. "$root/tests/compile/c99.c" -o product && ./product ||
        fail "the product is wrong"
    ;;
versions) # spmv.h is where the version stands: its macros agree, and no other file has one of its own
    printf '#include "spmv.h"\nSPMV_VERSION_MAJOR.SPMV_VERSION_MINOR.SPMV_VERSION_PATCH SPMV_VERSION\n' >"$dir/v.c"
    ${CC:-cc} -E -P -I. -DSPMV_NO_DEVICES "$dir/v.c" | tail -n 1 | tr -d ' "' >"$dir/v"
    version=$(sed -n 's/^#define SPMV_VERSION "\(.*\)"$/\1/p' spmv.h)
    [ -n "$version" ] && [ "$(cat "$dir/v")" = "$version$version" ] || fail "spmv.h: the numbers make $(cat "$dir/v"), the text is $version"
    others=$(grep -lF "$version" Makefile CMakeLists.txt cmake/* tools/*.sh)
    [ -z "$others" ] || fail "$version stands in" $others "as well"
    ;;
firmware) # examples/firmware on a Cortex-M4 of QEMU: is y right, is a damaged matrix refused, and how many bytes is the code?
    [ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || { echo skipped; exit 0; } # tools/install.sh installs the compiler there
    spmv=$root/build/spmv
    "$spmv" gen poisson2d_12 -o "$dir/grid.mtx" && cd "$dir/source" || exit 1
    sed -n 's/^ \* *spmv convert //p' "$root/examples/firmware/firmware.c" >"$dir/lines"
    [ "$(wc -l <"$dir/lines")" = 2 ] || fail "firmware.c: no lines of spmv convert"
    while read -r line; do (cd "$dir" && "$spmv" convert $line) || fail "spmv convert $line"; done <"$dir/lines"
    mkdir "$dir/damaged" && cp "$dir/sell.h" "$dir/damaged/" && sed '9s/0x/0x1/' "$dir/csr.h" >"$dir/damaged/csr.h"
    run() { # run FOLDER STATUS: of its matrices
        arm-none-eabi-gcc -std=c99 -Wall -Wextra -Werror -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -Os \
            -ffunction-sections -Wl,--gc-sections -nostartfiles --specs=nano.specs -I. -I"$1" -T "$root/examples/firmware/board.ld" \
            "$root/examples/firmware/firmware.c" "$root/examples/firmware/board.c" -o "$1/firmware.elf" || fail "it does not compile"
        timeout 60 qemu-system-arm -M mps2-an386 -nographic -monitor none -serial none -semihosting-config enable=on,target=native \
            -kernel "$1/firmware.elf"
        [ $? = "$2" ] || fail "$1: the exit status is not $2"
    }
    run "$dir" 0
    run "$dir/damaged" 1
    arm-none-eabi-nm "$dir/firmware.elf" >"$dir/names"
    if grep -E ' (_?malloc|_?free|printf|_?sbrk)' "$dir/names"; then fail "there is a heap or stdio"; fi
    code=$(arm-none-eabi-size -A "$dir/firmware.elf" | awk '$1 == ".text" { print $2 }')
    data=$(arm-none-eabi-size -A "$dir/firmware.elf" | awk '$1 == ".rodata" { print $2 }')
    matrices=$(arm-none-eabi-nm -S -t d "$dir/firmware.elf" | awk '$4 == "csr" || $4 == "sell" { n += $2 } END { print n }')
    echo "$code bytes of code, $((data - matrices)) of constants, $matrices of matrices"
    [ $((code + data - matrices)) -le 40960 ] || fail "more than 40 KB"
    ;;
esac
