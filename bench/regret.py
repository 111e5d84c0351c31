#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What auto costs: regret.py [--table TABLE --matrices DIR] JSON... prints, for each matrix, device and type, the time of "auto" over
that of the best plan of one part and over that of the best plan of any kind, and the same of "cocktail"; worst first. Input: lines of
"spmv bench --json". Where plans were timed again side by side, those times alone are compared. prepare: choice, conversion and
upload, in products of csr. Exit status 1 if a product was wrong.

With --table, auto is what build/spmv would choose now by that table for DIR/MATRIX.bin, and with --chosen what the lines of "auto" in
other files chose (under --refine, say), looked up among the times that were measured; a choice that was not measured is shown with a
question mark and left out of the means."""
import argparse
import json
import math
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def named(row):
    """What was multiplied how, and whether it was asked for or who chose it."""
    return row["plan"], row["variant"], row["builder"] if row["builder"] in ("auto", "cocktail") else None


def load(paths):
    """Rows of each (device, type, matrix) that were right; how many were wrong, of how many. A file's rows take the place of those that
    earlier files have of the same plan and variant."""
    groups, wrong, products = {}, 0, 0
    for path in paths:
        with open(path, encoding="utf-8") as f:
            for line in f:
                row = json.loads(line)
                products += row["us"] is not None
                wrong += row["ok"] is False
                if row["device"] == "host":  # csr in runs with wide columns is the same code there: the same plan, measured again
                    row["plan"] = re.sub(r"csr(:rows=nonempty)?(:|,)run=\d+(?!\d|,idx)", r"csr\1", row["plan"])
                if row["us"] and row["ok"]:
                    rows = groups.setdefault((row["device"], row["type"], row["matrix"]), [])
                    row["file"] = path
                    same = (i for i, r in enumerate(rows) if named(r) == named(row) and (row.get("again") or r["file"] != path))
                    at = next(same, len(rows))
                    rows[at:at + 1] = [row]  # in its place: the first of a plan is the one without knobs
    return groups, wrong, products


def choice(spmv, path, kind, table):
    """Plan and knobs that spmv chooses now."""
    run = subprocess.run([spmv, "plan", path, "--type", kind, "--table", table, "--explain"], capture_output=True, text=True, check=True)
    found = re.search(r"^plan +(\S+?)(?: / (\S+))?: ", run.stdout, re.M)
    return found[1], found[2] or ""


def measured(rows, plan, knobs):
    """The time of the plan with these knobs, others at their defaults, if it was measured."""
    asked = [set(filter(None, part.split(","))) for part in knobs.split("+")]
    found = []
    for row in rows:
        full = [set(part.split(",")) for part in (row["variant"] or "").split("+")]
        if row["plan"] != plan or row["builder"] in ("auto", "cocktail"):
            continue
        if not any(asked) and row["variant"] != "host":  # the first of a plan was asked for without knobs
            return row
        if row["variant"] == "host" or (len(full) == len(asked) and all(a <= f for a, f in zip(asked, full))):
            found.append(row)
    return min(found, key=lambda r: r["us"]) if found else None


def chosen_now(groups, spmv, table, matrices):
    """The measured row of what is chosen now, for each group; a text if there is none."""
    keys = [k for k in groups if os.path.exists(f"{matrices}/{k[2]}.bin")]
    with ThreadPoolExecutor() as pool:
        chosen = dict(zip(keys, pool.map(lambda k: choice(spmv, f"{matrices}/{k[2]}.bin", k[1], table), keys)))
    return {k: measured(groups[k], *c) or "/".join(filter(None, c)) for k, c in chosen.items()}


def chosen_there(groups, path):
    """The row measured here of what auto chose in that file, for each group."""
    chosen = {}
    with open(path, encoding="utf-8") as f:
        for row in map(json.loads, f):
            rows = groups.get((row["device"], row["type"], row["matrix"]), [])
            same = [r for r in rows if (r["plan"], r["variant"]) == (row["plan"], row["variant"])]
            if row["us"] and rows:
                chosen[row["device"], row["type"], row["matrix"]] = same[0] if same else row["plan"]
    return chosen


def table_of(groups, now):
    table, unknown = [], []
    for key, rows in groups.items():
        csr = [r for r in rows if r["plan"] == "csr"]
        rows = [r for r in rows if r.get("again")] or rows
        of = {b: [r for r in rows if r["builder"] == b] for b in ("auto", "cocktail")}
        singles = [r for r in rows if r["builder"] not in of and "+" not in r["plan"]]
        auto = now.get(key) if now is not None else of["auto"][0] if of["auto"] else None
        if not singles or not csr or not auto:
            continue
        single, best = min(singles, key=lambda r: r["us"]), min(rows, key=lambda r: r["us"])
        if isinstance(auto, str):
            unknown.append((key, auto, single))
            continue
        cocktail = of["cocktail"][0] if of["cocktail"] else auto
        table.append((auto["us"] / single["us"], auto["us"] / best["us"], cocktail["us"] / single["us"],
                      auto["prepare_us"] / csr[0]["us"], auto, single, best, key))
    return sorted(table, key=lambda t: -t[0]), unknown


def begin():
    """The options, the rows they name, and what table_of makes of them."""
    ask = argparse.ArgumentParser()
    ask.add_argument("--table")
    ask.add_argument("--chosen")
    ask.add_argument("--matrices", default="build/regret")
    ask.add_argument("--spmv", default="build/spmv")
    ask.add_argument("json", nargs="+")
    args = ask.parse_args()
    groups, wrong, products = load(args.json)
    now = chosen_now(groups, args.spmv, args.table, args.matrices) if args.table else None
    if args.chosen:
        now = chosen_there(groups, args.chosen)
    return args, groups, wrong, products, *table_of(groups, now)


def main():
    args, _, wrong, products, table, unknown = begin()
    for device, kind in sorted({t[-1][:2] for t in table}):
        by = f"by {args.table}" if args.table else f"in {os.path.basename(args.chosen)}" if args.chosen else ""
        print(f"{device}, {kind}" + (f"; auto as it chooses {by}, looked up" if by else ""))
        print(f"{'matrix':28} {'auto us':>9} {'/single':>7} {'/best':>6} {'cockt.':>6} {'prepare':>8}  auto | best single | best")
        mine = [t for t in table if t[-1][:2] == (device, kind)]
        for single_ratio, best_ratio, cocktail_ratio, prepare, auto, single, best, key in mine:
            print(f"{key[2]:28} {auto['us']:9.1f} {single_ratio:7.3f} {best_ratio:6.3f} {cocktail_ratio:6.3f} {prepare:8.1f}  "
                  f"{auto['plan']} | {single['plan']} {single['us']:.1f} | {best['plan']} {best['us']:.1f}")
        for key, plan, single in unknown:
            if key[:2] == (device, kind):
                print(f"{key[2]:28}         ?                                {plan} | {single['plan']} {single['us']:.1f}")
        for what, column in (("auto over the best single", 0), ("auto over the best", 1), ("cocktail over the best single", 2)):
            print(f"geometric mean, {what}: {mean([t[column] for t in mine]):.3f}, worst {max(t[column] for t in mine):.3f}, "
                  f"over 1.05: {sum(t[column] > 1.05 for t in mine)} of {len(mine)}")
        prepare = sorted(t[3] for t in mine)
        print(f"prepare in products of csr: median {prepare[len(prepare) // 2]:.1f}, worst {prepare[-1]:.1f}\n")
    print(f"products wrong: {wrong} of {products}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
