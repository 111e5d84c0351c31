#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How good the estimates are: predicted.py --table TABLE [--matrices DIR] JSON... prints, for each plan of one part that was measured, the
microseconds that build/spmv predicts by TABLE for DIR/MATRIX.bin, those measured, and their ratio, the worst first; then for each device
and type how many ratios lie between 0.8 and 1.25, and their geometric mean. Input: lines of "spmv bench --json"; of the lines with one plan
the fastest counts, because the prediction is for the best knobs. Matrices that DIR lacks are left out. The exit status is 1 if by the table
of a GPU some prediction is below what the bytes or the longest row of the part alone are predicted to take."""
import argparse
import json
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from rows import fastest, geometric_mean, grouped, read, where

LOW, HIGH = 0.8, 1.25  # a good prediction over the measured time


def estimate(spmv, table, path, kind, plan):
    """The prediction of the only part of a plan, or None if there is none."""
    run = subprocess.run([spmv, "plan", path, "--type", kind, "--table", table, "--builder", plan, "--json"], capture_output=True,
                         text=True, check=False)
    part = json.loads(run.stdout)["parts"] if run.returncode == 0 else []
    return part[0] if len(part) == 1 and part[0]["predicted_us"] else None


def is_below(part):
    """Whether the prediction is below one of its floors."""
    return any((part[floor] or 0) > part["predicted_us"] for floor in ("memory_us", "chain_us"))


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("--table", required=True)
    ask.add_argument("--matrices", default="build/regret")
    ask.add_argument("--spmv", default="build/spmv")
    ask.add_argument("json", nargs="+")
    args = ask.parse_args()
    plans = grouped((r for path in args.json for r in read(path) if "+" not in r["plan"]), lambda r: (*where(r), r["plan"]))
    plans = {k: fastest(rows)["us"] for k, rows in plans.items() if os.path.exists(f"{args.matrices}/{k[2]}.bin")}
    with ThreadPoolExecutor() as pool:
        parts = pool.map(lambda k: estimate(args.spmv, args.table, f"{args.matrices}/{k[2]}.bin", k[1], k[3]), plans)
    found = [(k, part, plans[k]) for k, part in zip(plans, parts) if part]
    for device, kind in sorted({k[:2] for k, _, _ in found}):
        here = [(part["predicted_us"] / us, k, part["predicted_us"], us) for k, part, us in found if k[:2] == (device, kind)]
        print(f"{device}, {kind}; microseconds\n{'matrix':28} {'plan':28} {'predicted':>9} {'measured':>9} {'ratio':>6}")
        for ratio, k, predicted, us in sorted(here, key=lambda h: -abs(math.log(h[0]))):
            print(f"{k[2]:28} {k[3]:28} {predicted:9.1f} {us:9.1f} {ratio:6.2f}")
        ratios = [h[0] for h in here]
        print(f"predicted over measured: geometric mean {geometric_mean(ratios):.3f}, least {min(ratios):.2f}, largest {max(ratios):.2f}, "
              f"{LOW} to {HIGH}: {sum(LOW <= r <= HIGH for r in ratios)} of {len(ratios)}\n")
    with open(args.table, encoding="ascii") as table:
        gpu = any(line.split()[:2] == ["class", "gpu"] for line in table)
    below = sum(gpu and is_below(part) for _, part, _ in found)
    print(f"plans without a prediction: {len(plans) - len(found)}")
    if gpu:
        print(f"predictions below a floor: {below} of {len(found)}")
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
