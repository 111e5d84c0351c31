#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/test_cli.sh [PROGRAM] - tests every command of the command line (build/spmv) on generated matrices.
# Prints a line for each check, "ok NAME" or "FAIL NAME"; the last line is "N passed, N failed". The exit status is 1 if any failed.
LC_ALL=C
export LC_ALL
spmv=${1:-build/spmv}
if [ ! -x "$spmv" ]; then
    echo "usage: test_cli.sh [PROGRAM]" >&2
    exit 2
fi
case $spmv in
    /*) ;;
    *) spmv=$PWD/$spmv ;;
esac
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
trap 'exit 2' HUP INT TERM
defect=$(dirname "$spmv")/spmv-defect # the same program with kernels that can be given defects
cd "$dir" || exit 2
passed=0
failed=0

# verdict NAME STATUS: counts and prints a check; after a failure it prints the command's output.
verdict() {
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok $1"
    else
        failed=$((failed + 1))
        echo "FAIL $1"
        sed 's/^/    /' out err 2>/dev/null | head -n 20
    fi
}

# gives NAME STATUS ARGUMENTS...: runs the program, writes its output to the files out and err, and compares the exit status.
gives() {
    name=$1
    want=$2
    shift 2
    "$spmv" "$@" >out 2>err </dev/null
    got=$?
    [ "$got" -eq "$want" ]
    verdict "$name" $?
}

# says NAME FILE PATTERN: the last command's output (out or err) must have a line that matches the extended pattern.
says() {
    grep -Eq -- "$3" "$2"
    verdict "$1" $?
}

# product NAME "VALUES" ARGUMENTS...: the result of mul, after the two lines of heading, must be these values.
product() {
    name=$1
    want=$2
    shift 2
    "$spmv" mul "$@" >out 2>err && [ "$(sed 1,2d out | tr '\n' ' ')" = "$want " ]
    verdict "$name" $?
}

is_json() {
    if command -v python3 >/dev/null 2>&1; then
        python3 -c '
import json, sys
keys = """matrix device builder plan variant type rows cols nnz threads us us_min us_max samples timed gflops gbs bytes padding err
    prepare_us read_us input_us analysis_us conversion_us upload_us building_us filled memory device_memory version again ok""".split()
def refuse(token):
    raise ValueError(token)
lines = open(sys.argv[1]).read().splitlines()
assert lines
for line in lines:
    r = json.loads(line, parse_constant=refuse)
    assert [k for k in r if k != "total_us"] == keys, line
    parts = [r[k + "_us"] or 0 for k in ("input", "analysis", "conversion", "upload", "building")]
    assert r["prepare_us"] is None or sum(parts) <= r["prepare_us"], line
    assert all(abs(t - r["prepare_us"] - int(n) * r["us"]) <= 1e-3 * t for n, t in r.get("total_us", {}).items() if t), line
    assert (r["threads"] is None) == (r["device"] != "host"), line
    assert r["us"] is None or (r["us_min"] <= r["us"] <= r["us_max"] and r["samples"] >= 5), line
' "$1"
    else
        ! grep -Evq '^\{"matrix": ".*", "device": .*"builder": .*"us": .*"err": .*"ok": (true|false|null)\}$' "$1"
    fi
}

# ---- help and usage ----
gives 'help' 0 --help
says 'help names the commands' out 'spmv bench'
gives 'version' 0 --version
for c in devices info mul bench self-check convert plan plot tune gen; do
    gives "$c --help" 0 $c --help
    says "$c --help names the exit status" out '2 usage error'
    gives "$c: unknown option" 2 $c --nonsense
    says "$c: unknown option is named" err "nonsense.*spmv $c --help"
done
gives 'no command' 2
gives 'unknown command' 2 multiply
gives 'missing argument' 2 info
gives 'one argument too many' 2 info a b
gives 'option without its value' 2 mul a.mtx --plan
says 'option without its value is named' err '--plan requires a value'
gives 'switch with a value' 2 bench a.mtx --json=yes
gives 'no number' 2 mul a.mtx --alpha 1x
says 'no number is named' err "--alpha requires a number, not '1x'"
gives 'no type' 2 mul a.mtx --type f16
says 'no type is named' err "--type .*'f16'"
gives 'beta without y' 2 mul a.mtx --beta 2
gives 'y without beta' 2 mul a.mtx --y y.mtx
gives 'two plans for mul' 2 mul a.mtx --plan csr --plan coo
for p in 'ell+' 'elll' 'ell:q=3' 'ell:w=x' 'hybr:z=1' ''; do
    gives "no plan: '$p'" 2 bench a.mtx --plan "$p"
    grep -Fq -- "--plan: plan \"$p\", column" err
    verdict "no plan: '$p' and the column are named" $?
done
gives 'no plan: no such format' 2 mul a.mtx --plan elll
says 'no plan: what there is' err 'format: dense, coo, .*; or of a builder: hyb, .*; see spmv plan --list$'

# ---- gen ----
counts() {
    "$spmv" gen "$1" -o gen.mtx >out 2>err && [ "$(sed -n 2p gen.mtx)" = "$2" ]
    verdict "gen $1" $?
}
gives 'gen --list' 0 gen --list
says 'gen --list names families' out 'Trefethen_#b'
counts Trefethen_20 '20 20 158'
counts Trefethen_20b '19 19 147'
counts Trefethen_2000 '2000 2000 41906'
counts Trefethen_20000b '19999 19999 554435'
counts mycielskian2 '2 2 2'
counts mycielskian3 '5 5 10'
counts mycielskian11 '1535 1535 134710'
counts ch3-3-b1 '18 9 36'
counts ch7-8-b2 '11760 1176 35280'
counts mk9-b2 '1260 378 3780'
counts mk11-b4 '10395 17325 51975'
counts bibd_9_3 '36 84 252'
counts bibd_17_8 '136 24310 680680'
counts gr_30_30 '900 900 7744'
counts arrow_46500 '46500 46500 139498'
counts tridiag_5 '5 5 13'
counts poisson2d_10 '100 100 460'
counts poisson3d_4 '64 64 352'
gives 'gen: no formula' 2 gen bcsstk16
gives 'gen: out of range' 1 gen mycielskian99
gives 'gen to nowhere' 1 gen tridiag_100 -o /nowhere/at/all.mtx
gives 'gen to standard output' 0 gen tridiag_3
says 'gen to standard output writes Matrix Market' out '^3 3 7$'

# ---- a small matrix by hand ----
cat >small.mtx <<'END'
%%MatrixMarket matrix coordinate integer general
% 2 . 1 .
% . 3 . .
% -1 . . 4
3 4 5
1 1 2
1 3 1
2 2 3
3 1 -1
3 4 4
END
printf '%%%%MatrixMarket matrix array real general\n4 1\n1\n2\n3\n4\n' >x.mtx
printf '%%%%MatrixMarket matrix array real general\n3 1\n1\n1\n1\n' >y.mtx
gzip -c small.mtx >small.mtx.gz
"$spmv" devices >out 2>err
verdict 'devices' $?
says 'devices names the host' out '^host'
devices=host
if grep -q '^0 ' out; then devices='host 0'; fi
gives 'plan --list' 0 plan --list
says 'plan --list: a format with its properties' out '^format bcsr blocks fill reproducible$'
says 'plan --list: a layout' out '^layout sell:h=8$'
says 'plan --list: a builder' out '^builder hyb-csr$'
says 'plan --list: a choice' out '^choice auto$'
named=$(sed -nE 's/^(format|builder) ([^ ]*).*/\2/p' out | sort -u)
sed -n 's/^format \([^ ]*\).*/\1/p' out >formats
[ "$(wc -l <formats)" -ge 11 ] && [ "$(echo "$named" | wc -w)" -ge 14 ] && ! grep -Evq '^(format|layout|builder|choice) [a-z]' out
verdict 'plan --list: every line has its sort; no format is missing' $?
[ "$(sed -n 's/^layout \([^ :]*\).*/\1/p' out | uniq)" = "$(cat formats)" ]
verdict 'plan --list: layouts of every format' $?
for d in $devices; do
    for type in f64 f32 mixed; do
        for p in $named bcsr:b=2x2 cmrs:h=2 ell:w=1+coo 'dia:d=0.3+csr:rows=nonempty' 'sell:rows=sorted,h=2'; do
            # Building kernels takes long: on a device the general product is enough, and another type with a few plans. tests/test_cl.c
            # has every format in every type.
            case $d:$type:$p in
            host:* | *:f64:* | *:csr | *:bcsr:b=2x2 | *:dia:d=*) ;;
            *) continue ;;
            esac
            [ $d = host ] && product "mul $p $type" '5 6 15' small.mtx --plan "$p" --type $type --x x.mtx
            product "mul $p $type on $d, alpha and beta" '-10.5 -13 -35.5' small.mtx --plan "$p" --type $type \
                --device $d --x x.mtx --alpha -2.5 --beta 2 --y y.mtx
        done
    done
