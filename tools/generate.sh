#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/generate.sh [FOLDER] - writes what spmvgen generates for kernels of the library to kernels/gen, or to FOLDER for a comparison.
# tools/embed.sh puts it behind the hand-written kernels, of which the knob ATOMIC of coo chooses between the two. Needs build/spmvgen.
set -eu
cd "$(dirname "$0")/.."
folder=${1:-kernels/gen}
mkdir -p "$folder"

# coo in one launch, where the hand-written kernel needs two; the last bits of y vary where three groups or more share a row
build/spmvgen formats/coo.fmt --target opencl --set form=body --set strategy=segments \
    --set 'arguments=val,row,col,num_nonzeros,*carry_row,*carry_sum' -o "$folder/coo.new"
{ # the licence and where it comes from stay in front
    sed '/\*\/$/q' "$folder/coo.new"
    echo '#if ATOMIC == 2'
    sed '1,/\*\/$/d' "$folder/coo.new"
    echo '#endif'
} >"$folder/coo.cl.new"
rm "$folder/coo.new"
mv "$folder/coo.cl.new" "$folder/coo.cl"
