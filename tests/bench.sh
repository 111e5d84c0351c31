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
has() { grep -qE "$1" "$dir/out" || { cat "$dir/out"; return 1; }; } # has PATTERN: a line of the last output

report compare "$dir/peer.json" "$dir/ours.json"
has '^gr_9_8 +3\.0 loop +4\.0 +0\.75 +csr +2\.0 +1\.50 +sell$'
result "compare: the peer's time over auto's and over the fastest plan's, the wrong one left out"
[ $status = 0 ] && has '^products wrong: 1 of 4$'
result "compare: wrong products are counted, refused plans are no products"
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
report tables --matrices "$dir" "$dir/ours.json"
[ $status = 1 ] && has '^products wrong: 1 of 4$' && ! grep -q '^Table 2' "$dir/out"
result "tables: a matrix that the paper does not have is left out"
while read -r builder plan us; do
    row "$builder" "$plan" "$us" true | sed "s/gr_9_8/clspmv_qcd/; s/\"gflops\": 1/\"gflops\": $(echo "$us" | awk '{ print 8 / $1 }')/"
done >"$dir/paper.json" <<'END'
auto csr 4
cocktail dia 2
csr csr 5
dia dia 3
hyb ell:w=2+coo 8
bcsr:b=4x4 bcsr:b=4x4 1
sell:idx=16 sell:idx=16 0.5
END
report tables --matrices "$dir" "$dir/paper.json"
[ $status = 0 ] && has '^qcd +1\.00 +4\.00 dia +8\.00 bcsr:b=4x4 +4\.00 +2\.00  DIA dia \| CSR csr$'
result "tables: only the paper's layouts are its best single format; the same plan has one time"
has '^qcd +300\.0% +0\.0% +-50\.0% +-75\.0% +-50\.0% +19\.3% +19\.1% +-3\.4% +0\.7%$' && has '^mean +300\.0%'
result "tables: improvements beside the paper's"
for plan in hyb hybr:levels=2 hybr csr/L=1 csr/L=32 cmrs:h=4; do
    case $plan in hyb*) text=ell:w=2+coo us=8 ;; csr*) text=csr us=${plan#*L=} ;; *) text=$plan us=2 ;; esac
    [ "$plan" != hybr ] || text=ell us=4
    row "$plan" "$text" $us true |
        sed "s/gr_9_8/clspmv_circuit/; s|\"host\", \"type\"|\"${plan#*/}\", \"type\"|; s/\"gflops\": 1/\"gflops\": $((8 / us))/"
done >"$dir/others.json"
report tables --matrices "$dir" "$dir/others.json"
has '^clspmv_circuit +1\.00 +0\.0% +100\.0% +8\.7% +13\.3% +13\.5% +4\.5%$'
result "tables: what HYB-R gains, divided twice and by its rule, beside the paper's"
has '^clspmv_circuit +cmrs:h=4 +4\.00 +0\.50 +4\.00 +16\.00 +0\.50 \| +5\.50 +1\.20 +0\.60 +3\.70 +0\.90$'
result "tables: what CMRS gains over csr, HYB, 32 lanes and one"
cat >"$dir/fake" <<END
#!/bin/sh
# stands for spmv: gen makes a file, except of one matrix, and bench prints a line for each plan
case \$1 in
gen) [ "\$2" != nosuch ] && : >"\$4" ;;
bench) shift 2; while [ "\$1" = --plan ]; do echo "{\"plan\": \"\$2\"}"; shift 2; done; echo "rest \$*" ;;
esac
END
chmod +x "$dir/fake"
SPMV=$dir/fake TABLE=t.tune sh bench/papers.sh host f32 "$dir/papers" clspmv_qcd nosuch koza_p7 >"$dir/out" 2>&1
[ $? = 0 ] && [ "$(grep -c '"cocktail"' "$dir/papers/papers_host.f32.json")" = 2 ] && [ ! -e "$dir/papers/nosuch.bin" ] &&
    grep -qx 'rest --again 4 --table t.tune --device host --type f32 --json' "$dir/papers/papers_host.f32.json"
result "papers.sh: every plan for each matrix that can be generated"
[ "$(sed -n '$p' "$dir/papers/machine.txt")" = "Command: TABLE=t.tune bench/papers.sh host f32 $dir/papers clspmv_qcd nosuch koza_p7" ]
result "papers.sh: the command is kept for the report"
report tables --table tuning/host.tune --matrices "$dir" "$dir/paper.json"
[ $status = 0 ] && has 'cocktail and auto as chosen by tuning/host.tune'
result "tables --table: a matrix that is not there keeps the choice of the run"

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
for name in plans regret tables; do
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
report host "$dir/host.json" bands compilers devices
[ $status = 0 ] && has '^grid_144 +sell +0\.80\* +40 +0\.90 +20 *$' && has '^grid_8 +sell +2\.00 +3\.00 \*$'
result "host: shares below the goal and small products that a second thread slows down are marked"
has '^grid_144 +sell +1\.04$' && has '^grid_144 +sell +1\.50\*$'
result "host: -O3 over -O2, within the goal, and the device over the host, beyond it"

timed() { # timed ROLE US: a line as of tools/gen/measure/measure.c
    printf '{"device": "CUDA", "type": "f64", "matrix": "gr_9_8.bin", "group": "ell", "role": "%s", "plan": "ell", "knobs": "", ' "$1"
    printf '"kernel": "-", "us": %s, "worst": 0.5}\n' "$2"
}
{ timed hand 4; timed same 2; timed tried 1; } >"$dir/times.json"
report generator "$dir/times.json"
[ $status = 1 ] && has 'machine\.txt'
result "generator: a head that is missing is named"
printf 'NVIDIA X, 1.2\n2026-01-02\nOf one run.\n' >"$dir/machine.txt"
report generator "$dir/times.json"
[ $status = 0 ] && has '^Machine: NVIDIA X, 1\.2; 2026-01-02$' && has '^Command: .*bench/generator\.py times\.json$' &&
    has '^Of one run\.$' && has '^ +gr_9_8 +4\.00 +2\.00 +1\.00 +4\.00 +2\.00 +4\.00 +4\.00 '
result "generator: machine, date and command; the ratios of a matrix"

for class in host cpu gpu; do
    for set in peers paper short all; do
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
