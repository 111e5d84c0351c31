#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/variants.sh [DEVICE [self-check options...]] - prints a section of bench/results/variants.txt: for each format and type the number
# of variants in all, and of those that were built, were exact on integers and within the bound on reals (-: not tried), were refused,
# failed or were wrong; and below, which ones cannot be used and why. DEVICE is one of
#   host      by spmv bench: a variant is a layout on one of three small matrices of integers. The layouts are those that the self-check
#             tries, whose names come from a self-check on the first OpenCL device: about a minute on PoCL, once for each build
#   rusticl, oclgrind           by self-check (with oclgrind --brief, which tries only integers)
#   what spmv --device takes    by self-check: 0, gpu, part of a name (pthread is PoCL)
# Without arguments it does host, pthread, rusticl and oclgrind, and fails if one is missing. TYPES="f32 f64" selects types.
set -u
cd "$(dirname "$0")/.." || exit 1
make -s --no-print-directory build/spmv || exit 1
if [ $# = 0 ]; then
    rc=0
    for d in host pthread rusticl oclgrind; do sh bench/variants.sh $d || rc=1; echo; done
    exit $rc
fi
layouts() { # writes the layouts of the self-check to build/variants.layouts, one per line
    [ -s build/variants.layouts ] && [ build/variants.layouts -nt build/spmv ] && return 0
    build/spmv self-check --brief --type f32 --json >build/variants.self 2>build/variants.self.err
    if ! grep -q ' variants: ' build/variants.self.err; then # its last line, with the counts
        echo "bench/variants.sh host: the self-check that lists the layouts needs an OpenCL device, and did not finish:"
        cat build/variants.self.err
        return 1
    fi
    sed 's/.*"plan": "\([^"]*\)".*/\1/' build/variants.self | uniq >build/variants.layouts
}

device=$1 call="bench/variants.sh $*"
shift
out=build/variants-$device.json
run=''
case $device in
rusticl) run='sh tests/rusticl.sh' device=llvmpipe ;;
oclgrind)
    run='oclgrind --build-options -O0' device=0
    set -- --brief "$@" ;;
esac

: >"$out"
: >"$out.err"
rc=0
if [ "$device" = host ]; then
    layouts || exit 1
    while read -r l; do set -- "$@" --plan "$l"; done <build/variants.layouts
    for m in gr_9_8 ch4-5-b2 mycielskian6; do
        build/spmv gen $m -o "build/variants-$m.mtx" >/dev/null || exit 1
        for type in ${TYPES:-f64 f32 mixed}; do
            build/spmv bench "build/variants-$m.mtx" --type "$type" --json "$@" >>"$out" 2>>"$out.err" || rc=1
        done
    done
else
    $run build/spmv devices 2>/dev/null | sed -n '/^[0-9]/,$p' >"$out.devices"
    [ -s "$out.devices" ] || { echo "$call: no such device"; exit 1; }
    jobs=
    for type in ${TYPES:-f64 f32 mixed}; do # at the same time, because building programs takes long
        $run build/spmv self-check --device "$device" --type "$type" --json "$@" >"$out.$type" 2>"$out.err.$type" &
        jobs="$jobs $!"
    done
    for job in $jobs; do wait "$job" || rc=1; done
    for type in ${TYPES:-f64 f32 mixed}; do
        cat "$out.$type" >>"$out"
        cat "$out.err.$type" >>"$out.err"
        rm -f "$out.$type" "$out.err.$type"
    done
fi
[ -s "$out" ] || { cat "$out.err"; exit 1; }

echo "$call"
echo "$(date -u +%Y-%m-%d), spmv $(build/spmv --version | cut -d ' ' -f 2), $(git rev-parse --short HEAD 2>/dev/null || echo 'no git')," \
    "$(uname -sm), $(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -n 1), $(nproc) cores"
if [ "$device" = host ]; then echo "host products, $(${CC:-cc} --version | head -n 1)"
else
    name=$(sed -n '1s/^{"device": "\([^"]*\)".*/\1/p' "$out")
    grep -F -A 1 -e "  $name" "$out.devices" | head -n 2 | sed 's/^[0-9]* *//; s/^ *//'
fi
echo
awk -v brief="$(case " $* " in *' --brief '*) echo 1 ;; esac)" '
    function field(key,    v) { # the value of a member of a line of JSON
        if (!match($0, "\"" key "\": ")) return ""
        v = substr($0, RSTART + RLENGTH)
        if (v !~ /^"/) { sub(/[,}].*/, "", v); return v }
        v = substr(v, 2)
        gsub(/\\"/, "\001", v)
        sub(/".*/, "", v)
        gsub(/\001/, "\"", v)
        gsub(/\\u000a.*/, "", v)
        return v
    }
    function add(column) { sum[row, column]++; sum["all ", column]++ }
    {
        plan = field("plan")
        format = plan
        sub(/:.*/, "", format)
        row = format " " field("type")
        if (!(row in seen)) { seen[row] = 1; order[++rows] = row }
        result = field("result")
        if (result == "") { # a line of spmv bench, where ok means both exact and within the bound
            ok = field("ok")
            result = ok == "true" ? "usable" : ok == "null" ? "refused" : "WRONG"
            built = exact = bound = ok == "null" ? "false" : ok
            if (ok == "null") message = "see " field("matrix")
        } else {
            built = field("built"); exact = field("exact"); bound = field("bound"); message = field("message")
        }
        add("variants")
        if (built == "true") add("built")
        if (exact == "true") add("exact")
        if (bound == "true") add("bound")
        if (result == "refused") add("refused")
        if (result == "FAILED") add("failed")
        if (result == "WRONG") add("wrong")
        if (result == "usable") next
        key = result " " row ": " substr(message, 1, 110)
        if (!(key in count)) why[++whys] = key
        count[key]++
        if (count[key] <= 6) names[key] = names[key] " " plan (field("variant") == "" ? "" : "/" field("variant"))
    }
    function line(name,    i) {
        split(name, part, " ")
        printf "%-7s %-6s", part[1], part[2]
        for (i = 1; i <= columns; i++)
            printf " %8s", brief && head[i] == "bound" ? "-" : sum[name, head[i]] + 0
        print ""
    }
    END {
        columns = split("variants built exact bound refused failed wrong", head, " ")
        printf "%-7s %-6s", "format", "type"
        for (i = 1; i <= columns; i++) printf " %8s", head[i]
        print ""
        for (i = 1; i <= rows; i++) line(order[i])
        line("all ")
        for (i = 1; i <= whys; i++)
            printf "%s (%d):%s%s\n", why[i], count[why[i]], names[why[i]], (count[why[i]] > 6 ? " ..." : "")
    }' "$out"
exit $rc
