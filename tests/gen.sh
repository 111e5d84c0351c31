#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/gen.sh messages|c|own|tune - tests spmvgen. Needs build/spmvgen, and for c build/obj/library.o; ends with "N passed, N failed".
#   messages  the messages for malformed descriptions (tests/gen/bad), and the command line
#   c         the C code for every description of formats/ on arrays that the library stored
#   own       formats of the user's own in plans of the library (tests/gen/own.c)
#   tune      spmvgen tune writes its best kernel, whichever that is: with made-up times, and for coo with real ones
# UPDATE=1 writes the expected texts to tests/gen/bad and tests/gen/odd instead of comparing with them.
set -u
cd "$(dirname "$0")/.." || exit 1
gen=build/spmvgen
work=build/gen/test-${1-}
rm -rf $work
mkdir -p $work || exit 1
passed=0 failed=0
good() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)); echo "FAIL $*"; }

status() { # status NUMBER ARGUMENTS...: the exit status of spmvgen with these arguments
    want=$1
    shift
    $gen "$@" >$work/out 2>&1
    got=$?
    if [ $got = "$want" ]; then good; else bad "spmvgen $*: exit status $got, not $want"; cat $work/out; fi
}

messages() {
    # ---- messages: each description of tests/gen/bad must fail with the text of the file beside it ----
    for f in tests/gen/bad/*.fmt; do
        options=$(sed -n 's/^# options: //p' "$f")
        # shellcheck disable=SC2086 # the options are words
        if (cd tests/gen/bad && ../../../$gen "$(basename "$f")" --target c $options -o ../../../$work/none) >$work/out 2>&1; then
            bad "$f was accepted"
            continue
        fi
        if [ "${UPDATE-}" ]; then cp $work/out "${f%.fmt}.txt"; fi # to be read before it is committed
        if cmp -s $work/out "${f%.fmt}.txt"; then good; else bad "$f"; diff "${f%.fmt}.txt" $work/out; fi
        [ ! -e $work/none ] || bad "$f left a file"
    done
    [ "$(ls tests/gen/bad/*.fmt | wc -l)" -ge 40 ] || bad "fewer than 40 malformed descriptions"

    # ---- shapes: what spmvgen understands of the formats, and of descriptions that are easily misunderstood ----
    for f in formats/*.fmt tests/gen/odd/*.fmt; do $gen "$f" --explain --target c; done >$work/explain 2>&1
    if [ "${UPDATE-}" ]; then cp $work/explain tests/gen/odd/explain.txt; fi
    if cmp -s $work/explain tests/gen/odd/explain.txt; then good; else bad "--explain"; diff tests/gen/odd/explain.txt $work/explain; fi

    # ---- operators ----
    f=tests/gen/odd/operators.fmt
    sed -n 's/^  \([A-Z]\) = .*# \([0-9]*\)$/  \1 = \2, which follows from other constants/p' $f >$work/want
    $gen $f --list | grep follows >$work/out
    if [ -s $work/want ] && cmp -s $work/want $work/out; then good; else bad $f; diff $work/want $work/out; fi

    # ---- the command line ----
    status 0 --help
    status 0 formats/bell.fmt --list
    status 0 formats/bell.fmt --explain --set BH=2
    status 2
    status 2 formats/csr.fmt
    status 2 formats/csr.fmt --target c
    status 2 formats/csr.fmt --target fortran -o $work/none
    status 2 formats/csr.fmt --target c --set type=f16 -o $work/none
    status 2 formats/csr.fmt --target c --set nothing=1 -o $work/none
    status 2 formats/csr.fmt --target c --set type -o $work/none
    status 2 formats/csr.fmt --target c --nothing -o $work/none
    status 1 formats/none.fmt --target c -o $work/none
    status 1 formats/csr.fmt --target c -o $work/none/none
    status 1 formats/csr.fmt --target c --set prefix=a-b -o $work/none
    status 1 formats/bell.fmt --target c --set BH=5 -o $work/none
    status 0 formats/bell.fmt --target c --set pack=1 -o $work/bell.h
    status 1 formats/sellv.fmt --target c --set pack=1 -o $work/none
    status 0 tests/gen/figure2.fmt --target c -o $work/figure2.h
    [ ! -e $work/none ] || bad "a failed call left a file"
}

# Generates the code of each case, a line "description|plan|settings", and compiles and runs all of it together with tests/gen/run.c.
c_code() {
    n=0
    : >$work/cases.h
    : >$work/table
    while IFS='|' read -r file plan settings; do
        n=$((n + 1))
        types='f32 f64'
        case $plan in *idx=16*) types=f32 ;; *b=* | *h=*) types=f64 ;; esac
        for type in $types; do
            prefix=g${n}_$file.$type
            prefix=$(echo "$prefix" | tr . _)
            set -- --set type=$type --set prefix="$prefix"
            for s in $settings; do set -- "$@" --set "$s"; done
            $gen formats/$file.fmt --target c "$@" -o $work/$prefix.h || { bad "$prefix"; continue; }
            real=float kind=SPMV_F32
            [ $type = f32 ] || { real=double; kind=SPMV_F64; }
            pack=NULL wrap=WRAP
            if grep -q "_pack(" $work/$prefix.h; then pack=${prefix}_p wrap=WRAP_PACK; fi
            printf '#include "%s.h"\n%s(%s, %s)\n' $prefix $wrap $prefix $real >>$work/cases.h
            printf 'CODE(%s, "%s", %s, %s)\n' $prefix "$plan" $kind $pack >>$work/table
            good
        done
    done <<END
csr|csr|
coo|coo|
dense|dense|
dia|dia|early=1
bdia|bdia|early=1
ell|ell|
ell|ell:idx=16|IDX=16 early=1
sell|sell:h=8|H=8
sell|sell:idx=16|IDX=16 early=1
sellv|sell:h=16,grow=0.2|
sellv|sell:h=8,grow=0.3,idx=16|IDX=16 early=1
bell|bell|
bell|bell:b=3x3|BH=3 BW=3
bell|bell:b=2x8,idx=16|BH=2 BW=8 IDX=16 early=1
sbell|sbell:h=4|H=4
sbell|sbell:b=6x6,h=2|BH=6 BW=6 H=2
sbell|sbell:b=1x4,h=8,idx=16|BH=1 H=8 IDX=16 early=1
bcsr|bcsr|
bcsr|bcsr:b=2x2|BH=2 BW=2
bcsr|bcsr:b=8x4,idx=16|BH=8 IDX=16 early=1
cmrs|cmrs|
cmrs|cmrs:h=16,sort=1|HEIGHT=16
cmrs|cmrs:h=2,wide=1|HEIGHT=2 PACKED=0
hyb|ell:w=2+csr:rows=nonempty|
hyb|ell:w=3+csr:rows=sorted|
END
    for f in formats/*.fmt; do
        grep -q "_$(basename "$f" .fmt)_f64" $work/table || bad "$f is not among the cases"
        case $f in
        */hyb.fmt | */sellv.fmt) ;; # formats/README.md says why they have no packer
        *) grep -q "_$(basename "$f" .fmt)_f64,.*_p)" $work/table || bad "$f has no packer" ;;
        esac
        if [ "$(wc -l <"$f")" -le 60 ]; then good; else bad "$f is longer than a screen"; fi
    done
    printf 'static const code codes[] = {\n' >>$work/cases.h
    cat $work/table >>$work/cases.h
    printf '};\n' >>$work/cases.h

    # The library is the command line's, which has no sanitizers; the generated code is compiled with them.
    flags='-std=c99 -D_POSIX_C_SOURCE=200809L -pedantic -Wall -Wextra -Wshadow -Wconversion -Werror -I.'
    sanitize='-g -O0 -fsanitize=address,undefined -fno-sanitize-recover=undefined'
    libraries="$(sh tools/openmp.sh ${CC:-cc}) -ldl -lz -lm"
    # shellcheck disable=SC2086
    if ${CC:-cc} $flags $sanitize -I$work tests/gen/run.c build/obj/library.o -o $work/run $libraries &&
        OMP_NUM_THREADS=1 $work/run >$work/log 2>&1; then
        passed=$((passed + $(sed -n 's/^\([0-9]*\) passed, 0 failed$/\1/p' $work/log)))
    else
        bad "tests/gen/run.c"
        tail -n 40 $work/log
    fi
    for h in $work/g*_f32.h; do # users may compile generated code as C++, and by clang
        echo "#include \"${h##*/}\"" >>$work/all.cc
    done
    # shellcheck disable=SC2086
    if $gen tests/gen/codes.fmt --target c -o $work/codes.h && ${CC:-cc} $flags $sanitize -I$work tests/gen/codes.c -o $work/codes &&
        $work/codes >$work/log 2>&1; then good; else bad tests/gen/codes.c; cat $work/log; fi
    $gen tests/gen/figure2.fmt --target c -o $work/figure2.h && echo "#include \"figure2.h\"" >>$work/all.cc
    for f in formats/*.fmt; do
        name=wide_$(basename "$f" .fmt)
        $gen "$f" --target c --set type=mixed --set offset=64 --set prefix="$name" -o "$work/$name.h" &&
            echo "#include \"$name.h\"" >>$work/all.cc
    done
    strict='-pedantic -Wall -Wextra -Werror -fsyntax-only'
    # a matrix without the last value, which a condition leaves out: sound, but not for kernels that load values before conditions
    cat >$work/pairs.fmt <<END
parameters: num_rows num_cols n
data: val [n] : DATA_TYPE
access:
  for _row in [0 : num_rows - 1] {
    for k in [0 : 1] {
      if _row * 2 + k < n {
        _col = k
        _val = val[_row * 2 + k]
      }
    }
  }
END
    for early in 0 1; do
        $gen $work/pairs.fmt --target c --set early=$early --set prefix=pairs$early -o $work/pairs$early.h
    done
    cat >$work/pairs.c <<END
#include "pairs0.h"
#include "pairs1.h"
int main(void)
{
    const double val[3] = { 1, 2, 3 };
    const int64_t parameter[3] = { 2, 2, 3 }, count = 3;
    const void *data = val;
    pairs0_matrix a;
    pairs1_matrix b;
    char message[200];
    pairs0_bind(&a, parameter, &data, &count);
    pairs1_bind(&b, parameter, &data, &count);
    return pairs0_check(&a, message, sizeof message) != 0 || pairs1_check(&b, message, sizeof message) != -1 ||
           !strstr(message, "an index of the values is outside");
}
END
    # shellcheck disable=SC2086
    if ${CC:-cc} $flags $sanitize -Wno-unused-function $work/pairs.c -o $work/pairs && $work/pairs; then good
    else bad "the validator for early=1"; fi
    # shellcheck disable=SC2086
    if ${CXX:-c++} -std=c++11 $strict $work/all.cc; then good; else bad "generated code as C++"; fi
    # shellcheck disable=SC2086
    if clang -x c -std=c99 $strict -Wshadow -Wconversion $work/all.cc; then good; else bad "generated code by clang"; fi
}

# Formats of the user's own: six in one list. Generated headers that the project keeps must be what spmvgen writes now, and what the
# library cannot take is refused with a reason.
own() {
    $gen examples/own_format/ellr.fmt --target library -o $work/ellr.h
    if cmp $work/ellr.h examples/own_format/ellr.h; then good; else bad "examples/own_format/ellr.h is out of date: make kernels"; fi
    for f in csr dia bdia; do
        sed 's/col \(.*\): INDEX_TYPE/col \1: UINT16_TYPE/' formats/$f.fmt >$work/${f}x.fmt # csrx has columns of 16 bits
        if $gen $work/${f}x.fmt --target library -o $work/${f}x.h; then good; else bad "$f for the library"; fi
    done
    # packers written by hand: jad, and rows of a fixed width with and without the option that says so
    if $gen examples/own_format/jad.fmt --target library --set pack=extern -o $work/jad.h; then good; else bad "jad for the library"; fi
    cat >$work/fixed.fmt <<END
parameters: num_rows num_cols width
data:
  val [num_rows * width] : DATA_TYPE
  col [num_rows * width] : INDEX_TYPE
access:
  for _row in [0 : num_rows - 1] {
    for k in [0 : width - 1] {
      _col = col[_row * width + k]
      _val = val[_row * width + k]
    }
  }
END
    cp $work/fixed.fmt $work/holed.fmt
    status 0 $work/fixed.fmt --target library --set pack=extern --set fill=1 -o $work/fixed.h
    status 0 $work/holed.fmt --target library --set pack=extern -o $work/holed.h
    status 1 $work/fixed.fmt --target library --set fill=1 -o $work/none
    for f in coo sell bcsr cmrs hyb; do
        status 1 formats/$f.fmt --target library -o $work/none
        status 1 formats/$f.fmt --target library --set pack=extern -o $work/none
    done
    status 1 examples/own_format/jad.fmt --target library -o $work/none
    if grep -q -e '--set pack=extern' $work/out; then good; else bad "the refusal of jad does not name pack=extern"; fi
    cp formats/csr.fmt $work/Rows.fmt
    status 1 $work/Rows.fmt --target library -o $work/none
    status 0 formats/coo.fmt --target library --list
    [ ! -e $work/none ] || bad "a refused call left a file"
    {
        echo '#define SPMV_EXTRA_LIST(X) SPMV_ELLR_FORMAT(X) SPMV_CSRX_FORMAT(X) SPMV_DIAX_FORMAT(X) SPMV_BDIAX_FORMAT(X) \'
        echo '    SPMV_JAD_FORMAT(X) SPMV_FIXED_FORMAT(X) SPMV_HOLED_FORMAT(X)'
        for f in ellr csrx diax bdiax jad fixed holed; do echo "#include \"$work/$f.h\""; done
    } >$work/list.h
    flags='-std=c99 -D_POSIX_C_SOURCE=200809L -pedantic -Wall -Wextra -Wshadow -Wconversion -Werror -I. -DSPMV_NO_SIMD -DSPMV_NO_CUDA'
    list="-DSPMV_FORMATS_EXTRA=\"$work/list.h\""
    # PoCL has leaks of its own; tests/gen/own.c counts the library's blocks
    # shellcheck disable=SC2086
    if ${CC:-cc} $flags "$list" -g -O0 -fsanitize=address '-DSPMV_ONLY=(SPMV_BIT_CSR|SPMV_BIT_DIA)' tests/gen/own.c -o $work/own \
        -lm && ASAN_OPTIONS=detect_leaks=0 $work/own >$work/log 2>&1; then
        passed=$((passed + $(sed -n 's/^\([0-9]*\) passed, 0 failed$/\1/p' $work/log)))
    else
        bad "tests/gen/own.c"
        tail -n 40 $work/log
    fi
    echo '#include "spmv.h"' >$work/own.cc
    if ${CXX:-c++} -std=c++11 -pedantic -Wall -Wextra -Werror -I. "$list" -DSPMV_IMPLEMENTATION -DSPMV_NO_SIMD -DSPMV_ONLY=SPMV_BIT_CSR \
        -fsyntax-only $work/own.cc; then good; else bad "own formats as C++"; fi
}

# A compiler that makes a program which measures nothing: of the lines that it is given, those with the knob $BEST have the least time,
# and among others the last.
tune() {
    cat >$work/measure <<'END'
#!/bin/sh
while read -r group role plan knobs within files; do
    line=$((${line-0} + 1)) last=${knobs##*,}
    for value in $(echo "${last#*=}" | tr '|' ' '); do
        us=$((1000 - line))
        case $last in "$BEST="*) us=$((us / 100)) ;; esac
        echo "{\"matrix\":\"m\",\"knobs\":\"${knobs%"${last#*=}"}$value\",\"kernel\":\"$files\",\"us\":$us,\"worst\":0.5,\"used\":\"\"}"
    done
done <"$1"
END
    cat >$work/cc <<'END'
#!/bin/sh
while [ "$1" != -o ]; do shift; done
cp build/gen/test-tune/measure "$2"
END
    chmod +x $work/measure $work/cc
    echo '%%MatrixMarket matrix coordinate real general
3 3 4
1 1 1
2 1 2
3 2 3
3 3 4' >$work/m.mtx
    for f in formats/[!h]*.fmt examples/own_format/ellr.fmt; do # not hyb, which has two kernels
        for knob in UNROLL SHUF; do
            rm -f $work/out.cl
            if CC=$work/cc BEST=$knob $gen tune "$f" -o $work/out.cl $work/m.mtx >$work/log 2>&1 && grep -q Tuned $work/out.cl; then good
            else bad "tune $f with $knob"; cat $work/log; fi
        done
    done
    $gen tune formats/coo.fmt --type f32 -o $work/out.cl $work/m.mtx >$work/log 2>&1
    if grep -q Tuned $work/out.cl; then good; elif grep -q 'no device' $work/log; then echo "no device"; else bad "tune"; cat $work/log; fi
}

case ${1-} in
tune) tune ;;
messages) messages ;;
c) c_code ;;
own) own ;;
*) echo "usage: tests/gen.sh messages|c|own|tune" >&2; exit 2 ;;
esac
echo "$passed passed, $failed failed"
[ $failed = 0 ]
