#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/bench.sh - tests the reports of bench/ on a few rows whose ratios are known, their messages about lines that are not rows, and
# that the library understands every plan of bench/candidates.sh. Ends with "N passed, N failed".
set -u
cd "$(dirname "$0")/.." || exit 1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
passed=0 failed=0
result() { # result WHAT: counts the exit status of the command before it
    if [ $? = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAIL: $1"; fi
}
row() { # row BUILDER PLAN US OK: a line as of "spmv bench --json"
    printf '{"matrix": "gr_9_8", "device": "host", "builder": "%s", "plan": "%s", "variant": "host", "type": "f64", "us": %s, %s}\n' \
        "$1" "$2" "$3" "\"gflops\": 1, \"prepare_us\": 8, \"again\": false, \"ok\": $4"
}
{ row auto csr 4 true; row csr csr 4 true; row sell sell 2 true; row dia dia null null; row ell ell 1 false; } >"$dir/ours.json"
echo '{"matrix": "gr_9_8", "dtype": "f64", "variant": "loop", "us": 3.0}' >"$dir/peer.json"
build/spmv gen gr_9_8 -o "$dir/gr_9_8.bin" >/dev/null || exit 1
report() { # report NAME ARGUMENTS...: runs bench/NAME.py; its output goes to $dir/out, its exit status to $status
    name=$1
    shift
    python3 "bench/$name.py" "$@" >"$dir/out" 2>&1
    status=$?
}
has() { grep -qE "$1" "$dir/out" || { head -n 40 "$dir/out"; return 1; }; } # has PATTERN: a line of the last output

report compare "$dir/peer.json" "$dir/ours.json"
has '^gr_9_8 +3\.0 loop +4\.0 +0\.75 +csr +2\.0 +1\.50 +sell$'
result "compare: the peer's time over auto's and over the fastest plan's, the wrong one left out"
[ $status = 0 ] && has '^products wrong: 1 of 4$'
result "compare: wrong products are counted, refused plans are no products"
{ row auto csr 4 true; row auto sell 2 true; row csr csr 4 true; row csr csr 2 true; } |
    awk '{ sub(/"us"/, "\"transposed\": " (NR % 2 ? "false" : "true") ", \"both_us\": " (NR < 3 ? 2 : 6) ", &"); print }' >"$dir/both.json"
report compare "$dir/peer.json" "$dir/both.json"
has '^gr_9_8 +3\.0 loop +2\.0 +1\.50 +csr \| sell +2\.0 +1\.50 +csr \| sell$' && has '^products wrong: 0 of 2$'
result "compare: of both directions, the time of both in turn"
report plans "$dir/ours.json"
[ $status = 1 ] && has '^gr_9_8 .* 4\.0 .* 2\.0\* .* sell$'
result "plans: the fastest is marked; exit status 1 where a product was wrong"
report regret "$dir/ours.json"
[ $status = 1 ] && has '^gr_9_8 +4\.0 +2\.000 +2\.000 +- +2\.0  csr \| sell 2\.0 \| sell 2\.0$'
result "regret: auto over the best single plan; a dash where cocktail did not run"
report regret --table tuning/host.tune --matrices "$dir" "$dir/ours.json"
has '^host, f64; auto as it chooses by tuning/host.tune, looked up$'
result "regret --table: asks the command line for its choice"
report predicted --table tuning/host.tune --matrices "$dir" "$dir/ours.json"
[ $status = 0 ] && has '^gr_9_8 +sell +[0-9.]+ +2\.0 +[0-9.]+$' && has '^predicted over measured: .*, 0\.8 to 1\.25: [0-2] of 2$' &&
    has '^plans without a prediction: 0$' && ! has 'below a floor' >/dev/null
result "predicted: the two right plans, the fastest of each"
{
    printf 'spmv tuning table 2\ndevice d\nclass gpu\nmemory 10\nstep 0.01 9 0.01\n'
    printf 'f64 %s - 1 1 0 0 0 0 1 0 0\n' csr sell
} >"$dir/gpu.tune"
report predicted --table "$dir/gpu.tune" --matrices "$dir" "$dir/ours.json"
[ $status = 0 ] && has '^predictions below a floor: 0 of 2$'
result "predicted: a GPU's predictions above their floors"
for floor in memory chain; do
    cat >"$dir/below" <<END
#!/bin/sh
# stands for spmv: a floor of sell is higher than its prediction
build/spmv "\$@" | case \$* in *sell*) sed 's/"${floor}_us": [0-9.]*/"${floor}_us": 1000/' ;; *) cat ;; esac
END
    chmod +x "$dir/below"
    report predicted --spmv "$dir/below" --table "$dir/gpu.tune" --matrices "$dir" "$dir/ours.json"
    [ $status = 1 ] && has '^predictions below a floor: 1 of 2$'
    result "predicted: one below its floor, $floor"
