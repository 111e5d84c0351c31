#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Our plans beside a peer's variants: compare.py PEER.json OURS.json... prints a line for each matrix and type.

PEER.json has the lines of the peers' benchmark programs (matrix, dtype, variant, us), OURS.json those of
"spmv bench --json". Each side counts with its fastest; ratio is the peer's time over ours."""
import json
import math
import sys


def lines(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.startswith("{")]


def best(rows, kind, name):
    found = {}
    for r in rows:
        if r.get("us") and r.get("ok", True):
            key = (r["matrix"].split("/")[-1].rsplit(".", 1)[0] if "plan" in r else r["matrix"], r[kind])
            if key not in found or r["us"] < found[key][0]:
                found[key] = (r["us"], name(r))
    return found


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    rows = [r for path in sys.argv[2:] for r in lines(path)]
    peer = best(lines(sys.argv[1]), "dtype", lambda r: r["variant"])
    ours = best(rows, "type", lambda r: r["plan"])
    wrong = sum(1 for r in rows if r.get("ok") is False)
    ratios = {}
    print(f"{'matrix':28} {'type':5} {'peer us':>8} {'by':10} {'ours us':>8} {'by':22} {'ratio':>6}")
    for key in sorted(ours):
        if key not in peer:
            continue
        ratio = peer[key][0] / ours[key][0]
        ratios.setdefault(key[1], []).append(ratio)
        print(f"{key[0]:28} {key[1]:5} {peer[key][0]:8.1f} {peer[key][1]:10} {ours[key][0]:8.1f} {ours[key][1]:22} {ratio:6.2f}")
    for kind in sorted(ratios):
        mean = math.exp(sum(map(math.log, ratios[kind])) / len(ratios[kind]))
        print(f"geometric mean, {kind}, {len(ratios[kind])} matrices: {mean:.3f}")
    print(f"products out of their bound: {wrong} of {sum(1 for r in rows if r.get('us'))}")


if __name__ == "__main__":
    main()
