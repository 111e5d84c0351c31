#!/bin/sh
# SPDX-License-Identifier: MIT
# Every command of the command line, on generated matrices only: sh tests/test_cli.sh [PROGRAM], by default build/spmv.
# A line a check, "ok NAME" or "FAIL NAME"; the last line is "N passed, N failed"; exit status 1 if any failed.
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
defect=$(dirname "$spmv")/spmv-defect # the same program, whose kernels can be given defects
cd "$dir" || exit 2
passed=0
failed=0

# verdict NAME STATUS: counts and prints; what the command said follows a failure.
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

# gives NAME STATUS ARGUMENTS...: runs the program, out and err kept, and compares the exit status.
gives() {
    name=$1
    want=$2
    shift 2
    "$spmv" "$@" >out 2>err </dev/null
    got=$?
    [ "$got" -eq "$want" ]
    verdict "$name" $?
}

# says NAME FILE PATTERN: the last command's output (out, err) has a line that matches the extended pattern.
says() {
    grep -Eq -- "$3" "$2"
    verdict "$1" $?
}

# product NAME "VALUES" ARGUMENTS...: mul's result, after the two lines of heading, is these values.
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
keys = "matrix device builder plan variant type us gflops gbs bytes padding err prepare_us again ok".split()
def refuse(token):
    raise ValueError(token)
lines = open(sys.argv[1]).read().splitlines()
assert lines
for line in lines:
    assert list(json.loads(line, parse_constant=refuse)) == keys, line
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
says 'option without its value is named' err '--plan wants a value'
gives 'switch with a value' 2 bench a.mtx --json=yes
gives 'no number' 2 mul a.mtx --alpha 1x
says 'no number is named' err "--alpha wants a number, not '1x'"
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
for d in $devices; do
    for type in f64 f32 mixed; do
        for p in dense coo csr dia bdia ell sell bell sbell bcsr bcsr:b=2x2 cmrs cmrs:h=2 hyb hyb-csr hybr ell:w=1+coo \
                 'dia:d=0.3+csr:rows=nonempty' 'sell:rows=sorted,h=2'; do
            # building kernels takes long: on a device the general product is enough
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
says 'cut gzip is named' err 'cut.mtx.gz: .*end too early'
"$spmv" info broken.mtx 2>&1 >out | wc -l | grep -q '^ *1$'
verdict 'one message for one mistake' $?

# ---- info and plan ----
gives 'info' 0 info small.mtx
says 'info: shape' out '3 x 4, 5 nonzeros'
says 'info: blocks' out '^8x8 '
"$spmv" gen epidemic_1025 --output mc2depi.bin # 0.04 is what Koza and others print
gives 'info of mc2depi' 0 info mc2depi.bin
says 'info: deviation' out 'mean 3.99, standard deviation 0.08'
says 'info: sigma' out '^sigma  *0\.04: '
rm mc2depi.bin
says 'info: diagonals' out 'diagonals +4 hold nonzeros'
"$spmv" gen poisson2d_10 -o p.mtx
gives 'info of a grid' 0 info p.mtx
says 'info of a grid: bandwidth' out 'bandwidth +10 below the diagonal, 10 above'
says 'info of a grid: diagonals' out '90% full or more +5, '
printf '%%%%MatrixMarket matrix coordinate real general\n0 0 0\n' >none.mtx
gives 'info of a matrix of 0 x 0' 0 info none.mtx
"$spmv" gen arrow_46500 -o arrow.mtx
gives 'plan' 0 plan arrow.mtx --builder hyb
says 'plan: text' out '^plan +ell:w=2\+coo$'
says 'plan: shares' out '^shares +ELL\([0-9.]+%\)COO\([0-9.]+%\)'
gives 'plan explained' 0 plan arrow.mtx --explain --builder auto
says 'plan explained: rows' out '^rows +[0-9.]+ nonzeros each'
says 'plan explained: options' out '^plan +[a-z:0-9,=.+]+.*us; conversion about'
gives 'plan refined' 0 plan arrow.mtx --refine 3 --explain
says 'plan refined: measured' out 'us, measured [0-9.]+;'
gives 'plan for few calls' 0 plan arrow.mtx --calls 1
says 'plan for few calls' out '^plan +csr'
gives 'plan: a bad number of calls' 2 plan arrow.mtx --calls many
gives 'plan: too many to refine' 2 plan arrow.mtx --refine 1000
printf 'spmv tuning table 1\ndevice t\nclass host\nrows 1\nper_row 1\nf64 banded coo/ 9\nf64 banded csr/ 2\n' >coo.tune
gives 'plan by a table' 0 plan arrow.mtx --table coo.tune
says 'plan by a table' out '^plan +coo'
printf 'spmv tuning table 1\ndevice t\nclass host\nrows 1\nper_row 1\nf64 banded coo/ fast\n' >bad.tune
gives 'plan by a damaged table' 1 plan arrow.mtx --table bad.tune
says 'plan by a damaged table: the line' err 'bad.tune, line 6'
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
"$spmv" convert small.mtx s.bin
product 'binary input' '5 6 15' s.bin --x x.mtx
gives 'convert: nowhere' 1 convert small.mtx no/such/place.bin
head -c 100 a.bin >cut.bin
gives 'cut binary' 1 info cut.bin