done
# the five papers: every table from a few rows whose figures are known
papers=$dir/papers
mkdir "$papers"
list() { # list FILE MATRIX TYPE: rows of "spmv bench --json" from lines of builder, plan, variant and microseconds; 2 MB and 1000 nonzeros
    while read -r builder plan variant us; do
        printf '{"matrix": "%s", "type": "%s", "builder": "%s", "plan": "%s", "variant": "%s", ' "$2" "$3" "$builder" "$plan" "$variant"
        printf '"device": "d", "rows": 100, "cols": 100, "nnz": 1000, "us": %.3f, ' "$us"
        printf '"gflops": %.3f, "gbs": 10, "bytes": 2000000, "ok": true}\n' "$(echo "$us" | awk '{ print 8 / $1 }')"
    done >>"$papers/$1.json"
}
list clspmv clspmv_qcd f32 <<'END'
auto csr - 4
cocktail dia - 2
csr csr - 5
dia dia - 3
hyb ell:w=2+coo - 8
bcsr:b=4x4 bcsr:b=4x4 - 1
sell:idx=16 sell:idx=16 - 0.5
END
echo '{"builder": "cocktail", "matrix": "a/clspmv_qcd.bin", "shares": "DIA(100%)"}' >"$papers/clspmv-plans.json"
list bands band_1024_2_100 f32 <<'END'
dia dia - 1
coo coo - 8
END
list hybr clspmv_circuit f32 <<'END'
hyb ell:w=5+coo - 8
hybr:levels=2 ell:w=5+ell:w=2+coo - 8
hybr ell:w=5+ell:w=2+ell:w=1+coo - 4
hybr:levels=1,k=1 ell:w=5+coo - 8
hybr:levels=1,k=2 ell:w=6+coo - 8
hybr:levels=1,k=3 ell:w=9+coo - 16
ell:w=7+coo ell:w=7+coo - 4
END
list hybr-image clspmv_circuit f32 <<'END'
hyb ell:w=5+coo IMG=1 8
hybr:levels=2 ell:w=5+ell:w=2+coo IMG=1 5
END
for plan in hyb:ell:0.75:coo:0.25 hybr:levels=2:ell:0.75:coo:0.25; do
    parts=${plan#*:}
    [ "${parts#levels}" = "$parts" ] || parts=${parts#*:}
    echo "$parts" | tr : ' ' | while read -r e a c b; do
        echo "{\"builder\": \"${plan%%:ell*}\", \"matrix\": \"a/clspmv_circuit.bin\", \"parts\":" \
            "[{\"plan\": \"$e\", \"share\": $a}, {\"plan\": \"$c\", \"share\": $b}]}"
    done
done >"$papers/hybr-plans.json"
echo '{"matrix": "clspmv_circuit", "sorted": 9.0, "in order": 4.0, "permuted": 2.0, "and back": 6.0, "back": 3.0}' >"$papers/permuted.json"
list koza clspmv_circuit f64 <<'END'
cmrs:h=4 cmrs:h=4 - 2
hyb ell:w=5+coo - 8
csr csr L=1 1
csr csr L=32 32
END
list koza-sets clspmv_qcd f64 <<'END'
cmrs:h=4 cmrs:h=4 WG=64,IMG=0,ALIGN=1 2
cmrs:h=8 cmrs:h=8 WG=192,IMG=1,ALIGN=0 5
END
list kuresson kuresson_spiral f32 <<'END'
dense dense - 2
csr csr L=1,IMG=0 2
ell ell V=1,IMG=0 4
ell ell V=1,IMG=1 8
ell:rowmajor=1 ell:rowmajor=1 L=1 5
coo coo ATOMIC=1 10
END
list kuresson-host kuresson_spiral f32 <<'END'
dense dense host 5
END
for n in 50 50000; do echo "coo coo ATOMIC=1 $n" | list kuresson row_$n f32; done
for n in 1:stay:2 2:stay:1 1:copied:8 2:copied:10; do
    echo "$n" | tr : ' ' | while read -r count way us; do
        echo "{\"matrix\": \"kuresson_spiral\", \"plan\": \"ell\", \"devices\": $count, \"vectors\": \"$way\", \"nnz\": 1000, \"us\": $us}"
    done
done >"$papers/kuresson-copied.json"
timed() { # timed ROLE US [OPTION]: a line as of tools/gen/measure/measure.c
    printf '{"device": "CUDA", "type": "f32", "matrix": "clspmv_qcd.bin", "group": "csr", "role": "%s", "plan": "csr", "knobs": "", ' "$1"
    printf '"kernel": "csr=texts/csr_%s.cuda", "us": %s, "worst": 0.5}\n' "${3-}" "$2.0"
}
{ timed hand 4; timed same 8 vector-1; timed tried 2 vector-2; timed tried 3 vector-4; timed hand-tried 3; } >"$papers/cuda.json"
report tables "$papers"
[ $status = 1 ] && has 'machine\.txt'
result "tables: a head that is missing is named"
printf 'NVIDIA X, 1.2\n2026-01-02\nCommand: bench/papers.sh X\n' >"$papers/machine.txt"
report tables "$papers" --page "$dir/page.md"
[ $status = 0 ] && has '^Machine: NVIDIA X, 1\.2; 2026-01-02$' && has '^Command: bench/papers\.sh X$' && has '^products wrong: 0 of 38$'
result "tables: machine, date and command; the number of products"
while read -r what pattern; do
    has "$pattern" && grep -qE "^\| $(echo "$pattern" | sed 's/^\^//; s/\$$//; s/ +/ *[|] /g; s/[ ]=/ =/')" "$dir/page.md"
    result "tables, in the text and on the page: $what"
done <<'END'
clspmv-2 ^qcd = +1\.00 +4\.00 +dia +8\.00 +bcsr:b=4x4 +4\.00 +DIA\(100%\) +2\.00 +25\.05 +25\.09 +ELL +30\.93 +SELL +29\.88 +ELL$
clspmv-3 ^qcd = +\+300\.0% +\+0\.0% +-50\.0% +-75\.0% +\+19\.3% +\+19\.1% +-3\.4% +\+0\.7%$
clspmv-10 ^1024 +5 +8\.00 +- +- +- +- +1\.00 +- +- +-$
hybr-1 ^circuit ~ +25\.00 +21\.80 +75\.00 +0\.00 +25\.00 +78\.20 +12\.10 +9\.70$
hybr-5 ^circuit ~ +\+0\.0% +\+100\.0% +- +\+60\.0% +\+8\.7% +\+13\.3% +\+13\.5% +\+4\.5%$
hybr-7 ^circuit ~ +1\.00 \(5\) +1\.00 \(6\) +0\.50 \(9\) +2\.00 \(7\) +3\.45 \(5\) +3\.46 \(5\) +3\.76 \(6\) +3\.76 \(6\)$
hybr-once ^circuit ~ +9\.00 +4\.00 +2\.00 +6\.00 +3\.00$
koza-2 ^circuit ~ +cmrs:h=4 +0\.95 +0\.50 +4\.00 +16\.00 +0\.50 +1\.04 +0\.69 +5\.50 +1\.20 +0\.60 +3\.70 +0\.90 +0\.37 +0\.26$
koza-1 ^mean 5 to 10 +1 +16\.00 +0\.50 +4\.00 +0\.50 +3\.66 +0\.89 +0\.64 +0\.64$
koza-sets ^qcd = +cmrs:h=4/WG=64,ALIGN=1,IMG=0 +2 +2\.50 +- +1\.00 +2\.50 +- +1\.00 +- +2\.50 +- +- +- +- +- +2\.50 +1\.00 +1\.00 +2\.50$
kuresson-7 ^spiral ~ +0\.01 +0\.00 +2\.50 +11\.00 +7\.00 +3\.00 +3\.67$
kuresson-8 ^spiral ~ +100\.0 +250\.0 +125\.0 +200\.0 +500\.0 +- +- +6\.78 +0\.41 +32\.77 +12\.29( +16\.39){2} +98\.31 +49\.16 +2\.89 +2\.89$
kuresson-9 ^50000 +50000\.0 +1000\.0 +9\.09 +144\.7$
kuresson-14 ^spiral ~ +ell +500\.0 +1000\.0 +2\.00 +125\.0 +100\.0 +0\.80 +16\.39 +13\.65 +0\.83$
grewe ^qcd = +4\.00 +8\.00 +2\.00 +0\.50 +2\.00 +1\.50$
grewe-9 ^qcd = +8\.00 +2\.00 +3\.00 +4\.00$
END
has '^Does not hold here: the cocktail gains -50\.0% over' && has '^Does not hold here: divided twice it gains' &&
    has '^Holds here: CSR is the fastest on 1 of 1'
result "tables: whether the claims hold"
row csr csr 1 false | sed 's/gr_9_8/clspmv_qcd/' >>"$papers/clspmv.json"
report tables "$papers"
[ $status = 1 ] && has '^products wrong: 1 of 39$' && has '^qcd = +1\.00 +4\.00 +dia'
result "tables: a wrong product is counted and left out"
cat >"$dir/fake" <<END
#!/bin/sh
# stands for spmv and the programs beside it: gen makes a file, except of one matrix, bench prints a line for each plan, plan has a width
case \$1 in
devices)
    printf '%s\n' '0     CPU X' '      by OpenCL: 1.2' '      cpu, 2 compute units'
    printf '%s\n' '1     GPU Y' '      by CUDA: 3' '      gpu, 4 compute units'
    printf '%s\n' '2     GPU Y' '      by OpenCL: 3' '      gpu, 4 compute units' ;;
gen) [ "\$2" != clspmv_lp ] && : >"\$4" ;;
bench)
    echo "{\"call\": \"\$*\"}"
    while shift; do [ "\$1" != --plan ] || echo "{\"builder\": \"\$2\", \"plan\": \"\$2\"}"; done ;;
