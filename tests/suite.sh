#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/suite.sh some|all [PROGRAM] - generates the matrices of the papers and compares rows, columns and nonzeros (within 2%; exactly, if
# a formula gives them) with the table below, whose figures are those of the SuiteSparse collection and the papers, not the program's. For
# some it also compares the checksum in the binary form, which must be the same on every machine. "some" takes seconds.
# Prints a line for each check; the last line is "N passed, N failed". The exit status is 1 if any failed.
LC_ALL=C
export LC_ALL
which=${1:-some}
spmv=${2:-build/spmv}
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
trap 'exit 2' HUP INT TERM
passed=0
failed=0
verdict() { # verdict NAME STATUS
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok $1"
    else
        failed=$((failed + 1))
        echo "FAIL $1"
    fi
}
# some|all, name, rows, columns, nonzeros, tolerance in percent, checksum or -. Matrices that another paper lists before have the same
# recipe and are not repeated.
table() {
    cat <<'END'
all clspmv_dense 2000 2000 4000000 0 -
all clspmv_protein 36417 36417 4344765 2 -
all clspmv_spheres 83334 83334 6010480 2 -
some clspmv_cantilever 62451 62451 4007383 2 -
all clspmv_wind_tunnel 217918 217918 11524432 2 -
all clspmv_harbor 46835 46835 2329092 2 -
some clspmv_qcd 49152 49152 1916928 0 1683721284410722445
all clspmv_ship 140874 140874 3977139 2 -
some clspmv_economics 206500 206500 1273389 2 17857958049154369249
some clspmv_epidemiology 525825 525825 2100225 0 -
some clspmv_accelerator 121192 121192 2624331 2 570543048725325922
some clspmv_circuit 170998 170998 958936 2 644707990441299592
all clspmv_webbase 1000005 1000005 3105536 2 -
all clspmv_lp 4284 1092610 11279748 2 -
all clspmv_circuit5m 5558326 5558326 59524291 2 -
all clspmv_eu-2005 862664 862664 19235140 2 -
all clspmv_ga41as41h72 268096 268096 18488476 2 -
all clspmv_in-2004 1382908 1382908 16917053 2 -
all clspmv_mip1 66463 66463 10352819 2 -
all clspmv_si41ge41h72 185639 185639 15011265 2 -
all hybr_harbor 46835 46835 2374001 2 -
all hybr_ship 140874 140874 7813404 2 -
some kuresson_heart1 3557 3557 1387773 2 -
some kuresson_trefethen_20000b 19999 19999 554435 0 -
some kuresson_tsopf_rs_b162_c3 15374 15374 610299 2 147807006845523555
some kuresson_psmigr_1 3140 3140 543162 2 -
some kuresson_spiral 1434 1434 18228 2 -
some kuresson_viscoplastic1 4326 4326 61166 2 -
some kuresson_deter4 3235 9133 19231 2 -
some kuresson_maragal_2 555 350 4357 2 12784685616726168238
some kuresson_fp 7548 7548 834222 2 -
all koza_p7 10000000 10000000 10000000 0 -
all koza_asia_osm 11950757 11950757 25423206 2 -
all koza_lp1 534388 534388 1643420 2 -
all koza_aorta 497000 497000 2400000 2 -
all koza_cage15 5154859 5154859 99199551 2 -
all koza_shipsec1 140874 140874 3568176 2 -
some koza_raefsky3 21200 21200 1488768 2 -
all koza_chebyshev4 68121 68121 5377761 2 -
all koza_tsopf_rs_b2383 38120 38120 16171169 2 -
all koza_dense10000 10000 10000 100000000 0 -
END
}
word() { od -A n -t u8 -j "$1" -N 8 "$dir/m.bin" | tr -d ' '; }
matrix() { # matrix NAME ROWS COLS NNZ PERCENT CHECKSUM
    "$spmv" gen "$1" -o "$dir/m.bin" >"$dir/err" 2>&1
    verdict "gen $1" $?
    r=$(word 24) c=$(word 32) n=$(word 40) sum=$(word 48)
    [ "$r" = "$2" ] && [ "$c" = "$3" ] && [ $((n * 100)) -ge $(($4 * (100 - $5))) ] && [ $((n * 100)) -le $(($4 * (100 + $5))) ]
    verdict "$1 is $2 x $3 with $4 nonzeros ($r x $c with $n)" $?
    [ "$6" = - ] && return
    [ "$sum" = "$6" ]
    verdict "$1 is the same on every machine ($sum)" $?
}
table >"$dir/table"
while read -r when name rest; do
    [ "$which" = all ] || [ "$when" = some ] || continue
    matrix "$name" $rest
done <"$dir/table"

# gen --list names every matrix, with the sizes that were checked above
"$spmv" gen --list >"$dir/list"
[ "$(grep -cE '^  [a-z]+_[^ ]+ +[0-9]+ +[0-9]+ +[0-9]+  (exact|like )  ' "$dir/list")" -eq 64 ]
verdict 'gen --list names 20 + 13 + 9 + 22 matrices' $?
while read -r when name rows cols nnz rest; do
    grep -qE "^  $name +$rows +$cols +$nnz  " "$dir/list" || echo "$name"
done <"$dir/table" >"$dir/missing"
[ ! -s "$dir/missing" ]
verdict "gen --list has the same sizes: $(tr '\n' ' ' <"$dir/missing")" $?

# families: rows, columns and nonzeros, exactly or within a tolerance
matrix dense_3_5 3 5 15 0 -
matrix epidemic_3 6 6 15 0 -
matrix wilson_3 972 972 37908 0 -
matrix permutation_1000 1000 1000 1000 0 11268885319332057709
matrix band_1000_3_100 1000 1000 6988 0 -
matrix band_20000_10_50 20000 20000 219945 2 10669422633718810580
matrix blocks_1000_4_10_100 1000 1000 40000 0 -
matrix blocks_3001_3_50_60 3001 3001 270000 2 4995517558221158848
matrix lengths_20000_8_0_0 20000 20000 160000 0 -
matrix lengths_20000_8_4_1 20000 20000 160000 2 2896663231098958652
matrix lengths_50000_20_40_5 50000 50000 1000000 2 -
moments() { # moments NAME MEAN DEVIATION: as info measures them, within 10%
    "$spmv" gen "$1" -o "$dir/m.bin" && "$spmv" info "$dir/m.bin" | awk -v m="$2" -v d="$3" '
        /^row length  mean/ { good = $4 + 0 > 0.9 * m && $4 + 0 < 1.1 * m && $7 + 0 > 0.9 * d && $7 + 0 < 1.1 * d; print }
        END { exit !good }'
    verdict "mean and deviation of $1" $?
}
moments lengths_20000_8_4_1 8 4
moments lengths_50000_20_40_5 20 40
moments lengths_100000_10_100_30 10 100
for bad in lengths_100_5_90_0 lengths_5_8_0_0 band_10_10_50 band_10_2_101 blocks_10_4_4_50 blocks_10_4_2_0 wilson_2 dense_0_3; do
    "$spmv" gen $bad -o "$dir/m.bin" 2>"$dir/err"
    [ $? -eq 1 ] && grep -q "^spmv: $bad: " "$dir/err"
    verdict "gen $bad is refused with the reason" $?
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
