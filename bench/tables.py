#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Repeats tables of the papers on clSpMV, HYB-R and CMRS: tables.py [--table TABLE --matrices DIR] JSON... prints, for each device and
type, first those of clSpMV (Su, Keutzer 2012, Tables 2 to 4), the GFLOP/s of

    HYB          ell and coo, by the builder hyb; "-" where that makes a part of one format alone, which counts as that format
    best NV      the fastest of the five formats of Bell and Garland: dia, ell, csr, coo and HYB
    best single  the fastest of the paper's nine formats, with its block sizes and heights of slices, for the whole matrix
    cocktail     the plan by the paper's policies, with the shares of its parts
    auto         the plan that the library chooses by itself, from more formats and layouts than the paper's

and then what cocktail and auto gain over the others, beside what the paper gains on a GTX 480 (Table 3) and on a Radeon 6970 (Table 4),
computed from its Tables 2 and 4. Then follow Tables V and VI of Xu et al. 2012, what HYB-R gains over HYB if the matrix is divided twice,
as they do, and as often as pays by their rule; and Table 2 of Koza et al. 2013, the GFLOP/s of CMRS as they count them, (2 nnz - rows) / t,
and its speed-up over CSR, HYB and their vector and scalar kernels of CSR, which are csr with 32 lanes and with one.

