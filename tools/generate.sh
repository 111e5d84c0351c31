#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/generate.sh [FOLDER] - writes the bodies that spmvgen generates for kernels of the library to kernels/gen, or to FOLDER for a
# comparison. tools/embed.sh puts them behind the hand-written kernels, whose knob GEN chooses between the two. Needs build/spmvgen.
set -eu
cd "$(dirname "$0")/.."
folder=${1:-kernels/gen}
mkdir -p "$folder"

# body NAME CONDITION MACRO VALUE OPTION...: the body of kernels/NAME.cl under CONDITION, with that macro
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
        printf '#if %s\n#define %s %s\n' "$condition" "$macro" "$value"
        sed '1,/\*\/$/d' "$folder/$name.new"
        echo '#endif'
    } >"$folder/$name.cl.new"
    rm "$folder/$name.new"
    mv "$folder/$name.cl.new" "$folder/$name.cl"
}

# Figure 9's vectorised inner loop, which the hand-written kernel lacks
body csr 'GEN && !RUN' VECTOR GEN vector=open 'arguments=val,ptr,col,*run_row,*run_at,*base,*long_run,runs,longs'
