#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times of formats side by side: plans.py JSON... prints, for each device and type, a line for each matrix and a column for each format
alone, csr in runs apart, for hyb, hyb-csr and hybr, and for other plans of several parts: microseconds of the fastest plan and variant of
each that was tried, the fastest of a line marked with *, and its name. Input: lines of "spmv bench --json". Plans that the library chose
are left out."""
import json
import sys

ORDER = ["dense", "coo", "csr", "csr:run", "dia", "bdia", "ell", "sell", "bell", "sbell", "bcsr", "cmrs", "hyb", "hyb-csr", "hybr", "parts"]


def column(row):
    if row["builder"] in ("hyb", "hyb-csr", "hybr"):
        return row["builder"]
    if "+" in row["plan"]:
        return "parts"
    name, _, keys = row["plan"].partition(":")
    return "csr:run" if name == "csr" and "run=" in keys else name


def main():
    best, wrong = {}, 0
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as f:
            for line in f:
                row = json.loads(line)
                wrong += row["ok"] is False
                if not row["us"] or not row["ok"] or row["builder"] in ("auto", "cocktail"):
                    continue
                cells = best.setdefault((row["device"], row["type"]), {}).setdefault(row["matrix"], {})
                if column(row) not in cells or row["us"] < cells[column(row)]["us"]:
                    cells[column(row)] = row
    for (device, kind), matrices in sorted(best.items()):
        print(f"{device}, {kind}; microseconds")
        print(f"{'':26}" + "".join(f"{c:>9} " for c in ORDER) + " fastest")
        for matrix, cells in sorted(matrices.items()):
            first = min(cells.values(), key=lambda r: r["us"])
            print(f"{matrix:26}" + "".join(f"{cells[c]['us']:9.1f}{'*' if cells[c] is first else ' '}" if c in cells else f"{'-':>9} "
                                           for c in ORDER) + f" {first['plan']}")
        print()
    print(f"products wrong: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