done
product 'x is ones by default' '3 3 3' small.mtx
product 'beta 0 leaves y out' '3 3 3' small.mtx --beta 0 --y y.mtx
product 'gzip input' '3 3 3' small.mtx.gz
"$spmv" mul - --x x.mtx <small.mtx.gz >out 2>err && [ "$(sed 1,2d out | tr '\n' ' ')" = '5 6 15 ' ]
verdict 'compressed standard input' $?
"$spmv" mul - --x x.mtx -o y2.mtx <small.mtx >out 2>err && [ ! -s out ] && [ "$(tail -n 1 y2.mtx)" = 15 ]
verdict 'standard input, result to a file' $?
printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 0.1\n' >tenth.mtx
product 'all digits' '0.10000000000000001' tenth.mtx
gives 'x of the wrong length' 1 mul small.mtx --x y.mtx
says 'x of the wrong length: both lengths' err 'needs 4 elements, the file has 3'
gives 'no such device' 1 mul small.mtx --device 4711
gives 'no such device by name' 1 mul small.mtx --device 'no such name'
product 'mul on the host twice' '5 6 15' small.mtx --x x.mtx --device host+host --shares 1,2
product 'mul on the host twice, by speed' '-10.5 -13 -35.5' small.mtx --device host+host --x x.mtx --alpha -2.5 --beta 2 --y y.mtx
gives 'mul: a device without a name' 1 mul small.mtx --device host+
says 'mul: a device without a name: says so' err 'a name is missing before or after a plus sign'
gives 'plan for the host twice' 0 plan small.mtx --device host+host --shares 1,1 --explain
says 'plan for the host twice: the division' out '^matrix  *3 x 4, [0-9]+ nonzeros, divided by given shares$'
says 'plan for the host twice: the second' out '^device 1  host$'
says 'plan for the host twice: halos' out '^    halo  *receives [0-9]+ elements \([0-9]+ bytes\), sends [0-9]+ \([0-9]+ bytes\)$'
for d in $devices; do
    [ $d = host ] && continue
    product "mul on the host and $d" '5 6 15' small.mtx --x x.mtx --device host+$d --shares 1,1
    gives "plan for the host and $d" 0 plan small.mtx --device host+$d
done
gives 'bench on the host twice' 0 bench small.mtx --plan csr --plan auto --device host+host --shares 1,2
says 'bench on the host twice: devices' out 'on host \+ host, [0-9]+ thread'
says 'bench on the host twice: plans' out 'csr \| csr'
gives 'bench on the host twice, JSON' 0 bench small.mtx --plan csr --device host+host --json
says 'bench on the host twice: one has no rows' out '"plan": "csr \| -".*"ok": true'
gives 'bench --again on several devices' 2 bench small.mtx --device host+host --again 2
for s in 1 1,2,3 1,x 1,-1 0,0 ,; do
    want=2
    [ $s = 0,0 ] && want=1
    gives "--shares $s for two devices" $want mul small.mtx --device host+host --shares $s
done
gives '--shares for one device' 2 mul small.mtx --shares 1
gives 'no such device among several' 1 mul small.mtx --device host+4711
gives 'plan of several devices as JSON' 2 plan small.mtx --device host+host --json
gives 'no such file' 1 mul nosuch.mtx
says 'no such file is named' err 'nosuch.mtx'

# ---- broken input ----
broken() {
    printf '%b' "$2" >broken.mtx
    gives "broken input: $1" 1 info broken.mtx
    says "broken input: $1: file and line" err "broken\\.mtx:$3"
}
broken 'index' '%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n' 3
broken 'number' '%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 x\n' 4
broken 'too few' '%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n' '[34]'
broken 'banner' 'hello\n' 1
broken 'complex' '%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n' 1
head -c 60 small.mtx.gz >cut.mtx.gz
gives 'cut gzip' 1 info cut.mtx.gz
says 'cut gzip is named' err 'cut.mtx.gz: .*ends too early'
for kind in 'xz:\375' 'bz2:BZh91AY' 'zip:PK\003\004' 'mat:MATLAB 5.0 MAT-file'; do
    printf "${kind#*:}$([ "${kind%%:*}" = xz ] && printf '7zXZ\\000')\n" >other.mtx
    gives "not Matrix Market: ${kind%%:*}" 1 info other.mtx
    says "not Matrix Market: ${kind%%:*} is named" err "expected %%MatrixMarket, found an? .*(${kind%%:*}|bzip2).* first"
done

# Archives as collections pack them: name/name.mtx, with others or alone.
mkdir small
cp small.mtx small/small.mtx
tar czf one.tar.gz small.mtx && tar cf one.tar small.mtx
cp x.mtx small/small_b.mtx
tar czf small.tar.gz small && tar czf two.tgz small && tar cf none.tar small.mtx.gz
for f in one.tar.gz one.tar small.tar.gz; do product "archive $f" '3 3 3' $f; done
"$spmv" mul - <one.tar.gz >out 2>err && [ "$(sed 1,2d out | tr '\n' ' ')" = '3 3 3 ' ]
verdict 'archive as standard input that is a file' $?
gives 'archive of two' 1 info two.tgz
says 'archive of two: which' err 'two.tgz: .*: small/small(_b)?.mtx, small/small(_b)?.mtx$'
gives 'archive without any' 1 info none.tar
says 'archive without any is named' err 'none.tar: there is no .mtx file'
for n in 513 600 1024; do
    head -c $n one.tar >cut.tar
    gives "archive cut at $n" 1 info cut.tar
    says "archive cut at $n is named" err 'cut.tar: the archive is damaged or ends too early'
done
{ head -c 130 one.tar; printf 7; tail -c +132 one.tar; } >cut.tar
gives 'archive with a damaged header' 1 info cut.tar
"$spmv" info broken.mtx 2>&1 >out | wc -l | grep -q '^ *1$'
verdict 'one message for one mistake' $?

# ---- info and plan ----
gives 'info' 0 info small.mtx
says 'info: shape' out '3 x 4, 5 nonzeros'
says 'info: blocks' out '^8x8 '
says 'info: diagonals' out 'diagonals +4 hold nonzeros'
"$spmv" gen epidemic_1025 --output mc2depi.bin # 0.04 is what Koza and others print
gives 'info of mc2depi' 0 info mc2depi.bin
says 'info: deviation' out 'mean 3.99, standard deviation 0.08'
says 'info: sigma' out '^sigma  *0\.04: '
rm mc2depi.bin
"$spmv" gen poisson2d_10 -o p.mtx
gives 'info of a grid' 0 info p.mtx
says 'info of a grid: distinct values' out '^ +2 distinct as bits; the 256 commonest are 100\.00%'
says 'info of a grid: what they save' out '^ +val=8 saves 7 bytes a nonzero in f64, 3 in f32$'
says 'info of a grid: bandwidth' out 'bandwidth +10 below the diagonal, 10 above'
says 'info of a grid: diagonals' out 'at least 90% full +5, '
printf '%%%%MatrixMarket matrix coordinate real general\n0 0 0\n' >none.mtx
{
    printf '%%%%MatrixMarket matrix array real general\n20 15\n'
    awk 'BEGIN { for (k = 0; k < 300; k++) print k < 40 ? "0.1" : k / 7 }'
} >many.mtx
gives 'info of many values' 0 info many.mtx
says 'info of many values: distinct ones' out '^ +261 distinct as bits; the 256 commonest are 98\.33%'
! grep -q saves out
verdict 'info of many values: val saves nothing' $?
gives 'info of a matrix of 0 x 0' 0 info none.mtx
"$spmv" gen arrow_46500 -o arrow.mtx
gives 'plan' 0 plan arrow.mtx --builder hyb
says 'plan: text' out '^plan +ell:w=2\+coo$'
says 'plan: shares' out '^shares +ELL\([0-9.]+%\)COO\([0-9.]+%\)'
gives 'plan explained' 0 plan arrow.mtx --explain --builder auto
says 'plan explained: rows' out '^rows +[0-9.]+ nonzeros in each that is not empty'
says 'plan explained: costs' out '^costs     ([a-z]+ [0-9.]+ \+ )*[a-z]+ [0-9.]+ = [0-9.]+ us'
says 'plan explained: reason' out \
    '^csr[^ ]* was chosen because a product is predicted to take [0-9.]+ us, .* before [^ ]+ at [0-9.]+ us; preparing'
says 'plan explained: bytes' out '^bytes   [0-9]+, [0-9]+\.[0-9][0-9] a nonzero$'
mv out out.auto
gives 'plan explained: again' 0 plan arrow.mtx --explain
cmp -s out out.auto
verdict 'plan explained: the same again' $?
gives 'plan measured' 0 plan arrow.mtx --builder measure --explain
[ "$(grep -Ec '^[* ] +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[-0-9]+  [a-z]' out)" = 3 ]
verdict 'plan measured: three options' $?
says 'plan measured: reason' out '^[^ ]+ was chosen because a product is measured to take [0-9.]+ us, '
gives 'mul measured' 0 mul arrow.mtx --plan measure
gives 'bench measured' 0 bench arrow.mtx --plan measure --json
says 'bench measured' out '"builder": "measure", "plan": "[a-z]'
says 'bench measured: right' out '"ok": true'
gives 'plan for few calls' 0 plan arrow.mtx --calls 1
says 'plan for few calls' out '^plan +csr'
gives 'plan: a bad number of calls' 2 plan arrow.mtx --calls many
printf 'spmv tuning table 2\ndevice t\nclass host\nmemory 10\nf64 coo - 0 1 0 0 0 0 0 0 1\nf64 csr - 0 9 0 0 0 0 0 0 1\n' >coo.tune
gives 'plan by a table' 0 plan arrow.mtx --table coo.tune
says 'plan by a table' out '^plan +coo'
[ ! -s err ]
verdict 'plan by a table of the class of the device: no warning' $?
sed 's/^class host/class gpu/' coo.tune >gpu.tune
for c in 'plan arrow.mtx' 'bench arrow.mtx --plan auto'; do
    gives "${c%% *} by a table of another class" 0 $c --table gpu.tune
    says "${c%% *} by a table of another class: a warning" err \
        'warning: gpu.tune is a table of the class gpu \(t\); estimates for the class host \(host\) may be far off'
    [ "$(wc -l <err)" -eq 1 ]
    verdict "${c%% *} by a table of another class: one warning" $?
