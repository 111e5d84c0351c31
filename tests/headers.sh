#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/headers.sh - checks that the generated headers and docs/configuration.md are up to date, that a program which includes tuning.h
# prints the text of the tables byte for byte, and that one which includes kernels.h finds there the bytes that xxd makes of the kernels.
# Changes none of them.
set -u
cd "$(dirname "$0")/.." || exit 1
out=build/headers
mkdir -p $out/awkward || exit 1
sh tools/embed.sh $out || exit 1
for h in kernels.h tuning.h; do
    cmp $out/$h spmv/generated/$h || { echo "run: make headers"; exit 1; }
done
sh tools/config.sh >$out/configuration.md || exit 1
cmp $out/configuration.md docs/configuration.md || { echo "run: make headers"; exit 1; }

cat >$out/print.c <<'END'
#include <stddef.h>
#include <stdio.h>
#include <tuning.h>
int main(void)
{
    size_t i, k;
    for (i = 0; spmv__tuning[i].text; i++)
        for (k = 0; k < spmv__tuning[i].length; k++)
            if (spmv__tuning[i].text[k]) putchar(spmv__tuning[i].text[k]);
    return 0;
}
END
same() { # same HEADER'S_FOLDER TABLE...
    from=$1
    shift
    ${CC:-cc} -std=c99 -pedantic -Wall -Wextra -Woverlength-strings -Werror -I"$from" $out/print.c -o $out/print || exit 1
    $out/print >$out/printed
    cat "$@" | cmp - $out/printed || { echo "$from/tuning.h does not hold $*"; exit 1; }
}
same spmv/generated tuning/*.tune

# characters that have a meaning in string literals, and lines of every length near the end of a piece
printf 'spmv tuning table 2\ndevice "a\\b" ??/ ??= %%s \\n \303\2517 \t\r\nclass host\n\n' >$out/awkward/a.tune
awk 'BEGIN { for (n = 1990; n <= 2046; n++) { s = ""; while (length(s) < n) s = s (n % 5 ? "1 " : "12"); print substr(s, 1, n) } }' \
    >$out/awkward/b.tune
sh tools/embed.sh $out/awkward $out/awkward || exit 1
same $out/awkward $out/awkward/a.tune $out/awkward/b.tune
awk 'BEGIN { while (n++ < 2047) printf "1"; print "" }' >$out/awkward/b.tune
if sh tools/embed.sh $out/awkward $out/awkward 2>$out/said; then echo "a line that is too long is embedded"; exit 1; fi
grep -q 'b.tune, line 1: longer than 2046 characters' $out/said || { echo "the line that is too long is not named"; exit 1; }

# the kernels, as xxd sees them
{
    printf '#include <stdio.h>\n#include <string.h>\n#include <spmv_formats.h>\n#include <kernels.h>\n'
    for f in kernels/*.cl kernels/cuda.cuh; do
        n=${f##*/} && n=${n%.*}
        cat "$f" >$out/source_$n
        if [ -e "kernels/gen/$n.cl" ] && [ "$f" != kernels/cuda.cuh ]; then
            { printf '\n#line 1 "kernels/gen/%s.cl"\n' "$n" && cat "kernels/gen/$n.cl"; } >>$out/source_$n
        fi
        (cd $out && xxd -i source_$n)
    done
    cat <<'END'
static int differs(const char *name, const char (*piece)[SPMV__PIECE_BYTES], size_t pieces, const unsigned char *want, size_t size)
{
    size_t i, n;
    for (i = 0; i < pieces; i++, want += n, size -= n) {
        n = strlen(piece[i]);
        if (n > size || memcmp(piece[i], want, n) != 0) break;
    }
    if (i == pieces && !size) return 0;
    printf("kernels.h does not hold kernels/%s\n", name);
    return 1;
}
int main(void)
{
    int bad = 0;
END
    for f in kernels/*.cl kernels/cuda.cuh; do
        n=${f##*/} && n=${n%.*}
        echo "    bad |= differs(\"${f##*/}\", spmv__src_$n, sizeof spmv__src_$n / sizeof *spmv__src_$n, source_$n, source_${n}_len);"
    done
    printf '    return bad;\n}\n'
} >$out/kernels.c
${CC:-cc} -std=c99 -pedantic -Wall -Wextra -Woverlength-strings -Werror -I. -Ispmv/generated $out/kernels.c -o $out/kernels &&
    $out/kernels || exit 1
