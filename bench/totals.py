#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a table of what bench/totals.sh measured: totals.py FOLDER.

Of a GPU, FOLDER has head.txt, cold.json (for each matrix and type a row of "auto" in a process that finds no programs, and one of the same
matrix again), disk.json (in a process that finds what NVRTC kept of an earlier one), kept.json (in a process that finds the programs of an
earlier one) and cuSPARSE.json. The peer's total counts copying the matrix from pageable memory; its fastest variant for so many products
counts, of those whose copy was timed (csr and coo).

Of a host, FOLDER has head.txt, and of each round ours-N.json (for each matrix, type and number of products some rows of "auto" in one
process) and peers-N.json."""
import glob
import os
import sys
from statistics import median

from rows import OUR_KEYS, PEER_KEYS, geometric_mean, grouped, read

COUNTS = ("100", "1000", "10000")
RUNS = ("cold", "disk", "kept", "again")
HOST_RUNS = ("cold", "again")
HOST_TOTALS = {"cold": "first_total_us", "again": "total_us"}  # a peer's, for each run
PHASES = ("analysis_us", "conversion_us", "upload_us", "building_us")
KEYS = OUR_KEYS + PHASES + ("prepare_us", "total_us", "memory", "device_memory")
HOST_PEER_KEYS = PEER_KEYS + ("prepare_us", "first_us", "total_us", "first_total_us")
EXPLAINED = """Milliseconds from arrays on the host until the 1,000th product is done: cold, in a process that finds no programs and for
which NVRTC's cache on the disk is switched off; disk, in one that finds in that cache what an earlier process compiled; kept, in one that
finds the programs that an earlier process kept; again, a second matrix of the same plan in one process; peer, cuSPARSE's best
with its copy. Ratios are the peer's time divided by ours for that many products (above 1: ours is faster). prepare consists
of analysis, conversion, upload and building kernels. host and dev: the most memory while preparing, on the host with the CSR
form and on the device, in multiples of it."""
HOST_EXPLAINED = """Milliseconds from CSR in memory until that many products are done, by "auto", which is told to expect so many: cold, the
first preparation in a process, whose memory is new and which first loads what it needs; again, the median of later ones there, after the
one before was freed. The peers are timed alike, each in a process of its own: librsb after its tuning (librsb) and without (rsb_raw), MKL
after its hints and mkl_sparse_optimize (mkl) and with a handle only (mkl_csr); the plain loop and Eigen need no preparation. peer is the
least total of all. Ratios are the peer's time divided by ours for that many products (above 1: ours is faster). prepare consists of
analysis, which includes timing products of csr and other plans, and conversion. us is a product, in microseconds; host, the most memory
while preparing with the CSR form, in multiples of it."""


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
    summaries(ratios)


def summaries(ratios):
    """The closing lines, of ratios by (type, count, run)."""
    for (kind, count, run), all_of in sorted(ratios.items(), key=lambda r: (r[0][0], int(r[0][1]))):
        print(f"{kind}, {int(count):6,} products, {run:5}: median {median(all_of):.2f}, geometric mean {geometric_mean(all_of):.2f}, "
              f"from {min(all_of):.2f} to {max(all_of):.2f}, behind on {sum(r < 1 for r in all_of)} of {len(all_of)}")


def gpu(folder):
    rows = {}
    for name, runs in (("cold.json", ("cold", "again")), ("disk.json", ("disk",)), ("kept.json", ("kept",))):
        for matrix, same in grouped(read(os.path.join(folder, name), KEYS), key).items():
            rows.setdefault(matrix, {}).update(zip(runs, same))
    phases(rows)
    totals(rows, peer_totals(os.path.join(folder, "cuSPARSE.json")))


def ours_on_host(folder):
    """{(matrix, type): {(count, run): row}}, of each the row with the least total of all rounds; that of a round is the median of later
    preparations."""
    found = {}

    def offer(row, run):
        (count, us), = row["total_us"].items()
        best = found.setdefault(key(row), {})
        if (count, run) not in best or us < best[count, run]["total_us"][count]:
            best[count, run] = row
    for path in sorted(glob.glob(os.path.join(folder, "ours-*.json"))):
        for (*_, count), rows in grouped(read(path, KEYS), lambda r: (*key(r), *r["total_us"])).items():
            offer(rows[0], "cold")
            later = sorted(rows[1:], key=lambda r: r["total_us"][count])
            if later:
                offer(later[len(later) // 2], "again")
    return found


def peers_on_host(folder):
    """{(matrix, type): {variant: rows}}; a variant has one name, whatever flags it was compiled with."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "peers-*.json"))):
        for row in read(path, HOST_PEER_KEYS):
            variants = found.setdefault((row["matrix"], row["dtype"]), {})
            variants.setdefault(row["variant"].removesuffix("-O2"), []).append(row)
    return found