plan) echo "{\"matrix\": \"\$2\", \"plan\": \"ell:w=7+coo\"}" ;;
esac
END
chmod +x "$dir/fake"
SPMV=$dir/fake TABLE=t.tune PAPERS='clspmv hybr koza kuresson' sh bench/papers.sh CPU "$dir/measured" >"$dir/out" 2>&1
[ $? = 0 ] && [ "$(grep -c '"cocktail"' "$dir/measured/clspmv.json")" = 19 ] && [ ! -e "$dir/measured/clspmv_lp.bin" ] &&
    grep -q 'clspmv_qcd.bin .* --plan bcsr:b=8x8 --table t.tune --device CPU --type f32 ' "$dir/measured/clspmv.json" &&
    grep -q '"plan": "ell:w=10+coo"' "$dir/measured/hybr.json" && [ "$(wc -l <"$dir/measured/kuresson-host.json")" = 18 ] &&
    grep -q 'family_torso3.bin .* --plan cmrs:h=16 .* --type f64 ' "$dir/measured/koza.json"
result "papers.sh: every plan for each matrix that can be generated, by the paper's types"
grep -qx "CPU X, by OpenCL: 1.2, on a machine with $(getconf _NPROCESSORS_ONLN) cores" "$dir/measured/machine.txt" &&
    grep -qx "Command: PAPERS=\"clspmv hybr koza kuresson\" TABLE=t.tune bench/papers.sh CPU $dir/measured" "$dir/measured/machine.txt"
