#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the lines of "spmv bench --json" in a file with the plans that auto chooses now: now.py TABLE MATRICES JSON [SPMV].

The lines of "auto" are replaced: for each matrix, device and type, by that of the plan that build/spmv now chooses by the tuning table for
MATRICES/MATRIX.bin, as it was measured in the file, whoever requested it; by none if it was not measured."""
import json
import sys

from regret import chosen_now
from rows import grouped, read, where


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    table, matrices, path = sys.argv[1:4]
    spmv = sys.argv[4] if len(sys.argv) == 5 else "build/spmv"
    rows = list(read(path))
    as_requested = grouped((dict(r, builder=None) for r in rows), where)
    now = chosen_now(as_requested, spmv, table, matrices)
    for row in rows:
        print(json.dumps(dict(row, builder=None) if row["builder"] == "auto" else row))
    for row in now.values():
        if not isinstance(row, str):
            print(json.dumps(dict(row, builder="auto")))


if __name__ == "__main__":
    main()