done
printf 'spmv tuning table 2\ndevice t\nclass host\nmemory 10\nf64 coo - fast\n' >bad.tune
gives 'plan by a damaged table' 1 plan arrow.mtx --table bad.tune
says 'plan by a damaged table: the line' err 'bad.tune, line 5'
gives 'plan by a table that is not there' 1 plan arrow.mtx --table nosuch.tune
gives 'plan: ell refused' 1 plan arrow.mtx --builder ell
says 'plan: ell refused with the figure' err '[0-9]{6,}|[0-9.]+ [MG]i?B'

# ---- convert ----
for m in small p arrow; do
    "$spmv" convert $m.mtx a.mtx && "$spmv" convert a.mtx a.bin && "$spmv" convert a.bin b.mtx && cmp -s a.mtx b.mtx
    verdict "convert $m to binary and back" $?
    "$spmv" convert b.mtx b.bin && cmp -s a.bin b.bin
    verdict "convert $m to the same bytes" $?
done
"$spmv" convert arrow.mtx a.mtx.gz && gzip -t a.mtx.gz && "$spmv" convert - b.bin <a.mtx.gz && cmp -s a.bin b.bin
verdict 'convert through gzip and standard input' $?
"$spmv" convert --type f32 tenth.mtx t.bin && "$spmv" mul t.bin -o - | tail -n 1 | grep -q '^0.10000000149'
verdict 'convert to f32' $?
for p in csr ell:w=1+coo sell:val=8; do
    "$spmv" convert arrow.mtx p.spmv --plan $p --prepared && "$spmv" convert p.spmv b.bin && cmp -s a.bin b.bin
    verdict "convert --prepared by $p and back" $?
done
"$spmv" convert small.mtx p.spmv.gz --prepared --plan sell --type f32
product 'mul of a prepared matrix, in its type' '5 6 15' p.spmv.gz --x x.mtx
product 'mul of a prepared matrix by another plan' '5 6 15' p.spmv.gz --x x.mtx --plan csr
gives 'mul of a prepared matrix in another type' 1 mul p.spmv.gz --type f64
says 'mul of a prepared matrix in another type: both are named' err 'type f32, not f64'
gives 'info of a prepared matrix' 0 info p.spmv.gz --json
says 'info of a prepared matrix' out '"rows": 3, "cols": 4,'
gunzip -c p.spmv.gz >q.spmv && printf x | dd of=q.spmv bs=1 seek=300 conv=notrunc 2>/dev/null
gives 'mul of a damaged prepared matrix' 1 mul q.spmv
says 'mul of a damaged prepared matrix: why' err 'q.spmv.*checksum'
gives 'convert --plan alone' 2 convert small.mtx q.spmv --plan csr
printf '#include "small-1.h"\nint main(void) { return sizeof small_1 %% 64 != 0; }\n' >h.c
"$spmv" convert small.mtx small-1.h --c-array --plan csr &&
    ${CC:-cc} -std=c99 -Wall -Wextra -Werror h.c -o h && ./h
verdict 'convert --c-array compiles' $?
"$spmv" convert small.mtx s.bin
product 'binary input' '5 6 15' s.bin --x x.mtx
printf '%%%%MatrixMarket matrix coordinate real general\n2 3 3\n1 1 1\n1 3 2\n2 3 4\n' >wide.mtx
gives 'convert --transpose' 0 convert wide.mtx tall.mtx --transpose
[ "$(grep -v '^%' tall.mtx | tr '\n' ';')" = '3 2 3;1 1 1;3 1 2;3 2 4;' ]
verdict 'convert --transpose: rows and columns change places' $?
gives 'info --transpose' 0 info wide.mtx --transpose --json
says 'info --transpose' out '"rows": 3, "cols": 2,'
product 'mul --transpose' '1 0 6' wide.mtx --transpose
product 'mul --transposed' '1 0 6' wide.mtx --transposed
product 'mul --transposed --transpose' '3 4' wide.mtx --transposed --transpose
product 'mul --transposed on several devices' '1 0 6' wide.mtx --transposed --device host+host
printf '%%%%MatrixMarket matrix array real general\n3 2\n1\n2\n3\n-1\n0\n0.5\n' >two.mtx
printf '%%%%MatrixMarket matrix array real general\n2 2\n1\n1\n2\n2\n' >two_y.mtx
product 'mul --x of several columns' '7 12 0 2' wide.mtx --x two.mtx
product 'mul --x and --y of several columns' '9 14 4 6' wide.mtx --x two.mtx --y two_y.mtx --beta 2 --type mixed
product 'mul --transposed --x of several columns' '1 0 6 2 0 12' wide.mtx --transposed --x two_y.mtx
product 'mul --x of several columns on several devices' '7 12 0 2' wide.mtx --x two.mtx --device host+host
printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n1\n' >one_y.mtx
gives 'mul --y of fewer columns' 1 mul wide.mtx --x two.mtx --beta 1 --y one_y.mtx
says 'mul --y of fewer columns' err 'y needs 2 columns, as x has, the file has 1'
gives 'bench --vectors' 0 bench wide.mtx --vectors 3 --plan csr --plan sell
[ "$(grep -c '3 one after another: [0-9.]* products' out)" = 2 ] && [ "$(grep -c '3 side by side: [0-9.]* products' out)" = 2 ]
verdict 'bench --vectors: both orders' $?
gives 'bench --vectors as JSON' 0 bench wide.mtx --vectors 3 --plan csr --json
says 'bench --vectors as JSON' out '"vectors": 3, "columns_us": [0-9.e-]*, "sides_us": [0-9.e-]*, .*"ok": true'
gives 'bench --vectors 0' 2 bench wide.mtx --vectors 0
gives 'bench --vectors --again' 2 bench wide.mtx --vectors 2 --again 2
gives 'bench --both' 0 bench wide.mtx --both --plan csr
says 'bench --both' out 'A\^T: csr'
says 'bench --both' out 'both in turn'
gives 'bench --both as JSON' 0 bench wide.mtx --both --plan csr --plan auto --json
[ "$(grep -c '"transposed": true, "both_us": [0-9.e-]*, .*"ok": true' out)" = 2 ] && [ "$(grep -c '"transposed": false' out)" = 2 ]
verdict 'bench --both: a line for each direction' $?
gives 'bench --both --again' 2 bench wide.mtx --both --again 2
gives 'bench --both on several devices' 2 bench wide.mtx --both --device host+host
gives 'bench --transpose' 0 bench wide.mtx --transpose --plan csr --json
says 'bench --transpose' out '"rows": 3, "cols": 2,.*"ok": true'
gives 'plan --transpose' 0 plan wide.mtx --transpose
gives 'convert: nowhere' 1 convert small.mtx no/such/place.bin
head -c 100 a.bin >cut.bin
gives 'cut binary' 1 info cut.bin

# ---- plot ----
# A distribution's matplotlib is for its own Python, which another one may precede in PATH.
python=python3
$python -c 'import matplotlib' 2>/dev/null || python=/usr/bin/python3
# png.py FILE CHECK...: reads the whole PNG, and then makes the checks:
#   has COLOUR             there are pixels of this colour
#   run COLOUR N,N,...     the longest run of them in each group of adjacent rows that has any is so many pixels long, within two pixels
#   rise COLOUR N,N,...    the same for columns
cat >png.py <<'END'
import sys
import numpy
from PIL import Image

def runs(mask):
    length, longest, out = numpy.zeros(len(mask), int), numpy.zeros(len(mask), int), [0]
    for column in mask.T:
        length = (length + 1) * column
        longest = numpy.maximum(longest, length)
    for n in longest:
        out[-1] = max(out[-1], n)
        if not n: out.append(0)
    return [n for n in out if n > 2]

picture = numpy.asarray(Image.open(sys.argv[1]).convert("RGB"))
assert picture.shape[1] > 1000, picture.shape
at = 2
while at < len(sys.argv):
    what, colour = sys.argv[at], sys.argv[at + 1]
    mask = (picture == list(bytes.fromhex(colour))).all(2)
    if what == "has":
        assert mask.any(), (what, colour)
        at += 2
        continue
    want, got = [float(v) for v in sys.argv[at + 2].split(",")], runs(mask if what == "run" else mask.T)
    assert len(got) == len(want) and all(abs(g - w) <= 2 for g, w in zip(got, want)), (what, colour, got)
    at += 3
