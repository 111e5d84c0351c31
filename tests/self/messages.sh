#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/self/messages.sh - every message of spmvgen about a description (report_error in tools/gen) says what was expected or names the
# option --set. A fuzzer asserts the same of the messages that it provokes; this finds those that it happens not to reach.
set -u
cd "$(dirname "$0")/../.." || exit 1

# silent FILE...: prints the place of each call whose text has neither word, and then the number of calls.
silent() {
    awk '/report_error\(/ && !/const char \*format/ { call = ""; place = FILENAME ":" FNR; calls++ }
         place { call = call $0 }
         place && /\);/ { if (call !~ /expected|--set/) print place; place = "" }
         END { print calls + 0 " calls" }' "$@"
}

dir=build/check
mkdir -p $dir
printf 'report_error(r, f, at, "this is wrong");\nreport_error(r, f, at, "this is wrong; "\n    "expected another");\n' >$dir/messages.c
if [ "$(silent $dir/messages.c | tr '\n' ' ')" != "$dir/messages.c:1 2 calls " ]; then echo "a planted message is not found"; exit 1; fi
silent tools/gen/*.[chly] >$dir/messages
cat $dir/messages
[ "$(wc -l <$dir/messages)" = 1 ] && [ "$(sed 's/ calls//' $dir/messages)" -ge 60 ]
