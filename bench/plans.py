#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times of formats side by side: plans.py JSON... prints, for each device and type, a line for each matrix and a column for each format
alone, csr in runs apart, for hyb, hyb-csr and hybr, and for other plans of several parts: microseconds of the fastest plan and variant of
each that was tried, the fastest of a line marked with *, and its name. Input: lines of "spmv bench --json". Plans that the library chose
are left out."""
import sys

from rows import fastest, grouped, is_wrong, read, where

ORDER = ["dense", "coo", "csr", "csr:run", "dia", "bdia", "ell", "sell", "bell", "sbell", "bcsr", "cmrs", "hyb", "hyb-csr", "hybr", "parts"]


def column(row):
    if row["builder"] in ("hyb", "hyb-csr", "hybr"):
        return row["builder"]
    if "+" in row["plan"]:
        return "parts"
    name, _, keys = row["plan"].partition(":")
    return "csr:run" if name == "csr" and "run=" in keys else name


def cells_of(rows):
    """{column: the fastest row of it}."""
    columns = grouped((r for r in rows if r["builder"] not in ("auto", "cocktail")), column)
    return {name: fastest(of) for name, of in columns.items()}


def cell(name, cells, first):
    if name not in cells:
        return f"{'-':>9} "
    return f"{cells[name]['us']:9.1f}{'*' if cells[name] is first else ' '}"


def section(device, kind, matrices):
    print(f"{device}, {kind}; microseconds")
    print(f"{'':26}" + "".join(f"{c:>9} " for c in ORDER) + " fastest")
    for matrix, cells in sorted(matrices.items()):
        first = fastest(cells.values())
        print(f"{matrix:26}" + "".join(cell(c, cells, first) for c in ORDER) + f" {first['plan']}")
    print()


def main():
    rows = [row for path in sys.argv[1:] for row in read(path)]
    places = {}
    for (device, kind, matrix), of in grouped(rows, where).items():
        cells = cells_of(of)
        if cells:
            places.setdefault((device, kind), {})[matrix] = cells
    for (device, kind), matrices in sorted(places.items()):
        section(device, kind, matrices)
    wrong = sum(map(is_wrong, rows))
    print(f"products wrong: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