END
is_png() {
    $python png.py "$@"
}
is_svg() { # is_svg FILE: it is well-formed, has a size, draws something, and needs no other file
    python3 - "$1" <<'END'
import sys, xml.dom.minidom
top = xml.dom.minidom.parse(sys.argv[1]).documentElement
assert top.tagName == "svg" and top.getAttribute("width").endswith("pt")
assert top.getElementsByTagName("path") and top.getElementsByTagName("use")
for e in top.getElementsByTagName("*"):
    assert e.getAttribute("xlink:href")[:1] in ("", "#") or e.getAttribute("xlink:href").startswith("data:image/png;base64,")
END
}
paints() { # paints NAME FILE CHECK...: makes checks of png.py
    name=$1
    shift
    is_png "$@" >out 2>err
    verdict "$name" $?
}
cp small.mtx 'a<b>&"c".mtx'
"$spmv" gen clspmv_circuit -o circuit.bin
printf '%%%%MatrixMarket matrix coordinate real general\n3 1000 1\n2 900 1\n' >thin.mtx
cp thin.mtx "$(printf 'no utf-8 $x$ \377\303.mtx')"
{ # 100 rows of one nonzero, 1 of four, 10 empty ones
    printf '%%%%MatrixMarket matrix coordinate real general\n111 111 104\n'
    i=0
    while [ "$i" -lt 100 ]; do i=$((i + 1)); echo "$i $i 1"; done
    for i in 1 2 3 4; do echo "101 $i 1"; done
} >lengths.mtx
cat >table.tune <<'END'
spmv tuning table 2
device <a & b>
class host
memory 10
f64 csr - 0 1 0 0 0 0 0 0 100
f32 ell - 0 1 0 0 0 0 0 0 100
END
ours() { # ours MATRIX BUILDER PLAN US AGAIN OK: a line of bench --json
    printf '{"matrix": "%s", "device": "host", "builder": "%s", "plan": "%s", "variant": "host", "type": "f64", ' "$1" "$2" "$3"
    if [ "$4" = null ]; then printf '"us": null, "gflops": null, '; else printf '"us": %s, "gflops": %s, ' "$4" "$((24 / $4))"; fi
    printf '"again": %s, "ok": %s}\n' "$5" "$6"
}
{
    ours dir/a.mtx.gz csr csr 2 false true
    ours a auto csr 4 false true # the same product again, slower
    ours a ell ell 4 false true
    ours a coo coo 8 false false
    ours a dia dia null false null
    ours b csr csr 8 false true
    ours c csr csr 6 false true
    ours c csr csr 8 true true # timed side by side: this time counts
    ours 'alone \u00e9\t\"' csr csr 1 false true
} >ours.json
cat >peer.json <<'END'
{"matrix":"a","dtype":"f64","variant":"alg1","us":8.00,"min":1}
{"matrix":"a","dtype":"f64","variant":"alg2","us":16.00}

