#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/config.sh - prints docs/configuration.md: the configuration macros as a table, from the list in the first comment of spmv_formats.h.
# There a macro begins three columns in; two blanks or more stand before what it does, which may go on in lines that are further in.
set -eu
cd "$(dirname "$0")/.."
LC_ALL=C awk '
    function code(text) { # names, options and files as code
        gsub(/SPMV_[A-Z0-9_]+|-D[^ ,;]*[^ ,;.]|-l[a-z]+|[a-z_0-9]+\.h/, "`&`", text)
        gsub(/see below/, "see [threads.md](threads.md)", text); gsub(/<`/, "`<", text); gsub(/`>/, ">`", text); gsub(/\|/, "\\|", text)
        return text
    }
    function row() { if (name != "") { print "| " name " | " code(text) " |"; rows++ } name = "" }
    /Configuration macros are defined/ {
        on = 1
        print "# Configuration\n\n<!-- made by tools/config.sh from the first comment of spmv_formats.h -->\n"
        print "Define these macros before the include. No public struct or constant depends on them, so files that are linked together\n" \
              "may differ: only the one with `SPMV_IMPLEMENTATION` counts. What it leaves out is refused with `SPMV_ERR_UNSUPPORTED`\n" \
              "or is missing at link time. In CMake, set those without arguments by `set` or `-D`.\n"
        print "| macro | effect |\n|---|---|"
    }
    !on { next }
    /^ \*$/ { row(); exit }
    /^ \*   SPMV_/ {
        row()
        name = text = substr($0, 6)
        sub(/  +.*/, "", name); sub(/^.*[^ ]  +/, "", text)
        gsub(/SPMV_[A-Z0-9_]+(\([^)]*\))?/, "`&`", name)
        next
    }
    /^ \*    / && name != "" { sub(/^ \* +/, ""); text = text " " $0 }
    END {
        if (rows < 15) { print "tools/config.sh: the list of macros was not found in spmv_formats.h" >"/dev/stderr"; exit 1 }
        print "\nIn the single header, `dist/spmv.h`, `SPMV_IO` adds the readers of files (spmv_io.h), and `SPMV_GROUP` products on\n" \
              "several devices (spmv_group.h). `make sizes` prints the bytes of code that each cut saves."
    }' spmv_formats.h