# ---- plot ----
is_png() { # the signature, every chunk's checksum, the rows inflated, the size; python3 is what tools/install.sh installs
    python3 - "$1" <<'END'
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n"
at, names, rows = 8, [], b""
while at < len(data):
    n, = struct.unpack(">I", data[at:at + 4])
    name, body = data[at + 4:at + 8], data[at + 8:at + 8 + n]
    assert zlib.crc32(name + body) == struct.unpack(">I", data[at + 8 + n:at + 12 + n])[0], name
    names.append(name)
    if name == b"IHDR": width, height, depth, kind = struct.unpack(">IIBB", body[:10])
    if name == b"PLTE": colours = n // 3
    if name == b"IDAT": rows += body
    at += 12 + n
rows = zlib.decompress(rows)
assert names == [b"IHDR", b"PLTE", b"IDAT", b"IEND"] and (depth, kind) == (8, 3) and len(rows) == height * (width + 1)
for y in range(height):
    line = rows[y * (width + 1):(y + 1) * (width + 1)]
    assert line[0] == 0 and max(line) < colours
END
}
is_svg() { # well-formed, and the PNG inside whole
    python3 - "$1" inside.png <<'END' && is_png inside.png
import base64, sys, xml.dom.minidom
top = xml.dom.minidom.parse(sys.argv[1]).documentElement
assert top.tagName == "svg" and top.getElementsByTagName("text")
image = top.getElementsByTagName("image")[0].getAttribute("href").split(",", 1)
assert image[0] == "data:image/png;base64"
open(sys.argv[2], "wb").write(base64.b64decode(image[1], validate=True))
END
}
cp small.mtx 'a<b>&"c".mtx'
"$spmv" gen clspmv_circuit -o circuit.bin
printf '%%%%MatrixMarket matrix coordinate real general\n3 1000 1\n2 900 1\n' >thin.mtx
cat >table.tune <<'END'
spmv tuning table 1
device <a & b>
class gpu
rows 1024 2048
per_row 1 4 16
f64 banded csr/ 1 2 3 4 5 6
f64 banded dia/L=2 2 1 - 8 5 -
f32 uneven sell:h=32/ 1 2 3 4 - 0.001
END
for s in png svg; do
    gives "plot: $s of a small matrix" 0 plot 'a<b>&"c".mtx' -o p.$s
    is_$s p.$s >out 2>err
    verdict "plot: $s of a small matrix is one" $?
    gives "plot: $s of three parts" 0 plot circuit.bin --plan 'dia:d=0.6+ell:w=4+csr:rows=nonempty' -o p.$s
    is_$s p.$s >out 2>err
    verdict "plot: $s of three parts is one" $?
    gives "plot: $s of a thin matrix by a builder" 0 plot thin.mtx --plan hyb -o p.$s
    is_$s p.$s >out 2>err
    verdict "plot: $s of a thin matrix is one" $?
    gives "plot tune: $s" 0 plot tune table.tune -o t.$s
    is_$s t.$s >out 2>err
    verdict "plot tune: $s is one" $?