{"matrix":"b","dtype":"f64","variant":"alg1","us":1.6e+1}
{"matrix":"c","dtype":"f64","variant":"alg1","us":4}
{"matrix":"c","dtype":"f64","variant":"bsr","us":null}
END
printf 'spmv tuning samples 1\nhost\nx\nf64 gr_9_8 csr/ 4\nf64 gr_9_8 coo/ 9\nf64 tridiag_20 csr/ 8000\n' >drawn.samples
draws() { # draws NAME OUT ARGUMENTS...: the picture is one of its kind
    name=$1 file=$2
    shift 2
    gives "$name" 0 plot "$@" -o "$file"
    "is_${file##*.}" "$file" >out 2>err
    verdict "$name: a picture" $?
}
draws 'plot: a small matrix' s.svg 'a<b>&"c".mtx'
draws 'plot: three parts' p.png circuit.bin --plan 'dia:d=0.6+ell:w=4+csr:rows=nonempty'
draws 'plot: a thin matrix by a builder, with a name that is no UTF-8' thin.png "$(printf 'no utf-8 $x$ \377\303.mtx')" --plan hyb
draws 'plot rows' r.png rows lengths.mtx
draws 'plot bench' b.png bench ours.json peer.json --caption 'today'
draws 'plot ratio' q.png ratio ours.json peer.json --caption "$(printf 'to\377day')"
gives 'plot predicted' 0 plot predicted table.tune drawn.samples -o t.png
says 'plot predicted: what the table predicts, nothing of coo' out '^f64 +[0-9]+% of 2 within 0.8 to 1.25, geometric mean [0-9.]+$'
says 'plot predicted: the shares of a format' out '^f64 csr +[0-9]+% of 2 within 0.8 to 1.25'
paints 'plot predicted: dots of csr' t.png has 009e73
gives 'plot: the same picture again' 0 plot predicted table.tune drawn.samples -o t2.png
cmp t.png t2.png
verdict 'plot: the same bytes' $?
gives 'plot predicted: one file' 2 plot predicted table.tune -o p.png
gives 'plot predicted: no samples' 1 plot predicted table.tune table.tune -o p.png
says 'plot predicted: no samples: why' err 'table.tune'
printf 'spmv tuning samples 1\nhost\nx\nf64 gr_9_8 coo/ 4\n' >other.samples
gives 'plot predicted: nothing is predicted' 1 plot predicted table.tune other.samples -o p.png
says 'plot predicted: nothing is predicted: why' err 'table.tune predicts no sample of other.samples'
# Lengths computed by hand: 464 units, of two pixels each, for the fastest; a square of the legend is 26 pixels wide.
paints 'plot bench: 4 us, 8 us beside a peer of 16 us, 8 us beside 4 us, and one alone' b.png run 0072b2 26,464,928,464,928
paints 'plot bench: the choice of auto, 2 us' b.png run 009e73 26,928
paints 'plot bench: a wrong product, 8 us' b.png run d55e00 26,232
paints 'plot bench: the peer, where it has them by its times in a row' b.png run 8c959f 26,232,116,464,928
cp peer.json 'another peer.json'
gives 'plot bench: two peers' 0 plot bench ours.json peer.json 'another peer.json' -o b3.png
paints 'plot bench: two peers: the same variant of both' b3.png run 8c959f 26,232,232,116,116,464,464,928,928
# 200 units per octave
paints 'plot ratio: 4, 2 and, to the left, 0.5' q.png run 0072b2 26,797,397,400
# 316 units from 0.7 to 130 rows; bars have white edges
paints 'plot rows: 100 rows of one nonzero, 1 of four' r.png rise 0072b2 597,40
paints 'plot rows: 10 empty rows' r.png rise d55e00 322
paints 'plot: three parts have three colours' p.png has 0072b2 has d55e00 has 009e73
gives 'plot ratio: by a builder' 0 plot ratio ours.json peer.json --plan auto -o q2.png
paints 'plot ratio: by a builder: its matrix alone' q2.png run 0072b2 26,995
gives 'plot bench: no line of the plan' 1 plot bench ours.json --plan sell -o p.png
says 'plot bench: no line of the plan: which' err 'no lines of ours with the plan sell'
gives 'plot ratio: without a peer' 1 plot ratio ours.json -o p.png
says 'plot ratio: without a peer: why' err "no matrix has both a time of ours and a peer's"
gives 'plot bench: no such file' 1 plot bench ours.json nosuch.json -o p.png
says 'plot bench: no such file is named' err 'nosuch.json: No such file'
gives 'plot bench: a folder' 1 plot bench . -o p.png
: >empty.json
gives 'plot bench: nothing in it' 1 plot bench empty.json -o p.png
says 'plot bench: nothing in it is told' err 'empty.json: the file has no lines'
refuses() { # refuses LINE WHY: a file with this second line is refused with the place and the reason
    { sed 1q ours.json; printf '%s\n' "$1"; } >bad.json
    "$spmv" plot bench bad.json -o bad.png >out 2>err </dev/null
    [ $? -eq 1 ] && [ ! -e bad.png ] && grep -Fq "bad.json, line 2$2" err && [ "$(wc -l <err)" -eq 1 ]
    verdict "plot bench: a line like $(printf '%.60s' "$1")" $?
}
refuses 'us 3' ', column 1: '
refuses '{"total_us": {"100": 5 "1000": 6}}' ', column 24: '
refuses '{}' ': neither a line of ours'
refuses '{"matrix": "a"' ', column 15: '
refuses '{"matrix": "a}' ', column 12: '
refuses '[1]' ': a JSON object'
refuses '{"matrix": [1]}' ': "matrix" is a string'
refuses '{"us": NaN}' ': NaN is not a number of JSON'
refuses '{"us": 1e999}' ': "us" is a number'
refuses '{"us": true}' ': "us" is a number'
refuses '{"matrix": "a", "us": 3}' ': neither a line of ours'
refuses '{"matrix": "a", "type": "f64", "plan": "csr", "us": -3}' ': the time is below 0'
refuses "$(awk 'BEGIN { for (i = 0; i < 5000; i++) printf "[" }')" ': '
gives 'plot: no name' 2 plot small.mtx
says 'plot: no name: what is wanted' err '-o NAME.png or -o NAME.svg'
gives 'plot: another suffix' 2 plot small.mtx -o p.gif
says 'plot: another suffix is named' err "'p.gif'"
gives 'plot: nowhere' 1 plot small.mtx -o /nowhere/at/all.png
says 'plot: nowhere is named' err '/nowhere/at/all.png: No such file'
if [ -w /dev/full ]; then
    ln -s /dev/full full.png
    gives 'plot: no room' 1 plot small.mtx -o full.png
    says 'plot: no room is told' err 'full.png: No space'
fi
gives 'plot: no plan' 2 plot small.mtx --plan 'elll' -o p.png
gives 'plot: a plan that leaves nonzeros' 1 plot small.mtx --plan 'ell:w=1' -o p.png
for rows in '' rows; do
    gives "plot $rows: nothing to draw" 1 plot $rows none.mtx -o p.png
    says "plot $rows: nothing to draw, why" err 'none.mtx: a matrix without rows or columns cannot be drawn'
done
gives 'plot rows: no plan' 2 plot rows small.mtx --plan csr -o p.png
gives 'plot predicted: no such table' 1 plot predicted nosuch.tune drawn.samples -o p.png
gives 'plot predicted: no table' 1 plot predicted small.mtx drawn.samples -o p.png
says 'plot predicted: no table: the line' err 'small.mtx, line 1'
gives 'plot: two matrices' 2 plot small.mtx thin.mtx -o p.png
gives 'plot: no such picture' 2 plot tune table.tune -o p.png
gives 'plot: a caption' 2 plot small.mtx --caption x -o p.png
mkdir without here
echo 'import sys; sys.modules["matplotlib"] = None' >without/sitecustomize.py
PYTHONPATH=$PWD/without "$spmv" plot small.mtx -o never.png >out 2>err </dev/null
[ $? -eq 1 ] && [ ! -e never.png ] && grep -q 'python3 with matplotlib.*python3-matplotlib; elsewhere: pip install matplotlib' err
verdict 'plot: without matplotlib it says what to install' $?
echo 'raise SystemExit(3)' | tee here/json.py >here/matplotlib.py
(cd here && "$spmv" plot bench nosuch.json -o here.png) 2>err; grep -q 'nosuch.json: No such file' err
verdict 'plot: modules in the current folder are not those that it takes' $?

# ---- bench ----
for d in $devices; do
    for type in f64 f32 mixed; do
        gives "bench all $type on $d" 0 bench small.mtx p.mtx --device $d --type $type --json
        is_json out
        verdict "bench all $type on $d: JSON" $?
        ! grep -q '"ok": false' out && grep -q '"builder": "hybr"' out
        verdict "bench all $type on $d: every product right" $?
    done
done
gives 'bench tables' 0 bench p.mtx --plan csr --plan 'ell:w=4+coo'
says 'bench tables: a line a plan' out 'ell:w=4\+coo'
gives 'bench --again' 0 bench p.mtx --plan csr --plan auto --plan ell --plan sell --again 1 --json
is_json out
verdict 'bench --again: JSON' $?
[ "$(grep -c '"again": true' out)" -ge 2 ] && [ "$(grep -c '"builder": "auto".*"again": true' out)" = 1 ] &&
    [ "$(grep -c '"again": false' out)" = 4 ]
verdict 'bench --again: the fastest and what was chosen' $?
[ "$(grep -c '"timed": "calls"' out)" = "$(wc -l <out)" ]
verdict 'bench: says how it timed' $?
gives 'bench --graph: not on the host' 1 bench p.mtx --plan csr --graph
says 'bench --graph: not on the host: why' err 'requires a CUDA device'
gives 'bench --graph: not with --events' 2 bench p.mtx --plan csr --graph --events
gives 'bench --total: JSON' 0 bench p.mtx --plan csr --plan auto --total 10,1000 --json
is_json out && [ "$(grep -c '"total_us": {"10": [0-9.e+]*, "1000": [0-9.e+]*}' out)" = 2 ]
verdict 'bench --total: is right' $?
gives 'bench --total: a table' 0 bench p.mtx --plan csr --plan sell --total 10
says 'bench --total: its columns' out '^ +prepare +input +analysis +conversion +upload +building +10 x +memory +device +plan$'
for bad in 0 x 1,, 1,2,3,4,5,6,7,8,9; do gives "bench --total $bad" 2 bench p.mtx --total "$bad"; done
mkdir -p kept
for d in $devices; do
    [ "$d" = host ] && continue
    gives "mul --cache: the first run" 0 mul small.mtx --device "$d" --cache kept -o first.mtx
    [ "$(find kept -name 'spmv-*.programs' | wc -l)" = 1 ]
    verdict 'mul --cache: one file' $?
    gives "mul --cache: the second run" 0 mul small.mtx --device "$d" --cache kept -o second.mtx
    cmp -s first.mtx second.mtx
    verdict 'mul --cache: the same product' $?
    gives "mul --cache: no such folder" 0 mul small.mtx --device "$d" --cache kept/missing -o second.mtx
    says 'mul --cache: says that it was not written' err 'cache: kept/missing/'
done
gives 'bench --again: a table' 0 bench p.mtx --plan csr --plan ell --again 2
says 'bench --again: says so' out '^side by side:$'
gives 'bench --again: too many' 2 bench p.mtx --again 1000
gives 'bench: a plan refused by name' 1 bench arrow.mtx --plan ell --plan csr
says 'bench: refused with the figure' out 'ell: refused: .*[0-9]'
says 'bench: goes on after a refusal' out 'csr'
gives 'bench all tolerates refusals' 0 bench arrow.mtx --plan all --json
grep -q '"builder": "ell".*"us": null.*"ok": null' out
verdict 'bench all: a refusal in JSON' $?
gives 'bench of no file' 2 bench
gives 'bench: a file is missing' 1 bench nosuch.mtx p.mtx --plan csr --json
is_json out
verdict 'bench: goes on after a missing file' $?
cp p.mtx 'odd "name"\.mtx'
gives 'bench: odd file name' 0 bench 'odd "name"\.mtx' --plan csr --json
is_json out
verdict 'bench: odd file name in JSON' $?
gives 'bench of a matrix of 0 x 0' 0 bench none.mtx --json
is_json out
verdict 'bench of a matrix of 0 x 0: JSON' $?

# ---- the output of bench, plan and info ----
is_table() { # is_table FILE HEAD: a heading that matches HEAD, and lines whose text begins in the same column, one of them marked
    awk -v head="$2" '
        $0 ~ head { on = 1; at = match($0, /  plan/); next }
        on && /^ +us +us/ { next } # units
        !on || !NF { on = 0; next }
        substr($0, at, 2) != "  " || substr($0, at - 1, 1) == " " || substr($0, at + 2, 1) == " " { bad = 1 }
        /^\*/ { marked++ }
        { lines++ }
        END { exit bad || marked != 1 || lines < 2 }' "$1"
}
is_bench_table() { # is_bench_table FILE COLUMNS: figures end below their heads, the least time is marked, at most so wide
    python3 - "$1" "$2" <<'END' 2>err
import re, sys
lines = open(sys.argv[1]).read().splitlines()
assert all(len(l) <= int(sys.argv[2]) for l in lines), lines
head = next(i for i, l in enumerate(lines) if l.startswith("  plan "))
ends = [m.end() for m in re.finditer("((min |max )?us|vs csr|GFLOP/s|GB/s|MB|padding|err)", lines[head])]
rows = []
for l in lines[head + 1:]:
    if len(l) < ends[8] or ": " in l: continue  # a long plan, what was refused, that others use the processors
    assert all(l[e - 1] != " " and l[e:e + 1] in ("", " ") for e in ends), l
    us, least, most, ratio = l[ends[0] - 9:].split()[:4]
    rows.append((l[0], l[2:ends[0] - 9].strip(), float(us), float(least), float(most), ratio))
busy = any(l.startswith("other programs use the processors (max is up to ") for l in lines)
marked = [r[2] for r in rows if r[0] == "*"]
assert marked == ([] if busy else [min(r[2] for r in rows)]) and len(rows) >= 2, rows
csr = next(r[2] for r in rows if r[1] == "csr")
for _, _, us, least, most, ratio in rows:
    assert least <= us <= most
    assert abs(float(ratio) - csr / us) <= 0.001 + float(ratio) * (0.006 / us + 0.006 / csr)  # times are printed in hundredths
END
}
gives 'bench: the table' 0 bench p.mtx --plan csr --plan ell --plan 'sell:h=32,rows=sorted,sigma=1024,idx=16' --plan 'hyb'
is_bench_table out 100
verdict 'bench: the table is aligned, the least time is marked, ratios to csr, min <= median <= max; 100 columns' $?
says 'bench: a long plan has a line of its own' out '^  sell:h=32,rows=sorted,sigma=1024,idx=16$'
says 'bench: threads' out '^p: 100 x 100, 460 nonzeros; f64 on host, [0-9]+ threads?; '
says 'bench: csr beside itself' out '^[* ] csr .* 1\.000 '
rm -f out
"$spmv" bench arrow.mtx p.mtx p.mtx p.mtx p.mtx >out 2>err </dev/null &
job=$!
until [ -s out ] || ! kill -0 $job; do sleep 0.05; done # the handler is set before the heading is printed
kill -TERM $job
wait $job
[ $? -eq 1 ] && grep -q 'interrupted: further plans were not timed' err
verdict 'bench, interrupted: a message and exit status 1' $?
[ "$(grep -c ' nonzeros; ' out)" = 1 ] && grep -q '^  plan ' out && [ "$(sed '1,2d' out | grep -c .)" -ge 1 ] && ! grep -q 'auto' out
verdict 'bench, interrupted: the table of what was timed' $?
"$spmv" bench p.mtx >out 2>err </dev/null &
job=$!
until [ -s out ] || ! kill -0 $job; do sleep 0.05; done
for i in 1 2 3 4 5; do
    sleep 0.1
    kill -STOP $job
    sleep 0.1
    kill -CONT $job
done
wait $job && grep -Eq '^other programs use the processors \(max is up to [0-9]+ times min\): no plan is marked' out && ! grep -q '^\*' out
verdict 'bench, held up: it says so and marks nothing' $?
gives 'bench without csr' 0 bench p.mtx --plan ell
says 'bench without csr: no ratio' out '^[* ] ell +[0-9.]+ +[0-9.]+ +[0-9.]+ +- '
OMP_NUM_THREADS=1 "$spmv" bench p.mtx --plan csr --json >out 2>err && grep -q '"rows": 100, "cols": 100, "nnz": 460, "threads": 1, ' out
verdict 'bench: shape and threads in JSON' $?
version=$("$spmv" --version)
says 'bench: version in JSON' out "\"version\": \"${version#spmv }\""
if [ "$devices" != host ]; then
    gives 'bench on a device: the table' 0 bench p.mtx --plan csr --plan 'ell:w=3+coo' --device 0
    is_bench_table out 999
    verdict 'bench on a device: the table is aligned' $?
    gives 'a knob for every part' 0 bench p.mtx --plan 'hyb/*:IMG=0' --plan 'ell:w=3+coo/*:WG=64,IMG=0+V=1' --device 0 --json
    is_json out
    verdict 'a knob for every part: JSON' $?
    says 'a knob for every part: both have it, the first its own too' out \
        '"plan": "ell:w=3\+coo", "variant": "[^"+]*WG=64,[^"+]*V=1,[^"+]*\+[^"+]*WG=64,'
    gives 'a knob of no part' 1 mul p.mtx --plan 'hyb/*:ALIGN=1' --device 0
    says 'a knob of no part is named' err 'ALIGN.*no part'
fi
printf 'a\377\303\050"\\\t\303\244' >name
cp small.mtx "$(cat name).mtx"
cat >shape.py <<'END'
import json, sys
def refuse(token):
    raise ValueError(token)
text = open(sys.argv[1], encoding="utf-8").read()
assert text.count("\n") == 1
d = json.loads(text, parse_constant=refuse)
if "matrix" in d and "odd" in sys.argv:
    assert d["matrix"] == "a\ufffd\ufffd(\"\\\t\u00e4.mtx", d["matrix"]
for condition in sys.argv[2:]:
    assert condition == "odd" or eval(condition), condition
END
shape() { # shape NAME CONDITION...: out must be one JSON object for which these conditions hold
    name=$1
    shift
    python3 shape.py out "$@" >err 2>&1
    verdict "$name" $?
}
gives 'info --json' 0 info "$(cat name).mtx" --json
shape 'info --json: an odd name, figures' odd 'd["rows"] == 3 and d["cols"] == 4 and d["nnz"] == 5' 'd["values"] == "small integers"' \
    'd["distinct"] == 5 and d["commonest"] == 5 and d["floats"] == 5' \
    'd["row_length"]["longest"] == 2 and d["row_length"]["shortest"] == 1' 'd["bandwidth"] == {"below": 2, "above": 2}' \
    'd["diagonals"]["used"] == {"count": 4, "nnz": 5}' 'sum(h["nnz"] for h in d["histogram"]) == 5' \
    'sum(h["rows"] for h in d["histogram"]) == 3' 'len(d["blocks"]) == 11 and d["blocks"][0]["size"] == "1x4"'
gives 'info --json of 0 x 0' 0 info none.mtx --json
shape 'info --json of 0 x 0: null where nothing is known' 'd["nnz"] == 0 and d["blocks"][0]["bytes_f64"] is None'
gives 'plan --json' 0 plan "$(cat name).mtx" --builder 'ell:w=1+coo' --json
shape 'plan --json: parts' odd 'd["plan"] == "ell:w=1+coo" and d["choice"] is None' '[p["nnz"] for p in d["parts"]] == [3, 2]' \
    '[p["plan"] for p in d["parts"]] == ["ell:w=1", "coo"]' 'd["parts"][0]["share"] == 0.6'
gives 'plan --json --explain' 0 plan arrow.mtx --explain --builder measure --json
shape 'plan --json --explain: options' 'd["choice"]["options"][0]["plan"] == d["plan"]' 'd["choice"]["table"] == "host"' \
    'len(d["choice"]["options"]) > 3 and d["choice"]["options"][0]["measured_us"] > 0'
gives 'plan --json of 0 x 0' 0 plan none.mtx --json --explain
shape 'plan --json of 0 x 0: a plan' 'd["plan"] == "csr"'
gives 'plan --max-bytes' 1 plan arrow.mtx --builder hyb --max-bytes 1000K
says 'plan --max-bytes: what and how much' err 'ell:w=2: .* the limit is 1024000 bytes'
gives 'plan --max-bytes --json' 1 plan arrow.mtx --builder hyb --max-bytes 1000K --json
shape 'plan --max-bytes --json: null bytes for what was refused' '[p["bytes"] is None for p in d["parts"]] == [True, False]'
gives 'plan --max-bytes: enough' 0 plan arrow.mtx --builder hyb --max-bytes 2M
gives 'mul --max-bytes' 1 mul arrow.mtx --plan hyb --max-bytes 1000k
gives 'bench --max-bytes' 1 bench arrow.mtx --plan hyb --plan csr --max-bytes 1000k
says 'bench --max-bytes: refused' out ' hyb: refused: '
for n in '' 0 K -1 1T 1.5M 64MB 0x10 99999999999999999999 17179869184G; do
    gives "--max-bytes '$n'" 2 bench p.mtx --plan csr --max-bytes "$n"
    grep -Fq -- "whole number of bytes above 0, optionally followed by K, M or G, not '$n'" err
    verdict "--max-bytes '$n': what it wants" $?
done
gives '--max-bytes: the most' 0 bench p.mtx --plan csr --max-bytes 17179869183G
gives 'plan --explain: the table' 0 plan arrow.mtx --explain
is_table out '^ +cost +predicted +measured +vs csr +convert +pays after  plan/variant$'
verdict 'plan --explain: the table is aligned, one line marked' $?
says 'plan --explain: units' out '^ +us +us +us +times +csr products +products$'
awk '/^ +us +us/ { on = 1; next } !NF { on = 0 }
    on { sub(/^\*/, ""); if ($1 + 0 < before + 0) exit 1; before = $1; n++ } END { if (n < 3) exit 1 }' out
verdict 'plan --explain: by cost' $?

# ---- the examples of --help ----
# a.mtx and b.mtx, and x and y with the sizes of a.mtx
mkdir help && cp p.mtx help/a.mtx && cp small.mtx help/b.mtx
"$spmv" mul p.mtx -o help/x.mtx && cp help/x.mtx help/y.mtx && cp help/x.mtx help/several.mtx
examples() { # examples COMMAND: prints the lines under "Examples:" of its help
    "$spmv" $1 --help | awk '/^Examples:$/ { on = 1; next } on && /^$/ { on = 0 } on'
}
for c in '' devices info mul bench self-check convert plan tune plot gen; do
    examples "$c" >examples
    least=2
    if [ "$c" = devices ]; then least=1; fi # it takes no arguments
    [ "$(wc -l <examples)" -ge "$least" ] && ! grep -Evq '^  spmv [^#]*  # ' examples
    verdict "$c --help: examples and what they do" $?
    while IFS= read -r line; do
        case $line in
        *'# (GPU)'*)
            # those of mul and plan are quick and run on any device
            case $c in mul | plan) [ "$devices" != host ] || continue ;; *) continue ;; esac
            line=$(printf '%s\n' "$line" | sed 's/--device gpu/--device 0/') ;;
        esac
        (cd help && eval "spmv() { \"$spmv\" \"\$@\"; }; $line") >out 2>err </dev/null
        verdict "$c --help: $(echo ${line%%  \#*})" $?
    done <examples
