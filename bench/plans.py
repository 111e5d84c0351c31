#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times of the formats side by side: plans.py [--spmv PROGRAM] JSON... prints, for each device and type, a line for each matrix and a
column for each format (csr in runs has its own), for each builder, and for other plans of several parts. A cell holds the microseconds
of the fastest plan and variant that was tried; the fastest cell of a line is marked with * and its plan is named at the end. Input: lines
of "spmv bench --json". Plans that the library chose are left out. PROGRAM (build/spmv) lists the formats and builders."""
import argparse
import subprocess
import sys

from rows import fastest, grouped, is_wrong, read, where

RUNS, PARTS = "csr:run", "parts"


def names(spmv):
    """{"format": names, "layout": plans, "builder": names, "choice": names}, in the order of "spmv plan --list"."""
    run = subprocess.run([spmv, "plan", "--list"], capture_output=True, text=True, check=True)
    listed = {}
    for line in run.stdout.splitlines():
        sort, name = line.split()[:2]
        listed.setdefault(sort, []).append(name)
    return listed


def columns_of(listed):
    """The names of all columns, each once: cmrs is a format as well as a builder."""
    columns = []
    for name in listed["format"] + listed["builder"]:
        columns += [name] if name not in columns else []
        columns += [RUNS] if name == "csr" else []
    return columns + [PARTS]


def column(row, builders):
    if row["builder"] in builders:
        return row["builder"]
    if "+" in row["plan"]:
        return PARTS
    name, _, keys = row["plan"].partition(":")
    return RUNS if name == "csr" and "run=" in keys else name


def cells_of(rows, listed):
    """{column: its fastest row}."""
    columns = grouped((r for r in rows if r["builder"] not in listed["choice"]), lambda r: column(r, listed["builder"]))
    return {name: fastest(of) for name, of in columns.items()}


def cell(name, cells, first):
    if name not in cells:
        return f"{'-':>9} "
    return f"{cells[name]['us']:9.1f}{'*' if cells[name] is first else ' '}"


def section(device, kind, matrices, columns):
    print(f"{device}, {kind}; microseconds")
    print(f"{'':26}" + "".join(f"{c:>9} " for c in columns) + " fastest")
    for matrix, cells in sorted(matrices.items()):
        first = fastest(cells.values())
        print(f"{matrix:26}" + "".join(cell(c, cells, first) for c in columns) + f" {first['plan']}")
    print()


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--spmv", default="build/spmv")
    ask.add_argument("json", nargs="+")
    args = ask.parse_args()
    rows = [row for path in args.json for row in read(path)]
    listed = names(args.spmv)
    places = {}
    for (device, kind, matrix), of in grouped(rows, where).items():
        cells = cells_of(of, listed)
        if cells:
            places.setdefault((device, kind), {})[matrix] = cells
    for (device, kind), matrices in sorted(places.items()):
        section(device, kind, matrices, columns_of(listed))
    wrong = sum(map(is_wrong, rows))
    print(f"products wrong: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
