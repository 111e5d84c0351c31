#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/compile/symbols.sh OBJECT RULE... - checks the symbols of an object file. Rules:
#   prefix        defines only spmv_ names (and main)
#   none          defines nothing (but main)
#   no-malloc     does not call the C library's allocator
#   no-stdio      calls no function of stdio
#   no-choice     defines nothing of spmv/choice.h and the headers of the choice below it
#   io            defines every function that spmv_io.h declares
#   no-io         defines none of them
#   quiet         calls nothing that ends the program, reads the environment, tells the date, or needs a maths library
set -u
object=$1
shift
defined=$(nm -g --defined-only "$object" | awk 'NF == 3 { print $3 }' | grep -v '^main$')
wanted=$(nm -g --undefined-only "$object" | awk '{ print $NF }')
rc=0
declared() { # the functions of spmv_io.h
    sed -n 's/^SPMV_API .*\(spmv_[a-z0-9_]*\)(.*/\1/p' "$(dirname "$0")/../../spmv_io.h" | sort -u
}
refuse() { # refuse WHAT LIST
    [ -z "$2" ] && return
    echo "$1:" $2
    rc=1
}
for rule; do
    case $rule in
    prefix) refuse "not prefixed spmv_" "$(echo "$defined" | grep -v '^spmv_')"
            [ -n "$defined" ] || { echo "no symbols at all"; rc=1; } ;;
    none) refuse "defined" "$defined" ;;
    no-malloc) refuse "calls" "$(echo "$wanted" | grep -x 'malloc\|calloc\|realloc\|free\|aligned_alloc\|posix_memalign')" ;;
    no-stdio) refuse "calls" "$(echo "$wanted" | grep -x '.*printf.*\|stderr\|stdout\|f[a-z]*\|put[sc].*\|getc.*' |
                                grep -vx 'free\|fm[ai].*')" ;;
    io) refuse "not defined" "$(declared | grep -vxF "${defined:-nothing}")" ;;
    no-io) refuse "defined" "$(declared | grep -xF "${defined:-nothing}")" ;;
    quiet) refuse "calls" "$(echo "$wanted" | grep -xE '_?exit|abort|[gs]etenv|atexit|signal|time|gettimeofday|rand|random'
                             echo "$wanted" | grep -xE 'setlocale|localeconv|strto[dfl]|strtoul|ato[ifl]|(__isoc99_)?sscanf'
                             echo "$wanted" | grep -xE '(sqrt|pow|exp|log|log2|floor|ceil|round|fmod|ldexp)f*|scalbn|frexp')" ;;
    no-choice) refuse "defined" "$(echo "$defined" | grep -E '^spmv_(choose|cocktail|tun|features|predict|explain)')"
               [ -n "$defined" ] || { echo "no symbols at all"; rc=1; } ;;
    *) echo "no rule named $rule"; exit 2 ;;
    esac
done
exit $rc
