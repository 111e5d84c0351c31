#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Our plans beside a peer's variants: compare.py PEER.json OURS.json... prints a line for each matrix and type.

PEER.json has the lines of the peers' benchmark programs (matrix, dtype, variant, us), OURS.json those of
"spmv bench --json". Each side counts with its fastest; ratio is the peer's time over ours. Where ours are of the host and
of another device, two more columns tell the fastest of each, and one the host's time over the device's."""
import json
import math
import sys


def lines(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.startswith("{")]


def plan_of(r):
    return r["plan"]


def best(rows, kind, name):
    found = {}
    for r in rows:
        if r.get("us") and r.get("ok", True):
            key = (r["matrix"].split("/")[-1].rsplit(".", 1)[0] if "plan" in r else r["matrix"], r[kind])
            if key not in found or r["us"] < found[key][0]:
                found[key] = (r["us"], name(r))
    return found


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    rows = [r for path in sys.argv[2:] for r in lines(path)]
    peer = best(lines(sys.argv[1]), "dtype", lambda r: r["variant"])
    ours = best(rows, "type", plan_of)
    wrong = sum(1 for r in rows if r.get("ok") is False)
    devices = sorted({r.get("device") or "host" for r in rows}, key=lambda d: d != "host")
    each = [best([r for r in rows if (r.get("device") or "host") == d], "type", plan_of) for d in devices]
    both = len(devices) == 2 and devices[0] == "host"
    ratios, gains = {}, {}
    heading = f"{'matrix':28} {'type':5} {'peer us':>8} {'by':13} {'ours us':>8} {'by':22} {'ratio':>6}"
    if both:
        print(f"device: {devices[1]}")
        heading += f" {'host us':>9} {'by':22} {'device us':>9} {'by':22} {'gain':>6}"
    print(heading)
    for key in sorted(ours):
        if key not in peer:
            continue
        ratio = peer[key][0] / ours[key][0]
        ratios.setdefault(key[1], []).append(ratio)
        line = f"{key[0]:28} {key[1]:5} {peer[key][0]:8.1f} {peer[key][1]:13} {ours[key][0]:8.1f} {ours[key][1]:22} {ratio:6.2f}"
        if both and all(key in e for e in each):
            gains.setdefault(key[1], []).append(each[0][key][0] / each[1][key][0])
            for us, plan in (e[key] for e in each):
                line += f" {us:9.1f} {plan:22}"
            line += f" {gains[key[1]][-1]:6.2f}"
        print(line)
    for kind in sorted(ratios):
        print(f"geometric mean, {kind}, {len(ratios[kind])} matrices: {mean(ratios[kind]):.3f}", end="")
        print(f"; host over device {mean(gains[kind]):.3f}" if kind in gains else "")
    print(f"products out of their bound: {wrong} of {sum(1 for r in rows if r.get('us'))}")


if __name__ == "__main__":
    main()
