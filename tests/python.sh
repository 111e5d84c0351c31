#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/python.sh - makes the source distribution of python/, installs it into an environment of its own, and runs its tests and
# examples there, those of arrays on a GPU by the driver that make builds of tests/cuda/fake.c. The library is compiled without vector
# products, and not optimised: these have tests of their own.
set -u
cd "$(dirname "$0")/.." || exit 1
root=$(pwd) dir=$(pwd)/build/python
rm -rf "$dir"
mkdir -p "$dir" || exit 1
python=/usr/bin/python3 # that of the packages which tools/install.sh installs
[ -x $python ] || python=python3
fail() { echo "$*"; echo "0 passed, 1 failed"; exit 1; }
cp -r python "$dir/package" && rm -rf "$dir/package/lib" "$dir/package/build" "$dir/package/spmv/"*.so || exit 1
ln -s "$root"/spmv* "$root/LICENSE" "$dir"/ || exit 1 # setup.py finds them above it
(cd "$dir/package" && $python setup.py -q sdist -d "$dir/dist") >"$dir/log" 2>&1 || { cat "$dir/log"; fail "no source distribution"; }
rm "$dir"/spmv* && $python -m venv --system-site-packages --without-pip "$dir/venv" || fail "no environment"
CFLAGS="-O0 -DSPMV_NO_SIMD -Wall -Wextra -Werror" timeout 300 $python -m pip --python "$dir/venv/bin/python" install -q --no-index \
    --no-build-isolation --no-deps "$dir"/dist/spmv-*.tar.gz >"$dir/log" 2>&1 || { cat "$dir/log"; fail "it cannot be installed"; }
cd "$dir" || exit 1
ran=0 bad=0 rc=0
tests() { # tests COMMAND...: runs it and counts what it says
    timeout 300 "$@" >log 2>&1
    status=$?
    cat log
    skipped=$(sed -n 's/.*skipped=\([0-9]*\).*/\1/p' log)
    found=$(($(sed -n 's/^Ran \([0-9]*\) test.*/\1/p' log) - ${skipped:-0}))
    [ $found != 0 ] || status=1
    ran=$((ran + found))
    wrong=$(sed -n 's/^FAILED.*failures=\([0-9]*\).*/\1/p; s/^FAILED.*errors=\([0-9]*\).*/\1/p' log | awk '{ n += $1 } END { print n + 0 }')
    [ $status = 0 ] || [ "$wrong" != 0 ] || wrong=1
    bad=$((bad + wrong)) rc=$((rc | status))
}
POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable
export POCL_EXTRA_BUILD_FLAGS
tests venv/bin/python -W error -m unittest discover "$root/python/tests"
tests env LD_LIBRARY_PATH="$root/build/cuda:$root/build/cuda/compiler" venv/bin/python -W error "$root/python/tests/test_cuda.py"
example() { # example NAME PRINTS ARGUMENT: counts as a test
    ran=$((ran + 1))
    venv/bin/python "$root/python/examples/$1.py" "$3" $1.png >$1.txt 2>&1 && grep -q "$2" $1.txt && [ -s $1.png ] && return
    cat $1.txt
    bad=$((bad + 1)) rc=1
}
example membrane ' 9\.667 15\.165 ' 39
example pagerank 'add up to 1\.000000' -
example transport 'c x 2\.6686, b y 2\.6686' 12
echo "$((ran - bad)) passed, $bad failed"
exit $rc