done
gives 'plot: the same picture again' 0 plot tune table.tune -o t2.png
cmp t.png t2.png
verdict 'plot: the same bytes' $?
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
gives 'plot: nothing to draw' 1 plot none.mtx -o p.png
says 'plot: nothing to draw, why' err 'none.mtx: there is nothing to draw'
gives 'plot tune: no such table' 1 plot tune nosuch.tune -o p.png
gives 'plot tune: no table' 1 plot tune small.mtx -o p.png
says 'plot tune: no table: the line' err 'small.mtx, line 1'
gives 'plot: two matrices' 2 plot small.mtx thin.mtx -o p.png

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
[ "$(grep -c '"again": true' out)" -ge 2 ] && [ "$(grep -c '"builder": "auto".*"again": true' out)" = 1 ] && [ "$(grep -c '"again": false' out)" = 4 ]
verdict 'bench --again: the fastest and what was chosen' $?
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

# ---- tune ----
gives 'tune: a table without merge or compare' 2 tune a.tune
gives 'tune: budget of nothing' 2 tune --budget 0
gives 'tune: compare wants two' 2 tune --compare a.tune
gives 'tune: resume without a name' 2 tune --resume --rows-max 1024
gives 'tune' 0 tune --budget 2 --rows-max 1024 --out a.tune
says 'tune: what it measured' err '[0-9]+ candidates, [1-9][0-9]* samples \(and 0 from before\), 0 struck out; [1-9][0-9]* rows in [0-9]+ bytes'
says 'tune: head' a.tune '^spmv tuning table 1$'
says 'tune: its device' a.tune '^device host$'
says 'tune: rows' a.tune '^f64 banded [a-z0-9:=,]+/ [0-9.]+ '
[ "$(wc -c <a.tune)" -le 24576 ]
verdict 'tune: at most 24 KB' $?
[ -s a.tune.journal ]
verdict 'tune: a budget that ended leaves a journal' $?
printf 's f64 banded csr/ 10' >>a.tune.journal # as an interruption leaves it
gives 'tune --resume' 0 tune --budget 1 --rows-max 1024 --out a.tune --resume
says 'tune --resume goes on from the samples' err '\(and [1-9][0-9]* from before\)'
sed '5s/.*/s f64 banded csr what/' a.tune.journal >b.tune.journal
gives 'tune --resume: a damaged journal' 1 tune --budget 1 --rows-max 1024 --out b.tune --resume
says 'tune --resume: a damaged journal: its line' err 'b.tune.journal, line 5: '
sed '2s/.*/another device/' a.tune.journal >b.tune.journal
gives 'tune --resume: the journal of another device' 1 tune --budget 1 --rows-max 1024 --out b.tune --resume
gives 'plan with the new table' 0 plan p.mtx --table a.tune
gives 'tune: to standard output' 0 tune --budget 2 --rows-max 1024 --type f32
says 'tune: to standard output: rows' out '^f32 banded '
gives 'tune --compare with itself' 0 tune --compare a.tune a.tune
says 'tune --compare with itself: no difference' out 'geometric mean 1.000, from 1.000 over median 1.000 to 1.000$'
cat >b.tune <<'END'
spmv tuning table 1
device host
class host
rows 1024 4096
per_row 4
f64 banded csr/ 1 2
f64 banded coo/ 0.5 0.999
END
sed -e 's/csr. 1 2/csr\/ 2 4/' -e 's/banded coo/uneven coo/' -e '/^class/a\
cache 14 30' b.tune >c.tune
gives 'tune --compare' 0 tune --compare b.tune c.tune
says 'tune --compare: ratio' out '2 samples in both; .*geometric mean 2.000,'
says 'tune --compare: only in one' out '^  f64 uneven coo/$'
gives 'tune --merge' 0 tune --merge b.tune c.tune --out d.tune
says 'tune --merge: the later counts' d.tune '^f64 banded csr/ 2 4$'
says 'tune --merge: the later head counts' d.tune '^cache 14 30$'
says 'tune --merge: three digits or two' d.tune '^f64 banded coo/ 0.5 1$'
sed 's/^rows .*/rows 1024 8192/' c.tune >e.tune
gives 'tune --merge of other sizes' 0 tune --merge b.tune e.tune
says 'tune --merge of other sizes: both' out '^f64 banded csr/ 2 2 4$'
says 'tune --merge of other sizes: a gap' out '^f64 uneven coo/ 0.5 - 1$'
sed 's/^rows .*/rows 8192 16384/' c.tune >e.tune
gives 'tune --merge of all other sizes' 0 tune --merge b.tune e.tune
says 'tune --merge of all other sizes: gaps before' out '^f64 uneven coo/ -2 0.5 1$'
says 'tune --merge of all other sizes: gaps behind' out '^f64 banded coo/ 0.5 1 -2$'
sed 's/device host/device other/' c.tune >e.tune
gives 'tune --merge of two devices' 1 tune --merge b.tune e.tune --out f.tune
[ ! -e f.tune ]
verdict 'tune --merge of two devices: no table' $?
sed '7s/0.999/x/' b.tune >e.tune
gives 'tune --merge: a damaged table' 1 tune --merge b.tune e.tune
says 'tune --merge: a damaged table: its line' err 'e.tune, line 7: '
gives 'tune --compare: a missing table' 1 tune --compare b.tune nosuch.tune
if [ "$devices" != host ]; then
    gives 'tune on a device' 0 tune --device 0 --budget 4 --rows-max 1024 --type f32 --out g.tune
    says 'tune on a device: rows' g.tune '^f32 banded csr'
    if [ -x "$defect" ]; then
        for d in 'head_sum = sum=>head_sum = sum + 1' 'VEC head_sum=>VAC head_sum'; do # in coo.cl alone
            SPMV_DEFECT=$d "$defect" tune --device 0 --budget 8 --rows-max 1024 --type f32 --out g.tune >out 2>err </dev/null
            verdict "tune goes on after '$d'" $?
            says "tune strikes out '$d'" err '^spmv tune: struck out: f32 banded coo/: (the product is wrong|.*build)'
            grep -q '^f32 banded csr' g.tune && ! grep -q '^f32 banded coo' g.tune
            verdict "tune: no rate of '$d'" $?
        done
    fi
