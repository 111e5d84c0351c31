#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How much slower the choice is than the best plan: regret.py [--table TABLE --matrices DIR] JSON... prints, for each matrix, device and
type, the time of "auto" divided by that of the best plan of one part, and by that of the best plan of any kind; for "cocktail" the
former. The worst come first. Input: lines of "spmv bench --json". Where plans were timed again side by side, only these times are
compared. prepare: the time of choice, conversion and upload, in products of csr. The exit status is 1 if a product was wrong.

With --table, auto is the plan that build/spmv now chooses by that table for DIR/MATRIX.bin; with --chosen FILE, it is the plan that the
lines in that file have, for example of "measure". Its time is looked up among the times that were measured; a choice that
was not measured is marked with a question mark and left out of the means."""
import argparse
import json
import os
import re
import subprocess
import sys
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor

from rows import fastest, geometric_mean, is_right, is_wrong, read, where

CHOOSERS = ("auto", "cocktail")

# The regret on a matrix: the rows of auto, of the best plan of one part and of the best plan of any kind, and the ratios of their times.
# cocktail_over_single: None if the run had no "cocktail". prepare: the time of choice, conversion and upload, in products of csr
Regret = namedtuple("Regret", "over_single over_best cocktail_over_single prepare auto single best key")


def named(row):
    """The plan, the variant, and who chose it; None if it was requested."""
    return row["plan"], row["variant"], row["builder"] if row["builder"] in CHOOSERS else None


def as_measured(row):
    """On the host, csr in runs with wide columns runs the same code as csr: it counts as csr, measured again."""
    if row["device"] == "host":
        row["plan"] = re.sub(r"csr(:rows=nonempty)?(:|,)run=\d+(?!\d|,idx)", r"csr\1", row["plan"])
    return row


def load(paths):
    """The right rows of each (device, type, matrix), the number of wrong products, and the number of all. A file's rows replace those
    with the same plan and variant from earlier files."""
    groups, wrong, products = {}, 0, 0
    for path in paths:
        for row in map(as_measured, read(path)):
            products += row["us"] is not None
            wrong += is_wrong(row)
            if is_right(row):
                put(groups.setdefault(where(row), []), row, path)
    return groups, wrong, products


def put(rows, row, path):
    row["file"] = path
    same = (i for i, r in enumerate(rows) if named(r) == named(row) and (row.get("again") or r["file"] != path))
    at = next(same, len(rows))
    rows[at:at + 1] = [row]  # the order is kept: the first row of a plan is the one without knobs


def choice(spmv, path, kind, table, chooser="auto"):
    """The plan and the knobs that spmv chooses now."""
    run = subprocess.run([spmv, "plan", path, "--type", kind, "--table", table, "--builder", chooser, "--json"], capture_output=True,
                         text=True, check=False)
    if run.returncode:
        sys.exit(f"{path}: {spmv} plan failed: {run.stderr.strip()}")
    plan = json.loads(run.stdout)
    return plan["plan"], plan["variant"] or ""


def measured(rows, plan, knobs):
    """The row of the plan with these knobs, and the others at their defaults; None if it was not measured."""
    asked = [set(filter(None, part.split(","))) for part in knobs.split("+")]
    found = []
    for row in rows:
        full = [set(part.split(",")) for part in (row["variant"] or "").split("+")]
        if row["plan"] != plan or row["builder"] in CHOOSERS:
            continue
        if not any(asked) and row["variant"] != "host":  # the first row of a plan is the one that was requested without knobs
            return row
        if row["variant"] == "host" or (len(full) == len(asked) and all(a <= f for a, f in zip(asked, full))):
            found.append(row)
    return fastest(found)


def chosen_now(groups, spmv, table, matrices, chooser="auto"):
    """For each group the measured row of the plan that is chosen now, or its text if it was not measured."""
    keys = [k for k in groups if os.path.exists(f"{matrices}/{k[2]}.bin")]
    with ThreadPoolExecutor() as pool:
        chosen = dict(zip(keys, pool.map(lambda k: choice(spmv, f"{matrices}/{k[2]}.bin", k[1], table, chooser), keys)))
    return {k: measured(groups[k], *c) or "/".join(filter(None, c)) for k, c in chosen.items()}


def chosen_there(groups, path):
    """For each group the measured row of the plan that auto chose in that file, or its text if it was not measured."""
    chosen = {}
    for row in read(path):
        rows = groups.get(where(row), [])
        same = [r for r in rows if (r["plan"], r["variant"]) == (row["plan"], row["variant"])]
        if row["us"] and rows:
            chosen[where(row)] = same[0] if same else row["plan"]
    return chosen


def table_of(groups, now):
    """The regrets, worst first, and (key, plan, best single) of the choices that were not measured."""
    table, unknown = [], []
    for key, rows in groups.items():
        csr = [r for r in rows if r["plan"] == "csr"]
        rows = [r for r in rows if r.get("again")] or rows
        of = {b: [r for r in rows if r["builder"] == b] for b in CHOOSERS}
        singles = [r for r in rows if r["builder"] not in of and "+" not in r["plan"]]
        auto = now.get(key) if now is not None else of["auto"][0] if of["auto"] else None
        if not singles or not csr or not auto:
            continue
        single, best = fastest(singles), fastest(rows)
        if isinstance(auto, str):
            unknown.append((key, auto, single))
            continue
        cocktail = of["cocktail"][0]["us"] / single["us"] if of["cocktail"] else None
        table.append(Regret(auto["us"] / single["us"], auto["us"] / best["us"], cocktail, auto["prepare_us"] / csr[0]["us"], auto,
                            single, best, key))
    return sorted(table, key=lambda r: -r.over_single), unknown


def begin():
    """Parses the options, reads the rows, and returns both with the results of table_of."""
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


def line_of(r):
    cocktail = f"{r.cocktail_over_single:6.3f}" if r.cocktail_over_single else f"{'-':>6}"
    return (f"{r.key[2]:28} {r.auto['us']:9.1f} {r.over_single:7.3f} {r.over_best:6.3f} {cocktail} {r.prepare:8.1f}  "
            f"{r.auto['plan']} | {r.single['plan']} {r.single['us']:.1f} | {r.best['plan']} {r.best['us']:.1f}")


def section(table, unknown):
    """The lines of one device and type."""
    print(f"{'matrix':28} {'auto us':>9} {'/single':>7} {'/best':>6} {'cockt.':>6} {'prepare':>8}  auto | best single | best")
    for r in table:
        print(line_of(r))
    for key, plan, single in unknown:
        print(f"{key[2]:28}         ?                                {plan} | {single['plan']} {single['us']:.1f}")
    if not table:
        print("none of the chosen plans was measured\n")
        return
    for what, ratios in (("auto over the best single", [r.over_single for r in table]),
                         ("auto over the best", [r.over_best for r in table]),
                         ("cocktail over the best single", [r.cocktail_over_single for r in table if r.cocktail_over_single])):
        if not ratios:
            continue
        print(f"geometric mean, {what}: {geometric_mean(ratios):.3f}, worst {max(ratios):.3f}, "
              f"over 1.05: {sum(ratio > 1.05 for ratio in ratios)} of {len(ratios)}")
    prepare = sorted(r.prepare for r in table)
    print(f"prepare in products of csr: median {prepare[len(prepare) // 2]:.1f}, worst {prepare[-1]:.1f}\n")


def main():
    args, _, wrong, products, table, unknown = begin()
    by = f"by {args.table}" if args.table else f"in {os.path.basename(args.chosen)}" if args.chosen else ""
    for device, kind in sorted({r.key[:2] for r in table} | {u[0][:2] for u in unknown}):
        print(f"{device}, {kind}" + (f"; auto as it chooses {by}, looked up" if by else ""))
        section([r for r in table if r.key[:2] == (device, kind)], [u for u in unknown if u[0][:2] == (device, kind)])
    print(f"products wrong: {wrong} of {products}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