done

# ---- tune ----
gives 'tune: an argument' 2 tune a.tune
gives 'tune: budget of nothing' 2 tune --budget 0
gives 'tune: a folder that does not exist' 1 tune --budget 1000000 --out missing/a.tune
says 'tune: a folder that does not exist: says so at once' err '^spmv tune: missing/a.tune: No such file or directory$'
gives 'tune' 0 tune --budget 2 --type f64 --samples s.txt --out a.tune
says 'tune: what it found' err 'host: [1-9][0-9]* samples of [1-9][0-9]* structures, .*; for structures left out: error [0-9.]+ \(log2\)'
says 'tune: its head' a.tune '^spmv tuning table 2$'
says 'tune: its device' a.tune '^device host$'
says 'tune: how good it is' a.tune '^regret f64 [0-9.]+ [0-9.]+$'
says 'tune: a line' a.tune '^f64 csr +-( +[0-9.]+){9}$'
says 'tune: a line of a type that was not measured' a.tune '^f32 csr +-( +[0-9.]+){9}$'
[ "$(wc -c <a.tune)" -le 8192 ]
verdict 'tune: at most 8 KB' $?
awk '/^f/ { for (i = 4; i <= NF; i++) { s = $i; gsub(/^[0.]+|[.]/, "", s); sub(/0+$/, "", s); if (length(s) > 3) exit 1; n++ } }
    END { exit !n }' a.tune
verdict 'tune: numbers of three digits' $?
says 'tune: a sample, with what preparing took' s.txt '^f64 poisson2d_100 [a-z0-9:=,]+/ [0-9.e+]+ [0-9.e+]+$'
awk 'NR > 3 && again[$1, $2, $3]++ { exit 1 }' s.txt
verdict 'tune: every product once in the first pass' $?
had=$(wc -l <s.txt)
printf 'f64 poisson2d_100 csr/' >>s.txt # as an interruption leaves it
gives 'tune: samples that the file has' 0 tune --budget 2 --type f64 --samples s.txt --out b.tune
awk 'NR > 3 && (NF != 5 || again[$1, $2, $3]++) { exit 1 }' s.txt && [ "$(wc -l <s.txt)" -gt "$had" ]
verdict 'tune goes on where the file of samples ends' $?
gives 'tune: samples that are packed' 1 tune --budget 1 --samples s.txt.gz --out b.tune
gives 'plan with the new table' 0 plan p.mtx --table a.tune
gives 'tune: to standard output' 0 tune --budget 1 --type f32 --from a.tune
says 'tune: to standard output: a line' out '^f32 csr +-( +[0-9.]+){9}$'
gives 'tune: every layout' 0 tune --budget 2 --all --type f64 --samples all.txt --out c.tune
says 'tune: every layout: one that the bundled table lacks' all.txt '^f64 [^ ]+ (cmrs|coo|tcsr)[^ ]*/ '
awk '$1 == "f64" { n++; csr += $2 == "csr" } END { exit !(n <= 24 && csr == 1) }' c.tune
verdict 'tune: every layout: at most 24 candidates, csr among them' $?
sed '2s/.*/another device/' s.txt >other.txt
gives 'tune: samples of another device' 1 tune --budget 1 --samples other.txt --out b.tune
says 'tune: samples of another device: which' err 'other.txt has samples of another device'
cat >prior.tune <<'END'
spmv tuning table 2
device host
class host
launch 1
memory 10
f64 csr - 0 1 0 0 0 0 0 10 100
f64 coo - 0 1 0 10 0 0 0 10 200
f64 ell - 0 2 0 0 0 0 0 10 300
f32 csr - 0 1 0 0 0 0 0 10 100
END
sed 's/^class host/class gpu/' prior.tune >gpu.tune
gives 'tune --from another class' 1 tune --budget 1 --from gpu.tune --out c.tune
says 'tune --from another class: why' err 'gpu.tune is a table of the class gpu, the device.s is host'
for m in gr_30_30 tridiag_2000; do # twice what the table says
    "$spmv" gen $m -o twice.mtx
    us=$("$spmv" plan twice.mtx --plan csr --table prior.tune --json | sed 's/.*"predicted_us": \([0-9.]*\).*/\1/')
    echo "f64 $m csr/ $(awk "BEGIN { print 2 * $us }")"