result "papers.sh: the device and the command are kept for the report"
SPMV=$dir/fake PAPERS=hybr sh bench/papers.sh cuda:0 "$dir/gpu" >"$dir/out" 2>&1
[ $? = 0 ] && grep -q '^GPU Y, by CUDA: 3' "$dir/gpu/machine.txt" && grep -q -e '--device cuda:0' "$dir/gpu/hybr.json" &&
    grep -q -e '--device 2 ' "$dir/gpu/hybr-image.json"
result "papers.sh: on a GPU by CUDA, images by OpenCL on the same"
sed -i "s|^bench)|bench) case \$* in *cantilever*) exec sleep 100 ;; esac|" "$dir/fake"
SPMV=$dir/fake PAPERS=clspmv LIMIT=32 sh bench/papers.sh CPU "$dir/hangs" >"$dir/out" 2>&1
[ $? = 0 ] && ! grep -q cantilever "$dir/hangs/clspmv.json" && grep -q 'webbase' "$dir/hangs/clspmv.json" &&
    grep -q '^2 seconds were too few: .*cantilever' "$dir/hangs/errors"
result "papers.sh: a call that hangs costs its own rows"
sed -n 's/.*"plan": "\([^"]*\)".*/\1/p' "$dir"/measured/*.json | sed 's|/.*||' | sort -u >"$dir/plans"
n=0
while read -r plan; do
    n=$((n + 1))
    build/spmv plan "$dir/gr_9_8.bin" --builder "$plan" >/dev/null 2>"$dir/err" || { n=-1000; cat "$dir/err"; }
done <"$dir/plans"
[ $n -ge 40 ]
result "papers.sh: the library knows each plan"

# 1 ns a nonzero, 5 us a message between two GPUs; a plane of the grid is 800 bytes, one of the mesh 240 elements
pair() { # pair NAME NNZ US HALO TWO: the lines of one matrix as of bench/groups.c
    printf '%s f64: 9 rows, %s nonzeros, CSR 1 MB; on one %s us by csr\n' "$1" "$2" "$3"
    printf '  by rates     on 2 %s us, speed-up 2\n    GPU 9 rows, halo %s KB, sends %s KB\n' "$5" "$4" "$4"
}
{
    echo '== CUDA'
    echo '     4096 bytes      14.1 us    0.29 GB/s  |       5.0 us    0.59 GB/s |       2.5 us    1.63 GB/s'
    pair grid_10_10_20 14000 14.0 0.8 9
    pair grid_10_10_10 7000 7.0 0.8 4
    pair mesh_10_8_20 120000 120.0 1.92 61
    pair mesh_10_8_10 60000 60.0 1.92 31
} >"$dir/groups"
echo 'grid_10                    2  spmv dia                       0.23     1.00    1.0     50' >"$dir/petsc"
report model --nonzeros 1e9 --network 1,100 "$dir/groups" "$dir/petsc"
[ $status = 0 ] && has '^\| 7-point grid \| 1\.40e\+04 \| 14 \| 9 \| 7 \|$' && has '^\| 27-point mesh, .* \| 120 \| 61 \| 60 \|$' &&
    has '^\| 7-point grid, GPUs \| 8 \| slabs \| 4\.37 \| 125000 \| 5337 \| 125000 \| 1\.00 \|$' &&
    has '^\| 7-point grid, processes \| 1000 \| boxes \| 0\.13 \| 1000 \| 48 \| 1000 \| 1\.00 \|$'
result "model: two GPUs as measured and by the model, and larger machines"
sed -i 's/halo 0.8 KB/halo 1.8 KB/' "$dir/groups"
report model "$dir/groups" "$dir/petsc"
[ $status = 1 ] && has 'grid: the halo is 1800\.0 bytes, not a plane of 800'
result "model: a halo that is not a plane is refused"

echo 'killed' >>"$dir/ours.json"
echo '{"matrix": "gr_9_8"}' >>"$dir/peer.json"
for name in plans regret; do
    report $name "$dir/ours.json"
    [ $status = 1 ] && has 'ours\.json:6: not a line of JSON'
    result "$name: a line that is no JSON is named by file and number"
done
report compare "$dir/peer.json" "$dir/ours.json"
[ $status = 1 ] && has 'ours\.json:6: not a line of JSON'
result "compare: a line that is no JSON is named by file and number"
sed -i 6d "$dir/ours.json"
report compare "$dir/peer.json" "$dir/ours.json"
[ $status = 1 ] && has 'peer\.json:2: .*missing: dtype, variant, us$'
result "compare: keys that a row lacks are named"
report plans "$dir/none.json"
[ $status = 1 ] && has 'none\.json: No such file'
result "plans: a file that is not there is named"

host_row() { # host_row BUILD DEVICE THREADS MATRIX US SHARE: a line as of bench/host.c
    printf '{"build": "%s", "device": "%s", "matrix": "%s", ' "$1" "$2" "$4"
    printf '"type": "f64", "builder": "sell", "plan": "sell", "variant": "", '
    printf '"threads": %s, "us": %s, "bytes": 8, "read": 20, "share": %s, "ok": true}\n' "$3" "$5" "$6"
}
{
    host_row O2 host 1 grid_144 40 0.80
    host_row O2 host 2 grid_144 20 0.90
    host_row O2 host 1 grid_8 2 1
    host_row O2 host 2 grid_8 3 1
    host_row O3 host 2 grid_144 20.8 1
    host_row O2 pthread 2 grid_144 30 1
} >"$dir/host.json"
# products with val=8 and val=1 beside those without
value() { # value BUILDER PLAN US: a line of "spmv bench --json" with the number of nonzeros
    row "$1" "$2" "$3" true | sed 's/{/{"nnz": 3000000, /'
}
{ value csr csr 8; value dia dia 6; value auto dia:val=8 3; value ell:w=2 ell:w=2,val=8 2; value ell:w=2 ell:w=2 7; } >"$dir/values.json"
echo '{"matrix": "x/gr_9_8.mtx.gz", "distinct": 2}' >"$dir/info.json"
report values "$dir/info.json" "$dir/values.json"
[ $status = 0 ] && has '^gr_9_8 +3000000 +2 +6\.0 dia +2\.0 ell:w=2,val=8 +3\.00 +3\.0 +2\.00$' &&
    has '^over 2 million nonzeros, 1 matrices: geometric mean 3\.00 with val, 2\.00 by auto, 3\.50 the same plan with val$'
result "values: the fastest plan with val over the fastest without, auto, and the same plan without"
report host "$dir/host.json" bands compilers devices
[ $status = 0 ] && has '^grid_144 +sell +0\.80\* +40 +0\.90 +20 *$' && has '^grid_8 +sell +2\.00 +3\.00 \*$'
result "host: shares below the goal and small products that a second thread slows down are marked"
has '^grid_144 +sell +1\.04$' && has '^grid_144 +sell +1\.50\*$'
result "host: -O3 over -O2, within the goal, and the device over the host, beyond it"

for class in host cpu gpu; do
    for set in peers short all; do
        sh bench/candidates.sh $class $set >"$dir/plans"
        result "candidates $class $set"
        n=0
        while read -r plan; do # without the knobs after the slash, which only devices have
            n=$((n + 1))
            build/spmv plan "$dir/gr_9_8.bin" --builder "${plan%%/*}" >/dev/null 2>"$dir/err" || { n=-1000; cat "$dir/err"; }
        done <"$dir/plans"
        [ $n -ge 9 ] && grep -qx auto "$dir/plans" && grep -qx csr "$dir/plans"
        result "candidates $class $set: the library knows each, auto and csr are among them"
    done
done
sh bench/candidates.sh host none >"$dir/out" 2>&1
[ $? = 2 ] && has '^usage: '
result "candidates: a set that does not exist is a wrong call"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
