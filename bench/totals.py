#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a table of what bench/totals.sh measured: totals.py FOLDER.

FOLDER has head.txt, cold.json (for each matrix and type a row of "auto" in a process that finds no programs, and one of the same matrix
again), disk.json (in a process that finds what NVRTC kept of an earlier one), kept.json (in a process that finds the programs of an
earlier one) and cuSPARSE.json. The peer's total counts copying the matrix
from pageable memory; its fastest variant for so many products counts, of those whose copy was timed (csr and coo)."""
import os
import sys
from statistics import median

from rows import OUR_KEYS, PEER_KEYS, geometric_mean, grouped, read

COUNTS = ("100", "1000", "10000")
RUNS = ("cold", "disk", "kept", "again")
PHASES = ("analysis_us", "conversion_us", "upload_us", "building_us")
KEYS = OUR_KEYS + PHASES + ("prepare_us", "total_us", "memory", "device_memory")
EXPLAINED = """Milliseconds from arrays on the host until the 1,000th product is done: cold, in a process that finds no programs and for which
NVRTC's cache on the disk is switched off; disk, in one that finds in that cache what an earlier process compiled; kept, in one that finds
the programs that an earlier process kept; again, a second matrix of the same plan in one process; peer, cuSPARSE's best
with its copy. Ratios are the peer's time divided by ours for that many products (above 1: ours is faster). prepare consists
of analysis, conversion, upload and building kernels. host and dev: the most memory while preparing, on the host with the CSR
form and on the device, in multiples of it."""


def key(row):
    return row["matrix"], row["type"]


def peer_totals(path):
    """{(matrix, type): {count: microseconds}} of the fastest variant whose copy was timed."""
    totals = {}
    if os.path.exists(path):
        for row in read(path, PEER_KEYS):
            for count, us in row.get("total_us", {}).items():
                best = totals.setdefault((row["matrix"], row["dtype"]), {})
                best[count] = min(best.get(count, us), us)
    return totals


def phases(rows):
    print(f"{'matrix':24} {'type':4} {'run':6} {'prepare':>8} {'analys':>7} {'convert':>7} {'upload':>7} {'build':>7} {'us':>8} "
          f"{'host':>5} {'dev':>5}  plan")
    for (matrix, kind), runs in rows.items():
        for run, r in runs.items():
            parts = " ".join(f"{r[p] / 1e3:7.2f}" for p in PHASES)
            print(f"{matrix:24} {kind:4} {run:6} {r['prepare_us'] / 1e3:8.2f} {parts} {r['us']:8.2f} {r['memory']:5.2f} "
                  f"{r['device_memory']:5.2f}  {r['plan']}")
    print()


def totals(rows, peers):
    ratios = {}
    print(f"{'matrix':24} {'type':4} {'peer':>9} " + " ".join(f"{run:>9}" for run in RUNS) + "   ratios for " +
          "   ".join(f"{int(c):,}: {' '.join(RUNS)}" for c in COUNTS))
    for (matrix, kind), runs in rows.items():
        peer = peers.get((matrix, kind))
        line = f"{matrix:24} {kind:4} " + (f"{peer['1000'] / 1e3:9.2f}" if peer else f"{'-':>9}")
        for run in RUNS:
            line += f" {runs[run]['total_us']['1000'] / 1e3:9.2f}" if run in runs else f" {'-':>9}"
        for count in COUNTS if peer else ():
            line += "  "
            for run in RUNS:
                ratio = peer[count] / runs[run]["total_us"][count] if run in runs else float("nan")
                line += f" {ratio:5.2f}"
                if run in runs:
                    ratios.setdefault((kind, count, run), []).append(ratio)
        print(line)
    print()
    for (kind, count, run), all_of in sorted(ratios.items(), key=lambda r: (r[0][0], int(r[0][1]))):
        print(f"{kind}, {int(count):6,} products, {run:5}: median {median(all_of):.2f}, geometric mean {geometric_mean(all_of):.2f}, "
              f"from {min(all_of):.2f} to {max(all_of):.2f}, behind on {sum(r < 1 for r in all_of)} of {len(all_of)}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    rows = {}
    for name, runs in (("cold.json", ("cold", "again")), ("disk.json", ("disk",)), ("kept.json", ("kept",))):
        for matrix, same in grouped(read(os.path.join(folder, name), KEYS), key).items():
            rows.setdefault(matrix, {}).update(zip(runs, same))
    with open(os.path.join(folder, "head.txt"), encoding="utf-8") as f:
        print(f.read() + EXPLAINED + "\n")
    phases(rows)
    totals(rows, peer_totals(os.path.join(folder, "cuSPARSE.json")))


if __name__ == "__main__":
    main()
