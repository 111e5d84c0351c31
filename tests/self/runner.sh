#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/self/runner.sh [RUNNER] - tests/run.sh itself, in a directory with planted checks: what fails is counted and reported, nothing is
# lost, and no program is built twice. RUNNER is another script to be tried instead.
set -u
cd "$(dirname "$0")/../.." || exit 1
runner=$(pwd)/${1:-tests/run.sh}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$dir/tests" || exit 1
cp "$runner" "$dir/tests/run.sh" && cd "$dir" || exit 1
rc=0

plant() { # plant "NAME KIND COMMAND"...: the runner's list, which its group tidy gives
    echo '#!/bin/sh' >tests/tidy.sh
    for line; do
        set -- $line
        name=$1 kind=$2
        shift 2
        printf 'cat <<"END"\n%s\t%s\t%s\nEND\n' "$name" "$kind" "$*" >>tests/tidy.sh
    done
}
run() { # run WORD...: the runner's output and exit status are kept
    sh tests/run.sh "$@" >out 2>&1 </dev/null
    status=$?
}
expect() { # expect WHAT STATUS PATTERN...: the last run ended so and printed a line that matches each pattern
    what=$1
    good=yes
    [ "$status" = "$2" ] || good="exit status $status"
    shift 2
    for pattern; do grep -qE -- "$pattern" out || good="no line matches: $pattern"; done
    echo "$what: $good"
    [ "$good" = yes ] || { sed 's/^/    /' out; rc=1; }
}

# built takes a moment, and writes down that it was built
cat >Makefile <<'END'
build/tests/slow:
	@mkdir -p build/tests
	@echo built >>built
	@sleep 1
	@echo 'echo "1 passed, 0 failed"' >$@
END

plant 'a/good plain true' 'a/bad plain echo the reason; false'
run tidy
expect 'a failure is counted and the run fails' 1 '^1 passed, 1 failed$'
expect 'the end says what failed, why, and how to repeat it' 1 '^FAILED a/bad' '^ *\| the reason$' 'again: *sh tests/run.sh a/bad$'
[ "$(tail -n 1 out)" = '1 passed, 1 failed' ] || status='not 1: the count is not the last line'
expect 'the count is the last line' 1
run a/bad
expect 'a check can be run by its name' 1 '^0 passed, 1 failed$'
run 'a/g*'
expect 'or by a pattern' 0 '^1 passed, 0 failed$'

rm -f built
plant 'a/one sum make -s build/tests/slow && sh build/tests/slow' 'a/two sum make -s build/tests/slow && sh build/tests/slow'
run tidy
expect 'two checks that want one program pass' 0 '^2 passed, 0 failed$'
[ "$(grep -c built built)" = 1 ] || status="built $(grep -c built built) times"
expect 'it was built once' 0

plant 'a/dead plain kill -9 $(cut -d " " -f 4 /proc/$PPID/stat)' 'a/other plain true'
run tidy
expect 'a check whose worker dies is a failure' 1 '^1 passed, 1 failed$' '^FAILED a/dead'

plant
run tidy
expect 'a group without checks is a failure' 1 '^0 passed, 1 failed$'
plant 'a/none sum true'
run tidy
expect 'a check that tests nothing is a failure' 1 '^0 passed, 1 failed$'

plant 'a/slow plain sleep 7'
LIMIT=1 run tidy
expect 'a check that takes too long is a failure' 1 'stopped after 1 s' '^0 passed, 1 failed$'

# a shell reads a script piece by piece; what follows a long comment before the last line is not read yet
awk '{ lines[NR] = $0 } END { for (i = 1; i < NR; i++) print lines[i]; for (i = 0; i < 1000; i++) print "# padding"; print lines[NR] }' \
    "$runner" >tests/run.sh
plant 'a/edit plain echo "((" >tests/run.sh; false'
run tidy
cp "$runner" tests/run.sh
expect 'who edits the runner meanwhile does not disturb the run' 1 '^0 passed, 1 failed$'

plant 'a/one plain sleep 2' 'a/two plain true'
sh tests/run.sh a/one >first 2>&1 </dev/null &
sleep 1
run a/two
expect 'a second run in the same place waits, and passes' 0 'waiting for process [0-9]+' '^1 passed, 0 failed$'
wait $!
status=$?
mv first out
expect 'and does not disturb the first' 0 '^ok +a/one' '^1 passed, 0 failed$'

exit $rc
