#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/tidy.sh list | RULE - checks a rule about the text of the files. "list" prints a line for tests/run.sh for each rule.
set -u
cd "$(dirname "$0")/.." || exit 1
files() {
    if git rev-parse --git-dir >/dev/null 2>&1; then git ls-files --cached --others --exclude-standard
    else find . -type f ! -path './build/*' ! -path './quick.c' ! -path './dist/*' ! -path './.*' | sed 's|^\./||'; fi |
        while IFS= read -r f; do [ -f "$f" ] && echo "$f"; done
}
text() { files | grep -v '\.gz$\|\.png$\|\.bin$\|^tests/fuzz/.*/\|^tests/data/'; }
refuse() { # refuse WHAT FOUND
    [ -z "$2" ] && return 0
    echo "$1:"
    echo "$2"
    return 1
}
case ${1-} in
list)
    for r in spdx unfinished paths width ascii alloc null circles shell; do printf 'tidy/%s\tplain\tsh tests/tidy.sh %s\n' $r $r; done ;;
spdx) # a licence line among the first five of each source
    bad=$(text | grep '\.\(c\|h\|cpp\|cl\|cuh\|sh\|mk\)$\|^Makefile$\|^CMakeLists\.txt$\|^cmake/\|^\.ci/run$' | while IFS= read -r f; do
        head -n 5 "$f" | grep -q 'SPDX-License-Identifier: MIT' || echo "$f"; done)
    refuse "no SPDX line" "$bad" ;;
unfinished) # but for what is packed in the generated headers
    refuse "unfinished" "$(text | grep -v '^spmv/generated/' | xargs grep -nE '\b(TO''DO|FIX''ME|X''XX)\b' /dev/null)" ;;
paths) # of the machine it was written on
    refuse "a path of one machine" "$(text | xargs grep -nE '(/ho''me/|/wo''rk/|/ro''ot/|/Us''ers/)' /dev/null)" ;;
width) # of lines, but in the generated headers
    refuse "more than 140 characters" "$(text | grep '\.\(c\|h\|sh\|py\)$' | grep -v '^spmv/generated/' |
        xargs grep -nE '^.{141}' /dev/null | cut -c 1-160)" ;;
ascii) # kernels are parsed by drivers of every kind
    refuse "not ASCII" "$(ls kernels/*.cl kernels/*.cuh spmv*.h spmv/*.h spmv/*/*.h 2>/dev/null |
        LC_ALL=C xargs grep -nP '[^\x00-\x7f]' /dev/null)" ;;
alloc) # memory is allocated and text is parsed only by the library's own helpers
    c_functions='malloc|calloc|realloc|free|exit|abort|getenv|strtod|strtol|atoi|atof|sscanf|sprintf|strcpy|strcat|system'
    refuse "calls the C library by itself" "$(ls spmv*.h spmv/*.h spmv/*/*.h | grep -v '^spmv/generated/' |
        xargs grep -nE "(^|[^_a-zA-Z.>])($c_functions) *\(" /dev/null |
        grep -v '#define SPMV_\(MALLOC\|REALLOC\|FREE\)' | grep -vE ':[0-9]+: *(\*|/\*|//)')" ;;
null) # tests/test_null.c calls every public function that takes a pointer
    bad=$(for f in spmv*.h spmv/plan.h spmv/choice.h spmv/device.h; do
        sed '/= END OF THE INTERFACE =/q' $f | tr '\n' ' ' | grep -o 'SPMV_API [^;{]*);' | grep '(.*[*[].*)' |
            sed 's/^[^(]*[ *]\(spmv_[a-z0-9_]*\)(.*/\1/' | while IFS= read -r name; do
            grep -q "\<$name(" tests/test_null.c || echo "$f: $name"; done; done)
    refuse "not in tests/test_null.c" "$bad" ;;
circles) # of files that include each other; what is read again (templates) does not count
    bad=$(for f in spmv*.h spmv/*.h spmv/*/*.h; do
        case $f in */*) folder=${f%/*}/ ;; *) folder= ;; esac
        sed -n '/again \*\/$/!s/^[ \t]*#[ \t]*include[ \t]*"\(.*\)".*/\1/p' "$f" | while IFS= read -r i; do
            echo "$f $(echo "$folder$i" | sed 's|[^/.]*/\.\./||')"; done; done | tsort 2>&1 >/dev/null)
    refuse "includes in a circle" "$bad" ;;
shell)
    rc=0
    for f in $(text | grep '\.sh$'); do sh -n "$f" || rc=1; done
    bash -n .ci/run || rc=1
    exit $rc ;;
*) echo "usage: tests/tidy.sh list|RULE" >&2; exit 2 ;;
esac
