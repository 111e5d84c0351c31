#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/headers.sh - checks that the generated headers and docs/configuration.md are up to date (needs xxd), and that a program which
# includes spmv_tuning.h prints the text of the tables, byte for byte. Changes none of them.
set -u
cd "$(dirname "$0")/.." || exit 1
out=build/headers
mkdir -p $out/awkward || exit 1
sh tools/embed.sh $out || exit 1
for h in spmv_kernels.h spmv_tuning.h; do
    cmp $out/$h $h || { echo "run: make headers"; exit 1; }
done
sh tools/config.sh >$out/configuration.md || exit 1
cmp $out/configuration.md docs/configuration.md || { echo "run: make headers"; exit 1; }

cat >$out/print.c <<'END'
#include <stddef.h>
#include <stdio.h>
#include <spmv_tuning.h>
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
    cat "$@" | cmp - $out/printed || { echo "$from/spmv_tuning.h does not hold $*"; exit 1; }
}
same . tuning/*.tune

# characters that have a meaning in string literals, and lines of every length near the end of a piece
printf 'spmv tuning table 2\ndevice "a\\b" ??/ ??= %%s \\n \303\2517 \t\r\nclass host\n\n' >$out/awkward/a.tune
awk 'BEGIN { for (n = 1990; n <= 2046; n++) { s = ""; while (length(s) < n) s = s (n % 5 ? "1 " : "12"); print substr(s, 1, n) } }' \
    >$out/awkward/b.tune
sh tools/embed.sh $out/awkward $out/awkward || exit 1
same $out/awkward $out/awkward/a.tune $out/awkward/b.tune
awk 'BEGIN { while (n++ < 2047) printf "1"; print "" }' >$out/awkward/b.tune
if sh tools/embed.sh $out/awkward $out/awkward 2>$out/said; then echo "a line that is too long is embedded"; exit 1; fi
grep -q 'b.tune, line 1: longer than 2046 characters' $out/said || { echo "the line that is too long is not named"; exit 1; }