Input: lines of "spmv bench --json" with the plans of "bench/candidates.sh CLASS paper", as bench/papers.sh writes them. DIR/MATRIX.bin is
read for the shares of the parts. With --table, auto and cocktail are the plans that build/spmv now chooses by that table; their times are
looked up among those that were measured, and a plan that was not measured is printed without a time. The exit status is 1 if a product
was wrong."""
import argparse
import os
import re
import subprocess
import sys

import regret
from rows import fastest, geometric_mean, mean

# Our name; GFLOP/s of Table 2: NVIDIA's HYB, best NV, best single format, clSpMV; of Table 4: best single format, clSpMV
PAPER = [
    ("dense", 8.38, 32.63, 54.08, 53.05, 46.85, 41.85), ("protein", 15, 23.17, 35.84, 35.86, 29.91, 30.99),
    ("spheres", 25.11, 25.11, 34.44, 34.52, 31.85, 31.44), ("cantilever", 19.06, 34.9, 35.03, 35.10, 33.72, 35.93),
    ("wind_tunnel", 25.07, 25.07, 42.94, 42.94, 35.23, 34.51), ("harbor", 11.67, 13.83, 27.17, 27.21, 22.29, 22.20),
    ("qcd", 25.05, 25.09, 30.93, 29.88, 24.84, 25.01), ("ship", 19.11, 19.11, 40.59, 40.73, 33.75, 34.43),
    ("economics", 7.61, 7.61, 7.32, 10.59, 4.87, 9.04), ("epidemiology", 24.02, 24.02, 25.36, 26.55, 22.51, 22.58),
    ("accelerator", 9.35, 9.35, 16.29, 15.25, 15.83, 15.51), ("circuit", 7.35, 7.35, 7.72, 11.40, 3.06, 8.40),
    ("webbase", 9.74, 9.74, 7.30, 12.77, 3.26, 6.42), ("lp", 8.89, 12.78, 12.99, 12.98, 10.03, 9.50),
    ("circuit5m", 12.81, 12.81, 9.02, 17.07, 3.21, 8.06), ("eu-2005", 12.14, 12.14, 11.84, 16.03, 3.01, 8.19),
    ("ga41as41h72", 13.28, 16.11, 16.11, 16.80, 4.70, 6.93), ("in-2004", 10.53, 10.53, 12.04, 16.87, 3.04, 7.42),
    ("mip1", 10.8, 18.92, 18.92, 19.00, 8.27, 8.28), ("si41ge41h72", 12, 17.68, 17.68, 18.77, 10.81, 11.10),
]
# Our name; percent by which HYB-R is faster than HYB on a GeForce 9800 GX2 (Table V) and on a GTX 295 (Table VI), each without and with
# a cache for x. Matrices of which the paper has the explicit zeros have its prefix.
HYBR = [
    ("clspmv_cantilever", 0, 0, 0, 0), ("clspmv_spheres", 0, 0, 0, 0), ("clspmv_accelerator", 5.7, 7.7, 0.5, -2.5),
    ("clspmv_economics", 6.0, 13.8, 5.5, 3.7), ("clspmv_epidemiology", 0, 0, 0, 0), ("clspmv_protein", 1.2, 4.0, 0.9, 3.1),
    ("clspmv_wind_tunnel", 0.4, 2.5, 0.2, -2.6), ("clspmv_qcd", 0, 0, 0, 0), ("clspmv_lp", 0, 0, 0, 0),
    ("hybr_harbor", 0.9, 14.4, 0.4, 7.5), ("clspmv_circuit", 8.7, 13.3, 13.5, 4.5), ("hybr_ship", 2.0, 13.0, 12.7, 16.5),
    ("clspmv_webbase", 5.9, 14.5, 6.0, 9.2),
]
# Our name; GFLOP/s of CMRS on a GTX 480, and its speed-up over cuSPARSE's CRS and HYB and over the vector and the scalar kernel
CMRS = [
    ("koza_p7", 0.9, 0.7, 0.6, 4.7, 0.7), ("koza_asia_osm", 2.7, 0.6, 0.3, 4.3, 0.3), ("clspmv_webbase", 3.5, 0.8, 0.4, 3.8, 1.4),
    ("koza_lp1", 0.8, 11.9, 0.1, 1.0, 12.5), ("clspmv_epidemiology", 5.1, 0.7, 0.3, 4.3, 0.4), ("koza_aorta", 4.1, 1.0, 1.0, 2.9, 1.0),
    ("clspmv_economics", 5.9, 1.3, 0.8, 3.4, 0.9), ("clspmv_circuit", 5.5, 1.2, 0.6, 3.7, 0.9), ("koza_cage15", 13.5, 2.2, None, 2.1, 2.9),
    ("clspmv_accelerator", 11.6, 2.0, 1.0, 1.9, 3.7), ("clspmv_ship", 13.8, 2.1, 1.1, 2.1, 3.1), ("clspmv_qcd", 16.4, 2.0, 0.8, 1.7, 4.9),
    ("hybr_harbor", 16.6, 1.6, 1.4, 1.5, 4.1), ("clspmv_wind_tunnel", 20.5, 1.9, 0.9, 1.6, 6.1),
    ("clspmv_cantilever", 19.0, 1.6, 1.0, 1.4, 4.9), ("koza_raefsky3", 18.7, 1.5, 0.9, 1.3, 4.8),
    ("clspmv_spheres", 19.3, 1.5, 0.9, 1.4, 5.0), ("koza_chebyshev4", 6.3, 1.2, 0.7, 0.6, 12.2),
    ("clspmv_protein", 21.1, 1.3, 1.3, 1.2, 5.4), ("koza_tsopf_rs_b2383", 24.5, 1.2, 3.2, 1.1, 6.5),
    ("clspmv_lp", 9.7, 1.4, 1.3, 0.9, 11.4), ("koza_dense10000", 25.8, 1.1, None, 1.0, 6.3),
]
NV = ("dia", "ell", "csr", "coo")
SINGLE = re.compile(r"(dia|bdia|ell|csr|coo|sell(:h=(32|64|128|256))?|(sbell|bell|bcsr)(:b=(1|2|4|8)x(4|8))?)$")


def shares(spmv, path, plan):
    """The shares of the plan's parts in the paper's notation; only their formats if the matrix is missing."""
    if "+" not in plan or not os.path.exists(path):
        return "+".join(p.split(":")[0].upper() for p in plan.split("+"))
    run = subprocess.run([spmv, "plan", path, "--builder", plan], capture_output=True, text=True, check=True)
    return next(line.split()[1] for line in run.stdout.splitlines() if line.startswith("shares"))


class Entry:
    """What was measured for one matrix: the fastest row of each column, or None. Rows with the same plan and variant are the same product,
    whoever chose it, so the fastest of them counts for all."""

    def __init__(self, rows, chosen):
        self.hyb = self.again(rows, fastest([r for r in rows if r["builder"] == "hyb"]))
        single = [r for r in rows if SINGLE.match(r["plan"])]
        self.nv = fastest([r for r in single if r["plan"] in NV] + [self.hyb] * bool(self.hyb))
        self.single = fastest(single)
        self.auto, self.cocktail = (self.pick(rows, chosen, c) for c in ("auto", "cocktail"))

    @staticmethod
    def pick(rows, chosen, chooser):
        """The row of a choice: of the run, or of the plan that is chosen now."""
        row = chosen[chooser] if chooser in chosen else fastest([r for r in rows if r["builder"] == chooser])
        return {"plan": row.partition("/")[0], "gflops": None} if isinstance(row, str) else Entry.again(rows, row)

    @staticmethod
    def again(rows, row):
        """The fastest row with the same plan and variant."""
        if not row:
            return None
        same = [r for r in rows if (r["plan"], r["variant"]) == (row["plan"], row["variant"])]
        return {**fastest(same), "builder": row["builder"]}


def gflops(row):
    return f"{row['gflops']:8.2f}" if row and row["gflops"] else f"{'-':>8}"


def format_of(row):
    return "-" if not row else "hyb" if "+" in row["plan"] else row["plan"]


def gain(row, over):
    """By how many percent a row is faster; None if one of them was not measured."""
    return (row["gflops"] / over["gflops"] - 1) * 100 if row and over and row["gflops"] and over["gflops"] else None


def percent(v):
    return f"{'-':>9}" if v is None else f"{v:8.1f}%"


def table_2(args, entries):
    """Prints GFLOP/s and formats."""
    print(f"Table 2, GFLOP/s\n{'matrix':13} {'HYB':>8} {'best NV':>8} {'format':6} {'best single':>12} {'format':12} {'cocktail':>8} "
          f"{'auto':>8}  cocktail's plan | auto's")
    for name, e in entries.items():
        path = f"{args.matrices}/clspmv_{name}.bin"
        plans = [f"{shares(args.spmv, path, r['plan'])} {r['plan']}" if r else "-" for r in (e.cocktail, e.auto)]
        print(f"{name:13} {gflops(e.hyb)} {gflops(e.nv)} {format_of(e.nv):6} {gflops(e.single):>12} {format_of(e.single):12} "
              f"{gflops(e.cocktail)} {gflops(e.auto)}  {plans[0]} | {plans[1]}")


def table_3(entries):
    """Prints the improvements, beside the paper's, and their means."""
    heads = ("cocktail", "cocktail", "cocktail", "auto", "auto", "paper 3", "paper 3", "paper 3", "paper 4")
    over = ("HYB", "best NV", "single", "single", "cocktail", "HYB", "best NV", "single", "single")
    print(f"\nTables 3 and 4, improvement\n{'':13} " + " ".join(f"{h:>9}" for h in heads))
    print(f"{'over':13} " + " ".join(f"{h:>9}" for h in over))
    columns = [[] for _ in heads]
    for name, hyb2, nv2, single2, cl2, single4, cl4 in PAPER:
        if name not in entries:
            continue
        e = entries[name]
        gains = [gain(e.cocktail, e.hyb), gain(e.cocktail, e.nv), gain(e.cocktail, e.single), gain(e.auto, e.single),
                 gain(e.auto, e.cocktail)] + [(cl2 / b - 1) * 100 for b in (hyb2, nv2, single2)] + [(cl4 / single4 - 1) * 100]
        for column, g in zip(columns, gains):
            column += [] if g is None else [g]
        print(f"{name:13} " + " ".join(map(percent, gains)))
    print(f"{'mean':13} " + " ".join(percent(mean(c) if c else None) for c in columns))
    print(f"{'geometric':13} " + " ".join(percent((geometric_mean([1 + g / 100 for g in c]) - 1) * 100 if c else None) for c in columns))