def host_phases(ours):
    print(f"{'matrix':20} {'type':4} {'products':>8} {'run':5} {'prepare':>9} {'analys':>8} {'convert':>8} {'us':>9} {'host':>5}  plan")
    for (matrix, kind), runs in ours.items():
        for (count, run), r in runs.items():
            print(f"{matrix:20} {kind:4} {int(count):8,} {run:5} {r['prepare_us'] / 1e3:9.3f} {r['analysis_us'] / 1e3:8.3f} "
                  f"{r['conversion_us'] / 1e3:8.3f} {r['us']:9.2f} {r['memory']:5.2f}  {r['plan']}")
    print()


def host_peers(peers):
    """What the variants' preparations and products take: the least of all rounds."""
    names = list(dict.fromkeys(name for variants in peers.values() for name in variants))
    prepared = [n for n in names if any(r["first_us"] for v in peers.values() for r in v.get(n, ()))]
    columns = [f" {'us':>9}", f" {'cold':>8} {'again':>8} {'us':>8}"]
    print("The peers' preparation, cold and again, in milliseconds, and product, in microseconds:")
    print(" " * 25 + "".join(f"  {n:>{len(columns[n in prepared]) - 2}}" for n in names))
    print(f"{'matrix':20} {'type':4}" + "".join(columns[n in prepared] for n in names))
    for (matrix, kind), variants in peers.items():
        line = f"{matrix:20} {kind:4}"
        for n in names:
            rows = variants.get(n)
            if n in prepared:
                line += "".join(f" {min(r[k] for r in rows) / 1e3:8.2f}" if rows else f" {'-':>8}" for k in ("first_us", "prepare_us"))
            line += f" {min(r['us'] for r in rows) if rows else float('nan'):{8 if n in prepared else 9}.1f}"
        print(line)
    print()


def peer_least(variants, run, count):
    """{variant: the least total of all rounds}"""
    return {name: min(r[HOST_TOTALS[run]][count] for r in rows) for name, rows in variants.items()}


def host_totals(ours, peers):
    ratios, alone = {}, {}
    print(" " * 25 + "".join(f"  {int(c):>10,} products {'ratio':>17}" for c in COUNTS))
    print(f"{'matrix':20} {'type':4}" + f"  {'again':>9} {'peer':>9} {'by':7} {'again':>5} {'cold':>5}" * len(COUNTS))
    for (matrix, kind), runs in ours.items():
        line = f"{matrix:20} {kind:4}"
        for count in COUNTS:
            us = {run: runs[count, run]["total_us"][count] for run in HOST_RUNS if (count, run) in runs}
            least = {run: peer_least(peers.get((matrix, kind), {}), run, count) for run in us}
            for run in us:
                for name, total in least[run].items():
                    alone.setdefault((kind, count, run), {}).setdefault(name, []).append(total / us[run])
                if least[run]:
                    ratios.setdefault((kind, count, run), []).append(min(least[run].values()) / us[run])
            line += f"  {us['again'] / 1e3:9.2f}" if "again" in us else f"  {'-':>9}"
            if least.get("again"):
                by = min(least["again"], key=least["again"].get)
                line += f" {least['again'][by] / 1e3:9.2f} {by:7}"
            else:
                line += f" {'-':>9} {'':7}"
            line += "".join(f" {ratios[kind, count, r][-1]:5.2f}" if least.get(r) else f" {'-':>5}" for r in ("again", "cold"))
        print(line)
    print()
    summaries(ratios)
    one_peer(alone)


def one_peer(alone):
    """Of ratios by (type, count, run) and variant."""
    names = list(dict.fromkeys(name for of_one in alone.values() for name in of_one))
    print("\nGeometric means of the ratios beside one peer alone, and on how many matrices we are behind:")
    print(f"{'type':4} {'products':>8} run  " + "".join(f" {name:>11}" for name in names))
    for (kind, count, run), of_one in sorted(alone.items(), key=lambda r: (r[0][0], int(r[0][1]))):
        print(f"{kind:4} {int(count):8,} {run:5}" + "".join(
            f" {geometric_mean(of_one[n]):6.2f} {'(' + str(sum(r < 1 for r in of_one[n])) + ')':>4}" if n in of_one else f" {'-':>11}"
            for n in names))


def host(folder):
    ours, peers = ours_on_host(folder), peers_on_host(folder)
    host_phases(ours)
    host_peers(peers)
    host_totals(ours, peers)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    on_host = bool(glob.glob(os.path.join(folder, "ours-*.json")))
    with open(os.path.join(folder, "head.txt"), encoding="utf-8") as f:
        print(f.read() + (HOST_EXPLAINED if on_host else EXPLAINED) + "\n")
    (host if on_host else gpu)(folder)


if __name__ == "__main__":
    main()
