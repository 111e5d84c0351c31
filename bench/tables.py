#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Repeats clSpMV's Tables 2 and 4: tables.py [--table TABLE --matrices DIR] JSON... prints, for each device and type, the GFLOP/s of HYB,
of the best single format, and of the plan that auto chooses, with the shares of its parts, beside the paper's figures for a GTX 480
(Table 2) and a Radeon 6970 (Table 4). Input and options are those of regret.py; DIR/MATRIX.bin is read for the shares."""
import os
import subprocess
import sys

import regret
from rows import mean

# Our name; GFLOP/s of Table 2: NVIDIA's HYB, the best single format, clSpMV; of Table 4: the best single format, clSpMV
PAPER = [
    ("dense", 8.38, 54.08, 53.05, 46.85, 41.85), ("protein", 15, 35.84, 35.86, 29.91, 30.99),
    ("spheres", 25.11, 34.44, 34.52, 31.85, 31.44), ("cantilever", 19.06, 35.03, 35.10, 33.72, 35.93),
    ("wind_tunnel", 25.07, 42.94, 42.94, 35.23, 34.51), ("harbor", 11.67, 27.17, 27.21, 22.29, 22.20),
    ("qcd", 25.05, 30.93, 29.88, 24.84, 25.01), ("ship", 19.11, 40.59, 40.73, 33.75, 34.43),
    ("economics", 7.61, 7.32, 10.59, 4.87, 9.04), ("epidemiology", 24.02, 25.36, 26.55, 22.51, 22.58),
    ("accelerator", 9.35, 16.29, 15.25, 15.83, 15.51), ("circuit", 7.35, 7.72, 11.40, 3.06, 8.40),
    ("webbase", 9.74, 7.30, 12.77, 3.26, 6.42), ("lp", 8.89, 12.99, 12.98, 10.03, 9.50),
    ("circuit5m", 12.81, 9.02, 17.07, 3.21, 8.06), ("eu-2005", 12.14, 11.84, 16.03, 3.01, 8.19),
    ("ga41as41h72", 13.28, 16.11, 16.80, 4.70, 6.93), ("in-2004", 10.53, 12.04, 16.87, 3.04, 7.42),
    ("mip1", 10.8, 18.92, 19.00, 8.27, 8.28), ("si41ge41h72", 12, 17.68, 18.77, 10.81, 11.10),
]
IRREGULAR = ("circuit5m", "eu-2005", "ga41as41h72", "in-2004", "mip1", "si41ge41h72")


def shares(spmv, path, plan):
    """The shares of the plan's parts in the paper's notation; only their formats if the matrix is missing."""
    if "+" not in plan or not os.path.exists(path):
        return "+".join(p.split(":")[0].upper() for p in plan.split("+"))
    run = subprocess.run([spmv, "plan", path, "--builder", plan], capture_output=True, text=True, check=True)
    return next(line.split()[1] for line in run.stdout.splitlines() if line.startswith("shares"))


def section(args, found, groups, device, kind):
    """Prints the lines of one device and type, and the means of their ratios."""
    print(f"{device}, {kind}" + (f"; auto as it chooses by {args.table}, looked up" if args.table else ""))
    print(f"{'':13} {'GFLOP/s':>8} {'best':>8} {'':24} {'':>8} {'auto over best single':>10}  {'Table 2':>8} {'Table 4':>8}")
    print(f"{'matrix':13} {'HYB':>8} {'single':>8} {'format':24} {'auto':>8} {'ours':>21}  {'paper':>8} {'paper':>8}  shares")
    ratios = {"ours": [], "irregular": [], "t2": [], "t4": [], "hyb": []}
    for name, _, single2, cl2, single4, cl4 in PAPER:
        key = (device, kind, "clspmv_" + name)
        if key not in found:
            print(f"{name:13} {'-':>8}")
            continue
        auto, single = found[key].auto, found[key].single
        hyb = next((r for r in groups[key] if r["builder"] == "hyb"), None)
        ratio = auto["gflops"] / single["gflops"]
        ratios["ours"].append(ratio)
        ratios["t2"].append(cl2 / single2)
        ratios["t4"].append(cl4 / single4)
        if name in IRREGULAR:
            ratios["irregular"].append(ratio)
        if hyb:
            ratios["hyb"].append(auto["gflops"] / hyb["gflops"])
        part = shares(args.spmv, f"{args.matrices}/{key[2]}.bin", auto["plan"])
        print(f"{name:13} {hyb['gflops'] if hyb else float('nan'):8.2f} {single['gflops']:8.2f} {single['plan'][:24]:24} "
              f"{auto['gflops']:8.2f} {ratio:21.3f}  {cl2 / single2:8.3f} {cl4 / single4:8.3f}  {part}")
    means = {k: mean(v) for k, v in ratios.items()}
    print(f"means over {len(ratios['ours'])}: auto over the best single {means['ours']:.3f} "
          f"(paper, the same matrices: {means['t2']:.3f} and {means['t4']:.3f}); "
          f"the irregular six, {len(ratios['irregular'])} of them: {means['irregular']:.3f}; auto over HYB {means['hyb']:.3f}\n")


def main():
    args, groups, wrong, products, table, _ = regret.begin()
    found = {r.key: r for r in table}
    for device, kind in sorted({key[:2] for key in found}):
        section(args, found, groups, device, kind)
    print(f"products wrong: {wrong} of {products}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