def built(rows, *builders):
    """The fastest row of these builders, or of the same product."""
    return Entry.again(rows, fastest([r for r in rows if r["builder"] in builders]))


def table_hybr(groups, device, kind):
    """Prints what HYB-R gains over HYB, where both were measured."""
    lines = []
    for name, *paper in HYBR:
        rows = groups.get((device, kind, name), [])
        hyb, twice, often = (built(rows, b) for b in ("hyb", "hybr:levels=2", "hybr"))
        if hyb and twice and often:
            lines.append((name, hyb, [gain(twice, hyb), gain(often, hyb), *paper]))
    if not lines:
        return
    heads = ("twice", "by rule", "V", "V, cache", "VI", "VI, cache")
    print(f"\nHYB-R, Tables V and VI, improvement over HYB\n{'matrix':20} {'HYB':>8} " + " ".join(f"{h:>9}" for h in heads))
    for name, hyb, gains in lines:
        print(f"{name:20} {gflops(hyb)} " + " ".join(map(percent, gains)))
    print(f"{'mean':20} {'':8} " + " ".join(percent(mean(column)) for column in zip(*(g for _, _, g in lines))))


def lanes(row):
    """The lanes that share a row, by the variant; None on the host."""
    found = re.search(r"\bL=(\d+)", row["variant"] or "")
    return int(found.group(1)) if found else None


