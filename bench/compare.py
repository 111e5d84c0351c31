#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares our products with a peer's: compare.py PEER.json OURS.json... prints a line for each device, type and matrix.

PEER.json has the lines of the peers' benchmark programs (matrix, dtype, variant, us), OURS.json those of "spmv bench --json". The
peer's fastest variant counts. It is compared with the plan that "auto" chose and with the fastest of all plans that were tried; a ratio
is the peer's time divided by ours (above 1: ours is faster). Of "spmv bench --both" the time of both products in turn counts."""
import sys

from rows import OUR_KEYS, PEER_KEYS, fastest, geometric_mean, grouped, is_wrong, read, where


def in_turn(rows):
    """The rows, with those of a matrix and of its transpose made one of both products; the plan is named once if both have it."""
    first = None
    for row in rows:
        if row.get("transposed") is False and row["us"]:
            first = row
        elif row.get("transposed") and row["us"]:
            plans = dict.fromkeys([first["plan"], row["plan"]])
            yield {**row, "us": row["both_us"], "plan": " | ".join(plans), "ok": first["ok"] and row["ok"]}
        else:
            yield row


def summary(name, ratios):
    slower = sum(r < 1 for r in ratios)
    print(f"  {name}: geometric mean {geometric_mean(ratios):.2f}, from {min(ratios):.2f} to {max(ratios):.2f}, "
          f"behind on {slower} of {len(ratios)}")


def section(device, kind, matrices, peers):
    print(f"{device}, {kind}; microseconds")
    print(f"{'matrix':26} {'peer':>9} {'by':11} {'auto':>9} {'ratio':>6}  {'chosen':31} {'fastest':>9} {'ratio':>6}  by")
    auto_ratios, best_ratios = [], []
    for matrix, rows in sorted(matrices.items()):
        peer = fastest(peers[matrix, kind])
        auto = [r for r in rows if r["builder"] == "auto"]
        best = fastest(rows)
        line = f"{matrix:26} {peer['us']:9.1f} {peer['variant']:11} "
        if auto:
            chosen = fastest(auto)
            auto_ratios.append(peer["us"] / chosen["us"])
            line += f"{chosen['us']:9.1f} {auto_ratios[-1]:6.2f}  {chosen['plan']:31} "
        else:
            line += f"{'-':>9} {'-':>6}  {'':31} "
        best_ratios.append(peer["us"] / best["us"])
        print(line + f"{best['us']:9.1f} {best_ratios[-1]:6.2f}  {best['plan']}")
    print("peer's time over ours:")
    if auto_ratios:
        summary("auto", auto_ratios)
    summary("fastest plan tried", best_ratios)
    print()


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    ours = [row for path in sys.argv[2:] for row in in_turn(read(path, OUR_KEYS))]
    peers = grouped(read(sys.argv[1], PEER_KEYS), lambda r: (r["matrix"], r["dtype"]))
    places = {}
    for (device, kind, matrix), rows in grouped(ours, where).items():
        if (matrix, kind) in peers:
            places.setdefault((device, kind), {})[matrix] = rows
    for (device, kind), matrices in sorted(places.items()):
        section(device, kind, matrices, peers)
    print(f"products wrong: {sum(map(is_wrong, ours))} of {sum(bool(r['us']) for r in ours)}")


if __name__ == "__main__":
    main()
