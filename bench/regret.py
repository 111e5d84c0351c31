#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What auto costs: regret.py JSON... prints, for each matrix, device and type, the time of "auto" over that of the best plan of one
part and over that of the best plan of any kind, and the same of "cocktail"; worst first. Input: lines of "spmv bench --json".
prepare: choice, conversion and upload, in products of csr. Exit status 1 if a product was wrong."""
import json
import math
import sys


def name(row):
    return (row["plan"] + ("/" + row["variant"] if row["variant"] not in (None, "host") and row["builder"] in ("auto",) else ""))[:60]


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def main():
    groups, wrong, products = {}, 0, 0
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as f:
            for line in f:
                row = json.loads(line)
                products += row["us"] is not None
                wrong += row["ok"] is False
                if row["us"] and row["ok"]:
                    groups.setdefault((row["device"], row["type"], row["matrix"]), []).append(row)
    table = []
    for key, rows in groups.items():
        chosen = {b: [r for r in rows if r["builder"] == b] for b in ("auto", "cocktail")}
        singles = [r for r in rows if r["builder"] not in chosen and "+" not in r["plan"]]
        csr = [r for r in rows if r["plan"] == "csr"]
        if not singles or not chosen["auto"] or not csr:
            continue
        auto = chosen["auto"][0]
        cocktail = chosen["cocktail"][0] if chosen["cocktail"] else auto
        single, best = min(singles, key=lambda r: r["us"]), min(rows, key=lambda r: r["us"])
        table.append((auto["us"] / single["us"], auto["us"] / best["us"], cocktail["us"] / single["us"],
                      auto["prepare_us"] / csr[0]["us"], auto, single, best, key))
    table.sort(key=lambda t: -t[0])
    device = None
    for device, kind in sorted({(t[-1][0], t[-1][1]) for t in table}):
        print(f"{device}, {kind}")
        print(f"{'matrix':28} {'auto us':>9} {'/single':>7} {'/best':>6} {'cockt.':>6} {'prepare':>8}  auto | best single | best")
        mine = [t for t in table if t[-1][:2] == (device, kind)]
        for single_ratio, best_ratio, cocktail_ratio, prepare, auto, single, best, key in mine:
            print(f"{key[2]:28} {auto['us']:9.1f} {single_ratio:7.3f} {best_ratio:6.3f} {cocktail_ratio:6.3f} {prepare:8.1f}  "
                  f"{auto['plan']} | {single['plan']} {single['us']:.1f} | {best['plan']} {best['us']:.1f}")
        for what, column in (("auto over the best single", 0), ("auto over the best", 1), ("cocktail over the best single", 2)):
            print(f"geometric mean, {what}: {mean([t[column] for t in mine]):.3f}, worst {max(t[column] for t in mine):.3f}, "
                  f"over 1.05: {sum(t[column] > 1.05 for t in mine)} of {len(mine)}")
        prepare = sorted(t[3] for t in mine)
        print(f"prepare in products of csr: median {prepare[len(prepare) // 2]:.1f}, worst {prepare[-1]:.1f}\n")
    print(f"products wrong: {wrong} of {products}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
