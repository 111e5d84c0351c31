#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/warm.sh NAME - sees to it that the kernels of tests/NAME.c are in PoCL's cache: waits for unit/NAME where this run of
# tests/run.sh has it (earlier in the list, so somebody is at it), else runs that test, whatever it finds.
set -u
cd "$(dirname "$0")/.." || exit 1
if grep -q "^unit/$1	" build/check/list; then
    until grep -q " unit/$1\$" build/check/results; do sleep 1; done
else
    make -s --no-print-directory "build/tests/$1" || exit 1
    OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd "build/tests/$1" -j1 --filter '!(knobs|pairs|self_check)/*' >/dev/null 2>&1
fi
exit 0
