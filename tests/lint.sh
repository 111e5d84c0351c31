#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/lint.sh kernels/NAME.cl - compiles the kernel with clang for several kinds of devices and as CUDA, every type, both widths of
# offsets, with and without a row list, and with each value that a "tune:" comment lists, and checks its text.
# "tests/lint.sh text FILE" checks only the text: barriers under a condition, mad(), 32-bit products of global ids.
set -u
cd "$(dirname "$0")/.." || exit 1
k=$1
rc=0 n=0
if [ "$k" = text ]; then k=$2; fi
unit() { # prints the source that the host puts together, as described in kernels/common.cl
    case $k in
    kernels/common.cl) echo '#include "kernels/common.cl"' ;;
    kernels/shell.cl) printf '#include "kernels/%s.cl"\n' common csr shell ;;
    *)
        printf '#include "%s"\n' kernels/common.cl "$k"
        if [ -e "kernels/gen/${k#kernels/}" ]; then echo "#include \"kernels/gen/${k#kernels/}\""; fi
        if grep -q '^#define PARAMS ' "$k"; then echo '#include "kernels/shell.cl"'; fi ;;
    esac
}
try() { # try TARGET FLAG...
    target=$1
    shift
    n=$((n + 1))
    unit | "${CLANG:-clang}" -x cl -cl-std=CL1.2 -target "$target" -Xclang -finclude-default-header -fsyntax-only \
        -pedantic -Wall -Wextra -Wshadow -Werror "$@" -I. - || { echo "with: $target $*"; rc=1; }
}
cuda() { # cuda FLAG...: compiles it as spmv_cuda.h gives it to NVRTC, for compute capability 8.0
    n=$((n + 1))
    { printf '#include "kernels/cuda.cuh"\n' && unit; } | "${CLANG:-clang}" -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 \
        -nocudainc -nocudalib -std=c++17 -include tests/cuda/words.h -fsyntax-only -Wall -Wextra -Werror \
        -Wno-unknown-pragmas -Wno-unknown-cuda-version -DNVIDIA=80 "$@" -I. - || { echo "with: CUDA $*"; rc=1; }
}
# mad() may or may not round the product; products of the numbers of items and groups overflow in 32 bits.
awk -v k="$k" '
    function bad(what) { print k ":" NR ": " what; found = 1 }
    { sub(/\/\/.*/, ""); gsub(/\/\*[^*]*\*\//, "") }
    /(^|[^a-z0-9_])(mad|mad24|mul24|mad_hi|mad_sat)[ \t]*\(/ { bad("mad(), mad24() or mul24()") }
    /\*/ && /get_(global_id|group_id|global_size|num_groups)/ {
        line = $0
        gsub(/\((ulong|size_t)\)get_(global_id|group_id|global_size|num_groups)/, "", line)
        if (line ~ /get_(global_id|group_id|global_size|num_groups)/) bad("a product of a global number that is not cast to ulong")
    }
    /(^|[^a-z0-9_])u?int [a-z_]+ = \(?u?i?n?t?\)?get_(global_id|group_id)/ {
        name = $0
        sub(/ = .*/, "", name)
        sub(/.* /, "", name)
        narrow[name] = 1
    }
    {
        line = $0
        gsub(/\((ulong|size_t|IDX)\)[a-z_]+/, "", line)
        for (name in narrow)
            if (line ~ "(^|[^a-z0-9_])" name " [*] " || line ~ " [*] " name "([^a-z0-9_]|$)") bad("a 32-bit product of " name)
    }
    END { exit found }' "$k" || rc=1
if [ "$1" != text ]; then
f64='-DVAL=double -DVEC=double -DF64'
# A kernel's modes are listed in its text, as "// lint: NAME=1 OTHER=2 ; NAME=3".
each() { # each TARGET FLAG...: tries the kernel without a mode and in each of its modes; TARGET may be cuda
    if [ "$1" = cuda ]; then how=; else how=try; fi
    $how "$@"
    while IFS= read -r mode; do
        if [ "$mode" ]; then $how "$@" $(for word in $mode; do echo "-D$word"; done); fi
    done <<END
$(sed -n 's|.*// lint:||p' "$k" | tr ';' '\n')
END
}
for type in '-DVAL=float -DVEC=float' "$f64" '-DVAL=float -DVEC=double -DF64'; do
    for offsets in '' '-DOFF=ulong -DI64=1' '-DLIST=1' '-DIDX16=1'; do
        each spir64 $type $offsets
    done
done
for target in spir amdgcn nvptx64; do each $target $f64 -DLIST=1; done
for type in '' "$f64" '-DVAL=float -DVEC=double -DF64'; do
    for form in '-DLIST=1 -DV=4' '-DIDX16=1 -DOFF=ulong -DI64=1 -DREPEAT=1' '-DNT=1 -DSHUF=1 -DFINISH=1 -DV=4'; do
        each cuda $type $form
    done
done
each nvptx64 $f64 -DNVIDIA=90 -DNT=1 -DSHUF=1 -DFINISH=1 -DWG=128
each nvptx64 -DNVIDIA=90 -DNT=1 -DSHUF=1 -DFINISH=1 -DWG=128 -DIDX16=1

each nvptx64
each cuda
while read -r name default values; do # the three runs with all defaults are above
    for v in $values; do
        [ "$v" != "$default" ] || continue
        each spir64 $f64 "-D$name=$v"
        each nvptx64 "-D$name=$v"
        if [ "$name=$v" != IMG=1 ]; then each cuda "-D$name=$v"; fi
    done
done <<END
$(grep -hE '^#define [A-Z0-9_]+ .*// tune:' "$k" | sed 's|^#define \([A-Z0-9_]*\) \([0-9]*\).*// tune:\(.*\)|\1 \2\3|')
END
fi
# A barrier inside an if or an else hangs or crashes some CPU drivers, even if all items take the same branch.
awk -v k="$k" '
    { sub(/\/\/.*/, ""); gsub(/\/\*[^*]*\*\//, "") }
    /^[ \t]*#/ { next }
    {
        line = $0
        while (match(line, /(if|else|for|while|do)[ \t]*[({ \t]|[{};]|barrier[ \t]*\(/)) {
            token = substr(line, RSTART, RLENGTH)
            line = substr(line, RSTART + RLENGTH)
            if (token ~ /^(if|else)/) { pending = 1; if (token ~ /{/) { depth++; cond[depth] = 1; pending = 0 } }
            else if (token ~ /^(for|while|do)/) { if (token ~ /{/) { depth++; cond[depth] = 0 } }
            else if (token == "{") { depth++; cond[depth] = pending; pending = 0 }
            else if (token == "}") { depth--; pending = 0 }
            else if (token == ";") pending = 0
            else {
                bad = pending
                for (i = 1; i <= depth; i++) bad = bad || cond[i]
                if (bad) { print k ":" NR ": a barrier under a condition"; found = 1 }
            }
        }
    }
    END { exit found }' "$k" || rc=1
# A kernel of a product that does not wait for the kernel in front of it reads an x that is not there yet.
awk -v k="$k" '
    function check() { if (kernel && !waits) { print k ":" kernel ": the kernel has neither BEGIN nor FOLLOW"; found = 1 } }
    /^KERNEL void/ { check(); kernel = NR; waits = 0 }
    /(BEGIN|FOLLOW)\(/ { waits = 1 }
    END { check(); exit found }' "$k" || rc=1
echo "$n units"
exit $rc