fi

# ---- self-check ----
gives 'self-check: no such format' 2 self-check csx
gives 'self-check: the host' 1 self-check --device host
if [ "$devices" != host ]; then
    gives 'self-check of two formats' 0 self-check dia dense --device 0 --type f32
    says 'self-check of two formats: the count alone' out '^[^:]*: ([0-9]+) variants: \1 usable, 0 refused, 0 failed, 0 wrong; [0-9]+ products$'
    gives 'self-check in JSON' 0 self-check dia --device 0 --type f32 --json
    says 'self-check in JSON: a variant a line' out '"type": "f32", "plan": "dia", "variant": "L=2", "result": "usable", "built": true'
    says 'self-check in JSON: counts' err '0 wrong'
    if [ -x "$defect" ]; then
        gives_defect() { # NAME DEFECT: self-check finds it
            SPMV_DEFECT=$2 "$defect" self-check dia --device 0 --type f32 >out 2>err </dev/null
            [ $? -eq 1 ]
            verdict "self-check finds $1" $?
        }
        gives_defect 'a sum that is off by one' 'alpha * sum=>alpha * sum + 1'
        says 'self-check finds a sum that is off by one: where' out '^WRONG   f32   dia/L=2: [0-9]+x[0-9]+, integers, alpha'
        gives_defect 'a missing step over lanes' 'd = L / 2; d > 0=>d = L / 2; d > 1'
        says 'self-check finds a missing step over lanes: and what is usable' out '[1-9][0-9]* usable, 0 refused, 0 failed, [1-9]'
        gives_defect 'a kernel that does not compile' 'const uint lid=>const unit lid'
        says 'self-check finds a kernel that does not compile: its words' out '^FAILED  f32 .*did not build'
    fi
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
