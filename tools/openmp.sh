#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/openmp.sh CC... - prints -fopenmp if that compiler can build and link with it.
dir=$(mktemp -d) || exit 0
trap 'rm -rf "$dir"' EXIT
printf '#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n' >"$dir/a.c"
"$@" -fopenmp "$dir/a.c" -o "$dir/a" >/dev/null 2>&1 && "$dir/a" && echo -fopenmp