def table_cmrs(groups, device, kind):
    """Prints the speed of CMRS and what it gains over other formats and kernels, where it was measured."""
    def number(v):
        return f"{'-':>7}" if v is None else f"{v:7.2f}"
    lines = []
    for name, *paper in CMRS:
        rows = groups.get((device, kind, name), [])
        csr = [r for r in rows if r["plan"] == "csr"]
        cmrs = fastest([r for r in rows if re.match(r"cmrs(:h=\d+)?$", r["plan"])])
        others = [fastest(csr), built(rows, "hyb"), *(fastest([r for r in csr if lanes(r) == n]) for n in (32, 1))]
        if cmrs:
            count = 1 - cmrs["rows"] / (2 * cmrs["nnz"]) if "nnz" in cmrs else 1  # of two operations a nonzero
            lines.append((name, cmrs, [cmrs["gflops"] * count, *(o and o["us"] / cmrs["us"] for o in others)], paper))
    if not lines:
        return
    heads = ("GFLOP/s", "csr", "HYB", "vector", "scalar")
    print(f"\nCMRS, Table 2, GFLOP/s and speed-up over\n{'':20} {'':9}" + f" {'ours':>7}" + " " * 32 + " |" + f" {'paper':>7}")
    print(f"{'matrix':20} {'plan':9} " + " | ".join(" ".join(f"{h:>7}" for h in heads) for _ in range(2)))
    for name, cmrs, ours, paper in lines:
        print(f"{name:20} {cmrs['plan']:9} " + " ".join(map(number, ours)) + " | " + " ".join(map(number, paper)))


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--table")
    ask.add_argument("--matrices", default="build/regret")
    ask.add_argument("--spmv", default="build/spmv")
    ask.add_argument("json", nargs="+")
    args = ask.parse_args()
    groups, wrong, products = regret.load(args.json)
    names = {"clspmv_" + row[0]: row[0] for row in PAPER}
    known = {*names, *(line[0] for line in HYBR + CMRS)}
    groups = {k: rows for k, rows in groups.items() if k[2] in known}
    now = {c: regret.chosen_now(groups, args.spmv, args.table, args.matrices, c) for c in regret.CHOOSERS} if args.table else {}
    for device, kind in sorted({key[:2] for key in groups}):
        found = {names[k[2]]: Entry(rows, {c: now[c][k] for c in now if k in now[c]})
                 for k, rows in groups.items() if k[:2] == (device, kind) and k[2] in names}
        entries = {row[0]: found[row[0]] for row in PAPER if row[0] in found}
        print(f"{device}, {kind}: {len(entries)} of the paper's {len(PAPER)} matrices"
              + (f"; cocktail and auto as chosen by {args.table}, their times looked up" if args.table else ""))
        table_2(args, entries)
        table_3(entries)
        table_hybr(groups, device, kind)
        table_cmrs(groups, device, kind)
        print()
    print(f"products wrong: {wrong} of {products}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
