#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Products with the key val beside those without: values.py INFO.json VALUES.json prints, for each device and type, a line for each matrix
with the fastest plan without val, the fastest with val=8 or val=1, and the plan of auto, which may have either; and geometric means, of
all matrices and of those with over 2 million nonzeros. INFO.json has the lines of "spmv info --json", VALUES.json those of "spmv bench
--json". A speed-up is the time of the fastest plan without val divided by that of the other."""
import os
import sys

from rows import OUR_KEYS, fastest, geometric_mean, grouped, is_wrong, read, where

LARGE = 2e6  # nonzeros


def has_codes(row):
    return "val=8" in row["plan"] or "val=1" in row["plan"]


def stem(path):
    name = os.path.basename(path)
    for suffix in (".gz", ".mtx", ".bin"):
        name = name[:-len(suffix)] if name.endswith(suffix) else name
    return name


def means(what, lines):
    if lines:
        best, auto, same = (geometric_mean([line[i] for line in lines]) for i in (1, 2, 3))
        print(f"{what}, {len(lines)} matrices: geometric mean {best:.2f} with val, {auto:.2f} by auto, {same:.2f} the same plan with val")


def same_plan(row, rows):
    """The speed-up of a plan with val over itself without."""
    plain = row["plan"].replace(",val=8", "").replace(",val=1", "").replace(":val=8", "").replace(":val=1", "")
    other = fastest([r for r in rows if r["plan"] == plain])
    return other["us"] / row["us"] if other else None


def section(device, kind, matrices, infos):
    print(f"{device}, {kind}; microseconds")
    print(f"{'matrix':20} {'nonzeros':>10} {'values':>6} {'without':>9} {'by':28} {'with val':>9} {'by':28} {'speed-up':>8} "
          f"{'auto':>9} {'speed-up':>8}")
    lines = []
    for matrix, rows in sorted(matrices.items()):
        plain, coded = (fastest([r for r in rows if has_codes(r) == codes]) for codes in (False, True))
        auto = fastest([r for r in rows if r["builder"] == "auto"])
        if not plain or not coded or not auto or matrix not in infos:
            continue
        best, by_auto = plain["us"] / coded["us"], plain["us"] / auto["us"]
        lines.append((plain["nnz"], best, by_auto, same_plan(coded, rows) or best))
        print(f"{matrix:20} {plain['nnz']:10} {infos[matrix]:6} {plain['us']:9.1f} {plain['plan']:28} "
              f"{coded['us']:9.1f} {coded['plan']:28} {best:8.2f} {auto['us']:9.1f} {by_auto:8.2f}")
    means("all", lines)
    means("over 2 million nonzeros", [line for line in lines if line[0] > LARGE])
    print()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    infos = {stem(row["matrix"]): row["distinct"] for row in read(sys.argv[1], ("matrix", "distinct"))}
    ours = list(read(sys.argv[2], OUR_KEYS + ("nnz",)))
    places = {}
    for (device, kind, matrix), rows in grouped(ours, where).items():
        places.setdefault((device, kind), {})[matrix] = rows
    for (device, kind), matrices in sorted(places.items()):
        section(device, kind, matrices, infos)
    wrong = sum(map(is_wrong, ours))
    print(f"products wrong: {wrong} of {sum(bool(r['us']) for r in ours)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
