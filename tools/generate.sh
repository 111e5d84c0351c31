#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/generate.sh [FOLDER] - writes what spmvgen generates for kernels of the library to kernels/gen, or to FOLDER for a comparison.
# tools/embed.sh puts it behind the hand-written kernels, of which the knobs GEN (csr) and ATOMIC (coo) choose between the two. Needs
# build/spmvgen.
set -eu
cd "$(dirname "$0")/.."
folder=${1:-kernels/gen}
mkdir -p "$folder"

# body NAME CONDITION MACRO VALUE OPTION...: the body of kernels/NAME.cl, or for coo the kernel, under CONDITION, with that macro if it is
# not -
body() {
    name=$1 condition=$2 macro=$3 value=$4
    shift 4
    options=
    for option; do options="$options --set $option"; done
    set -f
    build/spmvgen "formats/$name.fmt" --target opencl --set form=body $options -o "$folder/$name.new"
    set +f
    { # the licence and where it comes from stay in front
        sed '/\*\/$/q' "$folder/$name.new"
        printf '#if %s\n' "$condition"
        [ "$macro" = - ] || printf '#define %s %s\n' "$macro" "$value"
        sed '1,/\*\/$/d' "$folder/$name.new"
        echo '#endif'
    } >"$folder/$name.cl.new"
    rm "$folder/$name.new"
    mv "$folder/$name.cl.new" "$folder/$name.cl"
}

# Figure 9's vectorised inner loop, which the hand-written kernel lacks
body csr 'GEN && !RUN' VECTOR GEN vector=open 'arguments=val,ptr,col,*run_row,*run_at,*base,*long_run,runs,longs'

# One launch, where the hand-written kernel needs two; the last bits of y vary where three groups or more share a row
body coo 'ATOMIC == 2' - - strategy=segments 'arguments=val,row,col,num_nonzeros,*carry_row,*carry_sum'