done >twice
{ printf 'spmv tuning samples 1\nhost\nx\n'; cat twice; } >twice.txt
gives 'tune --fit: few structures' 0 tune --fit twice.txt --from prior.tune --out f.tune
says 'tune --fit: few structures: a factor' err '2 samples of 2 structures, one factor for all costs of a type'
says 'tune --fit: few structures: of what was measured' f.tune '^f64 csr +- +0 +2 +0 +0 +0 +0 +0 +10 +100$'
says 'tune --fit: few structures: of another line' f.tune '^f64 coo +- +0 +2 +0 +20 +0 +0 +0 +10 +200$'
says 'tune --fit: few structures: of another type' f.tune '^f32 csr +- +0 +2 +0 +0 +0 +0 +0 +10 +100$'
{ sed '4,$s/ \([0-9.]*\)$/ 1/' twice.txt; sed 1,3d twice.txt; sed '1,3d; s/ \([0-9.]*\)$/ 1000000/' twice.txt; } >repeated.txt
gives 'tune --fit: samples of several passes' 0 tune --fit repeated.txt --from prior.tune --out r.tune
cmp r.tune f.tune
verdict 'tune --fit: samples of several passes: the median counts' $?
{
    printf 'spmv tuning samples 1\nhost\nx\n'
    for n in 100 200 300 500 700 1000 2000 3000 5000 7000 9000 12000; do # csr: 2 ns a slot and 100 ns a row; coo: slower; ell: the fastest
        k=$((n / 100 + 4))
        for m in tridiag_$n:$((3 * n - 2)):$n arrow_$n:$((3 * n - 2)):$n permutation_$n:$n:$n \
            poisson2d_$k:$((5 * k * k - 4 * k)):$((k * k)); do
            rest=${m#*:}
            echo "f64 ${m%%:*} csr/ $(awk "BEGIN { t = 0.002 * ${rest%:*} + 0.1 * ${rest#*:}; print t, 50 + 0.003 * ${rest%:*} }")"
            echo "f64 ${m%%:*} coo/ $(awk "BEGIN { print 0.3 * ${rest%:*} }")"
            [ "${m%%_*}" = arrow ] || echo "f64 ${m%%:*} ell/ $(awk "BEGIN { print 0.05 * ${rest#*:} }")"
        done
    done
} >known.txt
gives 'tune --fit: what is known' 0 tune --fit known.txt --from prior.tune --out known.tune
says 'tune --fit: what is known: fits' err '132 samples of 48 structures, fits drawn to'
says 'tune --fit: what is known: the choice' known.tune '^regret f64 1.000 1.00$'
awk '$1 == "f64" && $2 == "csr" { a = $11 > 45 && $11 < 55 && $12 > 2700 && $12 < 3300 } END { exit !a }' known.tune
verdict 'tune --fit: what is known: what preparing takes' $?
gives 'plot predicted: what is known' 0 plot predicted known.tune known.txt -o e.svg
says 'plot predicted: what is known: every time of csr' out '^f64 csr +100% of 48 within'
gives 'tune --fit: the same again' 0 tune --fit known.txt --from known.tune --out again.tune
sed 's/\( *[0-9.]*\)\{2\}$//' known.tune >1.tune # the prior of what preparing takes is another one
sed 's/\( *[0-9.]*\)\{2\}$//' again.tune | cmp - 1.tune
verdict 'tune --fit: the same again: the same costs' $?
gives 'tune --fit --candidates' 0 tune --fit known.txt --from prior.tune --candidates 2 --out two.tune
awk '/^f64/ { all = all " " $2 } END { exit all != " csr ell" }' two.tune
verdict 'tune --fit --candidates: csr and the fastest' $?
sed '1s/$/ graph/' twice.txt >g.txt
gives 'tune --fit of samples that were timed otherwise' 1 tune --fit g.txt --from prior.tune --out f.tune
says 'tune --fit of samples that were timed otherwise: how' err 'g.txt has samples that were timed in CUDA graphs, but .* by calls'
sed '2s/.*/another/' twice.txt >other.txt
gives 'tune --fit: another device' 1 tune --fit other.txt --from prior.tune --out c.tune
says 'tune --fit: another device: which' err 'other.txt has samples of another, but prior.tune is a table of host'
gives 'tune --fit without --from' 2 tune --fit twice.txt --out c.tune
says 'tune --fit without --from: what is missing' err '--fit requires --from'
for bad in 'f64 gr_30_30 csr 4' 'f16 gr_30_30 csr/ 4' 'f64 gr_30_30 csr/ -4' 'f64 gr_30_30 csr/' 'f64 gr_30_30 csr/ 4 x' \
    'f64 gr_30_30 csr/ 4 5 6' 'f64 gr_30_30 csr/ nan' 'f64 gr_30_30 ell:w=2+csr/ 4'; do
    printf 'spmv tuning samples 1\nhost\nx\n%s\n' "$bad" >bad.txt
    gives "tune --fit: the sample '$bad'" 1 tune --fit bad.txt --from prior.tune --out b2.tune
    says "tune --fit: the sample '$bad': its line" err 'bad.txt, line 4: not a sample'
done
gives 'tune --fit: no samples' 1 tune --fit a.tune --from prior.tune --out b2.tune
gives 'tune --fit with a budget' 2 tune --fit s.txt --budget 1
gives 'tune --candidates without --all' 2 tune --candidates 5 --budget 1
[ ! -e b2.tune ]
verdict 'tune: what fails leaves no table' $?
if [ "$devices" != host ]; then
    gives 'tune on a device' 0 tune --device 0 --budget 2 --type f32 --out g.tune
    says 'tune on a device: a line' g.tune '^f32 csr +-( +[0-9.]+){9}$'
    if [ -x "$defect" ]; then
        sed "s/^class .*/$(grep '^class' g.tune)/; s/^f64/f32/" coo.tune >start.tune
        for d in 'head_sum = sum=>head_sum = sum + 1' 'VEC head_sum=>VAC head_sum'; do # only in coo.cl
            SPMV_DEFECT=$d "$defect" tune --device 0 --budget 5 --type f32 --from start.tune --out g.tune >out 2>err </dev/null
            verdict "tune goes on after '$d'" $?
            says "tune strikes out '$d'" err 'struck out: f32 coo/ on [^ ]*: (its product is wrong|.*build)'
            grep -q '^f32 csr' g.tune && ! grep -q '^f32 coo' g.tune
            verdict "tune: no line of '$d'" $?
        done
    fi
fi

# ---- self-check ----
gives 'self-check: no such format' 2 self-check csx
says 'self-check: no such format: where they are listed' err "no format 'csx'; see spmv plan --list"
gives 'self-check --help' 0 self-check --help
says 'self-check --help: the default device' out 'Without --device it takes the first GPU that spmv devices lists, or else the first device'
! grep -q 'host (default)' out
verdict 'self-check --help: the host is no default' $?
gives 'self-check: the host' 1 self-check --device host
if [ "$devices" != host ]; then
    gives 'self-check of two formats' 0 self-check dia dense --device 0 --type f32
    says 'self-check of two formats: the count alone' out \
        '^[^:]*: ([0-9]+) variants: \1 usable, 0 refused, 0 failed, 0 wrong; [0-9]+ products$'
    gives 'self-check in JSON' 0 self-check dia --device 0 --type f32 --json
    says 'self-check in JSON: a variant a line' out '"type": "f32", "plan": "dia", "variant": "L=2", "result": "usable", "built": true'
    says 'self-check in JSON: counts' err '0 wrong'
    if [ -x "$defect" ]; then
        gives_defect() { # gives_defect NAME DEFECT: self-check must find it
            SPMV_DEFECT=$2 "$defect" self-check dia --device 0 --type f32 >out 2>err </dev/null
            [ $? -eq 1 ]
            verdict "self-check finds $1" $?
        }
        gives_defect 'a sum that is off by one' 'MULADD(before, alpha, sum)=>MULADD(before, alpha, sum + 1)'
        says 'self-check finds a sum that is off by one: where' out '^WRONG   f32   dia/L=2: [0-9]+x[0-9]+, integers, alpha'
        gives_defect 'a missing step over lanes' 'd = L / 2; d > 0=>d = L / 2; d > 1'
        says 'self-check finds a missing step over lanes: and what is usable' out '[1-9][0-9]* usable, 0 refused, 0 failed, [1-9]'
        gives_defect 'a kernel that does not compile' 'const uint lid=>const unit lid'
        says 'self-check finds a kernel that does not compile: its words' out '^FAILED  f32 .*did not build'
    fi
fi

# ---- files that are written ----
# A limit of 0 bytes on the size of files stands for a full disk; the messages come through a pipe.
full_disk() { # full_disk NAME FILE ARGUMENTS...: the command fails with a message, FILE is unchanged and no file is left beside it
    name=$1
    file=$2
    shift 2
    cp "$file" before
    said=$(ulimit -f 0; "$spmv" "$@" 2>&1 </dev/null)
    got=$?
    printf '%s\n' "$said" >err
    [ $got -eq 1 ] && grep -q 'File too large' err
    verdict "full disk: $name fails and says so" $?
    cmp -s before "$file" && ! ls -A | grep -q '^\.spmv-'
    verdict "full disk: $name leaves the old file and nothing else" $?
}
"$spmv" gen poisson2d_100 -o big.mtx
chmod 640 big.mtx
ln -s big.mtx link.mtx
ln big.mtx hard.mtx
gzip -c big.mtx >big.mtx.gz
full_disk 'convert to itself' big.mtx convert big.mtx big.mtx
full_disk 'convert to itself through a link' big.mtx convert big.mtx link.mtx
full_disk 'convert to itself by another name' big.mtx convert big.mtx hard.mtx
full_disk 'convert to itself through gzip' big.mtx.gz convert big.mtx.gz big.mtx.gz
echo old | tee old.bin old.mtx old.png old.svg >old.tune
full_disk 'convert' old.bin convert big.mtx old.bin
full_disk 'gen' old.mtx gen poisson2d_100 -o old.mtx
full_disk 'mul' old.mtx mul big.mtx -o old.mtx
full_disk 'plot' old.png plot big.mtx -o old.png
full_disk 'plot predicted' old.svg plot predicted table.tune drawn.samples -o old.svg
full_disk 'tune' old.tune tune --fit twice.txt --from prior.tune --out old.tune
cp big.mtx before
gives 'convert to itself through a link' 0 convert big.mtx link.mtx
[ -L link.mtx ] && cmp -s before big.mtx && [ "$(ls -l big.mtx | cut -c 1-10)" = '-rw-r-----' ]
verdict 'convert to itself through a link: the link and the mode stay' $?
ln -s new.mtx dangling.mtx
gives 'gen through a link to nothing' 0 gen tridiag_3 -o dangling.mtx
[ -L dangling.mtx ] && grep -q '^3 3 7$' new.mtx
verdict 'gen through a link to nothing makes the file' $?
ln -s ring2.mtx ring1.mtx
ln -s ring1.mtx ring2.mtx
gives 'gen to a ring of links' 1 gen tridiag_3 -o ring1.mtx
says 'gen to a ring of links: what is wrong' err 'ring1.mtx: Too many levels'
if [ "$(id -u)" -ne 0 ]; then
    chmod 440 new.mtx
    gives 'gen to a file that may not be written' 1 gen tridiag_4 -o new.mtx
    says 'gen to a file that may not be written: why' err 'new.mtx: Permission denied'
fi
gives 'gen to a folder' 1 gen tridiag_3 -o .
says 'gen to a folder: what is wrong' err 'Is a directory'
"$spmv" gen tridiag_3 -o want.mtx
{ echo before; "$spmv" gen tridiag_3 -o /dev/stdout; } 2>err | sed 1d | cmp -s - want.mtx
verdict 'gen to /dev/stdout, a pipe' $?
{ echo before; "$spmv" gen tridiag_3 -o /dev/stdout; "$spmv" gen tridiag_3; } >out 2>err
{ echo before; cat want.mtx want.mtx; } | cmp -s - out
verdict 'gen to /dev/stdout, a file: behind what it has' $?
"$spmv" gen tridiag_3 -o /dev/fd/3 3>three 2>err && cmp -s three want.mtx
verdict 'gen to /dev/fd/3' $?
gives 'gen to /dev/null' 0 gen tridiag_3 -o /dev/null
[ -c /dev/null ]
verdict 'gen to /dev/null leaves the device' $?
mkfifo pipe
cat pipe >out &
"$spmv" gen tridiag_3 -o pipe 2>err
wait $!
[ -p pipe ] && cmp -s out want.mtx
verdict 'gen to a named pipe' $?
if [ -w /dev/full ]; then
    for f in a.mtx a.mtx.gz a.bin; do
        rm -f "$f"
        ln -s /dev/full "$f"
        gives "convert to a full device as $f" 1 convert big.mtx "$f"
        says "convert to a full device as $f is told" err "$f: No space left"
    done
    "$spmv" gen poisson2d_10 >/dev/full 2>err
    [ $? -eq 1 ]
    verdict 'gen to a full standard output' $?
fi
"$spmv" gen dense_1500_1500 -o dense.bin
echo old >slow.mtx.gz
"$spmv" convert dense.bin slow.mtx.gz 2>err &
writing=$!
until ls -A | grep -q '^\.spmv-' || ! kill -0 $writing 2>/dev/null; do sleep 0.05; done
kill -TERM $writing
wait $writing 2>/dev/null
[ $? -eq 143 ] && [ "$(cat slow.mtx.gz)" = old ] && ! ls -A | grep -q '^\.spmv-'
verdict 'an interrupted convert leaves the old file and nothing else' $?

# ---- tune is interrupted ----
"$spmv" tune --samples k.txt --out k.tune >out 2>err </dev/null &
measuring=$!
until { [ -e k.txt ] && [ "$(wc -l <k.txt)" -ge 8 ]; } || ! kill -0 $measuring 2>/dev/null; do sleep 0.05; done
kill -KILL $measuring
wait $measuring 2>/dev/null
[ $? -eq 137 ] && [ ! -e k.tune ]
verdict 'tune is killed' $?
had=$(wc -l <k.txt)
gives 'tune after being killed' 0 tune --budget 2 --samples k.txt --out k.tune
awk 'NR > 3 && again[$1, $2, $3]++ { exit 1 }' k.txt && [ "$(wc -l <k.txt)" -gt "$had" ]
verdict 'tune after being killed goes on' $?

# ---- numbers in options ----
no_numbers() { # no_numbers OPTION "TEXTS" ARGUMENTS...: each text is a usage error whose message has the option and the text
    option=$1
    texts=$2
    shift 2
    for text in $texts ''; do
        gives "$1 --$option '$text'" 2 "$@" "--$option=$text"
        grep -Fq -- "--$option requires a" err && grep -Fq -- "not '$text'" err
        verdict "$1 --$option '$text': what is wanted" $?
    done
}
real='nan inf -inf 1e999 1x 0x1 1,5'
count="$real -1 1.5 1e300"
no_numbers alpha "$real" mul small.mtx
no_numbers beta "$real" mul small.mtx --y y.mtx
no_numbers alpha 1e39 mul small.mtx --type f32
no_numbers again "$count" bench small.mtx
no_numbers calls "$count" bench small.mtx
no_numbers calls "$count" plan small.mtx
no_numbers budget "$real -1 0" tune
no_numbers candidates "$count 0 25" tune --fit s.txt
for c in info mul bench plan; do no_numbers max-dim "$count 0 4294967295" $c small.mtx; done
no_numbers max-dim "$count 0" convert small.mtx never.mtx
no_numbers max-dim "$count 0" plot small.mtx -o never.png
product 'numbers that are some' '15 15 15' small.mtx --alpha 5e0

# ---- limits of what is read ----
head -c 20000000 /dev/zero | gzip >zeros.mtx.gz
gives 'zeros without end' 1 info zeros.mtx.gz
says 'zeros without end: where and why' err 'zeros.mtx.gz:1: expected a line of at most 65536 bytes'
printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 12' >cut.mtx
gives 'a last number that may be cut' 0 info cut.mtx
says 'a last number that may be cut is told' err 'cut.mtx:3: .*may be cut'
printf '%%%%MatrixMarket matrix coordinate real general\n3000000 2 1\n3000000 1 1\n' >rows.mtx
printf '%%%%MatrixMarket matrix coordinate real general\n6 4294967294 1\n1 1 1\n' >cols.mtx
for m in rows cols; do
    gives "few nonzeros, many $m" 1 convert $m.mtx w.bin
    says "few nonzeros, many $m: the limit" err "$m.mtx:2: expected at most 1048640 rows and columns for 1 nonzeros"
    says "few nonzeros, many $m: the option" err "on the command line --max-dim"
    for to in bin mtx; do
        gives "few nonzeros, many $m, to $to" 0 convert $m.mtx w.$to --max-dim 4294967294
        gives "few nonzeros, many $m, from $to" 0 convert w.$to w2.bin --max-dim 4294967294
        for c in info mul plan convert; do
            set -- $c w.$to
            [ $c = convert ] && set -- "$@" never.mtx
            gives "few nonzeros, many $m: $c refuses $to as convert did" 1 "$@"
            says "few nonzeros, many $m: $c of $to: the limit" err "w.$to:?[0-9]*: expected at most 1048640 rows"
        done
    done
done
[ "$(wc -c <w.bin)" -eq 132 ]
verdict 'few nonzeros, many cols: 132 bytes' $?
gives 'mul with --max-dim' 0 mul rows.mtx --max-dim 3000000 -o y2.mtx
[ "$(tail -n 1 y2.mtx)" = 1 ] && [ ! -e never.mtx ] && [ ! -e never.png ]
verdict 'mul with --max-dim: the last row; nothing was written by what was refused' $?

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
