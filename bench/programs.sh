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

# cusparse_program: sets PEER, which multiplies with cuSPARSE.
cusparse_program() {
    if [ "${PEER:-}" ]; then return; fi
    PEER=$out/cusparse
    nvcc -O2 -std=c++17 -arch=native "$root/bench/peers/cusparse.cu" -o "$PEER" -lcusparse
}
