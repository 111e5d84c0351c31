# SPDX-License-Identifier: MIT
# bench/programs.sh - the programs of scripts that compare with other libraries, which read it with "." after they have set root, the
# repository's folder, and out, where they build. A program that the caller has named in SPMV, CSRB or PEER is not built.

# spmv_programs: sets SPMV, the command line, and CSRB, which writes matrices as the peers read them.
spmv_programs() {
    if [ -z "${SPMV:-}" ]; then
        make -s -C "$root" --no-print-directory build/spmv
        SPMV=$root/build/spmv
    fi
    if [ -z "${CSRB:-}" ]; then
        CSRB=$out/csrb
        "${CC:-cc}" -std=c99 -O2 -I"$root" "$root/bench/csrb.c" -o "$CSRB"
    fi
}

# compiler_of FILE: the compiler that made a program, which may have been another machine's
compiler_of() { grep -a -m 1 -o 'GCC: ([^)]*) [0-9.]*' "$1" | head -n 1; }

# cpu_programs: sets PEERS, programs that multiply with the libraries of bench/peers/cpu.cpp on the host, each built with other flags, and
# describes them in PEERS_ARE. MKL is a folder made by bench/peers/mkl.sh, or empty: without Intel MKL; likewise AOCL and aocl.sh. ARCH is
# the processor that one of them is built for. PEER may name several programs, the one with all libraries first.
cpu_programs() {
    mkl='' aocl=''
    [ -z "${MKL:-}" ] || mkl="-DWITH_MKL -I$MKL/include"
    [ -z "${AOCL:-}" ] || aocl="-DWITH_AOCL -L$AOCL/lib -Wl,--disable-new-dtags,-rpath,$AOCL/lib" # it does not tell where its needs lie
    arch=-march=${ARCH:-native}
    PEERS=${PEER:-$out/peers $out/peers-O2}
    if [ -z "${PEER:-}" ]; then
        sh "$root/tools/install.sh" bench >&2
        compile_cpu_peers peers -O3 "$arch"
        # with -march=native gcc 12 turns the plain loop into gathers, which in f32 are slower than scalar code
        compile_cpu_peers peers-O2 -O2 '-DSUFFIX="-O2"'
    fi
    PEERS_ARE="plain OpenMP CSR and Eigen (-O3 $arch, and -O2 where the name says so), librsb${mkl:+, Intel MKL 2026.2.0}"
    PEERS_ARE="$PEERS_ARE${aocl:+, AOCL-Sparse 5.3.0}; $(compiler_of "${PEERS%% *}")"
}
compile_cpu_peers() { # compile_cpu_peers NAME FLAGS...
    name=$1
    shift
    archives=${mkl:+"-L$MKL/lib -Wl,--start-group -lmkl_intel_lp64 -lmkl_gnu_thread -lmkl_core -Wl,--end-group -ldl"}
    # shellcheck disable=SC2086
    "${CXX:-c++}" "$@" -fopenmp -w "$root/bench/peers/cpu.cpp" -o "$out/$name" -I/usr/include/eigen3 $mkl $aocl -lrsb $archives \
        ${aocl:+-laoclsparse}
}

# cusparse_program: sets PEER, which multiplies with cuSPARSE. CUSPARSE is a folder made by bench/peers/cusparse.sh, or empty: the toolkit's
# cuSPARSE.
cusparse_program() {
    if [ "${PEER:-}" ]; then return; fi
    PEER=$out/cusparse
    # shellcheck disable=SC2086
    nvcc -O2 -std=c++17 ${CUSPARSE:+-I$CUSPARSE/include -L$CUSPARSE/lib -Xlinker -rpath,$CUSPARSE/lib} "$root/bench/peers/cusparse.cu" \
        -o "$PEER" -lcusparse
}
